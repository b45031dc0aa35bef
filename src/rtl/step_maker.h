/* What the files that write a step's program share: the lists being made, and operands as views of arrays. Internal to
 * the room. */
#ifndef TN_RTL_STEP_MAKER_H
#define TN_RTL_STEP_MAKER_H

#include "model/graph.h"
#include "rtl/access.h"
#include "rtl/place.h"
#include "rtl/step.h"

/* An operand while operations are written: a storage under axes of its own. */
typedef struct {
    uint32_t storage;
    uint32_t axes, index[TN_BANK_LAYOUT_AXES];
    uint64_t dims[TN_BANK_LAYOUT_AXES];
    uint32_t features; /* of a matrix: the first axis of its columns; that before it, if any, is its rows */
    tn_rtl_look look;
} view;

/* Where an array's elements are: a matrix, whose features views split as they like, or under axes of its own. */
typedef struct {
    bool is_matrix;
    tn_shared_words words; /* of a matrix */
    tn_bank_layout own;    /* of what is no matrix */
} storage;

typedef struct {
    const tn_model *model;
    const tn_step *step;
    const tn_rtl_step_options *options;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_program *program;
    uint32_t arrays, arrays_room, storages_room, operations, operations_room, indices, indices_room, slots,
        slots_room;
    tn_rtl_array *array;
    storage *storage;
    tn_rtl_operation *operation;
    uint64_t scalar_rows, labels;
    uint64_t *rows_of;    /* [step's arrays]: first row of its statistics; UINT64_MAX: none yet */
    uint64_t shared_rows; /* first row of scalars that no later operation reads */
    const tn_operation *current;
} maker;

/* A pass over columns under `column` and the row indices. NULL: the pass leaves the port alone. */
typedef struct {
    tn_operation_kind kind;
    uint32_t pass;
    const view *a, *b, *c, *result;
    uint32_t column, rows, row[TN_RTL_ROW_INDICES];
    uint64_t first_row, first_label;
    double constant[2];
    uint32_t limit_slot;
    bool by_word;
} pass_of;

tn_status tn_rtl_step_grow(maker *builder, void *list, uint32_t *room, uint32_t used, size_t bytes);
tn_status tn_rtl_step_new_index(maker *builder, uint64_t size, uint32_t *index);
tn_status tn_rtl_step_new_storage(maker *builder, const char *name, const storage *kept, const view *window,
                                  uint32_t *array);
/* The storage of a step's array, made as the first use wants it; of what is no matrix, `own` is its layout. */
tn_status tn_rtl_step_storage_of(maker *builder, uint32_t array, const view *window,
                                 const tn_bank_layout *own, uint32_t *stored);
tn_status tn_rtl_step_matrix_view(maker *builder, uint32_t array, uint64_t rows, uint64_t columns,
                                  uint32_t row, uint32_t column, view *window);
tn_status tn_rtl_step_vector_view(maker *builder, uint32_t array, uint64_t columns, uint32_t column,
                                  view *window);
tn_status tn_rtl_step_add_pass(maker *builder, const pass_of *rows_pass);
tn_rtl_cut tn_rtl_step_cut(uint32_t index, uint64_t edge);
/* How the kernel takes the product at hand. */
tn_array_pass tn_rtl_step_pass(const maker *builder);
tn_status tn_rtl_step_add_product(maker *builder, const view *left, const view *right, const view *result,
                                  const tn_rtl_cut cut[3]);
/* The last product with a write-back: its stages, and what the first and last of them add, NULL where they are none. */
tn_status tn_rtl_step_write_back(maker *builder, uint32_t stages, const view *const added[TN_RTL_ADDED]);
tn_status tn_rtl_step_look_at(maker *builder, view *window, uint32_t axis, const tn_rtl_slot *what);
tn_status tn_rtl_step_tokens_slot(maker *builder, uint32_t *slot);
/* A pass of a map over whole operands that lie alike, or over one slice of each, word by word. */
tn_status tn_rtl_step_word_pass(maker *builder, tn_operation_kind kind, view *a, view *b, view *result,
                                double constant);
view tn_rtl_step_whole_view(const maker *builder, uint32_t stored);
tn_status tn_rtl_step_clear(maker *builder);
tn_status tn_rtl_step_program_product(maker *builder);
tn_status tn_rtl_step_attention_product(maker *builder);
tn_status tn_rtl_step_softmax(maker *builder);
/* Every operation whose passes go over rows x columns as its row of model/operation.h says. */
tn_status tn_rtl_step_passes(maker *state);
tn_status tn_rtl_step_update(maker *builder);
tn_status tn_rtl_step_lookup(maker *builder);
tn_status tn_rtl_step_scatter(maker *builder);

#endif
