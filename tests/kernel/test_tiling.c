/* Tiles of off-chip products against playing their loops: what is loaded whenever another tile is wanted, and whether any other
 * tile moves less. A model that fits small boards by tiles alone. */
#include "base/random.h"
#include "kernel/tiling.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Elements loaded and stored while the tiles run in this order; an operand's tile stays until another is wanted. */
static uint64_t play(const tn_product_size *p, const bool *off, uint64_t m, uint64_t n, bool rows_outside,
                     uint64_t *tiles) {
    uint64_t moved = 0, row_tiles = (p->rows + m - 1) / m, column_tiles = (p->columns + n - 1) / n;
    *tiles = 0;
    for (uint64_t b = 0; b < p->batch; b++) {
        uint64_t left_at = UINT64_MAX, right_at = UINT64_MAX;
        for (uint64_t outer = 0; outer < (rows_outside ? row_tiles : column_tiles); outer++)
            for (uint64_t inner = 0; inner < (rows_outside ? column_tiles : row_tiles); inner++) {
                uint64_t i = rows_outside ? outer : inner, j = rows_outside ? inner : outer;
                uint64_t rows = least(m, p->rows - i * m), columns = least(n, p->columns - j * n);
                if (off[TN_TILED_LEFT] && left_at != i) moved += rows * p->reduction;
                if (off[TN_TILED_RIGHT] && right_at != j) moved += columns * p->reduction;
                if (off[TN_TILED_RESULT]) moved += rows * columns;
                left_at = i;
                right_at = j;
                ++*tiles;
            }
    }
    return moved;
}

static bool holds(const tn_product_size *p, const bool *off, uint64_t m, uint64_t n, uint64_t capacity) {
    return (!off[TN_TILED_LEFT] || m * p->reduction <= capacity) &&
           (!off[TN_TILED_RIGHT] || n * p->reduction <= capacity) &&
           (!off[TN_TILED_RESULT] || m * n <= capacity);
}

static uint64_t next(uint64_t edge, uint64_t whole) {
    return edge == whole ? 0 : edge > whole / 2 ? whole : 2 * edge;
}

static void least_traffic(void **state) {
    uint64_t random = 5;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const tn_product_size p = {1 + tn_splitmix_below(&random, 3), 1 + tn_splitmix_below(&random, 40),
                                   1 + tn_splitmix_below(&random, 20), 1 + tn_splitmix_below(&random, 40)};
        const bool off[TN_TILED_OPERANDS] = {tn_splitmix_below(&random, 2), tn_splitmix_below(&random, 2),
                                             tn_splitmix_below(&random, 2)};
        uint64_t capacity = 1 + tn_splitmix_below(&random, 400), best = UINT64_MAX, moved, tiles;
        tn_tiling found;
        if (!off[0] && !off[1] && !off[2]) continue;
        assert_int_equal(tn_tiling_find(&p, off, capacity, &found, NULL), TN_OK);
        for (uint64_t m = 1; m; m = next(m, p.rows))
            for (uint64_t n = 1; n; n = next(n, p.columns))
                for (int outside = 0; outside < 2; outside++)
                    if (holds(&p, off, m, n, capacity) || (m == 1 && n == 1))
                        best = least(best, play(&p, off, m, n, outside, &tiles));
        assert_true(tn_tiling_moved(&found, &moved));
        assert_int_equal(moved, best);
        uint64_t as_rows = play(&p, off, found.rows, found.columns, true, &tiles),
                 as_columns = play(&p, off, found.rows, found.columns, false, &tiles);
        assert_int_equal(moved, least(as_rows, as_columns));
        assert_int_equal(found.tiles, tiles);
        for (int i = 0; i < TN_TILED_OPERANDS; i++) {
            assert_true((found.staged[i] > 0) == off[i]);
            if (found.rows > 1 || found.columns > 1) assert_true(found.staged[i] <= capacity);
        }
    }
}

static void counts_that_overflow(void **state) {
    (void)state;
    const bool off[TN_TILED_OPERANDS] = {true, true, true};
    const tn_product_size p = {1, UINT64_C(1) << 40, UINT64_C(1) << 40, 1};
    tn_tiling found;
    assert_int_equal(tn_tiling_find(&p, off, 1000, &found, NULL), TN_OVERFLOW);
}

/* Staged whole, the model fits neither small board; in tiles it does. */
static void tiles_make_a_model_fit(void **state) {
    static const struct {
        const char *device, *override;
        bool whole_fits;
    } board[] = {{"pynq-z2", "1024", false}, {"zcu104", "65536", false}, {"vck190", "65536", true}};
    (void)state;
    for (size_t i = 0; i < sizeof board / sizeof *board; i++)
        for (int tiled = 0; tiled < 2; tiled++) {
            char override[64] = "build.off_chip_over_bytes=", tile[64];
            strcat(override, board[i].override);
            strcpy(tile, tiled ? "build.off_chip_tile_bytes=16384" : "build.off_chip_tile_bytes=0");
            json_t *cost =
                test_program_json(0, "cost", "encoder-512", "--device", board[i].device, "--set", override,
                                  "--set", tile, "--set", "build.rows=2", "--set", "build.columns=2", "--set",
                                  "build.reduction=2", "--set", "build.group=64", "--json", NULL);
            assert_int_equal(json_is_true(json_object_get(cost, "fits")), tiled || board[i].whole_fits);
            json_decref(cost);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_traffic),
        cmocka_unit_test(counts_that_overflow),
        cmocka_unit_test(tiles_make_a_model_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
