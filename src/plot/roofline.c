#include "plot/roofline.h"

#include "plot/gnuplot.h"
#include "text/json.h"

#include <string.h>

static void put_point(tn_buffer *data, const tn_roofline_kernel *k, double step_us) {
    double values[] = {k->flops / k->bytes, k->flops / k->us / 1e3, 100 * k->us * (double)k->count / step_us};
    for (size_t i = 0; i < 3; i++) {
        char text[40];
        tn_real_text(values[i], text, sizeof text);
        tn_buffer_format(data, "%s%s", i ? " " : "", text);
    }
    tn_buffer_text(data, "\n");
}

static tn_status put_data(const tn_roofline_step *predicted, tn_buffer *data, tn_error *error) {
    tn_buffer_text(data, "# flops a byte, GFLOPS, share of the step (%)\n");
    size_t products = 0;
    for (size_t i = 0; i < predicted->kernels; i++) {
        if (predicted->kernel[i].kind != TN_OP_PRODUCT) continue;
        put_point(data, &predicted->kernel[i], predicted->graph_us);
        products++;
    }
    return products ? TN_OK : tn_fail(error, TN_INPUT, "the step has no products to draw");
}

static tn_status put_definition(const tn_roofline *roofline, const tn_step *step, tn_buffer *definition,
                                tn_error *error) {
    const tn_roofline_precision *precision;
    const tn_roofline_law *law;
    const char *name = step->precision;
    TN_TRY(tn_roofline_precision_find(roofline, name, &precision, error));
    TN_TRY(tn_roofline_law_find(roofline, name, TN_TIME_GRAPH, &law, error));
    tn_define_text(definition, "device", roofline->name);
    tn_define_text(definition, "model", step->name);
    tn_define_text(definition, "precision", name);
    tn_define_real(definition, "peak_GFLOPS", precision->peak_TFLOPS * 1e3);
    tn_define_real(definition, "bandwidth_GBps", roofline->bandwidth_GBps);
    tn_define_real(definition, "reached_GFLOPS", precision->peak_TFLOPS * 1e3 * law->compute_efficiency);
    tn_define_real(definition, "cached_GBps", roofline->bandwidth_GBps * law->cache_gain);
    return TN_OK;
}

tn_status tn_roofline_draw(const char *path, const tn_roofline *roofline, const tn_step *step,
                           const tn_roofline_step *predicted, tn_error *error) {
    tn_figure figure = {.script = "roofline"};
    tn_buffer definition = {0}, data = {0};
    tn_arena arena = {0};
    TN_TRY(tn_figure_format_of(path, &figure.format, error));
    size_t ending = strlen(strrchr(path, '.'));
    tn_status status = tn_arena_copy_text(&arena, path, strlen(path) - ending, &figure.path, error);
    if (status == TN_OK) status = put_definition(roofline, step, &definition, error);
    if (status == TN_OK) status = put_data(predicted, &data, error);
    figure.definition = &definition;
    figure.data = &data;
    if (status == TN_OK) status = tn_figure_draw(&figure, error);
    tn_buffer_free(&definition);
    tn_buffer_free(&data);
    tn_arena_free(&arena);
    return status;
}
