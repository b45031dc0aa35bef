#include "decompose/truncated_svd.h"

#include "base/checked.h"
#include "base/memory.h"
#include "base/random.h"
#include "decompose/dense.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { POWER_ITERATIONS = 2, LANCZOS_STEPS = 24 };

typedef struct {
    double *y; /* p x width */
    double *z; /* q x width, later the width x q matrix Q^T A */
    double *triangle, *turn, *turn_right;
    float *a, *in, *out; /* float32: p x q, and the longer of y and z twice */
} workspace;

/* c = op(A) b in float32, A's values as they are scaled. */
static void multiply_single(bool transpose, uint64_t p, uint64_t q, uint64_t width, const workspace *w,
                            const double *b, double *c) {
    const uint64_t rows = transpose ? q : p, inner = transpose ? p : q;
    for (uint64_t i = 0; i < inner * width; i++) w->in[i] = (float)b[i];
    tn_dense_multiply_single(transpose, false, rows, width, inner, w->a, w->in, w->out);
    for (uint64_t i = 0; i < rows * width; i++) c[i] = w->out[i];
}

/* To float32, the greatest value 1: only directions are sought. */
static void scale_single(uint64_t count, const double *a, float *scaled) {
    double most = 0;
    for (uint64_t i = 0; i < count; i++) most = fmax(most, fabs(a[i]));
    for (uint64_t i = 0; i < count; i++) scaled[i] = most > 0 ? (float)(a[i] / most) : 0;
}

static tn_status find(uint64_t p, uint64_t q, const double *a, uint64_t width, uint64_t seed,
                      const workspace *w, tn_range *range, tn_error *error) {
    TN_TRY(tn_random_fill_normal(seed, w->z, q * width, error));
    scale_single(p * q, a, w->a);
    multiply_single(false, p, q, width, w, w->z, w->y);
    for (int i = 0; i < POWER_ITERATIONS; i++) {
        TN_TRY(tn_dense_qr(p, width, w->y, NULL, error));
        multiply_single(true, p, q, width, w, w->y, w->z);
        TN_TRY(tn_dense_qr(q, width, w->z, NULL, error));
        if (i + 1 < POWER_ITERATIONS)
            multiply_single(false, p, q, width, w, w->z, w->y);
        else
            tn_dense_multiply(false, false, p, width, q, a, w->z, w->y);
    }
    TN_TRY(tn_dense_qr(p, width, w->y, NULL, error));
    tn_dense_multiply(true, false, width, q, p, w->y, a, w->z);
    TN_TRY(tn_dense_residual(p, q, width, a, w->y, w->z, &range->residual_squares, error));
    TN_TRY(tn_dense_reduce(width, q, w->z, w->triangle, error));
    TN_TRY(tn_dense_svd(width, width, w->triangle, w->turn, range->value, w->turn_right, error));
    tn_dense_multiply(false, false, p, width, width, w->y, w->turn, range->basis);
    return TN_OK;
}

tn_status tn_range_find(uint64_t p, uint64_t q, const double *a, uint64_t width, uint64_t seed,
                        tn_range *range, tn_error *error) {
    *range = (tn_range){.width = width};
    workspace w = {0};
    tn_status status = tn_alloc(p * width, sizeof(double), &range->basis, error);
    if (status == TN_OK) status = tn_alloc(width, sizeof(double), &range->value, error);
    if (status == TN_OK) status = tn_alloc(p * width, sizeof(double), &w.y, error);
    if (status == TN_OK) status = tn_alloc(q * width, sizeof(double), &w.z, error);
    if (status == TN_OK) status = tn_alloc(3 * width * width, sizeof(double), &w.triangle, error);
    if (status == TN_OK) status = TN_ALLOC(p * q + 2 * tn_greatest(p, q) * width, &w.a, error);
    if (status == TN_OK) {
        w.turn = w.triangle + width * width;
        w.turn_right = w.turn + width * width;
        w.in = w.a + p * q;
        w.out = w.in + tn_greatest(p, q) * width;
        status = find(p, q, a, width, seed, &w, range, error);
    }
    tn_free(w.y);
    tn_free(w.z);
    tn_free(w.triangle);
    tn_free(w.a);
    if (status != TN_OK) tn_range_free(range);
    return status;
}

void tn_range_free(tn_range *range) {
    tn_free(range->basis);
    tn_free(range->value);
    *range = (tn_range){0};
}

/* y = op(A) x in blocks of the result, one thread each. */
static void apply(bool transpose, uint64_t p, uint64_t q, const double *a, const double *x, double *y) {
    enum { BLOCK = 1024 };
    uint64_t count = transpose ? q : p;
    int64_t blocks = (int64_t)((count + BLOCK - 1) / BLOCK);
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (int64_t block = 0; block < blocks; block++) {
        uint64_t first = (uint64_t)block * BLOCK, size = count - first < BLOCK ? count - first : BLOCK;
        if (transpose)
            cblas_dgemv(CblasRowMajor, CblasTrans, (int)p, (int)size, 1.0, a + first, (int)q, x, 1, 0.0,
                        y + first, 1);
        else
            cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)size, (int)q, 1.0, a + first * q, (int)q, x, 1, 0.0,
                        y + first, 1);
    }
}

/* x -= basis basis^T x */
static void leave_range(uint64_t p, const tn_range *range, double *x, double *small) {
    int rows = (int)p, width = (int)range->width;
    cblas_dgemv(CblasRowMajor, CblasTrans, rows, width, 1.0, range->basis, width, x, 1, 0.0, small, 1);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, width, -1.0, range->basis, width, small, 1, 1.0, x, 1);
}

typedef struct {
    double *now, *previous, *next; /* [p] */
    double *right;                 /* [q] */
    double *small;                 /* [width] */
    double diagonal[LANCZOS_STEPS], off_diagonal[LANCZOS_STEPS];
} lanczos;

/* Largest Ritz value of E E^T; the Lanczos vectors are not kept, as copies of converged values do no harm to
 * the largest one. */
static double largest_ritz(uint64_t p, uint64_t q, const double *a, const tn_range *range, lanczos *w) {
    leave_range(p, range, w->now, w->small);
    double length = sqrt(tn_sum_of_squares(w->now, p)), beta = 0;
    int steps = 0, info;
    for (uint64_t i = 0; length > 0 && i < p; i++) w->now[i] /= length;
    while (length > 0 && steps < LANCZOS_STEPS) {
        apply(true, p, q, a, w->now, w->right);
        apply(false, p, q, a, w->right, w->next);
        leave_range(p, range, w->next, w->small);
        double alpha = tn_sum_of_squares(w->right, q);
        for (uint64_t i = 0; i < p; i++) w->next[i] -= alpha * w->now[i] + beta * w->previous[i];
        beta = sqrt(tn_sum_of_squares(w->next, p));
        w->diagonal[steps] = alpha;
        w->off_diagonal[steps++] = beta;
        if (!(beta > 0)) break;
        double *spare = w->previous;
        w->previous = w->now;
        w->now = w->next;
        w->next = spare;
        for (uint64_t i = 0; i < p; i++) w->now[i] /= beta;
    }
    if (steps == 0) return 0;
    dsterf_(&steps, w->diagonal, w->off_diagonal, &info);
    return info == 0 ? w->diagonal[steps - 1] : INFINITY;
}

tn_status tn_range_excess(uint64_t p, uint64_t q, const double *a, const tn_range *range, uint64_t rank,
                          uint64_t seed, double *excess, tn_error *error) {
    lanczos w = {0};
    double *memory = NULL;
    TN_TRY(TN_ALLOC(3 * p + q + range->width, &memory, error));
    w.now = memory;
    w.previous = memory + p;
    w.next = memory + 2 * p;
    w.right = memory + 3 * p;
    w.small = w.right + q;
    tn_status status = tn_random_fill_normal(seed + 1, w.now, p, error);
    if (status == TN_OK) {
        double each = 4.0 / 3.0 * largest_ritz(p, q, a, range, &w);
        *excess = fmin(range->residual_squares, (double)rank * each);
    }
    tn_free(memory);
    return status;
}

const char *const tn_svd_method_names[] = {"auto", "exact", "randomised", NULL};

enum { OVERSAMPLING = 16, FIRST_WIDTH = 64, VERY_TALL = 4 /* rows a column from which a reduction pays */ };

/* Of the greatest singular value: a right vector is known to 1e-16 of that, a left one made of it to 1e-16 over this. */
static const double VALUE_TRUSTED = 1e-6;

uint64_t tn_svd_rank(const double *value, uint64_t count, double excess, const tn_svd_rule *rule,
                     double *loss) {
    uint64_t keep = tn_least(rule->cap, count), rank = count;
    double tail = excess; /* squares from the smallest value up, so that the small ones are not lost */
    double allowed = rule->tail * rule->tail;
    while (rank > 1 &&
           (rank > keep || (rule->tail >= 0 && tail + value[rank - 1] * value[rank - 1] <= allowed))) {
        rank--;
        tail += value[rank] * value[rank];
    }
    *loss = tail;
    return rank;
}

/* Keeps the leading `rank` of the `width` columns and of their singular values. */
static tn_status take_columns(uint64_t p, uint64_t width, const double *columns, const double *value,
                              tn_truncated_svd *cut, tn_error *error) {
    TN_TRY(TN_ALLOC(p * cut->rank, &cut->u, error));
    TN_TRY(TN_ALLOC(cut->rank, &cut->value, error));
    for (uint64_t i = 0; i < p; i++)
        memcpy(cut->u + i * cut->rank, columns + i * width, cut->rank * sizeof *columns);
    memcpy(cut->value, value, cut->rank * sizeof *value);
    return TN_OK;
}

/* Keeps the leading columns of `vectors` and projects the matrix on them. */
static tn_status project(uint64_t p, uint64_t q, const double *a, const double *vectors, uint64_t width,
                         const double *value, tn_truncated_svd *cut, tn_error *error) {
    TN_TRY(take_columns(p, width, vectors, value, cut, error));
    TN_TRY(TN_ALLOC(cut->rank * q, &cut->rest, error));
    tn_dense_multiply(true, false, cut->rank, q, p, cut->u, a, cut->rest);
    return TN_OK;
}

static tn_status keep_all(uint64_t p, uint64_t q, const double *a, tn_truncated_svd *cut, tn_error *error) {
    cut->rank = tn_least(p, q);
    cut->whole = p <= q;
    if (cut->whole) return TN_OK;
    TN_TRY(TN_ALLOC(p * q, &cut->u, error));
    TN_TRY(TN_ALLOC(q * q, &cut->rest, error));
    memcpy(cut->u, a, p * q * sizeof *a);
    return tn_dense_qr(p, q, cut->u, cut->rest, error);
}

/* work: l p x p, u p x p, vt p x p, s p */
static tn_status cut_wide(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                          tn_truncated_svd *cut, tn_error *error) {
    double *l = NULL;
    TN_TRY(TN_ALLOC(3 * p * p + p, &l, error));
    double *u = l + p * p, *vt = u + p * p, *s = vt + p * p;
    tn_status status = tn_dense_reduce(p, q, a, l, error);
    if (status == TN_OK) status = tn_dense_svd(p, p, l, u, s, vt, error);
    if (status == TN_OK) {
        cut->rank = tn_svd_rank(s, p, 0, rule, &cut->squared_loss);
        status = project(p, q, a, u, p, s, cut, error);
    }
    tn_free(l);
    return status;
}

/* u = a V diag(1 / s) for the leading rows of vt, which one step of Newton and Schulz, u (3 - u^T u) / 2, makes orthonormal
 * to the last digits: it leaves the square of what they lack. */
static tn_status left_vectors(uint64_t p, uint64_t q, const double *a, const double *vt, const double *s,
                              uint64_t rank, double *u, tn_error *error) {
    double *scaled = NULL;
    TN_TRY(TN_ALLOC(rank * q + rank * rank + p * rank, &scaled, error));
    double *gram = scaled + rank * q, *first = gram + rank * rank;
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < q; j++) scaled[i * q + j] = vt[i * q + j] / s[i];
    tn_dense_multiply(false, true, p, rank, q, a, scaled, first);
    tn_dense_multiply(true, false, rank, rank, p, first, first, gram);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++) gram[i * rank + j] = (i == j ? 1.5 : 0) - gram[i * rank + j] / 2;
    tn_dense_multiply(false, false, p, rank, rank, first, gram, u);
    tn_free(scaled);
    return TN_OK;
}

/* Right singular vectors, as rows, and values from the q x q factor of an orthogonal reduction of a^T.
 * work: at q x p, l q x q, v q x q, unused q x q */
static tn_status right_vectors(uint64_t p, uint64_t q, const double *a, double *vt, double *s,
                               tn_error *error) {
    double *element = NULL;
    TN_TRY(TN_ALLOC(q * p + 3 * q * q, &element, error));
    double *l = element + q * p, *v = l + q * q, *unused = v + q * q;
    for (uint64_t i = 0; i < p; i++)
        for (uint64_t j = 0; j < q; j++) element[j * p + i] = a[i * q + j];
    tn_status status = tn_dense_reduce(q, p, element, l, error);
    if (status == TN_OK) status = tn_dense_svd(q, q, l, v, s, unused, error);
    for (uint64_t i = 0; status == TN_OK && i < q; i++)
        for (uint64_t j = 0; j < q; j++) vt[i * q + j] = v[j * q + i];
    tn_free(element);
    return status;
}

/* The leading values, their right vectors times them, and the left ones. */
static tn_status keep_leading(uint64_t p, uint64_t q, const double *a, const double *vt, const double *s,
                              tn_truncated_svd *cut, tn_error *error) {
    TN_TRY(TN_ALLOC(p * cut->rank, &cut->u, error));
    TN_TRY(TN_ALLOC(cut->rank * q, &cut->rest, error));
    TN_TRY(TN_ALLOC(cut->rank, &cut->value, error));
    memcpy(cut->value, s, cut->rank * sizeof *s);
    for (uint64_t i = 0; i < cut->rank; i++)
        for (uint64_t j = 0; j < q; j++) cut->rest[i * q + j] = s[i] * vt[i * q + j];
    return left_vectors(p, q, a, vt, s, cut->rank, cut->u, error);
}

/* Of the greatest singular value, and of the squared norm: what the eigenvalues of a Gram matrix still tell. */
static const double GRAM_VALUE_TRUSTED = 1e-4, GRAM_LOSS_TRUSTED = 1e-8;

/* Singular values, falling, and vectors as rows of gram, of the smaller side, the least first. */
static tn_status decompose_gram(bool wide, uint64_t p, uint64_t q, const double *a, double *gram, double *s,
                                tn_error *error) {
    const uint64_t side = wide ? p : q;
    tn_dense_multiply(!wide, wide, side, side, wide ? q : p, a, a, gram);
    TN_TRY(tn_dense_eigen(side, gram, s, error));
    for (uint64_t i = 0; i < side / 2; i++) {
        const double swap = s[i];
        s[i] = s[side - 1 - i];
        s[side - 1 - i] = swap;
    }
    for (uint64_t i = 0; i < side; i++) s[i] = sqrt(fmax(s[i], 0));
    return TN_OK;
}

static tn_status cut_by_gram(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                             tn_truncated_svd *cut, bool *done, tn_error *error) {
    const bool wide = p <= q;
    const uint64_t side = wide ? p : q;
    double *gram = NULL;
    TN_TRY(TN_ALLOC(2 * side * side + side, &gram, error));
    double *vectors = gram + side * side, *s = vectors + side * side;
    tn_status status = decompose_gram(wide, p, q, a, gram, s, error);
    if (status == TN_OK) {
        cut->rank = tn_svd_rank(s, side, 0, rule, &cut->squared_loss);
        *done = s[cut->rank - 1] > GRAM_VALUE_TRUSTED * s[0] &&
                (cut->rank == side || cut->squared_loss > GRAM_LOSS_TRUSTED * tn_sum_of_squares(a, p * q));
    }
    for (uint64_t k = 0; *done && k < side; k++)
        for (uint64_t i = 0; i < side; i++)
            vectors[wide ? i * side + k : k * side + i] = gram[(side - 1 - k) * side + i];
    if (*done)
        status = wide ? project(p, q, a, vectors, p, s, cut, error)
                      : keep_leading(p, q, a, vectors, s, cut, error);
    tn_free(gram);
    return status;
}

/* *done stays false where a value is kept that is too small against the greatest for V to tell its left vector. */
static tn_status cut_very_tall(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                               tn_truncated_svd *cut, bool *done, tn_error *error) {
    double *vt = NULL;
    TN_TRY(TN_ALLOC(q * q + q, &vt, error));
    double *s = vt + q * q;
    tn_status status = right_vectors(p, q, a, vt, s, error);
    if (status == TN_OK) cut->rank = tn_svd_rank(s, q, 0, rule, &cut->squared_loss);
    *done = status == TN_OK && s[cut->rank - 1] > VALUE_TRUSTED * s[0];
    if (*done) status = keep_leading(p, q, a, vt, s, cut, error);
    tn_free(vt);
    return status;
}

static tn_status cut_tall(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                          tn_truncated_svd *cut, tn_error *error) {
    double *copy = NULL;
    TN_TRY(TN_ALLOC(2 * p * q + q * q + q, &copy, error));
    double *u = copy + p * q, *vt = u + p * q, *s = vt + q * q;
    memcpy(copy, a, p * q * sizeof *a);
    tn_status status = tn_dense_svd(p, q, copy, u, s, vt, error);
    if (status == TN_OK) {
        cut->rank = tn_svd_rank(s, q, 0, rule, &cut->squared_loss);
        status = take_columns(p, q, u, s, cut, error);
    }
    if (status == TN_OK) status = TN_ALLOC(cut->rank * q, &cut->rest, error);
    for (uint64_t i = 0; status == TN_OK && i < cut->rank; i++)
        for (uint64_t j = 0; j < q; j++) cut->rest[i * q + j] = s[i] * vt[i * q + j];
    tn_free(copy);
    return status;
}

/* Widens the basis until the rule is met inside it; *done stays false where that takes too much of the
 * matrix. */
static tn_status cut_by_range(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                              tn_truncated_svd *cut, bool *done, tn_error *error) {
    uint64_t most = tn_least(p, q) / 4;
    uint64_t width = tn_least(rule->cap, rule->tail >= 0 ? FIRST_WIDTH : most) + OVERSAMPLING;
    for (*done = false; !*done && width <= tn_least(p, q); width *= 2) {
        tn_range range;
        TN_TRY(tn_range_find(p, q, a, width, rule->seed, &range, error));
        tn_status status = TN_OK;
        *done = rule->tail < 0 || range.residual_squares <= rule->tail * rule->tail || width > rule->cap;
        if (*done) {
            cut->rank = tn_svd_rank(range.value, width, range.residual_squares, rule, &cut->squared_loss);
            cut->randomised = true;
            status = tn_range_excess(p, q, a, &range, cut->rank, rule->seed, &cut->squared_excess, error);
            if (status == TN_OK) status = project(p, q, a, range.basis, width, range.value, cut, error);
        }
        tn_range_free(&range);
        TN_TRY(status);
        if (width > most) break;
    }
    return TN_OK;
}

static bool may_randomise(uint64_t p, uint64_t q, const tn_svd_rule *rule) {
    uint64_t side = tn_least(p, q);
    if (rule->method == TN_SVD_EXACT || (rule->cap != UINT64_MAX && rule->cap > side / 4)) return false;
    if (rule->cap == UINT64_MAX && rule->tail < 0) return false;
    return rule->method == TN_SVD_RANDOMISED ? side >= 8 * OVERSAMPLING : side > TN_SVD_EXACT_MOST;
}

static tn_status cut_matrix(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                            tn_truncated_svd *cut, tn_error *error) {
    if (rule->tail < 0 && rule->cap >= tn_least(p, q) && !rule->singular)
        return keep_all(p, q, a, cut, error);
    bool done = false;
    if (may_randomise(p, q, rule)) TN_TRY(cut_by_range(p, q, a, rule, cut, &done, error));
    if (!done) TN_TRY(cut_by_gram(p, q, a, rule, cut, &done, error));
    if (!done && p >= VERY_TALL * q) TN_TRY(cut_very_tall(p, q, a, rule, cut, &done, error));
    if (done) return TN_OK;
    return p <= q ? cut_wide(p, q, a, rule, cut, error) : cut_tall(p, q, a, rule, cut, error);
}

tn_status tn_truncated_svd_make(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                                tn_truncated_svd *cut, tn_error *error) {
    *cut = (tn_truncated_svd){0};
    tn_status status = tn_dense_check(p, q, error);
    if (status == TN_OK) status = cut_matrix(p, q, a, rule, cut, error);
    if (status != TN_OK) tn_truncated_svd_free(cut);
    return status;
}

void tn_truncated_svd_free(tn_truncated_svd *cut) {
    tn_free(cut->u);
    tn_free(cut->rest);
    tn_free(cut->value);
    *cut = (tn_truncated_svd){0};
}
