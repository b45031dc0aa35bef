#include "finetune/count.h"

#include "base/checked.h"

#include <math.h>

/* Sums that stay failed after the first overflow, so that a count is checked once at its end. */
typedef struct {
    uint64_t value;
    bool overflow;
} sum;

static void add(sum *s, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t factor[] = {a, b, c}, product;
    s->overflow = s->overflow || !tn_product(factor, 3, &product) || !tn_add(s->value, product, &s->value);
}

/* What the layers of a kind come to; multiply-adds and activations per token. */
typedef struct {
    uint64_t layers;
    sum matrices, others;                                   /* parameters of one layer */
    sum active;                                             /* those of them that a token meets */
    sum adapters;                                           /* parameters of one layer's adapters */
    sum macs, trained_macs;                                 /* of a token */
    sum matrix_macs, adapter_macs;                          /* of macs */
    sum elements;                                           /* kept activations */
    sum norm_elements, gathered_elements, adapter_elements; /* of elements */
    sum adapter_inputs;                                     /* elements of the copies that adapters keep */
    uint64_t largest_matrix;
} layer;

typedef struct {
    const tn_language_model *model;
    uint64_t sequence, active;
} setting;

/* `copies` matrices of m x n, of which a token meets `met`; `adapted`: with an adapter. */
static void add_matrix(layer *l, const setting *s, uint64_t copies, uint64_t met, uint64_t m, uint64_t n,
                       bool adapted) {
    const tn_language_training *t = &s->model->training;
    add(&l->matrices, copies, m, n);
    add(&l->active, met, m, n);
    add(&l->macs, met, m, n);
    add(&l->matrix_macs, met, m, n);
    if (m * n > l->largest_matrix) l->largest_matrix = m * n;
    if (t->method == TN_TUNE_FULL) add(&l->trained_macs, met, m, n);
    if (t->method == TN_TUNE_FULL || !adapted) return;
    uint64_t rank = t->adapters.rank;
    add(&l->adapters, copies, rank, m + n);
    add(&l->macs, met, rank, m + n);
    add(&l->adapter_macs, met, rank, m + n);
    add(&l->trained_macs, met, rank, m + n);
    add(&l->elements, met, rank, 1);
    add(&l->adapter_elements, met, rank, 1);
    if (t->adapters.input_bits) add(&l->adapter_inputs, met, n, 1);
}

static void add_other(layer *l, uint64_t a, uint64_t b) {
    add(&l->others, a, b, 1);
    add(&l->active, a, b, 1);
}

static layer attention(const setting *s) {
    const tn_language_attention *a = &s->model->attention;
    uint64_t hidden = s->model->hidden, wide = a->heads * a->head_size, narrow = a->kv_heads * a->head_size;
    bool adapted = s->model->training.adapters.attention;
    layer l = {.layers = a->layers};
    add_other(&l, hidden + a->biases, 1);
    add_matrix(&l, s, 1, 1, wide, hidden, adapted);
    add_matrix(&l, s, 2, 2, narrow, hidden, adapted);
    add_matrix(&l, s, 1, 1, hidden, wide, adapted);
    add(&l.macs, wide, s->sequence, 1); /* scores and values, each over half the sequence */
    add(&l.elements, 2, hidden + wide + narrow, 1);
    add(&l.norm_elements, 2, hidden, 1);
    if (!a->flash) add(&l.elements, 2, a->heads, s->sequence);
    return l;
}

static layer state_space(const setting *s) {
    const tn_language_state_space *b = &s->model->state_space;
    uint64_t hidden = s->model->hidden, inner = b->expansion * hidden, mixed = b->step_rank + 2 * b->state;
    bool adapted = s->model->training.adapters.state_space;
    layer l = {.layers = b->layers};
    add_other(&l, hidden, 1);
    add_matrix(&l, s, 1, 1, 2 * inner, hidden, adapted);
    add_other(&l, inner, b->convolution + 1);
    add_matrix(&l, s, 1, 1, mixed, inner, false);
    add_matrix(&l, s, 1, 1, inner, b->step_rank, false);
    add_other(&l, inner, b->state + 2); /* A, D, the step's bias */
    add_matrix(&l, s, 1, 1, hidden, inner, adapted);
    add(&l.macs, inner, b->convolution, 1);
    add(&l.macs, 3, inner, b->state);
    add(&l.elements, 1, 2 * hidden + 6 * inner + mixed, 1);
    add(&l.norm_elements, 2, hidden, 1);
    return l;
}

static layer feed_forward(const setting *s) {
    const tn_language_feed_forward *f = &s->model->feed_forward;
    const tn_language_adapters *adapters = &s->model->training.adapters;
    uint64_t hidden = s->model->hidden;
    layer l = {.layers = f->layers};
    add_other(&l, hidden, 1);
    add_matrix(&l, s, f->experts * (f->matrices - 1), s->active * (f->matrices - 1), f->size, hidden,
               adapters->feed_forward);
    add_matrix(&l, s, f->experts, s->active, hidden, f->size, adapters->feed_forward);
    add(&l.elements, 2, hidden, 1);
    add(&l.norm_elements, 2, hidden, 1);
    if (f->experts > 1) add(&l.gathered_elements, s->active, 3, hidden);
    add(&l.elements, s->active, (f->experts > 1 ? 5 : 2) * hidden + (f->matrices == 3 ? 4 : 2) * f->size, 1);
    if (f->experts == 1) return l;
    add_other(&l, hidden, f->experts);
    add(&l.macs, hidden, f->experts, 1);
    add(&l.elements, f->experts, 1, 1);
    if (s->model->training.method == TN_TUNE_FULL)
        add(&l.trained_macs, hidden, f->experts, 1);
    else if (adapters->router)
        add(&l.adapters, adapters->rank, hidden + f->experts, 1);
    return l;
}

/* Bytes of `count` elements of `bits` each, rounded up. */
static void add_bytes(sum *total, uint64_t count, double bits) {
    double bytes = ceil((double)count * bits / 8);
    if (bytes >= 0x1p63)
        total->overflow = true;
    else
        add(total, (uint64_t)bytes, 1, 1);
}

static void add_bits(sum *total, uint64_t count, uint64_t bits) {
    uint64_t all;
    if (!tn_mul(count, bits, &all))
        total->overflow = true;
    else
        add(total, tn_ceil_div(all, 8), 1, 1);
}

enum { KINDS = TN_LANGUAGE_PARTS };

typedef struct {
    sum matrices, others, active, trained, macs, flops;
    sum kept, largest; /* bytes of a token: what layers keep, and the largest of them whole */
} totals;

static void merge(sum *target, uint64_t times, const sum *source) {
    target->overflow = target->overflow || source->overflow;
    add(target, times, source->value, 1);
}

/* Bytes per token that a layer keeps while it runs. */
static sum kept_bytes(const layer *l, const tn_language_training *t) {
    sum bytes = {.overflow = l->elements.overflow || l->adapter_inputs.overflow};
    add_bits(&bytes, l->elements.value, t->activation_bits);
    add_bits(&bytes, l->adapter_inputs.value, t->adapters.input_bits);
    return bytes;
}

/* Bytes per token over all layers: everything; or each layer's input, and the largest layer whole. */
static void add_kept(const setting *s, const layer *kind, totals *all) {
    const tn_language_training *t = &s->model->training;
    for (int i = 0; i < KINDS; i++) {
        if (kind[i].layers == 0) continue;
        sum whole = kept_bytes(&kind[i], t), input = {0};
        add_bits(&input, s->model->hidden, t->activation_bits);
        if (t->checkpointing && !t->keeps_all) {
            merge(&all->kept, kind[i].layers, &input);
            if (whole.overflow || whole.value > all->largest.value) all->largest = whole;
        } else
            merge(&all->kept, kind[i].layers, &whole);
    }
}

static uint64_t outputs_of(const tn_language_model *model) {
    return model->outputs ? model->outputs : model->vocabulary;
}

static totals total(const setting *s, const layer *kind) {
    const tn_language_model *model = s->model;
    const tn_language_training *t = &model->training;
    totals all = {0};
    sum trained_macs = {0};
    for (int i = 0; i < KINDS; i++) {
        merge(&all.matrices, kind[i].layers, &kind[i].matrices);
        merge(&all.others, kind[i].layers, &kind[i].others);
        merge(&all.active, kind[i].layers, &kind[i].active);
        merge(&all.trained, kind[i].layers, &kind[i].adapters);
        merge(&all.macs, kind[i].layers, &kind[i].macs);
        merge(&trained_macs, kind[i].layers, &kind[i].trained_macs);
    }
    uint64_t outputs = outputs_of(model);
    sum tables = {0};
    add(&tables, model->vocabulary, model->hidden, 1);
    if (!model->tied_embeddings) add(&tables, outputs, model->hidden, 1);
    add(&tables, model->hidden, 1, 1);
    add(&tables, model->other_parameters, 1, 1);
    merge(&all.others, 1, &tables);
    merge(&all.active, 1, &tables);
    if (t->method == TN_TUNE_FULL) {
        merge(&all.trained, 1, &all.matrices);
        merge(&all.trained, 1, &all.others);
        add(&trained_macs, outputs, model->hidden, 1);
    }
    /* Layers run forward again under checkpointing, the output projection does not. */
    merge(&all.flops, t->checkpointing ? 6 : 4, &all.macs);
    merge(&all.flops, 2, &trained_macs);
    add(&all.flops, 4, outputs, model->hidden);
    add(&all.macs, outputs, model->hidden, 1);
    add_kept(s, kind, &all);
    return all;
}

static uint64_t largest_matrix(const layer *kind) {
    uint64_t largest = 0;
    for (int i = 0; i < KINDS; i++)
        if (kind[i].layers && kind[i].largest_matrix > largest) largest = kind[i].largest_matrix;
    return largest;
}

/* Parameters of its matrices; one beyond 64 bits is found in the sum over all layers. */
static uint64_t largest_layer(const layer *kind) {
    uint64_t largest = 0;
    for (int i = 0; i < KINDS; i++)
        if (kind[i].layers && kind[i].matrices.value > largest) largest = kind[i].matrices.value;
    return largest;
}

static bool part_of(const layer *l, const tn_language_training *t, tn_language_part *part) {
    *part = (tn_language_part){.layers = l->layers};
    if (l->layers == 0) return true;
    sum norm = {0}, gathered = {0}, adapters = {0}, kept = kept_bytes(l, t);
    add_bits(&norm, l->norm_elements.value, t->activation_bits);
    add_bits(&gathered, l->gathered_elements.value, t->activation_bits);
    add_bits(&adapters, l->adapter_elements.value, t->activation_bits);
    add_bits(&adapters, l->adapter_inputs.value, t->adapters.input_bits);
    const sum *all[] = {&l->matrices, &l->macs,  &l->trained_macs, &l->elements, &l->adapter_inputs,
                        &norm,        &gathered, &adapters,        &kept};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->overflow) return false;
    part->matrix_parameters = l->matrices.value;
    part->matrix_macs = l->matrix_macs.value;
    part->adapter_macs = l->adapter_macs.value;
    part->other_macs = l->macs.value - l->matrix_macs.value - l->adapter_macs.value;
    part->trained_macs = l->trained_macs.value;
    part->norm_bytes = norm.value;
    part->gathered_bytes = gathered.value;
    part->adapter_bytes = adapters.value;
    part->kept_bytes = kept.value;
    return true;
}

tn_status tn_language_count_of(const tn_language_model *model, uint64_t sequence, uint64_t active,
                               tn_language_count *count, tn_error *error) {
    const tn_language_training *t = &model->training;
    setting s = {model, sequence, active};
    layer kind[KINDS] = {[TN_PART_ATTENTION] = attention(&s),
                         [TN_PART_STATE_SPACE] = state_space(&s),
                         [TN_PART_FEED_FORWARD] = feed_forward(&s)};
    totals all = total(&s, kind);
    sum weights = {0}, gradients = {0}, optimizer = {0}, workspace = {0}, logits = {0};
    add_bytes(&weights, all.matrices.value, model->matrix_bits);
    add_bytes(&weights, all.others.value, model->other_bits);
    if (t->method == TN_TUNE_LORA) add_bits(&weights, all.trained.value, t->adapters.bits);
    add_bits(&gradients, all.trained.value, t->gradient_bits);
    add_bits(&optimizer, all.trained.value, t->optimizer_bits);
    if (tn_language_is_packed(model)) add_bits(&workspace, largest_matrix(kind), t->activation_bits);
    add_bits(&logits, outputs_of(model), t->logit_bits);
    sum layer_weights = {0};
    add_bytes(&layer_weights, largest_layer(kind), model->matrix_bits);
    sum parameters = all.matrices, macs = {0}, flops = {0}, reserve = {0};
    sum kept = {0}, largest = {0}, query_logits = {0}, activations;
    merge(&kept, sequence, &all.kept);
    merge(&largest, sequence, &all.largest);
    merge(&parameters, 1, &all.others);
    merge(&macs, sequence, &all.macs);
    merge(&flops, sequence, &all.flops);
    merge(&query_logits, sequence, &logits);
    activations = kept;
    merge(&activations, 1, query_logits.value > largest.value ? &query_logits : &largest);
    add_bytes(&reserve, 1, t->reserve_GB * 8e9);
    for (int i = 0; i < KINDS; i++) {
        if (!part_of(&kind[i], t, &count->part[i]))
            return tn_fail(error, TN_OVERFLOW,
                           "a layer of model %s is beyond 64 bits; a size in its file is too large",
                           model->name);
    }
    sum head = {0};
    add(&head, outputs_of(model), model->hidden, 1);
    const struct {
        const sum *source;
        uint64_t *target;
        const char *what;
    } result[] = {
        {&head, &count->head_macs, "multiply-adds of the output"},
        {&parameters, &count->parameters, "parameters"},
        {&all.active, &count->active_parameters, "active parameters"},
        {&all.trained, &count->trained_parameters, "trained parameters"},
        {&all.matrices, &count->matrix_parameters, "parameters of matrices"},
        {&weights, &count->weight_bytes, "bytes of weights"},
        {&layer_weights, &count->layer_weight_bytes, "bytes of a layer's weights"},
        {&gradients, &count->gradient_bytes, "bytes of gradients"},
        {&optimizer, &count->optimizer_bytes, "bytes of optimizer state"},
        {&workspace, &count->workspace_bytes, "bytes of workspace"},
        {&reserve, &count->reserve_bytes, "bytes of reserve"},
        {&activations, &count->activation_bytes, "bytes of activations"},
        {&kept, &count->kept_bytes, "bytes that layers keep"},
        {&largest, &count->layer_bytes, "bytes of a layer"},
        {&query_logits, &count->logit_bytes, "bytes of logits"},
        {&macs, &count->forward_macs, "multiply-adds"},
        {&flops, &count->training_flops, "FLOPs"},
    };
    for (size_t i = 0; i < sizeof result / sizeof *result; i++) {
        if (result[i].source->overflow)
            return tn_fail(error, TN_OVERFLOW,
                           "%s of model %s are beyond 64 bits; a size in its file, or tokens of an example, "
                           "are too many",
                           result[i].what, model->name);
        *result[i].target = result[i].source->value;
    }
    return TN_OK;
}

tn_status tn_language_active(const tn_language_model *model, double sparsity, uint64_t *active,
                             tn_error *error) {
    uint64_t experts = model->feed_forward.experts;
    double exact = sparsity * (double)experts, whole = round(exact);
    if (!(sparsity > 0 && sparsity <= 1) || fabs(exact - whole) > 1e-6 * (double)experts || whole < 1)
        return tn_fail(error, TN_INPUT,
                       "sparsity %g of %llu experts is %g experts; it must be 1/%llu to 1 in steps of 1/%llu",
                       sparsity, (unsigned long long)experts, exact, (unsigned long long)experts,
                       (unsigned long long)experts);
    *active = (uint64_t)whole;
    return TN_OK;
}
