/* Numbers behind the figures of a design: they add up to the step's time, energy and memory. */
#include "design/explain.h"
#include "model/model.h"
#include "plot/design_figures.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_step step;
static tn_explanation why;
static tn_program_cache *cache;

static int set_up(void **state) {
    tn_model *model;
    tn_device *device;
    tn_workload *workload;
    tn_build build;
    tn_error error = {0};
    (void)state;
    bool ok = tn_model_load(test_source("models/atis-2enc.yaml"), NULL, 0, &arena, &model, &error) == TN_OK &&
              tn_device_load("u50", NULL, 0, &arena, &device, &error) == TN_OK &&
              tn_program_cache_new(&cache, &error) == TN_OK &&
              tn_step_build(model, cache, &arena, &step, &error) == TN_OK &&
              tn_build_decode(tn_model_build(model), &arena, &build, &error) == TN_OK &&
              tn_workload_prepare(&step, device, &arena, &workload, &error) == TN_OK &&
              tn_price_explain(workload, &build, &arena, &why, &error) == TN_OK;
    if (!ok) print_error("%s\n", error.message);
    return ok ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return 0;
}

/* Numbers behind a line's first quoted cell; returns the next line, NULL after the last. */
static const char *read_line(const char *line, char *name, double *number, size_t numbers) {
    const char *quote = strchr(line + 1, '"');
    if (*line != '"' || !quote) return NULL;
    snprintf(name, 160, "%.*s", (int)(quote - line - 1), line + 1);
    char *cursor = (char *)quote + 1;
    for (size_t i = 0; i < numbers; i++) number[i] = strtod(cursor, &cursor);
    return strchr(line, '\n') + 1;
}

/* A sequential step is the sum of its layers and phases. */
static void phases_add_up_to_the_step(void **state) {
    tn_buffer data = {0}, definition = {0};
    char name[160];
    double number[TN_PHASES + 1], sum = 0, forward = 0, before = INFINITY;
    bool repeated = false;
    (void)state;
    assert_int_equal(tn_phases_figure(&step, &why, &arena, &data, &definition, NULL), TN_OK);
    for (const char *line = data.data; (line = read_line(line, name, number, TN_PHASES + 1)) != NULL;) {
        double of_phases = 0;
        for (int p = 0; p < TN_PHASES; p++) of_phases += number[p];
        assert_true(fabs(of_phases - number[TN_PHASES]) < 1e-6);
        assert_true(number[TN_PHASES] <= before || strcmp(name, "other layers") == 0);
        before = number[TN_PHASES];
        sum += number[TN_PHASES];
        forward += number[TN_FORWARD];
        repeated |= strcmp(name, "encoder.query (2)") == 0;
        if (!*line) break;
    }
    double cycles = 0;
    for (uint32_t i = 0; i < why.items; i++)
        if (step.operation[why.item[i].operation].phase == TN_FORWARD)
            cycles += (double)(why.item[i].finish - why.item[i].start);
    assert_true(repeated);
    assert_true(fabs(sum / (1e3 * why.price.seconds_per_step) - 1) < 1e-6);
    assert_true(fabs(forward / (1e-3 * cycles / why.clock_MHz) - 1) < 1e-6);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
}

static void energy_parts_add_up(void **state) {
    tn_buffer data = {0}, definition = {0};
    char name[160];
    double number[3], sum[3] = {0};
    (void)state;
    tn_energy_figure(&why, &data, &definition);
    for (const char *line = data.data; (line = read_line(line, name, number, 3)) != NULL;) {
        for (int i = 0; i < 3; i++) {
            if (strcmp(name, "all") == 0) assert_true(fabs(sum[i] / number[i] - 1) < 1e-6);
            sum[i] += number[i];
        }
        assert_true(number[1] <= number[0] && number[0] <= number[2]);
        if (!*line) break;
    }
    assert_true(fabs(sum[0] / (2e3 * why.price.joules_per_step) - 1) < 1e-6);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
}

/* Each bar begins where the one before ends; the last ends with the step. */
static void floor_reaches_the_step(void **state) {
    tn_buffer data = {0}, definition = {0};
    char name[160];
    double number[3], reached = 0;
    int bars = 0;
    (void)state;
    tn_floor_figure(&why, &data, &definition);
    for (const char *line = data.data; (line = read_line(line, name, number, 3)) != NULL; bars++) {
        assert_true(fabs(number[0] - reached) <= 1e-6 * number[1]);
        reached = number[1];
        if (!*line) break;
    }
    assert_true(bars > 5);
    assert_true(fabs(reached / (1e3 * why.price.seconds_per_step) - 1) < 1e-6);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
}

static void memories_add_up(void **state) {
    tn_buffer data = {0}, definition = {0};
    char name[160];
    double number[2], capacity = 0, stored = 0, bits = 0, held = 0;
    (void)state;
    assert_int_equal(tn_memory_figure(&why, &arena, &data, &definition, NULL), TN_OK);
    for (const char *line = data.data; (line = read_line(line, name, number, 2)) != NULL;) {
        assert_true(number[1] <= number[0] * (1 + 1e-6));
        capacity += number[0];
        stored += number[1];
        if (!*line) break;
    }
    for (uint32_t i = 0; i < why.memories; i++) {
        bits += why.memory[i].placed.capacity_bits;
        held += why.memory[i].placed.stored_bits;
    }
    assert_true(fabs(capacity * 8192 / bits - 1) < 1e-6);
    assert_true(fabs(stored * 8192 / held - 1) < 1e-6);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_add_up_to_the_step),
        cmocka_unit_test(energy_parts_add_up),
        cmocka_unit_test(floor_reaches_the_step),
        cmocka_unit_test(memories_add_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
