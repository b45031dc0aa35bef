#include "results/neighbours.h"

#include "base/checked.h"

#include <stdbool.h>
#include <stdlib.h>

enum { NEIGHBOURS_MOST = 4000000 }; /* those of several designs of the front counted for each */

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
    member *member; /* [count]: by rest */
    size_t rows;    /* combinations of the front */
    bool *open;     /* [rows][combinations]: the draws do not tell them apart */
    /* Where the limit is reached: what comes behind the combination of this member is left out. */
    size_t last_place, last_combination;
} study;

static int by_rest(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->rest != y->rest) return x->rest < y->rest ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static tn_status compare_combinations(study *s, const size_t *of_row, double least, tn_arena *arena,
                                      tn_error *error) {
    const size_t combinations = s->learned->combinations;
    TN_TRY(TN_NEW(arena, s->rows * combinations, &s->open, error));
    for (size_t r = 0; r < s->rows; r++)
        for (size_t c = 0; c < combinations; c++) {
            const tn_draw_set ahead = tn_learned_ahead(s->learned, of_row[r], c, false);
            const double draws = (double)tn_draw_set_count(&ahead);
            s->open[r * combinations + c] =
                draws >= least * TN_SETTLED_DRAWS && draws <= (1 - least) * TN_SETTLED_DRAWS;
        }
    return TN_OK;
}

static tn_status list_members(study *s, double least, tn_arena *arena, tn_error *error) {
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
    return compare_combinations(s, of_row, least, arena, error);
}

/* How many there are, those of several members counted for each, and where the limit is reached. Members as on the front. */
static size_t count_all(study *s) {
    const size_t combinations = s->learned->combinations;
    size_t count = 0;
    s->last_place = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++)
        for (size_t c = 0; c < combinations; c++) {
            if (!s->open[s->member[i].row * combinations + c]) continue;
            if (++count < NEIGHBOURS_MOST) continue;
            s->last_place = i;
            s->last_combination = c;
            return count;
        }
    return count;
}

static bool is_looked_at(const study *s, const member *own, size_t combination) {
    if (!s->open[own->row * s->learned->combinations + combination]) return false;
    return own->place < s->last_place || (own->place == s->last_place && combination <= s->last_combination);
}

static int by_id(const void *a, const void *b) {
    const uint64_t *id = a;
    const tn_point *point = b;
    return (*id > point->id) - (*id < point->id);
}

static bool is_on_front(const study *s, uint64_t id) {
    return bsearch(&id, s->front, s->count, sizeof *s->front, by_id) != NULL;
}

static size_t count_rests(const study *s) {
    size_t rests = 0;
    for (size_t i = 0; i < s->count; i++) rests += i == 0 || s->member[i].rest != s->member[i - 1].rest;
    return rests;
}

/* Members of one rest have the same neighbours. */
static void list_neighbours(const study *s, size_t combination, tn_front_neighbours *neighbours) {
    for (size_t i = 0, end; i < s->count; i = end) {
        bool any = false;
        for (end = i; end < s->count && s->member[end].rest == s->member[i].rest; end++)
            any = any || is_looked_at(s, &s->member[end], combination);
        const uint64_t id = s->member[i].rest + s->learned->offset[combination];
        if (!any || is_on_front(s, id)) continue;
        neighbours->id[neighbours->count] = id;
        neighbours->combination[neighbours->count++] = (uint32_t)combination;
    }
}

tn_status tn_front_neighbours_find(const tn_learned *learned, const tn_point *front, size_t count,
                                   double least, tn_arena *arena, tn_front_neighbours *neighbours,
                                   tn_error *error) {
    study s = {.learned = learned, .front = front, .count = count};
    tn_arena scratch = {0};
    *neighbours = (tn_front_neighbours){0};
    tn_status status = list_members(&s, least, &scratch, error);
    if (status == TN_OK) {
        size_t most = count_all(&s);
        qsort(s.member, count, sizeof *s.member, by_rest);
        most = tn_least(most, count_rests(&s) * learned->combinations);
        status = TN_NEW(arena, most, &neighbours->id, error);
        if (status == TN_OK) status = TN_NEW(arena, most, &neighbours->combination, error);
    }
    for (size_t c = 0; status == TN_OK && c < learned->combinations; c++) list_neighbours(&s, c, neighbours);
    tn_arena_free(&scratch);
    return status;
}
