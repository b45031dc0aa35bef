/* A user of the installed library: the best flow of the published layer, and a model found by its bare name.
 */
#include <tenfold.h>

#include <inttypes.h>
#include <stdio.h>

int main(void) {
    tn_arena arena = {0};
    tn_error error = {0};
    tn_weight weight = {.format = TN_TT, .d = 3, .m = {12, 8, 8}, .n = {8, 8, 12}};
    tn_network network;
    tn_search_result best;
    tn_model *model;
    tn_status status = tn_weight_set_rank(&weight, 12, &error);
    if (status == TN_OK) status = tn_weight_forward(&weight, 32, &arena, &network, &error);
    if (status == TN_OK) status = tn_search(&network, NULL, &arena, &best, &error);
    if (status == TN_OK) status = tn_model_load("atis-2enc", NULL, 0, &arena, &model, &error);
    if (status == TN_OK)
        printf("%s %" PRIu64 "\n", tn_model_name(model), best.cost.macs);
    else
        fprintf(stderr, "%s\n", error.message);
    tn_arena_free(&arena);
    return status != TN_OK;
}
