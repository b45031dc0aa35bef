#include "model/recompute.h"

#include "base/checked.h"
#include "model/operation.h"

typedef struct plan {
    tn_builder *b;
    const tn_operation *before;
    uint32_t operations, forward, arrays;
    const tn_recomputation *wanted;
    uint32_t *made_in; /* [arrays] the segment whose forward part makes it; TN_NONE: none does */
    uint32_t *back_in; /* [arrays] the segment that makes it again; TN_NONE: it is kept */
    bool *copied;      /* [arrays] made again */
    uint32_t *copy;    /* [arrays] the array then, TN_NONE until it is there */
    bool *again;       /* [forward] the operation runs a second time */
    bool *done;        /* [segments] its operations did */
    uint32_t *first;   /* [segments + 1] forward operations by segment: */
    uint32_t *member;  /* member[first[s]] .. member[first[s + 1] - 1], ascending */
} plan;

uint32_t tn_recompute_forward(const tn_operation *operation, uint32_t operations) {
    uint32_t forward = 0;
    while (forward < operations && operation[forward].phase == TN_FORWARD) forward++;
    return forward;
}

static uint32_t segment_of(const plan *p, const tn_operation *operation) {
    return p->wanted->segment_of[operation->layer];
}

/* Of a segment that is a coupling. */
typedef struct coupled {
    uint32_t carry, branch, result; /* arrays */
    const tn_operation *addition;
} coupled;

static bool is_coupling(const plan *p) {
    return p->wanted->coupling != NULL;
}

/* The addition is the segment's last operation. */
static coupled coupled_of(const plan *p, uint32_t segment) {
    const tn_operation *last = &p->before[p->member[p->first[segment + 1] - 1]];
    uint32_t branch = p->wanted->coupling[segment].branch;
    return (coupled){last->reads[!branch], last->reads[branch], last->writes[0], last};
}

static tn_status list_members(plan *p) {
    tn_builder *b = p->b;
    uint32_t segments = p->wanted->segments;
    TN_TRY(tn_arena_alloc(b->arena, (size_t)segments + 2, sizeof *p->first, &p->first, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->forward, sizeof *p->member, &p->member, b->error));
    /* Counts two places up, then starts one place up, which filling moves to the ends. */
    for (uint32_t i = 0; i < p->forward; i++)
        if (segment_of(p, &p->before[i]) != TN_NONE) p->first[segment_of(p, &p->before[i]) + 2]++;
    for (uint32_t s = 0; s <= segments; s++) p->first[s + 1] += p->first[s];
    for (uint32_t i = 0; i < p->forward; i++)
        if (segment_of(p, &p->before[i]) != TN_NONE)
            p->member[p->first[segment_of(p, &p->before[i]) + 1]++] = i;
    return TN_OK;
}

static tn_status begin(plan *p) {
    tn_builder *b = p->b;
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->made_in, &p->made_in, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->back_in, &p->back_in, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->copied, &p->copied, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->arrays, sizeof *p->copy, &p->copy, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->operations, sizeof *p->again, &p->again, b->error));
    TN_TRY(tn_arena_alloc(b->arena, p->wanted->segments, sizeof *p->done, &p->done, b->error));
    for (uint32_t i = 0; i < p->arrays; i++) p->made_in[i] = p->back_in[i] = p->copy[i] = TN_NONE;
    return list_members(p);
}

/* Kept: what crosses from segment to segment, what losses read, and what an operation makes besides. The carries of
 * couplings come back from their results. */
static tn_status find_ways_back(plan *p) {
    bool *kept;
    TN_TRY(tn_arena_alloc(p->b->arena, p->arrays, sizeof *kept, &kept, p->b->error));
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->before[i];
        uint32_t segment = segment_of(p, o);
        for (uint32_t k = 0; k < o->read_count; k++) {
            uint32_t from = p->made_in[o->reads[k]];
            if (from != TN_NONE && from != segment) kept[o->reads[k]] = true;
        }
        for (uint32_t k = 0; k < o->write_count; k++) {
            uint32_t *from = &p->made_in[o->writes[k]];
            if (*from != TN_NONE && *from != segment) kept[o->writes[k]] = true;
            if (*from == TN_NONE) *from = segment;
        }
    }
    for (uint32_t i = p->forward; i < p->operations; i++)
        if (p->before[i].kind == TN_OP_CROSS_ENTROPY) kept[p->before[i].reads[0]] = true;
    for (uint32_t s = 0; is_coupling(p) && s < p->wanted->segments; s++) kept[coupled_of(p, s).result] = true;
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->before[i];
        bool any = false;
        for (uint32_t k = 0; k < o->write_count; k++) any |= kept[o->writes[k]];
        for (uint32_t k = 0; k < o->write_count; k++) kept[o->writes[k]] |= any;
    }
    for (uint32_t i = 0; i < p->arrays; i++)
        if (!kept[i]) p->back_in[i] = p->made_in[i];
    for (uint32_t s = 0; is_coupling(p) && s < p->wanted->segments; s++)
        p->back_in[coupled_of(p, s).carry] = s;
    return TN_OK;
}

static void want(plan *p, uint32_t array) {
    if (p->back_in[array] != TN_NONE) p->copied[array] = true;
}

/* Whether the segment gives its carry back: where two have the same one, the last does. */
static bool is_undone(const plan *p, uint32_t segment) {
    if (!is_coupling(p)) return false;
    uint32_t carry = coupled_of(p, segment).carry;
    return p->copied[carry] && p->back_in[carry] == segment;
}

/* From what the backward pass reads back to what is kept. A carry is wanted by earlier segments of its chain. */
static void find_copied(plan *p) {
    for (uint32_t i = p->forward; i < p->operations; i++)
        for (uint32_t k = 0; k < p->before[i].read_count; k++) want(p, p->before[i].reads[k]);
    for (uint32_t s = 0; s < p->wanted->segments; s++) {
        if (is_undone(p, s)) {
            want(p, coupled_of(p, s).branch);
            want(p, coupled_of(p, s).result);
        }
        for (uint32_t m = p->first[s + 1]; m-- > p->first[s];) {
            const tn_operation *o = &p->before[p->member[m]];
            bool *again = &p->again[p->member[m]];
            for (uint32_t k = 0; k < o->write_count; k++)
                *again |= p->copied[o->writes[k]] && p->back_in[o->writes[k]] == s;
            for (uint32_t k = 0; *again && k < o->read_count; k++) want(p, o->reads[k]);
            for (uint32_t k = 0; *again && k < o->write_count; k++) p->copied[o->writes[k]] = true;
        }
    }
}

static tn_status plan_recomputation(plan *p) {
    p->forward = tn_recompute_forward(p->before, p->operations);
    TN_TRY(begin(p));
    TN_TRY(find_ways_back(p));
    find_copied(p);
    return TN_OK;
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

static uint32_t now(const plan *p, uint32_t array) {
    return p->copy[array] != TN_NONE ? p->copy[array] : array;
}

/* The operation on copies, where there are. */
static tn_status keep_renamed(plan *p, const tn_operation *given) {
    tn_operation o = *given;
    for (uint32_t k = 0; k < o.read_count; k++) o.reads[k] = now(p, o.reads[k]);
    for (uint32_t k = 0; k < o.write_count; k++) o.writes[k] = now(p, o.writes[k]);
    return tn_builder_keep(p->b, &o);
}

static tn_status bring_back(plan *p, uint32_t segment);

/* What an operation that runs again reads of other segments. */
static tn_status bring_reads_back(plan *p, const uint32_t *reads, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (p->copied[reads[k]]) TN_TRY(bring_back(p, p->back_in[reads[k]]));
    return TN_OK;
}

/* carry = result - branch */
static tn_status undo(plan *p, uint32_t segment) {
    const coupled of = coupled_of(p, segment);
    TN_TRY(bring_reads_back(p, &of.result, 1));
    TN_TRY(make_copy(p, of.carry));
    tn_operation o = *of.addition;
    o.kind = TN_OP_SUBTRACT;
    o.reads[0] = now(p, of.result);
    o.reads[1] = now(p, of.branch);
    o.writes[0] = p->copy[of.carry];
    return tn_builder_keep(p->b, &o);
}

static tn_status run_again(plan *p, uint32_t segment) {
    p->done[segment] = true;
    for (uint32_t m = p->first[segment]; m < p->first[segment + 1]; m++) {
        const tn_operation *o = &p->before[p->member[m]];
        if (!p->again[p->member[m]]) continue;
        TN_TRY(bring_reads_back(p, o->reads, o->read_count));
        for (uint32_t k = 0; k < o->write_count; k++) TN_TRY(make_copy(p, o->writes[k]));
        TN_TRY(keep_renamed(p, o));
    }
    return is_undone(p, segment) ? undo(p, segment) : TN_OK;
}

/* Of a chain the later couplings come first. */
static tn_status bring_back(plan *p, uint32_t segment) {
    const tn_coupling *coupling = p->wanted->coupling;
    uint32_t last = segment;
    if (p->done[segment]) return TN_OK;
    while (coupling && last + 1 < p->wanted->segments && !p->done[last + 1] &&
           coupling[last + 1].chain == coupling[segment].chain)
        last++;
    for (uint32_t s = last + 1; s-- > segment;) TN_TRY(run_again(p, s));
    return TN_OK;
}

tn_status tn_recompute(tn_builder *b, const tn_operation *before, uint32_t operations,
                       const tn_recomputation *wanted) {
    plan p = {
        .b = b, .before = before, .operations = operations, .arrays = b->step->arrays, .wanted = wanted};
    TN_TRY(plan_recomputation(&p));
    for (uint32_t i = 0; i < p.forward; i++) TN_TRY(tn_builder_keep(b, &before[i]));
    for (uint32_t i = p.forward; i < operations; i++) {
        TN_TRY(bring_reads_back(&p, before[i].reads, before[i].read_count));
        TN_TRY(keep_renamed(&p, &before[i]));
    }
    return TN_OK;
}

static bool is_activation(const tn_array *array) {
    return array->role == TN_ARRAY_ACTIVATION || array->role == TN_ARRAY_INTERMEDIATE;
}

/* By whom an array of the forward pass is read behind it. */
enum { READ_BACKWARD = 1, READ_AGAIN = 2 };

static tn_status count_kept(plan *p, const bool *of, uint64_t *elements) {
    uint8_t *late;
    bool *made;
    TN_TRY(tn_arena_alloc(p->b->arena, p->arrays, sizeof *late, &late, p->b->error));
    TN_TRY(tn_arena_alloc(p->b->arena, p->arrays, sizeof *made, &made, p->b->error));
    for (uint32_t i = 0; i < p->operations; i++) {
        const tn_operation *o = &p->before[i];
        for (uint32_t k = 0; i < p->forward && k < o->write_count; k++) made[o->writes[k]] = true;
        for (uint32_t k = 0; k < o->read_count; k++)
            if (i >= p->forward || p->again[i])
                late[o->reads[k]] |= i >= p->forward ? READ_BACKWARD : READ_AGAIN;
    }
    *elements = 0;
    for (uint32_t i = 0; i < p->arrays; i++) {
        const tn_array *array = &p->b->step->array[i];
        if (!late[i] || !made[i] || p->copied[i] || !is_activation(array)) continue;
        if (!of[array->layer] && late[i] != READ_AGAIN) continue;
        if (!tn_add(*elements, array->elements, elements))
            return tn_fail(p->b->error, TN_OVERFLOW, "more than 2^64 elements are kept");
    }
    return TN_OK;
}

tn_status tn_recompute_weigh(tn_builder *b, const tn_operation *before, uint32_t operations,
                             const tn_recomputation *wanted, const bool *of, tn_recompute_cost *cost) {
    plan p = {
        .b = b, .before = before, .operations = operations, .arrays = b->step->arrays, .wanted = wanted};
    *cost = (tn_recompute_cost){0};
    TN_TRY(plan_recomputation(&p));
    for (uint32_t i = 0; i < p.forward; i++) {
        tn_operation o = before[i];
        if (!p.again[i]) continue;
        TN_TRY(tn_operation_count(&o, b->error));
        if (!tn_add(cost->flops, o.flops, &cost->flops))
            return tn_fail(b->error, TN_OVERFLOW, "more than 2^64 operations run a second time");
    }
    return count_kept(&p, of, &cost->kept_elements);
}
