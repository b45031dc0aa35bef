#include "learn/history.h"

#include "model/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void tn_step_prices_begin(tn_step_prices *prices, const tn_trainer *trainer) {
    tn_trainer_wide_counts(trainer, &prices->wide, &prices->operands);
}

/* The design's model with the schedule that each step of this kind would have throughout. */
static tn_status change_schedule(const tn_step_prices *prices, uint32_t price, tn_model **model,
                                 tn_error *error) {
    const tn_precision_schedule *schedule = &prices->design->model->keys.schedule;
    const double share = (double)price / (TN_STEP_PRICES - 1);
    char keys[256], begin[TN_NUMBER_FORMAT_NAME];
    tn_number_format_name(&schedule->begin, begin);
    if (schedule->a > 0)
        snprintf(keys, sizeof keys,
                 "precision_schedule: {begin: \"%s\", a: %.17g, b: %.17g, wide_share: %.17g}", begin,
                 schedule->a, schedule->b, share);
    else
        snprintf(keys, sizeof keys, "precision_schedule: {begin: \"%s\", steps: %d, layers: %.17g}", begin,
                 price == 0, schedule->layers);
    return tn_model_change(prices->design->model, keys, prices->arena, model, error);
}

/* Which of the prices the last step has. */
static uint32_t price_of(tn_step_prices *prices, const tn_trainer *trainer, double progress) {
    const tn_precision_schedule *schedule = &prices->design->model->keys.schedule;
    uint64_t wide, operands;
    double share = 1;
    if (schedule->schedule_at.line == 0) return 0;
    if (schedule->a == 0) return progress < schedule->steps ? 0 : TN_STEP_PRICES - 1;
    tn_trainer_wide_counts(trainer, &wide, &operands);
    if (operands > prices->operands)
        share = (double)(wide - prices->wide) / (double)(operands - prices->operands);
    return (uint32_t)lround(share * (TN_STEP_PRICES - 1));
}

tn_status tn_step_prices_add(tn_step_prices *prices, const tn_trainer *trainer, double progress,
                             double *seconds, double *joules, tn_error *error) {
    if (!prices->design) return TN_OK;
    const uint32_t price = price_of(prices, trainer, progress);
    if (!prices->known[price]) {
        tn_design design = *prices->design;
        tn_price found;
        if (design.model->keys.schedule.schedule_at.line > 0)
            TN_TRY(change_schedule(prices, price, &design.model, error));
        TN_TRY(tn_design_price_alone(&design, &found, error));
        prices->seconds[price] = found.seconds_per_step;
        prices->joules[price] = found.joules_per_step;
        prices->known[price] = true;
    }
    *seconds += prices->seconds[price];
    *joules += prices->joules[price];
    return TN_OK;
}

void tn_history_head(tn_buffer *text) {
    tn_buffer_text(text, "step,epoch,loss,seconds,joules,gradient_variance,gradient_mean_square,dev_loss,"
                         "dev_intent_accuracy,dev_slot_accuracy,dev_slot_f1\n");
}

void tn_history_add(tn_buffer *text, const tn_history_row *row) {
    const double value[] = {row->loss,
                            row->seconds,
                            row->joules,
                            row->noise.variance,
                            row->noise.mean_square,
                            row->dev.loss,
                            row->dev.intent_accuracy,
                            row->dev.slot_accuracy,
                            row->dev.slot_f1};
    tn_buffer_format(text, "%" PRIu64 ",%" PRIu64, row->step, row->epoch);
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
        if (isnan(value[i]))
            tn_buffer_text(text, ",nan");
        else
            tn_buffer_format(text, ",%.9g", value[i]);
    }
    tn_buffer_text(text, "\n");
}
