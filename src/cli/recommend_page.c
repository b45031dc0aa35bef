/* The first page of `tenfold recommend`, and what stands on top of the report: what to build, five numbers, what limits it, how sure that is, what the space leaves
 * out, and the next command. */
#include "cli/cmd_recommend.h"

#include "base/c_locale.h"
#include "cli/cost.h"
#include "cli/output.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { INDENT = 12 };

/* A line "label<tab>text". */
TN_PRINTF(3, 4) static void say(tn_buffer *words, const char *label, const char *format, ...) {
    va_list arguments;
    tn_buffer_format(words, "%s\t", label);
    va_start(arguments, format);
    tn_buffer_format_list(words, format, arguments);
    va_end(arguments);
    tn_buffer_text(words, "\n");
}

static void say_reason(const tn_result *result, const tn_goal_choice *choice, bool conditioned,
                       tn_buffer *words) {
    static const char *const most[TN_GOALS] = {"the fastest", "the one of least on-chip memory",
                                               "the one of least energy", "the most accurate", "the knee"};
    char some[32], all[32], best[48];
    const char *of = conditioned ? " that fulfil the condition" : " of the front";
    if (choice->goal == TN_GOAL_KNEE) {
        say(words, "because", "it is the knee of %s designs%s: nearest to the best of all objectives at once",
            tn_count_text(choice->asked, all), of);
        return;
    }
    if (isnan(choice->floor) && tn_goal_unlearned(result))
        say(words, "because", "it is %s of %s designs that learn what the knee of the front does",
            most[choice->goal], tn_count_text(choice->accurate, some));
    else if (isnan(choice->floor))
        say(words, "because", "it is %s of the %s designs%s", most[choice->goal],
            tn_count_text(choice->asked, all), of);
    else
        say(words, "because", "it is %s of %s designs, of %s%s, within %.1f points of the best accuracy, %s",
            most[choice->goal], tn_count_text(choice->accurate, some), tn_count_text(choice->asked, all), of,
            100 * (choice->best - choice->floor), tn_quantity_text(choice->best, "%", best));
}

static tn_status say_choices(const tn_space *space, uint64_t id, tn_buffer *words, tn_error *error) {
    enum { LONGEST = 100 }; /* two or three lines */
    tn_buffer text = {0}, value = {0};
    size_t more = 0;
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *axis = &space->choices.axis[i];
        if (axis->count < 2) continue;
        if (text.length > LONGEST) {
            more++;
            continue;
        }
        value.length = 0;
        tn_axis_value(axis, tn_choices_digit(&space->choices, id, i), &value);
        if (text.length) tn_buffer_text(&text, ", ");
        tn_word_put_title(axis->key, &text);
        char number[48];
        const uint64_t *whole = axis->number ? &axis->number[tn_choices_digit(&space->choices, id, i)] : NULL;
        tn_buffer_format(&text, " %s",
                         whole && *whole > 9999 ? tn_plain_text((double)*whole, number)
                         : value.data           ? value.data
                                                : "");
    }
    if (more) tn_buffer_format(&text, ", and %zu more choices (--full)", more);
    tn_status status = value.status != TN_OK ? value.status : text.status;
    if (status == TN_OK) say(words, "with", "%s", text.data ? text.data : "what the model's file says");
    tn_buffer_free(&text);
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory to print a design");
}

static void say_numbers(const tn_result *result, const tn_result_row *row,
                        const tn_accuracy_grounds *accuracy, const tn_explanation *why, tn_buffer *words) {
    char a[48], b[48], c[48], d[48];
    const tn_resources has = tn_device_resources(tn_space_of(result->space, row->id)->device);
    double least = 0, most = 0;
    for (int i = 0; i < TN_ENERGY_PARTS; i++) {
        least += why->least_joules[i];
        most += why->most_joules[i];
    }
    say(words, "latency", "%s a step, %s an epoch",
        tn_quantity_text(tn_result_value(row, "seconds_per_step"), "s", a),
        tn_quantity_text(tn_result_value(row, "seconds_per_epoch"), "s", b));
    say(words, "energy", "%s a step at %s (unverified: %s to %s)",
        tn_quantity_text(tn_result_value(row, "joules_per_step"), "J", a),
        tn_quantity_text(tn_result_value(row, "watts"), "W", b), tn_quantity_text(least, "J", c),
        tn_quantity_text(most, "J", d));
    say(words, "memory", "%s of blocks on chip, %s off chip",
        tn_quantity_text(tn_result_value(row, "on_chip_bytes"), "B", a),
        tn_result_value(row, "off_chip_bytes") > 0
            ? tn_quantity_text(tn_result_value(row, "off_chip_bytes"), "B", b)
            : "nothing");
    say(words, "multiplies", "%s of %s DSP blocks; %s parameters",
        tn_quantity_text(tn_result_value(row, "dsp"), "", a), tn_quantity_text((double)has.dsp, "", b),
        tn_quantity_text(tn_result_value(row, "parameters"), "", c));
    if (accuracy->known)
        say(words, "accuracy", "%.1f %% +- %.1f (a run: %.1f to %.1f), %s", 100 * accuracy->told.mean,
            196 * accuracy->told.deviation, 100 * accuracy->told.low, 100 * accuracy->told.high,
            accuracy->seeds ? "trained" : "by a model of trained runs");
    else if (!isnan(tn_result_value(row, "accuracy")))
        say(words, "accuracy", "%s", tn_quantity_text(tn_result_value(row, "accuracy"), "%", a));
    else
        say(words, "learns", "unknown: %s degrees of freedom in the varied weights",
            tn_quantity_text(tn_result_value(row, "degrees_of_freedom"), "", a));
}

static void say_limits(const tn_result *result, const tn_result_row *row, const tn_explanation *why,
                       tn_buffer *words) {
    const tn_resources has = tn_device_resources(tn_space_of(result->space, row->id)->device);
    tn_resource tightest = TN_LUT;
    double most = -1;
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t available = tn_resource_amount(&has, (tn_resource)i);
        double share = available ? tn_result_value(row, tn_resource_names[i]) / (double)available : 0;
        if (share > most) {
            most = share;
            tightest = (tn_resource)i;
        }
    }
    const tn_word *word = tn_word_find(tn_resource_names[tightest]);
    /* the sentence up to its first comma */
    int bound = why->bound ? (int)strcspn(why->bound, ",;") : 0;
    say(words, "limited by", "%s, %.0f %% taken; time: %.*s", word ? word->title : "", 100 * most, bound,
        why->bound ? why->bound : "");
}

static void say_sure(const tn_result *result, const tn_goal_choice *choice, const tn_grounds *grounds,
                     const tn_explanation *why, tn_buffer *words) {
    const tn_settled *settled = &grounds->accuracy.settled;
    char a[48];
    if (choice->goal == TN_GOAL_KNEE && grounds->robustness.changes)
        say(words, "how sure", "%zu of %zu small changes keep it; rests on %" PRIu32 " unverified figures",
            grounds->robustness.kept, grounds->robustness.changes, why->unverified_count);
    else if (choice->next < result->front_count && choice->goal == TN_GOAL_FASTEST)
        say(words, "how sure",
            "next is design %" PRIu64 " with %s a step; both rest on %" PRIu32
            " unverified figures of the device file",
            result->front[choice->next].id,
            tn_quantity_text(tn_result_value(&result->front[choice->next], "seconds_per_step"), "s", a),
            why->unverified_count);
    else
        say(words, "how sure", "rests on %" PRIu32 " figures of the device file that nobody verified",
            why->unverified_count);
    if (settled->asked)
        say(words, "", "by accuracy: chosen again in %" PRIu64 " of %" PRIu64 " draws of it", settled->kept,
            settled->draws);
    const char *unlearned = tn_goal_unlearned(result);
    if (!unlearned) return;
    tn_buffer title = {0};
    tn_word_put_title(unlearned, &title);
    say(words, "", "accuracy unknown: %s changes what is learned", title.data ? title.data : "a choice");
    tn_buffer_free(&title);
}

static void say_second(const tn_result *result, const tn_result_row *second, tn_goal goal, tn_buffer *words) {
    char a[48], b[48], c[48];
    if (!second) return;
    say(words, "or", "the %s, design %" PRIu64 ": %s a step, %s on chip, %s DSP blocks", tn_goal_names[goal],
        second->id, tn_quantity_text(tn_result_value(second, "seconds_per_step"), "s", a),
        tn_quantity_text(tn_result_value(second, "on_chip_bytes"), "B", b),
        tn_quantity_text(tn_result_value(second, "dsp"), "", c));
    (void)result;
}

tn_status tn_recommend_words(const tn_recommended *found, tn_buffer *words, tn_error *error) {
    const tn_result *result = found->result;
    const tn_result_row *row = found->row;
    const tn_space *own = tn_space_of(result->space, row->id);
    char hardware[TN_HARDWARE_TEXT];
    say(words, "build", "design %" PRIu64 " of %s: %s on %s", row->id, result->space->name,
        tn_model_name(own->model), tn_device_name(own->device));
    say_reason(result, found->choice, found->where != NULL, words);
    TN_TRY(say_choices(result->space, row->id, words, error));
    say(words, "hardware", "%s", tn_hardware_text(found->why, hardware));
    say_numbers(result, row, &found->grounds->accuracy, found->why, words);
    say_limits(result, row, found->why, words);
    say_sure(result, found->choice, found->grounds, found->why, words);
    tn_outside_words(&found->grounds->outside, words);
    say_second(result, found->second, found->second_goal, words);
    say(words, "next", "tenfold cost %s --point %" PRIu64 " (all that is known: --full)", result->folder,
        row->id);
    return words->status == TN_OK ? TN_OK : tn_fail(error, words->status, "no memory for the page");
}

tn_status tn_recommend_page(const tn_recommended *found, tn_error *error) {
    tn_buffer words = {0};
    tn_status status = tn_recommend_words(found, &words, error);
    for (char *line = status == TN_OK ? words.data : NULL; line && *line;) {
        char *end = line + strcspn(line, "\n"), *text = strchr(line, '\t');
        *end = *text = '\0';
        tn_say_folded(line, INDENT, "%s", text + 1);
        line = end + 1;
    }
    tn_buffer_free(&words);
    return status;
}
