#include "learn/training.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "learn/adapted_model.h"
#include "learn/checkpoint.h"
#include "learn/evaluation.h"
#include "learn/history.h"
#include "learn/routes.h"
#include "model/graph.h"
#include "train/initial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A mean loss above this many times that of guessing means that nothing is being learned. */
static const double DIVERGED_TIMES = 4;
enum { RECENT_STEPS = 200 };

typedef struct session {
    const tn_training *run;
    tn_training_result *result;
    tn_trainer *trainer;
    tn_arena *arena;
    tn_error *error;
    uint32_t *order;           /* [examples] of train */
    uint32_t *hidden, longest; /* words of an example as the epoch reads them; of each of a batch */
    tn_example *batch;
    tn_rank_penalty penalty; /* where ranks adapt */
    char identity[TN_DIGEST_TEXT];
    tn_locked_folder folder; /* where there is one */
    tn_step_prices prices;
    tn_buffer history;
    double guess_loss, seconds;
    uint64_t timed_steps, batch_examples, steps_per_epoch, last_epoch;
} session;

/* A state that seed and epoch give: neither sequence begins where another one passes. */
static uint64_t epoch_state(uint64_t seed, uint64_t epoch) {
    uint64_t state = seed ^ 0x9e3779b97f4a7c15u * (epoch + 1);
    return tn_splitmix_next(&state);
}

static void shuffle(session *s, uint64_t *state) {
    size_t count = s->run->data->train.count;
    for (size_t i = 0; i < count; i++) s->order[i] = (uint32_t)i;
    if (!s->run->settings.shuffle) return;
    for (size_t i = count; i > 1; i--) {
        size_t k = tn_splitmix_below(state, (uint32_t)i);
        uint32_t kept = s->order[i - 1];
        s->order[i - 1] = s->order[k];
        s->order[k] = kept;
    }
}

/* The next examples, rare words hidden by chance. */
static void take_batch(session *s, size_t first, size_t count, uint64_t *state) {
    const tn_dataset *data = s->run->data;
    for (size_t e = 0; e < count; e++) {
        const tn_example *source = &data->train.example[s->order[first + e]];
        uint32_t *token = s->hidden + e * s->longest;
        for (uint32_t i = 0; i < source->tokens; i++) {
            bool hide = data->rare[source->token[i]] &&
                        tn_splitmix_unit(state) < s->run->settings.unknown_probability;
            token[i] = hide ? TN_WORD_UNKNOWN : source->token[i];
        }
        s->batch[e] = *source;
        s->batch[e].token = token;
    }
}

static tn_status diverged(session *s, uint64_t epoch, uint64_t step, double loss) {
    return tn_arena_format(s->arena, &s->result->diverged, s->error,
                           "the loss is %s at step %" PRIu64 " of epoch %" PRIu64
                           " (guessing costs %.2f): the run diverges; a learning rate below %g may help",
                           isfinite(loss) ? "far above that of guessing" : "not a finite number", step + 1,
                           epoch, s->guess_loss, s->run->settings.learning_rate);
}

static bool adapts(const session *s) {
    return s->run->settings.rank_penalty > 0;
}

/* Behind so many steps of all. */
static void shrink_ranks(session *s, uint64_t done, uint64_t all, double rate) {
    const tn_train_settings *set = &s->run->settings;
    if (!adapts(s) || done % TN_RANK_PENALTY_STEPS != 0 ||
        (double)done > set->rank_penalty_share * (double)all)
        return;
    tn_rank_penalty_shrink(&s->penalty, s->trainer, rate * set->rank_penalty * TN_RANK_PENALTY_STEPS);
}

static tn_status score(session *s, const tn_split *split, tn_scores *target,
                       tn_sameness answers[TN_HEADS_MOST]) {
    const tn_scoring how = {
        .trainer = s->trainer, .data = s->run->data, .padded = s->run->settings.lengths == TN_LENGTHS_PADDED};
    return tn_score_split(&how, split, target, answers, s->error);
}

static tn_status price_step(session *s, double progress) {
    return tn_step_prices_add(&s->prices, s->trainer, progress, &s->result->device_seconds,
                              &s->result->device_joules, s->error);
}

/* A row of the history for a step that is done. At the end of an epoch it is scored as the epoch is. */
static tn_status note_history(session *s, uint64_t epoch, uint64_t done, double loss) {
    const tn_training *run = s->run;
    tn_sameness answers[TN_HEADS_MOST];
    if (!run->history) return TN_OK;
    tn_history_row row = {.step = done,
                          .epoch = epoch,
                          .loss = loss,
                          .seconds = run->priced ? s->result->device_seconds : NAN,
                          .joules = run->priced ? s->result->device_joules : NAN,
                          .noise = {NAN, NAN, 0},
                          .dev = {NAN, NAN, NAN, NAN}};
    if (run->gradient_steps && done % run->gradient_steps == 0)
        tn_trainer_gradient_noise(s->trainer, &row.noise);
    if (done % s->steps_per_epoch == 0 || (run->score_steps && done % run->score_steps == 0))
        TN_TRY(score(s, &run->data->dev, &row.dev, answers));
    tn_step_prices_begin(&s->prices, s->trainer);
    tn_history_add(&s->history, &row);
    return TN_OK;
}

static tn_status begin_history(session *s) {
    const tn_training *run = s->run;
    s->prices = (tn_step_prices){.design = run->priced ? run->design : NULL, .arena = s->arena};
    s->result->priced = run->priced;
    tn_step_prices_begin(&s->prices, s->trainer);
    if (run->history) tn_history_head(&s->history);
    if (run->score_steps && tn_trainer_routes(s->trainer) > 0)
        return tn_fail(
            s->error, TN_INPUT,
            "a model with a mixture of experts is scored after epochs alone, as scores count as its routers' "
            "choices; leave --score-steps out");
    return run->gradient_steps ? tn_trainer_note_gradients(s->trainer, s->error) : TN_OK;
}

static tn_status write_history(session *s) {
    return s->run->history ? tn_file_write_buffer(s->run->history, &s->history, s->error) : TN_OK;
}

static tn_status train_epoch(session *s, uint64_t epoch, tn_epoch *target) {
    const tn_training *run = s->run;
    size_t count = run->data->train.count;
    uint64_t state = epoch_state(run->settings.seed, epoch), all = s->steps_per_epoch * run->settings.epochs;
    double sum = 0, recent = s->guess_loss;
    shuffle(s, &state);
    tn_trainer_reset_routes(s->trainer);
    for (uint64_t step = 0; step < s->steps_per_epoch; step++) {
        if (tn_interrupted())
            return tn_fail(s->error, TN_INTERRUPTED,
                           "stopped in epoch %" PRIu64 "; --resume goes on behind epoch %zu", epoch,
                           s->result->epochs);
        size_t first = step * s->batch_examples;
        size_t examples = count - first < s->batch_examples ? count - first : s->batch_examples;
        uint64_t done = (epoch - 1) * s->steps_per_epoch + step;
        double rate = tn_train_rate(&run->settings, done, all), started = tn_clock_seconds();
        tn_step_result result;
        take_batch(s, first, examples, &state);
        const double progress = all ? (double)done / (double)all : 0;
        tn_trainer_set_progress(s->trainer, progress);
        TN_TRY(tn_trainer_step(s->trainer, s->batch, examples, run->settings.lengths == TN_LENGTHS_PADDED,
                               rate, &result, s->error));
        shrink_ranks(s, done + 1, all, rate);
        s->seconds += tn_clock_seconds() - started;
        s->timed_steps++;
        s->result->steps++;
        s->result->macs.predicted += result.macs_predicted;
        s->result->macs.executed += result.macs;
        sum += result.loss;
        recent += (result.loss - recent) / RECENT_STEPS;
        if (!isfinite(result.loss) || recent > DIVERGED_TIMES * s->guess_loss)
            return diverged(s, epoch, step, result.loss);
        if (run->watch.report)
            run->watch.report(run->watch.user, done + 1, all, sum / (double)(step + 1), rate);
        if (run->watch.stepped) run->watch.stepped(run->watch.curve, done + 1, all, result.loss);
        TN_TRY(price_step(s, progress));
        TN_TRY(note_history(s, epoch, done + 1, result.loss));
    }
    TN_TRY(tn_note_routes(s->trainer, s->arena, s->result, s->error));
    *target =
        (tn_epoch){.epoch = epoch,
                   .loss = sum / (double)s->steps_per_epoch,
                   .learning_rate = tn_train_rate(&run->settings, (epoch - 1) * s->steps_per_epoch, all)};
    return TN_OK;
}

/* A loss per token whose outputs give the same label to every word of dev has learned nothing, though it is below that of
 * guessing. The class of a sentence, often learned late, is judged where there is nothing else. */
static bool has_collapsed(const session *s, const tn_sameness *answers) {
    uint32_t judged = 0;
    for (uint32_t h = 0; h < tn_trainer_heads(s->trainer); h++)
        if (answers[h].any && !tn_trainer_head(s->trainer, h).of_example) judged = h;
    return answers[judged].any && answers[judged].expected_differ && !answers[judged].found_differ;
}

static tn_status judge(session *s) {
    const tn_training_result *result = s->result;
    if (!result->epoch[result->epochs - 1].collapsed) return TN_OK;
    return tn_arena_format(
        s->arena, &s->result->collapsed, s->error,
        "after %zu of %" PRIu64 " epochs the model gives the same answer to all of dev: "
        "the run has collapsed; training.warmup_steps, training.clip_norm, a learning rate below "
        "%g or more epochs may help",
        result->epochs, s->run->settings.epochs, s->run->settings.learning_rate);
}

/* Random words of the full sequence, a label each. */
static tn_status random_example(session *s, uint64_t *state, tn_example *target) {
    uint32_t tokens = (uint32_t)tn_trainer_sequence(s->trainer), *token;
    uint64_t words = tn_trainer_vocabulary(s->trainer);
    int32_t *slot;
    TN_TRY(TN_NEW(s->arena, tokens, &token, s->error));
    TN_TRY(TN_NEW(s->arena, tokens, &slot, s->error));
    *target = (tn_example){.tokens = tokens, .token = token, .slot = slot};
    for (uint32_t h = 0; h < tn_trainer_heads(s->trainer); h++) {
        tn_head_info head = tn_trainer_head(s->trainer, h);
        if (head.of_example) target->intent = (int32_t)tn_splitmix_below(state, (uint32_t)head.outputs);
        for (uint32_t i = 0; !head.of_example && i < tokens; i++)
            slot[i] = (int32_t)tn_splitmix_below(state, (uint32_t)head.outputs);
    }
    for (uint32_t i = 0; i < tokens; i++)
        token[i] = tn_splitmix_below(state, (uint32_t)(words < UINT32_MAX ? words : UINT32_MAX));
    return TN_OK;
}

static tn_status random_batch(session *s) {
    uint64_t state = s->run->settings.seed;
    TN_TRY(TN_NEW(s->arena, s->batch_examples, &s->batch, s->error));
    for (uint64_t e = 0; e < s->batch_examples; e++) TN_TRY(random_example(s, &state, &s->batch[e]));
    return TN_OK;
}

/* A step, or a forward pass where nothing is trained. */
static tn_status run_step(session *s, double rate, tn_step_result *result) {
    if (tn_trainer_is_inference(s->trainer))
        return tn_trainer_forward(s->trainer, s->batch, s->batch_examples, true, NULL, result, s->error);
    return tn_trainer_step(s->trainer, s->batch, s->batch_examples, true, rate, result, s->error);
}

/* One step of the first sort, of a trimmed model; the parameters stay. */
static tn_status measure_trimmed(session *s, tn_predicted_executed *macs, tn_predicted_executed *peak) {
    tn_step_result result;
    TN_TRY(random_batch(s));
    tn_trainer_set_sort(s->trainer, 0);
    TN_TRY(run_step(s, 0, &result));
    tn_trainer_set_sort(s->trainer, TN_SORT_MEAN);
    *macs = (tn_predicted_executed){result.macs_predicted, result.macs};
    *peak = (tn_predicted_executed){result.peak_elements_predicted, result.peak_elements};
    return TN_OK;
}

/* One step of every sort of the full sequence at rate 0, for what it executes; the parameters are set behind it. */
static tn_status measure_step(session *s) {
    tn_step_result result;
    uint32_t sorts = tn_trainer_sorts(s->trainer);
    TN_TRY(random_batch(s));
    TN_TRY(TN_NEW(s->arena, sorts, &s->result->sort, s->error));
    for (uint32_t sort = 0; sort < sorts; sort++) {
        TN_TRY(tn_initialise(s->trainer, &s->run->settings, s->error));
        tn_trainer_set_sort(s->trainer, sort);
        tn_trainer_set_steps(s->trainer, tn_trainer_settled_steps(s->trainer));
        TN_TRY(run_step(s, 0, &result));
        TN_TRY(tn_note_sort(s->trainer, sort, &result, s->arena, s->result, s->error));
    }
    tn_trainer_set_sort(s->trainer, TN_SORT_MEAN);
    return TN_OK;
}

static tn_status time_steps(session *s) {
    tn_step_result result;
    uint64_t steps = s->run->steps;
    tn_trainer_reset_routes(s->trainer);
    for (uint64_t i = 0; i < steps; i++) {
        if (tn_interrupted()) return tn_fail(s->error, TN_INTERRUPTED, "stopped after %" PRIu64 " steps", i);
        double rate = tn_train_rate(&s->run->settings, i, steps), started = tn_clock_seconds();
        tn_trainer_set_progress(s->trainer, (double)i / (double)steps);
        TN_TRY(run_step(s, rate, &result));
        TN_TRY(price_step(s, (double)i / (double)steps));
        s->seconds += tn_clock_seconds() - started;
        s->timed_steps++;
        s->result->steps++;
        s->result->macs.predicted += result.macs_predicted;
        s->result->macs.executed += result.macs;
        if (!isfinite(result.loss)) return diverged(s, 1, i, result.loss);
        if (s->run->watch.report) s->run->watch.report(s->run->watch.user, i + 1, steps, result.loss, rate);
    }
    return tn_note_routes(s->trainer, s->arena, s->result, s->error);
}

/* What makes a run the same run: model with weights and flows, settings, precision, data. */
static tn_status identify(session *s) {
    const tn_training *run = s->run;
    const tn_train_settings *set = &run->settings;
    tn_buffer text = {0};
    tn_yaml_write(tn_model_root(run->model), &text);
    for (size_t i = 0; i < tn_trainer_parameters(s->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(s->trainer, i);
        tn_buffer_format(&text, "%s", p->name);
        for (uint32_t axis = 0; axis < p->axes; axis++) tn_buffer_format(&text, " %" PRIu64, p->shape[axis]);
        tn_buffer_text(&text, "\n");
    }
    tn_buffer_format(&text, "macs %" PRIu64 "\n", s->result->macs_per_step.predicted);
    tn_buffer_format(&text, "warmup %" PRIu64 " clip %a\n", set->warmup_steps, set->clip_norm);
    tn_buffer_format(&text, "%" PRIu64 " %" PRIu64 " %a %u %u %u %a %a %a %a %a %a %a %a %a %d\n",
                     set->epochs, set->seed, set->learning_rate, set->schedule, set->token_loss, set->lengths,
                     set->momentum, set->beta1, set->beta2, set->adam_epsilon, set->layer_norm_epsilon,
                     set->matrix_deviation, set->table_deviation, set->positions_deviation,
                     set->unknown_probability, set->shuffle);
    const tn_loss_weight *weight = set->loss_weights.item;
    for (size_t i = 0; i < set->loss_weights.count; i++)
        tn_buffer_format(&text, "%s %a\n", weight[i].name, weight[i].weight);
    if (adapts(s)) tn_buffer_format(&text, "ranks %a %a\n", set->rank_penalty, set->rank_penalty_share);
    for (size_t i = 0; i < s->penalty.bonds; i++) tn_buffer_format(&text, "%a\n", s->penalty.bond[i].cost);
    tn_buffer_format(&text, "%s %s\n", tn_real_names[run->real], run->weights ? run->weights : "");
    for (size_t i = 0; i < run->data->train.count; i++) {
        const tn_example *e = &run->data->train.example[i];
        tn_buffer_format(&text, "%" PRIi32, e->intent);
        for (uint32_t k = 0; k < e->tokens; k++)
            tn_buffer_format(&text, " %" PRIu32 "/%" PRIi32, e->token[k], e->slot[k]);
        tn_buffer_text(&text, "\n");
    }
    tn_status status = text.status;
    if (status == TN_OK) tn_digest(text.data, text.length, s->identity);
    tn_buffer_free(&text);
    return status == TN_OK ? TN_OK : tn_fail(s->error, status, "no memory for the identity of a run");
}

static double guess_loss(const session *s) {
    double loss = 0;
    for (uint32_t h = 0; h < tn_trainer_heads(s->trainer); h++) {
        tn_head_info head = tn_trainer_head(s->trainer, h);
        double times = head.of_example || s->run->settings.token_loss == TN_TOKEN_MEAN
                           ? 1
                           : (double)tn_trainer_sequence(s->trainer);
        loss += times * tn_train_settings_weight_of(&s->run->settings, head.name) * log((double)head.outputs);
    }
    return loss;
}

static tn_status make_room(session *s) {
    const tn_dataset *data = s->run->data;
    s->longest = (uint32_t)tn_trainer_sequence(s->trainer);
    TN_TRY(TN_NEW(s->arena, data->train.count, &s->order, s->error));
    TN_TRY(TN_NEW(s->arena, s->batch_examples * s->longest, &s->hidden, s->error));
    return TN_OK;
}

/* Every size of step that the data need, so that no step has to be lowered while it is timed. */
static tn_status prepare(session *s) {
    const tn_split *const split[] = {&s->run->data->train, &s->run->data->dev, &s->run->data->test};
    bool padded = s->run->settings.lengths == TN_LENGTHS_PADDED;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; s->batch_examples == 1 && i < split[k]->count; i++)
            TN_TRY(tn_trainer_prepare(s->trainer, 1, padded ? s->longest : split[k]->example[i].tokens,
                                      s->error));
    return TN_OK;
}

static tn_status begin_adapting(session *s) {
    const tn_training *run = s->run;
    if (!adapts(s)) return TN_OK;
    TN_TRY(tn_rank_penalty_new(s->trainer, s->arena, &s->penalty, s->error));
    return run->design ? tn_slice_costs(s->trainer, run->design, &s->penalty, s->error) : TN_OK;
}

/* The run goes on with the trimmed model. */
static tn_status trim_model(session *s, tn_model **trimmed) {
    const tn_training *run = s->run;
    tn_trainer *made;
    tn_model *model;
    tn_rank_penalty_look(&s->penalty, s->trainer);
    TN_TRY(tn_trimmed_model(s->trainer, &s->penalty, s->arena, &model, s->error));
    TN_TRY(tn_trainer_new(model, &run->settings, run->real, &made, s->error));
    tn_status status = tn_trimmed_values(s->trainer, &s->penalty, made, s->error);
    tn_trainer_set_threads(made, run->threads);
    tn_trainer_free(s->trainer);
    s->trainer = made;
    *trimmed = model;
    return status;
}

static tn_status write_model(const session *s, const tn_model *model) {
    const char *path;
    tn_buffer text = {0};
    if (!s->run->folder) return TN_OK;
    TN_TRY(tn_arena_format(s->arena, &path, s->error, "%s/model.yaml", s->run->folder));
    tn_yaml_write(tn_model_root(model), &text);
    tn_status status = tn_file_write_buffer(path, &text, s->error);
    tn_buffer_free(&text);
    return status;
}

/* Leaves the slices that vanished out, and says what that comes to. */
static tn_status end_adapting(session *s) {
    const tn_training *run = s->run;
    tn_adapted *target = &s->result->adapted;
    tn_model *model;
    tn_sameness answers[TN_HEADS_MOST];
    if (!adapts(s)) return TN_OK;
    TN_TRY(trim_model(s, &model));
    target->done = true;
    target->priced = run->design != NULL;
    target->parameters = tn_trainer_parameter_elements(s->trainer);
    TN_TRY(tn_adapted_layers(s->trainer, &s->penalty, s->arena, target, s->error));
    TN_TRY(measure_trimmed(s, &target->macs_per_step, &target->peak_elements));
    if (target->priced) {
        tn_design trimmed = *run->design;
        trimmed.model = model;
        TN_TRY(tn_device_price_of(run->design, &target->before, s->error));
        TN_TRY(tn_device_price_of(&trimmed, &target->after, s->error));
    }
    TN_TRY(score(s, &run->data->dev, &target->dev, answers));
    TN_TRY(score(s, &run->data->test, &target->test, answers));
    return write_model(s, model);
}

static tn_status checkpoint_path(session *s, const char **path) {
    return tn_arena_format(s->arena, path, s->error, "%s/checkpoint.npz", s->run->folder);
}

/* What a checkpoint says of its epochs is what epochs of this run come to: so many steps, at these rates, with
 * losses below which the run counts as diverging: the mean of the recent ones moves by a share of each. */
static tn_status check_resumed(session *s, const char *path) {
    const tn_training_result *result = s->result;
    uint64_t steps = result->epochs * s->steps_per_epoch, all = s->steps_per_epoch * s->run->settings.epochs;
    double most = RECENT_STEPS * DIVERGED_TIMES * s->guess_loss;
    const tn_position place = {.file = path};
    if (result->steps != steps || tn_trainer_steps(s->trainer) != steps)
        return tn_fail_at(s->error, TN_INPUT, place,
                          "says %" PRIu64 " steps, %" PRIu64 " of the optimizer; %zu epochs of this run are "
                          "%" PRIu64,
                          result->steps, tn_trainer_steps(s->trainer), result->epochs, steps);
    for (size_t i = 0; i < result->epochs; i++) {
        const tn_epoch *epoch = &result->epoch[i];
        double rate = tn_train_rate(&s->run->settings, i * s->steps_per_epoch, all);
        if (epoch->learning_rate != rate)
            return tn_fail_at(s->error, TN_INPUT, place,
                              "says that epoch %zu began at rate %g; it does at %g", i + 1,
                              epoch->learning_rate, rate);
        if (epoch->loss > most)
            return tn_fail_at(s->error, TN_INPUT, place,
                              "says that the loss of epoch %zu is %g; above %g the run would have ended",
                              i + 1, epoch->loss, most);
    }
    return TN_OK;
}

static tn_status train(session *s) {
    const tn_training *run = s->run;
    tn_training_result *result = s->result;
    const char *path = NULL;
    bool found = false;
    tn_sameness answers[TN_HEADS_MOST];
    TN_TRY(make_room(s));
    TN_TRY(prepare(s));
    TN_TRY(begin_adapting(s));
    TN_TRY(identify(s));
    if (run->folder) TN_TRY(checkpoint_path(s, &path));
    result->epochs = run->settings.epochs;
    TN_TRY(TN_NEW(s->arena, run->settings.epochs, &result->epoch, s->error));
    if (path && run->resume)
        TN_TRY(tn_checkpoint_read(path, s->trainer, s->identity, s->arena, result, &found, s->error));
    if (found) TN_TRY(check_resumed(s, path));
    if (!found) result->epochs = 0;
    s->last_epoch =
        run->stop_after && run->stop_after < run->settings.epochs ? run->stop_after : run->settings.epochs;
    while (result->epochs < s->last_epoch) {
        tn_epoch *epoch = &result->epoch[result->epochs];
        TN_TRY(train_epoch(s, result->epochs + 1, epoch));
        if (result->diverged) return TN_OK;
        TN_TRY(score(s, &run->data->test, &epoch->test, answers));
        TN_TRY(score(s, &run->data->dev, &epoch->dev, answers));
        epoch->collapsed = has_collapsed(s, answers);
        result->epochs++;
        if (path) TN_TRY(tn_checkpoint_write(path, s->trainer, s->identity, result, s->error));
        if (run->watch.finished) run->watch.finished(run->watch.user, epoch);
    }
    TN_TRY(judge(s));
    if (result->epochs == run->settings.epochs) TN_TRY(end_adapting(s));
    if (!run->folder) return TN_OK;
    TN_TRY(tn_routes_write(run->folder, result, s->error));
    return tn_weights_write(run->folder, s->trainer, s->error);
}

/* What training by accumulated gradient starts from is what the seed draws. */
static tn_status read_weights(session *s) {
    const tn_model_sparsity *sparsity = &s->run->model->keys.sparsity;
    if (sparsity->selection == TN_SELECTION_ACCUMULATED && sparsity->weights < 1 &&
        !tn_trainer_is_inference(s->trainer))
        return tn_fail_at(
            s->error, TN_INPUT, sparsity->selection_at,
            "sparsity.selection accumulated-gradient measures from the initial values of the seed, which "
            "weights that are given are not; leave --weights out, or set selection: magnitude");
    return tn_weights_read(s->run->weights, s->trainer, s->error);
}

static tn_status run_session(session *s) {
    const tn_training *run = s->run;
    TN_TRY(tn_trainer_new(run->model, &run->settings, run->real, &s->trainer, s->error));
    tn_trainer_set_threads(s->trainer, run->threads);
    if (run->data) TN_TRY(tn_dataset_check(run->data, s->trainer, s->error));
    s->batch_examples = tn_trainer_batch(s->trainer);
    s->result->parameters = tn_trainer_parameter_elements(s->trainer);
    s->result->seed = run->settings.seed;
    s->guess_loss = guess_loss(s);
    TN_TRY(measure_step(s));
    TN_TRY(tn_initialise(s->trainer, &run->settings, s->error));
    if (run->weights) TN_TRY(read_weights(s));
    if (run->folder) TN_TRY(tn_folder_lock(run->folder, &s->folder, s->error));
    TN_TRY(begin_history(s));
    if (!run->data) return time_steps(s);
    if (tn_trainer_is_inference(s->trainer))
        return tn_infer_data(run, s->trainer, s->arena, s->result, s->error);
    s->result->examples = run->data->train.count;
    s->steps_per_epoch = (run->data->train.count + s->batch_examples - 1) / s->batch_examples;
    TN_TRY(train(s));
    return write_history(s);
}

tn_status tn_training_run(const tn_training *training, tn_arena *arena, tn_training_result *result,
                          tn_error *error) {
    session s = {.run = training, .result = result, .arena = arena, .error = error};
    *result = (tn_training_result){0};
    tn_status status = run_session(&s);
    if (status == TN_OK) status = tn_trainer_zeros(s.trainer, arena, &result->zeros, error);
    result->wide_share = status == TN_OK ? tn_trainer_wide_share(s.trainer) : NAN;
    /* An evaluation has noted its own. */
    if (!result->evaluated)
        result->seconds_per_step = s.timed_steps ? s.seconds / (double)s.timed_steps : NAN;
    tn_trainer_free(s.trainer);
    tn_buffer_free(&s.history);
    tn_folder_unlock(&s.folder);
    return status;
}

static uint64_t mean_macs(const tn_training_result *result, bool executed) {
    long double sum = 0;
    if (result->sorts == 1) return executed ? result->sort[0].macs.executed : result->sort[0].macs.predicted;
    for (size_t i = 0; i < result->sorts; i++)
        sum += (long double)result->sort[i].share *
               (long double)(executed ? result->sort[i].macs.executed : result->sort[i].macs.predicted);
    return (uint64_t)llroundl(sum);
}

tn_status tn_note_sort(tn_trainer *trainer, uint32_t sort, const tn_step_result *result, tn_arena *arena,
                       tn_training_result *training, tn_error *error) {
    const char *name;
    TN_TRY(tn_trainer_sort_name(trainer, sort, arena, &name, error));
    training->sort[training->sorts++] =
        (tn_step_sort_result){.name = name,
                              .share = tn_trainer_sort_share(trainer, sort),
                              .macs = {result->macs_predicted, result->macs},
                              .peak_elements = {result->peak_elements_predicted, result->peak_elements}};
    training->macs_per_step = (tn_predicted_executed){mean_macs(training, false), mean_macs(training, true)};
    training->peak_elements.predicted =
        tn_greatest(training->peak_elements.predicted, result->peak_elements_predicted);
    training->peak_elements.executed = tn_greatest(training->peak_elements.executed, result->peak_elements);
    return TN_OK;
}
