#include "space/expression_tree.h"

#include <math.h>
#include <string.h>

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
        const double number = tn_choice_number(choice, i);
        if (isnan(number)) return tn_any_number;
        span = (tn_span){fmin(span.least, number), fmax(span.most, number)};
    }
    return span;
}

static tn_span span_of(const tn_expression_operand *value, const tn_choices *choices,
                       const tn_candidate *design) {
    const tn_design_column *column = value->column;
    if (value->kind == TN_OPERAND_NUMBER) return (tn_span){value->number, value->number};
    if (column->kind == TN_DESIGN_ID) return span_of_id(choices, design);
    if (column->kind == TN_DESIGN_CHOICE) return span_of_choice(column, choices, design);
    return tn_candidate_span(design, &tn_quantities[column->place]);
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

static truths truth_of_value(const tn_expression_node *entry, const tn_choices *choices,
                             const tn_candidate *design) {
    bool left = entry->left.kind == TN_OPERAND_VALUE;
    const tn_design_column *column = left ? entry->right.column : entry->left.column;
    size_t digit = left ? entry->left.digit : entry->right.digit;
    if (is_open(column, design)) return any_truth;
    bool equal = tn_candidate_digit(choices, design, column->place) == digit,
         holds = equal == (entry->sign == TN_EQUAL);
    return truth_of(holds, holds);
}

static truths truth_of_comparison(const tn_expression_node *entry, const tn_choices *choices,
                                  const tn_candidate *design) {
    if (entry->left.kind == TN_OPERAND_VALUE || entry->right.kind == TN_OPERAND_VALUE)
        return truth_of_value(entry, choices, design);
    const tn_span a = span_of(&entry->left, choices, design), b = span_of(&entry->right, choices, design);
    if (isnan(a.least) || isnan(b.least)) return (truths){UNKNOWN, UNKNOWN};
    const bool less = a.least < b.most, surely_less = a.most < b.least, at_most = a.least <= b.most,
               surely_at_most = a.most <= b.least;
    switch (entry->sign) {
    case TN_LESS:
        return truth_of(less, surely_less);
    case TN_AT_MOST:
        return truth_of(at_most, surely_at_most);
    case TN_GREATER:
        return inverse(truth_of(at_most, surely_at_most));
    case TN_AT_LEAST:
        return inverse(truth_of(less, surely_less));
    default: {
        const bool equal = at_most && b.least <= a.most,
                   surely_equal = a.least == a.most && b.least == b.most && a.least == b.least;
        const truths of = truth_of(equal, surely_equal);
        return entry->sign == TN_EQUAL ? of : inverse(of);
    }
    }
}

static truths truth(const tn_expression_node *entry, const tn_choices *choices, const tn_candidate *design) {
    if (entry->kind == TN_NODE_COMPARE) return truth_of_comparison(entry, choices, design);
    const truths a = truth(entry->a, choices, design);
    if (entry->kind == TN_NODE_NOT) return inverse(a);
    const truths b = truth(entry->b, choices, design);
    const bool both = entry->kind == TN_NODE_AND;
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

static bool mentions(const tn_expression_node *entry, const char *column) {
    if (entry->kind != TN_NODE_COMPARE)
        return mentions(entry->a, column) || (entry->b && mentions(entry->b, column));
    return (entry->left.kind == TN_OPERAND_COLUMN && strcmp(entry->left.column->name, column) == 0) ||
           (entry->right.kind == TN_OPERAND_COLUMN && strcmp(entry->right.column->name, column) == 0);
}

bool tn_expression_mentions(const tn_expression *expression, const char *column) {
    return mentions(expression->root, column);
}

/* One comparison of a quantity with a number, the quantity on the left. */
static bool is_bound(const tn_expression_node *entry, const tn_quantity **quantity, tn_comparator *sign,
                     double *bound) {
    static const tn_comparator turned[TN_COMPARATORS] = {TN_GREATER, TN_AT_LEAST, TN_LESS,
                                                         TN_AT_MOST, TN_EQUAL,    TN_UNEQUAL};
    bool left = entry->left.kind == TN_OPERAND_COLUMN;
    const tn_expression_operand *column = left ? &entry->left : &entry->right,
                                *number = left ? &entry->right : &entry->left;
    if (entry->kind != TN_NODE_COMPARE || column->kind != TN_OPERAND_COLUMN ||
        number->kind != TN_OPERAND_NUMBER || column->column->kind != TN_DESIGN_QUANTITY ||
        entry->sign == TN_UNEQUAL)
        return false;
    *quantity = &tn_quantities[column->column->place];
    *sign = left ? entry->sign : turned[entry->sign];
    *bound = number->number;
    return true;
}

static bool narrow(const tn_expression_node *entry, const tn_quantity **quantity, double *least,
                   double *most) {
    const tn_quantity *own;
    tn_comparator sign;
    double bound;
    if (entry->kind == TN_NODE_AND)
        return narrow(entry->a, quantity, least, most) && narrow(entry->b, quantity, least, most);
    if (!is_bound(entry, &own, &sign, &bound) || (*quantity && *quantity != own)) return false;
    *quantity = own;
    if (sign == TN_LESS) bound = nextafter(bound, -INFINITY);
    if (sign == TN_GREATER) bound = nextafter(bound, INFINITY);
    if (sign != TN_GREATER && sign != TN_AT_LEAST) *most = fmin(*most, bound);
    if (sign != TN_LESS && sign != TN_AT_MOST) *least = fmax(*least, bound);
    return true;
}

static double most_of(const tn_expression_node *entry, const tn_quantity *quantity) {
    const tn_quantity *own = NULL;
    double least = -INFINITY, most = INFINITY;
    if (entry->kind == TN_NODE_AND) return fmin(most_of(entry->a, quantity), most_of(entry->b, quantity));
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
