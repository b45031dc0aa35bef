/* How the values of an ONNX graph lie: each axis as digits of examples, tokens and features, from the first (slowest) on. Reshapes
 * split and join digits, transposes move them, slices cut one; so what a graph does with fused queries, keys and values
 * can be followed, and which tokens and heads an axis counts. Axes that the file leaves open have stand-in sizes. */
#ifndef TN_RANKS_ONNX_LAYOUT_H
#define TN_RANKS_ONNX_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_ONNX_AXES = 8, TN_ONNX_DIGITS = 12 };

/* Of an axis that the file leaves open: primes, so that no reshape takes one for another size. */
enum { TN_ONNX_OPEN_BATCH = 10007, TN_ONNX_OPEN_TOKENS = 1013 };

typedef enum tn_onnx_role { TN_ONNX_EXAMPLE, TN_ONNX_TOKEN, TN_ONNX_FEATURE } tn_onnx_role;

/* Of the number of an example, token or feature: so many values, which are `stride` apart. */
typedef struct tn_onnx_digit {
    tn_onnx_role role;
    int64_t size, stride;
} tn_onnx_digit;

typedef struct tn_onnx_layout {
    bool is_known;
    uint8_t axes;
    uint8_t first[TN_ONNX_AXES +
                  1]; /* axis i has the digits first[i] to first[i + 1] - 1; none: it is of size 1 */
    tn_onnx_digit digit[TN_ONNX_DIGITS];
    int64_t offset; /* of its features among those of what it was cut out of */
} tn_onnx_layout;

/* Axes of one digit each, by role: "btf" has examples, tokens and features; tokens of several axes (pictures) count on. */
tn_onnx_layout tn_onnx_layout_of(const char *roles, const int64_t *sizes);

int64_t tn_onnx_axis_size(const tn_onnx_layout *layout, size_t axis);
/* The axis that is meant, where it counts from the end; TN_ONNX_AXES: there is none. */
size_t tn_onnx_axis(const tn_onnx_layout *layout, int64_t axis);
/* All digits of the axis are of the role, and it has some. */
bool tn_onnx_axis_is(const tn_onnx_layout *layout, size_t axis, tn_onnx_role role);
/* The product of the sizes of a role's digits. */
int64_t tn_onnx_role_size(const tn_onnx_layout *layout, tn_onnx_role role);

/* Each leaves the layout unknown where it cannot be followed. */
void tn_onnx_layout_reshape(tn_onnx_layout *layout, const int64_t *sizes, size_t count);
void tn_onnx_layout_transpose(tn_onnx_layout *layout, const int64_t *axes, size_t count);
void tn_onnx_layout_drop(tn_onnx_layout *layout, size_t axis);
void tn_onnx_layout_insert(tn_onnx_layout *layout, size_t axis);
/* Values begin to end - 1 of the axis. */
void tn_onnx_layout_cut(tn_onnx_layout *layout, size_t axis, int64_t begin, int64_t end);
/* The axis becomes that one of another layout. */
void tn_onnx_layout_replace(tn_onnx_layout *layout, size_t axis, const tn_onnx_layout *source,
                            size_t source_axis);

/* The features are a whole stretch of those of a layer: *first and *count. */
bool tn_onnx_layout_stretch(const tn_onnx_layout *layout, uint64_t *first, uint64_t *count);

#endif
