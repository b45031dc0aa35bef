#include "rtl/access.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

static uint64_t log2_of(uint64_t power) {
    return (uint64_t)__builtin_ctzll(power);
}

/* ---- words in banks ---- */

/* The number of the bank at `word` words along the axis from bank 0. */
static uint64_t bank_along(const tn_bank_layout *layout, uint32_t axis, uint64_t word) {
    const uint64_t turn = layout->turn[axis], further = turn ? word / turn : 0,
                   first = (layout->skew[0][axis] * word + further) % layout->banks[0];
    if (layout->forms == 1) return first;
    return first + layout->banks[0] * (layout->skew[1][axis] * word % layout->banks[1]);
}

static uint64_t bank_sum(const tn_bank_layout *layout, uint64_t a, uint64_t b) {
    uint64_t first = layout->banks[0], second = layout->forms == 1 ? 1 : layout->banks[1];
    return (a % first + b % first) % first + (a / first + b / first) % second * first;
}

/* Do the words that share a place as the layout says lie in different banks? */
static bool divides(const tn_bank_layout *layout, uint64_t banks) {
    bool taken[TN_RTL_BANKS_MOST] = {0};
    uint64_t words = 1;
    for (uint32_t k = 0; k < layout->axes; k++)
        if (layout->divide[k] == 0 || !tn_mul(words, layout->divide[k], &words)) return false;
    if (words != banks) return false;
    for (uint64_t n = 0; n < words; n++) {
        uint64_t bank = 0, rest = n;
        for (uint32_t k = 0; k < layout->axes; k++) {
            bank = bank_sum(layout, bank, bank_along(layout, k, rest % layout->divide[k]));
            rest /= layout->divide[k];
        }
        if (taken[bank]) return false;
        taken[bank] = true;
    }
    return true;
}

/* Do the first `a` words along one axis and the first `b` along another lie in different banks? */
static bool tells_apart(const tn_bank_layout *layout, uint32_t one, uint64_t a, uint32_t other, uint64_t b) {
    bool taken[TN_RTL_BANKS_MOST] = {0};
    for (uint64_t i = 0; i < a; i++)
        for (uint64_t j = 0; j < b; j++) {
            uint64_t bank = bank_sum(layout, bank_along(layout, one, i), bank_along(layout, other, j));
            if (taken[bank]) return false;
            taken[bank] = true;
        }
    return true;
}

static uint64_t padded(const tn_rtl_strides *strides, uint32_t axis, uint64_t divide) {
    return tn_ceil_div(strides->words[axis], divide);
}

/* Words of a bank if the first `a` words of one axis and the first `b` of the other share a place. */
static uint64_t depth_with(const tn_bank_layout *layout, const tn_rtl_strides *strides, uint32_t one,
                           uint64_t a, uint32_t other, uint64_t b) {
    uint64_t depth = padded(strides, one, a);
    for (uint32_t k = 0; k < layout->axes; k++)
        if (k != one) depth *= padded(strides, k, k == other ? b : 1);
    return depth;
}

static void choose_axes(const tn_bank_layout *layout, tn_rtl_strides *made) {
    uint64_t least = UINT64_MAX, banks = made->banks;
    for (uint32_t one = layout->axes; one-- > 0;)
        for (uint32_t other = layout->axes; other-- > 0;)
            for (uint64_t a = banks; a > 1 || a == banks; a /= 2) {
                bool alone = one == other;
                if (alone != (a == banks)) continue;
                uint64_t depth = depth_with(layout, made, one, a, other, alone ? a : banks / a);
                if (depth >= least || !tells_apart(layout, one, a, other, banks / a)) continue;
                least = depth;
                made->told = true;
                for (uint32_t k = 0; k < layout->axes; k++) made->divide[k] = 1;
                made->divide[other] = banks / a;
                made->divide[one] = a;
            }
}

tn_rtl_strides tn_rtl_strides_of(const tn_bank_layout *layout) {
    tn_rtl_strides made = {.banks = layout->banks[0], .first = layout->banks[0], .elements = 1, .depth = 1};
    if (layout->forms > 1) made.banks *= layout->banks[1];
    for (uint32_t k = layout->axes; k-- > 0;) {
        made.place[k] = made.elements;
        made.elements *= layout->word[k];
        made.words[k] = tn_ceil_div(layout->dims[k], layout->word[k]);
    }
    if (made.banks > TN_RTL_BANKS_MOST) return made;
    if (layout->divide[0] > 0) {
        made.told = divides(layout, made.banks);
        memcpy(made.divide, layout->divide, sizeof made.divide);
    } else {
        choose_axes(layout, &made);
    }
    for (uint32_t k = layout->axes; made.told && k-- > 0;) {
        made.stride[k] = made.depth;
        made.depth *= padded(&made, k, made.divide[k]);
    }
    return made;
}

tn_rtl_place tn_rtl_place_of(const tn_bank_layout *layout, const tn_rtl_strides *strides, const uint64_t *x) {
    tn_rtl_place place = {0};
    for (uint32_t k = 0; k < layout->axes; k++) {
        uint64_t c = x[k] / layout->word[k];
        place.bank = bank_sum(layout, place.bank, bank_along(layout, k, c));
        place.word += c / strides->divide[k] * strides->stride[k];
        place.element += x[k] % layout->word[k] * strides->place[k];
    }
    return place;
}

/* ---- patterns ---- */

/* An edge of a block: words along it, and what one more word or element along it changes. */
typedef struct {
    uint32_t axis;
    uint64_t words, elements; /* elements of a word along the axis */
} block_edge;

static block_edge edge_of(const tn_bank_layout *layout, uint32_t axis, uint64_t extent) {
    if (axis == TN_RTL_NONE) return (block_edge){axis, 1, 1};
    return (block_edge){axis, tn_ceil_div(extent, layout->word[axis]), layout->word[axis]};
}

typedef struct {
    const tn_bank_layout *layout;
    const tn_rtl_block *block;
    const uint64_t *extent;
    tn_rtl_strides strides;
    block_edge edge[TN_RTL_EDGES];
    uint64_t taken[TN_RTL_BANKS_MOST]; /* words of each bank so far */
} maker;

static uint64_t count_words(const maker *builder) {
    uint64_t words = 1;
    for (int k = 0; k < TN_RTL_EDGES; k++) words *= builder->edge[k].words;
    return words;
}

/* The n-th word's coordinates in the block. */
static void nth_word(const maker *builder, uint64_t n, uint64_t *c) {
    for (int k = TN_RTL_EDGES; k-- > 0;) {
        c[k] = n % builder->edge[k].words;
        n /= builder->edge[k].words;
    }
}

static uint64_t bank_of(const maker *builder, const uint64_t *c) {
    uint64_t bank = 0;
    for (int k = 0; k < TN_RTL_EDGES; k++)
        if (builder->edge[k].axis != TN_RTL_NONE)
            bank = bank_sum(builder->layout, bank, bank_along(builder->layout, builder->edge[k].axis, c[k]));
    return bank;
}

static uint64_t offset_of(const maker *builder, const uint64_t *c) {
    const tn_rtl_strides *strides = &builder->strides;
    uint64_t offset = 0;
    for (int k = 0; k < TN_RTL_EDGES; k++) {
        uint32_t axis = builder->edge[k].axis;
        if (axis != TN_RTL_NONE) offset += c[k] / strides->divide[axis] * strides->stride[axis];
    }
    return offset;
}

uint64_t tn_rtl_block_lane(const tn_rtl_block *block, const uint64_t x[TN_RTL_EDGES]) {
    return (x[0] * block->size[1] + x[1]) * block->lanes[1] + x[2] * block->size[3] + x[3];
}

/* The lanes of the word's elements. */
static void deal_word(const maker *builder, const uint64_t *c, uint64_t phase, uint64_t bank,
                      tn_rtl_pattern *pattern) {
    const tn_rtl_block *block = builder->block;
    uint64_t elements = 1, x[TN_RTL_EDGES];
    for (int k = 0; k < TN_RTL_EDGES; k++) elements *= builder->edge[k].elements;
    for (uint64_t n = 0; n < elements; n++) {
        uint64_t rest = n, place = 0;
        bool contained = true;
        for (int k = TN_RTL_EDGES; k-- > 0;) {
            const block_edge *along = &builder->edge[k];
            uint64_t inside = rest % along->elements;
            rest /= along->elements;
            x[k] = c[k] * along->elements + inside;
            contained = contained && x[k] < builder->extent[k];
            if (along->axis != TN_RTL_NONE) place += inside * builder->strides.place[along->axis];
        }
        if (contained)
            pattern->lane[tn_rtl_block_lane(block, x)] =
                (tn_rtl_lane){(uint16_t)phase, (uint16_t)bank, (uint16_t)place, true};
    }
}

static tn_status check_sizes(const maker *builder, tn_error *error) {
    const tn_rtl_strides *strides = &builder->strides;
    uint64_t lanes = builder->block->lanes[0] * builder->block->lanes[1];
    if (lanes <= TN_RTL_LANES_MOST && strides->banks <= TN_RTL_BANKS_MOST &&
        strides->elements <= TN_RTL_WORD_MOST)
        return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "a block of %" PRIu64 " elements in %" PRIu64 " banks of %" PRIu64
                   "-element words; the templates take at most %d, %d and %d",
                   lanes, strides->banks, strides->elements, TN_RTL_LANES_MOST, TN_RTL_BANKS_MOST,
                   TN_RTL_WORD_MOST);
}

tn_status tn_rtl_pattern_make(const tn_bank_layout *layout, const tn_rtl_block *block, const uint64_t *extent,
                              tn_arena *arena, tn_rtl_pattern *pattern, tn_error *error) {
    maker builder = {
        .layout = layout, .block = block, .extent = extent, .strides = tn_rtl_strides_of(layout)};
    uint64_t c[TN_RTL_EDGES];
    TN_TRY(check_sizes(&builder, error));
    for (int k = 0; k < TN_RTL_EDGES; k++) builder.edge[k] = edge_of(layout, block->axis[k], extent[k]);
    uint64_t words = count_words(&builder), phases = 0;
    for (uint64_t n = 0; n < words; n++) {
        nth_word(&builder, n, c);
        uint64_t taken = ++builder.taken[bank_of(&builder, c)];
        if (taken > phases) phases = taken;
    }
    if (phases > TN_RTL_PHASES_MOST)
        return tn_fail(error, TN_INPUT,
                       "a block takes %" PRIu64
                       " cycles to fetch, and the templates at most %d; use wider words",
                       phases, TN_RTL_PHASES_MOST);
    *pattern = (tn_rtl_pattern){.phases = (uint32_t)phases,
                                .lanes = (uint32_t)(block->lanes[0] * block->lanes[1]),
                                .banks = (uint32_t)builder.strides.banks};
    TN_TRY(TN_NEW(arena, pattern->lanes, &pattern->lane, error));
    TN_TRY(TN_NEW(arena, phases * builder.strides.banks, &pattern->word, error));
    memset(builder.taken, 0, sizeof builder.taken);
    for (uint64_t n = 0; n < words; n++) {
        nth_word(&builder, n, c);
        uint64_t bank = bank_of(&builder, c), phase = builder.taken[bank]++;
        pattern->word[phase * builder.strides.banks + bank] =
            (tn_rtl_bank_word){true, offset_of(&builder, c)};
        deal_word(&builder, c, phase, bank, pattern);
    }
    return TN_OK;
}

static bool lane_equal(const tn_rtl_lane *a, const tn_rtl_lane *b) {
    return a->present == b->present && a->phase == b->phase && a->word == b->word && a->element == b->element;
}

bool tn_rtl_pattern_equal(const tn_rtl_pattern *a, const tn_rtl_pattern *b) {
    bool equal = a->phases == b->phases && a->lanes == b->lanes && a->banks == b->banks;
    for (uint32_t n = 0; equal && n < a->lanes; n++) equal = lane_equal(&a->lane[n], &b->lane[n]);
    for (uint32_t i = 0; equal && i < a->phases * a->banks; i++)
        equal = a->word[i].used == b->word[i].used && a->word[i].offset == b->word[i].offset;
    return equal;
}

/* ---- counters ---- */

tn_rtl_counter tn_rtl_counter_of(const tn_bank_layout *layout, uint32_t axis, uint64_t step) {
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    uint64_t edge = layout->word[axis], divide = strides.divide[axis];
    tn_rtl_counter made = {0};
    uint64_t words = step < edge ? 1 : step / edge; /* that the word's coordinate moves by */
    if (step < edge) {
        made.period = made.turn_period = made.inside = log2_of(edge / step);
        made.shift = log2_of(step * strides.place[axis]);
    }
    made.turn = bank_along(layout, axis, words);
    if (words < layout->turn[axis]) {
        made.further = 1;
        made.further_period = made.turn_period + log2_of(layout->turn[axis] / words);
    }
    if (words < divide) made.period += log2_of(divide / words);
    made.stride = (words < divide ? 1 : words / divide) * strides.stride[axis];
    return made;
}
