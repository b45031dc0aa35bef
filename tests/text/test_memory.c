/* Every request for memory fails in turn: the answer is TN_MEMORY, nothing is leaked (the sanitizer build
 * looks), and with enough memory the same call works. */
#include "base/memory.h"
#include "support/shared.h"
#include "text/arrays.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs `work` until no request is left to fail; at least `requests` are expected. */
static void starve(tn_status (*work)(tn_error *error), long requests) {
    for (long n = 1;; n++) {
        tn_error error = {0};
        tn_memory_fail_at(n);
        tn_status status = work(&error);
        long made = tn_memory_requests();
        tn_memory_fail_at(0);
        if (made < n) {
            assert_int_equal(status, TN_OK);
            assert_true(n > requests);
            return;
        }
        if (status != TN_MEMORY) print_error("request %ld gave %d: %s\n", n, (int)status, error.message);
        assert_int_equal(status, TN_MEMORY);
        assert_true(error.message[0]);
    }
}

static const char DOCUMENT[] =
    "name: model\nfold: 12x8x8\nstyle: ultra\nlayers:\n  - {width: 8}\n  - {width: 9}\nports:\n"
    "  left: {width: 1}\nlist: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]\n";

static tn_status parse_document(tn_arena *arena, tn_yaml **root, tn_error *error) {
    return tn_yaml_parse("t.yaml", DOCUMENT, strlen(DOCUMENT), arena, root, error);
}

static tn_status yaml(tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_status status = parse_document(&arena, &root, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status yaml_file(tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_status status = tn_yaml_load(test_source(".clang-format"), &arena, &root, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status yaml_set(tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_status status = parse_document(&arena, &root, error);
    if (status == TN_OK) status = tn_yaml_set(root, "layers.1.depth=[1, 2]", &arena, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status yaml_merge_and_write(tn_error *error) {
    tn_arena arena = {0};
    tn_buffer out = {0};
    tn_yaml *root, *merged;
    tn_status status = parse_document(&arena, &root, error);
    if (status == TN_OK) status = tn_yaml_merge(root, root, &arena, &merged, error);
    if (status == TN_OK) tn_yaml_write(merged, &out);
    if (status == TN_OK && out.status != TN_OK) status = tn_fail(error, out.status, "no memory to write");
    tn_buffer_free(&out);
    tn_arena_free(&arena);
    return status;
}

typedef struct port {
    const char *name;
    uint64_t width, depth;
} port;

typedef struct thing {
    const char *name;
    tn_count_list fold, list;
    uint32_t style;
    tn_item_list layers, ports;
    tn_real_list weights;
} thing;

static const tn_field port_fields[] = {
    {.key = "width", .type = TN_FIELD_COUNT, .offset = offsetof(port, width)},
    {.key = "depth", .type = TN_FIELD_COUNT, .offset = offsetof(port, depth), .fallback = "16"},
};
static const tn_schema port_schema = TN_SCHEMA("port", port, port_fields);
static const char *const styles[] = {"block", "ultra", NULL};
static const tn_field thing_fields[] = {
    {.key = "name", .type = TN_FIELD_TEXT, .offset = offsetof(thing, name)},
    {.key = "fold", .type = TN_FIELD_COUNT_LIST, .offset = offsetof(thing, fold)},
    {.key = "list", .type = TN_FIELD_COUNT_LIST, .offset = offsetof(thing, list)},
    {.key = "style", .type = TN_FIELD_CHOICE, .offset = offsetof(thing, style), .choices = styles},
    {.key = "layers", .type = TN_FIELD_LIST, .offset = offsetof(thing, layers), .sub = &port_schema},
    {.key = "ports", .type = TN_FIELD_TABLE, .offset = offsetof(thing, ports), .sub = &port_schema},
    {.key = "weights", .type = TN_FIELD_REAL_LIST, .offset = offsetof(thing, weights), .fallback = "[1, 2]"},
};
static const tn_schema thing_schema = TN_SCHEMA("thing", thing, thing_fields);

static tn_status schema(tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    thing out;
    tn_status status = parse_document(&arena, &root, error);
    if (status == TN_OK) status = tn_schema_decode(&thing_schema, root, &arena, &out, error);
    tn_arena_free(&arena);
    return status;
}

/* The errors that need memory to be told. */
static tn_status schema_refusal(tn_error *error) {
    static const char *const text[] = {"nothing: like it\n", "style: nothing like it\n"};
    tn_status status = TN_OK;
    for (size_t i = 0; i < 2 && status == TN_OK; i++) {
        tn_arena arena = {0};
        tn_yaml *root;
        thing out;
        status = tn_yaml_parse("t.yaml", text[i], strlen(text[i]), &arena, &root, error);
        if (status == TN_OK) status = tn_schema_decode(&thing_schema, root, &arena, &out, error);
        if (status == TN_INPUT) status = TN_OK;
        tn_arena_free(&arena);
    }
    return status;
}

static tn_status document(tn_error *error) {
    tn_buffer out = {0};
    tn_schema_document(&thing_schema, &out);
    tn_status status = out.status;
    if (status != TN_OK) tn_fail(error, status, "no memory to document");
    tn_buffer_free(&out);
    return status;
}

static tn_status csv(tn_error *error) {
    static const char text[] = "layer,rank\nfc1,2\n\"fc, 2\",4\n";
    static const char *const names[] = {"rank"};
    tn_arena arena = {0};
    tn_csv table;
    size_t column;
    tn_status status = tn_csv_parse("t.csv", text, strlen(text), &arena, &table, error);
    if (status == TN_OK) status = tn_csv_columns(&table, names, 1, false, &column, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status csv_file(tn_error *error) {
    tn_arena arena = {0};
    tn_csv table;
    tn_status status = tn_csv_load(test_source("LICENSE"), &arena, &table, error);
    tn_arena_free(&arena);
    return status == TN_INPUT ? TN_OK : status; /* it is no CSV, which takes no memory to see */
}

static tn_status read_arrays(const char *name, tn_error *error) {
    char path[128];
    double values[60];
    tn_arrays *arrays;
    snprintf(path, sizeof path, "tests/text/data/%s", name);
    TN_TRY(tn_arrays_open(test_source(path), &arrays, error));
    tn_status status = TN_OK;
    for (size_t i = 0; i < tn_arrays_count(arrays) && status == TN_OK; i++) {
        const char *type = tn_arrays_info(arrays, i)->type;
        bool readable = type[0] == 'f' || type[0] == 'b';
        if (readable) status = tn_arrays_read(arrays, i, values, error);
    }
    size_t position;
    if (status == TN_OK) status = tn_arrays_find(arrays, "nothing like it", &position, error);
    tn_arrays_close(arrays);
    return status == TN_INPUT ? TN_OK : status;
}

static tn_status npy(tn_error *error) {
    return read_arrays("v2.npy", error);
}

static tn_status npz(tn_error *error) {
    TN_TRY(read_arrays("stored.npz", error));
    return read_arrays("deflated.npz", error);
}

static tn_status safetensors(tn_error *error) {
    return read_arrays("types.safetensors", error);
}

static tn_status write_arrays(tn_error *error) {
    const uint64_t shape[] = {2, 3};
    const double values[6] = {0};
    const tn_array_out out[] = {{.name = "a", .axes = 2, .shape = shape, .values = values},
                                {.name = "b", .axes = 1, .shape = shape, .values = values}};
    char path[64];
    snprintf(path, sizeof path, "/tmp/tenfold-memory-%ld", (long)getpid());
    tn_status status = tn_npy_write(path, out, error);
    if (status == TN_OK) status = tn_npz_write(path, out, 2, error);
    unlink(path);
    return status;
}

static tn_status json(tn_error *error) {
    tn_buffer out = {0};
    tn_json writer;
    tn_json_begin(&writer, &out);
    tn_json_object(&writer);
    for (int i = 0; i < 50; i++) tn_json_put_count(&writer, "key", UINT64_MAX);
    tn_json_end(&writer);
    tn_status status = out.status;
    if (status != TN_OK) tn_fail(error, status, "no memory for JSON");
    tn_buffer_free(&out);
    return status;
}

static void every_request_may_fail(void **state) {
    (void)state;
    starve(yaml, 5);
    starve(yaml_file, 3);
    starve(yaml_set, 5);
    starve(yaml_merge_and_write, 8);
    starve(schema, 5);
    starve(schema_refusal, 4);
    starve(document, 4);
    starve(csv, 1);
    starve(csv_file, 2);
    starve(npy, 5);
    starve(npz, 20);
    starve(safetensors, 10);
    starve(write_arrays, 5);
    starve(json, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
