#include "front/sums.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "front/archive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- boxes ---- */

/* The bits of a positive double, as a number, are its logarithm made of straight lines between powers of two. */
static int64_t order_of(double value) {
    int64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >= 0 ? bits : INT64_MIN - bits;
}

/* The box of a value in dimension i. */
static int64_t box_of(const tn_boxes *boxes, size_t i, double value) {
    if (boxes->width == 0) return order_of(value);
    double shifted = (boxes->negated[i] ? -value : value) + boxes->shift[i];
    if (shifted <= 0) return boxes->negated[i] ? INT64_MAX : INT64_MIN;
    int64_t box = (int64_t)floor((double)order_of(shifted) / (boxes->width * 0x1p52));
    return boxes->negated[i] ? -box : box;
}

/* ---- points ---- */

void tn_sums_begin(tn_sums *sums, size_t dimensions) {
    *sums = (tn_sums){.dimensions = dimensions};
}

void tn_sums_free(tn_sums *sums) {
    for (size_t i = 0; i < sums->dimensions; i++) tn_free(sums->value[i]);
    tn_free(sums->label);
    tn_free(sums->id);
    tn_free(sums->left);
    tn_free(sums->right);
    tn_sums_begin(sums, sums->dimensions);
}

static tn_status make_room(tn_sums *sums, tn_error *error) {
    size_t need = sums->count + 1, capacity;
    if (need <= sums->capacity) return TN_OK;
    need = sums->capacity ? 2 * sums->capacity : 256;
    for (size_t i = 0; i < sums->dimensions; i++) {
        capacity = sums->capacity;
        TN_TRY(TN_GROW(&sums->value[i], &capacity, need, error));
    }
    capacity = sums->capacity;
    TN_TRY(TN_GROW(&sums->label, &capacity, need, error));
    capacity = sums->capacity;
    TN_TRY(TN_GROW(&sums->id, &capacity, need, error));
    capacity = sums->capacity;
    TN_TRY(TN_GROW(&sums->left, &capacity, need, error));
    capacity = sums->capacity;
    TN_TRY(TN_GROW(&sums->right, &capacity, need, error));
    sums->capacity = capacity;
    return TN_OK;
}

static void put(tn_sums *sums, size_t index, const double *value, uint64_t label, uint64_t id, uint32_t left,
                uint32_t right) {
    for (size_t i = 0; i < sums->dimensions; i++) sums->value[i][index] = value[i];
    sums->label[index] = label;
    sums->id[index] = id;
    sums->left[index] = left;
    sums->right[index] = right;
}

tn_status tn_sums_add(tn_sums *sums, const double *value, uint64_t label, uint64_t id, uint32_t left,
                      uint32_t right, tn_error *error) {
    TN_TRY(make_room(sums, error));
    put(sums, sums->count++, value, label, id, left, right);
    return TN_OK;
}

/* ---- pruning ---- */

/* A point to be sorted: its boxes, guards in their place, then where it is. */
typedef struct {
    int64_t box[TN_SUM_DIMENSIONS];
    uint64_t label, id;
    uint32_t index;
} ranked;

typedef struct {
    size_t rounded, dimensions;
} ranks;

static int compare_boxes(const ranked *a, const ranked *b, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        if (a->box[i] != b->box[i]) return a->box[i] < b->box[i] ? -1 : 1;
    return 0;
}

static int by_rank(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    int order = compare_boxes(a, b, 0, TN_SUM_DIMENSIONS);
    if (order) return order;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* What was kept before in the order of the first dimension, asked in the others: the least of dimension 2 at or below
 * each rank of dimension 1 where there are three in all (a binary indexed tree of minima, P. Fenwick 1994), an archive
 * where there are more. */
typedef struct {
    size_t others; /* dimensions but the first */
    int64_t least; /* others == 1 */
    size_t ranks;
    const int64_t *rank; /* [ranks], rising: values of dimension 1 */
    int64_t *tree;       /* [ranks + 1] */
    tn_archive archive;
} seen;

static size_t rank_of(const seen *known, int64_t value) {
    size_t low = 0, high = known->ranks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known->rank[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

/* Boxes as the doubles whose order is theirs, for the archive. */
static double as_real(int64_t box) {
    double value;
    int64_t bits = box >= 0 ? box : INT64_MIN - box;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_covered(seen *known, const ranked *point) {
    double value[TN_OBJECTIVES_MOST];
    int64_t least = INT64_MAX;
    if (known->others == 0) return known->least != INT64_MAX;
    if (known->others == 1) return known->least <= point->box[1];
    if (known->others > 2) {
        for (size_t i = 0; i < known->others; i++) value[i] = as_real(point->box[i + 1]);
        return tn_archive_covers(&known->archive, value);
    }
    for (size_t i = rank_of(known, point->box[1]); i > 0; i -= i & -i)
        if (known->tree[i] < least) least = known->tree[i];
    return least <= point->box[2];
}

static tn_status note(seen *known, const ranked *point, tn_error *error) {
    tn_point kept = {.id = point->index};
    if (known->others == 0) known->least = 0;
    if (known->others == 1 && point->box[1] < known->least) known->least = point->box[1];
    if (known->others == 2)
        for (size_t i = rank_of(known, point->box[1]); i <= known->ranks; i += i & -i)
            if (point->box[2] < known->tree[i]) known->tree[i] = point->box[2];
    if (known->others <= 2) return TN_OK;
    for (size_t i = 0; i < known->others; i++) kept.value[i] = as_real(point->box[i + 1]);
    return tn_archive_offer(&known->archive, &kept, error);
}

static int by_value(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void forget(seen *known) {
    known->least = INT64_MAX;
    for (size_t i = 0; i <= known->ranks && known->tree; i++) known->tree[i] = INT64_MAX;
    tn_archive_clear(&known->archive);
}

static tn_status seen_begin(const ranked *point, size_t count, size_t dimensions, int64_t *rank,
                            int64_t *tree, seen *known) {
    *known = (seen){.others = dimensions - 1, .rank = rank};
    tn_archive_begin(&known->archive, dimensions > 1 ? dimensions - 1 : 1);
    if (known->others == 2) {
        known->tree = tree;
        for (size_t i = 0; i < count; i++) rank[i] = point[i].box[1];
        qsort(rank, count, sizeof *rank, by_value);
        for (size_t i = 0; i < count; i++)
            if (i == 0 || rank[i] != rank[known->ranks - 1]) rank[known->ranks++] = rank[i];
    }
    forget(known);
    return TN_OK;
}

/* Points of one label that are equal in all objectives, [from, to): one of them is dropped for another that is at most
 * it in the guards, but where sums are exact only for one of a lesser id, as the id tells equal designs apart. */
static void drop_equals(const ranked *point, size_t begin, size_t end, size_t dimensions, size_t rounded,
                        bool exact, bool *dropped) {
    for (size_t i = begin; i < end; i++)
        for (size_t k = begin; k < i && !dropped[i]; k++) {
            bool covers = !dropped[k] && (!exact || point[k].id <= point[i].id);
            for (size_t d = rounded; covers && d < dimensions; d++)
                covers = point[k].box[d] <= point[i].box[d];
            dropped[i] = covers;
        }
}

static tn_status mark(const ranked *point, size_t count, size_t dimensions, const tn_boxes *boxes,
                      seen *known, bool *dropped, tn_error *error) {
    for (size_t begin = 0, end; begin < count; begin = end) {
        if (begin == 0 || point[begin].label != point[begin - 1].label) forget(known);
        for (end = begin + 1; end < count && point[end].label == point[begin].label &&
                              compare_boxes(&point[begin], &point[end], 0, boxes->rounded) == 0;
             end++) {}
        for (size_t i = begin; i < end; i++) dropped[i] = is_covered(known, &point[i]);
        drop_equals(point, begin, end, dimensions, boxes->rounded, boxes->width == 0, dropped);
        for (size_t i = begin; i < end; i++)
            if (!dropped[i]) TN_TRY(note(known, &point[i], error));
    }
    return TN_OK;
}

/* Moves what is kept into new arrays, in the order of `point`. */
static tn_status take(tn_sums *sums, const ranked *point, size_t count, const bool *dropped,
                      tn_error *error) {
    tn_sums kept;
    double value[TN_SUM_DIMENSIONS];
    tn_status status = TN_OK;
    tn_sums_begin(&kept, sums->dimensions);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        size_t index = point[i].index;
        if (dropped[i]) continue;
        for (size_t d = 0; d < sums->dimensions; d++) value[d] = sums->value[d][index];
        status = tn_sums_add(&kept, value, sums->label[index], sums->id[index], sums->left[index],
                             sums->right[index], error);
    }
    tn_sums_free(status == TN_OK ? sums : &kept);
    if (status == TN_OK) *sums = kept;
    return status;
}

tn_status tn_sums_prune(tn_sums *sums, const tn_boxes *boxes, tn_error *error) {
    ranked *point = NULL;
    bool *dropped = NULL;
    int64_t *rank = NULL, *tree = NULL;
    seen known = {0};
    size_t count = sums->count;
    tn_status status = TN_ALLOC(count, &point, error);
    if (status == TN_OK) status = TN_ALLOC(count, &dropped, error);
    if (status == TN_OK) status = TN_ALLOC(count, &rank, error);
    if (status == TN_OK) status = TN_ALLOC(count + 1, &tree, error);
    if (status == TN_OK) {
        for (size_t i = 0; i < count; i++) {
            point[i] = (ranked){.label = sums->label[i], .id = sums->id[i], .index = (uint32_t)i};
            for (size_t d = 0; d < sums->dimensions; d++)
                point[i].box[d] =
                    d < boxes->rounded ? box_of(boxes, d, sums->value[d][i]) : order_of(sums->value[d][i]);
        }
        qsort(point, count, sizeof *point, by_rank);
        status = seen_begin(point, count, sums->dimensions, rank, tree, &known);
    }
    if (status == TN_OK) status = mark(point, count, sums->dimensions, boxes, &known, dropped, error);
    if (status == TN_OK) status = take(sums, point, count, dropped, error);
    tn_archive_free(&known.archive);
    tn_free(point);
    tn_free(dropped);
    tn_free(rank);
    tn_free(tree);
    return status;
}

/* ---- merging ---- */

/* Open addressing by label and boxes: of what falls together only one stays, where guards allow. */
typedef struct {
    size_t slots;   /* a power of two */
    uint32_t *slot; /* place among the sums, plus 1 */
    int64_t *box;   /* [capacity of the sums][rounded] */
    size_t boxes;
} table;

static uint64_t hash_of(const int64_t *box, size_t rounded, uint64_t label) {
    uint64_t hash = label * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < rounded; i++) {
        hash = (hash ^ (uint64_t)box[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash;
}

static tn_status table_reset(table *known, const tn_sums *sums, const tn_boxes *boxes, size_t room,
                             tn_error *error) {
    size_t slots = 1024;
    while (slots < 2 * room) slots *= 2;
    if (slots > known->slots) {
        tn_free(known->slot);
        known->slot = NULL;
        known->slots = 0;
        TN_TRY(TN_ALLOC(slots, &known->slot, error));
        known->slots = slots;
    } else {
        memset(known->slot, 0, known->slots * sizeof *known->slot);
    }
    TN_TRY(TN_GROW(&known->box, &known->boxes, room * boxes->rounded, error));
    for (size_t i = 0; i < sums->count; i++) {
        int64_t *box = known->box + i * boxes->rounded;
        for (size_t d = 0; d < boxes->rounded; d++) box[d] = box_of(boxes, d, sums->value[d][i]);
        size_t index = hash_of(box, boxes->rounded, sums->label[i]) & (known->slots - 1);
        while (known->slot[index]) index = (index + 1) & (known->slots - 1);
        known->slot[index] = (uint32_t)i + 1;
    }
    return TN_OK;
}

/* Whether the kept point makes the new one of the same boxes needless; or the other way about, then *instead. */
static bool settles(const tn_sums *sums, size_t kept, const double *value, uint64_t id, const tn_boxes *boxes,
                    bool *instead) {
    bool exact = boxes->width == 0, below = true, above = true;
    *instead = false;
    for (size_t d = boxes->rounded; d < sums->dimensions; d++) {
        below &= sums->value[d][kept] <= value[d];
        above &= sums->value[d][kept] >= value[d];
    }
    if (exact) {
        *instead = above && id < sums->id[kept];
        return *instead || (below && sums->id[kept] <= id);
    }
    if (below && above) { /* the better one, in a fixed order */
        for (size_t d = 0; d < boxes->rounded; d++)
            if (value[d] != sums->value[d][kept]) {
                *instead = value[d] < sums->value[d][kept];
                break;
            }
        return true;
    }
    *instead = above;
    return below || above;
}

static tn_status offer(tn_sums *sums, table *known, const tn_boxes *boxes, const double *value,
                       uint64_t label, uint64_t id, uint32_t left, uint32_t right, tn_error *error) {
    int64_t box[TN_SUM_DIMENSIONS];
    for (size_t d = 0; d < boxes->rounded; d++) box[d] = box_of(boxes, d, value[d]);
    size_t index = hash_of(box, boxes->rounded, label) & (known->slots - 1);
    for (; known->slot[index]; index = (index + 1) & (known->slots - 1)) {
        size_t kept = known->slot[index] - 1;
        bool instead;
        if (sums->label[kept] != label ||
            memcmp(known->box + kept * boxes->rounded, box, boxes->rounded * sizeof *box) != 0)
            continue;
        if (!settles(sums, kept, value, id, boxes, &instead)) continue;
        if (instead) put(sums, kept, value, label, id, left, right);
        return TN_OK;
    }
    memcpy(known->box + sums->count * boxes->rounded, box, boxes->rounded * sizeof *box);
    known->slot[index] = (uint32_t)sums->count + 1;
    return tn_sums_add(sums, value, label, id, left, right, error);
}

tn_status tn_sums_merge(const tn_sums *a, const tn_sums *b, const tn_boxes *boxes, tn_label_join *join,
                        void *user, size_t most, double deadline, tn_sums *sums, tn_error *error) {
    enum { ROOM_LEAST = 1 << 18 };
    table known = {0};
    size_t room = ROOM_LEAST;
    double value[TN_SUM_DIMENSIONS];
    tn_sums_begin(sums, a->dimensions);
    tn_status status = table_reset(&known, sums, boxes, room, error);
    for (size_t i = 0; status == TN_OK && i < a->count; i++) {
        if (tn_interrupted() || tn_clock_seconds() > deadline)
            status = tn_fail(error, TN_INTERRUPTED, "interrupted");
        for (size_t k = 0; status == TN_OK && k < b->count; k++) {
            uint64_t label = a->label[i];
            if (b->label[k]) status = join(user, label, b->label[k], &label, error);
            for (size_t d = 0; d < a->dimensions; d++) value[d] = a->value[d][i] + b->value[d][k];
            if (status == TN_OK)
                status = offer(sums, &known, boxes, value, label, a->id[i] + b->id[k], (uint32_t)i,
                               (uint32_t)k, error);
            if (status != TN_OK || sums->count < room) continue;
            status = tn_sums_prune(sums, boxes, error);
            if (status == TN_OK && sums->count > most)
                status =
                    tn_fail(error, TN_LIMIT, "over %zu sums of costs are kept; allow a larger epsilon", most);
            if (status == TN_OK && 2 * sums->count > room) room *= 2;
            if (status == TN_OK) status = table_reset(&known, sums, boxes, room, error);
        }
    }
    if (status == TN_OK) status = tn_sums_prune(sums, boxes, error);
    if (status == TN_OK && sums->count > most)
        status = tn_fail(error, TN_LIMIT, "over %zu sums of costs are kept; allow a larger epsilon", most);
    if (status != TN_OK) tn_sums_free(sums);
    tn_free(known.slot);
    tn_free(known.box);
    return status;
}
