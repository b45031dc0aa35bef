/* Every request for memory fails in turn, the library's own and, where the C library lets a program stand in
 * for malloc, those of GSL and libyaml too: each failure is TN_MEMORY, none a crash or a leak. */
#include "base/memory.h"
#include "finetune/batch.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/language_model.h"
#include "finetune/transfer.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define STANDS_IN 0
#else
#define STANDS_IN 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
#endif

static long requests, fail_at; /* fail_at 0: none */

#if STANDS_IN
static bool fails(void) {
    if (++requests != fail_at) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}
#endif

static const char text[] = "gpu,model,dataset,sparsity,batch_size,queries_per_s\n"
                           "A40-48GB,mixtral-8x7b,D,1,1,0.31\nA40-48GB,mixtral-8x7b,D,1,2,0.50\n"
                           "A40-48GB,mixtral-8x7b,D,0.25,1,0.34\nA40-48GB,mixtral-8x7b,D,0.25,2,0.66\n"
                           "H100-80GB,mixtral-8x7b,D,1,1,0.54\nH100-80GB,mixtral-8x7b,D,0.25,4,1.8\n";

static const char table_text[] =
    "kind: gpu-table\ngpus:\n"
    "  A40-48GB: {device: a40}\n"
    "  H100-80GB: {figures: {memory_GB: 80, peak_TFLOPS: 989, bandwidth_GBps: 3350}}\n";
static char table_path[] = "/tmp/tenfold-gpus-XXXXXX";

static int write_table(void **state) {
    (void)state;
    int file = mkstemp(table_path);
    ssize_t written = file < 0 ? -1 : write(file, table_text, strlen(table_text));
    if (file >= 0) close(file);
    return written == (ssize_t)strlen(table_text) ? 0 : -1;
}

static int remove_table(void **state) {
    (void)state;
    return unlink(table_path);
}

static tn_status study(tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    tn_finetune_study found;
    TN_TRY(tn_finetune_parse("m.csv", text, strlen(text), arena, &data, error));
    return tn_finetune_study_group(&data.group[0], 1.8, &found, error);
}

static tn_status transfer(tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    tn_gpu_table table;
    tn_transfer found;
    tn_transfer_error *errors;
    size_t count;
    double batch;
    TN_TRY(tn_finetune_parse("m.csv", text, strlen(text), arena, &data, error));
    TN_TRY(tn_gpu_table_load(table_path, arena, &table, error));
    TN_TRY(tn_transfer_fit(&data, &table, arena, &found, error));
    TN_TRY(tn_transfer_hold_out(&data, &table, arena, &found, &errors, &count, error));
    return tn_transfer_largest_batch(&data, &table, &table.gpu[0], 23.35, 0.25, &batch, error);
}

static tn_status largest_batch(tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    tn_language_model model;
    tn_batch_measured *row;
    tn_batch_fit fit;
    size_t count;
    TN_TRY(tn_finetune_parse("m.csv", text, strlen(text), arena, &data, error));
    TN_TRY(tn_language_model_load(test_source("models/mixtral-8x7b.yaml"), NULL, 0, arena, &model, error));
    TN_TRY(tn_batch_largest(&data, model.name, arena, &row, &count, error));
    for (size_t i = 0; i < count; i++) row[i].memory_GB = 48, row[i].sequence = 79;
    return tn_batch_fit_rows(row, count, model.published.model_GB, &fit, error);
}

typedef tn_status work(tn_arena *arena, tn_error *error);
static work *const works[] = {study, transfer, largest_batch};
enum { WORKS = sizeof works / sizeof *works };

static tn_status run(work *job) {
    tn_arena arena = {0};
    tn_error error = {0};
    tn_status status = job(&arena, &error);
    tn_arena_free(&arena);
    if (status != TN_OK && status != TN_MEMORY) print_error("%d: %s\n", (int)status, error.message);
    return status;
}

static void the_librarys_own(void **state) {
    (void)state;
    for (int i = 0; i < WORKS; i++) {
        tn_memory_fail_at(0);
        assert_int_equal(run(works[i]), TN_OK);
        long own = tn_memory_requests();
        assert_true(own > 3);
        for (long n = 1; n <= own; n++) {
            tn_memory_fail_at(n);
            assert_int_equal(run(works[i]), TN_MEMORY);
        }
        tn_memory_fail_at(0);
    }
}

static void every_librarys(void **state) {
    (void)state;
    if (!STANDS_IN) skip();
    for (int i = 0; i < WORKS; i++) {
        requests = fail_at = 0;
        assert_int_equal(run(works[i]), TN_OK);
        long all = requests, failed = 0;
        for (long n = 1; n <= all; n++) {
            requests = 0;
            fail_at = n;
            tn_status status = run(works[i]);
            fail_at = 0;
            /* The C library may do without a buffer of its own. */
            assert_true(status == TN_MEMORY || status == TN_OK);
            failed += status == TN_MEMORY;
        }
        print_message("%ld of %ld failing requests reported\n", failed, all);
        assert_true(failed > all / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_librarys_own), cmocka_unit_test(every_librarys)};
    return cmocka_run_group_tests(tests, write_table, remove_table);
}
