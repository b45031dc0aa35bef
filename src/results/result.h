/* The folder of a finished sweep:
 *   front.csv        one row per design of the front, by ascending id: id, the choices, every quantity with its unit
 *   recommended.csv  the same columns behind a `reason`: the knee of the front, and its best design at each value
 *                    of a choice
 *   possible.csv     the same behind `front_probability`, where accuracy is an objective: designs that may be on the front
 *   sweep.json       provenance: version, hashes of the inputs, seed, objectives, counts, hypervolume
 *   sweep.db         (results/sweep_db.h)
 *   sweep.lock       held by whoever writes in the folder
 *   space.yaml, model.yaml, device.yaml, error_table.csv, accuracy_table.csv   the inputs as resolved, so that the folder can be validated
 *                    and plotted alone
 * All are replaced whole or not at all. Whoever reads a folder takes it for anybody's: what its files say is
 * checked, and the inputs must have the hashes of sweep.json.
 */
#ifndef TN_RESULTS_RESULT_H
#define TN_RESULTS_RESULT_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "front/hypervolume.h"
#include "results/sweep.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_UNDEFINED_SHOWN = 16 };

/* Designs whose weight has a format without the flow; or, where `weight` is NULL, whose keys can't be combined. */
typedef struct tn_undefined_line {
    const char *weight, *format, *flow;
    uint32_t factors; /* per side */
    uint64_t designs;
    uint64_t first; /* the least id of them, */
    char why[256];  /* and what is wrong with that one */
} tn_undefined_line;

/* What is reported of a sweep besides its rows. */
typedef struct tn_summary {
    const char *space;
    uint64_t designs, evaluated, feasible, front;
    uint64_t possible;           /* designs besides that may be on it (results/possible.h), */
    double possible_least_doubt; /* of those looked at, */
    uint64_t possible_most;      /* which are no more than that */
    /* What `feasible` and the causes were counted by: "price"; "bound", what designs cost at least (search/evaluator.h), so that
     * some of those that count as feasible do not fit as laid; "set", what sets of designs do. */
    const char *counted_by;
    const tn_big *size; /* what `designs` says, whatever its size */
    size_t causes;
    const char *cause[TN_CAUSES + 1]; /* of rejection, with counts, those that occurred */
    uint64_t cause_count[TN_CAUSES + 1];
    size_t undefined_count; /* the first of them, where there are more */
    tn_undefined_line undefined[TN_UNDEFINED_SHOWN];
    tn_hypervolume hypervolume;
    tn_completion completion;
    uint64_t shard, shards; /* it is a part; 0 of 0: the whole */
    double seconds, designs_per_second;
    uint64_t knee; /* id; meaningless where the front is empty */
    const char *method,
        *refused; /* refused: why it is not by decomposition, where that was tried; else NULL */
    bool certified, exact;
    bool goes_on; /* an enumeration that was cut short: resuming sees the rest */
    size_t objectives;
    const tn_quantity *objective[TN_OBJECTIVES_MOST];
    double factor[TN_OBJECTIVES_MOST]; /* where certified, one for each objective */
    const struct tn_shortage
        *shortage; /* why nothing fits (results/shortage.h); NULL: something does, or nobody asked */
} tn_summary;

/* Sweeps into the folder, and writes its files. No other process may write in it meanwhile; while a front is looked for that is not
 * enumerated it may. Method auto enumerates where it can and neither epsilon nor seconds are given, or seconds alone that may be enough
 * to see all, or tables of parts would take as long. Else it decomposes; where it is refused that, or tables take too much of the
 * time, it enumerates, and evolves where it can't.
 * Texts of *summary live in the space. */
tn_status tn_sweep_folder(const tn_space *space, const tn_sweep_options *options, const char *folder,
                          const tn_progress *progress, tn_summary *summary, tn_error *error);

/* Writes the files of the folder whose store is open from an outcome. */
tn_status tn_result_write(tn_sweep_db *store, const char *folder, const tn_space *space,
                          const tn_sweep_options *options, tn_outcome *outcome, tn_summary *summary,
                          tn_error *error);

/* The summary's keys in what `tenfold sweep --json` prints. */
struct tn_json;
void tn_summary_keys(const tn_summary *summary, struct tn_json *json);

/* One design of a result. */
typedef struct tn_result_row {
    uint64_t id;
    const char *reason;  /* recommended ones; else "" */
    const double *value; /* [tn_quantities_count], in the order of tn_quantities; NaN: unknown */
} tn_result_row;

/* The row's value of the quantity of that name; NaN for another name. */
double tn_result_value(const tn_result_row *row, const char *quantity);

typedef struct tn_result {
    const char *folder;
    tn_space *space; /* of the folder's own copies of the inputs */
    tn_completion completion;
    uint64_t evaluated;     /* designs, of space->choices.designs */
    uint64_t shard, shards; /* the folder is a part of a sweep; 0 of 0: a whole one */
    size_t front_count, recommended_count;
    tn_result_row *front, *recommended;
} tn_result;

/* The space of a folder, from its own copies of the inputs; one that is not the one that was swept is TN_INPUT
 * that names it. `result` (may be NULL) gets completion and evaluated. */
tn_status tn_result_space(const char *folder, tn_arena *arena, tn_space **space, tn_result *result,
                          tn_error *error);

/* The front's objectives as points to minimise (maximised ones negated), in its order; in the arena. */
tn_status tn_result_points(const tn_result *result, tn_arena *arena, tn_point **point, tn_error *error);

/* Reads a folder. The quantities of the rows are read from the files, not evaluated anew. */
tn_status tn_result_load(const char *folder, tn_arena *arena, tn_result *result, tn_error *error);

/* The design of the folder's space that has that id (NULL: the recommended one), which the evaluator then holds evaluated. Its
 * quantities are those of the files where they have it. TN_INPUT: the space has no such design. */
tn_status tn_result_design(const tn_result *result, tn_evaluator *evaluator, const uint64_t *id,
                           tn_arena *arena, tn_result_row *row, tn_error *error);

TN_PUBLIC_END

#endif
