#include "price/part_survey.h"

#include "base/digest.h"
#include "price/parting.h"
#include "price/workload_data.h"

static void mix_name(uint64_t *digest, const tn_array *array) {
    *digest =
        tn_hash_word(*digest, (uint64_t)array->layer << 32 | (uint64_t)array->part << 16 | array->number);
}

static bool is_of_pool(const tn_step *step, uint32_t array, uint32_t role) {
    return !step->array[array].is_core && step->array[array].role == role && step->array[array].elements > 0;
}

/* The pool's arrays that the operation touches, and as what. */
static void mix_uses(uint64_t *digest, const tn_step *step, const tn_operation *operation, uint32_t role) {
    bool any = false;
    for (uint32_t j = 0; j < operation->read_count + operation->write_count; j++) {
        const bool read = j < operation->read_count;
        const uint32_t array = read ? operation->reads[j] : operation->writes[j - operation->read_count];
        const tn_use use = tn_use_of(operation, read ? j : TN_OPERATION_READS);
        if (!is_of_pool(step, array, role)) continue;
        if (!any) *digest = tn_hash_word(*digest, operation->layer); /* an operation begins */
        any = true;
        mix_name(digest, &step->array[array]);
        *digest = tn_hash_word(*digest, (uint64_t)read << 8 | (uint64_t)use.side);
        *digest = tn_hash_word(*digest, (uint64_t)use.extent[0] << 32 | use.extent[1]);
    }
    if (any) *digest = tn_hash_word(*digest, UINT64_MAX);
}

/* All that decides the memories of a pool: its arrays, and by whom they are touched, one operation after the other. */
static uint64_t pool_digest(const tn_step *step, uint32_t role) {
    uint64_t digest = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (!is_of_pool(step, a, role)) continue;
        mix_name(&digest, &step->array[a]);
        digest = tn_hash_word(digest, step->array[a].elements);
        digest = tn_hash_word(digest, tn_array_word_bits(step, a));
        digest = tn_hash_word(digest, step->array[a].last == UINT32_MAX);
    }
    for (uint32_t i = 0; i < step->operations; i++) mix_uses(&digest, step, &step->operation[i], role);
    return digest;
}

tn_status tn_part_survey_add(tn_part_survey *survey, const tn_parting *parting, tn_arena *arena,
                             tn_error *error) {
    const tn_step *step = parting->workload->step;
    TN_TRY(tn_core_classes_add(&survey->cores, parting, arena, error));
    for (uint32_t role = 0; role < TN_ARRAY_ROLES; role++) {
        const uint64_t digest = pool_digest(step, role);
        survey->differs[role] |= survey->begun && survey->pool[role] != digest;
        survey->pool[role] = digest;
    }
    survey->begun = true;
    return TN_OK;
}

tn_status tn_part_survey_know(const tn_part_survey *survey, tn_parting *parting, tn_arena *arena,
                              tn_error *error) {
    TN_TRY(TN_NEW(arena, parting->workload->step->arrays, &parting->core_class, error));
    return tn_core_classes_find(&survey->cores, parting, parting->core_class, error);
}
