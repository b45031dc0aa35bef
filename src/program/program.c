#include "program/program.h"

#include "base/checked.h"
#include "program/program_writer.h"

#include <inttypes.h>
#include <stdio.h>

const char *const tn_phase_names[] = {"forward", "input_gradient", "weight_gradient", "update", NULL};

tn_status tn_program_total_macs(const tn_program *program, uint64_t *macs, tn_error *error) {
    uint64_t sum = 0;
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (!tn_add(sum, program->macs[phase], &sum))
            return tn_fail(error, TN_OVERFLOW,
                           "the phases have more than 2^64 MACs together; use smaller sizes");
    *macs = sum;
    return TN_OK;
}

uint64_t tn_program_peak(const tn_program *program) {
    uint64_t peak = 0;
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (program->peak_elements[phase] > peak) peak = program->peak_elements[phase];
    return peak;
}

const char *tn_program_tensor_name(const tn_program *program, uint32_t tensor, char *text) {
    const tn_program_tensor *one = &program->tensor[tensor];
    switch (one->role) {
    case TN_ROLE_X:
        return "X";
    case TN_ROLE_DY:
        return "dY";
    case TN_ROLE_Y:
        return "Y";
    case TN_ROLE_DX:
        return "dX";
    case TN_ROLE_INTERMEDIATE:
        snprintf(text, 32, "T%" PRIu32, tensor);
        return text;
    case TN_ROLE_CORE:
    case TN_ROLE_CORE_GRADIENT:
        snprintf(text, 32, "%sG%" PRIu32, one->role == TN_ROLE_CORE ? "" : "d", one->core + 1);
        return text;
    }
    return "";
}

/* Reverse mode over a tree's merges: the value and the gradient of every tensor of the tree (inputs, then
 * merges), as tensors of the program. */
typedef struct reverse {
    tn_writer *writer;
    const tn_tree *tree;
    bool no_input_gradient;
    uint32_t *value, *gradient; /* [2 * tree->tensors - 1] */
    bool *holds_x;              /* X is below */
} reverse;

static tn_status write_forward(reverse *r) {
    uint32_t n = r->tree->tensors;
    r->holds_x[0] = true;
    for (uint32_t t = 0; t < n; t++) r->value[t] = t;
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_merge merge = r->tree->merge[i];
        tn_made made = {.phase = TN_FORWARD, .role = i + 2 == n ? TN_ROLE_Y : TN_ROLE_INTERMEDIATE};
        TN_TRY(tn_writer_add(r->writer, r->value[merge.a], r->value[merge.b], made, &r->value[n + i]));
        r->holds_x[n + i] = r->holds_x[merge.a] || r->holds_x[merge.b];
    }
    return TN_OK;
}

/* The gradient of `child` from that of its parent and the value of its sibling. */
static tn_status write_gradient(reverse *r, uint32_t parent, uint32_t child, uint32_t sibling) {
    uint32_t n = r->tree->tensors;
    tn_made made = {.phase = TN_WEIGHT_GRADIENT, .role = TN_ROLE_INTERMEDIATE};
    if (r->holds_x[child] && !r->no_input_gradient) made.phase = TN_INPUT_GRADIENT;
    if (child == 0) {
        if (r->no_input_gradient) return TN_OK;
        made.role = TN_ROLE_DX;
    } else if (child < n) {
        made.role = TN_ROLE_CORE_GRADIENT;
        made.core = child - 1;
    }
    return tn_writer_add(r->writer, r->gradient[parent], r->value[sibling], made, &r->gradient[child]);
}

/* Elements that are free once the value has had its last use, in its sibling's gradient. */
static uint64_t freed(const reverse *r, uint32_t tensor) {
    bool resident = tensor > 0 && tensor < r->tree->tensors;
    return resident ? 0 : r->writer->program->tensor[r->value[tensor]].elements;
}

/* Whether the gradient of b before that of a needs less memory. A gradient is as large as its tensor, and
 * making it is the last use of the sibling's value. (Both values were live together: where their sum passes
 * 2^64 the program fails for it.) */
static bool second_first(const reverse *r, tn_merge merge) {
    const tn_program_tensor *tensor = r->writer->program->tensor;
    uint64_t a = tensor[r->value[merge.a]].elements, b = tensor[r->value[merge.b]].elements;
    uint64_t both = a + b;
    return tn_greatest(b, both - freed(r, merge.a)) < tn_greatest(a, both - freed(r, merge.b));
}

static tn_status write_backward(reverse *r) {
    uint32_t n = r->tree->tensors;
    r->gradient[2 * n - 2] = n; /* dY */
    for (uint32_t i = n - 1; i-- > 0;) {
        tn_merge merge = r->tree->merge[i];
        if (second_first(r, merge)) merge = (tn_merge){merge.b, merge.a};
        TN_TRY(write_gradient(r, n + i, merge.a, merge.b));
        TN_TRY(write_gradient(r, n + i, merge.b, merge.a));
    }
    return TN_OK;
}

static tn_status begin_reverse(reverse *r, tn_arena *scratch, tn_error *error) {
    size_t count = 2 * (size_t)r->tree->tensors;
    TN_TRY(TN_NEW(scratch, count, &r->value, error));
    TN_TRY(TN_NEW(scratch, count, &r->gradient, error));
    return TN_NEW(scratch, count, &r->holds_x, error);
}

static tn_status write_reverse(const tn_network *network, const tn_tree *tree,
                               const tn_program_options *options, tn_arena *arena, tn_arena *scratch,
                               tn_program *program, tn_error *error) {
    tn_writer writer;
    reverse r = {.writer = &writer, .tree = tree, .no_input_gradient = options->no_input_gradient};
    TN_TRY(tn_tree_check(network, tree, error));
    if (tree->tensors < 2)
        return tn_fail(error, TN_INPUT, "a network of one tensor has no product; it needs two at least");
    TN_TRY(begin_reverse(&r, scratch, error));
    TN_TRY(tn_writer_begin(&writer, network, options->training, 3 * (tree->tensors - 1), arena, scratch,
                           program, error));
    TN_TRY(write_forward(&r));
    if (options->training) TN_TRY(write_backward(&r));
    return tn_writer_end(&writer);
}

tn_status tn_program_of_network(const tn_network *network, const tn_tree *tree,
                                const tn_program_options *options, tn_arena *arena, tn_program *program,
                                tn_error *error) {
    static const tn_program_options forward_alone = {0};
    tn_arena scratch = {0};
    tn_status status =
        write_reverse(network, tree, options ? options : &forward_alone, arena, &scratch, program, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_program_from_tree(const tn_weight *weight, uint64_t tokens, const tn_tree *tree,
                               const tn_program_options *options, tn_arena *arena, tn_program *program,
                               tn_error *error) {
    tn_arena scratch = {0};
    tn_network network;
    tn_status status = tn_weight_forward(weight, tokens, &scratch, &network, error);
    if (status == TN_OK) status = tn_program_of_network(&network, tree, options, arena, program, error);
    tn_arena_free(&scratch);
    return status;
}

static tn_status repeat_steps(const tn_program *program, const tn_network *network, tn_arena *arena,
                              tn_arena *scratch, tn_program *resized, tn_error *error) {
    tn_writer writer;
    uint32_t out;
    TN_TRY(
        tn_writer_begin(&writer, network, program->training, program->steps, arena, scratch, resized, error));
    resized->micro_batches = program->micro_batches;
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        const tn_made made = {.phase = step->phase,
                              .role = program->tensor[step->out].role,
                              .core = program->tensor[step->out].core,
                              .recomputed = step->recomputed,
                              .once = step->once};
        TN_TRY(tn_writer_add(&writer, step->a, step->b, made, &out));
    }
    return tn_writer_end(&writer);
}

tn_status tn_program_of_tokens(const tn_program *program, const tn_weight *weight, uint64_t tokens,
                               tn_arena *arena, tn_program *resized, tn_error *error) {
    tn_arena scratch = {0};
    tn_network network;
    tn_status status = tn_weight_forward(weight, tokens, &scratch, &network, error);
    if (status == TN_OK) status = repeat_steps(program, &network, arena, &scratch, resized, error);
    tn_arena_free(&scratch);
    return status;
}
