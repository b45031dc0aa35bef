/* What follows from a language model's architecture: parameters, bytes, operations and activations.
 *
 * Counting rules. A layer is a norm (hidden parameters), the mixer or the experts, and a residual sum; the
 * model has an embedding table, a final norm and an output projection (the table itself where they are tied).
 *   attention    query, key, value, output without biases
 *   state space  in (hidden to twice the inner width), convolution with bias, x (inner to step rank and two
 *                states), step (rank to inner, with bias), A (inner x state), D (inner), out
 *   experts      each 2 or 3 matrices; a router (hidden x experts) where there is more than one
 *   adapters     of rank r on an m x n matrix: r (m + n)
 * Multiply-adds of a token's forward pass: every matrix it meets, of experts only the active ones; attention
 * scores and values over half the sequence (causal); 3 inner x state of the scan. A training step runs the
 * forward once, again with checkpointing, the gradient of every input once, and the gradient of every trained
 * matrix once. FLOPs = 2 x multiply-adds.
 * Activations kept per token and layer, in elements:
 *   attention    norm's input and output, queries, keys, values, mixed values; scores and their softmax, 2 x
 *                heads x sequence, unless fused
 *   state space  norm's input and output, twice the inner width, convolved, step size, scanned, gated, and
 *                step rank and two states
 *   experts      norm's input and output, router's logits; per active expert its input, every inner product
 *                (gate, up, activated, multiplied; or up, activated) and its output; where a router chooses also
 *                the gathered rows, the output times the router's weight, and the running sum
 *   adapters     the adapter's own inner product, and a copy of its input where input_bits says so
 * With checkpointing a layer keeps its input. A step needs most memory either while the loss is made, when logits stand
 * beside what is kept, or while the largest layer, run forward again, is whole: the larger of the two counts. On an H200
 * the counts meet measured slopes of peak memory over batch within 8 % (tests/finetune/test_count.c).
 */
#ifndef TN_FINETUNE_COUNT_H
#define TN_FINETUNE_COUNT_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/language_model.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* What the layers of a kind come to: of one layer and one token, where nothing else is said. */
typedef struct tn_language_part {
    uint64_t layers;
    uint64_t matrix_parameters; /* all experts' */
    uint64_t matrix_macs, other_macs,
        adapter_macs;      /* of the forward pass; other: scores, the scan, a router */
    uint64_t trained_macs; /* of them those whose weights have gradients */
    uint64_t norm_bytes, gathered_bytes,
        adapter_bytes;   /* kept, where everything is: by the norm, around experts, by adapters */
    uint64_t kept_bytes; /* all of it */
} tn_language_part;
enum { TN_PART_ATTENTION, TN_PART_STATE_SPACE, TN_PART_FEED_FORWARD, TN_LANGUAGE_PARTS };

typedef struct tn_language_count {
    uint64_t parameters, active_parameters; /* active: that one token meets */
    uint64_t trained_parameters;            /* all, or the adapters' */
    uint64_t matrix_parameters;             /* stored with matrix_bits; the others with other_bits */
    uint64_t weight_bytes;                  /* of the model as stored, and its adapters */
    uint64_t layer_weight_bytes;            /* of it the matrices of the largest layer, all its experts */
    uint64_t gradient_bytes, optimizer_bytes;
    uint64_t
        workspace_bytes; /* the largest matrix unpacked to activation_bits, where it is stored in fewer */
    uint64_t reserve_bytes;
    tn_language_part part[TN_LANGUAGE_PARTS];
    uint64_t head_macs;        /* of the output projection, a token */
    uint64_t activation_bytes; /* of one query at the step's peak */
    uint64_t kept_bytes;       /* of it: what layers keep */
    uint64_t layer_bytes;      /* the largest layer whole, where layers run forward again; else 0 */
    uint64_t logit_bytes;      /* with the loss's copies and their gradient */
    uint64_t forward_macs, training_flops; /* of one query */
} tn_language_count;

/* `sequence` tokens a query (as padded), `active` experts a token. A count beyond 64 bits is TN_OVERFLOW. */
tn_status tn_language_count_of(const tn_language_model *model, uint64_t sequence, uint64_t active,
                               tn_language_count *count, tn_error *error);

/* *active = sparsity * experts, which must be whole. */
tn_status tn_language_active(const tn_language_model *model, double sparsity, uint64_t *active,
                             tn_error *error);

TN_PUBLIC_END

#endif
