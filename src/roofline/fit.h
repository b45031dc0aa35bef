/* Fits the laws of a roofline device (roofline/roofline.h) to measured products.
 *
 * For each precision and kind of time: first the law's coefficients, by Levenberg-Marquardt on the logarithms
 * of the times (GSL), with a pseudo-Huber loss so that outliers count little, a weak pull towards plain
 * starting values, several seeded starts, and the tile and split depth chosen from a small list; then the
 * surface through what the law leaves. The data are measurements of a library that picks its kernels by rules
 * of its own, so a law is judged on rows that it has not seen: tn_roofline_held_out.
 *
 * Coefficients are rounded to 6 digits, as the device file holds them. The same rows and seed give the same
 * law.
 */
#ifndef TN_ROOFLINE_FIT_H
#define TN_ROOFLINE_FIT_H

#include "base/buffer.h"
#include "base/clock.h"
#include "roofline/roofline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_roofline_measurement {
    const tn_roofline_precision *precision;
    tn_roofline_product product;
    double us[TN_ROOFLINE_TIMES]; /* 0: not measured */
} tn_roofline_measurement;

typedef struct tn_roofline_measurements {
    size_t count;
    tn_roofline_measurement *row;
    const char *file;
} tn_roofline_measurements;

/* Columns dtype, M, N, K and at least one of graph_us, eager_us. */
tn_status tn_roofline_measurements_load(const char *path, const tn_roofline *roofline, tn_arena *arena,
                                        tn_roofline_measurements *data, tn_error *error);

typedef struct tn_roofline_fit_options {
    uint64_t seed;
    uint64_t starts; /* of each search for coefficients, 1 to 100 */
    const tn_progress *progress;
} tn_roofline_fit_options;
#define TN_ROOFLINE_FIT_DEFAULTS                                                                             \
    { .seed = 1, .starts = 4 }

/* *fitted = `roofline` with a law for every precision and time that `data` measures (rows with skip[row] are
 * left out; NULL: none) in place of those it had. A law needs at least 16 rows; eager laws need the
 * precision's graph times too, or its graph law. */
tn_status tn_roofline_fit(const tn_roofline *roofline, const tn_roofline_measurements *data, const bool *skip,
                          const tn_roofline_fit_options *options, tn_arena *arena, tn_roofline *fitted,
                          tn_error *error);

/* *median = median of |predicted / measured - 1| over the rows of that precision and time with take[row]
 * (NULL: all); *rows = how many. */
tn_status tn_roofline_error(const tn_roofline *roofline, const tn_roofline_measurements *data,
                            const bool *take, const char *precision, tn_roofline_time time, tn_arena *arena,
                            double *median, size_t *rows, tn_error *error);

/* A division of the rows in halves: 0 and 1 hold out every second row of each precision, higher numbers a
 * half drawn by `seed` and the number. held_out[data->count]. */
tn_status tn_roofline_split(const tn_roofline_measurements *data, uint64_t number, uint64_t seed,
                            bool *held_out, tn_arena *arena, tn_error *error);

/* Appends the laws as YAML, as they stand under `roofline:`. */
void tn_roofline_write_laws(const tn_roofline *roofline, tn_buffer *out);

#endif
