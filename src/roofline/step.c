#include "roofline/step.h"

#include "model/operation.h"
#include "text/csv.h"

#include <math.h>
#include <string.h>

typedef struct {
    const tn_roofline *roofline;
    const tn_roofline_law *law;
    const char *precision;
    double element_bytes;
    const tn_step *step;
} pricing;

/* Of experts and of sequences, whose operands are of different sizes, each array once: an expert's rows of a matrix of tokens. */
static bool has_own_sizes(const tn_operation *o) {
    const tn_operation_shape shape = tn_operation_rows[o->kind].shape;
    return shape == TN_SHAPE_ROUTED || shape == TN_SHAPE_SEQUENCE;
}

static double sized_elements_moved(const tn_step *step, const tn_operation *o) {
    const double most = o->routing ? (double)o->rows * (double)o->columns : INFINITY;
    double elements = 0;
    for (uint32_t i = 0; i < o->read_count; i++)
        elements += fmin((double)step->array[o->reads[i]].elements, most);
    for (uint32_t i = 0; i < o->write_count; i++)
        elements += fmin((double)step->array[o->writes[i]].elements, most);
    return elements;
}

static double elements_moved(const tn_step *step, const tn_operation *o) {
    double batch = (double)o->batch, rows = (double)o->rows, columns = (double)o->columns;
    if (has_own_sizes(o)) return sized_elements_moved(step, o);
    if (o->kind == TN_OP_PRODUCT) {
        double reduction = (double)o->reduction;
        return batch * (rows * reduction + reduction * columns + rows * columns);
    }
    return rows * columns * (o->read_count + o->write_count);
}

static tn_status price(const pricing *p, const tn_operation *o, tn_roofline_kernel *kernel, tn_error *error) {
    *kernel = (tn_roofline_kernel){.kind = o->kind, .flops = (double)o->flops};
    kernel->product = (tn_roofline_product){o->batch, o->rows, o->columns, o->reduction};
    kernel->bytes = p->element_bytes * elements_moved(p->step, o);
    if (o->kind == TN_OP_PRODUCT)
        return tn_roofline_predict(p->roofline, p->precision, TN_TIME_GRAPH, &kernel->product, &kernel->us,
                                   error);
    kernel->us = p->law->launch_us * p->law->vector_launch +
                 kernel->bytes / (p->roofline->bandwidth_GBps * 1e3 * p->law->cache_gain);
    return TN_OK;
}

static bool same(const tn_roofline_kernel *kernel, const tn_operation *o, double bytes) {
    const tn_roofline_product *p = &kernel->product;
    return kernel->kind == o->kind && p->batch == o->batch && p->m == o->rows && p->n == o->columns &&
           p->k == o->reduction && kernel->bytes == bytes;
}

static tn_status add(const pricing *p, const tn_operation *o, tn_roofline_step *step, tn_error *error) {
    double bytes = p->element_bytes * elements_moved(p->step, o);
    size_t index = 0;
    while (index < step->kernels && !same(&step->kernel[index], o, bytes)) index++;
    if (index == step->kernels) {
        TN_TRY(price(p, o, &step->kernel[index], error));
        step->kernels++;
    }
    tn_roofline_kernel *kernel = &step->kernel[index];
    kernel->count++;
    step->operations++;
    step->graph_us += kernel->us;
    if (o->kind != TN_OP_PRODUCT) return TN_OK;
    step->product_us += kernel->us;
    step->product_flops += kernel->flops;
    return TN_OK;
}

/* A product inside a layer whose weight is in a tensor format. */
static bool is_contraction(const tn_step *step, const tn_operation *o) {
    const char *format =
        o->kind == TN_OP_PRODUCT && o->layer < step->layers ? step->layer[o->layer].format : NULL;
    return format && strcmp(format, tn_format_names[TN_DENSE]) != 0;
}

/* The host's time without a range, and the kernels; 0 where the device knows nothing of its host. */
static double host_us(const tn_roofline *r, uint64_t given, tn_roofline_step *step) {
    double contractions = (double)step->contractions, plain = (double)(step->operations - step->contractions);
    if (given == 0 && r->host_us_per_operation > 0) {
        step->launches =
            (uint64_t)llround(plain * r->kernels_per_operation + contractions * r->kernels_per_contraction);
        return plain * r->host_us_per_operation + contractions * r->host_us_per_contraction;
    }
    step->launches = given ? given : step->operations;
    return (double)step->launches * r->host_us_per_kernel;
}

/* The ends of a range, the figure itself included; an absent range is the figure. */
static void range_of(const tn_real_list *range, double figure, double *least, double *most) {
    *least = range->count == 2 ? fmin(range->item[0], figure) : figure;
    *most = range->count == 2 ? fmax(range->item[1], figure) : figure;
}

/* What the board draws at its peak; at least what it draws launched. */
static double full_W(const tn_roofline *r) {
    double least_W, most_W;
    range_of(&r->step_power_range_W, r->step_power_W, &least_W, &most_W);
    return r->load_power_W > 0 ? fmax(r->load_power_W, r->step_power_W) : most_W;
}

/* Kernels that reach no peak draw little more than a board that waits; those that do draw all that it may. */
static void add_graph_energy(const tn_roofline *r, const tn_roofline_precision *precision,
                             tn_roofline_step *step) {
    double bytes = 0, least, most, least_W, most_W;
    for (size_t i = 0; i < step->kernels; i++) bytes += (double)step->kernel[i].count * step->kernel[i].bytes;
    range_of(&r->graph_factor, 1, &least, &most);
    step->least_graph_us = least * step->graph_us;
    step->most_graph_us = most * step->graph_us;
    if (r->step_power_W <= 0 || step->graph_us <= 0) return;
    range_of(&r->step_power_range_W, r->step_power_W, &least_W, &most_W);
    double computing = step->product_flops / (precision->peak_TFLOPS * 1e6 * step->graph_us);
    double moving = bytes / (r->bandwidth_GBps * 1e3 * step->graph_us);
    double share = fmin(1, fmax(computing, moving));
    step->graph_W = r->step_power_W + share * (full_W(r) - r->step_power_W);
    step->graph_joules = 1e-6 * step->graph_us * step->graph_W;
    step->least_graph_joules = 1e-6 * step->least_graph_us * least_W;
    step->most_graph_joules = 1e-6 * step->most_graph_us * fmax(full_W(r), most_W);
}

/* A launched step takes no less energy than its kernels do as a graph: where these are no small part of it, more than what was
 * measured of boards that mostly wait. */
static void add_launches(const tn_roofline *r, uint64_t given, tn_roofline_step *step) {
    double us = host_us(r, given, step), least, most, least_W, most_W;
    if (us <= 0) return;
    range_of(&r->host_factor, 1, &least, &most);
    range_of(&r->step_power_range_W, r->step_power_W, &least_W, &most_W);
    step->launched_us = fmax(us, step->graph_us);
    step->least_us = fmax(least * us, step->graph_us);
    step->most_us = fmax(most * us, step->graph_us);
    step->joules = fmax(1e-6 * step->launched_us * r->step_power_W, step->graph_joules);
    step->least_joules = 1e-6 * step->least_us * least_W;
    step->most_joules = fmax(1e-6 * step->most_us * most_W, 1e-6 * step->graph_us * full_W(r));
    if (r->step_power_W <= 0) step->most_joules = 0;
}

tn_status tn_roofline_step_predict(const tn_roofline *roofline, const tn_step *step, uint64_t launches,
                                   tn_arena *arena, tn_roofline_step *predicted, tn_error *error) {
    tn_roofline_step made = {0};
    pricing p = {.roofline = roofline,
                 .precision = step->precision,
                 .element_bytes = (double)step->element_bytes,
                 .step = step};
    const tn_roofline_precision *known;
    TN_TRY(tn_roofline_precision_find(roofline, p.precision, &known, error));
    TN_TRY(tn_roofline_law_find(roofline, p.precision, TN_TIME_GRAPH, &p.law, error));
    TN_TRY(TN_NEW(arena, step->operations, &made.kernel, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        if (!o->batch || !o->rows || !o->columns) continue;
        TN_TRY(add(&p, o, &made, error));
        made.contractions += is_contraction(step, o);
    }
    add_graph_energy(roofline, known, &made);
    add_launches(roofline, launches, &made);
    *predicted = made;
    return TN_OK;
}

typedef struct {
    double least_us, most_us, power_W;
    size_t energies;
} extremes;

static tn_status read_step(const tn_csv *csv, size_t row, const size_t *column, extremes *e,
                           tn_error *error) {
    enum { KERNELS, MILLISECONDS, ENERGY };
    uint64_t kernels;
    double ms, mJ;
    TN_TRY(tn_csv_count(csv, row, column[KERNELS], 1, (uint64_t)1 << 40, &kernels, error));
    TN_TRY(tn_csv_real(csv, row, column[MILLISECONDS], 1e-9, 1e12, &ms, error));
    double us = ms * 1e3 / (double)kernels;
    e->least_us = row ? fmin(e->least_us, us) : us;
    e->most_us = row ? fmax(e->most_us, us) : us;
    if (column[ENERGY] == csv->columns) return TN_OK;
    TN_TRY(tn_csv_real(csv, row, column[ENERGY], 0, 1e15, &mJ, error));
    e->power_W += mJ / ms;
    e->energies++;
    return TN_OK;
}

tn_status tn_roofline_fit_host(const char *path, tn_arena *arena, double *host_us, double *worst_ratio,
                               double *power_W, tn_error *error) {
    static const char *const names[] = {"kernels", "step_ms"};
    tn_csv csv;
    size_t column[3];
    extremes e = {0};
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, names, 2, false, column, error));
    column[2] = tn_csv_column(&csv, "energy_mJ");
    if (csv.rows == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){csv.file, 1, 1}, "no measured steps; one a row");
    for (size_t row = 0; row < csv.rows; row++) TN_TRY(read_step(&csv, row, column, &e, error));
    *host_us = sqrt(e.least_us * e.most_us);
    *worst_ratio = sqrt(e.most_us / e.least_us);
    *power_W = e.energies ? e.power_W / (double)e.energies : 0;
    return TN_OK;
}
