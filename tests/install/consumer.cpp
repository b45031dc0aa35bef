// The installed library from C++: the same question as consumer.c asks.
#include <tenfold.h>

#include <cinttypes>
#include <cstdio>

int main() {
    tn_arena arena = {};
    tn_error error = {};
    tn_weight weight = {};
    const std::uint64_t m[] = {12, 8, 8}, n[] = {8, 8, 12};
    tn_network network;
    tn_search_result best;
    weight.format = TN_TT;
    weight.d = 3;
    for (int k = 0; k < 3; k++) weight.m[k] = m[k], weight.n[k] = n[k];
    tn_status status = tn_weight_set_rank(&weight, 12, &error);
    if (status == TN_OK) status = tn_weight_forward(&weight, 32, &arena, &network, &error);
    if (status == TN_OK) status = tn_search(&network, nullptr, &arena, &best, &error);
    if (status == TN_OK)
        std::printf("%" PRIu64 "\n", best.cost.macs);
    else
        std::fprintf(stderr, "%s\n", error.message);
    tn_arena_free(&arena);
    return status != TN_OK;
}
