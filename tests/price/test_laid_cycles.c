/* Prices with operands where they lie: operation by operation from the layouts of the plan, memories as deep as these, ranks that
 * do not fill words, and the bounds that need no search. */
#include "model/model.h"
#include "price/bound.h"
#include "price/laid_cycles.h"
#include "price/work.h"
#include "support/prices.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;

/* An operation's array that the program's tensor is. */
static uint32_t array_of(const tn_step *step, uint32_t layer, uint32_t tensor) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        if (operation->layer != layer || !operation->program_step) continue;
        if (operation->program_step->a == tensor) return operation->reads[0];
        if (operation->program_step->b == tensor) return operation->reads[1];
        if (operation->program_step->out == tensor) return operation->writes[0];
    }
    return UINT32_MAX;
}

/* Operation by operation, from the layouts of the plan: products of linear layers and updates counted here; what else lies
 * in words of matrices at least what it takes ideally (generated hardware holds it to equality, tests/rtl). */
static uint64_t check_laid(tn_workload *workload, const tn_build *build) {
    const tn_step *step = workload->step;
    const tn_lane lane = {.multiply.stages = 4, .sum.stages = 7, .group = 1};
    const tn_matmul kernel = {build->rows, build->columns, build->reduction, lane, false};
    tn_operator_set set;
    tn_plan *plan;
    tn_work_price price;
    uint64_t sum = 0, padded = 0;
    assert_int_equal(tn_operator_set_load(device, &tn_fp32, &set, NULL), TN_OK);
    assert_int_equal(tn_workload_plan(workload, build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, build, NULL), TN_OK);
    assert_int_equal(tn_price_work(workload, plan, build, &price, NULL), TN_OK);
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        const tn_program *program = step->layer[operation->layer].program;
        const tn_vector vector = {.kind = operation->kind, .lanes = build->vector, .operators = &set};
        uint64_t elements = tn_laid_update_elements(plan->laid, &plan->map, operation, build->vector),
                 vector_cycles;
        sum += workload->cycles[i];
        if (elements > 0) {
            padded += elements > operation->rows * operation->columns;
            assert_int_equal(workload->cycles[i], elements / build->vector - 1 + 4 + 7 + 7);
        } else if (operation->kind != TN_OP_PRODUCT) {
            assert_int_equal(
                tn_vector_cycles(&vector, operation->rows, operation->columns, &vector_cycles, NULL), TN_OK);
            bool by_row =
                operation->kind == TN_OP_LOOKUP || operation->kind == TN_OP_SCATTER; /* by other passes */
            assert_true(by_row ||
                        workload->cycles[i] >= vector_cycles + 7 * tn_vector_starts(operation->kind));
        } else if (operation->program_step && strcmp(step->layer[operation->layer].kind, "linear") == 0) {
            const tn_product_layout *p =
                &plan->laid->layer[operation->layer]->product[operation->program_step - program->step];
            tn_issued issued;
            assert_int_equal(tn_issue_product(&kernel, &p->issued, &issued, NULL), TN_OK);
            assert_int_equal(issued.tiles, p->tiles);
            assert_true(issued.cycles >= p->tiles * p->terms);
            uint64_t levels = 0;
            while (UINT64_C(1) << levels < build->reduction) levels++;
            assert_int_equal(workload->cycles[i],
                             issued.cycles - 1 + 4 + (levels + 1) * 7 + issued.last_phases - 1 + 6);
        } else {
            const tn_product_size size = {operation->batch, operation->rows, operation->reduction,
                                          operation->columns};
            tn_matmul_time time;
            assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
            assert_true(workload->cycles[i] >= time.cycles + 6);
        }
    }
    assert_true(padded > 0); /* the cores of rank 12 on words of 8 */
    return sum;
}

static const tn_step *step_of(const char *const *keys, size_t count, tn_program_cache **cache) {
    tn_model *model;
    tn_step *step;
    assert_int_equal(tn_model_load("atis-2enc", keys, count, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(cache, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, *cache, &arena, step, NULL), TN_OK);
    return step;
}

static const tn_step *atis_step(tn_program_cache **cache) {
    return step_of(NULL, 0, cache);
}

static void issues_are_paid(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_step *step = atis_step(&cache);
    tn_build build = test_build();
    build.rows = build.reduction = 8;
    build.columns = 4;
    build.layouts = TN_LAID_IDEALLY;
    tn_workload *workload = test_prepare(step, device, &arena);
    tn_price ideal = test_price(workload, &build);
    build.layouts = TN_LAID_AS_FOUND;
    for (build.split = 0; build.split < 4; build.split++) {
        tn_price price = test_price(workload, &build), bound;
        bool exact;
        assert_int_equal(price.cycles_per_step, check_laid(workload, &build));
        assert_true(price.cycles_per_step > ideal.cycles_per_step);
        assert_int_equal(tn_price_bound(workload, &build, &bound, &exact, NULL), TN_OK);
        assert_true(!exact && bound.cycles_per_step < price.cycles_per_step);
        build.schedule = TN_SCHEDULE_PARALLEL;
        assert_true(test_price(workload, &build).cycles_per_step <= price.cycles_per_step);
        build.schedule = TN_SCHEDULE_SEQUENTIAL;
    }
    build.split = TN_SPLIT_RESHAPE;
    build.layouts = TN_LAID_IDEALLY; /* what was priced before does not matter */
    assert_int_equal(test_price(workload, &build).cycles_per_step, ideal.cycles_per_step);
    tn_program_cache_free(cache);
}

/* Memories hold every array where the layouts say: depths summed slot by slot, rows as wide as the widest use. */
static void memories_follow_layouts(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_step *step = atis_step(&cache);
    tn_workload *workload = test_prepare(step, device, &arena);
    tn_build build = test_build();
    tn_plan *plan;
    build.layouts = TN_LAID_AS_FOUND;
    assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, &build, NULL), TN_OK);
    uint64_t checked = 0;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_layouts *layouts = plan->laid->layer[l];
        for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
            uint32_t array = array_of(step, l, t);
            if (array == UINT32_MAX) continue;
            const tn_row *row = &plan->laid->memory[plan->map.memory_of[array]];
            bool of_token = strcmp(step->layer[l].kind, "embedding") == 0 &&
                            tn_laid_words_of(plan->laid, array)->is_matrix;
            if (of_token) /* words of other tokens, too */
                assert_true(layouts->tensor[t].row_elements <= row->elements);
            else
                assert_int_equal(layouts->tensor[t].row_elements, row->elements);
            assert_true(plan->laid->depth[array] >= layouts->tensor[t].depth);
            assert_true(row->depth >= plan->laid->depth[array]);
            assert_true(row->depth >= row->unpadded_depth ||
                        plan->map.memory[plan->map.memory_of[array]].copies > 1);
            checked++;
        }
    }
    assert_true(checked > 300);
    tn_program_cache_free(cache);
}

/* A build of kernels and splits of all kinds. */
static tn_build draw_build(uint64_t *seed) {
    tn_build build = test_build();
    build.rows = UINT64_C(1) << test_draw(seed, 5);
    build.columns = UINT64_C(1) << test_draw(seed, 4);
    build.reduction = UINT64_C(1) << test_draw(seed, 5);
    build.vector = 1 + test_draw(seed, 16);
    build.split = (uint32_t)test_draw(seed, 4);
    return build;
}

/* True if some memory that the operation goes through has shorter rows than another, which it then has not any more. */
static bool widens(const tn_plan *plan, const tn_operation *operation, uint64_t *row) {
    uint64_t most = 0;
    bool changed = false;
    for (uint32_t i = 0; i < operation->read_count; i++) {
        const uint32_t memory = plan->map.memory_of[operation->reads[i]];
        if (memory != UINT32_MAX && row[memory] > most) most = row[memory];
    }
    for (uint32_t i = 0; i < operation->read_count; i++) {
        const uint32_t memory = plan->map.memory_of[operation->reads[i]];
        if (memory == UINT32_MAX || row[memory] == most) continue;
        row[memory] = most;
        changed = true;
    }
    return changed;
}

/* Rows are as long as the widest use of the memory, or of those that an update goes through beside it, until none is longer. */
static void rows_go_along_with_updates(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_step *step = atis_step(&cache);
    tn_workload *workload = test_prepare(step, device, &arena);
    uint64_t seed = 11, widened = 0;
    for (int i = 0; i < 20; i++) {
        tn_build build = draw_build(&seed);
        tn_plan *plan;
        uint64_t row[4096];
        build.layouts = TN_LAID_BOUND;
        build.buffers = test_draw(&seed, 4) > 0;
        assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
        assert_int_equal(tn_plan_lay(workload, plan, &build, NULL), TN_OK);
        assert_true(plan->map.memories <= sizeof row / sizeof *row);
        for (uint32_t m = 0; m < plan->map.memories; m++)
            row[m] = tn_mapped_row(&plan->map.memory[m], &build);
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t k = 0; k < step->operations; k++)
                if (tn_operation_is_update(&step->operation[k]))
                    changed |= widens(plan, &step->operation[k], row);
            widened += changed;
        }
        for (uint32_t m = 0; m < plan->map.memories; m++)
            assert_int_equal(plan->laid->memory[m].elements, row[m]);
    }
    assert_true(widened > 0);
    tn_program_cache_free(cache);
}

/* What the closer bound says of all products, each laid by itself. */
static uint64_t sum_of_products(tn_workload *workload, const tn_plan *plan, const tn_build *build) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        tn_laid_time time;
        uint64_t ideal, issues;
        if (!work->product) continue;
        assert_int_equal(tn_laid_cycles(workload, plan, build, i, &time, NULL), TN_OK);
        assert_int_equal(tn_work_cycles(workload, work, &work->size, build, &ideal, &issues, NULL), TN_OK);
        sum += time.cycles ? time.cycles + time.start_cycles : ideal;
    }
    return sum;
}

/* Products are laid group by group, the heaviest first, until enough cycles have come together. */
static void products_are_laid_until_enough(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_step *step = atis_step(&cache);
    tn_workload *workload = test_prepare(step, device, &arena);
    uint64_t seed = 12, partly = 0;
    for (int i = 0; i < 20; i++) {
        tn_build build = draw_build(&seed);
        tn_plan *plan;
        tn_work_price price;
        bool whole;
        build.layouts = i % 2 ? TN_LAID_CLOSELY : TN_LAID_AS_FOUND;
        assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
        assert_int_equal(tn_plan_begin_lay(workload, plan, &build, NULL), TN_OK);
        const uint64_t all = sum_of_products(workload, plan, &build),
                       enough = all * test_draw(&seed, 101) / 100;
        assert_int_equal(tn_price_products(workload, plan, &build, enough, &price, &whole, NULL), TN_OK);
        assert_true(price.cycles_per_step <= all && price.cycles_per_step >= enough);
        partly += !whole;
        assert_int_equal(tn_price_products(workload, plan, &build, UINT64_MAX, &price, &whole, NULL), TN_OK);
        assert_true(whole);
        assert_int_equal(price.cycles_per_step, all);
    }
    assert_true(partly > 5);
    tn_program_cache_free(cache);
}

/* A product whose columns are computed block by block takes no less laid than its blocks do ideally. */
static void blocks_of_columns_take_their_time(void **state) {
    (void)state;
    static const char *const keys[] = {"phase=inference", "flat_gemm={rows: 64, block: 2}"};
    tn_program_cache *cache;
    const tn_step *step = step_of(keys, 2, &cache);
    tn_workload *workload = test_prepare(step, device, &arena);
    tn_plan *plan;
    tn_work_price price;
    uint32_t blocked = 0;
    tn_build build = test_build();
    build.layouts = TN_LAID_AS_FOUND;
    assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, &build, NULL), TN_OK);
    assert_int_equal(tn_price_work(workload, plan, &build, &price, NULL), TN_OK);
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        uint64_t ideal, issues;
        if (step->operation[i].column_block == 0) continue;
        assert_int_equal(tn_work_cycles(workload, work, &work->size, &build, &ideal, &issues, NULL), TN_OK);
        assert_true(workload->cycles[i] >= ideal);
        blocked++;
    }
    assert_true(blocked > 0);
    tn_program_cache_free(cache);
}

/* Cores of rank 14 take the blocks of rank 16 where words are 4 along the bonds. */
static void ranks_cost_their_words(void **state) {
    (void)state;
    static const char *const ranks[] = {"weights.square.rank=14", "weights.square.rank=16"};
    uint64_t blocks[2] = {0};
    for (int i = 0; i < 2; i++) {
        tn_program_cache *cache;
        const tn_step *step = step_of(&ranks[i], 1, &cache);
        tn_build build = test_build();
        build.layouts = TN_LAID_AS_FOUND;
        const tn_explanation told = test_explain(test_prepare(step, device, &arena), &build, &arena);
        for (uint32_t m = 0; m < told.memories; m++) {
            const tn_memory_line *line = &told.memory[m];
            if (!strstr(line->name, ".core") || strstr(line->name, "embedding")) continue;
            blocks[i] += line->placed.blocks.bram18 + 2 * line->placed.blocks.bram36 +
                         16 * line->placed.blocks.uram + 1000000 * line->placed.blocks.lutram;
        }
        tn_program_cache_free(cache);
    }
    assert_true(blocks[0] > 0);
    assert_int_equal(blocks[0], blocks[1]);
}

static void assert_bounds(int i, const tn_build *build, const tn_price *bound, const tn_price *price) {
    assert_true(bound->cycles_per_step <= price->cycles_per_step);
    for (int r = 0; r < TN_RESOURCES; r++)
        if (tn_resource_amount(&bound->used, (tn_resource)r) >
            tn_resource_amount(&price->used, (tn_resource)r))
            fail_msg("build %d (split %u): %s of %llu bounded by %llu", i, build->split, tn_resource_names[r],
                     (unsigned long long)tn_resource_amount(&price->used, (tn_resource)r),
                     (unsigned long long)tn_resource_amount(&bound->used, (tn_resource)r));
    assert_true(bound->on_chip_bytes <= price->on_chip_bytes);
    assert_true(bound->joules_per_step <= price->joules_per_step);
}

/* No quantity of a price is below its bounds, nor one of the closer bound below the other's, whatever the build. */
static void layout_bounds_hold(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_step *step = atis_step(&cache);
    tn_workload *workload = test_prepare(step, device, &arena);
    uint64_t seed = 5, tight = 0;
    double gap[2] = {0, 0};
    for (int i = 0; i < 60; i++) {
        tn_build build = draw_build(&seed);
        build.layouts = TN_LAID_AS_FOUND;
        build.group = 1 + test_draw(&seed, 8);
        build.core_memory = (uint32_t)test_draw(&seed, 4);
        build.activation_memory = (uint32_t)test_draw(&seed, 4);
        build.buffers = test_draw(&seed, 8) > 0;
        build.off_chip_over_bytes = test_draw(&seed, 4) ? 0 : 50000;
        if (i % 3 == 0) { /* operations race for kernels and ports */
            build.schedule = i % 2 ? TN_SCHEDULE_PARALLEL : TN_SCHEDULE_GRADIENTS_TOGETHER;
            build.off_chip_over_bytes = 0;
            build.kernels = 1 + test_draw(&seed, 3);
            build.sharing = (uint32_t)test_draw(&seed, 2);
            build.vector_units = (uint32_t)test_draw(&seed, 3);
        }
        tn_price price = test_price(workload, &build), bound, close;
        bool exact;
        assert_int_equal(tn_price_bound(workload, &build, &bound, &exact, NULL), TN_OK);
        assert_false(exact);
        assert_bounds(i, &build, &bound, &price);
        assert_int_equal(tn_price_close_bound(workload, &build, &close, &exact, NULL), TN_OK);
        assert_false(exact);
        assert_bounds(i, &build, &close, &price);
        assert_bounds(i, &build, &bound, &close);
        gap[0] += (double)price.cycles_per_step / (double)bound.cycles_per_step;
        gap[1] += (double)price.cycles_per_step / (double)close.cycles_per_step;
        tight += bound.on_chip_bytes == price.on_chip_bytes;
    }
    printf(
        "memories of %llu of 60 builds as their bound has them; cycles %.2f times the bound, %.3f times the "
        "closer one\n",
        (unsigned long long)tight, gap[0] / 60, gap[1] / 60);
    assert_true(gap[1] < gap[0]);
    tn_build race = test_build();
    tn_price price;
    bool exact;
    race.layouts = TN_LAID_AS_FOUND;
    race.schedule = TN_SCHEDULE_PIPELINED; /* overlaps in pieces */
    assert_int_equal(tn_price_bound(workload, &race, &price, &exact, NULL), TN_OK);
    assert_true(exact && price.cycles_per_step == test_price(workload, &race).cycles_per_step);
    tn_program_cache_free(cache);
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50", NULL, 0, &arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(issues_are_paid),
        cmocka_unit_test(rows_go_along_with_updates),
        cmocka_unit_test(products_are_laid_until_enough),
        cmocka_unit_test(blocks_of_columns_take_their_time),
        cmocka_unit_test(memories_follow_layouts),
        cmocka_unit_test(ranks_cost_their_words),
        cmocka_unit_test(layout_bounds_hold),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
