#include "space/condition.h"

struct tn_condition {
    const tn_space *space;
    tn_expression **expression; /* by device */
};

tn_status tn_condition_parse(const char *text, tn_position position, const tn_space *space, tn_arena *arena,
                             const tn_condition **condition, tn_error *error) {
    tn_condition *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    made->space = space;
    TN_TRY(TN_NEW(arena, space->devices, &made->expression, error));
    for (size_t i = 0; i < space->devices; i++) {
        tn_design_columns columns;
        const tn_resources has = tn_device_resources(tn_space_variant(space, 0, i)->device);
        TN_TRY(tn_design_columns_of(&space->choices, &has, arena, &columns, error));
        TN_TRY(tn_expression_parse(text, position, &columns, arena, &made->expression[i], error));
    }
    *condition = made;
    return TN_OK;
}

bool tn_condition_holds(const tn_condition *condition, const tn_candidate *design) {
    size_t device = tn_space_device_of(condition->space, design->id);
    return tn_expression_holds(condition->expression[device], &condition->space->choices, design);
}

const char *tn_condition_text(const tn_condition *condition) {
    return tn_expression_text(condition->expression[0]);
}

bool tn_condition_mentions(const tn_condition *condition, const char *column) {
    return tn_expression_mentions(condition->expression[0], column);
}
