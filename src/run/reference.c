#include "run/reference.h"

#include "base/memory.h"
#include "flow/search.h"
#include "run/product.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

/* The axes of a loop nest, and how far one step along each is in the arrays concerned. */
typedef struct nest {
    tn_axes axes;
    size_t stride_a[TN_PERMUTE_AXES_MOST], stride_b[TN_PERMUTE_AXES_MOST];
} nest;

/* One step of an odometer over the axes, last axis fastest. */
static void advance(const nest *loop, uint64_t *counter, size_t *at_a, size_t *at_b) {
    for (size_t i = loop->axes.count; i-- > 0;) {
        *at_a += loop->stride_a[i];
        *at_b += loop->stride_b[i];
        if (++counter[i] < loop->axes.size[i]) return;
        *at_a -= loop->axes.size[i] * loop->stride_a[i];
        *at_b -= loop->axes.size[i] * loop->stride_b[i];
        counter[i] = 0;
    }
}

/* The summed axes: the last one apart, as the inmost loop. */
typedef struct summed {
    nest others;
    uint64_t runs, run;
    size_t step_a, step_b;
} summed;

static summed summed_axes(const tn_axes *on_a, const tn_axes *on_b, const tn_axes *on_out) {
    summed s = {.run = 1};
    const tn_axes *both[] = {on_a, on_b};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < both[side]->count; i++) {
            uint32_t index = both[side]->index[i];
            if (!tn_axes_have(on_out, index) && !tn_axes_have(&s.others.axes, index))
                tn_axes_add(&s.others.axes, index, both[side]->size[i]);
        }
    tn_axes_strides(on_a, &s.others.axes, s.others.stride_a);
    tn_axes_strides(on_b, &s.others.axes, s.others.stride_b);
    if (s.others.axes.count > 0) {
        size_t last = --s.others.axes.count;
        s.run = s.others.axes.size[last];
        s.step_a = s.others.stride_a[last];
        s.step_b = s.others.stride_b[last];
    }
    s.runs = tn_axes_elements(&s.others.axes);
    return s;
}

static double sum_run(const summed *s, const double *a, const double *b) {
    double sum = 0;
    for (uint64_t i = 0; i < s->run; i++) sum += a[i * s->step_a] * b[i * s->step_b];
    return sum;
}

static double sum_products(const summed *s, const double *a, const double *b) {
    if (s->runs == 1) return sum_run(s, a, b);
    uint64_t counter[TN_PERMUTE_AXES_MOST] = {0};
    size_t at_a = 0, at_b = 0;
    double sum = 0;
    for (uint64_t r = 0; r < s->runs; r++) {
        sum += sum_run(s, a + at_a, b + at_b);
        advance(&s->others, counter, &at_a, &at_b);
    }
    return sum;
}

/* out = the sum of a * b over the axes that are on a or b and not on out. */
static void contract_pair(const tn_axes *on_a, const double *a, const tn_axes *on_b, const double *b,
                          const tn_axes *on_out, double *out) {
    nest outer = {.axes = *on_out};
    const summed inner = summed_axes(on_a, on_b, on_out);
    tn_axes_strides(on_a, &outer.axes, outer.stride_a);
    tn_axes_strides(on_b, &outer.axes, outer.stride_b);
    uint64_t counter[TN_PERMUTE_AXES_MOST] = {0}, elements = tn_axes_elements(on_out);
    size_t at_a = 0, at_b = 0;
    for (uint64_t i = 0; i < elements; i++) {
        out[i] = sum_products(&inner, a + at_a, b + at_b);
        advance(&outer, counter, &at_a, &at_b);
    }
}

static tn_status contract(const tn_network *network, const double *const *values, double *out,
                          tn_arena *arena, tn_error *error) {
    tn_search_result best;
    tn_indices *indices;
    const double **value;
    uint32_t n = network->tensors;
    TN_TRY(tn_search(network, NULL, arena, &best, error));
    TN_TRY(tn_tree_tensors(network, &best.tree, arena, &indices, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)n, &value, error));
    memcpy(value, values, n * sizeof *value);
    indices[2 * n - 2] = network->output;
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_merge merge = best.tree.merge[i];
        tn_axes a = tn_axes_of(network->index_size, indices[merge.a]);
        tn_axes b = tn_axes_of(network->index_size, indices[merge.b]);
        tn_axes axes = tn_axes_of(network->index_size, indices[n + i]);
        double *made = out;
        if (i + 2 < n) TN_TRY(TN_NEW(arena, tn_axes_elements(&axes), &made, error));
        contract_pair(&a, value[merge.a], &b, value[merge.b], &axes, made);
        value[n + i] = made;
    }
    return TN_OK;
}

tn_status tn_contract_plainly(const tn_network *network, const double *const *values, double *out,
                              tn_error *error) {
    tn_arena arena = {0};
    tn_status status = TN_OK;
    if (network->tensors == 1) {
        tn_axes source = tn_axes_of(network->index_size, network->tensor[0]);
        tn_axes target = tn_axes_of(network->index_size, network->output);
        tn_permute(sizeof *out, &source, &target, values[0], out);
    } else {
        status = contract(network, values, out, &arena, error);
    }
    tn_arena_free(&arena);
    return status;
}

/* A reference being made. */
typedef struct making {
    const tn_weight *weight;
    uint64_t tokens, rows, columns;
    tn_network matrix; /* of the cores alone, giving W */
    double *w, *dw;    /* M x N */
    tn_arena *arena, *scratch;
    tn_error *error;
} making;

static tn_status begin(making *m) {
    TN_TRY(tn_weight_rows(m->weight, &m->rows, m->error));
    TN_TRY(tn_weight_columns(m->weight, &m->columns, m->error));
    if (m->rows > INT_MAX || m->columns > INT_MAX || m->tokens > INT_MAX)
        return tn_fail(m->error, TN_LIMIT, "a dense product with a side over %d; the check needs less",
                       INT_MAX);
    TN_TRY(tn_weight_matrix(m->weight, m->scratch, &m->matrix, m->error));
    TN_TRY(TN_NEW(m->scratch, m->rows * m->columns, &m->w, m->error));
    return TN_NEW(m->scratch, m->rows * m->columns, &m->dw, m->error);
}

static tn_status multiply_dense(making *m, const double *x, const double *dy, tn_reference *reference) {
    int k = (int)m->tokens, rows = (int)m->rows, columns = (int)m->columns;
    TN_TRY(tn_arena_alloc(m->arena, m->tokens * m->rows, sizeof(double), &reference->y, m->error));
    TN_TRY(tn_arena_alloc(m->arena, m->tokens * m->columns, sizeof(double), &reference->dx, m->error));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, k, rows, columns, 1.0, x, columns, m->w, columns,
                0.0, reference->y, rows);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, columns, rows, 1.0, dy, rows, m->w, columns,
                0.0, reference->dx, columns);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, k, 1.0, dy, rows, x, columns, 0.0,
                m->dw, columns);
    return TN_OK;
}

/* dW in the place of core k. */
static tn_status core_gradient(making *m, uint32_t k, const double *const *core, double **gradient) {
    tn_network network = m->matrix;
    const double *values[TN_TENSORS_MOST];
    uint64_t elements;
    TN_TRY(TN_NEW(m->scratch, network.tensors, &network.tensor, m->error));
    memcpy(network.tensor, m->matrix.tensor, network.tensors * sizeof *network.tensor);
    memcpy(values, core, network.tensors * sizeof *values);
    network.tensor[k] = m->matrix.output;
    network.output = m->matrix.tensor[k];
    values[k] = m->dw;
    TN_TRY(tn_network_elements(&network, network.output, &elements, m->error));
    TN_TRY(TN_NEW(m->arena, elements, gradient, m->error));
    return tn_contract_plainly(&network, values, *gradient, m->error);
}

static tn_status make(making *m, const double *x, const double *dy, const double *const *core,
                      tn_reference *reference) {
    TN_TRY(begin(m));
    TN_TRY(tn_contract_plainly(&m->matrix, core, m->w, m->error));
    TN_TRY(multiply_dense(m, x, dy, reference));
    reference->cores = m->matrix.tensors;
    TN_TRY(TN_NEW(m->arena, reference->cores, &reference->dcore, m->error));
    for (uint32_t k = 0; k < reference->cores; k++) TN_TRY(core_gradient(m, k, core, &reference->dcore[k]));
    return TN_OK;
}

tn_status tn_reference_make(const tn_weight *weight, uint64_t tokens, const double *x, const double *dy,
                            const double *const *core, tn_arena *arena, tn_reference *reference,
                            tn_error *error) {
    tn_arena scratch = {0};
    making m = {.weight = weight, .tokens = tokens, .arena = arena, .scratch = &scratch, .error = error};
    *reference = (tn_reference){0};
    tn_status status = make(&m, x, dy, core, reference);
    tn_arena_free(&scratch);
    return status;
}
