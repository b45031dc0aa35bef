#include "layout/tensor_layout.h"

#include "base/checked.h"
#include "layout/fullest_bank.h"

/* ---- blocks ---- */

/* Words along an index: of its last block, or the most that another one touches. */
static uint64_t words_of(const tn_layout_axis *axis, uint64_t edge, bool last) {
    if (!last) return tn_words_of_block(axis->size, edge, tn_log_above(axis->edge));
    const uint64_t start = axis->size / edge * edge;
    return (axis->size - 1) / axis->edge - start / axis->edge + 1;
}

static const tn_layout_axis *axis_of(const tn_tensor_layout *layout, uint32_t index) {
    for (uint32_t k = 0; k < layout->axes; k++)
        if (layout->axis[k].index == index) return &layout->axis[k];
    return NULL;
}

uint64_t tn_tensor_layout_phases(const tn_tensor_layout *layout, const tn_group_cut *const *group, int kind) {
    uint64_t words[TN_BANKED_AXES], skew[TN_BANKED_AXES], turn[TN_BANKED_AXES];
    uint32_t axes = 0;
    for (int g = 0; g < 2; g++)
        for (uint32_t k = 0; k < group[g]->indices; k++) {
            const tn_layout_axis *axis = axis_of(layout, group[g]->index[k]);
            const uint64_t edge = group[g]->edge[k];
            if (!axis) continue;
            const bool last = kind >> (g * TN_ISSUE_CUTS + (int)k) & 1 && axis->size % edge != 0;
            words[axes] = words_of(axis, edge, last);
            turn[axes] = axis->turn;
            skew[axes++] = axis->skew;
        }
    return tn_fullest_turned_bank(words, skew, turn, axes, layout->banks);
}

/* ---- what others want, too ---- */

void tn_shared_layout(const tn_layout_problem *problem, uint32_t tensor, const tn_layout_demand *demand,
                      tn_bank_kind kind, tn_layout_axis *axis, tn_tensor_layout *layout) {
    const tn_searched_tensor *own = &problem->tensor[tensor];
    const uint32_t first = problem->program->tensor[tensor].indices.index[0];
    const bool begins = own->axes > 0 && own->axis[0] == first; /* else the first index has one value */
    const tn_shared_words words = tn_layout_shared(demand, kind, demand->is_one_token || begins);
    const uint64_t one = 1, banks = one << words.bank_log;
    uint32_t features = words.feature_log;
    uint64_t stride = 1;
    *layout = (tn_tensor_layout){
        .row_elements = one << demand->row_log, .banks = banks, .axes = own->axes, .axis = axis};
    for (uint32_t k = own->axes; k-- > 0;) {
        const uint64_t size = problem->size[own->axis[k]];
        const bool of_tokens = k == 0 && begins;
        const uint32_t log = of_tokens ? words.token_log : (uint32_t)tn_least(tn_log_above(size), features);
        axis[k] = (tn_layout_axis){
            .index = own->axis[k], .size = size, .edge = one << log, .skew = 1 % banks, .divide = 1};
        if (of_tokens) break;
        const uint64_t count = ((size - 1) >> log) + 1;
        tn_shared_axis(&words, stride, count, &axis[k].skew, &axis[k].turn);
        features -= log;
        stride *= count;
    }
}

/* ---- rows ---- */

/* The first `a` words along one axis and the first `b` along another lie in different banks. */
static bool tells_apart(const tn_tensor_layout *layout, uint32_t one, uint64_t a, uint32_t other,
                        uint64_t b) {
    const uint64_t words[] = {a, b}, skew[] = {layout->axis[one].skew, layout->axis[other].skew},
                   turn[] = {layout->axis[one].turn, layout->axis[other].turn};
    if ((turn[0] && a > turn[0]) || (turn[1] && b > turn[1]))
        return tn_fullest_turned_bank(words, skew, turn, b > 1 ? 2 : 1, layout->banks) == 1;
    return tn_words_apart(words, skew, b > 1 ? 2 : 1, layout->banks);
}

/* The fewest rows, where `a` words along one axis and `b` along the other share them; one axis: alone. */
typedef struct {
    uint64_t depth, a, b;
    uint32_t one, other;
} row_choice;

/* Of every pair of axes, the last first, every part that each may have of the banks. `whatever`: skews may tell all banks
 * apart. */
static row_choice choose_rows(const tn_tensor_layout *layout, bool whatever) {
    const uint64_t banks = layout->banks;
    row_choice best = {.depth = UINT64_MAX};
    uint64_t words[TN_LAYOUT_AXES], all = 1;
    for (uint32_t k = 0; k < layout->axes; k++) {
        words[k] = tn_ceil_div(layout->axis[k].size, layout->axis[k].edge);
        all *= words[k];
    }
    if (banks == 1 || layout->axes == 0) return (row_choice){.depth = all, .a = 1, .b = 1};
    for (uint32_t one = layout->axes; one-- > 0;)
        for (uint32_t other = layout->axes; other-- > 0;) {
            const bool alone = one == other;
            const uint64_t beside = all / words[one] / (alone ? 1 : words[other]);
            for (uint64_t a = alone ? banks : banks / 2, b = alone ? 1 : 2; a > 1; a /= 2, b *= 2) {
                const uint64_t depth =
                    beside * tn_ceil_div(words[one], a) * (alone ? 1 : tn_ceil_div(words[other], b));
                if (alone != (a == banks)) break;
                if (depth >= best.depth || !(whatever || tells_apart(layout, one, a, other, b))) continue;
                best = (row_choice){depth, a, b, one, other};
            }
        }
    return best;
}

bool tn_tensor_layout_share_rows(tn_tensor_layout *layout) {
    const row_choice rows = choose_rows(layout, false);
    for (uint32_t k = 0; k < layout->axes; k++) layout->axis[k].divide = 1;
    layout->depth = rows.depth;
    if (rows.depth == UINT64_MAX || layout->axes == 0) return rows.depth != UINT64_MAX;
    layout->axis[rows.other].divide = rows.b;
    layout->axis[rows.one].divide = rows.a;
    return true;
}

uint64_t tn_tensor_layout_fewest_rows(const tn_tensor_layout *layout) {
    return choose_rows(layout, true).depth;
}

/* ---- parts ---- */

tn_status tn_partial_layout(const tn_tensor_layout *whole, const tn_partial *partial, tn_arena *arena,
                            tn_tensor_layout *part, tn_error *error) {
    *part = *whole;
    part->depth = 1;
    TN_TRY(TN_NEW(arena, whole->axes, &part->axis, error));
    for (uint32_t k = 0; k < part->axes; k++) {
        tn_layout_axis *axis = &part->axis[k];
        *axis = whole->axis[k];
        if (axis->index == partial->index) axis->size = partial->kept;
        part->depth *= tn_ceil_div(tn_ceil_div(axis->size, axis->edge), axis->divide);
    }
    return TN_OK;
}
