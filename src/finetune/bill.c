#include "finetune/bill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_bill_reckon(tn_bill *bill, double queries, double epochs, tn_error *error) {
    const tn_finetune_interval *rate = &bill->queries_per_s;
    if (!(rate->value > 0))
        return tn_fail(error, TN_INPUT, "a throughput of %g queries/s at batch %g; it must be positive",
                       rate->value, bill->batch);
    double work = queries * epochs / 3600;
    bill->hours = (tn_finetune_interval){work / rate->value, work / rate->high, work / rate->low};
    if (rate->low <= 0) bill->hours.high = INFINITY;
    bill->usd =
        (tn_finetune_interval){bill->hours.value * bill->usd_per_hour, bill->hours.low * bill->usd_per_hour,
                               bill->hours.high * bill->usd_per_hour};
    return TN_OK;
}

static int by_cost(const void *a, const void *b) {
    const tn_bill *x = a, *y = b;
    if (x->usd.value != y->usd.value) return x->usd.value < y->usd.value ? -1 : 1;
    return strcmp(x->gpu, y->gpu);
}

void tn_bill_sort(tn_bill *bill, size_t count) {
    qsort(bill, count, sizeof *bill, by_cost);
}
