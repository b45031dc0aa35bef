/* Designs that may be on a front, where bounds leave most of them without a price, against prices of all of them. */
#include "results/possible.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "results/neighbours.h"
#include "results/result.h"
#include "results/settled.h"
#include "search/evaluator.h"
#include "support/folder.h"
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

enum { DRAWS = TN_SETTLED_DRAWS, FOLDINGS = 3, RANKS = 6, COMBINATIONS = FOLDINGS * RANKS };

static const char *const folding[FOLDINGS] = {"12x8x8,8x8x12", "24x32,32x24", "4x4x6x8,8x6x4x4"};

static tn_arena arena;
static tn_error error;
static tn_space space;

static void ok(tn_status status) {
    test_ok(status, &error);
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static void write(const char *name, const char *text) {
    ok(tn_file_write(test_in_folder(name), text, strlen(text), &error));
}

/* Three foldings that learn nearly alike, of which three ranks each are measured. */
static void load(const char *objectives, double spread) {
    static const double measured[FOLDINGS][3] = {
        {0.87, 0.93, 0.955}, {0.872, 0.935, 0.952}, {0.865, 0.929, 0.951}};
    static const int rank[3] = {2, 8, 24};
    char text[2048];
    int length = snprintf(text, sizeof text, "folding,rank,epochs,seeds,spread,accuracy\n");
    for (int f = 0; f < FOLDINGS; f++)
        for (int r = 0; r < 3; r++)
            length += snprintf(text + length, sizeof text - (size_t)length, "\"%s\",%d,4,1,%g,%g\n",
                               folding[f], rank[r], spread, measured[f][r]);
    write("possible-accuracy.csv", text);
    snprintf(text, sizeof text,
             "kind: space\n"
             "name: possible\n"
             "model: atis-2enc\n"
             "device: u50@user-area\n"
             "accuracy_table: possible-accuracy.csv\n"
             "choices:\n"
             "  weights.square.folding: [\"%s\", \"%s\", \"%s\"]\n"
             "  weights.square.rank: [2, 4, 8, 12, 16, 24]\n"
             "  weights.square.flow: [right-to-left, bidirectional]\n"
             "  build.rows: [1, 4]\n"
             "  build.columns: [1, 8]\n"
             "  build.reduction: [4, 16]\n"
             "  build.core_memory: [auto, block]\n"
             "objectives: [%s]\n",
             folding[0], folding[1], folding[2], objectives);
    write("possible.yaml", text);
    ok(tn_space_load(test_in_folder("possible.yaml"), NULL, 0, NULL, &arena, &space, &error));
    space.laid_most = 0; /* bounds leave out most of them */
}

/* A design that fits. */
typedef struct {
    tn_point point;
    tn_evaluation evaluation;
    size_t combination; /* folding and rank */
    uint64_t rest;      /* of its id */
    bool on_front, is_looked_at;
    double probability;
} design;

static design *all;
static size_t count;
static double drawn[COMBINATIONS][DRAWS];

static void price_all(void) {
    tn_evaluator *evaluator;
    const tn_choices *choices = &space.choices;
    count = 0;
    ok(TN_NEW(&arena, choices->designs, &all, &error));
    ok(tn_evaluator_new(&space, &evaluator, &error));
    for (uint64_t id = 0; id < choices->designs; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        const size_t digit[] = {tn_choices_digit(choices, id, 0), tn_choices_digit(choices, id, 1)};
        design *own = &all[count];
        tn_space_split(&space, id, &outer, &inner);
        ok(tn_evaluate(evaluator, outer, inner, &own->evaluation, &cause, &error));
        if (cause != TN_CAUSE_NONE) continue;
        tn_space_point(&space, &own->evaluation, id, &own->point);
        own->combination = digit[0] * RANKS + digit[1];
        own->rest = id - digit[0] * choices->stride[0] - digit[1] * choices->stride[1];
        count++;
    }
    tn_evaluator_free(evaluator);
}

static void draw_all(void) {
    const size_t columns = space.accuracy_table.columns;
    static tn_accuracy_value value[COMBINATIONS * TN_ACCURACY_CHOICES_MOST];
    for (size_t c = 0; c < COMBINATIONS; c++) {
        size_t digit[TN_AXES_MOST] = {c / RANKS, c % RANKS};
        tn_accuracy_table_values(&space.accuracy_table, digit, value + c * columns);
    }
    ok(tn_draw_accuracies(&space.accuracy_table, value, COMBINATIONS, drawn[0], &arena, &error));
}

/* How a is to b in all that is no accuracy: 2: somewhere cheaper and nowhere dearer; 1: the same; 0: somewhere dearer. */
static int compare_costs(const design *a, const design *b) {
    const size_t accuracy = tn_accuracy_objective(&space);
    int compared = 1;
    for (size_t k = 0; k < space.objectives; k++) {
        if (k == accuracy) continue;
        if (a->point.value[k] > b->point.value[k]) return 0;
        if (a->point.value[k] < b->point.value[k]) compared = 2;
    }
    return compared;
}

static void find_front(void) {
    const size_t accuracy = tn_accuracy_objective(&space);
    for (size_t i = 0; i < count; i++) {
        all[i].on_front = true;
        for (size_t j = 0; j < count; j++) {
            const int costs = compare_costs(&all[j], &all[i]);
            const double loss = all[j].point.value[accuracy] - all[i].point.value[accuracy];
            if (j == i || costs == 0 || loss > 0) continue;
            if (costs == 2 || loss < 0 || j < i) all[i].on_front = false;
        }
    }
}

static double share_ahead(size_t a, size_t b) {
    double share = 0;
    for (size_t k = 0; k < DRAWS; k++) share += drawn[a][k] > drawn[b][k];
    return share / DRAWS;
}

/* Whether it differs from a design of the front in what is learned alone, and none of the front almost surely dominates it. */
static bool is_looked_at(const design *own) {
    bool near = false;
    for (size_t i = 0; i < count; i++) {
        const design *other = &all[i];
        if (!other->on_front) continue;
        const double ahead = share_ahead(other->combination, own->combination);
        if (other->rest == own->rest) near |= ahead >= tn_possible_least && ahead <= 1 - tn_possible_least;
        if (compare_costs(other, own) == 0) continue;
        if (other->combination == own->combination || ahead > 1 - tn_possible_least) return false;
    }
    return near;
}

static double find_probability(const design *own) {
    double share = 0;
    for (size_t k = 0; k < DRAWS; k++) {
        bool beaten = false;
        for (size_t i = 0; i < count && !beaten; i++) {
            const design *other = &all[i];
            const int costs = compare_costs(other, own);
            if (other == own || costs == 0 || !other->is_looked_at) continue;
            if (other->combination == own->combination)
                beaten = costs == 2 || other->point.id < own->point.id;
            else
                beaten = drawn[other->combination][k] >= drawn[own->combination][k];
        }
        share += !beaten;
    }
    return share / DRAWS;
}

/* Those of a space with these objectives, and how many are not on the front. */
static size_t compare(const char *objectives, double spread) {
    size_t members = 0, place = 0;
    tn_point *front;
    tn_evaluation *evaluation;
    tn_possible_list possible;
    load(objectives, spread);
    price_all();
    draw_all();
    find_front();
    for (size_t i = 0; i < count; i++) all[i].is_looked_at = all[i].on_front || is_looked_at(&all[i]);
    ok(TN_NEW(&arena, count, &front, &error));
    ok(TN_NEW(&arena, count, &evaluation, &error));
    for (size_t i = 0; i < count; i++) {
        if (!all[i].on_front) continue;
        front[members] = all[i].point;
        evaluation[members++] = all[i].evaluation;
    }
    ok(tn_possible_designs(&space, front, evaluation, members, TN_POSSIBLE_NEIGHBOURS_MOST, 2, &arena,
                           &possible, &error));
    for (size_t i = 0; i < count; i++) {
        if (!all[i].is_looked_at) continue;
        all[i].probability = find_probability(&all[i]);
        if (!all[i].on_front && all[i].probability < tn_possible_least) continue;
        assert_true(place < possible.count);
        const tn_possible *found = &possible.item[place++];
        assert_int_equal(found->id, all[i].point.id);
        assert_int_equal(found->on_front, all[i].on_front);
        assert_true(fabs(found->probability - all[i].probability) < 1e-12);
        tn_point point = {0};
        tn_space_point(&space, &found->evaluation, found->id, &point);
        assert_memory_equal(point.value, all[i].point.value, space.objectives * sizeof *point.value);
    }
    assert_int_equal(place, possible.count);
    return possible.count - members;
}

static void those_of_all_prices(void **state) {
    (void)state;
    size_t besides = compare("seconds_per_step, on_chip_bytes, dsp, accuracy", 0.004);
    besides += compare("accuracy, seconds_per_step, bram18", 0.02);
    besides += compare("on_chip_bytes, accuracy", 0.01);
    assert_true(besides > 10);
}

/* By the clock of this thread, which is one of those that look. */
static void an_interruption_ends_it(void **state) {
    (void)state;
    size_t members = 0;
    tn_point *front;
    tn_evaluation *evaluation;
    tn_possible_list possible;
    load("seconds_per_step, on_chip_bytes, dsp, accuracy", 0.02);
    price_all();
    find_front();
    ok(TN_NEW(&arena, count, &front, &error));
    ok(TN_NEW(&arena, count, &evaluation, &error));
    for (size_t i = 0; i < count; i++) {
        if (!all[i].on_front) continue;
        front[members] = all[i].point;
        evaluation[members++] = all[i].evaluation;
    }
    for (double seconds = 1e-6; seconds < 0.01; seconds *= 10) {
        tn_interrupt_after(seconds);
        const tn_status status = tn_possible_designs(
            &space, front, evaluation, members, TN_POSSIBLE_NEIGHBOURS_MOST, 1, &arena, &possible, &error);
        tn_interrupt_after(0);
        assert_int_equal(status, TN_INTERRUPTED);
    }
    ok(tn_possible_designs(&space, front, evaluation, members, TN_POSSIBLE_NEIGHBOURS_MOST, 1, &arena,
                           &possible, &error));
    assert_true(possible.count >= members);
}

static tn_summary sweep(bool resume, bool interrupted) {
    const tn_sweep_options options = {.threads = 1, .resume = resume};
    tn_summary summary;
    if (interrupted) tn_interrupt();
    const tn_status status =
        tn_sweep_folder(&space, &options, test_in_folder("swept"), NULL, &summary, &error);
    tn_interrupt_clear();
    ok(status);
    return summary;
}

/* Of the folder's possible.csv; NULL: there is none. */
static char *read_list(void) {
    char *text;
    size_t length;
    if (tn_file_read(test_in_folder("swept/possible.csv"), (size_t)1 << 24, &text, &length, NULL) != TN_OK)
        return NULL;
    return text;
}

static void is_the_list(const char *first) {
    char *text = read_list();
    assert_non_null(text);
    assert_string_equal(text, first);
    tn_free(text);
}

/* A run that is interrupted before it has the list leaves that of the run before, unless the front is another one. */
static void an_interrupted_run_keeps_the_list(void **state) {
    (void)state;
    load("seconds_per_step, on_chip_bytes, dsp, accuracy", 0.02);
    const tn_summary whole = sweep(false, false);
    char *first = read_list();
    assert_non_null(first);
    assert_true(whole.possible > 0 && whole.possible_least_doubt > 0);
    for (int i = 0; i < 2; i++) {
        const tn_summary kept = sweep(true, true);
        is_the_list(first);
        assert_int_equal(kept.possible, whole.possible);
        assert_true(kept.possible_least_doubt == whole.possible_least_doubt);
    }
    write("swept/front.csv", "id\n");
    assert_int_equal(sweep(true, true).possible, 0);
    assert_null(read_list());
    sweep(true, false);
    is_the_list(first);
    tn_free(first);
}

/* The greatest doubt about a design and one of the front of the same rest; -1: there is none. */
static double doubt_of(const design *own) {
    double doubt = -1;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].on_front || all[i].rest != own->rest) continue;
        const double ahead = share_ahead(all[i].combination, own->combination);
        doubt = fmax(doubt, fmin(ahead, 1 - ahead));
    }
    return doubt;
}

/* Of too many neighbours those of the most doubt are left. */
static void neighbours_are_those_of_most_doubt(void **state) {
    (void)state;
    size_t members = 0;
    tn_point *front;
    tn_learned learned;
    load("seconds_per_step, on_chip_bytes, dsp, accuracy", 0.01);
    price_all();
    draw_all();
    find_front();
    ok(TN_NEW(&arena, count, &front, &error));
    for (size_t i = 0; i < count; i++)
        if (all[i].on_front) front[members++] = all[i].point;
    ok(tn_learned_find(&space, &arena, &learned, &error));
    for (size_t most = 1000; most > 0; most /= 3) {
        tn_front_neighbours found;
        size_t in_doubt = 0, listed = 0;
        ok(tn_front_neighbours_find(&learned, front, members, tn_possible_least, most, &arena, &found,
                                    &error));
        assert_true(found.least_doubt >= tn_possible_least);
        for (size_t i = 0; i < count; i++) {
            const bool is = doubt_of(&all[i]) >= found.least_doubt - 1e-9;
            in_doubt += is;
            size_t place = 0;
            while (place < found.count && found.id[place] != all[i].point.id) place++;
            assert_int_equal(place < found.count, is && !all[i].on_front);
            listed += place < found.count;
        }
        assert_true(in_doubt <= most);
        assert_true(listed <= found.count); /* others do not fit */
        assert_int_equal(found.is_cut, found.least_doubt > tn_possible_least);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(neighbours_are_those_of_most_doubt, test_folder_make, tear_down),
        cmocka_unit_test_setup_teardown(an_interruption_ends_it, test_folder_make, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_run_keeps_the_list, test_folder_make, tear_down),
        cmocka_unit_test_setup_teardown(those_of_all_prices, test_folder_make, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
