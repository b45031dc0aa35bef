/* Parts of `tenfold compare`: what was published beside its rows, and this machine as one of its systems. */
#ifndef TN_CLI_CMD_COMPARE_H
#define TN_CLI_CMD_COMPARE_H

#include "base/error.h"
#include "base/memory.h"
#include "results/verdict.h"
#include "text/json.h"
#include "text/record.h"

/* Of a tn_verdict. */
extern const tn_record tn_verdict_record;

/* An object of the claims that speak of the row; null where none does. */
void tn_published_put(tn_json *json, const tn_claims *claims, const tn_comparison_row *row);
/* The same in a line for people: "30.6 MB, memory / 30 to 51"; "" where there is none. */
tn_status tn_published_text(const tn_claims *claims, const tn_comparison_row *row, tn_arena *arena,
                            const char **text, tn_error *error);
/* verdict[index], under its claim where the one before it is of another, with its reason where no earlier one gave it. */
void tn_verdict_say(const tn_verdict *verdict, size_t index);

/* The step run on this machine by the trainer (learn/training.h): by one thread and by as many as there are processors, whichever
 * is faster. Time is the middle of three runs, its range their ends; memory is that of the step; power that of the
 * roofline device of `step`, as nothing here measures it. A batch of 0: the model's own. */
tn_status tn_compare_measured(const tn_compared_step *step, uint64_t batch, tn_arena *arena,
                              tn_comparison_row *row, tn_error *error);

/* What hours of systems cost by a table of kind gpu-table; none where the program is built without it. Names live in `arena`. */
tn_status tn_compare_rents(const char *prices, tn_arena *arena, tn_rent_terms *terms, tn_error *error);

#endif
