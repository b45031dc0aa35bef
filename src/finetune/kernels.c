#include "finetune/kernels.h"

#include <math.h>

const char *const tn_stage_names[TN_STAGES] = {"forward", "forward again", "backward", "optimizer"};

/* Launches of a forward pass, as the header lists them. */
enum {
    NORM = 8,
    ATTENTION = 25,
    STATE_SPACE = 40,
    ROUTE = 8,
    GATHER = 8,
    MATRIX = 1,
    UNPACK = 1,
    ADAPTER = 5,
    CASTS = 2,
    LOSS = 10
};
enum { OPTIMIZER = 12 };
enum { ATTENTION_MATRICES = 4, BITS = 8 };

double tn_experts_touched(double experts, double active, double choices) {
    return experts * (1 - pow(1 - active / experts, choices));
}

typedef struct {
    const tn_language_model *model;
    const tn_language_training *training;
    double tokens;  /* of the batch */
    double touched; /* experts of a layer */
    tn_step_kernels *to;
} setting;

/* Of a forward pass: launches, multiply-adds, bytes of weights and of activations; trained: multiply-adds of weights that have
 * gradients. */
typedef struct {
    double launches, macs, trained, weight_bytes, activation_bytes;
} forward;

static void add(const setting *s, const char *layer, const char *name, bool again, forward f) {
    bool twice = again && s->training->checkpointing;
    if (f.launches == 0 && f.macs == 0 && f.weight_bytes == 0 && f.activation_bytes == 0) return;
    tn_step_kernel *k = &s->to->kernel[s->to->count++];
    *k = (tn_step_kernel){.layer = layer, .name = name};
    const tn_step_effort once = {.launches = f.launches,
                                 .operations = 2 * f.macs,
                                 .weight_bytes = f.weight_bytes,
                                 .activation_bytes = f.activation_bytes};
    k->stage[TN_STAGE_FORWARD] = once;
    if (twice) k->stage[TN_STAGE_AGAIN] = once;
    k->stage[TN_STAGE_BACKWARD] = (tn_step_effort){.launches = 2 * f.launches,
                                                   .operations = 2 * f.macs + 2 * f.trained,
                                                   .weight_bytes = f.weight_bytes,
                                                   .activation_bytes = 2 * f.activation_bytes};
}

/* Products of matrices, unpacking and adapters of the layers of a kind; `matrices` of a layer are launched, of which a share
 * `met` is read. */
static void add_matrices(const setting *s, const char *layer, const tn_language_part *p, double matrices,
                         double met, bool adapted) {
    double layers = (double)p->layers, tokens = s->tokens, n = layers * matrices;
    double parameters = layers * met * (double)p->matrix_parameters;
    bool full = s->training->method == TN_TUNE_FULL, packed = tn_language_is_packed(s->model);
    adapted = adapted && !full;
    if (packed)
        add(s, layer, "unpacking", true,
            (forward){.launches = n * UNPACK,
                      .weight_bytes = parameters *
                                      (s->model->matrix_bits + (double)s->training->activation_bits) / BITS});
    double read = packed ? (double)s->training->activation_bits : s->model->matrix_bits;
    add(s, layer, "products", true,
        (forward){.launches = n * MATRIX,
                  .macs = tokens * layers * (double)p->matrix_macs,
                  .trained = full ? tokens * layers * (double)p->matrix_macs : 0,
                  .weight_bytes = parameters * read / BITS});
    if (adapted)
        add(s, layer, "adapters", true,
            (forward){.launches = n * (ADAPTER + (s->training->adapters.input_bits ? CASTS : 0)),
                      .macs = tokens * layers * (double)p->adapter_macs,
                      .trained = tokens * layers * (double)p->adapter_macs,
                      .activation_bytes = tokens * layers * (double)p->adapter_bytes});
}

static void add_norm(const setting *s, const char *layer, const tn_language_part *p) {
    double layers = (double)p->layers;
    add(s, layer, "norms", true,
        (forward){.launches = layers * NORM, .activation_bytes = s->tokens * layers * (double)p->norm_bytes});
}

/* Bytes of activations that no other group of the kind has. */
static double rest_bytes(const setting *s, const tn_language_part *p) {
    return s->tokens * (double)p->layers *
           (double)(p->kept_bytes - p->norm_bytes - p->gathered_bytes - p->adapter_bytes);
}

static void add_attention(const setting *s, const tn_language_part *p) {
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, "attention", p);
    add_matrices(s, "attention", p, ATTENTION_MATRICES, 1, s->training->adapters.attention);
    add(s, "attention", "mixing", true,
        (forward){.launches = layers * ATTENTION,
                  .macs = s->tokens * layers * (double)p->other_macs,
                  .activation_bytes = rest_bytes(s, p)});
}

static void add_state_space(const setting *s, const tn_language_part *p) {
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, "state space", p);
    add_matrices(s, "state space", p, 0, 1, s->training->adapters.state_space);
    add(s, "state space", "scan", true,
        (forward){.launches = layers * STATE_SPACE,
                  .macs = s->tokens * layers * (double)p->other_macs,
                  .activation_bytes = rest_bytes(s, p)});
}

static void add_feed_forward(const setting *s, const tn_language_part *p) {
    const tn_language_feed_forward *f = &s->model->feed_forward;
    const tn_language_adapters *adapters = &s->training->adapters;
    bool routed = f->experts > 1;
    const char *layer = routed ? "experts" : "feed-forward";
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, layer, p);
    if (routed) {
        bool trained = s->training->method == TN_TUNE_FULL, adapter = adapters->router && !trained;
        add(s, layer, "router", true,
            (forward){.launches = layers * (ROUTE + MATRIX +
                                            (adapter ? ADAPTER + (adapters->input_bits ? CASTS : 0) : 0) +
                                            (tn_language_is_packed(s->model) ? UNPACK : 0)),
                      .macs = s->tokens * layers * (double)p->other_macs,
                      .trained = trained ? s->tokens * layers * (double)p->other_macs : 0});
        add(s, layer, "gathering", true,
            (forward){.launches = layers * s->touched * GATHER,
                      .activation_bytes = s->tokens * layers * (double)p->gathered_bytes});
    }
    add_matrices(s, layer, p, s->touched * (double)f->matrices, s->touched / (double)f->experts,
                 adapters->feed_forward);
    add(s, layer, "gates", true, (forward){.activation_bytes = rest_bytes(s, p)});
}

static void add_update(const setting *s, const tn_language_count *count) {
    const tn_language_training *t = s->training;
    tn_step_kernel *k = &s->to->kernel[s->to->count++];
    double bits =
        2.0 * (double)t->gradient_bits + 2.0 * (double)t->optimizer_bits + 2.0 * s->model->matrix_bits;
    *k = (tn_step_kernel){.layer = "all trained", .name = "update"};
    k->stage[TN_STAGE_UPDATE] = (tn_step_effort){
        .launches = OPTIMIZER, .update_bytes = (double)count->trained_parameters * bits / BITS};
}

tn_status tn_kernels_of_step(const tn_language_model *model, double batch, double tokens, uint64_t active,
                             const tn_expert_load *load, tn_step_kernels *kernels, tn_error *error) {
    const tn_language_feed_forward *f = &model->feed_forward;
    tn_language_count count;
    uint64_t whole = (uint64_t)ceil(tokens);
    TN_TRY(tn_language_count_of(model, whole, active, &count, error));
    *kernels = (tn_step_kernels){.rows = batch * tokens * (double)active / (double)f->experts,
                                 .touched = (double)f->experts,
                                 .waits = f->experts > 1};
    if (load)
        kernels->touched = tn_expert_load_touched(load, batch * tokens);
    else if (f->experts > 1)
        kernels->touched = tn_experts_touched((double)f->experts, (double)active, batch * tokens);
    setting s = {model, &model->training, batch * tokens, kernels->touched, kernels};
    add_attention(&s, &count.part[TN_PART_ATTENTION]);
    add_state_space(&s, &count.part[TN_PART_STATE_SPACE]);
    add_feed_forward(&s, &count.part[TN_PART_FEED_FORWARD]);
    double head = s.tokens * (double)count.head_macs;
    add(&s, "output", "head and loss", false,
        (forward){.launches = LOSS,
                  .macs = head,
                  .trained = model->training.method == TN_TUNE_FULL ? head : 0,
                  .activation_bytes = batch * (double)count.logit_bytes * tokens / (double)whole});
    add_update(&s, &count);
    return TN_OK;
}
