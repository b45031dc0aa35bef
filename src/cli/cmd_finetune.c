/* tenfold finetune fit|max-batch|cost|predict|count: the fine-tuning cost model, one file a subcommand. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"

#include "base/suggest.h"
#include "cli/commands.h"
#include "finetune/count.h"
#include "finetune/language_model.h"

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
    const char *near = tn_suggest(name, names, 3);
    return tn_fail(error, TN_INPUT, "unknown law '%.60s'; %s%s", name, near ? "did you mean " : "it must be ",
                   near ? near : "log, step or best");
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
             "cost [DATA.csv] --queries N --epochs N [OPTIONS]\n"
             "predict DATA.csv --gpu NAME [OPTIONS]\n"
             "count MODEL --sequence TOKENS [OPTIONS]",
    TN_PARTS(parts),
};
