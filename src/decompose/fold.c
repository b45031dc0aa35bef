#include "decompose/fold.h"

#include "base/memory.h"

size_t tn_fold_modes(const tn_weight *weight, uint64_t *mode) {
    uint32_t d = weight->d;
    if (weight->format == TN_TTM) {
        for (uint32_t k = 0; k < d; k++) mode[k] = weight->m[k] * weight->n[k];
        return d;
    }
    for (uint32_t k = 0; k < d; k++) {
        mode[k] = weight->m[k];
        mode[d + k] = weight->n[k];
    }
    return 2 * (size_t)d;
}

bool tn_fold_moves(const tn_weight *weight) {
    return weight->format == TN_TTM && weight->d > 1;
}

/* place[i] = sum over digits of i of digit * stride; factors and strides from the slowest digit. */
static void place_digits(const uint64_t *factor, const uint64_t *stride, uint32_t d, uint64_t count,
                         uint64_t *place) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t left = i, at = 0;
        for (uint32_t k = d; k-- > 0;) {
            at += left % factor[k] * stride[k];
            left /= factor[k];
        }
        place[i] = at;
    }
}

tn_status tn_places_make(const tn_weight *weight, tn_places *places, tn_error *error) {
    tn_places *p = places;
    *p = (tn_places){0};
    uint64_t row_stride[TN_FACTORS_MOST], column_stride[TN_FACTORS_MOST], step = 1;
    bool paired = weight->format == TN_TTM;
    TN_TRY(tn_weight_rows(weight, &p->rows, error));
    TN_TRY(tn_weight_columns(weight, &p->columns, error));
    for (uint32_t k = weight->d; k-- > 0;) {
        column_stride[k] = step;
        step *= weight->n[k];
        if (!paired) continue;
        row_stride[k] = step;
        step *= weight->m[k];
    }
    for (uint32_t k = weight->d; !paired && k-- > 0; step *= weight->m[k]) row_stride[k] = step;
    TN_TRY(tn_alloc(p->rows + p->columns, sizeof *p->row, &p->row, error));
    p->column = p->row + p->rows;
    place_digits(weight->m, row_stride, weight->d, p->rows, p->row);
    place_digits(weight->n, column_stride, weight->d, p->columns, p->column);
    return TN_OK;
}

void tn_places_free(tn_places *places) {
    tn_free(places->row);
    *places = (tn_places){0};
}

tn_status tn_fold(const tn_weight *weight, const double *w, double *folded, tn_error *error) {
    tn_places p;
    TN_TRY(tn_places_make(weight, &p, error));
    for (uint64_t i = 0; i < p.rows; i++)
        for (uint64_t j = 0; j < p.columns; j++) folded[p.row[i] + p.column[j]] = w[i * p.columns + j];
    tn_places_free(&p);
    return TN_OK;
}

tn_status tn_unfold(const tn_weight *weight, const double *folded, double *w, tn_error *error) {
    tn_places p;
    TN_TRY(tn_places_make(weight, &p, error));
    for (uint64_t i = 0; i < p.rows; i++)
        for (uint64_t j = 0; j < p.columns; j++) w[i * p.columns + j] = folded[p.row[i] + p.column[j]];
    tn_places_free(&p);
    return TN_OK;
}

void tn_fold_set_ranks(const tn_train *train, tn_weight *weight) {
    weight->rank_count = (uint32_t)train->cores + 1;
    for (size_t k = 0; k <= train->cores; k++) weight->rank[k] = train->rank[k];
}
