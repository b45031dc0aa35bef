#include "rtl/access.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

static uint64_t log2_of(uint64_t power) {
    return (uint64_t)__builtin_ctzll(power);
}

tn_rtl_strides tn_rtl_strides_of(const tn_bank_layout *layout) {
    tn_rtl_strides made = {.banks = layout->banks[0], .elements = 1, .depth = 1};
    for (uint32_t k = 0; k < layout->axes; k++)
        if (layout->skew[0][k] % 2 == 1) made.bank_axis = k;
    for (uint32_t k = layout->axes; k-- > 0;) {
        made.place[k] = made.elements;
        made.elements *= layout->word[k];
        made.words[k] = tn_ceil_div(layout->dims[k], layout->word[k]);
        made.stride[k] = made.depth;
        made.depth *= k == made.bank_axis ? tn_ceil_div(made.words[k], made.banks) : made.words[k];
    }
    return made;
}

tn_rtl_place tn_rtl_place_of(const tn_bank_layout *layout, const tn_rtl_strides *strides, const uint64_t *x) {
    tn_rtl_place place = {0};
    for (uint32_t k = 0; k < layout->axes; k++) {
        uint64_t c = x[k] / layout->word[k];
        place.bank += layout->skew[0][k] * c;
        place.word += (k == strides->bank_axis ? c / strides->banks : c) * strides->stride[k];
        place.element += x[k] % layout->word[k] * strides->place[k];
    }
    place.bank %= strides->banks;
    return place;
}

/* ---- patterns ---- */

/* The words of a block along one of its axes, and what one more word along it changes. */
typedef struct {
    uint64_t words, edge;         /* edge: elements of a word along the axis */
    uint64_t skew, stride, place; /* of the axis; 0 where there is none */
    bool banked;
} direction;

static direction direction_of(const tn_bank_layout *layout, const tn_rtl_strides *strides, uint32_t axis,
                              uint64_t extent) {
    if (axis == TN_RTL_NONE) return (direction){.words = 1, .edge = 1};
    uint64_t edge = layout->word[axis];
    return (direction){.words = tn_ceil_div(extent, edge),
                       .edge = edge,
                       .skew = layout->skew[0][axis],
                       .stride = strides->stride[axis],
                       .place = strides->place[axis],
                       .banked = axis == strides->bank_axis};
}

static uint64_t offset_along(const direction *along, uint64_t word, uint64_t banks) {
    return (along->banked ? word / banks : word) * along->stride;
}

tn_status tn_rtl_pattern_make(const tn_bank_layout *layout, const uint32_t axis[2], const uint64_t size[2],
                              const uint64_t extent[2], tn_rtl_pattern *pattern, tn_error *error) {
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    direction first = direction_of(layout, &strides, axis[0], extent[0]),
              second = direction_of(layout, &strides, axis[1], extent[1]);
    uint32_t taken[TN_RTL_BANKS_MOST] = {0};
    memset(pattern, 0, sizeof *pattern);
    pattern->lanes = (uint32_t)(size[0] * size[1]);
    if (pattern->lanes > TN_RTL_LANES_MOST || strides.banks > TN_RTL_BANKS_MOST ||
        strides.elements > TN_RTL_WORD_MOST)
        return tn_fail(error, TN_LIMIT,
                       "a block of %" PRIu32 " elements in %" PRIu64 " banks of %" PRIu64
                       "-element words; the templates take at most %d, %d and %d",
                       pattern->lanes, strides.banks, strides.elements, TN_RTL_LANES_MOST, TN_RTL_BANKS_MOST,
                       TN_RTL_WORD_MOST);
    for (uint64_t i = 0; i < first.words; i++) {
        for (uint64_t j = 0; j < second.words; j++) {
            uint64_t bank = (first.skew * i + second.skew * j) % strides.banks;
            uint32_t phase = taken[bank]++;
            if (phase >= TN_RTL_PHASES_MOST)
                return tn_fail(error, TN_LIMIT, "a block takes more than %d cycles to fetch; use wider words",
                               TN_RTL_PHASES_MOST);
            if (phase >= pattern->phases) pattern->phases = phase + 1;
            pattern->used[phase][bank] = true;
            pattern->offset[phase][bank] =
                offset_along(&first, i, strides.banks) + offset_along(&second, j, strides.banks);
            uint64_t u_end = (i + 1) * first.edge, v_end = (j + 1) * second.edge;
            for (uint64_t u = i * first.edge; u < u_end && u < extent[0]; u++)
                for (uint64_t v = j * second.edge; v < v_end && v < extent[1]; v++)
                    pattern->lane[u * size[1] + v] = (tn_rtl_lane){
                        (uint16_t)phase, (uint16_t)bank,
                        (uint16_t)(u % first.edge * first.place + v % second.edge * second.place), true};
        }
    }
    return TN_OK;
}

/* ---- counters ---- */

tn_rtl_counter tn_rtl_counter_of(const tn_bank_layout *layout, uint32_t axis, uint64_t step) {
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    uint64_t edge = layout->word[axis], skew = layout->skew[0][axis], banks = strides.banks;
    tn_rtl_counter made = {0};
    uint64_t words = step < edge ? 1 : step / edge; /* that the word's coordinate moves by */
    if (step < edge) {
        made.period = made.turn_period = made.inside = log2_of(edge / step);
        made.shift = log2_of(step * strides.place[axis]);
    }
    made.turn = skew * words % banks;
    made.stride = words * strides.stride[axis];
    if (axis == strides.bank_axis) {
        if (words < banks) made.period += log2_of(banks / words);
        made.stride = (words < banks ? 1 : words / banks) * strides.stride[axis];
    }
    return made;
}
