#include "finetune/finetune_figures.h"

#include "base/c_locale.h"
#include "base/memory.h"
#include "plot/gnuplot.h"
#include "text/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CURVE = 120 };

typedef struct {
    tn_buffer definition, data;
    size_t series;
} figure_text;

static tn_status draw(const char *path, const char *script, figure_text *sheet, tn_error *error) {
    tn_figure_format format;
    tn_arena arena = {0};
    const char *name;
    tn_status status = tn_figure_format_of(path, &format, error);
    if (status == TN_OK)
        status = tn_arena_copy_text(&arena, path, (size_t)(strrchr(path, '.') - path), &name, error);
    if (status == TN_OK)
        status = tn_figure_draw(&(tn_figure){.path = name,
                                             .format = format,
                                             .script = script,
                                             .definition = &sheet->definition,
                                             .data = &sheet->data},
                                error);
    tn_arena_free(&arena);
    tn_buffer_free(&sheet->definition);
    tn_buffer_free(&sheet->data);
    return status;
}

static void put_measured(tn_buffer *out, const tn_finetune_group *group, double sparsity) {
    for (size_t i = 0; i < group->count; i++)
        if (group->point[i].sparsity == sparsity)
            tn_buffer_format(out, "%.17g %.17g\n", group->point[i].batch, group->point[i].queries_per_s);
    tn_buffer_text(out, "\n\n");
}

/* From batch 1 to a quarter beyond the largest measured one; returns the highest value. An interval that is
 * not known is as wide as the law. */
static double put_law(tn_buffer *out, const tn_finetune_fit *fit, double largest, double sparsity) {
    double highest = 0;
    for (int i = 0; i <= CURVE; i++) {
        double batch = pow(largest * 1.25 + 1, (double)i / CURVE);
        tn_finetune_interval interval = tn_finetune_fitted(fit, batch, sparsity);
        if (!isfinite(interval.low) || !isfinite(interval.high))
            interval.low = interval.high = interval.value;
        tn_buffer_format(out, "%.17g %.17g %.17g %.17g\n", batch, interval.value, interval.low,
                         interval.high);
        highest = fmax(highest, interval.value);
    }
    tn_buffer_text(out, "\n\n");
    return highest;
}

static void put_group(figure_text *sheet, size_t place, const tn_finetune_group *group,
                      const tn_finetune_fit *fit) {
    double largest = 0, top = 0;
    char text[512];
    for (size_t i = 0; i < group->count; i++) {
        largest = fmax(largest, group->point[i].batch);
        top = fmax(top, group->point[i].queries_per_s);
    }
    tn_snprintf(text, sizeof text, "%s, %s, %s", group->gpu, group->model, group->dataset);
    char name[64];
    tn_snprintf(name, sizeof name, "heading[%zu]", place + 1);
    tn_define_text(&sheet->definition, name, text);
    tn_buffer_format(&sheet->definition, "first[%zu] = %zu\n", place + 1, sheet->series);
    for (size_t i = 0; i < group->count; i++) {
        bool seen = false;
        double sparsity = group->point[i].sparsity;
        for (size_t j = 0; j < i; j++) seen = seen || group->point[j].sparsity == sparsity;
        if (seen) continue;
        tn_snprintf(name, sizeof name, "label[%zu]", ++sheet->series);
        tn_snprintf(text, sizeof text, "sparsity %g", sparsity);
        tn_define_text(&sheet->definition, name, text);
        put_measured(&sheet->data, group, sparsity);
        top = fmax(top, put_law(&sheet->data, fit, largest, sparsity));
    }
    tn_snprintf(name, sizeof name, "top[%zu]", place + 1);
    tn_define_real(&sheet->definition, name, 1.2 * top);
    tn_buffer_format(&sheet->definition, "last[%zu] = %zu\n", place + 1, sheet->series - 1);
}

tn_status tn_finetune_throughput_figure(const char *path, const tn_finetune_data *data,
                                        const tn_finetune_fit *const *fit, tn_error *error) {
    figure_text sheet = {0};
    size_t points = 0, columns = (size_t)ceil(sqrt((double)data->count));
    size_t rows = (data->count + columns - 1) / columns;
    for (size_t i = 0; i < data->count; i++) points += data->group[i].count;
    tn_buffer_format(&sheet.definition, "groups = %zu\ncolumns = %zu\nrows = %zu\n", data->count, columns,
                     rows);
    tn_buffer_format(&sheet.definition, "size_x = %zu\nsize_y = %zu\n", columns > 1 ? columns * 450 : 700,
                     columns > 1 ? rows * 340 : 500);
    tn_buffer_format(
        &sheet.definition,
        "array heading[%zu]\narray top[%zu]\narray first[%zu]\narray last[%zu]\narray label[%zu]\n",
        data->count, data->count, data->count, data->count, points);
    for (size_t i = 0; i < data->count; i++) put_group(&sheet, i, &data->group[i], fit[i]);
    return draw(path, "finetune-throughput", &sheet, error);
}

tn_status tn_finetune_cost_figure(const char *path, const char *heading, const tn_bill *bill, size_t count,
                                  tn_error *error) {
    figure_text sheet = {0};
    size_t estimated = 0;
    tn_define_text(&sheet.definition, "heading", heading);
    tn_buffer_format(&sheet.definition, "gpus = %zu\n", count);
    for (size_t i = 0; i < count; i++) {
        tn_finetune_interval usd = bill[i].usd;
        if (!isfinite(usd.low) || !isfinite(usd.high)) usd.low = usd.high = usd.value;
        tn_buffer_format(&sheet.data, "%zu %.17g %.17g %.17g %d ", i + 1, usd.value, usd.low, usd.high,
                         bill[i].predicted);
        char hours[48];
        tn_figure_cell(&sheet.data, bill[i].gpu);
        tn_buffer_text(&sheet.data, " ");
        tn_figure_cell(&sheet.data, tn_quantity_text(3600 * bill[i].hours.value, "s", hours));
        tn_buffer_text(&sheet.data, "\n");
        estimated += bill[i].predicted;
    }
    tn_buffer_format(&sheet.definition, "estimated = %zu\nmeasured = %zu\n", estimated, count - estimated);
    return draw(path, "finetune-cost", &sheet, error);
}

tn_status tn_finetune_profile_figure(const char *path, const char *heading, const tn_step_profile *profile,
                                     tn_error *error) {
    figure_text sheet = {0};
    double most = 0;
    char name[16], text[128];
    tn_define_text(&sheet.definition, "heading", heading);
    tn_buffer_format(&sheet.definition, "rows = %zu\n", profile->kernels);
    for (int stage = 0; stage < TN_STAGES; stage++) {
        tn_snprintf(name, sizeof name, "stage_%d", stage);
        tn_define_text(&sheet.definition, name, tn_stage_names[stage]);
    }
    for (size_t i = 0; i < profile->kernels; i++) {
        const tn_step_profile_row *row = &profile->kernel[i];
        most = fmax(most, 1e3 * row->seconds);
        tn_snprintf(text, sizeof text, "%s: %s", row->layer, row->name);
        tn_figure_cell(&sheet.data, text);
        for (int stage = 0; stage < TN_STAGES; stage++)
            tn_buffer_format(&sheet.data, " %.17g", 1e3 * row->stage_seconds[stage]);
        tn_buffer_format(&sheet.data, " %.17g ", 1e3 * row->seconds);
        tn_snprintf(text, sizeof text, "%.0f %%, %s", 100 * row->share, row->limit);
        tn_figure_cell(&sheet.data, text);
        tn_buffer_text(&sheet.data, "\n");
    }
    tn_define_real(&sheet.definition, "most", most);
    return draw(path, "finetune-profile", &sheet, error);
}

tn_status tn_finetune_batch_figure(const char *path, const char *heading, const tn_batch_line *line,
                                   size_t lines, const tn_batch_measured *measured, size_t count,
                                   tn_error *error) {
    const double least_GB = 16, most_GB = 192;
    figure_text sheet = {0};
    char name[32], text[96];
    tn_define_text(&sheet.definition, "heading", heading);
    tn_buffer_format(&sheet.definition, "lines = %zu\nmeasured = %zu\narray label[%zu]\n", lines, count,
                     lines);
    for (size_t i = 0; i < lines; i++) {
        tn_snprintf(name, sizeof name, "label[%zu]", i + 1);
        tn_snprintf(text, sizeof text, "%g tokens, sparsity %g", line[i].tokens, line[i].sparsity);
        tn_define_text(&sheet.definition, name, text);
        for (int k = 0; k <= CURVE; k++) {
            double GB = least_GB + (most_GB - least_GB) * k / CURVE;
            tn_batch_interval interval = tn_batch_by_memory(&line[i].count, GB, &line[i].factor);
            tn_buffer_format(&sheet.data, "%.17g %llu %llu %llu\n", GB, (unsigned long long)interval.value,
                             (unsigned long long)interval.low, (unsigned long long)interval.high);
        }
        tn_buffer_text(&sheet.data, "\n\n");
    }
    for (size_t i = 0; i < count; i++) {
        size_t owner = 0;
        while (owner + 1 < lines &&
               (line[owner].sparsity != measured[i].sparsity || line[owner].tokens != measured[i].sequence))
            owner++;
        tn_buffer_format(&sheet.data, "%.17g %.17g %zu\n", measured[i].memory_GB, measured[i].batch,
                         owner + 1);
    }
    return draw(path, "finetune-batch", &sheet, error);
}
