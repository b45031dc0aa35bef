/* Arrays of a step's program, views of them, and its list of operations and samples. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "hardware/bank_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { GROWTH = 2 };

/* ---- lists that grow ---- */

tn_status tn_rtl_step_grow(maker *with, void *list, uint32_t *room, uint32_t used, size_t bytes) {
    void **at = list, *grown;
    if (used < *room) return TN_OK;
    uint32_t wanted = *room ? GROWTH * *room : 64;
    TN_TRY(tn_arena_alloc(with->arena, wanted, bytes, &grown, with->error));
    if (used > 0) memcpy(grown, *at, used * bytes);
    *at = grown;
    *room = wanted;
    return TN_OK;
}

tn_status tn_rtl_step_new_index(maker *with, uint64_t size, uint32_t *index) {
    TN_TRY(tn_rtl_step_grow(with, &with->to->index_size, &with->indices_room, with->indices,
                            sizeof *with->to->index_size));
    with->to->index_size[with->indices] = size;
    *index = with->indices++;
    return TN_OK;
}

/* ---- layouts ---- */

/* The tokens alone tell an activation's banks apart, so that all views agree. */
static void lay_activation(const maker *with, const view *of, tn_bank_layout *layout) {
    for (uint32_t k = 0; k < of->axes; k++) {
        layout->word[k] = k + 1 == of->axes ? with->word : 1;
        layout->skew[0][k] = k == 0;
    }
}

void tn_rtl_step_lay(const maker *with, const view *of, tn_bank_layout *layout) {
    const storage *kept = &with->storage[of->storage];
    *layout = (tn_bank_layout){.axes = of->axes, .forms = 1, .banks = {with->banks}};
    memcpy(layout->dims, of->dims, sizeof layout->dims);
    if (kept->activation) {
        lay_activation(with, of, layout);
        return;
    }
    for (uint32_t k = 0; k < of->axes; k++) {
        layout->word[k] = k == kept->word_axis ? with->word : 1;
        layout->skew[0][k] = 1;
    }
}

static tn_status add_array(maker *with, const view *of, uint32_t view_of, uint32_t *array) {
    TN_TRY(tn_rtl_step_grow(with, &with->array, &with->arrays_room, with->arrays, sizeof *with->array));
    TN_TRY(tn_rtl_step_grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
    *array = with->arrays++;
    with->array[*array] = (tn_rtl_array){.view_of = view_of};
    tn_rtl_step_lay(with, of, &with->array[*array].layout);
    memcpy(with->array[*array].index, of->index, sizeof of->index);
    return TN_OK;
}

static uint64_t elements_of(const view *of) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < of->axes; k++) elements *= of->dims[k];
    return elements;
}

/* The axis along which words waste least; of equal ones the last. Never one that operations cut at single places. */
static uint32_t word_axis_of(const maker *with, const view *of, uint32_t but) {
    uint32_t best = TN_RTL_NONE;
    double least = INFINITY;
    for (uint32_t k = of->axes; k-- > 0;) {
        double waste = (double)(tn_ceil_div(of->dims[k], with->word) * with->word) / (double)of->dims[k];
        if (k == but || waste >= least) continue;
        least = waste;
        best = k;
    }
    return best;
}

/* Storages come before views in the list, as each is made with its first view: room is theirs alone. */
tn_status tn_rtl_step_new_storage(maker *with, const char *name, const view *of, bool activation,
                                  uint32_t but, uint32_t *array) {
    view own = *of;
    if (of->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(with->error, TN_INPUT, "%s has %" PRIu32 " axes; hardware's layouts have at most %d",
                       name, of->axes, TN_BANK_LAYOUT_AXES);
    own.storage = with->arrays;
    for (uint32_t k = 0; k < own.axes; k++) own.index[k] = TN_RTL_NONE;
    TN_TRY(tn_rtl_step_grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
    with->storage[own.storage] =
        (storage){.activation = activation, .word_axis = word_axis_of(with, of, but)};
    if (!activation && with->storage[own.storage].word_axis == TN_RTL_NONE)
        return tn_fail(with->error, TN_INPUT, "%s has no axis to lay words along", name);
    TN_TRY(add_array(with, &own, 0, array));
    with->array[*array].name = name;
    return TN_OK;
}

/* The storage of a step's array; made as the first use wants it. */
tn_status tn_rtl_step_storage_of(maker *with, uint32_t array, const view *of, bool activation, uint32_t but,
                                 uint32_t *stored) {
    uint32_t *known = &with->to->array_of[array];
    const char *name;
    if (elements_of(of) != with->step->array[array].elements) {
        TN_TRY(tn_step_array_name(with->step, array, with->arena, &name, with->error));
        return tn_fail(with->error, TN_INPUT, "%s has no template for its axes", name);
    }
    if (*known == TN_RTL_NONE) {
        TN_TRY(tn_step_array_name(with->step, array, with->arena, &name, with->error));
        TN_TRY(tn_rtl_step_new_storage(with, name, of, activation, but, known));
    }
    *stored = *known;
    return TN_OK;
}

/* ---- views of the step's arrays ---- */

/* tokens x features, under a row and a column index. */
tn_status tn_rtl_step_matrix_view(maker *with, uint32_t array, uint64_t rows, uint64_t columns, uint32_t row,
                                  uint32_t column, view *of) {
    *of = (view){.axes = 2, .index = {row, column}, .dims = {rows, columns}};
    return tn_rtl_step_storage_of(with, array, of, true, TN_RTL_NONE, &of->storage);
}

tn_status tn_rtl_step_vector_view(maker *with, uint32_t array, uint64_t columns, uint32_t column, view *of) {
    *of = (view){.axes = 1, .index = {column}, .dims = {columns}};
    return tn_rtl_step_storage_of(with, array, of, false, TN_RTL_NONE, &of->storage);
}

/* ---- operations ---- */

static tn_status put_view(maker *with, const view *of, uint32_t *array) {
    TN_TRY(add_array(with, of, of->storage + 1, array));
    with->array[*array].name = with->array[of->storage].name;
    return TN_OK;
}

static tn_rtl_cut cut_at(uint32_t index, uint64_t edge) {
    return index == TN_RTL_NONE ? (tn_rtl_cut){{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}}
                                : (tn_rtl_cut){{index, TN_RTL_NONE}, {edge, 1}};
}

static tn_status add_operation(maker *with, const tn_rtl_operation *operation) {
    TN_TRY(tn_rtl_step_grow(with, &with->operation, &with->operations_room, with->operations,
                            sizeof *with->operation));
    with->operation[with->operations] = *operation;
    with->operation[with->operations].name =
        with->array[with->array[operation->result].view_of ? with->array[operation->result].view_of - 1
                                                           : operation->result]
            .name;
    with->operations++;
    return TN_OK;
}

tn_status tn_rtl_step_add_pass(maker *with, const pass_of *of) {
    tn_rtl_pass *pass;
    tn_rtl_operation operation = {.row = cut_at(TN_RTL_NONE, 1), .term = cut_at(TN_RTL_NONE, 1)};
    const view *views[] = {of->a, of->b, of->result, of->c};
    uint32_t *arrays[] = {&operation.left, &operation.right, &operation.result, &operation.extra};
    TN_TRY(tn_arena_alloc(with->arena, 1, sizeof *pass, &pass, with->error));
    *pass = (tn_rtl_pass){.kind = of->kind,
                          .pass = of->pass,
                          .reads = {of->a != NULL, of->b != NULL, of->c != NULL},
                          .writes = of->result != NULL,
                          .row_indices = of->rows,
                          .columns = with->to->index_size[of->column],
                          .first_row = of->first_row,
                          .first_label = of->first_label,
                          .constant = {of->constant[0], of->constant[1]},
                          .limit_slot = of->limit_slot};
    memcpy(pass->row_index, of->row, sizeof of->row);
    for (int i = 0; i < 4; i++) {
        if (!views[i]) continue;
        TN_TRY(put_view(with, views[i], arrays[i]));
        if (i < 3) operation.look[i] = views[i]->look;
    }
    operation.pass = pass;
    operation.column = cut_at(of->column, with->options->vector);
    TN_TRY(add_operation(with, &operation));
    if (!of->result) /* named after what its kernel makes */
        TN_TRY(tn_step_array_name(with->step, with->at->writes[0], with->arena,
                                  &with->operation[with->operations - 1].name, with->error));
    return TN_OK;
}

/* ---- products ---- */

static bool has(const view *of, uint32_t index) {
    for (uint32_t k = 0; k < of->axes; k++)
        if (of->index[k] == index) return true;
    return false;
}

/* Cycles that a block of some edges takes; an axis that no cut names gives one element. */
static tn_status block_cycles(const maker *with, const view *of, const tn_rtl_cut *first,
                              const tn_rtl_cut *second, uint64_t *cycles) {
    tn_bank_layout layout;
    uint64_t words[TN_BANK_LAYOUT_AXES];
    tn_rtl_step_lay(with, of, &layout);
    for (uint32_t k = 0; k < of->axes; k++) {
        uint64_t edge = 1;
        if (tn_rtl_is_cut(first, of->index[k])) edge = first->edge[0];
        if (tn_rtl_is_cut(second, of->index[k])) edge = second->edge[0];
        if (edge > of->dims[k]) edge = of->dims[k];
        words[k] = tn_ceil_div(edge, layout.word[k]);
    }
    return tn_bank_layout_fullest(&layout, words, cycles, with->error);
}

typedef struct {
    const view *left, *right, *result;
    uint32_t candidate[3][TN_BANK_LAYOUT_AXES + 1], candidates[3]; /* of rows, columns, terms */
    uint64_t others[3];                                            /* sizes of a group's indices multiplied */
} product_of;

static void add_candidates(const maker *with, product_of *of, int group, const view *from, const view *too,
                           const view *not_in) {
    of->others[group] = 1;
    for (uint32_t k = 0; k < from->axes; k++) {
        uint32_t index = from->index[k];
        if (index == TN_RTL_NONE || !has(too, index) || has(not_in, index)) continue;
        of->others[group] *= with->to->index_size[index];
        if (with->to->index_size[index] > 1) of->candidate[group][of->candidates[group]++] = index;
    }
    if (of->candidates[group] == 0) of->candidate[group][of->candidates[group]++] = TN_RTL_NONE;
}

/* Of all choices of one index a group the one whose issues take fewest cycles. */
static tn_status choose_cuts(const maker *with, const product_of *of, tn_rtl_cut best[3]) {
    const uint64_t edge[3] = {with->options->rows, with->options->columns, with->options->terms};
    double least = INFINITY;
    for (uint32_t r = 0; r < of->candidates[0]; r++)
        for (uint32_t c = 0; c < of->candidates[1]; c++)
            for (uint32_t t = 0; t < of->candidates[2]; t++) {
                const uint32_t index[3] = {of->candidate[0][r], of->candidate[1][c], of->candidate[2][t]};
                tn_rtl_cut cut[3];
                double blocks[3];
                uint64_t left, right, result;
                for (int g = 0; g < 3; g++) {
                    cut[g] = cut_at(index[g], edge[g]);
                    blocks[g] = (double)of->others[g];
                    if (index[g] == TN_RTL_NONE) continue;
                    uint64_t size = with->to->index_size[index[g]];
                    blocks[g] *= (double)tn_ceil_div(size, edge[g]) / (double)size;
                }
                TN_TRY(block_cycles(with, of->left, &cut[0], &cut[2], &left));
                TN_TRY(block_cycles(with, of->right, &cut[2], &cut[1], &right));
                TN_TRY(block_cycles(with, of->result, &cut[0], &cut[1], &result));
                double read = (double)(left > right ? left : right), tile = blocks[2] * read,
                       cycles = blocks[0] * blocks[1] * (tile - read + fmax(read, (double)result));
                if (cycles >= least) continue;
                least = cycles;
                memcpy(best, cut, sizeof cut);
            }
    return TN_OK;
}

tn_status tn_rtl_step_add_product(maker *with, const view *left, const view *right, const view *result) {
    product_of of = {.left = left, .right = right, .result = result};
    tn_rtl_cut cut[3];
    tn_rtl_operation operation = {.look = {left->look, right->look, result->look}};
    add_candidates(with, &of, 0, left, result, right);
    add_candidates(with, &of, 1, right, result, left);
    add_candidates(with, &of, 2, left, right, result);
    TN_TRY(choose_cuts(with, &of, cut));
    operation.row = cut[0];
    operation.column = cut[1];
    operation.term = cut[2];
    TN_TRY(put_view(with, left, &operation.left));
    TN_TRY(put_view(with, right, &operation.right));
    TN_TRY(put_view(with, result, &operation.result));
    return add_operation(with, &operation);
}

/* ---- samples ---- */

static tn_status find_slot(maker *with, const tn_rtl_slot *wanted, uint32_t *slot) {
    for (*slot = 0; *slot < with->slots; ++*slot)
        if (memcmp(&with->to->slot[*slot], wanted, sizeof *wanted) == 0) return TN_OK;
    TN_TRY(tn_rtl_step_grow(with, &with->to->slot, &with->slots_room, with->slots, sizeof *with->to->slot));
    with->to->slot[with->slots++] = *wanted;
    return TN_OK;
}

tn_status tn_rtl_step_look_at(maker *with, view *of, uint32_t axis, const tn_rtl_slot *what) {
    tn_rtl_slot slot;
    memset(&slot, 0, sizeof slot); /* compared as bytes */
    slot.kind = what->kind;
    slot.value = what->value;
    slot.radix = what->radix;
    slot.below = what->below;
    slot.array = of->storage;
    slot.axis = axis;
    of->index[axis] = TN_RTL_NONE;
    of->look = (tn_rtl_look){.used = true, .axis = axis};
    return find_slot(with, &slot, &of->look.slot);
}

tn_status tn_rtl_step_tokens_slot(maker *with, uint32_t *slot) {
    tn_rtl_slot wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.kind = TN_RTL_SLOT_TOKENS;
    return find_slot(with, &wanted, slot);
}
