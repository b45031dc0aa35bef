#include "space/expression.h"

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

static double choice_number(const tn_axis *choice, size_t digit) {
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
        bool number = !isnan(choice_number(choice, i));
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

tn_status tn_design_column_find(const tn_design_columns *columns, const char *name, size_t length,
                                tn_position position, const tn_design_column **column, tn_error *error) {
    enum { SHOWN_DESIGN_COLUMNS = 64 };
    tn_arena scratch = {0};
    const char **known, *near = NULL, *given;
    *column = tn_design_column_named(columns, name, length);
    if (!*column) *column = named_shortly(columns, name, length);
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

static double quantity(const tn_design_column *column, const tn_candidate *design) {
    if (design->value) return design->value[column->place];
    return tn_quantities[column->place].get(design->evaluation);
}

size_t tn_candidate_digit(const tn_choices *choices, const tn_candidate *design, size_t choice) {
    return design->digit ? design->digit[choice] : tn_choices_digit(choices, design->id, choice);
}

double tn_candidate_number(const tn_choices *choices, const tn_design_column *column,
                           const tn_candidate *design) {
    if (column->kind == TN_DESIGN_ID) return (double)design->id;
    if (column->kind == TN_DESIGN_QUANTITY) return quantity(column, design);
    return choice_number(column->choice, tn_candidate_digit(choices, design, column->place));
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
        value = quantity(column, design);
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

enum { LEVELS_MOST = 64, NUMBER_TEXT = 64, ALL_PERCENT = 100, SHOWN = 60 };

/* ---- words ---- */

typedef enum { WORD, QUOTED, SIGN, OPEN, CLOSE, PERCENT, END } token_kind;

typedef struct {
    token_kind kind;
    const char *text; /* in the source; QUOTED: behind the quote */
    size_t length;
    unsigned column; /* of the source, from 0 */
} token;

typedef enum { LESS, AT_MOST, GREATER, AT_LEAST, EQUAL, UNEQUAL, COMPARATORS } comparator;
static const char *const signs[COMPARATORS] = {"<", "<=", ">", ">=", "=", "!="};

/* ---- the tree ---- */

typedef enum { OPERAND_COLUMN, OPERAND_NUMBER, OPERAND_VALUE } operand_kind;

typedef struct {
    operand_kind kind;
    const tn_design_column *column;
    double number;
    size_t digit; /* VALUE: the place of the text among the values of the choice beside it */
} operand;

typedef enum { NODE_COMPARE, NODE_AND, NODE_OR, NODE_NOT } node_kind;

typedef struct node {
    node_kind kind;
    comparator sign;
    operand left, right;
    const struct node *a, *b;
} node;

struct tn_expression {
    const node *root;
    const char *text;
};

typedef struct {
    const char *text;
    tn_position position;
    const tn_design_columns *columns;
    tn_arena *arena;
    tn_error *error;
    token next;
    unsigned level;
    tn_buffer canonical;
    token_kind last; /* put into canonical */
} parser;

static tn_position place(const parser *parse, unsigned column) {
    tn_position position = parse->position;
    if (position.column) position.column += column;
    return position;
}

static bool is_word_end(char c) {
    return c == '\0' || strchr(" \t\r\n()<>=!%'\"&|", c) != NULL;
}

/* Appends the token that was read to the text with one blank between words. */
static void put_canonical(parser *parse) {
    const token *t = &parse->next;
    bool tight = parse->canonical.length == 0 || parse->last == OPEN || t->kind == CLOSE;
    if (t->kind == END) return;
    if (!tight) tn_buffer_text(&parse->canonical, " ");
    if (t->kind == QUOTED)
        tn_buffer_bytes(&parse->canonical, t->text - 1, t->length + 2);
    else if (t->kind == SIGN && t->length == 2 && t->text[0] == '=')
        tn_buffer_text(&parse->canonical, "=");
    else
        tn_buffer_bytes(&parse->canonical, t->text, t->length);
    parse->last = t->kind;
}

static tn_status advance(parser *parse) {
    const char *source = parse->next.text + parse->next.length + (parse->next.kind == QUOTED);
    source += strspn(source, " \t\r\n");
    token *t = &parse->next;
    *t = (token){.kind = END, .text = source, .column = (unsigned)(source - parse->text)};
    if (*source == '\0') return TN_OK;
    t->length = 1;
    if (*source == '(')
        t->kind = OPEN;
    else if (*source == ')')
        t->kind = CLOSE;
    else if (*source == '%')
        t->kind = PERCENT;
    else if (*source == '\'' || *source == '"') {
        const char *end = strchr(source + 1, *source);
        if (!end)
            return tn_fail_at(parse->error, TN_INPUT, place(parse, t->column),
                              "a text begins here and does not end; close it with %c", *source);
        *t = (token){
            .kind = QUOTED, .text = source + 1, .length = (size_t)(end - source - 1), .column = t->column};
    } else if (strchr("<>=!", *source)) {
        t->kind = SIGN;
        t->length = source[1] == '=' ? 2 : 1;
    } else if (*source == '&' || *source == '|') {
        return tn_fail_at(parse->error, TN_INPUT, place(parse, t->column),
                          "'%c' is no word of an expression; write %s", *source,
                          *source == '&' ? "and" : "or");
    } else {
        t->kind = WORD;
        while (!is_word_end(source[t->length])) t->length++;
    }
    put_canonical(parse);
    return TN_OK;
}

static bool is_word(const parser *parse, const char *word) {
    return parse->next.kind == WORD && parse->next.length == strlen(word) &&
           strncmp(parse->next.text, word, parse->next.length) == 0;
}

static bool is_keyword(const parser *parse) {
    return is_word(parse, "and") || is_word(parse, "or") || is_word(parse, "not");
}

/* ---- operands ---- */

/* An operand as it is written. */
typedef struct {
    token word;
    bool percent;
    token unit;                     /* of a number, behind it; length 0: none */
    const tn_design_column *column; /* NULL: a number or a text */
} written;

static bool read_number(const written *output, double *value);

static tn_status read_written(parser *parse, written *text) {
    const token *t = &parse->next;
    *text = (written){.word = *t};
    if ((t->kind != WORD && t->kind != QUOTED) || is_keyword(parse)) {
        int length = t->length < SHOWN ? (int)t->length : SHOWN;
        return tn_fail_at(parse->error, TN_INPUT, place(parse, t->column),
                          "%s%.*s%s; a comparison is such as bram18 <= 80 %%",
                          t->kind == END ? "a quantity, a choice or a number is missing" : "'", length,
                          t->text,
                          t->kind == END ? "" : "' stands where a quantity, a choice or a number should");
    }
    double number;
    bool is_word = t->kind == WORD && !read_number(text, &number), is_number = t->kind == WORD && !is_word;
    if (is_word) text->column = tn_design_column_named(parse->columns, t->text, t->length);
    if (is_word && !text->column) text->column = named_shortly(parse->columns, t->text, t->length);
    TN_TRY(advance(parse));
    if (is_number && parse->next.kind == WORD && !is_keyword(parse)) {
        text->unit = parse->next;
        return advance(parse);
    }
    text->percent = parse->next.kind == PERCENT;
    return text->percent ? advance(parse) : TN_OK;
}

static bool read_number(const written *output, double *value) {
    char text[NUMBER_TEXT];
    if (output->word.kind != WORD || output->word.length >= sizeof text) return false;
    memcpy(text, output->word.text, output->word.length);
    text[output->word.length] = '\0';
    return tn_read_real(text, value) == TN_NUMBER_OK;
}

static tn_status resolve_percent(const parser *parse, const written *text, const tn_design_column *other,
                                 double *value) {
    const tn_position position = place(parse, text->word.column);
    if (isnan(other->whole) && other->kind == TN_DESIGN_QUANTITY &&
        strcmp(tn_word_unit(other->name), "%") == 0) {
        *value /= ALL_PERCENT;
        return TN_OK;
    }
    if (isnan(other->whole))
        return tn_fail_at(parse->error, TN_INPUT, position,
                          "%s is no resource of the device, so %g %% of it is no amount; give a number",
                          other->name, *value);
    if (*value < 0 || *value > ALL_PERCENT)
        return tn_fail_at(parse->error, TN_INPUT, position,
                          "%g %% of the device's %s; a share is 0 %% to 100 %%", *value, other->name);
    *value = *value / ALL_PERCENT * other->whole;
    return TN_OK;
}

/* 5 ms beside a quantity in seconds is 0.005. */
static tn_status resolve_unit(const parser *parse, const written *text, const tn_design_column *other,
                              double *value) {
    const char *unit = other->kind == TN_DESIGN_QUANTITY ? tn_word_unit(other->name) : "1";
    double factor = tn_unit_factor(unit, text->unit.text, text->unit.length);
    int length = text->unit.length < SHOWN ? (int)text->unit.length : SHOWN;
    if (factor == 0)
        return tn_fail_at(parse->error, TN_INPUT, place(parse, text->unit.column),
                          "'%.*s' is no unit of %s%s%s; leave it out, or give a number alone", length,
                          text->unit.text, other->name, *unit && *unit != '1' ? ", which is in " : "",
                          *unit != '1' ? unit : "");
    *value *= factor;
    return TN_OK;
}

static tn_status refuse_text(const parser *parse, const written *text, const tn_design_column *other) {
    int length = text->word.length < SHOWN ? (int)text->word.length : SHOWN;
    return tn_fail_at(parse->error, TN_INPUT, place(parse, text->word.column),
                      "%s is compared with '%.*s'; it is compared with a number%s, or another quantity",
                      other->name, length, text->word.text, isnan(other->whole) ? "" : ", such as 80 %");
}

/* The place of a text among the values of the choice beside it. */
static tn_status resolve_value(const parser *parse, const written *text, const tn_design_column *other,
                               size_t *digit) {
    enum { SUGGESTED_FROM = 1024 };
    const tn_axis *choice = other->choice;
    const char *known[SUGGESTED_FROM], *given;
    size_t count = choice->count < SUGGESTED_FROM ? choice->count : SUGGESTED_FROM;
    tn_buffer value = {0};
    tn_status status = TN_OK;
    for (*digit = 0; *digit < choice->count; ++*digit) {
        value.length = 0;
        tn_axis_value(choice, *digit, &value);
        if (value.status != TN_OK) break;
        if (value.length == text->word.length && memcmp(value.data, text->word.text, value.length) == 0)
            break;
        if (*digit < count)
            status = tn_arena_copy_text(parse->arena, value.data, value.length, &known[*digit], parse->error);
        if (status != TN_OK) break;
    }
    bool none = value.status != TN_OK;
    tn_buffer_free(&value);
    if (none) return tn_fail(parse->error, TN_MEMORY, "no memory for an expression");
    if (status != TN_OK || *digit < choice->count) return status;
    TN_TRY(tn_arena_copy_text(parse->arena, text->word.text, text->word.length, &given, parse->error));
    const char *near = tn_suggest(given, known, count);
    return tn_fail_at(parse->error, TN_INPUT, place(parse, text->word.column),
                      "%s has no value '%.*s'; %s '%s'%s", other->name, SHOWN, given,
                      near ? "did you mean" : "it has for instance", near ? near : known[0], near ? "?" : "");
}

/* What is written beside the column `other` (NULL: beside none). */
static tn_status resolve(const parser *parse, const written *text, const tn_design_column *other,
                         comparator sign, operand *made) {
    const tn_position position = place(parse, text->word.column);
    *made = (operand){.kind = OPERAND_COLUMN, .column = text->column};
    if (text->column) {
        if (text->percent)
            return tn_fail_at(parse->error, TN_INPUT, position,
                              "%s %% is no amount; a percentage is such as 80 %%", text->column->name);
        return TN_OK;
    }
    made->kind = OPERAND_NUMBER;
    bool number = read_number(text, &made->number);
    if (!other && !number && text->word.kind == WORD) {
        const tn_design_column *ignored;
        return tn_design_column_find(parse->columns, text->word.text, text->word.length, position, &ignored,
                                     parse->error);
    }
    if (!other)
        return tn_fail_at(parse->error, TN_INPUT, position,
                          "a comparison needs a quantity or a choice on one of its sides");
    if (number && text->unit.length) TN_TRY(resolve_unit(parse, text, other, &made->number));
    if (number && text->percent) TN_TRY(resolve_percent(parse, text, other, &made->number));
    if (number && (other->has_numbers || text->percent)) return TN_OK;
    if (!other->has_texts || text->percent) return refuse_text(parse, text, other);
    if (sign != EQUAL && sign != UNEQUAL)
        return tn_fail_at(parse->error, TN_INPUT, position,
                          "%s has texts, which are equal or not (=, !=), and neither less nor more",
                          other->name);
    made->kind = OPERAND_VALUE;
    return resolve_value(parse, text, other, &made->digit);
}

/* ---- grammar ---- */

static tn_status new_node(parser *parse, node_kind kind, const node *a, const node *b, const node **made) {
    node *next;
    TN_TRY(TN_NEW(parse->arena, 1, &next, parse->error));
    *next = (node){.kind = kind, .a = a, .b = b};
    *made = next;
    return TN_OK;
}

static tn_status read_sign(parser *parse, comparator *sign) {
    const token *t = &parse->next;
    size_t length = t->length;
    const char *text = t->text;
    if (length == 2 && *text == '=') length = 1; /* == is = */
    for (int i = 0; i < COMPARATORS; i++)
        if (strlen(signs[i]) == length && strncmp(signs[i], text, length) == 0) {
            *sign = (comparator)i;
            return advance(parse);
        }
    return tn_fail_at(parse->error, TN_INPUT, place(parse, t->column),
                      "'%.*s' compares nothing; write not, or != for unequal", (int)t->length, text);
}

static tn_status compare(parser *parse, const written *left, comparator sign, const written *right,
                         const node **made) {
    node *next;
    TN_TRY(TN_NEW(parse->arena, 1, &next, parse->error));
    next->kind = NODE_COMPARE;
    next->sign = sign;
    if (left->column && right->column && (!left->column->has_numbers || !right->column->has_numbers))
        return refuse_text(parse, left->column->has_numbers ? left : right,
                           left->column->has_numbers ? right->column : left->column);
    TN_TRY(resolve(parse, left, right->column, sign, &next->left));
    TN_TRY(resolve(parse, right, left->column, sign, &next->right));
    *made = next;
    return TN_OK;
}

static tn_status parse_comparison(parser *parse, const node **made) {
    written left, right;
    comparator sign;
    *made = NULL;
    TN_TRY(read_written(parse, &left));
    if (parse->next.kind != SIGN) {
        int length = left.word.length < SHOWN ? (int)left.word.length : SHOWN;
        return tn_fail_at(parse->error, TN_INPUT, place(parse, left.word.column),
                          "'%.*s' alone says nothing; a comparison is such as bram18 <= 80 %%", length,
                          left.word.text);
    }
    while (parse->next.kind == SIGN) {
        const node *one;
        TN_TRY(read_sign(parse, &sign));
        TN_TRY(read_written(parse, &right));
        TN_TRY(compare(parse, &left, sign, &right, &one));
        if (*made) TN_TRY(new_node(parse, NODE_AND, *made, one, &one));
        *made = one;
        left = right;
    }
    return TN_OK;
}

static tn_status parse_or(parser *parse, const node **made);

static tn_status parse_term(parser *parse, const node **made) {
    if (parse->level >= LEVELS_MOST)
        return tn_fail_at(parse->error, TN_LIMIT, place(parse, parse->next.column),
                          "over %d levels of parentheses and not", LEVELS_MOST);
    if (is_word(parse, "not")) {
        const node *entry;
        TN_TRY(advance(parse));
        parse->level++;
        TN_TRY(parse_term(parse, &entry));
        parse->level--;
        return new_node(parse, NODE_NOT, entry, NULL, made);
    }
    if (parse->next.kind != OPEN) return parse_comparison(parse, made);
    unsigned opened = parse->next.column;
    TN_TRY(advance(parse));
    parse->level++;
    TN_TRY(parse_or(parse, made));
    parse->level--;
    if (parse->next.kind != CLOSE)
        return tn_fail_at(parse->error, TN_INPUT, place(parse, parse->next.column),
                          "the parenthesis of column %u is not closed; a ) is missing here", opened + 1);
    return advance(parse);
}

static tn_status parse_and(parser *parse, const node **made) {
    TN_TRY(parse_term(parse, made));
    while (is_word(parse, "and")) {
        const node *right;
        TN_TRY(advance(parse));
        TN_TRY(parse_term(parse, &right));
        TN_TRY(new_node(parse, NODE_AND, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_or(parser *parse, const node **made) {
    TN_TRY(parse_and(parse, made));
    while (is_word(parse, "or")) {
        const node *right;
        TN_TRY(advance(parse));
        TN_TRY(parse_and(parse, &right));
        TN_TRY(new_node(parse, NODE_OR, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_all(parser *parse, const node **root) {
    TN_TRY(advance(parse));
    TN_TRY(parse_or(parse, root));
    if (parse->next.kind == END) return TN_OK;
    int length = parse->next.length < SHOWN ? (int)parse->next.length : SHOWN;
    return tn_fail_at(parse->error, TN_INPUT, place(parse, parse->next.column),
                      "'%.*s' follows a whole comparison; join comparisons by and, or", length,
                      parse->next.text);
}

tn_status tn_expression_parse(const char *text, tn_position position, const tn_design_columns *columns,
                              tn_arena *arena, tn_expression **expression, tn_error *error) {
    parser parse = {.text = text,
                    .position = position,
                    .columns = columns,
                    .arena = arena,
                    .error = error,
                    .next = {.kind = OPEN, .text = text}};
    tn_expression *made;
    const node *root;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    tn_status status = parse_all(&parse, &root);
    if (status == TN_OK && parse.canonical.status != TN_OK)
        status = tn_fail(error, parse.canonical.status, "no memory for an expression");
    if (status == TN_OK)
        status = tn_arena_copy_text(arena, parse.canonical.data, parse.canonical.length, &made->text, error);
    tn_buffer_free(&parse.canonical);
    made->root = root;
    if (status == TN_OK) *expression = made;
    return status;
}

/* ---- truth ---- */

static bool is_open(const tn_design_column *column, const tn_candidate *design) {
    return design->open && design->open[column->place];
}

/* Where choices are open, any of their values may have come to it. */
static tn_span span_of_id(const tn_choices *choices, const tn_candidate *design) {
    uint64_t most = design->id;
    if (choices->is_vast && design->open) return tn_any_number;
    for (size_t i = 0; design->open && i < choices->count; i++)
        if (design->open[i]) most += (choices->axis[i].count - 1) * choices->stride[i];
    return (tn_span){(double)design->id, (double)most};
}

static tn_span span_of_choice(const tn_design_column *column, const tn_choices *choices,
                              const tn_candidate *design) {
    const tn_axis *choice = column->choice;
    tn_span span = {INFINITY, -INFINITY};
    if (!is_open(column, design)) {
        const double number = tn_candidate_number(choices, column, design);
        return (tn_span){number, number};
    }
    for (size_t i = 0; i < choice->count; i++) {
        const double number = choice_number(choice, i);
        if (isnan(number)) return tn_any_number;
        span = (tn_span){fmin(span.least, number), fmax(span.most, number)};
    }
    return span;
}

static tn_span span_of(const operand *value, const tn_choices *choices, const tn_candidate *design) {
    const tn_design_column *column = value->column;
    if (value->kind == OPERAND_NUMBER) return (tn_span){value->number, value->number};
    if (column->kind == TN_DESIGN_ID) return span_of_id(choices, design);
    if (column->kind == TN_DESIGN_CHOICE) return span_of_choice(column, choices, design);
    return tn_quantity_span(&tn_quantities[column->place], design->known, quantity(column, design));
}

/* FALSE < UNKNOWN < TRUE, whereby `and` is the least, `or` the greatest, and `not` turns the sign. */
enum { FALSE = -1, UNKNOWN = 0, TRUE = 1 };

/* The truths that a condition may have. */
typedef struct {
    int least, most;
} truths;

static const truths any_truth = {FALSE, TRUE};

static truths truth_of(bool possible, bool certain) {
    return (truths){certain ? TRUE : FALSE, possible ? TRUE : FALSE};
}

static truths inverse(truths of) {
    return (truths){-of.most, -of.least};
}

static truths truth_of_value(const node *entry, const tn_choices *choices, const tn_candidate *design) {
    bool left = entry->left.kind == OPERAND_VALUE;
    const tn_design_column *column = left ? entry->right.column : entry->left.column;
    size_t digit = left ? entry->left.digit : entry->right.digit;
    if (is_open(column, design)) return any_truth;
    bool equal = tn_candidate_digit(choices, design, column->place) == digit,
         holds = equal == (entry->sign == EQUAL);
    return truth_of(holds, holds);
}

static truths truth_of_comparison(const node *entry, const tn_choices *choices, const tn_candidate *design) {
    if (entry->left.kind == OPERAND_VALUE || entry->right.kind == OPERAND_VALUE)
        return truth_of_value(entry, choices, design);
    const tn_span a = span_of(&entry->left, choices, design), b = span_of(&entry->right, choices, design);
    if (isnan(a.least) || isnan(b.least)) return (truths){UNKNOWN, UNKNOWN};
    const bool less = a.least < b.most, surely_less = a.most < b.least, at_most = a.least <= b.most,
               surely_at_most = a.most <= b.least;
    switch (entry->sign) {
    case LESS:
        return truth_of(less, surely_less);
    case AT_MOST:
        return truth_of(at_most, surely_at_most);
    case GREATER:
        return inverse(truth_of(at_most, surely_at_most));
    case AT_LEAST:
        return inverse(truth_of(less, surely_less));
    default: {
        const bool equal = at_most && b.least <= a.most,
                   surely_equal = a.least == a.most && b.least == b.most && a.least == b.least;
        const truths of = truth_of(equal, surely_equal);
        return entry->sign == EQUAL ? of : inverse(of);
    }
    }
}

static truths truth(const node *entry, const tn_choices *choices, const tn_candidate *design) {
    if (entry->kind == NODE_COMPARE) return truth_of_comparison(entry, choices, design);
    const truths a = truth(entry->a, choices, design);
    if (entry->kind == NODE_NOT) return inverse(a);
    const truths b = truth(entry->b, choices, design);
    const bool both = entry->kind == NODE_AND;
    return (truths){both == (a.least < b.least) ? a.least : b.least,
                    both == (a.most < b.most) ? a.most : b.most};
}

bool tn_expression_holds(const tn_expression *expression, const tn_choices *choices,
                         const tn_candidate *design) {
    return truth(expression->root, choices, design).most == TRUE;
}

/* ---- what it says ---- */

const char *tn_expression_text(const tn_expression *expression) {
    return expression->text;
}

static bool mentions(const node *entry, const char *column) {
    if (entry->kind != NODE_COMPARE)
        return mentions(entry->a, column) || (entry->b && mentions(entry->b, column));
    return (entry->left.kind == OPERAND_COLUMN && strcmp(entry->left.column->name, column) == 0) ||
           (entry->right.kind == OPERAND_COLUMN && strcmp(entry->right.column->name, column) == 0);
}

bool tn_expression_mentions(const tn_expression *expression, const char *column) {
    return mentions(expression->root, column);
}

/* One comparison of a quantity with a number, the quantity on the left. */
static bool is_bound(const node *entry, const tn_quantity **quantity, comparator *sign, double *bound) {
    static const comparator turned[COMPARATORS] = {GREATER, AT_LEAST, LESS, AT_MOST, EQUAL, UNEQUAL};
    bool left = entry->left.kind == OPERAND_COLUMN;
    const operand *column = left ? &entry->left : &entry->right,
                  *number = left ? &entry->right : &entry->left;
    if (entry->kind != NODE_COMPARE || column->kind != OPERAND_COLUMN || number->kind != OPERAND_NUMBER ||
        column->column->kind != TN_DESIGN_QUANTITY || entry->sign == UNEQUAL)
        return false;
    *quantity = &tn_quantities[column->column->place];
    *sign = left ? entry->sign : turned[entry->sign];
    *bound = number->number;
    return true;
}

static bool narrow(const node *entry, const tn_quantity **quantity, double *least, double *most) {
    const tn_quantity *own;
    comparator sign;
    double bound;
    if (entry->kind == NODE_AND)
        return narrow(entry->a, quantity, least, most) && narrow(entry->b, quantity, least, most);
    if (!is_bound(entry, &own, &sign, &bound) || (*quantity && *quantity != own)) return false;
    *quantity = own;
    if (sign == LESS) bound = nextafter(bound, -INFINITY);
    if (sign == GREATER) bound = nextafter(bound, INFINITY);
    if (sign != GREATER && sign != AT_LEAST) *most = fmin(*most, bound);
    if (sign != LESS && sign != AT_MOST) *least = fmax(*least, bound);
    return true;
}

static double most_of(const node *entry, const tn_quantity *quantity) {
    const tn_quantity *own = NULL;
    double least = -INFINITY, most = INFINITY;
    if (entry->kind == NODE_AND) return fmin(most_of(entry->a, quantity), most_of(entry->b, quantity));
    return narrow(entry, &own, &least, &most) && own == quantity ? most : INFINITY;
}

double tn_expression_most(const tn_expression *expression, const tn_quantity *quantity) {
    return most_of(expression->root, quantity);
}

bool tn_expression_bounds(const tn_expression *expression, const tn_quantity **quantity, double *least,
                          double *most) {
    *quantity = NULL;
    *least = -INFINITY;
    *most = INFINITY;
    return narrow(expression->root, quantity, least, most);
}
