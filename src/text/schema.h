/* Declared schemas: one table per input file kind says every key, its type, range, default and meaning;
 * decoding a YAML tree into a C struct, its errors, and the reference pages of docs/ all follow from the
 * table.
 *
 *     typedef struct { uint64_t width; double share; uint32_t style; } thing;
 *     static const char *const styles[] = {"block", "ultra", NULL};
 *     static const tn_field thing_fields[] = {
 *         TN_KEY(COUNT, thing, width, "word width, bits", TN_REQUIRED, TN_WITHIN(1, 4096)),
 *         TN_KEY(REAL, thing, share, "of the whole", TN_DEFAULT("0.5"), TN_WITHIN(0, 1)),
 *         TN_KEY(CHOICE, thing, style, "of the memory", TN_DEFAULT("block"), TN_ONE_OF(styles)),
 *     };
 *     static const tn_schema thing_schema = TN_SCHEMA("thing", thing, thing_fields);
 *
 * Errors carry file, line and column and what would be right: unknown key (with the nearest known one), wrong
 * type, out of range, missing, not among the choices.
 */
#ifndef TN_TEXT_SCHEMA_H
#define TN_TEXT_SCHEMA_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that a text may be one of, as people read them: "a, b, part-1 to part-9 or c". Internal to the room. */

/* Appends the names (ended by NULL), each between two `quote`, with `last` before the last one and commas before
 * the others. Three or more in a row that differ in a number that counts up are written as the first to the
 * last. */
void tn_choices_write(tn_buffer *out, const char *const *names, const char *quote, const char *last);

TN_PUBLIC_BEGIN

typedef enum tn_field_type {
    TN_FIELD_TEXT,       /* const char *                                            */
    TN_FIELD_COUNT,      /* uint64_t; whole number; also written 1e6 or 1_000_000   */
    TN_FIELD_REAL,       /* double; finite                                          */
    TN_FIELD_BOOL,       /* bool; true or false                                     */
    TN_FIELD_CHOICE,     /* uint32_t; position in `choices`                         */
    TN_FIELD_COUNT_LIST, /* tn_count_list; [12, 8, 8] or 12x8x8; one number alone is a list of one */
    TN_FIELD_REAL_LIST,  /* tn_real_list                                            */
    TN_FIELD_TEXT_LIST,  /* tn_text_list                                            */
    TN_FIELD_MAPPING,    /* struct of schema `sub`, in place; an absent one is filled with its defaults, and
                            then the keys it requires stay zero */
    TN_FIELD_LIST,       /* tn_item_list: a sequence of mappings of schema `sub`    */
    TN_FIELD_TABLE, /* tn_item_list: a mapping from free names to mappings of schema `sub`; the name is stored
                       in the item's first member, which must be a const char * */
    TN_FIELD_NODE,  /* const tn_yaml *; undecoded, NULL if absent              */
} tn_field_type;

typedef struct tn_count_list {
    size_t count;
    uint64_t *item;
} tn_count_list;
typedef struct tn_real_list {
    size_t count;
    double *item;
} tn_real_list;
typedef struct tn_text_list {
    size_t count;
    const char **item;
} tn_text_list;
typedef struct tn_item_list {
    size_t count;
    void *item; /* array of the sub-schema's struct */
} tn_item_list;

typedef struct tn_schema tn_schema;

typedef struct tn_field {
    const char *key;
    tn_field_type type;
    size_t offset;    /* of the member in the struct */
    const char *help; /* one line: meaning and unit */
    bool required;
    const char *fallback; /* default, written as in YAML; NULL: zero, empty or absent */
    /* Of numbers and list items. Both 0: no bound but the type's (COUNT: 0 to 2^63); maximum < minimum or
     * infinite: no upper one but the type's. */
    double minimum, maximum;
    const char *const *choices; /* CHOICE: names, ended by NULL */
    const tn_schema *sub;       /* MAPPING, LIST, TABLE */
    ptrdiff_t seen_offset; /* where > 0: of a tn_position that gets the value's place (line 0 if absent) */
    const void *about;     /* what the schema's owner knows of the key besides; NULL: nothing */
} tn_field;

/* A row: type (the end of its tn_field_type), struct, member, help, then any of the words below. The key is
 * the member's name, or is given. */
#define TN_KEY(of_type, owner, member, ...) TN_KEY_AS(#member, of_type, owner, member, __VA_ARGS__)
#define TN_KEY_AS(called, of_type, owner, member, ...)                                                       \
    { .key = (called), .type = TN_FIELD_##of_type, .offset = offsetof(owner, member), __VA_ARGS__ }
#define TN_REQUIRED            .required = true
#define TN_DEFAULT(text)       .fallback = (text)
#define TN_WITHIN(low, high)   .minimum = (low), .maximum = (high)
#define TN_FROM(low)           .minimum = (low), .maximum = -1
#define TN_ONE_OF(names)       .choices = (names)
#define TN_SEEN(owner, member) .seen_offset = offsetof(owner, member)

struct tn_schema {
    const char *name; /* of the thing described, for messages and docs: "device", "device.memory" */
    size_t size;      /* of the struct */
    const tn_field *field;
    size_t count;
};

#define TN_SCHEMA(title, type, fields)                                                                       \
    { .name = (title), .size = sizeof(type), .field = (fields), .count = sizeof(fields) / sizeof *(fields) }

/* Fills *out (of schema->size bytes) from the mapping `node`; lists and texts live in the arena. */
tn_status tn_schema_decode(const tn_schema *schema, const tn_yaml *node, tn_arena *arena, void *out,
                           tn_error *error);

/* Whether a dotted path, "a.b" or "a.b=VALUE", begins with one of its keys. */
bool tn_schema_has(const tn_schema *schema, const char *path);

/* Appends a Markdown table: key, type, range or choices, default, meaning; sub-schemas after it. docs/ pages
 * hold this text between marks, and a test compares. */
void tn_schema_document(const tn_schema *schema, tn_buffer *out);

TN_PUBLIC_END

#endif
