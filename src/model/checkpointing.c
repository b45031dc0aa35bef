/* Checkpointing: the layers are cut into segments. What a segment takes from others is kept; what only its own
 * backward pass reads is made a second time, by the same operations, right before that pass begins, so it lives
 * shortly instead of through the step. The last segment is kept whole: its backward pass comes first. Chen et al.,
 * Training Deep Nets with Sublinear Memory Cost, 2016. The same operations with the same operands: no value of
 * the step changes. */
#include "model/operation.h"
#include "model/transformation.h"

typedef struct plan {
    tn_builder *b;
    const tn_operation *before;
    uint32_t operations, forward, arrays, segments;
    uint32_t *made_in; /* [arrays] the segment whose forward part makes it; TN_NONE: none does */
    bool *kept;        /* [arrays] read by the forward part of another segment, or made with what is */
    bool *copied;      /* [arrays] made a second time */
    uint32_t *copy;    /* [arrays] the array then, TN_NONE until it is there */
    bool *again;       /* [forward] the operation runs a second time */
    bool *done;        /* [segments] its operations did */
} plan;

static bool wanted(const tn_model *model) {
    return model->segments > 0;
}

static uint32_t segment_of(const plan *p, const tn_operation *operation) {
    return (uint32_t)((uint64_t)operation->layer * p->segments / p->b->model->layers);
}

static tn_status begin(plan *p) {
    tn_builder *b = p->b;
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->made_in, &p->made_in, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->kept, &p->kept, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->copied, &p->copied, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->copy, &p->copy, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->operations, sizeof *p->again, &p->again, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->segments, sizeof *p->done, &p->done, b->error));
    for (uint32_t i = 0; i < p->arrays; i++) p->made_in[i] = p->copy[i] = TN_NONE;
    return TN_OK;
}

/* What crosses from segment to segment, what losses read, and what an operation makes besides. */
static void find_kept(plan *p) {
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->before[i];
        uint32_t segment = segment_of(p, o);
        for (uint32_t k = 0; k < o->read_count; k++) {
            uint32_t from = p->made_in[o->reads[k]];
            if (from != TN_NONE && from != segment) p->kept[o->reads[k]] = true;
        }
        for (uint32_t k = 0; k < o->write_count; k++) {
            uint32_t *from = &p->made_in[o->writes[k]];
            if (*from != TN_NONE && *from != segment) p->kept[o->writes[k]] = true;
            if (*from == TN_NONE) *from = segment;
        }
    }
    for (uint32_t i = p->forward; i < p->operations; i++)
        if (p->before[i].kind == TN_OP_CROSS_ENTROPY) p->kept[p->before[i].reads[0]] = true;
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->before[i];
        bool any = false;
        for (uint32_t k = 0; k < o->write_count; k++) any |= p->kept[o->writes[k]];
        for (uint32_t k = 0; k < o->write_count; k++) p->kept[o->writes[k]] |= any;
    }
}

static bool may_be_copied(const plan *p, uint32_t array) {
    return p->made_in[array] != TN_NONE && p->made_in[array] + 1 < p->segments && !p->kept[array];
}

/* From what the backward pass reads back to what is kept. */
static void find_copied(plan *p) {
    for (uint32_t i = p->forward; i < p->operations; i++)
        for (uint32_t k = 0; k < p->before[i].read_count; k++)
            p->copied[p->before[i].reads[k]] |= may_be_copied(p, p->before[i].reads[k]);
    for (uint32_t i = p->forward; i-- > 0;) {
        const tn_operation *o = &p->before[i];
        for (uint32_t k = 0; k < o->write_count; k++) p->again[i] |= p->copied[o->writes[k]];
        for (uint32_t k = 0; p->again[i] && k < o->read_count; k++)
            p->copied[o->reads[k]] |= may_be_copied(p, o->reads[k]);
        for (uint32_t k = 0; p->again[i] && k < o->write_count; k++) p->copied[o->writes[k]] = true;
    }
}

static tn_status make_copy(plan *p, uint32_t array) {
    tn_builder *b = p->b;
    const tn_array of = b->step->array[array];
    if (!p->copied[array] || p->copy[array] != TN_NONE) return TN_OK;
    b->at = of.layer;
    TN_TRY(tn_builder_array(b, of.part, of.number, of.role, of.elements, &p->copy[array]));
    b->step->array[p->copy[array]].is_again = true;
    return TN_OK;
}

/* The operation on copies, where there are. */
static tn_status keep_renamed(plan *p, const tn_operation *given) {
    tn_operation o = *given;
    for (uint32_t k = 0; k < o.read_count; k++)
        if (p->copy[o.reads[k]] != TN_NONE) o.reads[k] = p->copy[o.reads[k]];
    for (uint32_t k = 0; k < o.write_count; k++)
        if (p->copy[o.writes[k]] != TN_NONE) o.writes[k] = p->copy[o.writes[k]];
    return tn_builder_keep(p->b, &o);
}

static tn_status run_again(plan *p, uint32_t segment) {
    p->done[segment] = true;
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->before[i];
        if (!p->again[i] || segment_of(p, o) != segment) continue;
        for (uint32_t k = 0; k < o->write_count; k++) TN_TRY(make_copy(p, o->writes[k]));
        TN_TRY(keep_renamed(p, o));
    }
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    plan p = {.b = b, .before = before, .operations = operations, .arrays = b->step->arrays};
    p.segments = b->model->segments < b->model->layers ? (uint32_t)b->model->segments : b->model->layers;
    while (p.forward < operations && before[p.forward].phase == TN_FORWARD) p.forward++;
    TN_TRY(begin(&p));
    find_kept(&p);
    find_copied(&p);
    for (uint32_t i = 0; i < p.forward; i++) TN_TRY(tn_builder_keep(b, &before[i]));
    for (uint32_t i = p.forward; i < operations; i++) {
        for (uint32_t k = 0; k < before[i].read_count; k++) {
            uint32_t array = before[i].reads[k];
            if (p.copied[array] && !p.done[p.made_in[array]]) TN_TRY(run_again(&p, p.made_in[array]));
        }
        TN_TRY(keep_renamed(&p, &before[i]));
    }
    return TN_OK;
}

static const char *const excluded[] = {"inference", NULL};

const tn_transformation tn_checkpointing = {
    .name = "checkpointing",
    .keys = "activations.segments",
    .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016",
    .needs = "nothing",
    .changes = "forward operations run a second time, before the backward pass of their segment; saved "
               "activations; no "
               "value changes",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
