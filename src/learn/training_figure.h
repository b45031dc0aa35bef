/* Loss and accuracy of a training by its steps, as gnuplot draws them. */
#ifndef TN_LEARN_TRAINING_FIGURE_H
#define TN_LEARN_TRAINING_FIGURE_H

#include "learn/training.h"
#include "plot/gnuplot.h"

/* Training losses of a run as they come, means over as many steps each as keep their number small. */
typedef struct tn_loss_curve {
    uint64_t each, steps; /* steps of a mean, and those of the one in work */
    double sum;
    tn_buffer data; /* "step loss" a line */
} tn_loss_curve;

/* As tn_training_watch.stepped takes it, with the curve, zero before the first step, as `user`. */
void tn_loss_curve_step(void *curve, uint64_t step, uint64_t steps, double loss);

/* FOLDER/figures/training: losses of training beside those of dev and test after each epoch, and their accuracies, or
 * perplexities of a text. Frees the curve. TN_INPUT: the run took no step. */
tn_status tn_training_figure(const char *folder, const char *model, const tn_training_result *result,
                             const tn_dataset *data, tn_loss_curve *curve, tn_figure_format format,
                             tn_error *error);

#endif
