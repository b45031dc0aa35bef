#include "text/schema.h"

#include "base/memory.h"
#include "base/name_index.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_RUN = 3 };

/* Where the number begins that the name ends in. */
static size_t stem(const char *name) {
    size_t index = strlen(name);
    while (index > 0 && name[index - 1] >= '0' && name[index - 1] <= '9') index--;
    return index;
}

static bool follows(const char *name, const char *next) {
    size_t index = stem(name);
    return name[index] && next && stem(next) == index && strncmp(name, next, index) == 0 &&
           strtoull(next + index, NULL, 10) == strtoull(name + index, NULL, 10) + 1;
}

/* How many names from the first on are written as one. */
static size_t run_of(const char *const *names) {
    size_t count = 1;
    while (follows(names[count - 1], names[count])) count++;
    return count < SHORTEST_RUN ? 1 : count;
}

void tn_choices_write(tn_buffer *out, const char *const *names, const char *quote, const char *last) {
    for (size_t i = 0; names[i];) {
        size_t count = run_of(names + i);
        const char *before = i == 0 ? "" : names[i + count] ? ", " : last;
        tn_buffer_format(out, "%s%s%s%s", before, quote, names[i], quote);
        if (count > 1) tn_buffer_format(out, " to %s%s%s", quote, names[i + count - 1], quote);
        i += count;
    }
}

typedef struct decoder {
    tn_arena *arena;
    tn_error *error;
    bool defaults_only; /* inside a mapping that is absent: required keys stay zero */
} decoder;

/* What a message calls the value: "key "width" of device". */
typedef struct subject {
    const tn_schema *schema;
    const tn_field *field;
} subject;

#define SUBJECT_FORMAT       "\"%s\" of %s"
#define SUBJECT_VALUES(what) (what).field->key, (what).schema->name

static const uint64_t MOST_COUNT = (uint64_t)1 << 63;

static bool has_bounds(const tn_field *field) {
    return field->minimum != 0 || field->maximum != 0;
}

static bool has_maximum(const tn_field *field) {
    return has_bounds(field) && field->maximum >= field->minimum && isfinite(field->maximum);
}

static const char *wanted(tn_field_type type) {
    switch (type) {
    case TN_FIELD_TEXT:
        return "a text";
    case TN_FIELD_COUNT:
        return "a whole number";
    case TN_FIELD_REAL:
        return "a number";
    case TN_FIELD_BOOL:
        return "true or false";
    case TN_FIELD_CHOICE:
        return "one of its choices";
    case TN_FIELD_COUNT_LIST:
        return "a list of whole numbers such as [12, 8, 8] or 12x8x8";
    case TN_FIELD_REAL_LIST:
        return "a list of numbers such as [0.5, 1]";
    case TN_FIELD_TEXT_LIST:
        return "a list of texts such as [a, b]";
    case TN_FIELD_MAPPING:
        return "a mapping of keys to values";
    case TN_FIELD_LIST:
        return "a list of mappings (lines that begin with -)";
    case TN_FIELD_TABLE:
        return "a mapping from names to mappings";
    default:
        return "a value";
    }
}

static const char *described(const tn_yaml *node) {
    switch (node->kind) {
    case TN_YAML_SEQUENCE:
        return "a list";
    case TN_YAML_MAPPING:
        return "a mapping";
    default:
        return node->text[0] ? node->text : "empty";
    }
}

static bool is_null(const tn_yaml *node) {
    return node->kind == TN_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

static tn_status wrong_type(const decoder *d, subject what, const tn_yaml *node) {
    return tn_fail_at(d->error, TN_INPUT, node->position, SUBJECT_FORMAT " is %s%.100s; it must be %s",
                      SUBJECT_VALUES(what), node->quoted ? "the quoted text " : "", described(node),
                      wanted(what.field->type));
}

static tn_status out_of_range(const decoder *d, subject what, const tn_yaml *node, const char *text) {
    char low[32], high[32] = "";
    const tn_field *field = what.field;
    bool count = field->type == TN_FIELD_COUNT || field->type == TN_FIELD_COUNT_LIST;
    tn_real_text(field->minimum, low, sizeof low);
    if (has_maximum(field)) tn_real_text(field->maximum, high, sizeof high);
    if (high[0])
        return tn_fail_at(d->error, TN_INPUT, node->position,
                          SUBJECT_FORMAT " is %.100s; it must be %s to %s", SUBJECT_VALUES(what), text, low,
                          high);
    if (has_bounds(field))
        return tn_fail_at(d->error, TN_INPUT, node->position,
                          SUBJECT_FORMAT " is %.100s; it must be at least %s%s", SUBJECT_VALUES(what), text,
                          low, count ? " and at most 2^63" : "");
    return tn_fail_at(d->error, TN_INPUT, node->position, SUBJECT_FORMAT " is %.100s; it must be %s",
                      SUBJECT_VALUES(what), text, count ? "0 to 2^63" : "a number that a double holds");
}

static tn_status decode_text(const decoder *d, subject what, const tn_yaml *node, const char **out) {
    if (node->kind != TN_YAML_SCALAR) return wrong_type(d, what, node);
    *out = node->text;
    return TN_OK;
}

/* `text` is the scalar `node` or a part of it. */
static tn_status decode_count(const decoder *d, subject what, const tn_yaml *node, const char *text,
                              uint64_t *out) {
    const tn_field *field = what.field;
    uint64_t value = 0;
    tn_number_status status = node->quoted ? TN_NUMBER_MALFORMED : tn_read_count(text, &value);
    if (status == TN_NUMBER_MALFORMED) return wrong_type(d, what, node);
    /* A bound of at least 2^64 can't be passed and must not be converted. */
    bool low = has_bounds(field) && field->minimum > 0 && value < (uint64_t)field->minimum;
    bool high = has_maximum(field) && field->maximum < 0x1p64 && value > (uint64_t)field->maximum;
    if (status == TN_NUMBER_RANGE || value > MOST_COUNT || low || high)
        return out_of_range(d, what, node, text);
    *out = value;
    return TN_OK;
}

static tn_status decode_real(const decoder *d, subject what, const tn_yaml *node, double *out) {
    const tn_field *field = what.field;
    double value = 0;
    if (node->kind != TN_YAML_SCALAR || node->quoted) return wrong_type(d, what, node);
    tn_number_status status = tn_read_real(node->text, &value);
    if (status == TN_NUMBER_MALFORMED) return wrong_type(d, what, node);
    bool low = has_bounds(field) && value < field->minimum,
         high = has_maximum(field) && value > field->maximum;
    if (status == TN_NUMBER_RANGE || low || high) return out_of_range(d, what, node, node->text);
    *out = value;
    return TN_OK;
}

static tn_status decode_bool(const decoder *d, subject what, const tn_yaml *node, bool *out) {
    if (node->kind != TN_YAML_SCALAR || node->quoted) return wrong_type(d, what, node);
    bool yes = strcmp(node->text, "true") == 0;
    if (!yes && strcmp(node->text, "false") != 0) return wrong_type(d, what, node);
    *out = yes;
    return TN_OK;
}

static tn_status unknown_choice(const decoder *d, subject what, const tn_yaml *node, size_t count) {
    tn_buffer list = {0};
    const char *nearest = tn_suggest(node->text, what.field->choices, count);
    tn_choices_write(&list, what.field->choices, "", " or ");
    tn_status status = list.status;
    if (status != TN_OK)
        tn_fail(d->error, status, "no memory for an error message");
    else if (nearest)
        status = tn_fail_at(d->error, TN_INPUT, node->position,
                            SUBJECT_FORMAT " is %.100s; did you mean %s? It must be %.400s",
                            SUBJECT_VALUES(what), described(node), nearest, list.data);
    else
        status =
            tn_fail_at(d->error, TN_INPUT, node->position, SUBJECT_FORMAT " is %.100s; it must be %.400s",
                       SUBJECT_VALUES(what), described(node), list.data ? list.data : "absent");
    tn_buffer_free(&list);
    return status;
}

static tn_status decode_choice(const decoder *d, subject what, const tn_yaml *node, uint32_t *out) {
    if (node->kind != TN_YAML_SCALAR) return wrong_type(d, what, node);
    uint32_t i = 0;
    for (; what.field->choices[i]; i++) {
        if (strcmp(node->text, what.field->choices[i]) != 0) continue;
        *out = i;
        return TN_OK;
    }
    return unknown_choice(d, what, node, i);
}

/* 12x8x8 */
static tn_status decode_factors(const decoder *d, subject what, const tn_yaml *node, tn_count_list *out) {
    size_t count = 1;
    for (const char *x = node->text; (x = strchr(x, 'x')); x++) count++;
    TN_TRY(TN_NEW(d->arena, count, &out->item, d->error));
    const char *text = node->text;
    for (size_t i = 0; i < count; i++) {
        const char *part;
        size_t length = strcspn(text, "x");
        TN_TRY(tn_arena_copy_text(d->arena, text, length, &part, d->error));
        TN_TRY(decode_count(d, what, node, part, &out->item[i]));
        text += length + 1;
    }
    out->count = count;
    return TN_OK;
}

static tn_status decode_count_list(const decoder *d, subject what, const tn_yaml *node, tn_count_list *out) {
    if (node->kind == TN_YAML_SCALAR && !node->quoted) return decode_factors(d, what, node, out);
    if (node->kind != TN_YAML_SEQUENCE) return wrong_type(d, what, node);
    TN_TRY(TN_NEW(d->arena, node->count, &out->item, d->error));
    for (size_t i = 0; i < node->count; i++) {
        const tn_yaml *item = node->item[i];
        if (item->kind != TN_YAML_SCALAR) return wrong_type(d, what, item);
        TN_TRY(decode_count(d, what, item, item->text, &out->item[i]));
    }
    out->count = node->count;
    return TN_OK;
}

/* The items of a list whose single item may be written without brackets. */
static tn_status list_items(const decoder *d, subject what, const tn_yaml *node, const tn_yaml *const **items,
                            size_t *count) {
    if (node->kind == TN_YAML_MAPPING) return wrong_type(d, what, node);
    *count = node->kind == TN_YAML_SCALAR ? 1 : node->count;
    const tn_yaml **list;
    TN_TRY(TN_NEW(d->arena, *count, &list, d->error));
    if (node->kind == TN_YAML_SCALAR)
        list[0] = node;
    else
        for (size_t i = 0; i < *count; i++) list[i] = node->item[i];
    *items = list;
    return TN_OK;
}

static tn_status decode_real_list(const decoder *d, subject what, const tn_yaml *node, tn_real_list *out) {
    const tn_yaml *const *items;
    TN_TRY(list_items(d, what, node, &items, &out->count));
    TN_TRY(TN_NEW(d->arena, out->count, &out->item, d->error));
    for (size_t i = 0; i < out->count; i++) TN_TRY(decode_real(d, what, items[i], &out->item[i]));
    return TN_OK;
}

static tn_status decode_text_list(const decoder *d, subject what, const tn_yaml *node, tn_text_list *out) {
    const tn_yaml *const *items;
    TN_TRY(list_items(d, what, node, &items, &out->count));
    TN_TRY(TN_NEW(d->arena, out->count, &out->item, d->error));
    for (size_t i = 0; i < out->count; i++) TN_TRY(decode_text(d, what, items[i], &out->item[i]));
    return TN_OK;
}

static tn_status decode_mapping(const decoder *d, const tn_schema *schema, const tn_yaml *node, void *out);

/* LIST and TABLE. */
static tn_status decode_items(const decoder *d, subject what, const tn_yaml *node, tn_item_list *out) {
    const tn_schema *sub = what.field->sub;
    bool table = what.field->type == TN_FIELD_TABLE;
    if (node->kind != (table ? TN_YAML_MAPPING : TN_YAML_SEQUENCE)) return wrong_type(d, what, node);
    TN_TRY(tn_arena_alloc(d->arena, node->count, sub->size, &out->item, d->error));
    for (size_t i = 0; i < node->count; i++) {
        char *item = (char *)out->item + i * sub->size;
        TN_TRY(decode_mapping(d, sub, node->item[i], item));
        if (table) memcpy(item, &node->key[i]->text, sizeof node->key[i]->text);
    }
    out->count = node->count;
    return TN_OK;
}

static tn_status decode_value(const decoder *d, subject what, const tn_yaml *node, void *out) {
    if (what.field->type == TN_FIELD_NODE) {
        memcpy(out, &node, sizeof node);
        return TN_OK;
    }
    if (is_null(node))
        return tn_fail_at(d->error, TN_INPUT, node->position, SUBJECT_FORMAT " has no value; it must be %s",
                          SUBJECT_VALUES(what), wanted(what.field->type));
    switch (what.field->type) {
    case TN_FIELD_TEXT:
        return decode_text(d, what, node, out);
    case TN_FIELD_COUNT:
        if (node->kind != TN_YAML_SCALAR) return wrong_type(d, what, node);
        return decode_count(d, what, node, node->text, out);
    case TN_FIELD_REAL:
        return decode_real(d, what, node, out);
    case TN_FIELD_BOOL:
        return decode_bool(d, what, node, out);
    case TN_FIELD_CHOICE:
        return decode_choice(d, what, node, out);
    case TN_FIELD_COUNT_LIST:
        return decode_count_list(d, what, node, out);
    case TN_FIELD_REAL_LIST:
        return decode_real_list(d, what, node, out);
    case TN_FIELD_TEXT_LIST:
        return decode_text_list(d, what, node, out);
    case TN_FIELD_MAPPING:
        return decode_mapping(d, what.field->sub, node, out);
    default:
        return decode_items(d, what, node, out);
    }
}

/* What a field holds whose key is absent. */
static tn_status decode_absent(const decoder *d, subject what, tn_position mapping, void *out) {
    const tn_field *field = what.field;
    if (field->required && !d->defaults_only)
        return tn_fail_at(d->error, TN_INPUT, mapping, "key " SUBJECT_FORMAT " is missing; add %s: %s",
                          SUBJECT_VALUES(what), field->key, field->help ? field->help : wanted(field->type));
    if (field->fallback) {
        tn_yaml *node;
        TN_TRY(
            tn_yaml_parse("a default", field->fallback, strlen(field->fallback), d->arena, &node, d->error));
        return decode_value(d, what, node, out);
    }
    if (field->type != TN_FIELD_MAPPING) return TN_OK;
    const decoder inside = {d->arena, d->error, true};
    const tn_yaml empty = {.kind = TN_YAML_MAPPING, .position = mapping};
    return decode_mapping(&inside, field->sub, &empty, out);
}

static tn_status unknown_key(const decoder *d, const tn_schema *schema, const tn_yaml *key) {
    const char **names;
    TN_TRY(TN_NEW(d->arena, schema->count, &names, d->error));
    for (size_t i = 0; i < schema->count; i++) names[i] = schema->field[i].key;
    const char *nearest = tn_suggest(key->text, names, schema->count);
    if (nearest)
        return tn_fail_at(d->error, TN_INPUT, key->position,
                          "unknown key \"%.100s\" of %s; did you mean \"%s\"?", key->text, schema->name,
                          nearest);
    tn_buffer list = {0};
    for (size_t i = 0; i < schema->count; i++) tn_buffer_format(&list, "%s%s", i ? ", " : "", names[i]);
    tn_status status = list.status;
    if (status != TN_OK)
        tn_fail(d->error, status, "no memory for an error message");
    else
        status =
            tn_fail_at(d->error, TN_INPUT, key->position, "unknown key \"%.100s\" of %s; it knows %.600s",
                       key->text, schema->name, list.data ? list.data : "none");
    tn_buffer_free(&list);
    return status;
}

static tn_status refuse_unknown_keys(const decoder *d, const tn_schema *schema, const tn_yaml *node) {
    for (size_t i = 0; i < node->count; i++) {
        size_t known = 0;
        while (known < schema->count && strcmp(node->key[i]->text, schema->field[known].key) != 0) known++;
        if (known == schema->count) return unknown_key(d, schema, node->key[i]);
    }
    return TN_OK;
}

static tn_status decode_mapping(const decoder *d, const tn_schema *schema, const tn_yaml *node, void *out) {
    if (node->kind != TN_YAML_MAPPING)
        return tn_fail_at(d->error, TN_INPUT, node->position, "%s is %.100s; it must be %s", schema->name,
                          is_null(node) ? "empty" : described(node), wanted(TN_FIELD_MAPPING));
    TN_TRY(refuse_unknown_keys(d, schema, node));
    for (size_t i = 0; i < schema->count; i++) {
        const subject what = {schema, &schema->field[i]};
        const tn_yaml *value = tn_yaml_get(node, what.field->key);
        char *member = (char *)out + what.field->offset;
        TN_TRY(value ? decode_value(d, what, value, member) : decode_absent(d, what, node->position, member));
        if (value && what.field->seen_offset > 0)
            memcpy((char *)out + what.field->seen_offset, &value->position, sizeof value->position);
    }
    return TN_OK;
}

tn_status tn_schema_decode(const tn_schema *schema, const tn_yaml *node, tn_arena *arena, void *out,
                           tn_error *error) {
    const decoder d = {arena, error, false};
    memset(out, 0, schema->size);
    tn_status status = decode_mapping(&d, schema, node, out);
    if (status != TN_OK) memset(out, 0, schema->size);
    return status;
}

bool tn_schema_has(const tn_schema *schema, const char *path) {
    size_t length = strcspn(path, ".=");
    for (size_t i = 0; i < schema->count; i++)
        if (strlen(schema->field[i].key) == length && strncmp(schema->field[i].key, path, length) == 0)
            return true;
    return false;
}

/* The reference page of a schema, from its table. */

/* The schemas in the order they are described; each once, however often it is used. */
typedef struct outline {
    const tn_schema **schema;
    size_t count, capacity;
} outline;

static tn_status add(outline *all, const tn_schema *schema) {
    for (size_t i = 0; i < all->count; i++)
        if (all->schema[i] == schema) return TN_OK;
    TN_TRY(TN_GROW(&all->schema, &all->capacity, all->count + 1, NULL));
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
