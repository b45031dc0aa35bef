#include "price/operation_groups.h"

#include "base/word_lists.h"
#include "layout/layout_problem.h"
#include "price/laid_cycles.h"

#include <stdlib.h>

static const uint32_t NONE = UINT32_MAX;

enum { OWN = 12, WORDS_MOST = OWN + TN_OPERATION_READS + TN_OPERATION_WRITES };

typedef struct {
    const tn_workload *workload;
    const tn_laid_arrays *arrays;
    const tn_laid_kinds *kinds;
    tn_arena *arena;
    tn_error *error;
} finder;

/* All that the time of an operation follows from, the build apart. */
static uint32_t list_words(const finder *state, uint32_t index, uint64_t word[WORDS_MOST]) {
    const tn_step *step = state->workload->step;
    const tn_operation *operation = &step->operation[index];
    const tn_step_layer *layer = &step->layer[operation->layer];
    const tn_laid_kinds *kinds = state->kinds;
    const bool of_program = operation->program_step || operation->partial;
    uint32_t words = 0;
    word[words++] = state->workload->work_of[index];
    word[words++] = of_program ? 1 + kinds->of_layer[operation->layer] : 0;
    word[words++] =
        operation->program_step ? 1 + (uint64_t)(operation->program_step - layer->program->step) : 0;
    word[words++] = layer->family;
    word[words++] = layer->tokens;
    word[words++] = layer->group;
    word[words++] = (uint64_t)(uintptr_t)operation->attention;
    word[words++] = (uint64_t)(uintptr_t)operation->window;
    word[words++] = (uint64_t)(uintptr_t)operation->routing;
    word[words++] = (uint64_t)(uintptr_t)operation->partial;
    word[words++] = state->arrays->clears[index];
    word[words++] = (uint64_t)operation->kind * 256 + operation->read_count * 16 + operation->write_count;
    for (uint32_t i = 0; i < operation->read_count; i++) word[words++] = kinds->of_array[operation->reads[i]];
    for (uint32_t i = 0; i < operation->write_count; i++)
        word[words++] = kinds->of_array[operation->writes[i]];
    return words;
}

/* The kind of the layer's tensor, from 1, where it is a matrix; else 0. */
static uint64_t matrix_of(const finder *state, uint32_t layer, uint32_t tensor) {
    const uint32_t array = state->arrays->of_tensor[layer][tensor];
    return array != NONE && state->arrays->columns[array] > 0 ? 1 + state->kinds->of_array[array] : 0;
}

/* Whether the product is a layer's own, and done once: what is looked up is done by token, with depths of other arrays. */
static bool is_of_whole_program(const finder *state, const tn_operation *operation) {
    const tn_step_layer *layer = &state->workload->step->layer[operation->layer];
    return operation->program_step && !operation->partial &&
           state->arrays->program[operation->layer] == layer->program;
}

/* The same of a product by the closer bound. */
static uint32_t list_bounded_words(const finder *state, uint32_t index, uint64_t word[WORDS_MOST]) {
    const tn_operation *operation = &state->workload->step->operation[index];
    const tn_step_layer *layer = &state->workload->step->layer[operation->layer];
    if (!is_of_whole_program(state, operation)) return list_words(state, index, word);
    const tn_program_step *step = operation->program_step;
    const uint32_t tensor[] = {step->a, step->b, step->out};
    uint32_t words = 0;
    word[words++] = state->workload->work_of[index];
    word[words++] = (uint64_t)(uintptr_t)layer->program;
    word[words++] = (uint64_t)(step - layer->program->step);
    for (int side = 0; side < 3; side++) {
        word[words++] = matrix_of(state, operation->layer, tensor[side]);
        word[words++] = matrix_of(state, operation->layer, tn_gradient_of(layer->program, tensor[side]));
    }
    return words;
}

typedef struct {
    double macs;
    uint32_t group;
} weighed;

static int by_macs(const void *a, const void *b) {
    const weighed *x = a, *y = b;
    if (x->macs != y->macs) return x->macs > y->macs ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static tn_status order_products(const finder *state, tn_product_groups *groups) {
    weighed *product;
    TN_TRY(TN_NEW(state->arena, groups->count, &product, state->error));
    TN_TRY(TN_NEW(state->arena, groups->count, &groups->heaviest, state->error));
    TN_TRY(TN_NEW(state->arena, groups->count, &groups->more_cycles, state->error));
    for (uint32_t g = 0; g < groups->count; g++) {
        const tn_product_size *size = &state->workload->work[state->workload->work_of[groups->first[g]]].size;
        const double macs = (double)groups->size[g] * (double)size->batch * (double)size->rows *
                            (double)size->reduction * (double)size->columns;
        product[g] = (weighed){state->arrays->clears[groups->first[g]] ? 0 : macs, g};
    }
    if (groups->count) qsort(product, groups->count, sizeof *product, by_macs);
    for (uint32_t i = 0; i < groups->count; i++) groups->heaviest[i] = product[i].group;
    return TN_OK;
}

static tn_status find_all(const finder *state, tn_operation_groups *groups) {
    const uint32_t operations = state->workload->step->operations;
    tn_word_lists lists;
    TN_TRY(TN_NEW(state->arena, operations, &groups->first, state->error));
    TN_TRY(TN_NEW(state->arena, operations, &groups->size, state->error));
    TN_TRY(TN_NEW(state->arena, operations, &groups->of_operation, state->error));
    TN_TRY(tn_word_lists_begin(&lists, operations, state->arena, state->error));
    for (uint32_t i = 0; i < operations; i++) {
        uint64_t word[WORDS_MOST];
        const uint32_t words = list_words(state, i, word);
        uint32_t *group = &groups->of_operation[i];
        TN_TRY(tn_word_lists_number(&lists, word, words, group, state->error));
        if (*group == groups->count) groups->first[groups->count++] = i;
        groups->size[*group]++;
    }
    return TN_NEW(state->arena, groups->count, &groups->time, state->error);
}

/* Those of all groups that are products; bounded: those together that the closer bound tells none from another. */
static tn_status find_products(const finder *state, const tn_operation_groups *all, bool bounded,
                               tn_product_groups *products) {
    tn_word_lists lists;
    TN_TRY(TN_NEW(state->arena, all->count, &products->first, state->error));
    TN_TRY(TN_NEW(state->arena, all->count, &products->size, state->error));
    TN_TRY(tn_word_lists_begin(&lists, bounded ? all->count : 0, state->arena, state->error));
    for (uint32_t g = 0; g < all->count; g++) {
        uint64_t word[WORDS_MOST];
        uint32_t product = products->count;
        if (!state->workload->work[state->workload->work_of[all->first[g]]].product) continue;
        if (bounded)
            TN_TRY(tn_word_lists_number(&lists, word, list_bounded_words(state, all->first[g], word),
                                        &product, state->error));
        if (product == products->count) products->first[products->count++] = all->first[g];
        products->size[product] += all->size[g];
    }
    return order_products(state, products);
}

tn_status tn_operation_groups_find(const tn_workload *workload, const tn_laid_arrays *arrays,
                                   const tn_laid_kinds *kinds, tn_arena *arena, tn_operation_groups *groups,
                                   tn_error *error) {
    const finder state = {workload, arrays, kinds, arena, error};
    *groups = (tn_operation_groups){0};
    TN_TRY(find_all(&state, groups));
    TN_TRY(find_products(&state, groups, false, &groups->products));
    return find_products(&state, groups, true, &groups->bounded);
}
