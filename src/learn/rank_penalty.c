#include "learn/rank_penalty.h"

#include "model/operation.h"
#include "train/trainer_state.h"

#include <math.h>

/* Whether the step updates the parameter, and as a whole. */
static bool is_updated(const tn_trainer *t, size_t parameter) {
    const tn_lowered_step *lowered = &t->whole->lowered;
    for (uint32_t i = lowered->update_begin; i < lowered->step.operations; i++) {
        const tn_operation *o = &lowered->step.operation[i];
        if (tn_operation_is_update(o) && t->resident_parameter[lowered->place[o->reads[0]]] == parameter)
            return lowered->step.array[o->reads[0]].live == 0 &&
                   o->rows * o->columns == lowered->step.array[o->reads[0]].elements;
    }
    return false;
}

static bool has_chain(const tn_weight *weight) {
    return weight && (weight->format == TN_TT || weight->format == TN_TTM);
}

/* The bond behind parameter i, a core; false: there is none. */
static bool bond_behind(const tn_trainer *t, size_t i, uint32_t core, tn_rank_bond *bond) {
    const tn_train_parameter *p = &t->parameter[i];
    const tn_weight *weight = t->whole->lowered.step.layer[p->layer].weight;
    if (!p->is_core || !has_chain(weight) || core + 1 >= tn_weight_cores(weight)) return false;
    *bond = (tn_rank_bond){
        .layer = p->layer, .place = core + 1, .left = i, .right = i + 1, .rank = weight->rank[core + 1]};
    bond->cost = (double)(p->elements + t->parameter[i + 1].elements) / (double)bond->rank;
    return is_updated(t, i) && is_updated(t, i + 1);
}

tn_status tn_rank_penalty_new(const tn_trainer *t, tn_arena *arena, tn_rank_penalty *penalty,
                              tn_error *error) {
    uint64_t most = 1, ranks = 1;
    uint32_t core = 0;
    *penalty = (tn_rank_penalty){0};
    TN_TRY(TN_NEW(arena, t->parameters, &penalty->bond, error));
    for (size_t i = 0; i < t->parameters; i++) {
        const tn_train_parameter *p = &t->parameter[i];
        tn_rank_bond *bond = &penalty->bond[penalty->bonds];
        core = i > 0 && p->is_core && t->parameter[i - 1].is_core && p->layer == t->parameter[i - 1].layer
                   ? core + 1
                   : 0;
        if (p->elements > most) most = p->elements;
        if (!bond_behind(t, i, core, bond)) continue;
        TN_TRY(TN_NEW(arena, bond->rank, &bond->lives, error));
        if (bond->rank > ranks) ranks = bond->rank;
        penalty->bonds++;
    }
    if (penalty->bonds == 0)
        return tn_fail(error, TN_INPUT,
                       "model %s has no rank to adapt: no layer that is trained is a tensor train or a "
                       "tensor-train matrix of two cores or more",
                       tn_model_name(t->model));
    TN_TRY(TN_NEW(arena, most, &penalty->left, error));
    TN_TRY(TN_NEW(arena, most, &penalty->right, error));
    return TN_NEW(arena, ranks, &penalty->factor, error);
}

static void read_bond(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond) {
    const tn_train_parameter *left = &t->parameter[bond->left], *right = &t->parameter[bond->right];
    t->kernels->to_double(left->values, penalty->left, left->elements);
    t->kernels->to_double(right->values, penalty->right, right->elements);
}

/* Norms of slice r in both cores. */
static void slice_norms(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                        uint64_t r, double *left, double *right) {
    uint64_t rows = t->parameter[bond->left].elements / bond->rank;
    uint64_t columns = t->parameter[bond->right].elements / bond->rank;
    double a = 0, b = 0;
    for (uint64_t i = 0; i < rows; i++) {
        double value = penalty->left[i * bond->rank + r];
        a += value * value;
    }
    for (uint64_t i = 0; i < columns; i++) {
        double value = penalty->right[r * columns + i];
        b += value * value;
    }
    *left = sqrt(a);
    *right = sqrt(b);
}

static void scale_slice(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                        uint64_t r, double left, double right) {
    uint64_t rows = t->parameter[bond->left].elements / bond->rank;
    uint64_t columns = t->parameter[bond->right].elements / bond->rank;
    for (uint64_t i = 0; i < rows; i++) penalty->left[i * bond->rank + r] *= left;
    for (uint64_t i = 0; i < columns; i++) penalty->right[r * columns + i] *= right;
}

/* An optimizer's state of a slice that vanished would move it again. It is one or two numbers an element, all first ones
 * before all second ones. */
static void clear_states(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                         const bool *lives) {
    const tn_train_parameter *left = &t->parameter[bond->left], *right = &t->parameter[bond->right];
    const tn_kernels *k = t->kernels;
    for (uint64_t start = 0; start < left->state_elements; start += left->elements) {
        uint64_t part = start / left->elements;
        char *of_left = (char *)left->state + start * k->bytes;
        char *of_right = (char *)right->state + part * right->elements * k->bytes;
        k->to_double(of_left, penalty->left, left->elements);
        k->to_double(of_right, penalty->right, right->elements);
        for (uint64_t r = 0; r < bond->rank; r++)
            if (!lives[r]) scale_slice(penalty, t, bond, r, 0, 0);
        k->from_double(penalty->left, of_left, left->elements);
        k->from_double(penalty->right, of_right, right->elements);
    }
}

/* Of a slice's norm: that of both factors, once they are equal. Returns the root mean square of those that live. */
static double find_norms(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                         double *norm) {
    double squares = 0, living = 0;
    for (uint64_t r = 0; r < bond->rank; r++) {
        double left, right;
        slice_norms(penalty, t, bond, r, &left, &right);
        norm[r] = sqrt(2 * left * right);
        squares += norm[r] * norm[r];
        living += norm[r] > 0;
    }
    return living > 0 ? sqrt(squares / living) : 0;
}

/* What each slice is scaled by for the penalty; of slices that all vanish the greatest stays as it is. */
static void find_factors(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                         double amount) {
    double *factor = penalty->factor, mean = find_norms(penalty, t, bond, factor), greatest = -1;
    uint64_t best = 0;
    bool any = false;
    for (uint64_t r = 0; r < bond->rank; r++) {
        double norm = factor[r], taken = norm > 0 ? amount * sqrt(bond->cost) * mean / norm : 0;
        factor[r] = norm > taken ? 1 - taken / norm : 0;
        any |= factor[r] > 0;
        if (norm > greatest) {
            greatest = norm;
            best = r;
        }
    }
    if (!any) factor[best] = 1;
}

static void shrink_bond(const tn_rank_penalty *penalty, const tn_trainer *t, const tn_rank_bond *bond,
                        double amount) {
    const tn_train_parameter *left = &t->parameter[bond->left], *right = &t->parameter[bond->right];
    bool vanished = false;
    read_bond(penalty, t, bond);
    find_factors(penalty, t, bond, amount);
    for (uint64_t r = 0; r < bond->rank; r++) {
        double a, b, factor = penalty->factor[r];
        slice_norms(penalty, t, bond, r, &a, &b);
        bool both = a > 0 && b > 0;
        bond->lives[r] = factor > 0 && both;
        vanished |= !bond->lives[r];
        scale_slice(penalty, t, bond, r, both ? factor * sqrt(b / a) : 0, both ? factor * sqrt(a / b) : 0);
    }
    t->kernels->from_double(penalty->left, left->values, left->elements);
    t->kernels->from_double(penalty->right, right->values, right->elements);
    if (vanished && left->state) clear_states(penalty, t, bond, bond->lives);
}

void tn_rank_penalty_shrink(const tn_rank_penalty *penalty, const tn_trainer *t, double amount) {
    for (size_t i = 0; i < penalty->bonds; i++) shrink_bond(penalty, t, &penalty->bond[i], amount);
}

void tn_rank_penalty_look(const tn_rank_penalty *penalty, const tn_trainer *t) {
    for (size_t i = 0; i < penalty->bonds; i++) {
        const tn_rank_bond *bond = &penalty->bond[i];
        bool any = false;
        read_bond(penalty, t, bond);
        for (uint64_t r = 0; r < bond->rank; r++) {
            double left, right;
            slice_norms(penalty, t, bond, r, &left, &right);
            bond->lives[r] = left > 0 && right > 0;
            any |= bond->lives[r];
        }
        if (!any) bond->lives[0] = true;
    }
}

uint64_t tn_rank_bond_left(const tn_rank_bond *bond) {
    uint64_t left = 0;
    for (uint64_t r = 0; r < bond->rank; r++) left += bond->lives[r];
    return left;
}
