/* tenfold recommend: every design that it names is one of front.csv; what it says where nothing fits. */
#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void sweep(const char *name, const char *set) {
    test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), "--set", set, "-o",
                                test_in_folder(name), "--quiet", NULL);
    assert_int_equal(run.status, strcmp(name, "none") == 0 ? 1 : 0);
    test_run_free(&run);
}

static int set_up(void **state) {
    char set[512];
    if (test_folder_make(state) != 0) return -1;
    sweep("some", "name=small");
    snprintf(set, sizeof set, "device=%s", test_source("tests/space/data/tiny.yaml"));
    sweep("none", set);
    return 0;
}

static const json_t *member(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!value) fail_msg("nothing under %s", key);
    return value;
}

static uint64_t count(const json_t *object, const char *key) {
    return (uint64_t)json_integer_value(member(object, key));
}

/* Whether a line of front.csv begins with that id. */
static bool in_front(const char *front, uint64_t id) {
    char line[32];
    snprintf(line, sizeof line, "\n%" PRIu64 ",", id);
    return strstr(front, line) != NULL;
}

static void every_design_is_of_the_front(void **state) {
    static const char *const key[] = {"weights.square.rank", "build.columns", "weights.square.folding",
                                      "build.split"};
    char *front;
    size_t length;
    (void)state;
    assert_int_equal(tn_file_read(test_in_folder("some/front.csv"), 1 << 24, &front, &length, NULL), TN_OK);
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        json_t *told = test_program_json(0, "recommend", test_in_folder("some"), "--goal", "knee", "--by",
                                         key[i], "--thin", "0.1", "--json", NULL);
        assert_true(in_front(front, count(told, "design")));
        assert_string_equal(json_string_value(member(told, "by")), key[i]);
        static const char *const lists[] = {"best", "thinned"};
        for (size_t l = 0; l < 2; l++) {
            const json_t *list = member(told, lists[l]);
            assert_true(json_array_size(list) > 0);
            bool knee = false;
            for (size_t k = 0; k < json_array_size(list); k++) {
                uint64_t id = count(json_array_get(list, k), "design");
                assert_true(in_front(front, id));
                knee |= id == count(told, "design");
            }
            if (l == 1) assert_true(knee);
        }
        /* The knee's distance is made of its places. */
        double sum = 0;
        const json_t *why = member(told, "why");
        assert_int_equal(json_array_size(why), 4);
        for (size_t k = 0; k < 4; k++) {
            double place = json_number_value(member(json_array_get(why, k), "place"));
            assert_true(place >= 0 && place <= 1);
            sum += place * place;
        }
        assert_true(fabs(sqrt(sum) - json_number_value(member(told, "distance"))) < 1e-9);
        const json_t *robustness = member(told, "robustness");
        assert_int_equal(count(robustness, "of"), 8);
        assert_int_equal(json_array_size(member(robustness, "changes")), 8);
        assert_int_equal(json_array_size(member(robustness, "without")), 4);
        json_decref(told);
    }
    char *recommended;
    assert_int_equal(
        tn_file_read(test_in_folder("some/recommended.csv"), 1 << 24, &recommended, &length, NULL), TN_OK);
    size_t rows = 0;
    for (const char *line = strchr(recommended, '\n') + 1; *line; line = strchr(line, '\n') + 1, rows++) {
        char row[4096];
        const char *id = strchr(line, ',') + 1; /* behind the reason */
        snprintf(row, sizeof row, "\n%.*s\n", (int)strcspn(id, "\n"), id);
        assert_non_null(strstr(front, row));
    }
    assert_true(rows > 1);
    tn_free(recommended);
    tn_free(front);
    test_run run = test_program("recommend", test_in_folder("some"), "--full", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "of 8 small changes"));
    assert_non_null(strstr(run.out, "static"));
    test_run_free(&run);
}

static json_t *told_of(const char *folder) {
    return test_program_json(0, "recommend", test_in_folder(folder), "--goal", "knee", "--json", NULL);
}

/* The same answer, whoever made it, with the file or without. */
static void same_answer(const json_t *first, const char *what) {
    json_t *again = told_of("little");
    if (!json_equal(first, again)) fail_msg("another answer: %s", what);
    json_decref(again);
}

static char *kept(void) {
    char *text;
    size_t length;
    assert_int_equal(
        tn_file_read(test_in_folder("little/recommendation.json"), 1 << 20, &text, &length, NULL), TN_OK);
    return text;
}

static void write_kept(const char *text) {
    assert_int_equal(tn_file_write(test_in_folder("little/recommendation.json"), text, strlen(text), NULL),
                     TN_OK);
}

/* What takes time is kept beside the results, taken where it is there and was made of the same, found anew where not: a dozen
 * times here, so of a small model. */
static void grounds_are_kept(void **state) {
    char set[512];
    (void)state;
    snprintf(set, sizeof set, "model=%s", test_source("tests/space/data/small-transformer.yaml"));
    test_run run = test_program(
        "sweep", test_source("tests/space/data/small.yaml"), "--set", set, "--set",
        "choices={build.rows: [1, 4], build.columns: [1, 2, 8], build.split: [partition, reshape]}", "-o",
        test_in_folder("little"), "--quiet", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *first = told_of("little");
    const json_t *outside = member(first, "outside_the_space");
    assert_true(count(outside, "tried") > 50 && json_array_size(member(outside, "changes")) > 0);
    char *text = kept();
    same_answer(first, "kept");

    /* That the file is read: another number in it is told. */
    json_t *root = json_loads(text, 0, NULL);
    json_object_set_new(json_object_get(root, "outside_the_space"), "tried", json_integer(7));
    char *other = json_dumps(root, 0);
    write_kept(other);
    json_t *changed = told_of("little");
    assert_int_equal(count(member(changed, "outside_the_space"), "tried"), 7);
    json_decref(changed);

    /* Made of something else: found anew, and written. */
    static const char *const bad[] = {"", "{}", "[1]", "{\"made_of\": 3}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_kept(bad[i]);
        same_answer(first, bad[i]);
        char *again = kept();
        assert_string_equal(again, text);
        tn_free(again);
    }
    json_object_set_new(root, "made_of", json_string("0123"));
    char *stale = json_dumps(root, 0);
    write_kept(stale);
    same_answer(first, "of other results");
    /* Right but for one thing that it says. */
    static const char *const part[][2] = {{"robustness", "changes"}, {"outside_the_space", "given"}};
    for (size_t i = 0; i < 2; i++) {
        json_t *damaged = json_loads(text, 0, NULL);
        json_object_set_new(json_object_get(damaged, part[i][0]), part[i][1], json_string("none"));
        char *written = json_dumps(damaged, 0);
        write_kept(written);
        same_answer(first, part[i][1]);
        free(written);
        json_decref(damaged);
    }

    /* The same results with one byte more. */
    run = test_shell("printf ' ' >> $FOLDER/little/sweep.json");
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    same_answer(first, "other bytes");
    char *renewed = kept();
    assert_string_not_equal(renewed, text);

    /* What can't be written is not needed: a folder in the file's place, and a folder that somebody else writes in. */
    assert_int_equal(remove(test_in_folder("little/recommendation.json")), 0);
    assert_int_equal(mkdir(test_in_folder("little/recommendation.json"), 0777), 0);
    same_answer(first, "not writable");
    assert_int_equal(rmdir(test_in_folder("little/recommendation.json")), 0);
    tn_lock lock;
    int folder = open(test_in_folder("little"), O_RDONLY | O_DIRECTORY);
    assert_true(folder >= 0);
    assert_int_equal(tn_lock_take(folder, "sweep.lock", "little", &lock, NULL), TN_OK);
    same_answer(first, "locked");
    assert_int_not_equal(access(test_in_folder("little/recommendation.json"), F_OK), 0);
    tn_lock_release(&lock);
    close(folder);
    tn_free(text);
    tn_free(renewed);
    free(other);
    free(stale);
    json_decref(root);
    json_decref(first);
}

/* Each goal is the least of its quantity among the designs of front.csv that learn alike, as the knee does; a condition holds. */
static void goals_are_reached(void **state) {
    static const char *const goal[][2] = {
        {"fastest", "seconds_per_step"}, {"smallest", "on_chip_bytes"}, {"least-energy", "joules_per_step"}};
    (void)state;
    json_t *knee =
               test_program_json(0, "recommend", test_in_folder("some"), "--goal", "knee", "--json", NULL),
           *usual = test_program_json(0, "recommend", test_in_folder("some"), "--json", NULL);
    assert_string_equal(json_string_value(member(usual, "goal")), "fastest");
    const json_t *choices = member(knee, "choices");
    for (size_t g = 0; g < sizeof goal / sizeof *goal; g++) {
        char condition[400];
        json_t *told =
            test_program_json(0, "recommend", test_in_folder("some"), "--goal", goal[g][0], "--json", NULL);
        snprintf(condition, sizeof condition, "weights.square.rank = %s and weights.square.folding = '%s'",
                 json_string_value(member(choices, "weights.square.rank")),
                 json_string_value(member(choices, "weights.square.folding")));
        json_t *all = test_program_json(0, "query", test_in_folder("some"), condition, "--sort", goal[g][1],
                                        "--limit", "1", "--json", NULL);
        const json_t *least = json_array_get(member(all, "rows"), 0);
        assert_true(json_number_value(member(told, goal[g][1])) ==
                    json_number_value(member(least, goal[g][1])));
        json_decref(told);
        json_decref(all);
    }
    json_t *few =
        test_program_json(0, "recommend", test_in_folder("some"), "--where", "dsp < 200", "--json", NULL);
    assert_true(json_number_value(member(few, "dsp")) < 200);
    json_decref(few);
    json_decref(knee);
    json_decref(usual);
    test_run none = test_program("recommend", test_in_folder("some"), "--where", "dsp < 1", NULL);
    assert_int_equal(none.status, 1);
    test_run_free(&none);
}

static void nothing_fits(void **state) {
    (void)state;
    json_t *told = test_program_json(1, "recommend", test_in_folder("none"), "--json", NULL);
    const json_t *misses = member(told, "misses");
    assert_true(json_array_size(misses) > 0);
    double before = 1;
    for (size_t i = 0; i < json_array_size(misses); i++) {
        const json_t *miss = json_array_get(misses, i);
        double factor = json_number_value(member(miss, "factor"));
        assert_true(factor >= before);
        before = factor;
        const json_t *lack = json_array_get(member(miss, "misfits"), 0);
        assert_true(count(lack, "needed") > count(lack, "available"));
        assert_true(json_array_size(member(lack, "largest")) > 0);
        assert_true(count(miss, "changes_tried") > 5);
    }
    json_decref(told);
    test_run run = test_program("recommend", test_in_folder("none"), NULL);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "nearest misses"));
    test_run_free(&run);
    run = test_program("plot", test_in_folder("none"), NULL); /* an answer, as validate's */
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "nothing to draw"));
    test_run_free(&run);
}

static void refusals(void **state) {
    static const char *const bad[][3] = {{"--by", "weights.square.ranks", "weights.square.rank"},
                                         {"--thin", "-1", "--thin"},
                                         {"--thin", "x", "--thin"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_run run = test_program("recommend", test_in_folder("some"), bad[i][0], bad[i][1], NULL);
        assert_int_equal(run.status, 2);
        assert_non_null(strstr(run.err, bad[i][2]));
        test_run_free(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_design_is_of_the_front),
        cmocka_unit_test(grounds_are_kept),
        cmocka_unit_test(goals_are_reached),
        cmocka_unit_test(nothing_fits),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
