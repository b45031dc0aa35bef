#include "train/accuracy_study.h"

#include "base/file.h"
#include "search/evaluator.h"
#include "text/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct session {
    const tn_space *space;
    const tn_study_options *options;
    const char *data;
    tn_study *study;
    tn_arena *arena;
    tn_error *error;
    tn_evaluator *evaluator;
    size_t axis[TN_AXES_MOST], axes; /* the choices that accuracy depends on */
    uint64_t planned,
        before; /* epochs of all candidates; of the one in work, how many the study counts already */
} session;

static tn_status find_axes(session *s) {
    s->study->combinations = 1;
    if (s->space->choices.is_vast)
        return tn_fail(s->error, TN_LIMIT, "space %s has too many designs to train; tie some choices",
                       s->space->name);
    for (size_t i = 0; i < s->space->choices.count; i++) {
        if (!tn_accuracy_depends_on(&s->space->choices.axis[i])) continue;
        s->axis[s->axes++] = i;
        s->study->combinations *= s->space->choices.axis[i].count;
    }
    if (s->axes > 0) return TN_OK;
    return tn_fail(s->error, TN_INPUT,
                   "space %s varies nothing that accuracy depends on: formats, foldings, ranks",
                   s->space->name);
}

/* The first design of a combination. */
static uint64_t design_of(const session *s, uint64_t combination) {
    uint64_t id = 0;
    for (size_t k = s->axes; k-- > 0;) {
        const tn_axis *axis = &s->space->choices.axis[s->axis[k]];
        id += combination % axis->count * s->space->choices.stride[s->axis[k]];
        combination /= axis->count;
    }
    return id;
}

/* Epochs that halving spends on so many candidates: after 1, 2, 4 .. epochs half of them go on. What the effort
 * suffices for as a whole is not halved. */
static uint64_t cost_of(uint64_t candidates, uint64_t epochs, uint64_t seeds, bool halved) {
    uint64_t spent = 0, done = 0;
    if (!halved) return candidates * epochs * seeds;
    for (uint64_t rung = 1; done < epochs; rung *= 2) {
        uint64_t to = rung < epochs ? rung : epochs;
        spent += candidates * (to - done);
        done = to;
        if (done < epochs) candidates = (candidates + 1) / 2;
    }
    return spent + candidates * (seeds - 1) * epochs;
}

static double accuracy_of(const tn_scores *of) {
    if (isnan(of->intent_accuracy)) return of->slot_accuracy;
    if (isnan(of->slot_accuracy)) return of->intent_accuracy;
    return (of->intent_accuracy + of->slot_accuracy) / 2;
}

/* Steps of all candidates together, those of this one from `before` epochs on. */
static void tell(void *user, uint64_t step, uint64_t steps, double loss, double rate) {
    const session *s = user;
    const tn_training_watch *watch = &s->options->watch;
    uint64_t epoch = steps / s->options->settings.epochs,
             done = (s->study->epochs - s->before) * epoch + step;
    if (watch->report) watch->report(watch->user, done, s->planned * epoch, loss, rate);
}

/* The first design that is trained alike: those that differ in techniques of inference alone share their training. */
static uint64_t trained_design(const session *s, uint64_t id) {
    for (size_t k = 0; k < s->axes; k++)
        if (tn_accuracy_is_of_inference(&s->space->choices.axis[s->axis[k]]))
            id -= tn_choices_digit(&s->space->choices, id, s->axis[k]) * s->space->choices.stride[s->axis[k]];
    return id;
}

/* Scores the weights in the run's folder by the model for inference, in place of the last epoch's. */
static tn_status infer(session *s, const tn_training *trained, const tn_model *model, uint64_t epochs,
                       tn_training_result *result) {
    tn_training run = {
        .model = model, .data = trained->data, .settings = trained->settings, .real = trained->real};
    tn_training_result scored;
    if (result->diverged || result->epochs == 0) return TN_OK;
    TN_TRY(tn_arena_format(s->arena, &run.weights, s->error, "%s/weights.npz", trained->folder));
    TN_TRY(tn_training_run(&run, s->arena, &scored, s->error));
    tn_epoch *last = &result->epoch[(epochs < result->epochs ? epochs : result->epochs) - 1];
    last->dev = scored.dev;
    last->test = scored.test;
    return TN_OK;
}

/* Up to so many epochs, `before` of which are counted already. */
static tn_status train(session *s, uint64_t id, uint64_t seed, uint64_t before, uint64_t epochs,
                       tn_training_result *result) {
    tn_evaluation evaluation;
    tn_dataset data;
    tn_training run = {.real = TN_FLOAT32,
                       .settings = s->options->settings,
                       .stop_after = epochs,
                       .resume = true,
                       .watch = {.report = tell, .user = s}};
    TN_TRY(tn_evaluate_design(s->evaluator, id, &evaluation, s->error));
    const tn_model *model = tn_evaluator_model(s->evaluator);
    bool inference = tn_model_is_inference(model);
    tn_model *trained = NULL;
    if (inference) TN_TRY(tn_model_before_inference(model, s->arena, &trained, s->error));
    run.model = inference ? trained : model;
    run.settings.seed = seed;
    s->before = before;
    TN_TRY(tn_dataset_load(s->data, tn_model_sequence(run.model), s->arena, &data, s->error));
    run.data = &data;
    TN_TRY(tn_arena_format(s->arena, &run.folder, s->error, "%s/candidates/%" PRIu64 "%s-seed%" PRIu64,
                           s->options->folder, inference ? trained_design(s, id) : id,
                           inference ? "-whole" : "", seed));
    TN_TRY(tn_training_run(&run, s->arena, result, s->error));
    return inference ? infer(s, &run, model, epochs, result) : TN_OK;
}

/* Behind so many epochs: a checkpoint of an earlier study may hold more. */
static const tn_epoch *last_of(const tn_training_result *result, uint64_t epochs) {
    return &result->epoch[(epochs < result->epochs ? epochs : result->epochs) - 1];
}

/* Diverged, or gives one answer to all. */
static bool has_collapsed(const tn_training_result *result, uint64_t epochs) {
    return result->diverged || result->epochs == 0 || last_of(result, epochs)->collapsed;
}

static const tn_scores no_scores = {NAN, NAN, NAN, NAN};

/* Trains a candidate up to so many epochs. One that collapsed has no accuracy yet: more epochs may bring it. */
static tn_status advance(session *s, tn_study_row *row, uint64_t epochs) {
    tn_training_result result;
    TN_TRY(train(s, row->id, s->options->settings.seed, row->epochs, epochs, &result));
    s->study->epochs += epochs - row->epochs;
    row->parameters = result.parameters;
    row->epochs = epochs;
    row->seeds = 1;
    row->spread = NAN;
    row->collapsed = has_collapsed(&result, epochs);
    const tn_epoch *last = row->collapsed ? NULL : last_of(&result, epochs);
    row->dev = last ? last->dev : no_scores;
    row->test = last ? last->test : no_scores;
    row->accuracy = accuracy_of(&row->dev);
    double *curve;
    row->curve_epochs = epochs < result.epochs ? epochs : result.epochs;
    TN_TRY(TN_NEW(s->arena, row->curve_epochs, &curve, s->error));
    for (size_t i = 0; i < row->curve_epochs; i++) curve[i] = accuracy_of(&result.epoch[i].dev);
    row->curve = curve;
    return TN_OK;
}

static void add_scores(tn_scores *sum, const tn_scores *one) {
    sum->loss += one->loss;
    sum->intent_accuracy += one->intent_accuracy;
    sum->slot_accuracy += one->slot_accuracy;
    sum->slot_f1 += one->slot_f1;
}

static void scale_scores(tn_scores *of, double factor) {
    *of = (tn_scores){of->loss * factor, of->intent_accuracy * factor, of->slot_accuracy * factor,
                      of->slot_f1 * factor};
}

/* Further seeds of a survivor: means over those that did not collapse, and the spread of their accuracy. */
static tn_status repeat(session *s, tn_study_row *row) {
    bool first = row->collapsed == 0;
    double sum = first ? row->accuracy : 0, squares = sum * sum, n = first;
    tn_scores dev = first ? row->dev : (tn_scores){0}, test = first ? row->test : (tn_scores){0};
    for (uint64_t k = 1; k < s->options->seeds; k++) {
        tn_training_result result;
        TN_TRY(train(s, row->id, s->options->settings.seed + k, 0, row->epochs, &result));
        s->study->epochs += row->epochs;
        row->seeds++;
        if (has_collapsed(&result, row->epochs)) {
            row->collapsed++;
            continue;
        }
        const tn_epoch *last = last_of(&result, row->epochs);
        double accuracy = accuracy_of(&last->dev);
        n++;
        sum += accuracy;
        squares += accuracy * accuracy;
        add_scores(&dev, &last->dev);
        add_scores(&test, &last->test);
    }
    if (n == 0) return TN_OK;
    row->accuracy = sum / n;
    row->spread = n > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1))) : NAN;
    scale_scores(&dev, 1 / n);
    scale_scores(&test, 1 / n);
    row->dev = dev;
    row->test = test;
    return TN_OK;
}

/* Of a row that has none: less than any. */
static double known_accuracy(const tn_study_row *row) {
    return isnan(row->accuracy) ? -1 : row->accuracy;
}

static bool beats(const tn_study_row *a, const tn_study_row *b) {
    double of_a = known_accuracy(a), of_b = known_accuracy(b);
    return a->parameters <= b->parameters && of_a >= of_b && (a->parameters < b->parameters || of_a > of_b);
}

/* By how many others each is beaten: fewer first, then the more accurate, then by id. */
static void order_rows(tn_study_row *row, size_t count, size_t *beaten) {
    for (size_t i = 0; i < count; i++) {
        beaten[i] = 0;
        for (size_t k = 0; k < count; k++) beaten[i] += beats(&row[k], &row[i]);
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0; k--) {
            bool before =
                beaten[k] < beaten[k - 1] ||
                (beaten[k] == beaten[k - 1] && known_accuracy(&row[k]) > known_accuracy(&row[k - 1]));
            if (!before) break;
            tn_study_row kept = row[k];
            row[k] = row[k - 1];
            row[k - 1] = kept;
            size_t number = beaten[k];
            beaten[k] = beaten[k - 1];
            beaten[k - 1] = number;
        }
}

/* Candidates spread evenly over the combinations by the golden ratio, each once. */
static tn_status choose(session *s, uint64_t wanted) {
    tn_study *study = s->study;
    static const double golden = 0.6180339887498949;
    bool *taken;
    enum { COMBINATIONS_MOST = 1 << 24 };
    if (study->combinations > COMBINATIONS_MOST)
        return tn_fail(s->error, TN_LIMIT, "%" PRIu64 " combinations; at most 2^24 are chosen from",
                       study->combinations);
    if (wanted > study->combinations) wanted = study->combinations;
    TN_TRY(TN_NEW(s->arena, study->combinations, &taken, s->error));
    TN_TRY(TN_NEW(s->arena, wanted, &study->row, s->error));
    for (uint64_t k = 0, found = 0; found < wanted; k++) {
        double place = ((double)k + 0.5) * golden;
        uint64_t at = (uint64_t)((place - floor(place)) * (double)study->combinations);
        while (taken[at]) at = (at + 1) % study->combinations;
        taken[at] = true;
        if (found % s->options->shards == s->options->shard)
            study->row[study->count++] = (tn_study_row){.id = design_of(s, at)};
        found++;
    }
    return TN_OK;
}

static tn_status halve(session *s) {
    tn_study *study = s->study;
    uint64_t epochs = s->options->settings.epochs, wanted = 0;
    size_t alive, *beaten;
    bool halved = study->combinations > s->options->effort / epochs / s->options->seeds;
    while (wanted < study->combinations &&
           cost_of(wanted + 1, epochs, s->options->seeds, halved) <= s->options->effort)
        wanted++;
    if (wanted == 0)
        return tn_fail(s->error, TN_INPUT,
                       "--effort %" PRIu64 " is less than the %" PRIu64 " epochs of one candidate",
                       s->options->effort, cost_of(1, epochs, s->options->seeds, true));
    TN_TRY(choose(s, wanted));
    TN_TRY(TN_NEW(s->arena, study->count, &beaten, s->error));
    alive = study->count;
    s->planned = cost_of(study->count, epochs, s->options->seeds, halved);
    for (uint64_t rung = halved ? 1 : epochs, done = 0; done < epochs; rung *= 2) {
        done = rung < epochs ? rung : epochs;
        for (size_t i = 0; i < alive; i++) TN_TRY(advance(s, &study->row[i], done));
        order_rows(study->row, alive, beaten);
        if (done < epochs && halved) alive = (alive + 1) / 2;
    }
    for (size_t i = 0; i < alive && s->options->seeds > 1; i++) TN_TRY(repeat(s, &study->row[i]));
    return TN_OK;
}

tn_status tn_accuracy_study(const tn_space *space, const char *data, const tn_study_options *options,
                            tn_arena *arena, tn_study *study, tn_error *error) {
    session s = {
        .space = space, .options = options, .data = data, .study = study, .arena = arena, .error = error};
    *study = (tn_study){0};
    TN_TRY(find_axes(&s));
    TN_TRY(tn_evaluator_new(space, &s.evaluator, error));
    tn_status status = halve(&s);
    tn_evaluator_free(s.evaluator);
    return status;
}

static void put_scores(tn_buffer *out, const tn_scores *of) {
    tn_csv_put_real(out, of->loss);
    tn_csv_put_real(out, of->intent_accuracy);
    tn_csv_put_real(out, of->slot_accuracy);
    tn_csv_put_real(out, of->slot_f1);
}

void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out) {
    static const char *const head[] = {
        "parameters",         "epochs",      "seeds",     "collapsed",
        "accuracy",           "spread",      "dev_loss",  "dev_intent_accuracy",
        "dev_slot_accuracy",  "dev_slot_f1", "test_loss", "test_intent_accuracy",
        "test_slot_accuracy", "test_slot_f1"};
    tn_csv_put(out, "id");
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i]))
            tn_csv_put(out, tn_accuracy_column_name(space->choices.axis, space->choices.count, i));
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) tn_csv_put(out, head[i]);
    tn_csv_line(out);
    for (size_t k = 0; k < study->count; k++) {
        const tn_study_row *row = &study->row[k];
        tn_csv_put_count(out, row->id);
        for (size_t i = 0; i < space->choices.count; i++) {
            if (!tn_accuracy_depends_on(&space->choices.axis[i])) continue;
            tn_buffer value = {0};
            tn_axis_value(&space->choices.axis[i], tn_choices_digit(&space->choices, row->id, i), &value);
            tn_csv_put(out, value.data ? value.data : "");
            tn_buffer_free(&value);
        }
        tn_csv_put_count(out, row->parameters);
        tn_csv_put_count(out, row->epochs);
        tn_csv_put_count(out, row->seeds);
        tn_csv_put_count(out, row->collapsed);
        tn_csv_put_real(out, row->accuracy);
        tn_csv_put_real(out, row->spread);
        put_scores(out, &row->dev);
        put_scores(out, &row->test);
        tn_csv_line(out);
    }
}
