/* What one memory of a map adds to a price, and a table of such shares that were found before: between the builds of a
 * sweep a memory has few rows and few places, and each pair of them is priced once. */
#ifndef TN_MEMORY_MEMORY_SHARE_H
#define TN_MEMORY_MEMORY_SHARE_H

#include "base/memory.h"
#include "device/device_data.h"
#include "memory/placement.h"

#include <stdint.h>

/* Routing between memories and a kernel's port: a multiplexer that picks the memory, and rotators that bring
 * the words of rotated banks into the order of the kernel's lanes.
 *
 * A multiplexer's LUTs are those of the device file's rows (`multiplexers`), by fan-in: exact at the rows,
 * straight lines between them, in proportion to the inputs above the last. A rotator of T banks is a T-way
 * multiplexer of every word, once for each axis of the banks. Ports are registered: a flip-flop a bit.
 */

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

/* What a kernel's port has before it: how many memories, how many words the widest of them gives, along
 * how many banks these are rotated, and the rows of the deepest. */
typedef struct tn_port_source {
    uint64_t memories, words, depth, banks[TN_ROTATIONS_MOST];
    uint64_t narrow; /* of the memories those whose words are narrower than the step's */
} tn_port_source;

/* More memories before the same port. */
static inline void tn_port_add(tn_port_source *port, const tn_port_source *more) {
    port->memories += more->memories;
    port->narrow += more->narrow;
    if (more->words > port->words) port->words = more->words;
    if (more->depth > port->depth) port->depth = more->depth;
    for (int i = 0; i < TN_ROTATIONS_MOST; i++)
        if (more->banks[i] > port->banks[i]) port->banks[i] = more->banks[i];
}

/* What one memory of a map, with its copies, adds to the price of all. */
typedef struct tn_memory_share {
    uint64_t bram18, uram, lutram;
    uint64_t selection_lut; /* multiplexers between the rows of blocks of a deep memory; of a bound 0 */
    uint64_t read_ff;       /* of generated LUTRAM: what was read is registered outside of it */
    tn_memory_style style;
    double stored_bits;
    tn_port_source port;
} tn_memory_share;

/* The share of one memory of a map at a place; not remembered. */
tn_status tn_price_share(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place,
                         tn_memory_share *share, tn_error *error);

/* The same of a memory with laid rows, remembered whatever the step: few memories differ between steps. */
typedef struct tn_known_shares tn_known_shares;
tn_status tn_known_shares_new(tn_arena *arena, tn_known_shares **known, tn_error *error);
tn_status tn_known_share(tn_known_shares *known, const tn_device *device, uint64_t word_bits,
                         const tn_mapped *memory, const tn_row *row, const tn_build *build,
                         const tn_place *place, tn_memory_share *share, tn_error *error);

/* The table. Direct-mapped by slots of rows (each memory's own) and of places (common to all): what falls on another's
 * slot takes it, so that no share depends on what was asked before. */
typedef struct tn_share_memo tn_share_memo;
tn_status tn_share_memo_make(uint32_t memories, tn_arena *arena, tn_share_memo **memo, tn_error *error);

/* The row that a memory has from here on. */
void tn_share_memo_set_row(tn_share_memo *memo, uint32_t memory, const tn_row *row);

/* The slot of a place with so many read ports. */
uint32_t tn_share_memo_place(tn_share_memo *memo, const tn_place *place, uint64_t read_ports);

/* Where the share of the memory at that place is kept; *found: it is there. Else the caller prices it, and says so. */
tn_status tn_share_memo_find(tn_share_memo *memo, uint32_t memory, uint32_t place, tn_memory_share **share,
                             bool *found, tn_error *error);
void tn_share_memo_keep(tn_share_memo *memo, uint32_t memory, uint32_t place);

#endif
