#include "support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void test_enumerate(const tn_space *space, truth *all, const tn_decomposed *found) {
    tn_evaluator *evaluator;
    tn_archive scaled; /* the found front */
    tn_archive_begin(&all->front, space->objectives);
    tn_archive_begin(&scaled, space->objectives);
    for (size_t i = 0; i < found->count; i++) {
        tn_point point;
        tn_space_point(space, &found->evaluation[i], i, &point);
        assert_int_equal(tn_archive_offer(&scaled, &point, NULL), TN_OK);
    }
    assert_int_equal(tn_evaluator_new(space, &evaluator, NULL), TN_OK);
    for (uint64_t outer = 0; outer < space->outer_count; outer++)
        for (uint64_t inner = 0; inner < space->inner_count; inner++) {
            tn_evaluation evaluation;
            tn_point point;
            uint32_t cause;
            assert_int_equal(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, NULL), TN_OK);
            if (cause != TN_CAUSE_NONE) continue;
            all->feasible++;
            tn_space_point(space, &evaluation, tn_space_id(space, outer, inner), &point);
            assert_int_equal(tn_archive_offer(&all->front, &point, NULL), TN_OK);
            for (size_t k = 0; k < space->objectives; k++)
                point.value[k] = space->objective[k]->maximise ? point.value[k] / found->factor[k]
                                                               : point.value[k] * found->factor[k];
            if (!tn_archive_covers(&scaled, point.value))
                fail_msg("design %llu is not covered", (unsigned long long)point.id);
        }
    tn_evaluator_free(evaluator);
    tn_archive_free(&scaled);
}
