#include "search/decomposing.h"

#include "base/interrupt.h"
#include "search/quantity_cost.h"

#include <math.h>
#include <string.h>

tn_status tn_decomposing_status(const tn_decomposing *state, tn_error *error) {
    for (size_t i = 0; i < state->tasks; i++)
        if (state->task[i].status != TN_OK) {
            if (error) *error = state->task[i].error;
            return state->task[i].status;
        }
    return TN_OK;
}

void tn_decomposing_digits(const tn_decomposing *state, const tn_build_task *job, size_t point,
                           uint32_t *digit) {
    const tn_space *space = state->space;
    memcpy(digit, state->key_digit[job->keys], space->choices.count * sizeof *digit);
    for (uint32_t u = 0; u < state->units.count; u++)
        tn_digits_of(&space->choices, state->units.unit[u].axis, state->units.unit[u].axes,
                     job->front.option[u][point], digit);
    tn_digits_of(&space->choices, space->inner, space->inners, job->inner, digit);
}

/* Sums that are six digits but for their rounding, as true ones are; others below what they may be. */
static double learned_at_least(double sum) {
    static const double rounding = 1e-3, below = 1e-12;
    const double digits = round(1e6 * sum);
    return fabs(1e6 * sum - digits) < rounding ? digits / 1e6 : sum - below * fabs(sum);
}

static void set_learned(const tn_layer_table *table, const tn_build_front *front, size_t point,
                        tn_evaluation *bound) {
    const double learned = front->cost[TN_COST_LEARNED][point];
    bound->accuracy = table->learns_more ? -learned_at_least(-learned) : NAN;
    bound->perplexity = table->learns_more ? NAN : learned_at_least(learned);
    bound->accuracy_deviation = learned_at_least(front->cost[TN_COST_DEVIATION][point]);
    bound->accuracy_interpolated = learned_at_least(front->cost[TN_COST_BASIS][point]);
}

tn_evaluation tn_decomposing_bound(const tn_decomposing *state, const tn_build_task *job, size_t point) {
    const tn_layer_table *table = &state->table[job->keys];
    const tn_build_front *front = &job->front;
    tn_evaluation bound = {.steps_per_epoch = table->steps_per_epoch};
    double cycles = front->cost[TN_COST_CYCLES][point];
    /* Sums of fractions may be a rounding error too large. */
    static const double below = 1 - 1e-12;
    bound.price.cycles_per_step = (uint64_t)(cycles == floor(cycles) ? cycles : ceil(cycles * below));
    bound.price.seconds_per_step =
        (double)bound.price.cycles_per_step / (state->space->device->clock_MHz * 1e6);
    double capacity = front->cost[TN_COST_CAPACITY][point];
    bound.price.on_chip_bytes =
        (uint64_t)floor((capacity == floor(capacity) ? capacity : capacity * below) / 8);
    bound.price.used.bram18 = (uint64_t)ceil(front->cost[TN_COST_BRAM18][point] * below);
    bound.price.used.uram = (uint64_t)ceil(front->cost[TN_COST_URAM][point] * below);
    bound.price.used.lut = table->kernels[job->build].lut;
    bound.price.used.ff = table->kernels[job->build].ff;
    bound.price.used.dsp = table->kernels[job->build].dsp;
    bound.price.static_joules_per_step = front->cost[TN_COST_STATIC_JOULES][point] * below;
    bound.price.joules_per_step = /* what is not static is dynamic */
        fmin(front->cost[TN_COST_JOULES][point] * below,
             bound.price.static_joules_per_step + front->cost[TN_COST_DYNAMIC_JOULES][point] * below);
    bound.price.watts = front->cost[TN_COST_WATTS][point] * below;
    set_learned(table, front, point, &bound);
    bound.price.off_chip_bytes = (uint64_t)front->cost[TN_COST_OFF_CHIP][point];
    bound.price.off_chip_bytes_per_step = (uint64_t)front->cost[TN_COST_MOVED][point];
    bound.degrees_of_freedom = (uint64_t)front->cost[TN_COST_DEGREES][point];
    bound.parameters = (uint64_t)front->cost[TN_COST_PARAMETERS][point];
    bound.macs_per_step = (uint64_t)front->cost[TN_COST_MACS][point];
    return bound;
}

bool tn_decomposing_breaks(const tn_space *space, const tn_evaluation *bound) {
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_constraint *constraint = &space->constraint[i];
        if (!constraint->quantity || !tn_quantity_cost_of(constraint->quantity)) continue;
        double value = constraint->quantity->get(bound);
        if (constraint->quantity->maximise ? value < constraint->least : value > constraint->most)
            return true;
    }
    return false;
}

tn_status tn_decomposing_price(tn_evaluator *evaluator, const uint32_t *digit, tn_evaluation *evaluation,
                               uint32_t *cause, tn_error *error) {
    tn_interrupt_hold();
    const tn_status status = tn_evaluate_digits(evaluator, digit, evaluation, cause, error);
    tn_interrupt_release();
    return status;
}
