#include "explore/archive.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_POINTS = 64 };

typedef struct tn_archive_block {
    double least[TN_OBJECTIVES_MOST]; /* a lower bound of the points' values */
    size_t count;
    tn_point point[BLOCK_POINTS];
} block;

void tn_archive_begin(tn_archive *archive, size_t objectives) {
    *archive = (tn_archive){.objectives = objectives};
}

void tn_archive_free(tn_archive *archive) {
    tn_free(archive->block);
    *archive = (tn_archive){.objectives = archive->objectives};
}

static bool at_most(const double *a, const double *b, size_t objectives) {
    for (size_t i = 0; i < objectives; i++)
        if (a[i] > b[i]) return false;
    return true;
}

static bool equal(const double *a, const double *b, size_t objectives) {
    for (size_t i = 0; i < objectives; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static tn_point *covering(block *in, const double *value, size_t objectives) {
    if (!at_most(in->least, value, objectives)) return NULL;
    for (size_t i = 0; i < in->count; i++)
        if (at_most(in->point[i].value, value, objectives)) return &in->point[i];
    return NULL;
}

/* A point that is at most `value` everywhere, or NULL. */
static tn_point *find_covering(tn_archive *archive, const double *value) {
    if (archive->last_hit < archive->blocks) {
        tn_point *hit = covering(&archive->block[archive->last_hit], value, archive->objectives);
        if (hit) return hit;
    }
    for (size_t b = 0; b < archive->blocks; b++) {
        tn_point *hit = covering(&archive->block[b], value, archive->objectives);
        if (!hit) continue;
        archive->last_hit = b;
        return hit;
    }
    return NULL;
}

bool tn_archive_covers(tn_archive *archive, const double *value) {
    return find_covering(archive, value) != NULL;
}

/* Drops the points that `value` dominates; none of them equals it. */
static void drop_dominated(tn_archive *archive, const double *value) {
    size_t objectives = archive->objectives;
    for (size_t b = 0; b < archive->blocks; b++) {
        block *in = &archive->block[b];
        for (size_t i = 0; i < in->count;) {
            if (!at_most(value, in->point[i].value, objectives)) {
                i++;
                continue;
            }
            in->point[i] = in->point[--in->count];
            archive->count--;
        }
    }
}

static tn_status block_with_room(tn_archive *archive, block **found, tn_error *error) {
    if (archive->blocks && archive->block[archive->blocks - 1].count < BLOCK_POINTS) {
        *found = &archive->block[archive->blocks - 1];
        return TN_OK;
    }
    for (size_t b = 0; b < archive->blocks; b++)
        if (archive->block[b].count < BLOCK_POINTS / 4) {
            *found = &archive->block[b];
            return TN_OK;
        }
    TN_TRY(tn_grow(&archive->block, &archive->capacity, archive->blocks + 1, sizeof(block), error));
    *found = &archive->block[archive->blocks++];
    (*found)->count = 0;
    return TN_OK;
}

void tn_archive_clear(tn_archive *archive) {
    archive->count = archive->blocks = 0;
}

static tn_status offer(tn_archive *archive, const tn_point *point, bool *entered, tn_error *error) {
    tn_point *covered_by = find_covering(archive, point->value);
    *entered = !covered_by ||
               (point->id < covered_by->id && equal(point->value, covered_by->value, archive->objectives));
    if (covered_by) {
        if (*entered) covered_by->id = point->id;
        return TN_OK;
    }
    drop_dominated(archive, point->value);
    block *room;
    TN_TRY(block_with_room(archive, &room, error));
    for (size_t i = 0; i < archive->objectives; i++)
        if (room->count == 0 || point->value[i] < room->least[i]) room->least[i] = point->value[i];
    room->point[room->count++] = *point;
    archive->count++;
    return TN_OK;
}

tn_status tn_archive_offer(tn_archive *archive, const tn_point *point, tn_error *error) {
    bool entered;
    return offer(archive, point, &entered, error);
}

tn_status tn_archive_absorb(tn_archive *archive, tn_archive *from, tn_error *error) {
    for (size_t b = 0; b < from->blocks; b++) {
        block *in = &from->block[b];
        for (size_t i = 0; i < in->count;) {
            bool entered;
            TN_TRY(offer(archive, &in->point[i], &entered, error));
            if (entered) {
                i++;
                continue;
            }
            in->point[i] = in->point[--in->count];
            from->count--;
        }
    }
    return TN_OK;
}

static int by_id(const void *a, const void *b) {
    uint64_t left = ((const tn_point *)a)->id, right = ((const tn_point *)b)->id;
    return (left > right) - (left < right);
}

void tn_archive_points(const tn_archive *archive, tn_point *points) {
    size_t count = 0;
    for (size_t b = 0; b < archive->blocks; b++) {
        memcpy(points + count, archive->block[b].point, archive->block[b].count * sizeof *points);
        count += archive->block[b].count;
    }
    if (count) qsort(points, count, sizeof *points, by_id);
}
