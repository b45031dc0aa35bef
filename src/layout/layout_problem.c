#include "layout/layout_problem.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"

#include <stddef.h>
#include <string.h>

const char *const tn_layout_goal_names[] = {"cycles", "issues", NULL};

/* The least power of two that is not below `value`, of 1 to 2^63. */
static uint64_t power_above(uint64_t value) {
    uint64_t power = 1;
    while (power < value) power <<= 1;
    return power;
}

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

const int tn_cut_directions[TN_OF_ALL][2] = {
    [LEFT] = {ROWS, REDUCTION}, [RIGHT] = {REDUCTION, COLUMNS}, [RESULT] = {ROWS, COLUMNS}};

const tn_group_cut *tn_block_cut(const tn_searched_product *p, int side, int direction,
                                 const tn_group_cut *cut) {
    static const tn_group_cut one = {.blocks = 1};
    const int group = tn_cut_directions[side][direction];
    const bool rows = (p->pass == TN_PASS_FORWARD && side == RIGHT && group == REDUCTION) ||
                      (p->pass == TN_PASS_SIDEWAYS && side == RIGHT && group == COLUMNS) ||
                      (p->pass == TN_PASS_RESTS && side == RESULT && group == ROWS);
    return rows ? &one : cut;
}

void tn_layout_search_cuts(const tn_searched_product *p, const tn_group_cut **c) {
    for (int g = 0; g < GROUPS; g++) c[g] = &p->group[g].cut[p->group[g].taken];
}

static bool contains(const tn_program_tensor *tensor, uint32_t index) {
    for (uint32_t i = 0; i < tensor->indices.count; i++)
        if (tensor->indices.index[i] == index) return true;
    return false;
}

/* The core whose gradient a tensor is, if it is to lie as that does; else the tensor itself. */
static uint32_t lies_as(const tn_program *program, uint32_t tensor, const tn_layout_demand *demand) {
    const tn_program_tensor *program_tensor = &program->tensor[tensor];
    bool first = program_tensor->role == TN_ROLE_DX && demand->is_looked_up;
    if (!demand->is_updated || (program_tensor->role != TN_ROLE_CORE_GRADIENT && !first)) return tensor;
    for (uint32_t t = 0; t < tensor; t++) {
        const tn_program_tensor *core = &program->tensor[t];
        if (first ? core->role == TN_ROLE_X
                  : core->role == TN_ROLE_CORE && core->core == program_tensor->core)
            return t;
    }
    return tensor;
}

static tn_status read_tensor(tn_layout_search *search, uint32_t t, const tn_layout_demand *demand,
                             tn_error *error) {
    const tn_program_tensor *source = &search->program->tensor[t];
    tn_searched_tensor *tensor = &search->tensor[t];
    if (demand) tensor->demand = demand[t];
    tensor->stands_for = lies_as(search->program, t, &tensor->demand);
    tensor->demand.is_shared =
        tensor->demand.is_shared && tensor->demand.has_row && source->indices.count > 0;
    for (uint32_t i = 0; i < source->indices.count; i++) {
        if (search->size[source->indices.index[i]] == 1) continue;
        if (tensor->axes == TN_LAYOUT_AXES)
            return tn_fail(error, TN_LIMIT, "a tensor has more than %d axes, too many to search a layout",
                           TN_LAYOUT_AXES);
        tensor->axis[tensor->axes++] = source->indices.index[i];
    }
    return TN_OK;
}

/* Of more cuts than are tried those of the fewest blocks; of equal ones the first. */
static void add_cut(tn_cut_choice *choice, tn_group_cut cut) {
    uint32_t index = choice->count;
    while (index > 0 && choice->cut[index - 1].blocks > cut.blocks) index--;
    if (index == TN_CUTS_MOST) return;
    if (choice->count < TN_CUTS_MOST) choice->count++;
    memmove(&choice->cut[index + 1], &choice->cut[index], (choice->count - 1 - index) * sizeof cut);
    choice->cut[index] = cut;
}

/* The indices of a group, and how it may be cut: along one index, or along two where that gives fewer blocks
 * than any one does. */
static void read_cuts(const tn_layout_search *search, const uint32_t *index, uint32_t indices, uint64_t edge,
                      tn_cut_choice *choice) {
    uint64_t all = 1, least = UINT64_MAX;
    choice->count = 0;
    for (uint32_t i = 0; i < indices; i++) all *= search->size[index[i]];
    if (indices == 0 || edge == 1) {
        add_cut(choice, (tn_group_cut){.blocks = all});
        return;
    }
    for (uint32_t i = 0; i < indices; i++) {
        uint64_t size = search->size[index[i]], blocks = all / size * tn_ceil_div(size, edge);
        add_cut(choice, (tn_group_cut){1, {index[i]}, {edge}, blocks});
        least = tn_least(least, blocks);
    }
    for (uint32_t i = 0; i < indices; i++)
        for (uint32_t j = i + 1; j < indices; j++)
            for (uint64_t part = 2; part < edge; part *= 2) {
                uint64_t a = search->size[index[i]], b = search->size[index[j]];
                uint64_t blocks = all / a / b * tn_ceil_div(a, part) * tn_ceil_div(b, edge / part);
                if (edge % part == 0 && blocks < least)
                    add_cut(choice, (tn_group_cut){2, {index[i], index[j]}, {part, edge / part}, blocks});
            }
}

static void read_product(tn_layout_search *search, uint32_t place) {
    const tn_program_step *step = &search->program->step[place];
    const tn_program_tensor *a = &search->program->tensor[step->a], *b = &search->program->tensor[step->b],
                            *out = &search->program->tensor[step->out];
    uint32_t index[GROUPS][TN_LAYOUT_AXES], count[GROUPS] = {0};
    tn_searched_product *p = &search->product[place];
    p->tensor[LEFT] = search->tensor[step->a].stands_for;
    p->tensor[RIGHT] = search->tensor[step->b].stands_for;
    p->tensor[RESULT] = search->tensor[step->out].stands_for;
    p->batch = 1;
    p->pass = search->edges.systolic ? tn_array_pass_of(step->phase) : TN_PASS_OF_LANES;
    tn_array_edges(search->edges.rows, search->edges.columns, p->pass, p->edge);
    p->cells[0] = search->edges.rows;
    p->cells[1] = search->edges.columns;
    if (p->pass == TN_PASS_OF_LANES) p->edge[REDUCTION] = search->edges.reduction;
    for (uint32_t i = 0; i < a->indices.count; i++) {
        uint32_t x = a->indices.index[i];
        bool in_b = contains(b, x);
        if (in_b && contains(out, x))
            p->batch *= search->size[x];
        else if (search->size[x] > 1)
            index[in_b ? REDUCTION : ROWS][count[in_b ? REDUCTION : ROWS]++] = x;
    }
    for (uint32_t i = 0; i < b->indices.count; i++) {
        uint32_t x = b->indices.index[i];
        if (!contains(a, x) && search->size[x] > 1) index[COLUMNS][count[COLUMNS]++] = x;
    }
    for (int g = 0; g < GROUPS; g++) read_cuts(search, index[g], count[g], p->edge[g], &p->group[g]);
}

/* The largest block along a group, as a power of two. */
static uint64_t longest(const tn_layout_search *search, const tn_cut_choice *choice) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < choice->count; i++) {
        uint64_t block = 1;
        for (uint32_t k = 0; k < choice->cut[i].indices; k++)
            block *= power_above(tn_least(choice->cut[i].edge[k], search->size[choice->cut[i].index[k]]));
        most = tn_greatest(most, block);
    }
    return most;
}

/* Gives the tensor room for a block of so many elements, if it has as many along a word's axes. */
static void widen(tn_layout_search *search, uint32_t t, uint64_t elements) {
    tn_searched_tensor *tensor = &search->tensor[t];
    uint32_t longest_log[TN_WORD_AXES] = {0}, room = 0;
    for (uint32_t i = 0; i < tensor->axes; i++) {
        uint32_t log = tn_log_above(search->size[tensor->axis[i]]);
        for (int k = 0; k < TN_WORD_AXES; k++)
            if (log > longest_log[k]) {
                uint32_t kept = longest_log[k];
                longest_log[k] = log;
                log = kept;
            }
    }
    for (int k = 0; k < TN_WORD_AXES; k++) room += longest_log[k];
    uint32_t log = tn_log_above(elements) < room ? tn_log_above(elements) : room;
    if (log > tensor->least_log) tensor->least_log = log;
    if (tensor->least_log > search->widest_log) search->widest_log = tensor->least_log;
}

static tn_status list_uses(tn_layout_search *search, tn_arena *arena, tn_error *error) {
    for (uint32_t t = 0; t < search->tensors; t++) {
        tn_searched_tensor *tensor = &search->tensor[t];
        TN_TRY(TN_NEW(arena, search->products, &tensor->use, error));
        for (uint32_t i = 0; i < search->products; i++)
            for (int side = 0; side < SIDES; side++)
                if (search->product[i].tensor[side] == t &&
                    (tensor->uses == 0 || tensor->use[tensor->uses - 1] != i))
                    tensor->use[tensor->uses++] = i;
    }
    for (uint32_t i = 0; i < search->products; i++) {
        const tn_searched_product *p = &search->product[i];
        uint64_t edge[GROUPS];
        for (int g = 0; g < GROUPS; g++) edge[g] = longest(search, &p->group[g]);
        for (int side = 0; side < SIDES; side++) {
            uint64_t elements = 1;
            for (int direction = 0; direction < 2; direction++)
                if (tn_block_cut(p, side, direction, NULL) == NULL)
                    elements *= edge[tn_cut_directions[side][direction]];
            widen(search, p->tensor[side], elements);
        }
    }
    return TN_OK;
}

tn_status tn_layout_search_room(tn_layout_search *layout_search, tn_arena *arena, tn_error *error) {
    size_t logs = (size_t)layout_search->tensors * layout_search->indices;
    TN_TRY(TN_NEW(arena, layout_search->tensors, &layout_search->tensor, error));
    TN_TRY(TN_NEW(arena, layout_search->products, &layout_search->product, error));
    TN_TRY(TN_NEW(arena, logs, &layout_search->log, error));
    TN_TRY(TN_NEW(arena, logs, &layout_search->turn, error));
    return TN_NEW(arena, logs, &layout_search->skew, error);
}

tn_status tn_layout_search_read(tn_layout_search *layout_search, const tn_layout_demand *demand,
                                tn_arena *arena, tn_error *error) {
    TN_TRY(tn_layout_search_room(layout_search, arena, error));
    for (uint32_t t = 0; t < layout_search->tensors; t++)
        TN_TRY(read_tensor(layout_search, t, demand, error));
    for (uint32_t i = 0; i < layout_search->products; i++) read_product(layout_search, i);
    return list_uses(layout_search, arena, error);
}
