#include "price/operation_groups.h"

#include "base/word_lists.h"
#include "price/laid_cycles.h"

enum { OWN = 12, WORDS_MOST = OWN + TN_OPERATION_READS + TN_OPERATION_WRITES };

/* All that the time of an operation follows from, the build apart. */
static uint32_t list_words(const tn_workload *workload, const tn_laid_arrays *arrays,
                           const tn_laid_kinds *kinds, uint32_t index, uint64_t word[WORDS_MOST]) {
    const tn_operation *operation = &workload->step->operation[index];
    const tn_step_layer *layer = &workload->step->layer[operation->layer];
    const bool of_program = operation->program_step || operation->partial;
    uint32_t words = 0;
    word[words++] = workload->work_of[index];
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
    word[words++] = arrays->clears[index];
    word[words++] = (uint64_t)operation->kind * 256 + operation->read_count * 16 + operation->write_count;
    for (uint32_t i = 0; i < operation->read_count; i++) word[words++] = kinds->of_array[operation->reads[i]];
    for (uint32_t i = 0; i < operation->write_count; i++)
        word[words++] = kinds->of_array[operation->writes[i]];
    return words;
}

tn_status tn_operation_groups_find(const tn_workload *workload, const tn_laid_arrays *arrays,
                                   const tn_laid_kinds *kinds, tn_arena *arena, tn_operation_groups *groups,
                                   tn_error *error) {
    const uint32_t operations = workload->step->operations;
    tn_word_lists lists;
    *groups = (tn_operation_groups){0};
    TN_TRY(TN_NEW(arena, operations, &groups->first, error));
    TN_TRY(TN_NEW(arena, operations, &groups->size, error));
    TN_TRY(TN_NEW(arena, operations, &groups->of_operation, error));
    TN_TRY(tn_word_lists_begin(&lists, operations, arena, error));
    for (uint32_t i = 0; i < operations; i++) {
        uint64_t word[WORDS_MOST];
        const uint32_t words = list_words(workload, arrays, kinds, i, word);
        uint32_t *group = &groups->of_operation[i];
        TN_TRY(tn_word_lists_number(&lists, word, words, group, error));
        if (*group == groups->count) groups->first[groups->count++] = i;
        groups->size[*group]++;
    }
    return TN_NEW(arena, groups->count, &groups->time, error);
}
