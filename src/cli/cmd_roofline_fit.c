/* tenfold roofline fit --device D [DATA.csv] [--steps STEPS.csv] [--splits N] [--seed S] [-o FILE.yaml] */
#include "base/file.h"
#include "base/guard.h"
#include "cli/cmd_roofline.h"
#include "cli/output.h"
#include "roofline/fit.h"
#include "roofline/step.h"
#include "text/json.h"
#include "text/record.h"
#include "text/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLITS_MOST = 64, LAWS_MOST = 32 };

typedef struct {
    tn_common common;
    const char *device_name, *data_file, *steps_file, *output, *inherited;
    tn_option_list set;
    uint64_t splits;
    tn_roofline_fit_options options;
    tn_watch watch;
    tn_roofline *device, fitted;
    tn_roofline_measurements data;
    double host_us, worst_ratio, power_W;
    double held_out[LAWS_MOST][SPLITS_MOST]; /* [law][split]: median relative error */
} request;

static const tn_roofline_law *law_at(const request *r, size_t i) {
    return (const tn_roofline_law *)r->fitted.laws.item + i;
}

/* --- The work. */

static tn_status judge_split(request *r, uint64_t split, bool *held_out, tn_error *error) {
    tn_arena arena = {0};
    tn_roofline half;
    tn_status status = tn_roofline_split(&r->data, split, r->options.seed, held_out, &arena, error);
    if (status == TN_OK)
        status = tn_roofline_fit(r->device, &r->data, held_out, &r->options, &arena, &half, error);
    for (size_t i = 0; i < r->fitted.laws.count && status == TN_OK; i++) {
        size_t rows;
        status = tn_roofline_error(&half, &r->data, held_out, law_at(r, i)->precision,
                                   (tn_roofline_time)law_at(r, i)->time, &arena, &r->held_out[i][split],
                                   &rows, error);
    }
    tn_arena_free(&arena);
    return status;
}

static tn_status fit_products(request *r, tn_error *error) {
    bool *held_out;
    TN_TRY(tn_roofline_measurements_load(r->data_file, r->device, &r->common.arena, &r->data, error));
    TN_TRY(TN_NEW(&r->common.arena, r->data.count, &held_out, error));
    TN_TRY(tn_roofline_fit(r->device, &r->data, NULL, &r->options, &r->common.arena, &r->fitted, error));
    if (r->fitted.laws.count > LAWS_MOST)
        return tn_fail(error, TN_LIMIT, "device %s has %zu laws; at most %d are judged", r->device->name,
                       r->fitted.laws.count, LAWS_MOST);
    for (uint64_t split = 0; split < r->splits; split++) {
        TN_TRY(judge_split(r, split, held_out, error));
        tn_progress_report(&r->watch.progress, split + 1, r->splits);
    }
    return TN_OK;
}

static tn_status fit_host(request *r, tn_error *error) {
    TN_TRY(tn_roofline_fit_host(r->steps_file, &r->common.arena, &r->host_us, &r->worst_ratio, &r->power_W,
                                error));
    r->fitted.host_us_per_kernel = r->host_us;
    if (r->power_W > 0) r->fitted.step_power_W = r->power_W;
    return TN_OK;
}

/* --- The device file: what was fitted, over the device that it was fitted for. */

/* The path without links and dots; NULL where nothing is there. */
static tn_status whole_path(request *r, const char *path, const char **whole, tn_error *error) {
    char *found = realpath(path, NULL);
    *whole = NULL;
    if (!found) return TN_OK;
    tn_status status = tn_arena_copy_text(&r->common.arena, found, strlen(found), whole, error);
    free(found);
    return status;
}

/* r->inherited = the name by which a file in the output's folder inherits the device: a bare name, or a path,
 * from that folder where the device lies there too. */
static tn_status name_inherited(request *r, tn_error *error) {
    const char *device = r->device_name, *slash = strrchr(r->output, '/'), *source, *target;
    size_t folder = slash ? (size_t)(slash - r->output) + 1 : 0;
    r->inherited = device;
    if (!strchr(device, '/') && !strstr(device, ".yaml")) return TN_OK;
    TN_TRY(whole_path(r, device, &source, error));
    TN_TRY(whole_path(r, r->output, &target, error));
    if (source && target && strcmp(source, target) == 0)
        return tn_fail(error, TN_INPUT, "%s would inherit from itself; write to another file", r->output);
    bool together = strncmp(device, r->output, folder) == 0 && device[0] != '/';
    if (together) return tn_arena_format(&r->common.arena, &r->inherited, error, "./%s", device + folder);
    if (source) r->inherited = source;
    return TN_OK;
}

static tn_status write_device(request *r, tn_error *error) {
    tn_buffer out = {0};
    tn_buffer_text(&out,
                   "# Written by `tenfold roofline fit`: what was fitted to measurements, over the device "
                   "below.\nkind: roofline\n");
    tn_yaml_put(&out, 0, "name", r->device->name);
    tn_yaml_put(&out, 0, "inherit", r->inherited);
    tn_buffer_text(&out, "roofline:\n");
    if (r->steps_file) {
        tn_buffer_format(&out, "  host_us_per_kernel: %.6g\n", r->fitted.host_us_per_kernel);
        if (r->power_W > 0) tn_buffer_format(&out, "  step_power_W: %.6g\n", r->fitted.step_power_W);
    }
    if (r->data_file) tn_roofline_write_laws(&r->fitted, &out);
    tn_status status = tn_file_write_buffer(r->output, &out, error);
    tn_buffer_free(&out);
    return status;
}

/* --- Output. */

static void split_name(uint64_t split, char *name, size_t capacity) {
    if (split < 2)
        snprintf(name, capacity, "%s rows", split == 0 ? "even" : "odd");
    else
        snprintf(name, capacity, "random half %" PRIu64, split - 1);
}

static void put_json_law(tn_json *json, const request *r, size_t i, double median, size_t rows) {
    const tn_roofline_law *law = law_at(r, i);
    tn_json_object(json);
    tn_json_put_text(json, "dtype", law->precision);
    tn_json_put_text(json, "time", tn_roofline_time_names[law->time]);
    tn_json_put_count(json, "rows", rows);
    if (law->time == TN_TIME_GRAPH) {
        tn_json_put_count(json, "tile", law->tile);
        tn_json_put_count(json, "split_depth", law->split_depth);
        tn_json_put_real(json, "launch_us", law->launch_us);
        tn_json_put_real(json, "vector_launch", law->vector_launch);
        tn_json_put_real(json, "misaligned_launch", law->misaligned_launch);
        tn_json_put_real(json, "pipeline_us", law->pipeline_us);
        tn_json_put_real(json, "compute_efficiency", law->compute_efficiency);
        tn_json_put_real(json, "misaligned_compute", law->misaligned_compute);
        tn_json_put_real(json, "cache_gain", law->cache_gain);
    } else {
        tn_json_put_real(json, "host_us", law->host_us);
        tn_json_put_real(json, "misaligned_host", law->misaligned_host);
        tn_json_put_real(json, "gap_us", law->gap_us);
    }
    tn_json_put_real(json, "median_error_on_fitted_rows", median);
    tn_json_key(json, "median_error_on_held_out_rows");
    tn_json_array(json);
    for (uint64_t split = 0; split < r->splits; split++) {
        char name[48];
        split_name(split, name, sizeof name);
        tn_json_object(json);
        tn_json_put_text(json, "held_out", name);
        tn_json_put_real(json, "median", r->held_out[i][split]);
        tn_json_end(json);
    }
    tn_json_end(json);
    tn_json_end(json);
}

static tn_status print_json(request *r, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_json_put_text(&json, "device", r->device->name);
    tn_json_put_count(&json, "seed", r->options.seed);
    if (r->data_file) {
        tn_json_put_text(&json, "data", r->data.file);
        tn_json_key(&json, "laws");
        tn_json_array(&json);
        for (size_t i = 0; i < r->fitted.laws.count; i++) {
            double median;
            size_t rows;
            TN_TRY(tn_roofline_error(&r->fitted, &r->data, NULL, law_at(r, i)->precision,
                                     (tn_roofline_time)law_at(r, i)->time, &r->common.arena, &median, &rows,
                                     error));
            put_json_law(&json, r, i, median, rows);
        }
        tn_json_end(&json);
    }
    if (r->steps_file) {
        tn_json_put_real(&json, "host_us_per_kernel", r->host_us);
        tn_json_put_real(&json, "worst_ratio", r->worst_ratio);
        tn_json_put_real(&json, "step_power_W", r->power_W);
    }
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status print_laws(request *r, tn_error *error) {
    tn_table table;
    tn_table_begin(&table, 4 + (size_t)r->splits);
    tn_table_text(&table, "precision");
    tn_table_text(&table, "time");
    tn_table_text(&table, "rows");
    tn_table_text(&table, "fitted rows (%)");
    for (uint64_t split = 0; split < r->splits; split++) {
        char name[48];
        split_name(split, name, sizeof name);
        tn_table_format(&table, "%s (%%)", name);
    }
    for (size_t i = 0; i < r->fitted.laws.count; i++) {
        double median;
        size_t rows;
        TN_TRY(tn_roofline_error(&r->fitted, &r->data, NULL, law_at(r, i)->precision,
                                 (tn_roofline_time)law_at(r, i)->time, &r->common.arena, &median, &rows,
                                 error));
        tn_table_text(&table, law_at(r, i)->precision);
        tn_table_text(&table, tn_roofline_time_names[law_at(r, i)->time]);
        tn_table_count(&table, rows);
        tn_table_format(&table, "%.1f", 100 * median);
        for (uint64_t split = 0; split < r->splits; split++)
            tn_table_format(&table, "%.1f", 100 * r->held_out[i][split]);
    }
    tn_say("Median relative error of the laws of %s, fitted with seed %" PRIu64
           ", on the rows that they were\n"
           "fitted to%s.\n\n",
           r->device->name, r->options.seed,
           r->splits ? ", and on halves of the rows held out of fits to the other half" : "");
    return tn_table_end(&table, error);
}

static tn_status print_people(request *r, tn_error *error) {
    if (r->data_file) TN_TRY(print_laws(r, error));
    if (r->steps_file)
        tn_say("%sA launched step costs its host %.2f us a kernel: within a factor %.2f of every measured "
               "step%s\n",
               r->data_file ? "\n" : "", r->host_us, r->worst_ratio, r->power_W > 0 ? "," : ".");
    if (r->steps_file && r->power_W > 0) tn_say("at %.0f W.\n", r->power_W);
    if (r->output) tn_say("\nWritten to %s.\n", r->output);
    return TN_OK;
}

/* --- The command. */

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    (void)answer;
    r->data_file = r->common.argument[0];
    if (!r->data_file && !r->steps_file)
        return tn_fail(error, TN_INPUT,
                       "nothing to fit to; give DATA.csv with measured products, or --steps");
    if (r->splits > SPLITS_MOST)
        return tn_fail(error, TN_INPUT, "--splits is at most %d, not %" PRIu64, SPLITS_MOST, r->splits);
    TN_TRY(tn_blas_room(error));
    TN_TRY(tn_roofline_load(r->device_name, &r->set, &r->common.arena, &r->device, error));
    if (r->output) TN_TRY(name_inherited(r, error));
    r->fitted = *r->device;
    if (r->data_file) {
        tn_watch_begin(&r->watch, "fits to halves", r->common.quiet);
        tn_status status = fit_products(r, error);
        tn_watch_end(&r->watch);
        TN_TRY(status);
    }
    if (r->steps_file) TN_TRY(fit_host(r, error));
    if (r->output) TN_TRY(write_device(r, error));
    return r->common.json ? print_json(r, error) : print_people(r, error);
}

static const request defaults = {.splits = 4, .options = TN_ROOFLINE_FIT_DEFAULTS};
static const tn_option options[] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "whose peaks and bandwidth the laws build on"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the device; repeatable"},
    {"--steps", TN_INTO(request, steps_file), "STEPS.csv",
     "measured training steps: columns kernels, step_ms, and energy_mJ if known"},
    {"--splits", TN_INTO(request, splits), "N", "halves to hold out and judge by (default 4)"},
    {"--seed", TN_INTO(request, options.seed), "N", "of the starts and the random halves (default 1)"},
    {"--starts", TN_INTO(request, options.starts), "N", "starts of each search (default 4)"},
    {"-o", TN_INTO(request, output), "FILE.yaml", "device file that inherits DEVICE, with what was fitted"},
};

static const tn_column held_out_keys[] = {
    TN_ANSWER_KEY("held_out", "string"),
    TN_ANSWER_KEY("median", "number null"),
};
static const tn_record held_out_record = {.column = held_out_keys,
                                          .columns = sizeof held_out_keys / sizeof *held_out_keys};
static const tn_column law_keys[] = {
    TN_ANSWER_KEY("dtype", "string"),
    TN_ANSWER_KEY("time", "string"),
    TN_ANSWER_KEY("rows", "integer"),
    TN_ANSWER_KEY("tile", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("split_depth", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("launch_us", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("vector_launch", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("misaligned_launch", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("pipeline_us", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("compute_efficiency", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("misaligned_compute", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("cache_gain", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("host_us", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("misaligned_host", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("gap_us", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("median_error_on_fitted_rows", "number null"),
    TN_ANSWER_ROWS("median_error_on_held_out_rows", held_out_record),
};
static const tn_record law_record = {.column = law_keys, .columns = sizeof law_keys / sizeof *law_keys};
static const tn_column answer_keys[] = {
    TN_ANSWER_KEY("device", "string"),
    TN_ANSWER_KEY("seed", "integer"),
    TN_ANSWER_KEY("data", "string", TN_OPTIONAL),
    TN_ANSWER_ROWS("laws", law_record, TN_OPTIONAL),
    TN_ANSWER_KEY("host_us_per_kernel", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("worst_ratio", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("step_power_W", "number null", TN_OPTIONAL),
};
static const tn_record answer_record = {.column = answer_keys,
                                        .columns = sizeof answer_keys / sizeof *answer_keys};

const tn_command tn_roofline_fit_command = {
    .name = "roofline fit",
    .summary = "fits the laws of a roofline device to measured products, its host to measured steps",
    .usage = "--device D [DATA.csv] [--steps STEPS.csv] [--splits N] [--seed S] [-o FILE.yaml]",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
