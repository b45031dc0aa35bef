#include "rtl/request.h"

#include "device/device_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

tn_status tn_rtl_lay(const tn_rtl_request *request, tn_arena *arena, tn_rtl_laying *laying, tn_error *error) {
    tn_build *build = &laying->build;
    *laying = (tn_rtl_laying){.build = *request->build};
    if (request->layer) build->fusion = TN_FUSION_NONE; /* what it would add is another operation's */
    TN_TRY(tn_workload_prepare(request->step, request->device, arena, &laying->workload, error));
    TN_TRY(tn_workload_built(laying->workload, build, &laying->workload, error));
    TN_TRY(tn_workload_plan(laying->workload, build, &laying->plan, error));
    return tn_plan_lay(laying->workload, laying->plan, build, error);
}

static tn_status tell_memory(const tn_rtl_memory *memory, const tn_device *device, tn_rtl_memory_line *line,
                             tn_error *error) {
    tn_blocks priced, inferred;
    uint64_t rows;
    *line = (tn_rtl_memory_line){.holds = memory->holds,
                                 .of_price = memory->of_price,
                                 .style = memory->style,
                                 .banks = memory->banks,
                                 .width_bits = memory->word * TN_RTL_ELEMENT_BITS,
                                 .depth = memory->depth};
    TN_TRY(tn_bank_blocks(device, line->style, TN_RTL_ELEMENT_BITS, line->width_bits, line->depth, &priced,
                          &rows, error));
    TN_TRY(tn_memory_element_blocks(line->style, memory->word, TN_RTL_ELEMENT_BITS, line->depth, &inferred,
                                    &rows, error));
    line->bram18 = line->banks * (priced.bram18 + 2 * priced.bram36);
    line->uram = line->banks * priced.uram;
    line->lutram = line->banks * priced.lutram;
    line->inferred_bram18 = line->banks * (inferred.bram18 + 2 * inferred.bram36);
    line->inferred_uram = line->banks * inferred.uram;
    line->inferred_lutram = line->banks * inferred.lutram;
    return TN_OK;
}

/* Logic, without blocks. */
static tn_status tell_program(const tn_rtl_engine *engine, tn_arena *arena, tn_rtl_memory_line *line,
                              tn_error *error) {
    tn_rtl_columns columns;
    TN_TRY(tn_rtl_columns_find(engine, arena, &columns, error));
    *line = (tn_rtl_memory_line){.holds = "descriptors",
                                 .of_price = true,
                                 .style = TN_STYLE_DISTRIBUTED,
                                 .banks = 1,
                                 .width_bits = columns.stored,
                                 .depth = (uint64_t)engine->design->operations + 1};
    return TN_OK;
}

tn_status tn_rtl_tell_memories(tn_rtl_answer *answer, const tn_rtl_engine *engine, const tn_device *device,
                               tn_arena *arena, tn_error *error) {
    const tn_rtl_design *design = engine->design;
    tn_rtl_memory_line *all = &answer->all;
    answer->memories = design->memories;
    *all = (tn_rtl_memory_line){.of_price = true};
    TN_TRY(TN_NEW(arena, design->memories, &answer->memory, error));
    for (uint32_t m = 0; m < design->memories; m++) {
        tn_rtl_memory_line *line = &answer->memory[m];
        TN_TRY(tell_memory(&design->memory[m], device, line, error));
        all->of_price = all->of_price && line->of_price;
        all->bram18 += line->bram18;
        all->uram += line->uram;
        all->lutram += line->lutram;
        all->inferred_bram18 += line->inferred_bram18;
        all->inferred_uram += line->inferred_uram;
        all->inferred_lutram += line->inferred_lutram;
    }
    return tell_program(engine, arena, &answer->program, error);
}

void tn_rtl_tell_resources(tn_rtl_answer *answer, const tn_rtl_resources *resources, bool synthesised) {
    const tn_rtl_use use[TN_RTL_USES] = {
        {.name = "lut", .predicted = resources->lut},   {.name = "ff", .predicted = resources->ff},
        {.name = "dsp", .predicted = resources->dsp},   {.name = "bram18", .predicted = resources->bram18},
        {.name = "uram", .predicted = resources->uram}, {.name = "lutram", .predicted = resources->lutram}};
    for (int i = 0; i < TN_RTL_USES; i++) {
        answer->resource[i].name = use[i].name;
        if (synthesised)
            answer->resource[i].synthesised = use[i].predicted;
        else
            answer->resource[i].predicted = use[i].predicted;
        answer->resource[i].is_synthesised = synthesised;
    }
}
