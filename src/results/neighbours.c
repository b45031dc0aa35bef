#include "results/neighbours.h"

#include "base/checked.h"

#include <stdlib.h>

enum { DRAWS = TN_SETTLED_DRAWS };

/* A design of the front. */
typedef struct {
    uint64_t rest; /* of its id, without what is learned */
    size_t place;  /* on the front */
    size_t row;    /* of its combination */
} member;

typedef struct {
    const tn_learned *learned;
    const tn_point *front;
    size_t count;
    member *member;  /* [count]: by rest */
    size_t rows;     /* combinations of the front */
    uint16_t *doubt; /* [rows][combinations]: draws in which one of the two is ahead, whichever is in fewer */
} study;

static int by_rest(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->rest != y->rest) return x->rest < y->rest ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static tn_status compare_combinations(study *s, const size_t *of_row, tn_arena *arena, tn_error *error) {
    const size_t combinations = s->learned->combinations;
    TN_TRY(TN_NEW(arena, s->rows * combinations, &s->doubt, error));
    for (size_t r = 0; r < s->rows; r++)
        for (size_t c = 0; c < combinations; c++) {
            const tn_draw_set ahead = tn_learned_ahead(s->learned, of_row[r], c, false);
            const size_t draws = tn_draw_set_count(&ahead);
            s->doubt[r * combinations + c] = (uint16_t)tn_least(draws, DRAWS - draws);
        }
    return TN_OK;
}

static tn_status list_members(study *s, tn_arena *arena, tn_error *error) {
    size_t *row_of, *of_row;
    TN_TRY(TN_NEW(arena, s->learned->combinations, &row_of, error)); /* from 1 */
    TN_TRY(TN_NEW(arena, s->learned->combinations, &of_row, error));
    TN_TRY(TN_NEW(arena, s->count, &s->member, error));
    for (size_t i = 0; i < s->count; i++) {
        const size_t own = tn_learned_combination(s->learned, s->front[i].id);
        if (row_of[own] == 0) {
            of_row[s->rows] = own;
            row_of[own] = ++s->rows;
        }
        s->member[i] = (member){s->front[i].id - s->learned->offset[own], i, row_of[own] - 1};
    }
    if (s->count) qsort(s->member, s->count, sizeof *s->member, by_rest);
    return compare_combinations(s, of_row, arena, error);
}

static int by_id(const void *a, const void *b) {
    const uint64_t *id = a;
    const tn_point *point = b;
    return (*id > point->id) - (*id < point->id);
}

static bool is_on_front(const study *s, uint64_t id) {
    return bsearch(&id, s->front, s->count, sizeof *s->front, by_id) != NULL;
}

/* The place behind the members of one rest. */
static size_t end_of_rest(const study *s, size_t begin) {
    size_t end = begin + 1;
    while (end < s->count && s->member[end].rest == s->member[begin].rest) end++;
    return end;
}

/* Of the design that has the combination and the rest of these members. */
static size_t greatest_doubt(const study *s, size_t begin, size_t end, size_t combination) {
    size_t doubt = 0;
    for (size_t i = begin; i < end; i++)
        doubt = tn_greatest(doubt, s->doubt[s->member[i].row * s->learned->combinations + combination]);
    return doubt;
}

/* The least doubt, from `least` on, of which there are no more than `most` neighbours, and how many there are. */
static size_t find_least_doubt(const study *s, double least, size_t most, size_t *count) {
    size_t of_doubt[DRAWS / 2 + 1] = {0}, doubt = DRAWS / 2 + 1;
    for (size_t i = 0, end; i < s->count; i = end) {
        end = end_of_rest(s, i);
        for (size_t c = 0; c < s->learned->combinations; c++) of_doubt[greatest_doubt(s, i, end, c)]++;
    }
    *count = 0;
    while (doubt > 0 && (double)(doubt - 1) >= least * DRAWS && *count + of_doubt[doubt - 1] <= most)
        *count += of_doubt[--doubt];
    return doubt;
}

static void list_neighbours(const study *s, size_t combination, size_t least,
                            tn_front_neighbours *neighbours) {
    for (size_t i = 0, end; i < s->count; i = end) {
        const uint64_t id = s->member[i].rest + s->learned->offset[combination];
        end = end_of_rest(s, i);
        if (greatest_doubt(s, i, end, combination) < least || is_on_front(s, id)) continue;
        neighbours->id[neighbours->count] = id;
        neighbours->combination[neighbours->count++] = (uint32_t)combination;
    }
}

static tn_status find(study *s, double least, size_t most, tn_arena *scratch, tn_arena *arena,
                      tn_front_neighbours *neighbours, tn_error *error) {
    size_t count;
    TN_TRY(list_members(s, scratch, error));
    const size_t doubt = find_least_doubt(s, least, most, &count);
    TN_TRY(TN_NEW(arena, count, &neighbours->id, error));
    TN_TRY(TN_NEW(arena, count, &neighbours->combination, error));
    neighbours->is_cut = doubt > 0 && (double)(doubt - 1) >= least * DRAWS;
    neighbours->least_doubt = neighbours->is_cut ? (double)doubt / DRAWS : least;
    for (size_t c = 0; c < s->learned->combinations; c++) list_neighbours(s, c, doubt, neighbours);
    return TN_OK;
}

tn_status tn_front_neighbours_find(const tn_learned *learned, const tn_point *front, size_t count,
                                   double least, size_t most, tn_arena *arena,
                                   tn_front_neighbours *neighbours, tn_error *error) {
    study s = {.learned = learned, .front = front, .count = count};
    tn_arena scratch = {0};
    *neighbours = (tn_front_neighbours){0};
    tn_status status = find(&s, least, most, &scratch, arena, neighbours, error);
    tn_arena_free(&scratch);
    return status;
}
