#include "explore/wfg.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Points as they are taken apart, one set for each number of axes left: room[axes] holds count x axes values. */
typedef struct {
    double *room[TN_WFG_AXES_MOST + 1];
} sets;

static int compare_last(const double *a, const double *b, size_t axes) {
    for (size_t k = axes; k-- > 0;)
        if (a[k] != b[k]) return a[k] > b[k] ? -1 : 1;
    return 0;
}

#define ORDER(axes)                                                                                          \
    static int by_last_##axes(const void *a, const void *b) {                                                \
        return compare_last(a, b, axes);                                                                     \
    }
ORDER(1)
ORDER(2)
ORDER(3)
ORDER(4)
ORDER(5)
ORDER(6)
ORDER(7)
ORDER(8)

static int (*const orders[])(const void *, const void *) = {
    NULL, by_last_1, by_last_2, by_last_3, by_last_4, by_last_5, by_last_6, by_last_7, by_last_8};

static bool at_most(const double *a, const double *b, size_t axes) {
    for (size_t k = 0; k < axes; k++)
        if (a[k] > b[k]) return false;
    return true;
}

/* Keeps of [count] points those that none before or behind is at most; the number kept. */
static size_t keep_best(double *point, size_t count, size_t axes) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double *own = point + i * axes;
        bool beaten = false;
        for (size_t k = 0; !beaten && k < kept; k++) beaten = at_most(point + k * axes, own, axes);
        if (beaten) continue;
        size_t left = 0;
        for (size_t k = 0; k < kept; k++) {
            if (at_most(own, point + k * axes, axes)) continue;
            if (left != k) memcpy(point + left * axes, point + k * axes, axes * sizeof *point);
            left++;
        }
        kept = left;
        if (kept != i) memmove(point + kept * axes, own, axes * sizeof *point);
        kept++;
    }
    return kept;
}

/* Two axes: a staircase, from the worst in the second on. */
static double area(const double *point, size_t count) {
    double sum = 0, reach = 1;
    for (size_t i = count; i-- > 0;) { /* the best in the second first: the first then falls */
        const double *own = point + 2 * i;
        if (own[0] >= reach) continue;
        sum += (reach - own[0]) * (1 - own[1]);
        reach = own[0];
    }
    return sum;
}

static double volume_of(sets *in, size_t count, size_t axes) {
    double *point = in->room[axes], sum = 0;
    if (count == 0) return 0;
    qsort(point, count, axes * sizeof *point, orders[axes]);
    if (axes == 1) return 1 - point[count - 1];
    if (axes == 2) return area(point, count);
    for (size_t i = 0; i < count; i++) {
        const double *own = point + i * axes;
        double *limited = in->room[axes - 1], inside = 1;
        size_t others = 0;
        for (size_t k = 0; k + 1 < axes; k++) inside *= 1 - own[k];
        for (size_t j = i + 1; j < count; j++) {
            const double *other = point + j * axes;
            for (size_t k = 0; k + 1 < axes; k++)
                limited[others * (axes - 1) + k] = other[k] > own[k] ? other[k] : own[k];
            others++;
        }
        others = keep_best(limited, others, axes - 1);
        sum += (1 - own[axes - 1]) * (inside - volume_of(in, others, axes - 1));
    }
    return sum;
}

tn_status tn_wfg_volume(const double *point, size_t count, size_t axes, double *volume, tn_error *error) {
    sets in = {{NULL}};
    size_t inside = 0;
    tn_status status = TN_OK;
    for (size_t k = 1; status == TN_OK && k <= axes; k++)
        status = tn_alloc(count * k, sizeof *in.room[k], &in.room[k], error);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        bool counts = true;
        for (size_t k = 0; k < axes; k++) counts &= point[i * axes + k] < 1;
        if (counts) memcpy(in.room[axes] + axes * inside++, point + i * axes, axes * sizeof *point);
    }
    if (status == TN_OK) *volume = volume_of(&in, keep_best(in.room[axes], inside, axes), axes);
    for (size_t k = 1; k <= axes; k++) tn_free(in.room[k]);
    return status;
}
