/* tenfold finetune count MODEL: parameters, bytes and operations of a language model's fine-tuning. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/count.h"
#include "text/table.h"

#include <stdio.h>

typedef struct {
    const char *what, *key, *unit;
    uint64_t value;
} line;
enum { LINES = 12 };

static void list_lines(const tn_language_count *c, line lines[LINES]) {
    const line all[LINES] = {
        {"parameters", "parameters", "", c->parameters},
        {"that a token meets", "active_parameters", "", c->active_parameters},
        {"trained", "trained_parameters", "", c->trained_parameters},
        {"weights", "weight_bytes", "bytes", c->weight_bytes},
        {"gradients", "gradient_bytes", "bytes", c->gradient_bytes},
        {"optimizer", "optimizer_bytes", "bytes", c->optimizer_bytes},
        {"workspace", "workspace_bytes", "bytes", c->workspace_bytes},
        {"reserve", "reserve_bytes", "bytes", c->reserve_bytes},
        {"activations of a query", "activation_bytes", "bytes", c->activation_bytes},
        {"its logits among them", "logit_bytes", "bytes", c->logit_bytes},
        {"forward pass of a query", "forward_macs", "multiply-adds", c->forward_macs},
        {"training step of a query", "training_flops", "FLOPs", c->training_flops},
    };
    for (size_t i = 0; i < LINES; i++) lines[i] = all[i];
}

static tn_status print_json(const tn_language_model *model, uint64_t sequence, uint64_t active,
                            const line *lines, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "model", model->name);
    tn_json_put_count(&json, "sequence", sequence);
    tn_json_put_count(&json, "active_experts", active);
    tn_json_put_real(&json, "sparsity", (double)active / (double)model->feed_forward.experts);
    for (size_t i = 0; i < LINES; i++) tn_json_put_count(&json, lines[i].key, lines[i].value);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status print_table(const line *lines, tn_error *error) {
    tn_table table;
    tn_table_begin(&table, 3);
    tn_table_text(&table, "quantity");
    tn_table_text(&table, "count");
    tn_table_text(&table, "unit");
    for (size_t i = 0; i < LINES; i++) {
        tn_table_text(&table, lines[i].what);
        tn_table_count(&table, lines[i].value);
        tn_table_text(&table, lines[i].unit);
    }
    return tn_table_end(&table, error);
}

static tn_status count_model(const char *name, const tn_option_list *set, uint64_t sequence, double sparsity,
                             bool json, tn_arena *arena, tn_error *error) {
    tn_language_model model;
    tn_language_count count;
    line lines[LINES];
    if (sequence == 0 || sequence > 1000000000)
        return tn_fail(error, TN_INPUT, "--sequence must be given, 1 to 1e9 tokens a query");
    TN_TRY(tn_language_model_load(name, set->item, set->count, arena, &model, error));
    uint64_t active = model.feed_forward.active;
    if (sparsity != 0) TN_TRY(tn_language_active(&model, sparsity, &active, error));
    TN_TRY(tn_language_count_of(&model, sequence, active, &count, error));
    list_lines(&count, lines);
    return json ? print_json(&model, sequence, active, lines, error) : print_table(lines, error);
}

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    uint64_t sequence = 0;
    double sparsity = 0;
    tn_option_list set = {0};
    const tn_option options[] = {
        {"--sequence", TN_OPTION_COUNT, &sequence, "TOKENS", "tokens of a query, as padded"},
        {"--sparsity", TN_OPTION_REAL, &sparsity, "S",
         "share of the experts at work; default the file's active"},
        {"--set", TN_OPTION_LIST, &set, "KEY=VALUE", "overrides a key of the model; repeatable"},
    };
    enum { OPTIONS = sizeof options / sizeof *options };
    const char *name;
    size_t given;
    tn_common common = {0};
    (void)answer;
    TN_TRY(tn_options_read(command, options, OPTIONS, argc, argv, 1, 1, &name, &given, &common, error));
    if (common.help) {
        tn_options_usage(command, options, OPTIONS);
        return TN_OK;
    }
    tn_arena arena = {0};
    tn_status status = count_model(name, &set, sequence, sparsity, common.json, &arena, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_finetune_count_command = {
    .name = "finetune count",
    .summary = "parameters, bytes and operations from a model's architecture",
    .usage = "MODEL --sequence TOKENS [--sparsity S]",
    .run = run,
};
