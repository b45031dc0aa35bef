/* tenfold train (MODEL | DIR --point ID) --data FOLDER | --case FOLDER */
#include "base/guard.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "learn/generated.h"
#include "learn/training.h"
#include "learn/training_figure.h"
#include "train/train_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    tn_common common;
    const char *target, *path, *point, *data, *schedule, *tokens, *precision, *weights, *folder, *generate,
        *device, *format, *history;
    uint64_t epochs, seed, steps, threads, sentences, score_steps, gradient_steps;
    double rate, rank_penalty;
    tn_real real;
    bool resume, plot;
    tn_option_list loss_weight, set;
} request;

static bool pairs_agree(const tn_predicted_executed *macs, const tn_predicted_executed *peak) {
    return macs->predicted == macs->executed && peak->predicted == peak->executed;
}

static bool counts_agree(const tn_training_result *r) {
    for (size_t i = 0; i < r->sorts; i++)
        if (!pairs_agree(&r->sort[i].macs, &r->sort[i].peak_elements)) return false;
    return pairs_agree(&r->macs_per_step, &r->peak_elements) && r->macs.predicted == r->macs.executed &&
           pairs_agree(&r->adapted.macs_per_step, &r->adapted.peak_elements);
}

static const tn_column check_columns[] = {
    TN_COLUMN(tn_train_check, name, "check"),
    TN_COLUMN(tn_train_check, quantity, "quantity"),
    TN_NAME("precision", tn_train_check, real, tn_real_names, "precision"),
    TN_COLUMN(tn_train_check, flow, "flow"),
    TN_COLUMN(tn_train_check, relative_error, "relative error", TN_POWER(1)),
    TN_COLUMN(tn_train_check, tolerance, "tolerance", TN_POWER(0)),
    TN_COLUMN(tn_train_check, worst, "worst array"),
    TN_COLUMN(tn_train_check, ok, "ok"),
};
static const tn_record check_record = TN_RECORD(tn_train_check, check_columns);

typedef struct case_answer {
    const tn_train_check *check;
    size_t count;
    bool ok;
} case_answer;
static const tn_column case_columns[] = {
    TN_ROWS("checks", case_answer, check, count, check_record, NULL),
    TN_COLUMN(case_answer, ok, NULL),
};
static const tn_record case_record = TN_RECORD(case_answer, case_columns);

static tn_status print_case(const request *asked, const tn_train_checks *checks, tn_error *error) {
    const case_answer answer = {checks->item, checks->count, !checks->failed};
    if (asked->common.json) return tn_output_json(&case_record, &answer, error);
    return tn_output_rows(&check_record, checks->item, checks->count, error);
}

static tn_status run_case(const request *asked, int *answer, tn_error *error) {
    tn_train_checks checks = {0};
    tn_status status = tn_train_case(asked->path, NULL, (uint32_t)asked->threads, &checks, error);
    if (status == TN_OK) status = print_case(asked, &checks, error);
    *answer = checks.failed ? 1 : 0;
    tn_train_checks_free(&checks);
    return status;
}

/* Of a text: labels without chunks and classes. */
static double perplexity(const tn_scores *scores) {
    return isnan(scores->slot_f1) && isnan(scores->intent_accuracy) && !isnan(scores->slot_accuracy)
               ? exp(scores->loss)
               : NAN;
}
static void put_perplexity(const void *row, tn_json *json) {
    tn_json_real(json, perplexity(row));
}
static void perplexity_cell(const tn_scores *scores, tn_buffer *cell) {
    if (isnan(perplexity(scores)))
        tn_buffer_text(cell, "-");
    else
        tn_buffer_format(cell, "%.3f", perplexity(scores));
}
static void dev_perplexity_cell(const void *row, tn_buffer *cell) {
    perplexity_cell(&((const tn_epoch *)row)->dev, cell);
}
static void test_perplexity_cell(const void *row, tn_buffer *cell) {
    perplexity_cell(&((const tn_epoch *)row)->test, cell);
}

static const tn_column scores_columns[] = {
    TN_COLUMN(tn_scores, loss, NULL),
    TN_COLUMN(tn_scores, intent_accuracy, NULL),
    TN_COLUMN(tn_scores, slot_accuracy, NULL),
    TN_COLUMN(tn_scores, slot_f1, NULL),
    {.key = "perplexity", .put = put_perplexity},
};
static const tn_record scores_record = TN_RECORD(tn_scores, scores_columns);
/* Of one part of the data: an object in JSON, three columns for people. */
#define SCORE_COLUMNS(type, part, field)                                                                     \
    TN_OBJECT(part, type, field, scores_record, NULL),                                                       \
        TN_COLUMN_AS(NULL, type, field.intent_accuracy, part " intent", TN_PERCENT),                         \
        TN_COLUMN_AS(NULL, type, field.slot_accuracy, "slot", TN_PERCENT),                                   \
        TN_COLUMN_AS(NULL, type, field.slot_f1, "F1", TN_PERCENT)
static const tn_column epoch_columns[] = {
    TN_COLUMN(tn_epoch, epoch, "epoch"),
    TN_COLUMN(tn_epoch, loss, "training loss"),
    TN_COLUMN(tn_epoch, learning_rate, "rate"),
    SCORE_COLUMNS(tn_epoch, "dev", dev),
    {.cell = dev_perplexity_cell, .title = "dev perplexity", .kind = TN_COLUMN_TEXT},
    SCORE_COLUMNS(tn_epoch, "test", test),
    {.cell = test_perplexity_cell, .title = "test perplexity", .kind = TN_COLUMN_TEXT},
};
static const tn_record epoch_record = TN_RECORD(tn_epoch, epoch_columns);
static const tn_column pair_columns[] = {
    TN_COLUMN(tn_predicted_executed, predicted, NULL),
    TN_COLUMN(tn_predicted_executed, executed, NULL),
};
static const tn_record pair_record = TN_RECORD(tn_predicted_executed, pair_columns);

static const tn_column adapted_layer_columns[] = {
    TN_COLUMN(tn_adapted_layer, layer, "layer"),
    TN_LIST("ranks", tn_adapted_layer, rank, ranks, "ranks"),
    TN_COLUMN(tn_adapted_layer, parameters, "parameters"),
};
static const tn_record adapted_layer_record = TN_RECORD(tn_adapted_layer, adapted_layer_columns);
static const tn_column price_columns[] = {
    TN_COLUMN(tn_device_price, seconds_per_step, NULL),
    TN_COLUMN(tn_device_price, memory_bytes, NULL),
};
static const tn_record price_record = TN_RECORD(tn_device_price, price_columns);
static const tn_column adapted_columns[] = {
    TN_COLUMN(tn_adapted, slices, NULL),
    TN_COLUMN(tn_adapted, slices_left, NULL),
    TN_COLUMN(tn_adapted, parameters, NULL),
    TN_OBJECT("macs_per_step", tn_adapted, macs_per_step, pair_record, NULL),
    TN_OBJECT("peak_elements", tn_adapted, peak_elements, pair_record, NULL),
    TN_OBJECT("before", tn_adapted, before, price_record, NULL, TN_WHEN(tn_adapted, priced), TN_OPTIONAL),
    TN_OBJECT("after", tn_adapted, after, price_record, NULL, TN_WHEN(tn_adapted, priced), TN_OPTIONAL),
    TN_OBJECT("dev", tn_adapted, dev, scores_record, NULL),
    TN_OBJECT("test", tn_adapted, test, scores_record, NULL),
    TN_ROWS("layers", tn_adapted, layer, layers, adapted_layer_record, NULL),
};
static const tn_record adapted_record = TN_RECORD(tn_adapted, adapted_columns);
static const tn_column sort_columns[] = {
    TN_COLUMN(tn_step_sort_result, name, "steps"),
    TN_COLUMN(tn_step_sort_result, share, "share"),
    TN_OBJECT("macs", tn_step_sort_result, macs, pair_record, NULL),
    TN_COLUMN_AS(NULL, tn_step_sort_result, macs.executed, "multiply-adds"),
    TN_OBJECT("peak_elements", tn_step_sort_result, peak_elements, pair_record, NULL),
    TN_COLUMN_AS(NULL, tn_step_sort_result, peak_elements.executed, "live elements"),
};
static const tn_record sort_record = TN_RECORD(tn_step_sort_result, sort_columns);

static const tn_column zeros_columns[] = {
    TN_COLUMN(tn_layer_zeros, layer, "layer"),
    TN_COLUMN(tn_layer_zeros, phase, "phase"),
    TN_COLUMN(tn_layer_zeros, activations, "activations"),
    TN_COLUMN(tn_layer_zeros, gradients, "gradients"),
    TN_COLUMN(tn_layer_zeros, skip_activations, "its skip"),
    TN_COLUMN(tn_layer_zeros, skip_gradients, "skip"),
};
static const tn_record zeros_record = TN_RECORD(tn_layer_zeros, zeros_columns);
static const tn_column all_zeros_columns[] = {
    TN_COLUMN(tn_zeros, activations, NULL),
    TN_COLUMN(tn_zeros, gradients, NULL),
    TN_COLUMN(tn_zeros, skip_activations, NULL),
    TN_COLUMN(tn_zeros, skip_gradients, NULL),
    TN_ROWS("layers", tn_zeros, layer, layers, zeros_record, NULL),
};
static const tn_record all_zeros_record = TN_RECORD(tn_zeros, all_zeros_columns);

static const tn_column load_columns[] = {
    TN_COLUMN(tn_router_load, layer, "experts"),   TN_COLUMN(tn_router_load, expert, "expert"),
    TN_COLUMN(tn_router_load, tokens, "tokens"),   TN_COLUMN(tn_router_load, share, "share", TN_PERCENT),
    TN_COLUMN(tn_router_load, dropped, "dropped"),
};
static const tn_record load_record = TN_RECORD(tn_router_load, load_columns);

typedef struct answer_data {
    const char *model, *data, *tokens, *precision;
    tn_training_result result;
} answer_data;
static const tn_column answer_columns[] = {
    TN_COLUMN(answer_data, model, NULL),
    TN_COLUMN(answer_data, data, NULL),
    TN_COLUMN(answer_data, tokens, NULL),
    TN_COLUMN(answer_data, precision, NULL),
    TN_COLUMN_AS("seed", answer_data, result.seed, NULL),
    TN_COLUMN_AS("parameters", answer_data, result.parameters, NULL),
    TN_COLUMN_AS("steps", answer_data, result.steps, NULL),
    TN_OBJECT("macs_per_step", answer_data, result.macs_per_step, pair_record, NULL),
    TN_OBJECT("peak_elements", answer_data, result.peak_elements, pair_record, NULL),
    TN_ROWS("sorts", answer_data, result.sort, result.sorts, sort_record, NULL),
    TN_OBJECT("macs", answer_data, result.macs, pair_record, NULL),
    TN_OBJECT("zeros", answer_data, result.zeros, all_zeros_record, NULL),
    TN_COLUMN_AS("wide_share", answer_data, result.wide_share, NULL),
    TN_COLUMN_AS("device_seconds", answer_data, result.device_seconds, NULL,
                 TN_WHEN(answer_data, result.priced), TN_OPTIONAL),
    TN_COLUMN_AS("device_joules", answer_data, result.device_joules, NULL,
                 TN_WHEN(answer_data, result.priced), TN_OPTIONAL),
    TN_COLUMN_AS("seconds_per_step", answer_data, result.seconds_per_step, NULL),
    TN_OBJECT("adapted", answer_data, result.adapted, adapted_record, NULL,
              TN_WHEN(answer_data, result.adapted.done), TN_OPTIONAL),
    TN_ROWS("experts", answer_data, result.load, result.loads, load_record, NULL),
    TN_ROWS("epochs", answer_data, result.epoch, result.epochs, epoch_record, NULL),
};
static const tn_record answer_record = TN_RECORD(answer_data, answer_columns);

static tn_status print_adapted(const tn_adapted *adapted, tn_error *error) {
    char parameters[32], macs[32];
    tn_say("\n%llu of %llu slices are left: %s parameters, %s multiply-adds a step, executed %s\n",
           (unsigned long long)adapted->slices_left, (unsigned long long)adapted->slices,
           tn_count_text(adapted->parameters, parameters),
           tn_count_text(adapted->macs_per_step.executed, macs),
           pairs_agree(&adapted->macs_per_step, &adapted->peak_elements) ? "as predicted"
                                                                         : "and NOT as predicted");
    if (adapted->priced)
        tn_say("on the device: %.3f ms a step and %.3f MB of memory, before %.3f ms and %.3f MB\n",
               1e3 * adapted->after.seconds_per_step, 1e-6 * (double)adapted->after.memory_bytes,
               1e3 * adapted->before.seconds_per_step, 1e-6 * (double)adapted->before.memory_bytes);
    tn_say("the trimmed model: dev intent %.1f %%, slot %.1f %%; test intent %.1f %%, slot %.1f %%, F1 %.1f "
           "%%\n",
           100 * adapted->dev.intent_accuracy, 100 * adapted->dev.slot_accuracy,
           100 * adapted->test.intent_accuracy, 100 * adapted->test.slot_accuracy,
           100 * adapted->test.slot_f1);
    return tn_output_rows(&adapted_layer_record, adapted->layer, adapted->layers, error);
}

/* Of phase: inference. */
static const tn_column exit_columns[] = {
    TN_COLUMN(tn_exit_result, name, "inputs"),         TN_COLUMN(tn_exit_result, entropy, "entropy up to"),
    TN_COLUMN(tn_exit_result, wanted, "wanted share"), TN_COLUMN(tn_exit_result, of_dev, "of dev"),
    TN_COLUMN(tn_exit_result, of_test, "of test"),
};
static const tn_record exit_record = TN_RECORD(tn_exit_result, exit_columns);
static const tn_column split_columns[] = {
    SCORE_COLUMNS(answer_data, "dev", result.dev),
    SCORE_COLUMNS(answer_data, "test", result.test),
};
static const tn_record split_record = TN_RECORD(answer_data, split_columns);
static const tn_column evaluation_columns[] = {
    TN_COLUMN(answer_data, model, NULL),
    TN_COLUMN(answer_data, data, NULL),
    TN_COLUMN(answer_data, tokens, NULL),
    TN_COLUMN(answer_data, precision, NULL),
    TN_COLUMN_AS("parameters", answer_data, result.parameters, NULL),
    TN_COLUMN_AS("passes", answer_data, result.steps, NULL),
    TN_OBJECT("macs_per_step", answer_data, result.macs_per_step, pair_record, NULL),
    TN_OBJECT("peak_elements", answer_data, result.peak_elements, pair_record, NULL),
    TN_ROWS("sorts", answer_data, result.sort, result.sorts, sort_record, NULL),
    TN_OBJECT("macs", answer_data, result.macs, pair_record, NULL),
    TN_COLUMN_AS("seconds_per_pass", answer_data, result.seconds_per_step, NULL),
    TN_OBJECT("dev", answer_data, result.dev, scores_record, NULL),
    TN_OBJECT("test", answer_data, result.test, scores_record, NULL),
    TN_ROWS("exits", answer_data, result.exit, result.exits, exit_record, NULL),
};
static const tn_record evaluation_record = TN_RECORD(answer_data, evaluation_columns);

static tn_status print_evaluation(const request *asked, const answer_data *answer, tn_error *error) {
    const tn_training_result *r = &answer->result;
    char macs[32], peak[32], parameters[32];
    if (asked->common.json) return tn_output_json(&evaluation_record, answer, error);
    tn_say("%s: %s parameters, %s, nothing trained\n", answer->model,
           tn_count_text(r->parameters, parameters), answer->precision);
    tn_say("a pass of the full sequence: %s multiply-adds and %s live elements, executed %s\n",
           tn_count_text(r->macs_per_step.executed, macs), tn_count_text(r->peak_elements.executed, peak),
           counts_agree(r) ? "as predicted" : "and NOT as predicted");
    tn_say("%llu passes, %.3f ms each\n", (unsigned long long)r->steps, 1e3 * r->seconds_per_step);
    if (r->exits) TN_TRY(tn_output_rows(&exit_record, r->exit, r->exits, error));
    return tn_output_rows(&split_record, answer, 1, error);
}

static tn_status print_training(const request *asked, const answer_data *answer, tn_error *error) {
    const tn_training_result *r = &answer->result;
    char macs[32], peak[32], parameters[32];
    if (r->evaluated) return print_evaluation(asked, answer, error);
    if (asked->common.json) return tn_output_json(&answer_record, answer, error);
    tn_say("%s: %s parameters, %s, seed %llu\n", answer->model, tn_count_text(r->parameters, parameters),
           answer->precision, (unsigned long long)r->seed);
    tn_say("a step of the full sequence: %s multiply-adds and %s live elements, executed %s\n",
           tn_count_text(r->macs_per_step.executed, macs), tn_count_text(r->peak_elements.executed, peak),
           counts_agree(r) ? "as predicted" : "and NOT as predicted");
    if (r->sorts > 1) TN_TRY(tn_output_rows(&sort_record, r->sort, r->sorts, error));
    if (isnan(r->seconds_per_step))
        tn_say("%llu steps, none of them in this run\n", (unsigned long long)r->steps);
    else
        tn_say("%llu steps, %.3f ms each\n", (unsigned long long)r->steps, 1e3 * r->seconds_per_step);
    tn_say("zeros among operands: sparsity.activations=%.4g, sparsity.gradients=%.4g\n", r->zeros.activations,
           r->zeros.gradients);
    if (r->priced)
        tn_say("on the device these steps take %.4g s and %.4g J, as predicted\n", r->device_seconds,
               r->device_joules);
    if (!isnan(r->wide_share)) tn_say("wide operands: precision_schedule.wide_share=%.4g\n", r->wide_share);
    if (r->loads) {
        tn_say("\nwhat routers sent to each expert, %s:\n", r->epochs ? "last pass" : "all steps");
        TN_TRY(tn_output_rows(&load_record, r->load, r->loads, error));
        tn_say("\n");
    }
    if (r->epochs) TN_TRY(tn_output_rows(&epoch_record, r->epoch, r->epochs, error));
    return r->adapted.done ? print_adapted(&r->adapted, error) : TN_OK;
}

/* The bar names the mean loss of the epoch so far and the rate. */
typedef struct watched {
    tn_watch watch;
    char detail[64];
} watched;

static void report(void *user, uint64_t step, uint64_t steps, double loss, double rate) {
    watched *w = user;
    snprintf(w->detail, sizeof w->detail, "loss %.4f, rate %.2g", loss, rate);
    w->watch.detail = w->detail;
    tn_progress_report(&w->watch.progress, step, steps);
}

static tn_status override_settings(const request *asked, tn_train_settings *settings, tn_arena *arena,
                                   tn_error *error) {
    tn_yaml *root;
    const char *text;
    tn_train_settings given;
    if (asked->epochs) settings->epochs = asked->epochs;
    if (asked->seed != UINT64_MAX) settings->seed = asked->seed;
    if (!isnan(asked->rank_penalty)) settings->rank_penalty = asked->rank_penalty;
    if (settings->rank_penalty < 0 || settings->rank_penalty > 1e6)
        return tn_fail(error, TN_INPUT, "--adapt-ranks %g; it must be from 0 to 1e6", settings->rank_penalty);
    if (!isnan(asked->rate)) settings->learning_rate = asked->rate;
    if (settings->learning_rate < 0 || settings->learning_rate > 1e6)
        return tn_fail(error, TN_INPUT, "--learning-rate %g; it must be from 0 to 1e6",
                       settings->learning_rate);
    for (size_t i = 0; i < asked->loss_weight.count; i++)
        TN_TRY(tn_train_settings_weight(settings, asked->loss_weight.item[i], arena, error));
    if (!asked->schedule && !asked->tokens) return TN_OK;
    TN_TRY(tn_arena_format(arena, &text, error, "{%s%s%s%s%s}", asked->schedule ? "schedule: " : "",
                           asked->schedule ? asked->schedule : "",
                           asked->schedule && asked->tokens ? ", " : "", asked->tokens ? "tokens: " : "",
                           asked->tokens ? asked->tokens : ""));
    TN_TRY(tn_yaml_parse("the options", text, strlen(text), arena, &root, error));
    TN_TRY(tn_train_settings_decode(root, arena, &given, error));
    if (asked->schedule) settings->schedule = given.schedule;
    if (asked->tokens) settings->lengths = given.lengths;
    return TN_OK;
}

static tn_status train(const request *asked, const tn_target *target, tn_arena *arena, answer_data *answer,
                       tn_error *error) {
    const tn_model *model = target->design.model;
    tn_dataset data;
    watched watch;
    tn_loss_curve curve = {0};
    tn_figure_format format;
    TN_TRY(tn_figure_format_find(asked->format, &format, error));
    tn_training run = {.model = model,
                       .steps = asked->steps,
                       .threads = (uint32_t)asked->threads,
                       .real = asked->real,
                       .weights = asked->weights,
                       .folder = asked->folder,
                       .resume = asked->resume,
                       .design = target->design.device ? &target->design : NULL,
                       .priced = target->design.device && (asked->device || asked->history),
                       .history = asked->history,
                       .score_steps = asked->score_steps,
                       .gradient_steps = asked->gradient_steps,
                       .watch = {.report = asked->common.quiet ? NULL : report,
                                 .user = &watch,
                                 .stepped = asked->plot ? tn_loss_curve_step : NULL,
                                 .curve = &curve}};
    TN_TRY(tn_train_settings_decode(tn_model_training(model), arena, &run.settings, error));
    TN_TRY(override_settings(asked, &run.settings, arena, error));
    *answer = (answer_data){.model = tn_model_name(model),
                            .data = asked->data,
                            .tokens = tn_length_names[run.settings.lengths],
                            .precision = tn_real_names[asked->real]};
    if (asked->steps) {
        answer->tokens = tn_length_names[TN_LENGTHS_PADDED];
    } else {
        TN_TRY(tn_dataset_load(asked->data, tn_model_sequence(model), arena, &data, error));
        run.data = &data;
    }
    tn_watch_begin(&watch.watch, "steps", asked->common.quiet);
    tn_status status = tn_training_run(&run, arena, &answer->result, error);
    tn_watch_end(&watch.watch);
    if (status == TN_OK && asked->plot && !answer->result.evaluated)
        status = tn_training_figure(asked->folder, answer->model, &answer->result, run.data, &curve, format,
                                    error);
    tn_buffer_free(&curve.data);
    return status;
}

static tn_status run_training(const request *asked, int *status_answer, tn_error *error) {
    tn_arena arena = {0};
    tn_target target = {0};
    answer_data answer;
    tn_status status =
        tn_target_load(asked->target, asked->point, asked->device, NULL, &asked->set, &arena, &target, error);
    if (status == TN_OK) status = train(asked, &target, &arena, &answer, error);
    if (status == TN_OK && answer.result.diverged) {
        tn_note("tenfold: %s", answer.result.diverged);
        *status_answer = 1;
    } else if (status == TN_OK) {
        *status_answer = counts_agree(&answer.result) && !answer.result.collapsed ? 0 : 1;
        status = print_training(asked, &answer, error);
        if (status == TN_OK && answer.result.collapsed) tn_note("tenfold: %s", answer.result.collapsed);
    }
    tn_target_free(&target);
    tn_arena_free(&arena);
    return status;
}

static const tn_column generated_columns[] = {
    TN_COLUMN(tn_generated, train, NULL),
    TN_COLUMN(tn_generated, dev, NULL),
    TN_COLUMN(tn_generated, test, NULL),
    TN_COLUMN(tn_generated, seed, NULL),
};
static const tn_record generated_record = TN_RECORD(tn_generated, generated_columns);

enum { TENTH = 10, FIFTH = 5, SENTENCES_MOST = 1000000, THREADS_MOST = 256 };

/* Data where none are at hand. */
static tn_status generate(request *asked, tn_error *error) {
    tn_generated how = tn_generated_default;
    if (asked->target || asked->path || asked->data || asked->folder || asked->resume || asked->steps ||
        asked->epochs || asked->weights || asked->set.count || asked->point)
        return tn_fail(error, TN_INPUT, "--generate FOLDER stands alone, with --sentences and --seed");
    if (asked->sentences < TENTH || asked->sentences > SENTENCES_MOST)
        return tn_fail(error, TN_INPUT, "--sentences %llu; it must be from %d to %d",
                       (unsigned long long)asked->sentences, TENTH, SENTENCES_MOST);
    if (asked->seed != UINT64_MAX) how.seed = asked->seed;
    how.train = asked->sentences;
    how.dev = asked->sentences / TENTH;
    how.test = asked->sentences / FIFTH;
    TN_TRY(tn_command_output(&asked->common, asked->generate, error));
    TN_TRY(tn_generated_write(asked->generate, &how, error));
    if (asked->common.json) return tn_output_json(&generated_record, &how, error);
    tn_say("%s: %llu, %llu and %llu sentences to train, dev and test, seed %llu\n", asked->generate,
           (unsigned long long)how.train, (unsigned long long)how.dev, (unsigned long long)how.test,
           (unsigned long long)how.seed);
    return TN_OK;
}

/* What the run at hand has no use for; nothing is ignored without a word. */
static tn_status refuse_unused(const request *asked, tn_error *error) {
    bool steps = asked->steps > 0, replay = asked->path != NULL;
    const struct {
        bool given;
        const char *name;
    } unused[] = {
        {(steps || replay) && asked->folder, "-o"},
        {(steps || replay) && asked->resume, "--resume"},
        {(steps || replay) && asked->plot, "--plot"},
        {(steps || replay) && asked->epochs, "--epochs"},
        {(steps || replay) && asked->tokens, "--tokens"},
        {(steps || replay) && asked->history, "--history"},
        {(steps || replay) && !isnan(asked->rank_penalty), "--adapt-ranks"},
        {replay && asked->data, "--data"},
        {replay && asked->steps, "--steps"},
        {replay && asked->point, "--point"},
        {replay && asked->device, "--device"},
        {replay && asked->set.count, "--set"},
        {replay && asked->weights, "--weights"},
        {replay && asked->seed != UINT64_MAX, "--seed"},
        {replay && asked->schedule, "--schedule"},
        {replay && !isnan(asked->rate), "--learning-rate"},
        {replay && asked->loss_weight.count, "--loss-weight"},
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i].given)
            return tn_fail(error, TN_INPUT, "%s does nothing with %s; leave it out", unused[i].name,
                           replay ? "--case" : "--data none");
    return TN_OK;
}

static tn_status check_request(request *asked, tn_error *error) {
    if ((asked->target != NULL) == (asked->path != NULL))
        return tn_fail(error, TN_INPUT,
                       "train takes a model or a sweep's folder, or --case; see tenfold help train");
    TN_TRY(refuse_unused(asked, error));
    if (asked->path) return TN_OK;
    bool none = asked->data && strcmp(asked->data, "none") == 0;
    if (!asked->data)
        return tn_fail(error, TN_INPUT, "--data FOLDER is missing; --data none --steps N times steps alone");
    if (none != (asked->steps > 0))
        return tn_fail(error, TN_INPUT, "--steps N goes with --data none, and that with it");
    if (asked->resume && !asked->folder)
        return tn_fail(error, TN_INPUT, "--resume needs -o OUT, where the checkpoint lies");
    if ((asked->score_steps || asked->gradient_steps) && !asked->history)
        return tn_fail(error, TN_INPUT,
                       "--score-steps and --gradient-noise fill columns of --history FILE, which is missing");
    if (asked->gradient_steps == 1)
        return tn_fail(error, TN_INPUT, "--gradient-noise 1; a variance is of 2 steps or more");
    if (asked->history && asked->resume)
        return tn_fail(error, TN_INPUT, "--history is of a whole run; leave --resume out");
    if (asked->plot && !asked->folder)
        return tn_fail(error, TN_INPUT, "--plot needs -o OUT; it draws OUT/figures/training");
    for (int real = 0; real < TN_REALS; real++)
        if (strcmp(asked->precision, tn_real_names[real]) == 0) {
            asked->real = (tn_real)real;
            return TN_OK;
        }
    return tn_fail(error, TN_INPUT, "--precision %s; it is float32 or float64", asked->precision);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    asked->target = asked->common.argument[0];
    if (asked->threads == 0 || asked->threads > THREADS_MOST)
        return tn_fail(error, TN_INPUT, "--threads %llu; it must be from 1 to %d",
                       (unsigned long long)asked->threads, THREADS_MOST);
    if (asked->generate) return generate(asked, error);
    TN_TRY(check_request(asked, error));
    TN_TRY(tn_blas_room(error));
    return asked->path ? run_case(asked, answer, error) : run_training(asked, answer, error);
}

static const request defaults = {.seed = UINT64_MAX,
                                 .rate = NAN,
                                 .rank_penalty = NAN,
                                 .threads = 1,
                                 .sentences = 2000,
                                 .precision = "float32",
                                 .format = "png"};
static const tn_option options[] = {
    {"--data", TN_INTO(request, data), "FOLDER|FILE|none",
     "train, dev and test with seq.in, seq.out, label; or a text, byte by byte"},
    {"--epochs", TN_INTO(request, epochs), "N", "passes over the data (training.epochs, 8)"},
    {"--seed", TN_INTO(request, seed), "N", "of initial values and order (training.seed, 1)"},
    {"--learning-rate", TN_INTO(request, rate), "X", "of the first step (training.learning_rate, 0.01)"},
    {"--schedule", TN_INTO(request, schedule), "constant|linear", "of the rate (linear: to 0 at the end)"},
    {"--loss-weight", TN_INTO(request, loss_weight), "NAME=FACTOR", "factor of a loss, slot=4 (repeatable)"},
    {"--adapt-ranks", TN_INTO(request, rank_penalty), "PENALTY",
     "let slices of cores vanish; model.yaml in OUT is the trimmed model (training.rank_penalty, 0)"},
    {"--device", TN_INTO(request, device), "DEVICE",
     "adds up what the steps take there; with --adapt-ranks a slice's latency and memory weigh its penalty "
     "(none)"},
    {"--history", TN_INTO(request, history), "FILE",
     "CSV: a row for each step with its loss and, with --device, seconds and joules so far (none)"},
    {"--score-steps", TN_INTO(request, score_steps), "N", "with --history: score dev every N steps, too"},
    {"--gradient-noise", TN_INTO(request, gradient_steps), "N",
     "with --history: variance of the gradients of every N steps, and what is common to them"},
    {"--tokens", TN_INTO(request, tokens), "true|padded", "run the true lengths, or all padded (true)"},
    {"--precision", TN_INTO(request, precision), "float32|float64", "of the arithmetic (float32)"},
    {"--threads", TN_INTO(request, threads), "N",
     "that execute a step; the result is the same for any number (1)"},
    {"--weights", TN_INTO(request, weights), "FILE", "initial parameters, .npz or .safetensors (drawn)"},
    {"--resume", TN_INTO(request, resume), NULL, "go on from the checkpoint in OUT"},
    {"-o", TN_INTO(request, folder), "OUT", "folder of checkpoint and weights (none)"},
    {"--plot", TN_INTO(request, plot), NULL, "draw loss and accuracy by step into OUT/figures"},
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format of --plot (png)"},
    {"--steps", TN_INTO(request, steps), "N", "with --data none: time N steps on random words"},
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: this design"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model; with --point: what if; repeatable"},
    {"--case", TN_INTO(request, path), "FOLDER", "compare with a reference run"},
    {"--generate", TN_INTO(request, generate), "FOLDER", "write generated travel questions there"},
    {"--sentences", TN_INTO(request, sentences), "N",
     "with --generate: of train (2000); dev a tenth, test a fifth"},
};

const tn_command tn_command_train = {
    .name = "train",
    .summary = "train a model on this CPU: the priced step, executed; or compare with a reference run",
    .usage = "MODEL --data FOLDER [--set KEY=VALUE]... [-o OUT]\nDIR --point ID --data FOLDER [--set "
             "KEY=VALUE]... [-o OUT]\nMODEL --data none "
             "--steps N\n--case FOLDER\n--generate FOLDER [--sentences N] [--seed N]",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record, &evaluation_record, &case_record, &generated_record),
    .answer = answer,
};
