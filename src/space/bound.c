#include "space/bound.h"

#include "price/price.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

enum { TEXT_MOST = 128, ALL_PERCENT = 100 };

static const char blanks[] = " \t";

#define CAP(name, share, meaning)                                                                            \
    TN_KEY(TEXT, tn_caps, name, meaning " that a design may use, as a percentage or a number",               \
           TN_DEFAULT(share), TN_SEEN(tn_caps, name##_at))
static const tn_field caps_fields[] = {
    CAP(lut, "70 %", "LUTs"),          CAP(ff, "80 %", "flip-flops"),  CAP(dsp, "80 %", "DSP blocks"),
    CAP(bram18, "80 %", "block RAMs"), CAP(uram, "80 %", "UltraRAMs"),
};
const tn_schema tn_caps_schema = TN_SCHEMA("caps", tn_caps, caps_fields);

typedef struct {
    const char *quantity, *least, *most;
    tn_position position, least_at, most_at;
} entry;
static const tn_field constraint_fields[] = {
    TN_KEY(TEXT, entry, quantity, "what is bounded, by its name in front.csv", TN_REQUIRED,
           TN_SEEN(entry, position)),
    TN_KEY(TEXT, entry, least, "smallest allowed value, or a percentage of the device's; absent: none",
           TN_SEEN(entry, least_at)),
    TN_KEY(TEXT, entry, most, "greatest allowed value, or a percentage of the device's; absent: none",
           TN_SEEN(entry, most_at)),
};
const tn_schema tn_constraint_schema = TN_SCHEMA("constraint", entry, constraint_fields);

/* "80 %" of `whole` (NaN: of nothing), or a plain number. */
static tn_status read_amount(const char *name, const char *text, tn_position position, double whole,
                             double *value, tn_error *error) {
    char number[TEXT_MOST];
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    if (percent) length--;
    while (percent && length > 0 && strchr(blanks, text[length - 1])) length--;
    if (length < sizeof number) {
        memcpy(number, text, length);
        number[length] = '\0';
    }
    if (length >= sizeof number || tn_read_real(number, value) != TN_NUMBER_OK)
        return tn_fail_at(error, TN_INPUT, position,
                          "%s is bounded by '%.40s'; a bound is a number, or such as 80 %%", name, text);
    if (!percent) return TN_OK;
    if (isnan(whole))
        return tn_fail_at(error, TN_INPUT, position,
                          "%s is no resource of the device, so %.40s of it is no amount; give a number", name,
                          text);
    if (*value < 0 || *value > ALL_PERCENT)
        return tn_fail_at(error, TN_INPUT, position, "%.40s of the device's %s; a share is 0 %% to 100 %%",
                          text, name);
    *value = *value / ALL_PERCENT * whole;
    return TN_OK;
}

tn_status tn_caps_budget(const tn_caps *caps, const tn_resources *has, tn_resources *budget,
                         tn_error *error) {
    const struct {
        const char *text;
        tn_position position;
        uint64_t *amount;
    } cap[] = {{caps->lut, caps->lut_at, &budget->lut},
               {caps->ff, caps->ff_at, &budget->ff},
               {caps->dsp, caps->dsp_at, &budget->dsp},
               {caps->bram18, caps->bram18_at, &budget->bram18},
               {caps->uram, caps->uram_at, &budget->uram}};
    for (size_t i = 0; i < sizeof cap / sizeof *cap; i++) {
        const char *name = tn_resource_names[i];
        const uint64_t count = tn_resource_amount(has, (tn_resource)i);
        double value;
        TN_TRY(read_amount(name, cap[i].text, cap[i].position, (double)count, &value, error));
        if (value < 0)
            return tn_fail_at(error, TN_INPUT, cap[i].position, "a cap of %s below 0; it is 0 or more", name);
        *cap[i].amount = value < (double)count ? (uint64_t)value : count;
    }
    return TN_OK;
}

/* {quantity, least, most} */
static tn_status decode_mapping(const tn_yaml *node, const tn_design_columns *columns, tn_arena *arena,
                                tn_constraint *constraint, tn_error *error) {
    entry given;
    TN_TRY(tn_schema_decode(&tn_constraint_schema, node, arena, &given, error));
    const char *name = given.quantity;
    TN_TRY(tn_quantity_find(name, given.position, &constraint->quantity, error));
    const double value = tn_design_column_named(columns, name, strlen(name))->whole;
    if (!given.least && !given.most)
        return tn_fail_at(error, TN_INPUT, given.position,
                          "a constraint on %s bounds nothing; give least or most", name);
    if (given.least) TN_TRY(read_amount(name, given.least, given.least_at, value, &constraint->least, error));
    if (given.most) TN_TRY(read_amount(name, given.most, given.most_at, value, &constraint->most, error));
    if (constraint->least > constraint->most)
        return tn_fail_at(error, TN_INPUT, given.least_at, "least %s is above most %s; nothing lies between",
                          given.least, given.most);
    if (given.least && given.most)
        return tn_arena_format(arena, &constraint->name, error, "%s <= %s <= %s", given.least, name,
                               given.most);
    return given.least ? tn_arena_format(arena, &constraint->name, error, "%s >= %s", name, given.least)
                       : tn_arena_format(arena, &constraint->name, error, "%s <= %s", name, given.most);
}

tn_status tn_constraint_decode(const tn_yaml *node, const tn_design_columns *columns, tn_arena *arena,
                               tn_constraint *constraint, tn_error *error) {
    tn_expression *expression;
    *constraint = (tn_constraint){.least = -INFINITY, .most = INFINITY};
    if (node->kind != TN_YAML_SCALAR) return decode_mapping(node, columns, arena, constraint, error);
    tn_position position = node->position;
    position.column += node->quoted; /* an expression's own columns begin behind the quote */
    TN_TRY(tn_expression_parse(node->text, position, columns, arena, &expression, error));
    constraint->name = tn_expression_text(expression);
    if (!tn_expression_bounds(expression, &constraint->quantity, &constraint->least, &constraint->most)) {
        constraint->quantity = NULL;
        constraint->expression = expression;
    } else if (constraint->least > constraint->most) {
        return tn_fail_at(error, TN_INPUT, node->position, "nothing lies between the bounds of %s",
                          constraint->name);
    }
    return TN_OK;
}

static double most_of(const tn_constraint *constraint, const tn_quantity *quantity) {
    if (constraint->expression) return tn_expression_most(constraint->expression, quantity);
    return constraint->quantity == quantity ? constraint->most : INFINITY;
}

tn_resources tn_constraints_within(const tn_constraint *constraint, size_t constraints,
                                   const tn_resources *budget) {
    tn_resources within = *budget;
    uint64_t *const amount[TN_RESOURCES] = {
        [TN_LUT] = &within.lut,       [TN_FF] = &within.ff,     [TN_DSP] = &within.dsp,
        [TN_BRAM18] = &within.bram18, [TN_URAM] = &within.uram,
    };
    for (int r = 0; r < TN_RESOURCES; r++) {
        size_t q = 0;
        while (strcmp(tn_quantities[q].name, tn_resource_names[r]) != 0) q++;
        for (size_t i = 0; i < constraints; i++) {
            const double most = fmax(0, most_of(&constraint[i], &tn_quantities[q]));
            if (most < (double)*amount[r]) *amount[r] = (uint64_t)most;
        }
    }
    return within;
}

bool tn_constraint_holds(const tn_constraint *constraint, const tn_choices *choices,
                         const tn_candidate *design) {
    if (constraint->expression) return tn_expression_holds(constraint->expression, choices, design);
    const tn_span span = tn_candidate_span(design, constraint->quantity);
    return span.most >= constraint->least && span.least <= constraint->most;
}

bool tn_constraints_only_cap(const tn_constraint *constraint, size_t constraints) {
    for (size_t i = 0; i < constraints; i++)
        if (!constraint[i].quantity || (!constraint[i].quantity->maximise && constraint[i].least > -INFINITY))
            return false;
    return true;
}
