#include "model/lookup.h"

#include "flow/search.h"
#include "flow/tree.h"

enum { TOKEN = 0 };

/* The indices m (d+1 .. 2d) become the token, the bonds behind them move up. */
static void cut(tn_indices *tensor, uint32_t d) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        uint32_t *index = &tensor->index[i];
        if (*index > 2 * d)
            *index -= d;
        else if (*index > d)
            *index = TOKEN;
    }
}

tn_status tn_lookup_network(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error) {
    uint32_t d = weight->d;
    TN_TRY(tn_weight_input_gradient(weight, tokens, arena, network, error));
    network->tensors--;
    network->tensor++; /* without dY */
    network->tensor_name++;
    for (uint32_t k = 0; k < network->tensors; k++) cut(&network->tensor[k], d);
    network->indices -= d;
    for (uint32_t index = d + 1; index < network->indices; index++) {
        network->index_size[index] = network->index_size[index + d];
        network->index_name[index] = network->index_name[index + d];
    }
    return TN_OK;
}

static tn_status right_to_left(const tn_network *network, tn_arena *arena, tn_tree *tree, tn_error *error) {
    uint32_t n = network->tensors, last = n - 1;
    tree->tensors = n;
    TN_TRY(tn_arena_alloc(arena, n, sizeof *tree->merge, &tree->merge, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        tree->merge[i] = (tn_merge){n - 2 - i, last};
        last = n + i;
    }
    return TN_OK;
}

bool tn_lookup_flow_exists(tn_flow_name flow) {
    return flow == TN_FLOW_RIGHT_TO_LEFT || flow == TN_FLOW_OPTIMAL;
}

static tn_status find_tree(const tn_network *network, tn_flow_name flow, tn_arena *arena, tn_tree *tree,
                           tn_error *error) {
    if (flow == TN_FLOW_RIGHT_TO_LEFT) return right_to_left(network, arena, tree, error);
    if (!tn_lookup_flow_exists(flow))
        return tn_fail(error, TN_INPUT, "a look-up in cores has no flow %s; choose right-to-left or optimal",
                       tn_flow_names[flow]);
    tn_search_result best;
    TN_TRY(tn_search(network, NULL, arena, &best, error));
    *tree = best.tree;
    return TN_OK;
}

static tn_status write_program(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *scratch,
                               tn_arena *arena, tn_program *program, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_network network;
    tn_tree tree;
    TN_TRY(tn_lookup_network(weight, tokens, scratch, &network, error));
    TN_TRY(find_tree(&network, flow, scratch, &tree, error));
    TN_TRY(tn_program_of_network(&network, &tree, &options, arena, program, error));
    program->macs[TN_WEIGHT_GRADIENT] += program->macs[TN_INPUT_GRADIENT];
    program->macs[TN_INPUT_GRADIENT] = 0;
    if (program->peak_elements[TN_WEIGHT_GRADIENT] < program->peak_elements[TN_INPUT_GRADIENT])
        program->peak_elements[TN_WEIGHT_GRADIENT] = program->peak_elements[TN_INPUT_GRADIENT];
    program->peak_elements[TN_INPUT_GRADIENT] = 0;
    for (uint32_t i = program->forward_steps; i < program->steps; i++)
        program->step[i].phase = TN_WEIGHT_GRADIENT;
    return TN_OK;
}

tn_status tn_lookup_program(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *arena,
                            tn_program *program, tn_error *error) {
    TN_TRY(tn_weight_check(weight, error));
    if (tn_weight_cores(weight) < 2)
        return tn_fail(error, TN_INPUT, "a table of one core is looked up without products");
    tn_arena scratch = {0};
    tn_status status = write_program(weight, tokens, flow, &scratch, arena, program, error);
    tn_arena_free(&scratch);
    return status;
}
