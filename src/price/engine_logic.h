/* What generated hardware takes beside its operators and its memories: ports, control, and the program.
 *
 * The terms are those of rtl/resources.c, which counts the same of a compiled engine: every read port chooses one of all memories,
 * turns banks and elements of its row and deals them to its lanes; the result's port does so the other way; each memory chooses
 * whose address it takes. What needs the compiled program is followed by a line: the counters, by the bits of an address, and the
 * bits that descriptors differ in, by how many there are. tests/rtl/test_price_logic holds them to the counts, and
 * docs/rtl.md has both beside what Yosys makes of them.
 */
#ifndef TN_PRICE_ENGINE_LOGIC_H
#define TN_PRICE_ENGINE_LOGIC_H

#include "device/device_data.h"
#include "memory/memory_share.h"

typedef struct tn_engine_size {
    uint64_t sums; /* of the kernel: rows x columns */
    uint64_t lanes
        [3]; /* of the left, right and result ports: the kernel's, or the vector unit's where it has more */
    uint64_t adders;      /* behind each sum, of a write-back */
    uint64_t comparisons; /* the same */
    uint64_t word_bits;
    uint64_t
        operand_bits; /* of a word what the left and the right port take: all, or that of a narrow format */
    tn_port_source memories; /* all that there are; the widest rows, the most banks, the deepest */
} tn_engine_size;

tn_resources tn_engine_logic(const tn_device *device, const tn_engine_size *engine);

/* The program is logic: a table of `rows` descriptors, the last of which ends it, of so many bits, and a register for each. In
 * block RAM it would take a greater share of a device: 20 BRAM18 (0.7 % of a U50) of 353 bits x 792, or 2,462 LUT (0.3 %).
 * LUTs a bit as Yosys 0.23 made them of three programs: 150 x 57 150, 205 x 97 357, 353 x 792 2,462. */
uint64_t tn_program_lut(uint64_t rows, uint64_t bits);

/* Bits that descriptors differ in, about: of programs of 40 rows 110 to 116, of 97 205 to 240, of 792 353 to 376. */
uint64_t tn_program_bits(uint64_t rows);

#endif
