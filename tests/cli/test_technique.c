/* tenfold technique: the worked numbers of the publications through the program, batches, refusals, and the
 * list of techniques. */
#include "base/file.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tenfold-technique-XXXXXX";

static int set_up(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static json_t *ask(const char *arguments) {
    char command[512];
    json_error_t error;
    snprintf(command, sizeof command, "\"$TENFOLD\" technique %s --json", arguments);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %d %s", arguments, run.status, run.err);
    json_t *json = json_loads(run.out, 0, &error);
    assert_non_null(json);
    test_run_free(&run);
    return json;
}

static void worked_numbers(void **state) {
    (void)state;
    static const struct {
        const char *question, *answer;
        double value, tolerance;
    } cases[] = {
        {"fast --group 16 --exponent 3 --mantissa 2", "group_bits", 51, 0},
        {"fast --group 16 --exponent 3 --mantissa 4", "group_bits", 99, 0},
        {"fast --weights 2 --activations 2 --gradients 2", "passes", 3, 0},
        {"fast --weights 4 --activations 4 --gradients 4", "passes", 12, 0},
        {"fast --weights 2 --activations 2 --gradients 4", "passes", 5, 0},
        {"checkpointing --layers 100 --segments 10", "live", 20, 0},
        {"checkpointing --layers 100 --segments 10", "time_ratio", 1.3, 1e-12},
        {"reversible", "time_ratio", 4. / 3, 1e-12},
        {"procrustes --tiles 10,2,8,4", "unbalanced", 10, 0},
        {"procrustes --tiles 10,2,8,4", "balanced", 6, 0},
        {"ada-gp --predicted 4 --true 1", "speedup", 2.143, 5e-4},
        {"ada-gp --predicted 3 --true 1", "speedup", 2, 1e-12},
        {"ada-gp --predicted 2 --true 1", "speedup", 1.8, 1e-12},
        {"ada-gp --predicted 1 --true 1", "speedup", 1.5, 1e-12},
        {"tensordash --depth 3 --sparsity 0.5", "speedup", 2, 1e-12},
        {"tensordash --depth 3 --sparsity 0.8", "speedup", 3, 1e-12},
        {"camel --data-us 2.66 --retention-us 3.35", "refreshes", 0, 0},
        {"camel --data-us 3.10 --retention-us 3.35", "refreshes", 0, 0},
        {"camel --data-us 3.40 --retention-us 3.35", "refreshes", 1, 0},
        {"camel --data-us 4.13 --retention-us 3.35", "refreshes", 1, 0},
        {"camel --data-us 7 --retention-us 2 --words 10 --refresh-pj 0.5", "refresh_energy_pj", 15, 1e-12},
        {"flash-decoding --m 8 --n 4096 --k 4096 --block 128", "intensity", 15.03, 5e-3},
        {"flash-decoding --m 8 --n 4096 --k 4096 --block 128", "blocks", 32, 0},
        {"in-place --rows 16 --cols 16 --m 32 --k 16 --n 16", "forward", 78, 0},
        {"in-place --rows 16 --cols 16 --m 32 --k 16 --n 16", "input_gradient", 62, 0},
        {"in-place --rows 16 --cols 16 --m 32 --k 16 --n 16", "weight_gradient", 78, 0},
        {"in-place --rows 16 --cols 16 --m 32 --k 16 --n 16", "saved_accesses", 2 * (256 + 512), 0},
        {"sparse-update --bytes 4096,1000 --shares 0.5,1", "saved_bytes", 3048, 0},
        {"spatten --tokens 0.5 --heads 0.5", "macs_ratio", 0.125, 1e-12},
        {"spatten --msb 6 --lsb 4 --refetched 0.1", "bits", 6.4, 1e-12},
        {"edgebert --exits 0.25,0.25,0.5", "layers", 2.25, 1e-12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = ask(cases[i].question), *value = json_object_get(json, cases[i].answer);
        if (!json_is_number(value) || fabs(json_number_value(value) - cases[i].value) > cases[i].tolerance)
            fail_msg("%s: %s is %g", cases[i].question, cases[i].answer, json_number_value(value));
        assert_true(json_is_string(json_object_get(json, "source")));
        json_decref(json);
    }
    test_run run = test_program("technique", "checkpointing", "--layers", "100", "--segments", "10", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "1.3"));
    test_run_free(&run);
}

static void write_text(const char *text) {
    assert_int_equal(tn_file_write(path, text, strlen(text), NULL), TN_OK);
}

static void batches(void **state) {
    (void)state;
    write_text("id,predicted,true\nfirst,4,4\n\"b, c\",2,1\n");
    test_run run = test_program("technique", "ada-gp", "--batch", path, NULL);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "id,predicted,true,speedup\nfirst,4,4,1.5\n\"b, c\",2,1,1.8\n");
    test_run_free(&run);
    /* Lists in a cell; a key with a dash as a column with an underscore; the rest from options. */
    write_text("tiles\n\"10,2,8,4\"\n7\n");
    run = test_program("technique", "procrustes", "--batch", path, NULL);
    assert_string_equal(run.out, "tiles,unbalanced,balanced\n\"10,2,8,4\",10,6\n7,7,7\n");
    test_run_free(&run);
    write_text("data_us\n3.1\n6.7\n");
    run = test_program("technique", "camel", "--retention-us", "3.35", "--batch", path, NULL);
    assert_string_equal(run.out, "data_us,refreshes,refresh_energy_pj\n3.1,0,0\n6.7,2,0\n");
    test_run_free(&run);
    json_t *json =
        test_program_json(0, "technique", "camel", "--retention-us=3.35", "--batch", path, "--json", NULL);
    const json_t *rows = json_object_get(json, "rows"), *second = json_array_get(rows, 1);
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(json_integer_value(json_object_get(second, "refreshes")), 2);
    assert_true(fabs(json_real_value(json_object_get(second, "data_us")) - 6.7) < 1e-12);
    json_decref(json);
}

static void refusals(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "which technique"},
        {"fst", "did you mean fast"},
        {"nothing-like-it", "unknown technique"},
        {"fast", "together"},
        {"fast --group 16 --mantissa 2", "together"},
        {"fast --group 16 --exponent 3 --mantissa 3", "chunks of 2"},
        {"fast --group 0 --exponent 3 --mantissa 2", "at least 1"},
        {"fast --group 16 --exponent 3 --mantisa 2", "--mantissa"},
        {"fast --group 9000000000000000000 --exponent 3 --mantissa 8", "64 bits"},
        {"checkpointing --layers 100", "--segments"},
        {"checkpointing --layers 3 --segments 4", "as many as layers"},
        {"checkpointing --layers x --segments 4", "whole number"},
        {"checkpointing --layers 3 --layers 4 --segments 1", "twice"},
        {"reversible --backward -1", "0 to"},
        {"procrustes --tiles 10,,4", "is empty; it must be a list of whole numbers"},
        {"procrustes --tiles 10,-4", "0 to 2^63"},
        {"ada-gp --predicted 0 --true 0", "at least one"},
        {"tensordash --depth 3 --sparsity 1.5", "0 to 1"},
        {"tensordash --depth 3 --sparsity nan", "a number"},
        {"camel --data-us 3 --retention-us 0", "retention above"},
        {"flash-decoding --m 8 --n 64 --k 64 --block 128", "at most all"},
        {"sparse-update --bytes 4096,1000 --shares 1", "one for each layer"},
        {"edgebert --exits 0.5,0.25", "add up to 1"},
        {"in-place --rows 0 --cols 1 --m 1 --k 1 --n 1", "at least 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command, "\"$TENFOLD\" technique %s", cases[i][0]);
        test_run run = test_shell(command);
        if (run.status != 2 || !strstr(run.err, cases[i][1]))
            fail_msg("%s: %d %s", cases[i][0], run.status, run.err);
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
}

static void bad_batches(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"layers,segmets\n3,1\n", ":1:8:", "segments"},
        {"layers\n3\n", ":1:1:", "needs a column 'segments'"},
        {"layers,segments\n3,x\n", ":2:3:", "whole number"},
        {"layers,segments\n3,2\n3,4\n", ":3:1:", "as many as layers"},
        {"layers,segments,live\n3,2,1\n", ":1:17:", "rename"},
        {"layers,segments\n3,\n", ":2:3:", "no value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i][0]);
        test_run run = test_program("technique", "checkpointing", "--batch", path, NULL);
        if (run.status != 2 || !strstr(run.err, cases[i][1]) || !strstr(run.err, cases[i][2]))
            fail_msg("case %zu: %d %s", i, run.status, run.err);
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
    write_text("layers,segments\n3,2\n");
    test_run run = test_program("technique", "checkpointing", "--layers", "3", "--batch", path, NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "twice"));
    test_run_free(&run);
}

/* Files that are written as the reference has them; what it says of them; refusals that leave no file. */
static void quantised_files(void **state) {
    (void)state;
    static const char *const refused[][2] = {
        {"--format bfp16,8,4 $in", "too few arguments"},
        {"$in $out", "--format"},
        {"--format bfp16,8 $in $out", "bfpGROUP,EXPONENT,MANTISSA"},
        {"--format fp8 $in $out", "no format"},
        {"--format int8 $out.none $out", "none"},
        {"--format int8 $in $out/x.npy", "x.npy"},
    };
    const char *shared = test_shared_or_skip("oracles/training/bfp/input.npy");
    char input[512], command[2048];
    snprintf(input, sizeof input, "%s", shared);
    char *folder = strrchr(input, '/');
    *folder = '\0';
    for (int bits = 2; bits <= 8; bits += 2) {
        snprintf(command, sizeof command,
                 "\"$TENFOLD\" technique quantise --format bfp16,8,%d '%s/input.npy' %s --json && cmp %s "
                 "'%s/m%d.npy' >&2",
                 bits, input, path, path, input, bits);
        test_run run = test_shell(command);
        if (run.status != 0) fail_msg("%d bits: %s", bits, run.err);
        json_t *json = json_loads(run.out, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(json, "elements")), 160);
        assert_true(json_number_value(json_object_get(json, "bits_per_value")) == bits + 1.5);
        /* At most half a step of the largest of a group, the step 2^-bits of up to twice it. */
        assert_true(json_number_value(json_object_get(json, "relative_error")) < exp2(-bits) * 2);
        json_decref(json);
        test_run_free(&run);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(command, sizeof command, "in='%s/input.npy'; out=%s; \"$TENFOLD\" technique quantise %s",
                 input, path, refused[i][0]);
        test_run run = test_shell(command);
        if ((run.status != 2 && run.status != 3) || !strstr(run.err, refused[i][1]))
            fail_msg("%s: %d %s", refused[i][0], run.status, run.err);
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
    /* The same seed, the same file. */
    snprintf(command, sizeof command,
             "q() { \"$TENFOLD\" technique quantise --format bfp16,8,3 --stochastic --seed $1 '%s/input.npy' "
             "%s >&2; }; "
             "q 3; sha256sum <%s; q 3; sha256sum <%s; q 4; sha256sum <%s",
             input, path, path, path, path);
    test_run run = test_shell(command);
    char first[128], second[128], third[128];
    assert_int_equal(sscanf(run.out, "%127s %*s %127s %*s %127s", first, second, third), 3);
    assert_string_equal(first, second);
    assert_string_not_equal(first, third);
    test_run_free(&run);
}

/* Every technique that can be asked is listed with its source and explains itself; transformations of the step
 * are listed by their keys. */
static void listed_with_sources(void **state) {
    (void)state;
    json_t *json = test_program_json(0, "list", "techniques", "--json", NULL), *row;
    size_t index, asked = 0;
    bool write_back = false;
    json_array_foreach(json_object_get(json, "techniques"), index, row) {
        const char *name = json_string_value(json_object_get(row, "name")),
                   *use = json_string_value(json_object_get(row, "use"));
        assert_non_null(name);
        assert_non_null(use);
        write_back |= strcmp(name, "write-back") == 0 && strcmp(use, "update.when") == 0;
        if (strncmp(use, "tenfold technique ", 18) != 0) continue;
        assert_string_equal(use + 18, name);
        assert_true(json_is_string(json_object_get(row, "source")));
        test_run help = test_program("technique", name, "--help", NULL);
        assert_int_equal(help.status, 0);
        assert_non_null(strstr(help.out, strcmp(name, "quantise") == 0 ? "--format" : "source: "));
        test_run_free(&help);
        asked++;
    }
    assert_true(asked >= 12);
    assert_true(write_back);
    json_decref(json);
    test_run run = test_program("list", "techniques", NULL);
    assert_non_null(strstr(run.out, "HPCA 2022"));
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_numbers),  cmocka_unit_test(batches),
        cmocka_unit_test(refusals),        cmocka_unit_test(bad_batches),
        cmocka_unit_test(quantised_files), cmocka_unit_test(listed_with_sources),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
