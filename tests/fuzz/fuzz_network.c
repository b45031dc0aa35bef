/* Any bytes as a network file: refused with an error, or a sound network. */
#include "tensor/network_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_network network;
    tn_yaml *root;
    const char *name;
    tn_error error;
    if (tn_yaml_parse("fuzz", (const char *)data, size, &arena, &root, &error) == TN_OK &&
        tn_network_decode(root, &arena, &network, &name, &error) == TN_OK &&
        tn_network_check(&network, &error) != TN_OK)
        abort();
    tn_arena_free(&arena);
    return 0;
}
