/* Measured accuracy: through the points, between neighbours, never outside. */
#include "ranks/accuracy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_error error;

static tn_status load(const char *text, tn_arena *arena, tn_accuracy **accuracy) {
    static char path[64];
    strcpy(path, "/tmp/tenfold-accuracy-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    tn_status status = tn_accuracy_load(path, arena, accuracy, &error);
    unlink(path);
    return status;
}

static void through_the_points_and_between(void **state) {
    (void)state;
    static const double rank[] = {2, 4, 8, 12, 30}, value[] = {0.6, 0.8, 0.79, 0.9, 0.9};
    tn_arena arena = {0};
    tn_accuracy *a;
    double got, least, most;
    assert_int_equal(load("rank,accuracy\n8,0.79\n2,0.6\n12,0.9\n4,0.8\n30,0.9\n", &arena, &a), TN_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tn_accuracy_at(a, "any", NULL, rank[i], &got, &error), TN_OK);
        assert_true(fabs(got - value[i]) < 1e-15);
    }
    for (size_t i = 1; i < 5; i++) {
        double before = value[i - 1];
        for (double r = rank[i - 1]; r <= rank[i]; r += 0.125) {
            double low = fmin(value[i - 1], value[i]), high = fmax(value[i - 1], value[i]);
            assert_int_equal(tn_accuracy_at(a, "any", NULL, r, &got, &error), TN_OK);
            assert_true(got >= low - 1e-14 && got <= high + 1e-14);
            assert_true(value[i] >= value[i - 1] ? got >= before - 1e-14 : got <= before + 1e-14);
            before = got;
        }
    }
    assert_int_equal(tn_accuracy_range(a, "any", NULL, &least, &most, &error), TN_OK);
    assert_true(least == 2 && most == 30);
    assert_int_equal(tn_accuracy_at(a, "any", NULL, 1.9, &got, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "outside the measured ranks 2 to 30"));
    assert_int_equal(tn_accuracy_at(a, "any", NULL, 31, &got, &error), TN_INPUT);
    assert_int_equal(tn_accuracy_at(a, "any", NULL, NAN, &got, &error), TN_INPUT);
    /* Five layers at rank 4 throughout lose what was measured. */
    assert_int_equal(tn_accuracy_loss(a, "any", NULL, 5, 4, &got, &error), TN_OK);
    assert_true(fabs(5 * got - 0.1) < 1e-15);
    tn_arena_free(&arena);
}

static void curves_of_layers(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_accuracy *a;
    double got;
    assert_int_equal(
        load("layer,ranks,accuracy\nx,1 1 1,0.5\ny,1,0.1\nx,1x2x1,0.6\ny,3,0.2\nx,5,0.7\ny,9,0.6\n", &arena,
             &a),
        TN_OK);
    assert_int_equal(tn_accuracy_loss(a, "x", NULL, 2, 2, &got, &error), TN_OK);
    assert_true(fabs(got - 0.1) < 1e-15);
    assert_int_equal(tn_accuracy_loss(a, "y", NULL, 2, 1, &got, &error), TN_OK);
    assert_true(fabs(got - 0.5) < 1e-15);
    assert_int_equal(tn_accuracy_at(a, "x", NULL, 9, &got, &error), TN_INPUT);
    assert_int_equal(tn_accuracy_at(a, "z", NULL, 2, &got, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "no curve for layer z"));
    tn_arena_free(&arena);
}

static void odd_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        unsigned line;
    } cases[] = {
        {"rank,accuracy\n1,0.5\n2,0.6\n", "a curve of 2 points; at least 3", 2},
        {"rank,accuracy\n1,0.5\n2,0.6\n1,0.7\n", "rank 1 is measured twice", 4},
        {"rank,accuracy\n", "no points", 1},
        {"rank,accurcy\n1,2\n", "accuracy", 1},
        {"rank,accuracy\n1,nan\n2,3\n3,4\n", "nan", 2},
        {"rank,accuracy\n0,1\n2,3\n3,4\n", "must be a rank", 2},
        {"layer,rank,accuracy\nx,1,0.5\nx,2,0.5\nx,3,0.5\ny,1,0.5\n", "for layer y", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_arena arena = {0};
        tn_accuracy *a;
        assert_int_equal(load(cases[i].text, &arena, &a), TN_INPUT);
        if (!strstr(error.message, cases[i].message)) fail_msg("%s: %s", cases[i].message, error.message);
        assert_int_equal(error.line, cases[i].line);
        tn_arena_free(&arena);
    }
}

/* As tenfold accuracy writes it: foldings apart, rows that can't be compared left out, short curves too. */
static void by_folding(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_accuracy *a;
    double got, least, most;
    assert_int_equal(load("folding,rank,epochs,seeds,collapsed,accuracy\n"
                          "\"4x8,8x4\",2,3,2,1,0.5\n\"4x8,8x4\",4,3,1,0,0.7\n\"4x8,8x4\",8,3,1,0,0.8\n"
                          "\"4x8,8x4\",16,1,1,0,0.1\n\"4x8,8x4\",12,3,2,2,nan\n"
                          "\"8x4,4x8\",2,3,1,0,0.6\n\"8x4,4x8\",4,3,1,0,0.65\n\"8x4,4x8\",6,3,1,0,0.66\n"
                          "\"2x16,16x2\",2,3,1,0,0.6\n",
                          &arena, &a),
                     TN_OK);
    assert_int_equal(tn_accuracy_at(a, "any", "4x8,8x4", 4, &got, &error), TN_OK);
    assert_true(got == 0.7);
    assert_int_equal(tn_accuracy_at(a, "any", "8x4,4x8", 4, &got, &error), TN_OK);
    assert_true(got == 0.65);
    assert_int_equal(tn_accuracy_range(a, "any", "4x8,8x4", &least, &most, &error), TN_OK);
    assert_true(least == 2 && most == 8);
    assert_false(tn_accuracy_covers(a, "any", "2x16,16x2"));
    assert_false(tn_accuracy_covers(a, "any", NULL));
    assert_int_equal(tn_accuracy_at(a, "any", "2x16,16x2", 2, &got, &error), TN_INPUT);
    tn_arena_free(&arena);
    assert_int_equal(load("folding,rank,accuracy\n\"2x16,16x2\",2,0.6\n", &arena, &a), TN_INPUT);
    tn_arena_free(&arena);
}

/* Of a table of several models and formats: those of most rows, without the ends. */
static void by_usual_rows(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_accuracy *a;
    double got, least, most;
    assert_int_equal(load("model,format,rank,epochs,accuracy\n"
                          "small,constant,,4,0.3\nsmall,dense,,4,0.95\nsmall,tt,2,4,0.6\nsmall,tt,4,4,0.7\n"
                          "small,tt,8,4,0.8\nlarge,tt,4,4,0.9\nsmall,tt,4,8,0.75\nsmall,tt,4,1,0.5\n",
                          &arena, &a),
                     TN_OK);
    assert_int_equal(tn_accuracy_at(a, "any", NULL, 4, &got, &error), TN_OK);
    assert_true(got == 0.7);
    assert_int_equal(tn_accuracy_range(a, "any", NULL, &least, &most, &error), TN_OK);
    assert_true(least == 2 && most == 8);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_folding),
        cmocka_unit_test(by_usual_rows),
        cmocka_unit_test(through_the_points_and_between),
        cmocka_unit_test(curves_of_layers),
        cmocka_unit_test(odd_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
