/* Files of a generated step, and its simulation against the reference. */
#include "rtl/step_run.h"

#include "base/file.h"
#include "base/random.h"
#include "model/graph.h"
#include "rtl/files.h"
#include "rtl/map.h"
#include "text/arrays.h"
#include "train/initial.h"

#include <math.h>
#include <string.h>

/* Examples of a generated step, and what of each the hardware reads. */

/* ---- examples ---- */

static uint64_t draw(uint64_t *state, uint64_t below) {
    return below ? tn_splitmix_next(state) % below : 0;
}

static uint64_t vocabulary_of(const tn_model *model) {
    for (uint32_t l = 0; l < model->layers; l++)
        if (model->layer[l].kind->family == TN_LAYER_EMBEDDING) return model->layer[l].rows;
    return 1;
}

static uint64_t outputs_of(const tn_rtl_step_run *run, bool of_example) {
    for (uint32_t h = 0; h < run->program.heads; h++)
        if (run->program.head[h].of_example == of_example)
            return run->request->model->layer[run->program.head[h].layer].width;
    return 0;
}

static tn_status draw_example(tn_rtl_step_run *run, tn_example *target, uint64_t *state) {
    uint32_t tokens = (uint32_t)run->request->model->keys.sequence, *token;
    int32_t *slot;
    uint64_t labels = outputs_of(run, false), classes = outputs_of(run, true);
    TN_TRY(TN_NEW(run->arena, tokens, &token, run->error));
    TN_TRY(TN_NEW(run->arena, tokens, &slot, run->error));
    for (uint32_t i = 0; i < tokens; i++) {
        token[i] = (uint32_t)draw(state, vocabulary_of(run->request->model));
        slot[i] = labels == 0 || i == 0 ? -1 : (int32_t)draw(state, labels);
    }
    *target = (tn_example){.tokens = tokens,
                           .token = token,
                           .slot = slot,
                           .intent = classes ? (int32_t)draw(state, classes) : -1};
    return TN_OK;
}

static int32_t label_of(const tn_example *example, const tn_rtl_head *head, uint64_t row) {
    if (head->of_example) return example->intent;
    return row < example->tokens && example->slot ? example->slot[row] : -1;
}

static tn_status fill_sample(tn_rtl_step_run *run, const tn_example *example, tn_rtl_sample *target) {
    const tn_rtl_design *design = &run->program.design;
    uint64_t *word;
    uint32_t *label;
    double *share;
    TN_TRY(TN_NEW(run->arena, design->sample_words, &word, run->error));
    TN_TRY(TN_NEW(run->arena, design->sample_labels, &label, run->error));
    TN_TRY(TN_NEW(run->arena, design->sample_labels, &share, run->error));
    for (uint32_t i = 0; i < design->sample_words; i++) {
        const tn_rtl_slot *slot = &run->program.slot[i];
        uint64_t token = slot->value < example->tokens ? example->token[slot->value] : 0;
        word[i] = slot->kind == TN_RTL_SLOT_TOKENS  ? example->tokens
                  : slot->kind == TN_RTL_SLOT_FIXED ? slot->value
                                                    : token / slot->below % slot->radix;
    }
    for (uint32_t h = 0; h < run->program.heads; h++) {
        const tn_rtl_head *head = &run->program.head[h];
        const char *name = run->request->model->layer[head->layer].name;
        double weight = tn_train_settings_weight_of(run->request->settings, name), labels = 0;
        for (uint64_t row = 0; row < head->rows; row++) labels += label_of(example, head, row) >= 0;
        bool mean = head->of_example || run->request->settings->token_loss == TN_TOKEN_MEAN;
        for (uint64_t row = 0; row < head->rows; row++) {
            int32_t index = label_of(example, head, row);
            label[head->first_label + row] = index >= 0 ? (uint32_t)index : 0;
            share[head->first_label + row] =
                index >= 0 ? (double)(float)(mean ? weight / labels : weight) : 0;
        }
    }
    *target = (tn_rtl_sample){word, label, share};
    return TN_OK;
}

tn_status tn_rtl_run_samples(tn_rtl_step_run *run) {
    uint64_t state = run->request->seed;
    TN_TRY(TN_NEW(run->arena, run->runs, &run->example, run->error));
    TN_TRY(TN_NEW(run->arena, run->runs, &run->sample, run->error));
    for (uint32_t i = 0; i < run->runs; i++) {
        if (run->request->example)
            run->example[i] = run->request->example[i];
        else
            TN_TRY(draw_example(run, &run->example[i], &state));
        TN_TRY(fill_sample(run, &run->example[i], &run->sample[i]));
    }
    return TN_OK;
}

/* Values of a generated step's arrays before and behind it: parameters and operands, the in-order reference, training. */

/* Elements of an array, and the array whose elements a view has. */
static uint32_t rtl_run_storage(const tn_rtl_step_run *run, uint32_t array) {
    uint32_t view_of = run->program.design.array[array].view_of;
    return view_of ? view_of - 1 : array;
}

/* Elements of an array, and the array whose elements a view has. */
static uint64_t rtl_run_elements(const tn_rtl_array *array) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    return elements;
}

/* ---- values ---- */

/* [design.arrays]: room for all elements; views share their storage's. */
static tn_status rtl_run_new_values(tn_rtl_step_run *run, double ***values) {
    const tn_rtl_design *design = &run->program.design;
    TN_TRY(TN_NEW(run->arena, design->arrays, values, run->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) {
            (*values)[a] = (*values)[design->array[a].view_of - 1];
            continue;
        }
        TN_TRY(tn_arena_alloc(run->arena, rtl_run_elements(&design->array[a]), sizeof ***values,
                              &(*values)[a], run->error));
    }
    return TN_OK;
}

/* What an operation reads before any writes it is an operand of the program. */
static tn_status find_written(tn_rtl_step_run *run) {
    const tn_rtl_design *design = &run->program.design;
    TN_TRY(TN_NEW(run->arena, design->arrays, &run->written, run->error));
    TN_TRY(TN_NEW(run->arena, design->arrays, &run->operand, run->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *o = &design->operation[i];
        uint32_t reads[TN_RTL_READS], count = tn_rtl_reads(o, reads);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t a = rtl_run_storage(run, reads[k]);
            if (!run->written[a]) run->operand[a] = true;
        }
        if (tn_rtl_writes(o)) run->written[rtl_run_storage(run, o->result)] = true;
    }
    return TN_OK;
}

static void round_all(double *values, uint64_t elements) {
    for (uint64_t i = 0; i < elements; i++) values[i] = (double)(float)values[i];
}

/* The k-th parameter's values to both trainers, and from the first to the step's k-th array of a parameter. */
static void start_parameter(tn_rtl_step_run *run, size_t k) {
    const tn_step *step = run->request->step;
    const tn_train_parameter *wide = tn_trainer_parameter(run->trainer[1], k),
                             *single = tn_trainer_parameter(run->trainer[0], k);
    double *values = wide->values;
    size_t seen = 0;
    if (run->request->initial) run->request->initial(run->request->user, wide->name, wide->elements, values);
    round_all(values, wide->elements);
    tn_trainer_kernels(run->trainer[0])->from_double(values, single->values, wide->elements);
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (step->array[a].role != TN_ARRAY_PARAMETER || seen++ != k) continue;
        uint32_t array = run->program.array_of[a];
        if (array != TN_RTL_NONE) memcpy(run->begin[array], values, wide->elements * sizeof *values);
    }
}

static tn_status start_training(tn_rtl_step_run *run) {
    const tn_rtl_request *r = run->request;
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT32, &run->trainer[0], run->error));
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT64, &run->trainer[1], run->error));
    TN_TRY(tn_initialise(run->trainer[1], r->settings, run->error));
    for (size_t i = 0; i < tn_trainer_parameters(run->trainer[1]); i++) start_parameter(run, i);
    return TN_OK;
}

static void draw_operands(tn_rtl_step_run *run) {
    const tn_rtl_design *design = &run->program.design;
    uint64_t state = run->request->seed;
    for (uint32_t a = 0; a < design->arrays; a++)
        for (uint64_t i = 0; run->operand[a] && i < rtl_run_elements(&design->array[a]); i++)
            run->begin[a][i] = (double)((float)(tn_splitmix_next(&state) % (1 << 24)) / (1 << 23) - 1);
}

static tn_status put_operands(tn_rtl_step_run *run, tn_rtl_image *image) {
    const tn_rtl_design *design = &run->program.design;
    TN_TRY(tn_rtl_image_make(design, run->arena, image, run->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *single;
        if (design->array[a].view_of || !run->operand[a]) continue;
        TN_TRY(TN_NEW(run->arena, elements, &single, run->error));
        for (uint64_t i = 0; i < elements; i++) single[i] = (float)run->begin[a][i];
        tn_rtl_image_put(design, &design->array[a], single, image);
    }
    return TN_OK;
}

tn_status tn_rtl_run_start(tn_rtl_step_run *run) {
    const tn_rtl_design *design = &run->program.design;
    uint64_t scalars = TN_ROW_SCALARS * design->scalar_rows;
    TN_TRY(find_written(run));
    TN_TRY(rtl_run_new_values(run, &run->begin));
    TN_TRY(rtl_run_new_values(run, &run->values));
    TN_TRY(rtl_run_new_values(run, &run->exact));
    TN_TRY(TN_NEW(run->arena, scalars, &run->scalars, run->error));
    TN_TRY(TN_NEW(run->arena, scalars, &run->exact_scalars, run->error));
    TN_TRY(TN_NEW(run->arena, scalars, &run->no_scalars, run->error));
    if (run->layer != UINT32_MAX || tn_model_is_inference(run->request->model)) draw_operands(run);
    if (run->layer == UINT32_MAX) TN_TRY(start_training(run));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        size_t bytes = rtl_run_elements(&design->array[a]) * sizeof **run->begin;
        memcpy(run->values[a], run->begin[a], bytes);
        memcpy(run->exact[a], run->begin[a], bytes);
    }
    TN_TRY(put_operands(run, &run->first));
    return put_operands(run, &run->last);
}

/* ---- what is expected ---- */

/* Sum over the losses' rows of share times loss. */
static double rtl_run_loss(const tn_rtl_step_run *step_run, uint32_t run, const double *scalars) {
    double sum = 0;
    for (uint32_t h = 0; h < step_run->program.heads; h++) {
        const tn_rtl_head *head = &step_run->program.head[h];
        for (uint64_t row = 0; row < head->rows; row++)
            if (step_run->sample[run].share[head->first_label + row] != 0)
                sum += step_run->sample[run].share[head->first_label + row] *
                       scalars[TN_ROW_SCALARS * (head->first_row + row) + 2];
    }
    return sum;
}

static tn_status train(tn_rtl_step_run *step_run, uint32_t run, double *loss, int which) {
    tn_step_result result;
    TN_TRY(tn_trainer_step(step_run->trainer[which], &step_run->example[run], 1, false,
                           step_run->request->rate, &result, step_run->error));
    *loss = result.loss;
    return TN_OK;
}

/* Whether an array's elements are where they were put, or another's by now. */
static tn_status find_intact(tn_rtl_step_run *run) {
    const tn_rtl_design *design = &run->program.design;
    TN_TRY(TN_NEW(run->arena, design->arrays, &run->intact, run->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *found;
        if (design->array[a].view_of) continue;
        TN_TRY(TN_NEW(run->arena, elements, &found, run->error));
        tn_rtl_image_get(design, &design->array[a], &run->last, found);
        run->intact[a] = true;
        for (uint64_t i = 0; i < elements; i++) {
            const float made = (float)run->values[a][i];
            run->intact[a] = run->intact[a] && memcmp(&found[i], &made, sizeof made) == 0;
        }
    }
    return TN_OK;
}

tn_status tn_rtl_run_expect(tn_rtl_step_run *step_run) {
    tn_rtl_answer *answer = step_run->answer;
    if (step_run->layer == UINT32_MAX && !tn_model_is_inference(step_run->request->model)) {
        answer->losses = step_run->runs;
        TN_TRY(TN_NEW(step_run->arena, step_run->runs, &answer->loss, step_run->error));
    }
    for (uint32_t run = 0; run < step_run->runs; run++) {
        TN_TRY(tn_rtl_reference_walk(&step_run->program.design, step_run->program.index_size,
                                     &tn_hardware_arithmetic, &step_run->sample[run], step_run->values,
                                     step_run->scalars, &step_run->last, step_run->error));
        TN_TRY(tn_rtl_reference_walk(&step_run->program.design, step_run->program.index_size,
                                     &tn_float64_arithmetic, &step_run->sample[run], step_run->exact,
                                     step_run->exact_scalars, NULL, step_run->error));
        if (answer->losses == 0) continue;
        answer->loss[run].hardware = rtl_run_loss(step_run, run, step_run->scalars);
        TN_TRY(train(step_run, run, &answer->loss[run].float32, 0));
        TN_TRY(train(step_run, run, &answer->loss[run].float64, 1));
    }
    return find_intact(step_run);
}

/* ---- files ---- */

/* Whether nothing reads what the last write left. */
static bool is_answer(const tn_step *step, uint32_t array) {
    for (uint32_t i = step->operations; i-- > 0;) {
        if (step->operation[i].writes[0] == array) return true;
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            if (step->operation[i].reads[k] == array) return false;
    }
    return false;
}

/* Arrays of the step under their names: what the program begins with; or at its end parameters and gradients, those that no
 * later array has taken the place of. */
static tn_status write_arrays(tn_rtl_step_run *run, const char *part, bool operands, double *const *values) {
    const tn_step *step = run->request->step;
    const char *folder, *path;
    TN_TRY(tn_arena_format(run->arena, &folder, run->error, "%s/%s", run->request->folder, part));
    TN_TRY(tn_folder_make(folder, run->error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        uint32_t array = run->program.array_of[a];
        if (array == TN_RTL_NONE) continue;
        bool parameter = step->array[a].role == TN_ARRAY_PARAMETER;
        bool given = tn_model_is_inference(run->request->model) && is_answer(step, a);
        bool wanted = operands ? parameter || (run->layer != UINT32_MAX && !run->written[array])
                               : parameter || run->layer != UINT32_MAX || given ||
                                     step->array[a].role == TN_ARRAY_GRADIENT;
        if (!wanted || (!operands && !run->intact[array])) continue;
        const tn_rtl_array *this_array = &run->program.design.array[array];
        uint64_t shape[TN_BANK_LAYOUT_AXES];
        memcpy(shape, this_array->layout.dims, sizeof shape);
        const tn_array_out out = {.name = this_array->name,
                                  .axes = this_array->layout.axes,
                                  .shape = shape,
                                  .values = values[array],
                                  .single = true};
        TN_TRY(tn_arena_format(run->arena, &path, run->error, "%s/%s.npy", folder, this_array->name));
        TN_TRY(tn_npy_write(path, &out, run->error));
    }
    return TN_OK;
}

static tn_status write_map(tn_rtl_step_run *run, const char *name,
                           void (*put)(const tn_rtl_step_run *, tn_buffer *)) {
    tn_buffer text = {0};
    const char *path;
    put(run, &text);
    tn_status status = text.status;
    if (status != TN_OK) tn_fail(run->error, status, "no memory for %s", name);
    if (status == TN_OK)
        status = tn_arena_format(run->arena, &path, run->error, "%s/%s", run->request->folder, name);
    if (status == TN_OK) status = tn_file_write(path, text.data, text.length, run->error);
    tn_buffer_free(&text);
    return status;
}

tn_status tn_rtl_run_write(tn_rtl_step_run *run) {
    const char *folder = run->request->folder;
    TN_TRY(tn_folder_make(folder, run->error));
    TN_TRY(write_arrays(run, "operands", true, run->begin));
    if (run->request->shell) TN_TRY(write_arrays(run, "expected", false, run->values));
    TN_TRY(tn_rtl_files_write(&run->engine, &run->first, &run->last, run->runs, folder, run->error));
    if (run->engine.circuits == 0) return TN_OK;
    TN_TRY(write_map(run, "map.json", tn_rtl_map_json));
    TN_TRY(write_map(run, "map.h", tn_rtl_map_header));
    return tn_rtl_vector_files_write(&run->engine, &run->program, run->sample, run->runs, run->no_scalars,
                                     run->scalars, folder, run->error);
}

/* ---- the simulation against it ---- */

static bool differs(double found, double expected) {
    float a = (float)found, b = (float)expected;
    return memcmp(&a, &b, sizeof a) != 0;
}

/* |found - exact| / |exact| over all that operations write and is still there: of a whole step with updates over its
 * parameters. */
static double error_of(const tn_rtl_step_run *run, double *const *found) {
    const tn_rtl_design *design = &run->program.design;
    double difference = 0, norm = 0;
    for (uint32_t a = 0; a < run->request->step->arrays; a++) {
        uint32_t array = run->program.array_of[a];
        bool parameters = run->layer == UINT32_MAX && run->request->update;
        if (array == TN_RTL_NONE || !run->written[array] || !run->intact[array] ||
            (parameters && run->request->step->array[a].role != TN_ARRAY_PARAMETER))
            continue;
        for (uint64_t i = 0; i < rtl_run_elements(&design->array[array]); i++) {
            double off = found[array][i] - run->exact[array][i];
            difference += off * off;
            norm += run->exact[array][i] * run->exact[array][i];
        }
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

static tn_status read_back(tn_rtl_step_run *run, const tn_rtl_simulation *simulation, double **found) {
    const tn_rtl_design *design = &run->program.design;
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *single;
        TN_TRY(TN_NEW(run->arena, elements, &single, run->error));
        tn_rtl_image_get(design, &design->array[a], &simulation->memories, single);
        for (uint64_t i = 0; i < elements; i++) found[a][i] = (double)single[i];
    }
    return TN_OK;
}

tn_status tn_rtl_run_compare(tn_rtl_step_run *run, const tn_rtl_simulation *simulation) {
    const tn_rtl_design *design = &run->program.design;
    tn_rtl_answer *answer = run->answer;
    double **found, *scalars;
    uint64_t count = run->engine.circuits ? TN_ROW_SCALARS * design->scalar_rows : 0;
    TN_TRY(rtl_run_new_values(run, &found));
    TN_TRY(TN_NEW(run->arena, count, &scalars, run->error));
    TN_TRY(read_back(run, simulation, found));
    if (count > 0)
        TN_TRY(tn_rtl_vector_files_read(&run->engine, run->request->folder, run->arena, scalars, run->error));
    answer->words = tn_rtl_image_elements(design);
    answer->wrong_words = tn_rtl_image_differ(design, &simulation->memories, &run->last);
    for (uint64_t i = 0; i < count; i++) answer->wrong_words += differs(scalars[i], run->scalars[i]);
    answer->words += count;
    if (answer->losses) answer->loss[run->runs - 1].hardware = rtl_run_loss(run, run->runs - 1, scalars);
    answer->relative_error = error_of(run, found);
    answer->cycles_simulated = simulation->total;
    answer->ok = answer->wrong_words == 0;
    for (uint32_t i = 0, line = 0; i < design->operations; i++) {
        if (i > 0 && run->program.of_operation[i] != run->program.of_operation[i - 1]) line++;
        answer->operation[line].cycles_simulated += simulation->cycles[i];
        answer->operation[line].is_simulated = true;
        answer->ok = answer->ok && simulation->cycles[i] == run->engine.step[i].cycles;
    }
    return write_arrays(run, "results", false, found);
}
