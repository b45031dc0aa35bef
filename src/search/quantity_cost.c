#include "search/quantity_cost.h"

#include <string.h>

static const tn_quantity_cost costs[] = {
    {"cycles_per_step", TN_COST_CYCLES, false},
    {"seconds_per_step", TN_COST_CYCLES, false},
    {"seconds_per_epoch", TN_COST_CYCLES, false},
    {"joules_per_step", TN_COST_JOULES, true},
    {"static_joules_per_step", TN_COST_STATIC_JOULES, true},
    {"dynamic_joules_per_step", TN_COST_DYNAMIC_JOULES, true},
    {"watts", TN_COST_WATTS, true},
    {"on_chip_bytes", TN_COST_CAPACITY, false},
    {"bram18", TN_COST_BRAM18, false},
    {"uram", TN_COST_URAM, false},
    {"lut", TN_COSTS, true},
    {"ff", TN_COSTS, true},
    {"degrees_of_freedom", TN_COST_DEGREES, false},
    {"parameters", TN_COST_PARAMETERS, false},
    {"macs_per_step", TN_COST_MACS, false},
    {"dsp", TN_COSTS, false},
    {"off_chip_bytes", TN_COST_OFF_CHIP, false},
    {"off_chip_bytes_per_step", TN_COST_MOVED, false},
    {"accuracy", TN_COST_LEARNED, true},
    {"perplexity", TN_COST_LEARNED, true},
    {"accuracy_deviation", TN_COST_DEVIATION, true},
    {"accuracy_interpolated", TN_COST_BASIS, true},
};

const tn_quantity_cost *tn_quantity_cost_of(const tn_quantity *quantity) {
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (strcmp(quantity->name, costs[i].quantity) == 0) return &costs[i];
    return NULL;
}

const char *tn_objective_without_cost(const tn_space *space) {
    static const char *const unknown[][2] = {
        {"peak_elements",
         "peak_elements is no sum over layers, but what lives at the worst moment of a step"},
        {"relative_error", "relative_error is the quotient of two sums over layers"},
        {"rtl", "the number that rtl is names a key; as a constraint (--buildable) it is heard"}};
    for (size_t i = 0; i < space->objectives; i++) {
        if (tn_quantity_cost_of(space->objective[i])) continue;
        for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
            if (strcmp(space->objective[i]->name, unknown[k][0]) == 0) return unknown[k][1];
        return space->objective[i]->name;
    }
    return NULL;
}

bool tn_space_asks_learned(const tn_space *space, tn_layer_cost cost) {
    bool does = false;
    for (size_t i = 0; i < space->objectives; i++)
        does |= tn_quantity_cost_of(space->objective[i]) &&
                tn_quantity_cost_of(space->objective[i])->cost == cost;
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_quantity *quantity = space->constraint[i].quantity;
        does |= quantity && tn_quantity_cost_of(quantity) && tn_quantity_cost_of(quantity)->cost == cost;
    }
    return does && space->accuracy_table.rows > 0;
}
