/* `tenfold ranks`: its options, and the three things it does (one file each). */
#ifndef TN_CLI_RANKS_H
#define TN_CLI_RANKS_H

#include "base/error.h"
#include "base/memory.h"
#include "cli/options.h"
#include "decompose/factored.h"
#include "decompose/truncated_svd.h"
#include "ranks/problem.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_RANKS_LIST = 256 };

typedef struct tn_ranks_asked {
    tn_common common;
    const char *model;                                                    /* allocate for a model's layers */
    const char *point, *weights, *covariance, *accuracy, *device, *depth; /* with it */
    const char *cores;                         /* type of cores.safetensors: f32, f16, bf16; NULL: none */
    tn_half half;                              /* from it */
    const char *matrix, *tensor, *case_folder; /* decompose one matrix */
    const char *table;                         /* allocate from a table */
    const char *format, *cap, *tolerance, *method, *minimise, *output;
    double max_error, layer_error; /* NAN: not given */
    uint64_t seed, tokens, states;
    bool transpose, spectrum;
    tn_option_list fold, budget, set, keep;
} tn_ranks_asked;

tn_status tn_ranks_matrix(const tn_ranks_asked *asked, tn_error *error);
tn_status tn_ranks_model(const tn_ranks_asked *asked, int *answer, tn_error *error);

/* A list of texts apart at commas; the texts live in `arena`. */
typedef struct tn_ranks_texts {
    size_t count;
    const char *item[TN_RANKS_LIST];
} tn_ranks_texts;
tn_status tn_ranks_split(const char *text, const char *option, tn_arena *arena, tn_ranks_texts *texts,
                         tn_error *error);
tn_status tn_ranks_format(const char *name, tn_format *format, tn_error *error);
tn_status tn_ranks_method(const char *name, tn_svd_method *method, tn_error *error);
/* A weight from --format, --fold and one item of --cap (a rank, or all of them as 1x12x..x1). */
tn_status tn_ranks_weight(tn_format format, const char *fold, const char *cap, tn_weight *weight,
                          tn_error *error);
tn_status tn_ranks_tolerance(const char *text, double *tolerance, tn_error *error);
/* --budget KEY=VALUE, --max-error and --minimise for a problem. `most_error` is squared. whole[costs]: what a percentage
 * of a cost is of, NaN where of nothing; NULL: none is of anything. */
tn_status tn_ranks_goal(const tn_ranks_asked *asked, const tn_rank_problem *problem, const double *whole,
                        double most_error, tn_rank_goal *goal, tn_error *error);

/* "12x8x8" and "1 12 12 1"; text holds TN_RANKS_TEXT bytes. */
enum { TN_RANKS_TEXT = 21 * TN_RANKS_MOST };
const char *tn_ranks_product_text(const uint64_t *factor, size_t count, char *text);
const char *tn_ranks_list_text(const uint64_t *rank, size_t count, char *text);

/* What every answer of this command must say about its errors. */
extern const char tn_ranks_caution[];

extern const tn_record tn_ranks_matrix_record, tn_ranks_solution_record; /* keys of their JSON */

#endif
