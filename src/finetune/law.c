#include "finetune/law.h"

#include <math.h>
#include <stddef.h>

typedef struct {
    const char *name, *unit;
} label;

static const label log_label[] = {{"C2", "queries/s"}, {"C3", ""}, {"C4", "queries/s"}};
static const label step_label[] = {
    {"fixed_s", "s"},
    {"query_s", "s"},
    {"expert_share_of_fixed", ""},
    {"expert_share_of_query", ""},
    {"sharpness", ""},
    {"choices_per_query", ""},
    {"run_ahead_share", ""},
};

const char *tn_finetune_law_name(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? "log" : "step";
}

int tn_finetune_coefficients(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? TN_LOG_COEFFICIENTS : TN_STEP_COEFFICIENTS;
}

static const label *labels(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? log_label : step_label;
}

const char *tn_finetune_coefficient_name(tn_finetune_law law, int coefficient) {
    return labels(law)[coefficient].name;
}

const char *tn_finetune_coefficient_unit(tn_finetune_law law, int coefficient) {
    return labels(law)[coefficient].unit;
}

/* log P(e^x, e^y), and its derivatives by x, y and p. */
typedef struct {
    double value, by_x, by_y, by_p;
} overlap;

static overlap log_overlap(double x, double y, double p) {
    double large = fmax(x, y), small = fmin(x, y);
    if (isinf(large)) return (overlap){.value = large};
    double tail = log1p(exp(p * (small - large)));
    overlap o = {.value = large + tail / p};
    o.by_x = exp(p * (x - large) - tail);
    o.by_y = exp(p * (y - large) - tail);
    o.by_p = (o.by_x * (x - large) + o.by_y * (y - large) - tail / p) / p;
    return o;
}

/* log v, and its derivative by m. */
static double log_touched(double batch, double sparsity, double choices, double *by_choices) {
    *by_choices = 0;
    if (sparsity == 1) return 0;
    double rate = batch * log1p(-sparsity), touched = -expm1(choices * rate);
    *by_choices = -rate * exp(choices * rate) / touched;
    return log(touched);
}

double tn_step_log_seconds(const double *c, double batch, double sparsity, double *derivative) {
    double g = c[TN_STEP_EXPERT_FIXED], h = c[TN_STEP_EXPERT_QUERY], p = c[TN_STEP_SHARPNESS],
           w = c[TN_STEP_AHEAD];
    double fixed = log(c[TN_STEP_FIXED_S]), query = log(c[TN_STEP_QUERY_S]) + log(batch), by_choices;
    double touched = log_touched(batch, sparsity, c[TN_STEP_CHOICES], &by_choices), v = exp(touched);
    double all_fixed = 1 - g + g * v, all_query = 1 - h + h * sparsity; /* shares of T and of b C */
    overlap rest = log_overlap(fixed + log1p(-g), query + log1p(-h), p);
    overlap experts = log_overlap(fixed + log(g) + touched, query + log(h) + log(sparsity), p);
    overlap all = log_overlap(fixed + log(all_fixed), query + log(all_query), p);
    double large = fmax(rest.value, experts.value);
    double r = exp(rest.value - large), e = exp(experts.value - large), a = exp(all.value - large);
    double sum = (1 - w) * (r + e) + w * a;
    if (derivative) {
        derivative[TN_STEP_AHEAD] = (a - r - e) / sum;
        r *= (1 - w) / sum;
        e *= (1 - w) / sum;
        a *= w / sum;
        double by_x = a * all.by_x / all_fixed, by_y = a * all.by_y / all_query;
        derivative[TN_STEP_FIXED_S] = (r * rest.by_x + e * experts.by_x + a * all.by_x) / c[TN_STEP_FIXED_S];
        derivative[TN_STEP_QUERY_S] = (r * rest.by_y + e * experts.by_y + a * all.by_y) / c[TN_STEP_QUERY_S];
        derivative[TN_STEP_EXPERT_FIXED] = e * experts.by_x / g - r * rest.by_x / (1 - g) - by_x * (1 - v);
        derivative[TN_STEP_EXPERT_QUERY] =
            e * experts.by_y / h - r * rest.by_y / (1 - h) - by_y * (1 - sparsity);
        derivative[TN_STEP_SHARPNESS] = r * rest.by_p + e * experts.by_p + a * all.by_p;
        derivative[TN_STEP_CHOICES] = (e * experts.by_x + by_x * g * v) * by_choices;
    }
    return large + log(sum);
}

double tn_finetune_throughput(tn_finetune_law law, const double *coefficient, double batch, double sparsity) {
    if (law == TN_FINETUNE_STEP) return batch * exp(-tn_step_log_seconds(coefficient, batch, sparsity, NULL));
    return coefficient[TN_LOG_C2] * log(batch) / (sparsity * coefficient[TN_LOG_C3]) + coefficient[TN_LOG_C4];
}
