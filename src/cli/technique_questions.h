/* The questions of `tenfold technique`: for each technique of the field its source, the keys that its formula
 * takes (a schema), what it answers (a record) and the call of the library. One table serves options, columns
 * of a batch, usage, output and `tenfold list techniques`. */
#ifndef TN_CLI_TECHNIQUE_QUESTIONS_H
#define TN_CLI_TECHNIQUE_QUESTIONS_H

#include "base/error.h"
#include "base/memory.h"
#include "text/csv.h"
#include "text/record.h"
#include "text/schema.h"

#include <stddef.h>

/* A formula that people ask: its keys come as options, or as the columns of a table with a question a row. Which
 * text each key has, and how the answers are printed, is the same for every command that asks so. */

typedef struct tn_formula_key {
    const char *name; /* option without its dashes; a column may have _ for - */
    const char *help;
    bool required;
    const char *given; /* the option's text; NULL: not given */
} tn_formula_key;

typedef struct tn_technique_formula {
    const char *command, *name; /* "hardware", "memory" */
    const tn_formula_key *key;
    size_t keys;
    const tn_record *answers;
    void *context;
    /* Fills a zeroed struct of `answers`. value[k]: the text of key k, NULL where there is none, with its place.
     * An error without a place gets the row's. */
    tn_status (*ask)(void *context, const tn_csv_cell *value, tn_arena *arena, void *answer, tn_error *error);
    void (*put_head)(void *context, tn_json *json);  /* keys of the answer as a whole */
    void (*put_asked)(void *context, tn_json *json); /* keys that say what was asked last */
} tn_technique_formula;

enum { TN_FORMULA_KEYS_MOST = 16 };

/* Asks once, or with `batch` once a row: columns are the keys, or `name` and `id`, which are passed on. Prints
 * one object or a table; of a batch all rows, or, where one fails, none. */
tn_status tn_formula_answer(const tn_technique_formula *formula, const char *batch, bool json,
                            tn_arena *arena, tn_error *error);

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
