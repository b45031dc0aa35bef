#include "base/clock.h"
#include "base/interrupt.h"
#include "learn/accuracy_session.h"
#include "results/result.h"
#include "results/settled.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BEGIN_LEAST = 4, /* candidates that begin, where the effort lets the others be chosen */
    BEGIN_MOST = 16,
    SWEEP_EVERY = 8, /* runs between sweeps, */
    SWEEP_SHARE = 3  /* of so many times a sweep's seconds */
};

/* The files of a sweep and their folder, where there is one. */
static void remove_sweep(const char *folder) {
    char path[4096];
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            unlink(path);
    closedir(dir);
    rmdir(folder);
}

/* Sweeps the space by the table so far. */
static tn_status sweep(tn_study_session *s, tn_error *error) {
    tn_study_front *f = &s->front;
    const tn_study_options *o = s->options;
    const char *table, *folder;
    tn_result result;
    tn_summary summary;
    tn_space *space;
    tn_arena_free(&f->arena);
    *f = (tn_study_front){.swept = true, .runs = s->runs};
    TN_TRY(tn_arena_format(&f->arena, &table, error, "%s/accuracy.csv", o->folder));
    TN_TRY(tn_arena_format(&f->arena, &folder, error, "%s/sweep-%" PRIu64, o->folder, o->shard + 1));
    remove_sweep(folder);
    TN_TRY(TN_NEW(&f->arena, 1, &space, error));
    const tn_space_inputs inputs = {.accuracy_table = table};
    TN_TRY(tn_space_load(o->space_name, o->set, o->sets, &inputs, &f->arena, space, error));
    bool asked = tn_accuracy_objective(space) < space->objectives;
    f->start = !asked;
    if (!asked) return TN_OK;
    TN_TRY(tn_sweep_folder(space, &(tn_sweep_options){.threads = o->threads ? o->threads : 1}, folder, NULL,
                           &summary, error));
    if (summary.completion == TN_STOPPED) return tn_fail(error, TN_INTERRUPTED, "interrupted");
    f->seconds = summary.seconds;
    TN_TRY(tn_result_load(folder, &f->arena, &result, error));
    f->space = space;
    f->count = result.front_count;
    f->start = f->count == 0;
    TN_TRY(tn_result_points(&result, &f->arena, &f->point, error));
    TN_TRY(TN_NEW(&f->arena, f->count, &f->macs, error));
    for (size_t i = 0; i < f->count; i++) f->macs[i] = tn_result_value(&result.front[i], "macs_per_step");
    remove_sweep(folder);
    return TN_OK;
}

/* The front's accuracies by the table of now, and what is open about its knee. */
static tn_status renew(tn_study_session *s, tn_arena *arena, tn_settled *settled, tn_error *error) {
    tn_study_front *f = &s->front;
    tn_accuracy_table table;
    tn_space *space;
    tn_point *point;
    const char *path;
    size_t objective, digit[TN_AXES_MOST];
    TN_TRY(tn_arena_format(arena, &path, error, "%s/accuracy.csv", s->options->folder));
    TN_TRY(tn_accuracy_table_read(path, arena, &table, error));
    TN_TRY(tn_accuracy_table_bind(&table, f->space->choices.axis, f->space->choices.count, f->space->model,
                                  arena, error));
    TN_TRY(TN_NEW(arena, 1, &space, error));
    TN_TRY(TN_NEW(arena, f->count, &point, error));
    *space = *f->space;
    space->accuracy_table = table;
    objective = tn_accuracy_objective(space);
    for (size_t i = 0; i < f->count; i++) {
        tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
        tn_accuracy_basis basis;
        for (size_t k = 0; k < space->choices.count; k++)
            digit[k] = tn_choices_digit(&space->choices, f->point[i].id, k);
        tn_accuracy_table_values(&table, digit, value);
        point[i] = f->point[i];
        double mean = tn_accuracy_table_at(&table, value, table.model.passes, &basis).mean;
        point[i].value[objective] = tn_accuracy_to_minimise(&table, mean);
    }
    uint64_t knee = point[tn_choose_knee(point, f->count, space->objectives, NULL)].id;
    TN_TRY(tn_settled_of(space, point, f->count, knee, tn_choose_knee, NULL, arena, settled, error));
    s->study->chosen = settled->asked;
    s->study->recommended = knee;
    s->study->probability = settled->asked ? (double)settled->kept / (double)settled->draws : NAN;
    return TN_OK;
}

static uint64_t runs_of(const tn_study_session *s, uint64_t id) {
    uint64_t count = 0;
    for (size_t i = 0; i < s->runs; i++) count += s->run[i].id == id;
    return count;
}

static size_t pending(const tn_study_session *s, uint64_t id) {
    size_t count = 0;
    for (size_t i = 0; i < s->runs; i++) count += s->run[i].id == id && s->run[i].epochs == 0;
    return count;
}

/* Seconds by multiply-adds, as the runs so far took. */
static double seconds_of(const tn_study_session *s, double macs) {
    double seconds = 0, done = 0;
    for (size_t i = 0; i < s->runs; i++) {
        seconds += s->run[i].seconds;
        done += (double)s->run[i].macs;
    }
    return done > 0 ? seconds * macs / done : 1;
}

/* The training that tells most for a second; what is in work counts less. */
static uint64_t most_telling(const tn_study_session *s, const tn_settled *settled) {
    const tn_study_front *f = &s->front;
    uint64_t best = tn_study_first_like(s, s->study->recommended);
    double most = 0;
    for (size_t c = 0, i = 0; c < settled->combinations; c++) {
        while (f->point[i].id != settled->design[c]) i++;
        uint64_t id = tn_study_first_like(s, settled->design[c]);
        double worth = settled->value[c] / seconds_of(s, f->macs[i]) / (1 + 4 * (double)pending(s, id));
        if (worth <= most) continue;
        most = worth;
        best = id;
    }
    return best;
}

static tn_status choose_telling(tn_study_session *s, tn_arena *arena, tn_evaluator *evaluator, uint64_t *id,
                                bool *found, tn_error *error) {
    const tn_study_options *o = s->options;
    tn_settled settled;
    *found = false;
    TN_TRY(tn_study_read_runs(s, error));
    TN_TRY(tn_study_write_table(s, evaluator, s->arena, error));
    size_t learned = 0;
    for (size_t i = 0; i < s->study->count; i++) learned += !isnan(s->study->row[i].accuracy);
    s->front.start = s->front.swept ? s->front.start : false;
    s->front.start |= learned == 0;
    if (learned == 0) return TN_OK;
    double start = 0;
    for (size_t i = s->front.runs; i < s->runs; i++) start += s->run[i].seconds;
    bool stale = !s->front.swept || (!s->front.start && s->runs >= s->front.runs + SWEEP_EVERY &&
                                     start >= SWEEP_SHARE * s->front.seconds);
    if (stale) TN_TRY(sweep(s, error));
    if (s->front.start) return TN_OK;
    TN_TRY(renew(s, arena, &settled, error));
    if (o->sure > 0 && s->study->probability >= o->sure && s->front.runs < s->runs && !stale) {
        /* Settled among the designs of the last front: are these still the ones? */
        TN_TRY(sweep(s, error));
        if (s->front.start) return TN_OK;
        TN_TRY(renew(s, arena, &settled, error));
    }
    if (o->sure > 0 && s->study->probability >= o->sure) {
        s->study->ended = "the recommendation is settled with the wanted probability";
        s->ends = true;
        return TN_OK;
    }
    *id = most_telling(s, &settled);
    *found = true;
    return TN_OK;
}

/* Candidates spread evenly over the combinations by the golden ratio, each once; those of this shard. */
static tn_status spread(tn_study_session *s, uint64_t wanted, tn_error *error) {
    static const double golden = 0.6180339887498949;
    uint64_t combinations = s->study->combinations;
    bool *taken;
    enum { COMBINATIONS_MOST = 1 << 24 };
    if (combinations > COMBINATIONS_MOST)
        return tn_fail(error, TN_LIMIT, "%" PRIu64 " combinations; at most 2^24 are chosen from",
                       combinations);
    if (wanted > combinations) wanted = combinations;
    TN_TRY(TN_NEW(s->arena, combinations, &taken, error));
    TN_TRY(TN_NEW(s->arena, wanted, &s->begin, error));
    for (uint64_t k = 0, found = 0; found < wanted; k++) {
        double place = ((double)k + 0.5) * golden;
        uint64_t index = (uint64_t)((place - floor(place)) * (double)combinations);
        while (taken[index]) index = (index + 1) % combinations;
        taken[index] = true;
        if (found % s->options->shards == s->options->shard)
            s->begin[s->begins++] = tn_study_design_of(s, index);
        found++;
    }
    return TN_OK;
}

/* All that begin, where the effort has room for no more; else some, and the rest is chosen by what it tells. */
tn_status tn_study_plan(tn_study_session *s, tn_error *error) {
    const tn_study_options *o = s->options;
    uint64_t one = o->settings_of_runs.epochs * o->seeds, room = o->effort / one;
    if (room == 0)
        return tn_fail(error, TN_INPUT,
                       "--effort %" PRIu64 " is less than the %" PRIu64 " epochs of one candidate", o->effort,
                       one);
    if (room < s->study->combinations || o->sure > 0 || o->seconds > 0) {
        uint64_t few = room / 2 < BEGIN_MOST ? room / 2 : BEGIN_MOST;
        room = few > BEGIN_LEAST ? few : room < BEGIN_LEAST ? room : BEGIN_LEAST;
    }
    return spread(s, room, error);
}

static bool out_of_time(const tn_study_session *s) {
    return s->options->seconds > 0 && tn_clock_seconds() - s->began >= s->options->seconds;
}

static uint64_t epochs_begun(const tn_study_session *s) {
    return s->runs * s->options->settings_of_runs.epochs;
}

/* The next training: *place among the runs, or found = false where there is none. Held: the lock. */
tn_status tn_study_next(tn_study_session *s, tn_arena *arena, tn_evaluator *evaluator, size_t *place,
                        bool *found, tn_error *error) {
    const tn_study_options *o = s->options;
    uint64_t seed = o->settings_of_runs.seed, id = 0;
    *found = false;
    if (s->ends || s->status != TN_OK) return TN_OK;
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
    bool spent = epochs_begun(s) + o->settings_of_runs.epochs > o->effort;
    if (spent || out_of_time(s)) {
        s->study->ended = spent ? "the effort is spent" : "the time is over";
        s->ends = true;
        return TN_OK;
    }
    for (uint64_t k = 0; k < o->seeds && !*found; k++)
        for (size_t i = 0; i < s->begins && !*found; i++)
            if (tn_study_place_of_run(s, s->begin[i], seed + k) == s->runs) {
                id = s->begin[i];
                seed += k;
                *found = true;
            }
    if (!*found) {
        if (s->begins >= s->study->combinations && o->sure == 0) {
            s->study->ended = "every candidate is trained";
            s->ends = true;
            return TN_OK;
        }
        TN_TRY(choose_telling(s, arena, evaluator, &id, found, error));
        if (!*found && !s->ends && s->front.start) {
            /* Accuracy is no objective: more of them, spread. */
            size_t before = s->begins;
            s->begins = 0;
            TN_TRY(spread(s, (before + 1) * o->shards, error));
            if (s->begins <= before) {
                s->study->ended = "every candidate is trained";
                s->ends = true;
                return TN_OK;
            }
            id = s->begin[s->begins - 1];
            *found = true;
        }
        if (!*found) return TN_OK;
        seed = o->settings_of_runs.seed + runs_of(s, id);
    }
    *place = s->runs;
    return tn_study_add_run(s, (tn_study_run){.id = id, .seed = seed}, error);
}
