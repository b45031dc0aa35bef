#include "ranks/onnx_layout.h"

#include "base/checked.h"

#include <string.h>

tn_onnx_layout tn_onnx_layout_of(const char *roles, const int64_t *sizes) {
    tn_onnx_layout layout = {.is_known = true};
    int64_t stride[3] = {1, 1, 1};
    while (layout.axes < TN_ONNX_AXES && roles[layout.axes]) layout.axes++;
    for (size_t i = layout.axes; i-- > 0;) {
        const tn_onnx_role role = roles[i] == 'b'   ? TN_ONNX_EXAMPLE
                                  : roles[i] == 't' ? TN_ONNX_TOKEN
                                                    : TN_ONNX_FEATURE;
        if (sizes[i] <= 0 || sizes[i] > INT32_MAX) layout.is_known = false;
        layout.digit[i] = (tn_onnx_digit){role, sizes[i], stride[role]};
        layout.first[i + 1] = (uint8_t)(i + 1);
        if (layout.is_known && __builtin_mul_overflow(stride[role], sizes[i], &stride[role]))
            layout.is_known = false;
    }
    return layout;
}

static bool product_of(const tn_onnx_layout *layout, size_t begin, size_t end, int64_t *product) {
    *product = 1;
    for (size_t i = begin; i < end; i++)
        if (__builtin_mul_overflow(*product, layout->digit[i].size, product)) return false;
    return true;
}

int64_t tn_onnx_axis_size(const tn_onnx_layout *layout, size_t axis) {
    int64_t size;
    return product_of(layout, layout->first[axis], layout->first[axis + 1], &size) ? size : 0;
}

size_t tn_onnx_axis(const tn_onnx_layout *layout, int64_t axis) {
    if (axis < 0) axis += layout->axes;
    return layout->is_known && axis >= 0 && axis < layout->axes ? (size_t)axis : TN_ONNX_AXES;
}

bool tn_onnx_axis_is(const tn_onnx_layout *layout, size_t axis, tn_onnx_role role) {
    for (size_t i = layout->first[axis]; i < layout->first[axis + 1]; i++)
        if (layout->digit[i].role != role) return false;
    return layout->first[axis] < layout->first[axis + 1];
}

int64_t tn_onnx_role_size(const tn_onnx_layout *layout, tn_onnx_role role) {
    int64_t size = 1;
    for (size_t i = 0; i < layout->first[layout->axes]; i++)
        if (layout->digit[i].role == role && __builtin_mul_overflow(size, layout->digit[i].size, &size))
            return 0;
    return size;
}

/* Appends a digit to the last axis: joined with the one before it where both are one number's neighbours. */
static bool append(tn_onnx_layout *layout, const tn_onnx_digit *digit) {
    uint8_t *end = &layout->first[layout->axes];
    int64_t stride;
    if (digit->size == 1) return true;
    if (*end > layout->first[layout->axes - 1]) {
        tn_onnx_digit *before = &layout->digit[*end - 1];
        if (before->role == digit->role && !__builtin_mul_overflow(digit->stride, digit->size, &stride) &&
            before->stride == stride) {
            before->stride = digit->stride;
            return !__builtin_mul_overflow(before->size, digit->size, &before->size);
        }
    }
    if (*end == TN_ONNX_DIGITS) return false;
    layout->digit[(*end)++] = *digit;
    return true;
}

static bool begin_axis(tn_onnx_layout *layout) {
    if (layout->axes == TN_ONNX_AXES) return false;
    layout->axes++;
    layout->first[layout->axes] = layout->first[layout->axes - 1];
    return true;
}

/* 0 is the size that stood there, -1 what is left. */
static bool resolve(const tn_onnx_layout *layout, const int64_t *sizes, size_t count, int64_t *resolved) {
    int64_t all, rest = 1;
    size_t open = SIZE_MAX;
    if (count > TN_ONNX_AXES || !product_of(layout, 0, layout->first[layout->axes], &all)) return false;
    for (size_t i = 0; i < count; i++) {
        resolved[i] = sizes[i];
        if (sizes[i] == 0 && i < layout->axes) resolved[i] = tn_onnx_axis_size(layout, i);
        if (sizes[i] == -1 && open != SIZE_MAX) return false;
        if (sizes[i] == -1) {
            open = i;
            continue;
        }
        if (resolved[i] <= 0 || __builtin_mul_overflow(rest, resolved[i], &rest)) return false;
    }
    if (open != SIZE_MAX) resolved[open] = all / rest;
    return open == SIZE_MAX ? rest == all : all % rest == 0;
}

static bool reshape(const tn_onnx_layout *layout, const int64_t *sizes, size_t count, tn_onnx_layout *out) {
    int64_t resolved[TN_ONNX_AXES];
    size_t next = 0;
    tn_onnx_digit rest = {TN_ONNX_FEATURE, 1, 1};
    if (!resolve(layout, sizes, count, resolved)) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t need = resolved[i];
        if (!begin_axis(out)) return false;
        while (need > 1) {
            while (rest.size == 1) {
                if (next == layout->first[layout->axes]) return false;
                rest = layout->digit[next++];
            }
            if (need % rest.size == 0) {
                if (!append(out, &rest)) return false;
                need /= rest.size;
                rest.size = 1;
            } else if (rest.size % need == 0) {
                const tn_onnx_digit part = {rest.role, need, rest.stride * (rest.size / need)};
                if (!append(out, &part)) return false;
                rest.size /= need;
                need = 1;
            } else
                return false;
        }
    }
    return true;
}

/* What an operation made of a layout, or an unknown one. */
static void settle(tn_onnx_layout *layout, tn_onnx_layout *made, bool is_known) {
    made->is_known = layout->is_known && is_known;
    made->offset = layout->offset;
    *layout = *made;
}

void tn_onnx_layout_reshape(tn_onnx_layout *layout, const int64_t *sizes, size_t count) {
    tn_onnx_layout made = {0};
    settle(layout, &made, layout->is_known && reshape(layout, sizes, count, &made));
}

static bool copy_axis(tn_onnx_layout *out, const tn_onnx_layout *source, size_t axis) {
    if (!begin_axis(out)) return false;
    for (size_t i = source->first[axis]; i < source->first[axis + 1]; i++)
        if (!append(out, &source->digit[i])) return false;
    return true;
}

void tn_onnx_layout_transpose(tn_onnx_layout *layout, const int64_t *axes, size_t count) {
    tn_onnx_layout made = {0};
    bool known = layout->is_known && count == layout->axes;
    for (size_t i = 0; known && i < count; i++)
        known = axes[i] >= 0 && axes[i] < layout->axes && copy_axis(&made, layout, (size_t)axes[i]);
    settle(layout, &made, known);
}

void tn_onnx_layout_drop(tn_onnx_layout *layout, size_t axis) {
    tn_onnx_layout made = {0};
    bool known = layout->is_known && axis < layout->axes && tn_onnx_axis_size(layout, axis) == 1;
    for (size_t i = 0; known && i < layout->axes; i++)
        if (i != axis) known = copy_axis(&made, layout, i);
    settle(layout, &made, known);
}

void tn_onnx_layout_insert(tn_onnx_layout *layout, size_t axis) {
    tn_onnx_layout made = {0};
    bool known = layout->is_known && axis <= layout->axes;
    for (size_t i = 0; known && i <= layout->axes; i++) {
        if (i == axis) known = begin_axis(&made);
        if (known && i < layout->axes) known = copy_axis(&made, layout, i);
    }
    settle(layout, &made, known);
}

void tn_onnx_layout_cut(tn_onnx_layout *layout, size_t axis, int64_t begin, int64_t end) {
    tn_onnx_layout made = *layout;
    const uint8_t first = layout->first[axis];
    int64_t skipped;
    bool known = layout->is_known && layout->first[axis + 1] == first + 1 && begin >= 0 && begin < end &&
                 end <= layout->digit[first].size;
    if (known && layout->digit[first].role == TN_ONNX_FEATURE) {
        known = !__builtin_mul_overflow(begin, layout->digit[first].stride, &skipped) &&
                !__builtin_add_overflow(layout->offset, skipped, &layout->offset);
    }
    made.digit[first].size = end - begin;
    settle(layout, &made, known);
}

void tn_onnx_layout_replace(tn_onnx_layout *layout, size_t axis, const tn_onnx_layout *source,
                            size_t source_axis) {
    tn_onnx_layout made = {0};
    bool known = layout->is_known && source->is_known;
    for (size_t i = 0; known && i < layout->axes; i++)
        known = i == axis ? copy_axis(&made, source, source_axis) : copy_axis(&made, layout, i);
    settle(layout, &made, known);
}

bool tn_onnx_layout_stretch(const tn_onnx_layout *layout, uint64_t *first, uint64_t *count) {
    int64_t reached = 1;
    bool grows = layout->is_known;
    for (int found = 1; grows && found;) { /* the digit that counts on from what is reached */
        found = 0;
        for (size_t i = 0; i < layout->first[layout->axes]; i++) {
            const tn_onnx_digit *digit = &layout->digit[i];
            if (digit->role != TN_ONNX_FEATURE || digit->stride != reached || digit->size == 1) continue;
            grows = !__builtin_mul_overflow(reached, digit->size, &reached);
            found = 1;
            break;
        }
    }
    *first = (uint64_t)layout->offset;
    *count = (uint64_t)reached;
    return grows && reached == tn_onnx_role_size(layout, TN_ONNX_FEATURE) && layout->offset % reached == 0;
}
