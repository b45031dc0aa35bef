#include "train/gradients.h"

#include "model/operation.h"

#include <math.h>

/* The gradient that operation `i` updates a parameter by; false: it is no update. */
static bool is_update(const tn_lowered_step *lowered, uint32_t i, uint32_t *gradient) {
    const tn_operation *o = &lowered->step.operation[i];
    *gradient = o->read_count > 1 ? o->reads[1] : 0;
    return tn_operation_is_update(o);
}

/* All parameters' gradients together, by one factor. Source: Pascanu, Mikolov, Bengio, On the difficulty of training
 * recurrent neural networks, ICML 2013. */
void tn_clip_gradients(const tn_step_run *r) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    const tn_kernels *k = r->t->kernels;
    double squares = 0;
    uint32_t gradient;
    for (uint32_t i = lowered->update_begin; i < lowered->step.operations; i++)
        if (is_update(lowered, i, &gradient))
            squares += k->square_sum(tn_array_values(r, gradient), lowered->step.array[gradient].elements);
    double norm = sqrt(squares);
    if (!(norm > r->t->settings.clip_norm)) return;
    for (uint32_t i = lowered->update_begin; i < lowered->step.operations; i++)
        if (is_update(lowered, i, &gradient))
            k->scale(tn_array_values(r, gradient), lowered->step.array[gradient].elements,
                     r->t->settings.clip_norm / norm);
}

void tn_note_gradients(const tn_step_run *r) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    tn_gradient_sums *sums = &r->t->gradients;
    uint32_t gradient;
    for (uint32_t i = lowered->update_begin; i < lowered->step.operations; i++)
        if (is_update(lowered, i, &gradient))
            tn_gradient_sums_add(sums, r->t->kernels, tn_array_values(r, gradient),
                                 lowered->step.array[gradient].elements);
    tn_gradient_sums_step(sums);
}

tn_status tn_trainer_note_gradients(tn_trainer *t, tn_error *error) {
    const tn_lowered_step *lowered = &t->whole->lowered;
    uint64_t elements = 0;
    uint32_t gradient;
    if (!lowered->updates_last)
        return tn_fail(
            error, TN_INPUT,
            "the variance of gradients needs all gradients of a step at once; with `update.when: "
            "write-back`, or predicted_gradients, a parameter is updated as soon as its own is there");
    for (uint32_t i = lowered->update_begin; i < lowered->step.operations; i++)
        if (is_update(lowered, i, &gradient)) elements += lowered->step.array[gradient].elements;
    tn_gradient_sums_free(&t->gradients);
    return tn_gradient_sums_make(&t->gradients, elements, error);
}

void tn_trainer_gradient_noise(tn_trainer *t, tn_gradient_noise *noise) {
    tn_gradient_sums_take(&t->gradients, &noise->variance, &noise->mean_square, &noise->steps);
}
