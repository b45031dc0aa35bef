/* A model's training step as one program of the engine: where every array lies, and its operations as products and
 * passes of vector kernels, in the order of the step's list.
 *
 * Arrays lie as the step was priced (memory/laid.h): what vector kernels or several layers touch in words of tokens x
 * features, all else in the words that its layer's search found. The memories of a whole step are those of its price, each
 * array where the price has it (design/handover.h); those of a layer alone are as its arrays want them (rtl/place.h).
 *
 * A look-up in cores takes its tokens one after the other: a product whose operands are cut where the sample says; the
 * gradient of a cut core is made beside it and added into its slice. Statistics of rows, sums and losses are scalars
 * of rows, in a memory of the vector unit.
 */
#ifndef TN_RTL_STEP_H
#define TN_RTL_STEP_H

#include "base/memory.h"
#include "design/handover.h"
#include "model/model.h"
#include "model/step.h"
#include "price/plan.h"
#include "rtl/design.h"

typedef struct tn_rtl_step_options {
    uint64_t rows, columns, terms, vector; /* of the kernel */
    bool systolic;                         /* an array of rows x columns cells */
    uint64_t lanes[TN_OPERATION_KINDS];    /* of them each vector kernel takes */
    const tn_workload *workload; /* of the step, and the plan whose layouts (plan->laid) are built */
    const tn_plan *plan;
    const tn_handover *priced; /* that plan's memories, and where arrays lie in them */
    tn_circuit_latencies latencies;
    tn_memory_style style;     /* of memories that no price has */
    uint64_t lutram_bits_most; /* of a memory whose style is automatic */
    double rate, epsilon;
    bool update;    /* with the updates of parameters */
    uint32_t layer; /* of the step: its operations alone; UINT32_MAX: all */
} tn_rtl_step_options;

/* What a word of the sample says. */
typedef enum tn_rtl_slot_kind { TN_RTL_SLOT_FIXED, TN_RTL_SLOT_DIGIT, TN_RTL_SLOT_TOKENS } tn_rtl_slot_kind;
typedef struct tn_rtl_slot {
    tn_rtl_slot_kind kind;
    uint32_t array, axis;  /* it is a place along that axis; TOKENS: a count */
    uint64_t value;        /* fixed; or the token of the example whose word's digit it is */
    uint64_t radix, below; /* the digit: floor(word / below) mod radix */
} tn_rtl_slot;

/* A loss: its rows' labels among the sample's, and whose scalars hold the losses (scalar 2). */
typedef struct tn_rtl_head {
    uint32_t layer;
    uint64_t rows, first_label, first_row;
    bool of_example;
} tn_rtl_head;

typedef struct tn_rtl_program {
    tn_rtl_design design;
    uint64_t *index_size;
    uint32_t *of_operation; /* [design.operations]: the step's operation that it is part of */
    uint32_t *array_of;     /* [step's arrays]: design's array, or TN_RTL_NONE */
    tn_rtl_slot *slot;      /* [design.sample_words] */
    uint32_t heads;
    tn_rtl_head *head;
} tn_rtl_program;

/* Everything lives in `arena`. TN_INPUT names what has no template. */
tn_status tn_rtl_program_make(const tn_model *model, const tn_step *step, const tn_rtl_step_options *options,
                              tn_arena *arena, tn_rtl_program *program, tn_error *error);

#endif
