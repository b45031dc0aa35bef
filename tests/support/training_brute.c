#include "support/training_brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { TREES = 1000, VALUES = 64, STEPS = 16, PARTS = 4, NONE = -1 };
enum { PRELUDE, FORWARD, BACKWARD, EPILOGUE };

typedef struct {
    unsigned a[TEST_TRAINING_TENSORS], b[TEST_TRAINING_TENSORS]; /* sets merged, in order */
} tree;

typedef struct {
    const tn_network *network;
    int tensors; /* without dY, which is bit `tensors` of a set */
    unsigned all, wanted;
    uint64_t batches;
    tree *trees;
    int count;
    test_training_front front;
} brute;

static bool on(tn_indices indices, uint32_t index) {
    for (uint32_t i = 0; i < indices.count; i++)
        if (indices.index[i] == index) return true;
    return false;
}

static bool touches(const brute *w, unsigned set, uint32_t index) {
    for (int t = 0; t <= w->tensors; t++)
        if (set >> t & 1 && on(t < w->tensors ? w->network->tensor[t] : w->network->output, index))
            return true;
    return false;
}

static uint64_t elements(const brute *w, unsigned set) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < w->network->indices; i++)
        if (touches(w, set, i) && touches(w, w->all & ~set, i)) product *= w->network->index_size[i];
    return product;
}

static uint64_t macs(const brute *w, unsigned a, unsigned b) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < w->network->indices; i++) {
        bool with_a = touches(w, a, i) && touches(w, w->all & ~a, i);
        bool with_b = touches(w, b, i) && touches(w, w->all & ~b, i);
        if (with_a || with_b) product *= w->network->index_size[i];
    }
    return product;
}

static bool merges_into(const brute *w, const tree *t, unsigned set) {
    for (int i = 0; i + 1 < w->tensors; i++)
        if ((t->a[i] | t->b[i]) == set) return true;
    return false;
}

static bool is_known(const brute *w, const tree *t) {
    for (int k = 0; k < w->count; k++) {
        bool same = true;
        for (int i = 0; i + 1 < w->tensors && same; i++)
            same = merges_into(w, &w->trees[k], t->a[i] | t->b[i]);
        if (same) return true;
    }
    return false;
}

static void list_trees(brute *w, tree *t, int merged, unsigned *forest, int alive) {
    if (alive == 1) {
        if (is_known(w, t)) return;
        assert_true(w->count < TREES);
        w->trees[w->count++] = *t;
        return;
    }
    for (int i = 0; i < alive; i++)
        for (int j = i + 1; j < alive; j++) {
            unsigned next[TEST_TRAINING_TENSORS];
            memcpy(next, forest, (size_t)alive * sizeof *next);
            t->a[merged] = forest[i];
            t->b[merged] = forest[j];
            next[i] |= next[j];
            next[j] = next[alive - 1];
            list_trees(w, t, merged + 1, next, alive - 1);
        }
}

/* A flow, step by step. Values are sets; one may be made in two parts, so they are numbered. */
typedef struct {
    unsigned set;
    uint64_t size;
    int made_in, made_by; /* NONE: an input */
} value;

typedef struct {
    const brute *w;
    value v[VALUES];
    int values, steps;
    int a[VALUES], b[VALUES], out[VALUES], part[VALUES];
    uint64_t cost[VALUES];
    unsigned readers[VALUES][PARTS]; /* steps */
} flow;

static int add_value(flow *f, unsigned set, int made_in) {
    f->v[f->values] = (value){set, elements(f->w, set), made_in, made_in == NONE ? NONE : f->steps};
    return f->values++;
}

static int add_step(flow *f, int a, int b, int part) {
    assert_true(f->values < VALUES && f->steps < 32);
    f->a[f->steps] = a;
    f->b[f->steps] = b;
    f->part[f->steps] = part;
    f->cost[f->steps] = macs(f->w, f->v[a].set, f->v[b].set);
    f->readers[a][part] |= 1u << f->steps;
    f->readers[b][part] |= 1u << f->steps;
    f->out[f->steps] = add_value(f, f->v[a].set | f->v[b].set, part);
    f->steps++;
    return f->values - 1;
}

/* The value of that set made in one of the parts up to `part`, or the input; NONE. */
static int find(const flow *f, unsigned set, int part) {
    for (int i = f->values; i-- > 0;)
        if (f->v[i].set == set && f->v[i].made_in <= part) return i;
    return NONE;
}

static bool inside(unsigned set, const unsigned *shared, int count) {
    for (int i = 0; i < count; i++)
        if (!(set & ~shared[i])) return true;
    return false;
}

typedef struct {
    const tree *forward, *backward;
    unsigned kept[8], shared[8];
    int keeps, shares;
} choice;

static bool is_among(unsigned set, const unsigned *sets, int count) {
    for (int i = 0; i < count; i++)
        if (sets[i] == set) return true;
    return false;
}

/* What the backward pass has for a value without dY: an input, kept, shared, or recomputed. */
static int value_for_backward(flow *f, const choice *c, unsigned set) {
    if ((set & (set - 1)) == 0 || is_among(set, c->kept, c->keeps) || is_among(set, c->shared, c->shares))
        return find(f, set, FORWARD);
    for (int i = 0; i < f->values; i++)
        if (f->v[i].set == set && f->v[i].made_in >= BACKWARD) return i;
    for (int i = 0; i + 1 < f->w->tensors; i++)
        if ((c->backward->a[i] | c->backward->b[i]) == set) {
            int a = value_for_backward(f, c, c->backward->a[i]),
                b = value_for_backward(f, c, c->backward->b[i]);
            return add_step(f, a, b, inside(set, c->shared, c->shares) ? EPILOGUE : BACKWARD);
        }
    fail();
    return NONE;
}

static void write_gradients(flow *f, const choice *c, unsigned parent, int gradient) {
    for (int i = 0; i + 1 < f->w->tensors; i++) {
        unsigned side[2] = {c->backward->a[i], c->backward->b[i]};
        if ((side[0] | side[1]) != parent) continue;
        int part = inside(parent, c->shared, c->shares) ? EPILOGUE : BACKWARD;
        for (int s = 0; s < 2; s++)
            if (side[s] & f->w->wanted) {
                int sibling = value_for_backward(f, c, side[1 - s]);
                write_gradients(f, c, side[s], add_step(f, gradient, sibling, part));
            }
    }
}

static void write_flow(flow *f, const brute *w, const choice *c) {
    *f = (flow){.w = w};
    for (int t = 0; t <= w->tensors; t++) add_value(f, 1u << t, NONE);
    for (int i = 0; i + 1 < w->tensors; i++) {
        unsigned a = c->forward->a[i], b = c->forward->b[i];
        bool once = inside(a | b, c->shared, c->shares);
        add_step(f, find(f, a, FORWARD), find(f, b, FORWARD), once ? PRELUDE : FORWARD);
    }
    write_gradients(f, c, (1u << w->tensors) - 1, w->tensors);
}

/* Whether a step of `part` that is not in `done` reads value i. */
static bool is_read(const flow *f, int i, int part, unsigned done) {
    return (f->readers[i][part] & ~done) != 0;
}

static bool is_gradient(const flow *f, int i) {
    unsigned lacks = f->w->all & ~f->v[i].set;
    return (lacks & (lacks - 1)) == 0 && !(lacks >> f->w->tensors & 1);
}

/* Live while the steps `done` of `part` are done and the others are to come. */
static bool is_live(const flow *f, int i, int part, unsigned done) {
    const value *v = &f->v[i];
    bool core_gradient = is_gradient(f, i) && v->set & 1, body = part == FORWARD || part == BACKWARD;
    if (v->made_in == NONE) {
        if (v->set == 1) return part == FORWARD || (part == BACKWARD && is_read(f, i, part, done));
        return v->set == 1u << f->w->tensors ? part == BACKWARD : true;
    }
    bool made = part > v->made_in || (part == v->made_in && done >> v->made_by & 1);
    if (v->made_in == PRELUDE) {
        bool later = is_read(f, i, FORWARD, 0) || is_read(f, i, BACKWARD, 0) || is_read(f, i, EPILOGUE, 0);
        if (part == PRELUDE) return made && (later || is_read(f, i, part, done));
        return body ? later : is_read(f, i, part, done);
    }
    if (f->w->batches > 1 && v->made_in == BACKWARD && (core_gradient || is_read(f, i, EPILOGUE, 0)))
        return body || (part == EPILOGUE && (core_gradient || is_read(f, i, part, done)));
    if (!made) return false;
    if (v->made_in == FORWARD && part == FORWARD)
        return v->set == (1u << f->w->tensors) - 1 || is_read(f, i, FORWARD, done) ||
               is_read(f, i, BACKWARD, 0);
    if (v->made_in == FORWARD) return is_read(f, i, part, done);
    if (v->made_in == part) return is_gradient(f, i) || is_read(f, i, part, done);
    return false;
}

static uint64_t live(const flow *f, int part, unsigned done, int making) {
    uint64_t sum = 0;
    for (int i = 0; i < f->values; i++) {
        bool now = is_live(f, i, part, done);
        /* A sum is counted already; any other result is not live before it is made. */
        if (making != NONE && i == f->out[making]) now = true;
        if (now) sum += f->v[i].size;
    }
    return sum;
}

static bool is_ready(const flow *f, int s, int part, unsigned done) {
    const int operand[2] = {f->a[s], f->b[s]};
    if (f->part[s] != part || done >> s & 1) return false;
    for (int k = 0; k < 2; k++) {
        const value *v = &f->v[operand[k]];
        if (v->made_in == part && !(done >> v->made_by & 1)) return false;
    }
    return true;
}

/* Least peak of all orders of the steps of `part` that are left; `first` is its first step. */
static uint64_t least_peak(const flow *f, int part, unsigned done, int first, uint64_t *memory) {
    uint64_t best = UINT64_MAX;
    bool any = false;
    if (memory[done >> first]) return memory[done >> first] - 1;
    for (int s = 0; s < f->steps; s++) {
        if (!is_ready(f, s, part, done)) continue;
        any = true;
        uint64_t during = live(f, part, done, s), rest = least_peak(f, part, done | 1u << s, first, memory);
        if (rest < during) rest = during;
        if (rest < best) best = rest;
    }
    if (!any) best = 0;
    memory[done >> first] = best + 1;
    return best;
}

static uint64_t part_peak(const flow *f, int part) {
    static uint64_t memory[1 << STEPS];
    int first = 0, last = f->steps;
    while (first < last && f->part[first] != part) first++;
    while (last > first && f->part[last - 1] != part) last--;
    if (first == last) return 0;
    assert_true(last - first <= STEPS);
    memset(memory, 0, sizeof *memory << (last - first));
    return least_peak(f, part, 0, first, memory);
}

static uint64_t part_macs(const flow *f, int part) {
    uint64_t sum = 0;
    for (int s = 0; s < f->steps; s++)
        if (f->part[s] == part) sum += f->cost[s] * (part == PRELUDE || part == EPILOGUE ? 1 : f->w->batches);
    return sum;
}

/* Intermediates live between forward and backward pass. */
static uint64_t saved(const flow *f) {
    uint64_t sum = 0;
    for (int i = f->w->tensors + 1; i < f->values; i++)
        if (f->v[i].made_in <= FORWARD && is_live(f, i, BACKWARD, 0)) sum += f->v[i].size;
    return sum;
}

static bool reads_all(const flow *f, const choice *c) {
    for (int k = 0; k < c->keeps; k++) {
        int i = find(f, c->kept[k], FORWARD);
        if (!is_read(f, i, BACKWARD, 0) && !is_read(f, i, EPILOGUE, 0)) return false;
    }
    return true;
}

static void add_point(test_training_front *front, test_training_point p) {
    size_t left = 0;
    for (size_t i = 0; i < front->count; i++) {
        const test_training_point *q = &front->point[i];
        if (q->macs <= p.macs && q->saved <= p.saved && q->peak <= p.peak) return;
    }
    for (size_t i = 0; i < front->count; i++) {
        const test_training_point *q = &front->point[i];
        if (q->macs < p.macs || q->saved < p.saved || q->peak < p.peak) front->point[left++] = *q;
    }
    assert_true(left < TEST_TRAINING_FRONT);
    front->point[left++] = p;
    front->count = left;
}

/* The inner sets of a tree, but its root. */
static int inner(const brute *w, const tree *t, unsigned *sets) {
    for (int i = 0; i + 2 < w->tensors; i++) sets[i] = t->a[i] | t->b[i];
    return w->tensors - 2;
}

/* Which half costs what, for one tree and one set of kept values. */
typedef struct {
    unsigned kept[8];
    int keeps;
    bool reads_all;
    uint64_t macs[2], peak[2], saved;
} halves;

static halves halve(const brute *w, const tree *t, const unsigned *sets, int count, unsigned mask) {
    static flow f;
    halves h = {0};
    choice c = {.forward = t, .backward = t};
    for (int i = 0; i < count; i++)
        if (mask >> i & 1) c.kept[c.keeps++] = sets[i];
    write_flow(&f, w, &c);
    memcpy(h.kept, c.kept, sizeof h.kept);
    h.keeps = c.keeps;
    h.reads_all = reads_all(&f, &c);
    for (int side = 0; side < 2; side++) {
        h.macs[side] = part_macs(&f, FORWARD + side);
        h.peak[side] = part_peak(&f, FORWARD + side);
    }
    for (int i = 0; i < c.keeps; i++) h.saved += elements(w, c.kept[i]);
    return h;
}

static bool keep_the_same(const halves *a, const halves *b) {
    if (a->keeps != b->keeps) return false;
    for (int i = 0; i < a->keeps; i++)
        if (!is_among(a->kept[i], b->kept, b->keeps)) return false;
    return true;
}

static void pair_trees(brute *w) {
    unsigned masks = 1u << (w->tensors - 2);
    halves *h = malloc(sizeof *h * (size_t)w->count * masks);
    size_t count = 0;
    assert_non_null(h);
    for (int t = 0; t < w->count; t++)
        for (unsigned mask = 0; mask < masks; mask++) {
            unsigned sets[8];
            int inner_sets = inner(w, &w->trees[t], sets);
            h[count++] = halve(w, &w->trees[t], sets, inner_sets, mask);
        }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            if (!h[j].reads_all || !keep_the_same(&h[i], &h[j])) continue;
            uint64_t peak = h[i].peak[0] > h[j].peak[1] ? h[i].peak[0] : h[j].peak[1];
            add_point(&w->front, (test_training_point){h[i].macs[0] + h[j].macs[1], h[j].saved, peak});
        }
    free(h);
}

static bool are_disjoint(const unsigned *sets, int count) {
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (sets[i] & sets[j]) return false;
    return true;
}

static void share_and_keep(brute *w, const tree *t) {
    static flow f;
    unsigned sets[8], masks = 1u << (w->tensors - 2);
    int count = inner(w, t, sets);
    for (unsigned share = 0; share < masks; share++)
        for (unsigned keep = 0; keep < masks; keep++) {
            choice c = {.forward = t, .backward = t};
            bool of_cores = true;
            for (int i = 0; i < count; i++) {
                if (keep >> i & 1) c.kept[c.keeps++] = sets[i];
                if (!(share >> i & 1)) continue;
                c.shared[c.shares++] = sets[i];
                of_cores &= !(sets[i] & 1);
            }
            if (share & keep || !of_cores || !are_disjoint(c.shared, c.shares)) continue;
            write_flow(&f, w, &c);
            test_training_point p = {0, saved(&f), 0};
            for (int part = 0; part < PARTS; part++) {
                uint64_t peak = part_peak(&f, part);
                p.macs += part_macs(&f, part);
                if (peak > p.peak) p.peak = peak;
            }
            add_point(&w->front, p);
        }
}

static int by_macs(const void *a, const void *b) {
    const test_training_point *p = a, *q = b;
    if (p->macs != q->macs) return p->macs < q->macs ? -1 : 1;
    if (p->saved != q->saved) return p->saved < q->saved ? -1 : 1;
    return p->peak < q->peak ? -1 : p->peak > q->peak;
}

static brute begin(const tn_network *network, bool input_gradient, uint64_t micro_batches) {
    brute w = {.network = network, .tensors = (int)network->tensors, .batches = micro_batches};
    assert_true(w.tensors >= 2 && w.tensors <= TEST_TRAINING_TENSORS);
    w.all = (2u << w.tensors) - 1;
    w.wanted = (1u << w.tensors) - (input_gradient ? 1 : 2);
    return w;
}

static void list_all_trees(brute *w, tree *trees) {
    unsigned forest[TEST_TRAINING_TENSORS];
    tree t = {0};
    w->trees = trees;
    for (int i = 0; i < w->tensors; i++) forest[i] = 1u << i;
    list_trees(w, &t, 0, forest, w->tensors);
}

test_training_front test_training_brute(const tn_network *network, bool input_gradient,
                                        uint64_t micro_batches) {
    static tree trees[TREES];
    brute w = begin(network, input_gradient, micro_batches);
    list_all_trees(&w, trees);
    if (micro_batches == 1) pair_trees(&w);
    for (int i = 0; i < w.count && micro_batches > 1; i++) share_and_keep(&w, &w.trees[i]);
    qsort(w.front.point, w.front.count, sizeof *w.front.point, by_macs);
    return w.front;
}

/* All ways to make the sets that are needed, the largest first. */
typedef struct {
    unsigned all;
    uint64_t macs[64][64], least[64]; /* of merging two sets; of making a set from its parts */
    bool needed[64], free[64];
    uint64_t best;
} making;

static void tabulate(const brute *w, making *m) {
    assert_true(w->all < 64);
    *m = (making){.all = w->all};
    for (unsigned set = 1; set < w->all; set++) {
        m->least[set] = UINT64_MAX;
        for (unsigned a = (set - 1) & set; a; a = (a - 1) & set) {
            m->macs[a][set ^ a] = macs(w, a, set ^ a);
            if (m->macs[a][set ^ a] < m->least[set]) m->least[set] = m->macs[a][set ^ a];
        }
    }
}

static void need_gradients(const brute *w, making *m, bool with_y) {
    memset(m->needed, 0, sizeof m->needed);
    for (int t = 0; t <= w->tensors; t++)
        if (t == w->tensors ? with_y : w->wanted >> t & 1) m->needed[w->all & ~(1u << t)] = true;
}

static bool may_need(making *m, unsigned set) {
    bool had = m->needed[set];
    if ((set & (set - 1)) != 0 && !m->free[set]) m->needed[set] = true;
    return had;
}

static void make_needed(making *m, uint64_t cost) {
    unsigned next = 0;
    uint64_t least = cost; /* every needed set takes a step of its own */
    for (unsigned set = 1; set < m->all; set++) {
        if (!m->needed[set]) continue;
        least += m->least[set];
        if (!next || __builtin_popcount(set) > __builtin_popcount(next)) next = set;
    }
    if (least >= m->best) return;
    if (!next) {
        m->best = cost;
        return;
    }
    m->needed[next] = false;
    for (unsigned a = (next - 1) & next; a; a = (a - 1) & next) {
        unsigned b = next ^ a;
        if (a < b) continue;
        bool had_a = may_need(m, a), had_b = may_need(m, b);
        make_needed(m, cost + m->macs[a][b]);
        m->needed[a] = had_a;
        m->needed[b] = had_b;
    }
    m->needed[next] = true;
}

uint64_t test_training_least_macs(const tn_network *network, bool input_gradient) {
    static making m;
    brute w = begin(network, input_gradient, 1);
    tabulate(&w, &m);
    need_gradients(&w, &m, true);
    m.best = UINT64_MAX;
    make_needed(&m, 0);
    return m.best;
}

static bool beats_with(const brute *w, making *m, const tree *t, unsigned mask,
                       const test_training_point *point, size_t count) {
    unsigned sets[8];
    int inner_sets = inner(w, t, sets);
    uint64_t forward = 0, kept = 0, known = UINT64_MAX;
    memset(m->free, 0, sizeof m->free);
    for (int i = 0; i < inner_sets; i++)
        if (mask >> i & 1) {
            m->free[sets[i]] = true;
            kept += elements(w, sets[i]);
        }
    for (int i = 0; i + 1 < w->tensors; i++) forward += m->macs[t->a[i]][t->b[i]];
    for (size_t i = 0; i < count; i++)
        if (point[i].saved <= kept && point[i].macs < known) known = point[i].macs;
    if (forward >= known) return false;
    need_gradients(w, m, false);
    m->best = known - forward;
    make_needed(m, 0);
    return m->best < known - forward;
}

bool test_training_beats(const tn_network *network, bool input_gradient, const test_training_point *point,
                         size_t count) {
    static tree trees[TREES];
    static making m;
    brute w = begin(network, input_gradient, 1);
    list_all_trees(&w, trees);
    tabulate(&w, &m);
    for (int t = 0; t < w.count; t++)
        for (unsigned mask = 0; mask < 1u << (w.tensors - 2); mask++)
            if (beats_with(&w, &m, &w.trees[t], mask, point, count)) return true;
    return false;
}
