#include "front/sums.h"

#include "base/digest.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "front/archive.h"
#include "front/box_sweep.h"

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

/* Boxes as doubles in their order, for the archive. Those of rounded values are small numbers: as bits they would be subnormal, with
 * which processors reckon a hundred times as long. Of exact values all but 0 have the bits of normal ones. */
static double as_real(int64_t box) {
    static const int64_t least_normal = INT64_C(1) << 52;
    double value;
    if (box > -least_normal && box < least_normal) return (double)box;
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

/* Points between two looks at the time. */
enum { LOOKS = 64 };

/* Points of one label that are equal in all objectives, [from, to): one of them is dropped for another that is at most
 * it in the guards, but where sums are exact only for one of a lesser id, as the id tells equal designs apart. */
static tn_status drop_equals(const ranked *point, size_t begin, size_t end, size_t dimensions, size_t rounded,
                             bool exact, double deadline, bool *dropped, tn_error *error) {
    for (size_t i = begin; i < end; i++) {
        if (i % LOOKS == 0) TN_TRY(tn_check_time(deadline, error));
        for (size_t k = begin; k < i && !dropped[i]; k++) {
            bool covers = !dropped[k] && (!exact || point[k].id <= point[i].id);
            for (size_t d = rounded; covers && d < dimensions; d++)
                covers = point[k].box[d] <= point[i].box[d];
            dropped[i] = covers;
        }
    }
    return TN_OK;
}

static tn_status mark(const ranked *point, size_t count, size_t dimensions, const tn_boxes *boxes,
                      double deadline, seen *known, bool *dropped, tn_error *error) {
    for (size_t begin = 0, end; begin < count; begin = end) {
        if (begin == 0 || point[begin].label != point[begin - 1].label) forget(known);
        for (end = begin + 1; end < count && point[end].label == point[begin].label &&
                              compare_boxes(&point[begin], &point[end], 0, boxes->rounded) == 0;
             end++) {}
        for (size_t i = begin; i < end; i++) dropped[i] = is_covered(known, &point[i]);
        TN_TRY(drop_equals(point, begin, end, dimensions, boxes->rounded, boxes->width == 0, deadline,
                           dropped, error));
        for (size_t i = begin; i < end; i++)
            if (!dropped[i]) TN_TRY(note(known, &point[i], error));
    }
    return TN_OK;
}

/* Moves the points of those places into new arrays. */
static tn_status gather(tn_sums *sums, const uint32_t *place, size_t count, tn_error *error) {
    tn_sums kept;
    double value[TN_SUM_DIMENSIONS];
    tn_status status = TN_OK;
    tn_sums_begin(&kept, sums->dimensions);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        const size_t index = place[i];
        for (size_t d = 0; d < sums->dimensions; d++) value[d] = sums->value[d][index];
        status = tn_sums_add(&kept, value, sums->label[index], sums->id[index], sums->left[index],
                             sums->right[index], error);
    }
    tn_sums_free(status == TN_OK ? sums : &kept);
    if (status == TN_OK) *sums = kept;
    return status;
}

/* What is kept, in the order of `point`. */
static tn_status take(tn_sums *sums, const ranked *point, size_t count, const bool *dropped,
                      tn_error *error) {
    uint32_t *place;
    size_t kept = 0;
    TN_TRY(TN_ALLOC(count, &place, error));
    for (size_t i = 0; i < count; i++)
        if (!dropped[i]) place[kept++] = point[i].index;
    const tn_status status = gather(sums, place, kept, error);
    tn_free(place);
    return status;
}

tn_status tn_sums_prune(tn_sums *sums, const tn_boxes *boxes, double deadline, tn_error *error) {
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
    if (status == TN_OK)
        status = mark(point, count, sums->dimensions, boxes, deadline, &known, dropped, error);
    if (status == TN_OK) status = take(sums, point, count, dropped, error);
    tn_archive_free(&known.archive);
    tn_free(point);
    tn_free(dropped);
    tn_free(rank);
    tn_free(tree);
    return status;
}

/* ---- merging ---- */

enum { ROOM_BEGUN = 1 << 11, ROOM_UNPRUNED = 1 << 18 };

static uint64_t hash_of(const int64_t *box, size_t rounded, uint64_t label) {
    uint64_t hash = label * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < rounded; i++) hash = tn_hash_word(hash, (uint64_t)box[i]);
    return hash;
}

/* Makes room for `room` points, and finds those that there are anew. */
static tn_status index_sums(tn_merging *merging, tn_error *error) {
    const tn_boxes *boxes = merging->boxes;
    const tn_sums *sums = merging->sums;
    merging->slots = 2 * ROOM_BEGUN;
    while (merging->slots < 2 * merging->room) merging->slots *= 2;
    if (merging->slots > merging->slot_room) {
        tn_free(merging->slot);
        merging->slot = NULL;
        merging->slot_room = 0;
        TN_TRY(TN_ALLOC(merging->slots, &merging->slot, error));
        merging->slot_room = merging->slots;
    } else {
        memset(merging->slot, 0, merging->slots * sizeof *merging->slot);
    }
    TN_TRY(TN_GROW(&merging->box, &merging->box_room, merging->room * boxes->rounded, error));
    for (size_t i = 0; i < sums->count; i++) {
        int64_t *box = merging->box + i * boxes->rounded;
        for (size_t d = 0; d < boxes->rounded; d++) box[d] = box_of(boxes, d, sums->value[d][i]);
        size_t index = hash_of(box, boxes->rounded, sums->label[i]) & (merging->slots - 1);
        while (merging->slot[index]) index = (index + 1) & (merging->slots - 1);
        merging->slot[index] = (uint32_t)i + 1;
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

static tn_status too_many(const tn_merging *merging, tn_error *error) {
    if (merging->sums->count <= merging->most) return TN_OK;
    return tn_fail(error, TN_LIMIT, "over %zu sums of costs are kept; allow a larger epsilon", merging->most);
}

static tn_status prune_merged(tn_merging *merging, tn_error *error) {
    const uint32_t *place;
    size_t kept;
    bool fits = false;
    if (merging->sweeps)
        TN_TRY(tn_box_sweep_front(merging->sweep, merging->box, merging->sums->count, &place, &kept, &fits,
                                  error));
    return fits ? gather(merging->sums, place, kept, error)
                : tn_sums_prune(merging->sums, merging->boxes, merging->deadline, error);
}

/* More room, or fewer points. */
static tn_status make_way(tn_merging *merging, tn_error *error) {
    if (merging->room >= ROOM_UNPRUNED) {
        TN_TRY(prune_merged(merging, error));
        TN_TRY(too_many(merging, error));
    }
    if (merging->room < ROOM_UNPRUNED || 2 * merging->sums->count > merging->room) merging->room *= 2;
    return index_sums(merging, error);
}

static tn_status offer(tn_merging *merging, const double *value, uint64_t label, uint64_t id, uint32_t left,
                       uint32_t right, tn_error *error) {
    const tn_boxes *boxes = merging->boxes;
    tn_sums *sums = merging->sums;
    int64_t box[TN_SUM_DIMENSIONS];
    for (size_t d = 0; d < boxes->rounded; d++) box[d] = box_of(boxes, d, value[d]);
    if (merging->sweeps && tn_box_sweep_covers(merging->sweep, box)) return TN_OK;
    size_t index = hash_of(box, boxes->rounded, label) & (merging->slots - 1);
    for (; merging->slot[index]; index = (index + 1) & (merging->slots - 1)) {
        size_t kept = merging->slot[index] - 1;
        bool instead;
        if (sums->label[kept] != label ||
            memcmp(merging->box + kept * boxes->rounded, box, boxes->rounded * sizeof *box) != 0)
            continue;
        if (!settles(sums, kept, value, id, boxes, &instead)) continue;
        if (instead) put(sums, kept, value, label, id, left, right);
        return TN_OK;
    }
    memcpy(merging->box + sums->count * boxes->rounded, box, boxes->rounded * sizeof *box);
    merging->slot[index] = (uint32_t)sums->count + 1;
    TN_TRY(tn_sums_add(sums, value, label, id, left, right, error));
    return sums->count < merging->room ? TN_OK : make_way(merging, error);
}

tn_status tn_merging_begin(tn_merging *merging, tn_sums *sums, tn_error *error) {
    merging->sums = sums;
    merging->room = ROOM_BEGUN;
    while (merging->room < 2 * sums->count) merging->room *= 2;
    TN_TRY(index_sums(merging, error));
    merging->sweeps = !merging->join && merging->boxes->width > 0 && sums->dimensions == TN_SWEEP_AXES &&
                      merging->boxes->rounded == TN_SWEEP_AXES;
    if (merging->sweeps && !merging->sweep) TN_TRY(TN_ALLOC(1, &merging->sweep, error));
    if (merging->sweeps) tn_box_sweep_grid(merging->sweep, merging->box, sums->count);
    return TN_OK;
}

/* Whether the least that any of `b` makes of a point is covered. */
static bool is_covered_by_all(const tn_merging *merging, const double *value, const double *least) {
    int64_t box[TN_SUM_DIMENSIONS];
    if (!merging->sweeps) return false;
    for (size_t d = 0; d < TN_SWEEP_AXES; d++) box[d] = box_of(merging->boxes, d, value[d] + least[d]);
    return tn_box_sweep_covers(merging->sweep, box);
}

tn_status tn_merging_add(tn_merging *merging, const tn_sums *a, const tn_sums *b, tn_error *error) {
    double value[TN_SUM_DIMENSIONS], least[TN_SUM_DIMENSIONS];
    for (size_t d = 0; d < b->dimensions; d++) {
        least[d] = INFINITY;
        for (size_t k = 0; k < b->count; k++) least[d] = fmin(least[d], b->value[d][k]);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (i % LOOKS == 0) TN_TRY(tn_check_time(merging->deadline, error));
        for (size_t d = 0; d < a->dimensions; d++) value[d] = a->value[d][i];
        if (is_covered_by_all(merging, value, least)) continue;
        for (size_t k = 0; k < b->count; k++) {
            uint64_t label = a->label[i];
            if (b->label[k]) TN_TRY(merging->join(merging->user, label, b->label[k], &label, error));
            for (size_t d = 0; d < a->dimensions; d++) value[d] = a->value[d][i] + b->value[d][k];
            TN_TRY(offer(merging, value, label, a->id[i] + b->id[k], (uint32_t)i, (uint32_t)k, error));
        }
    }
    return TN_OK;
}

tn_status tn_merging_end(tn_merging *merging, tn_error *error) {
    TN_TRY(prune_merged(merging, error));
    return too_many(merging, error);
}

void tn_merging_free(tn_merging *merging) {
    if (merging->sweep) tn_box_sweep_free(merging->sweep);
    tn_free(merging->sweep);
    tn_free(merging->slot);
    tn_free(merging->box);
    merging->sweep = NULL;
    merging->slot = NULL;
    merging->box = NULL;
    merging->slot_room = merging->box_room = 0;
}
