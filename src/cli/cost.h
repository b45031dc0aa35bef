/* What `tenfold cost` prints: one design, priced and explained, and its flows compared. */
#ifndef TN_CLI_COST_H
#define TN_CLI_COST_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "explore/remedy.h"
#include "hardware/clocks.h"
#include "hardware/explain.h"
#include "hardware/flow_prices.h"
#include "hardware/grouping.h"
#include "model/step.h"
#include "text/json.h"
#include "text/record.h"

typedef struct tn_cost {
    tn_step step;
    tn_build build;
    tn_explanation why;
    tn_grouping grouping[TN_GROUPINGS];
    uint32_t clocks;
    tn_clock_price clock[TN_CLOCKS_MOST];
    uint32_t flows;
    tn_flow_price flow[TN_FLOW_PRICES_MOST];
    tn_remedies remedies; /* where it does not fit */
    const char *figure;   /* path of the drawn timeline; NULL: none */
} tn_cost;

extern const tn_record tn_cost_flow_record;  /* of tn_flow_price */
extern const tn_record tn_cost_clock_record; /* of tn_clock_price */

uint64_t tn_cost_amount(const tn_resources *of, tn_resource resource);

/* Of a step's energy by part: all together, and without the static part. */
double tn_cost_joules(const double joules[TN_ENERGY_PARTS]);
double tn_cost_dynamic(const double joules[TN_ENERGY_PARTS]);

/* The design's memories, and what grouping and placement are worth. */
tn_status tn_cost_print_memories(const tn_cost *cost, tn_error *error);
void tn_cost_write_memories(const tn_cost *cost, tn_json *json);

tn_status tn_cost_json(const tn_cost *cost, tn_buffer *out, tn_error *error);
tn_status tn_cost_print(const tn_cost *cost, tn_error *error);

#endif
