/* What a search for designs that may be on a front (results/possible.h) works with. Inside the room.
 *
 * Neighbours of the front (results/neighbours.h) are looked at step by step: whatever may be on the front in enough draws by what
 * bounds its costs is priced. What may be in fewer draws is a candidate, priced only where it may take a draw from a design that is.
 */
#ifndef TN_RESULTS_POSSIBLE_STUDY_H
#define TN_RESULTS_POSSIBLE_STUDY_H

#include "results/contested.h"
#include "results/neighbours.h"
#include "results/rivals.h"
#include "search/evaluator.h"

/* A neighbour of the front that no bound refuses. */
typedef struct tn_possible_candidate {
    tn_learned_rival design; /* costs at least */
    uint64_t outer;          /* its step */
    tn_draw_set
        open; /* draws in which nothing that is known dominates it; none: nothing depends on it any more */
} tn_possible_candidate;

typedef struct tn_candidates {
    size_t count, capacity;
    tn_possible_candidate *item;
} tn_candidates;

/* Neighbours, or candidates, of one combination and step. */
typedef struct tn_possible_group {
    size_t begin, end, combination;
    size_t of_combination; /* neighbours of the combination, those of its other steps among them */
} tn_possible_group;

/* Designs that are priced, as rivals and in full. */
typedef struct tn_priced_designs {
    size_t count, rival_capacity, evaluation_capacity;
    tn_learned_rival *rival;
    tn_evaluation *evaluation;
} tn_priced_designs;

/* What one thread works with. */
typedef struct tn_possible_worker {
    tn_evaluator *evaluator;
    tn_rival_view front, known;
    tn_contest contest;
    size_t combination;
    tn_archive alike; /* priced designs of that combination */
    tn_priced_designs priced;
    tn_candidates likely, candidates; /* of one group; of all that it was given */
} tn_possible_worker;

typedef struct tn_possible_study {
    const tn_space *space;
    size_t accuracy; /* its place among the objectives */
    int threads;
    tn_possible_worker *worker; /* [threads] */
    tn_learned learned;
    const tn_point *point;           /* of the front */
    const tn_evaluation *evaluation; /* of the front */
    size_t members;                  /* of the front */
    tn_learned_rival *member;        /* the same as rivals */
    tn_front_neighbours neighbours;
    size_t neighbours_most;
    tn_rivals front, known;
    tn_arena known_arena;
    tn_priced_designs priced; /* besides the front */
    tn_candidates candidates;
    tn_possible_group *group;
    size_t groups, group_capacity;
    size_t contested_designs;
    tn_contested_design *contested_design; /* [contested_designs] */
    tn_contested contested;
    tn_status status;
    tn_error error;
} tn_possible_study;

/* Whether a design may be on the front in enough draws to be listed. */
bool tn_is_likely(const tn_draw_set *draws);

/* ---- threads ---- */

/* Groups after which all threads hear of what the others have priced. */
static inline size_t tn_possible_groups_at_once(const tn_possible_study *study) {
    return 32 * (size_t)study->threads;
}

tn_status tn_possible_workers_begin(tn_possible_study *study, tn_error *error);
void tn_possible_workers_free(tn_possible_study *study);

/* Does the task for each index from begin to end - 1; a thread takes at_once of them, one behind the other. TN_INTERRUPTED by
 * interruptions. */
typedef tn_status tn_possible_task(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                                   tn_error *error);
tn_status tn_possible_run(tn_possible_study *study, tn_possible_task *task, size_t begin, size_t end,
                          size_t at_once, tn_error *error);

/* For a task, between designs: TN_INTERRUPTED where it is to stop. Within one no interruption is heard, as a search of flows that
 * is cut short makes another design. */
tn_status tn_possible_check_interrupt(tn_error *error);

/* What the threads have priced becomes known to all. */
tn_status tn_possible_gather(tn_possible_study *study, tn_error *error);
/* What all threads hold others against: such rivals; */
tn_status tn_possible_view_known(tn_possible_study *study, const tn_rivals *rivals, bool ties,
                                 tn_error *error);
/* or the priced designs from that place on. */
tn_status tn_possible_renew_known(tn_possible_study *study, size_t begin, bool ties, tn_error *error);

/* ---- prices ---- */

/* A candidate that is priced is none any more. */
tn_status tn_possible_price(const tn_possible_study *study, tn_possible_worker *worker,
                            tn_possible_candidate *candidate, tn_error *error);

/* Prices all neighbours that may be on the front in enough draws, and lists the candidates that are left. */
tn_status tn_possible_price_likely(tn_possible_study *study, tn_error *error);

/* ---- draws ---- */

/* Lists the front and the priced designs that are likely to be on it, with the draws in which they are: prices what may take
 * some of them. */
tn_status tn_possible_settle(tn_possible_study *study, tn_arena *arena, tn_error *error);

#endif
