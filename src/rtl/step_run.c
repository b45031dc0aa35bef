/* Files of a generated step, and its simulation against the reference. */
#include "rtl/step_run.h"

#include "base/file.h"
#include "base/random.h"
#include "model/graph.h"
#include "rtl/files.h"
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

static uint64_t outputs_of(const tn_rtl_step_run *with, bool of_example) {
    for (uint32_t h = 0; h < with->program.heads; h++)
        if (with->program.head[h].of_example == of_example)
            return with->request->model->layer[with->program.head[h].layer].width;
    return 0;
}

static tn_status draw_example(tn_rtl_step_run *with, tn_example *to, uint64_t *state) {
    uint32_t tokens = (uint32_t)with->request->model->keys.sequence, *token;
    int32_t *slot;
    uint64_t labels = outputs_of(with, false), classes = outputs_of(with, true);
    TN_TRY(TN_NEW(with->arena, tokens, &token, with->error));
    TN_TRY(TN_NEW(with->arena, tokens, &slot, with->error));
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

static tn_status fill_sample(tn_rtl_step_run *with, const tn_example *example, tn_rtl_sample *to) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t *word;
    uint32_t *label;
    double *share;
    TN_TRY(TN_NEW(with->arena, design->sample_words, &word, with->error));
    TN_TRY(TN_NEW(with->arena, design->sample_labels, &label, with->error));
    TN_TRY(TN_NEW(with->arena, design->sample_labels, &share, with->error));
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

tn_status tn_rtl_run_samples(tn_rtl_step_run *with) {
    uint64_t state = with->request->seed;
    TN_TRY(TN_NEW(with->arena, with->runs, &with->example, with->error));
    TN_TRY(TN_NEW(with->arena, with->runs, &with->sample, with->error));
    for (uint32_t i = 0; i < with->runs; i++) {
        if (with->request->example)
            with->example[i] = with->request->example[i];
        else
            TN_TRY(draw_example(with, &with->example[i], &state));
        TN_TRY(fill_sample(with, &with->example[i], &with->sample[i]));
    }
    return TN_OK;
}

/* Values of a generated step's arrays before and behind it: parameters and operands, the in-order reference, training. */

/* Elements of an array, and the array whose elements a view has. */
static uint32_t rtl_run_storage(const tn_rtl_step_run *with, uint32_t array) {
    uint32_t view_of = with->program.design.array[array].view_of;
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
static tn_status rtl_run_new_values(tn_rtl_step_run *with, double ***values) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(TN_NEW(with->arena, design->arrays, values, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) {
            (*values)[a] = (*values)[design->array[a].view_of - 1];
            continue;
        }
        TN_TRY(tn_arena_alloc(with->arena, rtl_run_elements(&design->array[a]), sizeof ***values,
                              &(*values)[a], with->error));
    }
    return TN_OK;
}

/* What an operation reads before any writes it is an operand of the program. */
static tn_status find_written(tn_rtl_step_run *with) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(TN_NEW(with->arena, design->arrays, &with->written, with->error));
    TN_TRY(TN_NEW(with->arena, design->arrays, &with->operand, with->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *o = &design->operation[i];
        uint32_t reads[TN_RTL_READS], count = tn_rtl_reads(o, reads);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t a = rtl_run_storage(with, reads[k]);
            if (!with->written[a]) with->operand[a] = true;
        }
        if (tn_rtl_writes(o)) with->written[rtl_run_storage(with, o->result)] = true;
    }
    return TN_OK;
}

static void round_all(double *values, uint64_t elements) {
    for (uint64_t i = 0; i < elements; i++) values[i] = (double)(float)values[i];
}

/* The k-th parameter's values to both trainers, and from the first to the step's k-th array of a parameter. */
static void start_parameter(tn_rtl_step_run *with, size_t k) {
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

static tn_status start_training(tn_rtl_step_run *with) {
    const tn_rtl_request *r = with->request;
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT32, &with->trainer[0], with->error));
    TN_TRY(tn_trainer_new(r->model, r->settings, TN_FLOAT64, &with->trainer[1], with->error));
    TN_TRY(tn_initialise(with->trainer[1], r->settings, with->error));
    for (size_t i = 0; i < tn_trainer_parameters(with->trainer[1]); i++) start_parameter(with, i);
    return TN_OK;
}

static void draw_operands(tn_rtl_step_run *with) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t state = with->request->seed;
    for (uint32_t a = 0; a < design->arrays; a++)
        for (uint64_t i = 0; with->operand[a] && i < rtl_run_elements(&design->array[a]); i++)
            with->begin[a][i] = (double)((float)(tn_splitmix_next(&state) % (1 << 24)) / (1 << 23) - 1);
}

static tn_status put_operands(tn_rtl_step_run *with, tn_rtl_image *image) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(tn_rtl_image_make(design, with->arena, image, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *single;
        if (design->array[a].view_of || !with->operand[a]) continue;
        TN_TRY(TN_NEW(with->arena, elements, &single, with->error));
        for (uint64_t i = 0; i < elements; i++) single[i] = (float)with->begin[a][i];
        tn_rtl_image_put(design, &design->array[a], single, image);
    }
    return TN_OK;
}

tn_status tn_rtl_run_start(tn_rtl_step_run *with) {
    const tn_rtl_design *design = &with->program.design;
    uint64_t scalars = TN_ROW_SCALARS * design->scalar_rows;
    TN_TRY(find_written(with));
    TN_TRY(rtl_run_new_values(with, &with->begin));
    TN_TRY(rtl_run_new_values(with, &with->values));
    TN_TRY(rtl_run_new_values(with, &with->exact));
    TN_TRY(TN_NEW(with->arena, scalars, &with->scalars, with->error));
    TN_TRY(TN_NEW(with->arena, scalars, &with->exact_scalars, with->error));
    TN_TRY(TN_NEW(with->arena, scalars, &with->no_scalars, with->error));
    if (with->layer != UINT32_MAX || tn_model_is_inference(with->request->model)) draw_operands(with);
    if (with->layer == UINT32_MAX) TN_TRY(start_training(with));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        size_t bytes = rtl_run_elements(&design->array[a]) * sizeof **with->begin;
        memcpy(with->values[a], with->begin[a], bytes);
        memcpy(with->exact[a], with->begin[a], bytes);
    }
    TN_TRY(put_operands(with, &with->first));
    return put_operands(with, &with->last);
}

/* ---- what is expected ---- */

/* Sum over the losses' rows of share times loss. */
static double rtl_run_loss(const tn_rtl_step_run *with, uint32_t run, const double *scalars) {
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

static tn_status train(tn_rtl_step_run *with, uint32_t run, double *loss, int which) {
    tn_step_result result;
    TN_TRY(tn_trainer_step(with->trainer[which], &with->example[run], 1, false, with->request->rate, &result,
                           with->error));
    *loss = result.loss;
    return TN_OK;
}

/* Whether an array's elements are where they were put, or another's by now. */
static tn_status find_intact(tn_rtl_step_run *with) {
    const tn_rtl_design *design = &with->program.design;
    TN_TRY(TN_NEW(with->arena, design->arrays, &with->intact, with->error));
    for (uint32_t a = 0; a < design->arrays; a++) {
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *found;
        if (design->array[a].view_of) continue;
        TN_TRY(TN_NEW(with->arena, elements, &found, with->error));
        tn_rtl_image_get(design, &design->array[a], &with->last, found);
        with->intact[a] = true;
        for (uint64_t i = 0; i < elements; i++) {
            const float made = (float)with->values[a][i];
            with->intact[a] = with->intact[a] && memcmp(&found[i], &made, sizeof made) == 0;
        }
    }
    return TN_OK;
}

tn_status tn_rtl_run_expect(tn_rtl_step_run *with) {
    tn_rtl_answer *answer = with->answer;
    if (with->layer == UINT32_MAX && !tn_model_is_inference(with->request->model)) {
        answer->losses = with->runs;
        TN_TRY(TN_NEW(with->arena, with->runs, &answer->loss, with->error));
    }
    for (uint32_t run = 0; run < with->runs; run++) {
        TN_TRY(tn_rtl_reference_walk(&with->program.design, with->program.index_size, &tn_hardware_arithmetic,
                                     &with->sample[run], with->values, with->scalars, &with->last,
                                     with->error));
        TN_TRY(tn_rtl_reference_walk(&with->program.design, with->program.index_size, &tn_float64_arithmetic,
                                     &with->sample[run], with->exact, with->exact_scalars, NULL,
                                     with->error));
        if (answer->losses == 0) continue;
        answer->loss[run].hardware = rtl_run_loss(with, run, with->scalars);
        TN_TRY(train(with, run, &answer->loss[run].float32, 0));
        TN_TRY(train(with, run, &answer->loss[run].float64, 1));
    }
    return find_intact(with);
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
static tn_status write_arrays(tn_rtl_step_run *with, const char *part, bool operands, double *const *values) {
    const tn_step *step = with->request->step;
    const char *folder, *path;
    TN_TRY(tn_arena_format(with->arena, &folder, with->error, "%s/%s", with->request->folder, part));
    TN_TRY(tn_folder_make(folder, with->error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        uint32_t array = with->program.array_of[a];
        if (array == TN_RTL_NONE) continue;
        bool parameter = step->array[a].role == TN_ARRAY_PARAMETER;
        bool given = tn_model_is_inference(with->request->model) && is_answer(step, a);
        bool wanted = operands ? parameter || (with->layer != UINT32_MAX && !with->written[array])
                               : parameter || with->layer != UINT32_MAX || given ||
                                     step->array[a].role == TN_ARRAY_GRADIENT;
        if (!wanted || (!operands && !with->intact[array])) continue;
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

tn_status tn_rtl_run_write(tn_rtl_step_run *with) {
    const char *folder = with->request->folder;
    TN_TRY(tn_folder_make(folder, with->error));
    TN_TRY(write_arrays(with, "operands", true, with->begin));
    TN_TRY(tn_rtl_files_write(&with->engine, &with->first, &with->last, with->runs, folder, with->error));
    if (with->engine.circuits == 0) return TN_OK;
    return tn_rtl_vector_files_write(&with->engine, &with->program, with->sample, with->runs,
                                     with->no_scalars, with->scalars, folder, with->error);
}

/* ---- the simulation against it ---- */

static bool differs(double found, double expected) {
    float a = (float)found, b = (float)expected;
    return memcmp(&a, &b, sizeof a) != 0;
}

/* |found - exact| / |exact| over all that operations write and is still there: of a whole step with updates over its
 * parameters. */
static double error_of(const tn_rtl_step_run *with, double *const *found) {
    const tn_rtl_design *design = &with->program.design;
    double difference = 0, norm = 0;
    for (uint32_t a = 0; a < with->request->step->arrays; a++) {
        uint32_t array = with->program.array_of[a];
        bool parameters = with->layer == UINT32_MAX && with->request->update;
        if (array == TN_RTL_NONE || !with->written[array] || !with->intact[array] ||
            (parameters && with->request->step->array[a].role != TN_ARRAY_PARAMETER))
            continue;
        for (uint64_t i = 0; i < rtl_run_elements(&design->array[array]); i++) {
            double off = found[array][i] - with->exact[array][i];
            difference += off * off;
            norm += with->exact[array][i] * with->exact[array][i];
        }
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

static tn_status read_back(tn_rtl_step_run *with, const tn_rtl_simulation *simulation, double **found) {
    const tn_rtl_design *design = &with->program.design;
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (design->array[a].view_of) continue;
        uint64_t elements = rtl_run_elements(&design->array[a]);
        float *single;
        TN_TRY(TN_NEW(with->arena, elements, &single, with->error));
        tn_rtl_image_get(design, &design->array[a], &simulation->memories, single);
        for (uint64_t i = 0; i < elements; i++) found[a][i] = (double)single[i];
    }
    return TN_OK;
}

tn_status tn_rtl_run_compare(tn_rtl_step_run *with, const tn_rtl_simulation *simulation) {
    const tn_rtl_design *design = &with->program.design;
    tn_rtl_answer *answer = with->answer;
    double **found, *scalars;
    uint64_t count = with->engine.circuits ? TN_ROW_SCALARS * design->scalar_rows : 0;
    TN_TRY(rtl_run_new_values(with, &found));
    TN_TRY(TN_NEW(with->arena, count, &scalars, with->error));
    TN_TRY(read_back(with, simulation, found));
    if (count > 0)
        TN_TRY(tn_rtl_vector_files_read(&with->engine, with->request->folder, with->arena, scalars,
                                        with->error));
    answer->words = tn_rtl_image_elements(design);
    answer->wrong_words = tn_rtl_image_differ(design, &simulation->memories, &with->last);
    for (uint64_t i = 0; i < count; i++) answer->wrong_words += differs(scalars[i], with->scalars[i]);
    answer->words += count;
    if (answer->losses) answer->loss[with->runs - 1].hardware = rtl_run_loss(with, with->runs - 1, scalars);
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
