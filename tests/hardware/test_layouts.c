/* Layouts of a layer's tensors: the ATIS layer's 18 products against figures of an independent search, and every
 * access played element by element. */
#include "hardware/layouts.h"

#include "base/memory.h"
#include "hardware/memory.h"
#include "tensor/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;

static tn_program program_of(const char *spec, tn_flow_name flow) {
    tn_weight weight;
    uint64_t tokens;
    tn_program program;
    tn_error error;
    const tn_program_options options = {.training = true};
    if (tn_spec_parse(spec, (tn_position){0}, &weight, &tokens, &error) != TN_OK ||
        tn_program_named(&weight, tokens, flow, &options, &arena, &program, &error) != TN_OK)
        fail_msg("%s: %s", spec, error.message);
    return program;
}

static tn_layouts find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                       const tn_activation_word *activations) {
    tn_layouts layouts;
    assert_int_equal(tn_layouts_find(program, edges, banking, activations, &arena, &layouts, NULL), TN_OK);
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
    } rows[] = {
        {{4, 4, 4}, 1}, {{8, 4, 8}, 1.11}, {{16, 4, 8}, 1.34}, {{8, 4, 16}, 1.70}, {{16, 2, 16}, 2.19}};
    const tn_program program = program_of(atis, TN_FLOW_BIDIRECTIONAL);
    assert_int_equal(program.steps, 18);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_kernel_edges *e = &rows[i].edges;
        tn_layouts got = find(&program, e, TN_BANKING_WORD, NULL);
        double ratio = (double)got.issue_cycles / (double)ideal_of(&program, e);
        printf("%2ux%ux%-2u %.3f of the ideal issues\n", (unsigned)e->rows, (unsigned)e->columns,
               (unsigned)e->reduction, ratio);
        assert_true(ratio >= 1 && ratio <= rows[i].most);
        for (uint32_t t = 0; t < got.tensors; t++) assert_int_equal(got.tensor[t].banks, 1);
    }
}

/* ---- every access, played ---- */

/* Edge of a block along an index; 1 where it is not cut. */
static uint64_t edge_along(const tn_product_layout *p, uint32_t index) {
    for (int g = 0; g < 3; g++)
        for (uint32_t k = 0; k < p->cut[g].indices; k++)
            if (p->cut[g].index[k] == index) return p->cut[g].edge[k];
    return 1;
}

/* Cycles of the slowest block of the tensor: words that its elements touch, bank by bank. The full skew is not
 * played: which forms it needs depends on all uses. */
static uint64_t play_tensor(const tn_tensor_layout *of, const tn_product_layout *p) {
    enum { SEEN_MOST = 4096 };
    uint64_t block[TN_LAYOUT_AXES], first[TN_LAYOUT_AXES] = {0}, most = 0;
    for (uint32_t i = 0; i < of->axes; i++) block[i] = edge_along(p, of->index[i]);
    for (;;) {
        uint64_t x[TN_LAYOUT_AXES], seen[SEEN_MOST], bank_words[1024] = {0}, count = 0;
        memcpy(x, first, sizeof x);
        for (;;) {
            uint64_t word = 0, bank = 0, at = 0;
            for (uint32_t i = 0; i < of->axes; i++) {
                uint64_t c = x[i] / of->edge[i];
                word = word * (of->size[i] + 1) + c;
                bank += c;
            }
            while (at < count && seen[at] != word) at++;
            if (at == count) {
                assert_true(count < SEEN_MOST);
                seen[count++] = word;
                uint64_t in_bank = ++bank_words[bank % of->banks];
                if (in_bank > most) most = in_bank;
            }
            uint32_t axis = of->axes;
            while (axis-- > 0) {
                if (++x[axis] < first[axis] + block[axis] && x[axis] < of->size[axis]) break;
                x[axis] = first[axis];
            }
            if (axis == UINT32_MAX) break;
        }
        uint32_t axis = of->axes;
        while (axis-- > 0) {
            first[axis] += block[axis];
            if (first[axis] < of->size[axis]) break;
            first[axis] = 0;
        }
        if (axis == UINT32_MAX) return most;
    }
}

/* Two indices of one group may take fewer turns in the banks than they are given. */
static void check_access(const tn_product_layout *p, uint64_t cycles, uint64_t played, bool full_skew) {
    bool two = p->cut[0].indices > 1 || p->cut[1].indices > 1 || p->cut[2].indices > 1;
    if (full_skew) return;
    assert_true(played <= cycles);
    if (!two) assert_int_equal(played, cycles);
}

static void check_played(const tn_program *program, const tn_layouts *got) {
    uint64_t issues = 0, cycles = 0;
    for (uint32_t i = 0; i < got->products; i++) {
        const tn_program_step *step = &program->step[i];
        const tn_product_layout *p = &got->product[i];
        uint64_t left = play_tensor(&got->tensor[step->a], p), right = play_tensor(&got->tensor[step->b], p);
        check_access(p, p->read_cycles, left > right ? left : right,
                     got->tensor[step->a].full_skew || got->tensor[step->b].full_skew);
        check_access(p, p->write_cycles, play_tensor(&got->tensor[step->out], p),
                     got->tensor[step->out].full_skew);
        uint64_t reading = p->tiles * p->terms * p->read_cycles, writing = p->tiles * p->write_cycles;
        issues += reading;
        cycles += reading > writing ? reading : writing;
    }
    assert_int_equal(issues, got->issue_cycles);
    assert_int_equal(cycles, got->cycles);
    assert_true(got->cycles >= got->bound_cycles && got->exact == (got->cycles == got->bound_cycles));
    for (uint32_t t = 0; t < got->tensors; t++) {
        const tn_tensor_layout *of = &got->tensor[t];
        uint64_t words = 1, elements = 1;
        for (uint32_t i = 0; i < of->axes; i++) {
            words *= over(of->size[i], of->edge[i]);
            elements *= of->size[i];
        }
        if (!of->full_skew)
            assert_int_equal(of->words, over(words, of->banks));
        else
            assert_int_equal(of->words, over(elements, of->word_elements));
    }
}

static void every_access_played(void **state) {
    (void)state;
    static const char *const specs[] = {atis, "tt:m=4x6,n=6x4,rank=5,tokens=7",
                                        "ttm:m=4x4x3,n=3x4x4,rank=6,tokens=8"};
    static const tn_kernel_edges edges[] = {{4, 4, 4}, {8, 4, 8}, {2, 2, 1},
                                            {6, 3, 5}, {1, 1, 8}, {16, 16, 16}};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const tn_program program = program_of(specs[s], TN_FLOW_OPTIMAL);
        for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
            uint64_t cycles[4];
            for (int banking = 0; banking < 4; banking++) {
                tn_layouts got = find(&program, &edges[e], (tn_banking)banking, NULL);
                check_played(&program, &got);
                cycles[banking] = got.cycles;
                assert_true(got.issue_cycles >= ideal_of(&program, &edges[e]));
            }
            assert_true(cycles[TN_BANKING_AUTO] <= cycles[TN_BANKING_WORD]);
        }
    }
}

static uint64_t blocks_of(const tn_tensor_layout *of) {
    tn_blocks made;
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, 32 * of->word_elements, of->words,
                                      false, &made, NULL),
                     TN_OK);
    return made.bram18;
}

/* On tiles of 4 the cores of rank 14 take the blocks of rank 16. */
static void ranks_are_padded(void **state) {
    (void)state;
    const tn_kernel_edges edges = {4, 4, 4};
    const tn_program small = program_of("tt:m=12x8x8,n=8x8x12,rank=14,tokens=32", TN_FLOW_BIDIRECTIONAL),
                     large = program_of("tt:m=12x8x8,n=8x8x12,rank=16,tokens=32", TN_FLOW_BIDIRECTIONAL);
    tn_layouts of_small = find(&small, &edges, TN_BANKING_WORD, NULL),
               of_large = find(&large, &edges, TN_BANKING_WORD, NULL);
    uint64_t blocks[2] = {0};
    for (uint32_t t = 0; t < of_small.tensors; t++) {
        const tn_tensor_layout *a = &of_small.tensor[t], *b = &of_large.tensor[t];
        if (small.tensor[t].role != TN_ROLE_CORE) continue;
        blocks[0] += blocks_of(a);
        blocks[1] += blocks_of(b);
    }
    assert_int_equal(blocks[0], blocks[1]);
}

/* Activations whose words other layers settled: never faster than free ones may be. */
static void fixed_activations(void **state) {
    (void)state;
    const tn_program program = program_of(atis, TN_FLOW_BIDIRECTIONAL);
    const tn_kernel_edges edges = {4, 4, 4};
    const tn_activation_word square = {4, 4};
    tn_layouts got = find(&program, &edges, TN_BANKING_AUTO, &square);
    for (uint32_t t = 0; t < got.tensors; t++)
        if (program.tensor[t].role == TN_ROLE_X) {
            assert_int_equal(got.tensor[t].edge[0], 4);
            assert_int_equal(got.tensor[t].edge[got.tensor[t].axes - 1], 4);
            assert_int_equal(got.tensor[t].words, 32 * 768 / 16);
        }
    assert_int_equal(got.issue_cycles, ideal_of(&program, &edges));
}

static void every_request_fails(void **state) {
    (void)state;
    const tn_program program = program_of("tt:m=4x6,n=6x4,rank=5,tokens=7", TN_FLOW_OPTIMAL);
    const tn_kernel_edges edges = {4, 2, 4};
    for (uint64_t at = 1; at < 1000; at++) {
        tn_arena own = {0};
        tn_layouts layouts;
        tn_memory_fail_at(at);
        tn_status status = tn_layouts_find(&program, &edges, TN_BANKING_AUTO, NULL, &own, &layouts, NULL);
        tn_memory_fail_at(0);
        tn_arena_free(&own);
        if (status == TN_OK) return;
        assert_int_equal(status, TN_MEMORY);
    }
    fail();
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atis_layer),          cmocka_unit_test(every_access_played),
        cmocka_unit_test(ranks_are_padded),    cmocka_unit_test(fixed_activations),
        cmocka_unit_test(every_request_fails),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
