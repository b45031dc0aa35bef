#include "support/finetune.h"

#include "support/brute.h"

#include <math.h>

double test_uniform(uint64_t *state) {
    return (double)(test_random(state) >> 11) * 0x1p-53;
}

double test_noise(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += test_uniform(state);
    return sum;
}

double test_step_seconds(const test_step_law *law, double batch, double sparsity) {
    double touched = sparsity == 1 ? 1 : 1 - pow(1 - sparsity, law->m * batch), p = law->p;
    double other = pow(pow(law->fixed * (1 - law->g), p) + pow(batch * law->query * (1 - law->h), p), 1 / p);
    double experts =
        pow(pow(law->fixed * law->g * touched, p) + pow(batch * law->query * law->h * sparsity, p), 1 / p);
    double fixed = law->fixed * (1 - law->g + law->g * touched);
    double query = batch * law->query * (1 - law->h + law->h * sparsity);
    return (1 - law->w) * (other + experts) + law->w * pow(pow(fixed, p) + pow(query, p), 1 / p);
}

/* Of an H200: BF16 at 70 % of its peak. */
static double product_seconds(double m, double n, double k) {
    const double peak = 0.7 * 989e12, bandwidth = 4.8e12, processors = 132, tile = 128;
    double waves = ceil(ceil(m / tile) * ceil(n / tile) / processors);
    double arithmetic = waves * 2 * tile * tile * k / (peak / processors);
    return fmax(arithmetic, 2 * (m * k + n * k + m * n) / bandwidth) + 4e-6;
}

double test_mixture_seconds(const test_mixture *model, double batch, double sparsity) {
    const double bandwidth = 4.8e12, other_launches = 77, expert_launches = 35;
    double tokens = batch * model->tokens, d = model->width, taken = tokens * sparsity;
    double touched = model->experts * (sparsity == 1 ? 1 : 1 - pow(1 - sparsity, tokens));
    double host_other = other_launches * model->launch_s, host = touched * expert_launches * model->launch_s;
    /* Products, and what stands between them: read and written in 16 bits. */
    double other = 4 * product_seconds(tokens, d, d) + 40 * tokens * d / bandwidth;
    double experts =
        touched * (2 * product_seconds(taken, model->inner, d) + product_seconds(taken, d, model->inner) +
                   24 * taken * model->inner / bandwidth);
    double seconds = model->waits ? fmax(host_other, other) + fmax(host, experts)
                                  : fmax(host_other + host, other + experts);
    return 3 * model->layers * seconds; /* forward, and backward twice as much */
}

double test_machine_seconds(test_machine machine, double fixed, double query, double share, double batch,
                            double sparsity) {
    double growing = batch * query * (1 - share + share * sparsity), sum = 0.1 * fixed;
    switch (machine) {
    case TEST_ADDED:
        return fixed + growing;
    case TEST_MAXIMUM:
        return fmax(fixed, growing);
    case TEST_LAUNCHED:
        return fmax(fixed, 0.2 * fixed + growing);
    case TEST_SMOOTH:
        return pow(pow(fixed, 4) + pow(growing, 4), 0.25);
    case TEST_MANY:
        for (int i = 0; i < 12; i++) {
            double weight = (1 + i % 4) / 30.0, cost = (1 + (5 * i) % 12) / 78.0;
            double tokens = batch * 160 * (i % 2 ? sparsity : 1);
            sum += fmax(0.9 * fixed * weight, cost * query * ceil(tokens / 128) * 128 / 160);
        }
        return sum;
    case TEST_SERIAL:
        return 0.3 * fixed + fmax(0.7 * fixed, growing);
    default:
        return (fixed + growing) * (1 + 0.05 / 3 * fmax(0, log2(growing / fixed) - 1));
    }
}
