/* Trees as text (flow/tree.h). */
#include "flow/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void express(const tn_network *network, const tn_tree *tree, uint32_t tensor, tn_buffer *out) {
    char text[32];
    if (tensor < tree->tensors) {
        tn_buffer_text(out, tn_network_tensor_name(network, tensor, text));
        return;
    }
    const tn_merge *merge = &tree->merge[tensor - tree->tensors];
    tn_buffer_text(out, "(");
    express(network, tree, merge->a, out);
    tn_buffer_text(out, " ");
    express(network, tree, merge->b, out);
    tn_buffer_text(out, ")");
}

void tn_tree_expression(const tn_network *network, const tn_tree *tree, tn_buffer *out) {
    tn_error error;
    tn_status status = tn_tree_check(network, tree, &error);
    if (status == TN_OK)
        express(network, tree, 2 * tree->tensors - 2, out);
    else if (out->status == TN_OK)
        out->status = status;
}

/* A drawing under way; `lead` is what stands before the name on this line. */
typedef struct drawing {
    const tn_network *network;
    const tn_tree *tree;
    const tn_indices *tensor;
    const uint64_t *elements, *macs; /* of merges */
    tn_buffer *out, lead;
} drawing;

static void draw_indices(drawing *d, tn_indices indices) {
    char text[32];
    tn_buffer_text(d->out, " [");
    for (uint32_t i = 0; i < indices.count; i++)
        tn_buffer_format(d->out, "%s%s", i ? " " : "",
                         tn_network_index_name(d->network, indices.index[i], text));
    tn_buffer_text(d->out, "]\n");
}

static void draw_line(drawing *d, uint32_t tensor, const char *branch) {
    uint32_t n = d->tree->tensors;
    char text[32];
    uint64_t elements = 0;
    if (tensor < n) {
        if (tn_network_elements(d->network, d->tensor[tensor], &elements, NULL) == TN_OK)
            tn_buffer_format(d->out, "%5s %16" PRIu64 " %20s   ", "", elements, "");
        else
            tn_buffer_format(d->out, "%5s %16s %20s   ", "", "over 2^64", "");
    } else {
        tn_buffer_format(d->out, "%5" PRIu32 " %16" PRIu64 " %20" PRIu64 "   ", tensor - n + 1,
                         d->elements[tensor - n], d->macs[tensor - n]);
    }
    tn_buffer_format(d->out, "%s%s", d->lead.length ? d->lead.data : "", branch);
    if (tensor < n)
        tn_buffer_text(d->out, tn_network_tensor_name(d->network, tensor, text));
    else
        tn_buffer_text(d->out, tensor == 2 * n - 2 ? "result" : "*");
    draw_indices(d, d->tensor[tensor]);
}

static void draw_node(drawing *d, uint32_t tensor, const char *branch, const char *below) {
    draw_line(d, tensor, branch);
    if (tensor < d->tree->tensors) return;
    const tn_merge *merge = &d->tree->merge[tensor - d->tree->tensors];
    size_t length = d->lead.length;
    tn_buffer_text(&d->lead, below);
    draw_node(d, merge->a, "├─ ", "│  ");
    draw_node(d, merge->b, "└─ ", "   ");
    if (d->lead.status != TN_OK) return;
    d->lead.length = length;
    d->lead.data[length] = '\0';
}

static tn_status draw(drawing *d, tn_arena *arena) {
    tn_indices *tensor = NULL;
    uint64_t *elements = NULL, *macs = NULL;
    TN_TRY(tn_tree_tensors(d->network, d->tree, arena, &tensor, NULL));
    TN_TRY(tn_tree_merges(d->network, d->tree, arena, &elements, &macs, NULL));
    d->tensor = tensor;
    d->elements = elements;
    d->macs = macs;
    tn_buffer_format(d->out, "%5s %16s %20s   %s\n", "merge", "elements", "MACs", "tree");
    tn_buffer_bytes(&d->lead, "", 0);
    draw_node(d, 2 * d->tree->tensors - 2, "", "");
    return d->lead.status;
}

void tn_tree_draw(const tn_network *network, const tn_tree *tree, tn_buffer *out) {
    tn_arena arena = {0};
    drawing d = {.network = network, .tree = tree, .out = out};
    tn_status status = draw(&d, &arena);
    if (out->status == TN_OK) out->status = status;
    tn_buffer_free(&d.lead);
    tn_arena_free(&arena);
}
