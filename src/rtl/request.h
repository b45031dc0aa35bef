/* What `tenfold rtl` is asked for and answers, and what a layer and a whole step have in common on the way. */
#ifndef TN_RTL_REQUEST_H
#define TN_RTL_REQUEST_H

#include "base/memory.h"
#include "device/build.h"
#include "device/device.h"
#include "model/model.h"
#include "model/step.h"
#include "model/train_settings.h"
#include "price/plan.h"
#include "rtl/resources.h"
#include "rtl/simulate.h"
#include "train/trainer.h"

typedef struct tn_rtl_request {
    const tn_step *step;
    const tn_device *device;
    const tn_build *build;
    const char *layer;  /* "encoder1.query"; NULL: the whole step */
    const char *folder; /* where it goes */
    uint64_t seed;      /* of the operands */
    bool update, simulate, synthesise;
    bool shell; /* with a bus around it, a host program and the vendor's scripts */
    double rate;
    const tn_progress *progress; /* of the simulation, in cycles */
    /* Of a whole step and of layers that are not linear: */
    const tn_model *model;
    const tn_train_settings *settings;
    uint32_t steps;            /* one behind the other; 0: one */
    const tn_example *example; /* [steps]; NULL: drawn */
    /* May set parameters that were drawn; NULL: they stay. */
    void (*initial)(void *user, const char *name, uint64_t elements, double *values);
    void *user;
} tn_rtl_request;

/* The loss of a step: as simulated (else as the in-order reference has it), and as training has it. */
typedef struct tn_rtl_loss {
    double hardware, float32, float64;
} tn_rtl_loss;

typedef struct tn_rtl_line {
    const char *name, *kind;
    uint64_t cycles_predicted, cycles_simulated;
    bool is_simulated;
} tn_rtl_line;

/* A memory that is generated, and the blocks of all its banks: by the rule of the price, and as they are inferred where every
 * element of a word has a write enable of its own. */
typedef struct tn_rtl_memory_line {
    const char *holds; /* one of its arrays: of a memory of the price its largest */
    bool of_price;     /* the price has it, too */
    tn_memory_style style;
    uint64_t banks, width_bits, depth;
    uint64_t bram18, uram, lutram;
    uint64_t inferred_bram18, inferred_uram, inferred_lutram;
} tn_rtl_memory_line;

/* A kind of resource, as counted and as Yosys finds it. */
typedef struct tn_rtl_use {
    const char *name; /* "lut", "ff", "dsp", "bram18", "uram", "lutram" */
    uint64_t predicted, synthesised;
    bool is_synthesised;
} tn_rtl_use;
enum { TN_RTL_USES = 6 };

typedef struct tn_rtl_answer {
    const char *layer, *folder;
    uint32_t operations, memories;
    tn_rtl_line *operation;     /* [operations] */
    tn_rtl_memory_line *memory; /* [memories] */
    tn_rtl_memory_line program; /* of the descriptors; no blocks where it is logic */
    tn_rtl_memory_line all;     /* the sums; of_price: the price has every one */
    uint64_t cycles_predicted, cycles_simulated;
    uint64_t words,
        wrong_words; /* elements of all arrays; those that differ in a bit from the in-order reference */
    double
        relative_error; /* of Y and all gradients against float64, the worst array; NAN without updates' base */
    uint64_t multiply_cycles, add_cycles;
    tn_rtl_use resource[TN_RTL_USES];
    double seconds;
    uint32_t losses;
    tn_rtl_loss *loss;  /* [losses]: steps of a whole model */
    const char *floats; /* "circuit", "c": how operators were simulated */
    bool simulated, ok;
} tn_rtl_answer;

/* What the hardware is generated from: the step as the build does it, and its layouts; of a build that is priced ideally
 * those that would be found. */
typedef struct tn_rtl_laying {
    tn_build build; /* with those layouts */
    tn_workload *workload;
    tn_plan *plan;
} tn_rtl_laying;
tn_status tn_rtl_lay(const tn_rtl_request *request, tn_arena *arena, tn_rtl_laying *laying, tn_error *error);

/* Its memories, one by one, and that of its program. */
tn_status tn_rtl_tell_memories(tn_rtl_answer *answer, const tn_rtl_engine *engine, const tn_device *device,
                               tn_arena *arena, tn_error *error);

/* What an engine is counted to take, or what Yosys found. */
void tn_rtl_tell_resources(tn_rtl_answer *answer, const tn_rtl_resources *resources, bool synthesised);

#endif
