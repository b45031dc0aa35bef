#include "text/yaml.h"

#include "base/file.h"
#include "base/memory.h"
#include "text/utf8.h"
#include "text/yaml_reader.h"

#include <stdlib.h>
#include <string.h>
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

static tn_position place(const reader *in, yaml_mark_t mark) {
    unsigned column = (unsigned)mark.column + 1;
    if (mark.line == 0) column += in->start.column - 1;
    return (tn_position){in->start.file, in->start.line + (unsigned)mark.line, column};
}

/* libyaml says only the byte offset of what is not readable text. */
static tn_position place_of_byte(const reader *in, size_t offset) {
    tn_position at = in->start;
    for (size_t i = 0; i < offset && i < in->length; i++) {
        if (in->text[i] == '\n') {
            at.line++;
            at.column = 1;
        } else if (((unsigned char)in->text[i] & 0xc0) != 0x80) {
            at.column++;
        }
    }
    return at;
}

/* libyaml may name a byte inside the character that is not UTF-8. */
static size_t offset_of_unreadable(const reader *in) {
    size_t offset = 0, bytes = 1, problem = in->parser.problem_offset;
    while (offset < in->length && offset < problem && bytes > 0) {
        bytes = tn_utf8_length(in->text + offset, in->length - offset);
        offset += bytes;
    }
    return offset < problem ? offset : problem;
}

/* libyaml puts the end of a text without a last line end into the next line. */
static tn_position place_of_problem(const reader *in) {
    tn_position end = place_of_byte(in, in->length), at = place(in, in->parser.problem_mark);
    return at.line > end.line ? end : at;
}

static tn_status syntax_error(const reader *in) {
    const yaml_parser_t *parser = &in->parser;
    const char *problem = parser->problem ? parser->problem : "not readable";
    if (parser->error == YAML_MEMORY_ERROR) return tn_fail(in->error, TN_MEMORY, "no memory to read YAML");
    if (parser->error == YAML_READER_ERROR)
        return tn_fail_at(in->error, TN_INPUT, place_of_byte(in, offset_of_unreadable(in)),
                          "not YAML: %s; the file must be UTF-8 text", problem);
    return tn_fail_at(in->error, TN_INPUT, place_of_problem(in), "not YAML: %s%s%s", problem,
                      parser->context ? " " : "", parser->context ? parser->context : "");
}

static tn_status next_event(reader *in, yaml_event_t *event) {
    return yaml_parser_parse(&in->parser, event) ? TN_OK : syntax_error(in);
}

static tn_status push(reader *in, tn_yaml *node) {
    TN_TRY(tn_grow(&in->stack, &in->capacity, in->used + 1, sizeof *in->stack, in->error));
    in->stack[in->used++] = node;
    return TN_OK;
}

static tn_status refuse_properties(const reader *in, const yaml_char_t *anchor, const yaml_char_t *tag,
                                   tn_position at) {
    if (anchor)
        return tn_fail_at(in->error, TN_INPUT, at,
                          "anchors and aliases (&%.50s) are not supported; write the value out",
                          (const char *)anchor);
    if (tag)
        return tn_fail_at(in->error, TN_INPUT, at, "tags (%.50s) are not supported; remove the tag",
                          (const char *)tag);
    return TN_OK;
}

static tn_status new_node(reader *in, const yaml_event_t *event, tn_yaml_kind kind, tn_yaml **node) {
    if (in->nodes++ == MOST_NODES)
        return tn_fail_at(in->error, TN_LIMIT, place(in, event->start_mark),
                          "more than %d values and keys; split the file", (int)MOST_NODES);
    TN_TRY(tn_arena_alloc(in->arena, 1, sizeof **node, node, in->error));
    (*node)->kind = kind;
    (*node)->at = place(in, event->start_mark);
    return TN_OK;
}

static tn_status read_scalar(reader *in, const yaml_event_t *event) {
    tn_yaml *node;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    TN_TRY(new_node(in, event, TN_YAML_SCALAR, &node));
    TN_TRY(refuse_properties(in, event->data.scalar.anchor, event->data.scalar.tag, node->at));
    if (memchr(text, '\0', length))
        return tn_fail_at(in->error, TN_INPUT, node->at, "text with a NUL character in it; remove the \\0");
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || memchr(text, '\n', length);
    TN_TRY(tn_arena_copy_text(in->arena, text, length, &node->text, in->error));
    return push(in, node);
}

/* A mapping's pairs as they lie on the stack: key, value, key, value. */
static tn_status fill_mapping(reader *in, tn_yaml *node, tn_yaml *const *pairs, size_t count) {
    node->count = count / 2;
    TN_TRY(tn_arena_alloc(in->arena, node->count, sizeof *node->key, &node->key, in->error));
    TN_TRY(tn_arena_alloc(in->arena, node->count, sizeof *node->item, &node->item, in->error));
    for (size_t i = 0; i < node->count; i++) {
        const tn_yaml *key = pairs[2 * i];
        if (key->kind != TN_YAML_SCALAR)
            return tn_fail_at(in->error, TN_INPUT, key->at,
                              "a key that is a list or mapping; a key is one word");
        if (key->text[0] == '\0')
            return tn_fail_at(in->error, TN_INPUT, key->at, "a value without a key; write KEY: VALUE");
        node->key[i] = pairs[2 * i];
        node->item[i] = pairs[2 * i + 1];
    }
    return TN_OK;
}

static int by_text(const void *a, const void *b) {
    const tn_yaml *x = *(tn_yaml *const *)a, *y = *(tn_yaml *const *)b;
    int order = strcmp(x->text, y->text);
    if (order) return order;
    if (x->at.line != y->at.line) return x->at.line < y->at.line ? -1 : 1;
    return (x->at.column > y->at.column) - (x->at.column < y->at.column);
}

static tn_status refuse_duplicates(const reader *in, const tn_yaml *node) {
    tn_yaml **sorted;
    TN_TRY(tn_alloc(node->count, sizeof *sorted, &sorted, in->error));
    if (node->count) memcpy(sorted, node->key, node->count * sizeof *sorted);
    qsort(sorted, node->count, sizeof *sorted, by_text);
    tn_status status = TN_OK;
    for (size_t i = 1; i < node->count && status == TN_OK; i++)
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0)
            status = tn_fail_at(in->error, TN_INPUT, sorted[i]->at,
                                "key \"%.100s\" stands twice, first in line %u; keep one of them",
                                sorted[i]->text, sorted[i - 1]->at.line);
    tn_free(sorted);
    return status;
}

static tn_status read_node(reader *in, const yaml_event_t *event, int level);

static tn_status read_children(reader *in, int level) {
    for (;;) {
        yaml_event_t event;
        TN_TRY(next_event(in, &event));
        bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        tn_status status = end ? TN_OK : read_node(in, &event, level + 1);
        yaml_event_delete(&event);
        if (end || status != TN_OK) return status;
    }
}

static tn_status read_collection(reader *in, const yaml_event_t *event, int level) {
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    tn_yaml *node;
    TN_TRY(new_node(in, event, mapping ? TN_YAML_MAPPING : TN_YAML_SEQUENCE, &node));
    TN_TRY(mapping ? refuse_properties(in, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                                       node->at)
                   : refuse_properties(in, event->data.sequence_start.anchor, event->data.sequence_start.tag,
                                       node->at));
    if (level >= MOST_LEVELS)
        return tn_fail_at(in->error, TN_LIMIT, node->at, "nested deeper than %d levels", MOST_LEVELS);
    size_t base = in->used;
    TN_TRY(read_children(in, level));
    size_t count = in->used - base;
    tn_yaml *const *children = count ? in->stack + base : NULL;
    in->used = base;
    if (mapping) {
        TN_TRY(fill_mapping(in, node, children, count));
        TN_TRY(refuse_duplicates(in, node));
    } else {
        TN_TRY(tn_arena_alloc(in->arena, count, sizeof *node->item, &node->item, in->error));
        if (count) memcpy(node->item, children, count * sizeof *node->item);
        node->count = count;
    }
    return push(in, node);
}

static tn_status read_node(reader *in, const yaml_event_t *event, int level) {
    if (event->type == YAML_ALIAS_EVENT)
        return tn_fail_at(in->error, TN_INPUT, place(in, event->start_mark),
                          "anchors and aliases (*%.50s) are not supported; write the value out",
                          (const char *)event->data.alias.anchor);
    if (event->type == YAML_SCALAR_EVENT) return read_scalar(in, event);
    return read_collection(in, event, level);
}

/* One event outside the document's content; *done at the end of the stream. */
static tn_status read_event(reader *in, const yaml_event_t *event, bool *done) {
    switch (event->type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return TN_OK;
    case YAML_STREAM_END_EVENT:
        *done = true;
        return TN_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (in->used > 0)
            return tn_fail_at(in->error, TN_INPUT, place(in, event->start_mark),
                              "a second document begins; a file holds one");
        if (event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
            return tn_fail_at(in->error, TN_INPUT, place(in, event->start_mark),
                              "tags (%%TAG) are not supported; remove the line");
        return TN_OK;
    default:
        return read_node(in, event, 0);
    }
}

static bool is_empty(const reader *in) {
    const tn_yaml *root = in->used > 0 ? in->stack[0] : NULL;
    return !root || (root->kind == TN_YAML_SCALAR && !root->quoted && root->text[0] == '\0');
}

static tn_status read_stream(reader *in) {
    for (bool done = false; !done;) {
        yaml_event_t event;
        TN_TRY(next_event(in, &event));
        tn_status status = read_event(in, &event, &done);
        yaml_event_delete(&event);
        TN_TRY(status);
    }
    if (is_empty(in))
        return tn_fail_at(in->error, TN_INPUT, in->start, "is empty; a YAML document is needed");
    return TN_OK;
}

tn_status tn_yaml_parse_at(tn_position start, const char *text, size_t length, tn_arena *arena,
                           tn_yaml **root, tn_error *error) {
    reader in = {.text = text, .length = length, .start = start, .arena = arena, .error = error};
    TN_TRY(tn_arena_copy_text(arena, start.file, strlen(start.file), &in.start.file, error));
    if (length > LIMIT_BYTES)
        return tn_fail_at(error, TN_LIMIT, in.start, "YAML of %zu bytes; at most %zu are read", length,
                          LIMIT_BYTES);
    if (!yaml_parser_initialize(&in.parser)) return tn_fail(error, TN_MEMORY, "no memory to read YAML");
    yaml_parser_set_encoding(&in.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)text, length);
    tn_status status = read_stream(&in);
    if (status == TN_OK) *root = in.stack[0];
    yaml_parser_delete(&in.parser);
    tn_free(in.stack);
    return status;
}

tn_status tn_yaml_parse(const char *name, const char *text, size_t length, tn_arena *arena, tn_yaml **root,
                        tn_error *error) {
    return tn_yaml_parse_at((tn_position){name, 1, 1}, text, length, arena, root, error);
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
