#include "layout/tensor_layout.h"

#include "base/checked.h"
#include "layout/layout_search.h"

#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

/* ---- blocks of a laid tensor ---- */

/* Words along an index: of its last block, or the most that another one touches. */
static uint64_t words_of(const tn_tensor_layout *layout, uint32_t axis, uint64_t edge, bool last) {
    uint64_t size = layout->axis[axis].size, word = layout->axis[axis].edge;
    if (!last) return tn_words_of_block(size, edge, tn_log_above(word));
    uint64_t start = size / edge * edge;
    return (size - 1) / word - start / word + 1;
}

static uint32_t axis_of(const tn_tensor_layout *layout, uint32_t index) {
    uint32_t axis = 0;
    while (axis < layout->axes && layout->axis[axis].index != index) axis++;
    return axis;
}

uint64_t tn_tensor_layout_phases(const tn_tensor_layout *layout, const tn_group_cut *const *group, int kind) {
    uint64_t words[TN_BANKED_AXES], skew[TN_BANKED_AXES], turn[TN_BANKED_AXES];
    uint32_t axes = 0;
    for (int g = 0; g < 2; g++)
        for (uint32_t k = 0; k < group[g]->indices; k++) {
            uint32_t axis = axis_of(layout, group[g]->index[k]);
            if (axis == layout->axes) continue;
            bool last =
                kind >> (g * TN_ISSUE_CUTS + (int)k) & 1 && layout->axis[axis].size % group[g]->edge[k] != 0;
            words[axes] = words_of(layout, axis, group[g]->edge[k], last);
            turn[axes] = layout->axis[axis].turn;
            skew[axes++] = layout->axis[axis].skew;
        }
    return tn_fullest_turned_bank(words, skew, turn, axes, layout->banks);
}

/* ---- skews ---- */

/* Cycles of all blocks of the tensor that its products ask for, rows that it takes to break ties. */
typedef struct {
    uint64_t cycles, depth;
} skew_price;

/* The first `a` words along one axis and the first `b` along another lie in different banks. */
static bool tells_apart(const tn_tensor_layout *layout, uint32_t one, uint64_t a, uint32_t other,
                        uint64_t b) {
    const uint64_t words[] = {a, b}, skew[] = {layout->axis[one].skew, layout->axis[other].skew},
                   turn[] = {layout->axis[one].turn, layout->axis[other].turn};
    if ((turn[0] && a > turn[0]) || (turn[1] && b > turn[1]))
        return tn_fullest_turned_bank(words, skew, turn, b > 1 ? 2 : 1, layout->banks) == 1;
    return tn_words_apart(words, skew, b > 1 ? 2 : 1, layout->banks);
}

static uint64_t depth_with(const tn_tensor_layout *layout, const uint64_t *words, uint32_t one, uint64_t a,
                           uint32_t other, uint64_t b) {
    uint64_t depth = tn_ceil_div(words[one], a);
    for (uint32_t k = 0; k < layout->axes; k++)
        if (k != one) depth *= k == other ? tn_ceil_div(words[k], b) : words[k];
    return depth;
}

/* Along which axis or axes words share rows: the fewest rows, of equal ones the last axes. False where no skews tell
 * the banks apart. */
static bool choose_rows(tn_tensor_layout *layout) {
    uint64_t words[TN_LAYOUT_AXES], banks = layout->banks;
    bool told = banks == 1 || layout->axes == 0;
    layout->depth = told ? 1 : UINT64_MAX;
    for (uint32_t k = 0; k < layout->axes; k++) {
        words[k] = tn_ceil_div(layout->axis[k].size, layout->axis[k].edge);
        layout->axis[k].divide = 1;
        if (told) layout->depth *= words[k];
    }
    if (told) return true;
    for (uint32_t one = layout->axes; one-- > 0;)
        for (uint32_t other = layout->axes; other-- > 0;)
            for (uint64_t a = banks; a > 1; a /= 2) {
                bool alone = one == other;
                if (alone != (a == banks)) continue;
                uint64_t depth = depth_with(layout, words, one, a, other, alone ? a : banks / a);
                if (depth >= layout->depth || !tells_apart(layout, one, a, other, banks / a)) continue;
                layout->depth = depth;
                for (uint32_t k = 0; k < layout->axes; k++) layout->axis[k].divide = 1;
                layout->axis[other].divide = banks / a;
                layout->axis[one].divide = a;
            }
    return layout->depth != UINT64_MAX;
}

/* With the skews that stand; of what costs more cycles than `most` no rows are sought. */
static skew_price price_skews(const tn_layout_search *search, uint32_t t, tn_tensor_layout *layout,
                              uint64_t most) {
    skew_price price = {.depth = UINT64_MAX};
    for (uint32_t i = 0; i < search->tensor[t].uses; i++) {
        const tn_searched_product *p = &search->product[search->tensor[t].use[i]];
        const tn_group_cut *c[GROUPS];
        tn_layout_search_cuts(p, c);
        uint64_t tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
        for (int side = 0; side < SIDES; side++) {
            if (p->tensor[side] != t) continue;
            const tn_group_cut *group[] = {tn_block_cut(p, side, 0, c[tn_cut_directions[side][0]]),
                                           tn_block_cut(p, side, 1, c[tn_cut_directions[side][1]])};
            price.cycles += tn_tensor_layout_phases(layout, group, 0) * tiles *
                            (side == RESULT ? 1 : c[REDUCTION]->blocks);
        }
        if (price.cycles > most) return price;
    }
    if (!choose_rows(layout)) return (skew_price){UINT64_MAX, UINT64_MAX};
    price.depth = layout->depth;
    return price;
}

static bool is_cheaper(skew_price a, skew_price b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.depth < b.depth;
}

/* Each element is a word in a bank of its own: which bank. Axis by axis, the skew under which its blocks take least,
 * of the powers of two and those above them. */
static void choose_skews(const tn_layout_search *search, uint32_t t, tn_tensor_layout *layout) {
    enum { PASSES = 3 };
    for (uint32_t k = 0; k < layout->axes; k++) layout->axis[k].skew = 1 % layout->banks;
    skew_price best = price_skews(search, t, layout, UINT64_MAX);
    for (int pass = 0; pass < PASSES; pass++) {
        bool better = false;
        for (uint32_t k = 0; k < layout->axes; k++) {
            uint64_t kept = layout->axis[k].skew;
            for (uint64_t skew = 0; skew < layout->banks; skew++) {
                bool near = (skew & (skew - 1)) == 0 || ((skew - 1) & (skew - 2)) == 0;
                if (!near) continue;
                layout->axis[k].skew = skew;
                skew_price price = price_skews(search, t, layout, best.cycles);
                if (!is_cheaper(price, best)) continue;
                best = price;
                kept = skew;
                better = true;
            }
            layout->axis[k].skew = kept;
        }
        if (!better) break;
    }
    choose_rows(layout);
}

/* ---- the answer ---- */

/* The layout of a tensor that stands for itself; skews of banks that no other wants are searched here, for what its products
 * are cut into in the end. */
static tn_status tensor_layout_tell(const tn_layout_search *search, uint32_t t, tn_arena *arena,
                                    tn_tensor_layout *out, tn_error *error) {
    const tn_searched_tensor *tensor = &search->tensor[t];
    const uint64_t one = 1;
    *out = (tn_tensor_layout){
        .axes = tensor->axes, .row_elements = one << tensor->row_log, .banks = one << tensor->bank_log};
    TN_TRY(TN_NEW(arena, tensor->axes, &out->axis, error));
    for (uint32_t i = 0; i < tensor->axes; i++) {
        size_t index = (size_t)t * search->indices + tensor->axis[i];
        out->axis[i] = (tn_layout_axis){.index = tensor->axis[i],
                                        .size = search->size[tensor->axis[i]],
                                        .edge = one << search->log[index],
                                        .skew = search->skew[index] % out->banks,
                                        .turn = search->turn[index]};
    }
    if (tensor->kind == TN_BANKS_FULL_SKEW && !tensor->demand.is_shared)
        choose_skews(search, t, out);
    else
        choose_rows(out);
    return TN_OK;
}

/* The blocks that the cut indices of a group fall into, and how many values the others have together. */
static tn_issued_group issued_group(const tn_layout_search *search, const tn_group_cut *cut,
                                    uint64_t *others) {
    tn_issued_group group = {.blocks = {1, 1}};
    *others *= cut->blocks;
    for (uint32_t k = 0; k < cut->indices; k++) {
        uint64_t size = search->size[cut->index[k]];
        group.blocks[k] = tn_ceil_div(size, cut->edge[k]);
        group.edge[k] = size % cut->edge[k] != 0;
        *others /= group.blocks[k];
    }
    return group;
}

/* Bit k: the array's end cuts the last block along the k-th of the group's edges, so that it is a block of its own kind. */
static int cut_kind(const tn_issued_group *group) {
    return group->edge[0] | group->edge[1] << 1;
}

/* Rows of the last block up to the last that is one of the array's. */
static uint64_t last_row(const tn_layout_search *search, const tn_group_cut *cut) {
    uint64_t row = 0;
    for (uint32_t k = 0; k < cut->indices; k++)
        row = row * cut->edge[k] + (search->size[cut->index[k]] - 1) % cut->edge[k];
    return row + 1;
}

/* The product as it is cut; tensors[search->tensors]. */
static void product_layout_tell(const tn_layout_search *search, const tn_searched_product *p,
                                const tn_tensor_layout *tensors, tn_product_layout *out) {
    const tn_group_cut *c[GROUPS];
    tn_issued_product *issued = &out->issued;
    uint64_t *phases[SIDES] = {issued->left, issued->right, issued->result}, worst[SIDES] = {1, 1, 1};
    *out = (tn_product_layout){0};
    tn_layout_search_cuts(p, c);
    for (int g = 0; g < GROUPS; g++) out->cut[g] = *c[g];
    out->tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
    out->terms = c[REDUCTION]->blocks;
    issued->other_tiles = p->batch;
    issued->other_groups = 1;
    issued->row = issued_group(search, c[ROWS], &issued->other_tiles);
    issued->column = issued_group(search, c[COLUMNS], &issued->other_tiles);
    issued->term = issued_group(search, c[REDUCTION], &issued->other_groups);
    issued->pass = p->pass;
    issued->vectors = c[ROWS]->blocks;
    issued->drained = last_row(search, c[ROWS]);
    const int cut[GROUPS] = {cut_kind(&issued->row), cut_kind(&issued->column), cut_kind(&issued->term)};
    for (int side = 0; side < SIDES; side++) {
        const int *direction = tn_cut_directions[side];
        const tn_group_cut *group[] = {tn_block_cut(p, side, 0, c[direction[0]]),
                                       tn_block_cut(p, side, 1, c[direction[1]])};
        const int differs = cut[direction[0]] | cut[direction[1]] << TN_ISSUE_CUTS;
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
            phases[side][kind] = (kind & ~differs)
                                     ? phases[side][kind & differs]
                                     : tn_tensor_layout_phases(&tensors[p->tensor[side]], group, kind);
            worst[side] = tn_greatest(worst[side], phases[side][kind]);
        }
    }
    out->read_cycles = tn_greatest(worst[LEFT], worst[RIGHT]);
    out->write_cycles = worst[RESULT];
}

/* Cuts that may take fewer cycles than the best so far: an issue takes at least one, and the pipeline fills. */
static tn_status best_cut_cycles(const tn_layout_search *search, const tn_tensor_layout *tensors,
                                 tn_searched_product *p, const tn_matmul *kernel, uint64_t *best,
                                 tn_error *error) {
    tn_cut_choice *row = &p->group[ROWS], *column = &p->group[COLUMNS], *term = &p->group[REDUCTION];
    const uint64_t fill = tn_matmul_fill_cycles(kernel);
    *best = UINT64_MAX;
    for (row->taken = 0; row->taken < row->count; row->taken++)
        for (column->taken = 0; column->taken < column->count; column->taken++)
            for (term->taken = 0; term->taken < term->count; term->taken++) {
                tn_product_layout cut;
                uint64_t cycles, issues = p->batch * row->cut[row->taken].blocks *
                                          column->cut[column->taken].blocks * term->cut[term->taken].blocks;
                if (p->pass == TN_PASS_OF_LANES && issues - 1 + fill >= *best) continue;
                product_layout_tell(search, p, tensors, &cut);
                TN_TRY(tn_issue_product_cycles(kernel, &cut.issued, &cycles, error));
                *best = tn_least(*best, cycles);
            }
    return TN_OK;
}

static tn_status tell(const tn_layout_search *search, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    TN_TRY(TN_NEW(arena, search->tensors, &layouts->tensor, error));
    TN_TRY(TN_NEW(arena, search->products, &layouts->product, error));
    for (uint32_t t = 0; t < search->tensors; t++) {
        uint32_t owner = search->tensor[t].stands_for;
        if (owner == t)
            TN_TRY(tensor_layout_tell(search, t, arena, &layouts->tensor[t], error));
        else
            layouts->tensor[t] = layouts->tensor[owner];
    }
    for (uint32_t i = 0; i < search->products; i++) {
        tn_product_layout *p = &layouts->product[i];
        product_layout_tell(search, &search->product[i], layouts->tensor, p);
        layouts->issue_cycles += p->tiles * p->terms * p->read_cycles;
        layouts->cycles += p->tiles * (p->terms * p->read_cycles +
                                       tn_greatest(p->read_cycles, p->write_cycles) - p->read_cycles);
    }
    return TN_OK;
}

/* Banks only where they gain: which skews there are is known in the end. */
static tn_status add_banks(tn_layout_search *search, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    tn_layouts banked = {
        .tensors = layouts->tensors, .products = layouts->products, .bound_cycles = layouts->bound_cycles};
    tn_layout_search_add_banks(search);
    TN_TRY(tell(search, arena, &banked, error));
    if (banked.cycles < layouts->cycles) *layouts = banked;
    return TN_OK;
}

tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          tn_layout_goal goal, const tn_layout_demand *demand, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error) {
    static const uint64_t issue_weights[] = {[TN_LEAST_CYCLES] = 1, [TN_LEAST_ISSUES] = 16};
    tn_layout_search search = {.program = program,
                               .edges = *edges,
                               .indices = program->indices,
                               .tensors = program->tensors,
                               .products = program->steps,
                               .size = program->index_size,
                               .wanted = tn_banking_kind(banking),
                               .issue_weight = issue_weights[goal]};
    tn_arena scratch = {0};
    tn_layout_search best = search;
    *layouts = (tn_layouts){.tensors = search.tensors, .products = search.products};
    tn_status status = tn_layout_search_read(&search, demand, &scratch, error);
    if (status == TN_OK) status = tn_layout_search_room(&best, &scratch, error);
    if (status == TN_OK) {
        tn_layout_search_open(&search);
        layouts->bound_cycles = tn_layout_search_cycles(&search);
        tn_layout_search_descend(&search, &best, search.issue_weight * layouts->bound_cycles);
        status = tell(&search, arena, layouts, error);
        if (status == TN_OK && banking == TN_BANKING_AUTO && layouts->cycles > layouts->bound_cycles)
            status = add_banks(&search, arena, layouts, error);
        layouts->exact = layouts->cycles == layouts->bound_cycles;
    }
    tn_arena_free(&scratch);
    return status;
}

static tn_status open_layouts_find_cycles(tn_layout_search *search, const tn_matmul *kernel,
                                          const tn_layout_demand *demand, tn_arena *arena, uint64_t *cycles,
                                          tn_error *error) {
    tn_tensor_layout *tensor;
    TN_TRY(tn_layout_search_read(search, demand, arena, error));
    TN_TRY(TN_NEW(arena, search->tensors, &tensor, error));
    tn_layout_search_share(search);
    for (uint32_t t = 0; t < search->tensors; t++)
        if (search->tensor[t].kind != TN_BANKS_OPEN)
            TN_TRY(tensor_layout_tell(search, t, arena, &tensor[t], error));
    for (uint32_t i = 0; i < search->products; i++)
        TN_TRY(best_cut_cycles(search, tensor, &search->product[i], kernel, &cycles[i], error));
    return TN_OK;
}

tn_status tn_open_layouts_cycles(const tn_program *program, const tn_matmul *kernel, tn_banking banking,
                                 const tn_layout_demand *demand, uint64_t *cycles, tn_error *error) {
    tn_layout_search search = {.program = program,
                               .edges = {kernel->rows, kernel->columns, kernel->reduction, kernel->systolic},
                               .indices = program->indices,
                               .tensors = program->tensors,
                               .products = program->steps,
                               .size = program->index_size,
                               .wanted = tn_banking_kind(banking)};
    tn_arena scratch = {0};
    tn_status status = open_layouts_find_cycles(&search, kernel, demand, &scratch, cycles, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_partial_layout(const tn_tensor_layout *whole, const tn_partial *partial, tn_arena *arena,
                            tn_tensor_layout *part, tn_error *error) {
    *part = *whole;
    part->depth = 1;
    TN_TRY(TN_NEW(arena, whole->axes, &part->axis, error));
    for (uint32_t k = 0; k < part->axes; k++) {
        tn_layout_axis *axis = &part->axis[k];
        *axis = whole->axis[k];
        if (axis->index == partial->index) axis->size = partial->kept;
        part->depth *= tn_ceil_div(tn_ceil_div(axis->size, axis->edge), axis->divide);
    }
    return TN_OK;
}

/* The problem of the whole layer over the part of the index, on layouts that stand. */
static tn_status partial_layout_find_cycles(tn_layout_search *search, const tn_layouts *layouts,
                                            const tn_partial *partial, const tn_matmul *kernel,
                                            tn_arena *arena, uint64_t *cycles, tn_error *error) {
    const tn_program *program = search->program;
    tn_tensor_layout *tensor;
    uint64_t *size;
    TN_TRY(TN_NEW(arena, program->indices, &size, error));
    TN_TRY(TN_NEW(arena, program->tensors, &tensor, error));
    memcpy(size, program->index_size, program->indices * sizeof *size);
    size[partial->index] = partial->kept;
    search->size = size;
    TN_TRY(tn_layout_search_read(search, NULL, arena, error));
    for (uint32_t t = 0; t < program->tensors; t++)
        TN_TRY(tn_partial_layout(&layouts->tensor[t], partial, arena, &tensor[t], error));
    return best_cut_cycles(search, tensor, &search->product[partial->step - program->step], kernel, cycles,
                           error);
}

tn_status tn_partial_product_cycles(const tn_program *program, const tn_layouts *layouts,
                                    const tn_partial *partial, const tn_matmul *kernel, uint64_t *cycles,
                                    tn_error *error) {
    tn_layout_search search = {.program = program,
                               .edges = {kernel->rows, kernel->columns, kernel->reduction, kernel->systolic},
                               .indices = program->indices,
                               .tensors = program->tensors,
                               .products = program->steps};
    tn_arena scratch = {0};
    tn_status status = partial_layout_find_cycles(&search, layouts, partial, kernel, &scratch, cycles, error);
    tn_arena_free(&scratch);
    return status;
}
