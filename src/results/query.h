/* Asking the designs of a sweep's folder: those of its front, or all that --keep-all kept. */
#ifndef TN_RESULTS_QUERY_H
#define TN_RESULTS_QUERY_H

#include "results/result.h"
#include "space/condition.h"

#include <stdbool.h>

TN_PUBLIC_BEGIN

typedef struct tn_query {
    const tn_condition *where;     /* NULL: every design */
    const tn_design_column *order; /* by ascending value, equal ones by id, unknown ones last; NULL: by id */
    bool descending, all;          /* all: kept designs, not the front alone */
    uint64_t most;                 /* designs to answer with */
} tn_query;

typedef struct tn_query_answer {
    uint64_t asked, matched; /* designs */
    size_t count;            /* of them answered: at most query->most */
    tn_candidate *design;
} tn_query_answer;

/* TN_INPUT where all are asked for and the sweep kept none. Lives in `arena`. */
tn_status tn_query_run(const tn_result *result, const tn_query *query, tn_arena *arena,
                       tn_query_answer *answer, tn_error *error);

TN_PUBLIC_END

#endif
