#include "price/array_rows.h"

#include "base/checked.h"

static const uint32_t NONE = UINT32_MAX;

tn_status tn_array_rows_find(tn_workload *workload, tn_arena *arena, tn_array_rows *rows, tn_error *error) {
    const tn_step *step = workload->step;
    TN_TRY(TN_NEW(arena, step->arrays, &rows->least, error));
    TN_TRY(TN_NEW(arena, step->arrays, &rows->slices, error));
    if (!workload->laid)
        TN_TRY(tn_laid_step_make(step, workload->laid_programs, workload->arena, &workload->laid, error));
    const tn_laid_arrays *arrays = workload->laid->arrays;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = arrays->program[l];
        const tn_least_rows *least;
        if (!program) continue;
        TN_TRY(tn_least_rows_find(&workload->laid->programs->least, program,
                                  workload->laid->programs->layers.arena, &least, error));
        for (uint32_t t = 0; t < program->tensors; t++) {
            const uint32_t array = arrays->of_tensor[l][t];
            if (array == NONE || arrays->columns[array] > 0 || rows->least[array] ||
                step->array[array].layer != l)
                continue;
            rows->least[array] = least->rows[t];
            rows->slices[array] = tn_laid_slices(arrays, step, l, t);
        }
    }
    return TN_OK;
}

uint64_t tn_array_depth(const tn_array_rows *rows, const tn_step *step, uint32_t array, uint32_t log) {
    const uint64_t unpadded = ((tn_array_stored(&step->array[array]) - 1) >> log) + 1;
    if (!rows->least[array] || step->array[array].stored > 0) return unpadded;
    return tn_greatest(unpadded, rows->least[array][log] * rows->slices[array]);
}
