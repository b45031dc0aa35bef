#include "learn/checkpoint.h"

#include "base/memory.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void pack(const tn_epoch *epoch, double number[TN_EPOCH_NUMBERS]) {
    const double all[] = {(double)epoch->epoch,        epoch->loss,
                          epoch->learning_rate,        epoch->dev.loss,
                          epoch->dev.intent_accuracy,  epoch->dev.slot_accuracy,
                          epoch->dev.slot_f1,          epoch->test.loss,
                          epoch->test.intent_accuracy, epoch->test.slot_accuracy,
                          epoch->test.slot_f1,         epoch->collapsed};
    memcpy(number, all, sizeof all);
}

static void unpack(const double *n, tn_epoch *epoch) {
    *epoch = (tn_epoch){(uint64_t)n[0], n[1], n[2], {n[3], n[4], n[5], n[6]}, {n[7], n[8], n[9], n[10]},
                        n[11] != 0};
}

/* Arrays being collected for a file; values and names live in the arena. */
typedef struct collection {
    const tn_trainer *trainer;
    tn_arena arena;
    tn_array_out *array;
    size_t count;
    bool single;
    tn_error *error;
} collection;

static tn_status add_numbers(collection *c, const char *name, const double *values, uint64_t rows,
                             uint64_t columns) {
    uint64_t *shape;
    TN_TRY(TN_NEW(&c->arena, 2, &shape, c->error));
    shape[0] = rows;
    shape[1] = columns;
    c->array[c->count++] = (tn_array_out){.name = name, .axes = 2, .shape = shape, .values = values};
    return TN_OK;
}

static tn_status add_values(collection *c, const char *name, const void *values, size_t axes,
                            const uint64_t *shape, uint64_t elements) {
    double *copy;
    TN_TRY(TN_NEW(&c->arena, elements, &copy, c->error));
    tn_trainer_kernels(c->trainer)->to_double(values, copy, elements);
    c->array[c->count++] =
        (tn_array_out){.name = name, .axes = axes, .shape = shape, .values = copy, .single = c->single};
    return TN_OK;
}

static tn_status begin(collection *c, const tn_trainer *trainer, tn_error *error) {
    enum { EXTRA = 3 };
    *c = (collection){
        .trainer = trainer, .single = tn_trainer_kernels(trainer)->bytes == sizeof(float), .error = error};
    return TN_NEW(&c->arena, 2 * tn_trainer_parameters(trainer) + tn_trainer_predictors(trainer) + EXTRA,
                  &c->array, error);
}

static tn_status add_parameters(collection *c, bool states) {
    for (size_t i = 0; i < tn_trainer_parameters(c->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(c->trainer, i);
        TN_TRY(add_values(c, p->name, p->values, p->axes, p->shape, p->elements));
        if (!states || !p->state) continue;
        const char *name;
        TN_TRY(tn_arena_format(&c->arena, &name, c->error, "%s.state", p->name));
        TN_TRY(add_values(c, name, p->state, 1, &p->state_elements, p->state_elements));
    }
    for (size_t i = 0; states && i < tn_trainer_predictors(c->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_predictor(c->trainer, i);
        TN_TRY(add_values(c, p->name, p->values, p->axes, p->shape, p->elements));
    }
    return TN_OK;
}

static tn_status add_history(collection *c, const char *identity, const tn_training_result *result) {
    double *history, *mark, *steps;
    TN_TRY(TN_NEW(&c->arena, result->epochs * TN_EPOCH_NUMBERS, &history, c->error));
    for (size_t i = 0; i < result->epochs; i++) pack(&result->epoch[i], history + i * TN_EPOCH_NUMBERS);
    TN_TRY(add_numbers(c, "run.history", history, result->epochs, TN_EPOCH_NUMBERS));
    TN_TRY(TN_NEW(&c->arena, TN_DIGEST_TEXT, &mark, c->error));
    for (int i = 0; i < TN_DIGEST_TEXT - 1; i++) mark[i] = identity[i];
    TN_TRY(add_numbers(c, "run.identity", mark, 1, TN_DIGEST_TEXT - 1));
    TN_TRY(TN_NEW(&c->arena, 2, &steps, c->error));
    steps[0] = (double)tn_trainer_steps(c->trainer);
    steps[1] = (double)result->steps;
    return add_numbers(c, "run.steps", steps, 1, 2);
}

tn_status tn_checkpoint_write(const char *path, const tn_trainer *trainer,
                              const char identity[TN_DIGEST_TEXT], const tn_training_result *result,
                              tn_error *error) {
    collection c;
    tn_status status = begin(&c, trainer, error);
    if (status == TN_OK) status = add_parameters(&c, true);
    if (status == TN_OK) status = add_history(&c, identity, result);
    if (status == TN_OK) status = tn_npz_write(path, c.array, c.count, error);
    tn_arena_free(&c.arena);
    return status;
}

tn_status tn_weights_write(const char *folder, const tn_trainer *trainer, tn_error *error) {
    collection c;
    const char *npz, *tensors;
    tn_status status = begin(&c, trainer, error);
    if (status == TN_OK) status = add_parameters(&c, false);
    if (status == TN_OK) status = tn_arena_format(&c.arena, &npz, error, "%s/weights.npz", folder);
    if (status == TN_OK)
        status = tn_arena_format(&c.arena, &tensors, error, "%s/weights.safetensors", folder);
    if (status == TN_OK) status = tn_npz_write(npz, c.array, c.count, error);
    if (status == TN_OK) status = tn_safetensors_write(tensors, c.array, c.count, error);
    tn_arena_free(&c.arena);
    return status;
}

/* A file being read back. */
typedef struct reading {
    const char *path;
    tn_arrays *arrays;
    const tn_trainer *trainer;
    tn_arena arena;
    tn_error *error;
} reading;

static tn_status read_numbers(reading *r, const char *name, uint64_t elements, double **values) {
    size_t position;
    TN_TRY(tn_arrays_find(r->arrays, name, &position, r->error));
    uint64_t there = tn_arrays_info(r->arrays, position)->elements;
    if (elements != UINT64_MAX && there != elements)
        return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                          "array \"%s\" has %" PRIu64 " elements; the model needs %" PRIu64, name, there,
                          elements);
    TN_TRY(TN_NEW(&r->arena, there, values, r->error));
    return tn_arrays_read(r->arrays, position, *values, r->error);
}

static tn_status read_values(reading *r, const char *name, uint64_t elements, void *target) {
    double *values;
    TN_TRY(read_numbers(r, name, elements, &values));
    for (uint64_t i = 0; i < elements; i++)
        if (!isfinite(values[i]))
            return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                              "array \"%s\" holds what is not a finite number", name);
    tn_trainer_kernels(r->trainer)->from_double(values, target, elements);
    return TN_OK;
}

static tn_status read_parameters(reading *r, bool states) {
    for (size_t i = 0; i < tn_trainer_parameters(r->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(r->trainer, i);
        TN_TRY(read_values(r, p->name, p->elements, p->values));
        if (!states || !p->state) continue;
        const char *name;
        TN_TRY(tn_arena_format(&r->arena, &name, r->error, "%s.state", p->name));
        TN_TRY(read_values(r, name, p->state_elements, p->state));
    }
    for (size_t i = 0; states && i < tn_trainer_predictors(r->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_predictor(r->trainer, i);
        TN_TRY(read_values(r, p->name, p->elements, p->values));
    }
    return TN_OK;
}

/* A whole number that a double holds exactly. */
static bool is_count(double number) {
    return number >= 0 && number <= 0x1p53 && number == floor(number);
}

/* The numbers of an epoch, as `pack` has them: losses are not negative (that of dev or test may pass the
 * range of the arithmetic), accuracies are shares, or NAN where the data have no such label. */
static tn_status check_epoch(reading *r, size_t epoch, const double *n) {
    static const char *const name[TN_EPOCH_NUMBERS] = {"epoch",
                                                       "loss",
                                                       "learning_rate",
                                                       "dev.loss",
                                                       "dev.intent_accuracy",
                                                       "dev.slot_accuracy",
                                                       "dev.slot_f1",
                                                       "test.loss",
                                                       "test.intent_accuracy",
                                                       "test.slot_accuracy",
                                                       "test.slot_f1",
                                                       "collapsed"};
    for (int i = 0; i < TN_EPOCH_NUMBERS; i++) {
        bool of_split = i >= 3 && i < 11, is_loss = i == 1 || i == 3 || i == 7;
        bool right = i == 0                 ? n[i] == (double)epoch
                     : i == 11              ? n[i] == 0 || n[i] == 1
                     : of_split && !is_loss ? isnan(n[i]) || (n[i] >= 0 && n[i] <= 1)
                     : of_split             ? !(n[i] < 0)
                                            : isfinite(n[i]) && n[i] >= 0;
        if (!right)
            return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                              "array \"run.history\" holds %g as %s of epoch %zu; no run writes that", n[i],
                              name[i], epoch);
    }
    return TN_OK;
}

static tn_status read_history(reading *r, const char *identity, tn_arena *arena, tn_training_result *result,
                              uint64_t *trained) {
    double *history, *mark, *steps;
    size_t position;
    TN_TRY(read_numbers(r, "run.identity", TN_DIGEST_TEXT - 1, &mark));
    for (int i = 0; i < TN_DIGEST_TEXT - 1; i++)
        if (mark[i] != identity[i])
            return tn_fail_at(
                r->error, TN_INPUT, (tn_position){.file = r->path},
                "is of another run: model, settings, precision or data differ; give those it began with");
    TN_TRY(read_numbers(r, "run.steps", 2, &steps));
    for (int i = 0; i < 2; i++)
        if (!is_count(steps[i]))
            return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                              "array \"run.steps\" holds %g, which is no number of steps", steps[i]);
    TN_TRY(tn_arrays_find(r->arrays, "run.history", &position, r->error));
    TN_TRY(read_numbers(r, "run.history", UINT64_MAX, &history));
    uint64_t elements = tn_arrays_info(r->arrays, position)->elements;
    if (elements / TN_EPOCH_NUMBERS > result->epochs || elements % TN_EPOCH_NUMBERS)
        return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path}, "has more epochs than the run");
    (void)arena;
    result->epochs = elements / TN_EPOCH_NUMBERS;
    for (size_t i = 0; i < result->epochs; i++) TN_TRY(check_epoch(r, i + 1, history + i * TN_EPOCH_NUMBERS));
    for (size_t i = 0; i < result->epochs; i++) unpack(history + i * TN_EPOCH_NUMBERS, &result->epoch[i]);
    *trained = (uint64_t)steps[0];
    result->steps = (uint64_t)steps[1];
    return TN_OK;
}

tn_status tn_checkpoint_read(const char *path, tn_trainer *trainer, const char identity[TN_DIGEST_TEXT],
                             tn_arena *arena, tn_training_result *result, bool *found, tn_error *error) {
    reading r = {.path = path, .trainer = trainer, .error = error};
    *found = access(path, F_OK) == 0;
    if (!*found) return TN_OK;
    uint64_t trained = 0;
    TN_TRY(tn_arrays_open(path, &r.arrays, error));
    tn_status status = read_history(&r, identity, arena, result, &trained);
    if (status == TN_OK) status = read_parameters(&r, true);
    if (status == TN_OK) tn_trainer_set_steps(trainer, trained);
    tn_trainer_select_anew(trainer);
    tn_arrays_close(r.arrays);
    tn_arena_free(&r.arena);
    return status;
}

tn_status tn_weights_read(const char *path, tn_trainer *trainer, tn_error *error) {
    reading r = {.path = path, .trainer = trainer, .error = error};
    TN_TRY(tn_arrays_open(path, &r.arrays, error));
    tn_status status = read_parameters(&r, false);
    tn_arrays_close(r.arrays);
    tn_arena_free(&r.arena);
    return status;
}
