/* Time to lay a layer's program on a kernel: layouts as built, which are searched, and the closer bound of its products'
 * cycles, under demands as a step's are. */
#include "base/clock.h"
#include "layout/layouts.h"
#include "tensor/folding.h"

#include <stdio.h>

enum { SEARCHES = 200, BOUNDS = 2000, ROW_LOG = 6, FEATURE_LOG = 3 };

static const tn_kernel_edges edges[] = {{4, 4, 4, 0}, {16, 4, 8, 0}, {6, 3, 5, 0}};

/* Rows of one size; what other layers want, too, in words of tokens x features. */
static void demand_all(const tn_program *program, tn_layout_demand *demand) {
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_role role = program->tensor[t].role;
        demand[t] = (tn_layout_demand){.has_row = true, .is_updated = true, .row_log = ROW_LOG};
        if (role != TN_ROLE_X && role != TN_ROLE_Y && role != TN_ROLE_DX && role != TN_ROLE_DY) continue;
        demand[t].is_shared = true;
        demand[t].feature_log = FEATURE_LOG;
        demand[t].token_log = ROW_LOG - FEATURE_LOG;
    }
}

/* Microseconds a search, with the problem at hand. */
static tn_status time_search(const tn_layout_problem *problem, tn_banking banking,
                             const tn_layout_demand *demand, double *search, tn_error *error) {
    tn_arena arena = {0}, outer = {0};
    tn_layout_room room;
    tn_layouts layouts;
    tn_status status = tn_layout_room_begin(&room, &outer, error);
    const double started = tn_clock_seconds();
    for (int i = 0; i < SEARCHES && status == TN_OK; i++) {
        tn_arena_reset(&arena);
        status = tn_layouts_find(problem, banking, TN_LEAST_CYCLES, demand, &room, &arena, &layouts, error);
    }
    *search = 1e6 * (tn_clock_seconds() - started) / SEARCHES;
    tn_arena_free(&arena);
    tn_arena_free(&outer);
    return status;
}

/* Microseconds a bound of all products. */
static tn_status time_bound(const tn_layout_problem *problem, tn_banking banking,
                            const tn_layout_demand *demand, double *bound, tn_error *error) {
    const tn_lane lane = {.multiply.stages = 3, .tree.stages = 4, .sum.stages = 5, .group = 1};
    const tn_matmul kernel = {problem->edges.rows, problem->edges.columns, problem->edges.reduction, lane,
                              false};
    uint64_t cycles;
    const double started = tn_clock_seconds();
    for (int i = 0; i < BOUNDS; i++)
        for (uint32_t k = 0; k < problem->program->steps; k++)
            TN_TRY(tn_open_product_cycles(problem, k, &kernel, banking, demand, &cycles, error));
    *bound = 1e6 * (tn_clock_seconds() - started) / BOUNDS;
    return TN_OK;
}

static tn_status time_spec(const char *spec, tn_flow_name flow, tn_arena *arena, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_layout_demand *demand;
    tn_weight weight;
    tn_program program;
    uint64_t tokens;
    TN_TRY(tn_spec_parse(spec, (tn_position){0}, &weight, &tokens, error));
    TN_TRY(tn_program_named(&weight, tokens, flow, &options, arena, &program, error));
    TN_TRY(TN_NEW(arena, program.tensors, &demand, error));
    demand_all(&program, demand);
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
        tn_layout_problem problem;
        TN_TRY(tn_layout_problem_read(&program, &edges[e], arena, &problem, error));
        for (int banking = 0; tn_banking_names[banking]; banking++) {
            double search, bound;
            TN_TRY(time_search(&problem, (tn_banking)banking, demand, &search, error));
            TN_TRY(time_bound(&problem, (tn_banking)banking, demand, &bound, error));
            printf("%-44s %2u x %u x %u %-6s %14.1f %14.1f\n", spec, (unsigned)edges[e].rows,
                   (unsigned)edges[e].columns, (unsigned)edges[e].reduction, tn_banking_names[banking],
                   search, bound);
        }
    }
    return TN_OK;
}

int main(void) {
    static const char *const specs[] = {"tt:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                        "tt:m=48x16,n=16x48,rank=16,tokens=32",
                                        "ttm:m=4x4x6x8,n=8x6x4x4,rank=8,tokens=32"};
    printf("%-44s %-18s %14s %14s\n", "layer", "kernel, banking", "search, us", "bound, us");
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        tn_arena arena = {0};
        tn_error error = {0};
        const tn_status status = time_spec(specs[s], TN_FLOW_OPTIMAL, &arena, &error);
        tn_arena_free(&arena);
        if (status == TN_OK) continue;
        fprintf(stderr, "bench_layout: %s\n", error.message);
        return 1;
    }
    return 0;
}
