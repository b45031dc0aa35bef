#include "space/choices.h"

#include <string.h>

tn_status tn_choices_count(tn_choices *choices, tn_position position, tn_error *error) {
    choices->designs = 1;
    choices->size = tn_big_of(1);
    for (size_t i = choices->count; i-- > 0;) {
        choices->stride[i] = tn_big_count(&choices->size, &choices->designs) ? choices->designs : 0;
        if (choices->axis[i].count > UINT32_MAX ||
            !tn_big_multiply(&choices->size, (uint32_t)choices->axis[i].count))
            return tn_fail_at(error, TN_LIMIT, position, "over 10^1233 designs; tie some choices");
    }
    choices->is_vast = !tn_big_count(&choices->size, &choices->designs) || choices->designs > INT64_MAX;
    if (choices->is_vast) choices->designs = UINT64_MAX;
    return TN_OK;
}

static tn_status list_design(const tn_choices *choices, const uint32_t *digit, uint64_t *id,
                             tn_error *error) {
    tn_listed_designs *listed = choices->listed;
    if (listed->count == listed->capacity) {
        uint32_t *grown;
        uint64_t capacity = listed->capacity ? 2 * listed->capacity : 1024;
        TN_TRY(TN_NEW(listed->arena, capacity * choices->count, &grown, error));
        if (listed->count) memcpy(grown, listed->digit, listed->count * choices->count * sizeof *grown);
        listed->digit = grown;
        listed->capacity = capacity;
    }
    *id = listed->count++;
    memcpy(listed->digit + *id * choices->count, digit, choices->count * sizeof *digit);
    return TN_OK;
}

tn_status tn_choices_id_of(const tn_choices *choices, const uint32_t *digit, uint64_t *id, tn_error *error) {
    if (choices->is_vast) return list_design(choices, digit, id, error);
    *id = 0;
    for (size_t i = 0; i < choices->count; i++) *id += digit[i] * choices->stride[i];
    return TN_OK;
}

size_t tn_choices_digit(const tn_choices *choices, uint64_t id, size_t choice) {
    if (choices->is_vast) return choices->listed->digit[id * choices->count + choice];
    return (size_t)(id / choices->stride[choice] % choices->axis[choice].count);
}

void tn_digits_of(const tn_choices *choices, const size_t *axis, size_t axes, uint64_t number,
                  uint32_t *digit) {
    for (size_t i = axes; i-- > 0;) {
        const uint64_t count = choices->axis[axis[i]].count;
        digit[axis[i]] = (uint32_t)(number % count);
        number /= count;
    }
}

uint64_t tn_digits_number(const tn_choices *choices, const size_t *axis, size_t axes, const uint32_t *digit) {
    uint64_t number = 0;
    for (size_t i = 0; i < axes; i++) number = number * choices->axis[axis[i]].count + digit[axis[i]];
    return number;
}

uint64_t tn_digits_id(const tn_choices *choices, const size_t *axis, size_t axes, const uint32_t *digit) {
    uint64_t id = 0;
    for (size_t i = 0; i < axes; i++) id += digit[axis[i]] * choices->stride[axis[i]];
    return id;
}

tn_status tn_choices_text(const tn_choices *choices, uint64_t id, tn_arena *arena, const char **text,
                          tn_error *error) {
    tn_buffer all = {0};
    for (size_t i = 0; i < choices->count; i++) {
        tn_buffer_format(&all, "%s%s=", i ? " " : "", choices->axis[i].key);
        tn_axis_value(&choices->axis[i], tn_choices_digit(choices, id, i), &all);
    }
    tn_status status = all.status == TN_OK ? tn_arena_copy_text(arena, all.data, all.length, text, error)
                                           : tn_fail(error, all.status, "no memory for a design");
    tn_buffer_free(&all);
    return status;
}
