/* The keys of a device file of kind roofline. */
#include "hardware/device_data.h"
#include "roofline/roofline.h"

#include <stdio.h>

const char *const tn_roofline_time_names[] = {"graph", "eager", NULL};
static const char *const kind_names[] = {"fpga", "roofline", NULL};

static const tn_field surface_fields[] = {
    {.key = "mean",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_surface, mean),
     .minimum = -50,
     .maximum = 50,
     .help = "logarithm of measured over law far from every measured shape"},
    {.key = "noise",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_surface, noise),
     .minimum = 0,
     .maximum = 1e4,
     .help = "variance of a measurement beside that of the surface"},
    {.key = "scale",
     .type = TN_FIELD_REAL_LIST,
     .offset = offsetof(tn_roofline_surface, scale),
     .minimum = 0,
     .maximum = 1e4,
     .help = "inverse lengths along log2 M, N, K; halvings of N, of K (up to 3), of both; M = 1, N = 1, K = "
             "1; log2 M N, "
             "1 + flops / 2^27, 1 + elements / 2^21"},
    {.key = "m",
     .type = TN_FIELD_COUNT_LIST,
     .offset = offsetof(tn_roofline_surface, m),
     .minimum = 1,
     .maximum = 2147483648.0,
     .help = "M of the measured products"},
    {.key = "n",
     .type = TN_FIELD_COUNT_LIST,
     .offset = offsetof(tn_roofline_surface, n),
     .minimum = 1,
     .maximum = 2147483648.0,
     .help = "their N"},
    {.key = "k",
     .type = TN_FIELD_COUNT_LIST,
     .offset = offsetof(tn_roofline_surface, k),
     .minimum = 1,
     .maximum = 2147483648.0,
     .help = "their K"},
    {.key = "weight",
     .type = TN_FIELD_REAL_LIST,
     .offset = offsetof(tn_roofline_surface, weight),
     .minimum = -1e6,
     .maximum = 1e6,
     .help = "their weights"},
};
static const tn_schema surface_schema =
    TN_SCHEMA("device.roofline.law.surface", tn_roofline_surface, surface_fields);

static const tn_field law_fields[] = {
    {.key = "precision",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_roofline_law, precision),
     .required = true,
     .help = "one of `precisions`"},
    {.key = "time",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_roofline_law, time),
     .choices = tn_roofline_time_names,
     .required = true,
     .help = "graph: a kernel in a replayed graph; eager: a product launched by its host"},
    {.key = "origin",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_roofline_law, origin),
     .choices = tn_origin_names,
     .fallback = "unverified",
     .help = "how the coefficients are known"},
    {.key = "source",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_roofline_law, source),
     .help = "what they were fitted to"},
    {.key = "tile",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline_law, tile),
     .fallback = "64",
     .minimum = 1,
     .maximum = 4096,
     .help = "edge of the tile of outputs that a multiprocessor computes at a time"},
    {.key = "split_depth",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline_law, split_depth),
     .fallback = "256",
     .minimum = 1,
     .maximum = 1e6,
     .help = "least terms of the reduction in a part, where free multiprocessors share one tile"},
    {.key = "launch_us",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, launch_us),
     .fallback = "0",
     .minimum = 0,
     .maximum = TN_ROOFLINE_MOST_US,
     .help = "of a kernel, microseconds"},
    {.key = "vector_launch",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, vector_launch),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "its factor where M or N is 1"},
    {.key = "misaligned_launch",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, misaligned_launch),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "its factor where rows are no multiple of 16 bytes"},
    {.key = "pipeline_us",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, pipeline_us),
     .fallback = "0",
     .minimum = 0,
     .maximum = TN_ROOFLINE_MOST_US,
     .help =
         "for every doubling of 1 + K/16: filling and emptying the pipeline, joining parts, microseconds"},
    {.key = "compute_efficiency",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, compute_efficiency),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "share of the peak that whole waves of tiles reach"},
    {.key = "misaligned_compute",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, misaligned_compute),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "factor on computing for each halving of the rows' alignment below 16 bytes"},
    {.key = "cache_gain",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, cache_gain),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "bandwidth of operands that the cache holds, over that of the memory"},
    {.key = "host_us",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, host_us),
     .fallback = "0",
     .minimum = 0,
     .maximum = TN_ROOFLINE_MOST_US,
     .help = "eager: what the host needs for a launch, microseconds"},
    {.key = "misaligned_host",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, misaligned_host),
     .fallback = "1",
     .minimum = TN_ROOFLINE_LEAST_FACTOR,
     .maximum = TN_ROOFLINE_MOST_FACTOR,
     .help = "its factor where rows are no multiple of 16 bytes"},
    {.key = "gap_us",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_law, gap_us),
     .fallback = "0",
     .minimum = 0,
     .maximum = TN_ROOFLINE_MOST_US,
     .help = "eager: between kernels that the host does not hold up, microseconds"},
    {.key = "surface",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_roofline_law, surface),
     .sub = &surface_schema,
     .help = "what the shape does beyond the law; absent: nothing"},
};
static const tn_schema law_schema = TN_SCHEMA("device.roofline.law", tn_roofline_law, law_fields);

static const tn_field precision_fields[] = {
    {.key = "peak_TFLOPS",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline_precision, peak_TFLOPS),
     .required = true,
     .minimum = 1e-6,
     .maximum = 1e6,
     .help = "dense peak, 1e12 flops/s (a multiply-add is 2)"},
    {.key = "element_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline_precision, element_bytes),
     .required = true,
     .minimum = 1,
     .maximum = 16,
     .help = "of an element"},
    {.key = "origin",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_roofline_precision, origin),
     .choices = tn_origin_names,
     .fallback = "unverified",
     .help = "how the peak is known"},
    {.key = "source",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_roofline_precision, source),
     .help = "where it was read"},
};
static const tn_schema precision_schema =
    TN_SCHEMA("device.roofline.precision", tn_roofline_precision, precision_fields);

static const tn_field roofline_fields[] = {
    {.key = "multiprocessors",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline, multiprocessors),
     .required = true,
     .minimum = 1,
     .maximum = 1e6,
     .help = "streaming multiprocessors, or cores"},
    {.key = "bandwidth_GBps",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline, bandwidth_GBps),
     .required = true,
     .minimum = 1e-3,
     .maximum = 1e6,
     .help = "of the memory, 1e9 bytes/s"},
    {.key = "memory_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline, memory_bytes),
     .required = true,
     .minimum = 1,
     .maximum = 1e15,
     .help = "its size"},
    {.key = "cache_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_roofline, cache_bytes),
     .required = true,
     .maximum = 1e12,
     .help = "last-level cache"},
    {.key = "host_us_per_kernel",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline, host_us_per_kernel),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1e6,
     .help = "what the host needs for each kernel of a training step as launched; 0: not known"},
    {.key = "step_power_W",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_roofline, step_power_W),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1e5,
     .help = "mean power of the board over a launched training step; 0: not known"},
    {.key = "origin",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_roofline, origin),
     .choices = tn_origin_names,
     .fallback = "unverified",
     .help = "how the figures are known"},
    {.key = "unverified",
     .type = TN_FIELD_TEXT_LIST,
     .offset = offsetof(tn_roofline, unverified),
     .help = "keys of this mapping that are not as sure as `origin` says"},
    {.key = "source",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_roofline, source),
     .help = "where they were read"},
    {.key = "precisions",
     .type = TN_FIELD_TABLE,
     .offset = offsetof(tn_roofline, precisions),
     .sub = &precision_schema,
     .required = true,
     .help = "peaks by precision"},
    {.key = "laws",
     .type = TN_FIELD_LIST,
     .offset = offsetof(tn_roofline, laws),
     .sub = &law_schema,
     .help = "times of products; `tenfold roofline fit` writes them"},
};
const tn_schema tn_roofline_schema = TN_SCHEMA("device.roofline", tn_roofline, roofline_fields);

/* The whole file: only what names it, and the mapping above. */
typedef struct roofline_device {
    uint32_t kind;
    const char *name, *title, *about, *inherit, *variant;
    const tn_yaml *variants;
    tn_roofline roofline;
} roofline_device;

#define TEXT(key_name, meaning)                                                                              \
    {                                                                                                        \
        .key = #key_name, .type = TN_FIELD_TEXT, .offset = offsetof(roofline_device, key_name),              \
        .help = meaning                                                                                      \
    }
static const tn_field device_fields[] = {
    {.key = "kind",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(roofline_device, kind),
     .choices = kind_names,
     .required = true,
     .help = "roofline"},
    {.key = "name",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(roofline_device, name),
     .required = true,
     .help = "as results call it"},
    TEXT(title, "for people"),
    TEXT(about, "a remark"),
    TEXT(inherit, "device (bare name) or file (path from this file's folder) that this one overrides"),
    TEXT(variant, "the one of `variants` that is taken; NAME@VARIANT chooses another"),
    {.key = "variants",
     .type = TN_FIELD_NODE,
     .offset = offsetof(roofline_device, variants),
     .help = "named mappings of keys that override those of the file"},
    {.key = "roofline",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(roofline_device, roofline),
     .sub = &tn_roofline_schema,
     .required = true,
     .help = "peaks, bandwidth and laws"},
};
const tn_schema tn_roofline_device_schema = TN_SCHEMA("device (roofline)", roofline_device, device_fields);

/* Gives an error that was found without its place the place. */
static tn_status placed(tn_error *error, tn_position at) {
    if (!error) return TN_INPUT;
    snprintf(error->file, sizeof error->file, "%s", at.file ? at.file : "");
    error->line = at.line;
    error->column = at.column;
    return error->status;
}

/* What the schema can't say: every law is of a known precision, comes once, and its surface is whole; every
 * eager law has its graph law. */
static tn_status check_laws(const tn_roofline *r, const tn_yaml *nodes, tn_arena *arena, tn_error *error) {
    tn_roofline_law *laws = r->laws.item;
    for (size_t i = 0; i < r->laws.count; i++) {
        tn_position at = nodes->item[i]->at;
        const tn_roofline_precision *precision;
        const tn_roofline_law *first, *graph;
        tn_status status = tn_roofline_precision_find(r, laws[i].precision, &precision, error);
        if (status == TN_OK) status = tn_roofline_law_find(r, laws[i].precision, laws[i].time, &first, error);
        if (status == TN_OK && laws[i].time == TN_TIME_EAGER)
            status = tn_roofline_law_find(r, laws[i].precision, TN_TIME_GRAPH, &graph, error);
        if (status != TN_OK) return placed(error, at);
        if (first != &laws[i])
            return tn_fail_at(error, TN_INPUT, at, "a second law for %s times of %s; one is enough",
                              tn_roofline_time_names[laws[i].time], laws[i].precision);
        TN_TRY(tn_roofline_surface_make(&laws[i].surface, at, arena, error));
    }
    return TN_OK;
}

tn_status tn_roofline_of(const tn_device *device, tn_arena *arena, tn_roofline **roofline, tn_error *error) {
    const tn_yaml *root = tn_device_root(device);
    if (tn_device_kind_of(device) != TN_DEVICE_ROOFLINE)
        return tn_fail_at(error, TN_INPUT, root->at,
                          "device %s is no roofline device; h200, a100 and others are",
                          tn_device_name(device));
    roofline_device *whole;
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *whole, &whole, error));
    TN_TRY(tn_schema_decode(&tn_roofline_device_schema, root, arena, whole, error));
    whole->roofline.name = tn_device_name(device);
    const tn_yaml *laws = tn_yaml_get(tn_yaml_get(root, "roofline"), "laws");
    if (laws) TN_TRY(check_laws(&whole->roofline, laws, arena, error));
    *roofline = &whole->roofline;
    return TN_OK;
}
