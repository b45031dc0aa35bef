#include "train/rounding.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* --- the plan */

/* gradient[array]: made from a loss, by what is done before the updates. */
static tn_status find_gradients(const tn_step *step, tn_arena *arena, bool **gradient, tn_error *error) {
    bool *made;
    TN_TRY(TN_NEW(arena, step->arrays, &made, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        bool is_gradient = o->kind == TN_OP_CROSS_ENTROPY;
        if (o->phase == TN_UPDATE || o->phase == TN_FORWARD) continue;
        for (uint32_t k = 0; k < o->read_count; k++) is_gradient |= made[o->reads[k]];
        for (uint32_t k = 0; k < o->write_count; k++) made[o->writes[k]] |= is_gradient;
    }
    *gradient = made;
    return TN_OK;
}

static void plan_products(const tn_step *step, const bool *gradient, tn_operand_rounding (*rounding)[2]) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        if (o->kind != TN_OP_PRODUCT || !o->arithmetic) continue;
        const tn_number_format *format[] = {&o->arithmetic->left, &o->arithmetic->right};
        for (int k = 0; k < 2; k++) /* what is computed is no wider than fp32 */
            rounding[i][k] =
                (tn_operand_rounding){.format = tn_number_format_same(format[k], &tn_fp32) ? NULL : format[k],
                                      .gradient = gradient[o->reads[k]],
                                      .schedule = step->schedule,
                                      .layer = (double)(o->layer + 1) / (double)step->layers};
    }
}

tn_status tn_rounding_plan(const tn_step *step, tn_arena *arena, tn_operand_rounding (**rounding)[2],
                           tn_error *error) {
    bool wanted = false, *gradient;
    for (uint32_t i = 0; i < step->operations; i++)
        wanted |= step->operation[i].kind == TN_OP_PRODUCT && step->operation[i].arithmetic;
    *rounding = NULL;
    if (!wanted) return TN_OK;
    TN_TRY(TN_NEW(arena, step->operations, rounding, error));
    TN_TRY(find_gradients(step, arena, &gradient, error));
    plan_products(step, gradient, *rounding);
    return TN_OK;
}

/* --- products */

tn_status tn_rounding_grow(tn_rounding_room *room, size_t elements, size_t bytes, tn_error *error) {
    double *values, *narrow;
    char *operand[2];
    if (elements <= room->elements) return TN_OK;
    TN_TRY(TN_ALLOC(elements, &narrow, error));
    tn_free(room->narrow);
    room->narrow = narrow;
    TN_TRY(TN_ALLOC(elements, &values, error));
    tn_free(room->values);
    room->values = values;
    for (int k = 0; k < 2; k++) {
        TN_TRY(tn_alloc(elements, bytes, &operand[k], error));
        tn_free(room->operand[k]);
        room->operand[k] = operand[k];
    }
    room->elements = elements;
    return TN_OK;
}

void tn_rounding_free(tn_rounding_room *room) {
    tn_free(room->values);
    tn_free(room->narrow);
    for (int k = 0; k < 2; k++) tn_free(room->operand[k]);
    *room = (tn_rounding_room){0};
}

/* sum |wide - narrow| / |sum narrow| of room->values. */
static double gain_of(tn_rounding_room *room, const tn_operand_rounding *how, size_t rows, size_t reduction) {
    double difference = 0, sum = 0;
    size_t count = rows * reduction;
    double *wide = room->narrow; /* first the wider, then the narrower in place of it */
    memcpy(wide, room->values, count * sizeof *wide);
    tn_number_format_round(how->format, wide, rows, reduction, NULL);
    tn_number_format_round(&how->schedule->begin, room->values, rows, reduction, NULL);
    for (size_t i = 0; i < count; i++) {
        difference += fabs(wide[i] - room->values[i]);
        sum += room->values[i];
    }
    if (difference == 0) return 0;
    return sum != 0 ? difference / fabs(sum) : INFINITY;
}

/* The format that an operand has now, NULL: it stays. `operand` is read by FAST's rule, which spoils room->values. */
static const tn_number_format *format_now(tn_rounding_room *room, const tn_operand_rounding *how,
                                          const tn_kernels *kernels, size_t rows, size_t reduction,
                                          const void *operand) {
    const tn_precision_schedule *schedule = how->schedule;
    bool ends;
    if (!schedule) return how->format;
    if (schedule->a > 0) {
        kernels->to_double(operand, room->values, rows * reduction);
        ends = gain_of(room, how, rows, reduction) >
               schedule->a - schedule->b * room->progress - schedule->b * how->layer;
    } else {
        ends = !tn_precision_schedule_begins(schedule, room->progress, how->layer);
    }
    room->operands++;
    room->wide += ends;
    if (ends) return how->format;
    return tn_number_format_same(&schedule->begin, &tn_fp32) ? NULL : &schedule->begin;
}

static bool round_in_place(const tn_kernels *kernels, const tn_number_format *format, size_t rows,
                           size_t columns, void *values) {
    return kernels->round && kernels->round(format, values, rows, columns);
}

/* operand[rows][reduction], from where element (i, k) lies at i * down + k * along. */
static void round_operand(tn_rounding_room *room, const tn_operand_rounding *how, const tn_kernels *kernels,
                          size_t rows, size_t reduction, size_t down, size_t along, const void *source,
                          void *operand) {
    const tn_block block = {.axes = 2, .axis = {{rows, down, reduction}, {reduction, along, 1}}};
    kernels->copy(&block, source, operand, false);
    const tn_number_format *format = format_now(room, how, kernels, rows, reduction, operand);
    bool stochastic = how->gradient && room->stochastic;
    if (!format || (!stochastic && round_in_place(kernels, format, rows, reduction, operand))) return;
    kernels->to_double(operand, room->values, rows * reduction);
    tn_number_format_round(format, room->values, rows, reduction, stochastic ? &room->noise : NULL);
    kernels->from_double(room->values, operand, rows * reduction);
}

void tn_round_array(tn_rounding_room *room, const tn_number_format *format, const tn_kernels *kernels,
                    size_t rows, size_t columns, void *values) {
    if (round_in_place(kernels, format, rows, columns, values)) return;
    kernels->to_double(values, room->values, rows * columns);
    tn_number_format_round(format, room->values, rows, columns, NULL);
    kernels->from_double(room->values, values, rows * columns);
}

void tn_rounded_gemm(tn_rounding_room *room, const tn_operand_rounding how[2], const tn_kernels *kernels,
                     const tn_gemm *gemm, const void *a, const void *b, void *out) {
    size_t rows = (size_t)gemm->rows, columns = (size_t)gemm->columns, reduction = (size_t)gemm->reduction;
    size_t lead_a = (size_t)gemm->lead_a, lead_b = (size_t)gemm->lead_b;
    tn_gemm rounded = *gemm;
    round_operand(room, &how[0], kernels, rows, reduction, gemm->transpose_a ? 1 : lead_a,
                  gemm->transpose_a ? lead_a : 1, a, room->operand[0]);
    round_operand(room, &how[1], kernels, columns, reduction, gemm->transpose_b ? lead_b : 1,
                  gemm->transpose_b ? 1 : lead_b, b, room->operand[1]);
    rounded.transpose_a = false;
    rounded.transpose_b = true;
    rounded.lead_a = rounded.lead_b = gemm->reduction;
    kernels->gemm(&rounded, room->operand[0], room->operand[1], out);
}
