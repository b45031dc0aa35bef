#include "finetune/gpu.h"

#include "base/name_index.h"
#include "base/search_path.h"
#include "device/device_data.h"
#include "roofline/roofline.h"
#include "text/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the table ---- */

static const char folder[] = "models/prices";
static const char *const kind_names[] = {"gpu-table", NULL};

typedef struct {
    double memory_GB, peak_TFLOPS, bandwidth_GBps;
    uint32_t origin; /* tn_origin */
    const char *source;
} figures;

typedef struct {
    double usd_per_hour;
    uint32_t origin; /* tn_origin */
    const char *source, *date;
} price;

typedef struct {
    tn_framework made;
    uint32_t origin; /* tn_origin */
    const char *source;
    tn_position position;
} framework;

typedef struct {
    const char *name, *device, *precision;
    double link_GBps;
    figures figures;
    price price;
    tn_position device_at, figures_at, price_at;
} row;

typedef struct {
    uint32_t kind;
    tn_item_list gpus; /* row */
    framework framework;
} table_file;

static const tn_field figures_fields[] = {
    TN_KEY(REAL, figures, memory_GB, "memory, 1e9 bytes", TN_REQUIRED, TN_WITHIN(0.001, 1e6)),
    TN_KEY(REAL, figures, peak_TFLOPS, "peak of the training precision, dense", TN_REQUIRED,
           TN_WITHIN(0.001, 1e9)),
    TN_KEY(REAL, figures, bandwidth_GBps, "bandwidth of that memory", TN_REQUIRED, TN_WITHIN(0.001, 1e9)),
    TN_KEY(CHOICE, figures, origin, "where the figures come from", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, figures, source, "what they were read in"),
};
static const tn_schema figures_schema = TN_SCHEMA("gpu-table.gpu.figures", figures, figures_fields);

static const tn_field price_fields[] = {
    TN_KEY(REAL, price, usd_per_hour, "price of one GPU, US dollars an hour", TN_REQUIRED,
           TN_WITHIN(1e-6, 1e6)),
    TN_KEY(CHOICE, price, origin, "where the price comes from", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, price, source, "what it was read in"),
    TN_KEY(TEXT, price, date, "when it was asked, year and month"),
};
static const tn_schema price_schema = TN_SCHEMA("gpu-table.gpu.price", price, price_fields);

static const tn_field row_fields[] = {
    TN_KEY(TEXT, row, device, "roofline device whose memory, peak and bandwidth this GPU has",
           TN_SEEN(row, device_at)),
    TN_KEY(TEXT, row, precision, "the device's precision whose peak counts", TN_DEFAULT("bf16")),
    TN_KEY(REAL, row, link_GBps, "to the GPUs of its node, one direction", TN_DEFAULT("32"),
           TN_WITHIN(0.001, 1e6)),
    TN_KEY(MAPPING, row, figures, "instead of device: the figures themselves", .sub = &figures_schema,
           TN_SEEN(row, figures_at)),
    TN_KEY(MAPPING, row, price, "without one, the GPU is left out of bills", .sub = &price_schema,
           TN_SEEN(row, price_at)),
};
static const tn_schema row_schema = TN_SCHEMA("gpu-table.gpu", row, row_fields);

#define FIGURE(key, member, meaning, least, most)                                                            \
    TN_KEY_AS(key, REAL, framework, made.member, meaning, TN_REQUIRED, TN_WITHIN(least, most))
static const tn_field framework_fields[] = {
    FIGURE("compute_share", compute_share, "of the peak that a step's widest products reach", 1e-6, 1),
    FIGURE("half_rate_rows", half_rate_rows,
           "rows (tokens of an expert) at which a product reaches half of that share", 0, 1e6),
    FIGURE("bandwidth_share", bandwidth_share, "of the bandwidth that kernels reach", 1e-6, 1),
    FIGURE("network_GBps", network_GBps, "a GPU's share of its node's way to other nodes, one direction",
           1e-3, 1e6),
    FIGURE("host_us_per_kernel", host_us, "microseconds that the host takes to launch a kernel", 1e-3, 1e6),
    FIGURE("time_error", time_error, "relative standard deviation of measured steps from estimated ones", 0,
           1),
    FIGURE("kept_factor", kept_factor, "bytes that a step keeps over what is counted", 0.1, 100),
    FIGURE("kept_error", kept_error, "its relative standard deviation", 0, 1),
    FIGURE("unknown_spread", unknown_spread,
           "of a data set of which only the median is known: spread of its lengths, for time", 0, 5),
    FIGURE("unknown_longest", unknown_longest,
           "of such a data set: its longest query over the median, for memory", 1, 100),
    FIGURE("unknown_error", unknown_error, "relative standard deviation of that", 0, 1),
    TN_KEY(CHOICE, framework, origin, "where the figures come from", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, framework, source, "what they were taken from"),
};
static const tn_schema framework_schema = TN_SCHEMA("gpu-table.framework", framework, framework_fields);

static const tn_field fields[] = {
    TN_KEY(CHOICE, table_file, kind, "tells this kind of file apart", TN_REQUIRED, TN_ONE_OF(kind_names)),
    TN_KEY(TABLE, table_file, gpus, "GPUs by the names that measurements use", TN_REQUIRED,
           .sub = &row_schema),
    TN_KEY(MAPPING, table_file, framework, "what a training framework makes of them, for estimates",
           .sub = &framework_schema, TN_SEEN(table_file, framework.position)),
};
const tn_schema tn_gpu_table_schema = TN_SCHEMA("gpu-table", table_file, fields);

static bool is_unverified(const tn_roofline *roofline, const tn_roofline_precision *precision) {
    static const char *const used[] = {"bandwidth_GBps", "memory_bytes"};
    if (roofline->origin == TN_UNVERIFIED || precision->origin == TN_UNVERIFIED) return true;
    for (size_t i = 0; i < roofline->unverified.count; i++)
        for (size_t j = 0; j < sizeof used / sizeof *used; j++)
            if (strcmp(roofline->unverified.item[i], used[j]) == 0) return true;
    return false;
}

static tn_status from_device(const row *source, tn_arena *arena, tn_gpu *gpu, tn_error *error) {
    tn_device *device;
    tn_roofline *roofline;
    const tn_roofline_precision *precision;
    TN_TRY(tn_device_load(source->device, NULL, 0, arena, &device, error));
    TN_TRY(tn_roofline_of(device, arena, &roofline, error));
    TN_TRY(tn_roofline_precision_find(roofline, source->precision, &precision, error));
    if (roofline->memory_bytes == 0)
        return tn_fail(error, TN_INPUT, "device %s says no memory_bytes", source->device);
    gpu->memory_GB = (double)roofline->memory_bytes / 1e9;
    gpu->peak_TFLOPS = precision->peak_TFLOPS;
    gpu->bandwidth_GBps = roofline->bandwidth_GBps;
    gpu->figures_unverified = is_unverified(roofline, precision);
    return tn_arena_format(arena, &gpu->figures_source, error, "device %s", source->device);
}

static tn_status make(const row *source, tn_position position, tn_arena *arena, tn_gpu *gpu,
                      tn_error *error) {
    *gpu = (tn_gpu){.name = source->name, .device = source->device, .link_GBps = source->link_GBps};
    if ((source->device_at.line != 0) == (source->figures_at.line != 0))
        return tn_fail_at(error, TN_INPUT, position, "gpu %s needs a device or figures, and only one of them",
                          source->name);
    if (source->device_at.line) {
        tn_error cause = {0};
        tn_status status = from_device(source, arena, gpu, &cause);
        if (status != TN_OK) {
            char text[sizeof cause.file + sizeof cause.message + 32];
            tn_error_text(&cause, text, sizeof text);
            return tn_fail_at(error, status, source->device_at, "%s", text);
        }
    } else {
        gpu->memory_GB = source->figures.memory_GB;
        gpu->peak_TFLOPS = source->figures.peak_TFLOPS;
        gpu->bandwidth_GBps = source->figures.bandwidth_GBps;
        gpu->figures_source = source->figures.source;
        gpu->figures_unverified = source->figures.origin == TN_UNVERIFIED;
    }
    if (source->price_at.line) {
        gpu->usd_per_hour = source->price.usd_per_hour;
        gpu->price_unverified = source->price.origin == TN_UNVERIFIED;
        gpu->price_origin = tn_origin_names[source->price.origin];
        gpu->price_source = source->price.source;
        gpu->price_date = source->price.date;
    }
    return TN_OK;
}

tn_status tn_gpu_table_load(const char *name, tn_arena *arena, tn_gpu_table *table, tn_error *error) {
    const char *path;
    tn_yaml *root;
    table_file file;
    TN_TRY(tn_search_path_find(folder, name, arena, &path, error));
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    TN_TRY(tn_schema_decode(&tn_gpu_table_schema, root, arena, &file, error));
    const row *rows = file.gpus.item;
    const tn_yaml *list = tn_yaml_get(root, "gpus");
    tn_gpu_table made = {.file = path, .count = file.gpus.count};
    TN_TRY(TN_NEW(arena, made.count, &made.gpu, error));
    for (size_t i = 0; i < made.count; i++)
        TN_TRY(make(&rows[i], list->key[i]->position, arena, &made.gpu[i], error));
    if (file.framework.position.line) {
        made.framework = file.framework.made;
        made.framework.source = file.framework.source;
        made.framework.given = true;
    }
    *table = made;
    return TN_OK;
}

/* "h100" of H100-80GB: the name up to its memory. */
static bool is_short_name(const tn_gpu *gpu, const char *name) {
    size_t length = strcspn(gpu->name, "-");
    return strlen(name) == length && strncasecmp(gpu->name, name, length) == 0;
}

tn_status tn_gpu_find(const tn_gpu_table *table, const char *name, const tn_gpu **gpu, tn_error *error) {
    const char *near = NULL;
    const tn_gpu *of_device = NULL, *shortened = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const tn_gpu *this_gpu = &table->gpu[i];
        if (strcasecmp(this_gpu->name, name) == 0) {
            *gpu = this_gpu;
            return TN_OK;
        }
        if (!of_device && this_gpu->device && strcasecmp(this_gpu->device, name) == 0) of_device = this_gpu;
        if (!shortened && is_short_name(this_gpu, name)) shortened = this_gpu;
        const char *const nearer[] = {near ? near : this_gpu->name, this_gpu->name,
                                      this_gpu->device ? this_gpu->device : this_gpu->name};
        near = tn_suggest(name, nearer, 3);
    }
    *gpu = of_device ? of_device : shortened;
    if (*gpu) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = table->file},
                      "no gpu called '%s' in this table; %s%s%s", name,
                      near ? "did you mean '" : "add a row for it", near ? near : "", near ? "'?" : "");
}

tn_status tn_gpu_set_price(tn_gpu_table *table, const char *name, double usd_per_hour, tn_error *error) {
    const tn_gpu *only = NULL;
    if (name) TN_TRY(tn_gpu_find(table, name, &only, error));
    for (size_t i = 0; i < table->count; i++) {
        tn_gpu *gpu = &table->gpu[i];
        if (only && gpu != only) continue;
        gpu->usd_per_hour = usd_per_hour;
        gpu->price_unverified = false;
        gpu->price_origin = "given";
        gpu->price_source = gpu->price_date = NULL;
    }
    return TN_OK;
}

/* ---- bills ---- */

tn_bill tn_bill_of(const tn_gpu *gpu, double batch, tn_finetune_interval queries_per_s) {
    return (tn_bill){.gpu = gpu->name,
                     .batch = batch,
                     .queries_per_s = queries_per_s,
                     .usd_per_hour = gpu->usd_per_hour > 0 ? gpu->usd_per_hour : NAN,
                     .price_unverified = gpu->price_unverified,
                     .price_origin = gpu->price_origin,
                     .price_date = gpu->price_date};
}

tn_status tn_bill_reckon(tn_bill *bill, double queries, double epochs, tn_error *error) {
    const tn_finetune_interval *rate = &bill->queries_per_s;
    if (!(rate->value > 0))
        return tn_fail(error, TN_INPUT, "a throughput of %g queries/s at batch %g; it must be positive",
                       rate->value, bill->batch);
    double work = queries * epochs / 3600;
    bill->hours = (tn_finetune_interval){work / rate->value, work / rate->high, work / rate->low};
    if (rate->low <= 0) bill->hours.high = INFINITY;
    bill->usd =
        (tn_finetune_interval){bill->hours.value * bill->usd_per_hour, bill->hours.low * bill->usd_per_hour,
                               bill->hours.high * bill->usd_per_hour};
    return TN_OK;
}

int tn_bill_compare(const tn_bill *x, const tn_bill *y) {
    bool none_x = isnan(x->usd.value), none_y = isnan(y->usd.value);
    if (none_x != none_y) return none_x - none_y;
    if (x->price_unverified != y->price_unverified) return x->price_unverified - y->price_unverified;
    double u = none_x ? x->hours.value : x->usd.value, v = none_x ? y->hours.value : y->usd.value;
    if (u != v) return u < v ? -1 : 1;
    return strcmp(x->gpu, y->gpu);
}

static int by_cost(const void *a, const void *b) {
    return tn_bill_compare(a, b);
}

void tn_bill_sort(tn_bill *bill, size_t count) {
    qsort(bill, count, sizeof *bill, by_cost);
}
