#include "cli/output.h"

#include "base/c_locale.h"
#include "base/clock.h"
#include "results/possible.h"
#include "results/shortage.h"
#include "text/number.h"
#include "text/record.h"
#include "text/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_COLUMNS = 24 };
static const double bar_interval_seconds = 0.1, line_interval_seconds = 5.0;

static _Thread_local tn_buffer *captured; /* NULL: standard output */
static _Thread_local const tn_listener *listening;
static _Thread_local const char *answering = "";

void tn_capture_begin(tn_buffer *answer, const tn_listener *listener) {
    captured = answer;
    listening = listener;
}

void tn_capture_end(void) {
    captured = NULL;
    listening = NULL;
}

static void show(void *user, uint64_t done, uint64_t total) {
    tn_watch *watch = user;
    if (watch->listener) {
        watch->listener->progress(watch->listener->user, watch->what, done, total);
        return;
    }
    double now = tn_clock_seconds(), spent = now - watch->started_seconds;
    if (now - watch->shown_seconds < (watch->terminal ? bar_interval_seconds : line_interval_seconds)) return;
    watch->shown_seconds = now;
    watch->shown = true;
    double share = total ? (double)done / (double)total : 0, rate = spent > 0 ? (double)done / spent : 0;
    double left = rate > 0 ? (double)(total - done) / rate : 0;
    const char *detail = watch->detail;
    char done_text[32], total_text[32], rate_text[32];
    tn_count_text(done, done_text);
    tn_count_text(total, total_text);
    tn_si_text(fmax(rate, 1), "", rate_text); /* "2.5 M" designs, never "94 m" of them */
    if (rate < 1) snprintf(rate_text, sizeof rate_text, "%.2g", rate);
    if (watch->terminal) {
        char bar[BAR_COLUMNS + 1];
        for (int i = 0; i < BAR_COLUMNS; i++) bar[i] = i < (int)(share * BAR_COLUMNS) ? '#' : '.';
        bar[BAR_COLUMNS] = '\0';
        fprintf(stderr, "\r[%s] %3.0f %%  %s %s/s%s%s  %.0f s left \033[K", bar, 100 * share, rate_text,
                watch->what, detail ? "  " : "", detail ? detail : "", left);
    } else {
        fprintf(stderr, "tenfold: %s of %s %s (%.0f %%), %s/s%s%s, %.0f s left\n", done_text, total_text,
                watch->what, 100 * share, rate_text, detail ? ", " : "", detail ? detail : "", left);
    }
    fflush(stderr);
}

/* What comes has a rate of its own. */
static void begin_step(void *user, const char *what) {
    tn_watch *watch = user;
    watch->what = what;
    watch->started_seconds = tn_clock_seconds();
}

void tn_watch_begin(tn_watch *watch, const char *what, bool quiet) {
    double now = tn_clock_seconds();
    bool terminal = !captured && isatty(STDERR_FILENO) == 1;
    *watch = (tn_watch){.what = what, .terminal = terminal, .started_seconds = now, .shown_seconds = now};
    if (captured && listening && listening->progress) watch->listener = listening;
    if (watch->listener || (!captured && !quiet))
        watch->progress = (tn_progress){.report = show, .user = watch, .begin = begin_step};
}

void tn_watch_end(tn_watch *watch) {
    if (watch->terminal && watch->shown) fputs("\r\033[K", stderr);
}

static int first_failure; /* errno of the first write that failed */

static void write_out(const char *data, size_t length) {
    if (captured) {
        tn_buffer_bytes(captured, data, length);
        return;
    }
    if (first_failure || length == 0) return;
    errno = 0;
    if (fwrite(data, 1, length, stdout) != length) first_failure = errno ? errno : EIO;
}

static bool is_terminal(void) {
    return !captured && isatty(STDOUT_FILENO) == 1;
}

/* As it is into files and pipes; fit for a terminal on one. */
tn_status tn_output(tn_buffer *text, tn_error *error) {
    tn_status status = text->status;
    if (status == TN_OK && is_terminal()) {
        tn_buffer shown = {0};
        tn_utf8_printable(text->data ? text->data : "", text->length, true, &shown);
        status = shown.status;
        if (status == TN_OK) write_out(shown.data, shown.length);
        tn_buffer_free(&shown);
    } else if (status == TN_OK) {
        write_out(text->data, text->length);
    }
    tn_buffer_free(text);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the answer");
}

tn_status tn_output_made(tn_status status, tn_buffer *out, tn_error *error) {
    if (status == TN_OK) return tn_output(out, error);
    tn_buffer_free(out);
    return status;
}

void tn_answer_named(const char *command) {
    answering = command;
}

void tn_answer_begin(tn_json *json, tn_buffer *out) {
    char schema[64];
    snprintf(schema, sizeof schema, "tenfold.%s/1", answering);
    for (char *blank; (blank = strchr(schema, ' '));) *blank = '.';
    tn_json_begin(json, out);
    tn_json_object(json);
    tn_json_put_text(json, "schema", schema);
}

tn_status tn_output_json(const tn_record *record, const void *row, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_record_keys(record, row, &json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static bool has_colour(void) {
    return is_terminal() && !getenv("NO_COLOR");
}

size_t tn_output_width(void) {
    struct winsize window;
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= 40)
        return window.ws_col;
    return 80;
}

/* What was made fit for a terminal already, and may hold colours of our own. */
static tn_status write_shown(tn_buffer *out, tn_error *error) {
    tn_status status = out->status;
    if (status == TN_OK) write_out(out->data, out->length);
    tn_buffer_free(out);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for a table");
}

tn_status tn_output_rows(const tn_record *record, const void *rows, size_t count, tn_error *error) {
    tn_table table;
    tn_record_fill(record, rows, count, &table);
    return tn_table_end(&table, error);
}

tn_status tn_output_lines(const tn_record *record, const void *row, tn_error *error) {
    tn_buffer out = {0};
    tn_record_lines(record, row, has_colour(), &out);
    return write_shown(&out, error);
}

tn_status tn_output_names(const char *key, const char *const *name, size_t count, bool as_json,
                          tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    if (!as_json) {
        for (size_t i = 0; i < count; i++) tn_buffer_format(&out, "%s\n", name[i]);
        return tn_output(&out, error);
    }
    tn_answer_begin(&json, &out);
    tn_json_key(&json, key);
    tn_json_array(&json);
    for (size_t i = 0; i < count; i++) tn_json_text(&json, name[i]);
    tn_json_end(&json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

tn_status tn_table_end(tn_table *table, tn_error *error) {
    tn_buffer out = {0};
    table->width = tn_output_width();
    tn_table_write(table, has_colour(), &out);
    tn_table_free(table);
    return write_shown(&out, error);
}

void tn_note(const char *format, ...) {
    tn_buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    if (text.status == TN_OK && !captured)
        fprintf(stderr, "%s\n", text.data);
    else if (text.status == TN_OK && listening && listening->note)
        listening->note(listening->user, text.data);
    tn_buffer_free(&text);
}

void tn_say(const char *format, ...) {
    tn_buffer text = {0}, shown = {0};
    va_list arguments;
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    if (text.data) tn_utf8_printable(text.data, text.length, true, &shown);
    if (text.status != TN_OK || shown.status != TN_OK) {
        if (captured)
            captured->status = TN_MEMORY;
        else
            first_failure = ENOMEM;
    }
    write_out(shown.data, shown.length);
    tn_buffer_free(&text);
    tn_buffer_free(&shown);
}

/* Columns of `length` bytes. */
static size_t columns_of(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

void tn_say_folded(const char *label, size_t indent, const char *format, ...) {
    tn_buffer text = {0};
    va_list arguments;
    size_t width = tn_output_width(), used = columns_of(label, strlen(label));
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    tn_say("%s%*s", label, used < indent ? (int)(indent - used) : 0, "");
    if (used < indent) used = indent;
    bool first = true;
    for (const char *word = text.data ? text.data : ""; *word;) {
        size_t length = strcspn(word, " "), columns = columns_of(word, length);
        if (!first && used + 1 + columns > width) {
            tn_say("\n%*s", (int)indent, "");
            used = indent;
            first = true;
        }
        tn_say("%s%.*s", first ? "" : " ", (int)length, word);
        used += columns + !first;
        first = false;
        word += length + (word[length] == ' ');
    }
    tn_say("\n");
    if (text.status != TN_OK) first_failure = ENOMEM;
    tn_buffer_free(&text);
}

void tn_say_heading(const char *text) {
    static const char begin[] = "\033[1;4m", end[] = "\033[0m";
    bool colour = has_colour();
    write_out("\n", 1);
    if (colour) write_out(begin, sizeof begin - 1);
    tn_say("%s", text);
    if (colour) write_out(end, sizeof end - 1);
    write_out("\n", 1);
}

tn_status tn_output_finish(bool *closed, tn_error *error) {
    errno = 0;
    if (fflush(stdout) != 0 && !first_failure) first_failure = errno ? errno : EIO;
    *closed = first_failure == EPIPE;
    if (first_failure == 0 && !ferror(stdout)) return TN_OK;
    return tn_fail_system(error, "", first_failure ? first_failure : EIO, "standard output can't be written");
}

static void print_causes(const tn_summary *summary) {
    char text[32];
    if (summary->causes == 0) return;
    tn_say("rejected, by what each design lacks most:\n");
    for (size_t i = 0; i < summary->causes; i++)
        tn_say("  %-32s %15s\n", summary->cause[i], tn_count_text(summary->cause_count[i], text));
    for (size_t i = 0; i < summary->undefined_count; i++) {
        const tn_undefined_line *line = &summary->undefined[i];
        if (!line->weight) {
            tn_say("undefined: keys that can't be combined (%s designs), as in design %" PRIu64 ": %s\n",
                   tn_count_text(line->designs, text), line->first, line->why);
            continue;
        }
        tn_say("undefined: weight %s in format %s with %u factors a side has no flow %s (%s designs)\n",
               line->weight, line->format, line->factors, line->flow, tn_count_text(line->designs, text));
    }
}

/* An objective some of whose bounds are nothing has no factor. */
static void print_factors(const tn_summary *summary) {
    const char *before = " whatever the design, one of the front has";
    bool any = false;
    tn_say("certificate:");
    for (size_t i = 0; i < summary->objectives; i++) {
        const bool more = summary->objective[i]->maximise;
        if (!isfinite(summary->factor[i])) continue;
        tn_say("%s %s its %s times %.5g", before, more ? "at least" : "at most", summary->objective[i]->name,
               more ? 1 / summary->factor[i] : summary->factor[i]);
        before = ",";
        any = true;
    }
    before = any ? "; nothing is known of its " : " nothing is known of ";
    for (size_t i = 0; i < summary->objectives; i++) {
        if (isfinite(summary->factor[i])) continue;
        tn_say("%s%s", before, summary->objective[i]->name);
        before = ", ";
    }
    tn_say("\n");
}

/* How far the front can be from that of the whole space. */
static void print_certificate(const tn_summary *summary) {
    if (summary->refused) tn_say("not by decomposition: %s\n", summary->refused);
    if (strcmp(summary->method, tn_method_names[TN_EVOLVE]) == 0)
        tn_say("sampled by NSGA-II: the front of the designs that were evaluated; nothing is known of the "
               "others\n");
    if (summary->exact) {
        if (summary->front > 0) /* else that none fits is said below */
            tn_say("exact: no design of the space is better than all of the front\n");
        return;
    }
    if (!summary->certified) {
        if (strcmp(summary->method, tn_method_names[TN_DECOMPOSE]) == 0 && summary->front > 0)
            tn_say("no certificate: it ended before there was one; nothing is known of the "
                   "others\n");
        if (summary->goes_on)
            tn_say("nothing is known of the designs that were not seen yet; --resume goes on with them\n");
        return;
    }
    print_factors(summary);
}

/* Why nothing fits, behind the words that it does not. */
static void print_shortage(const tn_shortage *s) {
    char need[32], have[32], looked[32];
    tn_say("; the nearest of %s that were looked at, design %" PRIu64 ", ",
           tn_count_text(s->looked_at, looked), s->design);
    if (s->allowed || s->needed)
        tn_say("needs %s %s where %s leaves %s\n", tn_count_text(s->needed, need), s->cause, s->key,
               tn_count_text(s->allowed, have));
    else if (isfinite(s->factor))
        tn_say("is %.3g times what %s allows (%s)\n", s->factor, s->cause, s->key);
    else
        tn_say("breaks %s (%s)\n", s->cause, s->key);
    if (s->change && s->changed_factor <= 1)
        tn_say("it fits with --set %s (%s)\n", s->change, s->was);
    else if (s->change)
        tn_say("--set %s (%s) comes nearest, to %.3g times what is allowed: take a larger device\n",
               s->change, s->was, s->changed_factor);
}

/* Of which designs it is known that none fits, and why. */
static void print_none(const tn_summary *summary) {
    char evaluated[32];
    if (summary->completion == TN_EXHAUSTED && summary->shards <= 1)
        tn_say("no design fits");
    else
        tn_say("none of the %s evaluated designs fits, and nothing is known of the others",
               tn_count_text(summary->evaluated, evaluated));
    if (summary->shortage && summary->shortage->cause)
        print_shortage(summary->shortage);
    else
        tn_say("%s: widen the choices, or take a larger device\n",
               summary->causes ? "; the causes above say what is short" : "");
}

void tn_print_incomplete(const tn_result *result, bool aside) {
    char evaluated[32], designs[TN_BIG_TEXT];
    if (result->shards > 1) {
        static const char part[] = "part %" PRIu64 " of %" PRIu64 " of a sweep; tenfold merge joins them";
        if (aside)
            tn_note(part, result->shard, result->shards);
        else
            tn_say_folded("", 0, part, result->shard, result->shards);
        if (aside) tn_note("\n\n");
        return;
    }
    if (result->completion == TN_EXHAUSTED) return;
    const char *what = result->completion == TN_BUDGET ? "a sweep with a budget" : "an unfinished sweep";
    tn_count_text(result->evaluated, evaluated);
    tn_big_words(&result->space->choices.size, designs);
    static const char text[] = "%s: %s of %s designs seen, the others unknown";
    if (aside) {
        tn_note(text, what, evaluated, designs);
        tn_note("\n\n");
    } else {
        tn_say_folded("", 0, text, what, evaluated, designs);
    }
}

tn_status tn_print_summary(const tn_summary *summary, const char *folder, bool json, tn_error *error) {
    if (json) {
        tn_buffer out = {0};
        tn_json answer;
        tn_answer_begin(&answer, &out);
        tn_summary_keys(summary, &answer);
        tn_json_end(&answer);
        return tn_output(&out, error);
    }
    char designs[TN_BIG_TEXT], evaluated[32], feasible[32], front[32], rate[32], part[64] = "";
    if (summary->shards > 1)
        tn_snprintf(part, sizeof part, "part %" PRIu64 " of %" PRIu64 ", ", summary->shard, summary->shards);
    const bool bounds = strcmp(summary->method, tn_method_names[TN_DECOMPOSE]) == 0;
    const char *how = summary->completion != TN_EXHAUSTED ? tn_completion_names[summary->completion]
                      : summary->shards > 1               ? "every design of the part seen"
                      : bounds                            ? "every design bounded"
                                                          : "every design seen";
    tn_say("space %s: %s designs, %s evaluated, %s feasible, front of %s (%s%s)\n", summary->space,
           tn_big_words(summary->size, designs), tn_count_text(summary->evaluated, evaluated),
           tn_count_text(summary->feasible, feasible), tn_count_text(summary->front, front), part, how);
    if (strcmp(summary->counted_by, "bound") == 0)
        tn_say(
            "feasible and rejected are counted by what designs cost at least whatever their layouts: some of "
            "the "
            "feasible may not\nfit as laid (--keep-all lays them, and counts that); the front is of "
            "designs as laid\n");
    if (strcmp(summary->counted_by, "set") == 0)
        tn_say("feasible and rejected are counted by what sets of designs cost at least, so most of the "
               "feasible may not fit\n"
               "(--count judges each design by itself); the front is of designs as laid\n");
    if (summary->possible)
        tn_say(
            "%s designs more may be on it by what is known of accuracy: %s/possible.csv, front_probability\n",
            tn_count_text(summary->possible, front), folder);
    if (summary->possible_least_doubt > tn_possible_least)
        tn_say("only neighbours of the front are looked at that learn more than it, and less, with a "
               "probability "
               "of at least\n%.2g each (docs/space-file.md, possible.csv): all are over %llu\n",
               summary->possible_least_doubt, (unsigned long long)summary->possible_most);
    print_certificate(summary);
    print_causes(summary);
    if (summary->seconds > 0) /* a merge evaluates nothing */
        tn_say("%.2f s, %s\n", summary->seconds, tn_si_text(summary->designs_per_second, "designs/s", rate));
    if (summary->front)
        tn_say("which to build: tenfold recommend %s; the knee of the front is design %llu (recommended.csv "
               "has it, and the "
               "best at each rank)\n",
               folder, (unsigned long long)summary->knee);
    else
        print_none(summary);
    tn_say("results in %s: front.csv, recommended.csv, sweep.json, sweep.db\n", folder);
    return TN_OK;
}

static const tn_column undefined_keys[] = {
    TN_ANSWER_KEY("weight", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("format", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("factors", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("flow", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("design", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("why", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("designs", "integer"),
};
static const tn_record undefined_record = {.column = undefined_keys,
                                           .columns = sizeof undefined_keys / sizeof *undefined_keys};
static const tn_column summary_keys[] = {
    TN_ANSWER_KEY("space", "string"),
    TN_ANSWER_KEY("designs", "integer string"),
    TN_ANSWER_KEY("evaluated", "integer"),
    TN_ANSWER_KEY("feasible", "integer"),
    TN_ANSWER_KEY("counted_by", "string"),
    TN_ANSWER_KEY("rejected", "object"),
    TN_ANSWER_ROWS("undefined", undefined_record),
    TN_ANSWER_KEY("front", "integer"),
    TN_ANSWER_KEY("possible", "integer"),
    TN_ANSWER_KEY("possible_least_doubt", "number"),
    TN_ANSWER_KEY("hypervolume", "number null"),
    TN_ANSWER_KEY("hypervolume_samples", "integer"),
    TN_ANSWER_KEY("complete", "string"),
    TN_ANSWER_KEY("method", "string"),
    TN_ANSWER_KEY("certificate", "object null"),
    TN_ANSWER_KEY("exact", "boolean"),
    TN_ANSWER_KEY("knee", "integer null"),
    TN_ANSWER_KEY("seconds", "number null"),
    TN_ANSWER_KEY("designs_per_second", "number null"),
    TN_ANSWER_KEY("shortage", "object null"),
};
const tn_record tn_summary_record = {.column = summary_keys,
                                     .columns = sizeof summary_keys / sizeof *summary_keys};
