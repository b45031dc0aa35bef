/* Command lines under failing requests for memory and failing system calls, of the program and of every library
 * it calls: each ends with a right answer, or with one clear line and exit status 3. Never is there half an answer
 * with status 0, blame on the input, a crash or an abort. Here a few requests of each line fail, spread over all;
 * with TORTURE=all in the environment, every one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/program.h"
#include "support/shared.h"

static const char *const lines[] = {
    "list models",
    "list devices --json",
    "list spaces",
    "list flows",
    "list formats",
    "help",
    "help cost",
    "cost atis-2enc",
    "cost atis-2enc --json",
    "cost atis-2enc --device u50 --json",
    "cost atis-2enc --device u50 --set build.rows=4",
    "cost atis-2enc --set format=dense",
    "order --layer tt:m=4x4,n=4x4,rank=3,tokens=4",
    "order --layer tt:m=4x4,n=4x4,rank=3,tokens=4 --objective front",
    "order --layer ttm:m=2x3,n=3x2,rank=2,tokens=4 --all",
    "order --layer tt:m=4x4,n=4x4,rank=3,tokens=4 --training",
    "order --layer tucker:m=2x3,n=3x2,rank=2,tokens=4 --objective live --json",
    "order --einsum 'ab,bc,cd->ad' --sizes a=3,b=4,c=5,d=2 --json",
    "order --einsum 'ab,bc,cd->ad' --sizes a=3,b=4,c=5,d=2 --max-live 60",
    "hardware memory --width 32 --depth 1000 --style block",
    "hardware memory --width 32 --depth 1000 --style auto --device u50 --json",
    "hardware multiply --a 8 --b 8 --signedness signed",
    "hardware dot --parallel 4 --m 4 --k 8 --n 4 --mul-latency 3 --add-latency 4 --ii 1",
    "hardware array --dataflow ws_serial --rows 4 --cols 4 --m 8 --k 8 --n 8 --json",
    "hardware array --dataflow os_overlapped --rows 4 --cols 4 --execute $DATA/w.npy $DATA/w.npy -o "
    "$DATA/c.npy",
    "hardware kernel --kind softmax --device u50 --m 32 --n 32 --json",
    "roofline --device h200 --dtype fp32 --m 64 --n 64 --k 64 --json",
    "roofline --device h200 --dtype fp32 --m 64 --n 64 --k 64",
    "finetune fit $DATA/measured.csv --law log --json",
    "finetune fit $DATA/measured.csv --law step",
    "finetune fit $DATA/measured.csv --law best --json",
    "ranks --matrix $DATA/w.npy --fold m=2x3,n=3x2 --format tt --cap 1,2 --json",
    "ranks --matrix $DATA/w.npy --fold m=2x3,n=3x2 --format ttm --tolerance 0.5",
    "ranks --table $DATA/table.csv --budget params=60 --json",
    "sweep atis-2enc-u50 --dry-run",
};
enum { LINES = sizeof lines / sizeof *lines, SPREAD = 5 };

static char folder[] = "/tmp/tenfold-requests-XXXXXX";

static test_run run(const char *variable, long number, int error_number, const char *line) {
    char command[2048];
    snprintf(command, sizeof command,
             "DATA=%s; OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 FAULT_ERRNO=%d %s=%ld LD_PRELOAD=%s "
             "\"$TENFOLD\" %s",
             folder, error_number, variable, number, FAULT_LIBRARY, line);
    return test_shell(command);
}

/* How many requests of the kind (a line of FAULT_COUNT's file) the command makes. */
static long requests(int kind, const char *line, test_run *whole) {
    char command[2048], path[64];
    long made[4] = {0};
    snprintf(path, sizeof path, "%s/counts", folder);
    snprintf(command, sizeof command,
             "DATA=%s; OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 FAULT_COUNT=%s LD_PRELOAD=%s \"$TENFOLD\" %s",
             folder, path, FAULT_LIBRARY, line);
    *whole = test_shell(command);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int k = 0; k < 4; k++) assert_int_equal(fscanf(file, "%ld", &made[k]), 1);
    fclose(file);
    return made[kind];
}

/* Blanks the times that an answer tells: they are different in every run. */
static void blank_times(char *text) {
    static const char *const marks[] = {"searched in", "\"seconds\":"};
    for (int i = 0; i < 2; i++)
        for (char *cursor = text; (cursor = strstr(cursor, marks[i]));)
            for (cursor += strlen(marks[i]); *cursor && *cursor != '\n' && *cursor != ','; cursor++)
                *cursor = ' ';
}

/* Blanks behind a time are of any number. */
static bool same_answer(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == ' ') a++;
        while (*b == ' ') b++;
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static bool right(const test_run *got, const test_run *whole) {
    const char *said = strstr(got->err, "tenfold: "); /* the OpenMP runtime speaks before it ends a program */
    if (got->status == 3) return said && strchr(said, '\n') == said + strlen(said) - 1;
    return got->status == whole->status && same_answer(got->out, whole->out);
}

static void every_request_may_fail(int kind, const char *variable, int error_number) {
    unsigned tried = 0, wrong = 0;
    const char *torture = getenv("TORTURE");
    for (int i = 0; i < LINES; i++) {
        test_run whole;
        long made = requests(kind, lines[i], &whole);
        if (whole.status > 1) fail_msg("%s: %s", lines[i], whole.err);
        blank_times(whole.out);
        long step = torture && strcmp(torture, "all") == 0 ? 1 : 1 + made / SPREAD;
        for (long n = 1 + i % step; n <= made; n += step) {
            test_run got = run(variable, n, error_number, lines[i]);
            blank_times(got.out);
            tried++;
            if (!right(&got, &whole)) {
                print_error("%s=%ld of %ld, status %d: %s\n  %s\n", variable, n, made, got.status, lines[i],
                            got.err);
                wrong++;
            }
            test_run_free(&got);
        }
        test_run_free(&whole);
    }
    print_message("%s, errno %d: %u faults over %d command lines, %u wrong\n", variable, error_number, tried,
                  LINES, wrong);
    assert_int_equal(wrong, 0);
}

static void memory(void **state) {
    (void)state;
    every_request_may_fail(0, "FAULT_MEMORY", ENOMEM);
}

static void too_many_open_files(void **state) {
    (void)state;
    every_request_may_fail(1, "FAULT_OPEN", EMFILE);
}

static void failing_reads(void **state) {
    (void)state;
    every_request_may_fail(2, "FAULT_READ", EIO);
}

static void interrupted_reads(void **state) {
    (void)state;
    every_request_may_fail(2, "FAULT_READ", EINTR);
}

static void failing_lists(void **state) {
    (void)state;
    every_request_may_fail(3, "FAULT_LIST", EIO);
}

static void put(const char *name, const void *bytes, size_t length) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state) {
    (void)state;
    if (!FAULT_LIBRARY[0]) return 0;
    assert_non_null(mkdtemp(folder));
    char text[4096], npy[128 + 36 * 8];
    size_t length =
        (size_t)snprintf(text, sizeof text, "gpu,model,dataset,sparsity,batch_size,queries_per_s\n");
    for (int b = 1; b <= 8; b++)
        length += (size_t)snprintf(text + length, sizeof text - length, "A40,m,d,0.25,%d,%.4f\n", b,
                                   0.4 + 0.5 * b / (1 + 0.2 * b));
    put("measured.csv", text, length);
    length = (size_t)snprintf(text, sizeof text, "layer,cap,params,sqerr\n");
    for (int l = 0; l < 3; l++)
        for (int c = 1; c <= 4; c++)
            length += (size_t)snprintf(text + length, sizeof text - length, "l%d,%d,%d,%.3f\n", l, c, 8 * c,
                                       10.0 / (c * c + l));
    put("table.csv", text, length);
    memset(npy, ' ', 128);
    memcpy(npy, "\x93NUMPY\x01\x00\x76\x00", 10);
    static const char head[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 6), }";
    memcpy(npy + 10, head, sizeof head - 1);
    npy[127] = '\n';
    for (int i = 0; i < 36; i++) {
        double value = 1.0 / (1 + i / 6 + i % 6) + (i % 7) * 0.1;
        memcpy(npy + 128 + 8 * i, &value, 8);
    }
    put("w.npy", npy, sizeof npy);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    test_run done = test_shell(command);
    test_run_free(&done);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory),        cmocka_unit_test(too_many_open_files),
        cmocka_unit_test(failing_reads), cmocka_unit_test(interrupted_reads),
        cmocka_unit_test(failing_lists),
    };
    if (!FAULT_LIBRARY[0]) {
        printf("SKIPPED: a sanitized program brings its own malloc\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
