/* Trees back to text, by libyaml's emitter. */
#include "base/buffer.h"
#include "text/json.h"
#include "text/yaml.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

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
