#include "hardware/clocks.h"

#include "hardware/device_data.h"

/* Inserts a clock in ascending order unless it is there, or the list is full. */
static void add_clock(double clock_MHz, tn_clock_price *list, uint32_t *count) {
    uint32_t at = *count;
    while (at > 0 && list[at - 1].clock_MHz > clock_MHz) at--;
    if (*count == TN_CLOCKS_MOST || (at > 0 && list[at - 1].clock_MHz == clock_MHz)) return;
    for (uint32_t i = *count; i > at; i--) list[i] = list[i - 1];
    list[at] = (tn_clock_price){.clock_MHz = clock_MHz};
    ++*count;
}

static void list_clocks(const tn_device *device, tn_clock_price *list, uint32_t *count) {
    static const double usual[] = {100, 150, 200};
    const tn_operator_row *row = device->operators.item;
    *count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) add_clock(usual[i], list, count);
    add_clock(device->clock_MHz, list, count);
    for (size_t i = 0; i < device->operators.count; i++)
        if (1e3 / row[i].period_ns > usual[2]) add_clock(1e3 / row[i].period_ns, list, count);
}

static tn_status price_at(const tn_step *step, const tn_device *device, const tn_build *build,
                          tn_clock_price *at, tn_error *error) {
    tn_device other = *device;
    tn_arena arena = {0};
    tn_workload *workload;
    tn_price price;
    other.clock_MHz = at->clock_MHz;
    tn_status status = tn_workload_prepare(step, &other, &arena, &workload, error);
    if (status == TN_OK) status = tn_price_step(workload, build, &price, error);
    if (status == TN_OK) {
        at->cycles_per_step = price.cycles_per_step;
        at->seconds_per_step = price.seconds_per_step;
        at->dsp = price.used.dsp;
    }
    tn_arena_free(&arena);
    return status;
}

tn_status tn_clock_prices(const tn_step *step, const tn_device *device, const tn_build *build,
                          tn_clock_price *price, uint32_t *count, tn_error *error) {
    uint32_t listed;
    list_clocks(device, price, &listed);
    *count = 0;
    for (uint32_t i = 0; i < listed; i++) {
        tn_error unmet;
        tn_status status = price_at(step, device, build, &price[i], &unmet);
        if (status == TN_INPUT && price[i].clock_MHz != device->clock_MHz) continue;
        if (status != TN_OK) return tn_fail(error, status, "%s", unmet.message);
        price[(*count)++] = price[i];
    }
    return TN_OK;
}
