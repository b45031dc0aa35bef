#include "learn/evaluation.h"

#include "base/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "B-x": tag 'B', type "x"; "O": tag 'O', type "". */
typedef struct slot_label {
    char tag;
    const char *type;
} slot_label;

static slot_label part(const char *text) {
    return (slot_label){text[0], text[0] == 'O' ? "" : text + 2};
}

static bool ends(slot_label before, slot_label now) {
    if (before.tag == 'O') return false;
    return now.tag == 'O' || now.tag == 'B' || strcmp(before.type, now.type) != 0;
}

static bool begins(slot_label before, slot_label now) {
    if (now.tag == 'O') return false;
    return now.tag == 'B' || before.tag == 'O' || strcmp(before.type, now.type) != 0;
}

void tn_slot_score_add(tn_slot_score *score, const char *const *expected, const char *const *found,
                       size_t words) {
    const slot_label outside = {'O', ""};
    slot_label before = outside, before_found = outside;
    bool right = false; /* inside a chunk that is right so far */
    for (size_t i = 0; i <= words; i++) {
        slot_label now = i < words ? part(expected[i]) : outside,
                   now_found = i < words ? part(found[i]) : outside;
        bool end = ends(before, now), end_found = ends(before_found, now_found);
        bool begin = begins(before, now), begin_found = begins(before_found, now_found);
        if (right && end && end_found) {
            score->right_chunks++;
            right = false;
        } else if (right && (end || end_found)) {
            right = false;
        }
        if (begin && begin_found && strcmp(now.type, now_found.type) == 0) right = true;
        score->chunks += begin;
        score->found_chunks += begin_found;
        if (i < words) {
            score->labels++;
            score->right_labels += strcmp(expected[i], found[i]) == 0;
        }
        before = now;
        before_found = now_found;
    }
}

double tn_slot_score_f1(const tn_slot_score *score) {
    size_t all = score->chunks + score->found_chunks;
    return all ? 2.0 * (double)score->right_chunks / (double)all : 0;
}

double tn_slot_score_accuracy(const tn_slot_score *score) {
    return score->labels ? (double)score->right_labels / (double)score->labels : 0;
}

typedef struct scoring {
    const tn_scoring *how;
    tn_arena room, scratch; /* of the split; of an example */
    uint32_t *found[TN_HEADS_MOST];
    tn_scores sums;
    tn_slot_score slots;
    size_t right;
    tn_sameness *answers;
    tn_error *error;
} scoring;

static void note_answer(tn_sameness *sameness, uint32_t found, int64_t expected) {
    if (!sameness->any) *sameness = (tn_sameness){true, false, false, found, expected};
    sameness->found_differ |= found != sameness->found;
    sameness->expected_differ |= expected != sameness->expected;
}

static tn_status score_labels(scoring *s, uint32_t head, const tn_example *example) {
    const tn_dataset *data = s->how->data;
    const char **expected, **found;
    tn_arena_reset(&s->scratch);
    TN_TRY(TN_NEW(&s->scratch, example->tokens, &expected, s->error));
    TN_TRY(TN_NEW(&s->scratch, example->tokens, &found, s->error));
    for (uint32_t i = 1; i < example->tokens; i++) {
        uint32_t label = s->found[head][i];
        note_answer(&s->answers[head], label, example->slot[i]);
        expected[i - 1] = tn_dataset_label(data, example->slot[i]);
        found[i - 1] = label < data->labels ? data->label[label] : "O";
    }
    tn_slot_score_add(&s->slots, expected, found, example->tokens - 1);
    return TN_OK;
}

static tn_status score_example(scoring *s, const tn_example *example) {
    tn_trainer *trainer = s->how->trainer;
    tn_step_result result;
    TN_TRY(tn_trainer_forward(trainer, example, 1, s->how->padded, s->found, &result, s->error));
    s->sums.loss += result.loss;
    if (s->how->macs) {
        s->how->macs->predicted += result.macs_predicted;
        s->how->macs->executed += result.macs;
    }
    for (uint32_t h = 0; h < tn_trainer_heads(trainer); h++) {
        if (!tn_trainer_head(trainer, h).of_example) {
            TN_TRY(score_labels(s, h, example));
            continue;
        }
        s->right += (int64_t)s->found[h][0] == example->intent;
        note_answer(&s->answers[h], s->found[h][0], example->intent);
    }
    return TN_OK;
}

static tn_status score_examples(scoring *s, const tn_split *split) {
    tn_trainer *trainer = s->how->trainer;
    for (uint32_t h = 0; h < tn_trainer_heads(trainer); h++)
        TN_TRY(TN_NEW(&s->room, tn_trainer_sequence(trainer), &s->found[h], s->error));
    for (size_t i = 0; i < split->count; i++) {
        if (s->how->sort_of) tn_trainer_set_sort(trainer, s->how->sort_of[i]);
        TN_TRY(score_example(s, &split->example[i]));
    }
    return TN_OK;
}

tn_status tn_score_split(const tn_scoring *how, const tn_split *split, tn_scores *target,
                         tn_sameness answers[TN_HEADS_MOST], tn_error *error) {
    scoring s = {.how = how, .answers = answers, .error = error};
    double count = (double)split->count;
    for (uint32_t h = 0; h < TN_HEADS_MOST; h++) answers[h] = (tn_sameness){0};
    tn_status status = score_examples(&s, split);
    *target = (tn_scores){.loss = s.sums.loss / count,
                          .intent_accuracy = how->data->has_classes ? (double)s.right / count : NAN,
                          .slot_accuracy = how->data->has_labels ? tn_slot_score_accuracy(&s.slots) : NAN,
                          .slot_f1 = how->data->has_labels && !how->data->is_text ? tn_slot_score_f1(&s.slots)
                                                                                  : NAN};
    tn_arena_free(&s.room);
    tn_arena_free(&s.scratch);
    return status;
}

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

static tn_status evaluate_split(evaluation *v, const tn_split *split, bool test, tn_scores *target) {
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
    TN_TRY(tn_score_split(&how, split, target, answers, v->error));
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
