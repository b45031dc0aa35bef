#include "train/selection.h"

#include "base/memory.h"
#include "model/graph.h"
#include "train/initial.h"

#include <math.h>
#include <string.h>

/* ---- the greatest ---- */

/* The `rank`-th greatest, from 0, of `values`, which are left in another order (Hoare, Find, 1961). */
static double greatest_of_rank(double *values, size_t count, size_t rank) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i >= j) break;
            double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        /* values[low..j] >= pivot >= values[j+1..high], unless i == j stand on the pivot. */
        size_t end = values[j] < pivot ? j - 1 : j;
        if (rank <= end)
            high = end == high ? end - 1 : end;
        else
            low = end + 1;
        if (end == high + 1 && rank == end) return values[end];
    }
    return values[low];
}

/* Classes of sizes that differ in exponent and four bits of mantissa: a greater size is in no lower class. */
enum { CLASS_BITS = 15, CLASSES = 1 << CLASS_BITS };
static size_t class_of(double size) {
    uint64_t bits;
    if (!(size > 0)) return 0;
    memcpy(&bits, &size, sizeof bits);
    return (size_t)(bits >> (63 - CLASS_BITS));
}

/* The `rank`-th greatest: it is in one class, whose members alone are put in order. */
static double find_rank(const double *size, size_t elements, size_t rank, double *room) {
    uint32_t count[CLASSES] = {0};
    size_t members = 0, wanted = CLASSES;
    for (size_t i = 0; i < elements; i++) count[class_of(size[i])]++;
    while (rank >= count[--wanted]) rank -= count[wanted];
    for (size_t i = 0; i < elements; i++)
        if (class_of(size[i]) == wanted) room[members++] = size[i] > 0 ? size[i] : 0;
    return greatest_of_rank(room, members, rank);
}

void tn_mark_greatest(const double *size, size_t elements, size_t live, bool *stays, double *room) {
    const double least = find_rank(size, elements, live - 1, room);
    size_t above = 0;
    for (size_t i = 0; i < elements; i++) above += size[i] > least;
    size_t equal = live - above; /* of those that are just as great */
    for (size_t i = 0; i < elements; i++) {
        const bool same = size[i] == least || (least == 0 && !(size[i] > 0));
        stays[i] = size[i] > least || (same && equal > 0 && equal-- > 0);
    }
}

void tn_select_greatest(const tn_kernels *kernels, void *values, size_t elements, size_t live, void *mask,
                        double *room) {
    double *value = room, *size = room + elements;
    bool *stays = (bool *)(room + 3 * elements);
    kernels->to_double(values, value, elements);
    for (size_t i = 0; i < elements; i++) size[i] = fabs(value[i]);
    tn_mark_greatest(size, elements, live, stays, room + 2 * elements);
    for (size_t i = 0; i < elements; i++) {
        if (!stays[i]) value[i] = 0;
        size[i] = stays[i];
    }
    kernels->from_double(value, values, elements);
    if (mask) kernels->from_double(size, mask, elements);
}

size_t tn_count_live(const tn_kernels *kernels, const void *values, size_t elements, double *room) {
    size_t live = 0;
    kernels->to_double(values, room, elements);
    for (size_t i = 0; i < elements; i++) live += room[i] != 0;
    return live;
}

/* ---- the tracked set ---- */

static bool tracks(const tn_trainer *t) {
    return t->model->keys.sparsity.selection == TN_SELECTION_ACCUMULATED;
}

double tn_initial_factor(const tn_trainer *t, uint64_t steps) {
    const double decay = t->model->keys.sparsity.initial_decay;
    if (decay == 1) return 1;
    if (tn_model_is_inference(t->model)) return 0;
    const double factor = pow(decay, (double)steps);
    return factor < 0x1p-126 ? 0 : factor;
}

/* W(0) times the factor as the run's arithmetic holds it, and as the step's format does. */
static void put_initial(tn_trainer *t, const tn_number_format *kept, const double *initial, double factor,
                        double *product, size_t elements, void *out) {
    for (size_t i = 0; i < elements; i++) product[i] = initial[i] * factor;
    t->kernels->from_double(product, out, elements);
    if (kept) tn_round_array(&t->rounding, kept, t->kernels, 1, elements, out);
}

/* One sparse parameter's tracked set: SGD by `gradient` (NULL: none, and elements are taken as they are), and of all elements
 * the `live` that are then farthest from W(0) as it was before the step. The others become W(0) as it is after it. */
static void track(tn_trainer *t, size_t parameter, const tn_number_format *kept, size_t live,
                  const void *gradient, double rate, void *mask) {
    const tn_train_parameter *p = &t->parameter[parameter];
    const tn_kernels *k = t->kernels;
    const size_t elements = p->elements;
    const double now = tn_initial_factor(t, t->steps),
                 next = gradient ? tn_initial_factor(t, t->steps + 1) : now;
    double *initial = t->selection_room, *base = initial + elements, *value = base + elements,
           *size = value + elements, *other = size + elements;
    bool *stays = (bool *)(other + elements);
    tn_initial_values(t, parameter, 0, elements, initial);
    put_initial(t, kept, initial, now, size, elements, other);
    if (gradient) { /* what is no member is W(0), whatever stands in its place */
        k->to_double(mask, size, elements);
        for (size_t i = 0; i < elements; i++)
            if (size[i] == 0)
                memcpy((char *)p->values + i * k->bytes, (char *)other + i * k->bytes, k->bytes);
        k->update[TN_OP_UPDATE_SGD](p->values, gradient, NULL, 0, elements, &(tn_update_rule){.rate = rate});
        if (kept) tn_round_array(&t->rounding, kept, k, 1, elements, p->values);
    }
    k->to_double(other, base, elements);
    k->to_double(p->values, value, elements);
    for (size_t i = 0; i < elements; i++) size[i] = fabs(value[i] - base[i]);
    tn_mark_greatest(size, elements, live, stays, other);
    for (size_t i = 0; i < elements; i++) {
        value[i] = !stays[i]     ? initial[i] * next
                   : now == next ? value[i]
                                 : value[i] + initial[i] * (next - now);
        size[i] = stays[i];
    }
    k->from_double(value, p->values, elements);
    if (kept) tn_round_array(&t->rounding, kept, k, 1, elements, p->values);
    if (mask) k->from_double(size, mask, elements);
}

/* out = what the mask has, and W(0) elsewhere. */
static void regenerate(tn_trainer *t, size_t parameter, const void *mask, void *out) {
    const tn_train_parameter *p = &t->parameter[parameter];
    const tn_kernels *k = t->kernels;
    double *initial = t->selection_room, *member = initial + p->elements;
    tn_initial_values(t, parameter, 0, p->elements, initial);
    put_initial(t, NULL, initial, tn_initial_factor(t, t->steps), initial, p->elements, out);
    k->to_double(mask, member, p->elements);
    for (size_t i = 0; i < p->elements; i++)
        if (member[i] != 0)
            memcpy((char *)out + i * k->bytes, (const char *)p->values + i * k->bytes, k->bytes);
}

void tn_select_first(tn_step_run *r) {
    tn_trainer *t = r->t;
    const tn_lowered_step *lowered = &r->sized->lowered;
    if (t->selected) return;
    t->selected = true;
    for (uint32_t i = 0; i < lowered->step.arrays; i++) {
        const tn_array *array = &lowered->step.array[i];
        void *mask;
        if (!array->live || array->role != TN_ARRAY_PARAMETER) continue;
        mask = lowered->mask_of[i] == UINT32_MAX ? NULL : tn_array_values(r, lowered->mask_of[i]);
        if (tracks(t))
            track(t, t->resident_parameter[lowered->place[i]], lowered->kept, array->live, NULL, 0, mask);
        else
            tn_select_greatest(t->kernels, tn_array_values(r, i), array->elements, array->live, mask,
                               t->selection_room);
    }
}

void tn_run_selection(tn_step_run *r, const tn_operation *o) {
    tn_trainer *t = r->t;
    const tn_lowered_step *lowered = &r->sized->lowered;
    const size_t parameter = t->resident_parameter[lowered->place[o->reads[0]]];
    const tn_array *array = &lowered->step.array[o->reads[0]];
    if (o->kind == TN_OP_REGENERATE)
        regenerate(t, parameter, tn_array_values(r, o->reads[1]), tn_array_values(r, o->writes[0]));
    else if (o->kind == TN_OP_TRACK)
        track(t, parameter, lowered->kept, array->live, tn_array_values(r, o->reads[1]), r->rate,
              tn_array_values(r, o->writes[1]));
    else
        tn_select_greatest(t->kernels, tn_array_values(r, o->writes[0]), array->elements, array->live,
                           tn_array_values(r, o->writes[1]), t->selection_room);
}

/* ---- what is counted ---- */

uint64_t tn_live_macs(const tn_step_run *r, const tn_operation *o, uint64_t macs) {
    const tn_lowered_step *lowered = &r->sized->lowered;
    if (tracks(r->t) && tn_initial_factor(r->t, r->t->steps) > 0) return macs;
    for (uint32_t k = 0; k < o->read_count; k++) {
        const tn_array *array = &lowered->step.array[o->reads[k]];
        if (!array->live || array->role != TN_ARRAY_PARAMETER) continue;
        const uint32_t mask = lowered->mask_of[o->reads[k]];
        const void *values = tn_array_values(r, mask == UINT32_MAX ? o->reads[k] : mask);
        macs = macs / array->elements *
               tn_count_live(r->t->kernels, values, array->elements, r->t->selection_room);
    }
    return macs;
}

uint64_t tn_predicted_macs(const tn_trainer *t, const tn_step *step, bool forward) {
    const bool dense = tracks(t) && tn_initial_factor(t, t->steps) > 0;
    uint64_t macs = 0;
    uint32_t end = forward ? step->forward_operations : step->operations;
    for (uint32_t i = 0; i < end; i++) {
        const tn_operation *o = &step->operation[i];
        macs += dense && o->live ? o->batch * o->rows * o->reduction * o->columns : o->macs;
    }
    return macs;
}

tn_status tn_selection_grow(tn_trainer *t, size_t elements, tn_error *error) {
    double *room;
    if (elements <= t->selection_elements) return TN_OK;
    TN_TRY(tn_alloc(elements, TN_SELECTION_ROOM * sizeof *room, &room, error));
    tn_free(t->selection_room);
    t->selection_room = room;
    t->selection_elements = elements;
    return TN_OK;
}

uint64_t tn_trainer_settled_steps(const tn_trainer *t) {
    uint64_t steps = 0;
    if (!tracks(t) || t->model->keys.sparsity.initial_decay == 1) return 0;
    while (tn_initial_factor(t, steps) > 0) steps = 2 * steps + 1;
    return steps;
}

void tn_trainer_select_anew(tn_trainer *t) {
    t->selected = false;
}
