#include "flow/exact_engine.h"

#include <math.h>

uint64_t tn_outer_least_taker(const tn_exact_node *apart) {
    uint64_t root = (uint64_t)sqrt((double)apart->size);
    while (root && root > apart->size / root) root--;
    return tn_saturating_mul(apart->size, root);
}

bool tn_outer_takes(const tn_exact_node *whole, const tn_exact_node *apart) {
    return !(apart->open & ~whole->open) && whole->size >= tn_outer_least_taker(apart);
}

bool tn_outer_some_input_takes(const tn_exact_engine *e, const tn_exact_node *apart) {
    for (uint64_t outside = e->problem->all & ~apart->set; outside; outside &= outside - 1)
        if (tn_outer_takes(&e->node[__builtin_ctzll(outside)], apart)) return true;
    return false;
}

/* Some tensor of the network outside both sets can be D. */
static bool some_input_takes_both(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b,
                                  uint64_t need) {
    uint64_t united = a->open | b->open, outside = e->problem->all & ~(a->set | b->set);
    if (need > e->largest_input) return false;
    for (; outside; outside &= outside - 1) {
        int t = __builtin_ctzll(outside);
        if (!(united & ~e->problem->tensor[t]) && e->node[t].size >= need) return true;
    }
    return false;
}

/* Everything but making D, where D is made, and consuming it. */
static uint64_t least_beside(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b) {
    uint64_t others = e->remaining.total - a->charged - b->charged;
    uint64_t below = tn_saturating_add(a->cost, b->cost);
    return tn_saturating_add(tn_saturating_mul(a->size, b->size), tn_saturating_add(below, others));
}

bool tn_outer_may_pay(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b, uint64_t need,
                      uint64_t least) {
    uint64_t extra = least_beside(e, a, b);
    if (extra > e->bound) return false;
    least = tn_saturating_add(least, tn_saturating_add(a->cost, b->cost));
    if (least <= e->bound && tn_saturating_add(extra, need) <= e->bound) return true;
    return some_input_takes_both(e, a, b, need);
}
