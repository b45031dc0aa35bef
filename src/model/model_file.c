#include "model/model_file.h"

#include "base/name_index.h"
#include "flow/named.h"
#include "model/layer_weight.h"
#include "model/model.h"
#include "model/step.h"
#include "model/train_settings.h"
#include "tensor/weight.h"

#include <string.h>

static const char *const file_kinds[] = {"model", NULL};
static const char *const phases[] = {"training", "inference", "decode", NULL};
static const char *const update_times[] = {"end", "write-back", NULL};
static const char *const activation_policies[] = {"keep",       "recompute", "recompute-layers",
                                                  "reversible", "optimal",   NULL};
static const char *const weight_policies[] = {"as-given", "dense", NULL};

static const tn_field weight_fields[] = {
    TN_KEY(CHOICE, tn_weight_entry, format, "how the matrix is kept; dense needs no other key", TN_REQUIRED,
           TN_ONE_OF(tn_format_names), TN_SEEN(tn_weight_entry, format_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, m,
           "factors of the matrix's rows (a linear layer's outputs, a table's vocabulary)", TN_FROM(1),
           TN_SEEN(tn_weight_entry, m_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, n,
           "factors of its columns (a linear layer's inputs, a table's width), as many as m", TN_FROM(1),
           TN_SEEN(tn_weight_entry, n_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, rank,
           "one rank for every bond, or all ranks of the format in order, ends included: 1x12x12x1",
           TN_FROM(1), TN_SEEN(tn_weight_entry, rank_at)),
    TN_KEY(CHOICE, tn_weight_entry, flow,
           "contraction flow; absent: the model's `flow` where format and use have it, else optimal",
           TN_ONE_OF(tn_flow_names), TN_SEEN(tn_weight_entry, flow_at)),
};
static const tn_schema weight_schema = TN_SCHEMA("weight", tn_weight_entry, weight_fields);

static const tn_field predicted_fields[] = {
    TN_KEY_AS("per", COUNT_LIST, tn_model_predicted, per,
              "steps that predict gradients, for every `true` that compute them; 0: none; of several, as [4, "
              "3, 2, 1], "
              "each for an equal part of the run",
              TN_DEFAULT("0"), TN_WITHIN(0, 1000000), TN_SEEN(tn_model_predicted, per_at)),
    TN_KEY_AS("true", COUNT, tn_model_predicted, truly,
              "steps with a backward pass, in which predictors learn", TN_DEFAULT("1"),
              TN_WITHIN(1, 1000000)),
    TN_KEY(COUNT, tn_model_predicted, predictor, "hidden units of the predictor of a parameter's gradient",
           TN_DEFAULT("16"), TN_WITHIN(1, 65536)),
    TN_KEY(COUNT, tn_model_predicted, warmup_steps,
           "steps of a run before the first that predicts; the price is that of the steps behind them",
           TN_DEFAULT("0")),
    TN_KEY(REAL, tn_model_predicted, rate, "learning rate of the predictors, by their hidden units",
           TN_DEFAULT("0.1"), TN_WITHIN(0, 1)),
};
static const tn_schema predicted_schema =
    TN_SCHEMA("predicted_gradients", tn_model_predicted, predicted_fields);

static const tn_field pruning_fields[] = {
    TN_KEY(REAL, tn_model_pruning, tokens, "share of the tokens that stay from the first attention on",
           TN_DEFAULT("1"), TN_WITHIN(1e-6, 1)),
    TN_KEY(REAL, tn_model_pruning, heads, "share of the heads that stay", TN_DEFAULT("1"),
           TN_WITHIN(1e-6, 1)),
};
static const tn_schema pruning_schema = TN_SCHEMA("pruning", tn_model_pruning, pruning_fields);

static const tn_field flat_fields[] = {
    TN_KEY(COUNT, tn_model_flat, rows, "products of at most so many rows are cut", TN_DEFAULT("8"),
           TN_FROM(1)),
    TN_KEY(COUNT, tn_model_flat, block,
           "columns of a block; products that it does not divide stay; 0: none is cut", TN_DEFAULT("0")),
};
static const tn_schema flat_schema = TN_SCHEMA("flat_gemm", tn_model_flat, flat_fields);

static const tn_field dvfs_fields[] = {
    TN_KEY(
        REAL, tn_model_dvfs, deadline_us,
        "time that a step may take; the clock falls to cycles / deadline and the voltage with it; 0: neither",
        TN_DEFAULT("0"), TN_WITHIN(0, 1e12)),
    TN_KEY(REAL, tn_model_dvfs, least_V, "voltage below which it does not fall", TN_DEFAULT("0.6"),
           TN_WITHIN(0.1, 5)),
};
static const tn_schema dvfs_schema = TN_SCHEMA("dvfs", tn_model_dvfs, dvfs_fields);

static const char *const outlier_scales[] = {"sigma", "mse", NULL};

static const char *const cells[] = {"sram", "edram", NULL};
static const tn_field memory_fields[] = {
    TN_KEY(CHOICE, tn_model_cells, kind,
           "cells of activations and intermediates; edram loses what is not refreshed", TN_DEFAULT("sram"),
           TN_ONE_OF(cells), TN_SEEN(tn_model_cells, kind_at)),
    TN_KEY(REAL, tn_model_cells, retention_us, "edram: time that a cell keeps its value", TN_DEFAULT("3.35"),
           TN_WITHIN(1e-3, 1e9), TN_SEEN(tn_model_cells, retention_at)),
    TN_KEY(REAL, tn_model_cells, refresh_pj,
           "edram: energy to refresh a word, pJ; a device that has such cells says both", TN_DEFAULT("1"),
           TN_WITHIN(0, 1e6), TN_SEEN(tn_model_cells, refresh_at)),
};
static const tn_schema memory_schema = TN_SCHEMA("memory", tn_model_cells, memory_fields);

static const char *const balances[] = {"none", "pairs", NULL};
static const char *const selections[] = {"magnitude", "accumulated-gradient", NULL};
static const tn_field sparsity_fields[] = {
    TN_KEY(REAL, tn_model_sparsity, weights,
           "share of each dense matrix that is live; selected anew at each update", TN_DEFAULT("1"),
           TN_WITHIN(1e-6, 1), TN_SEEN(tn_model_sparsity, weights_at)),
    TN_KEY(CHOICE, tn_model_sparsity, selection,
           "magnitude: the greatest weights are live, the others zero; accumulated-gradient: those that are "
           "farthest from "
           "where they began, the others return there (Procrustes)",
           TN_DEFAULT("magnitude"), TN_ONE_OF(selections), TN_SEEN(tn_model_sparsity, selection_at)),
    TN_KEY(REAL, tn_model_sparsity, initial_decay,
           "of selection accumulated-gradient: factor that the initial weights take after each step, until "
           "they are zero; "
           "1: they stay, and are drawn again wherever they are read",
           TN_DEFAULT("1"), TN_WITHIN(0, 1)),
    TN_KEY(CHOICE, tn_model_sparsity, balance,
           "none: a product takes as long as its fullest tile; pairs: tiles are halved, the fullest half "
           "beside the "
           "emptiest",
           TN_DEFAULT("none"), TN_ONE_OF(balances)),
    TN_KEY(COUNT, tn_model_sparsity, tiles, "tiles of a matrix that wait for each other", TN_DEFAULT("16"),
           TN_WITHIN(1, 65536)),
    TN_KEY(REAL, tn_model_sparsity, activations, "share of zeros among activations that products skip",
           TN_DEFAULT("0"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_model_sparsity, gradients, "share of zeros among gradients that products skip",
           TN_DEFAULT("0"), TN_WITHIN(0, 1)),
    TN_KEY(COUNT, tn_model_sparsity, depth, "steps of operands that a multiplier chooses from",
           TN_DEFAULT("3"), TN_WITHIN(1, 64)),
    TN_KEY(REAL, tn_model_sparsity, efficiency, "share of the zeros that the scheduler sees as such",
           TN_DEFAULT("1"), TN_WITHIN(0, 1)),
};
static const tn_schema sparsity_schema = TN_SCHEMA("sparsity", tn_model_sparsity, sparsity_fields);

static const tn_field update_fields[] = {
    TN_KEY(CHOICE, tn_model_update, when,
           "end: of the step, all gradients are held until then; write-back: where a gradient is finished",
           TN_DEFAULT("end"), TN_ONE_OF(update_times), .about = "[end, write-back]"),
};
static const tn_schema update_schema = TN_SCHEMA("update", tn_model_update, update_fields);

#define POLICY                                                                                               \
    TN_KEY(                                                                                                  \
        CHOICE, tn_model_activations, policy,                                                                \
        "keep; recompute: a repetition of a block keeps what it takes from others and makes the rest a "     \
        "second time; recompute-layers: a layer does so; reversible: a block's inputs are found from its "   \
        "outputs; optimal: of the first three, whichever costs least within the budget; default keep, "      \
        "with segments recompute",                                                                           \
        TN_ONE_OF(activation_policies), TN_SEEN(tn_model_activations, policy_at),                            \
        .about = "[keep, recompute-layers, recompute]")
static const tn_field activations_fields[] = {
    POLICY,
    TN_KEY(COUNT, tn_model_activations, segments,
           "policy recompute: the layers are cut into so many segments instead of by blocks, and all but the "
           "last are recomputed; 0: by blocks",
           TN_DEFAULT("0"), TN_SEEN(tn_model_activations, segments_at)),
    TN_KEY(COUNT, tn_model_activations, budget_bytes,
           "policy optimal: the most that is kept for the backward pass, bytes",
           TN_SEEN(tn_model_activations, budget_at)),
};
static const tn_field block_activations_fields[] = {POLICY};
const tn_schema tn_block_activations_schema =
    TN_SCHEMA("activations of a block", tn_model_activations, block_activations_fields);
static const tn_schema activations_schema =
    TN_SCHEMA("activations", tn_model_activations, activations_fields);

typedef struct precision_entry {
    const char *products, *operand[TN_VALUES], *accumulate;
    tn_position products_at, operand_at[TN_VALUES], accumulate_at;
} precision_entry;
#define OPERAND(word, value, text)                                                                           \
    TN_KEY_AS(word, TEXT, precision_entry, operand[value], text, TN_SEEN(precision_entry, operand_at[value]))
static const tn_field precision_fields[] = {
    OPERAND(
        "weights", TN_VALUE_WEIGHT,
        "of parameters, and of what is made of them alone, as operands of products: fp32, fp16, bf16, "
        "int16, int8, fixedB,F (B bits, F of them behind the point), bfpG,E,M (block floating point: G "
        "values share an exponent of E bits, each has a mantissa of M bits and a sign), oliveB (an outlier "
        "takes the place of its neighbour) or oliveB,mse (by the scale of least squared error); absent: "
        "products"),
    OPERAND("activations", TN_VALUE_ACTIVATION, "of what is made from the input; absent: products"),
    OPERAND("gradients", TN_VALUE_GRADIENT, "of what is made from a loss; absent: products"),
    TN_KEY(TEXT, precision_entry, products,
           "of the operands that have no key of their own; absent: accumulate",
           TN_SEEN(precision_entry, products_at)),
    TN_KEY(TEXT, precision_entry, accumulate,
           "of the sums of products, of all other arithmetic, and of every array that not only products read",
           TN_DEFAULT("fp32"), TN_SEEN(precision_entry, accumulate_at)),
};
static const tn_schema precision_schema = TN_SCHEMA("precision", precision_entry, precision_fields);

static const tn_field schedule_fields[] = {
    TN_KEY_AS("begin", TEXT, tn_precision_schedule, begin_text,
              "format that operands of products begin with; they end in that of precision",
              TN_SEEN(tn_precision_schedule, begin_at)),
    TN_KEY_AS("narrow", TEXT, tn_precision_schedule, narrow_text, "another name of begin",
              TN_SEEN(tn_precision_schedule, narrow_at)),
    TN_KEY(REAL, tn_precision_schedule, steps, "share of the steps for which they stay in it",
           TN_DEFAULT("0.5"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_precision_schedule, layers, "share of the layers, the first ones, that begin in it",
           TN_DEFAULT("1"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_precision_schedule, a,
           "instead of shares FAST's rule: an operand is wide where sum |wide - narrow| / |sum narrow| is "
           "above a - b i/I "
           "- b l/L in step i and layer l; 0: shares",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_precision_schedule, b, "of that rule", TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_precision_schedule, wide_share,
           "share of the operands that the rule makes wide, as it is priced", TN_DEFAULT("1"),
           TN_WITHIN(0, 1)),
};
static const tn_schema schedule_schema =
    TN_SCHEMA("precision_schedule", tn_precision_schedule, schedule_fields);

static const tn_field model_fields[] = {
    TN_KEY(CHOICE, tn_model_file, kind, "what the file is", TN_REQUIRED, TN_ONE_OF(file_kinds)),
    TN_KEY(TEXT, tn_model_file, name, "name in results: letters, digits, - and _", TN_REQUIRED,
           TN_SEEN(tn_model_file, name_at)),
    TN_KEY(
        CHOICE, tn_model_file, phase,
        "training: forward, backward, update; inference: forward alone, nothing is kept for a backward pass; "
        "decode: the forward pass of one token of each example, the last of `sequence`, with keys and values "
        "of "
        "those before it in a cache",
        TN_DEFAULT("training"), TN_ONE_OF(phases)),
    TN_KEY(COUNT, tn_model_file, batch, "examples of a training step", TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(COUNT, tn_model_file, sequence, "tokens of an example", TN_REQUIRED, TN_FROM(1)),
    TN_KEY_AS("precision", NODE, tn_model_file, precision_node,
              "of every number, as `accumulate` below; or a mapping of the keys there; absent: fp32"),
    TN_KEY_AS("precision_schedule", MAPPING, tn_model_file, schedule,
              "formats of operands that change with steps and layers",
              TN_SEEN(tn_model_file, schedule.schedule_at), .sub = &schedule_schema),
    TN_KEY(CHOICE, tn_model_file, optimizer, "sgd keeps no state, momentum one number a parameter, adam two",
           TN_DEFAULT("sgd"), TN_ONE_OF(tn_optimizer_names)),
    TN_KEY(MAPPING, tn_model_file, update, "when the optimizer changes the parameters",
           .sub = &update_schema),
    TN_KEY(MAPPING, tn_model_file, activations, "what is kept for the backward pass",
           .sub = &activations_schema),
    TN_KEY(MAPPING, tn_model_file, sparsity, "what of the operands of products is zero",
           .sub = &sparsity_schema),
    TN_KEY_AS("predicted_gradients", MAPPING, tn_model_file, predicted_gradients,
              "steps without a backward pass, whose gradients predictors give", .sub = &predicted_schema,
              TN_SEEN(tn_model_file, predicted_at)),
    TN_KEY(MAPPING, tn_model_file, memory, "cells that activations live in", .sub = &memory_schema),
    TN_KEY(MAPPING, tn_model_file, pruning, "inference: tokens and heads that stay", .sub = &pruning_schema),
    TN_KEY(REAL_LIST, tn_model_file, exit,
           "inference: shares of the inputs that leave behind each repetition of the blocks, 1 in all",
           TN_WITHIN(0, 1), TN_SEEN(tn_model_file, exit_at)),
    TN_KEY(MAPPING, tn_model_file, dvfs, "inference: clock and voltage that follow the work",
           .sub = &dvfs_schema),
    TN_KEY(COUNT, tn_model_file, outliers,
           "inference: bits of the operands of products, 2 to 8, whose outliers take the place of a "
           "neighbour (OliVe): "
           "format oliveB; 0: none",
           TN_DEFAULT("0"), TN_WITHIN(0, 8)),
    TN_KEY(CHOICE, tn_model_file, outlier_scale,
           "of `outliers`; sigma: by mean and deviation of the operand; mse: that of least squared error, "
           "searched for around it (format oliveB,mse)",
           TN_DEFAULT("sigma"), TN_ONE_OF(outlier_scales)),
    TN_KEY(MAPPING, tn_model_file, flat_gemm, "inference: products of few rows cut along their columns",
           .sub = &flat_schema),
    TN_KEY(TEXT_LIST, tn_model_file, train,
           "layers (encoder2.*) or parameters (*.bias) that are trained, by patterns; absent: all",
           TN_SEEN(tn_model_file, train_at)),
    TN_KEY(TEXT_LIST, tn_model_file, frozen, "layers or parameters that are not, of those",
           TN_SEEN(tn_model_file, frozen_at)),
    TN_KEY(REAL_LIST, tn_model_file, ratio,
           "share of the input channels of each trained weight of a linear layer that is updated, the first "
           "ones; one for "
           "all, or one for each name of `train`; absent: all of them",
           TN_WITHIN(0, 1), TN_SEEN(tn_model_file, ratio_at)),
    TN_KEY(COUNT, tn_model_file, examples, "examples of an epoch; its steps are examples / batch, rounded up",
           TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(CHOICE, tn_model_file, format, "dense: every weight uncompressed, whatever `weights` says",
           TN_DEFAULT("as-given"), TN_ONE_OF(weight_policies)),
    TN_KEY(CHOICE, tn_model_file, flow, "contraction flow of the weights that name none",
           TN_DEFAULT("bidirectional"), TN_ONE_OF(tn_flow_names)),
    TN_KEY(TABLE, tn_model_file, weights, "shapes by name, which layers refer to and spaces vary",
           .sub = &weight_schema),
    TN_KEY(TABLE, tn_model_file, overrides,
           "what single layers have otherwise than the weight that they name, by patterns of their names "
           "(encoder*.query); later ones over earlier ones",
           .sub = &tn_override_schema),
    TN_KEY(NODE, tn_model_file, layers, "the layers in order, each by the keys of its kind (below)",
           TN_REQUIRED),
    TN_KEY(NODE, tn_model_file, build, "hardware choices (docs/build-keys.md)"),
    TN_KEY(NODE, tn_model_file, checkpoint, "where trained weights lie, for `tenfold ranks`"),
    TN_KEY(NODE, tn_model_file, training, "how it is trained (docs/train.md)"),
    TN_KEY(NODE, tn_model_file, language_model,
           "the same model as `tenfold finetune` counts and prices it (docs/language-model-file.md)"),
};
const tn_schema tn_model_schema = TN_SCHEMA("model", tn_model_file, model_fields);

void tn_model_file_document(tn_buffer *out) {
    tn_schema_document(&tn_model_schema, out);
    tn_buffer_text(out, "\n");
    tn_schema_document(&precision_schema, out);
}

tn_status tn_model_name_check(const char *name, tn_position position, const char *what, tn_error *error) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (name[0] && name[strspn(name, allowed)] == '\0') return TN_OK;
    return tn_fail_at(error, TN_INPUT, position, "%s name \"%.100s\"; use letters, digits, - and _ only",
                      what, name);
}

static const char formats_known[] = "fp32, fp16, bf16, int16, int8, fixedBITS,FRACTION such as fixed16,8, "
                                    "bfpGROUP,EXPONENT,MANTISSA such as "
                                    "bfp16,8,4, oliveBITS such as olive4, or oliveBITS,mse";

uint64_t tn_predicted_per(const tn_model_predicted *predicted, double progress) {
    const size_t count = predicted->per.count, part = (size_t)(progress * (double)count);
    return count == 0 ? 0 : predicted->per.item[part < count ? part : count - 1];
}

double tn_predicted_share(const tn_model_predicted *predicted) {
    double sum = 0;
    for (size_t i = 0; i < predicted->per.count; i++)
        sum += (double)predicted->per.item[i] / ((double)predicted->per.item[i] + (double)predicted->truly);
    return predicted->per.count ? sum / (double)predicted->per.count : 0;
}

/* A format by its name; what is absent becomes `fallback`. */
static tn_status read_format(const char *text, tn_position position, const char *key,
                             const tn_number_format *fallback, tn_number_format *format, tn_error *error) {
    *format = *fallback;
    if (!text || tn_number_format_read(text, format, NULL) == TN_OK) return TN_OK;
    static const char *const names[] = {"fp32", "fp16", "bf16", "int16", "int8"};
    const char *near = tn_suggest(text, names, sizeof names / sizeof *names);
    return tn_fail_at(error, TN_INPUT, position, "\"%s\" is %.100s%s%s%s It must be %s", key, text,
                      near ? "; did you mean " : ".", near ? near : "", near ? "?" : "", formats_known);
}

static tn_status decode_precision(const tn_yaml *node, tn_arena *arena, tn_model_file *file,
                                  tn_error *error) {
    static const char *const keys[] = {"weights", "activations", "gradients"};
    precision_entry entry = {.accumulate = NULL};
    tn_formats *formats = &file->formats;
    tn_number_format products;
    if (node && node->kind == TN_YAML_MAPPING)
        TN_TRY(tn_schema_decode(&precision_schema, node, arena, &entry, error));
    else if (node && node->kind == TN_YAML_SCALAR)
        entry = (precision_entry){.accumulate = node->text, .accumulate_at = node->position};
    else if (node)
        return tn_fail_at(
            error, TN_INPUT, node->position,
            "\"precision\" is a list; it must be %s, or a mapping such as {products: \"bfp16,8,4\"}",
            formats_known);
    const char *key = node && node->kind == TN_YAML_SCALAR ? "precision" : "accumulate";
    TN_TRY(read_format(entry.accumulate, entry.accumulate_at, key, &tn_fp32, &formats->accumulate, error));
    TN_TRY(
        read_format(entry.products, entry.products_at, "products", &formats->accumulate, &products, error));
    for (int i = 0; i < TN_VALUES; i++)
        TN_TRY(read_format(entry.operand[i], entry.operand_at[i], keys[i], &products, &formats->operand[i],
                           error));
    return TN_OK;
}

/* Segments without a policy mean to recompute; budget and policy optimal belong together. */
static tn_status settle_activations(tn_model_activations *activations, tn_position position,
                                    tn_error *error) {
    if (!activations->policy_at.line && activations->segments > 0)
        activations->policy = TN_ACTIVATIONS_RECOMPUTE;
    if (activations->segments > 0 && activations->policy != TN_ACTIVATIONS_RECOMPUTE)
        return tn_fail_at(error, TN_INPUT, activations->segments_at,
                          "segments belong to policy recompute; leave them out, or the policy");
    if (activations->policy == TN_ACTIVATIONS_OPTIMAL && !activations->budget_at.line)
        return tn_fail_at(error, TN_INPUT, activations->policy_at.line ? activations->policy_at : position,
                          "policy optimal needs activations.budget_bytes, the most that may be kept");
    return TN_OK;
}

/* `begin`, or `narrow`, its older name. */
static tn_status settle_schedule(tn_precision_schedule *schedule, tn_error *error) {
    const bool older = schedule->narrow_at.line > 0;
    if (schedule->schedule_at.line == 0) return TN_OK;
    if (older && schedule->begin_at.line > 0)
        return tn_fail_at(error, TN_INPUT, schedule->narrow_at,
                          "precision_schedule has both begin and narrow, which is another name of it");
    if (!older && schedule->begin_at.line == 0)
        return tn_fail_at(error, TN_INPUT, schedule->schedule_at,
                          "precision_schedule has no key \"begin\", the format that products begin with");
    if (older) {
        schedule->begin_text = schedule->narrow_text;
        schedule->begin_at = schedule->narrow_at;
    }
    return read_format(schedule->begin_text, schedule->begin_at, older ? "narrow" : "begin", &tn_fp32,
                       &schedule->begin, error);
}

tn_status tn_model_file_decode(const tn_yaml *root, tn_arena *arena, tn_model_file *file, tn_error *error) {
    TN_TRY(tn_schema_decode(&tn_model_schema, root, arena, file, error));
    TN_TRY(settle_activations(&file->activations, root->position, error));
    TN_TRY(settle_schedule(&file->schedule, error));
    TN_TRY(decode_precision(file->precision_node, arena, file, error));
    tn_train_settings settings; /* for its errors: no price follows from them */
    if (file->training) TN_TRY(tn_train_settings_decode(file->training, arena, &settings, error));
    return tn_model_name_check(file->name, file->name_at, "model", error);
}
