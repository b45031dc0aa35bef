/* The kernels that do a workload's operations under a build, and what they, their write-backs and the routing before their
 * ports take of the device. Inside the room. */
#ifndef TN_PRICE_WORKLOAD_KERNELS_H
#define TN_PRICE_WORKLOAD_KERNELS_H

#include "memory/memory_share.h"
#include "price/workload_data.h"

/* How many matmul kernels of an arithmetic the build has, and one of them. */
uint64_t tn_workload_matmuls(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
tn_matmul tn_workload_matmul(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
/* How many vector kernels: one of each kind, or one for all. */
uint64_t tn_workload_vector_units(const tn_workload *workload, const tn_build *build);
/* The write-back of a matmul kernel of that arithmetic, where its products have fused operations; of all of them. */
tn_resources tn_workload_write_back(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
tn_resources tn_workload_write_backs(const tn_workload *workload, const tn_build *build);
/* Multiplexers and rotators before the ports of all kernels; ports[TN_SIDES]: what is before each. */
tn_resources tn_workload_routing(const tn_workload *workload, const tn_build *build,
                                 const tn_port_source *ports);

#endif
