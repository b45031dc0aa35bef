/* A program: a straight line of products over tensors that computes a layer's output, input gradient and core
 * gradients. It is what the training step counts, the hardware prices and the CPU executes, so all three
 * speak of the same work.
 *
 * Tensors: the inputs come first (X or dY, cores), every step makes one more. A step contracts two tensors;
 * its indices follow from the network rules (an index stays while a later use or an output needs it).
 * Liveness: cores are resident throughout; X from the start to its last use (and counted through the whole
 * forward phase), dY through the backward phases; a made tensor from its step to its last use; outputs (Y,
 * dX, core gradients) from their step to the end of the program, Y to the end of the forward phase.
 */
#ifndef TN_FLOW_PROGRAM_H
#define TN_FLOW_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/named.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stdint.h>

/* Phases of a training step. */
typedef enum tn_phase { TN_FORWARD, TN_INPUT_GRADIENT, TN_WEIGHT_GRADIENT, TN_UPDATE, TN_PHASES } tn_phase;
extern const char *const tn_phase_names[]; /* "forward", "input_gradient", "weight_gradient", "update" */

typedef enum tn_role {
    TN_ROLE_CORE,
    TN_ROLE_X,
    TN_ROLE_DY,
    TN_ROLE_INTERMEDIATE,
    TN_ROLE_Y,
    TN_ROLE_DX,
    TN_ROLE_CORE_GRADIENT
} tn_role;

typedef struct tn_program_tensor {
    tn_role role;
    uint32_t core; /* of cores and core gradients */
    tn_indices indices;
    uint64_t elements;
    uint32_t made_by;  /* step that makes it; UINT32_MAX for inputs */
    uint32_t last_use; /* last step that reads it; UINT32_MAX if none */
    bool saved;        /* made (or given) in the forward phase and read in a later one */
} tn_program_tensor;

typedef struct tn_program_step {
    uint32_t a, b, out;
    tn_phase phase;
    bool recomputed; /* makes again what the forward phase had made and did not keep */
    uint64_t macs;
    tn_product_shape shape;
} tn_program_step;

typedef struct tn_program {
    uint32_t tensors, steps, indices;
    uint64_t *index_size;
    tn_program_tensor *tensor;
    tn_program_step *step;
    uint64_t macs[TN_PHASES];          /* by phase */
    uint64_t peak_elements[TN_PHASES]; /* by phase: live at the worst step, resident tensors included */
    uint64_t saved_elements;           /* intermediates kept from the forward phase (X apart) */
    uint64_t saved_input_elements;     /* X if a later phase reads it */
    uint64_t recomputed_macs;
    bool published_backward;
} tn_program;

/* Forward of `tree` (over tn_weight_forward's network) and, with `training`, its reverse-mode backward: input
 * gradient (unless !input_gradient: a first layer needs none) and every core gradient; all intermediates
 * kept. Source: reverse mode on one unrooted tree costs exactly 3 x forward (facts.md section 2). */
typedef struct tn_program_options {
    bool training, no_input_gradient;
} tn_program_options;
tn_status tn_program_from_tree(const tn_weight *weight, uint64_t tokens, const tn_tree *tree,
                               const tn_program_options *options, tn_arena *arena, tn_program *program,
                               tn_error *error);

/* The program of a named flow; `bidirectional-published` with the published order of the backward pass (TT, d
 * = 3; TN_INPUT otherwise), `dense` of the dense format: Y, dX = dY W, dW = dY^T X. */
tn_status tn_program_named(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                           const tn_program_options *options, tn_arena *arena, tn_program *program,
                           tn_error *error);

#endif
