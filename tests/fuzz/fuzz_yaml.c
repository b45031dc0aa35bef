/* Any bytes as YAML: refused with an error, or a tree that can be written, read back equal, merged, changed
 * and decoded. */
#include "base/buffer.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdlib.h>
#include <string.h>

typedef struct item {
    const char *name;
    uint64_t count;
    double real;
    bool flag;
    uint32_t choice;
    tn_count_list counts;
    tn_real_list reals;
    tn_text_list texts;
} item;

typedef struct root {
    const char *name;
    item inside;
    tn_item_list list, table;
    const tn_yaml *node;
} root;

static const char *const choices[] = {"a", "b", NULL};
static const tn_field item_fields[] = {
    {.key = "count", .type = TN_FIELD_COUNT, .offset = offsetof(item, count), .minimum = 1, .maximum = 64},
    {.key = "real", .type = TN_FIELD_REAL, .offset = offsetof(item, real), .fallback = "0.5"},
    {.key = "flag", .type = TN_FIELD_BOOL, .offset = offsetof(item, flag)},
    {.key = "choice", .type = TN_FIELD_CHOICE, .offset = offsetof(item, choice), .choices = choices},
    {.key = "counts", .type = TN_FIELD_COUNT_LIST, .offset = offsetof(item, counts)},
    {.key = "reals", .type = TN_FIELD_REAL_LIST, .offset = offsetof(item, reals)},
    {.key = "texts", .type = TN_FIELD_TEXT_LIST, .offset = offsetof(item, texts)},
};
static const tn_schema item_schema = TN_SCHEMA("item", item, item_fields);
static const tn_field root_fields[] = {
    {.key = "name", .type = TN_FIELD_TEXT, .offset = offsetof(root, name)},
    {.key = "inside", .type = TN_FIELD_MAPPING, .offset = offsetof(root, inside), .sub = &item_schema},
    {.key = "list", .type = TN_FIELD_LIST, .offset = offsetof(root, list), .sub = &item_schema},
    {.key = "table", .type = TN_FIELD_TABLE, .offset = offsetof(root, table), .sub = &item_schema},
    {.key = "node", .type = TN_FIELD_NODE, .offset = offsetof(root, node)},
};
static const tn_schema root_schema = TN_SCHEMA("root", root, root_fields);

static bool equal(const tn_yaml *a, const tn_yaml *b) {
    if (a->kind != b->kind || a->count != b->count) return false;
    if (a->kind == TN_YAML_SCALAR) return strcmp(a->text, b->text) == 0;
    for (size_t i = 0; i < a->count; i++) {
        if (!equal(a->item[i], b->item[i])) return false;
        if (a->kind == TN_YAML_MAPPING && !equal(a->key[i], b->key[i])) return false;
    }
    return true;
}

static void check_writing(const tn_yaml *tree, tn_arena *arena) {
    tn_buffer out = {0};
    tn_yaml *merged, *again;
    tn_error error;
    if (tn_yaml_merge(tree, tree, arena, &merged, &error) != TN_OK || !equal(tree, merged)) abort();
    tn_yaml_write(merged, &out);
    if (out.status != TN_OK) abort();
    tn_status status = tn_yaml_parse("again", out.data, out.length, arena, &again, &error);
    /* Block style and escapes may need more bytes than a file may have. */
    if (status != TN_LIMIT && (status != TN_OK || !equal(tree, again))) abort();
    tn_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_yaml *tree;
    tn_error error;
    root decoded;
    if (tn_yaml_parse("fuzz", (const char *)data, size, &arena, &tree, &error) == TN_OK) {
        check_writing(tree, &arena);
        tn_schema_decode(&root_schema, tree, &arena, &decoded, &error);
        char *assignment = calloc(size + 1, 1);
        if (!assignment) abort();
        if (size) memcpy(assignment, data, size);
        tn_yaml_set(tree, assignment, &arena, &error);
        tn_yaml_set(tree, "list.0.count=[1, 2]", &arena, &error);
        free(assignment);
    }
    tn_arena_free(&arena);
    return 0;
}
