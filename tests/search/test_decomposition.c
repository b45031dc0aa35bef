/* Fronts by decomposition against every design evaluated: random small spaces with choices of single layers.
 *
 * TENFOLD_SPACES=N draws N spaces instead, of up to a million designs (scripts/torture). */
#include "base/random.h"
#include "front/archive.h"
#include "search/decomposition.h"
#include "support/folder.h"
#include "support/models.h"
#include "support/shared.h"
#include "support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACES = 8 };

static tn_random *draw;

static uint64_t below(uint32_t count) {
    return tn_random_below(draw, count);
}

typedef struct {
    tn_buffer text;
    uint64_t designs, most;
    bool tied; /* two layers have their flow in common */
} writer;

/* A choice with 2 or more of the values, where there is room for it. */
static void add(writer *output, const char *key, const char *const *value, size_t values) {
    size_t count = 2 + (size_t)below((uint32_t)values - 1),
           first = (size_t)below((uint32_t)(values - count + 1));
    if (output->designs * count > output->most) return;
    output->designs *= count;
    tn_buffer_format(&output->text, "  %s: [", key);
    for (size_t i = 0; i < count; i++)
        tn_buffer_format(&output->text, "%s\"%s\"", i ? ", " : "", value[first + i]);
    tn_buffer_text(&output->text, "]\n");
}

#define ADD(key, ...)                                                                                        \
    do {                                                                                                     \
        static const char *const values[] = {__VA_ARGS__};                                                   \
        add(output, key, values, sizeof values / sizeof *values);                                            \
    } while (0)

static void add_choices(writer *output) {
    if (below(3) == 0) ADD("build.sharing", "shared", "per-phase");
    ADD("build.rows", "1", "2", "4", "8");
    if (below(2)) ADD("build.reduction", "1", "2", "4", "8");
    if (below(4) == 0) ADD("build.off_chip_over_bytes", "0", "256", "1024");
    if (below(4) == 0) ADD("build.core_memory", "auto", "block");
    if (below(5) == 0) ADD("build.activation_memory", "auto", "block", "ultra");
    if (below(5) == 0) ADD("build.split", "partition", "reshape", "banks");
    if (below(5) == 0) ADD("build.vector", "2", "4", "16");
    if (below(4) == 0 && 2 * output->designs <= output->most) {
        output->tied = true;
        output->designs *= 2;
        tn_buffer_text(&output->text, "  layers.query.flow: [right-to-left, bidirectional]\n"
                                      "  layers.key.flow: [right-to-left, bidirectional]\n");
    }
    if (below(5) == 0) ADD("optimizer", "sgd", "momentum");
    ADD("layers.query.rank", "2", "3", "4", "6", "8");
    if (below(2)) ADD("layers.key.folding", "4x6,6x4", "3x8,8x3", "2x3x4,4x3x2", "2x12,12x2");
    if (below(2)) ADD("layers.query.folding", "4x6,6x4", "3x8,8x3", "2x3x4,4x3x2", "2x12,12x2");
    if (below(2)) ADD("layers.value.flow", "right-to-left", "bidirectional", "optimal");
    ADD("layers.widen.rank", "1", "4", "9", "16");
    if (below(2)) ADD("layers.narrowed.format", "tt", "dense", "ttm");
    if (below(2)) ADD("weights.table.rank", "2", "5", "8");
    ADD("layers.key.rank", "2", "5", "8", "12");
    ADD("layers.narrowed.rank", "2", "4", "7", "12");
    ADD("layers.value.rank", "1", "6", "20");
    ADD("layers.widen.folding", "6x8,6x4", "4x12,3x8", "3x4x4,2x3x4");
}

static void add_space(writer *output, bool grouped) {
    static const char *const objectives[] = {
        "[seconds_per_step, on_chip_bytes, dsp, degrees_of_freedom]", "[cycles_per_step, on_chip_bytes]",
        "[seconds_per_step, bram18, parameters, degrees_of_freedom]",
        "[on_chip_bytes, degrees_of_freedom, macs_per_step]", "[seconds_per_epoch, dsp, degrees_of_freedom]"};
    tn_buffer_format(&output->text,
                     "kind: space\nname: drawn\nmodel: %s\ndevice: u50@user-area\n"
                     "set: [build.layouts=ideal, build.buffers=separate, build.group=%d]\nobjectives: %s\n",
                     test_source("tests/space/data/small-transformer.yaml"), grouped ? 3 : 1,
                     objectives[below(5)]);
    /* Caps that some designs break, at times. */
    if (below(3) == 0) tn_buffer_format(&output->text, "caps: {bram18: %d}\n", 40 + (int)below(120));
    if (below(4) == 0)
        tn_buffer_format(&output->text, "constraints: [\"macs_per_step <= %d\"]\n",
                         90000 + (int)below(60000));
    else if (below(4) == 0)
        tn_buffer_format(&output->text, "constraints: [\"bram18 <= %d\", \"degrees_of_freedom >= %d\"]\n",
                         60 + (int)below(100), (int)below(900));
    tn_buffer_text(&output->text, "choices:\n");
    add_choices(output);
    if (output->tied) tn_buffer_text(&output->text, "tied: [[layers.query.flow, layers.key.flow]]\n");
}

static uint64_t id_of(const tn_space *space, const uint32_t *digit) {
    uint64_t id = 0;
    for (size_t i = 0; i < space->choices.count; i++) id += digit[i] * space->choices.stride[i];
    return id;
}

/* Where it says exact the front is the true one; where it says so of ids, design for design. */
static void same_front(const tn_space *space, const truth *all, const tn_decomposed *found) {
    tn_point *point = calloc(all->front.count + 1, sizeof *point);
    tn_archive_points(&all->front, point);
    assert_int_equal(found->count, all->front.count);
    for (size_t i = 0; i < found->count; i++) {
        uint64_t id = id_of(space, found->digit + i * space->choices.count);
        size_t index = 0;
        tn_point own;
        tn_space_point(space, &found->evaluation[i], id, &own);
        while (index < found->count &&
               memcmp(own.value, point[index].value, space->objectives * sizeof *own.value) != 0)
            index++;
        if (index == found->count || (found->least_ids && point[index].id != id))
            fail_msg("design %llu is not on the front", (unsigned long long)id);
    }
    free(point);
}

static void try_space(int number, uint64_t most, unsigned *exact, unsigned *refused) {
    char name[64];
    bool grouped = below(5) == 0;
    writer output = {.designs = 1, .most = most};
    tn_arena arena = {0};
    tn_space space;
    tn_error error = {0};
    add_space(&output, grouped);
    snprintf(name, sizeof name, "space%d.yaml", number);
    const char *path = test_in_folder(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(output.text.data, 1, output.text.length, file);
    fclose(file);
    if (tn_space_load(path, NULL, 0, NULL, &arena, &space, &error) != TN_OK)
        fail_msg("%s\n%s", error.message, output.text.data);
    static const double epsilons[] = {0, 0.03, 0.3};
    for (int i = 0; i < 3; i++) {
        tn_decomposed found;
        truth all = {0};
        const tn_decompose_options options = {.epsilon = epsilons[i], .threads = 1 + (unsigned)below(2)};
        if (tn_decompose(&space, &options, &found, &error) != TN_OK)
            fail_msg("%s\n%s", error.message, output.text.data);
        *refused += found.refused != NULL;
        if (found.refused) break;
        if (getenv("TENFOLD_SPACES"))
            fprintf(stderr, "space %d: %llu designs, epsilon %g: front of %zu, factors %g %g, %s\n", number,
                    (unsigned long long)space.choices.designs, epsilons[i], found.count, found.factor[0],
                    found.factor[1], found.exact ? "exact" : "certified");
        test_enumerate(&space, &all, &found);
        if (found.exact) same_front(&space, &all, &found);
        *exact += found.exact;
        if (epsilons[i] == 0 && !grouped && all.feasible) assert_true(found.exact);
        for (size_t k = 0; k < space.objectives && !grouped && all.feasible; k++)
            assert_true(found.factor[k] <= (1 + epsilons[i]) * (1 + 1e-6));
        tn_archive_free(&all.front);
        tn_decomposed_free(&found);
    }
    tn_buffer_free(&output.text);
    tn_arena_free(&arena);
}

static void fronts_are_the_enumerated_ones(void **state) {
    (void)state;
    const char *asked = getenv("TENFOLD_SPACES");
    int spaces = asked ? atoi(asked) : SPACES;
    unsigned exact = 0, refused = 0;
    assert_int_equal(tn_random_open(16, &draw, NULL), TN_OK);
    for (int i = 0; i < spaces; i++) try_space(i, asked ? 1000000 : 1500, &exact, &refused);
    tn_random_close(draw);
    assert_true(exact >= (unsigned)spaces / 2);
    assert_true(refused <= (unsigned)spaces / 4);
}

/* A constraint that not every design holds, and no objective that tells designs of a build apart: the fastest is not the front's. */
static void of_equal_designs_the_least_id_stands(void **state) {
    (void)state;
    static const char *const set[] = {"set=[build.layouts=ideal, build.buffers=separate, build.group=1, "
                                      "build.off_chip_over_bytes=4096]",
                                      "objectives=[dsp]", "constraints=['cycles_per_step <= 2142500']"};
    tn_arena arena = {0};
    tn_space space;
    tn_decomposed found;
    truth all = {0};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, 3, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_decompose(&space, &(tn_decompose_options){.threads = 1}, &found, NULL), TN_OK);
    assert_true(found.exact && found.least_ids);
    test_enumerate(&space, &all, &found);
    assert_true(all.feasible > 0 && all.feasible < space.choices.designs);
    same_front(&space, &all, &found);
    tn_archive_free(&all.front);
    tn_decomposed_free(&found);
    tn_arena_free(&arena);
}

/* The space of single layers with some keys set anew: every design is covered, and by the same front whatever the threads. */
static void bounds_cover_all(const char *const *set, size_t sets) {
    const tn_decompose_options options = {.epsilon = 0.05, .threads = 1},
                               more = {.epsilon = 0.05, .threads = 2};
    tn_arena arena = {0};
    tn_space space;
    tn_decomposed found, again;
    truth all = {0};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, sets, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_decompose(&space, &options, &found, NULL), TN_OK);
    assert_null(found.refused);
    assert_true(found.count > 0);
    for (size_t k = 0; k < space.objectives; k++) assert_true(isfinite(found.factor[k]));
    test_enumerate(&space, &all, &found);
    assert_true(all.feasible > 0);
    assert_int_equal(tn_decompose(&space, &more, &again, NULL), TN_OK);
    assert_int_equal(again.count, found.count);
    assert_memory_equal(again.digit, found.digit, found.count * space.choices.count * sizeof *found.digit);
    assert_memory_equal(again.factor, found.factor, space.objectives * sizeof *found.factor);
    tn_archive_free(&all.front);
    tn_decomposed_free(&found);
    tn_decomposed_free(&again);
    tn_arena_free(&arena);
}

/* Default keys, overlapping schedules, fusion and searched placement: no price splits. */
static void what_does_not_split_is_bounded(void **state) {
    (void)state;
    static const char *const sets[] = {
        "objectives=[seconds_per_step, on_chip_bytes, dsp, degrees_of_freedom]",
        "set=[build.schedule=parallel, build.kernels=2]",
        "set=[build.schedule=pipelined, build.fusion=write-back]",
        "set=[build.placement=searched, build.split=banks]",
        "objectives=[joules_per_step, degrees_of_freedom]",
        "objectives=[static_joules_per_step, dynamic_joules_per_step, watts]"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) bounds_cover_all(&sets[i], 1);
}

/* Accuracy depends on the ranks and foldings of four units. */
static void what_is_learned_is_bounded(void **state) {
    (void)state;
    static const char *const objectives[] = {
        "objectives=[accuracy, joules_per_step, on_chip_bytes]", "objectives=[accuracy, seconds_per_step]",
        "objectives=[accuracy_deviation, seconds_per_step]",
        "objectives=[accuracy, accuracy_interpolated, seconds_per_step]"};
    char table[320];
    snprintf(table, sizeof table, "accuracy_table=%s", test_source("tests/space/data/layers-accuracy.csv"));
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
        bounds_cover_all((const char *const[]){table, objectives[i]}, 2);
}

/* The space of single layers under a constraint. */
static void decompose_under(const char *constraint, tn_decomposed *found) {
    const tn_decompose_options options = {.epsilon = 0.05, .threads = 1};
    tn_arena arena = {0};
    tn_space space;
    const char *set;
    assert_int_equal(tn_arena_format(&arena, &set, NULL, "constraints=['%s']", constraint), TN_OK);
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), &set, 1, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_decompose(&space, &options, found, NULL), TN_OK);
    assert_null(found->refused);
    tn_arena_free(&arena);
}

/* Builds that no options of layers make fit are not bounded; where none is left, a design of each says what is short. */
static void builds_that_nothing_fits_are_left_out(void **state) {
    (void)state;
    static const char *const constraints[] = {"dsp <= 1", "seconds_per_step <= 1e-6",
                                              "joules_per_step <= 1e-6 and watts < 1e9"};
    tn_decomposed found;
    for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++) {
        decompose_under(constraints[i], &found);
        assert_true(found.none_fits && found.count == 0);
        assert_int_equal(found.builds, 0);
        assert_int_equal(found.evaluated, 2);
        assert_int_equal(found.cause[TN_CAUSE_CONSTRAINT], 2);
        tn_decomposed_free(&found);
    }
    decompose_under("dsp <= 1e6", &found);
    assert_int_equal(found.builds, 2);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < found.count; i++)
        if (found.evaluation[i].price.used.dsp < least) least = found.evaluation[i].price.used.dsp;
    tn_decomposed_free(&found);
    char few[32];
    snprintf(few, sizeof few, "dsp <= %llu", (unsigned long long)least);
    decompose_under(few, &found);
    assert_int_equal(found.builds, 1);
    assert_true(found.count > 0);
    tn_decomposed_free(&found);
}

static void what_has_no_bound_is_refused(void **state) {
    (void)state;
    const char *set = "objectives=[seconds_per_step, peak_elements]";
    tn_arena arena = {0};
    tn_space space;
    tn_decomposed found;
    const tn_decompose_options options = {.threads = 1};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), &set, 1, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_decompose(&space, &options, &found, NULL), TN_OK);
    assert_non_null(found.refused);
    assert_non_null(strstr(found.refused, "peak_elements"));
    tn_decomposed_free(&found);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fronts_are_the_enumerated_ones),
        cmocka_unit_test(of_equal_designs_the_least_id_stands),
        cmocka_unit_test(what_does_not_split_is_bounded),
        cmocka_unit_test(what_is_learned_is_bounded),
        cmocka_unit_test(what_has_no_bound_is_refused),
        cmocka_unit_test(builds_that_nothing_fits_are_left_out),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
