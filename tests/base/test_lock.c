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

/* One holder at a time; nothing of the lock is left, and a folder that was made for nothing goes again. */
static void folders_are_locked(void **state) {
    (void)state;
    char made[256], lock[300];
    tn_locked_folder one, other;
    snprintf(made, sizeof made, "%s/deep/made", path);
    snprintf(lock, sizeof lock, "%s/.lock", made);
    assert_int_equal(tn_folder_lock(made, &one, &error), TN_OK);
    assert_int_equal(tn_folder_lock(made, &other, &error), TN_IO);
    assert_non_null(strstr(error.message, "writes in this folder"));
    assert_null(other.path);
    assert_false(tn_folder_unlock(&other));
    assert_int_equal(access(lock, F_OK), 0);
    assert_false(tn_folder_unlock(&one));
    assert_int_not_equal(access(made, F_OK), 0);
    assert_int_equal(tn_folder_lock(made, &one, &error), TN_OK);
    char file[300];
    snprintf(file, sizeof file, "%s/file", made);
    FILE *written = fopen(file, "w");
    assert_non_null(written);
    fclose(written);
    assert_true(tn_folder_unlock(&one));
    assert_int_not_equal(access(lock, F_OK), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(tn_folder_lock(made, &one, &error), TN_OK);
    assert_true(tn_folder_unlock(&one)); /* it was there before */
    assert_int_equal(access(made, F_OK), 0);
}

/* Processes that take and release the lock by turns never hold it together. */
static void one_process_at_a_time(void **state) {
    (void)state;
    enum { PROCESSES = 4, TURNS = 400 };
    char shared[256], mark[300];
    pid_t child[PROCESSES];
    snprintf(shared, sizeof shared, "%s/turns", path);
    snprintf(mark, sizeof mark, "%s/mark", path);
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p]) continue;
        for (int turn = 0; turn < TURNS; turn++) {
            tn_locked_folder held;
            if (tn_folder_lock(shared, &held, NULL) != TN_OK) continue;
            int alone = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0666);
            if (alone < 0) _exit(1);
            close(alone);
            unlink(mark);
            tn_folder_unlock(&held);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_int_equal(status, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_a_second_writer),      cmocka_unit_test(readers_share),
        cmocka_unit_test(killed_process_holds_nothing), cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(folders_are_locked),           cmocka_unit_test(one_process_at_a_time),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
