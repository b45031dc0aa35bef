#include "tensor/einsum.h"

#include "base/buffer.h"

#include "text/number.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NO_INDEX UINT32_MAX

enum { TABLE_BITS = 13 };
_Static_assert((1 << TABLE_BITS) >= 2 * TN_INDICES_MOST, "the table of characters stays at most half full");

/* A text being read, character by character. */
typedef struct reader {
    const char *text;
    size_t length; /* bytes of the character at `text`; 0: not UTF-8 */
    tn_position position;
    tn_error *error;
} reader;

static void look(reader *r) {
    r->length = *r->text ? tn_utf8_length(r->text, strlen(r->text) < 4 ? strlen(r->text) : 4) : 0;
}

static void step(reader *r) {
    r->text += r->length;
    r->position.column++;
    look(r);
}

static reader read_from(const char *text, tn_position position, tn_error *error) {
    reader r = {.text = text, .position = position, .error = error};
    if (r.position.line == 0) r.position.line = 1;
    if (r.position.column == 0) r.position.column = 1;
    look(&r);
    return r;
}

static void skip_blanks(reader *r) {
    while (*r->text == ' ' || *r->text == '\t') step(r);
}

static bool is_index(const reader *r) {
    char c = *r->text;
    return r->length > 1 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static tn_status unexpected(const reader *r, const char *wanted) {
    if (*r->text == '\0')
        return tn_fail_at(r->error, TN_INPUT, r->position, "the text ends here; %s", wanted);
    if (r->length == 0)
        return tn_fail_at(r->error, TN_INPUT, r->position, "a byte that is not UTF-8 text; %s", wanted);
    if ((unsigned char)*r->text < 0x20 || *r->text == 0x7f)
        return tn_fail_at(r->error, TN_INPUT, r->position, "a control character; %s", wanted);
    return tn_fail_at(r->error, TN_INPUT, r->position, "unexpected '%.*s'; %s", (int)r->length, r->text,
                      wanted);
}

/* The network under construction and its table from characters to indices. */
typedef struct parser {
    reader input;
    tn_arena *arena;
    tn_network *network;
    uint32_t *table; /* index + 1 by hash of the character, open addressing */
    uint32_t *uses;  /* [TN_INDICES_MOST] tensors that carry each index */
    uint32_t *last;  /* [TN_INDICES_MOST] list (tensor + 1; 0 none) where each index was seen last */
} parser;

static uint32_t hash(const char *character, size_t length) {
    uint32_t value = 0;
    for (size_t i = 0; i < length; i++) value = value * 131 + (unsigned char)character[i];
    return (value * 2654435761u) >> (32 - TABLE_BITS);
}

/* Place in the table of the character, or of the free entry that it would take. */
static uint32_t *find_index(const tn_network *network, uint32_t *table, const char *character,
                            size_t length) {
    uint32_t slot = hash(character, length);
    for (;; slot = (slot + 1) & ((1u << TABLE_BITS) - 1)) {
        if (!table[slot]) return &table[slot];
        const char *name = network->index_name[table[slot] - 1];
        if (strlen(name) == length && memcmp(name, character, length) == 0) return &table[slot];
    }
}

static tn_status read_index(parser *p, uint32_t *index) {
    tn_network *network = p->network;
    uint32_t *entry = find_index(network, p->table, p->input.text, p->input.length);
    if (!*entry) {
        if (network->indices == TN_INDICES_MOST)
            return tn_fail_at(p->input.error, TN_LIMIT, p->input.position, "more than %d different indices",
                              TN_INDICES_MOST);
        TN_TRY(tn_arena_copy_text(p->arena, p->input.text, p->input.length,
                                  &network->index_name[network->indices], p->input.error));
        *entry = ++network->indices;
    }
    *index = *entry - 1;
    return TN_OK;
}

/* Bytes up to the next comma or arrow: no list has more indices. */
static size_t bytes_of_list(const char *text) {
    return strcspn(text, ",-");
}

/* Reads the indices of one tensor (number `list` - 1) or of the output (list = tensors + 1). */
static tn_status read_list(parser *p, uint32_t list, tn_indices *indices) {
    bool output = list > p->network->tensors;
    indices->count = 0;
    TN_TRY(TN_NEW(p->arena, bytes_of_list(p->input.text), &indices->index, p->input.error));
    for (skip_blanks(&p->input); is_index(&p->input); step(&p->input), skip_blanks(&p->input)) {
        uint32_t index = 0, known = p->network->indices;
        TN_TRY(read_index(p, &index));
        int length = (int)p->input.length;
        if (output && index >= known)
            return tn_fail_at(p->input.error, TN_INPUT, p->input.position,
                              "the output has index '%.*s', which no tensor has", length, p->input.text);
        if (p->last[index] == list)
            return tn_fail_at(p->input.error, TN_INPUT, p->input.position,
                              "index '%.*s' occurs twice on one tensor; a diagonal must be taken before",
                              length, p->input.text);
        p->last[index] = list;
        p->uses[index]++;
        indices->index[indices->count++] = index;
    }
    if (*p->input.text == '.')
        return tn_fail_at(p->input.error, TN_INPUT, p->input.position,
                          "an ellipsis is not read; write its indices out");
    return TN_OK;
}

static tn_status read_tensors(parser *p) {
    tn_network *network = p->network;
    for (;;) {
        if (network->tensors == TN_TENSORS_MOST)
            return tn_fail_at(p->input.error, TN_LIMIT, p->input.position, "more than %d tensors",
                              TN_TENSORS_MOST);
        uint32_t t = network->tensors++;
        TN_TRY(read_list(p, t + 1, &network->tensor[t]));
        if (*p->input.text != ',') return TN_OK;
        step(&p->input);
    }
}

/* Code points order as their UTF-8 bytes do. */
static void sort_by_name(const tn_network *network, tn_indices *indices) {
    for (uint32_t i = 1; i < indices->count; i++) {
        uint32_t index = indices->index[i], place = i;
        const char *name = network->index_name[index];
        while (place && strcmp(network->index_name[indices->index[place - 1]], name) > 0) {
            indices->index[place] = indices->index[place - 1];
            place--;
        }
        indices->index[place] = index;
    }
}

/* Every index that occurs just once. */
static tn_status implied_output(parser *p) {
    tn_network *network = p->network;
    TN_TRY(TN_NEW(p->arena, network->indices, &network->output.index, p->input.error));
    for (uint32_t i = 0; i < network->indices; i++)
        if (p->uses[i] == 1) network->output.index[network->output.count++] = i;
    sort_by_name(network, &network->output);
    return TN_OK;
}

static tn_status read_output(parser *p) {
    if (*p->input.text == '\0') return implied_output(p);
    if (p->input.text[0] != '-' || p->input.text[1] != '>')
        return unexpected(&p->input,
                          "an index is a letter, tensors are separated by ',', the output follows '->'");
    step(&p->input);
    step(&p->input);
    TN_TRY(read_list(p, p->network->tensors + 1, &p->network->output));
    if (*p->input.text) return unexpected(&p->input, "the output is the last and consists of letters");
    return TN_OK;
}

static tn_status name_tensors(parser *p) {
    tn_network *network = p->network;
    for (uint32_t t = 0; t < network->tensors; t++) {
        tn_indices indices = network->tensor[t];
        tn_buffer name = {0};
        tn_buffer_bytes(&name, "", 0);
        for (uint32_t i = 0; i < indices.count; i++)
            tn_buffer_text(&name, network->index_name[indices.index[i]]);
        tn_status status = name.status;
        if (status == TN_OK)
            status =
                tn_arena_copy_text(p->arena, name.length ? name.data : "1", name.length ? name.length : 1,
                                   &network->tensor_name[t], p->input.error);
        else
            tn_fail(p->input.error, status, "no memory for the name of a tensor");
        tn_buffer_free(&name);
        TN_TRY(status);
    }
    return TN_OK;
}

tn_status tn_einsum_parse(const char *expression, tn_position position, tn_arena *arena, tn_network *network,
                          tn_error *error) {
    parser p = {.input = read_from(expression, position, error), .arena = arena, .network = network};
    *network = (tn_network){0};
    TN_TRY(TN_NEW(arena, (size_t)1 << TABLE_BITS, &p.table, error));
    TN_TRY(TN_NEW(arena, TN_INDICES_MOST, &p.uses, error));
    TN_TRY(TN_NEW(arena, TN_INDICES_MOST, &p.last, error));
    TN_TRY(TN_NEW(arena, TN_INDICES_MOST, &network->index_name, error));
    TN_TRY(TN_NEW(arena, TN_TENSORS_MOST, &network->tensor, error));
    TN_TRY(TN_NEW(arena, TN_TENSORS_MOST, &network->tensor_name, error));
    skip_blanks(&p.input);
    if (*p.input.text == '\0') return unexpected(&p.input, "an einsum looks like ab,bc->ac");
    TN_TRY(read_tensors(&p));
    TN_TRY(read_output(&p));
    TN_TRY(TN_NEW(arena, network->indices, &network->index_size, error));
    return name_tensors(&p);
}

/* ---- sizes ---- */

static uint32_t index_of(const tn_network *network, const char *name, size_t length) {
    for (uint32_t i = 0; i < network->indices; i++)
        if (strlen(network->index_name[i]) == length && memcmp(network->index_name[i], name, length) == 0)
            return i;
    return NO_INDEX;
}

static tn_status set_size(tn_network *network, const char *name, size_t length, uint64_t size,
                          tn_position position, tn_error *error) {
    uint32_t index = index_of(network, name, length);
    int shown = length > 40 ? 40 : (int)length;
    if (index == NO_INDEX)
        return tn_fail_at(error, TN_INPUT, position, "a size for '%.*s', which is no index of the network",
                          shown, name);
    if (size == 0)
        return tn_fail_at(error, TN_INPUT, position, "the size of '%.*s' is 0; a size is at least 1", shown,
                          name);
    if (network->index_size[index])
        return tn_fail_at(error, TN_INPUT, position, "the size of '%.*s' is given twice", shown, name);
    network->index_size[index] = size;
    return TN_OK;
}

tn_status tn_einsum_sized(const tn_network *network, tn_position position, tn_error *error) {
    for (uint32_t i = 0; i < network->indices; i++)
        if (network->index_size[i] == 0)
            return tn_fail_at(error, TN_INPUT, position, "index '%s' has no size; add %s=SIZE",
                              network->index_name[i], network->index_name[i]);
    return TN_OK;
}

tn_status tn_einsum_size(const char *name, uint64_t size, tn_position position, tn_network *network,
                         tn_error *error) {
    return set_size(network, name, strlen(name), size, position, error);
}

/* The number at the reader, up to the next comma. */
static tn_status read_size(reader *r, uint64_t *size) {
    char digits[40];
    size_t count = 0;
    tn_position position = r->position;
    for (; *r->text && *r->text != ',' && r->length; step(r)) {
        if (*r->text == ' ') continue;
        if (count + 1 == sizeof digits)
            return tn_fail_at(r->error, TN_INPUT, position,
                              "a size of more than %zu digits; it must be 1 to 2^64 - 1", count);
        digits[count++] = r->length == 1 ? *r->text : '?';
    }
    digits[count] = '\0';
    switch (tn_read_count(digits, size)) {
    case TN_NUMBER_OK:
        return TN_OK;
    case TN_NUMBER_RANGE:
        return tn_fail_at(r->error, TN_INPUT, position, "a size of %s; it must be 1 to 2^64 - 1", digits);
    default:
        return tn_fail_at(r->error, TN_INPUT, position, "a size must be a whole number, as in a=32,b=8");
    }
}

tn_status tn_einsum_sizes(const char *sizes, tn_position position, tn_network *network, tn_error *error) {
    reader r = read_from(sizes, position, error);
    skip_blanks(&r);
    while (*r.text) {
        const char *name = r.text;
        size_t length = r.length;
        tn_position where = r.position;
        uint64_t size = 0;
        if (!is_index(&r)) return unexpected(&r, "sizes look like a=32,b=8");
        step(&r);
        skip_blanks(&r);
        if (*r.text != '=')
            return unexpected(&r, "an index is one character and '=' follows, as in a=32,b=8");
        step(&r);
        TN_TRY(read_size(&r, &size));
        TN_TRY(set_size(network, name, length, size, where, error));
        if (*r.text == ',') {
            step(&r);
            skip_blanks(&r);
            if (*r.text == '\0') return unexpected(&r, "another size must follow the comma");
        } else if (*r.text) {
            return unexpected(&r, "sizes look like a=32,b=8");
        }
    }
    return tn_einsum_sized(network, read_from(sizes, position, error).position, error);
}

static tn_status json_size(const char *key, json_t *value, tn_position position, tn_network *network,
                           tn_error *error) {
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return tn_fail_at(error, TN_INPUT, position,
                          "the size of '%.40s' must be a whole number of 1 to 2^63 - 1", key);
    return set_size(network, key, strlen(key), (uint64_t)json_integer_value(value), position, error);
}

tn_status tn_einsum_json_sizes(const char *json, tn_position position, tn_network *network, tn_error *error) {
    json_error_t problem;
    tn_position start = read_from(json, position, error).position;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return tn_fail_at(error, TN_INPUT, start,
                          "the sizes are not JSON (%.100s); they look like {\"a\": 32}", problem.text);
    tn_status status = TN_OK;
    if (!json_is_object(root))
        status = tn_fail_at(error, TN_INPUT, start, "the sizes must be a JSON object such as {\"a\": 32}");
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (status == TN_OK) status = json_size(key, value, start, network, error);
    }
    json_decref(root);
    TN_TRY(status);
    return tn_einsum_sized(network, start, error);
}
