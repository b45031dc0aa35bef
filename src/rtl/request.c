#include "rtl/request.h"

#include "device/device_data.h"

static const char *const names[TN_VALUES] = {
    [TN_VALUE_WEIGHT] = "weights", [TN_VALUE_ACTIVATION] = "activations", [TN_VALUE_GRADIENT] = "gradients"};

static tn_status check_format(const tn_number_format *format, const char *what, tn_error *error) {
    char name[TN_NUMBER_FORMAT_NAME];
    if (tn_number_format_same(format, &tn_fp32)) return TN_OK;
    tn_number_format_name(format, name);
    return tn_fail(error, TN_INPUT, "%s in %s; the templates compute in fp32 alone", what, name);
}

static tn_status check_operation(const tn_step *step, const tn_operation *operation, tn_error *error) {
    const char *layer = step->layer[operation->layer].name;
    if (operation->arithmetic)
        return tn_fail(error, TN_INPUT, "%s multiplies in a precision of its own, which no template does",
                       layer);
    if (operation->partial || operation->gather)
        return tn_fail(error, TN_INPUT, "%s takes a part of an array, which no template does", layer);
    if (operation->times > 0)
        return tn_fail(error, TN_INPUT, "%s is done in some steps alone, which no template does", layer);
    if (operation->cycle_ratio > 0 && operation->cycle_ratio != 1)
        return tn_fail(error, TN_INPUT, "%s passes over zeros, which no template does", layer);
    if (operation->gather || operation->partial)
        return tn_fail(error, TN_INPUT, "%s takes a part of an array, which no template does", layer);
    if (operation->times > 0)
        return tn_fail(error, TN_INPUT,
                       "%s is done in some steps, or for some inputs, which no template does", layer);
    return TN_OK;
}

tn_status tn_rtl_check_buildable(const tn_step *step, const tn_build *build, tn_error *error) {
    if (build->array != TN_ARRAY_LANES)
        return tn_fail(error, TN_INPUT,
                       "build.array is systolic, of which there are no templates; set it to lanes");
    TN_TRY(check_format(&step->formats->accumulate, "sums", error));
    for (int value = 0; value < TN_VALUES; value++)
        TN_TRY(check_format(&step->formats->operand[value], names[value], error));
    if (step->schedule)
        return tn_fail(error, TN_INPUT, "mantissas that grow have no template; leave precision.schedule out");
    for (uint32_t i = 0; i < step->operations; i++) TN_TRY(check_operation(step, &step->operation[i], error));
    return TN_OK;
}

tn_status tn_rtl_lay(const tn_rtl_request *request, tn_arena *arena, tn_rtl_laying *laying, tn_error *error) {
    tn_build *build = &laying->build;
    *laying = (tn_rtl_laying){.build = *request->build};
    build->layouts = TN_LAID_AS_FOUND;
    if (request->layer) build->fusion = TN_FUSION_NONE; /* what it would add is another operation's */
    TN_TRY(tn_workload_prepare(request->step, request->device, arena, &laying->workload, error));
    TN_TRY(tn_workload_built(laying->workload, build, &laying->workload, error));
    TN_TRY(tn_workload_plan(laying->workload, build, &laying->plan, error));
    return tn_plan_lay(laying->workload, laying->plan, build, error);
}

static tn_status tell_memory(const tn_rtl_memory *memory, const tn_device *device, tn_rtl_memory_line *line,
                             tn_error *error) {
    tn_blocks priced, inferred;
    *line = (tn_rtl_memory_line){.holds = memory->holds,
                                 .of_price = memory->of_price,
                                 .style = memory->style,
                                 .banks = memory->banks,
                                 .width_bits = memory->word * TN_RTL_ELEMENT_BITS,
                                 .depth = memory->depth};
    TN_TRY(tn_memory_blocks((tn_geometry)device->memory.geometry, line->style, line->width_bits, line->depth,
                            false, &priced, error));
    TN_TRY(tn_memory_element_blocks(line->style, memory->word, TN_RTL_ELEMENT_BITS, line->depth, &inferred,
                                    error));
    line->bram18 = line->banks * (priced.bram18 + 2 * priced.bram36);
    line->uram = line->banks * priced.uram;
    line->lutram = line->banks * priced.lutram;
    line->inferred_bram18 = line->banks * (inferred.bram18 + 2 * inferred.bram36);
    line->inferred_uram = line->banks * inferred.uram;
    line->inferred_lutram = line->banks * inferred.lutram;
    return TN_OK;
}

static tn_status tell_program(const tn_rtl_engine *engine, const tn_device *device, tn_arena *arena,
                              tn_rtl_memory_line *line, tn_error *error) {
    const bool block = tn_rtl_program_style(engine) == TN_STYLE_BLOCK;
    tn_rtl_columns columns;
    tn_blocks priced = {0}, inferred = {0};
    TN_TRY(tn_rtl_columns_find(engine, arena, &columns, error));
    *line = (tn_rtl_memory_line){.holds = "descriptors",
                                 .of_price = true,
                                 .style = tn_rtl_program_style(engine),
                                 .banks = 1,
                                 .width_bits = columns.stored,
                                 .depth = (uint64_t)engine->design->operations + 1};
    if (!block) return TN_OK;
    TN_TRY(tn_memory_blocks((tn_geometry)device->memory.geometry, line->style, line->width_bits, line->depth,
                            false, &priced, error));
    TN_TRY(tn_memory_blocks(TN_GEOMETRY_YOSYS, line->style, line->width_bits, line->depth, false, &inferred,
                            error));
    line->bram18 = priced.bram18 + 2 * priced.bram36;
    line->inferred_bram18 = inferred.bram18 + 2 * inferred.bram36;
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
    return tell_program(engine, device, arena, &answer->program, error);
}

void tn_rtl_tell_resources(tn_rtl_answer *answer, const tn_rtl_resources *of, bool synthesised) {
    const tn_rtl_use use[TN_RTL_USES] = {
        {.name = "lut", .predicted = of->lut},   {.name = "ff", .predicted = of->ff},
        {.name = "dsp", .predicted = of->dsp},   {.name = "bram18", .predicted = of->bram18},
        {.name = "uram", .predicted = of->uram}, {.name = "lutram", .predicted = of->lutram}};
    for (int i = 0; i < TN_RTL_USES; i++) {
        answer->resource[i].name = use[i].name;
        if (synthesised)
            answer->resource[i].synthesised = use[i].predicted;
        else
            answer->resource[i].predicted = use[i].predicted;
        answer->resource[i].is_synthesised = synthesised;
    }
}
