/* tenfold order: its keys, bars, refusals, batch and agreement with its own paths. */
#include "support/program.h"
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
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "flow/tree.h"
#include "tensor/einsum.h"
#include "text/csv.h"

#define LAYER "tt:m=12x8x8,n=8x8x12,rank=12,tokens=32"

static const json_t *flow_of(const json_t *answer, const char *name) {
    size_t i;
    json_t *flow;
    json_array_foreach(json_object_get(answer, "flows"), i,
                       flow) if (strcmp(json_string_value(json_object_get(flow, "name")), name) ==
                                 0) return flow;
    return NULL;
}

static json_int_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static json_int_t macs_of(const json_t *answer, const char *name) {
    const json_t *flow = flow_of(answer, name);
    assert_non_null(flow);
    return number(flow, "macs");
}

static void worked_example(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "order", "--layer", LAYER, "--json", NULL);
    assert_int_equal(macs_of(answer, "dense"), 18874368);
    assert_int_equal(macs_of(answer, "right-to-left"), 1253376);
    assert_int_equal(macs_of(answer, "bidirectional"), 838656);
    assert_int_equal(macs_of(answer, "optimal"), 691200);
    assert_int_equal(number(flow_of(answer, "optimal"), "flops"), 2 * 691200);
    assert_int_equal(number(answer, "tensors"), 7);
    assert_true(json_is_true(json_object_get(answer, "exact")));
    assert_true(json_is_real(json_object_get(answer, "seconds")));
    const json_t *front = json_object_get(answer, "front"), *first = json_array_get(front, 0);
    assert_int_equal(json_array_size(front), 1);
    assert_int_equal(number(first, "macs"), 691200);
    assert_int_equal(number(first, "peak_elements"), number(flow_of(answer, "optimal"), "peak_elements"));
    json_decref(answer);
}

/* Every path that is printed costs what is printed beside it. */
static void check_cost(const tn_network *network, const json_t *item) {
    tn_merge merge[16];
    tn_tree tree = {network->tensors, merge};
    tn_tree_cost cost;
    const json_t *path = json_object_get(item, "path");
    assert_int_equal(json_array_size(path), network->tensors - 1);
    for (size_t i = 0; i < json_array_size(path); i++) {
        merge[i].a = (uint32_t)json_integer_value(json_array_get(json_array_get(path, i), 0));
        merge[i].b = (uint32_t)json_integer_value(json_array_get(json_array_get(path, i), 1));
    }
    assert_int_equal(tn_tree_cost_of(network, &tree, &cost, NULL), TN_OK);
    assert_int_equal(cost.macs, number(item, "macs"));
    assert_int_equal(cost.peak_elements, number(item, "peak_elements"));
}

#define RING       "abc,def,fgh,hbi,icd->aeg"
#define RING_SIZES "a=2048,b=32,c=24,d=16,e=24,f=16,g=32,h=16,i=16"

static void paths_cost_what_they_say(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    assert_int_equal(tn_einsum_parse(RING, (tn_position){0}, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_einsum_sizes(RING_SIZES, (tn_position){0}, &network, NULL), TN_OK);
    json_t *answer = test_program_json(0, "order", "--einsum", RING, "--sizes", RING_SIZES, "--all",
                                       "--objective", "front", "--json", NULL);
    const json_t *front = json_object_get(answer, "front"), *trees = json_object_get(answer, "trees");
    assert_int_equal(json_array_size(front), 2);
    assert_int_equal(number(json_array_get(front, 0), "macs"), 811597824);
    assert_int_equal(number(json_array_get(front, 1), "peak_elements"), 3764224);
    assert_int_equal(json_array_size(trees), 105);
    for (size_t i = 0; i < 2; i++) check_cost(&network, json_array_get(front, i));
    for (size_t i = 0; i < 105; i++) check_cost(&network, json_array_get(trees, i));
    check_cost(&network, flow_of(answer, "optimal"));
    json_decref(answer);

    answer = test_program_json(0, "order", "--einsum", RING, "--sizes", RING_SIZES, "--objective", "live",
                               "--json", NULL);
    assert_int_equal(number(flow_of(answer, "optimal"), "peak_elements"), 3764224);
    json_decref(answer);
    answer = test_program_json(0, "order", "--einsum", RING, "--sizes", RING_SIZES, "--max-live", "3764224",
                               "--json", NULL);
    assert_int_equal(macs_of(answer, "optimal"), 1365245952);
    json_decref(answer);
    answer = test_program_json(1, "order", "--einsum", RING, "--sizes", RING_SIZES, "--max-live", "3764223",
                               "--json", NULL);
    assert_null(flow_of(answer, "optimal"));
    assert_true(json_is_false(json_object_get(answer, "found")));
    assert_int_equal(number(answer, "lower_bound"), 3764224);
    json_decref(answer);
    tn_arena_free(&arena);
}

static void outer_products_can_be_forbidden(void **state) {
    (void)state;
    /* Two small vectors on a large tensor: their outer product first is cheaper. */
    static const char einsum[] = "abc,a,b->c", sizes[] = "a=3,b=3,c=1000";
    json_t *changed = test_program_json(0, "order", "--einsum", einsum, "--sizes", sizes, "--json", NULL);
    json_t *plain =
        test_program_json(0, "order", "--einsum", einsum, "--sizes", sizes, "--outer", "no", "--json", NULL);
    assert_int_equal(macs_of(changed, "optimal"), 9 + 9000);
    assert_int_equal(macs_of(plain, "optimal"), 9000 + 3000);
    json_decref(changed);
    json_decref(plain);
}

static void formats(void **state) {
    (void)state;
    static const char *const layers[] = {"ttm:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                         "tr:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                         "tucker:m=12x8x8,n=8x8x12,rank=6,tokens=32",
                                         "ht:m=8x6x4x4,n=4x4x6x8,rank=12,tokens=32",
                                         "cp:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                         "bt:m=12x8,n=8x12,rank=3,terms=4,tokens=32",
                                         "dense:m=768,n=768,tokens=32"};
    static const json_int_t optimal[] = {22118400, 8294400, 2045952, 850176, 0, 0, 18874368};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        json_t *answer = test_program_json(0, "order", "--layer", layers[i], "--json", NULL);
        if (optimal[i]) assert_int_equal(macs_of(answer, "optimal"), optimal[i]);
        assert_true(json_is_true(json_object_get(answer, "exact")));
        assert_true(macs_of(answer, "dense") > 0);
        json_decref(answer);
    }
}

static void batch_of_the_reference(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/order/optimal_flows.csv");
    test_run run = test_program("order", "--batch", path, NULL);
    tn_arena arena = {0};
    tn_csv given, answer;
    assert_int_equal(run.status, 0);
    assert_int_equal(tn_csv_load(path, &arena, &given, NULL), TN_OK);
    assert_int_equal(tn_csv_parse("answer", run.out, strlen(run.out), &arena, &answer, NULL), TN_OK);
    assert_int_equal(answer.rows, given.rows);
    for (size_t row = 0; row < given.rows; row++) {
        static const char *const pairs[][2] = {{"opt_flops_multiplies", "macs"},
                                               {"largest_intermediate", "largest_intermediate"},
                                               {"einsum", "einsum"},
                                               {"name", "name"}};
        for (int i = 0; i < 4; i++)
            assert_string_equal(tn_csv_at(&given, row, tn_csv_column(&given, pairs[i][0]))->text,
                                tn_csv_at(&answer, row, tn_csv_column(&answer, pairs[i][1]))->text);
    }
    tn_arena_free(&arena);
    test_run_free(&run);
}

static void batch_adds_its_columns(void **state) {
    (void)state;
    char path[] = "/tmp/tenfold-order-XXXXXX";
    static const char text[] = "name,einsum,sizes,note\n"
                               "one,\"ab,bc->ac\",\"{\"\"a\"\": 2, \"\"b\"\": 3, \"\"c\"\": 4}\",mine\n"
                               "two,ab->b,\"{\"\"a\"\": 2, \"\"b\"\": 3}\",\n";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    test_run run = test_program("order", "--batch", path, NULL);
    assert_int_equal(run.status, 0);
    assert_true(strncmp(run.out, "name,einsum,sizes,note,macs,largest_intermediate,seconds\n", 57) == 0);
    assert_non_null(strstr(run.out, "mine,24,8,"));
    assert_non_null(strstr(run.out, ",\"\",0,0,"));
    test_run_free(&run);
    json_t *answer = test_program_json(0, "order", "--batch", path, "--json", NULL);
    const json_t *first = json_array_get(json_object_get(answer, "rows"), 0);
    assert_int_equal(number(first, "macs"), 24);
    assert_string_equal(json_string_value(json_object_get(first, "note")), "mine");
    json_decref(answer);
    unlink(path);
}

static void for_people(void **state) {
    (void)state;
    test_run run = test_program("order", "--layer", LAYER, NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "bidirectional     838,656"));
    assert_non_null(strstr(run.out, "((((X (G5 G6)) G4) G3) (G1 G2))"));
    assert_non_null(strstr(run.out, "proven"));
    test_run_free(&run);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *argument[6], *says;
    } rows[] = {
        {{NULL}, "none is given"},
        {{"--layer", LAYER, "--einsum", "a->a"}, "more than one"},
        {{"--einsum", "ab->a"}, "--sizes"},
        {{"--layer", LAYER, "--sizes", "a=2"}, "--sizes"},
        {{"--einsum", "ab,b.c->a", "--sizes", "a=2"}, "--einsum:1:5"},
        {{"--einsum", "ab->a", "--sizes", "a=2,b=x"}, "--sizes:1:7"},
        {{"--layer", "tt:m=2,n=2,rank=1"}, "tokens"},
        {{"--layer", LAYER, "--objective", "mac"}, "did you mean macs"},
        {{"--layer", LAYER, "--outer", "maybe"}, "yes, no"},
        {{"--layer", LAYER, "--max-live", "-5"}, "--max-live"},
        {{"--layer", LAYER, "--plot", "tree.bmp"}, "png"},
        {{"--layer", LAYER, "--micro-batches", "2"}, "--training"},
        {{"--layer", LAYER, "--training", "--all"}, "--all"},
        {{"--layer", LAYER, "--training", "--micro-batches", "0"}, "at least 1"},
        {{"no-such-file.yaml"}, "no-such-file.yaml"},
        {{"--batch", "no-such-file.csv"}, "no-such-file.csv"},
        {{"--einsum", "ab,ab->", "--sizes", "a=1099511627776,b=1099511627776"}, "2^64"},
        {{"--einsum", "ab,cd->", "--sizes", "a=2,b=2,c=2,d=2", "--outer", "no"}, "outer products"},
        {{"--layer", "ht:m=2x2x2,n=2x2x2,rank=2,tokens=2", "--all"}, "at most 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const *a = rows[i].argument;
        test_run run = test_program("order", a[0], a[1], a[2], a[3], a[4], a[5], NULL);
        if (run.status != 2 || !strstr(run.err, rows[i].says)) print_error("%s: %s", rows[i].says, run.err);
        assert_int_equal(run.status, 2);
        assert_non_null(strstr(run.err, rows[i].says));
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
}

static void large_networks_say_how_far_they_got(void **state) {
    (void)state;
    /* A chain of 70 matrices, over the indices U+4E00 .. in UTF-8. */
    char einsum[1024] = "", sizes[1024] = "";
    for (unsigned i = 0; i <= 70; i++) {
        char name[4] = {(char)0xe4, (char)(0xb8 + i / 64), (char)(0x80 + i % 64), 0};
        if (i) strcat(strcat(einsum, name), i < 70 ? "," : "");
        if (i < 70) strcat(einsum, name);
        strcat(strcat(strcat(sizes, i ? "," : ""), name), i % 3 ? "=2" : "=5");
    }
    test_run run = test_program("order", "--einsum", einsum, "--sizes", sizes, NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "not proven: lower bound"));
    assert_non_null(strstr(run.out, "gap"));
    assert_non_null(strstr(run.out, "more tensors or indices than the exact search takes"));
    assert_non_null(strstr(run.out, "seed 1"));
    test_run_free(&run);
}

static void training_steps(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "order", "--layer", LAYER, "--training", "--json", NULL);
    const json_t *published = flow_of(answer, "bidirectional"), *best = flow_of(answer, "optimal");
    assert_int_equal(number(published, "forward_macs"), 838656);
    assert_int_equal(number(published, "backward_macs"), 2119680);
    assert_int_equal(number(published, "total_macs"), 2958336);
    assert_int_equal(number(published, "recomputed_macs"), 2 * 13824);
    assert_int_equal(number(flow_of(answer, "bidirectional-reverse-mode"), "total_macs"), 3 * 838656);
    assert_int_equal(number(flow_of(answer, "right-to-left"), "total_macs"), 3 * 1253376);
    assert_int_equal(number(flow_of(answer, "dense"), "total_macs"), 3 * 18874368);
    assert_int_equal(number(best, "total_macs"), 2073600);
    assert_int_equal(number(best, "macs"), 691200);
    assert_true(json_is_true(json_object_get(answer, "exact")));
    assert_int_equal(number(answer, "lower_bound"), 2073600);
    const json_t *front = json_object_get(answer, "front");
    assert_true(json_array_size(front) > 1);
    assert_int_equal(number(json_array_get(front, 0), "total_macs"), 2073600);
    size_t i, j;
    json_t *a, *b;
    json_array_foreach(front, i, a) json_array_foreach(front, j, b) {
        bool no_worse = number(a, "total_macs") <= number(b, "total_macs") &&
                        number(a, "saved_elements") <= number(b, "saved_elements") &&
                        number(a, "peak_elements") <= number(b, "peak_elements");
        assert_true(i == j || !no_worse);
    }
    json_decref(answer);

    answer =
        test_program_json(0, "order", "--layer", LAYER, "--training", "--max-live", "62500", "--json", NULL);
    assert_int_equal(number(flow_of(answer, "optimal"), "total_macs"), 2124288);
    json_decref(answer);
    answer =
        test_program_json(1, "order", "--layer", LAYER, "--training", "--max-live", "50000", "--json", NULL);
    assert_null(flow_of(answer, "optimal"));
    json_decref(answer);
    answer = test_program_json(0, "order", "--einsum", "ab,bc,cd->ad", "--sizes", "a=2,b=3,c=4,d=5",
                               "--training", "--micro-batches", "4", "--json", NULL);
    assert_true(number(flow_of(answer, "optimal"), "total_macs") > 0);
    json_decref(answer);
    test_run people = test_program("order", "--layer", LAYER, "--training", NULL);
    assert_int_equal(people.status, 0);
    assert_non_null(strstr(people.out, "2,958,336"));
    assert_non_null(strstr(people.out, "gap 0 %"));
    test_run_free(&people);
}

static void picture(void **state) {
    (void)state;
    test_need("gnuplot");
    char folder[] = "/tmp/tenfold-order-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    static const char *const layers[] = {LAYER, "tt:m=2x2x2x2x2x2x2x2x2,n=2x2x2x2x2x2x2x2x2,rank=3,tokens=4"};
    for (int i = 0; i < 2; i++) { /* with a front, and with more tensors than get one unasked */
        snprintf(path, sizeof path, "%s/tree.svg", folder);
        json_t *answer = test_program_json(0, "order", "--layer", layers[i], "--plot", path, "--json", NULL);
        assert_string_equal(json_string_value(json_object_get(answer, "figure")), path);
        json_decref(answer);
        char *picture_text;
        size_t length;
        assert_int_equal(tn_file_read(path, 1 << 24, &picture_text, &length, NULL), TN_OK);
        assert_non_null(strstr(picture_text, "G5 ["));
        assert_non_null(strstr(picture_text, "bidirectional"));
        free(picture_text);
        for (int file = 0; file < 3; file++) {
            static const char *const endings[] = {"svg", "gp", "dat"};
            snprintf(path, sizeof path, "%s/tree.%s", folder, endings[file]);
            assert_int_equal(unlink(path), 0);
        }
    }
    assert_int_equal(rmdir(folder), 0);
}

static double seconds_of(const char *einsum, const char *sizes, const char *rates) {
    json_t *timed = test_program_json(0, "order", "--einsum", einsum, "--sizes", sizes, "--objective", "time",
                                      "--rates", rates, "--alone", "--json", NULL);
    double seconds = json_number_value(json_object_get(timed, "predicted_seconds"));
    assert_true(json_is_true(json_object_get(timed, "exact")));
    assert_float_equal(seconds, json_number_value(json_object_get(timed, "least_seconds")), 1e-9 * seconds);
    assert_null(json_object_get(timed, "lower_bound"));
    assert_int_equal(json_array_size(json_object_get(timed, "flows")), 1);
    assert_int_equal(json_array_size(json_object_get(timed, "front")), 0);
    json_decref(timed);
    return seconds;
}

/* Of three tensors every tree by hand: seconds a merge, multiply-adds, elements read and written. */
static void time_objective(void **state) {
    const double a = 6, b = 5, c = 40, d = 3, macs = 1e6, elements = 2e5, merge = 1e-4;
    double first[] = {a * b * c, b * c * d, a * b * c * d};
    double second[] = {a * c * d, a * b * d, a * b * c * d};
    double moved[] = {a * b + b * c + a * c + a * c + c * d + a * d,
                      b * c + c * d + b * d + a * b + b * d + a * d,
                      a * b + c * d + a * b * c * d + a * b * c * d + b * c + a * d};
    double least = INFINITY;
    (void)state;
    for (int tree = 0; tree < 3; tree++)
        least = fmin(least, 2 * merge + (first[tree] + second[tree]) / macs + moved[tree] / elements);
    assert_float_equal(seconds_of("ab,bc,cd->ad", "a=6,b=5,c=40,d=3", "1e6,2e5,1e-4"), least, 1e-9);
    /* Where only merges take time, each tree takes as long. */
    assert_float_equal(seconds_of("ab,bc,cd->ad", "a=6,b=5,c=40,d=3", "1e15,1e15,1"), 2, 1e-6);
}

/* 60 tensors of a ring with chords are proven by no means in a fifth of a second. */
static void time_limit(void **state) {
    tn_buffer einsum = {0}, sizes = {0};
    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        unsigned next = (i + 1) % 60, chord = i / 2, far = (i * 7) % 60 / 2;
        tn_buffer_format(&einsum, "%s%s%s%s%s", i ? "," : "", (char[]){(char)0xC4, (char)(0x80 + i % 64), 0},
                         (char[]){(char)0xC4, (char)(0x80 + next % 64), 0},
                         (char[]){(char)0xC5, (char)(0x80 + chord), 0},
                         far == chord ? "" : (char[]){(char)0xC5, (char)(0x80 + far), 0});
        tn_buffer_format(&sizes, "%s%s=%u", i ? "," : "", (char[]){(char)0xC4, (char)(0x80 + i % 64), 0},
                         2 + i % 3);
        if (i < 30) tn_buffer_format(&sizes, ",%s=%u", (char[]){(char)0xC5, (char)(0x80 + i), 0}, 2 + i % 2);
    }
    tn_buffer_text(&einsum, "->");
    double start = tn_clock_seconds();
    json_t *found = test_program_json(0, "order", "--einsum", einsum.data, "--sizes", sizes.data, "--time",
                                      "0.3", "--alone", "--json", NULL);
    double spent = tn_clock_seconds() - start;
    assert_true(json_is_false(json_object_get(found, "exact")));
    assert_true(spent > 0.2 && spent < 10);
    assert_int_equal(
        json_array_size(json_object_get(json_array_get(json_object_get(found, "flows"), 0), "path")), 59);
    json_decref(found);
    tn_buffer_free(&einsum);
    tn_buffer_free(&sizes);
}

static void wrong_limits(void **state) {
    static const char *const lines[][2] = {
        {"--objective time", "go together"},
        {"--rates 1,2,3", "go together"},
        {"--objective time --rates 1,2", "three numbers"},
        {"--objective time --rates 1,2,0", "three numbers"},
        {"--objective time --rates 1,2,3,4", "three numbers"},
        {"--objective time --rates 1,2,3 --max-live 100", "does not go with"},
        {"--time -1", "--time takes"},
        {"--training --time 1", "does not go with --time"},
        {"--training --alone", "does not go with --alone"},
        {"--alone --all", "leave out --all"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char command[256];
        snprintf(command, sizeof command, "\"$TENFOLD\" order --einsum 'ab,bc->ac' --sizes a=2,b=3,c=4 %s",
                 lines[i][0]);
        test_run run = test_shell(command);
        assert_int_equal(run.status, 2);
        if (!strstr(run.err, lines[i][1])) fail_msg("%s: %s", lines[i][0], run.err);
        test_run_free(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_objective),
        cmocka_unit_test(time_limit),
        cmocka_unit_test(wrong_limits),
        cmocka_unit_test(worked_example),
        cmocka_unit_test(paths_cost_what_they_say),
        cmocka_unit_test(outer_products_can_be_forbidden),
        cmocka_unit_test(formats),
        cmocka_unit_test(batch_of_the_reference),
        cmocka_unit_test(batch_adds_its_columns),
        cmocka_unit_test(for_people),
        cmocka_unit_test(refusals),
        cmocka_unit_test(training_steps),
        cmocka_unit_test(picture),
        cmocka_unit_test(large_networks_say_how_far_they_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
