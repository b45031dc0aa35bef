/* tenfold roofline step MODEL --device D [--kernels N] [--plot FILE] */
#include "cli/cmd_roofline.h"
#include "cli/output.h"
#include "model/model.h"
#include "model/operation.h"
#include "plot/roofline.h"
#include "roofline/step.h"
#include "text/json.h"
#include "text/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *device_name, *plot;
    tn_option_list set, model_set, device_set;
    uint64_t launches, shown;
    tn_roofline *roofline;
    tn_step step;
    tn_roofline_step predicted;
    const char *unverified;
} request;

static int by_share(const void *a, const void *b) {
    const tn_roofline_kernel *x = a, *y = b;
    double left = x->us * (double)x->count, right = y->us * (double)y->count;
    return (left < right) - (left > right);
}

static void put_json_kernel(tn_json *json, const tn_roofline_kernel *k) {
    tn_json_object(json);
    tn_json_put_text(json, "kind", tn_operation_rows[k->kind].name);
    tn_json_put_count(json, "count", k->count);
    if (k->kind == TN_OP_PRODUCT) {
        tn_json_put_count(json, "batch", k->product.batch);
        tn_json_put_count(json, "K", k->product.k);
    }
    tn_json_put_count(json, "M", k->product.m);
    tn_json_put_count(json, "N", k->product.n);
    tn_json_put_real(json, "us", k->us);
    tn_json_put_real(json, "flops", k->flops);
    tn_json_put_real(json, "bytes", k->bytes);
    tn_json_end(json);
}

static void put_range(tn_json *json, const char *name, double least, double most) {
    tn_json_key(json, name);
    tn_json_array(json);
    tn_json_real(json, least);
    tn_json_real(json, most);
    tn_json_end(json);
}

static tn_status print_json(const request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "model", r->step.name);
    tn_json_put_text(&json, "device", r->roofline->name);
    tn_json_put_count(&json, "parameters", r->step.parameters);
    tn_json_put_count(&json, "operations", p->operations);
    tn_json_put_count(&json, "kernels", p->launches);
    tn_json_put_real(&json, "graph_ms", p->graph_us / 1e3);
    tn_json_key(&json, "launched_ms");
    if (p->launched_us > 0)
        tn_json_real(&json, p->launched_us / 1e3);
    else
        tn_json_null(&json);
    tn_json_key(&json, "joules");
    if (p->joules > 0)
        tn_json_real(&json, p->joules);
    else
        tn_json_null(&json);
    if (p->launched_us > 0) {
        tn_json_put_count(&json, "contractions", p->contractions);
        tn_json_key(&json, "range");
        tn_json_object(&json);
        put_range(&json, "launched_ms", p->least_us / 1e3, p->most_us / 1e3);
        if (p->joules > 0) put_range(&json, "joules", p->least_joules, p->most_joules);
        tn_json_end(&json);
    }
    tn_json_put_text(&json, "unverified", *r->unverified ? r->unverified : NULL);
    tn_json_put_real(&json, "product_ms", p->product_us / 1e3);
    tn_json_put_real(&json, "product_flops", p->product_flops);
    tn_json_key(&json, "kinds");
    tn_json_array(&json);
    for (size_t i = 0; i < p->kernels; i++) put_json_kernel(&json, &p->kernel[i]);
    tn_json_end(&json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status print_kernels(const request *r, tn_error *error) {
    static const char *const heads[] = {"kernel",   "batch x M x N x K", "count",
                                        "one (us)", "all (ms)",          "share (%)"};
    const tn_roofline_step *p = &r->predicted;
    tn_table table;
    tn_table_begin(&table, 6);
    for (size_t i = 0; i < 6; i++) tn_table_text(&table, heads[i]);
    for (size_t i = 0; i < p->kernels && i < r->shown; i++) {
        const tn_roofline_kernel *k = &p->kernel[i];
        double all_us = k->us * (double)k->count;
        tn_table_text(&table, tn_operation_rows[k->kind].name);
        if (k->kind == TN_OP_PRODUCT)
            tn_table_format(&table, "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64, k->product.batch,
                            k->product.m, k->product.n, k->product.k);
        else
            tn_table_format(&table, "%" PRIu64 " x %" PRIu64, k->product.m, k->product.n);
        tn_table_count(&table, k->count);
        tn_table_format(&table, "%.2f", k->us);
        tn_table_format(&table, "%.4f", all_us / 1e3);
        tn_table_format(&table, "%.1f", 100 * all_us / p->graph_us);
    }
    return tn_table_end(&table, error);
}

static void print_range(double least, double most) {
    if (most > least) tn_say(" (%.3f to %.3f)", least, most);
}

static tn_status print_people(const request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    char text[32];
    tn_say("A training step of %s on %s: %s operations\n", r->step.name, r->roofline->name,
           tn_count_text(p->operations, text));
    tn_say("  as a graph of kernels  %10.3f ms, of which products %.3f ms at %.3g TFLOPS\n",
           p->graph_us / 1e3, p->product_us / 1e3,
           p->product_us > 0 ? p->product_flops / p->product_us / 1e6 : 0);
    if (p->launched_us > 0) {
        tn_say("  as launched            %10.3f ms", p->launched_us / 1e3);
        print_range(p->least_us / 1e3, p->most_us / 1e3);
        tn_say(": %s kernels%s\n", tn_count_text(p->launches, text),
               r->launches ? "" : ", estimated from the operations");
    } else {
        tn_say("  as launched            not known: the device says nothing of its host\n");
    }
    if (p->joules > 0) {
        tn_say("  energy as launched     %10.3f J", p->joules);
        print_range(p->least_joules, p->most_joules);
        tn_say(" at %.0f W\n", r->roofline->step_power_W);
    }
    if (*r->unverified) tn_say("  unverified             %s\n", r->unverified);
    tn_say("\n");
    TN_TRY(print_kernels(r, error));
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

static tn_status work(request *r, tn_program_cache *cache, tn_error *error) {
    tn_model *model;
    divide_sets(r);
    TN_TRY(tn_roofline_load(r->device_name, &r->device_set, &r->common.arena, &r->roofline, error));
    TN_TRY(tn_model_load(r->common.argument[0], r->model_set.item, r->model_set.count, &r->common.arena,
                         &model, error));
    TN_TRY(tn_step_build(model, cache, &r->common.arena, &r->step, error));
    TN_TRY(
        tn_roofline_step_predict(r->roofline, &r->step, r->launches, &r->common.arena, &r->predicted, error));
    TN_TRY(tn_roofline_unverified_step(r->roofline, tn_precision_names[r->step.precision], &r->common.arena,
                                       &r->unverified, error));
    qsort(r->predicted.kernel, r->predicted.kernels, sizeof *r->predicted.kernel, by_share);
    if (r->plot) TN_TRY(tn_roofline_draw(r->plot, r->roofline, &r->step, &r->predicted, error));
    return r->common.json ? print_json(r, error) : print_people(r, error);
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    tn_program_cache *cache;
    (void)answer;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = work(asked, cache, error);
    tn_program_cache_free(cache);
    return status;
}

static const request defaults = {.shown = 12};
static const tn_option options[] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "a roofline device: h200, a100, ..."},
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
    .usage = "MODEL --device D [--kernels N] [--plot FILE.png|.svg|.pdf]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
