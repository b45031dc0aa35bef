/* The questions of `tenfold hardware`: what each takes, what it answers, and the call of the library that
 * answers it. One table serves options, columns of a batch, usage text and output. */
#ifndef TN_CLI_HARDWARE_QUESTIONS_H
#define TN_CLI_HARDWARE_QUESTIONS_H

#include "hardware/device.h"
#include "text/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_PARAMETERS_MOST = 16 };

typedef struct tn_parameter {
    const char *name;           /* option without its dashes, column of a batch */
    const char *fallback;       /* NULL: required */
    const char *const *choices; /* ended by NULL; NULL: a whole number; tn_sizes: "12x14x48" */
    const char *help;
} tn_parameter;

extern const char *const tn_sizes[]; /* no choices: the question reads the text itself */

/* What a question knows: the device is NULL where none was given. */
typedef struct tn_question_values {
    const tn_device *device;
    uint64_t value[TN_PARAMETERS_MOST];   /* whole numbers, or positions in `choices` */
    const char *text[TN_PARAMETERS_MOST]; /* as given; NULL for what is no text */
} tn_question_values;

typedef struct tn_question {
    const char *name, *summary;
    const char *device; /* taken where none is given; NULL: it needs none */
    const tn_parameter *parameter;
    size_t parameters;
    const tn_record *record; /* of the answer */
    /* Fills the struct that `record` is of, which is zeros. */
    tn_status (*ask)(const tn_question_values *values, void *answer, tn_error *error);
} tn_question;

/* Fills in the names that come from tables of the library; before anything else here. */
void tn_questions_prepare(void);

extern const tn_question tn_questions[];
extern const size_t tn_questions_count;

#endif
