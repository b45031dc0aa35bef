#include "support/brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

uint64_t test_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Index i is on the tensor that contracting `set` gives. */
static bool stays(const tn_network *network, uint32_t index, uint32_t set) {
    bool inside = false, outside = false;
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++) {
            if (network->tensor[t].index[i] != index) continue;
            if (set >> t & 1)
                inside = true;
            else
                outside = true;
        }
    for (uint32_t i = 0; i < network->output.count; i++) outside |= network->output.index[i] == index;
    return inside && (outside || (set & (set - 1)) == 0);
}

typedef struct search {
    const tn_network *network;
    bool outer;
    uint64_t size[1 << TEST_BRUTE_TENSORS];
    uint64_t cost[1 << TEST_BRUTE_TENSORS][1 << TEST_BRUTE_TENSORS]; /* 0: not known yet */
    bool share[1 << TEST_BRUTE_TENSORS][1 << TEST_BRUTE_TENSORS];
    test_brute best;
} search;

static uint64_t union_size(const tn_network *network, uint32_t a, uint32_t b, bool *share) {
    uint64_t product = 1;
    *share = false;
    for (uint32_t index = 0; index < network->indices; index++) {
        bool on_a = stays(network, index, a), on_b = stays(network, index, b);
        if (on_a || on_b) product *= network->index_size[index];
        *share |= on_a && on_b;
    }
    return product;
}

static void record(search *s, uint64_t macs, uint64_t peak) {
    test_brute *best = &s->best;
    if (macs < best->least_macs) best->least_macs = macs;
    if (peak < best->least_peak) best->least_peak = peak;
    size_t kept = 0;
    for (size_t i = 0; i < best->count; i++)
        if (best->front[i].macs <= macs && best->front[i].peak_elements <= peak) return;
    for (size_t i = 0; i < best->count; i++)
        if (best->front[i].macs < macs || best->front[i].peak_elements < peak)
            best->front[kept++] = best->front[i];
    assert_true(kept < TEST_BRUTE_FRONT);
    best->front[kept] = (test_point){macs, peak};
    best->count = kept + 1;
}

/* Merges any two of the `count` living sets, and so on. `live` are the elements that are there now. */
static void merge_any(search *s, const uint32_t *set, uint32_t count, uint64_t macs, uint64_t peak,
                      uint64_t live) {
    if (count == 1) {
        record(s, macs, peak);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t a = set[i], b = set[j], next[TEST_BRUTE_TENSORS], left = 0;
            if (!s->cost[a][b]) s->cost[a][b] = union_size(s->network, a, b, &s->share[a][b]);
            if (!s->outer && !s->share[a][b]) continue;
            for (uint32_t k = 0; k < count; k++)
                if (k != i && k != j) next[left++] = set[k];
            next[left++] = a | b;
            uint64_t here = live + s->size[a | b], after = here;
            if (a & (a - 1)) after -= s->size[a];
            if (b & (b - 1)) after -= s->size[b];
            merge_any(s, next, left, macs + s->cost[a][b], here > peak ? here : peak, after);
        }
}

static int by_macs(const void *a, const void *b) {
    const test_point *p = a, *q = b;
    return (p->macs > q->macs) - (p->macs < q->macs);
}

test_brute test_brute_force(const tn_network *network, bool outer) {
    uint32_t n = network->tensors, set[TEST_BRUTE_TENSORS];
    assert_true(n <= TEST_BRUTE_TENSORS);
    search *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->network = network;
    s->outer = outer;
    s->best.least_macs = s->best.least_peak = UINT64_MAX;
    uint64_t resident = 0;
    for (uint32_t subset = 1; subset < (uint32_t)1 << n; subset++) {
        bool share;
        s->size[subset] = union_size(network, subset, subset, &share);
    }
    for (uint32_t t = 0; t < n; t++) {
        set[t] = (uint32_t)1 << t;
        resident += s->size[set[t]];
    }
    merge_any(s, set, n, 0, resident, resident);
    test_brute best = s->best;
    free(s);
    qsort(best.front, best.count, sizeof *best.front, by_macs);
    return best;
}

enum { SPLIT_TENSORS = 12 };

static uint64_t product_of(const tn_network *network, uint64_t indices) {
    uint64_t product = 1;
    for (uint32_t index = 0; index < network->indices; index++)
        if (indices >> index & 1) product *= network->index_size[index];
    return product;
}

uint64_t test_least_macs(const tn_network *network, bool outer, uint64_t *largest) {
    uint32_t n = network->tensors, all = ((uint32_t)1 << n) - 1;
    static uint64_t least[1 << SPLIT_TENSORS], placed[1 << SPLIT_TENSORS], most[1 << SPLIT_TENSORS];
    assert_true(n <= SPLIT_TENSORS && network->indices <= 64);
    for (uint32_t set = 1; set <= all; set++) {
        placed[set] = 0;
        for (uint32_t index = 0; index < network->indices; index++)
            placed[set] |= (uint64_t)stays(network, index, set) << index;
    }
    for (uint32_t set = 1; set <= all; set++) {
        least[set] = set & (set - 1) ? UINT64_MAX : 0;
        most[set] = 0;
        uint64_t own = product_of(network, placed[set]);
        for (uint32_t part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
            uint32_t rest = set ^ part;
            if (least[part] == UINT64_MAX || least[rest] == UINT64_MAX ||
                (!outer && !(placed[part] & placed[rest])))
                continue;
            uint64_t cost = product_of(network, placed[part] | placed[rest]) + least[part] + least[rest];
            uint64_t made = most[part] > most[rest] ? most[part] : most[rest];
            if (own > made) made = own;
            if (cost > least[set] || (cost == least[set] && made >= most[set])) continue;
            least[set] = cost;
            most[set] = made;
        }
    }
    if (largest) *largest = most[all];
    return least[all];
}

static void *take(tn_arena *arena, size_t count, size_t size) {
    void *memory;
    assert_int_equal(tn_arena_alloc(arena, count, size, &memory, NULL), TN_OK);
    return memory;
}

static tn_network empty_network(uint32_t tensors, uint32_t indices, tn_arena *arena) {
    tn_network network = {.tensors = tensors, .indices = indices};
    network.index_size = take(arena, indices, sizeof *network.index_size);
    network.tensor = take(arena, tensors, sizeof *network.tensor);
    for (uint32_t t = 0; t < tensors; t++)
        network.tensor[t].index = take(arena, indices, sizeof *network.tensor[t].index);
    network.output.index = take(arena, indices, sizeof *network.output.index);
    return network;
}

static void put(tn_indices *indices, uint32_t index) {
    indices->index[indices->count++] = index;
}

tn_network test_network(const test_random_network *kind, uint64_t seed, tn_arena *arena) {
    uint64_t state = seed;
    uint32_t indices = 1 + (uint32_t)(test_random(&state) % kind->most_indices);
    tn_network network = empty_network(kind->tensors, indices, arena);
    for (uint32_t i = 0; i < indices; i++) {
        uint64_t draw = test_random(&state);
        network.index_size[i] = draw % 6 == 0 ? 1 : 1 + draw / 7 % kind->most_size;
        uint32_t carriers = 1 + (uint32_t)(test_random(&state) % 8), mask = 0;
        /* Mostly plain indices: on two tensors, or on one and the output. */
        if (!kind->hyperedges || carriers > 3) carriers = 1 + carriers % 2;
        if (carriers > kind->tensors) carriers = kind->tensors;
        for (uint32_t c = 0; c < carriers;) {
            uint32_t t = (uint32_t)(test_random(&state) % kind->tensors);
            if (mask >> t & 1) continue;
            mask |= (uint32_t)1 << t;
            c++;
            put(&network.tensor[t], i);
        }
        bool alone = carriers == 1, chance = test_random(&state) % 8 == 0;
        if (kind->hyperedges ? chance != alone : alone) put(&network.output, i);
    }
    return network;
}

static void join(tn_network *network, uint32_t a, uint32_t b, uint64_t size) {
    put(&network->tensor[a], network->indices);
    put(&network->tensor[b], network->indices);
    network->index_size[network->indices++] = size;
}

tn_network test_tree(uint32_t tensors, uint64_t seed, tn_arena *arena) {
    uint64_t state = seed;
    tn_network network = empty_network(tensors, 2 * tensors, arena);
    network.indices = 0;
    for (uint32_t t = 1; t < tensors; t++) {
        uint32_t spine = tensors / 2, any = (uint32_t)(test_random(&state) % t);
        uint32_t target = seed % 3 == 0 ? (t - 1) / 2 : seed % 3 == 1 ? t < spine ? t - 1 : t - spine : any;
        join(&network, target, t, 2 + test_random(&state) % 5);
    }
    for (uint32_t t = 0; t < tensors; t++) {
        if (test_random(&state) % tensors > seed % 5) continue;
        put(&network.tensor[t], network.indices);
        put(&network.output, network.indices);
        network.index_size[network.indices++] = 2 + test_random(&state) % 5;
    }
    return network;
}

tn_network test_closed(uint32_t tensors, uint32_t edges, uint64_t seed, tn_arena *arena) {
    uint64_t state = seed;
    tn_network network = empty_network(tensors, tensors + edges, arena);
    network.indices = 0;
    for (uint32_t t = 0; t < tensors; t++) join(&network, t, (t + 1) % tensors, 2 + test_random(&state) % 3);
    while (network.indices < tensors + edges) {
        uint32_t a = (uint32_t)(test_random(&state) % tensors), b = (uint32_t)(test_random(&state) % tensors);
        if (a != b) join(&network, a, b, 2 + test_random(&state) % 3);
    }
    return network;
}

tn_network test_star(uint32_t tensors, uint64_t seed, tn_arena *arena) {
    uint64_t state = seed;
    tn_network network = empty_network(tensors, 3 * tensors, arena);
    network.indices = 0;
    for (uint32_t t = 1; t < tensors; t++) {
        bool chained = t > 1 && test_random(&state) % 4 == 0;
        join(&network, chained ? t - 1 : 0, t, 2 + test_random(&state) % 4);
        if (chained && test_random(&state) % 2) join(&network, 0, t, 2 + test_random(&state) % 2);
    }
    for (uint32_t open = 1 + test_random(&state) % 3; open; open--) {
        uint32_t t = test_random(&state) % 3 ? 0 : (uint32_t)(test_random(&state) % tensors);
        put(&network.tensor[t], network.indices);
        put(&network.output, network.indices);
        network.index_size[network.indices++] = 2 + test_random(&state) % 30;
    }
    return network;
}

tn_network test_einsum(const char *expression, const char *sizes, tn_arena *arena) {
    uint32_t of_letter[128], tensors = 1, indices = 0;
    memset(of_letter, 0xff, sizeof of_letter);
    for (const char *c = expression; *c; c++) {
        tensors += *c == ',';
        if (strchr(",->", *c) == NULL && of_letter[(int)*c] == UINT32_MAX) of_letter[(int)*c] = indices++;
    }
    tn_network network = empty_network(tensors, indices, arena);
    tn_indices *index_set = network.tensor;
    for (const char *c = expression; *c; c++) {
        if (*c == ',')
            index_set++;
        else if (*c == '-')
            index_set = &network.output;
        else if (*c != '>')
            put(index_set, of_letter[(int)*c]);
    }
    for (const char *c = sizes; *c;) {
        char *end;
        uint32_t index = of_letter[(int)*c];
        assert_true(index < indices && c[1] == '=');
        network.index_size[index] = strtoull(c + 2, &end, 10);
        c = *end ? end + 1 : end;
    }
    return network;
}
