#include "support/every_design.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

bool test_has_price(const test_design *design) {
    return design->status == TN_OK && design->cause != TN_CAUSE_UNDEFINED &&
           design->cause != TN_CAUSE_OVERFLOW && design->cause != TN_CAUSE_LIMIT;
}

static void price_one(const tn_space *space, uint64_t id, test_design *sample, tn_error *error) {
    tn_evaluator *evaluator;
    uint64_t outer, inner;
    tn_space_split(space, id, &outer, &inner);
    sample->status = tn_evaluator_new(space, &evaluator, error);
    if (sample->status != TN_OK) return;
    sample->status = tn_evaluate(evaluator, outer, inner, &sample->evaluation, &sample->cause, error);
    tn_evaluator_free(evaluator);
}

/* Whether a is not worse than b in any objective; *equal: in none better either. */
static bool covers(const tn_space *space, const tn_evaluation *a, const tn_evaluation *b, bool *equal) {
    *equal = true;
    for (size_t k = 0; k < space->objectives; k++) {
        const tn_quantity *quantity = space->objective[k];
        double one = quantity->get(a), other = quantity->get(b);
        if (quantity->maximise ? one < other : one > other) return false;
        *equal &= one == other;
    }
    return true;
}

void test_mark_front(const tn_space *space, test_every_design *all, const uint64_t *id) {
    all->front = 0;
    for (uint64_t i = 0; i < all->designs; i++) {
        test_design *sample = &all->design[i];
        sample->on_front = sample->status == TN_OK && sample->cause == TN_CAUSE_NONE;
        for (uint64_t j = 0; j < all->designs && sample->on_front; j++) {
            const test_design *other = &all->design[j];
            bool equal;
            if (i == j || other->status != TN_OK || other->cause != TN_CAUSE_NONE) continue;
            if (covers(space, &other->evaluation, &sample->evaluation, &equal))
                sample->on_front = equal && id[i] < id[j];
        }
        all->front += sample->on_front;
    }
}

test_every_design test_price_every_design(const tn_space *space) {
    test_every_design all = {.designs = space->choices.designs};
    uint64_t *id = malloc(all.designs * sizeof *id);
    all.design = calloc(all.designs, sizeof *all.design);
    assert_non_null(id);
    assert_non_null(all.design);
#pragma omp parallel for schedule(dynamic, 4)
    for (uint64_t i = 0; i < all.designs; i++) {
        tn_error error = {0};
        price_one(space, i, &all.design[i], &error);
        id[i] = i;
#pragma omp critical(test_every_design)
        if (all.design[i].status != TN_OK && all.failed++ == 0) all.error = error;
    }
    for (uint64_t i = 0; i < all.designs; i++)
        all.feasible += all.design[i].status == TN_OK && all.design[i].cause == TN_CAUSE_NONE;
    test_mark_front(space, &all, id);
    free(id);
    return all;
}

void test_every_design_free(test_every_design *all) {
    free(all->design);
    *all = (test_every_design){0};
}
