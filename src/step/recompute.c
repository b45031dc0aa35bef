#include "step/recompute.h"

#include "base/checked.h"
#include "base/group.h"
#include "knapsack/allocation.h"
#include "model/operation.h"
#include "step/transformation.h"

#include <inttypes.h>

typedef struct plan {
    tn_builder *b;
    const tn_operation *earlier;
    uint32_t operations, forward, arrays;
    const tn_recomputation *wanted;
    uint32_t *made_in; /* [arrays] the segment whose forward part makes it; TN_NONE: none does */
    uint32_t *back_in; /* [arrays] the segment that makes it again; TN_NONE: it is kept */
    bool *copied;      /* [arrays] made again */
    uint32_t *copy;    /* [arrays] the array then, TN_NONE until it is there */
    bool *again;       /* [forward] the operation runs a second time */
    bool *done;        /* [segments] its operations did */
    tn_groups members; /* forward operations by segment */
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
    const tn_operation *last = &p->earlier[p->members.member[p->members.first[segment + 1] - 1]];
    uint32_t branch = p->wanted->coupling[segment].branch;
    return (coupled){last->reads[!branch], last->reads[branch], last->writes[0], last};
}

static tn_status list_members(plan *p) {
    tn_builder *b = p->b;
    uint32_t *segment;
    TN_TRY(TN_NEW(b->arena, p->forward, &segment, b->error));
    for (uint32_t i = 0; i < p->forward; i++) segment[i] = segment_of(p, &p->earlier[i]);
    return tn_group_by(segment, NULL, p->forward, p->wanted->segments, b->arena, &p->members, b->error);
}

static tn_status begin(plan *p) {
    tn_builder *b = p->b;
    TN_TRY(TN_NEW(b->arena, p->arrays, &p->made_in, b->error));
    TN_TRY(TN_NEW(b->arena, p->arrays, &p->back_in, b->error));
    TN_TRY(TN_NEW(b->arena, p->arrays, &p->copied, b->error));
    TN_TRY(TN_NEW(b->arena, p->arrays, &p->copy, b->error));
    TN_TRY(TN_NEW(b->arena, p->operations, &p->again, b->error));
    TN_TRY(TN_NEW(b->arena, p->wanted->segments, &p->done, b->error));
    for (uint32_t i = 0; i < p->arrays; i++) p->made_in[i] = p->back_in[i] = p->copy[i] = TN_NONE;
    return list_members(p);
}

/* Kept: what crosses from segment to segment, what losses read, and what an operation makes besides. The carries of
 * couplings come back from their results. */
static tn_status find_ways_back(plan *p) {
    bool *kept;
    TN_TRY(TN_NEW(p->b->arena, p->arrays, &kept, p->b->error));
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->earlier[i];
        uint32_t segment = segment_of(p, o);
        for (uint32_t k = 0; k < o->read_count; k++) {
            uint32_t start = p->made_in[o->reads[k]];
            if (start != TN_NONE && start != segment) kept[o->reads[k]] = true;
        }
        for (uint32_t k = 0; k < o->write_count; k++) {
            uint32_t *source = &p->made_in[o->writes[k]];
            if (*source != TN_NONE && *source != segment) kept[o->writes[k]] = true;
            if (*source == TN_NONE) *source = segment;
        }
    }
    for (uint32_t i = p->forward; i < p->operations; i++)
        if (p->earlier[i].kind == TN_OP_CROSS_ENTROPY) kept[p->earlier[i].reads[0]] = true;
    for (uint32_t s = 0; is_coupling(p) && s < p->wanted->segments; s++) kept[coupled_of(p, s).result] = true;
    for (uint32_t i = 0; i < p->forward; i++) {
        const tn_operation *o = &p->earlier[i];
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
        for (uint32_t k = 0; k < p->earlier[i].read_count; k++) want(p, p->earlier[i].reads[k]);
    for (uint32_t s = 0; s < p->wanted->segments; s++) {
        if (is_undone(p, s)) {
            want(p, coupled_of(p, s).branch);
            want(p, coupled_of(p, s).result);
        }
        for (uint32_t m = p->members.first[s + 1]; m-- > p->members.first[s];) {
            const tn_operation *o = &p->earlier[p->members.member[m]];
            bool *again = &p->again[p->members.member[m]];
            for (uint32_t k = 0; k < o->write_count; k++)
                *again |= p->copied[o->writes[k]] && p->back_in[o->writes[k]] == s;
            for (uint32_t k = 0; *again && k < o->read_count; k++) want(p, o->reads[k]);
            for (uint32_t k = 0; *again && k < o->write_count; k++) p->copied[o->writes[k]] = true;
        }
    }
}

static tn_status plan_recomputation(plan *p) {
    p->forward = tn_recompute_forward(p->earlier, p->operations);
    TN_TRY(begin(p));
    TN_TRY(find_ways_back(p));
    find_copied(p);
    return TN_OK;
}

static tn_status make_copy(plan *p, uint32_t array) {
    tn_builder *b = p->b;
    const tn_array this_array = b->step->array[array];
    if (!p->copied[array] || p->copy[array] != TN_NONE) return TN_OK;
    b->layer_index = this_array.layer;
    TN_TRY(tn_builder_array(b, this_array.part, this_array.number, this_array.role, this_array.elements,
                            &p->copy[array]));
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
    const coupled couple = coupled_of(p, segment);
    TN_TRY(bring_reads_back(p, &couple.result, 1));
    TN_TRY(make_copy(p, couple.carry));
    tn_operation o = *couple.addition;
    o.kind = TN_OP_SUBTRACT;
    o.reads[0] = now(p, couple.result);
    o.reads[1] = now(p, couple.branch);
    o.writes[0] = p->copy[couple.carry];
    return tn_builder_keep(p->b, &o);
}

static tn_status run_again(plan *p, uint32_t segment) {
    p->done[segment] = true;
    for (uint32_t m = p->members.first[segment]; m < p->members.first[segment + 1]; m++) {
        const tn_operation *o = &p->earlier[p->members.member[m]];
        if (!p->again[p->members.member[m]]) continue;
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

tn_status tn_recompute(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                       const tn_recomputation *wanted) {
    plan p = {
        .b = b, .earlier = earlier, .operations = operations, .arrays = b->step->arrays, .wanted = wanted};
    TN_TRY(plan_recomputation(&p));
    for (uint32_t i = 0; i < p.forward; i++) TN_TRY(tn_builder_keep(b, &earlier[i]));
    for (uint32_t i = p.forward; i < operations; i++) {
        TN_TRY(bring_reads_back(&p, earlier[i].reads, earlier[i].read_count));
        TN_TRY(keep_renamed(&p, &earlier[i]));
    }
    return TN_OK;
}

/* By whom an array of the forward pass is read behind it. */
enum { READ_BACKWARD = 1, READ_AGAIN = 2 };

static tn_status count_kept(plan *p, const bool *wanted, uint64_t *elements) {
    uint8_t *late;
    bool *made;
    TN_TRY(TN_NEW(p->b->arena, p->arrays, &late, p->b->error));
    TN_TRY(TN_NEW(p->b->arena, p->arrays, &made, p->b->error));
    for (uint32_t i = 0; i < p->operations; i++) {
        const tn_operation *o = &p->earlier[i];
        for (uint32_t k = 0; i < p->forward && k < o->write_count; k++) made[o->writes[k]] = true;
        for (uint32_t k = 0; k < o->read_count; k++)
            if (i >= p->forward || p->again[i])
                late[o->reads[k]] |= i >= p->forward ? READ_BACKWARD : READ_AGAIN;
    }
    *elements = 0;
    for (uint32_t i = 0; i < p->arrays; i++) {
        const tn_array *array = &p->b->step->array[i];
        if (!late[i] || !made[i] || p->copied[i] || !tn_role_is_activation(array->role)) continue;
        if (!wanted[array->layer] && late[i] != READ_AGAIN) continue;
        if (!tn_add(*elements, array->elements, elements))
            return tn_fail(p->b->error, TN_OVERFLOW, "more than 2^64 elements are kept");
    }
    return TN_OK;
}

static tn_status recompute_weigh(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                                 const tn_recomputation *wanted, const bool *chosen,
                                 tn_recompute_cost *cost) {
    plan p = {
        .b = b, .earlier = earlier, .operations = operations, .arrays = b->step->arrays, .wanted = wanted};
    *cost = (tn_recompute_cost){0};
    TN_TRY(plan_recomputation(&p));
    for (uint32_t i = 0; i < p.forward; i++) {
        tn_operation o = earlier[i];
        if (!p.again[i]) continue;
        TN_TRY(tn_operation_count(&o, b->error));
        if (!tn_add(cost->flops, o.flops, &cost->flops))
            return tn_fail(b->error, TN_OVERFLOW, "more than 2^64 operations run a second time");
    }
    return count_kept(&p, chosen, &cost->kept_elements);
}

/* Checkpointing: segments of layers keep what they take from others and are computed a second time right before their
 * backward pass (step/recompute.h). Segments are repetitions of blocks, single layers, or so many pieces of the whole list of layers,
 * of which the last is kept: its backward pass comes first. Chen et al., Training Deep Nets with Sublinear Memory
 * Cost, 2016. The same operations with the same operands: no value of the step changes. */

static bool is_recomputed(const tn_layer *layer) {
    return layer->activations == TN_ACTIVATIONS_RECOMPUTE ||
           layer->activations == TN_ACTIVATIONS_RECOMPUTE_LAYERS;
}

static bool checkpointing_wanted(const tn_model *model) {
    bool any = false;
    for (uint32_t i = 0; i < model->layers; i++) any |= is_recomputed(&model->layer[i]);
    return any;
}

static tn_status checkpointing_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_model *model = b->model;
    uint64_t pieces = model->keys.activations.segments;
    uint32_t *segment_of, segments = 0;
    if (pieces > model->layers) pieces = model->layers;
    TN_TRY(TN_NEW(b->arena, model->layers, &segment_of, b->error));
    for (uint32_t i = 0; i < model->layers; i++) {
        const tn_layer *layer = &model->layer[i];
        uint32_t piece = (uint32_t)(i * pieces / model->layers), owner = layer->repetition;
        if (pieces > 0) owner = piece + 1 < pieces ? piece : TN_NONE;
        if (layer->activations == TN_ACTIVATIONS_RECOMPUTE_LAYERS) owner = model->layers + i;
        segment_of[i] = is_recomputed(layer) ? owner : TN_NONE;
        if (segment_of[i] != TN_NONE && segment_of[i] >= segments) segments = segment_of[i] + 1;
    }
    return tn_recompute(b, earlier, operations, &(tn_recomputation){segments, segment_of, NULL});
}

static const char *const checkpointing_excluded[] = {"inference", NULL};

const tn_transformation tn_checkpointing = {
    .name = "checkpointing",
    .keys = "activations.policy, activations.segments",
    .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016",
    .needs = "nothing",
    .changes = "forward operations run a second time, before the backward pass of their segment; saved "
               "activations; no value changes",
    .excludes = checkpointing_excluded,
    .wanted = checkpointing_wanted,
    .apply = checkpointing_apply,
};

/* Checkpointing under a budget: of every repetition of a block, and of every layer outside one, either all activations
 * are kept, or what lies inside its layers is recomputed, or all but what enters it; together so that the fewest scalar
 * operations run a second time while what is kept stays within the budget. A multiple-choice knapsack, solved exactly
 * (knapsack/allocation.h). What one unit takes from another is kept in every case, so that the units' costs add up. */

enum { KEEP, LAYERS, WHOLE, OPTIONS };

static bool is_optimal(const tn_layer *layer) {
    return layer->activations == TN_ACTIVATIONS_OPTIMAL;
}

static bool optimal_checkpointing_wanted(const tn_model *model) {
    bool any = false;
    for (uint32_t i = 0; i < model->layers; i++) any |= is_optimal(&model->layer[i]);
    return any;
}

typedef struct units {
    tn_builder *b;
    const tn_operation *earlier;
    uint32_t operations, count;
    uint32_t *first; /* [count + 1] layers; a unit is a stretch of them */
    uint32_t *segment_of;
    bool *segment;
    size_t *first_option;
    double *flops, *bytes; /* of options */
} units;

/* Stretches of layers of one repetition, or single layers. Those of other policies are units too, with no choice. */
static tn_status find_units(units *u) {
    const tn_model *model = u->b->model;
    tn_arena *arena = u->b->arena;
    tn_error *error = u->b->error;
    TN_TRY(TN_NEW(arena, (size_t)model->layers + 1, &u->first, error));
    TN_TRY(TN_NEW(arena, model->layers, &u->segment_of, error));
    TN_TRY(TN_NEW(arena, model->layers, &u->segment, error));
    TN_TRY(TN_NEW(arena, (size_t)model->layers + 1, &u->first_option, error));
    TN_TRY(TN_NEW(arena, (size_t)model->layers * OPTIONS, &u->flops, error));
    TN_TRY(TN_NEW(arena, (size_t)model->layers * OPTIONS, &u->bytes, error));
    for (uint32_t i = 0; i < model->layers; i++) {
        bool follows = i > 0 && model->layer[i].repetition != TN_NONE &&
                       model->layer[i].repetition == model->layer[i - 1].repetition;
        if (!follows) u->first[u->count++] = i;
        u->segment_of[i] = TN_NONE;
    }
    u->first[u->count] = model->layers;
    return TN_OK;
}

/* Sets the segments of a unit's layers, numbered from *segments. */
static void choose(units *u, uint32_t unit, uint32_t option, uint32_t *segments) {
    uint32_t begin = u->first[unit], end = u->first[unit + 1];
    for (uint32_t i = begin; i < end; i++)
        u->segment_of[i] = option == KEEP ? TN_NONE : *segments + (option == LAYERS ? i - begin : 0);
    if (option != KEEP) *segments += option == LAYERS ? end - begin : 1;
}

static tn_status weigh(units *u, uint32_t unit, uint32_t option, size_t index) {
    uint32_t segments = 0, begin = u->first[unit], end = u->first[unit + 1];
    tn_recompute_cost cost;
    choose(u, unit, option, &segments);
    for (uint32_t i = begin; i < end; i++) u->segment[i] = true;
    TN_TRY(recompute_weigh(u->b, u->earlier, u->operations,
                           &(tn_recomputation){segments, u->segment_of, NULL}, u->segment, &cost));
    for (uint32_t i = begin; i < end; i++) u->segment[i] = false;
    choose(u, unit, KEEP, &segments);
    u->flops[index] = (double)cost.flops;
    u->bytes[index] = (double)cost.kept_elements * (double)u->b->step->element_bytes;
    return TN_OK;
}

static tn_status weigh_all(units *u) {
    size_t index = 0;
    for (uint32_t unit = 0; unit < u->count; unit++) {
        uint32_t layers = u->first[unit + 1] - u->first[unit];
        uint32_t options = !is_optimal(&u->b->model->layer[u->first[unit]]) ? 1
                           : layers > 1                                     ? OPTIONS
                                                                            : WHOLE;
        u->first_option[unit] = index;
        for (uint32_t option = 0; option < options; option++) TN_TRY(weigh(u, unit, option, index++));
    }
    u->first_option[u->count] = index;
    return TN_OK;
}

/* Where nothing fits: how little is possible. */
static tn_status refuse(const units *u, uint64_t budget) {
    double least = 0;
    for (uint32_t unit = 0; unit < u->count; unit++) {
        double bytes = u->bytes[u->first_option[unit]];
        for (size_t i = u->first_option[unit]; i < u->first_option[unit + 1]; i++)
            if (u->bytes[i] < bytes) bytes = u->bytes[i];
        least += bytes;
    }
    return tn_fail_at(u->b->error, TN_INPUT, u->b->model->keys.activations.budget_at,
                      "\"budget_bytes\" of activations is %" PRIu64
                      "; with all that can be recomputed, %.0f bytes are kept",
                      budget, least);
}

static tn_status optimal_checkpointing_apply(tn_builder *b, const tn_operation *earlier,
                                             uint32_t operations) {
    units u = {.b = b, .earlier = earlier, .operations = operations};
    const double budget = (double)b->model->keys.activations.budget_bytes;
    tn_allocation best = {0};
    uint32_t segments = 0;
    TN_TRY(find_units(&u));
    TN_TRY(weigh_all(&u));
    const tn_knapsack choices = {.layers = u.count,
                                 .costs = 1,
                                 .first = u.first_option,
                                 .objective = u.flops,
                                 .cost = u.bytes,
                                 .step = 1};
    TN_TRY(tn_allocate(&choices, &budget, 0, &best, b->error));
    tn_status status = TN_OK;
    if (best.found)
        for (uint32_t unit = 0; unit < u.count; unit++)
            choose(&u, unit, (uint32_t)best.choice[unit], &segments);
    else
        status = refuse(&u, b->model->keys.activations.budget_bytes);
    tn_allocation_free(&best);
    if (status != TN_OK) return status;
    return tn_recompute(b, earlier, operations, &(tn_recomputation){segments, u.segment_of, NULL});
}

static const char *const optimal_checkpointing_excluded[] = {"inference", NULL};

const tn_transformation tn_optimal_checkpointing = {
    .name = "optimal-checkpointing",
    .keys = "activations.policy, activations.budget_bytes",
    .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016; the choice is a knapsack",
    .needs = "nothing",
    .changes =
        "as checkpointing, of those blocks and layers whose recomputation costs least within the budget",
    .excludes = optimal_checkpointing_excluded,
    .wanted = optimal_checkpointing_wanted,
    .apply = optimal_checkpointing_apply,
};
