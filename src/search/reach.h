/* Designs priced as built and bounds of all designs on their way to each other (search/bounded_front.c). Inside the room. */
#ifndef TN_SEARCH_REACH_H
#define TN_SEARCH_REACH_H

#include "front/archive.h"
#include "search/decomposing.h"

/* A batch of designs to be priced. */
typedef struct tn_design_batch {
    size_t count, capacity;
    uint32_t *digit; /* [capacity][choices] */
    tn_evaluation *evaluation;
    uint32_t *cause;
    size_t room; /* of evaluation and cause */
} tn_design_batch;

typedef struct tn_reach {
    tn_decomposing *state;
    const tn_space *space;
    size_t choices, objectives;
    double asked;    /* the greatest factor that is asked for */
    uint64_t most;   /* designs */
    uint64_t random; /* state of the random numbers */
    uint32_t *like;  /* [units]: the first unit with the same options */
    uint64_t *seen;  /* hashes of designs that were priced, 0: none */
    size_t seen_slots, seen_count;
    tn_design_batch next;
    /* Members, those that were once on the front: */
    size_t members, member_room, digit_room, evaluation_room, log_room;
    tn_point *member;
    double *member_log; /* [members][objectives] */
    uint32_t *member_digit;
    tn_evaluation *evaluation;
    tn_archive archive;
    bool bounded;   /* every design that may enter has a bound: */
    tn_sums bounds; /* value = of objectives, left = task, right = point */
    size_t covered_room[4];
    double *bound_log; /* [bounds][objectives] */
    double *distance;  /* [bounds]: logarithm of the greatest ratio to the member that is nearest, */
    uint32_t *nearest; /* and which it is */
    uint32_t *tries;
} tn_reach;

/* Adds a design to be priced, if none with its digits was before. */
tn_status tn_reach_add_design(tn_reach *reaching, const uint32_t *digit, tn_error *error);
/* Whether the time or the number of designs is over. */
bool tn_reach_is_over(const tn_reach *reaching);
/* Prices what was added; those that fit and no member covers are members. */
tn_status tn_reach_price(tn_reach *reaching, tn_error *error);
/* Finds how near members from the first on are to each bound. */
void tn_reach_cover(tn_reach *reaching, size_t first_member);
/* Of an objective, by which distances are measured. */
double tn_reach_log(double value);

/* Fronts of the builds in wants[tasks]; what has a front keeps it where the time is over or there is no room. TN_INTERRUPTED where
 * one has none yet. */
tn_status tn_reach_find_fronts(tn_reach *reaching, const bool *wants, double epsilon, tn_error *error);
/* All bounds, and how near the members are to each; those of before where the time is over. */
tn_status tn_reach_gather_bounds(tn_reach *reaching, tn_error *error);

/* Finds which units have choices of the same kinds with as many values. */
tn_status tn_reach_find_likes(tn_reach *reaching, tn_error *error);
/* Adds designs whose like units have like options, under every build: all of them, or as many drawn. */
tn_status tn_reach_add_uniform(tn_reach *reaching, uint64_t most, tn_error *error);
/* Adds designs that may be near a bound. */
tn_status tn_reach_add_candidates(tn_reach *reaching, size_t bound, tn_error *error);
/* Of them a design with a few kinds of units, each of which has as many as the others or as fill a memory that cores share: drawn,
 * until one is drawn whose parts alone are no further from the bound than the nearest design. own: digits of the bound's. */
tn_status tn_reach_add_mix(tn_reach *reaching, const tn_build_task *job, const uint32_t *own, size_t bound,
                           tn_error *error);

/* A number below `count`. */
uint64_t tn_reach_below(tn_reach *reaching, uint64_t count);
void tn_reach_set_option(const tn_reach *reaching, uint32_t unit, uint64_t option, uint32_t *digit);
uint64_t tn_reach_option(const tn_reach *reaching, uint32_t unit, const uint32_t *digit);

#endif
