/* What keys are called where people read them: one table of titles and units for the heads of tables, the axes, ticks and
 * legends of figures, and the report. Keys themselves are what programs read (JSON, CSV, --set).
 *
 *     on_chip_bytes       "on-chip memory", unit B: "on-chip memory, MiB" where the values are of some MiB
 *     weights.query.rank  no row of its own: "rank of query", by its last word and what stands before it
 */
#ifndef TN_TEXT_WORDS_H
#define TN_TEXT_WORDS_H

#include "base/buffer.h"
#include "text/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tn_word {
    const char *key, *title;
    const char *
        unit; /* of the value as it is kept: s, J, W, B (bytes), MHz; %: it is kept as a share of 1; "": a count */
    const char *plain; /* what it is, in a sentence; NULL: the title says it */
} tn_word;

extern const tn_word tn_words[];
extern const size_t tn_words_count;

/* NULL: the key has no row. */
const tn_word *tn_word_find(const char *key);
/* Its unit; "" without a row. */
const char *tn_word_unit(const char *key);
/* The title, of any key. */
void tn_word_put_title(const char *key, tn_buffer *out);
/* The head of a column or the label of an axis: the title, and the unit with its prefix: ", MiB". */
void tn_word_put_head(const char *key, const char *prefixed, tn_buffer *out);

/* A unit with the prefix in which a value of it reads best: the value times `scale` is between 1 and 1,000 of it, where
 * there is such a prefix. Seconds go over to minutes, hours and days, bytes by 1,024. */
typedef struct tn_prefix {
    const char *unit; /* "ms"; "" of a count below a million, else "M", "G", ... */
    double scale;
} tn_prefix;
tn_prefix tn_prefix_of(const char *unit, double value);
/* The prefix of a whole axis or column, by its least and greatest absolute value. */
tn_prefix tn_prefix_between(const char *unit, double least, double most);
/* The table behind both, for a page that says quantities by itself: {unit: [[prefixed, scale, least], ..], ..}, rising; a value
 * takes the last prefix in which it comes to `least` or more. */
void tn_prefixes_put(tn_json *json);
/* What `name` (ms, MiB, GB, kJ, h, ..) is of the unit: 1e-3, 1048576; 0: it is none of it. */
double tn_unit_factor(const char *unit, const char *name, size_t length);
/* A value and its unit: "19.4 s", "67.5 h", "7.16 MiB", "98.3 %", "1,253,376"; text holds at least 48 bytes. */
const char *tn_quantity_text(double value, const char *unit, char *text);
/* Three or four significant digits, thousands separated: "19.4", "12,345". */
const char *tn_plain_text(double value, char *text);

#endif
