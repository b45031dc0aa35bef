/* tenfold finetune count MODEL: parameters, bytes and operations of a language model's fine-tuning. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/count.h"

/* What `count` answers, a line a quantity for people. */
typedef struct {
    const char *model;
    uint64_t sequence, active_experts;
    double sparsity;
    tn_language_count count;
} answer_data;

#define COUNTED(member, title, of_unit)                                                                      \
    TN_COLUMN_AS(#member, answer_data, count.member, title, .unit = (of_unit))
static const tn_column columns[] = {
    TN_COLUMN(answer_data, model, NULL),
    TN_COLUMN(answer_data, sequence, NULL),
    TN_COLUMN(answer_data, active_experts, NULL),
    TN_COLUMN(answer_data, sparsity, NULL),
    COUNTED(parameters, "parameters", NULL),
    COUNTED(active_parameters, "that a token meets", NULL),
    COUNTED(trained_parameters, "trained", NULL),
    COUNTED(weight_bytes, "weights", "bytes"),
    COUNTED(gradient_bytes, "gradients", "bytes"),
    COUNTED(optimizer_bytes, "optimizer", "bytes"),
    COUNTED(workspace_bytes, "workspace", "bytes"),
    COUNTED(reserve_bytes, "reserve", "bytes"),
    COUNTED(activation_bytes, "activations of a query", "bytes"),
    COUNTED(logit_bytes, "its logits among them", "bytes"),
    COUNTED(forward_macs, "forward pass of a query", "multiply-adds"),
    COUNTED(training_flops, "training step of a query", "FLOPs"),
};
static const tn_record record = TN_RECORD(answer_data, columns);

static tn_status count_model(const char *name, const tn_option_list *set, uint64_t sequence, double sparsity,
                             bool json, tn_arena *arena, tn_error *error) {
    tn_language_model model;
    answer_data answer = {.sequence = sequence};
    if (sequence == 0 || sequence > 1000000000)
        return tn_fail(error, TN_INPUT, "--sequence must be given, 1 to 1e9 tokens a query");
    TN_TRY(tn_language_model_load(name, set->item, set->count, arena, &model, error));
    answer.model = model.name;
    answer.active_experts = model.feed_forward.active;
    if (sparsity != 0) TN_TRY(tn_language_active(&model, sparsity, &answer.active_experts, error));
    answer.sparsity = (double)answer.active_experts / (double)model.feed_forward.experts;
    TN_TRY(tn_language_count_of(&model, sequence, answer.active_experts, &answer.count, error));
    return json ? tn_output_json(&record, &answer, error) : tn_output_lines(&record, &answer, error);
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
