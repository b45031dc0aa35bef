/* The first line as an einsum expression, the rest as its sizes, as a list and as JSON: refused with an
 * error, or a network whose tensors can be sized up. */
#include "tensor/einsum.h"

#include <stdlib.h>
#include <string.h>

static void size_up(const tn_network *network) {
    uint64_t elements;
    tn_error error;
    for (uint32_t i = 0; i < network->tensors; i++)
        tn_network_elements(network, network->tensor[i], &elements, &error);
    tn_network_elements(network, network->output, &elements, &error);
    tn_network_check(network, &error);
}

typedef tn_status size_reader(const char *sizes, tn_position position, tn_network *network, tn_error *error);

static void try_sizes(const char *expression, const char *sizes, size_reader *read) {
    const tn_position position = {"fuzz", 1, 1};
    tn_arena arena = {0};
    tn_network network;
    tn_error error;
    if (tn_einsum_parse(expression, position, &arena, &network, &error) == TN_OK &&
        read(sizes, position, &network, &error) == TN_OK &&
        tn_einsum_sized(&network, position, &error) == TN_OK)
        size_up(&network);
    tn_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(size + 2, 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    char *sizes = strchr(text, '\n');
    if (sizes)
        *sizes++ = '\0';
    else
        sizes = text + strlen(text);
    try_sizes(text, sizes, tn_einsum_sizes);
    try_sizes(text, sizes, tn_einsum_json_sizes);
    free(text);
    return 0;
}
