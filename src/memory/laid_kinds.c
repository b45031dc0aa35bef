#include "memory/laid_kinds.h"

#include "base/digest.h"
#include "base/word_lists.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_step *step;
    const tn_laid_arrays *arrays;
    const tn_map *map;
    const tn_row_kinds *rows;
    tn_arena *arena;
    tn_laid_kinds *kinds;
    tn_error *error;
} finder;

/* What tensors of programs each array is: a sum, as their order says nothing. */
static void sum_tensors(const finder *state, uint64_t *tensors) {
    for (uint32_t l = 0; l < state->step->layers; l++) {
        const tn_program *program = state->step->layer[l].program;
        for (uint32_t t = 0; program && t < program->tensors; t++) {
            const uint32_t array = state->arrays->of_tensor[l][t];
            if (array == NONE) continue;
            tensors[array] += tn_hash_word(tn_hash_word(tn_hash_word(1, (uint64_t)(uintptr_t)program),
                                                        (uint64_t)(uintptr_t)state->arrays->program[l]),
                                           t);
        }
    }
}

static tn_status find_arrays(finder *state) {
    const tn_step *step = state->step;
    const tn_laid_arrays *arrays = state->arrays;
    tn_word_lists lists;
    uint64_t *tensors;
    TN_TRY(tn_word_lists_begin(&lists, step->arrays, state->arena, state->error));
    TN_TRY(TN_NEW(state->arena, step->arrays, &tensors, state->error));
    sum_tensors(state, tensors);
    for (uint32_t a = 0; a < step->arrays; a++) {
        const tn_array *array = &step->array[a];
        const tn_laid_part *part = &arrays->part[a];
        const uint32_t memory = state->map->memory_of[a];
        const uint64_t word[] = {memory == NONE ? NONE : state->rows->of_memory[memory],
                                 array->role,
                                 array->part,
                                 array->is_core,
                                 array->elements,
                                 array->stored,
                                 (uint64_t)(uintptr_t)array->format,
                                 arrays->columns[a],
                                 arrays->heads[a],
                                 arrays->feature_log[a],
                                 arrays->feature_most[a],
                                 arrays->axis_logs[a],
                                 tensors[a],
                                 (uint64_t)(uintptr_t)part->partial,
                                 part->partial ? part->layer : 0,
                                 part->times};
        TN_TRY(tn_word_lists_number(&lists, word, sizeof word / sizeof *word, &state->kinds->of_array[a],
                                    state->error));
        if (state->kinds->of_array[a] == state->kinds->arrays)
            state->kinds->array[state->kinds->arrays++] = a;
    }
    return TN_OK;
}

static tn_status find_layers(finder *state) {
    enum { OWN = 5 };
    const tn_step *step = state->step;
    tn_word_lists lists;
    uint32_t most = 0;
    uint64_t *word;
    for (uint32_t l = 0; l < step->layers; l++)
        if (step->layer[l].program && step->layer[l].program->tensors > most)
            most = step->layer[l].program->tensors;
    TN_TRY(TN_NEW(state->arena, OWN + most, &word, state->error));
    TN_TRY(tn_word_lists_begin(&lists, step->layers, state->arena, state->error));
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_step_layer *layer = &step->layer[l];
        const uint32_t tensors = layer->program ? layer->program->tensors : 0;
        word[0] = (uint64_t)(uintptr_t)layer->program;
        word[1] = (uint64_t)(uintptr_t)state->arrays->program[l];
        word[2] = layer->tokens;
        word[3] = layer->group;
        word[4] = layer->family;
        for (uint32_t t = 0; t < tensors; t++) {
            const uint32_t array = state->arrays->of_tensor[l][t];
            word[OWN + t] = array == NONE ? NONE : state->kinds->of_array[array];
        }
        TN_TRY(tn_word_lists_number(&lists, word, OWN + tensors, &state->kinds->of_layer[l], state->error));
        if (state->kinds->of_layer[l] == state->kinds->layers)
            state->kinds->layer[state->kinds->layers++] = l;
    }
    return TN_OK;
}

tn_status tn_laid_kinds_find(const tn_step *step, const tn_laid_arrays *arrays, const tn_map *map,
                             const tn_row_kinds *rows, tn_arena *arena, tn_laid_kinds *kinds,
                             tn_error *error) {
    finder state = {step, arrays, map, rows, arena, kinds, error};
    *kinds = (tn_laid_kinds){0};
    TN_TRY(TN_NEW(arena, step->arrays, &kinds->of_array, error));
    TN_TRY(TN_NEW(arena, step->arrays, &kinds->array, error));
    TN_TRY(TN_NEW(arena, step->layers, &kinds->of_layer, error));
    TN_TRY(TN_NEW(arena, step->layers, &kinds->layer, error));
    TN_TRY(find_arrays(&state));
    return find_layers(&state);
}
