/* Loaded before the C library (LD_PRELOAD): fails one request for memory, or one system call that opens or
 * reads, of whoever makes it: the program, or any library it calls.
 *
 *   FAULT_MEMORY=N          the N-th malloc, calloc, realloc or aligned_alloc gives nothing
 *   FAULT_OPEN=N, FAULT_READ=N, FAULT_LIST=N with FAULT_ERRNO=E: so do open, read and pread, readdir
 *   FAULT_COUNT=FILE        at the end, writes there how many of each there were
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { MEMORY, OPEN, READ, LIST, KINDS };
static const char *const variable[KINDS] = {"FAULT_MEMORY", "FAULT_OPEN", "FAULT_READ", "FAULT_LIST"};
static atomic_long made[KINDS];
static long wanted[KINDS];
static int failure = EIO;
static bool armed;
static const char *counts;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

__attribute__((constructor)) static void arm(void) {
    for (int k = 0; k < KINDS; k++) wanted[k] = getenv(variable[k]) ? atol(getenv(variable[k])) : 0;
    if (getenv("FAULT_ERRNO")) failure = atoi(getenv("FAULT_ERRNO"));
    counts = getenv("FAULT_COUNT");
    armed = true;
}

static void count(void) {
    if (!counts) return;
    armed = false;
    int file = open(counts, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int k = 0; k < KINDS; k++) dprintf(file, "%ld\n", atomic_load(&made[k]));
    close(file);
}

__attribute__((destructor)) static void finish(void) {
    count();
}

static bool fails(enum kind kind, int error_number) {
    if (!armed || atomic_fetch_add(&made[kind], 1) + 1 != wanted[kind]) return false;
    errno = error_number;
    return true;
}

void *malloc(size_t size) {
    return fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count_of, size_t size) {
    return fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(count_of, size);
}

void *realloc(void *old, size_t size) {
    return fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

/* The C library's own, found without asking for memory where it can be helped. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(OPEN, failure) ? -1 : REAL(open)(path, flags, mode);
}

FILE *fopen(const char *path, const char *how) {
    return fails(OPEN, failure) ? NULL : REAL(fopen)(path, how);
}

DIR *opendir(const char *path) {
    return fails(OPEN, failure) ? NULL : REAL(opendir)(path);
}

ssize_t read(int file, void *bytes, size_t room) {
    return fails(READ, failure) ? -1 : REAL(read)(file, bytes, room);
}

ssize_t pread(int file, void *bytes, size_t room, off_t offset) {
    return fails(READ, failure) ? -1 : REAL(pread)(file, bytes, room, offset);
}

struct dirent *readdir(DIR *folder) {
    return fails(LIST, failure) ? NULL : REAL(readdir)(folder);
}
