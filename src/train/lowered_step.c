#include "train/lowered_step.h"

#include "base/checked.h"
#include "model/attention.h"
#include "model/graph.h"
#include "model/operation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = 0, SWEEPS = 3 };

static tn_status axis_order_view(const tn_axis_order *of, uint32_t t, tn_view *view, tn_error *error) {
    const tn_program *program = of->program;
    const tn_program_tensor *tensor = &program->tensor[t];
    uint64_t others = 1;
    bool has_token = false;
    *view = (tn_view){0};
    for (uint32_t i = 0; i < tensor->indices.count; i++) {
        uint32_t index = of->order[t].index[i];
        TN_TRY(tn_view_add(view, index, program->index_size[index], error));
        has_token |= index == TOKEN;
        if (index != TOKEN) others *= program->index_size[index];
    }
    if (of->looked_up && has_token && tensor->role != TN_ROLE_INTERMEDIATE && tensor->role != TN_ROLE_Y &&
        tensor->role != TN_ROLE_DY) {
        bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX;
        view->cut = true;
        view->token = TOKEN;
        view->digit = first ? 0 : tensor->core + 1;
    }
    tn_view_lay(view, of->elements[t] / others);
    return TN_OK;
}

static bool touches(const tn_program_step *step, uint32_t tensor) {
    return step->a == tensor || step->b == tensor || step->out == tensor;
}

/* Of all products that touch the tensor. */
static tn_status cost_of(const tn_axis_order *of, uint32_t tensor, uint64_t *cost, tn_error *error) {
    const tn_program *program = of->program;
    tn_view a, b, out;
    *cost = 0;
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        if (!touches(step, tensor)) continue;
        if (!of->elements[step->a] || !of->elements[step->b] || !of->elements[step->out]) continue;
        TN_TRY(axis_order_view(of, step->a, &a, error));
        TN_TRY(axis_order_view(of, step->b, &b, error));
        TN_TRY(axis_order_view(of, step->out, &out, error));
        *cost += tn_contraction_cost(&a, &b, &out);
    }
    return TN_OK;
}

static bool has(const tn_indices *of, uint32_t index) {
    for (uint32_t i = 0; i < of->count; i++)
        if (of->index[i] == index) return true;
    return false;
}

/* Appends those of `from` that the tensor has and `beside` has or not. */
static void append(tn_indices *to, const tn_indices *from, const tn_indices *tensor, const tn_indices *beside,
                   bool both) {
    for (uint32_t i = 0; i < from->count; i++)
        if (has(tensor, from->index[i]) && has(beside, from->index[i]) == both)
            to->index[to->count++] = from->index[i];
}

/* As a step that touches it likes to find it: what all three have, then what it shares with the one, then with the
 * other. */
static void liked_order(const tn_axis_order *of, uint32_t t, const tn_program_step *step, bool turned,
                        tn_indices *to) {
    const uint32_t tensor[] = {step->a, step->b, step->out};
    const tn_indices *other[2], *own = &of->program->tensor[t].indices;
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (tensor[i] != t && count < 2) other[count++] = &of->order[tensor[i]];
    const tn_indices *first = other[turned], *second = other[!turned];
    to->count = 0;
    append(to, first, own, second, true);
    append(to, first, own, second, false);
    append(to, second, own, first, false);
}

static tn_status improve(tn_axis_order *of, uint32_t t, bool *better, tn_error *error) {
    uint32_t kept[TN_BLOCK_AXES], tried[TN_BLOCK_AXES];
    tn_indices *order = &of->order[t], candidate = {.index = tried};
    uint64_t least, cost;
    if (order->count > TN_BLOCK_AXES) return TN_OK; /* the view says what is wrong */
    TN_TRY(cost_of(of, t, &least, error));
    for (uint32_t s = 0; s < of->program->steps && least > 0; s++) {
        const tn_program_step *step = &of->program->step[s];
        for (int turned = 0; turned < 2 && touches(step, t); turned++) {
            if (step->a == step->b) continue;
            liked_order(of, t, step, turned, &candidate);
            if (candidate.count != order->count) continue;
            memcpy(kept, order->index, order->count * sizeof *kept);
            memcpy(order->index, tried, order->count * sizeof *kept);
            TN_TRY(cost_of(of, t, &cost, error));
            *better |= cost < least;
            if (cost < least)
                least = cost;
            else
                memcpy(order->index, kept, order->count * sizeof *kept);
        }
    }
    return TN_OK;
}

/* Takes `elements` as given. */
static tn_status axis_order_choose(tn_axis_order *of, tn_arena *arena, tn_error *error) {
    const tn_program *program = of->program;
    TN_TRY(TN_NEW(arena, program->tensors, &of->order, error));
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_indices *given = &program->tensor[t].indices;
        of->order[t].count = given->count;
        TN_TRY(tn_arena_alloc(arena, given->count, sizeof *given->index, &of->order[t].index, error));
        for (uint32_t i = 0; i < given->count; i++) of->order[t].index[i] = given->index[i];
    }
    bool better = true;
    for (int sweep = 0; better && sweep < SWEEPS; sweep++) {
        better = false;
        for (uint32_t t = 0; t < program->tensors; t++)
            if (program->tensor[t].role == TN_ROLE_INTERMEDIATE && of->elements[t])
                TN_TRY(improve(of, t, &better, error));
    }
    return TN_OK;
}

enum { ALIGN_BYTES = 64 };

typedef struct lowering {
    const tn_model *model;
    tn_real real;
    tn_arena *arena;
    tn_lowered_step *to;
    uint32_t *touches; /* [arrays] operations that touch it and are still to come */
    bool *live;        /* [arrays] */
    bool *stays;       /* [arrays] its memory is not dealt out again: what the losses read */
    tn_axis_order *order;
    uint32_t orders;
    tn_error *error;
} lowering;

/* Sizes of the six letters are those of the operation, which may see fewer heads and tokens than the layers have. */
static tn_status attention_view(const lowering *l, const tn_operation *operation,
                                const tn_attention_product *product, int side, tn_view *view) {
    const uint64_t size[] = {operation->rows, operation->columns, operation->reduction};
    const uint64_t shared_by = l->to->step.layer[operation->layer].group;
    const bool sums = tn_attention_sums_group(product),
               shared = tn_attention_is_shared(product->letters[side]);
    const uint64_t heads =
        operation->batch / l->model->keys.batch / (sums ? 1 : shared_by); /* of keys and values */
    *view = (tn_view){0};
    TN_TRY(tn_view_add(view, 'e', l->model->keys.batch, l->error));
    for (const char *letter = product->letters[side]; *letter; letter++) {
        uint64_t of = heads; /* h */
        for (int group = 0; group < 3; group++)
            if (*letter == tn_attention_letter(product, group)) of = size[group];
        if (*letter == 'q' && sums) of /= shared_by;
        TN_TRY(tn_view_add(view, (uint32_t)*letter, of, l->error));
        if (*letter == 'h' && !shared && shared_by > 1) TN_TRY(tn_view_add(view, 'g', shared_by, l->error));
    }
    tn_view_lay(view, 0);
    return TN_OK;
}

static tn_status attention_views(const lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_attention_product *product = operation->attention;
    if (!product)
        return tn_fail(l->error, TN_INPUT, "layer %s makes %s, which is not known how to train",
                       l->model->layer[operation->layer].name,
                       tn_array_part_names[l->to->step.array[operation->writes[0]].part]);
    for (int side = 0; side < 3; side++) TN_TRY(attention_view(l, operation, product, side, &view[side]));
    return TN_OK;
}

/* Of the products of a predictor (model/step.h, tn_predictor), by what they make: f row, x and y features before and
 * behind it, a and c elements of the parameter left and right of it, w hidden unit. */
static const struct {
    const char *letters[3]; /* of left, right and result */
} predictor_products[TN_ARRAY_PARTS] = {
    [TN_PART_PREDICTOR_HIDDEN] = {{"xfy", "wxy", "fw"}},
    [TN_PART_PREDICTED] = {{"fw", "wac", "afc"}},
    [TN_PART_PREDICTOR_HIDDEN_GRADIENT] = {{"afc", "wac", "fw"}},
    [TN_PART_PREDICTOR_OUT] = {{"fw", "afc", "wac"}},
    [TN_PART_PREDICTOR_IN] = {{"fw", "xfy", "wxy"}},
};

static tn_status predictor_view(const lowering *l, const tn_predictor *of, const char *letters,
                                tn_view *view) {
    *view = (tn_view){0};
    for (const char *letter = letters; *letter; letter++) {
        uint64_t size = *letter == 'f'   ? of->rows
                        : *letter == 'x' ? of->before
                        : *letter == 'y' ? of->behind
                        : *letter == 'a' ? of->left
                        : *letter == 'c' ? of->right
                                         : of->width;
        TN_TRY(tn_view_add(view, (uint32_t)*letter, size, l->error));
    }
    tn_view_lay(view, 0);
    return TN_OK;
}

static tn_status predictor_views(const lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_array_part part = l->to->step.array[operation->writes[0]].part;
    if (!predictor_products[part].letters[0])
        return tn_fail(l->error, TN_INPUT, "layer %s: a predictor makes %s, which is not known how to train",
                       l->model->layer[operation->layer].name, tn_array_part_names[part]);
    for (int side = 0; side < 3; side++)
        TN_TRY(predictor_view(l, operation->predictor, predictor_products[part].letters[side], &view[side]));
    return TN_OK;
}

/* Those of the layer's program; repeated layers share one. */
static tn_status order_axes(lowering *l, const tn_operation *operation, const tn_axis_order **found) {
    const tn_step *step = &l->to->step;
    const tn_program *program = step->layer[operation->layer].program;
    bool looked_up = l->model->layer[operation->layer].kind->family == TN_LAYER_EMBEDDING;
    for (uint32_t i = 0; i < l->orders; i++) {
        *found = &l->order[i];
        if (l->order[i].program == program && l->order[i].looked_up == looked_up) return TN_OK;
    }
    tn_axis_order *made = &l->order[l->orders++];
    *made = (tn_axis_order){.program = program, .looked_up = looked_up};
    *found = made;
    TN_TRY(TN_NEW(l->arena, program->tensors, &made->elements, l->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        if (o->layer != operation->layer || !o->program_step) continue;
        made->elements[o->program_step->a] = step->array[o->reads[0]].elements;
        made->elements[o->program_step->b] = step->array[o->reads[1]].elements;
        made->elements[o->program_step->out] = step->array[o->writes[0]].elements;
    }
    return axis_order_choose(made, l->arena, l->error);
}

static tn_status program_views(lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_program_step *step = operation->program_step;
    const tn_axis_order *order;
    TN_TRY(order_axes(l, operation, &order));
    TN_TRY(axis_order_view(order, step->a, &view[0], l->error));
    TN_TRY(axis_order_view(order, step->b, &view[1], l->error));
    return axis_order_view(order, step->out, &view[2], l->error);
}

/* A tensor of which an operation takes the first of an index alone: where it lies whole, or cut out. */
static tn_status partial_view(lowering *l, const tn_operation *operation, uint32_t tensor, uint32_t array,
                              tn_view *view) {
    const tn_partial *of = operation->partial;
    const tn_axis_order *order;
    uint64_t part = 1;
    TN_TRY(order_axes(l, operation, &order));
    TN_TRY(axis_order_view(order, tensor, view, l->error));
    for (uint32_t i = 0; i < view->axes; i++) {
        if (view->axis[i].index == of->index) view->axis[i].size = of->kept;
        part *= view->axis[i].size;
    }
    if (l->to->step.array[array].elements == part) tn_view_lay(view, 0);
    return TN_OK;
}

static tn_status partial_views(lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_program_step *step = operation->partial->step;
    TN_TRY(partial_view(l, operation, step->a, operation->reads[0], &view[0]));
    TN_TRY(partial_view(l, operation, step->b, operation->reads[1], &view[1]));
    return partial_view(l, operation, step->out, operation->writes[0], &view[2]);
}

/* The copy of a part. */
static tn_status lower_cut(lowering *l, tn_instruction *to) {
    const tn_operation *operation = to->operation;
    tn_view from, part;
    tn_block *block;
    TN_TRY(partial_view(l, operation, operation->partial->tensor, operation->reads[0], &from));
    part = from;
    tn_view_lay(&part, 0);
    TN_TRY(TN_NEW(l->arena, 1, &block, l->error));
    block->axes = from.axes;
    for (uint32_t i = 0; i < from.axes; i++) {
        block->axis[i].size = from.axis[i].size;
        block->axis[i].from = from.axis[i].stride;
        block->axis[i].to = part.axis[i].stride;
    }
    to->part = block;
    return TN_OK;
}

static const tn_table_digits *digits_of(const lowering *l, uint32_t layer) {
    for (uint32_t i = 0; i < l->to->tables; i++)
        if (l->to->table[i].layer == layer) return &l->to->table[i];
    return NULL;
}

static tn_status lower_product(lowering *l, tn_instruction *to) {
    const tn_operation *operation = to->operation;
    tn_view view[3];
    tn_contraction *plan;
    if (operation->program_step)
        TN_TRY(program_views(l, operation, view));
    else if (operation->partial)
        TN_TRY(partial_views(l, operation, view));
    else if (operation->predictor)
        TN_TRY(predictor_views(l, operation, view));
    else
        TN_TRY(attention_views(l, operation, view));
    TN_TRY(TN_NEW(l->arena, 1, &plan, l->error));
    TN_TRY(tn_contraction_plan(&view[0], &view[1], &view[2], l->arena, plan, l->error));
    to->contraction = plan;
    const tn_table_digits *digits = digits_of(l, operation->layer);
    if (digits) to->digits = (const uint32_t *const *)digits->digit;
    if (view[2].cut) to->clear[to->clear_count++] = operation->writes[0];
    if (plan->scratch_elements > l->to->scratch_elements) l->to->scratch_elements = plan->scratch_elements;
    return TN_OK;
}

static tn_status lower_map(lowering *l, tn_instruction *to) {
    tn_formula *formula;
    TN_TRY(TN_NEW(l->arena, 1, &formula, l->error));
    to->formula = formula;
    return tn_formula_read(tn_operation_rows[to->operation->kind].pass[0].text, formula, l->error);
}

static tn_status lower_operation(lowering *l, uint32_t position) {
    tn_instruction *to = &l->to->instruction[position];
    const tn_operation *operation = &l->to->step.operation[position];
    const tn_layer *layer = &l->model->layer[operation->layer];
    to->operation = operation;
    if (operation->kind == TN_OP_PRODUCT) return lower_product(l, to);
    if (operation->partial) return lower_cut(l, to);
    if (operation->gather && operation->gather->tokens < operation->gather->from_tokens)
        l->to->kept_tokens = operation->gather->tokens;
    if (tn_operation_rows[operation->kind].shape == TN_SHAPE_MAP) return lower_map(l, to);
    if (tn_operation_rows[operation->kind].shape == TN_SHAPE_SCORES)
        to->scale = 1 / sqrt((double)(l->model->layer[layer->input[0]].width / layer->heads));
    for (uint32_t h = 0; operation->kind == TN_OP_CROSS_ENTROPY && h < l->to->heads; h++)
        if (l->to->head[h].layer == operation->layer) to->head = h;
    return TN_OK;
}

/* The losses of the model, whether the list computes their gradients or not: the last layer's first, as the backward
 * pass comes to them. */
static void find_heads(lowering *l) {
    for (uint32_t i = l->model->layers; i-- > 0;) {
        const tn_layer *layer = &l->model->layer[i];
        if (layer->kind->family != TN_LAYER_LOSS) continue;
        uint32_t logits = l->to->step.layer[layer->input[0]].output;
        uint64_t outputs = l->model->layer[layer->input[0]].width;
        l->stays[logits] = true;
        l->to->head[l->to->heads++] = (tn_head){.layer = i,
                                                .logits = logits,
                                                .rows = l->to->step.array[logits].elements / outputs,
                                                .outputs = outputs,
                                                .of_example = layer->sequence == 1};
    }
}

static tn_status add_table(lowering *l, uint32_t layer) {
    const tn_weight *weight = l->to->step.layer[layer].weight;
    tn_table_digits *table = &l->to->table[l->to->tables++];
    uint64_t tokens = l->model->layer[layer].tokens;
    bool cores = l->to->step.layer[layer].program != NULL;
    *table = (tn_table_digits){.layer = layer, .count = cores ? weight->d : 1};
    TN_TRY(TN_NEW(l->arena, table->count, &table->digit, l->error));
    for (uint32_t d = 0; d < table->count; d++) {
        table->radix[d] = cores ? weight->m[d] : l->model->layer[layer].rows;
        TN_TRY(tn_arena_alloc(l->arena, tokens, sizeof **table->digit, &table->digit[d], l->error));
    }
    return TN_OK;
}

/* Memory that is free, kept as stretches in ascending order. */
typedef struct stretch {
    size_t from, bytes;
} stretch;
typedef struct pool {
    stretch *hole;
    size_t holes, end;
} pool;

static size_t bytes_of(const lowering *l, uint32_t array) {
    size_t bytes = l->to->step.array[array].elements * tn_real_bytes(l->real);
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* The smallest hole that is large enough, else the end. */
static size_t take(pool *from, size_t bytes) {
    size_t best = from->holes;
    for (size_t i = 0; i < from->holes; i++)
        if (from->hole[i].bytes >= bytes &&
            (best == from->holes || from->hole[i].bytes < from->hole[best].bytes))
            best = i;
    if (best == from->holes) {
        size_t at = from->end;
        from->end += bytes;
        return at;
    }
    size_t at = from->hole[best].from;
    from->hole[best].from += bytes;
    from->hole[best].bytes -= bytes;
    if (from->hole[best].bytes == 0)
        memmove(&from->hole[best], &from->hole[best + 1], (--from->holes - best) * sizeof *from->hole);
    return at;
}

static void join(pool *of, size_t i) {
    if (i + 1 >= of->holes || of->hole[i].from + of->hole[i].bytes != of->hole[i + 1].from) return;
    of->hole[i].bytes += of->hole[i + 1].bytes;
    memmove(&of->hole[i + 1], &of->hole[i + 2], (--of->holes - (i + 1)) * sizeof *of->hole);
}

static void give_back(pool *to, size_t at, size_t bytes) {
    size_t i = to->holes;
    while (i > 0 && to->hole[i - 1].from > at) i--;
    memmove(&to->hole[i + 1], &to->hole[i], (to->holes++ - i) * sizeof *to->hole);
    to->hole[i] = (stretch){at, bytes};
    join(to, i);
    if (i > 0) join(to, i - 1);
}

/* Calls `visit` for each array that the operation touches, each once. */
static void each_touched(lowering *l, pool *memory, tn_instruction *to,
                         void (*visit)(lowering *, pool *, tn_instruction *, uint32_t)) {
    const tn_operation *operation = to->operation;
    uint32_t seen[TN_OPERATION_READS + TN_OPERATION_WRITES], count = 0;
    for (uint32_t i = 0; i < operation->read_count + operation->write_count; i++) {
        uint32_t array =
            i < operation->read_count ? operation->reads[i] : operation->writes[i - operation->read_count];
        bool known = false;
        for (uint32_t k = 0; k < count; k++) known |= seen[k] == array;
        if (known) continue;
        seen[count++] = array;
        visit(l, memory, to, array);
    }
}

static void count_touch(lowering *l, pool *memory, tn_instruction *to, uint32_t array) {
    (void)memory;
    (void)to;
    l->touches[array]++;
}

static void come_alive(lowering *l, pool *memory, tn_instruction *to, uint32_t array) {
    if (l->to->resident[array] || l->live[array]) return;
    l->live[array] = true;
    l->to->place[array] = take(memory, bytes_of(l, array));
    to->made_elements += l->to->step.array[array].elements;
}

static void pass_away(lowering *l, pool *memory, tn_instruction *to, uint32_t array) {
    if (--l->touches[array] > 0 || l->to->resident[array]) return;
    l->live[array] = false;
    if (!l->stays[array]) give_back(memory, l->to->place[array], bytes_of(l, array));
    to->dead_elements += l->to->step.array[array].elements;
}

/* A gradient that is added to is cleared by the first operation that writes it. */
static void clear_once(tn_lowered_step *to) {
    for (uint32_t i = 0; i < to->step.operations; i++) {
        tn_instruction *at = &to->instruction[i];
        if (at->clear_count && at->made_elements == 0) at->clear_count = 0;
    }
}

static tn_status place_arrays(lowering *l) {
    tn_lowered_step *to = l->to;
    const tn_step *step = &to->step;
    pool memory = {0};
    TN_TRY(TN_NEW(l->arena, step->arrays, &to->place, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &to->resident, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->touches, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->live, l->error));
    TN_TRY(TN_NEW(l->arena, (size_t)step->arrays + 1, &memory.hole, l->error));
    size_t kept = 0;
    for (uint32_t i = 0; i < step->arrays; i++) {
        to->resident[i] = tn_array_is_resident(&step->array[i]);
        if (!to->resident[i]) continue;
        to->place[i] = kept++;
        to->resident_elements += step->array[i].elements;
    }
    for (uint32_t i = 0; i < step->operations; i++)
        each_touched(l, &memory, &to->instruction[i], count_touch);
    for (uint32_t i = 0; i < step->operations; i++) {
        each_touched(l, &memory, &to->instruction[i], come_alive);
        each_touched(l, &memory, &to->instruction[i], pass_away);
    }
    to->pool_bytes = memory.end;
    clear_once(to);
    return TN_OK;
}

static tn_status plan_rounding(lowering *l) {
    tn_lowered_step *to = l->to;
    TN_TRY(tn_rounding_plan(&to->step, l->arena, &to->rounding, l->error));
    for (uint32_t i = 0; to->rounding && i < to->step.operations; i++) {
        if (!to->instruction[i].contraction) continue;
        size_t elements = tn_contraction_operand_elements(to->instruction[i].contraction);
        if (elements > to->rounded_elements) to->rounded_elements = elements;
    }
    for (uint32_t i = 0; i < to->step.arrays; i++)
        if (to->step.array[i].live && 2 * to->step.array[i].elements > to->rounded_elements)
            to->rounded_elements = 2 * to->step.array[i].elements;
    if (tn_number_format_same(&to->step.formats->accumulate, &tn_fp32)) return TN_OK;
    to->kept = &to->step.formats->accumulate;
    for (uint32_t i = 0; i < to->step.arrays; i++)
        if (to->step.array[i].elements > to->rounded_elements)
            to->rounded_elements = to->step.array[i].elements;
    return TN_OK;
}

static tn_status lower(lowering *l) {
    tn_lowered_step *to = l->to;
    const tn_step *step = &to->step;
    TN_TRY(TN_NEW(l->arena, step->operations, &to->instruction, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &to->head, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &to->table, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &l->order, l->error));
    for (uint32_t i = 0; i < step->layers; i++) {
        if (l->model->layer[i].kind->family == TN_LAYER_INPUT)
            return tn_fail_at(
                l->error, TN_INPUT, l->model->layer[i].at,
                "layer %s takes features from outside; training reads words, through an embedding",
                l->model->layer[i].name);
        if (l->model->layer[i].kind->family == TN_LAYER_EMBEDDING) TN_TRY(add_table(l, i));
    }
    while (to->forward_end < step->operations && step->operation[to->forward_end].phase == TN_FORWARD)
        to->forward_end++;
    while (to->update_begin < step->operations && step->operation[to->update_begin].phase != TN_UPDATE)
        to->update_begin++;
    to->updates_last = true;
    for (uint32_t i = to->update_begin; i < step->operations; i++)
        to->updates_last &= step->operation[i].phase == TN_UPDATE;
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->stays, l->error));
    find_heads(l);
    for (uint32_t i = 0; i < step->operations; i++) TN_TRY(lower_operation(l, i));
    TN_TRY(plan_rounding(l));
    return place_arrays(l);
}

tn_status tn_lower_step(const tn_model *model, uint32_t sort, tn_program_cache *cache, tn_real real,
                        tn_arena *arena, tn_lowered_step *lowered, tn_error *error) {
    lowering l = {.model = model, .real = real, .arena = arena, .to = lowered, .error = error};
    *lowered = (tn_lowered_step){.batch = model->keys.batch, .sequence = model->keys.sequence};
    TN_TRY(tn_step_build_sort(model, cache, sort, arena, &lowered->step, error));
    return lower(&l);
}
