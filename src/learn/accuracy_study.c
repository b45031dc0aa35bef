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

enum { RUNS_MOST = 1 << 20 };

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

/* The first design of a combination. */
uint64_t tn_study_design_of(const tn_study_session *s, uint64_t combination) {
    uint64_t id = 0;
    for (size_t k = s->axes; k-- > 0;) {
        const tn_axis *axis = &s->space->choices.axis[s->axis[k]];
        id += combination % axis->count * s->space->choices.stride[s->axis[k]];
        combination /= axis->count;
    }
    return id;
}

/* The first design with the choices of this one that accuracy depends on. */
uint64_t tn_study_first_like(const tn_study_session *s, uint64_t id) {
    uint64_t first = 0;
    for (size_t k = 0; k < s->axes; k++)
        first += tn_choices_digit(&s->space->choices, id, s->axis[k]) * s->space->choices.stride[s->axis[k]];
    return first;
}

static double accuracy_of(const tn_scores *scores) {
    if (isnan(scores->intent_accuracy)) return scores->slot_accuracy;
    if (isnan(scores->slot_accuracy)) return scores->intent_accuracy;
    return (scores->intent_accuracy + scores->slot_accuracy) / 2;
}

/* ---- the runs that are done ---- */

static const char *const run_head[] = {"id",
                                       "seed",
                                       "epochs",
                                       "parameters",
                                       "macs_per_step",
                                       "seconds",
                                       "collapsed",
                                       "dev_loss",
                                       "dev_intent_accuracy",
                                       "dev_slot_accuracy",
                                       "dev_slot_f1",
                                       "test_loss",
                                       "test_intent_accuracy",
                                       "test_slot_accuracy",
                                       "test_slot_f1",
                                       "curve"};
enum { RUN_COLUMNS = sizeof run_head / sizeof *run_head };

static void put_scores(tn_buffer *out, const tn_scores *scores) {
    tn_csv_put_real(out, scores->loss);
    tn_csv_put_real(out, scores->intent_accuracy);
    tn_csv_put_real(out, scores->slot_accuracy);
    tn_csv_put_real(out, scores->slot_f1);
}

static tn_status runs_path(const tn_study_session *s, tn_arena *arena, const char **path, tn_error *error) {
    return tn_arena_format(arena, path, error, "%s/runs.csv", s->options->folder);
}

/* One write, so that lines of several processes do not mix. */
static tn_status append_run(tn_study_session *s, const tn_study_run *run, tn_error *error) {
    const char *path;
    tn_buffer out = {0};
    TN_TRY(runs_path(s, s->arena, &path, error));
    FILE *file = fopen(path, "a");
    if (!file) return tn_fail(error, TN_IO, "%s: cannot be written", path);
    if (ftell(file) == 0) {
        for (size_t i = 0; i < RUN_COLUMNS; i++) tn_csv_put(&out, run_head[i]);
        tn_csv_line(&out);
    }
    const uint64_t counts[] = {run->id, run->seed, run->epochs, run->parameters, run->macs};
    for (size_t i = 0; i < 5; i++) tn_csv_put_count(&out, counts[i]);
    tn_csv_put_real(&out, run->seconds);
    tn_csv_put_count(&out, run->collapsed);
    put_scores(&out, &run->dev);
    put_scores(&out, &run->test);
    tn_csv_put(&out, run->curve);
    tn_csv_line(&out);
    bool whole = out.status == TN_OK && fwrite(out.data, 1, out.length, file) == out.length;
    tn_buffer_free(&out);
    whole &= fclose(file) == 0;
    return whole ? TN_OK : tn_fail(error, TN_IO, "%s: cannot be written", path);
}

tn_status tn_study_add_run(tn_study_session *s, tn_study_run run, tn_error *error) {
    if (s->runs == s->room) {
        tn_study_run *more;
        size_t room = s->room ? 2 * s->room : 256;
        if (room > RUNS_MOST) return tn_fail(error, TN_LIMIT, "a study has at most %d runs", RUNS_MOST);
        TN_TRY(TN_NEW(s->arena, room, &more, error));
        if (s->runs) memcpy(more, s->run, s->runs * sizeof *more);
        s->run = more;
        s->room = room;
    }
    s->run[s->runs++] = run;
    return TN_OK;
}

size_t tn_study_place_of_run(const tn_study_session *s, uint64_t id, uint64_t seed) {
    size_t i = 0;
    while (i < s->runs && (s->run[i].id != id || s->run[i].seed != seed)) i++;
    return i;
}

static tn_status read_score(const tn_csv *csv, size_t row, size_t column, double *value, tn_error *error) {
    *value = NAN;
    if (strcmp(tn_csv_at(csv, row, column)->text, "nan") == 0) return TN_OK;
    return tn_csv_real(csv, row, column, 0, INFINITY, value, error);
}

/* Takes up those that the file has and we do not: of an earlier study, or of other shards. */
tn_status tn_study_read_runs(tn_study_session *s, tn_error *error) {
    const char *path;
    tn_csv csv;
    size_t column[RUN_COLUMNS];
    TN_TRY(runs_path(s, s->arena, &path, error));
    FILE *file = fopen(path, "r");
    if (!file) return TN_OK;
    fclose(file);
    TN_TRY(tn_csv_load(path, s->arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, run_head, RUN_COLUMNS, false, column, error));
    for (size_t i = 0; i < csv.rows; i++) {
        tn_study_run run = {0};
        uint64_t *const counts[] = {&run.id, &run.seed, &run.epochs, &run.parameters, &run.macs};
        double *const scores[] = {
            &run.dev.loss,  &run.dev.intent_accuracy,  &run.dev.slot_accuracy,  &run.dev.slot_f1,
            &run.test.loss, &run.test.intent_accuracy, &run.test.slot_accuracy, &run.test.slot_f1};
        uint64_t collapsed;
        for (size_t k = 0; k < 5; k++)
            TN_TRY(tn_csv_count(&csv, i, column[k], 0, UINT64_MAX, counts[k], error));
        TN_TRY(tn_csv_real(&csv, i, column[5], 0, INFINITY, &run.seconds, error));
        TN_TRY(tn_csv_count(&csv, i, column[6], 0, 1, &collapsed, error));
        run.collapsed = collapsed;
        for (size_t k = 0; k < 8; k++) TN_TRY(read_score(&csv, i, column[7 + k], scores[k], error));
        run.curve = tn_csv_at(&csv, i, column[15])->text;
        if (run.epochs != s->options->settings_of_runs.epochs || run.id >= s->space->choices.designs ||
            tn_study_first_like(s, run.id) != run.id)
            return tn_fail_at(
                error, TN_INPUT, tn_csv_at(&csv, i, column[0])->position,
                "is a tn_study_run of another space or of other epochs; give the study a folder of its own");
        size_t place = tn_study_place_of_run(s, run.id, run.seed);
        if (place == s->runs)
            TN_TRY(tn_study_add_run(s, run, error));
        else if (s->run[place].epochs == 0)
            s->run[place] = run;
    }
    return TN_OK;
}

/* ---- one training ---- */

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

static const tn_scores no_scores = {NAN, NAN, NAN, NAN};

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
    run->dev = run->collapsed ? no_scores : last->dev;
    run->test = run->collapsed ? no_scores : last->test;
    for (size_t i = 0; i < result->epochs; i++)
        tn_buffer_format(&curve, "%s%.6g", i ? " " : "", accuracy_of(&result->epoch[i].dev));
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

/* ---- the table ---- */

static void scale_scores(tn_scores *scores, double factor) {
    *scores = (tn_scores){scores->loss * factor, scores->intent_accuracy * factor,
                          scores->slot_accuracy * factor, scores->slot_f1 * factor};
}

static void add_scores(tn_scores *sum, const tn_scores *one) {
    sum->loss += one->loss;
    sum->intent_accuracy += one->intent_accuracy;
    sum->slot_accuracy += one->slot_accuracy;
    sum->slot_f1 += one->slot_f1;
}

static tn_status read_curve(const char *text, tn_arena *arena, tn_study_row *row, tn_error *error) {
    double *curve;
    size_t count = 1;
    for (const char *cursor = text; *cursor; cursor++) count += *cursor == ' ';
    TN_TRY(TN_NEW(arena, count, &curve, error));
    row->curve = curve;
    for (row->curve_epochs = 0; *text;) {
        char number[40];
        size_t length = strcspn(text, " ");
        if (length >= sizeof number) return TN_OK;
        memcpy(number, text, length);
        number[length] = '\0';
        if (tn_read_real(number, &curve[row->curve_epochs]) != TN_NUMBER_OK) return TN_OK;
        row->curve_epochs++;
        text += length + (text[length] == ' ');
    }
    return TN_OK;
}

/* The keys of `tenfold train` that make the candidate: those of the model, and its weights as they stand, ranks trimmed. */
static tn_status write_command(const tn_study_session *s, tn_evaluator *evaluator, uint64_t id,
                               tn_arena *arena, const char **command, tn_error *error) {
    tn_evaluation evaluation;
    tn_buffer out = {0}, value = {0};
    TN_TRY(tn_evaluate_design(evaluator, id, &evaluation, error));
    tn_model *model = (tn_model *)tn_evaluator_model(evaluator);
    tn_buffer_format(&out, "tenfold train %s", tn_space_of(s->space, id)->model_name);
    for (size_t i = 0; i < s->space->set_count; i++) tn_buffer_format(&out, " --set %s", s->space->set[i]);
    for (size_t i = 0; i < s->space->choices.count; i++) {
        const tn_axis *axis = &s->space->choices.axis[i];
        if (axis->kind != TN_AXIS_MODEL_KEY) continue;
        value.length = 0;
        tn_axis_value(axis, tn_choices_digit(&s->space->choices, id, i), &value);
        tn_buffer_format(&out, " --set '%s=%s'", axis->key, value.data ? value.data : "");
    }
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(model, i);
        const tn_weight *weight = &entry->weight;
        bool varied = false;
        for (size_t k = 0; k < s->space->choices.count; k++)
            varied |= tn_axis_is_of_weight(&s->space->choices.axis[k]) &&
                      tn_axis_varies(&s->space->choices.axis[k], i);
        if (!varied) continue;
        tn_buffer_format(&out, " --set weights.%s.format=%s --set weights.%s.flow=%s", entry->name,
                         tn_format_names[weight->format], entry->name, tn_flow_names[entry->flow]);
        for (int side = 0; side < 2; side++) {
            tn_buffer_format(&out, " --set weights.%s.%s=", entry->name, side ? "n" : "m");
            for (uint32_t k = 0; k < weight->d; k++)
                tn_buffer_format(&out, "%s%" PRIu64, k ? "x" : "", side ? weight->n[k] : weight->m[k]);
        }
        if (weight->rank_count) tn_buffer_format(&out, " --set weights.%s.rank=", entry->name);
        for (uint32_t k = 0; k < weight->rank_count; k++)
            tn_buffer_format(&out, "%s%" PRIu64, k ? "x" : "", weight->rank[k]);
    }
    tn_buffer_format(&out, " --epochs %" PRIu64 "%s%s", s->options->settings_of_runs.epochs,
                     s->options->settings && *s->options->settings ? " " : "",
                     s->options->settings ? s->options->settings : "");
    tn_status status = out.status != TN_OK ? out.status : value.status;
    if (status == TN_OK) status = tn_arena_copy_text(arena, out.data, out.length, command, error);
    tn_buffer_free(&out);
    tn_buffer_free(&value);
    return status;
}

/* Means over a candidate's seeds that did not collapse. */
static tn_status make_row(const tn_study_session *s, uint64_t id, tn_arena *arena, tn_study_row *row,
                          tn_error *error) {
    tn_buffer seeds = {0};
    double n = 0, sum = 0, squares = 0;
    *row = (tn_study_row){.id = id, .accuracy = NAN, .spread = NAN, .dev = no_scores, .test = no_scores};
    for (size_t i = 0; i < s->runs; i++) {
        const tn_study_run *run = &s->run[i];
        if (run->id != id || run->epochs == 0) continue;
        if (row->seeds++ == 0) TN_TRY(read_curve(run->curve, arena, row, error));
        row->parameters = run->parameters;
        row->epochs = run->epochs;
        row->seconds += run->seconds;
        row->collapsed += run->collapsed;
        tn_buffer_format(&seeds, "%s%" PRIu64, seeds.length ? " " : "", run->seed);
        if (run->collapsed) continue;
        if (n++ == 0) row->dev = row->test = (tn_scores){0};
        double accuracy = accuracy_of(&run->dev);
        sum += accuracy;
        squares += accuracy * accuracy;
        add_scores(&row->dev, &run->dev);
        add_scores(&row->test, &run->test);
    }
    if (n > 0) {
        row->accuracy = sum / n;
        scale_scores(&row->dev, 1 / n);
        scale_scores(&row->test, 1 / n);
    }
    if (n > 1) row->spread = sqrt(fmax(0, (squares - sum * sum / n) / (n - 1)));
    tn_status status = seeds.status;
    if (status == TN_OK) status = tn_arena_copy_text(arena, seeds.data, seeds.length, &row->seed_list, error);
    tn_buffer_free(&seeds);
    return status;
}

static int by_accuracy(const void *a, const void *b) {
    const tn_study_row *x = a, *y = b;
    double of_x = isnan(x->accuracy) ? -1 : x->accuracy, of_y = isnan(y->accuracy) ? -1 : y->accuracy;
    if (of_x != of_y) return of_x > of_y ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Rows of all candidates with a run that is done, in s->study, and the file of them. */
tn_status tn_study_write_table(tn_study_session *s, tn_evaluator *evaluator, tn_arena *arena,
                               tn_error *error) {
    tn_study *study = s->study;
    tn_buffer table = {0};
    const char *path;
    study->count = 0;
    study->epochs = 0;
    TN_TRY(TN_NEW(arena, s->runs + 1, &study->row, error));
    for (size_t i = 0; i < s->runs; i++) {
        size_t k = 0;
        if (s->run[i].epochs == 0) continue;
        study->epochs += s->run[i].epochs;
        while (k < study->count && study->row[k].id != s->run[i].id) k++;
        if (k < study->count) continue;
        TN_TRY(make_row(s, s->run[i].id, arena, &study->row[study->count], error));
        TN_TRY(write_command(s, evaluator, s->run[i].id, arena, &study->row[study->count].command, error));
        study->count++;
    }
    qsort(study->row, study->count, sizeof *study->row, by_accuracy);
    tn_study_csv(s->space, study, &table);
    tn_status status = tn_arena_format(arena, &path, error, "%s/accuracy.csv", s->options->folder);
    if (status == TN_OK) status = tn_file_write_buffer(path, &table, error);
    tn_buffer_free(&table);
    return status;
}

/* Shares of the most frequent class and label of training among those of a part. */
static void score_constant(const tn_dataset *data, const tn_split *part, int32_t label, int32_t class_number,
                           tn_scores *scores) {
    double words = 0, right = 0, classes = 0;
    for (size_t i = 0; i < part->count; i++) {
        const tn_example *example = &part->example[i];
        classes += example->intent == class_number;
        for (uint32_t k = 0; k < example->tokens; k++) {
            if (!example->slot || example->slot[k] == TN_NO_LABEL) continue;
            words++;
            right += example->slot[k] == label;
        }
    }
    *scores = (tn_scores){.loss = NAN,
                          .intent_accuracy = data->has_classes ? classes / (double)part->count : NAN,
                          .slot_accuracy = data->has_labels ? right / words : NAN,
                          .slot_f1 = data->has_labels && !data->is_text ? 0 : NAN};
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
    score_constant(&data, &data.dev, label, class_number, &study->constant_dev);
    score_constant(&data, &data.test, label, class_number, &study->constant_test);
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
            if (status == TN_OK) status = append_run(s, &run, error);
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
    return status;
}

/* The column in which a constant answer is told from a model: that of a choice, or one of its own. */
static size_t format_choice(const tn_space *space) {
    size_t i = 0;
    while (i < space->choices.count && space->choices.axis[i].kind != TN_AXIS_FORMAT) i++;
    return i;
}

static void put_constant(const tn_space *space, const tn_study *study, tn_buffer *out) {
    size_t format = format_choice(space);
    tn_csv_put_count(out, 0);
    if (format == space->choices.count) tn_csv_put(out, "constant");
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i])) tn_csv_put(out, i == format ? "constant" : "");
    tn_csv_put_count(out, 0);
    tn_csv_put_count(out, study->sentences);
    tn_csv_put_count(out, study->count ? study->row[0].epochs : 1);
    tn_csv_put_count(out, 1);
    tn_csv_put(out, "");
    tn_csv_put_count(out, 0);
    tn_csv_put_real(out, accuracy_of(&study->constant_dev));
    tn_csv_put_real(out, NAN);
    put_scores(out, &study->constant_dev);
    put_scores(out, &study->constant_test);
    tn_csv_put_real(out, 0);
    tn_csv_put(out, "");
    tn_csv_line(out);
}

void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out) {
    static const char *const head[] = {"parameters",
                                       "sentences",
                                       "epochs",
                                       "seeds",
                                       "seed_list",
                                       "collapsed",
                                       "accuracy",
                                       "spread",
                                       "dev_loss",
                                       "dev_intent_accuracy",
                                       "dev_slot_accuracy",
                                       "dev_slot_f1",
                                       "test_loss",
                                       "test_intent_accuracy",
                                       "test_slot_accuracy",
                                       "test_slot_f1",
                                       "seconds",
                                       "command"};
    bool own_format = format_choice(space) == space->choices.count;
    const char *format = tn_model_weights(space->model)
                             ? tn_format_names[tn_model_weight_at(space->model, 0)->weight.format]
                             : "dense";
    tn_csv_put(out, "id");
    if (own_format) tn_csv_put(out, "format");
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i]))
            tn_csv_put(out, tn_accuracy_column_name(space->choices.axis, space->choices.count, i));
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) tn_csv_put(out, head[i]);
    tn_csv_line(out);
    put_constant(space, study, out);
    for (size_t k = 0; k < study->count; k++) {
        const tn_study_row *row = &study->row[k];
        tn_csv_put_count(out, row->id);
        if (own_format) tn_csv_put(out, format);
        for (size_t i = 0; i < space->choices.count; i++) {
            if (!tn_accuracy_depends_on(&space->choices.axis[i])) continue;
            tn_buffer value = {0};
            tn_axis_value(&space->choices.axis[i], tn_choices_digit(&space->choices, row->id, i), &value);
            tn_csv_put(out, value.data ? value.data : "");
            tn_buffer_free(&value);
        }
        tn_csv_put_count(out, row->parameters);
        tn_csv_put_count(out, study->sentences);
        tn_csv_put_count(out, row->epochs);
        tn_csv_put_count(out, row->seeds);
        tn_csv_put(out, row->seed_list);
        tn_csv_put_count(out, row->collapsed);
        tn_csv_put_real(out, row->accuracy);
        tn_csv_put_real(out, row->spread);
        put_scores(out, &row->dev);
        put_scores(out, &row->test);
        tn_csv_put_real(out, row->seconds);
        tn_csv_put(out, row->command);
        tn_csv_line(out);
    }
}
