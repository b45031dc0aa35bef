#include "model/precision.h"

tn_arithmetic tn_arithmetic_of(const tn_number_format *format) {
    bool sums = format->kind != TN_BLOCK_FLOATING && format->kind != TN_OUTLIER_PAIRS;
    return (tn_arithmetic){.left = *format, .right = *format, .sum = sums ? *format : tn_fp32};
}

bool tn_precision_schedule_begins(const tn_precision_schedule *schedule, double progress, double layer) {
    return progress < schedule->steps && layer <= schedule->layers;
}

static bool same_chunks(const tn_number_format *a, const tn_number_format *b) {
    return a->group == b->group && a->exponent_bits == b->exponent_bits;
}

bool tn_arithmetic_same(const tn_arithmetic *a, const tn_arithmetic *b) {
    if (a->chunk_bits != b->chunk_bits || !tn_number_format_same(&a->sum, &b->sum)) return false;
    if (a->chunk_bits) return same_chunks(&a->left, &b->left);
    if (a->begins != b->begins || (a->begins && !tn_number_format_same(&a->begin, &b->begin))) return false;
    return (tn_number_format_same(&a->left, &b->left) && tn_number_format_same(&a->right, &b->right)) ||
           (tn_number_format_same(&a->left, &b->right) && tn_number_format_same(&a->right, &b->left));
}
