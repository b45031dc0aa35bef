/* Programs by weight, tokens, flow and options, and fronts of training flows, which several flows are points of:
 * a hash table with open addressing; programs and fronts live in one arena that is freed with the cache. */
#include "step/program_cache.h"

#include "base/memory.h"
#include "flow/search.h"
#include "flow/tree.h"
#include "program/program_named.h"
#include "step/builder.h"

#include <string.h>

enum { TOKEN = 0 };

/* The indices m (d+1 .. 2d) become the token, the bonds behind them move up. */
static void cut(tn_indices *tensor, uint32_t d) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        uint32_t *index = &tensor->index[i];
        if (*index > 2 * d)
            *index -= d;
        else if (*index > d)
            *index = TOKEN;
    }
}

tn_status tn_lookup_network(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error) {
    uint32_t d = weight->d;
    TN_TRY(tn_weight_input_gradient(weight, tokens, arena, network, error));
    network->tensors--;
    network->tensor++; /* without dY */
    network->tensor_name++;
    for (uint32_t k = 0; k < network->tensors; k++) cut(&network->tensor[k], d);
    network->indices -= d;
    for (uint32_t index = d + 1; index < network->indices; index++) {
        network->index_size[index] = network->index_size[index + d];
        network->index_name[index] = network->index_name[index + d];
    }
    return TN_OK;
}

static tn_status right_to_left(const tn_network *network, tn_arena *arena, tn_tree *tree, tn_error *error) {
    uint32_t n = network->tensors, last = n - 1;
    tree->tensors = n;
    TN_TRY(TN_NEW(arena, n, &tree->merge, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        tree->merge[i] = (tn_merge){n - 2 - i, last};
        last = n + i;
    }
    return TN_OK;
}

bool tn_lookup_flow_exists(tn_flow_name flow) {
    return flow == TN_FLOW_RIGHT_TO_LEFT || flow == TN_FLOW_OPTIMAL;
}

static tn_status find_tree(const tn_network *network, tn_flow_name flow, tn_arena *arena, tn_tree *tree,
                           tn_error *error) {
    if (flow == TN_FLOW_RIGHT_TO_LEFT) return right_to_left(network, arena, tree, error);
    if (!tn_lookup_flow_exists(flow))
        return tn_fail(error, TN_INPUT, "a look-up in cores has no flow %s; choose right-to-left or optimal",
                       tn_flow_names[flow]);
    tn_search_result best;
    TN_TRY(tn_search(network, NULL, arena, &best, error));
    *tree = best.tree;
    return TN_OK;
}

static tn_status write_program(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *scratch,
                               tn_arena *arena, tn_program *program, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_network network;
    tn_tree tree;
    TN_TRY(tn_lookup_network(weight, tokens, scratch, &network, error));
    TN_TRY(find_tree(&network, flow, scratch, &tree, error));
    TN_TRY(tn_program_of_network(&network, &tree, &options, arena, program, error));
    program->macs[TN_WEIGHT_GRADIENT] += program->macs[TN_INPUT_GRADIENT];
    program->macs[TN_INPUT_GRADIENT] = 0;
    if (program->peak_elements[TN_WEIGHT_GRADIENT] < program->peak_elements[TN_INPUT_GRADIENT])
        program->peak_elements[TN_WEIGHT_GRADIENT] = program->peak_elements[TN_INPUT_GRADIENT];
    program->peak_elements[TN_INPUT_GRADIENT] = 0;
    for (uint32_t i = program->forward_steps; i < program->steps; i++)
        program->step[i].phase = TN_WEIGHT_GRADIENT;
    return TN_OK;
}

tn_status tn_lookup_program(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *arena,
                            tn_program *program, tn_error *error) {
    TN_TRY(tn_weight_check(weight, error));
    if (tn_weight_cores(weight) < 2)
        return tn_fail(error, TN_INPUT, "a table of one core is looked up without products");
    tn_arena scratch = {0};
    tn_status status = write_program(weight, tokens, flow, &scratch, arena, program, error);
    tn_arena_free(&scratch);
    return status;
}

/* The operations of a program (program/program.h): what linear layers and look-ups in cores have in common. */

tn_status tn_program_layer_begin(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    uint32_t tensors = made->program->tensors;
    TN_TRY(TN_NEW(b->arena, tensors, &made->array_of, b->error));
    for (uint32_t t = 0; t < tensors; t++) made->array_of[t] = TN_NONE;
    return TN_OK;
}

static tn_status place_result(tn_builder *b, uint32_t t) {
    const tn_layer_arrays *made = tn_builder_made(b);
    const tn_program_tensor *tensor = &made->program->tensor[t];
    uint32_t *array = &made->array_of[t];
    if (*array != TN_NONE) return TN_OK;
    switch (tensor->role) {
    case TN_ROLE_Y:
        return tn_builder_array(b, TN_PART_OUTPUT, 0, TN_ARRAY_ACTIVATION, tensor->elements, array);
    case TN_ROLE_DX:
        return tn_builder_array(b, TN_PART_INPUT_GRADIENT, 0, TN_ARRAY_ACTIVATION, tensor->elements, array);
    default:
        return tn_builder_array(b, TN_PART_INTERMEDIATE, tensor->made_by + 1, TN_ARRAY_INTERMEDIATE,
                                tensor->elements, array);
    }
}

static tn_status add_product(tn_builder *b, const tn_program_step *step) {
    const uint32_t *array_of = tn_builder_made(b)->array_of;
    TN_TRY(place_result(b, step->out));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_PRODUCT,
                                             .phase = step->phase,
                                             .program_step = step,
                                             .batch = step->shape.batch,
                                             .rows = step->shape.rows,
                                             .reduction = step->shape.reduction,
                                             .columns = step->shape.columns,
                                             .read_count = 2,
                                             .reads = {array_of[step->a], array_of[step->b]},
                                             .write_count = 1,
                                             .writes = {array_of[step->out]}});
}

static uint32_t find_role(const tn_program *program, tn_role role) {
    uint32_t t = 0;
    while (t < program->tensors && program->tensor[t].role != role) t++;
    return t;
}

tn_status tn_program_layer_forward(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    for (uint32_t i = 0; i < program->forward_steps; i++) TN_TRY(add_product(b, &program->step[i]));
    made->output = made->array_of[find_role(program, TN_ROLE_Y)];
    return TN_OK;
}

tn_status tn_program_layer_backward(tn_builder *b, uint32_t *input_gradient) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    made->array_of[find_role(program, TN_ROLE_DY)] = made->gradient;
    for (uint32_t i = program->forward_steps; i < program->steps; i++)
        TN_TRY(add_product(b, &program->step[i]));
    uint32_t dx = find_role(program, TN_ROLE_DX);
    *input_gradient = dx < program->tensors ? made->array_of[dx] : TN_NONE;
    return TN_OK;
}

typedef enum program_kind { EMPTY, PROGRAM, LOOKUP, FRONT } program_kind;

typedef struct key {
    program_kind kind;
    const tn_weight *weight;
    uint64_t tokens;
    tn_flow_name flow;
    bool training, no_input_gradient;
    uint64_t hash;
} key;

typedef struct entry {
    key key;
    const tn_program *program;      /* PROGRAM, LOOKUP */
    const tn_training_front *front; /* FRONT */
} entry;

struct tn_program_cache {
    tn_arena arena;
    entry *slot;
    size_t slots, used;        /* slots: a power of two */
    const tn_pricing *pricing; /* NULL: optimal is in MACs */
    uint64_t whole, shorter;   /* training flows of `shorter` tokens are those of `whole`; 0: none are */
};

enum { FIRST_SLOTS = 64 };

tn_status tn_program_cache_new(tn_program_cache **cache, tn_error *error) {
    return TN_ALLOC(1, cache, error);
}

void tn_program_cache_free(tn_program_cache *cache) {
    if (!cache) return;
    tn_arena_free(&cache->arena);
    tn_free(cache->slot);
    tn_free(cache);
}

void tn_program_cache_price(tn_program_cache *cache, const tn_pricing *pricing) {
    cache->pricing = pricing;
}

void tn_program_cache_shorten(tn_program_cache *cache, uint64_t whole, uint64_t tokens) {
    cache->whole = whole;
    cache->shorter = tokens;
}

/* FNV-1a, a word at a time. */
static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const key *k) {
    const tn_weight *weight = k->weight;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash = mix(hash, (uint64_t)k->kind | (uint64_t)k->flow << 8 | (uint64_t)k->training << 16 |
                         (uint64_t)k->no_input_gradient << 17 | (uint64_t)weight->format << 24);
    hash = mix(mix(hash, k->tokens), weight->d);
    for (uint32_t i = 0; i < weight->d && i < TN_FACTORS_MOST; i++)
        hash = mix(mix(hash, weight->m[i]), weight->n[i]);
    for (uint32_t i = 0; i < weight->rank_count && i < TN_RANKS_MOST; i++) hash = mix(hash, weight->rank[i]);
    return hash;
}

static bool equal_keys(const key *a, const key *b) {
    return a->hash == b->hash && a->kind == b->kind && a->tokens == b->tokens && a->flow == b->flow &&
           a->training == b->training && a->no_input_gradient == b->no_input_gradient &&
           tn_weight_equal(a->weight, b->weight);
}

/* The slot of the key, or the empty one where it would go. */
static entry *find(const tn_program_cache *cache, const key *k) {
    size_t index = (size_t)k->hash & (cache->slots - 1);
    while (cache->slot[index].key.kind != EMPTY && !equal_keys(&cache->slot[index].key, k))
        index = (index + 1) & (cache->slots - 1);
    return &cache->slot[index];
}

static tn_status make_room(tn_program_cache *cache, tn_error *error) {
    if (cache->slots && 2 * (cache->used + 1) <= cache->slots) return TN_OK;
    tn_program_cache grown = {.slots = cache->slots ? 2 * cache->slots : FIRST_SLOTS};
    TN_TRY(TN_ALLOC(grown.slots, &grown.slot, error));
    for (size_t i = 0; i < cache->slots; i++)
        if (cache->slot[i].key.kind != EMPTY) *find(&grown, &cache->slot[i].key) = cache->slot[i];
    tn_free(cache->slot);
    cache->slot = grown.slot;
    cache->slots = grown.slots;
    return TN_OK;
}

static tn_status search_by_price(const key *k, const tn_pricing *pricing, tn_arena *scratch, tn_tree *tree,
                                 tn_error *error) {
    const tn_search_options options = {.objective = TN_LEAST_PRICE, .pricing = *pricing};
    tn_network network;
    tn_search_result best;
    TN_TRY(tn_weight_forward(k->weight, k->tokens, scratch, &network, error));
    TN_TRY(tn_search(&network, &options, scratch, &best, error));
    *tree = best.tree;
    return TN_OK;
}

static tn_status make_by_price(const key *k, const tn_pricing *pricing, const tn_program_options *options,
                               tn_arena *arena, tn_program *program, tn_error *error) {
    tn_arena scratch = {0};
    tn_tree tree;
    tn_status status = search_by_price(k, pricing, &scratch, &tree, error);
    if (status == TN_OK)
        status = tn_program_from_tree(k->weight, k->tokens, &tree, options, arena, program, error);
    tn_arena_free(&scratch);
    return status;
}

static tn_status get(tn_program_cache *cache, key *k, entry *found, tn_error *error);

static tn_status shorten_program(tn_program_cache *cache, const key *k, tn_program *program,
                                 tn_error *error) {
    key of_whole = *k;
    entry found;
    of_whole.tokens = cache->whole;
    TN_TRY(get(cache, &of_whole, &found, error));
    return tn_program_of_tokens(found.program, k->weight, k->tokens, &cache->arena, program, error);
}

/* All flows of a front come from one search. Its key has one flow for all of them. */
static tn_status make_point(tn_program_cache *cache, const key *k, tn_program *program, tn_error *error) {
    key of_front = *k;
    entry found;
    of_front.kind = FRONT;
    of_front.flow = TN_FLOW_TRAINING_OPTIMAL;
    of_front.training = true;
    TN_TRY(get(cache, &of_front, &found, error));
    return tn_training_named(k->weight, k->tokens, found.front, k->flow, k->training, &cache->arena, program,
                             error);
}

static tn_status make_program(tn_program_cache *cache, const key *k, tn_program *program, tn_error *error) {
    tn_arena *arena = &cache->arena;
    if (k->kind == LOOKUP) return tn_lookup_program(k->weight, k->tokens, k->flow, arena, program, error);
    const bool training = tn_flow_is_training(k->flow);
    if ((training || tn_flow_is_cheapest(k->flow)) && tn_flow_exists(k->weight, k->flow)) {
        if (k->tokens == cache->shorter && k->tokens != cache->whole)
            return shorten_program(cache, k, program, error);
        if (training) return make_point(cache, k, program, error);
    }
    const tn_program_options options = {.training = k->training, .no_input_gradient = k->no_input_gradient};
    if (cache->pricing && k->flow == TN_FLOW_OPTIMAL)
        return make_by_price(k, cache->pricing, &options, arena, program, error);
    return tn_program_named(k->weight, k->tokens, k->flow, &options, arena, program, error);
}

static tn_status make_entry(tn_program_cache *cache, const key *k, entry *made, tn_error *error) {
    *made = (entry){.key = *k};
    if (k->kind == FRONT) {
        tn_training_front *front;
        TN_TRY(TN_NEW(&cache->arena, 1, &front, error));
        made->front = front;
        return tn_training_front_of(k->weight, k->tokens, k->no_input_gradient, &cache->arena, front, error);
    }
    tn_program *program;
    TN_TRY(TN_NEW(&cache->arena, 1, &program, error));
    made->program = program;
    return make_program(cache, k, program, error);
}

static tn_status get(tn_program_cache *cache, key *k, entry *found, tn_error *error) {
    /* A weight that breaks its invariant can't be compared. */
    TN_TRY(tn_weight_check(k->weight, error));
    k->hash = hash_of(k);
    TN_TRY(make_room(cache, error));
    *found = *find(cache, k);
    if (found->key.kind != EMPTY) return TN_OK;
    tn_weight *kept;
    TN_TRY(TN_NEW(&cache->arena, 1, &kept, error));
    *kept = *k->weight;
    k->weight = kept;
    TN_TRY(make_entry(cache, k, found, error));
    TN_TRY(make_room(cache, error)); /* a front may have come in between */
    *find(cache, k) = *found;
    cache->used++;
    return TN_OK;
}

static tn_status get_program(tn_program_cache *cache, key *k, const tn_program **program, tn_error *error) {
    entry found;
    TN_TRY(get(cache, k, &found, error));
    *program = found.program;
    return TN_OK;
}

tn_status tn_program_cache_get(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                               tn_flow_name flow, const tn_program_options *options,
                               const tn_program **program, tn_error *error) {
    key k = {.kind = PROGRAM, .weight = weight, .tokens = tokens, .flow = flow};
    if (options) {
        k.training = options->training;
        k.no_input_gradient = options->no_input_gradient;
    }
    return get_program(cache, &k, program, error);
}

tn_status tn_program_cache_lookup(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                                  tn_flow_name flow, const tn_program **program, tn_error *error) {
    key k = {.kind = LOOKUP, .weight = weight, .tokens = tokens, .flow = flow, .training = true};
    return get_program(cache, &k, program, error);
}
