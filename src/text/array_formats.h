/* The NumPy array format, versions 1.0, 2.0 and 3.0 (numpy.lib.format: magic, version, length of the header,
 * header as a Python dictionary of descr, fortran_order and shape, values). Headers are limited to 64 KiB. */
#ifndef TN_TEXT_ARRAY_FORMATS_H
#define TN_TEXT_ARRAY_FORMATS_H

#include "base/buffer.h"
#include "text/array_file.h"

#define TN_NPY_MAGIC "\x93NUMPY"
enum { TN_NPY_MAGIC_BYTES = 6 };

/* Appends magic and header (version 1.0) of values in C order. */
void tn_npy_header(tn_element element, size_t axes, const uint64_t *shape, tn_buffer *out);

#endif
