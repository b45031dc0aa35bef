/* Changing trees: one value set by its path, one tree laid over another. */
#include "base/memory.h"
#include "base/suggest.h"
#include "text/number.h"
#include "text/yaml.h"
#include "text/yaml_reader.h"

#include <string.h>

static const char SET[] = "--set";

/* One step of a path: where it stands in the assignment, and the names that could be meant. */
typedef struct step {
    const char *name;
    tn_position at;
    tn_arena *arena;
    tn_error *error;
} step;

static tn_status no_such(const step *at, const char *kind, const char *const *names, size_t count) {
    const char *nearest = tn_suggest(at->name, names, count);
    if (nearest)
        return tn_fail_at(at->error, TN_INPUT, at->at, "no %s \"%.100s\" here; did you mean \"%.100s\"?",
                          kind, at->name, nearest);
    return tn_fail_at(at->error, TN_INPUT, at->at, "no %s \"%.100s\" here", kind, at->name);
}

static tn_status no_such_key(const step *at, const tn_yaml *mapping) {
    const char **names;
    TN_TRY(tn_arena_alloc(at->arena, mapping->count, sizeof *names, &names, at->error));
    for (size_t i = 0; i < mapping->count; i++) names[i] = mapping->key[i]->text;
    return no_such(at, "key", names, mapping->count);
}

static const char *name_of(const tn_yaml *item) {
    const tn_yaml *name = tn_yaml_get(item, "name");
    return name && name->kind == TN_YAML_SCALAR ? name->text : NULL;
}

static tn_status no_such_item(const step *at, const tn_yaml *sequence) {
    const char **names;
    size_t count = 0;
    TN_TRY(tn_arena_alloc(at->arena, sequence->count, sizeof *names, &names, at->error));
    for (size_t i = 0; i < sequence->count; i++)
        if (name_of(sequence->item[i])) names[count++] = name_of(sequence->item[i]);
    return no_such(at, "item", names, count);
}

static tn_status find_item(const step *at, const tn_yaml *sequence, tn_yaml ***slot) {
    uint64_t position;
    for (size_t i = 0; i < sequence->count; i++) {
        const char *name = name_of(sequence->item[i]);
        if (!name || strcmp(name, at->name) != 0) continue;
        *slot = &sequence->item[i];
        return TN_OK;
    }
    if (tn_read_count(at->name, &position) != TN_NUMBER_OK) return no_such_item(at, sequence);
    if (position >= sequence->count)
        return tn_fail_at(at->error, TN_INPUT, at->at, "item %s of a list of %zu; items count from 0",
                          at->name, sequence->count);
    *slot = &sequence->item[position];
    return TN_OK;
}

static tn_status append_key(const step *at, tn_yaml *mapping, tn_yaml ***slot) {
    tn_yaml **key, **item, *name;
    size_t count = mapping->count;
    TN_TRY(tn_arena_alloc(at->arena, count + 1, sizeof *key, &key, at->error));
    TN_TRY(tn_arena_alloc(at->arena, count + 1, sizeof *item, &item, at->error));
    TN_TRY(tn_arena_alloc(at->arena, 1, sizeof *name, &name, at->error));
    if (count) {
        memcpy(key, mapping->key, count * sizeof *key);
        memcpy(item, mapping->item, count * sizeof *item);
    }
    *name = (tn_yaml){.kind = TN_YAML_SCALAR, .at = at->at, .text = at->name};
    key[count] = name;
    mapping->key = key;
    mapping->item = item;
    mapping->count = count + 1;
    *slot = &item[count];
    return TN_OK;
}

static tn_status find_key(const step *at, tn_yaml *mapping, bool last, tn_yaml ***slot) {
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->key[i]->text, at->name) != 0) continue;
        *slot = &mapping->item[i];
        return TN_OK;
    }
    return last ? append_key(at, mapping, slot) : no_such_key(at, mapping);
}

static tn_status find_slot(const step *at, tn_yaml *node, bool last, tn_yaml ***slot) {
    if (at->name[0] == '\0')
        return tn_fail_at(at->error, TN_INPUT, at->at, "empty name in the path; write KEY.KEY=VALUE");
    switch (node->kind) {
    case TN_YAML_MAPPING:
        return find_key(at, node, last, slot);
    case TN_YAML_SEQUENCE:
        return find_item(at, node, slot);
    default:
        return tn_fail_at(at->error, TN_INPUT, at->at,
                          "no key \"%.100s\" here: what stands before it is a value", at->name);
    }
}

tn_status tn_yaml_set(tn_yaml *root, const char *assignment, tn_arena *arena, tn_error *error) {
    const char *equals = strchr(assignment, '=');
    tn_position at = {SET, 1, 1};
    if (!equals)
        return tn_fail_at(error, TN_INPUT, at, "\"%.100s\" sets nothing; write KEY=VALUE", assignment);
    tn_yaml *value, *node = root, **slot = NULL;
    at.column = (unsigned)(equals + 1 - assignment) + 1;
    TN_TRY(tn_yaml_parse_at(at, equals + 1, strlen(equals + 1), arena, &value, error));
    for (const char *name = assignment; name <= equals;) {
        const char *end = name + strcspn(name, ".=");
        step here = {.at = {SET, 1, (unsigned)(name - assignment) + 1}, .arena = arena, .error = error};
        TN_TRY(tn_arena_copy_text(arena, name, (size_t)(end - name), &here.name, error));
        TN_TRY(find_slot(&here, node, end == equals, &slot));
        node = *slot;
        name = end + 1;
    }
    *slot = value;
    return TN_OK;
}

tn_status tn_yaml_put_value(tn_yaml *root, const char *const *key, size_t keys, const char *assignment,
                            tn_arena *arena, tn_error *error) {
    const char *value = strchr(assignment, '=');
    tn_position at = {SET, 1, 1};
    if (!value)
        return tn_fail_at(error, TN_INPUT, at, "\"%.100s\" sets nothing; write KEY=VALUE", assignment);
    value++;
    at.column = (unsigned)(value - assignment) + 1;
    tn_yaml *node = root;
    for (size_t i = 0; i < keys; i++) {
        step here = {.name = key[i], .at = {SET, 1, 1}, .arena = arena, .error = error};
        tn_yaml **slot;
        TN_TRY(find_slot(&here, node, true, &slot));
        if (i + 1 == keys) return tn_yaml_parse_at(at, value, strlen(value), arena, slot, error);
        if (!*slot) {
            TN_TRY(tn_arena_alloc(arena, 1, sizeof **slot, slot, error));
            **slot = (tn_yaml){.kind = TN_YAML_MAPPING, .at = here.at};
        }
        node = *slot;
    }
    return TN_OK;
}

static tn_status copy_tree(const tn_yaml *from, tn_arena *arena, tn_yaml **copy, tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, 1, sizeof **copy, copy, error));
    tn_yaml *node = *copy;
    *node = *from;
    if (from->kind == TN_YAML_SCALAR) return TN_OK;
    TN_TRY(tn_arena_alloc(arena, from->count, sizeof *node->item, &node->item, error));
    for (size_t i = 0; i < from->count; i++) TN_TRY(copy_tree(from->item[i], arena, &node->item[i], error));
    if (from->kind == TN_YAML_SEQUENCE) return TN_OK;
    TN_TRY(tn_arena_alloc(arena, from->count, sizeof *node->key, &node->key, error));
    if (from->count) memcpy(node->key, from->key, from->count * sizeof *node->key);
    return TN_OK;
}

static tn_status merge_mappings(const tn_yaml *base, const tn_yaml *over, tn_arena *arena, tn_yaml **merged,
                                tn_error *error) {
    tn_yaml *node;
    size_t most = base->count + over->count;
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *node, &node, error));
    *node = (tn_yaml){.kind = TN_YAML_MAPPING, .at = over->at};
    TN_TRY(tn_arena_alloc(arena, most, sizeof *node->key, &node->key, error));
    TN_TRY(tn_arena_alloc(arena, most, sizeof *node->item, &node->item, error));
    for (size_t i = 0; i < base->count; i++) {
        const tn_yaml *other = tn_yaml_get(over, base->key[i]->text);
        node->key[i] = base->key[i];
        TN_TRY(other ? tn_yaml_merge(base->item[i], other, arena, &node->item[i], error)
                     : copy_tree(base->item[i], arena, &node->item[i], error));
    }
    node->count = base->count;
    for (size_t i = 0; i < over->count; i++) {
        if (tn_yaml_get(base, over->key[i]->text)) continue;
        node->key[node->count] = over->key[i];
        TN_TRY(copy_tree(over->item[i], arena, &node->item[node->count++], error));
    }
    *merged = node;
    return TN_OK;
}

tn_status tn_yaml_merge(const tn_yaml *base, const tn_yaml *over, tn_arena *arena, tn_yaml **merged,
                        tn_error *error) {
    bool mappings = base->kind == TN_YAML_MAPPING && over->kind == TN_YAML_MAPPING;
    return mappings ? merge_mappings(base, over, arena, merged, error)
                    : copy_tree(over, arena, merged, error);
}
