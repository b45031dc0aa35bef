#include "cli/ranks.h"

#include "base/file.h"
#include "base/guard.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/ranks_solution.h"
#include "ranks/files.h"
#include "ranks/rank_figures.h"
#include "tensor/folding.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The arguments of `tenfold ranks` that need more than a number. */

const char tn_ranks_caution[] =
    "Errors are those of cutting trained matrices: a poor guide for training from scratch (docs/ranks.md).";

tn_status tn_ranks_split(const char *text, const char *option, tn_arena *arena, tn_ranks_texts *texts,
                         tn_error *error) {
    texts->count = 0;
    for (const char *cursor = text;;) {
        size_t length = strcspn(cursor, ",");
        if (length == 0)
            return tn_fail(error, TN_INPUT, "%s %s has an empty item; write values apart by commas", option,
                           text);
        if (texts->count == TN_RANKS_LIST)
            return tn_fail(error, TN_LIMIT, "%s has more than %d values; give fewer", option, TN_RANKS_LIST);
        TN_TRY(tn_arena_copy_text(arena, cursor, length, &texts->item[texts->count++], error));
        if (cursor[length] == '\0') return TN_OK;
        cursor += length + 1;
    }
}

tn_status tn_ranks_format(const char *name, tn_format *format, tn_error *error) {
    for (size_t i = 0; i < tn_formats_from_weights_count; i++) {
        *format = tn_formats_from_weights[i];
        if (strcmp(name, tn_format_names[*format]) == 0) return TN_OK;
    }
    for (size_t i = 0; tn_format_names[i]; i++)
        if (strcmp(name, tn_format_names[i]) == 0)
            return tn_fail(error, TN_INPUT,
                           "weights are not decomposed into format %s; they are into tt, ttm, tr and tucker",
                           name);
    const char *near = tn_suggest(name, tn_format_names, TN_FORMATS);
    return tn_fail(error, TN_INPUT, "unknown format '%.60s'; %s%s%s", name, near ? "did you mean " : "",
                   near ? near : "weights are decomposed into tt, ttm, tr and tucker", near ? "?" : "");
}

tn_status tn_ranks_method(const char *name, tn_svd_method *method, tn_error *error) {
    *method = TN_SVD_AUTO;
    if (!name) return TN_OK;
    for (size_t i = 0; i < 3; i++) {
        *method = (tn_svd_method)i;
        if (strcmp(name, tn_svd_method_names[i]) == 0) return TN_OK;
    }
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown --svd '%.60s'; %s", name,
                   tn_suggestion(name, tn_svd_method_names, 3, told, sizeof told));
}

tn_status tn_ranks_weight(tn_format format, const char *fold, const char *cap, tn_weight *weight,
                          tn_error *error) {
    tn_arena arena = {0};
    tn_error inner = {0};
    const char *spec;
    uint64_t tokens;
    tn_status status =
        tn_arena_format(&arena, &spec, &inner, "%s:%s,rank=%s,tokens=1", tn_format_names[format], fold, cap);
    if (status == TN_OK) status = tn_spec_parse(spec, (tn_position){0}, weight, &tokens, &inner);
    tn_arena_free(&arena);
    if (status == TN_OK) return TN_OK;
    return tn_fail(error, status, "--fold %.200s at rank %.100s: %.600s", fold, cap, inner.message);
}

tn_status tn_ranks_tolerance(const char *text, double *tolerance, tn_error *error) {
    if (tn_read_real(text, tolerance) == TN_NUMBER_OK && *tolerance >= 0 && *tolerance <= 1) return TN_OK;
    return tn_fail(error, TN_INPUT, "tolerance '%s' must be a relative error of 0 to 1", text);
}

/* A number, with a unit of bytes (where the budget is one of bytes) or as a percentage of `whole`. */
static tn_status read_amount(const char *text, const char *whole_text, bool bytes, double whole, double *most,
                             tn_error *error) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"kB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"KiB", 1024},
                 {"MiB", 1024.0 * 1024},
                 {"GiB", 1024.0 * 1024 * 1024},
                 {"%", 0}};
    char number[64];
    size_t length = strlen(text);
    double factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t own = strlen(units[i].name);
        if (length < own || strcmp(text + length - own, units[i].name) != 0) continue;
        if (units[i].factor > 0 && !bytes)
            return tn_fail(error, TN_INPUT,
                           "--budget '%.100s' has a unit of bytes; it is for a budget of bytes", whole_text);
        if (units[i].factor == 0 && isnan(whole))
            return tn_fail(error, TN_INPUT,
                           "--budget '%.100s': nothing is known that it is a share of; give a number",
                           whole_text);
        factor = units[i].factor > 0 ? units[i].factor : whole / 100;
        length -= own;
        break;
    }
    while (length > 0 && text[length - 1] == ' ') length--;
    if (length < sizeof number) {
        memcpy(number, text, length);
        number[length] = '\0';
    }
    if (length >= sizeof number || tn_read_real(number, most) != TN_NUMBER_OK || *most < 0)
        return tn_fail(error, TN_INPUT,
                       "--budget '%.100s': its amount must be a number of at least 0 (params=100000), bytes "
                       "in kB, MB, GB, KiB, MiB or "
                       "GiB (12MB), or a share ('80 %%')",
                       whole_text);
    *most *= factor;
    return TN_OK;
}

/* KEY=VALUE; without KEY= of bytes. */
static tn_status read_budget(const char *text, const tn_rank_problem *problem, const double *whole,
                             tn_rank_budget *budget, tn_error *error) {
    char name[64] = "bytes";
    size_t length = strcspn(text, "=");
    const char *value = text[length] == '=' ? text + length + 1 : text;
    if (value != text || strspn(text, "0123456789.-") == 0) {
        if (value == text || length == 0 || length >= sizeof name)
            return tn_fail(error, TN_INPUT,
                           "--budget '%.100s' must be KEY=VALUE, such as params=100000, or an amount of "
                           "memory, 12MB or '80 %%'",
                           text);
        memcpy(name, text, length);
        name[length] = '\0';
    }
    TN_TRY(tn_rank_cost_find(problem, name, &budget->cost, error));
    bool bytes = strcmp(problem->cost_name[budget->cost], "bytes") == 0;
    return read_amount(value, text, bytes, whole ? whole[budget->cost] : NAN, &budget->most, error);
}

tn_status tn_ranks_goal(const tn_ranks_asked *asked, const tn_rank_problem *problem, const double *whole,
                        double most_error, tn_rank_goal *goal, tn_error *error) {
    *goal = (tn_rank_goal){
        .least_cost = asked->max_error >= 0, .most_error = most_error, .most_states = asked->states};
    if (asked->budget.count > TN_COSTS_MOST)
        return tn_fail(error, TN_LIMIT, "more than %d budgets; give fewer", TN_COSTS_MOST);
    if (asked->max_error < 0)
        return tn_fail(error, TN_INPUT, "--max-error is %g; it must be at least 0", asked->max_error);
    if (asked->budget.count == 0 && isnan(asked->max_error))
        return tn_fail(error, TN_INPUT, "nothing bounds the ranks; give --budget KEY=VALUE or --max-error E");
    if (asked->minimise && isnan(asked->max_error))
        return tn_fail(error, TN_INPUT, "--minimise needs --max-error E, the error that is allowed");
    for (size_t i = 0; i < asked->budget.count; i++) {
        TN_TRY(read_budget(asked->budget.item[i], problem, whole, &goal->budget[i], error));
        for (size_t k = 0; k < i; k++)
            if (goal->budget[k].cost == goal->budget[i].cost)
                return tn_fail(error, TN_INPUT, "the budget of %s is given twice; give it once",
                               problem->cost_name[goal->budget[i].cost]);
    }
    goal->budgets = asked->budget.count;
    if (asked->minimise) TN_TRY(tn_rank_cost_find(problem, asked->minimise, &goal->minimised, error));
    return TN_OK;
}

static const char *join(const uint64_t *number, size_t count, char apart, char *text) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i) text[length++] = apart;
        length += (size_t)snprintf(text + length, 21, "%" PRIu64, number[i]);
    }
    return text;
}

const char *tn_ranks_product_text(const uint64_t *factor, size_t count, char *text) {
    return join(factor, count, 'x', text);
}

const char *tn_ranks_list_text(const uint64_t *rank, size_t count, char *text) {
    return join(rank, count, ' ', text);
}
