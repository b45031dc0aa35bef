#include "learn/accuracy_session.h"

#include "base/clock.h"
#include "base/file.h"
#include "space/accuracy_table.h"
#include "text/csv.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tn_scores tn_study_no_scores = {NAN, NAN, NAN, NAN};

enum { RUNS_MOST = 1 << 20 };

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

bool tn_study_is_text(const tn_scores *scores) {
    return isnan(scores->intent_accuracy) && isnan(scores->slot_f1) && !isnan(scores->slot_accuracy);
}

double tn_study_accuracy(const tn_scores *scores) {
    if (tn_study_is_text(scores)) return tn_accuracy_of_loss(scores->loss, tn_accuracy_bytes);
    if (isnan(scores->intent_accuracy)) return scores->slot_accuracy;
    if (isnan(scores->slot_accuracy)) return scores->intent_accuracy;
    return (scores->intent_accuracy + scores->slot_accuracy) / 2;
}

/* ---- the runs that are done ---- */

/* As tn_study_put_scores writes those of dev and test. */
#define SCORE_HEADS                                                                                          \
    "dev_loss", "dev_intent_accuracy", "dev_slot_accuracy", "dev_slot_f1", "test_loss",                      \
        "test_intent_accuracy", "test_slot_accuracy", "test_slot_f1"

static const char *const run_head[] = {"id",      "seed",      "epochs",    "parameters", "macs_per_step",
                                       "seconds", "collapsed", SCORE_HEADS, "curve"};
enum { RUN_COLUMNS = sizeof run_head / sizeof *run_head };

void tn_study_put_scores(tn_buffer *out, const tn_scores *scores) {
    tn_csv_put_real(out, scores->loss);
    tn_csv_put_real(out, scores->intent_accuracy);
    tn_csv_put_real(out, scores->slot_accuracy);
    tn_csv_put_real(out, scores->slot_f1);
}

tn_status tn_study_runs_path(const tn_study_session *s, tn_arena *arena, const char **path, tn_error *error) {
    return tn_arena_format(arena, path, error, "%s/runs.csv", s->options->folder);
}

/* One write, so that lines of several processes do not mix. */
tn_status tn_study_append_run(tn_study_session *s, const tn_study_run *run, tn_error *error) {
    const char *path;
    tn_buffer out = {0};
    TN_TRY(tn_study_runs_path(s, s->arena, &path, error));
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
    tn_study_put_scores(&out, &run->dev);
    tn_study_put_scores(&out, &run->test);
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
    TN_TRY(tn_study_runs_path(s, s->arena, &path, error));
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
                "is a run of another space or of other epochs; give the study a folder of its own");
        size_t place = tn_study_place_of_run(s, run.id, run.seed);
        if (place == s->runs)
            TN_TRY(tn_study_add_run(s, run, error));
        else if (s->run[place].epochs == 0)
            s->run[place] = run;
    }
    return TN_OK;
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
    *row = (tn_study_row){
        .id = id, .learned = NAN, .spread = NAN, .dev = tn_study_no_scores, .test = tn_study_no_scores};
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
        double accuracy = tn_study_accuracy(&run->dev);
        sum += accuracy;
        squares += accuracy * accuracy;
        add_scores(&row->dev, &run->dev);
        add_scores(&row->test, &run->test);
    }
    if (n > 0) {
        row->learned = sum / n;
        scale_scores(&row->dev, 1 / n);
        scale_scores(&row->test, 1 / n);
    }
    if (n > 1) row->spread = sqrt(fmax(0, (squares - sum * sum / n) / (n - 1)));
    const tn_accuracy_table as_told = {.answers = s->study->is_text ? tn_accuracy_bytes : 0};
    const tn_accuracy_estimate told = tn_accuracy_table_told_estimate(
        &as_told, (tn_accuracy_estimate){.mean = row->learned, .deviation = row->spread});
    row->accuracy = s->study->is_text ? NAN : told.mean;
    row->perplexity = s->study->is_text ? told.mean : NAN;
    row->spread = told.deviation;
    tn_status status = seeds.status;
    if (status == TN_OK) status = tn_arena_copy_text(arena, seeds.data, seeds.length, &row->seed_list, error);
    tn_buffer_free(&seeds);
    return status;
}

static int by_accuracy(const void *a, const void *b) {
    const tn_study_row *x = a, *y = b;
    double of_x = isnan(x->learned) ? -INFINITY : x->learned,
           of_y = isnan(y->learned) ? -INFINITY : y->learned;
    if (of_x != of_y) return of_x > of_y ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
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
    tn_csv_put_real(out,
                    study->is_text ? exp(study->constant_dev.loss) : tn_study_accuracy(&study->constant_dev));
    tn_csv_put_real(out, NAN);
    tn_study_put_scores(out, &study->constant_dev);
    tn_study_put_scores(out, &study->constant_test);
    tn_csv_put_real(out, 0);
    tn_csv_put(out, "");
    tn_csv_line(out);
}

void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out) {
    const char *const head[] = {"parameters",
                                "sentences",
                                "epochs",
                                "seeds",
                                "seed_list",
                                "collapsed",
                                study->is_text ? "perplexity" : "accuracy",
                                "spread",
                                SCORE_HEADS,
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
        tn_csv_put_real(out, study->is_text ? row->perplexity : row->accuracy);
        tn_csv_put_real(out, row->spread);
        tn_study_put_scores(out, &row->dev);
        tn_study_put_scores(out, &row->test);
        tn_csv_put_real(out, row->seconds);
        tn_csv_put(out, row->command);
        tn_csv_line(out);
    }
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
