/* Bounds of the products of a program together (price/program_words.h) against layouts that were searched, under rows and words that
 * were drawn: no layouts take fewer cycles. And bounds of costs that share variables (price/shared_costs.h) against all choices. */
#include "price/program_words.h"

#include "base/memory.h"
#include "base/random.h"
#include "kernel/issue.h"
#include "layout/layouts.h"
#include "price/shared_costs.h"
#include "price/tensor_words.h"
#include "tensor/folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 1;

static uint32_t below(uint32_t count) {
    return tn_splitmix_below(&state, count);
}

/* ---- costs that share variables ---- */

enum { VARIABLES = 5, VALUES = 4, TERMS = 6, CLASSES = 3 };

typedef struct {
    uint32_t values[VARIABLES], class_of[TERMS][TN_TERM_VARIABLES][VALUES];
    double cost[TERMS][CLASSES * CLASSES * CLASSES];
    tn_cost_term term[TERMS];
    tn_shared_costs costs;
} drawn_costs;

/* chain: term t has variables t and t + 1 alone, so that some prices make the bound exact. */
static void draw_costs(drawn_costs *drawn, bool chain) {
    for (uint32_t v = 0; v < VARIABLES; v++) drawn->values[v] = 1 + below(VALUES);
    const uint32_t terms = chain ? VARIABLES - 1 : TERMS;
    for (uint32_t t = 0; t < terms; t++) {
        tn_cost_term *term = &drawn->term[t];
        const uint32_t first = chain ? t : below(VARIABLES);
        for (uint32_t s = 0; s < TN_TERM_VARIABLES; s++) {
            const bool none = chain ? s == 2 : s > 0 && below(4) == 0;
            term->variable[s] = none ? UINT32_MAX : (first + s) % VARIABLES;
            term->classes[s] = none ? 1 : CLASSES;
            for (uint32_t x = 0; x < VALUES; x++) drawn->class_of[t][s][x] = none ? 0 : below(CLASSES);
            term->class_of[s] = drawn->class_of[t][s];
        }
        for (size_t i = 0; i < sizeof drawn->cost[t] / sizeof *drawn->cost[t]; i++)
            drawn->cost[t][i] = 1 + below(20);
        term->cost = drawn->cost[t];
    }
    drawn->costs = (tn_shared_costs){VARIABLES, terms, drawn->values, drawn->term};
}

static double cost_of(const drawn_costs *drawn, const uint32_t *value) {
    double sum = 0;
    for (uint32_t t = 0; t < drawn->costs.terms; t++) {
        const tn_cost_term *term = &drawn->term[t];
        size_t place = 0;
        for (uint32_t s = 0; s < TN_TERM_VARIABLES; s++)
            place = place * term->classes[s] +
                    (term->variable[s] == UINT32_MAX ? 0 : term->class_of[s][value[term->variable[s]]]);
        sum += term->cost[place];
    }
    return sum;
}

static double least_cost(const drawn_costs *drawn) {
    uint32_t value[VARIABLES] = {0}, v = 0;
    double least = INFINITY;
    while (v < VARIABLES) {
        least = fmin(least, cost_of(drawn, value));
        for (v = 0; v < VARIABLES && ++value[v] == drawn->values[v]; v++) value[v] = 0;
    }
    return least;
}

static void no_choice_costs_less(void **unused) {
    (void)unused;
    double bounds = 0, truths = 0;
    for (int i = 0; i < 400; i++) {
        tn_arena arena = {0};
        drawn_costs drawn;
        double bound;
        draw_costs(&drawn, i % 4 == 0);
        const double least = least_cost(&drawn);
        assert_int_equal(tn_shared_costs_bound(&drawn.costs, &arena, &bound, NULL), TN_OK);
        assert_true(bound <= least * (1 + 1e-9));
        bounds += bound;
        truths += least;
        tn_arena_free(&arena);
    }
    printf("bounds are %.3f of the least costs\n", bounds / truths);
    assert_true(bounds > 0.95 * truths);
}

/* ---- programs ---- */

typedef struct {
    tn_arena arena;
    tn_program program;
    tn_matmul kernel;
    uint32_t row_log, features; /* the most of any tensor */
} drawn_program;

static void draw_program(drawn_program *drawn) {
    static const char *const specs[] = {
        "tt:m=6x4,n=5x6,rank=3,tokens=5", "tt:m=4x4x4,n=4x2x8,rank=5,tokens=8",
        "tt:m=12x8,n=8x12,rank=8,tokens=32", "ttm:m=3x4,n=6x2,rank=3,tokens=4",
        "tt:m=4x6x4,n=4x6x4,rank=6,tokens=1"};
    static const tn_flow_name flows[] = {TN_FLOW_OPTIMAL, TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_BIDIRECTIONAL};
    const tn_lane lane = {
        .multiply.stages = 1 + below(3), .tree.stages = 1, .sum.stages = 1 + below(4), .group = 1};
    const tn_program_options options = {.training = below(4) > 0};
    tn_weight weight;
    uint64_t tokens;
    const char *spec = specs[below(sizeof specs / sizeof *specs)];
    *drawn = (drawn_program){.kernel = {1u << below(4), 1u << below(3), 1u << below(3), lane, false}};
    if (below(3) == 0) drawn->kernel.rows = 3;
    assert_int_equal(tn_spec_parse(spec, (tn_position){0}, &weight, &tokens, NULL), TN_OK);
    assert_int_equal(tn_program_named(&weight, tokens, flows[below(strncmp(spec, "ttm", 3) == 0 ? 2 : 3)],
                                      &options, &drawn->arena, &drawn->program, NULL),
                     TN_OK);
    drawn->row_log = 2 + below(4);
    drawn->features = below(drawn->row_log + 1);
}

static bool is_matrix(const tn_program_tensor *tensor) {
    return tensor->role != TN_ROLE_CORE && tensor->role != TN_ROLE_CORE_GRADIENT &&
           tensor->role != TN_ROLE_INTERMEDIATE && tensor->indices.count > 1;
}

/* Cycles with layouts that are found under rows and words that are drawn, no wider than they may be. */
static double found_cycles(drawn_program *drawn, const tn_kernel_edges *edges) {
    const tn_program *program = &drawn->program;
    tn_layout_demand *demand;
    tn_layout_problem problem;
    tn_layout_room room;
    tn_layouts layouts;
    double sum = 0;
    assert_int_equal(tn_layout_problem_read(program, edges, &drawn->arena, &problem, NULL), TN_OK);
    assert_int_equal(tn_layout_room_begin(&room, &drawn->arena, NULL), TN_OK);
    assert_int_equal(TN_NEW(&drawn->arena, program->tensors, &demand, NULL), TN_OK);
    for (uint32_t t = 0; t < program->tensors; t++) {
        demand[t] = (tn_layout_demand){.is_updated = true, .has_row = true};
        demand[t].row_log = (uint8_t)(below(3) ? drawn->row_log : below(drawn->row_log + 1));
        if (!is_matrix(&program->tensor[t])) continue;
        const uint32_t most = demand[t].row_log < drawn->features ? demand[t].row_log : drawn->features;
        demand[t].is_shared = true;
        demand[t].feature_log = (uint8_t)below(most + 1);
        demand[t].token_log = (uint8_t)(demand[t].row_log - demand[t].feature_log);
    }
    assert_int_equal(tn_layouts_find(&problem, TN_BANKING_WORD, TN_LEAST_CYCLES, demand, &room, &drawn->arena,
                                     &layouts, NULL),
                     TN_OK);
    for (uint32_t i = 0; i < program->steps; i++) {
        uint64_t cycles;
        assert_int_equal(tn_issue_product_cycles(&drawn->kernel, &layouts.product[i].issued, &cycles, NULL),
                         TN_OK);
        sum += (double)cycles;
    }
    return sum;
}

static void no_layouts_take_fewer_cycles(void **unused) {
    (void)unused;
    enum { PROGRAMS = 120, LAYOUTS = 8 };
    double ratios = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        drawn_program drawn;
        uint8_t *features, *row_log;
        uint64_t *times;
        double bound, least = INFINITY;
        draw_program(&drawn);
        const tn_program *program = &drawn.program;
        const tn_kernel_edges edges = {drawn.kernel.rows, drawn.kernel.columns, drawn.kernel.reduction, 0};
        assert_int_equal(TN_NEW(&drawn.arena, program->tensors, &features, NULL), TN_OK);
        assert_int_equal(TN_NEW(&drawn.arena, program->tensors, &row_log, NULL), TN_OK);
        assert_int_equal(TN_NEW(&drawn.arena, program->steps, &times, NULL), TN_OK);
        for (uint32_t t = 0; t < program->tensors; t++) {
            features[t] = is_matrix(&program->tensor[t]) ? (uint8_t)drawn.features : TN_NO_FEATURES;
            row_log[t] = (uint8_t)drawn.row_log;
        }
        for (uint32_t p = 0; p < program->steps; p++) times[p] = 1;
        const tn_program_words words = {program, &drawn.kernel, false, row_log, features, times};
        assert_int_equal(tn_program_words_bound(&words, &bound, NULL), TN_OK);
        for (int k = 0; k < LAYOUTS; k++) least = fmin(least, found_cycles(&drawn, &edges));
        if (bound > least)
            fail_msg("program %d takes %g cycles, and at least %g are said of it", i, least, bound);
        ratios += bound / least;
        tn_arena_free(&drawn.arena);
    }
    printf("bounds are %.3f of the cycles of layouts in the mean\n", ratios / PROGRAMS);
    assert_true(ratios > 0.85 * PROGRAMS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_choice_costs_less),
                                       cmocka_unit_test(no_layouts_take_fewer_cycles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
