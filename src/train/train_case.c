#include "train/train_case.h"

#include "base/memory.h"
#include "base/random.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Fails: oracle.json has no usable member `what`. */
static tn_status reference_run_malformed(const tn_reference_run *r, const char *what) {
    return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->folder},
                      "oracle.json has no usable \"%s\"; see docs/train.md for what a case holds", what);
}

static tn_status read_list(tn_reference_run *r, const json_t *list, const char *what, size_t most,
                           int64_t **values, size_t *count) {
    *count = json_array_size(list);
    if (!json_is_array(list) || *count == 0 || *count > most) return reference_run_malformed(r, what);
    TN_TRY(TN_NEW(&r->arena, *count, values, r->error));
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_integer(json_array_get(list, i))) return reference_run_malformed(r, what);
        (*values)[i] = json_integer_value(json_array_get(list, i));
    }
    return TN_OK;
}

/* Padding stands at the end; what is before it is the example. */
static tn_status read_sample(tn_reference_run *r, const json_t *given, tn_reference_sample *target) {
    int64_t *tokens, *slots;
    size_t count, labels, length = 0;
    enum { TOKENS_MOST = 1 << 20 };
    TN_TRY(read_list(r, json_object_get(given, "tokens"), "tokens", TOKENS_MOST, &tokens, &count));
    TN_TRY(read_list(r, json_object_get(given, "slots"), "slots", TOKENS_MOST, &slots, &labels));
    const json_t *intent = json_object_get(given, "intent");
    while (length < count && tokens[length] >= 0) length++;
    if (labels != count || length == 0 || !json_is_integer(intent))
        return reference_run_malformed(r, "samples");
    uint32_t *token;
    int32_t *slot;
    TN_TRY(TN_NEW(&r->arena, length, &token, r->error));
    TN_TRY(TN_NEW(&r->arena, length, &slot, r->error));
    for (size_t i = 0; i < length; i++) {
        if (tokens[i] > INT32_MAX || slots[i] > INT32_MAX) return reference_run_malformed(r, "samples");
        token[i] = (uint32_t)tokens[i];
        slot[i] = (int32_t)(slots[i] < 0 ? -1 : slots[i]);
    }
    *target =
        (tn_reference_sample){{(uint32_t)length, token, slot, (int32_t)json_integer_value(intent)}, NAN};
    const json_t *loss = json_object_get(given, "loss");
    if (json_is_number(loss)) target->loss = json_number_value(loss);
    return TN_OK;
}

static tn_status read_samples(tn_reference_run *r) {
    const json_t *list = json_object_get(r->root, "samples"), *rate = json_object_get(r->root, "lr");
    const json_t *epsilon = json_object_get(r->root, "layer_norm_eps");
    r->samples = json_array_size(list);
    r->steps = json_array_size(json_object_get(r->root, "curve"));
    if (r->samples == 0) return reference_run_malformed(r, "samples");
    if (r->steps == 0) return reference_run_malformed(r, "curve");
    if (!json_is_number(rate)) return reference_run_malformed(r, "lr");
    r->rate = json_number_value(rate);
    TN_TRY(tn_train_settings_decode(NULL, &r->arena, &r->settings, r->error));
    if (json_is_number(epsilon)) r->settings.layer_norm_epsilon = json_number_value(epsilon);
    TN_TRY(TN_NEW(&r->arena, r->samples, &r->sample, r->error));
    for (size_t i = 0; i < r->samples; i++) TN_TRY(read_sample(r, json_array_get(list, i), &r->sample[i]));
    return TN_OK;
}

static tn_status read_model(tn_reference_run *r) {
    const char *file = json_string_value(json_object_get(r->root, "model"));
    const char *kind = json_string_value(json_object_get(r->root, "kind")), *path = "atis-2enc";
    static const char *const dense[] = {"format=dense"};
    r->drawn = file == NULL;
    if (file) TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/%s", r->folder, file));
    bool uncompressed = kind && strcmp(kind, "dense") == 0;
    if (!file && !uncompressed && (!kind || strcmp(kind, "tt12") != 0))
        return reference_run_malformed(r, "model");
    return tn_model_load(path, dense, uncompressed ? 1 : 0, &r->arena, &r->model, r->error);
}

static tn_status open_reference(tn_reference_run *r) {
    const char *path;
    json_error_t where;
    TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/oracle.json", r->folder));
    r->root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!r->root)
        return tn_fail_at(r->error, TN_INPUT,
                          (tn_position){path, where.line > 0 ? (unsigned)where.line : 0,
                                        where.column > 0 ? (unsigned)where.column : 0},
                          "%s", where.text);
    TN_TRY(read_model(r));
    return read_samples(r);
}

/* Sets every parameter from initial.npz. */
static tn_status load_initial(tn_reference_run *r, tn_trainer *t) {
    const char *path;
    tn_arrays *arrays;
    TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/initial.npz", r->folder));
    TN_TRY(tn_arrays_open(path, &arrays, r->error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        size_t position;
        double *values;
        status = tn_arrays_find(arrays, p->name, &position, r->error);
        if (status != TN_OK) break;
        if (tn_arrays_info(arrays, position)->elements != p->elements) {
            status = tn_fail_at(r->error, TN_INPUT, (tn_position){.file = path},
                                "array \"%s\" has %" PRIu64 " elements; the model needs %" PRIu64, p->name,
                                tn_arrays_info(arrays, position)->elements, p->elements);
            break;
        }
        status = TN_NEW(&r->arena, p->elements, &values, r->error);
        if (status == TN_OK) status = tn_arrays_read(arrays, position, values, r->error);
        if (status == TN_OK) tn_trainer_kernels(t)->from_double(values, p->values, p->elements);
    }
    tn_arrays_close(arrays);
    return status;
}

/* Draws every parameter as oracle.json's `arrays` say. */
static tn_status draw_initial(tn_reference_run *r, tn_trainer *t) {
    const json_t *list = json_object_get(r->root, "arrays"), *seed = json_object_get(r->root, "seed");
    if (json_array_size(list) != tn_trainer_parameters(t)) return reference_run_malformed(r, "arrays");
    if (!json_is_integer(seed)) return reference_run_malformed(r, "seed");
    uint64_t state = (uint64_t)json_integer_value(seed);
    for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        const json_t *array = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(array, "name"));
        const json_t *amplitude = json_object_get(array, "amplitude"), *fill = json_object_get(array, "fill");
        double *values;
        if (!name || strcmp(name, p->name) != 0) return reference_run_malformed(r, "arrays");
        TN_TRY(TN_NEW(&r->arena, p->elements, &values, r->error));
        for (uint64_t k = 0; k < p->elements; k++)
            values[k] = json_is_number(amplitude)
                            ? (2 * tn_splitmix_unit(&state) - 1) * json_number_value(amplitude)
                            : json_number_value(fill);
        tn_trainer_kernels(t)->from_double(values, p->values, p->elements);
    }
    return TN_OK;
}

/* Sets the trainer's parameters to those of the first step: from initial.npz, or drawn as oracle.json's `arrays` say. */
static tn_status reference_run_initial(tn_reference_run *r, tn_trainer *t) {
    return r->drawn ? draw_initial(r, t) : load_initial(r, t);
}

/* *reference must be closed, opened or not. A folder that is no reference run is TN_INPUT. */
static tn_status reference_run_open(const char *folder, tn_reference_run *r, tn_error *error) {
    *r = (tn_reference_run){.folder = folder, .error = error};
    return open_reference(r);
}

/* *reference must be closed, opened or not. A folder that is no reference run is TN_INPUT. */
static void reference_run_close(tn_reference_run *r) {
    json_decref(r->root);
    tn_arena_free(&r->arena);
}

/* Below this share of the largest norm an array counts as zero but for rounding. */
static const double ZERO_SHARE = 1e-9;

/* The run by one flow after the other. */
typedef struct case_run {
    tn_reference_run reference;
    tn_train_checks *checks;
    tn_program_cache *cache; /* of all flows and precisions: a training flow takes seconds to find */
    const char *wanted;      /* the only flow that is run; NULL: all */
    const char *flow;        /* being run */
    tn_real real;
    uint32_t threads;
    tn_error *error;
} case_run;

static double tolerance_of(tn_real real) {
    return real == TN_FLOAT64 ? 1e-12 : 1e-5;
}

static tn_status add_check(case_run *r, const char *name, const char *quantity, const char *worst,
                           double relative, double tolerance) {
    tn_train_checks *c = r->checks;
    TN_TRY(TN_GROW(&c->item, &c->capacity, c->count + 1, r->error));
    tn_train_check *check = &c->item[c->count];
    *check = (tn_train_check){.quantity = quantity,
                              .flow = r->flow,
                              .real = r->real,
                              .relative_error = relative,
                              .tolerance = tolerance,
                              .ok = relative <= tolerance};
    TN_TRY(tn_arena_copy_text(&c->arena, name, strlen(name), &check->name, r->error));
    if (worst) TN_TRY(tn_arena_copy_text(&c->arena, worst, strlen(worst), &check->worst, r->error));
    c->failed |= !check->ok;
    c->count++;
    return TN_OK;
}

/* Values of ours, as float64. */
static tn_status ours_of(case_run *r, const tn_trainer *t, const void *values, uint64_t count,
                         double **ours) {
    TN_TRY(TN_NEW(&r->reference.arena, count, ours, r->error));
    tn_trainer_kernels(t)->to_double(values, *ours, count);
    return TN_OK;
}

/* Arrays compared one by one, and the worst of them. */
typedef struct comparison {
    double largest_norm; /* of what is expected, over all arrays */
    double worst;        /* of one array */
    const char *worst_name;
    size_t arrays;
} comparison;

typedef struct pair {
    const char *name;
    const double *ours, *expected;
    uint64_t elements;
} pair;

static double norm_of(const double *values, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

static void compare(const pair *couple, size_t count, comparison *found) {
    *found = (comparison){.arrays = count};
    for (size_t i = 0; i < count; i++) {
        double norm = norm_of(couple[i].expected, couple[i].elements);
        if (norm > found->largest_norm) found->largest_norm = norm;
    }
    for (size_t i = 0; i < count; i++) {
        double norm = norm_of(couple[i].expected, couple[i].elements), sum = 0;
        for (uint64_t k = 0; k < couple[i].elements; k++) {
            double difference = couple[i].ours[k] - couple[i].expected[k];
            sum += difference * difference;
        }
        double reference = norm < ZERO_SHARE * found->largest_norm ? found->largest_norm : norm;
        double relative = reference > 0 ? sqrt(sum) / reference : sqrt(sum);
        if (!(relative <= found->worst)) { /* NaN is worst */
            found->worst = isnan(relative) ? INFINITY : relative;
            found->worst_name = couple[i].name;
        }
    }
}

/* What a step gives that outlives it only as a copy: outputs of layers, gradients of parameters. */
typedef struct captured {
    case_run *r;
    const tn_trainer *t;
    double **output;   /* [layers] */
    double **gradient; /* [parameters], in their order */
    uint64_t *output_elements;
    const tn_step *step;
    tn_status status;
} captured;

static void capture(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    captured *c = user;
    const tn_array *this_array = &step->array[array];
    double **target = NULL;
    c->step = step;
    if (this_array->role == TN_ARRAY_GRADIENT) {
        size_t parameter = 0;
        for (uint32_t i = 0; i < array; i++) parameter += step->array[i].role == TN_ARRAY_PARAMETER;
        target = &c->gradient[parameter - 1];
    } else if (step->operation[operation].phase == TN_FORWARD && this_array->part == TN_PART_OUTPUT) {
        target = &c->output[this_array->layer];
        c->output_elements[this_array->layer] = this_array->elements;
    }
    if (!target || c->status != TN_OK) return;
    if (!*target) c->status = TN_NEW(&c->r->reference.arena, this_array->elements, target, c->r->error);
    if (c->status == TN_OK) tn_trainer_kernels(c->t)->to_double(values, *target, this_array->elements);
}

static tn_status read_array(case_run *r, tn_arrays *arrays, size_t position, double **values) {
    TN_TRY(TN_NEW(&r->reference.arena, tn_arrays_info(arrays, position)->elements, values, r->error));
    return tn_arrays_read(arrays, position, *values, r->error);
}

typedef struct current {
    case_run *r;
    const tn_trainer *t;
} current;

static tn_status find_weight(void *user, const char *name, const double **ours, uint64_t *elements) {
    current *c = user;
    *ours = NULL;
    for (size_t i = 0; i < tn_trainer_parameters(c->t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(c->t, i);
        if (strcmp(p->name, name) != 0) continue;
        double *values;
        TN_TRY(ours_of(c->r, c->t, p->values, p->elements, &values));
        *ours = values;
        *elements = p->elements;
    }
    return TN_OK;
}

/* Pairs of every array of a file with ours of that name; ours may have fewer elements: rows of padding are not
 * compared. */
typedef tn_status (*finder)(void *user, const char *name, const double **ours, uint64_t *elements);

static tn_status compare_file(case_run *r, const char *file, finder find, void *user, const char *name,
                              const char *quantity) {
    const char *path;
    tn_arrays *arrays;
    pair *couple;
    comparison found;
    TN_TRY(tn_arena_format(&r->reference.arena, &path, r->error, "%s/%s", r->reference.folder, file));
    TN_TRY(tn_arrays_open(path, &arrays, r->error));
    size_t count = tn_arrays_count(arrays);
    tn_status status = TN_NEW(&r->reference.arena, count, &couple, r->error);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        double *expected;
        status = read_array(r, arrays, i, &expected);
        couple[i].expected = expected;
        if (status == TN_OK)
            status = find(user, tn_arrays_info(arrays, i)->name, &couple[i].ours, &couple[i].elements);
        if (status == TN_OK && (!couple[i].ours || couple[i].elements > tn_arrays_info(arrays, i)->elements))
            status = tn_fail_at(r->error, TN_INPUT, (tn_position){.file = path},
                                "array \"%s\" is not one of the model, or has another size",
                                tn_arrays_info(arrays, i)->name);
        if (status == TN_OK)
            status = tn_arena_copy_text(&r->reference.arena, tn_arrays_info(arrays, i)->name,
                                        strlen(tn_arrays_info(arrays, i)->name), &couple[i].name, r->error);
    }
    tn_arrays_close(arrays);
    TN_TRY(status);
    compare(couple, count, &found);
    return add_check(r, name, quantity, found.worst_name, found.worst, tolerance_of(r->real));
}

static tn_status find_gradient(void *user, const char *name, const double **ours, uint64_t *elements) {
    captured *c = user;
    *ours = NULL;
    for (size_t i = 0; i < tn_trainer_parameters(c->t); i++)
        if (strcmp(tn_trainer_parameter(c->t, i)->name, name) == 0) {
            *ours = c->gradient[i];
            *elements = tn_trainer_parameter(c->t, i)->elements;
        }
    return TN_OK;
}

static tn_status find_output(void *user, const char *name, const double **ours, uint64_t *elements) {
    captured *c = user;
    *ours = NULL;
    for (uint32_t i = 0; i < c->step->layers; i++)
        if (strcmp(c->step->layer[i].name, name) == 0) {
            *ours = c->output[i];
            *elements = c->output_elements[i];
        }
    return TN_OK;
}

static double relative_to(double ours, double expected) {
    double error = fabs(ours - expected) / (expected != 0 ? fabs(expected) : 1);
    return isnan(error) ? INFINITY : error;
}

/* Gradients and activations of sample i at the initial weights: a step of rate 0. */
static tn_status check_sample(case_run *r, tn_trainer *t, size_t i, bool padded) {
    const tn_reference_sample *s = &r->reference.sample[i];
    captured c = {.r = r, .t = t};
    size_t layers = tn_model_layers(r->reference.model);
    const char *name, *file;
    tn_step_result result;
    TN_TRY(TN_NEW(&r->reference.arena, layers, &c.output, r->error));
    TN_TRY(TN_NEW(&r->reference.arena, layers, &c.output_elements, r->error));
    TN_TRY(TN_NEW(&r->reference.arena, tn_trainer_parameters(t), &c.gradient, r->error));
    tn_trainer_watch(t, capture, &c);
    tn_status status = tn_trainer_step(t, &s->example, 1, padded, 0, &result, r->error);
    tn_trainer_watch(t, NULL, NULL);
    TN_TRY(status);
    TN_TRY(c.status);
    TN_TRY(tn_arena_format(&r->reference.arena, &name, r->error, "sample %zu", i));
    TN_TRY(add_check(r, name, "loss", NULL, relative_to(result.loss, s->loss), tolerance_of(r->real)));
    for (uint32_t k = 0; padded && k < c.step->layers; k++) { /* rows of padding mean nothing */
        uint64_t rows = c.step->layer[k].tokens;
        if (rows > s->example.tokens) c.output_elements[k] = c.output_elements[k] / rows * s->example.tokens;
    }
    TN_TRY(tn_arena_format(&r->reference.arena, &file, r->error, "gradients%zu.npz", i));
    if (padded || s->example.tokens == tn_trainer_sequence(t))
        TN_TRY(compare_file(r, file, find_gradient, &c, name, "gradients"));
    TN_TRY(tn_arena_format(&r->reference.arena, &file, r->error, "activations%zu.npz", i));
    return compare_file(r, file, find_output, &c, name, "activations");
}

/* All steps of the curve; the worst of the losses, and the counts. */
static tn_status check_curve(case_run *r, tn_trainer *t) {
    const json_t *curve = json_object_get(r->reference.root, "curve");
    double worst = 0, worst_macs = 0, worst_peak = 0;
    const char *name, *cursor = NULL;
    for (size_t i = 0; i < r->reference.steps; i++) {
        const tn_reference_sample *s = &r->reference.sample[i % r->reference.samples];
        const json_t *expected = json_object_get(json_array_get(curve, i), "loss");
        tn_step_result result;
        if (!json_is_number(expected)) return reference_run_malformed(&r->reference, "curve");
        TN_TRY(tn_trainer_step(t, &s->example, 1, false, r->reference.rate, &result, r->error));
        double error = relative_to(result.loss, json_number_value(expected));
        if (error > worst) {
            worst = error;
            TN_TRY(tn_arena_format(&r->reference.arena, &cursor, r->error, "step %zu", i + 1));
        }
        worst_macs = fmax(worst_macs, relative_to((double)result.macs, (double)result.macs_predicted));
        worst_peak = fmax(worst_peak,
                          relative_to((double)result.peak_elements, (double)result.peak_elements_predicted));
    }
    TN_TRY(tn_arena_format(&r->reference.arena, &name, r->error, "%zu steps", r->reference.steps));
    TN_TRY(add_check(r, name, "loss", cursor, worst, tolerance_of(r->real)));
    TN_TRY(add_check(r, name, "macs", NULL, worst_macs, 0));
    TN_TRY(add_check(r, name, "peak_elements", NULL, worst_peak, 0));
    if (!r->reference.drawn) {
        current c = {r, t};
        return compare_file(r, "final.npz", find_weight, &c, name, "weights");
    }
    return TN_OK;
}

/* Norms of all parameters against a member of oracle.json's `arrays`. */
static tn_status check_norms(case_run *r, tn_trainer *t, const char *member, const char *name) {
    const json_t *list = json_object_get(r->reference.root, "arrays");
    double worst = 0;
    const char *where = NULL;
    for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        const json_t *norm = json_object_get(json_array_get(list, i), member);
        double *values;
        if (!json_is_number(norm)) return reference_run_malformed(&r->reference, member);
        TN_TRY(ours_of(r, t, p->values, p->elements, &values));
        double ours = norm_of(values, p->elements), expected = json_number_value(norm);
        double error = expected < ZERO_SHARE ? fabs(ours - expected) : relative_to(ours, expected);
        if (!(error <= worst)) {
            worst = error;
            where = p->name;
        }
    }
    return add_check(r, name, "weights", where, worst, tolerance_of(r->real));
}

static tn_status run_flow(case_run *r) {
    tn_trainer *t;
    TN_TRY(tn_trainer_new_with(r->reference.model, &r->reference.settings, r->real, r->cache, &t, r->error));
    tn_trainer_set_threads(t, r->threads);
    tn_status status = reference_run_initial(&r->reference, t);
    if (status == TN_OK && r->reference.drawn) status = check_norms(r, t, "norm_initial", "generator");
    for (size_t i = 0; status == TN_OK && !r->reference.drawn && i < r->reference.samples; i++)
        status = check_sample(r, t, i, true);
    if (status == TN_OK) status = check_curve(r, t);
    if (status == TN_OK && r->reference.drawn) {
        const char *name;
        status = tn_arena_format(&r->reference.arena, &name, r->error, "%zu steps", r->reference.steps);
        if (status == TN_OK) status = check_norms(r, t, "norm_final", name);
    }
    tn_trainer_free(t);
    return status;
}

/* Gives every weight the flow where it has it; false: none has. A table is looked up from right to left or in the
 * best order. */
static bool set_flow(case_run *r, tn_flow_name flow) {
    bool any = false;
    for (size_t i = 0; i < tn_model_weights(r->reference.model); i++) {
        tn_model_weight *weight = tn_model_weight_at(r->reference.model, i);
        bool table = false;
        for (size_t k = 0; k < tn_model_layers(r->reference.model); k++) {
            tn_model_layer layer = tn_model_layer_at(r->reference.model, k);
            table |= layer.weight == weight && layer.looked_up;
        }
        bool fits = weight->weight.format != TN_DENSE && tn_flow_exists(&weight->weight, flow);
        if (table) fits = flow == TN_FLOW_RIGHT_TO_LEFT || flow == TN_FLOW_OPTIMAL;
        if (fits) weight->flow = flow;
        any |= fits && !table;
    }
    return any;
}

static bool is_dense(const case_run *r) {
    for (size_t i = 0; i < tn_model_layers(r->reference.model); i++)
        if (tn_model_layer_at(r->reference.model, i).weight &&
            !tn_model_layer_at(r->reference.model, i).dense)
            return false;
    return true;
}

/* A compressed matrix that is multiplied out is compared in float64 alone: going from the gradient of the matrix to those of
 * its cores, float32 amplifies the roundings of earlier steps in biases that are small. */
static tn_status run_precisions(case_run *r, const char *flow, bool multiplied_out) {
    if (r->wanted && strcmp(r->wanted, flow) != 0) return TN_OK;
    r->flow = flow;
    for (int real = 0; real < TN_REALS; real++) {
        r->real = (tn_real)real;
        if (!multiplied_out || r->real == TN_FLOAT64) TN_TRY(run_flow(r));
    }
    return TN_OK;
}

/* Whether multiplying a matrix out takes long. */
static tn_status is_dear(case_run *r, bool *dear) {
    enum { ELEMENTS_MOST = 1 << 16 };
    *dear = false;
    for (size_t i = 0; i < tn_model_weights(r->reference.model); i++) {
        const tn_weight *weight = &tn_model_weight_at(r->reference.model, i)->weight;
        uint64_t rows, columns;
        TN_TRY(tn_weight_rows(weight, &rows, r->error));
        TN_TRY(tn_weight_columns(weight, &columns, r->error));
        *dear |= rows > ELEMENTS_MOST / columns;
    }
    return TN_OK;
}

/* Every flow that is a tree, the best training flow, and updates written back where a gradient is finished. */
static tn_status run_all(case_run *r) {
    static const char *const write_back[] = {"update.when=write-back"};
    bool dense = is_dense(r), dear;
    TN_TRY(is_dear(r, &dear));
    for (int flow = 0; flow <= TN_FLOW_TRAINING_OPTIMAL; flow++) {
        if (dense ? flow != TN_FLOW_DENSE : !set_flow(r, (tn_flow_name)flow)) continue;
        if (!dense && dear && flow == TN_FLOW_DENSE) continue;
        TN_TRY(run_precisions(r, tn_flow_names[flow], !dense && flow == TN_FLOW_DENSE));
    }
    TN_TRY(tn_model_vary(tn_model_root(r->reference.model), write_back, 1, &r->reference.arena,
                         &r->reference.model, r->error));
    if (!dense) set_flow(r, TN_FLOW_OPTIMAL);
    return run_precisions(r, dense ? "dense, write-back" : "optimal, write-back", false);
}

tn_status tn_train_case(const char *folder, const char *flow, uint32_t threads, tn_train_checks *checks,
                        tn_error *error) {
    case_run r = {.wanted = flow, .threads = threads, .checks = checks, .error = error};
    tn_status status = reference_run_open(folder, &r.reference, error);
    if (status == TN_OK) status = tn_program_cache_new(&r.cache, error);
    if (status == TN_OK) status = run_all(&r);
    tn_program_cache_free(r.cache);
    reference_run_close(&r.reference);
    return status;
}

void tn_train_checks_free(tn_train_checks *checks) {
    tn_free(checks->item);
    tn_arena_free(&checks->arena);
    *checks = (tn_train_checks){0};
}
