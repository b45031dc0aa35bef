/* Time to lay a layer's program on a kernel: layouts as built, which are searched, and the closer bound of its products'
 * cycles, under demands as a step's are. */
#include "base/clock.h"
#include "layout/tensor_layout.h"
#include "tensor/folding.h"

#include <stdio.h>

enum { SEARCHES = 200, BOUNDS = 2000, TENSORS_MOST = 64, ROW_LOG = 6, FEATURE_LOG = 3 };

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

/* Microseconds a search and a bound. */
static tn_status time_layer(const tn_program *program, const tn_kernel_edges *kernel_edges,
                            tn_banking banking, double *search, double *bound, tn_error *error) {
    const tn_lane lane = {.multiply.stages = 3, .tree.stages = 4, .sum.stages = 5, .group = 1};
    const tn_matmul kernel = {kernel_edges->rows, kernel_edges->columns, kernel_edges->reduction, lane,
                              false};
    tn_layout_demand demand[TENSORS_MOST];
    uint64_t cycles[TENSORS_MOST];
    tn_arena arena = {0};
    tn_layouts layouts;
    tn_status status = TN_OK;
    if (program->tensors > TENSORS_MOST)
        return tn_fail(error, TN_LIMIT, "a program has more than %d tensors", TENSORS_MOST);
    demand_all(program, demand);
    double started = tn_clock_seconds();
    for (int i = 0; i < SEARCHES && status == TN_OK; i++) {
        tn_arena_reset(&arena);
        status =
            tn_layouts_find(program, kernel_edges, banking, TN_LEAST_CYCLES, demand, &arena, &layouts, error);
    }
    *search = 1e6 * (tn_clock_seconds() - started) / SEARCHES;
    started = tn_clock_seconds();
    for (int i = 0; i < BOUNDS && status == TN_OK; i++)
        status = tn_open_layouts_cycles(program, &kernel, banking, demand, cycles, error);
    *bound = 1e6 * (tn_clock_seconds() - started) / BOUNDS;
    tn_arena_free(&arena);
    return status;
}

static tn_status time_spec(const char *spec, tn_flow_name flow, tn_arena *arena, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_weight weight;
    tn_program program;
    uint64_t tokens;
    TN_TRY(tn_spec_parse(spec, (tn_position){0}, &weight, &tokens, error));
    TN_TRY(tn_program_named(&weight, tokens, flow, &options, arena, &program, error));
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
        for (int banking = 0; tn_banking_names[banking]; banking++) {
            double search, bound;
            TN_TRY(time_layer(&program, &edges[e], (tn_banking)banking, &search, &bound, error));
            printf("%-44s %2u x %u x %u %-6s %14.1f %14.1f\n", spec, (unsigned)edges[e].rows,
                   (unsigned)edges[e].columns, (unsigned)edges[e].reduction, tn_banking_names[banking],
                   search, bound);
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
