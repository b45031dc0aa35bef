/* A graph read node by node: what each operator makes of what it takes. */
#include "ranks/onnx_reader.h"

#include <inttypes.h>
#include <string.h>

static bool is(const tn_onnx_reader *r, const char *operator) {
    return strcmp(r->node->operator, operator) == 0;
}

static bool is_any(const tn_onnx_reader *r, const char *const *operators) {
    for (; *operators; operators++)
        if (is(r, *operators)) return true;
    return false;
}

/* Of an attention: one where nothing was folded; 0 where the graph leaves open how many. */
static uint64_t heads_of(const tn_onnx_known *shares, const tn_onnx_known *values) {
    const uint64_t heads =
        shares->heads && shares->heads != TN_ONNX_HEADS_OPEN ? shares->heads : values->heads;
    if (heads == TN_ONNX_HEADS_OPEN) return 0;
    return heads ? heads : shares->heads == TN_ONNX_HEADS_OPEN ? 0 : 1;
}

static tn_status read_matmul(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1);
    tn_onnx_known out = {.sort = TN_ONNX_DATA, .of_tokens = x->of_tokens || w->of_tokens};
    if (x->sort == TN_ONNX_ACTIVATION && w->sort == TN_ONNX_TENSOR) {
        const tn_array_info *info = tn_onnx_info(r, w->array);
        if (info->axes != 2)
            return tn_onnx_refuse(r, "multiplies by \"%.60s\", which is no matrix", info->name);
        TN_TRY(tn_onnx_add_linear(r, x, w->array, !w->turned, info->shape[w->turned ? 0 : 1],
                                  info->shape[w->turned ? 1 : 0], &out));
    } else if (x->sort == TN_ONNX_ACTIVATION && w->sort == TN_ONNX_ACTIVATION) {
        out = (tn_onnx_known){.sort = TN_ONNX_SCORES, .heads = x->heads};
        TN_TRY(tn_onnx_layer_of(r, x, &out.layer));
        TN_TRY(tn_onnx_layer_of(r, w, &out.key));
    } else if (x->sort == TN_ONNX_SHARES && w->sort == TN_ONNX_ACTIVATION) {
        tn_onnx_layer layer = {.kind = "attention",
                               .inputs = 3,
                               .input = {x->layer, x->key},
                               .array = TN_ONNX_NONE,
                               .heads = heads_of(x, w)};
        TN_TRY(tn_onnx_layer_of(r, w, &layer.input[2]));
        layer.width = r->layers->layer[layer.input[2]].width;
        TN_TRY(tn_onnx_add(r, &layer, &out));
    } else if (x->sort > TN_ONNX_TENSOR || w->sort > TN_ONNX_TENSOR)
        return tn_onnx_refuse(r, "multiplies what is neither an activation by a constant nor attention");
    return tn_onnx_give(r, 0, &out);
}

static tn_status read_gemm(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1), *c = tn_onnx_operand(r, 2);
    const tn_onnx_attribute *alpha = tn_onnx_attribute_of(r->node, "alpha"),
                            *beta = tn_onnx_attribute_of(r->node, "beta"),
                            *a = tn_onnx_attribute_of(r->node, "transA"),
                            *b = tn_onnx_attribute_of(r->node, "transB");
    tn_onnx_known out;
    if (x->sort != TN_ONNX_ACTIVATION || w->sort != TN_ONNX_TENSOR || tn_onnx_info(r, w->array)->axes != 2)
        return tn_onnx_refuse(r, "multiplies what is no activation by a constant matrix");
    if ((alpha && alpha->real != 1) || (beta && beta->real != 1) || (a && a->number))
        return tn_onnx_refuse(r, "scales or transposes its product");
    bool turned = (b && b->number) == w->turned; /* the array as it stands is inputs x outputs */
    const tn_array_info *info = tn_onnx_info(r, w->array);
    TN_TRY(tn_onnx_add_linear(r, x, w->array, turned, info->shape[turned ? 1 : 0],
                              info->shape[turned ? 0 : 1], &out));
    if (c->sort == TN_ONNX_TENSOR || c->sort == TN_ONNX_NUMBER) {
        r->layers->layer[out.layer].bias = true;
        r->layers->layer[out.layer].bias_array = c->array;
        r->layers->layer[out.layer].name = tn_onnx_info(r, c->array)->name;
    }
    return tn_onnx_give(r, 0, &out);
}

/* A convolution that cuts an image into patches: each is a row of inputs. */
static tn_status read_conv(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1), *c = tn_onnx_operand(r, 2);
    const tn_onnx_attribute *strides = tn_onnx_attribute_of(r->node, "strides"),
                            *group = tn_onnx_attribute_of(r->node, "group");
    tn_onnx_known out;
    const tn_array_info *info = w->sort == TN_ONNX_TENSOR ? tn_onnx_info(r, w->array) : NULL;
    bool patches = x->sort == TN_ONNX_ACTIVATION && strcmp(r->layers->layer[x->layer].kind, "input") == 0 &&
                   info && info->axes == 4 && info->shape[0] && strides && strides->numbers == 2 &&
                   (uint64_t)strides->list[0] == info->shape[2] &&
                   (uint64_t)strides->list[1] == info->shape[3] && (!group || group->number == 1);
    if (!patches)
        return tn_onnx_refuse(
            r, "is a convolution; one that cuts an input into patches (stride = kernel) is recognised");
    r->layers->layer[x->layer].width = 0;
    TN_TRY(tn_onnx_add_linear(r, x, w->array, false, info->shape[0], info->elements / info->shape[0], &out));
    r->layers->layer[out.layer].bias = c->sort == TN_ONNX_TENSOR;
    r->layers->layer[out.layer].bias_array = c->array;
    return tn_onnx_give(r, 0, &out);
}

/* Outputs `first` to first + rows of a product, by themselves: a product of the same input. */
static tn_status take_part(tn_onnx_reader *r, const tn_onnx_known *x, uint64_t first, uint64_t rows,
                           tn_onnx_known *out) {
    uint32_t start = x->layer;
    const char *kind = tn_samples_kind(&x->row);
    tn_onnx_layer part = r->layers->layer[start];
    if (strcmp(part.kind, "linear") != 0 || !kind || kind[0] || rows == 0 || first >= part.rows ||
        rows > part.rows - first)
        return tn_onnx_refuse(r, "takes a part of what is no product");
    r->layers->layer[start].gone = part.cut = true;
    part.gone = false;
    part.rows = part.width = rows;
    part.first += first;
    uint64_t heads = x->heads;
    TN_TRY(tn_onnx_add(r, &part, out));
    out->heads = heads;
    return TN_OK;
}

/* Whether the value is the one whole number. */
static bool is_number(const tn_onnx_known *known, int64_t number) {
    return known->sort == TN_ONNX_DATA && known->listed == 1 && known->list[0] == number;
}

static tn_status read_gather(tn_onnx_reader *r) {
    const tn_onnx_known *table = tn_onnx_operand(r, 0), *rows = tn_onnx_operand(r, 1);
    tn_onnx_known out = {.sort = TN_ONNX_DATA,
                         .of_tokens = table->of_tokens || rows->of_tokens,
                         .listed = 1,
                         .list = {TN_ONNX_UNKNOWN}};
    enum { FEW = 4 }; /* types of tokens, not positions */
    if (table->sort == TN_ONNX_TENSOR && tn_onnx_info(r, table->array)->axes == 2) {
        const tn_array_info *info = tn_onnx_info(r, table->array);
        const tn_onnx_layer layer = {.kind = "embedding",
                                     .name = info->name,
                                     .width = info->shape[1],
                                     .rows = info->shape[0],
                                     .columns = info->shape[1],
                                     .array = table->array};
        out = (tn_onnx_known){.sort = TN_ONNX_POSITIONS, .array = table->array};
        if (rows->of_tokens || info->shape[0] <= FEW) {
            TN_TRY(tn_onnx_add(r, &layer, &out));
        }
    } else if (table->sort == TN_ONNX_ACTIVATION && table->of_three && rows->listed == 1 &&
               rows->list[0] >= 0 && rows->list[0] < 3) {
        uint64_t rows_of_part = r->layers->layer[table->layer].rows / 3;
        TN_TRY(take_part(r, table, (uint64_t)rows->list[0] * rows_of_part, rows_of_part, &out));
    } else if (table->sort == TN_ONNX_ACTIVATION) {
        uint32_t start;
        if (rows->listed != 1 || rows->list[0] != 0)
            return tn_onnx_refuse(r, "takes other tokens than the first");
        TN_TRY(tn_onnx_layer_of(r, table, &start));
        TN_TRY(tn_onnx_add_simple(r, "first-token", start, &out));
    } else if (table->sort > TN_ONNX_TENSOR)
        return tn_onnx_refuse(r, "takes a part of scores");
    return tn_onnx_give(r, 0, &out);
}

/* The first token, or features of a product. */
static tn_status read_slice(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *source = tn_onnx_operand(r, 1),
                        *target = tn_onnx_operand(r, 2), *axis = tn_onnx_operand(r, 3);
    tn_onnx_known out = {.sort = TN_ONNX_DATA, .of_tokens = x->of_tokens};
    if (x->sort == TN_ONNX_TENSOR || x->sort == TN_ONNX_POSITIONS) { /* the first rows of a table */
        out = *x;
    } else if (x->sort == TN_ONNX_ACTIVATION && is_number(source, 0) && is_number(target, INT64_MAX)) {
        out = *x;
    } else if (x->sort == TN_ONNX_ACTIVATION && is_number(source, 0) && is_number(target, 1) &&
               is_number(axis, 1)) {
        uint32_t layer;
        TN_TRY(tn_onnx_layer_of(r, x, &layer));
        TN_TRY(tn_onnx_add_simple(r, "first-token", layer, &out));
    } else if (x->sort == TN_ONNX_ACTIVATION && source->listed == 1 && source->list[0] >= 0 &&
               target->listed == 1 && target->list[0] > source->list[0] &&
               (is_number(axis, 2) || is_number(axis, -1))) {
        uint64_t end = (uint64_t)target->list[0], rows = r->layers->layer[x->layer].rows;
        uint64_t first = (uint64_t)source->list[0];
        TN_TRY(take_part(r, x, first, (end < rows ? end : rows) - first, &out));
    } else if (x->sort >= TN_ONNX_ACTIVATION)
        return tn_onnx_refuse(
            r, "takes a part of an activation that is neither its first token nor features of a product");
    return tn_onnx_give(r, 0, &out);
}

/* A product in equal parts: several products of the same input. */
static tn_status read_split(tn_onnx_reader *r) {
    const tn_onnx_known x = *tn_onnx_operand(r, 0);
    size_t parts = r->node->outputs;
    const tn_onnx_known data = {
        .sort = TN_ONNX_DATA, .of_tokens = x.of_tokens, .listed = 1, .list = {TN_ONNX_UNKNOWN}};
    uint64_t rows = x.sort == TN_ONNX_ACTIVATION && parts ? r->layers->layer[x.layer].rows / parts : 0;
    if (x.sort > TN_ONNX_ACTIVATION || (rows && r->layers->layer[x.layer].rows % parts))
        return tn_onnx_refuse(r, "cuts what is no product of equal parts");
    for (size_t i = 0; i < parts; i++) {
        tn_onnx_known out = data;
        if (x.sort == TN_ONNX_ACTIVATION) TN_TRY(take_part(r, &x, i * rows, rows, &out));
        TN_TRY(tn_onnx_give(r, i, &out));
    }
    return TN_OK;
}

static tn_status read_norm(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *scale = tn_onnx_operand(r, 1),
                        *shift = tn_onnx_operand(r, 2);
    uint32_t start;
    tn_onnx_known out;
    TN_TRY(tn_onnx_layer_of(r, x, &start));
    TN_TRY(tn_onnx_add_simple(r, is(r, "LayerNormalization") ? "layer-norm" : "rms-norm", start, &out));
    tn_onnx_layer *layer = &r->layers->layer[out.layer];
    layer->scale = scale->sort == TN_ONNX_TENSOR;
    layer->bias = shift->sort == TN_ONNX_TENSOR;
    layer->scale_array = scale->array;
    layer->bias_array = shift->array;
    if (layer->scale) layer->name = tn_onnx_info(r, scale->array)->name;
    return tn_onnx_give(r, 0, &out);
}

/* Features folded into heads: a last axis narrower than they are is that of a head, the one before it counts the heads.
 * What exporters leave open stays unknown. */
static void fold(const tn_onnx_reader *r, const tn_onnx_known *shape, tn_onnx_known *known) {
    const uint64_t width = r->layers->layer[known->layer].width;
    const int64_t last = shape->listed ? shape->list[shape->listed - 1] : TN_ONNX_UNKNOWN,
                  before = shape->listed > 3 ? shape->list[shape->listed - 2] : TN_ONNX_UNKNOWN;
    known->of_three = shape->listed == 5 && shape->list[2] == 3;
    const uint64_t features = known->of_three ? width / 3 : width;
    if (shape->listed >= 3 && last > 0 && features % (uint64_t)last == 0 && (uint64_t)last < features)
        known->heads = features / (uint64_t)last;
    else if (before > 0)
        known->heads = (uint64_t)before;
    else if (shape->listed >= 3 && (last <= 0 || (uint64_t)last != features))
        known->heads = TN_ONNX_HEADS_OPEN;
    else if (shape->listed == 0)
        known->heads = TN_ONNX_HEADS_OPEN;
}

/* Reshapes and copies leave an activation what it is; heads become known by them. */
static tn_status read_view(tn_onnx_reader *r) {
    tn_onnx_known out = *tn_onnx_operand(r, 0);
    const tn_onnx_known *shape = tn_onnx_operand(r, 1);
    if (is(r, "Transpose") && out.sort == TN_ONNX_TENSOR) out.turned = !out.turned;
    if (is(r, "Reshape") && out.sort == TN_ONNX_ACTIVATION) fold(r, shape, &out);
    return tn_onnx_give(r, 0, &out);
}

static tn_status read_softmax(tn_onnx_reader *r) {
    tn_onnx_known out = *tn_onnx_operand(r, 0);
    if (out.sort == TN_ONNX_SCORES) out.sort = TN_ONNX_SHARES;
    return tn_onnx_give(r, 0, &out);
}

/* Data side by side; or a token that is the same for all examples before the others. */
static tn_status read_concat(tn_onnx_reader *r) {
    tn_onnx_known out = {.sort = TN_ONNX_DATA};
    const tn_onnx_known *token = NULL, *others = NULL;
    for (size_t i = 0; i < r->node->inputs; i++) {
        const tn_onnx_known *part = tn_onnx_operand(r, i);
        out.of_tokens |= part->of_tokens;
        for (size_t k = 0; k < part->listed && out.listed < TN_ONNX_LIST_MOST; k++)
            out.list[out.listed++] = part->list[k];
        if (part->sort == TN_ONNX_TENSOR) token = part;
        if (part->sort >= TN_ONNX_ACTIVATION) others = part;
    }
    if (!others) return tn_onnx_give(r, 0, &out);
    if (!token || r->node->inputs != 2 || others->sort != TN_ONNX_ACTIVATION)
        return tn_onnx_refuse(r, "puts activations side by side");
    const tn_array_info *info = tn_onnx_info(r, token->array);
    const tn_onnx_layer layer = {.kind = "embedding",
                                 .name = info->name,
                                 .width = info->elements,
                                 .rows = 1,
                                 .columns = info->elements,
                                 .array = token->array};
    const tn_onnx_known next = *others;
    tn_onnx_known table;
    TN_TRY(tn_onnx_add(r, &layer, &table));
    TN_TRY(tn_onnx_add_residual(r, &next, &table, &out));
    return tn_onnx_give(r, 0, &out);
}

/* A vector of parameters: the bias of a product, scale or shift of a norm; or a table of positions. */
static tn_status take_vector(tn_onnx_reader *r, const tn_onnx_known *x, const tn_onnx_known *vector,
                             tn_onnx_known *out) {
    const tn_array_info *info = tn_onnx_info(r, vector->array);
    uint32_t start;
    TN_TRY(tn_onnx_layer_of(r, x, &start));
    tn_onnx_layer *layer = &r->layers->layer[start];
    bool norm = strstr(layer->kind, "-norm") != NULL, add = is(r, "Add");
    *out = *x;
    if (info->elements == layer->width &&
        ((add && !layer->bias && (norm || strcmp(layer->kind, "linear") == 0)) ||
         (is(r, "Mul") && norm && !layer->scale))) {
        *(add ? &layer->bias : &layer->scale) = true;
        *(add ? &layer->bias_array : &layer->scale_array) = vector->array;
        layer->name = info->name;
        return TN_OK;
    }
    if (add) return tn_onnx_add_positions(r, x, vector->array, out);
    return tn_onnx_refuse(r, "multiplies an activation by \"%.60s\", which is no scale of a norm",
                          info->name);
}

/* Two activations, of one layer or of two. */
static tn_status combine(tn_onnx_reader *r, const tn_onnx_known *a, const tn_onnx_known *b,
                         tn_onnx_known *out) {
    *out = *a;
    if (a->layer != b->layer) {
        if (is(r, "Add")) return tn_onnx_add_residual(r, a, b, out);
        return tn_onnx_refuse(r, "combines two activations other than by a sum");
    }
    if (!tn_samples_apply(r->node->operator, & a->row, &b->row, &out->row))
        return tn_onnx_refuse(r, "is not recognised");
    return TN_OK;
}

/* A small operator: of constants, of an activation and a constant, or of two activations. */
static tn_status read_small(tn_onnx_reader *r) {
    const tn_onnx_known *a = tn_onnx_operand(r, 0), *b = tn_onnx_operand(r, 1);
    bool two = r->node->inputs > 1 && !is(r, "ReduceMean");
    tn_onnx_known out = {.sort = TN_ONNX_DATA, .of_tokens = a->of_tokens || b->of_tokens};
    if (a->sort < TN_ONNX_ACTIVATION && (!two || b->sort < TN_ONNX_ACTIVATION)) {
        if (a->sort == TN_ONNX_NUMBER && (!two || b->sort == TN_ONNX_NUMBER) &&
            tn_samples_apply(r->node->operator, & a->row, two ? &b->row : NULL, &out.row))
            out.sort = TN_ONNX_NUMBER;
        return tn_onnx_give(r, 0, &out);
    }
    if (a->sort == TN_ONNX_SCORES || b->sort == TN_ONNX_SCORES) { /* scales and masks */
        const tn_onnx_known *scores = a->sort == TN_ONNX_SCORES ? a : b, *other = scores == a ? b : a;
        if (other->sort >= TN_ONNX_ACTIVATION) return tn_onnx_refuse(r, "combines scores with an activation");
        return tn_onnx_give(r, 0, scores);
    }
    if (a->sort == TN_ONNX_SHARES || (two && b->sort == TN_ONNX_SHARES))
        return tn_onnx_refuse(r, "changes what softmax gave");
    const tn_onnx_known *x = a->sort == TN_ONNX_ACTIVATION ? a : b, *y = x == a ? b : a;
    out = *x;
    if (!two) {
        if (!tn_samples_apply(r->node->operator, & a->row, NULL, &out.row))
            return tn_onnx_refuse(r, "is not recognised");
    } else if (y->sort == TN_ONNX_ACTIVATION) {
        TN_TRY(combine(r, a, b, &out));
    } else if (y->sort == TN_ONNX_NUMBER) {
        if (!tn_samples_apply(r->node->operator, & a->row, &b->row, &out.row))
            return tn_onnx_refuse(r, "is not recognised");
    } else if (y->sort == TN_ONNX_TENSOR) {
        TN_TRY(take_vector(r, x, y, &out));
    } else if (y->sort == TN_ONNX_POSITIONS && is(r, "Add")) {
        TN_TRY(tn_onnx_add_positions(r, x, y->array, &out));
    } else if (!is(r, "Mul") &&
               !is(r, "Div")) /* a scale that is computed from shapes leaves the row what it is */
        return tn_onnx_refuse(r, "combines an activation with data");
    const char *kind = tn_samples_kind(&out.row);
    if (kind && kind[0]) TN_TRY(tn_onnx_add_simple(r, kind, out.layer, &out));
    return tn_onnx_give(r, 0, &out);
}

/* Means are over the features, the last axis. */
static tn_status read_mean(tn_onnx_reader *r) {
    const tn_onnx_attribute *axes = tn_onnx_attribute_of(r->node, "axes");
    const tn_onnx_known *given = tn_onnx_operand(r, 1);
    int64_t axis = axes && axes->numbers == 1 ? axes->list[0] : given->listed == 1 ? given->list[0] : 0;
    if (tn_onnx_operand(r, 0)->sort == TN_ONNX_ACTIVATION && axis != -1 && axis != 2)
        return tn_onnx_refuse(r, "takes a mean over tokens; one over features is recognised, as of a norm");
    return read_small(r);
}

static tn_status read_constant(tn_onnx_reader *r) {
    const tn_onnx_attribute *tensor = tn_onnx_attribute_of(r->node, "value"),
                            *number = tn_onnx_attribute_of(r->node, "value_float"),
                            *whole = tn_onnx_attribute_of(r->node, "value_int"),
                            *list = tn_onnx_attribute_of(r->node, "value_ints");
    tn_onnx_known out = {.sort = TN_ONNX_DATA};
    if (tensor && tensor->tensor != TN_ONNX_NONE) TN_TRY(tn_onnx_constant(r, tensor->tensor, &out));
    if (number)
        out = (tn_onnx_known){
            .sort = TN_ONNX_NUMBER, .array = TN_ONNX_NONE, .row = tn_samples_of_constant(number->real)};
    if (whole) out = (tn_onnx_known){.listed = 1, .list = {whole->number}};
    for (size_t i = 0; list && i < list->numbers && i < TN_ONNX_LIST_MOST; i++)
        out.list[out.listed++] = list->list[i];
    return tn_onnx_give(r, 0, &out);
}

/* Any other operator: of data alone it gives data. Shapes of activations are data that no token chooses. */
static tn_status read_other(tn_onnx_reader *r) {
    tn_onnx_known out = {.sort = TN_ONNX_DATA, .listed = 1, .list = {TN_ONNX_UNKNOWN}};
    for (size_t i = 0; i < r->node->inputs; i++) {
        const tn_onnx_known *x = tn_onnx_operand(r, i);
        if (x->sort >= TN_ONNX_ACTIVATION && !is(r, "Shape") && !is(r, "Size"))
            return tn_onnx_refuse(
                r, "is no layer that is recognised: linear layers, embeddings, attention, norms, "
                   "gelu, relu, tanh "
                   "and sums are");
        out.of_tokens |= x->of_tokens && !is(r, "Shape") && !is(r, "Size");
    }
    for (size_t i = 0; i < r->node->outputs; i++) TN_TRY(tn_onnx_give(r, i, &out));
    return TN_OK;
}

/* A choice between scores and what masks them. */
static tn_status read_where(tn_onnx_reader *r) {
    const tn_onnx_known *a = tn_onnx_operand(r, 1), *b = tn_onnx_operand(r, 2);
    if (a->sort == TN_ONNX_SCORES && b->sort < TN_ONNX_ACTIVATION) return tn_onnx_give(r, 0, a);
    if (b->sort == TN_ONNX_SCORES && a->sort < TN_ONNX_ACTIVATION) return tn_onnx_give(r, 0, b);
    return read_other(r);
}

static tn_status read_node(tn_onnx_reader *r) {
    static const char *const views[] = {"Identity", "Dropout",   "Cast",   "Reshape", "Transpose",
                                        "Flatten",  "Unsqueeze", "Expand", "Squeeze", NULL};
    static const char *const norms[] = {"LayerNormalization", "SimplifiedLayerNormalization",
                                        "RMSNormalization", NULL};
    static const char *const small[] = {"Add",        "Sub", "Mul",  "Div",  "Pow",      "Max", "Min",
                                        "Sqrt",       "Erf", "Tanh", "Exp",  "Abs",      "Log", "Sigmoid",
                                        "Reciprocal", "Neg", "Relu", "Gelu", "FastGelu", NULL};
    static const struct {
        const char *operator;
        tn_status (*read)(tn_onnx_reader *r);
    } others[] = {{"MatMul", read_matmul},   {"Gemm", read_gemm},        {"Conv", read_conv},
                  {"Gather", read_gather},   {"Slice", read_slice},      {"Split", read_split},
                  {"Softmax", read_softmax}, {"Concat", read_concat},    {"ReduceMean", read_mean},
                  {"Where", read_where},     {"Constant", read_constant}};
    for (size_t i = 0; i < r->node->inputs; i++)
        if (r->node->input[i][0] && tn_name_index_find(&r->names, r->node->input[i]) == TN_NAME_NONE)
            return tn_onnx_refuse(r, "takes \"%.100s\", which nothing before it gives", r->node->input[i]);
    if (is_any(r, views)) return read_view(r);
    if (is_any(r, norms)) return read_norm(r);
    if (is_any(r, small)) return read_small(r);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is(r, others[i].operator)) return others[i].read(r);
    return read_other(r);
}

/* ---- the graph ---- */

static bool names_constant(const tn_onnx_reader *r, const char *name) {
    return tn_name_index_find(&r->names, name) != TN_NAME_NONE;
}

/* Numbers are data; real ones are what the first layer takes, one row for each token. */
static tn_status read_input(tn_onnx_reader *r, const tn_onnx_value *value) {
    tn_onnx_known given = {.sort = TN_ONNX_DATA, .of_tokens = true};
    if (names_constant(r, value->name)) return TN_OK; /* older files list constants among the inputs */
    if (value->is_real) {
        int64_t last = value->axes ? value->shape[value->axes - 1] : TN_ONNX_UNKNOWN;
        const tn_onnx_layer layer = {.kind = "input",
                                     .name = value->name,
                                     .width = last > 0 ? (uint64_t)last : 0,
                                     .array = TN_ONNX_NONE};
        TN_TRY(tn_onnx_add(r, &layer, &given));
    }
    if (value->axes >= 2 && value->axes <= 3 && value->shape[1] > 0 && !r->layers->sequence)
        r->layers->sequence = (uint64_t)value->shape[1];
    return tn_onnx_name(r, value->name, &given);
}

static tn_status read_outputs(tn_onnx_reader *r) {
    const tn_onnx *graph = r->graph;
    TN_TRY(TN_NEW(r->arena, graph->outputs, &r->layers->output, r->error));
    for (size_t i = 0; i < graph->outputs; i++) {
        const char *name = graph->output[i].name;
        uint32_t place = tn_name_index_find(&r->names, name);
        const tn_onnx_node given = {.name = name, .operator= "output" };
        r->node = &given;
        if (place == TN_NAME_NONE) return tn_onnx_refuse(r, "is given by no node");
        if (r->value[place].sort < TN_ONNX_ACTIVATION) continue;
        TN_TRY(tn_onnx_layer_of(r, &r->value[place], &r->layers->output[r->layers->outputs]));
        r->layers->outputs++;
    }
    return TN_OK;
}

/* Those of Constant nodes are given by these in their turn. */
static tn_status give_constants(tn_onnx_reader *r) {
    const tn_onnx *graph = r->graph;
    size_t count = tn_arrays_count(r->arrays);
    bool *of_node;
    TN_TRY(TN_NEW(r->arena, count, &of_node, r->error));
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].attributes; k++)
            if (graph->node[i].attribute[k].tensor != TN_ONNX_NONE)
                of_node[graph->node[i].attribute[k].tensor] = true;
    for (size_t i = 0; i < count; i++) {
        tn_onnx_known known;
        if (of_node[i]) continue;
        TN_TRY(tn_onnx_constant(r, i, &known));
        TN_TRY(tn_onnx_name(r, tn_onnx_info(r, i)->name, &known));
    }
    return TN_OK;
}

static tn_status read_graph(tn_onnx_reader *r) {
    const tn_onnx *graph = r->graph;
    size_t most = tn_arrays_count(r->arrays) + graph->inputs;
    for (size_t i = 0; i < graph->nodes; i++) most += graph->node[i].outputs;
    TN_TRY(tn_name_index_new(&r->names, most, r->arena, r->error));
    TN_TRY(TN_NEW(r->arena, most, &r->value, r->error));
    TN_TRY(give_constants(r));
    for (size_t i = 0; i < graph->inputs; i++) TN_TRY(read_input(r, &graph->input[i]));
    for (size_t i = 0; i < graph->nodes; i++) {
        r->node = &graph->node[i];
        TN_TRY(read_node(r));
    }
    return read_outputs(r);
}

tn_status tn_onnx_layers_find(const tn_arrays *arrays, const char *path, tn_arena *arena,
                              tn_onnx_layers *layers, tn_error *error) {
    tn_onnx_reader r = {.arrays = arrays,
                        .graph = tn_arrays_graph(arrays),
                        .path = path,
                        .arena = arena,
                        .layers = layers,
                        .error = error};
    *layers = (tn_onnx_layers){0};
    return read_graph(&r);
}
