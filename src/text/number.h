/* Numbers as people type them: whole text or nothing. Shared by YAML, CSV and command-line options. */
#ifndef TN_TEXT_NUMBER_H
#define TN_TEXT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TN_NUMBER_RANGE: a number, but one that its type can't hold (too large, negative, or so small that it would
 * be taken as zero). */
typedef enum tn_number_status { TN_NUMBER_OK, TN_NUMBER_MALFORMED, TN_NUMBER_RANGE } tn_number_status;

/* A whole number of 0 to 2^64-1: digits, with _ between digits allowed, or an exact 1e6 or 2.5e3. */
tn_number_status tn_read_count(const char *text, uint64_t *value);
/* A finite decimal number. "nan", "inf" and hexadecimal are malformed. Independent of the locale. */
tn_number_status tn_read_real(const char *text, double *value);

/* The shortest decimal of `value` that reads back equal, as JSON and CSV print it; "nan", "inf" or "-inf" for
 * what is not finite. Independent of the locale; 32 bytes always suffice. */
void tn_real_text(double value, char *text, size_t capacity);

#endif
