/* What is recommended of a front, recomputed by looking at every design: the best at each value of any choice, thinned
 * fronts, knees under changed questions, nearest misses and the single changes that mend them. */
#include "device/build.h"
#include "device/device_data.h"
#include "front/knee.h"
#include "results/recommendation.h"
#include "results/remedy.h"
#include "results/shortage.h"
#include "search/evaluator.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_space space;
static tn_point *front;
static tn_evaluation *of_front;
static size_t front_count;

static bool dominated(const tn_point *dominator, const tn_point *point, size_t objectives) {
    bool less = false;
    for (size_t i = 0; i < objectives; i++) {
        if (dominator->value[i] > point->value[i]) return false;
        less |= dominator->value[i] < point->value[i];
    }
    return less;
}

static bool beaten(const tn_point *all, size_t count, size_t index) {
    for (size_t i = 0; i < count; i++)
        if (dominated(&all[i], &all[index], space.objectives)) return true;
    return false;
}

/* The front of the small space by comparing all pairs; of designs with equal objectives every one stays. */
static int set_up(void **state) {
    tn_error error = {0};
    tn_evaluator *evaluator;
    (void)state;
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), NULL, 0, NULL, &arena, &space, &error),
            &error);
    test_ok(tn_evaluator_new(&space, &evaluator, &error), &error);
    tn_point *point = malloc(space.choices.designs * sizeof *point);
    tn_evaluation *evaluation = malloc(space.choices.designs * sizeof *evaluation);
    size_t count = 0;
    for (uint64_t id = 0; id < space.choices.designs; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_space_split(&space, id, &outer, &inner);
        test_ok(tn_evaluate(evaluator, outer, inner, &evaluation[count], &cause, &error), &error);
        if (cause != TN_CAUSE_NONE) continue;
        tn_space_point(&space, &evaluation[count], id, &point[count]);
        count++;
    }
    tn_evaluator_free(evaluator);
    test_ok(TN_NEW(&arena, count, &front, &error), &error);
    test_ok(TN_NEW(&arena, count, &of_front, &error), &error);
    for (size_t i = 0; i < count; i++) {
        if (beaten(point, count, i)) continue;
        of_front[front_count] = evaluation[i];
        front[front_count++] = point[i];
    }
    free(point);
    free(evaluation);
    return front_count < 20;
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

/* ---- best at each value ---- */

static void best_at_any_choice(void **state) {
    tn_error error = {0};
    (void)state;
    for (size_t choice = 0; choice < space.choices.count; choice++) {
        size_t found;
        test_ok(tn_axis_find(&space, space.choices.axis[choice].key, &found, &error), &error);
        assert_int_equal(found, choice);
        for (size_t digit = 0; digit < space.choices.axis[choice].count; digit++) {
            size_t best = tn_best_at(&space, choice, digit, front, front_count), members = 0;
            for (size_t i = 0; i < front_count; i++) {
                if (tn_choices_digit(&space.choices, front[i].id, choice) != digit) continue;
                members++;
                assert_true(best < front_count);
                int order = 0; /* of the objectives in turn */
                for (size_t j = 0; j < space.objectives && order == 0; j++)
                    order = (front[i].value[j] > front[best].value[j]) -
                            (front[i].value[j] < front[best].value[j]);
                assert_true(order > 0 || (order == 0 && front[i].id >= front[best].id));
            }
            if (members == 0)
                assert_int_equal(best, front_count);
            else
                assert_int_equal(tn_choices_digit(&space.choices, front[best].id, choice), digit);
        }
    }
    size_t none;
    assert_int_equal(tn_axis_find(&space, "weights.square.ranks", &none, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "weights.square.rank"));
}

/* ---- thinning ---- */

static void thinned_fronts_cover(void **state) {
    static const double epsilon[] = {0, 0.02, 0.1, 0.5, 3};
    tn_error error = {0};
    bool *kept = malloc(front_count);
    size_t left, before = front_count + 1;
    (void)state;
    for (size_t e = 0; e < sizeof epsilon / sizeof *epsilon; e++) {
        memset(kept, 0, front_count);
        kept[3] = true;
        test_ok(tn_thin(front, front_count, space.objectives, epsilon[e], kept, &left, &error), &error);
        size_t count = 0;
        for (size_t i = 0; i < front_count; i++) count += kept[i];
        assert_int_equal(count, left);
        assert_true(kept[3]);
        for (size_t i = 0; i < front_count; i++) {
            bool covered = false;
            for (size_t k = 0; k < front_count && !covered; k++) {
                covered = kept[k];
                for (size_t j = 0; j < space.objectives && covered; j++)
                    covered = front[k].value[j] - front[i].value[j] <= epsilon[e] * fabs(front[i].value[j]);
            }
            assert_true(covered);
        }
        assert_true(left <= before);
        before = left;
    }
    assert_true(before < front_count / 4); /* a factor of 4 is coarse */
    free(kept);
}

static void thinning_depends_on_the_set_alone(void **state) {
    tn_error error = {0};
    tn_point *turned = malloc(front_count * sizeof *turned);
    bool *kept = calloc(front_count, 1), *other = calloc(front_count, 1);
    size_t left, other_left;
    (void)state;
    for (size_t i = 0; i < front_count; i++) turned[front_count - 1 - i] = front[i];
    test_ok(tn_thin(front, front_count, space.objectives, 0.1, kept, &left, &error), &error);
    test_ok(tn_thin(turned, front_count, space.objectives, 0.1, other, &other_left, &error), &error);
    assert_int_equal(left, other_left);
    for (size_t i = 0; i < front_count; i++) assert_int_equal(kept[i], other[front_count - 1 - i]);
    test_ok(tn_thin(front, 0, space.objectives, 0.1, kept, &left, &error), &error);
    assert_int_equal(left, 0);
    free(turned);
    free(kept);
    free(other);
}

/* ---- knees ---- */

static double value_of(const tn_evaluation *evaluation, const char *name) {
    for (size_t i = 0; i < tn_quantities_count; i++)
        if (strcmp(tn_quantities[i].name, name) == 0)
            return (tn_quantities[i].maximise ? -1 : 1) * tn_quantities[i].get(evaluation);
    fail_msg("no quantity %s", name);
    return 0;
}

/* The knee by powers instead of logarithms: z = ln(v/best) / ln(worst/best). */
static uint64_t knee_by(const tn_evaluation *evaluation, const char *const *objective, size_t objectives) {
    double least_distance = INFINITY;
    uint64_t knee = 0;
    for (size_t i = 0; i < front_count; i++) {
        double distance = 0;
        for (size_t j = 0; j < objectives; j++) {
            double best = INFINITY, worst = 0, v = fabs(value_of(&evaluation[i], objective[j]));
            bool maximise = value_of(&evaluation[i], objective[j]) < 0;
            for (size_t k = 0; k < front_count; k++) {
                double other = fabs(value_of(&evaluation[k], objective[j]));
                best = fmin(best, maximise ? 1 / other : other);
                worst = fmax(worst, maximise ? 1 / other : other);
            }
            double z = worst > best ? log((maximise ? 1 / v : v) / best) / log(worst / best) : 0;
            distance += z * z;
        }
        if (distance >= least_distance - 1e-12) continue;
        least_distance = distance;
        knee = front[i].id;
    }
    return knee;
}

static void robustness_again(void **state) {
    static const char *const own[] = {"seconds_per_step", "on_chip_bytes", "dsp", "degrees_of_freedom",
                                      "joules_per_step"};
    static const char *const lut[] = {"seconds_per_step", "on_chip_bytes", "lut", "degrees_of_freedom"};
    static const char *const reduced[] = {"seconds_per_step", "dsp", "degrees_of_freedom"};
    tn_error error = {0};
    tn_robustness told;
    uint64_t *id = malloc(front_count * sizeof *id);
    (void)state;
    for (size_t i = 0; i < front_count; i++) id[i] = front[i].id;
    uint64_t knee = front[tn_knee(front, front_count, space.objectives)].id;
    assert_int_equal(knee, knee_by(of_front, own, 4));
    test_ok(tn_robustness_of(&space, id, front_count, knee, &arena, &told, &error), &error);
    assert_int_equal(told.changes, 8); /* accuracy is no objective */
    assert_int_equal(told.objectives, 4);
    assert_string_equal(told.change[0].change, "joules_per_step as a further objective");
    assert_int_equal(told.change[0].design, knee_by(of_front, own, 5));
    assert_string_equal(told.change[3].change, "lut in place of dsp");
    assert_int_equal(told.change[3].design, knee_by(of_front, lut, 4));
    assert_string_equal(told.reduced[1].change, "without on_chip_bytes");
    assert_int_equal(told.reduced[1].design, knee_by(of_front, reduced, 3));
    size_t kept = 0;
    for (size_t i = 0; i < told.changes; i++) {
        assert_int_equal(told.change[i].kept, told.change[i].design == knee);
        kept += told.change[i].kept;
    }
    assert_int_equal(kept, told.kept);
    free(id);
}

/* Operators at twice are those of a device file that says so. */
static void extreme_operators_again(void **state) {
    tn_error error = {0};
    tn_device *device, *extreme;
    (void)state;
    test_ok(tn_device_load("u50", NULL, 0, &arena, &device, &error), &error);
    for (int most = 0; most <= 1; most++) {
        test_ok(tn_operators_extreme(device, most, &arena, &extreme, &error), &error);
        size_t changed = 0;
        for (size_t i = 0; i < device->operators.count; i++) {
            const tn_operator_row *row = (const tn_operator_row *)device->operators.item + i,
                                  *other = (const tn_operator_row *)extreme->operators.item + i;
            bool open = row->origin == TN_UNVERIFIED;
            changed += open;
            assert_int_equal(other->stages, !open  ? row->stages
                                            : most ? 2 * row->stages
                                                   : row->stages / 2 + row->stages % 2);
            assert_int_equal(other->dsp, row->dsp);
        }
        assert_true(changed > 0 && changed < device->operators.count);
    }
}

/* ---- misses and what mends them ---- */

static void nearest_misses_of_all_designs(void **state) {
    tn_error error = {0};
    tn_space tight;
    tn_misses misses;
    tn_evaluator *evaluator;
    double least[TN_CAUSES];
    char set[512];
    (void)state;
    snprintf(set, sizeof set, "device=%s", test_source("tests/space/data/tiny.yaml"));
    const char *const sets[] = {set};
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), sets, 1, NULL, &arena, &tight, &error),
            &error);
    test_ok(tn_misses_find(&tight, UINT64_MAX / 2, &misses, &error), &error);
    assert_int_equal(misses.evaluated, tight.choices.designs);
    assert_true(misses.count > 0);
    test_ok(tn_evaluator_new(&tight, &evaluator, &error), &error);
    for (int i = 0; i < TN_CAUSES; i++) least[i] = INFINITY;
    for (uint64_t id = 0; id < tight.choices.designs; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_evaluation evaluation;
        tn_space_split(&tight, id, &outer, &inner);
        test_ok(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, &error), &error);
        if (cause < TN_CAUSE_RESOURCE || cause >= TN_CAUSE_CONSTRAINT) continue;
        const tn_resources *u = &evaluation.price.used, *b = &tight.budget;
        const double need[] = {(double)u->lut, (double)u->ff, (double)u->dsp, (double)u->bram18,
                               (double)u->uram};
        const double have[] = {(double)b->lut, (double)b->ff, (double)b->dsp, (double)b->bram18,
                               (double)b->uram};
        double factor = 0;
        for (int i = 0; i < 5; i++)
            if (need[i] > 0) factor = fmax(factor, need[i] / have[i]);
        least[cause] = fmin(least[cause], factor);
    }
    tn_evaluator_free(evaluator);
    for (size_t i = 0; i < misses.count; i++) {
        assert_true(misses.miss[i].factor == least[misses.miss[i].cause]);
        least[misses.miss[i].cause] = INFINITY;
        if (i > 0) assert_true(misses.miss[i].factor >= misses.miss[i - 1].factor);
    }
    for (int i = 0; i < TN_CAUSES; i++) assert_true(isinf(least[i]));
}

/* Of conditions of several parts, and of what is learned, which no change of a design tells, nothing is promised. */
static void shortages_promise_what_they_know(void **state) {
    static const char small[] = "tests/space/data/small.yaml", learned[] = "tests/space/data/accuracy.yaml";
    static const struct {
        const char *file, *constraint;
    } cases[] = {{small, "uram <= 0 and bram18 <= 10"},
                 {small, "dsp < 1 or seconds_per_step < 1e-6"},
                 {learned, "accuracy >= 0.9999"},
                 {learned, "accuracy >= 0.9999 and dsp <= 5000"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_error error = {0};
        tn_space tight;
        tn_shortage shortage;
        const char *set;
        test_ok(tn_arena_format(&arena, &set, &error, "constraints=['%s']", cases[i].constraint), &error);
        test_ok(tn_space_load(test_source(cases[i].file), &set, 1, NULL, &arena, &tight, &error), &error);
        test_ok(tn_shortage_find(&tight, &arena, &shortage, &error), &error);
        assert_string_equal(shortage.cause, cases[i].constraint);
        assert_null(shortage.change);
    }
}

static tn_price price_of(const char *const *set, size_t sets, const tn_device *device, tn_model **model,
                         tn_build *build) {
    tn_error error = {0};
    tn_program_cache *cache;
    tn_step step;
    tn_workload *workload;
    tn_price price;
    test_ok(tn_model_load(test_source("models/atis-2enc.yaml"), set, sets, &arena, model, &error), &error);
    test_ok(tn_build_decode(tn_model_build(*model), &arena, build, &error), &error);
    test_ok(tn_program_cache_new(&cache, &error), &error);
    test_ok(tn_step_build(*model, cache, &arena, &step, &error), &error);
    test_ok(tn_workload_prepare(&step, device, &arena, &workload, &error), &error);
    test_ok(tn_price_step(workload, build, &price, &error), &error);
    tn_program_cache_free(cache);
    return price;
}

/* Every remedy, given as --set to the model file, makes the design fit and costs what is told; `wanted` is among
 * them. */
static void mends(const char *given, const tn_resources *budget, const tn_device *device,
                  const char *wanted) {
    tn_error error = {0};
    tn_model *model;
    tn_build build;
    tn_remedies remedies;
    bool found = false;
    tn_price price = price_of(&given, 1, device, &model, &build);
    assert_true(tn_budget_ratio(&price.used, budget) > 1);
    const tn_limits limits = {.budget = budget};
    const tn_design design = {.model = model, .device = device, .build = build};
    test_ok(tn_remedies_find(&design, &limits, &arena, &remedies, &error), &error);
    assert_true(remedies.tried > remedies.count);
    for (size_t i = 0; i < remedies.count; i++) {
        const tn_remedy *remedy = &remedies.remedy[i];
        char change[800];
        const char *set[8] = {given};
        size_t sets = 1;
        snprintf(change, sizeof change, "%s", remedy->change);
        for (char *rest = change; rest; sets++) { /* several have " --set " between them */
            char *next = strstr(rest, " --set ");
            set[sets] = rest;
            if (next) *next = '\0';
            rest = next ? next + strlen(" --set ") : NULL;
        }
        found |= strcmp(remedy->change, wanted) == 0;
        price = price_of(set, sets, device, &model, &build);
        assert_int_equal(price.cycles_per_step, remedy->price.cycles_per_step);
        assert_memory_equal(&price.used, &remedy->price.used, sizeof price.used);
        assert_true(tn_budget_ratio(&price.used, budget) <= 1);
        assert_string_not_equal(strchr(remedy->change, '=') + 1, remedy->was);
        if (i > 0)
            assert_true(remedy->sacrifice > remedies.remedy[i - 1].sacrifice ||
                        remedy->price.seconds_per_step >= remedies.remedy[i - 1].price.seconds_per_step);
    }
    assert_true(found);
}

static void remedies_mend(void **state) {
    static const char separate[] = "build={rows: 8, columns: 8, reduction: 8, vector: 16, buffers: separate}";
    static const char rank_48[] = "weights.square.rank=48", rank_24[] = "weights.square.rank=24";
    static const char *const less = rank_24, *const given = separate;
    tn_error error = {0};
    tn_device *device;
    tn_model *model;
    tn_build build;
    (void)state;
    test_ok(tn_device_load("kv260", NULL, 0, &arena, &device, &error), &error);
    tn_price price = price_of(&given, 1, device, &model, &build);
    const tn_resources *used = &price.used;
    /* Short of a quarter of its BRAM, with something left of the rest. */
    const tn_resources budget = {.lut = used->lut * 3 / 2,
                                 .ff = used->ff * 3 / 2,
                                 .dsp = used->dsp * 3 / 2,
                                 .bram18 = used->bram18 * 3 / 4,
                                 .uram = used->uram * 2};
    mends(separate, &budget, device, "build.buffers=pooled");
    price = price_of(&less, 1, device, &model, &build);
    mends(rank_48, &price.used, device, rank_24);
    /* Keys of the model: what was made dense, a batch. */
    test_ok(tn_device_load("u50", NULL, 0, &arena, &device, &error), &error);
    const tn_resources whole = tn_device_resources(device);
    mends("format=dense", &whole, device, "format=as-given");
    mends("batch=16", &whole, device, "batch=4");
}

/* What is not priced changes nothing: ranks and flows of a model that is told to be dense; and sizes above 1, where 1 does not
 * fit, come no nearer than what is told. */
static void nothing_that_helps_is_left_out(void **state) {
    static const char *const unused[] = {"weights.square.rank=1", "weights.table.rank=1",
                                         "weights.square.flow=right-to-left"};
    static const char *const size[] = {"sequence=16", "sequence=8", "sequence=4", "sequence=2", "sequence=1"};
    static const char dense[] = "format=dense";
    static const char *const given[] = {dense};
    tn_error error = {0};
    tn_device *device;
    tn_model *model;
    tn_build build;
    tn_remedies remedies;
    (void)state;
    test_ok(tn_device_load("u50", NULL, 0, &arena, &device, &error), &error);
    const tn_price whole = price_of(given, 1, device, &model, &build);
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        const char *const set[] = {dense, unused[i]};
        const tn_price same = price_of(set, 2, device, &model, &build);
        assert_int_equal(same.cycles_per_step, whole.cycles_per_step);
        assert_memory_equal(&same.used, &whole.used, sizeof same.used);
    }
    price_of(given, 1, device, &model, &build);
    const tn_resources tiny = {.lut = 1, .ff = 1, .dsp = 1, .bram18 = 1, .uram = 1};
    const tn_limits limits = {.budget = &tiny};
    const tn_design design = {.model = model, .device = device, .build = build};
    test_ok(tn_remedies_find(&design, &limits, &arena, &remedies, &error), &error);
    assert_int_equal(remedies.count, 0);
    assert_non_null(remedies.closest.change);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const char *const set[] = {dense, size[i]};
        const tn_price less = price_of(set, 2, device, &model, &build);
        assert_true(tn_budget_ratio(&less.used, &tiny) >= remedies.closest.ratio);
    }
}

/* A design that is too slow for a constraint: more parallelism mends it. */
static void remedies_keep_constraints(void **state) {
    static const char slow[] = "build={rows: 2, columns: 2, reduction: 1}";
    static const char *const given = slow;
    tn_error error = {0};
    tn_model *model;
    tn_build build;
    tn_remedies remedies;
    bool found = false;
    (void)state;
    tn_price price = price_of(&given, 1, space.device, &model, &build);
    double most = space.constraint[0].most;
    assert_true(price.seconds_per_step > most);
    const tn_limits limits = {.budget = &space.budget, .space = &space};
    const tn_design design = {.model = model, .device = space.device, .build = build};
    test_ok(tn_remedies_find(&design, &limits, &arena, &remedies, &error), &error);
    assert_true(fabs(remedies.given_ratio - price.seconds_per_step / most) < 1e-9);
    for (size_t i = 0; i < remedies.count; i++) {
        const char *const set[] = {given, remedies.remedy[i].change};
        found |= strncmp(set[1], "build.reduction=", strlen("build.reduction=")) == 0;
        price = price_of(set, 2, space.device, &model, &build);
        assert_true(price.seconds_per_step == remedies.remedy[i].price.seconds_per_step);
        assert_true(price.seconds_per_step <= most);
        assert_true(tn_budget_ratio(&price.used, &space.budget) <= 1);
    }
    assert_true(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_at_any_choice),
        cmocka_unit_test(thinned_fronts_cover),
        cmocka_unit_test(thinning_depends_on_the_set_alone),
        cmocka_unit_test(robustness_again),
        cmocka_unit_test(extreme_operators_again),
        cmocka_unit_test(nearest_misses_of_all_designs),
        cmocka_unit_test(shortages_promise_what_they_know),
        cmocka_unit_test(remedies_mend),
        cmocka_unit_test(nothing_that_helps_is_left_out),
        cmocka_unit_test(remedies_keep_constraints),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
