/* The operations of a step, executed one after the other by a team of threads.
 *
 * What is worth sharing is shared: products by train/contraction.h, vector operations by rows or elements, sums over
 * rows by columns. The rest is done by the first thread while the others wait for the next shared operation.
 */
#include "base/clock.h"
#include "base/guard.h"
#include "model/graph.h"
#include "train/answers.h"
#include "train/experts.h"
#include "train/selection.h"
#include "train/trainer_state.h"
#include "train/windows.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Elements that a share is a multiple of: a cache line of float32. */
enum { GRAIN = 16 };

/* Below these an operation takes less time than waiting for each other does. */
enum { SHARED_MACS = 1 << 17, SHARED_ELEMENTS = 1 << 14 };

static const tn_team alone = {0, 1, NULL};

typedef struct member {
    tn_step_run *r;
    tn_team team; /* of the operation: the first one alone, or all */
    uint64_t macs;
} member;

/* Of this thread's work. */
static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline char *at(const tn_step_run *r, uint32_t array) {
    return tn_array_values(r, array);
}

static inline uint64_t elements(const tn_step_run *r, uint32_t array) {
    return r->sized->lowered.step.array[array].elements;
}

static void product(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_lowered_step *lowered = &r->sized->lowered;
    const tn_contraction_rounding rounding = {
        &r->t->rounding, lowered->rounding ? lowered->rounding[o - lowered->step.operation] : NULL};
    const tn_contraction_call call = {.kernels = r->t->kernels,
                                      .digit = target->digits,
                                      .rounding = tn_is_rounded(lowered, o) ? &rounding : NULL,
                                      .a = at(r, o->reads[0]),
                                      .b = at(r, o->reads[1]),
                                      .out = at(r, o->writes[0]),
                                      .scratch = r->t->scratch,
                                      .scratch_elements = r->t->scratch_elements,
                                      .column_block = o->column_block,
                                      .macs = &m->macs,
                                      .team = m->team};
    if (tn_team_first(m->team))
        tn_count_zeros(&r->t->zeros, &lowered->step, o, r->t->kernels, call.a, call.b);
    tn_contraction_run(target->contraction, &call);
}

/* What the operation made, as an array of the step's format holds it. Rows are those of the operation where they
 * divide the array. */
static void round_results(const tn_step_run *r, const tn_operation *o) {
    const tn_number_format *kept = r->sized->lowered.kept;
    for (uint32_t i = 0; i < o->write_count; i++) {
        uint64_t all = elements(r, o->writes[i]), columns = all % o->columns == 0 ? o->columns : all;
        tn_round_array(&r->t->rounding, kept, r->t->kernels, all / columns, columns, at(r, o->writes[i]));
    }
}

/* Rows of a table at the tokens, or of positions at the place of the one that is decoded, or of all tokens at the first of
 * each example. */
static void lookup(const tn_step_run *r, const tn_operation *o) {
    size_t row = o->columns * r->t->kernels->bytes;
    const char *source = at(r, o->reads[0]);
    char *target = at(r, o->writes[0]);
    bool table = r->sized->lowered.step.array[o->reads[0]].role == TN_ARRAY_PARAMETER;
    uint64_t tokens = elements(r, o->reads[0]) / o->columns / r->sized->batch;
    if (r->sized->lowered.step.layer[o->layer].family == TN_LAYER_POSITIONS) {
        memcpy(target, source + r->t->place * row, row);
        return;
    }
    for (uint64_t i = 0; i < o->rows; i++)
        memcpy(target + i * row, source + (table ? r->t->batch.token[i] : i * tokens) * row, row);
}

/* rows x columns of `source`, row i added to row target(i) of `destination`. */
static void scatter(const tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const tn_step *step = &r->sized->lowered.step;
    size_t row = o->columns * k->bytes;
    const char *source = at(r, o->reads[0]);
    char *destination = at(r, o->writes[0]);
    bool parameter = step->array[o->writes[0]].role == TN_ARRAY_GRADIENT;
    bool embedding = r->t->model->layer[o->layer].kind->family == TN_LAYER_EMBEDDING;
    if (o->read_count == 1) memset(destination, 0, elements(r, o->writes[0]) * k->bytes);
    for (uint64_t i = 0; i < o->rows; i++) {
        uint64_t target = embedding   ? r->t->batch.token[i]
                          : parameter ? i % r->sized->tokens
                                      : i * r->sized->tokens;
        k->add(destination + target * row, destination + target * row, source + i * row, o->columns,
               o->columns);
    }
}

/* This member's rows, all within one example at a time: each has its own length. A token that is decoded sees the cache up to
 * its own place. */
static void softmax(const member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_kernels *k = r->t->kernels;
    uint64_t rows = o->rows / r->sized->batch;
    char *scores = at(r, o->writes[0]);
    for (uint64_t e = 0; e < r->sized->batch; e++) {
        tn_share share = tn_team_share(m->team, rows, 1);
        uint64_t length = r->t->batch.length[e] < o->columns ? r->t->batch.length[e] : o->columns;
        if (r->sized->lowered.step.decoding) length = r->t->place + 1;
        char *first = scores + (e * rows + share.first) * o->columns * k->bytes;
        if (!r->t->model->layer[o->layer].causal || r->sized->lowered.step.decoding) {
            k->softmax(first, share.end - share.first, o->columns, length, target->scale);
            continue;
        }
        for (uint64_t i = share.first; i < share.end; i++) { /* as many queries as keys */
            uint64_t seen = i % o->columns + 1;
            k->softmax(first + (i - share.first) * o->columns * k->bytes, 1, o->columns,
                       seen < length ? seen : length, target->scale);
        }
    }
}

static int32_t label_of(const tn_step_run *r, bool of_example, uint64_t row) {
    uint64_t stay = r->sized->lowered.kept_tokens;
    if (of_example) return r->t->batch.intent[row];
    if (stay) row = row / stay * r->sized->tokens + tn_kept_token(r, row / stay, row % stay);
    return r->t->batch.slot[row];
}

/* Loss and, where `gradient` is not NULL, gradient of the logits of every labelled row. */
static void cross_entropy(tn_step_run *r, uint32_t head, char *gradient) {
    const tn_kernels *k = r->t->kernels;
    const tn_head *this_head = &r->sized->lowered.head[head];
    const char *logits = at(r, this_head->logits);
    size_t row = this_head->outputs * k->bytes, best;
    uint64_t labels = 0;
    double sum = 0;
    for (uint64_t i = 0; i < this_head->rows; i++) labels += label_of(r, this_head->of_example, i) >= 0;
    bool mean = this_head->of_example || r->t->settings.token_loss == TN_TOKEN_MEAN;
    double share = mean && labels ? 1.0 / (double)labels : 1.0;
    for (uint64_t i = 0; i < this_head->rows; i++) {
        int32_t label = label_of(r, this_head->of_example, i);
        if (label >= 0)
            sum += k->cross_entropy(gradient ? gradient + i * row : NULL, logits + i * row,
                                    this_head->outputs, (size_t)label, share * r->t->weight[head], &best);
        else if (gradient)
            memset(gradient + i * row, 0, row);
    }
    r->result->labels[head] = labels;
    r->result->head_loss[head] = sum * share;
    r->result->loss += r->t->weight[head] * sum * share;
}

/* Elements of a parameter that lie together, and where their state lies. gradient NULL: it is 0, as that of positions
 * beyond a step of fewer tokens is, which moves what has a state all the same. */
static void update_some(const member *m, const tn_operation *o, const tn_train_parameter *p,
                        const char *gradient, uint64_t start, uint64_t state_from, uint64_t count) {
    const tn_step_run *r = m->r;
    const tn_kernels *k = r->t->kernels;
    const tn_train_settings *set = &r->t->settings;
    tn_update_rule rule = {r->rate, set->momentum, set->beta1, set->beta2, set->adam_epsilon};
    double now = (double)r->t->steps + 1, first = 1 - pow(rule.beta1, now),
           second = sqrt(1 - pow(rule.beta2, now));
    tn_share share = tn_team_share(m->team, count, GRAIN);
    size_t size = share.end - share.first;
    char *values = (char *)p->values + (start + share.first) * k->bytes,
         *state = p->state ? (char *)p->state + (state_from + share.first) * k->bytes : NULL;
    if (gradient) gradient += share.first * k->bytes;
    if (o->kind == TN_OP_UPDATE_ADAM) { /* the corrections of its moments */
        rule.rate *= second / first;
        rule.epsilon *= second;
    }
    k->update[o->kind](values, gradient, state, p->state_elements / 2, size, &rule);
}

/* Of tanh units no step is longer than the way to the least error: their squares add up to at most their number. */
static void update_predictor(const member *m, const tn_operation *o, const tn_train_parameter *p) {
    const tn_step_run *r = m->r;
    const tn_model_predicted *predicted = &r->t->model->keys.predicted_gradients;
    const tn_update_rule rule = {.rate = r->rate > 0 ? predicted->rate / (double)predicted->predictor : 0};
    tn_share share = tn_team_share(m->team, p->elements, GRAIN);
    size_t start = share.first * r->t->kernels->bytes;
    r->t->kernels->update[TN_OP_UPDATE_SGD]((char *)p->values + start, at(r, o->reads[1]) + start, NULL, 0,
                                            share.end - share.first, &rule);
}

static void update(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    size_t number = r->sized->lowered.place[o->reads[0]];
    if (tn_array_is_predictor(&r->sized->lowered.step.array[o->reads[0]])) {
        update_predictor(m, o, &r->t->predictor[r->t->resident_parameter[number]]);
        return;
    }
    const tn_train_parameter *p = &r->t->parameter[r->t->resident_parameter[number]];
    uint64_t given = elements(r, o->reads[0]), row = given / o->rows;
    const char *gradient = at(r, o->reads[1]);
    for (uint64_t i = 0; i < o->rows; i++)
        update_some(m, o, p, gradient + i * o->columns * r->t->kernels->bytes, i * row, i * o->columns,
                    o->columns);
    if (p->elements > given) update_some(m, o, p, NULL, given, given, p->elements - given);
}

/* out[i] = a[i] + b[i mod period] */
static void add(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_kernels *k = r->t->kernels;
    uint64_t count = o->rows * o->columns, period = elements(r, o->reads[1]);
    tn_share share = tn_team_share(m->team, count, period == count ? GRAIN : period);
    size_t size = share.end - share.first, begin = share.first * k->bytes;
    if (size == 0) return;
    k->add(at(r, o->writes[0]) + begin, at(r, o->reads[0]) + begin,
           at(r, o->reads[1]) + (period == count ? begin : 0), size, period == count ? size : period);
}

/* Operations on elements: by their own kernel, or by their formula. */
static void map_elements(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_kernels *k = r->t->kernels;
    tn_share share = tn_team_share(m->team, o->rows * o->columns, GRAIN);
    size_t count = share.end - share.first, begin = share.first * k->bytes;
    char *out = at(r, o->writes[0]) + begin;
    const char *a = at(r, o->reads[0]) + begin, *b = o->read_count > 1 ? at(r, o->reads[1]) + begin : NULL;
    if (k->map[o->kind])
        k->map[o->kind](out, a, b, count);
    else
        k->evaluate(target->formula, out, a, b, count);
}

/* The rows of tokens, of which every example has as many. */
static void rotate(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_layer *layer = &r->t->model->layer[o->layer];
    tn_share share = tn_team_share(m->team, o->rows, 1);
    size_t begin = share.first * o->columns * r->t->kernels->bytes;
    const tn_rotation how = {.rows = share.end - share.first,
                             .heads = layer->heads,
                             .depth = layer->width / layer->heads,
                             .first = share.first,
                             .positions = o->rows / r->sized->batch,
                             .sign = o->kind == TN_OP_ROTARY ? 1 : -1};
    const uint64_t place = r->sized->lowered.step.decoding ? r->t->place : 0;
    r->t->kernels->rotate(at(r, o->writes[0]) + begin, at(r, o->reads[0]) + begin,
                          at(r, o->reads[1]) + place * how.depth * r->t->kernels->bytes, &how);
}

/* Where this member's rows of an array begin: of matrices and of numbers of rows; what has a number a column is whole. */
static char *first_row(const tn_step_run *r, uint32_t array, char letter, uint64_t row, uint64_t rows) {
    return at(r, array) + (letter == 'v' ? 0 : elements(r, array) / rows * row * r->t->kernels->bytes);
}

/* Operations on rows. */
static void map_rows(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_operation_row *row = &tn_operation_rows[o->kind];
    tn_share share = tn_team_share(m->team, o->rows, 1);
    const void *subject[TN_OPERATION_READS] = {NULL};
    void *out[TN_OPERATION_WRITES] = {NULL};
    for (uint32_t k = 0; k < o->read_count; k++)
        subject[k] = first_row(r, o->reads[k], row->reads[k], share.first, o->rows);
    for (uint32_t k = 0; k < o->write_count; k++)
        out[k] = first_row(r, o->writes[k], row->writes[k], share.first, o->rows);
    r->t->kernels->rows[o->kind](out, subject, share.end - share.first, o->columns,
                                 r->t->settings.layer_norm_epsilon);
}

/* Sums over all rows, of this member's columns; statistics are of rows. */
static void sum_rows(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_operation_row *row = &tn_operation_rows[o->kind];
    tn_share share = tn_team_share(m->team, o->columns, GRAIN);
    size_t begin = share.first * r->t->kernels->bytes;
    const void *subject[TN_OPERATION_READS] = {NULL};
    for (uint32_t k = 0; k < o->read_count; k++)
        subject[k] = at(r, o->reads[k]) + (row->reads[k] == 's' ? 0 : begin);
    r->t->kernels->sum[o->kind](at(r, o->writes[0]) + begin, subject, o->rows, share.end - share.first,
                                o->columns);
}

static void multiply_matrices(member *m, const tn_instruction *target) {
    uint64_t before = m->macs;
    product(m, target);
    if (target->operation->live) m->macs = before + tn_live_macs(m->r, target->operation, m->macs - before);
}

static void map_scores(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    tn_share share = tn_team_share(m->team, o->rows, 1);
    size_t begin = share.first * o->columns * r->t->kernels->bytes;
    if (o->kind == TN_OP_SOFTMAX)
        softmax(m, target);
    else
        r->t->kernels->softmax_gradient(at(r, o->reads[0]) + begin, at(r, o->writes[0]) + begin,
                                        share.end - share.first, o->columns, target->scale);
}

static void look_up(member *m, const tn_instruction *target) {
    const tn_operation *o = target->operation;
    if (target->part)
        m->r->t->kernels->copy(target->part, at(m->r, o->reads[0]), at(m->r, o->writes[0]), false);
    else if (o->window)
        tn_run_windows(m->r, o);
    else
        o->gather ? tn_run_gather(m->r, o) : lookup(m->r, o);
}

/* Of every example one row, to the place of its token. */
static void append(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const size_t row = o->columns * r->t->kernels->bytes;
    const uint64_t places = r->sized->lowered.step.sequence;
    for (uint64_t e = 0; e < o->rows; e++)
        memcpy(at(r, o->writes[0]) + (e * places + r->t->place) * row, at(r, o->reads[0]) + e * row, row);
}

static void add_to_rows(member *m, const tn_instruction *target) {
    const tn_operation *o = target->operation;
    o->window ? tn_run_windows(m->r, o) : scatter(m->r, o);
}

/* Of the tokens of each example, padding among them; its gradient is the same for all of them. */
static void find_mean(member *m, const tn_instruction *target) {
    const tn_step_run *r = m->r;
    const tn_operation *o = target->operation;
    const tn_kernels *k = r->t->kernels;
    const uint64_t examples = r->sized->batch, tokens = o->rows / examples;
    const size_t row = o->columns * k->bytes;
    char *from = at(r, o->reads[0]), *to = at(r, o->writes[0]);
    for (uint64_t e = 0; e < examples; e++) {
        if (o->kind == TN_OP_MEAN) {
            memset(to + e * row, 0, row);
            for (uint64_t i = 0; i < tokens; i++)
                k->add(to + e * row, to + e * row, from + (e * tokens + i) * row, o->columns, o->columns);
            k->scale(to + e * row, o->columns, 1 / (double)tokens);
            continue;
        }
        memcpy(to + e * tokens * row, from + e * row, row);
        k->scale(to + e * tokens * row, o->columns, 1 / (double)tokens);
        for (uint64_t i = 1; i < tokens; i++) memcpy(to + (e * tokens + i) * row, to + e * tokens * row, row);
    }
}

static void lose(member *m, const tn_instruction *target) {
    cross_entropy(m->r, target->head, at(m->r, target->operation->writes[0]));
}

static void choose_live(member *m, const tn_instruction *target) {
    tn_run_selection(m->r, target->operation);
}

static void find_entropy(member *m, const tn_instruction *target) {
    tn_run_entropy(m->r, target->operation);
}

static void weigh(member *m, const tn_instruction *target) {
    tn_run_importance(m->r, target->operation);
}

static void choose(member *m, const tn_instruction *target) {
    tn_run_top(m->r, target->operation);
}

static void route(member *m, const tn_instruction *target) {
    tn_run_route(m->r, target->operation);
}

static void move_routed(member *m, const tn_instruction *target) {
    tn_run_routed(m->r, target->operation);
}

static void go_through_sequence(member *m, const tn_instruction *target) {
    tn_run_sequence(m->r, target->operation);
}

static const struct {
    void (*execute)(member *m, const tn_instruction *target);
    bool is_shared; /* members take a share each, where it is worth it */
} by_shape[TN_SHAPES] = {
    [TN_SHAPE_PRODUCT] = {multiply_matrices, true},
    [TN_SHAPE_LOOKUP] = {look_up, false},
    [TN_SHAPE_SCATTER] = {add_to_rows, false},
    [TN_SHAPE_APPEND] = {append, false},
    [TN_SHAPE_ADD] = {add, true},
    [TN_SHAPE_MAP] = {map_elements, true},
    [TN_SHAPE_SUM] = {sum_rows, true},
    [TN_SHAPE_SCORES] = {map_scores, true},
    [TN_SHAPE_ROWS] = {map_rows, true},
    [TN_SHAPE_ROTATION] = {rotate, true},
    [TN_SHAPE_LOSS] = {lose, false},
    [TN_SHAPE_IMPORTANCE] = {weigh, false},
    [TN_SHAPE_TOP] = {choose, false},
    [TN_SHAPE_UPDATE] = {update, true},
    [TN_SHAPE_SELECT] = {choose_live, false},
    [TN_SHAPE_TRACK] = {choose_live, false},
    [TN_SHAPE_REGENERATE] = {choose_live, false},
    [TN_SHAPE_ENTROPY] = {find_entropy, false},
    [TN_SHAPE_MEAN] = {find_mean, false},
    [TN_SHAPE_ROUTE] = {route, false},
    [TN_SHAPE_ROUTED] = {move_routed, false},
    [TN_SHAPE_SEQUENCE] = {go_through_sequence, false},
};

static void execute(member *m, const tn_instruction *target) {
    by_shape[tn_operation_rows[target->operation->kind].shape].execute(m, target);
}

/* Whether all members take part. What is shared does not change what is computed. */
static bool is_shared(const tn_lowered_step *lowered, const tn_operation *o) {
    if (lowered->kept) return false; /* results are rounded whole */
    if (!by_shape[tn_operation_rows[o->kind].shape].is_shared || o->live) return false;
    if (o->kind == TN_OP_PRODUCT) return o->macs >= SHARED_MACS && !tn_is_rounded(lowered, o);
    return o->rows * o->columns >= SHARED_ELEMENTS;
}

static void tell_watcher(const tn_step_run *r, uint32_t position) {
    const tn_step *step = &r->sized->lowered.step;
    const tn_operation *o = &step->operation[position];
    for (uint32_t i = 0; i < o->write_count; i++)
        r->t->watcher(r->t->watcher_user, step, position, o->writes[i], at(r, o->writes[i]));
}

/* One operation, by the first member. */
static void run_alone(member *m, uint32_t position) {
    tn_step_run *r = m->r;
    const tn_instruction *target = &r->sized->lowered.instruction[position];
    bool timed = r->t->timed && target->operation->kind == TN_OP_PRODUCT;
    double started = timed ? cpu_seconds() : 0;
    m->team = alone;
    for (uint32_t c = 0; c < target->clear_count; c++)
        memset(at(r, target->clear[c]), 0, elements(r, target->clear[c]) * r->t->kernels->bytes);
    execute(m, target);
    if (r->sized->lowered.kept) round_results(r, target->operation);
    if (timed) r->t->product_seconds += cpu_seconds() - started;
}

/* The same by all of them. */
static void run_shared(member *m, uint32_t position, tn_team team) {
    tn_step_run *r = m->r;
    const tn_instruction *target = &r->sized->lowered.instruction[position];
    bool timed = tn_team_first(team) && r->t->timed && target->operation->kind == TN_OP_PRODUCT;
    double started = timed ? cpu_seconds() : 0;
    m->team = team;
    tn_team_wait(team);
    for (uint32_t c = 0; c < target->clear_count; c++) {
        tn_share share = tn_team_share(team, elements(r, target->clear[c]) * r->t->kernels->bytes, GRAIN);
        memset(at(r, target->clear[c]) + share.first, 0, share.end - share.first);
    }
    if (target->clear_count) tn_team_wait(team);
    execute(m, target);
    tn_team_wait(team);
    if (timed) r->t->product_seconds += cpu_seconds() - started;
}

/* Only the first member counts what is live, and speaks. */
static void run_member(tn_step_run *r, uint32_t begin, uint32_t end, tn_team team) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    member m = {.r = r};
    for (uint32_t i = begin; i < end; i++) {
        const tn_instruction *target = &lowered->instruction[i];
        bool shared = team.members > 1 && is_shared(lowered, target->operation);
        if (tn_team_first(team)) {
            r->live_elements += target->made_elements;
            if (r->live_elements > r->result->peak_elements) r->result->peak_elements = r->live_elements;
        }
        if (shared)
            run_shared(&m, i, team);
        else if (tn_team_first(team))
            run_alone(&m, i);
        if (tn_team_first(team)) {
            if (r->t->watcher) tell_watcher(r, i);
            r->live_elements -= target->dead_elements;
        }
    }
#pragma omp atomic
    r->result->macs += m.macs;
}

typedef struct {
    tn_step_run *run;
    uint32_t start, end;
} stretch;

static void run_stretch(void *user, tn_team team) {
    const stretch *s = user;
    run_member(s->run, s->start, s->end, team);
}

/* By this thread alone where there is no memory for a crew. */
static void run_team(tn_step_run *r, uint32_t start, uint32_t end) {
    stretch s = {r, start, end};
    if (r->t->crew && r->t->crew->asked != r->t->threads) {
        tn_crew_free(r->t->crew);
        r->t->crew = NULL;
    }
    if (!r->t->crew && tn_crew_new(r->t->threads, &r->t->crew, NULL) != TN_OK)
        run_stretch(&s, alone);
    else
        tn_crew_run(r->t->crew, run_stretch, &s);
}

/* Short steps take longer by a team than alone: its members wait for each other at every operation, and where others use the
 * processors too they wait long. Results are the same, so whichever was faster of late runs; the other is tried again from
 * time to time. */
enum { TRIED_LEAST = 2, TRIED_AGAIN = 200 };
static const double forgetting = 1.03; /* of the least time, a try */

static tn_pace *pace_of(tn_step_run *r, uint32_t start, uint32_t end, double *macs) {
    const tn_step *step = &r->sized->lowered.step;
    *macs = 1;
    for (uint32_t i = start; i < end; i++) {
        const tn_operation *o = &step->operation[i];
        *macs += o->kind == TN_OP_PRODUCT ? (double)o->macs : (double)o->rows * (double)o->columns;
    }
    int class_number = ilogb(*macs);
    return &r->t->pace[class_number < TN_PACES ? class_number : TN_PACES - 1];
}

static bool by_team(const tn_pace *pace) {
    uint64_t alone_tries = pace->tries[0], team_tries = pace->tries[1];
    if (team_tries < TRIED_LEAST || alone_tries < TRIED_LEAST) return team_tries <= alone_tries;
    bool faster = pace->seconds[1] < pace->seconds[0];
    /* So rarely that trying costs half a per cent, however slow it is. */
    double rare = TRIED_AGAIN * pace->seconds[!faster] / pace->seconds[faster];
    bool again = (double)pace->start >= rare;
    return faster != again;
}

void tn_run_operations(tn_step_run *r, uint32_t start, uint32_t end) {
    tn_blas_serial();
    if (start == 0) r->live_elements = r->sized->lowered.resident_elements;
    if (r->t->threads <= 1) {
        run_member(r, start, end, alone);
    } else {
        double macs, began;
        tn_pace *pace = pace_of(r, start, end, &macs);
        bool team = by_team(pace);
        began = tn_clock_seconds();
        if (team)
            run_team(r, start, end);
        else
            run_member(r, start, end, alone);
        double now = (tn_clock_seconds() - began) / macs, before = pace->seconds[team] * forgetting;
        pace->seconds[team] = pace->tries[team] > 1 && before < now ? before : now;
        bool slower = pace->tries[!team] && now > pace->seconds[!team];
        pace->start = slower ? 0 : pace->start + 1;
        pace->tries[team]++;
    }
    tn_blas_restore();
}

void tn_run_losses(tn_step_run *r) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    for (uint32_t h = 0; h < lowered->heads; h++) cross_entropy(r, h, NULL);
}
