#include "space/design_column.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "price/obstacle.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Where the device has an amount of that name. */
static double amount_named(const tn_resources *has, const char *name) {
    for (int i = 0; i < TN_RESOURCES; i++)
        if (strcmp(tn_resource_names[i], name) == 0) return (double)tn_resource_amount(has, (tn_resource)i);
    return NAN;
}

static bool is_rank_list(const tn_axis *choice, size_t digit) {
    return choice->rank_list && choice->rank_list[digit].count > 0;
}

double tn_choice_number(const tn_axis *choice, size_t digit) {
    double real;
    if (choice->kind == TN_AXIS_FOLDING) return NAN;
    if (!choice->text || !choice->text[digit] || is_rank_list(choice, digit))
        return (double)choice->number[digit];
    return tn_read_real(choice->text[digit], &real) == TN_NUMBER_OK ? real : NAN;
}

static tn_design_column column_of_choice(const tn_axis *choice, size_t place) {
    tn_design_column made = {
        .name = choice->key, .kind = TN_DESIGN_CHOICE, .place = place, .choice = choice, .whole = NAN};
    for (size_t i = 0; i < choice->count; i++) {
        bool number = !isnan(tn_choice_number(choice, i));
        made.has_numbers |= number;
        made.has_texts |= !number || is_rank_list(choice, i);
    }
    return made;
}

tn_status tn_design_columns_of(const tn_choices *choices, const tn_resources *has, tn_arena *arena,
                               tn_design_columns *columns, tn_error *error) {
    *columns = (tn_design_columns){.count = 1 + choices->count + tn_quantities_count};
    TN_TRY(TN_NEW(arena, columns->count, &columns->column, error));
    tn_design_column *next = columns->column;
    *next++ = (tn_design_column){.name = "id", .kind = TN_DESIGN_ID, .has_numbers = true, .whole = NAN};
    for (size_t i = 0; i < choices->count; i++) *next++ = column_of_choice(&choices->axis[i], i);
    for (size_t i = 0; i < tn_quantities_count; i++)
        *next++ = (tn_design_column){.name = tn_quantities[i].name,
                                     .kind = TN_DESIGN_QUANTITY,
                                     .place = i,
                                     .has_numbers = true,
                                     .whole = amount_named(has, tn_quantities[i].name)};
    return TN_OK;
}

const tn_design_column *tn_design_column_named(const tn_design_columns *columns, const char *name,
                                               size_t length) {
    for (size_t i = 0; i < columns->count; i++)
        if (strncmp(columns->column[i].name, name, length) == 0 && columns->column[i].name[length] == '\0')
            return &columns->column[i];
    return NULL;
}

/* By the last word of a choice's key, or the first of a quantity's title (rank, latency), where one column alone has it. */
static const tn_design_column *named_shortly(const tn_design_columns *columns, const char *name,
                                             size_t length) {
    const tn_design_column *found = NULL;
    for (size_t i = 0; i < columns->count; i++) {
        const tn_design_column *column = &columns->column[i];
        const char *dot = strrchr(column->name, '.'), *last = dot ? dot + 1 : NULL;
        const tn_word *word = column->kind == TN_DESIGN_QUANTITY ? tn_word_find(column->name) : NULL;
        bool same = last && strlen(last) == length && memcmp(last, name, length) == 0;
        if (word && strncmp(word->title, name, length) == 0)
            same |= word->title[length] == '\0' || strcmp(word->title + length, " of a step") == 0;
        if (same && found) return NULL;
        if (same) found = column;
    }
    return found;
}

const tn_design_column *tn_design_column_meant(const tn_design_columns *columns, const char *name,
                                               size_t length) {
    const tn_design_column *column = tn_design_column_named(columns, name, length);
    return column ? column : named_shortly(columns, name, length);
}

tn_status tn_design_column_find(const tn_design_columns *columns, const char *name, size_t length,
                                tn_position position, const tn_design_column **column, tn_error *error) {
    enum { SHOWN_DESIGN_COLUMNS = 64 };
    tn_arena scratch = {0};
    const char **known, *near = NULL, *given;
    *column = tn_design_column_meant(columns, name, length);
    if (*column) return TN_OK;
    if (length > SHOWN_DESIGN_COLUMNS) length = SHOWN_DESIGN_COLUMNS;
    tn_status status = tn_arena_copy_text(&scratch, name, length, &given, error);
    if (status == TN_OK) status = TN_NEW(&scratch, columns->count, &known, error);
    if (status == TN_OK) {
        for (size_t i = 0; i < columns->count; i++) known[i] = columns->column[i].name;
        near = tn_suggest(given, known, columns->count);
        status = tn_fail_at(error, TN_INPUT, position, "unknown quantity or choice '%s'; %s%s%s", given,
                            near ? "did you mean '" : "the head of front.csv names them", near ? near : "",
                            near ? "'?" : "");
    }
    tn_arena_free(&scratch);
    return status;
}

static double quantity(const tn_candidate *design, const tn_quantity *which) {
    return design->value ? design->value[which - tn_quantities] : which->get(design->evaluation);
}

tn_span tn_candidate_span(const tn_candidate *design, const tn_quantity *which) {
    return tn_quantity_span(which, design->known, quantity(design, which),
                            design->most ? which->get(design->most) : INFINITY);
}

size_t tn_candidate_digit(const tn_choices *choices, const tn_candidate *design, size_t choice) {
    return design->digit ? design->digit[choice] : tn_choices_digit(choices, design->id, choice);
}

double tn_candidate_number(const tn_choices *choices, const tn_design_column *column,
                           const tn_candidate *design) {
    if (column->kind == TN_DESIGN_ID) return (double)design->id;
    if (column->kind == TN_DESIGN_QUANTITY) return quantity(design, &tn_quantities[column->place]);
    return tn_choice_number(column->choice, tn_candidate_digit(choices, design, column->place));
}

void tn_candidate_text(const tn_choices *choices, const tn_design_column *column, const tn_candidate *design,
                       tn_buffer *out) {
    char text[32];
    double value;
    switch (column->kind) {
    case TN_DESIGN_ID:
        tn_buffer_format(out, "%" PRIu64, design->id);
        return;
    case TN_DESIGN_CHOICE:
        tn_axis_value(column->choice, tn_candidate_digit(choices, design, column->place), out);
        return;
    case TN_DESIGN_QUANTITY:
        value = quantity(design, &tn_quantities[column->place]);
        if (tn_quantity_is_obstacle(&tn_quantities[column->place]) && !isnan(value)) {
            char key[TN_OBSTACLE_TEXT];
            tn_buffer_text(out, tn_obstacle_key((uint32_t)value, key));
            return;
        }
        if (tn_quantities[column->place].whole && !isnan(value)) {
            tn_buffer_format(out, "%" PRIu64, (uint64_t)value);
            return;
        }
        tn_real_text(value, text, sizeof text);
        tn_buffer_text(out, text);
    }
}
