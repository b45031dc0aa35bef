#include "train/answers.h"

#include "model/graph.h"

#include <math.h>
#include <string.h>

/* place[0..stay - 1] = the places of the greatest of weight[0..count - 1], ascending; of equals the first. */
static void choose_greatest(double *weight, uint64_t count, uint64_t stay, uint32_t *place) {
    uint64_t chosen = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t above = 0;
        for (uint64_t k = 0; k < count; k++)
            above += weight[k] > weight[i] || (weight[k] == weight[i] && k < i);
        if (above < stay) place[chosen++] = (uint32_t)i;
    }
}

/* Of real tokens alone. The sums of probabilities begin with the queries of the first head. */
void tn_run_importance(tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const tn_step *step = &r->sized->lowered.step;
    const bool of_tokens = step->array[o->reads[0]].part == TN_PART_SCORES;
    const char *values = tn_array_values(r, o->reads[0]);
    char *sums = tn_array_values(r, o->writes[0]);
    const uint64_t examples = r->sized->batch, rows = o->rows / examples,
                   count = step->array[o->writes[0]].elements / examples, part = o->columns / count;
    double *weight = r->t->weight_of, *row = weight + count;
    for (uint64_t e = 0; e < examples; e++) {
        for (uint64_t i = 0; i < count; i++) weight[i] = 0;
        for (uint64_t i = 0; i < rows; i++) {
            if (i % r->sized->tokens >= r->t->batch.length[e]) continue;
            k->to_double(values + (e * rows + i) * o->columns * k->bytes, row, o->columns);
            for (uint64_t c = 0; c < o->columns; c++) weight[of_tokens ? c : c / part] += fabs(row[c]);
        }
        k->from_double(weight, sums + e * count * k->bytes, count);
    }
}

/* Of tokens the first stays, and padding only where nothing else is left. */
void tn_run_top(tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const tn_step *step = &r->sized->lowered.step;
    const uint64_t stay = step->array[o->writes[0]].elements / r->sized->batch;
    const bool of_tokens = step->array[o->writes[0]].number == 1;
    double *weight = r->t->weight_of;
    for (uint64_t e = 0; e < r->sized->batch; e++) {
        uint32_t *place = (of_tokens ? r->t->kept_token : r->t->kept_head) + e * stay;
        k->to_double((const char *)tn_array_values(r, o->reads[0]) + e * o->columns * k->bytes, weight,
                     o->columns);
        for (uint64_t i = 0; of_tokens && i < o->columns; i++)
            if (i == 0 || i >= r->t->batch.length[e]) weight[i] = i == 0 ? INFINITY : -1;
        choose_greatest(weight, o->columns, stay, place);
        for (uint64_t i = 0; i < stay; i++) weight[i] = place[i];
        k->from_double(weight, (char *)tn_array_values(r, o->writes[0]) + e * stay * k->bytes, stay);
    }
}

void tn_run_gather(tn_step_run *r, const tn_operation *o) {
    const tn_gather *how = o->gather;
    const tn_step *step = &r->sized->lowered.step;
    const char *origin = tn_array_values(r, o->reads[0]);
    char *target = tn_array_values(r, o->writes[0]);
    bool tokens = how->tokens < how->from_tokens;
    uint64_t examples = r->sized->batch, rows = o->rows / examples; /* that are written, of an example */
    uint64_t width = step->array[o->reads[0]].elements / (tokens ? examples * how->from_tokens : o->rows);
    uint64_t parts = how->spreads ? how->kept_heads : how->heads;
    size_t part = width / parts * r->t->kernels->bytes, row = o->columns * r->t->kernels->bytes;
    if (how->spreads) memset(target, 0, o->rows * row);
    for (uint64_t e = 0; e < examples; e++) {
        for (uint64_t i = 0; i < rows; i++) {
            uint64_t source =
                tokens ? e * how->from_tokens + r->t->kept_token[e * how->tokens + i] : e * rows + i;
            const char *read = origin + source * width * r->t->kernels->bytes;
            char *written = target + (e * rows + i) * row;
            for (uint64_t h = 0; h < how->kept_heads; h++) {
                uint64_t head = how->heads > 1 ? r->t->kept_head[e * how->kept_heads + h] : 0;
                memcpy(written + (how->spreads ? head : h) * part, read + (how->spreads ? h : head) * part,
                       part);
            }
        }
    }
}

uint64_t tn_kept_token(const tn_step_run *r, uint64_t example, uint64_t row) {
    uint64_t stay = r->sized->lowered.kept_tokens;
    return stay ? r->t->kept_token[example * stay + row] : row;
}

static uint64_t kept_row(const tn_step_run *r, uint64_t example, uint64_t token) {
    uint64_t stay = r->sized->lowered.kept_tokens;
    if (!stay) return token;
    for (uint64_t i = 0; i < stay; i++)
        if (r->t->kept_token[example * stay + i] == token) return i;
    return UINT64_MAX;
}

uint64_t tn_logits_row(const tn_step_run *r, bool of_example, uint64_t example, uint64_t token) {
    uint64_t stay = r->sized->lowered.kept_tokens, row = kept_row(r, example, token);
    if (of_example || row == UINT64_MAX) return of_example ? example : row;
    return example * (stay ? stay : r->sized->tokens) + row;
}

/* Of the softmax of a row of logits, over the logarithm of their number. */
static double row_entropy(const tn_kernels *k, const char *logits, uint64_t outputs) {
    enum { PIECE = 64 };
    double values[PIECE], most = -INFINITY, sum = 0, weighted = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t index = 0; index < outputs; index += PIECE) {
            uint64_t count = outputs - index < PIECE ? outputs - index : PIECE;
            k->to_double(logits + index * k->bytes, values, count);
            for (uint64_t i = 0; i < count; i++) {
                double below = values[i] - most, share = pass ? exp(below) : 0;
                if (pass == 0) most = fmax(most, values[i]);
                sum += share;
                weighted += share > 0 ? share * below : 0;
            }
        }
    return outputs > 1 ? fmin(1, (log(sum) - weighted / sum) / log((double)outputs)) : 0;
}

void tn_run_entropy(tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const char *logits = tn_array_values(r, o->reads[0]);
    const bool of_example = r->t->model->layer[o->layer].sequence == 1;
    double sum = 0;
    uint64_t rows = 0;
    for (uint64_t e = 0; e < r->sized->batch; e++)
        for (uint64_t i = 0; i < (of_example ? 1 : r->t->batch.length[e]); i++) {
            uint64_t row = tn_logits_row(r, of_example, e, i);
            if (row == UINT64_MAX) continue;
            rows++;
            sum += row_entropy(k, logits + row * o->columns * k->bytes, o->columns);
        }
    double mean = sum / (double)rows;
    k->from_double(&mean, tn_array_values(r, o->writes[0]), 1);
    if (r->sized->lowered.step.array[o->writes[0]].exit == r->sized->sort + 1)
        r->result->entropy += mean / r->sized->lowered.heads;
}
