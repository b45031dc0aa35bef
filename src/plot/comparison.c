#include "plot/comparison.h"

#include "base/c_locale.h"
#include "plot/gnuplot.h"
#include "text/number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A block of the data, and its name under `name` and its number. */
static void name_block(tn_buffer *definition, size_t block, const char *name) {
    char key[24];
    tn_snprintf(key, sizeof key, "name_%zu", block);
    tn_define_text(definition, key, name);
}

static void put_numbers(tn_buffer *data, const double *value, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[40];
        tn_real_text(value[i], text, sizeof text);
        tn_buffer_format(data, "%s%s", i ? " " : "", text);
    }
}

/* What a label takes of the figure, in decades of its axes. */
static const double LABEL_WIDTH = 0.85, LABEL_HEIGHT = 0.22;

static bool labels_meet(const tn_comparison_row *a, const tn_comparison_row *b) {
    return fabs(log10(tn_epoch_seconds(a) / tn_epoch_seconds(b))) < LABEL_WIDTH &&
           fabs(log10(tn_epoch_joules(a) / tn_epoch_joules(b))) < LABEL_HEIGHT;
}

/* Labels of all rows would lie on each other: of the ways that say most, each row whose label meets no earlier one's. */
static void choose_labels(const tn_comparison_row *row, size_t rows, bool *told) {
    for (size_t i = 0; i < rows; i++) {
        told[i] = row[i].way != TN_WAY_LAUNCHED && row[i].way != TN_WAY_LEAST_ENERGY;
        for (size_t k = 0; k < i && told[i]; k++) told[i] = !told[k] || !labels_meet(&row[i], &row[k]);
    }
}

static void put_row(tn_buffer *data, const tn_comparison_row *row, bool told) {
    double steps = row->steps_per_epoch;
    const double value[] = {tn_epoch_seconds(row),     row->seconds.least * steps,
                            row->seconds.most * steps, tn_epoch_joules(row),
                            row->joules.least * steps, row->joules.most * steps,
                            row->is_dense ? 1.0 : 0.0, row->batch};
    char cell[64];
    put_numbers(data, value, sizeof value / sizeof *value);
    tn_buffer_text(data, " ");
    cell[0] = '\0';
    if (told) tn_snprintf(cell, sizeof cell, "%s, batch %.0f", tn_way_names[row->way], row->batch);
    tn_figure_cell(data, cell);
    tn_buffer_text(data, "\n");
}

static bool begun_before(const tn_comparison_row *row, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(row[i].model, row[index].model) == 0 && strcmp(row[i].system, row[index].system) == 0)
            return true;
    return false;
}

/* A block for each model on each system. */
static void put_rows(const tn_comparison_row *row, size_t rows, const bool *told, tn_buffer *definition,
                     tn_buffer *data) {
    size_t blocks = 0;
    for (size_t i = 0; i < rows; i++) {
        char name[160];
        if (begun_before(row, i)) continue;
        if (blocks++) tn_buffer_text(data, "\n\n");
        tn_snprintf(name, sizeof name, "%s, %s", row[i].model, row[i].system);
        name_block(definition, blocks, name);
        for (size_t k = i; k < rows; k++)
            if (strcmp(row[i].model, row[k].model) == 0 && strcmp(row[i].system, row[k].system) == 0)
                put_row(data, &row[k], told[k]);
    }
    tn_define_real(definition, "blocks", (double)blocks);
}

/* A block for each model and power at rest: the ratio at the four steps, which lie on a line. */
static void put_ratios(const tn_energy_ratio *ratio, size_t ratios, tn_buffer *definition, tn_buffer *data) {
    for (size_t i = 0; i < ratios; i++) {
        const tn_energy_ratio *r = &ratio[i];
        const double point[][2] = {{1e3 * r->kernels_seconds, r->kernels},
                                   {1e3 * r->least_seconds, r->least},
                                   {1e3 * r->launched_seconds, r->launched},
                                   {1e3 * r->most_seconds, r->most}};
        char name[160];
        if (i) tn_buffer_text(data, "\n\n");
        tn_snprintf(name, sizeof name, "%s, FPGA at rest %.3g W", r->model, r->rest_W);
        name_block(definition, i + 1, name);
        for (size_t k = 0; k < sizeof point / sizeof *point; k++) {
            put_numbers(data, point[k], 2);
            tn_buffer_text(data, "\n");
        }
    }
    tn_define_real(definition, "blocks", (double)ratios);
    tn_define_real(definition, "claimed", ratio->claimed);
    tn_define_text(definition, "system", ratio->system);
}

static tn_status draw(const char *path, tn_figure_format format, const char *script, tn_buffer *definition,
                      tn_buffer *data, tn_error *error) {
    const tn_figure figure = {
        .path = path, .format = format, .script = script, .definition = definition, .data = data};
    return tn_figure_draw(&figure, error);
}

tn_status tn_comparison_draw(const char *path, const tn_comparison_row *row, size_t rows,
                             const tn_energy_ratio *ratio, size_t ratios, tn_error *error) {
    tn_buffer definition = {0}, data = {0};
    tn_arena arena = {0};
    tn_figure_format format;
    const char *stem, *claim;
    bool *told;
    TN_TRY(tn_figure_format_of(path, &format, error));
    size_t length = strlen(path) - strlen(strrchr(path, '.'));
    tn_status status = tn_arena_copy_text(&arena, path, length, &stem, error);
    if (status == TN_OK) status = tn_arena_format(&arena, &claim, error, "%s-claim", stem);
    if (status == TN_OK) status = TN_NEW(&arena, rows, &told, error);
    if (status == TN_OK) {
        choose_labels(row, rows, told);
        put_rows(row, rows, told, &definition, &data);
        status = draw(stem, format, "compare", &definition, &data, error);
    }
    definition.length = data.length = 0;
    if (status == TN_OK && ratios) {
        put_ratios(ratio, ratios, &definition, &data);
        status = draw(claim, format, "compare-claim", &definition, &data, error);
    }
    tn_buffer_free(&definition);
    tn_buffer_free(&data);
    tn_arena_free(&arena);
    return status;
}
