/* Techniques of inference and of embedded DRAM in whole designs, against their formulas. */
#include "design/explain.h"
#include "model/technique.h"
#include "price/energy.h"
#include "price/plan.h"
#include "price/price.h"
#include "support/models.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SETS_MOST = 4 };

typedef struct design {
    tn_step step;
    tn_workload *workload;
    tn_price price;
} design;

static tn_arena arena;
static const tn_device *device;

static tn_model *loaded(const char *const *set, size_t sets) {
    tn_model *model;
    tn_error error = {0};
    if (tn_model_load("atis-2enc", set, sets, &arena, &model, &error) != TN_OK) fail_msg("%s", error.message);
    return model;
}

static design priced_step(tn_step made_step, const char *keys) {
    tn_build build;
    design made = {.step = made_step};
    tn_step *step;
    tn_yaml *node = NULL;
    if (keys) assert_int_equal(tn_yaml_parse("build", keys, strlen(keys), &arena, &node, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
    *step = made.step;
    assert_int_equal(tn_build_decode(node, &arena, &build, NULL), TN_OK);
    assert_int_equal(tn_workload_prepare(step, device, &arena, &made.workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(made.workload, &build, &made.price, NULL), TN_OK);
    return made;
}

static design priced(const char *const *set, size_t sets) {
    return priced_step(test_step_of(loaded(set, sets), &arena), NULL);
}

static uint64_t macs_of(const tn_step *step, const char *kind) {
    uint64_t macs = 0;
    for (uint32_t i = 0; i < step->layers; i++)
        if (strcmp(step->layer[i].kind, kind) == 0) macs += step->layer[i].macs[TN_FORWARD];
    return macs;
}

/* 32 tokens, 12 heads. */
static void pruned_attention(void **state) {
    (void)state;
    static const double tokens[] = {1, 0.5, 0.25}, heads[] = {1, 0.5, 0.25};
    const char *forward = "phase=inference";
    const design whole = priced(&forward, 1);
    for (int t = 0; t < 3; t++)
        for (int h = 0; h < 3; h++) {
            char token[64], head[64];
            const char *const set[] = {forward, token, head};
            snprintf(token, sizeof token, "pruning.tokens=%g", tokens[t]);
            snprintf(head, sizeof head, "pruning.heads=%g", heads[h]);
            const design pruned = priced(set, 3);
            double ratio =
                (double)macs_of(&pruned.step, "attention") / (double)macs_of(&whole.step, "attention");
            /* The first of the two attentions is of all tokens and heads. */
            assert_true(fabs(ratio - (1 + tn_pruned_attention_ratio(tokens[t], heads[h])) / 2) < 1e-12);
            uint64_t choices = 0;
            for (uint32_t i = 0; i < pruned.step.operations; i++) {
                const tn_operation *o = &pruned.step.operation[i];
                if (o->kind != TN_OP_TOP) continue;
                const uint64_t stay = pruned.step.array[o->writes[0]].elements;
                const double passes = 1 + tn_quick_select_comparisons(o->columns, stay) / (double)o->columns;
                assert_true(fabs((double)o->times / (double)o->of_times - passes) < 1e-6);
                choices++;
            }
            assert_int_equal(choices, (t > 0) + (h > 0));
            /* Behind the first attention a token less is a row less, before it none is. */
            uint32_t query = test_layer(&whole.step, "encoder1.attention"),
                     slots = test_layer(&whole.step, "slot-head");
            assert_int_equal(pruned.step.layer[query].macs[TN_FORWARD],
                             whole.step.layer[query].macs[TN_FORWARD]);
            assert_true((double)pruned.step.layer[slots].macs[TN_FORWARD] ==
                        tokens[t] * (double)whole.step.layer[slots].macs[TN_FORWARD]);
            /* Of heads alone the choice costs more than one attention of 12 heads gains. */
            if (t) assert_true(pruned.price.cycles_per_step < whole.price.cycles_per_step);
        }
}

static void early_exit(void **state) {
    (void)state;
    const char *forward = "phase=inference";
    const char *const set[] = {forward, "exit=[0.25, 0.75]"}, *const never[] = {forward, "exit=[0, 1]"};
    const design whole = priced(&forward, 1), left = priced(set, 2), all = priced(never, 2);
    assert_int_equal(all.price.cycles_per_step, whole.price.cycles_per_step);
    for (uint32_t i = 0; i < whole.step.layers; i++) {
        const char *name = whole.step.layer[i].name;
        bool second = strncmp(name, "encoder2.", 9) == 0,
             head = strncmp(name, "slot", 4) == 0 || strncmp(name, "intent", 6) == 0;
        uint64_t macs = whole.step.layer[i].macs[TN_FORWARD];
        /* Heads run for all behind the first encoder, to decide, and for those who stay behind the second. */
        assert_int_equal(left.step.layer[i].macs[TN_FORWARD], second ? macs / 4 * 3
                                                              : head ? macs / 4 * 7
                                                                     : macs);
    }
    const char *const most[] = {forward, "exit=[0.75, 0.25]"};
    assert_true(priced(most, 2).price.cycles_per_step < whole.price.cycles_per_step);
}

/* The mean step takes what its sorts take by their shares, starts and drains too: but for rounding up, operation by
 * operation. */
static void sorts_are_charged_by_their_shares(void **state) {
    (void)state;
    static const char *const sets[][2] = {
        {"predicted_gradients={per: 4, true: 1, predictor: 4}", "batch=1"},
        {"predicted_gradients={per: 3, true: 2, predictor: 4}", "update.when=write-back"},
        {"exit=[0.25, 0.75]", "phase=inference"}};
    static const char *const builds[] = {"layouts: ideal", "{layouts: ideal, off_chip_over_bytes: 100000}"};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t k = 0; k < sizeof builds / sizeof *builds; k++) {
            const tn_model *model = loaded(sets[s], 2);
            const design mean = priced_step(test_step_of(model, &arena), builds[k]);
            double cycles = 0;
            for (uint32_t sort = 0; sort < tn_step_sorts(model); sort++) {
                const design one = priced_step(test_sort_of(model, sort, &arena), builds[k]);
                cycles += tn_step_sort_share(model, sort) * (double)one.price.cycles_per_step;
            }
            double more = (double)mean.price.cycles_per_step - cycles;
            assert_true(more > -1e-6 * cycles && more < 3 * mean.step.operations);
        }
}

/* With time to spare the clock falls to what is needed and the voltage with it. */
static void voltage_follows_the_deadline(void **state) {
    (void)state;
    const char *forward = "phase=inference";
    const design whole = priced(&forward, 1);
    double needed_us = 1e6 * whole.price.seconds_per_step, volts = device->energy.voltage_V.value;
    for (double times = 0.5; times < 8; times *= 1.3) {
        char deadline[64];
        const char *const set[] = {forward, deadline, "dvfs.least_V=0.5"};
        snprintf(deadline, sizeof deadline, "dvfs.deadline_us=%.17g", times * needed_us);
        const design slow = priced(set, 3);
        double seconds = 1e-6 * needed_us * fmax(times, 1), point = fmax(fmin(1, 1 / times), 0.5 / volts);
        assert_true(fabs(slow.price.seconds_per_step - seconds) < 1e-12);
        assert_true(
            fabs(slow.price.static_joules_per_step - device->energy.static_W.value * point * seconds) < 1e-9);
        double one = slow.price.joules_per_step - slow.price.static_joules_per_step,
               other = whole.price.joules_per_step - whole.price.static_joules_per_step;
        assert_true(one <= other + 1e-15 && one >= other * point * point - 1e-12);
    }
}

/* Who leaves early has fewer cycles in the same time, and so a lower voltage than the mean input would have. */
static void each_exit_has_its_own_voltage(void **state) {
    (void)state;
    static const char *const exits[] = {"phase=inference", "exit=[0.25, 0.75]"};
    const tn_model *model = loaded(exits, 2);
    const design fast = priced(exits, 2);
    const double volts = device->energy.voltage_V.value, clock = device->clock_MHz * 1e6;
    double cycles[2];
    for (uint32_t e = 0; e < 2; e++)
        cycles[e] = (double)priced_step(test_sort_of(model, e, &arena), NULL).price.cycles_per_step;
    assert_true(cycles[0] < cycles[1]);
    for (double times = 0.7; times < 4; times *= 1.5) {
        const double deadline = times * cycles[1] / clock;
        double seconds = 0, rest = 0, squares = 0, all = 0;
        char text[64];
        const char *const set[] = {exits[0], exits[1], text, "dvfs.least_V=0.3"};
        snprintf(text, sizeof text, "dvfs.deadline_us=%.17g", 1e6 * deadline);
        const design slow = priced(set, 4);
        for (uint32_t e = 0; e < 2; e++) {
            const double share = tn_step_sort_share(model, e), own = fmax(deadline, cycles[e] / clock),
                         point = fmax(cycles[e] / clock / own, 0.3 / volts);
            seconds += share * own;
            rest += share * own * point * device->energy.static_W.value;
            squares += share * cycles[e] * point * point;
            all += share * cycles[e];
        }
        /* but for rounding up, operation by operation */
        assert_true(fabs(slow.price.seconds_per_step / seconds - 1) < 1e-3);
        assert_true(fabs(slow.price.static_joules_per_step / rest - 1) < 2e-3);
        const double one = slow.price.joules_per_step - slow.price.static_joules_per_step,
                     other = fast.price.joules_per_step - fast.price.static_joules_per_step;
        assert_true(one < other && one > other * squares / all * 0.998);
    }
}

/* Straight lines between the points of the device file, which also are those of a price. */
static void operating_points_of_a_device(void **state) {
    (void)state;
    static const char *const points[] = {"dvfs={volts: [0.6, 0.72, 0.85], MHz: [50, 120, 200]}"};
    static const char *const slips[] = {"dvfs={volts: [0.6, 0.7], MHz: [50]}",
                                        "dvfs={volts: [0.7, 0.6], MHz: [50, 90]}",
                                        "dvfs={volts: [0.6, 0.7], MHz: [90, 90]}"};
    static const double clock[] = {10, 50, 85, 120, 160, 200, 300},
                        expected[] = {0.6, 0.6, 0.66, 0.72, 0.785, 0.85, 0.85};
    const char *forward = "phase=inference";
    const tn_device *const plain = device, *other;
    tn_error error;
    assert_int_equal(tn_device_change(plain, points, 1, &arena, &device, NULL), TN_OK);
    for (int i = 0; i < 7; i++) assert_true(fabs(tn_energy_volts(device, clock[i]) - expected[i]) < 1e-12);
    assert_true(fabs(tn_energy_volts(plain, 100) - 0.5 * plain->energy.voltage_V.value) < 1e-12);
    const design whole = priced(&forward, 1);
    char deadline[64];
    const char *const set[] = {forward, deadline};
    const double seconds = (double)whole.price.cycles_per_step / 85e6; /* at 85 MHz */
    snprintf(deadline, sizeof deadline, "dvfs.deadline_us=%.17g", 1e6 * seconds);
    const design slow = priced(set, 2);
    assert_true(fabs(slow.price.static_joules_per_step -
                     device->energy.static_W.value * seconds * 0.66 / device->energy.voltage_V.value) < 1e-9);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tn_device_change(plain, &slips[i], 1, &arena, &other, &error), TN_INPUT);
        assert_non_null(strstr(error.message, "both ascending"));
    }
    device = plain;
}

/* Decoding with weights off the chip: the next block of columns is brought while one is computed, and as much is moved. */
static void flat_blocks_are_brought_beside(void **state) {
    (void)state;
    static const char build[] = "{rows: 1, columns: 16, reduction: 8, off_chip_over_bytes: 4096}";
    static const char *const set[] = {"phase=decode", "format=dense", "sequence=256", "flat_gemm.block=16"};
    const tn_device *const plain = device;
    tn_device *board;
    design made[2];
    assert_int_equal(tn_device_load("zcu104", NULL, 0, &arena, &board, NULL), TN_OK);
    device = board;
    for (int flat = 0; flat < 2; flat++) {
        tn_model *model;
        assert_int_equal(tn_model_load("byte-decoder", set, 3 + (size_t)flat, &arena, &model, NULL), TN_OK);
        made[flat] = priced_step(test_step_of(model, &arena), build);
    }
    const tn_external_memory *external = device->external.item;
    const double brought = (double)made[1].price.off_chip_bytes_per_step / (external->bandwidth_GBps * 1e9);
    assert_int_equal(made[1].price.off_chip_bytes_per_step, made[0].price.off_chip_bytes_per_step);
    assert_true(made[1].price.cycles_per_step < made[0].price.cycles_per_step);
    assert_true(made[1].price.seconds_per_step > brought);
    device = plain;
}

static void outliers_take_their_neighbours_bits(void **state) {
    (void)state;
    const char *forward = "phase=inference", *const set[] = {forward, "outliers=4"};
    const design whole = priced(&forward, 1), pairs = priced(set, 2);
    uint64_t in_products = 0; /* parameters that products alone read: 4 bits instead of 32 */
    for (uint32_t a = 0; a < whole.step.arrays; a++) {
        bool only = whole.step.array[a].role == TN_ARRAY_PARAMETER;
        for (uint32_t i = 0; i < whole.step.operations && only; i++)
            for (uint32_t k = 0; k < whole.step.operation[i].read_count; k++)
                only = only && (whole.step.operation[i].reads[k] != a ||
                                whole.step.operation[i].kind == TN_OP_PRODUCT);
        if (only) in_products += whole.step.array[a].elements;
    }
    assert_int_equal(pairs.step.parameter_bytes,
                     whole.step.parameter_bytes - in_products * 4 + in_products / 2);
    assert_true(pairs.price.used.dsp < whole.price.used.dsp);
}

/* Blocks that divide the columns change no multiply-add. */
static void flat_products(void **state) {
    (void)state;
    const char *const plain[] = {"phase=inference", "format=dense"}, *const set[] = {
                                                                         "phase=inference", "format=dense",
                                                                         "flat_gemm={rows: 32, block: 128}"};
    const design whole = priced(plain, 2), cut = priced(set, 3);
    assert_int_equal(cut.step.macs[TN_FORWARD], whole.step.macs[TN_FORWARD]);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < cut.step.operations; i++) {
        const tn_operation *o = &cut.step.operation[i];
        if (o->kind != TN_OP_PRODUCT || o->column_block != 128) continue;
        assert_int_equal(o->columns % 128, 0);
        blocks++;
    }
    assert_true(blocks > 10);
}

/* Lifetimes in time, one operation behind the other, by adding up. */
static void embedded_dram(void **state) {
    (void)state;
    static const char *const sets[][3] = {
        {"memory={kind: edram, retention_us: 3.35, refresh_pj: 2}", "batch=1"},
        {"memory={kind: edram, retention_us: 500, refresh_pj: 2}", "update.when=write-back"},
        {"memory={kind: edram, retention_us: 1e8, refresh_pj: 2}", "batch=1"}};
    for (int s = 0; s < 3; s++) {
        const design edram = priced(sets[s], 2), sram = priced(&sets[s][1], 1);
        const tn_step *step = &edram.step;
        double pJ = 0;
        for (uint32_t a = 0; a < step->arrays; a++) {
            const tn_array *array = &step->array[a];
            uint64_t cycles = 0, refreshes;
            if (array->role != TN_ARRAY_ACTIVATION && array->role != TN_ARRAY_INTERMEDIATE) continue;
            for (uint32_t i = array->first; i <= array->last; i++) cycles += edram.workload->cycles[i];
            assert_int_equal(
                tn_refreshes((double)cycles / device->clock_MHz, step->retention_us, &refreshes, NULL),
                TN_OK);
            pJ += 2 * (double)refreshes * (double)array->elements;
        }
        assert_true(s == 2 ? pJ == 0 : pJ > 0);
        double more = edram.price.joules_per_step - sram.price.joules_per_step;
        assert_true(fabs(more - 1e-12 * pJ) < 1e-12 * (1 + 1e-6 * pJ));
        assert_int_equal(edram.price.cycles_per_step, sram.price.cycles_per_step);
    }
}

/* A device whose memory blocks lose their value: of every array, and what stays lives the whole step. */
static void cells_of_a_device(void **state) {
    (void)state;
    static const char *const sets[] = {"batch=1", "update.when=write-back", "activations.policy=recompute",
                                       "memory={kind: edram, retention_us: 500}"};
    const tn_device *const plain = device;
    tn_device *embedded;
    assert_int_equal(tn_device_load("u50-edram", NULL, 0, &arena, &embedded, NULL), TN_OK);
    device = embedded;
    assert_true(device->edram.retention_us > 0 && device->edram.refresh_pJ_per_bit > 0);
    assert_int_equal(device->resources.uram, 2 * plain->resources.uram);
    assert_int_equal(device->resources.bram18, 2 * plain->resources.bram18);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        const design edram = priced(&sets[s], 1);
        const double retention_us = s == 3 ? 500 : device->edram.retention_us;
        tn_build build;
        tn_explanation told;
        tn_cells_price cells = {0};
        uint64_t all = 0;
        double pJ = 0;
        for (uint32_t i = 0; i < edram.step.operations; i++) all += edram.workload->cycles[i];
        for (uint32_t a = 0; a < edram.step.arrays; a++) {
            const tn_array *array = &edram.step.array[a];
            const bool stays = tn_array_is_resident(array);
            uint64_t cycles = stays ? all : 0;
            for (uint32_t i = array->first; !stays && i <= array->last; i++)
                cycles += edram.workload->cycles[i];
            const double refreshes = floor((double)cycles / device->clock_MHz / retention_us),
                         words = (double)array->elements;
            pJ += refreshes * words * 32 * device->edram.refresh_pJ_per_bit;
            if (stays) {
                cells.staying_words += words;
                cells.staying_refreshes += refreshes * words;
                continue;
            }
            cells.arrays++;
            cells.refreshed_arrays += refreshes > 0;
            cells.words += words;
            cells.refreshed_words += refreshes > 0 ? words : 0;
            cells.refreshes += refreshes * words;
            cells.longest_us = fmax(cells.longest_us, (double)cycles / device->clock_MHz);
        }
        assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
        assert_int_equal(tn_price_explain(edram.workload, &build, &arena, &told, NULL), TN_OK);
        assert_true(fabs(told.joules[TN_ENERGY_REFRESH] - 1e-12 * pJ) <= 1e-9 * 1e-12 * pJ && pJ > 0);
        assert_true(fabs(told.price.joules_per_step - edram.price.joules_per_step) < 1e-12);
        assert_true(told.cells.lose && told.cells.retention_us == retention_us);
        assert_int_equal(told.cells.arrays, cells.arrays);
        assert_int_equal(told.cells.refreshed_arrays, cells.refreshed_arrays);
        assert_true(told.cells.refreshed_arrays < told.cells.arrays); /* some are read before they are lost */
        assert_true(told.cells.words == cells.words && told.cells.refreshed_words == cells.refreshed_words);
        assert_true(told.cells.refreshes == cells.refreshes &&
                    told.cells.staying_words == cells.staying_words);
        assert_true(told.cells.staying_refreshes == cells.staying_refreshes);
        assert_true(fabs(told.cells.longest_us - cells.longest_us) < 1e-6);
    }
    device = plain;
}

/* A duplex network in cells of 650 us: kept activations outlive them, found again none does, whatever the depth. */
static void an_order_frees_from_refreshes(void **state) {
    (void)state;
    const tn_device *const plain = device;
    tn_device *embedded;
    double longest_us = 0;
    assert_int_equal(tn_device_load("u50-edram", NULL, 0, &arena, &embedded, NULL), TN_OK);
    device = embedded;
    for (int depth = 2; depth <= 8; depth *= 2)
        for (int reversible = 0; reversible < 2; reversible++) {
            char repeat[64];
            const char *const set[] = {"memory={kind: edram, retention_us: 650}", repeat,
                                       reversible ? "layers.duplex.activations.policy=reversible"
                                                  : "layers.duplex.activations.policy=keep"};
            tn_model *model;
            tn_build build;
            tn_explanation told;
            snprintf(repeat, sizeof repeat, "layers.duplex.repeat=%d", depth);
            assert_int_equal(
                tn_model_load(test_source("docs/examples/duplex.yaml"), set, 3, &arena, &model, NULL), TN_OK);
            const design made = priced_step(test_step_of(model, &arena), NULL);
            assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
            assert_int_equal(tn_price_explain(made.workload, &build, &arena, &told, NULL), TN_OK);
            assert_true(reversible ? told.cells.refreshes == 0 : told.cells.refreshes > 0);
            assert_true(told.cells.staying_refreshes > 0);
            if (reversible && depth > 2) assert_true(fabs(told.cells.longest_us - longest_us) < 1);
            if (reversible) longest_us = told.cells.longest_us;
        }
    device = plain;
}

static int begin(void **state) {
    (void)state;
    tn_device *loaded_device = NULL;
    const tn_status status = tn_device_load("u50@user-area", NULL, 0, &arena, &loaded_device, NULL);
    device = loaded_device;
    return status != TN_OK;
}

static int end(void **state) {
    test_models_end(state);
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_attention),
        cmocka_unit_test(early_exit),
        cmocka_unit_test(sorts_are_charged_by_their_shares),
        cmocka_unit_test(voltage_follows_the_deadline),
        cmocka_unit_test(each_exit_has_its_own_voltage),
        cmocka_unit_test(operating_points_of_a_device),
        cmocka_unit_test(flat_blocks_are_brought_beside),
        cmocka_unit_test(outliers_take_their_neighbours_bits),
        cmocka_unit_test(flat_products),
        cmocka_unit_test(embedded_dram),
        cmocka_unit_test(cells_of_a_device),
        cmocka_unit_test(an_order_frees_from_refreshes),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
