#include "cli/order.h"

const char *const tn_order_objectives[] = {"macs", "live", "front", NULL};

bool tn_order_admits(const tn_order *order, uint64_t peak_elements) {
    uint64_t bound = order->search.max_live_elements;
    return !bound || peak_elements <= bound;
}

bool tn_order_exact(const tn_order *order) {
    if (order->training) return order->training_front.exact;
    return order->best.exact && (order->objective != TN_ORDER_FRONT || order->front.exact);
}
