/* Reads XML as a tool's reports have it, event by event: elements, attributes and text; entities of the five names and of
 * numbers. Comments, instructions and a document type without declarations are passed over, CDATA is text. Namespaces and
 * declarations of entities are not read. Every error is TN_INPUT with file, line and column. */
#ifndef TN_TEXT_XML_H
#define TN_TEXT_XML_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>

enum { TN_XML_DEPTH_MOST = 256, TN_XML_ATTRIBUTES_MOST = 64 };

typedef enum tn_xml_kind {
    TN_XML_OPEN,
    TN_XML_CLOSE,
    TN_XML_TEXT, /* between two tags; none where there is only white space */
    TN_XML_END,  /* of the document, whose one element is closed */
} tn_xml_kind;

typedef struct tn_xml_attribute {
    const char *name, *value;
} tn_xml_attribute;

typedef struct tn_xml_event {
    tn_xml_kind kind;
    const char *text; /* of OPEN and CLOSE the element's name */
    tn_position position;
    size_t attributes;
    tn_xml_attribute attribute[TN_XML_ATTRIBUTES_MOST];
} tn_xml_event;

typedef struct tn_xml {
    const char *cursor, *end;
    tn_position position; /* of the cursor */
    tn_arena *arena;      /* of names and texts */
    size_t depth, roots;
    const char *open[TN_XML_DEPTH_MOST];
    const char *closing; /* of an element without content, whose CLOSE comes next */
} tn_xml;

/* Of `length` bytes; `file` is for messages. Bytes and arena must outlive the reader. */
void tn_xml_begin(tn_xml *xml, const char *file, const char *bytes, size_t length, tn_arena *arena);
tn_status tn_xml_next(tn_xml *xml, tn_xml_event *event, tn_error *error);
/* NULL: the element has none of that name. */
const char *tn_xml_attribute_of(const tn_xml_event *event, const char *name);

#endif
