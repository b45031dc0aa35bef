/* Figures of a study of accuracy, in FOLDER/figures:
 *   accuracy-parameters  accuracy against parameters, a line for candidates that differ in rank alone, the spread over seeds
 *   accuracy-epochs      accuracy after each epoch, a line a candidate
 */
#ifndef TN_LEARN_STUDY_FIGURES_H
#define TN_LEARN_STUDY_FIGURES_H

#include "base/error.h"
#include "learn/accuracy_study.h"
#include "plot/gnuplot.h"
#include "space/space.h"

tn_status tn_study_figures(const char *folder, const tn_space *space, const tn_study *study,
                           tn_figure_format format, tn_error *error);

#endif
