/* Measured accuracy, or perplexity, of what a space's choices train, from a CSV file such as `tenfold accuracy` writes, and the model of
 * these measurements (space/accuracy_model.h), which says what any other design of the space learns.
 *
 * Columns, found by name, in any order:
 *
 *   accuracy           0 to 1, on dev: the mean over the seeds that did not collapse; or
 *   perplexity         of the next byte, at least 1: e to that mean of the loss. The model of measurements then has 1 - ln perplexity
 *                      / ln 256 as accuracy, the share of a byte's bits that need not be told
 *   one for each choice that accuracy depends on, under its key or the key's last word: `folding`, `rank`,
 *                      `weights.table.rank`, `precision.products`, `model`. An empty rank: the weight is whole. Other choices
 *                      (flows, parallelism, memories) change no accuracy and have none
 *   epochs             passes over the sentences: rows of other passes than most count, by the model's effect of passes
 *   seeds, collapsed   how many, and how many of them came to nothing; rows of which all did are left out
 *   seed_list          the seeds: "1 2"; then what a seed does to every design is told from what it does to one
 *   spread             standard deviation over the seeds
 *   test_accuracy, or test_intent_accuracy and test_slot_accuracy, of which it is the mean; beside perplexity test_loss
 *   what only tells how a row came about: id, parameters, sentences, seconds, command, other scores
 *
 * A row of format `constant` is the least accuracy, that of one answer to all; one whose ranks are empty, `dense`, is the model
 * that is not compressed, towards which accuracy rises with the ranks.
 */
#ifndef TN_SPACE_ACCURACY_TABLE_H
#define TN_SPACE_ACCURACY_TABLE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "space/accuracy_model.h"
#include "space/axis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* What an estimate rests on, from the surest. */
typedef enum tn_accuracy_basis {
    TN_ACCURACY_MEASURED, /* the design was trained */
    TN_ACCURACY_BETWEEN,  /* its ranks lie between trained ones, all else equal */
    TN_ACCURACY_CARRIED,  /* the model carries it over from other foldings, ranks or levels */
    TN_ACCURACY_UNKNOWN,  /* a level that no row has */
} tn_accuracy_basis;

typedef struct tn_accuracy_column {
    const char *name;
    size_t column;            /* of the file */
    const char **level;       /* texts of foldings and levels, [levels] of the model's choice */
    size_t axis;              /* the space's choice that gives its value, SIZE_MAX: none */
    tn_accuracy_value *value; /* of each value of that choice; of none: one, what the model file has */
    size_t values;
} tn_accuracy_column;

typedef struct tn_accuracy_table {
    size_t rows; /* that count; 0: no table */
    tn_accuracy_measurement *row;
    size_t *line;   /* of each: its row in the file */
    size_t columns; /* choices */
    tn_accuracy_column *column;
    tn_accuracy_choice *choice; /* [columns] */
    tn_accuracy_model model;
    double constant, constant_test; /* of one answer to all, 0 and NAN: unknown */
    size_t seeds;                   /* that the rows tell apart */
    uint64_t sentences;             /* trained on; 0: the file does not say */
    double answers;                 /* of how many the perplexities are; 0: the file has accuracies */
    const char **command,
        **seed_list; /* [rows]: that trained a row, but for data and seed; NULL: no such column */
    const char *path, *text;
    size_t length; /* the file as it was read */
} tn_accuracy_table;

/* Whether a choice changes what is computed: format, folding, rank, a key of the model but those that
 * say how a step is done (flow, update, activations ..). */
bool tn_accuracy_depends_on(const tn_axis *choice);
/* Whether it is a key that a model for inference may have after it was trained without it. */
bool tn_accuracy_is_of_inference(const tn_axis *choice);
/* The column of choice i: the last word of its key, "rank" of weights.square.rank, where no other choice that accuracy
 * depends on ends so, else the key. */
const char *tn_accuracy_column_name(const tn_axis *choice, size_t choices, size_t i);

/* Columns of a table that are no choices. */
bool tn_accuracy_is_record(const char *column);

/* Reads and fits. */
tn_status tn_accuracy_table_read(const char *path, tn_arena *arena, tn_accuracy_table *table,
                                 tn_error *error);
/* Finds the column of every choice that accuracy depends on; what has none is as `model` (NULL: the usual) says. */
tn_status tn_accuracy_table_bind(tn_accuracy_table *table, const tn_axis *axis, size_t axes,
                                 const tn_model *model, tn_arena *arena, tn_error *error);

/* value[columns] of the design that has the value digit[i] of choice i, for the model; */
void tn_accuracy_table_values(const tn_accuracy_table *table, const size_t *digit, tn_accuracy_value *value);
/* of a setting of one column by its text. False where the text is no rank or folding. */
bool tn_accuracy_table_value(const tn_accuracy_table *table, size_t column, const char *text,
                             tn_accuracy_value *value);
/* As the rows most often have it, of every column; ranks are those of most rows too. */
void tn_accuracy_table_usual(const tn_accuracy_table *table, tn_accuracy_value *value);

/* What is known of a design with these values: NAN where the basis is unknown. Ranks of a weight whose format is dense do
 * not count. */
tn_accuracy_estimate tn_accuracy_table_at(const tn_accuracy_table *table, const tn_accuracy_value *value,
                                          double passes, tn_accuracy_basis *basis);
/* The row that measured it with so many passes, or NULL. */
const tn_accuracy_measurement *tn_accuracy_table_row(const tn_accuracy_table *table,
                                                     const tn_accuracy_value *value, double passes);
/* The quantity that the file has, "accuracy" or "perplexity", and an accuracy of the model as that; NAN stays. */
const char *tn_accuracy_table_quantity(const tn_accuracy_table *table);
double tn_accuracy_table_told(const tn_accuracy_table *table, double accuracy);
/* And as an objective to minimise. */
double tn_accuracy_to_minimise(const tn_accuracy_table *table, double accuracy);
/* The same of an estimate: deviation and interval, too. */
tn_accuracy_estimate tn_accuracy_table_told_estimate(const tn_accuracy_table *table,
                                                     tn_accuracy_estimate estimate);
/* The answers that a perplexity of text is told among: bytes. */
extern const double tn_accuracy_bytes;
/* The accuracy that stands for a mean loss of one of `answers`. */
double tn_accuracy_of_loss(double loss, double answers);

/* The ends between which all that is learned lies, as told; NAN: unknown, as without a table. */
typedef struct tn_accuracy_ends {
    double dense, constant;
} tn_accuracy_ends;
tn_accuracy_ends tn_accuracy_table_ends(const tn_accuracy_table *table);

/* Of the dense model; NAN mean where the table has no rank. */
tn_accuracy_estimate tn_accuracy_table_dense(const tn_accuracy_table *table);

TN_PUBLIC_END

#endif
