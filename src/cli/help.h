/* What `tenfold help` says: the commands in groups, and of any word (a key of a file, a quantity, a flow, a format, a technique,
 * a word of the answers) what the row says that declares it. */
#ifndef TN_CLI_HELP_H
#define TN_CLI_HELP_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>

/* Appends the page of all commands. */
void tn_help_commands(tn_buffer *out);
/* Appends what is known of a word, by its whole name or by the last part of it; false: nothing is. */
bool tn_help_word(const char *word, tn_buffer *out);
/* The nearest of all words; NULL: none is near. Lives in `arena`. */
const char *tn_help_near(const char *word, tn_arena *arena);
/* Every key that --set takes, with its path ("build.rows"), in the arena. */
tn_status tn_help_keys(tn_arena *arena, const char ***key, size_t *count, tn_error *error);

#endif
