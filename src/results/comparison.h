/* Training on an FPGA beside training on GPUs and CPUs: for each model what each system does best, as rows of one form.
 *
 *   parameters   bytes of all trained parameters
 *   live         bytes that are live at the worst moment of a step, by liveness alone: parameters, gradients,
 *                optimizer state, activations (model/step.h). What an allocator or a memory block takes beyond
 *                that is not in it.
 *   GPU, CPU     dense and tensor training, launched operation by operation and as a graph of kernels
 *                (roofline/step.h), at the model's own batch and at the best one: of its doublings that fit the memory
 *                and leave more than one step an epoch, the least whose epoch takes at most 5 % longer than the shortest
 *   FPGA         the fastest design and that of least energy of a space of flows and builds, at the own and the best
 *                batch. Ranges: unverified figures of operators, control and energy at their ends, power at rest among
 *                them, and the clock at the ends of clock_range_MHz, as nothing is placed yet (device/device_data.h)
 */
#ifndef TN_RESULTS_COMPARISON_H
#define TN_RESULTS_COMPARISON_H

#include "base/memory.h"
#include "model/model.h"
#include "results/claims.h"
#include "roofline/step.h"
#include "space/space.h"

#include <stdbool.h>

typedef struct tn_interval {
    double least, most;
} tn_interval;

typedef enum tn_system_kind { TN_SYSTEM_GPU, TN_SYSTEM_CPU, TN_SYSTEM_FPGA } tn_system_kind;

typedef enum tn_way {
    TN_WAY_LAUNCHED,     /* by its host, kernel by kernel */
    TN_WAY_GRAPH,        /* kernels that follow each other: a replayed graph, or a compiled program */
    TN_WAY_MEASURED,     /* on this machine, by this program's trainer */
    TN_WAY_FASTEST,      /* the FPGA's fastest design */
    TN_WAY_LEAST_ENERGY, /* its design of least energy */
    TN_WAY_GIVEN,        /* a design that the user chose */
    TN_WAYS
} tn_way;
extern const char *const tn_way_names[]; /* "launched", ... ended by NULL */

typedef struct tn_comparison_row {
    const char *model, *system;
    uint32_t kind, way; /* tn_system_kind, tn_way */
    bool is_dense;
    bool is_best; /* at the best batch; else at the model's own */
    double batch, steps_per_epoch;
    double parameters_bytes, live_bytes;
    double seconds_per_step, joules_per_step;
    tn_interval seconds, joules;   /* of a step */
    double kernels_seconds;        /* GPU, CPU: of a step without its launches; NAN: not known */
    double power_W;                /* mean, of the board */
    tn_interval power;             /* its range */
    double rest_W;                 /* FPGA: at rest; NAN elsewhere */
    tn_interval rest;              /* its range */
    double rest_joules;            /* FPGA: the part of joules_per_step that is drawn at rest */
    double bram_bytes, uram_bytes; /* FPGA: capacity of the blocks taken; NAN elsewhere */
    uint64_t design;               /* FPGA: id in its space */
    const char *build;             /* FPGA: what it chooses; NULL elsewhere */
    const char *unverified;        /* figures that it rests on; "" */
} tn_comparison_row;

/* Of an epoch. */
static inline double tn_epoch_seconds(const tn_comparison_row *row) {
    return row->seconds_per_step * row->steps_per_epoch;
}
static inline double tn_epoch_joules(const tn_comparison_row *row) {
    return row->joules_per_step * row->steps_per_epoch;
}

/* Adds what the machine round the board draws to energy and power of a row: on every side or on none. */
void tn_compare_add_host(tn_comparison_row *row, double host_W);

/* What a model is on one processor: dense or as it stands, at a batch. */
typedef struct tn_compared_step {
    const tn_model *model; /* as it stands */
    const tn_roofline *roofline;
    uint32_t kind, way;
    bool is_dense;
} tn_compared_step;

/* That step. A batch of 0: the model's own. A roofline device that knows nothing of its host or power is TN_INPUT that says
 * which keys it lacks. */
tn_status tn_compare_step(const tn_compared_step *step, uint64_t batch, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error);

/* The best batch of it; its own where no doubling fits. */
tn_status tn_compare_best_batch(const tn_compared_step *step, tn_arena *arena, tn_comparison_row *row,
                                tn_error *error);

/* The least batch, not necessarily a doubling, from which on an example takes less of the quantity (seconds, else joules) than
 * `value`: by bisection between the own batch and the largest that fits, `host_W` added to the board's power. 0: none. */
tn_status tn_compare_crossing(const tn_compared_step *step, bool joules, double value, double host_W,
                              uint64_t *batch, tn_error *error);

/* The design `id` of a space. */
tn_status tn_compare_fpga(const tn_space *space, uint64_t id, tn_way way, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error);

/* The space spaces/build-search.yaml for that model and device: which flow and build suit the model as it stands. Its
 * fastest design and the one of least energy; TN_NO_DESIGN where none fits. A batch of 0: the model's own. */
#define TN_NO_DESIGN UINT64_MAX
typedef struct tn_searched_builds {
    const tn_space *space;
    uint64_t fastest, least_energy;
} tn_searched_builds;
tn_status tn_compare_search(const char *model, const char *const *set, size_t sets, uint64_t batch,
                            const char *device, tn_arena *arena, tn_searched_builds *found, tn_error *error);

/* Both designs of the search at the own batch as row[0] and row[1], at the best one as row[2] and row[3], where that is another
 * one and `best` asks for it; *rows of them. */
enum { TN_FPGA_ROWS = 4 };
tn_status tn_compare_fpga_rows(const char *model, const char *const *set, size_t sets, uint64_t batch,
                               bool best, const char *device, tn_arena *arena,
                               tn_comparison_row row[TN_FPGA_ROWS], size_t *rows, tn_error *error);

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
