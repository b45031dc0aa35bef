/* A condition on designs, as a constraint of a space and as `tenfold query` take it:
 *
 *     bram18 <= 80 % and watts < 12 and (weights.square.rank >= 8 or not build.split = yes)
 *
 *   comparison   two or more operands with <, <=, >, >=, =, != between them: 1 < watts <= 12
 *   operand      a column (id, a choice, a quantity), a number, a percentage of what the device has of the column
 *                beside it, or a text: a value of the choice beside it, in quotes where it is no one word
 *   and, or, not, parentheses: not binds closest, then and, then or
 *
 * What is compared with a value that is not known is neither true nor false (the logic of Kleene, as in SQL): a
 * design for which the whole is not known does not fulfil it.
 */
#ifndef TN_SPACE_EXPRESSION_H
#define TN_SPACE_EXPRESSION_H

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

/* What can be asked of a design: the columns of front.csv. A design is its id, from which its choices follow, and
 * its quantities. */

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
} tn_candidate;

/* Place of the value that the design has in choice `choice`. */
size_t tn_candidate_digit(const tn_choices *choices, const tn_candidate *design, size_t choice);

/* The columns of designs on a device that has `has`. The choices must stay where they are. */
tn_status tn_design_columns_of(const tn_choices *choices, const tn_resources *has, tn_arena *arena,
                               tn_design_columns *columns, tn_error *error);
/* The column of that name; NULL: there is none. */
const tn_design_column *tn_design_column_named(const tn_design_columns *columns, const char *name,
                                               size_t length);
/* The same, but none is TN_INPUT at `position` that suggests the nearest. */
tn_status tn_design_column_find(const tn_design_columns *columns, const char *name, size_t length,
                                tn_position position, const tn_design_column **column, tn_error *error);

/* The value as a number; NaN: it is none, or is not known. */
double tn_candidate_number(const tn_choices *choices, const tn_design_column *column,
                           const tn_candidate *design);
/* Its value as front.csv has it: exact, "nan" where not known. */
void tn_candidate_text(const tn_choices *choices, const tn_design_column *column, const tn_candidate *design,
                       tn_buffer *out);

typedef struct tn_expression tn_expression;

/* Parses `text`, whose first byte stands at `position`. What is wrong is TN_INPUT at its column; over 64 levels of
 * parentheses TN_LIMIT. */
tn_status tn_expression_parse(const char *text, tn_position position, const tn_design_columns *columns,
                              tn_arena *arena, tn_expression **expression, tn_error *error);

/* Whether the design fulfils it; where not everything is known of it, and of a set, whether one may. */
bool tn_expression_holds(const tn_expression *expression, const tn_choices *choices,
                         const tn_candidate *design);
/* With one blank between its words. */
const char *tn_expression_text(const tn_expression *expression);
bool tn_expression_mentions(const tn_expression *expression, const char *column);
/* The most that the quantity may be, as the expression is no more than comparisons that are joined by `and`, or one of these says. */
double tn_expression_most(const tn_expression *expression, const tn_quantity *quantity);
/* True where it is no more than least <= quantity <= most of one quantity (infinite: not bounded there). A bound
 * that is not itself allowed becomes the next number that is. */
bool tn_expression_bounds(const tn_expression *expression, const tn_quantity **quantity, double *least,
                          double *most);

TN_PUBLIC_END

#endif
