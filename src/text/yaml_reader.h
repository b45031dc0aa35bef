/* Parsing YAML that begins somewhere inside another text (a --set argument, a default in a schema). */
#ifndef TN_TEXT_YAML_READER_H
#define TN_TEXT_YAML_READER_H

#include "text/yaml.h"

#endif
