/* Caps and constraints of a space: percentages of the device, numbers, and what is refused. */
#include "base/random.h"
#include "space/bound.h"
#include "space/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
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

static tn_status decode_of(const tn_choices *choices, const char *text, tn_arena *arena,
                           tn_constraint *constraint, tn_error *error) {
    const tn_yaml node = {.kind = TN_YAML_SCALAR, .text = text, .position = {"space.yaml", 3, 5}};
    tn_design_columns columns;
    assert_int_equal(tn_design_columns_of(choices, &has, arena, &columns, NULL), TN_OK);
    return tn_constraint_decode(&node, &columns, arena, constraint, error);
}

static tn_status decode(const char *text, tn_arena *arena, tn_constraint *constraint, tn_error *error) {
    static const tn_choices no_choices;
    return decode_of(&no_choices, text, arena, constraint, error);
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

/* ---- sets of designs ---- */

enum { AXES = 4, DESIGNS = 2 * 2 * 3 * 2, CONDITIONS = 4000 };

/* Two choices that steps follow from, and two of builds. */
static tn_choices some_choices(void) {
    static const char *text[] = {"adam", "sgd"};
    static uint64_t rank[] = {4, 8}, rows[] = {1, 2, 8}, lanes[] = {4, 16};
    tn_choices choices = {
        .count = AXES,
        .axis = {
            {.key = "update.rule", .kind = TN_AXIS_MODEL_KEY, .count = 2, .text = text},
            {.key = "weights.square.rank", .kind = TN_AXIS_RANK, .count = 2, .number = rank},
            {.key = "build.rows", .kind = TN_AXIS_BUILD, .count = 3, .number = rows},
            {.key = "build.vector", .kind = TN_AXIS_BUILD, .count = 2, .number = lanes},
        }};
    assert_int_equal(tn_choices_count(&choices, (tn_position){0}, NULL), TN_OK);
    return choices;
}

/* A condition of one to four comparisons. */
static void draw_condition(uint64_t *state, char *text, size_t size) {
    static const char *const quantity[] =
        {"seconds_per_step",    "dsp",        "lut",          "watts", "accuracy", "degrees_of_freedom",
         "weights.square.rank", "build.rows", "build.vector", "id"},
                             *const sign[] = {"<", "<=", ">", ">=", "=", "!="};
    const uint64_t comparisons = 1 + tn_splitmix_below(state, 4);
    *text = '\0';
    for (uint64_t i = 0; i < comparisons; i++) {
        char *end = text + strlen(text);
        const size_t left = size - (size_t)(end - text);
        const char *join = i == 0                        ? ""
                           : tn_splitmix_below(state, 2) ? " and "
                                                         : " or ",
                   *turn = tn_splitmix_below(state, 4) ? "" : "not ";
        if (tn_splitmix_below(state, 8) == 0)
            snprintf(end, left, "%s%supdate.rule %s sgd", join, turn, sign[4 + tn_splitmix_below(state, 2)]);
        else
            snprintf(end, left, "%s%s%s %s %llu", join, turn, quantity[tn_splitmix_below(state, 10)],
                     sign[tn_splitmix_below(state, 6)], (unsigned long long)tn_splitmix_below(state, 10));
    }
}

static const tn_resources budget = {.lut = 8, .dsp = 8};

/* Quantities of every design within that; accuracy and degrees of freedom follow from its step, DSPs also from its rows. */
static void draw_designs(uint64_t *state, tn_evaluation *evaluation) {
    for (uint64_t id = 0; id < DESIGNS; id++) {
        const bool is_new_step = id % 6 == 0, has_new_rows = id % 2 == 0;
        tn_evaluation *own = &evaluation[id];
        *own = (tn_evaluation){
            .price = {.seconds_per_step = (double)tn_splitmix_below(state, 10),
                      .watts = (double)tn_splitmix_below(state, 10),
                      .used = {.lut = tn_splitmix_below(state, budget.lut + 1),
                               .dsp = has_new_rows ? tn_splitmix_below(state, budget.dsp + 1)
                                                   : own[-1].price.used.dsp}},
            .accuracy = is_new_step ? (double)tn_splitmix_below(state, 10) : own[-1].accuracy,
            .degrees_of_freedom = is_new_step ? tn_splitmix_below(state, 10) : own[-1].degrees_of_freedom};
        if (is_new_step && tn_splitmix_below(state, 4) == 0) own->accuracy = NAN;
    }
}

/* What bounds the prices of two sets. */
static void lower(tn_evaluation *least, const tn_evaluation *other) {
    least->price.seconds_per_step = fmin(least->price.seconds_per_step, other->price.seconds_per_step);
    least->price.watts = fmin(least->price.watts, other->price.watts);
    least->price.used.lut =
        least->price.used.lut < other->price.used.lut ? least->price.used.lut : other->price.used.lut;
    least->price.used.dsp =
        least->price.used.dsp < other->price.used.dsp ? least->price.used.dsp : other->price.used.dsp;
}

static bool holds(const tn_choices *choices, const tn_constraint *constraint, uint64_t id,
                  const tn_evaluation *evaluation, tn_known known, const bool *open) {
    const tn_evaluation most = tn_evaluation_most(&budget);
    const tn_candidate design = {
        .known = known, .open = open, .id = id, .evaluation = evaluation, .most = &most};
    return tn_constraint_holds(constraint, choices, &design);
}

/* Whether one of the designs that differ from `id` in open choices alone fulfils it, and what bounds all of them. */
static bool some_holds(const tn_choices *choices, const tn_constraint *constraint,
                       const tn_evaluation *evaluation, uint64_t id, const bool *open, tn_evaluation *least) {
    bool some = false;
    *least = evaluation[id];
    for (uint64_t other = 0; other < DESIGNS; other++) {
        bool is_of_set = true;
        for (size_t i = 0; i < AXES; i++)
            is_of_set &= open[i] || tn_choices_digit(choices, other, i) == tn_choices_digit(choices, id, i);
        if (!is_of_set) continue;
        some |= holds(choices, constraint, other, &evaluation[other], TN_KNOWN_WHOLE, NULL);
        lower(least, &evaluation[other]);
    }
    return some;
}

/* What a set is refused by refuses each of its designs, whatever the condition; and sets are refused. */
static void sets(void **unused) {
    (void)unused;
    const tn_choices choices = some_choices();
    uint64_t state = 20261128, refused[TN_KNOWN_LEAST + 1] = {0};
    for (int i = 0; i < CONDITIONS; i++) {
        tn_arena arena = {0};
        tn_constraint constraint;
        tn_evaluation evaluation[DESIGNS], least;
        char text[512];
        draw_condition(&state, text, sizeof text);
        draw_designs(&state, evaluation);
        if (decode_of(&choices, text, &arena, &constraint, NULL) == TN_OK)
            for (tn_known known = TN_KNOWN_BOUND; known <= TN_KNOWN_LEAST; known++) {
                const bool of_step = known == TN_KNOWN_STEP, all = known == TN_KNOWN_LEAST,
                           of_set = of_step || known == TN_KNOWN_KERNELS,
                           open[AXES] = {all, all, all || (of_step && tn_splitmix_below(&state, 2)),
                                         all || (of_set && tn_splitmix_below(&state, 2))};
                uint64_t id = tn_splitmix_below(&state, DESIGNS);
                for (size_t k = 0; k < AXES; k++)
                    if (open[k]) id -= tn_choices_digit(&choices, id, k) * choices.stride[k];
                const bool some = some_holds(&choices, &constraint, evaluation, id, open, &least);
                if (known >= TN_KNOWN_STEP) least.price.used.dsp /= 2;
                least.price.used.lut /= 2;
                least.price.watts /= 2;
                const bool may = holds(&choices, &constraint, id, &least, known, open);
                refused[known] += !may;
                if (some && !may)
                    fail_msg("'%s' refuses a set of knowledge %d with design %d", text, (int)known, (int)id);
            }
        tn_arena_free(&arena);
    }
    for (tn_known known = TN_KNOWN_BOUND; known <= TN_KNOWN_LEAST; known++) assert_true(refused[known] > 50);
}

/* Of two resources that one condition bounds, and of one that no `or` does. */
static void within(void **state) {
    (void)state;
    const tn_choices choices = some_choices();
    tn_arena arena = {0};
    tn_constraint constraint[4];
    static const char *const text[] = {"uram <= 0 and bram18 <= 10 and build.rows >= 2", "lut < 500",
                                       "dsp <= 12 or ff <= 3", "not ff <= 3"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(decode_of(&choices, text[i], &arena, &constraint[i], NULL), TN_OK);
    const tn_resources left = tn_constraints_within(constraint, 4, &has),
                       expected = {.lut = 499, .ff = 2000, .dsp = 220, .bram18 = 10, .uram = 0};
    assert_memory_equal(&left, &expected, sizeof left);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(caps), cmocka_unit_test(constraints),
                                       cmocka_unit_test(sets), cmocka_unit_test(within)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
