#include "train/axis_order.h"

#include <string.h>

enum { TOKEN = 0, SWEEPS = 3 };

tn_status tn_axis_order_view(const tn_axis_order *of, uint32_t t, tn_view *view, tn_error *error) {
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
        TN_TRY(tn_axis_order_view(of, step->a, &a, error));
        TN_TRY(tn_axis_order_view(of, step->b, &b, error));
        TN_TRY(tn_axis_order_view(of, step->out, &out, error));
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

tn_status tn_axis_order_choose(tn_axis_order *of, tn_arena *arena, tn_error *error) {
    const tn_program *program = of->program;
    TN_TRY(tn_arena_alloc(arena, program->tensors, sizeof *of->order, &of->order, error));
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
