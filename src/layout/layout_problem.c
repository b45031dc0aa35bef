#include "layout/layout_problem.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "layout/fullest_bank.h"

#include <stddef.h>
#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

const int tn_cut_directions[TN_OF_ALL][2] = {
    [LEFT] = {ROWS, REDUCTION}, [RIGHT] = {REDUCTION, COLUMNS}, [RESULT] = {ROWS, COLUMNS}};

static bool contains(const tn_program_tensor *tensor, uint32_t index) {
    for (uint32_t i = 0; i < tensor->indices.count; i++)
        if (tensor->indices.index[i] == index) return true;
    return false;
}

/* ---- tensors ---- */

uint32_t tn_searched_stands_for(const tn_layout_problem *problem, uint32_t tensor,
                                const tn_layout_demand *demand) {
    const tn_searched_tensor *own = &problem->tensor[tensor];
    return demand->is_updated && (!own->is_first || demand->is_looked_up) ? own->gradient_of : tensor;
}

bool tn_searched_is_shared(const tn_layout_problem *problem, uint32_t tensor,
                           const tn_layout_demand *demand) {
    return demand->is_shared && demand->has_row && problem->program->tensor[tensor].indices.count > 0;
}

uint32_t tn_gradient_of(const tn_program *program, uint32_t tensor) {
    const tn_program_tensor *own = &program->tensor[tensor];
    for (uint32_t t = 0; t < tensor; t++) {
        const tn_program_tensor *other = &program->tensor[t];
        if (own->role == TN_ROLE_DX && other->role == TN_ROLE_X) return t;
        if (own->role == TN_ROLE_CORE_GRADIENT && other->role == TN_ROLE_CORE && other->core == own->core)
            return t;
    }
    return tensor;
}

/* Of as many axes as a word has, the longest. */
static uint32_t room_log(const uint64_t *size, const tn_searched_tensor *tensor) {
    uint32_t longest[TN_WORD_AXES] = {0}, room = 0;
    for (uint32_t i = 0; i < tensor->axes; i++) {
        uint32_t log = tn_log_above(size[tensor->axis[i]]);
        for (int k = 0; k < TN_WORD_AXES; k++)
            if (log > longest[k]) {
                uint32_t kept = longest[k];
                longest[k] = log;
                log = kept;
            }
    }
    for (int k = 0; k < TN_WORD_AXES; k++) room += longest[k];
    return room;
}

static tn_status read_tensor(const tn_program *program, uint32_t t, tn_arena *arena,
                             tn_searched_tensor *tensor, tn_error *error) {
    const tn_program_tensor *source = &program->tensor[t];
    uint32_t *axis;
    *tensor = (tn_searched_tensor){.gradient_of = tn_gradient_of(program, t),
                                   .is_first = source->role == TN_ROLE_DX};
    TN_TRY(TN_NEW(arena, source->indices.count, &axis, error));
    for (uint32_t i = 0; i < source->indices.count; i++)
        if (program->index_size[source->indices.index[i]] > 1)
            axis[tensor->axes++] = source->indices.index[i];
    if (tensor->axes > TN_LAYOUT_AXES)
        return tn_fail(error, TN_LIMIT, "a tensor has more than %d axes, too many to search a layout",
                       TN_LAYOUT_AXES);
    tensor->axis = axis;
    tensor->room_log = room_log(program->index_size, tensor);
    return TN_OK;
}

/* ---- products ---- */

/* The cuts of a group as they are listed. */
typedef struct {
    uint32_t count;
    tn_group_cut cut[TN_CUTS_MOST];
} cut_list;

/* Of more cuts than are tried those of the fewest blocks; of equal ones the first. */
static void add_cut(cut_list *list, tn_group_cut cut) {
    uint32_t index = list->count;
    while (index > 0 && list->cut[index - 1].blocks > cut.blocks) index--;
    if (index == TN_CUTS_MOST) return;
    if (list->count < TN_CUTS_MOST) list->count++;
    memmove(&list->cut[index + 1], &list->cut[index], (list->count - 1 - index) * sizeof cut);
    list->cut[index] = cut;
}

/* The indices of a group, and how it may be cut: along one index, or along two where that gives fewer blocks
 * than any one does. */
static void list_cuts(const uint64_t *size, const uint32_t *index, uint32_t indices, uint64_t edge,
                      cut_list *list) {
    uint64_t all = 1, least = UINT64_MAX;
    list->count = 0;
    for (uint32_t i = 0; i < indices; i++) all *= size[index[i]];
    if (indices == 0 || edge == 1) {
        add_cut(list, (tn_group_cut){.blocks = all});
        return;
    }
    for (uint32_t i = 0; i < indices; i++) {
        uint64_t blocks = all / size[index[i]] * tn_ceil_div(size[index[i]], edge);
        add_cut(list, (tn_group_cut){1, {index[i]}, {edge}, blocks});
        least = tn_least(least, blocks);
    }
    for (uint32_t i = 0; i < indices; i++)
        for (uint32_t j = i + 1; j < indices; j++)
            for (uint64_t part = 2; part < edge; part *= 2) {
                uint64_t a = size[index[i]], b = size[index[j]];
                uint64_t blocks = all / a / b * tn_ceil_div(a, part) * tn_ceil_div(b, edge / part);
                if (edge % part == 0 && blocks < least)
                    add_cut(list, (tn_group_cut){2, {index[i], index[j]}, {part, edge / part}, blocks});
            }
}

/* The largest block along a group, as a power of two. */
static uint32_t longest_log(const uint64_t *size, const cut_list *list) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t log = 0;
        for (uint32_t k = 0; k < list->cut[i].indices; k++)
            log += tn_log_above(tn_least(list->cut[i].edge[k], size[list->cut[i].index[k]]));
        if (log > most) most = log;
    }
    return most;
}

/* The indices that cuts of the group go along, each once. */
static uint32_t list_cut_indices(const uint64_t *size, const cut_list *list, tn_cut_index *cut) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < list->cut[i].indices; k++) {
            const uint32_t index = list->cut[i].index[k];
            uint32_t at = 0;
            while (at < count && cut[at].index != index) at++;
            if (at == count) cut[count++] = (tn_cut_index){.index = index};
            while (tn_words_of_block(size[index], list->cut[i].edge[k], cut[at].whole_log) > 1)
                cut[at].whole_log++;
        }
    return count;
}

/* Lists the indices of each group of the product; returns the product of those that are in all three tensors. */
static uint64_t list_groups(const tn_program *program, const uint64_t *size, const tn_program_step *step,
                            uint32_t index[GROUPS][TN_LAYOUT_AXES], uint32_t count[GROUPS]) {
    const tn_program_tensor *a = &program->tensor[step->a], *b = &program->tensor[step->b],
                            *out = &program->tensor[step->out];
    uint64_t batch = 1;
    for (uint32_t i = 0; i < a->indices.count; i++) {
        const uint32_t x = a->indices.index[i];
        const bool in_b = contains(b, x);
        if (in_b && contains(out, x))
            batch *= size[x];
        else if (size[x] > 1)
            index[in_b ? REDUCTION : ROWS][count[in_b ? REDUCTION : ROWS]++] = x;
    }
    for (uint32_t i = 0; i < b->indices.count; i++) {
        const uint32_t x = b->indices.index[i];
        if (!contains(a, x) && size[x] > 1) index[COLUMNS][count[COLUMNS]++] = x;
    }
    return batch;
}

/* Whether the operand's blocks take one row of a group, however it is cut. */
static bool takes_rows(tn_array_pass pass, int side, int group) {
    return (pass == TN_PASS_FORWARD && side == RIGHT && group == REDUCTION) ||
           (pass == TN_PASS_SIDEWAYS && side == RIGHT && group == COLUMNS) ||
           (pass == TN_PASS_RESTS && side == RESULT && group == ROWS);
}

/* What its blocks are of every cut. */
static tn_status read_operand(tn_searched_product *product, int side, const uint64_t *size,
                              const cut_list *list, tn_arena *arena, tn_error *error) {
    static const tn_group_cut rows[TN_CUTS_MOST] = {{.blocks = 1}, {.blocks = 1}, {.blocks = 1},
                                                    {.blocks = 1}, {.blocks = 1}, {.blocks = 1},
                                                    {.blocks = 1}, {.blocks = 1}};
    tn_searched_operand *operand = &product->operand[side];
    tn_cut_index found[2 * TN_CUTS_MOST * TN_ISSUE_CUTS], *index;
    for (int k = 0; k < 2; k++) {
        const int group = tn_cut_directions[side][k];
        operand->block[k] = takes_rows(product->pass, side, group) ? rows : product->group[group].cut;
        if (operand->block[k] == rows) continue;
        operand->block_log += longest_log(size, &list[group]);
        operand->indices += list_cut_indices(size, &list[group], found + operand->indices);
    }
    TN_TRY(TN_NEW(arena, operand->indices, &index, error));
    memcpy(index, found, operand->indices * sizeof *index);
    operand->index = index;
    return TN_OK;
}

tn_status tn_searched_product_read(const tn_program *program, const uint64_t *size,
                                   const tn_kernel_edges *edges, const tn_program_step *step, tn_arena *arena,
                                   tn_searched_product *product, tn_error *error) {
    uint32_t index[GROUPS][TN_LAYOUT_AXES], count[GROUPS] = {0};
    cut_list list[GROUPS];
    uint64_t edge[GROUPS];
    *product = (tn_searched_product){
        .operand = {{.tensor = step->a}, {.tensor = step->b}, {.tensor = step->out}},
        .batch = list_groups(program, size, step, index, count),
        .pass = edges->systolic ? tn_array_pass_of(step->phase) : TN_PASS_OF_LANES,
        .cells = {edges->rows, edges->columns},
    };
    tn_array_edges(edges->rows, edges->columns, product->pass, edge);
    if (product->pass == TN_PASS_OF_LANES) edge[REDUCTION] = edges->reduction;
    for (int g = 0; g < GROUPS; g++) {
        tn_group_cut *cut;
        list_cuts(size, index[g], count[g], edge[g], &list[g]);
        TN_TRY(TN_NEW(arena, list[g].count, &cut, error));
        memcpy(cut, list[g].cut, list[g].count * sizeof *cut);
        product->group[g] = (tn_cut_choice){list[g].count, cut};
    }
    for (int side = 0; side < SIDES; side++) TN_TRY(read_operand(product, side, size, list, arena, error));
    return TN_OK;
}

tn_status tn_layout_problem_begin(const tn_program *program, const tn_kernel_edges *edges,
                                  const tn_layout_problem *like, tn_arena *arena, tn_layout_problem *problem,
                                  tn_error *error) {
    tn_searched_tensor *tensor;
    uint8_t *log;
    *problem = (tn_layout_problem){.program = program, .size = program->index_size, .edges = *edges};
    TN_TRY(TN_NEW(arena, program->steps, &problem->product, error));
    if (like) {
        problem->size_log = like->size_log;
        problem->tensor = like->tensor;
        return TN_OK;
    }
    TN_TRY(TN_NEW(arena, program->indices, &log, error));
    for (uint32_t i = 0; i < program->indices; i++) log[i] = (uint8_t)tn_log_above(program->index_size[i]);
    TN_TRY(TN_NEW(arena, program->tensors, &tensor, error));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(read_tensor(program, t, arena, &tensor[t], error));
    problem->size_log = log;
    problem->tensor = tensor;
    return TN_OK;
}

tn_status tn_layout_problem_product(tn_layout_problem *problem, uint32_t product, tn_arena *arena,
                                    tn_error *error) {
    tn_searched_product *own = &problem->product[product];
    if (own->group[ROWS].count > 0) return TN_OK; /* each group has a cut */
    return tn_searched_product_read(problem->program, problem->size, &problem->edges,
                                    &problem->program->step[product], arena, own, error);
}

tn_status tn_layout_problem_complete(tn_layout_problem *problem, tn_arena *arena, tn_error *error) {
    for (uint32_t i = 0; i < problem->program->steps; i++)
        TN_TRY(tn_layout_problem_product(problem, i, arena, error));
    return TN_OK;
}

tn_status tn_layout_problem_read(const tn_program *program, const tn_kernel_edges *edges, tn_arena *arena,
                                 tn_layout_problem *problem, tn_error *error) {
    TN_TRY(tn_layout_problem_begin(program, edges, NULL, arena, problem, error));
    return tn_layout_problem_complete(problem, arena, error);
}
