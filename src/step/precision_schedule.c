/* Operands of products whose format changes with a run: they begin in `precision_schedule.begin` and end in that of
 * `precision`, from narrow to wide (FAST: Zhang, McDanel, Kung, HPCA 2022) or from wide to narrow, FP32 first. They change
 * by shares of the steps and of the layers, or from narrow to wide by FAST's rule, where an operand X stays narrow in layer l of
 * L and step i of I where r(X) = sum |wide - narrow| / |sum narrow| is at most a - b i / I - b l / L.
 *
 * One kernel serves both formats. Two block floating points of one group and exponent, whose mantissas are whole chunks of
 * TN_CHUNK_BITS bits, share multipliers of a chunk and a sign, which take a pair of chunks in a pass. Any others have
 * multipliers each, beside each other, and common sums (kernel/kernel.h). Arrays are kept in the wider of both. */
#include "model/technique.h"
#include "step/transformation.h"

static bool wanted(const tn_model *model) {
    return model->keys.schedule.schedule_at.line > 0;
}

static bool is_chunked(const tn_number_format *format) {
    return format->kind == TN_BLOCK_FLOATING && format->mantissa_bits % TN_CHUNK_BITS == 0;
}

/* Whether all operands begin and end in chunks of one group and exponent. */
static bool shares_chunks(const tn_builder *b) {
    const tn_number_format *begin = &b->model->keys.schedule.begin;
    for (int i = 0; i < TN_VALUES; i++) {
        const tn_number_format *end = &b->model->keys.formats.operand[i];
        if (!is_chunked(begin) || !is_chunked(end) || end->group != begin->group ||
            end->exponent_bits != begin->exponent_bits)
            return false;
    }
    return true;
}

static tn_status check(const tn_builder *b, bool chunked) {
    const tn_precision_schedule *schedule = &b->model->keys.schedule;
    bool changes = false, grows = true;
    for (int i = 0; i < TN_VALUES; i++) {
        const tn_number_format *end = &b->model->keys.formats.operand[i];
        if (end->kind == TN_OUTLIER_PAIRS || schedule->begin.kind == TN_OUTLIER_PAIRS)
            return tn_fail_at(
                b->error, TN_INPUT, schedule->begin_at,
                "precision_schedule is of outlier-victim pairs, which have one format throughout");
        changes |= !tn_number_format_same(&schedule->begin, end);
        grows &= tn_number_format_bits(&schedule->begin) < tn_number_format_bits(end);
    }
    if (!changes)
        return tn_fail_at(b->error, TN_INPUT, schedule->begin_at,
                          "precision_schedule begins with the format that it ends in, that of precision");
    if (schedule->a > 0 && !(chunked && grows))
        return tn_fail_at(
            b->error, TN_INPUT, schedule->begin_at,
            "precision_schedule.a is FAST's rule, by which mantissas of whole chunks of 2 bits grow, of one "
            "group and exponent, such as from bfp16,8,2 to a precision.products of bfp16,8,4");
    return TN_OK;
}

static double chunks(const tn_number_format *format) {
    return (double)(format->mantissa_bits / TN_CHUNK_BITS);
}

/* What a kernel of chunks holds whole. */
static tn_number_format widest(const tn_builder *b) {
    tn_number_format format = b->model->keys.schedule.begin;
    for (int i = 0; i < TN_VALUES; i++)
        if (tn_number_format_bits(&b->model->keys.formats.operand[i]) > tn_number_format_bits(&format))
            format = b->model->keys.formats.operand[i];
    return format;
}

/* Passes of a product, the mean over the run. */
static double passes_of(const tn_builder *b, const tn_operation *o, const tn_arithmetic *arithmetic) {
    const tn_precision_schedule *schedule = &b->model->keys.schedule;
    double begin = chunks(&schedule->begin), left = chunks(&arithmetic->left),
           right = chunks(&arithmetic->right);
    double layer = (double)(o->layer + 1) / (double)b->model->layers;
    if (schedule->a > 0)
        return (schedule->wide_share * left + (1 - schedule->wide_share) * begin) *
               (schedule->wide_share * right + (1 - schedule->wide_share) * begin);
    double share = layer <= schedule->layers ? schedule->steps : 0;
    return share * begin * begin + (1 - share) * left * right;
}

/* Arrays that products alone read are kept as the wider format takes them. */
static tn_status keep_wider(tn_builder *b) {
    const tn_number_format *begin = &b->model->keys.schedule.begin;
    tn_formats *formats;
    TN_TRY(TN_NEW(b->arena, 1, &formats, b->error));
    *formats = *b->step->formats;
    for (int i = 0; i < TN_VALUES; i++)
        if (tn_number_format_bits(begin) > tn_number_format_bits(&formats->operand[i]))
            formats->operand[i] = *begin;
    b->step->formats = formats;
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const bool chunked = shares_chunks(b);
    const tn_arithmetic plain = tn_arithmetic_of(&b->model->keys.formats.accumulate);
    TN_TRY(check(b, chunked));
    TN_TRY(keep_wider(b));
    b->formatted = true;
    b->step->schedule = &b->model->keys.schedule;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = earlier[i];
        if (o.kind == TN_OP_PRODUCT) {
            tn_arithmetic *both;
            TN_TRY(TN_NEW(b->arena, 1, &both, b->error));
            *both = o.arithmetic ? *o.arithmetic : plain;
            if (chunked) {
                both->chunk_bits = TN_CHUNK_BITS;
                both->begin = widest(b);
                o.cycle_ratio = passes_of(b, &o, both) * (o.cycle_ratio > 0 ? o.cycle_ratio : 1);
            } else {
                both->begin = b->model->keys.schedule.begin;
                both->begins = 1;
            }
            o.arithmetic = both;
        }
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

static const char *const excluded[] = {"outlier-pairs", "inference", NULL};

const tn_transformation tn_growing_precision = {
    .name = "growing-precision",
    .keys = "precision_schedule",
    .source = "Zhang, McDanel, Kung, FAST, HPCA 2022",
    .needs = "operators of both formats on the device",
    .changes = "matmul kernels serve two formats, in chunks of 2 bits (cycles of products by their passes, "
               "the mean over the "
               "run) or with multipliers of both",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
