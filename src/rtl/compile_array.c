/* What a product on a systolic array has beside others (templates/systolic.svh). */
#include "base/checked.h"
#include "rtl/bits.h"
#include "rtl/compile_pass.h"

const tn_rtl_cut *tn_rtl_inner_cut(const tn_rtl_operation *operation) {
    return operation->array == TN_PASS_RESTS      ? &operation->row
           : operation->array == TN_PASS_SIDEWAYS ? &operation->column
                                                  : &operation->term;
}

void tn_rtl_compile_inner(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                          tn_rtl_step *step) {
    const tn_rtl_cut *cut = tn_rtl_inner_cut(operation);
    const tn_rtl_array *array =
        &compilation->design->array[operation->array == TN_PASS_RESTS ? operation->result : operation->right];
    tn_rtl_inner *inner = &step->inner;
    step->array = operation->array;
    inner->log = tn_rtl_bits_for(cut->edge[1]);
    if (cut->edge[1] == 1) inner->log = 0;
    for (int k = 0; k < 2; k++) {
        const uint32_t axis = tn_rtl_axis_of(array, cut->index[k]);
        const uint64_t rest = tn_rtl_cut_rest(compilation, cut, k);
        inner->size[k] = cut->edge[k];
        inner->rest[k] = rest > 0 ? rest : cut->edge[k];
        inner->count[1 - k] = cut->edge[k]; /* the second index counts faster */
        if (axis != TN_RTL_NONE) inner->counter[1 - k] = tn_rtl_counter_of(&array->layout, axis, 1);
    }
}

/* The counters of blocks of columns and rows become the last ones. */
static void move_cuts(const tn_rtl_engine *engine, tn_rtl_step *step) {
    const uint32_t cuts = 2 * (uint32_t)engine->cuts, levels = (uint32_t)engine->tile_levels;
    uint64_t count[TN_RTL_LEVELS_MOST];
    tn_rtl_counter counter[TN_RTL_LEVELS_MOST][TN_RTL_COUNTED] = {0};
    for (uint32_t l = 0; l < levels; l++) count[l] = 1;
    for (uint32_t l = 0; l < step->tile_levels; l++) {
        const uint32_t to = l < cuts ? levels - cuts + l : l - cuts;
        count[to] = step->tile_count[l];
        for (int port = 0; port < TN_RTL_COUNTED; port++) counter[to][port] = step->tile[l][port];
    }
    step->tile_levels = levels;
    for (uint32_t l = 0; l < levels; l++) {
        step->tile_count[l] = count[l];
        for (int port = 0; port < TN_RTL_COUNTED; port++) step->tile[l][port] = counter[l][port];
    }
}

void tn_rtl_order_tiles(tn_rtl_compiler *compilation) {
    tn_rtl_engine *engine = compilation->engine;
    engine->slots = 2;
    for (uint32_t i = 0; i < compilation->design->operations; i++) {
        tn_rtl_step *step = &engine->step[i];
        if (step->array == TN_PASS_OF_LANES) continue;
        move_cuts(engine, step);
        engine->slots = tn_greatest(engine->slots, step->open);
    }
}
