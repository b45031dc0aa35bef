/* Routing between memories and a kernel's port: a multiplexer that picks the memory, and rotators that bring
 * the words of rotated banks into the order of the kernel's lanes.
 *
 * A multiplexer's LUTs are those of the device file's rows (`multiplexers`), by fan-in: exact at the rows,
 * straight lines between them, in proportion to the inputs above the last. A rotator of T banks is a T-way
 * multiplexer of every word, once for each axis of the banks. Ports are registered: a flip-flop a bit.
 */
#ifndef TN_HARDWARE_ROUTING_H
#define TN_HARDWARE_ROUTING_H

#include "hardware/device_data.h"

#include <stdint.h>

/* Axes of banks that are rotated: none in one wide word, one in rows of banks, two in the full skew. */
enum { TN_ROTATIONS_MOST = 2 };

typedef struct tn_route {
    uint64_t words, word_bits;         /* of the port */
    uint64_t sources;                  /* memories that it may take its words from */
    uint64_t banks[TN_ROTATIONS_MOST]; /* along each rotated axis; 0 or 1: not rotated */
} tn_route;

/* LUTs of a multiplexer of `inputs` words of `bits` bits; none for one input. */
uint64_t tn_multiplexer_lut(const tn_device *device, uint64_t inputs, uint64_t bits);

tn_resources tn_route_resources(const tn_device *device, const tn_route *route);

#endif
