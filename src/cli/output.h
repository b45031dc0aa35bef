/* Finished texts to standard output. */
#ifndef TN_CLI_OUTPUT_H
#define TN_CLI_OUTPUT_H

#include "base/buffer.h"

/* Prints and frees the buffer; a buffer that ran out of memory prints nothing and is that failure. */
tn_status tn_output(tn_buffer *out, tn_error *error);

#endif
