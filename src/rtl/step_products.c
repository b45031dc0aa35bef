/* Products of a step: of layers' programs, look-ups token by token, attention. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "hardware/bank_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = 0 };

/* ---- products of a layer's program ---- */

bool tn_rtl_step_is_activation(tn_role role, bool looked_up) {
    return role == TN_ROLE_Y || role == TN_ROLE_DY ||
           (!looked_up && (role == TN_ROLE_X || role == TN_ROLE_DX));
}

static tn_status tensor_view(maker *with, uint32_t array, uint32_t t, const uint32_t *index, view *of) {
    const tn_program *program = with->step->layer[with->at->layer].program;
    const tn_program_tensor *tensor = &program->tensor[t];
    bool looked_up = with->model->layer[with->at->layer].kind->is_lookup;
    uint64_t others = 1;
    *of = (view){.axes = tensor->indices.count};
    uint32_t token = TN_RTL_NONE;
    if (of->axes > TN_BANK_LAYOUT_AXES) of->axes = TN_BANK_LAYOUT_AXES; /* refused by its elements */
    for (uint32_t k = 0; k < of->axes; k++) {
        uint32_t i = tensor->indices.index[k];
        of->index[k] = index[i];
        of->dims[k] = program->index_size[i];
        if (looked_up && i == TOKEN)
            token = k;
        else
            others *= of->dims[k];
    }
    if (token != TN_RTL_NONE) of->dims[token] = with->step->array[array].elements / others;
    if (of->axes == 0) *of = (view){.axes = 1, .index = {TN_RTL_NONE}, .dims = {1}};
    return tn_rtl_step_storage_of(with, array, of, tn_rtl_step_is_activation(tensor->role, looked_up), token,
                                  &of->storage);
}

static tn_status new_indices(maker *with, const tn_program *program, uint32_t **index) {
    TN_TRY(tn_arena_alloc(with->arena, program->indices, sizeof **index, index, with->error));
    for (uint32_t i = 0; i < program->indices; i++)
        TN_TRY(tn_rtl_step_new_index(with, program->index_size[i], &(*index)[i]));
    return TN_OK;
}

/* A cut core is read at its token's digit; everything else at the token. */
static tn_status look_at_token(maker *with, view *of, const uint32_t *index, uint32_t t, uint64_t token) {
    const tn_step_layer *layer = &with->step->layer[with->at->layer];
    const tn_program_tensor *tensor = &layer->program->tensor[t];
    bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX,
         core = first || tensor->role == TN_ROLE_CORE || tensor->role == TN_ROLE_CORE_GRADIENT;
    for (uint32_t k = 0; k < of->axes; k++) {
        if (of->index[k] != index[TOKEN]) continue;
        tn_rtl_slot slot = {.kind = TN_RTL_SLOT_FIXED, .value = token};
        if (core) {
            uint32_t digit = first ? 0 : tensor->core + 1;
            slot.kind = TN_RTL_SLOT_DIGIT;
            slot.radix = layer->weight->m[digit];
            slot.below = 1;
            for (uint32_t d = digit + 1; d < layer->weight->d; d++) slot.below *= layer->weight->m[d];
        }
        return tn_rtl_step_look_at(with, of, k, &slot);
    }
    return TN_OK;
}

/* ---- element by element over fixed axes ---- */

/* a (op) b into result: all alike but for what they look up; words of columns along the axis of words. */
tn_status tn_rtl_step_fixed_pass(maker *with, tn_operation_kind kind, uint32_t pass, view *a, view *b,
                                 view *result, double constant) {
    view *views[] = {a, b, result};
    uint32_t word_axis = with->storage[result->storage].activation ? result->axes - 1
                                                                   : with->storage[result->storage].word_axis;
    pass_of of = {.kind = kind,
                  .pass = pass,
                  .a = a,
                  .b = b,
                  .result = result,
                  .constant = {constant},
                  .limit_slot = TN_RTL_NONE};
    for (uint32_t k = 0; k < result->axes; k++) {
        uint32_t index;
        if (result->look.used && result->look.axis == k) continue;
        if (k != word_axis && result->dims[k] == 1) continue;
        TN_TRY(tn_rtl_step_new_index(with, result->dims[k], &index));
        for (int i = 0; i < 3; i++)
            if (views[i]) views[i]->index[k] = index;
        if (k == word_axis) {
            of.column = index;
        } else {
            if (of.rows == TN_RTL_ROW_INDICES)
                return tn_fail(with->error, TN_INPUT, "%s has more axes than a vector kernel loops over",
                               with->array[result->storage].name);
            of.row[of.rows++] = index;
        }
    }
    return tn_rtl_step_add_pass(with, &of);
}

view tn_rtl_step_fixed_view(const maker *with, uint32_t stored) {
    const tn_bank_layout *layout = &with->array[stored].layout;
    view of = {.storage = stored, .axes = layout->axes};
    memcpy(of.dims, layout->dims, sizeof of.dims);
    for (uint32_t k = 0; k < of.axes; k++) of.index[k] = TN_RTL_NONE;
    return of;
}

/* Sets a gradient to zero that is added to, once. */
tn_status tn_rtl_step_clear(maker *with, uint32_t array) {
    if (with->cleared[array]) return TN_OK;
    with->cleared[array] = true;
    view all = tn_rtl_step_fixed_view(with, with->to->array_of[array]);
    return tn_rtl_step_fixed_pass(with, TN_OP_SCATTER, 0, NULL, NULL, &all, 0);
}

/* A token's product beside the gradient of a cut core, then added into its slice. */
static tn_status add_into_slice(maker *with, const view *left, const view *right, const view *slice,
                                uint32_t *beside) {
    view made = *slice, from = *slice, into = *slice, temporary = *slice;
    uint32_t axis = slice->look.used ? slice->look.axis : TN_RTL_NONE;
    made.look.used = false;
    if (axis != TN_RTL_NONE) made.dims[axis] = temporary.dims[axis] = 1;
    temporary.look.used = false;
    if (*beside == TN_RTL_NONE) { /* laid as the slice is, so that both go word by word */
        view own = made;
        TN_TRY(tn_rtl_step_new_storage(with, "slice", &made, false, axis, beside));
        with->storage[*beside].word_axis = with->storage[slice->storage].word_axis;
        own.storage = *beside;
        tn_rtl_step_lay(with, &own, &with->array[*beside].layout);
    }
    made.storage = *beside;
    TN_TRY(tn_rtl_step_add_product(with, left, right, &made));
    temporary.storage = made.storage;
    return tn_rtl_step_fixed_pass(with, TN_OP_ADD, 0, &from, &temporary, &into, 0);
}

/* A gradient of a core has a term of every token. */
static bool is_summed(tn_role role) {
    return role == TN_ROLE_DX || role == TN_ROLE_CORE_GRADIENT;
}

/* Token by token; what has no token as an index is summed over them. */
static tn_status lookup_product(maker *with, const uint32_t *index) {
    const tn_operation *o = with->at;
    const tn_program_step *step = o->program_step;
    const uint32_t tensor[3] = {step->a, step->b, step->out},
                   array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    tn_role role = with->step->layer[o->layer].program->tensor[step->out].role;
    uint32_t beside = TN_RTL_NONE;
    for (uint64_t token = 0; token < with->model->layer[o->layer].tokens; token++) {
        view views[3];
        for (int i = 0; i < 3; i++) {
            TN_TRY(tensor_view(with, array[i], tensor[i], index, &views[i]));
            TN_TRY(look_at_token(with, &views[i], index, tensor[i], token));
        }
        bool of_token = views[0].look.used || views[1].look.used || views[2].look.used;
        if (!of_token || (!is_summed(role) && views[2].look.used)) {
            TN_TRY(tn_rtl_step_add_product(with, &views[0], &views[1], &views[2]));
            if (!of_token) return TN_OK; /* the same for all tokens */
            continue;
        }
        TN_TRY(tn_rtl_step_clear(with, o->writes[0]));
        TN_TRY(add_into_slice(with, &views[0], &views[1], &views[2], &beside));
    }
    return TN_OK;
}

tn_status tn_rtl_step_program_product(maker *with) {
    const tn_operation *o = with->at;
    const tn_program_step *step = o->program_step;
    uint32_t *index;
    view left, right, result;
    TN_TRY(new_indices(with, with->step->layer[o->layer].program, &index));
    if (with->model->layer[o->layer].kind->is_lookup) return lookup_product(with, index);
    TN_TRY(tensor_view(with, o->reads[0], step->a, index, &left));
    TN_TRY(tensor_view(with, o->reads[1], step->b, index, &right));
    TN_TRY(tensor_view(with, o->writes[0], step->out, index, &result));
    return tn_rtl_step_add_product(with, &left, &right, &result);
}

/* ---- attention ---- */

/* By the part that the product makes: indices of left, right and result; h head, q and k tokens of query and key, d
 * width of a head, v of a value's. */
static const struct {
    const char *part, *letters[3];
} attention[] = {
    {"scores", {"qhd", "khd", "hqk"}},         {"output", {"hqk", "khv", "qhv"}},
    {"value-gradient", {"hqk", "qhv", "khv"}}, {"scores-gradient", {"qhv", "khv", "hqk"}},
    {"query-gradient", {"hqk", "khd", "qhd"}}, {"key-gradient", {"hqk", "qhd", "khd"}},
};
static const char letters[] = "hqkdv";

static void attention_sizes(const maker *with, uint32_t layer, uint64_t size[5]) {
    const tn_layer *of = &with->model->layer[layer], *query = &with->model->layer[of->input[0]],
                   *key = &with->model->layer[of->input[1]];
    const uint64_t sizes[5] = {of->heads, query->sequence, key->sequence, query->width / of->heads,
                               of->width / of->heads};
    memcpy(size, sizes, sizeof sizes);
}

static tn_status letters_view(maker *with, uint32_t array, const char *text, const uint32_t index[5],
                              const uint64_t size[5], view *of) {
    *of = (view){.axes = 3};
    for (uint32_t k = 0; k < 3; k++) {
        size_t letter = (size_t)(strchr(letters, text[k]) - letters);
        of->index[k] = index[letter];
        of->dims[k] = size[letter];
    }
    bool scores = text[0] == 'h';
    return tn_rtl_step_storage_of(with, array, of, !scores, 0, &of->storage);
}

tn_status tn_rtl_step_attention_product(maker *with) {
    const tn_operation *o = with->at;
    const char *part = with->step->array[o->writes[0]].part;
    uint64_t size[5];
    uint32_t index[5];
    attention_sizes(with, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(tn_rtl_step_new_index(with, size[i], &index[i]));
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++) {
        view left, right, result;
        if (strcmp(attention[i].part, part) != 0) continue;
        TN_TRY(letters_view(with, o->reads[0], attention[i].letters[0], index, size, &left));
        TN_TRY(letters_view(with, o->reads[1], attention[i].letters[1], index, size, &right));
        TN_TRY(letters_view(with, o->writes[0], attention[i].letters[2], index, size, &result));
        return tn_rtl_step_add_product(with, &left, &right, &result);
    }
    return tn_fail(with->error, TN_INPUT, "%s: a product that makes %s has no template",
                   with->step->layer[o->layer].name, part);
}

/* Scores as heads, rows, columns: softmax and its gradient. */
tn_status tn_rtl_step_softmax(maker *with) {
    const tn_operation *o = with->at;
    const tn_layer *layer = &with->model->layer[o->layer];
    bool backward = o->kind == TN_OP_SOFTMAX_GRADIENT;
    uint64_t size[5];
    uint32_t index[5];
    view p, other;
    attention_sizes(with, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(tn_rtl_step_new_index(with, size[i], &index[i]));
    double scale = 1 / sqrt((double)(with->model->layer[layer->input[0]].width / layer->heads));
    TN_TRY(letters_view(with, o->reads[0], "hqk", index, size, &p));
    pass_of of = {.kind = o->kind,
                  .column = index[2],
                  .rows = 2,
                  .row = {index[0], index[1]},
                  .first_row = with->shared_rows,
                  .limit_slot = TN_RTL_NONE};
    if (backward) {
        TN_TRY(letters_view(with, o->reads[1], "hqk", index, size, &other));
        of.a = &p;
        of.b = &other;
        TN_TRY(tn_rtl_step_add_pass(with, &of));
        of.pass = 1;
        of.constant[0] = scale;
        of.result = &other;
        return tn_rtl_step_add_pass(with, &of);
    }
    TN_TRY(tn_rtl_step_tokens_slot(with, &of.limit_slot));
    of.constant[0] = scale;
    for (of.pass = 0; of.pass < tn_circuit_passes(o->kind); of.pass++) {
        of.a = of.result = of.pass == 2 ? NULL : &p;
        TN_TRY(tn_rtl_step_add_pass(with, &of));
    }
    return TN_OK;
}
