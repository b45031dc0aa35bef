/* Fused steps against the plain ones: taken apart again, a fused step is the plain one, and what it keeps is what later
 * operations read. */
#include "base/memory.h"
#include "model/model.h"
#include "step/fusion.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    tn_arena arena;
    tn_program_cache *cache;
    tn_step plain, fused;
    const char **plain_name, **fused_name; /* of arrays */
} pair;

static const char **names_of(pair *couple, const tn_step *step) {
    const char **name;
    assert_int_equal(TN_NEW(&couple->arena, step->arrays, &name, NULL), TN_OK);
    for (uint32_t a = 0; a < step->arrays; a++)
        assert_int_equal(tn_step_array_name(step, a, &couple->arena, &name[a], NULL), TN_OK);
    return name;
}

static void load(const char *model, const char *set, bool activations, pair *couple) {
    tn_model *loaded;
    tn_error error;
    *couple = (pair){0};
    if (tn_model_load(model, set ? &set : NULL, set ? 1 : 0, &couple->arena, &loaded, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_program_cache_new(&couple->cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(loaded, couple->cache, &couple->arena, &couple->plain, &error), TN_OK);
    if (tn_step_fuse(&couple->plain, activations, &couple->arena, &couple->fused, &error) != TN_OK)
        fail_msg("%s", error.message);
    couple->plain_name = names_of(couple, &couple->plain);
    couple->fused_name = names_of(couple, &couple->fused);
}

static const char *name_of(const pair *couple, const tn_step *step, uint32_t array) {
    return (step == &couple->plain ? couple->plain_name : couple->fused_name)[array];
}

static bool reads(pair *couple, const tn_operation *operation, const char *name) {
    for (uint32_t k = 0; k < operation->read_count; k++)
        if (strcmp(name_of(couple, &couple->plain, operation->reads[k]), name) == 0) return true;
    return false;
}

/* The fused product against the plain operations from `index` on; where the next one begins. */
static uint32_t take_apart(pair *couple, const tn_operation *fused, uint32_t index) {
    const tn_operation *plain = &couple->plain.operation[index];
    const char *result = name_of(couple, &couple->plain, plain->writes[0]);
    assert_int_equal(fused->kind, plain->kind);
    assert_int_equal(fused->layer, plain->layer);
    assert_int_equal(fused->macs, plain->macs);
    for (uint32_t k = 0; k < plain->read_count; k++)
        assert_string_equal(name_of(couple, &couple->fused, fused->reads[k]),
                            name_of(couple, &couple->plain, plain->reads[k]));
    uint64_t flops = plain->flops;
    for (uint32_t i = 0; i < fused->fused_count; i++) {
        const tn_operation *next = &couple->plain.operation[++index];
        const tn_fused *one = &fused->fused[i];
        assert_int_equal(one->kind, next->kind);
        assert_int_equal(one->layer, next->layer);
        assert_true(reads(couple, next, result));
        if (one->read != UINT32_MAX)
            assert_true(reads(couple, next, name_of(couple, &couple->fused, fused->reads[one->read])));
        assert_int_equal(one->read != UINT32_MAX, next->kind == TN_OP_ADD);
        if (one->keeps) assert_string_equal(name_of(couple, &couple->fused, fused->writes[1]), result);
        result = name_of(couple, &couple->plain, next->writes[0]);
        flops += next->flops;
    }
    assert_string_equal(name_of(couple, &couple->fused, fused->writes[0]), result);
    assert_int_equal(fused->flops, flops);
    return index + 1;
}

/* Whatever is read is a parameter, comes from outside or was written before. */
static void check_order(pair *couple) {
    const tn_step *step = &couple->fused;
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++) {
            const char *name = name_of(couple, step, step->operation[i].reads[k]);
            bool made = false, makes = false;
            for (uint32_t j = 0; j < couple->plain.operations && !makes; j++)
                for (uint32_t w = 0; w < couple->plain.operation[j].write_count; w++)
                    makes |= strcmp(name_of(couple, &couple->plain, couple->plain.operation[j].writes[w]),
                                    name) == 0;
            for (uint32_t j = 0; j <= i && !made; j++)
                for (uint32_t w = 0; w < step->operation[j].write_count; w++)
                    made |= step->operation[j].writes[w] == step->operation[i].reads[k];
            tn_array_role role = step->array[step->operation[i].reads[k]].role;
            if (makes && !made && role != TN_ARRAY_PARAMETER && role != TN_ARRAY_OPTIMIZER)
                fail_msg("operation %u reads %s, which none before it made", (unsigned)i, name);
        }
}

static uint32_t check(const char *model, const char *set, bool activations) {
    pair couple;
    uint32_t index = 0, fused = 0;
    tn_step again;
    load(model, set, activations, &couple);
    for (uint32_t i = 0; i < couple.fused.operations; i++) {
        index = take_apart(&couple, &couple.fused.operation[i], index);
        fused += couple.fused.operation[i].fused_count;
    }
    assert_int_equal(index, couple.plain.operations);
    assert_int_equal(couple.fused.operations + fused, couple.plain.operations);
    check_order(&couple);
    assert_true(couple.fused.peak_elements <= couple.plain.peak_elements);
    assert_true(couple.fused.arrays <= couple.plain.arrays);
    for (int phase = 0; phase < TN_PHASES; phase++) {
        assert_int_equal(couple.fused.macs[phase], couple.plain.macs[phase]);
        assert_int_equal(couple.fused.flops[phase], couple.plain.flops[phase]);
    }
    assert_int_equal(couple.fused.parameters, couple.plain.parameters);
    assert_int_equal(couple.fused.activation_elements, couple.plain.activation_elements);
    assert_int_equal(tn_step_fuse(&couple.fused, activations, &couple.arena, &again, NULL), TN_OK);
    assert_int_equal(again.operations, couple.fused.operations);
    assert_int_equal(again.arrays, couple.fused.arrays);
    tn_program_cache_free(couple.cache);
    tn_arena_free(&couple.arena);
    return fused;
}

/* Six biases and two residuals an encoder, GELU or tanh behind two products. */
static void test_fused_steps(void **state) {
    (void)state;
    const char *kernels = test_source("tests/rtl/data/kernels.yaml");
    static const char *const sets[] = {NULL, "activations.policy=recompute", "phase=inference",
                                       "format=dense"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        uint32_t additions = check("atis-2enc", sets[i], false), all = check("atis-2enc", sets[i], true);
        assert_true(additions > 0 && all > additions);
        check(kernels, i == 1 ? NULL : sets[i], i % 2 == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fused_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
