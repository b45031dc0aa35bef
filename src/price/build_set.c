#include "price/build_set.h"

#include "base/checked.h"

tn_build_level tn_build_key_level(const tn_field *key) {
    const unsigned bears = tn_build_key_of(key)->bears_on;
    if (bears & (TN_BEARS_STEP | TN_BEARS_OFF_CHIP)) return TN_LEVEL_STEP;
    if (bears & TN_BEARS_PRODUCTS) return TN_LEVEL_KERNEL;
    if (bears & TN_BEARS_KERNELS) return TN_LEVEL_RUN;
    if (bears & TN_BEARS_VECTORS) return bears & TN_BEARS_LAYOUTS ? TN_LEVEL_ROW : TN_LEVEL_LANE;
    if (bears & TN_BEARS_LAYOUTS) return TN_LEVEL_BANK;
    return bears & (TN_BEARS_MEMORIES | TN_BEARS_CORES | TN_BEARS_ACTIVATIONS) ? TN_LEVEL_PLACE
                                                                               : TN_LEVEL_RUN;
}

uint32_t tn_build_set_free_axis(const tn_build_set *set, tn_build_level first, tn_build_level last) {
    for (uint32_t i = 0; i < set->axes; i++) {
        const tn_build_level level = tn_build_key_level(set->axis[i].key);
        if (set->free >> i & 1 && level >= first && level <= last) return i;
    }
    return set->axes;
}

const uint64_t *tn_build_set_values(const tn_build_set *set, size_t offset, const uint64_t *own,
                                    size_t *count) {
    for (uint32_t i = 0; i < set->axes; i++)
        if (set->axis[i].key->offset == offset && set->free >> i & 1) {
            *count = set->axis[i].count;
            return set->axis[i].value;
        }
    *count = 1;
    return own;
}

tn_build tn_build_set_effective(const tn_build_set *set) {
    tn_build build = tn_build_effective(&set->build);
    const uint64_t own = set->build.split;
    size_t count;
    const uint64_t *split = tn_build_set_values(set, offsetof(tn_build, split), &own, &count);
    for (size_t i = 0; i < count; i++)
        if (split[i] == TN_SPLIT_BANKS) build.skew = set->build.skew;
    return build;
}

static tn_build extreme(const tn_build_set *set, bool greatest) {
    tn_build found = set->build;
    for (uint32_t i = 0; i < set->axes; i++) {
        const tn_build_axis *axis = &set->axis[i];
        uint64_t value = axis->value[0];
        if (!(set->free >> i & 1) || axis->key->type != TN_FIELD_COUNT) continue;
        for (size_t v = 1; v < axis->count; v++)
            value = greatest ? tn_greatest(value, axis->value[v]) : tn_least(value, axis->value[v]);
        tn_build_set_value(&found, axis->key, value);
    }
    return found;
}

tn_build tn_build_set_least(const tn_build_set *set) {
    return extreme(set, false);
}

tn_build tn_build_set_greatest(const tn_build_set *set) {
    return extreme(set, true);
}
