#include "layout/least_rows.h"

static void find_rows(const tn_program *program, uint32_t tensor, uint64_t *rows) {
    const tn_indices *indices = &program->tensor[tensor].indices;
    for (uint32_t l = 0; l < TN_ROW_LOGS; l++) rows[l] = 1;
    for (uint32_t k = 0; k < indices->count; k++) {
        uint64_t size = program->index_size[indices->index[k]];
        if (size == 1) continue;
        for (uint32_t l = TN_ROW_LOGS; l-- > 0;) {
            uint64_t best = UINT64_MAX;
            for (uint32_t along = 0; along <= l; along++) {
                uint64_t words = rows[l - along] * (((size - 1) >> along) + 1);
                if (words < best) best = words;
            }
            rows[l] = best;
        }
    }
}

tn_status tn_least_rows_find(tn_least_rows **list, const tn_program *program, tn_arena *arena,
                             const tn_least_rows **least, tn_error *error) {
    tn_least_rows *rows = *list, **link = list;
    while (rows && rows->program != program) rows = *(link = &rows->next);
    *least = rows;
    if (rows) { /* to the front: the programs of a step are asked for again and again */
        *link = rows->next;
        rows->next = *list;
        *list = rows;
        return TN_OK;
    }
    TN_TRY(TN_NEW(arena, 1, &rows, error));
    TN_TRY(TN_NEW(arena, program->tensors, &rows->rows, error));
    for (uint32_t t = 0; t < program->tensors; t++) find_rows(program, t, rows->rows[t]);
    rows->program = program;
    rows->next = *list;
    *least = *list = rows;
    return TN_OK;
}
