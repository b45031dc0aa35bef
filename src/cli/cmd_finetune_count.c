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

typedef struct {
    tn_common common;
    uint64_t sequence;
    double sparsity; /* 0: the file's active experts */
    tn_option_list set;
} request;

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_language_model model;
    answer_data data = {.sequence = r->sequence};
    (void)answer;
    if (r->sequence == 0 || r->sequence > 1000000000)
        return tn_fail(error, TN_INPUT, "--sequence must be given, 1 to 1e9 tokens a query");
    TN_TRY(tn_language_model_load(r->common.argument[0], r->set.item, r->set.count, &r->common.arena, &model,
                                  error));
    data.model = model.name;
    data.active_experts = model.feed_forward.active;
    if (r->sparsity != 0) TN_TRY(tn_language_active(&model, r->sparsity, &data.active_experts, error));
    data.sparsity = (double)data.active_experts / (double)model.feed_forward.experts;
    TN_TRY(tn_language_count_of(&model, r->sequence, data.active_experts, &data.count, error));
    return r->common.json ? tn_output_json(&record, &data, error) : tn_output_lines(&record, &data, error);
}

static const tn_option options[] = {
    {"--sequence", TN_INTO(request, sequence), "TOKENS", "tokens of a query, as padded"},
    {"--sparsity", TN_INTO(request, sparsity), "S",
     "share of the experts at work; default the file's active"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
};

const tn_command tn_finetune_count_command = {
    .name = "finetune count",
    .summary = "parameters, bytes and operations from a model's architecture",
    .usage = "MODEL --sequence TOKENS [--sparsity S]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    .answer = answer,
};
