/* tenfold compare: its rows against the commands that answer for one system alone, its ratios against counts by hand, its
 * verdicts and crossing points against its rows. */
#include "support/folder.h"
#include "support/pages.h"
#include "support/program.h"
#include "support/shared.h"
#include "text/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number under %s", key);
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    if (!value) fail_msg("no text under %s", key);
    return value;
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The row of the own batch; of the best one where `best`, else NULL if there is none. */
static const json_t *find_row(const json_t *from, const char *model, const char *system, const char *training,
                              const char *way, bool best) {
    const json_t *rows = json_object_get(from, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(text(row, "model"), model) == 0 &&
            strncmp(text(row, "system"), system, strlen(system)) == 0 &&
            strcmp(text(row, "training"), training) == 0 && strcmp(text(row, "way"), way) == 0 &&
            json_is_true(json_object_get(row, "best_batch")) == best)
            return row;
    }
    return NULL;
}

static const json_t *row_of(const json_t *from, const char *model, const char *system, const char *training,
                            const char *way) {
    const json_t *row = find_row(from, model, system, training, way, false);
    if (!row) fail_msg("no row of %s on %s, %s, %s", model, system, training, way);
    return row;
}

/* Null only under `published`. */
static void assert_no_null(const json_t *object) {
    const char *key;
    json_t *value;
    size_t i;
    assert_false(json_is_null(object));
    json_object_foreach((json_t *)object, key, value) if (strcmp(key, "published") != 0)
        assert_no_null(value);
    json_array_foreach(object, i, value) assert_no_null(value);
}

static void assert_around(const json_t *row, const char *key) {
    const json_t *range = json_object_get(json_object_get(row, "range"), key);
    assert_int_equal(json_array_size(range), 2);
    double least = json_number_value(json_array_get(range, 0)),
           most = json_number_value(json_array_get(range, 1));
    assert_true(least <= number(row, key) && number(row, key) <= most && least <= most);
}

static const struct {
    const char *name;
    double dense, tensor;
} models[] = {
    {"atis-2enc", 9179282, 300290}, {"atis-4enc", 16272530, 374402}, {"atis-6enc", 23365778, 448514}};

static json_t *answer;   /* by law, as the pages have it */
static json_t *measured; /* with this machine timed, on a small model */

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    answer = test_program_json(0, "compare", "atis-2enc", "atis-4enc", "atis-6enc", "--gpu", "rtx3090",
                               "--gpu", "h200", "--nearest", "--json", NULL);
    measured =
        test_program_json(0, "compare", "byte-decoder", "--fpga", "u50", "--gpu", "rtx3090", "--cpu",
                          "generic-cpu", "--cpu", "measured", "--set", "examples=1000", "--json", NULL);
    return 0;
}

static int tear_down(void **state) {
    json_decref(answer);
    json_decref(measured);
    return test_folder_remove(state);
}

static void check_rows(const json_t *from, double examples) {
    const json_t *rows = json_object_get(from, "rows");
    assert_no_null(rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        static const char *const ranged[] = {"seconds_per_step", "seconds_per_epoch", "joules_per_step",
                                             "joules_per_epoch"};
        for (size_t k = 0; k < 4; k++) assert_around(row, ranged[k]);
        double steps = ceil(examples / number(row, "batch"));
        assert_true(number(row, "steps_per_epoch") == steps);
        assert_true(near(number(row, "seconds_per_epoch"), steps * number(row, "seconds_per_step")));
        assert_true(near(number(row, "joules_per_epoch"), steps * number(row, "joules_per_step")));
        assert_true(
            near(number(row, "watts"), number(row, "joules_per_step") / number(row, "seconds_per_step")));
        assert_true(number(row, "live_bytes") > number(row, "parameters_bytes"));
    }
}

static void rows_are_whole(void **state) {
    (void)state;
    check_rows(answer, 4478);
    check_rows(measured, 1000);
    for (int dense = 0; dense <= 1; dense++) {
        const char *training = dense ? "dense" : "tensor";
        row_of(measured, "byte-decoder", "this machine", training, "measured");
        row_of(measured, "byte-decoder", "generic-cpu", training, "graph");
    }
    for (size_t m = 0; m < 3; m++) {
        static const char *const fpga[] = {"fastest", "least-energy"}, *const gpu[] = {"rtx3090", "h200"};
        const char *model = models[m].name;
        for (size_t g = 0; g < 2; g++) {
            assert_non_null(find_row(answer, model, gpu[g], "dense", "graph", true));
            assert_non_null(find_row(answer, model, gpu[g], "tensor", "graph", true));
            row_of(answer, model, gpu[g], "dense", "launched");
            row_of(answer, model, gpu[g], "tensor", "graph");
        }
        row_of(answer, model, "generic-cpu", "tensor", "graph");
        const json_t *fast = row_of(answer, model, "u50@user-area", "tensor", fpga[0]),
                     *frugal = row_of(answer, model, "u50@user-area", "tensor", fpga[1]);
        assert_true(number(fast, "seconds_per_step") <= number(frugal, "seconds_per_step"));
        assert_true(number(frugal, "joules_per_step") <= number(fast, "joules_per_step"));
        assert_true(number(row_of(answer, model, "h200", "dense", "launched"), "parameters_bytes") ==
                    4 * models[m].dense);
        assert_true(number(fast, "parameters_bytes") == 4 * models[m].tensor);
    }
}

static double end_of(const json_t *row, const char *key, size_t end) {
    return json_number_value(json_array_get(json_object_get(json_object_get(row, "range"), key), end));
}

/* The range of the FPGA has the clock and the power at rest in it: half again as fast at 300 MHz than at 200, a third slower at
 * 150, with whatever the operators leave open on top. */
static void range_of_the_fpga(void **state) {
    (void)state;
    const json_t *row = row_of(answer, "atis-2enc", "u50@user-area", "tensor", "fastest");
    double seconds = number(row, "seconds_per_step");
    assert_true(end_of(row, "seconds_per_step", 0) <= seconds * 200 / 300 * (1 + 1e-9));
    assert_true(end_of(row, "seconds_per_step", 1) >= seconds * 200 / 150 * (1 - 1e-9));
    assert_true(end_of(row, "rest_W", 0) == 10 && end_of(row, "rest_W", 1) == 41);
    assert_true(end_of(row, "joules_per_step", 1) > 41 * seconds * 200 / 150);
}

static void gpus_as_roofline_step_says(void **state) {
    (void)state;
    static const char *const gpu[] = {"rtx3090", "h200"};
    for (size_t i = 0; i < 2; i++)
        for (int dense = 0; dense <= 1; dense++) {
            json_t *step = test_program_json(0, "roofline", "step", "atis-4enc", "--device", gpu[i], "--set",
                                             dense ? "format=dense" : "format=as-given", "--json", NULL);
            const json_t *row = row_of(answer, "atis-4enc", gpu[i], dense ? "dense" : "tensor", "launched"),
                         *graph = row_of(answer, "atis-4enc", gpu[i], dense ? "dense" : "tensor", "graph");
            assert_true(near(1e3 * number(graph, "seconds_per_step"), number(step, "graph_ms")));
            assert_true(near(1e3 * number(row, "seconds_per_step"), number(step, "launched_ms")));
            assert_true(near(1e3 * number(row, "kernels_seconds_per_step"), number(step, "graph_ms")));
            assert_true(near(number(row, "joules_per_step"), number(step, "joules")));
            assert_true(4 * number(step, "parameters") == number(row, "parameters_bytes"));
            json_decref(step);
        }
}

/* The design that was found, given to `cost` as overrides of the model file. */
static void design_as_cost_says(void **state) {
    (void)state;
    const json_t *row = row_of(answer, "atis-2enc", "u50@user-area", "tensor", "least-energy");
    char command[1024] = "\"$TENFOLD\" cost atis-2enc --json", build[512];
    snprintf(build, sizeof build, "%s", text(row, "build"));
    for (char *key = strtok(build, " "); key; key = strtok(NULL, " ")) {
        size_t used = strlen(command);
        snprintf(command + used, sizeof command - used, " --set %s", key);
    }
    test_run run = test_shell(command);
    assert_int_equal(run.status, 0);
    json_t *cost = json_loads(run.out, 0, NULL);
    assert_non_null(cost);
    assert_true(json_is_true(json_object_get(cost, "fits")));
    assert_true(
        near(number(json_object_get(cost, "latency"), "seconds_per_step"), number(row, "seconds_per_step")));
    assert_true(
        near(number(json_object_get(cost, "energy"), "joules_per_step"), number(row, "joules_per_step")));
    assert_true(near(number(json_object_get(cost, "memory"), "peak_bytes"), number(row, "live_bytes")));
    const json_t *resources = json_object_get(cost, "resources");
    assert_true(number(json_object_get(resources, "bram18"), "used") * 18 * 1024 / 8 ==
                number(row, "bram_bytes"));
    assert_true(number(json_object_get(resources, "uram"), "used") * 288 * 1024 / 8 ==
                number(row, "uram_bytes"));
    json_decref(cost);
    test_run_free(&run);
}

static const json_t *verdict_of(const char *model, const char *measure) {
    const json_t *claims = json_object_get(answer, "claims");
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *claim = json_array_get(claims, i);
        if (strcmp(text(claim, "model"), model) == 0 && strstr(text(claim, "measure"), measure)) return claim;
    }
    fail_msg("no claim of %s about %s", model, measure);
    return NULL;
}

static void claims_are_judged(void **state) {
    (void)state;
    static const char *const expected[] = {"follows", "follows", "nearly"};
    for (size_t m = 0; m < 3; m++) {
        const json_t *ratio = verdict_of(models[m].name, "ratio of parameters");
        assert_true(near(number(ratio, "ours"), models[m].dense / models[m].tensor));
        assert_string_equal(text(ratio, "verdict"), expected[m]);
        const json_t *live = verdict_of(models[m].name, "live training");
        const json_t *dense = row_of(answer, models[m].name, "rtx3090", "dense", "launched"),
                     *design = row_of(answer, models[m].name, "u50@user-area", "tensor", "least-energy"),
                     *tensor = row_of(answer, models[m].name, "rtx3090", "tensor", "launched");
        assert_true(near(number(live, "ours"), number(dense, "live_bytes") / number(design, "live_bytes")));
        assert_string_equal(text(live, "verdict"), "does not follow");
        const json_t *energy = verdict_of(models[m].name, "tensor training over");
        assert_true(near(number(energy, "ours"),
                         number(tensor, "joules_per_epoch") / number(design, "joules_per_epoch")));
        assert_non_null(strstr(text(energy, "why"), "host"));
        assert_string_equal(text(verdict_of(models[m].name, "block RAM"), "verdict"), "follows");
    }
    assert_string_equal(text(verdict_of("atis-2enc", "parameters, 4 bytes"), "verdict"), "follows");
    assert_string_equal(text(verdict_of("atis-6enc", "parameters, 4 bytes"), "verdict"), "follows");
}

/* Slower operators make other blocks pay here, and the step shorter: the range still holds the figure. */
static void range_holds_the_figure(void **state) {
    (void)state;
    json_t *told = test_program_json(0, "compare", "encoder-512", "--gpu", "a100-40gb", "--cpu", "none",
                                     "--batch", "1", "--json", NULL);
    const json_t *rows = json_object_get(told, "rows");
    assert_int_equal(json_array_size(rows), 4 + 2);
    for (size_t i = 0; i < 6; i++) assert_around(json_array_get(rows, i), "seconds_per_step");
    json_decref(told);
}

/* ---- verdicts, again from the rows ---- */

static bool is_fpga(const json_t *row) {
    return strcmp(text(row, "kind"), "fpga") == 0;
}

/* The least value of a key among FPGAs, or among all others. */
static const json_t *least_row(const json_t *from, const char *model, const char *key, bool fpga,
                               bool any_batch) {
    const json_t *rows = json_object_get(from, "rows"), *best = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(text(row, "model"), model) != 0 || is_fpga(row) != fpga) continue;
        if (!any_batch && json_is_true(json_object_get(row, "best_batch"))) continue;
        if (!best || number(row, key) < number(best, key)) best = row;
    }
    assert_non_null(best);
    return best;
}

/* A label names its row: "h200, dense, graph, batch 1". */
static void assert_names(const char *label, const json_t *row) {
    char expected[160];
    snprintf(expected, sizeof expected, "%s, %s, %s, batch %.0f", text(row, "system"), text(row, "training"),
             text(row, "way"), number(row, "batch"));
    if (strncmp(label, expected, strlen(expected)) != 0)
        fail_msg("%s, where the rows say %s", label, expected);
}

static void check_winners(const json_t *from, size_t compared) {
    const json_t *winners = json_object_get(from, "winners");
    assert_int_equal(json_array_size(winners), compared * 4);
    for (size_t i = 0; i < json_array_size(winners); i++) {
        const json_t *said = json_array_get(winners, i);
        const bool time = strcmp(text(said, "quantity"), "time") == 0;
        const bool any = strcmp(text(said, "batch"), "best") == 0;
        const char *key = time ? "seconds_per_epoch" : "joules_per_epoch", *model = text(said, "model");
        const json_t *ours = least_row(from, model, key, true, any),
                     *theirs = least_row(from, model, key, false, any);
        const json_t *wins = number(ours, key) <= number(theirs, key) ? ours : theirs;
        assert_names(text(said, "fpga"), ours);
        assert_names(text(said, "opponent"), theirs);
        assert_names(text(said, "winner"), wins);
        assert_true(near(number(said, "value"), number(wins, key)));
        assert_true(near(number(said, "ratio"), number(theirs, key) / number(ours, key)));
        const bool apart =
            end_of(ours, key, 1) < end_of(theirs, key, 0) || end_of(theirs, key, 1) < end_of(ours, key, 0);
        assert_true(json_is_true(json_object_get(said, "sure")) == apart);
        assert_true(number(wins, "steps_per_epoch") >= 2);
    }
}

static void winners_by_the_rows(void **state) {
    (void)state;
    check_winners(answer, 3);
    check_winners(measured, 1);
    for (size_t m = 0; m < 3; m++) {
        const json_t *said = json_array_get(json_object_get(answer, "verdicts"), m);
        assert_string_equal(text(said, "model"), models[m].name);
        assert_non_null(strstr(text(said, "verdict"), "uild it"));
    }
}

static const json_t *crossing_of(const char *model, const char *name) {
    const json_t *all = json_object_get(answer, "crossings");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(text(one, "model"), model) == 0 && strcmp(text(one, "crossing"), name) == 0) return one;
    }
    fail_msg("no crossing %s of %s", name, model);
    return NULL;
}

/* Of a step at a batch, by another command: per example. */
static double an_example(const char *label, const char *model, int batch, bool joules) {
    char device[64], training[16], way[16], set[64];
    assert_int_equal(sscanf(label, "%63[^,], %15[^,], %15[^,]", device, training, way), 3);
    snprintf(set, sizeof set, "batch=%d", batch);
    json_t *told = test_program_json(0, "roofline", "step", model, "--device", device, "--set", set, "--set",
                                     *training == 'd' ? "format=dense" : "format=as-given", "--json", NULL);
    const bool graph = strcmp(way, "graph") == 0;
    double value = joules ? number(told, graph ? "graph_joules" : "joules")
                          : 1e-3 * number(told, graph ? "graph_ms" : "launched_ms");
    json_decref(told);
    return value / batch;
}

/* Where they are said to be, the two sides are even. */
static void crossings_are_roots(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        const char *model = models[m].name;
        const json_t *fast = row_of(answer, model, "u50@user-area", "tensor", "fastest"),
                     *frugal = row_of(answer, model, "u50@user-area", "tensor", "least-energy"),
                     *rival = least_row(answer, model, "joules_per_epoch", false, false);
        for (int joules = 0; joules < 2; joules++) {
            const json_t *batch = crossing_of(model, joules ? "batch-energy" : "batch-time");
            int from = (int)number(batch, "value");
            const char *key = joules ? "joules_per_step" : "seconds_per_step", *by = text(batch, "opponent");
            double ours = number(joules ? frugal : fast, key);
            assert_true(an_example(by, model, from, joules) < ours);
            if (from > 1) assert_true(an_example(by, model, from - 1, joules) >= ours);
        }
        double power = number(crossing_of(model, "power"), "value");
        assert_true(near(power * number(frugal, "seconds_per_epoch"), number(rival, "joules_per_epoch")));
        double rest = number(crossing_of(model, "power-at-rest"), "value");
        assert_true(near(number(frugal, "joules_per_step") +
                             (rest - number(frugal, "rest_W")) * number(frugal, "seconds_per_step"),
                         number(rival, "joules_per_step")));
        assert_true(near(number(crossing_of(model, "power-budget"), "value"),
                         number(least_row(answer, model, "watts", false, false), "watts")));
        assert_true(number(crossing_of(model, "latency"), "value") == number(fast, "seconds_per_step"));
        /* The cheapest rented epoch at batch 1 is one on the 3090, at 0.3 USD an hour; three years of 8766 hours. */
        const json_t *rented = row_of(answer, model, "rtx3090", "dense", "graph");
        double epochs = 3 * 8766 * 3600 / number(fast, "seconds_per_epoch"),
               cost = 0.3 * number(rented, "seconds_per_epoch") / 3600,
               electricity = 0.2 * number(fast, "joules_per_epoch") / 3.6e6;
        assert_true(near(number(crossing_of(model, "board-price"), "value"), epochs * (cost - electricity)));
    }
}

/* The claimed ratio as a figure: at the step that is said to make it true, it is. */
static void ratios_of_energy(void **state) {
    (void)state;
    const json_t *ratios = json_object_get(answer, "energy_ratios");
    assert_int_equal(json_array_size(ratios), 3 * 3);
    for (size_t i = 0; i < json_array_size(ratios); i++) {
        const json_t *ratio = json_array_get(ratios, i);
        const char *model = text(ratio, "model");
        const json_t *gpu = row_of(answer, model, "rtx3090", "tensor", "launched"),
                     *frugal = row_of(answer, model, "u50@user-area", "tensor", "least-energy");
        double joules =
            number(frugal, "joules_per_step") +
            (number(ratio, "rest_W") - number(frugal, "rest_W")) * number(frugal, "seconds_per_step");
        assert_true(near(number(ratio, "launched"), number(gpu, "joules_per_step") / joules));
        assert_true(near(number(ratio, "kernels"),
                         number(gpu, "watts") * number(gpu, "kernels_seconds_per_step") / joules));
        assert_true(near(number(gpu, "watts") * number(ratio, "claimed_seconds") / joules, 3.6));
    }
}

/* The host's power is on every side, or on none. */
static void host_on_every_side(void **state) {
    (void)state;
    json_t *told = test_program_json(0, "compare", "atis-2enc", "--gpu", "rtx3090", "--batch", "1",
                                     "--host-power", "80", "--json", NULL);
    const json_t *rows = json_object_get(told, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *bare = row_of(answer, "atis-2enc", text(row, "system"),
                                                                    text(row, "training"), text(row, "way"));
        if (is_fpga(row)) continue; /* another design may be the one of least energy */
        assert_true(near(number(row, "watts"), number(bare, "watts") + 80));
        assert_true(near(number(row, "joules_per_step"),
                         number(bare, "joules_per_step") + 80 * number(bare, "seconds_per_step")));
    }
    json_decref(told);
}

/* The two figures, their scripts and numbers. */
static void figures_are_drawn(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", test_in_folder("sides.svg"));
    test_run run = test_program("compare", "atis-2enc", "--gpu", "rtx3090", "--plot", path, "--quiet", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    static const char *const names[] = {"sides.svg", "sides.dat", "sides-claim.svg", "sides-claim.dat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(access(test_in_folder(names[i]), R_OK), 0);
}

/* ---- the pages ---- */

static const char *quantity(double value, const char *unit) {
    static char text[8][48];
    static int next;
    return tn_quantity_text(value, unit, text[next++ % 8]);
}

static void put_winners(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "winners");
    tn_buffer_text(out, "| model | least | batch | has | takes | best FPGA | best other | sure "
                        "|\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *w = json_array_get(list, i);
        const char *unit = strcmp(text(w, "quantity"), "time") == 0 ? "s" : "J";
        tn_buffer_format(out, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", text(w, "model"),
                         text(w, "quantity"), text(w, "batch"), text(w, "winner"),
                         quantity(number(w, "value"), unit), quantity(number(w, "fpga_value"), unit),
                         quantity(number(w, "opponent_value"), unit),
                         json_is_true(json_object_get(w, "sure")) ? "yes" : "no");
    }
}

static void put_crossings(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "crossings");
    tn_buffer_text(out, "| model | crossing | at | by |\n|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        const char *unit = text(c, "unit");
        const bool scaled = strcmp(unit, "W") == 0 || strcmp(unit, "s") == 0;
        char value[64];
        snprintf(value, sizeof value, "%.0f %s", number(c, "value"), unit);
        tn_buffer_format(out, "| %s | %s | %s | %s |\n", text(c, "model"), text(c, "crossing"),
                         scaled ? quantity(number(c, "value"), unit) : value, text(c, "opponent"));
    }
}

static void put_verdicts(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "verdicts");
    for (size_t i = 0; i < json_array_size(list); i++)
        tn_buffer_format(out, "* *%s*: %s\n", text(json_array_get(list, i), "model"),
                         text(json_array_get(list, i), "verdict"));
}

static void put_energy_ratios(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "energy_ratios");
    tn_buffer_text(out, "| model | FPGA at rest | kernels alone | fastest host | as launched | slowest host "
                        "| 3.6 is true of a step of |\n"
                        "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *r = json_array_get(list, i);
        tn_buffer_format(out, "| %s | %s | %.3g | %.3g | %.3g | %.3g | %s |\n", text(r, "model"),
                         quantity(number(r, "rest_W"), "W"), number(r, "kernels"), number(r, "least"),
                         number(r, "launched"), number(r, "most"),
                         quantity(number(r, "claimed_seconds"), "s"));
    }
}

static void put_claims(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "claims");
    tn_buffer_text(out, "| claim | model | of ours | is | range | verdict |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        double ours = number(c, "ours"),
               least = json_number_value(json_array_get(json_object_get(c, "range"), 0)),
               most = json_number_value(json_array_get(json_object_get(c, "range"), 1));
        const bool bytes = ours > 1e5;
        char is[64], range[64] = "";
        if (bytes)
            snprintf(is, sizeof is, "%.2f MB", ours / 1e6);
        else
            snprintf(is, sizeof is, "%.1f", ours);
        if (most > least) snprintf(range, sizeof range, "%.3g to %.3g", least, most);
        tn_buffer_format(out, "| %s | %s | %s | %s | %s | %s |\n", text(c, "claim"), text(c, "model"),
                         text(c, "measure"), is, range, text(c, "verdict"));
    }
}

static void put_rows(const json_t *told, tn_buffer *out) {
    const json_t *rows = json_object_get(told, "rows");
    tn_buffer_text(out, "| atis-2enc on | training | how | batch | updates an epoch | epoch | energy of an "
                        "epoch |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(text(row, "model"), "atis-2enc") != 0) continue;
        tn_buffer_format(out, "| %s | %s | %s | %.0f | %.0f | %s to %s | %s to %s |\n", text(row, "system"),
                         text(row, "training"), text(row, "way"), number(row, "batch"),
                         number(row, "steps_per_epoch"), quantity(end_of(row, "seconds_per_epoch", 0), "s"),
                         quantity(end_of(row, "seconds_per_epoch", 1), "s"),
                         quantity(end_of(row, "joules_per_epoch", 0), "J"),
                         quantity(end_of(row, "joules_per_epoch", 1), "J"));
    }
}

static void put_nearest(const json_t *told, tn_buffer *out) {
    const json_t *list = json_object_get(told, "nearest");
    tn_buffer_text(
        out, "| figure | said to be | known | nearest build | said over build |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *f = json_array_get(list, i);
        tn_buffer_format(out, "| `%s` | %g | %s | %.4g | %.3g |\n", text(f, "quantity"),
                         number(f, "published"), text(f, "origin"), number(f, "ours"), number(f, "ratio"));
    }
    tn_buffer_format(out, "\nThe build: `%s`.\n", text(json_array_get(list, 0), "build"));
}

/* What the pages print of this, less what depends on the machine that runs it. */
static void the_pages(void **state) {
    (void)state;
    static const struct {
        const char *page, *mark;
        void (*put)(const json_t *told, tn_buffer *out);
    } part[] = {{"compare.md", "rows", put_rows},
                {"compare.md", "winners", put_winners},
                {"compare.md", "verdicts", put_verdicts},
                {"compare.md", "crossings", put_crossings},
                {"compare.md", "ratios", put_energy_ratios},
                {"compare.md", "claims", put_claims},
                {"published.md", "nearest", put_nearest}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        tn_buffer lines = {0};
        part[i].put(answer, &lines);
        test_page(part[i].page, part[i].mark, &lines);
        tn_buffer_free(&lines);
    }
}

/* No build that fits is nearer to what is said of the hardware: each figure of the one that is said to be is what cost says of it, and
 * a handful of others are farther. */
static double farthest(const json_t *cost) {
    const json_t *resources = json_object_get(cost, "resources"), *latency = json_object_get(cost, "latency");
    const double seconds = number(latency, "seconds_per_epoch"),
                 joules = number(json_object_get(cost, "energy"), "joules_per_step"),
                 ours[] = {number(json_object_get(resources, "dsp"), "used"),
                           number(json_object_get(resources, "lut"), "used"), seconds,
                           joules / number(latency, "seconds_per_step")};
    static const double said[] = {2396, 565000, 191, 26.7};
    double worst = 0;
    for (size_t i = 0; i < 4; i++) worst = fmax(worst, fabs(log(said[i] / ours[i])));
    return worst;
}

static json_t *cost_of(const char *build) {
    char line[1024], choices[512];
    size_t used =
        (size_t)snprintf(line, sizeof line, "\"$TENFOLD\" cost atis-2enc --device u50@user-area --json");
    snprintf(choices, sizeof choices, "%s", build);
    for (char *key = strtok(choices, " "); key; key = strtok(NULL, " "))
        used += (size_t)snprintf(line + used, sizeof line - used, " --set %s", key);
    test_run run = test_shell(line);
    json_t *cost = json_loads(run.out, 0, NULL);
    assert_non_null(cost);
    test_run_free(&run);
    return cost;
}

static void nearest_to_the_hardware(void **state) {
    (void)state;
    const json_t *list = json_object_get(answer, "nearest");
    assert_int_equal(json_array_size(list), 4);
    json_t *best = cost_of(text(json_array_get(list, 0), "build"));
    double nearest = 0;
    for (size_t i = 0; i < 4; i++)
        nearest = fmax(nearest, fabs(log(number(json_array_get(list, i), "ratio"))));
    assert_true(fabs(farthest(best) - nearest) < 1e-9);
    assert_true(json_is_true(json_object_get(best, "fits")));
    static const char *const others[] = {"flow=bidirectional-published build.rows=2 build.columns=2 "
                                         "build.reduction=2 build.split=banks build.vector=16",
                                         "flow=bidirectional-published build.rows=16 build.columns=2 "
                                         "build.reduction=2 build.split=partition build.vector=32",
                                         "flow=bidirectional-published build.rows=4 build.columns=4 "
                                         "build.reduction=1 build.split=partition build.vector=32",
                                         "flow=bidirectional-published build.rows=8 build.columns=8 "
                                         "build.reduction=4 build.split=banks build.vector=16"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        json_t *other = cost_of(others[i]);
        assert_true(farthest(other) >= nearest || !json_is_true(json_object_get(other, "fits")));
        json_decref(other);
    }
    json_decref(best);
}

static void people_and_refusals(void **state) {
    (void)state;
    test_run run = test_program("compare", "atis-2enc", "--gpu", "rtx3090", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "does not follow"));
    assert_non_null(strstr(run.out, "step_power_W"));
    assert_non_null(strstr(run.out, "Which system decides"));
    assert_non_null(strstr(run.out, "Build it if"));
    assert_non_null(strstr(run.out, "memory / 30 to 51, BRAM <= 6 MiB, URAM <= 22.5 MiB, energy / 3.6"));
    test_run_free(&run);
    json_t *small = test_program_json(1, "compare", "atis-2enc", "--gpu", "rtx3090", "--cpu", "none",
                                      "--batch", "1", "--fpga", "pynq-z2", "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(small, "rows")), 4);
    assert_int_equal(json_array_size(json_object_get(small, "crossings")), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(small, "unfit"), 0)), "atis-2enc");
    json_decref(small);
    static const struct {
        const char *first, *option, *value, *says;
    } bad[] = {
        {"atis-2enc", "--fpga", "u50", "--gpu"},
        {"atis-2enc", "--gpu", "u50", "no roofline device"},
        {"atis-2enc", "--batch", "many", "--batch many"},
        {"atis-2enc", "--batch", "0", "--batch 0"},
        {"atis-2enc", "--host-power", "-1", "--host-power"},
        {"atis-2enx", "--gpu", "h200", "atis-2enc"},
        {"/tmp", "--gpu", "h200", "not with folders"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        run = test_program("compare", bad[i].first, bad[i].option, bad[i].value, NULL);
        assert_int_equal(run.status, 2);
        assert_non_null(strstr(run.err, bad[i].says));
        test_run_free(&run);
    }
}

/* A design of a sweep beside a GPU: what cost says of it, and its model on the GPU as roofline step says. */
static void a_design_of_a_sweep(void **state) {
    (void)state;
    char id[32];
    const char *swept = test_in_folder("swept");
    test_run run =
        test_program("sweep", test_source("tests/space/data/mini.yaml"), "--quiet", "-o", swept, NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *told = test_program_json(0, "recommend", swept, "--json", NULL);
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(told, "design")));
    json_t *cost = test_program_json(0, "cost", swept, "--point", id, "--json", NULL),
           *gpu = test_program_json(0, "roofline", "step", swept, "--point", id, "--device", "rtx3090",
                                    "--json", NULL),
           *compared =
               test_program_json(0, "compare", swept, "--point", id, "--gpu", "rtx3090", "--json", NULL);
    const char *model = text(cost, "model");
    const json_t *here = row_of(compared, model, text(cost, "device"), "tensor", "given"),
                 *there = row_of(compared, model, "rtx3090", "tensor", "launched");
    assert_true(
        near(number(here, "seconds_per_step"), number(json_object_get(cost, "latency"), "seconds_per_step")));
    assert_true(
        near(number(here, "joules_per_step"), number(json_object_get(cost, "energy"), "joules_per_step")));
    assert_true(near(1e3 * number(there, "seconds_per_step"), number(gpu, "launched_ms")));
    assert_true(number(row_of(compared, model, "rtx3090", "dense", "launched"), "parameters_bytes") >
                number(there, "parameters_bytes"));
    json_decref(told), json_decref(cost), json_decref(gpu), json_decref(compared);
    test_run refused = test_program("compare", "atis-2enc", "--point", id, "--gpu", "rtx3090", NULL);
    assert_int_equal(refused.status, 2);
    assert_non_null(strstr(refused.err, "--point goes with the folder of a sweep"));
    test_run_free(&refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),          cmocka_unit_test(gpus_as_roofline_step_says),
        cmocka_unit_test(design_as_cost_says),     cmocka_unit_test(claims_are_judged),
        cmocka_unit_test(people_and_refusals),     cmocka_unit_test(range_holds_the_figure),
        cmocka_unit_test(a_design_of_a_sweep),     cmocka_unit_test(range_of_the_fpga),
        cmocka_unit_test(winners_by_the_rows),     cmocka_unit_test(crossings_are_roots),
        cmocka_unit_test(ratios_of_energy),        cmocka_unit_test(host_on_every_side),
        cmocka_unit_test(figures_are_drawn),       cmocka_unit_test(the_pages),
        cmocka_unit_test(nearest_to_the_hardware),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
