#include "search/like_front.h"

#include "base/memory.h"
#include "search/unit_blocks.h"

#include <math.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* A point that was kept, as another one with a block. Its number is the point's id; the block's is the upper half of a new
 * point's. */
typedef struct {
    uint32_t before, block;
} node;

/* A block that some point has. */
typedef struct {
    uint32_t set, species, place;
} named_block;

typedef struct {
    const tn_like_units *likes;
    const double *sure;
    tn_boxes boxes;
    tn_merging merging;
    tn_unit_blocks *blocks; /* [sets] */
    double *least;          /* [sets][types at most][dimensions]: that a unit adds */
    size_t states;
    tn_sums *front; /* [states] */
    node *node;
    size_t nodes, node_room;
    named_block *block;
    size_t block_count, block_room;
    tn_arena arena;
} merger;

/* ---- what is sure to be added ---- */

static uint32_t types_most(const tn_like_units *likes) {
    uint32_t most = 1;
    for (uint32_t s = 0; s < likes->sets; s++)
        if (likes->set[s].types > most) most = likes->set[s].types;
    return most;
}

static double *least_of(const merger *state, uint32_t set, uint32_t type) {
    return state->least + ((size_t)set * types_most(state->likes) + type) * state->likes->dimensions;
}

/* A core adds no less than its share, in whatever block it is. */
static double least_bits(const tn_like_units *likes, const tn_part_cores *cores) {
    double bits = 0;
    for (uint32_t i = 0; i < cores->count; i++)
        bits += likes->table->view[likes->build].core[cores->core_class[i]].capacity_bits;
    return bits;
}

static tn_status find_least(merger *state, tn_error *error) {
    const tn_like_units *likes = state->likes;
    TN_TRY(TN_NEW(&state->arena, (size_t)likes->sets * types_most(likes) * likes->dimensions, &state->least,
                  error));
    for (uint32_t s = 0; s < likes->sets; s++)
        for (uint32_t t = 0; t < likes->set[s].types; t++) {
            const tn_like_set *set = &likes->set[s];
            double *least = least_of(state, s, t);
            for (size_t d = 0; d < likes->dimensions; d++) {
                const bool negated = d < state->boxes.rounded && state->boxes.negated[d];
                least[d] = INFINITY;
                for (uint64_t o = 0; o < set->options; o++) {
                    if (!set->defined[o]) continue;
                    double value = tn_like_cost(&set->type[t], d, o, 1);
                    if (likes->has_classes && likes->cost[d] == TN_COST_CAPACITY)
                        value += least_bits(likes, &set->type[t].cores[o]);
                    least[d] = fmin(least[d], negated ? -value : value);
                }
            }
        }
    return TN_OK;
}

static void set_shifts(merger *state, uint32_t set, size_t number) {
    const tn_like_units *likes = state->likes;
    for (size_t d = 0; d < state->boxes.rounded; d++) {
        double sum = state->sure[d];
        for (uint32_t s = set; s < likes->sets; s++) {
            const tn_like_set *its = &likes->set[s];
            for (uint32_t t = 0; t < its->types; t++) {
                uint32_t left = its->type[t].count;
                if (s == set) left -= (uint32_t)(number / state->blocks[s].stride[t] % (left + 1));
                sum += left * least_of(state, s, t)[d];
            }
            if (s > set) sum += state->boxes.negated[d] ? -its->constant[d] : its->constant[d];
        }
        state->boxes.shift[d] = fmax(0, sum);
    }
}

/* ---- merging ---- */

/* Numbers the blocks that may be added, by which points tell them apart. */
static tn_status number_blocks(merger *state, uint32_t set, uint32_t species, tn_error *error) {
    tn_unit_blocks *blocks = &state->blocks[set];
    for (size_t n = 0; n < blocks->states; n++) {
        tn_sums *of = &blocks->block[species].of[n];
        for (size_t i = 0; i < of->count; i++) {
            TN_TRY(TN_GROW(&state->block, &state->block_room, state->block_count + 1, error));
            state->block[state->block_count] = (named_block){set, species, of->left[i]};
            of->id[i] = (uint64_t)state->block_count++ << 32;
        }
    }
    return TN_OK;
}

/* Points that are new become nodes. */
static tn_status settle(merger *state, tn_sums *front, tn_error *error) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->left[i] == NONE) continue;
        if (state->nodes >= NONE)
            return tn_fail(error, TN_LIMIT, "over 4,294,967,294 sums of costs; allow a larger epsilon");
        TN_TRY(TN_GROW(&state->node, &state->node_room, state->nodes + 1, error));
        state->node[state->nodes] = (node){(uint32_t)front->id[i], (uint32_t)(front->id[i] >> 32)};
        front->id[i] = state->nodes++;
        front->left[i] = NONE;
    }
    return TN_OK;
}

/* Whether each type has as many units in `part` as in `whole`, or fewer. */
static bool is_within(const tn_unit_blocks *blocks, size_t part, size_t whole) {
    for (uint32_t t = 0; t < blocks->set->types; t++) {
        const size_t numbers = blocks->set->type[t].count + 1;
        if (part / blocks->stride[t] % numbers > whole / blocks->stride[t] % numbers) return false;
    }
    return true;
}

/* The greatest numbers of units first: the others' fronts are those of before the species. */
static tn_status merge_species(merger *state, uint32_t set, uint32_t species, tn_error *error) {
    const tn_unit_blocks *blocks = &state->blocks[set];
    const tn_species_blocks *its = &blocks->block[species];
    size_t kept = 0;
    TN_TRY(number_blocks(state, set, species, error));
    for (size_t whole = blocks->states; whole-- > 1;) {
        set_shifts(state, set, whole);
        TN_TRY(tn_merging_begin(&state->merging, &state->front[whole], error));
        for (size_t part = 1; part <= whole; part++)
            if (its->of[part].count > 0 && is_within(blocks, part, whole))
                TN_TRY(tn_merging_add(&state->merging, &state->front[whole - part], &its->of[part], error));
        TN_TRY(tn_merging_end(&state->merging, error));
        TN_TRY(settle(state, &state->front[whole], error));
        kept += state->front[whole].count;
    }
    if (kept > state->merging.most)
        return tn_fail(error, TN_LIMIT, "over %zu sums of costs are kept; allow a larger epsilon",
                       state->merging.most);
    return TN_OK;
}

/* The last front of the set begins the next one. */
static tn_status merge_set(merger *state, uint32_t set, tn_sums *sums, tn_error *error) {
    const tn_like_units *likes = state->likes;
    TN_TRY(tn_unit_blocks_find(likes, &likes->set[set], state->merging.deadline, &state->arena,
                               &state->blocks[set], error));
    const tn_unit_blocks *blocks = &state->blocks[set];
    state->states = blocks->states;
    TN_TRY(TN_NEW(&state->arena, state->states, &state->front, error));
    for (size_t n = 0; n < state->states; n++) tn_sums_begin(&state->front[n], likes->dimensions);
    for (size_t d = 0; d < likes->dimensions; d++)
        for (size_t i = 0; i < sums->count; i++) sums->value[d][i] += likes->set[set].constant[d];
    state->front[0] = *sums;
    tn_sums_begin(sums, likes->dimensions);
    for (uint32_t s = 0; s < blocks->species; s++) TN_TRY(merge_species(state, set, s, error));
    *sums = state->front[state->states - 1];
    tn_sums_begin(&state->front[state->states - 1], likes->dimensions);
    for (size_t n = 0; n < state->states; n++) tn_sums_free(&state->front[n]);
    return TN_OK;
}

/* ---- designs ---- */

/* The block's options go to the next units of their types. */
static void deal_block(const merger *state, const named_block *its, uint32_t *taken, size_t point,
                       tn_like_front *front) {
    const tn_species_blocks *species = &state->blocks[its->set].block[its->species];
    const tn_like_set *set = &state->likes->set[its->set];
    if (set->units == 1) {
        front->option[set->type[0].unit[0]][point] = (uint32_t)species->entry[its->place].option;
        return;
    }
    for (uint32_t e = 0; e < species->entries; e++) {
        const tn_block_entry *entry = &species->entry[e];
        uint32_t *next = &taken[its->set * types_most(state->likes) + entry->type];
        for (uint32_t n = species->counts[(size_t)its->place * species->entries + e]; n > 0; n--)
            front->option[set->type[entry->type].unit[(*next)++]][point] = (uint32_t)entry->option;
    }
}

static tn_status deal_options(merger *state, tn_like_front *front, tn_error *error) {
    const tn_like_units *likes = state->likes;
    const size_t types = (size_t)likes->sets * types_most(likes);
    uint32_t *taken;
    TN_TRY(TN_ALLOC(likes->table->units, &front->option, error));
    for (uint32_t u = 0; u < likes->table->units; u++)
        TN_TRY(TN_ALLOC(front->sums.count, &front->option[u], error));
    TN_TRY(TN_NEW(&state->arena, types, &taken, error));
    for (size_t i = 0; i < front->sums.count; i++) {
        memset(taken, 0, types * sizeof *taken);
        for (uint32_t n = (uint32_t)front->sums.id[i]; n != 0; n = state->node[n].before)
            deal_block(state, &state->block[state->node[n].block], taken, i, front);
        front->sums.left[i] = (uint32_t)i;
    }
    return TN_OK;
}

/* ---- the whole ---- */

static tn_status merge_all(merger *state, const double *start, tn_like_front *front, tn_error *error) {
    const tn_like_units *likes = state->likes;
    TN_TRY(find_least(state, error));
    TN_TRY(TN_NEW(&state->arena, likes->sets, &state->blocks, error));
    TN_TRY(TN_GROW(&state->node, &state->node_room, 1, error));
    state->nodes = 1; /* what no unit adds */
    TN_TRY(tn_sums_add(&front->sums, start, 0, 0, NONE, 0, error));
    for (uint32_t s = 0; s < likes->sets; s++) TN_TRY(merge_set(state, s, &front->sums, error));
    return deal_options(state, front, error);
}

tn_status tn_like_front_find(const tn_like_units *likes, const double *start, const tn_boxes *boxes,
                             const double *sure, size_t most, double deadline, tn_like_front *front,
                             tn_error *error) {
    merger state = {.likes = likes, .sure = sure, .boxes = *boxes};
    state.merging = (tn_merging){.boxes = &state.boxes, .most = most, .deadline = deadline};
    *front = (tn_like_front){.option = NULL};
    tn_sums_begin(&front->sums, likes->dimensions);
    tn_status status = merge_all(&state, start, front, error);
    for (size_t n = 0; state.front && n < state.states; n++) tn_sums_free(&state.front[n]);
    for (uint32_t s = 0; state.blocks && s < likes->sets; s++) tn_unit_blocks_free(&state.blocks[s]);
    tn_merging_free(&state.merging);
    tn_free(state.node);
    tn_free(state.block);
    tn_arena_free(&state.arena);
    return status;
}

void tn_like_front_free(tn_like_front *front, uint32_t units) {
    tn_sums_free(&front->sums);
    for (uint32_t u = 0; front->option && u < units; u++) tn_free(front->option[u]);
    tn_free(front->option);
    front->option = NULL;
}
