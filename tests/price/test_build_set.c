/* Sets of builds against their members one by one. */
#include "price/build_set.h"

#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { VALUES_MOST = 16 };

/* Values of a key: all of a choice, and a few counts. */
static size_t list_values(const tn_field *key, uint64_t *value) {
    size_t count = 0;
    if (key->type == TN_FIELD_CHOICE)
        for (; key->choices[count]; count++) {
            assert_true(count < VALUES_MOST);
            value[count] = count;
        }
    else
        for (; count < 3; count++) value[count] = (uint64_t)key->minimum + count;
    assert_true(count > 1);
    return count;
}

/* Keys that are fixed before a set has a bound: what runs side by side, and what the step is. */
static bool may_be_free(const tn_field *key) {
    const tn_build_level level = tn_build_key_level(key);
    return level != TN_LEVEL_RUN && level != TN_LEVEL_STEP && tn_build_key_of(key)->bounded_as == 0;
}

/* Whether the value bears on some build of the set. */
static bool bears_on_some(const tn_build_set *set, const tn_field *key, uint64_t value) {
    for (size_t v = 0; v < set->axis->count; v++) {
        const tn_build_set one = tn_build_set_fixed(set, 0, v);
        const tn_build effective = tn_build_effective(&one.build);
        if (tn_build_value(&effective, key) == value) return true;
    }
    return false;
}

/* Any key beside one that is free, whichever value of that comes first: what bears on some build of the set bears on the set. */
static void effective_sets_keep_what_bears_on_some_build(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error = {0};
    tn_build build;
    size_t asked = 0;
    test_ok(tn_build_decode(NULL, &arena, &build, &error), &error);
    tn_arena_free(&arena);
    for (size_t f = 0; f < tn_build_schema.count; f++) {
        const tn_field *freed = &tn_build_schema.field[f];
        uint64_t value[VALUES_MOST], turned[VALUES_MOST];
        if (!may_be_free(freed)) continue;
        const size_t values = list_values(freed, value);
        for (size_t k = 0; k < tn_build_schema.count; k++) {
            const tn_field *key = &tn_build_schema.field[k];
            uint64_t own[VALUES_MOST];
            if (k == f) continue;
            for (size_t owns = list_values(key, own); owns-- > 0;)
                for (size_t first = 0; first < values; first++) {
                    for (size_t v = 0; v < values; v++) turned[v] = value[(first + v) % values];
                    const tn_build_axis axis = {freed, values, turned};
                    tn_build_set set = {.build = build, .free = 1, .axes = 1, .axis = &axis};
                    tn_build_set_value(&set.build, freed, turned[0]);
                    tn_build_set_value(&set.build, key, own[owns]);
                    if (!bears_on_some(&set, key, own[owns])) continue;
                    const tn_build effective = tn_build_set_effective(&set);
                    assert_int_equal(tn_build_value(&effective, key), own[owns]);
                    asked++;
                }
        }
    }
    assert_true(asked > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effective_sets_keep_what_bears_on_some_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
