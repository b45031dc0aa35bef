#include "rtl/step.h"

#include "base/checked.h"
#include "hardware/bank_layout.h"
#include "model/graph.h"
#include "rtl/access.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TOKEN = 0, GROWTH = 2 };

/* An operand while operations are written: a storage under axes of its own. */
typedef struct {
    uint32_t storage;
    uint32_t axes, index[TN_BANK_LAYOUT_AXES];
    uint64_t dims[TN_BANK_LAYOUT_AXES];
    tn_rtl_look look;
} view;

/* Where an array's elements are: as activations, whose features later views split, or under fixed axes. */
typedef struct {
    bool activation;
    uint32_t word_axis; /* of fixed axes */
} storage;

typedef struct {
    const tn_model *model;
    const tn_step *step;
    const tn_rtl_step_options *options;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_program *to;
    uint64_t word, banks;
    uint32_t arrays, arrays_room, storages_room, operations, operations_room, indices, indices_room, slots,
        slots_room;
    tn_rtl_array *array;
    storage *storage;
    tn_rtl_operation *operation;
    uint64_t scalar_rows, labels;
    uint64_t *rows_of;    /* [step's arrays]: first row of its statistics; UINT64_MAX: none yet */
    bool *cleared;        /* [step's arrays]: a gradient that was set to zero */
    uint64_t shared_rows; /* first row of scalars that no later operation reads */
    const tn_operation *at;
} maker;

/* ---- lists that grow ---- */

static tn_status grow(maker *with, void *list, uint32_t *room, uint32_t used, size_t bytes) {
    void **at = list, *grown;
    if (used < *room) return TN_OK;
    uint32_t wanted = *room ? GROWTH * *room : 64;
    TN_TRY(tn_arena_alloc(with->arena, wanted, bytes, &grown, with->error));
    if (used > 0) memcpy(grown, *at, used * bytes);
    *at = grown;
    *room = wanted;
    return TN_OK;
}

static tn_status new_index(maker *with, uint64_t size, uint32_t *index) {
    TN_TRY(
        grow(with, &with->to->index_size, &with->indices_room, with->indices, sizeof *with->to->index_size));
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

static void lay(const maker *with, const view *of, tn_bank_layout *layout) {
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
    TN_TRY(grow(with, &with->array, &with->arrays_room, with->arrays, sizeof *with->array));
    TN_TRY(grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
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
static tn_status new_storage(maker *with, const char *name, const view *of, bool activation, uint32_t but,
                             uint32_t *array) {
    view own = *of;
    if (of->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(with->error, TN_INPUT, "%s has %" PRIu32 " axes; hardware's layouts have at most %d",
                       name, of->axes, TN_BANK_LAYOUT_AXES);
    own.storage = with->arrays;
    for (uint32_t k = 0; k < own.axes; k++) own.index[k] = TN_RTL_NONE;
    TN_TRY(grow(with, &with->storage, &with->storages_room, with->arrays, sizeof *with->storage));
    with->storage[own.storage] =
        (storage){.activation = activation, .word_axis = word_axis_of(with, of, but)};
    if (!activation && with->storage[own.storage].word_axis == TN_RTL_NONE)
        return tn_fail(with->error, TN_INPUT, "%s has no axis to lay words along", name);
    TN_TRY(add_array(with, &own, 0, array));
    with->array[*array].name = name;
    return TN_OK;
}

/* The storage of a step's array; made as the first use wants it. */
static tn_status storage_of(maker *with, uint32_t array, const view *of, bool activation, uint32_t but,
                            uint32_t *stored) {
    uint32_t *known = &with->to->array_of[array];
    const char *name;
    if (elements_of(of) != with->step->array[array].elements) {
        TN_TRY(tn_step_array_name(with->step, array, with->arena, &name, with->error));
        return tn_fail(with->error, TN_INPUT, "%s has no template for its axes", name);
    }
    if (*known == TN_RTL_NONE) {
        TN_TRY(tn_step_array_name(with->step, array, with->arena, &name, with->error));
        TN_TRY(new_storage(with, name, of, activation, but, known));
    }
    *stored = *known;
    return TN_OK;
}

/* ---- views of the step's arrays ---- */

/* tokens x features, under a row and a column index. */
static tn_status matrix_view(maker *with, uint32_t array, uint64_t rows, uint64_t columns, uint32_t row,
                             uint32_t column, view *of) {
    *of = (view){.axes = 2, .index = {row, column}, .dims = {rows, columns}};
    return storage_of(with, array, of, true, TN_RTL_NONE, &of->storage);
}

static tn_status vector_view(maker *with, uint32_t array, uint64_t columns, uint32_t column, view *of) {
    *of = (view){.axes = 1, .index = {column}, .dims = {columns}};
    return storage_of(with, array, of, false, TN_RTL_NONE, &of->storage);
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
    TN_TRY(grow(with, &with->operation, &with->operations_room, with->operations, sizeof *with->operation));
    with->operation[with->operations] = *operation;
    with->operation[with->operations].name =
        with->array[with->array[operation->result].view_of ? with->array[operation->result].view_of - 1
                                                           : operation->result]
            .name;
    with->operations++;
    return TN_OK;
}

/* A pass over columns under `column` and the row indices. NULL: the pass leaves the port alone. */
typedef struct {
    tn_operation_kind kind;
    uint32_t pass;
    const view *a, *b, *c, *result;
    uint32_t column, rows, row[TN_RTL_ROW_INDICES];
    uint64_t first_row, first_label;
    double constant[2];
    uint32_t limit_slot;
} pass_of;

static tn_status add_pass(maker *with, const pass_of *of) {
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
    lay(with, of, &layout);
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

static tn_status add_product(maker *with, const view *left, const view *right, const view *result) {
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
    TN_TRY(grow(with, &with->to->slot, &with->slots_room, with->slots, sizeof *with->to->slot));
    with->to->slot[with->slots++] = *wanted;
    return TN_OK;
}

static tn_status look_at(maker *with, view *of, uint32_t axis, const tn_rtl_slot *what) {
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

static tn_status tokens_slot(maker *with, uint32_t *slot) {
    tn_rtl_slot wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.kind = TN_RTL_SLOT_TOKENS;
    return find_slot(with, &wanted, slot);
}

/* ---- products of a layer's program ---- */

static bool is_activation(tn_role role, bool looked_up) {
    return role == TN_ROLE_Y || role == TN_ROLE_DY ||
           (!looked_up && (role == TN_ROLE_X || role == TN_ROLE_DX));
}

static tn_status tensor_view(maker *with, uint32_t array, uint32_t t, const uint32_t *index, view *of) {
    const tn_program *program = with->step->layer[with->at->layer].program;
    const tn_program_tensor *tensor = &program->tensor[t];
    bool looked_up = with->model->layer[with->at->layer].kind->is_lookup;
    uint64_t others = 1;
    *of = (view){.axes = tensor->indices.count};
    uint32_t token = TN_RTL_NONE;
    if (of->axes > TN_BANK_LAYOUT_AXES) of->axes = TN_BANK_LAYOUT_AXES; /* refused by its elements */
    for (uint32_t k = 0; k < of->axes; k++) {
        uint32_t i = tensor->indices.index[k];
        of->index[k] = index[i];
        of->dims[k] = program->index_size[i];
        if (looked_up && i == TOKEN)
            token = k;
        else
            others *= of->dims[k];
    }
    if (token != TN_RTL_NONE) of->dims[token] = with->step->array[array].elements / others;
    if (of->axes == 0) *of = (view){.axes = 1, .index = {TN_RTL_NONE}, .dims = {1}};
    return storage_of(with, array, of, is_activation(tensor->role, looked_up), token, &of->storage);
}

static tn_status new_indices(maker *with, const tn_program *program, uint32_t **index) {
    TN_TRY(tn_arena_alloc(with->arena, program->indices, sizeof **index, index, with->error));
    for (uint32_t i = 0; i < program->indices; i++)
        TN_TRY(new_index(with, program->index_size[i], &(*index)[i]));
    return TN_OK;
}

/* A cut core is read at its token's digit; everything else at the token. */
static tn_status look_at_token(maker *with, view *of, const uint32_t *index, uint32_t t, uint64_t token) {
    const tn_step_layer *layer = &with->step->layer[with->at->layer];
    const tn_program_tensor *tensor = &layer->program->tensor[t];
    bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX,
         core = first || tensor->role == TN_ROLE_CORE || tensor->role == TN_ROLE_CORE_GRADIENT;
    for (uint32_t k = 0; k < of->axes; k++) {
        if (of->index[k] != index[TOKEN]) continue;
        tn_rtl_slot slot = {.kind = TN_RTL_SLOT_FIXED, .value = token};
        if (core) {
            uint32_t digit = first ? 0 : tensor->core + 1;
            slot.kind = TN_RTL_SLOT_DIGIT;
            slot.radix = layer->weight->m[digit];
            slot.below = 1;
            for (uint32_t d = digit + 1; d < layer->weight->d; d++) slot.below *= layer->weight->m[d];
        }
        return look_at(with, of, k, &slot);
    }
    return TN_OK;
}

/* ---- element by element over fixed axes ---- */

/* a (op) b into result: all alike but for what they look up; words of columns along the axis of words. */
static tn_status fixed_pass(maker *with, tn_operation_kind kind, uint32_t pass, view *a, view *b,
                            view *result, double constant) {
    view *views[] = {a, b, result};
    uint32_t word_axis = with->storage[result->storage].activation ? result->axes - 1
                                                                   : with->storage[result->storage].word_axis;
    pass_of of = {.kind = kind,
                  .pass = pass,
                  .a = a,
                  .b = b,
                  .result = result,
                  .constant = {constant},
                  .limit_slot = TN_RTL_NONE};
    for (uint32_t k = 0; k < result->axes; k++) {
        uint32_t index;
        if (result->look.used && result->look.axis == k) continue;
        if (k != word_axis && result->dims[k] == 1) continue;
        TN_TRY(new_index(with, result->dims[k], &index));
        for (int i = 0; i < 3; i++)
            if (views[i]) views[i]->index[k] = index;
        if (k == word_axis) {
            of.column = index;
        } else {
            if (of.rows == TN_RTL_ROW_INDICES)
                return tn_fail(with->error, TN_INPUT, "%s has more axes than a vector kernel loops over",
                               with->array[result->storage].name);
            of.row[of.rows++] = index;
        }
    }
    return add_pass(with, &of);
}

static view fixed_view(const maker *with, uint32_t stored) {
    const tn_bank_layout *layout = &with->array[stored].layout;
    view of = {.storage = stored, .axes = layout->axes};
    memcpy(of.dims, layout->dims, sizeof of.dims);
    for (uint32_t k = 0; k < of.axes; k++) of.index[k] = TN_RTL_NONE;
    return of;
}

/* Sets a gradient to zero that is added to, once. */
static tn_status clear(maker *with, uint32_t array) {
    if (with->cleared[array]) return TN_OK;
    with->cleared[array] = true;
    view all = fixed_view(with, with->to->array_of[array]);
    return fixed_pass(with, TN_OP_SCATTER, 0, NULL, NULL, &all, 0);
}

/* A token's product beside the gradient of a cut core, then added into its slice. */
static tn_status add_into_slice(maker *with, const view *left, const view *right, const view *slice,
                                uint32_t *beside) {
    view made = *slice, from = *slice, into = *slice, temporary = *slice;
    uint32_t axis = slice->look.used ? slice->look.axis : TN_RTL_NONE;
    made.look.used = false;
    if (axis != TN_RTL_NONE) made.dims[axis] = temporary.dims[axis] = 1;
    temporary.look.used = false;
    if (*beside == TN_RTL_NONE) { /* laid as the slice is, so that both go word by word */
        view own = made;
        TN_TRY(new_storage(with, "slice", &made, false, axis, beside));
        with->storage[*beside].word_axis = with->storage[slice->storage].word_axis;
        own.storage = *beside;
        lay(with, &own, &with->array[*beside].layout);
    }
    made.storage = *beside;
    TN_TRY(add_product(with, left, right, &made));
    temporary.storage = made.storage;
    return fixed_pass(with, TN_OP_ADD, 0, &from, &temporary, &into, 0);
}

/* A gradient of a core has a term of every token. */
static bool is_summed(tn_role role) {
    return role == TN_ROLE_DX || role == TN_ROLE_CORE_GRADIENT;
}

/* Token by token; what has no token as an index is summed over them. */
static tn_status lookup_product(maker *with, const uint32_t *index) {
    const tn_operation *o = with->at;
    const tn_program_step *step = o->program_step;
    const uint32_t tensor[3] = {step->a, step->b, step->out},
                   array[3] = {o->reads[0], o->reads[1], o->writes[0]};
    tn_role role = with->step->layer[o->layer].program->tensor[step->out].role;
    uint32_t beside = TN_RTL_NONE;
    for (uint64_t token = 0; token < with->model->layer[o->layer].tokens; token++) {
        view views[3];
        for (int i = 0; i < 3; i++) {
            TN_TRY(tensor_view(with, array[i], tensor[i], index, &views[i]));
            TN_TRY(look_at_token(with, &views[i], index, tensor[i], token));
        }
        bool of_token = views[0].look.used || views[1].look.used || views[2].look.used;
        if (!of_token || (!is_summed(role) && views[2].look.used)) {
            TN_TRY(add_product(with, &views[0], &views[1], &views[2]));
            if (!of_token) return TN_OK; /* the same for all tokens */
            continue;
        }
        TN_TRY(clear(with, o->writes[0]));
        TN_TRY(add_into_slice(with, &views[0], &views[1], &views[2], &beside));
    }
    return TN_OK;
}

static tn_status program_product(maker *with) {
    const tn_operation *o = with->at;
    const tn_program_step *step = o->program_step;
    uint32_t *index;
    view left, right, result;
    TN_TRY(new_indices(with, with->step->layer[o->layer].program, &index));
    if (with->model->layer[o->layer].kind->is_lookup) return lookup_product(with, index);
    TN_TRY(tensor_view(with, o->reads[0], step->a, index, &left));
    TN_TRY(tensor_view(with, o->reads[1], step->b, index, &right));
    TN_TRY(tensor_view(with, o->writes[0], step->out, index, &result));
    return add_product(with, &left, &right, &result);
}

/* ---- attention ---- */

/* By the part that the product makes: indices of left, right and result; h head, q and k tokens of query and key, d
 * width of a head, v of a value's. */
static const struct {
    const char *part, *letters[3];
} attention[] = {
    {"scores", {"qhd", "khd", "hqk"}},         {"output", {"hqk", "khv", "qhv"}},
    {"value-gradient", {"hqk", "qhv", "khv"}}, {"scores-gradient", {"qhv", "khv", "hqk"}},
    {"query-gradient", {"hqk", "khd", "qhd"}}, {"key-gradient", {"hqk", "qhd", "khd"}},
};
static const char letters[] = "hqkdv";

static void attention_sizes(const maker *with, uint32_t layer, uint64_t size[5]) {
    const tn_layer *of = &with->model->layer[layer], *query = &with->model->layer[of->input[0]],
                   *key = &with->model->layer[of->input[1]];
    const uint64_t sizes[5] = {of->heads, query->sequence, key->sequence, query->width / of->heads,
                               of->width / of->heads};
    memcpy(size, sizes, sizeof sizes);
}

static tn_status letters_view(maker *with, uint32_t array, const char *text, const uint32_t index[5],
                              const uint64_t size[5], view *of) {
    *of = (view){.axes = 3};
    for (uint32_t k = 0; k < 3; k++) {
        size_t letter = (size_t)(strchr(letters, text[k]) - letters);
        of->index[k] = index[letter];
        of->dims[k] = size[letter];
    }
    bool scores = text[0] == 'h';
    return storage_of(with, array, of, !scores, 0, &of->storage);
}

static tn_status attention_product(maker *with) {
    const tn_operation *o = with->at;
    const char *part = with->step->array[o->writes[0]].part;
    uint64_t size[5];
    uint32_t index[5];
    attention_sizes(with, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(new_index(with, size[i], &index[i]));
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++) {
        view left, right, result;
        if (strcmp(attention[i].part, part) != 0) continue;
        TN_TRY(letters_view(with, o->reads[0], attention[i].letters[0], index, size, &left));
        TN_TRY(letters_view(with, o->reads[1], attention[i].letters[1], index, size, &right));
        TN_TRY(letters_view(with, o->writes[0], attention[i].letters[2], index, size, &result));
        return add_product(with, &left, &right, &result);
    }
    return tn_fail(with->error, TN_INPUT, "%s: a product that makes %s has no template",
                   with->step->layer[o->layer].name, part);
}

/* Scores as heads, rows, columns: softmax and its gradient. */
static tn_status softmax(maker *with) {
    const tn_operation *o = with->at;
    const tn_layer *layer = &with->model->layer[o->layer];
    bool backward = o->kind == TN_OP_SOFTMAX_GRADIENT;
    uint64_t size[5];
    uint32_t index[5];
    view p, other;
    attention_sizes(with, o->layer, size);
    for (int i = 0; i < 5; i++) TN_TRY(new_index(with, size[i], &index[i]));
    double scale = 1 / sqrt((double)(with->model->layer[layer->input[0]].width / layer->heads));
    TN_TRY(letters_view(with, o->reads[0], "hqk", index, size, &p));
    pass_of of = {.kind = o->kind,
                  .column = index[2],
                  .rows = 2,
                  .row = {index[0], index[1]},
                  .first_row = with->shared_rows,
                  .limit_slot = TN_RTL_NONE};
    if (backward) {
        TN_TRY(letters_view(with, o->reads[1], "hqk", index, size, &other));
        of.a = &p;
        of.b = &other;
        TN_TRY(add_pass(with, &of));
        of.pass = 1;
        of.constant[0] = scale;
        of.result = &other;
        return add_pass(with, &of);
    }
    TN_TRY(tokens_slot(with, &of.limit_slot));
    of.constant[0] = scale;
    for (of.pass = 0; of.pass < tn_circuit_passes(o->kind); of.pass++) {
        of.a = of.result = of.pass == 2 ? NULL : &p;
        TN_TRY(add_pass(with, &of));
    }
    return TN_OK;
}

/* ---- vector kernels over tokens x features ---- */

static tn_status rows_of(maker *with, uint32_t array, uint64_t rows, uint64_t *first) {
    if (with->rows_of[array] == UINT64_MAX) {
        with->rows_of[array] = with->scalar_rows;
        with->scalar_rows += rows;
    }
    *first = with->rows_of[array];
    return TN_OK;
}

typedef struct {
    uint32_t row, column;
    pass_of pass;
    view view[5]; /* of reads, then of the result */
} rows_kernel;

static tn_status begin_rows(maker *with, rows_kernel *of) {
    const tn_operation *o = with->at;
    TN_TRY(new_index(with, o->rows, &of->row));
    TN_TRY(new_index(with, o->columns, &of->column));
    of->pass = (pass_of){.kind = o->kind,
                         .column = of->column,
                         .rows = 1,
                         .row = {of->row},
                         .first_row = with->shared_rows,
                         .limit_slot = TN_RTL_NONE};
    return TN_OK;
}

static tn_status read_matrix(maker *with, rows_kernel *of, uint32_t which, uint32_t array) {
    return matrix_view(with, array, with->at->rows, with->at->columns, of->row, of->column, &of->view[which]);
}

static tn_status read_vector(maker *with, rows_kernel *of, uint32_t which, uint32_t array) {
    return vector_view(with, array, with->at->columns, of->column, &of->view[which]);
}

/* One pass: y from one or two arrays. */
static tn_status elementwise(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    of.pass.a = &of.view[0];
    if (o->read_count > 1) {
        if (strcmp(with->step->array[o->reads[1]].part, "bias") == 0) /* one for every row */
            TN_TRY(read_vector(with, &of, 1, o->reads[1]));
        else
            TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
        of.pass.b = &of.view[1];
    }
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.result = &of.view[4];
    return add_pass(with, &of.pass);
}

/* Sums down the columns: of dY, or of dY with X and its statistics. */
static tn_status column_sums(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    of.pass.a = &of.view[0];
    if (o->read_count > 2) {
        TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
        TN_TRY(rows_of(with, o->reads[2], o->rows, &of.pass.first_row));
        of.pass.b = &of.view[1];
    }
    TN_TRY(read_vector(with, &of, 4, o->writes[0]));
    of.pass.result = &of.view[4];
    return add_pass(with, &of.pass);
}

static tn_status norm(maker *with) {
    const tn_operation *o = with->at;
    bool layer_norm = o->kind == TN_OP_LAYER_NORM;
    uint32_t last = tn_circuit_passes(o->kind) - 1;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_vector(with, &of, 1, o->reads[1]));
    if (layer_norm) TN_TRY(read_vector(with, &of, 2, o->reads[2]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    TN_TRY(rows_of(with, o->writes[1], o->rows, &of.pass.first_row));
    of.pass.constant[0] = 1 / (double)o->columns;
    of.pass.constant[1] = with->options->epsilon;
    for (uint32_t p = 0; p <= last; p++) {
        bool of_rows = tn_operation_rows[o->kind].pass[p].form == TN_PASS_PER_ROW;
        of.pass.pass = p;
        of.pass.a = of_rows ? NULL : &of.view[0];
        of.pass.b = p == last ? &of.view[1] : NULL;
        of.pass.c = p == last && layer_norm ? &of.view[2] : NULL;
        of.pass.result = p == last ? &of.view[4] : NULL;
        TN_TRY(add_pass(with, &of.pass));
    }
    return TN_OK;
}

static tn_status norm_gradient(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
    TN_TRY(rows_of(with, o->reads[2], o->rows, &of.pass.first_row));
    TN_TRY(read_vector(with, &of, 2, o->reads[3]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.constant[0] = 1 / (double)o->columns;
    for (uint32_t p = 0; p < 3; p++) {
        of.pass.pass = p;
        of.pass.a = p == 1 ? NULL : &of.view[0];
        of.pass.b = p == 1 ? NULL : &of.view[1];
        of.pass.c = p == 1 ? NULL : &of.view[2];
        of.pass.result = p == 2 ? &of.view[4] : NULL;
        TN_TRY(add_pass(with, &of.pass));
    }
    return TN_OK;
}

static tn_status cross_entropy(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    tn_rtl_head *head = &with->to->head[with->to->heads++];
    *head = (tn_rtl_head){.layer = o->layer,
                          .rows = o->rows,
                          .first_label = with->labels,
                          .first_row = with->scalar_rows,
                          .of_example = with->model->layer[o->layer].sequence == 1};
    with->labels += o->rows;
    with->scalar_rows += o->rows;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.first_row = head->first_row;
    of.pass.first_label = head->first_label;
    for (uint32_t p = 0; p < 4; p++) {
        of.pass.pass = p;
        of.pass.a = p < 2 ? &of.view[0] : p == 3 ? &of.view[4] : NULL;
        of.pass.result = p == 1 || p == 3 ? &of.view[4] : NULL;
        TN_TRY(add_pass(with, &of.pass));
    }
    return TN_OK;
}

static tn_status update(maker *with) {
    const tn_operation *o = with->at;
    uint32_t parameter = with->to->array_of[o->reads[0]], gradient = with->to->array_of[o->reads[1]];
    if (parameter == TN_RTL_NONE || gradient == TN_RTL_NONE)
        return tn_fail(with->error, TN_INPUT, "an update of an array that no operation made has no template");
    view w = fixed_view(with, parameter), g = fixed_view(with, gradient), to = w;
    if (w.axes != g.axes || memcmp(w.dims, g.dims, w.axes * sizeof *w.dims) != 0)
        return tn_fail(with->error, TN_INPUT,
                       "%s and its gradient have different axes; no template updates that",
                       with->array[parameter].name);
    return fixed_pass(with, TN_OP_UPDATE_SGD, 0, &w, &g, &to, with->options->rate);
}

/* ---- rows by token ---- */

/* A row of an array of rows x columns, which a word of the sample names. */
static tn_status row_view(maker *with, uint32_t array, uint64_t columns, const tn_rtl_slot *which, view *of) {
    uint64_t rows = with->step->array[array].elements / columns;
    TN_TRY(matrix_view(with, array, rows, columns, TN_RTL_NONE, TN_RTL_NONE, of));
    return look_at(with, of, 0, which);
}

static tn_status lookup(maker *with) {
    const tn_operation *o = with->at;
    bool table = with->step->array[o->reads[0]].role == TN_ARRAY_PARAMETER;
    for (uint64_t i = 0; i < o->rows; i++) {
        view from, to;
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i},
                          there = {.kind = table ? TN_RTL_SLOT_DIGIT : TN_RTL_SLOT_FIXED,
                                   .value = table ? i : i * with->model->sequence,
                                   .radix = table ? with->model->layer[o->layer].rows : 0,
                                   .below = 1};
        TN_TRY(row_view(with, o->reads[0], o->columns, &there, &from));
        TN_TRY(row_view(with, o->writes[0], o->columns, &here, &to));
        TN_TRY(fixed_pass(with, TN_OP_LOOKUP, 0, &from, NULL, &to, 0));
    }
    return TN_OK;
}

static tn_status scatter(maker *with) {
    const tn_operation *o = with->at;
    bool table = with->model->layer[o->layer].kind->is_lookup,
         positions = with->step->array[o->writes[0]].role == TN_ARRAY_GRADIENT && !table;
    if (positions) { /* one example: every row goes to its own */
        rows_kernel of;
        TN_TRY(begin_rows(with, &of));
        of.pass.kind = TN_OP_LOOKUP;
        TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
        TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
        of.pass.a = &of.view[0];
        of.pass.result = &of.view[4];
        return add_pass(with, &of.pass);
    }
    view whole;
    TN_TRY(matrix_view(with, o->writes[0], with->step->array[o->writes[0]].elements / o->columns, o->columns,
                       TN_RTL_NONE, TN_RTL_NONE, &whole));
    if (o->read_count == 1) TN_TRY(clear(with, o->writes[0]));
    for (uint64_t i = 0; i < o->rows; i++) {
        view from, sum, to;
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i},
                          there = {.kind = table ? TN_RTL_SLOT_DIGIT : TN_RTL_SLOT_FIXED,
                                   .value = table ? i : i * with->model->sequence,
                                   .radix = table ? with->model->layer[o->layer].rows : 0,
                                   .below = 1};
        TN_TRY(row_view(with, o->reads[0], o->columns, &here, &from));
        TN_TRY(row_view(with, o->writes[0], o->columns, &there, &sum));
        to = sum;
        TN_TRY(fixed_pass(with, TN_OP_ADD, 0, &sum, &from, &to, 0));
    }
    return TN_OK;
}

/* ---- the list ---- */

static tn_status lower(maker *with) {
    switch (with->at->kind) {
    case TN_OP_PRODUCT:
        return with->at->program_step ? program_product(with) : attention_product(with);
    case TN_OP_LOOKUP:
        return lookup(with);
    case TN_OP_SCATTER:
        return scatter(with);
    case TN_OP_ADD:
    case TN_OP_SUBTRACT:
    case TN_OP_GELU:
    case TN_OP_GELU_GRADIENT:
    case TN_OP_TANH:
    case TN_OP_TANH_GRADIENT:
    case TN_OP_RELU:
    case TN_OP_RELU_GRADIENT:
        return elementwise(with);
    case TN_OP_COLUMN_SUM:
    case TN_OP_SCALE_GRADIENT:
    case TN_OP_RMS_SCALE_GRADIENT:
        return column_sums(with);
    case TN_OP_SOFTMAX:
    case TN_OP_SOFTMAX_GRADIENT:
        return softmax(with);
    case TN_OP_LAYER_NORM:
    case TN_OP_RMS_NORM:
        return norm(with);
    case TN_OP_LAYER_NORM_GRADIENT:
    case TN_OP_RMS_NORM_GRADIENT:
        return norm_gradient(with);
    case TN_OP_CROSS_ENTROPY:
        return cross_entropy(with);
    case TN_OP_UPDATE_SGD:
        return update(with);
    case TN_OP_UPDATE_MOMENTUM:
    case TN_OP_UPDATE_ADAM:
    case TN_OP_SELECT:
    case TN_OPERATION_KINDS:
        break;
    }
    bool update = with->at->kind == TN_OP_UPDATE_MOMENTUM || with->at->kind == TN_OP_UPDATE_ADAM;
    return tn_fail(with->error, TN_INPUT, "%s: %s has no template%s", with->step->layer[with->at->layer].name,
                   tn_operation_rows[with->at->kind].kernel, update ? "; train with optimizer: sgd" : "");
}

static tn_status lower_all(maker *with) {
    const tn_step *step = with->step;
    uint64_t shared = 1;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind == TN_OP_SOFTMAX && step->operation[i].rows > shared)
            shared = step->operation[i].rows;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind != TN_OP_PRODUCT && step->operation[i].rows > shared &&
            step->operation[i].kind < TN_OP_UPDATE_SGD)
            shared = step->operation[i].rows;
    with->scalar_rows = shared;
    for (uint32_t i = 0; i < step->operations; i++) {
        uint32_t first = with->operations;
        with->at = &step->operation[i];
        if (with->options->layer != UINT32_MAX && with->at->layer != with->options->layer) continue;
        if (with->at->phase == TN_UPDATE && !with->options->update) continue;
        TN_TRY(lower(with));
        uint32_t *grown;
        TN_TRY(tn_arena_alloc(with->arena, (size_t)with->operations + 1, sizeof *grown, &grown, with->error));
        if (first > 0) memcpy(grown, with->to->of_operation, first * sizeof *grown);
        for (uint32_t k = first; k < with->operations; k++) grown[k] = i;
        with->to->of_operation = grown;
    }
    return TN_OK;
}

/* ---- memories ---- */

static uint32_t stored(const maker *with, uint32_t array) {
    return with->array[array].view_of ? with->array[array].view_of - 1 : array;
}

/* What an operation reads at once. */
static uint32_t operands_of(const maker *with, const tn_rtl_operation *operation, uint32_t list[3]) {
    const uint32_t all[3] = {operation->left, operation->right, operation->extra};
    uint32_t count = 0;
    for (int i = 0; i < 3; i++)
        if (operation->pass ? operation->pass->reads[i] : i < 2) list[count++] = stored(with, all[i]);
    return count;
}

static bool meets(const maker *with, const tn_rtl_operation *operation, uint32_t a, uint32_t b) {
    uint32_t list[3], count = operands_of(with, operation, list);
    bool has_a = false, has_b = false;
    for (uint32_t i = 0; i < count; i++) {
        has_a = has_a || list[i] == a;
        has_b = has_b || list[i] == b;
    }
    return has_a && has_b;
}

/* Memories that the array may not lie in: those of earlier arrays that some operation reads beside it. */
static void find_taken(const maker *with, uint32_t array, bool *taken) {
    for (uint32_t i = 0; i < with->operations; i++) {
        uint32_t list[3], count = operands_of(with, &with->operation[i], list);
        for (uint32_t k = 0; k < count; k++)
            if (list[k] < array && meets(with, &with->operation[i], array, list[k]))
                taken[with->array[list[k]].memory] = true;
    }
}

static tn_status place_arrays(maker *with) {
    enum { MEMORIES_MOST = 16 };
    tn_rtl_memory *memory;
    tn_rtl_design *design = &with->to->design;
    TN_TRY(tn_arena_alloc(with->arena, MEMORIES_MOST, sizeof *memory, &memory, with->error));
    for (uint32_t a = 0; a < with->arrays; a++) {
        tn_rtl_array *array = &with->array[a];
        bool taken[MEMORIES_MOST + 1] = {false};
        if (array->view_of) continue;
        find_taken(with, a, taken);
        array->memory = 0;
        while (array->memory < MEMORIES_MOST && taken[array->memory]) array->memory++;
        if (array->memory == MEMORIES_MOST)
            return tn_fail(with->error, TN_INPUT, "the step wants more than %d memories", MEMORIES_MOST);
        if (array->memory >= design->memories) design->memories = array->memory + 1;
        array->base = memory[array->memory].depth;
        memory[array->memory].depth += tn_rtl_strides_of(&array->layout).depth;
    }
    for (uint32_t m = 0; m < design->memories; m++) {
        memory[m].banks = with->banks;
        memory[m].word = with->word;
        memory[m].style = with->options->style;
        if (memory[m].style == TN_STYLE_AUTO)
            memory[m].style = tn_memory_style_auto(TN_RTL_ELEMENT_BITS * with->word, memory[m].depth,
                                                   with->options->lutram_bits_most);
    }
    for (uint32_t a = 0; a < with->arrays; a++) {
        tn_rtl_array *array = &with->array[a];
        if (!array->view_of) continue;
        array->memory = with->array[array->view_of - 1].memory;
        array->base = with->array[array->view_of - 1].base;
    }
    design->memory = memory;
    return TN_OK;
}

/* Every view must find every element where its storage has it. */
static tn_status check_view(const maker *with, const tn_rtl_array *of, const tn_rtl_array *store) {
    tn_rtl_strides seen = tn_rtl_strides_of(&of->layout), own = tn_rtl_strides_of(&store->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, y[TN_BANK_LAYOUT_AXES] = {0}, elements = 1;
    for (uint32_t k = 0; k < of->layout.axes; k++) elements *= of->layout.dims[k];
    for (uint64_t i = 0; i < elements; i++) {
        tn_rtl_place a = tn_rtl_place_of(&of->layout, &seen, x), b = tn_rtl_place_of(&store->layout, &own, y);
        if (!seen.told || !own.told || a.bank != b.bank || a.word != b.word || a.element != b.element)
            return tn_fail(with->error, TN_INPUT,
                           "%s: words of %" PRIu64
                           " features do not fit all of its uses; no template builds that",
                           store->name, with->word);
        for (uint32_t k = of->layout.axes; k-- > 0;) {
            if (++x[k] < of->layout.dims[k]) break;
            x[k] = 0;
        }
        for (uint32_t k = store->layout.axes; k-- > 0;) {
            if (++y[k] < store->layout.dims[k]) break;
            y[k] = 0;
        }
    }
    return TN_OK;
}

static bool same_shape(const tn_bank_layout *a, const tn_bank_layout *b) {
    return a->axes == b->axes && memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
           memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 &&
           memcmp(a->skew[0], b->skew[0], a->axes * sizeof *a->skew[0]) == 0;
}

static tn_status check_views(const maker *with) {
    for (uint32_t a = 0; a < with->arrays; a++) {
        const tn_rtl_array *of = &with->array[a];
        if (!of->view_of || same_shape(&of->layout, &with->array[of->view_of - 1].layout)) continue;
        bool known = false; /* an earlier pair of the same shapes */
        for (uint32_t b = 0; b < a && !known; b++)
            known = with->array[b].view_of && same_shape(&with->array[b].layout, &of->layout) &&
                    same_shape(&with->array[with->array[b].view_of - 1].layout,
                               &with->array[of->view_of - 1].layout);
        if (!known) TN_TRY(check_view(with, of, &with->array[of->view_of - 1]));
    }
    return TN_OK;
}

/* ---- the whole ---- */

static uint64_t power_below(uint64_t value) {
    uint64_t power = 1;
    while (2 * power <= value) power *= 2;
    return power;
}

static uint64_t power_dividing(uint64_t value, uint64_t most) {
    while (most > 1 && value % most != 0) most /= 2;
    return most;
}

/* Words as wide as the lanes, if every activation that is split into several indices has them whole. */
static void choose_word(maker *with) {
    const tn_rtl_step_options *o = with->options;
    uint64_t edge = o->rows > o->columns ? o->rows : o->columns;
    with->word = power_below(o->vector < TN_RTL_WORD_MOST ? o->vector : TN_RTL_WORD_MOST);
    with->banks = power_below(edge > o->terms ? edge : o->terms);
    if (with->banks > TN_RTL_BANKS_MOST) with->banks = TN_RTL_BANKS_MOST;
    for (uint32_t l = 0; l < with->step->layers; l++) {
        const tn_step_layer *layer = &with->step->layer[l];
        const tn_layer *of = &with->model->layer[l];
        if (of->heads) {
            with->word = power_dividing(of->width / of->heads, with->word);
            with->word = power_dividing(with->model->layer[of->input[0]].width / of->heads, with->word);
        }
        if (!layer->program) continue;
        for (uint32_t t = 0; t < layer->program->tensors; t++) {
            const tn_program_tensor *tensor = &layer->program->tensor[t];
            if (!is_activation(tensor->role, of->kind->is_lookup) || tensor->indices.count < 3) continue;
            with->word = power_dividing(
                layer->program->index_size[tensor->indices.index[tensor->indices.count - 1]], with->word);
        }
    }
}

static tn_status check_step(const maker *with) {
    const tn_step *step = with->step;
    const tn_rtl_step_options *o = with->options;
    if (step->batch != 1)
        return tn_fail(with->error, TN_INPUT, "batch %" PRIu64 "; the step is generated for one example",
                       step->batch);
    bool fp32 = tn_number_format_same(&step->formats->accumulate, &tn_fp32);
    for (int value = 0; value < TN_VALUES; value++)
        fp32 = fp32 && tn_number_format_same(&step->formats->operand[value], &tn_fp32);
    if (!fp32)
        return tn_fail(with->error, TN_INPUT, "precision %s; the templates compute in fp32 alone",
                       step->precision);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].arithmetic)
            return tn_fail(with->error, TN_INPUT,
                           "%s multiplies in a precision of its own, which no template does",
                           step->layer[step->operation[i].layer].name);
    if (o->vector > TN_CIRCUIT_LANES_MOST)
        return tn_fail(with->error, TN_INPUT, "%" PRIu64 " vector lanes; the templates take at most %d",
                       o->vector, TN_CIRCUIT_LANES_MOST);
    return TN_OK;
}

tn_status tn_rtl_program_make(const tn_model *model, const tn_step *step, const tn_rtl_step_options *options,
                              tn_arena *arena, tn_rtl_program *program, tn_error *error) {
    maker with = {
        .model = model, .step = step, .options = options, .arena = arena, .error = error, .to = program};
    *program = (tn_rtl_program){0};
    TN_TRY(check_step(&with));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *program->array_of, &program->array_of, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *with.rows_of, &with.rows_of, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *with.cleared, &with.cleared, error));
    TN_TRY(tn_arena_alloc(arena, step->layers, sizeof *program->head, &program->head, error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        program->array_of[a] = TN_RTL_NONE;
        with.rows_of[a] = UINT64_MAX;
    }
    choose_word(&with);
    TN_TRY(lower_all(&with));
    TN_TRY(place_arrays(&with));
    TN_TRY(check_views(&with));
    tn_rtl_design *design = &program->design;
    design->rows = options->rows;
    design->columns = options->columns;
    design->terms = options->terms;
    design->vector = options->vector;
    design->multiply_cycles = options->latencies.of[TN_MULTIPLY];
    design->add_cycles = options->latencies.of[TN_ADDER];
    design->rate = options->rate;
    design->latencies = options->latencies;
    design->arrays = with.arrays;
    design->operations = with.operations;
    design->array = with.array;
    design->operation = with.operation;
    design->scalar_rows = with.scalar_rows;
    design->sample_words = with.slots ? with.slots : 1;
    design->sample_labels = with.labels ? (uint32_t)with.labels : 1;
    design->samples = 1;
    if (with.slots == 0) TN_TRY(grow(&with, &program->slot, &with.slots_room, 0, sizeof *program->slot));
    return tn_rtl_design_check(design, error);
}
