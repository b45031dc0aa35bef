#include "front/archive.h"

#include "base/memory.h"
#include "front/knee.h"
#include "front/staircase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_POINTS = 32, CHILDREN = 4 };
static const uint32_t NONE = UINT32_MAX;

/* The points of a leaf, [objective][point]. */
typedef struct tn_archive_block {
    double value[TN_OBJECTIVES_MOST][BLOCK_POINTS];
    uint64_t id[BLOCK_POINTS];
    uint32_t next_free;
} block;

/* Bounds hold for all points below; they are not tightened when points leave. */
typedef struct tn_archive_node {
    double least[TN_OBJECTIVES_MOST], most[TN_OBJECTIVES_MOST];
    size_t count;         /* points of a leaf */
    uint32_t block;       /* of a leaf; NONE: it has children */
    uint32_t child, next; /* the first child; the next of the same parent, or of the free nodes */
} node;

void tn_archive_begin(tn_archive *archive, size_t objectives) {
    *archive = (tn_archive){
        .objectives = objectives, .root = NONE, .free_node = NONE, .free_block = NONE, .last_hit = NONE};
}

void tn_archive_free(tn_archive *archive) {
    tn_free(archive->node);
    tn_free(archive->block);
    tn_archive_begin(archive, archive->objectives);
}

void tn_archive_clear(tn_archive *archive) {
    archive->count = archive->nodes = archive->blocks = 0;
    archive->root = archive->free_node = archive->free_block = archive->last_hit = NONE;
}

/* ---- memory ---- */

static tn_status take_block(tn_archive *archive, uint32_t *taken, tn_error *error) {
    *taken = archive->free_block;
    if (*taken != NONE) {
        archive->free_block = archive->block[*taken].next_free;
        return TN_OK;
    }
    TN_TRY(tn_grow(&archive->block, &archive->block_capacity, archive->blocks + 1, sizeof(block), error));
    *taken = (uint32_t)archive->blocks++;
    return TN_OK;
}

static tn_status take_node(tn_archive *archive, uint32_t *taken, tn_error *error) {
    *taken = archive->free_node;
    if (*taken != NONE) {
        archive->free_node = archive->node[*taken].next;
    } else {
        TN_TRY(tn_grow(&archive->node, &archive->node_capacity, archive->nodes + 1, sizeof(node), error));
        *taken = (uint32_t)archive->nodes++;
    }
    archive->node[*taken] = (node){.block = NONE, .child = NONE, .next = NONE};
    return TN_OK;
}

/* Gives back the node and all below it. */
static void drop(tn_archive *archive, uint32_t index) {
    node *entry = &archive->node[index];
    for (uint32_t child = entry->child, next; child != NONE; child = next) {
        next = archive->node[child].next;
        drop(archive, child);
    }
    if (entry->block != NONE) {
        archive->count -= entry->count;
        archive->block[entry->block].next_free = archive->free_block;
        archive->free_block = entry->block;
        if (archive->last_hit == index) archive->last_hit = NONE;
    }
    *entry = (node){.block = NONE, .child = NONE, .next = archive->free_node};
    archive->free_node = index;
}

/* ---- comparisons ---- */

static bool at_most(const double *a, const double *b, size_t objectives) {
    for (size_t i = 0; i < objectives; i++)
        if (a[i] > b[i]) return false;
    return true;
}

/* below[i]: point i of the block is at most `value` everywhere; over[i]: at least. Without branches, so that many
 * points are compared at once. */
static void compare(const block *chunk, size_t count, const double *value, size_t objectives,
                    unsigned char *below, unsigned char *grid) {
    memset(below, 1, count);
    memset(grid, 1, count);
    for (size_t k = 0; k < objectives; k++)
        for (size_t i = 0; i < count; i++) {
            below[i] &= chunk->value[k][i] <= value[k];
            grid[i] &= chunk->value[k][i] >= value[k];
        }
}

/* ---- asking ---- */

/* A point of the leaf that is at most `value` everywhere; BLOCK_POINTS: none. */
static size_t covering(const tn_archive *archive, const node *leaf, const double *value) {
    unsigned char below[BLOCK_POINTS], grid[BLOCK_POINTS];
    compare(&archive->block[leaf->block], leaf->count, value, archive->objectives, below, grid);
    for (size_t i = 0; i < leaf->count; i++)
        if (below[i]) return i;
    return BLOCK_POINTS;
}

/* The leaf and point below the node that are at most `value` everywhere; false: there is none. */
static bool find(const tn_archive *archive, uint32_t index, const double *value, uint32_t *leaf,
                 size_t *point) {
    const node *entry = &archive->node[index];
    if (!at_most(entry->least, value, archive->objectives)) return false;
    if (entry->block != NONE) {
        *leaf = index;
        *point = covering(archive, entry, value);
        return *point < BLOCK_POINTS;
    }
    for (uint32_t child = entry->child; child != NONE; child = archive->node[child].next)
        if (find(archive, child, value, leaf, point)) return true;
    return false;
}

static bool find_covering(tn_archive *archive, const double *value, uint32_t *leaf, size_t *point) {
    *leaf = archive->last_hit;
    if (*leaf != NONE) {
        *point = covering(archive, &archive->node[*leaf], value);
        if (*point < BLOCK_POINTS) return true;
    }
    if (archive->root == NONE || !find(archive, archive->root, value, leaf, point)) return false;
    archive->last_hit = *leaf;
    return true;
}

bool tn_archive_covers(tn_archive *archive, const double *value) {
    uint32_t leaf;
    size_t point;
    return find_covering(archive, value, &leaf, &point);
}

/* Lowers *least to the k-th value of every point below the node that is at most `value` everywhere else. */
static void lower_threshold(const tn_archive *archive, uint32_t index, const double *value, size_t k,
                            double *least) {
    const node *entry = &archive->node[index];
    double highest[TN_OBJECTIVES_MOST];
    memcpy(highest, value, archive->objectives * sizeof *highest);
    highest[k] = *least;
    if (!at_most(entry->least, highest, archive->objectives)) return;
    for (uint32_t child = entry->child; child != NONE; child = archive->node[child].next)
        lower_threshold(archive, child, value, k, least);
    if (entry->block == NONE) return;
    unsigned char below[BLOCK_POINTS], grid[BLOCK_POINTS];
    const block *chunk = &archive->block[entry->block];
    compare(chunk, entry->count, highest, archive->objectives, below, grid);
    for (size_t i = 0; i < entry->count; i++)
        if (below[i]) *least = fmin(*least, chunk->value[k][i]);
}

double tn_archive_threshold(const tn_archive *archive, const double *value, size_t k) {
    double least = INFINITY;
    if (archive->root != NONE) lower_threshold(archive, archive->root, value, k, &least);
    return least;
}

/* ---- leaving ---- */

static void drop_of_leaf(tn_archive *archive, node *leaf, const double *value) {
    unsigned char below[BLOCK_POINTS], grid[BLOCK_POINTS];
    block *chunk = &archive->block[leaf->block];
    size_t kept = 0, count = leaf->count;
    compare(chunk, count, value, archive->objectives, below, grid);
    for (size_t i = 0; i < count; i++) {
        if (grid[i]) continue;
        if (kept != i) {
            for (size_t k = 0; k < archive->objectives; k++) chunk->value[k][kept] = chunk->value[k][i];
            chunk->id[kept] = chunk->id[i];
        }
        kept++;
    }
    archive->count -= count - kept;
    leaf->count = kept;
}

static bool is_empty(const node *entry) {
    return entry->block == NONE ? entry->child == NONE : entry->count == 0;
}

/* Drops the points below the node that `value` is at most everywhere. */
static void drop_dominated(tn_archive *archive, uint32_t index, const double *value) {
    node *entry = &archive->node[index];
    if (entry->block != NONE) {
        drop_of_leaf(archive, entry, value);
        return;
    }
    for (uint32_t child = entry->child, before = NONE, next; child != NONE; child = next) {
        node *below = &archive->node[child];
        next = below->next;
        if (at_most(value, below->most, archive->objectives)) {
            bool all = at_most(value, below->least, archive->objectives);
            if (!all) drop_dominated(archive, child, value);
            if (all || is_empty(below)) {
                *(before == NONE ? &entry->child : &archive->node[before].next) = next;
                drop(archive, child);
                continue;
            }
        }
        before = child;
    }
}

/* ---- entering ---- */

static void widen(node *entry, const double *value, size_t objectives, bool first) {
    for (size_t k = 0; k < objectives; k++) {
        if (first || value[k] < entry->least[k]) entry->least[k] = value[k];
        if (first || value[k] > entry->most[k]) entry->most[k] = value[k];
    }
}

static void put(tn_archive *archive, node *leaf, const double *value, uint64_t id) {
    block *chunk = &archive->block[leaf->block];
    widen(leaf, value, archive->objectives, leaf->count == 0);
    for (size_t k = 0; k < archive->objectives; k++) chunk->value[k][leaf->count] = value[k];
    chunk->id[leaf->count++] = id;
}

static tn_status new_leaf(tn_archive *archive, uint32_t *entry, tn_error *error) {
    uint32_t taken;
    TN_TRY(take_node(archive, entry, error));
    tn_status status = take_block(archive, &taken, error);
    if (status == TN_OK) {
        archive->node[*entry].block = taken;
        return TN_OK;
    }
    drop(archive, *entry);
    return status;
}

/* Squared distance in units of the extents of `scale`. */
static double distance(const double *a, const double *b, const node *scale, size_t objectives) {
    double sum = 0;
    for (size_t k = 0; k < objectives; k++) {
        double extent = scale->most[k] - scale->least[k], apart = extent > 0 ? (a[k] - b[k]) / extent : 0;
        sum += apart * apart;
    }
    return sum;
}

static void point_of(const block *chunk, size_t i, size_t objectives, double *value) {
    for (size_t k = 0; k < objectives; k++) value[k] = chunk->value[k][i];
}

/* Points that are far from each other, to begin children with: the first, then always the one farthest from those
 * taken. */
static void choose_seeds(const block *chunk, const node *entry, size_t objectives, size_t seed[CHILDREN]) {
    double nearest[BLOCK_POINTS], a[TN_OBJECTIVES_MOST], b[TN_OBJECTIVES_MOST];
    for (size_t i = 0; i < BLOCK_POINTS; i++) nearest[i] = INFINITY;
    seed[0] = 0;
    for (size_t c = 1; c < CHILDREN; c++) {
        point_of(chunk, seed[c - 1], objectives, a);
        seed[c] = 0;
        for (size_t i = 0; i < BLOCK_POINTS; i++) {
            point_of(chunk, i, objectives, b);
            nearest[i] = fmin(nearest[i], distance(a, b, entry, objectives));
            if (nearest[i] > nearest[seed[c]]) seed[c] = i;
        }
    }
}

/* Turns a full leaf into a node with CHILDREN leaves. */
static tn_status split(tn_archive *archive, uint32_t index, tn_error *error) {
    const size_t objectives = archive->objectives;
    uint32_t child[CHILDREN];
    size_t seed[CHILDREN];
    double point[TN_OBJECTIVES_MOST], centre[CHILDREN][TN_OBJECTIVES_MOST];
    for (size_t c = 0; c < CHILDREN; c++) {
        tn_status status = new_leaf(archive, &child[c], error);
        if (status == TN_OK) continue;
        while (c > 0) drop(archive, child[--c]);
        return status;
    }
    node *entry = &archive->node[index];
    const block whole = archive->block[entry->block];
    choose_seeds(&whole, entry, objectives, seed);
    for (size_t c = 0; c < CHILDREN; c++) point_of(&whole, seed[c], objectives, centre[c]);
    for (size_t i = 0; i < BLOCK_POINTS; i++) {
        size_t best = 0;
        double least = INFINITY;
        point_of(&whole, i, objectives, point);
        for (size_t c = 0; c < CHILDREN; c++) {
            double apart = distance(point, centre[c], entry, objectives);
            if (apart >= least) continue;
            least = apart;
            best = c;
        }
        put(archive, &archive->node[child[best]], point, whole.id[i]);
    }
    archive->block[entry->block].next_free = archive->free_block;
    archive->free_block = entry->block;
    entry->block = NONE;
    entry->count = 0;
    for (size_t c = CHILDREN; c-- > 0;) {
        if (archive->node[child[c]].count == 0) {
            drop(archive, child[c]);
            continue;
        }
        archive->node[child[c]].next = entry->child;
        entry->child = child[c];
    }
    return TN_OK;
}

/* The child whose middle is nearest. */
static uint32_t choose_child(const tn_archive *archive, const node *entry, const double *value) {
    uint32_t best = entry->child;
    double least = INFINITY, middle[TN_OBJECTIVES_MOST];
    for (uint32_t index = entry->child; index != NONE; index = archive->node[index].next) {
        const node *child = &archive->node[index];
        for (size_t k = 0; k < archive->objectives; k++) middle[k] = (child->least[k] + child->most[k]) / 2;
        double apart = distance(value, middle, entry, archive->objectives);
        if (apart >= least) continue;
        least = apart;
        best = index;
    }
    return best;
}

/* Puts in a point that none covers and that covers none. */
static tn_status insert(tn_archive *archive, const double *value, uint64_t id, tn_error *error) {
    if (archive->root != NONE && is_empty(&archive->node[archive->root])) {
        drop(archive, archive->root);
        archive->root = NONE;
    }
    if (archive->root == NONE) TN_TRY(new_leaf(archive, &archive->root, error));
    uint32_t index = archive->root;
    for (;;) {
        node *entry = &archive->node[index];
        if (entry->block != NONE && entry->count < BLOCK_POINTS) break;
        if (entry->block != NONE) {
            TN_TRY(split(archive, index, error));
            if (archive->last_hit == index) archive->last_hit = NONE;
            entry = &archive->node[index];
        }
        widen(entry, value, archive->objectives, false);
        index = choose_child(archive, entry, value);
    }
    put(archive, &archive->node[index], value, id);
    archive->count++;
    return TN_OK;
}

/* Where a point lies that covers this one, as NULL: nowhere. One that is equal is the only one that covers it;
 * *replaces: it is, and gives way to the lower id. */
static uint64_t *covering_id(tn_archive *archive, const tn_point *point, bool *replaces) {
    uint32_t leaf;
    size_t index;
    if (!find_covering(archive, point->value, &leaf, &index)) return NULL;
    block *chunk = &archive->block[archive->node[leaf].block];
    *replaces = point->id < chunk->id[index];
    for (size_t k = 0; k < archive->objectives; k++) *replaces &= chunk->value[k][index] == point->value[k];
    return &chunk->id[index];
}

bool tn_archive_refuses(tn_archive *archive, const tn_point *point) {
    bool replaces;
    return covering_id(archive, point, &replaces) && !replaces;
}

static tn_status offer(tn_archive *archive, const tn_point *point, bool *entered, tn_error *error) {
    uint64_t *id = covering_id(archive, point, entered);
    if (id) {
        if (*entered) *id = point->id;
        return TN_OK;
    }
    if (archive->root != NONE) drop_dominated(archive, archive->root, point->value);
    TN_TRY(insert(archive, point->value, point->id, error));
    *entered = true;
    return TN_OK;
}

tn_status tn_archive_offer(tn_archive *archive, const tn_point *point, tn_error *error) {
    bool entered;
    return offer(archive, point, &entered, error);
}

/* ---- all points ---- */

static size_t list(const tn_archive *archive, uint32_t index, tn_point *points) {
    const node *entry = &archive->node[index];
    size_t count = 0;
    for (uint32_t child = entry->child; child != NONE; child = archive->node[child].next)
        count += list(archive, child, points + count);
    for (size_t i = 0; entry->block != NONE && i < entry->count; i++) {
        const block *chunk = &archive->block[entry->block];
        points[i] = (tn_point){.id = chunk->id[i]};
        point_of(chunk, i, archive->objectives, points[i].value);
        count++;
    }
    return count;
}

static int by_id(const void *a, const void *b) {
    uint64_t left = ((const tn_point *)a)->id, right = ((const tn_point *)b)->id;
    return (left > right) - (left < right);
}

void tn_archive_points(const tn_archive *archive, tn_point *points) {
    size_t count = archive->root == NONE ? 0 : list(archive, archive->root, points);
    if (count) qsort(points, count, sizeof *points, by_id);
}

/* ---- many points at once: by sorting ---- */

enum { SORT_OBJECTIVES = 3, SORT_LEAST = 64, SORT_SHARE = 16 };

/* A point to be sorted; what it has no value for is 0. */
typedef struct {
    double value[SORT_OBJECTIVES];
    uint64_t id;
    size_t place; /* among all */
} sorted;

static int by_values(const void *a, const void *b) {
    const sorted *x = a, *y = b;
    for (size_t k = 0; k < SORT_OBJECTIVES; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* A point's place in the sweep, and its second value. */
typedef struct {
    double second;
    size_t turn;
} ranked;

static int by_second(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return tn_value_order(x->second, x->turn, y->second, y->turn);
}

/* Whether sorting takes less than one offer after the other. */
static bool sorts(const tn_archive *archive, size_t count) {
    return archive->objectives <= SORT_OBJECTIVES && count >= SORT_LEAST &&
           count >= archive->count / SORT_SHARE;
}

/* kept[place] of the points, in the order of a sweep, that none before covers: a step of the staircase of the other two
 * values, no further along and no higher. Equal points come by their ids, the lowest first. */
static void sweep(const sorted *order, const ranked *rank, size_t *step, size_t count, tn_staircase *stairs,
                  bool *kept) {
    for (size_t i = 0; i < count; i++) step[rank[i].turn] = i;
    for (size_t turn = 0; turn < count; turn++) {
        const double height = order[turn].value[2];
        const size_t before = tn_stair_before(stairs, step[turn]);
        kept[order[turn].place] = before == TN_STAIR_NONE || stairs->height[before] > height;
        if (!kept[order[turn].place]) continue;
        for (size_t next;
             (next = tn_stair_from(stairs, step[turn])) != TN_STAIR_NONE && stairs->height[next] >= height;)
            tn_stair_drop(stairs, next);
        tn_stair_put(stairs, step[turn], height);
    }
}

/* kept[count]: of up to three objectives, the points of their front. */
static tn_status sift(const tn_point *point, size_t count, size_t objectives, bool *kept, tn_error *error) {
    tn_staircase stairs = {.places = 0};
    sorted *order = NULL;
    ranked *rank = NULL;
    size_t *step = NULL;
    tn_status status = tn_staircase_new(count, &stairs, error);
    if (status == TN_OK) status = TN_ALLOC(count, &order, error);
    if (status == TN_OK) status = TN_ALLOC(count, &rank, error);
    if (status == TN_OK) status = TN_ALLOC(count, &step, error);
    if (status == TN_OK) {
        for (size_t i = 0; i < count; i++) {
            order[i] = (sorted){.id = point[i].id, .place = i};
            memcpy(order[i].value, point[i].value, objectives * sizeof *point[i].value);
        }
        qsort(order, count, sizeof *order, by_values);
        for (size_t i = 0; i < count; i++) rank[i] = (ranked){order[i].value[1], i};
        qsort(rank, count, sizeof *rank, by_second);
        sweep(order, rank, step, count, &stairs, kept);
    }
    tn_free(order);
    tn_free(rank);
    tn_free(step);
    tn_staircase_free(&stairs);
    return status;
}

/* Puts in the kept points from `begin` on, of a front, in an order without runs: neighbours that come one after the other
 * would make long branches. */
static tn_status plant(tn_archive *archive, const tn_point *point, const bool *kept, size_t begin, size_t end,
                       tn_error *error) {
    const size_t count = end - begin;
    size_t stride = (size_t)(0.6180339887498949 * (double)count) | 1;
    for (size_t a = count, b = stride; b;) { /* greatest common divisor */
        const size_t rest = a % b;
        a = b;
        b = rest;
        if (b == 0 && a != 1) { /* they share one: the next stride */
            stride += 2;
            a = count;
            b = stride;
        }
    }
    for (size_t i = 0, place = 0; i < count; i++, place = (place + stride) % count)
        if (kept[begin + place])
            TN_TRY(insert(archive, point[begin + place].value, point[begin + place].id, error));
    return TN_OK;
}

/* The front of the archive's points and these, by sorting. *source, where it is not NULL, is left with those of them that
 * entered. */
static tn_status merge(tn_archive *archive, const tn_point *fresh, size_t count, tn_archive *source,
                       tn_error *error) {
    const size_t old = archive->count, all = old + count;
    tn_point *point = NULL;
    bool *kept = NULL;
    tn_status status = TN_ALLOC(all, &point, error);
    if (status == TN_OK) status = TN_ALLOC(all, &kept, error);
    if (status == TN_OK) {
        if (old) list(archive, archive->root, point);
        memcpy(point + old, fresh, count * sizeof *fresh);
        status = sift(point, all, archive->objectives, kept, error);
    }
    if (status == TN_OK) {
        tn_archive_clear(archive);
        status = plant(archive, point, kept, 0, all, error);
    }
    if (status == TN_OK && source) status = plant(source, point, kept, old, all, error);
    tn_free(point);
    tn_free(kept);
    return status;
}

tn_status tn_archive_offer_all(tn_archive *archive, const tn_point *point, size_t count, tn_error *error) {
    if (sorts(archive, count)) return merge(archive, point, count, NULL, error);
    for (size_t i = 0; i < count; i++) TN_TRY(tn_archive_offer(archive, &point[i], error));
    return TN_OK;
}

static tn_status absorb_one_by_one(tn_archive *archive, const tn_point *point, size_t count,
                                   tn_archive *source, tn_error *error) {
    for (size_t i = 0; i < count; i++) {
        bool entered;
        TN_TRY(offer(archive, &point[i], &entered, error));
        if (entered) TN_TRY(insert(source, point[i].value, point[i].id, error));
    }
    return TN_OK;
}

tn_status tn_archive_absorb(tn_archive *archive, tn_archive *source, tn_error *error) {
    tn_point *point = NULL;
    size_t count = source->count;
    TN_TRY(TN_ALLOC(count, &point, error));
    if (source->root != NONE) list(source, source->root, point);
    tn_archive_clear(source);
    tn_status status = sorts(archive, count) ? merge(archive, point, count, source, error)
                                             : absorb_one_by_one(archive, point, count, source, error);
    tn_free(point);
    return status;
}
