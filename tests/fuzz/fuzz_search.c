/* The search on any network: any bytes as an einsum (first line) and its sizes (the rest), or as a layer in
 * one line: refused with an error, or a network whose cheapest tree is found and costs what the search says.
 */
#include "flow/search.h"
#include "tensor/einsum.h"
#include "tensor/folding.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = 100000, TENSORS_MOST = 40 };

static void check_search(const tn_network *network, tn_arena *arena) {
    tn_search_options options = {.work_most = WORK};
    tn_search_result result;
    tn_tree_cost cost;
    tn_error error;
    if (network->tensors > TENSORS_MOST) return;
    if (tn_search(network, &options, arena, &result, &error) != TN_OK) return;
    if (tn_tree_cost_of(network, &result.tree, &cost, &error) != TN_OK) abort();
    if (cost.macs != result.cost.macs || cost.peak_elements != result.cost.peak_elements) abort();
    if (result.lower_bound > cost.macs) abort();
}

static void try_einsum(const char *text, tn_arena *arena) {
    static const tn_position position = {.file = "fuzz", .line = 1, .column = 1};
    const char *end = strchr(text, '\n');
    const char *expression = NULL;
    tn_network network;
    tn_error error;
    if (!end || tn_arena_copy_text(arena, text, (size_t)(end - text), &expression, &error) != TN_OK) return;
    if (tn_einsum_parse(expression, position, arena, &network, &error) != TN_OK) return;
    bool json = end[1] == '{';
    tn_status status = json ? tn_einsum_json_sizes(end + 1, position, &network, &error)
                            : tn_einsum_sizes(end + 1, position, &network, &error);
    if (status != TN_OK) return;
    if (tn_network_check(&network, &error) != TN_OK) abort();
    check_search(&network, arena);
}

static void try_layer(const char *text, tn_arena *arena) {
    static const tn_position position = {.file = "fuzz", .line = 1, .column = 1};
    tn_weight weight;
    tn_network network;
    tn_error error;
    uint64_t tokens;
    if (tn_spec_parse(text, position, &weight, &tokens, &error) != TN_OK) return;
    if (tn_weight_forward(&weight, tokens, arena, &network, &error) != TN_OK) abort();
    check_search(&network, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    const char *text = NULL;
    tn_error error;
    if (tn_arena_copy_text(&arena, (const char *)data, size, &text, &error) != TN_OK) abort();
    try_einsum(text, &arena);
    try_layer(text, &arena);
    tn_arena_free(&arena);
    return 0;
}
