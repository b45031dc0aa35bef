/* One training step or forward pass, operation by operation. */
#include "base/blas.h"
#include "base/random.h"
#include "model/graph.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

typedef struct run {
    tn_trainer *t;
    const tn_sized_step *sized;
    uint64_t examples;
    double rate;
    uint32_t *const *class_of;
    tn_step_result *result;
    uint64_t live_elements;
} run;

/* Of this thread's work. */
static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline char *at(const run *r, uint32_t array) {
    const tn_lowered_step *of = &r->sized->lowered;
    return of->resident[array] ? (char *)r->t->resident[of->place[array]] : r->t->pool + of->place[array];
}

static inline uint64_t elements(const run *r, uint32_t array) {
    return r->sized->lowered.step.array[array].elements;
}

static void product(run *r, const tn_instruction *to) {
    const tn_operation *o = to->operation;
    const tn_lowered_step *of = &r->sized->lowered;
    const tn_contraction_rounding rounding = {&r->t->rounding,
                                              of->rounding ? of->rounding[o - of->step.operation] : NULL};
    bool rounded = rounding.how && rounding.how[0].format;
    const tn_contraction_rounding none = {0};
    tn_contraction_run(to->contraction, r->t->kernels, to->digits, rounded ? &rounding : &none,
                       at(r, o->reads[0]), at(r, o->reads[1]), at(r, o->writes[0]), r->t->scratch,
                       r->t->scratch_elements, &r->result->macs);
}

/* Rows of a table at the tokens, or of all tokens at the first of each example. */
static void lookup(run *r, const tn_operation *o) {
    size_t row = o->columns * r->t->kernels->bytes;
    const char *from = at(r, o->reads[0]);
    char *to = at(r, o->writes[0]);
    bool table = r->sized->lowered.step.array[o->reads[0]].role == TN_ARRAY_PARAMETER;
    for (uint64_t i = 0; i < o->rows; i++)
        memcpy(to + i * row, from + (table ? r->t->batch.token[i] : i * r->sized->tokens) * row, row);
}

/* rows x columns of `from`, row i added to row target(i) of `to`. */
static void scatter(run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const tn_step *step = &r->sized->lowered.step;
    size_t row = o->columns * k->bytes;
    const char *from = at(r, o->reads[0]);
    char *to = at(r, o->writes[0]);
    bool parameter = step->array[o->writes[0]].role == TN_ARRAY_GRADIENT;
    bool embedding = r->t->model->layer[o->layer].kind->is_lookup;
    if (o->read_count == 1) memset(to, 0, elements(r, o->writes[0]) * k->bytes);
    for (uint64_t i = 0; i < o->rows; i++) {
        uint64_t target = embedding   ? r->t->batch.token[i]
                          : parameter ? i % r->sized->tokens
                                      : i * r->sized->tokens;
        k->add(to + target * row, to + target * row, from + i * row, o->columns, o->columns);
    }
}

static void softmax(run *r, const tn_instruction *to) {
    const tn_operation *o = to->operation;
    const tn_kernels *k = r->t->kernels;
    uint64_t rows = o->rows / r->sized->batch;
    char *scores = at(r, o->writes[0]);
    for (uint64_t e = 0; e < r->sized->batch; e++)
        k->softmax(scores + e * rows * o->columns * k->bytes, rows, o->columns,
                   r->t->batch.length[e] < o->columns ? r->t->batch.length[e] : o->columns, to->scale);
}

static int32_t label_of(const run *r, bool of_example, uint64_t row) {
    return of_example ? r->t->batch.intent[row] : r->t->batch.slot[row];
}

/* Loss and, where `gradient` is not NULL, gradient of the logits of every labelled row. */
static void cross_entropy(run *r, const tn_operation *o, uint32_t head, char *gradient) {
    const tn_kernels *k = r->t->kernels;
    const tn_head *of = &r->sized->lowered.head[head];
    const char *logits = at(r, of->logits);
    size_t row = o->columns * k->bytes, best;
    uint64_t labels = 0;
    double sum = 0;
    for (uint64_t i = 0; i < o->rows; i++) labels += label_of(r, of->of_example, i) >= 0;
    bool mean = of->of_example || r->t->settings.token_loss == TN_TOKEN_MEAN;
    double share = mean && labels ? 1.0 / (double)labels : 1.0;
    for (uint64_t i = 0; i < o->rows; i++) {
        int32_t label = label_of(r, of->of_example, i);
        if (label >= 0)
            sum += k->cross_entropy(gradient ? gradient + i * row : NULL, logits + i * row, o->columns,
                                    (size_t)label, share * r->t->weight[head], &best);
        else if (gradient)
            memset(gradient + i * row, 0, row);
    }
    r->result->labels[head] = labels;
    r->result->head_loss[head] = sum * share;
    r->result->loss += r->t->weight[head] * sum * share;
}

/* A step of fewer tokens has the first rows of the positions alone: the gradient of the others is 0, which moves
 * those of an optimizer with a state all the same. */
static void update(run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    size_t number = r->sized->lowered.place[o->reads[0]];
    const tn_train_parameter *p = &r->t->parameter[r->t->resident_parameter[number]];
    tn_update_rule rule = {.rate = r->rate,
                           .momentum = r->t->settings.momentum,
                           .beta1 = r->t->settings.beta1,
                           .beta2 = r->t->settings.beta2,
                           .epsilon = r->t->settings.adam_epsilon};
    size_t given = elements(r, o->reads[0]), rest = p->elements - given;
    char *values = p->values, *state = p->state, *gradient = at(r, o->reads[1]);
    switch (o->kind) {
    case TN_OP_UPDATE_MOMENTUM:
        k->momentum(values, gradient, state, given, &rule);
        if (rest) k->momentum(values + given * k->bytes, NULL, state + given * k->bytes, rest, &rule);
        break;
    case TN_OP_UPDATE_ADAM: {
        double now = (double)r->t->steps + 1;
        double first = 1 - pow(rule.beta1, now), second = sqrt(1 - pow(rule.beta2, now));
        rule.rate *= second / first;
        rule.epsilon *= second;
        k->adam(values, gradient, state, p->elements, given, &rule);
        if (rest)
            k->adam(values + given * k->bytes, NULL, state + given * k->bytes, p->elements, rest, &rule);
        break;
    }
    default:
        k->sgd(values, gradient, given, &rule);
    }
}

static void execute(run *r, const tn_instruction *to) {
    const tn_operation *o = to->operation;
    const tn_kernels *k = r->t->kernels;
    char *out = at(r, o->writes[0]);
    const char *a = at(r, o->reads[0]), *b = o->read_count > 1 ? at(r, o->reads[1]) : NULL;
    size_t count = o->rows * o->columns;
    switch (o->kind) {
    case TN_OP_PRODUCT:
        product(r, to);
        break;
    case TN_OP_LOOKUP:
        lookup(r, o);
        break;
    case TN_OP_SCATTER:
        scatter(r, o);
        break;
    case TN_OP_ADD:
        k->add(out, a, b, count, elements(r, o->reads[1]));
        break;
    case TN_OP_SUBTRACT:
        k->subtract(out, a, b, count);
        break;
    case TN_OP_COLUMN_SUM:
        k->column_sum(out, a, o->rows, o->columns);
        break;
    case TN_OP_SCALE_GRADIENT:
        k->column_sum_normalised(out, a, b, at(r, o->reads[2]), o->rows, o->columns);
        break;
    case TN_OP_SOFTMAX:
        softmax(r, to);
        break;
    case TN_OP_SOFTMAX_GRADIENT:
        k->softmax_gradient(a, out, o->rows, o->columns, to->scale);
        break;
    case TN_OP_LAYER_NORM:
        k->layer_norm(out, at(r, o->writes[1]), a, b, at(r, o->reads[2]), o->rows, o->columns,
                      r->t->settings.layer_norm_epsilon);
        break;
    case TN_OP_LAYER_NORM_GRADIENT:
        k->layer_norm_gradient(out, a, b, at(r, o->reads[2]), at(r, o->reads[3]), o->rows, o->columns);
        break;
    case TN_OP_GELU:
        k->gelu(out, a, count);
        break;
    case TN_OP_GELU_GRADIENT:
        k->gelu_gradient(out, a, b, count);
        break;
    case TN_OP_TANH:
        k->tanh(out, a, count);
        break;
    case TN_OP_TANH_GRADIENT:
        k->tanh_gradient(out, a, b, count);
        break;
    case TN_OP_CROSS_ENTROPY:
        cross_entropy(r, o, to->head, out);
        break;
    case TN_OP_RELU:
        k->relu(out, a, count);
        break;
    case TN_OP_RELU_GRADIENT:
        k->relu_gradient(out, a, b, count);
        break;
    case TN_OP_RMS_NORM:
        k->rms_norm(out, at(r, o->writes[1]), a, b, o->rows, o->columns, r->t->settings.layer_norm_epsilon);
        break;
    case TN_OP_RMS_NORM_GRADIENT:
        k->rms_norm_gradient(out, a, b, at(r, o->reads[2]), at(r, o->reads[3]), o->rows, o->columns);
        break;
    case TN_OP_RMS_SCALE_GRADIENT:
        k->rms_scale_gradient(out, a, b, at(r, o->reads[2]), o->rows, o->columns);
        break;
    case TN_OP_UPDATE_SGD:
    case TN_OP_UPDATE_MOMENTUM:
    case TN_OP_UPDATE_ADAM:
        update(r, o);
        break;
    case TN_OPERATION_KINDS:
        break;
    }
}

static void tell_watcher(const run *r, uint32_t position) {
    const tn_operation *o = &r->sized->lowered.step.operation[position];
    for (uint32_t i = 0; i < o->write_count; i++)
        r->t->watcher(r->t->watcher_user, &r->sized->lowered.step, position, o->writes[i],
                      at(r, o->writes[i]));
}

static void run_operations(run *r, uint32_t end) {
    const tn_lowered_step *of = &r->sized->lowered;
    const tn_kernels *k = r->t->kernels;
    r->live_elements = of->resident_elements;
    for (uint32_t i = 0; i < end; i++) {
        const tn_instruction *to = &of->instruction[i];
        r->live_elements += to->made_elements;
        if (r->live_elements > r->result->peak_elements) r->result->peak_elements = r->live_elements;
        for (uint32_t c = 0; c < to->clear_count; c++)
            memset(at(r, to->clear[c]), 0, elements(r, to->clear[c]) * k->bytes);
        double started = r->t->timed ? cpu_seconds() : 0;
        execute(r, to);
        if (r->t->timed && to->operation->kind == TN_OP_PRODUCT)
            r->t->product_seconds += cpu_seconds() - started;
        if (r->t->watcher) tell_watcher(r, i);
        r->live_elements -= to->dead_elements;
    }
}

static tn_status out_of_range(tn_error *error, const char *what, long long value, uint64_t most) {
    return tn_fail(error, TN_INPUT, "%s %lld; the model has %" PRIu64 ", numbered from 0", what, value, most);
}

static tn_status check_example(const tn_trainer *t, const tn_example *example, tn_error *error) {
    if (example->tokens == 0 || example->tokens > t->model->sequence)
        return tn_fail(error, TN_INPUT, "an example of %" PRIu32 " tokens; the model takes 1 to %" PRIu64,
                       example->tokens, t->model->sequence);
    uint64_t words = tn_trainer_vocabulary(t);
    for (uint32_t i = 0; i < example->tokens; i++)
        if (example->token[i] >= words) return out_of_range(error, "word", example->token[i], words);
    for (uint32_t h = 0; h < t->whole->lowered.heads; h++) {
        const tn_head *head = &t->whole->lowered.head[h];
        if (head->of_example && example->intent >= (int64_t)head->outputs)
            return out_of_range(error, "class", example->intent, head->outputs);
        for (uint32_t i = 0; !head->of_example && i < example->tokens; i++)
            if (example->slot[i] >= (int64_t)head->outputs)
                return out_of_range(error, "label", example->slot[i], head->outputs);
    }
    return TN_OK;
}

/* Lays the examples out and picks the step of their size. */
static tn_status take_examples(run *r, const tn_example *example, uint64_t count, bool padded,
                               tn_error *error) {
    tn_trainer *t = r->t;
    uint64_t longest = padded ? t->model->sequence : 1;
    for (uint64_t e = 0; e < count; e++) {
        TN_TRY(check_example(t, &example[e], error));
        if (example[e].tokens > longest) longest = example[e].tokens;
    }
    TN_TRY(tn_trainer_sized(t, count, longest, &r->sized, error));
    for (uint64_t e = 0; e < count; e++) {
        t->batch.length[e] = example[e].tokens;
        t->batch.intent[e] = example[e].intent;
        for (uint64_t i = 0; i < longest; i++) {
            bool there = i < example[e].tokens;
            t->batch.token[e * longest + i] = there ? example[e].token[i] : 0;
            t->batch.slot[e * longest + i] = there && example[e].slot ? example[e].slot[i] : -1;
        }
    }
    for (uint32_t k = 0; k < r->sized->lowered.tables; k++) {
        const tn_table_digits *table = &r->sized->lowered.table[k];
        for (uint64_t i = 0; i < count * longest; i++) {
            uint64_t word = t->batch.token[i];
            for (uint32_t d = table->count; d-- > 0; word /= table->radix[d])
                table->digit[d][i] = (uint32_t)(word % table->radix[d]);
        }
    }
    return TN_OK;
}

static uint64_t predicted_macs(const tn_step *step, bool forward) {
    uint64_t macs = 0;
    uint32_t end = forward ? step->forward_operations : step->operations;
    for (uint32_t i = 0; i < end; i++) macs += step->operation[i].macs;
    return macs;
}

/* The random numbers of a step follow from seed and step, so that a resumed run has them again. */
static void draw_noise(tn_trainer *t) {
    uint64_t seed = t->settings.seed, step = t->steps;
    t->rounding.stochastic = t->settings.gradient_rounding == TN_ROUNDING_STOCHASTIC;
    t->rounding.noise = tn_splitmix_next(&seed) ^ (tn_splitmix_next(&step) << 1);
}

tn_status tn_trainer_step(tn_trainer *t, const tn_example *example, uint64_t count, bool padded, double rate,
                          tn_step_result *result, tn_error *error) {
    run r = {.t = t, .rate = rate, .examples = count, .result = result};
    *result = (tn_step_result){0};
    TN_TRY(take_examples(&r, example, count, padded, error));
    const tn_step *step = &r.sized->lowered.step;
    draw_noise(t);
    tn_blas_serial();
    run_operations(&r, step->operations);
    tn_blas_restore();
    t->steps++;
    result->macs_predicted = predicted_macs(step, false);
    result->peak_elements_predicted = step->peak_elements;
    return TN_OK;
}

static void classify(const run *r, const tn_example *example, uint64_t count) {
    const tn_lowered_step *of = &r->sized->lowered;
    const tn_kernels *k = r->t->kernels;
    for (uint32_t h = 0; h < of->heads; h++) {
        const tn_head *head = &of->head[h];
        uint32_t *next = r->class_of ? r->class_of[h] : NULL;
        for (uint64_t e = 0; next && e < count; e++)
            for (uint64_t i = 0; i < (head->of_example ? 1 : example[e].tokens); i++) {
                uint64_t row = head->of_example ? e : e * r->sized->tokens + i;
                *next++ = (uint32_t)k->greatest(at(r, head->logits) + row * head->outputs * k->bytes,
                                                head->outputs);
            }
    }
}

tn_status tn_trainer_forward(tn_trainer *t, const tn_example *example, uint64_t count, bool padded,
                             uint32_t *const *class_of, tn_step_result *result, tn_error *error) {
    run r = {.t = t, .examples = count, .class_of = class_of, .result = result};
    *result = (tn_step_result){0};
    TN_TRY(take_examples(&r, example, count, padded, error));
    const tn_lowered_step *of = &r.sized->lowered;
    tn_blas_serial();
    run_operations(&r, of->forward_end);
    for (uint32_t i = of->forward_end; i < of->step.operations; i++)
        if (of->instruction[i].operation->kind == TN_OP_CROSS_ENTROPY)
            cross_entropy(&r, of->instruction[i].operation, of->instruction[i].head, NULL);
    tn_blas_restore();
    classify(&r, example, count);
    result->macs_predicted = predicted_macs(&of->step, true);
    result->peak_elements_predicted = 0;
    return TN_OK;
}
