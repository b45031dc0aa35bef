/* The questions of `tenfold technique`: for each technique of the field its source, the keys that its formula
 * takes (a schema), what it answers (a record) and the call of the library. One table serves options, columns
 * of a batch, usage, output and `tenfold list techniques`. */
#ifndef TN_CLI_TECHNIQUE_QUESTIONS_H
#define TN_CLI_TECHNIQUE_QUESTIONS_H

#include "base/error.h"
#include "text/record.h"
#include "text/schema.h"

#include <stddef.h>

enum { TN_TECHNIQUE_KEYS_MOST = 12 };

typedef struct tn_technique {
    const char *name, *summary, *source;
    tn_schema keys; /* of the struct that `ask` reads */
    tn_record answers;
    /* `question` as decoded, `answer` a zeroed struct of the record. */
    tn_status (*ask)(const void *question, void *answer, tn_error *error);
} tn_technique;

extern const tn_technique tn_techniques[];
extern const size_t tn_techniques_count;

#endif
