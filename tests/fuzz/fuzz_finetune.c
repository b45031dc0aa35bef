/* Any bytes as a table of measured throughput: refused with an error, or data; small groups are fitted, and a
 * fitted law is finite, positive and never falls with the batch. */
#include "finetune/fit.h"
#include "named_file.h"

#include <math.h>

enum { MOST_GROUPS = 3, MOST_POINTS = 12 };

static void check_fit(const tn_finetune_group *group) {
    tn_finetune_fit fit;
    tn_error error;
    double before = 0;
    tn_finetune_fit_group(group, TN_FINETUNE_LOG, 0, &fit, &error);
    if (tn_finetune_fit_group(group, TN_FINETUNE_STEP, 0, &fit, &error) != TN_OK) return;
    for (int i = 0; i < TN_STEP_COEFFICIENTS; i++)
        if (!isfinite(fit.coefficient[i].value)) abort();
    for (double batch = 1; batch < 1e6; batch *= 4) {
        double now = tn_finetune_fitted(&fit, batch, group->point[0].sparsity).value;
        if (!(now > 0) || now < before * (1 - 1e-9)) abort();
        before = now;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_finetune_data table;
    tn_error error;
    if (tn_finetune_load(named_file(data, size), &arena, &table, &error) == TN_OK)
        for (size_t i = 0; i < table.count && i < MOST_GROUPS; i++)
            if (table.group[i].count <= MOST_POINTS) check_fit(&table.group[i]);
    tn_arena_free(&arena);
    return 0;
}
