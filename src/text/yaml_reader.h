/* Parsing YAML that begins somewhere inside another text (a --set argument, a default in a schema). */
#ifndef TN_TEXT_YAML_READER_H
#define TN_TEXT_YAML_READER_H

#include "text/yaml.h"

/* As tn_yaml_parse; the text's first character stands at `start`. */
tn_status tn_yaml_parse_at(tn_position start, const char *text, size_t length, tn_arena *arena,
                           tn_yaml **root, tn_error *error);

#endif
