#include "ranks/files.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "decompose/factored_files.h"
#include "decompose/ttsvd.h"
#include "ranks/own_weights.h"
#include "text/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SPECTRUM_SIDE = 2048, PATH = 1200, LIST_TEXT = 21 * TN_RANKS_MOST };

static tn_status finish(const char *folder, const char *name, tn_buffer *out, tn_error *error) {
    char path[PATH];
    snprintf(path, sizeof path, "%.1000s/%s", folder, name);
    tn_status status = tn_file_write_buffer(path, out, error);
    tn_buffer_free(out);
    return status;
}

static void put_head(tn_buffer *out, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) tn_csv_put(out, names[i]);
}

static void put_list(tn_buffer *out, const uint64_t *number, uint32_t count, char apart) {
    char text[LIST_TEXT] = "";
    size_t length = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (k) text[length++] = apart;
        length += (size_t)snprintf(text + length, 21, "%" PRIu64, number[k]);
    }
    tn_csv_put(out, text);
}

tn_status tn_rank_write_allocation(const char *folder, const tn_rank_problem *problem,
                                   const tn_rank_way *choice, tn_error *error) {
    static const char *const names[] = {"layer", "cap", "ranks"};
    tn_buffer out = {0};
    const tn_rank_problem *p = problem;
    put_head(&out, names, 3);
    put_head(&out, p->cost_name, p->costs);
    tn_csv_put(&out, p->error_name);
    tn_csv_line(&out);
    for (size_t l = 0; l < p->layers && choice->met; l++) {
        size_t i = p->first[l] + choice->choice[l];
        tn_csv_put(&out, p->layer[l]);
        tn_csv_put_count(&out, p->cap[i]);
        tn_csv_put(&out, p->label[i] ? p->label[i] : "");
        for (size_t k = 0; k < p->costs; k++) tn_csv_put_real(&out, p->cost[i * p->costs + k]);
        tn_csv_put_real(&out, p->error[i]);
        tn_csv_line(&out);
    }
    return finish(folder, "allocation.csv", &out, error);
}

tn_status tn_rank_write_front(const char *folder, const tn_rank_problem *problem, size_t cost,
                              const tn_tradeoff *front, tn_error *error) {
    tn_buffer out = {0};
    tn_csv_put(&out, problem->cost_name[cost]);
    tn_csv_put(&out, problem->error_name);
    tn_csv_put(&out, "lower_bound");
    tn_csv_line(&out);
    for (size_t i = 0; i < front->count; i++) {
        tn_csv_put_real(&out, front->point[i].cost);
        tn_csv_put_real(&out, front->point[i].objective);
        tn_csv_put_real(&out, front->point[i].lower_bound);
        tn_csv_line(&out);
    }
    return finish(folder, "front.csv", &out, error);
}

static double relative(double squares, double norm) {
    return norm > 0 ? sqrt(fmax(0, squares) / norm) : 0;
}

tn_status tn_rank_write_candidates(const char *folder, const tn_rank_plan *plan, tn_error *error) {
    static const char *const names[] = {"layer", "format", "rows", "columns", "cap", "tolerance", "ranks"};
    tn_buffer out = {0};
    const tn_rank_problem *p = &plan->problem;
    put_head(&out, names, sizeof names / sizeof *names);
    put_head(&out, p->cost_name, p->costs);
    tn_csv_put(&out, "relative_error");
    tn_csv_put(&out, p->error_name);
    tn_csv_line(&out);
    for (size_t l = 0; l < plan->layers; l++)
        for (size_t i = p->first[l]; i < p->first[l + 1]; i++) {
            const tn_layer_option *candidate = plan->candidate[i];
            const tn_weight *weight = &candidate->weight;
            tn_csv_put(&out, p->layer[l]);
            tn_csv_put(&out, tn_rank_format_name(weight));
            put_list(&out, weight->m, weight->d, 'x');
            put_list(&out, weight->n, weight->d, 'x');
            tn_csv_put_count(&out, candidate->cap);
            if (candidate->tolerance >= 0)
                tn_csv_put_real(&out, candidate->tolerance);
            else
                tn_csv_put(&out, "");
            put_list(&out, weight->rank, weight->rank_count, ' ');
            for (size_t k = 0; k < p->costs; k++) tn_csv_put_real(&out, p->cost[i * p->costs + k]);
            tn_csv_put_real(&out, relative(candidate->squared_error, plan->candidates[l].squared_norm));
            tn_csv_put_real(&out, p->error[i]);
            tn_csv_line(&out);
        }
    return finish(folder, "candidates.csv", &out, error);
}

/* --- errors for a sweep --- */

/* The candidate by cap of a folding whose cap is the greatest up to `cap`: larger caps would only repeat it.
 */
static const tn_layer_option *by_cap(const tn_layer_options *options, uint32_t folding, uint64_t cap) {
    const tn_layer_option *found = NULL;
    for (size_t i = 0; i < options->count; i++) {
        const tn_layer_option *c = &options->item[i];
        if (c->folding == folding && c->tolerance < 0 && c->cap <= cap && (!found || c->cap > found->cap))
            found = c;
    }
    return found;
}

static const tn_model_weight *entry_of(const tn_rank_plan *plan, size_t layer) {
    return tn_model_layer_at(plan->model, plan->candidates[layer].layer).weight;
}

/* One row: all layers of the entry that `layer` is the first of. Their foldings are the same, as they share
 * one size. */
static void put_errors(const tn_rank_plan *plan, size_t layer, uint32_t folding, uint64_t cap,
                       tn_buffer *out) {
    const tn_model_weight *entry = entry_of(plan, layer);
    double squares = 0, norm = 0;
    for (size_t l = layer; l < plan->layers; l++) {
        if (entry_of(plan, l) != entry) continue;
        const tn_layer_option *candidate = by_cap(&plan->candidates[l], folding, cap);
        if (!candidate) return;
        squares += candidate->squared_error;
        norm += plan->candidates[l].squared_norm;
    }
    const tn_weight *weight = &plan->candidates[layer].folding[folding];
    tn_csv_put(out, entry->name);
    put_list(out, weight->m, weight->d, 'x');
    put_list(out, weight->n, weight->d, 'x');
    tn_csv_put_count(out, cap);
    tn_csv_put_real(out, relative(squares, norm));
    tn_csv_put_real(out, sqrt(norm));
    tn_csv_line(out);
}

tn_status tn_rank_write_error_table(const char *folder, const tn_rank_plan *plan,
                                    const tn_layer_option_rule *rule, tn_error *error) {
    static const char *const names[] = {"weight", "rows", "columns", "rank", "relative_error", "norm"};
    tn_buffer out = {0};
    put_head(&out, names, sizeof names / sizeof *names);
    tn_csv_line(&out);
    for (size_t l = 0; l < plan->layers; l++) {
        size_t first = 0;
        while (entry_of(plan, first) != entry_of(plan, l)) first++;
        for (uint32_t f = 0; first == l && f < plan->candidates[l].foldings; f++) {
            if (plan->candidates[l].folding[f].format != entry_of(plan, l)->weight.format) continue;
            for (size_t i = 0; i < rule->caps; i++) put_errors(plan, l, f, rule->cap[i], &out);
        }
    }
    return finish(folder, "error.csv", &out, error);
}

/* --- the model --- */

tn_status tn_rank_write_model(const char *folder, const tn_rank_plan *plan, tn_error *error) {
    tn_arena arena = {0};
    tn_buffer out = {0};
    tn_status status = tn_own_weights_write(plan->model, plan->own, &arena, &out, error);
    tn_arena_free(&arena);
    if (status == TN_OK) return finish(folder, "model.yaml", &out, error);
    tn_buffer_free(&out);
    return status;
}

typedef struct {
    tn_factored *factored;
    const tn_factored **list;
    const char **name;
    size_t made;
} cores;

static tn_status make_cores(const tn_rank_plan *plan, const tn_rank_way *choice, const tn_trained *trained,
                            const tn_layer_option_rule *rule, const tn_progress *progress, cores *c,
                            tn_error *error) {
    for (; c->made < plan->layers; c->made++) {
        size_t l = c->made;
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
        TN_TRY(tn_layer_option_factor(trained, rule, &plan->candidates[l],
                                      tn_rank_plan_chosen(plan, choice, l), &c->factored[l], error));
        c->list[l] = &c->factored[l];
        c->name[l] = plan->candidates[l].name;
        tn_progress_report(progress, l + 1, plan->layers);
    }
    return TN_OK;
}

tn_status tn_rank_write_cores(const char *folder, const tn_rank_plan *plan, const tn_rank_way *choice,
                              const tn_trained *trained, const tn_layer_option_rule *rule,
                              const tn_half *half, const tn_progress *progress, tn_error *error) {
    cores c = {0};
    char path[PATH];
    snprintf(path, sizeof path, "%.1000s/cores.npz", folder);
    tn_status status = TN_ALLOC(plan->layers, &c.factored, error);
    if (status == TN_OK) status = TN_ALLOC(plan->layers, &c.list, error);
    if (status == TN_OK) status = TN_ALLOC(plan->layers, &c.name, error);
    if (status == TN_OK) status = make_cores(plan, choice, trained, rule, progress, &c, error);
    if (status == TN_OK) status = tn_factored_write_npz(path, c.list, c.name, plan->layers, error);
    snprintf(path, sizeof path, "%.1000s/cores.safetensors", folder);
    if (status == TN_OK && half)
        status = tn_factored_write_safetensors(path, c.list, c.name, plan->layers, *half, error);
    for (size_t l = 0; l < c.made; l++) tn_factored_free(&c.factored[l]);
    tn_free(c.factored);
    tn_free(c.list);
    tn_free(c.name);
    return status;
}

/* Whether every unfolding of the layer is small enough to be worth its time. */
static bool has_spectrum(const tn_layer_options *options, const tn_weight *weight) {
    bool is_train = weight->format == TN_TT || weight->format == TN_TTM;
    uint64_t side = options->rows < options->columns ? options->rows : options->columns;
    return is_train && side <= SPECTRUM_SIDE;
}

static tn_status put_spectrum(const tn_trained *trained, const tn_layer_options *options,
                              const tn_weight *weight, tn_buffer *out, tn_error *error) {
    double *value[TN_TRAIN_MODES] = {0};
    uint64_t count[TN_TRAIN_MODES];
    size_t bonds;
    tn_status status = tn_layer_option_spectrum(trained, options, weight, value, count, &bonds, error);
    for (size_t b = 0; b < bonds; b++) {
        for (uint64_t i = 0; status == TN_OK && i < count[b]; i++) {
            tn_csv_put(out, options->name);
            tn_csv_put_count(out, b + 1);
            tn_csv_put_count(out, i);
            tn_csv_put_real(out, value[b][i]);
            tn_csv_line(out);
        }
        tn_free(value[b]);
    }
    return status;
}

tn_status tn_rank_write_spectra(const char *folder, const tn_rank_plan *plan, const tn_rank_way *choice,
                                const tn_trained *trained, tn_error *error) {
    static const char *const names[] = {"layer", "bond", "index", "sigma"};
    tn_buffer out = {0};
    tn_status status = TN_OK;
    put_head(&out, names, 4);
    tn_csv_line(&out);
    for (size_t l = 0; l < plan->layers && status == TN_OK; l++) {
        const tn_weight *weight = &tn_rank_plan_chosen(plan, choice, l)->weight;
        if (has_spectrum(&plan->candidates[l], weight))
            status = put_spectrum(trained, &plan->candidates[l], weight, &out, error);
    }
    if (status == TN_OK) return finish(folder, "singular_values.csv", &out, error);
    tn_buffer_free(&out);
    return status;
}
