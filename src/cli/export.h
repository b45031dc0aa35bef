/* What `tenfold export` writes: a design for whoever builds it. */
#ifndef TN_CLI_EXPORT_H
#define TN_CLI_EXPORT_H

#include "base/buffer.h"
#include "design/handover.h"

typedef struct tn_export {
    const tn_handover *design;
    const tn_build *build;
    const char *title;   /* "design 12 of space atis" or the model's name */
    const char *choices; /* "weights.square.rank=12 build.rows=4"; "": none */
    double clock_MHz;
} tn_export;

/* design.json (docs/export.md), design.h, memories.h with HLS pragmas, paths.json. */
void tn_export_json(const tn_export *exported, tn_buffer *out);
void tn_export_header(const tn_export *exported, tn_buffer *out);
void tn_export_pragmas(const tn_export *exported, tn_buffer *out);

#endif
