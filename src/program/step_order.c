#include "program/step_order.h"

#include "base/memory.h"
#include "flow/problem.h"

#include <stdlib.h>
#include <string.h>

/* A set of done steps, with the best way to it. */
typedef struct tn_order_entry {
    uint64_t done, live, peak;
    uint32_t previous; /* entry of the layer before */
    uint8_t step;      /* the last one done */
} entry;

#define NOTHING UINT32_MAX

enum { FIRST_SLOT_BITS = 8 };

/* What the walk asks of the problem again and again. */
typedef struct walk {
    tn_orderer *orderer;
    const tn_order_problem *problem;
    uint64_t readers[TN_ORDER_ITEMS]; /* steps that read the item */
    uint64_t needs[TN_ORDER_STEPS];   /* steps that make its operands */
    uint64_t all;
    size_t entries_most;
    bool exact;
    tn_error *error;
} walk;

static void prepare(walk *w) {
    const tn_order_problem *problem = w->problem;
    uint64_t maker[TN_ORDER_ITEMS] = {0};
    for (uint32_t s = 0; s < problem->steps; s++) {
        const tn_order_step *step = &problem->step[s];
        uint64_t bit = UINT64_C(1) << s;
        w->needs[s] = maker[step->a] | maker[step->b];
        w->readers[step->a] |= bit;
        w->readers[step->b] |= bit;
        maker[step->out] = bit;
        w->all |= bit;
    }
}

/* Elements of the operand that go when `done` includes its last reader. */
static uint64_t goes(const walk *w, uint32_t item, uint64_t done) {
    if (w->problem->item[item].stays || (w->readers[item] & ~done)) return 0;
    return w->problem->item[item].elements;
}

static entry after(const walk *w, uint32_t start, uint32_t s) {
    const entry *e = &w->orderer->entry[start];
    const tn_order_step *step = &w->problem->step[s];
    entry next = {.done = e->done | UINT64_C(1) << s, .peak = e->peak, .previous = start, .step = (uint8_t)s};
    uint64_t during = tn_saturating_add(e->live, w->problem->item[step->out].elements);
    if (during > next.peak) next.peak = during;
    uint64_t gone = goes(w, step->a, next.done) + goes(w, step->b, next.done);
    next.live = during == UINT64_MAX ? during : during - gone;
    return next;
}

static size_t slots(const tn_orderer *orderer) {
    return (size_t)1 << orderer->slot_bits;
}

static uint32_t *find_slot(const tn_orderer *orderer, uint64_t done) {
    size_t mask = slots(orderer) - 1;
    size_t index = (size_t)(done * UINT64_C(0x9e3779b97f4a7c15) >> (64 - orderer->slot_bits));
    while (orderer->slot[index] != NOTHING && orderer->entry[orderer->slot[index]].done != done)
        index = (index + 1) & mask;
    return &orderer->slot[index];
}

/* An empty table that `entries` fill by less than half; `layer` onwards are put into it. */
static tn_status reset_slots(walk *w, size_t layer, size_t entries) {
    tn_orderer *orderer = w->orderer;
    uint32_t bits = orderer->slot ? orderer->slot_bits : FIRST_SLOT_BITS;
    while (((size_t)1 << bits) < 2 * (entries + 1)) bits++;
    if (!orderer->slot || bits > orderer->slot_bits) {
        tn_free(orderer->slot);
        orderer->slot = NULL;
        TN_TRY(TN_ALLOC((size_t)1 << bits, &orderer->slot, w->error));
        orderer->slot_bits = bits;
    }
    memset(orderer->slot, 0xff, slots(orderer) * sizeof *orderer->slot);
    for (size_t i = layer; i < orderer->entries; i++)
        *find_slot(orderer, orderer->entry[i].done) = (uint32_t)i;
    return TN_OK;
}

/* Puts the entry into the layer that starts at `layer`, or keeps the better way to its set. */
static tn_status put(walk *w, size_t layer, entry next) {
    tn_orderer *orderer = w->orderer;
    uint32_t *slot = find_slot(orderer, next.done);
    if (*slot != NOTHING) {
        if (next.peak < orderer->entry[*slot].peak) orderer->entry[*slot] = next;
        return TN_OK;
    }
    TN_TRY(TN_GROW(&orderer->entry, &orderer->capacity, orderer->entries + 1, w->error));
    *slot = (uint32_t)orderer->entries;
    orderer->entry[orderer->entries++] = next;
    if (2 * (orderer->entries - layer + 1) > slots(orderer))
        TN_TRY(reset_slots(w, layer, 2 * (orderer->entries - layer)));
    return TN_OK;
}

static bool is_ready(const walk *w, uint64_t done, uint32_t s) {
    return !(done >> s & 1) && !(w->needs[s] & ~done);
}

static tn_status extend(walk *w, size_t layer, uint32_t start) {
    const entry e = w->orderer->entry[start];
    for (uint32_t s = 0; s < w->problem->steps; s++) {
        if (!is_ready(w, e.done, s)) continue;
        entry next = after(w, start, s);
        if (next.peak == e.peak && next.live <= e.live) return put(w, layer, next);
    }
    for (uint32_t s = 0; s < w->problem->steps; s++)
        if (is_ready(w, e.done, s)) TN_TRY(put(w, layer, after(w, start, s)));
    return TN_OK;
}

static int by_peak(const void *a, const void *b) {
    const entry *one = a, *other = b;
    if (one->peak != other->peak) return one->peak < other->peak ? -1 : 1;
    if (one->live != other->live) return one->live < other->live ? -1 : 1;
    return one->done < other->done ? -1 : one->done > other->done;
}

static void cut(walk *w, size_t layer) {
    tn_orderer *orderer = w->orderer;
    if (orderer->entries - layer <= w->entries_most) return;
    qsort(orderer->entry + layer, orderer->entries - layer, sizeof *orderer->entry, by_peak);
    orderer->entries = layer + w->entries_most;
    w->exact = false;
}

static tn_status walk_layers(walk *w, tn_order_result *result) {
    tn_orderer *orderer = w->orderer;
    size_t layer = 0, end = 1;
    orderer->entries = 0;
    TN_TRY(TN_GROW(&orderer->entry, &orderer->capacity, 1, w->error));
    orderer->entry[orderer->entries++] = (entry){.live = w->problem->live, .peak = w->problem->live};
    for (uint32_t s = 0; s < w->problem->steps; s++) {
        TN_TRY(reset_slots(w, end, 0));
        for (size_t start = layer; start < end; start++) TN_TRY(extend(w, end, (uint32_t)start));
        cut(w, end);
        layer = end;
        end = orderer->entries;
    }
    uint32_t index = (uint32_t)layer;
    result->peak = orderer->entry[index].peak;
    for (uint32_t s = w->problem->steps; s-- > 0; index = orderer->entry[index].previous)
        result->order[s] = orderer->entry[index].step;
    return TN_OK;
}

tn_status tn_order_find(tn_orderer *orderer, const tn_order_problem *problem, size_t entries_most,
                        tn_order_result *result, tn_error *error) {
    walk w = {
        .orderer = orderer, .problem = problem, .entries_most = entries_most, .exact = true, .error = error};
    prepare(&w);
    TN_TRY(walk_layers(&w, result));
    result->exact = w.exact;
    return TN_OK;
}

void tn_orderer_free(tn_orderer *orderer) {
    tn_free(orderer->entry);
    tn_free(orderer->slot);
    *orderer = (tn_orderer){0};
}
