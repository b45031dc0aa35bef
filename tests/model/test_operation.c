/* The rows of the operations: their texts are formulas; FLOPs against counts made by hand from the published formulas;
 * operators in series against every path walked; what reads and writes say against the steps of models. */
#include "model/operation.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void texts_are_formulas(void **state) {
    (void)state;
    tn_error error = {0};
    tn_formula formula;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) {
        const tn_operation_row *row = &tn_operation_rows[kind];
        assert_true(row->name && row->kernel && row->reads && row->writes);
        for (int p = 0; p < TN_PASSES_MOST && row->pass[p].form != TN_PASS_NONE; p++) {
            if (tn_formula_read(row->pass[p].text, &formula, &error) != TN_OK)
                fail_msg("%s: %s", row->name, error.message);
            assert_true(row->pass[p].published == 0 ||
                        row->published); /* a difference says whose formula is counted */
        }
        if (row->shape == TN_SHAPE_MAP) { /* the evaluator's shape: one pass of at most two operands */
            assert_true(strlen(row->reads) <= 2 && row->pass[1].form == TN_PASS_NONE);
            assert_int_equal(tn_formula_read(row->pass[0].text, &formula, NULL), TN_OK);
            for (uint32_t i = 0; i < formula.nodes; i++)
                assert_true(formula.node[i].kind == TN_NODE_CONSTANT || formula.node[i].kind <= TN_NODE_B ||
                            formula.node[i].kind > TN_NODE_ELSEWHERE);
        }
    }
}

static void what_is_no_formula_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "y",
                                        "y =",
                                        "y = a +",
                                        "y = a ? b",
                                        "y = exp a b",
                                        "y a b",
                                        "y = a + b + c",
                                        "y = a; = b",
                                        "y = sqrt",
                                        "aVeryLongNameOfSomething = a + b"};
    tn_formula formula;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_error error = {0};
        if (tn_formula_read(texts[i], &formula, &error) != TN_INPUT) fail_msg("\"%s\" is taken", texts[i]);
        assert_non_null(strstr(error.message, "is no statement of a formula"));
    }
}

/* Of an element and of a row, as formulas are published. */
static void flops_are_those_of_the_formulas(void **state) {
    (void)state;
    static const struct {
        tn_operation_kind kind;
        uint64_t element, row;
    } counted[] = {
        {TN_OP_PRODUCT, 0, 0},
        {TN_OP_LOOKUP, 0, 0},
        {TN_OP_SCATTER, 1, 0},
        {TN_OP_APPEND, 0, 0},
        {TN_OP_IMPORTANCE, 1, 0},
        {TN_OP_TOP, 1, 0},
        {TN_OP_ADD, 1, 0},
        {TN_OP_SUBTRACT, 1, 0},
        {TN_OP_COLUMN_SUM, 1, 0},
        {TN_OP_SCALE_GRADIENT, 4, 0},
        {TN_OP_SOFTMAX, 6, 0},
        {TN_OP_SOFTMAX_GRADIENT, 5, 0},
        {TN_OP_LAYER_NORM, 7, 5},
        {TN_OP_LAYER_NORM_GRADIENT, 10, 2},
        {TN_OP_GELU, 9, 0},
        {TN_OP_GELU_GRADIENT, 18, 0},
        {TN_OP_TANH, 1, 0},
        {TN_OP_TANH_GRADIENT, 3, 0},
        {TN_OP_RELU, 1, 0},
        {TN_OP_RELU_GRADIENT, 1, 0},
        {TN_OP_RMS_NORM, 4, 4},
        {TN_OP_RMS_NORM_GRADIENT, 7, 1},
        {TN_OP_RMS_SCALE_GRADIENT, 3, 0},
        {TN_OP_SILU, 3, 0},
        {TN_OP_SILU_GRADIENT, 8, 0},
        {TN_OP_ROTARY, 3, 0},
        {TN_OP_ROTARY_GRADIENT, 3, 0},
        {TN_OP_MULTIPLY, 1, 0},
        {TN_OP_CROSS_ENTROPY, 6, 4},
        {TN_OP_UPDATE_SGD, 2, 0},
        {TN_OP_UPDATE_MOMENTUM, 4, 0},
        {TN_OP_UPDATE_ADAM, 12, 0},
        {TN_OP_SELECT, 2, 0},
        {TN_OP_TRACK, 6, 0},
        {TN_OP_REGENERATE, 1, 0},
        {TN_OP_ENTROPY, 6, 5},
        {TN_OP_SQUARED_RELU, 2, 0},
        {TN_OP_SQUARED_RELU_GRADIENT, 3, 0},
        {TN_OP_SOFTPLUS, 3, 0},
        {TN_OP_SOFTPLUS_GRADIENT, 3, 0},
        {TN_OP_MEAN, 2, 0},
        {TN_OP_MEAN_GRADIENT, 1, 0},
        {TN_OP_ROUTE, 5, 1},
        {TN_OP_ROUTE_GRADIENT, 14, 1},
        {TN_OP_DISPATCH, 0, 0},
        {TN_OP_DISPATCH_GRADIENT, 1, 0},
        {TN_OP_COMBINE, 2, 0},
        {TN_OP_COMBINE_GRADIENT, 1, 0},
        {TN_OP_GATE_GRADIENT, 2, 0},
        {TN_OP_CAUSAL_CONV, 2, 1},
        {TN_OP_CAUSAL_CONV_GRADIENT, 4, 1},
        {TN_OP_SCAN, 7, 3},
        {TN_OP_SCAN_GRADIENT, 16, 8},
    };
    assert_int_equal(sizeof counted / sizeof *counted, TN_OPERATION_KINDS);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        const tn_vector_cost cost = tn_vector_cost_of(counted[i].kind);
        if (cost.per_element != counted[i].element || cost.per_row != counted[i].row)
            fail_msg("%s: %d FLOPs an element and %d a row", tn_operation_rows[counted[i].kind].kernel,
                     (int)cost.per_element, (int)cost.per_row);
    }
}

/* The longest path to a node where operator k takes cycles[k], walked from the node. */
static uint64_t longest(const tn_formula *formula, uint32_t node, const uint64_t *cycles) {
    const tn_formula_node *formula_node = &formula->node[node];
    const tn_operator kind = tn_node_operator(formula_node->kind);
    if (formula_node->kind <= TN_NODE_ELSEWHERE) return 0;
    uint64_t first = longest(formula, formula_node->subject[0], cycles),
             second = longest(formula, formula_node->subject[1], cycles);
    return (first > second ? first : second) + (kind < TN_OPERATORS ? cycles[kind] : 0);
}

static void series_are_the_longest_paths(void **state) {
    (void)state;
    static const uint64_t cycles[][TN_OPERATORS] = {{4, 7, 2, 16, 13, 16, 16},
                                                    {1, 1, 1, 1, 1, 1, 1},
                                                    {1, 2, 3, 90, 1, 1, 5},
                                                    {9, 1, 1, 1, 70, 2, 1},
                                                    {3, 1, 0, 8, 8, 90, 8}};
    tn_formula formula;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        for (int p = 0; p < TN_PASSES_MOST && tn_operation_rows[kind].pass[p].form != TN_PASS_NONE; p++) {
            const tn_pass *pass = &tn_operation_passes((tn_operation_kind)kind)[p];
            assert_int_equal(tn_formula_read(tn_operation_rows[kind].pass[p].text, &formula, NULL), TN_OK);
            for (size_t c = 0; c < sizeof cycles / sizeof *cycles; c++) {
                uint64_t expected = 0, most = 0;
                for (int o = 0; o < TN_FORMULA_OUTPUTS; o++)
                    if (formula.output[o] != UINT32_MAX &&
                        longest(&formula, formula.output[o], cycles[c]) > expected)
                        expected = longest(&formula, formula.output[o], cycles[c]);
                for (int path = 0; path < pass->paths; path++) {
                    uint64_t sum = 0;
                    for (int k = 0; k < TN_OPERATORS; k++) sum += pass->series[path][k] * cycles[c][k];
                    if (sum > most) most = sum;
                }
                assert_int_equal(most, expected);
            }
        }
}

/* ---- what is read and written ---- */

static void check_letter(const tn_step *step, const tn_operation *o, char letter, uint32_t array) {
    const tn_array *this_array = &step->array[array];
    const tn_operation_row *row = &tn_operation_rows[o->kind];
    const uint64_t all = o->rows * o->columns;
    bool fits = strchr("xyde", letter) ? this_array->elements == all
                : letter == 'b'        ? all % this_array->elements == 0
                : letter == 'v'        ? this_array->elements == o->columns
                : letter == 's' ? this_array->elements % o->rows == 0 && this_array->elements <= 2 * o->rows
                : letter == 't' ? this_array->elements % (o->window ? tn_window_features(o) : o->columns) == 0
                : letter == 'a' ? o->routing || row->shape == TN_SHAPE_SEQUENCE
                : letter == 'c' ? this_array->role == TN_ARRAY_CONSTANT
                : letter == 'w' ? this_array->role == TN_ARRAY_PARAMETER && this_array->elements >= all
                : letter == 'g' ? this_array->role == TN_ARRAY_GRADIENT
                : strchr("ok", letter) ? this_array->role == TN_ARRAY_OPTIMIZER
                                       : letter == 'n' && this_array->elements == 1;
    if (!fits)
        fail_msg("%s: an array of %d elements is no '%c' of %d x %d", tn_operation_rows[o->kind].kernel,
                 (int)this_array->elements, letter, (int)o->rows, (int)o->columns);
}

/* Every letter is there up to `|`, and no array without one. */
static void check_list(const tn_step *step, const tn_operation *o, const char *letters, const uint32_t *array,
                       uint32_t count) {
    bool needed = true;
    uint32_t found = 0;
    for (; *letters; letters++) {
        if (*letters == '|')
            needed = false;
        else if (found < count)
            check_letter(step, o, *letters, array[found++]);
        else
            assert_false(needed);
    }
    assert_int_equal(found, count);
}

static void lists_read_and_write_as_rows_say(void **state) {
    (void)state;
    bool seen[TN_OPERATION_KINDS] = {false};
    for (size_t m = 0; m < TEST_MODELS; m++) {
        tn_arena arena = {0};
        const tn_step step = test_step_of(test_model_of(test_models[m].text, &arena), &arena);
        for (uint32_t i = 0; i < step.operations; i++) {
            const tn_operation *o = &step.operation[i];
            const tn_operation_row *row = &tn_operation_rows[o->kind];
            seen[o->kind] = true;
            if (o->kind == TN_OP_PRODUCT) continue; /* its sizes are those of its operands' axes */
            check_list(&step, o, row->reads, o->reads, o->read_count);
            check_list(&step, o, row->writes, o->writes, o->write_count);
        }
        tn_arena_free(&arena);
    }
    int kinds = 0;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) kinds += seen[kind];
    assert_true(kinds >= 26);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_formulas),
        cmocka_unit_test(what_is_no_formula_is_refused),
        cmocka_unit_test(flops_are_those_of_the_formulas),
        cmocka_unit_test(series_are_the_longest_paths),
        cmocka_unit_test(lists_read_and_write_as_rows_say),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
