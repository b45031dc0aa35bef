/* A training step as a list of operations over arrays: what `model` writes, `hardware` prices and `explore`
 * varies.
 *
 * Operations are listed in an order in which they can be executed; `after` are the operations that must be
 * done before (those that wrote what it reads, and for an update all that read the parameter). Arrays live
 * from `first` to `last` operation (inclusive); resident ones (tn_array_is_resident) throughout. An
 * operation may write an array that it also reads (in place): biases, softmax, sums of gradients, updates.
 * What changes how a step is done is a transformation of this list (step/transformation.h). What a list cannot say by
 * kind, sizes and arrays stands in fields of its own, each of one technique: of an operation from `arithmetic` to `fused`,
 * of an array from `is_again` to `inputs`; the price, layouts, training and generated hardware each read those that
 * concern them. Operations know no hardware, but a step carries to its price what the model file says of it: a
 * deadline with the least voltage, and how long activations' cells hold.
 */
#ifndef TN_MODEL_STEP_H
#define TN_MODEL_STEP_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "model/attention.h"
#include "model/precision.h"
#include "program/program.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_optimizer { TN_SGD, TN_MOMENTUM, TN_ADAM, TN_OPTIMIZERS } tn_optimizer;
extern const char *const tn_optimizer_names[]; /* "sgd", "momentum", "adam"; ended by NULL */

/* What an operation reads and writes, array by array, is in its row (model/operation.h). It is over `rows` x `columns`
 * elements; tokens x features have the tokens of an example one behind the other. Words and labels are no arrays of the
 * step. Beyond the row:
 *
 *   product             [what it adds at write-back] is read, [what it was before an activation] written
 *   lookup              writes rows by word, the first token of every example, what pruning leaves, the part that a
 *                       gradient needs, or windows of pictures
 *   scatter             the sum, which without being read begins at zero: rows by word, by position (row i of every
 *                       example into row i), to first tokens, or windows of pictures to their pixels
 *   route, dispatch, combine   as tn_routing says, the last two of one expert; their gradients likewise. A dispatch's
 *                       gradient and a combine add to what they read last, or without it begin at zero
 *   scan                rows are the features of a token, columns states; B and C are tokens x states
 *   causal-conv         rows are the features of a token, columns taps
 *   mean                of the tokens of every example; rows are those of the tokens, of its gradient too
 *   add                 may write what it reads first
 *   softmax             in place, of S / sqrt(depth), depth = features of query / heads; with a causal mask over the keys
 *                       up to the query's place, else 0; its gradient in place of dP, that divisor included
 *   layer-norm          keeps mean and r of each row, rms-norm r alone
 *   cross-entropy       is the gradient of the mean loss over rows
 *   entropy             is the mean over the rows of the entropy of their softmax, over the most there is
 *   update-             in place; a gradient of fewer elements is of the first `columns` of each of `rows` rows
 *   select              leaves all of a parameter but the `live` greatest zero
 *   importance          sums attention's probabilities over heads and queries, a number a key, or the magnitudes of what it
 *                       gives over tokens and features, a number a head; of every example
 *   top                 writes the places of the greatest of each row, ascending: as many as fill the array
 *   append              writes row i of x into the place of the token, of example i's places
 *   track               an update by SGD, of which the `live` elements that are farthest from W(0) stay where it takes them;
 *                       the others return to W(0). Elements that the mask leaves out are not read (step/sparse_weights.c)
 *   regenerate          elements that the mask leaves out are those of W(0)
 *
 * Of a layer's program (tn_step_layer.program) a product says which step it is, and program and tensors say
 * what the axes of its arrays are. Attention's products have none: with Q, K, V, O as tokens x features, heads
 * side by side in the features, and scores as example x head x query x key, they are in order S = Q K^T,
 * O = P V, dV = P^T dO, dP = dO V^T, dQ = dS K, dK = dS^T Q, each per example and head (batch); dV, and dQ and
 * dK, are there where what they belong to learns. Where `group` query heads share a head of keys and values, the batch
 * of dV and dK is of the shared heads, and their reduction goes over the group's queries, too. */
typedef enum tn_operation_kind {
    TN_OP_PRODUCT, /* batch x (rows x reduction) (reduction x columns) */
    TN_OP_LOOKUP,
    TN_OP_SCATTER,  /* the gradient of a look-up */
    TN_OP_ADD,      /* bias, positions, residual, sums of gradients */
    TN_OP_SUBTRACT, /* what a residual of a reversible block added */
    TN_OP_COLUMN_SUM,
    TN_OP_SCALE_GRADIENT, /* of a layer norm */
    TN_OP_SOFTMAX,
    TN_OP_SOFTMAX_GRADIENT, /* ds/dz = diag(s) - s s^T */
    TN_OP_LAYER_NORM,
    TN_OP_LAYER_NORM_GRADIENT,
    TN_OP_GELU,
    TN_OP_GELU_GRADIENT,
    TN_OP_TANH,
    TN_OP_TANH_GRADIENT,
    TN_OP_RELU,
    TN_OP_RELU_GRADIENT,
    TN_OP_RMS_NORM,
    TN_OP_RMS_NORM_GRADIENT,
    TN_OP_RMS_SCALE_GRADIENT,
    TN_OP_SILU,
    TN_OP_SILU_GRADIENT,
    TN_OP_ROTARY, /* positions, as angles that pairs of features turn by */
    TN_OP_ROTARY_GRADIENT,
    TN_OP_MULTIPLY,      /* element by element: what a gate lets through, and its gradients */
    TN_OP_CROSS_ENTROPY, /* loss and gradient of the logits; begins the backward phase */
    TN_OP_UPDATE_SGD,    /* rows * columns parameters */
    TN_OP_UPDATE_MOMENTUM,
    TN_OP_UPDATE_ADAM,
    TN_OP_SELECT,     /* of a parameter's elements the greatest stay */
    TN_OP_TRACK,      /* an update, of which the weights that lie farthest from where they began stay */
    TN_OP_REGENERATE, /* a sparse parameter and where its other weights began, as one matrix */
    TN_OP_ENTROPY,    /* of the answers of a head, by which an early exit is taken */
    TN_OP_SQUARED_RELU,
    TN_OP_SQUARED_RELU_GRADIENT,
    TN_OP_SOFTPLUS,
    TN_OP_SOFTPLUS_GRADIENT,
    TN_OP_MEAN,
    TN_OP_MEAN_GRADIENT,
    TN_OP_ROUTE, /* gates of the experts that each token chooses */
    TN_OP_ROUTE_GRADIENT,
    TN_OP_DISPATCH, /* rows of the tokens that chose an expert */
    TN_OP_DISPATCH_GRADIENT,
    TN_OP_COMBINE, /* an expert's rows, times their gates, added to those tokens */
    TN_OP_COMBINE_GRADIENT,
    TN_OP_GATE_GRADIENT,
    TN_OP_CAUSAL_CONV, /* of each feature apart */
    TN_OP_CAUSAL_CONV_GRADIENT,
    TN_OP_SCAN, /* of a selective state space */
    TN_OP_SCAN_GRADIENT,
    TN_OP_APPEND,     /* a token's keys or values to the cache */
    TN_OP_IMPORTANCE, /* of tokens or heads, by what an attention gave them */
    TN_OP_TOP,        /* which are the greatest */
    TN_OPERATION_KINDS
} tn_operation_kind;

enum { TN_OPERATION_READS = 8, TN_OPERATION_WRITES = 6 };
enum { TN_PRODUCT_OPERANDS = 2, TN_PRODUCT_READS = 4, TN_PRODUCT_WRITES = 2 }; /* fused ones included */

/* A predictor of the gradients of a parameter, applied to each of its rows alike (step/predicted_gradients.c). What the
 * layer gives, summed over tokens, is before x rows x behind; the parameter left x rows x right; hidden units rows x
 * width; the predictor's own matrices width x before x behind and width x left x right. Its products are named by what
 * they make. */
typedef struct tn_predictor {
    uint64_t width, leading, rows, trailing, left, right;
} tn_predictor;

/* A look-up of the tokens and heads that stay (step/pruning.c): of every `from_tokens` rows `tokens`, of the `heads` parts of
 * a row `kept_heads`, side by side; or the heads back into their places among all. Which they are a `top` has found, whose
 * places it reads beside the rows. */
typedef struct tn_gather {
    uint64_t from_tokens, tokens, heads, kept_heads;
    bool spreads;
} tn_gather;

/* Windows over a picture, a row of activations a pixel, in rows of the picture from its top left. Each of the outputs_down x
 * outputs_across windows of an example becomes one row: its pixels' features one behind the other, those beyond the
 * picture's edge as zeros. */
typedef struct tn_window {
    uint64_t height, width;              /* of the picture, in pixels */
    uint64_t kernel_down, kernel_across; /* of a window */
    uint64_t stride_down, stride_across;
    uint64_t padding_down, padding_across; /* pixels beyond each edge */
    uint64_t outputs_down, outputs_across;
} tn_window;

/* How a mixture of experts sends tokens to experts (model/composite.h). Of the tokens x experts gates that a route makes, those
 * of experts that a token has not chosen are 0. An expert's rows are those of the first `rows` tokens of an example that chose
 * it, in their order, and zeros behind them: every later operation finds them again from the gates. Tokens of padding choose
 * none. */
typedef struct tn_routing {
    uint64_t experts, top;
    uint64_t rows;   /* of an example that an expert takes */
    uint64_t expert; /* of an operation of one; from 0 */
    bool normalised; /* gates of the chosen ones sum to 1 */
    double balance;  /* weight of the loss that spreads tokens evenly */
} tn_routing;

/* A product that runs over the first `kept` of an index of its program step alone (step/sparse_update.c), or the look-up
 * that cuts these out of one of its operands: `tensor` of the layer's program, like the result of a product. */
typedef struct tn_partial {
    const tn_program_step *step;
    uint32_t tensor, index;
    uint64_t kept;
} tn_partial;

enum { TN_FUSED_MOST = 4 };

/* A vector operation that a product does on its results before they are written (step/fusion.h), in the order of the
 * product's list: an addition of another array, or an activation. */
typedef struct tn_fused {
    tn_operation_kind kind;
    uint32_t layer;         /* that it is of */
    uint32_t read;          /* of the product's reads: what an addition adds; UINT32_MAX: it is none */
    bool keeps;             /* what it begins with is written, too, to the product's second array */
    uint64_t rows, columns; /* of the product's those that the array it adds tells apart: a bias has 1 row */
} tn_fused;

typedef struct tn_operation {
    tn_operation_kind kind;
    tn_phase phase;
    uint32_t layer;                        /* position in tn_step.layer */
    const tn_program_step *program_step;   /* of its layer's program, where it is one; NULL otherwise */
    const tn_attention_product *attention; /* of a product of attention (model/attention.h); NULL otherwise */
    uint64_t batch, rows, reduction,
        columns; /* products: all four; others: rows x columns, batch and reduction 1 */
    uint64_t macs,
        flops; /* macs of products only; flops = 2 * macs there, else scalar operations; fused ones too */
    uint32_t after_count;
    const uint32_t *after;           /* earlier operations, ascending */
    const tn_arithmetic *arithmetic; /* of a product; NULL: that of the step's precision */
    uint64_t live,
        live_of; /* of a product: elements of its parameter that are not zero, of so many; 0: all */
    uint64_t
        column_block; /* of a product: its columns are computed in blocks of so many, which divide them; 0: at once */
    double cycle_ratio; /* of a product: its cycles by those of the dense one; 0: 1 */
    uint64_t times,
        of_times; /* it is done in so many of so many steps, or for so many of so many inputs; 0: all */
    const tn_gather *gather; /* of a look-up that leaves out what is pruned; NULL otherwise */
    const tn_window
        *window; /* of a look-up of windows, or of the scatter of their gradients; NULL otherwise */
    const tn_routing *routing;     /* of an operation of a mixture of experts; NULL otherwise */
    const tn_predictor *predictor; /* of a product of one; NULL otherwise */
    const tn_partial *partial;     /* of a part of a step or tensor of the layer's program; NULL otherwise */
    uint32_t fused_count;
    const tn_fused *fused; /* [fused_count] of a product */
    uint32_t read_count, write_count;
    uint32_t reads[TN_OPERATION_READS], writes[TN_OPERATION_WRITES]; /* arrays */
} tn_operation;

typedef enum tn_array_role {
    TN_ARRAY_PARAMETER, /* cores, biases, scales, tables */
    TN_ARRAY_GRADIENT,  /* of parameters */
    TN_ARRAY_OPTIMIZER, /* momentum, Adam moments */
    TN_ARRAY_CONSTANT,  /* known before anything runs: sines and cosines of rotary positions */
    TN_ARRAY_CACHE,     /* keys and values of the tokens so far, which a step of decoding finds and adds to */
    TN_ARRAY_ACTIVATION,   /* layer inputs and outputs, what the backward pass keeps, and their gradients */
    TN_ARRAY_INTERMEDIATE, /* inside a layer's contraction */
    TN_ARRAY_ROLES
} tn_array_role;
extern const char *const tn_array_role_names[];

/* Whether a batch makes it: the role is activation or intermediate. */
static inline bool tn_role_is_activation(tn_array_role role) {
    return role == TN_ARRAY_ACTIVATION || role == TN_ARRAY_INTERMEDIATE;
}

/* What an array is to the layer that made it. A parameter's gradient and state are the same part as it. */
typedef enum tn_array_part {
    TN_PART_CORE,   /* of a tensor format */
    TN_PART_WEIGHT, /* a matrix that is kept whole */
    TN_PART_TABLE,  /* of an embedding or of positions, kept whole */
    TN_PART_BIAS,
    TN_PART_SCALE, /* of a norm */
    TN_PART_SHIFT,
    TN_PART_OUTPUT,
    TN_PART_INPUT_GRADIENT,
    TN_PART_INTERMEDIATE, /* of a layer's program */
    TN_PART_GRADIENT_SUM,
    TN_PART_STATISTICS,
    TN_PART_ROTATIONS, /* sines and cosines */
    TN_PART_SCORES,
    TN_PART_SCORES_GRADIENT,
    TN_PART_VALUE_GRADIENT,
    TN_PART_QUERY_GRADIENT,
    TN_PART_KEY_GRADIENT,
    TN_PART_KEPT, /* what pruning leaves */
    TN_PART_KEPT_HEADS,
    TN_PART_ENTROPY,
    TN_PART_MASK,        /* a bit for each element of a parameter */
    TN_PART_REGENERATED, /* a sparse parameter with all of its elements */
    TN_PART_PREDICTOR_INPUT,
    TN_PART_PREDICTOR_IN, /* matrices of predictors (step/predicted_gradients.c), and what they make */
    TN_PART_PREDICTOR_OUT,
    TN_PART_PREDICTOR_HIDDEN,
    TN_PART_PREDICTOR_HIDDEN_GRADIENT,
    TN_PART_PREDICTED,
    TN_PART_WINDOWS, /* of pictures, and their gradient */
    TN_PART_WINDOWS_GRADIENT,
    TN_PART_GATES_GRADIENT, /* of a mixture of experts */
    TN_PART_TAPS,           /* of a causal convolution, features x taps */
    TN_PART_DECAY,          /* of a scan, features x states: log(-a) */
    TN_PART_STATES,
    TN_PART_STEP_GRADIENT,
    TN_PART_WRITE_GRADIENT,
    TN_PART_READ_GRADIENT,
    TN_PART_KEY_CACHE, /* examples x places x features */
    TN_PART_VALUE_CACHE,
    TN_PART_IMPORTANCE,
    TN_PART_CHOSEN, /* places that stay */
    TN_PART_PLACE,  /* of the table of positions, the row of the token that is decoded */
    TN_ARRAY_PARTS
} tn_array_part;
extern const char *const tn_array_part_names[]; /* "core", "weight" ...; for people alone */

typedef struct tn_array {
    tn_array_part part;
    uint32_t
        number; /* of the part in its layer, from 1; 0: it has none. The role makes ".gradient", ".state" */
    tn_array_role role;
    uint32_t layer;
    uint64_t elements;
    uint32_t first,
        last;        /* operations; resident (parameters, optimizer state, constants): 0 and UINT32_MAX */
    bool is_again;   /* made a second time, by checkpointing */
    bool is_part;    /* cut out of another, for the gradient of a part of a weight */
    uint32_t exit;   /* early exit, from 1, at which a head makes it; 0: at the last one, or no head does */
    uint64_t live;   /* elements that are not zero, or not where they began; 0: any */
    uint64_t stored; /* elements that are kept of a tracked set; 0: all */
    uint64_t inputs; /* of a predictor's hidden units, of their matrix; 0 elsewhere */
    uint32_t value;  /* tn_value */
    const tn_number_format *format; /* in which it is kept */
    bool is_core; /* a small tensor core (may be grouped in one memory), or its gradient or optimizer state */
} tn_array;

/* Elements that memory keeps of it. */
static inline uint64_t tn_array_stored(const tn_array *array) {
    return array->stored ? array->stored : array->elements;
}

/* Layers that are more to others than operations and arrays. */
typedef enum tn_layer_family {
    TN_LAYER_PLAIN, /* none of these */
    TN_LAYER_INPUT,
    TN_LAYER_EMBEDDING,
    TN_LAYER_POSITIONS,
    TN_LAYER_LINEAR,
    TN_LAYER_CONV,
    TN_LAYER_ATTENTION,
    TN_LAYER_RESIDUAL,
    TN_LAYER_LOSS
} tn_layer_family;

typedef struct tn_step_layer {
    const char *name, *kind; /* "encoder1.query", "linear"; for people alone */
    tn_layer_family family;
    const char *format, *flow; /* of its weight; NULL where it has none */
    const char *weight_name;   /* entry of the model's `weights`; NULL where it has none */
    const tn_weight *weight;   /* as used (format: dense applied); NULL where it has none */
    const tn_program *program; /* of a linear layer's products; NULL otherwise */
    uint64_t tokens;           /* rows of its output */
    uint64_t group;       /* of attention: query heads that share a head of keys and values; 0: none is */
    bool causal;          /* of attention: under a causal mask */
    uint32_t output;      /* array that it gives; UINT32_MAX: none, or none that the step still has */
    uint32_t rank_count;  /* of tensor formats */
    const uint64_t *rank; /* as requested */
    const uint64_t *useful_rank;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    /* The most elements, over the layer's operations, of the arrays that any of them reads or writes and that
     * live then: parameters, inputs and gradients included. */
    uint64_t peak_elements;
    /* Made in the forward phase and read by the layer's later operations. What two layers keep (the input of
     * query, key and value, say) counts in both; tn_step.activation_elements counts it once. */
    uint64_t saved_elements;
} tn_step_layer;

typedef struct tn_step {
    const char *name;
    const tn_formats *formats;
    const tn_precision_schedule *schedule; /* of the operands' mantissas; NULL: they stay */
    bool inference;                        /* the forward pass alone */
    bool decoding;                         /* of one token an example, behind sequence - 1 in a cache */
    double deadline_us, least_V;           /* of a step whose clock and voltage follow the work; 0: neither */
    double retention_us, refresh_pJ;       /* of activations' cells, a word; 0: they keep what they hold */
    bool retention_given, refresh_given;   /* by the model, and not for the device to say */
    const char *precision;                 /* name of formats->accumulate */
    tn_optimizer optimizer;
    uint64_t batch, sequence, element_bytes, steps_per_epoch;
    uint32_t layers, operations, arrays;
    uint32_t forward_operations; /* the first ones: the forward phase, but for what is computed again later */
    tn_step_layer *layer;
    tn_operation *operation;
    tn_array *array;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    /* Elements: parameters' gradients (the most that is live at once: all of them, unless updates come
     * earlier), the optimizer's state, saved activations (made in the forward phase and read later), and the
     * most that is live at once, all roles together. */
    uint64_t gradient_elements, optimizer_elements, activation_elements, peak_elements;
    /* The same and the parameters in bytes, each array in its format; the most at once of either need not fall at
     * the same time. */
    uint64_t parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes, peak_bytes;
    /* The cache of decoding, and what of it the step's operations read and write. */
    uint64_t cache_elements, cache_bytes, cache_moved_elements, cache_moved_bytes;
} tn_step;

/* Of all phases together; a step's and a layer's fit 64 bits. */
uint64_t tn_step_macs(const uint64_t macs[TN_PHASES]);

/* Parameters, the optimizer's state, constants and the cache of decoding. */
bool tn_array_is_resident(const tn_array *array);
/* A matrix of a predictor of gradients (step/predicted_gradients.c). */
bool tn_array_is_predictor(const tn_array *array);

/* "encoder1.query.core2", in the arena. */
tn_status tn_step_array_name(const tn_step *step, uint32_t array, tn_arena *arena, const char **name,
                             tn_error *error);

TN_PUBLIC_END

#endif
