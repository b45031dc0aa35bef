/* tenfold finetune as a user runs it: what it must reach on the measurements published with arXiv 2408.04693,
 * its answers' keys, its figures, its refusals. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA "data/finetune/measured_throughput.csv"
enum { GROUPS = 7, MOST_POINTS = 32 };

/* The groups in the file's order; root mean square error of the published law in queries/s, as refitted by
 * its authors' script. */
static const struct {
    const char *gpu, *model, *dataset;
    double log_rmse;
} published[GROUPS] = {
    {"A40-48GB", "mixtral-8x7b", "CS", 0.055},   {"A40-48GB", "blackmamba-2.8b", "CS", 1.055},
    {"A40-48GB", "mixtral-8x7b", "MATH", 0.022}, {"A40-48GB", "blackmamba-2.8b", "MATH", 0.561},
    {"A100-40GB", "mixtral-8x7b", "CS", 0.035},  {"A100-80GB", "mixtral-8x7b", "CS", 0.104},
    {"H100-80GB", "mixtral-8x7b", "CS", 0.416},
};
enum { BLACKMAMBA_CS = 1, H100 = 6 };

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("%s is no number", key);
    return json_number_value(value);
}

static const json_t *group(const json_t *answer, size_t place) {
    const json_t *found = json_array_get(json_object_get(answer, "groups"), place);
    assert_non_null(found);
    assert_string_equal(json_string_value(json_object_get(found, "gpu")), published[place].gpu);
    assert_string_equal(json_string_value(json_object_get(found, "model")), published[place].model);
    assert_string_equal(json_string_value(json_object_get(found, "dataset")), published[place].dataset);
    return found;
}

static void published_errors_of_the_log_law(void **state) {
    (void)state;
    const char *data = test_shared_or_skip(DATA);
    json_t *from_file = test_program_json(0, "finetune", "fit", data, "--law", "log", "--json", NULL);
    json_t *given =
        test_program_json(0, "finetune", "fit", data, "--law", "log", "--c3", "1.8", "--json", NULL);
    for (size_t i = 0; i < GROUPS; i++) {
        const json_t *g = group(from_file, i);
        assert_true(fabs(number(g, "rmse") - published[i].log_rmse) < 1e-3);
        assert_true(fabs(number(group(given, i), "rmse") - number(g, "rmse")) < 1e-9);
        double c3 = number(json_object_get(g, "coefficients"), "C3");
        assert_true(c3 == (strstr(published[i].model, "mamba") ? 2.5 : 1.8));
    }
    json_decref(from_file);
    json_decref(given);
}

static void step_law_beats_the_log_law(void **state) {
    (void)state;
    const char *data = test_shared_or_skip(DATA);
    json_t *log_law = test_program_json(0, "finetune", "fit", data, "--law", "log", "--json", NULL);
    json_t *step = test_program_json(0, "finetune", "fit", data, "--law", "step", "--json", NULL);
    json_t *best = test_program_json(0, "finetune", "fit", data, "--json", NULL);
    int left_out_lower = 0;
    for (size_t i = 0; i < GROUPS; i++) {
        const json_t *l = group(log_law, i), *s = group(step, i), *b = group(best, i);
        print_message("%-10s %-16s %-5s log %.4f step %.4f, left out log %.4f step %.4f\n", published[i].gpu,
                      published[i].model, published[i].dataset, number(l, "rmse"), number(s, "rmse"),
                      number(l, "loo_rmse"), number(s, "loo_rmse"));
        assert_true(number(s, "rmse") < number(l, "rmse"));
        left_out_lower += number(s, "loo_rmse") < number(l, "loo_rmse");
        const char *lower = number(s, "loo_rmse") <= number(l, "loo_rmse") ? "step" : "log";
        assert_string_equal(json_string_value(json_object_get(b, "law")), lower);
    }
    assert_true(left_out_lower >= 6);
    /* half the log law's error where that is largest, and below a smooth maximum with fitted sharpness */
    assert_true(number(group(step, BLACKMAMBA_CS), "rmse") < 0.136);
    assert_true(number(group(step, H100), "rmse") < 0.146);
    json_decref(log_law);
    json_decref(step);
    json_decref(best);
}

typedef struct point {
    char names[128];
    double sparsity, batch, rate;
} point;

static size_t read_points(const char *path, size_t place, point *points) {
    char line[256], names[128];
    size_t count = 0;
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    snprintf(names, sizeof names, "%s,%s,%s,", published[place].gpu, published[place].model,
             published[place].dataset);
    while (fgets(line, sizeof line, stream)) {
        point *entry = &points[count];
        if (strncmp(line, names, strlen(names)) != 0) continue;
        assert_int_equal(
            sscanf(line + strlen(names), "%lf,%lf,%lf", &entry->sparsity, &entry->batch, &entry->rate), 3);
        strcpy(entry->names, names);
        assert_true(++count < MOST_POINTS);
    }
    fclose(stream);
    return count;
}

/* |error| at the largest batch of a law fitted to batches up to half of it; NAN where those have one size. */
static double beyond(const char *law, const point *points, size_t count) {
    char path[] = "/tmp/tenfold-half-XXXXXX", cursor[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *stream = fdopen(file, "w");
    double largest = 0, smallest = INFINITY, kept = 0, truth = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, points[i].batch);
    fputs("gpu,model,dataset,sparsity,batch_size,queries_per_s\n", stream);
    for (size_t i = 0; i < count; i++) {
        const point *p = &points[i];
        if (p->batch == largest) {
            snprintf(cursor, sizeof cursor, "%g:%g", p->batch, p->sparsity);
            truth = p->rate;
        }
        if (p->batch > largest / 2) continue;
        fprintf(stream, "%s%.17g,%g,%.17g\n", p->names, p->sparsity, p->batch, p->rate);
        smallest = fmin(smallest, p->batch);
        kept = fmax(kept, p->batch);
    }
    assert_int_equal(fclose(stream), 0);
    double off = NAN;
    if (kept > smallest) {
        json_t *answer =
            test_program_json(0, "finetune", "fit", path, "--law", law, "--at", cursor, "--json", NULL);
        const json_t *g = json_array_get(json_object_get(answer, "groups"), 0);
        off = fabs(number(json_array_get(json_object_get(g, "at"), 0), "queries_per_s") - truth);
        json_decref(answer);
    } else {
        test_run refused = test_program("finetune", "fit", path, "--law", law, NULL);
        assert_int_equal(refused.status, 2);
        assert_string_equal(refused.out, "");
        test_run_free(&refused);
    }
    unlink(path);
    return off;
}

static void step_law_carries_further(void **state) {
    (void)state;
    const char *data = test_shared_or_skip(DATA);
    double sum[2] = {0};
    int groups = 0;
    for (size_t i = 0; i < GROUPS; i++) {
        point points[MOST_POINTS];
        size_t count = read_points(data, i, points);
        double off[2] = {beyond("log", points, count), beyond("step", points, count)};
        assert_int_equal(isnan(off[0]), isnan(off[1]));
        if (isnan(off[0])) continue;
        sum[0] += off[0];
        sum[1] += off[1];
        groups++;
    }
    print_message("at the largest batch, fitted up to half of it: log %.3f queries/s off, step %.3f\n",
                  sum[0] / groups, sum[1] / groups);
    assert_int_equal(groups, 6);
    assert_true(sum[1] < sum[0]);
}

/* A small table of its own, so that this holds without the reference data. */
static const char own[] = "gpu,model,dataset,sparsity,batch_size,queries_per_s\n"
                          "A40-48GB,m,D,1,1,0.32\nA40-48GB,m,D,1,2,0.52\nA40-48GB,m,D,0.25,1,0.34\n"
                          "A40-48GB,m,D,0.25,2,0.66\nA40-48GB,m,D,0.25,4,1.13\nA40-48GB,m,D,0.25,8,1.66\n"
                          "H100-80GB,m,D,1,1,0.55\nH100-80GB,m,D,1,4,1.5\nH100-80GB,m,D,0.25,1,0.67\n"
                          "H100-80GB,m,D,0.25,4,1.8\nH100-80GB,m,D,0.25,16,4.64\n";
static char path[96];

static int make_folder(void **state) {
    if (test_folder_make(state) != 0) return -1;
    snprintf(path, sizeof path, "%s/own.csv", test_folder);
    FILE *stream = fopen(path, "w");
    if (!stream) return -1;
    fputs(own, stream);
    return fclose(stream);
}

static void keys_of_a_fit(void **state) {
    (void)state;
    json_t *answer =
        test_program_json(0, "finetune", "fit", path, "--at", "6", "--at", "32:0.5", "--json", NULL);
    const json_t *groups = json_object_get(answer, "groups");
    assert_int_equal(json_array_size(groups), 2);
    assert_int_equal(json_array_size(json_object_get(answer, "refused")), 0);
    const json_t *g = json_array_get(groups, 1);
    assert_string_equal(json_string_value(json_object_get(g, "gpu")), "H100-80GB");
    assert_int_equal(number(g, "points"), 5);
    assert_true(number(g, "rmse") > 0 && number(g, "relative_rmse") > 0 && number(g, "loo_rmse") > 0);
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(g, "coefficients"), name, value) {
        const json_t *interval = json_object_get(json_object_get(g, "intervals"), name);
        double moment = json_number_value(value);
        assert_true(json_number_value(json_array_get(interval, 0)) <= moment);
        assert_true(json_number_value(json_array_get(interval, 1)) >= moment);
    }
    assert_int_equal(json_array_size(json_object_get(g, "at")),
                     3); /* batch 6 at both sparsities, 32 at 0.5 */
    json_decref(answer);
    /* the same bytes again */
    test_run first = test_program("finetune", "fit", path, "--json", NULL);
    test_run second = test_program("finetune", "fit", path, "--json", NULL);
    assert_string_equal(first.out, second.out);
    test_run_free(&first);
    test_run_free(&second);
}

/* A group that determines no law is refused by name; the others keep theirs. */
static void one_bad_group_costs_the_others_nothing(void **state) {
    (void)state;
    char mixed[80];
    snprintf(mixed, sizeof mixed, "%s/mixed.csv", test_folder);
    FILE *stream = fopen(mixed, "w");
    assert_non_null(stream);
    fprintf(stream, "%sA100-80GB,m,D,1,4,0.9\n", own);
    assert_int_equal(fclose(stream), 0);
    json_t *answer = test_program_json(2, "finetune", "fit", mixed, "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "groups")), 2);
    const json_t *refused = json_array_get(json_object_get(answer, "refused"), 0);
    assert_string_equal(json_string_value(json_object_get(refused, "gpu")), "A100-80GB");
    json_decref(answer);
    test_run run = test_program("finetune", "fit", mixed, NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "mixed.csv:13:1: A100-80GB, m, D: 1 measurement of one batch size"));
    test_run_free(&run);
}

static void bills(void **state) {
    (void)state;
    static const struct {
        const char *queries, *rate, *price;
        double usd;
    } cases[] = {{"15000", "1.01", "0.79", 32.7},
                 {"15000", "2.74", "1.67", 25.4},
                 {"15000", "4.90", "2.1", 17.9},
                 {"2.9e6", "4.90", "2.1", 3460}};
    for (int i = 0; i < 4; i++) {
        json_t *answer =
            test_program_json(0, "finetune", "cost", "--queries", cases[i].queries, "--epochs", "10",
                              "--throughput", cases[i].rate, "--price", cases[i].price, "--json", NULL);
        double usd = number(json_array_get(json_object_get(answer, "bills"), 0), "usd");
        assert_true(fabs(usd / cases[i].usd - 1) < 0.01);
        json_decref(answer);
    }
    json_t *answer = test_program_json(0, "finetune", "cost", path, "--queries", "15000", "--epochs", "10",
                                       "--sparsity", "0.25", "--unmeasured", "--batch", "4", "--json", NULL);
    const json_t *list = json_object_get(answer, "bills");
    assert_true(json_array_size(list) >= 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *bill = json_array_get(list, i), *interval = json_object_get(bill, "usd_interval");
        assert_true(json_number_value(json_array_get(interval, 0)) < number(bill, "usd"));
        assert_true(json_number_value(json_array_get(interval, 1)) > number(bill, "usd"));
        const json_t *before = i ? json_array_get(list, i - 1) : bill;
        bool assumed = json_is_true(json_object_get(bill, "price_unverified")),
             was = json_is_true(json_object_get(before, "price_unverified"));
        assert_true(assumed > was || (assumed == was && number(bill, "usd") >= number(before, "usd")));
    }
    json_decref(answer);
}

static void largest_batches(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "finetune", "max-batch", "mixtral-8x7b", "--sequence", "512",
                                       "--c0", "62", "--c1", "0.89", "--gpu", "A40-48GB", "--json", NULL);
    const json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_int_equal(number(row, "published"), 8);
    assert_true(number(row, "counted") > 0);
    assert_true(json_is_null(json_object_get(row, "fitted")));
    json_decref(answer);
    answer = test_program_json(1, "finetune", "max-batch", "mixtral-8x7b", "--sequence", "512", "--memory-GB",
                               "16", "--json", NULL);
    assert_int_equal(number(json_array_get(json_object_get(answer, "rows"), 0), "counted"), 0);
    json_decref(answer);
    const char *data = test_shared_or_skip(DATA);
    answer = test_program_json(0, "finetune", "max-batch", "mixtral-8x7b", "--data", data, "--sequence",
                               "CS=79", "--sequence", "MATH=174", "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 10);
    double c1 = number(json_object_get(answer, "fitted"), "c1");
    assert_true(c1 > 0.8 && c1 < 1);
    json_decref(answer);
}

static void predictions(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "finetune", "predict", path, "--gpu", "H100-80GB", "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "from")), 1);
    const json_t *off = json_object_get(answer, "error");
    assert_int_equal(number(off, "points"), 5);
    assert_true(number(off, "relative_rmse") < 0.5);
    assert_false(json_is_true(json_object_get(json_object_get(answer, "peak_exponent"), "determined")));
    json_decref(answer);
    answer = test_program_json(0, "finetune", "predict", path, "--gpu", "A100-80GB", "--batch", "8", "--json",
                               NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 2);
    assert_true(json_is_null(json_object_get(answer, "error")));
    assert_int_equal(json_array_size(json_object_get(answer, "held_out")), 2);
    json_decref(answer);
}

static void figures(void **state) {
    (void)state;
    char picture[96];
    const char *const commands[][12] = {
        {"finetune", "fit", path, "--plot", picture, NULL},
        {"finetune", "cost", path, "--queries", "100", "--epochs", "1", "--sparsity", "0.25", "--plot",
         picture, NULL},
        {"finetune", "max-batch", "mixtral-8x7b", "--sequence", "79", "--plot", picture, NULL}};
    for (int i = 0; i < 3; i++) {
        snprintf(picture, sizeof picture, "%s/figure%d.svg", test_folder, i);
        const char *const *a = commands[i];
        test_run run = test_program(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], NULL);
        if (run.status != 0) print_error("%s", run.err);
        assert_int_equal(run.status, 0);
        test_run_free(&run);
        assert_int_equal(access(picture, R_OK), 0);
        snprintf(picture, sizeof picture, "%s/figure%d.gp", test_folder, i);
        assert_int_equal(access(picture, R_OK), 0);
    }
    snprintf(picture, sizeof picture, "%s/figure.jpeg", test_folder);
    test_run run = test_program("finetune", "fit", path, "--plot", picture, NULL);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    test_run_free(&run);
    snprintf(picture, sizeof picture, "%s/no/figure.svg", test_folder);
    run = test_program("finetune", "fit", path, "--plot", picture, NULL);
    assert_int_equal(run.status, 3);
    test_run_free(&run);
}

/* A file system that takes no more: exit status 3, and the old picture is the old picture. */
static void a_full_disk_keeps_the_old_figure(void **state) {
    (void)state;
    char command[320], picture[80], before[64] = "", after[64] = "";
    snprintf(picture, sizeof picture, "%s/kept.svg", test_folder);
    FILE *stream = fopen(picture, "w");
    assert_non_null(stream);
    fputs("the old picture", stream);
    assert_int_equal(fclose(stream), 0);
    strcpy(before, "the old picture");
    snprintf(command, sizeof command, "trap '' XFSZ; ulimit -f 4; \"$TENFOLD\" finetune fit %s --plot %s",
             path, picture);
    test_run run = test_shell(command);
    if (run.status != 3) print_error("exit %d: %s", run.status, run.err);
    assert_int_equal(run.status, 3);
    test_run_free(&run);
    stream = fopen(picture, "r");
    assert_non_null(stream);
    assert_non_null(fgets(after, sizeof after, stream));
    fclose(stream);
    assert_string_equal(before, after);
    snprintf(command, sizeof command, "ls %s | grep -c '\\.tmp$'", test_folder);
    run = test_shell(command);
    assert_string_equal(run.out, "0\n");
    test_run_free(&run);
}

/* Exit status 2, nothing on standard output, one line that holds `words`. */
static void refused(test_run run, const char *words) {
    if (run.status != 2 || !strstr(run.err, words)) print_error("exit %d: %s", run.status, run.err);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_non_null(strstr(run.err, words));
    assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
    test_run_free(&run);
}

static void refusals(void **state) {
    (void)state;
    refused(test_program("finetune", NULL), "subcommand");
    refused(test_program("finetune", "fti", NULL), "did you mean fit");
    refused(test_program("finetune", "fit", NULL), "too few arguments");
    refused(test_program("finetune", "fit", path, "--law", "stpe", NULL), "did you mean step");
    refused(test_program("finetune", "fit", path, "--c3", "0", NULL), "--c3 is 0");
    refused(test_program("finetune", "fit", path, "--c3", "-1", NULL), "--c3 is -1");
    refused(test_program("finetune", "fit", path, "--at", "0", NULL), "--at takes");
    refused(test_program("finetune", "fit", path, "--at", "4:2", NULL), "--at takes");
    refused(test_program("finetune", "fit", path, "--gpu", "A41-48GB", NULL), "A40-48GB");
    refused(test_program("finetune", "cost", path, "--queries", "10", "--epochs", "1", NULL), "--sparsity");
    refused(test_program("finetune", "cost", path, "--epochs", "1", NULL), "--queries");
    refused(test_program("finetune", "cost", "--queries", "10", "--epochs", "1", NULL), "--throughput");
    refused(test_program("finetune", "cost", "--queries", "10", "--epochs", "0", "--throughput", "1",
                         "--price", "1", NULL),
            "--epochs");
    refused(test_program("finetune", "cost", path, "--queries", "10", "--epochs", "1", "--sparsity", "0.25",
                         "--unmeasured", NULL),
            "--model-GB or --batch");
    refused(test_program("finetune", "max-batch", "mixtral-8x7b", NULL), "--sequence");
    refused(test_program("finetune", "max-batch", "mixtral-8x7b", "--sequence", "0", NULL), "--sequence");
    refused(
        test_program("finetune", "max-batch", "mixtral-8x7b", "--sequence", "79", "--sparsity", "0.3", NULL),
        "2.4 experts");
    refused(test_program("finetune", "max-batch", "mixtral-8x7", "--sequence", "79", NULL), "mixtral-8x7b");
    refused(
        test_program("finetune", "max-batch", "mixtral-8x7b", "--sequence", "79", "--gpu", "A40-48G", NULL),
        "A40-48GB");
    refused(test_program("finetune", "max-batch", "dense-7b", "--sequence", "79", "--c0", "3", NULL),
            "all three");
    refused(test_program("finetune", "count", "atis-2enc", "--sequence", "79", NULL), "language-model");
    refused(test_program("finetune", "count", "dense-7b", NULL), "--sequence");
    refused(test_program("finetune", "predict", path, NULL), "--gpu");
    refused(test_program("finetune", "predict", path, "--gpu", "H100-80G", NULL), "H100-80GB");
    refused(test_program("finetune", "predict", path, "--gpu", "A100-80GB", "--from", "H100-80G", NULL),
            "H100-80GB");
}

/* A bill of a model that nobody measured, and beside measurements. */
static void a_price_without_a_measurement(void **state) {
    (void)state;
    json_t *told =
        test_program_json(0, "finetune", "cost", "llama3-8b", "--gpu", "a100,h100", "--method", "lora",
                          "--tokens", "512", "--queries", "50000", "--epochs", "1", "--json", NULL);
    assert_true(number(told, "parameters") == 8030261248.0);
    assert_true(number(told, "trained_parameters") == 41943040);
    const json_t *bills = json_object_get(told, "bills");
    assert_int_equal(json_array_size(bills), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *bill = json_array_get(bills, i);
        const json_t *range = json_object_get(bill, "usd_interval");
        double usd = number(bill, "usd"), hours = 50000 / number(bill, "queries_per_s") / 3600;
        assert_string_equal(json_string_value(json_object_get(bill, "basis")), "estimate");
        assert_true(fabs(number(bill, "hours") - hours) < 1e-9 * hours);
        assert_true(fabs(usd - hours * number(bill, "usd_per_hour")) < 1e-9 * usd);
        assert_true(json_number_value(json_array_get(range, 0)) < usd &&
                    usd < json_number_value(json_array_get(range, 1)));
        assert_true(number(bill, "batch_size") >= 1);
    }
    json_decref(told);
    static const struct {
        const char *option, *value, *says;
    } wrong[] = {
        {"--method", "lara", "full, lora or qlora"},
        {"--gpu", "a1000", "no gpu called"},
        {"--tokens", "many", "--tokens takes"},
        {"--law", "log", "goes with measurements"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test_run run =
            test_program("finetune", "cost", "llama3-8b", wrong[i].option, wrong[i].value,
                         i == 2 ? "--quiet" : "--tokens=512", "--queries", "10", "--epochs", "1", NULL);
        assert_int_equal(run.status, 2);
        if (!strstr(run.err, wrong[i].says)) fail_msg("%s: %s", wrong[i].value, run.err);
        test_run_free(&run);
    }
}

static void estimates_beside_measurements(void **state) {
    (void)state;
    FILE *file = fopen(test_in_folder("three.csv"), "w");
    assert_non_null(file);
    fputs("gpu,model,dataset,sparsity,batch_size,queries_per_s\n"
          "A40-48GB,mixtral-8x7b,CS,1.0,1,0.3213791846\nA40-48GB,mixtral-8x7b,CS,0.25,1,0.341252845\n"
          "A40-48GB,mixtral-8x7b,CS,0.25,8,1.655243555\n",
          file);
    fclose(file);
    json_t *told =
        test_program_json(0, "finetune", "cost", "mixtral-8x7b", "--data", test_in_folder("three.csv"),
                          "--tokens", "CS=79", "--queries", "15000", "--epochs", "10", "--json", NULL);
    const json_t *row = json_array_get(json_object_get(told, "beside_measurements"), 0);
    assert_true(number(row, "points") == 3 && number(row, "within") == 3);
    assert_true(number(row, "most_ratio") <= 1.5 && number(row, "least_ratio") >= 1 / 1.5);
    assert_true(json_is_true(json_object_get(row, "all_in_range")));
    const json_t *bill = json_array_get(json_object_get(told, "bills"), 0);
    assert_string_equal(json_string_value(json_object_get(bill, "basis")), "measured");
    json_decref(told);
    test_run run = test_program("finetune", "cost", "mixtral-8x7b", "--data", test_in_folder("three.csv"),
                                "--queries", "1", "--epochs", "1", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "--tokens CS=TOKENS"));
    test_run_free(&run);
}

/* A given price stands instead of the table's, of one GPU or of all; an assumed one is told where it is used. */
static void prices(void **state) {
    (void)state;
    json_t *answer =
        test_program_json(0, "finetune", "cost", "llama3-8b", "--tokens", "512", "--queries", "1000",
                          "--epochs", "1", "--gpu", "a100,h200", "--price", "a100=4.5", "--json", NULL);
    const json_t *list = json_object_get(answer, "bills");
    assert_int_equal(json_array_size(list), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *bill = json_array_get(list, i);
        bool given = strcmp(json_string_value(json_object_get(bill, "gpu")), "A100-80GB") == 0;
        assert_true(fabs(number(bill, "usd") - number(bill, "hours") * number(bill, "usd_per_hour")) < 1e-9);
        if (given) assert_true(number(bill, "usd_per_hour") == 4.5);
        assert_string_equal(json_string_value(json_object_get(bill, "price_origin")),
                            given ? "given" : "unverified");
        assert_int_equal(json_is_true(json_object_get(bill, "price_unverified")), !given);
    }
    json_decref(answer);
    test_run run = test_program("finetune", "cost", "llama3-8b", "--tokens", "512", "--queries", "1000",
                                "--epochs", "1", "--gpu", "a100,h200", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "price assumed: nobody's offer; give yours by --price GPU=USD"));
    test_run_free(&run);
    run = test_program("finetune", "cost", path, "--queries", "100", "--epochs", "1", "--sparsity", "0.25",
                       "--price", "3", NULL);
    assert_int_equal(run.status, 0);
    assert_null(strstr(run.out, "assumed"));
    test_run_free(&run);
    static const char *const wrong[][2] = {{"x", "--price takes"},       {"h100=", "--price takes"},
                                           {"=3", "--price takes"},      {"h101=3", "did you mean"},
                                           {"h100=-1", "--price is -1"}, {"nan", "--price takes"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(test_program("finetune", "cost", path, "--queries", "100", "--epochs", "1", "--sparsity",
                             "0.25", "--price", wrong[i][0], NULL),
                wrong[i][1]);
}

/* The config.json of a checkpoint says what the shipped file of that model says. */
static void a_checkpoints_config(void **state) {
    (void)state;
    static const char text[] =
        "{\"_name_or_path\": \"meta-llama/Meta-Llama-3-8B\", \"model_type\": \"llama\", \"hidden_size\": "
        "4096,\n"
        " \"intermediate_size\": 14336, \"num_hidden_layers\": 32, \"num_attention_heads\": 32,\n"
        " \"num_key_value_heads\": 8, \"head_dim\": null, \"vocab_size\": 128256, \"tie_word_embeddings\": "
        "false}\n";
    static const struct {
        const char *model, *config, *parameters;
    } known[] = {
        {"llama3-8b", text, "8030261248"},
        {"bert-base",
         "{\"model_type\": \"bert\", \"hidden_size\": 768, \"intermediate_size\": 3072, "
         "\"num_hidden_layers\": 12,\n"
         " \"num_attention_heads\": 12, \"vocab_size\": 30522, \"max_position_embeddings\": 512, "
         "\"type_vocab_size\": 2}",
         "109483778"},
        {"gpt2",
         "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 12, \"n_head\": 12, \"n_positions\": "
         "1024,\n"
         " \"vocab_size\": 50257}",
         "124439808"},
        {"qwen2.5-7b",
         "{\"model_type\": \"qwen2\", \"hidden_size\": 3584, \"intermediate_size\": 18944, "
         "\"num_hidden_layers\": 28,\n"
         " \"num_attention_heads\": 28, \"num_key_value_heads\": 4, \"vocab_size\": 152064,\n"
         " \"tie_word_embeddings\": false}",
         "7615616512"},
        {"mixtral-8x7b",
         "{\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
         "\"num_hidden_layers\": 32,\n"
         " \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 32000, "
         "\"num_local_experts\": 8,\n"
         " \"num_experts_per_tok\": 2, \"tie_word_embeddings\": false}",
         "46702792704"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        FILE *stream = fopen(test_in_folder("config.json"), "w");
        assert_non_null(stream);
        fputs(known[i].config, stream);
        assert_int_equal(fclose(stream), 0);
        json_t *of_config =
            test_program_json(0, "finetune", "count", test_in_folder("config.json"), "--sequence", "64",
                              "--set", "training.method=full", "--json", NULL);
        json_t *of_model = test_program_json(0, "finetune", "count", known[i].model, "--sequence", "64",
                                             "--set", "training.method=full", "--json", NULL);
        assert_true(number(of_config, "parameters") == strtod(known[i].parameters, NULL));
        assert_true(number(of_model, "parameters") == strtod(known[i].parameters, NULL));
        assert_true(number(of_config, "forward_macs") == number(of_model, "forward_macs"));
        json_decref(of_config);
        json_decref(of_model);
        json_t *bill =
            test_program_json(0, "finetune", "cost", known[i].model, "--tokens", "128", "--examples", "1000",
                              "--epochs", "1", "--gpu", "h200", "--json", NULL);
        assert_int_equal(json_array_size(json_object_get(bill, "bills")), 1);
        json_decref(bill);
    }
    static const char *const wrong[][2] = {
        {"{\"model_type\": \"lama\"}",
         "config.json:1:16: model_type 'lama' is no family that is known; did you mean llama?"},
        {"{\"hidden_size\": 8}", "config.json:1:1: no \"model_type\""},
        {"{\"model_type\": \"llama\",\n \"hidden_size\": 0}",
         "config.json:2:17: \"hidden_size\" must be a whole number"},
        {"{\"model_type\": \"llama\"}", "config.json:1:1: no \"hidden_size\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *stream = fopen(test_in_folder("config.json"), "w");
        assert_non_null(stream);
        fputs(wrong[i][0], stream);
        assert_int_equal(fclose(stream), 0);
        refused(test_program("finetune", "count", test_in_folder("config.json"), "--sequence", "64", NULL),
                wrong[i][1]);
    }
}

/* Short names, GPUs in numbers, published prices first, and what trains nothing. */
static void for_a_manager(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "finetune", "cost", "llama3-8b", "--tokens", "512", "--examples",
                                       "50000", "--epochs", "1", "--json", NULL);
    const json_t *list = json_object_get(answer, "bills");
    bool assumed = false;
    double last = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *bill = json_array_get(list, i);
        bool now = json_is_true(json_object_get(bill, "price_unverified"));
        if (!json_is_number(json_object_get(bill, "usd"))) continue;
        assert_true(now >= assumed);
        if (now == assumed) assert_true(number(bill, "usd") >= last);
        last = number(bill, "usd");
        assumed = now;
    }
    assert_true(assumed);
    json_decref(answer);
    static const char *const called[][2] = {{"l40s", "L40S-48GB"},
                                            {"h100", "H100-80GB"},
                                            {"A100", "A100-80GB"},
                                            {"b200", "B200-180GB"},
                                            {"mi300x", "MI300X-192GB"}};
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
        answer = test_program_json(0, "finetune", "cost", "bert-base", "--tokens", "128", "--examples",
                                   "1000", "--epochs", "1", "--gpu", called[i][0], "--json", NULL);
        const json_t *bill = json_array_get(json_object_get(answer, "bills"), 0);
        assert_string_equal(json_string_value(json_object_get(bill, "gpu")), called[i][1]);
        json_decref(answer);
    }
    answer = test_program_json(0, "list", "gpus", "--json", NULL);
    assert_true(json_array_size(json_object_get(answer, "gpus")) >= 11);
    json_decref(answer);
    /* one GPU is too small, and says how many are not; those do, at their price */
    test_run run = test_program("finetune", "cost", "llama3-8b", "--method", "full", "--tokens", "512",
                                "--examples", "50000", "--epochs", "1", "--gpu", "h100", NULL);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "sharded over 2 it does: --gpus 2"));
    test_run_free(&run);
    double usd[2];
    for (int i = 0; i < 2; i++) {
        answer = test_program_json(0, "finetune", "cost", "llama3-8b", "--method", "full", "--tokens", "512",
                                   "--examples", "50000", "--epochs", "1", "--gpu", "h100", "--gpus", "8",
                                   "--nodes", i ? "2" : "1", "--json", NULL);
        const json_t *bill = json_array_get(json_object_get(answer, "bills"), 0);
        assert_string_equal(json_string_value(json_object_get(bill, "parallel")), "sharded");
        assert_true(number(bill, "gpus") == (i ? 16 : 8) && number(bill, "communication_seconds") > 0);
        assert_true(fabs(number(bill, "usd_per_hour") - 2.1 * (i ? 16 : 8)) < 1e-9);
        usd[i] = number(bill, "usd");
        json_decref(answer);
    }
    assert_true(usd[1] > usd[0]); /* the way to other nodes is slower */
    refused(test_program("finetune", "cost", "llama3-8b", "--tokens", "512", "--examples", "10", "--epochs",
                         "1", "--set", "training.adapters={rank: 16}", NULL),
            "method lora trains nothing");
    refused(test_program("finetune", "cost", "llama3-8b", "--tokens", "512", "--examples", "10", "--epochs",
                         "1", "--gpus", "0", NULL),
            "--gpus and --nodes take");
    refused(test_program("finetune", "cost", "llama3-8b", "--tokens", "512", "--examples", "10", "--epochs",
                         "1", "--nodes", "2", NULL),
            "--nodes needs --gpus");
}

/* Lengths: padding costs, packing does not, a file says more than a median. */
static void lengths_of_examples(void **state) {
    (void)state;
    FILE *stream = fopen(test_in_folder("lengths.csv"), "w");
    assert_non_null(stream);
    fputs("tokens\n40\n80\n80\n400\n", stream);
    assert_int_equal(fclose(stream), 0);
    const char *const file = test_in_folder("lengths.csv");
    double usd[4], tokens[4];
    const char *const ways[4][4] = {{"--tokens", "80", "--spread", "0"},
                                    {"--tokens", "80", "--spread", "0.7"},
                                    {"--lengths", file, "--quiet", "--quiet"},
                                    {"--lengths", file, "--packed", "--quiet"}};
    for (int i = 0; i < 4; i++) {
        json_t *answer = test_program_json(0, "finetune", "cost", "llama3-8b", ways[i][0], ways[i][1],
                                           ways[i][2], ways[i][3], "--examples", "50000", "--epochs", "1",
                                           "--gpu", "a100", "--batch", "32", "--json", NULL);
        const json_t *bill = json_array_get(json_object_get(answer, "bills"), 0);
        usd[i] = number(bill, "usd");
        tokens[i] = number(bill, "padded_tokens");
        json_decref(answer);
    }
    assert_true(usd[0] < usd[1] && usd[3] < usd[2]);
    assert_true(tokens[0] == 80 && tokens[1] > 200 && tokens[2] > 399 && tokens[3] == 150);
    refused(test_program("finetune", "cost", "llama3-8b", "--lengths", file, "--tokens", "3", "--examples",
                         "10", "--epochs", "1", NULL),
            "give the one or the others");
    refused(test_program("finetune", "cost", "llama3-8b", "--longest", "0.5", "--tokens", "3", "--examples",
                         "10", "--epochs", "1", NULL),
            "--longest is 0.5");
    refused(test_program("finetune", "cost", "llama3-8b", "--tokens", "1e6", "--spread", "5", "--examples",
                         "1e9", "--epochs", "1", NULL),
            "beyond 64 bits");
    refused(test_program("finetune", "cost", "llama3-8b", "--spread", "-1", "--tokens", "3", "--examples",
                         "10", "--epochs", "1", NULL),
            "--spread is -1");
}

/* Where the time of a step goes: keys, sums, a figure, and loads of experts. */
static void profiles(void **state) {
    (void)state;
    json_t *answer =
        test_program_json(0, "finetune", "profile", "mixtral-8x7b", "--gpu", "h100", "--batch", "16",
                          "--tokens", "160", "--sparse", "2", "--concentration", "2", "--json", NULL);
    static const char *const lists[] = {"stages", "layers", "kernels"};
    for (int i = 0; i < 3; i++) {
        const json_t *list = json_object_get(answer, lists[i]);
        double seconds = 0, share = 0;
        assert_true(json_array_size(list) >= 3);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *row = json_array_get(list, k);
            assert_true(json_is_string(json_object_get(row, "name")));
            seconds += number(row, "seconds");
            share += number(row, "share");
            if (i < 2) continue;
            assert_true(number(row, "utilisation") < 1 && number(row, "bandwidth") < 1);
            assert_true(json_is_string(json_object_get(row, "limit")));
        }
        assert_true(fabs(seconds / number(answer, "seconds_per_step") - 1) < 1e-9 && fabs(share - 1) < 1e-9);
    }
    const json_t *experts = json_object_get(answer, "experts");
    assert_int_equal(json_array_size(json_object_get(experts, "load")), 8);
    assert_int_equal(json_array_size(json_object_get(experts, "capacity")), 4);
    assert_true(number(experts, "imbalance") > 1 &&
                number(experts, "dense_seconds") > number(answer, "seconds_per_step"));
    json_decref(answer);
    const char *const picture = test_in_folder("profile.svg");
    test_run run = test_program("finetune", "profile", "llama3-8b", "--gpu", "a100", "--batch", "8", "--plot",
                                picture, NULL);
    assert_int_equal(run.status, 0);
    assert_int_equal(access(picture, R_OK), 0);
    assert_null(strstr(run.out, "experts:"));
    test_run_free(&run);
    refused(test_program("finetune", "profile", "mixtral-8x7b", "--gpu", "h100", "--batch", "4", "--sparse",
                         "9", NULL),
            "has 8 experts a layer");
    refused(test_program("finetune", "profile", "llama3-8b", "--gpu", "h100", "--batch", "4",
                         "--concentration", "1", NULL),
            "no experts to spread");
    refused(test_program("finetune", "profile", "llama3-8b", "--gpu", "h100", NULL), "--batch must be given");
    refused(test_program("finetune", "profile", "llama3-8b", "--batch", "4", NULL), "--gpu must be given");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_price_without_a_measurement),
        cmocka_unit_test(estimates_beside_measurements),
        cmocka_unit_test(published_errors_of_the_log_law),
        cmocka_unit_test(step_law_beats_the_log_law),
        cmocka_unit_test(step_law_carries_further),
        cmocka_unit_test(keys_of_a_fit),
        cmocka_unit_test(one_bad_group_costs_the_others_nothing),
        cmocka_unit_test(bills),
        cmocka_unit_test(prices),
        cmocka_unit_test(a_checkpoints_config),
        cmocka_unit_test(for_a_manager),
        cmocka_unit_test(lengths_of_examples),
        cmocka_unit_test(profiles),
        cmocka_unit_test(largest_batches),
        cmocka_unit_test(predictions),
        cmocka_unit_test(figures),
        cmocka_unit_test(a_full_disk_keeps_the_old_figure),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, test_folder_remove);
}
