#include "base/file.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tenfold-file-XXXXXX", path[64];
static tn_error error;

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/out", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails where a test left a temporary file */
}

static void assert_holds(const char *text) {
    char *data;
    size_t length;
    assert_int_equal(tn_file_read(path, 1 << 20, &data, &length, &error), TN_OK);
    assert_int_equal(length, strlen(text));
    assert_string_equal(data, text);
    tn_free(data);
}

static void written_is_read(void **state) {
    (void)state;
    tn_buffer buffer = {0};
    assert_int_equal(tn_file_write(path, "old", 3, &error), TN_OK);
    assert_holds("old");
    assert_int_equal(tn_file_write(path, "", 0, &error), TN_OK);
    assert_holds("");
    tn_buffer_text(&buffer, "new");
    assert_int_equal(tn_file_write_buffer(path, &buffer, &error), TN_OK);
    assert_holds("new");
    buffer.status = TN_MEMORY;
    assert_int_equal(tn_file_write_buffer(path, &buffer, &error), TN_MEMORY);
    assert_holds("new");
    tn_buffer_free(&buffer);
}

static void limits(void **state) {
    (void)state;
    char *data = NULL;
    size_t length;
    assert_int_equal(tn_file_write(path, "12345", 5, &error), TN_OK);
    assert_int_equal(tn_file_read(path, 5, &data, &length, &error), TN_OK);
    tn_free(data);
    data = NULL;
    assert_int_equal(tn_file_read(path, 4, &data, &length, &error), TN_LIMIT);
    assert_int_equal(tn_file_read("/dev/zero", 1 << 20, &data, &length, &error), TN_LIMIT);
    assert_int_equal(tn_file_read("/no/such/file", 4, &data, &length, &error), TN_INPUT);
    assert_string_equal(error.file, "/no/such/file");
    assert_int_equal(tn_file_read(folder, 1 << 20, &data, &length, &error), TN_INPUT);
    for (long n = 1; n <= 2; n++) {
        tn_memory_fail_at(n);
        tn_status status = tn_file_read("/dev/zero", 1 << 20, &data, &length, &error);
        tn_memory_fail_at(0);
        assert_int_equal(status, TN_MEMORY);
    }
    assert_null(data);
}

static void abandoned_leaves_the_old(void **state) {
    (void)state;
    tn_file_writer writer;
    assert_int_equal(tn_file_write(path, "old", 3, &error), TN_OK);
    assert_int_equal(tn_file_open(&writer, path, &error), TN_OK);
    fputs("half", writer.stream);
    fflush(writer.stream);
    assert_holds("old");
    tn_file_abandon(&writer);
    tn_file_abandon(&writer);
    assert_holds("old");
}

/* Files of the folder whose names end in .tmp. */
static size_t temporaries(void) {
    size_t count = 0;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (const struct dirent *entry; (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        count += length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
    }
    closedir(list);
    return count;
}

/* Links laid under names that a temporary might have are not followed; the target's own is replaced. */
static void links_are_not_followed(void **state) {
    (void)state;
    char victim[128], trap[160], *data;
    size_t length;
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(tn_file_write(victim, "precious", 8, &error), TN_OK);
    snprintf(trap, sizeof trap, "%s.%ld.tmp", path, (long)getpid());
    assert_int_equal(symlink(victim, trap), 0);
    unlink(path);
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(tn_file_write(path, "new", 3, &error), TN_OK);
    assert_holds("new");
    assert_int_equal(tn_file_read(victim, 100, &data, &length, &error), TN_OK);
    assert_string_equal(data, "precious");
    tn_free(data);
    assert_int_equal(unlink(trap) + unlink(victim), 0);
}

static void folders_and_devices_are_no_targets(void **state) {
    (void)state;
    assert_int_equal(tn_file_write(folder, "x", 1, &error), TN_INPUT);
    assert_int_equal(tn_file_write("/dev/null", "x", 1, &error), TN_INPUT);
}

/* Names and paths as long as the system takes them. */
static void long_paths(void **state) {
    (void)state;
    char deep[4000], command[128];
    size_t length = (size_t)snprintf(deep, sizeof deep, "%s/deep", folder);
    while (length < 3500) length += (size_t)snprintf(deep + length, sizeof deep - length, "/%0120d", 7);
    assert_int_equal(tn_folder_make(deep, &error), TN_OK);
    snprintf(deep + length, sizeof deep - length, "/%0250d", 7);
    assert_int_equal(tn_file_write(deep, "x", 1, &error), TN_OK);
    assert_int_equal(access(deep, R_OK), 0);
    snprintf(command, sizeof command, "rm -r '%s/deep'", folder);
    assert_int_equal(system(command), 0);
}

/* A process killed while it writes leaves the old file as it was, and a temporary, which the next writer of that
 * file removes; one that is being written stays. */
static void killed_leaves_the_old(void **state) {
    (void)state;
    tn_file_writer writer;
    int status;
    assert_int_equal(tn_file_write(path, "old", 3, &error), TN_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (tn_file_open(&writer, path, &error) != TN_OK) _exit(1);
        fputs("half", writer.stream);
        fflush(writer.stream);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_holds("old");
    assert_int_equal(temporaries(), 1);
    tn_file_writer running, other;
    assert_int_equal(tn_file_open(&running, path, &error), TN_OK);
    assert_int_equal(temporaries(), 1);
    assert_int_equal(tn_file_open(&other, path, &error), TN_OK);
    assert_int_equal(temporaries(), 2);
    tn_file_abandon(&other);
    fputs("whole", running.stream);
    assert_int_equal(tn_file_commit(&running, &error), TN_OK);
    assert_holds("whole");
    assert_int_equal(temporaries(), 0);
}

/* A file that can't grow stands for a full disk. */
static void full_disk_leaves_the_old(void **state) {
    (void)state;
    enum { LENGTH = 100000 };
    struct rlimit before, limit;
    char *text = calloc(LENGTH, 1);
    assert_non_null(text);
    assert_int_equal(tn_file_write(path, "old", 3, &error), TN_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 10;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tn_status large = tn_file_write(path, text, LENGTH, &error),
              small = tn_file_write(path, text, 100, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(large, TN_IO);
    assert_int_equal(small, TN_IO); /* seen only when the last bytes leave the stream's buffer */
    assert_holds("old");
    free(text);
}

static void unwritable(void **state) {
    (void)state;
    char name[2000];
    assert_int_equal(tn_file_write("/no/such/folder/out", "x", 1, &error), TN_IO);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(tn_file_write(name, "x", 1, &error), TN_LIMIT);
}

static void folders(void **state) {
    (void)state;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    assert_int_equal(tn_folder_make(deep, &error), TN_OK);
    assert_int_equal(tn_folder_make(deep, &error), TN_OK);
    assert_int_equal(rmdir(deep), 0);
    snprintf(deep, sizeof deep, "%s/a", folder);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(tn_file_write(path, "x", 1, &error), TN_OK);
    assert_int_equal(tn_folder_make(path, &error), TN_INPUT);
    assert_int_equal(tn_folder_make("", &error), TN_INPUT);
    snprintf(deep, sizeof deep, "%s/b", path);
    assert_int_not_equal(tn_folder_make(deep, &error), TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(written_is_read),
                                       cmocka_unit_test(limits),
                                       cmocka_unit_test(abandoned_leaves_the_old),
                                       cmocka_unit_test(links_are_not_followed),
                                       cmocka_unit_test(folders_and_devices_are_no_targets),
                                       cmocka_unit_test(long_paths),
                                       cmocka_unit_test(killed_leaves_the_old),
                                       cmocka_unit_test(full_disk_leaves_the_old),
                                       cmocka_unit_test(unwritable),
                                       cmocka_unit_test(folders)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
