/* The questions of `tenfold hardware`: what each takes, what it answers, and the call of the library that
 * answers it. One table serves options, columns of a batch, usage text and output. */
#ifndef TN_CLI_CMD_HARDWARE_H
#define TN_CLI_CMD_HARDWARE_H

#include "device/device.h"
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

/* A question of the file that calls it: of NAME_parameters, NAME_record and ask_NAME there. */
#define TN_QUESTION(title, needs, text)                                                                      \
    {                                                                                                        \
        .name = #title, .summary = text, .device = needs, .parameter = title##_parameters,                   \
        .parameters = sizeof title##_parameters / sizeof *title##_parameters, .record = &title##_record,     \
        .ask = ask_##title                                                                                   \
    }
extern const tn_question tn_question_memory, tn_question_layout,
    tn_question_layer; /* hardware_question_kernel.c */
extern const tn_question tn_question_multiply, tn_question_array, tn_question_training, tn_question_dot,
    tn_question_loop;                        /* cmd_hardware.c */
extern const tn_question tn_question_kernel; /* hardware_question_kernel.c */

/* Fills in the names of vector kernels, which the library has in a table; before tn_question_kernel is read. */
void tn_question_kernel_prepare(void);

/* All of them, as help lists them. */
extern const tn_question *const tn_questions[];
extern const size_t tn_questions_count;

#endif
