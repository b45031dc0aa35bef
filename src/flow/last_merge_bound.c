#include "flow/last_merge_bound.h"

enum { STEPS_MOST = 1 << 21 };

typedef struct splitter {
    const tn_problem *problem;
    uint32_t order[TN_PROBLEM_TENSORS];
    uint64_t best, steps;
} splitter;

/* One side as far as it is known: its tensors, and the groups on them. */
typedef struct side {
    uint32_t tensors;
    uint64_t groups;
} side;

/* Each tensor after its neighbours: next is always one that shares the most elements with those before. */
static void order_tensors(splitter *s) {
    const tn_problem *problem = s->problem;
    uint64_t left = problem->all, touched = 0;
    for (uint32_t place = 0; left; place++) {
        uint32_t next = (uint32_t)__builtin_ctzll(left);
        uint64_t most = 0;
        for (uint64_t rest = left; rest; rest &= rest - 1) {
            uint32_t t = (uint32_t)__builtin_ctzll(rest);
            uint64_t shared = tn_problem_product(problem, problem->tensor[t] & touched);
            if (shared <= most) continue;
            most = shared;
            next = t;
        }
        s->order[place] = next;
        touched |= problem->tensor[next];
        left ^= (uint64_t)1 << next;
    }
}

/* A side's elements once it is merged, at least; nothing if it may stay a single tensor. */
static uint64_t elements_of(const splitter *s, side own, side other) {
    if (own.tensors < 2) return 0;
    return tn_problem_product(s->problem, own.groups & (s->problem->output | other.groups));
}

static void assign(splitter *s, uint32_t place, side a, side b) {
    s->steps++;
    uint64_t least = tn_saturating_add(elements_of(s, a, b), elements_of(s, b, a));
    if (least >= s->best || s->steps > STEPS_MOST) return;
    if (place == s->problem->tensors) {
        if (b.tensors) s->best = least;
        return;
    }
    uint64_t groups = s->problem->tensor[s->order[place]];
    assign(s, place + 1, (side){a.tensors + 1, a.groups | groups}, b);
    if (place)
        assign(s, place + 1, a, (side){b.tensors + 1, b.groups | groups}); /* the first is a's: mirrored */
}

uint64_t tn_last_merge_bound(const tn_problem *problem, uint64_t *work) {
    splitter s = {.problem = problem, .best = UINT64_MAX};
    uint64_t result = tn_problem_product(problem, problem->output);
    order_tensors(&s);
    assign(&s, 0, (side){0}, (side){0});
    *work += 16 * s.steps;
    return s.steps > STEPS_MOST ? result : tn_saturating_add(result, s.best);
}
