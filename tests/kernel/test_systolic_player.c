/* The array that is played against the product, element by element, and against the formulas' cycles: a thousand random
 * products in each pass of each dataflow, the RTL's cycles, and the slides' products. */
#include "kernel/systolic_player.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 6, SIZE = 14, WORDS = 8192, TRIALS = 1000, DATAFLOWS = TN_OS_OVERLAPPED + 1, PASSES = 3 };

static tn_array_value a[WORDS], b[WORDS], c[WORDS];
static tn_error error;

static uint64_t below(uint64_t limit) {
    return (uint64_t)rand() % limit;
}

static void fill(tn_array_value *values, uint64_t count, bool integers, int64_t most) {
    assert_true(count <= WORDS);
    for (uint64_t i = 0; i < count; i++) {
        int64_t drawn = (int64_t)below(2 * (uint64_t)most + 1) - most;
        if (integers)
            values[i].integer = drawn;
        else
            values[i].real = (double)drawn / 1024;
    }
}

static void draw_operands(tn_array_play *play, int64_t most) {
    const tn_array_product *l = &play->layer;
    fill(a, l->m * (play->pass == TN_INPUT_GRADIENT ? l->n : l->k), play->integers, most);
    fill(b, l->n * (play->pass == TN_WEIGHT_GRADIENT ? l->m : l->k), play->integers, most);
    play->a = a;
    play->b = b;
}

/* Term t of element (i, j) of the pass's product. */
static void factors(const tn_array_play *play, uint64_t i, uint64_t j, uint64_t t, const tn_array_value **x,
                    const tn_array_value **y) {
    const tn_array_product *l = &play->layer;
    switch (play->pass) {
    case TN_FORWARD:
        *x = &a[i * l->k + t], *y = &b[t * l->n + j];
        break;
    case TN_INPUT_GRADIENT:
        *x = &a[i * l->n + t], *y = &b[j * l->n + t];
        break;
    default:
        *x = &a[t * l->k + i], *y = &b[t * l->n + j];
        break;
    }
}

static void check_product(const tn_array_play *play) {
    const tn_array_product *l = &play->layer;
    uint64_t rows = play->pass == TN_WEIGHT_GRADIENT ? l->k : l->m;
    uint64_t columns = play->pass == TN_INPUT_GRADIENT ? l->k : l->n;
    uint64_t terms = play->pass == TN_FORWARD ? l->k : play->pass == TN_INPUT_GRADIENT ? l->n : l->m;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++) {
            int64_t exact = 0;
            double real = 0;
            for (uint64_t t = 0; t < terms; t++) {
                const tn_array_value *x, *y;
                factors(play, i, j, t, &x, &y);
                if (play->integers)
                    exact += x->integer * y->integer;
                else
                    real += x->real * y->real;
            }
            if (play->integers)
                assert_int_equal(c[i * columns + j].integer, exact);
            else
                assert_true(c[i * columns + j].real == real);
        }
}

/* Plays drawn operands and holds values and cycles. */
static tn_array_played check(tn_array_play *play, int64_t most) {
    uint64_t cycles;
    tn_array_played played;
    draw_operands(play, most);
    memset(c, 0x55, sizeof c);
    assert_int_equal(tn_systolic_play(play, c, &played, &error), TN_OK);
    check_product(play);
    assert_int_equal(
        tn_systolic_pass_cycles(&play->array, play->dataflow, play->pass, &play->layer, &cycles, &error),
        TN_OK);
    assert_int_equal(played.cycles, cycles);
    return played;
}

static tn_array_play drawn(int dataflow, int pass) {
    return (tn_array_play){.array = {1 + below(EDGE), 1 + below(EDGE)},
                           .dataflow = (tn_dataflow)dataflow,
                           .pass = (tn_phase)pass,
                           .layer = {1 + below(SIZE), 1 + below(SIZE), 1 + below(SIZE)},
                           .integers = true};
}

static void random_integers(void **state) {
    (void)state;
    srand(20240607);
    for (int dataflow = 0; dataflow < DATAFLOWS; dataflow++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int trial = 0; trial < TRIALS; trial++) {
                tn_array_play play = drawn(dataflow, pass);
                check(&play, trial % 2 ? 9 : (int64_t)1 << 29);
            }
}

/* Multiples of 2^-10 up to 1: their sums are exact in any order. */
static void random_reals(void **state) {
    (void)state;
    srand(7);
    for (int dataflow = 0; dataflow < DATAFLOWS; dataflow++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int trial = 0; trial < TRIALS / 10; trial++) {
                tn_array_play play = drawn(dataflow, pass);
                play.integers = false;
                check(&play, 1024);
            }
}

/* The 32 products of the RTL simulation, forward as there. */
static void rtl_cycles(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/systolic/rtl_cycles.csv");
    static const char *const names[] = {"R", "C", "M", "K", "N", "cycles", "dataflow"};
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[7], rows = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, &error), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 7, false, column, &error), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t v[6];
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(tn_csv_count(&csv, row, column[i], 1, 1u << 30, &v[i], &error), TN_OK);
        for (int dataflow = 0; dataflow < DATAFLOWS; dataflow++) {
            if (strcmp(tn_csv_at(&csv, row, column[6])->text, tn_dataflow_names[dataflow]) != 0) continue;
            tn_array_play play = {.array = {v[0], v[1]},
                                  .dataflow = (tn_dataflow)dataflow,
                                  .pass = TN_FORWARD,
                                  .layer = {v[2], v[3], v[4]},
                                  .integers = true};
            assert_int_equal(check(&play, 1000).cycles, v[5]);
            rows++;
        }
    }
    print_message("%zu products of the RTL played\n", rows);
    assert_true(rows >= 32);
    tn_arena_free(&arena);
}

/* Every tile's weights enter once, but for the one that the input gradient finds there; what is saved is what an
 * array without transposed passes would access to transpose. */
static void what_is_saved(void **state) {
    (void)state;
    srand(3);
    for (int trial = 0; trial < 100; trial++) {
        tn_array_play play = drawn(trial % 2 ? TN_WS_SERIAL : TN_WS_DOUBLE_BUFFERED, TN_FORWARD);
        tn_systolic_training training;
        uint64_t cells = play.array.rows * play.array.columns, saved = 0, loaded[PASSES];
        for (int pass = 0; pass < PASSES; pass++) {
            play.pass = (tn_phase)pass;
            tn_array_played played = check(&play, 9);
            loaded[pass] = played.loaded_weights;
            saved += played.saved_accesses;
        }
        assert_int_equal(loaded[TN_FORWARD] % cells, 0);
        assert_true(loaded[TN_FORWARD] >= play.layer.k * play.layer.n);
        assert_int_equal(loaded[TN_INPUT_GRADIENT], loaded[TN_FORWARD] - cells);
        assert_int_equal(loaded[TN_WEIGHT_GRADIENT], 0);
        assert_int_equal(tn_systolic_training_cycles(&play.array, &play.layer, &training, &error), TN_OK);
        assert_int_equal(saved, training.explicit_transposition.transposition_accesses);
    }
}

/* X = [1 4; 5 2], W = [2 3; 0 1], dY = [3 4; 1 2] on 2 x 2 cells. */
static void slides(void **state) {
    (void)state;
    static const tn_array_value x[] = {{1}, {4}, {5}, {2}}, w[] = {{2}, {3}, {0}, {1}},
                                dy[] = {{3}, {4}, {1}, {2}};
    static const struct {
        const tn_array_value *a, *b;
        int64_t result[4];
        uint64_t cycles, saved;
    } passes[] = {{x, w, {2, 7, 10, 17}, 6, 0}, {dy, w, {18, 4, 8, 2}, 4, 8}, {x, dy, {8, 14, 14, 20}, 6, 8}};
    for (int pass = 0; pass < PASSES; pass++) {
        const tn_array_play play = {{2, 2}, TN_WS_SERIAL,   (tn_phase)pass, {2, 2, 2},
                                    true,   passes[pass].a, passes[pass].b};
        tn_array_played played;
        assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_OK);
        for (int i = 0; i < 4; i++) assert_int_equal(c[i].integer, passes[pass].result[i]);
        assert_int_equal(played.cycles, passes[pass].cycles);
        assert_int_equal(played.saved_accesses, passes[pass].saved);
    }
}

static void refusals(void **state) {
    (void)state;
    tn_array_played played;
    for (int pass = 0; pass < PASSES; pass++)
        for (int dataflow = 0; dataflow < DATAFLOWS; dataflow++) {
            tn_array_play play = {{2, 2}, (tn_dataflow)dataflow, (tn_phase)pass, {1, 1, 1}, true, a, b};
            a[0].integer = INT64_MAX;
            b[0].integer = 2;
            assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_OVERFLOW);
            play.array.rows = 2048;
            play.array.columns = 1024;
            assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_LIMIT);
            play.array.rows = 0;
            assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_INPUT);
        }
    tn_array_play play = {{2, 2}, TN_SCALESIM_OS, TN_FORWARD, {1, 1, 1}, true, a, b};
    assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "os_overlapped"));
    play.dataflow = TN_WS_SERIAL;
    play.pass = TN_UPDATE;
    assert_int_equal(tn_systolic_play(&play, c, &played, &error), TN_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_integers), cmocka_unit_test(random_reals), cmocka_unit_test(rtl_cycles),
        cmocka_unit_test(what_is_saved),   cmocka_unit_test(slides),       cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
