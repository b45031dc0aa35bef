#include "space/expression.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "text/number.h"

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

tn_status tn_design_column_find(const tn_design_columns *columns, const char *name, size_t length,
                                tn_position at, const tn_design_column **column, tn_error *error) {
    enum { SHOWN_DESIGN_COLUMNS = 64 };
    tn_arena scratch = {0};
    const char **known, *near = NULL, *given;
    *column = tn_design_column_named(columns, name, length);
    if (*column) return TN_OK;
    if (length > SHOWN_DESIGN_COLUMNS) length = SHOWN_DESIGN_COLUMNS;
    tn_status status = tn_arena_copy_text(&scratch, name, length, &given, error);
    if (status == TN_OK) status = TN_NEW(&scratch, columns->count, &known, error);
    if (status == TN_OK) {
        for (size_t i = 0; i < columns->count; i++) known[i] = columns->column[i].name;
        near = tn_suggest(given, known, columns->count);
        status = tn_fail_at(error, TN_INPUT, at, "unknown quantity or choice '%s'; %s%s%s", given,
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
    tn_position at;
    const tn_design_columns *columns;
    tn_arena *arena;
    tn_error *error;
    token next;
    unsigned level;
    tn_buffer canonical;
    token_kind last; /* put into canonical */
} parser;

static tn_position place(const parser *with, unsigned column) {
    tn_position at = with->at;
    if (at.column) at.column += column;
    return at;
}

static bool is_word_end(char c) {
    return c == '\0' || strchr(" \t\r\n()<>=!%'\"&|", c) != NULL;
}

/* Appends the token that was read to the text with one blank between words. */
static void put_canonical(parser *with) {
    const token *t = &with->next;
    bool tight = with->canonical.length == 0 || with->last == OPEN || t->kind == CLOSE;
    if (t->kind == END) return;
    if (!tight) tn_buffer_text(&with->canonical, " ");
    if (t->kind == QUOTED)
        tn_buffer_bytes(&with->canonical, t->text - 1, t->length + 2);
    else if (t->kind == SIGN && t->length == 2 && t->text[0] == '=')
        tn_buffer_text(&with->canonical, "=");
    else
        tn_buffer_bytes(&with->canonical, t->text, t->length);
    with->last = t->kind;
}

static tn_status advance(parser *with) {
    const char *from = with->next.text + with->next.length + (with->next.kind == QUOTED);
    from += strspn(from, " \t\r\n");
    token *t = &with->next;
    *t = (token){.kind = END, .text = from, .column = (unsigned)(from - with->text)};
    if (*from == '\0') return TN_OK;
    t->length = 1;
    if (*from == '(')
        t->kind = OPEN;
    else if (*from == ')')
        t->kind = CLOSE;
    else if (*from == '%')
        t->kind = PERCENT;
    else if (*from == '\'' || *from == '"') {
        const char *end = strchr(from + 1, *from);
        if (!end)
            return tn_fail_at(with->error, TN_INPUT, place(with, t->column),
                              "a text begins here and does not end; close it with %c", *from);
        *t = (token){
            .kind = QUOTED, .text = from + 1, .length = (size_t)(end - from - 1), .column = t->column};
    } else if (strchr("<>=!", *from)) {
        t->kind = SIGN;
        t->length = from[1] == '=' ? 2 : 1;
    } else if (*from == '&' || *from == '|') {
        return tn_fail_at(with->error, TN_INPUT, place(with, t->column),
                          "'%c' is no word of an expression; write %s", *from, *from == '&' ? "and" : "or");
    } else {
        t->kind = WORD;
        while (!is_word_end(from[t->length])) t->length++;
    }
    put_canonical(with);
    return TN_OK;
}

static bool is_word(const parser *with, const char *word) {
    return with->next.kind == WORD && with->next.length == strlen(word) &&
           strncmp(with->next.text, word, with->next.length) == 0;
}

static bool is_keyword(const parser *with) {
    return is_word(with, "and") || is_word(with, "or") || is_word(with, "not");
}

/* ---- operands ---- */

/* An operand as it is written. */
typedef struct {
    token word;
    bool percent;
    const tn_design_column *column; /* NULL: a number or a text */
} written;

static tn_status read_written(parser *with, written *of) {
    const token *t = &with->next;
    *of = (written){.word = *t};
    if ((t->kind != WORD && t->kind != QUOTED) || is_keyword(with)) {
        int length = t->length < SHOWN ? (int)t->length : SHOWN;
        return tn_fail_at(with->error, TN_INPUT, place(with, t->column),
                          "%s%.*s%s; a comparison is such as bram18 <= 80 %%",
                          t->kind == END ? "a quantity, a choice or a number is missing" : "'", length,
                          t->text,
                          t->kind == END ? "" : "' stands where a quantity, a choice or a number should");
    }
    if (t->kind == WORD) of->column = tn_design_column_named(with->columns, t->text, t->length);
    TN_TRY(advance(with));
    of->percent = with->next.kind == PERCENT;
    return of->percent ? advance(with) : TN_OK;
}

static bool read_number(const written *of, double *value) {
    char text[NUMBER_TEXT];
    if (of->word.kind != WORD || of->word.length >= sizeof text) return false;
    memcpy(text, of->word.text, of->word.length);
    text[of->word.length] = '\0';
    return tn_read_real(text, value) == TN_NUMBER_OK;
}

static tn_status resolve_percent(const parser *with, const written *of, const tn_design_column *beside,
                                 double *value) {
    const tn_position at = place(with, of->word.column);
    if (isnan(beside->whole))
        return tn_fail_at(with->error, TN_INPUT, at,
                          "%s is no resource of the device, so %g %% of it is no amount; give a number",
                          beside->name, *value);
    if (*value < 0 || *value > ALL_PERCENT)
        return tn_fail_at(with->error, TN_INPUT, at, "%g %% of the device's %s; a share is 0 %% to 100 %%",
                          *value, beside->name);
    *value = *value / ALL_PERCENT * beside->whole;
    return TN_OK;
}

static tn_status refuse_text(const parser *with, const written *of, const tn_design_column *beside) {
    int length = of->word.length < SHOWN ? (int)of->word.length : SHOWN;
    return tn_fail_at(with->error, TN_INPUT, place(with, of->word.column),
                      "%s is compared with '%.*s'; it is compared with a number%s, or another quantity",
                      beside->name, length, of->word.text, isnan(beside->whole) ? "" : ", such as 80 %");
}

/* The place of a text among the values of the choice beside it. */
static tn_status resolve_value(const parser *with, const written *of, const tn_design_column *beside,
                               size_t *digit) {
    enum { SUGGESTED_FROM = 1024 };
    const tn_axis *choice = beside->choice;
    const char *known[SUGGESTED_FROM], *given;
    size_t count = choice->count < SUGGESTED_FROM ? choice->count : SUGGESTED_FROM;
    tn_buffer value = {0};
    tn_status status = TN_OK;
    for (*digit = 0; *digit < choice->count; ++*digit) {
        value.length = 0;
        tn_axis_value(choice, *digit, &value);
        if (value.status != TN_OK) break;
        if (value.length == of->word.length && memcmp(value.data, of->word.text, value.length) == 0) break;
        if (*digit < count)
            status = tn_arena_copy_text(with->arena, value.data, value.length, &known[*digit], with->error);
        if (status != TN_OK) break;
    }
    bool none = value.status != TN_OK;
    tn_buffer_free(&value);
    if (none) return tn_fail(with->error, TN_MEMORY, "no memory for an expression");
    if (status != TN_OK || *digit < choice->count) return status;
    TN_TRY(tn_arena_copy_text(with->arena, of->word.text, of->word.length, &given, with->error));
    const char *near = tn_suggest(given, known, count);
    return tn_fail_at(with->error, TN_INPUT, place(with, of->word.column),
                      "%s has no value '%.*s'; %s '%s'%s", beside->name, SHOWN, given,
                      near ? "did you mean" : "it has for instance", near ? near : known[0], near ? "?" : "");
}

/* What is written beside the column `beside` (NULL: beside none). */
static tn_status resolve(const parser *with, const written *of, const tn_design_column *beside,
                         comparator sign, operand *made) {
    const tn_position at = place(with, of->word.column);
    *made = (operand){.kind = OPERAND_COLUMN, .column = of->column};
    if (of->column) {
        if (of->percent)
            return tn_fail_at(with->error, TN_INPUT, at, "%s %% is no amount; a percentage is such as 80 %%",
                              of->column->name);
        return TN_OK;
    }
    made->kind = OPERAND_NUMBER;
    bool number = read_number(of, &made->number);
    if (!beside && !number && of->word.kind == WORD) {
        const tn_design_column *ignored;
        return tn_design_column_find(with->columns, of->word.text, of->word.length, at, &ignored,
                                     with->error);
    }
    if (!beside)
        return tn_fail_at(with->error, TN_INPUT, at,
                          "a comparison needs a quantity or a choice on one of its sides");
    if (number && of->percent) TN_TRY(resolve_percent(with, of, beside, &made->number));
    if (number && (beside->has_numbers || of->percent)) return TN_OK;
    if (!beside->has_texts || of->percent) return refuse_text(with, of, beside);
    if (sign != EQUAL && sign != UNEQUAL)
        return tn_fail_at(with->error, TN_INPUT, at,
                          "%s has texts, which are equal or not (=, !=), and neither less nor more",
                          beside->name);
    made->kind = OPERAND_VALUE;
    return resolve_value(with, of, beside, &made->digit);
}

/* ---- grammar ---- */

static tn_status new_node(parser *with, node_kind kind, const node *a, const node *b, const node **made) {
    node *next;
    TN_TRY(TN_NEW(with->arena, 1, &next, with->error));
    *next = (node){.kind = kind, .a = a, .b = b};
    *made = next;
    return TN_OK;
}

static tn_status read_sign(parser *with, comparator *sign) {
    const token *t = &with->next;
    size_t length = t->length;
    const char *text = t->text;
    if (length == 2 && *text == '=') length = 1; /* == is = */
    for (int i = 0; i < COMPARATORS; i++)
        if (strlen(signs[i]) == length && strncmp(signs[i], text, length) == 0) {
            *sign = (comparator)i;
            return advance(with);
        }
    return tn_fail_at(with->error, TN_INPUT, place(with, t->column),
                      "'%.*s' compares nothing; write not, or != for unequal", (int)t->length, text);
}

static tn_status compare(parser *with, const written *left, comparator sign, const written *right,
                         const node **made) {
    node *next;
    TN_TRY(TN_NEW(with->arena, 1, &next, with->error));
    next->kind = NODE_COMPARE;
    next->sign = sign;
    if (left->column && right->column && (!left->column->has_numbers || !right->column->has_numbers))
        return refuse_text(with, left->column->has_numbers ? left : right,
                           left->column->has_numbers ? right->column : left->column);
    TN_TRY(resolve(with, left, right->column, sign, &next->left));
    TN_TRY(resolve(with, right, left->column, sign, &next->right));
    *made = next;
    return TN_OK;
}

static tn_status parse_comparison(parser *with, const node **made) {
    written left, right;
    comparator sign;
    *made = NULL;
    TN_TRY(read_written(with, &left));
    if (with->next.kind != SIGN) {
        int length = left.word.length < SHOWN ? (int)left.word.length : SHOWN;
        return tn_fail_at(with->error, TN_INPUT, place(with, left.word.column),
                          "'%.*s' alone says nothing; a comparison is such as bram18 <= 80 %%", length,
                          left.word.text);
    }
    while (with->next.kind == SIGN) {
        const node *one;
        TN_TRY(read_sign(with, &sign));
        TN_TRY(read_written(with, &right));
        TN_TRY(compare(with, &left, sign, &right, &one));
        if (*made) TN_TRY(new_node(with, NODE_AND, *made, one, &one));
        *made = one;
        left = right;
    }
    return TN_OK;
}

static tn_status parse_or(parser *with, const node **made);

static tn_status parse_term(parser *with, const node **made) {
    if (with->level >= LEVELS_MOST)
        return tn_fail_at(with->error, TN_LIMIT, place(with, with->next.column),
                          "over %d levels of parentheses and not", LEVELS_MOST);
    if (is_word(with, "not")) {
        const node *of;
        TN_TRY(advance(with));
        with->level++;
        TN_TRY(parse_term(with, &of));
        with->level--;
        return new_node(with, NODE_NOT, of, NULL, made);
    }
    if (with->next.kind != OPEN) return parse_comparison(with, made);
    unsigned opened = with->next.column;
    TN_TRY(advance(with));
    with->level++;
    TN_TRY(parse_or(with, made));
    with->level--;
    if (with->next.kind != CLOSE)
        return tn_fail_at(with->error, TN_INPUT, place(with, with->next.column),
                          "the parenthesis of column %u is not closed; a ) is missing here", opened + 1);
    return advance(with);
}

static tn_status parse_and(parser *with, const node **made) {
    TN_TRY(parse_term(with, made));
    while (is_word(with, "and")) {
        const node *right;
        TN_TRY(advance(with));
        TN_TRY(parse_term(with, &right));
        TN_TRY(new_node(with, NODE_AND, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_or(parser *with, const node **made) {
    TN_TRY(parse_and(with, made));
    while (is_word(with, "or")) {
        const node *right;
        TN_TRY(advance(with));
        TN_TRY(parse_and(with, &right));
        TN_TRY(new_node(with, NODE_OR, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_all(parser *with, const node **root) {
    TN_TRY(advance(with));
    TN_TRY(parse_or(with, root));
    if (with->next.kind == END) return TN_OK;
    int length = with->next.length < SHOWN ? (int)with->next.length : SHOWN;
    return tn_fail_at(with->error, TN_INPUT, place(with, with->next.column),
                      "'%.*s' follows a whole comparison; join comparisons by and, or", length,
                      with->next.text);
}

tn_status tn_expression_parse(const char *text, tn_position at, const tn_design_columns *columns,
                              tn_arena *arena, tn_expression **expression, tn_error *error) {
    parser with = {.text = text,
                   .at = at,
                   .columns = columns,
                   .arena = arena,
                   .error = error,
                   .next = {.kind = OPEN, .text = text}};
    tn_expression *made;
    const node *root;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    tn_status status = parse_all(&with, &root);
    if (status == TN_OK && with.canonical.status != TN_OK)
        status = tn_fail(error, with.canonical.status, "no memory for an expression");
    if (status == TN_OK)
        status = tn_arena_copy_text(arena, with.canonical.data, with.canonical.length, &made->text, error);
    tn_buffer_free(&with.canonical);
    made->root = root;
    if (status == TN_OK) *expression = made;
    return status;
}

/* ---- truth: -1 false, 0 not known, 1 true ---- */

static double number_of(const operand *of, const tn_choices *choices, const tn_candidate *design) {
    return of->kind == OPERAND_NUMBER ? of->number : tn_candidate_number(choices, of->column, design);
}

static int truth_of_value(const node *of, const tn_choices *choices, const tn_candidate *design) {
    bool left = of->left.kind == OPERAND_VALUE;
    const tn_design_column *column = left ? of->right.column : of->left.column;
    size_t digit = left ? of->left.digit : of->right.digit;
    bool equal = tn_candidate_digit(choices, design, column->place) == digit;
    return equal == (of->sign == EQUAL) ? 1 : -1;
}

static int truth_of_comparison(const node *of, const tn_choices *choices, const tn_candidate *design) {
    if (of->left.kind == OPERAND_VALUE || of->right.kind == OPERAND_VALUE)
        return truth_of_value(of, choices, design);
    double a = number_of(&of->left, choices, design), b = number_of(&of->right, choices, design);
    if (isnan(a) || isnan(b)) return 0;
    bool holds[COMPARATORS] = {
        [LESS] = a<b, [AT_MOST] = a <= b, [GREATER] = a> b,
        [AT_LEAST] = a >= b,
        [EQUAL] = a == b,
        [UNEQUAL] = a != b,
    };
    return holds[of->sign] ? 1 : -1;
}

static int truth(const node *of, const tn_choices *choices, const tn_candidate *design) {
    if (of->kind == NODE_COMPARE) return truth_of_comparison(of, choices, design);
    int a = truth(of->a, choices, design);
    if (of->kind == NODE_NOT) return -a;
    int b = truth(of->b, choices, design);
    return (of->kind == NODE_AND) == (a < b) ? a : b;
}

bool tn_expression_holds(const tn_expression *expression, const tn_choices *choices,
                         const tn_candidate *design) {
    return truth(expression->root, choices, design) > 0;
}

/* ---- what it says ---- */

const char *tn_expression_text(const tn_expression *expression) {
    return expression->text;
}

static bool mentions(const node *of, const char *column) {
    if (of->kind != NODE_COMPARE) return mentions(of->a, column) || (of->b && mentions(of->b, column));
    return (of->left.kind == OPERAND_COLUMN && strcmp(of->left.column->name, column) == 0) ||
           (of->right.kind == OPERAND_COLUMN && strcmp(of->right.column->name, column) == 0);
}

bool tn_expression_mentions(const tn_expression *expression, const char *column) {
    return mentions(expression->root, column);
}

/* One comparison of a quantity with a number, the quantity on the left. */
static bool is_bound(const node *of, const tn_quantity **quantity, comparator *sign, double *bound) {
    static const comparator turned[COMPARATORS] = {GREATER, AT_LEAST, LESS, AT_MOST, EQUAL, UNEQUAL};
    bool left = of->left.kind == OPERAND_COLUMN;
    const operand *column = left ? &of->left : &of->right, *number = left ? &of->right : &of->left;
    if (of->kind != NODE_COMPARE || column->kind != OPERAND_COLUMN || number->kind != OPERAND_NUMBER ||
        column->column->kind != TN_DESIGN_QUANTITY || of->sign == UNEQUAL)
        return false;
    *quantity = &tn_quantities[column->column->place];
    *sign = left ? of->sign : turned[of->sign];
    *bound = number->number;
    return true;
}

static bool narrow(const node *of, const tn_quantity **quantity, double *least, double *most) {
    const tn_quantity *own;
    comparator sign;
    double bound;
    if (of->kind == NODE_AND)
        return narrow(of->a, quantity, least, most) && narrow(of->b, quantity, least, most);
    if (!is_bound(of, &own, &sign, &bound) || (*quantity && *quantity != own)) return false;
    *quantity = own;
    if (sign == LESS) bound = nextafter(bound, -INFINITY);
    if (sign == GREATER) bound = nextafter(bound, INFINITY);
    if (sign != GREATER && sign != AT_LEAST) *most = fmin(*most, bound);
    if (sign != LESS && sign != AT_MOST) *least = fmax(*least, bound);
    return true;
}

bool tn_expression_bounds(const tn_expression *expression, const tn_quantity **quantity, double *least,
                          double *most) {
    *quantity = NULL;
    *least = -INFINITY;
    *most = INFINITY;
    return narrow(expression->root, quantity, least, most);
}
