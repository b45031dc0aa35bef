#include "device/block.h"

#include "base/checked.h"

#include <math.h>

const char *const tn_geometry_names[] = {"hls", "yosys", NULL};
const char *const tn_memory_style_names[] = {"auto", "block", "ultra", "distributed", NULL};
const char *const tn_memory_asked_names[] = {"auto", "block", "ultra", "distributed", "shallow", NULL};
const char *const tn_array_split_names[] = {"partition", "reshape", "banks", "auto", NULL};

typedef struct {
    uint64_t width, depth;
} shape;

/* The aspect ratios of a block; the widest is simple dual port only. UltraScale+ and 7 series (UG573, UG473).
 */
enum { BRAM18_SHAPES = 6, BRAM36_SHAPES = 7 };
static const shape bram18_shapes[BRAM18_SHAPES] = {{36, 512}, {18, 1024}, {9, 2048},
                                                   {4, 4096}, {2, 8192},  {1, 16384}};
static const shape bram36_shapes[BRAM36_SHAPES] = {{72, 512}, {36, 1024}, {18, 2048}, {9, 4096},
                                                   {4, 8192}, {2, 16384}, {1, 32768}};
static const shape uram_shape = {72, 4096};

static bool tiled(uint64_t width, uint64_t depth, shape block, uint64_t *blocks) {
    return tn_mul(tn_ceil_div(width, block.width), tn_ceil_div(depth, block.depth), blocks);
}

static bool least_bram18(uint64_t width, uint64_t depth, bool true_dual_port, uint64_t *least) {
    *least = UINT64_MAX;
    bool fits = false;
    for (size_t i = true_dual_port ? 1 : 0; i < BRAM18_SHAPES; i++) {
        uint64_t blocks;
        if (!tiled(width, depth, bram18_shapes[i], &blocks)) continue;
        fits = true;
        if (blocks < *least) *least = blocks;
    }
    return fits;
}

/* ---- geometry yosys ----
 *
 * What pass memory_libmap of Yosys 0.23 does for a memory with a port that writes and one that reads. For each
 * shape that a block can have, rows of blocks cover the depth; where rows are packed, they share blocks at the
 * granularity of write enables. The shape is the one of least cost: blocks times theirs, half a unit for each
 * bit that a read multiplexer selects from a row beyond the first, half a unit for each row's write enable. So
 * a deep memory takes a few blocks more where that saves multiplexers. Ties go to the narrower shape.
 */
typedef struct {
    uint64_t cost, lanes; /* of a block; bits that are written together */
} library;

static const library bram18_library = {129, 9}, bram36_library = {257, 9};
static const library uram_libraries[] = {{1024, 8}, {1024, 9}};
enum { URAM_LIBRARIES = 2 };

typedef struct {
    uint64_t blocks, cost;
    uint64_t rows; /* of blocks, one of which answers */
} tiling;

/* A word: elements that are written each on its own. */
typedef struct {
    uint64_t count, bits;
} elements;

/* Twice the cost of multiplexers and write decoders of `rows` rows of blocks. */
static bool add_selection(uint64_t width, uint64_t rows, uint64_t times, uint64_t *cost) {
    uint64_t bits;
    if (rows == 1) return true;
    return tn_mul(width, rows - 1, &bits) && tn_add(bits, rows, &bits) && tn_mul_add(bits, times, cost);
}

/* Costs are doubled, to be whole. */
static bool pack(elements width, uint64_t depth, shape block, library block_memory, tiling *made) {
    uint64_t rows = tn_ceil_div(depth, block.depth);
    uint64_t lanes = block_memory.lanes < block.width ? block_memory.lanes : block.width, bits, all;
    if (!tn_mul(tn_ceil_div(width.bits, lanes), lanes, &bits) || !tn_mul(bits, width.count, &bits) ||
        !tn_mul(bits, rows, &bits) || !tn_mul(width.bits, width.count, &all))
        return false;
    made->blocks = tn_ceil_div(bits, block.width);
    made->rows = rows;
    return tn_mul(made->blocks, 2 * block_memory.cost, &made->cost) &&
           add_selection(all, rows, 1, &made->cost);
}

/* Shapes from the widest to the narrowest. */
static bool cheapest(elements width, uint64_t depth, const shape *shapes, size_t count, library block_memory,
                     tiling *best) {
    bool fits = false;
    for (size_t i = 0; i < count; i++) {
        tiling made;
        if (!pack(width, depth, shapes[i], block_memory, &made) || (fits && made.cost > best->cost)) continue;
        *best = made;
        fits = true;
    }
    return fits;
}

static bool yosys_bram(elements width, uint64_t depth, tn_blocks *blocks, uint64_t *rows) {
    tiling small, large;
    if (!cheapest(width, depth, bram18_shapes, BRAM18_SHAPES, bram18_library, &small)) return false;
    if (!cheapest(width, depth, bram36_shapes, BRAM36_SHAPES, bram36_library, &large)) return false;
    if (small.cost <= large.cost)
        blocks->bram18 = small.blocks;
    else
        blocks->bram36 = large.blocks;
    *rows = small.cost <= large.cost ? small.rows : large.rows;
    return true;
}

static bool yosys_uram(elements width, uint64_t depth, uint64_t *blocks, uint64_t *rows) {
    *blocks = UINT64_MAX;
    for (size_t i = 0; i < URAM_LIBRARIES; i++) {
        tiling made;
        if (!pack(width, depth, uram_shape, uram_libraries[i], &made)) return false;
        if (made.blocks >= *blocks) continue;
        *blocks = made.blocks;
        *rows = made.rows;
    }
    return true;
}

/* ---- LUTRAM ---- */

/* A group of 8 LUTs, one port writing, one reading: 14 bits x 32 or 7 bits x 64. A group costs 16, prorated by
 * the bits used of it; costs are multiplied by 28, to be whole. */
static const shape lutram_shapes[] = {{14, 32}, {7, 64}};
enum { LUTRAM_GROUP_COST = 16, LUTRAM_SCALE = 28, LUTRAM_GROUP_LUTS = 8 };

static bool lutram_luts(uint64_t width, uint64_t depth, bool true_dual_port, uint64_t *luts) {
    uint64_t least = UINT64_MAX, groups = 0;
    for (size_t i = 0; i < sizeof lutram_shapes / sizeof *lutram_shapes; i++) {
        shape form = lutram_shapes[i];
        uint64_t rows = tn_ceil_div(depth, form.depth), cost = 0, bits, made;
        bool fits = tn_mul(width, rows, &bits) &&
                    tn_mul_add(bits, LUTRAM_SCALE / form.width * LUTRAM_GROUP_COST, &cost) &&
                    add_selection(width, rows, LUTRAM_SCALE / 2, &cost) &&
                    tn_mul(tn_ceil_div(width, form.width), rows, &made);
        if (!fits || cost >= least) continue;
        least = cost;
        groups = made;
    }
    return groups > 0 && tn_mul(groups, (true_dual_port ? 2 : 1) * LUTRAM_GROUP_LUTS, luts);
}

uint64_t tn_memory_least_luts(uint64_t width_bits, uint64_t depth) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sizeof lutram_shapes / sizeof *lutram_shapes; i++) {
        uint64_t groups =
            tn_ceil_div(width_bits, lutram_shapes[i].width) * tn_ceil_div(depth, lutram_shapes[i].depth);
        if (groups < least) least = groups;
    }
    return least * LUTRAM_GROUP_LUTS;
}

tn_status tn_memory_blocks(tn_geometry geometry, tn_memory_style style, uint64_t width_bits, uint64_t depth,
                           bool true_dual_port, tn_blocks *blocks, tn_error *error) {
    tn_blocks need = {0};
    uint64_t rows;
    bool fits;
    if (width_bits == 0 || depth == 0)
        return tn_fail(error, TN_INPUT, "a memory of %s 0; both width and depth are at least 1",
                       width_bits ? "depth" : "width");
    if (geometry == TN_GEOMETRY_YOSYS && true_dual_port)
        return tn_fail(error, TN_INPUT, "geometry yosys knows no true dual port; take geometry hls");
    if (style == TN_STYLE_ULTRA)
        fits = geometry == TN_GEOMETRY_YOSYS ? yosys_uram((elements){1, width_bits}, depth, &need.uram, &rows)
                                             : tiled(width_bits, depth, uram_shape, &need.uram);
    else if (style == TN_STYLE_DISTRIBUTED)
        fits = lutram_luts(width_bits, depth, true_dual_port, &need.lutram);
    else if (style == TN_STYLE_BLOCK)
        fits = geometry == TN_GEOMETRY_YOSYS ? yosys_bram((elements){1, width_bits}, depth, &need, &rows)
                                             : least_bram18(width_bits, depth, true_dual_port, &need.bram18);
    else
        return tn_fail(error, TN_INPUT, "a memory's style is block, ultra or distributed");
    if (!fits)
        return tn_fail(error, TN_OVERFLOW, "the blocks of a memory of %llu x %llu do not fit 64 bits",
                       (unsigned long long)width_bits, (unsigned long long)depth);
    *blocks = need;
    return TN_OK;
}

tn_status tn_memory_element_blocks(tn_memory_style style, uint64_t count, uint64_t element_bits,
                                   uint64_t depth, tn_blocks *blocks, uint64_t *rows, tn_error *error) {
    const elements width = {count, element_bits};
    tn_blocks need = {0};
    bool fits = count > 0 && element_bits > 0 && depth > 0;
    if (!fits || style == TN_STYLE_AUTO)
        return tn_fail(error, TN_INPUT, "a memory has words, elements and a style");
    *rows = 1;
    if (style == TN_STYLE_ULTRA) fits = yosys_uram(width, depth, &need.uram, rows);
    if (style == TN_STYLE_BLOCK) fits = yosys_bram(width, depth, &need, rows);
    if (style == TN_STYLE_DISTRIBUTED)
        fits =
            lutram_luts(element_bits, depth, false, &need.lutram) && tn_mul(need.lutram, count, &need.lutram);
    if (!fits) return tn_fail(error, TN_OVERFLOW, "a memory's blocks do not fit 64 bits");
    *blocks = need;
    return TN_OK;
}

static void lower_blocks(elements width, uint64_t depth, const shape *shapes, size_t shapes_count,
                         library block_memory, uint64_t each, uint64_t *least) {
    for (size_t i = 0; i < shapes_count; i++) {
        tiling made;
        uint64_t blocks;
        if (!pack(width, depth, shapes[i], block_memory, &made) || !tn_mul(made.blocks, each, &blocks))
            continue;
        if (blocks < *least) *least = blocks;
    }
}

tn_status tn_memory_element_least(tn_memory_style style, uint64_t count, uint64_t element_bits,
                                  uint64_t depth, tn_blocks *blocks, tn_error *error) {
    const elements width = {count, element_bits};
    uint64_t rows, least = UINT64_MAX;
    TN_TRY(tn_memory_element_blocks(style, count, element_bits, depth, blocks, &rows, error));
    if (style == TN_STYLE_DISTRIBUTED) blocks->lutram = count * tn_memory_least_luts(element_bits, depth);
    if (style != TN_STYLE_BLOCK) return TN_OK;
    lower_blocks(width, depth, bram18_shapes, BRAM18_SHAPES, bram18_library, 1, &least);
    lower_blocks(width, depth, bram36_shapes, BRAM36_SHAPES, bram36_library, 2, &least);
    *blocks = (tn_blocks){.bram18 = least};
    return TN_OK;
}

static void lower_density(uint64_t element_bits, shape block, library block_memory, uint64_t capacity_bits,
                          double *least) {
    const uint64_t lanes = block_memory.lanes < block.width ? block_memory.lanes : block.width,
                   padded = tn_ceil_div(element_bits, lanes) * lanes;
    const double density =
        (double)padded / (double)element_bits * (double)capacity_bits / (double)(block.width * block.depth);
    if (density < *least) *least = density;
}

double tn_memory_element_density(tn_memory_style style, uint64_t element_bits) {
    double least = INFINITY;
    for (size_t i = 0; style == TN_STYLE_ULTRA && i < URAM_LIBRARIES; i++)
        lower_density(element_bits, uram_shape, uram_libraries[i], TN_MEMORY_CAPACITY_URAM_BITS, &least);
    for (size_t i = 0; style == TN_STYLE_BLOCK && i < BRAM18_SHAPES; i++)
        lower_density(element_bits, bram18_shapes[i], bram18_library, TN_MEMORY_CAPACITY_BRAM18_BITS, &least);
    for (size_t i = 0; style == TN_STYLE_BLOCK && i < BRAM36_SHAPES; i++)
        lower_density(element_bits, bram36_shapes[i], bram36_library, 2 * TN_MEMORY_CAPACITY_BRAM18_BITS,
                      &least);
    return least;
}

tn_memory_style tn_memory_style_auto(uint64_t width_bits, uint64_t depth, uint64_t lutram_bits_most) {
    uint64_t bits;
    bool small = tn_mul(width_bits, depth, &bits) && bits <= lutram_bits_most;
    return small ? TN_STYLE_DISTRIBUTED : TN_STYLE_BLOCK;
}

uint64_t tn_split_banks(tn_array_split split, uint64_t accesses) {
    uint64_t edge = 1;
    if (split == TN_SPLIT_PARTITION) return accesses;
    while (split == TN_SPLIT_BANKS && edge < tn_ceil_div(accesses, edge)) edge++;
    while (accesses % edge != 0) edge++;
    return edge;
}

static tn_status check_array(const tn_array_memory *array, tn_error *error) {
    if (array->words == 0 || array->word_bits == 0)
        return tn_fail(error, TN_INPUT, "an array of no bits; words and word bits are at least 1");
    if (array->accesses == 0 || array->group == 0)
        return tn_fail(error, TN_INPUT, "an array with 0 accesses or in a group of 0; both are at least 1");
    return TN_OK;
}

static bool scale(tn_blocks *blocks, uint64_t times) {
    return tn_mul(blocks->bram18, times, &blocks->bram18) && tn_mul(blocks->bram36, times, &blocks->bram36) &&
           tn_mul(blocks->uram, times, &blocks->uram) && tn_mul(blocks->lutram, times, &blocks->lutram);
}

static bool capacity(const tn_array_blocks *array_blocks, uint64_t *bits) {
    const tn_blocks *blocks = &array_blocks->blocks;
    *bits = 0;
    if (!tn_mul_add(blocks->bram18, TN_MEMORY_CAPACITY_BRAM18_BITS, bits)) return false;
    if (!tn_mul_add(blocks->bram36, 2 * TN_MEMORY_CAPACITY_BRAM18_BITS, bits)) return false;
    if (!tn_mul_add(blocks->uram, TN_MEMORY_CAPACITY_URAM_BITS, bits)) return false;
    if (blocks->lutram == 0) return true;
    const uint64_t factors[] = {array_blocks->banks, array_blocks->width_bits, array_blocks->depth};
    return tn_product(factors, 3, bits);
}

tn_status tn_array_memory_blocks(const tn_array_memory *array, tn_geometry geometry, tn_array_blocks *result,
                                 tn_error *error) {
    TN_TRY(check_array(array, error));
    tn_array_blocks made = {.banks = 1, .width_bits = array->word_bits};
    uint64_t asked_bits;
    const uint64_t asked[] = {array->words, array->word_bits, array->group};
    bool fits = tn_mul(tn_ceil_div(array->words, array->accesses), array->group, &made.depth) &&
                tn_product(asked, 3, &asked_bits);
    made.banks = tn_split_banks(array->split, array->accesses);
    fits = fits && tn_mul(array->word_bits, array->accesses / made.banks, &made.width_bits);
    if (fits)
        TN_TRY(tn_memory_blocks(geometry, array->style, made.width_bits, made.depth, array->true_dual_port,
                                &made.blocks, error));
    if (array->ping_pong) fits = fits && tn_mul(made.banks, 2, &made.banks);
    fits = fits && scale(&made.blocks, made.banks) && capacity(&made, &made.capacity_bits);
    if (!fits) return tn_fail(error, TN_OVERFLOW, "an array's memory does not fit 64 bits");
    made.use = (double)asked_bits / (double)made.capacity_bits;
    *result = made;
    return TN_OK;
}
