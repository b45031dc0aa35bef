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

#include "space/design_column.h"

TN_PUBLIC_BEGIN

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
