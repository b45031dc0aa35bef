#include "price/program_words.h"

#include "base/checked.h"
#include "kernel/issue.h"
#include "layout/product_layout.h"
#include "price/shared_costs.h"
#include "price/tensor_words.h"

#include <math.h>
#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

/* Cycles of the blocks of a side, by their kinds. */
typedef struct {
    uint64_t kind[TN_BLOCK_KINDS];
} block_phases;

/* How the words of a tensor are told apart by the cuts of two groups. */
typedef struct {
    uint32_t count;
    block_phases *phases; /* [count] */
    uint32_t *of_word;    /* [words] */
} told_apart;

typedef struct {
    const tn_program_words *asked;
    tn_layout_problem problem;
    uint32_t *owner;        /* [tensors]: the one that lies as it does, a core's of its gradient */
    tn_tensor_words *words; /* [tensors] */
    tn_layout_axis axis[TN_LAYOUT_AXES];
    tn_tensor_layout layout; /* scratch, with `axis` */
    tn_cost_term *term;      /* [products] */
    tn_arena arena;
} finder;

/* ---- blocks ---- */

static void begin_layout(finder *state, uint32_t t) {
    const tn_searched_tensor *tensor = &state->problem.tensor[t];
    state->layout = (tn_tensor_layout){.banks = 1, .axes = tensor->axes, .axis = state->axis};
    for (uint32_t i = 0; i < tensor->axes; i++)
        state->axis[i] =
            (tn_layout_axis){.index = tensor->axis[i], .size = state->problem.size[tensor->axis[i]]};
}

/* Bit k: the last block along the k-th cut index is a block of its own kind. */
static int cut_kind(const finder *state, const tn_group_cut *cut) {
    int kind = 0;
    for (uint32_t k = 0; k < cut->indices; k++)
        kind |= (state->problem.size[cut->index[k]] % cut->edge[k] != 0) << k;
    return kind;
}

/* Phases of all words of a side under the cuts, equal ones once. */
static tn_status tell_apart(finder *state, const tn_searched_product *p, int side, const tn_group_cut *a,
                            const tn_group_cut *b, told_apart *told, tn_error *error) {
    const uint32_t t = state->owner[p->operand[side].tensor], axes = state->problem.tensor[t].axes,
                   words = state->words[t].count;
    const tn_group_cut *group[] = {a, b};
    const int differs = cut_kind(state, a) | cut_kind(state, b) << TN_ISSUE_CUTS;
    TN_TRY(TN_NEW(&state->arena, words, &told->phases, error));
    TN_TRY(TN_NEW(&state->arena, words, &told->of_word, error));
    begin_layout(state, t);
    for (uint32_t w = 0; w < words; w++) {
        block_phases *its = &told->phases[told->count];
        uint32_t same = 0;
        for (uint32_t i = 0; i < axes; i++)
            state->axis[i].edge = (uint64_t)1 << state->words[t].log[(size_t)w * axes + i];
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++)
            its->kind[kind] = kind & ~differs ? its->kind[kind & differs]
                                              : tn_tensor_layout_phases(&state->layout, group, kind);
        while (memcmp(&told->phases[same], its, sizeof *its) != 0) same++;
        told->of_word[w] = same;
        told->count += same == told->count;
    }
    return TN_OK;
}

/* ---- products ---- */

/* A side of a product: its words by what any two cuts make of them. */
typedef struct {
    uint32_t cuts[2];
    told_apart *told;            /* [cuts[0]][cuts[1]] */
    uint32_t classes, *class_of; /* [words] */
    uint32_t *word;              /* [classes]: one of each */
} product_side;

static const told_apart *told_of(const product_side *side, uint32_t a, uint32_t b) {
    return &side->told[a * side->cuts[1] + b];
}

static tn_status find_side(finder *state, const tn_searched_product *p, int s, product_side *side,
                           tn_error *error) {
    const tn_cut_choice *choice[] = {&p->group[tn_cut_directions[s][0]], &p->group[tn_cut_directions[s][1]]};
    const uint32_t words = state->words[state->owner[p->operand[s].tensor]].count;
    *side = (product_side){.cuts = {choice[0]->count, choice[1]->count}};
    TN_TRY(TN_NEW(&state->arena, (size_t)side->cuts[0] * side->cuts[1], &side->told, error));
    for (uint32_t a = 0; a < side->cuts[0]; a++)
        for (uint32_t b = 0; b < side->cuts[1]; b++)
            TN_TRY(tell_apart(state, p, s, &p->operand[s].block[0][a], &p->operand[s].block[1][b],
                              &side->told[a * side->cuts[1] + b], error));
    TN_TRY(TN_NEW(&state->arena, words, &side->class_of, error));
    TN_TRY(TN_NEW(&state->arena, words, &side->word, error));
    for (uint32_t w = 0; w < words; w++) {
        uint32_t c = 0;
        for (; c < side->classes; c++) {
            bool same = true;
            for (uint32_t i = 0; same && i < side->cuts[0] * side->cuts[1]; i++)
                same = side->told[i].of_word[w] == side->told[i].of_word[side->word[c]];
            if (same) break;
        }
        side->class_of[w] = c;
        if (c == side->classes) side->word[side->classes++] = w;
    }
    return TN_OK;
}

/* The product under one cut of each group, with its cost by how the cut tells words apart: below 0 where it was not asked for. */
typedef struct {
    tn_issued_product issued;
    const told_apart *told[SIDES];
    double *cost;
} cut_product;

static tn_status begin_cut(finder *state, const tn_searched_product *p, const product_side *side,
                           const uint32_t *cut, cut_product *under, tn_error *error) {
    static const tn_tensor_layout *const none[SIDES];
    tn_product_layout layout;
    tn_product_layout_tell(state->problem.size, p, cut, none, &layout);
    *under = (cut_product){.issued = layout.issued};
    size_t costs = 1;
    for (int s = 0; s < SIDES; s++) {
        under->told[s] = told_of(&side[s], cut[tn_cut_directions[s][0]], cut[tn_cut_directions[s][1]]);
        costs *= under->told[s]->count;
    }
    TN_TRY(TN_NEW(&state->arena, costs, &under->cost, error));
    for (size_t i = 0; i < costs; i++) under->cost[i] = -1;
    return TN_OK;
}

/* Of words as the cut tells them apart. */
static tn_status cost_of(const finder *state, cut_product *under, const uint32_t *told, double *cost,
                         tn_error *error) {
    double *kept = &under->cost[((size_t)told[LEFT] * under->told[RIGHT]->count + told[RIGHT]) *
                                    under->told[RESULT]->count +
                                told[RESULT]];
    if (*kept < 0) {
        tn_issued_product *issued = &under->issued;
        uint64_t *phases[SIDES] = {issued->left, issued->right, issued->result}, cycles;
        for (int s = 0; s < SIDES; s++)
            memcpy(phases[s], under->told[s]->phases[told[s]].kind, sizeof issued->left);
        TN_TRY(tn_issue_product_cycles(state->asked->kernel, issued, &cycles, error));
        *kept = (double)cycles;
    }
    *cost = *kept;
    return TN_OK;
}

/* The least of the cut and those before, for all classes of words. */
static tn_status take_cut(const finder *state, const product_side *side, cut_product *under, double *cost,
                          double *greatest, tn_error *error) {
    uint32_t c[SIDES], told[SIDES];
    size_t i = 0;
    *greatest = 0;
    for (c[LEFT] = 0; c[LEFT] < side[LEFT].classes; c[LEFT]++) {
        told[LEFT] = under->told[LEFT]->of_word[side[LEFT].word[c[LEFT]]];
        for (c[RIGHT] = 0; c[RIGHT] < side[RIGHT].classes; c[RIGHT]++) {
            told[RIGHT] = under->told[RIGHT]->of_word[side[RIGHT].word[c[RIGHT]]];
            for (c[RESULT] = 0; c[RESULT] < side[RESULT].classes; c[RESULT]++, i++) {
                double its;
                told[RESULT] = under->told[RESULT]->of_word[side[RESULT].word[c[RESULT]]];
                TN_TRY(cost_of(state, under, told, &its, error));
                cost[i] = fmin(cost[i], its);
                *greatest = fmax(*greatest, cost[i]);
            }
        }
    }
    return TN_OK;
}

static tn_status find_costs(finder *state, const tn_searched_product *p, const product_side *side,
                            double *cost, size_t costs, tn_error *error) {
    const uint64_t fill = tn_matmul_fill_cycles(state->asked->kernel);
    double greatest = INFINITY;
    uint32_t cut[GROUPS];
    for (size_t i = 0; i < costs; i++) cost[i] = INFINITY;
    for (cut[ROWS] = 0; cut[ROWS] < p->group[ROWS].count; cut[ROWS]++)
        for (cut[COLUMNS] = 0; cut[COLUMNS] < p->group[COLUMNS].count; cut[COLUMNS]++)
            for (cut[REDUCTION] = 0; cut[REDUCTION] < p->group[REDUCTION].count; cut[REDUCTION]++) {
                const uint64_t issues = p->batch * p->group[ROWS].cut[cut[ROWS]].blocks *
                                        p->group[COLUMNS].cut[cut[COLUMNS]].blocks *
                                        p->group[REDUCTION].cut[cut[REDUCTION]].blocks;
                cut_product under;
                if ((double)(issues - 1 + fill) >= greatest) continue;
                TN_TRY(begin_cut(state, p, side, cut, &under, error));
                TN_TRY(take_cut(state, side, &under, cost, &greatest, error));
            }
    return TN_OK;
}

static tn_status find_term(finder *state, uint32_t product, tn_error *error) {
    const tn_searched_product *p = &state->problem.product[product];
    tn_cost_term *term = &state->term[product];
    product_side side[SIDES];
    double *cost;
    size_t costs = 1;
    for (int s = 0; s < SIDES; s++) {
        TN_TRY(find_side(state, p, s, &side[s], error));
        costs *= side[s].classes;
        term->variable[s] = state->owner[p->operand[s].tensor];
        term->classes[s] = side[s].classes;
        term->class_of[s] = side[s].class_of;
    }
    TN_TRY(TN_NEW(&state->arena, costs, &cost, error));
    TN_TRY(find_costs(state, p, side, cost, costs, error));
    for (size_t i = 0; i < costs; i++) cost[i] *= (double)state->asked->times[product];
    term->cost = cost;
    return TN_OK;
}

/* Whether a tensor is two of the product's: no terms are made of those. */
static bool is_twice(const finder *state, const tn_searched_product *p) {
    uint32_t owner[SIDES];
    for (int s = 0; s < SIDES; s++) owner[s] = state->owner[p->operand[s].tensor];
    return owner[LEFT] == owner[RIGHT] || owner[LEFT] == owner[RESULT] || owner[RIGHT] == owner[RESULT];
}

static tn_status begin(finder *state, tn_error *error) {
    const tn_program *program = state->asked->program;
    const tn_matmul *kernel = state->asked->kernel;
    const tn_kernel_edges edges = {kernel->rows, kernel->columns, kernel->reduction, 0};
    const tn_layout_demand updated = {.is_updated = true, .is_looked_up = state->asked->is_looked_up};
    TN_TRY(tn_layout_problem_read(program, &edges, &state->arena, &state->problem, error));
    TN_TRY(TN_NEW(&state->arena, program->tensors, &state->owner, error));
    TN_TRY(TN_NEW(&state->arena, program->tensors, &state->words, error));
    TN_TRY(TN_NEW(&state->arena, program->steps, &state->term, error));
    for (uint32_t t = 0; t < program->tensors; t++)
        state->owner[t] = tn_searched_stands_for(&state->problem, t, &updated);
    return TN_OK;
}

static tn_status find_bound(finder *state, double *cycles, tn_error *error) {
    const tn_program *program = state->asked->program;
    uint32_t *values;
    TN_TRY(begin(state, error));
    TN_TRY(TN_NEW(&state->arena, program->tensors, &values, error));
    *cycles = 0;
    for (uint32_t i = 0; i < program->steps; i++)
        if (is_twice(state, &state->problem.product[i])) return TN_OK;
    for (uint32_t t = 0; t < program->tensors; t++) {
        if (state->owner[t] == t)
            TN_TRY(tn_tensor_words_list(&state->problem, t, state->asked->row_log[t],
                                        state->asked->features[t], &state->words[t], error));
        values[t] = state->words[t].count;
    }
    for (uint32_t i = 0; i < program->steps; i++) TN_TRY(find_term(state, i, error));
    const tn_shared_costs costs = {program->tensors, program->steps, values, state->term};
    TN_TRY(tn_shared_costs_bound(&costs, &state->arena, cycles, error));
    *cycles = floor(*cycles * (1 - 1e-9));
    return TN_OK;
}

tn_status tn_program_words_bound(const tn_program_words *words, double *cycles, tn_error *error) {
    finder state = {.asked = words};
    tn_status status = find_bound(&state, cycles, error);
    for (uint32_t t = 0; state.words && t < words->program->tensors; t++) tn_free(state.words[t].log);
    tn_arena_free(&state.arena);
    return status;
}
