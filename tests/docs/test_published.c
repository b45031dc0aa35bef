/* docs/published.md: the numbers that publications print, from the commands of that page. */
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number under %s", key);
    return json_number_value(value);
}

static const json_t *flow(const json_t *order, const char *name) {
    const json_t *flows = json_object_get(order, "flows");
    for (size_t i = 0; i < json_array_size(flows); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(flows, i), "name")), name) == 0)
            return json_array_get(flows, i);
    fail_msg("no flow %s", name);
    return NULL;
}

/* To the digits that are printed. */
static void as_printed(double value, double printed, double unit) {
    if (fabs(value - printed) > unit / 2) fail_msg("%.6g, where %.6g is printed", value, printed);
}

static void one_layer(void **state) {
    (void)state;
    json_t *order = test_program_json(0, "order", "--layer", "tt:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                      "--training", "--json", NULL);
    double weights = 768 * 768, cores = 2 * (12 * 12 + 12 * 8 * 12 + 12 * 8 * 12);
    as_printed(number(flow(order, "dense"), "macs") / number(flow(order, "bidirectional"), "macs"), 22.51,
               0.01);
    as_printed(weights / (cores + number(flow(order, "bidirectional-reverse-mode"), "saved_elements")), 22.67,
               0.01);
    json_decref(order);
}

static double parameters(const char *model, const char *set) {
    json_t *cost = test_program_json(0, "cost", model, "--set", set, "--json", NULL);
    double count = number(cost, "parameters");
    json_decref(cost);
    return count;
}

static void whole_models(void **state) {
    (void)state;
    double dense2 = parameters("atis-2enc", "format=dense"), dense6 = parameters("atis-6enc", "format=dense");
    as_printed(4e-6 * dense2, 36.7, 0.1);
    as_printed(4e-6 * dense6, 93.5, 0.1);
    as_printed(dense2 / parameters("atis-2enc", "batch=1"), 30.6, 0.1);
    as_printed(dense6 / parameters("atis-6enc", "batch=1"), 52.1, 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_layer), cmocka_unit_test(whole_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
