/* Keys that a search settles by itself become choices behind those of the file (space/settle.h), with the values that the
 * model can have. That fronts are exact under them is the business of search/exactness. */
#include "base/file.h"
#include "space/space.h"
#include "support/folder.h"
#include "support/status.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static tn_arena arena;
static tn_space space;

static tn_status load(const char *model, const char *more, tn_error *error) {
    const char *path = test_in_folder("settled.yaml");
    tn_buffer text = {0};
    tn_arena_reset(&arena);
    tn_buffer_format(&text,
                     "kind: space\nname: settled\nmodel: %s\ndevice: u50\n%s"
                     "choices: {build.rows: [1, 2], build.group: [1, 3]}\n",
                     model, more);
    test_ok(tn_file_write(path, text.data, text.length, error), error);
    tn_buffer_free(&text);
    return tn_space_load(path, NULL, 0, NULL, &arena, &space, error);
}

/* The values of the choice, 0: there is none. */
static size_t values_of(const char *key) {
    for (size_t i = 0; i < space.choices.count; i++)
        if (strcmp(space.choices.axis[i].key, key) == 0) return space.choices.axis[i].count;
    return 0;
}

static void named_keys_become_choices(void **state) {
    tn_error error = {0};
    (void)state;
    test_ok(load("atis-2enc", "settle: [update.when, build.split]\n", &error), &error);
    assert_int_equal(space.choices.count, 4);
    assert_string_equal(space.choices.axis[2].key, "update.when");
    assert_string_equal(space.choices.axis[3].key, "build.split");
    assert_false(space.choices.axis[1].settled);
    assert_true(space.choices.axis[2].settled && space.choices.axis[3].settled);
    assert_int_equal(space.choices.designs, 2 * 2 * 2 * 4);
    assert_int_equal(space.steps_together, 2);
    assert_true(tn_space_is_settled(&space));
}

static void nothing_is_settled_unless_asked(void **state) {
    tn_error error = {0};
    (void)state;
    test_ok(load("atis-2enc", "", &error), &error);
    assert_int_equal(space.choices.designs, 4);
    test_ok(load("atis-2enc", "settle: []\n", &error), &error);
    assert_int_equal(space.choices.designs, 4);
    assert_false(tn_space_is_settled(&space));
}

/* What the file says stays: its choices, and what it sets. */
static void all_leaves_what_the_file_says(void **state) {
    tn_error error = {0};
    (void)state;
    test_ok(load("atis-2enc", "settle: all\nset: [build.split=banks, flow=optimal]\n", &error), &error);
    assert_int_equal(values_of("build.group"), 2);
    assert_int_equal(values_of("build.split"), 0);
    assert_int_equal(values_of("weights.square.flow"), 0);
    assert_int_equal(values_of("build.placement"), 2);
    assert_int_equal(values_of("activations.policy"), 3);
    test_ok(load("atis-2enc", "settle: all\n", &error), &error);
    assert_int_equal(values_of("build.split"), 4);
    assert_true(values_of("weights.square.flow") >= 4);
    /* of a table that is looked up only flows that look-ups have */
    assert_int_equal(values_of("weights.table.flow"), 2);
}

static void refused(const char *more, const char *what) {
    tn_error error = {0};
    assert_int_equal(load("atis-2enc", more, &error), TN_INPUT);
    if (!strstr(error.message, what)) fail_msg("'%s' lacks '%s'", error.message, what);
    assert_int_equal(error.line, 5);
}

static void keys_that_cannot_be_settled(void **state) {
    (void)state;
    refused("settle: [build.rows]\n",
            "is no key that can be settled; those that change no value are update.when");
    refused("settle: [precision]\n", "is no key that can be settled");
    refused("settle: [build.group]\n", "settle it, or say it, not both");
    refused("settle: some\n", "settle must be all, or a list of keys");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_keys_become_choices),
        cmocka_unit_test(nothing_is_settled_unless_asked),
        cmocka_unit_test(all_leaves_what_the_file_says),
        cmocka_unit_test(keys_that_cannot_be_settled),
    };
    const int failed = cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
    tn_arena_free(&arena);
    return failed;
}
