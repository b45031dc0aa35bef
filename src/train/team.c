#include "train/team.h"

enum { SPINS = 4000 };

void tn_meeting_begin(tn_meeting *meeting, uint32_t members) {
    meeting->members = members;
    atomic_init(&meeting->there, 0);
    atomic_init(&meeting->round, 0);
    atomic_init(&meeting->asleep, 0);
    pthread_mutex_init(&meeting->lock, NULL);
    pthread_cond_init(&meeting->all_there, NULL);
}

void tn_meeting_end(tn_meeting *meeting) {
    pthread_mutex_destroy(&meeting->lock);
    pthread_cond_destroy(&meeting->all_there);
}

static void sleep_until(tn_meeting *meeting, unsigned round) {
    pthread_mutex_lock(&meeting->lock);
    atomic_fetch_add(&meeting->asleep, 1);
    while (atomic_load(&meeting->round) == round) pthread_cond_wait(&meeting->all_there, &meeting->lock);
    atomic_fetch_sub(&meeting->asleep, 1);
    pthread_mutex_unlock(&meeting->lock);
}

void tn_team_wait(tn_team team) {
    tn_meeting *meeting = team.meeting;
    if (team.members <= 1) return;
    unsigned round = atomic_load(&meeting->round);
    if (atomic_fetch_add(&meeting->there, 1) + 1 == meeting->members) {
        atomic_store(&meeting->there, 0);
        atomic_fetch_add(&meeting->round, 1);
        if (atomic_load(&meeting->asleep) == 0) return; /* who falls asleep from here on sees the new round */
        pthread_mutex_lock(&meeting->lock);
        pthread_cond_broadcast(&meeting->all_there);
        pthread_mutex_unlock(&meeting->lock);
        return;
    }
    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(&meeting->round, memory_order_acquire) != round) return;
    sleep_until(meeting, round);
}
