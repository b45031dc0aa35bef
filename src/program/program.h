/* A program: a straight line of products over tensors that computes a layer's output, input gradient and core
 * gradients. It is what the training step counts, the hardware prices and the CPU executes, so all three
 * speak of the same work.
 *
 * Close the forward network with dY, the gradient of its output. Y and every gradient are then the
 * contraction of all tensors but one, and every tensor of a program is the contraction of a set S of the
 * closed network's tensors: it has the indices that S shares with the rest. A step contracts the tensors of
 * two disjoint sets.
 *
 * Order of the tensors: the inputs (X, cores, dY where there is a backward pass), then what each step makes.
 * Order of the steps: the forward phase, then the input gradient's and weight gradients' steps, mixed.
 *
 * Order of the indices: outputs as the layer has them (Y and dX like dY and X, a core gradient like its
 * core); what is between as the product leaves it: batch, then rows in a's order, then columns in b's order.
 *
 * Liveness, as predicted here and as run/executor.h allocates and frees:
 *   cores               throughout
 *   X                   from the start to the end of the forward phase, or to its last use if that is later
 *   dY                  from the start of the backward pass to the end
 *   Y                   from its step to the end of the forward phase
 *   dX, core gradients  from their step to the end
 *   others              from their step to their last use
 * Both operands and the result of a step are live together. Y and X (if it is done with) go before dY comes.
 *
 * Micro-batches. Only training flows (program/training.h) split a training step into several, each of as many
 * rows as X has. Then some steps are executed once per training step: the first ones (the prelude: merges of
 * cores alone, used by every micro-batch) and the last ones (the epilogue: what follows from a gradient that
 * was summed over the micro-batches). All others, the body, are executed once per micro-batch, each with its
 * own X and dY. Liveness, where it differs:
 *   X, Y, dY, dX         as above, within each micro-batch: not in the prelude nor in the epilogue
 *   made in the prelude  from its step to its last use there or in the epilogue; if the body reads it, at
 *                        least to the end of the body
 *   sums                 (core gradients that the body makes, and what of the body the epilogue reads) from
 *                        the start of the body to the end, or to their last use in the epilogue
 */
#ifndef TN_PROGRAM_PROGRAM_H
#define TN_PROGRAM_PROGRAM_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/named.h"
#include "flow/tree.h"
#include "tensor/network.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Phases of a training step. A step of the backward pass belongs to the input gradient if dX needs it. */
typedef enum tn_phase { TN_FORWARD, TN_INPUT_GRADIENT, TN_WEIGHT_GRADIENT, TN_UPDATE, TN_PHASES } tn_phase;
/* "forward", "input_gradient", "weight_gradient", "update"; ended by NULL */
extern const char *const tn_phase_names[];

typedef enum tn_role {
    TN_ROLE_CORE,
    TN_ROLE_X,
    TN_ROLE_DY,
    TN_ROLE_INTERMEDIATE,
    TN_ROLE_Y,
    TN_ROLE_DX,
    TN_ROLE_CORE_GRADIENT
} tn_role;

/* No step: made_by of an input, last_use of what nothing reads. */
#define TN_NO_STEP UINT32_MAX

typedef struct tn_program_tensor {
    tn_role role;
    uint32_t core; /* of cores and core gradients, from 0 */
    tn_indices indices;
    uint64_t elements;
    uint32_t made_by;  /* step that makes it; TN_NO_STEP for inputs */
    uint32_t last_use; /* last step that reads it; TN_NO_STEP if none */
    bool saved;        /* made (or, X, given) in the forward phase and read in a later one; with micro-batches
                          also what of the prelude the body reads */
} tn_program_tensor;

typedef struct tn_program_step {
    uint32_t a, b, out;
    tn_phase phase;
    bool recomputed; /* makes again what the forward phase had made and did not keep */
    bool once;       /* of the prelude or the epilogue: once per training step, not per micro-batch */
    uint64_t macs;   /* of one execution */
    tn_product_shape shape;
} tn_program_step;

typedef struct tn_program {
    uint32_t tensors, steps, indices;
    uint32_t inputs;        /* X, cores, and dY where there is a backward pass */
    uint32_t forward_steps; /* they come first, the prelude among them */
    uint32_t prelude_steps, epilogue_steps;
    uint64_t micro_batches; /* 1, but for training flows that were asked for more */
    bool training;          /* it has a backward pass */
    uint64_t *index_size;   /* [indices] */
    tn_program_tensor *tensor;
    tn_program_step *step;
    uint64_t macs[TN_PHASES];          /* by phase, of all micro-batches */
    uint64_t peak_elements[TN_PHASES]; /* by phase: live at the worst step, resident tensors included */
    uint64_t saved_elements;           /* intermediates kept from the forward phase (X apart) */
    uint64_t saved_input_elements;     /* X if a later phase reads it */
    uint64_t recomputed_macs;
} tn_program;

typedef struct tn_program_options {
    bool training;          /* with the backward pass */
    bool no_input_gradient; /* without dX: a first layer needs none */
} tn_program_options;

/* Forward of `tree` (over tn_weight_forward's network) and, with `training`, its reverse-mode backward pass:
 * input gradient and every core gradient, all intermediates that it reads kept.
 * Source: every inner node of the unrooted tree gives one product per direction and all three cost the same,
 * so forward and all gradients cost exactly 3 x forward (facts of tensor-train layers,
 * docs/training-flows.md). options NULL: forward alone. Everything in *program lives in `arena`. */
tn_status tn_program_from_tree(const tn_weight *weight, uint64_t tokens, const tn_tree *tree,
                               const tn_program_options *options, tn_arena *arena, tn_program *program,
                               tn_error *error);
/* The same for any network: tensor 0 is the layer's input, the others its parameters, the output its output.
 * An index that one tensor alone carries and the output has not is TN_INPUT: such a sum is no product. */
tn_status tn_program_of_network(const tn_network *network, const tn_tree *tree,
                                const tn_program_options *options, tn_arena *arena, tn_program *program,
                                tn_error *error);

/* The same steps in the same order for another number of tokens. `program` is one of the weight at any number. */
tn_status tn_program_of_tokens(const tn_program *program, const tn_weight *weight, uint64_t tokens,
                               tn_arena *arena, tn_program *resized, tn_error *error);

/* The program of a named flow. `bidirectional-published` takes the published order of the backward pass (TT,
 * d = 3; TN_INPUT otherwise): per half of the train, each core gradient on its own from the half's gradient,
 * the merge of two cores recomputed. Every other flow takes reverse mode; `dense` of the dense format is
 * Y = X W^T, dX = dY W, dW = dY^T X. */
tn_status tn_program_named(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                           const tn_program_options *options, tn_arena *arena, tn_program *program,
                           tn_error *error);

/* MACs of all phases together; the largest of the phases' peaks. */
tn_status tn_program_total_macs(const tn_program *program, uint64_t *macs, tn_error *error);
uint64_t tn_program_peak(const tn_program *program);

/* Whether the tensor is summed over micro-batches. */
bool tn_program_is_sum(const tn_program *program, uint32_t tensor);

/* "X", "G3", "dY", "T12", "Y", "dX", "dG3"; text holds at least 32 bytes. */
const char *tn_program_tensor_name(const tn_program *program, uint32_t tensor, char *text);

TN_PUBLIC_END

#endif
