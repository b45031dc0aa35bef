#include "rtl/request.h"

#include "device/device_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[TN_VALUES] = {
    [TN_VALUE_WEIGHT] = "weights", [TN_VALUE_ACTIVATION] = "activations", [TN_VALUE_GRADIENT] = "gradients"};

/* What there are templates for. A key that has no row is built with its default alone, so that a new one is refused
 * until it has templates. */
typedef struct built {
    const char *key;
    const char *step,
        *layer; /* values that a whole step, and a linear layer alone, are generated with; NULL: any */
} built;
static const built built_keys[] = {
    {"rows", NULL, NULL},
    {"columns", NULL, NULL},
    {"reduction", NULL, NULL},
    {"vector", NULL, NULL},
    {"vector_units", "auto shared", "auto shared"},
    {"fusion", NULL,
     NULL}, /* what has no template is named where it is lowered; of a layer alone it is no part */
    /* What memories of a whole step share; a layer alone has its own, in the style of activations (docs/rtl.md). */
    {"core_memory", NULL, NULL},
    {"activation_memory", NULL, NULL},
    {"group", NULL, NULL},
    {"buffers", NULL, NULL},
    {"placement", NULL, NULL},
    {"split", NULL, NULL},              /* as fusion */
    {"layouts", NULL, NULL},            /* ideal: those that are found (rtl/request.h) */
    {"blocks", NULL, NULL},             /* says nothing where the schedule is sequential */
    {"off_chip_over_bytes", NULL, "0"}, /* of a step, an array that is off chip is refused where it is laid */
    {"off_chip_tile_bytes", NULL, NULL},
};

static const built *find_key(const char *key) {
    for (size_t i = 0; i < sizeof built_keys / sizeof *built_keys; i++)
        if (strcmp(built_keys[i].key, key) == 0) return &built_keys[i];
    return NULL;
}

static bool lists(const char *list, const char *value) {
    size_t length = strlen(value);
    for (const char *word = list; *word; word += strcspn(word, " "), word += *word == ' ')
        if (strcspn(word, " ") == length && strncmp(word, value, length) == 0) return true;
    return false;
}

static tn_status check_key(const tn_build *build, const tn_field *key, bool alone, tn_error *error) {
    const built *row = find_key(key->key);
    const char *takes = !row ? key->fallback : alone ? row->layer : row->step;
    char value[32];
    uint64_t number = tn_build_value(build, key);
    if (!takes) return TN_OK;
    if (key->type == TN_FIELD_CHOICE)
        snprintf(value, sizeof value, "%s", key->choices[number]);
    else
        snprintf(value, sizeof value, "%" PRIu64, number);
    if (lists(takes, value)) return TN_OK;
    return tn_fail(error, TN_INPUT, "build.%s is %s, of which there are no templates%s; set it to %.*s",
                   key->key, value, alone ? " for a layer alone" : "", (int)strcspn(takes, " "), takes);
}

static tn_status check_format(const tn_number_format *format, const char *what, tn_error *error) {
    char name[TN_NUMBER_FORMAT_NAME];
    if (tn_number_format_same(format, &tn_fp32)) return TN_OK;
    tn_number_format_name(format, name);
    return tn_fail(error, TN_INPUT, "%s in %s; the templates compute in fp32 alone", what, name);
}

static tn_status check_operation(const tn_step *step, const tn_operation *operation, tn_error *error) {
    const struct {
        bool is;
        const char *does;
    } unbuilt[] = {
        {operation->arithmetic, "multiplies in a precision of its own"},
        {operation->partial || operation->gather, "takes a part of an array"},
        {operation->window, "takes windows of pictures"},
        {operation->times > 0, "is done in some steps, or for some inputs"},
        {operation->live > 0, "multiplies a sparse parameter"},
        {operation->cycle_ratio > 0 && operation->cycle_ratio != 1, "passes over zeros"},
        {operation->column_block > 0, "computes its columns in blocks"},
        {operation->predictor, "predicts gradients"},
    };
    for (size_t i = 0; i < sizeof unbuilt / sizeof *unbuilt; i++)
        if (unbuilt[i].is)
            return tn_fail(error, TN_INPUT, "%s %s, which no template does",
                           step->layer[operation->layer].name, unbuilt[i].does);
    return TN_OK;
}

static tn_status check_array(const tn_step *step, const tn_array *array, tn_error *error) {
    const struct {
        bool is;
        const char *what;
    } unbuilt[] = {
        {array->live > 0 || array->part == TN_PART_MASK, "a sparse parameter"},
        {tn_array_is_predictor(array), "a predictor of gradients"},
        {array->is_part, "a part of a weight"},
        {array->exit > 0, "an early exit"},
    };
    for (size_t i = 0; i < sizeof unbuilt / sizeof *unbuilt; i++)
        if (unbuilt[i].is)
            return tn_fail(error, TN_INPUT, "%s has %s, of which there are no templates",
                           step->layer[array->layer].name, unbuilt[i].what);
    return TN_OK;
}

tn_status tn_rtl_check_buildable(const tn_step *step, const tn_build *build, bool alone, tn_error *error) {
    for (size_t i = 0; i < tn_build_schema.count; i++)
        TN_TRY(check_key(build, &tn_build_schema.field[i], alone, error));
    TN_TRY(check_format(&step->formats->accumulate, "sums", error));
    for (int value = 0; value < TN_VALUES; value++)
        TN_TRY(check_format(&step->formats->operand[value], names[value], error));
    if (step->schedule)
        return tn_fail(error, TN_INPUT, "mantissas that grow have no template; leave precision.schedule out");
    if (step->deadline_us > 0)
        return tn_fail(error, TN_INPUT,
                       "a clock that follows the work has no template; leave the deadline out");
    if (step->retention_us > 0)
        return tn_fail(error, TN_INPUT, "cells that are refreshed have no template; leave retention out");
    for (uint32_t i = 0; i < step->operations; i++) TN_TRY(check_operation(step, &step->operation[i], error));
    for (uint32_t i = 0; i < step->arrays; i++) TN_TRY(check_array(step, &step->array[i], error));
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
