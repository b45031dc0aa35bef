/* JSON out: a writer that keeps commas and nesting right. (Reading is jansson's.)
 * Doubles are printed with the fewest digits that read back equal; NaN and infinity become null; bytes that
 * are not UTF-8 become U+FFFD. Nesting over 63 levels fails the buffer with TN_LIMIT. */
#ifndef TN_TEXT_JSON_H
#define TN_TEXT_JSON_H

#include "base/big.h"
#include "base/buffer.h"
#include "text/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_JSON_LEVELS = 64 };

typedef struct tn_json {
    tn_buffer *out;
    unsigned depth;
    bool after_key;
    bool after_item[TN_JSON_LEVELS]; /* per level: a comma is due */
    bool compact[TN_JSON_LEVELS];    /* per level: on one line */
    bool array[TN_JSON_LEVELS];      /* per level: ends with ] */
} tn_json;

void tn_json_begin(tn_json *json, tn_buffer *out); /* starts the document */
void tn_json_object(tn_json *json);                /* { */
void tn_json_array(tn_json *json);                 /* [ */
void tn_json_row(tn_json *json);                   /* [ kept on one line, with all it holds */
void tn_json_end(tn_json *json);                   /* } or ] of the innermost; the outermost ends the line */
void tn_json_key(tn_json *json, const char *key);

void tn_json_text(tn_json *json, const char *value); /* NULL: null */
void tn_json_count(tn_json *json, uint64_t value);
void tn_json_big(tn_json *json,
                 const tn_big *value); /* a number up to 2^63 - 1, above it a string of its digits */
void tn_json_real(tn_json *json, double value);
void tn_json_bool(tn_json *json, bool value);
void tn_json_null(tn_json *json);
void tn_json_counts(tn_json *json, const uint64_t *value, size_t count); /* a list on one line */

/* A string in quotes, what must be escaped escaped; also a double-quoted string of YAML. */
void tn_json_quote(const char *text, tn_buffer *out);

/* key and value in one */
void tn_json_put_text(tn_json *json, const char *key, const char *value);
void tn_json_put_count(tn_json *json, const char *key, uint64_t value);
void tn_json_put_real(tn_json *json, const char *key, double value);
void tn_json_put_bool(tn_json *json, const char *key, bool value);
void tn_json_put_counts(tn_json *json, const char *key, const uint64_t *value, size_t count);

#endif
