#include "run/validate.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "program/training.h"
#include "search/evaluator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static tn_status validate_flow(tn_checks *checks, const tn_trial *trial, tn_flow_name flow,
                               const tn_cpu_rates *rates, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_arena arena = {0};
    tn_program program;
    tn_status status =
        tn_program_named(&trial->weight, trial->tokens, flow, &options, &arena, &program, error);
    if (status == TN_OK)
        status = tn_check_program(checks, trial, &program, trial->name, tn_flow_names[flow], rates, error);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_validate_trial(tn_checks *checks, const tn_trial *trial, tn_flow_name flow,
                            const tn_cpu_rates *rates, tn_error *error) {
    if (flow < TN_FLOW_NAMES) return validate_flow(checks, trial, flow, rates, error);
    for (int each = 0; each < TN_FLOWS; each++)
        if (tn_flow_exists(&trial->weight, (tn_flow_name)each))
            TN_TRY(validate_flow(checks, trial, (tn_flow_name)each, rates, error));
    return TN_OK;
}

tn_status tn_validate_training(tn_checks *checks, const tn_trial *trial, uint64_t micro_batches,
                               const tn_cpu_rates *rates, tn_error *error) {
    tn_arena arena = {0};
    tn_network network;
    tn_training_front front = {0};
    const tn_training_options options = {.micro_batches = micro_batches};
    if (micro_batches == 0 || trial->tokens % micro_batches != 0)
        return tn_fail(error, TN_INPUT,
                       "%" PRIu64 " rows in %" PRIu64 " micro-batches; the rows must divide evenly",
                       trial->tokens, micro_batches);
    tn_status status =
        tn_weight_forward(&trial->weight, trial->tokens / micro_batches, &arena, &network, error);
    if (status == TN_OK) status = tn_training_search(&network, &options, &arena, &front, error);
    for (size_t i = 0; status == TN_OK && i < front.count; i++) {
        const char *flow;
        status = tn_arena_format(&arena, &flow, error, "training %zu", i + 1);
        if (status == TN_OK)
            status = tn_check_program(checks, trial, &front.item[i].program, trial->name, flow, rates, error);
    }
    tn_arena_free(&arena);
    return status;
}

/* Whether the layer is executed here, and is the first with its program; *count is how many have it. */
static bool is_first(const tn_step *step, uint32_t layer, uint32_t *count) {
    const tn_program *program = step->layer[layer].program;
    if (!program) return false;
    *count = 0;
    for (uint32_t other = 0; other < step->layers; other++) {
        if (step->layer[other].program != program) continue;
        if (other < layer) return false;
        ++*count;
    }
    return true;
}

typedef struct tn_executed_program {
    tn_weight weight;
    uint64_t tokens;
    const char *flow; /* of tn_flow_names */
    bool lookup, input_gradient;
} executed_program;

static bool is_lookup(const tn_step_layer *layer) {
    return layer->family == TN_LAYER_EMBEDDING;
}

static bool has_input_gradient(const tn_step_layer *layer) {
    return layer->program->macs[TN_INPUT_GRADIENT] > 0;
}

void tn_executed_free(tn_executed *executed) {
    tn_free(executed->item);
    *executed = (tn_executed){0};
}

static bool was_executed(const tn_executed *executed, const tn_step_layer *layer, uint64_t tokens) {
    for (size_t i = 0; i < executed->count; i++) {
        const executed_program *known = &executed->item[i];
        if (known->tokens == tokens && strcmp(known->flow, layer->flow) == 0 &&
            known->lookup == is_lookup(layer) && known->input_gradient == has_input_gradient(layer) &&
            tn_weight_equal(&known->weight, layer->weight))
            return true;
    }
    return false;
}

static tn_status note_executed(tn_executed *executed, const tn_step_layer *layer, uint64_t tokens,
                               tn_error *error) {
    TN_TRY(TN_GROW(&executed->item, &executed->capacity, executed->count + 1, error));
    executed->item[executed->count++] = (executed_program){.weight = *layer->weight,
                                                           .tokens = tokens,
                                                           .flow = layer->flow,
                                                           .lookup = is_lookup(layer),
                                                           .input_gradient = has_input_gradient(layer)};
    return TN_OK;
}

/* Rows of the layer's input, from its program. */
static uint64_t tokens_of(const tn_program *program) {
    return program->index_size[0];
}

/* What is executed of a layer that is run and not trained: its flow without a backward pass, where it has one such. */
static tn_status forward_of(const tn_step_layer *layer, tn_arena *arena, const tn_program **program,
                            tn_error *error) {
    const tn_program_options options = {.training = false};
    uint32_t flow = 0;
    tn_program *made;
    *program = layer->program;
    while (tn_flow_names[flow] && strcmp(tn_flow_names[flow], layer->flow) != 0) flow++;
    if (!tn_flow_names[flow]) return tn_fail(error, TN_INPUT, "no flow is called %.60s", layer->flow);
    if (is_lookup(layer) || tn_flow_is_training((tn_flow_name)flow)) return TN_OK;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(tn_program_named(layer->weight, tokens_of(layer->program), (tn_flow_name)flow, &options, arena,
                            made, error));
    *program = made;
    return TN_OK;
}

/* Of a flow that has a backward pass all the same the rows of the forward phase alone. */
static void keep_forward(tn_checks *checks, size_t start) {
    size_t kept = start;
    for (size_t i = start; i < checks->count; i++)
        if (checks->item[i].phase == TN_FORWARD) checks->item[kept++] = checks->item[i];
    checks->count = kept;
}

static tn_status validate_layer(tn_checks *checks, const tn_step *step, const tn_step_layer *layer,
                                uint32_t count, const char *prefix, uint64_t seed, const tn_cpu_rates *rates,
                                tn_error *error) {
    tn_arena arena = {0};
    tn_trial trial;
    const char *name;
    const bool trained = step->forward_operations < step->operations;
    const tn_program *program = layer->program;
    size_t before = checks->count;
    tn_status status = count > 1 ? tn_arena_format(&arena, &name, error, "%s%s and %" PRIu32 " more", prefix,
                                                   layer->name, count - 1)
                                 : tn_arena_format(&arena, &name, error, "%s%s", prefix, layer->name);
    if (status == TN_OK)
        status = (is_lookup(layer) ? tn_trial_draw_lookup : tn_trial_draw)(
            layer->weight, tokens_of(layer->program), seed, &arena, &trial, error);
    if (status == TN_OK) status = trained ? TN_OK : forward_of(layer, &arena, &program, error);
    if (status == TN_OK) status = tn_check_program(checks, &trial, program, name, layer->flow, rates, error);
    if (!trained) keep_forward(checks, before);
    tn_arena_free(&arena);
    return status;
}

/* At least what a trial of the layer holds at once: the matrix that the reference multiplies, both sides of its
 * product with their gradients, and the live tensors of the program. A look-up draws cores alone. */
static double bytes_of(const tn_step_layer *layer) {
    const tn_weight *weight = layer->weight;
    double rows = 1, columns = 1, tokens = (double)tokens_of(layer->program);
    for (uint32_t k = 0; k < weight->d; k++) {
        rows *= (double)weight->m[k];
        columns *= (double)weight->n[k];
    }
    double held = (double)tn_program_peak(layer->program);
    if (!is_lookup(layer)) held += rows * columns + 2 * tokens * (rows + columns);
    return held * sizeof(double);
}

/* Of the machine, or of the process where that is less. */
static double bytes_there_are(void) {
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    double bytes = pages > 0 && page > 0 ? (double)pages * (double)page : INFINITY;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = fmin(bytes, (double)limit.rlim_cur);
    return bytes;
}

/* Said before the first check: the layers that fit may take hours. */
static tn_status refuse_too_large(const tn_step *step, tn_error *error) {
    double there_are = bytes_there_are();
    const double GB = 1e9;
    for (uint32_t index = 0; index < step->layers; index++) {
        const tn_step_layer *layer = &step->layer[index];
        if (!layer->program || !layer->weight || bytes_of(layer) <= there_are) continue;
        return tn_fail(
            error, TN_LIMIT,
            "executing layer %.100s takes %.1f GB of memory, %.1f GB are there; validate a smaller "
            "model, or fewer tokens with --set batch=1",
            layer->name, bytes_of(layer) / GB, there_are / GB);
    }
    return TN_OK;
}

static tn_status validate_step(tn_checks *checks, tn_executed *executed, const tn_step *step,
                               const char *prefix, uint64_t seed, const tn_cpu_rates *rates,
                               const tn_progress *progress, tn_error *error) {
    TN_TRY(refuse_too_large(step, error));
    for (uint32_t index = 0; index < step->layers; index++) {
        const tn_step_layer *layer = &step->layer[index];
        uint32_t count;
        tn_progress_report(progress, index, step->layers);
        if (!is_first(step, index, &count)) continue;
        uint64_t tokens = tokens_of(layer->program);
        if (was_executed(executed, layer, tokens)) continue;
        if (tn_interrupted())
            return tn_fail(error, TN_INTERRUPTED, "stopped after %zu checks", checks->count);
        TN_TRY(validate_layer(checks, step, layer, count, prefix, seed, rates, error));
        TN_TRY(note_executed(executed, layer, tokens, error));
    }
    return TN_OK;
}

tn_status tn_validate_model(tn_checks *checks, tn_executed *executed, const tn_model *model,
                            const char *prefix, uint64_t seed, const tn_cpu_rates *rates,
                            const tn_progress *progress, tn_error *error) {
    tn_program_cache *cache;
    tn_arena arena = {0};
    tn_step step;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_step_build(model, cache, &arena, &step, error);
    if (status == TN_OK)
        status = validate_step(checks, executed, &step, prefix, seed, rates, progress, error);
    tn_arena_free(&arena);
    tn_program_cache_free(cache);
    return status;
}

static tn_status validate_design(tn_checks *checks, tn_executed *executed, tn_evaluator *evaluator,
                                 uint64_t id, uint64_t seed, const tn_cpu_rates *rates, tn_error *error) {
    tn_evaluation evaluation;
    char prefix[48];
    TN_TRY(tn_evaluate_design(evaluator, id, &evaluation, error));
    snprintf(prefix, sizeof prefix, "%" PRIu64 ": ", id);
    return tn_validate_model(checks, executed, tn_evaluator_model(evaluator), prefix, seed, rates, NULL,
                             error);
}

tn_status tn_validate_result(tn_checks *checks, const tn_result *result, bool all, uint64_t id, uint64_t seed,
                             const tn_cpu_rates *rates, const tn_progress *progress, tn_error *error) {
    tn_evaluator *evaluator;
    tn_executed executed = {0};
    size_t designs = all ? result->recommended_count : 1;
    TN_TRY(tn_evaluator_new(result->space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < designs; i++) {
        tn_progress_report(progress, i, designs);
        status = validate_design(checks, &executed, evaluator, all ? result->recommended[i].id : id, seed,
                                 rates, error);
    }
    tn_executed_free(&executed);
    tn_evaluator_free(evaluator);
    return status;
}
