#include "tensor/network_file.h"

#include "base/error.h"
#include "tensor/einsum.h"
#include "text/number.h"
#include "text/schema.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct tensor_entry {
    const char *name;
    tn_position name_at;
    const tn_yaml *indices;
} tensor_entry;

typedef struct network_entry {
    uint32_t kind;
    const char *name, *einsum;
    tn_position einsum_at, tensors_at;
    const tn_yaml *sizes, *output;
    tn_item_list tensors;
} network_entry;

static const char *const kinds[] = {"network", NULL};

static const tn_field tensor_fields[] = {
    TN_KEY(TEXT, tensor_entry, name, "name in results, each once", TN_REQUIRED,
           TN_SEEN(tensor_entry, name_at)),
    TN_KEY(NODE, tensor_entry, indices, "list of the names of its indices, each once; [] for a scalar",
           TN_REQUIRED),
};
static const tn_schema tensor_schema = TN_SCHEMA("network.tensor", tensor_entry, tensor_fields);

static const tn_field network_fields[] = {
    TN_KEY(CHOICE, network_entry, kind, "says what this file is", TN_REQUIRED, TN_ONE_OF(kinds)),
    TN_KEY(TEXT, network_entry, name, "for results"),
    TN_KEY(NODE, network_entry, sizes, "mapping from the name of every index to its size, at least 1",
           TN_REQUIRED),
    TN_KEY(LIST, network_entry, tensors, "the tensors in order, at most 256", .sub = &tensor_schema,
           TN_SEEN(network_entry, tensors_at)),
    TN_KEY(NODE, network_entry, output,
           "list of the names of the indices that stay; needed beside `tensors`; [] for a scalar"),
    TN_KEY(TEXT, network_entry, einsum,
           "in place of `tensors` and `output`: ab,bc->ac, indices of one character",
           TN_SEEN(network_entry, einsum_at)),
};
static const tn_schema network_schema = TN_SCHEMA("network", network_entry, network_fields);

void tn_network_file_document(tn_buffer *out) {
    tn_schema_document(&network_schema, out);
}

typedef struct decoder {
    const network_entry *entry;
    tn_arena *arena;
    tn_network *network;
    uint32_t *sorted; /* indices by name */
    tn_error *error;
} decoder;

static tn_status decode_size(const decoder *d, const tn_yaml *key, const tn_yaml *value, uint64_t *size) {
    tn_number_status status = value->kind != TN_YAML_SCALAR || value->quoted
                                  ? TN_NUMBER_MALFORMED
                                  : tn_read_count(value->text, size);
    if (status != TN_NUMBER_OK || *size == 0)
        return tn_fail_at(d->error, TN_INPUT, value->position,
                          "the size of index %.100s must be a whole number of 1 to 2^64 - 1", key->text);
    return TN_OK;
}

/* Place of the first of the `count` sorted indices whose name is not before `name`. */
static uint32_t bisect(const decoder *d, const char *name, uint32_t count) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(d->network->index_name[d->sorted[middle]], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static tn_status decode_sizes(decoder *d) {
    const tn_yaml *sizes = d->entry->sizes;
    tn_network *network = d->network;
    if (sizes->kind != TN_YAML_MAPPING)
        return tn_fail_at(d->error, TN_INPUT, sizes->position,
                          "\"sizes\" must be a mapping such as {a: 32, b: 8}");
    if (sizes->count > TN_INDICES_MOST)
        return tn_fail_at(d->error, TN_LIMIT, sizes->position, "more than %d indices", TN_INDICES_MOST);
    uint32_t count = (uint32_t)sizes->count;
    TN_TRY(TN_NEW(d->arena, count, &network->index_size, d->error));
    TN_TRY(TN_NEW(d->arena, count, &network->index_name, d->error));
    TN_TRY(TN_NEW(d->arena, count, &d->sorted, d->error));
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(decode_size(d, sizes->key[i], sizes->item[i], &network->index_size[i]));
        network->index_name[i] = sizes->key[i]->text;
        uint32_t place = bisect(d, network->index_name[i], i);
        memmove(d->sorted + place + 1, d->sorted + place, (i - place) * sizeof *d->sorted);
        d->sorted[place] = i;
        network->indices = i + 1;
    }
    return TN_OK;
}

static tn_status decode_indices(const decoder *d, const tn_yaml *node, const char *what,
                                tn_indices *indices) {
    const tn_network *network = d->network;
    if (node->kind != TN_YAML_SEQUENCE)
        return tn_fail_at(d->error, TN_INPUT, node->position,
                          "%s must be a list of index names such as [a, b]", what);
    if (node->count > TN_INDICES_MOST)
        return tn_fail_at(d->error, TN_LIMIT, node->position, "more than %d indices", TN_INDICES_MOST);
    TN_TRY(TN_NEW(d->arena, node->count, &indices->index, d->error));
    bool seen[TN_INDICES_MOST] = {false};
    for (size_t i = 0; i < node->count; i++) {
        const tn_yaml *item = node->item[i];
        if (item->kind != TN_YAML_SCALAR)
            return tn_fail_at(d->error, TN_INPUT, item->position, "%s holds something that is no name", what);
        uint32_t place = bisect(d, item->text, network->indices);
        if (place == network->indices || strcmp(network->index_name[d->sorted[place]], item->text) != 0)
            return tn_fail_at(d->error, TN_INPUT, item->position,
                              "index %.100s has no size; add it to \"sizes\"", item->text);
        uint32_t index = d->sorted[place];
        if (seen[index])
            return tn_fail_at(d->error, TN_INPUT, item->position, "index %.100s occurs twice in one list; %s",
                              item->text, "a diagonal must be taken before");
        seen[index] = true;
        indices->index[indices->count++] = index;
    }
    return TN_OK;
}

static tn_status unique_name(const decoder *d, const tensor_entry *entry, uint32_t before) {
    for (uint32_t t = 0; t < before; t++)
        if (strcmp(d->network->tensor_name[t], entry->name) == 0)
            return tn_fail_at(d->error, TN_INPUT, entry->name_at,
                              "two tensors are called %.100s; names differ", entry->name);
    return TN_OK;
}

static tn_status decode_tensors(const decoder *d) {
    tn_network *network = d->network;
    const tensor_entry *entry = d->entry->tensors.item;
    uint32_t count = (uint32_t)d->entry->tensors.count;
    if (d->entry->tensors.count > TN_TENSORS_MOST)
        return tn_fail_at(d->error, TN_LIMIT, d->entry->tensors_at, "more than %d tensors", TN_TENSORS_MOST);
    if (count == 0)
        return tn_fail_at(d->error, TN_INPUT, d->entry->tensors_at,
                          "\"tensors\" is empty; list at least one");
    TN_TRY(TN_NEW(d->arena, count, &network->tensor, d->error));
    TN_TRY(TN_NEW(d->arena, count, &network->tensor_name, d->error));
    for (uint32_t t = 0; t < count; t++) {
        TN_TRY(unique_name(d, &entry[t], t));
        network->tensor_name[t] = entry[t].name;
        TN_TRY(decode_indices(d, entry[t].indices, "\"indices\"", &network->tensor[t]));
        network->tensors = t + 1;
    }
    return decode_indices(d, d->entry->output, "\"output\"", &network->output);
}

/* Every index with a size is on some tensor: a misspelt one would otherwise go unseen. */
static tn_status all_used(const decoder *d) {
    const tn_network *network = d->network;
    bool used[TN_INDICES_MOST] = {false};
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++) used[network->tensor[t].index[i]] = true;
    for (uint32_t i = 0; i < network->indices; i++)
        if (!used[i])
            return tn_fail_at(d->error, TN_INPUT, d->entry->sizes->key[i]->position,
                              "index %.100s is on no tensor; remove it or add it to one",
                              network->index_name[i]);
    return TN_OK;
}

static tn_status decode_einsum(const decoder *d) {
    const tn_yaml *sizes = d->entry->sizes;
    if (sizes->kind != TN_YAML_MAPPING)
        return tn_fail_at(d->error, TN_INPUT, sizes->position,
                          "\"sizes\" must be a mapping such as {a: 32, b: 8}");
    TN_TRY(tn_einsum_parse(d->entry->einsum, d->entry->einsum_at, d->arena, d->network, d->error));
    for (size_t i = 0; i < sizes->count; i++) {
        uint64_t size = 0;
        TN_TRY(decode_size(d, sizes->key[i], sizes->item[i], &size));
        TN_TRY(tn_einsum_size(sizes->key[i]->text, size, sizes->key[i]->position, d->network, d->error));
    }
    return tn_einsum_sized(d->network, sizes->position, d->error);
}

/* What the network as a whole breaks lies in its sizes. */
static tn_status check(const decoder *d) {
    uint64_t elements;
    tn_status status = tn_network_check(d->network, d->error);
    if (status == TN_OK) status = tn_network_input_elements(d->network, &elements, d->error);
    return tn_fail_placed(d->error, status, d->entry->sizes->position);
}

tn_status tn_network_decode(const tn_yaml *root, tn_arena *arena, tn_network *network, const char **name,
                            tn_error *error) {
    network_entry entry;
    TN_TRY(tn_schema_decode(&network_schema, root, arena, &entry, error));
    decoder d = {.entry = &entry, .arena = arena, .network = network, .error = error};
    bool tensors = entry.tensors_at.line != 0;
    *network = (tn_network){0};
    *name = entry.name ? entry.name : "";
    if (entry.einsum && (tensors || entry.output))
        return tn_fail_at(error, TN_INPUT, entry.einsum_at,
                          "\"einsum\" stands in place of \"tensors\" and \"output\"; remove it or them");
    if (entry.einsum) {
        TN_TRY(tn_fail_placed(error, decode_einsum(&d), entry.einsum_at));
        return check(&d);
    }
    if (!tensors || !entry.output)
        return tn_fail_at(error, TN_INPUT, root->position, "a network needs %s, or \"einsum\"",
                          tensors ? "\"output\" beside \"tensors\"" : "\"tensors\" and \"output\"");
    TN_TRY(decode_sizes(&d));
    TN_TRY(decode_tensors(&d));
    TN_TRY(all_used(&d));
    return check(&d);
}

tn_status tn_network_load(const char *path, tn_arena *arena, tn_network *network, const char **name,
                          tn_error *error) {
    tn_yaml *root = NULL;
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    return tn_network_decode(root, arena, network, name, error);
}
