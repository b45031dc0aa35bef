#include "memory/pool.h"

#include <stdbool.h>
#include <stdlib.h>

/* A node of a treap: ordered by end, then slot; a heap by rank. */
typedef struct tn_gap {
    uint64_t rank;
    uint32_t start, end, slot;
    const struct tn_gap *least; /* of the least slot in this subtree */
    struct tn_gap *left, *right;
} gap;

/* ---- treaps ---- */

/* Heap order, as good as random: equal gaps have equal ranks, so that a treap's form depends on nothing else.
 */
static uint64_t rank_of(uint32_t end, uint32_t slot) {
    uint64_t mixed = ((uint64_t)end << 32 | slot) + UINT64_C(0x9e3779b97f4a7c15);
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

static void split(gap *tree, const gap *node, gap **left, gap **right) {
    if (!tree) {
        *left = *right = NULL;
        return;
    }
    if (precedes(tree, node)) {
        split(tree->right, node, &tree->right, right);
        *left = tree;
    } else {
        split(tree->left, node, left, &tree->left);
        *right = tree;
    }
    settle(tree);
}

static gap *join(gap *left, gap *right) {
    if (!left || !right) return left ? left : right;
    gap *top = left->rank > right->rank ? left : right;
    if (top == left)
        left->right = join(left->right, right);
    else
        right->left = join(left, right->left);
    settle(top);
    return top;
}

static void insert(gap **tree, gap *node) {
    while (*tree && (*tree)->rank >= node->rank) {
        (*tree)->least = lesser((*tree)->least, node);
        tree = precedes(node, *tree) ? &(*tree)->left : &(*tree)->right;
    }
    split(*tree, node, &node->left, &node->right);
    settle(node);
    *tree = node;
}

/* The node of the treap that is equal to `like`, which is there. */
static gap *extract(gap **tree, const gap *like) {
    gap *node = *tree, *found;
    if (node->end == like->end && node->slot == like->slot) {
        *tree = join(node->left, node->right);
        return node;
    }
    found = extract(precedes(like, node) ? &node->left : &node->right, like);
    settle(node);
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
    const uint64_t rank = rank_of(end, slot);
    for (uint32_t i = starts_until(gaps, start); i <= gaps->starts; i += lowest_bit(i)) {
        gap *node = gaps->spare;
        if (node)
            gaps->spare = node->left;
        else
            TN_TRY(TN_NEW(gaps->arena, 1, &node, error));
        *node = (gap){.rank = rank, .start = start, .end = end, .slot = slot};
        insert(&gaps->tree[i], node);
    }
    return TN_OK;
}

static void drop(tn_gaps *gaps, const gap *like) {
    for (uint32_t i = starts_until(gaps, like->start); i <= gaps->starts; i += lowest_bit(i)) {
        gap *node = extract(&gaps->tree[i], like);
        node->left = gaps->spare;
        gaps->spare = node;
    }
}

static const gap *find(const tn_gaps *gaps, uint32_t first, uint32_t last) {
    const gap *best = NULL;
    for (uint32_t i = starts_until(gaps, first); i > 0; i -= lowest_bit(i))
        best = lesser(best, least_from(gaps->tree[i], last));
    return best;
}

/* ---- the whole ---- */

static int ascending(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* No slots. `start`, in any order and changed: where gaps may begin, which is behind every interval to be
 * taken but those that last to UINT32_MAX. */
static tn_status gaps_make(uint32_t *start, uint32_t starts, tn_arena *arena, tn_gaps *gaps,
                           tn_error *error) {
    uint32_t *own;
    *gaps = (tn_gaps){.arena = arena};
    TN_TRY(TN_NEW(arena, (size_t)starts + 1, &own, error));
    qsort(start, starts, sizeof *start, ascending);
    gaps->start = own;
    own[gaps->starts++] = 0; /* a new slot is free from the first time on */
    for (uint32_t i = 0; i < starts; i++)
        if (start[i] != own[gaps->starts - 1]) own[gaps->starts++] = start[i];
    return tn_arena_alloc(arena, (size_t)gaps->starts + 1, sizeof(gap *), &gaps->tree, error);
}

/* Takes first..last (first <= last) of the first slot that is free then, or of a new slot behind the others.
 */
static tn_status gaps_take(tn_gaps *gaps, uint32_t first, uint32_t last, uint32_t *slot, tn_error *error) {
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

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    uint64_t elements;
    uint32_t first, array, place; /* place: in the caller's list */
} entry;

/* Largest first; of equal ones that which lives first, for which dealing to the first free slot needs the
 * fewest (interval graph colouring). */
static int by_size(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->elements != b->elements) return a->elements > b->elements ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->array < b->array ? -1 : a->array > b->array;
}

uint32_t tn_array_last(const tn_step *step, uint32_t array) {
    const uint32_t last = step->array[array].last;
    const bool answers =
        step->inference && last < step->operations && step->operation[last].writes[0] == array;
    return answers ? step->operations - 1 : last;
}

static tn_status deal(const tn_step *step, const uint32_t *owner, uint32_t count, tn_arena *scratch,
                      tn_pool *pool, tn_error *error) {
    uint32_t *start, starts = 0;
    entry *entries;
    tn_gaps gaps;
    TN_TRY(TN_NEW(scratch, count, &entries, error));
    TN_TRY(TN_NEW(scratch, count, &start, error));
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (entry){step->array[owner[i]].elements, step->array[owner[i]].first, owner[i], i};
    qsort(entries, count, sizeof *entries, by_size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = tn_array_last(step, entries[i].array);
        if (last < UINT32_MAX) start[starts++] = last + 1;
    }
    TN_TRY(gaps_make(start, starts, scratch, &gaps, error));
    for (uint32_t i = 0; i < count; i++) {
        const tn_array *array = &step->array[entries[i].array];
        uint32_t slot;
        TN_TRY(gaps_take(&gaps, array->first, tn_array_last(step, entries[i].array), &slot, error));
        if (slot == pool->slots) pool->slot[pool->slots++] = (tn_slot){entries[i].array, 0, array->elements};
        pool->slot_of[entries[i].place] = slot;
    }
    return TN_OK;
}

/* Of each slot the earlier slots that an operation reads together with it, one behind the other: those of slot
 * s are other[begin[s]] .. other[begin[s + 1] - 1], some more than once. */
typedef struct {
    size_t *begin;
    uint32_t *other;
} conflicts;

typedef void visit(conflicts *graph, uint32_t slot, uint32_t earlier);

static void count_conflict(conflicts *graph, uint32_t slot, uint32_t earlier) {
    (void)earlier;
    graph->begin[slot]++;
}

/* Fills from the end, so that begin[slot], which was the end, becomes the begin. */
static void put_conflict(conflicts *graph, uint32_t slot, uint32_t earlier) {
    graph->other[--graph->begin[slot]] = earlier;
}

/* slot_of_array: [step->arrays], NONE outside. */
static void each_pair(const uint32_t *array, uint32_t count, const uint32_t *slot_of_array, visit *call,
                      conflicts *graph) {
    for (uint32_t j = 0; j < count; j++)
        for (uint32_t k = 0; k < count; k++) {
            uint32_t a = slot_of_array[array[j]], b = slot_of_array[array[k]];
            if (a != NONE && b != NONE && b < a) call(graph, a, b);
        }
}

/* What is read at once; and of a product, what is written at once: a vector kernel writes in turn. */
static void each_conflict(const tn_step *step, const uint32_t *slot_of_array, visit *call, conflicts *graph) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        each_pair(operation->reads, operation->read_count, slot_of_array, call, graph);
        if (operation->kind == TN_OP_PRODUCT)
            each_pair(operation->writes, operation->write_count, slot_of_array, call, graph);
    }
}

static tn_status find_conflicts(const tn_step *step, const uint32_t *slot_of_array, uint32_t slots,
                                tn_arena *arena, conflicts *found, tn_error *error) {
    TN_TRY(TN_NEW(arena, (size_t)slots + 1, &found->begin, error));
    each_conflict(step, slot_of_array, count_conflict, found);
    for (uint32_t i = 0; i < slots; i++) found->begin[i + 1] += found->begin[i];
    TN_TRY(TN_NEW(arena, found->begin[slots], &found->other, error));
    each_conflict(step, slot_of_array, put_conflict, found);
    return TN_OK;
}

/* Each slot goes to the first memory that holds no slot it conflicts with. `holder` [slots], zeroed: one more
 * than the slot that last found a conflict in the memory. */
static void colour(tn_pool *pool, const conflicts *graph, uint32_t *holder) {
    for (uint32_t i = 0; i < pool->slots; i++) {
        uint32_t memory = 0;
        for (size_t j = graph->begin[i]; j < graph->begin[i + 1]; j++)
            holder[pool->slot[graph->other[j]].memory] = i + 1;
        while (memory < pool->memories && holder[memory] == i + 1) memory++;
        pool->slot[i].memory = memory;
        if (memory == pool->memories) pool->memories++;
    }
}

static tn_status assign_memories(const tn_step *step, const uint32_t *array, uint32_t count,
                                 tn_arena *scratch, tn_pool *pool, tn_error *error) {
    uint32_t *slot_of_array, *holder;
    conflicts found;
    TN_TRY(TN_NEW(scratch, step->arrays, &slot_of_array, error));
    TN_TRY(TN_NEW(scratch, pool->slots, &holder, error));
    for (uint32_t i = 0; i < step->arrays; i++) slot_of_array[i] = NONE;
    for (uint32_t i = 0; i < count; i++) slot_of_array[array[i]] = pool->slot_of[i];
    TN_TRY(find_conflicts(step, slot_of_array, pool->slots, scratch, &found, error));
    colour(pool, &found, holder);
    return TN_OK;
}

tn_status tn_pool_deal(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error) {
    tn_arena scratch = {0}; /* gaps take many times what the slots do */
    *pool = (tn_pool){0};
    TN_TRY(TN_NEW(arena, count, &pool->slot, error));
    TN_TRY(TN_NEW(arena, count, &pool->slot_of, error));
    tn_status status = deal(step, array, count, &scratch, pool, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_pool_make(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error) {
    tn_arena scratch = {0};
    TN_TRY(tn_pool_deal(step, array, count, arena, pool, error));
    tn_status status = assign_memories(step, array, count, &scratch, pool, error);
    tn_arena_free(&scratch);
    return status;
}
