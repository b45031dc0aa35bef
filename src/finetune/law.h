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

#include "base/public.h"

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

TN_PUBLIC_END

#endif
