/* The threads that execute a step together: each one takes its share of an operation and waits for the others. What
 * the shares are of (rows, matrices of a batch, pieces of a product) follows from the operation alone, so that results
 * do not depend on how many threads there are. Internal to the room.
 */
#ifndef TN_TRAIN_TEAM_H
#define TN_TRAIN_TEAM_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the members meet. A member that comes early spins for some microseconds and then sleeps: OpenMP's barriers, also those
 * between its parallel regions, may spin for milliseconds, which stops everything where others use the processors too. */
typedef struct tn_meeting {
    uint32_t members;
    atomic_uint there, round, asleep;
    pthread_mutex_t lock;
    pthread_cond_t all_there;
} tn_meeting;

void tn_meeting_begin(tn_meeting *meeting, uint32_t members);
void tn_meeting_end(tn_meeting *meeting);

typedef struct tn_team {
    uint32_t member, members; /* from 0 */
    tn_meeting *meeting;      /* NULL where there is but one member */
} tn_team;

/* Threads that wait for work, asleep, and the one that gives it, which is the first member. */
typedef struct tn_crew {
    tn_meeting meeting;
    pthread_mutex_t gate; /* held until all threads are there */
    pthread_t *thread;    /* [meeting.members - 1] */
    uint32_t asked;       /* members that were wanted; there may be fewer threads to be had */
    void (*work)(void *user, tn_team team);
    void *user;
    bool ends;
} tn_crew;

tn_status tn_crew_new(uint32_t members, tn_crew **crew, tn_error *error);
/* NULL: nothing to do. */
void tn_crew_free(tn_crew *crew);
/* work(user, team) by every member, this thread among them; comes back when all have done it. */
void tn_crew_run(tn_crew *crew, void (*work)(void *user, tn_team team), void *user);

typedef struct tn_share {
    uint64_t first, end;
} tn_share;

static inline bool tn_team_first(tn_team team) {
    return team.member == 0;
}

/* Every member of the team must come here. */
void tn_team_wait(tn_team team);

/* This member's part of `count`, in whole grains; empty where there are fewer grains than members. */
static inline tn_share tn_team_share(tn_team team, uint64_t count, uint64_t grain) {
    uint64_t grains = (count + grain - 1) / grain;
    tn_share share = {grains * team.member / team.members * grain,
                      grains * (team.member + 1) / team.members * grain};
    if (share.first > count) share.first = count;
    if (share.end > count) share.end = count;
    return share;
}

#endif
