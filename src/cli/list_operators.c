#include "cli/list_operators.h"

#include "cli/output.h"
#include "device/device_data.h"
#include "device/hls_report.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    const tn_operator_row *row;
    size_t count;
} row_list;

static const tn_column row_columns[] = {
    TN_COLUMN(tn_operator_row, name, "row"),
    TN_COLUMN(tn_operator_row, precision, "precision"),
    TN_NAME("operator", tn_operator_row, operator_kind, tn_operator_names, "operator"),
    TN_NAME("set", tn_operator_row, set, tn_operator_source_names, "set"),
    TN_COLUMN(tn_operator_row, period_ns, "period ns"),
    TN_COLUMN(tn_operator_row, stages, "stages"),
    TN_COLUMN(tn_operator_row, lut, "LUT"),
    TN_COLUMN(tn_operator_row, ff, "FF"),
    TN_COLUMN(tn_operator_row, dsp, "DSP"),
    TN_COLUMN(tn_operator_row, packed, NULL),
    TN_NAME("origin", tn_operator_row, origin, tn_origin_names, "origin"),
    TN_COLUMN(tn_operator_row, source, NULL),
};
static const tn_record row_record = TN_RECORD(tn_operator_row, row_columns);
static const tn_column list_columns[] = {TN_ROWS("operators", row_list, row, count, row_record, NULL)};
const tn_record tn_list_operators_record = TN_RECORD(row_list, list_columns);

/* In double quotes, as YAML reads it. */
static void put_quoted(tn_buffer *out, const char *text) {
    tn_buffer_text(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tn_buffer_text(out, "\\");
        tn_buffer_format(out, "%c", (unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
    }
    tn_buffer_text(out, "\"");
}

static tn_status print_report(const tn_hls_report *report, tn_error *error) {
    tn_buffer out = {0};
    if (!report->has_logic)
        tn_buffer_text(&out, "# Without lut and ff, which csynth.xml has not; the .verbose.rpt.xml of the "
                             "function has them.\n");
    tn_buffer_text(&out, "operators:\n");
    for (size_t i = 0; i < report->count; i++) {
        const tn_operator_row *row = &report->row[i];
        char period[32];
        tn_real_text(row->period_ns, period, sizeof period);
        tn_buffer_format(
            &out, "  %s: {precision: %s, operator: %s, period_ns: %s, stages: %" PRIu64 ", dsp: %" PRIu64,
            row->name, row->precision, tn_operator_names[row->operator_kind], period, row->stages, row->dsp);
        if (report->has_logic) tn_buffer_format(&out, ", lut: %" PRIu64 ", ff: %" PRIu64, row->lut, row->ff);
        tn_buffer_format(&out, ",\n    origin: %s, source: ", tn_origin_names[row->origin]);
        put_quoted(&out, row->source);
        tn_buffer_text(&out, "}\n");
    }
    return tn_output(&out, error);
}

tn_status tn_list_operators(tn_common *common, tn_error *error) {
    const char *name = common->arguments > 1 ? common->argument[1] : NULL,
               *ending = name ? strrchr(name, '.') : NULL;
    row_list list;
    if (!name)
        return tn_fail(error, TN_INPUT,
                       "list operators needs a device, such as u50, or a report of high-level synthesis, "
                       "FUNCTION.verbose.rpt.xml or csynth.xml");
    if (ending && strcmp(ending, ".xml") == 0) {
        tn_hls_report report;
        TN_TRY(tn_hls_report_load(name, &common->arena, &report, error));
        if (!common->json) return print_report(&report, error);
        list = (row_list){report.row, report.count};
        return tn_output_json(&tn_list_operators_record, &list, error);
    }
    tn_device *device;
    TN_TRY(tn_device_load(name, NULL, 0, &common->arena, &device, error));
    if (tn_device_kind_of(device) != TN_DEVICE_FPGA)
        return tn_fail(error, TN_INPUT, "%s is of kind roofline, which has no operators; name an FPGA", name);
    list = (row_list){device->operators.item, device->operators.count};
    if (common->json) return tn_output_json(&tn_list_operators_record, &list, error);
    return tn_output_rows(&row_record, list.row, list.count, error);
}
