/* Standard output. Everything that a command prints goes through here, so that names from outside cannot steer
 * a terminal and a write that fails is known at the end; and so that who asks from a program (ask/ask.h) gets it as
 * text. */
#ifndef TN_CLI_OUTPUT_H
#define TN_CLI_OUTPUT_H

#include "base/buffer.h"
#include "base/clock.h"
#include "results/result.h"
#include "text/record.h"

#include <stdbool.h>

/* Between the two, what this thread prints goes into the buffer, and who listens hears of progress and notes. */

void tn_capture_begin(tn_buffer *answer, const tn_listener *listener);
void tn_capture_end(void);

/* Progress on standard error: a bar with rate and time left on a terminal, a line now and then elsewhere. */

typedef struct tn_watch {
    tn_progress progress; /* give its address to the worker */
    const char *what;     /* "designs"; that of the moment, where work has several steps */
    const char *detail;   /* of the moment: "loss 0.52, rate 0.008"; NULL: none */
    double started_seconds, shown_seconds;
    bool terminal, shown;
    const tn_listener *listener;
} tn_watch;

void tn_watch_begin(tn_watch *watch, const char *what, bool quiet);
/* Clears the bar. */
void tn_watch_end(tn_watch *watch);

/* What `tenfold sweep` and `tenfold merge` say at their end. */

extern const tn_record tn_summary_record; /* keys of its JSON */
tn_status tn_print_summary(const tn_summary *summary, const char *folder, bool json, tn_error *error);

/* Says that the result is not of the whole space, where that is so; `aside`: on standard error. */
void tn_print_incomplete(const tn_result *result, bool aside);

/* Prints and frees the buffer; a buffer that ran out of memory prints nothing and is that failure. */
tn_status tn_output(tn_buffer *out, tn_error *error);
/* Only where making it went well; `status` is what that gave. */
tn_status tn_output_made(tn_status status, tn_buffer *out, tn_error *error);

/* The command whose answer follows: "cost". */
void tn_answer_named(const char *command);
/* Opens the one JSON object of an answer, with its first key, "schema": "tenfold.cost/1". The caller ends it. */
void tn_answer_begin(tn_json *json, tn_buffer *out);

/* A record as the one JSON object of an answer; rows of it as a table; one with a line a column. */
tn_status tn_output_json(const tn_record *record, const void *row, tn_error *error);
tn_status tn_output_rows(const tn_record *record, const void *rows, size_t count, tn_error *error);
tn_status tn_output_lines(const tn_record *record, const void *row, tn_error *error);
/* A list of names: one a line, or {"key": [...]}. */
tn_status tn_output_names(const char *key, const char *const *name, size_t count, bool json, tn_error *error);

/* A line on standard error, as printf. */
void tn_note(const char *format, ...) TN_PRINTF(1, 2);

/* Words for people, as printf. */
void tn_say(const char *format, ...) TN_PRINTF(1, 2);
/* The same as a paragraph that begins with `label`, as wide as the terminal (80 columns), further lines `indent` blanks in. */
void tn_say_folded(const char *label, size_t indent, const char *format, ...) TN_PRINTF(3, 4);
/* A heading above a table: an empty line, and the text underlined on a terminal. */
void tn_say_heading(const char *text);

/* Columns of the terminal; 80 where it is none. */
size_t tn_output_width(void);
/* Prints and frees the table, as wide as that, its head in bold on a terminal unless NO_COLOR is set. */
tn_status tn_table_end(tn_table *table, tn_error *error);

/* At the end of the program: TN_IO if anything did not reach standard output. *closed: because its reader has
 * gone, of which nobody wants to hear. */
tn_status tn_output_finish(bool *closed, tn_error *error);

#endif
