#include "kernel/kernel.h"

#include "base/checked.h"
#include "device/block.h"
#include "device/multiply.h"
#include "kernel/pipeline.h"

#include <inttypes.h>
#include <stdio.h>

/* Beyond these a block format is no narrower than the formats it replaces. */
enum { GROUP_MOST = 4096 };

static tn_operator_cost cost_of(const tn_operator_row *row) {
    return (tn_operator_cost){row->stages, row->lut, row->ff, row->dsp, row};
}

static bool is_integer(const tn_number_format *format) {
    return format->kind == TN_FIXED_POINT || format->kind == TN_SCALED_INTEGER;
}

static bool is_block(const tn_number_format *format) {
    return format->kind == TN_BLOCK_FLOATING;
}

/* A value of an outlier-victim pair behind its decoder: an integer and the bits of a shift, as a group of one. */
static tn_number_format decoded(const tn_number_format *format) {
    if (format->kind != TN_OUTLIER_PAIRS) return *format;
    return (tn_number_format){.kind = TN_BLOCK_FLOATING,
                              .group = 1,
                              .exponent_bits = format->bits / 2 + 1,
                              .mantissa_bits = format->bits - 1};
}

static tn_operator_cost integer_add(const tn_device *device, uint64_t bits) {
    const tn_device_integer *integer = &device->integer;
    return (tn_operator_cost){.stages = integer->add_stages,
                              .lut = bits * integer->add_lut_per_bit,
                              .ff = bits * integer->ff_per_bit * integer->add_stages};
}

static tn_status integer_multiply(const tn_device *device, uint64_t a, uint64_t b, tn_lane *lane,
                                  tn_error *error) {
    const tn_device_integer *integer = &device->integer;
    const tn_dsp_block *block;
    uint64_t dsp;
    TN_TRY(tn_dsp_block_find(device->dsp_block, &block, error));
    TN_TRY(tn_multiply_dsp(block, a, b, TN_SIGNED, &dsp, error));
    lane->multiply = (tn_operator_cost){.stages = integer->multiply_stages,
                                        .dsp = dsp,
                                        .ff = (a + b) * integer->ff_per_bit * integer->multiply_stages};
    if (dsp == 0) lane->multiply.lut = a * b * integer->multiply_lut_per_bit_pair;
    lane->packed = dsp == 1 ? tn_multiply_packed(block, a, b) : 1;
    /* The borrow of the product below is added to each. */
    if (lane->packed > 1) lane->multiply.lut += (a + b) * integer->add_lut_per_bit;
    return TN_OK;
}

/* The adder of sums, where these are floating point; else that of fp32. */
static tn_status load_sum(const tn_device *device, const tn_number_format *sum, tn_lane *lane,
                          tn_error *error) {
    const tn_number_format *format = sum->kind == TN_FLOATING ? sum : &tn_fp32;
    const tn_operator_row *add;
    TN_TRY(tn_device_operator(device, format, TN_ADDER, &add, error));
    lane->sum = cost_of(add);
    lane->sum_bits = tn_number_format_word_bits(format);
    return TN_OK;
}

static tn_status load_floating(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                               tn_error *error) {
    const tn_operator_row *multiply;
    bool same =
        tn_number_format_same(&arithmetic->left, &arithmetic->right) && arithmetic->left.kind == TN_FLOATING;
    TN_TRY(tn_device_operator(device, same ? &arithmetic->left : &tn_fp32, TN_MULTIPLY, &multiply, error));
    lane->multiply = cost_of(multiply);
    TN_TRY(load_sum(device, &arithmetic->sum, lane, error));
    lane->tree = lane->sum;
    return TN_OK;
}

static tn_status load_integer(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                              tn_error *error) {
    const tn_number_format *format = &arithmetic->left;
    uint64_t bits = (uint64_t)arithmetic->left.bits + arithmetic->right.bits;
    lane->sum_bits = bits + TN_SUM_GUARD_BITS;
    lane->sum = integer_add(device, lane->sum_bits);
    if (tn_number_format_same(&arithmetic->left, &arithmetic->right) &&
        tn_device_has_operator(device, format, TN_MULTIPLY) &&
        tn_device_has_operator(device, format, TN_ADDER)) {
        const tn_operator_row *multiply, *add;
        TN_TRY(tn_device_operator(device, format, TN_MULTIPLY, &multiply, error));
        TN_TRY(tn_device_operator(device, format, TN_ADDER, &add, error));
        lane->multiply = cost_of(multiply);
        lane->packed = multiply->packed;
        lane->sum = cost_of(add);
    } else {
        TN_TRY(integer_multiply(device, arithmetic->left.bits, arithmetic->right.bits, lane, error));
    }
    lane->tree = lane->sum;
    return TN_OK;
}

static tn_status load_block(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                            tn_error *error) {
    const tn_device_integer *integer = &device->integer;
    uint64_t exponent = arithmetic->left.exponent_bits > arithmetic->right.exponent_bits
                            ? arithmetic->left.exponent_bits
                            : arithmetic->right.exponent_bits;
    uint64_t a = arithmetic->chunk_bits ? arithmetic->chunk_bits : arithmetic->left.mantissa_bits;
    uint64_t b = arithmetic->chunk_bits ? arithmetic->chunk_bits : arithmetic->right.mantissa_bits;
    lane->group = tn_greatest_common_divisor(arithmetic->left.group, arithmetic->right.group);
    if (lane->group > GROUP_MOST)
        return tn_fail(error, TN_INPUT,
                       "block floating point in groups of %" PRIu64 "; kernels take at most %d", lane->group,
                       GROUP_MOST);
    TN_TRY(integer_multiply(device, a + 1, b + 1, lane, error));
    lane->tree = integer_add(device, a + b + 2 + tn_tree_depth(lane->group));
    TN_TRY(load_sum(device, &arithmetic->sum, lane, error));
    lane->sum.lut += (exponent + 1) * integer->add_lut_per_bit;
    lane->sum.ff += (exponent + 1) * integer->ff_per_bit;
    return TN_OK;
}

static const tn_number_format *wider(const tn_number_format *a, const tn_number_format *b) {
    return tn_number_format_bits(a) < tn_number_format_bits(b) ? b : a;
}

/* What lies before the multipliers and behind the groups. Of chunks `begin` is the widest format that they make up; a sum of theirs
 * adds its chunks' places to the exponent. */
static void add_conversions(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane) {
    const bool chunked = arithmetic->chunk_bits > 0;
    const tn_number_format *widest = wider(&arithmetic->left, &arithmetic->right);
    if (chunked && arithmetic->begin.kind == TN_BLOCK_FLOATING) widest = wider(widest, &arithmetic->begin);
    const uint64_t a = chunked ? arithmetic->chunk_bits : arithmetic->left.mantissa_bits,
                   b = chunked ? arithmetic->chunk_bits : arithmetic->right.mantissa_bits;
    const tn_block_floating_cost convert = tn_block_floating_convert(&device->block_floating,
                                                                     widest->mantissa_bits, chunked),
                                 normalise = tn_block_floating_normalise(
                                     &device->block_floating, a + b + 2 + tn_tree_depth(lane->group));
    lane->convert = (tn_operator_cost){.lut = convert.lut, .ff = convert.ff, .stages = convert.stages};
    lane->sum.lut += normalise.lut;
    lane->sum.ff += normalise.ff;
    if (chunked) {
        lane->sum.lut += (widest->exponent_bits + 1) * device->integer.add_lut_per_bit;
        lane->sum.ff += (widest->exponent_bits + 1) * device->integer.ff_per_bit;
    }
    lane->multiply.stages += convert.stages + normalise.stages;
    lane->operand_bits = tn_number_format_word_bits(widest);
}

/* What the device has for a format of groups or pairs takes the place of its integer operators. */
static tn_status take_own_operators(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                                    tn_error *error) {
    const tn_operator_row *row;
    if (!tn_number_format_same(&arithmetic->left, &arithmetic->right) || arithmetic->chunk_bits) return TN_OK;
    if (tn_device_has_operator(device, &arithmetic->left, TN_MULTIPLY)) {
        TN_TRY(tn_device_operator(device, &arithmetic->left, TN_MULTIPLY, &row, error));
        lane->multiply = cost_of(row);
        lane->packed = row->packed;
    }
    if (!tn_device_has_operator(device, &arithmetic->left, TN_ADDER)) return TN_OK;
    TN_TRY(tn_device_operator(device, &arithmetic->left, TN_ADDER, &row, error));
    lane->tree = cost_of(row);
    return TN_OK;
}

static tn_status load_one(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                          tn_error *error) {
    tn_arithmetic this_arithmetic = *arithmetic;
    this_arithmetic.left = decoded(&this_arithmetic.left);
    this_arithmetic.right = decoded(&this_arithmetic.right);
    *lane = (tn_lane){.group = 1, .packed = 1, .begin_packed = 1};
    if (is_block(&this_arithmetic.left) && is_block(&this_arithmetic.right)) {
        TN_TRY(load_block(device, &this_arithmetic, lane, error));
        TN_TRY(take_own_operators(device, arithmetic, lane, error));
        if (is_block(&arithmetic->left) && is_block(&arithmetic->right))
            add_conversions(device, arithmetic, lane);
        return TN_OK;
    }
    if (is_integer(&this_arithmetic.left) && is_integer(&this_arithmetic.right))
        return load_integer(device, &this_arithmetic, lane, error);
    return load_floating(device, &this_arithmetic, lane, error);
}

static void add_cost(tn_operator_cost *cost, const tn_operator_cost *other) {
    cost->stages = tn_greatest(cost->stages, other->stages);
    cost->lut += other->lut;
    cost->ff += other->ff;
    cost->dsp += other->dsp;
    if (!cost->row) cost->row = other->row;
}

/* What both are made of beside each other. Sums of the same operator are made by one. */
static void add_lane(tn_lane *lane, const tn_lane *begin) {
    const bool common = lane->sum.row == begin->sum.row && lane->sum.row;
    const uint64_t lut = tn_greatest(lane->sum.lut, begin->sum.lut),
                   ff = tn_greatest(lane->sum.ff, begin->sum.ff);
    lane->begin_multiply = begin->multiply;
    lane->begin_packed = begin->packed;
    lane->multiply.stages = tn_greatest(lane->multiply.stages, begin->multiply.stages);
    add_cost(&lane->tree, &begin->tree);
    add_cost(&lane->convert, &begin->convert);
    /* Operands of either format come over the same wires. */
    lane->operand_bits =
        lane->operand_bits && begin->operand_bits ? tn_greatest(lane->operand_bits, begin->operand_bits) : 0;
    if (common) {
        lane->sum.lut = lut;
        lane->sum.ff = ff;
    } else {
        add_cost(&lane->sum, &begin->sum);
    }
    /* Of one that sums each term by itself the group is that of the other. */
    lane->group = lane->group == 1 || begin->group == 1
                      ? tn_greatest(lane->group, begin->group)
                      : tn_greatest_common_divisor(lane->group, begin->group);
    lane->sum_bits = tn_greatest(lane->sum_bits, begin->sum_bits);
}

tn_status tn_lane_load(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                       tn_error *error) {
    tn_lane begin;
    TN_TRY(load_one(device, arithmetic, lane, error));
    if (!arithmetic->begins) return TN_OK;
    const tn_arithmetic first = {
        .left = arithmetic->begin, .right = arithmetic->begin, .sum = arithmetic->sum};
    TN_TRY(load_one(device, &first, &begin, error));
    add_lane(lane, &begin);
    return TN_OK;
}

void tn_arithmetic_text(const tn_arithmetic *arithmetic, char text[TN_ARITHMETIC_TEXT]) {
    char left[TN_NUMBER_FORMAT_NAME], right[TN_NUMBER_FORMAT_NAME];
    tn_number_format_name(&arithmetic->left, left);
    tn_number_format_name(&arithmetic->right, right);
    if (arithmetic->begins) {
        char begin[TN_NUMBER_FORMAT_NAME];
        const bool same = tn_number_format_same(&arithmetic->left, &arithmetic->right);
        tn_number_format_name(&arithmetic->begin, begin);
        snprintf(text, TN_ARITHMETIC_TEXT, same ? "%s, then %s" : "%s, then %s x %s", begin, left, right);
        return;
    }
    if (arithmetic->chunk_bits)
        snprintf(text, TN_ARITHMETIC_TEXT, "bfp%" PRIu64 ",%" PRIu32 " in chunks of %" PRIu32,
                 arithmetic->left.group, arithmetic->left.exponent_bits, arithmetic->chunk_bits);
    else if (tn_number_format_same(&arithmetic->left, &arithmetic->right))
        snprintf(text, TN_ARITHMETIC_TEXT, "%s", left);
    else
        snprintf(text, TN_ARITHMETIC_TEXT, "%s x %s", left, right);
}

/* Rounds of open tiles that hold all tiles, at least `add_cycles` open where there are so many. Either just
 * so many, or the tiles dealt evenly to the rounds: whichever pads less, which is by fewer than add_cycles
 * tiles. */
static void interleave(uint64_t tiles, uint64_t add_cycles, uint64_t *rounds, uint64_t *open) {
    *rounds = tiles / add_cycles;
    if (*rounds == 0) *rounds = 1;
    *open = tn_ceil_div(tiles, *rounds);
    uint64_t narrow = tn_ceil_div(tiles, add_cycles);
    if (tiles < add_cycles || narrow * add_cycles >= *rounds * *open) return;
    *rounds = narrow;
    *open = add_cycles;
}

/* From the multipliers' inputs to a sum of P products: the tree within groups, then that over groups. */
static uint64_t tree_cycles(const tn_matmul *kernel) {
    const tn_lane *lane = &kernel->lane;
    uint64_t span = tn_least(kernel->reduction, lane->group),
             groups = tn_ceil_div(kernel->reduction, lane->group);
    return lane->multiply.stages + tn_tree_depth(span) * lane->tree.stages +
           tn_tree_depth(groups) * lane->sum.stages;
}

uint64_t tn_matmul_fill_cycles(const tn_matmul *kernel) {
    return tree_cycles(kernel) + kernel->lane.sum.stages;
}

tn_status tn_matmul_cycles(const tn_matmul *kernel, const tn_product_size *product, tn_matmul_time *time,
                           tn_error *error) {
    const uint64_t tile[] = {product->batch, tn_ceil_div(product->rows, kernel->rows),
                             tn_ceil_div(product->columns, kernel->columns)};
    uint64_t add_cycles = kernel->lane.sum.stages, tiles;
    if (!tn_product(tile, 3, &tiles))
        return tn_fail(error, TN_OVERFLOW, "a product's tiles do not fit 64 bits");
    /* A dot product whose terms are the issues: `tree_cycles` to make one, one accumulating adder. */
    tn_dot dot = {.lanes = 1,
                  .multiply_cycles = tree_cycles(kernel),
                  .add_cycles = add_cycles,
                  .interval_cycles = 1,
                  .m = tiles,
                  .k = tn_ceil_div(product->reduction, kernel->reduction),
                  .n = 1,
                  .order = TN_DOT_IKJ};
    if (dot.k > 1) {
        interleave(tiles, add_cycles, &dot.m, &dot.n);
        dot.interval_cycles = tn_ceil_div(add_cycles, dot.n);
    }
    tn_dot_result result;
    TN_TRY(tn_dot_cycles(&dot, &result, error));
    *time = (tn_matmul_time){.cycles = result.cycles,
                             .issues = dot.m * dot.n * dot.k,
                             .interval_cycles = dot.interval_cycles,
                             .interleaved = dot.n};
    return TN_OK;
}

/* Of a device without one at its clock; a step that draws numbers is refused (price/workload.c). */
static const tn_operator_row no_draw = {.precision = "fp32", .operator_kind = TN_DRAW};

static const tn_number_format *format_of(const tn_device *device, const tn_number_format *format, int kind) {
    bool has = (format->kind == TN_FLOATING && kind != TN_DRAW) ||
               tn_device_has_operator(device, format, (tn_operator)kind);
    return has ? format : &tn_fp32;
}

tn_status tn_operator_set_load(const tn_device *device, const tn_number_format *format, tn_operator_set *set,
                               tn_error *error) {
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        const tn_number_format *own = format_of(device, format, kind);
        tn_status status = tn_device_operator(device, own, (tn_operator)kind, &set->row[kind],
                                              kind == TN_DRAW ? NULL : error);
        if (status != TN_OK && kind != TN_DRAW) return status;
        if (status != TN_OK) set->row[kind] = &no_draw;
    }
    return TN_OK;
}

tn_status tn_operators_check(const tn_device *device, const tn_number_format *format,
                             const tn_arithmetic *arithmetic, size_t count, tn_error *error) {
    enum { OF_LANE = 3 };
    const tn_operator_row *wanted[TN_OPERATORS + OF_LANE * TN_ARITHMETICS_CHECKED];
    size_t rows = 0;
    tn_device slow = *device;
    slow.clock_MHz = 1; /* that all rows meet: those which would be taken if the clock did not matter */
    for (size_t i = 0; i < count && i < TN_ARITHMETICS_CHECKED; i++) {
        tn_lane lane;
        TN_TRY(tn_lane_load(&slow, &arithmetic[i], &lane, error));
        wanted[rows++] = lane.multiply.row;
        wanted[rows++] = lane.tree.row;
        wanted[rows++] = lane.sum.row;
    }
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        if (kind != TN_DRAW)
            TN_TRY(tn_device_operator(&slow, format_of(&slow, format, kind), (tn_operator)kind,
                                      &wanted[rows++], error));
    return tn_device_operators_check(device, wanted, rows, error);
}

static void add_operators(tn_resources *used, const tn_operator_cost *cost, uint64_t count) {
    const tn_resources one = {.lut = cost->lut, .ff = cost->ff, .dsp = cost->dsp};
    tn_resources_add(used, &one, count);
}

/* Multipliers of a column of output sums have the right operand in common, those of a row the left one: so many at a
 * time are one packed multiplier, along the side where fewer are left over. */
static void add_multipliers(tn_resources *used, const tn_matmul *kernel, const tn_operator_cost *cost,
                            uint64_t packed) {
    uint64_t rows = kernel->rows, columns = kernel->columns;
    uint64_t all = rows * columns * kernel->reduction;
    uint64_t blocks = tn_least(rows * tn_ceil_div(columns, packed), columns * tn_ceil_div(rows, packed));
    used->lut += cost->lut * all;
    used->ff += cost->ff * all;
    used->dsp += cost->dsp * blocks * kernel->reduction;
}

tn_resources tn_matmul_resources(const tn_device *device, const tn_matmul *kernel) {
    const tn_lane *lane = &kernel->lane;
    tn_resources used = {0};
    if (!tn_device_is_generated(device)) /* generated control is an engine's, whatever its kernels */
        used = (tn_resources){.lut = device->control.lut, .ff = device->control.ff};
    uint64_t sums = kernel->rows * kernel->columns, groups = tn_ceil_div(kernel->reduction, lane->group);
    add_multipliers(&used, kernel, &lane->multiply, lane->packed);
    add_multipliers(&used, kernel, &lane->begin_multiply, lane->begin_packed);
    add_operators(&used, &lane->convert,
                  kernel->reduction * (kernel->rows + kernel->columns) + kernel->rows * kernel->columns);
    add_operators(&used, &lane->tree, sums * (kernel->reduction - groups));
    add_operators(&used, &lane->sum, sums * groups); /* groups - 1 in the tree, one accumulating */
    if (kernel->systolic) {
        /* Beside its operators a cell holds a weight and two operands on their way; a row of sums waits in block RAM. */
        used.ff += 3 * sums * lane->sum_bits;
        used.bram18 += tn_greatest(kernel->rows, kernel->columns) * tn_ceil_div(lane->sum_bits, 36);
        return used;
    }
    /* At most twice the add latency, less one, tiles are open (interleave). */
    tn_blocks open = {0};
    if (tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED, lane->sum_bits, 2 * lane->sum.stages, false,
                         &open, NULL) == TN_OK)
        used.lut += sums * open.lutram;
    return used;
}
