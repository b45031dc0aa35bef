/* The arithmetic of a training step, in float32 and in float64: products, vector operations in the formulas of
 * model/operation.c, copies and conversions. Everything above this is the same for both types; an array is a void
 * pointer and a count of elements.
 *
 * float32 has products of its own for small operands (train/gemm_float32.inc) and takes exp and tanh from polynomials
 * that the compiler vectorises (a few units in the last place); it is compiled for several instruction sets, of which
 * the program takes the best that the machine has. float64, for checking, calls BLAS and the C library. Every function
 * gives the same bits for the same input on the same machine: sums have a fixed order that does not depend on time,
 * threads or addresses. Internal to the room.
 */
#ifndef TN_TRAIN_KERNELS_H
#define TN_TRAIN_KERNELS_H

#include "run/product.h"
#include "tensor/number_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One axis of a strided block, steps in elements. */
typedef struct tn_block_axis {
    uint64_t size;
    size_t from, to;
} tn_block_axis;
enum { TN_BLOCK_AXES = 16 };
typedef struct tn_block {
    uint32_t axes; /* the last one is the fastest in `to` */
    tn_block_axis axis[TN_BLOCK_AXES];
} tn_block;

/* One matrix product, row-major: out (rows x columns) = or += a (rows x reduction) b (reduction x columns). */
typedef struct tn_gemm {
    int rows, reduction, columns, lead_a, lead_b, lead_out;
    bool transpose_a, transpose_b, accumulate;
} tn_gemm;

/* The numbers of an optimizer's step. */
typedef struct tn_update_rule {
    double rate, momentum, beta1, beta2, epsilon;
} tn_update_rule;

typedef struct tn_rotation {
    size_t rows, heads, depth, first, positions;
    double sign;
} tn_rotation;

typedef struct tn_kernels {
    const char *set; /* of instructions: "avx512", "avx2", "portable" */
    size_t bytes;    /* of an element */
    void (*gemm)(const tn_gemm *gemm, const void *a, const void *b, void *out);
    /* to = from, or with `accumulate` to += from */
    void (*copy)(const tn_block *block, const void *from, void *to, bool accumulate);
    void (*from_double)(const double *from, void *to, size_t count);
    void (*to_double)(const void *from, double *to, size_t count);
    /* Rounds to the nearest in place, as tn_number_format_round; false: not to this format. NULL: to none. */
    bool (*round)(const tn_number_format *format, void *values, size_t rows, size_t columns);
    /* out[i] = a[i] + b[i mod period]; out may be a or b */
    void (*add)(void *out, const void *a, const void *b, size_t count, size_t period);
    /* out[i] = a[i] - b[i] */
    void (*subtract)(void *out, const void *a, const void *b, size_t count);
    /* out[i] = a[i] b[i] */
    void (*multiply)(void *out, const void *a, const void *b, size_t count);
    /* Over rows that lie `lead` elements apart. */
    void (*column_sum)(void *out, const void *a, size_t rows, size_t columns, size_t lead);
    /* Column sums of dy z, z = (x - mean) rstd with the statistics of each row. */
    void (*column_sum_normalised)(void *out, const void *dy, const void *x, const void *statistics,
                                  size_t rows, size_t columns, size_t lead);
    /* In place, over the first `valid` of `columns`; the others become 0. */
    void (*softmax)(void *scores, size_t rows, size_t columns, size_t valid, double scale);
    void (*softmax_gradient)(const void *p, void *dp, size_t rows, size_t columns, double scale);
    void (*layer_norm)(void *out, void *statistics, const void *x, const void *scale, const void *shift,
                       size_t rows, size_t columns, double epsilon);
    void (*layer_norm_gradient)(void *dx, const void *dy, const void *x, const void *statistics,
                                const void *scale, size_t rows, size_t columns);
    /* Rotary positions (model/attention.c) of rows x heads x depth, the first at row `first` of examples of `positions` rows;
     * sign 1, or -1 for the gradient. */
    void (*rotate)(void *out, const void *x, const void *table, const tn_rotation *how);
    /* y = x r scale with r = 1 / sqrt(mean(x^2) + epsilon), one statistic a row */
    void (*rms_norm)(void *out, void *statistics, const void *x, const void *scale, size_t rows,
                     size_t columns, double epsilon);
    void (*rms_norm_gradient)(void *dx, const void *dy, const void *x, const void *statistics,
                              const void *scale, size_t rows, size_t columns);
    void (*rms_scale_gradient)(void *out, const void *dy, const void *x, const void *statistics, size_t rows,
                               size_t columns, size_t lead);
    void (*relu)(void *out, const void *x, size_t count);
    void (*relu_gradient)(void *dx, const void *dy, const void *y, size_t count);
    void (*gelu)(void *out, const void *x, size_t count);
    void (*gelu_gradient)(void *dx, const void *dy, const void *x, size_t count);
    void (*silu)(void *out, const void *x, size_t count);
    void (*silu_gradient)(void *dx, const void *dy, const void *x, size_t count);
    void (*tanh)(void *out, const void *x, size_t count);
    void (*tanh_gradient)(void *dx, const void *dy, const void *y, size_t count);
    /* Returns the cross-entropy of one row's logits with `label`. dz (NULL: not wanted) = weight times its
     * gradient. *best: the first greatest logit. */
    double (*cross_entropy)(void *dz, const void *z, size_t columns, size_t label, double weight,
                            size_t *best);
    size_t (*greatest)(const void *z, size_t columns);
    double (*square_sum)(const void *a, size_t count);
    void (*scale)(void *a, size_t count, double factor);
    /* w -= rate g, or by momentum, or by Adam, with `state` of one or two numbers a parameter (Adam: all first
     * moments, then, `state_stride` elements on, all second ones); g NULL: a gradient of zeros. */
    void (*sgd)(void *w, const void *g, size_t count, const tn_update_rule *rule);
    void (*momentum)(void *w, const void *g, void *state, size_t count, const tn_update_rule *rule);
    void (*adam)(void *w, const void *g, void *state, size_t state_stride, size_t count,
                 const tn_update_rule *rule);
    bool (*finite)(const void *a, size_t count);
} tn_kernels;

extern const tn_kernels tn_kernels_float64, tn_kernels_float32, tn_kernels_float32_avx2,
    tn_kernels_float32_avx512;
const tn_kernels *tn_kernels_of(tn_real real);

/* The float32 kernels that this machine runs, the fastest first; how many. */
enum { TN_KERNEL_SETS = 3 };
size_t tn_kernels_float32_sets(const tn_kernels *set[TN_KERNEL_SETS]);

#endif
