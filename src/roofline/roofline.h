/* A processor seen as a roofline: how long a matrix product takes on it.
 *
 * A law says it for one precision and one kind of time. `graph` is the time of the kernel in a replayed graph
 * of launches, `eager` that of a product launched by its host. For C[M x N] = A[M x K] B[K x N], batch times:
 *
 *     graph = launch * vector(M or N is 1) * misaligned + pipeline * log2(1 + K/16)
 *             + max(compute, memory)
 *     eager = max(host * misaligned, graph + gap)
 *
 *   compute  2 M N K flops in tiles of t x t outputs: ceil(M/t) ceil(N/t) batch tiles, each cut along K into
 *            as many parts as are free multiprocessors (at least `split_depth` terms each), run in whole
 *            waves: waves * 2 t^2 ceil(K/parts) / (peak/multiprocessors * compute_efficiency), times
 *            misaligned_compute for each halving of the operands' row alignment below 16 bytes. A product
 *            with a vector has no tiles.
 *   memory   bytes of A, B and C once: what fits the cache at bandwidth * cache_gain (a product that is
 *            repeated, or whose operands were just made, finds them there), the rest at bandwidth.
 *   launch   of a kernel; vector_launch and misaligned_launch are factors for products with a vector and for
 *            rows that are no multiple of 16 bytes.
 *
 * What the shape does beyond that (the library picks another kernel) is a smooth factor: exp(surface) over
 * the logarithms of M, N, K, their alignment, and whether one of them is 1 (roofline/roofline.h). It holds for
 * batch 1 and fades to a constant far from the measured shapes.
 *
 * All coefficients are data: `roofline:` of a device file, written by `tenfold roofline fit`
 * (roofline/fit.h) from measured products.
 * Source: the roofline of Williams, Waterman and Patterson (CACM 2009); waves and tiles as in NVIDIA's matrix
 * multiplication guide.
 */
#ifndef TN_ROOFLINE_ROOFLINE_H
#define TN_ROOFLINE_ROOFLINE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "text/schema.h"

#include <stddef.h>
#include <stdint.h>

/* A smooth surface through scattered, noisy measurements: simple kriging with a Matern 3/2 covariance.
 *
 *     value(x) = mean + sum_i weight_i * c(|(x - x_i) * scale|),  c(d) = (1 + sqrt(3) d) exp(-sqrt(3) d)
 *
 * with weights (C + noise * diag(1/trust))^-1 (y - mean). Far from every measurement the value is the mean.
 * `trust` starts at 1 and falls for measurements that their neighbours contradict (Student's t with 3 degrees
 * of freedom), so an outlier does not bend its surroundings. The scales and the noise are those with the
 * least truncated mean absolute leave-one-out error, found by a compass search from fixed starts:
 * deterministic.
 *
 * Source: Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), 2.2 and 5.4.2 (leave-one-out
 * residual = weight_i / (C^-1)_ii).
 */

TN_PUBLIC_BEGIN

/* Limits of a fit: its work grows with the cube of the points. */
enum { TN_KRIGING_MOST_POINTS = 4096, TN_KRIGING_MOST_DIMENSIONS = 16 };

typedef struct tn_kriging {
    size_t points, dimensions;
    double *x;      /* [points][dimensions] */
    double *weight; /* [points] */
    double *scale;  /* [dimensions]: inverse lengths */
    double mean, noise;
} tn_kriging;

/* At x[dimensions]. A surface of no points is 0. */
double tn_kriging_at(const tn_kriging *surface, const double *x);

/* Through values y[points] at x[points][dimensions]; the surface and copies of x live in `arena`. At least 8
 * points. */
tn_status tn_kriging_fit(const double *x, const double *y, size_t points, size_t dimensions, tn_arena *arena,
                         tn_kriging *surface, tn_error *error);

typedef enum tn_roofline_time { TN_TIME_GRAPH, TN_TIME_EAGER, TN_ROOFLINE_TIMES } tn_roofline_time;
extern const char *const tn_roofline_time_names[]; /* "graph", "eager", NULL */

/* Sizes of a product are at most TN_ROOFLINE_MOST_SIZE each. */
#define TN_ROOFLINE_MOST_SIZE ((uint64_t)1 << 31)

/* Ranges of a law's coefficients, in its file as in its fit. */
#define TN_ROOFLINE_MOST_US      1e6
#define TN_ROOFLINE_LEAST_FACTOR 1e-3
#define TN_ROOFLINE_MOST_FACTOR  1e3

typedef struct tn_roofline_product {
    uint64_t batch, m, n, k;
} tn_roofline_product;

/* The measured shapes that a surface runs through, and its coefficients. */
typedef struct tn_roofline_surface {
    tn_count_list m, n, k; /* equally long */
    tn_real_list weight;   /* as long */
    tn_real_list scale;    /* one a feature */
    double mean, noise;
    tn_kriging surface; /* made from the above when decoded */
} tn_roofline_surface;

typedef struct tn_roofline_law {
    const char *precision;
    uint32_t time;   /* tn_roofline_time */
    uint32_t origin; /* tn_origin */
    const char *source;
    uint64_t tile, split_depth;
    double launch_us, vector_launch, misaligned_launch, pipeline_us;
    double compute_efficiency, misaligned_compute, cache_gain;
    double host_us, misaligned_host, gap_us; /* eager only */
    tn_roofline_surface surface;
} tn_roofline_law;

typedef struct tn_roofline_precision {
    const char *name; /* "fp32", "bf16": as in the column `dtype` of measurements */
    double peak_TFLOPS;
    double efficiency; /* share of the peak that large products reach here; 0: the law's compute_efficiency */
    uint64_t element_bytes;
    uint32_t origin; /* tn_origin */
    const char *source;
} tn_roofline_precision;

typedef struct tn_roofline {
    const char *name; /* the device's */
    uint64_t multiprocessors, cache_bytes, memory_bytes;
    double bandwidth_GBps;
    /* A training step as an eager framework launches it (roofline/step.h); 0: not known. */
    double host_us_per_kernel;
    double host_us_per_operation, host_us_per_contraction;
    double kernels_per_operation, kernels_per_contraction;
    tn_real_list host_factor;        /* least and greatest factor on the host's times; empty: 1 */
    double step_power_W;             /* of the board over a launched training step */
    tn_real_list step_power_range_W; /* its least and greatest; empty: the figure itself */
    double load_power_W;       /* at the peak, or at the bandwidth; 0: the greatest of step_power_range_W */
    tn_real_list graph_factor; /* least and greatest factor on a step as a graph; empty: 1 */
    uint32_t origin;           /* tn_origin */
    tn_text_list unverified;   /* keys that are not as sure as `origin` says */
    const char *source;
    tn_item_list precisions; /* tn_roofline_precision */
    tn_item_list laws;       /* tn_roofline_law */
} tn_roofline;

/* `kind: roofline` device file, whole; and its `roofline:` mapping alone. */
extern const tn_schema tn_roofline_device_schema, tn_roofline_schema;

/* What the device file says as a roofline; a device of another kind is TN_INPUT. Lives in `arena`. */
tn_status tn_roofline_of(const tn_device *device, tn_arena *arena, tn_roofline **roofline, tn_error *error);

/* By name; unknown ones suggest the nearest. A missing law says how to fit one. */
tn_status tn_roofline_precision_find(const tn_roofline *roofline, const char *name,
                                     const tn_roofline_precision **precision, tn_error *error);
tn_status tn_roofline_law_find(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                               const tn_roofline_law **law, tn_error *error);

/* *microseconds = predicted time of a product. */
tn_status tn_roofline_predict(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                              const tn_roofline_product *product, double *microseconds, tn_error *error);

/* The figures that times of that precision rest on and whose origin is unverified, as a text such as
 * "cache_bytes, bf16 peak, bf16 graph law"; empty where there are none. */
tn_status tn_roofline_unverified(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                                 tn_arena *arena, const char **figures, tn_error *error);

/* The same of a launched training step (roofline/step.h), its host and power included. */
tn_status tn_roofline_unverified_step(const tn_roofline *roofline, const char *precision, tn_arena *arena,
                                      const char **figures, tn_error *error);

/* --- For the fit. */

/* What a law says of a product without its surface; `graph` is the graph law of the same precision that an
 * eager law builds on (NULL for a graph law). Microseconds. */
double tn_roofline_law_us(const tn_roofline *roofline, const tn_roofline_precision *precision,
                          const tn_roofline_law *law, const tn_roofline_law *graph,
                          const tn_roofline_product *product);

/* Place of a product in the surface's space. */
enum { TN_ROOFLINE_FEATURES = 12 };
void tn_roofline_features(const tn_roofline_product *product, double feature[TN_ROOFLINE_FEATURES]);

/* Builds law->surface.surface from its lists; `position` is the law's place in its file. */
tn_status tn_roofline_surface_make(tn_roofline_surface *lists, tn_position position, tn_arena *arena,
                                   tn_error *error);

TN_PUBLIC_END

#endif
