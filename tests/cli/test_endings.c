/* How the program ends when it is told to, and names that must stay names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/program.h"

static char folder[] = "/tmp/tenfold-endings-XXXXXX";

static test_run in_folder(const char *command) {
    char whole[4096];
    snprintf(whole, sizeof whole, "cd %s && %s", folder, command);
    return test_shell(whole);
}

static bool exists(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

#define ORDER "\"$TENFOLD\" order --einsum 'ab,bc,cd->ad' --sizes a=3,b=4,c=5,d=2 --plot "

/* What gnuplot opens, and what it reads as text, are data: no name runs anything, and each is drawn. The script
 * drawn again by hand runs nothing either. */
static void names_never_reach_a_shell(void **state) {
    (void)state;
    static const char *const names[] = {
        "'<touch PWNED;echo #.png'",
        "'|touch PWNED;echo #.svg'",
        "\"'t Hooft.png\"",
        "\"a''b.svg\"",
        "'`touch PWNED`.png'",
        "'\"; system(\"touch PWNED\") #.svg'",
        "'a\\b.png'",
        "'-.png'",
        "'@x $y.svg'",
        "'#.png'",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "rm -rf figures; mkdir figures; cd figures; " ORDER
                 "%s && f=%s && test -s \"./$f\" && rm \"./$f\" && "
                 "gnuplot \"./${f%%.*}.gp\" && test -s \"./$f\"",
                 names[i], names[i]);
        test_run run = in_folder(command);
        if (run.status != 0) print_error("%s: status %d: %s\n", names[i], run.status, run.err);
        assert_int_equal(run.status, 0);
        assert_false(exists("figures/PWNED"));
        test_run_free(&run);
    }
    test_run shell = in_folder("cd figures; " ORDER "\"$(printf 'a\\nb.png')\"");
    assert_int_equal(shell.status, 2);
    test_run_free(&shell);
}

/* One signal ends what a library computes, too, and what waits for a pipe that nobody writes to: what has not ended 2.5 s
 * later is killed, which is another status. */
static void one_signal_ends_it(void **state) {
    (void)state;
    static const char *const lines[] = {
        "ranks --matrix big.npy --fold m=2560,n=2560 --format tt --cap 2000 --svd exact",
        "cost fifo.yaml",
        "finetune fit fifo.csv",
        "order fifo.yaml",
    };
    static const char *const signals[] = {"INT", "TERM"};
    test_run made = in_folder("mkfifo fifo.yaml fifo.csv");
    assert_int_equal(made.status, 0);
    test_run_free(&made);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int s = 0; s < 2; s++) {
            char command[1024];
            snprintf(command, sizeof command,
                     "\"$TENFOLD\" %s & program=$!; sleep 0.5; kill -%s $program || exit 99; "
                     "{ sleep 2.5; kill -KILL $program; } 2>/dev/null & wait $program; status=$?; "
                     "kill $! 2>/dev/null; exit $status",
                     lines[i], signals[s]);
            test_run run = in_folder(command);
            if (run.status != 130) print_error("%s: status %d: %s\n", lines[i], run.status, run.err);
            assert_int_equal(run.status, 130);
            assert_non_null(strstr(run.err, "tenfold: "));
            test_run_free(&run);
        }
}

static void pipes_are_read(void **state) {
    (void)state;
    test_run run = in_folder(
        "mkfifo network.yaml && { sleep 0.3; printf 'kind: network\\nname: p\\nsizes: {a: 2, b: 3}\\n"
        "einsum: \"ab,b->a\"\\n' > network.yaml & } && \"$TENFOLD\" order network.yaml --json");
    if (run.status != 0) print_error("%s", run.err);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "\"macs\""));
    test_run_free(&run);
}

static void files_past_the_limit_of_the_shell(void **state) {
    (void)state;
    test_run run = in_folder("ulimit -f 0; " ORDER "limited.svg");
    assert_int_equal(run.status, 3);
    assert_false(exists("limited.svg")); /* what it says does not get into a file either */
    test_run_free(&run);
}

static int make_folder(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    char path[96], head[128];
    snprintf(path, sizeof path, "%s/big.npy", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2560, 2560), }";
    memcpy(head + 10, text, sizeof text - 1);
    head[127] = '\n';
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    uint32_t random = 1;
    for (int i = 0; i < 2560 * 2560; i++) {
        random = random * 1664525u + 1013904223u;
        float value = (float)(random >> 8) / 16777216.0F - 0.5F;
        assert_int_equal(fwrite(&value, sizeof value, 1, file), 1);
    }
    return fclose(file);
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    test_run done = test_shell(command);
    test_run_free(&done);
    return 0;
}

/* A limit of address space that leaves OpenBLAS's threads without memory: the program says so or does its work,
 * and it ends. */
static void a_limit_of_address_space_ends_it(void **state) {
    (void)state;
    static const int kilobytes[] = {60000, 120000, 160000, 250000, 400000};
    static const char *const lines[] = {
        "--version",
        "nonsense",
        "cost atis-2enc",
        "order --layer tt:m=12x8x8,n=8x8x12,rank=12,tokens=32 --training",
        "validate atis-2enc --quiet",
    };
    for (size_t k = 0; k < sizeof kilobytes / sizeof *kilobytes; k++)
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            char command[512];
            snprintf(command, sizeof command, "ulimit -v %d; exec timeout -s KILL 20 \"$TENFOLD\" %s",
                     kilobytes[k], lines[i]);
            test_run run = in_folder(command);
            if (i == 1) {
                assert_int_equal(run.status, 2);
                assert_non_null(strstr(run.err, "unknown command 'nonsense'"));
            } else if (run.status == 0) {
                assert_true(strlen(run.out) > 10);
            } else {
                assert_int_equal(run.status, 3);
                assert_non_null(strstr(run.err, "no memory"));
            }
            test_run_free(&run);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_never_reach_a_shell),
        cmocka_unit_test(one_signal_ends_it),
        cmocka_unit_test(pipes_are_read),
        cmocka_unit_test(files_past_the_limit_of_the_shell),
        cmocka_unit_test(a_limit_of_address_space_ends_it),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
