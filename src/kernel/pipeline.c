#include "kernel/pipeline.h"

#include "base/checked.h"

static tn_status overflow(tn_error *error) {
    return tn_fail(error, TN_OVERFLOW, "the loop's cycles do not fit 64 bits; give it fewer trips");
}

tn_status tn_loop_cycles(const tn_loop *loop, uint64_t *cycles, tn_error *error) {
    if (loop->iteration_cycles == 0)
        return tn_fail(error, TN_INPUT, "a loop whose iteration takes 0 cycles; it takes at least 1");
    if (loop->pipelined && loop->interval_cycles == 0)
        return tn_fail(error, TN_INPUT, "a pipelined loop with interval 0; it is at least 1");
    uint64_t total = 0;
    if (loop->trips == 0) {
        *cycles = 0;
        return TN_OK;
    }
    if (!loop->pipelined) {
        if (!tn_mul(loop->trips, loop->iteration_cycles, &total)) return overflow(error);
    } else {
        uint64_t tail = loop->iteration_cycles - 1;
        if (tail < loop->interval_cycles) tail = loop->interval_cycles;
        total = tail;
        if (!tn_mul_add(loop->trips - 1, loop->interval_cycles, &total)) return overflow(error);
    }
    *cycles = total;
    return TN_OK;
}

const char *const tn_dot_order_names[] = {"any", "ijk", "ikj", NULL};

uint64_t tn_tree_depth(uint64_t n) {
    uint64_t depth = 0;
    for (uint64_t rest = n - 1; rest > 0; rest >>= 1) depth++;
    return depth;
}

static tn_status check(const tn_dot *dot, tn_error *error) {
    const struct {
        const char *name;
        uint64_t value;
    } sizes[] = {
        {"parallel", dot->lanes},
        {"mul-latency", dot->multiply_cycles},
        {"add-latency", dot->add_cycles},
        {"ii", dot->interval_cycles},
        {"m", dot->m},
        {"k", dot->k},
        {"n", dot->n},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value == 0)
            return tn_fail(error, TN_INPUT, "%s of the dot product is 0; it is at least 1", sizes[i].name);
    return TN_OK;
}

/* The hazard: groups of one output follow each other after `accumulators` issues. */
static void judge(const tn_dot *dot, uint64_t groups, tn_dot_result *result) {
    if (groups == 1) {
        result->accumulators = 0;
        result->least_interval_cycles = 1;
    } else {
        result->accumulators = dot->order == TN_DOT_IJK ? 1 : dot->n;
        result->least_interval_cycles = tn_ceil_div(dot->add_cycles, result->accumulators);
        /* Interleaving is only taken where it is needed: it holds N sums. */
        if (dot->order == TN_DOT_ANY && dot->interval_cycles >= dot->add_cycles) result->accumulators = 1;
    }
    result->legal = dot->interval_cycles >= result->least_interval_cycles;
}

tn_status tn_dot_cycles(const tn_dot *dot, tn_dot_result *result, tn_error *error) {
    TN_TRY(check(dot, error));
    tn_dot_result answer = {0};
    uint64_t groups = tn_ceil_div(dot->k, dot->lanes);
    const uint64_t factors[] = {dot->m, dot->n, groups};
    uint64_t issues, cycles = dot->multiply_cycles;
    if (!tn_product(factors, 3, &issues) || !tn_mul_add(issues - 1, dot->interval_cycles, &cycles) ||
        !tn_mul_add(tn_tree_depth(dot->lanes) + 1, dot->add_cycles, &cycles))
        return tn_fail(error, TN_OVERFLOW,
                       "the dot product's cycles do not fit 64 bits; give it smaller sizes");
    answer.cycles = cycles;
    judge(dot, groups, &answer);
    *result = answer;
    return TN_OK;
}
