#include "front/archive.h"

#include "base/memory.h"

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
static void drop(tn_archive *archive, uint32_t at) {
    node *of = &archive->node[at];
    for (uint32_t child = of->child, next; child != NONE; child = next) {
        next = archive->node[child].next;
        drop(archive, child);
    }
    if (of->block != NONE) {
        archive->count -= of->count;
        archive->block[of->block].next_free = archive->free_block;
        archive->free_block = of->block;
        if (archive->last_hit == at) archive->last_hit = NONE;
    }
    *of = (node){.block = NONE, .child = NONE, .next = archive->free_node};
    archive->free_node = at;
}

/* ---- comparisons ---- */

static bool at_most(const double *a, const double *b, size_t objectives) {
    for (size_t i = 0; i < objectives; i++)
        if (a[i] > b[i]) return false;
    return true;
}

/* below[i]: point i of the block is at most `value` everywhere; over[i]: at least. Without branches, so that many
 * points are compared at once. */
static void compare(const block *in, size_t count, const double *value, size_t objectives,
                    unsigned char *below, unsigned char *over) {
    memset(below, 1, count);
    memset(over, 1, count);
    for (size_t k = 0; k < objectives; k++)
        for (size_t i = 0; i < count; i++) {
            below[i] &= in->value[k][i] <= value[k];
            over[i] &= in->value[k][i] >= value[k];
        }
}

/* ---- asking ---- */

/* A point of the leaf that is at most `value` everywhere; BLOCK_POINTS: none. */
static size_t covering(const tn_archive *archive, const node *leaf, const double *value) {
    unsigned char below[BLOCK_POINTS], over[BLOCK_POINTS];
    compare(&archive->block[leaf->block], leaf->count, value, archive->objectives, below, over);
    for (size_t i = 0; i < leaf->count; i++)
        if (below[i]) return i;
    return BLOCK_POINTS;
}

/* The leaf and point below the node that are at most `value` everywhere; false: there is none. */
static bool find(const tn_archive *archive, uint32_t at, const double *value, uint32_t *leaf, size_t *point) {
    const node *of = &archive->node[at];
    if (!at_most(of->least, value, archive->objectives)) return false;
    if (of->block != NONE) {
        *leaf = at;
        *point = covering(archive, of, value);
        return *point < BLOCK_POINTS;
    }
    for (uint32_t child = of->child; child != NONE; child = archive->node[child].next)
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

/* ---- leaving ---- */

static void drop_of_leaf(tn_archive *archive, node *leaf, const double *value) {
    unsigned char below[BLOCK_POINTS], over[BLOCK_POINTS];
    block *in = &archive->block[leaf->block];
    size_t kept = 0, count = leaf->count;
    compare(in, count, value, archive->objectives, below, over);
    for (size_t i = 0; i < count; i++) {
        if (over[i]) continue;
        if (kept != i) {
            for (size_t k = 0; k < archive->objectives; k++) in->value[k][kept] = in->value[k][i];
            in->id[kept] = in->id[i];
        }
        kept++;
    }
    archive->count -= count - kept;
    leaf->count = kept;
}

static bool is_empty(const node *of) {
    return of->block == NONE ? of->child == NONE : of->count == 0;
}

/* Drops the points below the node that `value` is at most everywhere. */
static void drop_dominated(tn_archive *archive, uint32_t at, const double *value) {
    node *of = &archive->node[at];
    if (of->block != NONE) {
        drop_of_leaf(archive, of, value);
        return;
    }
    for (uint32_t child = of->child, before = NONE, next; child != NONE; child = next) {
        node *below = &archive->node[child];
        next = below->next;
        if (at_most(value, below->most, archive->objectives)) {
            bool all = at_most(value, below->least, archive->objectives);
            if (!all) drop_dominated(archive, child, value);
            if (all || is_empty(below)) {
                *(before == NONE ? &of->child : &archive->node[before].next) = next;
                drop(archive, child);
                continue;
            }
        }
        before = child;
    }
}

/* ---- entering ---- */

static void widen(node *of, const double *value, size_t objectives, bool first) {
    for (size_t k = 0; k < objectives; k++) {
        if (first || value[k] < of->least[k]) of->least[k] = value[k];
        if (first || value[k] > of->most[k]) of->most[k] = value[k];
    }
}

static void put(tn_archive *archive, node *leaf, const double *value, uint64_t id) {
    block *in = &archive->block[leaf->block];
    widen(leaf, value, archive->objectives, leaf->count == 0);
    for (size_t k = 0; k < archive->objectives; k++) in->value[k][leaf->count] = value[k];
    in->id[leaf->count++] = id;
}

static tn_status new_leaf(tn_archive *archive, uint32_t *at, tn_error *error) {
    uint32_t taken;
    TN_TRY(take_node(archive, at, error));
    tn_status status = take_block(archive, &taken, error);
    if (status == TN_OK) {
        archive->node[*at].block = taken;
        return TN_OK;
    }
    drop(archive, *at);
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

static void point_of(const block *in, size_t i, size_t objectives, double *value) {
    for (size_t k = 0; k < objectives; k++) value[k] = in->value[k][i];
}

/* Points that are far from each other, to begin children with: the first, then always the one farthest from those
 * taken. */
static void choose_seeds(const block *in, const node *of, size_t objectives, size_t seed[CHILDREN]) {
    double nearest[BLOCK_POINTS], a[TN_OBJECTIVES_MOST], b[TN_OBJECTIVES_MOST];
    for (size_t i = 0; i < BLOCK_POINTS; i++) nearest[i] = INFINITY;
    seed[0] = 0;
    for (size_t c = 1; c < CHILDREN; c++) {
        point_of(in, seed[c - 1], objectives, a);
        seed[c] = 0;
        for (size_t i = 0; i < BLOCK_POINTS; i++) {
            point_of(in, i, objectives, b);
            nearest[i] = fmin(nearest[i], distance(a, b, of, objectives));
            if (nearest[i] > nearest[seed[c]]) seed[c] = i;
        }
    }
}

/* Turns a full leaf into a node with CHILDREN leaves. */
static tn_status split(tn_archive *archive, uint32_t at, tn_error *error) {
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
    node *of = &archive->node[at];
    const block whole = archive->block[of->block];
    choose_seeds(&whole, of, objectives, seed);
    for (size_t c = 0; c < CHILDREN; c++) point_of(&whole, seed[c], objectives, centre[c]);
    for (size_t i = 0; i < BLOCK_POINTS; i++) {
        size_t best = 0;
        double least = INFINITY;
        point_of(&whole, i, objectives, point);
        for (size_t c = 0; c < CHILDREN; c++) {
            double apart = distance(point, centre[c], of, objectives);
            if (apart >= least) continue;
            least = apart;
            best = c;
        }
        put(archive, &archive->node[child[best]], point, whole.id[i]);
    }
    archive->block[of->block].next_free = archive->free_block;
    archive->free_block = of->block;
    of->block = NONE;
    of->count = 0;
    for (size_t c = CHILDREN; c-- > 0;) {
        if (archive->node[child[c]].count == 0) {
            drop(archive, child[c]);
            continue;
        }
        archive->node[child[c]].next = of->child;
        of->child = child[c];
    }
    return TN_OK;
}

/* The child whose middle is nearest. */
static uint32_t choose_child(const tn_archive *archive, const node *of, const double *value) {
    uint32_t best = of->child;
    double least = INFINITY, middle[TN_OBJECTIVES_MOST];
    for (uint32_t at = of->child; at != NONE; at = archive->node[at].next) {
        const node *child = &archive->node[at];
        for (size_t k = 0; k < archive->objectives; k++) middle[k] = (child->least[k] + child->most[k]) / 2;
        double apart = distance(value, middle, of, archive->objectives);
        if (apart >= least) continue;
        least = apart;
        best = at;
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
    uint32_t at = archive->root;
    for (;;) {
        node *of = &archive->node[at];
        if (of->block != NONE && of->count < BLOCK_POINTS) break;
        if (of->block != NONE) {
            TN_TRY(split(archive, at, error));
            if (archive->last_hit == at) archive->last_hit = NONE;
            of = &archive->node[at];
        }
        widen(of, value, archive->objectives, false);
        at = choose_child(archive, of, value);
    }
    put(archive, &archive->node[at], value, id);
    archive->count++;
    return TN_OK;
}

/* Where a point lies that covers this one, as NULL: nowhere. One that is equal is the only one that covers it;
 * *replaces: it is, and gives way to the lower id. */
static uint64_t *covering_id(tn_archive *archive, const tn_point *point, bool *replaces) {
    uint32_t leaf;
    size_t at;
    if (!find_covering(archive, point->value, &leaf, &at)) return NULL;
    block *in = &archive->block[archive->node[leaf].block];
    *replaces = point->id < in->id[at];
    for (size_t k = 0; k < archive->objectives; k++) *replaces &= in->value[k][at] == point->value[k];
    return &in->id[at];
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

static size_t list(const tn_archive *archive, uint32_t at, tn_point *points) {
    const node *of = &archive->node[at];
    size_t count = 0;
    for (uint32_t child = of->child; child != NONE; child = archive->node[child].next)
        count += list(archive, child, points + count);
    for (size_t i = 0; of->block != NONE && i < of->count; i++) {
        const block *in = &archive->block[of->block];
        points[i] = (tn_point){.id = in->id[i]};
        point_of(in, i, archive->objectives, points[i].value);
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

tn_status tn_archive_absorb(tn_archive *archive, tn_archive *from, tn_error *error) {
    tn_point *point = NULL;
    size_t count = from->count;
    TN_TRY(TN_ALLOC(count, &point, error));
    if (from->root != NONE) list(from, from->root, point);
    tn_archive_clear(from);
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        bool entered;
        status = offer(archive, &point[i], &entered, error);
        if (status == TN_OK && entered) status = insert(from, point[i].value, point[i].id, error);
    }
    tn_free(point);
    return status;
}
