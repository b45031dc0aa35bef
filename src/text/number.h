/* Numbers as people type them: whole text or nothing. Shared by YAML, CSV and command-line options. */
#ifndef TN_TEXT_NUMBER_H
#define TN_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_number_status { TN_NUMBER_OK, TN_NUMBER_MALFORMED, TN_NUMBER_RANGE } tn_number_status;

/* A whole number of 0 to 2^64-1: digits, with _ between digits allowed, or an exact 1e6. */
tn_number_status tn_read_count(const char *text, uint64_t *value);
/* A finite decimal number. "nan", "inf" and hexadecimal are malformed. Independent of the locale. */
tn_number_status tn_read_real(const char *text, double *value);

#endif
