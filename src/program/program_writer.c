#include "program/program_writer.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

/* Bits of a mark: who has the index in the step at hand. */
enum { ON_A = 1, ON_B = 2 };

static tn_status too_large(const tn_writer *writer, uint32_t step, const char *what) {
    return tn_fail(writer->error, TN_OVERFLOW,
                   "step %" PRIu32 " of the program takes the %s past 2^64; use smaller sizes", step + 1,
                   what);
}

static uint16_t *carried_by(const tn_writer *writer, uint32_t tensor) {
    return writer->carried + (size_t)tensor * writer->program->indices;
}

static tn_status copy_indices(tn_writer *writer, tn_indices source, tn_indices *target) {
    target->count = source.count;
    TN_TRY(TN_NEW(writer->arena, source.count, &target->index, writer->error));
    if (source.count) memcpy(target->index, source.index, source.count * sizeof *target->index);
    return TN_OK;
}

static tn_status add_input(tn_writer *writer, tn_role role, uint32_t core, tn_indices indices) {
    uint32_t t = writer->program->tensors++;
    tn_program_tensor *tensor = &writer->program->tensor[t];
    *tensor = (tn_program_tensor){.role = role, .core = core, .made_by = TN_NO_STEP, .last_use = TN_NO_STEP};
    TN_TRY(copy_indices(writer, indices, &tensor->indices));
    TN_TRY(tn_network_elements(writer->network, indices, &tensor->elements, writer->error));
    for (uint32_t i = 0; i < indices.count; i++) carried_by(writer, t)[indices.index[i]] = 1;
    return TN_OK;
}

static void count_carriers(tn_writer *writer) {
    const tn_network *network = writer->network;
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++)
            writer->carriers[network->tensor[t].index[i]]++;
    for (uint32_t i = 0; i < network->output.count; i++) writer->carriers[network->output.index[i]]++;
}

static tn_status check_carriers(const tn_writer *writer) {
    char text[32];
    for (uint32_t i = 0; i < writer->network->indices; i++)
        if (writer->carriers[i] == 1)
            return tn_fail(
                writer->error, TN_INPUT,
                "index %.100s is on one tensor and not in the output; sum that tensor over it first",
                tn_network_index_name(writer->network, i, text));
    return TN_OK;
}

static tn_status allocate(tn_writer *writer, uint32_t inputs, tn_arena *scratch) {
    tn_program *program = writer->program;
    const tn_network *network = writer->network;
    uint32_t most = inputs + writer->most_steps;
    TN_TRY(TN_NEW(writer->arena, most, &program->tensor, writer->error));
    TN_TRY(TN_NEW(writer->arena, writer->most_steps, &program->step, writer->error));
    TN_TRY(TN_NEW(writer->arena, network->indices, &program->index_size, writer->error));
    TN_TRY(TN_NEW(scratch, network->indices, &writer->carriers, writer->error));
    TN_TRY(TN_NEW(scratch, (size_t)most * network->indices, &writer->carried, writer->error));
    return TN_NEW(scratch, network->indices, &writer->mark, writer->error);
}

tn_status tn_writer_begin(tn_writer *writer, const tn_network *network, bool training, uint32_t most_steps,
                          tn_arena *arena, tn_arena *scratch, tn_program *program, tn_error *error) {
    *writer = (tn_writer){
        .network = network, .program = program, .arena = arena, .error = error, .most_steps = most_steps};
    *program = (tn_program){.indices = network->indices, .training = training, .micro_batches = 1};
    TN_TRY(tn_network_check(network, error));
    uint32_t inputs = network->tensors + (training ? 1 : 0);
    TN_TRY(allocate(writer, inputs, scratch));
    if (network->indices)
        memcpy(program->index_size, network->index_size, network->indices * sizeof *program->index_size);
    count_carriers(writer);
    TN_TRY(check_carriers(writer));
    TN_TRY(add_input(writer, TN_ROLE_X, 0, network->tensor[0]));
    for (uint32_t t = 1; t < network->tensors; t++)
        TN_TRY(add_input(writer, TN_ROLE_CORE, t - 1, network->tensor[t]));
    if (training) TN_TRY(add_input(writer, TN_ROLE_DY, 0, network->output));
    program->inputs = program->tensors;
    return TN_OK;
}

/* The indices that the layer gives an output of this role; NULL for what is between. */
static const tn_indices *given_order(const tn_writer *writer, const tn_made *made) {
    switch (made->role) {
    case TN_ROLE_Y:
        return &writer->network->output;
    case TN_ROLE_DX:
        return &writer->network->tensor[0];
    case TN_ROLE_CORE_GRADIENT:
        return &writer->network->tensor[made->core + 1];
    default:
        return NULL;
    }
}

static bool remains(const tn_writer *writer, uint32_t tensor, uint32_t index) {
    uint16_t carried = carried_by(writer, tensor)[index];
    return carried > 0 && carried < writer->carriers[index];
}

/* Appends the operand's indices whose mark is `mark` and that remain on `out`. */
static void append_remaining(const tn_writer *writer, tn_indices operand, uint8_t mark, uint32_t out,
                             tn_indices *indices) {
    for (uint32_t i = 0; i < operand.count; i++) {
        uint32_t index = operand.index[i];
        if (writer->mark[index] == mark && remains(writer, out, index))
            indices->index[indices->count++] = index;
    }
}

/* Every index of the step in one of the shape's four factors. */
static tn_status shape_of(const tn_writer *writer, tn_indices a, tn_indices b, uint32_t out,
                          tn_product_shape *shape) {
    bool fits = true;
    *shape = (tn_product_shape){1, 1, 1, 1};
    for (uint32_t i = 0; i < a.count; i++) {
        uint32_t index = a.index[i];
        bool shared = writer->mark[index] == (ON_A | ON_B);
        uint64_t *factor = !shared                       ? &shape->rows
                           : remains(writer, out, index) ? &shape->batch
                                                         : &shape->reduction;
        fits = fits && tn_mul(*factor, writer->network->index_size[index], factor);
    }
    for (uint32_t i = 0; i < b.count; i++)
        if (writer->mark[b.index[i]] == ON_B)
            fits = fits && tn_mul(shape->columns, writer->network->index_size[b.index[i]], &shape->columns);
    return fits ? TN_OK : too_large(writer, writer->program->steps, "MACs");
}

/* Indices of what the step makes, and its shape; marks are set for a and b. */
static tn_status describe(tn_writer *writer, tn_indices a, tn_indices b, const tn_made *made, uint32_t out) {
    tn_program_tensor *tensor = &writer->program->tensor[out];
    tn_program_step *step = &writer->program->step[writer->program->steps];
    TN_TRY(shape_of(writer, a, b, out, &step->shape));
    const uint64_t factor[] = {step->shape.batch, step->shape.rows, step->shape.reduction,
                               step->shape.columns};
    if (!tn_product(factor, 4, &step->macs)) return too_large(writer, writer->program->steps, "MACs");
    const tn_indices *given = given_order(writer, made);
    if (given) {
        TN_TRY(copy_indices(writer, *given, &tensor->indices));
    } else {
        TN_TRY(TN_NEW(writer->arena, a.count + b.count, &tensor->indices.index, writer->error));
        append_remaining(writer, a, ON_A | ON_B, out, &tensor->indices);
        append_remaining(writer, a, ON_A, out, &tensor->indices);
        append_remaining(writer, b, ON_B, out, &tensor->indices);
    }
    return tn_network_elements(writer->network, tensor->indices, &tensor->elements, writer->error);
}

tn_status tn_writer_add(tn_writer *writer, uint32_t a, uint32_t b, tn_made made, uint32_t *out) {
    tn_program *program = writer->program;
    uint32_t made_tensor = program->tensors;
    tn_indices on_a = program->tensor[a].indices, on_b = program->tensor[b].indices;
    program->tensor[made_tensor] = (tn_program_tensor){
        .role = made.role, .core = made.core, .made_by = program->steps, .last_use = TN_NO_STEP};
    program->step[program->steps] = (tn_program_step){.a = a,
                                                      .b = b,
                                                      .out = made_tensor,
                                                      .phase = made.phase,
                                                      .recomputed = made.recomputed,
                                                      .once = made.once};
    for (uint32_t i = 0; i < program->indices; i++)
        carried_by(writer, made_tensor)[i] = (uint16_t)(carried_by(writer, a)[i] + carried_by(writer, b)[i]);
    for (uint32_t i = 0; i < on_a.count; i++) writer->mark[on_a.index[i]] |= ON_A;
    for (uint32_t i = 0; i < on_b.count; i++) writer->mark[on_b.index[i]] |= ON_B;
    tn_status status = describe(writer, on_a, on_b, &made, made_tensor);
    for (uint32_t i = 0; i < on_a.count; i++) writer->mark[on_a.index[i]] = 0;
    for (uint32_t i = 0; i < on_b.count; i++) writer->mark[on_b.index[i]] = 0;
    TN_TRY(status);
    program->tensor[a].last_use = program->tensor[b].last_use = program->steps;
    program->steps++;
    program->tensors++;
    if (made.phase == TN_FORWARD) program->forward_steps = program->steps;
    *out = made_tensor;
    return TN_OK;
}

static uint32_t epilogue_first(const tn_program *program) {
    return program->steps - program->epilogue_steps;
}

bool tn_program_is_sum(const tn_program *program, uint32_t tensor) {
    const tn_program_tensor *one = &program->tensor[tensor];
    bool of_body = one->made_by != TN_NO_STEP && one->made_by >= program->prelude_steps &&
                   one->made_by < epilogue_first(program);
    bool read_after = one->last_use != TN_NO_STEP && one->last_use >= epilogue_first(program);
    return program->training && program->micro_batches > 1 && of_body &&
           (one->role == TN_ROLE_CORE_GRADIENT || read_after);
}

static bool of_prelude(const tn_program *program, const tn_program_tensor *tensor) {
    return tensor->made_by != TN_NO_STEP && tensor->made_by < program->prelude_steps;
}

/* Elements that go when `step` is done, of one operand. */
static uint64_t freed_after(const tn_program *program, uint32_t tensor, uint32_t step) {
    const tn_program_tensor *one = &program->tensor[tensor];
    bool backward = step >= program->forward_steps, in_body = !program->step[step].once;
    if (one->last_use != step || (in_body && of_prelude(program, one))) return 0;
    bool goes = one->role == TN_ROLE_INTERMEDIATE || (one->role == TN_ROLE_X && backward);
    return goes ? one->elements : 0;
}

/* What comes before or goes after a part of the program, in elements. */
typedef struct change {
    uint64_t comes, goes;
} change;

static tn_status apply(const tn_writer *writer, uint32_t step, change delta, uint64_t *live) {
    *live -= delta.goes;
    return tn_add(*live, delta.comes, live) ? TN_OK : too_large(writer, step, "live elements");
}

/* Sums, as far as they fit 64 bits; else UINT64_MAX, which no live count can take. */
static void include(uint64_t *sum, uint64_t elements) {
    if (!tn_add(*sum, elements, sum)) *sum = UINT64_MAX;
}

/* Before the body: X, and the sums. */
static change body_begins(const tn_program *program) {
    change delta = {0};
    for (uint32_t t = 0; t < program->tensors; t++)
        if (program->tensor[t].role == TN_ROLE_X || tn_program_is_sum(program, t))
            include(&delta.comes, program->tensor[t].elements);
    return delta;
}

/* Before the backward pass: Y and X (if it is done with) go, dY comes. */
static change backward_begins(const tn_program *program) {
    change delta = {0};
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *one = &program->tensor[t];
        if (one->role == TN_ROLE_Y || (one->role == TN_ROLE_X && !one->saved)) delta.goes += one->elements;
        if (one->role == TN_ROLE_DY) delta.comes = one->elements;
    }
    return delta;
}

/* Before the epilogue: dY and dX go, and what of the prelude only the body read. */
static change body_ends(const tn_program *program) {
    change delta = {0};
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *one = &program->tensor[t];
        bool done = of_prelude(program, one) && one->last_use >= program->prelude_steps &&
                    one->last_use < epilogue_first(program);
        if (done || one->role == TN_ROLE_DY || one->role == TN_ROLE_DX) delta.goes += one->elements;
    }
    return delta;
}

static change before_step(const tn_program *program, uint32_t step) {
    change delta = {0}, more;
    if (step == program->prelude_steps) delta = body_begins(program);
    if (program->training && step == program->forward_steps) {
        more = backward_begins(program);
        delta.goes += more.goes;
        include(&delta.comes, more.comes);
    }
    if (program->epilogue_steps && step == epilogue_first(program)) delta = body_ends(program);
    return delta;
}

static tn_status add_resident(const tn_writer *writer, uint64_t *live) {
    const tn_program *program = writer->program;
    for (uint32_t t = 0; t < program->inputs; t++)
        if (program->tensor[t].role == TN_ROLE_CORE && !tn_add(*live, program->tensor[t].elements, live))
            return tn_fail(writer->error, TN_OVERFLOW,
                           "the program's inputs have more than 2^64 elements together; use smaller sizes");
    return TN_OK;
}

static tn_status find_peaks(const tn_writer *writer) {
    tn_program *program = writer->program;
    uint64_t live = 0;
    TN_TRY(add_resident(writer, &live));
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        change made = {.comes = program->tensor[step->out].elements};
        if (tn_program_is_sum(program, step->out)) made.comes = 0;
        TN_TRY(apply(writer, s, before_step(program, s), &live));
        TN_TRY(apply(writer, s, made, &live));
        uint64_t *peak = &program->peak_elements[step->phase];
        if (live > *peak) *peak = live;
        live -= freed_after(program, step->a, s) + freed_after(program, step->b, s);
    }
    return TN_OK;
}

static bool is_saved(const tn_program *program, const tn_program_tensor *tensor) {
    if (tensor->last_use == TN_NO_STEP) return false;
    if (of_prelude(program, tensor)) return tensor->last_use >= program->prelude_steps;
    bool forward = tensor->role == TN_ROLE_X ||
                   (tensor->role == TN_ROLE_INTERMEDIATE && tensor->made_by < program->forward_steps);
    return forward && tensor->last_use >= program->forward_steps;
}

static bool add_step_macs(tn_program *program, const tn_program_step *step) {
    uint64_t times = step->once ? 1 : program->micro_batches;
    return tn_mul_add(step->macs, times, &program->macs[step->phase]) &&
           (!step->recomputed || tn_mul_add(step->macs, times, &program->recomputed_macs));
}

static tn_status sum_up(const tn_writer *writer) {
    tn_program *program = writer->program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        tn_program_tensor *tensor = &program->tensor[t];
        tensor->saved = is_saved(program, tensor);
        if (!tensor->saved) continue;
        uint64_t *sum = tensor->role == TN_ROLE_X ? &program->saved_input_elements : &program->saved_elements;
        include(sum, tensor->elements); /* were they past 64 bits, the live count would be too */
    }
    for (uint32_t s = 0; s < program->steps; s++)
        if (!add_step_macs(program, &program->step[s])) return too_large(writer, s, "MACs");
    return TN_OK;
}

static void count_once(tn_program *program) {
    while (program->prelude_steps < program->steps && program->step[program->prelude_steps].once)
        program->prelude_steps++;
    while (program->epilogue_steps < program->steps - program->prelude_steps &&
           program->step[program->steps - 1 - program->epilogue_steps].once)
        program->epilogue_steps++;
}

tn_status tn_writer_end(tn_writer *writer) {
    count_once(writer->program);
    TN_TRY(sum_up(writer));
    return find_peaks(writer);
}
