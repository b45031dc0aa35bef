#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char test_folder[64];

int test_folder_make(void **state) {
    (void)state;
    snprintf(test_folder, sizeof test_folder, "%s/tenfold-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(test_folder) ? setenv("FOLDER", test_folder, 1) : -1;
}

int test_folder_remove(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    return system(command);
}

const char *test_in_folder(const char *name) {
    static char path[32][256];
    static unsigned next;
    char *text = path[next++ % 32];
    snprintf(text, sizeof path[0], "%s/%s", test_folder, name);
    return text;
}
