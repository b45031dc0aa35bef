/* What a record's JSON holds, as JSON Schema and as a table of keys (text/record.h). */
#include "base/memory.h"
#include "text/record.h"

#include <string.h>

/* ---- units ---- */

/* Keys name their quantities; a word of the key is the unit of the value, which JSON has as it is stored. */
static const struct {
    const char *word, *unit;
} units[] = {
    {"seconds", "s"},
    {"us", "us"},
    {"ms", "ms"},
    {"hours", "h"},
    {"joules", "J"},
    {"watts", "W"},
    {"W", "W"},
    {"MHz", "MHz"},
    {"GB", "GB"},
    {"GFLOPS", "GFLOP/s"},
    {"TFLOPS", "TFLOP/s"},
    {"bytes", "bytes"},
    {"bits", "bits"},
    {"cycles", "cycles"},
    {"macs", "MACs"},
    {"flops", "FLOPs"},
    {"elements", "elements"},
    {"intermediate", "elements"},
    {"parameters", "parameters"},
    {"tokens", "tokens"},
    {"steps", "steps"},
    {"designs", "designs"},
    {"usd", "USD"},
    {"volts", "V"},
    {"lut", "LUTs"},
    {"ff", "FFs"},
    {"dsp", "DSPs"},
    {"bram18", "blocks"},
    {"bram36", "blocks"},
    {"uram", "blocks"},
    {"words", "words"},
    {"queries", "queries"},
};

/* "seconds per step" of seconds_per_step; the last word that is a unit wins, as in compute_cycles. */
static const char *unit_of_words(const char *key, size_t length) {
    const char *found = NULL;
    for (size_t start = 0; start < length;) {
        size_t size = strcspn(key + start, "_");
        if (start + size > length) size = length - start;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strlen(units[i].word) == size && strncmp(units[i].word, key + start, size) == 0)
                found = units[i].unit;
        start += size + 1;
    }
    return found;
}

/* A column of numbers always has one: "1" is a plain number, a count or a share. `above`: the key of what the column is in,
 * which may be the quantity, as in macs.forward. */
static void put_unit(const tn_column *column, const char *above, tn_buffer *out) {
    const char *key = column->key, *unit = NULL, *per = NULL;
    bool is_share = strstr(key, "share") || strstr(key, "ratio") || strstr(key, "error");
    for (int level = 0; !is_share && !unit && level < 2; level++) {
        key = level ? above : column->key;
        per = strstr(key, "_per_");
        unit = unit_of_words(key, per ? (size_t)(per - key) : strlen(key));
        if (!unit && level == 0 && column->unit && column->scale == 0) unit = column->unit;
    }
    tn_buffer_text(out, unit ? unit : "1");
    if (!per || is_share) return;
    tn_buffer_text(out, "/");
    for (const char *rest = per + strlen("_per_"); *rest; rest++)
        tn_buffer_bytes(out, *rest == '_' ? " " : rest, 1);
}

/* ---- types ---- */

static bool is_shown(const tn_column *column) {
    return column->key && (column->put || column->type || !column->cell);
}

/* Words of JSON Schema, set apart by blanks; of what is no record and no list. */
static const char *type_of(const tn_column *column) {
    if (column->type) return column->type;
    if (column->put) return "array boolean null number object string";
    switch (column->kind) {
    case TN_COLUMN_TEXT:
    case TN_COLUMN_NAME:
        return "string null";
    case TN_COLUMN_COUNT:
    case TN_COLUMN_COUNT32:
        return "integer";
    case TN_COLUMN_AMOUNT:
    case TN_COLUMN_REAL:
        return "number null";
    case TN_COLUMN_BOOL:
        return "boolean";
    case TN_COLUMN_RANGE:
        return "array null";
    case TN_COLUMN_RECORD:
        break;
    }
    return "object";
}

static bool is_number(const tn_column *column) {
    return strstr(type_of(column), "number") || strstr(type_of(column), "integer");
}

/* No value is null, where it is not left out. */
static bool is_nullable(const tn_column *column) {
    return column->when > 0 && !column->optional;
}

static void put_type(const char *words, bool nullable, tn_json *json) {
    tn_json_key(json, "type");
    tn_json_row(json);
    for (const char *word = words; *word;) {
        char name[16];
        size_t length = strcspn(word, " ");
        memcpy(name, word, length < sizeof name ? length : 0);
        name[length < sizeof name ? length : 0] = '\0';
        tn_json_text(json, name);
        word += length + (word[length] == ' ');
    }
    if (nullable && !strstr(words, "null")) tn_json_text(json, "null");
    tn_json_end(json);
}

static void put_unit_key(const tn_column *column, const char *above, tn_json *json) {
    tn_buffer unit = {0};
    if (!is_number(column) && column->kind != TN_COLUMN_RANGE) return;
    put_unit(column, above, &unit);
    if (unit.status != TN_OK) json->out->status = unit.status;
    tn_json_put_text(json, "unit", unit.data);
    tn_buffer_free(&unit);
}

static void put_object(const tn_record *record, const char *name, const char *above, tn_json *json);

/* One value of the column, whether it is in a list or not. */
static void put_item(const tn_column *column, bool nullable, const char *above, tn_json *json) {
    if (column->kind == TN_COLUMN_RECORD && !column->put && !column->type) {
        put_type("object", nullable, json);
        put_object(column->nested, NULL, column->key, json);
        return;
    }
    put_type(type_of(column), nullable, json);
    put_unit_key(column, above, json);
}

/* Objects by what their first column holds. */
static void put_keyed(const tn_column *column, tn_json *json) {
    const tn_record rest = {.size = column->nested->size,
                            .column = column->nested->column + 1,
                            .columns = column->nested->columns - 1};
    const tn_column *only = NULL;
    size_t left = 0;
    for (size_t i = 0; i < rest.columns; i++)
        if (is_shown(&rest.column[i])) {
            only = &rest.column[i];
            left++;
        }
    tn_json_key(json, "additionalProperties");
    tn_json_object(json);
    if (left == 1) {
        put_item(only, is_nullable(only), column->key, json);
    } else {
        put_type("object", false, json);
        put_object(&rest, NULL, column->key, json);
    }
    tn_json_end(json);
}

static void put_column(const tn_column *column, const char *above, tn_json *json) {
    if (column->title) tn_json_put_text(json, "description", column->title);
    if (!column->list || column->put) {
        put_item(column, is_nullable(column), above, json);
        return;
    }
    put_type(column->keyed ? "object" : "array", is_nullable(column), json);
    if (column->keyed) {
        put_keyed(column, json);
        return;
    }
    tn_json_key(json, "items");
    tn_json_object(json);
    put_item(column, false, above, json);
    tn_json_end(json);
}

static size_t find_key(const tn_record *record, size_t from, const char *key) {
    while (from < record->columns &&
           !(is_shown(&record->column[from]) && strcmp(record->column[from].key, key) == 0))
        from++;
    return from;
}

/* A key of several columns holds what one of them does. */
static void put_key(const tn_record *record, size_t first, const char *above, tn_json *json) {
    const char *key = record->column[first].key;
    size_t next = find_key(record, first + 1, key);
    tn_json_key(json, key);
    tn_json_object(json);
    if (next == record->columns) {
        put_column(&record->column[first], above, json);
    } else {
        tn_json_key(json, "anyOf");
        tn_json_array(json);
        for (size_t i = first; i < record->columns; i = find_key(record, i + 1, key)) {
            tn_json_object(json);
            put_column(&record->column[i], above, json);
            tn_json_end(json);
        }
        tn_json_end(json);
    }
    tn_json_end(json);
}

static bool is_inline(const tn_column *column) {
    return !column->key && column->nested && !column->title;
}

static void put_properties(const tn_record *record, const char *above, tn_json *json) {
    for (size_t i = 0; i < record->columns; i++)
        if (is_inline(&record->column[i]))
            put_properties(record->column[i].nested, above, json);
        else if (is_shown(&record->column[i]) && find_key(record, 0, record->column[i].key) == i)
            put_key(record, i, above, json);
}

static void put_required(const tn_record *record, tn_json *json) {
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        if (is_inline(column))
            put_required(column->nested, json);
        else if (is_shown(column) && !column->optional && find_key(record, 0, column->key) == i)
            tn_json_text(json, column->key);
    }
}

static void put_object(const tn_record *record, const char *name, const char *above, tn_json *json) {
    tn_json_key(json, "properties");
    tn_json_object(json);
    if (name) {
        tn_json_key(json, "schema");
        tn_json_object(json);
        tn_json_put_text(json, "const", name);
        tn_json_end(json);
    }
    put_properties(record, above, json);
    tn_json_end(json);
    tn_json_key(json, "required");
    tn_json_row(json);
    if (name) tn_json_text(json, "schema");
    put_required(record, json);
    tn_json_end(json);
}

void tn_record_schema(const tn_record *record, const char *name, tn_json *json) {
    put_object(record, name, "", json);
}

/* ---- the table of keys ---- */

static void add_row(const tn_column *column, const char *above, const char *path, const char *lists,
                    tn_table *table) {
    tn_buffer unit = {0};
    const char *type =
        column->kind == TN_COLUMN_RECORD && !column->put && !column->type ? "object" : type_of(column);
    bool is_any = strcmp(type, "array boolean null number object string") == 0;
    if ((is_number(column) || column->kind == TN_COLUMN_RANGE) && !is_any) put_unit(column, above, &unit);
    tn_table_format(table, "%s%s", path, lists);
    tn_table_text(table, is_any ? "any" : type);
    tn_table_text(table, unit.length ? unit.data : "");
    tn_table_text(table, column->title ? column->title : "");
    tn_buffer_free(&unit);
}

static void add_rows(const tn_record *record, const char *above, const char *before, tn_table *table) {
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        tn_buffer path = {0};
        if (is_inline(column)) add_rows(column->nested, above, before, table);
        if (!is_shown(column)) continue;
        bool is_record = column->kind == TN_COLUMN_RECORD && !column->put && !column->type;
        const char *lists = !column->list ? "" : column->keyed ? ".NAME" : "[]";
        tn_buffer_format(&path, "%s%s%s", before, *before ? "." : "", column->key);
        if (find_key(record, 0, column->key) == i)
            add_row(column, above, path.data ? path.data : "", lists, table);
        if (is_record) {
            tn_record rest = *column->nested;
            rest.column += column->keyed;
            rest.columns -= column->keyed;
            tn_buffer_text(&path, lists);
            add_rows(&rest, column->key, path.data ? path.data : "", table);
        }
        if (path.status != TN_OK) table->status = path.status;
        tn_buffer_free(&path);
    }
}

void tn_record_key_rows(const tn_record *record, const char *before, tn_table *table) {
    add_rows(record, "", before, table);
}
