/* The keys of a build: defaults, values, and what is refused, from YAML. */
#include "device/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_status decode(const char *text, tn_build *build, tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *node;
    tn_status status = tn_yaml_parse("build.yaml", text, strlen(text), &arena, &node, error);
    if (status == TN_OK) status = tn_build_decode(node, &arena, build, error);
    tn_arena_free(&arena);
    return status;
}

static void defaults(void **state) {
    (void)state;
    tn_build none, empty;
    tn_arena arena = {0};
    assert_int_equal(tn_build_decode(NULL, &arena, &none, NULL), TN_OK);
    assert_int_equal(decode("{}", &empty, NULL), TN_OK);
    assert_memory_equal(&none, &empty, sizeof none);
    assert_int_equal(tn_build_check(&none, NULL), TN_OK);
    assert_int_equal(none.kernels, 1);
    assert_int_equal(none.off_chip_over_bytes, 0);
    assert_int_equal(none.schedule, TN_SCHEDULE_SEQUENTIAL);
    assert_int_equal(none.placement, TN_PLACE_AS_BUILT);
    tn_arena_free(&arena);
}

static void values(void **state) {
    (void)state;
    tn_build build;
    assert_int_equal(
        decode("{rows: 2, columns: 3, reduction: 5, vector: 7, kernels: 2, group: 9, read_ports: 2,\n"
               " blocks: 8, off_chip_over_bytes: 1e6, sharing: per-phase, core_memory: block,\n"
               " activation_memory: ultra, split: partition, buffers: separate, schedule: pipelined,\n"
               " placement: searched}",
               &build, NULL),
        TN_OK);
    const tn_build expected = {.rows = 2,
                               .columns = 3,
                               .reduction = 5,
                               .vector = 7,
                               .kernels = 2,
                               .group = 9,
                               .read_ports = 2,
                               .blocks = 8,
                               .off_chip_over_bytes = 1000000,
                               .sharing = TN_PER_PHASE,
                               .core_memory = TN_STYLE_BLOCK,
                               .activation_memory = TN_STYLE_ULTRA,
                               .split = TN_SPLIT_PARTITION,
                               .layouts = TN_LAID_AS_FOUND,
                               .buffers = TN_BUFFERS_SEPARATE,
                               .schedule = TN_SCHEDULE_PIPELINED,
                               .placement = TN_PLACE_SEARCHED};
    assert_memory_equal(&build, &expected, sizeof build);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"rows: 0\n", "must be 1 to 1024"},
        {"\nrow: 4\n", "did you mean \"rows\""},
        {"schedule: paralel\n", "did you mean parallel"},
        {"kernels: 17\n", "must be 1 to 16"},
        {"reserved: 1\n", "unknown key"},
        {"vector: many\n", "must be a whole number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_build build;
        tn_error error;
        assert_int_equal(decode(rows[i].text, &build, &error), TN_INPUT);
        if (!strstr(error.message, rows[i].message)) fail_msg("%s: %s", rows[i].text, error.message);
        assert_int_equal(error.line, rows[i].text[0] == '\n' ? 2 : 1);
    }
}

/* Under the mask of what a key bears on it keeps its value, under that of everything else it has its least one. */
static void keys_count_where_they_bear(void **state) {
    (void)state;
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *key = &tn_build_schema.field[i];
        const tn_build_key *about = tn_build_key_of(key);
        tn_build build;
        assert_int_equal(decode("{}", &build, NULL), TN_OK);
        assert_non_null(about);
        assert_true(about->bears_on != 0);
        const uint64_t value = key->type == TN_FIELD_COUNT ? (uint64_t)key->maximum : 1;
        tn_build_set_value(&build, key, value);
        const tn_build_mask own = tn_build_mask_of(about->bears_on),
                            others = tn_build_mask_of(~about->bears_on);
        const tn_build kept = tn_build_masked(&build, &own), left = tn_build_masked(&build, &others);
        assert_int_equal(tn_build_value(&kept, key), value);
        assert_int_equal(tn_build_value(&left, key), key->type == TN_FIELD_COUNT ? key->minimum : 0);
    }
}

static void keys_without_effect_are_none(void **state) {
    (void)state;
    tn_build build, this_build;
    assert_int_equal(decode("{blocks: 9, off_chip_tile_bytes: 7}", &build, NULL), TN_OK);
    this_build = tn_build_effective(&build);
    assert_int_equal(this_build.blocks, 1);
    assert_int_equal(this_build.off_chip_tile_bytes, 0);
    assert_int_equal(this_build.vector_units, TN_UNITS_SHARED);
    build.schedule = TN_SCHEDULE_PIPELINED;
    build.off_chip_over_bytes = 1;
    this_build = tn_build_effective(&build);
    assert_int_equal(this_build.blocks, 9);
    assert_int_equal(this_build.off_chip_tile_bytes, 7);
    assert_int_equal(this_build.vector_units, TN_UNITS_OWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(values), cmocka_unit_test(refused),
        cmocka_unit_test(keys_count_where_they_bear), cmocka_unit_test(keys_without_effect_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
