#include "train/lowered_step.h"

#include "base/checked.h"
#include "model/attention.h"
#include "model/graph.h"
#include "model/operation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = 0, SWEEPS = 3 };

static tn_status axis_order_view(const tn_axis_order *order, uint32_t t, tn_view *view, tn_error *error) {
    const tn_program *program = order->program;
    const tn_program_tensor *tensor = &program->tensor[t];
    uint64_t others = 1;
    bool has_token = false;
    *view = (tn_view){0};
    for (uint32_t i = 0; i < tensor->indices.count; i++) {
        uint32_t index = order->order[t].index[i];
        TN_TRY(tn_view_add(view, index, program->index_size[index], error));
        has_token |= index == TOKEN;
        if (index != TOKEN) others *= program->index_size[index];
    }
    if (order->looked_up && has_token && tensor->role != TN_ROLE_INTERMEDIATE && tensor->role != TN_ROLE_Y &&
        tensor->role != TN_ROLE_DY) {
        bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX;
        view->cut = true;
        view->token = TOKEN;
        view->digit = first ? 0 : tensor->core + 1;
    }
    tn_view_lay(view, order->elements[t] / others);
    return TN_OK;
}

static bool touches(const tn_program_step *step, uint32_t tensor) {
    return step->a == tensor || step->b == tensor || step->out == tensor;
}

/* Of all products that touch the tensor. */
static tn_status cost_of(const tn_axis_order *order, uint32_t tensor, uint64_t *cost, tn_error *error) {
    const tn_program *program = order->program;
    tn_view a, b, out;
    *cost = 0;
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        if (!touches(step, tensor)) continue;
        if (!order->elements[step->a] || !order->elements[step->b] || !order->elements[step->out]) continue;
        TN_TRY(axis_order_view(order, step->a, &a, error));
        TN_TRY(axis_order_view(order, step->b, &b, error));
        TN_TRY(axis_order_view(order, step->out, &out, error));
        *cost += tn_contraction_cost(&a, &b, &out);
    }
    return TN_OK;
}

static bool has(const tn_indices *indices, uint32_t index) {
    for (uint32_t i = 0; i < indices->count; i++)
        if (indices->index[i] == index) return true;
    return false;
}

/* Appends those of `source` that the tensor has and `other` has or not. */
static void append(tn_indices *target, const tn_indices *source, const tn_indices *tensor,
                   const tn_indices *other, bool both) {
    for (uint32_t i = 0; i < source->count; i++)
        if (has(tensor, source->index[i]) && has(other, source->index[i]) == both)
            target->index[target->count++] = source->index[i];
}

/* As a step that touches it likes to find it: what all three have, then what it shares with the one, then with the
 * other. */
static void liked_order(const tn_axis_order *order, uint32_t t, const tn_program_step *step, bool turned,
                        tn_indices *indices) {
    const uint32_t tensor[] = {step->a, step->b, step->out};
    const tn_indices *other[2], *own = &order->program->tensor[t].indices;
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (tensor[i] != t && count < 2) other[count++] = &order->order[tensor[i]];
    const tn_indices *first = other[turned], *second = other[!turned];
    indices->count = 0;
    append(indices, first, own, second, true);
    append(indices, first, own, second, false);
    append(indices, second, own, first, false);
}

static tn_status improve(tn_axis_order *axis_order, uint32_t t, bool *better, tn_error *error) {
    uint32_t kept[TN_BLOCK_AXES], tried[TN_BLOCK_AXES];
    tn_indices *order = &axis_order->order[t], candidate = {.index = tried};
    uint64_t least, cost;
    if (order->count > TN_BLOCK_AXES) return TN_OK; /* the view says what is wrong */
    TN_TRY(cost_of(axis_order, t, &least, error));
    for (uint32_t s = 0; s < axis_order->program->steps && least > 0; s++) {
        const tn_program_step *step = &axis_order->program->step[s];
        for (int turned = 0; turned < 2 && touches(step, t); turned++) {
            if (step->a == step->b) continue;
            liked_order(axis_order, t, step, turned, &candidate);
            if (candidate.count != order->count) continue;
            memcpy(kept, order->index, order->count * sizeof *kept);
            memcpy(order->index, tried, order->count * sizeof *kept);
            TN_TRY(cost_of(axis_order, t, &cost, error));
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
static tn_status axis_order_choose(tn_axis_order *order, tn_arena *arena, tn_error *error) {
    const tn_program *program = order->program;
    TN_TRY(TN_NEW(arena, program->tensors, &order->order, error));
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_indices *given = &program->tensor[t].indices;
        order->order[t].count = given->count;
        TN_TRY(tn_arena_alloc(arena, given->count, sizeof *given->index, &order->order[t].index, error));
        for (uint32_t i = 0; i < given->count; i++) order->order[t].index[i] = given->index[i];
    }
    bool better = true;
    for (int sweep = 0; better && sweep < SWEEPS; sweep++) {
        better = false;
        for (uint32_t t = 0; t < program->tensors; t++)
            if (program->tensor[t].role == TN_ROLE_INTERMEDIATE && order->elements[t])
                TN_TRY(improve(order, t, &better, error));
    }
    return TN_OK;
}

enum { ALIGN_BYTES = 64 };

typedef struct lowering {
    const tn_model *model;
    tn_real real;
    tn_arena *arena;
    tn_lowered_step *lowered;
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
    const uint64_t shared_by = l->lowered->step.layer[operation->layer].group;
    const bool sums = tn_attention_sums_group(product),
               shared = tn_attention_is_shared(product->letters[side]);
    const uint64_t heads =
        operation->batch / l->model->keys.batch / (sums ? 1 : shared_by); /* of keys and values */
    *view = (tn_view){0};
    TN_TRY(tn_view_add(view, 'e', l->model->keys.batch, l->error));
    for (const char *letter = product->letters[side]; *letter; letter++) {
        uint64_t count = heads; /* h */
        for (int group = 0; group < 3; group++)
            if (*letter == tn_attention_letter(product, group)) count = size[group];
        if (*letter == 'q' && sums) count /= shared_by;
        TN_TRY(tn_view_add(view, (uint32_t)*letter, count, l->error));
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
                       tn_array_part_names[l->lowered->step.array[operation->writes[0]].part]);
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

static tn_status predictor_view(const lowering *l, const tn_predictor *predictor, const char *letters,
                                tn_view *view) {
    *view = (tn_view){0};
    for (const char *letter = letters; *letter; letter++) {
        uint64_t size = *letter == 'f'   ? predictor->rows
                        : *letter == 'x' ? predictor->leading
                        : *letter == 'y' ? predictor->trailing
                        : *letter == 'a' ? predictor->left
                        : *letter == 'c' ? predictor->right
                                         : predictor->width;
        TN_TRY(tn_view_add(view, (uint32_t)*letter, size, l->error));
    }
    tn_view_lay(view, 0);
    return TN_OK;
}

static tn_status predictor_views(const lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_array_part part = l->lowered->step.array[operation->writes[0]].part;
    if (!predictor_products[part].letters[0])
        return tn_fail(l->error, TN_INPUT, "layer %s: a predictor makes %s, which is not known how to train",
                       l->model->layer[operation->layer].name, tn_array_part_names[part]);
    for (int side = 0; side < 3; side++)
        TN_TRY(predictor_view(l, operation->predictor, predictor_products[part].letters[side], &view[side]));
    return TN_OK;
}

/* Those of the layer's program; repeated layers share one. */
static tn_status order_axes(lowering *l, const tn_operation *operation, const tn_axis_order **found) {
    const tn_step *step = &l->lowered->step;
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
    const tn_partial *partial = operation->partial;
    const tn_axis_order *order;
    uint64_t part = 1;
    TN_TRY(order_axes(l, operation, &order));
    TN_TRY(axis_order_view(order, tensor, view, l->error));
    for (uint32_t i = 0; i < view->axes; i++) {
        if (view->axis[i].index == partial->index) view->axis[i].size = partial->kept;
        part *= view->axis[i].size;
    }
    if (l->lowered->step.array[array].elements == part) tn_view_lay(view, 0);
    return TN_OK;
}

static tn_status partial_views(lowering *l, const tn_operation *operation, tn_view view[3]) {
    const tn_program_step *step = operation->partial->step;
    TN_TRY(partial_view(l, operation, step->a, operation->reads[0], &view[0]));
    TN_TRY(partial_view(l, operation, step->b, operation->reads[1], &view[1]));
    return partial_view(l, operation, step->out, operation->writes[0], &view[2]);
}

/* The copy of a part. */
static tn_status lower_cut(lowering *l, tn_instruction *target) {
    const tn_operation *operation = target->operation;
    tn_view source, part;
    tn_block *block;
    TN_TRY(partial_view(l, operation, operation->partial->tensor, operation->reads[0], &source));
    part = source;
    tn_view_lay(&part, 0);
    TN_TRY(TN_NEW(l->arena, 1, &block, l->error));
    block->axes = source.axes;
    for (uint32_t i = 0; i < source.axes; i++) {
        block->axis[i].size = source.axis[i].size;
        block->axis[i].source_stride = source.axis[i].stride;
        block->axis[i].target_stride = part.axis[i].stride;
    }
    target->part = block;
    return TN_OK;
}

static const tn_table_digits *digits_of(const lowering *l, uint32_t layer) {
    for (uint32_t i = 0; i < l->lowered->tables; i++)
        if (l->lowered->table[i].layer == layer) return &l->lowered->table[i];
    return NULL;
}

static tn_status lower_product(lowering *l, tn_instruction *target) {
    const tn_operation *operation = target->operation;
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
    target->contraction = plan;
    const tn_table_digits *digits = digits_of(l, operation->layer);
    if (digits) target->digits = (const uint32_t *const *)digits->digit;
    if (view[2].cut) target->clear[target->clear_count++] = operation->writes[0];
    if (plan->scratch_elements > l->lowered->scratch_elements)
        l->lowered->scratch_elements = plan->scratch_elements;
    return TN_OK;
}

static tn_status lower_map(lowering *l, tn_instruction *target) {
    tn_formula *formula;
    TN_TRY(TN_NEW(l->arena, 1, &formula, l->error));
    target->formula = formula;
    return tn_formula_read(tn_operation_rows[target->operation->kind].pass[0].text, formula, l->error);
}

static tn_status lower_operation(lowering *l, uint32_t position) {
    tn_instruction *target = &l->lowered->instruction[position];
    const tn_operation *operation = &l->lowered->step.operation[position];
    const tn_layer *layer = &l->model->layer[operation->layer];
    target->operation = operation;
    if (operation->kind == TN_OP_PRODUCT) return lower_product(l, target);
    if (operation->partial) return lower_cut(l, target);
    if (operation->gather && operation->gather->tokens < operation->gather->from_tokens)
        l->lowered->kept_tokens = operation->gather->tokens;
    if (tn_operation_rows[operation->kind].shape == TN_SHAPE_MAP) return lower_map(l, target);
    if (tn_operation_rows[operation->kind].shape == TN_SHAPE_SCORES)
        target->scale = 1 / sqrt((double)(l->model->layer[layer->input[0]].width / layer->heads));
    for (uint32_t h = 0; operation->kind == TN_OP_CROSS_ENTROPY && h < l->lowered->heads; h++)
        if (l->lowered->head[h].layer == operation->layer) target->head = h;
    return TN_OK;
}

/* The losses of the model, whether the list computes their gradients or not: the last layer's first, as the backward
 * pass comes to them. */
static void find_heads(lowering *l) {
    for (uint32_t i = l->model->layers; i-- > 0;) {
        const tn_layer *layer = &l->model->layer[i];
        if (layer->kind->family != TN_LAYER_LOSS) continue;
        uint32_t logits = l->lowered->step.layer[layer->input[0]].output;
        uint64_t outputs = l->model->layer[layer->input[0]].width;
        l->stays[logits] = true;
        l->lowered->head[l->lowered->heads++] =
            (tn_head){.layer = i,
                      .logits = logits,
                      .rows = l->lowered->step.array[logits].elements / outputs,
                      .outputs = outputs,
                      .of_example = layer->sequence == 1 && !l->lowered->step.decoding};
    }
}

static tn_status add_table(lowering *l, uint32_t layer) {
    const tn_weight *weight = l->lowered->step.layer[layer].weight;
    tn_table_digits *table = &l->lowered->table[l->lowered->tables++];
    uint64_t tokens = l->model->layer[layer].tokens;
    bool cores = l->lowered->step.layer[layer].program != NULL;
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
    size_t start, bytes;
} stretch;
typedef struct pool {
    stretch *hole;
    size_t holes, end;
} pool;

static size_t bytes_of(const lowering *l, uint32_t array) {
    size_t bytes = l->lowered->step.array[array].elements * tn_real_bytes(l->real);
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* The smallest hole that is large enough, else the end. */
static size_t take(pool *source, size_t bytes) {
    size_t best = source->holes;
    for (size_t i = 0; i < source->holes; i++)
        if (source->hole[i].bytes >= bytes &&
            (best == source->holes || source->hole[i].bytes < source->hole[best].bytes))
            best = i;
    if (best == source->holes) {
        size_t index = source->end;
        source->end += bytes;
        return index;
    }
    size_t index = source->hole[best].start;
    source->hole[best].start += bytes;
    source->hole[best].bytes -= bytes;
    if (source->hole[best].bytes == 0)
        memmove(&source->hole[best], &source->hole[best + 1],
                (--source->holes - best) * sizeof *source->hole);
    return index;
}

static void join(pool *memory, size_t i) {
    if (i + 1 >= memory->holes || memory->hole[i].start + memory->hole[i].bytes != memory->hole[i + 1].start)
        return;
    memory->hole[i].bytes += memory->hole[i + 1].bytes;
    memmove(&memory->hole[i + 1], &memory->hole[i + 2], (--memory->holes - (i + 1)) * sizeof *memory->hole);
}

static void give_back(pool *memory, size_t index, size_t bytes) {
    size_t i = memory->holes;
    while (i > 0 && memory->hole[i - 1].start > index) i--;
    memmove(&memory->hole[i + 1], &memory->hole[i], (memory->holes++ - i) * sizeof *memory->hole);
    memory->hole[i] = (stretch){index, bytes};
    join(memory, i);
    if (i > 0) join(memory, i - 1);
}

/* Calls `visit` for each array that the operation touches, each once. */
static void each_touched(lowering *l, pool *memory, tn_instruction *target,
                         void (*visit)(lowering *, pool *, tn_instruction *, uint32_t)) {
    const tn_operation *operation = target->operation;
    uint32_t seen[TN_OPERATION_READS + TN_OPERATION_WRITES], count = 0;
    for (uint32_t i = 0; i < operation->read_count + operation->write_count; i++) {
        uint32_t array =
            i < operation->read_count ? operation->reads[i] : operation->writes[i - operation->read_count];
        bool known = false;
        for (uint32_t k = 0; k < count; k++) known |= seen[k] == array;
        if (known) continue;
        seen[count++] = array;
        visit(l, memory, target, array);
    }
}

static void count_touch(lowering *l, pool *memory, tn_instruction *target, uint32_t array) {
    (void)memory;
    (void)target;
    l->touches[array]++;
}

static void come_alive(lowering *l, pool *memory, tn_instruction *target, uint32_t array) {
    if (l->lowered->resident[array] || l->live[array]) return;
    l->live[array] = true;
    l->lowered->place[array] = take(memory, bytes_of(l, array));
    target->made_elements += l->lowered->step.array[array].elements;
}

static void pass_away(lowering *l, pool *memory, tn_instruction *target, uint32_t array) {
    if (--l->touches[array] > 0 || l->lowered->resident[array]) return;
    l->live[array] = false;
    if (!l->stays[array]) give_back(memory, l->lowered->place[array], bytes_of(l, array));
    target->dead_elements += l->lowered->step.array[array].elements;
}

/* A gradient that is added to is cleared by the first operation that writes it. */
static void clear_once(tn_lowered_step *lowered) {
    for (uint32_t i = 0; i < lowered->step.operations; i++) {
        tn_instruction *instruction = &lowered->instruction[i];
        if (instruction->clear_count && instruction->made_elements == 0) instruction->clear_count = 0;
    }
}

static tn_status place_arrays(lowering *l) {
    tn_lowered_step *lowered = l->lowered;
    const tn_step *step = &lowered->step;
    pool memory = {0};
    TN_TRY(TN_NEW(l->arena, step->arrays, &lowered->place, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &lowered->resident, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->touches, l->error));
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->live, l->error));
    TN_TRY(TN_NEW(l->arena, (size_t)step->arrays + 1, &memory.hole, l->error));
    size_t kept = 0;
    for (uint32_t i = 0; i < step->arrays; i++) {
        lowered->resident[i] = tn_array_is_resident(&step->array[i]);
        if (!lowered->resident[i]) continue;
        lowered->place[i] = kept++;
        lowered->resident_elements += step->array[i].elements;
    }
    for (uint32_t i = 0; i < step->operations; i++)
        each_touched(l, &memory, &lowered->instruction[i], count_touch);
    for (uint32_t i = 0; i < step->operations; i++) {
        each_touched(l, &memory, &lowered->instruction[i], come_alive);
        each_touched(l, &memory, &lowered->instruction[i], pass_away);
    }
    lowered->pool_bytes = memory.end;
    clear_once(lowered);
    return TN_OK;
}

static tn_status plan_rounding(lowering *l) {
    tn_lowered_step *lowered = l->lowered;
    TN_TRY(tn_rounding_plan(&lowered->step, l->arena, &lowered->rounding, l->error));
    for (uint32_t i = 0; lowered->rounding && i < lowered->step.operations; i++) {
        if (!lowered->instruction[i].contraction) continue;
        size_t elements = tn_contraction_operand_elements(lowered->instruction[i].contraction);
        if (elements > lowered->rounded_elements) lowered->rounded_elements = elements;
    }
    if (tn_number_format_same(&lowered->step.formats->accumulate, &tn_fp32)) return TN_OK;
    lowered->kept = &lowered->step.formats->accumulate;
    for (uint32_t i = 0; i < lowered->step.arrays; i++)
        if (lowered->step.array[i].elements > lowered->rounded_elements)
            lowered->rounded_elements = lowered->step.array[i].elements;
    return TN_OK;
}

static tn_status find_masks(lowering *l) {
    tn_lowered_step *lowered = l->lowered;
    const tn_step *step = &lowered->step;
    TN_TRY(TN_NEW(l->arena, step->arrays, &lowered->mask_of, l->error));
    for (uint32_t i = 0; i < step->arrays; i++) {
        lowered->mask_of[i] = UINT32_MAX;
        if (step->array[i].live && step->array[i].elements > lowered->selected_elements)
            lowered->selected_elements = step->array[i].elements;
    }
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        if (o->kind == TN_OP_SELECT || o->kind == TN_OP_TRACK) lowered->mask_of[o->writes[0]] = o->writes[1];
    }
    return TN_OK;
}

static tn_status lower(lowering *l) {
    tn_lowered_step *lowered = l->lowered;
    const tn_step *step = &lowered->step;
    TN_TRY(TN_NEW(l->arena, step->operations, &lowered->instruction, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &lowered->head, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &lowered->table, l->error));
    TN_TRY(TN_NEW(l->arena, step->layers, &l->order, l->error));
    for (uint32_t i = 0; i < step->layers; i++) {
        if (l->model->layer[i].kind->family == TN_LAYER_INPUT)
            return tn_fail_at(
                l->error, TN_INPUT, l->model->layer[i].position,
                "layer %s takes features from outside; training reads words, through an embedding",
                l->model->layer[i].name);
        if (l->model->layer[i].kind->family == TN_LAYER_EMBEDDING) TN_TRY(add_table(l, i));
    }
    while (lowered->forward_end < step->operations &&
           step->operation[lowered->forward_end].phase == TN_FORWARD)
        lowered->forward_end++;
    while (lowered->update_begin < step->operations &&
           step->operation[lowered->update_begin].phase != TN_UPDATE)
        lowered->update_begin++;
    lowered->updates_last = true;
    for (uint32_t i = lowered->update_begin; i < step->operations; i++)
        lowered->updates_last &= step->operation[i].phase == TN_UPDATE;
    TN_TRY(TN_NEW(l->arena, step->arrays, &l->stays, l->error));
    find_heads(l);
    for (uint32_t i = 0; i < step->operations; i++) TN_TRY(lower_operation(l, i));
    TN_TRY(plan_rounding(l));
    TN_TRY(find_masks(l));
    return place_arrays(l);
}

tn_status tn_lower_step(const tn_model *model, uint32_t sort, tn_program_cache *cache, tn_real real,
                        tn_arena *arena, tn_lowered_step *lowered, tn_error *error) {
    lowering l = {.model = model, .real = real, .arena = arena, .lowered = lowered, .error = error};
    *lowered = (tn_lowered_step){.batch = model->keys.batch, .sequence = model->keys.sequence};
    TN_TRY(tn_step_build_sort(model, cache, sort, arena, &lowered->step, error));
    return lower(&l);
}
