/* What the formats behind text/arrays.h share: a list of entries, each a span of the file with a type, a
 * shape and an order. */
#ifndef TN_TEXT_ARRAY_FILE_H
#define TN_TEXT_ARRAY_FILE_H

#include "base/memory.h"
#include "text/arrays.h"
#include "text/byte_stream.h"
#include "text/element.h"

#include <stdbool.h>

typedef struct tn_array_entry {
    tn_array_info info;
    tn_element element;
    bool big_endian;
    bool fortran_order; /* the first axis is the fastest */
    tn_byte_span span;
    const tn_byte_source *source; /* NULL: that of the file */
    uint64_t values_offset;       /* in the span, as read */
} tn_array_entry;

struct tn_arrays {
    tn_byte_source source;
    tn_arena arena; /* names and entries */
    tn_array_entry *entry;
    size_t count;
    bool takes_integers; /* a .npy file of them opens */
    bool without_values; /* arrays were declared, and can't be read */
    tn_arrays **shard;   /* files of arrays that an index names, opened */
    size_t shards;
    tn_byte_source **companion; /* files that hold values of this one, opened */
    size_t besides;
    const struct tn_onnx *graph; /* of an ONNX file (text/onnx.h) */
};

/* info.elements from info.shape; TN_OVERFLOW where they or their bytes don't fit 64 bits. *bytes = 0 for
 * TN_ELEMENT_OTHER. */
tn_status tn_array_size(const tn_byte_source *source, tn_array_entry *entry, uint64_t *bytes,
                        tn_error *error);
/* Names must be distinct. */
tn_status tn_array_names(const tn_arrays *arrays, tn_error *error);

/* Opens a file that an index names, which is no index itself. */
typedef tn_status tn_array_part_opener(const char *path, tn_arrays **part, tn_error *error);

/* Each fills entries from the open source. */
tn_status tn_safetensors_open(tn_arrays *arrays, tn_error *error);
tn_status tn_shards_open(tn_arrays *arrays, tn_array_part_opener *open_part, tn_error *error);
tn_status tn_onnx_open(tn_arrays *arrays, tn_error *error);

#endif
