#include "results/goal.h"

#include "base/name_index.h"
#include "front/knee.h"
#include "results/settled.h"

#include <math.h>
#include <string.h>

const char *const tn_goal_names[] = {"fastest", "smallest", "least-energy", "most-accurate", "knee", NULL};

static const char *const quantity[TN_GOALS] = {"seconds_per_step", "on_chip_bytes", "joules_per_step",
                                               "accuracy", NULL};
static const double accuracy_point = 0.01, interval = 1.96; /* standard deviations, of 95 % */

const char *tn_goal_unlearned(const tn_result *result) {
    const tn_space *space = result->space;
    for (size_t i = 0; i < result->front_count; i++)
        if (!isnan(tn_result_value(&result->front[i], "accuracy"))) return NULL;
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i]) && space->choices.axis[i].count > 1)
            return space->choices.axis[i].key;
    return NULL;
}

tn_status tn_goal_find(const char *name, tn_goal *goal, tn_error *error) {
    char told[160];
    *goal = TN_GOAL_FASTEST;
    if (!name) return TN_OK;
    for (int i = 0; i < TN_GOALS; i++)
        if (strcmp(name, tn_goal_names[i]) == 0) {
            *goal = (tn_goal)i;
            return TN_OK;
        }
    return tn_fail(error, TN_INPUT, "unknown goal '%.60s'; %s", name,
                   tn_suggestion(name, tn_goal_names, TN_GOALS, told, sizeof told));
}

/* Negated where more is better. */
static double cost_of(const tn_result_row *row, tn_goal goal) {
    double value = tn_result_value(row, quantity[goal]);
    return goal == TN_GOAL_MOST_ACCURATE ? -value : value;
}

static bool is_better(const tn_result_row *a, const tn_result_row *b, tn_goal goal) {
    const double cost[][2] = {{cost_of(a, goal), cost_of(b, goal)},
                              {cost_of(a, TN_GOAL_FASTEST), cost_of(b, TN_GOAL_FASTEST)},
                              {cost_of(a, TN_GOAL_SMALLEST), cost_of(b, TN_GOAL_SMALLEST)}};
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++)
        if (cost[i][0] != cost[i][1] && !isnan(cost[i][0]))
            return cost[i][0] < cost[i][1] || isnan(cost[i][1]);
    return a->id < b->id;
}

/* The least accuracy that is as good as the best one. */
static void find_floor(const tn_result *result, const bool *asked, tn_goal_choice *choice) {
    double deviation = 0;
    choice->best = choice->floor = NAN;
    for (size_t i = 0; i < result->front_count; i++) {
        double accuracy = tn_result_value(&result->front[i], "accuracy");
        if (!asked[i] || isnan(accuracy) || accuracy <= choice->best) continue;
        choice->best = accuracy;
        deviation = tn_result_value(&result->front[i], "accuracy_deviation");
    }
    if (isnan(choice->best)) return;
    choice->floor = choice->best - fmax(accuracy_point, isnan(deviation) ? 0 : interval * deviation);
}

static tn_status choose_knee(const tn_result *result, const bool *asked, tn_arena *arena,
                             tn_goal_choice *choice, tn_error *error) {
    tn_point *point;
    size_t *place, count = 0;
    TN_TRY(tn_result_points(result, arena, &point, error));
    TN_TRY(TN_NEW(arena, result->front_count, &place, error));
    for (size_t i = 0; i < result->front_count; i++) {
        if (!asked[i]) continue;
        point[count] = point[i];
        place[count++] = i;
    }
    if (count) choice->index = place[tn_knee(point, count, result->space->objectives)];
    return TN_OK;
}

/* The same values of all choices that change what is learned. */
static bool learns_alike(const tn_space *space, uint64_t a, uint64_t b) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i]) &&
            tn_choices_digit(&space->choices, a, i) != tn_choices_digit(&space->choices, b, i))
            return false;
    return true;
}

tn_status tn_goal_choose(const tn_result *result, tn_goal goal, const tn_condition *where, tn_arena *arena,
                         tn_goal_choice *choice, tn_error *error) {
    size_t count = result->front_count;
    bool *asked;
    *choice = (tn_goal_choice){.goal = goal, .index = count, .next = count};
    TN_TRY(TN_NEW(arena, count, &asked, error));
    for (size_t i = 0; i < count; i++) {
        const tn_candidate design = {.id = result->front[i].id, .value = result->front[i].value};
        asked[i] = !where || tn_condition_holds(where, &design);
        choice->asked += asked[i];
    }
    choice->fulfils = asked;
    find_floor(result, asked, choice);
    if (goal == TN_GOAL_MOST_ACCURATE && isnan(choice->best) && choice->asked)
        return tn_fail(error, TN_INPUT,
                       "--goal most-accurate: nothing is known of accuracy; the space has no accuracy_table");
    choice->accurate = choice->asked;
    if (goal == TN_GOAL_KNEE) return choose_knee(result, asked, arena, choice, error);
    const tn_result_row *alike = NULL; /* what is learned has to be as of this one */
    if (tn_goal_unlearned(result) && choice->asked) {
        TN_TRY(choose_knee(result, asked, arena, choice, error));
        alike = &result->front[choice->index];
        choice->index = count;
        choice->accurate = 0;
    }
    if (!isnan(choice->floor)) choice->accurate = 0;
    for (size_t i = 0; i < count; i++) {
        if (!asked[i]) continue;
        if (alike && !learns_alike(result->space, alike->id, result->front[i].id)) continue;
        choice->accurate += alike != NULL;
        if (!isnan(choice->floor) && !(tn_result_value(&result->front[i], "accuracy") >= choice->floor))
            continue;
        choice->accurate += !isnan(choice->floor);
        if (choice->index == count || is_better(&result->front[i], &result->front[choice->index], goal)) {
            choice->next = choice->index;
            choice->index = i;
        } else if (choice->next == count ||
                   is_better(&result->front[i], &result->front[choice->next], goal)) {
            choice->next = i;
        }
    }
    return TN_OK;
}

tn_status tn_goal_design(const tn_result *result, tn_arena *arena, uint64_t *id, tn_error *error) {
    tn_goal_choice choice;
    TN_TRY(tn_goal_choose(result, TN_GOAL_FASTEST, NULL, arena, &choice, error));
    *id = result->front[choice.index].id;
    return TN_OK;
}

size_t tn_goal_chooser(const tn_point *point, size_t count, size_t objectives, void *user) {
    const tn_goal_question *question = user;
    const tn_result *result = question->result;
    size_t accuracy = 0, chosen = count;
    if (question->goal == TN_GOAL_KNEE || count != result->front_count)
        return tn_choose_knee(point, count, objectives, NULL);
    while (accuracy < objectives && strcmp(result->space->objective[accuracy]->name, "accuracy") != 0)
        accuracy++;
    double best = INFINITY; /* of accuracies negated */
    for (size_t i = 0; i < count && accuracy < objectives; i++)
        if (question->asked[i]) best = fmin(best, point[i].value[accuracy]);
    for (size_t i = 0; i < count; i++) {
        if (!question->asked[i]) continue;
        if (question->goal == TN_GOAL_MOST_ACCURATE && accuracy < objectives) {
            if (chosen == count || point[i].value[accuracy] < point[chosen].value[accuracy]) chosen = i;
            continue;
        }
        if (accuracy < objectives && point[i].value[accuracy] > best + accuracy_point) continue;
        if (chosen == count || is_better(&result->front[i], &result->front[chosen], question->goal))
            chosen = i;
    }
    return chosen < count ? chosen : 0;
}
