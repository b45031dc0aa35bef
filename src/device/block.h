/* Memories: how many blocks an array takes.
 *
 * A memory of `depth` words of `width` bits, simple dual port (one reads while one writes):
 *   block RAM   min over 36x512, 18x1024, 9x2048, 4x4096, 2x8192, 1x16384 of ceil(width/w) * ceil(depth/d)
 *               BRAM18; true dual port (two independent accesses) has no 36x512
 *   UltraRAM    ceil(width/72) * ceil(depth/4096); both its ports read and write
 *   LUTRAM      8 ceil(width/14) LUTs up to depth 32, else 8 ceil(width/7) ceil(depth/64); a second access
 *               doubles them
 * An array of S words of b bits that must serve P accesses in a cycle:
 *   partition   P memories of ceil(S/P) words of b bits
 *   reshape     one memory of ceil(S/P) words of P*b bits
 *   banks       between: T memories of ceil(S/P) words of P/T*b bits, T the divisor of P next to its root
 * and g arrays that are never used at once may share a memory in depth (grouping): g * ceil(S/P) words.
 * Ping-pong (one filled while the other is read) doubles.
 * Source: geometry `hls`: memory tables of Vitis HLS reports; geometry `yosys`: Yosys 0.23 synth_xilinx
 * -family xcup (docs/model-hardware.md compares both, row by row).
 */
#ifndef TN_DEVICE_BLOCK_H
#define TN_DEVICE_BLOCK_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_geometry { TN_GEOMETRY_HLS, TN_GEOMETRY_YOSYS } tn_geometry;
extern const char *const tn_geometry_names[]; /* "hls", "yosys", NULL */

typedef enum tn_memory_style {
    TN_STYLE_AUTO,
    TN_STYLE_BLOCK,
    TN_STYLE_ULTRA,
    TN_STYLE_DISTRIBUTED,
    TN_STYLE_SHALLOW /* asked for by a build alone: distributed where no deeper than a LUT is, else as auto */
} tn_memory_style;
extern const char *const tn_memory_style_names[]; /* "auto", "block", "ultra", "distributed", NULL */
extern const char *const tn_memory_asked_names[]; /* those, and "shallow" */
enum { TN_LUT_WORDS = 64 };                       /* rows that one LUT of LUTRAM has */

typedef enum tn_array_split {
    TN_SPLIT_PARTITION,
    TN_SPLIT_RESHAPE,
    TN_SPLIT_BANKS,
    TN_SPLIT_AUTO
} tn_array_split;
extern const char *const tn_array_split_names[]; /* "partition", "reshape", "banks", "auto", NULL */

/* Banks that serve so many accesses a cycle: a bank each, one, or the longer edge of the rectangle nearest to a
 * square, each of whose banks gives a row of it; auto, where nothing is known of the accesses: one. */
uint64_t tn_split_banks(tn_array_split split, uint64_t accesses);

typedef struct tn_blocks {
    uint64_t bram18; /* used as such */
    uint64_t bram36; /* pairs used as one */
    uint64_t uram;
    uint64_t lutram; /* LUTs used as memory */
} tn_blocks;

enum { TN_MEMORY_CAPACITY_BRAM18_BITS = 18 * 1024, TN_MEMORY_CAPACITY_URAM_BITS = 288 * 1024 };

/* Blocks of one memory. Geometry yosys knows simple dual port only. Zero width or depth, or style auto, is
 * TN_INPUT. */
tn_status tn_memory_blocks(tn_geometry geometry, tn_memory_style style, uint64_t width_bits, uint64_t depth,
                           bool true_dual_port, tn_blocks *blocks, tn_error *error);

/* No more LUTs than tn_memory_blocks gives a LUTRAM of that depth or any greater one, or several whose words are together as
 * wide: the least of a whole number of blocks of either shape. The shape that tools take is that of the least cost,
 * multiplexers included, so a deeper memory may take fewer LUTs. Of sizes that tn_memory_blocks has blocks for. */
uint64_t tn_memory_least_luts(uint64_t width_bits, uint64_t depth);

/* The same in geometry yosys for a memory whose words have `count` elements with a write enable each. *rows: of blocks, of which
 * a multiplexer takes the one that answers; of LUTRAM 1, as its own LUTs do. */
tn_status tn_memory_element_blocks(tn_memory_style style, uint64_t count, uint64_t element_bits,
                                   uint64_t depth, tn_blocks *blocks, uint64_t *rows, tn_error *error);

/* No more blocks than tn_memory_element_blocks gives such a memory of that depth or any greater one, or several whose words have
 * as many elements together: of each kind the least of all shapes, as each shape's blocks grow with both, and the one that is
 * taken, of the least cost, is one of them. Pairs of block RAM count as two of bram18; bram36 is 0. */
tn_status tn_memory_element_least(tn_memory_style style, uint64_t count, uint64_t element_bits,
                                  uint64_t depth, tn_blocks *blocks, tn_error *error);

/* The least capacity of blocks for a bit of such elements, whatever the count and depth: what fills whole rows of blocks. Block RAM
 * or UltraRAM. */
double tn_memory_element_density(tn_memory_style style, uint64_t element_bits);

/* The style that a memory gets where none is asked for, as the tools choose it: LUTRAM up to
 * `lutram_bits_most`, else block RAM. */
tn_memory_style tn_memory_style_auto(uint64_t width_bits, uint64_t depth, uint64_t lutram_bits_most);

/* An array as a design asks for it. */
typedef struct tn_array_memory {
    uint64_t words, word_bits;
    uint64_t accesses;    /* words in a cycle, at least 1 */
    uint64_t group;       /* arrays that share the memory in depth, at least 1 */
    tn_array_split split; /* how it serves the accesses */
    tn_memory_style style;
    bool ping_pong, true_dual_port;
} tn_array_memory;

typedef struct tn_array_blocks {
    tn_blocks blocks;
    uint64_t banks, width_bits, depth; /* memories, and the shape of one */
    uint64_t capacity_bits;            /* of the blocks taken; LUTRAM: bits asked for */
    double use;                        /* bits of the arrays / capacity */
} tn_array_blocks;

tn_status tn_array_memory_blocks(const tn_array_memory *array, tn_geometry geometry, tn_array_blocks *result,
                                 tn_error *error);

TN_PUBLIC_END

#endif
