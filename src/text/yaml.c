#include "text/yaml.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "text/json.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { MOST_LEVELS = 64, MOST_NODES = 1 << 20 };
static const size_t LIMIT_BYTES = (size_t)16 << 20;

/* `stack` holds the finished nodes of the collections that are still open, innermost last. */
typedef struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t length;
    tn_position start;
    tn_arena *arena;
    tn_error *error;
    tn_yaml **stack;
    size_t used, capacity, nodes;
} reader;

static tn_position place(const reader *input, yaml_mark_t mark) {
    unsigned column = (unsigned)mark.column + 1;
    if (mark.line == 0) column += input->start.column - 1;
    return (tn_position){input->start.file, input->start.line + (unsigned)mark.line, column};
}

/* libyaml says only the byte offset of what is not readable text. */
static tn_position place_of_byte(const reader *input, size_t offset) {
    tn_position position = input->start;
    for (size_t i = 0; i < offset && i < input->length; i++) {
        if (input->text[i] == '\n') {
            position.line++;
            position.column = 1;
        } else if (((unsigned char)input->text[i] & 0xc0) != 0x80) {
            position.column++;
        }
    }
    return position;
}

/* libyaml may name a byte inside the character that is not UTF-8. */
static size_t offset_of_unreadable(const reader *input) {
    size_t offset = 0, bytes = 1, problem = input->parser.problem_offset;
    while (offset < input->length && offset < problem && bytes > 0) {
        bytes = tn_utf8_length(input->text + offset, input->length - offset);
        offset += bytes;
    }
    return offset < problem ? offset : problem;
}

/* libyaml puts the end of a text without a last line end into the next line. */
static tn_position place_of_problem(const reader *input) {
    tn_position end = place_of_byte(input, input->length),
                position = place(input, input->parser.problem_mark);
    return position.line > end.line ? end : position;
}

static tn_status syntax_error(const reader *input) {
    const yaml_parser_t *parser = &input->parser;
    const char *problem = parser->problem ? parser->problem : "not readable";
    if (parser->error == YAML_MEMORY_ERROR) return tn_fail(input->error, TN_MEMORY, "no memory to read YAML");
    if (parser->error == YAML_READER_ERROR)
        return tn_fail_at(input->error, TN_INPUT, place_of_byte(input, offset_of_unreadable(input)),
                          "not YAML: %s; the file must be UTF-8 text", problem);
    return tn_fail_at(input->error, TN_INPUT, place_of_problem(input), "not YAML: %s%s%s", problem,
                      parser->context ? " " : "", parser->context ? parser->context : "");
}

static tn_status next_event(reader *input, yaml_event_t *event) {
    return yaml_parser_parse(&input->parser, event) ? TN_OK : syntax_error(input);
}

static tn_status push(reader *input, tn_yaml *node) {
    TN_TRY(TN_GROW(&input->stack, &input->capacity, input->used + 1, input->error));
    input->stack[input->used++] = node;
    return TN_OK;
}

static tn_status refuse_properties(const reader *input, const yaml_char_t *anchor, const yaml_char_t *tag,
                                   tn_position position) {
    if (anchor)
        return tn_fail_at(input->error, TN_INPUT, position,
                          "anchors and aliases (&%.50s) are not supported; write the value out",
                          (const char *)anchor);
    if (tag)
        return tn_fail_at(input->error, TN_INPUT, position, "tags (%.50s) are not supported; remove the tag",
                          (const char *)tag);
    return TN_OK;
}

static tn_status new_node(reader *input, const yaml_event_t *event, tn_yaml_kind kind, tn_yaml **node) {
    if (input->nodes++ == MOST_NODES)
        return tn_fail_at(input->error, TN_LIMIT, place(input, event->start_mark),
                          "more than %d values and keys; split the file", (int)MOST_NODES);
    TN_TRY(TN_NEW(input->arena, 1, node, input->error));
    (*node)->kind = kind;
    (*node)->position = place(input, event->start_mark);
    return TN_OK;
}

static tn_status read_scalar(reader *input, const yaml_event_t *event) {
    tn_yaml *node;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    TN_TRY(new_node(input, event, TN_YAML_SCALAR, &node));
    TN_TRY(refuse_properties(input, event->data.scalar.anchor, event->data.scalar.tag, node->position));
    if (memchr(text, '\0', length))
        return tn_fail_at(input->error, TN_INPUT, node->position,
                          "text with a NUL character in it; remove the \\0");
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || memchr(text, '\n', length);
    TN_TRY(tn_arena_copy_text(input->arena, text, length, &node->text, input->error));
    return push(input, node);
}

/* A mapping's pairs as they lie on the stack: key, value, key, value. */
static tn_status fill_mapping(reader *input, tn_yaml *node, tn_yaml *const *pairs, size_t count) {
    node->count = count / 2;
    TN_TRY(TN_NEW(input->arena, node->count, &node->key, input->error));
    TN_TRY(TN_NEW(input->arena, node->count, &node->item, input->error));
    for (size_t i = 0; i < node->count; i++) {
        const tn_yaml *key = pairs[2 * i];
        if (key->kind != TN_YAML_SCALAR)
            return tn_fail_at(input->error, TN_INPUT, key->position,
                              "a key that is a list or mapping; a key is one word");
        if (key->text[0] == '\0')
            return tn_fail_at(input->error, TN_INPUT, key->position,
                              "a value without a key; write KEY: VALUE");
        node->key[i] = pairs[2 * i];
        node->item[i] = pairs[2 * i + 1];
    }
    return TN_OK;
}

static int by_text(const void *a, const void *b) {
    const tn_yaml *x = *(tn_yaml *const *)a, *y = *(tn_yaml *const *)b;
    int order = strcmp(x->text, y->text);
    if (order) return order;
    if (x->position.line != y->position.line) return x->position.line < y->position.line ? -1 : 1;
    return (x->position.column > y->position.column) - (x->position.column < y->position.column);
}

static tn_status refuse_duplicates(const reader *input, const tn_yaml *node) {
    tn_yaml **sorted;
    TN_TRY(TN_ALLOC(node->count, &sorted, input->error));
    if (node->count) memcpy(sorted, node->key, node->count * sizeof *sorted);
    qsort(sorted, node->count, sizeof *sorted, by_text);
    tn_status status = TN_OK;
    for (size_t i = 1; i < node->count && status == TN_OK; i++)
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0)
            status = tn_fail_at(input->error, TN_INPUT, sorted[i]->position,
                                "key \"%.100s\" stands twice, first in line %u; keep one of them",
                                sorted[i]->text, sorted[i - 1]->position.line);
    tn_free(sorted);
    return status;
}

static tn_status read_node(reader *input, const yaml_event_t *event, int level);

static tn_status read_children(reader *input, int level) {
    for (;;) {
        yaml_event_t event;
        TN_TRY(next_event(input, &event));
        bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        tn_status status = end ? TN_OK : read_node(input, &event, level + 1);
        yaml_event_delete(&event);
        if (end || status != TN_OK) return status;
    }
}

static tn_status read_collection(reader *input, const yaml_event_t *event, int level) {
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    tn_yaml *node;
    TN_TRY(new_node(input, event, mapping ? TN_YAML_MAPPING : TN_YAML_SEQUENCE, &node));
    TN_TRY(mapping ? refuse_properties(input, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                                       node->position)
                   : refuse_properties(input, event->data.sequence_start.anchor,
                                       event->data.sequence_start.tag, node->position));
    if (level >= MOST_LEVELS)
        return tn_fail_at(input->error, TN_LIMIT, node->position, "nested deeper than %d levels",
                          MOST_LEVELS);
    size_t base = input->used;
    TN_TRY(read_children(input, level));
    size_t count = input->used - base;
    tn_yaml *const *children = count ? input->stack + base : NULL;
    input->used = base;
    if (mapping) {
        TN_TRY(fill_mapping(input, node, children, count));
        TN_TRY(refuse_duplicates(input, node));
    } else {
        TN_TRY(TN_NEW(input->arena, count, &node->item, input->error));
        if (count) memcpy(node->item, children, count * sizeof *node->item);
        node->count = count;
    }
    return push(input, node);
}

static tn_status read_node(reader *input, const yaml_event_t *event, int level) {
    if (event->type == YAML_ALIAS_EVENT)
        return tn_fail_at(input->error, TN_INPUT, place(input, event->start_mark),
                          "anchors and aliases (*%.50s) are not supported; write the value out",
                          (const char *)event->data.alias.anchor);
    if (event->type == YAML_SCALAR_EVENT) return read_scalar(input, event);
    return read_collection(input, event, level);
}

/* One event outside the document's content; *done at the end of the stream. */
static tn_status read_event(reader *input, const yaml_event_t *event, bool *done) {
    switch (event->type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return TN_OK;
    case YAML_STREAM_END_EVENT:
        *done = true;
        return TN_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (input->used > 0)
            return tn_fail_at(input->error, TN_INPUT, place(input, event->start_mark),
                              "a second document begins; a file holds one");
        if (event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
            return tn_fail_at(input->error, TN_INPUT, place(input, event->start_mark),
                              "tags (%%TAG) are not supported; remove the line");
        return TN_OK;
    default:
        return read_node(input, event, 0);
    }
}

static bool is_empty(const reader *input) {
    const tn_yaml *root = input->used > 0 ? input->stack[0] : NULL;
    return !root || (root->kind == TN_YAML_SCALAR && !root->quoted && root->text[0] == '\0');
}

static tn_status read_stream(reader *input) {
    for (bool done = false; !done;) {
        yaml_event_t event;
        TN_TRY(next_event(input, &event));
        tn_status status = read_event(input, &event, &done);
        yaml_event_delete(&event);
        TN_TRY(status);
    }
    if (is_empty(input))
        return tn_fail_at(input->error, TN_INPUT, input->start, "is empty; a YAML document is needed");
    return TN_OK;
}

/* As tn_yaml_parse; the text's first character stands at `start`. */
static tn_status yaml_parse_at(tn_position start, const char *text, size_t length, tn_arena *arena,
                               tn_yaml **root, tn_error *error) {
    reader input = {.text = text, .length = length, .start = start, .arena = arena, .error = error};
    TN_TRY(tn_arena_copy_text(arena, start.file, strlen(start.file), &input.start.file, error));
    if (length > LIMIT_BYTES)
        return tn_fail_at(error, TN_LIMIT, input.start, "YAML of %zu bytes; at most %zu are read", length,
                          LIMIT_BYTES);
    if (!yaml_parser_initialize(&input.parser)) return tn_fail(error, TN_MEMORY, "no memory to read YAML");
    yaml_parser_set_encoding(&input.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&input.parser, (const unsigned char *)text, length);
    tn_status status = read_stream(&input);
    if (status == TN_OK) *root = input.stack[0];
    yaml_parser_delete(&input.parser);
    tn_free(input.stack);
    return status;
}

tn_status tn_yaml_parse(const char *name, const char *text, size_t length, tn_arena *arena, tn_yaml **root,
                        tn_error *error) {
    return yaml_parse_at((tn_position){name, 1, 1}, text, length, arena, root, error);
}

tn_status tn_yaml_load(const char *path, tn_arena *arena, tn_yaml **root, tn_error *error) {
    char *text;
    size_t length;
    TN_TRY(tn_file_read(path, LIMIT_BYTES, &text, &length, error));
    tn_status status = tn_yaml_parse(path, text, length, arena, root, error);
    tn_free(text);
    return status;
}

tn_yaml *tn_yaml_get(const tn_yaml *mapping, const char *key) {
    if (!mapping || mapping->kind != TN_YAML_MAPPING) return NULL;
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->key[i]->text, key) == 0) return mapping->item[i];
    return NULL;
}

/* Trees back to text, by libyaml's emitter. */

static int append(void *user, unsigned char *bytes, size_t length) {
    tn_buffer *out = user;
    tn_buffer_bytes(out, bytes, length);
    return out->status == TN_OK;
}

/* Lists of plain words and numbers stay on one line, as people write them. */
static bool fits_one_line(const tn_yaml *sequence) {
    size_t length = 0;
    for (size_t i = 0; i < sequence->count; i++) {
        const tn_yaml *item = sequence->item[i];
        if (item->kind != TN_YAML_SCALAR || (item->text[0] == '\0' && !item->quoted)) return false;
        length += strlen(item->text) + 2;
    }
    return length <= 80;
}

static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int made) {
    return made && yaml_emitter_emit(emitter, event);
}

static bool emit_scalar(yaml_emitter_t *emitter, const tn_yaml *node) {
    yaml_event_t event;
    yaml_scalar_style_t style = node->quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const unsigned char *)node->text,
                                            (int)strlen(node->text), !node->quoted, 1, style);
    return emit(emitter, &event, made);
}

static bool emit_node(yaml_emitter_t *emitter, const tn_yaml *node);

static bool emit_sequence(yaml_emitter_t *emitter, const tn_yaml *node) {
    yaml_event_t event;
    yaml_sequence_style_t style = fits_one_line(node) ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
    bool good = emit(emitter, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style));
    for (size_t i = 0; i < node->count && good; i++) good = emit_node(emitter, node->item[i]);
    return good && emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static bool emit_mapping(yaml_emitter_t *emitter, const tn_yaml *node) {
    yaml_event_t event;
    int made = yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
    bool good = emit(emitter, &event, made);
    for (size_t i = 0; i < node->count && good; i++)
        good = emit_scalar(emitter, node->key[i]) && emit_node(emitter, node->item[i]);
    return good && emit(emitter, &event, yaml_mapping_end_event_initialize(&event));
}

static bool emit_node(yaml_emitter_t *emitter, const tn_yaml *node) {
    switch (node->kind) {
    case TN_YAML_SEQUENCE:
        return emit_sequence(emitter, node);
    case TN_YAML_MAPPING:
        return emit_mapping(emitter, node);
    default:
        return emit_scalar(emitter, node);
    }
}

static bool emit_document(yaml_emitter_t *emitter, const tn_yaml *root) {
    yaml_event_t event;
    return emit(emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
           emit(emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
           emit_node(emitter, root) && emit(emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
           emit(emitter, &event, yaml_stream_end_event_initialize(&event));
}

void tn_yaml_write(const tn_yaml *root, tn_buffer *out) {
    yaml_emitter_t emitter;
    if (out->status != TN_OK) return;
    if (!yaml_emitter_initialize(&emitter)) {
        out->status = TN_MEMORY;
        return;
    }
    yaml_emitter_set_output(&emitter, append, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    if (!emit_document(&emitter, root) && out->status == TN_OK)
        out->status = emitter.error == YAML_MEMORY_ERROR ? TN_MEMORY : TN_INPUT;
    yaml_emitter_delete(&emitter);
}

/* A word that no reader takes for a number, a truth value, nothing, or punctuation. */
static bool is_plain(const char *text) {
    static const char *const reserved[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./@";
    if (!text[0] || !strchr(letters, text[0]) || text[strspn(text, inside)] != '\0') return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(text, reserved[i]) == 0) return false;
    return true;
}

void tn_yaml_put(tn_buffer *out, int indent, const char *key, const char *text) {
    tn_buffer_format(out, "%*s%s: ", indent, "", key);
    if (is_plain(text))
        tn_buffer_text(out, text);
    else
        tn_json_quote(text, out); /* what JSON quotes, YAML reads */
    tn_buffer_text(out, "\n");
}

/* Changing trees: one value set by its path, one tree laid over another. */

static const char SET[] = "--set";

/* One step of a path: where it stands in the assignment, and the names that could be meant. */
typedef struct step {
    const char *name;
    tn_position position;
    tn_arena *arena;
    tn_error *error;
} step;

static tn_status no_such(const step *edit, const char *kind, const char *const *names, size_t count) {
    const char *nearest = tn_suggest(edit->name, names, count);
    if (nearest)
        return tn_fail_at(edit->error, TN_INPUT, edit->position,
                          "no %s \"%.100s\" here; did you mean \"%.100s\"?", kind, edit->name, nearest);
    return tn_fail_at(edit->error, TN_INPUT, edit->position, "no %s \"%.100s\" here", kind, edit->name);
}

static tn_status no_such_key(const step *edit, const tn_yaml *mapping) {
    const char **names;
    TN_TRY(TN_NEW(edit->arena, mapping->count, &names, edit->error));
    for (size_t i = 0; i < mapping->count; i++) names[i] = mapping->key[i]->text;
    return no_such(edit, "key", names, mapping->count);
}

static const char *name_of(const tn_yaml *item) {
    const tn_yaml *name = tn_yaml_get(item, "name");
    return name && name->kind == TN_YAML_SCALAR ? name->text : NULL;
}

static tn_status no_such_item(const step *edit, const tn_yaml *sequence) {
    const char **names;
    size_t count = 0;
    TN_TRY(TN_NEW(edit->arena, sequence->count, &names, edit->error));
    for (size_t i = 0; i < sequence->count; i++)
        if (name_of(sequence->item[i])) names[count++] = name_of(sequence->item[i]);
    return no_such(edit, "item", names, count);
}

static tn_status find_item(const step *edit, const tn_yaml *sequence, tn_yaml ***slot) {
    uint64_t position;
    for (size_t i = 0; i < sequence->count; i++) {
        const char *name = name_of(sequence->item[i]);
        if (!name || strcmp(name, edit->name) != 0) continue;
        *slot = &sequence->item[i];
        return TN_OK;
    }
    if (tn_read_count(edit->name, &position) != TN_NUMBER_OK) return no_such_item(edit, sequence);
    if (position >= sequence->count)
        return tn_fail_at(edit->error, TN_INPUT, edit->position,
                          "item %s of a list of %zu; items count from 0", edit->name, sequence->count);
    *slot = &sequence->item[position];
    return TN_OK;
}

static tn_status append_key(const step *edit, tn_yaml *mapping, tn_yaml ***slot) {
    tn_yaml **key, **item, *name;
    size_t count = mapping->count;
    TN_TRY(TN_NEW(edit->arena, count + 1, &key, edit->error));
    TN_TRY(TN_NEW(edit->arena, count + 1, &item, edit->error));
    TN_TRY(TN_NEW(edit->arena, 1, &name, edit->error));
    if (count) {
        memcpy(key, mapping->key, count * sizeof *key);
        memcpy(item, mapping->item, count * sizeof *item);
    }
    *name = (tn_yaml){.kind = TN_YAML_SCALAR, .position = edit->position, .text = edit->name};
    key[count] = name;
    mapping->key = key;
    mapping->item = item;
    mapping->count = count + 1;
    *slot = &item[count];
    return TN_OK;
}

static tn_status find_key(const step *edit, tn_yaml *mapping, bool last, tn_yaml ***slot) {
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->key[i]->text, edit->name) != 0) continue;
        *slot = &mapping->item[i];
        return TN_OK;
    }
    return last ? append_key(edit, mapping, slot) : no_such_key(edit, mapping);
}

static tn_status find_slot(const step *edit, tn_yaml *node, bool last, tn_yaml ***slot) {
    if (edit->name[0] == '\0')
        return tn_fail_at(edit->error, TN_INPUT, edit->position,
                          "empty name in the path; write KEY.KEY=VALUE");
    switch (node->kind) {
    case TN_YAML_MAPPING:
        return find_key(edit, node, last, slot);
    case TN_YAML_SEQUENCE:
        return find_item(edit, node, slot);
    default:
        return tn_fail_at(edit->error, TN_INPUT, edit->position,
                          "no key \"%.100s\" here: what stands before it is a value", edit->name);
    }
}

tn_status tn_yaml_set(tn_yaml *root, const char *assignment, tn_arena *arena, tn_error *error) {
    const char *equals = strchr(assignment, '=');
    tn_position position = {SET, 1, 1};
    if (!equals)
        return tn_fail_at(error, TN_INPUT, position, "\"%.100s\" sets nothing; write KEY=VALUE", assignment);
    tn_yaml *value, *node = root, **slot = NULL;
    position.column = (unsigned)(equals + 1 - assignment) + 1;
    TN_TRY(yaml_parse_at(position, equals + 1, strlen(equals + 1), arena, &value, error));
    for (const char *name = assignment; name <= equals;) {
        const char *end = name + strcspn(name, ".=");
        step here = {.position = {SET, 1, (unsigned)(name - assignment) + 1}, .arena = arena, .error = error};
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
    tn_position position = {SET, 1, 1};
    if (!value)
        return tn_fail_at(error, TN_INPUT, position, "\"%.100s\" sets nothing; write KEY=VALUE", assignment);
    value++;
    position.column = (unsigned)(value - assignment) + 1;
    tn_yaml *node = root;
    for (size_t i = 0; i < keys; i++) {
        step here = {.name = key[i], .position = {SET, 1, 1}, .arena = arena, .error = error};
        tn_yaml **slot;
        TN_TRY(find_slot(&here, node, true, &slot));
        if (i + 1 == keys) return yaml_parse_at(position, value, strlen(value), arena, slot, error);
        if (!*slot) {
            TN_TRY(TN_NEW(arena, 1, slot, error));
            **slot = (tn_yaml){.kind = TN_YAML_MAPPING, .position = here.position};
        }
        node = *slot;
    }
    return TN_OK;
}

static tn_status copy_tree(const tn_yaml *source, tn_arena *arena, tn_yaml **copy, tn_error *error) {
    TN_TRY(TN_NEW(arena, 1, copy, error));
    tn_yaml *node = *copy;
    *node = *source;
    if (source->kind == TN_YAML_SCALAR) return TN_OK;
    TN_TRY(TN_NEW(arena, source->count, &node->item, error));
    for (size_t i = 0; i < source->count; i++)
        TN_TRY(copy_tree(source->item[i], arena, &node->item[i], error));
    if (source->kind == TN_YAML_SEQUENCE) return TN_OK;
    TN_TRY(TN_NEW(arena, source->count, &node->key, error));
    if (source->count) memcpy(node->key, source->key, source->count * sizeof *node->key);
    return TN_OK;
}

static tn_status merge_mappings(const tn_yaml *base, const tn_yaml *override, tn_arena *arena,
                                tn_yaml **merged, tn_error *error) {
    tn_yaml *node;
    size_t most = base->count + override->count;
    TN_TRY(TN_NEW(arena, 1, &node, error));
    *node = (tn_yaml){.kind = TN_YAML_MAPPING, .position = override->position};
    TN_TRY(TN_NEW(arena, most, &node->key, error));
    TN_TRY(TN_NEW(arena, most, &node->item, error));
    for (size_t i = 0; i < base->count; i++) {
        const tn_yaml *other = tn_yaml_get(override, base->key[i]->text);
        node->key[i] = base->key[i];
        TN_TRY(other ? tn_yaml_merge(base->item[i], other, arena, &node->item[i], error)
                     : copy_tree(base->item[i], arena, &node->item[i], error));
    }
    node->count = base->count;
    for (size_t i = 0; i < override->count; i++) {
        if (tn_yaml_get(base, override->key[i]->text)) continue;
        node->key[node->count] = override->key[i];
        TN_TRY(copy_tree(override->item[i], arena, &node->item[node->count++], error));
    }
    *merged = node;
    return TN_OK;
}

tn_status tn_yaml_merge(const tn_yaml *base, const tn_yaml *override, tn_arena *arena, tn_yaml **merged,
                        tn_error *error) {
    bool mappings = base->kind == TN_YAML_MAPPING && override->kind == TN_YAML_MAPPING;
    return mappings ? merge_mappings(base, override, arena, merged, error)
                    : copy_tree(override, arena, merged, error);
}
