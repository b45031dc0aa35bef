#include "flow/exact.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "flow/exact_engine.h"

#include <string.h>

#define NONE UINT32_MAX

enum {
    FIRST_NODES = 128,
    OFFER_WORK = 16,      /* what costing a merge takes beside looking at a pair */
    NODES_MOST = 1 << 20, /* about 500 MB with all that is kept of them */
    LINKS_MOST = 1 << 22,
    MEMORY_MOST = 4,
    PAGE_WORK = 128, /* what the columns of a page take beside looking at a pair */
};

/* ---- storage ---- */

static tn_status widen(tn_exact_engine *e, void *items, size_t old_count, size_t count, size_t size) {
    void *old, *fresh = NULL;
    memcpy(&old, items, sizeof old);
    TN_TRY(tn_arena_alloc(e->arena, count, size, &fresh, e->error));
    if (old_count) memcpy(fresh, old, old_count * size);
    memcpy(items, &fresh, sizeof fresh);
    return TN_OK;
}

static tn_status grow_nodes(tn_exact_engine *e) {
    uint32_t growth = e->node_capacity < NODES_MOST / 4 ? 4 : 2;
    uint32_t capacity = e->node_capacity ? growth * e->node_capacity : FIRST_NODES;
    TN_TRY(widen(e, &e->node, e->nodes, capacity, sizeof *e->node));
    TN_TRY(widen(e, &e->done_set, e->done, capacity, sizeof *e->done_set));
    TN_TRY(widen(e, &e->done_open, e->done, capacity, sizeof *e->done_open));
    TN_TRY(widen(e, &e->done_node, e->done, capacity, sizeof *e->done_node));
    TN_TRY(widen(e, &e->inner, e->inners, capacity, sizeof *e->inner));
    e->node_capacity = capacity;
    return TN_OK;
}

/* ---- costs ---- */

/* The cheaper orientation; *turned if it is (b, a). */
static uint64_t ask_price(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b,
                          bool *turned) {
    const tn_problem *problem = e->problem;
    uint64_t both = a->open & b->open;
    uint64_t out = tn_problem_open(problem, a->open | b->open, a->set | b->set);
    tn_product_shape shape = {
        .batch = tn_problem_product(problem, both & out),
        .rows = tn_problem_product(problem, a->open & ~b->open & out),
        .reduction = tn_problem_product(problem, (a->open | b->open) & ~out),
        .columns = tn_problem_product(problem, b->open & ~a->open & out),
    };
    tn_product_shape mirror = shape;
    mirror.rows = shape.columns;
    mirror.columns = shape.rows;
    uint64_t straight = e->pricing->price(e->pricing->user, &shape);
    uint64_t crossed = shape.rows == shape.columns ? straight : e->pricing->price(e->pricing->user, &mirror);
    *turned = crossed < straight;
    return *turned ? crossed : straight;
}

/* Without prices the part with the lowest tensor comes first. */
static uint64_t joint_cost(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b,
                           bool *turned) {
    *turned = tn_lowest(a->set) > tn_lowest(b->set);
    uint64_t here =
        e->pricing ? ask_price(e, a, b, turned) : tn_problem_product(e->problem, a->open | b->open);
    return tn_saturating_add(tn_saturating_add(a->cost, b->cost), here);
}

/* ---- the search ---- */

static tn_status add_node(tn_exact_engine *e, const tn_exact_node *fresh, uint32_t *number) {
    if (e->nodes == e->node_capacity) TN_TRY(grow_nodes(e));
    *number = e->nodes++;
    e->node[*number] = *fresh;
    return tn_set_map_add(&e->number_of, fresh->set, *number, e->arena, e->error);
}

static uint32_t tensors_of(uint64_t set) {
    return (uint32_t)__builtin_popcountll(set);
}

/* By what is charged: an outer product of a plain network goes into a tensor of the network or into one that is
 * counted beside those. */
static uint64_t charged_ahead(const tn_exact_engine *e, const tn_exact_node *n) {
    if (n->apart && e->plain && !tn_outer_some_input_takes(e, n))
        return tn_saturating_add(e->remaining.total - n->charged, tn_outer_least_taker(n));
    return tn_remaining_cost_beside(&e->remaining, n->set, n->open, n->size, n->charged);
}

static uint64_t cost_ahead(const tn_exact_engine *e, const tn_exact_node *n) {
    if (e->pricing) return 0;
    uint64_t charged = charged_ahead(e, n);
    return e->cuts ? tn_greatest(charged, tn_cut_bound_beside(e->cuts, tensors_of(n->set), n->size))
                   : charged;
}

/* What is ahead of the union of a and b, whatever its result. */
static uint64_t least_ahead(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b) {
    uint64_t charged = e->remaining.total - a->charged - b->charged;
    return e->cuts ? tn_greatest(charged, e->cuts->beside[tensors_of(a->set | b->set)]) : charged;
}

/* The number of the union of a and b, or NONE if no tree of this cost with it can be within the bound. */
static tn_status find_union(tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b, uint64_t cost,
                            uint32_t *number) {
    tn_exact_node fresh = {.set = a->set | b->set, .charged = a->charged + b->charged, .cost = UINT64_MAX};
    *number = tn_set_map_find(&e->number_of, fresh.set);
    if (*number != TN_SET_MAP_NONE) {
        if (tn_saturating_add(cost, e->node[*number].ahead) > e->bound) *number = NONE;
        return TN_OK;
    }
    fresh.open = tn_problem_open(e->problem, a->open | b->open, fresh.set);
    fresh.apart = !(a->open & b->open);
    fresh.size = tn_problem_product(e->problem, fresh.open);
    fresh.ahead = cost_ahead(e, &fresh);
    *number = NONE;
    return tn_saturating_add(cost, fresh.ahead) > e->bound ? TN_OK : add_node(e, &fresh, number);
}

/* Offers the merge of nodes a and b as the tree of their union. */
static tn_status offer(tn_exact_engine *e, uint32_t a, uint32_t b) {
    bool turned;
    uint32_t number;
    e->work += e->pricing ? 4 * OFFER_WORK : OFFER_WORK;
    uint64_t cost = joint_cost(e, &e->node[a], &e->node[b], &turned);
    if (tn_saturating_add(cost, least_ahead(e, &e->node[a], &e->node[b])) > e->bound) return TN_OK;
    TN_TRY(find_union(e, &e->node[a], &e->node[b], cost, &number));
    if (number == NONE) return TN_OK;
    tn_exact_node *item = &e->node[number];
    if (cost > item->cost) return TN_OK;
    uint64_t largest = tn_greatest(item->size, tn_greatest(e->node[a].largest, e->node[b].largest));
    bool cheaper = cost < item->cost;
    if (!cheaper && largest >= item->largest) return TN_OK;
    item->cost = cost;
    item->largest = largest;
    item->left = turned ? b : a;
    item->right = turned ? a : b;
    if (item->set == e->problem->all) {
        e->full = number;
        e->bound = cost;
    }
    if (!cheaper) return TN_OK;
    tn_queued entry = {.key = tn_saturating_add(cost, item->ahead), .second = cost, .number = number};
    return tn_queue_push(&e->waiting, entry, e->arena, e->error);
}

static uint64_t inner_groups(const tn_exact_engine *e, const tn_exact_node *n) {
    return n->open & ~e->problem->output;
}

/* An outer product merges with what takes it alone. */
static bool may_merge(const tn_exact_node *a, const tn_exact_node *b) {
    return a->apart ? tn_outer_takes(b, a) : !b->apart || tn_outer_takes(a, b);
}

/* The greatest key of a finished set that a tree within the bound merges with a node of this cost, whose tree was to cost
 * `counted` at least when that key was made: the tree costs at least the key and what the node costs beyond that. */
static uint64_t key_most(const tn_exact_engine *e, uint64_t cost, uint64_t counted) {
    uint64_t room = tn_saturating_add(e->bound, counted);
    return cost > room ? 0 : room - cost;
}

/* Key and `beyond` count what the node is charged, or the least of any tree of so many tensors. */
static uint64_t partner_key_most(const tn_exact_engine *e, const tn_exact_node *own) {
    uint64_t counted = own->charged;
    if (e->cuts) counted = tn_greatest(counted, e->cuts->within[tensors_of(own->set)]);
    return key_most(e, own->cost, counted);
}

/* The merge is least where the two share the largest groups. */
static void set_factors(const tn_exact_engine *e, const tn_exact_node *own, uint32_t group,
                        tn_neighbour_query *query) {
    uint64_t factor = own->size / e->problem->size[group], left = query->after;
    for (uint32_t k = 0; k < TN_NEIGHBOUR_FACTORS; k++) {
        uint64_t largest = tn_problem_largest(e->problem, left);
        query->factor[k] = factor;
        factor /= tn_problem_product(e->problem, largest);
        left &= ~largest;
    }
}

/* What the merge of two finished sets spans, whose sizes fit 64 bits. */
static uint64_t merge_elements(const tn_problem *problem, uint64_t a, uint64_t b, uint64_t shared) {
    uint64_t product = 1;
    for (; shared; shared &= shared - 1) product *= problem->size[__builtin_ctzll(shared)];
    return tn_saturating_mul(a / product, b);
}

/* True if a tree within the bound may merge the two. */
static bool may_pair(const tn_exact_engine *e, const tn_exact_node *own, const tn_neighbour_query *query,
                     const tn_neighbour *item) {
    if (item->set & query->set || item->open & query->before) return false;
    if (tn_saturating_add(item->beyond, tn_greatest(own->size, item->size)) > query->most) return false;
    uint64_t merge = merge_elements(e->problem, own->size, item->size, own->open & item->open);
    if (tn_saturating_add(item->beyond, merge) > query->most) return false;
    return !(own->apart || item->apart) || may_merge(own, &e->node[item->node]);
}

/* Pairs the node with those of a page of the list. */
static tn_status pair_over_page(tn_exact_engine *e, uint32_t number, const tn_exact_node *own,
                                const tn_neighbour_list *list, uint32_t first,
                                const tn_neighbour_query *query) {
    const tn_neighbour_page *page = list->page[first / TN_NEIGHBOUR_PAGE];
    const tn_neighbour_column candidates = tn_neighbour_candidates(page, query);
    e->work += PAGE_WORK;
    for (uint32_t w = 0; w < TN_NEIGHBOUR_WORDS; w++)
        for (uint64_t left = candidates.word[w]; left; left &= left - 1) {
            const tn_neighbour *item = &list->item[first + 64 * w + (uint32_t)__builtin_ctzll(left)];
            e->work++;
            if (item->key <= query->key && may_pair(e, own, query, item))
                TN_TRY(offer(e, number, item->node));
        }
    return TN_OK;
}

/* Pairs a set of a plain network with the finished sets that lie behind the group, and behind none that came
 * before it. */
static tn_status pair_over(tn_exact_engine *e, uint32_t number, const tn_exact_node *own, uint32_t group,
                           tn_neighbour_query *query) {
    const uint64_t groups = inner_groups(e, own), before = groups & (((uint64_t)1 << group) - 1);
    tn_neighbour_list *list = &e->neighbours.list[group][!tn_neighbours_side(e->problem, group, own->set)];
    query->before = before;
    if (list->count >= TN_NEIGHBOURS_MANY) {
        query->after = groups & ~before & ~((uint64_t)1 << group);
        set_factors(e, own, group, query);
        TN_TRY(tn_neighbours_fill(list, query->key, e->arena, e->error));
    }
    uint32_t i = 0;
    for (; i < list->filled && list->item[i].key <= query->key; i += TN_NEIGHBOUR_PAGE)
        TN_TRY(pair_over_page(e, number, own, list, i, query));
    for (i = list->filled; i < list->count && list->item[i].key <= query->key; i++)
        if (may_pair(e, own, query, &list->item[i])) TN_TRY(offer(e, number, list->item[i].node));
    e->work += i - list->filled;
    return TN_OK;
}

/* Outer products are listed under their first group alone: what takes them has them all. */
static uint64_t listed_groups(const tn_exact_engine *e, uint32_t number) {
    uint64_t groups = inner_groups(e, &e->node[number]);
    return e->node[number].apart ? tn_lowest(groups) : groups;
}

static tn_status pair_plainly(tn_exact_engine *e, uint32_t number) {
    const tn_exact_node own = e->node[number];
    tn_neighbour_query query = {
        .set = own.set, .key = partner_key_most(e, &own), .most = key_most(e, own.cost, own.charged)};
    for (uint64_t groups = listed_groups(e, number); groups; groups &= groups - 1)
        TN_TRY(pair_over(e, number, &own, (uint32_t)__builtin_ctzll(groups), &query));
    return TN_OK;
}

static tn_status pair_with_finished(tn_exact_engine *e, uint32_t number) {
    uint64_t set = e->node[number].set, open = e->node[number].open;
    bool any = e->outer == TN_OUTER_ALWAYS;
    for (uint32_t i = 0; i < e->done; i++)
        if (!(e->done_set[i] & set) && (any || e->done_open[i] & open))
            TN_TRY(offer(e, number, e->done_node[i]));
    e->work += e->done;
    return TN_OK;
}

/* Pairs an inner set with inner sets it shares nothing with, where lemma 2 leaves the outer product a chance.
 */
static tn_status pair_by_lemma(tn_exact_engine *e, uint32_t number) {
    for (uint32_t i = 0; i < e->inners; i++) {
        const tn_exact_node *a = &e->node[number], *b = &e->node[e->inner[i]];
        uint64_t need = tn_outer_needed_partner(a, b), least = tn_outer_least(a, b, need);
        if (least > e->bound && need > e->largest_input) break; /* and so for all larger ones */
        e->work++;
        if (a->set & b->set || a->open & b->open) continue;
        if (tn_outer_may_pay(e, a, b, need, least)) TN_TRY(offer(e, number, e->inner[i]));
    }
    return TN_OK;
}

/* Behind all that are no larger. */
static void list_inner(tn_exact_engine *e, uint32_t number) {
    uint32_t low = 0, high = e->inners++;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->node[e->inner[middle]].size > e->node[number].size)
            high = middle;
        else
            low = middle + 1;
    }
    memmove(&e->inner[low + 1], &e->inner[low], (e->inners - 1 - low) * sizeof *e->inner);
    e->inner[low] = number;
}

static bool is_inner(const tn_exact_engine *e, uint32_t number) {
    return !(e->node[number].open & e->problem->output);
}

static tn_status list_plainly(tn_exact_engine *e, uint32_t number) {
    const tn_exact_node *own = &e->node[number];
    tn_neighbour item = {.set = own->set,
                         .open = own->open,
                         .key = tn_saturating_add(own->cost, own->ahead),
                         .beyond = tn_saturating_add(own->cost, e->remaining.total) - own->charged,
                         .size = own->size,
                         .node = number,
                         .apart = own->apart};
    if (is_inner(e, number)) list_inner(e, number);
    return tn_neighbours_add(&e->neighbours, e->problem, item, listed_groups(e, number), e->arena, e->error);
}

static tn_status finish(tn_exact_engine *e, uint32_t number) {
    TN_TRY(e->plain ? pair_plainly(e, number) : pair_with_finished(e, number));
    if (e->outer == TN_OUTER_BY_LEMMA && is_inner(e, number)) TN_TRY(pair_by_lemma(e, number));
    if (e->plain) return list_plainly(e, number);
    e->done_set[e->done] = e->node[number].set;
    e->done_open[e->done] = e->node[number].open;
    e->done_node[e->done++] = number;
    return TN_OK;
}

static tn_status add_tensors(tn_exact_engine *e) {
    for (uint32_t t = 0; t < e->problem->tensors; t++) {
        uint32_t number;
        tn_exact_node own = {.set = (uint64_t)1 << t, .open = e->problem->tensor[t]};
        own.size = tn_problem_product(e->problem, own.open);
        if (e->remaining.charged >> t & 1) own.charged = own.size;
        TN_TRY(add_node(e, &own, &number));
        e->largest_input = tn_greatest(e->largest_input, own.size);
    }
    for (uint32_t t = 0; t < e->problem->tensors; t++) TN_TRY(finish(e, t));
    return TN_OK;
}

/* Runs until the full set is finished, nothing waits any more, or the search gives up (*complete false). */
static tn_status run(tn_exact_engine *e, uint64_t *level, bool *complete) {
    *complete = true;
    *level = 0;
    TN_TRY(add_tensors(e));
    while (e->waiting.count) {
        tn_queued next = tn_queue_pop(&e->waiting);
        if (next.second != e->node[next.number].cost) continue; /* a cheaper tree was found meanwhile */
        *level = next.key;
        if (next.number == e->full) return TN_OK;
        if (e->work > e->work_most || e->nodes > e->nodes_most || e->neighbours.count > e->links_most ||
            tn_interrupted()) {
            *complete = false;
            return TN_OK;
        }
        TN_TRY(finish(e, next.number));
    }
    return TN_OK;
}

/* True if lemma 2 leaves any outer product a chance, given the best tree without. */
static bool any_outer_by_lemma(const tn_exact_engine *e) {
    for (uint32_t i = 0; i < e->inners; i++) {
        const tn_exact_node *a = &e->node[e->inner[i]]; /* the larger one */
        for (uint32_t j = 0; j < i; j++) {
            const tn_exact_node *b = &e->node[e->inner[j]];
            uint64_t need = tn_outer_needed_partner(a, b), least = tn_outer_least(a, b, need);
            if (least > e->bound && need > e->largest_input) break;
            if (a->set & b->set || a->open & b->open) continue;
            if (tn_outer_may_pay(e, a, b, need, least)) return true;
        }
    }
    return false;
}

static void reset(tn_exact_engine *e, tn_outer_rule outer) {
    e->outer = outer;
    e->nodes = e->done = e->inners = 0;
    e->waiting.count = 0;
    e->full = NONE;
    tn_set_map_clear(&e->number_of);
    tn_neighbours_clear(&e->neighbours);
}

static uint32_t write_merges(const tn_exact_engine *e, uint32_t number, uint32_t *next, tn_merge *merge) {
    if (number < e->problem->tensors) return number;
    uint32_t a = write_merges(e, e->node[number].left, next, merge);
    uint32_t b = write_merges(e, e->node[number].right, next, merge);
    merge[*next] = (tn_merge){a, b};
    return e->problem->tensors + (*next)++;
}

static void keep_tree(const tn_exact_engine *e, tn_merge *merge, tn_exact_result *result) {
    uint32_t next = 0;
    if (e->full == NONE) return;
    result->found = true;
    result->cost = e->node[e->full].cost;
    write_merges(e, e->full, &next, merge);
}

static tn_status search_once(tn_exact_engine *e, tn_merge *merge, tn_exact_result *result) {
    TN_TRY(run(e, &result->level, &result->complete));
    keep_tree(e, merge, result);
    return TN_OK;
}

/* Without outer products first, which bounds what they may cost; then with them, if any is left a chance. A known tree
 * bounds them already. */
static tn_status search(tn_exact_engine *e, const tn_exact_options *options, tn_merge *merge,
                        tn_exact_result *result) {
    const tn_outer_rule outer = e->plain ? TN_OUTER_BY_LEMMA : TN_OUTER_ALWAYS;
    if (options->known) {
        e->bound = options->known < e->bound ? options->known : e->bound;
        e->outer = options->no_outer ? TN_OUTER_NEVER : outer;
        return search_once(e, merge, result);
    }
    TN_TRY(search_once(e, merge, result));
    if (options->no_outer || (result->complete && e->plain && !any_outer_by_lemma(e))) return TN_OK;
    e->work_most = options->work_most;
    reset(e, outer);
    return search_once(e, merge, result);
}

tn_status tn_exact_search(const tn_problem *problem, const tn_exact_options *options, tn_arena *arena,
                          tn_merge *merge, tn_exact_result *result, tn_error *error) {
    tn_exact_engine e = {.problem = problem,
                         .pricing = options->pricing,
                         .plain = !options->pricing && !options->no_outer && tn_problem_is_plain(problem),
                         .arena = arena,
                         .error = error,
                         .full = NONE,
                         .bound = UINT64_MAX - 1,
                         /* Most is kept for outer products. */
                         .work_most = options->no_outer || options->known ? options->work_most
                                                                          : options->work_most / 4};
    if (e.plain) e.cuts = options->cuts;
    uint32_t memory = options->memory < 1 ? 1 : options->memory > MEMORY_MOST ? MEMORY_MOST : options->memory;
    e.nodes_most = memory * NODES_MOST;
    e.links_most = memory * LINKS_MOST;
    *result = (tn_exact_result){0};
    TN_TRY(grow_nodes(&e));
    tn_neighbours_clear(&e.neighbours);
    if (!e.pricing) {
        tn_remaining_cost_of(problem, &e.remaining);
        uint64_t quick = tn_quick_tree_cost(problem);
        if (quick < e.bound) e.bound = quick;
    }
    TN_TRY(search(&e, options, merge, result));
    result->work = e.work;
    return TN_OK;
}

uint64_t tn_exact_cost_of(const tn_problem *problem, const tn_exact_options *options, const tn_merge *merge) {
    tn_exact_node made[2 * TN_PROBLEM_TENSORS];
    uint32_t n = problem->tensors;
    tn_exact_engine e = {.problem = problem, .pricing = options->pricing};
    for (uint32_t t = 0; t < n; t++)
        made[t] = (tn_exact_node){.set = (uint64_t)1 << t, .open = problem->tensor[t]};
    for (uint32_t i = 0; i + 1 < n; i++) {
        const tn_exact_node *a = &made[merge[i].a], *b = &made[merge[i].b];
        bool turned;
        made[n + i] = (tn_exact_node){.set = a->set | b->set, .cost = joint_cost(&e, a, b, &turned)};
        made[n + i].open = tn_problem_open(problem, a->open | b->open, made[n + i].set);
    }
    return made[2 * n - 2].cost;
}
