#include "rtl/generate_step.h"

#include "base/file.h"
#include "base/random.h"
#include "hardware/device_data.h"
#include "hardware/vector.h"
#include "model/graph.h"
#include "rtl/files.h"
#include "rtl/resources.h"
#include "rtl/vector_files.h"
#include "text/arrays.h"
#include "train/initial.h"

#include <math.h>
#include <string.h>

typedef struct {
    const tn_rtl_request *request;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_answer *answer;
    uint32_t layer; /* UINT32_MAX: all */
    tn_rtl_program program;
    tn_rtl_engine engine;
    uint32_t runs;
    tn_example *example;               /* [runs] */
    tn_rtl_sample *sample;             /* [runs] */
    bool *written;                     /* [design.arrays]: some operation writes it */
    double **begin, **values, **exact; /* [design.arrays]: before; in the hardware's arithmetic; in float64 */
    double *scalars, *exact_scalars, *no_scalars;
    tn_trainer *trainer[2]; /* float32, float64 */
} generator;

static uint32_t storage_of(const generator *with, uint32_t array) {
    uint32_t view_of = with->program.design.array[array].view_of;
    return view_of ? view_of - 1 : array;
}

static uint64_t elements_of(const tn_rtl_array *array) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    return elements;
}

/* ---- the program ---- */

static tn_status make_program(generator *with) {
    const tn_rtl_request *r = with->request;
    tn_workload *workload;
    tn_plan *plan;
    if (r->build->array != TN_ARRAY_LANES)
        return tn_fail(with->error, TN_INPUT,
                       "build.array is systolic, of which there are no templates; set it to lanes");
    TN_TRY(tn_rtl_lay(r, with->arena, &workload, &plan, with->error));
    tn_rtl_step_options options = {.workload = workload,
                                   .plan = plan,
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

/* ---- examples ---- */

static uint64_t draw(uint64_t *state, uint64_t below) {
    return below ? tn_splitmix_next(state) % below : 0;
}

static uint64_t vocabulary_of(const tn_model *model) {
    for (uint32_t l = 0; l < model->layers; l++)
        if (model->layer[l].kind->is_lookup) return model->layer[l].rows;
    return 1;
}

static uint64_t outputs_of(const generator *with, bool of_example) {
    for (uint32_t h = 0; h < with->program.heads; h++)
        if (with->program.head[h].of_example == of_example)
            return with->request->model->layer[with->program.head[h].layer].width;
    return 0;
}

static tn_status draw_example(generator *with, tn_example *to, uint64_t *state) {
    uint32_t tokens = (uint32_t)with->request->model->sequence, *token;
    int32_t *slot;
    uint64_t labels = outputs_of(with, false), classes = outputs_of(with, true);
    TN_TRY(tn_arena_alloc(with->arena, tokens, sizeof *token, &token, with->error));
    TN_TRY(tn_arena_alloc(with->arena, tokens, sizeof *slot, &slot, with->error));
    for (uint32_t i = 0; i < tokens; i++) {
        token[i] = (uint32_t)draw(state, vocabulary_of(with->request->model));
        slot[i] = labels == 0 || i == 0 ? -1 : (int32_t)draw(state, labels);
    }
    *to = (tn_example){.tokens = tokens,
                       .token = token,
                       .slot = slot,
                       .intent = classes ? (int32_t)draw(state, classes) : -1};
    return TN_OK;
}

static int32_t label_of(const tn_example *example, const tn_rtl_head *head, uint64_t row) {
    if (head->of_example) return example->intent;
    return row < example->tokens && example->slot ? example->slot[row] : -1;
}

static tn_status fill_sample(generator *with, const tn_example *example, tn_rtl_sample *to) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t *word;
    uint32_t *label;
    double *share;
    TN_TRY(tn_arena_alloc(with->arena, design->sample_words, sizeof *word, &word, with->error));
    TN_TRY(tn_arena_alloc(with->arena, design->sample_labels, sizeof *label, &label, with->error));
    TN_TRY(tn_arena_alloc(with->arena, design->sample_labels, sizeof *share, &share, with->error));
    for (uint32_t i = 0; i < design->sample_words; i++) {
        const tn_rtl_slot *slot = &with->program.slot[i];
        uint64_t token = slot->value < example->tokens ? example->token[slot->value] : 0;
        word[i] = slot->kind == TN_RTL_SLOT_TOKENS  ? example->tokens
                  : slot->kind == TN_RTL_SLOT_FIXED ? slot->value
                                                    : token / slot->below % slot->radix;
    }
    for (uint32_t h = 0; h < with->program.heads; h++) {
        const tn_rtl_head *head = &with->program.head[h];
        const char *name = with->request->model->layer[head->layer].name;
        double weight = tn_train_settings_weight_of(with->request->settings, name), labels = 0;
        for (uint64_t row = 0; row < head->rows; row++) labels += label_of(example, head, row) >= 0;
        bool mean = head->of_example || with->request->settings->token_loss == TN_TOKEN_MEAN;
        for (uint64_t row = 0; row < head->rows; row++) {
            int32_t at = label_of(example, head, row);
            label[head->first_label + row] = at >= 0 ? (uint32_t)at : 0;
            share[head->first_label + row] = at >= 0 ? (double)(float)(mean ? weight / labels : weight) : 0;
        }
    }
    *to = (tn_rtl_sample){word, label, share};
    return TN_OK;
}

static tn_status make_samples(generator *with) {
    uint64_t state = with->request->seed;
    TN_TRY(tn_arena_alloc(with->arena, with->runs, sizeof *with->example, &with->example, with->error));
    TN_TRY(tn_arena_alloc(with->arena, with->runs, sizeof *with->sample, &with->sample, with->error));
    for (uint32_t i = 0; i < with->runs; i++) {
        if (with->request->example)
            with->example[i] = with->request->example[i];
        else
            TN_TRY(draw_example(with, &with->example[i], &state));
        TN_TRY(fill_sample(with, &with->example[i], &with->sample[i]));
    }
    return TN_OK;
}

/* ---- values ---- */

static tn_status new_values(generator *with, double ***values) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(tn_arena_alloc(with->arena, design->arrays, sizeof **values, values, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) {
            (*values)[a] = (*values)[design->array[a].view_of - 1];
            continue;
        }
        TN_TRY(tn_arena_alloc(with->arena, elements_of(&design->array[a]), sizeof ***values, &(*values)[a],
                              with->error));
    }
    return TN_OK;
}

/* What an operation reads before any writes it is an operand of the program. */
static tn_status find_written(generator *with, bool **operand) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(tn_arena_alloc(with->arena, design->arrays, sizeof *with->written, &with->written, with->error));
    TN_TRY(tn_arena_alloc(with->arena, design->arrays, sizeof **operand, operand, with->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *o = &design->operation[i];
        const uint32_t reads[] = {o->left, o->right, o->extra};
        for (int k = 0; k < 3; k++) {
            if (o->pass ? !o->pass->reads[k] : k == 2) continue;
            uint32_t a = storage_of(with, reads[k]);
            if (!with->written[a]) (*operand)[a] = true;
        }
        if (!o->pass || o->pass->writes) with->written[storage_of(with, o->result)] = true;
    }
    return TN_OK;
}

static void round_all(double *values, uint64_t elements) {
    for (uint64_t i = 0; i < elements; i++) values[i] = (double)(float)values[i];
}

/* The k-th parameter's values to both trainers, and from the first to the step's k-th array of a parameter. */
static void start_parameter(generator *with, size_t k) {
    const tn_step *step = with->request->step;
    const tn_train_parameter *wide = tn_trainer_parameter(with->trainer[1], k),
                             *single = tn_trainer_parameter(with->trainer[0], k);
    double *values = wide->values;
    size_t seen = 0;
    if (with->request->initial)
        with->request->initial(with->request->user, wide->name, wide->elements, values);
    round_all(values, wide->elements);
    tn_trainer_kernels(with->trainer[0])->from_double(values, single->values, wide->elements);
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (step->array[a].role != TN_ARRAY_PARAMETER || seen++ != k) continue;
        uint32_t array = with->program.array_of[a];
        if (array != TN_RTL_NONE) memcpy(with->begin[array], values, wide->elements * sizeof *values);
    }
}

static tn_status start_training(generator *with) {
    const tn_rtl_request *r = with->request;
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT32, &with->trainer[0], with->error));
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT64, &with->trainer[1], with->error));
    TN_TRY(tn_initialise(with->trainer[1], r->settings, with->error));
    for (size_t i = 0; i < tn_trainer_parameters(with->trainer[1]); i++) start_parameter(with, i);
    return TN_OK;
}

static void draw_operands(generator *with, const bool *operand) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t state = with->request->seed;
    for (uint32_t a = 0; a < design->arrays; a++)
        for (uint64_t i = 0; operand[a] && i < elements_of(&design->array[a]); i++)
            with->begin[a][i] = (double)((float)draw(&state, 1 << 24) / (1 << 23) - 1);
    for (uint64_t i = 0; i < design->scalar_rows; i++) { /* statistics of a layer that has none of its own */
        with->no_scalars[TN_ROW_SCALARS * i] = 0;
    }
}

static tn_status start_values(generator *with) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t scalars = TN_ROW_SCALARS * design->scalar_rows;
    bool *operand;
    TN_TRY(find_written(with, &operand));
    TN_TRY(new_values(with, &with->begin));
    TN_TRY(new_values(with, &with->values));
    TN_TRY(new_values(with, &with->exact));
    TN_TRY(tn_arena_alloc(with->arena, scalars, sizeof *with->scalars, &with->scalars, with->error));
    TN_TRY(
        tn_arena_alloc(with->arena, scalars, sizeof *with->exact_scalars, &with->exact_scalars, with->error));
    TN_TRY(tn_arena_alloc(with->arena, scalars, sizeof *with->no_scalars, &with->no_scalars, with->error));
    if (with->layer == UINT32_MAX)
        TN_TRY(start_training(with));
    else
        draw_operands(with, operand);
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        size_t bytes = elements_of(&design->array[a]) * sizeof **with->begin;
        memcpy(with->values[a], with->begin[a], bytes);
        memcpy(with->exact[a], with->begin[a], bytes);
    }
    return TN_OK;
}

/* ---- what is expected ---- */

/* Sum over the losses' rows of share times loss. */
static double loss_of(const generator *with, uint32_t run, const double *scalars) {
    double sum = 0;
    for (uint32_t h = 0; h < with->program.heads; h++) {
        const tn_rtl_head *head = &with->program.head[h];
        for (uint64_t row = 0; row < head->rows; row++)
            if (with->sample[run].share[head->first_label + row] != 0)
                sum += with->sample[run].share[head->first_label + row] *
                       scalars[TN_ROW_SCALARS * (head->first_row + row) + 2];
    }
    return sum;
}

static tn_status train(generator *with, uint32_t run, double *loss, int which) {
    tn_step_result result;
    TN_TRY(tn_trainer_step(with->trainer[which], &with->example[run], 1, false, with->request->rate, &result,
                           with->error));
    *loss = result.loss;
    return TN_OK;
}

static tn_status expect(generator *with) {
    tn_rtl_answer *answer = with->answer;
    if (with->layer == UINT32_MAX) {
        answer->losses = with->runs;
        TN_TRY(tn_arena_alloc(with->arena, with->runs, sizeof *answer->loss, &answer->loss, with->error));
    }
    for (uint32_t run = 0; run < with->runs; run++) {
        TN_TRY(tn_rtl_reference_walk(&with->program.design, with->program.index_size, &tn_hardware_arithmetic,
                                     &with->sample[run], with->values, with->scalars, with->error));
        TN_TRY(tn_rtl_reference_walk(&with->program.design, with->program.index_size, &tn_float64_arithmetic,
                                     &with->sample[run], with->exact, with->exact_scalars, with->error));
        if (answer->losses == 0) continue;
        answer->loss[run].hardware = loss_of(with, run, with->scalars);
        TN_TRY(train(with, run, &answer->loss[run].float32, 0));
        TN_TRY(train(with, run, &answer->loss[run].float64, 1));
    }
    return TN_OK;
}

/* ---- files ---- */

static tn_status put_image(generator *with, double *const *values, tn_rtl_image *image) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(tn_rtl_image_make(design, with->arena, image, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        uint64_t elements = elements_of(&design->array[a]);
        float *single;
        TN_TRY(tn_arena_alloc(with->arena, elements, sizeof *single, &single, with->error));
        for (uint64_t i = 0; i < elements; i++) single[i] = (float)values[a][i];
        tn_rtl_image_put(design, &design->array[a], single, image);
    }
    return TN_OK;
}

/* Arrays of the step under their names: what the program begins with, or parameters and gradients at its end. */
static tn_status write_arrays(generator *with, const char *part, bool operands, double *const *values) {
    const tn_step *step = with->request->step;
    const char *folder, *path;
    TN_TRY(tn_arena_format(with->arena, &folder, with->error, "%s/%s", with->request->folder, part));
    TN_TRY(tn_folder_make(folder, with->error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        uint32_t array = with->program.array_of[a];
        if (array == TN_RTL_NONE) continue;
        bool parameter = step->array[a].role == TN_ARRAY_PARAMETER;
        bool wanted =
            operands ? parameter || (with->layer != UINT32_MAX && !with->written[array])
                     : parameter || with->layer != UINT32_MAX || step->array[a].role == TN_ARRAY_GRADIENT;
        if (!wanted) continue;
        const tn_rtl_array *of = &with->program.design.array[array];
        uint64_t shape[TN_BANK_LAYOUT_AXES];
        memcpy(shape, of->layout.dims, sizeof shape);
        const tn_array_out out = {.name = of->name,
                                  .axes = of->layout.axes,
                                  .shape = shape,
                                  .values = values[array],
                                  .single = true};
        TN_TRY(tn_arena_format(with->arena, &path, with->error, "%s/%s.npy", folder, of->name));
        TN_TRY(tn_npy_write(path, &out, with->error));
    }
    return TN_OK;
}

static tn_status write_files(generator *with) {
    const char *folder = with->request->folder;
    tn_rtl_image begin, end;
    TN_TRY(tn_folder_make(folder, with->error));
    TN_TRY(put_image(with, with->begin, &begin));
    TN_TRY(put_image(with, with->values, &end));
    TN_TRY(write_arrays(with, "operands", true, with->begin));
    TN_TRY(tn_rtl_files_write(&with->engine, &begin, &end, with->runs, folder, with->error));
    return tn_rtl_vector_files_write(&with->engine, &with->program, with->sample, with->runs,
                                     with->no_scalars, with->scalars, folder, with->error);
}

/* ---- the simulation against it ---- */

static bool differs(double found, double expected) {
    float a = (float)found, b = (float)expected;
    return memcmp(&a, &b, sizeof a) != 0;
}

/* |found - exact| / |exact| over all that operations write: of a whole step with updates over its parameters. */
static double error_of(const generator *with, double *const *found) {
    const tn_rtl_design *design = &with->program.design;
    double difference = 0, norm = 0;
    for (uint32_t a = 0; a < with->request->step->arrays; a++) {
        uint32_t array = with->program.array_of[a];
        bool parameters = with->layer == UINT32_MAX && with->request->update;
        if (array == TN_RTL_NONE || !with->written[array] ||
            (parameters && with->request->step->array[a].role != TN_ARRAY_PARAMETER))
            continue;
        for (uint64_t i = 0; i < elements_of(&design->array[array]); i++) {
            double off = found[array][i] - with->exact[array][i];
            difference += off * off;
            norm += with->exact[array][i] * with->exact[array][i];
        }
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

static tn_status read_back(generator *with, const tn_rtl_simulation *simulation, double **found) {
    const tn_rtl_design *design = &with->program.design;
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        uint64_t elements = elements_of(&design->array[a]);
        float *single;
        TN_TRY(tn_arena_alloc(with->arena, elements, sizeof *single, &single, with->error));
        tn_rtl_image_get(design, &design->array[a], &simulation->memories, single);
        for (uint64_t i = 0; i < elements; i++) found[a][i] = (double)single[i];
    }
    return TN_OK;
}

static tn_status compare(generator *with, const tn_rtl_simulation *simulation) {
    const tn_rtl_design *design = &with->program.design;
    tn_rtl_answer *answer = with->answer;
    double **found, *scalars;
    uint64_t count = TN_ROW_SCALARS * design->scalar_rows;
    TN_TRY(new_values(with, &found));
    TN_TRY(tn_arena_alloc(with->arena, count, sizeof *scalars, &scalars, with->error));
    TN_TRY(read_back(with, simulation, found));
    TN_TRY(tn_rtl_vector_files_read(&with->engine, with->request->folder, with->arena, scalars, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        uint64_t elements = elements_of(&design->array[a]);
        for (uint64_t i = 0; i < elements; i++)
            answer->wrong_words += differs(found[a][i], with->values[a][i]);
        answer->words += elements;
    }
    for (uint64_t i = 0; i < count; i++) answer->wrong_words += differs(scalars[i], with->scalars[i]);
    answer->words += count;
    if (answer->losses) answer->loss[with->runs - 1].hardware = loss_of(with, with->runs - 1, scalars);
    answer->relative_error = error_of(with, found);
    answer->cycles_simulated = simulation->total;
    answer->ok = answer->wrong_words == 0;
    for (uint32_t i = 0, line = 0; i < design->operations; i++) {
        if (i > 0 && with->program.of_operation[i] != with->program.of_operation[i - 1]) line++;
        answer->operation[line].cycles_simulated += simulation->cycles[i];
        answer->operation[line].is_simulated = true;
        answer->ok = answer->ok && simulation->cycles[i] == with->engine.step[i].cycles;
    }
    return write_arrays(with, "results", false, found);
}

/* ---- the whole ---- */

/* A line for each operation of the step, whatever it was made of. */
static tn_status tell_operations(generator *with) {
    tn_rtl_answer *answer = with->answer;
    const tn_rtl_design *design = &with->program.design;
    const tn_step *step = with->request->step;
    answer->memories = design->memories;
    answer->cycles_predicted = with->engine.cycles;
    TN_TRY(tn_arena_alloc(with->arena, design->operations, sizeof *answer->operation, &answer->operation,
                          with->error));
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

/* The engine, and beside it the vector unit's operators as the price counts them. */
static tn_status tell_resources(generator *with) {
    const tn_rtl_request *r = with->request;
    bool serves[TN_OPERATION_KINDS] = {false};
    tn_operator_set operators;
    tn_rtl_resources used;
    TN_TRY(tn_rtl_resources_count(&with->engine, r->device, &used, with->error));
    TN_TRY(tn_operator_set_load(r->device, &tn_fp32, &operators, with->error));
    for (uint32_t i = 0; i < with->engine.circuits; i++) serves[with->engine.circuit[i].kind] = true;
    tn_resources unit = tn_vector_unit_resources(r->device, serves, with->program.design.vector, &operators);
    used.lut += unit.lut;
    used.ff += unit.ff;
    used.dsp += unit.dsp;
    tn_rtl_tell_resources(with->answer, &used, false);
    return TN_OK;
}

static tn_status find_layer(generator *with) {
    const tn_rtl_request *r = with->request;
    with->layer = UINT32_MAX;
    for (uint32_t l = 0; r->layer && l < r->step->layers; l++)
        if (strcmp(r->step->layer[l].name, r->layer) == 0) with->layer = l;
    if (r->layer && with->layer == UINT32_MAX) {
        const char *first = "";
        for (uint32_t l = r->step->layers; l-- > 0;)
            if (strcmp(r->step->layer[l].kind, "linear") == 0) first = r->step->layer[l].name;
        return tn_fail(with->error, TN_INPUT,
                       "--layer %s: the model has no such layer; its first linear one is %s", r->layer,
                       first);
    }
    return TN_OK;
}

static tn_status run(generator *with) {
    const tn_rtl_request *r = with->request;
    TN_TRY(find_layer(with));
    TN_TRY(make_program(with));
    if (with->program.design.operations == 0)
        return tn_fail(with->error, TN_INPUT, "--layer %s has no operations of its own", r->layer);
    TN_TRY(tell_operations(with));
    TN_TRY(tell_resources(with));
    TN_TRY(make_samples(with));
    TN_TRY(start_values(with));
    TN_TRY(expect(with));
    TN_TRY(write_files(with));
    if (r->simulate) {
        tn_rtl_simulation simulation;
        TN_TRY(tn_rtl_simulate(&with->engine, r->folder, r->progress, with->arena, &simulation, with->error));
        with->answer->simulated = true;
        with->answer->floats = tn_rtl_simulates_circuits(&with->engine) ? "circuit" : "c";
        with->answer->seconds += simulation.seconds;
        TN_TRY(compare(with, &simulation));
    }
    if (!r->synthesise) return TN_OK;
    tn_rtl_synthesis synthesis;
    TN_TRY(tn_rtl_synthesise(r->folder, with->arena, &synthesis, with->error));
    tn_rtl_tell_resources(with->answer, &synthesis.used, true);
    with->answer->seconds += synthesis.seconds;
    return TN_OK;
}

tn_status tn_rtl_generate_step(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                               tn_error *error) {
    generator with = {.request = request,
                      .arena = arena,
                      .error = error,
                      .answer = answer,
                      .runs = request->steps ? request->steps : 1};
    *answer = (tn_rtl_answer){.layer = request->layer ? request->layer : request->step->name,
                              .folder = request->folder,
                              .relative_error = NAN,
                              .ok = true};
    tn_status status = run(&with);
    for (int i = 0; i < 2; i++)
        if (with.trainer[i]) tn_trainer_free(with.trainer[i]);
    return status;
}
