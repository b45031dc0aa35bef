#include "ranks/onnx_layers.h"

#include "ranks/onnx_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The row that stands for any activation. */
static tn_samples samples_of_input(void) {
    return (tn_samples){{-3.1, -1.7, -0.9, -0.2, 0.4, 1.1, 1.9, 3.4}};
}

tn_samples tn_samples_of_constant(double value) {
    tn_samples row;
    for (int i = 0; i < TN_SAMPLES; i++) row.value[i] = value;
    return row;
}

static double mean(const tn_samples *row) {
    double sum = 0;
    for (int i = 0; i < TN_SAMPLES; i++) sum += row->value[i];
    return sum / TN_SAMPLES;
}

/* Known at all of its arguments: NaN marks an operator that is not elementwise. */
static double one(const char *operator, double x) {
    static const struct {
        const char *operator;
        double (*function)(double);
    } known[] = {{"Sqrt", sqrt}, {"Erf", erf}, {"Tanh", tanh}, {"Exp", exp}, {"Abs", fabs}, {"Log", log}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(operator, known[i].operator) == 0) return known[i].function(x);
    if (strcmp(operator, "Relu") == 0) return x > 0 ? x : 0;
    if (strcmp(operator, "Neg") == 0) return -x;
    if (strcmp(operator, "Reciprocal") == 0) return 1 / x;
    if (strcmp(operator, "Sigmoid") == 0) return 1 / (1 + exp(-x));
    if (strcmp(operator, "Silu") == 0) return x / (1 + exp(-x));
    if (strcmp(operator, "Gelu") == 0 || strcmp(operator, "FastGelu") == 0)
        return x * (1 + erf(x / sqrt(2))) / 2;
    return NAN;
}

static double two(const char *operator, double x, double y) {
    if (strcmp(operator, "Add") == 0) return x + y;
    if (strcmp(operator, "Sub") == 0) return x - y;
    if (strcmp(operator, "Mul") == 0) return x * y;
    if (strcmp(operator, "Div") == 0) return x / y;
    if (strcmp(operator, "Pow") == 0) return pow(x, y);
    if (strcmp(operator, "Max") == 0) return fmax(x, y);
    if (strcmp(operator, "Min") == 0) return fmin(x, y);
    return NAN;
}

bool tn_samples_apply(const char *operator, const tn_samples * first, const tn_samples *second,
                      tn_samples *result) {
    bool known = true;
    if (!second && strcmp(operator, "ReduceMean") == 0) {
        *result = tn_samples_of_constant(mean(first));
        return true;
    }
    for (int i = 0; i < TN_SAMPLES; i++) {
        result->value[i] =
            second ? two(operator, first->value[i], second->value[i]) : one(operator, first->value[i]);
        known &= isfinite(result->value[i]);
    }
    return known;
}

static bool close_to(const tn_samples *row, const tn_samples *wanted, double tolerance) {
    for (int i = 0; i < TN_SAMPLES; i++)
        if (!(fabs(row->value[i] - wanted->value[i]) <= tolerance)) return false;
    return true;
}

/* (x - centre) / the root of the mean square of that */
static tn_samples normalised(const tn_samples *x, double centre) {
    tn_samples row;
    double squares = 0;
    for (int i = 0; i < TN_SAMPLES; i++) squares += (x->value[i] - centre) * (x->value[i] - centre);
    for (int i = 0; i < TN_SAMPLES; i++) row.value[i] = (x->value[i] - centre) / sqrt(squares / TN_SAMPLES);
    return row;
}

const char *tn_samples_kind(const tn_samples *row) {
    const double exact = 1e-4, approximate = 0.03; /* x sigmoid(1.702 x) is that far from GELU */
    const tn_samples x = samples_of_input();
    tn_samples scaled, wanted;
    static const struct {
        const char *operator, * kind;
    } elementwise[] = {{"Relu", "relu"}, {"Tanh", "tanh"}, {"Silu", "silu"}, {"Gelu", "gelu"}};
    for (int i = 0; i < TN_SAMPLES; i++) scaled.value[i] = x.value[i] * (row->value[0] / x.value[0]);
    if (row->value[0] != 0 && close_to(row, &scaled, exact * fabs(row->value[0]))) return "";
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++) {
        tn_samples_apply(elementwise[i].operator, & x, NULL, &wanted);
        if (close_to(row, &wanted, strcmp(elementwise[i].kind, "gelu") == 0 ? approximate : exact))
            return elementwise[i].kind;
    }
    wanted = normalised(&x, mean(&x));
    if (close_to(row, &wanted, exact)) return "layer-norm";
    wanted = normalised(&x, 0);
    return close_to(row, &wanted, exact) ? "rms-norm" : NULL;
}

tn_status tn_onnx_refuse(const tn_onnx_reader *r, const char *format, ...) {
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const tn_onnx_node *n = r->node;
    return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path}, "node \"%.100s\" (%.40s) %s",
                      n->name[0]   ? n->name
                      : n->outputs ? n->output[0]
                                   : "",
                      n->operator, message);
}

/* ---- values ---- */

const tn_onnx_known *tn_onnx_operand(const tn_onnx_reader *r, size_t i) {
    static const tn_onnx_known absent = {.sort = TN_ONNX_DATA};
    if (i >= r->node->inputs || r->node->input[i][0] == '\0') return &absent;
    const uint32_t place = tn_name_index_find(&r->names, r->node->input[i]);
    return place == TN_NAME_NONE ? &absent : &r->value[place];
}

tn_status tn_onnx_name(tn_onnx_reader *r, const char *name, const tn_onnx_known *known) {
    if (name[0] == '\0') return TN_OK;
    if (tn_name_index_add(&r->names, name, (uint32_t)r->values) != TN_NAME_NONE)
        return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path}, "gives \"%.100s\" twice", name);
    r->value[r->values++] = *known;
    return TN_OK;
}

tn_status tn_onnx_give(tn_onnx_reader *r, size_t i, const tn_onnx_known *known) {
    return i < r->node->outputs ? tn_onnx_name(r, r->node->output[i], known) : TN_OK;
}

static tn_onnx_known activation(uint32_t layer) {
    return (tn_onnx_known){.sort = TN_ONNX_ACTIVATION, .layer = layer, .row = samples_of_input()};
}

const tn_array_info *tn_onnx_info(const tn_onnx_reader *r, size_t array) {
    return tn_arrays_info(r->arrays, array);
}

static bool is_real(const tn_array_info *info) {
    return strcmp(info->type, "f4") == 0 || strcmp(info->type, "f2") == 0 || strcmp(info->type, "f8") == 0 ||
           strcmp(info->type, "bf16") == 0;
}

/* A constant: a scalar, whole numbers, or a tensor. */
tn_status tn_onnx_constant(tn_onnx_reader *r, size_t array, tn_onnx_known *known) {
    const tn_array_info *info = tn_onnx_info(r, array);
    *known = (tn_onnx_known){.sort = TN_ONNX_DATA};
    if (tn_onnx_integers(r->arrays, array, TN_ONNX_LIST_MOST, known->list, &known->listed)) return TN_OK;
    if (!is_real(info) || info->elements == 0) return TN_OK;
    *known = (tn_onnx_known){.sort = TN_ONNX_TENSOR, .array = array};
    if (info->elements > 1) return TN_OK;
    double number;
    tn_arrays *arrays = (tn_arrays *)r->arrays;
    TN_TRY(tn_arrays_read(arrays, array, &number, r->error));
    *known = (tn_onnx_known){.sort = TN_ONNX_NUMBER, .array = array, .row = tn_samples_of_constant(number)};
    return TN_OK;
}

/* ---- layers ---- */

tn_status tn_onnx_add(tn_onnx_reader *r, const tn_onnx_layer *layer, tn_onnx_known *out) {
    tn_onnx_layers *target = r->layers;
    if (target->count == target->capacity) {
        tn_onnx_layer *grown;
        size_t capacity = target->capacity ? 2 * target->capacity : 64;
        TN_TRY(TN_NEW(r->arena, capacity, &grown, r->error));
        if (target->count) memcpy(grown, target->layer, target->count * sizeof *grown);
        target->layer = grown;
        target->capacity = capacity;
    }
    target->layer[target->count] = *layer;
    if (!layer->name) target->layer[target->count].name = r->node ? r->node->name : "";
    *out = activation((uint32_t)target->count++);
    return TN_OK;
}

tn_status tn_onnx_add_simple(tn_onnx_reader *r, const char *kind, uint32_t start, tn_onnx_known *out) {
    const tn_onnx_layout layout = out->layout;
    const tn_onnx_layer layer = {.kind = kind,
                                 .inputs = 1,
                                 .input = {start},
                                 .width = r->layers->layer[start].width,
                                 .array = TN_ONNX_NONE};
    TN_TRY(tn_onnx_add(r, &layer, out));
    out->layout = layout;
    return TN_OK;
}

/* The layer whose output the value is. */
tn_status tn_onnx_layer_of(const tn_onnx_reader *r, const tn_onnx_known *known, uint32_t *layer) {
    const char *kind = known->sort == TN_ONNX_ACTIVATION ? tn_samples_kind(&known->row) : NULL;
    *layer = known->layer;
    if (!kind || kind[0] != '\0')
        return tn_onnx_refuse(
            r,
            "takes what no layer of a model file gives; linear layers, convolutions, norms, attention, gelu, "
            "silu, relu, tanh, means over tokens and sums are recognised");
    if (r->layers->layer[*layer].gone) return tn_onnx_refuse(r, "takes a product as a whole and in parts");
    return TN_OK;
}

tn_status tn_onnx_add_pair(tn_onnx_reader *r, const char *kind, const tn_onnx_known *a,
                           const tn_onnx_known *b, tn_onnx_known *out) {
    const tn_onnx_layout left = a->layout, right = b->layout;
    tn_onnx_layer layer = {.kind = kind, .inputs = 2, .array = TN_ONNX_NONE};
    TN_TRY(tn_onnx_layer_of(r, a, &layer.input[0]));
    TN_TRY(tn_onnx_layer_of(r, b, &layer.input[1]));
    layer.width = r->layers->layer[layer.input[0]].width;
    if (layer.width != r->layers->layer[layer.input[1]].width)
        return tn_onnx_refuse(r, "combines widths %" PRIu64 " and %" PRIu64, layer.width,
                              r->layers->layer[layer.input[1]].width);
    const int64_t tokens = tn_onnx_role_size(&left, TN_ONNX_TOKEN),
                  others = tn_onnx_role_size(&right, TN_ONNX_TOKEN);
    if (left.is_known && right.is_known && tokens != others)
        return tn_onnx_refuse(r, "combines %" PRId64 " and %" PRId64 " tokens", tokens, others);
    TN_TRY(tn_onnx_add(r, &layer, out));
    out->layout = left.is_known && (!right.is_known || left.axes >= right.axes) ? left : right;
    return TN_OK;
}

/* Rows of a table of positions are added to every example alike. */
tn_status tn_onnx_add_positions(tn_onnx_reader *r, const tn_onnx_known *known, size_t array,
                                tn_onnx_known *out) {
    const tn_array_info *info = tn_onnx_info(r, array);
    tn_onnx_layer layer = {.kind = "positions", .name = info->name, .inputs = 1, .array = array};
    TN_TRY(tn_onnx_layer_of(r, known, &layer.input[0]));
    layer.width = r->layers->layer[layer.input[0]].width;
    if (layer.width == 0 || info->elements % layer.width || r->layers->positions)
        return tn_onnx_refuse(
            r, "adds \"%.60s\", which is no table of positions of width %" PRIu64 ", or a second one",
            info->name, layer.width);
    r->layers->positions = info->elements / layer.width;
    const tn_onnx_layout layout = known->layout;
    TN_TRY(tn_onnx_add(r, &layer, out));
    out->layout = layout;
    return TN_OK;
}

tn_status tn_onnx_add_linear(tn_onnx_reader *r, const tn_onnx_known *x, size_t array, bool turned,
                             uint64_t rows, uint64_t columns, tn_onnx_known *out) {
    tn_onnx_layer layer = {.kind = "linear",
                           .inputs = 1,
                           .width = rows,
                           .rows = rows,
                           .columns = columns,
                           .array = array,
                           .turned = turned};
    TN_TRY(tn_onnx_layer_of(r, x, &layer.input[0]));
    tn_onnx_layer *source = &r->layers->layer[layer.input[0]];
    if (strcmp(source->kind, "input") == 0 && source->width == 0) source->width = columns;
    if (source->width != columns)
        return tn_onnx_refuse(r, "has a matrix of %" PRIu64 " inputs for %" PRIu64 " features", columns,
                              source->width);
    const tn_onnx_layout layout = x->layout, wide = tn_onnx_layout_of("f", (int64_t[]){(int64_t)rows});
    TN_TRY(tn_onnx_add(r, &layer, out));
    out->layout = layout;
    if (layout.axes > 0) tn_onnx_layout_replace(&out->layout, layout.axes - 1u, &wide, 0);
    return TN_OK;
}

bool tn_samples_is_sigmoid(const tn_samples *row) {
    const tn_samples x = samples_of_input();
    tn_samples wanted;
    return tn_samples_apply("Sigmoid", &x, NULL, &wanted) && close_to(row, &wanted, 1e-4);
}
