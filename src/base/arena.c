#include "base/arena.h"

#include "base/c_locale.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct tn_arena_chunk {
    struct tn_arena_chunk *next;
    size_t used, capacity;
    _Alignas(max_align_t) unsigned char data[];
} tn_arena_chunk;

enum { FIRST_CHUNK_BYTES = 16 * 1024 };

tn_status tn_arena_alloc(tn_arena *arena, size_t count, size_t size, void *out, tn_error *error) {
    const size_t alignment = _Alignof(max_align_t);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return tn_fail(error, TN_MEMORY, "no memory for %zu items of %zu bytes", count, size);
    bytes = (bytes + alignment - 1) / alignment * alignment;

    tn_arena_chunk *chunk = arena->current;
    while (chunk && chunk->capacity - chunk->used < bytes && chunk->next) {
        chunk = chunk->next;
        chunk->used = 0;
    }
    if (!chunk || chunk->capacity - chunk->used < bytes) {
        size_t capacity = chunk ? 2 * chunk->capacity : FIRST_CHUNK_BYTES;
        if (capacity < bytes) capacity = bytes;
        tn_arena_chunk *fresh;
        TN_TRY(tn_alloc(1, sizeof *fresh + capacity, &fresh, error));
        fresh->capacity = capacity;
        if (chunk)
            chunk->next = fresh;
        else
            arena->first = fresh;
        chunk = fresh;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    arena->current = chunk;
    memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    return TN_OK;
}

tn_status tn_arena_copy_text(tn_arena *arena, const char *text, size_t length, const char **out,
                             tn_error *error) {
    char *copy = NULL;
    TN_TRY(tn_arena_alloc(arena, length + 1, 1, &copy, error));
    memcpy(copy, text, length);
    *out = copy;
    return TN_OK;
}

tn_status tn_arena_format(tn_arena *arena, const char **out, tn_error *error, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    tn_c_locale locale = tn_c_locale_enter();
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = NULL;
    tn_status status = length < 0 ? tn_fail(error, TN_INPUT, "text can't be formatted")
                                  : tn_arena_alloc(arena, (size_t)length + 1, 1, &text, error);
    if (status == TN_OK) {
        vsnprintf(text, (size_t)length + 1, format, again);
        *out = text;
    }
    va_end(again);
    tn_c_locale_leave(locale);
    return status;
}

void tn_arena_reset(tn_arena *arena) {
    arena->current = arena->first;
    if (arena->first) arena->first->used = 0;
}

void tn_arena_free(tn_arena *arena) {
    for (tn_arena_chunk *chunk = arena->first, *next; chunk; chunk = next) {
        next = chunk->next;
        tn_free(chunk);
    }
    *arena = (tn_arena){0};
}
