#include "space/expression_tree.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "text/number.h"
#include "text/words.h"

#include <math.h>
#include <string.h>

enum { LEVELS_MOST = 64, NUMBER_TEXT = 64, ALL_PERCENT = 100, SHOWN = 60 };

/* ---- words ---- */

typedef enum { WORD, QUOTED, SIGN, OPEN, CLOSE, PERCENT, END } token_kind;

typedef struct {
    token_kind kind;
    const char *text; /* in the source; QUOTED: behind the quote */
    size_t length;
    unsigned column; /* of the source, from 0 */
} token;

static const char *const signs[TN_COMPARATORS] = {"<", "<=", ">", ">=", "=", "!="};

/* ---- the parser ---- */

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

/* An tn_expression_operand as it is written. */
typedef struct {
    token word;
    bool percent;
    token unit;                     /* of a number, behind it; length 0: none */
    const tn_design_column *column; /* NULL: a number or a text */
} written;

static bool read_number(const written *output, double *value);

/* What follows an operand may look like the sign of a sum or a product. */
static tn_status refuse_arithmetic(const parser *parse) {
    const token *t = &parse->next;
    if (t->kind != WORD || !strchr("+-*/", *t->text)) return TN_OK;
    return tn_fail_at(
        parse->error, TN_INPUT, place(parse, t->column),
        "expressions do not calculate, so '%c' has no place here; a comparison has one quantity or "
        "number on each side, such as bram18 <= 80 %%",
        *t->text);
}

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
    if (is_word) text->column = tn_design_column_meant(parse->columns, t->text, t->length);
    TN_TRY(advance(parse));
    TN_TRY(refuse_arithmetic(parse));
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
                         tn_comparator sign, tn_expression_operand *made) {
    const tn_position position = place(parse, text->word.column);
    *made = (tn_expression_operand){.kind = TN_OPERAND_COLUMN, .column = text->column};
    if (text->column) {
        if (text->percent)
            return tn_fail_at(parse->error, TN_INPUT, position,
                              "%s %% is no amount; a percentage is such as 80 %%", text->column->name);
        return TN_OK;
    }
    made->kind = TN_OPERAND_NUMBER;
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
    if (sign != TN_EQUAL && sign != TN_UNEQUAL)
        return tn_fail_at(parse->error, TN_INPUT, position,
                          "%s has texts, which are equal or not (=, !=), and neither less nor more",
                          other->name);
    made->kind = TN_OPERAND_VALUE;
    return resolve_value(parse, text, other, &made->digit);
}

/* ---- grammar ---- */

static tn_status new_node(parser *parse, tn_expression_node_kind kind, const tn_expression_node *a,
                          const tn_expression_node *b, const tn_expression_node **made) {
    tn_expression_node *next;
    TN_TRY(TN_NEW(parse->arena, 1, &next, parse->error));
    *next = (tn_expression_node){.kind = kind, .a = a, .b = b};
    *made = next;
    return TN_OK;
}

static tn_status read_sign(parser *parse, tn_comparator *sign) {
    const token *t = &parse->next;
    size_t length = t->length;
    const char *text = t->text;
    if (length == 2 && *text == '=') length = 1; /* == is = */
    for (int i = 0; i < TN_COMPARATORS; i++)
        if (strlen(signs[i]) == length && strncmp(signs[i], text, length) == 0) {
            *sign = (tn_comparator)i;
            return advance(parse);
        }
    return tn_fail_at(parse->error, TN_INPUT, place(parse, t->column),
                      "'%.*s' compares nothing; write not, or != for unequal", (int)t->length, text);
}

static tn_status compare(parser *parse, const written *left, tn_comparator sign, const written *right,
                         const tn_expression_node **made) {
    tn_expression_node *next;
    TN_TRY(TN_NEW(parse->arena, 1, &next, parse->error));
    next->kind = TN_NODE_COMPARE;
    next->sign = sign;
    if (left->column && right->column && (!left->column->has_numbers || !right->column->has_numbers))
        return refuse_text(parse, left->column->has_numbers ? left : right,
                           left->column->has_numbers ? right->column : left->column);
    TN_TRY(resolve(parse, left, right->column, sign, &next->left));
    TN_TRY(resolve(parse, right, left->column, sign, &next->right));
    *made = next;
    return TN_OK;
}

static tn_status parse_comparison(parser *parse, const tn_expression_node **made) {
    written left, right;
    tn_comparator sign;
    *made = NULL;
    TN_TRY(read_written(parse, &left));
    if (parse->next.kind != SIGN) {
        int length = left.word.length < SHOWN ? (int)left.word.length : SHOWN;
        return tn_fail_at(parse->error, TN_INPUT, place(parse, left.word.column),
                          "'%.*s' alone says nothing; a comparison is such as bram18 <= 80 %%", length,
                          left.word.text);
    }
    while (parse->next.kind == SIGN) {
        const tn_expression_node *one;
        TN_TRY(read_sign(parse, &sign));
        TN_TRY(read_written(parse, &right));
        TN_TRY(compare(parse, &left, sign, &right, &one));
        if (*made) TN_TRY(new_node(parse, TN_NODE_AND, *made, one, &one));
        *made = one;
        left = right;
    }
    return TN_OK;
}

static tn_status parse_or(parser *parse, const tn_expression_node **made);

static tn_status parse_term(parser *parse, const tn_expression_node **made) {
    if (parse->level >= LEVELS_MOST)
        return tn_fail_at(parse->error, TN_LIMIT, place(parse, parse->next.column),
                          "over %d levels of parentheses and not", LEVELS_MOST);
    if (is_word(parse, "not")) {
        const tn_expression_node *entry;
        TN_TRY(advance(parse));
        parse->level++;
        TN_TRY(parse_term(parse, &entry));
        parse->level--;
        return new_node(parse, TN_NODE_NOT, entry, NULL, made);
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

static tn_status parse_and(parser *parse, const tn_expression_node **made) {
    TN_TRY(parse_term(parse, made));
    while (is_word(parse, "and")) {
        const tn_expression_node *right;
        TN_TRY(advance(parse));
        TN_TRY(parse_term(parse, &right));
        TN_TRY(new_node(parse, TN_NODE_AND, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_or(parser *parse, const tn_expression_node **made) {
    TN_TRY(parse_and(parse, made));
    while (is_word(parse, "or")) {
        const tn_expression_node *right;
        TN_TRY(advance(parse));
        TN_TRY(parse_and(parse, &right));
        TN_TRY(new_node(parse, TN_NODE_OR, *made, right, made));
    }
    return TN_OK;
}

static tn_status parse_all(parser *parse, const tn_expression_node **root) {
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
    const tn_expression_node *root;
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
