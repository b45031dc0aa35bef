/* Of `tenfold recommend`: what the space left out. */
#include "cli/cmd_recommend.h"

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

/* "latency -1.4 %, memory -12 %, nothing else changes"; the last where nothing gets worse */
static void say_effects(const double *before, const double *after) {
    static const double SHOWN = 0.0005; /* less is 0.0 % */
    bool some = false, others = false, worse = false;
    for (int i = 0; i < TN_OUTSIDE_VALUES; i++) {
        const double change = before[i] > 0 ? after[i] / before[i] - 1 : 0;
        if (fabs(change) < SHOWN) {
            others = true;
            continue;
        }
        worse |= change > 0;
        tn_say("%s%s %+.*f %%", some ? ", " : "", tn_outside_titles[i], fabs(change) < 0.0995 ? 1 : 0,
               100 * change);
        some = true;
    }
    if (others && !worse) tn_say("%snothing else changes", some ? ", " : "");
}

static void say_group(const tn_outside *outside, bool dominates, const char *title) {
    enum { SHOWN = 6 };
    static const char *const computes[] = {", the same values", ", rounded otherwise",
                                           ", other values: accuracy not measured"};
    size_t said = 0, all = 0;
    for (size_t i = 0; i < outside->count; i++) {
        const tn_outside_change *change = &outside->change[i];
        if (change->dominates != dominates || all++ >= SHOWN) continue;
        if (said++ == 0) tn_say("%s\n", title);
        tn_say("  %s (is %s): ", change->change, change->was);
        say_effects(outside->given, change->value);
        for (int effect = 0; effect < TN_EFFECTS; effect++)
            if (change->changes == tn_effect_names[effect]) tn_say("%s\n", computes[effect]);
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
