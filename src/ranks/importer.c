#include "ranks/importer.h"

#include "base/checked.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tn_status tn_importer_note(tn_importer *importer, const char *format, ...) {
    tn_buffer text = {0};
    va_list arguments;
    if (importer->out->notes == TN_IMPORT_NOTES) return TN_OK;
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    tn_status status = text.status;
    if (status == TN_OK)
        status = tn_arena_copy_text(importer->arena, text.data, text.length,
                                    &importer->out->note[importer->out->notes++], importer->error);
    tn_buffer_free(&text);
    return status;
}

tn_status tn_importer_refuse(const tn_importer *importer, const char *format, ...) {
    char message[sizeof importer->error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tn_fail_at(importer->error, TN_INPUT, (tn_position){.file = importer->path}, "%s", message);
}

const char *tn_importer_block(const tn_importer *importer) {
    return importer->family->grouped ? "decoder" : "encoder";
}

uint64_t tn_importer_elements(const tn_importer *importer, tn_tensor_role r) {
    const tn_role_arrays *role = &importer->role[r];
    return (role->info ? role->arrays * role->info->elements : 0) + role->biases * role->bias_elements;
}

void tn_importer_begin(const tn_importer *importer, tn_buffer *out) {
    tn_buffer_text(out, "# Written by tenfold model from ");
    tn_json_quote(importer->path, out);
    tn_buffer_format(out, ": a model of family %s.\n", importer->family->name);
}

tn_status tn_importer_lacks(const tn_importer *importer, tn_tensor_role role) {
    const char *names = importer->family->names[role];
    return tn_importer_refuse(importer, "has no array %s%s%s, which a model of family %s needs",
                              names ? "'" : "for its ", names ? names : tn_tensor_layer(role),
                              names ? "'" : "", importer->family->name);
}

tn_status tn_importer_optional(tn_importer *importer, tn_tensor_role r, uint64_t rows, uint64_t columns) {
    const tn_role_arrays *role = &importer->role[r];
    const tn_array_info *info = role->info;
    if (!info) return TN_OK;
    bool turned = importer->family->input_rows && strstr(importer->family->names[r], "{i}") && columns > 0;
    uint64_t first = turned ? columns : rows, second = turned ? rows : columns;
    uint64_t all;
    bool fits = second == 0 ? info->axes == 1 && info->shape[0] == first
                            : info->axes >= 2 && info->shape[0] == first && tn_mul(first, second, &all) &&
                                  info->elements == all;
    if (!fits && second == 0)
        return tn_importer_refuse(
            importer, "\"%.100s\" has %" PRIu64 " elements; %" PRIu64 " are needed beside the other arrays",
            info->name, info->elements, first);
    if (!fits)
        return tn_importer_refuse(
            importer, "\"%.100s\" is not %" PRIu64 " x %" PRIu64 ", as it must be beside the other arrays",
            info->name, first, second);
    if (role->biases == 0 || role->bias_elements == rows) return TN_OK;
    return tn_importer_refuse(importer,
                              "the bias of \"%.100s\" has %" PRIu64 " elements; %" PRIu64 " are needed",
                              info->name, role->bias_elements, rows);
}

tn_status tn_importer_matrix(tn_importer *importer, tn_tensor_role r, uint64_t rows, uint64_t columns) {
    if (importer->role[r].info) return tn_importer_optional(importer, r, rows, columns);
    return tn_importer_lacks(importer, r);
}
