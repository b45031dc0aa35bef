#include "train/trainer.h"

#include "base/memory.h"
#include "base/random.h"
#include "model/graph.h"
#include "model/layer_weight.h"
#include "model/operation.h"
#include "train/answers.h"
#include "train/experts.h"
#include "train/gradients.h"
#include "train/selection.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One training step or forward pass: the examples laid out, the operations of their step executed, the answers read. */

static tn_status out_of_range(tn_error *error, const char *what, long long value, uint64_t most) {
    return tn_fail(error, TN_INPUT, "%s %lld; the model has %" PRIu64 ", numbered from 0", what, value, most);
}

static tn_status check_example(const tn_trainer *t, const tn_example *example, tn_error *error) {
    if (example->tokens == 0 || example->tokens > t->model->keys.sequence)
        return tn_fail(error, TN_INPUT, "an example of %" PRIu32 " tokens; the model takes 1 to %" PRIu64,
                       example->tokens, t->model->keys.sequence);
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
static tn_status take_examples(tn_step_run *r, const tn_example *example, uint64_t count, bool padded,
                               uint32_t sort, tn_error *error) {
    tn_trainer *t = r->t;
    const bool decodes = tn_model_is_decoding(t->model);
    const uint64_t first = decodes ? t->place : 0; /* of the tokens that are run */
    uint64_t longest = padded && !decodes ? t->model->keys.sequence : 1;
    for (uint64_t e = 0; e < count; e++) {
        TN_TRY(check_example(t, &example[e], error));
        if (example[e].tokens > longest && !decodes) longest = example[e].tokens;
    }
    TN_TRY(tn_trainer_sized(t, count, longest, sort, &r->sized, error));
    for (uint64_t e = 0; e < count; e++) {
        t->batch.length[e] = decodes ? first < example[e].tokens : example[e].tokens;
        t->batch.intent[e] = example[e].intent;
        for (uint64_t i = 0; i < longest; i++) {
            bool there = first + i < example[e].tokens;
            t->batch.token[e * longest + i] = there ? example[e].token[first + i] : 0;
            t->batch.slot[e * longest + i] = there && example[e].slot ? example[e].slot[first + i] : -1;
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

/* The random numbers of a step follow from seed and step, so that a resumed run has them again. */
static void draw_noise(tn_trainer *t) {
    uint64_t seed = t->settings.seed, step = t->steps;
    t->rounding.stochastic = t->settings.gradient_rounding == TN_ROUNDING_STOCHASTIC;
    t->rounding.noise = tn_splitmix_next(&seed) ^ (tn_splitmix_next(&step) << 1);
}

/* First the true steps of a cycle, in which predictors learn, then those that they predict. */
static uint32_t sort_of_step(const tn_trainer *t) {
    const tn_model_predicted *predicted = &t->model->keys.predicted_gradients;
    if (t->sort != TN_SORT_MEAN) return t->sort;
    const uint64_t per = tn_predicted_per(predicted, t->rounding.progress);
    if (per == 0 || t->steps < predicted->warmup_steps) return TN_SORT_TRUE;
    return (t->steps - predicted->warmup_steps) % (per + predicted->truly) < predicted->truly
               ? TN_SORT_TRUE
               : TN_SORT_PREDICTED;
}

tn_status tn_trainer_step(tn_trainer *t, const tn_example *example, uint64_t count, bool padded, double rate,
                          tn_step_result *result, tn_error *error) {
    tn_step_run r = {.t = t, .rate = rate, .examples = count, .result = result};
    *result = (tn_step_result){0};
    if (tn_model_is_inference(t->model))
        return tn_fail(error, TN_INPUT,
                       "model %s has `phase: inference`; a training step needs `phase: training`",
                       t->model->keys.name);
    TN_TRY(take_examples(&r, example, count, padded, sort_of_step(t), error));
    const tn_step *step = &r.sized->lowered.step;
    draw_noise(t);
    t->zeros.counts = t->steps % TN_ZERO_STEPS == 0;
    tn_select_first(&r);
    result->macs_predicted = tn_predicted_macs(t, step, false);
    if (t->settings.clip_norm > 0 || t->gradients.sum) {
        tn_run_operations(&r, 0, r.sized->lowered.update_begin);
        if (t->gradients.sum) tn_note_gradients(&r);
        if (t->settings.clip_norm > 0) tn_clip_gradients(&r);
        tn_run_operations(&r, r.sized->lowered.update_begin, step->operations);
    } else if (r.sized->sort == TN_SORT_PREDICTED) {
        tn_run_operations(&r, 0, r.sized->lowered.forward_end);
        tn_run_losses(&r);
        tn_run_operations(&r, r.sized->lowered.forward_end, step->operations);
    } else {
        tn_run_operations(&r, 0, step->operations);
    }
    t->zeros.counts = false;
    t->steps++;
    result->peak_elements_predicted = step->peak_elements;
    return TN_OK;
}

static void classify(const tn_step_run *r, const tn_example *example, uint64_t count) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    const tn_kernels *k = r->t->kernels;
    for (uint32_t h = 0; h < lowered->heads; h++) {
        const tn_head *head = &lowered->head[h];
        uint32_t *next = r->class_of ? r->class_of[h] : NULL;
        for (uint64_t e = 0; next && e < count; e++)
            for (uint64_t i = 0; i < (head->of_example ? 1 : example[e].tokens); i++) {
                uint64_t row = tn_logits_row(r, head->of_example, e, i);
                const char *logits = tn_array_values(r, head->logits);
                *next++ = row == UINT64_MAX
                              ? UINT32_MAX
                              : (uint32_t)k->greatest(logits + row * head->outputs * k->bytes, head->outputs);
            }
    }
}

/* Places behind the token are not attended to, but a format whose scale is of the whole array sees them: nothing of earlier
 * examples stays there. */
static void clear_cache(const tn_step_run *r) {
    const tn_step *step = &r->sized->lowered.step;
    for (uint32_t i = 0; i < step->arrays; i++)
        if (step->array[i].role == TN_ARRAY_CACHE)
            memset(tn_array_values(r, i), 0, step->array[i].elements * r->t->kernels->bytes);
}

/* Token after token, each a step behind those before it; what the passes came to is that of all of them. */
static tn_status decode(tn_step_run *r, const tn_example *example, uint64_t count, uint32_t *const *class_of,
                        tn_error *error) {
    tn_trainer *t = r->t;
    tn_step_result all = {0};
    uint64_t longest = 0;
    if (count > t->model->keys.batch)
        return tn_fail(error, TN_INPUT, "%" PRIu64 " examples; the cache of the model has room for %" PRIu64,
                       count, t->model->keys.batch);
    for (uint64_t e = 0; e < count; e++)
        if (example[e].tokens > longest) longest = example[e].tokens;
    for (t->place = 0; t->place < longest; t->place++) {
        *r->result = (tn_step_result){0};
        TN_TRY(take_examples(r, example, count, false, 0, error));
        const tn_lowered_step *lowered = &r->sized->lowered;
        tn_select_first(r);
        if (t->place == 0) clear_cache(r);
        tn_run_operations(r, 0, lowered->forward_end);
        tn_run_losses(r);
        all.macs += r->result->macs;
        all.macs_predicted += tn_predicted_macs(t, &lowered->step, true);
        all.peak_elements = r->result->peak_elements;
        all.peak_elements_predicted = lowered->step.peak_elements;
        for (uint32_t h = 0; h < lowered->heads; h++) {
            const tn_head *head = &lowered->head[h];
            const bool mean = t->settings.token_loss == TN_TOKEN_MEAN;
            all.head_loss[h] += r->result->head_loss[h] * (mean ? (double)r->result->labels[h] : 1);
            all.labels[h] += r->result->labels[h];
            uint64_t before = 0; /* tokens of earlier examples */
            for (uint64_t e = 0; class_of && class_of[h] && e < count; before += example[e++].tokens)
                if (t->place < example[e].tokens)
                    class_of[h][before + t->place] = (uint32_t)t->kernels->greatest(
                        (const char *)tn_array_values(r, head->logits) +
                            tn_logits_row(r, false, e, 0) * head->outputs * t->kernels->bytes,
                        head->outputs);
        }
    }
    for (uint32_t h = 0; h < t->whole->lowered.heads; h++) {
        if (t->settings.token_loss == TN_TOKEN_MEAN && all.labels[h])
            all.head_loss[h] /= (double)all.labels[h];
        all.loss += t->weight[h] * all.head_loss[h];
    }
    *r->result = all;
    return TN_OK;
}

tn_status tn_trainer_forward(tn_trainer *t, const tn_example *example, uint64_t count, bool padded,
                             uint32_t *const *class_of, tn_step_result *result, tn_error *error) {
    tn_step_run r = {.t = t, .examples = count, .class_of = class_of, .result = result};
    *result = (tn_step_result){0};
    if (tn_model_is_decoding(t->model)) return decode(&r, example, count, class_of, error);
    TN_TRY(take_examples(&r, example, count, padded, t->sort == TN_SORT_MEAN ? 0 : t->sort, error));
    const tn_lowered_step *lowered = &r.sized->lowered;
    tn_select_first(&r);
    tn_run_operations(&r, 0, lowered->forward_end);
    tn_run_losses(&r);
    classify(&r, example, count);
    result->macs_predicted = tn_predicted_macs(t, &lowered->step, true);
    result->peak_elements_predicted = tn_model_is_inference(t->model) ? lowered->step.peak_elements : 0;
    return TN_OK;
}

/* Grows the memory that all steps share. */
static tn_status make_room(tn_trainer *t, const tn_lowered_step *lowered, tn_error *error) {
    void *memory;
    char *aligned;
    if (lowered->pool_bytes > t->pool_bytes || !t->pool) {
        TN_TRY(tn_aligned_memory(lowered->pool_bytes, &memory, &aligned, error));
        tn_free(t->pool_memory);
        t->pool_memory = memory;
        t->pool = aligned;
        t->pool_bytes = lowered->pool_bytes;
    }
    if (lowered->scratch_elements > t->scratch_elements || !t->scratch) {
        enum { PARTS = 6 };
        TN_TRY(tn_aligned_memory(PARTS * lowered->scratch_elements * t->kernels->bytes, &memory, &aligned,
                                 error));
        tn_free(t->scratch_memory);
        t->scratch_memory = memory;
        t->scratch = aligned;
        t->scratch_elements = lowered->scratch_elements;
    }
    TN_TRY(tn_selection_grow(t, lowered->selected_elements, error));
    return tn_rounding_grow(&t->rounding, lowered->rounded_elements, t->kernels->bytes, error);
}

static tn_status make_batch(tn_trainer *t, uint64_t batch, uint64_t tokens, tn_error *error) {
    size_t all = batch * tokens, capacity = t->batch.tokens_capacity;
    TN_TRY(TN_GROW(&t->batch.token, &capacity, all, error));
    TN_TRY(TN_GROW(&t->batch.slot, &t->batch.tokens_capacity, all, error));
    capacity = t->batch.examples_capacity;
    TN_TRY(TN_GROW(&t->batch.intent, &capacity, batch, error));
    return TN_GROW(&t->batch.length, &t->batch.examples_capacity, batch, error);
}

tn_status tn_trainer_sized(tn_trainer *t, uint64_t batch, uint64_t tokens, uint32_t sort,
                           const tn_sized_step **sized, tn_error *error) {
    const uint64_t sequence = t->model->keys.sequence;
    const bool decodes = tn_model_is_decoding(t->model);
    if (decodes) tokens = 1;
    for (size_t i = 0; i < t->sized_count; i++) {
        *sized = t->sized[i];
        if (t->sized[i]->batch == batch && t->sized[i]->tokens == tokens && t->sized[i]->sort == sort)
            return TN_OK;
    }
    tn_model *model;
    tn_sized_step *made;
    TN_TRY(tn_model_resize(t->model, batch, decodes ? sequence : tokens, &t->arena, &model, error));
    TN_TRY(TN_NEW(&t->arena, 1, &made, error));
    made->batch = batch;
    made->tokens = tokens;
    made->sort = sort;
    tn_program_cache_shorten(t->cache, t->model->keys.batch * (decodes ? 1 : sequence), batch * tokens);
    TN_TRY(tn_lower_step(model, sort, t->cache, t->real, &t->arena, &made->lowered, error));
    TN_TRY(make_room(t, &made->lowered, error));
    TN_TRY(make_batch(t, batch, tokens, error));
    TN_TRY(tn_grow(&t->sized, &t->sized_capacity, t->sized_count + 1, sizeof(tn_sized_step *), error));
    t->sized[t->sized_count++] = made;
    *sized = made;
    return TN_OK;
}

tn_status tn_trainer_prepare(tn_trainer *t, uint64_t batch, uint64_t tokens, tn_error *error) {
    const tn_sized_step *sized;
    for (uint32_t sort = 0; sort < tn_step_sorts(t->model); sort++)
        TN_TRY(tn_trainer_sized(t, batch, tokens, sort, &sized, error));
    return TN_OK;
}

static tn_status check_heads(tn_trainer *t, tn_error *error) {
    const tn_lowered_step *lowered = &t->whole->lowered;
    uint32_t of_examples = 0, of_tokens = 0;
    for (uint32_t i = 0; i < lowered->heads; i++) {
        of_examples += lowered->head[i].of_example;
        of_tokens += !lowered->head[i].of_example;
    }
    if (of_examples > 1 || of_tokens > 1)
        return tn_fail(error, TN_INPUT,
                       "the model has %" PRIu32 " losses an example and %" PRIu32
                       " a token; data give one class an example and one label a token",
                       of_examples, of_tokens);
    const tn_loss_weight *weight = t->settings.loss_weights.item;
    for (size_t k = 0; k < t->settings.loss_weights.count; k++) {
        tn_train_settings one = {.loss_weights = {1, (void *)&weight[k]}};
        bool known = false;
        for (uint32_t i = 0; i < lowered->heads; i++) {
            tn_loss_weight mark = {weight[k].name, -1};
            one.loss_weights.item = &mark;
            known |= tn_train_settings_weight_of(&one, lowered->step.layer[lowered->head[i].layer].name) < 0;
        }
        if (!known)
            return tn_fail(error, TN_INPUT, "loss weight \"%.100s\": the model's losses are %s%s%s",
                           weight[k].name, lowered->step.layer[lowered->head[0].layer].name,
                           lowered->heads > 1 ? " and " : "",
                           lowered->heads > 1 ? lowered->step.layer[lowered->head[1].layer].name : "");
    }
    for (uint32_t i = 0; i < lowered->heads; i++)
        t->weight[i] =
            tn_train_settings_weight_of(&t->settings, lowered->step.layer[lowered->head[i].layer].name);
    return TN_OK;
}

static tn_status check_tables(const tn_trainer *t, tn_error *error) {
    uint32_t tables = t->whole->lowered.tables;
    if (tables == 1) return TN_OK;
    return tn_fail(error, TN_INPUT, "the model has %" PRIu32 " embeddings; training reads words through one",
                   tables);
}

/* Room for the choice of tokens and heads. */
static tn_status make_choices(tn_trainer *t, tn_error *error) {
    uint64_t heads = 1, width = t->model->keys.sequence, examples = t->model->keys.batch;
    for (uint32_t i = 0; i < t->model->layers; i++) {
        if (t->model->layer[i].heads > heads) heads = t->model->layer[i].heads;
        if (t->model->layer[i].width > width) width = t->model->layer[i].width;
    }
    TN_TRY(TN_NEW(&t->arena, examples * t->model->keys.sequence, &t->kept_token, error));
    TN_TRY(TN_NEW(&t->arena, examples * heads, &t->kept_head, error));
    return TN_NEW(&t->arena, heads + t->model->keys.sequence + width, &t->weight_of, error);
}

static tn_status fill(tn_trainer *t, tn_error *error) {
    if (!t->cache) TN_TRY(tn_program_cache_new(&t->own_cache, error));
    if (!t->cache) t->cache = t->own_cache;
    TN_TRY(tn_trainer_sized(t, t->model->keys.batch, t->model->keys.sequence, 0, &t->whole, error));
    TN_TRY(check_tables(t, error));
    if (t->settings.clip_norm > 0 && !t->whole->lowered.updates_last)
        return tn_fail(
            error, TN_INPUT,
            "training.clip_norm needs all gradients of a step at once; with `update.when: "
            "write-back`, or predicted_gradients, a parameter is updated as soon as its own is there");
    TN_TRY(check_heads(t, error));
    TN_TRY(make_choices(t, error));
    TN_TRY(tn_make_routes(t, error));
    t->zeros.layers = t->whole->lowered.step.layers;
    TN_TRY(TN_NEW(&t->arena, t->zeros.layers, &t->zeros.layer, error));
    return tn_make_parameters(t, error);
}

tn_status tn_trainer_new(const tn_model *model, const tn_train_settings *settings, tn_real real,
                         tn_trainer **trainer, tn_error *error) {
    return tn_trainer_new_with(model, settings, real, NULL, trainer, error);
}

tn_status tn_trainer_new_with(const tn_model *model, const tn_train_settings *settings, tn_real real,
                              tn_program_cache *cache, tn_trainer **trainer, tn_error *error) {
    tn_trainer *made;
    *trainer = NULL;
    TN_TRY(TN_ALLOC(1, &made, error));
    made->cache = cache;
    made->model = model;
    made->settings = *settings;
    made->real = real;
    made->kernels = tn_kernels_of(real);
    made->sort = TN_SORT_MEAN;
    tn_status status = fill(made, error);
    if (status == TN_OK)
        *trainer = made;
    else
        tn_trainer_free(made);
    return status;
}

void tn_trainer_free(tn_trainer *t) {
    if (!t) return;
    tn_crew_free(t->crew);
    tn_program_cache_free(t->own_cache);
    tn_free(t->resident_memory);
    tn_free(t->pool_memory);
    tn_free(t->scratch_memory);
    tn_rounding_free(&t->rounding);
    tn_gradient_sums_free(&t->gradients);
    tn_free(t->selection_room);
    tn_free(t->batch.token);
    tn_free(t->batch.slot);
    tn_free(t->batch.intent);
    tn_free(t->batch.length);
    tn_free(t->sized);
    tn_arena_free(&t->arena);
    tn_free(t);
}

void tn_trainer_set_threads(tn_trainer *t, uint32_t threads) {
    t->threads = threads;
}

size_t tn_trainer_predictors(const tn_trainer *t) {
    return t->predictors;
}

const tn_train_parameter *tn_trainer_predictor(const tn_trainer *t, size_t position) {
    return &t->predictor[position];
}

uint32_t tn_trainer_sorts(const tn_trainer *t) {
    return tn_step_sorts(t->model);
}

double tn_trainer_sort_share(const tn_trainer *t, uint32_t sort) {
    return tn_step_sort_share(t->model, sort);
}

tn_status tn_trainer_sort_name(const tn_trainer *t, uint32_t sort, tn_arena *arena, const char **name,
                               tn_error *error) {
    *name = sort == TN_SORT_TRUE ? "true" : "predicted";
    return tn_model_is_inference(t->model) ? tn_arena_format(arena, name, error, "exit %" PRIu32, sort + 1)
                                           : TN_OK;
}

bool tn_trainer_is_inference(const tn_trainer *t) {
    return tn_model_is_inference(t->model);
}

void tn_trainer_set_sort(tn_trainer *t, uint32_t sort) {
    t->sort = sort;
}

uint32_t tn_trainer_heads(const tn_trainer *t) {
    return t->whole->lowered.heads;
}

tn_head_info tn_trainer_head(const tn_trainer *t, uint32_t head) {
    const tn_head *this_head = &t->whole->lowered.head[head];
    return (tn_head_info){t->whole->lowered.step.layer[this_head->layer].name, this_head->outputs,
                          this_head->of_example};
}

size_t tn_trainer_parameters(const tn_trainer *t) {
    return t->parameters;
}

const tn_train_parameter *tn_trainer_parameter(const tn_trainer *t, size_t position) {
    return &t->parameter[position];
}

uint64_t tn_trainer_parameter_elements(const tn_trainer *t) {
    return t->whole->lowered.step.parameters;
}

const tn_kernels *tn_trainer_kernels(const tn_trainer *t) {
    return t->kernels;
}

uint64_t tn_trainer_batch(const tn_trainer *t) {
    return t->model->keys.batch;
}

uint64_t tn_trainer_sequence(const tn_trainer *t) {
    return t->model->keys.sequence;
}

uint64_t tn_trainer_vocabulary(const tn_trainer *t) {
    return t->model->layer[t->whole->lowered.table[0].layer].rows;
}

void tn_trainer_watch(tn_trainer *t, tn_trainer_watcher watcher, void *user) {
    t->watcher = watcher;
    t->watcher_user = user;
}

void tn_trainer_time(tn_trainer *t, bool enabled) {
    t->timed = enabled;
    t->product_seconds = 0;
}

double tn_trainer_product_seconds(const tn_trainer *t) {
    return t->product_seconds;
}

void tn_trainer_set_progress(tn_trainer *t, double progress) {
    t->rounding.progress = progress;
}

double tn_trainer_wide_share(const tn_trainer *t) {
    return t->rounding.operands ? (double)t->rounding.wide / (double)t->rounding.operands : NAN;
}

tn_status tn_trainer_zeros(const tn_trainer *t, tn_arena *arena, tn_zeros *zeros, tn_error *error) {
    return tn_zero_shares(&t->zeros, &t->whole->lowered.step, arena, zeros, error);
}

uint64_t tn_trainer_steps(const tn_trainer *t) {
    return t->steps;
}

void tn_trainer_set_steps(tn_trainer *t, uint64_t steps) {
    t->steps = steps;
}

void tn_trainer_wide_counts(const tn_trainer *t, uint64_t *wide, uint64_t *operands) {
    *wide = t->rounding.wide;
    *operands = t->rounding.operands;
}
