#include "tensor/network.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { NAME_BYTES = 32 };

const char *tn_network_tensor_name(const tn_network *network, uint32_t tensor, char *text) {
    if (network->tensor_name && network->tensor_name[tensor]) return network->tensor_name[tensor];
    snprintf(text, NAME_BYTES, "T%" PRIu32, tensor);
    return text;
}

const char *tn_network_index_name(const tn_network *network, uint32_t index, char *text) {
    if (network->index_name && network->index_name[index]) return network->index_name[index];
    snprintf(text, NAME_BYTES, "i%" PRIu32, index);
    return text;
}

tn_status tn_network_elements(const tn_network *network, tn_indices indices, uint64_t *elements,
                              tn_error *error) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < indices.count; i++)
        if (!tn_mul(product, network->index_size[indices.index[i]], &product))
            return tn_fail(error, TN_OVERFLOW,
                           "a tensor of %" PRIu32 " indices has more than 2^64 elements; use smaller sizes",
                           indices.count);
    *elements = product;
    return TN_OK;
}

tn_status tn_network_input_elements(const tn_network *network, uint64_t *elements, tn_error *error) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t < network->tensors; t++) {
        uint64_t one = 0;
        TN_TRY(tn_network_elements(network, network->tensor[t], &one, error));
        if (!tn_add(sum, one, &sum))
            return tn_fail(error, TN_OVERFLOW,
                           "the tensors have more than 2^64 elements together; use smaller sizes");
    }
    *elements = sum;
    return TN_OK;
}

/* `what` is "tensor NAME" or "the output". Marks in `seen` which indices it has. */
static tn_status check_indices(const tn_network *network, tn_indices indices, const char *what, bool *seen,
                               tn_error *error) {
    char text[NAME_BYTES];
    for (uint32_t i = 0; i < indices.count; i++) {
        uint32_t index = indices.index[i];
        if (index >= network->indices)
            return tn_fail(error, TN_INPUT, "%s has index number %" PRIu32 "; the network has %" PRIu32, what,
                           index, network->indices);
        for (uint32_t j = 0; j < i; j++)
            if (indices.index[j] == index)
                return tn_fail(error, TN_INPUT, "%s has index %.100s twice; each may occur once", what,
                               tn_network_index_name(network, index, text));
        seen[index] = true;
    }
    return TN_OK;
}

tn_status tn_network_check(const tn_network *network, tn_error *error) {
    char text[NAME_BYTES], what[160];
    bool on_tensor[TN_INDICES_MOST] = {false}, in_output[TN_INDICES_MOST] = {false};
    if (network->tensors == 0) return tn_fail(error, TN_INPUT, "a network needs at least one tensor");
    if (network->tensors > TN_TENSORS_MOST)
        return tn_fail(error, TN_LIMIT, "a network of %" PRIu32 " tensors; at most %d", network->tensors,
                       TN_TENSORS_MOST);
    if (network->indices > TN_INDICES_MOST)
        return tn_fail(error, TN_LIMIT, "a network of %" PRIu32 " indices; at most %d", network->indices,
                       TN_INDICES_MOST);
    for (uint32_t i = 0; i < network->indices; i++)
        if (network->index_size[i] == 0)
            return tn_fail(error, TN_INPUT, "index %.100s has size 0; a size is at least 1",
                           tn_network_index_name(network, i, text));
    for (uint32_t t = 0; t < network->tensors; t++) {
        snprintf(what, sizeof what, "tensor %.100s", tn_network_tensor_name(network, t, text));
        TN_TRY(check_indices(network, network->tensor[t], what, on_tensor, error));
    }
    TN_TRY(check_indices(network, network->output, "the output", in_output, error));
    for (uint32_t i = 0; i < network->indices; i++)
        if (in_output[i] && !on_tensor[i])
            return tn_fail(error, TN_INPUT, "the output has index %.100s, which no tensor has",
                           tn_network_index_name(network, i, text));
    return TN_OK;
}
