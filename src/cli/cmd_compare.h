/* What was published (results/comparison.h), as `tenfold compare` sets it beside its rows and judges it. */
#ifndef TN_CLI_CMD_COMPARE_H
#define TN_CLI_CMD_COMPARE_H

#include "base/error.h"
#include "base/memory.h"
#include "results/comparison.h"
#include "text/json.h"
#include "text/record.h"

/* An object of the claims that speak of the row; null where none does. */
void tn_published_put(tn_json *json, const tn_claims *claims, const tn_comparison_row *row);
/* The same in a line for people: "30.6 MB, memory / 30 to 51"; "" where there is none. */
tn_status tn_published_text(const tn_claims *claims, const tn_comparison_row *row, tn_arena *arena,
                            const char **text, tn_error *error);

/* Of a tn_verdict. */
extern const tn_record tn_verdict_record;
/* verdict[at], under its claim where the one before it is of another, with its reason where no earlier one gave it. */
void tn_verdict_say(const tn_verdict *verdict, size_t at);

#endif
