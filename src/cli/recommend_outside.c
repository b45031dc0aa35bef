/* Of `tenfold recommend`: what the space left out. */
#include "cli/cmd_recommend.h"

#include "base/buffer.h"
#include "cli/output.h"

#include <math.h>
#include <string.h>

static const tn_column change_columns[] = {
    TN_COLUMN(tn_outside_change, change, NULL),
    TN_COLUMN(tn_outside_change, was, NULL),
    TN_COLUMN_AS("changes", tn_outside_change, changes, NULL),
    TN_COLUMN(tn_outside_change, dominates, NULL),
    TN_COLUMN_AS("seconds_per_step", tn_outside_change, value[0], NULL),
    TN_COLUMN_AS("on_chip_bytes", tn_outside_change, value[1], NULL),
    TN_COLUMN_AS("dsp", tn_outside_change, value[2], NULL),
    TN_COLUMN_AS("joules_per_step", tn_outside_change, value[3], NULL),
    TN_COLUMN_AS("lut", tn_outside_change, value[4], NULL),
};
static const tn_record change_record = TN_RECORD(tn_outside_change, change_columns);

static const tn_column outside_columns[] = {
    TN_COLUMN(tn_outside, tried, NULL),
    TN_ROWS("changes", tn_outside, change, count, change_record, NULL),
};
const tn_record tn_outside_record = TN_RECORD(tn_outside, outside_columns);

/* "latency -1.4 %, memory -12 %, nothing else changes"; the last where nothing gets worse. Of what none is taken now no share can be
 * told. */
static void put_effects(const double *before, const double *after, tn_buffer *out) {
    static const double SHOWN = 0.0005; /* less is 0.0 % */
    bool some = false, others = false, worse = false;
    for (int i = 0; i < TN_OUTSIDE_VALUES; i++) {
        const double change = before[i] > 0 ? after[i] / before[i] - 1 : after[i] > 0;
        if (fabs(change) < SHOWN) {
            others = true;
            continue;
        }
        worse |= change > 0;
        if (before[i] == 0)
            tn_buffer_format(out, "%s%s that takes none now", some ? ", " : "", tn_outside_titles[i]);
        else
            tn_buffer_format(out, "%s%s %+.*f %%", some ? ", " : "", tn_outside_titles[i],
                             fabs(change) < 0.0995 ? 1 : 0, 100 * change);
        some = true;
    }
    if (others && !worse) tn_buffer_format(out, "%snothing else changes", some ? ", " : "");
}

static const char *computed(const tn_outside_change *change) {
    static const char *const computes[TN_EFFECTS] = {", the same values", ", rounded otherwise",
                                                     ", other values: accuracy not measured"};
    for (int effect = 0; effect < TN_EFFECTS; effect++)
        if (change->changes == tn_effect_names[effect]) return computes[effect];
    return "";
}

/* Where the setting that begins here ends: at the space before the next one, not at one within a mapping. */
static const char *end_of_setting(const char *setting) {
    int depth = 0;
    for (; *setting && (*setting != ' ' || depth > 0); setting++)
        depth += (*setting == '{') - (*setting == '}');
    return setting;
}

/* As a shell takes it on the command line. */
static void put_change(const tn_outside_change *change, tn_buffer *out) {
    for (const char *c = change->change; *c;) {
        const char *end = end_of_setting(c);
        const char *quote = memchr(c, '{', (size_t)(end - c)) ? "'" : "";
        tn_buffer_format(out, "--set %s%.*s%s ", quote, (int)(end - c), c, quote);
        c = *end ? end + 1 : end;
    }
    tn_buffer_format(out, "(is %s): ", change->was);
}

void tn_outside_words(const tn_outside *outside, tn_buffer *words) {
    if (outside->count == 0) {
        tn_buffer_format(words,
                         "left out\tnothing: of %zu settings beside the space none is noticeably better\n",
                         outside->tried);
        return;
    }
    const tn_outside_change *first = &outside->change[0];
    tn_buffer_text(words, "left out\t");
    put_change(first, words);
    put_effects(outside->given, first->value, words);
    tn_buffer_format(words, "%s\n", computed(first));
}

static void say_group(const tn_outside *outside, bool dominates, const char *title) {
    enum { SHOWN = 6 };
    size_t said = 0, all = 0;
    for (size_t i = 0; i < outside->count; i++) {
        const tn_outside_change *change = &outside->change[i];
        if (change->dominates != dominates || all++ >= SHOWN) continue;
        if (said++ == 0) tn_say("%s\n", title);
        tn_buffer effects = {0};
        put_change(change, &effects);
        put_effects(outside->given, change->value, &effects);
        tn_say("  %s%s\n", effects.data ? effects.data : change->change, computed(change));
        tn_buffer_free(&effects);
    }
    if (all > SHOWN) tn_say("  and %zu more (--json lists them)\n", all - SHOWN);
}

void tn_outside_print(const tn_outside *outside) {
    if (outside->count == 0) {
        tn_say("\nnot in this space: none of %zu other settings makes this design noticeably better\n",
               outside->tried);
        return;
    }
    tn_say("\nnot in this space: of %zu other settings of this design\n", outside->tried);
    say_group(outside, true, "better in some objective, worse in none:");
    say_group(outside, false, "better in some objective, worse in others or in what it learns:");
}
