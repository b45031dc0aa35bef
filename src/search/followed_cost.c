#include "search/followed_cost.h"

#include <math.h>

/* Sums over the defined options of a unit. */
typedef struct {
    double count, cycles, cost;
} option_sums;

static option_sums sums_of(const tn_layer_table *table, size_t build, uint32_t u, tn_layer_cost cost) {
    option_sums sums = {0};
    for (uint64_t o = 0; o < table->unit[u].options; o++) {
        if (!table->unit[u].defined[o]) continue;
        sums.count++;
        sums.cycles += tn_option_cost(table, build, u, o, TN_COST_CYCLES);
        sums.cost += tn_option_cost(table, build, u, o, cost);
    }
    return sums;
}

static double rate_of(const tn_layer_table *table, size_t build, tn_layer_cost cost) {
    double products = 0, squares = 0;
    for (uint32_t u = 0; u < table->units; u++) {
        const option_sums sums = sums_of(table, build, u, cost);
        for (uint64_t o = 0; o < table->unit[u].options; o++) {
            if (!table->unit[u].defined[o]) continue;
            const double cycles =
                tn_option_cost(table, build, u, o, TN_COST_CYCLES) - sums.cycles / sums.count;
            products += cycles * (tn_option_cost(table, build, u, o, cost) - sums.cost / sums.count);
            squares += cycles * cycles;
        }
    }
    return squares > 0 ? fmax(0, products / squares) : 0;
}

bool tn_cost_follows(const tn_layer_table *table, size_t build, tn_layer_cost cost,
                     tn_followed_cost *followed) {
    static const double most = 0.01;
    const double rate = rate_of(table, build, cost);
    double above = 0;
    *followed = (tn_followed_cost){.rate = rate, .least = tn_rest_cost(table, build, cost)};
    followed->constant = followed->least - rate * tn_rest_cost(table, build, TN_COST_CYCLES);
    for (uint32_t u = 0; u < table->units; u++) {
        double low = INFINITY, high = -INFINITY, least = INFINITY;
        for (uint64_t o = 0; o < table->unit[u].options; o++) {
            if (!table->unit[u].defined[o]) continue;
            const double value = tn_option_cost(table, build, u, o, cost),
                         apart = value - rate * tn_option_cost(table, build, u, o, TN_COST_CYCLES);
            low = fmin(low, apart);
            high = fmax(high, apart);
            least = fmin(least, value);
        }
        followed->constant += low;
        followed->least += least;
        above += high - low;
    }
    return above <= most * followed->least;
}

double tn_followed_value(const tn_followed_cost *followed, double cycles, double slack) {
    const double value = followed->rate * cycles + followed->constant;
    if (followed->constant >= 0 || slack == 1) return value;
    return value / (1 + (slack - 1) / slack * -followed->constant / followed->least);
}
