/* Layouts of a layer's tensors: the ATIS layer's 18 products against figures of an independent search, and every
 * access played element by element. */
#include "layout/layer_layout.h"
#include "layout/layouts.h"

#include "base/memory.h"
#include "device/block.h"
#include "tensor/folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;

static tn_program program_of(const char *spec, tn_flow_name flow) {
    tn_weight weight;
    uint64_t tokens;
    tn_program program = {0};
    tn_error error;
    const tn_program_options options = {.training = true};
    if (tn_spec_parse(spec, (tn_position){0}, &weight, &tokens, &error) != TN_OK ||
        tn_program_named(&weight, tokens, flow, &options, &arena, &program, &error) != TN_OK)
        fail_msg("%s: %s", spec, error.message);
    return program;
}

static tn_status find_in(tn_arena *own, const tn_program *program, const tn_kernel_edges *edges,
                         tn_banking banking, tn_layout_goal goal, const tn_layout_demand *demand,
                         tn_layouts *layouts) {
    tn_layout_problem problem;
    tn_layout_room room;
    TN_TRY(tn_layout_problem_read(program, edges, own, &problem, NULL));
    TN_TRY(tn_layout_room_begin(&room, own, NULL));
    return tn_layouts_find(&problem, banking, goal, demand, &room, own, layouts, NULL);
}

static tn_layouts find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                       tn_layout_goal goal, const tn_layout_demand *demand) {
    tn_layouts layouts;
    assert_int_equal(find_in(&arena, program, edges, banking, goal, demand, &layouts), TN_OK);
    return layouts;
}

static uint64_t over(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* Issues if every one found its operands' blocks in one cycle and cut its groups whole. */
static uint64_t ideal_of(const tn_program *program, const tn_kernel_edges *e) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < program->steps; i++) {
        const tn_product_shape *s = &program->step[i].shape;
        sum += s->batch * over(s->rows, e->rows) * over(s->columns, e->columns) *
               over(s->reduction, e->reduction);
    }
    return sum;
}

static const char atis[] = "tt:m=12x8x8,n=8x8x12,rank=12,tokens=32";

/* One wide word a memory; what the best layouts of an independent coordinate descent took. */
static void atis_layer(void **state) {
    (void)state;
    static const struct {
        tn_kernel_edges edges;
        double most;
    } rows[] = {{{4, 4, 4, false}, 1},
                {{8, 4, 8, false}, 1.11},
                {{16, 4, 8, false}, 1.34},
                {{8, 4, 16, false}, 1.70},
                {{16, 2, 16, false}, 2.19}};
    const tn_program program = program_of(atis, TN_FLOW_BIDIRECTIONAL);
    assert_int_equal(program.steps, 18);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_kernel_edges *e = &rows[i].edges;
        tn_layouts got = find(&program, e, TN_BANKING_WORD, TN_LEAST_ISSUES, NULL);
        double ratio = (double)got.issue_cycles / (double)ideal_of(&program, e);
        printf("%2ux%ux%-2u %.3f of the ideal issues\n", (unsigned)e->rows, (unsigned)e->columns,
               (unsigned)e->reduction, ratio);
        assert_true(ratio >= 1 && ratio <= rows[i].most);
        for (uint32_t t = 0; t < got.tensors; t++) assert_int_equal(got.tensor[t].banks, 1);
    }
}

/* ---- every access, played ---- */

enum { ROWS, COLUMNS, REDUCTION };

/* Edge of a block along an index; 1 where it is not cut. */
static uint64_t edge_along(const tn_product_layout *p, uint32_t index) {
    for (int g = 0; g < 3; g++)
        for (uint32_t k = 0; k < p->cut[g].indices; k++)
            if (p->cut[g].index[k] == index) return p->cut[g].edge[k];
    return 1;
}

/* Bit of the block's kind that says it is the last along an index of the group: first edges of the operand, then those
 * of its second group. */
static int kind_bit(const tn_product_layout *p, const int *groups, uint32_t index) {
    for (int g = 0; g < 2; g++)
        for (uint32_t k = 0; k < p->cut[groups[g]].indices; k++)
            if (p->cut[groups[g]].index[k] == index) return g * TN_ISSUE_CUTS + (int)k;
    return -1;
}

/* Reads every block of the tensor, element by element: the words that each bank has of it. A block of a kind takes no
 * more cycles than the kind is said to, and some block as many. */
static void play_tensor(const tn_tensor_layout *layout, const tn_product_layout *p, const int *groups,
                        const uint64_t *phases) {
    enum { SEEN_MOST = 4096 };
    uint64_t block[TN_LAYOUT_AXES], first[TN_LAYOUT_AXES] = {0}, most[TN_BLOCK_KINDS] = {0};
    for (uint32_t i = 0; i < layout->axes; i++) block[i] = edge_along(p, layout->axis[i].index);
    for (;;) {
        uint64_t x[TN_LAYOUT_AXES], seen[SEEN_MOST], in_bank[TN_LAYOUT_BANKS_MOST] = {0}, count = 0,
                                                     cycles = 0;
        int kind = 0;
        memcpy(x, first, sizeof x);
        for (uint32_t i = 0; i < layout->axes; i++)
            if (block[i] > 1 && first[i] + block[i] > layout->axis[i].size)
                kind |= 1 << kind_bit(p, groups, layout->axis[i].index);
        for (;;) {
            uint64_t word = 0, bank = 0, index = 0;
            for (uint32_t i = 0; i < layout->axes; i++) {
                uint64_t c = x[i] / layout->axis[i].edge;
                word = word * (layout->axis[i].size + 1) + c;
                bank += c * layout->axis[i].skew + (layout->axis[i].turn ? c / layout->axis[i].turn : 0);
            }
            while (index < count && seen[index] != word) index++;
            if (index == count) {
                assert_true(count < SEEN_MOST);
                seen[count++] = word;
                uint64_t words = ++in_bank[bank % layout->banks];
                if (words > cycles) cycles = words;
            }
            uint32_t axis = layout->axes;
            while (axis-- > 0) {
                if (++x[axis] < first[axis] + block[axis] && x[axis] < layout->axis[axis].size) break;
                x[axis] = first[axis];
            }
            if (axis == UINT32_MAX) break;
        }
        if (cycles > most[kind]) most[kind] = cycles;
        uint32_t axis = layout->axes;
        while (axis-- > 0) {
            first[axis] += block[axis];
            if (first[axis] < layout->axis[axis].size) break;
            first[axis] = 0;
        }
        if (axis == UINT32_MAX) break;
    }
    bool whole_words =
        true; /* else words lie across blocks, and a kind is as slow as any of its edges may be */
    for (uint32_t i = 0; i < layout->axes; i++)
        whole_words =
            whole_words && (layout->axis[i].edge % block[i] == 0 || block[i] % layout->axis[i].edge == 0);
    for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
        assert_true(most[kind] <= phases[kind]);
        if (most[kind] > 0 && whole_words) assert_int_equal(most[kind], phases[kind]);
    }
}

/* Puts every element at its bank and row: no two words in one place, none beyond the depth. */
static void play_places(const tn_tensor_layout *layout) {
    uint64_t x[TN_LAYOUT_AXES] = {0}, stride[TN_LAYOUT_AXES], words[TN_LAYOUT_AXES], depth = 1, elements = 1;
    for (uint32_t k = layout->axes; k-- > 0;) {
        uint64_t along = over(layout->axis[k].size, layout->axis[k].edge);
        words[k] = along;
        stride[k] = depth;
        elements *= layout->axis[k].size;
        depth *= over(along, layout->axis[k].divide);
    }
    assert_int_equal(depth, layout->depth);
    uint64_t places = depth * layout->banks, *held = calloc(places, sizeof *held);
    assert_non_null(held);
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t word = 1, bank = 0, row = 0;
        for (uint32_t k = 0; k < layout->axes; k++) {
            uint64_t c = x[k] / layout->axis[k].edge;
            word = word * (words[k] + 1) + c;
            bank += c * layout->axis[k].skew + (layout->axis[k].turn ? c / layout->axis[k].turn : 0);
            row += c / layout->axis[k].divide * stride[k];
        }
        uint64_t *place = &held[bank % layout->banks * depth + row];
        assert_true(row < depth && (*place == 0 || *place == word));
        *place = word;
        for (uint32_t k = layout->axes; k-- > 0;) {
            if (++x[k] < layout->axis[k].size) break;
            x[k] = 0;
        }
    }
    free(held);
}

static void check_played(const tn_program *program, const tn_layouts *got) {
    static const int left[] = {ROWS, REDUCTION}, right[] = {REDUCTION, COLUMNS}, result[] = {ROWS, COLUMNS};
    uint64_t issues = 0, cycles = 0;
    for (uint32_t i = 0; i < got->products; i++) {
        const tn_program_step *step = &program->step[i];
        const tn_product_layout *p = &got->product[i];
        play_tensor(&got->tensor[step->a], p, left, p->issued.left);
        play_tensor(&got->tensor[step->b], p, right, p->issued.right);
        play_tensor(&got->tensor[step->out], p, result, p->issued.result);
        uint64_t reading = p->terms * p->read_cycles;
        if (p->write_cycles > p->read_cycles) reading += p->write_cycles - p->read_cycles;
        issues += p->tiles * p->terms * p->read_cycles;
        cycles += p->tiles * reading;
    }
    assert_int_equal(issues, got->issue_cycles);
    assert_int_equal(cycles, got->cycles);
    assert_true(got->cycles >= got->bound_cycles && got->exact == (got->cycles == got->bound_cycles));
    for (uint32_t t = 0; t < got->tensors; t++) play_places(&got->tensor[t]);
}

/* A step's demands: rows of one size, activations in words of tokens x features; with `turns`, where 2^row_log << turns features
 * are a box, turned once more after them. */
static tn_layout_demand *demands_of(const tn_program *program, uint8_t row_log, const uint8_t *turns) {
    static tn_layout_demand demand[256];
    assert_true(program->tensors <= 256);
    for (uint32_t t = 0; t < program->tensors; t++) {
        tn_role role = program->tensor[t].role;
        bool shared = role == TN_ROLE_X || role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_DY;
        uint8_t features = row_log < 1 ? 0 : 1;
        demand[t] =
            (tn_layout_demand){.row_log = row_log, .has_row = true, .is_updated = true, .is_shared = shared};
        demand[t].feature_log = features;
        demand[t].token_log = (uint8_t)(row_log - features);
        const tn_indices *indices = &program->tensor[t].indices;
        uint64_t size[TN_LAYOUT_AXES];
        for (uint32_t k = 1; k < indices->count; k++) size[k - 1] = program->index_size[indices->index[k]];
        if (turns && indices->count > 1 &&
            tn_layout_is_box(size, indices->count - 1, (uint32_t)row_log + *turns))
            demand[t].turn_log = (uint8_t)(row_log - features + *turns);
    }
    return demand;
}

static void every_access_played(void **state) {
    (void)state;
    static const char *const specs[] = {atis, "tt:m=4x6,n=6x4,rank=5,tokens=7",
                                        "ttm:m=4x4x3,n=3x4x4,rank=6,tokens=8"};
    static const tn_kernel_edges edges[] = {{4, 4, 4, false}, {8, 4, 8, false}, {2, 2, 1, false},
                                            {6, 3, 5, false}, {1, 1, 8, false}, {16, 16, 16, false}};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const tn_program program = program_of(specs[s], TN_FLOW_OPTIMAL);
        for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
            uint64_t cycles[4];
            for (int banking = 0; banking < 4; banking++) {
                tn_layouts got = find(&program, &edges[e], (tn_banking)banking, TN_LEAST_CYCLES, NULL);
                if (s > 0 || e < 2) check_played(&program, &got);
                cycles[banking] = got.cycles;
                assert_true(got.issue_cycles >= ideal_of(&program, &edges[e]));
                if (s == 0) continue;
                got = find(&program, &edges[e], (tn_banking)banking, TN_LEAST_CYCLES,
                           demands_of(&program, 4, NULL));
                check_played(&program, &got);
                for (uint32_t t = 0; t < got.tensors; t++) {
                    if (program.tensor[t].role != TN_ROLE_CORE_GRADIENT) continue;
                    const tn_tensor_layout *core = &got.tensor[program.tensor[t].core + 1];
                    assert_memory_equal(&got.tensor[t], core, sizeof *core);
                }
            }
            assert_true(cycles[TN_BANKING_AUTO] <= cycles[TN_BANKING_WORD]);
        }
    }
}

/* Rows of banks that are turned along the features: every access played, none slower than where they are not. */
static void turned_banks_played(void **state) {
    (void)state;
    static const char *const specs[] = {"tt:m=6x4x4,n=4x4x6,rank=5,tokens=7",
                                        "ttm:m=4x4x3,n=3x4x4,rank=6,tokens=8",
                                        "ttm:m=3x8x8,n=5x2x8,rank=4,tokens=6"};
    static const tn_kernel_edges edges[] = {{4, 4, 4, 0}, {8, 4, 8, 0}, {2, 2, 1, 0}, {16, 2, 8, 0}};
    uint64_t turned = 0, faster = 0;
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const tn_program program = program_of(specs[s], TN_FLOW_OPTIMAL);
        for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
            for (uint8_t row_log = 2; row_log <= 4; row_log++)
                for (uint8_t turns = 0; turns < 3; turns++) {
                    const tn_layouts plain = find(&program, &edges[e], TN_BANKING_ROWS, TN_LEAST_CYCLES,
                                                  demands_of(&program, row_log, NULL)),
                                     got = find(&program, &edges[e], TN_BANKING_ROWS, TN_LEAST_CYCLES,
                                                demands_of(&program, row_log, &turns));
                    check_played(&program, &got);
                    for (uint32_t t = 0; t < got.tensors; t++)
                        for (uint32_t k = 0; k < got.tensor[t].axes; k++)
                            turned += got.tensor[t].axis[k].turn > 0;
                    faster += got.cycles < plain.cycles;
                }
    }
    assert_true(turned > 0 && faster > 0);
}

static uint64_t blocks_of(const tn_tensor_layout *layout) {
    tn_blocks made;
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, 32 * layout->row_elements,
                                      layout->depth, false, &made, NULL),
                     TN_OK);
    return made.bram18;
}

/* On tiles of 4 the cores of rank 14 take the blocks of rank 16. */
static void ranks_are_padded(void **state) {
    (void)state;
    const tn_kernel_edges edges = {4, 4, 4, false};
    const tn_program small = program_of("tt:m=12x8x8,n=8x8x12,rank=14,tokens=32", TN_FLOW_BIDIRECTIONAL),
                     large = program_of("tt:m=12x8x8,n=8x8x12,rank=16,tokens=32", TN_FLOW_BIDIRECTIONAL);
    tn_layouts of_small = find(&small, &edges, TN_BANKING_WORD, TN_LEAST_CYCLES, NULL),
               of_large = find(&large, &edges, TN_BANKING_WORD, TN_LEAST_CYCLES, NULL);
    uint64_t blocks[2] = {0};
    for (uint32_t t = 0; t < of_small.tensors; t++) {
        const tn_tensor_layout *a = &of_small.tensor[t], *b = &of_large.tensor[t];
        if (small.tensor[t].role != TN_ROLE_CORE) continue;
        blocks[0] += blocks_of(a);
        blocks[1] += blocks_of(b);
    }
    assert_int_equal(blocks[0], blocks[1]);
}

/* 2^log features lie together in every folding, or do not. */
static void boxes(void **state) {
    (void)state;
    const uint64_t atis_in[] = {12, 8, 8}, atis_out[] = {8, 8, 12}, odd[] = {5}, powers[] = {3, 4, 2};
    assert_true(tn_layout_is_box(atis_in, 3, 6) && tn_layout_is_box(atis_in, 3, 7));
    assert_true(tn_layout_is_box(atis_in, 3, 8) && !tn_layout_is_box(atis_in, 3, 9));
    assert_true(tn_layout_is_box(atis_out, 3, 2) && !tn_layout_is_box(atis_out, 3, 3));
    assert_true(tn_layout_is_box(odd, 1, 0) && !tn_layout_is_box(odd, 1, 1));
    assert_true(tn_layout_is_box(powers, 3, 3) && !tn_layout_is_box(powers, 3, 4));
}

static void every_request_fails(void **state) {
    (void)state;
    const tn_program program = program_of("tt:m=4x6,n=6x4,rank=5,tokens=7", TN_FLOW_OPTIMAL);
    const tn_kernel_edges edges = {4, 2, 4, false};
    for (uint64_t index = 1; index < 1000; index++) {
        tn_arena own = {0};
        tn_layouts layouts;
        tn_memory_fail_at(index);
        tn_status status = find_in(&own, &program, &edges, TN_BANKING_AUTO, TN_LEAST_CYCLES, NULL, &layouts);
        tn_memory_fail_at(0);
        tn_arena_free(&own);
        if (status == TN_OK) return;
        assert_int_equal(status, TN_MEMORY);
    }
    fail();
}

/* Cycles that do not fit fail each time that they are asked for, whatever was found of the product before. */
static void failures_are_not_remembered(void **state) {
    (void)state;
    const tn_program program = program_of("tt:m=4x6,n=6x4,rank=5,tokens=7", TN_FLOW_OPTIMAL);
    const tn_kernel_edges edges = {4, 4, 4, 0};
    const tn_lane fits = {.multiply.stages = 4, .sum.stages = 7, .group = 1},
                  long_sum = {.multiply.stages = 4, .sum.stages = UINT64_MAX / 4, .group = 1};
    const tn_matmul kernel = {4, 4, 4, fits, false}, too_long = {4, 4, 4, long_sum, false};
    tn_layout_demand *demand;
    tn_laid_layers layers;
    tn_laid_layer *layer;
    uint64_t cycles, again;
    assert_int_equal(tn_laid_layers_begin(&layers, &arena, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, program.tensors, &demand, NULL), TN_OK);
    assert_int_equal(tn_laid_layer_find(&layers, &program, &edges, TN_BANKING_WORD, demand, &layer, NULL),
                     TN_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tn_laid_layer_cycles(&layers, layer, true, 0, &too_long, &cycles, NULL),
                         TN_OVERFLOW);
    assert_int_equal(tn_laid_layer_cycles(&layers, layer, true, 0, &kernel, &cycles, NULL), TN_OK);
    assert_int_equal(tn_laid_layer_cycles(&layers, layer, true, 0, &kernel, &again, NULL), TN_OK);
    assert_true(cycles > 0 && cycles == again);
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atis_layer),
        cmocka_unit_test(every_access_played),
        cmocka_unit_test(turned_banks_played),
        cmocka_unit_test(ranks_are_padded),
        cmocka_unit_test(boxes),
        cmocka_unit_test(every_request_fails),
        cmocka_unit_test(failures_are_not_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
