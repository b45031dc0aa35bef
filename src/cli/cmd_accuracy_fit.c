/* tenfold accuracy fit TABLE.csv and accuracy predict TABLE.csv: what measured accuracies say, of themselves and of designs
 * that were not trained. */
#include "cli/commands.h"
#include "cli/output.h"

#include "base/name_index.h"
#include "base/search_path.h"
#include "space/accuracy_table.h"
#include "text/csv.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A bare name that is no file here is one of the shipped tables, which lie beside their spaces. */
static tn_status read_table(const char *name, tn_arena *arena, tn_accuracy_table *table, tn_error *error) {
    const char *path = name;
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        TN_TRY(tn_search_path_find_file("spaces", name, arena, &path, error));
    return tn_accuracy_table_read(path, arena, table, error);
}

/* How the rows were made, and the ends between which every accuracy lies. */
typedef struct {
    const char *quantity; /* that rows have: accuracy or perplexity */
    uint64_t passes, sentences, rows, runs;
    tn_accuracy_estimate dense;
    double constant, constant_test;
} protocol;

static const tn_column protocol_columns[] = {
    TN_COLUMN(protocol, quantity, "quantity"),
    TN_COLUMN(protocol, passes, "passes"),
    TN_COLUMN(protocol, sentences, "sentences", .optional = true),
    TN_COLUMN(protocol, rows, "rows"),
    TN_COLUMN(protocol, runs, "runs"),
    TN_COLUMN_AS("dense", protocol, dense.mean, "dense", TN_PERCENT),
    TN_COLUMN_AS("dense_test", protocol, dense.test, "test", TN_PERCENT),
    TN_COLUMN(protocol, constant, "constant answer", TN_PERCENT),
    TN_COLUMN(protocol, constant_test, "test", TN_PERCENT),
};
static const tn_record protocol_record = TN_RECORD(protocol, protocol_columns);

static protocol protocol_of(const tn_accuracy_table *table) {
    protocol this_protocol = {.quantity = tn_accuracy_table_quantity(table),
                              .passes = (uint64_t)table->model.passes,
                              .sentences = table->sentences,
                              .rows = table->rows,
                              .dense = tn_accuracy_table_told_estimate(table, tn_accuracy_table_dense(table)),
                              .constant =
                                  table->constant > 0 ? tn_accuracy_table_told(table, table->constant) : NAN,
                              .constant_test = tn_accuracy_table_told(table, table->constant_test)};
    for (size_t i = 0; i < table->rows; i++) this_protocol.runs += table->row[i].runs;
    return this_protocol;
}

/* Of perplexities people see no per cent. */
static tn_status in_told_units(const tn_accuracy_table *table, const tn_record *record, tn_arena *arena,
                               tn_record *told, tn_error *error) {
    static const tn_column plain = {TN_FIXED(3)};
    tn_column *column;
    *told = *record;
    if (table->answers == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, record->columns, &column, error));
    memcpy(column, record->column, record->columns * sizeof *column);
    told->column = column;
    for (size_t i = 0; i < record->columns; i++) {
        if (!column[i].unit || strcmp(column[i].unit, "%") != 0) continue;
        column[i].unit = plain.unit;
        column[i].scale = plain.scale;
        column[i].style = plain.style;
        column[i].digits = plain.digits;
    }
    return TN_OK;
}

/* --- fit */

typedef struct {
    const char *design;
    uint64_t passes, runs;
    double measured;
    tn_accuracy_estimate told;
    bool inside;
} held_out;

static const tn_column held_out_columns[] = {
    TN_COLUMN(held_out, design, "left out"),
    TN_COLUMN(held_out, passes, "passes"),
    TN_COLUMN(held_out, runs, "seeds"),
    TN_COLUMN(held_out, measured, "measured", TN_PERCENT),
    TN_COLUMN_AS("mean", held_out, told.mean, "told", TN_PERCENT),
    TN_COLUMN_AS("low", held_out, told.low, "least", TN_PERCENT),
    TN_COLUMN_AS("high", held_out, told.high, "most", TN_PERCENT),
    TN_COLUMN(held_out, inside, "inside"),
};
static const tn_record held_out_record = TN_RECORD(held_out, held_out_columns);

/* One number of the model: an effect of a level, a rank's power. */
typedef struct {
    const char *choice, *level, *what;
    double value, deviation;
} effect;

static const tn_column effect_columns[] = {
    TN_COLUMN(effect, choice, "choice"),
    TN_COLUMN(effect, level, "level"),
    TN_COLUMN(effect, what, "of"),
    TN_COLUMN(effect, value, "effect"),
    TN_COLUMN(effect, deviation, "deviation"),
};
static const tn_record effect_record = TN_RECORD(effect, effect_columns);

typedef struct {
    protocol protocol;
    double folding, misfit, seed, noise, noise_power;
    size_t effects, left_out;
    effect *effect;
    held_out *row;
    /* Of those rows by the protocol: root mean square of told less measured, of it what the seeds of the rows leave, and the share inside. */
    double rms, rms_of_seeds, inside;
    bool has_left_out;
} fitted;

static const tn_column deviation_columns[] = {
    TN_COLUMN(fitted, folding, "foldings differ by"),
    TN_COLUMN(fitted, misfit, "no choice explains"),
    TN_COLUMN(fitted, seed, "a seed, all designs"),
    TN_COLUMN(fitted, noise, "a seed, one design"),
    TN_COLUMN(fitted, noise_power, NULL),
};
static const tn_record deviation_record = TN_RECORD(fitted, deviation_columns);
static const tn_column cross_columns[] = {
    TN_COLUMN_AS("rows", fitted, left_out, NULL),
    TN_COLUMN(fitted, rms, NULL),
    TN_COLUMN(fitted, rms_of_seeds, NULL),
    TN_COLUMN(fitted, inside, NULL),
    TN_ROWS("designs", fitted, row, left_out, held_out_record, NULL),
};
static const tn_record cross_record = TN_RECORD(fitted, cross_columns);
static const tn_column fitted_columns[] = {
    TN_OBJECT("protocol", fitted, protocol, protocol_record, NULL),
    TN_GROUP("deviations", deviation_record, NULL),
    TN_ROWS("effects", fitted, effect, effects, effect_record, NULL),
    TN_GROUP("leave_one_out", cross_record, NULL, .when = offsetof(fitted, has_left_out), .optional = true),
};
static const tn_record fitted_record = TN_RECORD(fitted, fitted_columns);

typedef struct {
    tn_common common;
    bool leave_one_out;
} fit_request;

static void put_value(const tn_accuracy_table *table, size_t column, tn_accuracy_value value,
                      tn_buffer *out) {
    const tn_accuracy_choice *choice = &table->choice[column];
    if (choice->kind == TN_ACCURACY_RANK)
        tn_buffer_format(out, isinf(value.number) ? "dense" : "%.0f", value.number);
    else if (value.level < choice->levels)
        tn_buffer_format(out, "%s", table->column[column].level[value.level]);
}

/* "48x16,16x48 4": what of a row is not as usual, its folding and first rank at least. */
static tn_status design_text(const tn_accuracy_table *table, const tn_accuracy_value *value, tn_arena *arena,
                             const char **text, tn_error *error) {
    tn_accuracy_value usual[TN_ACCURACY_CHOICES_MOST];
    tn_buffer out = {0};
    bool ranked = false;
    tn_accuracy_table_usual(table, usual);
    for (size_t i = 0; i < table->columns; i++) {
        tn_accuracy_kind kind = table->choice[i].kind;
        bool same =
            kind == TN_ACCURACY_RANK ? value[i].number == usual[i].number : value[i].level == usual[i].level;
        if (same && kind != TN_ACCURACY_FOLDING && (kind != TN_ACCURACY_RANK || ranked)) continue;
        bool is_first = kind == TN_ACCURACY_RANK && !ranked;
        ranked |= is_first;
        tn_buffer value_text = {0};
        put_value(table, i, value[i], &value_text);
        if (value_text.length && !is_first && kind != TN_ACCURACY_FOLDING)
            tn_buffer_format(&out, "%s%s=%s", out.length ? " " : "", table->column[i].name, value_text.data);
        else if (value_text.length)
            tn_buffer_format(&out, "%s%s", out.length ? " " : "", value_text.data);
        tn_buffer_free(&value_text);
    }
    tn_status status = tn_arena_copy_text(arena, out.data ? out.data : "", out.length, text, error);
    tn_buffer_free(&out);
    return status;
}

static void add_effect(fitted *f, const tn_accuracy_table *table, const char *choice, const char *level,
                       const char *what, size_t k) {
    const tn_accuracy_model *m = &table->model;
    f->effect[f->effects++] =
        (effect){choice, level, what, m->parameter[k], sqrt(m->covariance[k * m->parameters + k])};
}

/* In the order of the model's parameters. */
static tn_status list_effects(const tn_accuracy_table *table, fitted *f, tn_arena *arena, tn_error *error) {
    TN_TRY(TN_NEW(arena, table->model.parameters, &f->effect, error));
    size_t k = 0;
    add_effect(f, table, "", "", "floor", k++);
    add_effect(f, table, "passes", "", "error, a doubling", k++);
    add_effect(f, table, "passes", "", "excess, a doubling", k++);
    for (size_t i = 0; i < table->columns; i++) {
        const tn_accuracy_choice *choice = &table->choice[i];
        const tn_accuracy_column *column = &table->column[i];
        if (choice->kind == TN_ACCURACY_RANK) {
            add_effect(f, table, column->name, "8", "excess", k++);
            add_effect(f, table, column->name, "", "ln power", k++);
            add_effect(f, table, column->name, "", "ln(1 - shift)", k++);
        } else if (choice->kind == TN_ACCURACY_FOLDING) {
            add_effect(f, table, column->name, "", "excess, a factor more", k++);
            add_effect(f, table, column->name, "", "excess, outermost e times", k++);
            add_effect(f, table, column->name, "", "excess, middle e times", k++);
            add_effect(f, table, column->name, "", "ln power, a factor more", k++);
            add_effect(f, table, column->name, "", "ln power, outermost e times", k++);
            add_effect(f, table, column->name, "", "ln power, middle e times", k++);
            for (size_t n = 0; n < choice->levels; n++)
                add_effect(f, table, column->name, column->level[n], "excess", k++);
        } else
            for (size_t n = 1; n < choice->levels; n++) {
                add_effect(f, table, column->name, column->level[n], "error", k++);
                add_effect(f, table, column->name, column->level[n], "excess", k++);
            }
    }
    return TN_OK;
}

static tn_status leave_out(const tn_accuracy_table *table, fitted *f, tn_arena *arena, tn_error *error) {
    tn_accuracy_estimate *told;
    const tn_accuracy_model *m = &table->model;
    double squares = 0, of_seeds = 0, inside = 0, counted = 0;
    TN_TRY(TN_NEW(arena, m->rows, &told, error));
    TN_TRY(TN_NEW(arena, m->rows, &f->row, error));
    TN_TRY(tn_accuracy_model_leave_one_out(m, arena, told, error));
    f->left_out = m->rows;
    for (size_t i = 0; i < m->rows; i++) {
        const tn_accuracy_measurement *row = &m->row[i];
        tn_accuracy_estimate as_told = tn_accuracy_table_told_estimate(table, told[i]);
        double measured = tn_accuracy_table_told(table, row->accuracy);
        f->row[i] = (held_out){.passes = (uint64_t)row->passes,
                               .runs = row->runs,
                               .measured = measured,
                               .told = as_told,
                               .inside = measured >= as_told.low && measured <= as_told.high};
        TN_TRY(design_text(table, row->value, arena, &f->row[i].design, error));
        if (row->passes != m->passes) continue;
        double away = as_told.mean - measured;
        /* The interval less what is known of the mean is the seeds' part. */
        double half = (as_told.high - as_told.low) / 2 / 1.96;
        squares += away * away;
        of_seeds += fmax(0, half * half - as_told.deviation * as_told.deviation);
        inside += f->row[i].inside;
        counted++;
    }
    f->rms = sqrt(squares / counted);
    f->rms_of_seeds = sqrt(of_seeds / counted);
    f->inside = inside / counted;
    f->has_left_out = true;
    return TN_OK;
}

static tn_status answer_fit(void *asked, int *answer, tn_error *error) {
    fit_request *r = asked;
    tn_arena *arena = &r->common.arena;
    tn_accuracy_table table;
    fitted f = {0};
    (void)answer;
    TN_TRY(read_table(r->common.argument[0], arena, &table, error));
    f.protocol = protocol_of(&table);
    f.folding = table.model.folding;
    f.misfit = table.model.misfit;
    f.seed = table.model.seed;
    f.noise = table.model.noise;
    f.noise_power = table.model.noise_power;
    TN_TRY(list_effects(&table, &f, arena, error));
    if (r->leave_one_out) TN_TRY(leave_out(&table, &f, arena, error));
    if (r->common.json) return tn_output_json(&fitted_record, &f, error);
    tn_record record;
    TN_TRY(in_told_units(&table, &protocol_record, arena, &record, error));
    TN_TRY(tn_output_lines(&record, &f.protocol, error));
    tn_say_heading("Of the logarithm of an error");
    TN_TRY(tn_output_lines(&deviation_record, &f, error));
    tn_say_heading("Effects on it");
    TN_TRY(tn_output_rows(&effect_record, f.effect, f.effects, error));
    if (!r->leave_one_out) return TN_OK;
    tn_say_heading("Each row as the others foretell it");
    TN_TRY(in_told_units(&table, &held_out_record, arena, &record, error));
    TN_TRY(tn_output_rows(&record, f.row, f.left_out, error));
    double scale = table.answers > 0 ? 1 : 100;
    tn_say("\nrows of %.0f passes: told less measured has a root mean square of %.2f%s, of which their own "
           "seeds leave %.2f; %.1f %% lie inside the interval of 95 %%\n",
           table.model.passes, scale * f.rms, table.answers > 0 ? "" : " points", scale * f.rms_of_seeds,
           100 * f.inside);
    return TN_OK;
}

/* --- predict */

static const char *const basis_names[] = {"measured", "between", "carried", "unknown", NULL};

typedef struct {
    const char *design;
    tn_accuracy_estimate told;
    tn_accuracy_basis basis;
    uint64_t seeds;
    double measured, spread;
    const char *command, *seed_list;
    uint64_t passes;
} prediction;

#define PREDICTION_COLUMNS                                                                                   \
    TN_COLUMN(prediction, design, "design"),                                                                 \
        TN_COLUMN_AS("mean", prediction, told.mean, "mean", TN_PERCENT),                                     \
        TN_COLUMN_AS("deviation", prediction, told.deviation, "+-", TN_PERCENT),                             \
        TN_COLUMN_AS("low", prediction, told.low, "a run: least", TN_PERCENT),                               \
        TN_COLUMN_AS("high", prediction, told.high, "most", TN_PERCENT),                                     \
        TN_COLUMN_AS("test", prediction, told.test, "test", TN_PERCENT),                                     \
        TN_NAME("basis", prediction, basis, basis_names, "basis"), TN_COLUMN(prediction, seeds, "seeds"),    \
        TN_COLUMN(prediction, measured, "measured", TN_PERCENT),                                             \
        TN_COLUMN(prediction, spread, "spread", TN_PERCENT), TN_COLUMN(prediction, command, NULL),           \
        TN_COLUMN(prediction, seed_list, NULL)
static const tn_column prediction_columns[] = {PREDICTION_COLUMNS};
static const tn_record prediction_record = TN_RECORD(prediction, prediction_columns);

typedef struct {
    protocol protocol;
    size_t rows;
    prediction *row;
} predicted;
static const tn_column predicted_columns[] = {
    TN_OBJECT("protocol", predicted, protocol, protocol_record, NULL),
    TN_ROWS("rows", predicted, row, rows, prediction_record, NULL),
};
static const tn_record predicted_record = TN_RECORD(predicted, predicted_columns);

typedef struct {
    tn_common common;
    tn_option_list set;
    const char *batch;
} predict_request;

static bool has_last_word(const char *key, const char *word) {
    const char *end = strrchr(key, '.');
    return strcmp(end ? end + 1 : key, word) == 0;
}

/* The column that a key speaks of: by its name, else by the last word; SIZE_MAX. */
static size_t column_of(const tn_accuracy_table *table, const char *key) {
    const char *end = strrchr(key, '.');
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->column[i].name, key) == 0) return i;
    for (size_t i = 0; i < table->columns && end; i++)
        if (strcmp(table->column[i].name, end + 1) == 0) return i;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < table->columns && !end; i++) {
        if (!has_last_word(table->column[i].name, key)) continue;
        if (found != SIZE_MAX) return SIZE_MAX;
        found = i;
    }
    return found;
}

static tn_status no_column(const tn_accuracy_table *table, const char *key, tn_position position,
                           tn_error *error) {
    const char *names[TN_ACCURACY_CHOICES_MOST + 1];
    char told[256];
    for (size_t i = 0; i < table->columns; i++) names[i] = table->column[i].name;
    names[table->columns] = "epochs";
    return tn_fail_at(error, TN_INPUT, position, "no choice \"%.60s\" in %s; %s", key, table->path,
                      tn_suggestion(key, names, table->columns + 1, told, sizeof told));
}

/* A design as it is told: values, and the two sides of a folding that `m` and `n` gave on their own. */
typedef struct {
    tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
    double passes;
    const char *side[2];
    size_t folding;
} told_design;

static tn_status take(const tn_accuracy_table *table, const char *key, const char *text, tn_position position,
                      told_design *design, tn_error *error) {
    if (strcmp(key, "epochs") == 0 || strcmp(key, "training.epochs") == 0) {
        if (tn_read_real(text, &design->passes) != TN_NUMBER_OK || design->passes < 1)
            return tn_fail_at(error, TN_INPUT, position, "%s is '%.60s'; it must be a number of 1 or more",
                              key, text);
        return TN_OK;
    }
    bool is_m = has_last_word(key, "m"), is_n = has_last_word(key, "n");
    char folding_key[128];
    size_t column = column_of(table, key);
    if (column == SIZE_MAX && (is_m || is_n) && strlen(key) < 100) {
        snprintf(folding_key, sizeof folding_key, "%.*sfolding", (int)(strlen(key) - 1), key);
        design->folding = column_of(table, folding_key);
        if (design->folding == SIZE_MAX) return no_column(table, folding_key, position, error);
        design->side[is_n] = text;
        return TN_OK;
    }
    if (column == SIZE_MAX) return no_column(table, key, position, error);
    if (!tn_accuracy_table_value(table, column, text, &design->value[column]))
        return tn_fail_at(error, TN_INPUT, position, "%s is '%.60s'; it must be a %s", key, text,
                          table->choice[column].kind == TN_ACCURACY_RANK ? "rank, as 12 or 1x12x12x1"
                                                                         : "folding, as 12x8x8,8x8x12");
    return TN_OK;
}

static tn_status finish(const tn_accuracy_table *table, told_design *design, tn_position position,
                        tn_error *error) {
    if (!design->side[0] && !design->side[1]) return TN_OK;
    char text[256];
    if (!design->side[0] || !design->side[1])
        return tn_fail_at(error, TN_INPUT, position, "a folding has m and n; one of them alone was given");
    snprintf(text, sizeof text, "%s,%s", design->side[0], design->side[1]);
    if (!tn_accuracy_table_value(table, design->folding, text, &design->value[design->folding]))
        return tn_fail_at(error, TN_INPUT, position, "'%.60s' is no folding; it must be as 12x8x8,8x8x12",
                          text);
    return TN_OK;
}

static tn_status predict(const tn_accuracy_table *table, const told_design *design, tn_arena *arena,
                         prediction *target, tn_error *error) {
    target->told = tn_accuracy_table_told_estimate(
        table, tn_accuracy_table_at(table, design->value, design->passes, &target->basis));
    target->measured = target->spread = NAN;
    const tn_accuracy_measurement *row = tn_accuracy_table_row(table, design->value, design->passes);
    if (row) {
        target->seeds = row->runs;
        tn_accuracy_estimate measured = tn_accuracy_table_told_estimate(
            table, (tn_accuracy_estimate){.mean = row->accuracy, .deviation = row->spread});
        target->measured = measured.mean;
        target->spread = measured.deviation;
        target->passes = (uint64_t)row->passes;
        if (table->command) target->command = table->command[row - table->row];
        if (table->seed_list) target->seed_list = table->seed_list[row - table->row];
    }
    return design_text(table, design->value, arena, &target->design, error);
}

static told_design usual_design(const tn_accuracy_table *table) {
    told_design design = {.passes = table->model.passes};
    tn_accuracy_table_usual(table, design.value);
    return design;
}

static tn_status take_sets(const predict_request *r, const tn_accuracy_table *table, told_design *design,
                           tn_error *error) {
    for (size_t i = 0; i < r->set.count; i++) {
        const char *equals = strchr(r->set.item[i], '='), *key;
        tn_position position = {.file = "--set", .line = 1, .column = 1};
        if (!equals) return tn_fail(error, TN_INPUT, "--set takes KEY=VALUE, not '%.60s'", r->set.item[i]);
        TN_TRY(tn_arena_copy_text((tn_arena *)&r->common.arena, r->set.item[i],
                                  (size_t)(equals - r->set.item[i]), &key, error));
        TN_TRY(take(table, key, equals + 1, position, design, error));
    }
    return TN_OK;
}

static tn_status read_batch(const predict_request *r, const tn_accuracy_table *table, predicted *p,
                            tn_arena *arena, tn_error *error) {
    tn_csv csv;
    TN_TRY(tn_csv_load(r->batch, arena, &csv, error));
    TN_TRY(TN_NEW(arena, csv.rows, &p->row, error));
    for (size_t i = 0; i < csv.rows; i++) {
        told_design design = usual_design(table);
        TN_TRY(take_sets(r, table, &design, error));
        for (size_t k = 0; k < csv.columns; k++) {
            const char *name = csv.head[k].text;
            const tn_csv_cell *cell = tn_csv_at(&csv, i, k);
            /* What tells of a run and sets nothing. */
            if (strcmp(name, "seed") == 0 || (tn_accuracy_is_record(name) && strcmp(name, "epochs") != 0))
                continue;
            TN_TRY(take(table, name, cell->text, cell->position, &design, error));
        }
        TN_TRY(finish(table, &design, tn_csv_at(&csv, i, 0)->position, error));
        TN_TRY(predict(table, &design, arena, &p->row[p->rows++], error));
    }
    return TN_OK;
}

/* Of one design: its figures on top. */
static tn_status put_single(const tn_accuracy_table *table, const prediction *this_prediction,
                            const protocol *how, bool json, tn_arena *arena, tn_error *error) {
    tn_buffer out = {0};
    tn_json target;
    if (!json) {
        tn_record record;
        TN_TRY(in_told_units(table, &prediction_record, arena, &record, error));
        TN_TRY(tn_output_lines(&record, this_prediction, error));
        TN_TRY(in_told_units(table, &protocol_record, arena, &record, error));
        tn_say_heading("The table, and its ends");
        TN_TRY(tn_output_lines(&record, how, error));
        if (this_prediction->command)
            tn_say("\nits runs again, for each seed of %s:\n    %s --data FOLDER --seed SEED\n",
                   this_prediction->seed_list ? this_prediction->seed_list : "", this_prediction->command);
        return TN_OK;
    }
    tn_answer_begin(&target, &out);
    tn_record_keys(&prediction_record, this_prediction, &target);
    tn_json_key(&target, "protocol");
    tn_record_json(&protocol_record, how, &target);
    tn_json_end(&target);
    return tn_output(&out, error);
}

static tn_status answer_predict(void *asked, int *answer, tn_error *error) {
    predict_request *r = asked;
    tn_arena *arena = &r->common.arena;
    tn_accuracy_table table;
    predicted p = {0};
    prediction single = {0};
    (void)answer;
    TN_TRY(read_table(r->common.argument[0], arena, &table, error));
    p.protocol = protocol_of(&table);
    if (r->batch) {
        TN_TRY(read_batch(r, &table, &p, arena, error));
        if (r->common.json) return tn_output_json(&predicted_record, &p, error);
        tn_record record;
        TN_TRY(in_told_units(&table, &prediction_record, arena, &record, error));
        return tn_output_rows(&record, p.row, p.rows, error);
    }
    told_design design = usual_design(&table);
    TN_TRY(take_sets(r, &table, &design, error));
    TN_TRY(finish(&table, &design, (tn_position){.file = "--set", .line = 1, .column = 1}, error));
    TN_TRY(predict(&table, &design, arena, &single, error));
    return put_single(&table, &single, &p.protocol, r->common.json, arena, error);
}

static const tn_option fit_options[] = {
    {"--leave-one-out", TN_INTO(fit_request, leave_one_out), NULL, "foretell each row from the others"},
};
const tn_command tn_accuracy_fit_command = {
    .name = "accuracy fit",
    .summary = "the model of measured accuracies: effects of ranks, foldings and levels, noise of seeds",
    .usage = "TABLE.csv [--leave-one-out]",
    .arguments = {1, 1},
    TN_OPTIONS(fit_options),
    TN_REQUEST(fit_request, NULL),
    TN_ANSWERS(&fitted_record),
    .answer = answer_fit,
};

static const tn_option predict_options[] = {
    {"--set", TN_INTO(predict_request, set), "KEY=VALUE",
     "of the design; the rest as most rows have it (repeatable)"},
    {"--batch", TN_INTO(predict_request, batch), "FILE.csv", "a design a row, a choice a column"},
};
static const tn_column told_columns[] = {PREDICTION_COLUMNS, TN_ANSWER_OBJECT("protocol", protocol_record)};
static const tn_record told_record = TN_RECORD(prediction, told_columns);

const tn_command tn_accuracy_predict_command = {
    .name = "accuracy predict",
    .summary = "what a design learns, trained or not: mean, deviation, interval of a run",
    .usage = "TABLE.csv --set KEY=VALUE...\nTABLE.csv --batch FILE.csv",
    .arguments = {1, 1},
    TN_OPTIONS(predict_options),
    TN_REQUEST(predict_request, NULL),
    TN_ANSWERS(&told_record, &predicted_record),
    .answer = answer_predict,
};
