/* What an ONNX graph multiplies: matrices, attention, convolutions. */
#include "ranks/onnx_reader.h"

#include <inttypes.h>
#include <string.h>

/* Of an attention: one where nothing was folded; 0 where the graph leaves open how many. */
static uint64_t heads_of(const tn_onnx_known *shares, const tn_onnx_known *values) {
    const uint64_t heads =
        shares->heads && shares->heads != TN_ONNX_HEADS_OPEN ? shares->heads : values->heads;
    if (heads == TN_ONNX_HEADS_OPEN) return 0;
    return heads ? heads : shares->heads == TN_ONNX_HEADS_OPEN ? 0 : 1;
}

/* What a matrix multiplies: where its last axis has tokens among the features, these side by side. */
static tn_status features_last(tn_onnx_reader *r, const tn_onnx_known *x, tn_onnx_known *ready) {
    *ready = *x;
    const tn_onnx_layout layout = x->layout;
    if (!layout.is_known || layout.axes == 0) return TN_OK;
    const size_t last = layout.axes - 1u;
    const int64_t size = tn_onnx_axis_size(&layout, last),
                  features = tn_onnx_role_size(&layout, TN_ONNX_FEATURE),
                  tokens = tn_onnx_role_size(&layout, TN_ONNX_TOKEN);
    if (size == features && (size == 1 || tn_onnx_axis_is(&layout, last, TN_ONNX_FEATURE))) return TN_OK;
    bool examples = false;
    for (size_t i = layout.first[last]; i < layout.first[last + 1]; i++)
        examples |= layout.digit[i].role == TN_ONNX_EXAMPLE;
    if (examples || tokens == 1 || size != tokens * features)
        return tn_onnx_refuse(
            r, "multiplies an axis of %" PRId64 " that is not the features, of which there are %" PRId64,
            size, features);
    if (tokens % TN_ONNX_OPEN_TOKENS == 0)
        return tn_onnx_refuse(
            r, "lays tokens side by side, whose number the graph leaves open; export a fixed number");
    uint32_t start;
    TN_TRY(tn_onnx_layer_of(r, x, &start));
    TN_TRY(tn_onnx_add_simple(r, "flatten", start, ready));
    r->layers->layer[ready->layer].width = (uint64_t)size;
    r->layers->layer[ready->layer].permuted = layout.digit[layout.first[last]].role == TN_ONNX_FEATURE;
    const tn_onnx_layout wide = tn_onnx_layout_of("f", &size);
    tn_onnx_layout_replace(&ready->layout, last, &wide, 0);
    return TN_OK;
}

/* The matrix of a layer behind tokens side by side has its columns in the graph's order, not in ours. */
static void note_order(tn_onnx_reader *r, uint32_t layer) {
    tn_onnx_layer *made = &r->layers->layer[layer];
    const tn_onnx_layer *source = &r->layers->layer[made->input[0]];
    made->permuted = strcmp(source->kind, "flatten") == 0 && source->permuted;
}

/* Scores of queries by keys turned round: the last axis of the queries is the features of a head. */
static tn_status find_scores(tn_onnx_reader *r, const tn_onnx_known *query, const tn_onnx_known *key,
                             tn_onnx_known *out) {
    *out = (tn_onnx_known){.sort = TN_ONNX_SCORES, .heads = query->heads};
    TN_TRY(tn_onnx_layer_of(r, query, &out->layer));
    TN_TRY(tn_onnx_layer_of(r, key, &out->key));
    const tn_onnx_layout *q = &query->layout, *k = &key->layout;
    if (!q->is_known || !k->is_known || q->axes < 2 || k->axes < 2) return TN_OK;
    const int64_t depth = tn_onnx_axis_size(q, q->axes - 1u);
    if (depth != tn_onnx_axis_size(k, k->axes - 2u) ||
        (depth > 1 && !tn_onnx_axis_is(q, q->axes - 1u, TN_ONNX_FEATURE)))
        return tn_onnx_refuse(r,
                              "multiplies queries and keys whose heads are %" PRId64 " and %" PRId64 " wide",
                              depth, tn_onnx_axis_size(k, k->axes - 2u));
    if (tn_onnx_axis_is(q, q->axes - 2u, TN_ONNX_EXAMPLE)) {
        r->turn = true;
        return tn_onnx_refuse(r, "is attention of the examples of a batch to each other");
    }
    if (tn_onnx_axis_is(q, q->axes - 2u, TN_ONNX_FEATURE))
        return tn_onnx_refuse(r, "is attention of features to each other");
    out->heads = (uint64_t)(tn_onnx_role_size(q, TN_ONNX_FEATURE) / depth);
    out->layout = *q;
    tn_onnx_layout_replace(&out->layout, q->axes - 1u, k, k->axes - 1u);
    return TN_OK;
}

static tn_status find_attention(tn_onnx_reader *r, const tn_onnx_known *shares, const tn_onnx_known *values,
                                tn_onnx_known *out) {
    tn_onnx_layer layer = {.kind = "attention",
                           .inputs = 3,
                           .input = {shares->layer, shares->key},
                           .array = TN_ONNX_NONE,
                           .heads = shares->layout.is_known ? shares->heads : heads_of(shares, values)};
    const tn_onnx_layout p = shares->layout, v = values->layout;
    TN_TRY(tn_onnx_layer_of(r, values, &layer.input[2]));
    layer.width = r->layers->layer[layer.input[2]].width;
    const bool known = p.is_known && v.is_known && p.axes >= 2 && v.axes >= 2;
    if (known && tn_onnx_axis_size(&p, p.axes - 1u) != tn_onnx_axis_size(&v, v.axes - 2u))
        return tn_onnx_refuse(r, "takes shares of %" PRId64 " of %" PRId64 " values",
                              tn_onnx_axis_size(&p, p.axes - 1u), tn_onnx_axis_size(&v, v.axes - 2u));
    TN_TRY(tn_onnx_add(r, &layer, out));
    if (!known) return TN_OK;
    out->layout = v;
    tn_onnx_layout_replace(&out->layout, v.axes - 2u, &p, p.axes - 2u);
    return TN_OK;
}

tn_status tn_onnx_read_matmul(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1);
    tn_onnx_known ready, out = {.sort = TN_ONNX_DATA, .of_tokens = x->of_tokens || w->of_tokens};
    if (x->sort == TN_ONNX_ACTIVATION && w->sort == TN_ONNX_TENSOR) {
        const tn_array_info *info = tn_onnx_info(r, w->array);
        if (info->axes != 2)
            return tn_onnx_refuse(r, "multiplies by \"%.60s\", which is no matrix", info->name);
        TN_TRY(features_last(r, x, &ready));
        TN_TRY(tn_onnx_add_linear(r, &ready, w->array, !w->turned, info->shape[w->turned ? 0 : 1],
                                  info->shape[w->turned ? 1 : 0], &out));
        note_order(r, out.layer);
    } else if (x->sort == TN_ONNX_ACTIVATION && w->sort == TN_ONNX_ACTIVATION) {
        TN_TRY(find_scores(r, x, w, &out));
    } else if (x->sort == TN_ONNX_SHARES && w->sort == TN_ONNX_ACTIVATION) {
        TN_TRY(find_attention(r, x, w, &out));
    } else if (x->sort > TN_ONNX_TENSOR || w->sort > TN_ONNX_TENSOR)
        return tn_onnx_refuse(r, "multiplies what is neither an activation by a constant nor attention");
    return tn_onnx_give(r, 0, &out);
}

tn_status tn_onnx_read_gemm(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1), *c = tn_onnx_operand(r, 2);
    const tn_onnx_attribute *alpha = tn_onnx_attribute_of(r->node, "alpha"),
                            *beta = tn_onnx_attribute_of(r->node, "beta"),
                            *a = tn_onnx_attribute_of(r->node, "transA"),
                            *b = tn_onnx_attribute_of(r->node, "transB");
    tn_onnx_known ready, out;
    if (x->sort != TN_ONNX_ACTIVATION || w->sort != TN_ONNX_TENSOR || tn_onnx_info(r, w->array)->axes != 2)
        return tn_onnx_refuse(r, "multiplies what is no activation by a constant matrix");
    if ((alpha && alpha->real != 1) || (beta && beta->real != 1) || (a && a->number))
        return tn_onnx_refuse(r, "scales or transposes its product");
    bool turned = (b && b->number) == w->turned; /* the array as it stands is inputs x outputs */
    const tn_array_info *info = tn_onnx_info(r, w->array);
    TN_TRY(features_last(r, x, &ready));
    TN_TRY(tn_onnx_add_linear(r, &ready, w->array, turned, info->shape[turned ? 1 : 0],
                              info->shape[turned ? 0 : 1], &out));
    note_order(r, out.layer);
    if (c->sort == TN_ONNX_TENSOR || c->sort == TN_ONNX_NUMBER) {
        r->layers->layer[out.layer].bias = true;
        r->layers->layer[out.layer].bias_array = c->array;
        r->layers->layer[out.layer].name = tn_onnx_info(r, c->array)->name;
    }
    return tn_onnx_give(r, 0, &out);
}

/* Of a list attribute the item i, or what it is where there is none. */
static int64_t item_of(const tn_onnx_reader *r, const char *name, size_t i, int64_t otherwise) {
    const tn_onnx_attribute *list = tn_onnx_attribute_of(r->node, name);
    return list && i < list->numbers ? list->list[i] : otherwise;
}

/* A picture: examples, features, and one or two axes of pixels, rows first. What the graph is given is taken for one. */
static bool is_picture(tn_onnx_reader *r, tn_onnx_known *x) {
    tn_onnx_layer *source = &r->layers->layer[x->layer];
    tn_onnx_layout *layout = &x->layout;
    if (!layout->is_known || layout->axes < 3 || layout->axes > 4) return false;
    const int64_t size[] = {tn_onnx_axis_size(layout, 0), tn_onnx_axis_size(layout, 1),
                            tn_onnx_axis_size(layout, 2),
                            layout->axes == 4 ? tn_onnx_axis_size(layout, 3) : 1};
    if (strcmp(source->kind, "input") == 0) {
        *layout = tn_onnx_layout_of(layout->axes == 4 ? "bftt" : "bft", size);
        source->width = (uint64_t)size[1];
        r->layers->sequence = (uint64_t)size[2] * (uint64_t)size[3];
    }
    const bool features = size[1] == 1 || tn_onnx_axis_is(layout, 1, TN_ONNX_FEATURE);
    int64_t stride = 1;
    for (size_t i = layout->axes; i-- > 2; stride *= size[i]) {
        const tn_onnx_digit *digit = &layout->digit[layout->first[i]];
        if (size[i] > 1 && (layout->first[i + 1] != layout->first[i] + 1 || digit->role != TN_ONNX_TOKEN ||
                            digit->stride != stride))
            return false;
    }
    return features && size[1] == tn_onnx_role_size(layout, TN_ONNX_FEATURE) &&
           stride == tn_onnx_role_size(layout, TN_ONNX_TOKEN) && stride % TN_ONNX_OPEN_TOKENS != 0;
}

/* A convolution over a picture, its windows' sizes; patches of what the graph is given are rows of inputs. */
tn_status tn_onnx_read_conv(tn_onnx_reader *r) {
    const tn_onnx_known *w = tn_onnx_operand(r, 1), *c = tn_onnx_operand(r, 2);
    const tn_onnx_attribute *group = tn_onnx_attribute_of(r->node, "group"),
                            *automatic = tn_onnx_attribute_of(r->node, "auto_pad");
    tn_onnx_known out, x = *tn_onnx_operand(r, 0);
    const tn_array_info *info = w->sort == TN_ONNX_TENSOR ? tn_onnx_info(r, w->array) : NULL;
    if (x.sort != TN_ONNX_ACTIVATION || !info || info->axes < 3 || info->axes > 4 || info->elements == 0)
        return tn_onnx_refuse(
            r, "is a convolution of something else than an activation by a constant of 3 or 4 axes");
    if (group && group->number != 1)
        return tn_onnx_refuse(
            r, "is a convolution of %" PRId64 " groups; one of all features at once is recognised",
            group->number);
    if (automatic && automatic->text[0] && strcmp(automatic->text, "NOTSET") != 0)
        return tn_onnx_refuse(r,
                              "leaves its padding to the size of the picture (auto_pad); export with pads");
    const size_t sides = info->axes - 2;
    tn_onnx_layer layer = {.kind = "conv",
                           .inputs = 1,
                           .width = info->shape[0],
                           .rows = info->shape[0],
                           .columns = info->elements / info->shape[0],
                           .array = w->array,
                           .picture = {1, 1},
                           .kernel = {1, 1},
                           .stride = {1, 1}};
    bool patches = strcmp(r->layers->layer[x.layer].kind, "input") == 0;
    for (size_t i = 0; i < sides; i++) {
        const int64_t stride = item_of(r, "strides", i, 1), before = item_of(r, "pads", i, 0);
        if (stride < 1 || before < 0 || stride > INT32_MAX || before > INT32_MAX ||
            before != item_of(r, "pads", sides + i, 0) || item_of(r, "dilations", i, 1) != 1)
            return tn_onnx_refuse(r,
                                  "is a convolution with dilation, or with other padding before than behind");
        layer.kernel[i] = info->shape[2 + i];
        layer.stride[i] = (uint64_t)stride;
        layer.padding[i] = (uint64_t)before;
        patches &= layer.stride[i] == layer.kernel[i] && before == 0;
    }
    const bool picture = is_picture(r, &x);
    if (!picture && !patches)
        return tn_onnx_refuse(r,
                              "is a convolution of what is no picture of a known size; export a fixed size");
    int64_t size[4] = {picture ? tn_onnx_axis_size(&x.layout, 0) : TN_ONNX_OPEN_BATCH,
                       (int64_t)info->shape[0], 1, 1};
    for (size_t i = 0; picture && i < sides; i++) {
        layer.picture[i] = (uint64_t)tn_onnx_axis_size(&x.layout, 2 + i);
        size[2 + i] = ((int64_t)layer.picture[i] + 2 * (int64_t)layer.padding[i] - (int64_t)layer.kernel[i]) /
                          (int64_t)layer.stride[i] +
                      1;
        if (layer.picture[i] + 2 * layer.padding[i] < layer.kernel[i])
            return tn_onnx_refuse(r, "has windows larger than its picture");
    }
    if (patches) {
        r->layers->layer[x.layer].width = 0;
        r->layers->sequence = picture ? (uint64_t)(size[2] * size[3]) : 0;
        TN_TRY(tn_onnx_add_linear(r, &x, w->array, false, layer.rows, layer.columns, &out));
    } else {
        TN_TRY(tn_onnx_layer_of(r, &x, &layer.input[0]));
        if (x.layout.axes != info->axes || r->layers->layer[x.layer].width != info->shape[1])
            return tn_onnx_refuse(r, "has windows of %" PRIu64 " features for a picture of %" PRIu64,
                                  info->shape[1], r->layers->layer[x.layer].width);
        TN_TRY(tn_onnx_add(r, &layer, &out));
    }
    out.layout = tn_onnx_layout_of(sides == 2 ? "bftt" : "bft", size);
    out.layout.is_known &= picture;
    r->layers->layer[out.layer].bias = c->sort == TN_ONNX_TENSOR;
    r->layers->layer[out.layer].bias_array = c->array;
    return tn_onnx_give(r, 0, &out);
}
