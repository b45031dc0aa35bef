/* design.json, and the same as constants of C. */
#include "cli/export.h"
#include "model/operation.h"
#include "text/json.h"
#include "text/record.h"

#include <inttypes.h>
#include <string.h>

/* ---- design.json ---- */

static const tn_column blocks_columns[] = {
    TN_COLUMN(tn_blocks, bram18, NULL),
    TN_COLUMN(tn_blocks, bram36, NULL),
    TN_COLUMN(tn_blocks, uram, NULL),
    TN_COLUMN(tn_blocks, lutram, NULL),
};
static const tn_record blocks_record = TN_RECORD(tn_blocks, blocks_columns);

static const tn_column memory_columns[] = {
    TN_COLUMN(tn_handed_memory, name, NULL),
    TN_COLUMN(tn_handed_memory, holds, NULL),
    TN_NAME("style", tn_handed_memory, style, tn_memory_style_names, NULL),
    TN_NAME("split", tn_handed_memory, split, tn_array_split_names, NULL),
    TN_COLUMN(tn_handed_memory, staging, NULL),
    TN_COLUMN(tn_handed_memory, banks, NULL),
    TN_COLUMN(tn_handed_memory, width_bits, NULL),
    TN_COLUMN(tn_handed_memory, depth, NULL),
    TN_COLUMN(tn_handed_memory, row_elements, NULL),
    TN_COLUMN(tn_handed_memory, read_ports, NULL),
    TN_OBJECT("blocks", tn_handed_memory, blocks, blocks_record, NULL),
};
static const tn_record memory_record = TN_RECORD(tn_handed_memory, memory_columns);

static void put_searched(const tn_array_layout *layout, tn_json *json) {
    tn_json_key(json, "axes");
    tn_json_row(json);
    for (uint32_t k = 0; k < layout->axes; k++) tn_json_text(json, layout->axis[k]);
    tn_json_end(json);
    tn_json_put_counts(json, "size", layout->size, layout->axes);
    tn_json_put_counts(json, "word", layout->word, layout->axes);
    tn_json_put_counts(json, "skew", layout->skew, layout->axes);
    tn_json_put_counts(json, "divide", layout->divide, layout->axes);
    tn_json_put_counts(json, "turn", layout->turn, layout->axes);
    tn_json_put_count(json, "slices", layout->slices);
    tn_json_put_count(json, "padded_elements", layout->padded_elements);
}

/* Where every element lies: design/array_layout.h says how; with ideal layouts element e, in C order of the shape, in
 * row offset + e / row_elements, in bank (e mod row_elements) / word_elements, at what remains within the word. */
static void put_layout(const tn_export *exported, const tn_handed_array *a, tn_json *json) {
    tn_json_key(json, "layout");
    if (a->memory == TN_HANDED_NONE) {
        tn_json_null(json);
        return;
    }
    const tn_handed_memory *m = &exported->design->memory[a->memory];
    uint64_t banks = a->layout ? a->layout->banks : m->banks;
    tn_json_object(json);
    tn_json_put_text(json, "order", a->layout ? "words" : "C");
    if (a->layout) put_searched(a->layout, json);
    tn_json_put_count(json, "row_elements", m->row_elements);
    tn_json_put_count(json, "word_elements", m->row_elements / banks);
    tn_json_put_count(json, "banks", banks);
    tn_json_put_count(json, "rows", a->rows);
    tn_json_end(json);
}

static void put_array(const tn_export *exported, uint32_t i, tn_json *json) {
    const tn_handed_array *a = &exported->design->array[i];
    tn_json_object(json);
    tn_json_put_text(json, "tensor", a->name);
    tn_json_put_text(json, "role", a->role);
    tn_json_put_count(json, "elements", a->elements);
    tn_json_put_counts(json, "shape", a->shape, a->axes);
    tn_json_key(json, "axes");
    tn_json_row(json);
    for (uint32_t k = 0; k < a->axes; k++) tn_json_text(json, a->axis[k]);
    tn_json_end(json);
    if (a->memory == TN_HANDED_NONE) {
        tn_json_put_text(json, "memory", NULL);
        tn_json_put_text(json, "bank", NULL);
        tn_json_put_text(json, "offset", NULL);
    } else {
        const uint64_t banks[] = {0, exported->design->memory[a->memory].banks - 1};
        tn_json_put_text(json, "memory", exported->design->memory[a->memory].name);
        tn_json_put_counts(json, "bank", banks, 2);
        tn_json_put_count(json, "offset", a->offset);
    }
    tn_json_key(json, "lifetime");
    tn_json_row(json);
    tn_json_count(json, a->first);
    if (a->last == UINT32_MAX)
        tn_json_null(json);
    else
        tn_json_count(json, a->last);
    tn_json_end(json);
    put_layout(exported, a, json);
    tn_json_end(json);
}

static void put_places(const char *key, const uint32_t *place, uint32_t count, tn_json *json) {
    tn_json_key(json, key);
    tn_json_row(json);
    for (uint32_t i = 0; i < count; i++) tn_json_count(json, place[i]);
    tn_json_end(json);
}

/* What a product does as it writes: kinds, what an addition adds and where what it begins with is kept, as places in
 * `reads` and `writes`. */
static void put_fused(const tn_operation *operation, tn_json *json) {
    tn_json_key(json, "fused");
    tn_json_array(json);
    for (uint32_t i = 0; i < operation->fused_count; i++) {
        const tn_fused *fused = &operation->fused[i];
        tn_json_object(json);
        tn_json_put_text(json, "kind", tn_operation_rows[fused->kind].name);
        if (fused->read != UINT32_MAX) tn_json_put_count(json, "read", fused->read);
        if (fused->keeps) tn_json_put_count(json, "kept", 1);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_operation(const tn_handed_operation *o, tn_json *json) {
    const tn_operation *operation = o->operation;
    tn_json_object(json);
    tn_json_put_text(json, "layer", o->name);
    tn_json_put_text(json, "kind", o->kind);
    tn_json_put_text(json, "phase", o->phase);
    tn_json_put_text(json, "kernel", o->kernel);
    tn_json_key(json, "bounds");
    tn_json_object(json);
    tn_json_put_count(json, "batch", operation->batch);
    tn_json_put_count(json, "rows", operation->rows);
    tn_json_put_count(json, "columns", operation->columns);
    tn_json_put_count(json, "reduction", operation->reduction);
    tn_json_end(json);
    put_fused(operation, json);
    put_places("reads", operation->reads, operation->read_count, json);
    put_places("writes", operation->writes, operation->write_count, json);
    put_places("waits", operation->after, operation->after_count, json);
    tn_json_put_count(json, "start", o->start);
    tn_json_put_count(json, "finish", o->finish);
    tn_json_put_bool(json, "critical", o->critical);
    tn_json_end(json);
}

static void put_kernels(const tn_export *exported, tn_json *json) {
    const tn_explanation *why = exported->design->why;
    tn_json_key(json, "kernels");
    tn_json_array(json);
    for (uint32_t i = 0; i < why->kernels; i++) {
        tn_json_object(json);
        tn_json_put_text(json, "name", why->kernel[i].name);
        tn_json_put_count(json, "count", why->kernel[i].count);
        tn_json_put_count(json, "lanes", why->kernel[i].lanes);
        tn_json_put_count(json, "lut", why->kernel[i].used.lut);
        tn_json_put_count(json, "ff", why->kernel[i].used.ff);
        tn_json_put_count(json, "dsp", why->kernel[i].used.dsp);
        tn_json_end(json);
    }
    tn_json_end(json);
}

void tn_export_json(const tn_export *exported, tn_buffer *out) {
    const tn_handover *d = exported->design;
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    tn_json_put_text(&json, "schema", "tenfold-design-1");
    tn_json_put_text(&json, "tenfold", TENFOLD_VERSION);
    tn_json_put_text(&json, "design", exported->title);
    tn_json_put_text(&json, "choices", exported->choices);
    tn_json_put_text(&json, "model", d->step->name);
    tn_json_put_text(&json, "device", d->why->device);
    tn_json_put_real(&json, "clock_MHz", exported->clock_MHz);
    tn_json_put_text(&json, "precision", d->step->precision);
    tn_json_put_count(&json, "element_bits", d->element_bits);
    tn_json_put_count(&json, "cycles_per_step", d->why->price.cycles_per_step);
    tn_json_key(&json, "kernel_edges");
    tn_json_object(&json);
    tn_json_put_count(&json, "rows", exported->build->rows);
    tn_json_put_count(&json, "columns", exported->build->columns);
    tn_json_put_count(&json, "reduction", exported->build->reduction);
    tn_json_put_count(&json, "vector", exported->build->vector);
    tn_json_end(&json);
    put_kernels(exported, &json);
    tn_json_key(&json, "memories");
    tn_record_rows(&memory_record, d->memory, d->memories, &json);
    tn_json_key(&json, "arrays");
    tn_json_array(&json);
    for (uint32_t i = 0; i < d->arrays; i++) put_array(exported, i, &json);
    tn_json_end(&json);
    tn_json_key(&json, "operations");
    tn_json_array(&json);
    for (uint32_t i = 0; i < d->operations; i++) put_operation(&d->operation[i], &json);
    tn_json_end(&json);
    tn_json_end(&json);
}

/* ---- design.h ---- */

/* The places of all operands one behind the other: an operation has where its own begin. */
static void put_list(const tn_export *exported, const char *name, int which, tn_buffer *out) {
    uint64_t count = 0;
    tn_buffer_format(out, "static const uint32_t tenfold_%s[] = {", name);
    for (uint32_t i = 0; i < exported->design->operations; i++) {
        const tn_operation *o = exported->design->operation[i].operation;
        const uint32_t *list[] = {o->reads, o->writes, o->after};
        const uint32_t length[] = {o->read_count, o->write_count, o->after_count};
        for (uint32_t k = 0; k < length[which]; k++)
            tn_buffer_format(out, "%s%" PRIu32, count++ ? ", " : "", list[which][k]);
    }
    tn_buffer_text(out, count ? "};\n" : "0};\n"); /* C has no empty arrays */
}

static void put_header_types(tn_buffer *out) {
    tn_buffer_text(
        out, "typedef struct {\n    const char *name, *style;\n    uint64_t banks, width_bits, depth, "
             "row_elements;\n"
             "    uint32_t bram18, bram36, uram, lutram;\n} tenfold_memory;\n\n"
             "/* memory: place in tenfold_memories, or TENFOLD_OFF_CHIP. offset, rows: of that memory. "
             "first, last: operations. */\n"
             "typedef struct {\n    const char *tensor;\n    uint32_t memory;\n    uint64_t elements, "
             "offset, rows;\n"
             "    uint32_t first, last, axes, shape; /* shape: where its axes begin in tenfold_shapes */\n"
             "    /* Its layout: axes that begin at `layout` in tenfold_sizes, _words, _skews, _divides and "
             "_turns. "
             "Element x lies in\n"
             "     * the word c = x / word, in bank (sum of skew c + c / turn) mod banks, without the latter "
             "where turn "
             "is 0, in row\n"
             "     * c / divide in C order, in C order within the word; its slices one behind the other. "
             "layout_axes 0: in C order, row behind row. */\n"
             "    uint64_t banks, slices;\n    uint32_t layout_axes, layout;\n} "
             "tenfold_array;\n\n"
             "/* reads, writes, waits: where its own begin in the lists of that name, and how many. */\n"
             "typedef struct {\n    const char *layer, *kind, *kernel;\n    uint64_t batch, rows, columns, "
             "reduction;\n"
             "    uint32_t reads, read_count, writes, write_count, waits, wait_count;\n    uint64_t start, "
             "finish;\n"
             "} tenfold_operation;\n\n");
}

/* One number of each axis of every array's layout. */
static void put_header_layouts(const tn_export *exported, const char *name, size_t member, tn_buffer *out) {
    bool any = false;
    tn_buffer_format(out, "static const uint64_t tenfold_%s[] = {", name);
    for (uint32_t i = 0; i < exported->design->arrays; i++) {
        const tn_array_layout *layout = exported->design->array[i].layout;
        for (uint32_t k = 0; layout && k < layout->axes; k++) {
            const uint64_t *const *numbers = (const uint64_t *const *)((const char *)layout + member);
            tn_buffer_format(out, "%s%" PRIu64, any ? ", " : "", (*numbers)[k]);
            any = true;
        }
    }
    tn_buffer_text(out, any ? "};\n" : "0};\n");
}

static void put_header_arrays(const tn_export *exported, tn_buffer *out) {
    const tn_handover *d = exported->design;
    uint32_t index = 0, laid = 0;
    put_header_layouts(exported, "sizes", offsetof(tn_array_layout, size), out);
    put_header_layouts(exported, "words", offsetof(tn_array_layout, word), out);
    put_header_layouts(exported, "skews", offsetof(tn_array_layout, skew), out);
    put_header_layouts(exported, "divides", offsetof(tn_array_layout, divide), out);
    put_header_layouts(exported, "turns", offsetof(tn_array_layout, turn), out);
    tn_buffer_text(out, "static const uint64_t tenfold_shapes[] = {");
    for (uint32_t i = 0; i < d->arrays; i++)
        for (uint32_t k = 0; k < d->array[i].axes; k++)
            tn_buffer_format(out, "%s%" PRIu64, i || k ? ", " : "", d->array[i].shape[k]);
    tn_buffer_text(out, "};\nstatic const tenfold_array tenfold_arrays[] = {\n");
    for (uint32_t i = 0; i < d->arrays; i++) {
        const tn_handed_array *a = &d->array[i];
        tn_buffer_text(out, "    {");
        tn_json_quote(a->name, out);
        tn_buffer_format(out,
                         ", %" PRIu32 "u, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 "u, %" PRIu32
                         "u, %" PRIu32 ", %" PRIu32 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 ", %" PRIu32
                         "},\n",
                         a->memory, a->elements, a->offset, a->rows, a->first, a->last, a->axes, index,
                         a->layout ? a->layout->banks : 1, a->layout ? a->layout->slices : 1,
                         a->layout ? a->layout->axes : 0, laid);
        index += a->axes;
        if (a->layout) laid += a->layout->axes;
    }
    tn_buffer_text(out, "};\n");
}

static void put_header_operations(const tn_export *exported, tn_buffer *out) {
    uint32_t reads = 0, writes = 0, waits = 0;
    put_list(exported, "reads", 0, out);
    put_list(exported, "writes", 1, out);
    put_list(exported, "waits", 2, out);
    tn_buffer_text(out, "static const tenfold_operation tenfold_operations[] = {\n");
    for (uint32_t i = 0; i < exported->design->operations; i++) {
        const tn_handed_operation *o = &exported->design->operation[i];
        const tn_operation *p = o->operation;
        tn_buffer_text(out, "    {");
        tn_json_quote(o->name, out);
        tn_buffer_text(out, ", ");
        tn_json_quote(o->kind, out);
        tn_buffer_text(out, ", ");
        tn_json_quote(o->kernel ? o->kernel : "", out);
        tn_buffer_format(out,
                         ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 ", %" PRIu32
                         ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu64 ", %" PRIu64 "},\n",
                         p->batch, p->rows, p->columns, p->reduction, reads, p->read_count, writes,
                         p->write_count, waits, p->after_count, o->start, o->finish);
        reads += p->read_count;
        writes += p->write_count;
        waits += p->after_count;
    }
    tn_buffer_text(out, "};\n");
}

void tn_export_header(const tn_export *exported, tn_buffer *out) {
    const tn_handover *d = exported->design;
    tn_buffer_text(
        out, "/* What design.json holds, as constants of C99. Written by tenfold export. */\n#ifndef "
             "TENFOLD_DESIGN_H\n"
             "#define TENFOLD_DESIGN_H\n\n#include <stdint.h>\n\n#define TENFOLD_OFF_CHIP UINT32_MAX\n");
    tn_buffer_format(out,
                     "#define TENFOLD_MEMORIES %" PRIu32 "\n#define TENFOLD_ARRAYS %" PRIu32
                     "\n#define TENFOLD_OPERATIONS %" PRIu32 "\n#define TENFOLD_ELEMENT_BITS %" PRIu64
                     "\n#define TENFOLD_CYCLES_PER_STEP %" PRIu64 "\n#define TENFOLD_ROWS %" PRIu64
                     "\n#define TENFOLD_COLUMNS %" PRIu64 "\n#define TENFOLD_REDUCTION %" PRIu64
                     "\n#define TENFOLD_VECTOR %" PRIu64 "\n\n",
                     d->memories, d->arrays, d->operations, d->element_bits, d->why->price.cycles_per_step,
                     exported->build->rows, exported->build->columns, exported->build->reduction,
                     exported->build->vector);
    put_header_types(out);
    tn_buffer_text(out, "static const tenfold_memory tenfold_memories[] = {\n");
    for (uint32_t i = 0; i < d->memories; i++) {
        const tn_handed_memory *m = &d->memory[i];
        tn_buffer_format(out,
                         "    {\"%s\", \"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                         ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "},\n",
                         m->name, tn_memory_style_names[m->style], m->banks, m->width_bits, m->depth,
                         m->row_elements, m->blocks.bram18, m->blocks.bram36, m->blocks.uram,
                         m->blocks.lutram);
    }
    tn_buffer_text(out, "};\n");
    put_header_arrays(exported, out);
    put_header_operations(exported, out);
    tn_buffer_text(out, "\n#endif\n");
}

/* ---- memories.h ---- */

/* The element's type in HLS. */
static void put_hls_type(const tn_export *exported, tn_buffer *out) {
    const char *precision = exported->design->step->precision;
    if (strcmp(precision, "fp32") == 0)
        tn_buffer_text(out, "float");
    else if (strcmp(precision, "fp16") == 0)
        tn_buffer_text(out, "half");
    else if (strncmp(precision, "int", 3) == 0)
        tn_buffer_format(out, "ap_int<%" PRIu64 ">", exported->design->element_bits);
    else /* by its bits */
        tn_buffer_format(out, "ap_uint<%" PRIu64 ">", exported->design->element_bits);
}

static void put_pragmas(const tn_export *exported, uint32_t place, tn_buffer *out) {
    static const char *const impl[] = {[TN_STYLE_AUTO] = "auto",
                                       [TN_STYLE_BLOCK] = "bram",
                                       [TN_STYLE_ULTRA] = "uram",
                                       [TN_STYLE_DISTRIBUTED] = "lutram"};
    const tn_handed_memory *m = &exported->design->memory[place];
    uint64_t word = m->row_elements / m->banks;
    tn_buffer_format(out,
                     "\n/* %s; %" PRIu32 " arrays:", m->staging ? "staging of off-chip operands" : m->holds,
                     m->arrays);
    uint32_t named = 0;
    for (uint32_t i = 0; i < exported->design->arrays && named < 8; i++)
        if (exported->design->array[i].memory == place)
            tn_buffer_format(out, "%s %s", named++ ? "," : "", exported->design->array[i].name);
    tn_buffer_format(out, "%s */\nstatic ", named < m->arrays ? ", .." : "");
    put_hls_type(exported, out);
    tn_buffer_format(out, " %s[%" PRIu64 "];\n", m->name, m->depth * m->row_elements);
    tn_buffer_format(out,
                     "#define %s_pragmas \\\n    _Pragma(\"HLS bind_storage variable=%s type=%s impl=%s\")",
                     m->name, m->name, m->read_ports > 1 ? "ram_1wnr" : "ram_s2p", impl[m->style]);
    if (word > 1)
        tn_buffer_format(
            out, " \\\n    _Pragma(\"HLS array_reshape variable=%s type=cyclic factor=%" PRIu64 " dim=1\")",
            m->name, word);
    if (m->banks > 1)
        tn_buffer_format(
            out, " \\\n    _Pragma(\"HLS array_partition variable=%s type=cyclic factor=%" PRIu64 " dim=1\")",
            m->name, m->banks);
    tn_buffer_text(out, "\n");
}

void tn_export_pragmas(const tn_export *exported, tn_buffer *out) {
    tn_buffer_text(out, "/* The design's memories for high-level synthesis: an array each, and the pragmas "
                        "that give it its shape. Put\n"
                        " * m0_pragmas .. into the function that uses them. Written by tenfold export. "
                        "*/\n#ifndef TENFOLD_MEMORIES_H\n"
                        "#define TENFOLD_MEMORIES_H\n");
    if (strcmp(exported->design->step->precision, "fp32") != 0)
        tn_buffer_text(out, "\n#ifdef __SYNTHESIS__\n#include <ap_int.h>\n#include <hls_half.h>\n#endif\n");
    for (uint32_t i = 0; i < exported->design->memories; i++) put_pragmas(exported, i, out);
    tn_buffer_text(out, "\n#endif\n");
}
