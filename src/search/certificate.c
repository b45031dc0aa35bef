#include "search/certificate.h"

#include <math.h>

double tn_worse_by(const tn_space *space, size_t objective, double member, double bound) {
    if (member <= bound) return 1;
    if (space->objective[objective]->maximise) return member < 0 ? bound / member : INFINITY;
    return bound > 0 ? member / bound : INFINITY;
}

static double greatest_ratio(const tn_space *space, const tn_point *member, const double *bound) {
    double most = 1;
    for (size_t k = 0; k < space->objectives; k++)
        most = fmax(most, tn_worse_by(space, k, member->value[k], bound[k]));
    return most;
}

void tn_certify_factors(size_t objectives, double slack, double *factor, bool *exact) {
    *exact = true;
    for (size_t k = 0; k < objectives; k++) {
        factor[k] *= slack;
        if (factor[k] > 1 && isfinite(factor[k])) factor[k] *= 1 + 1e-9; /* rounding */
        *exact &= factor[k] == 1;
    }
}

void tn_certify(const tn_space *space, const tn_sums *bounds, double slack, const tn_point *member,
                size_t members, const uint32_t *own, double *factor, bool *exact) {
    for (size_t k = 0; k < space->objectives; k++) factor[k] = 1;
    for (size_t i = 0; i < bounds->count; i++) {
        double bound[TN_OBJECTIVES_MOST], least = INFINITY;
        size_t best = members;
        for (size_t k = 0; k < space->objectives; k++) bound[k] = bounds->value[k][i];
        if (own[i] < members) {
            best = own[i];
            least = greatest_ratio(space, &member[best], bound);
        }
        for (size_t m = 0; least > 1 && m < members; m++) {
            double most = greatest_ratio(space, &member[m], bound);
            if (most >= least) continue;
            least = most;
            best = m;
        }
        for (size_t k = 0; k < space->objectives; k++)
            factor[k] =
                fmax(factor[k],
                     best < members ? tn_worse_by(space, k, member[best].value[k], bound[k]) : INFINITY);
    }
    tn_certify_factors(space->objectives, slack, factor, exact);
}

bool tn_bounds_are_prices(const tn_sums *bounds, const tn_point *member, const uint32_t *own,
                          size_t objectives) {
    for (size_t i = 0; i < bounds->count; i++)
        for (size_t k = 0; k < objectives; k++)
            if (own[i] == UINT32_MAX || member[own[i]].value[k] != bounds->value[k][i]) return false;
    return true;
}
