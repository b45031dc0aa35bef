/* Parts of `tenfold recommend`: what stands behind the recommended design, and what comes nearest where nothing
 * fits. */
#ifndef TN_CLI_CMD_RECOMMEND_H
#define TN_CLI_CMD_RECOMMEND_H

#include "design/explain.h"
#include "front/knee.h"
#include "results/goal.h"
#include "results/outside.h"
#include "results/recommendation.h"
#include "results/result.h"
#include "results/settled.h"
#include "text/record.h"

/* An objective of the knee beside the front's. */
typedef struct tn_knee_line {
    const char *objective;
    double value, best, worst; /* of the front */
    double place;              /* 0 the best, 1 the worst */
} tn_knee_line;

/* A design of a list. */
typedef struct tn_design_line {
    const char *chosen; /* the value that it is the best at; NULL: none */
    uint64_t design;
    double seconds_per_step, joules_per_step, on_chip_bytes, dsp, degrees_of_freedom;
    double accuracy, perplexity, relative_error; /* NAN: of a space without such a table */
    uint32_t obstacle;                           /* to its hardware (price/obstacle.h) */
} tn_design_line;

/* What is known of the design's accuracy. */
typedef struct tn_accuracy_grounds {
    const char *unlearned; /* a choice that changes what is learned where there is no table; else NULL */
    bool known;
    const char *quantity; /* "accuracy" or "perplexity"; all that follows is of it */
    double scale;         /* 100: people see per cent */
    tn_accuracy_estimate told, dense;
    tn_accuracy_basis basis;
    double constant, constant_test;    /* of one answer to all; NAN */
    uint64_t passes, sentences, seeds; /* seeds: with which the design itself was trained */
    double measured;                   /* what it came to then */
    double foretold,
        inside; /* rows of the table from the others: root mean square error, share in the interval */
    tn_settled settled;
} tn_accuracy_grounds;

/* `point`: the front's; `id`: the design that `choose` takes of them. */
tn_status tn_accuracy_grounds_find(const tn_result *result, const tn_point *point, size_t count, uint64_t id,
                                   tn_chooser choose, void *user, tn_arena *arena,
                                   tn_accuracy_grounds *grounds, tn_error *error);
/* Before all else, among the costs, behind the other changes of the question, and in JSON. */
void tn_accuracy_grounds_first(const tn_result *result, const tn_accuracy_grounds *grounds);
void tn_accuracy_grounds_cost(const tn_accuracy_grounds *grounds);
void tn_accuracy_grounds_firm(const tn_result *result, const tn_accuracy_grounds *grounds);
void tn_accuracy_grounds_json(const tn_accuracy_grounds *grounds, tn_json *json);

/* What the space left out (results/outside.h): as a section of the text, and in JSON. */
void tn_outside_print(const tn_outside *outside);
/* Of it the first change, a line of the words of the page. */
void tn_outside_words(const tn_outside *outside, tn_buffer *words);
extern const tn_record tn_outside_record;

typedef struct tn_grounds {
    size_t objectives;
    tn_knee_line *line; /* [objectives] */
    double distance;    /* of the knee from the best of everything */
    bool has_second;
    uint64_t second; /* the next nearest design */
    double second_distance;
    tn_robustness robustness;
    tn_outside outside;
    tn_accuracy_grounds accuracy;
    const char *choice; /* key of the choice; NULL: the space has none that sets ranks */
    size_t best_count;
    tn_design_line *best;
    double epsilon; /* NAN: not thinned */
    size_t thinned_count, front_count;
    tn_design_line *thinned;
} tn_grounds;

extern const tn_record tn_grounds_record; /* its keys, for JSON */

/* What is recommended, and all that is said of it. */
typedef struct tn_recommended {
    const tn_result *result;
    const tn_goal_choice *choice;
    const tn_condition *where;   /* NULL: none */
    const tn_result_row *row;    /* to build */
    const tn_result_row *second; /* by another goal; NULL: the same design */
    tn_goal second_goal;
    const tn_explanation *why; /* of `row` */
    const tn_grounds *grounds;
} tn_recommended;

/* The first page: lines "label<tab>text", and the same printed. */
tn_status tn_recommend_words(const tn_recommended *found, tn_buffer *words, tn_error *error);
tn_status tn_recommend_page(const tn_recommended *found, tn_error *error);
/* What is recommended where nothing is asked for, and its words. The front must hold a design. */
tn_status tn_recommend_default(const tn_result *result, tn_arena *arena, uint64_t *id, tn_buffer *words,
                               tn_error *error);

/* The nearest misses of a folder without a feasible design, and what would mend them. */
extern const tn_record tn_recommend_misses_record;
tn_status tn_recommend_misses(const tn_result *result, bool json, tn_arena *arena, tn_error *error);

#endif
