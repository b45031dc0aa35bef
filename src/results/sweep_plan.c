#include "results/sweep_plan.h"

#include "base/buffer.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/random.h"
#include "search/chunk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    return status;
}

void tn_sweep_plan_free(tn_sweep_plan *plan) {
    tn_free(plan->chunk);
    *plan = (tn_sweep_plan){0};
}
