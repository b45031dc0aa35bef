/* The arithmetic of a training step, in float32 and in float64: products, vector operations as the rows of
 * model/operation.c have them, copies and conversions. Everything above this is the same for both types; an array is a void
 * pointer and a count of elements. An operation element by element needs no kernel here: its formula is evaluated, by
 * loops over short vectors. Those that have one are held equal to their row by tests/train/test_kernels.c.
 *
 * float32 has products of its own for small operands (train/gemm_float32.inc) and takes exp and tanh from polynomials
 * that the compiler vectorises (a few units in the last place); it is compiled for several instruction sets, of which
 * the program takes the best that the machine has. float64, for checking, calls BLAS and the C library. Every function
 * gives the same bits for the same input on the same machine: sums have a fixed order that does not depend on time,
 * threads or addresses. Internal to the room.
 */
#ifndef TN_TRAIN_KERNELS_H
#define TN_TRAIN_KERNELS_H

#include "model/operation.h"
#include "run/product.h"
#include "tensor/number_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One axis of a strided block, steps in elements. */
typedef struct tn_block_axis {
    uint64_t size;
    size_t source_stride, target_stride;
} tn_block_axis;
enum { TN_BLOCK_AXES = 16 };
typedef struct tn_block {
    uint32_t axes; /* the last one is the fastest in the target */
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

/* Tokens of an example, features of each, and taps or states of a feature. */
typedef struct tn_sequence {
    size_t tokens, features, depth;
} tn_sequence;
enum { TN_STATES_MOST = 256 };

/* `count` elements; b NULL: there is one operand. out may be either. */
typedef void tn_map_kernel(void *out, const void *a, const void *b, size_t count);
/* Sums down the columns, of rows that lie `lead` elements apart. */
typedef void tn_sum_kernel(void *out, const void *const subject[], size_t rows, size_t columns, size_t lead);
typedef void tn_rows_kernel(void *const out[], const void *const subject[], size_t rows, size_t columns,
                            double epsilon);
/* w by its gradient g (NULL: of zeros) and `state` of so many numbers a parameter, `stride` elements apart: Adam's
 * first moments, then its second ones. */
typedef void tn_update_kernel(void *w, const void *g, void *state, size_t stride, size_t count,
                              const tn_update_rule *rule);

typedef struct tn_kernels {
    const char *set; /* of instructions: "avx512", "avx2", "portable" */
    size_t bytes;    /* of an element */
    void (*gemm)(const tn_gemm *gemm, const void *a, const void *b, void *out);
    /* to = from, or with `accumulate` to += from */
    void (*copy)(const tn_block *block, const void *source, void *target, bool accumulate);
    void (*from_double)(const double *source, void *target, size_t count);
    void (*to_double)(const void *source, double *target, size_t count);
    /* Rounds to the nearest in place, as tn_number_format_round; false: not to this format. NULL: to none. */
    bool (*round)(const tn_number_format *format, void *values, size_t rows, size_t columns);
    /* out[i] = a[i] + b[i mod period]; out may be a or b */
    void (*add)(void *out, const void *a, const void *b, size_t count, size_t period);
    /* Of one operation each, by its kind, as its row of model/operation.c says; NULL: of another shape. Operands are
     * those of the row, in its order. */
    tn_map_kernel *map[TN_OPERATION_KINDS]; /* NULL also where the formula does */
    tn_sum_kernel *sum[TN_OPERATION_KINDS];
    tn_rows_kernel *rows[TN_OPERATION_KINDS];
    tn_update_kernel *update[TN_OPERATION_KINDS];
    /* out = the formula's y of a and b (NULL: it has one operand), element by element. */
    void (*evaluate)(const tn_formula *formula, void *out, const void *a, const void *b, size_t count);
    /* In place, over the first `valid` of `columns`; the others become 0. */
    void (*softmax)(void *scores, size_t rows, size_t columns, size_t valid, double scale);
    void (*softmax_gradient)(const void *p, void *dp, size_t rows, size_t columns, double scale);
    /* Rotary positions (step/attention.c) of rows x heads x depth, the first at row `first` of examples of `positions` rows;
     * sign 1, or -1 for the gradient. */
    void (*rotate)(void *out, const void *x, const void *table, const tn_rotation *how);
    /* Of mixtures of experts, and of sequences, example by example (train/sequence.inc). chosen[experts] is room; `slope`
     * [experts] is that of the balance's loss. Parameters' gradients are added to. */
    void (*route)(void *gates, const void *logits, const tn_routing *how, size_t rows, size_t valid,
                  bool *chosen);
    void (*route_gradient)(void *dlogits, const void *const subject[], const tn_routing *how, size_t rows,
                           size_t valid, const double *slope);
    void (*move_routed)(tn_operation_kind kind, void *out, const void *const subject[], const tn_routing *how,
                        size_t tokens, size_t columns);
    void (*causal_conv)(void *y, const void *const subject[], const tn_sequence *how);
    void (*causal_conv_gradient)(void *const out[], const void *const subject[], const tn_sequence *how);
    void (*scan)(void *const out[], const void *const subject[], const tn_sequence *how);
    void (*scan_gradient)(void *const out[], const void *const subject[], const tn_sequence *how);
    /* Returns the cross-entropy of one row's logits with `label`. dz (NULL: not wanted) = weight times its
     * gradient. *best: the first greatest logit. */
    double (*cross_entropy)(void *dz, const void *z, size_t columns, size_t label, double weight,
                            size_t *best);
    size_t (*greatest)(const void *z, size_t columns);
    double (*square_sum)(const void *a, size_t count);
    void (*scale)(void *a, size_t count, double factor);
    bool (*finite)(const void *a, size_t count);
} tn_kernels;

extern const tn_kernels tn_kernels_float64, tn_kernels_float32, tn_kernels_float32_avx2,
    tn_kernels_float32_avx512;
const tn_kernels *tn_kernels_of(tn_real real);

/* The float32 kernels that this machine runs, the fastest first; how many. */
enum { TN_KERNEL_SETS = 3 };
size_t tn_kernels_float32_sets(const tn_kernels *set[TN_KERNEL_SETS]);

#endif
