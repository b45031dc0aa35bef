#include "learn/accuracy_study.h"

#include "base/clock.h"
#include "base/file.h"
#include "learn/accuracy_session.h"
#include "text/csv.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_status find_axes(tn_study_session *s, tn_error *error) {
    s->study->combinations = 1;
    if (s->space->choices.is_vast)
        return tn_fail(error, TN_LIMIT, "space %s has too many designs to train; tie some choices",
                       s->space->name);
    for (size_t i = 0; i < s->space->choices.count; i++) {
        if (!tn_accuracy_depends_on(&s->space->choices.axis[i])) continue;
        s->axis[s->axes++] = i;
        s->study->combinations *= s->space->choices.axis[i].count;
    }
    if (s->axes > 0) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "space %s varies nothing that accuracy depends on: formats, foldings, ranks",
                   s->space->name);
}

/* Shares of the most frequent class and label of training among those of a part; of text the loss, where every byte has the
 * probability that training gives it, those that it lacks as if they were there once. */
static void score_constant(const tn_dataset *data, const tn_split *part, const uint64_t *count, int32_t label,
                           int32_t class_number, tn_scores *scores) {
    double words = 0, right = 0, classes = 0, loss = 0, all = 0;
    for (uint32_t i = 0; i < data->labels; i++) all += (double)count[i] + 1;
    for (size_t i = 0; i < part->count; i++) {
        const tn_example *example = &part->example[i];
        classes += example->intent == class_number;
        for (uint32_t k = 0; k < example->tokens; k++) {
            if (!example->slot || example->slot[k] == TN_NO_LABEL) continue;
            words++;
            if (data->is_text) loss -= log(((double)count[example->slot[k]] + 1) / all);
            right += example->slot[k] == label;
        }
    }
    *scores = (tn_scores){.loss = data->is_text ? loss / words : NAN,
                          .intent_accuracy = data->has_classes ? classes / (double)part->count : NAN,
                          .slot_accuracy = data->has_labels ? right / words : NAN,
                          .slot_f1 = data->has_labels && !data->is_text ? 0 : NAN};
}

/* The first design that is trained alike: those that differ in techniques of inference alone share their training. */
static uint64_t trained_design(const tn_study_session *s, uint64_t id) {
    for (size_t k = 0; k < s->axes; k++)
        if (tn_accuracy_is_of_inference(&s->space->choices.axis[s->axis[k]]))
            id -= tn_choices_digit(&s->space->choices, id, s->axis[k]) * s->space->choices.stride[s->axis[k]];
    return id;
}

typedef struct {
    tn_study_session *session;
    tn_evaluator *evaluator;
    tn_arena arena; /* of one training */
    uint64_t told;  /* steps of it */
    pthread_t thread;
} worker;

/* Steps of all trainings together. */
static void tell(void *user, uint64_t step, uint64_t steps, double loss, double rate) {
    worker *w = user;
    tn_study_session *s = w->session;
    const tn_training_watch *watch = &s->options->watch;
    pthread_mutex_lock(&s->lock);
    s->steps_told += step - w->told;
    w->told = step;
    double planned = (double)(s->options->effort / s->options->settings_of_runs.epochs) * (double)steps;
    uint64_t begun = s->runs * steps;
    if (watch->report)
        watch->report(watch->user, s->steps_told, planned < 1e15 ? (uint64_t)planned : begun, loss, rate);
    pthread_mutex_unlock(&s->lock);
}

/* Scores the weights in the run's folder by the model for inference, in place of the last epoch's. */
static tn_status infer(worker *w, const tn_training *trained, const tn_model *model,
                       tn_training_result *result, tn_error *error) {
    tn_training again = {
        .model = model, .data = trained->data, .settings = trained->settings, .real = trained->real};
    tn_training_result scored;
    if (result->diverged || result->epochs == 0) return TN_OK;
    TN_TRY(tn_arena_format(&w->arena, &again.weights, error, "%s/weights.npz", trained->folder));
    TN_TRY(tn_training_run(&again, &w->arena, &scored, error));
    result->epoch[result->epochs - 1].dev = scored.dev;
    result->epoch[result->epochs - 1].test = scored.test;
    return TN_OK;
}

static tn_status note_result(worker *w, const tn_training_result *result, tn_study_run *run,
                             tn_error *error) {
    const tn_epoch *last = result->epochs ? &result->epoch[result->epochs - 1] : NULL;
    tn_buffer curve = {0};
    run->epochs = w->session->options->settings_of_runs.epochs;
    run->parameters = result->parameters;
    run->macs = result->macs_per_step.predicted;
    run->collapsed = result->diverged || !last || last->collapsed;
    run->dev = run->collapsed ? tn_study_no_scores : last->dev;
    run->test = run->collapsed ? tn_study_no_scores : last->test;
    for (size_t i = 0; i < result->epochs; i++)
        tn_buffer_format(&curve, "%s%.6g", i ? " " : "", tn_study_accuracy(&result->epoch[i].dev));
    tn_status status = curve.status;
    if (status == TN_OK)
        status =
            tn_arena_copy_text(&w->arena, curve.data ? curve.data : "", curve.length, &run->curve, error);
    tn_buffer_free(&curve);
    return status;
}

static tn_status train(worker *w, tn_study_run *run, tn_error *error) {
    tn_study_session *s = w->session;
    tn_evaluation evaluation;
    tn_dataset data;
    tn_training_result result;
    tn_training training = {.real = TN_FLOAT32,
                            .settings = s->options->settings_of_runs,
                            .resume = true,
                            .watch = {.report = tell, .user = w}};
    double began = tn_clock_seconds();
    TN_TRY(tn_evaluate_design(w->evaluator, run->id, &evaluation, error));
    const tn_model *model = tn_evaluator_model(w->evaluator);
    bool inference = tn_model_is_inference(model);
    tn_model *whole = NULL;
    if (inference) TN_TRY(tn_model_before_inference(model, &w->arena, &whole, error));
    training.model = inference ? whole : model;
    training.settings.seed = run->seed;
    TN_TRY(tn_dataset_load(s->data, tn_model_sequence(training.model), &w->arena, &data, error));
    training.data = &data;
    TN_TRY(tn_arena_format(&w->arena, &training.folder, error, "%s/candidates/%" PRIu64 "%s-seed%" PRIu64,
                           s->options->folder, inference ? trained_design(s, run->id) : run->id,
                           inference ? "-whole" : "", run->seed));
    w->told = 0;
    TN_TRY(tn_training_run(&training, &w->arena, &result, error));
    if (inference) TN_TRY(infer(w, &training, model, &result, error));
    run->seconds = tn_clock_seconds() - began;
    return note_result(w, &result, run, error);
}

static tn_status find_constant(tn_study_session *s, tn_error *error) {
    tn_dataset data;
    tn_study *study = s->study;
    uint64_t *count, most = 0;
    int32_t label = TN_NO_LABEL, class_number = TN_NO_LABEL;
    TN_TRY(tn_dataset_load(s->data, tn_model_sequence(s->space->model), s->arena, &data, error));
    study->sentences = data.train.count;
    TN_TRY(TN_NEW(s->arena, (size_t)data.labels + data.classes + 1, &count, error));
    for (size_t i = 0; i < data.train.count; i++) {
        const tn_example *example = &data.train.example[i];
        if (example->intent >= 0) count[data.labels + (size_t)example->intent]++;
        for (uint32_t k = 0; example->slot && k < example->tokens; k++)
            if (example->slot[k] >= 0) count[example->slot[k]]++;
    }
    for (uint32_t i = 0; i < data.labels; i++)
        if (count[i] > most) most = count[label = (int32_t)i];
    most = 0;
    for (uint32_t i = 0; i < data.classes; i++)
        if (count[data.labels + i] > most) most = count[data.labels + (size_t)(class_number = (int32_t)i)];
    study->is_text = data.is_text;
    score_constant(&data, &data.dev, count, label, class_number, &study->constant_dev);
    score_constant(&data, &data.test, count, label, class_number, &study->constant_test);
    return TN_OK;
}

static tn_status work(worker *w, tn_error *error) {
    tn_study_session *s = w->session;
    for (;;) {
        size_t place;
        bool found;
        tn_study_run run;
        pthread_mutex_lock(&s->lock);
        tn_status status = tn_study_next(s, &w->arena, w->evaluator, &place, &found, error);
        if (status == TN_OK && found) run = s->run[place];
        pthread_mutex_unlock(&s->lock);
        if (status != TN_OK || !found) return status;
        tn_arena_reset(&w->arena);
        status = train(w, &run, error);
        pthread_mutex_lock(&s->lock);
        if (status == TN_OK) {
            status = tn_arena_copy_text(s->arena, run.curve, strlen(run.curve), &run.curve, error);
            place = tn_study_place_of_run(s, run.id, run.seed);
            s->run[place] = run;
            if (status == TN_OK) status = tn_study_append_run(s, &run, error);
            if (status == TN_OK) status = tn_study_write_table(s, w->evaluator, s->arena, error);
        }
        pthread_mutex_unlock(&s->lock);
        tn_arena_reset(&w->arena);
        if (status != TN_OK) return status;
    }
}

static void *work_thread(void *user) {
    worker *w = user;
    tn_study_session *s = w->session;
    tn_error error = {0};
    tn_status status = work(w, &error);
    pthread_mutex_lock(&s->lock);
    if (status != TN_OK && s->status == TN_OK) {
        s->status = status;
        s->error = error;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static tn_status work_side_by_side(tn_study_session *s, tn_error *error) {
    enum { THREADS_MOST = 256 };
    size_t threads = s->options->threads ? s->options->threads : 1, made = 0;
    worker *w;
    tn_status status = TN_OK;
    if (threads > THREADS_MOST) threads = THREADS_MOST;
    TN_TRY(TN_NEW(s->arena, threads, &w, error));
    for (size_t i = 0; i < threads && status == TN_OK; i++) {
        w[i].session = s;
        status = tn_evaluator_new(s->space, &w[i].evaluator, error);
    }
    /* The first works in this thread. */
    for (size_t i = 1; i < threads && status == TN_OK; i++, made++)
        if (pthread_create(&w[i].thread, NULL, work_thread, &w[i]) != 0) break;
    if (status == TN_OK) work_thread(&w[0]);
    for (size_t i = 1; i <= made; i++) pthread_join(w[i].thread, NULL);
    if (status == TN_OK && s->status != TN_OK) {
        status = s->status;
        *error = s->error;
    }
    if (status == TN_OK) status = tn_study_read_runs(s, error);
    if (status == TN_OK) status = tn_study_write_table(s, w[0].evaluator, s->arena, error);
    for (size_t i = 0; i < threads; i++) {
        tn_evaluator_free(w[i].evaluator);
        tn_arena_free(&w[i].arena);
    }
    return status;
}

/* The dense model's, by the table of the end; NAN without a row that counts. */
static double dense_of(const tn_study_session *s) {
    const char *path;
    tn_accuracy_table table;
    bool any = false;
    for (size_t i = 0; i < s->study->count; i++) any |= !isnan(s->study->row[i].learned);
    if (!any || tn_arena_format(s->arena, &path, NULL, "%s/accuracy.csv", s->options->folder) != TN_OK ||
        tn_accuracy_table_read(path, s->arena, &table, NULL) != TN_OK)
        return NAN;
    return tn_accuracy_table_dense(&table).mean;
}

tn_status tn_accuracy_study(const tn_space *space, const char *data, const tn_study_options *options,
                            tn_arena *arena, tn_study *study, tn_error *error) {
    tn_study_session s = {.space = space,
                          .options = options,
                          .data = data,
                          .study = study,
                          .arena = arena,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .began = tn_clock_seconds()};
    *study = (tn_study){.probability = NAN};
    TN_TRY(find_axes(&s, error));
    TN_TRY(find_constant(&s, error));
    TN_TRY(tn_study_plan(&s, error));
    TN_TRY(tn_study_read_runs(&s, error));
    tn_status status = work_side_by_side(&s, error);
    tn_arena_free(&s.front.arena);
    study->dense = status == TN_OK ? dense_of(&s) : NAN;
    return status;
}
