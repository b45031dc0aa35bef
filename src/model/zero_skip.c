#include "model/zero_skip.h"

#include "base/memory.h"
#include "base/random.h"

#include <string.h>

enum { LANES_MOST = 64, LEVEL_STRIDE = 5, PLACES = 8, DRAWN_STEPS = 1024 };

static const struct {
    uint32_t ahead;
    int32_t aside;
} places[PLACES] = {{0, 0}, {1, 0}, {2, 0}, {1, -1}, {1, 1}, {2, -2}, {2, 2}, {1, -3}};

/* One cycle of a row whose window begins at `step`: each lane takes at most one pair. */
static void take_pairs(bool *row, size_t step, size_t steps, size_t lanes, size_t depth) {
    for (size_t level = 0; level < LEVEL_STRIDE + 1; level++)
        for (size_t lane = 0; lane < lanes; lane++) {
            /* Of 16 lanes the last has a level of its own: it would be five from the first, round the end. */
            const size_t its = lane + 1 == lanes && lane % LEVEL_STRIDE == 0 && lane > 0
                                   ? LEVEL_STRIDE
                                   : lane % LEVEL_STRIDE;
            if (its != level) continue;
            for (int p = 0; p < PLACES; p++) {
                if (places[p].ahead >= depth || step + places[p].ahead >= steps) continue;
                const size_t other = (lane + lanes + (size_t)(places[p].aside + (int32_t)lanes)) % lanes;
                bool *pair = &row[(step + places[p].ahead) * lanes + other];
                if (!*pair) continue;
                *pair = false;
                break;
            }
        }
}

static bool is_done(const bool *row, size_t step, size_t lanes) {
    for (size_t lane = 0; lane < lanes; lane++)
        if (row[step * lanes + lane]) return false;
    return true;
}

tn_status tn_zero_skip_play(bool *busy, size_t rows, size_t steps, size_t lanes, size_t depth,
                            uint64_t *cycles, tn_error *error) {
    if (lanes == 0 || lanes > LANES_MOST || depth == 0 || depth > TN_ZERO_SKIP_DEPTH_MOST || rows == 0)
        return tn_fail(error, TN_INPUT,
                       "%zu rows of %zu lanes that see %zu steps; there are 1 or more, 1 to %d and 1 to %d",
                       rows, lanes, depth, (int)LANES_MOST, (int)TN_ZERO_SKIP_DEPTH_MOST);
    *cycles = 0;
    for (size_t step = 0; step < steps; ++*cycles) {
        size_t gone = depth < steps - step ? depth : steps - step;
        for (size_t r = 0; r < rows; r++) {
            bool *row = busy + r * steps * lanes;
            size_t done = 0;
            take_pairs(row, step, steps, lanes, depth);
            while (done < gone && is_done(row, step + done, lanes)) done++;
            gone = done;
        }
        step += gone;
    }
    return TN_OK;
}

tn_status tn_zero_skip_ratio(double zeros, size_t depth, double *ratio, tn_error *error) {
    const size_t pairs = (size_t)TN_ZERO_SKIP_ROWS * DRAWN_STEPS * TN_ZERO_SKIP_LANES;
    uint64_t state = 1, cycles;
    bool *busy;
    TN_TRY(TN_ALLOC(pairs, &busy, error));
    for (size_t i = 0; i < pairs; i++) busy[i] = (double)(tn_splitmix_next(&state) >> 11) * 0x1p-53 >= zeros;
    tn_status status =
        tn_zero_skip_play(busy, TN_ZERO_SKIP_ROWS, DRAWN_STEPS, TN_ZERO_SKIP_LANES, depth, &cycles, error);
    tn_free(busy);
    *ratio = (double)cycles / DRAWN_STEPS;
    return status;
}
