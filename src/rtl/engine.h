/* An engine as its templates and its program take it: the patterns of its ports, one descriptor an operation, all sizes.
 * rtl/compile.h finds it for a design; emit.c and patterns.c write it. */
#ifndef TN_RTL_ENGINE_H
#define TN_RTL_ENGINE_H

#include "base/buffer.h"
#include "base/memory.h"
#include "rtl/access.h"
#include "rtl/design.h"

typedef enum tn_rtl_port {
    TN_RTL_LEFT,
    TN_RTL_RIGHT,
    TN_RTL_RESULT,
    TN_RTL_EXTRA,
    TN_RTL_ADDED_FIRST,
    TN_RTL_ADDED_LAST,
    TN_RTL_PORTS
} tn_rtl_port;
/* What counters move besides ports: the row whose scalars a trip takes, the number of its first column. */
enum { TN_RTL_ROW = TN_RTL_PORTS, TN_RTL_COLUMN, TN_RTL_COUNTED };

enum { TN_RTL_LEVELS_MOST = 14 };

/* A memory as arrays of one form see it. What the templates number as memories are these, those of a memory in a row. */
typedef struct tn_rtl_form {
    uint32_t memory;
    uint64_t banks, word,
        second; /* second: of the banks, those of a second form of skews; 1 where there is none */
} tn_rtl_form;

/* Of a product on a systolic array: the rows that are loaded or drained one after the other, elements of a block along the
 * indices of one of its edges, the second index the faster. */
typedef struct tn_rtl_inner {
    uint64_t log;              /* of the second edge */
    uint64_t size[2], rest[2]; /* elements along an edge; of the block that the array's end cuts */
    uint64_t count[2];         /* the faster counter first */
    tn_rtl_counter counter[2];
} tn_rtl_inner;

/* One operation, as its descriptor says it. */
typedef struct tn_rtl_step {
    bool vector;
    uint64_t memory[TN_RTL_PORTS], base[TN_RTL_PORTS]; /* memory: a form */
    uint64_t block[TN_RTL_PORTS];                      /* the first of its blocks in the port's list */
    uint64_t open, tiles, interval;
    uint64_t write_phases;                     /* the most that a tile of the result takes */
    uint64_t edge_row, edge_column, edge_term; /* bit k: the array's end cuts blocks along the k-th index */
    uint32_t tile_levels, group_levels;
    uint64_t tile_count[TN_RTL_LEVELS_MOST], group_count[TN_RTL_LEVELS_MOST];
    tn_rtl_counter tile[TN_RTL_LEVELS_MOST][TN_RTL_COUNTED], group[TN_RTL_LEVELS_MOST][TN_RTL_COUNTED];
    uint64_t cycles;     /* predicted */
    uint64_t stages;     /* of a product's write-back */
    tn_array_pass array; /* of a product on a systolic array */
    tn_rtl_inner inner;
    uint64_t vectors; /* of a product: rows that take the same weights */
    const tn_rtl_pass *pass;
    uint64_t circuit, drain; /* of a pass: its circuit; cycles from the last issue to the end */
} tn_rtl_step;

/* What a port fetches or writes. An operation has `kinds` blocks in a row (kernel/issue.h numbers them); each block is
 * one of the port's patterns, and a choice is a pattern in one of its phases. */
typedef struct tn_rtl_patterns {
    uint32_t count, blocks;
    tn_rtl_pattern *pattern; /* [count], all different */
    uint32_t *first;         /* [count]: the pattern's choice of phase 0; the others follow */
    uint32_t *block;         /* [blocks]: pattern */
    uint32_t choices;
} tn_rtl_patterns;

typedef struct tn_rtl_engine {
    const tn_rtl_design *design;
    uint32_t forms;
    tn_rtl_form *form;
    uint32_t *form_of; /* [design's arrays] */
    tn_rtl_patterns port[TN_RTL_PORTS];
    uint64_t host_block[TN_RTL_PORTS]; /* of the left port and of the result: one element for the host */
    tn_rtl_step *step;                 /* [operations] */
    uint64_t cycles;                   /* of the program */
    /* Sizes of the templates. */
    uint64_t cuts, kinds; /* indices that a group may cut; kinds of blocks, 4 to the power of them */
    uint64_t updates;     /* 1: the program has updates */
    uint64_t stages;      /* that some product's write-back takes */
    uint32_t circuits;    /* of its passes, all different */
    tn_circuit *circuit;  /* [circuits] */
    /* What counters of tiles and of groups move, in this order: left, right and, of tiles, result; of passes the other
     * three; of write-backs the added arrays. */
    uint64_t tile_ports, group_ports, added_at;
    uint32_t counted[TN_RTL_COUNTED];
    uint64_t banks, word, phases, open, tile_levels, group_levels;
    uint64_t address_bits, rotate_bits, inside_bits, count_bits, tile_bits, phase_bits, slot_bits, block_bits,
        choice_bits, memory_bits, program_bits;
    uint64_t slots, array_slot_bits; /* rows of sums that wait at an array's edge */
    uint64_t pass_bits, depth_bits, drain_bits, depth_most, sample_bits, label_bits, row_bits;
} tn_rtl_engine;

/* Elements that the port takes or gives a cycle: those of a block or, with updates, of a trip of theirs. */
uint64_t tn_rtl_port_lanes(const tn_rtl_engine *engine, tn_rtl_port port);

/* The bits of the program's descriptors that its memory holds: a bit that is the same in all of them is a constant, one that is
 * another's copy in all of them is that bit. */
typedef struct tn_rtl_columns {
    uint64_t bits, stored;
    uint32_t *number; /* [bits]: number of the stored bit, or one of these */
} tn_rtl_columns;
enum { TN_RTL_ALWAYS_ZERO = INT32_MAX - 1, TN_RTL_ALWAYS_ONE = INT32_MAX };
tn_status tn_rtl_columns_find(const tn_rtl_engine *engine, tn_arena *arena, tn_rtl_columns *columns,
                              tn_error *error);

/* engine.svh, patterns.sv, memories.svh, descriptor.svh and program.hex. */
void tn_rtl_engine_header(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out);
void tn_rtl_engine_patterns(const tn_rtl_engine *engine, tn_buffer *out);
void tn_rtl_engine_memories(const tn_rtl_engine *engine, tn_buffer *out);
void tn_rtl_engine_descriptor(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out);
void tn_rtl_engine_program(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out);

/* The numbers by which the host reaches what is no memory, as localparams. */
enum { TN_RTL_HOST_SAMPLE = 0x8000, TN_RTL_HOST_LABELS, TN_RTL_HOST_RATE, TN_RTL_HOST_ROWS };
void tn_rtl_host_spaces(tn_buffer *out);

/* Elements (of the result: lanes) that the port's lane (element) `output` is ever taken from. */
uint64_t tn_rtl_port_sources(const tn_rtl_engine *engine, tn_rtl_port port, uint64_t output);

#endif
