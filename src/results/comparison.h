/* Training on an FPGA beside training on GPUs: for each model dense and tensor training on every GPU, and tensor
 * training on a design, as rows of one form.
 *
 *   parameters   bytes of all trained parameters
 *   live         bytes that are live at the worst moment of a step, by liveness alone: parameters, gradients,
 *                optimizer state, activations (model/step.h). What an allocator or a memory block takes beyond
 *                that is not in it.
 *   GPU          a step as launched (roofline/step.h), its range over host and power; `kernels` is the other
 *                end, the kernels alone
 *   FPGA         the design's latency and energy, its range over the unverified figures of operators, control
 *                and energy (device/device_data.h)
 */
#ifndef TN_RESULTS_COMPARISON_H
#define TN_RESULTS_COMPARISON_H

#include "base/memory.h"
#include "results/claims.h"
#include "roofline/step.h"
#include "space/space.h"

#include <stdbool.h>

typedef struct tn_interval {
    double least, most;
} tn_interval;

typedef struct tn_comparison_row {
    const char *model, *system;
    bool is_dense, is_fpga;
    double parameters_bytes, live_bytes, steps_per_epoch;
    double seconds_per_step, joules_per_step;
    tn_interval seconds, joules;   /* of a step */
    double kernels_seconds;        /* GPU: of a step without its launches */
    double power_W;                /* GPU: of the board */
    double bram_bytes, uram_bytes; /* FPGA: capacity of the blocks taken */
    uint64_t design;               /* FPGA: id in its space */
    const char *unverified;        /* figures that it rests on; "" */
} tn_comparison_row;

/* A GPU's step of the model with overrides `set`. A roofline device that knows nothing of its host or power is
 * TN_INPUT that says which keys it lacks. */
tn_status tn_compare_gpu(const char *model, const char *const *set, size_t sets, const tn_roofline *roofline,
                         bool dense, tn_arena *arena, tn_comparison_row *row, tn_error *error);

/* The same of a step that is made already; `dense` is what the row says of it. */
tn_status tn_compare_step(const tn_step *step, const tn_roofline *roofline, bool dense, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error);

/* The design `id` of a space. */
tn_status tn_compare_fpga(const tn_space *space, uint64_t id, tn_arena *arena, tn_comparison_row *row,
                          tn_error *error);

/* The space spaces/build-search.yaml for that model and device, and the knee of its front: which flow and build
 * suit the model as it stands; TN_NO_DESIGN where none fits. */
#define TN_NO_DESIGN UINT64_MAX
tn_status tn_compare_search(const char *model, const char *const *set, size_t sets, const char *device,
                            tn_arena *arena, const tn_space **space, uint64_t *id, tn_error *error);

/* What a publication claims (results/claims.h), judged by the rows of a comparison (results/comparison.h): which claims
 * follow from our model, which do not, and why. */

/* One claim judged by one number of ours. */
typedef struct tn_verdict {
    const char *claim;                      /* in words */
    const char *model, *measure;            /* what ours is: "ratio of parameters" */
    double published_least, published_most; /* least 0: an upper end */
    double ours;
    tn_interval range;   /* of ours; both ours where it has none */
    const char *verdict; /* "follows", "nearly", "within its range", "does not follow" */
    const char *why;
} tn_verdict;

typedef struct tn_verdicts {
    size_t count;
    tn_verdict *verdict;
} tn_verdicts;

/* Judges every claim for every model of the rows that it covers, where the rows have what it needs. */
tn_status tn_claims_judge(const tn_claims *claims, const tn_comparison_row *row, size_t rows, tn_arena *arena,
                          tn_verdicts *verdicts, tn_error *error);

#endif
