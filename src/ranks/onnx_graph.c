/* A graph read from its inputs to its outputs, or from a value of it to another: what the nodes between them make. */
#include "ranks/onnx_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_TRIED = 32 };

static bool names_constant(const tn_onnx_reader *r, const char *name) {
    return tn_name_index_find(&r->names, name) != TN_NAME_NONE;
}

/* How a value lies that the graph is given: words, or real numbers with features last. */
static tn_onnx_layout layout_of(const tn_onnx_reader *r, const tn_onnx_value *value) {
    const char *roles = value->is_real
                            ? (const char *[]){"", "", "bf", "btf", "bftt"}[value->axes < 5 ? value->axes : 0]
                            : (const char *[]){"", "", "bt"}[value->axes < 3 ? value->axes : 0];
    char turned[8];
    int64_t sizes[8];
    const size_t axes = strlen(roles);
    if (axes == 0) return (tn_onnx_layout){0};
    snprintf(turned, sizeof turned, "%s", roles);
    if (r->tokens_first && axes == 2 && value->is_real) turned[0] = 't';
    if (r->tokens_first && turned[1] == 't') turned[0] = 't', turned[1] = 'b';
    for (size_t i = 0; i < axes; i++) {
        sizes[i] = value->shape[i];
        if (sizes[i] == TN_ONNX_UNKNOWN && turned[i] != 'f')
            sizes[i] = turned[i] == 'b' ? TN_ONNX_OPEN_BATCH : TN_ONNX_OPEN_TOKENS;
    }
    return tn_onnx_layout_of(turned, sizes);
}

/* Numbers are data; real ones are what the first layer takes, one row for each token. */
static tn_status read_input(tn_onnx_reader *r, const tn_onnx_value *value) {
    tn_onnx_known given = {.sort = TN_ONNX_DATA, .of_tokens = true};
    const tn_onnx_layout layout = layout_of(r, value);
    const size_t tokens = r->tokens_first ? 0 : 1;
    if (names_constant(r, value->name)) return TN_OK; /* older files list constants among the inputs */
    if (value->is_real) {
        int64_t last = value->axes ? value->shape[value->axes - 1] : TN_ONNX_UNKNOWN;
        const tn_onnx_layer layer = {.kind = "input",
                                     .name = value->name,
                                     .width = last > 0 ? (uint64_t)last : 0,
                                     .array = TN_ONNX_NONE};
        TN_TRY(tn_onnx_add(r, &layer, &given));
    }
    given.layout = layout;
    const bool rows =
        value->is_real && value->axes == 2 && !r->tokens_first; /* of examples, which have no tokens */
    if (value->axes >= 2 && value->axes <= 3 && value->shape[tokens] > 0 && !r->layers->sequence)
        r->layers->sequence = rows ? 1 : (uint64_t)value->shape[tokens];
    return tn_onnx_name(r, value->name, &given);
}

/* An input of the model that lies as a value inside the graph does. */
static tn_status add_start(tn_onnx_reader *r, const char *name, const tn_onnx_layout *layout) {
    const int64_t tokens = tn_onnx_role_size(layout, TN_ONNX_TOKEN),
                  width = tn_onnx_role_size(layout, TN_ONNX_FEATURE);
    const tn_onnx_layer layer = {
        .kind = "input", .name = name, .width = width > 0 ? (uint64_t)width : 0, .array = TN_ONNX_NONE};
    tn_onnx_known given;
    TN_TRY(tn_onnx_add(r, &layer, &given));
    given.layout = *layout;
    given.layout.offset = 0;
    if (!r->layers->sequence && tokens % TN_ONNX_OPEN_TOKENS != 0) r->layers->sequence = (uint64_t)tokens;
    return tn_onnx_name(r, name, &given);
}

/* A value inside the graph, taken as an input: as it lies when all is read, or of the shape that the file tells, else of
 * three axes. */
static tn_status read_start(tn_onnx_reader *r, const char *name, const tn_onnx_reader *whole) {
    static const int64_t open[] = {TN_ONNX_UNKNOWN, TN_ONNX_UNKNOWN, TN_ONNX_UNKNOWN};
    tn_onnx_value value = {.name = name, .is_real = true, .axes = 3, .shape = open};
    const uint32_t place = tn_name_index_find(&whole->names, name);
    r->tokens_first = whole->tokens_first;
    if (place != TN_NAME_NONE && whole->value[place].sort == TN_ONNX_ACTIVATION &&
        whole->value[place].layout.is_known)
        return add_start(r, name, &whole->value[place].layout);
    for (size_t i = 0; i < r->graph->inners; i++)
        if (strcmp(r->graph->inner[i].name, name) == 0 && r->graph->inner[i].axes > 1)
            value = r->graph->inner[i];
    return read_input(r, &value);
}

/* What a function of the last layer is that only shows its answer, as Softmax: nothing. */
static tn_status read_output(tn_onnx_reader *r, const char *name) {
    const uint32_t place = tn_name_index_find(&r->names, name);
    const tn_onnx_node given = {.name = name, .operator= "output" };
    r->node = &given;
    if (place == TN_NAME_NONE) return tn_onnx_refuse(r, "is given by no node");
    const tn_onnx_known *known = &r->value[place];
    if (known->sort < TN_ONNX_ACTIVATION) return TN_OK;
    uint32_t *layer = &r->layers->output[r->layers->outputs++];
    *layer = known->layer;
    if (known->sort == TN_ONNX_ACTIVATION && tn_samples_is_sigmoid(&known->row)) return TN_OK;
    return tn_onnx_layer_of(r, known, layer);
}

/* Those of Constant nodes are given by these in their turn. */
static tn_status give_constants(tn_onnx_reader *r) {
    const tn_onnx *graph = r->graph;
    size_t count = tn_arrays_count(r->arrays);
    bool *of_node;
    TN_TRY(TN_NEW(r->arena, count, &of_node, r->error));
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].attributes; k++)
            if (graph->node[i].attribute[k].tensor != TN_ONNX_NONE)
                of_node[graph->node[i].attribute[k].tensor] = true;
    for (size_t i = 0; i < count; i++) {
        tn_onnx_known known;
        if (of_node[i]) continue;
        TN_TRY(tn_onnx_constant(r, i, &known));
        TN_TRY(tn_onnx_name(r, tn_onnx_info(r, i)->name, &known));
    }
    return TN_OK;
}

/* A part of a graph: from a value on, up to a value; NULL: from its inputs, to its outputs. */
typedef struct {
    const char *from, *to;
} part;

/* Which nodes and inputs lead to what is asked for; what is taken as an input needs none. */
typedef struct {
    bool *is_needed, *is_input; /* [nodes], [graph inputs] */
    bool leads;                 /* from `from` */
    const tn_onnx *graph;
    const char *from;
    tn_name_index giver; /* of a value: its place in `node_of` */
    uint32_t *node_of;   /* the node, or behind the nodes the input */
    uint32_t *stack;     /* nodes whose operands are to be looked at */
    size_t waiting;
} needs;

static void need(needs *found, const char *name) {
    if (found->from && strcmp(name, found->from) == 0) {
        found->leads = true;
        return;
    }
    const uint32_t place = tn_name_index_find(&found->giver, name);
    if (place == TN_NAME_NONE) return;
    const uint32_t number = found->node_of[place];
    const bool node = number < found->graph->nodes;
    bool *seen = node ? &found->is_needed[number] : &found->is_input[number - found->graph->nodes];
    if (!*seen && node) found->stack[found->waiting++] = number;
    *seen = true;
}

static tn_status find_givers(tn_onnx_reader *r, needs *found) {
    const tn_onnx *graph = r->graph;
    size_t names = graph->inputs, count = 0;
    for (size_t i = 0; i < graph->nodes; i++) names += graph->node[i].outputs;
    TN_TRY(TN_NEW(r->arena, graph->nodes, &found->is_needed, r->error));
    TN_TRY(TN_NEW(r->arena, graph->inputs, &found->is_input, r->error));
    TN_TRY(TN_NEW(r->arena, names, &found->node_of, r->error));
    TN_TRY(TN_NEW(r->arena, graph->nodes, &found->stack, r->error));
    TN_TRY(tn_name_index_new(&found->giver, names, r->arena, r->error));
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].outputs; k++) {
            const char *name = graph->node[i].output[k];
            if (!name[0]) continue;
            if (tn_name_index_add(&found->giver, name, (uint32_t)count) != TN_NAME_NONE)
                return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                                  "gives \"%.100s\" twice", name);
            found->node_of[count++] = (uint32_t)i;
        }
    for (size_t i = 0; i < graph->inputs; i++)
        if (tn_name_index_add(&found->giver, graph->input[i].name, (uint32_t)count) == TN_NAME_NONE)
            found->node_of[count++] = (uint32_t)(graph->nodes + i);
    return TN_OK;
}

static tn_status find_needs(tn_onnx_reader *r, const part *asked, needs *found) {
    *found = (needs){.graph = r->graph, .from = asked->from};
    TN_TRY(find_givers(r, found));
    for (size_t i = 0; !asked->to && i < r->graph->outputs; i++) need(found, r->graph->output[i].name);
    if (asked->to) need(found, asked->to);
    while (found->waiting > 0) {
        const tn_onnx_node *node = &r->graph->node[found->stack[--found->waiting]];
        for (size_t k = 0; k < node->inputs; k++) need(found, node->input[k]);
    }
    return TN_OK;
}

static bool is_given(const tn_onnx *graph, const char *name) {
    for (size_t i = 0; i < graph->inputs; i++)
        if (strcmp(graph->input[i].name, name) == 0) return true;
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t k = 0; k < graph->node[i].outputs; k++)
            if (strcmp(graph->node[i].output[k], name) == 0) return true;
    return false;
}

static tn_status check_part(const tn_onnx_reader *r, const part *asked, const needs *found) {
    const char *ends[] = {asked->from, asked->to};
    for (int i = 0; i < 2; i++)
        if (ends[i] && !is_given(r->graph, ends[i]))
            return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                              "has no value \"%.100s\"; a value has the name that a node gives its output",
                              ends[i]);
    if (!asked->from || found->leads) return TN_OK;
    return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->path},
                      "leads from \"%.100s\" to no %s%.100s", asked->from, asked->to ? "value " : "output",
                      asked->to ? asked->to : "");
}

/* How lies what a node gives that is no layer: windows of a picture are counted, others lie as what they take. */
static tn_onnx_layout guess_layout(const tn_onnx_reader *r) {
    const tn_onnx_known *x = tn_onnx_operand(r, 0), *w = tn_onnx_operand(r, 1);
    const tn_onnx_node *n = r->node;
    const bool conv = strcmp(n->operator, "Conv") == 0;
    const tn_onnx_attribute *kernel = tn_onnx_attribute_of(n, "kernel_shape"),
                            *stride = tn_onnx_attribute_of(n, "strides"),
                            *pads = tn_onnx_attribute_of(n, "pads");
    tn_onnx_layout layout = x->layout;
    int64_t size[TN_ONNX_AXES];
    if (!layout.is_known || !kernel || layout.axes < 3 || layout.axes > 4 ||
        kernel->numbers != layout.axes - 2u)
        return layout;
    for (size_t i = 0; i < layout.axes; i++) {
        size[i] = tn_onnx_axis_size(&layout, i);
        if (i < 2) continue;
        const size_t side = i - 2;
        if (pads && pads->numbers == 2 * kernel->numbers)
            size[i] += pads->list[side] % INT32_MAX + pads->list[side + kernel->numbers] % INT32_MAX;
        size[i] -= kernel->list[side] % INT32_MAX;
        if (stride && side < stride->numbers && stride->list[side] > 0) size[i] /= stride->list[side];
        size[i]++;
    }
    if (conv && w->sort == TN_ONNX_TENSOR) size[1] = (int64_t)tn_onnx_info(r, w->array)->shape[0];
    return tn_onnx_layout_of(layout.axes == 4 ? "bftt" : "bft", size);
}

/* What a refused node gives, as inputs. */
static tn_status pass_over(tn_onnx_reader *r) {
    const tn_onnx_layout layout = guess_layout(r);
    for (size_t i = 0; i < r->node->outputs; i++)
        if (tn_name_index_find(&r->names, r->node->output[i]) == TN_NAME_NONE && r->node->output[i][0])
            TN_TRY(add_start(r, r->node->output[i], &layout));
    return TN_OK;
}

static tn_status read_leniently(const tn_onnx_reader *first, bool tokens_first, tn_onnx_reader *whole);

/* *stopped: the node that was refused, or their number. */
static tn_status read_part(tn_onnx_reader *r, const part *asked, size_t *stopped) {
    const tn_onnx *graph = r->graph;
    size_t most = tn_arrays_count(r->arrays) + graph->inputs + 1;
    needs found;
    *stopped = graph->nodes;
    for (size_t i = 0; i < graph->nodes; i++) most += graph->node[i].outputs;
    TN_TRY(find_needs(r, asked, &found));
    TN_TRY(check_part(r, asked, &found));
    TN_TRY(tn_name_index_new(&r->names, most, r->arena, r->error));
    TN_TRY(TN_NEW(r->arena, most, &r->value, r->error));
    TN_TRY(TN_NEW(r->arena, graph->outputs + 1, &r->layers->output, r->error));
    TN_TRY(give_constants(r));
    for (size_t i = 0; i < graph->inputs; i++)
        if (found.is_input[i]) TN_TRY(read_input(r, &graph->input[i]));
    if (asked->from && !names_constant(r, asked->from)) {
        tn_onnx_reader whole;
        TN_TRY(read_leniently(r, false, &whole));
        TN_TRY(read_start(r, asked->from, &whole));
    }
    for (size_t i = 0; i < graph->nodes; i++) {
        if (!found.is_needed[i]) continue;
        r->node = &graph->node[i];
        *stopped = i;
        const tn_status status = tn_onnx_read_node(r);
        if (status == TN_INPUT && r->keeps_on)
            TN_TRY(pass_over(r));
        else
            TN_TRY(status);
    }
    *stopped = graph->nodes;
    if (r->keeps_on) return TN_OK;
    if (asked->to) return read_output(r, asked->to);
    for (size_t i = 0; i < graph->outputs; i++) TN_TRY(read_output(r, graph->output[i].name));
    return TN_OK;
}

/* All of the graph, whatever is refused in it: for how its values lie. */
static tn_status read_leniently(const tn_onnx_reader *first, bool tokens_first, tn_onnx_reader *whole) {
    tn_onnx_layers *layers;
    tn_error *ignored;
    size_t stopped;
    const part all = {NULL, NULL};
    TN_TRY(TN_NEW(first->arena, 1, &layers, first->error));
    TN_TRY(TN_NEW(first->arena, 1, &ignored, first->error));
    *whole = (tn_onnx_reader){.arrays = first->arrays,
                              .graph = first->graph,
                              .path = first->path,
                              .arena = first->arena,
                              .layers = layers,
                              .error = ignored,
                              .keeps_on = true,
                              .tokens_first = tokens_first};
    TN_TRY(read_part(whole, &all, &stopped));
    return whole->turn && !tokens_first ? read_leniently(first, true, whole) : TN_OK;
}

/* Once more with tokens first where attention shows that they are. */
static tn_status read_turned(tn_onnx_reader *r, const part *asked, size_t *stopped) {
    tn_onnx_layers *layers = r->layers;
    tn_onnx_reader fresh = *r;
    tn_status status = read_part(r, asked, stopped);
    if (status != TN_INPUT || !r->turn) return status;
    fresh.tokens_first = true;
    *layers = (tn_onnx_layers){0};
    *r = fresh;
    return read_part(r, asked, stopped);
}

static size_t matrices_of(const tn_onnx_layers *layers) {
    size_t count = 0;
    for (size_t i = 0; i < layers->count; i++)
        count += layers->layer[i].columns > 0 && !layers->layer[i].gone;
    return count;
}

/* The largest of the parts between what is refused: each begins behind a refused node and ends before the next. The parts
 * are read as if they had been asked for. */
static tn_status find_nearest(const tn_onnx_reader *first, part asked, size_t stopped, part *best,
                              size_t *matrices) {
    const tn_onnx *graph = first->graph;
    *matrices = 0;
    for (int tried = 0; tried < PARTS_TRIED; tried++) {
        const tn_onnx_node *refused = stopped < graph->nodes ? &graph->node[stopped] : NULL;
        part piece = asked;
        tn_onnx_layers layers;
        size_t end = 0;
        tn_status status = TN_INPUT;
        for (size_t k = 0; refused && k < refused->inputs;
             k++) { /* the first operand up to which all is read */
            tn_error ignored;
            layers = (tn_onnx_layers){0};
            tn_onnx_reader r = *first;
            r.layers = &layers;
            r.error = &ignored;
            piece.to = refused->input[k];
            status = piece.to[0] && is_given(graph, piece.to) ? read_turned(&r, &piece, &end) : TN_INPUT;
            if (status == TN_MEMORY) return status;
            if (status == TN_OK && layers.outputs > 0 && matrices_of(&layers) > *matrices) {
                *best = piece;
                *matrices = matrices_of(&layers);
            }
        }
        if (!refused || refused->outputs == 0) return TN_OK;
        asked.from = refused->output[0];
        tn_error ignored;
        layers = (tn_onnx_layers){0};
        tn_onnx_reader r = *first;
        r.layers = &layers;
        r.error = &ignored;
        status = read_turned(&r, &asked, &stopped);
        if (status == TN_MEMORY) return status;
        if (status != TN_OK) continue;
        if (layers.outputs > 0 && matrices_of(&layers) > *matrices) {
            *best = asked;
            *matrices = matrices_of(&layers);
        }
        return TN_OK;
    }
    return TN_OK;
}

/* Adds to the refusal what can be taken. */
static tn_status name_nearest(const tn_onnx_reader *first, const part *asked, size_t stopped,
                              tn_error *error) {
    part best = {0};
    size_t matrices;
    char from[160] = "", to[160] = "";
    const tn_error refusal = *error;
    TN_TRY(find_nearest(first, *asked, stopped, &best, &matrices));
    *error = refusal;
    if (matrices == 0) return TN_INPUT;
    if (best.from) snprintf(from, sizeof from, " --from \"%.120s\"", best.from);
    if (best.to) snprintf(to, sizeof to, " --to \"%.120s\"", best.to);
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = first->path},
                      "%.700s; what can be taken is%s%s, with %zu matri%s", refusal.message, from, to,
                      matrices, matrices == 1 ? "x" : "ces");
}

tn_status tn_onnx_layers_find(const tn_arrays *arrays, const char *path, const char *from, const char *to,
                              tn_arena *arena, tn_onnx_layers *layers, tn_error *error) {
    tn_error own = {0};
    tn_onnx_reader r = {.arrays = arrays,
                        .graph = tn_arrays_graph(arrays),
                        .path = path,
                        .arena = arena,
                        .layers = layers,
                        .error = &own};
    const tn_onnx_reader first = r;
    const part asked = {from, to};
    size_t stopped;
    *layers = (tn_onnx_layers){0};
    tn_status status = read_turned(&r, &asked, &stopped);
    if (status == TN_INPUT && stopped < r.graph->nodes) status = name_nearest(&first, &asked, stopped, &own);
    if (status != TN_OK && error) *error = own;
    return status;
}
