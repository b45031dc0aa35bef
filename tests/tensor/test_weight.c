/* Weights: shapes, parameters, useful ranks and degrees of freedom against values worked out another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_linalg.h>

#include "base/memory.h"
#include "tensor/weight.h"

static tn_weight weight_of(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n,
                           uint64_t rank) {
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, d * sizeof *m);
    memcpy(weight.n, n, d * sizeof *n);
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    assert_int_equal(tn_weight_check(&weight, NULL), TN_OK);
    return weight;
}

static uint64_t parameters_of(const tn_weight *weight) {
    uint64_t parameters;
    assert_int_equal(tn_weight_parameters(weight, &parameters, NULL), TN_OK);
    return parameters;
}

static uint64_t degrees_of(const tn_weight *weight) {
    uint64_t degrees;
    assert_int_equal(tn_weight_degrees_of_freedom(weight, &degrees, NULL), TN_OK);
    return degrees;
}

static const uint64_t M[] = {12, 8, 8}, N[] = {8, 8, 12};

static void parameters(void **state) {
    (void)state;
    static const uint64_t table_m[] = {10, 10, 10}, table_n[] = {12, 8, 8};
    tn_weight tt = weight_of(TN_TT, 3, M, N, 12), ttm = weight_of(TN_TTM, 3, table_m, table_n, 30);
    assert_int_equal(parameters_of(&tt), 4896);
    assert_int_equal(parameters_of(&ttm), 78000);
    tt = weight_of(TN_TT, 3, M, N, 10);
    assert_int_equal(parameters_of(&tt), 3440);
    tn_weight ring = weight_of(TN_RING, 3, M, N, 3), cp = weight_of(TN_CP, 3, M, N, 3);
    assert_int_equal(parameters_of(&ring), 9 * 56);
    assert_int_equal(parameters_of(&cp), 3 * 56);
    tn_weight tucker = weight_of(TN_TUCKER, 2, M, N, 3), tree = weight_of(TN_HT, 3, M, N, 3);
    assert_int_equal(parameters_of(&tucker), 81 + 3 * 36);
    assert_int_equal(parameters_of(&tree), 3 * 56 + 4 * 27 + 9);
    tn_weight terms = weight_of(TN_BLOCK_TERM, 2, M, N, 3);
    assert_int_equal(parameters_of(&terms), parameters_of(&tucker));
    terms.rank[4] = 5;
    assert_int_equal(parameters_of(&terms), 5 * parameters_of(&tucker));
    tn_weight dense = {.format = TN_DENSE, .d = 1, .m = {768}, .n = {26}};
    assert_int_equal(parameters_of(&dense), 768 * 26);
}

/* The number of terms is a block-term weight's own: another folding keeps it, another format has none of it. */
static void terms_outlive_another_shape(void **state) {
    (void)state;
    static const uint64_t m[] = {96, 8}, n[] = {8, 96};
    for (int format = TN_TT; format < TN_FORMATS; format++) {
        tn_weight weight = weight_of((tn_format)format, 3, M, N, 4);
        if (format == TN_BLOCK_TERM) weight.rank[6] = 5;
        tn_weight_reshape(&weight, TN_BLOCK_TERM, 2, m, n);
        assert_int_equal(tn_weight_set_rank(&weight, 3, NULL), TN_OK);
        assert_int_equal(weight.rank_count, 5);
        assert_int_equal(weight.rank[4], format == TN_BLOCK_TERM ? 5 : 1);
        tn_weight_reshape(&weight, TN_RING, 2, weight.m, weight.n);
        assert_int_equal(tn_weight_set_rank(&weight, 2, NULL), TN_OK);
        for (uint32_t k = 0; k < weight.rank_count; k++) assert_int_equal(weight.rank[k], 2);
    }
}

static void shapes(void **state) {
    (void)state;
    uint64_t shape[TN_RANKS_MOST];
    tn_weight tt = weight_of(TN_TT, 3, M, N, 5);
    assert_int_equal(tn_weight_cores(&tt), 6);
    assert_int_equal(tn_weight_core_shape(&tt, 0, shape), 3);
    assert_true(shape[0] == 1 && shape[1] == 12 && shape[2] == 5);
    assert_int_equal(tn_weight_core_shape(&tt, 5, shape), 3);
    assert_true(shape[0] == 5 && shape[1] == 12 && shape[2] == 1);
    tn_weight ttm = weight_of(TN_TTM, 3, M, N, 5);
    assert_int_equal(tn_weight_core_shape(&ttm, 1, shape), 4);
    assert_true(shape[0] == 5 && shape[1] == 8 && shape[2] == 8 && shape[3] == 5);
    tn_weight tree = weight_of(TN_HT, 3, M, N, 2);
    for (uint32_t j = 0; j < tree.rank_count; j++) tree.rank[j] = 10 + j;
    assert_int_equal(tree.rank_count, 10);
    assert_int_equal(tn_weight_cores(&tree), 11);
    /* Modes 0 1 | 2 under node 6, which is modes 0..2; node 6's first child is node 6's forerunner. */
    assert_int_equal(tn_weight_core_shape(&tree, 6, shape), 3);
    assert_true(shape[0] == 10 && shape[1] == 11 && shape[2] == 16);
    assert_int_equal(tn_weight_core_shape(&tree, 7, shape), 3);
    assert_true(shape[0] == 16 && shape[1] == 12 && shape[2] == 17);
    assert_int_equal(tn_weight_core_shape(&tree, 10, shape), 2);
    assert_true(shape[0] == 17 && shape[1] == 19);
}

static void useful_ranks_of_a_train(void **state) {
    (void)state;
    uint64_t useful[TN_RANKS_MOST];
    tn_weight tt = weight_of(TN_TT, 3, M, N, 1000);
    static const uint64_t most[] = {1, 12, 96, 768, 96, 12, 1};
    assert_int_equal(tn_weight_useful_ranks(&tt, useful, NULL), TN_OK);
    for (int j = 0; j < 7; j++) assert_int_equal(useful[j], most[j]);
    tt = weight_of(TN_TT, 3, M, N, 48);
    static const uint64_t capped[] = {1, 12, 48, 48, 48, 12, 1};
    assert_int_equal(tn_weight_useful_ranks(&tt, useful, NULL), TN_OK);
    for (int j = 0; j < 7; j++) assert_int_equal(useful[j], capped[j]);
    tt.rank[3] = 2; /* a narrow bond narrows its neighbours: r2 <= 8 * 2 */
    static const uint64_t narrow[] = {1, 12, 16, 2, 16, 12, 1};
    assert_int_equal(tn_weight_useful_ranks(&tt, useful, NULL), TN_OK);
    for (int j = 0; j < 7; j++) assert_int_equal(useful[j], narrow[j]);
}

static void useful_ranks_of_other_formats(void **state) {
    (void)state;
    uint64_t useful[TN_RANKS_MOST];
    static const uint64_t m[] = {2, 3}, n[] = {4, 100};
    tn_weight tucker = weight_of(TN_TUCKER, 2, m, n, 50);
    assert_int_equal(tn_weight_useful_ranks(&tucker, useful, NULL), TN_OK);
    static const uint64_t factors[] = {2, 3, 4, 24}; /* the last is held by 2 * 3 * 4 */
    for (int j = 0; j < 4; j++) assert_int_equal(useful[j], factors[j]);
    tn_weight tree = weight_of(TN_HT, 2, m, n, 50);
    assert_int_equal(tn_weight_useful_ranks(&tree, useful, NULL), TN_OK);
    static const uint64_t edges[] = {2, 3, 4, 24, 6, 6};
    for (int j = 0; j < 6; j++) assert_int_equal(useful[j], edges[j]);
    tn_weight terms = weight_of(TN_BLOCK_TERM, 2, m, n, 50);
    terms.rank[4] = 7;
    assert_int_equal(tn_weight_useful_ranks(&terms, useful, NULL), TN_OK);
    for (int j = 0; j < 4; j++) assert_int_equal(useful[j], factors[j]);
    assert_int_equal(useful[4], 7);
    tn_weight cp = weight_of(TN_CP, 2, m, n, 50);
    assert_int_equal(tn_weight_useful_ranks(&cp, useful, NULL), TN_OK);
    assert_int_equal(useful[0], 50);
}

/* ---- degrees of freedom as the rank of the map from cores to matrix, by finite perturbation ---- */

enum { MOST_VALUES = 1024, MOST_LABELS = 64 };

/* Value of W at one place: the sum over all bond values of the product of the cores' elements. */
typedef struct sum {
    const tn_network *matrix;
    const double *const *core; /* elements of each core in C order of its indices */
    uint32_t value[MOST_LABELS];
} sum;

static double core_element(const sum *s, uint32_t core) {
    const tn_indices *axes = &s->matrix->tensor[core];
    uint64_t place = 0;
    for (uint32_t i = 0; i < axes->count; i++)
        place = place * s->matrix->index_size[axes->index[i]] + s->value[axes->index[i]];
    return s->core[core][place];
}

static double sum_over(sum *s, uint32_t index, uint32_t first_bond) {
    if (index == s->matrix->indices) {
        double product = 1;
        for (uint32_t core = 0; core < s->matrix->tensors; core++) product *= core_element(s, core);
        return product;
    }
    double total = 0;
    for (uint32_t v = 0; v < s->matrix->index_size[index]; v++) {
        s->value[index] = v;
        total += sum_over(s, index + 1, first_bond);
    }
    return total;
}

/* All elements of W. The modes are indices 1..2d, the bonds follow. */
static void fill_matrix(const tn_network *matrix, const double *const *core, double *element) {
    uint32_t modes = matrix->output.count;
    sum s = {.matrix = matrix, .core = core};
    uint64_t count = 1;
    for (uint32_t k = 1; k <= modes; k++) count *= matrix->index_size[k];
    for (uint64_t place = 0; place < count; place++) {
        uint64_t rest = place;
        for (uint32_t k = modes; k > 0; k--) {
            s.value[k] = (uint32_t)(rest % matrix->index_size[k]);
            rest /= matrix->index_size[k];
        }
        element[place] = sum_over(&s, modes + 1, modes + 1);
    }
}

/* Rank of the Jacobian of W by all parameters at a random point. W is linear in each parameter, so a
 * difference with step 1 is exact. */
static uint64_t jacobian_rank(const tn_weight *weight) {
    tn_arena arena = {0};
    tn_network matrix;
    assert_int_equal(tn_weight_matrix(weight, &arena, &matrix, NULL), TN_OK);
    static double values[MOST_VALUES];
    const double *core[64];
    uint64_t count = 0, places = 1;
    for (uint32_t c = 0; c < matrix.tensors; c++) {
        uint64_t elements;
        assert_int_equal(tn_network_elements(&matrix, matrix.tensor[c], &elements, NULL), TN_OK);
        core[c] = values + count;
        count += elements;
        assert_true(count <= MOST_VALUES);
    }
    for (uint32_t k = 1; k <= matrix.output.count; k++) places *= matrix.index_size[k];
    srand(7);
    for (uint64_t p = 0; p < count; p++) values[p] = (double)rand() / RAND_MAX - 0.5;
    double *base = calloc(places, sizeof *base), *moved = calloc(places, sizeof *moved);
    fill_matrix(&matrix, core, base);
    gsl_matrix *jacobian = gsl_matrix_calloc(places > count ? places : count, count);
    for (uint64_t p = 0; p < count; p++) {
        values[p] += 1;
        fill_matrix(&matrix, core, moved);
        values[p] -= 1;
        for (uint64_t e = 0; e < places; e++) gsl_matrix_set(jacobian, e, p, moved[e] - base[e]);
    }
    gsl_matrix *right = gsl_matrix_alloc(count, count);
    gsl_vector *singular = gsl_vector_alloc(count), *work = gsl_vector_alloc(count);
    gsl_linalg_SV_decomp(jacobian, right, singular, work);
    uint64_t rank = 0;
    for (uint64_t p = 0; p < count; p++)
        rank += gsl_vector_get(singular, p) > 1e-9 * gsl_vector_get(singular, 0);
    gsl_vector_free(work);
    gsl_vector_free(singular);
    gsl_matrix_free(right);
    gsl_matrix_free(jacobian);
    free(base);
    free(moved);
    tn_arena_free(&arena);
    return rank;
}

static void degrees_of_freedom_are_the_rank_of_the_jacobian(void **state) {
    (void)state;
    static const uint64_t m[] = {2, 3}, n[] = {3, 2};
    static const struct {
        tn_format format;
        uint64_t rank;
    } row[] = {{TN_TT, 1},  {TN_TT, 2},     {TN_TT, 3},     {TN_TT, 7},     {TN_TTM, 1},  {TN_TTM, 2},
               {TN_TTM, 7}, {TN_TUCKER, 1}, {TN_TUCKER, 2}, {TN_TUCKER, 4}, {TN_HT, 1},   {TN_HT, 2},
               {TN_HT, 4},  {TN_CP, 1},     {TN_CP, 2},     {TN_RING, 1},   {TN_DENSE, 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_weight weight = weight_of(row[i].format, 2, m, n, row[i].rank);
        uint64_t degrees = degrees_of(&weight), rank = jacobian_rank(&weight);
        if (degrees != rank)
            print_error("format %s rank %d\n", tn_format_names[row[i].format], (int)row[i].rank);
        assert_int_equal(degrees, rank);
    }
    static const uint64_t wide[] = {4, 4};
    tn_weight ring = weight_of(TN_RING, 2, wide, wide, 2);
    assert_int_equal(degrees_of(&ring), jacobian_rank(&ring));
    tn_weight terms = weight_of(TN_BLOCK_TERM, 1, (const uint64_t[]){5}, (const uint64_t[]){6}, 1);
    terms.rank[2] = 2; /* two terms of rank 1 */
    assert_int_equal(degrees_of(&terms), 2 * (5 + 6 + 1 - 2));
}

static void degrees_of_freedom_of_the_example(void **state) {
    (void)state;
    tn_weight tt = weight_of(TN_TT, 3, M, N, 12);
    assert_int_equal(degrees_of(&tt), 4896 - 5 * 144);
    tt = weight_of(TN_TT, 3, M, N, 10);
    assert_int_equal(degrees_of(&tt), 3440 - 5 * 100);
}

/* ---- networks ---- */

static void forward_network(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    tn_weight tt = weight_of(TN_TT, 2, (const uint64_t[]){3, 4}, (const uint64_t[]){5, 6}, 2);
    assert_int_equal(tn_weight_forward(&tt, 7, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_network_check(&network, NULL), TN_OK);
    assert_int_equal(network.tensors, 5);
    assert_int_equal(network.indices, 8);
    static const uint64_t size[] = {7, 5, 6, 3, 4, 2, 2, 2};
    static const char *const name[] = {"k", "n1", "n2", "m1", "m2", "r1", "r2", "r3"};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(network.index_size[i], size[i]);
        assert_string_equal(network.index_name[i], name[i]);
    }
    assert_string_equal(network.tensor_name[0], "X");
    assert_string_equal(network.tensor_name[4], "G4");
    assert_int_equal(network.tensor[1].count, 2); /* G1: m1 r1 */
    assert_true(network.tensor[1].index[0] == 3 && network.tensor[1].index[1] == 5);
    assert_true(network.tensor[3].index[0] == 6 && network.tensor[3].index[1] == 1); /* G3: r2 n1 r3 */
    assert_true(network.output.count == 3 && network.output.index[1] == 3 && network.output.index[2] == 4);
    tn_arena_free(&arena);
}

/* Every product's network of every format is well formed; each index is on two tensors or on one and the
 * output, hyperedges of CP and block-term apart; elements agree with the parameters. */
static void all_networks_are_sound(void **state) {
    (void)state;
    static const uint64_t m[] = {3, 4, 2}, n[] = {5, 6, 2};
    for (int format = TN_DENSE; format < TN_FORMATS; format++)
        for (uint32_t d = 1; d <= 3; d++) {
            tn_arena arena = {0};
            tn_network network;
            tn_weight weight = weight_of((tn_format)format, d, m, n, 2);
            uint64_t inputs, columns, rows;
            assert_int_equal(tn_weight_columns(&weight, &columns, NULL), TN_OK);
            assert_int_equal(tn_weight_rows(&weight, &rows, NULL), TN_OK);
            assert_int_equal(tn_weight_forward(&weight, 7, &arena, &network, NULL), TN_OK);
            assert_int_equal(tn_network_check(&network, NULL), TN_OK);
            assert_int_equal(tn_network_input_elements(&network, &inputs, NULL), TN_OK);
            assert_int_equal(inputs, 7 * columns + parameters_of(&weight));
            assert_int_equal(tn_weight_input_gradient(&weight, 7, &arena, &network, NULL), TN_OK);
            assert_int_equal(tn_network_check(&network, NULL), TN_OK);
            assert_int_equal(tn_network_input_elements(&network, &inputs, NULL), TN_OK);
            assert_int_equal(inputs, 7 * rows + parameters_of(&weight));
            for (uint32_t core = 0; core < tn_weight_cores(&weight); core++) {
                uint64_t gradient;
                assert_int_equal(tn_weight_core_gradient(&weight, 7, core, &arena, &network, NULL), TN_OK);
                assert_int_equal(tn_network_check(&network, NULL), TN_OK);
                assert_int_equal(tn_network_input_elements(&network, &inputs, NULL), TN_OK);
                assert_int_equal(tn_network_elements(&network, network.output, &gradient, NULL), TN_OK);
                assert_int_equal(inputs + gradient, 7 * (rows + columns) + parameters_of(&weight));
            }
            tn_arena_free(&arena);
        }
}

static void bad_weights_are_refused(void **state) {
    (void)state;
    tn_error error;
    uint64_t count;
    tn_weight weight = weight_of(TN_TT, 3, M, N, 4);
    weight.rank[0] = 2;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    weight = weight_of(TN_RING, 3, M, N, 4);
    weight.rank[6] = 5;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    weight = weight_of(TN_TT, 3, M, N, 4);
    weight.rank_count = 4;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    weight = weight_of(TN_TT, 3, M, N, 4);
    weight.rank[2] = 0;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    assert_int_equal(tn_weight_set_rank(&weight, 0, &error), TN_INPUT);
    weight.n[1] = 0;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    weight.d = 0;
    assert_int_equal(tn_weight_check(&weight, &error), TN_INPUT);
    weight.d = TN_FACTORS_MOST + 1;
    assert_int_equal(tn_weight_check(&weight, &error), TN_LIMIT);
    weight = weight_of(TN_TT, 2, M, N, (uint64_t)1 << 40);
    assert_int_equal(tn_weight_parameters(&weight, &count, &error), TN_OVERFLOW);
    tn_weight dense = {.format = TN_DENSE, .d = 1, .m = {(uint64_t)1 << 40}, .n = {(uint64_t)1 << 40}};
    assert_int_equal(tn_weight_parameters(&dense, &count, &error), TN_OVERFLOW);
    assert_int_equal(tn_weight_degrees_of_freedom(&dense, &count, &error), TN_OVERFLOW);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    tn_weight weight = weight_of(TN_HT, 3, M, N, 4);
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_network network;
        tn_memory_fail_at(n);
        tn_status status = tn_weight_core_gradient(&weight, 4, 2, &arena, &network, NULL);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_MEMORY);
        assert_true(n < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(shapes),
        cmocka_unit_test(terms_outlive_another_shape),
        cmocka_unit_test(useful_ranks_of_a_train),
        cmocka_unit_test(useful_ranks_of_other_formats),
        cmocka_unit_test(degrees_of_freedom_are_the_rank_of_the_jacobian),
        cmocka_unit_test(degrees_of_freedom_of_the_example),
        cmocka_unit_test(forward_network),
        cmocka_unit_test(all_networks_are_sound),
        cmocka_unit_test(bad_weights_are_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
