/* Predicted gradients: after every `true` steps, `per` steps have no backward pass, fewer as the run goes on where `per` is a
 * list (4, 3, 2, 1 in the publication); a small predictor of each parameter
 * gives its gradient instead, from what the layer gave, and is trained in the true steps on the true gradient. Janfaza et
 * al., ADA-GP, MICRO 2023.
 *
 * A predictor has one hidden layer of `predictor` units and is applied to each row of its parameter alike. With y the
 * sums over the tokens of what the layer gives, cut along its features into rows as the parameter is (tn_predictor):
 *
 *   h = tanh(y U^T)     p = h V               in every step: p is the predicted gradient
 *   e = p - g           dV = h^T e            in true steps, g the true gradient: of e^2 / 2,
 *   dU = ((e V^T) (1 - h^2))^T y              by which U and V are updated
 *
 * Parameters of linear layers are predicted; those of look-ups, norms and positions move in the true steps alone. The
 * list has the operations of both sorts of step, each with how often it is done; a list of one sort leaves out the other's.
 */
#include "base/checked.h"
#include "model/operation.h"
#include "step/recompute.h"
#include "step/transformation.h"

#include <math.h>
#include <string.h>

/* Rows of a parameter: as many as leave each so many features to be predicted from, of which one alone says little. */
enum { ROWS_MOST = 32, INPUTS_LEAST = 8 };

/* Shares of the steps as whole numbers of this, where the cycle changes in a run. */
static const uint64_t PARTS = 1000000;

typedef struct predicting {
    tn_builder *b;
    const tn_operation *earlier;
    uint32_t operations, forward;
    uint32_t *last; /* [layers] last operation before the updates; TN_NONE: none behind the forward pass */
    uint32_t
        *given; /* [layers] last operation of the forward pass that writes what the layer gives, or TN_NONE */
    uint32_t *pooled; /* [layers] array of the sums over tokens, or TN_NONE */
    uint32_t *number; /* [layers] predictors so far */
    uint32_t *update,
        *next; /* [layers] first update of a predicted parameter; [operations] the next of its layer */
} predicting;

static bool wanted(const tn_model *model) {
    return tn_predicted_share(&model->keys.predicted_gradients) > 0;
}

static bool is_predicted(const predicting *p, const tn_operation *o) {
    if (o->phase != TN_UPDATE || o->kind == TN_OP_SELECT) return false;
    const tn_step_layer *layer = &p->b->step->layer[p->b->step->array[o->reads[0]].layer];
    return layer->program && layer->family == TN_LAYER_LINEAR && layer->output != TN_NONE;
}

/* --- how often an operation is done */

typedef enum in_steps { IN_ALL, IN_TRUE, IN_PREDICTED } in_steps;

static tn_status keep(predicting *p, const tn_operation *operation, in_steps steps) {
    const tn_model_predicted *predicted = &p->b->model->keys.predicted_gradients;
    uint32_t sort = p->b->sort;
    tn_operation o = *operation;
    if ((steps == IN_TRUE && sort == TN_SORT_PREDICTED) || (steps == IN_PREDICTED && sort == TN_SORT_TRUE))
        return TN_OK;
    if (steps != IN_ALL && sort == TN_SORT_MEAN) {
        const bool alone = predicted->per.count == 1;
        const uint64_t per = alone ? predicted->per.item[0]
                                   : (uint64_t)llround(tn_predicted_share(predicted) * (double)PARTS),
                       all = alone ? per + predicted->truly : PARTS;
        o.times = steps == IN_TRUE ? all - per : per;
        o.of_times = all;
    }
    return tn_builder_keep(p->b, &o);
}

/* --- one predictor */

/* The greatest divisor of `number` that may be a number of rows. */
static uint64_t rows_along(uint64_t number, uint64_t features) {
    uint64_t divisor = ROWS_MOST < features / INPUTS_LEAST ? ROWS_MOST : features / INPUTS_LEAST;
    if (divisor > number) divisor = number;
    while (divisor > 1 && number % divisor) divisor--;
    return divisor > 0 ? divisor : 1;
}

static const tn_program_tensor *find_tensor(const tn_program *program, tn_role role, uint32_t core) {
    for (uint32_t t = 0; t < program->tensors; t++)
        if (program->tensor[t].role == role && (role != TN_ROLE_CORE || program->tensor[t].core == core))
            return &program->tensor[t];
    return NULL;
}

/* Place of the first index that both have, in `left`; its count where there is none. */
static uint32_t shared_place(const tn_indices *left, const tn_indices *right) {
    uint32_t place = 0;
    for (; place < left->count; place++)
        for (uint32_t k = 0; k < right->count; k++)
            if (right->index[k] == left->index[place]) return place;
    return place;
}

static uint64_t size_of(const tn_program *program, const tn_indices *indices, uint32_t start, uint32_t end) {
    uint64_t size = 1; /* of a part of a tensor, whose elements are counted */
    for (uint32_t i = start; i < end; i++) size *= program->index_size[indices->index[i]];
    return size;
}

/* Rows are along the axis that the parameter shares with the features of what the layer gives: a core's own factor of
 * the outputs, a bias whole. A core that has none is one row. */
static void cut(const predicting *p, const tn_array *parameter, uint64_t features, tn_predictor *target) {
    const tn_program *program = p->b->step->layer[parameter->layer].program;
    *target = (tn_predictor){.width = p->b->model->keys.predicted_gradients.predictor,
                             .leading = 1,
                             .rows = 1,
                             .trailing = features,
                             .left = 1,
                             .right = parameter->elements};
    if (parameter->part == TN_PART_BIAS) {
        target->rows = rows_along(features, features);
        target->trailing = target->right = features / target->rows;
        return;
    }
    const tn_indices *core =
                         &find_tensor(program, TN_ROLE_CORE, parameter->number ? parameter->number - 1 : 0)
                              ->indices,
                     *out = &find_tensor(program, TN_ROLE_Y, 0)->indices;
    uint32_t place = shared_place(core, out);
    if (place == core->count) return;
    uint32_t there = 0;
    while (out->index[there] != core->index[place]) there++;
    target->rows = rows_along(program->index_size[core->index[place]], features);
    target->left = size_of(program, core, 0, place);
    target->right = parameter->elements / target->left / target->rows;
    target->leading = size_of(program, out, 1, there); /* the first index is the tokens' */
    target->trailing = features / target->leading / target->rows;
}

static tn_status array(predicting *p, tn_array_part part, uint32_t number, tn_array_role role,
                       uint64_t elements, uint32_t *made) {
    return tn_builder_array(p->b, part, number, role, elements, made);
}

static tn_status weights(predicting *p, tn_array_part part, uint32_t number, uint64_t elements,
                         uint64_t inputs, uint32_t *values, uint32_t *gradient) {
    tn_step *step = p->b->step;
    TN_TRY(array(p, part, number, TN_ARRAY_OPTIMIZER, elements, values));
    TN_TRY(array(p, part, number, TN_ARRAY_GRADIENT, elements, gradient));
    step->array[*values].inputs = inputs;
    if (!tn_add(step->optimizer_elements, elements, &step->optimizer_elements))
        return tn_fail(p->b->error, TN_OVERFLOW,
                       "predictors of more than 2^64 elements; use a smaller width");
    return TN_OK;
}

static tn_operation operation(tn_operation_kind kind, tn_phase phase, uint64_t rows, uint64_t reduction,
                              uint64_t columns, uint32_t left, uint32_t right, uint32_t target) {
    return (tn_operation){.kind = kind,
                          .phase = phase,
                          .batch = 1,
                          .rows = rows,
                          .reduction = reduction,
                          .columns = columns,
                          .read_count = right == TN_NONE ? 1 : 2,
                          .reads = {left, right},
                          .write_count = 1,
                          .writes = {target}};
}

static tn_status predict(predicting *p, const tn_operation *update) {
    tn_builder *b = p->b;
    const tn_array parameter = b->step->array[update->reads[0]];
    uint32_t index = parameter.layer, y = p->pooled[index], number = ++p->number[index];
    uint32_t u, du, v, dv, hidden, hidden_gradient, predicted, gradient = update->reads[1];
    uint64_t features = b->model->layer[index].width, of_u, of_v, of_hidden;
    tn_predictor *how;
    TN_TRY(TN_NEW(b->arena, 1, &how, b->error));
    cut(p, &parameter, features, how);
    uint64_t inputs = features / how->rows, outputs = parameter.elements / how->rows, width = how->width,
             rows = how->rows;
    if (!tn_mul(width, inputs, &of_u) || !tn_mul(width, outputs, &of_v) || !tn_mul(width, rows, &of_hidden))
        return tn_fail(b->error, TN_OVERFLOW, "a predictor of more than 2^64 elements; use a smaller width");
    b->layer_index = index;
    TN_TRY(weights(p, TN_PART_PREDICTOR_IN, number, of_u, inputs, &u, &du));
    TN_TRY(weights(p, TN_PART_PREDICTOR_OUT, number, of_v, 0, &v, &dv));
    TN_TRY(array(p, TN_PART_PREDICTOR_HIDDEN, number, TN_ARRAY_ACTIVATION, of_hidden, &hidden));
    TN_TRY(array(p, TN_PART_PREDICTED, number, TN_ARRAY_GRADIENT, parameter.elements, &predicted));
    TN_TRY(array(p, TN_PART_PREDICTOR_HIDDEN_GRADIENT, number, TN_ARRAY_ACTIVATION, of_hidden,
                 &hidden_gradient));
    const tn_phase phase = TN_WEIGHT_GRADIENT;
    tn_operation replaced = *update;
    replaced.reads[1] = predicted;
    const struct {
        in_steps steps;
        tn_operation o;
    } list[] = {
        {IN_ALL, operation(TN_OP_PRODUCT, phase, rows, inputs, width, y, u, hidden)},
        {IN_ALL, operation(TN_OP_TANH, phase, rows, 1, width, hidden, TN_NONE, hidden)},
        {IN_ALL, operation(TN_OP_PRODUCT, phase, rows, width, outputs, hidden, v, predicted)},
        {IN_PREDICTED, replaced},
        {IN_TRUE, operation(TN_OP_SUBTRACT, phase, 1, 1, parameter.elements, predicted, gradient, predicted)},
        {IN_TRUE, operation(TN_OP_PRODUCT, phase, rows, outputs, width, predicted, v, hidden_gradient)},
        {IN_TRUE, operation(TN_OP_PRODUCT, phase, width, rows, outputs, hidden, predicted, dv)},
        {IN_TRUE,
         operation(TN_OP_TANH_GRADIENT, phase, rows, 1, width, hidden_gradient, hidden, hidden_gradient)},
        {IN_TRUE, operation(TN_OP_PRODUCT, phase, width, rows, inputs, hidden_gradient, y, du)},
        {IN_TRUE, operation(TN_OP_UPDATE_SGD, TN_UPDATE, 1, 1, of_v, v, dv, v)},
        {IN_TRUE, operation(TN_OP_UPDATE_SGD, TN_UPDATE, 1, 1, of_u, u, du, u)},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        tn_operation o = list[i].o;
        o.layer = index;
        o.predictor = o.kind == TN_OP_PRODUCT ? how : NULL;
        TN_TRY(keep(p, &o, list[i].steps));
    }
    return TN_OK;
}

/* --- the list */

static tn_status pool(predicting *p, uint32_t layer) {
    tn_builder *b = p->b;
    const tn_layer *this_layer = &b->model->layer[layer];
    b->layer_index = layer;
    TN_TRY(array(p, TN_PART_PREDICTOR_INPUT, 0, TN_ARRAY_ACTIVATION, this_layer->width, &p->pooled[layer]));
    tn_operation sum = operation(TN_OP_COLUMN_SUM, TN_FORWARD, this_layer->tokens, 1, this_layer->width,
                                 b->step->layer[layer].output, TN_NONE, p->pooled[layer]);
    sum.layer = layer;
    return keep(p, &sum, IN_ALL);
}

static tn_status look_ahead(predicting *p) {
    tn_builder *b = p->b;
    const tn_step *step = b->step;
    uint32_t **const lists[] = {&p->last, &p->given, &p->pooled, &p->update, &p->number};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        TN_TRY(TN_NEW(b->arena, step->layers, lists[i], b->error));
        for (uint32_t k = 0; k < step->layers; k++) (*lists[i])[k] = lists[i] == &p->number ? 0 : TN_NONE;
    }
    TN_TRY(TN_NEW(b->arena, p->operations, &p->next, b->error));
    p->forward = tn_recompute_forward(p->earlier, p->operations);
    uint32_t predicted = 0;
    for (uint32_t i = p->operations; i-- > 0;) {
        uint32_t layer = p->earlier[i].layer;
        if (!is_predicted(p, &p->earlier[i])) continue;
        p->next[i] = p->update[layer];
        p->update[layer] = i;
        predicted++;
    }
    if (predicted == 0)
        return tn_fail_at(
            b->error, TN_INPUT, b->model->keys.predicted_at,
            "predicted_gradients are of the parameters of linear layers, of which none is trained");
    for (uint32_t i = 0; i < p->operations; i++) {
        const tn_operation *o = &p->earlier[i];
        for (uint32_t k = 0; i < p->forward && k < o->write_count; k++)
            if (o->writes[k] == step->layer[o->layer].output) p->given[o->layer] = i;
        if (i >= p->forward && o->phase != TN_UPDATE) p->last[o->layer] = i;
    }
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    predicting p = {.b = b, .earlier = earlier, .operations = operations};
    TN_TRY(look_ahead(&p));
    for (uint32_t i = 0; i < operations; i++) {
        const tn_operation *o = &earlier[i];
        TN_TRY(keep(&p, o, i < p.forward ? IN_ALL : IN_TRUE));
        if (p.update[o->layer] == TN_NONE) continue;
        if (p.given[o->layer] == i) TN_TRY(pool(&p, o->layer));
        for (uint32_t k = p.update[o->layer]; p.last[o->layer] == i && k != TN_NONE; k = p.next[k])
            TN_TRY(predict(&p, &earlier[k]));
    }
    return tn_builder_close_ranks(b, true);
}

static const char *const excluded[] = {"inference", "sparse-weights", NULL};

const tn_transformation tn_predicted_gradients = {
    .name = "predicted-gradients",
    .keys = "predicted_gradients",
    .source = "Janfaza et al., ADA-GP, MICRO 2023",
    .needs = "linear layers that are trained",
    .changes = "`per` steps of every `per` + `true` have no backward pass; predictors' products in every "
               "step, their "
               "training in true ones; predictors beside the optimizer's state",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
