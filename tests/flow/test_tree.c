#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"
#include "flow/tree.h"
#include "support/brute.h"

/* The bidirectional tree of the worked example (tensors X, G1..G6). */
static tn_merge bidirectional[] = {{1, 2}, {7, 3}, {6, 5}, {9, 4}, {0, 10}, {11, 8}};
static tn_merge mirrored[] = {{5, 6}, {4, 7}, {2, 1}, {3, 9}, {8, 0}, {10, 11}};
static const char example[] = "abcd,ef,fgh,hij,jbk,kcl,ld->aegi",
                  example_sizes[] = "a=32,b=8,c=8,d=12,e=12,f=12,g=8,h=12,i=8,j=12,k=12,l=12";

static void cost_of_the_example(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum(example, example_sizes, &arena);
    tn_tree tree = {7, bidirectional};
    tn_tree_cost cost;
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);
    assert_int_equal(cost.macs, 838656);
    assert_int_equal(cost.largest_intermediate, 24576);
    /* Inputs 24,576 + 4,896; both halves of 9,216 elements, K r = 384 and Y live at the last merge. */
    assert_int_equal(cost.peak_elements, 24576 + 4896 + 9216 + 384 + 24576);
    tn_arena_free(&arena);
}

static void merges_of_the_example(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum(example, example_sizes, &arena);
    tn_tree tree = {7, bidirectional};
    uint64_t *elements, *macs;
    assert_int_equal(tn_tree_merges(&network, &tree, &arena, &elements, &macs, NULL), TN_OK);
    static const uint64_t made[] = {1152, 9216, 1152, 9216, 384, 24576};
    static const uint64_t spent[] = {13824, 110592, 13824, 110592, 294912, 294912};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(elements[i], made[i]);
        assert_int_equal(macs[i], spent[i]);
    }
    tn_arena_free(&arena);
}

static void equality_is_of_sets(void **state) {
    (void)state;
    tn_tree a = {7, bidirectional}, b = {7, mirrored};
    assert_true(tn_tree_equal(&a, &b));
    tn_merge other[] = {{1, 2}, {7, 3}, {4, 5}, {9, 6}, {0, 10}, {11, 8}};
    tn_tree c = {7, other}, shorter = {6, bidirectional};
    assert_false(tn_tree_equal(&a, &c));
    assert_false(tn_tree_equal(&a, &shorter));
}

static void text(void **state) {
    (void)state;
    tn_arena arena = {0};
    static const char *tensor_name[] = {"X", "G1", "G2"}, *index_name[] = {"a", "b", "c", "d"};
    tn_network network = test_einsum("ab,bc,cd->ad", "a=2,b=3,c=4,d=5", &arena);
    network.tensor_name = tensor_name;
    network.index_name = index_name;
    tn_merge merges[] = {{1, 2}, {0, 3}};
    tn_tree tree = {3, merges};
    tn_buffer out = {0};
    tn_tree_expression(&network, &tree, &out);
    assert_string_equal(out.data, "(X (G1 G2))");
    tn_buffer_free(&out);
    tn_tree_draw(&network, &tree, &out);
    assert_string_equal(out.data, "merge         elements                 MACs   tree\n"
                                  "    2               10                   30   result [a d]\n"
                                  "                     6                        ├─ X [a b]\n"
                                  "    1               15                   60   └─ * [b d]\n"
                                  "                    12                           ├─ G1 [b c]\n"
                                  "                    20                           └─ G2 [c d]\n");
    tn_buffer_free(&out);
    tn_arena_free(&arena);
}

static void broken_paths_are_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum("ab,bc,cd->ad", "a=2,b=3,c=4,d=5", &arena);
    tn_error error;
    tn_merge self[] = {{1, 1}, {0, 3}}, twice[] = {{0, 1}, {0, 3}}, early[] = {{0, 3}, {1, 2}};
    tn_merge *const bad[] = {self, twice, early};
    for (int i = 0; i < 3; i++) {
        tn_tree tree = {3, bad[i]};
        assert_int_equal(tn_tree_check(&network, &tree, &error), TN_INPUT);
        tn_tree_cost cost;
        assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, &error), TN_INPUT);
        assert_false(tn_tree_equal(&tree, &tree));
    }
    tn_tree wrong = {2, twice};
    assert_int_equal(tn_tree_check(&network, &wrong, &error), TN_INPUT);
    tn_arena_free(&arena);
}

static void overflow_is_reported(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error;
    tn_tree_cost cost;
    tn_network network =
        test_einsum("ab,bc->ac", "a=4194304,b=1048576,c=4194304", &arena); /* 2^22 2^20 2^22 */
    tn_merge merge = {0, 1};
    tn_tree tree = {2, &merge};
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, &error), TN_OVERFLOW);
    assert_non_null(strstr(error.message, "MACs"));
    network = test_einsum("ab,bc->ac", "a=4294967296,b=1,c=4294967296", &arena);
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, &error), TN_OVERFLOW);
    network = test_einsum("ab,bc->ac", "a=4294967296,b=1,c=4294967293", &arena); /* fits, just */
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, &error), TN_OK);
    tn_arena_free(&arena);
}

/* A random tree in a random order. */
static tn_tree random_tree(uint32_t tensors, uint64_t *state, tn_arena *arena) {
    tn_tree tree = {tensors, NULL};
    uint32_t alive[TN_TENSORS_MOST], count = tensors;
    assert_int_equal(TN_NEW(arena, tensors, &tree.merge, NULL), TN_OK);
    for (uint32_t t = 0; t < tensors; t++) alive[t] = t;
    for (uint32_t i = 0; i + 1 < tensors; i++) {
        uint32_t pair[2];
        for (int side = 0; side < 2; side++) {
            uint32_t place = (uint32_t)(test_random(state) % count);
            pair[side] = alive[place];
            alive[place] = alive[--count];
        }
        tree.merge[i] = (tn_merge){pair[0], pair[1]};
        alive[count++] = tensors + i;
    }
    return tree;
}

/* Least peak of finishing the tree once the merges in `done` are done: by the definition, over all orders. */
static uint64_t least_peak(const tn_tree *tree, const uint64_t *elements, uint64_t *memo, uint32_t done,
                           uint64_t live) {
    uint32_t n = tree->tensors;
    if (done == ((uint32_t)1 << (n - 1)) - 1) return 0;
    if (memo[done]) return memo[done];
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_merge m = tree->merge[i];
        if (done >> i & 1 || (m.a >= n && !(done >> (m.a - n) & 1)) || (m.b >= n && !(done >> (m.b - n) & 1)))
            continue;
        uint64_t here = live + elements[i], after = here;
        if (m.a >= n) after -= elements[m.a - n];
        if (m.b >= n) after -= elements[m.b - n];
        uint64_t later = least_peak(tree, elements, memo, done | (uint32_t)1 << i, after);
        uint64_t peak = later > here ? later : here;
        if (peak < best) best = peak;
    }
    return memo[done] = best;
}

static void reorder_is_exact(void **state) {
    (void)state;
    static uint64_t memo[1 << 11];
    unsigned improved = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        tn_arena arena = {0};
        uint64_t random = seed;
        test_random_network kind = {
            .tensors = 2 + (uint32_t)(seed % 11), .most_indices = 14, .most_size = 5, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        tn_tree tree = random_tree(network.tensors, &random, &arena), ordered = tree;
        uint64_t *elements, *macs, inputs;
        tn_tree_cost before, after;
        assert_int_equal(TN_NEW(&arena, tree.tensors, &ordered.merge, NULL), TN_OK);
        memcpy(ordered.merge, tree.merge, (tree.tensors - 1) * sizeof *tree.merge);
        assert_int_equal(tn_network_input_elements(&network, &inputs, NULL), TN_OK);
        assert_int_equal(tn_tree_merges(&network, &tree, &arena, &elements, &macs, NULL), TN_OK);
        assert_int_equal(tn_tree_cost_of(&network, &tree, &before, NULL), TN_OK);
        assert_int_equal(tn_tree_reorder(&network, &ordered, &arena, NULL), TN_OK);
        assert_int_equal(tn_tree_cost_of(&network, &ordered, &after, NULL), TN_OK);
        memset(memo, 0, sizeof memo);
        assert_int_equal(after.peak_elements, inputs + least_peak(&tree, elements, memo, 0, 0));
        assert_int_equal(after.macs, before.macs);
        assert_int_equal(after.largest_intermediate, before.largest_intermediate);
        assert_true(tn_tree_equal(&tree, &ordered));
        improved += after.peak_elements < before.peak_elements;
        tn_arena_free(&arena);
    }
    assert_true(improved > 100);
}

/* One tensor: nothing to merge. */
static void single_tensor(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum("ab->a", "a=2,b=3", &arena);
    tn_tree tree = {1, NULL};
    tn_tree_cost cost;
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);
    assert_true(cost.macs == 0 && cost.peak_elements == 6 && cost.largest_intermediate == 0);
    assert_int_equal(tn_tree_reorder(&network, &tree, &arena, NULL), TN_OK);
    tn_arena_free(&arena);
}

static tn_status everything(const tn_network *network, const tn_merge *merges, tn_arena *arena) {
    tn_tree tree = {network->tensors, NULL};
    tn_tree_cost cost;
    tn_buffer out = {0};
    TN_TRY(tn_arena_alloc(arena, tree.tensors, sizeof *merges, &tree.merge, NULL));
    memcpy(tree.merge, merges, (tree.tensors - 1) * sizeof *merges);
    TN_TRY(tn_tree_reorder(network, &tree, arena, NULL));
    TN_TRY(tn_tree_cost_of(network, &tree, &cost, NULL));
    tn_tree_draw(network, &tree, &out);
    tn_status status = out.status;
    tn_buffer_free(&out);
    return status;
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum(example, example_sizes, &arena);
    tn_status status = TN_MEMORY;
    for (long n = 1; status != TN_OK; n++) {
        tn_arena scratch = {0};
        tn_memory_fail_at(n);
        status = everything(&network, bidirectional, &scratch);
        tn_memory_fail_at(0);
        tn_arena_free(&scratch);
        assert_true(status == TN_OK || status == TN_MEMORY);
        assert_true(n < 1000);
    }
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_of_the_example),
        cmocka_unit_test(merges_of_the_example),
        cmocka_unit_test(equality_is_of_sets),
        cmocka_unit_test(text),
        cmocka_unit_test(broken_paths_are_refused),
        cmocka_unit_test(overflow_is_reported),
        cmocka_unit_test(reorder_is_exact),
        cmocka_unit_test(single_tensor),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
