/* The laws of a roofline as YAML. */
#include "hardware/device_data.h"
#include "roofline/fit.h"
#include "text/number.h"
#include "text/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 100, INDENT = 10 };

static void put_real(tn_buffer *out, const char *key, double value) {
    char text[40];
    tn_real_text(value, text, sizeof text);
    tn_buffer_format(out, "      %s: %s\n", key, text);
}

/* A list of numbers over as many lines as it takes. */
typedef struct {
    tn_buffer *out;
    size_t column, items;
} list;

static void begin_list(list *l, tn_buffer *out, const char *key) {
    tn_buffer_format(out, "        %s: [", key);
    *l = (list){out, INDENT + strlen(key) + 1, 0};
}

static void add(list *l, const char *text) {
    size_t length = strlen(text);
    if (l->items++) tn_buffer_text(l->out, ",");
    if (l->column + length + 2 > LINE) {
        tn_buffer_format(l->out, "\n%*s", INDENT, "");
        l->column = INDENT;
    } else if (l->items > 1) {
        tn_buffer_text(l->out, " ");
    }
    tn_buffer_text(l->out, text);
    l->column += length + 2;
}

static void end_list(list *l) {
    tn_buffer_text(l->out, "]\n");
}

static void put_counts(tn_buffer *out, const char *key, const tn_count_list *values) {
    list l;
    begin_list(&l, out, key);
    for (size_t i = 0; i < values->count; i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, values->item[i]);
        add(&l, text);
    }
    end_list(&l);
}

static void put_reals(tn_buffer *out, const char *key, const tn_real_list *values) {
    list l;
    begin_list(&l, out, key);
    for (size_t i = 0; i < values->count; i++) {
        char text[40];
        tn_real_text(values->item[i], text, sizeof text);
        add(&l, text);
    }
    end_list(&l);
}

static void put_surface(tn_buffer *out, const tn_roofline_surface *s) {
    char mean[40], noise[40];
    tn_real_text(s->mean, mean, sizeof mean);
    tn_real_text(s->noise, noise, sizeof noise);
    tn_buffer_format(out, "      surface:\n        mean: %s\n        noise: %s\n", mean, noise);
    put_reals(out, "scale", &s->scale);
    put_counts(out, "m", &s->m);
    put_counts(out, "n", &s->n);
    put_counts(out, "k", &s->k);
    put_reals(out, "weight", &s->weight);
}

static void put_law(tn_buffer *out, const tn_roofline_law *law) {
    tn_yaml_put(out, 4, "- precision", law->precision);
    tn_yaml_put(out, 6, "time", tn_roofline_time_names[law->time]);
    tn_yaml_put(out, 6, "origin", tn_origin_names[law->origin]);
    if (law->source) tn_yaml_put(out, 6, "source", law->source);
    if (law->time == TN_TIME_EAGER) {
        put_real(out, "host_us", law->host_us);
        put_real(out, "misaligned_host", law->misaligned_host);
        put_real(out, "gap_us", law->gap_us);
    } else {
        tn_buffer_format(out, "      tile: %" PRIu64 "\n      split_depth: %" PRIu64 "\n", law->tile,
                         law->split_depth);
        put_real(out, "launch_us", law->launch_us);
        put_real(out, "vector_launch", law->vector_launch);
        put_real(out, "misaligned_launch", law->misaligned_launch);
        put_real(out, "pipeline_us", law->pipeline_us);
        put_real(out, "compute_efficiency", law->compute_efficiency);
        put_real(out, "misaligned_compute", law->misaligned_compute);
        put_real(out, "cache_gain", law->cache_gain);
    }
    if (law->surface.m.count) put_surface(out, &law->surface);
}

void tn_roofline_write_laws(const tn_roofline *roofline, tn_buffer *out) {
    const tn_roofline_law *laws = roofline->laws.item;
    tn_buffer_text(out, "  laws:\n");
    for (size_t i = 0; i < roofline->laws.count; i++) put_law(out, &laws[i]);
}
