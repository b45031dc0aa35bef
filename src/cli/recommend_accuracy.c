/* What `tenfold recommend` says of accuracy: the design's, beside the ends of what can be learned, how surely it is known, and how
 * firmly that settles the choice. */
#include "cli/cmd_recommend.h"
#include "cli/output.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Each row of the table as the others foretell it. */
static tn_status leave_out(const tn_accuracy_table *table, tn_arena *arena, tn_accuracy_grounds *grounds,
                           tn_error *error) {
    const tn_accuracy_model *m = &table->model;
    tn_accuracy_estimate *told;
    double squares = 0, inside = 0, rows = 0;
    TN_TRY(TN_NEW(arena, m->rows, &told, error));
    TN_TRY(tn_accuracy_model_leave_one_out(m, arena, told, error));
    for (size_t i = 0; i < m->rows; i++) {
        if (m->row[i].passes != m->passes) continue;
        tn_accuracy_estimate as_told = tn_accuracy_table_told_estimate(table, told[i]);
        double measured = tn_accuracy_table_told(table, m->row[i].accuracy);
        squares += pow(as_told.mean - measured, 2);
        inside += measured >= as_told.low && measured <= as_told.high;
        rows++;
    }
    grounds->foretold = sqrt(squares / rows);
    grounds->inside = inside / rows;
    return TN_OK;
}

/* A key of the space that changes what is learned. */
static const char *unlearned(const tn_space *space) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i]) && space->choices.axis[i].count > 1)
            return space->choices.axis[i].key;
    return NULL;
}

tn_status tn_accuracy_grounds_find(const tn_result *result, const tn_point *point, size_t count, uint64_t id,
                                   tn_chooser choose, void *user, tn_arena *arena,
                                   tn_accuracy_grounds *grounds, tn_error *error) {
    const tn_space *space = tn_space_of(result->space, id);
    const tn_accuracy_table *table = &space->accuracy_table;
    tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
    size_t digit[TN_AXES_MOST];
    *grounds = (tn_accuracy_grounds){0};
    if (table->rows == 0) {
        grounds->unlearned = unlearned(result->space);
        return TN_OK;
    }
    for (size_t i = 0; i < space->choices.count; i++) digit[i] = tn_choices_digit(&space->choices, id, i);
    tn_accuracy_table_values(table, digit, value);
    grounds->quantity = tn_accuracy_table_quantity(table);
    grounds->scale = table->answers > 0 ? 1 : 100;
    grounds->told = tn_accuracy_table_told_estimate(
        table, tn_accuracy_table_at(table, value, table->model.passes, &grounds->basis));
    grounds->known = grounds->basis != TN_ACCURACY_UNKNOWN;
    grounds->dense = tn_accuracy_table_told_estimate(table, tn_accuracy_table_dense(table));
    grounds->constant = table->constant > 0 ? tn_accuracy_table_told(table, table->constant) : NAN;
    grounds->constant_test = tn_accuracy_table_told(table, table->constant_test);
    grounds->passes = (uint64_t)table->model.passes;
    grounds->sentences = table->sentences;
    const tn_accuracy_measurement *row = tn_accuracy_table_row(table, value, table->model.passes);
    if (row) {
        grounds->seeds = row->runs;
        grounds->measured = tn_accuracy_table_told(table, row->accuracy);
    }
    TN_TRY(leave_out(table, arena, grounds, error));
    return tn_settled_of(result->space, point, count, id, choose, user, arena, &grounds->settled, error);
}

void tn_accuracy_grounds_first(const tn_result *result, const tn_accuracy_grounds *grounds) {
    if (grounds->unlearned)
        tn_say(
            "accuracy was not looked at: %s changes what is learned, and the space has no accuracy_table.\n"
            "`tenfold accuracy %s --data FOLDER -o DIR` measures it\n",
            grounds->unlearned, result->space->name);
}

void tn_accuracy_grounds_cost(const tn_accuracy_grounds *grounds) {
    static const char *const basis[] = {"", "between trained ranks",
                                        "carried over by the model from other choices"};
    if (!grounds->known) return;
    double scale = grounds->scale;
    const char *unit = scale == 1 ? "" : " %";
    int digits = scale == 1 ? 2 : 1;
    tn_say("  %-10s%.*f%s +- %.*f (dev; a run in %.*f to %.*f)", scale == 1 ? "perplex." : "accuracy", digits,
           scale * grounds->told.mean, unit, digits, 1.96 * scale * grounds->told.deviation, digits,
           scale * grounds->told.low, digits, scale * grounds->told.high);
    if (!isnan(grounds->told.test)) tn_say(", %.*f (test)", digits, scale * grounds->told.test);
    if (!isnan(grounds->dense.mean)) tn_say("; dense: %.*f", digits, scale * grounds->dense.mean);
    if (!isnan(grounds->dense.mean) && !isnan(grounds->dense.test))
        tn_say(", %.*f", digits, scale * grounds->dense.test);
    if (!isnan(grounds->constant)) tn_say("; a constant answer: %.*f", digits, scale * grounds->constant);
    tn_say("\n            ");
    if (grounds->seeds)
        tn_say("trained with %" PRIu64 " seed%s: %.*f%s; ", grounds->seeds, grounds->seeds == 1 ? "" : "s",
               digits, scale * grounds->measured, unit);
    else
        tn_say("%s; ", basis[grounds->basis]);
    tn_say("%" PRIu64 " pass%s", grounds->passes, grounds->passes == 1 ? "" : "es");
    if (grounds->sentences) tn_say(" over %" PRIu64 " sentences", grounds->sentences);
    tn_say("\n            rows foretold from the others: %.2f%s off, %.0f %% inside their interval\n",
           scale * grounds->foretold, scale == 1 ? "" : " points", 100 * grounds->inside);
}

void tn_accuracy_grounds_firm(const tn_result *result, const tn_accuracy_grounds *grounds) {
    const tn_settled *s = &grounds->settled;
    if (!s->asked) return;
    tn_say("how firmly by %s: drawn from what is known of it, the choice stays in %" PRIu64 " of %" PRIu64
           " draws, and its\nfolding, rank and whatever else is learned in %" PRIu64,
           grounds->quantity, s->kept, s->draws, s->alike);
    if (s->rival_draws) tn_say("; next, design %" PRIu64 " in %" PRIu64, s->rival, s->rival_draws);
    if (s->gain > 0)
        tn_say("\nthe training that would settle it most, telling %.0f %% of what is open:\n"
               "    tenfold train %s --point %" PRIu64 " --data FOLDER --epochs %" PRIu64
               " (and the table's settings)",
               100 * s->gain, result->folder, s->train, grounds->passes);
    tn_say("\n");
}

static const char *const basis_names[] = {"measured", "between", "carried", "unknown", NULL};
static const tn_column accuracy_columns[] = {
    TN_COLUMN(tn_accuracy_grounds, quantity, NULL),
    TN_COLUMN_AS("mean", tn_accuracy_grounds, told.mean, NULL),
    TN_COLUMN_AS("deviation", tn_accuracy_grounds, told.deviation, NULL),
    TN_COLUMN_AS("low", tn_accuracy_grounds, told.low, NULL),
    TN_COLUMN_AS("high", tn_accuracy_grounds, told.high, NULL),
    TN_COLUMN_AS("dev", tn_accuracy_grounds, told.mean, NULL),
    TN_COLUMN_AS("test", tn_accuracy_grounds, told.test, NULL),
    TN_COLUMN_AS("dense", tn_accuracy_grounds, dense.mean, NULL),
    TN_COLUMN_AS("dense_test", tn_accuracy_grounds, dense.test, NULL),
    TN_COLUMN(tn_accuracy_grounds, constant, NULL),
    TN_COLUMN(tn_accuracy_grounds, constant_test, NULL),
    TN_NAME("basis", tn_accuracy_grounds, basis, basis_names, NULL),
    TN_COLUMN(tn_accuracy_grounds, seeds, NULL),
    TN_COLUMN(tn_accuracy_grounds, passes, NULL),
    TN_COLUMN(tn_accuracy_grounds, sentences, NULL),
    TN_COLUMN_AS("leave_one_out_rms", tn_accuracy_grounds, foretold, NULL),
    TN_COLUMN_AS("leave_one_out_inside", tn_accuracy_grounds, inside, NULL),
};
static const tn_record accuracy_record = TN_RECORD(tn_accuracy_grounds, accuracy_columns);

void tn_accuracy_grounds_json(const tn_accuracy_grounds *grounds, tn_json *json) {
    const tn_settled *s = &grounds->settled;
    tn_json_key(json, "accuracy");
    if (grounds->known)
        tn_record_json(&accuracy_record, grounds, json);
    else
        tn_json_null(json);
    tn_json_put_text(json, "unlearned", grounds->unlearned);
    tn_json_put_real(json, "probability", s->asked ? (double)s->kept / (double)s->draws : NAN);
    tn_json_key(json, "settled");
    if (!s->asked) {
        tn_json_null(json);
        return;
    }
    tn_json_object(json);
    tn_json_put_count(json, "draws", s->draws);
    tn_json_put_count(json, "kept", s->kept);
    tn_json_put_count(json, "alike", s->alike);
    tn_json_put_count(json, "rival", s->rival);
    tn_json_put_count(json, "rival_draws", s->rival_draws);
    tn_json_put_count(json, "train", s->train);
    tn_json_put_real(json, "gain", s->gain);
    tn_json_end(json);
}
