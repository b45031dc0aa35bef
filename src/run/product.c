#include "run/product.h"

#include "base/memory.h"

#include <cblas.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

void tn_axes_add(tn_axes *axes, uint32_t index, uint64_t size) {
    if (size == 1) return;
    axes->index[axes->count] = index;
    axes->size[axes->count++] = size;
}

tn_axes tn_axes_of(const uint64_t *index_size, tn_indices indices) {
    tn_axes axes = {0};
    for (uint32_t i = 0; i < indices.count; i++)
        tn_axes_add(&axes, indices.index[i], index_size[indices.index[i]]);
    return axes;
}

bool tn_axes_have(const tn_axes *axes, uint32_t index) {
    for (size_t i = 0; i < axes->count; i++)
        if (axes->index[i] == index) return true;
    return false;
}

bool tn_axes_equal(const tn_axes *a, const tn_axes *b) {
    return a->count == b->count && memcmp(a->index, b->index, a->count * sizeof *a->index) == 0;
}

uint64_t tn_axes_elements(const tn_axes *axes) {
    uint64_t elements = 1;
    for (size_t i = 0; i < axes->count; i++) elements *= axes->size[i];
    return elements;
}

void tn_axes_strides(const tn_axes *array, const tn_axes *loop, size_t *stride) {
    size_t step = 1;
    for (size_t i = array->count; i-- > 0;) {
        for (size_t j = 0; j < loop->count; j++)
            if (loop->index[j] == array->index[i]) stride[j] = step;
        step *= array->size[i];
    }
}

static void copy_run(size_t element_bytes, const char *values, size_t stride, uint64_t count, char *out) {
    if (stride == 1) {
        memcpy(out, values, count * element_bytes);
    } else if (element_bytes == sizeof(double)) {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(double), values + i * stride * sizeof(double), sizeof(double));
    } else {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(float), values + i * stride * sizeof(float), sizeof(float));
    }
}

void tn_permute(size_t element_bytes, const tn_axes *source, const tn_axes *target, const void *values,
                void *out) {
    size_t stride[TN_PERMUTE_AXES_MOST] = {0}, index = 0, outer = target->count ? target->count - 1 : 0;
    uint64_t counter[TN_PERMUTE_AXES_MOST] = {0}, run = target->count ? target->size[outer] : 1;
    uint64_t runs = tn_axes_elements(target) / run;
    char *next = out;
    tn_axes_strides(source, target, stride);
    for (uint64_t r = 0; r < runs; r++) {
        copy_run(element_bytes, (const char *)values + index * element_bytes, stride[outer], run, next);
        next += run * element_bytes;
        for (size_t axis = outer; axis-- > 0;) {
            index += stride[axis];
            if (++counter[axis] < target->size[axis]) break;
            index -= target->size[axis] * stride[axis];
            counter[axis] = 0;
        }
    }
}

const char *const tn_real_names[] = {"float64", "float32", NULL};

size_t tn_real_bytes(tn_real real) {
    return real == TN_FLOAT64 ? sizeof(double) : sizeof(float);
}

/* A product planned: the axes of both operands sorted, and how each array lies. */
typedef struct plan {
    tn_axes a, b, out;                       /* as given */
    tn_axes batch, rows, reduction, columns; /* reduction in the order that spares permutations */
    bool a_transposed, b_transposed;         /* (batch, reduction, rows), (batch, columns, reduction) */
    bool a_permuted, b_permuted, out_permuted;
} plan;

static void sort_axes(plan *p) {
    for (size_t i = 0; i < p->a.count; i++) {
        bool on_b = tn_axes_have(&p->b, p->a.index[i]), on_out = tn_axes_have(&p->out, p->a.index[i]);
        tn_axes_add(!on_b ? &p->rows : on_out ? &p->batch : &p->reduction, p->a.index[i], p->a.size[i]);
    }
    for (size_t i = 0; i < p->b.count; i++)
        if (!tn_axes_have(&p->a, p->b.index[i])) tn_axes_add(&p->columns, p->b.index[i], p->b.size[i]);
}

static tn_axes joined(const tn_axes *first, const tn_axes *second, const tn_axes *third) {
    tn_axes all = *first;
    for (size_t i = 0; i < second->count; i++) tn_axes_add(&all, second->index[i], second->size[i]);
    for (size_t i = 0; i < third->count; i++) tn_axes_add(&all, third->index[i], third->size[i]);
    return all;
}

static bool lies(const tn_axes *array, const tn_axes *first, const tn_axes *second, const tn_axes *third) {
    tn_axes all = joined(first, second, third);
    return tn_axes_equal(array, &all);
}

/* The reduction's axes in the order in which `operand` has them. */
static tn_axes in_order_of(const tn_axes *operand, const tn_axes *reduction) {
    tn_axes ordered = {0};
    for (size_t i = 0; i < operand->count; i++)
        if (tn_axes_have(reduction, operand->index[i]))
            tn_axes_add(&ordered, operand->index[i], operand->size[i]);
    return ordered;
}

static void lay_operands(plan *p) {
    p->a_transposed = lies(&p->a, &p->batch, &p->reduction, &p->rows);
    p->a_permuted = !p->a_transposed && !lies(&p->a, &p->batch, &p->rows, &p->reduction);
    p->b_transposed = lies(&p->b, &p->batch, &p->columns, &p->reduction);
    p->b_permuted = !p->b_transposed && !lies(&p->b, &p->batch, &p->reduction, &p->columns);
}

static plan make_plan(const uint64_t *index_size, tn_indices a, tn_indices b, tn_indices out) {
    plan p = {
        .a = tn_axes_of(index_size, a), .b = tn_axes_of(index_size, b), .out = tn_axes_of(index_size, out)};
    sort_axes(&p);
    p.out_permuted = !lies(&p.out, &p.batch, &p.rows, &p.columns);
    lay_operands(&p);
    if (p.a_permuted || p.b_permuted) {
        plan other = p;
        other.reduction = in_order_of(&p.b, &p.reduction);
        lay_operands(&other);
        if (other.a_permuted + other.b_permuted < p.a_permuted + p.b_permuted) return other;
    }
    return p;
}

/* Whether the transposed product leaves the result as asked for. */
static bool wants_transposed(const plan *p) {
    return p->out_permuted && lies(&p->out, &p->batch, &p->columns, &p->rows);
}

typedef struct gemm {
    tn_real real;
    uint64_t batch, rows, reduction, columns;
    bool a_transposed, b_transposed;
} gemm;

static void one_gemm(const gemm *g, const void *a, const void *b, void *out) {
    enum CBLAS_TRANSPOSE on_a = g->a_transposed ? CblasTrans : CblasNoTrans;
    enum CBLAS_TRANSPOSE on_b = g->b_transposed ? CblasTrans : CblasNoTrans;
    int m = (int)g->rows, n = (int)g->columns, k = (int)g->reduction;
    int lda = g->a_transposed ? m : k, ldb = g->b_transposed ? k : n;
    if (g->real == TN_FLOAT64)
        cblas_dgemm(CblasRowMajor, on_a, on_b, m, n, k, 1.0, a, lda, b, ldb, 0.0, out, n);
    else
        cblas_sgemm(CblasRowMajor, on_a, on_b, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, out, n);
}

static void all_gemms(const gemm *g, const void *a, const void *b, void *out, tn_product_work *work) {
    size_t bytes = tn_real_bytes(g->real);
    size_t step_a = g->rows * g->reduction * bytes, step_b = g->reduction * g->columns * bytes;
    size_t step_out = g->rows * g->columns * bytes;
    for (uint64_t i = 0; i < g->batch; i++) {
        one_gemm(g, (const char *)a + i * step_a, (const char *)b + i * step_b, (char *)out + i * step_out);
        work->macs += g->rows * g->reduction * g->columns;
        work->calls++;
    }
}

static tn_status check_dimensions(const gemm *g, tn_error *error) {
    if (g->rows > INT_MAX || g->reduction > INT_MAX || g->columns > INT_MAX)
        return tn_fail(error, TN_LIMIT,
                       "a product of %" PRIu64 " x %" PRIu64 " by %" PRIu64 " x %" PRIu64
                       "; BLAS takes at most %d a side",
                       g->rows, g->reduction, g->reduction, g->columns, INT_MAX);
    return TN_OK;
}

/* *unfolded = the values in the order of `wanted`, in *scratch if they must be moved. */
static tn_status unfold(tn_real real, const tn_axes *given, const tn_axes *wanted, bool permuted,
                        const void *values, void **scratch, const void **unfolded, tn_product_work *work,
                        tn_error *error) {
    *unfolded = values;
    if (!permuted) return TN_OK;
    uint64_t elements = tn_axes_elements(given);
    TN_TRY(tn_alloc(elements, tn_real_bytes(real), scratch, error));
    tn_permute(tn_real_bytes(real), given, wanted, values, *scratch);
    work->permuted_elements += elements;
    *unfolded = *scratch;
    return TN_OK;
}

typedef struct scratch {
    void *a, *b, *out;
} scratch;

static tn_status multiply(const plan *p, tn_real real, const void *a, const void *b, void *out, scratch *own,
                          tn_product_work *work, tn_error *error) {
    const gemm g = {real,
                    tn_axes_elements(&p->batch),
                    tn_axes_elements(&p->rows),
                    tn_axes_elements(&p->reduction),
                    tn_axes_elements(&p->columns),
                    p->a_transposed,
                    p->b_transposed};
    const tn_axes unfolded_a = joined(&p->batch, &p->rows, &p->reduction);
    const tn_axes unfolded_b = joined(&p->batch, &p->reduction, &p->columns);
    const tn_axes natural = joined(&p->batch, &p->rows, &p->columns);
    TN_TRY(check_dimensions(&g, error));
    TN_TRY(unfold(real, &p->a, &unfolded_a, p->a_permuted, a, &own->a, &a, work, error));
    TN_TRY(unfold(real, &p->b, &unfolded_b, p->b_permuted, b, &own->b, &b, work, error));
    uint64_t elements = tn_axes_elements(&natural);
    if (p->out_permuted) TN_TRY(tn_alloc(elements, tn_real_bytes(real), &own->out, error));
    all_gemms(&g, a, b, p->out_permuted ? own->out : out, work);
    if (p->out_permuted) {
        tn_permute(tn_real_bytes(real), &natural, &p->out, own->out, out);
        work->permuted_elements += elements;
    }
    uint64_t used = (own->a ? tn_axes_elements(&p->a) : 0) + (own->b ? tn_axes_elements(&p->b) : 0) +
                    (own->out ? elements : 0);
    if (used > work->scratch_elements) work->scratch_elements = used;
    return TN_OK;
}

tn_status tn_run_product(tn_real real, const uint64_t *index_size, tn_operand a, tn_operand b,
                         tn_indices out_indices, void *out, tn_product_work *work, tn_error *error) {
    plan p = make_plan(index_size, a.indices, b.indices, out_indices);
    if (wants_transposed(&p)) {
        tn_operand swap = a;
        a = b;
        b = swap;
        p = make_plan(index_size, a.indices, b.indices, out_indices);
    }
    scratch own = {0};
    tn_status status = multiply(&p, real, a.values, b.values, out, &own, work, error);
    tn_free(own.a);
    tn_free(own.b);
    tn_free(own.out);
    return status;
}
