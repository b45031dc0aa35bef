/* tenfold recommend DIR: the recommended design of a sweep in plain words. */
#include "cli/cmd_recommend.h"

#include "cli/commands.h"
#include "cli/cost.h"
#include "cli/output.h"
#include "design/explain.h"
#include "front/knee.h"
#include "price/obstacle.h"
#include "results/kept_grounds.h"
#include "results/recommendation.h"
#include "results/result.h"
#include "search/evaluator.h"
#include "text/json.h"
#include "text/record.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Why a design is the knee, how firmly, and the other designs of the front that a person may want to see. */

/* ---- finding ---- */

static tn_status find_place(const tn_space *space, const tn_point *point, size_t count, uint64_t knee,
                            tn_arena *arena, tn_grounds *grounds, tn_error *error) {
    tn_scale scale[TN_OBJECTIVES_MOST];
    tn_scales(point, count, space->objectives, scale);
    grounds->objectives = space->objectives;
    TN_TRY(TN_NEW(arena, grounds->objectives, &grounds->line, error));
    grounds->second_distance = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double distance = tn_knee_distance(&point[i], space->objectives, scale);
        if (point[i].id != knee) {
            if (distance >= grounds->second_distance) continue;
            grounds->has_second = true;
            grounds->second = point[i].id;
            grounds->second_distance = distance;
            continue;
        }
        grounds->distance = distance;
        for (size_t j = 0; j < grounds->objectives; j++) {
            double sign = space->objective[j]->maximise ? -1 : 1;
            grounds->line[j] = (tn_knee_line){.objective = space->objective[j]->name,
                                              .value = sign * point[i].value[j],
                                              .best = sign * scale[j].least,
                                              .worst = sign * scale[j].most,
                                              .place = tn_scaled(scale[j], point[i].value[j])};
        }
    }
    return TN_OK;
}

static tn_design_line line_of(const tn_result_row *row) {
    return (tn_design_line){.design = row->id,
                            .seconds_per_step = tn_result_value(row, "seconds_per_step"),
                            .joules_per_step = tn_result_value(row, "joules_per_step"),
                            .on_chip_bytes = tn_result_value(row, "on_chip_bytes"),
                            .dsp = tn_result_value(row, "dsp"),
                            .degrees_of_freedom = tn_result_value(row, "degrees_of_freedom"),
                            .accuracy = tn_result_value(row, "accuracy"),
                            .perplexity = tn_result_value(row, "perplexity"),
                            .relative_error = tn_result_value(row, "relative_error"),
                            .obstacle = (uint32_t)tn_result_value(row, "rtl")};
}

static tn_status value_text(const tn_axis *choice, size_t digit, tn_arena *arena, const char **text,
                            tn_error *error) {
    tn_buffer value = {0};
    tn_axis_value(choice, digit, &value);
    tn_status status = value.status == TN_OK
                           ? tn_arena_copy_text(arena, value.data, value.length, text, error)
                           : tn_fail(error, value.status, "no memory for a choice");
    tn_buffer_free(&value);
    return status;
}

static tn_status find_best(const tn_result *result, const tn_point *point, const char *key, tn_arena *arena,
                           tn_grounds *grounds, tn_error *error) {
    const tn_space *space = result->space;
    size_t index = tn_default_by(space), count = result->front_count;
    if (key) TN_TRY(tn_axis_find(space, key, &index, error));
    if (index >= space->choices.count) return TN_OK;
    const tn_axis *choice = &space->choices.axis[index];
    grounds->choice = choice->key;
    TN_TRY(TN_NEW(arena, choice->count, &grounds->best, error));
    for (size_t digit = 0; digit < choice->count; digit++) {
        size_t best = tn_best_at(space, index, digit, point, count);
        if (best == count) continue;
        tn_design_line *line = &grounds->best[grounds->best_count++];
        *line = line_of(&result->front[best]);
        TN_TRY(value_text(choice, digit, arena, &line->chosen, error));
    }
    return TN_OK;
}

static tn_status find_thinned(const tn_result *result, const tn_point *point, uint64_t knee, tn_arena *arena,
                              tn_grounds *grounds, tn_error *error) {
    size_t count = result->front_count, left;
    bool *kept;
    if (!(grounds->epsilon >= 0)) return TN_OK;
    TN_TRY(TN_NEW(arena, count, &kept, error));
    for (size_t i = 0; i < count; i++) kept[i] = point[i].id == knee;
    TN_TRY(tn_thin(point, count, result->space->objectives, grounds->epsilon, kept, &left, error));
    TN_TRY(TN_NEW(arena, left, &grounds->thinned, error));
    for (size_t i = 0; i < count; i++)
        if (kept[i]) grounds->thinned[grounds->thinned_count++] = line_of(&result->front[i]);
    return TN_OK;
}

/* by NULL: the default choice; epsilon NAN: no thinned front; `firm`: with the robustness of the knee, for which every design is
 * evaluated several times. Lives in `arena`. */
static tn_status grounds_find(const tn_result *result, const char *key, double epsilon,
                              const tn_goal_choice *choice, bool firm, tn_arena *arena, tn_grounds *grounds,
                              tn_error *error) {
    tn_point *point;
    uint64_t knee = result->recommended[0].id;
    size_t count = result->front_count;
    *grounds = (tn_grounds){.epsilon = epsilon, .front_count = count};
    TN_TRY(tn_result_points(result, arena, &point, error));
    TN_TRY(find_place(result->space, point, count, knee, arena, grounds, error));
    TN_TRY(find_best(result, point, key, arena, grounds, error));
    TN_TRY(find_thinned(result, point, knee, arena, grounds, error));
    const uint64_t chosen = result->front[choice->index].id;
    tn_goal_question question = {result, choice->goal, choice->fulfils};
    TN_TRY(tn_accuracy_grounds_find(result, point, count, chosen, tn_goal_chooser, &question, arena,
                                    &grounds->accuracy, error));
    if (firm) TN_TRY(tn_grounds_kept(result, arena, &grounds->robustness, &grounds->outside, error));
    return firm && chosen == knee ? TN_OK
                                  : tn_outside_result(result, chosen, arena, &grounds->outside, error);
}

/* ---- printing ---- */

static void cell_of(const tn_knee_line *line, double value, tn_buffer *cell) {
    char text[48];
    tn_buffer_text(cell, tn_quantity_text(value, tn_word_unit(line->objective), text));
}
static void objective_cell(const void *row, tn_buffer *cell) {
    tn_word_put_title(((const tn_knee_line *)row)->objective, cell);
}
static void value_cell(const void *row, tn_buffer *cell) {
    cell_of(row, ((const tn_knee_line *)row)->value, cell);
}
static void best_cell(const void *row, tn_buffer *cell) {
    cell_of(row, ((const tn_knee_line *)row)->best, cell);
}
static void worst_cell(const void *row, tn_buffer *cell) {
    cell_of(row, ((const tn_knee_line *)row)->worst, cell);
}

static const tn_column knee_columns[] = {
    TN_COLUMN(tn_knee_line, objective, NULL),
    TN_COLUMN(tn_knee_line, value, NULL),
    TN_COLUMN(tn_knee_line, best, NULL),
    TN_COLUMN(tn_knee_line, worst, NULL),
    {.cell = objective_cell, .title = "objective", .kind = TN_COLUMN_TEXT},
    {.cell = value_cell, .title = "this design", .kind = TN_COLUMN_TEXT},
    {.cell = best_cell, .title = "best of the front", .kind = TN_COLUMN_TEXT},
    {.cell = worst_cell, .title = "worst", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(tn_knee_line, place, "place on a log scale, 0 best 1 worst", TN_FIXED(2)),
};
static const tn_record knee_record = TN_RECORD(tn_knee_line, knee_columns);

static const tn_column change_columns[] = {
    TN_COLUMN(tn_perturbation, change, "change"),
    TN_COLUMN(tn_perturbation, kept, "kept"),
    TN_COLUMN(tn_perturbation, design, NULL),
};
static const tn_record change_record = TN_RECORD(tn_perturbation, change_columns);

static const tn_column robustness_columns[] = {
    TN_COLUMN(tn_robustness, kept, NULL),
    TN_COLUMN_AS("of", tn_robustness, changes, NULL),
    TN_ROWS_IN("changes", tn_robustness, change, changes, change_record, NULL),
    TN_ROWS_IN("without", tn_robustness, reduced, objectives, change_record, NULL),
};
static const tn_record robustness_record = TN_RECORD(tn_robustness, robustness_columns);

/* As --point takes it: without separators. */
static void design_cell(const void *row, tn_buffer *cell) {
    tn_buffer_format(cell, "%" PRIu64, ((const tn_design_line *)row)->design);
}

static void rtl_cell(const void *row, tn_buffer *cell) {
    char key[TN_OBSTACLE_TEXT];
    tn_buffer_text(cell, tn_obstacle_key(((const tn_design_line *)row)->obstacle, key));
}

static void put_rtl(const void *row, tn_json *json) {
    char key[TN_OBSTACLE_TEXT];
    tn_json_text(json, tn_obstacle_key(((const tn_design_line *)row)->obstacle, key));
}

static const tn_column design_columns[] = {
    TN_COLUMN_AS("value", tn_design_line, chosen, "value", TN_OPTIONAL),
    TN_COLUMN(tn_design_line, design, NULL),
    {.cell = design_cell, .title = "design", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(tn_design_line, seconds_per_step, NULL, TN_SAID("seconds_per_step")),
    TN_COLUMN(tn_design_line, joules_per_step, NULL, TN_SAID("joules_per_step")),
    TN_COLUMN(tn_design_line, on_chip_bytes, NULL, TN_SAID("on_chip_bytes")),
    TN_COLUMN(tn_design_line, dsp, NULL, TN_SAID("dsp")),
    TN_COLUMN(tn_design_line, degrees_of_freedom, "degrees of freedom", TN_FITTING("")),
    TN_COLUMN(tn_design_line, accuracy, NULL, TN_SAID("accuracy"), TN_OPTIONAL),
    TN_COLUMN(tn_design_line, perplexity, "perplexity", TN_OPTIONAL),
    TN_COLUMN(tn_design_line, relative_error, NULL, TN_SAID("relative_error"), TN_OPTIONAL),
    TN_WRITTEN("rtl", put_rtl, "rtl", .cell = rtl_cell),
};
static const tn_record design_record = TN_RECORD(tn_design_line, design_columns);

static const tn_column grounds_columns[] = {
    TN_ROWS("why", tn_grounds, line, objectives, knee_record, NULL),
    TN_COLUMN(tn_grounds, distance, NULL),
    TN_COLUMN_AS("next_nearest", tn_grounds, second, NULL, TN_WHEN(tn_grounds, has_second)),
    TN_COLUMN_AS("next_nearest_distance", tn_grounds, second_distance, NULL, TN_OPTIONAL),
    TN_OBJECT("robustness", tn_grounds, robustness, robustness_record, NULL),
    TN_OBJECT("outside_the_space", tn_grounds, outside, tn_outside_record, NULL),
    TN_COLUMN_AS("by", tn_grounds, choice, NULL, TN_OPTIONAL),
    TN_ROWS("best", tn_grounds, best, best_count, design_record, NULL),
    TN_COLUMN_AS("thinned_by", tn_grounds, epsilon, NULL, TN_OPTIONAL),
    TN_ROWS("thinned", tn_grounds, thinned, thinned_count, design_record, NULL, TN_OPTIONAL),
};
const tn_record tn_grounds_record = TN_RECORD(tn_grounds, grounds_columns);

/* The choices in which another design differs. */
static tn_status say_difference(const tn_space *space, uint64_t begin, uint64_t end, tn_error *error) {
    tn_buffer value = {0};
    size_t said = 0;
    for (size_t i = 0; i < space->choices.count; i++) {
        size_t digit = tn_choices_digit(&space->choices, end, i);
        if (digit == tn_choices_digit(&space->choices, begin, i)) continue;
        value.length = 0;
        tn_axis_value(&space->choices.axis[i], digit, &value);
        if (value.status == TN_OK)
            tn_say("%s%s=%s", said++ ? " " : "", space->choices.axis[i].key, value.data);
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory to print a design");
}

static tn_status say_moves(const tn_result *result, const tn_perturbation *change, size_t count,
                           tn_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (change[i].kept) continue;
        tn_say("  %s:\n    ", change[i].change);
        if (change[i].design == UINT64_MAX) {
            tn_say("no design of the front fits any more\n");
            continue;
        }
        tn_say("design %" PRIu64 ", ", change[i].design);
        TN_TRY(say_difference(result->space, result->recommended[0].id, change[i].design, error));
        tn_say("\n");
    }
    return TN_OK;
}

static tn_status print_robustness(const tn_result *result, const tn_robustness *robustness,
                                  const tn_accuracy_grounds *accuracy, tn_error *error) {
    tn_say("how firmly: %zu of %zu small changes of the question keep it%s\n", robustness->kept,
           robustness->changes, robustness->kept < robustness->changes ? "; it moves under" : "");
    TN_TRY(say_moves(result, robustness->change, robustness->changes, error));
    tn_accuracy_grounds_firm(result, accuracy);
    bool moves = false;
    for (size_t i = 0; i < robustness->objectives; i++) moves |= !robustness->reduced[i].kept;
    tn_say("where each objective pulls: left out, the knee would be%s\n",
           moves ? "" : " the same, whichever it is");
    return say_moves(result, robustness->reduced, robustness->objectives, error);
}

/* The best at each value of a choice, and the front thinned. */
static tn_status print_lists(const tn_grounds *grounds, tn_error *error) {
    char text[32];
    if (grounds->best_count) {
        tn_say("\nthe best of the front at each %s: in %s, ties broken by the other objectives\n",
               grounds->choice, grounds->line[0].objective);
        TN_TRY(tn_output_rows(&design_record, grounds->best, grounds->best_count, error));
    }
    if (!(grounds->epsilon >= 0)) return TN_OK;
    tn_say("\nthe front of %s designs thinned: each has one of these %zu that is at most %g %% worse in "
           "anything\n",
           tn_count_text(grounds->front_count, text), grounds->thinned_count, 100 * grounds->epsilon);
    return tn_output_rows(&design_record, grounds->thinned, grounds->thinned_count, error);
}

static tn_status grounds_print(const tn_result *result, const tn_grounds *grounds, tn_error *error) {
    tn_say(
        "\nwhy this one: of all designs of the front it lies nearest to the best of every objective at once");
    if (grounds->has_second)
        tn_say("\n(distance %.3f; the next nearest, design %" PRIu64 ", %.3f)", grounds->distance,
               grounds->second, grounds->second_distance);
    tn_say("\n");
    TN_TRY(tn_output_rows(&knee_record, grounds->line, grounds->objectives, error));
    TN_TRY(print_robustness(result, &grounds->robustness, &grounds->accuracy, error));
    return print_lists(grounds, error);
}

/* Shares of the budget; returns the resource that is nearest to it. */
static tn_resource shares(const tn_result *result, const tn_result_row *row, double share[TN_RESOURCES]) {
    tn_resources has = tn_device_resources(tn_space_of(result->space, row->id)->device);
    tn_resource tightest = TN_LUT;
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t available = tn_resource_amount(&has, (tn_resource)i);
        share[i] = available ? tn_result_value(row, tn_resource_names[i]) / (double)available : 0;
        if (share[i] > share[tightest]) tightest = (tn_resource)i;
    }
    return tightest;
}

static tn_status print_choices(const tn_space *space, uint64_t id, tn_error *error) {
    tn_buffer value = {0};
    for (size_t i = 0; i < space->choices.count; i++) {
        value.length = 0;
        tn_axis_value(&space->choices.axis[i], tn_choices_digit(&space->choices, id, i), &value);
        if (value.status != TN_OK) break;
        tn_say("  %-28s %s\n", space->choices.axis[i].key, value.data);
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory to print the design");
}

static void print_cost(const tn_result_row *row, const tn_explanation *why,
                       const tn_accuracy_grounds *accuracy) {
    char step[32], epoch[32], energy[32], power[32], memory[32], dof[32], parameters[32];
    char hardware[TN_HARDWARE_TEXT];
    tn_say("it costs\n");
    tn_say("  hardware  %s\n", tn_hardware_text(why, hardware));
    tn_say("  latency   %s a step, %s an epoch\n",
           tn_si_text(tn_result_value(row, "seconds_per_step"), "s", step),
           tn_si_text(tn_result_value(row, "seconds_per_epoch"), "s", epoch));
    tn_say("  energy    %s a step at %s: %s static, %s dynamic",
           tn_si_rough(tn_result_value(row, "joules_per_step"), "J", energy),
           tn_si_rough(tn_result_value(row, "watts"), "W", power),
           tn_si_rough(tn_result_value(row, "static_joules_per_step"), "J", step),
           tn_si_rough(tn_result_value(row, "dynamic_joules_per_step"), "J", epoch));
    tn_say("; %s to %s by its unverified figures\n",
           tn_si_rough(tn_cost_joules(why->least_joules), "J", energy),
           tn_si_rough(tn_cost_joules(why->most_joules), "J", power));
    tn_say("  memory    %s in block RAM and UltraRAM blocks\n",
           tn_bytes_text(tn_result_value(row, "on_chip_bytes"), memory));
    tn_say("  model     %s parameters; the weights that the choices vary have %s degrees of freedom\n",
           tn_count_text((uint64_t)tn_result_value(row, "parameters"), parameters),
           tn_count_text((uint64_t)tn_result_value(row, "degrees_of_freedom"), dof));
    tn_accuracy_grounds_cost(accuracy);
}

/* The kernel that the step waits for longest. */
static const tn_kernel_line *busiest(const tn_explanation *why) {
    const tn_kernel_line *most = why->kernel;
    for (uint32_t i = 1; i < why->kernels; i++)
        if (why->kernel[i].critical_cycles > most->critical_cycles) most = &why->kernel[i];
    return most;
}

static double busy_share(const tn_explanation *why) {
    return (double)busiest(why)->busy_cycles / (double)why->price.cycles_per_step;
}

static void print_limits(const tn_result *result, const tn_result_row *row, const tn_explanation *why) {
    double share[TN_RESOURCES];
    tn_resource tightest = shares(result, row, share);
    tn_say("what limits it\n");
    tn_say("  time      the %s kernel is busy for %.0f %% of the step\n", busiest(why)->name,
           100 * busy_share(why));
    if (why->bound) tn_say("            %s\n", why->bound);
    tn_say("  budget    %s is nearest to its limit on %s:", tn_resource_names[tightest],
           tn_device_name(tn_space_of(result->space, row->id)->device));
    for (int i = 0; i < TN_RESOURCES; i++)
        tn_say(" %s %.0f %%%s", tn_resource_names[i], 100 * share[i], i + 1 < TN_RESOURCES ? "," : "\n");
    if (why->unverified_count) {
        tn_say(
            "  trust     rests on %u figures of the device file that are marked unverified, among them %s\n",
            why->unverified_count, why->unverified[0]);
        tn_say("            (`tenfold cost` lists them; replace them by measured ones)\n");
    }
}

static void print_places(const tn_result *result) {
    const char *folder = result->folder;
    char figures[1024];
    tn_say("\nall designs of the front: %s/front.csv; these: %s/recommended.csv\n", folder, folder);
    snprintf(figures, sizeof figures, "%s/possible.csv", folder);
    if (access(figures, R_OK) == 0)
        tn_say("with those that may be on it once accuracies are known better, by front_probability: %s\n",
               figures);
    snprintf(figures, sizeof figures, "%s/figures", folder);
    if (access(figures, R_OK) == 0)
        tn_say("figures: %s (PNG, SVG, PDF; the scripts beside them)\n", figures);
    else
        tn_say("figures: `tenfold plot %s` draws them\n", folder);
}

/* The choices as an object, as --set takes them. */
static void put_choices(const tn_space *space, uint64_t id, tn_json *json) {
    tn_buffer value = {0};
    tn_json_key(json, "choices");
    tn_json_object(json);
    for (size_t i = 0; i < space->choices.count; i++) {
        value.length = 0;
        tn_axis_value(&space->choices.axis[i], tn_choices_digit(&space->choices, id, i), &value);
        if (value.status != TN_OK) json->out->status = value.status;
        tn_json_put_text(json, space->choices.axis[i].key, value.data);
    }
    tn_json_end(json);
    tn_buffer_free(&value);
}

static void put_second(const tn_recommended *found, tn_json *json) {
    tn_json_put_text(json, "goal", tn_goal_names[found->choice->goal]);
    tn_json_put_text(json, "where", found->where ? tn_condition_text(found->where) : NULL);
    tn_json_put_real(json, "accuracy_floor", found->choice->floor);
    tn_json_key(json, "second_opinion");
    if (!found->second) {
        tn_json_null(json);
        return;
    }
    tn_json_object(json);
    tn_json_put_text(json, "goal", tn_goal_names[found->second_goal]);
    tn_json_put_count(json, "design", found->second->id);
    for (size_t i = 0; i < tn_quantities_count; i++)
        tn_json_put_real(json, tn_quantities[i].name, found->second->value[i]);
    tn_json_end(json);
}

static tn_status print_json(const tn_recommended *found, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    const tn_result *result = found->result;
    const tn_explanation *why = found->why;
    const tn_grounds *grounds = found->grounds;
    const tn_result_row *row = found->row;
    double share[TN_RESOURCES];
    tn_resource tightest = shares(result, row, share);
    tn_answer_begin(&json, &out);
    tn_json_put_text(&json, "space", result->space->name);
    tn_json_put_text(&json, "complete", tn_completion_names[result->completion]);
    tn_json_put_count(&json, "evaluated", result->evaluated);
    tn_json_put_count(&json, "design", row->id);
    put_second(found, &json);
    put_choices(result->space, row->id, &json);
    for (size_t i = 0; i < tn_quantities_count; i++)
        if (tn_quantity_is_obstacle(&tn_quantities[i]))
            tn_json_put_text(&json, tn_quantities[i].name, why->rtl);
        else if (strcmp(tn_quantities[i].name, "accuracy") != 0)
            tn_json_put_real(&json, tn_quantities[i].name, row->value[i]);
    tn_accuracy_grounds_json(&grounds->accuracy, &json);
    tn_json_put_text(&json, "operator_set", why->operator_set);
    tn_json_put_text(&json, "slowest_kernel", busiest(why)->name);
    tn_json_put_real(&json, "slowest_kernel_share", busy_share(why));
    tn_json_put_text(&json, "tightest_resource", tn_resource_names[tightest]);
    tn_json_put_real(&json, "tightest_resource_share", share[tightest]);
    tn_record_keys(&tn_grounds_record, grounds, &json);
    tn_json_key(&json, "memories");
    tn_record_rows(&tn_cost_memory_record, why->memory, why->memories, &json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status print(const tn_recommended *found, bool full, bool listed, tn_error *error) {
    const tn_result *result = found->result;
    const tn_result_row *row = found->row;
    tn_print_incomplete(result, false);
    TN_TRY(tn_recommend_page(found, error));
    if (!full) return listed ? print_lists(found->grounds, error) : TN_OK;
    tn_say("\n");
    tn_accuracy_grounds_first(result, &found->grounds->accuracy);
    TN_TRY(print_choices(result->space, row->id, error));
    print_cost(row, found->why, &found->grounds->accuracy);
    print_limits(result, row, found->why);
    tn_say("\nthe knee, design %" PRIu64, result->recommended[0].id);
    TN_TRY(grounds_print(result, found->grounds, error));
    tn_outside_print(&found->grounds->outside);
    print_places(result);
    return TN_OK;
}

typedef struct {
    tn_common common;
    const char *key, *goal, *where;
    double epsilon;
    bool full;
} request;

/* The knee where another goal is asked for, the fastest beside the knee. */
static tn_status find_second(tn_recommended *found, tn_arena *arena, tn_error *error) {
    tn_goal_choice second;
    found->second_goal = found->choice->goal == TN_GOAL_KNEE ? TN_GOAL_FASTEST : TN_GOAL_KNEE;
    TN_TRY(tn_goal_choose(found->result, found->second_goal, found->where, arena, &second, error));
    if (second.index != found->choice->index && second.index < found->result->front_count)
        found->second = &found->result->front[second.index];
    return TN_OK;
}

static tn_status choose(const request *asked, const tn_result *result, tn_arena *arena,
                        tn_goal_choice *choice, const tn_condition **where, tn_error *error) {
    tn_goal goal;
    *where = NULL;
    TN_TRY(tn_goal_find(asked->goal, &goal, error));
    if (asked->where)
        TN_TRY(tn_condition_parse(asked->where, (tn_position){"--where", 1, 1}, result->space, arena, where,
                                  error));
    return tn_goal_choose(result, goal, *where, arena, choice, error);
}

static tn_status say_none(const request *asked, const tn_result *result, int *answer, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    char count[32];
    *answer = 1;
    if (!asked->common.json) {
        tn_say("none of the %s designs of the front fulfils: %s\n", tn_count_text(result->front_count, count),
               asked->where);
        return TN_OK;
    }
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "space", result->space->name);
    tn_json_put_text(&json, "where", asked->where);
    tn_json_key(&json, "design");
    tn_json_null(&json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status recommend(const request *asked, tn_arena *arena, int *answer, tn_error *error) {
    tn_result result;
    tn_explanation why;
    tn_grounds grounds;
    tn_goal_choice choice;
    tn_evaluator *evaluator;
    bool listed = asked->key || asked->epsilon >= 0;
    tn_recommended found = {.result = &result, .choice = &choice, .why = &why, .grounds = &grounds};
    TN_TRY(tn_result_load(asked->common.argument[0], arena, &result, error));
    if (result.recommended_count == 0) {
        size_t axis;
        if (asked->key) TN_TRY(tn_axis_find(result.space, asked->key, &axis, error));
        *answer = 1;
        return tn_recommend_misses(&result, asked->common.json, arena, error);
    }
    TN_TRY(choose(asked, &result, arena, &choice, &found.where, error));
    if (choice.index == result.front_count) return say_none(asked, &result, answer, error);
    found.row = &result.front[choice.index];
    TN_TRY(find_second(&found, arena, error));
    bool firm = asked->common.json || asked->full || choice.goal == TN_GOAL_KNEE;
    TN_TRY(grounds_find(&result, asked->key, asked->epsilon, &choice, firm, arena, &grounds, error));
    TN_TRY(tn_evaluator_new(result.space, &evaluator, error));
    tn_status status = tn_evaluate_explain(evaluator, found.row->id, arena, &why, error);
    if (status == TN_OK)
        status = asked->common.json ? print_json(&found, error) : print(&found, asked->full, listed, error);
    tn_evaluator_free(evaluator);
    return status;
}

tn_status tn_recommend_default(const tn_result *result, tn_arena *arena, uint64_t *id, tn_buffer *words,
                               tn_error *error) {
    tn_explanation why;
    tn_grounds grounds;
    tn_goal_choice choice;
    tn_evaluator *evaluator;
    tn_recommended found = {.result = result, .choice = &choice, .why = &why, .grounds = &grounds};
    TN_TRY(tn_goal_choose(result, TN_GOAL_FASTEST, NULL, arena, &choice, error));
    found.row = &result->front[choice.index];
    *id = found.row->id;
    TN_TRY(find_second(&found, arena, error));
    TN_TRY(grounds_find(result, NULL, NAN, &choice, false, arena, &grounds, error));
    TN_TRY(tn_evaluator_new(result->space, &evaluator, error));
    tn_status status = tn_evaluate_explain(evaluator, *id, arena, &why, error);
    if (status == TN_OK) status = tn_recommend_words(&found, words, error);
    tn_evaluator_free(evaluator);
    return status;
}

static tn_status check(const request *asked, tn_error *error) {
    if (isnan(asked->epsilon) || (asked->epsilon >= 0 && asked->epsilon <= 1000)) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "--thin %g; it is the share that a design may be worse, 0 to 1000: 0.02 is 2 %%",
                   asked->epsilon);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    TN_TRY(check(asked, error));
    return recommend(asked, &asked->common.arena, answer, error);
}

static const request defaults = {.epsilon = NAN};
static const tn_option options[] = {
    {"--goal", TN_INTO(request, goal), "GOAL",
     "what is wanted: fastest, smallest, least-energy (each of the designs that learn as well as the best), "
     "most-accurate or "
     "knee; default fastest"},
    {"--where", TN_INTO(request, where), "EXPR",
     "of the designs that fulfil this condition, as of tenfold query"},
    {"--full", TN_INTO(request, full), NULL,
     "say everything below the first page: choices, costs, why, how firmly, the best at each value"},
    {"--by", TN_INTO(request, key), "KEY",
     "list the best design of the front at each value of this choice; default: the first that sets ranks"},
    {"--thin", TN_INTO(request, epsilon), "EPS",
     "list the front thinned: each design has a listed one at most this share worse in anything"},
};

/* Every quantity of the design has a key of its name beside them. */
static const tn_column answer_keys[] = {
    TN_ANSWER_KEY("space", "string"),
    TN_ANSWER_KEY("complete", "string"),
    TN_ANSWER_KEY("evaluated", "integer"),
    TN_ANSWER_KEY("design", "integer"),
    TN_ANSWER_KEY("choices", "object"),
    TN_ANSWER_KEY("accuracy", "object null"),
    TN_ANSWER_KEY("unlearned", "string null"),
    TN_ANSWER_KEY("probability", "number null"),
    TN_ANSWER_KEY("settled", "object null"),
    TN_ANSWER_KEY("operator_set", "string"),
    TN_ANSWER_KEY("slowest_kernel", "string"),
    TN_ANSWER_KEY("slowest_kernel_share", "number null"),
    TN_ANSWER_KEY("tightest_resource", "string"),
    TN_ANSWER_KEY("tightest_resource_share", "number null"),
    TN_ANSWER_INLINE(tn_grounds_record),
    TN_ANSWER_ROWS("memories", tn_cost_memory_record),
};
static const tn_record answer_record = {.column = answer_keys,
                                        .columns = sizeof answer_keys / sizeof *answer_keys};

const tn_command tn_command_recommend = {
    .name = "recommend",
    .summary = "say in plain words which design of a sweep to build, and why",
    .usage = "DIR [--goal GOAL] [--where EXPR] [--full] [--by KEY] [--thin EPS]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record, &tn_recommend_misses_record),
    .answer = answer,
};
