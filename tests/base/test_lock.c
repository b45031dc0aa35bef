/* One writer at a time; a dead one holds nothing. */
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];
static int folder;
static tn_error error;

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/tenfold-lock-XXXXXX");
    assert_non_null(mkdtemp(path));
    folder = open(path, O_RDONLY | O_DIRECTORY);
    return folder < 0;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    close(folder);
    snprintf(command, sizeof command, "rm -r '%s'", path);
    return system(command);
}

static void refuses_a_second_writer(void **state) {
    tn_lock first, second;
    char process[32];
    (void)state;
    assert_int_equal(tn_lock_take(folder, "lock", path, &first, &error), TN_OK);
    assert_int_equal(tn_lock_take(folder, "lock", path, &second, &error), TN_IO);
    snprintf(process, sizeof process, "process %ld ", (long)getpid());
    assert_non_null(strstr(error.message, process));
    assert_int_equal(tn_lock_share(folder, "lock", path, &second, &error), TN_IO);
    tn_lock_release(&first);
    assert_int_equal(tn_lock_take(folder, "lock", path, &second, &error), TN_OK);
    tn_lock_release(&second);
}

static void readers_share(void **state) {
    tn_lock one, other, writer;
    (void)state;
    assert_int_equal(tn_lock_share(folder, "lock", path, &one, &error), TN_OK);
    assert_int_equal(tn_lock_share(folder, "lock", path, &other, &error), TN_OK);
    assert_int_equal(tn_lock_take(folder, "lock", path, &writer, &error), TN_IO);
    tn_lock_release(&one);
    tn_lock_release(&other);
    assert_int_equal(tn_lock_share(folder, "none", path, &one, &error), TN_OK);
    assert_int_equal(one.descriptor, -1);
}

static void killed_process_holds_nothing(void **state) {
    int ready[2], status;
    char byte;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tn_lock held;
        if (tn_lock_take(folder, "lock", path, &held, &error) != TN_OK) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    tn_lock lock;
    char process[32];
    assert_int_equal(tn_lock_take(folder, "lock", path, &lock, &error), TN_IO);
    snprintf(process, sizeof process, "process %ld ", (long)child);
    assert_non_null(strstr(error.message, process));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(tn_lock_take(folder, "lock", path, &lock, &error), TN_OK);
    tn_lock_release(&lock);
    close(ready[0]);
    close(ready[1]);
}

static void links_are_not_followed(void **state) {
    tn_lock lock;
    char victim[128];
    (void)state;
    snprintf(victim, sizeof victim, "%s/victim", path);
    assert_int_equal(symlinkat(victim, folder, "link"), 0);
    assert_int_equal(tn_lock_take(folder, "link", path, &lock, &error), TN_IO);
    assert_int_not_equal(access(victim, F_OK), 0);
    assert_int_equal(tn_lock_take(folder, ".", path, &lock, &error), TN_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_a_second_writer),
        cmocka_unit_test(readers_share),
        cmocka_unit_test(killed_process_holds_nothing),
        cmocka_unit_test(links_are_not_followed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
