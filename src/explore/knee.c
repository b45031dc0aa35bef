#include "explore/knee.h"

#include <math.h>

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

double tn_scaled(tn_scale by, double value) {
    if (by.most == by.least) return 0;
    if (by.sign == 0) return (value - by.least) / (by.most - by.least);
    double low = by.sign * log(by.sign * by.least), high = by.sign * log(by.sign * by.most);
    return (by.sign * log(by.sign * value) - low) / (high - low);
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
