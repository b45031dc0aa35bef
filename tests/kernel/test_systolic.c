/* Systolic arrays against RTL simulation, against SCALE-Sim, and against arrays played register by register:
 * the simulations below know the wiring of a processing element and a controller's rules, no formula, move
 * real numbers and find the cycle of the last right output. */
#include "kernel/systolic.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 6, SIZE = 24, NONE = -1 };

typedef struct {
    int rows, columns, m, k, n;
} shape;

static uint64_t formula(tn_dataflow dataflow, const shape *s) {
    tn_systolic array = {(uint64_t)s->rows, (uint64_t)s->columns};
    tn_array_product product = {(uint64_t)s->m, (uint64_t)s->k, (uint64_t)s->n};
    tn_systolic_result result;
    assert_int_equal(tn_systolic_cycles(&array, dataflow, &product, &result, NULL), TN_OK);
    return result.cycles;
}

static int ceil_div(int a, int b) {
    return (a + b - 1) / b;
}

static long a_value(const shape *s, int i, int k) {
    return i < s->m && k < s->k ? (i * 7 + k * 13 + 3) % 17 - 8 : 0;
}

static long b_value(const shape *s, int k, int j) {
    return k < s->k && j < s->n ? (k * 5 + j * 11 + 1) % 19 - 9 : 0;
}

static long exact_output(const shape *s, int i, int j) {
    long sum = 0;
    for (int k = 0; k < s->k; k++) sum += a_value(s, i, k) * b_value(s, k, j);
    return sum;
}

static long output[SIZE][SIZE];
static int arrived[SIZE][SIZE]; /* partial sums that reached each output */

static void clear_outputs(void) {
    memset(output, 0, sizeof output);
    memset(arrived, 0, sizeof arrived);
}

static bool outputs_right(const shape *s, int parts) {
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++)
            if (arrived[i][j] != parts || output[i][j] != exact_output(s, i, j)) return false;
    return true;
}

/* --- Weight-stationary elements: the weight rests (with a second one in waiting), an activation moves right,
 * a partial sum moves down. Numbers travel with the vector and tile that they belong to. */

typedef struct {
    long value;
    int vector, tile; /* vector NONE: nothing */
} token;

typedef struct {
    long weight, waiting;
    token activation, sum;
} ws_element;

static const token nothing = {0, NONE, NONE};

typedef struct {
    const shape *s;
    int row_tiles, tiles;
    ws_element at[EDGE][EDGE];
    bool double_buffered;
    int seen_tile[EDGE][EDGE]; /* last tile whose activation passed an element */
    long last;
} ws_array;

static void ws_reset(ws_array *w, const shape *s, bool double_buffered) {
    memset(w, 0, sizeof *w);
    w->s = s;
    w->double_buffered = double_buffered;
    w->row_tiles = ceil_div(s->k, s->rows);
    w->tiles = w->row_tiles * ceil_div(s->n, s->columns);
    for (int r = 0; r < EDGE; r++)
        for (int c = 0; c < EDGE; c++) {
            w->at[r][c].activation = w->at[r][c].sum = nothing;
            w->seen_tile[r][c] = NONE;
        }
    clear_outputs();
}

/* The first activation of a tile makes an element take the waiting weight. */
static long ws_weight(ws_array *w, int r, int c, token activation) {
    ws_element *e = &w->at[r][c];
    if (w->double_buffered && activation.vector != NONE && w->seen_tile[r][c] != activation.tile) {
        w->seen_tile[r][c] = activation.tile;
        e->weight = e->waiting;
    }
    return e->weight;
}

/* One clock edge. left[r]: what enters row r. */
static void ws_clock(ws_array *w, const token *left, long cycle) {
    ws_element next[EDGE][EDGE];
    const shape *s = w->s;
    memcpy(next, w->at, sizeof next);
    for (int r = 0; r < s->rows; r++)
        for (int c = 0; c < s->columns; c++) {
            token activation = c ? w->at[r][c - 1].activation : left[r];
            token above = r ? w->at[r - 1][c].sum : activation; /* the top row starts the sum */
            long weight = ws_weight(w, r, c, activation);
            next[r][c].weight = weight;
            next[r][c].activation = activation;
            next[r][c].sum = above;
            next[r][c].sum.value = (r ? above.value : 0) + activation.value * weight;
        }
    memcpy(w->at, next, sizeof next);
    for (int c = 0; c < s->columns; c++) {
        token out = w->at[s->rows - 1][c].sum;
        int column = out.tile / w->row_tiles * s->columns + c;
        if (out.vector == NONE || column >= s->n) continue;
        output[out.vector][column] += out.value;
        arrived[out.vector][column]++;
        w->last = cycle + 1;
    }
}

static void ws_skewed_input(const ws_array *w, int tile, long since, token *left) {
    for (int r = 0; r < w->s->rows; r++) {
        long vector = since - r;
        left[r] = nothing;
        if (vector < 0 || vector >= w->s->m) continue;
        int k = tile % w->row_tiles * w->s->rows + r;
        left[r] = (token){a_value(w->s, (int)vector, k), (int)vector, tile};
    }
}

static bool ws_empty(const ws_array *w) {
    for (int r = 0; r < w->s->rows; r++)
        for (int c = 0; c < w->s->columns; c++)
            if (w->at[r][c].activation.vector != NONE && c + 1 < w->s->columns) return false;
    for (int r = 0; r + 1 < w->s->rows; r++)
        for (int c = 0; c < w->s->columns; c++)
            if (w->at[r][c].sum.vector != NONE) return false;
    return true;
}

static long tile_weight(const ws_array *w, int tile, int r, int c) {
    return b_value(w->s, tile % w->row_tiles * w->s->rows + r, tile / w->row_tiles * w->s->columns + c);
}

/* Load a row of weights a cycle, stream, wait until the array is empty, next tile. */
static long play_ws_serial(const shape *s) {
    static ws_array w;
    ws_reset(&w, s, false);
    long cycle = 0;
    for (int tile = 0; tile < w.tiles; tile++) {
        cycle += s->rows;
        for (int r = 0; r < s->rows; r++)
            for (int c = 0; c < s->columns; c++) w.at[r][c].weight = tile_weight(&w, tile, r, c);
        for (long since = 0; since < s->m + s->rows - 1 || !ws_empty(&w); since++) {
            token left[EDGE];
            ws_skewed_input(&w, tile, since, left);
            ws_clock(&w, left, cycle++);
        }
    }
    assert_true(outputs_right(s, w.row_tiles));
    return w.last;
}

/* The controller starts everything as soon as it may: the weights of the next tile (a row a cycle, skewed by
 * column) once the current tile has begun to take its own, its activations once they are loaded and the
 * current tile's have all gone in. */
static long play_ws_double_buffered(const shape *s) {
    static ws_array w;
    static long load[SIZE * SIZE], start[SIZE * SIZE];
    ws_reset(&w, s, true);
    for (int t = 0; t < w.tiles; t++) {
        load[t] = t ? load[t - 1] + s->rows : 0;
        if (t && load[t] < start[t - 1]) load[t] = start[t - 1];
        start[t] = load[t] + 1;
        if (t && start[t] < start[t - 1] + s->m) start[t] = start[t - 1] + s->m;
    }
    long end = start[w.tiles - 1] + s->m + s->rows + s->columns;
    for (long cycle = 0; cycle < end; cycle++) {
        token left[EDGE];
        for (int r = 0; r < s->rows; r++) left[r] = nothing;
        for (int t = 0; t < w.tiles; t++) {
            token tile_left[EDGE];
            ws_skewed_input(&w, t, cycle - start[t], tile_left);
            for (int r = 0; r < s->rows; r++)
                if (tile_left[r].vector != NONE) left[r] = tile_left[r];
        }
        ws_clock(&w, left, cycle);
        for (int t = 0; t < w.tiles; t++)
            for (int r = 0; r < s->rows; r++)
                for (int c = 0; c < s->columns; c++)
                    if (cycle == load[t] + r + c) w.at[r][c].waiting = tile_weight(&w, t, r, c);
    }
    assert_true(outputs_right(s, w.row_tiles));
    return w.last;
}

/* --- Accumulation-stationary elements: the sum rests, an activation moves right, a weight moves down. A mark
 * travels with the first activation of a tile: the element then hands its sum to the drain chain. */

typedef struct {
    long a, b, sum, drain;
    int drain_row, drain_tile, tile; /* who the drained sum belongs to */
    bool first;
} os_element;

typedef struct {
    const shape *s;
    int column_tiles, tiles;
    os_element at[EDGE][EDGE];
    long last;
    int drained;           /* sums that left the array, those of padding included */
    int column_tile[EDGE]; /* tile of the latest sum that left a column */
    bool in_order;         /* every column's sums left tile by tile */
} os_array;

static void os_reset(os_array *o, const shape *s) {
    memset(o, 0, sizeof *o);
    o->s = s;
    o->in_order = true;
    o->column_tiles = ceil_div(s->n, s->columns);
    o->tiles = ceil_div(s->m, s->rows) * o->column_tiles;
    for (int r = 0; r < EDGE; r++)
        for (int c = 0; c < EDGE; c++) o->at[r][c].drain_row = o->at[r][c].tile = NONE;
    clear_outputs();
}

static void os_deliver(os_array *o, int tile, int r, int c, long value, long cycle) {
    o->drained++;
    o->in_order &= tile >= o->column_tile[c];
    o->column_tile[c] = tile;
    int row = tile / o->column_tiles * o->s->rows + r, column = tile % o->column_tiles * o->s->columns + c;
    if (row >= o->s->m || column >= o->s->n) return;
    output[row][column] = value;
    arrived[row][column]++;
    o->last = cycle + 1;
}

/* Serial: stream skewed until the last element has all its terms, then shift the sums down a row a cycle. */
static long play_os_serial(const shape *s) {
    static os_array o;
    os_reset(&o, s);
    long cycle = 0;
    for (int tile = 0; tile < o.tiles; tile++) {
        int row0 = tile / o.column_tiles * s->rows, column0 = tile % o.column_tiles * s->columns,
            finished = 0;
        memset(o.at, 0, sizeof o.at);
        int terms[EDGE][EDGE] = {{0}};
        for (long since = 0; finished < s->rows * s->columns; since++, cycle++)
            for (int r = s->rows - 1; r >= 0; r--)
                for (int c = s->columns - 1; c >= 0; c--) {
                    os_element *e = &o.at[r][c];
                    e->a = c                                  ? o.at[r][c - 1].a
                           : (since >= r && since - r < s->k) ? a_value(s, row0 + r, (int)(since - r))
                                                              : 0;
                    e->b = r                                  ? o.at[r - 1][c].b
                           : (since >= c && since - c < s->k) ? b_value(s, (int)(since - c), column0 + c)
                                                              : 0;
                    if (since < r + c || terms[r][c] == s->k) continue;
                    e->sum += e->a * e->b;
                    finished += ++terms[r][c] == s->k;
                }
        for (int step = 0; step < s->rows; step++, cycle++)
            for (int c = 0; c < s->columns; c++) {
                os_deliver(&o, tile, s->rows - 1 - step, c, o.at[s->rows - 1][c].sum, cycle);
                for (int r = s->rows - 1; r > 0; r--) o.at[r][c].sum = o.at[r - 1][c].sum;
            }
    }
    assert_true(outputs_right(s, 1));
    return o.last;
}

static void os_clock(os_array *o, long cycle, int period) {
    os_element next[EDGE][EDGE];
    const shape *s = o->s;
    memcpy(next, o->at, sizeof next);
    for (int r = 0; r < s->rows; r++)
        for (int c = 0; c < s->columns; c++) {
            const os_element *left = c ? &o->at[r][c - 1] : NULL, *above = r ? &o->at[r - 1][c] : NULL,
                             *below = r + 1 < s->rows ? &o->at[r + 1][c] : NULL;
            os_element *e = &next[r][c];
            long age_a = cycle - r, age_b = cycle - c; /* what the edges feed: tile and term */
            int tile_a = (int)(age_a / period), tile_b = (int)(age_b / period);
            int ka = (int)(age_a % period), kb = (int)(age_b % period);
            bool fed_a = age_a >= 0 && tile_a < o->tiles && ka < s->k,
                 fed_b = age_b >= 0 && tile_b < o->tiles && kb < s->k;
            e->a = left ? left->a : fed_a ? a_value(s, tile_a / o->column_tiles * s->rows + r, ka) : 0;
            e->b = above ? above->b : fed_b ? b_value(s, kb, tile_b % o->column_tiles * s->columns + c) : 0;
            e->first = left ? left->first : age_a >= 0 && ka == 0 && tile_a <= o->tiles;
            e->drain = below ? below->drain : 0;
            e->drain_row = below ? below->drain_row : NONE;
            e->drain_tile = below ? below->drain_tile : NONE;
            if (e->first) {
                e->drain = o->at[r][c].sum;
                e->drain_row = o->at[r][c].tile == NONE ? NONE : r;
                e->drain_tile = o->at[r][c].tile;
                e->tile = o->at[r][c].tile + 1;
                e->sum = 0;
            }
            e->sum += e->a * e->b;
        }
    memcpy(o->at, next, sizeof next);
    for (int c = 0; c < s->columns; c++)
        if (o->at[0][c].drain_row != NONE)
            os_deliver(o, o->at[0][c].drain_tile, o->at[0][c].drain_row, c, o->at[0][c].drain, cycle);
}

/* The shortest period at which no sum is lost on its way out and each column's sums leave tile by tile, found
 * by trying. (Out of order, some shorter odd periods would lose nothing either.) */
static long play_os_overlapped(const shape *s) {
    static os_array o;
    for (int period = s->k;; period++) {
        os_reset(&o, s);
        long end = (long)(o.tiles + 1) * period + 3 * s->rows + 2 * s->columns;
        for (long cycle = 0; cycle < end; cycle++) os_clock(&o, cycle, period);
        bool all = o.drained == o.tiles * s->rows * s->columns;
        if (all && o.in_order && outputs_right(s, 1)) return o.last;
        assert_true(period < s->k + 2 * s->rows);
    }
}

static void played(void **state) {
    (void)state;
    srand(20240607);
    for (int trial = 0; trial < 400; trial++) {
        shape s = {1 + rand() % EDGE, 1 + rand() % EDGE, 1 + rand() % 12, 1 + rand() % 12, 1 + rand() % 12};
        assert_int_equal(formula(TN_WS_SERIAL, &s), play_ws_serial(&s));
        assert_int_equal(formula(TN_WS_DOUBLE_BUFFERED, &s), play_ws_double_buffered(&s));
        assert_int_equal(formula(TN_OS_SERIAL, &s), play_os_serial(&s));
        assert_int_equal(formula(TN_OS_OVERLAPPED, &s), play_os_overlapped(&s));
    }
}

/* Counted in RTL simulation (first seven) and by SCALE-Sim (the rest). */
static const struct {
    tn_dataflow dataflow;
    shape s;
    uint64_t cycles;
} counted[] = {
    {TN_WS_SERIAL, {8, 4, 5, 16, 9}, 135},         {TN_WS_SERIAL, {16, 4, 20, 33, 10}, 484},
    {TN_OS_SERIAL, {2, 3, 5, 7, 11}, 144},         {TN_WS_DOUBLE_BUFFERED, {8, 8, 32, 24, 40}, 495},
    {TN_WS_DOUBLE_BUFFERED, {2, 3, 5, 7, 11}, 83}, {TN_OS_OVERLAPPED, {1, 1, 1, 1, 1}, 2},
    {TN_OS_OVERLAPPED, {16, 4, 20, 33, 10}, 206},  {TN_SCALESIM_OS, {16, 16, 32, 12, 768}, 4031},
    {TN_SCALESIM_IS, {16, 16, 32, 768, 12}, 5567}, {TN_SCALESIM_WS, {32, 32, 100, 300, 200}, 13579},
};

static void small_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        assert_int_equal(formula(counted[i].dataflow, &counted[i].s), counted[i].cycles);
}

static tn_dataflow dataflow_named(const char *prefix, const char *name) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    for (int i = 0; tn_dataflow_names[i]; i++)
        if (strcmp(tn_dataflow_names[i], whole) == 0) return (tn_dataflow)i;
    fail_msg("no dataflow '%s'", whole);
    return 0;
}

/* names: the columns of rows, columns, m, k, n, cycles, dataflow. */
static void compare_table(const char *file, const char *prefix, const char *const *names, size_t least_rows) {
    const char *path = test_shared_or_skip(file);
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[7], exact = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 7, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t v[6];
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(tn_csv_count(&csv, row, column[i], 1, 1u << 30, &v[i], NULL), TN_OK);
        shape s = {(int)v[0], (int)v[1], (int)v[2], (int)v[3], (int)v[4]};
        exact += formula(dataflow_named(prefix, tn_csv_at(&csv, row, column[6])->text), &s) == v[5];
    }
    print_message("%s: %zu of %zu rows exact\n", file, exact, csv.rows);
    assert_true(csv.rows >= least_rows);
    assert_int_equal(exact, csv.rows);
    tn_arena_free(&arena);
}

static void rtl_table(void **state) {
    (void)state;
    const char *const names[] = {"R", "C", "M", "K", "N", "cycles", "dataflow"};
    compare_table("oracles/systolic/rtl_cycles.csv", "", names, 32);
}

static void scalesim_table(void **state) {
    (void)state;
    const char *const names[] = {"rows", "cols", "M", "K", "N", "cycles_v2", "dataflow"};
    compare_table("oracles/systolic/scalesim_cycles.csv", "scalesim_", names, 18);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    for (int dataflow = 0; tn_dataflow_names[dataflow]; dataflow++)
        for (int which = 0; which < 5; which++)
            for (int big = 0; big < 2; big++) {
                uint64_t v[5] = {4, 4, 8, 8, 8};
                v[which] = big ? UINT64_MAX : 0;
                tn_systolic array = {v[0], v[1]};
                tn_array_product product = {v[2], v[3], v[4]};
                tn_systolic_result result = {.cycles = 3};
                assert_int_equal(tn_systolic_cycles(&array, (tn_dataflow)dataflow, &product, &result, NULL),
                                 TN_INPUT);
                assert_int_equal(result.cycles, 3);
            }
}

static void overflow_is_reported(void **state) {
    (void)state;
    tn_systolic one = {1, 1};
    tn_array_product most = {TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE};
    for (int dataflow = 0; tn_dataflow_names[dataflow]; dataflow++) {
        tn_systolic_result result = {.cycles = 3};
        assert_int_equal(tn_systolic_cycles(&one, (tn_dataflow)dataflow, &most, &result, NULL), TN_OVERFLOW);
        assert_int_equal(result.cycles, 3);
        tn_array_product single = {1, 1, 1};
        assert_int_equal(tn_systolic_cycles(&one, (tn_dataflow)dataflow, &single, &result, NULL), TN_OK);
        assert_true(result.utilisation >= 0 && result.utilisation <= 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(played),
        cmocka_unit_test(small_table),
        cmocka_unit_test(rtl_table),
        cmocka_unit_test(scalesim_table),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(overflow_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
