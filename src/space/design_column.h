/* What can be asked of a design: the columns of front.csv. A design is its id, from which its choices follow, and
 * its quantities. */
#ifndef TN_SPACE_DESIGN_COLUMN_H
#define TN_SPACE_DESIGN_COLUMN_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "space/choices.h"
#include "space/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_design_column_kind {
    TN_DESIGN_ID,
    TN_DESIGN_CHOICE,
    TN_DESIGN_QUANTITY,
} tn_design_column_kind;

typedef struct tn_design_column {
    const char *name;
    tn_design_column_kind kind;
    size_t place;                /* of the choice in its space, or of the quantity in tn_quantities */
    const tn_axis *choice;       /* NULL: none */
    bool has_numbers, has_texts; /* among its values; a list of ranks counts as both, by its greatest rank */
    double whole;                /* what the device has of it; NaN: a percentage of it is no amount */
} tn_design_column;

typedef struct tn_design_columns {
    size_t count;
    tn_design_column *column; /* id, the choices, the quantities */
} tn_design_columns;

/* A design by one of its two forms: the quantities in the order of tn_quantities, or what they follow from. Or a set of designs:
 * what is known of all of them, and the choices in which they differ. */
typedef struct tn_candidate {
    tn_known known;
    const bool *open;      /* by choice: it may have any value; NULL: none is */
    uint64_t id;           /* of the first one: where choices are open, that of their first values */
    const uint32_t *digit; /* places of its values, by choice; NULL: those that belong to the id */
    const double *value;
    const tn_evaluation *evaluation; /* where `value` is NULL */
    const tn_evaluation *most;       /* what none exceeds; NULL: any may be anything */
} tn_candidate;

/* The values that the quantity may have. */
tn_span tn_candidate_span(const tn_candidate *design, const tn_quantity *quantity);

/* Place of the value that the design has in choice `choice`. */
size_t tn_candidate_digit(const tn_choices *choices, const tn_candidate *design, size_t choice);

/* The columns of designs on a device that has `has`. The choices must stay where they are. */
tn_status tn_design_columns_of(const tn_choices *choices, const tn_resources *has, tn_arena *arena,
                               tn_design_columns *columns, tn_error *error);
/* The column of that name; NULL: there is none. */
const tn_design_column *tn_design_column_named(const tn_design_columns *columns, const char *name,
                                               size_t length);
/* The same, or the one that a last word or a title means alone: rank, latency. */
const tn_design_column *tn_design_column_meant(const tn_design_columns *columns, const char *name,
                                               size_t length);
/* The same, but none is TN_INPUT at `position` that suggests the nearest. */
tn_status tn_design_column_find(const tn_design_columns *columns, const char *name, size_t length,
                                tn_position position, const tn_design_column **column, tn_error *error);

/* A value of the choice as a number; NaN: it is none. */
double tn_choice_number(const tn_axis *choice, size_t digit);
/* The value as a number; NaN: it is none, or is not known. */
double tn_candidate_number(const tn_choices *choices, const tn_design_column *column,
                           const tn_candidate *design);
/* Its value as front.csv has it: exact, "nan" where not known. */
void tn_candidate_text(const tn_choices *choices, const tn_design_column *column, const tn_candidate *design,
                       tn_buffer *out);

TN_PUBLIC_END

#endif
