/* YAML documents as trees with positions (libyaml does the parsing).
 *
 * One document per file; mappings with scalar keys; no anchors, aliases, tags or duplicate keys: each is
 * refused with its line and column. Nesting is limited to 64 levels, a file to 16 MiB and 2^20 nodes. Nodes
 * live in the caller's arena.
 */
#ifndef TN_TEXT_YAML_H
#define TN_TEXT_YAML_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef enum tn_yaml_kind { TN_YAML_SCALAR, TN_YAML_SEQUENCE, TN_YAML_MAPPING } tn_yaml_kind;

typedef struct tn_yaml tn_yaml;
struct tn_yaml {
    tn_yaml_kind kind;
    tn_position position;
    const char *text; /* scalar: its value */
    bool quoted;    /* scalar: written in quotes or over several lines, so a string whatever it looks like */
    size_t count;   /* sequence: items; mapping: pairs */
    tn_yaml **item; /* sequence: items; mapping: values */
    tn_yaml **key;  /* mapping: keys, scalars */
};

/* *root = the document in the file `path` (its text is kept as the positions' file name). */
tn_status tn_yaml_load(const char *path, tn_arena *arena, tn_yaml **root, tn_error *error);
/* The same from memory; `name` stands for the file in positions. */
tn_status tn_yaml_parse(const char *name, const char *text, size_t length, tn_arena *arena, tn_yaml **root,
                        tn_error *error);

/* The value under `key` of a mapping, or NULL. */
tn_yaml *tn_yaml_get(const tn_yaml *mapping, const char *key);

/* Applies "a.b.3.c=VALUE": a dotted path of mapping keys and sequence positions (from 0), or names of list
 * items that have a `name:` key; VALUE is read as YAML. A last key that is missing in its mapping is added
 * (the schema judges it afterwards); a missing item before it is an error. Positions of what was set name the
 * file "--set". */
tn_status tn_yaml_set(tn_yaml *root, const char *assignment, tn_arena *arena, tn_error *error);

/* Puts the VALUE of an assignment "KEY=VALUE" at a path of mapping keys, which are added where they are missing,
 * whatever characters they hold. */
tn_status tn_yaml_put_value(tn_yaml *root, const char *const *key, size_t keys, const char *assignment,
                            tn_arena *arena, tn_error *error);

/* *merged = `base` overridden by `override`: mappings merge key by key, anything else is replaced whole. Inputs
 * stay. */
tn_status tn_yaml_merge(const tn_yaml *base, const tn_yaml *override, tn_arena *arena, tn_yaml **merged,
                        tn_error *error);

/* Writes the tree as block YAML (short lists of scalars on one line), so that reading it gives an equal tree;
 * a plain text that only quotes can write comes back quoted. */
struct tn_buffer;
void tn_yaml_write(const tn_yaml *root, struct tn_buffer *out);
/* Appends the line "key: text" behind `indent` blanks, the text quoted where it is no plain word. */
void tn_yaml_put(struct tn_buffer *out, int indent, const char *key, const char *text);

TN_PUBLIC_END

#endif
