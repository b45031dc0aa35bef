/* tenfold finetune profile MODEL: what a step of fine-tuning spends its time on, by stage, layer and kernel. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/finetune_figures.h"
#include "finetune/step.h"

#include <math.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *gpu_name, *method, *load_file, *table_name, *plot;
    tn_option_list set;
    uint64_t batch, tokens, sparse, seed; /* batch, sparse 0: not given */
    double spread, concentration;         /* NAN: not given */
    tn_language_model model;
    tn_gpu_table table;
    const tn_gpu *gpu;
    tn_expert_load load;
    bool has_load;
    double fitted_concentration, remembered_share;
    uint64_t active;
    tn_step_profile profile;
} request;

/* ---- what is asked ---- */

static tn_status load_model(request *r, tn_arena *arena, tn_error *error) {
    const char *set[TN_OPTION_MOST + 4];
    size_t count = 0;
    TN_TRY(tn_take_method(r->method, set, &count, error));
    for (size_t i = 0; i < r->set.count; i++) set[count++] = r->set.item[i];
    TN_TRY(tn_language_model_load(r->common.argument[0], set, count, arena, &r->model, error));
    const tn_language_feed_forward *f = &r->model.feed_forward;
    r->active = r->sparse ? r->sparse : f->active;
    if (r->active > f->experts)
        return tn_fail(error, TN_INPUT,
                       "--sparse %llu: model %s has %llu expert%s a layer; a token is sent to 1 to %llu",
                       (unsigned long long)r->sparse, r->model.name, (unsigned long long)f->experts,
                       f->experts == 1 ? "" : "s", (unsigned long long)f->experts);
    r->remembered_share = r->model.published_at.line ? r->model.published.expert_share : 0;
    return TN_OK;
}

static tn_status find_load(request *r, tn_arena *arena, tn_error *error) {
    uint64_t experts = r->model.feed_forward.experts;
    bool drawn = !isnan(r->concentration);
    r->has_load = r->load_file || drawn;
    if (!r->has_load) return TN_OK;
    if (experts == 1)
        return tn_fail(error, TN_INPUT, "model %s has no experts to spread tokens over", r->model.name);
    if (r->load_file && drawn)
        return tn_fail(error, TN_INPUT, "--load says what --concentration draws; give one of them");
    TN_TRY(drawn ? tn_expert_load_draw(experts, r->active, r->concentration, r->seed, arena, &r->load, error)
                 : tn_expert_load_read(r->load_file, experts, r->active, arena, &r->load, error));
    r->fitted_concentration = tn_expert_load_concentration(&r->load);
    return TN_OK;
}

/* ---- output ---- */

static const tn_column stage_columns[] = {
    TN_COLUMN(tn_step_profile_row, name, "stage"),
    TN_COLUMN(tn_step_profile_row, seconds, "seconds", TN_DIGITS(3)),
    TN_COLUMN(tn_step_profile_row, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_step_profile_row, share, "", TN_BAR),
};
static const tn_record stage_record = TN_RECORD(tn_step_profile_row, stage_columns);

static const tn_column layer_columns[] = {
    TN_COLUMN(tn_step_profile_row, name, "layers"),
    TN_COLUMN(tn_step_profile_row, seconds, "seconds", TN_DIGITS(3)),
    TN_COLUMN(tn_step_profile_row, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_step_profile_row, share, "", TN_BAR),
};
static const tn_record layer_record = TN_RECORD(tn_step_profile_row, layer_columns);

static const tn_column kernel_columns[] = {
    TN_COLUMN(tn_step_profile_row, layer, "layers"),
    TN_COLUMN(tn_step_profile_row, name, "kernels"),
    TN_COLUMN(tn_step_profile_row, launches, "launches", TN_FITTING("")),
    TN_COLUMN(tn_step_profile_row, seconds, "seconds", TN_DIGITS(3)),
    TN_COLUMN(tn_step_profile_row, share, "share", TN_PERCENT),
    TN_COLUMN(tn_step_profile_row, utilisation, "of peak", TN_PERCENT),
    TN_COLUMN(tn_step_profile_row, bandwidth, "of bandwidth", TN_PERCENT),
    TN_COLUMN(tn_step_profile_row, limit, "limited by"),
};
static const tn_record kernel_record = TN_RECORD(tn_step_profile_row, kernel_columns);

static const tn_column capacity_columns[] = {
    TN_COLUMN(tn_step_profile_capacity, capacity, "capacity"),
    TN_COLUMN(tn_step_profile_capacity, seconds, "seconds", TN_DIGITS(3)),
    TN_COLUMN(tn_step_profile_capacity, dropped, "choices dropped", TN_PERCENT),
};
static const tn_record capacity_record = TN_RECORD(tn_step_profile_capacity, capacity_columns);

static void put_shares(const void *row, tn_json *json) {
    const request *r = row;
    tn_json_row(json);
    for (uint64_t i = 0; r->has_load && i < r->load.experts; i++) tn_json_real(json, r->load.share[i]);
    tn_json_end(json);
}

static const tn_column expert_columns[] = {
    TN_COLUMN_AS("share_of_step", request, profile.expert_share, NULL),
    TN_COLUMN_AS("share_remembered", request, remembered_share, NULL),
    TN_COLUMN_AS("touched", request, profile.touched, NULL),
    TN_COLUMN_AS("dense_seconds", request, profile.dense_seconds, NULL),
    TN_WRITTEN("load", put_shares, NULL),
    TN_COLUMN_AS("concentration", request, fitted_concentration, NULL),
    TN_COLUMN_AS("imbalance", request, profile.imbalance, NULL),
    TN_COLUMN_AS("slowest_seconds", request, profile.slowest_seconds, NULL),
    {.key = "capacity",
     .kind = TN_COLUMN_RECORD,
     .nested = &capacity_record,
     .list = true,
     .in_place = true,
     .offset = offsetof(request, profile.capacity),
     .count_offset = TN_PROFILE_CAPACITIES},
};
static const tn_record expert_record = TN_RECORD(request, expert_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", request, model.name, NULL),
    TN_COLUMN_AS("gpu", request, gpu_name, NULL),
    TN_COLUMN_AS("batch_size", request, batch, NULL),
    TN_COLUMN(request, tokens, NULL),
    TN_COLUMN_AS("padded_tokens", request, profile.tokens, NULL),
    TN_COLUMN_AS("active_experts", request, active, NULL),
    TN_COLUMN_AS("seconds_per_step", request, profile.seconds, NULL),
    TN_COLUMN_AS("queries_per_s", request, profile.queries_per_s, NULL),
    TN_ROWS_IN("stages", request, profile.stage, profile.stages, stage_record, NULL),
    TN_ROWS_IN("layers", request, profile.layer, profile.layers, layer_record, NULL),
    TN_ROWS_IN("kernels", request, profile.kernel, profile.kernels, kernel_record, NULL),
    TN_GROUP("experts", expert_record, NULL, TN_OPTIONAL, TN_WHEN(request, profile.routed)),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

static tn_status print_experts(const request *r, tn_error *error) {
    const tn_step_profile *p = &r->profile;
    if (!p->routed) return TN_OK;
    tn_say("\nexperts: %.0f %% of the step", 100 * p->expert_share);
    if (r->remembered_share > 0)
        tn_say("; the publication's runs about %.0f %%, as remembered", 100 * r->remembered_share);
    tn_say("\n%llu of %llu a token; all of them: %.3g s a step, %.2f times as long\n",
           (unsigned long long)r->active, (unsigned long long)r->model.feed_forward.experts, p->dense_seconds,
           p->dense_seconds / p->seconds);
    if (r->has_load) {
        tn_say("load: the fullest has %.2f times the mean (concentration %.3g); %.1f of %llu are touched;\n",
               p->imbalance, r->fitted_concentration, p->touched,
               (unsigned long long)r->model.feed_forward.experts);
        tn_say("with a GPU for each expert the fullest decides: %.2f times as long\n",
               p->slowest_seconds / p->seconds);
    }
    tn_say("\nwith a capacity every expert computes as many tokens, and drops what is more\n");
    return tn_output_rows(&capacity_record, p->capacity, TN_PROFILE_CAPACITIES, error);
}

static tn_status print_people(const request *r, tn_error *error) {
    const tn_step_profile *p = &r->profile;
    tn_say("%s on %s, batch %llu, %.4g tokens: %.4g s a step, %.4g examples/s\n", r->model.name, r->gpu->name,
           (unsigned long long)r->batch, p->tokens, p->seconds, p->queries_per_s);
    tn_say("from counts and the GPU's figures; measured steps are within %.0f %% in 9 of 10\n\n",
           100 * (exp(1.645 * r->table.framework.time_error) - 1));
    TN_TRY(tn_output_rows(&stage_record, p->stage, p->stages, error));
    tn_say("\n");
    TN_TRY(tn_output_rows(&layer_record, p->layer, p->layers, error));
    tn_say("\n");
    TN_TRY(tn_output_rows(&kernel_record, p->kernel, p->kernels, error));
    return print_experts(r, error);
}

/* ---- the command ---- */

static tn_status draw(const request *r, tn_arena *arena, tn_error *error) {
    const char *heading;
    if (!r->plot) return TN_OK;
    TN_TRY(tn_arena_format(arena, &heading, error, "%s on %s, batch %llu, %.4g tokens", r->model.name,
                           r->gpu->name, (unsigned long long)r->batch, r->profile.tokens));
    return tn_finetune_profile_figure(r->plot, heading, &r->profile, error);
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_arena *arena = &r->common.arena;
    (void)answer;
    if (!r->gpu_name)
        return tn_fail(error, TN_INPUT, "--gpu must be given: a GPU of the table (tenfold list gpus)");
    if (r->batch == 0 || r->batch > 1000000000)
        return tn_fail(error, TN_INPUT, "--batch must be given, 1 to 1e9");
    if (r->tokens == 0 || r->tokens > TN_QUERY_LENGTHS_MOST)
        return tn_fail(error, TN_INPUT, "--tokens takes 1 to %d tokens", TN_QUERY_LENGTHS_MOST);
    if (!(r->spread >= 0 && r->spread <= 5))
        return tn_fail(error, TN_INPUT, "--spread is %g; it must be 0 (all alike) to 5", r->spread);
    TN_TRY(load_model(r, arena, error));
    TN_TRY(find_load(r, arena, error));
    TN_TRY(tn_gpu_table_load(r->table_name, arena, &r->table, error));
    TN_TRY(tn_gpu_find(&r->table, r->gpu_name, &r->gpu, error));
    r->gpu_name = r->gpu->name;
    if (!r->table.framework.given)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = r->table.file},
                          "has no `framework`, from which steps are estimated");
    tn_query_lengths lengths = {.median = (double)r->tokens, .spread = r->spread, .longest = INFINITY};
    tn_finetune_work work = {.model = &r->model,
                             .framework = &r->table.framework,
                             .lengths = &lengths,
                             .lengths_known = true,
                             .active = r->active};
    TN_TRY(tn_profile_step(&work, r->gpu, r->batch, r->has_load ? &r->load : NULL, &r->profile, error));
    TN_TRY(draw(r, arena, error));
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_people(r, error);
}

static const request defaults = {
    .table_name = "gpus", .tokens = 512, .seed = 1, .concentration = NAN, .fitted_concentration = NAN};
static const tn_option options[] = {
    {"--gpu", TN_INTO(request, gpu_name), "NAME", "GPU of the table"},
    {"--batch", TN_INTO(request, batch), "B", "examples a step"},
    {"--tokens", TN_INTO(request, tokens), "N", "tokens of an example, or their median; default 512"},
    {"--spread", TN_INTO(request, spread), "S", "of log-normal lengths around it; default 0, all alike"},
    {"--sparse", TN_INTO(request, sparse), "K", "experts a token is sent to; default the model's"},
    {"--method", TN_INTO(request, method), "full|lora|qlora", "default that of the model's file"},
    {"--load", TN_INTO(request, load_file), "FILE.csv",
     "load of experts: columns expert and tokens, or share"},
    {"--concentration", TN_INTO(request, concentration), "A",
     "draws the load instead: Dirichlet, smaller is less even"},
    {"--seed", TN_INTO(request, seed), "S", "of that draw; default 1"},
    {"--table", TN_INTO(request, table_name), "TABLE", "table of GPUs; default gpus"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
    {"--plot", TN_INTO(request, plot), "FILE", "figure, .png, .svg or .pdf"},
};

const tn_command tn_finetune_profile_command = {
    .name = "finetune profile",
    .summary = "time of a step by stage, layer and kernel",
    .usage = "MODEL --gpu NAME --batch B [--tokens N] [--sparse K] [--load FILE.csv]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
