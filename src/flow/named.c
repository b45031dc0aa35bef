#include "flow/named.h"

#include "flow/problem.h"
#include "flow/search.h"

#include <inttypes.h>
#include <string.h>

/* A tree over a set: the best-th tree of one half of the set beside the best-th of the other. */
typedef struct ranked {
    uint64_t macs;
    uint32_t half; /* the half with the set's lowest tensor */
    uint8_t place, other_place;
} ranked;

/* The cheapest trees over a set of tensors. */
typedef struct trees_of_set {
    uint64_t open; /* groups of what the set is merged to */
    uint32_t count;
    ranked tree[TN_CHEAPEST_MOST];
} trees_of_set;

static void insert(trees_of_set *trees, ranked next) {
    uint32_t index = trees->count < TN_CHEAPEST_MOST ? trees->count++ : TN_CHEAPEST_MOST - 1;
    for (; index > 0 && trees->tree[index - 1].macs > next.macs; index--)
        trees->tree[index] = trees->tree[index - 1];
    trees->tree[index] = next;
}

/* What a tree may cost to be kept. */
static uint64_t bar(const trees_of_set *trees) {
    return trees->count < TN_CHEAPEST_MOST ? UINT64_MAX : trees->tree[trees->count - 1].macs;
}

static void try_split(const tn_problem *problem, trees_of_set *all, uint32_t set, uint32_t half) {
    const trees_of_set *a = &all[half], *b = &all[set ^ half];
    const uint64_t merge = tn_problem_product(problem, a->open | b->open);
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++) {
            uint64_t macs = tn_saturating_add(merge, tn_saturating_add(a->tree[i].macs, b->tree[j].macs));
            if (macs >= bar(&all[set])) break;
            insert(&all[set], (ranked){macs, half, (uint8_t)i, (uint8_t)j});
        }
}

/* Sets in the order of their numbers, so that parts come before what they are part of. */
static void find(const tn_problem *problem, trees_of_set *all) {
    const uint32_t whole = (uint32_t)problem->all;
    for (uint32_t set = 1; set <= whole; set++) {
        const uint32_t lowest = set & (~set + 1), rest = set ^ lowest;
        if (rest == 0) {
            all[set] = (trees_of_set){.open = problem->tensor[__builtin_ctz(set)], .count = 1};
            continue;
        }
        all[set].open = tn_problem_open(problem, all[lowest].open | all[rest].open, set);
        /* Every part of the rest, down to none. */
        for (uint32_t part = (rest - 1) & rest;; part = (part - 1) & rest) {
            try_split(problem, all, set, lowest | part);
            if (part == 0) break;
        }
    }
}

/* Returns the tensor that the tree makes. */
static uint32_t cheapest_write_tree(const trees_of_set *all, uint32_t set, uint32_t place, tn_tree *tree,
                                    uint32_t *merges) {
    const ranked *entry = &all[set].tree[place];
    if ((set & (set - 1)) == 0) return (uint32_t)__builtin_ctz(set);
    uint32_t a = cheapest_write_tree(all, entry->half, entry->place, tree, merges);
    uint32_t b = cheapest_write_tree(all, set ^ entry->half, entry->other_place, tree, merges);
    tree->merge[*merges] = (tn_merge){a, b};
    return tree->tensors + (*merges)++;
}

static tn_status write_all(const tn_network *network, const trees_of_set *all, uint32_t whole,
                           tn_arena *arena, tn_tree *tree, tn_error *error) {
    for (uint32_t i = 0; i < all[whole].count; i++) {
        uint32_t merges = 0;
        tree[i].tensors = network->tensors;
        TN_TRY(TN_NEW(arena, network->tensors, &tree[i].merge, error));
        cheapest_write_tree(all, whole, i, &tree[i], &merges);
        TN_TRY(tn_tree_reorder(network, &tree[i], arena, error));
    }
    return TN_OK;
}

tn_status tn_cheapest_trees(const tn_network *network, tn_arena *arena, tn_tree *tree, uint32_t *count,
                            tn_error *error) {
    tn_arena scratch = {0};
    tn_problem problem;
    trees_of_set *all;
    if (network->tensors > TN_CHEAPEST_TENSORS || !tn_problem_of(network, false, &problem))
        return tn_fail(error, TN_LIMIT,
                       "the cheapest trees of a network of %" PRIu32 " tensors; at most %d tensors and %d "
                       "groups of indices",
                       network->tensors, TN_CHEAPEST_TENSORS, TN_PROBLEM_GROUPS);
    tn_status status = TN_NEW(&scratch, (size_t)problem.all + 1, &all, error);
    if (status == TN_OK) {
        find(&problem, all);
        *count = all[problem.all].count;
        status = write_all(network, all, (uint32_t)problem.all, arena, tree, error);
    }
    tn_arena_free(&scratch);
    return status;
}

#define FRONT(place)    "training-front-" place
#define CHEAPEST(place) "cheapest-" place

/* clang-format off */
const char *const tn_flow_names[] = {
    "dense", "right-to-left", "bidirectional", "bidirectional-published",
    "optimal", "training-optimal", "training-least-saved", "training-least-peak",
    FRONT("2"), FRONT("3"), FRONT("4"), FRONT("5"), FRONT("6"), FRONT("7"), FRONT("8"), FRONT("9"),
    FRONT("10"), FRONT("11"), FRONT("12"), FRONT("13"), FRONT("14"), FRONT("15"), FRONT("16"), FRONT("17"),
    FRONT("18"), FRONT("19"), FRONT("20"), FRONT("21"), FRONT("22"), FRONT("23"), FRONT("24"), FRONT("25"),
    FRONT("26"), FRONT("27"), FRONT("28"), FRONT("29"), FRONT("30"), FRONT("31"), FRONT("32"),
    CHEAPEST("2"), CHEAPEST("3"), CHEAPEST("4"), CHEAPEST("5"), CHEAPEST("6"), CHEAPEST("7"), CHEAPEST("8"),
    "fastest", NULL,
};
/* clang-format on */
_Static_assert(sizeof tn_flow_names / sizeof *tn_flow_names == TN_FLOW_NAMES + 1, "every flow has a name");

/* The place of the flow's tree by its MACs, `optimal` being the first. */
static uint64_t place_of(tn_flow_name name) {
    return (uint64_t)(name - TN_FLOW_CHEAPEST_2) + 2;
}

/* Whether X and the cores can be merged in so many ways: 1 x 3 x 5 x .. of them, 2n - 3 being the last for n tensors. */
static bool has_trees(const tn_weight *weight, uint64_t trees) {
    uint32_t tensors = tn_weight_cores(weight) + 1;
    uint64_t ways = 1;
    for (uint32_t n = 3; n <= tensors && ways < trees; n++) ways *= 2 * n - 3;
    return ways >= trees && tensors <= TN_CHEAPEST_TENSORS;
}

bool tn_flow_exists(const tn_weight *weight, tn_flow_name name) {
    if (tn_flow_is_cheapest(name)) return has_trees(weight, place_of(name));
    switch (name) {
    case TN_FLOW_BIDIRECTIONAL:
        return weight->format != TN_DENSE && weight->format != TN_TTM;
    case TN_FLOW_BIDIRECTIONAL_PUBLISHED:
        return weight->format == TN_TT && weight->d == 3;
    default:
        return name < TN_FLOW_NAMES && (!tn_flow_is_training(name) || weight->format != TN_DENSE);
    }
}

/* A tree being written, one merge after the other. */
typedef struct writer {
    const tn_weight *weight;
    tn_tree *tree;
    uint32_t merges;
} writer;

/* Tensor 0 is X, the cores follow. */
static uint32_t core(uint32_t k) {
    return k + 1;
}

static uint32_t merge(writer *w, uint32_t a, uint32_t b) {
    w->tree->merge[w->merges] = (tn_merge){a, b};
    return w->tree->tensors + w->merges++;
}

/* Merges cores from, from+1, .., from+count-1 onto `tensor`, one after the other. */
static uint32_t merge_up(writer *w, uint32_t tensor, uint32_t start, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) tensor = merge(w, tensor, core(start + k));
    return tensor;
}

/* The same in the order from+count-1, .., from. */
static uint32_t merge_down(writer *w, uint32_t tensor, uint32_t start, uint32_t count) {
    for (uint32_t k = count; k > 0; k--) tensor = merge(w, tensor, core(start + k - 1));
    return tensor;
}

static void right_to_left(writer *w) {
    uint32_t d = w->weight->d, nodes = d - 1, cores = w->tree->tensors - 1, x = 0;
    switch (w->weight->format) {
    case TN_TUCKER:
    case TN_BLOCK_TERM:
        x = merge_down(w, x, d, d);
        x = merge(w, x, core(2 * d));
        merge_down(w, x, 0, d);
        break;
    case TN_HT: /* leaves 0..2d-1, then the inner nodes: output half, input half, root */
        x = merge_down(w, x, d, d);
        x = merge_up(w, x, 2 * d + nodes, nodes);
        x = merge(w, x, core(cores - 1));
        x = merge_down(w, x, 2 * d, nodes);
        merge_down(w, x, 0, d);
        break;
    default:
        merge_down(w, x, 0, cores);
    }
}

/* The half of a hierarchical Tucker tree over modes [low, high); *node is its first inner node. Each node is
 * merged with its left child, then with its right one. */
static uint32_t half_tree(writer *w, uint32_t low, uint32_t high, uint32_t *node) {
    if (high - low == 1) return core(low);
    uint32_t middle = low + (high - low + 1) / 2;
    uint32_t left = half_tree(w, low, middle, node), right = half_tree(w, middle, high, node);
    uint32_t own = core((*node)++);
    return merge(w, merge(w, own, left), right);
}

/* Both halves without X. */
static tn_status halves(writer *w, uint32_t *output, uint32_t *input, tn_error *error) {
    const tn_weight *weight = w->weight;
    uint32_t d = weight->d;
    if (weight->format == TN_HT) {
        uint32_t node = 2 * d;
        uint64_t rows = 0, columns = 0;
        TN_TRY(tn_weight_rows(weight, &rows, error));
        TN_TRY(tn_weight_columns(weight, &columns, error));
        *output = half_tree(w, 0, d, &node);
        *input = half_tree(w, d, 2 * d, &node);
        uint32_t *side = rows <= columns ? output : input;
        *side = merge(w, *side, core(node));
        return TN_OK;
    }
    bool has_core_tensor = weight->format == TN_TUCKER || weight->format == TN_BLOCK_TERM;
    *output = has_core_tensor ? merge_up(w, core(2 * d), 0, d) : merge_up(w, core(0), 1, d - 1);
    *input = merge_down(w, core(2 * d - 1), d, d - 1);
    return TN_OK;
}

static tn_status bidirectional(writer *w, tn_error *error) {
    uint32_t output = 0, input = 0;
    TN_TRY(halves(w, &output, &input, error));
    merge(w, merge(w, 0, input), output);
    return TN_OK;
}

/* The cheapest tree of the cores alone, then X. */
static tn_status rebuilt(writer *w, tn_arena *arena, tn_error *error) {
    tn_network matrix;
    tn_search_result best;
    uint32_t n = w->tree->tensors, whole = core(0);
    TN_TRY(tn_weight_matrix(w->weight, arena, &matrix, error));
    TN_TRY(tn_search(&matrix, NULL, arena, &best, error));
    for (uint32_t i = 0; i + 2 < n; i++) {
        /* Inputs move up by one for X, and merges with them. */
        tn_merge one = best.tree.merge[i];
        whole = merge(w, one.a + 1, one.b + 1);
    }
    merge(w, 0, whole);
    return TN_OK;
}

static tn_status write_tree(writer *w, tn_flow_name name, tn_arena *arena, tn_error *error) {
    switch (name) {
    case TN_FLOW_DENSE:
        return rebuilt(w, arena, error);
    case TN_FLOW_RIGHT_TO_LEFT:
        right_to_left(w);
        return TN_OK;
    default:
        return bidirectional(w, error);
    }
}

/* The optimal tree may be another one of as many MACs than the first of the list. */
static tn_status cheapest(const tn_network *network, uint64_t place, tn_arena *arena, tn_tree *tree,
                          tn_error *error) {
    tn_tree each[TN_CHEAPEST_MOST];
    tn_search_result best;
    uint32_t count, passed = 1;
    TN_TRY(tn_search(network, NULL, arena, &best, error));
    TN_TRY(tn_cheapest_trees(network, arena, each, &count, error));
    for (uint32_t i = 0; i < count; i++) {
        if (tn_tree_equal(&each[i], &best.tree) || ++passed < place) continue;
        *tree = each[i];
        return TN_OK;
    }
    return tn_fail(error, TN_OVERFLOW, "all but %" PRIu32 " trees take more than 2^64 multiply-adds", passed);
}

tn_status tn_flow_tree(const tn_weight *weight, uint64_t tokens, tn_flow_name name, tn_arena *arena,
                       tn_tree *tree, tn_error *error) {
    tn_network network;
    TN_TRY(tn_weight_forward(weight, tokens, arena, &network, error));
    if (!tn_flow_exists(weight, name))
        return tn_fail(error, TN_INPUT, "format %s with %" PRIu32 " factors per side has no flow %s%s",
                       tn_format_names[weight->format], weight->d,
                       name < TN_FLOW_NAMES ? tn_flow_names[name] : "",
                       name == TN_FLOW_BIDIRECTIONAL_PUBLISHED ? "; the publication gives it for tt with 3"
                                                               : "; right-to-left and optimal always exist");
    if (name == TN_FLOW_FASTEST)
        return tn_fail(
            error, TN_INPUT,
            "flow fastest is chosen by a device's prices of a whole step; name the flow itself here");
    if (tn_flow_is_training(name))
        return tn_fail(error, TN_INPUT, "flow %s is of a training step, not one tree", tn_flow_names[name]);
    if (name == TN_FLOW_OPTIMAL) {
        tn_search_result best;
        TN_TRY(tn_search(&network, NULL, arena, &best, error));
        *tree = best.tree;
        return TN_OK;
    }
    if (tn_flow_is_cheapest(name)) return cheapest(&network, place_of(name), arena, tree, error);
    writer w = {.weight = weight, .tree = tree};
    tree->tensors = network.tensors;
    TN_TRY(TN_NEW(arena, network.tensors, &tree->merge, error));
    TN_TRY(write_tree(&w, name, arena, error));
    return tn_tree_reorder(&network, tree, arena, error);
}
