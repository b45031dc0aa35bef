#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long requests, fail_at;

void tn_memory_fail_at(long n) {
    atomic_store(&requests, 0);
    atomic_store(&fail_at, n);
}

long tn_memory_requests(void) {
    return atomic_load(&requests);
}

static bool refused(void) {
    long number = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1;
    return number == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

static tn_status no_memory(tn_error *error, size_t count, size_t size) {
    return tn_fail(error, TN_MEMORY, "no memory for %zu items of %zu bytes", count, size);
}

tn_status tn_alloc(size_t count, size_t size, void *out, tn_error *error) {
    bool fits = size == 0 || count <= PTRDIFF_MAX / size;
    void *memory = refused() || !fits ? NULL : calloc(count ? count : 1, size ? size : 1);
    if (!memory) return no_memory(error, count, size);
    memcpy(out, &memory, sizeof memory);
    return TN_OK;
}

tn_status tn_grow(void *items, size_t *capacity, size_t need, size_t size, tn_error *error) {
    if (need <= *capacity) return TN_OK;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < need && wanted <= SIZE_MAX / 2) wanted *= 2;
    if (wanted < need || wanted > PTRDIFF_MAX / size) return no_memory(error, need, size);
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = refused() ? NULL : realloc(old, wanted * size);
    if (!grown) return no_memory(error, wanted, size);
    memset((char *)grown + *capacity * size, 0, (wanted - *capacity) * size);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return TN_OK;
}

void tn_free(void *pointer) {
    free(pointer);
}

tn_status tn_copy_text(const char *text, char **out, tn_error *error) {
    size_t length = strlen(text) + 1;
    TN_TRY(tn_alloc(length, 1, out, error));
    memcpy(*out, text, length);
    return TN_OK;
}
