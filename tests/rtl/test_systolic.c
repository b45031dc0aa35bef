/* The systolic array of templates/systolic.sv, simulated on products of all three passes: every result, in every bit, against
 * the sums in the array's order that this test makes itself, on integers against the array played in C too; cycles against
 * the price of such an array (kernel/array_kernel.h), on the slides' example against the played ones. */
#include "kernel/array_kernel.h"
#include "kernel/systolic_player.h"
#include "rtl/circuit.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRODUCTS_MOST = 64, VALUES_MOST = 65536 };
static const tn_phase phases[] = {TN_FORWARD, TN_INPUT_GRADIENT, TN_WEIGHT_GRADIENT};

typedef struct {
    uint32_t pass, m, k, n, resident, a, b, c;
    uint64_t cycles; /* that it must take */
} product;

typedef struct {
    uint64_t rows, columns, multiply, add;
    uint32_t products, values;
    product product[PRODUCTS_MOST];
    float value[VALUES_MOST];
} simulation;

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Element i, j of an operand of a product; beyond its end zero. */
static double element(const simulation *s, uint32_t first, uint64_t rows, uint64_t columns, uint64_t i,
                      uint64_t j) {
    return i < rows && j < columns ? (double)s->value[first + i * columns + j] : 0;
}

/* One result: its terms in order, with those of a last tile that has fewer than the array takes as zeros. */
static float sum_of(const simulation *s, const product *p, uint64_t i, uint64_t j) {
    const tn_scalar_arithmetic *hardware = &tn_hardware_arithmetic;
    const uint64_t edge = p->pass == 0   ? s->rows
                          : p->pass == 1 ? s->columns
                                         : 1,
                   terms = p->pass == 1 ? p->n : p->k, padded = (terms + edge - 1) / edge * edge;
    double total = 0;
    for (uint64_t t = 0; t < padded; t++) {
        const double x = p->pass == 2 ? element(s, p->a, p->k, p->m, t, i)
                                      : element(s, p->a, p->m, terms, i, t),
                     y = p->pass == 1 ? element(s, p->b, p->k, p->n, j, t)
                                      : element(s, p->b, p->k, p->n, t, j);
        total = hardware->add(total, hardware->multiply(x, y));
    }
    return (float)total;
}

static tn_matmul kernel_of(const simulation *s) {
    return (tn_matmul){.rows = s->rows,
                       .columns = s->columns,
                       .reduction = 1,
                       .lane = {.multiply.stages = s->multiply, .sum.stages = s->add, .group = 1},
                       .systolic = true};
}

/* What the product must give, and take: one tile's weights less where they are there already. */
static void expect(simulation *s, product *p) {
    const uint64_t columns = p->pass == 1 ? p->k : p->n, terms = p->pass == 1 ? p->n : p->k;
    const tn_matmul kernel = kernel_of(s);
    const tn_product_size size = {1, p->m, terms, columns};
    tn_array_time time;
    p->c = s->values;
    for (uint64_t i = 0; i < p->m; i++)
        for (uint64_t j = 0; j < columns; j++) s->value[s->values++] = sum_of(s, p, i, j);
    assert_in_range(s->values, 1, VALUES_MOST);
    assert_int_equal(tn_array_kernel_cycles(&kernel, phases[p->pass], &size, &time, NULL), TN_OK);
    p->cycles = time.cycles - (p->resident ? s->rows : 0);
    /* Rows of cells beyond the product's end are drained behind the last result. */
    if (p->pass == 2) p->cycles -= (s->rows - p->m % s->rows) % s->rows;
}

static product *begin(simulation *s, uint32_t pass, uint32_t m, uint32_t k, uint32_t n) {
    product *p = &s->product[s->products++];
    assert_in_range(s->products, 1, PRODUCTS_MOST);
    *p = (product){.pass = pass, .m = m, .k = k, .n = n, .a = s->values};
    p->b = p->a + (pass == 0 ? m * k : pass == 1 ? m * n : k * m);
    s->values = p->b + k * n;
    assert_in_range(s->values, 1, VALUES_MOST);
    return p;
}

/* Integers of either sign, or reals of many magnitudes, some of them zeros. */
static void draw(simulation *s, const product *p, bool integers, uint64_t *state) {
    for (uint32_t i = p->a; i < s->values; i++) {
        const uint64_t bits = next(state);
        const float whole = (float)((int64_t)(bits % 201) - 100);
        s->value[i] = integers ? whole : whole * (float)(1 + bits / 256 % 999) * (bits >> 63 ? 1e-6F : 1e3F);
    }
}

static void put_files(const simulation *s, const char *folder) {
    char path[256];
    snprintf(path, sizeof path, "%s/products.hex", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < s->products; i++) {
        const product *p = &s->product[i];
        fprintf(file, "%08x%08x%08x%08x%08x%08x%08x%08x\n", p->pass, p->m, p->k, p->n, p->resident, p->a,
                p->b, p->c);
    }
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "%s/values.hex", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < s->values; i++) fprintf(file, "%08x\n", bits_of(s->value[i]));
    assert_int_equal(fclose(file), 0);
}

static test_run run_simulation(const simulation *s, const char *edit) {
    char folder[] = "systolic-XXXXXX", command[2048];
    assert_non_null(mkdtemp(folder));
    put_files(s, folder);
    snprintf(
        command, sizeof command,
        "cd '%s' && cp '%s'/*.sv . && %s && verilator --binary --timing --top-module systolic_test -GROWS=%d "
        "-GCOLUMNS=%d -GMULTIPLY=%d -GADD=%d -GPRODUCTS=%d -GVALUES=%d " TEST_VERILATED
        " -Wno-fatal -Wno-lint --Mdir obj "
        "'%s' systolic.sv systolic_cell.sv flags.sv pipe.sv delay.sv fp32_pack.sv fp32_multiply.sv "
        "fp32_add.sv "
        ">log 2>&1 || { cat log; exit 1; }; timeout 120 obj/Vsystolic_test; cd ..; rm -rf '%s'",
        folder, test_source("src/rtl/templates"), edit, (int)s->rows, (int)s->columns, (int)s->multiply,
        (int)s->add, (int)s->products, (int)s->values, test_source("tests/rtl/systolic.sv"), folder);
    return test_shell(command);
}

static void simulate(const simulation *s) {
    test_run run = run_simulation(s, "true");
    for (uint32_t i = 0; i < s->products; i++) {
        const product *p = &s->product[i];
        char line[160];
        snprintf(line, sizeof line, "%u: pass %u: %llu cycles, %u results, 0 wrong, 0 awaited\n", i, p->pass,
                 (unsigned long long)p->cycles, p->m * (p->pass == 1 ? p->k : p->n));
        if (!strstr(run.out, line))
            fail_msg("%ux%ux%u on %dx%d: no line '%s' in:\n%s%s", p->m, p->k, p->n, (int)s->rows,
                     (int)s->columns, line, run.out, run.err);
    }
    test_run_free(&run);
}

static void draw_products(simulation *s, uint32_t products, bool integers, uint64_t *state) {
    for (uint32_t i = 0; i < products; i++) {
        const uint32_t m = 1 + (uint32_t)(next(state) % 11), k = 1 + (uint32_t)(next(state) % 13),
                       n = 1 + (uint32_t)(next(state) % 9);
        product *p = begin(s, i % 3, m, k, n);
        draw(s, p, integers, state);
        expect(s, p);
    }
}

/* The slides' three passes of one layer on 2 x 2 cells that multiply and add in a cycle, the second with the weights that the
 * first left there: played in C, and simulated. */
static void slides(void **state) {
    (void)state;
    static const float x[] = {1, 4, 5, 2}, w[] = {2, 3, 0, 1}, dy[] = {3, 4, 1, 2};
    static const float *const operand[3][2] = {{x, w}, {dy, w}, {x, dy}};
    static const uint64_t cycles[] = {6, 4, 6};
    simulation *s = calloc(1, sizeof *s);
    assert_non_null(s);
    *s = (simulation){.rows = 2, .columns = 2, .multiply = 0, .add = 1};
    uint64_t drawn = 1;
    for (uint32_t pass = 0; pass < 3; pass++) {
        product *p = begin(s, pass, 2, 2, 2);
        tn_array_value a[4], b[4], c[4];
        tn_array_played played;
        p->resident = pass == 1;
        for (int i = 0; i < 4; i++) {
            s->value[p->a + (uint32_t)i] = operand[pass][0][i];
            s->value[p->b + (uint32_t)i] = operand[pass][1][i];
            a[i].integer = (int64_t)operand[pass][0][i];
            b[i].integer = (int64_t)operand[pass][1][i];
        }
        expect(s, p);
        const tn_array_play play = {.array = {2, 2},
                                    .dataflow = TN_WS_SERIAL,
                                    .pass = phases[pass],
                                    .layer = {2, 2, 2},
                                    .integers = true,
                                    .a = a,
                                    .b = b};
        assert_int_equal(tn_systolic_play(&play, c, &played, NULL), TN_OK);
        assert_int_equal(played.cycles, cycles[pass]);
        assert_int_equal(p->cycles, cycles[pass]);
        for (int i = 0; i < 4; i++) assert_int_equal((int64_t)s->value[p->c + (uint32_t)i], c[i].integer);
    }
    draw_products(s, 30, true, &drawn);
    draw_products(s, 30, false, &drawn);
    simulate(s);
    /* The comparison can fail: a cell that adds to the wrong neighbour's sum is found. */
    test_run run = run_simulation(s, "sed -i 's/sideways ? left : above/above/' systolic_cell.sv");
    assert_non_null(strstr(run.out, "0: pass 0: 6 cycles, 4 results, 0 wrong"));
    assert_null(strstr(run.out, "1: pass 1: 4 cycles, 4 results, 0 wrong"));
    test_run_free(&run);
    free(s);
}

/* Arrays that are no squares, with operators of several cycles. */
static void reals(void **state) {
    (void)state;
    static const uint64_t arrays[][4] = {{4, 2, 4, 7}, {2, 5, 1, 3}};
    uint64_t drawn = 2;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        simulation *s = calloc(1, sizeof *s);
        assert_non_null(s);
        *s = (simulation){
            .rows = arrays[i][0], .columns = arrays[i][1], .multiply = arrays[i][2], .add = arrays[i][3]};
        draw_products(s, 15, true, &drawn);
        draw_products(s, 45, false, &drawn);
        simulate(s);
        free(s);
    }
}

static int need_verilator(void **state) {
    (void)state;
    test_need("verilator");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slides), cmocka_unit_test(reals)};
    return cmocka_run_group_tests(tests, need_verilator, NULL);
}
