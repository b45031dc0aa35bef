#include "program/training_plan.h"

#include "base/memory.h"
#include "program/program_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NO_ITEM = UINT16_MAX };

static uint64_t bit(uint32_t position) {
    return UINT64_C(1) << position;
}

/* The closed network has the tensors of `network`, then its output as a tensor; `room` holds them. */
static tn_network close_network(const tn_network *network, tn_indices room[TN_TRAINING_MOST + 1]) {
    tn_network closed = *network;
    memcpy(room, network->tensor, network->tensors * sizeof *room);
    room[network->tensors] = network->output;
    closed.tensor = room;
    closed.tensors++;
    closed.tensor_name = NULL;
    closed.output = (tn_indices){0};
    return closed;
}

/* Groups on the contraction of the set. */
static uint64_t open_groups(const tn_problem *problem, uint64_t set) {
    uint64_t united = 0;
    for (uint64_t rest = set; rest; rest &= rest - 1) united |= problem->tensor[__builtin_ctzll(rest)];
    return tn_problem_open(problem, united, set);
}

static uint64_t groups_of(const tn_closed *closed, uint64_t set) {
    return closed->leaves <= TN_TRAINING_EXACT ? closed->open[set] : open_groups(&closed->problem, set);
}

tn_status tn_closed_of(const tn_network *network, const tn_training_options *options, tn_closed *closed,
                       tn_error *error) {
    tn_indices room[TN_TRAINING_MOST + 1];
    uint32_t n = network->tensors;
    if (n < 2)
        return tn_fail(error, TN_INPUT, "a network of one tensor has no product; it needs two at least");
    if (n > TN_TRAINING_MOST)
        return tn_fail(error, TN_LIMIT, "a training flow over %" PRIu32 " tensors; at most %d", n,
                       TN_TRAINING_MOST);
    tn_network whole = close_network(network, room);
    *closed = (tn_closed){.leaves = n, .wanted = bit(n) - 1, .micro_batches = 1};
    if (options && options->no_input_gradient) closed->wanted ^= 1;
    if (options && options->micro_batches) closed->micro_batches = options->micro_batches;
    if (!tn_problem_of(&whole, false, &closed->problem))
        return tn_fail(error, TN_LIMIT, "a training flow over more than %d kinds of indices",
                       TN_PROBLEM_GROUPS);
    for (uint64_t set = 0; n <= TN_TRAINING_EXACT && set <= closed->problem.all; set++)
        closed->open[set] = open_groups(&closed->problem, set);
    return TN_OK;
}

uint64_t tn_closed_elements(const tn_closed *closed, uint64_t set) {
    return tn_problem_product(&closed->problem, groups_of(closed, set));
}

uint64_t tn_closed_macs(const tn_closed *closed, uint64_t a, uint64_t b) {
    return tn_problem_product(&closed->problem, groups_of(closed, a) | groups_of(closed, b));
}

void tn_set_tree_of(const tn_tree *tree, tn_set_tree *sets) {
    uint32_t n = tree->tensors;
    sets->leaves = n;
    for (uint32_t i = 0; i + 1 < n; i++) {
        const tn_merge *merge = &tree->merge[i];
        sets->a[i] = (uint8_t)merge->a;
        sets->b[i] = (uint8_t)merge->b;
        sets->set[i] = (merge->a < n ? bit(merge->a) : sets->set[merge->a - n]) |
                       (merge->b < n ? bit(merge->b) : sets->set[merge->b - n]);
    }
}

static uint64_t set_of(const tn_set_tree *tree, uint32_t node) {
    return node < tree->leaves ? bit(node) : tree->set[node - tree->leaves];
}

/* A plan being written out. */
typedef struct writing {
    const tn_training_plan *plan;
    tn_flow_steps *flow;
    uint16_t forward[TN_TRAINING_MOST];  /* items of the forward tree's merges */
    uint16_t up[2 * TN_TRAINING_MOST];   /* items of the backward tree's nodes */
    uint16_t down[2 * TN_TRAINING_MOST]; /* and of their gradients */
} writing;

static uint16_t add_item(tn_flow_steps *flow, uint64_t set, tn_role role, tn_part made_in) {
    tn_training_plan_item *item = &flow->item[flow->items];
    *item = (tn_training_plan_item){.set = set, .role = role, .made_in = (uint8_t)made_in};
    item->elements = tn_closed_elements(flow->closed, set);
    return (uint16_t)flow->items++;
}

static uint16_t add_step(tn_flow_steps *flow, uint16_t a, uint16_t b, tn_part part, tn_role role) {
    uint64_t on_a = flow->item[a].set, on_b = flow->item[b].set;
    tn_training_plan_step *step = &flow->step[flow->steps++];
    *step = (tn_training_plan_step){.a = a, .b = b, .part = (uint8_t)part};
    step->macs = tn_closed_macs(flow->closed, on_a, on_b);
    step->out = add_item(flow, on_a | on_b, role, part);
    flow->item[a].read_in[part] = flow->item[b].read_in[part] = true;
    return step->out;
}

/* Where the value of a set is made once for all micro-batches. */
static bool is_shared(const tn_training_plan *plan, uint64_t set) {
    for (uint64_t rest = plan->shared; rest; rest &= rest - 1)
        if (!(set & ~plan->backward->set[__builtin_ctzll(rest)])) return true;
    return false;
}

static void write_forward(writing *w) {
    const tn_set_tree *tree = w->plan->forward;
    uint32_t n = tree->leaves;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint16_t a = tree->a[i] < n ? tree->a[i] : w->forward[tree->a[i] - n];
        uint16_t b = tree->b[i] < n ? tree->b[i] : w->forward[tree->b[i] - n];
        tn_part part = is_shared(w->plan, tree->set[i]) ? TN_PRELUDE : TN_FORWARD_PART;
        w->forward[i] = add_step(w->flow, a, b, part, i + 2 == n ? TN_ROLE_Y : TN_ROLE_INTERMEDIATE);
    }
}

/* The forward phase's item of a value, or NO_ITEM. */
static uint16_t made_forward(const writing *w, uint64_t set) {
    const tn_set_tree *tree = w->plan->forward;
    for (uint32_t i = 0; i + 2 < tree->leaves; i++)
        if (tree->set[i] == set) return w->forward[i];
    return NO_ITEM;
}

/* dX needs this item: so it needs the steps of the backward pass that make it. */
static void mark_for_input(tn_flow_steps *flow, uint16_t item) {
    uint32_t inputs = flow->closed->leaves + 1;
    if (item < inputs) return;
    tn_training_plan_step *step = &flow->step[item - inputs];
    if (step->part != TN_BACKWARD_PART || step->for_input) return;
    step->for_input = true;
    mark_for_input(flow, step->a);
    mark_for_input(flow, step->b);
}

/* The value of a node of the backward tree: kept, shared, or recomputed. */
static uint16_t value_of(writing *w, uint32_t node) {
    const tn_set_tree *tree = w->plan->backward;
    uint32_t n = tree->leaves;
    if (w->up[node] != NO_ITEM) return w->up[node];
    uint32_t merge = node - n;
    uint16_t before = made_forward(w, tree->set[merge]);
    if (((w->plan->kept | w->plan->shared) >> merge & 1) && before != NO_ITEM) return w->up[node] = before;
    uint16_t a = value_of(w, tree->a[merge]), b = value_of(w, tree->b[merge]);
    tn_part part = is_shared(w->plan, tree->set[merge]) ? TN_EPILOGUE : TN_BACKWARD_PART;
    w->up[node] = add_step(w->flow, a, b, part, TN_ROLE_INTERMEDIATE);
    w->flow->step[w->flow->steps - 1].recomputed = before != NO_ITEM;
    return w->up[node];
}

static void write_gradient(writing *w, uint32_t parent, uint32_t child, uint32_t sibling) {
    const tn_set_tree *tree = w->plan->backward;
    uint32_t n = tree->leaves;
    uint64_t wanted = w->flow->closed->wanted, set = set_of(tree, child);
    if (!(set & wanted)) return;
    tn_role role = child == 0 ? TN_ROLE_DX : child < n ? TN_ROLE_CORE_GRADIENT : TN_ROLE_INTERMEDIATE;
    tn_part part = is_shared(w->plan, set_of(tree, parent)) ? TN_EPILOGUE : TN_BACKWARD_PART;
    w->down[child] = add_step(w->flow, w->down[parent], value_of(w, sibling), part, role);
}

static void write_backward(writing *w) {
    const tn_set_tree *tree = w->plan->backward;
    uint32_t n = tree->leaves;
    memset(w->up, 0xff, sizeof w->up);
    memset(w->down, 0xff, sizeof w->down);
    for (uint32_t t = 0; t < n; t++) w->up[t] = (uint16_t)t;
    w->down[2 * n - 2] = (uint16_t)n; /* dY */
    for (uint32_t i = n - 1; i-- > 0;) {
        if (w->down[n + i] == NO_ITEM) continue;
        write_gradient(w, n + i, tree->a[i], tree->b[i]);
        write_gradient(w, n + i, tree->b[i], tree->a[i]);
    }
    if (w->down[0] != NO_ITEM) mark_for_input(w->flow, w->down[0]);
}

/* The role of what a step of the backward pass makes: by the one leaf that it lacks, if it is one. */
static tn_role role_of(const tn_closed *closed, uint64_t set) {
    uint64_t lacks = closed->problem.all & ~set;
    if (lacks & (lacks - 1)) return TN_ROLE_INTERMEDIATE;
    return lacks == 1 ? TN_ROLE_DX : TN_ROLE_CORE_GRADIENT;
}

/* Whether the value is kept from the forward phase, in a plan of pairs. */
static bool is_kept(const tn_training_plan *plan, uint64_t set) {
    for (uint64_t rest = plan->kept; rest; rest &= rest - 1)
        if (plan->forward->set[__builtin_ctzll(rest)] == set) return true;
    return false;
}

/* The item that the backward pass has for a set: a single tensor, kept, or made by a pair before. */
static uint16_t find_listed(const writing *w, uint64_t set) {
    const tn_flow_steps *flow = w->flow;
    bool kept = is_kept(w->plan, set);
    for (uint32_t i = 0; i < flow->items; i++) {
        const tn_training_plan_item *item = &flow->item[i];
        bool usable = item->made_in == TN_PARTS || item->made_in == TN_BACKWARD_PART || kept;
        if (item->set == set && usable) return (uint16_t)i;
    }
    return NO_ITEM;
}

static void write_pairs(writing *w) {
    uint16_t dx = NO_ITEM;
    for (uint32_t i = 0; i < w->plan->pairs; i++) {
        const tn_set_pair *pair = &w->plan->pair[i];
        uint64_t set = pair->a | pair->b;
        tn_role role = role_of(w->flow->closed, set);
        uint16_t a = find_listed(w, pair->a), b = find_listed(w, pair->b);
        uint16_t out = add_step(w->flow, a, b, TN_BACKWARD_PART, role);
        w->flow->step[w->flow->steps - 1].recomputed = made_forward(w, set) != NO_ITEM;
        if (role == TN_ROLE_DX) dx = out;
    }
    if (dx != NO_ITEM) mark_for_input(w->flow, dx);
}

static void add_times(uint64_t *sum, uint64_t macs, uint64_t times) {
    *sum = tn_saturating_add(*sum, tn_saturating_mul(macs, times));
}

static bool is_saved(const tn_training_plan_item *item) {
    if (item->role != TN_ROLE_INTERMEDIATE) return false;
    if (item->made_in == TN_PRELUDE)
        return item->read_in[TN_FORWARD_PART] || item->read_in[TN_BACKWARD_PART] ||
               item->read_in[TN_EPILOGUE];
    return item->made_in == TN_FORWARD_PART && item->read_in[TN_BACKWARD_PART];
}

static void sum_up(tn_flow_steps *flow) {
    flow->forward_macs = flow->backward_macs = flow->saved_elements = 0;
    for (uint32_t s = 0; s < flow->steps; s++) {
        const tn_training_plan_step *step = &flow->step[s];
        bool once = step->part == TN_PRELUDE || step->part == TN_EPILOGUE,
             forward = step->part <= TN_FORWARD_PART;
        add_times(forward ? &flow->forward_macs : &flow->backward_macs, step->macs,
                  once ? 1 : flow->closed->micro_batches);
    }
    flow->total_macs = tn_saturating_add(flow->forward_macs, flow->backward_macs);
    for (uint32_t i = 0; i < flow->items; i++)
        if (is_saved(&flow->item[i])) add_times(&flow->saved_elements, flow->item[i].elements, 1);
}

void tn_training_plan_write(const tn_training_plan *plan, tn_flow_steps *flow) {
    writing w = {.plan = plan, .flow = flow};
    uint32_t n = plan->closed->leaves;
    flow->closed = plan->closed;
    flow->items = flow->steps = 0;
    add_item(flow, 1, TN_ROLE_X, TN_PARTS);
    for (uint32_t t = 1; t < n; t++) add_item(flow, bit(t), TN_ROLE_CORE, TN_PARTS);
    add_item(flow, bit(n), TN_ROLE_DY, TN_PARTS);
    write_forward(&w);
    if (plan->backward)
        write_backward(&w);
    else
        write_pairs(&w);
    sum_up(flow);
}

/* Summed over micro-batches: core gradients of the body, and what of it the epilogue reads. */
static bool is_sum(const tn_flow_steps *flow, const tn_training_plan_item *item) {
    return flow->closed->micro_batches > 1 && item->made_in == TN_BACKWARD_PART &&
           (item->role == TN_ROLE_CORE_GRADIENT || item->read_in[TN_EPILOGUE]);
}

/* Whether the item is live when the part begins. */
static bool is_live_before(const tn_flow_steps *flow, const tn_training_plan_item *item, tn_part part) {
    bool body = part == TN_FORWARD_PART || part == TN_BACKWARD_PART;
    switch (item->role) {
    case TN_ROLE_CORE:
        return true;
    case TN_ROLE_X:
        return part == TN_FORWARD_PART || (part == TN_BACKWARD_PART && item->read_in[part]);
    case TN_ROLE_DY:
        return part == TN_BACKWARD_PART;
    default:
        break;
    }
    if (is_sum(flow, item)) return body || part == TN_EPILOGUE;
    if (item->made_in == TN_PRELUDE && body) return is_saved(item);
    if (item->made_in == TN_PRELUDE) return part == TN_EPILOGUE && item->read_in[part];
    return item->made_in == TN_FORWARD_PART && part == TN_BACKWARD_PART && item->read_in[part];
}

/* Whether the item outlives its last read in the part. */
static bool stays(const tn_flow_steps *flow, const tn_training_plan_item *item, tn_part part) {
    if (part == TN_BACKWARD_PART && item->role == TN_ROLE_X) return false;
    if (item->role != TN_ROLE_INTERMEDIATE) return true;
    if (part == TN_EPILOGUE) return false;
    if (is_sum(flow, item)) return true;
    if (item->made_in == TN_PRELUDE) return is_saved(item);
    return part == TN_FORWARD_PART && item->read_in[TN_BACKWARD_PART];
}

static uint64_t live_before(const tn_flow_steps *flow, tn_part part) {
    uint64_t live = 0;
    for (uint32_t i = 0; i < flow->items; i++)
        if (is_live_before(flow, &flow->item[i], part)) add_times(&live, flow->item[i].elements, 1);
    return live;
}

/* What the last step of a part reads and frees, at least. Its result is one that stays, as nothing is made that
 * is not read. */
static uint64_t least_last_operands(const tn_flow_steps *flow, tn_part part) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < flow->steps; i++) {
        const tn_training_plan_step *step = &flow->step[i];
        const tn_training_plan_item *a = &flow->item[step->a], *b = &flow->item[step->b];
        uint64_t read = 0;
        if (step->part != part || !stays(flow, &flow->item[step->out], part)) continue;
        if (!stays(flow, a, part)) add_times(&read, a->elements, 1);
        if (!stays(flow, b, part)) add_times(&read, b->elements, 1);
        if (read < least) least = read;
    }
    return least == UINT64_MAX ? 0 : least;
}

/* At the last step of the forward phase Y is made and all that is kept is live; at the last one of the
 * backward pass all gradients are. What that step reads is live, too. */
uint64_t tn_flow_peak_bound(const tn_flow_steps *flow, tn_part part) {
    uint64_t bound = part == TN_FORWARD_PART ? live_before(flow, part) : 0;
    for (uint32_t i = 0; i < flow->items; i++) {
        const tn_training_plan_item *item = &flow->item[i];
        bool resident = item->role == TN_ROLE_CORE || item->role == TN_ROLE_DY || is_sum(flow, item) ||
                        (item->made_in == TN_PRELUDE && is_saved(item));
        bool gradient = item->role == TN_ROLE_DX || item->role == TN_ROLE_CORE_GRADIENT;
        bool kept = item->made_in == TN_FORWARD_PART && is_saved(item);
        bool live = part == TN_FORWARD_PART
                        ? kept || item->role == TN_ROLE_Y
                        : resident || (gradient && item->made_in == part && !is_sum(flow, item));
        if (live) add_times(&bound, item->elements, 1);
    }
    add_times(&bound, least_last_operands(flow, part), 1);
    return bound;
}

/* The part's steps, renumbered from 0; `position` says which they are. */
static void pose_problem(const tn_flow_steps *flow, tn_part part, tn_order_problem *problem) {
    problem->items = flow->items;
    problem->live = live_before(flow, part);
    for (uint32_t i = 0; i < flow->items; i++) {
        const tn_training_plan_item *item = &flow->item[i];
        bool counted = part == TN_BACKWARD_PART && is_sum(flow, item);
        problem->item[i] = (tn_order_item){counted ? 0 : item->elements, stays(flow, item, part)};
    }
}

/* The peak in the order written, for parts of more steps than the search for an order takes. */
static uint64_t peak_as_written(const tn_order_problem *problem, const tn_flow_steps *flow,
                                const uint32_t *order, uint32_t count) {
    uint32_t last[TN_ORDER_ITEMS] = {0};
    uint64_t live = problem->live, peak = live;
    for (uint32_t i = 0; i < count; i++) {
        const tn_training_plan_step *step = &flow->step[order[i]];
        last[step->a] = last[step->b] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        const tn_training_plan_step *step = &flow->step[order[i]];
        live = tn_saturating_add(live, problem->item[step->out].elements);
        if (live > peak) peak = live;
        if (live == UINT64_MAX) return peak;
        if (last[step->a] == i && !problem->item[step->a].stays) live -= problem->item[step->a].elements;
        if (last[step->b] == i && !problem->item[step->b].stays) live -= problem->item[step->b].elements;
    }
    return peak;
}

tn_status tn_flow_order_part(const tn_flow_steps *flow, tn_part part, tn_orderer *orderer,
                             size_t entries_most, uint32_t *order, uint32_t *count, uint64_t *peak,
                             bool *exact, tn_error *error) {
    tn_order_problem problem;
    tn_order_result result;
    uint32_t position[5 * TN_TRAINING_MOST];
    *count = 0;
    for (uint32_t s = 0; s < flow->steps; s++)
        if (flow->step[s].part == part) position[(*count)++] = s;
    pose_problem(flow, part, &problem);
    problem.steps = *count;
    *peak = 0;
    *exact = true;
    if (*count == 0) return TN_OK;
    memcpy(order, position, *count * sizeof *order);
    if (*count > TN_ORDER_STEPS) {
        *peak = peak_as_written(&problem, flow, order, *count);
        *exact = false;
        return TN_OK;
    }
    for (uint32_t i = 0; i < *count; i++) {
        const tn_training_plan_step *step = &flow->step[position[i]];
        problem.step[i] = (tn_order_step){step->a, step->b, step->out};
    }
    TN_TRY(tn_order_find(orderer, &problem, entries_most, &result, error));
    for (uint32_t i = 0; i < *count; i++) order[i] = position[result.order[i]];
    *peak = result.peak;
    *exact = result.exact;
    return TN_OK;
}

static tn_made made_of(const tn_flow_steps *flow, const tn_training_plan_step *step) {
    const tn_training_plan_item *out = &flow->item[step->out];
    tn_made made = {.role = out->role, .recomputed = step->recomputed};
    made.once = step->part == TN_PRELUDE || step->part == TN_EPILOGUE;
    made.phase = step->part <= TN_FORWARD_PART ? TN_FORWARD
                 : step->for_input             ? TN_INPUT_GRADIENT
                                               : TN_WEIGHT_GRADIENT;
    uint64_t others = flow->closed->problem.all & ~out->set;
    if (out->role == TN_ROLE_CORE_GRADIENT) made.core = (uint32_t)__builtin_ctzll(others) - 1;
    return made;
}

static tn_status write_program(const tn_flow_steps *flow, tn_writer *writer, tn_orderer *orderer,
                               size_t entries_most, bool *exact) {
    uint32_t tensor[TN_ORDER_ITEMS], order[5 * TN_TRAINING_MOST], count;
    uint64_t peak;
    for (uint32_t i = 0; i <= flow->closed->leaves; i++) tensor[i] = i;
    *exact = true;
    for (int part = 0; part < TN_PARTS; part++) {
        bool ordered;
        TN_TRY(tn_flow_order_part(flow, (tn_part)part, orderer, entries_most, order, &count, &peak, &ordered,
                                  writer->error));
        *exact &= ordered;
        for (uint32_t i = 0; i < count; i++) {
            const tn_training_plan_step *step = &flow->step[order[i]];
            TN_TRY(tn_writer_add(writer, tensor[step->a], tensor[step->b], made_of(flow, step),
                                 &tensor[step->out]));
        }
    }
    return TN_OK;
}

tn_status tn_flow_program(const tn_flow_steps *flow, const tn_network *network, tn_orderer *orderer,
                          size_t entries_most, tn_arena *arena, tn_program *program, bool *exact,
                          tn_error *error) {
    tn_arena scratch = {0};
    tn_writer writer;
    tn_status status = tn_writer_begin(&writer, network, true, flow->steps, arena, &scratch, program, error);
    program->micro_batches = flow->closed->micro_batches;
    if (status == TN_OK) status = write_program(flow, &writer, orderer, entries_most, exact);
    if (status == TN_OK) status = tn_writer_end(&writer);
    tn_arena_free(&scratch);
    return status;
}

static bool covers(const tn_training_candidate *one, uint64_t macs, uint64_t saved, uint64_t peak) {
    return one->total_macs <= macs && one->saved_elements <= saved && one->peak_elements <= peak;
}

bool tn_training_candidates_cover(const tn_training_candidates *front, uint64_t total_macs,
                                  uint64_t saved_elements, uint64_t peak_elements) {
    for (size_t i = 0; i < front->count; i++)
        if (covers(&front->item[i], total_macs, saved_elements, peak_elements)) return true;
    return false;
}

tn_status tn_training_candidates_add(tn_training_candidates *front, const tn_training_candidate *candidate,
                                     tn_error *error) {
    uint64_t macs = candidate->total_macs, saved = candidate->saved_elements, peak = candidate->peak_elements;
    if (tn_training_candidates_cover(front, macs, saved, peak)) return TN_OK;
    TN_TRY(TN_GROW(&front->item, &front->capacity, front->count + 1, error));
    size_t left = 0;
    for (size_t i = 0; i < front->count; i++) {
        const tn_training_candidate *old = &front->item[i];
        if (!covers(candidate, old->total_macs, old->saved_elements, old->peak_elements))
            front->item[left++] = *old;
    }
    front->item[left++] = *candidate;
    front->count = left;
    return TN_OK;
}

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int by_counts(const void *a, const void *b) {
    const tn_training_candidate *one = a, *other = b;
    int order = compare(one->total_macs, other->total_macs);
    if (order == 0) order = compare(one->saved_elements, other->saved_elements);
    return order ? order : compare(one->peak_elements, other->peak_elements);
}

void tn_training_candidates_sort(tn_training_candidates *front) {
    if (front->count) qsort(front->item, front->count, sizeof *front->item, by_counts);
}

void tn_training_candidates_free(tn_training_candidates *front) {
    tn_free(front->item);
    *front = (tn_training_candidates){0};
}
