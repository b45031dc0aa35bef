#include "train/evaluation.h"

#include "base/clock.h"
#include "train/score.h"

#include <math.h>
#include <stdlib.h>

typedef struct evaluation {
    const tn_training *run;
    tn_trainer *trainer;
    tn_arena *arena;
    tn_training_result *result;
    tn_error *error;
} evaluation;

static bool is_padded(const evaluation *v) {
    return v->run->settings.lengths == TN_LENGTHS_PADDED;
}

/* entropy[exit][example] at all exits but the last, which takes the rest. */
static tn_status measure_entropies(evaluation *v, const tn_split *split, double ***entropy) {
    size_t exits = v->result->exits;
    tn_step_result result;
    TN_TRY(TN_NEW(v->arena, exits, entropy, v->error));
    for (uint32_t e = 0; e + 1 < exits; e++) {
        TN_TRY(tn_arena_alloc(v->arena, split->count, sizeof ***entropy, &(*entropy)[e], v->error));
        tn_trainer_set_sort(v->trainer, e);
        for (size_t i = 0; i < split->count; i++) {
            TN_TRY(
                tn_trainer_forward(v->trainer, &split->example[i], 1, is_padded(v), NULL, &result, v->error));
            (*entropy)[e][i] = result.entropy;
        }
    }
    return TN_OK;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Each exit's entropy: that with which its share of all leaves, of those who come to it; -1 where none does, 1, the most
 * there is, where all do. */
static tn_status set_thresholds(evaluation *v, double *const *entropy, size_t count) {
    double *there;
    bool *gone;
    TN_TRY(TN_NEW(v->arena, count, &there, v->error));
    TN_TRY(TN_NEW(v->arena, count, &gone, v->error));
    for (size_t e = 0; e + 1 < v->result->exits; e++) {
        tn_exit_result *exit = &v->result->exit[e];
        size_t left = 0, leave = (size_t)llround(exit->wanted * (double)count);
        for (size_t i = 0; i < count; i++)
            if (!gone[i]) there[left++] = entropy[e][i];
        qsort(there, left, sizeof *there, ascending);
        exit->entropy = leave == 0 ? -1 : leave >= left ? 1 : there[leave - 1];
        for (size_t i = 0; i < count; i++) gone[i] |= entropy[e][i] <= exit->entropy;
    }
    return TN_OK;
}

static tn_status take_exits(evaluation *v, double *const *entropy, size_t count, bool test,
                            uint32_t **taken) {
    size_t exits = v->result->exits;
    TN_TRY(TN_NEW(v->arena, count, taken, v->error));
    for (size_t i = 0; i < count; i++) {
        uint32_t e = 0;
        while (e + 1 < exits && entropy[e][i] > v->result->exit[e].entropy) e++;
        (*taken)[i] = e;
        *(test ? &v->result->exit[e].of_test : &v->result->exit[e].of_dev) += 1 / (double)count;
    }
    return TN_OK;
}

static tn_status evaluate_split(evaluation *v, const tn_split *split, bool test, tn_scores *to) {
    uint32_t *taken = NULL;
    double **entropy, started;
    tn_sameness answers[TN_HEADS_MOST];
    if (v->result->exits > 1) {
        TN_TRY(measure_entropies(v, split, &entropy));
        if (!test) TN_TRY(set_thresholds(v, entropy, split->count));
        TN_TRY(take_exits(v, entropy, split->count, test, &taken));
    }
    const tn_scoring how = {v->trainer, v->run->data, is_padded(v), taken, &v->result->macs};
    started = tn_clock_seconds();
    TN_TRY(tn_score_split(&how, split, to, answers, v->error));
    v->result->seconds_per_step += tn_clock_seconds() - started;
    v->result->steps += split->count;
    return TN_OK;
}

tn_status tn_infer_data(const tn_training *run, tn_trainer *trainer, tn_arena *arena,
                        tn_training_result *result, tn_error *error) {
    evaluation v = {.run = run, .trainer = trainer, .arena = arena, .result = result, .error = error};
    if (!run->weights)
        return tn_fail(error, TN_INPUT,
                       "phase: inference trains nothing; give --weights FILE with what was trained, "
                       "or set phase=training");
    if (run->folder || run->resume)
        return tn_fail(error, TN_INPUT, "phase: inference leaves nothing to keep; leave -o and --resume out");
    result->evaluated = true;
    result->examples = run->data->dev.count + run->data->test.count;
    result->exits = tn_trainer_sorts(trainer) > 1 ? tn_trainer_sorts(trainer) : 0;
    TN_TRY(TN_NEW(arena, result->exits, &result->exit, error));
    for (uint32_t e = 0; e < result->exits; e++) {
        result->exit[e] = (tn_exit_result){.wanted = tn_trainer_sort_share(trainer, e), .entropy = 1};
        TN_TRY(tn_trainer_sort_name(trainer, e, arena, &result->exit[e].name, error));
    }
    TN_TRY(evaluate_split(&v, &run->data->dev, false, &result->dev));
    TN_TRY(evaluate_split(&v, &run->data->test, true, &result->test));
    if (result->steps) result->seconds_per_step /= (double)result->steps;
    return TN_OK;
}
