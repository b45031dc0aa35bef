/* tenfold finetune fit|max-batch|cost|predict|count: the fine-tuning cost model, one file a subcommand. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"

#include "base/name_index.h"
#include "cli/commands.h"
#include "finetune/count.h"
#include "finetune/language_model.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tn_status tn_law_choice_find(const char *name, tn_law_choice *choice, tn_error *error) {
    static const char *const names[] = {"best", "log", "step"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *choice = (tn_law_choice)i;
            return TN_OK;
        }
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown law '%.60s'; %s", name,
                   tn_suggestion(name, names, 3, told, sizeof told));
}

tn_status tn_study_and_choose(const tn_finetune_group *group, tn_law_choice choice, double c3,
                              tn_arena *arena, tn_finetune_study *study, tn_finetune_law *law,
                              tn_error *error) {
    if (c3 == 0) {
        tn_language_model model;
        bool found;
        TN_TRY(tn_language_model_find(group->model, arena, &model, &found, error));
        if (found && model.published_at.line) c3 = model.published.c3;
    }
    TN_TRY(tn_finetune_study_group(group, c3, study, error));
    *law = choice == TN_LAW_LOG ? TN_FINETUNE_LOG : choice == TN_LAW_STEP ? TN_FINETUNE_STEP : study->best;
    if (study->fitted[*law]) return TN_OK;
    return tn_finetune_fit_group(group, *law, c3, &study->fit[*law], error);
}

tn_status tn_model_memory(const char *name, tn_arena *arena, double *GB, tn_error *error) {
    tn_language_model model;
    tn_language_count count;
    bool found;
    *GB = NAN;
    TN_TRY(tn_language_model_find(name, arena, &model, &found, error));
    if (!found) return TN_OK;
    TN_TRY(tn_language_count_of(&model, 1, model.feed_forward.active, &count, error));
    *GB = model.published_at.line ? model.published.model_GB : (double)count.weight_bytes / 1e9;
    return TN_OK;
}

tn_status tn_need_positive(const char *what, double value, double most, tn_error *error) {
    if (value > 0 && value <= most) return TN_OK;
    return tn_fail(error, TN_INPUT, "%s is %g; it must be above 0 and at most %g", what, value, most);
}

tn_status tn_take_prices(const tn_option_list *given, tn_gpu_table *table, tn_error *error) {
    for (size_t i = 0; i < given->count; i++) {
        const char *text = given->item[i], *equals = strrchr(text, '=');
        char name[128] = "";
        double usd;
        size_t length = equals ? (size_t)(equals - text) : 0;
        if (tn_read_real(equals ? equals + 1 : text, &usd) != TN_NUMBER_OK || (equals && length == 0) ||
            length >= sizeof name)
            return tn_fail(
                error, TN_INPUT,
                "--price takes dollars an hour, of all GPUs (2.5) or of one (h100=2.5), not '%.60s'", text);
        memcpy(name, text, length);
        TN_TRY(tn_need_positive("--price", usd, 1e6, error));
        TN_TRY(tn_gpu_set_price(table, equals ? name : NULL, usd, error));
    }
    return TN_OK;
}

static const tn_column left_columns[] = {
    TN_COLUMN(tn_left_out, gpu, NULL),
    TN_COLUMN(tn_left_out, why, NULL),
};
const tn_record tn_left_out_record = TN_RECORD(tn_left_out, left_columns);

void tn_show_price_note(const tn_bill *bill, const char *before, tn_buffer *cell) {
    tn_buffer_format(cell, "%s%s%s", before, *before && bill->price_unverified ? "; " : "",
                     bill->price_unverified ? "price assumed" : "");
}

void tn_say_below_bills(const tn_left_out *left, size_t lefts, bool assumed) {
    for (size_t i = 0; i < lefts; i++) tn_say("%s left out: %s\n", left[i].gpu, left[i].why);
    if (assumed)
        tn_say("\nprice assumed: nobody's offer; give yours by --price GPU=USD, or in a table by --gpus\n");
}

void tn_json_put_interval(tn_json *json, const char *key, const tn_finetune_interval *interval) {
    tn_json_key(json, key);
    if (!isfinite(interval->low) && !isfinite(interval->high)) {
        tn_json_null(json);
        return;
    }
    tn_json_row(json);
    tn_json_real(json, interval->low);
    tn_json_real(json, interval->high);
    tn_json_end(json);
}

static const tn_command *const parts[] = {
    &tn_finetune_fit_command,     &tn_finetune_batch_command, &tn_finetune_cost_command,
    &tn_finetune_predict_command, &tn_finetune_count_command,
};

const tn_command tn_command_finetune = {
    .name = "finetune",
    .summary = "what fine-tuning a language model costs: throughput laws, largest batch, bill",
    .usage = "fit DATA.csv [OPTIONS]\n"
             "max-batch MODEL --sequence TOKENS [OPTIONS]\n"
             "cost [MODEL|DATA.csv] --queries N --epochs N [OPTIONS]\n"
             "predict DATA.csv --gpu NAME [OPTIONS]\n"
             "count MODEL --sequence TOKENS [OPTIONS]",
    TN_PARTS(parts),
};
