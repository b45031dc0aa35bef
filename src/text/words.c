#include "text/words.h"

#include "base/c_locale.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

const tn_word tn_words[] = {
    /* of a design: the columns of front.csv */
    {"cycles_per_step", "clock cycles of a step", "", NULL},
    {"seconds_per_step", "latency of a step", "s",
     "time of one training step: forward, both gradients and the update of one batch"},
    {"seconds_per_epoch", "latency of an epoch", "s", "time to train on every example once"},
    {"joules_per_step", "energy of a step", "J", NULL},
    {"static_joules_per_step", "static energy of a step", "J",
     "what the device draws at rest, times the latency"},
    {"dynamic_joules_per_step", "dynamic energy of a step", "J", "what switching and moving words takes"},
    {"watts", "mean power", "W", NULL},
    {"on_chip_bytes", "on-chip memory", "B",
     "capacity of the block RAM and UltraRAM that is taken, filled or not"},
    {"off_chip_bytes", "off-chip memory", "B", "bytes of the arrays that live in the board's memory"},
    {"off_chip_bytes_per_step", "off-chip traffic of a step", "B",
     "bytes moved to and from the board's memory"},
    {"lut", "look-up tables (LUT)", "", NULL},
    {"ff", "flip-flops (FF)", "", NULL},
    {"dsp", "DSP blocks", "", NULL},
    {"bram18", "18-kbit block RAMs", "", NULL},
    {"uram", "UltraRAM blocks", "", NULL},
    {"degrees_of_freedom", "degrees of freedom of the varied weights", "",
     "numbers that the weights can choose freely: their parameters, less r squared of every bond of rank r, "
     "which "
     "can be moved from one core to the next without changing the matrix"},
    {"parameters", "trained parameters", "", NULL},
    {"macs_per_step", "multiply-adds of a step", "", NULL},
    {"peak_elements", "most numbers kept at once", "",
     "elements alive at the worst moment of a step: written, and still to be read"},
    {"relative_error", "error of the weights", "%",
     "norm of what the format leaves out, of the norm of the weights, by the space's table"},
    {"accuracy", "accuracy", "%",
     "mean over seeds of what a design learns, by the model of the space's table of trained runs"},
    {"perplexity", "perplexity", "",
     "e to the mean loss of the next byte, by the model of the space's table of trained runs; less is "
     "better"},
    {"accuracy_deviation", "standard deviation of the accuracy", "%", NULL},
    {"accuracy_interpolated", "origin of the accuracy", "",
     "0: the design was trained; 1: its ranks lie between trained ones; 2: carried over from other choices"},
    {"rtl", "generated hardware", "",
     "yes where `tenfold rtl` generates the design, else the key for which it does not"},
    {"front_probability", "probability to be on the front", "%", NULL},
    {"id", "design", "", "its number in the space, as --point takes it"},
    /* what commands count besides */
    {"seconds", "time", "s", NULL},
    {"joules", "energy", "J", NULL},
    {"bytes", "size", "B", NULL},
    {"macs", "multiply-adds", "", "products of two numbers, each added to a sum (MAC)"},
    {"activations.policy", "what is kept for the backward pass", "", NULL},
    {"sequence", "tokens of a sequence", "", NULL},
    {"params", "parameters", "", NULL},
    {"cycles", "clock cycles", "", NULL},
    {"flops", "operations on numbers", "", "two of a multiply-add, one of any other (FLOP)"},
    {"saved_elements", "numbers kept for the backward pass", "", NULL},
    {"clock_MHz", "clock", "MHz", NULL},
    {"designs_per_second", "designs a second", "", NULL},
    {"parameters_bytes", "size of the parameters", "B", NULL},
    {"live_bytes", "memory at the worst moment", "B", NULL},
    {"joules_per_epoch", "energy of an epoch", "J", NULL},
    /* words of the answers */
    {"front", "front", "",
     "the designs that no other beats: whatever is better in one objective is worse in another"},
    {"knee", "knee", "",
     "the design of the front that is nearest to the best of every objective at once, each on a logarithmic "
     "scale "
     "from the front's best (0) to its worst (1)"},
    {"exhausted", "every design seen", "", "the sweep has evaluated or excluded every design of the space"},
    {"undefined", "undefined", "",
     "a design that its keys contradict, as a flow that a weight's format does not have: it is no design at "
     "all"},
    {"feasible", "feasible", "", "a design that fits the device and fulfils the space's constraints"},
    {"filled", "filled", "",
     "share of a kernel's multipliers that have an operand, of the cycles it is busy"},
    {"bond", "bond", "", "the index that two neighbouring cores of a weight share; its size is a rank"},
    {"core", "core", "", "one of the small tensors whose product is the weight matrix"},
    {"rank", "rank", "", "size of the index that two neighbouring cores of a weight share"},
    {"folding", "folding", "", "how rows and columns of a matrix are split into factors, one pair a core"},
    {"flow", "flow", "", "the order in which the tensors of a layer are multiplied"},
    {"live", "live", "", "of an array: written, and still to be read"},
    {"step", "step", "", "one batch through forward, input gradients, weight gradients and update"},
    {"epoch", "epoch", "", "every example of the training data once"},
    {"unverified", "unverified", "",
     "a figure of the device file that nobody measured or checked by synthesis"},
    {"certificate", "certificate", "",
     "a proven bound of how far the front can be from that of the whole space"},
    {"hypervolume", "hypervolume", "", "share of the box from worst to best that the front dominates"},
    {"place", "place", "", "0 the best of the front, 1 its worst, on a logarithmic scale"},
    {"unmeasured", "unmeasured", "", "nobody trained it; the accuracy is a model's"},
    {"settled", "settled", "", "a choice that changes no value of the model, searched by itself"},
};
const size_t tn_words_count = sizeof tn_words / sizeof *tn_words;

const tn_word *tn_word_find(const char *key) {
    for (size_t i = 0; i < tn_words_count; i++)
        if (strcmp(tn_words[i].key, key) == 0) return &tn_words[i];
    return NULL;
}

const char *tn_word_unit(const char *key) {
    const tn_word *word = tn_word_find(key);
    return word ? word->unit : "";
}

static void put_spaced(const char *text, size_t length, tn_buffer *out) {
    for (size_t i = 0; i < length; i++) tn_buffer_bytes(out, text[i] == '_' ? " " : &text[i], 1);
}

/* Units at the end of keys, as title and head show them. */
static const struct {
    const char *ending, *unit;
} endings[] = {{"_bytes", "bytes"}, {"_MHz", "MHz"}, {"_bits", "bits"}, {"_W", "W"}};

void tn_word_put_title(const char *key, tn_buffer *out) {
    const tn_word *word = tn_word_find(key);
    const char *dot = strrchr(key, '.'), *last = dot ? dot + 1 : key, *unit = NULL;
    size_t length = strlen(last);
    if (word) {
        tn_buffer_text(out, word->title);
        return;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i].ending);
        if (length <= end || strcmp(last + length - end, endings[i].ending) != 0) continue;
        unit = endings[i].unit;
        length -= end;
    }
    put_spaced(last, length, out);
    if (strncmp(key, "weights.", 8) == 0 || strncmp(key, "layers.", 7) == 0) {
        const char *owner = strchr(key, '.') + 1;
        if (owner < last) {
            tn_buffer_text(out, " of ");
            tn_buffer_bytes(out, owner, (size_t)(dot - owner));
        }
    }
    if (unit) tn_buffer_format(out, " (%s)", unit);
}

void tn_word_put_head(const char *key, const char *prefixed, tn_buffer *out) {
    tn_word_put_title(key, out);
    if (prefixed && *prefixed) tn_buffer_format(out, ", %s", prefixed);
}

/* ---- prefixes ---- */

static const tn_prefix times[] = {{"ns", 1e9},       {"µs", 1e6},       {"ms", 1e3},       {"s", 1},
                                  {"min", 1 / 60.0}, {"h", 1 / 3600.0}, {"d", 1 / 86400.0}};
static const tn_prefix sizes[] = {{"B", 1},
                                  {"KiB", 1 / 1024.0},
                                  {"MiB", 1 / 1048576.0},
                                  {"GiB", 1 / 1073741824.0},
                                  {"TiB", 1 / 1099511627776.0}};
static const tn_prefix joules[] = {{"pJ", 1e12}, {"nJ", 1e9},  {"µJ", 1e6},  {"mJ", 1e3},
                                   {"J", 1},     {"kJ", 1e-3}, {"MJ", 1e-6}, {"GJ", 1e-9}};
static const tn_prefix powers[] = {{"µW", 1e6}, {"mW", 1e3}, {"W", 1}, {"kW", 1e-3}, {"MW", 1e-6}};
static const tn_prefix counts[] = {{"", 1},      {"M", 1e-6},  {"G", 1e-9},
                                   {"T", 1e-12}, {"P", 1e-15}, {"E", 1e-18}};
static const tn_prefix shares[] = {{"%", 100}};
static const struct {
    const char *unit;
    const tn_prefix *prefix;
    size_t count;
    double least; /* of the next prefix, for which it is taken */
} units[] = {
    {"s", times, sizeof times / sizeof *times, 1},
    {"B", sizes, sizeof sizes / sizeof *sizes, 1},
    {"J", joules, sizeof joules / sizeof *joules, 1},
    {"W", powers, sizeof powers / sizeof *powers, 1},
    {"", counts, sizeof counts / sizeof *counts, 10}, /* 1,253,376, but 12.5 M */
    {"%", shares, 1, 1},
};

/* From here on a time is told in the prefix: 180 s are 3 min, 180 min are 3 h, 100 h are 4.17 d. */
static double least_of(const char *unit, const tn_prefix *prefix, double otherwise) {
    static const struct {
        const char *prefixed;
        double least;
    } later[] = {{"min", 3}, {"h", 3}, {"d", 100.0 / 24}};
    for (size_t i = 0; *unit == 's' && i < sizeof later / sizeof *later; i++)
        if (strcmp(prefix->unit, later[i].prefixed) == 0) return later[i].least;
    return otherwise;
}

tn_prefix tn_prefix_of(const char *unit, double value) {
    double size = fabs(value) * 1.0005; /* 999.6 ms is 1.00 s */
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        if (strcmp(unit, units[u].unit) != 0) continue;
        size_t i = units[u].count - 1;
        while (i > 0 &&
               !(size * units[u].prefix[i].scale >= least_of(unit, &units[u].prefix[i], units[u].least)))
            i--;
        if (value == 0 || !isfinite(value))
            for (i = 0; i + 1 < units[u].count && units[u].prefix[i].scale != 1;) i++;
        return units[u].prefix[i];
    }
    return (tn_prefix){unit, 1};
}

void tn_prefixes_put(tn_json *json) {
    tn_json_object(json);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        tn_json_key(json, units[u].unit);
        tn_json_array(json);
        for (size_t i = 0; i < units[u].count; i++) {
            const tn_prefix *prefix = &units[u].prefix[i];
            tn_json_row(json);
            tn_json_text(json, prefix->unit);
            tn_json_real(json, prefix->scale);
            tn_json_real(json, least_of(units[u].unit, prefix, units[u].least));
            tn_json_end(json);
        }
        tn_json_end(json);
    }
    tn_json_end(json);
}

double tn_unit_factor(const char *unit, const char *name, size_t length) {
    static const struct {
        const char *name, *unit;
        double factor;
    } also[] = {{"us", "s", 1e-6}, {"KB", "B", 1e3}, {"kB", "B", 1e3}, {"MB", "B", 1e6},
                {"GB", "B", 1e9},  {"k", "", 1e3},   {"uJ", "J", 1e-6}};
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        if (strcmp(also[i].unit, unit) == 0 && strlen(also[i].name) == length &&
            memcmp(also[i].name, name, length) == 0)
            return also[i].factor;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (size_t i = 0; strcmp(unit, units[u].unit) == 0 && i < units[u].count; i++) {
            const char *prefixed = units[u].prefix[i].unit;
            if (*prefixed && strlen(prefixed) == length && memcmp(prefixed, name, length) == 0)
                return 1 / units[u].prefix[i].scale;
        }
    return 0;
}

tn_prefix tn_prefix_between(const char *unit, double least, double most) {
    least = fabs(least);
    most = fabs(most);
    if (most < least) {
        double swap = least;
        least = most;
        most = swap;
    }
    return tn_prefix_of(unit, least > 0 ? fmax(sqrt(least) * sqrt(most), most / 2000) : most);
}

const char *tn_plain_text(double value, char *text) {
    double size = fabs(value);
    if (!isfinite(value)) {
        tn_snprintf(text, 48, "-");
    } else if (size >= 9999.5 && size < 1e15) {
        char count[32];
        tn_snprintf(text, 48, "%s%s", value < 0 ? "-" : "", tn_count_text((uint64_t)llround(size), count));
    } else if (value == floor(value) && size < 1e15) {
        tn_snprintf(text, 48, "%.0f", value);
    } else if (size >= 99.95) {
        tn_snprintf(text, 48, "%.0f", value);
    } else if (size >= 1e-3) {
        tn_rounded_text(value, TN_NUMBER_FIXED,
                        size < 0.0995   ? 4
                        : size < 0.9995 ? 3
                        : size < 9.995  ? 2
                                        : 1,
                        text, 48);
    } else {
        tn_rounded_text(value, TN_NUMBER_SIGNIFICANT, 3, text, 48);
    }
    return text;
}

const char *tn_quantity_text(double value, const char *unit, char *text) {
    char number[48];
    tn_prefix prefix = tn_prefix_of(unit, value);
    tn_plain_text(value * prefix.scale, number);
    tn_snprintf(text, 48, "%s%s%s", number, *prefix.unit ? " " : "", prefix.unit);
    return text;
}
