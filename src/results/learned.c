#include "results/learned.h"

#include "base/checked.h"
#include "front/knee.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { DRAWS = TN_SETTLED_DRAWS, COMBINATIONS_MOST = 20000 };

static_assert(DRAWS > 64 * (TN_DRAW_WORDS - 1) && DRAWS % 64 != 0, "the last word of a set is one in part");

const tn_draw_set tn_draw_set_all = {
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, (UINT64_C(1) << DRAWS % 64) - 1}};

static_assert(TN_DRAW_WORDS == 5, "words of the set of all draws");

/* What the values of the design's combination add to its id. */
static uint64_t offset_of(const tn_learned *learned, uint64_t id) {
    const tn_choices *choices = &learned->space->choices;
    uint64_t offset = 0;
    for (size_t k = 0; k < learned->axes; k++)
        offset += tn_choices_digit(choices, id, learned->axis[k]) * choices->stride[learned->axis[k]];
    return offset;
}

size_t tn_learned_combination(const tn_learned *learned, uint64_t id) {
    const uint64_t offset = offset_of(learned, id),
                   *place = bsearch(&offset, learned->offset, learned->combinations, sizeof offset,
                                    tn_count_order);
    return place ? (size_t)(place - learned->offset) : learned->combinations;
}

static size_t count_combinations(tn_learned *learned) {
    const tn_choices *choices = &learned->space->choices;
    size_t combinations = 1;
    for (size_t i = 0; i < choices->count; i++) {
        if (!tn_accuracy_depends_on(&choices->axis[i])) continue;
        learned->axis[learned->axes++] = i;
        combinations *= choices->axis[i].count;
        if (combinations > COMBINATIONS_MOST) return 0;
    }
    return combinations;
}

static void list_offsets(tn_learned *learned) {
    const tn_choices *choices = &learned->space->choices;
    for (size_t c = 0; c < learned->combinations; c++)
        for (size_t k = 0, rest = c; k < learned->axes; k++) {
            const size_t values = choices->axis[learned->axis[k]].count;
            learned->offset[c] += rest % values * choices->stride[learned->axis[k]];
            rest /= values;
        }
    qsort(learned->offset, learned->combinations, sizeof *learned->offset, tn_count_order);
}

static tn_status draw_all(tn_learned *learned, tn_arena *arena, tn_error *error) {
    const tn_space *space = learned->space;
    const size_t columns = space->accuracy_table.columns;
    tn_accuracy_value *value;
    TN_TRY(TN_NEW(arena, learned->combinations * columns, &value, error));
    TN_TRY(TN_NEW(arena, learned->combinations * DRAWS, &learned->drawn, error));
    for (size_t c = 0; c < learned->combinations; c++) {
        size_t digit[TN_AXES_MOST];
        for (size_t i = 0; i < space->choices.count; i++)
            digit[i] = tn_choices_digit(&space->choices, learned->offset[c], i);
        tn_accuracy_table_values(&tn_space_of(space, learned->offset[c])->accuracy_table, digit,
                                 value + c * columns);
    }
    return tn_draw_accuracies(&space->accuracy_table, value, learned->combinations, learned->drawn, arena,
                              error);
}

typedef struct {
    double mean;
    size_t combination;
} ranked;

static int by_mean(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return tn_value_order(-x->mean, x->combination, -y->mean, y->combination);
}

static tn_status find_places(tn_learned *learned, tn_arena *arena, tn_error *error) {
    ranked *rank;
    TN_TRY(TN_NEW(arena, learned->combinations, &rank, error));
    TN_TRY(TN_NEW(arena, learned->combinations, &learned->place, error));
    for (size_t c = 0; c < learned->combinations; c++) {
        rank[c].combination = c;
        for (size_t k = 0; k < DRAWS; k++) rank[c].mean += learned->drawn[c * DRAWS + k] / DRAWS;
        if (isnan(rank[c].mean)) rank[c].mean = -INFINITY;
    }
    qsort(rank, learned->combinations, sizeof *rank, by_mean);
    for (size_t i = 0; i < learned->combinations; i++) learned->place[rank[i].combination] = i;
    return TN_OK;
}

tn_status tn_learned_find(const tn_space *space, tn_arena *arena, tn_learned *learned, tn_error *error) {
    *learned = (tn_learned){.space = space};
    learned->combinations = count_combinations(learned);
    if (learned->combinations == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, learned->combinations, &learned->offset, error));
    list_offsets(learned);
    TN_TRY(draw_all(learned, arena, error));
    return find_places(learned, arena, error);
}

tn_draw_set tn_learned_ahead(const tn_learned *learned, size_t combination, size_t other, bool ties) {
    const double *own = learned->drawn + combination * DRAWS, *its = learned->drawn + other * DRAWS;
    tn_draw_set set = {{0}};
    for (size_t k = 0; k < DRAWS; k++)
        set.word[k / 64] |= (uint64_t)(ties ? !(own[k] < its[k]) : own[k] > its[k]) << k % 64;
    return set;
}
