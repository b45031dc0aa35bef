#include "hardware/build.h"

#include "hardware/schedule.h"

#include <inttypes.h>
#include <string.h>

static const char *const sharing_names[] = {"shared", "per-phase", NULL};
static const char *const buffers_names[] = {"separate", "pooled", NULL};
static const char *const schedule_names[] = {"sequential", "gradients-together", "parallel", "pipelined",
                                             NULL};
static const char *const placement_names[] = {"as-built", "searched", NULL};

static const tn_field build_fields[] = {
    {.key = "rows",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, rows),
     .fallback = "4",
     .minimum = 1,
     .maximum = TN_BUILD_PARALLEL_MOST,
     .help = "output rows that the matmul kernel computes at once"},
    {.key = "columns",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, columns),
     .fallback = "4",
     .minimum = 1,
     .maximum = TN_BUILD_PARALLEL_MOST,
     .help = "output columns that it computes at once"},
    {.key = "reduction",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, reduction),
     .fallback = "4",
     .minimum = 1,
     .maximum = TN_BUILD_PARALLEL_MOST,
     .help = "terms of a sum that it multiplies at once and adds in a tree"},
    {.key = "vector",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, vector),
     .fallback = "4",
     .minimum = 1,
     .maximum = TN_BUILD_PARALLEL_MOST,
     .help = "elements that each vector kernel (softmax, layer norm, update, ..) takes a cycle"},
    {.key = "kernels",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, kernels),
     .fallback = "1",
     .minimum = 1,
     .maximum = TN_SERVERS_MOST,
     .help = "matmul kernels side by side; more than one pays with schedule parallel or pipelined"},
    {.key = "sharing",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, sharing),
     .choices = sharing_names,
     .fallback = "shared",
     .help = "one matmul kernel for all products, or one for each phase of the step"},
    {.key = "core_memory",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, core_memory),
     .choices = tn_memory_style_names,
     .fallback = "auto",
     .help = "memory of parameters, gradients and optimizer state; auto: per memory, whichever takes the "
             "least share of the device"},
    {.key = "activation_memory",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, activation_memory),
     .choices = tn_memory_style_names,
     .fallback = "auto",
     .help = "memory of activations and intermediates"},
    {.key = "split",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, split),
     .choices = tn_array_split_names,
     .fallback = "reshape",
     .help = "how an array serves several accesses a cycle: many banks, or one of wide words"},
    {.key = "group",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, group),
     .fallback = "8",
     .minimum = 1,
     .maximum = TN_BUILD_GROUP_MOST,
     .help = "cores of one size, of different layers, that share a memory in depth; 1: each has its own"},
    {.key = "buffers",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, buffers),
     .choices = buffers_names,
     .fallback = "pooled",
     .help = "whether arrays that never live at once use the same memory, and lie in common memories"},
    {.key = "read_ports",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, read_ports),
     .fallback = "1",
     .minimum = 1,
     .maximum = TN_BUILD_READ_PORTS_MOST,
     .help = "copies of every memory, so that as many kernels read it at once; writes go to all copies"},
    {.key = "off_chip_over_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, off_chip_over_bytes),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1e15,
     .help = "arrays of more bytes live in the device's first external memory; 0: none does"},
    {.key = "placement",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, placement),
     .choices = placement_names,
     .fallback = "as-built",
     .help = "style, split and grouping of memories by the keys above, or searched for the least waste that "
             "fits the device"},
    {.key = "blocks",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_build, blocks),
     .fallback = "4",
     .minimum = 1,
     .maximum = TN_BLOCKS_MOST,
     .help = "schedule pipelined: row blocks in which one operation hands its result to the next"},
    {.key = "schedule",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_build, schedule),
     .choices = schedule_names,
     .fallback = "sequential",
     .help = "what runs side by side: nothing; weight gradients and updates beside the rest; whatever is "
             "ready; the same with operations overlapping block by block"},
};
const tn_schema tn_build_schema = TN_SCHEMA("build", tn_build, build_fields);

tn_status tn_build_decode(const tn_yaml *node, tn_arena *arena, tn_build *build, tn_error *error) {
    const tn_yaml empty = {.kind = TN_YAML_MAPPING};
    return tn_schema_decode(&tn_build_schema, node ? node : &empty, arena, build, error);
}

static uint32_t names_in(const char *const *names) {
    uint32_t count = 0;
    while (names[count]) count++;
    return count;
}

tn_status tn_build_check(const tn_build *build, tn_error *error) {
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &build_fields[i];
        const char *member = (const char *)build + field->offset;
        if (field->type == TN_FIELD_COUNT) {
            uint64_t value;
            memcpy(&value, member, sizeof value);
            if (value < (uint64_t)field->minimum || value > (uint64_t)field->maximum)
                return tn_fail(error, TN_INPUT, "build.%s is %" PRIu64 "; it must be %g to %g", field->key,
                               value, field->minimum, field->maximum);
        } else {
            uint32_t choice;
            memcpy(&choice, member, sizeof choice);
            if (choice >= names_in(field->choices))
                return tn_fail(error, TN_INPUT, "build.%s is no choice of that key", field->key);
        }
    }
    return TN_OK;
}
