#include "kernel/vector.h"

#include "base/checked.h"
#include "kernel/issue.h"

uint64_t tn_vector_pass_depth(tn_operation_kind vector, int pass, const tn_operator_set *operators) {
    const tn_pass *this_pass = &tn_operation_passes(vector)[pass];
    uint64_t depth = 1; /* a pass that only moves still takes a cycle */
    for (int path = 0; path < this_pass->paths; path++) {
        uint64_t stages = 0;
        for (int kind = 0; kind < TN_OPERATORS; kind++)
            if (this_pass->series[path][kind])
                stages += this_pass->series[path][kind] * operators->row[kind]->stages;
        if (stages > depth) depth = stages;
    }
    return depth;
}

static tn_status issue_pass(const tn_vector *kernel, int pass, const tn_vector_blocks *blocks,
                            tn_issued *issued, uint64_t *trailing, tn_error *error) {
    const tn_pass *this_pass = &tn_operation_passes(kernel->kind)[pass];
    const bool per_row = this_pass->form == TN_PASS_PER_ROW;
    const tn_issued_pass issue = {.form = this_pass->form,
                                  .rows = blocks->rows,
                                  .blocks = per_row ? 1 : tn_ceil_div(blocks->columns, kernel->lanes),
                                  .cut = !per_row && blocks->columns % kernel->lanes != 0,
                                  .phases = {blocks->phases[0], blocks->phases[1]},
                                  .write_phases = {blocks->write_phases[0], blocks->write_phases[1]},
                                  .lanes = kernel->unit ? kernel->unit : kernel->lanes,
                                  .depth = tn_vector_pass_depth(kernel->kind, pass, kernel->operators),
                                  .sum_cycles = kernel->operators->row[this_pass->sum]->stages};
    return tn_issue_pass(&issue, issued, trailing, error);
}

tn_status tn_vector_pass_cycles(const tn_vector *kernel, int pass, const tn_vector_blocks *blocks,
                                uint64_t *cycles, tn_error *error) {
    tn_issued issued;
    uint64_t trailing;
    TN_TRY(issue_pass(kernel, pass, blocks, &issued, &trailing, error));
    if (!tn_add(issued.cycles - 1, trailing, cycles))
        return tn_fail(error, TN_OVERFLOW, "a vector kernel's cycles do not fit 64 bits");
    return TN_OK;
}

tn_status tn_vector_pass_drain(const tn_vector *kernel, int pass, const tn_vector_blocks *blocks,
                               uint64_t *cycles, tn_error *error) {
    tn_issued issued;
    TN_TRY(issue_pass(kernel, pass, blocks, &issued, cycles, error));
    --*cycles;
    return TN_OK;
}

tn_status tn_vector_plain_blocks(tn_operation_kind kind, uint64_t rows, uint64_t columns,
                                 tn_vector_blocks *blocks, tn_error *error) {
    *blocks = (tn_vector_blocks){rows, columns, {1, 1}, {1, 1}};
    if (!tn_operation_is_elementwise(kind)) return TN_OK;
    blocks->rows = 1;
    if (tn_mul(rows, columns, &blocks->columns)) return TN_OK;
    return tn_fail(error, TN_OVERFLOW, "a vector kernel's elements do not fit 64 bits");
}

tn_status tn_vector_cycles(const tn_vector *kernel, uint64_t rows, uint64_t columns, uint64_t *cycles,
                           tn_error *error) {
    const tn_pass *passes = tn_operation_passes(kernel->kind);
    tn_vector_blocks blocks;
    TN_TRY(tn_vector_plain_blocks(kernel->kind, rows, columns, &blocks, error));
    *cycles = 0;
    for (int i = 0; i < TN_PASSES_MOST && passes[i].form != TN_PASS_NONE; i++) {
        uint64_t part;
        TN_TRY(tn_vector_pass_cycles(kernel, i, &blocks, &part, error));
        if (!tn_add(*cycles, part, cycles))
            return tn_fail(error, TN_OVERFLOW, "a vector kernel's cycles do not fit 64 bits");
    }
    return TN_OK;
}

uint64_t tn_vector_starts(tn_operation_kind kind) {
    const tn_pass *passes = tn_operation_passes(kind);
    uint64_t count = 0;
    while (count < TN_PASSES_MOST && passes[count].form != TN_PASS_NONE) count++;
    return count;
}

uint64_t tn_vector_passes(tn_operation_kind kind) {
    const tn_pass *passes = tn_operation_passes(kind);
    uint64_t count = 0;
    for (int i = 0; i < TN_PASSES_MOST; i++)
        count += passes[i].form != TN_PASS_NONE && passes[i].form != TN_PASS_PER_ROW;
    return count;
}

/* Operators of that kind that a pass needs. */
static uint64_t amount_of(const tn_pass *pass, int kind, uint64_t lanes) {
    uint64_t present = pass->form == TN_PASS_PER_ROW ? pass->operators[kind] : pass->operators[kind] * lanes;
    bool sums = (pass->form == TN_PASS_REDUCE || pass->form == TN_PASS_ACCUMULATE) && pass->sum == kind;
    return present + (sums ? pass->sums * lanes : 0);
}

static uint64_t most_of(tn_operation_kind vector, int kind, uint64_t lanes) {
    const tn_pass *passes = tn_operation_passes(vector);
    uint64_t most = 0;
    for (int i = 0; i < TN_PASSES_MOST && passes[i].form != TN_PASS_NONE; i++) {
        uint64_t amount = amount_of(&passes[i], kind, lanes);
        if (amount > most) most = amount;
    }
    return most;
}

bool tn_vector_uses(tn_operation_kind kind, tn_operator operator_kind) {
    return most_of(kind, operator_kind, 1) > 0;
}

uint64_t tn_vector_lane_dsp(tn_operation_kind kind, const tn_operator_set *operators) {
    uint64_t dsp = 0;
    for (int k = 0; k < TN_OPERATORS; k++) dsp += most_of(kind, k, 1) * operators->row[k]->dsp;
    return dsp;
}

uint64_t tn_vector_lut(tn_operation_kind kind, uint64_t lanes, const tn_operator_set *operators) {
    uint64_t lut = 0;
    for (int k = 0; k < TN_OPERATORS; k++) lut += most_of(kind, k, lanes) * operators->row[k]->lut;
    return lut;
}

uint64_t tn_vector_lanes(tn_operation_kind kind, uint64_t unit, const tn_lane_means *has,
                         const tn_operator_set *operators) {
    const tn_operation_shape shape = tn_operation_rows[kind].shape;
    const bool by_word = shape == TN_SHAPE_ADD || shape == TN_SHAPE_LOOKUP || shape == TN_SHAPE_SCATTER ||
                         shape == TN_SHAPE_APPEND || shape == TN_SHAPE_UPDATE;
    uint64_t lanes = unit;
    if (by_word) return unit;
    if (has->dsp > 0) {
        const uint64_t wanted = tn_vector_lane_dsp(kind, operators);
        while (lanes > 1 && lanes * wanted > unit * has->dsp) lanes /= 2;
    }
    while (has->lut > 0 && lanes > 1 && tn_vector_lut(kind, lanes, operators) > unit * has->lut) lanes /= 2;
    return lanes;
}

tn_resources tn_vector_resources(const tn_device *device, const tn_vector *kernel) {
    uint64_t lanes[TN_OPERATION_KINDS] = {0};
    lanes[kernel->kind] = kernel->lanes;
    return tn_vector_unit_resources(device, lanes, kernel->operators);
}

/* Operators of a kind that the hungriest kernel of a unit needs. */
static uint64_t most_of_unit(const uint64_t *lanes, int kind) {
    uint64_t most = 0;
    for (int vector = 0; vector < TN_OPERATION_KINDS; vector++) {
        uint64_t amount = lanes[vector] ? most_of((tn_operation_kind)vector, kind, lanes[vector]) : 0;
        if (amount > most) most = amount;
    }
    return most;
}

tn_resources tn_vector_unit_resources(const tn_device *device, const uint64_t *lanes,
                                      const tn_operator_set *operators) {
    tn_resources used = {.lut = device->control.vector_lut, .ff = device->control.vector_ff};
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        uint64_t count = most_of_unit(lanes, kind);
        if (count == 0) continue;
        const tn_operator_row *row = operators->row[kind];
        const tn_resources one = {.lut = row->lut, .ff = row->ff, .dsp = row->dsp};
        tn_resources_add(&used, &one, count);
    }
    return used;
}
