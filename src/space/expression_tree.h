/* What an expression is made of, as it was parsed. Inside the room. */
#ifndef TN_SPACE_EXPRESSION_TREE_H
#define TN_SPACE_EXPRESSION_TREE_H

#include "space/expression.h"

typedef enum {
    TN_LESS,
    TN_AT_MOST,
    TN_GREATER,
    TN_AT_LEAST,
    TN_EQUAL,
    TN_UNEQUAL,
    TN_COMPARATORS
} tn_comparator;

typedef enum { TN_OPERAND_COLUMN, TN_OPERAND_NUMBER, TN_OPERAND_VALUE } tn_expression_operand_kind;

typedef struct {
    tn_expression_operand_kind kind;
    const tn_design_column *column;
    double number;
    size_t digit; /* VALUE: the place of the text among the values of the choice beside it */
} tn_expression_operand;

typedef enum { TN_NODE_COMPARE, TN_NODE_AND, TN_NODE_OR, TN_NODE_NOT } tn_expression_node_kind;

typedef struct tn_expression_node {
    tn_expression_node_kind kind;
    tn_comparator sign;
    tn_expression_operand left, right;
    const struct tn_expression_node *a, *b;
} tn_expression_node;

struct tn_expression {
    const tn_expression_node *root;
    const char *text;
};

#endif
