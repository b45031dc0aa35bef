/* The laws of fine-tuning throughput: queries per second as a function of batch size b and sparsity s
 * (experts at work / experts; 1 for a dense model).
 *
 * The published law [arXiv 2408.04693]:
 *
 *     throughput = C2 log(b) / (s C3) + C4
 *
 * (the text prints log(b / (s C3)); the published fits use log(b^(1/(s C3))), which is the line above and
 * makes C4 the throughput at batch 1). It grows without bound in b. C2 and C3 only ever stand as C2/C3, so
 * that no measurement can determine both: C3 is given, by the model file or by hand.
 *
 * The law of the step's time, throughput = b / t(b, s):
 *
 *     t = (1-w) (R + E) + w A
 *     R = P( T (1-g),         b C (1-h)       )      all layers but the experts
 *     E = P( T g v(b, s),     b C h s         )      the experts
 *     A = P( T (1-g + g v),   b C (1-h + h s) )      both at once
 *     P(x, y) = (x^p + y^p)^(1/p)
 *     v(b, s) = 1 - (1-s)^(m b),  1 for s = 1
 *
 * Each of the two halves is a roofline: a part of the time that does not depend on the batch (reading,
 * unpacking and updating weights, launching kernels) and one that grows with it (arithmetic on tokens), which
 * overlap in part. p says how well: p = 1 is one after the other, p = infinity is max(x, y). Sparsity scales
 * the experts' arithmetic, and with few queries not every expert's weights are touched: v is the expected
 * share of the experts that m b independent choices with probability s each touch (tokens of one query choose
 * alike, so that m is far below a query's number of tokens).
 *
 * Where the host waits in every layer, for the router's choice to be read back, each half overlaps within itself alone
 * (w = 0). Where it does not, its launches run ahead of the device over the whole step, and the experts' arithmetic
 * hides the launches of the other layers too (w = 1): a step takes what the host or what the device takes, whichever
 * is longer. A fast GPU on short sequences is where the two differ most, near the batch at which it stops waiting for
 * its host.
 *
 * For T, C > 0, 0 < g, h < 1, 0 <= w <= 1, p >= 1 and m > 0, throughput rises with b, never falls, and saturates at
 * 1 / (C (1 - h + h s)); it falls as s rises. */
#ifndef TN_FINETUNE_LAW_H
#define TN_FINETUNE_LAW_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/data.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef enum tn_finetune_law { TN_FINETUNE_LOG, TN_FINETUNE_STEP, TN_FINETUNE_LAWS } tn_finetune_law;

/* Coefficients of the log law, in this order. */
enum { TN_LOG_C2, TN_LOG_C3, TN_LOG_C4, TN_LOG_COEFFICIENTS };

/* Coefficients of the step law, in this order. */
enum {
    TN_STEP_FIXED_S,      /* T, seconds of a step that do not depend on the batch */
    TN_STEP_QUERY_S,      /* C, seconds a query adds with every expert at work */
    TN_STEP_EXPERT_FIXED, /* g, the experts' share of T */
    TN_STEP_EXPERT_QUERY, /* h, the experts' share of C */
    TN_STEP_SHARPNESS,    /* p */
    TN_STEP_CHOICES,      /* m, independent choices of experts a query makes */
    TN_STEP_AHEAD,        /* w, the share of the step over whose whole length the parts overlap */
    TN_STEP_COEFFICIENTS
};
enum { TN_FINETUNE_MOST_COEFFICIENTS = TN_STEP_COEFFICIENTS };

/* "log", "step". */
const char *tn_finetune_law_name(tn_finetune_law law);
int tn_finetune_coefficients(tn_finetune_law law);
/* Names as in JSON, and units for tables ("" where there is none). */
const char *tn_finetune_coefficient_name(tn_finetune_law law, int coefficient);
const char *tn_finetune_coefficient_unit(tn_finetune_law law, int coefficient);

/* log t of the step law, and its derivatives by the coefficients (NULL: not wanted; they exist where
 * 0 < g, h < 1). */
double tn_step_log_seconds(const double *coefficient, double batch, double sparsity, double *derivative);

/* Queries per second. batch >= 1, 0 < sparsity <= 1. */
double tn_finetune_throughput(tn_finetune_law law, const double *coefficient, double batch, double sparsity);

/* Fitting the law of the step's time (finetune/law.h) to measured throughputs.
 *
 * The coefficients are functions of parameters without bounds: logarithms of T, C, p - 1 and m, logits of the
 * shares g, h and w, so that every fitted law rises, saturates and is positive. Two more parameters a and c
 * carry the law from a reference GPU to others: T falls as bandwidth^-a, C as peak^-c.
 *
 * What is maximised is a posterior density. A measurement deviates from the law by the noise times the
 * geometric mean of itself and the group's mean, with a Student distribution of 4 degrees of freedom, so that
 * a single bad run counts little; each parameter has a normal prior (the table in law.c says which
 * and why), so that few points give no wild law: what they do not determine stays at the prior and is
 * reported as undetermined. Found by reweighted non-linear least squares (GSL, Levenberg-Marquardt) from
 * several starts that follow from the data; the same data always give the same law. Sources: Lange, Little,
 * Taylor, "Robust statistical modeling using the t distribution", JASA 1989; MacKay, "Bayesian
 * interpolation", 1992, for the effective number of coefficients. */

/* The parameters: one a coefficient, in the order of the coefficients, then a and c. */
enum {
    TN_STEP_BANDWIDTH_EXPONENT = TN_STEP_COEFFICIENTS,
    TN_STEP_PEAK_EXPONENT,
    TN_STEP_PARAMETERS,
};

typedef struct tn_step_estimate {
    double parameter[TN_STEP_PARAMETERS];
    double covariance[TN_STEP_PARAMETERS][TN_STEP_PARAMETERS];
    double prior_deviation[TN_STEP_PARAMETERS];
    double noise;     /* scale of a measurement's deviation, relative */
    double mean;      /* of the measured throughputs, queries per second */
    double effective; /* how many coefficients the data determine, as a real number */
    double degrees;   /* of freedom that data and prior leave to judge the noise by; at least 1 */
} tn_step_estimate;

/* `start` (NULL: none) is an estimate from almost the same data, which saves most of the search. Points with
 * only one batch size are TN_INPUT; GSL's lack of memory is TN_MEMORY. */
tn_status tn_step_fit(const tn_finetune_point *point, size_t count, const tn_step_estimate *start,
                      tn_step_estimate *estimate, tn_error *error);

/* The coefficients of parameters: the law on the reference GPU. */
void tn_step_coefficients(const double parameter[TN_STEP_PARAMETERS],
                          double coefficient[TN_STEP_COEFFICIENTS]);
/* One of them. */
double tn_step_coefficient(int coefficient, double parameter);

/* log(queries per second) at point->batch, sparsity, log_bandwidth and log_peak, and its derivatives by the
 * parameters (NULL: not wanted). */
double tn_step_log_throughput(const double parameter[TN_STEP_PARAMETERS], const tn_finetune_point *point,
                              double gradient[TN_STEP_PARAMETERS]);

/* Whether the data at least halve the prior's uncertainty of the parameter, and leave it below 0.5. */
bool tn_step_determined(const tn_step_estimate *estimate, int parameter);

/* Half width of the 95 % interval of a quantity with this derivative by the parameters. */
double tn_step_half_width(const tn_step_estimate *estimate, const double gradient[TN_STEP_PARAMETERS]);

/* The same of the logarithm of what a next run measures where the law says `queries_per_s`: beside the law's own
 * uncertainty the noise of a run, with its Student distribution, and TN_STEP_MISFIT, by which real steps miss the law's
 * form. */
double tn_step_run_half_width(const tn_step_estimate *estimate, double queries_per_s,
                              const double gradient[TN_STEP_PARAMETERS]);

/* Relative standard deviation of steps from the law's form: simulated machines that do not follow it are missed by 2.3 % on
 * average (tests/finetune/test_fit.c), and measured groups by more than their runs scatter. */
#define TN_STEP_MISFIT 0.03

/* 95 % intervals by Student's t distribution. */

/* Half the width of the interval of a quantity with that variance, estimated with `degrees` of freedom > 0. A
 * variance that rounding made negative counts as 0. */
double tn_student_half_width(double variance, double degrees);

TN_PUBLIC_END

#endif
