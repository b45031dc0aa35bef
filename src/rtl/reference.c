#include "rtl/reference.h"

#include "base/memory.h"
#include "rtl/access.h"

#include <math.h>

typedef struct {
    const tn_rtl_design *design;
    const uint64_t *index_size;
    const tn_scalar_arithmetic *arithmetic;
    const tn_rtl_sample *sample;
    double *const *values;
    double *scalars;
} walker;

static uint64_t stride_of_axis(const tn_rtl_array *array, uint32_t axis) {
    uint64_t stride = 1;
    for (uint32_t k = axis + 1; k < array->layout.axes; k++) stride *= array->layout.dims[k];
    return stride;
}

static uint64_t stride_of(const tn_rtl_array *array, uint32_t index) {
    uint32_t axis = tn_rtl_axis_of(array, index);
    return axis == TN_RTL_NONE ? 0 : stride_of_axis(array, axis);
}

/* The operand's first element: of the whole array, or where the sample says. */
static double *operand(const walker *walk, uint32_t array, const tn_rtl_look *look) {
    double *values = walk->values[array];
    return look->used ? values + walk->sample->word[look->slot] *
                                     stride_of_axis(&walk->design->array[array], look->axis)
                      : values;
}

/* ---- products ---- */

/* One index of a product: its size and its stride in each of the three arrays, 0 where it is none of theirs. */
typedef struct {
    uint64_t size, stride[3];
    uint64_t added[TN_RTL_ADDED]; /* strides of the arrays that its write-back adds */
} loop;

typedef struct {
    loop outer[TN_BANK_LAYOUT_AXES * 3], inner[TN_BANK_LAYOUT_AXES + 2]; /* inner[0], inner[1]: cut */
    uint32_t outers, inners;
    uint64_t cut[2]; /* terms of a group along them */
    uint64_t terms;  /* of a block on a systolic array */
} nest;

static loop loop_of(const tn_rtl_array *const array[3], uint32_t index, uint64_t size) {
    return (loop){
        .size = size,
        .stride = {stride_of(array[0], index), stride_of(array[1], index), stride_of(array[2], index)}};
}

static nest nest_of(const walker *walk, const tn_rtl_operation *operation) {
    const tn_rtl_design *design = walk->design;
    const uint64_t *index_size = walk->index_size;
    const tn_rtl_array *const array[3] = {&design->array[operation->left], &design->array[operation->right],
                                          &design->array[operation->result]};
    uint64_t edge[3];
    tn_rtl_edges(design, operation, edge);
    nest made = {.inners = 2, .terms = edge[2], .cut = {operation->term.edge[0], operation->term.edge[1]}};
    for (uint32_t k = 0; k < array[2]->layout.axes; k++)
        if (array[2]->index[k] != TN_RTL_NONE)
            made.outer[made.outers++] = loop_of(array, array[2]->index[k], index_size[array[2]->index[k]]);
    for (int a = 0; a < TN_RTL_ADDED; a++)
        for (uint32_t k = 0, i = 0; k < array[2]->layout.axes && tn_rtl_adds(operation, a); k++)
            if (array[2]->index[k] != TN_RTL_NONE)
                made.outer[i++].added[a] =
                    stride_of(&design->array[operation->write_back.added[a]], array[2]->index[k]);
    for (int k = 0; k < 2; k++) {
        uint32_t index = operation->term.index[k];
        made.inner[k] = index == TN_RTL_NONE ? (loop){.size = 1} : loop_of(array, index, index_size[index]);
    }
    for (uint32_t k = array[0]->layout.axes; k-- > 0;) {
        uint32_t index = array[0]->index[k];
        bool summed = index != TN_RTL_NONE && tn_rtl_axis_of(array[1], index) != TN_RTL_NONE &&
                      tn_rtl_axis_of(array[2], index) == TN_RTL_NONE;
        if (summed && !tn_rtl_is_cut(&operation->term, index))
            made.inner[made.inners++] = loop_of(array, index, index_size[index]);
    }
    return made;
}

/* On a systolic array the terms of a block are added one behind the other, those beyond an index as zeros. */
static double array_sum(const walker *walk, const nest *loops, const double *left, const double *right,
                        const uint64_t *x, double total) {
    const loop *first = &loops->inner[0], *second = &loops->inner[1];
    for (uint64_t t = 0; t < loops->terms; t++) {
        uint64_t u = t / loops->cut[1], v = t % loops->cut[1];
        bool present = u < loops->cut[0] && x[0] + u < first->size && x[1] + v < second->size;
        double a = present ? left[u * first->stride[0] + v * second->stride[0]] : 0,
               b = present ? right[u * first->stride[1] + v * second->stride[1]] : 0;
        total = walk->arithmetic->add(total, walk->arithmetic->multiply(a, b));
    }
    return total;
}

/* The group of terms from x on along the cut indices: a tree over `terms` products, those beyond an index zero. */
static double group_sum(const walker *walk, const nest *loops, const double *left, const double *right,
                        const uint64_t *x) {
    double node[2 * TN_RTL_LANES_MOST];
    const loop *first = &loops->inner[0], *second = &loops->inner[1];
    uint64_t terms = walk->design->terms;
    for (uint64_t t = 0; t < terms; t++) {
        uint64_t u = t / loops->cut[1], v = t % loops->cut[1];
        bool present = u < loops->cut[0] && x[0] + u < first->size && x[1] + v < second->size;
        double a = present ? left[u * first->stride[0] + v * second->stride[0]] : 0,
               b = present ? right[u * first->stride[1] + v * second->stride[1]] : 0;
        node[terms + t] = walk->arithmetic->multiply(a, b);
    }
    for (uint64_t t = terms; t-- > 1;) node[t] = walk->arithmetic->add(node[2 * t], node[2 * t + 1]);
    return node[1];
}

static double sum(const walker *walk, const nest *loops, const double *left, const double *right) {
    uint64_t x[TN_BANK_LAYOUT_AXES + 2] = {0};
    double total = 0;
    for (;;) {
        const double *a = left, *b = right;
        for (uint32_t i = 0; i < loops->inners; i++) {
            a += x[i] * loops->inner[i].stride[0];
            b += x[i] * loops->inner[i].stride[1];
        }
        total = walk->design->systolic ? array_sum(walk, loops, a, b, x, total)
                                       : walk->arithmetic->add(total, group_sum(walk, loops, a, b, x));
        uint32_t i = 0;
        for (; i < loops->inners; i++) {
            x[i] += i < 2 ? loops->cut[i] : 1;
            if (x[i] < loops->inner[i].size) break;
            x[i] = 0;
        }
        if (i == loops->inners) return total;
    }
}

/* The result as it is written: the stages of the product's write-back. */
static double write_back(const walker *walk, const tn_rtl_operation *operation, double value,
                         const uint64_t added[TN_RTL_ADDED]) {
    const tn_rtl_write_back *back = &operation->write_back;
    if (tn_rtl_adds(operation, 0))
        value = walk->arithmetic->add(value, walk->values[back->added[0]][added[0]]);
    if (back->stages & TN_RTL_STAGE_POSITIVE) value = walk->arithmetic->greater(value, 0, value, 0);
    if (tn_rtl_adds(operation, 1))
        value = walk->arithmetic->add(value, walk->values[back->added[1]][added[1]]);
    return value;
}

static void run_product(const walker *walk, const tn_rtl_operation *operation) {
    nest loops = nest_of(walk, operation);
    const double *left = operand(walk, operation->left, &operation->look[0]),
                 *right = operand(walk, operation->right, &operation->look[1]);
    double *result = operand(walk, operation->result, &operation->look[2]);
    uint64_t x[TN_BANK_LAYOUT_AXES * 3] = {0};
    for (;;) {
        uint64_t entry[3] = {0}, added[TN_RTL_ADDED] = {0};
        for (uint32_t i = 0; i < loops.outers; i++) {
            for (int k = 0; k < 3; k++) entry[k] += x[i] * loops.outer[i].stride[k];
            for (int k = 0; k < TN_RTL_ADDED; k++) added[k] += x[i] * loops.outer[i].added[k];
        }
        result[entry[2]] =
            write_back(walk, operation, sum(walk, &loops, left + entry[0], right + entry[1]), added);
        uint32_t i = loops.outers;
        while (i-- > 0) {
            if (++x[i] < loops.outer[i].size) break;
            x[i] = 0;
        }
        if (i == UINT32_MAX) return;
    }
}

static void run_update(const walker *walk, const tn_rtl_operation *operation) {
    const tn_bank_layout *layout = &walk->design->array[operation->left].layout;
    uint64_t elements = 1;
    for (uint32_t k = 0; k < layout->axes; k++) elements *= layout->dims[k];
    double *w = walk->values[operation->left], rate = (double)(float)walk->design->rate;
    const double *g = walk->values[operation->right];
    for (uint64_t i = 0; i < elements; i++)
        w[i] = walk->arithmetic->add(w[i], -walk->arithmetic->multiply(rate, g[i]));
}

/* ---- passes ---- */

enum { OPERANDS = 4, RESULT = 3 }; /* a, b, c, result */

typedef struct {
    const walker *walk;
    const tn_rtl_operation *operation;
    tn_circuit circuit;
    double *array[OPERANDS]; /* NULL: none */
    uint64_t column_stride[OPERANDS], row_stride[OPERANDS][TN_RTL_ROW_INDICES];
    uint64_t columns, limit, rows;
} pass_run;

/* Sums of the columns from `column` on, as many as lanes: a tree; the columns beyond the limit do not count. */
static double word_sum(const pass_run *run, const double *term, uint64_t lanes) {
    double node[2 * TN_CIRCUIT_LANES_MOST];
    const tn_scalar_arithmetic *arithmetic = run->walk->arithmetic;
    for (uint64_t n = 0; n < lanes; n++) node[lanes + n] = term[n];
    for (uint64_t n = lanes; n-- > 1;)
        node[n] = run->circuit.greatest
                      ? arithmetic->greater(node[2 * n], node[2 * n + 1], node[2 * n], node[2 * n + 1])
                      : arithmetic->add(node[2 * n], node[2 * n + 1]);
    return node[1];
}

static double *element(const pass_run *run, int which, const uint64_t *row, uint64_t column) {
    double *entry = run->array[which];
    if (!entry) return NULL;
    for (uint32_t k = 0; k < run->operation->pass->row_indices; k++)
        entry += row[k] * run->row_stride[which][k];
    return entry + column * run->column_stride[which];
}

/* One trip: `lanes` columns of a row. */
static void run_trip(pass_run *run, const uint64_t *row, uint64_t number, uint64_t column, double total[2]) {
    const tn_rtl_pass *pass = run->operation->pass;
    const tn_scalar_arithmetic *arithmetic = run->walk->arithmetic;
    uint64_t lanes = run->walk->design->vector, taken = pass->lanes;
    bool rows_alone = run->circuit.form == TN_PASS_PER_ROW, down = run->circuit.form == TN_PASS_ACCUMULATE;
    double neutral = run->circuit.greatest ? -INFINITY : 0, term[2][TN_CIRCUIT_LANES_MOST],
           none[TN_ROW_SCALARS] = {0}, before[TN_ROW_SCALARS];
    bool has_scalars = pass->first_row + number < run->walk->design->scalar_rows,
         is_loss = tn_operation_rows[pass->kind].shape == TN_SHAPE_LOSS;
    double *scalar = has_scalars ? run->walk->scalars + TN_ROW_SCALARS * (pass->first_row + number) : none;
    for (int i = 0; i < TN_ROW_SCALARS; i++) before[i] = scalar[i];
    for (uint64_t n = 0; n < (rows_alone ? 1 : lanes); n++) {
        uint64_t index = column + n;
        bool inside = n < taken && index < run->limit, present = n < taken && index < run->columns;
        tn_formula_inputs inputs = {
            .k = {(double)(float)pass->constant[0], (double)(float)pass->constant[1]}};
        double out[TN_CIRCUIT_OUTPUTS], *given[3] = {&inputs.a, &inputs.b, &inputs.c};
        for (int i = 0; i < 3 && present; i++)
            if (run->array[i]) *given[i] = *element(run, i, row, index);
        for (int i = 0; i < TN_ROW_SCALARS; i++) inputs.s[i] = before[i];
        if (is_loss) {
            inputs.share = run->walk->sample->share[pass->first_label + number];
            inputs.hit = run->walk->sample->label[pass->first_label + number] == index;
        }
        tn_formula_run(&run->circuit.formula, arithmetic, &inputs, out);
        if (run->array[RESULT] && present && !down)
            *element(run, RESULT, row, index) = inside ? out[TN_CIRCUIT_Y] : 0;
        term[0][n] = inside ? out[TN_CIRCUIT_U] : neutral;
        term[1][n] = inside ? out[TN_CIRCUIT_V] : 0;
        if (down && present) {
            double *result = element(run, RESULT, row, index);
            *result = arithmetic->add(number == 0 ? 0 : *result, term[0][n]);
        }
        if (tn_circuit_has_scalar(&run->circuit, TN_CIRCUIT_L) && inputs.hit && inside)
            scalar[run->circuit.scalar[TN_CIRCUIT_L]] = out[TN_CIRCUIT_L];
        if (!rows_alone) continue;
        for (int i = TN_CIRCUIT_Y; i <= TN_CIRCUIT_U; i++)
            if (run->circuit.output[i] != UINT32_MAX) scalar[run->circuit.scalar[i]] = out[i];
    }
    if (run->circuit.form != TN_PASS_REDUCE) return;
    double node = word_sum(run, term[0], lanes);
    total[0] = run->circuit.greatest ? arithmetic->greater(total[0], node, total[0], node)
                                     : arithmetic->add(total[0], node);
    if (run->circuit.output[TN_CIRCUIT_V] != UINT32_MAX)
        total[1] = arithmetic->add(total[1], word_sum(run, term[1], lanes));
}

static void run_row(pass_run *run, const uint64_t *row, uint64_t number) {
    const tn_rtl_pass *pass = run->operation->pass;
    double total[2] = {run->circuit.greatest ? -INFINITY : 0, 0};
    uint64_t lanes = pass->lanes, columns = run->circuit.form == TN_PASS_PER_ROW ? 1 : run->columns;
    for (uint64_t column = 0; column < columns; column += lanes) run_trip(run, row, number, column, total);
    if (run->circuit.form != TN_PASS_REDUCE) return;
    double *scalar = run->walk->scalars + TN_ROW_SCALARS * (pass->first_row + number);
    scalar[run->circuit.scalar[TN_CIRCUIT_U]] = total[0];
    if (run->circuit.output[TN_CIRCUIT_V] != UINT32_MAX) scalar[run->circuit.scalar[TN_CIRCUIT_V]] = total[1];
}

static tn_status run_pass(const walker *walk, const tn_rtl_operation *operation, tn_error *error) {
    const tn_rtl_pass *pass = operation->pass;
    const tn_rtl_look none = {0};
    const uint32_t array[OPERANDS] = {operation->left, operation->right, operation->extra, operation->result};
    const tn_rtl_look *look[OPERANDS] = {&operation->look[0], &operation->look[1], &none,
                                         &operation->look[2]};
    const bool used[OPERANDS] = {pass->reads[0], pass->reads[1], pass->reads[2], pass->writes};
    pass_run run = {.walk = walk, .operation = operation, .columns = pass->columns, .rows = 1};
    uint64_t row[TN_RTL_ROW_INDICES] = {0};
    TN_TRY(tn_circuit_make(pass->kind, pass->pass, &walk->design->latencies, &run.circuit, error));
    for (int i = 0; i < OPERANDS; i++) {
        if (!used[i]) continue;
        const tn_rtl_array *source = &walk->design->array[array[i]];
        run.array[i] = operand(walk, array[i], look[i]);
        run.column_stride[i] = stride_of(source, operation->column.index[0]);
        for (uint32_t k = 0; k < pass->row_indices; k++)
            run.row_stride[i][k] = stride_of(source, pass->row_index[k]);
    }
    run.limit = pass->columns;
    if (pass->limit_slot != TN_RTL_NONE && walk->sample->word[pass->limit_slot] < run.limit)
        run.limit = walk->sample->word[pass->limit_slot];
    for (uint32_t k = 0; k < pass->row_indices; k++) run.rows *= walk->index_size[pass->row_index[k]];
    for (uint64_t number = 0; number < run.rows; number++) {
        run_row(&run, row, number);
        for (uint32_t k = pass->row_indices; k-- > 0;) {
            if (++row[k] < walk->index_size[pass->row_index[k]]) break;
            row[k] = 0;
        }
    }
    return TN_OK;
}

/* ---- programs ---- */

tn_status tn_rtl_reference_walk(const tn_rtl_design *design, const uint64_t *index_size,
                                const tn_scalar_arithmetic *arithmetic, const tn_rtl_sample *sample,
                                double *const *values, double *scalars, tn_rtl_image *image,
                                tn_error *error) {
    const walker walk = {design, index_size, arithmetic, sample, values, scalars};
    TN_TRY(tn_rtl_design_check(design, error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        if (operation->pass)
            TN_TRY(run_pass(&walk, operation, error));
        else if (operation->update)
            run_update(&walk, operation);
        else
            run_product(&walk, operation);
        if (image)
            TN_TRY(tn_rtl_image_follow(design, operation, sample ? sample->word : NULL,
                                       values[operation->result], image, error));
    }
    return TN_OK;
}

static uint64_t elements_of(const tn_rtl_array *array) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    return elements;
}

static tn_status widened(const tn_rtl_design *design, const uint64_t *index_size, float *const *values,
                         tn_rtl_image *image, tn_arena *arena, tn_error *error) {
    double **wide;
    TN_TRY(TN_NEW(arena, design->arrays, &wide, error));
    for (uint32_t t = 0; t < design->arrays; t++) {
        uint64_t elements = elements_of(&design->array[t]);
        TN_TRY(TN_NEW(arena, elements, &wide[t], error));
        for (uint64_t i = 0; i < elements; i++) wide[t][i] = (double)values[t][i];
    }
    TN_TRY(
        tn_rtl_reference_walk(design, index_size, &tn_hardware_arithmetic, NULL, wide, NULL, image, error));
    for (uint32_t t = 0; t < design->arrays; t++)
        for (uint64_t i = 0, elements = elements_of(&design->array[t]); i < elements; i++)
            values[t][i] = (float)wide[t][i];
    return TN_OK;
}

tn_status tn_rtl_reference_run(const tn_rtl_design *design, const uint64_t *index_size, float *const *values,
                               tn_rtl_image *image, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = widened(design, index_size, values, image, &arena, error);
    tn_arena_free(&arena);
    return status;
}
