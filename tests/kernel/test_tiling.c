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

enum { ORDERS = 3 };

static uint64_t up(uint64_t a, uint64_t unit) {
    return (a + unit - 1) / unit * unit;
}

/* A tile of rows x columns of a matrix: whole rows lie together. */
static void move(const tn_tile_limits *limits, uint64_t rows, uint64_t columns, bool whole, uint64_t *moved,
                 uint64_t *bursts) {
    const uint64_t lines = whole ? 1 : rows, line = whole ? rows * columns : columns;
    *moved += lines * up(line, limits->access);
    *bursts += lines * (up(line, limits->burst) / limits->burst);
}

/* What is loaded and stored while the tiles run in this order; an operand's tile stays until another is wanted, and a partial
 * sum that leaves is stored and comes again. */
static void play(const tn_product_size *p, const bool *off, const tn_tile_limits *limits, uint64_t m,
                 uint64_t n, uint64_t k, int order, uint64_t *moved, uint64_t *bursts, uint64_t *tiles) {
    static const int loops[ORDERS][3] = {{0, 2, 1}, {1, 2, 0}, {0, 1, 2}}; /* of rows, columns, terms */
    const uint64_t size[3] = {p->rows, p->columns, p->reduction}, edge[3] = {m, n, k};
    uint64_t count[3], at[3];
    *moved = *bursts = *tiles = 0;
    for (int g = 0; g < 3; g++) count[g] = (size[g] + edge[g] - 1) / edge[g];
    for (uint64_t b = 0; b < p->batch; b++) {
        uint64_t held[3][2], extent[3];
        bool begun = false;
        for (uint64_t t = 0; t < count[0] * count[1] * count[2]; t++, ++*tiles) {
            uint64_t rest = t;
            for (int l = 2; l >= 0; l--) {
                at[loops[order][l]] = rest % count[loops[order][l]];
                rest /= count[loops[order][l]];
            }
            static const int of[3][2] = {{0, 2}, {2, 1}, {0, 1}};
            for (int i = 0; i < 3; i++) {
                const int r = of[i][0], c = of[i][1];
                const bool other = !begun || held[i][0] != at[r] || held[i][1] != at[c];
                for (int g = 0; g < 3; g++) extent[g] = least(edge[g], size[g] - at[g] * edge[g]);
                if (off[i] && i < 2 && other)
                    move(limits, extent[r], extent[c], edge[c] == size[c], moved, bursts);
                if (off[i] && i == 2 && other) { /* the new one leaves once, and comes if it has been begun */
                    move(limits, extent[r], extent[c], edge[c] == size[c], moved, bursts);
                    if (at[2] > 0) move(limits, extent[r], extent[c], edge[c] == size[c], moved, bursts);
                }
                held[i][0] = at[r];
                held[i][1] = at[c];
            }
            begun = true;
        }
    }
}

static bool holds(const tn_product_size *p, const bool *off, uint64_t m, uint64_t n, uint64_t k,
                  uint64_t capacity) {
    (void)p;
    return (!off[TN_TILED_LEFT] || m * k <= capacity) && (!off[TN_TILED_RIGHT] || n * k <= capacity) &&
           (!off[TN_TILED_RESULT] || m * n <= capacity);
}

static uint64_t next(uint64_t edge, uint64_t whole) {
    return edge == whole ? 0 : edge > whole / 2 ? whole : 2 * edge;
}

static void least_traffic(void **state) {
    uint64_t random = 5, split = 0;
    (void)state;
    for (int round = 0; round < 400; round++) {
        const tn_product_size p = {1 + tn_splitmix_below(&random, 3), 1 + tn_splitmix_below(&random, 30),
                                   1 + tn_splitmix_below(&random, 40), 1 + tn_splitmix_below(&random, 30)};
        const bool off[TN_TILED_OPERANDS] = {tn_splitmix_below(&random, 2), tn_splitmix_below(&random, 2),
                                             tn_splitmix_below(&random, 2)};
        const tn_tile_limits limits = {.capacity = 1 + tn_splitmix_below(&random, 300),
                                       .access = UINT64_C(1) << tn_splitmix_below(&random, 4),
                                       .burst = UINT64_C(8) << tn_splitmix_below(&random, 4)};
        uint64_t best = UINT64_MAX, moved, bursts, tiles, found_moved = 0, found_bursts = 0;
        bool as_played = false;
        tn_tiling found;
        if (!off[0] && !off[1] && !off[2]) continue;
        assert_int_equal(tn_tiling_find(&p, off, &limits, &found, NULL), TN_OK);
        for (uint64_t m = 1; m; m = next(m, p.rows))
            for (uint64_t n = 1; n; n = next(n, p.columns))
                for (uint64_t k = 1; k; k = next(k, p.reduction))
                    for (int order = 0; order < ORDERS; order++) {
                        if ((k < limits.access && k < p.reduction) ||
                            !holds(&p, off, m, n, k, limits.capacity))
                            continue;
                        play(&p, off, &limits, m, n, k, order, &moved, &bursts, &tiles);
                        best = least(best, moved);
                    }
        for (int i = 0; i < TN_TILED_OPERANDS; i++) {
            found_moved += found.moved[i];
            found_bursts += found.bursts[i];
            assert_true((found.staged[i] > 0) == off[i]);
            if (best < UINT64_MAX) assert_true(found.staged[i] <= limits.capacity);
        }
        assert_true(tn_tiling_moved(&found, &moved));
        assert_int_equal(moved, found_moved);
        if (best < UINT64_MAX) assert_int_equal(moved, best);
        for (int order = 0; order < ORDERS; order++) {
            play(&p, off, &limits, found.rows, found.columns, found.reduction, order, &moved, &bursts,
                 &tiles);
            as_played |= moved == found_moved && bursts == found_bursts;
            assert_int_equal(found.tiles, tiles);
        }
        assert_true(as_played);
        split += found.reduction < p.reduction;
    }
    assert_true(split > 40);
}

static void counts_that_overflow(void **state) {
    (void)state;
    const bool off[TN_TILED_OPERANDS] = {true, true, true};
    const tn_tile_limits limits = {1000, 1, 1024};
    const tn_product_size p = {1, UINT64_C(1) << 40, UINT64_C(1) << 40, 1};
    tn_tiling found;
    assert_int_equal(tn_tiling_find(&p, off, &limits, &found, NULL), TN_OVERFLOW);
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
