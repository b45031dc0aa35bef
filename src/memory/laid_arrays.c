#include "memory/laid_arrays.h"

#include "layout/layout_demand.h"
#include "model/attention.h"
#include "model/operation.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_step *step;
    tn_one_token **ones;
    tn_arena *ones_arena, *arena;
    tn_error *error;
    tn_laid_arrays *arrays;
    tn_laid_part *part;   /* [arrays] */
    uint32_t *last_layer; /* [arrays]: that touched it last, from 1 */
    bool *is_inner;       /* [arrays]: a core, a core's gradient or an intermediate of a program */
} finder;

/* ---- tensors of programs ---- */

static bool is_outer(tn_role role) {
    return role == TN_ROLE_X || role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_DY;
}

/* A part of a gradient, what was cut out for one, or a state of it: no matrix, whoever touches it. */
static void set_part(finder *state, uint32_t array, tn_laid_part part) {
    state->part[array] = part;
    state->is_inner[array] = true;
}

static void note_parts(finder *finding, uint32_t index) {
    const tn_operation *operation = &finding->step->operation[index];
    if (operation->partial)
        set_part(finding, operation->writes[0], (tn_laid_part){operation->partial, operation->layer, 1});
    if (operation->partial && operation->kind == TN_OP_LOOKUP)
        finding->arrays->cut[finding->arrays->cuts++] = index;
    if (!tn_operation_is_update(operation) || operation->read_count < 2) return;
    tn_laid_part state = finding->part[operation->reads[1]];
    for (uint32_t k = 2; state.partial && k < operation->read_count; k++) {
        state.times = finding->step->array[operation->reads[k]].elements /
                      finding->step->array[operation->reads[1]].elements;
        set_part(finding, operation->reads[k], state);
    }
}

static tn_status list_tensors(finder *state) {
    const tn_step *step = state->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = step->layer[l].program;
        state->arrays->program[l] = program;
        if (!program) continue;
        TN_TRY(tn_arena_alloc(state->arena, program->tensors, sizeof **state->arrays->of_tensor,
                              &state->arrays->of_tensor[l], state->error));
        for (uint32_t t = 0; t < program->tensors; t++) state->arrays->of_tensor[l][t] = NONE;
    }
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t *of_tensor = state->arrays->of_tensor[operation->layer];
        if (tn_operation_is_update(operation)) state->arrays->update[state->arrays->updates++] = i;
        note_parts(state, i);
        if (!operation->program_step || !of_tensor) continue;
        of_tensor[operation->program_step->a] = operation->reads[0];
        of_tensor[operation->program_step->b] = operation->reads[1];
        of_tensor[operation->program_step->out] = operation->writes[0];
    }
    for (uint32_t l = 0; l < step->layers; l++)
        for (uint32_t t = 0; step->layer[l].program && t < step->layer[l].program->tensors; t++)
            if (state->arrays->of_tensor[l][t] != NONE && !is_outer(step->layer[l].program->tensor[t].role))
                state->is_inner[state->arrays->of_tensor[l][t]] = true;
    return TN_OK;
}

/* Whether the layer's program looks its first core up by token. */
static bool is_lookup(const tn_laid_arrays *arrays, const tn_step *step, uint32_t layer) {
    const tn_program *program = step->layer[layer].program;
    for (uint32_t t = 0; program && t < program->tensors; t++)
        if (program->tensor[t].role == TN_ROLE_X && arrays->of_tensor[layer][t] != NONE)
            return step->array[arrays->of_tensor[layer][t]].role == TN_ARRAY_PARAMETER;
    return false;
}

/* The same program for one token; layers of one program get one. */
static tn_status of_one_token(finder *state, uint32_t layer) {
    const tn_program *source = state->step->layer[layer].program;
    tn_one_token *known = *state->ones;
    tn_program *one;
    while (known && known->source != source) known = known->next;
    if (!known) {
        TN_TRY(TN_NEW(state->ones_arena, 1, &known, state->error));
        TN_TRY(TN_NEW(state->ones_arena, 1, &one, state->error));
        *one = *source;
        TN_TRY(TN_NEW(state->ones_arena, source->indices, &one->index_size, state->error));
        memcpy(one->index_size, source->index_size, source->indices * sizeof *one->index_size);
        one->index_size[TN_LOOKUP_TOKEN] = 1;
        *known = (tn_one_token){source, one, *state->ones};
        *state->ones = known;
    }
    state->arrays->program[layer] = known->one;
    return TN_OK;
}

uint64_t tn_laid_slices(const tn_laid_arrays *arrays, const tn_step *step, uint32_t layer, uint32_t tensor) {
    const tn_program *program = arrays->program[layer];
    uint64_t elements = 1;
    if (program == step->layer[layer].program) return 1;
    for (uint32_t k = 0; k < program->tensor[tensor].indices.count; k++)
        elements *= program->index_size[program->tensor[tensor].indices.index[k]];
    return step->array[arrays->of_tensor[layer][tensor]].elements / elements;
}

static bool has_token(const tn_program_tensor *tensor) {
    for (uint32_t k = 0; k < tensor->indices.count; k++)
        if (tensor->indices.index[k] == TN_LOOKUP_TOKEN) return true;
    return false;
}

bool tn_lookup_is_summed(const tn_program *program, const tn_program_step *step) {
    const tn_program_tensor *out = &program->tensor[step->out];
    bool of_token =
             has_token(&program->tensor[step->a]) || has_token(&program->tensor[step->b]) || has_token(out),
         gradient = out->role == TN_ROLE_DX || out->role == TN_ROLE_CORE_GRADIENT;
    return of_token && (gradient || !has_token(out));
}

bool tn_lookup_is_by_token(const tn_program *program, const tn_program_step *step) {
    return has_token(&program->tensor[step->a]) || has_token(&program->tensor[step->b]) ||
           has_token(&program->tensor[step->out]);
}

bool tn_moves_by_row(const tn_step *step, const tn_operation *operation) {
    if (operation->kind == TN_OP_LOOKUP || operation->kind == TN_OP_APPEND ||
        tn_operation_rows[operation->kind].shape == TN_SHAPE_ROUTED)
        return true;
    bool positions = step->array[operation->writes[0]].role == TN_ARRAY_GRADIENT &&
                     step->layer[operation->layer].family == TN_LAYER_POSITIONS;
    return operation->kind == TN_OP_SCATTER && !positions;
}

/* A scatter that reads what it adds to has been given its beginning. */
static tn_status find_clears(finder *state) {
    const tn_step *step = state->step;
    bool *cleared;
    TN_TRY(TN_NEW(state->arena, step->arrays, &cleared, state->error));
    TN_TRY(TN_NEW(state->arena, step->operations, &state->arrays->clears, state->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        bool adds = tn_operation_begins_at_zero(operation) && tn_moves_by_row(step, operation);
        if (operation->program_step &&
            state->arrays->program[operation->layer] != step->layer[operation->layer].program)
            adds = tn_lookup_is_summed(step->layer[operation->layer].program, operation->program_step);
        if (!adds || cleared[operation->writes[0]]) continue;
        cleared[operation->writes[0]] = state->arrays->clears[i] = true;
    }
    return TN_OK;
}

/* ---- matrices ---- */

static void is_matrix(finder *state, uint32_t array, uint64_t columns) {
    if (state->is_inner[array] || state->arrays->columns[array]) return;
    state->arrays->columns[array] = columns;
    state->arrays->feature_log[array] = (uint8_t)tn_log_above(columns);
}

/* An operand of a vector kernel: rows x columns, or as many parameters as columns; statistics of rows are neither. */
static void add_operand(finder *state, const tn_operation *operation, uint32_t array) {
    const tn_array *this_array = &state->step->array[array];
    if (this_array->part == TN_PART_CHOSEN) return;
    const uint64_t tokens = state->step->layer[operation->layer].tokens;
    const tn_operation_row *row = &tn_operation_rows[operation->kind];
    bool parameter = this_array->role == TN_ARRAY_PARAMETER || this_array->role == TN_ARRAY_GRADIENT,
         by_row = row->shape == TN_SHAPE_LOOKUP || row->shape == TN_SHAPE_SCATTER;
    if (row->shape == TN_SHAPE_ROUTED) {
        if (this_array->part == TN_PART_GATES_GRADIENT) return; /* a matrix of its route, as the gates are */
        by_row = true;
    }
    if (operation->window &&
        array == (operation->kind == TN_OP_LOOKUP ? operation->reads : operation->writes)[0]) {
        is_matrix(state, array, tn_window_features(operation));
        return;
    }
    if (row->shape == TN_SHAPE_MEAN || row->shape == TN_SHAPE_APPEND) by_row = true;
    if (this_array->elements == operation->rows * operation->columns ||
        (parameter && this_array->elements == operation->columns) ||
        (by_row && this_array->elements % operation->columns == 0))
        is_matrix(state, array,
                  row->of_heads && !parameter ? this_array->elements / tokens : operation->columns);
}

/* A word's features must be a box in a folding; in one of one axis they may reach beyond its end. */
static void fit_box(finder *state, uint32_t array, const uint64_t *size, uint32_t axes) {
    uint8_t *most = &state->arrays->feature_log[array];
    uint64_t apart = 1;
    for (uint32_t k = axes; k-- > 1;) {
        apart *= size[k];
        if ((apart & (apart - 1)) == 0) state->arrays->axis_logs[array] |= UINT64_C(1) << tn_log_above(apart);
    }
    while (axes > 1 && *most > 0 && !tn_layout_is_box(size, axes, *most)) --*most;
}

/* Heads of one of the arrays of a product of attention. */
static uint64_t heads_of(const finder *state, const tn_operation *operation,
                         const tn_attention_product *attention, int side) {
    const uint64_t heads = operation->batch / state->step->batch,
                   group = state->step->layer[operation->layer].group;
    const bool shared = tn_attention_is_shared(attention->letters[side]),
               sums = tn_attention_sums_group(attention);
    return shared == sums ? heads : shared ? heads / group : heads * group;
}

/* Tokens x heads x width of a head; scores are a matrix by their softmax. */
static void add_attention(finder *state, const tn_operation *operation) {
    const tn_attention_product *attention = operation->attention;
    const uint32_t array[] = {operation->reads[0], operation->reads[1], operation->writes[0]};
    for (int i = 0; attention && i < 3; i++) {
        const char *letters = attention->letters[i];
        uint64_t width =
            strchr(attention->letters[2], letters[2]) ? operation->columns : operation->reduction;
        if (letters[0] == 'h')
            state->arrays->heads[array[i]] = heads_of(state, operation, attention, i) * state->step->batch;
        if (letters[0] == 'h') continue;
        is_matrix(state, array[i], heads_of(state, operation, attention, i) * width);
    }
}

static void fit_heads(finder *state, const tn_operation *operation) {
    const tn_attention_product *attention = operation->attention;
    const uint32_t array[] = {operation->reads[0], operation->reads[1], operation->writes[0]};
    for (int i = 0; attention && i < 3; i++) {
        uint64_t columns = state->arrays->columns[array[i]], heads = heads_of(state, operation, attention, i);
        const uint64_t size[] = {heads, heads ? columns / heads : 0};
        if (attention->letters[i][0] != 'h' && columns > 0) fit_box(state, array[i], size, 2);
    }
}

/* Tokens x features, where another layer touches it, too. */
static void add_shared(finder *state, uint32_t layer) {
    const tn_program *program = state->step->layer[layer].program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        uint32_t array = state->arrays->of_tensor[layer][t];
        if (array == NONE || !is_outer(tensor->role) || tensor->indices.count == 0) continue;
        if (state->step->array[array].role == TN_ARRAY_PARAMETER ||
            state->step->array[array].role == TN_ARRAY_GRADIENT)
            continue; /* of a look-up: its first core */
        if (state->last_layer[array] && state->last_layer[array] != layer + 1)
            is_matrix(state, array, tensor->elements / program->index_size[tensor->indices.index[0]]);
        state->last_layer[array] = layer + 1;
    }
}

static void fit_foldings(finder *state, uint32_t layer) {
    const tn_program *program = state->step->layer[layer].program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_indices *indices = &program->tensor[t].indices;
        uint32_t array = state->arrays->of_tensor[layer][t];
        uint64_t size[TN_FACTORS_MOST];
        if (array == NONE || state->arrays->columns[array] == 0 || indices->count < 2) continue;
        if (indices->count - 1 >
            TN_FACTORS_MOST) { /* more than weights have: nothing is known to lie together */
            state->arrays->feature_log[array] = 0;
            continue;
        }
        for (uint32_t k = 1; k < indices->count; k++) size[k - 1] = program->index_size[indices->index[k]];
        fit_box(state, array, size, indices->count - 1);
    }
}

/* What a product adds to its output, and writes beside it, lies in words of the same foldings. */
static void fit_beside(finder *state, const tn_operation *operation, uint32_t array) {
    const tn_program *program = state->step->layer[operation->layer].program;
    const tn_indices *y = &program->tensor[operation->program_step->out].indices;
    uint64_t size[TN_FACTORS_MOST];
    if (state->arrays->columns[array] == 0) return;
    if (y->count - 1 > TN_FACTORS_MOST) {
        state->arrays->feature_log[array] = 0;
        return;
    }
    for (uint32_t k = 1; k < y->count; k++) size[k - 1] = program->index_size[y->index[k]];
    fit_box(state, array, size, y->count - 1);
}

/* What an update goes through side by side lies alike: a bias that a product adds, and its gradient. */
static void fit_update(finder *state, const tn_operation *update) {
    uint8_t *most = state->arrays->feature_log, least = UINT8_MAX;
    for (uint32_t k = 0; k < update->read_count; k++)
        if (state->arrays->columns[update->reads[k]] > 0 && most[update->reads[k]] < least)
            least = most[update->reads[k]];
    for (uint32_t k = 0; k < update->read_count; k++)
        if (state->arrays->columns[update->reads[k]] > 0) most[update->reads[k]] = least;
}

/* `visit` for each of these arrays. */
static void each_beside(finder *state, const tn_operation *operation,
                        void (*visit)(finder *, const tn_operation *, uint32_t)) {
    for (uint32_t k = TN_PRODUCT_OPERANDS; k < operation->read_count; k++)
        visit(state, operation, operation->reads[k]);
    for (uint32_t k = 1; k < operation->write_count; k++) visit(state, operation, operation->writes[k]);
}

static void add_beside(finder *state, const tn_operation *operation, uint32_t array) {
    const tn_program *program = state->step->layer[operation->layer].program;
    const tn_program_tensor *y = &program->tensor[operation->program_step->out];
    is_matrix(state, array, y->elements / program->index_size[y->indices.index[0]]);
}

static void find_matrices(finder *state) {
    const tn_step *step = state->step;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].fused_count > 0) each_beside(state, &step->operation[i], add_beside);
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        if (operation->program_step || operation->partial || tn_operation_is_update(operation)) continue;
        if (operation->kind == TN_OP_PRODUCT) {
            add_attention(state, operation);
            continue;
        }
        for (uint32_t k = 0; k < operation->read_count; k++)
            add_operand(state, operation, operation->reads[k]);
        for (uint32_t k = 0; k < operation->write_count; k++)
            add_operand(state, operation, operation->writes[k]);
    }
    for (uint32_t l = 0; l < step->layers; l++)
        if (step->layer[l].program) add_shared(state, l);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind == TN_OP_PRODUCT && !step->operation[i].program_step)
            fit_heads(state, &step->operation[i]);
    memcpy(state->arrays->feature_most, state->arrays->feature_log, step->arrays);
    for (uint32_t l = 0; l < step->layers; l++)
        if (step->layer[l].program) fit_foldings(state, l);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].fused_count > 0) each_beside(state, &step->operation[i], fit_beside);
    for (uint32_t i = 0; i < state->arrays->updates; i++)
        fit_update(state, &step->operation[state->arrays->update[i]]);
}

static tn_status count_rows(finder *state) {
    const tn_step *step = state->step;
    tn_laid_arrays *laid_arrays = state->arrays;
    TN_TRY(TN_NEW(state->arena, step->arrays, &laid_arrays->rows, state->error));
    TN_TRY(TN_NEW(state->arena, step->arrays, &laid_arrays->rows_log, state->error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (laid_arrays->heads[a] == 0) laid_arrays->heads[a] = 1;
        if (laid_arrays->columns[a] == 0) continue;
        laid_arrays->rows[a] = step->array[a].elements / laid_arrays->columns[a];
        laid_arrays->rows_log[a] = (uint8_t)tn_log_above(laid_arrays->rows[a]);
    }
    return TN_OK;
}

tn_status tn_laid_arrays_find(const tn_step *step, tn_one_token **ones, tn_arena *ones_arena, tn_arena *arena,
                              const tn_laid_arrays **arrays, tn_error *error) {
    finder state = {.step = step, .ones = ones, .ones_arena = ones_arena, .arena = arena, .error = error};
    TN_TRY(TN_NEW(arena, 1, &state.arrays, error));
    TN_TRY(TN_NEW(arena, step->operations, &state.arrays->update, error));
    TN_TRY(TN_NEW(arena, step->operations, &state.arrays->cut, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.part, error));
    state.arrays->part = state.part;
    TN_TRY(TN_NEW(arena, step->layers, &state.arrays->of_tensor, error));
    TN_TRY(TN_NEW(arena, step->layers, &state.arrays->program, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.arrays->columns, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.arrays->heads, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.arrays->feature_log, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.arrays->feature_most, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.arrays->axis_logs, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.last_layer, error));
    TN_TRY(TN_NEW(arena, step->arrays, &state.is_inner, error));
    TN_TRY(list_tensors(&state));
    find_matrices(&state);
    TN_TRY(count_rows(&state));
    for (uint32_t l = 0; l < step->layers; l++)
        if (is_lookup(state.arrays, step, l)) TN_TRY(of_one_token(&state, l));
    TN_TRY(find_clears(&state));
    *arrays = state.arrays;
    return TN_OK;
}
