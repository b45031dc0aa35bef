/* What trained designs say about those that were not: accuracy over ranks, foldings, passes and levels of other choices, of
 * measurements with noise.
 *
 * The error 1 - accuracy of a design lies between two ends, `floor` of the dense model and `ceiling` of a constant answer:
 *
 *     error = ceiling e^t / (1 + e^t),     t = floor + sum of levels' effects + passes' effect + ln(1 + excess)
 *     excess = sum over rank choices j of e^(c_j + effects of folding, levels and passes) ((rank_j - s_j) / (8 - s_j))^-p_j,
 *              p_j > 0, s_j < 1
 *
 * so accuracy rises with every rank, and saturates; s_j says how much steeper the first ranks are. All effects have normal priors. Those of foldings have a deviation that is
 * itself found from the data (partial pooling): what a folding has beyond the mean of all is believed as far as its own
 * measurements outweigh the noise of their seeds. The logarithm of a measured error deviates from the curve by what
 * no choice explains (`misfit`), by what a seed does to every design, its order of examples and hidden words (`seed`), and by
 * what it does to this one (`noise` at an error of 5 %, growing as the power `noise_power` of the error). These five are where the
 * marginal likelihood is greatest (empirical Bayes), the curve linearised about its best parameters
 * as Lindstrom and Bates do (Biometrics 46, 1990); the parameters by nonlinear least squares (GSL).
 */
#ifndef TN_SPACE_ACCURACY_MODEL_H
#define TN_SPACE_ACCURACY_MODEL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_ACCURACY_CHOICES_MOST = 32, TN_ACCURACY_PARAMETERS_MOST = 512, TN_ACCURACY_SEEDS_MOST = 64 };

typedef enum tn_accuracy_kind { TN_ACCURACY_LEVEL, TN_ACCURACY_FOLDING, TN_ACCURACY_RANK } tn_accuracy_kind;

/* One choice that accuracy depends on. */
typedef struct tn_accuracy_choice {
    tn_accuracy_kind kind;
    size_t levels; /* foldings or levels that were measured; level 0 is the usual one */
    size_t rank;   /* of a folding choice: place of the rank choice that it bends */
} tn_accuracy_choice;

/* What of a folding bends the curve of its ranks: factors a side less 2.5; of three factors or more, the logarithms of the outermost
 * factor over 8 and of those between the outermost and the innermost over 8, mean of both sides; else 0. */
enum { TN_ACCURACY_SHAPE = 3 };

/* The value of a choice: a level (or `levels`: none of those measured), a folding (the same) with its shape, or a
 * rank, infinite where the weight is whole. */
typedef struct tn_accuracy_value {
    size_t level;
    double number;
    double shape[TN_ACCURACY_SHAPE];
} tn_accuracy_value;

/* Whether two values of a choice are the same, and of all choices. */
bool tn_accuracy_same_value(const tn_accuracy_choice *choice, const tn_accuracy_value *a,
                            const tn_accuracy_value *b);
bool tn_accuracy_same(const tn_accuracy_choice *choice, size_t choices, const tn_accuracy_value *a,
                      const tn_accuracy_value *b);

/* What one design came to: the mean over `runs` seeds that did not collapse. */
typedef struct tn_accuracy_measurement {
    const tn_accuracy_value *value;  /* one a choice */
    double passes, accuracy, spread; /* spread over the seeds: NAN for one */
    double test;                     /* accuracy on test, NAN: unknown */
    uint64_t runs;
    const size_t *seed; /* [seeds]: place of each among the model's seeds; none: unknown */
    size_t seeds;
} tn_accuracy_measurement;

typedef struct tn_accuracy_model {
    size_t choices;
    const tn_accuracy_choice *choice;
    size_t rows;
    const tn_accuracy_measurement *row;
    double ceiling, passes; /* passes: of the protocol, those that most rows have */

    size_t parameters;
    double *parameter, *prior, *precision; /* [parameters]: found; mean and 1 / variance before any data */
    double *covariance, *root;             /* [parameters x parameters]; root root' = covariance */
    double folding, misfit, noise, noise_power, seed;
    size_t seeds;                   /* told apart */
    double test_offset, test_slope; /* ln of test's error, by that of dev */
} tn_accuracy_model;

/* 0.05 is five points. Interval and deviations are of accuracy. */
typedef struct tn_accuracy_estimate {
    double mean, deviation; /* of the mean over all seeds: what is known of it */
    double low, high;       /* in which 95 % of single runs lie */
    double test;            /* on test; NAN: unknown */
} tn_accuracy_estimate;

/* Fits; everything lives in `arena`. `constant` is the accuracy of a constant answer (0: unknown), `seeds` how many the
 * rows tell apart. At least one row. */
tn_status tn_accuracy_model_fit(const tn_accuracy_choice *choice, size_t choices,
                                const tn_accuracy_measurement *row, size_t rows, double constant,
                                size_t seeds, tn_arena *arena, tn_accuracy_model *model, tn_error *error);

/* Of a design with these values, one a choice, after so many passes. */
tn_accuracy_estimate tn_accuracy_model_at(const tn_accuracy_model *model, const tn_accuracy_value *value,
                                          double passes);

/* Each row as the others foretell it: parameters found anew without it, the five deviations kept. estimate[rows]; its interval
 * is that of the row's mean over its own seeds. */
tn_status tn_accuracy_model_leave_one_out(const tn_accuracy_model *model, tn_arena *arena,
                                          tn_accuracy_estimate *estimate, tn_error *error);

/* parameter[parameters]: one draw of what they may be, from `normal`, as many standard normal numbers. */
void tn_accuracy_model_draw(const tn_accuracy_model *model, const double *normal, double *parameter);
/* The mean accuracy by such parameters, with a standard normal number for what no choice explains. */
double tn_accuracy_model_by(const tn_accuracy_model *model, const double *parameter,
                            const tn_accuracy_value *value, double passes, double misfit);

TN_PUBLIC_END

#endif
