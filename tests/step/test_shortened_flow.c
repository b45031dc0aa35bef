/* Flows of shorter sentences: one of the cheapest trees is that of the whole length, its steps repeated for fewer tokens. */
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WHOLE = 32, SHORT = 1 };

static const tn_program *program_of(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                                    int flow) {
    const tn_program_options options = {.training = true};
    const tn_program *program;
    assert_int_equal(
        tn_program_cache_get(cache, weight, tokens, (tn_flow_name)flow, &options, &program, NULL), TN_OK);
    assert_int_equal(program->index_size[0], tokens);
    return program;
}

/* The same operands merged in the same order. */
static bool has_same_steps(const tn_program *a, const tn_program *b) {
    bool same = a->steps == b->steps;
    for (uint32_t i = 0; same && i < a->steps; i++)
        same = a->step[i].a == b->step[i].a && a->step[i].b == b->step[i].b &&
               a->step[i].phase == b->step[i].phase;
    return same;
}

static void the_cheapest_trees_keep_their_order(void **state) {
    (void)state;
    tn_weight weight = {.format = TN_TT, .d = 3, .m = {12, 8, 8}, .n = {8, 8, 12}};
    tn_program_cache *cache, *searched;
    int differing = 0;
    assert_int_equal(tn_weight_set_rank(&weight, 12, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&searched, NULL), TN_OK);
    tn_program_cache_shorten(cache, WHOLE, SHORT);
    for (int flow = TN_FLOW_CHEAPEST_2; flow <= TN_FLOW_CHEAPEST_8; flow++) {
        const tn_program *whole = program_of(cache, &weight, WHOLE, flow);
        assert_true(has_same_steps(whole, program_of(cache, &weight, SHORT, flow)));
        differing += !has_same_steps(whole, program_of(searched, &weight, SHORT, flow));
    }
    assert_true(differing > 0); /* of one token another tree has that place */
    tn_program_cache_free(cache);
    tn_program_cache_free(searched);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_trees_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
