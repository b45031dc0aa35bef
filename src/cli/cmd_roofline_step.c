/* tenfold roofline step MODEL --device D [--kernels N] [--plot FILE] */
#include "cli/cmd_roofline.h"
#include "cli/output.h"
#include "cli/target.h"
#include "model/model.h"
#include "model/operation.h"
#include "plot/roofline.h"
#include "roofline/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_roofline_kernel of;
    const char *kind;
    bool is_product;
    double all_us; /* of the step */
    double share;  /* of it as a graph */
} kernel_row;

typedef struct {
    tn_common common;
    const char *device_name, *point, *plot;
    tn_option_list set, model_set, device_set;
    uint64_t launches, shown;
    tn_roofline *roofline;
    const char *device;
    tn_step step;
    tn_roofline_step predicted;
    const char *unverified; /* NULL: everything is verified */
    kernel_row *kernel;     /* [predicted.kernels], the longest first */
    double graph_ms, product_ms;
    bool launched, powered;                /* known of the device: */
    double launched_ms, least_ms, most_ms; /* ... and NAN where not */
    double joules;
} request;

static int by_share(const void *a, const void *b) {
    double left = ((const kernel_row *)a)->all_us, right = ((const kernel_row *)b)->all_us;
    return (left < right) - (left > right);
}

static void show_size(const void *at, tn_buffer *cell) {
    const kernel_row *row = at;
    const tn_roofline_product *size = &row->of.product;
    if (row->is_product) tn_buffer_format(cell, "%" PRIu64 " x ", size->batch);
    tn_buffer_format(cell, "%" PRIu64 " x %" PRIu64, size->m, size->n);
    if (row->is_product) tn_buffer_format(cell, " x %" PRIu64, size->k);
}

#define OF_PRODUCT TN_OPTIONAL, TN_WHEN(kernel_row, is_product)
static const tn_column kernel_columns[] = {
    TN_COLUMN(kernel_row, kind, "kernel"),
    TN_WRITTEN(NULL, NULL, "batch x M x N x K", .cell = show_size),
    TN_COLUMN_AS("count", kernel_row, of.count, "count"),
    TN_COLUMN_AS("batch", kernel_row, of.product.batch, NULL, OF_PRODUCT),
    TN_COLUMN_AS("K", kernel_row, of.product.k, NULL, OF_PRODUCT),
    TN_COLUMN_AS("M", kernel_row, of.product.m, NULL),
    TN_COLUMN_AS("N", kernel_row, of.product.n, NULL),
    TN_COLUMN_AS("us", kernel_row, of.us, "one", .unit = "us", TN_FIXED(2)),
    TN_COLUMN_AS(NULL, kernel_row, all_us, "all", TN_IN("ms", 1e-3), TN_FIXED(4)),
    TN_COLUMN_AS(NULL, kernel_row, share, "share", TN_PERCENT),
    TN_COLUMN_AS("flops", kernel_row, of.flops, NULL),
    TN_COLUMN_AS("bytes", kernel_row, of.bytes, NULL),
};
static const tn_record kernel_record = TN_RECORD(kernel_row, kernel_columns);

#define LAUNCHED TN_OPTIONAL, TN_WHEN(request, launched)
static const tn_column range_columns[] = {
    TN_RANGE("launched_ms", request, least_ms, NULL),
    TN_RANGE("joules", request, predicted.least_joules, NULL, TN_OPTIONAL, TN_WHEN(request, powered)),
};
static const tn_record range_record = TN_RECORD(request, range_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", request, step.name, NULL),
    TN_COLUMN(request, device, NULL),
    TN_COLUMN_AS("parameters", request, step.parameters, NULL),
    TN_COLUMN_AS("operations", request, predicted.operations, NULL),
    TN_COLUMN_AS("kernels", request, predicted.launches, NULL),
    TN_COLUMN(request, graph_ms, NULL),
    TN_COLUMN(request, launched_ms, NULL),
    TN_COLUMN(request, joules, NULL),
    TN_COLUMN_AS("contractions", request, predicted.contractions, NULL, LAUNCHED),
    TN_GROUP("range", range_record, NULL, LAUNCHED),
    TN_COLUMN(request, unverified, NULL),
    TN_COLUMN(request, product_ms, NULL),
    TN_COLUMN_AS("product_flops", request, predicted.product_flops, NULL),
    TN_ROWS("kinds", request, kernel, predicted.kernels, kernel_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

static tn_status make_answer(request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    TN_TRY(tn_arena_alloc(&r->common.arena, p->kernels, sizeof *r->kernel, &r->kernel, error));
    for (size_t i = 0; i < p->kernels; i++) {
        const tn_roofline_kernel *of = &p->kernel[i];
        double all_us = of->us * (double)of->count;
        r->kernel[i] = (kernel_row){*of, tn_operation_rows[of->kind].name, of->kind == TN_OP_PRODUCT, all_us,
                                    all_us / p->graph_us};
    }
    qsort(r->kernel, p->kernels, sizeof *r->kernel, by_share);
    if (!*r->unverified) r->unverified = NULL;
    r->launched = p->launched_us > 0;
    r->powered = p->joules > 0;
    r->graph_ms = p->graph_us / 1e3;
    r->product_ms = p->product_us / 1e3;
    r->launched_ms = r->launched ? p->launched_us / 1e3 : NAN;
    r->least_ms = p->least_us / 1e3;
    r->most_ms = p->most_us / 1e3;
    r->joules = r->powered ? p->joules : NAN;
    return TN_OK;
}

static void print_range(double least, double most) {
    if (most > least) tn_say(" (%.3f to %.3f)", least, most);
}

static tn_status print_people(const request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    char text[32];
    tn_say("A training step of %s on %s: %s operations\n", r->step.name, r->roofline->name,
           tn_count_text(p->operations, text));
    tn_say("  as a graph of kernels  %10.3f ms, of which products %.3f ms at %.3g TFLOPS\n", r->graph_ms,
           r->product_ms, p->product_us > 0 ? p->product_flops / p->product_us / 1e6 : 0);
    if (r->launched) {
        tn_say("  as launched            %10.3f ms", r->launched_ms);
        print_range(r->least_ms, r->most_ms);
        tn_say(": %s kernels%s\n", tn_count_text(p->launches, text),
               r->launches ? "" : ", estimated from the operations");
    } else {
        tn_say("  as launched            not known: the device says nothing of its host\n");
    }
    if (r->powered) {
        tn_say("  energy as launched     %10.3f J", p->joules);
        print_range(p->least_joules, p->most_joules);
        tn_say(" at %.0f W\n", r->roofline->step_power_W);
    }
    if (r->unverified) tn_say("  unverified             %s\n", r->unverified);
    tn_say("\n");
    TN_TRY(tn_output_rows(&kernel_record, r->kernel, p->kernels < r->shown ? p->kernels : (size_t)r->shown,
                          error));
    if (p->kernels > r->shown)
        tn_say("... and %zu more sizes; --show says how many are listed\n", p->kernels - (size_t)r->shown);
    return TN_OK;
}

static void divide_sets(request *r) {
    static const char of_device[] = "roofline.";
    for (size_t i = 0; i < r->set.count; i++) {
        bool device = strncmp(r->set.item[i], of_device, sizeof of_device - 1) == 0;
        tn_option_list *list = device ? &r->device_set : &r->model_set;
        list->item[list->count++] = r->set.item[i];
    }
}

static tn_status work(request *r, tn_target *target, tn_program_cache *cache, tn_error *error) {
    divide_sets(r);
    TN_TRY(tn_roofline_load(r->device_name, &r->device_set, &r->common.arena, &r->roofline, error));
    TN_TRY(tn_target_load(r->common.argument[0], r->point, NULL, NULL, &r->model_set, &r->common.arena,
                          target, error));
    TN_TRY(tn_step_build(target->model, cache, &r->common.arena, &r->step, error));
    TN_TRY(
        tn_roofline_step_predict(r->roofline, &r->step, r->launches, &r->common.arena, &r->predicted, error));
    TN_TRY(
        tn_roofline_unverified_step(r->roofline, r->step.precision, &r->common.arena, &r->unverified, error));
    if (r->plot) TN_TRY(tn_roofline_draw(r->plot, r->roofline, &r->step, &r->predicted, error));
    r->device = r->roofline->name;
    TN_TRY(make_answer(r, error));
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_people(r, error);
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    tn_program_cache *cache;
    (void)answer;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_target target = {0};
    tn_status status = work(asked, &target, cache, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

static const request defaults = {.shown = 12};
static const tn_option options[] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "a roofline device: h200, a100, ..."},
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: the model of this design"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "overrides a key of the model, or roofline.KEY of the device; repeatable"},
    {"--kernels", TN_INTO(request, launches), "N",
     "kernels that the framework launches (default: estimated from the operations)"},
    {"--show", TN_INTO(request, shown), "N", "sizes of kernels to list (default 12)"},
    {"--plot", TN_INTO(request, plot), "FILE", "draws the roofline with the step's products on it"},
};

const tn_command tn_roofline_step_command = {
    .name = "roofline step",
    .summary = "time of a model's training step on a roofline device: as a graph, and as launched",
    .usage = "(MODEL | DIR --point ID) --device D [--kernels N] [--plot FILE.png|.svg|.pdf]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
