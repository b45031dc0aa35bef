/* One lane of the vector unit as SystemVerilog: the operators that the passes of a program need, each once, and what
 * each of them takes in each pass. Operators of passes over rows alone exist in the first lane only. */
#ifndef TN_RTL_CIRCUIT_LANE_H
#define TN_RTL_CIRCUIT_LANE_H

#include "base/buffer.h"
#include "rtl/circuit.h"

/* Writes module vector_lane for `count` circuits; a pass's number is its circuit's place. */
void tn_circuit_lane(const tn_circuit *circuit, uint32_t count, const tn_circuit_latencies *latencies,
                     tn_buffer *out);

#endif
