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
    const uint64_t heads = x->heads;
    const tn_onnx_layout layout = x->layout;
    TN_TRY(tn_onnx_add(r, &part, out));
    out->heads = heads;
    out->layout = layout;
    out->layout.offset = 0;
    return TN_OK;
}

/* The features that a layout has left of a layer's: all of them, or a product's part of its own. */
static tn_status take_stretch(tn_onnx_reader *r, tn_onnx_known *x) {
    uint64_t first, count;
    const tn_onnx_known whole = *x;
    if (!tn_onnx_layout_stretch(&x->layout, &first, &count))
        return tn_onnx_refuse(r, "takes features that do not lie side by side");
    if (count == r->layers->layer[x->layer].width) return TN_OK;
    return take_part(r, &whole, first, count, x);
}

/* The first token of all: a layer; other tokens are refused. `cut`: begin and end along an axis of tokens. */
static tn_status take_token(tn_onnx_reader *r, size_t axis, int64_t begin, int64_t end, tn_onnx_known *x) {
    uint32_t start;
    if (begin != 0 || end != 1 ||
        tn_onnx_axis_size(&x->layout, axis) != tn_onnx_role_size(&x->layout, TN_ONNX_TOKEN))
        return tn_onnx_refuse(r, "takes other tokens than the first");
    TN_TRY(tn_onnx_layer_of(r, x, &start));
    tn_onnx_layout_cut(&x->layout, axis, 0, 1);
    return tn_onnx_add_simple(r, "first-token", start, x);
}

/* Values begin to end - 1 along an axis of an activation that is followed. */
static tn_status take_along(tn_onnx_reader *r, size_t axis, int64_t begin, int64_t end, tn_onnx_known *x) {
    const int64_t size = tn_onnx_axis_size(&x->layout, axis);
    if (begin < 0) begin += size;
    if (end < 0) end += size;
    if (end > size) end = size;
    if (begin < 0 || begin >= end)
        return tn_onnx_refuse(r, "takes %" PRId64 " to %" PRId64 " of an axis of %" PRId64, begin, end, size);
    if (begin == 0 && end == size) return TN_OK;
    if (tn_onnx_axis_is(&x->layout, axis, TN_ONNX_TOKEN)) return take_token(r, axis, begin, end, x);
    if (!tn_onnx_axis_is(&x->layout, axis, TN_ONNX_FEATURE))
        return tn_onnx_refuse(r, "takes a part of the examples of a batch");
    tn_onnx_layout_cut(&x->layout, axis, begin, end);
    return take_stretch(r, x);
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
    const tn_onnx_attribute *along = tn_onnx_attribute_of(r->node, "axis");
    const size_t axis = tn_onnx_axis(&table->layout, along ? along->number : 0);
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
            const tn_onnx_layout wide = tn_onnx_layout_of("f", (int64_t[]){(int64_t)layer.width});
            out.layout = rows->layout;
            tn_onnx_layout_insert(&out.layout, rows->layout.axes);
            if (out.layout.is_known) tn_onnx_layout_replace(&out.layout, rows->layout.axes, &wide, 0);
        }
    } else if (table->sort == TN_ONNX_DATA && table->listed > 0 && rows->listed == 1 &&
               table->list[0] != TN_ONNX_UNKNOWN) {
        const int64_t index = rows->list[0] < 0 ? rows->list[0] + (int64_t)table->listed : rows->list[0];
        if (index >= 0 && index < (int64_t)table->listed) out.list[0] = table->list[index];
    } else if (table->sort == TN_ONNX_ACTIVATION && axis < TN_ONNX_AXES && rows->listed == 1 &&
               rows->list[0] != TN_ONNX_UNKNOWN) {
        const int64_t size = tn_onnx_axis_size(&table->layout, axis),
                      index = rows->list[0] < 0 ? rows->list[0] + size : rows->list[0];
        out = *table;
        TN_TRY(take_along(r, axis, index, index + 1, &out));
        tn_onnx_layout_drop(&out.layout, axis);
    } else if (table->sort == TN_ONNX_ACTIVATION && table->of_three && rows->listed == 1 &&
               rows->list[0] >= 0 && rows->list[0] < 3) {
        uint64_t rows_of_part = r->layers->layer[table->layer].rows / 3;
        TN_TRY(take_part(r, table, (uint64_t)rows->list[0] * rows_of_part, rows_of_part, &out));
    } else if (table->sort == TN_ONNX_ACTIVATION) {
        uint32_t start;
        if (rows->listed != 1 || rows->list[0] != 0)
            return tn_onnx_refuse(r, "takes other tokens than the first");
        TN_TRY(tn_onnx_layer_of(r, table, &start));
        out.layout.is_known = false;
        TN_TRY(tn_onnx_add_simple(r, "first-token", start, &out));
    } else if (table->sort > TN_ONNX_TENSOR)
        return tn_onnx_refuse(r, "takes a part of scores");
    return tn_onnx_give(r, 0, &out);
}

/* The whole numbers of an operand, or of the attribute that older files have instead. */
static tn_onnx_known numbers_of(const tn_onnx_reader *r, size_t operand, const char *attribute) {
    const tn_onnx_attribute *list = tn_onnx_attribute_of(r->node, attribute);
    tn_onnx_known known = *tn_onnx_operand(r, operand);
    if (!list) return known;
    known = (tn_onnx_known){.sort = TN_ONNX_DATA};
    if (list->numbers > TN_ONNX_LIST_MOST) return known;
    for (size_t i = 0; i < list->numbers; i++) known.list[known.listed++] = list->list[i];
    if (list->numbers == 0 && list->number != 0) known.list[known.listed++] = list->number;
    return known;
}

static int64_t clamp(int64_t index, int64_t size) {
    if (index < 0) index += size;
    return index < 0 ? 0 : index > size ? size : index;
}

/* A part of a list of whole numbers, such as a shape. */
static void slice_list(const tn_onnx_known *x, int64_t begin, int64_t end, tn_onnx_known *out) {
    const int64_t size = (int64_t)x->listed;
    for (int64_t i = clamp(begin, size); i < clamp(end, size); i++) out->list[out->listed++] = x->list[i];
}

/* Along each of its axes: tokens, or features of a product. */
static tn_status slice_followed(tn_onnx_reader *r, const tn_onnx_known *begin, const tn_onnx_known *end,
                                const tn_onnx_known *axes, tn_onnx_known *out) {
    for (size_t i = 0; i < begin->listed; i++) {
        const size_t axis = tn_onnx_axis(&out->layout, axes->listed > i ? axes->list[i] : (int64_t)i);
        if (axis == TN_ONNX_AXES) return tn_onnx_refuse(r, "takes a part of an axis that is not there");
        TN_TRY(take_along(r, axis, begin->list[i], end->list[i], out));
    }
    return TN_OK;
}

/* The first token, or features of a product. */
static tn_status read_slice(tn_onnx_reader *r) {
    const tn_onnx_known begins = numbers_of(r, 1, "starts"), ends = numbers_of(r, 2, "ends"),
                        axes = numbers_of(r, 3, "axes"), steps = numbers_of(r, 4, "steps");
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *source = &begins, *target = &ends, *axis = &axes;
    tn_onnx_known out = {.sort = TN_ONNX_DATA, .of_tokens = x->of_tokens};
    for (size_t i = 0; x->sort >= TN_ONNX_ACTIVATION && i < steps.listed; i++)
        if (steps.list[i] != 1)
            return tn_onnx_refuse(r, "takes every other part of an activation, or turns it round");
    if (x->sort == TN_ONNX_ACTIVATION && x->layout.is_known && begins.listed &&
        begins.listed == ends.listed) {
        out = *x;
        TN_TRY(slice_followed(r, &begins, &ends, &axes, &out));
        return tn_onnx_give(r, 0, &out);
    }
    if (x->sort == TN_ONNX_DATA && x->listed && begins.listed == 1 && ends.listed == 1) {
        slice_list(x, begins.list[0], ends.list[0], &out);
        return tn_onnx_give(r, 0, &out);
    }
    if (x->sort == TN_ONNX_TENSOR || x->sort == TN_ONNX_POSITIONS) { /* the first rows of a table */
        out = *x;
    } else if (x->sort == TN_ONNX_ACTIVATION && is_number(source, 0) && is_number(target, INT64_MAX)) {
        out = *x;
    } else if (x->sort == TN_ONNX_ACTIVATION && is_number(source, 0) && is_number(target, 1) &&
               is_number(axis, 1)) {
        uint32_t layer;
        TN_TRY(tn_onnx_layer_of(r, x, &layer));
        out.layout.is_known = false;
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

/* A product in parts: several products of the same input. */
static tn_status read_split(tn_onnx_reader *r) {
    const tn_onnx_known x = *tn_onnx_operand(r, 0), sizes = numbers_of(r, 1, "split");
    const tn_onnx_attribute *along = tn_onnx_attribute_of(r->node, "axis");
    const size_t parts = r->node->outputs, axis = tn_onnx_axis(&x.layout, along ? along->number : 0);
    const bool is_followed = x.sort == TN_ONNX_ACTIVATION && axis < TN_ONNX_AXES;
    const tn_onnx_known data = {
        .sort = TN_ONNX_DATA, .of_tokens = x.of_tokens, .listed = 1, .list = {TN_ONNX_UNKNOWN}};
    const uint64_t width = is_followed                    ? (uint64_t)tn_onnx_axis_size(&x.layout, axis)
                           : x.sort == TN_ONNX_ACTIVATION ? r->layers->layer[x.layer].rows
                                                          : 0,
                   rows = parts ? width / parts : 0;
    int64_t begin = 0;
    if (x.sort > TN_ONNX_ACTIVATION || (rows && sizes.listed != parts && width % parts))
        return tn_onnx_refuse(r, "cuts what is no product of equal parts");
    for (size_t i = 0; i < parts; i++) {
        tn_onnx_known out = data;
        const int64_t size = sizes.listed == parts ? sizes.list[i] : (int64_t)rows;
        if (size < 0 || size > INT32_MAX) return tn_onnx_refuse(r, "cuts a part of %" PRId64, size);
        if (is_followed) {
            out = x;
            TN_TRY(take_along(r, axis, begin, begin + size, &out));
        } else if (x.sort == TN_ONNX_ACTIVATION)
            TN_TRY(take_part(r, &x, (uint64_t)begin, (uint64_t)size, &out));
        begin += size;
        TN_TRY(tn_onnx_give(r, i, &out));
    }
    return TN_OK;
}

static tn_status read_norm(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *scale = tn_onnx_operand(r, 1),
                        *shift = tn_onnx_operand(r, 2);
    uint32_t start;
    tn_onnx_known out = *x;
    TN_TRY(tn_onnx_layer_of(r, x, &start));
    if (x->layout.is_known && x->layout.axes > 0 &&
        tn_onnx_axis_size(&x->layout, x->layout.axes - 1u) != tn_onnx_role_size(&x->layout, TN_ONNX_FEATURE))
        return tn_onnx_refuse(r, "is a norm over something else than the features");
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

/* Axes of size 1 that go, ascending; none are named: all of them. */
static void squeeze(const tn_onnx_known *axes, tn_onnx_layout *layout) {
    const tn_onnx_layout whole = *layout;
    for (size_t axis = whole.is_known ? whole.axes : 0; axis-- > 0;) {
        bool goes = axes->listed == 0 && tn_onnx_axis_size(&whole, axis) == 1;
        for (size_t i = 0; i < axes->listed; i++) goes |= tn_onnx_axis(&whole, axes->list[i]) == axis;
        if (goes) tn_onnx_layout_drop(layout, axis);
    }
}

static void unsqueeze(const tn_onnx_known *axes, tn_onnx_layout *layout) {
    const int64_t all = (int64_t)(layout->axes + axes->listed);
    for (int64_t axis = 0; axis < all; axis++)
        for (size_t i = 0; i < axes->listed; i++)
            if (axes->list[i] == axis || axes->list[i] + all == axis)
                tn_onnx_layout_insert(layout, (size_t)axis);
}

/* One axis up to `axis`, one from there on. */
static void flatten(int64_t axis, tn_onnx_layout *layout) {
    int64_t sizes[2] = {1, -1};
    if (axis < 0) axis += layout->axes;
    for (int64_t i = 0; layout->is_known && i < axis && i < layout->axes; i++)
        sizes[0] *= tn_onnx_axis_size(layout, (size_t)i);
    tn_onnx_layout_reshape(layout, sizes, 2);
}

static void transpose(const tn_onnx_reader *r, tn_onnx_layout *layout) {
    const tn_onnx_attribute *order = tn_onnx_attribute_of(r->node, "perm");
    int64_t turned[TN_ONNX_AXES];
    for (size_t i = 0; i < layout->axes; i++) turned[i] = layout->axes - 1 - (int64_t)i;
    tn_onnx_layout_transpose(layout, order ? order->list : turned, order ? order->numbers : layout->axes);
}

/* Reshapes and copies leave an activation what it is; how it lies is followed, and where that is not known heads become
 * known by shapes. */
static tn_status read_view(tn_onnx_reader *r) {
    tn_onnx_known out = *tn_onnx_operand(r, 0);
    const tn_onnx_known *shape = tn_onnx_operand(r, 1), axes = numbers_of(r, 1, "axes");
    const tn_onnx_attribute *axis = tn_onnx_attribute_of(r->node, "axis");
    const bool followed = out.layout.is_known;
    if (is(r, "Transpose") && out.sort == TN_ONNX_TENSOR) out.turned = !out.turned;
    if (is(r, "Transpose")) transpose(r, &out.layout);
    if (is(r, "Squeeze")) squeeze(&axes, &out.layout);
    if (is(r, "Unsqueeze")) unsqueeze(&axes, &out.layout);
    if (is(r, "Flatten")) flatten(axis ? axis->number : 1, &out.layout);
    if (is(r, "Reshape")) tn_onnx_layout_reshape(&out.layout, shape->list, shape->listed);
    if (is(r, "Expand")) out.layout.is_known = false;
    if (is(r, "Reshape") && out.sort == TN_ONNX_ACTIVATION && !followed) fold(r, shape, &out);
    if (followed && !out.layout.is_known && out.sort == TN_ONNX_ACTIVATION) out.heads = TN_ONNX_HEADS_OPEN;
    return tn_onnx_give(r, 0, &out);
}

/* The sizes of a value that is followed, or of a constant. */
static tn_status read_shape(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0);
    const tn_onnx_attribute *begin = tn_onnx_attribute_of(r->node, "start"),
                            *end = tn_onnx_attribute_of(r->node, "end");
    tn_onnx_known all = {.sort = TN_ONNX_DATA, .listed = 1, .list = {TN_ONNX_UNKNOWN}}, out = all;
    if (x->layout.is_known) {
        all.listed = x->layout.axes;
        for (size_t i = 0; i < all.listed; i++) all.list[i] = tn_onnx_axis_size(&x->layout, i);
        out.listed = 0;
        slice_list(&all, begin ? begin->number : 0, end ? end->number : INT64_MAX, &out);
    } else if (x->sort == TN_ONNX_TENSOR && !x->turned) {
        const tn_array_info *info = tn_onnx_info(r, x->array);
        out.listed = 0;
        for (size_t i = 0; i < info->axes && i < TN_ONNX_LIST_MOST; i++)
            out.list[out.listed++] = (int64_t)info->shape[i];
    }
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
    table.layout.is_known = false;
    TN_TRY(tn_onnx_add_pair(r, "residual", &next, &table, &out));
    for (size_t i = 0; out.layout.is_known && i < out.layout.axes; i++) /* a token more */
        if (tn_onnx_axis_is(&out.layout, i, TN_ONNX_TOKEN))
            out.layout.digit[out.layout.first[i]].size += out.layout.first[i + 1] == out.layout.first[i] + 1;
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
        if (is(r, "Add")) return tn_onnx_add_pair(r, "residual", a, b, out);
        if (is(r, "Mul")) return tn_onnx_add_pair(r, "multiply", a, b, out);
        return tn_onnx_refuse(r, "combines two activations other than by a sum or a product");
    }
    if (!tn_samples_apply(r->node->operator, & a->row, &b->row, &out->row))
        return tn_onnx_refuse(r, "is not recognised");
    return TN_OK;
}

/* Whole numbers, such as sizes, item by item; a single one goes with each. */
static void combine_lists(const tn_onnx_reader *r, const tn_onnx_known *a, const tn_onnx_known *b,
                          tn_onnx_known *out) {
    const size_t count = a->listed > b->listed ? a->listed : b->listed;
    if (a->listed == 0 || b->listed == 0 || (a->listed != count && a->listed != 1) ||
        (b->listed != count && b->listed != 1))
        return;
    for (size_t i = 0; i < count; i++) {
        const int64_t x = a->list[a->listed == 1 ? 0 : i], y = b->list[b->listed == 1 ? 0 : i];
        int64_t *to = &out->list[i];
        bool known = x != TN_ONNX_UNKNOWN && y != TN_ONNX_UNKNOWN;
        if (is(r, "Add"))
            known &= !__builtin_add_overflow(x, y, to);
        else if (is(r, "Sub"))
            known &= !__builtin_sub_overflow(x, y, to);
        else if (is(r, "Mul"))
            known &= !__builtin_mul_overflow(x, y, to);
        else if (is(r, "Div") && x >= 0 && y > 0)
            *to = x / y;
        else
            known = false;
        if (!known) *to = TN_ONNX_UNKNOWN;
    }
    out->listed = count;
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
        else if (two)
            combine_lists(r, a, b, &out);
        if (!two || b->sort != TN_ONNX_DATA || !b->layout.is_known) out.layout = a->layout;
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

/* Over the features, as norms have it, and over all tokens. */
static tn_status read_followed_mean(tn_onnx_reader *r, const tn_onnx_known *axes, bool keeps) {
    tn_onnx_known out = *tn_onnx_operand(r, 0);
    const tn_onnx_layout layout = out.layout;
    int64_t size = 1;
    bool tokens = axes->listed > 0, features = tokens, goes[TN_ONNX_AXES] = {false};
    for (size_t i = 0; i < axes->listed; i++) {
        const size_t axis = tn_onnx_axis(&layout, axes->list[i]);
        if (axis == TN_ONNX_AXES) return tn_onnx_refuse(r, "takes a mean over an axis that is not there");
        const int64_t own = tn_onnx_axis_size(&layout, axis);
        goes[axis] = true;
        size *= own;
        tokens &= own == 1 || tn_onnx_axis_is(&layout, axis, TN_ONNX_TOKEN);
        features &= own == 1 || tn_onnx_axis_is(&layout, axis, TN_ONNX_FEATURE);
    }
    if (tokens && size == tn_onnx_role_size(&layout, TN_ONNX_TOKEN)) {
        uint32_t start;
        TN_TRY(tn_onnx_layer_of(r, &out, &start));
        TN_TRY(tn_onnx_add_simple(r, "mean", start, &out));
    } else if (!features || size != tn_onnx_role_size(&layout, TN_ONNX_FEATURE) ||
               !tn_samples_apply("ReduceMean", &out.row, NULL, &out.row))
        return tn_onnx_refuse(r, "takes a mean that is neither over all tokens nor over all features");
    for (size_t axis = layout.axes; axis-- > 0;) {
        if (!goes[axis]) continue;
        if (tn_onnx_axis_size(&out.layout, axis) > 1 && tokens) tn_onnx_layout_cut(&out.layout, axis, 0, 1);
        if (tokens && !keeps) tn_onnx_layout_drop(&out.layout, axis);
    }
    return tn_onnx_give(r, 0, &out);
}

static tn_status read_mean(tn_onnx_reader *r) {
    const tn_onnx_known given = numbers_of(r, 1, "axes"), *x = tn_onnx_operand(r, 0);
    const tn_onnx_attribute *keeps = tn_onnx_attribute_of(r->node, "keepdims");
    const int64_t axis = given.listed == 1 ? given.list[0] : 0;
    const tn_onnx_known data = {.sort = TN_ONNX_DATA};
    if (x->sort == TN_ONNX_SHARES) return tn_onnx_give(r, 0, &data); /* looked at by people */
    if (x->sort == TN_ONNX_ACTIVATION && x->layout.is_known)
        return read_followed_mean(r, &given, !keeps || keeps->number);
    if (x->sort == TN_ONNX_ACTIVATION && axis != -1 && axis != 2)
        return tn_onnx_refuse(r, "takes a mean over an axis that could not be followed");
    return read_small(r);
}

/* Means over whole pictures. */
static tn_status read_pool(tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0);
    const tn_onnx_attribute *kernel = tn_onnx_attribute_of(r->node, "kernel_shape");
    tn_onnx_known axes = {.sort = TN_ONNX_DATA};
    bool whole = x->layout.is_known && x->layout.axes > 2;
    for (size_t i = 2; whole && i < x->layout.axes; i++) {
        axes.list[axes.listed++] = (int64_t)i;
        if (is(r, "AveragePool"))
            whole =
                kernel && i - 2 < kernel->numbers && kernel->list[i - 2] == tn_onnx_axis_size(&x->layout, i);
    }
    if (x->sort != TN_ONNX_ACTIVATION || !whole)
        return tn_onnx_refuse(r, "is a mean over parts of a picture; one over the whole is recognised");
    return read_followed_mean(r, &axes, true);
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
        if (x->sort >= TN_ONNX_ACTIVATION && !is(r, "Size"))
            return tn_onnx_refuse(
                r,
                "is no layer that is recognised: linear layers, convolutions, embeddings, attention, norms, "
                "gelu, silu, relu, tanh, means over tokens and sums are");
        out.of_tokens |= x->of_tokens && !is(r, "Size");
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

tn_status tn_onnx_read_node(tn_onnx_reader *r) {
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
    } others[] = {{"MatMul", tn_onnx_read_matmul},
                  {"Gemm", tn_onnx_read_gemm},
                  {"Conv", tn_onnx_read_conv},
                  {"Gather", read_gather},
                  {"Slice", read_slice},
                  {"Split", read_split},
                  {"Softmax", read_softmax},
                  {"Concat", read_concat},
                  {"ReduceMean", read_mean},
                  {"Where", read_where},
                  {"Constant", read_constant},
                  {"Shape", read_shape},
                  {"GlobalAveragePool", read_pool},
                  {"AveragePool", read_pool}};
    static const char *const graphs[] = {"If", "Loop", "Scan", NULL};
    for (size_t i = 0; i < r->node->inputs; i++)
        if (r->node->input[i][0] && tn_name_index_find(&r->names, r->node->input[i]) == TN_NAME_NONE)
            return tn_onnx_refuse(r, "takes \"%.100s\", which nothing before it gives", r->node->input[i]);
    if (is_any(r, graphs))
        return tn_onnx_refuse(
            r, "has a graph of its own inside, which is not entered; export without control flow");
    if (is_any(r, views)) return read_view(r);
    if (is_any(r, norms)) return read_norm(r);
    if (is_any(r, small)) return read_small(r);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is(r, others[i].operator)) return others[i].read(r);
    return read_other(r);
}
