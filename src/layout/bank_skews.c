#include "layout/bank_skews.h"

#include "base/checked.h"
#include "layout/fullest_bank.h"

/* A block that products ask for so many times, which lies along a few of the axes. */
typedef struct {
    uint64_t times, cycles; /* of one, with the skews that stand */
    uint32_t axes, axis[TN_BANKED_AXES];
    uint64_t words[TN_BANKED_AXES];
} asked_block;

/* The best skews so far, which stand. */
typedef struct {
    tn_tensor_layout *layout;
    asked_block *block;
    uint32_t blocks;
    uint64_t cycles, depth;             /* of all blocks, rows; UINT64_MAX: no rows are told apart */
    uint64_t least_cycles, least_depth; /* whatever the skews */
} skew_search;

/* ---- blocks ---- */

static bool is_alike(const asked_block *a, const asked_block *b) {
    bool alike = a->axes == b->axes;
    for (uint32_t k = 0; k < a->axes && alike; k++)
        alike = a->axis[k] == b->axis[k] && a->words[k] == b->words[k];
    return alike;
}

static void add_block(skew_search *search, const asked_block *block) {
    uint32_t i = 0;
    while (i < search->blocks && !is_alike(&search->block[i], block)) i++;
    if (i == search->blocks)
        search->block[search->blocks++] = *block;
    else
        search->block[i].times += block->times;
}

/* The block of a product that is cut so; along an axis of one value it has one word. */
static asked_block block_of(const tn_tensor_layout *layout, const tn_group_cut *const *group) {
    asked_block block = {0};
    for (int g = 0; g < 2; g++)
        for (uint32_t i = 0; i < group[g]->indices; i++)
            for (uint32_t k = 0; k < layout->axes; k++) {
                if (layout->axis[k].index != group[g]->index[i]) continue;
                block.axis[block.axes] = k;
                block.words[block.axes++] = tn_least(group[g]->edge[i], layout->axis[k].size);
            }
    return block;
}

static void list_blocks(const tn_layout_state *state, uint32_t t, skew_search *search) {
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) {
        const uint32_t use = state->tensor[t].use[i];
        const tn_searched_product *p = &state->problem->product[use];
        const tn_cut_product *own = &state->product[use];
        uint64_t blocks[TN_CUT_GROUPS];
        for (int g = 0; g < TN_CUT_GROUPS; g++) blocks[g] = p->group[g].cut[own->taken[g]].blocks;
        for (int side = 0; side < TN_OF_ALL; side++) {
            if (own->tensor[side] != t) continue;
            const int *direction = tn_cut_directions[side];
            const tn_group_cut *group[] = {&p->operand[side].block[0][own->taken[direction[0]]],
                                           &p->operand[side].block[1][own->taken[direction[1]]]};
            asked_block block = block_of(search->layout, group);
            block.times = p->batch * blocks[TN_CUT_ROWS] * blocks[TN_CUT_COLUMNS] *
                          (side == TN_OF_RESULT ? 1 : blocks[TN_CUT_REDUCTION]);
            add_block(search, &block);
        }
    }
}

/* ---- skews ---- */

static uint64_t cycles_of(const tn_tensor_layout *layout, const asked_block *block) {
    uint64_t skew[TN_BANKED_AXES];
    for (uint32_t k = 0; k < block->axes; k++) skew[k] = layout->axis[block->axis[k]].skew;
    return tn_fullest_bank(block->words, skew, block->axes, layout->banks);
}

static bool lies_along(const asked_block *block, uint32_t axis) {
    for (uint32_t k = 0; k < block->axes; k++)
        if (block->axis[k] == axis) return true;
    return false;
}

/* Cycles of all blocks with another skew of the axis, given up beyond those of the best. */
static uint64_t cycles_with(const skew_search *search, uint32_t axis) {
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < search->blocks && cycles <= search->cycles; i++) {
        const asked_block *block = &search->block[i];
        cycles += block->times * (lies_along(block, axis) ? cycles_of(search->layout, block) : block->cycles);
    }
    return cycles;
}

/* Takes the skew that the axis has now if it is better; of what does not cost fewer cycles rows are sought only where they
 * may be fewer. */
static bool take_better(skew_search *search, uint32_t axis) {
    const uint64_t cycles = cycles_with(search, axis);
    if (cycles > search->cycles || (cycles == search->cycles && search->depth == search->least_depth))
        return false;
    if (!tn_tensor_layout_share_rows(search->layout)) return false;
    if (cycles == search->cycles && search->layout->depth >= search->depth) return false;
    search->cycles = cycles;
    search->depth = search->layout->depth;
    return true;
}

/* The next of the powers of two and those above them. */
static uint64_t next_skew(uint64_t skew) {
    return (skew & (skew - 1)) == 0 ? skew + 1 : 2 * (skew - 1);
}

static bool try_axis(skew_search *search, uint32_t axis) {
    tn_layout_axis *own = &search->layout->axis[axis];
    uint64_t kept = own->skew;
    bool better = false;
    for (uint64_t skew = 0; skew < search->layout->banks; skew = next_skew(skew)) {
        own->skew = skew;
        if (!take_better(search, axis)) continue;
        kept = skew;
        better = true;
    }
    own->skew = kept;
    for (uint32_t i = 0; i < search->blocks && better; i++)
        search->block[i].cycles = cycles_of(search->layout, &search->block[i]);
    return better;
}

static bool is_best(const skew_search *search) {
    return search->cycles == search->least_cycles && search->depth == search->least_depth;
}

/* Every axis one bank further from word to word; no bank has fewer words than its share of a block. */
static void begin(skew_search *search) {
    tn_tensor_layout *layout = search->layout;
    for (uint32_t k = 0; k < layout->axes; k++) layout->axis[k].skew = 1 % layout->banks;
    for (uint32_t i = 0; i < search->blocks; i++) {
        asked_block *block = &search->block[i];
        uint64_t words = 1;
        for (uint32_t k = 0; k < block->axes; k++) words *= block->words[k];
        block->cycles = cycles_of(layout, block);
        search->cycles += block->times * block->cycles;
        search->least_cycles += block->times * tn_ceil_div(words, layout->banks);
    }
    search->least_depth = tn_tensor_layout_fewest_rows(layout);
    search->depth = UINT64_MAX;
    if (tn_tensor_layout_share_rows(layout))
        search->depth = layout->depth;
    else
        search->cycles = UINT64_MAX;
}

tn_status tn_bank_skews_find(const tn_layout_state *state, uint32_t t, tn_tensor_layout *layout,
                             tn_error *error) {
    enum { PASSES = 3 };
    skew_search search = {.layout = layout};
    bool better = true;
    TN_TRY(TN_NEW(&state->room->scratch, (size_t)TN_OF_ALL * state->tensor[t].uses, &search.block, error));
    list_blocks(state, t, &search);
    begin(&search);
    for (int pass = 0; pass < PASSES && better; pass++) {
        better = false;
        for (uint32_t k = 0; k < layout->axes && !is_best(&search); k++)
            better = try_axis(&search, k) || better;
    }
    tn_tensor_layout_share_rows(layout);
    return TN_OK;
}
