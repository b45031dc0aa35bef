#include "decompose/matrix_source.h"

#include "base/guard.h"
#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/ttsvd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const tn_convention_names[] = {"rows-are-output", "input-first", "input-rows", NULL};

enum { BLOCK_ELEMENTS = 1 << 23 }; /* values read at once */

typedef struct {
    tn_arrays *arrays;
    const char *path;
    const tn_matrix_source *source;
    const tn_weight *weight;
    tn_places places;
    double *folded;
    tn_error *error;
} reader;

static tn_position in_file(const reader *r) {
    return (tn_position){.file = r->path};
}

static tn_status find_array(const reader *r, const char *name, size_t *position) {
    if (name) return tn_arrays_find(r->arrays, name, position, r->error);
    if (tn_arrays_count(r->arrays) == 1) {
        *position = 0;
        return TN_OK;
    }
    return tn_fail_at(r->error, TN_INPUT, in_file(r),
                      "holds %zu arrays, the first is \"%.100s\"; say which one is meant",
                      tn_arrays_count(r->arrays),
                      tn_arrays_count(r->arrays) ? tn_arrays_info(r->arrays, 0)->name : "absent");
}

static tn_status refuse_value(const reader *r, const char *name, double value, uint64_t row,
                              uint64_t column) {
    return tn_fail_at(r->error, TN_INPUT, in_file(r),
                      "\"%.100s\" holds %s at (%" PRIu64 ", %" PRIu64 "); every value must be finite", name,
                      value != value ? "NaN" : "infinity", row, column);
}

/* "768x768" */
static const char *shape_text(const tn_array_info *info, char *text, size_t capacity) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < info->axes && length < capacity; i++)
        length +=
            (size_t)snprintf(text + length, capacity - length, i ? "x%" PRIu64 : "%" PRIu64, info->shape[i]);
    return info->axes ? text : "a scalar";
}

/* A matrix may have more axes of size 1 behind its two, as 1x1 convolutions do. */
static bool is_matrix(const tn_array_info *info) {
    for (size_t i = 2; i < info->axes; i++)
        if (info->shape[i] != 1) return false;
    return info->axes >= 2;
}

static tn_status take_slice(const reader *r, const char *name, const char *axis, tn_slice asked,
                            uint64_t size, tn_slice *slice) {
    *slice = asked.count ? asked : (tn_slice){0, size};
    if (slice->first <= size && slice->count <= size - slice->first) return TN_OK;
    return tn_fail_at(r->error, TN_INPUT, in_file(r),
                      "\"%.100s\" has %" PRIu64 " %s; %" PRIu64 " from %" PRIu64 " on are more", name, size,
                      axis, slice->count, slice->first);
}

static tn_status check_shape(const reader *r, const tn_array_info *info, tn_slice rows, tn_slice columns) {
    char shape[128];
    uint64_t m = r->source->transposed ? columns.count : rows.count;
    uint64_t n = r->source->transposed ? rows.count : columns.count;
    if (m == r->places.rows && n == r->places.columns) return TN_OK;
    if (r->source->padded && m < r->places.rows && n == r->places.columns) {
        memset(r->folded, 0, r->places.rows * r->places.columns * sizeof *r->folded);
        return TN_OK;
    }
    bool other_way = n == r->places.rows && m == r->places.columns;
    return tn_fail_at(r->error, TN_INPUT, in_file(r),
                      "\"%.100s\" is %s, which gives %" PRIu64 " outputs x %" PRIu64
                      " inputs; the folding has %" PRIu64 " x %" PRIu64 "%s",
                      info->name, shape_text(info, shape, sizeof shape), m, n, r->places.rows,
                      r->places.columns, other_way ? "; it may have to be transposed" : "");
}

/* Puts `count` rows of the array, the first of them row `first` of the slice, into their places. */
static tn_status place_rows(const reader *r, const tn_array_info *info, const double *block, uint64_t first,
                            uint64_t count, tn_slice columns) {
    uint64_t width = info->shape[1];
    bool transposed = r->source->transposed;
    const uint64_t *row = transposed ? r->places.column : r->places.row;
    const uint64_t *column = transposed ? r->places.row : r->places.column;
    for (uint64_t i = 0; i < count; i++) {
        const double *values = block + i * width + columns.first;
        uint64_t bad = tn_first_not_finite(values, columns.count);
        if (bad < columns.count)
            return refuse_value(r, info->name, values[bad], r->source->rows.first + first + i,
                                columns.first + bad);
        for (uint64_t j = 0; j < columns.count; j++) r->folded[row[first + i] + column[j]] = values[j];
    }
    return TN_OK;
}

static tn_status read_blocks(const reader *r, size_t position, tn_slice rows, tn_slice columns) {
    const tn_array_info *info = tn_arrays_info(r->arrays, position);
    uint64_t step = BLOCK_ELEMENTS / info->shape[1] + 1;
    step = step > rows.count ? rows.count : step;
    double *block = NULL;
    TN_TRY(TN_ALLOC(step * info->shape[1], &block, r->error));
    tn_status status = TN_OK;
    for (uint64_t first = 0; first < rows.count && status == TN_OK; first += step) {
        uint64_t count = rows.count - first < step ? rows.count - first : step;
        bool whole = count == info->shape[0]; /* read as a whole it is also checked as a whole */
        status = whole ? tn_arrays_read(r->arrays, position, block, r->error)
                       : tn_arrays_read_rows(r->arrays, position, rows.first + first, count, block, r->error);
        if (status == TN_OK) status = place_rows(r, info, block, first, count, columns);
    }
    tn_free(block);
    return status;
}

static tn_status read_tensor(const reader *r) {
    size_t position;
    tn_slice rows, columns;
    char shape[128];
    TN_TRY(find_array(r, r->source->tensor, &position));
    const tn_array_info *info = tn_arrays_info(r->arrays, position);
    if (!is_matrix(info))
        return tn_fail_at(r->error, TN_INPUT, in_file(r), "\"%.100s\" is %s; a weight matrix has two axes",
                          info->name, shape_text(info, shape, sizeof shape));
    TN_TRY(take_slice(r, info->name, "rows", r->source->rows, info->shape[0], &rows));
    TN_TRY(take_slice(r, info->name, "columns", r->source->columns, info->shape[1], &columns));
    TN_TRY(check_shape(r, info, rows, columns));
    return read_blocks(r, position, rows, columns);
}

/* Core k of a train whose rank to the left is known. */
static tn_status read_core(const reader *r, const tn_weight *stored, size_t k, tn_train *train) {
    size_t position, axes = stored->format == TN_TTM ? 4 : 3;
    char shape[128];
    TN_TRY(find_array(r, r->source->core[k], &position));
    const tn_array_info *info = tn_arrays_info(r->arrays, position);
    bool last = k + 1 == train->cores, fits = info->axes == axes && info->shape[0] == train->rank[k];
    uint64_t left = train->rank[k], right = fits ? info->shape[axes - 1] : 0;
    if (axes == 4)
        fits = fits && info->shape[1] == stored->m[k] && info->shape[2] == stored->n[k];
    else
        fits = fits && info->shape[1] == train->mode[k];
    if (!fits || right == 0 || (last && right != 1))
        return tn_fail_at(r->error, TN_INPUT, in_file(r),
                          "core \"%.100s\" is %s; %s of rank %" PRIu64 " on the left and %" PRIu64
                          " values between the ranks%s is needed",
                          info->name, shape_text(info, shape, sizeof shape),
                          axes == 4 ? "a TTM core" : "a TT core", left, train->mode[k],
                          last ? ", of rank 1 on the right," : "");
    train->rank[k + 1] = right;
    TN_TRY(TN_ALLOC(info->elements, &train->core[k], r->error));
    TN_TRY(tn_arrays_read(r->arrays, position, train->core[k], r->error));
    uint64_t bad = tn_first_not_finite(train->core[k], info->elements);
    if (bad == info->elements) return TN_OK;
    return refuse_value(r, info->name, train->core[k][bad], bad / (info->elements / left),
                        bad % (info->elements / left));
}

/* The train as it is stored: of W, or of its transpose. */
static tn_weight stored_weight(const reader *r) {
    tn_weight stored = *r->weight;
    if (r->source->transposed) {
        memcpy(stored.m, r->weight->n, sizeof stored.m);
        memcpy(stored.n, r->weight->m, sizeof stored.n);
    }
    stored.format = r->source->cores == r->weight->d ? TN_TTM : TN_TT;
    return stored;
}

static tn_status merge_cores(const reader *r, const tn_weight *stored, tn_train *train) {
    double *tensor = NULL, *matrix = NULL;
    uint64_t count = r->places.rows * r->places.columns;
    tn_blas_serial();
    tn_status status = tn_train_merge(train, 0, train->cores, &tensor, r->error);
    tn_blas_restore();
    if (status == TN_OK) status = TN_ALLOC(count, &matrix, r->error);
    if (status == TN_OK) status = tn_unfold(stored, tensor, matrix, r->error);
    bool transposed = r->source->transposed;
    for (uint64_t i = 0; status == TN_OK && i < r->places.rows; i++)
        for (uint64_t j = 0; j < r->places.columns; j++)
            r->folded[r->places.row[i] + r->places.column[j]] =
                matrix[transposed ? j * r->places.rows + i : i * r->places.columns + j];
    tn_free(tensor);
    tn_free(matrix);
    return status;
}

static tn_status read_cores(const reader *r) {
    tn_weight stored = stored_weight(r);
    tn_train train = {.cores = r->source->cores, .rank[0] = 1};
    size_t modes = tn_fold_modes(&stored, train.mode);
    if (r->source->cores != modes)
        return tn_fail(r->error, TN_INPUT,
                       "%zu cores are named; a folding of %u factors has %u (TT) or %u (TTM)",
                       r->source->cores, r->weight->d, 2 * r->weight->d, r->weight->d);
    tn_status status = TN_OK;
    for (size_t k = 0; k < modes && status == TN_OK; k++) status = read_core(r, &stored, k, &train);
    if (status == TN_OK) status = merge_cores(r, &stored, &train);
    tn_train_free(&train);
    return status;
}

tn_status tn_matrix_read(tn_arrays *arrays, const char *path, const tn_matrix_source *source,
                         const tn_weight *weight, double *folded, tn_error *error) {
    reader r = {arrays, path, source, weight, {0}, folded, error};
    TN_TRY(tn_places_make(weight, &r.places, error));
    tn_status status = source->cores ? read_cores(&r) : read_tensor(&r);
    tn_places_free(&r.places);
    return status;
}
