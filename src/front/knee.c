#include "front/knee.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Values that are all of one sign (a maximised quantity is negated) are taken by logarithm. */
static tn_scale scale_of(const tn_point *point, size_t count, size_t axis) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, point[i].value[axis]);
        most = fmax(most, point[i].value[axis]);
    }
    return (tn_scale){.least = least, .most = most, .sign = least > 0 ? 1 : most < 0 ? -1 : 0};
}

void tn_scales(const tn_point *point, size_t count, size_t objectives, tn_scale *scale) {
    for (size_t j = 0; j < objectives; j++) scale[j] = scale_of(point, count, j);
}

double tn_scaled(tn_scale this_scale, double value) {
    if (this_scale.most == this_scale.least) return 0;
    if (this_scale.sign == 0) return (value - this_scale.least) / (this_scale.most - this_scale.least);
    double low = this_scale.sign * log(this_scale.sign * this_scale.least),
           high = this_scale.sign * log(this_scale.sign * this_scale.most);
    return (this_scale.sign * log(this_scale.sign * value) - low) / (high - low);
}

static double squared_distance(const tn_point *point, size_t objectives, const tn_scale *scale) {
    double sum = 0;
    for (size_t j = 0; j < objectives; j++) {
        double z = tn_scaled(scale[j], point->value[j]);
        sum += z * z;
    }
    return sum;
}

double tn_knee_distance(const tn_point *point, size_t objectives, const tn_scale *scale) {
    return sqrt(squared_distance(point, objectives, scale));
}

size_t tn_knee(const tn_point *point, size_t count, size_t objectives) {
    tn_scale scale[TN_OBJECTIVES_MOST];
    size_t nearest = 0;
    double least = INFINITY;
    tn_scales(point, count, objectives, scale);
    for (size_t i = 0; i < count; i++) {
        double distance = squared_distance(&point[i], objectives, scale);
        if (distance < least || (distance == least && point[i].id < point[nearest].id)) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

static bool covers(const tn_point *p, const tn_point *q, size_t objectives, double epsilon) {
    for (size_t i = 0; i < objectives; i++)
        if (p->value[i] > q->value[i] + epsilon * fabs(q->value[i])) return false;
    return true;
}

typedef struct {
    double sum; /* of scaled objectives */
    uint64_t id;
    size_t place;
} turn;

static int by_turn(const void *a, const void *b) {
    const turn *x = a, *y = b;
    return tn_value_order(x->sum, x->id, y->sum, y->id);
}

static void keep_uncovered(const tn_point *point, size_t count, size_t objectives, double epsilon,
                           const turn *order, size_t *chosen, bool *kept, size_t *left) {
    size_t chosen_count = 0;
    for (size_t i = 0; i < count; i++)
        if (kept[i]) chosen[chosen_count++] = i;
    for (size_t i = 0; i < count; i++) {
        size_t index = order[i].place;
        bool covered = kept[index];
        for (size_t k = 0; k < chosen_count && !covered; k++)
            covered = covers(&point[chosen[k]], &point[index], objectives, epsilon);
        if (covered) continue;
        kept[index] = true;
        chosen[chosen_count++] = index;
    }
    *left = chosen_count;
}

tn_status tn_thin(const tn_point *point, size_t count, size_t objectives, double epsilon, bool *kept,
                  size_t *left, tn_error *error) {
    turn *order = NULL;
    size_t *chosen = NULL;
    tn_scale scale[TN_OBJECTIVES_MOST];
    tn_status status = TN_ALLOC(count, &order, error);
    if (status == TN_OK) status = TN_ALLOC(count, &chosen, error);
    if (status == TN_OK && count > 0) {
        tn_scales(point, count, objectives, scale);
        for (size_t i = 0; i < count; i++) {
            order[i] = (turn){.id = point[i].id, .place = i};
            for (size_t j = 0; j < objectives; j++) order[i].sum += tn_scaled(scale[j], point[i].value[j]);
        }
        qsort(order, count, sizeof *order, by_turn);
        keep_uncovered(point, count, objectives, epsilon, order, chosen, kept, left);
    } else if (status == TN_OK) {
        *left = 0;
    }
    tn_free(chosen);
    tn_free(order);
    return status;
}
