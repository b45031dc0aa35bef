#include "hardware/gaps.h"

#include <stdbool.h>
#include <stdlib.h>

/* A node of a treap: ordered by end, then slot; a heap by rank. */
typedef struct tn_gap {
    uint32_t start, end, slot;
    const struct tn_gap *least; /* of the least slot in this subtree */
    struct tn_gap *left, *right;
} gap;

/* ---- treaps ---- */

/* Heap order, as good as random: equal gaps have equal ranks, so that a treap's form depends on nothing else.
 */
static uint64_t rank(const gap *node) {
    uint64_t mixed = ((uint64_t)node->end << 32 | node->slot) + UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static bool precedes(const gap *a, const gap *b) {
    return a->end != b->end ? a->end < b->end : a->slot < b->slot;
}

static const gap *lesser(const gap *a, const gap *b) {
    if (!a || !b) return a ? a : b;
    return a->slot < b->slot ? a : b;
}

static void settle(gap *node) {
    node->least = node;
    if (node->left) node->least = lesser(node->least, node->left->least);
    if (node->right) node->least = lesser(node->least, node->right->least);
}

static void split(gap *tree, const gap *at, gap **left, gap **right) {
    if (!tree) {
        *left = *right = NULL;
        return;
    }
    if (precedes(tree, at)) {
        split(tree->right, at, &tree->right, right);
        *left = tree;
    } else {
        split(tree->left, at, left, &tree->left);
        *right = tree;
    }
    settle(tree);
}

static gap *join(gap *left, gap *right) {
    if (!left || !right) return left ? left : right;
    gap *top = rank(left) > rank(right) ? left : right;
    if (top == left)
        left->right = join(left->right, right);
    else
        right->left = join(left, right->left);
    settle(top);
    return top;
}

static void insert(gap **tree, gap *node) {
    if (*tree && rank(*tree) >= rank(node)) {
        insert(precedes(node, *tree) ? &(*tree)->left : &(*tree)->right, node);
        settle(*tree);
        return;
    }
    split(*tree, node, &node->left, &node->right);
    settle(node);
    *tree = node;
}

/* The node of the treap that is equal to `like`, which is there. */
static gap *extract(gap **tree, const gap *like) {
    gap *at = *tree, *found;
    if (at->end == like->end && at->slot == like->slot) {
        *tree = join(at->left, at->right);
        return at;
    }
    found = extract(precedes(like, at) ? &at->left : &at->right, like);
    settle(at);
    return found;
}

/* The least slot of those that end at `last` or later. */
static const gap *least_from(const gap *tree, uint32_t last) {
    const gap *best = NULL;
    while (tree)
        if (tree->end < last) {
            tree = tree->right;
        } else {
            best = lesser(best, tree);
            if (tree->right) best = lesser(best, tree->right->least);
            tree = tree->left;
        }
    return best;
}

/* ---- the Fenwick tree over starts ---- */

/* How many starts are at `time` or before. */
static uint32_t starts_until(const tn_gaps *gaps, uint32_t time) {
    uint32_t low = 0, high = gaps->starts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gaps->start[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t lowest_bit(uint32_t number) {
    return number & (~number + 1);
}

static tn_status add(tn_gaps *gaps, uint32_t start, uint32_t end, uint32_t slot, tn_error *error) {
    for (uint32_t i = starts_until(gaps, start); i <= gaps->starts; i += lowest_bit(i)) {
        gap *node = gaps->spare;
        if (node)
            gaps->spare = node->left;
        else
            TN_TRY(tn_arena_alloc(gaps->arena, 1, sizeof *node, &node, error));
        *node = (gap){.start = start, .end = end, .slot = slot};
        insert(&gaps->before[i], node);
    }
    return TN_OK;
}

static void drop(tn_gaps *gaps, const gap *like) {
    for (uint32_t i = starts_until(gaps, like->start); i <= gaps->starts; i += lowest_bit(i)) {
        gap *node = extract(&gaps->before[i], like);
        node->left = gaps->spare;
        gaps->spare = node;
    }
}

static const gap *find(const tn_gaps *gaps, uint32_t first, uint32_t last) {
    const gap *best = NULL;
    for (uint32_t i = starts_until(gaps, first); i > 0; i -= lowest_bit(i))
        best = lesser(best, least_from(gaps->before[i], last));
    return best;
}

/* ---- the whole ---- */

static int ascending(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

tn_status tn_gaps_make(uint32_t *start, uint32_t starts, tn_arena *arena, tn_gaps *gaps, tn_error *error) {
    uint32_t *own;
    *gaps = (tn_gaps){.arena = arena};
    TN_TRY(tn_arena_alloc(arena, (size_t)starts + 1, sizeof *own, &own, error));
    qsort(start, starts, sizeof *start, ascending);
    gaps->start = own;
    own[gaps->starts++] = 0; /* a new slot is free from the first time on */
    for (uint32_t i = 0; i < starts; i++)
        if (start[i] != own[gaps->starts - 1]) own[gaps->starts++] = start[i];
    return tn_arena_alloc(arena, (size_t)gaps->starts + 1, sizeof(gap *), &gaps->before, error);
}

tn_status tn_gaps_take(tn_gaps *gaps, uint32_t first, uint32_t last, uint32_t *slot, tn_error *error) {
    const gap *found = find(gaps, first, last);
    gap taken = {.start = 0, .end = UINT32_MAX};
    if (found) {
        taken = *found;
        drop(gaps, &taken);
    } else {
        taken.slot = gaps->slots++;
    }
    *slot = taken.slot;
    if (taken.start < first) TN_TRY(add(gaps, taken.start, first - 1, taken.slot, error));
    if (last < taken.end) TN_TRY(add(gaps, last + 1, taken.end, taken.slot, error));
    return TN_OK;
}
