#include "train/contraction.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

tn_status tn_view_add(tn_view *view, uint32_t index, uint64_t size, tn_error *error) {
    if (view->axes == TN_BLOCK_AXES)
        return tn_fail(error, TN_LIMIT, "an array of more than %d axes can't be trained", TN_BLOCK_AXES);
    view->axis[view->axes++] = (tn_view_axis){.index = index, .size = size};
    return TN_OK;
}

void tn_view_lay(tn_view *view, uint64_t cut_size) {
    size_t stride = 1;
    for (uint32_t i = view->axes; i-- > 0;) {
        tn_view_axis *axis = &view->axis[i];
        if (view->cut && axis->index == view->token) {
            view->cut_stride = stride;
            axis->stride = 0;
            stride *= cut_size;
        } else {
            axis->stride = stride;
            stride *= axis->size;
        }
    }
}

static const tn_view_axis *find(const tn_view *view, uint32_t index) {
    for (uint32_t i = 0; i < view->axes; i++)
        if (view->axis[i].index == index) return &view->axis[i];
    return NULL;
}

static uint64_t elements_of(const tn_view *view) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < view->axes; i++) elements *= view->axis[i].size;
    return elements;
}

/* Indices in an order, as the axes of one gemm dimension. */
typedef struct group {
    uint32_t count, index[TN_BLOCK_AXES];
    uint64_t size[TN_BLOCK_AXES];
} group;

static void join(group *to, const tn_view_axis *axis) {
    to->size[to->count] = axis->size;
    to->index[to->count++] = axis->index;
}

static uint64_t size_of(const group *of) {
    uint64_t size = 1;
    for (uint32_t i = 0; i < of->count; i++) size *= of->size[i];
    return size;
}

/* The indices of `order` that lie on `on` (or, without `wanted`, do not), in the order of `order`. */
static group pick(const tn_view *order, const tn_view *on, bool wanted, const tn_view *also,
                  bool also_wanted) {
    group picked = {0};
    for (uint32_t i = 0; i < order->axes; i++) {
        uint32_t index = order->axis[i].index;
        if ((find(on, index) != NULL) == wanted && (find(also, index) != NULL) == also_wanted)
            join(&picked, &order->axis[i]);
    }
    return picked;
}

/* The one stride that runs through all axes of the group, if there is one; *stride 0 where the group has but one
 * element. */
static bool runs(const tn_view *view, const group *of, size_t *stride) {
    uint64_t inner = 0;
    *stride = 0;
    for (uint32_t i = of->count; i-- > 0;) {
        if (of->size[i] == 1) continue;
        size_t own = find(view, of->index[i])->stride;
        if (*stride == 0)
            *stride = own;
        else if (own != inner)
            return false;
        inner = own * of->size[i];
    }
    return true;
}

/* Whether BLAS can read the matrices slow x fast of the array where they lie, as such or transposed. */
static bool lies(const tn_view *view, const group *slow, const group *fast, bool *transposed, size_t *lead) {
    size_t down, along;
    if (!runs(view, slow, &down) || !runs(view, fast, &along)) return false;
    uint64_t rows = size_of(slow), columns = size_of(fast);
    if (view->cut) /* a cut axis inside a matrix has no stride */
        for (uint32_t i = 0; i < slow->count + fast->count; i++)
            if ((i < slow->count ? slow->index[i] : fast->index[i - slow->count]) == view->token)
                return false;
    *transposed = false;
    if ((along == 1 || columns == 1) && (down >= columns || rows == 1)) {
        *lead = rows == 1 ? (size_t)columns : down;
        return true;
    }
    *transposed = true;
    *lead = columns == 1 ? (size_t)rows : along;
    return (down == 1 || rows == 1) && (along >= rows || columns == 1);
}

/* The four groups in one choice of orders, and what it copies. */
typedef struct choice {
    group batch, rows, reduction, columns;
    bool transpose_a, transpose_b, transpose_out, copy_a, copy_b, copy_out;
    size_t lead_a, lead_b, lead_out;
    uint64_t copied;
} choice;

static choice choose(const tn_view *a, const tn_view *b, const tn_view *out, unsigned orders) {
    choice c = {.batch = pick(out, a, true, b, true),
                .rows = pick(orders & 1 ? out : a, orders & 1 ? a : out, true, b, false),
                .columns = pick(orders & 2 ? out : b, orders & 2 ? b : out, true, a, false),
                .reduction = pick(orders & 4 ? b : a, orders & 4 ? a : b, true, out, false)};
    c.copy_a = !lies(a, &c.rows, &c.reduction, &c.transpose_a, &c.lead_a);
    c.copy_b = !lies(b, &c.reduction, &c.columns, &c.transpose_b, &c.lead_b);
    c.copy_out = !lies(out, &c.rows, &c.columns, &c.transpose_out, &c.lead_out);
    c.copied = (c.copy_a ? elements_of(a) : 0) + (c.copy_b ? elements_of(b) : 0) +
               (c.copy_out ? elements_of(out) : 0);
    return c;
}

static size_t stride_in(const tn_view *view, uint32_t index) {
    return find(view, index)->stride;
}

/* Offsets of the batch's matrices; through scratch they lie one behind the other. */
static tn_status place_batch(const tn_view *view, const group *batch, bool copied, size_t matrix,
                             tn_arena *arena, size_t **offset, tn_error *error) {
    uint64_t count = size_of(batch);
    TN_TRY(tn_arena_alloc(arena, count, sizeof **offset, offset, error));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        size_t at = copied ? i * matrix : 0;
        for (uint32_t k = batch->count; !copied && k-- > 0; rest /= batch->size[k])
            at += (rest % batch->size[k]) * stride_in(view, batch->index[k]);
        (*offset)[i] = at;
    }
    return TN_OK;
}

/* Adds an axis, joined with the one before where both arrays run on. */
static void add_axis(tn_block *block, uint64_t size, size_t from, size_t to) {
    if (size == 1) return;
    tn_block_axis *last = block->axes ? &block->axis[block->axes - 1] : NULL;
    if (last && last->from == from * size && last->to == to * size) {
        *last = (tn_block_axis){last->size * size, from, to};
        return;
    }
    block->axis[block->axes++] = (tn_block_axis){size, from, to};
}

/* Between the view and the groups one after the other in C order; `outwards`: from these to the view. */
static tn_block lay_out(const tn_view *view, const group *const *groups, bool outwards) {
    tn_block block = {0};
    size_t dense = 1;
    for (int g = 0; g < 3; g++) dense *= size_of(groups[g]);
    for (int g = 0; g < 3; g++)
        for (uint32_t i = 0; i < groups[g]->count; i++) {
            dense /= groups[g]->size[i];
            size_t strided = stride_in(view, groups[g]->index[i]);
            add_axis(&block, groups[g]->size[i], outwards ? dense : strided, outwards ? strided : dense);
        }
    return block;
}

static bool has_index(const group *of, uint32_t index) {
    for (uint32_t i = 0; i < of->count; i++)
        if (of->index[i] == index) return true;
    return false;
}

/* One token's slice between the array and scratch, where slices lie one behind the other. */
static tn_block slice_of(const tn_view *view, bool outwards) {
    tn_block block = {0};
    size_t dense = 1;
    for (uint32_t i = 0; i < view->axes; i++)
        if (view->axis[i].index != view->token) dense *= view->axis[i].size;
    for (uint32_t i = 0; i < view->axes; i++) {
        const tn_view_axis *axis = &view->axis[i];
        if (axis->index == view->token) continue;
        dense /= axis->size;
        add_axis(&block, axis->size, outwards ? dense : axis->stride, outwards ? axis->stride : dense);
    }
    return block;
}

/* The view of scratch that the slices are gathered in: the token first, the rest in C order. */
static tn_view gathered_view(const tn_view *view) {
    tn_view to = {.axes = 1};
    to.axis[0] = *find(view, view->token);
    for (uint32_t i = 0; i < view->axes; i++)
        if (view->axis[i].index != view->token) to.axis[to.axes++] = view->axis[i];
    tn_view_lay(&to, 0);
    return to;
}

static void set_side(tn_contraction_side *side, const tn_view *given, const tn_view *used, bool gathered,
                     bool result) {
    *side = (tn_contraction_side){.elements = elements_of(used), .gathered = gathered};
    side->cut = given->cut && !gathered;
    side->digit = given->digit;
    side->cut_stride = given->cut_stride;
    if (!gathered) return;
    side->slice = slice_of(given, result);
    side->slice_elements = side->elements / find(given, given->token)->size;
}

/* A cut array stays where it is if its tokens are the whole batch and its matrices lie well there. */
static bool must_gather(const tn_view *view, const choice *c, bool copied) {
    if (!view->cut) return false;
    return copied || c->batch.count != 1 || !has_index(&c->batch, view->token);
}

static tn_status finish(const tn_view *const given[3], const tn_view *const used[3], const choice *c,
                        const bool gathered[3], tn_arena *arena, tn_contraction *plan, tn_error *error) {
    uint64_t rows = size_of(&c->rows), reduction = size_of(&c->reduction), columns = size_of(&c->columns);
    uint64_t most = rows > reduction ? rows : reduction;
    if (columns > most) most = columns;
    if (most > INT_MAX || c->lead_a > INT_MAX || c->lead_b > INT_MAX || c->lead_out > INT_MAX)
        return tn_fail(error, TN_LIMIT, "a product with a side of %" PRIu64 "; BLAS takes at most %d", most,
                       INT_MAX);
    const group *order[3][3] = {{&c->batch, &c->rows, &c->reduction},
                                {&c->batch, &c->reduction, &c->columns},
                                {&c->batch, &c->rows, &c->columns}};
    tn_contraction_side *side[3] = {&plan->a, &plan->b, &plan->out};
    const bool copied[3] = {c->copy_a, c->copy_b, c->copy_out};
    plan->batch = size_of(&c->batch);
    plan->scratch_elements = 0;
    for (int i = 0; i < 3; i++) {
        set_side(side[i], given[i], used[i], gathered[i], i == 2);
        side[i]->copied = copied[i];
        if (copied[i]) side[i]->block = lay_out(used[i], order[i], i == 2);
        size_t matrix = side[i]->elements / plan->batch;
        TN_TRY(place_batch(used[i], &c->batch, copied[i], matrix, arena, &side[i]->offset, error));
        if ((copied[i] || gathered[i]) && side[i]->elements > plan->scratch_elements)
            plan->scratch_elements = side[i]->elements;
        if (given[i]->cut) plan->tokens = find(given[i], given[i]->token)->size;
    }
    plan->gemm = (tn_gemm){.rows = (int)rows,
                           .reduction = (int)reduction,
                           .columns = (int)columns,
                           .lead_a = (int)(c->copy_a ? reduction : c->lead_a),
                           .lead_b = (int)(c->copy_b ? columns : c->lead_b),
                           .lead_out = (int)(c->copy_out ? columns : c->lead_out),
                           .transpose_a = !c->copy_a && c->transpose_a,
                           .transpose_b = !c->copy_b && c->transpose_b,
                           .accumulate = given[2]->cut && !gathered[2] && !c->copy_out};
    return TN_OK;
}

/* The result lies transposed: its transpose is the product of the transposes, in the other order. */
static void turn(tn_contraction *plan) {
    tn_gemm *g = &plan->gemm;
    tn_contraction_side a = plan->a;
    plan->a = plan->b;
    plan->b = a;
    plan->swapped = true;
    *g = (tn_gemm){.rows = g->columns,
                   .reduction = g->reduction,
                   .columns = g->rows,
                   .lead_a = g->lead_b,
                   .lead_b = g->lead_a,
                   .lead_out = g->lead_out,
                   .transpose_a = !g->transpose_b,
                   .transpose_b = !g->transpose_a,
                   .accumulate = g->accumulate};
}

static choice best_choice(const tn_view *const used[3]) {
    choice best = choose(used[0], used[1], used[2], 0);
    for (unsigned orders = 1; orders < 8; orders++) {
        choice other = choose(used[0], used[1], used[2], orders);
        if (other.copied < best.copied) best = other;
    }
    return best;
}

tn_status tn_contraction_plan(const tn_view *a, const tn_view *b, const tn_view *out, tn_arena *arena,
                              tn_contraction *plan, tn_error *error) {
    const tn_view *const given[3] = {a, b, out};
    const tn_view *used[3] = {a, b, out};
    tn_view own[3];
    bool gathered[3];
    *plan = (tn_contraction){0};
    choice c = best_choice(used);
    const bool copied[3] = {c.copy_a, c.copy_b, c.copy_out};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        gathered[i] = must_gather(given[i], &c, copied[i]);
        if (!gathered[i]) continue;
        own[i] = gathered_view(given[i]);
        used[i] = &own[i];
        any = true;
    }
    if (any) c = best_choice(used);
    for (int i = 0; i < 3; i++) /* one that stayed must still lie well in the new choice */
        if (given[i]->cut && !gathered[i] &&
            must_gather(given[i], &c,
                        i == 0   ? c.copy_a
                        : i == 1 ? c.copy_b
                                 : c.copy_out)) {
            own[i] = gathered_view(given[i]);
            used[i] = &own[i];
            gathered[i] = true;
            c = best_choice(used);
            i = -1;
        }
    TN_TRY(finish(given, used, &c, gathered, arena, plan, error));
    if (!c.copy_out && c.transpose_out) turn(plan);
    return TN_OK;
}

/* An operand as the gemms read it. */
static const char *fetch(const tn_contraction_side *side, const tn_kernels *k, const uint32_t *const *digit,
                         uint64_t tokens, const void *array, char *scratch, size_t scratch_bytes) {
    const char *values = array;
    if (side->gathered) {
        for (uint64_t t = 0; t < tokens; t++)
            k->copy(&side->slice, values + digit[side->digit][t] * side->cut_stride * k->bytes,
                    scratch + t * side->slice_elements * k->bytes, false);
        values = scratch;
    }
    if (!side->copied) return values;
    k->copy(&side->block, values, scratch + scratch_bytes, false);
    return scratch + scratch_bytes;
}

/* The result from scratch to its array. */
static void deliver(const tn_contraction_side *side, const tn_kernels *k, const uint32_t *const *digit,
                    uint64_t tokens, char *array, char *scratch, size_t scratch_bytes) {
    const char *values = side->copied ? scratch + scratch_bytes : scratch;
    if (side->copied) {
        k->copy(&side->block, values, side->gathered ? scratch : array, false);
        values = scratch;
    }
    if (!side->gathered) return;
    for (uint64_t t = 0; t < tokens; t++)
        k->copy(&side->slice, values + t * side->slice_elements * k->bytes,
                array + digit[side->digit][t] * side->cut_stride * k->bytes, true);
}

static inline size_t begin_of(const tn_contraction_side *side, const uint32_t *const *digit, uint64_t i) {
    return side->offset[i] + (side->cut ? digit[side->digit][i] * side->cut_stride : 0);
}

size_t tn_contraction_operand_elements(const tn_contraction *plan) {
    const tn_gemm *g = &plan->gemm;
    size_t wide = g->rows > g->columns ? (size_t)g->rows : (size_t)g->columns;
    return wide * (size_t)g->reduction;
}

void tn_contraction_run(const tn_contraction *plan, const tn_kernels *k, const uint32_t *const *digit,
                        const tn_contraction_rounding *rounding, const void *a, const void *b, void *out,
                        void *scratch, size_t scratch_elements, uint64_t *macs) {
    const tn_gemm *g = &plan->gemm;
    size_t part = scratch_elements * k->bytes;
    char *own = scratch;
    const char *left = fetch(&plan->a, k, digit, plan->tokens, plan->swapped ? b : a, own, part);
    const char *right = fetch(&plan->b, k, digit, plan->tokens, plan->swapped ? a : b, own + 2 * part, part);
    bool direct = !plan->out.copied && !plan->out.gathered;
    char *result = direct ? out : own + (plan->out.copied ? 5 : 4) * part;
    tn_operand_rounding how[2] = {{0}};
    for (int side = 0; rounding->how && side < 2; side++)
        how[side] = rounding->how[plan->swapped ? 1 - side : side];
    for (uint64_t i = 0; i < plan->batch; i++) {
        const char *from_left = left + begin_of(&plan->a, digit, i) * k->bytes,
                   *from_right = right + begin_of(&plan->b, digit, i) * k->bytes;
        char *to = result + begin_of(&plan->out, digit, i) * k->bytes;
        if (rounding->how)
            tn_rounded_gemm(rounding->room, how, k, g, from_left, from_right, to);
        else
            k->gemm(g, from_left, from_right, to);
        *macs += (uint64_t)g->rows * (uint64_t)g->reduction * (uint64_t)g->columns;
    }
    if (!direct) deliver(&plan->out, k, digit, plan->tokens, out, own + 4 * part, part);
}
