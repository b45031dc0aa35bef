#include "train/experts.h"

#include "model/graph.h"
#include "model/operation.h"

#include <string.h>

static char *values_of(const tn_step_run *r, uint32_t array) {
    return tn_array_values(r, array);
}

static uint64_t elements_of(const tn_step_run *r, uint32_t array) {
    return r->sized->lowered.step.array[array].elements;
}

static uint64_t length_of(const tn_step_run *r, uint64_t example, uint64_t tokens) {
    const uint64_t length = r->t->batch.length[example];
    return length < tokens ? length : tokens;
}

static tn_route_counts *counts_of(const tn_trainer *t, uint32_t layer) {
    for (size_t i = 0; i < t->routes; i++)
        if (t->route[i].layer == layer) return &t->route[i];
    return NULL;
}

tn_status tn_make_routes(tn_trainer *t, tn_error *error) {
    uint64_t most = 0;
    for (int counted = 0; counted < 2; counted++) {
        t->routes = 0;
        for (uint32_t i = 0; i < t->whole->lowered.step.operations; i++) {
            const tn_operation *o = &t->whole->lowered.step.operation[i];
            if (o->kind != TN_OP_ROUTE) continue;
            if (counted) {
                tn_route_counts *route = &t->route[t->routes];
                *route = (tn_route_counts){.layer = o->layer,
                                           .name = t->whole->lowered.step.layer[o->layer].name,
                                           .experts = o->routing->experts,
                                           .top = o->routing->top};
                TN_TRY(TN_NEW(&t->arena, route->experts, &route->tokens, error));
                TN_TRY(TN_NEW(&t->arena, route->experts, &route->dropped, error));
            }
            if (o->routing->experts > most) most = o->routing->experts;
            t->routes++;
        }
        if (!counted) TN_TRY(TN_NEW(&t->arena, t->routes, &t->route, error));
    }
    TN_TRY(TN_NEW(&t->arena, most, &t->chosen, error));
    TN_TRY(TN_NEW(&t->arena, most, &t->share, error));
    return TN_NEW(&t->arena, most, &t->gate, error);
}

size_t tn_trainer_routes(const tn_trainer *t) {
    return t->routes;
}

const tn_route_counts *tn_trainer_route(const tn_trainer *t, size_t position) {
    return &t->route[position];
}

void tn_trainer_reset_routes(tn_trainer *t) {
    for (size_t i = 0; i < t->routes; i++) {
        memset(t->route[i].tokens, 0, t->route[i].experts * sizeof *t->route[i].tokens);
        memset(t->route[i].dropped, 0, t->route[i].experts * sizeof *t->route[i].dropped);
    }
}

/* Choices of one example: added to share[experts], or to the router's counts. */
static void count_choices(const tn_step_run *r, const tn_operation *o, const char *gates, uint64_t tokens,
                          double *share, tn_route_counts *counts) {
    const tn_routing *how = o->routing;
    for (uint64_t e = 0; e < how->experts; e++) {
        uint64_t chosen = 0;
        for (uint64_t i = 0; i < tokens; i++) {
            r->t->kernels->to_double(gates + (i * how->experts + e) * r->t->kernels->bytes, r->t->gate, 1);
            chosen += r->t->gate[0] != 0;
        }
        if (share) share[e] += (double)chosen;
        if (counts) counts->tokens[e] += chosen;
        if (counts && chosen > how->rows) counts->dropped[e] += chosen - how->rows;
    }
}

static void route(const tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const uint64_t tokens = o->rows / r->sized->batch;
    const size_t example = tokens * o->columns * k->bytes;
    const bool again = r->sized->lowered.step.array[o->writes[0]].is_again; /* counted in the forward phase */
    tn_route_counts *counts = again ? NULL : counts_of(r->t, o->layer);
    for (uint64_t e = 0; e < r->sized->batch; e++) {
        char *gates = values_of(r, o->writes[0]) + e * example;
        const uint64_t length = length_of(r, e, tokens);
        k->route(gates, values_of(r, o->reads[0]) + e * example, o->routing, tokens, length, r->t->chosen);
        if (counts) count_choices(r, o, gates, length, NULL, counts);
    }
}

/* The balance's slope for a probability of a token: balance x experts x share of choices / tokens of the step. */
static void find_slopes(const tn_step_run *r, const tn_operation *o) {
    const tn_routing *how = o->routing;
    const uint64_t tokens = o->rows / r->sized->batch;
    uint64_t all = 0;
    memset(r->t->share, 0, how->experts * sizeof *r->t->share);
    if (how->balance == 0) return;
    for (uint64_t e = 0; e < r->sized->batch; e++) {
        const uint64_t length = length_of(r, e, tokens);
        count_choices(r, o, values_of(r, o->reads[2]) + e * tokens * o->columns * r->t->kernels->bytes,
                      length, r->t->share, NULL);
        all += length;
    }
    for (uint64_t e = 0; e < how->experts; e++)
        r->t->share[e] *=
            how->balance * (double)how->experts / ((double)all * (double)how->top * (double)all);
}

void tn_run_route(const tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const uint64_t tokens = o->rows / r->sized->batch;
    if (o->kind == TN_OP_ROUTE) {
        route(r, o);
        return;
    }
    find_slopes(r, o);
    for (uint64_t e = 0; e < r->sized->batch; e++) {
        const size_t example = e * tokens * o->columns * k->bytes;
        const void *subject[3];
        for (int i = 0; i < 3; i++) subject[i] = values_of(r, o->reads[i]) + example;
        k->route_gradient(values_of(r, o->writes[0]) + example, subject, o->routing, tokens,
                          length_of(r, e, tokens), r->t->share);
    }
}

void tn_run_routed(const tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const uint64_t batch = r->sized->batch, gates = o->reads[o->kind == TN_OP_GATE_GRADIENT ? 2 : 1],
                   tokens = elements_of(r, (uint32_t)gates) / o->routing->experts / batch;
    if (tn_operation_begins_at_zero(o))
        memset(values_of(r, o->writes[0]), 0, elements_of(r, o->writes[0]) * k->bytes);
    for (uint64_t e = 0; e < batch; e++) {
        const void *subject[3] = {NULL};
        for (uint32_t i = 0; i < o->read_count && i < 3; i++)
            subject[i] = values_of(r, o->reads[i]) + e * (elements_of(r, o->reads[i]) / batch) * k->bytes;
        k->move_routed(o->kind,
                       values_of(r, o->writes[0]) + e * (elements_of(r, o->writes[0]) / batch) * k->bytes,
                       subject, o->routing, tokens, o->columns);
    }
}

/* Whether the array holds an example's part behind another's. */
static bool is_of_examples(const tn_step_run *r, uint32_t array) {
    return tn_role_is_activation(r->sized->lowered.step.array[array].role);
}

void tn_run_sequence(const tn_step_run *r, const tn_operation *o) {
    const tn_kernels *k = r->t->kernels;
    const tn_layer *layer = &r->t->model->layer[o->layer];
    const uint64_t batch = r->sized->batch;
    const tn_sequence how = {
        .tokens = o->rows / layer->width / batch, .features = layer->width, .depth = o->columns};
    for (uint32_t i = 0; i < o->write_count; i++)
        if (!is_of_examples(r, o->writes[i]))
            memset(values_of(r, o->writes[i]), 0, elements_of(r, o->writes[i]) * k->bytes);
    for (uint64_t e = 0; e < batch; e++) {
        const void *subject[TN_OPERATION_READS];
        void *out[TN_OPERATION_WRITES];
        for (uint32_t i = 0; i < o->read_count; i++)
            subject[i] =
                values_of(r, o->reads[i]) +
                (is_of_examples(r, o->reads[i]) ? e * (elements_of(r, o->reads[i]) / batch) * k->bytes : 0);
        for (uint32_t i = 0; i < o->write_count; i++)
            out[i] =
                values_of(r, o->writes[i]) +
                (is_of_examples(r, o->writes[i]) ? e * (elements_of(r, o->writes[i]) / batch) * k->bytes : 0);
        if (o->kind == TN_OP_CAUSAL_CONV)
            k->causal_conv(out[0], subject, &how);
        else
            (o->kind == TN_OP_CAUSAL_CONV_GRADIENT ? k->causal_conv_gradient
             : o->kind == TN_OP_SCAN               ? k->scan
                                                   : k->scan_gradient)(out, subject, &how);
    }
}
