#include "price/part_survey.h"

#include "base/checked.h"
#include "base/memory.h"
#include "memory/map.h"
#include "price/parting.h"
#include "price/workload_data.h"

tn_core_limit *tn_core_limit_find(const tn_part_survey *survey, uint64_t elements, uint64_t word_bits,
                                  uint32_t role) {
    if (survey->slots == 0) return NULL;
    size_t place = (size_t)((elements * 31 + word_bits * 7 + role) * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
                   (survey->slots - 1);
    for (;; place = (place + 1) & (survey->slots - 1)) {
        tn_core_limit *limit = &survey->limit[place];
        if (limit->word_bits == 0 ||
            (limit->elements == elements && limit->word_bits == word_bits && limit->role == role))
            return limit;
    }
}

static tn_status make_room(tn_part_survey *survey, tn_arena *arena, tn_error *error) {
    tn_part_survey grown = {.slots = survey->slots ? 2 * survey->slots : 256};
    if (2 * survey->limits < survey->slots) return TN_OK;
    TN_TRY(TN_NEW(arena, grown.slots, &grown.limit, error));
    for (size_t i = 0; i < survey->slots; i++) {
        const tn_core_limit *limit = &survey->limit[i];
        if (limit->word_bits > 0)
            *tn_core_limit_find(&grown, limit->elements, limit->word_bits, limit->role) = *limit;
    }
    survey->limit = grown.limit;
    survey->slots = grown.slots;
    return TN_OK;
}

/* Layers of the core's unit that have one of as many elements, counted at the first of them. */
static tn_status count_cores(tn_part_survey *survey, const tn_parting *parting, uint32_t array,
                             tn_arena *arena, tn_error *error) {
    const tn_step *step = parting->workload->step;
    const tn_array *core = &step->array[array];
    const uint64_t bits = tn_array_word_bits(step, array);
    const uint32_t unit = parting->unit_of_layer[core->layer];
    bool *has;
    uint32_t layers = 0;
    TN_TRY(make_room(survey, arena, error));
    tn_core_limit *limit = tn_core_limit_find(survey, core->elements, bits, core->role);
    if (limit->word_bits == 0) {
        *limit = (tn_core_limit){core->elements, bits, core->role, 0, NULL};
        TN_TRY(TN_NEW(arena, parting->units + 1, &limit->most, error));
        survey->limits++;
    }
    TN_TRY(TN_ALLOC(step->layers, &has, error));
    for (uint32_t b = 0; b < step->arrays; b++) {
        const tn_array *other = &step->array[b];
        if (!other->is_core || other->elements != core->elements || other->role != core->role ||
            parting->unit_of_layer[other->layer] != unit)
            continue;
        layers += !has[other->layer];
        has[other->layer] = true;
    }
    tn_free(has);
    limit->most[unit] = (uint32_t)tn_greatest(limit->most[unit], layers);
    limit->layers = 0;
    for (uint32_t u = 0; u <= parting->units; u++) limit->layers += limit->most[u];
    return TN_OK;
}

static void mix(uint64_t *digest, uint64_t value) {
    *digest = (*digest ^ value) * UINT64_C(0xff51afd7ed558ccd);
    *digest ^= *digest >> 32;
}

static void mix_name(uint64_t *digest, const tn_array *array) {
    mix(digest, (uint64_t)array->layer << 32 | (uint64_t)array->part << 16 | array->number);
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
        if (!any) mix(digest, operation->layer); /* an operation begins */
        any = true;
        mix_name(digest, &step->array[array]);
        mix(digest, (uint64_t)read << 8 | (uint64_t)use.side);
        mix(digest, (uint64_t)use.extent[0] << 32 | use.extent[1]);
    }
    if (any) mix(digest, UINT64_MAX);
}

/* All that decides the memories of a pool: its arrays, and by whom they are touched, one operation after the other. */
static uint64_t pool_digest(const tn_step *step, uint32_t role) {
    uint64_t digest = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (!is_of_pool(step, a, role)) continue;
        mix_name(&digest, &step->array[a]);
        mix(&digest, step->array[a].elements);
        mix(&digest, tn_array_word_bits(step, a));
        mix(&digest, step->array[a].last == UINT32_MAX);
    }
    for (uint32_t i = 0; i < step->operations; i++) mix_uses(&digest, step, &step->operation[i], role);
    return digest;
}

tn_status tn_part_survey_add(tn_part_survey *survey, const tn_parting *parting, tn_arena *arena,
                             tn_error *error) {
    const tn_step *step = parting->workload->step;
    for (uint32_t a = 0; a < step->arrays; a++)
        if (step->array[a].is_core && step->array[a].elements > 0)
            TN_TRY(count_cores(survey, parting, a, arena, error));
    for (uint32_t role = 0; role < TN_ARRAY_ROLES; role++) {
        const uint64_t digest = pool_digest(step, role);
        survey->differs[role] |= survey->begun && survey->pool[role] != digest;
        survey->pool[role] = digest;
    }
    survey->begun = true;
    return TN_OK;
}
