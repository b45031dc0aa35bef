#include "layout/layer_layout.h"

#include "base/digest.h"

#include <string.h>

enum { LISTS = 8192 }; /* as many as layers that a sweep keeps at once */
enum { PROGRAMS_KEPT = 64 };

struct tn_known_problem {
    tn_layout_problem read;
    tn_laid_layer *layer; /* the last of those with it */
    tn_known_problem *next;
};

/* What the products of a layer's program take in kernels of one lane. */
typedef struct layer_times {
    tn_lane lane;
    bool at_least;    /* whatever the layouts */
    uint64_t *cycles; /* [program->steps]; 0: not asked for yet */
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
    tn_known_problem *problem;
    tn_banking banking;
    const tn_layout_demand *demand; /* [program->tensors] */
    const tn_layouts *layouts;      /* NULL: not searched for yet */
    layer_times *times;
    part_time *parts;
    tn_laid_layer *next; /* in the list of its hash */
    tn_laid_layer *like; /* another one of its problem */
};

tn_status tn_laid_layers_begin(tn_laid_layers *layers, tn_arena *arena, tn_error *error) {
    *layers = (tn_laid_layers){.arena = arena};
    TN_TRY(tn_layout_room_begin(&layers->room, arena, error));
    TN_TRY(TN_NEW(arena, LISTS, &layers->problem, error));
    TN_TRY(TN_NEW(arena, PROGRAMS_KEPT, &layers->last, error));
    return TN_NEW(arena, LISTS, &layers->list, error);
}

static tn_status find_problem(tn_laid_layers *layers, const tn_program *program, const tn_kernel_edges *edges,
                              tn_known_problem **problem, tn_error *error) {
    const uint64_t key[] = {edges->rows, edges->columns, edges->reduction, edges->systolic,
                            (uint64_t)(uintptr_t)program};
    tn_known_problem **list = &layers->problem[tn_hash_place(tn_hash_counts(key, 5), LISTS)];
    *problem = *list;
    while (*problem && ((*problem)->read.program != program ||
                        memcmp(&(*problem)->read.edges, edges, sizeof *edges) != 0))
        *problem = (*problem)->next;
    if (*problem) return TN_OK;
    tn_known_problem *made,
        **last = &layers->last[tn_hash_place((uint64_t)(uintptr_t)program, PROGRAMS_KEPT)];
    const bool is_like = *last && (*last)->read.program == program;
    TN_TRY(TN_NEW(layers->arena, 1, &made, error));
    TN_TRY(tn_layout_problem_begin(program, edges, is_like ? &(*last)->read : NULL, layers->arena,
                                   &made->read, error));
    made->next = *list;
    *last = *problem = *list = made;
    return TN_OK;
}

/* The list that a layer with these demands is in. */
static tn_laid_layer **list_of(const tn_laid_layers *layers, const tn_known_problem *problem,
                               tn_banking banking, const tn_layout_demand *demand) {
    const uint64_t hash = tn_hash_word(banking, (uint64_t)(uintptr_t)problem);
    const size_t bytes = problem->read.program->tensors * sizeof *demand;
    return &layers->list[tn_hash_place(tn_hash_bytes(hash, demand, bytes), LISTS)];
}

static bool is_laid_so(const tn_laid_layer *layer, const tn_known_problem *problem, tn_banking banking,
                       const tn_layout_demand *demand) {
    return layer->problem == problem && layer->banking == banking &&
           memcmp(layer->demand, demand, problem->read.program->tensors * sizeof *demand) == 0;
}

tn_status tn_laid_layer_find(tn_laid_layers *layers, const tn_program *program, const tn_kernel_edges *edges,
                             tn_banking banking, const tn_layout_demand *demand, tn_laid_layer **layer,
                             tn_error *error) {
    tn_known_problem *problem;
    TN_TRY(find_problem(layers, program, edges, &problem, error));
    tn_laid_layer **list = list_of(layers, problem, banking, demand), *known = *list;
    while (known && !is_laid_so(known, problem, banking, demand)) known = known->next;
    *layer = known;
    if (known) return TN_OK;
    tn_layout_demand *own;
    TN_TRY(TN_NEW(layers->arena, program->tensors, &own, error));
    memcpy(own, demand, program->tensors * sizeof *demand);
    TN_TRY(TN_NEW(layers->arena, 1, &known, error));
    *known = (tn_laid_layer){
        .problem = problem, .banking = banking, .demand = own, .next = *list, .like = problem->layer};
    *layer = *list = problem->layer = known;
    return TN_OK;
}

tn_status tn_laid_layer_search(tn_laid_layers *layers, tn_laid_layer *layer, const tn_layouts **layouts,
                               tn_error *error) {
    if (!layer->layouts) {
        tn_layout_problem *problem = &layer->problem->read;
        tn_layouts *found;
        TN_TRY(tn_layout_problem_complete(problem, layers->arena, error));
        TN_TRY(TN_NEW(layers->arena, 1, &found, error));
        TN_TRY(tn_layouts_find(problem, layer->banking, TN_LEAST_CYCLES, layer->demand, &layers->room,
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
    for (uint32_t t = 0; t < a->problem->read.program->tensors; t++) {
        const tn_layout_demand *of_a = &a->demand[t], *of_b = &b->demand[t];
        if (of_a->is_shared != of_b->is_shared) return false;
        if (of_a->is_shared && memcmp(of_a, of_b, sizeof *of_a) != 0) return false;
    }
    return true;
}

/* Bounds that were found for a layer of other demands that makes no difference to them; NULL: none. */
static const layer_times *bounds_alike(const tn_laid_layer *layer, const tn_matmul *kernel) {
    for (const tn_laid_layer *other = layer->problem->layer; other; other = other->like) {
        const layer_times *times = other->times;
        if (other->banking != layer->banking || !shares_alike(layer, other)) continue;
        while (times && !is_of_lane(times, kernel, true)) times = times->next;
        if (times) return times;
    }
    return NULL;
}

/* The layer's times in kernels of that lane. */
static tn_status find_times(tn_laid_layers *layers, tn_laid_layer *layer, bool at_least,
                            const tn_matmul *kernel, layer_times **found, tn_error *error) {
    layer_times *times = layer->times;
    while (times && !is_of_lane(times, kernel, at_least)) times = times->next;
    *found = times;
    if (times) return TN_OK;
    const layer_times *alike = at_least ? bounds_alike(layer, kernel) : NULL;
    TN_TRY(TN_NEW(layers->arena, 1, &times, error));
    *times = (layer_times){.at_least = at_least, .next = layer->times};
    memcpy(&times->lane, &kernel->lane, sizeof kernel->lane); /* padding, too: lanes compare as bytes */
    if (alike)
        times->cycles = alike->cycles;
    else
        TN_TRY(TN_NEW(layers->arena, layer->problem->read.program->steps, &times->cycles, error));
    *found = layer->times = times;
    return TN_OK;
}

tn_status tn_laid_layer_cycles(tn_laid_layers *layers, tn_laid_layer *layer, bool at_least, uint32_t product,
                               const tn_matmul *kernel, uint64_t *cycles, tn_error *error) {
    tn_layout_problem *problem = &layer->problem->read;
    layer_times *times;
    TN_TRY(find_times(layers, layer, at_least, kernel, &times, error));
    *cycles = times->cycles[product];
    if (*cycles > 0) return TN_OK;
    if (at_least) {
        TN_TRY(tn_layout_problem_product(problem, product, layers->arena, error));
        TN_TRY(
            tn_open_product_cycles(problem, product, kernel, layer->banking, layer->demand, cycles, error));
    } else {
        TN_TRY(tn_issue_product_cycles(kernel, &layer->layouts->product[product].issued, cycles, error));
    }
    times->cycles[product] = *cycles; /* what fails is asked for again */
    return TN_OK;
}

tn_status tn_laid_layer_partial_cycles(tn_laid_layers *layers, tn_laid_layer *layer,
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
        tn_arena_reset(&layers->room.scratch);
        TN_TRY(tn_partial_product_cycles(layer->problem->read.program, layer->layouts->tensor, partial,
                                         kernel, &layers->room.scratch, &part->cycles, error));
        layer->parts = part;
    }
    *cycles = part->cycles;
    return TN_OK;
}
