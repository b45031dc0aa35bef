#include "learn/training_figure.h"

#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 300, PATH = 1200 };

void tn_loss_curve_step(void *user, uint64_t step, uint64_t steps, double loss) {
    tn_loss_curve *curve = user;
    if (curve->each == 0) curve->each = (steps + POINTS - 1) / POINTS;
    curve->sum += loss;
    if (++curve->steps < curve->each && step < steps) return;
    tn_buffer_format(&curve->data, "%" PRIu64 " %.9g\n", step, curve->sum / (double)curve->steps);
    curve->sum = 0;
    curve->steps = 0;
}

static void put_scores(tn_buffer *data, double step, const tn_scores *scores, bool is_text) {
    tn_buffer_format(data, "%.9g %.9g %.9g %.9g\n", step, scores->loss,
                     is_text ? exp(scores->loss) : 100 * scores->intent_accuracy,
                     is_text ? NAN : 100 * scores->slot_accuracy);
}

static tn_status draw(const char *folder, const char *model, const tn_training_result *result,
                      const tn_dataset *data, tn_loss_curve *curve, tn_figure_format format,
                      tn_error *error) {
    char path[PATH];
    tn_buffer definition = {0};
    double each = (double)result->steps / (double)(result->epochs ? result->epochs : 1);
    if (!curve->data.length && result->epochs == 0)
        return tn_fail(error, TN_INPUT, "the run took no step; there is nothing to draw");
    if (!curve->data.length) tn_buffer_text(&curve->data, "0 NaN\n"); /* a resumed run had none left */
    for (int test = 0; test < 2; test++) {
        tn_buffer_text(&curve->data, "\n\n");
        if (result->epochs == 0) tn_buffer_text(&curve->data, "0 NaN NaN NaN\n");
        for (size_t i = 0; i < result->epochs; i++)
            put_scores(&curve->data, each * (double)(i + 1),
                       test ? &result->epoch[i].test : &result->epoch[i].dev, data->is_text);
    }
    tn_define_text(&definition, "heading", model);
    tn_define_real(&definition, "is_text", data->is_text);
    tn_define_real(&definition, "has_classes", data->has_classes);
    tn_define_real(&definition, "has_labels", data->has_labels && !data->is_text);
    tn_define_real(&definition, "size_x", TN_FIGURE_WIDE);
    snprintf(path, sizeof path, "%.1000s/figures", folder);
    tn_status status = tn_folder_make(path, error);
    snprintf(path, sizeof path, "%.1000s/figures/training", folder);
    const tn_figure figure = {.path = path,
                              .format = format,
                              .script = "training",
                              .definition = &definition,
                              .data = &curve->data};
    if (status == TN_OK && (curve->data.status != TN_OK || definition.status != TN_OK))
        status = tn_fail(error, TN_MEMORY, "no memory for a figure");
    if (status == TN_OK) status = tn_figure_draw(&figure, error);
    tn_buffer_free(&definition);
    return status;
}

tn_status tn_training_figure(const char *folder, const char *model, const tn_training_result *result,
                             const tn_dataset *data, tn_loss_curve *curve, tn_figure_format format,
                             tn_error *error) {
    tn_status status = draw(folder, model, result, data, curve, format, error);
    tn_buffer_free(&curve->data);
    return status;
}
