/* What lies between the memories and the kernels: multiplexers and rotators before each port (memory/memory_share.h); of generated
 * hardware the engine that all memories are before (price/engine_logic.h).
 */
#ifndef TN_PRICE_ROUTING_H
#define TN_PRICE_ROUTING_H

#include "price/workload_data.h"

/* Before the ports of all kernels; ports[TN_SIDES]: what is before each. */
tn_resources tn_workload_routing(const tn_workload *workload, const tn_build *build,
                                 const tn_port_source *ports);

/* The LUTs of it that are there because of the memories, which grow with all that a port has; */
uint64_t tn_workload_ports_lut(const tn_workload *workload, const tn_build *build,
                               const tn_port_source *ports);
/* and of these what lanes of the kernels take more than one lane does, however few memories there are. */
uint64_t tn_workload_lanes_lut(const tn_workload *workload, const tn_build *build);

/* The build with one lane in each kernel. */
tn_build tn_build_of_one_lane(const tn_build *build);

#endif
