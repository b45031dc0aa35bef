/* What a table of layers says of costs. */
#include "search/layer_table.h"

double tn_part_cost(const tn_price_part *part, tn_layer_cost cost) {
    switch (cost) {
    case TN_COST_CYCLES:
        return part->cycles;
    case TN_COST_CAPACITY:
        return part->capacity_bits;
    case TN_COST_BRAM18:
        return part->bram18;
    case TN_COST_URAM:
        return part->uram;
    case TN_COST_OFF_CHIP:
        return part->off_chip_bytes;
    case TN_COST_MOVED:
        return part->off_chip_bytes_per_step;
    case TN_COST_OPERATIONS:
        return part->operations;
    case TN_COST_JOULES:
        return part->joules;
    case TN_COST_STATIC_JOULES:
        return part->static_joules;
    case TN_COST_DYNAMIC_JOULES:
        return part->dynamic_joules;
    case TN_COST_WATTS:
        return part->watts;
    default:
        return 0;
    }
}

double tn_option_cost(const tn_layer_table *table, size_t build, uint32_t unit, uint64_t option,
                      tn_layer_cost cost) {
    const tn_unit_table *its = &table->unit[unit];
    switch (cost) {
    case TN_COST_DEGREES:
        return -its->sum[TN_SUM_DEGREES][option];
    case TN_COST_PARAMETERS:
        return its->sum[TN_SUM_PARAMETERS][option];
    case TN_COST_MACS:
        return its->sum[TN_SUM_MACS][option];
    case TN_COST_LEARNED:
    case TN_COST_DEVIATION:
    case TN_COST_BASIS:
        return its->learned[cost - TN_LEARNED_FIRST] ? its->learned[cost - TN_LEARNED_FIRST][option] : 0;
    default:
        return tn_part_cost(&its->part[build][option], cost);
    }
}

double tn_rest_cost(const tn_layer_table *table, size_t build, tn_layer_cost cost) {
    switch (cost) {
    case TN_COST_DEGREES:
        return 0;
    case TN_COST_PARAMETERS:
        return table->rest_sum[TN_SUM_PARAMETERS];
    case TN_COST_MACS:
        return table->rest_sum[TN_SUM_MACS];
    case TN_COST_LEARNED:
    case TN_COST_DEVIATION:
    case TN_COST_BASIS:
        return table->learned_rest[cost - TN_LEARNED_FIRST];
    default:
        return tn_part_cost(&table->rest[build], cost);
    }
}

bool tn_cost_is_negated(const tn_layer_table *table, tn_layer_cost cost) {
    return cost == TN_COST_DEGREES || (cost == TN_COST_LEARNED && table->learns_more);
}
