#include "train/team.h"

#include "base/memory.h"

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

/* ---- a crew ---- */

typedef struct {
    tn_crew *crew;
    uint32_t member;
} place;

static void *serve(void *given) {
    place own = *(place *)given;
    tn_crew *crew = own.crew;
    tn_free(given);
    pthread_mutex_lock(&crew->gate);
    pthread_mutex_unlock(&crew->gate);
    const tn_team team = {own.member, crew->meeting.members, &crew->meeting};
    for (;;) {
        tn_team_wait(team);
        if (crew->ends) return NULL;
        crew->work(crew->user, team);
        tn_team_wait(team);
    }
}

tn_status tn_crew_new(uint32_t members, tn_crew **made, tn_error *error) {
    tn_crew *crew;
    uint32_t there = 1;
    TN_TRY(TN_ALLOC(1, &crew, error));
    *crew = (tn_crew){.asked = members};
    tn_status status = TN_ALLOC(members, &crew->thread, error);
    if (status != TN_OK) {
        tn_free(crew);
        return status;
    }
    pthread_mutex_init(&crew->gate, NULL);
    pthread_mutex_lock(&crew->gate);
    for (; there < members; there++) {
        place *own;
        if (TN_ALLOC(1, &own, NULL) != TN_OK) break;
        *own = (place){crew, there};
        if (pthread_create(&crew->thread[there - 1], NULL, serve, own) == 0) continue;
        tn_free(own);
        break;
    }
    tn_meeting_begin(&crew->meeting, there);
    pthread_mutex_unlock(&crew->gate);
    *made = crew;
    return TN_OK;
}

void tn_crew_free(tn_crew *crew) {
    if (!crew) return;
    crew->ends = true;
    tn_team_wait((tn_team){0, crew->meeting.members, &crew->meeting});
    for (uint32_t i = 0; i + 1 < crew->meeting.members; i++) pthread_join(crew->thread[i], NULL);
    tn_meeting_end(&crew->meeting);
    pthread_mutex_destroy(&crew->gate);
    tn_free(crew->thread);
    tn_free(crew);
}

void tn_crew_run(tn_crew *crew, void (*work)(void *user, tn_team team), void *user) {
    const tn_team team = {0, crew->meeting.members, &crew->meeting};
    crew->work = work;
    crew->user = user;
    tn_team_wait(team);
    work(user, team);
    tn_team_wait(team);
}
