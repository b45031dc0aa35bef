#include "results/sweep_plan.h"

#include "base/buffer.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/random.h"
#include "search/chunk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks that are taken before the rest is put in order for the first time: a share of all of them, and no fewer than say something;
 * and chunks that are put in order at once, which bounds memory. */
enum { RENEWAL_SHARE = 64, RENEWAL_LEAST = 16, RENEWED_MOST = 1 << 20 };

const char *const tn_method_names[] = {"auto", "enumerate", "decompose", "evolve", NULL};

/* Parts take chunks in turn, as neighbours take about as long; each turn begins with another part, drawn by its number,
 * or parts would each get their own values of the choices that change fastest. */
static uint64_t shard_of(uint64_t chunk, uint64_t shards) {
    uint64_t turn = chunk / shards;
    return (chunk + tn_splitmix_next(&turn)) % shards;
}

/* All of them by strides of the golden section, so that the first ones lie evenly over the space: what they find is better
 * than most of what follows. */
static tn_status spread(tn_sweep_plan *plan, tn_error *error) {
    uint64_t *ordered, stride = (uint64_t)((double)plan->chosen * 0.6180339887498949);
    if (plan->chosen < 3) return TN_OK;
    while (tn_greatest_common_divisor(plan->chosen, stride) != 1) stride++;
    TN_TRY(TN_ALLOC(plan->chosen, &ordered, error));
    for (uint64_t i = 0, index = 0; i < plan->chosen; i++, index = (index + stride) % plan->chosen)
        ordered[i] = plan->chunk[index];
    tn_free(plan->chunk);
    plan->chunk = ordered;
    return TN_OK;
}

/* Draws chunks by the seed until the budget is reached; all of them without one. */
static tn_status choose(const tn_space *space, const tn_sweep_options *options, tn_sweep_plan *plan,
                        tn_error *error) {
    for (uint64_t chunk = 0; chunk < plan->chunks; chunk++)
        if (options->shards == 0 || shard_of(chunk, options->shards) == options->shard - 1)
            plan->chunk[plan->chosen++] = chunk;
    if (options->budget == 0 || options->budget >= space->choices.designs) return spread(plan, error);
    tn_random *random;
    TN_TRY(tn_random_open(options->seed, &random, error));
    tn_random_shuffle(random, plan->chunk, plan->chosen, sizeof *plan->chunk);
    tn_random_close(random);
    uint64_t designs = 0, kept = 0;
    while (kept < plan->chosen && designs < options->budget)
        designs += tn_chunk_at(space, plan->chunk[kept++]).designs;
    plan->sampled = kept < plan->chosen;
    plan->chosen = kept;
    return TN_OK;
}

tn_status tn_sweep_plan_make(const tn_space *space, const tn_sweep_options *options, tn_sweep_plan *plan,
                             tn_error *error) {
    *plan = (tn_sweep_plan){0};
    if (options->shards && (options->shard == 0 || options->shard > options->shards))
        return tn_fail(error, TN_INPUT, "no such shard; shards are numbered from 1 to their number");
    TN_TRY(tn_chunk_count(space, &plan->chunks, error));
    TN_TRY(TN_ALLOC(plan->chunks, &plan->chunk, error));
    tn_status status = choose(space, options, plan, error);
    if (status != TN_OK) tn_sweep_plan_free(plan);
    plan->renewal = tn_greatest(RENEWAL_LEAST, plan->chosen / RENEWAL_SHARE);
    return status;
}

void tn_sweep_plan_free(tn_sweep_plan *plan) {
    tn_free(plan->chunk);
    *plan = (tn_sweep_plan){0};
}

tn_status tn_sweep_plan_skip(tn_sweep_plan *plan, const bool *done, uint64_t *count, tn_error *error) {
    uint64_t *left, lefts = 0;
    TN_TRY(TN_ALLOC(plan->chosen, &left, error));
    *count = 0;
    for (uint64_t i = 0; i < plan->chosen; i++) {
        if (done[plan->chunk[i]])
            plan->chunk[(*count)++] = plan->chunk[i];
        else
            left[lefts++] = plan->chunk[i];
    }
    if (lefts) memcpy(&plan->chunk[*count], left, lefts * sizeof *left);
    tn_free(left);
    return TN_OK;
}

/* ---- a new order ---- */

/* Of a value of a choice: designs of the front that have it, and chunks of it that were taken. */
typedef struct {
    double designs, chunks;
} value_yield;

typedef struct {
    double score;
    uint64_t place, chunk;
} rated_chunk;

typedef struct {
    const tn_space *space;
    value_yield *value[TN_AXES_MOST]; /* [choices][its values] */
    double mean;                      /* designs of the front for a chunk */
} yields;

static int by_score(const void *a, const void *b) {
    const rated_chunk *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Of the first design of the chunk: of choices that vary within chunks all have the same. */
static void find_digits(const tn_space *space, uint64_t number, uint32_t *digit) {
    const tn_chunk chunk = tn_chunk_at(space, number);
    tn_digits_of(&space->choices, space->outer, space->outers, chunk.outer, digit);
    tn_digits_of(&space->choices, space->inner, space->inners, chunk.first, digit);
}

static tn_status find_yields(const tn_sweep_plan *plan, const tn_space *space, const tn_archive *front,
                             uint64_t taken, tn_arena *arena, yields *found, tn_error *error) {
    const tn_choices *choices = &space->choices;
    tn_point *point;
    uint32_t digit[TN_AXES_MOST];
    *found = (yields){.space = space, .mean = (double)front->count / (double)taken};
    for (size_t i = 0; i < choices->count; i++)
        TN_TRY(TN_NEW(arena, choices->axis[i].count, &found->value[i], error));
    TN_TRY(TN_NEW(arena, front->count, &point, error));
    tn_archive_points(front, point);
    for (size_t p = 0; p < front->count; p++)
        for (size_t i = 0; i < choices->count; i++)
            found->value[i][tn_choices_digit(choices, point[p].id, i)].designs++;
    for (uint64_t c = 0; c < taken; c++) {
        find_digits(space, plan->chunk[c], digit);
        for (size_t i = 0; i < choices->count; i++) found->value[i][digit[i]].chunks++;
    }
    return TN_OK;
}

/* As if choices gave independently of each other, and each value had been in one chunk more that gave as much as all in the mean. */
static double score_of(const yields *found, uint64_t number) {
    uint32_t digit[TN_AXES_MOST];
    double score = 0;
    find_digits(found->space, number, digit);
    for (size_t i = 0; i < found->space->choices.count; i++) {
        const value_yield *value = &found->value[i][digit[i]];
        score += log((value->designs + found->mean) / (value->chunks + 1));
    }
    return score;
}

static tn_status put_in_order(tn_sweep_plan *plan, const tn_space *space, const tn_archive *front,
                              uint64_t begin, tn_arena *arena, tn_error *error) {
    const uint64_t count = tn_least(plan->chosen - begin, RENEWED_MOST);
    rated_chunk *rated;
    yields found;
    TN_TRY(find_yields(plan, space, front, begin, arena, &found, error));
    TN_TRY(TN_NEW(arena, count, &rated, error));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t chunk = plan->chunk[begin + i];
        rated[i] = (rated_chunk){score_of(&found, chunk), i, chunk};
    }
    qsort(rated, count, sizeof *rated, by_score);
    for (uint64_t i = 0; i < count; i++) plan->chunk[begin + i] = rated[i].chunk;
    return TN_OK;
}

tn_status tn_sweep_plan_renew(tn_sweep_plan *plan, const tn_space *space, const tn_archive *front,
                              uint64_t begin, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = TN_OK;
    if (begin > 0 && begin < plan->chosen && front->count > 0)
        status = put_in_order(plan, space, front, begin, &arena, error);
    while (plan->renewal <= begin) plan->renewal *= 2;
    tn_arena_free(&arena);
    return status;
}
