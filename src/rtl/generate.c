#include "rtl/generate.h"

#include "base/file.h"
#include "device/device_data.h"
#include "kernel/vector.h"
#include "rtl/compile.h"
#include "rtl/files.h"
#include "rtl/layer.h"
#include "rtl/reference.h"
#include "rtl/request.h"
#include "rtl/resources.h"
#include "rtl/step_run.h"
#include "run/trial.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the program ---- */

static tn_status make_program(tn_rtl_step_run *with) {
    const tn_rtl_request *r = with->request;
    tn_rtl_step_options options = {.workload = with->laying.workload,
                                   .plan = with->laying.plan,
                                   .priced = &with->handover,
                                   .rows = r->build->rows,
                                   .columns = r->build->columns,
                                   .terms = r->build->reduction,
                                   .vector = r->build->vector,
                                   .style = (tn_memory_style)r->build->activation_memory,
                                   .lutram_bits_most = r->device->memory.lutram_bits_most,
                                   .rate = r->rate,
                                   .epsilon = r->settings->layer_norm_epsilon,
                                   .layer = with->layer};
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        const tn_operator_row *row;
        TN_TRY(tn_device_operator(r->device, &tn_fp32, (tn_operator)kind, &row, with->error));
        options.latencies.of[kind] = row->stages;
    }
    options.update = r->update;
    with->answer->multiply_cycles = options.latencies.of[TN_MULTIPLY];
    with->answer->add_cycles = options.latencies.of[TN_ADDER];
    TN_TRY(tn_rtl_program_make(r->model, r->step, &options, with->arena, &with->program, with->error));
    with->program.design.samples = with->runs;
    return tn_rtl_compile(&with->program.design, with->program.index_size, with->arena, &with->engine,
                          with->error);
}

/* ---- the price ---- */

static tn_status hand_over(tn_rtl_step_run *with) {
    tn_rtl_laying *laying = &with->laying;
    if (with->layer != UINT32_MAX) return TN_OK;
    TN_TRY(tn_price_explain(laying->workload, &laying->build, with->arena, &with->priced, with->error));
    return tn_handover_make(laying->workload, &laying->build, &with->priced, with->arena, &with->handover,
                            with->error);
}

/* ---- the whole ---- */

/* A line for each operation of the step, whatever it was made of. */
static tn_status generate_step_tell_operations(tn_rtl_step_run *with) {
    tn_rtl_answer *answer = with->answer;
    const tn_rtl_design *design = &with->program.design;
    const tn_step *step = with->request->step;
    TN_TRY(tn_rtl_tell_memories(answer, &with->engine, with->request->device, with->arena, with->error));
    answer->cycles_predicted = with->engine.cycles;
    TN_TRY(TN_NEW(with->arena, design->operations, &answer->operation, with->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        uint32_t of = with->program.of_operation[i];
        if (i == 0 || of != with->program.of_operation[i - 1]) {
            tn_rtl_line *line = &answer->operation[answer->operations++];
            TN_TRY(tn_step_array_name(step, step->operation[of].writes[0], with->arena, &line->name,
                                      with->error));
            line->kind = tn_operation_rows[step->operation[of].kind].kernel;
        }
        answer->operation[answer->operations - 1].cycles_predicted += with->engine.step[i].cycles;
    }
    return TN_OK;
}

/* The engine, and beside it the vector unit, as the price counts it with generated operators where the device has them. */
static tn_status tell_resources(tn_rtl_step_run *with) {
    const tn_rtl_request *r = with->request;
    bool serves[TN_OPERATION_KINDS] = {false};
    tn_operator_set operators;
    tn_device device = *r->device;
    device.operator_set = TN_OPERATORS_GENERATED;
    tn_rtl_resources used;
    TN_TRY(tn_rtl_resources_count(&with->engine, r->device, &used, with->error));
    TN_TRY(tn_operator_set_load(&device, &tn_fp32, &operators, with->error));
    for (uint32_t i = 0; i < with->engine.circuits; i++) serves[with->engine.circuit[i].kind] = true;
    tn_resources unit = tn_vector_unit_resources(r->device, serves, with->program.design.vector, &operators);
    used.lut += unit.lut;
    used.ff += unit.ff;
    used.dsp += unit.dsp;
    tn_rtl_tell_resources(with->answer, &used, false);
    return TN_OK;
}

/* ---- how every generated folder is tried ---- */

static tn_status simulate(const tn_rtl_request *request, const tn_rtl_engine *engine, tn_arena *arena,
                          tn_rtl_answer *answer, tn_rtl_simulation *simulation, tn_error *error) {
    TN_TRY(tn_rtl_simulate(engine, request->folder, request->progress, arena, simulation, error));
    answer->simulated = true;
    answer->floats = tn_rtl_simulates_circuits(engine) ? "circuit" : "c";
    answer->seconds += simulation->seconds;
    return TN_OK;
}

static tn_status synthesise(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                            tn_error *error) {
    tn_rtl_synthesis synthesis;
    TN_TRY(tn_rtl_synthesise(request->folder, arena, &synthesis, error));
    tn_rtl_tell_resources(answer, &synthesis.used, true);
    answer->seconds += synthesis.seconds;
    return TN_OK;
}

/* ---- a step ---- */

static tn_status generate_step_find_layer(tn_rtl_step_run *with) {
    const tn_rtl_request *r = with->request;
    with->layer = UINT32_MAX;
    for (uint32_t l = 0; r->layer && l < r->step->layers; l++)
        if (strcmp(r->step->layer[l].name, r->layer) == 0) with->layer = l;
    if (r->layer && with->layer == UINT32_MAX) {
        const char *first = "";
        for (uint32_t l = r->step->layers; l-- > 0;)
            if (r->step->layer[l].family == TN_LAYER_LINEAR) first = r->step->layer[l].name;
        return tn_fail(with->error, TN_INPUT,
                       "--layer %s: the model has no such layer; its first linear one is %s", r->layer,
                       first);
    }
    return TN_OK;
}

static tn_status generate_step_run(tn_rtl_step_run *with) {
    const tn_rtl_request *r = with->request;
    TN_TRY(generate_step_find_layer(with));
    TN_TRY(hand_over(with));
    TN_TRY(make_program(with));
    if (with->program.design.operations == 0)
        return tn_fail(with->error, TN_INPUT, "--layer %s has no operations of its own", r->layer);
    TN_TRY(generate_step_tell_operations(with));
    TN_TRY(tell_resources(with));
    TN_TRY(tn_rtl_run_samples(with));
    TN_TRY(tn_rtl_run_start(with));
    TN_TRY(tn_rtl_run_expect(with));
    TN_TRY(tn_rtl_run_write(with));
    if (r->simulate) {
        tn_rtl_simulation simulation;
        TN_TRY(simulate(r, &with->engine, with->arena, with->answer, &simulation, with->error));
        TN_TRY(tn_rtl_run_compare(with, &simulation));
    }
    return r->synthesise ? synthesise(r, with->arena, with->answer, with->error) : TN_OK;
}

/* Without request->layer the whole step on a drawn or given example a step; with it that layer's operations on drawn
 * operands. */
static tn_status rtl_generate_step(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                                   tn_error *error) {
    tn_rtl_request own = *request;
    tn_rtl_step_run with = {.request = &own,
                            .arena = arena,
                            .error = error,
                            .answer = answer,
                            .runs = request->steps ? request->steps : 1};
    *answer = (tn_rtl_answer){.layer = request->layer ? request->layer : request->step->name,
                              .folder = request->folder,
                              .relative_error = NAN,
                              .ok = true};
    tn_status status = tn_rtl_lay(request, arena, &with.laying, error);
    if (status == TN_OK) {
        own.step = with.laying.workload->step;
        status = generate_step_run(&with);
    }
    for (int i = 0; i < 2; i++)
        if (with.trainer[i]) tn_trainer_free(with.trainer[i]);
    return status;
}

typedef struct {
    const tn_rtl_request *request;
    tn_arena *arena;
    tn_error *error;
    const tn_step_layer *of;
    tn_rtl_layer layer;
    tn_rtl_engine engine;
    tn_trial trial;
    float **values;           /* [arrays] */
    tn_rtl_image first, last; /* what the memories hold before, and behind the program */
    tn_rtl_answer *answer;
} generator;

static tn_status find_layer(generator *with) {
    const tn_step *step = with->request->step;
    for (uint32_t l = 0; l < step->layers; l++)
        if (strcmp(step->layer[l].name, with->request->layer) == 0) with->of = &step->layer[l];
    if (!with->of) {
        const char *first = "";
        for (uint32_t l = step->layers; l-- > 0;)
            if (step->layer[l].family == TN_LAYER_LINEAR) first = step->layer[l].name;
        return tn_fail(with->error, TN_INPUT,
                       "--layer %s: the model has no such layer; its first linear one is %s",
                       with->request->layer, first);
    }
    if (with->of->family != TN_LAYER_LINEAR)
        return tn_fail(with->error, TN_INPUT,
                       "--layer %s is of kind %s; hardware is generated for linear layers", with->of->name,
                       with->of->kind);
    return TN_OK;
}

static tn_status read_options(const generator *with, tn_rtl_layer_options *options) {
    const tn_rtl_request *r = with->request;
    const tn_operator_row *multiply, *add;
    tn_rtl_laying laying;
    TN_TRY(tn_device_operator(r->device, &tn_fp32, TN_MULTIPLY, &multiply, with->error));
    TN_TRY(tn_device_operator(r->device, &tn_fp32, TN_ADDER, &add, with->error));
    *options = (tn_rtl_layer_options){.rows = r->build->rows,
                                      .columns = r->build->columns,
                                      .terms = r->build->reduction,
                                      .vector = r->build->vector,
                                      .multiply_cycles = multiply->stages,
                                      .add_cycles = add->stages,
                                      .style = (tn_memory_style)r->build->activation_memory,
                                      .lutram_bits_most = r->device->memory.lutram_bits_most,
                                      .update = r->update,
                                      .rate = r->rate};
    TN_TRY(tn_rtl_lay(r, with->arena, &laying, with->error));
    options->layouts = laying.plan->laid->layer[with->of - r->step->layer];
    with->answer->multiply_cycles = multiply->stages;
    with->answer->add_cycles = add->stages;
    return TN_OK;
}

/* ---- values ---- */

static uint64_t elements_of(const tn_rtl_array *array) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    return elements;
}

static tn_status draw_values(generator *with) {
    const tn_rtl_design *design = &with->layer.design;
    TN_TRY(tn_trial_draw(with->of->weight, with->of->tokens, with->request->seed, with->arena, &with->trial,
                         with->error));
    TN_TRY(TN_NEW(with->arena, design->arrays, &with->values, with->error));
    for (uint32_t t = 0; t < design->arrays; t++) {
        uint64_t elements = elements_of(&design->array[t]);
        TN_TRY(tn_arena_alloc(with->arena, elements, sizeof **with->values, &with->values[t], with->error));
        const double *given = NULL;
        if (t == with->layer.x) given = with->trial.input[0];
        if (t == with->layer.dy) given = with->trial.input[with->trial.cores + 1];
        for (uint32_t k = 0; k < with->layer.cores; k++)
            if (t == with->layer.core[k]) given = with->trial.input[k + 1];
        for (uint64_t i = 0; given && i < elements; i++) with->values[t][i] = (float)given[i];
    }
    return TN_OK;
}

static bool is_input(const generator *with, uint32_t t) {
    bool input = t == with->layer.x || t == with->layer.dy;
    for (uint32_t k = 0; k < with->layer.cores; k++) input = input || t == with->layer.core[k];
    return input;
}

static tn_status put_inputs(generator *with, tn_rtl_image *image) {
    const tn_rtl_design *design = &with->layer.design;
    TN_TRY(tn_rtl_image_make(design, with->arena, image, with->error));
    for (uint32_t t = 0; t < design->arrays; t++)
        if (is_input(with, t)) tn_rtl_image_put(design, &design->array[t], with->values[t], image);
    return TN_OK;
}

/* ---- files of values ---- */

static tn_status write_array(generator *with, const char *part, uint32_t t, const float *values) {
    const tn_rtl_array *array = &with->layer.design.array[t];
    uint64_t elements = elements_of(array);
    const char *path;
    double *wide;
    TN_TRY(tn_arena_format(with->arena, &path, with->error, "%s/%s/%s.npy", with->request->folder, part,
                           array->name));
    TN_TRY(TN_NEW(with->arena, elements, &wide, with->error));
    for (uint64_t i = 0; i < elements; i++) wide[i] = (double)values[i];
    uint64_t shape[TN_BANK_LAYOUT_AXES];
    memcpy(shape, array->layout.dims, sizeof shape);
    const tn_array_out out = {
        .name = array->name, .axes = array->layout.axes, .shape = shape, .values = wide, .single = true};
    return tn_npy_write(path, &out, with->error);
}

static bool is_named(const generator *with, uint32_t t) {
    bool named = t == with->layer.x || t == with->layer.y || t == with->layer.dx || t == with->layer.dy;
    for (uint32_t k = 0; k < with->layer.cores; k++)
        named = named || t == with->layer.core[k] || t == with->layer.core_gradient[k];
    return named;
}

static tn_status write_values(generator *with, const char *part, bool inputs_only, float *const *values) {
    const char *folder;
    TN_TRY(tn_arena_format(with->arena, &folder, with->error, "%s/%s", with->request->folder, part));
    TN_TRY(tn_folder_make(folder, with->error));
    for (uint32_t t = 0; t < with->layer.design.arrays; t++)
        if (inputs_only ? is_input(with, t) : is_named(with, t))
            TN_TRY(write_array(with, part, t, values[t]));
    return TN_OK;
}

/* ---- what the simulation says ---- */

/* |found - expected| / |expected| */
static double error_of(const float *found, const double *expected, uint64_t elements) {
    double difference = 0, norm = 0;
    for (uint64_t i = 0; i < elements; i++) {
        difference += ((double)found[i] - expected[i]) * ((double)found[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

static double worst_error(const generator *with, float *const *found) {
    const tn_reference *reference = &with->trial.reference;
    const tn_rtl_layer *layer = &with->layer;
    double worst = error_of(found[layer->y], reference->y, elements_of(&layer->design.array[layer->y]));
    if (layer->dx != TN_RTL_NONE)
        worst = fmax(worst,
                     error_of(found[layer->dx], reference->dx, elements_of(&layer->design.array[layer->dx])));
    for (uint32_t k = 0; k < layer->cores; k++)
        if (layer->core_gradient[k] != TN_RTL_NONE)
            worst = fmax(worst, error_of(found[layer->core_gradient[k]], reference->dcore[k],
                                         elements_of(&layer->design.array[layer->core_gradient[k]])));
    return worst;
}

static tn_status compare(generator *with, const tn_rtl_simulation *simulation) {
    const tn_rtl_design *design = &with->layer.design;
    tn_rtl_answer *answer = with->answer;
    float **found;
    TN_TRY(TN_NEW(with->arena, design->arrays, &found, with->error));
    for (uint32_t t = 0; t < design->arrays; t++) {
        uint64_t elements = elements_of(&design->array[t]);
        TN_TRY(tn_arena_alloc(with->arena, elements, sizeof **found, &found[t], with->error));
        tn_rtl_image_get(design, &design->array[t], &simulation->memories, found[t]);
    }
    answer->words = tn_rtl_image_elements(design);
    answer->wrong_words = tn_rtl_image_differ(design, &simulation->memories, &with->last);
    answer->relative_error = worst_error(with, found);
    answer->cycles_simulated = simulation->total;
    answer->ok = answer->wrong_words == 0;
    for (uint32_t i = 0; i < answer->operations; i++) {
        answer->operation[i].cycles_simulated = simulation->cycles[i];
        answer->operation[i].is_simulated = true;
        answer->ok = answer->ok && simulation->cycles[i] == answer->operation[i].cycles_predicted;
    }
    return write_values(with, "results", false, found);
}

/* ---- the whole ---- */

static tn_status tell_operations(generator *with) {
    tn_rtl_answer *answer = with->answer;
    answer->operations = with->layer.design.operations;
    TN_TRY(tn_rtl_tell_memories(answer, &with->engine, with->request->device, with->arena, with->error));
    answer->cycles_predicted = with->engine.cycles;
    TN_TRY(TN_NEW(with->arena, answer->operations, &answer->operation, with->error));
    for (uint32_t i = 0; i < answer->operations; i++)
        answer->operation[i] = (tn_rtl_line){.name = with->layer.design.operation[i].name,
                                             .kind = tn_phase_names[with->layer.phase[i]],
                                             .cycles_predicted = with->engine.step[i].cycles};
    return TN_OK;
}

static tn_status run(generator *with) {
    tn_rtl_layer_options options;
    const tn_rtl_request *r = with->request;
    TN_TRY(find_layer(with));
    TN_TRY(read_options(with, &options));
    TN_TRY(tn_rtl_layer_make(with->of->program, with->of->weight->format == TN_DENSE, &options, with->arena,
                             &with->layer, with->error));
    TN_TRY(tn_rtl_compile(&with->layer.design, with->of->program->index_size, with->arena, &with->engine,
                          with->error));
    TN_TRY(tell_operations(with));
    tn_rtl_resources resources;
    TN_TRY(tn_rtl_resources_count(&with->engine, r->device, &resources, with->error));
    tn_rtl_tell_resources(with->answer, &resources, false);
    TN_TRY(draw_values(with));
    TN_TRY(put_inputs(with, &with->first));
    TN_TRY(put_inputs(with, &with->last));
    TN_TRY(tn_folder_make(r->folder, with->error));
    TN_TRY(write_values(with, "operands", true, with->values));
    TN_TRY(tn_rtl_reference_run(&with->layer.design, with->of->program->index_size, with->values, &with->last,
                                with->error));
    TN_TRY(tn_rtl_files_write(&with->engine, &with->first, &with->last, 1, r->folder, with->error));
    if (r->simulate) {
        tn_rtl_simulation simulation;
        TN_TRY(simulate(r, &with->engine, with->arena, with->answer, &simulation, with->error));
        TN_TRY(compare(with, &simulation));
    }
    return r->synthesise ? synthesise(r, with->arena, with->answer, with->error) : TN_OK;
}

/* A linear layer alone has layouts of its own, searched for it. */
static bool is_linear(const tn_rtl_request *request) {
    for (uint32_t l = 0; request->layer && l < request->step->layers; l++)
        if (strcmp(request->step->layer[l].name, request->layer) == 0)
            return request->step->layer[l].family == TN_LAYER_LINEAR;
    return false;
}

tn_status tn_rtl_generate(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                          tn_error *error) {
    TN_TRY(tn_rtl_check_buildable(request->step, request->build, is_linear(request), error));
    if (!is_linear(request)) return rtl_generate_step(request, arena, answer, error);
    generator with = {.request = request, .arena = arena, .error = error, .answer = answer};
    *answer = (tn_rtl_answer){
        .layer = request->layer, .folder = request->folder, .relative_error = NAN, .ok = true};
    return run(&with);
}
