#include "front/box_sweep.h"

#include "base/memory.h"

#include <string.h>

enum { KEY_BITS = 63, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, TREE_BITS = 24 };

void tn_box_sweep_free(tn_box_sweep *sweep) {
    tn_free(sweep->key);
    tn_free(sweep->spare_key);
    tn_free(sweep->place);
    tn_free(sweep->spare_place);
    tn_free(sweep->tree);
    sweep->key = sweep->spare_key = NULL;
    sweep->place = sweep->spare_place = NULL;
    sweep->tree = NULL;
    sweep->room = sweep->tree_room = 0;
}

static uint32_t bits_of(uint64_t value) {
    uint32_t bits = 0;
    for (; value > 0; value >>= 1) bits++;
    return bits;
}

static void find_ends(const int64_t *box, size_t count, int64_t *first, uint64_t *span) {
    int64_t last[TN_SWEEP_AXES];
    for (int k = 0; k < TN_SWEEP_AXES; k++) first[k] = last[k] = count ? box[k] : 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < TN_SWEEP_AXES; k++) {
            const int64_t value = box[i * TN_SWEEP_AXES + k];
            first[k] = value < first[k] ? value : first[k];
            last[k] = value > last[k] ? value : last[k];
        }
    for (int k = 0; k < TN_SWEEP_AXES; k++) span[k] = (uint64_t)last[k] - (uint64_t)first[k];
}

/* ---- sorting ---- */

static tn_status make_room(tn_box_sweep *sweep, size_t count, size_t tree, tn_error *error) {
    size_t room = sweep->room;
    TN_TRY(TN_GROW(&sweep->key, &room, count, error));
    room = sweep->room;
    TN_TRY(TN_GROW(&sweep->spare_key, &room, count, error));
    room = sweep->room;
    TN_TRY(TN_GROW(&sweep->place, &room, count, error));
    room = sweep->room;
    TN_TRY(TN_GROW(&sweep->spare_place, &room, count, error));
    sweep->room = room;
    return TN_GROW(&sweep->tree, &sweep->tree_room, tree, error);
}

/* By keys of so many bits; equal ones stay in order. */
static void sort_keys(tn_box_sweep *sweep, size_t count, uint32_t bits) {
    for (uint32_t digit = 0; digit < bits; digit += DIGIT_BITS) {
        size_t begin[DIGITS] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++) begin[sweep->key[i] >> digit & (DIGITS - 1)]++;
        for (size_t d = 0; d < DIGITS; d++) {
            const size_t those = begin[d];
            begin[d] = sum;
            sum += those;
        }
        for (size_t i = 0; i < count; i++) {
            const size_t to = begin[sweep->key[i] >> digit & (DIGITS - 1)]++;
            sweep->spare_key[to] = sweep->key[i];
            sweep->spare_place[to] = sweep->place[i];
        }
        uint64_t *key = sweep->key;
        uint32_t *place = sweep->place;
        sweep->key = sweep->spare_key;
        sweep->place = sweep->spare_place;
        sweep->spare_key = key;
        sweep->spare_place = place;
    }
}

/* ---- the sweep ---- */

static bool is_covered(const int32_t *tree, uint64_t second, int32_t third) {
    for (uint64_t i = second + 1; i > 0; i -= i & -i)
        if (tree[i] <= third) return true;
    return false;
}

static void note(int32_t *tree, uint64_t places, uint64_t second, int32_t third) {
    for (uint64_t i = second + 1; i <= places; i += i & -i)
        if (third < tree[i]) tree[i] = third;
}

tn_status tn_box_sweep_front(tn_box_sweep *sweep, const int64_t *box, size_t count, const uint32_t **place,
                             size_t *kept, bool *fits, tn_error *error) {
    int64_t first[TN_SWEEP_AXES];
    uint64_t span[TN_SWEEP_AXES];
    uint32_t bits[TN_SWEEP_AXES], all = 0;
    find_ends(box, count, first, span);
    for (int k = 0; k < TN_SWEEP_AXES; k++) all += bits[k] = bits_of(span[k]);
    *fits = all <= KEY_BITS && bits[1] <= TREE_BITS && bits[2] < 31 && count < UINT32_MAX;
    *kept = 0;
    if (!*fits) return TN_OK;
    TN_TRY(make_room(sweep, count, span[1] + 2, error));
    for (size_t i = 0; i < count; i++) {
        const int64_t *its = box + i * TN_SWEEP_AXES;
        sweep->key[i] =
            (((uint64_t)(its[0] - first[0]) << bits[1] | (uint64_t)(its[1] - first[1])) << bits[2]) |
            (uint64_t)(its[2] - first[2]);
        sweep->place[i] = (uint32_t)i;
    }
    sort_keys(sweep, count, all);
    for (uint64_t i = 0; i <= span[1] + 1; i++) sweep->tree[i] = INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        const int64_t *its = box + (size_t)sweep->place[i] * TN_SWEEP_AXES;
        const uint64_t second = (uint64_t)(its[1] - first[1]);
        const int32_t third = (int32_t)(its[2] - first[2]);
        if (is_covered(sweep->tree, second, third)) continue;
        note(sweep->tree, span[1] + 1, second, third);
        sweep->place[(*kept)++] = sweep->place[i];
    }
    *place = sweep->place;
    return TN_OK;
}

/* ---- the grid ---- */

void tn_box_sweep_grid(tn_box_sweep *sweep, const int64_t *box, size_t count) {
    enum { LEAST = 64 };
    uint64_t span[TN_SWEEP_AXES];
    sweep->has_grid = count >= LEAST;
    if (!sweep->has_grid) return;
    find_ends(box, count, sweep->first, span);
    for (int k = 0; k < 2; k++)
        for (sweep->shift[k] = 0; span[k] >> sweep->shift[k] >= TN_SWEEP_CELLS; sweep->shift[k]++) {}
    for (size_t x = 0; x < TN_SWEEP_CELLS; x++)
        for (size_t y = 0; y < TN_SWEEP_CELLS; y++) sweep->least[x][y] = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const int64_t *its = box + i * TN_SWEEP_AXES;
        int64_t *cell = &sweep->least[((uint64_t)its[0] - (uint64_t)sweep->first[0]) >> sweep->shift[0]]
                                     [((uint64_t)its[1] - (uint64_t)sweep->first[1]) >> sweep->shift[1]];
        *cell = its[2] < *cell ? its[2] : *cell;
    }
    for (size_t x = 0; x < TN_SWEEP_CELLS; x++)
        for (size_t y = 0; y < TN_SWEEP_CELLS; y++) {
            int64_t *cell = &sweep->least[x][y];
            if (x > 0 && sweep->least[x - 1][y] < *cell) *cell = sweep->least[x - 1][y];
            if (y > 0 && sweep->least[x][y - 1] < *cell) *cell = sweep->least[x][y - 1];
        }
}
