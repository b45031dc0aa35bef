/* Requests for memory of a sweep fail in turn, all of the first hundred and then every fifth, each on its
 * own: each gives TN_MEMORY, nothing leaks, and the folder stays usable. */
#include "base/memory.h"
#include "explore/result.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static tn_status whole_sweep(tn_error *error) {
    const tn_sweep_options options = {.threads = 1, .resume = true};
    tn_arena arena = {0};
    tn_space space;
    tn_summary summary;
    tn_result result;
    tn_status status =
        tn_space_load(test_source("tests/explore/data/mini.yaml"), NULL, 0, NULL, &arena, &space, error);
    if (status == TN_OK) status = tn_sweep_folder(&space, &options, folder, NULL, &summary, error);
    if (status == TN_OK) status = tn_result_load(folder, &arena, &result, error);
    if (status == TN_OK) assert_true(result.front_count > 0 && result.recommended_count > 1);
    tn_arena_free(&arena);
    return status;
}

static void requests_fail_in_turn(void **state) {
    (void)state;
    /* A folder in memory where there is one: every sweep syncs its files to disk. */
    const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/tenfold-memory-XXXXXX", root);
    assert_non_null(mkdtemp(folder));
    bool ended = false;
    for (long n = 1; !ended; n += n < 100 ? 1 : 5) {
        tn_error error = {0};
        tn_memory_fail_at(n);
        tn_status status = whole_sweep(&error);
        ended = tn_memory_requests() < n;
        tn_memory_fail_at(0);
        if (ended)
            assert_int_equal(status, TN_OK);
        else if (status != TN_MEMORY)
            print_error("request %ld: status %d, %s\n", n, (int)status, error.message);
        if (!ended) assert_int_equal(status, TN_MEMORY);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_fail_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
