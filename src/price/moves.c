#include "price/moves.h"

#include "base/checked.h"

#include <math.h>

tn_status tn_moves_add(const tn_step *step, const tn_external_memory *external, const tn_tiling *tiling,
                       const tn_staged *staged, tn_moves *moves, tn_error *error) {
    const tn_operation *operation = &step->operation[staged->operation];
    const uint64_t bits = tn_array_word_bits(step, staged->array),
                   all = tn_operand_elements(step, operation, staged->array, staged->position);
    const bool written = staged->position == TN_OPERATION_READS,
               tiled = tiling->tiles > 0 && (staged->position < TN_PRODUCT_OPERANDS ||
                                             (written && staged->array == operation->writes[0]));
    const uint32_t operand = written ? TN_TILED_RESULT : staged->position;
    tn_moved *moved = &moves->operand[moves->operands++];
    *moved = (tn_moved){.use = tn_use_of(operation, staged->position),
                        .elements = tiled ? tiling->moved[operand] : all,
                        .piece = staged->piece};
    uint64_t total;
    if (!tn_mul(moved->elements, bits, &total) || !tn_add(moves->bytes, total / 8 + 1, &total))
        return tn_fail(error, TN_OVERFLOW, "the bytes moved in a step do not fit 64 bits");
    moved->bytes = tn_ceil_div(moved->elements * bits, 8);
    moved->piece_bytes = tn_least(moved->bytes, tn_ceil_div(moved->piece * bits, 8));
    moved->bursts = tiled ? tiling->bursts[operand] : tn_ceil_div(moved->bytes, external->burst_bytes);
    moved->piece_bursts =
        tn_least(moved->bursts, tiled ? tiling->tile_bursts[operand]
                                      : tn_ceil_div(moved->piece_bytes, external->burst_bytes));
    moves->bytes += moved->bytes;
    moves->bursts += moved->bursts;
    moves->reads |= !written;
    moves->writes |= written;
    return TN_OK;
}

uint64_t tn_moves_rows(const tn_external_memory *external, const tn_moves *moves) {
    const uint64_t touched = external->row_bytes ? tn_ceil_div(moves->bytes, external->row_bytes) : 0;
    return tn_greatest(moves->bursts, touched);
}

/* Of bursts that `operands` arrays move side by side. */
static uint64_t channel_cycles(const tn_external_memory *external, double clock_MHz, uint64_t bytes,
                               uint64_t bursts, uint32_t operands) {
    const double cycles_per_ns = clock_MHz * 1e-3,
                 port = external->port_bits ? (double)external->port_bits / 8 * cycles_per_ns : INFINITY,
                 rate =
                     fmin(external->bandwidth_GBps * external->efficiency / (double)external->channels, port),
                 conflicts = external->banks ? fmin(1, (double)(operands - 1) / (double)external->banks) : 0;
    if (bursts == 0) return 0;
    const double rounds = (double)tn_ceil_div(bursts, external->channels),
                 burst_ns = (double)bytes / (double)bursts / rate + external->row_ns * conflicts;
    return (uint64_t)ceil(rounds * burst_ns * clock_MHz / 1000);
}

static uint64_t words_of(const tn_moved *moved, const tn_build *build) {
    uint64_t edge[2];
    tn_side_edges(moved->use.side, build, edge);
    return tn_least(edge[0], moved->use.extent[0]) * tn_least(edge[1], moved->use.extent[1]);
}

void tn_moves_cycles(const tn_external_memory *external, double clock_MHz, const tn_build *build,
                     const tn_moves *moves, tn_moves_time *time) {
    uint64_t edge_bytes = 0, edge_bursts = 0, all = 0, edge = 0;
    for (uint32_t i = 0; i < moves->operands; i++) {
        const tn_moved *moved = &moves->operand[i];
        const uint64_t words = words_of(moved, build);
        all = tn_greatest(all, tn_ceil_div(moved->elements, words));
        edge = tn_greatest(edge, tn_ceil_div(moved->piece, words));
        edge_bytes += moved->piece_bytes;
        edge_bursts += moved->piece_bursts;
    }
    all = tn_greatest(all, channel_cycles(external, clock_MHz, moves->bytes, moves->bursts, moves->operands));
    edge = tn_greatest(edge, channel_cycles(external, clock_MHz, edge_bytes, edge_bursts, moves->operands));
    edge = tn_least(edge, all);
    *time = (tn_moves_time){.beside = all - edge, .edge = edge};
    time->latency =
        (uint64_t)ceil(external->latency_ns * clock_MHz / 1000) * (uint64_t)(moves->reads + moves->writes);
}
