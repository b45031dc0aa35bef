#include "memory/laid_arrays.h"

#include "layout/layout_problem.h"
#include "model/attention.h"
#include "model/operation.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_step *step;
    tn_arena *arena;
    tn_error *error;
    tn_laid_arrays *to;
    tn_laid_part *part;   /* [arrays] */
    uint32_t *last_layer; /* [arrays]: that touched it last, from 1 */
    bool *is_inner;       /* [arrays]: a core, a core's gradient or an intermediate of a program */
} finder;

/* ---- tensors of programs ---- */

static bool is_outer(tn_role role) {
    return role == TN_ROLE_X || role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_DY;
}

/* A part of a gradient, what was cut out for one, or a state of it: no matrix, whoever touches it. */
static void set_part(finder *with, uint32_t array, tn_laid_part part) {
    with->part[array] = part;
    with->is_inner[array] = true;
}

static void note_parts(finder *with, uint32_t at) {
    const tn_operation *operation = &with->step->operation[at];
    if (operation->partial)
        set_part(with, operation->writes[0], (tn_laid_part){operation->partial, operation->layer, 1});
    if (operation->partial && operation->kind == TN_OP_LOOKUP) with->to->cut[with->to->cuts++] = at;
    if (!tn_operation_is_update(operation) || operation->read_count < 2) return;
    tn_laid_part state = with->part[operation->reads[1]];
    for (uint32_t k = 2; state.of && k < operation->read_count; k++) {
        state.times =
            with->step->array[operation->reads[k]].elements / with->step->array[operation->reads[1]].elements;
        set_part(with, operation->reads[k], state);
    }
}

static tn_status list_tensors(finder *with) {
    const tn_step *step = with->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = step->layer[l].program;
        with->to->program[l] = program;
        if (!program) continue;
        TN_TRY(tn_arena_alloc(with->arena, program->tensors, sizeof **with->to->of_tensor,
                              &with->to->of_tensor[l], with->error));
        for (uint32_t t = 0; t < program->tensors; t++) with->to->of_tensor[l][t] = NONE;
    }
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t *of_tensor = with->to->of_tensor[operation->layer];
        if (tn_operation_is_update(operation)) with->to->update[with->to->updates++] = i;
        note_parts(with, i);
        if (!operation->program_step || !of_tensor) continue;
        of_tensor[operation->program_step->a] = operation->reads[0];
        of_tensor[operation->program_step->b] = operation->reads[1];
        of_tensor[operation->program_step->out] = operation->writes[0];
    }
    for (uint32_t l = 0; l < step->layers; l++)
        for (uint32_t t = 0; step->layer[l].program && t < step->layer[l].program->tensors; t++)
            if (with->to->of_tensor[l][t] != NONE && !is_outer(step->layer[l].program->tensor[t].role))
                with->is_inner[with->to->of_tensor[l][t]] = true;
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
static tn_status of_one_token(finder *with, uint32_t layer) {
    const tn_program *from = with->step->layer[layer].program;
    for (uint32_t l = 0; l < layer; l++)
        if (with->step->layer[l].program == from && with->to->program[l] != from) {
            with->to->program[layer] = with->to->program[l];
            return TN_OK;
        }
    tn_program *one;
    TN_TRY(TN_NEW(with->arena, 1, &one, with->error));
    *one = *from;
    TN_TRY(TN_NEW(with->arena, from->indices, &one->index_size, with->error));
    memcpy(one->index_size, from->index_size, from->indices * sizeof *one->index_size);
    one->index_size[TN_LOOKUP_TOKEN] = 1;
    with->to->program[layer] = one;
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
    if (operation->kind == TN_OP_LOOKUP) return true;
    bool positions = step->array[operation->writes[0]].role == TN_ARRAY_GRADIENT &&
                     step->layer[operation->layer].family == TN_LAYER_POSITIONS;
    return operation->kind == TN_OP_SCATTER && !positions;
}

/* A scatter that reads what it adds to has been given its beginning. */
static tn_status find_clears(finder *with) {
    const tn_step *step = with->step;
    bool *cleared;
    TN_TRY(TN_NEW(with->arena, step->arrays, &cleared, with->error));
    TN_TRY(TN_NEW(with->arena, step->operations, &with->to->clears, with->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        bool adds = operation->kind == TN_OP_SCATTER && operation->read_count == 1 &&
                    tn_moves_by_row(step, operation);
        if (operation->program_step &&
            with->to->program[operation->layer] != step->layer[operation->layer].program)
            adds = tn_lookup_is_summed(step->layer[operation->layer].program, operation->program_step);
        if (!adds || cleared[operation->writes[0]]) continue;
        cleared[operation->writes[0]] = with->to->clears[i] = true;
    }
    return TN_OK;
}

/* ---- matrices ---- */

static void is_matrix(finder *with, uint32_t array, uint64_t columns) {
    if (with->is_inner[array] || with->to->columns[array]) return;
    with->to->columns[array] = columns;
    with->to->feature_log[array] = (uint8_t)tn_log_above(columns);
}

/* An operand of a vector kernel: rows x columns, or as many parameters as columns; statistics of rows are neither. */
static void add_operand(finder *with, const tn_operation *operation, uint32_t array) {
    const tn_array *of = &with->step->array[array];
    const uint64_t tokens = with->step->layer[operation->layer].tokens;
    const tn_operation_row *row = &tn_operation_rows[operation->kind];
    bool parameter = of->role == TN_ARRAY_PARAMETER || of->role == TN_ARRAY_GRADIENT,
         by_row = row->shape == TN_SHAPE_LOOKUP || row->shape == TN_SHAPE_SCATTER;
    if (of->elements == operation->rows * operation->columns ||
        (parameter && of->elements == operation->columns) ||
        (by_row && of->elements % operation->columns == 0))
        is_matrix(with, array, row->of_heads && !parameter ? of->elements / tokens : operation->columns);
}

/* A word's features must be a box in a folding; in one of one axis they may reach beyond its end. */
static void fit_box(finder *with, uint32_t array, const uint64_t *size, uint32_t axes) {
    uint8_t *most = &with->to->feature_log[array];
    while (axes > 1 && *most > 0 && !tn_layout_is_box(size, axes, *most)) --*most;
}

/* Heads of one of the arrays of a product of attention. */
static uint64_t heads_of(const finder *with, const tn_operation *operation, const tn_attention_product *of,
                         int side) {
    const uint64_t heads = operation->batch / with->step->batch,
                   group = with->step->layer[operation->layer].group;
    const bool shared = tn_attention_is_shared(of->letters[side]), sums = tn_attention_sums_group(of);
    return shared == sums ? heads : shared ? heads / group : heads * group;
}

/* Tokens x heads x width of a head; scores are a matrix by their softmax. */
static void add_attention(finder *with, const tn_operation *operation) {
    const tn_attention_product *of = operation->attention;
    const uint32_t array[] = {operation->reads[0], operation->reads[1], operation->writes[0]};
    for (int i = 0; of && i < 3; i++) {
        const char *letters = of->letters[i];
        uint64_t width = strchr(of->letters[2], letters[2]) ? operation->columns : operation->reduction;
        if (letters[0] == 'h')
            with->to->heads[array[i]] = heads_of(with, operation, of, i) * with->step->batch;
        if (letters[0] == 'h') continue;
        is_matrix(with, array[i], heads_of(with, operation, of, i) * width);
    }
}

static void fit_heads(finder *with, const tn_operation *operation) {
    const tn_attention_product *of = operation->attention;
    const uint32_t array[] = {operation->reads[0], operation->reads[1], operation->writes[0]};
    for (int i = 0; of && i < 3; i++) {
        uint64_t columns = with->to->columns[array[i]], heads = heads_of(with, operation, of, i);
        const uint64_t size[] = {heads, heads ? columns / heads : 0};
        if (of->letters[i][0] != 'h' && columns > 0) fit_box(with, array[i], size, 2);
    }
}

/* Tokens x features, where another layer touches it, too. */
static void add_shared(finder *with, uint32_t layer) {
    const tn_program *program = with->step->layer[layer].program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        uint32_t array = with->to->of_tensor[layer][t];
        if (array == NONE || !is_outer(tensor->role) || tensor->indices.count == 0) continue;
        if (with->step->array[array].role == TN_ARRAY_PARAMETER ||
            with->step->array[array].role == TN_ARRAY_GRADIENT)
            continue; /* of a look-up: its first core */
        if (with->last_layer[array] && with->last_layer[array] != layer + 1)
            is_matrix(with, array, tensor->elements / program->index_size[tensor->indices.index[0]]);
        with->last_layer[array] = layer + 1;
    }
}

static void fit_foldings(finder *with, uint32_t layer) {
    const tn_program *program = with->step->layer[layer].program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_indices *indices = &program->tensor[t].indices;
        uint32_t array = with->to->of_tensor[layer][t];
        uint64_t size[TN_FACTORS_MOST];
        if (array == NONE || with->to->columns[array] == 0 || indices->count < 2) continue;
        if (indices->count - 1 >
            TN_FACTORS_MOST) { /* more than weights have: nothing is known to lie together */
            with->to->feature_log[array] = 0;
            continue;
        }
        for (uint32_t k = 1; k < indices->count; k++) size[k - 1] = program->index_size[indices->index[k]];
        fit_box(with, array, size, indices->count - 1);
    }
}

/* What a product adds to its output, and writes beside it, lies in words of the same foldings. */
static void fit_beside(finder *with, const tn_operation *operation, uint32_t array) {
    const tn_program *program = with->step->layer[operation->layer].program;
    const tn_indices *y = &program->tensor[operation->program_step->out].indices;
    uint64_t size[TN_FACTORS_MOST];
    if (with->to->columns[array] == 0) return;
    if (y->count - 1 > TN_FACTORS_MOST) {
        with->to->feature_log[array] = 0;
        return;
    }
    for (uint32_t k = 1; k < y->count; k++) size[k - 1] = program->index_size[y->index[k]];
    fit_box(with, array, size, y->count - 1);
}

/* What an update goes through side by side lies alike: a bias that a product adds, and its gradient. */
static void fit_update(finder *with, const tn_operation *update) {
    uint8_t *most = with->to->feature_log, least = UINT8_MAX;
    for (uint32_t k = 0; k < update->read_count; k++)
        if (with->to->columns[update->reads[k]] > 0 && most[update->reads[k]] < least)
            least = most[update->reads[k]];
    for (uint32_t k = 0; k < update->read_count; k++)
        if (with->to->columns[update->reads[k]] > 0) most[update->reads[k]] = least;
}

/* `visit` for each of these arrays. */
static void each_beside(finder *with, const tn_operation *operation,
                        void (*visit)(finder *, const tn_operation *, uint32_t)) {
    for (uint32_t k = TN_PRODUCT_OPERANDS; k < operation->read_count; k++)
        visit(with, operation, operation->reads[k]);
    for (uint32_t k = 1; k < operation->write_count; k++) visit(with, operation, operation->writes[k]);
}

static void add_beside(finder *with, const tn_operation *operation, uint32_t array) {
    const tn_program *program = with->step->layer[operation->layer].program;
    const tn_program_tensor *y = &program->tensor[operation->program_step->out];
    is_matrix(with, array, y->elements / program->index_size[y->indices.index[0]]);
}

static void find_matrices(finder *with) {
    const tn_step *step = with->step;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].fused_count > 0) each_beside(with, &step->operation[i], add_beside);
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        if (operation->program_step || operation->partial || tn_operation_is_update(operation)) continue;
        if (operation->kind == TN_OP_PRODUCT) {
            add_attention(with, operation);
            continue;
        }
        for (uint32_t k = 0; k < operation->read_count; k++)
            add_operand(with, operation, operation->reads[k]);
        for (uint32_t k = 0; k < operation->write_count; k++)
            add_operand(with, operation, operation->writes[k]);
    }
    for (uint32_t l = 0; l < step->layers; l++)
        if (step->layer[l].program) add_shared(with, l);
    for (uint32_t l = 0; l < step->layers; l++)
        if (step->layer[l].program) fit_foldings(with, l);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind == TN_OP_PRODUCT && !step->operation[i].program_step)
            fit_heads(with, &step->operation[i]);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].fused_count > 0) each_beside(with, &step->operation[i], fit_beside);
    for (uint32_t i = 0; i < with->to->updates; i++) fit_update(with, &step->operation[with->to->update[i]]);
}

static tn_status count_rows(finder *with) {
    const tn_step *step = with->step;
    tn_laid_arrays *to = with->to;
    TN_TRY(TN_NEW(with->arena, step->arrays, &to->rows, with->error));
    TN_TRY(TN_NEW(with->arena, step->arrays, &to->rows_log, with->error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (to->heads[a] == 0) to->heads[a] = 1;
        if (to->columns[a] == 0) continue;
        to->rows[a] = step->array[a].elements / to->columns[a];
        to->rows_log[a] = (uint8_t)tn_log_above(to->rows[a]);
    }
    return TN_OK;
}

tn_status tn_laid_arrays_find(const tn_step *step, tn_arena *arena, const tn_laid_arrays **arrays,
                              tn_error *error) {
    finder with = {.step = step, .arena = arena, .error = error};
    TN_TRY(TN_NEW(arena, 1, &with.to, error));
    TN_TRY(TN_NEW(arena, step->operations, &with.to->update, error));
    TN_TRY(TN_NEW(arena, step->operations, &with.to->cut, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.part, error));
    with.to->part = with.part;
    TN_TRY(TN_NEW(arena, step->layers, &with.to->of_tensor, error));
    TN_TRY(TN_NEW(arena, step->layers, &with.to->program, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.to->columns, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.to->heads, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.to->feature_log, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.last_layer, error));
    TN_TRY(TN_NEW(arena, step->arrays, &with.is_inner, error));
    TN_TRY(list_tensors(&with));
    find_matrices(&with);
    TN_TRY(count_rows(&with));
    for (uint32_t l = 0; l < step->layers; l++)
        if (is_lookup(with.to, step, l)) TN_TRY(of_one_token(&with, l));
    TN_TRY(find_clears(&with));
    *arrays = with.to;
    return TN_OK;
}
