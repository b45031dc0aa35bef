#include "knapsack/tradeoff.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double cost, objective;
} pair;

static int by_cost(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return (x->objective > y->objective) - (x->objective < y->objective);
}

/* Sorts and keeps what nothing else is as good as in both. */
static size_t keep_best(pair *points, size_t count) {
    size_t kept = 0;
    qsort(points, count, sizeof *points, by_cost);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || points[i].objective < points[kept - 1].objective) points[kept++] = points[i];
    return kept;
}

/* Counts, or with `couple` also keeps, the points of a thinning by the factor. The last one, of least objective,
 * always stays. */
static size_t thin_by(const pair *points, size_t count, double factor, pair *couple) {
    size_t kept = 0;
    double last = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && i + 1 < count && last <= points[i].objective * factor) continue;
        last = points[i].objective;
        if (couple) couple[kept] = points[i];
        kept++;
    }
    return kept;
}

/* The least factor, to a thousandth of its excess over 1, that leaves at most `most`. */
static double thin(pair *points, size_t *count, size_t most) {
    double low = 0, high = 1e-6;
    if (*count <= most) return 1;
    while (thin_by(points, *count, 1 + high, NULL) > most && high < 1e300) high *= 2;
    for (int i = 0; i < 10; i++) {
        double middle = (low + high) / 2;
        if (thin_by(points, *count, 1 + middle, NULL) > most)
            low = middle;
        else
            high = middle;
    }
    *count = thin_by(points, *count, 1 + high, points);
    return 1 + high;
}

/* Candidates of one layer as points. */
static size_t layer_points(const tn_knapsack *c, size_t layer, size_t cost, pair *points) {
    size_t count = 0;
    for (size_t i = c->first[layer]; i < c->first[layer + 1]; i++)
        points[count++] = (pair){c->cost[i * c->costs + cost], c->objective[i]};
    return keep_best(points, count);
}

static size_t most_candidates(const tn_knapsack *c) {
    size_t most = 0;
    for (size_t l = 0; l < c->layers; l++)
        if (c->first[l + 1] - c->first[l] > most) most = c->first[l + 1] - c->first[l];
    return most;
}

typedef struct {
    pair *sum, *product, *layer; /* the front so far, its sums with a layer, the layer */
    pair *edge;                  /* falling edges of all layers' hulls: cost and objective they gain */
    size_t count, edges;
    double least_cost, start; /* objective and cost where every layer takes its cheapest candidate */
} workspace;

static tn_status merge(const tn_knapsack *c, size_t cost, size_t most, workspace *w, tn_tradeoff *front,
                       tn_error *error) {
    w->sum[0] = (pair){0, 0};
    w->count = 1;
    for (size_t l = 0; l < c->layers; l++) {
        size_t candidates = layer_points(c, l, cost, w->layer), products = 0;
        for (size_t i = 0; i < w->count; i++)
            for (size_t j = 0; j < candidates; j++)
                w->product[products++] =
                    (pair){w->sum[i].cost + w->layer[j].cost, w->sum[i].objective + w->layer[j].objective};
        w->count = keep_best(w->product, products);
        double factor = thin(w->product, &w->count, most);
        front->exact = front->exact && factor == 1;
        front->worst_factor *= factor;
        memcpy(w->sum, w->product, w->count * sizeof *w->sum);
    }
    return front->worst_factor < INFINITY ? TN_OK : tn_fail(error, TN_LIMIT, "the front can't be thinned");
}

/* Slope between two points: objective saved per cost. */
static double saving(pair source, pair target) {
    return (source.objective - target.objective) / (target.cost - source.cost);
}

/* Appends the edges of the lower convex hull of a layer's front (cost rising, objective falling). */
static void add_hull(const pair *points, size_t count, pair *hull, workspace *w) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        while (size >= 2 && saving(hull[size - 2], hull[size - 1]) <= saving(hull[size - 1], points[i]))
            size--;
        hull[size++] = points[i];
    }
    w->least_cost += hull[0].cost;
    w->start += hull[0].objective;
    for (size_t i = 1; i < size; i++)
        w->edge[w->edges++] =
            (pair){hull[i].cost - hull[i - 1].cost, hull[i - 1].objective - hull[i].objective};
}

static int by_saving(const void *a, const void *b) {
    const pair *x = a, *y = b;
    double left = x->objective * y->cost, right = y->objective * x->cost;
    if (left != right) return left > right ? -1 : 1;
    return by_cost(a, b);
}

/* The hull of the sums is the layers' hulls' edges put end to end, steepest first. */
static void bound(const tn_knapsack *c, size_t cost, workspace *w, tn_tradeoff *front) {
    for (size_t l = 0; l < c->layers; l++) {
        size_t count = layer_points(c, l, cost, w->layer);
        add_hull(w->layer, count, w->product, w);
    }
    qsort(w->edge, w->edges, sizeof *w->edge, by_saving);
    double moment = w->least_cost, value = w->start;
    size_t edge = 0;
    for (size_t i = 0; i < front->count; i++) {
        tn_tradeoff_point *point = &front->point[i];
        for (; edge < w->edges && moment + w->edge[edge].cost <= point->cost; edge++) {
            moment += w->edge[edge].cost;
            value -= w->edge[edge].objective;
        }
        double part =
            edge < w->edges ? (point->cost - moment) / w->edge[edge].cost * w->edge[edge].objective : 0;
        point->lower_bound = fmax(0, fmin(point->objective, value - part));
    }
}

static tn_status make(const tn_knapsack *c, size_t cost, size_t most, workspace *w, tn_tradeoff *front,
                      tn_error *error) {
    TN_TRY(merge(c, cost, most, w, front, error));
    TN_TRY(TN_ALLOC(w->count, &front->point, error));
    front->count = w->count;
    for (size_t i = 0; i < w->count; i++)
        front->point[i] = (tn_tradeoff_point){.cost = w->sum[i].cost, .objective = w->sum[i].objective};
    bound(c, cost, w, front);
    return TN_OK;
}

tn_status tn_tradeoff_make(const tn_knapsack *choices, size_t cost, size_t most_points, tn_tradeoff *front,
                           tn_error *error) {
    *front = (tn_tradeoff){.exact = true, .worst_factor = 1};
    TN_TRY(tn_knapsack_check(choices, error));
    size_t most = most_points ? most_points : TN_TRADEOFF_POINTS, candidates = most_candidates(choices);
    workspace w = {0};
    tn_status status = TN_ALLOC(most + 2, &w.sum, error);
    if (status == TN_OK) status = TN_ALLOC((most + 2) * (candidates + 1), &w.product, error);
    if (status == TN_OK) status = TN_ALLOC(candidates, &w.layer, error);
    if (status == TN_OK) status = TN_ALLOC(choices->first[choices->layers], &w.edge, error);
    if (status == TN_OK) status = make(choices, cost, most, &w, front, error);
    tn_free(w.sum);
    tn_free(w.product);
    tn_free(w.layer);
    tn_free(w.edge);
    if (status != TN_OK) tn_tradeoff_free(front);
    return status;
}

void tn_tradeoff_free(tn_tradeoff *front) {
    tn_free(front->point);
    *front = (tn_tradeoff){0};
}
