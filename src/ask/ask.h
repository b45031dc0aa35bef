/* One call for every command: what `tenfold COMMAND ... --json` would print, asked and answered as JSON.
 *
 *     {"command": "cost", "arguments": ["atis-2enc"],
 *      "options": {"device": "u50", "set": {"build.rows": 8}}}
 *
 * `command` is a name of `tenfold help`; `arguments` a list of texts and numbers; `options` an object of the
 * command's own options without their dashes ("device" of --device, "o" of -o). A flag takes true or false, what may
 * be repeated a text, a list, or an object of what is set apart by "=", all others a text, a number, or a list or an
 * object of what is set apart by commas ({"a": 32, "b": 8} is "a=32,b=8"). null is an option that is not given, and
 * true and false in a value are the words. Unknown names are refused with the nearest known one.
 *
 * The answer is one JSON object in UTF-8 whose first key is "schema": "tenfold.COMMAND/1" (docs/ask.md). "No" is
 * an answer as well: what the program says by exit status 1 is in the object ("ok": false, "fits": false).
 */
#ifndef TN_ASK_ASK_H
#define TN_ASK_ASK_H

#include "base/clock.h"
#include "base/error.h"
#include "base/public.h"

TN_PUBLIC_BEGIN

/* What is heard while it is answered goes to `listener`, which may be NULL. *answer is freed by tn_answer_free, and NULL on failure. An error without a file is the request's: line and column,
 * where known, are of its text. May be called from several threads at once; tn_interrupt (base/interrupt.h) ends all
 * of them with TN_INTERRUPTED, and tn_interrupt_clear allows new ones. */
tn_status tn_ask(const char *request, char **answer, tn_error *error);
tn_status tn_ask_heard(const char *request, const tn_listener *listener, char **answer, tn_error *error);
void tn_answer_free(char *answer);

/* The library's version, "0.1.0". */
const char *tn_version(void);

TN_PUBLIC_END

#endif
