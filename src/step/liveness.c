/* Lifetimes of arrays, and what follows from them: the most that is live at once, and what the forward phase
 * leaves for the backward one. */
#include "base/checked.h"
#include "base/group.h"
#include "step/builder.h"

#include <string.h>

static void touch(tn_array *array, uint32_t operation) {
    if (array->first > operation) array->first = operation;
    array->last = operation;
}

static void find_lifetimes(tn_builder *b) {
    tn_step *step = b->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t k = 0; k < operation->read_count; k++) touch(&step->array[operation->reads[k]], i);
        for (uint32_t k = 0; k < operation->write_count; k++) touch(&step->array[operation->writes[k]], i);
    }
    for (uint32_t i = 0; i < step->arrays; i++) {
        tn_array *array = &step->array[i];
        if (tn_array_is_resident(array)) array->last = UINT32_MAX;
        /* Features from outside are there from the start. */
        if (tn_array_is_resident(array) || b->writer[i] == TN_NONE) array->first = 0;
    }
}

/* Elements that come to life and that die, by time. */
typedef struct timeline {
    uint64_t *born, *dead; /* [times + 1]: born at, dead from */
} timeline;

static tn_status overflow(tn_builder *b) {
    return tn_fail(b->error, TN_OVERFLOW,
                   "more than 2^64 elements or bytes are live at once; use smaller sizes");
}

static tn_status live(tn_builder *b, timeline *line, uint32_t start, uint32_t end, uint64_t elements) {
    if (start >= end) return TN_OK;
    if (!tn_add(line->born[start], elements, &line->born[start]) ||
        !tn_add(line->dead[end], elements, &line->dead[end]))
        return overflow(b);
    return TN_OK;
}

/* The most that is live at once over `times`; clears the line for the next use. */
static tn_status peak_of(tn_builder *b, timeline *line, uint32_t times, uint64_t *peak) {
    uint64_t now = 0;
    *peak = 0;
    for (uint32_t i = 0; i < times; i++) {
        now -= line->dead[i];
        if (!tn_add(now, line->born[i], &now)) return overflow(b);
        if (now > *peak) *peak = now;
    }
    memset(line->born, 0, ((size_t)times + 1) * sizeof *line->born);
    memset(line->dead, 0, ((size_t)times + 1) * sizeof *line->dead);
    return TN_OK;
}

static uint32_t end_of(const tn_array *array, uint32_t operations) {
    return array->last >= operations ? operations : array->last + 1;
}

/* Operations of one layer that follow each other. Times of a layer count through its runs. */
typedef struct run {
    uint32_t first, end;
} run;

typedef struct layer_runs {
    tn_groups groups; /* places in `run`, by layer */
    run *run;
} layer_runs;

static bool begins_run(const tn_step *step, uint32_t operation) {
    return operation == 0 || step->operation[operation].layer != step->operation[operation - 1].layer;
}

static tn_status find_runs(tn_builder *b, layer_runs *runs) {
    const tn_step *step = b->step;
    uint32_t *layer, count = 0;
    for (uint32_t i = 0; i < step->operations; i++) count += begins_run(step, i);
    TN_TRY(TN_NEW(b->arena, count, &runs->run, b->error));
    TN_TRY(TN_NEW(b->arena, count, &layer, b->error));
    count = 0;
    for (uint32_t i = 0; i < step->operations; i++) {
        if (begins_run(step, i)) {
            layer[count] = step->operation[i].layer;
            runs->run[count++].first = i;
        }
        runs->run[count - 1].end = i + 1;
    }
    return tn_group_by(layer, NULL, count, step->layers, b->arena, &runs->groups, b->error);
}

/* The array's life as far as it meets the layer's operations. */
static tn_status live_in_layer(tn_builder *b, timeline *line, const layer_runs *runs, const tn_array *array) {
    uint32_t start = array->first, end = end_of(array, b->step->operations), before = 0;
    for (uint32_t i = runs->groups.first[b->layer_index]; i < runs->groups.first[b->layer_index + 1]; i++) {
        const run *span = &runs->run[runs->groups.member[i]];
        uint32_t low = start > span->first ? start : span->first, high = end < span->end ? end : span->end;
        if (low < high)
            TN_TRY(live(b, line, before + low - span->first, before + high - span->first, array->elements));
        before += span->end - span->first;
    }
    return TN_OK;
}

typedef struct marks {
    uint32_t *touched, *saved; /* [arrays] the layer + 1 that was counted last */
} marks;

static bool is_saved(const tn_array *array, uint32_t forward_end) {
    return tn_role_is_activation(array->role) && array->first < forward_end && array->last >= forward_end;
}

static tn_status count_array(tn_builder *b, timeline *line, const layer_runs *runs, marks *seen,
                             uint32_t array, bool late) {
    const tn_array *one = &b->step->array[array];
    tn_step_layer *layer = &b->step->layer[b->layer_index];
    if (late && seen->saved[array] != b->layer_index + 1 && is_saved(one, b->step->forward_operations)) {
        seen->saved[array] = b->layer_index + 1;
        if (!tn_add(layer->saved_elements, one->elements, &layer->saved_elements)) return overflow(b);
    }
    if (seen->touched[array] == b->layer_index + 1) return TN_OK;
    seen->touched[array] = b->layer_index + 1;
    return live_in_layer(b, line, runs, one);
}

static tn_status count_layer(tn_builder *b, timeline *line, const layer_runs *runs, marks *seen) {
    const tn_step *step = b->step;
    uint32_t times = 0;
    for (uint32_t r = runs->groups.first[b->layer_index]; r < runs->groups.first[b->layer_index + 1]; r++) {
        const run *span = &runs->run[runs->groups.member[r]];
        times += span->end - span->first;
        for (uint32_t i = span->first; i < span->end; i++) {
            const tn_operation *operation = &step->operation[i];
            bool late = i >= step->forward_operations;
            for (uint32_t k = 0; k < operation->read_count; k++)
                TN_TRY(count_array(b, line, runs, seen, operation->reads[k], late));
            for (uint32_t k = 0; k < operation->write_count; k++)
                TN_TRY(count_array(b, line, runs, seen, operation->writes[k], false));
        }
    }
    return peak_of(b, line, times, &step->layer[b->layer_index].peak_elements);
}

typedef enum unit { ELEMENTS, BYTES } unit;

static tn_status amount_of(tn_builder *b, const tn_array *array, unit measure, uint64_t *amount) {
    *amount = array->elements;
    return measure == ELEMENTS
               ? TN_OK
               : tn_number_format_bytes(array->format, tn_array_stored(array), amount, b->error);
}

/* The most that is live at once of the arrays of a role; TN_ARRAY_ROLES: of all. */
static tn_status count_live(tn_builder *b, timeline *line, uint32_t role, unit measure, uint64_t *peak) {
    const tn_step *step = b->step;
    for (uint32_t i = 0; i < step->arrays; i++) {
        const tn_array *array = &step->array[i];
        uint64_t amount;
        if (role != TN_ARRAY_ROLES && array->role != role) continue;
        TN_TRY(amount_of(b, array, measure, &amount));
        TN_TRY(live(b, line, array->first, end_of(array, step->operations), amount));
    }
    return peak_of(b, line, step->operations, peak);
}

static tn_status count_saved(tn_builder *b, unit measure, uint64_t *saved) {
    const tn_step *step = b->step;
    for (uint32_t i = 0; i < step->arrays; i++) {
        uint64_t amount;
        if (!is_saved(&step->array[i], step->forward_operations)) continue;
        TN_TRY(amount_of(b, &step->array[i], measure, &amount));
        if (!tn_add(*saved, amount, saved)) return overflow(b);
    }
    return TN_OK;
}

static tn_status add_moved(tn_builder *b, uint32_t array, uint64_t parts) {
    tn_step *step = b->step;
    const tn_array *cache = &step->array[array];
    const uint64_t elements = parts < cache->elements ? parts : cache->elements;
    uint64_t bytes;
    if (cache->role != TN_ARRAY_CACHE) return TN_OK;
    TN_TRY(tn_number_format_bytes(cache->format, elements, &bytes, b->error));
    return tn_add(step->cache_moved_elements, elements, &step->cache_moved_elements) &&
                   tn_add(step->cache_moved_bytes, bytes, &step->cache_moved_bytes)
               ? TN_OK
               : overflow(b);
}

/* Products read a cache whole, once; what is appended is rows of it. */
static tn_status count_cache(tn_builder *b, timeline *line) {
    tn_step *step = b->step;
    TN_TRY(count_live(b, line, TN_ARRAY_CACHE, ELEMENTS, &step->cache_elements));
    TN_TRY(count_live(b, line, TN_ARRAY_CACHE, BYTES, &step->cache_bytes));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        for (uint32_t k = 0; k < o->read_count; k++) TN_TRY(add_moved(b, o->reads[k], UINT64_MAX));
        for (uint32_t k = 0; k < o->write_count; k++)
            TN_TRY(add_moved(b, o->writes[k], o->rows * o->columns)); /* of an array that fits */
    }
    return TN_OK;
}

static tn_status count_step(tn_builder *b, timeline *line) {
    tn_step *step = b->step;
    TN_TRY(count_cache(b, line));
    TN_TRY(count_saved(b, ELEMENTS, &step->activation_elements));
    TN_TRY(count_saved(b, BYTES, &step->activation_bytes));
    TN_TRY(count_live(b, line, TN_ARRAY_ROLES, ELEMENTS, &step->peak_elements));
    TN_TRY(count_live(b, line, TN_ARRAY_ROLES, BYTES, &step->peak_bytes));
    TN_TRY(count_live(b, line, TN_ARRAY_GRADIENT, ELEMENTS, &step->gradient_elements));
    TN_TRY(count_live(b, line, TN_ARRAY_GRADIENT, BYTES, &step->gradient_bytes));
    TN_TRY(count_live(b, line, TN_ARRAY_PARAMETER, BYTES, &step->parameter_bytes));
    return count_live(b, line, TN_ARRAY_OPTIMIZER, BYTES, &step->optimizer_bytes);
}

tn_status tn_builder_liveness(tn_builder *b) {
    const tn_step *step = b->step;
    timeline line;
    marks seen;
    layer_runs runs;
    size_t times = (size_t)step->operations + 1;
    find_lifetimes(b);
    TN_TRY(tn_builder_formats(b));
    TN_TRY(find_runs(b, &runs));
    TN_TRY(TN_NEW(b->arena, times, &line.born, b->error));
    TN_TRY(TN_NEW(b->arena, times, &line.dead, b->error));
    TN_TRY(TN_NEW(b->arena, step->arrays, &seen.touched, b->error));
    TN_TRY(TN_NEW(b->arena, step->arrays, &seen.saved, b->error));
    TN_TRY(count_step(b, &line));
    for (b->layer_index = 0; b->layer_index < step->layers; b->layer_index++)
        TN_TRY(count_layer(b, &line, &runs, &seen));
    return TN_OK;
}
