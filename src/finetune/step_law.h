/* Fitting the law of the step's time (finetune/law.h) to measured throughputs.
 *
 * The coefficients are functions of parameters without bounds: logarithms of T, C, p - 1 and m, logits of the
 * shares g, h and w, so that every fitted law rises, saturates and is positive. Two more parameters a and c
 * carry the law from a reference GPU to others: T falls as bandwidth^-a, C as peak^-c.
 *
 * What is maximised is a posterior density. A measurement deviates from the law by the noise times the
 * geometric mean of itself and the group's mean, with a Student distribution of 4 degrees of freedom, so that
 * a single bad run counts little; each parameter has a normal prior (the table in finetune_step.c says which
 * and why), so that few points give no wild law: what they do not determine stays at the prior and is
 * reported as undetermined. Found by reweighted non-linear least squares (GSL, Levenberg-Marquardt) from
 * several starts that follow from the data; the same data always give the same law. Sources: Lange, Little,
 * Taylor, "Robust statistical modeling using the t distribution", JASA 1989; MacKay, "Bayesian
 * interpolation", 1992, for the effective number of coefficients. */
#ifndef TN_FINETUNE_STEP_LAW_H
#define TN_FINETUNE_STEP_LAW_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/data.h"
#include "finetune/law.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

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

TN_PUBLIC_END

#endif
