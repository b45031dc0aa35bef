#include "price/routing.h"

#include "base/checked.h"
#include "base/digest.h"
#include "price/engine_logic.h"

#include <string.h>

/* Ports of few kinds come again and again. */
static tn_resources recall_route(const tn_workload *workload, const tn_route *route) {
    uint64_t key = (route->words * 64 + route->sources) * 16 + route->banks[0] * 4 + route->banks[1];
    tn_kept_route *kept = &workload->route[tn_hash_place(key, TN_ROUTES_KEPT)];
    if (memcmp(&kept->route, route, sizeof *route) != 0)
        *kept = (tn_kept_route){*route, tn_route_resources(workload->device, route)};
    return kept->used;
}

static tn_resources port_of(const tn_workload *workload, const tn_port_source *source, uint64_t sources) {
    tn_route route = {.words = source->words, .word_bits = workload->word_bits, .sources = sources};
    memcpy(route.banks, source->banks, sizeof route.banks);
    return recall_route(workload, &route);
}

/* The port of an operand that a converter makes narrow before it is rotated: words of block floating point come at their own
 * width, and from memories of wider ones the rest of these beside them. */
static tn_resources operand_port_of(const tn_workload *workload, const tn_port_source *source,
                                    uint64_t operand_bits) {
    const uint64_t bits = workload->word_bits;
    if (operand_bits == 0 || operand_bits >= bits) return port_of(workload, source, source->memories);
    tn_route route = {.words = source->words, .word_bits = operand_bits, .sources = source->memories};
    memcpy(route.banks, source->banks, sizeof route.banks);
    tn_resources used = recall_route(workload, &route);
    used.lut += tn_multiplexer_lut(workload->device, source->memories - source->narrow,
                                   source->words * (bits - operand_bits));
    return used;
}

/* Multiplexers and rotators of one matmul kernel. */
static tn_resources matmul_routing(const tn_workload *workload, const tn_build *build, uint32_t arithmetic,
                                   const tn_port_source *ports) {
    tn_resources used = {0};
    const tn_port_source *result = &ports[TN_SIDE_RESULT];
    for (int side = TN_SIDE_LEFT; side <= TN_SIDE_RIGHT; side++) {
        const tn_port_source *source = &ports[side];
        const tn_resources port = operand_port_of(workload, source, workload->lane[arithmetic].operand_bits);
        tn_resources_add(&used, &port, 1);
    }
    const tn_port_source *second = &ports[TN_SIDE_BESIDE];
    const tn_resources added = port_of(workload, second, second->memories);
    tn_resources_add(&used, &added, workload->write_back.added);
    /* What one operation at a time writes goes over one bus; else every memory chooses whose result it takes. */
    bool sequential = build->schedule == TN_SCHEDULE_SEQUENTIAL;
    const tn_resources bus = port_of(workload, result, 1 + tn_workload_vector_units(workload, build));
    tn_resources_add(&used, &bus, (sequential ? 1 : result->memories) * (1 + workload->write_back.kept));
    return used;
}

/* Those of one vector kernel. */
static tn_resources vector_routing(const tn_workload *workload, const tn_build *build,
                                   const tn_port_source *ports) {
    tn_resources used = {0};
    const tn_route route = {
        .words = build->vector, .word_bits = workload->word_bits, .sources = ports[TN_SIDE_VECTOR].memories};
    const tn_resources port = recall_route(workload, &route);
    tn_resources_add(&used, &port, workload->vector_reads);
    return used;
}

/* An engine of generated hardware: all its memories are before each of its ports, of which a vector unit takes those of the
 * kernel. */
static tn_resources engine_logic(const tn_workload *workload, const tn_build *build, uint32_t arithmetic,
                                 const tn_port_source *ports) {
    const bool shares = tn_build_shares_vectors(build) && workload->vectors > 0;
    const uint64_t unit = tn_build_shares_vectors(build) ? build->vector : 1;
    const uint64_t operand_bits = shares ? 0 : workload->lane[arithmetic].operand_bits;
    tn_engine_size engine = {.sums = build->rows * build->columns,
                             .lanes = {tn_greatest(build->rows * build->reduction, unit),
                                       tn_greatest(build->reduction * build->columns, unit),
                                       tn_greatest(build->rows * build->columns, unit)},
                             .adders = workload->write_back.operators[TN_ADDER],
                             .comparisons = workload->write_back.operators[TN_COMPARE],
                             .word_bits = workload->word_bits,
                             .operand_bits = operand_bits > 0 ? tn_least(operand_bits, workload->word_bits)
                                                              : workload->word_bits};
    uint64_t memories = 0, wide = 0;
    for (int side = 0; side < TN_SIDES; side++) {
        memories = tn_greatest(memories, ports[side].memories);
        wide = tn_greatest(wide, ports[side].memories - ports[side].narrow);
        tn_port_add(&engine.memories, &ports[side]);
    }
    engine.memories.memories = memories;
    engine.memories.narrow = memories - wide;
    return tn_engine_logic(workload->device, &engine);
}

static tn_resources generated_routing(const tn_workload *workload, const tn_build *build,
                                      const tn_port_source *ports) {
    tn_resources all = {0};
    uint64_t matmuls = 0;
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        const tn_resources engine = engine_logic(workload, build, i, ports);
        const uint64_t kernels = tn_workload_matmuls(workload, build, i);
        tn_resources_add(&all, &engine, kernels);
        matmuls += kernels;
    }
    if (matmuls == 0) {
        const tn_resources engine = engine_logic(workload, build, 0, ports);
        tn_resources_add(&all, &engine, 1);
    }
    tn_resources_add(&all, &workload->program, 1);
    const tn_resources added = port_of(workload, &ports[TN_SIDE_BESIDE], ports[TN_SIDE_BESIDE].memories);
    tn_resources_add(&all, &added, workload->write_back.added);
    if (tn_build_shares_vectors(build)) return all;
    const tn_resources vector = vector_routing(workload, build, ports);
    tn_resources_add(&all, &vector, tn_workload_vector_units(workload, build));
    return all;
}

tn_resources tn_workload_routing(const tn_workload *workload, const tn_build *build,
                                 const tn_port_source *ports) {
    if (tn_device_is_generated(workload->device)) return generated_routing(workload, build, ports);
    tn_resources all = vector_routing(workload, build, ports);
    all.lut *= tn_workload_vector_units(workload, build);
    all.ff *= tn_workload_vector_units(workload, build);
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        const tn_resources matmul = matmul_routing(workload, build, i, ports);
        tn_resources_add(&all, &matmul, tn_workload_matmuls(workload, build, i));
    }
    return all;
}

tn_build tn_build_of_one_lane(const tn_build *build) {
    tn_build one = *build;
    one.rows = one.columns = one.reduction = one.vector = 1;
    return one;
}

uint64_t tn_workload_ports_lut(const tn_workload *workload, const tn_build *build,
                               const tn_port_source *ports) {
    const tn_port_source none[TN_SIDES] = {{0}};
    return tn_workload_routing(workload, build, ports).lut - tn_workload_routing(workload, build, none).lut;
}

uint64_t tn_workload_lanes_lut(const tn_workload *workload, const tn_build *build) {
    const tn_build one_lane = tn_build_of_one_lane(build);
    tn_port_source one[TN_SIDES];
    for (int side = 0; side < TN_SIDES; side++) one[side] = (tn_port_source){.memories = 1, .words = 1};
    return tn_workload_ports_lut(workload, build, one) - tn_workload_ports_lut(workload, &one_lane, one);
}
