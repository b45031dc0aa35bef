/* Bytes as a file with a path, for loaders that take one. It lies in a folder of its own, beside a link to
 * the families that devices inherit from; both go when the program ends. */
#ifndef TEST_FUZZ_NAMED_FILE_H
#define TEST_FUZZ_NAMED_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char named_folder[] = "/tmp/tenfold-fuzz-XXXXXX", named_path[64], named_link[64];

static inline void remove_named_file(void) {
    unlink(named_path);
    unlink(named_link);
    rmdir(named_folder);
}

static inline void make_named_folder(void) {
    if (!mkdtemp(named_folder)) abort();
    snprintf(named_path, sizeof named_path, "%s/input.yaml", named_folder);
    snprintf(named_link, sizeof named_link, "%s/families", named_folder);
    if (symlink(FUZZ_SOURCE_DIR "/models/devices/families", named_link) != 0) abort();
    atexit(remove_named_file);
}

/* One file, used again for every input. */
static inline const char *named_file(const uint8_t *data, size_t size) {
    static FILE *stream;
    if (!stream) {
        make_named_folder();
        stream = fopen(named_path, "wb");
        if (!stream) abort();
    }
    rewind(stream);
    if (ftruncate(fileno(stream), 0) != 0 || fwrite(data, 1, size, stream) != size || fflush(stream) != 0)
        abort();
    return named_path;
}

#endif
