/* Layouts as they are told: every element of every array of a transformer's step gets a place of its own in the rows that
 * the price gives the array, and blocks are as many as the products ask for. */
#include "design/array_layout.h"
#include "price/plan.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Puts every element of a slice into its row, bank and place in the word; how many places that takes, and how many rows. */
static void play(const tn_array_layout *layout, uint64_t elements) {
    uint64_t word = layout->row_elements / layout->banks, rows = layout->depth / layout->slices,
             entry[64] = {0};
    unsigned char *taken = calloc(rows * layout->row_elements, 1);
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t row = 0, bank = 0, place = 0;
        for (uint32_t k = 0; k < layout->axes; k++) {
            uint64_t c = entry[k] / layout->word[k],
                     words = (layout->size[k] + layout->word[k] - 1) / layout->word[k];
            row = row * ((words + layout->divide[k] - 1) / layout->divide[k]) + c / layout->divide[k];
            bank += layout->skew[k] * c + (layout->turn[k] ? c / layout->turn[k] : 0);
            place = place * layout->word[k] + entry[k] % layout->word[k];
        }
        bank %= layout->banks;
        assert_true(row < rows && place < word);
        unsigned char *here = &taken[(row * layout->banks + bank) * word + place];
        if (*here) fail_msg("%s: two elements in one place", layout->name);
        *here = 1;
        for (uint32_t k = layout->axes; k-- > 0 && ++entry[k] == layout->size[k];) entry[k] = 0;
    }
    free(taken);
}

static void check_places(const char *keys) {
    static const uint32_t splits[] = {TN_SPLIT_RESHAPE, TN_SPLIT_BANKS, TN_SPLIT_PARTITION, TN_SPLIT_AUTO};
    tn_arena arena = {0};
    tn_device *device;
    tn_workload *workload;
    tn_build build;
    tn_model *model = test_model_loaded("../tests/space/data/small-transformer", NULL, &arena);
    assert_int_equal(tn_model_change(model, keys, &arena, &model, NULL), TN_OK);
    const tn_step step = test_step_of(model, &arena);
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    assert_int_equal(tn_workload_prepare(&step, device, &arena, &workload, NULL), TN_OK);
    for (size_t s = 0; s < 2 * (sizeof splits / sizeof *splits); s++) {
        const tn_array_layout *layout;
        tn_plan *plan;
        uint64_t blocks = 0, issues = 0;
        build.split = splits[s / 2];
        build.skew = s % 2;
        assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
        assert_int_equal(tn_plan_lay(workload, plan, &build, NULL), TN_OK);
        assert_int_equal(tn_array_layouts_tell(workload, plan, &arena, &layout, NULL), TN_OK);
        for (uint32_t a = 0; a < step.arrays; a++) {
            const tn_array_layout *array_layout = &layout[a];
            uint64_t slice = 1;
            assert_true(array_layout->axes > 0 || step.array[a].elements == 1);
            for (uint32_t k = 0; k < array_layout->axes; k++) slice *= array_layout->size[k];
            assert_int_equal(slice * array_layout->slices, step.array[a].elements);
            assert_true(array_layout->padded_elements >= step.array[a].elements);
            if (plan->laid->depth[a]) assert_true(array_layout->depth <= plan->laid->depth[a]);
            play(array_layout, slice);
            for (uint32_t i = 0; i < array_layout->uses; i++)
                if (strcmp(array_layout->use[i].operand, "left") == 0) blocks += array_layout->use[i].blocks;
        }
        for (uint32_t i = 0; i < step.operations; i++) {
            const tn_operation *operation = &step.operation[i];
            const tn_program *program = step.layer[operation->layer].program;
            if (operation->kind != TN_OP_PRODUCT || !operation->program_step) continue;
            const tn_product_layout *product =
                &plan->laid->layer[operation->layer]->product[operation->program_step - program->step];
            issues += product->tiles * product->terms;
        }
        assert_int_equal(blocks, issues);
    }
    tn_arena_free(&arena);
}

static void every_element_has_a_place(void **state) {
    check_places("optimizer: adam\n");
    check_places("optimizer: adam\nratio: [0.4]\n");
    test_models_end(state);
}

static void ideal_layouts_are_not_told(void **state) {
    tn_arena arena = {0};
    tn_device *device;
    tn_workload *workload;
    tn_build build;
    tn_plan *plan;
    const tn_array_layout *layout;
    tn_model *model = test_model_loaded("../tests/space/data/small-transformer", NULL, &arena);
    const tn_step step = test_step_of(model, &arena);
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.layouts = TN_LAID_IDEALLY;
    assert_int_equal(tn_workload_prepare(&step, device, &arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, &build, NULL), TN_OK);
    assert_int_equal(tn_array_layouts_tell(workload, plan, &arena, &layout, NULL), TN_OK);
    assert_null(layout);
    test_models_end(state);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_has_a_place),
        cmocka_unit_test(ideal_layouts_are_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
