/* Sparse update: of a trained weight only a share of the input channels is updated, the first ones, so that its gradient, the
 * optimizer's state and what is kept of the layer's input are of these alone. Lin et al., On-Device Training Under 256KB
 * Memory, NeurIPS 2022.
 *
 * Of a dense matrix those are columns. A core has no input channels of its own: its share is of the factor of the inputs
 * that it carries, else of its factor of the outputs; a core without a factor is updated whole, as biases and all that
 * is no linear layer's weight are. A share of 0 updates none of a weight.
 *
 * The gradient's product runs over that part of the factor. An operand that the forward pass made, and of which nothing
 * else is read behind it, is cut out there by a copy, and the whole goes; others are read where they lie.
 */
#include "base/checked.h"
#include "model/operation.h"
#include "model/technique.h"
#include "step/recompute.h"
#include "step/trained_layers.h"
#include "step/transformation.h"

#include <inttypes.h>
#include <string.h>

static bool wanted(const tn_model *model) {
    bool any = false;
    for (size_t i = 0; i < model->keys.ratio.count; i++) any |= model->keys.ratio.item[i] < 1;
    return any;
}

/* A parameter of which a part is updated: before x whole x behind elements, of which before x kept x behind. */
typedef struct part {
    uint32_t parameter, index; /* array; index of the layer's program */
    uint64_t leading, whole, kept, trailing;
} part;

/* What is cut out of an array: of before x whole x behind elements before x kept x behind. */
typedef struct cutout {
    uint32_t source, target; /* arrays */
    uint64_t leading, kept, trailing;
} cutout;

typedef struct updating {
    tn_builder *b;
    const tn_operation *earlier;
    uint32_t operations, forward;
    part *part; /* [parts] */
    uint32_t parts;
    const part **of_gradient; /* [arrays] the part that a gradient is of; NULL: it is whole */
    bool *made;               /* [arrays] by the forward pass, */
    bool *whole_later;        /* [arrays] and read whole behind it */
    cutout *cut;
    uint32_t cuts;
} updating;

/* --- which weights, and which part of them */

/* The last pattern that names the weight says its share. */
static tn_status ratio_of(tn_builder *b, uint32_t array, double *ratio) {
    const tn_model *model = b->model;
    const char *name;
    *ratio = model->keys.ratio.item[0];
    if (model->keys.ratio.count == 1) return TN_OK;
    TN_TRY(tn_step_array_name(b->step, array, b->arena, &name, b->error));
    for (size_t p = 0; p < model->keys.train.count; p++)
        if (tn_parameter_is_named(model->keys.train.item[p], b->step->layer[b->step->array[array].layer].name,
                                  name))
            *ratio = model->keys.ratio.item[p];
    return TN_OK;
}

static bool is_weight(const tn_builder *b, const tn_array *array) {
    const tn_step_layer *layer = &b->step->layer[array->layer];
    return array->role == TN_ARRAY_PARAMETER && layer->family == TN_LAYER_LINEAR &&
           array->part != TN_PART_BIAS;
}

static const tn_indices *indices_of(const tn_builder *b, const tn_array *weight) {
    const tn_program *program = b->step->layer[weight->layer].program;
    uint32_t core = weight->number ? weight->number - 1 : 0, t = 0;
    while (program->tensor[t].role != TN_ROLE_CORE || program->tensor[t].core != core) t++;
    return &program->tensor[t].indices;
}

/* Place of the factor of the inputs, 1..d, else of that of the outputs, d+1..2d (tensor/weight.h); count: there is none. */
static uint32_t factor_place(const tn_indices *indices, uint32_t d) {
    for (uint32_t least = 1; least <= d + 1; least += d)
        for (uint32_t i = 0; i < indices->count; i++)
            if (indices->index[i] >= least && indices->index[i] < least + d) return i;
    return indices->count;
}

static void cut_part(updating *u, uint32_t parameter, double ratio) {
    const tn_array *array = &u->b->step->array[parameter];
    const tn_step_layer *layer = &u->b->step->layer[array->layer];
    const tn_indices *indices = indices_of(u->b, array);
    uint32_t place = factor_place(indices, layer->weight->d);
    if (place == indices->count) return;
    part *made = &u->part[u->parts];
    *made = (part){.parameter = parameter, .index = indices->index[place], .trailing = 1};
    made->whole = layer->program->index_size[made->index];
    made->kept = tn_kept_of(made->whole, ratio);
    for (uint32_t i = place + 1; i < indices->count; i++)
        made->trailing *= layer->program->index_size[indices->index[i]]; /* of an array, whose elements fit */
    made->leading = array->elements / made->whole / made->trailing;
    if (made->kept < made->whole) u->parts++;
}

/* Updates of weights with a share of 0 are left out, with what only they need. */
static tn_status drop_untrained(tn_builder *b, const tn_operation **earlier, uint32_t *operations) {
    bool *updates, any = false;
    TN_TRY(TN_NEW(b->arena, *operations, &updates, b->error));
    for (uint32_t i = 0; i < *operations; i++) {
        const tn_operation *o = &(*earlier)[i];
        double ratio = 1;
        if (o->phase != TN_UPDATE) continue;
        if (is_weight(b, &b->step->array[o->writes[0]])) TN_TRY(ratio_of(b, o->writes[0], &ratio));
        updates[i] = ratio > 0;
        any |= ratio == 0;
    }
    if (!any) return TN_OK;
    TN_TRY(tn_keep_updates(b, *earlier, *operations, updates, b->model->keys.ratio_at));
    tn_builder_anew(b, earlier, operations);
    return TN_OK;
}

static tn_status find_parts(updating *u) {
    tn_builder *b = u->b;
    TN_TRY(TN_NEW(b->arena, u->operations, &u->part, b->error));
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &u->of_gradient, b->error));
    for (uint32_t i = 0; i < u->operations; i++) {
        const tn_operation *o = &u->earlier[i];
        double ratio;
        uint32_t parts = u->parts;
        if (o->phase != TN_UPDATE || !is_weight(b, &b->step->array[o->writes[0]])) continue;
        TN_TRY(ratio_of(b, o->writes[0], &ratio));
        cut_part(u, o->writes[0], ratio);
        if (u->parts > parts) u->of_gradient[o->reads[1]] = &u->part[parts];
    }
    return TN_OK;
}

/* --- products */

static const part *part_of(const updating *u, const tn_operation *o) {
    return o->kind == TN_OP_PRODUCT && o->program_step ? u->of_gradient[o->writes[0]] : NULL;
}

/* The operand's tensor in its layer's program. */
static uint32_t tensor_of(const tn_operation *o, int operand) {
    return operand ? o->program_step->b : o->program_step->a;
}

/* The part's elements of an operand of the product of its gradient; false: that operand lacks the factor. */
static bool find_cut(const updating *u, const tn_operation *o, int operand, cutout *cut) {
    const part *piece = part_of(u, o);
    const tn_program *program = u->b->step->layer[o->layer].program;
    if (!piece) return false;
    const tn_indices *indices = &program->tensor[tensor_of(o, operand)].indices;
    uint32_t place = 0;
    while (place < indices->count && indices->index[place] != piece->index) place++;
    if (place == indices->count) return false;
    *cut = (cutout){.source = o->reads[operand], .kept = piece->kept, .trailing = 1};
    for (uint32_t i = place + 1; i < indices->count; i++)
        cut->trailing *= program->index_size[indices->index[i]];
    cut->leading = u->b->step->array[cut->source].elements / piece->whole / cut->trailing;
    return true;
}

static const cutout *find_known(const updating *u, const cutout *cut) {
    for (uint32_t i = 0; i < u->cuts; i++)
        if (u->cut[i].source == cut->source && u->cut[i].leading == cut->leading &&
            u->cut[i].kept == cut->kept && u->cut[i].trailing == cut->trailing)
            return &u->cut[i];
    return NULL;
}

static tn_status find_reads(updating *u) {
    tn_builder *b = u->b;
    cutout cut;
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &u->made, b->error));
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &u->whole_later, b->error));
    TN_TRY(TN_NEW(b->arena, (size_t)2 * u->parts, &u->cut, b->error));
    for (uint32_t i = 0; i < u->operations; i++) {
        const tn_operation *o = &u->earlier[i];
        for (uint32_t k = 0; i < u->forward && k < o->write_count; k++) u->made[o->writes[k]] = true;
        for (uint32_t k = 0; i >= u->forward && k < o->read_count; k++)
            if (k >= 2 || !find_cut(u, o, (int)k, &cut)) u->whole_later[o->reads[k]] = true;
    }
    return TN_OK;
}

static tn_status say_part(updating *u, const tn_operation *product, uint32_t tensor, tn_operation *target) {
    const part *piece = part_of(u, product);
    tn_partial *how;
    TN_TRY(TN_NEW(u->b->arena, 1, &how, u->b->error));
    *how = (tn_partial){
        .step = product->program_step, .tensor = tensor, .index = piece->index, .kept = piece->kept};
    target->partial = how;
    return TN_OK;
}

/* Once for all layers that read the same part of the array. */
static tn_status cut_out(updating *u, const tn_operation *product, uint32_t tensor, cutout *cut) {
    tn_builder *b = u->b;
    const tn_array source = b->step->array[cut->source];
    tn_operation copy = {.kind = TN_OP_LOOKUP,
                         .phase = TN_FORWARD,
                         .layer = product->layer,
                         .batch = 1,
                         .rows = cut->leading,
                         .reduction = 1,
                         .columns = cut->kept * cut->trailing,
                         .read_count = 1,
                         .reads = {cut->source},
                         .write_count = 1};
    b->layer_index = source.layer;
    TN_TRY(
        tn_builder_array(b, source.part, source.number, source.role, copy.rows * copy.columns, &cut->target));
    b->step->array[cut->target].is_part = true;
    copy.writes[0] = cut->target;
    u->cut[u->cuts++] = *cut;
    TN_TRY(say_part(u, product, tensor, &copy));
    return tn_builder_keep(b, &copy);
}

/* Behind the forward part of a layer what its gradients read of it. */
static tn_status cut_layer(updating *u, uint32_t layer) {
    cutout cut;
    for (uint32_t i = u->forward; i < u->operations; i++)
        for (int k = 0; k < 2 && u->earlier[i].layer == layer; k++) {
            const tn_operation *o = &u->earlier[i];
            if (!find_cut(u, o, k, &cut) || !u->made[cut.source] || u->whole_later[cut.source]) continue;
            if (!find_known(u, &cut)) TN_TRY(cut_out(u, o, tensor_of(o, k), &cut));
        }
    return TN_OK;
}

/* --- the list */

/* The part's rows or columns of the product alone. */
static tn_status keep_product(updating *u, const tn_operation *whole) {
    const part *piece = part_of(u, whole);
    tn_operation o = *whole;
    cutout cut[2];
    bool has[2];
    for (int k = 0; k < 2; k++) {
        has[k] = find_cut(u, whole, k, &cut[k]);
        const cutout *known = has[k] ? find_known(u, &cut[k]) : NULL;
        if (known) o.reads[k] = known->target;
    }
    uint64_t *size = has[0] && has[1] ? &o.batch : has[0] ? &o.rows : &o.columns;
    *size = *size / piece->whole * piece->kept;
    o.program_step = NULL;
    TN_TRY(say_part(u, whole, whole->program_step->out, &o));
    return tn_builder_keep(u->b, &o);
}

/* Gradient and state shrink to the part, and the update goes over it. */
static tn_status keep_update(updating *u, const tn_operation *whole) {
    tn_step *step = u->b->step;
    const part *piece = u->of_gradient[whole->reads[1]];
    tn_operation o = *whole;
    o.rows = piece->leading;
    o.columns = piece->kept * piece->trailing;
    step->array[o.reads[1]].elements = o.rows * o.columns;
    for (uint32_t k = 2; k < o.read_count; k++) {
        tn_array *state = &step->array[o.reads[k]];
        uint64_t elements = state->elements / piece->whole * piece->kept;
        step->optimizer_elements -= state->elements - elements;
        state->elements = elements;
    }
    return tn_builder_keep(u->b, &o);
}

static tn_status check_count(const tn_builder *b) {
    const tn_model *model = b->model;
    if (model->keys.ratio.count == 1 || model->keys.ratio.count == model->keys.train.count) return TN_OK;
    return tn_fail_at(
        b->error, TN_INPUT, model->keys.ratio_at,
        "\"ratio\" has %zu shares and \"train\" %zu names; give one share for all, or one for each name",
        model->keys.ratio.count, model->keys.train.count);
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    updating u = {.b = b};
    TN_TRY(check_count(b));
    TN_TRY(drop_untrained(b, &earlier, &operations));
    u.earlier = earlier;
    u.operations = operations;
    u.forward = tn_recompute_forward(earlier, operations);
    TN_TRY(find_parts(&u));
    TN_TRY(find_reads(&u));
    for (uint32_t i = 0; i < operations; i++) {
        const tn_operation *o = &earlier[i];
        bool ends = i < u.forward && (i + 1 == u.forward || earlier[i + 1].layer != o->layer);
        if (part_of(&u, o))
            TN_TRY(keep_product(&u, o));
        else if (o->phase == TN_UPDATE && u.of_gradient[o->reads[1]])
            TN_TRY(keep_update(&u, o));
        else
            TN_TRY(tn_builder_keep(b, o));
        if (ends) TN_TRY(cut_layer(&u, o->layer));
    }
    return TN_OK;
}

static const char *const excluded[] = {"inference", "predicted-gradients", "sparse-weights", NULL};

const tn_transformation tn_sparse_update = {
    .name = "sparse-update",
    .keys = "ratio",
    .source = "Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022",
    .needs = "linear layers that are trained",
    .changes =
        "of the weights of linear layers a share of the input channels is updated: multiply-adds of weight "
        "gradients, gradients, optimizer state, and inputs that only these keep",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
