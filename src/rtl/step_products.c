/* Products of a step: of layers' programs, look-ups token by token, attention. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "memory/laid_arrays.h"
#include "model/attention.h"
#include "step/fusion.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = TN_LOOKUP_TOKEN };

/* ---- products of a layer's program ---- */

/* An operand under the program's indices; a look-up's has as many places along its token as its array has slices. */
static tn_status tensor_view(maker *builder, uint32_t array, uint32_t t, const uint32_t *index,
                             view *window) {
    const tn_laid *laid = builder->options->plan->laid;
    const tn_program *program = builder->step->layer[builder->current->layer].program;
    const tn_program_tensor *tensor = &program->tensor[t];
    bool looked_up = builder->model->layer[builder->current->layer].kind->family == TN_LAYER_EMBEDDING;
    tn_bank_layout own;
    uint64_t others = 1;
    uint32_t token = TN_RTL_NONE;
    TN_TRY(tn_rtl_tensor_layout(program, tensor, &laid->layer[builder->current->layer]->tensor[t],
                                tn_array_part_names[builder->step->array[array].part], &own, builder->error));
    *window = (view){.axes = own.axes, .index = {TN_RTL_NONE}, .features = 1};
    for (uint32_t k = 0; k < own.axes; k++) {
        window->dims[k] = own.dims[k];
        if (k < tensor->indices.count) window->index[k] = index[tensor->indices.index[k]];
        if (looked_up && k < tensor->indices.count && tensor->indices.index[k] == TOKEN)
            token = k;
        else
            others *= window->dims[k];
    }
    if (token != TN_RTL_NONE)
        window->dims[token] = own.dims[token] = builder->step->array[array].elements / others;
    return tn_rtl_step_storage_of(builder, array, window, &own, &window->storage);
}

static tn_status new_indices(maker *builder, const tn_program *program, uint32_t **index) {
    TN_TRY(TN_NEW(builder->arena, program->indices, index, builder->error));
    for (uint32_t i = 0; i < program->indices; i++)
        TN_TRY(tn_rtl_step_new_index(builder, program->index_size[i], &(*index)[i]));
    return TN_OK;
}

/* A cut core is read at its token's digit; everything else at the token. */
static tn_status look_at_token(maker *builder, view *window, const uint32_t *index, uint32_t t,
                               uint64_t token) {
    const tn_step_layer *layer = &builder->step->layer[builder->current->layer];
    const tn_program_tensor *tensor = &layer->program->tensor[t];
    bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX,
         core = first || tensor->role == TN_ROLE_CORE || tensor->role == TN_ROLE_CORE_GRADIENT;
    for (uint32_t k = 0; k < window->axes; k++) {
        if (window->index[k] != index[TOKEN]) continue;
        tn_rtl_slot slot = {.kind = TN_RTL_SLOT_FIXED, .value = token};
        if (core) {
            uint32_t digit = first ? 0 : tensor->core + 1;
            slot.kind = TN_RTL_SLOT_DIGIT;
            slot.radix = layer->weight->m[digit];
            slot.below = 1;
            for (uint32_t d = digit + 1; d < layer->weight->d; d++) slot.below *= layer->weight->m[d];
        }
        return tn_rtl_step_look_at(builder, window, k, &slot);
    }
    return TN_OK;
}

/* ---- word by word ---- */

/* Rows and columns say which elements; what lies alike takes its words in their order. */
tn_status tn_rtl_step_word_pass(maker *builder, tn_operation_kind kind, view *a, view *b, view *result,
                                double constant) {
    view *views[] = {a, b, result};
    pass_of pass = {.kind = kind,
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
        if (result->dims[k] == 1 && (k > 0 || pass.column != TN_RTL_NONE)) continue;
        TN_TRY(tn_rtl_step_new_index(builder, result->dims[k], &index));
        for (int i = 0; i < 3; i++)
            if (views[i]) views[i]->index[k] = index;
        if (pass.column == TN_RTL_NONE) {
            pass.column = index;
            continue;
        }
        if (pass.rows == TN_RTL_ROW_INDICES)
            return tn_fail(builder->error, TN_INPUT, "%s has more axes than a vector kernel loops over",
                           builder->array[result->storage].name);
        pass.row[pass.rows++] = index;
    }
    if (pass.column == TN_RTL_NONE) TN_TRY(tn_rtl_step_new_index(builder, 1, &pass.column));
    return tn_rtl_step_add_pass(builder, &pass);
}

view tn_rtl_step_whole_view(const maker *builder, uint32_t stored) {
    const tn_bank_layout *layout = &builder->array[stored].layout;
    view window = {.storage = stored, .axes = layout->axes, .features = 1};
    memcpy(window.dims, layout->dims, sizeof window.dims);
    for (uint32_t k = 0; k < window.axes; k++) window.index[k] = TN_RTL_NONE;
    return window;
}

/* Sets what the operation at hand adds to to zero, if it is the first that does. */
tn_status tn_rtl_step_clear(maker *builder) {
    if (!builder->options->workload->laid->arrays->clears[builder->current - builder->step->operation])
        return TN_OK;
    view all = tn_rtl_step_whole_view(builder, builder->program->array_of[builder->current->writes[0]]);
    return tn_rtl_step_word_pass(builder, TN_OP_SCATTER, NULL, NULL, &all, 0);
}

/* ---- look-ups in cores ---- */

/* A token's product beside what it is added to, then added into the slice. */
static tn_status add_into_slice(maker *builder, const view *left, const view *right, const view *slice,
                                const tn_rtl_cut cut[3], uint32_t *neighbour) {
    view made = *slice, source = *slice, target = *slice;
    made.look.used = false;
    if (slice->look.used) made.dims[slice->look.axis] = 1;
    if (*neighbour == TN_RTL_NONE) { /* laid as the slice is, so that both go word by word */
        storage kept = builder->storage[slice->storage];
        if (slice->look.used) kept.own.dims[slice->look.axis] = 1;
        TN_TRY(tn_rtl_step_new_storage(builder, "slice", &kept, &made, neighbour));
    }
    made.storage = *neighbour;
    TN_TRY(tn_rtl_step_add_product(builder, left, right, &made, cut));
    view temporary = made;
    return tn_rtl_step_word_pass(builder, TN_OP_ADD, &source, &temporary, &target, 0);
}

static void product_cuts(const maker *builder, const tn_program *program, const uint32_t *index,
                         tn_rtl_cut cut[3]) {
    const tn_layouts *layouts = builder->options->plan->laid->layer[builder->current->layer];
    const tn_product_layout *product = &layouts->product[builder->current->program_step - program->step];
    for (int group = 0; group < 3; group++) {
        cut[group] = tn_rtl_cut_of(product, group);
        for (int k = 0; k < 2; k++)
            if (cut[group].index[k] != TN_RTL_NONE) cut[group].index[k] = index[cut[group].index[k]];
    }
}

/* Token by token; gradients, and what has no token as an index, are summed over them. */
static tn_status lookup_product(maker *builder, const uint32_t *index, const tn_rtl_cut cut[3]) {
    const tn_operation *o = builder->current;
    const tn_program *program = builder->step->layer[o->layer].program;
    const tn_program_step *step = o->program_step;
    const uint32_t tensor[3] = {step->a, step->b, step->out},
                   array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    uint64_t tokens = tn_lookup_is_by_token(program, step) ? builder->step->layer[o->layer].tokens : 1;
    uint32_t neighbour = TN_RTL_NONE;
    for (uint64_t token = 0; token < tokens; token++) {
        view views[3];
        for (int i = 0; i < 3; i++) {
            TN_TRY(tensor_view(builder, array[i], tensor[i], index, &views[i]));
            TN_TRY(look_at_token(builder, &views[i], index, tensor[i], token));
        }
        if (!tn_lookup_is_summed(program, step)) {
            TN_TRY(tn_rtl_step_add_product(builder, &views[0], &views[1], &views[2], cut));
            continue;
        }
        if (token == 0) TN_TRY(tn_rtl_step_clear(builder));
        TN_TRY(add_into_slice(builder, &views[0], &views[1], &views[2], cut, &neighbour));
    }
    return TN_OK;
}

/* ---- write-back ---- */

/* What is added lies under the result's indices; a bias is the same for every token. */
static tn_status added_view(maker *builder, uint32_t array, const view *result, view *window) {
    const uint64_t elements = builder->step->array[array].elements,
                   columns = builder->options->workload->laid->arrays->columns[array];
    view whole;
    *window = *result;
    window->features = 1;
    window->look = (tn_rtl_look){0};
    if (elements == columns && window->dims[0] != 1) {
        window->dims[0] = 1;
        window->index[0] = TN_RTL_NONE;
    }
    TN_TRY(tn_rtl_step_matrix_view(builder, array, elements / columns, columns, TN_RTL_NONE, TN_RTL_NONE,
                                   &whole));
    window->storage = whole.storage;
    return TN_OK;
}

static tn_status add_write_back(maker *builder, const view *result) {
    uint32_t stages, array[TN_RTL_ADDED];
    view views[TN_RTL_ADDED];
    const view *added[TN_RTL_ADDED] = {NULL};
    tn_fused_stages(builder->current, &stages, array);
    for (int a = 0; a < TN_RTL_ADDED; a++) {
        if (!(stages & (a == 0 ? TN_RTL_STAGE_FIRST : TN_RTL_STAGE_LAST))) continue;
        TN_TRY(added_view(builder, builder->current->reads[array[a]], result, &views[a]));
        added[a] = &views[a];
    }
    return tn_rtl_step_write_back(builder, stages, added);
}

tn_status tn_rtl_step_program_product(maker *builder) {
    const tn_operation *o = builder->current;
    const tn_program_step *step = o->program_step;
    const tn_program *program = builder->step->layer[o->layer].program;
    uint32_t *index;
    tn_rtl_cut cut[3];
    view left, right, result;
    TN_TRY(new_indices(builder, program, &index));
    product_cuts(builder, program, index, cut);
    if (builder->model->layer[o->layer].kind->family == TN_LAYER_EMBEDDING)
        return lookup_product(builder, index, cut);
    TN_TRY(tensor_view(builder, o->reads[0], step->a, index, &left));
    TN_TRY(tensor_view(builder, o->reads[1], step->b, index, &right));
    TN_TRY(tensor_view(builder, o->writes[0], step->out, index, &result));
    TN_TRY(tn_rtl_step_add_product(builder, &left, &right, &result, cut));
    return o->fused_count > 0 ? add_write_back(builder, &result) : TN_OK;
}

/* ---- attention ---- */

/* Of tn_attention_product, in the order of attention_sizes. */
static const char letters[] = "hqkdv";

static void attention_sizes(const maker *builder, uint32_t layer, uint64_t size[5]) {
    const tn_layer *this_layer = &builder->model->layer[layer],
                   *query = &builder->model->layer[this_layer->input[0]],
                   *key = &builder->model->layer[this_layer->input[1]];
    const uint64_t sizes[5] = {this_layer->heads, query->sequence, key->sequence,
                               query->width / this_layer->heads, this_layer->width / this_layer->heads};
    memcpy(size, sizes, sizeof sizes);
}

static tn_status letters_view(maker *builder, uint32_t array, const char *text, const uint32_t index[5],
                              const uint64_t size[5], view *window) {
    *window = (view){.axes = 3, .features = text[0] == 'h' ? 2 : 1};
    for (uint32_t k = 0; k < 3; k++) {
        size_t letter = (size_t)(strchr(letters, text[k]) - letters);
        window->index[k] = index[letter];
        window->dims[k] = size[letter];
    }
    return tn_rtl_step_storage_of(builder, array, window, NULL, &window->storage);
}

tn_status tn_rtl_step_attention_product(maker *builder) {
    const tn_operation *o = builder->current;
    const tn_attention_product *attention = o->attention;
    const uint32_t array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    const tn_array_pass pass = tn_rtl_step_pass(builder);
    uint64_t edge[3];
    uint64_t size[5];
    uint32_t index[5];
    tn_rtl_cut cut[3];
    view views[3];
    if (!attention)
        return tn_fail(builder->error, TN_INPUT, "%s: a product that makes %s has no template",
                       builder->step->layer[o->layer].name,
                       tn_array_part_names[builder->step->array[o->writes[0]].part]);
    attention_sizes(builder, o->layer, size);
    tn_array_edges(builder->options->rows, builder->options->columns, pass, edge);
    if (pass == TN_PASS_OF_LANES) edge[2] = builder->options->terms;
    for (int i = 0; i < 5; i++) TN_TRY(tn_rtl_step_new_index(builder, size[i], &index[i]));
    for (int i = 0; i < 3; i++)
        TN_TRY(letters_view(builder, array[i], attention->letters[i], index, size, &views[i]));
    for (int g = 0; g < 3; g++)
        cut[g] =
            tn_rtl_step_cut(index[strchr(letters, tn_attention_letter(attention, g)) - letters], edge[g]);
    if (pass == TN_PASS_FORWARD || pass == TN_PASS_SIDEWAYS) cut[0] = tn_rtl_step_cut(TN_RTL_NONE, 1);
    return tn_rtl_step_add_product(builder, &views[0], &views[1], &views[2], cut);
}

/* Scores as heads, rows, columns: softmax and its gradient. */
tn_status tn_rtl_step_softmax(maker *builder) {
    const tn_operation *o = builder->current;
    const tn_layer *layer = &builder->model->layer[o->layer];
    bool backward = o->kind == TN_OP_SOFTMAX_GRADIENT;
    uint64_t size[5];
    uint32_t index[5];
    view p, other;
    attention_sizes(builder, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(tn_rtl_step_new_index(builder, size[i], &index[i]));
    double scale = 1 / sqrt((double)(builder->model->layer[layer->input[0]].width / layer->heads));
    TN_TRY(letters_view(builder, o->reads[0], "hqk", index, size, &p));
    pass_of pass = {.kind = o->kind,
                    .column = index[2],
                    .rows = 2,
                    .row = {index[0], index[1]},
                    .first_row = builder->shared_rows,
                    .limit_slot = TN_RTL_NONE};
    if (backward) {
        TN_TRY(letters_view(builder, o->reads[1], "hqk", index, size, &other));
        pass.a = &p;
        pass.b = &other;
        TN_TRY(tn_rtl_step_add_pass(builder, &pass));
        pass.pass = 1;
        pass.constant[0] = scale;
        pass.result = &other;
        return tn_rtl_step_add_pass(builder, &pass);
    }
    TN_TRY(tn_rtl_step_tokens_slot(builder, &pass.limit_slot));
    pass.constant[0] = scale;
    for (pass.pass = 0; pass.pass < tn_circuit_passes(o->kind); pass.pass++) {
        pass.a = pass.result = pass.pass == 2 ? NULL : &p;
        TN_TRY(tn_rtl_step_add_pass(builder, &pass));
    }
    return TN_OK;
}
