/* The reference page of a schema, from its table. */
#include "base/memory.h"
#include "text/choices.h"
#include "text/number.h"
#include "text/schema.h"

#include <math.h>
#include <string.h>

/* The schemas in the order they are described; each once, however often it is used. */
typedef struct outline {
    const tn_schema **schema;
    size_t count, capacity;
} outline;

static tn_status add(outline *all, const tn_schema *schema) {
    for (size_t i = 0; i < all->count; i++)
        if (all->schema[i] == schema) return TN_OK;
    TN_TRY(tn_grow(&all->schema, &all->capacity, all->count + 1, sizeof *all->schema, NULL));
    all->schema[all->count++] = schema;
    return TN_OK;
}

static const char *type_name(tn_field_type type) {
    switch (type) {
    case TN_FIELD_TEXT:
        return "text";
    case TN_FIELD_COUNT:
        return "whole number";
    case TN_FIELD_REAL:
        return "number";
    case TN_FIELD_BOOL:
        return "true or false";
    case TN_FIELD_CHOICE:
        return "choice";
    case TN_FIELD_COUNT_LIST:
        return "list of whole numbers";
    case TN_FIELD_REAL_LIST:
        return "list of numbers";
    case TN_FIELD_TEXT_LIST:
        return "list of texts";
    case TN_FIELD_MAPPING:
        return "mapping";
    case TN_FIELD_LIST:
        return "list of mappings";
    case TN_FIELD_TABLE:
        return "named mappings";
    default:
        return "any";
    }
}

/* Text inside a Markdown table: | ends a cell. */
static void write_text(tn_buffer *out, const char *text) {
    for (const char *bar; (bar = strchr(text, '|')); text = bar + 1) {
        tn_buffer_bytes(out, text, (size_t)(bar - text));
        tn_buffer_text(out, "\\|");
    }
    tn_buffer_text(out, text);
}

static void write_range(tn_buffer *out, const tn_field *field) {
    char low[32], high[32];
    tn_real_text(field->minimum, low, sizeof low);
    tn_real_text(field->maximum, high, sizeof high);
    if (field->choices)
        tn_choices_write(out, field->choices, "`", ", ");
    else if (field->sub)
        tn_buffer_format(out, "see %s", field->sub->name);
    else if (field->minimum > field->maximum || isinf(field->maximum))
        tn_buffer_format(out, "%s or more", low);
    else if (field->minimum != 0 || field->maximum != 0)
        tn_buffer_format(out, "%s to %s", low, high);
}

static void write_field(tn_buffer *out, const tn_field *field) {
    tn_buffer_format(out, "| `%s` | %s | ", field->key, type_name(field->type));
    write_range(out, field);
    if (field->required)
        tn_buffer_text(out, " | required | ");
    else if (field->fallback)
        tn_buffer_format(out, " | `%s` | ", field->fallback);
    else
        tn_buffer_text(out, " | | ");
    write_text(out, field->help ? field->help : "");
    tn_buffer_text(out, " |\n");
}

void tn_schema_document(const tn_schema *schema, tn_buffer *out) {
    outline all = {0};
    tn_status status = add(&all, schema);
    for (size_t i = 0; i < all.count && status == TN_OK; i++) {
        const tn_schema *part = all.schema[i];
        tn_buffer_format(out, "%s### %s\n\n| key | type | range or choices | default | meaning |\n",
                         i ? "\n" : "", part->name);
        tn_buffer_text(out, "|---|---|---|---|---|\n");
        for (size_t k = 0; k < part->count && status == TN_OK; k++) {
            write_field(out, &part->field[k]);
            if (part->field[k].sub) status = add(&all, part->field[k].sub);
        }
    }
    if (out->status == TN_OK) out->status = status;
    tn_free(all.schema);
}
