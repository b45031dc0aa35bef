/* tenfold finetune cost: hours and dollars of a fine-tuning, cheapest GPU first. */
#include "cli/cmd_finetune.h"
#include "cli/finetune_estimate.h"
#include "cli/output.h"
#include "finetune/finetune_figures.h"
#include "finetune/gpu.h"
#include "finetune/transfer.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *law_name, *gpu, *model, *dataset, *gpus, *table_name, *plot, *method, *measured, *lengths;
    tn_option_list tokens, set, price;
    uint64_t queries, batch, gpu_count, nodes;                          /* 0: not given */
    double epochs, throughput, sparsity, c3, model_GB, spread, longest; /* NAN: not given */
    bool unmeasured, packed;
    tn_law_choice choice;
    tn_finetune_data data;
    tn_gpu_table table;
    tn_bill *bill;
    size_t bills;
    tn_left_out *left;
    size_t lefts;
    tn_error first; /* of the groups that determine no law */
} request;

static void leave_out(request *r, const char *gpu, const char *why) {
    r->left[r->lefts++] = (tn_left_out){gpu, why};
}

/* --- From a throughput given by hand. */

static tn_status bill_by_hand(request *r, tn_arena *arena, tn_error *error) {
    double price;
    if (isnan(r->throughput) || r->price.count == 0)
        return tn_fail(error, TN_INPUT,
                       "without MODEL or DATA.csv, --throughput and --price must both be given");
    TN_TRY(tn_need_positive("--throughput", r->throughput, 1e9, error));
    if (r->price.count > 1 || tn_read_real(r->price.item[0], &price) != TN_NUMBER_OK)
        return tn_fail(error, TN_INPUT,
                       "--price with --throughput is one number, dollars an hour, not '%.60s'",
                       r->price.item[r->price.count - 1]);
    TN_TRY(tn_need_positive("--price", price, 1e6, error));
    TN_TRY(TN_NEW(arena, 1, &r->bill, error));
    r->bill[0] = (tn_bill){.gpu = r->gpu ? r->gpu : "given",
                           .batch = r->batch ? (double)r->batch : NAN,
                           .queries_per_s = {r->throughput, NAN, NAN},
                           .usd_per_hour = price,
                           .price_origin = "given"};
    r->bills = 1;
    return tn_bill_reckon(&r->bill[0], (double)r->queries, r->epochs, error);
}

/* --- From measurements. */

static bool one_workload(const tn_finetune_data *data) {
    for (size_t i = 1; i < data->count; i++)
        if (strcmp(data->group[i].model, data->group[0].model) != 0 ||
            strcmp(data->group[i].dataset, data->group[0].dataset) != 0)
            return false;
    return true;
}

static bool one_sparsity(const tn_finetune_data *data) {
    for (size_t i = 0; i < data->count; i++)
        for (size_t j = 0; j < data->group[i].count; j++)
            if (data->group[i].point[j].sparsity != data->group[0].point[0].sparsity) return false;
    return true;
}

static tn_status read_data(request *r, const char *path, tn_arena *arena, tn_error *error) {
    TN_TRY(tn_law_choice_find(r->law_name, &r->choice, error));
    TN_TRY(tn_finetune_load(path, arena, &r->data, error));
    TN_TRY(tn_finetune_keep(&r->data, r->gpu, r->model, r->dataset, error));
    if (!one_workload(&r->data))
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = path},
            "measurements of more than one model or data set; choose with --model and --dataset");
    if (isnan(r->sparsity) && !one_sparsity(&r->data))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                          "measurements at more than one sparsity; choose with --sparsity");
    if (isnan(r->sparsity)) r->sparsity = r->data.group[0].point[0].sparsity;
    if (!(r->sparsity >= 1e-6 && r->sparsity <= 1))
        return tn_fail(error, TN_INPUT, "--sparsity is %g; it must be above 0 and at most 1", r->sparsity);
    TN_TRY(tn_gpu_table_load(r->table_name, arena, &r->table, error));
    return tn_take_prices(&r->price, &r->table, error);
}

static double largest_batch(const tn_finetune_group *group, double sparsity) {
    double largest = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->point[i].sparsity == sparsity) largest = fmax(largest, group->point[i].batch);
    return largest;
}

static tn_status add_bill(request *r, const tn_gpu *gpu, double batch, tn_finetune_interval rate,
                          bool predicted, tn_error *error) {
    tn_bill *bill = &r->bill[r->bills];
    *bill = tn_bill_of(gpu, batch, rate);
    bill->predicted = predicted;
    TN_TRY(tn_bill_reckon(bill, (double)r->queries, r->epochs, error));
    r->bills++;
    return TN_OK;
}

static tn_status bill_group(request *r, const tn_finetune_group *group, tn_arena *arena, tn_error *error) {
    const tn_gpu *gpu;
    tn_finetune_study *study;
    tn_finetune_law law;
    TN_TRY(tn_gpu_find(&r->table, group->gpu, &gpu, error));
    TN_TRY(TN_NEW(arena, 1, &study, error));
    tn_error cause = {0};
    tn_status status =
        tn_study_and_choose(group, r->choice, isnan(r->c3) ? 0 : r->c3, arena, study, &law, &cause);
    if (status != TN_OK && error) *error = cause;
    if (status == TN_INPUT && strcmp(cause.file, r->data.file) == 0) {
        if (r->first.status == TN_OK) r->first = cause;
        leave_out(r, gpu->name, "its measurements determine no law");
        return TN_OK;
    }
    TN_TRY(status);
    const tn_finetune_fit *fit = &study->fit[law];
    double batch = r->batch ? (double)r->batch : largest_batch(group, r->sparsity);
    if (gpu->usd_per_hour == 0)
        leave_out(r, gpu->name, "the table has no price for it");
    else if (batch == 0 || (fit->one_sparsity && fit->sparsity != r->sparsity))
        leave_out(r, gpu->name, "not measured at this sparsity");
    else
        TN_TRY(add_bill(r, gpu, batch, tn_finetune_fitted(fit, batch, r->sparsity), false, error));
    return TN_OK;
}

static bool measured(const request *r, const tn_gpu *gpu) {
    for (size_t i = 0; i < r->data.count; i++)
        if (strcmp(r->data.group[i].gpu, gpu->name) == 0) return true;
    return false;
}

/* The model beside which a batch has its memory: the option, the model file's, or unknown (NAN). */
static tn_status find_model_GB(request *r, tn_arena *arena, tn_error *error) {
    if (!isnan(r->model_GB)) return tn_need_positive("--model-GB", r->model_GB, 1e6, error);
    return tn_model_memory(r->data.group[0].model, arena, &r->model_GB, error);
}

static tn_status bill_unmeasured(request *r, tn_arena *arena, tn_error *error) {
    tn_transfer transfer;
    tn_transfer_error *errors;
    size_t count;
    TN_TRY(find_model_GB(r, arena, error));
    if (isnan(r->model_GB) && !r->batch)
        return tn_fail(error, TN_INPUT,
                       "no model file of %s says its memory; give --model-GB or --batch for unmeasured GPUs",
                       r->data.group[0].model);
    TN_TRY(tn_transfer_fit(&r->data, &r->table, arena, &transfer, error));
    TN_TRY(tn_transfer_hold_out(&r->data, &r->table, arena, &transfer, &errors, &count, error));
    for (size_t i = 0; i < r->table.count; i++) {
        const tn_gpu *gpu = &r->table.gpu[i];
        double batch = (double)r->batch;
        if (measured(r, gpu)) continue;
        if (!r->batch)
            TN_TRY(
                tn_transfer_largest_batch(&r->data, &r->table, gpu, r->model_GB, r->sparsity, &batch, error));
        if (gpu->usd_per_hour == 0)
            leave_out(r, gpu->name, "the table has no price for it");
        else if (batch < 1)
            leave_out(r, gpu->name, "not even a batch of 1 fits");
        else
            TN_TRY(add_bill(r, gpu, batch, tn_transfer_predict(&transfer, gpu, batch, r->sparsity), true,
                            error));
    }
    return TN_OK;
}

static tn_status bill_data(request *r, const char *path, tn_arena *arena, tn_error *error) {
    if (!isnan(r->throughput)) return tn_fail(error, TN_INPUT, "--throughput is for a bill without DATA.csv");
    if (!isnan(r->c3)) TN_TRY(tn_need_positive("--c3", r->c3, 1e6, error));
    TN_TRY(read_data(r, path, arena, error));
    size_t most = r->data.count + r->table.count;
    TN_TRY(TN_NEW(arena, most, &r->bill, error));
    TN_TRY(TN_NEW(arena, most, &r->left, error));
    for (size_t i = 0; i < r->data.count; i++) TN_TRY(bill_group(r, &r->data.group[i], arena, error));
    if (r->bills == 0 && r->first.status != TN_OK) {
        *error = r->first;
        return TN_INPUT;
    }
    if (r->unmeasured) TN_TRY(bill_unmeasured(r, arena, error));
    tn_bill_sort(r->bill, r->bills);
    return TN_OK;
}

/* --- Output */

static void show_note(const void *row, tn_buffer *cell) {
    const tn_bill *bill = row;
    tn_show_price_note(bill, bill->predicted ? "predicted" : "", cell);
}

static const tn_column bill_columns[] = {
    TN_COLUMN(tn_bill, gpu, "gpu"),
    TN_COLUMN_AS("batch_size", tn_bill, batch, "batch", TN_FIXED(0)),
    TN_COLUMN_AS("queries_per_s", tn_bill, queries_per_s.value, "examples/s", TN_FIXED(3)),
    TN_RANGE("queries_per_s_interval", tn_bill, queries_per_s.low, NULL),
    TN_COLUMN_AS("hours", tn_bill, hours.value, "hours", TN_FIXED(2)),
    TN_RANGE("hours_interval", tn_bill, hours.low, "95 % interval", TN_FIXED(2)),
    TN_COLUMN_AS("usd", tn_bill, usd.value, "cost, $", TN_FIXED(2)),
    TN_RANGE("usd_interval", tn_bill, usd.low, "95 % interval", TN_FIXED(2)),
    TN_COLUMN(tn_bill, usd_per_hour, "$/h", TN_FIXED(2)),
    TN_COLUMN(tn_bill, price_unverified, NULL),
    TN_COLUMN(tn_bill, price_origin, "price"),
    TN_COLUMN(tn_bill, price_date, "of month"),
    TN_COLUMN(tn_bill, predicted, NULL),
    TN_WRITTEN(NULL, NULL, "note", .cell = show_note),
};
static const tn_record bill_record = TN_RECORD(tn_bill, bill_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN(request, queries, NULL),
    TN_COLUMN(request, epochs, NULL),
    TN_COLUMN(request, sparsity, NULL),
    TN_ROWS("bills", request, bill, bills, bill_record, NULL),
    TN_ROWS("left_out", request, left, lefts, tn_left_out_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

static tn_status print_table(const request *r, tn_error *error) {
    TN_TRY(tn_output_rows(&bill_record, r->bill, r->bills, error));
    bool assumed = false;
    for (size_t i = 0; i < r->bills; i++) assumed |= r->bill[i].price_unverified;
    tn_say_below_bills(r->left, r->lefts, assumed);
    return TN_OK;
}

/* --- The command */

static tn_status plot(const request *r, tn_arena *arena, tn_error *error) {
    const char *heading;
    char examples[32];
    TN_TRY(tn_arena_format(arena, &heading, error, "%s examples, %g %s%s%s%s%s",
                           tn_count_text(r->queries, examples), r->epochs,
                           r->epochs == 1 ? "epoch" : "epochs", r->data.count ? ": " : "",
                           r->data.count ? r->data.group[0].model : "", r->data.count ? " on " : "",
                           r->data.count ? r->data.group[0].dataset : ""));
    return tn_finetune_cost_figure(r->plot, heading, r->bill, r->bills, error);
}

/* Options of one form alone: estimates of a model, or laws of measurements. */
static tn_status check_form(const request *r, bool model, tn_error *error) {
    static const char *const of_models[] = {"--method", "--tokens",  "--data",   "--set",  "--lengths",
                                            "--spread", "--longest", "--packed", "--nodes"},
                             *const of_data[] = {"--model",      "--dataset",  "--law",       "--c3",
                                                 "--unmeasured", "--model-GB", "--throughput"};
    const char *const *other = model ? of_data : of_models;
    size_t count = model ? sizeof of_data / sizeof *of_data : sizeof of_models / sizeof *of_models;
    for (size_t i = 0; i < tn_finetune_cost_command.options; i++)
        for (size_t k = 0; k < count; k++)
            if (r->common.given[i] && strcmp(tn_finetune_cost_command.option[i].name, other[k]) == 0)
                return tn_fail(error, TN_INPUT, "%s goes with %s", other[k],
                               model ? "measurements, not with a model" : "a model, not with measurements");
    return TN_OK;
}

/* --gpus is how many GPUs a node has, or, as --table, the table of GPUs. */
static tn_status read_gpus(request *r, bool model, tn_error *error) {
    const uint64_t most = 65536;
    bool number = r->gpus && tn_read_count(r->gpus, &r->gpu_count) == TN_NUMBER_OK;
    if (r->gpus && !number) r->table_name = r->gpus;
    if (number && !model)
        return tn_fail(error, TN_INPUT, "--gpus %s goes with a model, not with measurements", r->gpus);
    if ((number && (r->gpu_count == 0 || r->gpu_count > most)) || r->nodes > most)
        return tn_fail(error, TN_INPUT, "--gpus and --nodes take 1 to %llu", (unsigned long long)most);
    if (r->nodes && !number) return tn_fail(error, TN_INPUT, "--nodes needs --gpus N, GPUs of a node");
    return TN_OK;
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_arena *arena = &r->common.arena;
    bool model = r->common.argument[0] && tn_estimate_names_model(r->common.argument[0]);
    TN_TRY(check_form(r, model, error));
    if (r->queries == 0)
        return tn_fail(error, TN_INPUT,
                       "--queries (or --examples) must be given: examples of the data set, 1 or more");
    TN_TRY(read_gpus(r, model, error));
    if (isnan(r->epochs)) return tn_fail(error, TN_INPUT, "--epochs must be given");
    TN_TRY(tn_need_positive("--epochs", r->epochs, 1e9, error));
    if (model)
        return tn_finetune_estimate_bill(&(tn_estimate_asked){.common = &r->common,
                                                              .model = r->common.argument[0],
                                                              .names = r->gpu,
                                                              .lengths = r->lengths,
                                                              .spread = r->spread,
                                                              .longest = r->longest,
                                                              .packed = r->packed,
                                                              .gpus_per_node = r->gpu_count,
                                                              .nodes = r->nodes,
                                                              .method = r->method,
                                                              .data = r->measured,
                                                              .table = r->table_name,
                                                              .plot = r->plot,
                                                              .tokens = r->tokens,
                                                              .price = r->price,
                                                              .set = r->set,
                                                              .queries = r->queries,
                                                              .batch = r->batch,
                                                              .epochs = r->epochs,
                                                              .sparsity = r->sparsity},
                                         answer, error);
    TN_TRY(r->common.argument[0] ? bill_data(r, r->common.argument[0], arena, error)
                                 : bill_by_hand(r, arena, error));
    if (r->plot && r->bills) TN_TRY(plot(r, arena, error));
    *answer = r->bills ? 0 : 1;
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_table(r, error);
}

static const request defaults = {.law_name = "best",
                                 .table_name = "gpus",
                                 .epochs = NAN,
                                 .throughput = NAN,
                                 .sparsity = NAN,
                                 .c3 = NAN,
                                 .model_GB = NAN,
                                 .spread = NAN,
                                 .longest = NAN};
static const tn_option options[] = {
    {"--queries", TN_INTO(request, queries), "N", "examples (queries) of the data set"},
    {"--examples", TN_INTO(request, queries), "N", "the same as --queries"},
    {"--epochs", TN_INTO(request, epochs), "N", "passes over them"},
    {"--model", TN_INTO(request, model), "NAME", "of the measurements"},
    {"--dataset", TN_INTO(request, dataset), "NAME", "of the measurements"},
    {"--gpu", TN_INTO(request, gpu), "NAME",
     "only this GPU; of a model also several, a100,h100; default all"},
    {"--sparsity", TN_INTO(request, sparsity), "S", "default the measured one, where there is one"},
    {"--batch", TN_INTO(request, batch), "B", "batch on every GPU; default the largest measured one"},
    {"--law", TN_INTO(request, law_name), "log|step|best", "law; default best"},
    {"--c3", TN_INTO(request, c3), "V", "C3 of the log law; default that of the model file, else 1"},
    {"--unmeasured", TN_INTO(request, unmeasured), NULL, "also the table's other GPUs, predicted"},
    {"--model-GB", TN_INTO(request, model_GB), "GB", "the model's memory, for batches of unmeasured GPUs"},
    {"--gpus", TN_INTO(request, gpus), "N|TABLE", "of a model: GPUs of a node; or, as --table, the table"},
    {"--nodes", TN_INTO(request, nodes), "M", "nodes of --gpus N each; default 1"},
    {"--table", TN_INTO(request, table_name), "TABLE", "table of GPUs and prices; default gpus"},
    {"--throughput", TN_INTO(request, throughput), "Q", "without MODEL or DATA.csv: examples per second"},
    {"--price", TN_INTO(request, price), "[GPU=]USD",
     "dollars an hour, instead of the table's; h100=2.5 of one GPU; repeatable"},
    {"--method", TN_INTO(request, method), "full|lora|qlora", "of a model; default that of its file"},
    {"--tokens", TN_INTO(request, tokens), "[DATASET=]N",
     "of a model: tokens of an example, or their median; repeatable"},
    {"--spread", TN_INTO(request, spread), "S", "of log-normal lengths around that median; 0: all alike"},
    {"--longest", TN_INTO(request, longest), "N", "tokens at which longer examples are cut"},
    {"--lengths", TN_INTO(request, lengths), "FILE.csv", "instead: a column `tokens`, a row an example"},
    {"--packed", TN_INTO(request, packed), NULL, "examples stand behind each other, nothing is padded"},
    {"--data", TN_INTO(request, measured), "DATA.csv",
     "of a model: measurements to set the estimates beside"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
    {"--plot", TN_INTO(request, plot), "FILE", "figure, .png, .svg or .pdf"},
};

const tn_command tn_finetune_cost_command = {
    .name = "finetune cost",
    .summary = "hours and dollars, cheapest GPU first",
    .usage =
        "MODEL --tokens N --queries N --epochs N [--gpu NAME,NAME] [--price GPU=USD] [--method "
        "full|lora|qlora] [--gpus N] [--data DATA.csv]\n"
        "DATA.csv --queries N --epochs N [--model NAME] [--dataset NAME] [--sparsity S] [--price GPU=USD]\n"
        "--queries N --epochs N --throughput Q --price USD",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
