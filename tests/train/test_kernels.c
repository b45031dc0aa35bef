/* Every kernel of the CPU against the text of its operation's row (model/operation.c), pass by pass, in float64: maps that
 * have a kernel and the loops that evaluate a formula, norms, sums, softmax, the loss, updates and rotary positions, in
 * every instruction set that this machine has. */
#include "train/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, COLUMNS = 75, ELEMENTS = ROWS * COLUMNS, ARRAYS = 4 };

/* What an operation takes, and what the passes of its row make of it. */
typedef struct {
    tn_operation_kind kind;
    double array[ARRAYS][ELEMENTS];                   /* as it reads them; of statistics `numbers` a row */
    double elsewhere[TN_FORMULA_ELSEWHERE][ELEMENTS]; /* values from elsewhere, by element */
    double constant[2];
    int numbers, label[ROWS];
    double result[ELEMENTS], further[2][ELEMENTS], scalar[ROWS][TN_ROW_SCALARS];
} question;

static void draw(question *q, tn_operation_kind kind, int numbers) {
    memset(q, 0, sizeof *q);
    q->kind = kind;
    q->numbers = numbers;
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < ELEMENTS; i++)
            q->array[a][i] = 1.7 * sin(1.3 * i + 2.1 * a) + 0.2 * cos(0.7 * i * a);
    for (int r = 0; r < ROWS; r++) q->label[r] = 11 * r + 5;
}

static double operand(const question *q, int which, int row, int column) {
    const char *reads = tn_operation_rows[q->kind].reads;
    for (int k = 0; reads[k] && reads[k] != '|'; k++)
        if (reads[k] != 's' && which-- == 0)
            return q->array[k][reads[k] == 'v' ? column : row * COLUMNS + column];
    return 0;
}

static void run_element(question *q, const tn_formula *formula, int row, int column, double *out) {
    const int i = row * COLUMNS + column;
    tn_formula_inputs inputs = {.a = formula->takes_result ? q->result[i] : operand(q, 0, row, column),
                                .b = operand(q, 1, row, column),
                                .c = operand(q, 2, row, column),
                                .k = {q->constant[0], q->constant[1]},
                                .share = 1,
                                .hit = column == q->label[row]};
    memcpy(inputs.s, q->scalar[row], sizeof inputs.s);
    for (int e = 0; e < TN_FORMULA_ELSEWHERE; e++) inputs.elsewhere[e] = q->elsewhere[e][i];
    tn_formula_run(formula, &tn_float64_arithmetic, &inputs, out);
}

static void run_row(question *q, const tn_pass_row *pass, const tn_formula *formula, int row) {
    const bool greatest = pass->sum == TN_COMPARE, whole = pass->form != TN_PASS_PER_ROW;
    double sum[2] = {greatest ? -INFINITY : 0, 0}, out[TN_FORMULA_OUTPUTS], kept = 0;
    for (int c = 0; c < (whole ? COLUMNS : 1); c++) {
        const int i = row * COLUMNS + c;
        run_element(q, formula, row, c, out);
        if (whole && formula->output[TN_OUTPUT_Y] != UINT32_MAX) q->result[i] = out[TN_OUTPUT_Y];
        if (pass->form == TN_PASS_ACCUMULATE) q->result[c] += out[TN_OUTPUT_U];
        q->further[0][i] = out[TN_OUTPUT_U];
        q->further[1][i] = out[TN_OUTPUT_V];
        sum[0] = greatest ? fmax(sum[0], out[TN_OUTPUT_U]) : sum[0] + out[TN_OUTPUT_U];
        sum[1] += out[TN_OUTPUT_V];
        if (c == q->label[row]) kept = out[TN_OUTPUT_L];
    }
    double *scalar = q->scalar[row];
    if (!whole) scalar[pass->scalar[TN_OUTPUT_Y]] = out[TN_OUTPUT_Y];
    if (!whole && formula->output[TN_OUTPUT_U] != UINT32_MAX)
        scalar[pass->scalar[TN_OUTPUT_U]] = out[TN_OUTPUT_U];
    if (pass->form != TN_PASS_REDUCE) return;
    scalar[pass->scalar[TN_OUTPUT_U]] = sum[0];
    if (formula->output[TN_OUTPUT_V] != UINT32_MAX) scalar[pass->scalar[TN_OUTPUT_V]] = sum[1];
    if (formula->output[TN_OUTPUT_L] != UINT32_MAX) scalar[pass->scalar[TN_OUTPUT_L]] = kept;
}

/* The row's passes, one after the other. */
static void answer(question *q) {
    const tn_operation_row *row = &tn_operation_rows[q->kind];
    const char *statistics = strchr(row->reads, 's');
    for (int r = 0; statistics && r < ROWS; r++)
        memcpy(q->scalar[r], &q->array[statistics - row->reads][r * q->numbers],
               (size_t)q->numbers * sizeof(double));
    for (int p = 0; p < TN_PASSES_MOST && row->pass[p].form != TN_PASS_NONE; p++) {
        tn_formula formula;
        assert_int_equal(tn_formula_read(row->pass[p].text, &formula, NULL), TN_OK);
        for (int r = 0; r < ROWS; r++) run_row(q, &row->pass[p], &formula, r);
    }
}

/* Arrays in the kernels' type. */
typedef union {
    float narrow[ELEMENTS];
    double wide[ELEMENTS];
} values;

static values given[ARRAYS], got[2];

static void give(const tn_kernels *k, const question *q) {
    for (int a = 0; a < ARRAYS; a++) k->from_double(q->array[a], &given[a], ELEMENTS);
}

static void check(const tn_kernels *k, const question *q, const values *this_values, const double *expected,
                  int stride, int count) {
    static double wide[ELEMENTS];
    const double most = k->bytes == sizeof(double) ? 1e-12 : 2e-5;
    k->to_double(this_values, wide, (size_t)count);
    for (int i = 0; i < count; i++)
        if (!(fabs(wide[i] - expected[i * stride]) <= most * (1 + fabs(expected[i * stride]))))
            fail_msg("%s, %s, element %d: %.17g, by its row %.17g", tn_operation_rows[q->kind].kernel, k->set,
                     i, wide[i], expected[i * stride]);
}

static void each_set(void (*visit)(const tn_kernels *)) {
    const tn_kernels *set[TN_KERNEL_SETS];
    size_t sets = tn_kernels_float32_sets(set);
    for (size_t i = 0; i < sets; i++) visit(set[i]);
    visit(&tn_kernels_float64);
}

/* Maps by their own kernel, where they have one, and by their formula. */
static void check_maps(const tn_kernels *k) {
    static question q;
    int maps = 0, kernels = 0;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) {
        if (tn_operation_rows[kind].shape != TN_SHAPE_MAP) continue;
        tn_formula formula;
        maps++;
        draw(&q, (tn_operation_kind)kind, 0);
        answer(&q);
        give(k, &q);
        assert_int_equal(tn_formula_read(tn_operation_rows[kind].pass[0].text, &formula, NULL), TN_OK);
        k->evaluate(&formula, &got[0], &given[0], &given[1], ELEMENTS);
        check(k, &q, &got[0], q.result, 1, ELEMENTS);
        if (!k->map[kind]) continue;
        kernels++;
        k->map[kind](&got[0], &given[0], &given[1], ELEMENTS);
        check(k, &q, &got[0], q.result, 1, ELEMENTS);
    }
    assert_true(maps >= 10 && kernels == 10);
}

static void maps(void **state) {
    (void)state;
    each_set(check_maps);
}

static void check_rows(const tn_kernels *k) {
    static const struct {
        tn_operation_kind kind;
        int numbers;
    } rows[] = {{TN_OP_LAYER_NORM, 2},
                {TN_OP_LAYER_NORM_GRADIENT, 2},
                {TN_OP_RMS_NORM, 1},
                {TN_OP_RMS_NORM_GRADIENT, 1}};
    static question q;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const void *subject[ARRAYS] = {&given[0], &given[1], &given[2], &given[3]};
        void *out[2] = {&got[0], &got[1]};
        draw(&q, rows[i].kind, rows[i].numbers);
        q.constant[0] = 1.0 / COLUMNS;
        q.constant[1] = 1e-3;
        answer(&q);
        give(k, &q);
        k->rows[q.kind](out, subject, ROWS, COLUMNS, 1e-3);
        check(k, &q, &got[0], q.result, 1, ELEMENTS);
        for (int n = 0; strchr(tn_operation_rows[q.kind].writes, 's') && n < q.numbers; n++) {
            values one; /* statistic n of every row */
            for (int r = 0; r < ROWS; r++)
                memcpy((char *)&one + (size_t)r * k->bytes,
                       (char *)&got[1] + (size_t)(r * q.numbers + n) * k->bytes, k->bytes);
            check(k, &q, &one, &q.scalar[0][n], TN_ROW_SCALARS, ROWS);
        }
    }
}

static void norms(void **state) {
    (void)state;
    each_set(check_rows);
}

static void check_sums(const tn_kernels *k) {
    static const struct {
        tn_operation_kind kind;
        int numbers;
    } sums[] = {{TN_OP_COLUMN_SUM, 0}, {TN_OP_SCALE_GRADIENT, 2}, {TN_OP_RMS_SCALE_GRADIENT, 1}};
    static question q;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        const void *subject[ARRAYS] = {&given[0], &given[1], &given[2], &given[3]};
        draw(&q, sums[i].kind, sums[i].numbers);
        answer(&q);
        give(k, &q);
        k->sum[q.kind](&got[0], subject, ROWS, COLUMNS, COLUMNS);
        check(k, &q, &got[0], q.result, 1, COLUMNS);
    }
}

static void column_sums(void **state) {
    (void)state;
    each_set(check_sums);
}

static void check_scores(const tn_kernels *k) {
    static question q;
    const double scale = 0.37;
    draw(&q, TN_OP_SOFTMAX, 0);
    q.constant[0] = scale;
    give(k, &q);
    /* in place: later passes go over what earlier ones wrote */
    for (int p = 0; p < TN_PASSES_MOST && tn_operation_rows[q.kind].pass[p].form != TN_PASS_NONE; p++) {
        tn_formula formula;
        assert_int_equal(tn_formula_read(tn_operation_rows[q.kind].pass[p].text, &formula, NULL), TN_OK);
        for (int r = 0; r < ROWS; r++) run_row(&q, &tn_operation_rows[q.kind].pass[p], &formula, r);
        memcpy(q.array[0], q.result, sizeof q.result);
    }
    k->softmax(&given[0], ROWS, COLUMNS, COLUMNS, scale);
    check(k, &q, &given[0], q.result, 1, ELEMENTS);
    draw(&q, TN_OP_SOFTMAX_GRADIENT, 0);
    q.constant[0] = scale;
    answer(&q);
    give(k, &q);
    k->softmax_gradient(&given[0], &given[1], ROWS, COLUMNS, scale);
    check(k, &q, &given[1], q.result, 1, ELEMENTS);
}

static void attention_scores(void **state) {
    (void)state;
    each_set(check_scores);
}

static void check_loss(const tn_kernels *k) {
    static question q;
    size_t best;
    draw(&q, TN_OP_CROSS_ENTROPY, 0);
    answer(&q);
    give(k, &q);
    for (int r = 0; r < ROWS; r++) {
        const size_t row = (size_t)(r * COLUMNS) * k->bytes;
        double loss = k->cross_entropy((char *)&got[0] + row, (char *)&given[0] + row, COLUMNS,
                                       (size_t)q.label[r], 1, &best);
        assert_true(fabs(loss - q.scalar[r][2]) < 1e-5);
    }
    check(k, &q, &got[0], q.result, 1, ELEMENTS);
}

static void loss_and_its_gradient(void **state) {
    (void)state;
    each_set(check_loss);
}

/* After step 3, as train/operations.c corrects rate and epsilon. Adam's values from elsewhere are, by their first use:
 * 1 - beta1, the second moment, beta2, 1 - beta2, the correction of the second moment, epsilon. */
static void check_updates(const tn_kernels *k) {
    static question q;
    const double beta1 = 0.9, beta2 = 0.97, first = 1 - pow(beta1, 3), second = sqrt(1 - pow(beta2, 3)),
                 rate = 0.1, epsilon = 1e-3;
    const tn_operation_kind kinds[] = {TN_OP_UPDATE_SGD, TN_OP_UPDATE_MOMENTUM, TN_OP_UPDATE_ADAM};
    for (int u = 0; u < 3; u++) {
        static values state[2];
        const bool adam = kinds[u] == TN_OP_UPDATE_ADAM;
        const double numbers[] = {1 - beta1, 0, beta2, 1 - beta2, 1 / (second * second), epsilon};
        tn_update_rule rule = {rate, beta1, beta1, beta2, epsilon};
        draw(&q, kinds[u], 0);
        q.constant[0] = adam ? rate / first : rate;
        q.constant[1] = beta1;
        for (int e = 0; e < 6; e++)
            for (int i = 0; i < ELEMENTS; i++) q.elsewhere[e][i] = e == 1 ? fabs(q.array[3][i]) : numbers[e];
        answer(&q);
        give(k, &q);
        if (adam) rule.rate *= second / first;
        if (adam) rule.epsilon *= second;
        k->from_double(q.array[2], state, ELEMENTS);
        k->from_double(q.elsewhere[1], (char *)state + ELEMENTS * k->bytes, ELEMENTS);
        k->update[q.kind](&given[0], &given[1], state, ELEMENTS, ELEMENTS, &rule);
        check(k, &q, &given[0], q.result, 1, ELEMENTS);
        if (kinds[u] == TN_OP_UPDATE_SGD) continue;
        memcpy(&got[0], state, ELEMENTS * k->bytes);
        check(k, &q, &got[0], q.further[0], 1, ELEMENTS);
        if (!adam) continue;
        memcpy(&got[0], (char *)state + ELEMENTS * k->bytes, ELEMENTS * k->bytes);
        check(k, &q, &got[0], q.further[1], 1, ELEMENTS);
    }
}

static void updates(void **state) {
    (void)state;
    each_set(check_updates);
}

/* Values from elsewhere, by their first use: cosine, partner, sine. Heads of 8 of 72 features, as many positions as rows;
 * the first half of a head is x cos - x' sin, the second x cos + x' sin, which is the gradient's of the first. */
static void check_rotation(const tn_kernels *k) {
    enum { DEPTH = 8, HALF = 4, HEADS = 9, WIDTH = HEADS * DEPTH };
    static question q;
    static double table[ELEMENTS], x[ELEMENTS], expected[ELEMENTS];
    for (int sign = 1; sign >= -1; sign -= 2) {
        const tn_operation_kind kind = sign > 0 ? TN_OP_ROTARY : TN_OP_ROTARY_GRADIENT,
                                other = sign > 0 ? TN_OP_ROTARY_GRADIENT : TN_OP_ROTARY;
        draw(&q, kind, 0);
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < WIDTH; i++) {
                const int place = i % DEPTH, base = r * WIDTH + i - place;
                const double angle = 0.3 * r * (1 + place % HALF);
                const double input[] = {cos(angle), q.array[0][base + (place + HALF) % DEPTH], sin(angle)};
                tn_formula formula;
                tn_formula_inputs inputs = {.a = q.array[0][base + place]};
                double out[TN_FORMULA_OUTPUTS];
                memcpy(inputs.elsewhere, input, sizeof input);
                const tn_operation_kind half = place < HALF ? kind : other;
                assert_int_equal(tn_formula_read(tn_operation_rows[half].pass[0].text, &formula, NULL),
                                 TN_OK);
                tn_formula_run(&formula, &tn_float64_arithmetic, &inputs, out);
                expected[base + place] = out[TN_OUTPUT_Y];
                x[base + place] = q.array[0][base + place];
                table[r * DEPTH + place] = place < HALF ? input[0] : input[2];
            }
        const tn_rotation how = {ROWS, HEADS, DEPTH, 0, ROWS, sign};
        k->from_double(x, &given[0], ROWS * WIDTH);
        k->from_double(table, &given[1], ROWS * DEPTH);
        k->rotate(&got[0], &given[0], &given[1], &how);
        check(k, &q, &got[0], expected, 1, ROWS * WIDTH);
    }
}

static void rotary_positions(void **state) {
    (void)state;
    each_set(check_rotation);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps),
        cmocka_unit_test(norms),
        cmocka_unit_test(column_sums),
        cmocka_unit_test(attention_scores),
        cmocka_unit_test(updates),
        cmocka_unit_test(loss_and_its_gradient),
        cmocka_unit_test(rotary_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
