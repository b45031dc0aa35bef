#include "layout/bank_skews.h"

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };

/* Cycles of all blocks of the tensor that its products ask for, rows that it takes to break ties. */
typedef struct {
    uint64_t cycles, depth;
} skew_price;

/* With the skews that stand; of what costs more cycles than `most` no rows are sought. */
static skew_price price_skews(const tn_layout_state *state, uint32_t t, tn_tensor_layout *layout,
                              uint64_t most) {
    skew_price price = {.depth = UINT64_MAX};
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) {
        const uint32_t use = state->tensor[t].use[i];
        const tn_searched_product *p = &state->problem->product[use];
        const tn_cut_product *own = &state->product[use];
        const tn_group_cut *c[GROUPS];
        for (int g = 0; g < GROUPS; g++) c[g] = &p->group[g].cut[own->taken[g]];
        uint64_t tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
        for (int side = 0; side < TN_OF_ALL; side++) {
            if (own->tensor[side] != t) continue;
            const tn_group_cut *group[] = {
                &p->operand[side].block[0][own->taken[tn_cut_directions[side][0]]],
                &p->operand[side].block[1][own->taken[tn_cut_directions[side][1]]]};
            price.cycles += tn_tensor_layout_phases(layout, group, 0) * tiles *
                            (side == TN_OF_RESULT ? 1 : c[REDUCTION]->blocks);
        }
        if (price.cycles > most) return price;
    }
    if (!tn_tensor_layout_share_rows(layout)) return (skew_price){UINT64_MAX, UINT64_MAX};
    price.depth = layout->depth;
    return price;
}

static bool is_cheaper(skew_price a, skew_price b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.depth < b.depth;
}

/* Axis by axis, the skew under which its blocks take least, of the powers of two and those above them. */
void tn_bank_skews_find(const tn_layout_state *state, uint32_t t, tn_tensor_layout *layout) {
    enum { PASSES = 3 };
    for (uint32_t k = 0; k < layout->axes; k++) layout->axis[k].skew = 1 % layout->banks;
    skew_price best = price_skews(state, t, layout, UINT64_MAX);
    for (int pass = 0; pass < PASSES; pass++) {
        bool better = false;
        for (uint32_t k = 0; k < layout->axes; k++) {
            uint64_t kept = layout->axis[k].skew;
            for (uint64_t skew = 0; skew < layout->banks; skew++) {
                bool near = (skew & (skew - 1)) == 0 || ((skew - 1) & (skew - 2)) == 0;
                if (!near) continue;
                layout->axis[k].skew = skew;
                skew_price price = price_skews(state, t, layout, best.cycles);
                if (!is_cheaper(price, best)) continue;
                best = price;
                kept = skew;
                better = true;
            }
            layout->axis[k].skew = kept;
        }
        if (!better) break;
    }
    tn_tensor_layout_share_rows(layout);
}
