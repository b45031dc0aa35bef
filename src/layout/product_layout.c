#include "layout/product_layout.h"

#include "base/checked.h"

#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

/* The blocks that the cut indices of a group fall into, and how many values the others have together. */
static tn_issued_group issued_group(const uint64_t *size, const tn_group_cut *cut, uint64_t *others) {
    tn_issued_group group = {.blocks = {1, 1}};
    *others *= cut->blocks;
    for (uint32_t k = 0; k < cut->indices; k++) {
        const uint64_t values = size[cut->index[k]];
        group.blocks[k] = tn_ceil_div(values, cut->edge[k]);
        group.edge[k] = values % cut->edge[k] != 0;
        *others /= group.blocks[k];
    }
    return group;
}

/* Bit k: the array's end cuts the last block along the k-th of the group's edges, so that it is a block of its own kind. */
static int cut_kind(const tn_issued_group *group) {
    return group->edge[0] | group->edge[1] << 1;
}

/* Rows of the last block up to the last that is one of the array's. */
static uint64_t last_row(const uint64_t *size, const tn_group_cut *cut) {
    uint64_t row = 0;
    for (uint32_t k = 0; k < cut->indices; k++)
        row = row * cut->edge[k] + (size[cut->index[k]] - 1) % cut->edge[k];
    return row + 1;
}

/* Phases of an operand's blocks by kind; `differs`: the edges that make a kind of its own. Returns the most. */
static uint64_t tell_phases(const tn_tensor_layout *operand, const tn_group_cut *const *group, int differs,
                            uint64_t *phases) {
    uint64_t most = 1;
    for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
        phases[kind] = !operand            ? 1
                       : (kind & ~differs) ? phases[kind & differs]
                                           : tn_tensor_layout_phases(operand, group, kind);
        most = tn_greatest(most, phases[kind]);
    }
    return most;
}

void tn_product_layout_tell(const uint64_t *size, const tn_searched_product *product, const uint32_t *taken,
                            const tn_tensor_layout *const *operand, tn_product_layout *layout) {
    tn_issued_product *issued = &layout->issued;
    uint64_t *phases[SIDES] = {issued->left, issued->right, issued->result}, most[SIDES];
    *layout = (tn_product_layout){0};
    for (int g = 0; g < GROUPS; g++) layout->cut[g] = product->group[g].cut[taken[g]];
    layout->tiles = product->batch * layout->cut[ROWS].blocks * layout->cut[COLUMNS].blocks;
    layout->terms = layout->cut[REDUCTION].blocks;
    issued->other_tiles = product->batch;
    issued->other_groups = 1;
    issued->row = issued_group(size, &layout->cut[ROWS], &issued->other_tiles);
    issued->column = issued_group(size, &layout->cut[COLUMNS], &issued->other_tiles);
    issued->term = issued_group(size, &layout->cut[REDUCTION], &issued->other_groups);
    issued->pass = product->pass;
    issued->vectors = layout->cut[ROWS].blocks;
    issued->drained = last_row(size, &layout->cut[ROWS]);
    const int kind[GROUPS] = {cut_kind(&issued->row), cut_kind(&issued->column), cut_kind(&issued->term)};
    for (int side = 0; side < SIDES; side++) {
        const int *direction = tn_cut_directions[side];
        const tn_group_cut *group[] = {&product->operand[side].block[0][taken[direction[0]]],
                                       &product->operand[side].block[1][taken[direction[1]]]};
        most[side] = tell_phases(operand[side], group,
                                 kind[direction[0]] | kind[direction[1]] << TN_ISSUE_CUTS, phases[side]);
    }
    layout->read_cycles = tn_greatest(most[LEFT], most[RIGHT]);
    layout->write_cycles = most[RESULT];
}

/* Cuts that may take fewer cycles than the best so far: an issue takes at least one, and the pipeline fills. */
static tn_status best_cut_cycles(const uint64_t *size, const tn_searched_product *p,
                                 const tn_tensor_layout *const *operand, const tn_matmul *kernel,
                                 uint64_t *best, tn_error *error) {
    const tn_cut_choice *row = &p->group[ROWS], *column = &p->group[COLUMNS], *term = &p->group[REDUCTION];
    const uint64_t fill = tn_matmul_fill_cycles(kernel);
    uint32_t taken[GROUPS];
    *best = UINT64_MAX;
    for (taken[ROWS] = 0; taken[ROWS] < row->count; taken[ROWS]++)
        for (taken[COLUMNS] = 0; taken[COLUMNS] < column->count; taken[COLUMNS]++)
            for (taken[REDUCTION] = 0; taken[REDUCTION] < term->count; taken[REDUCTION]++) {
                const uint64_t issues = p->batch * row->cut[taken[ROWS]].blocks *
                                        column->cut[taken[COLUMNS]].blocks *
                                        term->cut[taken[REDUCTION]].blocks;
                tn_product_layout cut;
                uint64_t cycles;
                if (p->pass == TN_PASS_OF_LANES && issues - 1 + fill >= *best) break;
                tn_product_layout_tell(size, p, taken, operand, &cut);
                TN_TRY(tn_issue_product_cycles(kernel, &cut.issued, &cycles, error));
                *best = tn_least(*best, cycles);
            }
    return TN_OK;
}

tn_status tn_open_product_cycles(const tn_layout_problem *problem, uint32_t product, const tn_matmul *kernel,
                                 tn_banking banking, const tn_layout_demand *demand, uint64_t *cycles,
                                 tn_error *error) {
    const tn_searched_product *own = &problem->product[product];
    const tn_tensor_layout *operand[SIDES] = {0};
    tn_tensor_layout layout[SIDES];
    tn_layout_axis axis[SIDES][TN_LAYOUT_AXES];
    for (int side = 0; side < SIDES; side++) {
        const uint32_t tensor = own->operand[side].tensor,
                       t = tn_searched_stands_for(problem, tensor, &demand[tensor]);
        if (!tn_searched_is_shared(problem, t, &demand[t])) continue;
        tn_shared_layout(problem, t, &demand[t], tn_banking_kind(banking), axis[side], &layout[side]);
        operand[side] = &layout[side];
    }
    return best_cut_cycles(problem->size, own, operand, kernel, cycles, error);
}

tn_status tn_partial_product_cycles(const tn_program *program, const tn_tensor_layout *tensor,
                                    const tn_partial *partial, const tn_matmul *kernel, tn_arena *arena,
                                    uint64_t *cycles, tn_error *error) {
    const tn_kernel_edges edges = {kernel->rows, kernel->columns, kernel->reduction, kernel->systolic};
    const tn_tensor_layout *operand[SIDES];
    tn_tensor_layout part[SIDES];
    tn_searched_product product;
    uint64_t *size;
    TN_TRY(TN_NEW(arena, program->indices, &size, error));
    memcpy(size, program->index_size, program->indices * sizeof *size);
    size[partial->index] = partial->kept;
    TN_TRY(tn_searched_product_read(program, size, &edges, partial->step, arena, &product, error));
    for (int side = 0; side < SIDES; side++) {
        TN_TRY(tn_partial_layout(&tensor[product.operand[side].tensor], partial, arena, &part[side], error));
        operand[side] = &part[side];
    }
    return best_cut_cycles(size, &product, operand, kernel, cycles, error);
}
