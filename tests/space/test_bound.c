/* Caps and constraints of a space: percentages of the device, numbers, and what is refused. */
#include "space/bound.h"
#include "space/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const tn_resources has = {.lut = 1001, .ff = 2000, .dsp = 220, .bram18 = 280, .uram = 0};

static void caps(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_yaml empty = {.kind = TN_YAML_MAPPING};
    tn_caps this_caps;
    tn_resources budget;
    assert_int_equal(tn_schema_decode(&tn_caps_schema, &empty, &arena, &this_caps, NULL), TN_OK);
    assert_int_equal(tn_caps_budget(&this_caps, &has, &budget, NULL), TN_OK);
    const tn_resources expected = {.lut = 700, .ff = 1600, .dsp = 176, .bram18 = 224, .uram = 0};
    assert_memory_equal(&budget, &expected, sizeof budget);
    this_caps.lut = "100 %";
    this_caps.dsp = "12";
    this_caps.bram18 = "1e6"; /* no more than there is */
    assert_int_equal(tn_caps_budget(&this_caps, &has, &budget, NULL), TN_OK);
    assert_int_equal(budget.lut, 1001);
    assert_int_equal(budget.dsp, 12);
    assert_int_equal(budget.bram18, 280);
    static const char *const wrong[] = {"110 %", "-1", "many", "-3 %", "%", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        this_caps.ff = wrong[i];
        assert_int_equal(tn_caps_budget(&this_caps, &has, &budget, NULL), TN_INPUT);
    }
    tn_arena_free(&arena);
}

static tn_status decode(const char *text, tn_arena *arena, tn_constraint *constraint, tn_error *error) {
    static const tn_choices no_choices;
    const tn_yaml node = {.kind = TN_YAML_SCALAR, .text = text, .position = {"space.yaml", 3, 5}};
    tn_design_columns columns;
    assert_int_equal(tn_design_columns_of(&no_choices, &has, arena, &columns, NULL), TN_OK);
    return tn_constraint_decode(&node, &columns, arena, constraint, error);
}

static void constraints(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_constraint made;
    assert_int_equal(decode("bram18 <= 80 %", &arena, &made, NULL), TN_OK);
    assert_string_equal(made.quantity->name, "bram18");
    assert_string_equal(made.name, "bram18 <= 80 %");
    assert_true(made.most == 224 && made.least == -INFINITY);
    assert_int_equal(decode("seconds_per_step<=0.02", &arena, &made, NULL), TN_OK);
    assert_true(made.most == 0.02);
    assert_int_equal(decode("dsp >= 10%", &arena, &made, NULL), TN_OK);
    assert_true(made.least == 22 && made.most == INFINITY);
    assert_int_equal(decode("1 < watts < 12", &arena, &made, NULL), TN_OK);
    assert_true(made.least == nextafter(1, 2) && made.most == nextafter(12, 0) && !made.expression);
    assert_int_equal(decode("watts < 12 or not(dsp >= 10 %)", &arena, &made, NULL), TN_OK);
    assert_true(made.expression && !made.quantity);
    assert_string_equal(made.name, "watts < 12 or not (dsp >= 10 %)");
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"bram18 =< 80 %", "such as"},  {"bram18", "such as"},     {"brm18 <= 80 %", "bram18"},
        {"watts <= 80 %", "no amount"}, {"lut <= many", "number"}, {"lut <= 101 %", "0 % to 100 %"},
        {"2 <= watts <= 1", "between"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_error error;
        assert_int_equal(decode(wrong[i].text, &arena, &made, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].message)) fail_msg("%s: %s", wrong[i].text, error.message);
    }
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(caps), cmocka_unit_test(constraints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
