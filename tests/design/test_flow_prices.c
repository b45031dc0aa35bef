/* The flows of a model side by side: each line as if the model had been built with that flow, and the tree of
 * fewest cycles against every tree in every order of operands. */
#include "design/changes.h"
#include "flow/search.h"
#include "program/program.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_device *load_device(tn_arena *arena) {
    tn_device *device;
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, arena, &device, NULL), TN_OK);
    return device;
}

static tn_build default_build(tn_arena *arena) {
    tn_build build;
    assert_int_equal(tn_build_decode(NULL, arena, &build, NULL), TN_OK);
    return build;
}

static uint32_t flow_prices(tn_model *model, const tn_device *device, const tn_build *build,
                            tn_flow_price *line) {
    const tn_design design = {.model = model, .device = device, .build = *build};
    tn_program_cache *cache;
    uint32_t count;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_flow_prices(&design, cache, line, &count, NULL), TN_OK);
    tn_program_cache_free(cache);
    return count;
}

static void lines_are_those_of_the_flows(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_flow_price line[TN_FLOW_PRICES_MOST];
    uint32_t count, given = 0;
    tn_device *device = load_device(&arena);
    tn_build build = default_build(&arena);
    build.layouts = TN_LAID_IDEALLY; /* the tree of optimal-cycles is best of these */
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    count = flow_prices(model, device, &build, line);
    assert_int_equal(count, TN_FLOWS + 1); /* no training flow is asked for */
    for (uint32_t i = 0; i < TN_FLOWS; i++) {
        char set[64] = "weights.square.flow=";
        tn_workload *workload;
        tn_price price;
        assert_string_equal(line[i].name, tn_flow_names[i]);
        strcat(set, tn_flow_names[i]);
        tn_step step = test_step_of(test_model_loaded("atis-2enc", set, &arena), &arena);
        assert_int_equal(tn_workload_prepare(&step, device, &arena, &workload, NULL), TN_OK);
        assert_int_equal(tn_price_step(workload, &build, &price, NULL), TN_OK);
        assert_int_equal(line[i].price.cycles_per_step, price.cycles_per_step);
        assert_int_equal(line[i].price.misfits, price.misfits);
        assert_int_equal(line[i].macs, step.macs[0] + step.macs[1] + step.macs[2]);
        assert_int_equal(line[i].peak_elements, step.peak_elements);
        assert_int_equal(line[i].saved_elements, step.activation_elements);
        given += line[i].as_given;
    }
    assert_int_equal(given, 1);
    assert_true(line[TN_FLOW_BIDIRECTIONAL].as_given);
    assert_string_equal(line[TN_FLOWS].name, "optimal-cycles");
    for (uint32_t i = 0; i < TN_FLOWS; i++) /* the default build runs one operation after the other */
        assert_true(line[TN_FLOWS].price.cycles_per_step <= line[i].price.cycles_per_step);
    assert_int_equal(tn_model_weight_find(model, "square")->flow, TN_FLOW_BIDIRECTIONAL);
    tn_arena_free(&arena);
}

static void nothing_to_compare_without_tensors(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_flow_price line[TN_FLOW_PRICES_MOST];
    const tn_build build = default_build(&arena);
    const char *sets[] = {"format=dense", "weights.square.format=dense"};
    for (int i = 0; i < 2; i++) {
        tn_model *model = test_model_loaded("atis-2enc", sets[i], &arena);
        assert_int_equal(flow_prices(model, load_device(&arena), &build, line), 0);
    }
    tn_arena_free(&arena);
}

/* Flows that the format does not have are left out. */
static void missing_flows(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_flow_price line[TN_FLOW_PRICES_MOST];
    uint32_t count;
    const tn_build build = default_build(&arena);
    tn_model *model = test_model_loaded("atis-2enc", "weights.square.format=ttm", &arena);
    count = flow_prices(model, load_device(&arena), &build, line);
    assert_int_equal(count, 4);
    const char *names[] = {"dense", "right-to-left", "optimal", "optimal-cycles"};
    for (uint32_t i = 0; i < count; i++) assert_string_equal(line[i].name, names[i]);
    tn_arena_free(&arena);
}

/* A price with no symmetry between rows, columns and reduction. */
static uint64_t odd_price(void *user, const tn_product_shape *shape) {
    (void)user;
    return shape->batch * ((shape->rows + 3) / 4) * ((shape->columns + 1) / 2) *
               ((shape->reduction + 6) / 7) +
           5;
}

/* With its gradients, as design/changes.c adds them up. */
static uint64_t odd_price_trained(void *user, const tn_product_shape *s) {
    const tn_product_shape a = {s->batch, s->rows, s->columns, s->reduction};
    const tn_product_shape b = {s->batch, s->columns, s->rows, s->reduction};
    return odd_price(user, s) + odd_price(user, &a) + odd_price(user, &b);
}

static uint64_t program_price(const tn_program *program) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < program->steps; i++) sum += odd_price(NULL, &program->step[i].shape);
    return sum;
}

typedef struct {
    const tn_weight *weight;
    uint64_t tokens, least;
    uint32_t trees;
} every_tree;

static tn_status try_orders(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    every_tree *all = user;
    const tn_program_options options = {.training = true};
    uint32_t merges = tree->tensors - 1;
    (void)cost;
    all->trees++;
    for (uint32_t order = 0; order < 1u << merges; order++) {
        tn_arena arena = {0};
        tn_program program;
        tn_merge turned[8];
        const tn_tree other = {tree->tensors, turned};
        for (uint32_t i = 0; i < merges; i++) {
            turned[i] = tree->merge[i];
            if (order >> i & 1) turned[i] = (tn_merge){tree->merge[i].b, tree->merge[i].a};
        }
        TN_TRY(tn_program_from_tree(all->weight, all->tokens, &other, &options, &arena, &program, error));
        uint64_t price = program_price(&program);
        if (price < all->least) all->least = price;
        tn_arena_free(&arena);
    }
    return TN_OK;
}

static void check_least(tn_format format, const uint64_t *m, const uint64_t *n, uint64_t rank,
                        uint64_t tokens) {
    tn_arena arena = {0};
    tn_network network;
    tn_program_cache *cache;
    const tn_program *program;
    const tn_pricing pricing = {.price = odd_price_trained};
    const tn_program_options options = {.training = true};
    tn_weight weight = {.format = format, .d = 2, .m = {m[0], m[1]}, .n = {n[0], n[1]}};
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    every_tree all = {.weight = &weight, .tokens = tokens, .least = UINT64_MAX};
    assert_int_equal(tn_weight_forward(&weight, tokens, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_search_every_tree(&network, NULL, try_orders, &all, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    tn_program_cache_price(cache, &pricing);
    assert_int_equal(tn_program_cache_get(cache, &weight, tokens, TN_FLOW_OPTIMAL, &options, &program, NULL),
                     TN_OK);
    assert_int_equal(program_price(program), all.least);
    assert_true(all.trees > 1);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

static void least_price_of_all_trees(void **state) {
    (void)state;
    const uint64_t a[] = {4, 6}, b[] = {5, 3}, c[] = {12, 2};
    check_least(TN_TT, a, b, 3, 8);
    check_least(TN_TT, b, c, 5, 1);
    check_least(TN_TT, c, a, 2, 32);
    check_least(TN_TTM, a, b, 4, 7);
    check_least(TN_TTM, c, b, 6, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_flows),
        cmocka_unit_test(nothing_to_compare_without_tensors),
        cmocka_unit_test(missing_flows),
        cmocka_unit_test(least_price_of_all_trees),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
