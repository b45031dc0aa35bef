/* Products of a part of a gradient: every cut of the kernel over the part, played issue by issue and element by element on
 * the layouts that the whole layer has. */
#include "layout/layouts.h"

#include "price/bound.h"
#include "support/models.h"
#include "support/prices.h"
#include "tensor/folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { INDICES_MOST = 16, CUTS_MOST = 64, ELEMENTS_MOST = 256 };

static tn_arena arena;

typedef struct product {
    const tn_program *program;
    const tn_layouts *layouts;
    const tn_program_step *step;
    uint64_t size[INDICES_MOST]; /* of the part */
} product;

/* Edges of blocks along every index. */
typedef struct cut {
    uint64_t edge[INDICES_MOST];
} cut;

static bool has(const product *p, uint32_t tensor, uint32_t index) {
    const tn_indices *indices = &p->program->tensor[tensor].indices;
    for (uint32_t i = 0; i < indices->count; i++)
        if (indices->index[i] == index) return true;
    return false;
}

static uint64_t blocks_of(const product *p, const bool *group, const cut *slicing) {
    uint64_t blocks = 1;
    for (uint32_t i = 0; i < p->program->indices; i++)
        if (group[i]) blocks *= (p->size[i] + slicing->edge[i] - 1) / slicing->edge[i];
    return blocks;
}

/* Ways to take `edge` consecutive values of one index of the group, or of two together where that makes fewer blocks. */
static size_t list_cuts(const product *p, const bool *group, uint64_t edge, cut *cuts) {
    size_t count = 0;
    uint64_t least = UINT64_MAX;
    cut none;
    for (int i = 0; i < INDICES_MOST; i++) none.edge[i] = 1;
    for (uint32_t i = 0; i < p->program->indices; i++) {
        if (!group[i]) continue;
        cuts[count] = none;
        cuts[count].edge[i] = edge;
        uint64_t blocks = blocks_of(p, group, &cuts[count++]);
        least = blocks < least ? blocks : least;
    }
    if (count == 0) cuts[count++] = none;
    for (uint32_t i = 0; i < p->program->indices; i++)
        for (uint32_t j = i + 1; j < p->program->indices; j++)
            for (uint64_t part = 2; part < edge && group[i] && group[j]; part *= 2) {
                assert_true(count < CUTS_MOST);
                cuts[count] = none;
                cuts[count].edge[i] = part;
                cuts[count].edge[j] = edge / part;
                count += blocks_of(p, group, &cuts[count]) < least;
            }
    return count;
}

/* Cycles of the tensor's block that begins at `source`: words of the fullest bank. */
static uint64_t play_block(const product *p, uint32_t tensor, const uint64_t *source, const uint64_t *edge) {
    const tn_tensor_layout *layout = &p->layouts->tensor[tensor];
    uint64_t seen[ELEMENTS_MOST], in_bank[1024] = {0}, x[INDICES_MOST], count = 0, cycles = 1;
    memcpy(x, source, sizeof x);
    for (;;) {
        uint64_t word = 0, bank = 0, index = 0;
        for (uint32_t k = 0; k < layout->axes; k++) {
            uint64_t c = x[layout->axis[k].index] / layout->axis[k].edge;
            word = word * 64 + c;
            bank += c * layout->axis[k].skew;
        }
        while (index < count && seen[index] != word) index++;
        if (index == count) {
            assert_true(count < ELEMENTS_MOST);
            seen[count++] = word;
            uint64_t words = ++in_bank[bank % layout->banks];
            cycles = words > cycles ? words : cycles;
        }
        uint32_t axis = layout->axes;
        while (axis-- > 0) {
            uint32_t i = layout->axis[axis].index;
            if (++x[i] < source[i] + edge[i] && x[i] < p->size[i]) break;
            x[i] = source[i];
        }
        if (axis == UINT32_MAX) return cycles;
    }
}

/* The next block among the indices of `group`; false behind the last. */
static bool step_on(const product *p, const bool *group, const uint64_t *edge, uint64_t *source) {
    for (uint32_t i = p->program->indices; i-- > 0;) {
        if (!group[i]) continue;
        source[i] += edge[i];
        if (source[i] < p->size[i]) return true;
        source[i] = 0;
    }
    return false;
}

/* All issues of a kernel whose sums need not wait for each other. */
static uint64_t play(const product *p, const bool *tiles, const bool *terms, const uint64_t *edge) {
    const tn_program_step *s = p->step;
    uint64_t source[INDICES_MOST] = {0}, cycles = 0, most = 0, last = 0;
    do {
        last = play_block(p, s->out, source, edge);
        most = last > most ? last : most;
    } while (step_on(p, tiles, edge, source));
    memset(source, 0, sizeof source);
    do {
        uint64_t issue;
        bool more;
        do {
            uint64_t left = play_block(p, s->a, source, edge), right = play_block(p, s->b, source, edge);
            issue = left > right ? left : right;
            cycles += issue;
            more = step_on(p, terms, edge, source);
        } while (more);
        cycles += most > issue ? most - issue : 0;
    } while (step_on(p, tiles, edge, source));
    return cycles - 1 + last - 1;
}

/* What was found is what some cut takes, and no cut takes less. */
static void check(const product *p, const tn_partial *partial, const tn_matmul *kernel) {
    bool group[3][INDICES_MOST] = {{false}}, tiles[INDICES_MOST] = {false}, terms[INDICES_MOST] = {false};
    const uint64_t edge[3] = {kernel->rows, kernel->columns, kernel->reduction};
    static cut cuts[3][CUTS_MOST];
    size_t count[3];
    uint64_t got, least = UINT64_MAX;
    bool reached = false;
    for (uint32_t i = 0; i < p->program->indices; i++) {
        bool a = has(p, p->step->a, i), b = has(p, p->step->b, i), out = has(p, p->step->out, i);
        if (p->size[i] > 1 && (a || b) && !(a && b && out)) group[a && b ? 2 : a ? 0 : 1][i] = true;
        terms[i] = a && b && !out;
        tiles[i] = out;
    }
    for (int g = 0; g < 3; g++) count[g] = list_cuts(p, group[g], edge[g], cuts[g]);
    assert_int_equal(
        tn_partial_product_cycles(p->program, p->layouts->tensor, partial, kernel, &arena, &got, NULL),
        TN_OK);
    for (size_t r = 0; r < count[0]; r++)
        for (size_t c = 0; c < count[1]; c++)
            for (size_t t = 0; t < count[2]; t++) {
                uint64_t blocks[INDICES_MOST];
                for (int i = 0; i < INDICES_MOST; i++)
                    blocks[i] = cuts[0][r].edge[i] * cuts[1][c].edge[i] * cuts[2][t].edge[i];
                uint64_t cycles = play(p, tiles, terms, blocks) + tn_matmul_fill_cycles(kernel);
                least = cycles < least ? cycles : least;
                reached |= cycles == got;
            }
    assert_true(reached);
    assert_int_equal(got, least);
}

static void parts_take_what_their_best_cut_takes(void **state) {
    (void)state;
    static const char *const specs[] = {"tt:m=6x4,n=5x6,rank=3,tokens=5", "ttm:m=3x4,n=6x2,rank=3,tokens=4"};
    static const tn_flow_name flow[] = {TN_FLOW_BIDIRECTIONAL, TN_FLOW_OPTIMAL};
    static const tn_banking banking[] = {TN_BANKING_WORD, TN_BANKING_ROWS, TN_BANKING_SKEW};
    const tn_lane lane = {.multiply.stages = 1, .tree.stages = 1, .sum.stages = 1, .group = 1};
    const tn_matmul kernels[] = {{4, 2, 4, lane, false}, {2, 2, 8, lane, false}};
    int parts = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t b = 0; b < 3; b++)
            for (size_t k = 0; k < 2; k++) {
                const tn_kernel_edges edges = {kernels[k].rows, kernels[k].columns, kernels[k].reduction,
                                               false};
                const tn_program_options options = {.training = true};
                tn_weight weight;
                tn_program program;
                tn_layout_problem problem;
                tn_layout_room room;
                tn_layouts layouts;
                uint64_t tokens;
                assert_int_equal(tn_spec_parse(specs[s], (tn_position){0}, &weight, &tokens, NULL), TN_OK);
                assert_int_equal(tn_program_named(&weight, tokens, flow[s], &options, &arena, &program, NULL),
                                 TN_OK);
                assert_int_equal(tn_layout_problem_read(&program, &edges, &arena, &problem, NULL), TN_OK);
                assert_int_equal(tn_layout_room_begin(&room, &arena, NULL), TN_OK);
                assert_int_equal(tn_layouts_find(&problem, banking[b], TN_LEAST_CYCLES, NULL, &room, &arena,
                                                 &layouts, NULL),
                                 TN_OK);
                for (uint32_t i = 0; i < program.steps; i++) {
                    product p = {&program, &layouts, &program.step[i], {0}};
                    const tn_program_tensor *out = &program.tensor[p.step->out];
                    for (uint32_t a = 0; a < out->indices.count && out->role == TN_ROLE_CORE_GRADIENT; a++) {
                        uint32_t index = out->indices.index[a];
                        uint64_t whole = program.index_size[index];
                        if (whole == 1) continue;
                        memcpy(p.size, program.index_size, program.indices * sizeof *p.size);
                        p.size[index] = (whole + 1) / 2;
                        const tn_partial partial = {p.step, p.step->out, index, p.size[index]};
                        check(&p, &partial, &kernels[k]);
                        parts++;
                    }
                }
            }
    assert_true(parts > 50);
    tn_arena_free(&arena);
}

static void check_bound(const tn_price *bound, const tn_price *price) {
    assert_true(bound->cycles_per_step <= price->cycles_per_step);
    assert_true(bound->used.bram18 <= price->used.bram18 && bound->used.uram <= price->used.uram);
}

/* Bounds know nothing of where parts lie, so they stay below what is found. */
static void bounds_stay_below(void **state) {
    tn_device *device;
    tn_model *model = test_model_loaded("../tests/space/data/small-transformer", NULL, &arena);
    assert_int_equal(tn_model_change(model, "optimizer: adam\nratio: [0.4]\n", &arena, &model, NULL), TN_OK);
    const tn_step step = test_step_of(model, &arena);
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &device, NULL), TN_OK);
    tn_workload *workload = test_prepare(&step, device, &arena);
    tn_build build = test_build();
    for (uint32_t i = 0; i < 64; i++) {
        tn_price bound, closer;
        bool exact;
        build.rows = i & 1 ? 2 : 8;
        build.columns = i & 2 ? 4 : 1;
        build.reduction = i & 4 ? 8 : 2;
        build.vector = i & 8 ? 16 : 3;
        build.split = i >> 4;
        const tn_price price = test_price(workload, &build);
        assert_int_equal(tn_price_bound(workload, &build, &bound, &exact, NULL), TN_OK);
        check_bound(&bound, &price);
        assert_int_equal(tn_price_close_bound(workload, &build, &closer, &exact, NULL), TN_OK);
        check_bound(&closer, &price);
        assert_true(closer.cycles_per_step >= bound.cycles_per_step);
    }
    test_models_end(state);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_take_what_their_best_cut_takes),
                                       cmocka_unit_test(bounds_stay_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
