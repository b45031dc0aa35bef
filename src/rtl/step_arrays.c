/* Arrays of a step's program, views of them, and its list of operations and samples. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "layout/bank_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { GROWTH = 2 };

/* ---- lists that grow ---- */

tn_status tn_rtl_step_grow(maker *builder, void *list, uint32_t *room, uint32_t used, size_t bytes) {
    void **row = list, *grown;
    if (used < *room) return TN_OK;
    uint32_t wanted = *room ? GROWTH * *room : 64;
    TN_TRY(tn_arena_alloc(builder->arena, wanted, bytes, &grown, builder->error));
    if (used > 0) memcpy(grown, *row, used * bytes);
    *row = grown;
    *room = wanted;
    return TN_OK;
}

tn_status tn_rtl_step_new_index(maker *builder, uint64_t size, uint32_t *index) {
    TN_TRY(tn_rtl_step_grow(builder, &builder->program->index_size, &builder->indices_room, builder->indices,
                            sizeof *builder->program->index_size));
    builder->program->index_size[builder->indices] = size;
    *index = builder->indices++;
    return TN_OK;
}

/* ---- layouts ---- */

/* As many of `left` doublings as the axis has room for, the last one all. */
static uint32_t take_log(uint64_t size, bool last, uint32_t *left) {
    uint32_t log = tn_log_above(size);
    if (log > *left || last) log = *left;
    *left -= log;
    return log;
}

/* A word's features are the last of the matrix' columns, whatever axes these are split into; so are the words of a row of
 * the memory. */
static void lay_matrix(const storage *kept, const view *window, tn_bank_layout *layout) {
    const tn_shared_words *words = &kept->words;
    const uint64_t one = 1, banks = one << words->bank_log;
    uint32_t features = words->feature_log, shared = words->divide_log;
    uint64_t stride = 1;
    layout->banks[0] = banks;
    for (uint32_t k = window->axes; k-- > 0;) {
        uint32_t log = 0, divide_log = 0;
        if (k >= window->features) {
            const bool last = k == window->features;
            log = take_log(window->dims[k], last, &features);
            const uint64_t along = ((window->dims[k] - 1) >> log) + 1;
            divide_log = take_log(along, last, &shared);
            tn_shared_axis(words, stride, along, &layout->skew[0][k], &layout->turn[k]);
            stride *= along;
        } else if (k + 1 == window->features) {
            log = words->token_log;
            divide_log = words->bank_log - words->divide_log;
            layout->skew[0][k] = 1 % banks;
        } /* heads lie one behind the other */
        layout->word[k] = one << log;
        layout->divide[k] = one << divide_log;
    }
}

static void lay(const maker *builder, const view *window, tn_bank_layout *layout) {
    const storage *kept = &builder->storage[window->storage];
    *layout = (tn_bank_layout){.axes = window->axes, .forms = 1, .banks = {1}};
    memcpy(layout->dims, window->dims, sizeof layout->dims);
    if (kept->is_matrix) {
        lay_matrix(kept, window, layout);
        return;
    }
    layout->banks[0] = kept->own.banks[0];
    memcpy(layout->divide, kept->own.divide, sizeof layout->divide);
    memcpy(layout->word, kept->own.word, sizeof layout->word);
    memcpy(layout->skew, kept->own.skew, sizeof layout->skew);
    memcpy(layout->turn, kept->own.turn, sizeof layout->turn);
}

static tn_status add_array(maker *builder, const view *window, uint32_t view_of, uint32_t *array) {
    TN_TRY(tn_rtl_step_grow(builder, &builder->array, &builder->arrays_room, builder->arrays,
                            sizeof *builder->array));
    TN_TRY(tn_rtl_step_grow(builder, &builder->storage, &builder->storages_room, builder->arrays,
                            sizeof *builder->storage));
    *array = builder->arrays++;
    builder->array[*array] = (tn_rtl_array){.view_of = view_of};
    lay(builder, window, &builder->array[*array].layout);
    memcpy(builder->array[*array].index, window->index, sizeof window->index);
    return TN_OK;
}

static uint64_t elements_of(const view *window) {
    uint64_t elements = 1;
    for (uint32_t k = 0; k < window->axes; k++) elements *= window->dims[k];
    return elements;
}

/* Storages come before views in the list, as each is made with its first view: room is theirs alone. */
tn_status tn_rtl_step_new_storage(maker *builder, const char *name, const storage *kept, const view *window,
                                  uint32_t *array) {
    view own = *window;
    if (window->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(builder->error, TN_INPUT,
                       "%s has %" PRIu32 " axes; hardware's layouts have at most %d", name, window->axes,
                       TN_BANK_LAYOUT_AXES);
    own.storage = builder->arrays;
    for (uint32_t k = 0; k < own.axes; k++) own.index[k] = TN_RTL_NONE;
    TN_TRY(tn_rtl_step_grow(builder, &builder->storage, &builder->storages_room, builder->arrays,
                            sizeof *builder->storage));
    builder->storage[own.storage] = *kept;
    TN_TRY(add_array(builder, &own, 0, array));
    builder->array[*array].name = name;
    return TN_OK;
}

tn_status tn_rtl_step_storage_of(maker *builder, uint32_t array, const view *window,
                                 const tn_bank_layout *own, uint32_t *stored) {
    const tn_laid_words *words = tn_laid_words_of(builder->options->plan->laid, array);
    uint32_t *known = &builder->program->array_of[array];
    const char *name;
    *stored = *known;
    if (*known != TN_RTL_NONE && elements_of(window) == builder->step->array[array].elements) return TN_OK;
    TN_TRY(tn_step_array_name(builder->step, array, builder->arena, &name, builder->error));
    if (elements_of(window) != builder->step->array[array].elements || (!words->is_matrix && !own))
        return tn_fail(builder->error, TN_INPUT, "%s has no template for its axes", name);
    storage kept = {.is_matrix = words->is_matrix, .words = words->shared};
    if (!words->is_matrix) kept.own = *own;
    TN_TRY(tn_rtl_step_new_storage(builder, name, &kept, window, known));
    *stored = *known;
    return TN_OK;
}

/* ---- views of the step's arrays ---- */

/* tokens x features, under a row and a column index. */
tn_status tn_rtl_step_matrix_view(maker *builder, uint32_t array, uint64_t rows, uint64_t columns,
                                  uint32_t row, uint32_t column, view *window) {
    *window = (view){.axes = 2, .index = {row, column}, .dims = {rows, columns}, .features = 1};
    return tn_rtl_step_storage_of(builder, array, window, NULL, &window->storage);
}

tn_status tn_rtl_step_vector_view(maker *builder, uint32_t array, uint64_t columns, uint32_t column,
                                  view *window) {
    *window = (view){.axes = 2, .index = {TN_RTL_NONE, column}, .dims = {1, columns}, .features = 1};
    return tn_rtl_step_storage_of(builder, array, window, NULL, &window->storage);
}

/* ---- operations ---- */

static tn_status put_view(maker *builder, const view *window, uint32_t *array) {
    TN_TRY(add_array(builder, window, window->storage + 1, array));
    builder->array[*array].name = builder->array[window->storage].name;
    return TN_OK;
}

tn_rtl_cut tn_rtl_step_cut(uint32_t index, uint64_t edge) {
    return index == TN_RTL_NONE ? (tn_rtl_cut){{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}}
                                : (tn_rtl_cut){{index, TN_RTL_NONE}, {edge, 1}};
}

static tn_status add_operation(maker *builder, const tn_rtl_operation *operation) {
    TN_TRY(tn_rtl_step_grow(builder, &builder->operation, &builder->operations_room, builder->operations,
                            sizeof *builder->operation));
    builder->operation[builder->operations] = *operation;
    builder->operation[builder->operations].name =
        builder
            ->array[builder->array[operation->result].view_of ? builder->array[operation->result].view_of - 1
                                                              : operation->result]
            .name;
    builder->operations++;
    return TN_OK;
}

tn_status tn_rtl_step_add_pass(maker *builder, const pass_of *rows_pass) {
    tn_rtl_pass *pass;
    tn_rtl_operation operation = {.row = tn_rtl_step_cut(TN_RTL_NONE, 1),
                                  .term = tn_rtl_step_cut(TN_RTL_NONE, 1)};
    const view *views[] = {rows_pass->a, rows_pass->b, rows_pass->result, rows_pass->c};
    uint32_t *arrays[] = {&operation.left, &operation.right, &operation.result, &operation.extra};
    TN_TRY(TN_NEW(builder->arena, 1, &pass, builder->error));
    *pass = (tn_rtl_pass){.kind = rows_pass->kind,
                          .pass = rows_pass->pass,
                          .reads = {rows_pass->a != NULL, rows_pass->b != NULL, rows_pass->c != NULL},
                          .writes = rows_pass->result != NULL,
                          .row_indices = rows_pass->rows,
                          .columns = builder->program->index_size[rows_pass->column],
                          .first_row = rows_pass->first_row,
                          .first_label = rows_pass->first_label,
                          .constant = {rows_pass->constant[0], rows_pass->constant[1]},
                          .limit_slot = rows_pass->limit_slot,
                          .by_word = rows_pass->by_word};
    memcpy(pass->row_index, rows_pass->row, sizeof rows_pass->row);
    for (int i = 0; i < 4; i++) {
        if (!views[i]) continue;
        TN_TRY(put_view(builder, views[i], arrays[i]));
        if (i < 3) operation.look[i] = views[i]->look;
    }
    operation.pass = pass;
    operation.column = tn_rtl_step_cut(rows_pass->column, builder->options->lanes[rows_pass->kind]);
    pass->lanes = rows_pass->by_word ? builder->options->vector : builder->options->lanes[rows_pass->kind];
    TN_TRY(add_operation(builder, &operation));
    if (!rows_pass->result) /* named after what its kernel makes */
        TN_TRY(tn_step_array_name(builder->step, builder->current->writes[0], builder->arena,
                                  &builder->operation[builder->operations - 1].name, builder->error));
    return TN_OK;
}

/* ---- products ---- */

tn_array_pass tn_rtl_step_pass(const maker *builder) {
    const tn_operation *o = builder->current;
    if (!builder->options->systolic) return TN_PASS_OF_LANES;
    return tn_array_pass_of(o->program_step ? o->program_step->phase : o->phase);
}

tn_status tn_rtl_step_add_product(maker *builder, const view *left, const view *right, const view *result,
                                  const tn_rtl_cut cut[3]) {
    tn_rtl_operation operation = {.row = cut[0],
                                  .column = cut[1],
                                  .term = cut[2],
                                  .look = {left->look, right->look, result->look},
                                  .array = tn_rtl_step_pass(builder)};
    TN_TRY(put_view(builder, left, &operation.left));
    TN_TRY(put_view(builder, right, &operation.right));
    TN_TRY(put_view(builder, result, &operation.result));
    return add_operation(builder, &operation);
}

tn_status tn_rtl_step_write_back(maker *builder, uint32_t stages, const view *const added[TN_RTL_ADDED]) {
    tn_rtl_write_back *write_back = &builder->operation[builder->operations - 1].write_back;
    write_back->stages = stages;
    for (int a = 0; a < TN_RTL_ADDED; a++)
        if (added[a]) TN_TRY(put_view(builder, added[a], &write_back->added[a]));
    return TN_OK;
}

/* ---- samples ---- */

static tn_status find_slot(maker *builder, const tn_rtl_slot *wanted, uint32_t *slot) {
    for (*slot = 0; *slot < builder->slots; ++*slot)
        if (memcmp(&builder->program->slot[*slot], wanted, sizeof *wanted) == 0) return TN_OK;
    TN_TRY(tn_rtl_step_grow(builder, &builder->program->slot, &builder->slots_room, builder->slots,
                            sizeof *builder->program->slot));
    builder->program->slot[builder->slots++] = *wanted;
    return TN_OK;
}

tn_status tn_rtl_step_look_at(maker *builder, view *window, uint32_t axis, const tn_rtl_slot *what) {
    tn_rtl_slot slot;
    memset(&slot, 0, sizeof slot); /* compared as bytes */
    slot.kind = what->kind;
    slot.value = what->value;
    slot.radix = what->radix;
    slot.below = what->below;
    slot.array = window->storage;
    slot.axis = axis;
    window->index[axis] = TN_RTL_NONE;
    window->look = (tn_rtl_look){.used = true, .axis = axis};
    return find_slot(builder, &slot, &window->look.slot);
}

tn_status tn_rtl_step_tokens_slot(maker *builder, uint32_t *slot) {
    tn_rtl_slot wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.kind = TN_RTL_SLOT_TOKENS;
    return find_slot(builder, &wanted, slot);
}
