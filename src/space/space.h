/* A space file (docs/space-file.md): a model, a device, the choices to make, what to bound and what to strive
 * for.
 *
 * A design is one value of every choice (space/choices.h, with what its id is).
 *
 * Choices that change the model (outer) are apart from those that change only the build (inner): the step of
 * an outer combination is made once and priced for every inner one.
 *
 * Where the model or the device is itself a choice, each pair of them is a variant: a space of the same choices and
 * ids with its own model, device, budget, constraints and tables. What asks for those of a design asks its variant.
 */
#ifndef TN_SPACE_SPACE_H
#define TN_SPACE_SPACE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "front/archive.h"
#include "model/model.h"
#include "space/accuracy_table.h"
#include "space/bound.h"
#include "space/choices.h"
#include "space/error_table.h"
#include "space/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_CONSTRAINTS_MOST = 16, TN_VARIANTS_MOST = 256 };

typedef struct tn_space {
    const char *name, *path, *model_name, *device_name;
    const char *error_table_path, *accuracy_table_path; /* NULL: none */
    size_t set_count;
    const char *const *set; /* overrides of model keys, before the choices */
    const tn_yaml *root;    /* the file's tree, overrides applied */
    tn_model *model;        /* as the file gives it, for names and sizes; not changed */
    const tn_device *device;
    tn_error_table error_table;
    tn_accuracy_table accuracy_table;

    tn_choices choices;
    uint64_t laid_most; /* with so many designs or fewer every one is laid: there is time for it */

    size_t outers, inners; /* choices of each kind; places of the choices: */
    size_t outer[TN_AXES_MOST], inner[TN_AXES_MOST];
    uint64_t outer_count, inner_count; /* combinations; outer_count of a vast space: UINT64_MAX */
    uint64_t steps_together; /* outer combinations, one behind the other, that differ in settled keys alone */

    size_t objectives;
    const tn_quantity *objective[TN_OBJECTIVES_MOST];
    tn_resources budget; /* of the device, what the caps leave, */
    tn_resources within; /* and of that the constraints (tn_constraints_within) */
    tn_evaluation most;  /* what no design within the budget exceeds (tn_evaluation_most) */
    size_t constraints;
    tn_constraint constraint[TN_CONSTRAINTS_MOST];
    uint64_t hypervolume_samples;

    size_t models, devices;             /* that its designs have: 1 of each where they are no choices */
    size_t model_choice, device_choice; /* places of these choices; TN_AXES_MOST: none */
    size_t weights_before;              /* of a variant: weights of the models before its own */
    const struct tn_space *variant;     /* [models][devices]; NULL: the space itself is the only one */
} tn_space;

/* Files to take instead of those that the space names, as a result's folder has its own copies; NULL: as
 * named. Models and devices in the order of their choices; their numbers must be those of the space. */
typedef struct tn_space_inputs {
    const char *const *model, *const *device;
    size_t models, devices;
    const char *error_table, *accuracy_table;
} tn_space_inputs;

/* Loads a space by path or bare name, applies `set` ("KEY=VALUE") to its keys in order, and loads its model
 * and device. `inputs` may be NULL. Lives in `arena`. */
tn_status tn_space_load(const char *name, const char *const *set, size_t set_count,
                        const tn_space_inputs *inputs, tn_arena *arena, tn_space *space, tn_error *error);

/* The variant of that model and device, by their places among the choices' values; */
const tn_space *tn_space_variant(const tn_space *space, size_t model, size_t device);
/* of a design, by its id or by the places of its values. */
const tn_space *tn_space_of(const tn_space *space, uint64_t id);
const tn_space *tn_space_of_digits(const tn_space *space, const uint32_t *digit);
/* Place of a design's device among them. */
size_t tn_space_device_of(const tn_space *space, uint64_t id);
/* Names of all its models, or of all its devices: "zcu104, kv260"; in the arena. */
tn_status tn_space_model_names(const tn_space *space, tn_arena *arena, const char **names, tn_error *error);
tn_status tn_space_device_names(const tn_space *space, tn_arena *arena, const char **names, tn_error *error);

/* The weights of all its models are numbered, those of the first model first. */
size_t tn_space_weights(const tn_space *space);
const char *tn_space_weight_name(const tn_space *space, size_t number);

/* Whether some of its choices are settled by the search (space/settle.h). */
bool tn_space_is_settled(const tn_space *space);

/* The design of an outer and an inner combination, and back. In a vast space the outer combination of a listed
 * design is its id; others have none. */
uint64_t tn_space_id(const tn_space *space, uint64_t outer, uint64_t inner);
void tn_space_split(const tn_space *space, uint64_t id, uint64_t *outer, uint64_t *inner);

/* The objectives of an evaluation as a point to minimise (maximised ones negated). */
void tn_space_point(const tn_space *space, const tn_evaluation *evaluation, uint64_t id, tn_point *point);

/* Appends the tables of the file kind's keys. */
void tn_space_document(tn_buffer *out);

TN_PUBLIC_END

#endif
