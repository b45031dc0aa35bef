#include "rtl/generate.h"

#include "base/checked.h"
#include "base/file.h"
#include "device/device_data.h"
#include "kernel/vector.h"
#include "price/obstacle.h"
#include "rtl/compile.h"
#include "rtl/files.h"
#include "rtl/layer.h"
#include "rtl/reference.h"
#include "rtl/request.h"
#include "rtl/resources.h"
#include "rtl/shell.h"
#include "rtl/step_run.h"
#include "run/trial.h"
#include "step/fusion.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the program ---- */

static tn_status make_program(tn_rtl_step_run *run) {
    const tn_rtl_request *r = run->request;
    tn_rtl_step_options options = {.workload = run->laying.workload,
                                   .plan = run->laying.plan,
                                   .priced = &run->handover,
                                   .rows = r->build->rows,
                                   .columns = r->build->columns,
                                   .terms = r->build->reduction,
                                   .systolic = r->build->array == TN_ARRAY_SYSTOLIC,
                                   .vector = r->build->vector,
                                   .style = (tn_memory_style)r->build->activation_memory,
                                   .lutram_bits_most = r->device->memory.lutram_bits_most,
                                   .rate = r->rate,
                                   .epsilon = r->settings->layer_norm_epsilon,
                                   .layer = run->layer};
    for (int kind = 0; kind < TN_DRAW; kind++) {
        const tn_operator_row *row;
        TN_TRY(tn_device_operator(r->device, &tn_fp32, (tn_operator)kind, &row, run->error));
        options.latencies.cycles[kind] = row->stages;
    }
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        options.lanes[kind] =
            tn_workload_vector(run->laying.workload, r->build, (tn_operation_kind)kind).lanes;
    options.update = r->update;
    run->answer->multiply_cycles = options.latencies.cycles[TN_MULTIPLY];
    run->answer->add_cycles = options.latencies.cycles[TN_ADDER];
    TN_TRY(tn_rtl_program_make(r->model, r->step, &options, run->arena, &run->program, run->error));
    return tn_rtl_compile(&run->program.design, run->program.index_size, run->arena, &run->engine,
                          run->error);
}

/* ---- the price ---- */

static tn_status hand_over(tn_rtl_step_run *run) {
    tn_rtl_laying *laying = &run->laying;
    if (run->layer != UINT32_MAX) return TN_OK;
    TN_TRY(tn_price_explain(laying->workload, &laying->build, run->arena, &run->priced, run->error));
    return tn_handover_make(laying->workload, &laying->build, &run->priced, run->arena, &run->handover,
                            run->error);
}

/* ---- the whole ---- */

/* A line for each operation of the step, whatever it was made of. */
static tn_status generate_step_tell_operations(tn_rtl_step_run *run) {
    tn_rtl_answer *answer = run->answer;
    const tn_rtl_design *design = &run->program.design;
    const tn_step *step = run->request->step;
    TN_TRY(tn_rtl_tell_memories(answer, &run->engine, run->request->device, run->arena, run->error));
    answer->cycles_predicted = run->engine.cycles;
    TN_TRY(TN_NEW(run->arena, design->operations, &answer->operation, run->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        uint32_t owner = run->program.of_operation[i];
        if (i == 0 || owner != run->program.of_operation[i - 1]) {
            tn_rtl_line *line = &answer->operation[answer->operations++];
            TN_TRY(tn_step_array_name(step, step->operation[owner].writes[0], run->arena, &line->name,
                                      run->error));
            line->kind = tn_operation_rows[step->operation[owner].kind].kernel;
        }
        answer->operation[answer->operations - 1].cycles_predicted += run->engine.step[i].cycles;
    }
    return TN_OK;
}

/* The bus around the engine. */
static void add_shell(const tn_device_control *control, tn_rtl_resources *used) {
    used->lut += control->shell_lut - tn_least(control->shell_lut, control->shell_lutram);
    used->lutram += control->shell_lutram;
    used->ff += control->shell_ff;
}

/* The engine, and beside it the vector unit, as the price counts it with generated operators where the device has them. */
static tn_status tell_resources(tn_rtl_step_run *run, tn_rtl_resources *count) {
    const tn_rtl_request *r = run->request;
    uint64_t lanes[TN_OPERATION_KINDS] = {0};
    tn_operator_set operators;
    tn_device device = *r->device;
    device.operator_set = TN_OPERATORS_GENERATED;
    tn_rtl_resources used;
    TN_TRY(tn_rtl_resources_count(&run->engine, r->device, &used, run->error));
    TN_TRY(tn_operator_set_load(&device, &tn_fp32, &operators, run->error));
    for (uint32_t i = 0; i < run->engine.circuits; i++)
        lanes[run->engine.circuit[i].kind] = run->engine.circuit[i].lanes;
    tn_resources unit = tn_vector_unit_resources(r->device, lanes, &operators);
    used.lut += unit.lut;
    used.ff += unit.ff;
    used.dsp += unit.dsp;
    if (r->shell) add_shell(&r->device->control, &used);
    tn_rtl_tell_resources(run->answer, &used, false);
    *count = used;
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
    TN_TRY(tn_rtl_synthesise(request->folder, request->shell, arena, &synthesis, error));
    tn_rtl_tell_resources(answer, &synthesis.used, true);
    answer->seconds += synthesis.seconds;
    return TN_OK;
}

/* ---- a step ---- */

static tn_status generate_step_find_layer(tn_rtl_step_run *run) {
    const tn_rtl_request *r = run->request;
    run->layer = UINT32_MAX;
    for (uint32_t l = 0; r->layer && l < r->step->layers; l++)
        if (strcmp(r->step->layer[l].name, r->layer) == 0) run->layer = l;
    if (r->layer && run->layer == UINT32_MAX) {
        const char *first = "";
        for (uint32_t l = r->step->layers; l-- > 0;)
            if (r->step->layer[l].family == TN_LAYER_LINEAR) first = r->step->layer[l].name;
        return tn_fail(run->error, TN_INPUT,
                       "--layer %s: the model has no such layer; its first linear one is %s", r->layer,
                       first);
    }
    return TN_OK;
}

static tn_status generate_step_run(tn_rtl_step_run *run) {
    const tn_rtl_request *r = run->request;
    tn_rtl_resources used;
    TN_TRY(generate_step_find_layer(run));
    TN_TRY(hand_over(run));
    TN_TRY(make_program(run));
    if (run->program.design.operations == 0)
        return tn_fail(run->error, TN_INPUT, "--layer %s has no operations of its own", r->layer);
    TN_TRY(generate_step_tell_operations(run));
    TN_TRY(tell_resources(run, &used));
    TN_TRY(tn_rtl_run_samples(run));
    TN_TRY(tn_rtl_run_start(run));
    TN_TRY(tn_rtl_run_expect(run));
    TN_TRY(tn_rtl_run_write(run));
    if (r->shell) TN_TRY(tn_rtl_shell_write(run, &used));
    if (r->simulate) {
        tn_rtl_simulation simulation;
        TN_TRY(simulate(r, &run->engine, run->arena, run->answer, &simulation, run->error));
        TN_TRY(tn_rtl_run_compare(run, &simulation));
    }
    return r->synthesise ? synthesise(r, run->arena, run->answer, run->error) : TN_OK;
}

/* Without request->layer the whole step on a drawn or given example a step; with it that layer's operations on drawn
 * operands. */
static tn_status rtl_generate_step(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                                   tn_error *error) {
    tn_rtl_request own = *request;
    tn_rtl_step_run run = {.request = &own,
                           .arena = arena,
                           .error = error,
                           .answer = answer,
                           .runs = request->steps ? request->steps : 1};
    *answer = (tn_rtl_answer){.layer = request->layer ? request->layer : request->step->name,
                              .folder = request->folder,
                              .relative_error = NAN,
                              .ok = true};
    tn_status status = tn_rtl_lay(request, arena, &run.laying, error);
    if (status == TN_OK) {
        own.step = run.laying.workload->step;
        status = generate_step_run(&run);
    }
    for (int i = 0; i < 2; i++)
        if (run.trainer[i]) tn_trainer_free(run.trainer[i]);
    return status;
}

typedef struct {
    const tn_rtl_request *request;
    tn_arena *arena;
    tn_error *error;
    const tn_step_layer *step_layer;
    tn_rtl_layer layer;
    tn_rtl_engine engine;
    tn_trial trial;
    float **values;           /* [arrays] */
    tn_rtl_image first, last; /* what the memories hold before, and behind the program */
    tn_rtl_answer *answer;
} generator;

static tn_status find_layer(generator *generation) {
    const tn_step *step = generation->request->step;
    for (uint32_t l = 0; l < step->layers; l++)
        if (strcmp(step->layer[l].name, generation->request->layer) == 0)
            generation->step_layer = &step->layer[l];
    if (!generation->step_layer) {
        const char *first = "";
        for (uint32_t l = step->layers; l-- > 0;)
            if (step->layer[l].family == TN_LAYER_LINEAR) first = step->layer[l].name;
        return tn_fail(generation->error, TN_INPUT,
                       "--layer %s: the model has no such layer; its first linear one is %s",
                       generation->request->layer, first);
    }
    if (generation->step_layer->family != TN_LAYER_LINEAR)
        return tn_fail(generation->error, TN_INPUT,
                       "--layer %s is of kind %s; hardware is generated for linear layers",
                       generation->step_layer->name, generation->step_layer->kind);
    return TN_OK;
}

static tn_status read_options(const generator *generation, tn_rtl_layer_options *options) {
    const tn_rtl_request *r = generation->request;
    const tn_operator_row *multiply, *add;
    tn_rtl_laying laying;
    TN_TRY(tn_rtl_lay(r, generation->arena, &laying, generation->error));
    TN_TRY(tn_device_operator(r->device, &tn_fp32, TN_MULTIPLY, &multiply, generation->error));
    TN_TRY(tn_device_operator(r->device, &tn_fp32, TN_ADDER, &add, generation->error));
    *options = (tn_rtl_layer_options){.rows = r->build->rows,
                                      .columns = r->build->columns,
                                      .terms = r->build->reduction,
                                      .systolic = r->build->array == TN_ARRAY_SYSTOLIC,
                                      .vector = r->build->vector,
                                      .multiply_cycles = multiply->stages,
                                      .add_cycles = add->stages,
                                      .style = (tn_memory_style)r->build->activation_memory,
                                      .lutram_bits_most = r->device->memory.lutram_bits_most,
                                      .update = r->update,
                                      .rate = r->rate};
    options->layouts = laying.plan->laid->layer[generation->step_layer - r->step->layer];
    generation->answer->multiply_cycles = multiply->stages;
    generation->answer->add_cycles = add->stages;
    return TN_OK;
}

/* ---- values ---- */

static uint64_t elements_of(const tn_rtl_array *array) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    return elements;
}

static tn_status draw_values(generator *generation) {
    const tn_rtl_design *design = &generation->layer.design;
    TN_TRY(tn_trial_draw(generation->step_layer->weight, generation->step_layer->tokens,
                         generation->request->seed, generation->arena, &generation->trial,
                         generation->error));
    TN_TRY(TN_NEW(generation->arena, design->arrays, &generation->values, generation->error));
    for (uint32_t t = 0; t < design->arrays; t++) {
        uint64_t elements = elements_of(&design->array[t]);
        TN_TRY(tn_arena_alloc(generation->arena, elements, sizeof **generation->values,
                              &generation->values[t], generation->error));
        const double *given = NULL;
        if (t == generation->layer.x) given = generation->trial.input[0];
        if (t == generation->layer.dy) given = generation->trial.input[generation->trial.cores + 1];
        for (uint32_t k = 0; k < generation->layer.cores; k++)
            if (t == generation->layer.core[k]) given = generation->trial.input[k + 1];
        for (uint64_t i = 0; given && i < elements; i++) generation->values[t][i] = (float)given[i];
    }
    return TN_OK;
}

static bool is_input(const generator *generation, uint32_t t) {
    bool input = t == generation->layer.x || t == generation->layer.dy;
    for (uint32_t k = 0; k < generation->layer.cores; k++) input = input || t == generation->layer.core[k];
    return input;
}

static tn_status put_inputs(generator *generation, tn_rtl_image *image) {
    const tn_rtl_design *design = &generation->layer.design;
    TN_TRY(tn_rtl_image_make(design, generation->arena, image, generation->error));
    for (uint32_t t = 0; t < design->arrays; t++)
        if (is_input(generation, t))
            tn_rtl_image_put(design, &design->array[t], generation->values[t], image);
    return TN_OK;
}

/* ---- files of values ---- */

static tn_status write_array(generator *generation, const char *part, uint32_t t, const float *values) {
    const tn_rtl_array *array = &generation->layer.design.array[t];
    uint64_t elements = elements_of(array);
    const char *path;
    double *wide;
    TN_TRY(tn_arena_format(generation->arena, &path, generation->error, "%s/%s/%s.npy",
                           generation->request->folder, part, array->name));
    TN_TRY(TN_NEW(generation->arena, elements, &wide, generation->error));
    for (uint64_t i = 0; i < elements; i++) wide[i] = (double)values[i];
    uint64_t shape[TN_BANK_LAYOUT_AXES];
    memcpy(shape, array->layout.dims, sizeof shape);
    const tn_array_out out = {
        .name = array->name, .axes = array->layout.axes, .shape = shape, .values = wide, .single = true};
    return tn_npy_write(path, &out, generation->error);
}

static bool is_named(const generator *generation, uint32_t t) {
    bool named = t == generation->layer.x || t == generation->layer.y || t == generation->layer.dx ||
                 t == generation->layer.dy;
    for (uint32_t k = 0; k < generation->layer.cores; k++)
        named = named || t == generation->layer.core[k] || t == generation->layer.core_gradient[k];
    return named;
}

static tn_status write_values(generator *generation, const char *part, bool inputs_only,
                              float *const *values) {
    const char *folder;
    TN_TRY(tn_arena_format(generation->arena, &folder, generation->error, "%s/%s",
                           generation->request->folder, part));
    TN_TRY(tn_folder_make(folder, generation->error));
    for (uint32_t t = 0; t < generation->layer.design.arrays; t++)
        if (inputs_only ? is_input(generation, t) : is_named(generation, t))
            TN_TRY(write_array(generation, part, t, values[t]));
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

static double worst_error(const generator *generation, float *const *found) {
    const tn_reference *reference = &generation->trial.reference;
    const tn_rtl_layer *layer = &generation->layer;
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

static tn_status compare(generator *generation, const tn_rtl_simulation *simulation) {
    const tn_rtl_design *design = &generation->layer.design;
    tn_rtl_answer *answer = generation->answer;
    float **found;
    TN_TRY(TN_NEW(generation->arena, design->arrays, &found, generation->error));
    for (uint32_t t = 0; t < design->arrays; t++) {
        uint64_t elements = elements_of(&design->array[t]);
        TN_TRY(tn_arena_alloc(generation->arena, elements, sizeof **found, &found[t], generation->error));
        tn_rtl_image_get(design, &design->array[t], &simulation->memories, found[t]);
    }
    answer->words = tn_rtl_image_elements(design);
    answer->wrong_words = tn_rtl_image_differ(design, &simulation->memories, &generation->last);
    answer->relative_error = worst_error(generation, found);
    answer->cycles_simulated = simulation->total;
    answer->ok = answer->wrong_words == 0;
    for (uint32_t i = 0; i < answer->operations; i++) {
        answer->operation[i].cycles_simulated = simulation->cycles[i];
        answer->operation[i].is_simulated = true;
        answer->ok = answer->ok && simulation->cycles[i] == answer->operation[i].cycles_predicted;
    }
    return write_values(generation, "results", false, found);
}

/* ---- the whole ---- */

static tn_status tell_operations(generator *generation) {
    tn_rtl_answer *answer = generation->answer;
    answer->operations = generation->layer.design.operations;
    TN_TRY(tn_rtl_tell_memories(answer, &generation->engine, generation->request->device, generation->arena,
                                generation->error));
    answer->cycles_predicted = generation->engine.cycles;
    TN_TRY(TN_NEW(generation->arena, answer->operations, &answer->operation, generation->error));
    for (uint32_t i = 0; i < answer->operations; i++)
        answer->operation[i] = (tn_rtl_line){.name = generation->layer.design.operation[i].name,
                                             .kind = tn_phase_names[generation->layer.phase[i]],
                                             .cycles_predicted = generation->engine.step[i].cycles};
    return TN_OK;
}

static tn_status run(generator *generation) {
    tn_rtl_layer_options options;
    const tn_rtl_request *r = generation->request;
    TN_TRY(find_layer(generation));
    TN_TRY(read_options(generation, &options));
    TN_TRY(tn_rtl_layer_make(generation->step_layer->program,
                             generation->step_layer->weight->format == TN_DENSE, &options, generation->arena,
                             &generation->layer, generation->error));
    TN_TRY(tn_rtl_compile(&generation->layer.design, generation->step_layer->program->index_size,
                          generation->arena, &generation->engine, generation->error));
    TN_TRY(tell_operations(generation));
    tn_rtl_resources resources;
    TN_TRY(tn_rtl_resources_count(&generation->engine, r->device, &resources, generation->error));
    tn_rtl_tell_resources(generation->answer, &resources, false);
    TN_TRY(draw_values(generation));
    TN_TRY(put_inputs(generation, &generation->first));
    TN_TRY(put_inputs(generation, &generation->last));
    TN_TRY(tn_folder_make(r->folder, generation->error));
    TN_TRY(write_values(generation, "operands", true, generation->values));
    TN_TRY(tn_rtl_reference_run(&generation->layer.design, generation->step_layer->program->index_size,
                                generation->values, &generation->last, generation->error));
    TN_TRY(tn_rtl_files_write(&generation->engine, &generation->first, &generation->last, 1, r->folder,
                              generation->error));
    if (r->simulate) {
        tn_rtl_simulation simulation;
        TN_TRY(simulate(r, &generation->engine, generation->arena, generation->answer, &simulation,
                        generation->error));
        TN_TRY(compare(generation, &simulation));
    }
    return r->synthesise ? synthesise(r, generation->arena, generation->answer, generation->error) : TN_OK;
}

/* UINT32_MAX: none, or there is no such layer, which is told later. */
static uint32_t layer_of(const tn_rtl_request *request) {
    for (uint32_t l = 0; request->layer && l < request->step->layers; l++)
        if (strcmp(request->step->layer[l].name, request->layer) == 0) return l;
    return UINT32_MAX;
}

/* What has no template is named before anything is laid. */
static tn_status check(const tn_rtl_request *request, uint32_t layer, tn_arena *arena, tn_error *error) {
    const tn_build *build = request->build;
    tn_step fused = *request->step;
    if (layer == UINT32_MAX && build->fusion != TN_FUSION_NONE)
        TN_TRY(tn_step_fuse(request->step, build->fusion == TN_FUSION_WRITE_BACK, arena, &fused, error));
    return tn_obstacle_check(&fused, build, layer, arena, error);
}

tn_status tn_rtl_generate(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                          tn_error *error) {
    const uint32_t layer = layer_of(request);
    if (request->shell) TN_TRY(tn_rtl_shell_check(request, error));
    TN_TRY(check(request, layer, arena, error));
    /* A linear layer alone has layouts of its own, searched for it. */
    if (layer == UINT32_MAX || request->step->layer[layer].family != TN_LAYER_LINEAR)
        return rtl_generate_step(request, arena, answer, error);
    generator generation = {.request = request, .arena = arena, .error = error, .answer = answer};
    *answer = (tn_rtl_answer){
        .layer = request->layer, .folder = request->folder, .relative_error = NAN, .ok = true};
    return run(&generation);
}
