#include "layout/layer_layout.h"

#include "base/digest.h"
#include "layout/tensor_layout.h"

#include <string.h>

enum { LISTS = 8192 }; /* as many as layers that a sweep keeps at once */

/* What the products of a layer's program take in kernels of one lane. */
typedef struct layer_times {
    tn_lane lane;
    bool at_least;          /* whatever the layouts */
    const uint64_t *cycles; /* [program->steps] */
    struct layer_times *next;
} layer_times;

/* What the product of a part takes in kernels of one lane. */
typedef struct part_time {
    tn_lane lane;
    const tn_program_step *step;
    uint64_t kept, cycles; /* of the step's index that is cut */
    struct part_time *next;
} part_time;

struct tn_laid_layer {
    const tn_program *program;
    tn_kernel_edges edges;
    tn_banking banking;
    const tn_layout_demand *demand; /* [program->tensors] */
    const tn_layouts *layouts;      /* NULL: not searched for yet */
    layer_times *times;
    part_time *parts;
    tn_laid_layer *next;
};

tn_status tn_laid_layers_begin(tn_laid_layers *layers, tn_arena *arena, tn_error *error) {
    *layers = (tn_laid_layers){.arena = arena};
    return TN_NEW(arena, LISTS, &layers->list, error);
}

/* The list that layers of such demands are in. */
static tn_laid_layer **list_of(const tn_laid_layers *layers, const tn_program *program,
                               const tn_kernel_edges *edges, tn_banking banking) {
    const uint64_t key[] = {
        edges->rows, edges->columns, edges->reduction, edges->systolic, (uint64_t)(uintptr_t)program,
        banking};
    return &layers->list[tn_hash_place(tn_hash_counts(key, 6), LISTS)];
}

/* Whether both are of one program on kernels of the same edges and banking. */
static bool is_akin(const tn_laid_layer *layer, const tn_program *program, const tn_kernel_edges *edges,
                    tn_banking banking) {
    return layer->program == program && layer->banking == banking &&
           memcmp(&layer->edges, edges, sizeof *edges) == 0;
}

tn_status tn_laid_layer_find(tn_laid_layers *layers, const tn_program *program, const tn_kernel_edges *edges,
                             tn_banking banking, const tn_layout_demand *demand, tn_laid_layer **layer,
                             tn_error *error) {
    tn_laid_layer **list = list_of(layers, program, edges, banking), *laid_layer = *list;
    while (laid_layer && !(is_akin(laid_layer, program, edges, banking) &&
                           memcmp(laid_layer->demand, demand, program->tensors * sizeof *demand) == 0))
        laid_layer = laid_layer->next;
    *layer = laid_layer;
    if (laid_layer) return TN_OK;
    TN_TRY(TN_NEW(layers->arena, 1, &laid_layer, error));
    *laid_layer = (tn_laid_layer){
        .program = program, .edges = *edges, .banking = banking, .demand = demand, .next = *list};
    *layer = *list = laid_layer;
    layers->count++;
    return TN_OK;
}

tn_status tn_laid_layer_search(tn_laid_layers *layers, tn_laid_layer *layer, const tn_layouts **layouts,
                               tn_error *error) {
    if (!layer->layouts) {
        tn_layouts *found;
        TN_TRY(TN_NEW(layers->arena, 1, &found, error));
        TN_TRY(tn_layouts_find(layer->program, &layer->edges, layer->banking, TN_LEAST_CYCLES, layer->demand,
                               layers->arena, found, error));
        layer->layouts = found;
    }
    *layouts = layer->layouts;
    return TN_OK;
}

static bool is_of_lane(const layer_times *times, const tn_matmul *kernel, bool at_least) {
    return times->at_least == at_least && memcmp(&times->lane, &kernel->lane, sizeof kernel->lane) == 0;
}

/* Whether what others want of each tensor, too, is the same: all that bounds look at. */
static bool shares_alike(const tn_laid_layer *a, const tn_laid_layer *b) {
    for (uint32_t t = 0; t < a->program->tensors; t++) {
        const tn_layout_demand *of_a = &a->demand[t], *of_b = &b->demand[t];
        if (of_a->is_shared != of_b->is_shared) return false;
        if (of_a->is_shared && memcmp(of_a, of_b, sizeof *of_a) != 0) return false;
    }
    return true;
}

/* Bounds that were found for a layer of other demands that makes no difference to them; NULL: none. */
static const layer_times *bounds_alike(const tn_laid_layers *layers, const tn_laid_layer *layer,
                                       const tn_matmul *kernel) {
    const tn_laid_layer *other = *list_of(layers, layer->program, &layer->edges, layer->banking);
    for (; other; other = other->next) {
        const layer_times *times = other->times;
        if (!is_akin(other, layer->program, &layer->edges, layer->banking) || !shares_alike(layer, other))
            continue;
        while (times && !is_of_lane(times, kernel, true)) times = times->next;
        if (times) return times;
    }
    return NULL;
}

static tn_status count_cycles(const tn_laid_layers *layers, const tn_laid_layer *layer,
                              const tn_matmul *kernel, bool at_least, const uint64_t **times,
                              tn_error *error) {
    uint64_t *cycles;
    TN_TRY(TN_NEW(layers->arena, layer->program->steps, &cycles, error));
    *times = cycles;
    if (at_least)
        return tn_open_layouts_cycles(layer->program, kernel, layer->banking, layer->demand, cycles, error);
    for (uint32_t i = 0; i < layer->program->steps; i++)
        TN_TRY(tn_issue_product_cycles(kernel, &layer->layouts->product[i].issued, &cycles[i], error));
    return TN_OK;
}

tn_status tn_laid_layer_cycles(const tn_laid_layers *layers, tn_laid_layer *layer, bool at_least,
                               uint32_t product, const tn_matmul *kernel, uint64_t *cycles, tn_error *error) {
    layer_times *times = layer->times;
    while (times && !is_of_lane(times, kernel, at_least)) times = times->next;
    if (!times) {
        const layer_times *alike = at_least ? bounds_alike(layers, layer, kernel) : NULL;
        TN_TRY(TN_NEW(layers->arena, 1, &times, error));
        *times = (layer_times){.at_least = at_least, .next = layer->times};
        memcpy(&times->lane, &kernel->lane, sizeof kernel->lane); /* padding, too: lanes compare as bytes */
        if (alike)
            times->cycles = alike->cycles;
        else
            TN_TRY(count_cycles(layers, layer, kernel, at_least, &times->cycles, error));
        layer->times = times;
    }
    *cycles = times->cycles[product];
    return TN_OK;
}

tn_status tn_laid_layer_partial_cycles(const tn_laid_layers *layers, tn_laid_layer *layer,
                                       const tn_partial *partial, const tn_matmul *kernel, uint64_t *cycles,
                                       tn_error *error) {
    part_time *part = layer->parts;
    while (part && (part->step != partial->step || part->kept != partial->kept ||
                    memcmp(&part->lane, &kernel->lane, sizeof kernel->lane) != 0))
        part = part->next;
    if (!part) {
        TN_TRY(TN_NEW(layers->arena, 1, &part, error));
        *part = (part_time){.step = partial->step, .kept = partial->kept, .next = layer->parts};
        memcpy(&part->lane, &kernel->lane, sizeof kernel->lane);
        TN_TRY(
            tn_partial_product_cycles(layer->program, layer->layouts, partial, kernel, &part->cycles, error));
        layer->parts = part;
    }
    *cycles = part->cycles;
    return TN_OK;
}
