#include "text/onnx.h"

#include "text/array_file.h"

#include <string.h>

const tn_onnx *tn_arrays_graph(const tn_arrays *arrays) {
    return arrays->graph;
}

const tn_onnx_attribute *tn_onnx_attribute_of(const tn_onnx_node *node, const char *name) {
    for (size_t i = 0; i < node->attributes; i++)
        if (strcmp(node->attribute[i].name, name) == 0) return &node->attribute[i];
    return NULL;
}

#ifndef TENFOLD_ONNX

const char *tn_onnx_library(void) {
    return NULL;
}

tn_status tn_onnx_open(tn_arrays *arrays, tn_error *error) {
    return tn_byte_source_fail(
        &arrays->source, error,
        "is an ONNX file, which this build does not read: libprotobuf-c was not there when "
        "tenfold was built (Debian: libprotobuf-c-dev, protobuf-c-compiler)");
}

bool tn_onnx_integers(const tn_arrays *arrays, size_t position, size_t most, int64_t *values, size_t *count) {
    (void)arrays;
    (void)position;
    (void)most;
    (void)values;
    (void)count;
    return false;
}

#else

#include "base/memory.h"
#include "text/number.h"

#include <inttypes.h>
#include <onnx.pb-c.h>
#include <stdio.h>

const char *tn_onnx_library(void) {
    return protobuf_c_version();
}

static const uint64_t LIMIT_FILE_BYTES = (uint64_t)1 << 31;
enum { BESIDES_MOST = 64 };
enum { FLOAT = 1, INT32 = 6, INT64 = 7, FLOAT16 = 10, DOUBLE = 11, BFLOAT16 = 16, EXTERNAL = 1 };

/* The message unpacked, and what bounds it: a few bytes can ask for a large structure. */
typedef struct {
    Tn__Onnx__Model *model;
    uint64_t left; /* bytes that may still be asked for */
    bool outgrown, failed;
    ProtobufCAllocator allocator;
} message;

static void *take(void *data, size_t size) {
    message *m = data;
    void *memory;
    if (size > m->left) {
        m->outgrown = true;
        return NULL;
    }
    if (tn_alloc(size ? size : 1, 1, &memory, NULL) != TN_OK) {
        m->failed = true;
        return NULL;
    }
    m->left -= size;
    return memory;
}

static void give(void *data, void *memory) {
    (void)data;
    tn_free(memory);
}

static tn_status unpack(message *m, const tn_byte_source *source, tn_error *error) {
    uint8_t *bytes;
    const size_t size = (size_t)source->size_bytes;
    m->left = 4 * source->size_bytes + ((uint64_t)16 << 20);
    m->allocator = (ProtobufCAllocator){take, give, m};
    TN_TRY(tn_alloc(size ? size : 1, 1, &bytes, error));
    tn_status status = tn_byte_source_read(source, 0, bytes, size, error);
    if (status == TN_OK) m->model = tn__onnx__model__unpack(&m->allocator, size, bytes);
    tn_free(bytes);
    if (status != TN_OK || m->model) return status;
    if (m->failed) return tn_fail(error, TN_MEMORY, "no memory for an ONNX file");
    return tn_byte_source_fail(source, error,
                               m->outgrown
                                   ? "asks for far more memory than it has bytes: the file is damaged"
                                   : "is not a valid ONNX file: its messages are truncated or damaged");
}

static tn_status copy(tn_arrays *arrays, const char *text, const char **out, tn_error *error) {
    return tn_arena_copy_text(&arrays->arena, text ? text : "", text ? strlen(text) : 0, out, error);
}

/* ---- tensors ---- */

static tn_element element_of(int32_t type) {
    switch (type) {
    case FLOAT:
        return TN_ELEMENT_F32;
    case DOUBLE:
        return TN_ELEMENT_F64;
    case FLOAT16:
        return TN_ELEMENT_F16;
    case BFLOAT16:
        return TN_ELEMENT_BF16;
    default:
        return TN_ELEMENT_OTHER;
    }
}

/* "i8"; other types by the number that the format gives them. */
static tn_status type_name(tn_arrays *arrays, int32_t type, const char **name, tn_error *error) {
    if (type == INT64 || type == INT32) {
        *name = type == INT64 ? "i8" : "i4";
        return TN_OK;
    }
    return tn_arena_format(&arrays->arena, name, error, "ONNX type %" PRId32, type);
}

/* The bytes of the values, copied: what was unpacked goes. Numbers of the host that are not little-endian bytes already. */
static tn_status copy_values(tn_arrays *arrays, const Tn__Onnx__Tensor *t, tn_array_entry *entry,
                             tn_error *error) {
    const void *origin = t->raw_data.data;
    size_t bytes = t->raw_data.len;
    const uint16_t one = 1;
    bool little;
    memcpy(&little, &one, 1);
    if (t->n_float_data || t->n_double_data || t->n_int64_data) {
        if (bytes || (t->n_float_data > 0) + (t->n_double_data > 0) + (t->n_int64_data > 0) > 1)
            return tn_byte_source_fail(&arrays->source, error, "tensor \"%.100s\" has values of two sorts",
                                       entry->info.name);
        origin = t->n_float_data    ? (const void *)t->float_data
                 : t->n_double_data ? (const void *)t->double_data
                                    : (const void *)t->int64_data;
        bytes = t->n_float_data    ? t->n_float_data * sizeof(float)
                : t->n_double_data ? t->n_double_data * sizeof(double)
                                   : t->n_int64_data * sizeof(int64_t);
        entry->big_endian = !little;
    }
    tn_byte_source *source;
    void *values;
    TN_TRY(TN_NEW(&arrays->arena, 1, &source, error));
    TN_TRY(tn_arena_alloc(&arrays->arena, bytes ? bytes : 1, 1, &values, error));
    if (bytes) memcpy(values, origin, bytes);
    tn_byte_source_memory(arrays->source.file, values, bytes, source);
    entry->source = source;
    entry->span = (tn_byte_span){.stored_bytes = bytes, .bytes = bytes};
    return TN_OK;
}

static const char *external(const Tn__Onnx__Tensor *t, const char *key) {
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && strcmp(t->external_data[i]->key, key) == 0)
            return t->external_data[i]->value;
    return NULL;
}

/* The file beside the model that holds values, opened when it is first named: one of the parts of the file. */
static tn_status open_beside(tn_arrays *arrays, const char *name, const tn_byte_source **source,
                             tn_error *error) {
    const char *path, *slash = strrchr(arrays->source.file, '/');
    tn_byte_source *opened;
    if (!name || strchr(name, '/') || name[0] == '\0' || name[0] == '.' || arrays->source.memory)
        return tn_byte_source_fail(&arrays->source, error,
                                   "keeps values in \"%.100s\", which is no file beside it",
                                   name ? name : "");
    TN_TRY(tn_arena_format(&arrays->arena, &path, error, "%.*s%s",
                           slash ? (int)(slash + 1 - arrays->source.file) : 0, arrays->source.file, name));
    for (size_t i = 0; i < arrays->besides; i++)
        if (strcmp(arrays->companion[i]->file, path) == 0) {
            *source = arrays->companion[i];
            return TN_OK;
        }
    if (arrays->besides == BESIDES_MOST)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = arrays->source.file},
                          "keeps values in more than %d files", BESIDES_MOST);
    if (!arrays->companion) TN_TRY(TN_NEW(&arrays->arena, BESIDES_MOST, &arrays->companion, error));
    TN_TRY(TN_NEW(&arrays->arena, 1, &opened, error));
    TN_TRY(tn_byte_source_open(path, opened, error));
    arrays->companion[arrays->besides++] = opened;
    *source = opened;
    return TN_OK;
}

/* A number of bytes, digits alone; `absent` where the tensor does not say it. */
static tn_status read_bytes(tn_arrays *arrays, const Tn__Onnx__Tensor *t, const char *key, uint64_t absent,
                            const tn_array_entry *entry, uint64_t *number, tn_error *error) {
    const char *text = external(t, key);
    *number = absent;
    if (!text) return TN_OK;
    bool digits = *text && text[strspn(text, "0123456789")] == '\0';
    if (digits && tn_read_count(text, number) == TN_NUMBER_OK) return TN_OK;
    return tn_byte_source_fail(
        &arrays->source, error,
        "tensor \"%.100s\" has the %s \"%.40s\" in the file beside it, which is no number "
        "of bytes",
        entry->info.name, key, text);
}

static tn_status read_external(tn_arrays *arrays, const Tn__Onnx__Tensor *t, uint64_t bytes,
                               tn_array_entry *entry, tn_error *error) {
    uint64_t begin, length;
    TN_TRY(read_bytes(arrays, t, "offset", 0, entry, &begin, error));
    TN_TRY(read_bytes(arrays, t, "length", bytes, entry, &length, error));
    TN_TRY(open_beside(arrays, external(t, "location"), &entry->source, error));
    uint64_t held = entry->source->size_bytes;
    if (begin > held || bytes > held - begin || length != bytes)
        return tn_byte_source_fail(&arrays->source, error,
                                   "tensor \"%.100s\" needs %" PRIu64 " bytes from byte %" PRIu64
                                   " of %.200s on, which has %" PRIu64,
                                   entry->info.name, bytes, begin, entry->source->file, held);
    entry->span = (tn_byte_span){.offset = begin, .stored_bytes = bytes, .bytes = bytes};
    return TN_OK;
}

/* Appends the tensor under a name. The arrays have room for it. */
static tn_status add_tensor(tn_arrays *arrays, const Tn__Onnx__Tensor *t, const char *name, tn_error *error) {
    tn_array_entry *entry = &arrays->entry[arrays->count];
    tn_array_info *info = &entry->info;
    uint64_t bytes;
    *entry = (tn_array_entry){.element = element_of(t->data_type)};
    TN_TRY(copy(arrays, name, &info->name, error));
    info->type = tn_element_name(entry->element);
    if (!info->type) TN_TRY(type_name(arrays, t->data_type, &info->type, error));
    if (t->n_dims > TN_ARRAY_AXES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = arrays->source.file},
                          "tensor \"%.100s\" has %zu axes; at most %d are read", info->name, t->n_dims,
                          TN_ARRAY_AXES);
    info->axes = t->n_dims;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0)
            return tn_byte_source_fail(&arrays->source, error, "tensor \"%.100s\" has a negative dimension",
                                       info->name);
        info->shape[i] = (uint64_t)t->dims[i];
    }
    TN_TRY(tn_array_size(&arrays->source, entry, &bytes, error));
    TN_TRY(t->data_location == EXTERNAL ? read_external(arrays, t, bytes, entry, error)
                                        : copy_values(arrays, t, entry, error));
    if (entry->element != TN_ELEMENT_OTHER && entry->span.bytes != bytes)
        return tn_byte_source_fail(&arrays->source, error,
                                   "tensor \"%.100s\" has %" PRIu64
                                   " bytes of values, its type and shape need %" PRIu64,
                                   info->name, entry->span.bytes, bytes);
    arrays->count++;
    return TN_OK;
}

bool tn_onnx_integers(const tn_arrays *arrays, size_t position, size_t most, int64_t *values, size_t *count) {
    const tn_array_entry *entry = &arrays->entry[position];
    if (strcmp(entry->info.type, "i8") != 0 || entry->info.elements > most || !entry->source ||
        entry->big_endian || entry->span.bytes != entry->info.elements * sizeof *values)
        return false;
    unsigned char bytes[8];
    *count = (size_t)entry->info.elements;
    for (size_t i = 0; i < *count; i++) {
        if (tn_byte_source_read(entry->source, entry->span.offset + 8 * i, bytes, 8, NULL) != TN_OK)
            return false;
        values[i] = (int64_t)tn_get_u64(bytes);
    }
    return true;
}

/* ---- the graph ---- */

static tn_status copy_names(tn_arrays *arrays, size_t count, char **names, const char *const **out,
                            tn_error *error) {
    const char **list;
    TN_TRY(TN_NEW(&arrays->arena, count, &list, error));
    for (size_t i = 0; i < count; i++) TN_TRY(copy(arrays, names[i], &list[i], error));
    *out = list;
    return TN_OK;
}

static bool is_constant(const Tn__Onnx__Node *node) {
    return node->op_type && strcmp(node->op_type, "Constant") == 0 && node->n_output == 1 &&
           node->n_attribute == 1 && node->attribute[0]->t;
}

/* A Constant node's tensor has the name of what the node gives. */
static tn_status copy_attribute(tn_arrays *arrays, const Tn__Onnx__Node *node,
                                const Tn__Onnx__Attribute *source, tn_onnx_attribute *target,
                                tn_error *error) {
    int64_t *list;
    *target = (tn_onnx_attribute){
        .real = source->f, .number = source->i, .numbers = source->n_ints, .tensor = TN_ONNX_NONE};
    TN_TRY(copy(arrays, source->name, &target->name, error));
    TN_TRY(tn_arena_copy_text(&arrays->arena, source->s.len ? (const char *)source->s.data : "",
                              source->s.len, &target->text, error));
    TN_TRY(TN_NEW(&arrays->arena, source->n_ints, &list, error));
    if (source->n_ints) memcpy(list, source->ints, source->n_ints * sizeof *list);
    target->list = list;
    if (!is_constant(node)) return TN_OK;
    target->tensor = arrays->count;
    return add_tensor(arrays, source->t, node->output[0], error);
}

static tn_status copy_node(tn_arrays *arrays, const Tn__Onnx__Node *source, tn_onnx_node *target,
                           tn_error *error) {
    tn_onnx_attribute *attribute;
    *target = (tn_onnx_node){
        .inputs = source->n_input, .outputs = source->n_output, .attributes = source->n_attribute};
    TN_TRY(copy(arrays, source->name, &target->name, error));
    TN_TRY(copy(arrays, source->op_type, &target->operator, error));
    TN_TRY(copy(arrays, source->domain, &target->domain, error));
    TN_TRY(copy_names(arrays, source->n_input, source->input, &target->input, error));
    TN_TRY(copy_names(arrays, source->n_output, source->output, &target->output, error));
    TN_TRY(TN_NEW(&arrays->arena, source->n_attribute, &attribute, error));
    target->attribute = attribute;
    for (size_t i = 0; i < source->n_attribute; i++)
        TN_TRY(copy_attribute(arrays, source, source->attribute[i], &attribute[i], error));
    return TN_OK;
}

static tn_status copy_values_of(tn_arrays *arrays, size_t count, Tn__Onnx__ValueInfo **source,
                                const tn_onnx_value **out, tn_error *error) {
    tn_onnx_value *list;
    TN_TRY(TN_NEW(&arrays->arena, count, &list, error));
    for (size_t i = 0; i < count; i++) {
        const Tn__Onnx__TensorType *type = source[i]->type ? source[i]->type->tensor_type : NULL;
        const Tn__Onnx__Shape *shape = type ? type->shape : NULL;
        int64_t *axis;
        TN_TRY(copy(arrays, source[i]->name, &list[i].name, error));
        list[i].is_real = type && element_of(type->elem_type) != TN_ELEMENT_OTHER;
        list[i].axes = shape ? shape->n_dim : 0;
        TN_TRY(TN_NEW(&arrays->arena, list[i].axes, &axis, error));
        for (size_t k = 0; k < list[i].axes; k++)
            axis[k] = shape->dim[k]->has_dim_value && shape->dim[k]->dim_value > 0 ? shape->dim[k]->dim_value
                                                                                   : TN_ONNX_UNKNOWN;
        list[i].shape = axis;
    }
    *out = list;
    return TN_OK;
}

static tn_status copy_graph(tn_arrays *arrays, const Tn__Onnx__Graph *source, tn_error *error) {
    tn_onnx *graph;
    tn_onnx_node *node;
    size_t constants = source->n_initializer;
    for (size_t i = 0; i < source->n_node; i++) constants += is_constant(source->node[i]);
    TN_TRY(TN_NEW(&arrays->arena, 1, &graph, error));
    TN_TRY(TN_NEW(&arrays->arena, constants, &arrays->entry, error));
    TN_TRY(TN_NEW(&arrays->arena, source->n_node, &node, error));
    *graph = (tn_onnx){.nodes = source->n_node,
                       .inputs = source->n_input,
                       .outputs = source->n_output,
                       .inners = source->n_value_info,
                       .node = node};
    arrays->graph = graph;
    for (size_t i = 0; i < source->n_initializer; i++)
        TN_TRY(add_tensor(arrays, source->initializer[i], source->initializer[i]->name, error));
    for (size_t i = 0; i < source->n_node; i++) TN_TRY(copy_node(arrays, source->node[i], &node[i], error));
    TN_TRY(copy_values_of(arrays, source->n_input, source->input, &graph->input, error));
    TN_TRY(copy_values_of(arrays, source->n_output, source->output, &graph->output, error));
    TN_TRY(copy_values_of(arrays, source->n_value_info, source->value_info, &graph->inner, error));
    return tn_array_names(arrays, error);
}

tn_status tn_onnx_open(tn_arrays *arrays, tn_error *error) {
    const tn_byte_source *source = &arrays->source;
    message m = {0};
    if (source->size_bytes > LIMIT_FILE_BYTES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = source->file},
                          "is larger than the 2 GiB that an ONNX file can be");
    TN_TRY(unpack(&m, source, error));
    tn_status status = m.model->graph ? copy_graph(arrays, m.model->graph, error)
                                      : tn_byte_source_fail(source, error, "is an ONNX file without a graph");
    tn__onnx__model__free_unpacked(m.model, &m.allocator);
    return status;
}

#endif
