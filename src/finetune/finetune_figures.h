/* Figures of a fine-tuning: throughput against batch (plots/finetune-throughput.gp) and cost by GPU
 * (plots/finetune-cost.gp). `path` is the picture's name with its ending, which says the format. */
#ifndef TN_FINETUNE_FINETUNE_FIGURES_H
#define TN_FINETUNE_FINETUNE_FIGURES_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/batch.h"
#include "finetune/data.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/step.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

/* Measured points, law and its interval; fit[i] belongs to data->group[i]. */
tn_status tn_finetune_throughput_figure(const char *path, const tn_finetune_data *data,
                                        const tn_finetune_fit *const *fit, tn_error *error);

/* Bars in the order given; measured ones in another colour than estimated ones. */
tn_status tn_finetune_cost_figure(const char *path, const char *heading, const tn_bill *bill, size_t count,
                                  tn_error *error);

/* A step's kernels, a bar each by stage, labelled by what limits them (plots/finetune-profile.gp). */
tn_status tn_finetune_profile_figure(const char *path, const char *heading, const tn_step_profile *profile,
                                     tn_error *error);

/* The largest batch over a GPU's memory, a line a sparsity with its interval, and what was measured (plots/finetune-batch.gp). */
typedef struct tn_batch_line {
    double sparsity, tokens;
    tn_language_count count;
    tn_batch_factor factor;
} tn_batch_line;
tn_status tn_finetune_batch_figure(const char *path, const char *heading, const tn_batch_line *line,
                                   size_t lines, const tn_batch_measured *measured, size_t count,
                                   tn_error *error);

TN_PUBLIC_END

#endif
