#include "flow/exact_live.h"

#include "base/interrupt.h"
#include "flow/profile.h"
#include "flow/queue.h"

#include <string.h>

#define NONE UINT32_MAX

enum {
    FIRST_CAPACITY = 128,
    INTERRUPT_EVERY = 1024,
    OFFER_WORK = 200,      /* what costing a merge takes beside looking at a pair */
    LABELS_MOST = 1 << 21, /* about 400 MB */
};

/* A set of tensors with the trees kept for it, a list of labels. */
typedef struct node {
    uint64_t set, open, size;
    uint32_t first_label;
} node;

/* One tree of a set. */
typedef struct label {
    uint64_t macs;
    tn_profile profile;
    uint32_t node, next; /* next label of the node */
    uint32_t left, right;
    bool dominated; /* by a label found later: not to be finished */
} label;

typedef struct engine {
    const tn_problem *problem;
    const tn_live_options *options;
    tn_arena *arena;
    tn_error *error;
    uint32_t nodes, node_capacity, labels, label_capacity, done, done_capacity;
    node *node;
    label *label;
    uint64_t *done_set, *done_open; /* of the finished labels */
    uint32_t *done_label;
    tn_set_map number_of;
    tn_queue waiting;
    uint64_t peak_most, work;
    size_t points, point_capacity;
    tn_live_point *point;
} engine;

/* Makes room for one more item, in an arena: a wider copy. */
static tn_status widen(engine *e, void *items, uint32_t count, uint32_t *capacity, size_t size) {
    void *old, *fresh = NULL;
    uint32_t wider = *capacity ? 4 * *capacity : FIRST_CAPACITY;
    memcpy(&old, items, sizeof old);
    TN_TRY(tn_arena_alloc(e->arena, wider, size, &fresh, e->error));
    if (count) memcpy(fresh, old, count * size);
    memcpy(items, &fresh, sizeof fresh);
    *capacity = wider;
    return TN_OK;
}

static tn_status add_node(engine *e, uint64_t set, uint64_t open, uint32_t *number) {
    if (e->nodes == e->node_capacity)
        TN_TRY(widen(e, &e->node, e->nodes, &e->node_capacity, sizeof *e->node));
    *number = e->nodes++;
    e->node[*number] = (node){set, open, tn_problem_product(e->problem, open), NONE};
    return tn_set_map_add(&e->number_of, set, *number, e->arena, e->error);
}

/* By MACs, then peak. Or by peak, with all peaks up to the floor alike, larger sets first: that leads
 * straight to a whole tree where one meets the floor. */
static tn_status queue_label(engine *e, uint32_t number) {
    const label *l = &e->label[number];
    uint64_t peak = tn_profile_peak(&l->profile), floor = e->options->peak_floor;
    tn_queued item = {l->macs, peak, number};
    if (e->options->goal == TN_LIVE_LEAST_PEAK) {
        item.key = peak > floor ? peak : floor;
        item.second = TN_PROBLEM_TENSORS - (uint32_t)__builtin_popcountll(e->node[l->node].set);
    }
    return tn_queue_push(&e->waiting, item, e->arena, e->error);
}

static tn_status add_label(engine *e, label fresh) {
    if (e->labels == e->label_capacity)
        TN_TRY(widen(e, &e->label, e->labels, &e->label_capacity, sizeof *e->label));
    fresh.next = e->node[fresh.node].first_label;
    e->node[fresh.node].first_label = e->labels;
    e->label[e->labels] = fresh;
    return queue_label(e, e->labels++);
}

static bool no_worse(const engine *e, const label *a, const label *b) {
    if (e->options->goal != TN_LIVE_LEAST_PEAK && a->macs > b->macs) return false;
    return tn_profile_dominates(&a->profile, &b->profile);
}

/* True if the label is dominated by one that its node has; marks those that it dominates. */
static bool is_dominated(engine *e, const label *fresh) {
    for (uint32_t i = e->node[fresh->node].first_label; i != NONE; i = e->label[i].next, e->work++)
        if (!e->label[i].dominated && no_worse(e, &e->label[i], fresh)) return true;
    for (uint32_t i = e->node[fresh->node].first_label; i != NONE; i = e->label[i].next)
        if (no_worse(e, fresh, &e->label[i])) e->label[i].dominated = true;
    return false;
}

/* Once all is merged nothing is executed beside it: the peak alone matters. */
static void keep_peak_only(tn_profile *profile) {
    profile->segment[0].valley = 0;
    profile->count = 1;
}

/* The profile of merging a and b; false where it is over the bound. */
static bool merged_profile(const engine *e, const label *a, const label *b, uint64_t size, bool whole,
                           tn_segment *segment, tn_profile *profile) {
    profile->segment = segment;
    if (size > e->peak_most || !tn_profile_merge(&a->profile, &b->profile, size, 0, NULL, profile))
        return false;
    if (whole) keep_peak_only(profile);
    return tn_profile_peak(profile) <= e->peak_most;
}

static tn_status offer(engine *e, uint32_t a, uint32_t b) {
    tn_segment segment[2 * TN_PROBLEM_TENSORS];
    const node *node_a = &e->node[e->label[a].node], *node_b = &e->node[e->label[b].node];
    uint64_t set = node_a->set | node_b->set, united = node_a->open | node_b->open;
    bool turned = tn_lowest(node_a->set) > tn_lowest(node_b->set);
    label fresh = {.left = turned ? b : a, .right = turned ? a : b};
    e->work += OFFER_WORK;
    fresh.macs = tn_saturating_add(tn_saturating_add(e->label[a].macs, e->label[b].macs),
                                   tn_problem_product(e->problem, united));
    if (fresh.macs == UINT64_MAX) return TN_OK;
    fresh.node = tn_set_map_find(&e->number_of, set);
    if (fresh.node == TN_SET_MAP_NONE)
        TN_TRY(add_node(e, set, tn_problem_open(e->problem, united, set), &fresh.node));
    if (!merged_profile(e, &e->label[a], &e->label[b], e->node[fresh.node].size, set == e->problem->all,
                        segment, &fresh.profile))
        return TN_OK;
    if (is_dominated(e, &fresh)) return TN_OK;
    size_t bytes = fresh.profile.count * sizeof *segment;
    TN_TRY(tn_arena_alloc(e->arena, 1, bytes, &fresh.profile.segment, e->error));
    memcpy(fresh.profile.segment, segment, bytes);
    return add_label(e, fresh);
}

static tn_status finish(engine *e, uint32_t number) {
    const node *own = &e->node[e->label[number].node];
    uint64_t set = own->set, open = own->open;
    for (uint32_t i = 0; i < e->done; i++)
        if (!(e->done_set[i] & set) && (!e->options->no_outer || e->done_open[i] & open))
            TN_TRY(offer(e, number, e->done_label[i]));
    e->work += e->done;
    if (e->done == e->done_capacity) {
        uint32_t capacity = e->done_capacity, same = capacity;
        TN_TRY(widen(e, &e->done_set, e->done, &capacity, sizeof *e->done_set));
        capacity = same;
        TN_TRY(widen(e, &e->done_open, e->done, &capacity, sizeof *e->done_open));
        TN_TRY(widen(e, &e->done_label, e->done, &e->done_capacity, sizeof *e->done_label));
    }
    e->done_set[e->done] = set;
    e->done_open[e->done] = open;
    e->done_label[e->done++] = number;
    return TN_OK;
}

static tn_status add_tensors(engine *e) {
    uint32_t n = e->problem->tensors;
    for (uint32_t t = 0; t < n; t++) {
        uint32_t number;
        TN_TRY(add_node(e, (uint64_t)1 << t, e->problem->tensor[t], &number));
        TN_TRY(add_label(e, (label){.node = number, .left = NONE, .right = NONE}));
    }
    e->waiting.count = 0; /* tensors are finished as they are */
    for (uint32_t t = 0; t < n; t++) TN_TRY(finish(e, t));
    return TN_OK;
}

/* Writes the merges of the label's tree behind the `count` there are; returns what its result is called. */
static uint32_t write_merges(const engine *e, uint32_t number, uint32_t *count, tn_merge *merge) {
    if (number < e->problem->tensors) return number;
    uint32_t a = write_merges(e, e->label[number].left, count, merge);
    uint32_t b = write_merges(e, e->label[number].right, count, merge);
    merge[*count] = (tn_merge){a, b};
    return e->problem->tensors + (*count)++;
}

static tn_status add_point(engine *e, uint32_t number) {
    uint32_t count = 0;
    if (e->points == e->point_capacity) {
        uint32_t capacity = (uint32_t)e->point_capacity;
        TN_TRY(widen(e, &e->point, (uint32_t)e->points, &capacity, sizeof *e->point));
        e->point_capacity = capacity;
    }
    tn_live_point *point = &e->point[e->points++];
    point->macs = e->label[number].macs;
    point->peak = tn_profile_peak(&e->label[number].profile);
    TN_TRY(TN_NEW(e->arena, e->problem->tensors, &point->merge, e->error));
    write_merges(e, number, &count, point->merge);
    return TN_OK;
}

/* A finished tree of all tensors; *last if the goal needs no more. */
static tn_status reach(engine *e, uint32_t number, bool *last) {
    uint64_t peak = tn_profile_peak(&e->label[number].profile);
    TN_TRY(add_point(e, number));
    *last = e->options->goal != TN_LIVE_FRONT || peak <= e->options->peak_floor || peak == 0;
    e->peak_most = peak - 1; /* whatever follows has no fewer MACs */
    return TN_OK;
}

static tn_status run(engine *e, tn_live_result *result) {
    bool last = false;
    TN_TRY(add_tensors(e));
    for (uint32_t rounds = 1; e->waiting.count && !last; rounds++) {
        tn_queued next = tn_queue_pop(&e->waiting);
        const label *l = &e->label[next.number];
        if (l->dominated || tn_profile_peak(&l->profile) > e->peak_most) continue;
        result->level = next.key;
        if (e->node[l->node].set == e->problem->all) {
            TN_TRY(reach(e, next.number, &last));
        } else if (e->work > e->options->work_most || e->labels > LABELS_MOST ||
                   (rounds % INTERRUPT_EVERY == 0 && tn_interrupted())) {
            return TN_OK;
        } else {
            TN_TRY(finish(e, next.number));
        }
    }
    result->complete = true;
    return TN_OK;
}

tn_status tn_exact_live_search(const tn_problem *problem, const tn_live_options *options, tn_arena *arena,
                               tn_live_result *result, tn_error *error) {
    engine e = {.problem = problem,
                .options = options,
                .arena = arena,
                .error = error,
                .peak_most = options->peak_most};
    *result = (tn_live_result){0};
    TN_TRY(run(&e, result));
    result->count = e.points;
    result->point = e.point;
    result->work = e.work;
    return TN_OK;
}
