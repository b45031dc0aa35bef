#include "hardware/layouts.h"

#include "base/checked.h"
#include "hardware/layout_search.h"

#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

const char *const tn_layout_goal_names[] = {"cycles", "issues", NULL};
const char *const tn_banking_names[] = {"word", "rows", "skew", "auto", NULL};

uint64_t tn_power_above(uint64_t value) {
    uint64_t power = 1;
    while (power < value) power <<= 1;
    return power;
}

uint32_t tn_log_above(uint64_t value) {
    uint32_t log = 0;
    while ((uint64_t)1 << log < value) log++;
    return log;
}

bool tn_layout_is_box(const uint64_t *size, uint32_t axes, uint32_t log) {
    while (axes > 0 && log > 0) {
        uint64_t last = size[--axes];
        if (last % ((uint64_t)1 << log) == 0) return true;
        if ((last & (last - 1)) != 0) return false;
        log -= tn_log_above(last);
    }
    return log == 0;
}

/* ---- the problem of a program ---- */

static bool contains(const tn_program_tensor *of, uint32_t index) {
    for (uint32_t i = 0; i < of->indices.count; i++)
        if (of->indices.index[i] == index) return true;
    return false;
}

/* The core whose gradient a tensor is, if it is to lie as that does; else the tensor itself. */
static uint32_t lies_as(const tn_program *program, uint32_t tensor, const tn_layout_demand *demand) {
    const tn_program_tensor *of = &program->tensor[tensor];
    bool first = of->role == TN_ROLE_DX && demand->is_looked_up;
    if (!demand->is_updated || (of->role != TN_ROLE_CORE_GRADIENT && !first)) return tensor;
    for (uint32_t t = 0; t < tensor; t++) {
        const tn_program_tensor *core = &program->tensor[t];
        if (first ? core->role == TN_ROLE_X : core->role == TN_ROLE_CORE && core->core == of->core) return t;
    }
    return tensor;
}

static tn_status read_tensor(tn_layout_search *with, uint32_t t, const tn_layout_demand *demand,
                             tn_error *error) {
    const tn_program_tensor *from = &with->program->tensor[t];
    tn_searched_tensor *of = &with->tensor[t];
    if (demand) of->demand = demand[t];
    of->stands_for = lies_as(with->program, t, &of->demand);
    of->demand.is_shared = of->demand.is_shared && of->demand.has_row && from->indices.count > 0;
    for (uint32_t i = 0; i < from->indices.count; i++) {
        if (with->size[from->indices.index[i]] == 1) continue;
        if (of->axes == TN_LAYOUT_AXES)
            return tn_fail(error, TN_LIMIT, "a tensor has more than %d axes, too many to search a layout",
                           TN_LAYOUT_AXES);
        of->axis[of->axes++] = from->indices.index[i];
    }
    return TN_OK;
}

/* Of more cuts than are tried those of the fewest blocks; of equal ones the first. */
static void add_cut(tn_cut_choice *of, tn_group_cut cut) {
    uint32_t at = of->count;
    while (at > 0 && of->cut[at - 1].blocks > cut.blocks) at--;
    if (at == TN_CUTS_MOST) return;
    if (of->count < TN_CUTS_MOST) of->count++;
    memmove(&of->cut[at + 1], &of->cut[at], (of->count - 1 - at) * sizeof cut);
    of->cut[at] = cut;
}

/* The indices of a group, and how it may be cut: along one index, or along two where that gives fewer blocks
 * than any one does. */
static void read_cuts(const tn_layout_search *with, const uint32_t *index, uint32_t indices, uint64_t edge,
                      tn_cut_choice *of) {
    uint64_t all = 1, least = UINT64_MAX;
    of->count = 0;
    for (uint32_t i = 0; i < indices; i++) all *= with->size[index[i]];
    if (indices == 0 || edge == 1) {
        add_cut(of, (tn_group_cut){.blocks = all});
        return;
    }
    for (uint32_t i = 0; i < indices; i++) {
        uint64_t size = with->size[index[i]], blocks = all / size * tn_ceil_div(size, edge);
        add_cut(of, (tn_group_cut){1, {index[i]}, {edge}, blocks});
        least = tn_least(least, blocks);
    }
    for (uint32_t i = 0; i < indices; i++)
        for (uint32_t j = i + 1; j < indices; j++)
            for (uint64_t part = 2; part < edge; part *= 2) {
                uint64_t a = with->size[index[i]], b = with->size[index[j]];
                uint64_t blocks = all / a / b * tn_ceil_div(a, part) * tn_ceil_div(b, edge / part);
                if (edge % part == 0 && blocks < least)
                    add_cut(of, (tn_group_cut){2, {index[i], index[j]}, {part, edge / part}, blocks});
            }
}

static void read_product(tn_layout_search *with, uint32_t at) {
    const tn_program_step *step = &with->program->step[at];
    const tn_program_tensor *a = &with->program->tensor[step->a], *b = &with->program->tensor[step->b],
                            *out = &with->program->tensor[step->out];
    uint32_t index[GROUPS][TN_LAYOUT_AXES], count[GROUPS] = {0};
    tn_searched_product *p = &with->product[at];
    p->tensor[LEFT] = with->tensor[step->a].stands_for;
    p->tensor[RIGHT] = with->tensor[step->b].stands_for;
    p->tensor[RESULT] = with->tensor[step->out].stands_for;
    p->batch = 1;
    for (uint32_t i = 0; i < a->indices.count; i++) {
        uint32_t x = a->indices.index[i];
        bool in_b = contains(b, x);
        if (in_b && contains(out, x))
            p->batch *= with->size[x];
        else if (with->size[x] > 1)
            index[in_b ? REDUCTION : ROWS][count[in_b ? REDUCTION : ROWS]++] = x;
    }
    for (uint32_t i = 0; i < b->indices.count; i++) {
        uint32_t x = b->indices.index[i];
        if (!contains(a, x) && with->size[x] > 1) index[COLUMNS][count[COLUMNS]++] = x;
    }
    for (int g = 0; g < GROUPS; g++) read_cuts(with, index[g], count[g], with->edge[g], &p->group[g]);
}

/* The largest block along a group, as a power of two. */
static uint64_t longest(const tn_layout_search *with, const tn_cut_choice *of) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < of->count; i++) {
        uint64_t block = 1;
        for (uint32_t k = 0; k < of->cut[i].indices; k++)
            block *= tn_power_above(tn_least(of->cut[i].edge[k], with->size[of->cut[i].index[k]]));
        most = tn_greatest(most, block);
    }
    return most;
}

/* Gives the tensor room for a block of so many elements, if it has as many along a word's axes. */
static void widen(tn_layout_search *with, uint32_t t, uint64_t elements) {
    tn_searched_tensor *of = &with->tensor[t];
    uint32_t longest_log[TN_WORD_AXES] = {0}, room = 0;
    for (uint32_t i = 0; i < of->axes; i++) {
        uint32_t log = tn_log_above(with->size[of->axis[i]]);
        for (int k = 0; k < TN_WORD_AXES; k++)
            if (log > longest_log[k]) {
                uint32_t kept = longest_log[k];
                longest_log[k] = log;
                log = kept;
            }
    }
    for (int k = 0; k < TN_WORD_AXES; k++) room += longest_log[k];
    uint32_t log = tn_log_above(elements) < room ? tn_log_above(elements) : room;
    if (log > of->least_log) of->least_log = log;
    if (of->least_log > with->widest_log) with->widest_log = of->least_log;
}

static tn_status list_uses(tn_layout_search *with, tn_arena *arena, tn_error *error) {
    for (uint32_t t = 0; t < with->tensors; t++) {
        tn_searched_tensor *of = &with->tensor[t];
        TN_TRY(tn_arena_alloc(arena, with->products, sizeof *of->use, &of->use, error));
        for (uint32_t i = 0; i < with->products; i++)
            for (int side = 0; side < SIDES; side++)
                if (with->product[i].tensor[side] == t && (of->uses == 0 || of->use[of->uses - 1] != i))
                    of->use[of->uses++] = i;
    }
    for (uint32_t i = 0; i < with->products; i++) {
        const tn_searched_product *p = &with->product[i];
        uint64_t edge[GROUPS];
        for (int g = 0; g < GROUPS; g++) edge[g] = longest(with, &p->group[g]);
        for (int side = 0; side < SIDES; side++) {
            widen(with, p->tensor[side], edge[tn_cut_directions[side][0]] * edge[tn_cut_directions[side][1]]);
        }
    }
    return TN_OK;
}

static tn_status make_room(tn_layout_search *with, tn_arena *arena, tn_error *error) {
    size_t logs = (size_t)with->tensors * with->indices;
    TN_TRY(tn_arena_alloc(arena, with->tensors, sizeof *with->tensor, &with->tensor, error));
    TN_TRY(tn_arena_alloc(arena, with->products, sizeof *with->product, &with->product, error));
    TN_TRY(tn_arena_alloc(arena, logs, sizeof *with->log, &with->log, error));
    return tn_arena_alloc(arena, logs, sizeof *with->skew, &with->skew, error);
}

static tn_status read_program(tn_layout_search *with, const tn_layout_demand *demand, tn_arena *arena,
                              tn_error *error) {
    TN_TRY(make_room(with, arena, error));
    for (uint32_t t = 0; t < with->tensors; t++) TN_TRY(read_tensor(with, t, demand, error));
    for (uint32_t i = 0; i < with->products; i++) read_product(with, i);
    return list_uses(with, arena, error);
}

/* ---- blocks of a laid tensor ---- */

/* Words along an index: of its last block, or the most that another one touches. */
static uint64_t words_of(const tn_tensor_layout *of, uint32_t axis, uint64_t edge, bool last) {
    uint64_t size = of->size[axis], word = of->edge[axis];
    if (!last) return tn_words_of_block(size, edge, tn_log_above(word));
    uint64_t from = size / edge * edge;
    return (size - 1) / word - from / word + 1;
}

static uint32_t axis_of(const tn_tensor_layout *of, uint32_t index) {
    uint32_t axis = 0;
    while (axis < of->axes && of->index[axis] != index) axis++;
    return axis;
}

/* Cycles of a block that is cut along both groups; bit k of `kind`: it is the last along the k-th of their edges. */
static uint64_t phases_of(const tn_tensor_layout *of, const tn_group_cut *const *group, int kind) {
    uint64_t words[2 * TN_ISSUE_CUTS], skew[2 * TN_ISSUE_CUTS];
    uint32_t axes = 0;
    for (int g = 0; g < 2; g++)
        for (uint32_t k = 0; k < group[g]->indices; k++) {
            uint32_t axis = axis_of(of, group[g]->index[k]);
            if (axis == of->axes) continue;
            bool last = kind >> (g * TN_ISSUE_CUTS + (int)k) & 1 && of->size[axis] % group[g]->edge[k] != 0;
            words[axes] = words_of(of, axis, group[g]->edge[k], last);
            skew[axes++] = of->skew[axis];
        }
    return tn_fullest_bank(words, skew, axes, of->banks);
}

/* ---- skews ---- */

/* Cycles of all blocks of the tensor that its products ask for, rows that it takes to break ties. */
typedef struct {
    uint64_t cycles, depth;
} skew_price;

/* The first `a` words along one axis and the first `b` along another lie in different banks. */
static bool tells_apart(const tn_tensor_layout *of, uint32_t one, uint64_t a, uint32_t other, uint64_t b) {
    const uint64_t words[] = {a, b}, skew[] = {of->skew[one], of->skew[other]};
    return tn_words_apart(words, skew, b > 1 ? 2 : 1, of->banks);
}

static uint64_t depth_with(const tn_tensor_layout *of, const uint64_t *words, uint32_t one, uint64_t a,
                           uint32_t other, uint64_t b) {
    uint64_t depth = tn_ceil_div(words[one], a);
    for (uint32_t k = 0; k < of->axes; k++)
        if (k != one) depth *= k == other ? tn_ceil_div(words[k], b) : words[k];
    return depth;
}

/* Along which axis or axes words share rows: the fewest rows, of equal ones the last axes. False where no skews tell
 * the banks apart. */
static bool choose_rows(tn_tensor_layout *of) {
    uint64_t words[TN_LAYOUT_AXES], banks = of->banks;
    bool told = banks == 1 || of->axes == 0;
    of->depth = told ? 1 : UINT64_MAX;
    for (uint32_t k = 0; k < of->axes; k++) {
        words[k] = tn_ceil_div(of->size[k], of->edge[k]);
        of->divide[k] = 1;
        if (told) of->depth *= words[k];
    }
    if (told) return true;
    for (uint32_t one = of->axes; one-- > 0;)
        for (uint32_t other = of->axes; other-- > 0;)
            for (uint64_t a = banks; a > 1; a /= 2) {
                bool alone = one == other;
                if (alone != (a == banks)) continue;
                uint64_t depth = depth_with(of, words, one, a, other, alone ? a : banks / a);
                if (depth >= of->depth || !tells_apart(of, one, a, other, banks / a)) continue;
                of->depth = depth;
                for (uint32_t k = 0; k < of->axes; k++) of->divide[k] = 1;
                of->divide[other] = banks / a;
                of->divide[one] = a;
            }
    return of->depth != UINT64_MAX;
}

/* With the skews that stand; of what costs more cycles than `most` no rows are sought. */
static skew_price price_skews(const tn_layout_search *with, uint32_t t, tn_tensor_layout *of, uint64_t most) {
    skew_price price = {.depth = UINT64_MAX};
    for (uint32_t i = 0; i < with->tensor[t].uses; i++) {
        const tn_searched_product *p = &with->product[with->tensor[t].use[i]];
        const tn_group_cut *c[GROUPS];
        tn_layout_search_cuts(p, c);
        uint64_t tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
        for (int side = 0; side < SIDES; side++) {
            if (p->tensor[side] != t) continue;
            const tn_group_cut *group[] = {c[tn_cut_directions[side][0]], c[tn_cut_directions[side][1]]};
            price.cycles += phases_of(of, group, 0) * tiles * (side == RESULT ? 1 : c[REDUCTION]->blocks);
        }
        if (price.cycles > most) return price;
    }
    if (!choose_rows(of)) return (skew_price){UINT64_MAX, UINT64_MAX};
    price.depth = of->depth;
    return price;
}

static bool is_cheaper(skew_price a, skew_price b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.depth < b.depth;
}

/* Each element is a word in a bank of its own: which bank. Axis by axis, the skew under which its blocks take least,
 * of the powers of two and those above them. */
static void choose_skews(const tn_layout_search *with, uint32_t t, tn_tensor_layout *of) {
    enum { PASSES = 3 };
    for (uint32_t k = 0; k < of->axes; k++) of->skew[k] = 1 % of->banks;
    skew_price best = price_skews(with, t, of, UINT64_MAX);
    for (int pass = 0; pass < PASSES; pass++) {
        bool better = false;
        for (uint32_t k = 0; k < of->axes; k++) {
            uint64_t kept = of->skew[k];
            for (uint64_t skew = 0; skew < of->banks; skew++) {
                bool near = (skew & (skew - 1)) == 0 || ((skew - 1) & (skew - 2)) == 0;
                if (!near) continue;
                of->skew[k] = skew;
                skew_price price = price_skews(with, t, of, best.cycles);
                if (!is_cheaper(price, best)) continue;
                best = price;
                kept = skew;
                better = true;
            }
            of->skew[k] = kept;
        }
        if (!better) break;
    }
    choose_rows(of);
}

/* ---- the answer ---- */

static void tell_tensor(const tn_layout_search *with, uint32_t t, tn_tensor_layout *out) {
    const tn_searched_tensor *of = &with->tensor[t];
    const uint64_t one = 1;
    *out = (tn_tensor_layout){
        .axes = of->axes, .row_elements = one << of->row_log, .banks = one << of->bank_log};
    for (uint32_t i = 0; i < of->axes; i++) {
        size_t at = (size_t)t * with->indices + of->axis[i];
        out->index[i] = of->axis[i];
        out->size[i] = with->size[of->axis[i]];
        out->edge[i] = one << with->log[at];
        out->skew[i] = with->skew[at] % out->banks;
    }
    if (of->kind == TN_BANKS_FULL_SKEW && !of->demand.is_shared)
        choose_skews(with, t, out);
    else
        choose_rows(out);
}

/* The blocks that the cut indices of a group fall into, and how many values the others have together. */
static tn_issued_group issued_group(const tn_layout_search *with, const tn_group_cut *cut, uint64_t *others) {
    tn_issued_group group = {.blocks = {1, 1}};
    *others *= cut->blocks;
    for (uint32_t k = 0; k < cut->indices; k++) {
        uint64_t size = with->size[cut->index[k]];
        group.blocks[k] = tn_ceil_div(size, cut->edge[k]);
        group.edge[k] = size % cut->edge[k] != 0;
        *others /= group.blocks[k];
    }
    return group;
}

static void tell_product(const tn_layout_search *with, const tn_searched_product *p,
                         const tn_tensor_layout *tensors, tn_product_layout *out) {
    const tn_group_cut *c[GROUPS];
    tn_issued_product *issued = &out->issued;
    uint64_t *phases[SIDES] = {issued->left, issued->right, issued->result}, worst[SIDES] = {1, 1, 1};
    tn_layout_search_cuts(p, c);
    for (int g = 0; g < GROUPS; g++) out->cut[g] = *c[g];
    out->tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
    out->terms = c[REDUCTION]->blocks;
    issued->other_tiles = p->batch;
    issued->other_groups = 1;
    issued->row = issued_group(with, c[ROWS], &issued->other_tiles);
    issued->column = issued_group(with, c[COLUMNS], &issued->other_tiles);
    issued->term = issued_group(with, c[REDUCTION], &issued->other_groups);
    for (int side = 0; side < SIDES; side++) {
        const tn_group_cut *group[] = {c[tn_cut_directions[side][0]], c[tn_cut_directions[side][1]]};
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
            phases[side][kind] = phases_of(&tensors[p->tensor[side]], group, kind);
            worst[side] = tn_greatest(worst[side], phases[side][kind]);
        }
    }
    out->read_cycles = tn_greatest(worst[LEFT], worst[RIGHT]);
    out->write_cycles = worst[RESULT];
}

static tn_status tell(const tn_layout_search *with, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, with->tensors, sizeof *layouts->tensor, &layouts->tensor, error));
    TN_TRY(tn_arena_alloc(arena, with->products, sizeof *layouts->product, &layouts->product, error));
    for (uint32_t t = 0; t < with->tensors; t++) {
        uint32_t of = with->tensor[t].stands_for;
        if (of == t)
            tell_tensor(with, t, &layouts->tensor[t]);
        else
            layouts->tensor[t] = layouts->tensor[of];
    }
    for (uint32_t i = 0; i < with->products; i++) {
        tn_product_layout *p = &layouts->product[i];
        tell_product(with, &with->product[i], layouts->tensor, p);
        layouts->issue_cycles += p->tiles * p->terms * p->read_cycles;
        layouts->cycles += p->tiles * (p->terms * p->read_cycles +
                                       tn_greatest(p->read_cycles, p->write_cycles) - p->read_cycles);
    }
    return TN_OK;
}

/* Banks only where they gain: which skews there are is known in the end. */
static tn_status add_banks(tn_layout_search *with, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    tn_layouts banked = {
        .tensors = layouts->tensors, .products = layouts->products, .bound_cycles = layouts->bound_cycles};
    tn_layout_search_add_banks(with);
    TN_TRY(tell(with, arena, &banked, error));
    if (banked.cycles < layouts->cycles) *layouts = banked;
    return TN_OK;
}

tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          tn_layout_goal goal, const tn_layout_demand *demand, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error) {
    static const tn_bank_kind kinds[] = {[TN_BANKING_SKEW] = TN_BANKS_FULL_SKEW,
                                         [TN_BANKING_WORD] = TN_BANKS_ONE_WORD,
                                         [TN_BANKING_ROWS] = TN_BANKS_ROWS,
                                         [TN_BANKING_AUTO] = TN_BANKS_ONE_WORD};
    static const uint64_t issue_weights[] = {[TN_LEAST_CYCLES] = 1, [TN_LEAST_ISSUES] = 16};
    tn_layout_search with = {.program = program,
                             .edge = {edges->rows, edges->columns, edges->reduction},
                             .indices = program->indices,
                             .tensors = program->tensors,
                             .products = program->steps,
                             .size = program->index_size,
                             .wanted = kinds[banking],
                             .issue_weight = issue_weights[goal]};
    tn_arena scratch = {0};
    tn_layout_search best = with;
    *layouts = (tn_layouts){.tensors = with.tensors, .products = with.products};
    tn_status status = read_program(&with, demand, &scratch, error);
    if (status == TN_OK) status = make_room(&best, &scratch, error);
    if (status == TN_OK) {
        tn_layout_search_open(&with);
        layouts->bound_cycles = tn_layout_search_cycles(&with);
        tn_layout_search_descend(&with, &best, with.issue_weight * layouts->bound_cycles);
        status = tell(&with, arena, layouts, error);
        if (status == TN_OK && banking == TN_BANKING_AUTO && layouts->cycles > layouts->bound_cycles)
            status = add_banks(&with, arena, layouts, error);
        layouts->exact = layouts->cycles == layouts->bound_cycles;
    }
    tn_arena_free(&scratch);
    return status;
}
