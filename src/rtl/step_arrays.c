/* Arrays of a step's program, views of them, and its list of operations and samples. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "layout/bank_layout.h"

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

/* A word's features are the last of the matrix' columns, whatever axes these are split into. */
static void lay_matrix(const storage *kept, const view *of, tn_bank_layout *layout) {
    uint32_t features = kept->feature_log;
    for (uint32_t k = of->axes; k-- > 0;) {
        uint32_t log = k + 1 == of->features ? kept->row_log : 0;
        if (k >= of->features) {
            log = tn_log_above(of->dims[k]);
            if (log > features || k == of->features) log = features;
            features -= log;
        }
        layout->word[k] = UINT64_C(1) << log;
        layout->skew[0][k] = 1;
    }
}

static void lay(const maker *with, const view *of, tn_bank_layout *layout) {
    const storage *kept = &with->storage[of->storage];
    *layout = (tn_bank_layout){.axes = of->axes, .forms = 1, .banks = {1}};
    memcpy(layout->dims, of->dims, sizeof layout->dims);
    if (kept->is_matrix) {
        lay_matrix(kept, of, layout);
        return;
    }
    layout->banks[0] = kept->own.banks[0];
    memcpy(layout->word, kept->own.word, sizeof layout->word);
    memcpy(layout->skew, kept->own.skew, sizeof layout->skew);
}

static tn_status add_array(maker *with, const view *of, uint32_t view_of, uint32_t *array) {
    TN_TRY(tn_rtl_step_grow(with, &with->array, &with->arrays_room, with->arrays, sizeof *with->array));
    TN_TRY(tn_rtl_step_grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
    *array = with->arrays++;
    with->array[*array] = (tn_rtl_array){.view_of = view_of};
    lay(with, of, &with->array[*array].layout);
    memcpy(with->array[*array].index, of->index, sizeof of->index);
    return TN_OK;
}

static uint64_t elements_of(const view *of) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < of->axes; k++) elements *= of->dims[k];
    return elements;
}

/* Storages come before views in the list, as each is made with its first view: room is theirs alone. */
tn_status tn_rtl_step_new_storage(maker *with, const char *name, const storage *kept, const view *of,
                                  uint32_t *array) {
    view own = *of;
    if (of->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(with->error, TN_INPUT, "%s has %" PRIu32 " axes; hardware's layouts have at most %d",
                       name, of->axes, TN_BANK_LAYOUT_AXES);
    own.storage = with->arrays;
    for (uint32_t k = 0; k < own.axes; k++) own.index[k] = TN_RTL_NONE;
    TN_TRY(tn_rtl_step_grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
    with->storage[own.storage] = *kept;
    TN_TRY(add_array(with, &own, 0, array));
    with->array[*array].name = name;
    return TN_OK;
}

tn_status tn_rtl_step_storage_of(maker *with, uint32_t array, const view *of, const tn_bank_layout *own,
                                 uint32_t *stored) {
    const tn_laid_words *words = &with->options->plan->laid->words[array];
    uint32_t *known = &with->to->array_of[array];
    const char *name;
    *stored = *known;
    if (*known != TN_RTL_NONE && elements_of(of) == with->step->array[array].elements) return TN_OK;
    TN_TRY(tn_step_array_name(with->step, array, with->arena, &name, with->error));
    if (elements_of(of) != with->step->array[array].elements || (!words->is_matrix && !own))
        return tn_fail(with->error, TN_INPUT, "%s has no template for its axes", name);
    if (words->is_matrix && words->of.bank_log > 0)
        return tn_fail(
            with->error, TN_INPUT,
            "%s lies in banks; a whole step's activations lie in wide words, so set build.split=reshape",
            name);
    storage kept = {
        .is_matrix = words->is_matrix, .row_log = words->of.token_log, .feature_log = words->of.feature_log};
    if (!words->is_matrix) kept.own = *own;
    TN_TRY(tn_rtl_step_new_storage(with, name, &kept, of, known));
    *stored = *known;
    return TN_OK;
}

/* ---- views of the step's arrays ---- */

/* tokens x features, under a row and a column index. */
tn_status tn_rtl_step_matrix_view(maker *with, uint32_t array, uint64_t rows, uint64_t columns, uint32_t row,
                                  uint32_t column, view *of) {
    *of = (view){.axes = 2, .index = {row, column}, .dims = {rows, columns}, .features = 1};
    return tn_rtl_step_storage_of(with, array, of, NULL, &of->storage);
}

tn_status tn_rtl_step_vector_view(maker *with, uint32_t array, uint64_t columns, uint32_t column, view *of) {
    *of = (view){.axes = 2, .index = {TN_RTL_NONE, column}, .dims = {1, columns}, .features = 1};
    return tn_rtl_step_storage_of(with, array, of, NULL, &of->storage);
}

/* ---- operations ---- */

static tn_status put_view(maker *with, const view *of, uint32_t *array) {
    TN_TRY(add_array(with, of, of->storage + 1, array));
    with->array[*array].name = with->array[of->storage].name;
    return TN_OK;
}

tn_rtl_cut tn_rtl_step_cut(uint32_t index, uint64_t edge) {
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
    tn_rtl_operation operation = {.row = tn_rtl_step_cut(TN_RTL_NONE, 1),
                                  .term = tn_rtl_step_cut(TN_RTL_NONE, 1)};
    const view *views[] = {of->a, of->b, of->result, of->c};
    uint32_t *arrays[] = {&operation.left, &operation.right, &operation.result, &operation.extra};
    TN_TRY(TN_NEW(with->arena, 1, &pass, with->error));
    *pass = (tn_rtl_pass){.kind = of->kind,
                          .pass = of->pass,
                          .reads = {of->a != NULL, of->b != NULL, of->c != NULL},
                          .writes = of->result != NULL,
                          .row_indices = of->rows,
                          .columns = with->to->index_size[of->column],
                          .first_row = of->first_row,
                          .first_label = of->first_label,
                          .constant = {of->constant[0], of->constant[1]},
                          .limit_slot = of->limit_slot,
                          .by_word = of->by_word};
    memcpy(pass->row_index, of->row, sizeof of->row);
    for (int i = 0; i < 4; i++) {
        if (!views[i]) continue;
        TN_TRY(put_view(with, views[i], arrays[i]));
        if (i < 3) operation.look[i] = views[i]->look;
    }
    operation.pass = pass;
    operation.column = tn_rtl_step_cut(of->column, with->options->vector);
    TN_TRY(add_operation(with, &operation));
    if (!of->result) /* named after what its kernel makes */
        TN_TRY(tn_step_array_name(with->step, with->at->writes[0], with->arena,
                                  &with->operation[with->operations - 1].name, with->error));
    return TN_OK;
}

/* ---- products ---- */

tn_status tn_rtl_step_add_product(maker *with, const view *left, const view *right, const view *result,
                                  const tn_rtl_cut cut[3]) {
    tn_rtl_operation operation = {
        .row = cut[0], .column = cut[1], .term = cut[2], .look = {left->look, right->look, result->look}};
    TN_TRY(put_view(with, left, &operation.left));
    TN_TRY(put_view(with, right, &operation.right));
    TN_TRY(put_view(with, result, &operation.result));
    return add_operation(with, &operation);
}

tn_status tn_rtl_step_write_back(maker *with, uint32_t stages, const view *const added[TN_RTL_ADDED]) {
    tn_rtl_write_back *of = &with->operation[with->operations - 1].write_back;
    of->stages = stages;
    for (int a = 0; a < TN_RTL_ADDED; a++)
        if (added[a]) TN_TRY(put_view(with, added[a], &of->added[a]));
    return TN_OK;
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
