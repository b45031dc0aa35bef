/* Products of a step: of layers' programs, look-ups token by token, attention. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "memory/laid_arrays.h"
#include "model/attention.h"
#include "step/fusion.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = TN_LOOKUP_TOKEN };

/* ---- products of a layer's program ---- */

/* An operand under the program's indices; a look-up's has as many places along its token as its array has slices. */
static tn_status tensor_view(maker *with, uint32_t array, uint32_t t, const uint32_t *index, view *of) {
    const tn_laid *laid = with->options->plan->laid;
    const tn_program *program = with->step->layer[with->at->layer].program;
    const tn_program_tensor *tensor = &program->tensor[t];
    bool looked_up = with->model->layer[with->at->layer].kind->family == TN_LAYER_EMBEDDING;
    tn_bank_layout own;
    uint64_t others = 1;
    uint32_t token = TN_RTL_NONE;
    TN_TRY(tn_rtl_tensor_layout(program, tensor, &laid->layer[with->at->layer]->tensor[t],
                                tn_array_part_names[with->step->array[array].part], &own, with->error));
    *of = (view){.axes = own.axes, .index = {TN_RTL_NONE}, .features = 1};
    for (uint32_t k = 0; k < own.axes; k++) {
        of->dims[k] = own.dims[k];
        if (k < tensor->indices.count) of->index[k] = index[tensor->indices.index[k]];
        if (looked_up && k < tensor->indices.count && tensor->indices.index[k] == TOKEN)
            token = k;
        else
            others *= of->dims[k];
    }
    if (token != TN_RTL_NONE) of->dims[token] = own.dims[token] = with->step->array[array].elements / others;
    return tn_rtl_step_storage_of(with, array, of, &own, &of->storage);
}

static tn_status new_indices(maker *with, const tn_program *program, uint32_t **index) {
    TN_TRY(TN_NEW(with->arena, program->indices, index, with->error));
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

/* ---- word by word ---- */

/* Rows and columns say which elements; what lies alike takes its words in their order. */
tn_status tn_rtl_step_word_pass(maker *with, tn_operation_kind kind, view *a, view *b, view *result,
                                double constant) {
    view *views[] = {a, b, result};
    pass_of of = {.kind = kind,
                  .a = a,
                  .b = b,
                  .result = result,
                  .column = TN_RTL_NONE,
                  .constant = {constant},
                  .limit_slot = TN_RTL_NONE,
                  .by_word = true};
    for (uint32_t k = result->axes; k-- > 0;) {
        uint32_t index;
        if (result->look.used && result->look.axis == k) continue;
        if (result->dims[k] == 1 && (k > 0 || of.column != TN_RTL_NONE)) continue;
        TN_TRY(tn_rtl_step_new_index(with, result->dims[k], &index));
        for (int i = 0; i < 3; i++)
            if (views[i]) views[i]->index[k] = index;
        if (of.column == TN_RTL_NONE) {
            of.column = index;
            continue;
        }
        if (of.rows == TN_RTL_ROW_INDICES)
            return tn_fail(with->error, TN_INPUT, "%s has more axes than a vector kernel loops over",
                           with->array[result->storage].name);
        of.row[of.rows++] = index;
    }
    if (of.column == TN_RTL_NONE) TN_TRY(tn_rtl_step_new_index(with, 1, &of.column));
    return tn_rtl_step_add_pass(with, &of);
}

view tn_rtl_step_whole_view(const maker *with, uint32_t stored) {
    const tn_bank_layout *layout = &with->array[stored].layout;
    view of = {.storage = stored, .axes = layout->axes, .features = 1};
    memcpy(of.dims, layout->dims, sizeof of.dims);
    for (uint32_t k = 0; k < of.axes; k++) of.index[k] = TN_RTL_NONE;
    return of;
}

/* Sets what the operation at hand adds to to zero, if it is the first that does. */
tn_status tn_rtl_step_clear(maker *with) {
    if (!with->options->workload->laid->arrays->clears[with->at - with->step->operation]) return TN_OK;
    view all = tn_rtl_step_whole_view(with, with->to->array_of[with->at->writes[0]]);
    return tn_rtl_step_word_pass(with, TN_OP_SCATTER, NULL, NULL, &all, 0);
}

/* ---- look-ups in cores ---- */

/* A token's product beside what it is added to, then added into the slice. */
static tn_status add_into_slice(maker *with, const view *left, const view *right, const view *slice,
                                const tn_rtl_cut cut[3], uint32_t *beside) {
    view made = *slice, from = *slice, into = *slice;
    made.look.used = false;
    if (slice->look.used) made.dims[slice->look.axis] = 1;
    if (*beside == TN_RTL_NONE) { /* laid as the slice is, so that both go word by word */
        storage kept = with->storage[slice->storage];
        if (slice->look.used) kept.own.dims[slice->look.axis] = 1;
        TN_TRY(tn_rtl_step_new_storage(with, "slice", &kept, &made, beside));
    }
    made.storage = *beside;
    TN_TRY(tn_rtl_step_add_product(with, left, right, &made, cut));
    view temporary = made;
    return tn_rtl_step_word_pass(with, TN_OP_ADD, &from, &temporary, &into, 0);
}

static void product_cuts(const maker *with, const tn_program *program, const uint32_t *index,
                         tn_rtl_cut cut[3]) {
    const tn_layouts *layouts = with->options->plan->laid->layer[with->at->layer];
    const tn_product_layout *product = &layouts->product[with->at->program_step - program->step];
    for (int group = 0; group < 3; group++) {
        cut[group] = tn_rtl_cut_of(product, group);
        for (int k = 0; k < 2; k++)
            if (cut[group].index[k] != TN_RTL_NONE) cut[group].index[k] = index[cut[group].index[k]];
    }
}

/* Token by token; gradients, and what has no token as an index, are summed over them. */
static tn_status lookup_product(maker *with, const uint32_t *index, const tn_rtl_cut cut[3]) {
    const tn_operation *o = with->at;
    const tn_program *program = with->step->layer[o->layer].program;
    const tn_program_step *step = o->program_step;
    const uint32_t tensor[3] = {step->a, step->b, step->out},
                   array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    uint64_t tokens = tn_lookup_is_by_token(program, step) ? with->step->layer[o->layer].tokens : 1;
    uint32_t beside = TN_RTL_NONE;
    for (uint64_t token = 0; token < tokens; token++) {
        view views[3];
        for (int i = 0; i < 3; i++) {
            TN_TRY(tensor_view(with, array[i], tensor[i], index, &views[i]));
            TN_TRY(look_at_token(with, &views[i], index, tensor[i], token));
        }
        if (!tn_lookup_is_summed(program, step)) {
            TN_TRY(tn_rtl_step_add_product(with, &views[0], &views[1], &views[2], cut));
            continue;
        }
        if (token == 0) TN_TRY(tn_rtl_step_clear(with));
        TN_TRY(add_into_slice(with, &views[0], &views[1], &views[2], cut, &beside));
    }
    return TN_OK;
}

/* ---- write-back ---- */

/* The stages of the operations that a product does before it writes, and which array each of them adds. */
static tn_status find_stages(maker *with, uint32_t *stages, uint32_t added[TN_RTL_ADDED]) {
    enum { FIRST, POSITIVE, LAST, STAGES };
    const tn_operation *o = with->at;
    const char *text;
    int next = FIRST;
    bool fits = true;
    *stages = 0;
    for (uint32_t i = 0; i < o->fused_count && fits; i++) {
        const tn_fused *fused = &o->fused[i];
        const bool adds = tn_operation_rows[fused->kind].shape == TN_SHAPE_ADD;
        const int stage = !adds ? POSITIVE : next == FIRST ? FIRST : LAST;
        fits = (adds || fused->kind == TN_OP_RELU) && !fused->keeps && stage >= next && next < STAGES;
        if (!fits) break;
        if (adds) added[stage == LAST] = o->reads[fused->read];
        *stages |= 1u << stage;
        next = stage + 1;
    }
    if (fits) return TN_OK;
    TN_TRY(tn_fused_text(with->step, o, with->arena, &text, with->error));
    return tn_fail(with->error, TN_INPUT,
                   "%s: build.fusion has no template for a product that does \"%s\" as it writes; set it to "
                   "additions, or none",
                   with->step->layer[o->layer].name, text);
}

/* What is added lies under the result's indices; a bias is the same for every token. */
static tn_status added_view(maker *with, uint32_t array, const view *result, view *of) {
    const uint64_t elements = with->step->array[array].elements,
                   columns = with->options->workload->laid->arrays->columns[array];
    view whole;
    *of = *result;
    of->features = 1;
    of->look = (tn_rtl_look){0};
    if (elements == columns && of->dims[0] != 1) {
        of->dims[0] = 1;
        of->index[0] = TN_RTL_NONE;
    }
    TN_TRY(
        tn_rtl_step_matrix_view(with, array, elements / columns, columns, TN_RTL_NONE, TN_RTL_NONE, &whole));
    of->storage = whole.storage;
    return TN_OK;
}

static tn_status add_write_back(maker *with, const view *result) {
    uint32_t stages, array[TN_RTL_ADDED];
    view views[TN_RTL_ADDED];
    const view *added[TN_RTL_ADDED] = {NULL};
    TN_TRY(find_stages(with, &stages, array));
    for (int a = 0; a < TN_RTL_ADDED; a++) {
        if (!(stages & (a == 0 ? TN_RTL_STAGE_FIRST : TN_RTL_STAGE_LAST))) continue;
        TN_TRY(added_view(with, array[a], result, &views[a]));
        added[a] = &views[a];
    }
    return tn_rtl_step_write_back(with, stages, added);
}

tn_status tn_rtl_step_program_product(maker *with) {
    const tn_operation *o = with->at;
    const tn_program_step *step = o->program_step;
    const tn_program *program = with->step->layer[o->layer].program;
    uint32_t *index;
    tn_rtl_cut cut[3];
    view left, right, result;
    TN_TRY(new_indices(with, program, &index));
    product_cuts(with, program, index, cut);
    if (with->model->layer[o->layer].kind->family == TN_LAYER_EMBEDDING)
        return lookup_product(with, index, cut);
    TN_TRY(tensor_view(with, o->reads[0], step->a, index, &left));
    TN_TRY(tensor_view(with, o->reads[1], step->b, index, &right));
    TN_TRY(tensor_view(with, o->writes[0], step->out, index, &result));
    TN_TRY(tn_rtl_step_add_product(with, &left, &right, &result, cut));
    return o->fused_count > 0 ? add_write_back(with, &result) : TN_OK;
}

/* ---- attention ---- */

/* Of tn_attention_product, in the order of attention_sizes. */
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
    *of = (view){.axes = 3, .features = text[0] == 'h' ? 2 : 1};
    for (uint32_t k = 0; k < 3; k++) {
        size_t letter = (size_t)(strchr(letters, text[k]) - letters);
        of->index[k] = index[letter];
        of->dims[k] = size[letter];
    }
    return tn_rtl_step_storage_of(with, array, of, NULL, &of->storage);
}

static tn_status refuse_attention(const maker *with) {
    const tn_layer *layer = &with->model->layer[with->at->layer];
    if (!layer->causal && layer->kv_heads == layer->heads) return TN_OK;
    return tn_fail(with->error, TN_INPUT, "%s: attention with %s has no template", layer->name,
                   layer->causal ? "a causal mask" : "fewer kv_heads than heads");
}

tn_status tn_rtl_step_attention_product(maker *with) {
    const tn_operation *o = with->at;
    const tn_attention_product *of = o->attention;
    const uint32_t array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    const uint64_t edge[3] = {with->options->rows, with->options->columns, with->options->terms};
    uint64_t size[5];
    uint32_t index[5];
    tn_rtl_cut cut[3];
    view views[3];
    if (!of)
        return tn_fail(with->error, TN_INPUT, "%s: a product that makes %s has no template",
                       with->step->layer[o->layer].name,
                       tn_array_part_names[with->step->array[o->writes[0]].part]);
    TN_TRY(refuse_attention(with));
    attention_sizes(with, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(tn_rtl_step_new_index(with, size[i], &index[i]));
    for (int i = 0; i < 3; i++) TN_TRY(letters_view(with, array[i], of->letters[i], index, size, &views[i]));
    for (int g = 0; g < 3; g++)
        cut[g] = tn_rtl_step_cut(index[strchr(letters, tn_attention_letter(of, g)) - letters], edge[g]);
    return tn_rtl_step_add_product(with, &views[0], &views[1], &views[2], cut);
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
