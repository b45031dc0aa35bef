#include "finetune/load.h"

#include "base/random.h"
#include "text/csv.h"

#include <math.h>
#include <stdbool.h>

static tn_status make(uint64_t experts, uint64_t active, tn_arena *arena, tn_expert_load *load,
                      tn_error *error) {
    if (active == 0 || active > experts)
        return tn_fail(error, TN_INPUT, "a token is sent to %llu of %llu experts; 1 to all of them can be",
                       (unsigned long long)active, (unsigned long long)experts);
    *load = (tn_expert_load){.experts = experts, .active = active};
    return TN_NEW(arena, experts, &load->share, error);
}

tn_status tn_expert_load_even(uint64_t experts, uint64_t active, tn_arena *arena, tn_expert_load *load,
                              tn_error *error) {
    TN_TRY(make(experts, active, arena, load, error));
    for (uint64_t i = 0; i < experts; i++) load->share[i] = 1 / (double)experts;
    return TN_OK;
}

/* The column of loads, and whether it is one of shares. */
static tn_status find_columns(const tn_csv *csv, size_t column[2], bool *shares, tn_error *error) {
    static const char *const counts[] = {"expert", "tokens"}, *const parts[] = {"expert", "share"};
    *shares = tn_csv_column(csv, "share") < csv->columns;
    return tn_csv_columns(csv, *shares ? parts : counts, 2, true, column, error);
}

static tn_status read_rows(const tn_csv *csv, const size_t column[2], bool shares, tn_expert_load *load,
                           double *sum, tn_error *error) {
    const double most_tokens = 1e15;
    for (uint64_t i = 0; i < load->experts; i++) load->share[i] = -1;
    for (size_t row = 0; row < csv->rows; row++) {
        uint64_t expert, tokens;
        double value;
        TN_TRY(tn_csv_count(csv, row, column[0], 0, load->experts - 1, &expert, error));
        if (load->share[expert] >= 0)
            return tn_fail_at(error, TN_INPUT, tn_csv_at(csv, row, column[0])->position,
                              "expert %llu stands twice", (unsigned long long)expert);
        if (shares)
            TN_TRY(tn_csv_real(csv, row, column[1], 0, 1, &value, error));
        else {
            TN_TRY(tn_csv_count(csv, row, column[1], 0, (uint64_t)most_tokens, &tokens, error));
            value = (double)tokens;
        }
        load->share[expert] = value;
        *sum += value;
    }
    for (uint64_t i = 0; i < load->experts; i++)
        if (load->share[i] < 0)
            return tn_fail_at(error, TN_INPUT, csv->head[column[0]].position,
                              "expert %llu is missing; there are 0 to %llu", (unsigned long long)i,
                              (unsigned long long)(load->experts - 1));
    return TN_OK;
}

tn_status tn_expert_load_read(const char *path, uint64_t experts, uint64_t active, tn_arena *arena,
                              tn_expert_load *load, tn_error *error) {
    tn_csv csv;
    size_t column[2];
    bool shares;
    double sum = 0;
    TN_TRY(make(experts, active, arena, load, error));
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(find_columns(&csv, column, &shares, error));
    TN_TRY(read_rows(&csv, column, shares, load, &sum, error));
    if (shares ? fabs(sum - 1) > 1e-6 : sum == 0)
        return tn_fail_at(
            error, TN_INPUT, csv.head[column[1]].position,
            shares ? "shares sum to %.9g; they must sum to 1" : "tokens sum to %g; a router sends some", sum);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t expert;
        TN_TRY(tn_csv_count(&csv, row, column[0], 0, experts - 1, &expert, error));
        load->share[expert] /= sum;
        if (load->share[expert] * (double)active > 1 + 1e-9)
            return tn_fail_at(
                error, TN_INPUT, tn_csv_at(&csv, row, column[1])->position,
                "a share of %.4g; a token that chooses %llu experts gives one at most 1/%llu of its choices",
                load->share[expert], (unsigned long long)active, (unsigned long long)active);
    }
    return TN_OK;
}

static double draw_normal(uint64_t *state) {
    double u = 1 - tn_splitmix_unit(state), v = tn_splitmix_unit(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* Of the gamma distribution of that shape and scale 1. Marsaglia and Tsang, ACM TOMS 26, 2000; a shape below 1 by one more
 * and a power. */
static double draw_gamma(double shape, uint64_t *state) {
    if (shape < 1) {
        double more = draw_gamma(shape + 1, state);
        return more * pow(1 - tn_splitmix_unit(state), 1 / shape);
    }
    double d = shape - 1. / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draw_normal(state), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(1 - tn_splitmix_unit(state)) < x * x / 2 + d - d * v + d * log(v)) return d * v;
    }
}

/* Cuts shares above 1/active; those below take the rest in proportion, as often as one is above. */
static void cut(tn_expert_load *load) {
    double most = 1 / (double)load->active;
    for (uint64_t round = 0; round < load->experts; round++) {
        double full = 0, rest = 0;
        bool above = false;
        for (uint64_t i = 0; i < load->experts; i++) {
            above = above || load->share[i] > most;
            if (load->share[i] >= most)
                full += most;
            else
                rest += load->share[i];
        }
        if (!above || !(rest > 0)) break;
        for (uint64_t i = 0; i < load->experts; i++)
            load->share[i] = load->share[i] >= most ? most : load->share[i] * (1 - full) / rest;
    }
}

tn_status tn_expert_load_draw(uint64_t experts, uint64_t active, double concentration, uint64_t seed,
                              tn_arena *arena, tn_expert_load *load, tn_error *error) {
    double sum = 0;
    if (!(concentration >= 1e-3 && concentration <= 1e9))
        return tn_fail(error, TN_INPUT,
                       "a concentration of %g; it must be 0.001 (a few experts take all) to 1e9 (all alike)",
                       concentration);
    TN_TRY(make(experts, active, arena, load, error));
    for (uint64_t i = 0; i < experts; i++) sum += load->share[i] = draw_gamma(concentration, &seed);
    for (uint64_t i = 0; i < experts; i++)
        load->share[i] = sum > 0 ? load->share[i] / sum : 1 / (double)experts;
    cut(load);
    return TN_OK;
}

double tn_expert_load_concentration(const tn_expert_load *load) {
    double n = (double)load->experts, mean = 1 / n, square = 0;
    for (uint64_t i = 0; i < load->experts; i++) square += (load->share[i] - mean) * (load->share[i] - mean);
    double variance = square / n;
    return variance > 1e-18 ? (mean * (1 - mean) / variance - 1) / n : INFINITY;
}

double tn_expert_load_imbalance(const tn_expert_load *load) {
    double most = 0;
    for (uint64_t i = 0; i < load->experts; i++) most = fmax(most, load->share[i]);
    return most * (double)load->experts;
}

double tn_expert_load_touched(const tn_expert_load *load, double tokens) {
    double touched = 0;
    for (uint64_t i = 0; i < load->experts; i++)
        touched += 1 - pow(fmax(0, 1 - (double)load->active * load->share[i]), tokens);
    return touched;
}

double tn_expert_load_dropped(const tn_expert_load *load, double capacity) {
    double dropped = 0;
    for (uint64_t i = 0; i < load->experts; i++)
        dropped += fmax(0, load->share[i] - capacity / (double)load->experts);
    return dropped;
}
