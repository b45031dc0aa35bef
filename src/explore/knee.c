#include "explore/knee.h"

#include <math.h>

typedef struct {
    double least, most;
    double sign; /* +1 or -1: logarithms of sign * value; 0: no logarithm */
} scale;

/* Values that are all of one sign (a maximised quantity is negated) are taken by logarithm. */
static scale scale_of(const tn_point *point, size_t count, size_t axis) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, point[i].value[axis]);
        most = fmax(most, point[i].value[axis]);
    }
    return (scale){.least = least, .most = most, .sign = least > 0 ? 1 : most < 0 ? -1 : 0};
}

static double scaled(scale by, double value) {
    if (by.most == by.least) return 0;
    if (by.sign == 0) return (value - by.least) / (by.most - by.least);
    double low = by.sign * log(by.sign * by.least), high = by.sign * log(by.sign * by.most);
    return (by.sign * log(by.sign * value) - low) / (high - low);
}

size_t tn_knee(const tn_point *point, size_t count, size_t objectives) {
    scale by[TN_OBJECTIVES_MOST];
    for (size_t j = 0; j < objectives; j++) by[j] = scale_of(point, count, j);
    size_t nearest = 0;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double distance = 0;
        for (size_t j = 0; j < objectives; j++) {
            double z = scaled(by[j], point[i].value[j]);
            distance += z * z;
        }
        if (distance < least || (distance == least && point[i].id < point[nearest].id)) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}
