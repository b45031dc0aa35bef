#include "memory/laying_out.h"

static const uint32_t NONE = UINT32_MAX;

/* By its row and its heads, and the folding of a layer's tensor that it is (NULL: of none). */
static uint32_t most_features(const tn_layer_out *layout, uint32_t array, const tn_program *program,
                              const tn_indices *indices) {
    const uint32_t row = tn_widest_row_log(layout->build),
                   rows = (uint32_t)tn_least(layout->arrays->rows_log[array], row);
    uint32_t most = layout->arrays->feature_most[array];
    uint64_t size[TN_FACTORS_MOST];
    if (indices && indices->count - 1 > TN_FACTORS_MOST) return 0;
    if (indices && indices->count > 2) {
        for (uint32_t k = 1; k < indices->count; k++) size[k - 1] = program->index_size[indices->index[k]];
        while (most > 0 && !tn_layout_is_box(size, indices->count - 1, most)) most--;
    }
    most = (uint32_t)tn_least(most, tn_greatest(layout->widest_log, row - rows));
    return (uint32_t)tn_least(most, row);
}

static bool is_matrix(const tn_layer_out *layout, uint32_t array) {
    return array != NONE && layout->map->memory_of[array] != NONE && layout->arrays->columns[array] > 0 &&
           tn_banking_kind(tn_split_banking(layout->build->split)) == TN_BANKS_ONE_WORD;
}

static bool is_read(tn_role role) {
    return role == TN_ROLE_X || role == TN_ROLE_DX;
}

/* Whether no product brings two tensors together that are read, or written: ways try those of each together. */
static bool are_apart(const tn_layer_out *layout, uint32_t layer) {
    const tn_program *program = layout->arrays->program[layer];
    for (uint32_t i = 0; i < program->steps; i++) {
        const uint32_t tensor[] = {program->step[i].a, program->step[i].b, program->step[i].out};
        uint32_t outer[2] = {0, 0};
        for (int k = 0; k < 3; k++)
            if (is_matrix(layout, layout->arrays->of_tensor[layer][tensor[k]]))
                outer[is_read(program->tensor[tensor[k]].role)]++;
        if (outer[0] > 1 || outer[1] > 1) return false;
    }
    return true;
}

/* The layer with words of so many features of what it writes [0] and reads [1], or as many as there can be. */
static tn_status find_way(tn_layer_out *layout, uint32_t layer, const uint32_t features[2], bool shares,
                          tn_laid_layer **way) {
    const tn_build *build = layout->build;
    const tn_program *program = layout->arrays->program[layer];
    const bool looked_up = program != layout->step->layer[layer].program;
    const tn_kernel_edges edges = tn_build_edges(build);
    const uint32_t row = tn_widest_row_log(build);
    tn_laid_layers *layers = &layout->laid_step->programs->layers;
    tn_layout_demand *demand;
    tn_arena_reset(&layers->room.scratch);
    TN_TRY(TN_NEW(&layers->room.scratch, program->tensors, &demand, layout->error));
    for (uint32_t t = 0; t < program->tensors; t++) {
        demand[t] = (tn_layout_demand){.is_updated = true, .is_looked_up = looked_up};
        if (!shares || !is_matrix(layout, layout->arrays->of_tensor[layer][t]) ||
            program->tensor[t].indices.count == 0)
            continue;
        uint32_t f = (uint32_t)tn_least(features[is_read(program->tensor[t].role)],
                                        layout->laid->most_features[layer][t]);
        demand[t].has_row = demand[t].is_shared = true;
        demand[t].feature_log = (uint8_t)f;
        demand[t].token_log = (uint8_t)(looked_up ? 0 : row - f);
        demand[t].row_log = (uint8_t)(looked_up ? f : row);
    }
    return tn_laid_layer_find(layers, program, &edges, tn_split_banking(build->split), demand, way,
                              layout->error);
}

static tn_status lay_layer_alone(tn_layer_out *layout, uint32_t layer) {
    const tn_program *program = layout->arrays->program[layer];
    tn_laid *laid = layout->laid;
    uint32_t most[2] = {0, 0}, features[2];
    if (!program) return TN_OK;
    TN_TRY(TN_NEW(layout->arena, program->tensors, &laid->most_features[layer], layout->error));
    for (uint32_t t = 0; t < program->tensors; t++) {
        uint32_t array = layout->arrays->of_tensor[layer][t], *side = &most[is_read(program->tensor[t].role)];
        if (!is_matrix(layout, array)) continue;
        laid->most_features[layer][t] =
            (uint8_t)most_features(layout, array, program, &program->tensor[t].indices);
        *side = (uint32_t)tn_greatest(*side, laid->most_features[layer][t]);
    }
    const bool shares = are_apart(layout, layer);
    if (!shares) most[0] = most[1] = 0;
    TN_TRY(tn_arena_alloc(layout->arena, (size_t)(most[0] + 1) * (most[1] + 1), sizeof **laid->way,
                          &laid->way[layer], layout->error));
    for (features[0] = 0; features[0] <= most[0]; features[0]++)
        for (features[1] = 0; features[1] <= most[1]; features[1]++)
            TN_TRY(find_way(layout, layer, features, shares, &laid->way[layer][laid->ways[layer]++]));
    return TN_OK;
}

tn_status tn_lay_alone(tn_layer_out *layout) {
    const tn_step *step = layout->step;
    tn_laid *laid = layout->laid;
    laid->closely = laid->alone = true;
    TN_TRY(TN_NEW(layout->arena, layout->map->memories, &laid->memory, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->layers, &laid->layer, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->arrays, &laid->depth, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->arrays, &laid->row, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->arrays, &laid->words, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->layers, &laid->way, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->layers, &laid->ways, layout->error));
    TN_TRY(TN_NEW(layout->arena, step->layers, &laid->most_features, layout->error));
    for (uint32_t m = 0; m < layout->map->memories; m++) laid->memory[m].elements = 1;
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (!is_matrix(layout, a)) continue;
        uint32_t features = most_features(layout, a, NULL, NULL);
        laid->words[a] =
            (tn_laid_words){.is_matrix = true,
                            .shared = {.feature_log = (uint8_t)features,
                                       .token_log = (uint8_t)(tn_widest_row_log(layout->build) - features)}};
    }
    for (uint32_t l = 0; l < step->layers; l++) TN_TRY(lay_layer_alone(layout, l));
    return TN_OK;
}

uint32_t tn_laid_most_features(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                               uint32_t array) {
    const tn_program *program = laid_step->arrays->program[layer];
    uint32_t most = laid->words[array].shared.feature_log;
    for (uint32_t t = 0; program && t < program->tensors; t++)
        if (laid_step->arrays->of_tensor[layer][t] == array)
            most = (uint32_t)tn_least(most, laid->most_features[layer][t]);
    return most;
}
