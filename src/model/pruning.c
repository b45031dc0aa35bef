/* Token and head pruning: of the tokens and heads that enter attention shares stay, so that its products have fewer rows,
 * columns and batches; tokens that are gone are gone for every later layer. Wang et al., SpAtten, HPCA 2021. */
#include "model/transformation.h"

#include <math.h>
#include <string.h>

static bool wanted(const tn_model *model) {
    return model->pruning.tokens < 1 || model->pruning.heads < 1;
}

static uint64_t kept(uint64_t count, double share) {
    uint64_t stay = (uint64_t)ceil((double)count * share - 1e-9);
    return stay > 0 ? stay : 1;
}

static bool is_attention(const tn_layer *layer) {
    return strcmp(layer->kind->name, "attention") == 0;
}

/* Extents that are tokens become shorter; the batch of attention's products is examples x heads. */
static void shorten(const tn_builder *b, tn_operation *o) {
    const tn_layer *layer = &b->model->layer[o->layer];
    const tn_model_pruning *of = &b->model->pruning;
    uint64_t heads = layer->heads, examples = b->model->batch;
    uint64_t queries = b->model->layer[layer->input[0]].sequence,
             keys = b->model->layer[layer->input[1]].sequence;
    if (o->kind == TN_OP_PRODUCT) {
        bool scores = o->columns == keys && o->reduction != keys;
        o->batch = examples * kept(heads, of->heads);
        o->rows = kept(queries, of->tokens);
        *(scores ? &o->columns : &o->reduction) = kept(keys, of->tokens);
    } else {
        o->rows = examples * kept(heads, of->heads) * kept(queries, of->tokens);
        o->columns = kept(keys, of->tokens);
    }
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    bool begun = false;
    const tn_model_pruning *of = &b->model->pruning;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = before[i];
        const tn_layer *layer = &b->model->layer[o.layer];
        uint64_t tokens = layer->tokens;
        if (is_attention(layer)) {
            shorten(b, &o);
            begun = true;
        } else if (begun && layer->sequence > 1 && o.rows == tokens && tokens > 0) {
            o.rows = b->model->batch * kept(layer->sequence, of->tokens);
        }
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

const tn_transformation tn_pruning = {
    .name = "pruning",
    .keys = "pruning.tokens, pruning.heads",
    .source = "Wang, Zhang, Han, SpAtten, HPCA 2021",
    .needs = "phase: inference",
    .changes = "rows, columns and heads of attention's products; rows of what is done by token behind the "
               "first attention",
    .inference_only = true,
    .wanted = wanted,
    .apply = apply,
};
