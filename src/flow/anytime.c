#include "flow/anytime.h"

#include "base/interrupt.h"
#include "base/random.h"
#include "flow/exact.h"
#include "flow/mutable_tree.h"
#include "flow/problem.h"

#include <math.h>
#include <string.h>

enum { NOISE_STEPS = 16, PARTS_MOST = 8, PASSES_MOST = 12, ROTATIONS_PER_TENSOR = 200 };
static const uint64_t PART_WORK = 1000000;

typedef struct climber {
    const tn_anytime_options *options;
    tn_mutable_tree sketch;
    tn_arena scratch; /* reset for every subtree */
    tn_exact_options exact;
    tn_pricing elements;
    uint64_t random;
    tn_error *error;
} climber;

static uint64_t price_elements(void *user, const tn_product_shape *shape) {
    (void)user;
    return tn_saturating_mul(tn_saturating_mul(shape->batch, shape->rows), shape->columns);
}

/* ---- subtree reconfiguration ---- */

/* A subtree as a small network: its parts are nodes of the sketch, its inner nodes are free to be rearranged.
 */
typedef struct part_tree {
    uint32_t parts, part[PARTS_MOST];
    uint32_t inners, inner[PARTS_MOST]; /* children before parents; the last is the subtree's top */
} part_tree;

/* Opens the largest inner node of the front until there are enough parts. */
static void open_parts(const tn_mutable_tree *sketch, uint32_t top, part_tree *tree) {
    uint32_t n = sketch->network->tensors;
    *tree = (part_tree){.parts = 1, .part = {top}};
    while (tree->parts < PARTS_MOST) {
        uint32_t place = PARTS_MOST;
        double largest = -1;
        for (uint32_t i = 0; i < tree->parts; i++) {
            if (tree->part[i] < n) continue;
            double elements = tn_mutable_tree_elements(sketch, sketch->node[tree->part[i]].open);
            if (elements <= largest) continue;
            largest = elements;
            place = i;
        }
        if (place == PARTS_MOST) break;
        uint32_t opened = tree->part[place];
        tree->inner[tree->inners++] = opened;
        tree->part[place] = sketch->node[opened].child[0];
        tree->part[tree->parts++] = sketch->node[opened].child[1];
    }
    for (uint32_t i = 0; i < tree->inners / 2; i++) {
        uint32_t swap = tree->inner[i];
        tree->inner[i] = tree->inner[tree->inners - 1 - i];
        tree->inner[tree->inners - 1 - i] = swap;
    }
}

static tn_status list_bits(const tn_mutable_tree *sketch, const uint64_t *bits, tn_arena *arena,
                           tn_indices *list, tn_error *error) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < sketch->words; w++) count += (uint32_t)__builtin_popcountll(bits[w]);
    TN_TRY(TN_NEW(arena, count, &list->index, error));
    list->count = 0;
    for (uint32_t w = 0; w < sketch->words; w++)
        for (uint64_t rest = bits[w]; rest; rest &= rest - 1)
            list->index[list->count++] = 64 * w + (uint32_t)__builtin_ctzll(rest);
    return TN_OK;
}

/* *fits false where the parts have too many indices for a problem. */
static tn_status part_problem(climber *c, const part_tree *tree, tn_problem *problem, bool *fits) {
    tn_network network = *c->sketch.network;
    uint32_t top = tree->inner[tree->inners - 1];
    network.tensors = tree->parts;
    TN_TRY(TN_NEW(&c->scratch, tree->parts, &network.tensor, c->error));
    for (uint32_t i = 0; i < tree->parts; i++)
        TN_TRY(list_bits(&c->sketch, c->sketch.node[tree->part[i]].open, &c->scratch, &network.tensor[i],
                         c->error));
    TN_TRY(list_bits(&c->sketch, c->sketch.node[top].open, &c->scratch, &network.output, c->error));
    *fits = tn_problem_of(&network, c->options->no_outer, problem);
    return TN_OK;
}

/* The subtree as it stands, in the SSA numbering of its parts. */
static void present_merges(const tn_mutable_tree *sketch, const part_tree *tree, tn_merge *merge) {
    for (uint32_t i = 0; i < tree->inners; i++) {
        uint32_t pair[2];
        for (int side = 0; side < 2; side++) {
            uint32_t child = sketch->node[tree->inner[i]].child[side];
            for (uint32_t p = 0; p < tree->parts; p++)
                if (tree->part[p] == child) pair[side] = p;
            for (uint32_t j = 0; j < i; j++)
                if (tree->inner[j] == child) pair[side] = tree->parts + j;
        }
        merge[i] = (tn_merge){pair[0], pair[1]};
    }
}

/* Puts the merges in place of the subtree. */
static void rearrange(tn_mutable_tree *sketch, const part_tree *tree, const tn_merge *merge) {
    uint32_t top = tree->inner[tree->inners - 1], set[2 * PARTS_MOST];
    for (uint32_t p = 0; p < tree->parts; p++) set[p] = (uint32_t)1 << p;
    for (uint32_t i = 0; i < tree->inners; i++) {
        const uint32_t pair[2] = {merge[i].a, merge[i].b};
        uint32_t number = tree->inner[i];
        set[tree->parts + i] = set[pair[0]] | set[pair[1]];
        for (int side = 0; side < 2; side++) {
            uint32_t child =
                pair[side] < tree->parts ? tree->part[pair[side]] : tree->inner[pair[side] - tree->parts];
            sketch->node[number].child[side] = child;
            sketch->node[child].parent = number;
        }
        if (number == top) break;
        for (uint32_t w = 0; w < sketch->words; w++) {
            uint64_t inside = 0, outside = sketch->node[top].open[w];
            for (uint32_t p = 0; p < tree->parts; p++)
                *(set[tree->parts + i] >> p & 1 ? &inside : &outside) |= sketch->node[tree->part[p]].open[w];
            sketch->node[number].open[w] = inside & outside;
        }
    }
}

static tn_status reconfigure_at(climber *c, uint32_t top, bool *changed) {
    part_tree tree;
    tn_problem problem;
    tn_exact_result best;
    tn_merge merge[PARTS_MOST];
    bool fits = false;
    open_parts(&c->sketch, top, &tree);
    if (tree.parts < 3) return TN_OK;
    tn_arena_reset(&c->scratch);
    TN_TRY(part_problem(c, &tree, &problem, &fits));
    if (!fits) return TN_OK;
    present_merges(&c->sketch, &tree, merge);
    uint64_t present = tn_exact_cost_of(&problem, &c->exact, merge);
    TN_TRY(tn_exact_search(&problem, &c->exact, &c->scratch, merge, &best, c->error));
    if (!best.found || best.cost >= present) return TN_OK;
    rearrange(&c->sketch, &tree, merge);
    *changed = true;
    return TN_OK;
}

/* Nodes below `top` first. */
static tn_status reconfigure_below(climber *c, uint32_t top, bool *changed) {
    if (top < c->sketch.network->tensors || tn_interrupted()) return TN_OK;
    for (int side = 0; side < 2; side++)
        TN_TRY(reconfigure_below(c, c->sketch.node[top].child[side], changed));
    return reconfigure_at(c, top, changed);
}

static tn_status reconfigure(climber *c) {
    bool changed = true;
    for (int pass = 0; changed && pass < PASSES_MOST; pass++) {
        changed = false;
        TN_TRY(reconfigure_below(c, c->sketch.root, &changed));
    }
    return TN_OK;
}

/* ---- annealing ---- */

static double node_cost(const climber *c, uint32_t node) {
    if (c->options->goal == TN_ANYTIME_MACS) return tn_mutable_tree_macs(&c->sketch, node);
    return tn_mutable_tree_elements(&c->sketch, c->sketch.node[node].open);
}

static double whole_cost(const climber *c) {
    uint32_t n = c->sketch.network->tensors;
    double sum = 0;
    for (uint32_t v = n; v < 2 * n - 1; v++) sum += node_cost(c, v);
    return sum;
}

/* One random rotation, kept or undone; returns the change of cost. */
static double try_rotation(climber *c, double temperature) {
    tn_mutable_tree *sketch = &c->sketch;
    uint32_t n = sketch->network->tensors, node = n + tn_splitmix_below(&c->random, n - 1);
    int inner_side = (int)tn_splitmix_below(&c->random, 2), kept_side = (int)tn_splitmix_below(&c->random, 2);
    uint32_t inner = sketch->node[node].child[inner_side];
    if (inner < n) return 0;
    double before = node_cost(c, node) + node_cost(c, inner);
    tn_mutable_tree_rotate(sketch, node, inner_side, kept_side);
    const tn_mutable_tree_node *made = &sketch->node[inner];
    bool forbidden = c->options->no_outer &&
                     (!tn_mutable_tree_share(sketch, sketch->node[made->child[0]].open,
                                             sketch->node[made->child[1]].open) ||
                      !tn_mutable_tree_share(sketch, sketch->node[sketch->node[node].child[0]].open,
                                             sketch->node[sketch->node[node].child[1]].open));
    double change = node_cost(c, node) + node_cost(c, inner) - before;
    if (!forbidden && (change <= 0 || tn_splitmix_unit(&c->random) < exp(-change / temperature)))
        return change;
    tn_mutable_tree_rotate(sketch, node, inner_side, kept_side);
    return 0;
}

/* The temperature falls from a tenth of the cost to a thousandth of it. */
static void anneal(climber *c) {
    uint32_t rotations = ROTATIONS_PER_TENSOR * c->sketch.network->tensors;
    double cost = whole_cost(c);
    if (!isfinite(cost)) return;
    for (uint32_t i = 0; i < rotations && !tn_interrupted(); i++)
        cost += try_rotation(c, cost * 0.1 * exp(-4.6 * i / rotations));
}

/* ---- rounds ---- */

static tn_status start_round(climber *c, uint64_t round, tn_tree *tree) {
    double noise = 0.1 * (double)(round % NOISE_STEPS);
    tn_arena_reset(&c->scratch);
    TN_TRY(
        tn_greedy(&c->sketch, c->options->no_outer, noise, &c->random, &c->scratch, tree->merge, c->error));
    return tn_mutable_tree_load(&c->sketch, tree, &c->scratch, c->error);
}

static tn_status play_round(climber *c, uint64_t round, tn_tree *tree, tn_anytime_visitor visit, void *user) {
    TN_TRY(start_round(c, round, tree));
    TN_TRY(reconfigure(c));
    tn_mutable_tree_store(&c->sketch, tree->merge);
    TN_TRY(visit(user, tree, c->error));
    if (c->options->goal == TN_ANYTIME_PRICE) return TN_OK; /* a rotation's price is not known cheaply */
    anneal(c);
    TN_TRY(reconfigure(c));
    tn_mutable_tree_store(&c->sketch, tree->merge);
    return visit(user, tree, c->error);
}

static tn_status play(climber *c, const tn_network *network, tn_arena *arena, tn_anytime_visitor visit,
                      void *user) {
    tn_tree tree = {network->tensors, NULL};
    TN_TRY(tn_mutable_tree_new(network, arena, &c->sketch, c->error));
    TN_TRY(TN_NEW(arena, tree.tensors, &tree.merge, c->error));
    for (uint64_t round = 0; round < c->options->rounds; round++) {
        if (round && tn_interrupted()) break;
        TN_TRY(play_round(c, round, &tree, visit, user));
    }
    return TN_OK;
}

tn_status tn_anytime_search(const tn_network *network, const tn_anytime_options *options,
                            tn_anytime_visitor visit, void *user, tn_error *error) {
    tn_arena arena = {0};
    climber c = {.options = options, .random = options->seed, .error = error};
    c.elements = (tn_pricing){.price = price_elements};
    c.exact = (tn_exact_options){.no_outer = options->no_outer, .work_most = PART_WORK};
    if (options->goal == TN_ANYTIME_ELEMENTS) c.exact.pricing = &c.elements;
    if (options->goal == TN_ANYTIME_PRICE) c.exact.pricing = options->pricing;
    tn_status status = play(&c, network, &arena, visit, user);
    tn_arena_free(&c.scratch);
    tn_arena_free(&arena);
    return status;
}
