#include "results/settled.h"

#include "base/random.h"
#include "front/knee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = TN_SETTLED_DRAWS, GROUPS = 3, SEED = 1 };

size_t tn_choose_knee(const tn_point *point, size_t count, size_t objectives, void *user) {
    (void)user;
    return tn_knee(point, count, objectives);
}

/* What a training would give in a draw. */
typedef struct {
    double accuracy;
    size_t draw;
} seen;

typedef struct {
    tn_accuracy_value *value; /* [combinations][columns] */
    size_t *owner;            /* [points]: combination of each */
    double *drawn;            /* [combinations][DRAWS] accuracy */
    size_t *choice;           /* [DRAWS]: position of the chosen point */
    seen *seen;               /* [DRAWS] */
    size_t *tally;            /* [points] */
} draws;

static void values_of(const tn_space *space, uint64_t id, tn_accuracy_value *value) {
    size_t digit[TN_AXES_MOST];
    for (size_t i = 0; i < space->choices.count; i++) digit[i] = tn_choices_digit(&space->choices, id, i);
    tn_accuracy_table_values(&space->accuracy_table, digit, value);
}

/* Combinations of the front, each once, in the order of their first designs. */
static tn_status combine(const tn_space *space, const tn_point *point, size_t count, tn_arena *arena,
                         draws *d, tn_settled *s, tn_error *error) {
    size_t columns = space->accuracy_table.columns;
    TN_TRY(TN_NEW(arena, count * columns, &d->value, error));
    TN_TRY(TN_NEW(arena, count, &d->owner, error));
    TN_TRY(TN_NEW(arena, count, &s->design, error));
    for (size_t i = 0; i < count; i++) {
        const tn_space *own = tn_space_of(space, point[i].id);
        tn_accuracy_value *value = d->value + s->combinations * columns;
        values_of(own, point[i].id, value);
        size_t k = 0;
        while (k < s->combinations &&
               !tn_accuracy_same(own->accuracy_table.choice, columns, d->value + k * columns, value))
            k++;
        d->owner[i] = k;
        if (k == s->combinations) s->design[s->combinations++] = point[i].id;
    }
    return TN_OK;
}

size_t tn_accuracy_objective(const tn_space *space) {
    size_t index = 0;
    const char *name = tn_accuracy_table_quantity(&space->accuracy_table);
    while (index < space->objectives && strcmp(space->objective[index]->name, name) != 0) index++;
    return index;
}

tn_status tn_draw_accuracies(const tn_accuracy_table *table, const tn_accuracy_value *value,
                             size_t combinations, double *drawn, tn_arena *arena, tn_error *error) {
    const tn_accuracy_model *m = &table->model;
    double *normal, *parameter;
    TN_TRY(TN_NEW(arena, m->parameters + combinations, &normal, error));
    TN_TRY(TN_NEW(arena, m->parameters, &parameter, error));
    for (size_t k = 0; k < DRAWS; k++) {
        TN_TRY(tn_random_fill_normal(SEED + k, normal, m->parameters + combinations, error));
        tn_accuracy_model_draw(m, normal, parameter);
        for (size_t c = 0; c < combinations; c++)
            drawn[c * DRAWS + k] = tn_accuracy_model_by(m, parameter, value + c * table->columns, m->passes,
                                                        normal[m->parameters + c]);
    }
    return TN_OK;
}

/* Chooses in every draw. */
static tn_status draw_all(const tn_space *space, const tn_point *point, size_t count, tn_chooser choose,
                          void *user, tn_arena *arena, draws *d, const tn_settled *s, tn_error *error) {
    size_t objective = tn_accuracy_objective(space);
    tn_point *now;
    TN_TRY(TN_NEW(arena, count, &now, error));
    memcpy(now, point, count * sizeof *now);
    TN_TRY(tn_draw_accuracies(&space->accuracy_table, d->value, s->combinations, d->drawn, arena, error));
    for (size_t k = 0; k < DRAWS; k++) {
        for (size_t i = 0; i < count; i++)
            now[i].value[objective] =
                tn_accuracy_to_minimise(&space->accuracy_table, d->drawn[d->owner[i] * DRAWS + k]);
        d->choice[k] = choose(now, count, space->objectives, user);
    }
    return TN_OK;
}

static void tally(const draws *d, const tn_point *point, size_t count, tn_settled *s, uint64_t chosen) {
    size_t own = 0;
    memset(d->tally, 0, count * sizeof *d->tally);
    for (size_t k = 0; k < DRAWS; k++) d->tally[d->choice[k]]++;
    while (own < count && point[own].id != chosen) own++;
    for (size_t i = 0; i < count; i++) {
        if (i == own) continue;
        if (d->tally[i] <= s->rival_draws) continue;
        s->rival_draws = d->tally[i];
        s->rival = point[i].id;
    }
    s->draws = DRAWS;
    if (own == count) return;
    s->kept = d->tally[own];
    for (size_t k = 0; k < DRAWS; k++) s->alike += d->owner[d->choice[k]] == d->owner[own];
}

static int by_accuracy(const void *a, const void *b) {
    const seen *x = a, *y = b;
    if (x->accuracy != y->accuracy) return x->accuracy < y->accuracy ? -1 : 1;
    return (x->draw > y->draw) - (x->draw < y->draw);
}

/* Entropy, times their number, of the combinations chosen in the draws seen[from .. to - 1], with the correction of Miller (1955)
 * for so few. */
static double openness(const draws *d, size_t combinations, size_t begin, size_t end) {
    double sum = 0, kinds = 0, n = (double)(end - begin);
    memset(d->tally, 0, combinations * sizeof *d->tally);
    for (size_t k = begin; k < end; k++) d->tally[d->owner[d->choice[d->seen[k].draw]]]++;
    for (size_t c = 0; c < combinations; c++) {
        if (d->tally[c] == 0) continue;
        double share = (double)d->tally[c] / n;
        sum -= share * log(share);
        kinds++;
    }
    return n * (sum + (kinds - 1) / (2 * n));
}

/* What a training of each combination is worth. */
static tn_status value_trainings(const tn_space *space, tn_arena *arena, draws *d, tn_settled *s,
                                 tn_error *error) {
    const tn_accuracy_model *m = &space->accuracy_table.model;
    double noise[DRAWS];
    TN_TRY(TN_NEW(arena, s->combinations, &s->value, error));
    TN_TRY(tn_random_fill_normal(SEED + DRAWS, noise, DRAWS, error));
    for (size_t k = 0; k < DRAWS; k++) d->seen[k].draw = k;
    double before = openness(d, s->combinations, 0, DRAWS);
    for (size_t c = 0; c < s->combinations; c++) {
        const tn_accuracy_value *value = d->value + c * space->accuracy_table.columns;
        tn_accuracy_estimate told = tn_accuracy_model_at(m, value, m->passes);
        double half = (told.high - told.low) / 2 / 1.96;
        double seed = sqrt(fmax(0, half * half - told.deviation * told.deviation));
        for (size_t k = 0; k < DRAWS; k++) d->seen[k] = (seen){d->drawn[c * DRAWS + k] + seed * noise[k], k};
        qsort(d->seen, DRAWS, sizeof *d->seen, by_accuracy);
        double after = 0;
        for (size_t g = 0; g < GROUPS; g++)
            after += openness(d, s->combinations, g * DRAWS / GROUPS, (g + 1) * DRAWS / GROUPS);
        s->value[c] = before > 0 ? fmax(0, 1 - after / before) : 0;
        if (s->value[c] > s->gain) {
            s->gain = s->value[c];
            s->train = s->design[c];
        }
    }
    return TN_OK;
}

tn_status tn_settled_of(const tn_space *space, const tn_point *point, size_t count, uint64_t chosen,
                        tn_chooser choose, void *user, tn_arena *arena, tn_settled *settled,
                        tn_error *error) {
    draws d;
    size_t most = count > DRAWS ? count : DRAWS;
    *settled = (tn_settled){0};
    if (count == 0 || space->accuracy_table.rows == 0 || tn_accuracy_objective(space) == space->objectives)
        return TN_OK;
    settled->asked = true;
    TN_TRY(combine(space, point, count, arena, &d, settled, error));
    TN_TRY(TN_NEW(arena, settled->combinations * DRAWS, &d.drawn, error));
    TN_TRY(TN_NEW(arena, DRAWS, &d.choice, error));
    TN_TRY(TN_NEW(arena, DRAWS, &d.seen, error));
    TN_TRY(TN_NEW(arena, most, &d.tally, error));
    TN_TRY(draw_all(space, point, count, choose, user, arena, &d, settled, error));
    tally(&d, point, count, settled, chosen);
    return value_trainings(space, arena, &d, settled, error);
}
