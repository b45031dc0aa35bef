/* What moving an operation's operands to and from external memory takes, in cycles of the design's clock. Inside the room.
 *
 * Arrays are dealt over the channels burst by burst. A channel gives its share of the bandwidth, or what the design's port
 * takes of it in a cycle if that is less, and moves its bursts one behind the other:
 *     bursts moved by the fullest channel * (bytes of a burst / rate of a channel + row_ns * conflicts)
 * A burst whose bank has a row of another array open waits row_ns for its own. Of s arrays that are moved side by side over b
 * banks a burst meets each of the s - 1 others in one of b: conflicts = min(1, (s - 1) / b). Rows of one array lie in one bank
 * after the other and are opened ahead.
 * On chip an operand comes, or leaves, as many words a cycle as the kernel takes of it; operands side by side, as each has a
 * staging memory of its own.
 *
 * An operand is moved in pieces (memory/map.h). What the first ones take to come and the last one to leave has no kernel
 * beside it; all else runs beside the kernel, as there are two of each piece. Whole operands are one piece: nothing overlaps.
 *     cycles = max(kernel, all - edge) + edge + latency for what is read + latency for what is written
 */
#ifndef TN_PRICE_MOVES_H
#define TN_PRICE_MOVES_H

#include "device/build.h"
#include "device/device_data.h"
#include "kernel/tiling.h"
#include "memory/map.h"

typedef struct tn_moved {
    tn_use use;                    /* how the operation takes it */
    uint64_t elements, piece;      /* over the operation; of a piece */
    uint64_t bytes, piece_bytes;   /* the same, */
    uint64_t bursts, piece_bursts; /* and the same in bursts */
} tn_moved;

enum { TN_MOVED_MOST = TN_OPERATION_READS + TN_OPERATION_WRITES };

typedef struct tn_moves {
    uint32_t operands;
    bool reads, writes;
    tn_moved operand[TN_MOVED_MOST];
    uint64_t bytes, bursts; /* of all of them */
} tn_moves;

/* Adds an operand of the operation: `staged` is of that operation. TN_OVERFLOW where counts leave 64 bits. */
tn_status tn_moves_add(const tn_step *step, const tn_external_memory *external, const tn_tiling *tiling,
                       const tn_staged *staged, tn_moves *moves, tn_error *error);

/* Rows that it opens: each burst at least one. */
uint64_t tn_moves_rows(const tn_external_memory *external, const tn_moves *moves);

typedef struct tn_moves_time {
    uint64_t beside, edge,
        latency; /* cycles: beside the kernel at most, without it, and waiting for an answer */
} tn_moves_time;

void tn_moves_cycles(const tn_external_memory *external, double clock_MHz, const tn_build *build,
                     const tn_moves *moves, tn_moves_time *time);

#endif
