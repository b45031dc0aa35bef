/* A condition on the designs of a space (space/expression.h) whose percentages are of what the device of each design
 * has.
 */
#ifndef TN_SPACE_CONDITION_H
#define TN_SPACE_CONDITION_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "space/expression.h"
#include "space/space.h"

#include <stdbool.h>

TN_PUBLIC_BEGIN

typedef struct tn_condition tn_condition;

/* Parses `text`, whose first byte stands at `position`; errors as tn_expression_parse has them. Lives in `arena`. */
tn_status tn_condition_parse(const char *text, tn_position position, const tn_space *space, tn_arena *arena,
                             const tn_condition **condition, tn_error *error);

bool tn_condition_holds(const tn_condition *condition, const tn_candidate *design);
/* With one blank between its words. */
const char *tn_condition_text(const tn_condition *condition);
bool tn_condition_mentions(const tn_condition *condition, const char *column);

TN_PUBLIC_END

#endif
