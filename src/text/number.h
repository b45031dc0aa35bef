/* Numbers as people type them (whole text or nothing; shared by YAML, CSV and command-line options), and as
 * programs and people read them. Independent of the locale. */
#ifndef TN_TEXT_NUMBER_H
#define TN_TEXT_NUMBER_H

#include "base/big.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TN_NUMBER_RANGE: a number, but one that its type can't hold (too large, negative, or so small that it would
 * be taken as zero). */
typedef enum tn_number_status { TN_NUMBER_OK, TN_NUMBER_MALFORMED, TN_NUMBER_RANGE } tn_number_status;

/* A whole number of 0 to 2^64-1: digits, with _ between digits allowed, or an exact 1e6 or 2.5e3. */
tn_number_status tn_read_count(const char *text, uint64_t *value);
/* A finite decimal number. "nan", "inf" and hexadecimal are malformed. */
tn_number_status tn_read_real(const char *text, double *value);

/* The shortest decimal of `value` that reads back equal, as JSON and CSV print it; "nan", "inf" or "-inf" for
 * what is not finite; 32 bytes always suffice. */
void tn_real_text(double value, char *text, size_t capacity);

/* For people: with so many digits behind the point (FIXED 0.25, POWER 2.5e-01) or significant ones, those behind them as zeros
 * (ROUGH 220) or as a power (SIGNIFICANT 2.2e+02). */
typedef enum tn_number_style {
    TN_NUMBER_SIGNIFICANT,
    TN_NUMBER_FIXED,
    TN_NUMBER_POWER,
    TN_NUMBER_ROUGH
} tn_number_style;
void tn_rounded_text(double value, tn_number_style style, int digits, char *text, size_t capacity);

/* "1,253,376"; text holds at least 32 bytes, as in the next two. */
const char *tn_count_text(uint64_t value, char *text);
/* The same up to 15 digits, beyond them as 1.2e43. */
const char *tn_big_words(const tn_big *value, char text[TN_BIG_TEXT]);
/* With an SI prefix and three digits: "1.25 M". */
const char *tn_si_text(double value, const char *unit, char *text);
/* Of what is not known better, two digits: "220 mJ". */
const char *tn_si_rough(double value, const char *unit, char *text);
/* Binary: "5.91 MiB". */
const char *tn_bytes_text(double bytes, char *text);

#endif
