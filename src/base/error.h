/* Status and error of the library.
 *
 * Every function that can fail returns a tn_status and, where its last argument `error` is not NULL, fills it
 * in: what is wrong, where, and what would be right. The library never prints, exits or aborts. On failure
 * output arguments are left untouched or zeroed, and nothing is leaked.
 */
#ifndef TN_BASE_ERROR_H
#define TN_BASE_ERROR_H

#include "base/public.h"

TN_PUBLIC_BEGIN

typedef enum tn_status {
    TN_OK = 0,
    TN_INPUT,       /* the caller's input or usage is wrong          (program exit status 2) */
    TN_OVERFLOW,    /* a count does not fit its 64 bits              (2) */
    TN_LIMIT,       /* the input is beyond a documented size limit   (2) */
    TN_MEMORY,      /* no memory                                     (3) */
    TN_IO,          /* disk full, missing file or missing program    (3) */
    TN_INTERRUPTED, /* stopped by a signal; what was finished stays  (130) */
} tn_status;

/* A place in an input. Lines and columns count from 1; 0 = unknown. `file` may be NULL. */
typedef struct tn_position {
    const char *file;
    unsigned line, column;
} tn_position;

typedef struct tn_error {
    tn_status status;
    unsigned line, column;
    char file[512];
    char message[1024];
} tn_error;

#if defined(__GNUC__)
#define TN_PRINTF(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#else
#define TN_PRINTF(format_index, first_argument)
#endif

/* Records the error and returns `status`. `error` may be NULL. Message style: "what is wrong; what would be
 * right". */
tn_status tn_fail(tn_error *error, tn_status status, const char *format, ...) TN_PRINTF(3, 4);
tn_status tn_fail_at(tn_error *error, tn_status status, tn_position position, const char *format, ...)
    TN_PRINTF(4, 5);
/* As above with ": " and the system's text for errno behind the message. Status TN_MEMORY for ENOMEM, else
 * TN_IO. */
tn_status tn_fail_system(tn_error *error, const char *file, int error_number, const char *what);
/* The same of a file that can't be opened or read: TN_INPUT where its name or what it is is wrong (missing, a
 * folder, not permitted), TN_MEMORY, and TN_IO for what lies outside (a failing disk, too many open files). */
tn_status tn_fail_reading(tn_error *error, const char *file, int error_number, const char *what);

/* Writes "FILE:LINE:COLUMN: message" (only the parts that are known) into `text` of `capacity` > 0 bytes, as
 * one line: control characters become "?". */
void tn_error_text(const tn_error *error, char *text, unsigned long capacity);

/* Returns from the calling function if `call` fails. */
#define TN_TRY(call)                                                                                         \
    do {                                                                                                     \
        tn_status tn_try_status_ = (call);                                                                   \
        if (tn_try_status_ != TN_OK) return tn_try_status_;                                                  \
    } while (0)

TN_PUBLIC_END

/* The place of an error in its input, added where whoever found it could not know. */

/* Adds the place to an error about an input that has none; returns `status`, as it is for all others. */
tn_status tn_fail_placed(tn_error *error, tn_status status, tn_position position);

#endif
