/* Programs of the flows that have names. The backward pass of `bidirectional-published` follows its authors'
 * first code (docs/training-flows.md): L = G1 G2 G3 is M x r, R = G4 G5 G6 is r x N, Z = X R^T was kept.
 *     V = dY L, dX = V R, A = dY^T Z (gradient of L), B = V^T X (gradient of R), then
 *     dG1 = (A G3) G2, dG2 = (G1 A) G3, dG3 = (G1 G2) A, with G1 G2 recomputed,
 * and B with G6, G5, G4 in the place of A with G1, G2, G3. */
#include "program/program_named.h"

#include "program/program.h"
#include "program/program_writer.h"
#include "program/training.h"

#include <inttypes.h>

/* Trees of the named flows, for networks that are too large to try every tree. */
static tn_status list_hints(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_tree hint[TN_FLOWS],
                            size_t *hints, tn_error *error) {
    *hints = 0;
    for (int flow = TN_FLOW_RIGHT_TO_LEFT; flow < TN_FLOWS; flow++)
        if (tn_flow_exists(weight, (tn_flow_name)flow))
            TN_TRY(tn_flow_tree(weight, tokens, (tn_flow_name)flow, arena, &hint[(*hints)++], error));
    return TN_OK;
}

static bool saves_less(const tn_training_cost *a, const tn_training_cost *b) {
    return a->saved_elements < b->saved_elements;
}

static bool peaks_lower(const tn_training_cost *a, const tn_training_cost *b) {
    return a->peak_elements < b->peak_elements;
}

/* The least of the front by one count; of equal ones the first, which has the fewest MACs. */
static const tn_training_flow *least(const tn_training_front *front,
                                     bool (*less)(const tn_training_cost *, const tn_training_cost *)) {
    const tn_training_flow *best = &front->item[0];
    for (size_t i = 1; i < front->count; i++)
        if (less(&front->item[i].cost, &best->cost)) best = &front->item[i];
    return best;
}

/* The point of that name, for which tn_flow_is_training holds. TN_INPUT: the front has fewer points. */
static tn_status point_named(const tn_training_front *front, tn_flow_name name, const tn_training_flow **flow,
                             tn_error *error) {
    if (name == TN_FLOW_TRAINING_LEAST_SAVED) {
        *flow = least(front, saves_less);
        return TN_OK;
    }
    if (name == TN_FLOW_TRAINING_LEAST_PEAK) {
        *flow = least(front, peaks_lower);
        return TN_OK;
    }
    size_t point = name == TN_FLOW_TRAINING_OPTIMAL ? 1 : (size_t)(name - TN_FLOW_TRAINING_FRONT_2) + 2;
    if (point > front->count)
        return tn_fail(error, TN_INPUT,
                       "the front of training flows has %zu points, %s is none of them; choose "
                       "training-optimal or a lower number",
                       front->count, tn_flow_names[name]);
    *flow = &front->item[point - 1];
    return TN_OK;
}

static tn_status search(const tn_weight *weight, uint64_t tokens, bool no_input_gradient, tn_arena *arena,
                        tn_arena *scratch, tn_training_front *front, tn_error *error) {
    tn_network network;
    tn_tree hint[TN_FLOWS];
    size_t hints;
    TN_TRY(tn_weight_forward(weight, tokens, scratch, &network, error));
    TN_TRY(list_hints(weight, tokens, scratch, hint, &hints, error));
    const tn_training_options options = {
        .no_input_gradient = no_input_gradient, .hint = hint, .hints = hints};
    return tn_training_search(&network, &options, arena, front, error);
}

tn_status tn_training_front_of(const tn_weight *weight, uint64_t tokens, bool no_input_gradient,
                               tn_arena *arena, tn_training_front *front, tn_error *error) {
    tn_arena scratch = {0};
    tn_status status = search(weight, tokens, no_input_gradient, arena, &scratch, front, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_training_named(const tn_weight *weight, uint64_t tokens, const tn_training_front *front,
                            tn_flow_name name, bool training, tn_arena *arena, tn_program *program,
                            tn_error *error) {
    const tn_training_flow *flow;
    TN_TRY(point_named(front, name, &flow, error));
    if (!training) return tn_program_from_tree(weight, tokens, &flow->forward, NULL, arena, program, error);
    *program = flow->program;
    return TN_OK;
}

/* Factors per side for which the order is published, and the program's tensors then. */
enum { PUBLISHED_D = 3, X = 0, FIRST_CORE = 1, DY = 2 * PUBLISHED_D + 1, FORWARD_STEPS = 2 * PUBLISHED_D };
/* Forward, four products with L and R, six per half. */
enum { PUBLISHED_STEPS = FORWARD_STEPS + 4 + 2 * 6 };

typedef struct published {
    tn_writer *writer;
    uint32_t left, right, z; /* L, R, Z */
    tn_status status;        /* of the first step that failed; none is written after it */
} published;

static uint32_t add(published *p, uint32_t a, uint32_t b, tn_made made) {
    uint32_t out = 0;
    if (p->status == TN_OK) p->status = tn_writer_add(p->writer, a, b, made, &out);
    return out;
}

/* The forward phase from its tree, and which of its tensors are L, R and Z: a set of inputs is a mask. */
static void write_forward(published *p, const tn_tree *tree) {
    const uint32_t output_half = 7u << FIRST_CORE, input_half = output_half << PUBLISHED_D;
    uint32_t n = tree->tensors, mask[2 * DY], value[2 * DY];
    for (uint32_t t = 0; t < n; t++) {
        value[t] = t;
        mask[t] = 1u << t;
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_merge merge = tree->merge[i];
        tn_made made = {.phase = TN_FORWARD, .role = i + 2 == n ? TN_ROLE_Y : TN_ROLE_INTERMEDIATE};
        value[n + i] = add(p, value[merge.a], value[merge.b], made);
        mask[n + i] = mask[merge.a] | mask[merge.b];
        if (mask[n + i] == output_half) p->left = value[n + i];
        if (mask[n + i] == input_half) p->right = value[n + i];
        if (mask[n + i] == (input_half | 1u << X)) p->z = value[n + i];
    }
}

/* The gradients of the three cores of one half from that of their product; the outermost core first. */
static void write_half(published *p, uint32_t gradient, const uint32_t core[PUBLISHED_D]) {
    const tn_made between = {.phase = TN_WEIGHT_GRADIENT, .role = TN_ROLE_INTERMEDIATE};
    tn_made again = between, made = {.phase = TN_WEIGHT_GRADIENT, .role = TN_ROLE_CORE_GRADIENT};
    again.recomputed = true;
    made.core = core[0] - FIRST_CORE;
    add(p, add(p, gradient, core[2], between), core[1], made);
    made.core = core[1] - FIRST_CORE;
    add(p, add(p, core[0], gradient, between), core[2], made);
    made.core = core[2] - FIRST_CORE;
    add(p, add(p, core[0], core[1], again), gradient, made);
}

static void write_backward(published *p, bool no_input_gradient) {
    const uint32_t output_half[] = {1, 2, 3}, input_half[] = {6, 5, 4};
    const tn_made gradient = {.phase = TN_WEIGHT_GRADIENT, .role = TN_ROLE_INTERMEDIATE};
    const tn_phase input_phase = no_input_gradient ? TN_WEIGHT_GRADIENT : TN_INPUT_GRADIENT;
    uint32_t v = add(p, DY, p->left, (tn_made){.phase = input_phase, .role = TN_ROLE_INTERMEDIATE});
    if (!no_input_gradient) add(p, v, p->right, (tn_made){.phase = TN_INPUT_GRADIENT, .role = TN_ROLE_DX});
    uint32_t left = add(p, DY, p->z, gradient);
    uint32_t right = add(p, v, X, gradient);
    write_half(p, left, output_half);
    write_half(p, right, input_half);
}

static tn_status write_published(const tn_weight *weight, uint64_t tokens, const tn_tree *tree,
                                 const tn_program_options *options, tn_arena *arena, tn_arena *scratch,
                                 tn_program *program, tn_error *error) {
    tn_network network;
    tn_writer writer;
    published p = {.writer = &writer};
    TN_TRY(tn_weight_forward(weight, tokens, scratch, &network, error));
    TN_TRY(tn_writer_begin(&writer, &network, true, PUBLISHED_STEPS, arena, scratch, program, error));
    write_forward(&p, tree);
    write_backward(&p, options->no_input_gradient);
    TN_TRY(p.status);
    return tn_writer_end(&writer);
}

static tn_status write_training(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                                const tn_program_options *options, tn_arena *arena, tn_program *program,
                                tn_error *error) {
    tn_training_front front;
    bool training = options && options->training, no_input_gradient = options && options->no_input_gradient;
    TN_TRY(tn_training_front_of(weight, tokens, no_input_gradient, arena, &front, error));
    return tn_training_named(weight, tokens, &front, name, training, arena, program, error);
}

static tn_status write_named(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                             const tn_program_options *options, tn_arena *arena, tn_arena *scratch,
                             tn_program *program, tn_error *error) {
    tn_tree tree;
    if (tn_flow_is_training(name) && tn_flow_exists(weight, name))
        return write_training(weight, tokens, name, options, arena, program, error);
    TN_TRY(tn_flow_tree(weight, tokens, name, scratch, &tree, error));
    if (name == TN_FLOW_BIDIRECTIONAL_PUBLISHED && options && options->training)
        return write_published(weight, tokens, &tree, options, arena, scratch, program, error);
    return tn_program_from_tree(weight, tokens, &tree, options, arena, program, error);
}

tn_status tn_program_named(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                           const tn_program_options *options, tn_arena *arena, tn_program *program,
                           tn_error *error) {
    tn_arena scratch = {0};
    tn_status status = write_named(weight, tokens, name, options, arena, &scratch, program, error);
    tn_arena_free(&scratch);
    return status;
}
