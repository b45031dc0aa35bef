#include "cli/output.h"

#include <stdio.h>

tn_status tn_output(tn_buffer *out, tn_error *error) {
    tn_status status = out->status;
    if (status != TN_OK)
        tn_fail(error, status, "no memory for the answer");
    else if (out->length)
        fwrite(out->data, 1, out->length, stdout); /* a failed write shows when main flushes */
    tn_buffer_free(out);
    return status;
}
