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

static void join(group *block, const tn_view_axis *axis) {
    block->size[block->count] = axis->size;
    block->index[block->count++] = axis->index;
}

static uint64_t size_of(const group *block) {
    uint64_t size = 1;
    for (uint32_t i = 0; i < block->count; i++) size *= block->size[i];
    return size;
}

/* The indices of `order` that lie on `view` (or, without `wanted`, do not), in the order of `order`. */
static group pick(const tn_view *order, const tn_view *view, bool wanted, const tn_view *also,
                  bool also_wanted) {
    group picked = {0};
    for (uint32_t i = 0; i < order->axes; i++) {
        uint32_t index = order->axis[i].index;
        if ((find(view, index) != NULL) == wanted && (find(also, index) != NULL) == also_wanted)
            join(&picked, &order->axis[i]);
    }
    return picked;
}

/* The one stride that runs through all axes of the group, if there is one; *stride 0 where the group has but one
 * element. */
static bool runs(const tn_view *view, const group *block, size_t *stride) {
    uint64_t inner = 0;
    *stride = 0;
    for (uint32_t i = block->count; i-- > 0;) {
        if (block->size[i] == 1) continue;
        size_t own = find(view, block->index[i])->stride;
        if (*stride == 0)
            *stride = own;
        else if (own != inner)
            return false;
        inner = own * block->size[i];
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
    uint64_t copied, cost; /* elements; `cost` as if everything were copying */
} choice;

/* A cut array stays where it is if its tokens are the slowest axis of the batch and its matrices lie well there. */
static bool must_gather(const tn_view *view, const choice *c, bool copied) {
    if (!view->cut) return false;
    return copied || c->batch.count == 0 || c->batch.index[0] != view->token;
}

/* The first axes of a dimension become axes of the batch: more products, smaller ones, whose operands lie better. */
static bool peel(choice *c, group *block, uint32_t axes) {
    if (axes >= block->count || c->batch.count + axes > TN_BLOCK_AXES) return axes == 0;
    for (uint32_t i = 0; i < axes; i++) {
        c->batch.size[c->batch.count] = block->size[i];
        c->batch.index[c->batch.count++] = block->index[i];
    }
    block->count -= axes;
    for (uint32_t i = 0; i < block->count; i++) {
        block->size[i] = block->size[i + axes];
        block->index[i] = block->index[i + axes];
    }
    return true;
}

/* Reading b transposed costs a small product about this share of copying it, but where both operands run along a
 * long reduction; a call costs about as much as copying so many elements. */
enum { TURNED_SHARE = 2, LONG_REDUCTION = 192, CALL_ELEMENTS = 48 };

static uint64_t turning_cost(const tn_view *const used[3], const choice *c) {
    bool turned = !c->copy_out && c->transpose_out;
    bool a_across = turned ? !c->copy_b && !c->transpose_b : !c->copy_a && c->transpose_a;
    bool b_across = turned ? !c->copy_a && !c->transpose_a : !c->copy_b && c->transpose_b;
    if (!b_across || (!a_across && size_of(&c->reduction) >= LONG_REDUCTION)) return 0;
    return elements_of(used[turned ? 0 : 1]) / TURNED_SHARE;
}

enum { ORDERS = 8, PEELED_MOST = 2 };

/* false: there are not as many axes to peel. */
static bool choose(const tn_view *const used[3], unsigned orders, uint32_t peeled_rows,
                   uint32_t peeled_columns, choice *c) {
    const tn_view *a = used[0], *b = used[1], *out = used[2];
    *c = (choice){.batch = pick(out, a, true, b, true),
                  .rows = pick(orders & 1 ? out : a, orders & 1 ? a : out, true, b, false),
                  .columns = pick(orders & 2 ? out : b, orders & 2 ? b : out, true, a, false),
                  .reduction = pick(orders & 4 ? b : a, orders & 4 ? a : b, true, out, false)};
    if (!peel(c, &c->rows, peeled_rows) || !peel(c, &c->columns, peeled_columns)) return false;
    c->copy_a = !lies(a, &c->rows, &c->reduction, &c->transpose_a, &c->lead_a);
    c->copy_b = !lies(b, &c->reduction, &c->columns, &c->transpose_b, &c->lead_b);
    c->copy_out = !lies(out, &c->rows, &c->columns, &c->transpose_out, &c->lead_out);
    const bool copied[3] = {c->copy_a, c->copy_b, c->copy_out};
    c->copied = 0;
    for (int i = 0; i < 3; i++)
        c->copied += ((uint64_t)copied[i] + must_gather(used[i], c, copied[i])) * elements_of(used[i]);
    c->cost = c->copied + turning_cost(used, c) + CALL_ELEMENTS * size_of(&c->batch);
    return true;
}

static choice best_choice(const tn_view *const used[3]) {
    choice best = {.cost = UINT64_MAX}, other;
    for (uint32_t rows = 0; rows <= PEELED_MOST; rows++)
        for (uint32_t columns = 0; columns <= PEELED_MOST; columns++) {
            if (rows + columns > 0 && best.copied == 0) return best;
            for (unsigned orders = 0; orders < ORDERS; orders++)
                if (choose(used, orders, rows, columns, &other) && other.cost < best.cost) best = other;
        }
    return best;
}

/* Those axes of the group that the view has. */
static group of_view(const group *source, const tn_view *view) {
    group own = {0};
    for (uint32_t i = 0; i < source->count; i++)
        if (find(view, source->index[i])) join(&own, &(tn_view_axis){source->index[i], source->size[i], 0});
    return own;
}

/* How an array lies in scratch: batch, then the two dimensions of its matrices, in C order. */
typedef struct scratch_order {
    group part[3];
} scratch_order;

static size_t stride_in_scratch(const scratch_order *order, uint32_t index) {
    size_t stride = 1;
    for (int g = 3; g-- > 0;)
        for (uint32_t i = order->part[g].count; i-- > 0; stride *= order->part[g].size[i])
            if (order->part[g].index[i] == index) return stride;
    return 0;
}

/* Offsets of the batch's matrices, in the array or in scratch. */
static tn_status place_batch(const tn_view *view, const group *batch, const scratch_order *copied,
                             tn_arena *arena, size_t **offset, tn_error *error) {
    uint64_t count = size_of(batch);
    TN_TRY(TN_NEW(arena, count, offset, error));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        for (uint32_t k = batch->count; k-- > 0; rest /= batch->size[k]) {
            const tn_view_axis *axis = find(view, batch->index[k]);
            size_t stride = !axis ? 0 : copied ? stride_in_scratch(copied, axis->index) : axis->stride;
            (*offset)[i] += (rest % batch->size[k]) * stride;
        }
    }
    return TN_OK;
}

/* Adds an axis, joined with the one before where both arrays run on. */
static void add_axis(tn_block *block, uint64_t size, size_t begin, size_t end) {
    if (size == 1) return;
    tn_block_axis *last = block->axes ? &block->axis[block->axes - 1] : NULL;
    if (last && last->source_stride == begin * size && last->target_stride == end * size) {
        *last = (tn_block_axis){last->size * size, begin, end};
        return;
    }
    block->axis[block->axes++] = (tn_block_axis){size, begin, end};
}

/* Between the view and scratch; `outwards`: from scratch to the view. */
static tn_block lay_out(const tn_view *view, const scratch_order *order, bool outwards) {
    tn_block block = {0};
    for (int g = 0; g < 3; g++)
        for (uint32_t i = 0; i < order->part[g].count; i++) {
            uint32_t index = order->part[g].index[i];
            size_t dense = stride_in_scratch(order, index), strided = find(view, index)->stride;
            add_axis(&block, order->part[g].size[i], outwards ? dense : strided, outwards ? strided : dense);
        }
    return block;
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
    tn_view target = {.axes = 1};
    target.axis[0] = *find(view, view->token);
    for (uint32_t i = 0; i < view->axes; i++)
        if (view->axis[i].index != view->token) target.axis[target.axes++] = view->axis[i];
    tn_view_lay(&target, 0);
    return target;
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

/* The choice, and which arrays are gathered for it. */
typedef struct settlement {
    const tn_view *given[3], *used[3];
    tn_view own[3];
    bool gathered[3];
    choice c;
} settlement;

static void gather(settlement *s, int i) {
    s->own[i] = gathered_view(s->given[i]);
    s->used[i] = &s->own[i];
    s->gathered[i] = true;
}

static void settle(settlement *s, const tn_view *a, const tn_view *b, const tn_view *out) {
    *s = (settlement){.given = {a, b, out}, .used = {a, b, out}};
    for (bool again = true; again;) { /* one that stayed must still lie well in the new choice */
        again = false;
        s->c = best_choice(s->used);
        const bool copied[3] = {s->c.copy_a, s->c.copy_b, s->c.copy_out};
        for (int i = 0; i < 3; i++)
            if (!s->gathered[i] && must_gather(s->given[i], &s->c, copied[i])) {
                gather(s, i);
                again = true;
            }
    }
}

uint64_t tn_contraction_cost(const tn_view *a, const tn_view *b, const tn_view *out) {
    settlement s;
    settle(&s, a, b, out);
    uint64_t cost = s.c.cost;
    for (int i = 0; i < 3; i++) cost += s.gathered[i] ? elements_of(s.given[i]) : 0;
    return cost;
}

static tn_status finish(const settlement *s, tn_arena *arena, tn_contraction *plan, tn_error *error) {
    const choice *c = &s->c;
    bool turned = !c->copy_out && c->transpose_out;
    uint64_t rows = size_of(&c->rows), reduction = size_of(&c->reduction), columns = size_of(&c->columns);
    uint64_t most = rows > reduction ? rows : reduction;
    if (columns > most) most = columns;
    if (most > INT_MAX || c->lead_a > INT_MAX || c->lead_b > INT_MAX || c->lead_out > INT_MAX)
        return tn_fail(error, TN_LIMIT, "a product with a side of %" PRIu64 "; BLAS takes at most %d", most,
                       INT_MAX);
    /* a copy of what becomes the right operand lies along the columns */
    const group *order[3][3] = {
        {&c->batch, turned ? &c->reduction : &c->rows, turned ? &c->rows : &c->reduction},
        {&c->batch, turned ? &c->columns : &c->reduction, turned ? &c->reduction : &c->columns},
        {&c->batch, &c->rows, &c->columns}};
    tn_contraction_side *side[3] = {&plan->a, &plan->b, &plan->out};
    const bool copied[3] = {c->copy_a, c->copy_b, c->copy_out};
    plan->batch = size_of(&c->batch);
    plan->batch_of_token = c->batch.count ? plan->batch / c->batch.size[0] : 1;
    plan->scratch_elements = 0;
    for (int i = 0; i < 3; i++) {
        scratch_order in_scratch;
        for (int part = 0; part < 3; part++) in_scratch.part[part] = of_view(order[i][part], s->used[i]);
        set_side(side[i], s->given[i], s->used[i], s->gathered[i], i == 2);
        side[i]->copied = copied[i];
        if (copied[i]) side[i]->block = lay_out(s->used[i], &in_scratch, i == 2);
        TN_TRY(place_batch(s->used[i], &c->batch, copied[i] ? &in_scratch : NULL, arena, &side[i]->offset,
                           error));
        if ((copied[i] || s->gathered[i]) && side[i]->elements > plan->scratch_elements)
            plan->scratch_elements = side[i]->elements;
        if (s->given[i]->cut) plan->tokens = find(s->given[i], s->given[i]->token)->size;
    }
    plan->gemm = (tn_gemm){.rows = (int)rows,
                           .reduction = (int)reduction,
                           .columns = (int)columns,
                           .lead_a = (int)(!c->copy_a ? c->lead_a
                                           : turned   ? rows
                                                      : reduction),
                           .lead_b = (int)(!c->copy_b ? c->lead_b
                                           : turned   ? reduction
                                                      : columns),
                           .lead_out = (int)(c->copy_out ? columns : c->lead_out),
                           .transpose_a = c->copy_a ? turned : c->transpose_a,
                           .transpose_b = c->copy_b ? turned : c->transpose_b,
                           .accumulate = s->given[2]->cut && !s->gathered[2] && !c->copy_out};
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

tn_status tn_contraction_plan(const tn_view *a, const tn_view *b, const tn_view *out, tn_arena *arena,
                              tn_contraction *plan, tn_error *error) {
    settlement s;
    settle(&s, a, b, out);
    *plan = (tn_contraction){0};
    TN_TRY(finish(&s, arena, plan, error));
    if (!s.c.copy_out && s.c.transpose_out) turn(plan);
    return TN_OK;
}

/* A planned product, executed by a team. */

size_t tn_contraction_operand_elements(const tn_contraction *plan) {
    const tn_gemm *g = &plan->gemm;
    size_t wide = g->rows > g->columns ? (size_t)g->rows : (size_t)g->columns;
    return wide * (size_t)g->reduction;
}

static void copy_share(const tn_contraction_call *call, const tn_block *block, const char *source,
                       char *target) {
    tn_block own = *block;
    tn_share share = tn_team_share(call->team, block->axes ? block->axis[0].size : 1, 1);
    if (share.first == share.end) return;
    if (block->axes) {
        own.axis[0].size = share.end - share.first;
        source += share.first * block->axis[0].source_stride * call->kernels->bytes;
        target += share.first * block->axis[0].target_stride * call->kernels->bytes;
    }
    call->kernels->copy(&own, source, target, false);
}

/* Scratch has two parts for each array: slices that are gathered, and what is laid anew. */
static char *scratch_part(const tn_contraction_call *call, int array, bool copied) {
    return (char *)call->scratch +
           (size_t)(2 * array + copied) * call->scratch_elements * call->kernels->bytes;
}

static void gather_operand(const tn_contraction_call *call, const tn_contraction_side *side, uint64_t tokens,
                           const char *array, char *scratch) {
    const tn_kernels *k = call->kernels;
    tn_share share = tn_team_share(call->team, tokens, 1);
    for (uint64_t t = share.first; t < share.end; t++)
        k->copy(&side->slice, array + call->digit[side->digit][t] * side->cut_stride * k->bytes,
                scratch + t * side->slice_elements * k->bytes, false);
}

/* The operands as the products read them: left[0], left[1]. */
static void fetch(const tn_contraction *plan, const tn_contraction_call *call, const char *operand[2]) {
    const tn_contraction_side *side[2] = {&plan->a, &plan->b};
    operand[0] = plan->swapped ? call->b : call->a;
    operand[1] = plan->swapped ? call->a : call->b;
    bool gathered = side[0]->gathered || side[1]->gathered, copied = side[0]->copied || side[1]->copied;
    for (int i = 0; i < 2; i++) {
        if (!side[i]->gathered) continue;
        gather_operand(call, side[i], plan->tokens, operand[i], scratch_part(call, i, false));
        operand[i] = scratch_part(call, i, false);
    }
    if (gathered) tn_team_wait(call->team);
    for (int i = 0; i < 2; i++) {
        if (!side[i]->copied) continue;
        copy_share(call, &side[i]->block, operand[i], scratch_part(call, i, true));
        operand[i] = scratch_part(call, i, true);
    }
    if (copied) tn_team_wait(call->team);
}

/* The result from scratch to its array. */
static void deliver(const tn_contraction *plan, const tn_contraction_call *call) {
    const tn_contraction_side *side = &plan->out;
    const tn_kernels *k = call->kernels;
    const char *slices = scratch_part(call, 2, false);
    tn_team_wait(call->team);
    if (side->copied) {
        copy_share(call, &side->block, scratch_part(call, 2, true),
                   side->gathered ? scratch_part(call, 2, false) : call->out);
        if (side->gathered) tn_team_wait(call->team);
    }
    for (uint64_t t = 0; side->gathered && tn_team_first(call->team) && t < plan->tokens; t++)
        k->copy(&side->slice, slices + t * side->slice_elements * k->bytes,
                (char *)call->out + call->digit[side->digit][t] * side->cut_stride * k->bytes, true);
}

/* A product as pieces of its longer side. They are the same for any number of threads: BLAS may round differently
 * when a shape changes. */
typedef struct pieces {
    bool of_columns;
    int count, size;
} pieces;

static pieces pieces_of(const tn_gemm *g) {
    enum { PIECES = 4, COLUMNS = 48, ROWS = 8, LEAST_MACS = 1 << 15 };
    bool of_columns = g->columns >= g->rows;
    int whole = of_columns ? g->columns : g->rows, grain = of_columns ? COLUMNS : ROWS;
    if ((uint64_t)g->rows * (uint64_t)g->reduction * (uint64_t)g->columns < LEAST_MACS)
        return (pieces){of_columns, 1, whole};
    int size = (whole + PIECES - 1) / PIECES;
    size = (size + grain - 1) / grain * grain;
    return (pieces){of_columns, (whole + size - 1) / size, size};
}

/* Blocks of the caller's columns. */
static pieces blocks_of(const tn_contraction *plan, uint64_t block) {
    int columns = plan->swapped ? plan->gemm.rows : plan->gemm.columns, size = (int)block;
    if (block >= (uint64_t)columns) size = columns;
    return (pieces){!plan->swapped, (columns + size - 1) / size, size};
}

static inline size_t begin_of(const tn_contraction_side *side, const uint32_t *const *digit, uint64_t i,
                              uint64_t token) {
    return side->offset[i] + (side->cut ? digit[side->digit][token] * side->cut_stride : 0);
}

typedef struct matrices {
    const char *left, *right;
    char *target;
} matrices;

static void run_piece(const tn_contraction_call *call, const tn_gemm *whole, const pieces *target, int piece,
                      matrices m) {
    tn_gemm g = *whole;
    int begin = piece * target->size, side = target->of_columns ? g.columns : g.rows;
    int size = side - begin < target->size ? side - begin : target->size;
    size_t bytes = call->kernels->bytes, index = (size_t)begin * bytes;
    if (target->of_columns) {
        g.columns = size;
        m.right += index * (g.transpose_b ? (size_t)g.lead_b : 1);
        m.target += index;
    } else {
        g.rows = size;
        m.left += index * (g.transpose_a ? 1 : (size_t)g.lead_a);
        m.target += index * (size_t)g.lead_out;
    }
    call->kernels->gemm(&g, m.left, m.right, m.target);
    *call->macs += (uint64_t)g.rows * (uint64_t)g.reduction * (uint64_t)g.columns;
}

static void run_rounded(const tn_contraction *plan, const tn_contraction_call *call, matrices m) {
    const tn_gemm *g = &plan->gemm;
    const tn_operand_rounding how[2] = {call->rounding->how[plan->swapped],
                                        call->rounding->how[!plan->swapped]};
    tn_rounded_gemm(call->rounding->room, how, call->kernels, g, m.left, m.right, m.target);
    *call->macs += (uint64_t)g->rows * (uint64_t)g->reduction * (uint64_t)g->columns;
}

/* What the team shares: matrices of the batch; where several of them add to one result, those of a token; else
 * pieces of every product. */
static void run_products(const tn_contraction *plan, const tn_contraction_call *call,
                         const char *const operand[2], char *result) {
    const tn_gemm *g = &plan->gemm;
    size_t bytes = call->kernels->bytes;
    bool by_matrix = plan->batch > 1 && !g->accumulate,
         by_part = !by_matrix && g->accumulate && plan->batch_of_token > 1;
    const pieces parts = call->column_block     ? blocks_of(plan, call->column_block)
                         : by_matrix || by_part ? (pieces){false, 1, g->rows}
                                                : pieces_of(g);
    static const tn_team alone = {0, 1, NULL};
    tn_share batch = tn_team_share(by_matrix ? call->team : alone, plan->batch, 1);
    tn_share part = tn_team_share(by_part ? call->team : alone, plan->batch_of_token, 1);
    tn_share piece = tn_team_share(by_matrix || by_part ? alone : call->team, (uint64_t)parts.count, 1);
    for (uint64_t i = batch.first; i < batch.end; i++) {
        uint64_t token = i / plan->batch_of_token, of_token = i % plan->batch_of_token;
        if (of_token < part.first || of_token >= part.end) continue;
        const matrices m = {operand[0] + begin_of(&plan->a, call->digit, i, token) * bytes,
                            operand[1] + begin_of(&plan->b, call->digit, i, token) * bytes,
                            result + begin_of(&plan->out, call->digit, i, token) * bytes};
        if (call->rounding)
            run_rounded(plan, call, m);
        else
            for (uint64_t p = piece.first; p < piece.end; p++) run_piece(call, g, &parts, (int)p, m);
    }
}

void tn_contraction_run(const tn_contraction *plan, const tn_contraction_call *call) {
    const char *operand[2];
    bool direct = !plan->out.copied && !plan->out.gathered;
    fetch(plan, call, operand);
    run_products(plan, call, operand, direct ? call->out : scratch_part(call, 2, plan->out.copied));
    if (!direct) deliver(plan, call);
}
