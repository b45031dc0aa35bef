#include "search/build_search.h"

#include "base/checked.h"
#include "base/memory.h"
#include "search/outer_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set of builds. */
struct tn_build_node {
    tn_build_set set;
    uint64_t inner; /* of its first one */
    uint64_t
        times; /* designs that each stands for, itself one of them: they differ in keys that nothing reads */
    tn_point bound;
    uint64_t cycles; /* of it; 0: there is none yet */
};

/* ---- the order of keys ---- */

/* Before keys of their level: those of which prices with bounds have one choice. */
static unsigned rank_of(const tn_build_axis *axis) {
    return 2 * (unsigned)tn_build_key_level(axis->key) + (tn_build_key_of(axis->key)->bounded_as == 0);
}

static bool is_same(const tn_build *build, const tn_build *other) {
    const tn_build own = tn_build_effective(build), its = tn_build_effective(other);
    return memcmp(&own, &its, sizeof own) == 0;
}

/* Whether no build is better than that of the axis' first value, the others as the set has them. */
static bool first_is_best(const tn_build_search *search, const tn_build_set *set, uint32_t axis) {
    bool best = true;
    for (size_t v = 1; v < set->axis[axis].count && best; v++) {
        const tn_build_set fixed = tn_build_set_fixed(set, axis, v);
        best = (search->skips_kernels ? tn_build_only_adds_kernels : is_same)(&set->build, &fixed.build);
    }
    return best;
}

/* The other axes whose values say whether the first value of the axis is the best. */
static uint32_t find_deciders(const tn_build_search *search, const tn_build_set *all, uint32_t axis) {
    uint32_t deciders = 0;
    for (uint32_t i = 0; i < all->axes; i++) {
        bool some = false, every = true;
        for (size_t v = 0; i != axis && v < all->axis[i].count; v++) {
            const tn_build_set fixed = tn_build_set_fixed(all, i, v);
            const bool best = first_is_best(search, &fixed, axis);
            some |= best;
            every &= best;
        }
        if (some && !every) deciders |= 1u << i;
    }
    return deciders;
}

/* Whether axis a is to be fixed before b: it is of a lower rank, or decides it. */
static bool comes_before(const tn_build_search *search, uint32_t a, uint32_t b) {
    const unsigned of_a = rank_of(&search->axis[a]), of_b = rank_of(&search->axis[b]);
    return of_a != of_b ? of_a < of_b : search->deciders[b] >> a & 1;
}

/* Each right before the first of those in the order already that it comes before, or behind all of them. */
static void order_axes(tn_build_search *search) {
    for (uint32_t i = 0; i < search->axes; i++) {
        uint32_t place = 0;
        while (place < i && !comes_before(search, i, search->order[place])) place++;
        memmove(&search->order[place + 1], &search->order[place], (i - place) * sizeof *search->order);
        search->order[place] = i;
    }
}

tn_status tn_build_search_begin(const tn_space *space, tn_evaluator *evaluator, tn_archive *known,
                                bool has_bounds, tn_build_search *search, tn_error *error) {
    *search =
        (tn_build_search){.space = space, .evaluator = evaluator, .known = known, .has_bounds = has_bounds};
    if (space->inners > TN_BUILD_AXES_MOST)
        return tn_fail(error, TN_LIMIT, "over %d choices of a build", TN_BUILD_AXES_MOST);
    search->axes = (uint32_t)space->inners;
    for (uint32_t i = 0; i < search->axes; i++) {
        const tn_axis *axis = &space->choices.axis[space->inner[i]];
        search->axis[i] = (tn_build_axis){axis->field, axis->count, axis->number};
    }
    search->skips_kernels = has_bounds && tn_constraints_only_cap(space->constraint, space->constraints);
    tn_build_set all = {.axes = search->axes, .axis = search->axis};
    for (uint32_t i = 0; i < all.axes; i++)
        tn_build_set_value(&all.build, search->axis[i].key, search->axis[i].value[0]);
    for (uint32_t i = 0; i < all.axes; i++) search->deciders[i] = find_deciders(search, &all, i);
    order_axes(search);
    search->only_bytes = true;
    for (size_t i = 0; i < space->objectives; i++)
        search->only_bytes &=
            !space->objective[i]->of_memories || strcmp(space->objective[i]->name, "on_chip_bytes") == 0;
    for (size_t i = 0; i < space->constraints; i++)
        search->asks_keys |= space->constraint[i].expression != NULL;
    return TN_OK;
}

void tn_build_search_free(tn_build_search *search) {
    tn_free(search->node);
    *search = (tn_build_search){0};
}

/* ---- a run ---- */

typedef struct {
    tn_build_search *search;
    uint64_t outer;
    tn_outcome *found;
    tn_error *error;
} run;

static bool is_refused(const run *state, const tn_point *bound) {
    return tn_archive_refuses(&state->found->front, bound) || tn_archive_refuses(state->search->known, bound);
}

static uint64_t designs_of(const tn_build_node *node) {
    uint64_t designs = node->times;
    for (uint32_t i = 0; i < node->set.axes; i++)
        if (node->set.free >> i & 1) designs *= node->set.axis[i].count;
    return designs;
}

static uint64_t id_of(const run *state, uint64_t inner) {
    return tn_space_id(state->search->space, state->outer, inner);
}

/* Of the inner choices behind the i-th one. */
static uint64_t stride_of(const tn_build_search *search, uint32_t axis) {
    uint64_t stride = 1;
    for (uint32_t i = axis + 1; i < search->axes; i++) stride *= search->axis[i].count;
    return stride;
}

static tn_build_node fixed_node(const run *state, const tn_build_node *node, uint32_t axis, size_t value) {
    return (tn_build_node){.set = tn_build_set_fixed(&node->set, axis, value),
                           .inner = node->inner + value * stride_of(state->search, axis),
                           .times = node->times,
                           .bound = node->bound,
                           .cycles = node->cycles};
}

/* Counts designs that are undefined for what the evaluator says. */
static tn_status count_undefined(const run *state, const tn_build_node *node) {
    return tn_outcome_add_undefined(state->found, tn_evaluator_undefined(state->search->evaluator),
                                    designs_of(node), id_of(state, node->inner), state->error);
}

/* A step of so many cycles is refused with all else that the set's bound says, as some design that is known is no worse. */
static uint64_t refused_cycles(const run *state, const tn_build_node *node) {
    const tn_space *space = state->search->space;
    const double *value = node->bound.value;
    for (size_t k = 0; k < space->objectives && node->cycles > 0; k++) {
        if (!space->objective[k]->of_cycles || value[k] <= 0) continue;
        const double least = fmin(tn_archive_threshold(&state->found->front, value, k),
                                  tn_archive_threshold(state->search->known, value, k)),
                     cycles = least / value[k] * (double)node->cycles;
        if (cycles < 0x1p63) return (uint64_t)cycles + 1;
    }
    return UINT64_MAX;
}

/* What bounds a set bounds those that are cut out of it, too: the node's bound is the closer one of each objective. */
static void raise_bound(const run *state, tn_build_node *node, const tn_evaluation *evaluation) {
    const bool is_first = node->cycles == 0;
    tn_point own;
    tn_space_point(state->search->space, evaluation, id_of(state, node->inner), &own);
    for (size_t k = 0; k < state->search->space->objectives && !is_first; k++)
        own.value[k] = fmax(own.value[k], node->bound.value[k]);
    node->bound = own;
    if (evaluation->price.cycles_per_step > node->cycles) node->cycles = evaluation->price.cycles_per_step;
}

/* Whether the bound leaves some design of the set a chance; *has: there is one. A cause of refusal is counted. */
static tn_status has_chance_until(const run *state, tn_build_node *node, tn_closeness closeness,
                                  uint64_t enough_cycles, bool counts, bool *has, bool *chance) {
    tn_evaluation evaluation;
    uint32_t cause;
    *chance = true;
    TN_TRY(tn_evaluate_set(state->search->evaluator, &node->set, node->inner, closeness, enough_cycles,
                           &evaluation, &cause, has, state->error));
    if (!*has) return TN_OK;
    *chance = cause == TN_CAUSE_NONE;
    if (!*chance && counts) state->found->count[cause] += designs_of(node);
    if (!*chance && counts && cause == TN_CAUSE_UNDEFINED) return count_undefined(state, node);
    if (!*chance) return TN_OK;
    raise_bound(state, node, &evaluation);
    *chance = !is_refused(state, &node->bound);
    if (!*chance && counts) state->found->count[TN_CAUSE_NONE] += designs_of(node);
    return TN_OK;
}

/* The same, no closer than it takes to refuse the set. */
static tn_status has_chance(const run *state, tn_build_node *node, tn_closeness closeness, bool counts,
                            bool *has, bool *chance) {
    const uint64_t enough = closeness == TN_BY_PARALLELISM ? UINT64_MAX : refused_cycles(state, node);
    TN_TRY(has_chance_until(state, node, closeness, enough, counts, has, chance));
    if (!*has || !*chance || node->cycles < enough) return TN_OK;
    return has_chance_until(state, node, closeness, UINT64_MAX, counts, has, chance);
}

/* ---- designs ---- */

static tn_status price_design(const run *state, const tn_build_node *node, bool counts) {
    tn_evaluation evaluation;
    tn_point point;
    uint32_t cause;
    TN_TRY(
        tn_evaluate(state->search->evaluator, state->outer, node->inner, &evaluation, &cause, state->error));
    if (counts) state->found->count[cause] += node->times;
    if (counts && cause == TN_CAUSE_UNDEFINED) return count_undefined(state, node);
    if (cause != TN_CAUSE_NONE) return TN_OK;
    tn_space_point(state->search->space, &evaluation, id_of(state, node->inner), &point);
    return tn_archive_offer(&state->found->front, &point, state->error);
}

/* The next free axis in the order; `axes`: none. */
static uint32_t next_axis(const tn_build_search *search, const tn_build_set *set) {
    for (uint32_t i = 0; i < search->axes; i++)
        if (set->free >> search->order[i] & 1) return search->order[i];
    return search->axes;
}

/* Whether the first value of the axis stands for all of the set: nothing reads the key beside what is fixed, or others add kernels that
 * are idle. */
static bool is_idle(const run *state, const tn_build_node *node, uint32_t axis) {
    const tn_build_search *search = state->search;
    return !search->asks_keys && (node->set.free & search->deciders[axis]) == 0 &&
           first_is_best(search, &node->set, axis);
}

/* How many values of the axis are to be looked at: of an idle one the first stands for all. */
static size_t values_of(const run *state, const tn_build_node *node, uint32_t axis, uint64_t *times) {
    const size_t count = state->search->axis[axis].count;
    const bool idle = is_idle(state, node, axis);
    *times = idle ? count : 1;
    return idle ? 1 : count;
}

/* Every design of a set that has no bound. */
static tn_status price_each(const run *state, const tn_build_node *node) {
    const uint32_t axis = next_axis(state->search, &node->set);
    uint64_t times;
    if (axis == state->search->axes) return price_design(state, node, true);
    const size_t values = values_of(state, node, axis, &times);
    for (size_t v = 0; v < values; v++) {
        tn_build_node fixed = fixed_node(state, node, axis, v);
        fixed.times *= times;
        TN_TRY(price_each(state, &fixed));
    }
    return TN_OK;
}

/* ---- sets ---- */

static int by_bound(const void *a, const void *b) {
    const tn_point *x = &((const tn_build_node *)a)->bound, *y = &((const tn_build_node *)b)->bound;
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The design of the set at a place that has that number (tn_price_set_places). */
static tn_build_node placed_node(const run *state, const tn_build_node *node, uint64_t number) {
    tn_build_node placed = *node;
    for (uint32_t i = node->set.axes; i-- > 0;) {
        if (!(node->set.free >> i & 1)) continue;
        placed = fixed_node(state, &placed, i, number % node->set.axis[i].count);
        number /= node->set.axis[i].count;
    }
    return placed;
}

/* Where places alone are left: those of the least capacity first, of which one that is refused for what memories do to no
 * objective but their bytes refuses all behind it. */
static tn_status open_places(const run *state, const tn_build_node *node, const tn_place_list *places) {
    const tn_build_search *search = state->search;
    tn_evaluation work;
    uint32_t cause;
    bool has;
    TN_TRY(
        tn_evaluate_set_work(search->evaluator, &node->set, node->inner, &work, &cause, &has, state->error));
    for (size_t i = 0; i < places->count && cause == TN_CAUSE_NONE; i++) {
        tn_build_node placed = placed_node(state, node, places->entry[i].number);
        tn_evaluation evaluation;
        uint32_t lacks;
        tn_evaluate_place(search->evaluator, placed.inner, &work, places, i, &evaluation, &lacks);
        if (lacks != TN_CAUSE_NONE) continue;
        tn_space_point(search->space, &evaluation, id_of(state, placed.inner), &placed.bound);
        if (!is_refused(state, &placed.bound)) {
            TN_TRY(price_design(state, &placed, false));
        } else if (search->only_bytes) {
            placed.bound.id = id_of(state, node->inner); /* of all behind it */
            if (is_refused(state, &placed.bound)) break;
        }
    }
    return TN_OK;
}

/* Every way to go on from a set that nothing refuses. places: as its work has a bound with lanes open, its places are looked through
 * together; NULL: what runs side by side has none, and is priced design by design. */
static tn_status open_rest(const run *state, const tn_build_node *node, const tn_place_list *places) {
    const uint32_t axis = next_axis(state->search, &node->set);
    const bool over = axis == state->search->axes;
    bool has, chance;
    if (places && (over || tn_build_key_level(state->search->axis[axis].key) == TN_LEVEL_PLACE))
        return open_places(state, node, places);
    if (over) return price_design(state, node, false);
    for (size_t v = 0; v < state->search->axis[axis].count; v++) {
        tn_build_node fixed = fixed_node(state, node, axis, v);
        TN_TRY(has_chance(state, &fixed, TN_BY_WORK, false, &has, &chance));
        if (chance) TN_TRY(open_rest(state, &fixed, places));
    }
    return TN_OK;
}

static tn_status open_node(const run *state, tn_build_node *node) {
    const tn_build_search *search = state->search;
    bool has = true, chance = !is_refused(state, &node->bound);
    tn_place_list places;
    for (int closeness = TN_BY_PRODUCTS; closeness <= TN_BY_WORK && chance && has; closeness++)
        TN_TRY(has_chance(state, node, (tn_closeness)closeness, false, &has, &chance));
    if (!chance) return TN_OK;
    if (has)
        TN_TRY(tn_price_set_places(search->evaluator->workload, &node->set, search->asks_keys, &places,
                                   state->error));
    return open_rest(state, node, has ? &places : NULL);
}

/* What is known of a set that has come about. */
typedef enum { REFUSED, LEFT, WITHOUT_BOUND } judgement;

/* No design is known to fit. */
static bool none_fits(const run *state) {
    return state->found->front.count == 0 && state->search->known->count == 0;
}

/* Of sets whose edges of kernels are open little can be said: they are looked at as long as nothing fits, since all of them may be
 * refused. Where only banks are left above lanes and places, their products in whichever banks are best are looked at before each. */
static tn_status judge_set(const run *state, tn_build_node *node, judgement *judged) {
    const tn_build_search *search = state->search;
    const uint32_t next = next_axis(search, &node->set);
    bool has = true, by_products, chance = true;
    if (next == search->axes || tn_build_key_level(search->axis[next].key) > TN_LEVEL_KERNEL ||
        none_fits(state))
        TN_TRY(has_chance(state, node, TN_BY_PARALLELISM, true, &has, &chance));
    if (has && chance && next < search->axes && tn_build_key_level(search->axis[next].key) == TN_LEVEL_BANK)
        TN_TRY(has_chance(state, node, TN_BY_PRODUCTS, true, &by_products, &chance));
    *judged = !has ? WITHOUT_BOUND : chance ? LEFT : REFUSED;
    return TN_OK;
}

/* Fixes keys up to banks, and lists what is left then. */
static tn_status branch(const run *state, const tn_build_node *node, judgement judged) {
    tn_build_search *search = state->search;
    const uint32_t axis = next_axis(search, &node->set);
    if (axis == search->axes || tn_build_key_level(search->axis[axis].key) > TN_LEVEL_BANK) {
        if (judged == WITHOUT_BOUND) return price_each(state, node);
        TN_TRY(TN_GROW(&search->node, &search->capacity, search->nodes + 1, state->error));
        search->node[search->nodes++] = *node;
        return TN_OK;
    }
    uint64_t times;
    const size_t values = values_of(state, node, axis, &times);
    for (size_t v = 0; v < values; v++) {
        tn_build_node fixed = fixed_node(state, node, axis, v);
        fixed.times *= times;
        TN_TRY(judge_set(state, &fixed, &judged));
        if (judged != REFUSED) TN_TRY(branch(state, &fixed, judged));
    }
    return TN_OK;
}

/* The set of all builds of the chunk: its first inner choices have one value each. */
static tn_build_node root_of(const run *state, const tn_chunk *chunk) {
    const tn_build_search *search = state->search;
    tn_build_node root = {
        .set = {.build = search->evaluator->base_build, .axes = search->axes, .axis = search->axis},
        .times = 1};
    uint64_t left = chunk->inners;
    for (uint32_t i = search->axes; i-- > 0;) {
        tn_build_set_value(&root.set.build, search->axis[i].key, search->axis[i].value[0]);
        if (left == 1) continue;
        root.set.free |= 1u << i;
        left /= search->axis[i].count;
    }
    for (uint32_t i = 0; i < search->axes; i++) {
        const uint64_t digit = chunk->first / stride_of(search, i) % search->axis[i].count;
        if (!(root.set.free >> i & 1)) root = fixed_node(state, &root, i, digit);
    }
    return root;
}

/* What memories lack beside the kernels of so much; TN_RESOURCES: nothing. */
static tn_status find_lack(const run *state, const tn_build_node *root, const tn_resources *kernels,
                           tn_resources within, tn_resource *lacks) {
    if (kernels) within.lut -= tn_least(within.lut, kernels->lut);
    return tn_price_set_lack(state->search->evaluator->workload, &root->set, &within, lacks, state->error);
}

/* The resource that they lack, or the constraint without which there would be enough. */
static tn_status refuse_memories(const run *state, const tn_build_node *root, const tn_resources *kernels,
                                 uint32_t *cause) {
    const tn_evaluator *evaluator = state->search->evaluator;
    tn_resource lacks;
    TN_TRY(find_lack(state, root, kernels, evaluator->space->within, &lacks));
    if (lacks == TN_RESOURCES) return TN_OK;
    *cause = (uint32_t)(TN_CAUSE_RESOURCE + lacks);
    const uint32_t narrowing = tn_evaluator_narrowing(evaluator);
    if (narrowing == TN_CAUSE_NONE) return TN_OK;
    TN_TRY(find_lack(state, root, kernels, evaluator->space->budget, &lacks));
    *cause = lacks == TN_RESOURCES ? narrowing : (uint32_t)(TN_CAUSE_RESOURCE + lacks);
    return TN_OK;
}

/* Whether the step is refused whole, before it is bounded: by what a constraint leaves of it, or, as long as nothing fits, by what
 * its memories lack. */
static tn_status refuse_step(const run *state, const tn_build_node *root, const tn_resources *kernels,
                             bool *refused) {
    const tn_build_search *search = state->search;
    uint32_t cause = TN_CAUSE_NONE;
    if (search->has_bounds) cause = tn_evaluator_refuses_set(search->evaluator, &root->set, root->inner);
    if (cause == TN_CAUSE_NONE && none_fits(state)) TN_TRY(refuse_memories(state, root, kernels, &cause));
    *refused = cause != TN_CAUSE_NONE;
    if (*refused) state->found->count[cause] += designs_of(root);
    return TN_OK;
}

tn_status tn_build_search_run(tn_build_search *search, const tn_chunk *chunk, uint64_t outer,
                              const tn_resources *kernels, tn_outcome *found, tn_error *error) {
    run state = {search, outer, found, error};
    tn_build_node root = root_of(&state, chunk);
    judgement judged;
    bool refused;
    search->nodes = 0;
    TN_TRY(refuse_step(&state, &root, kernels, &refused));
    if (refused) return TN_OK;
    TN_TRY(judge_set(&state, &root, &judged));
    if (judged == REFUSED) return TN_OK;
    TN_TRY(branch(&state, &root, judged));
    if (search->nodes) qsort(search->node, search->nodes, sizeof *search->node, by_bound);
    for (size_t i = 0; i < search->nodes; i++) {
        found->count[TN_CAUSE_NONE] += designs_of(&search->node[i]);
        TN_TRY(open_node(&state, &search->node[i]));
    }
    return TN_OK;
}
