#include "learn/generated.h"

#include "base/file.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const tn_generated tn_generated_default = {.train = 2000, .dev = 200, .test = 400, .seed = 1};

/* A pattern is words with labels behind a slash; <name> stands for a phrase of that list, labelled by the name
 * behind it: "from <city:origin>". Words of a phrase become B-name, I-name .. . Alternatives of a list or a rule are
 * equally likely. */
typedef struct list {
    const char *name;
    const char *const *phrase; /* ended by NULL */
} list;

static const char *const cities[] = {
    "oslo",  "lisbon", "new york",       "buenos aires", "nairobi",     "helsinki",  "kuala lumpur",
    "quito", "zagreb", "rio de janeiro", "hanoi",        "cape town",   "montreal",  "san jose",
    "tunis", "riga",   "perth",          "santiago",     "addis ababa", "reykjavik", NULL};
static const char *const airlines[] = {"northwind air", "blue heron", "skylark",
                                       "polar lines",   "meridian",   NULL};
static const char *const days[] = {"monday",   "tuesday", "wednesday", "thursday", "friday",
                                   "saturday", "sunday",  "tomorrow",  NULL};
static const char *const parts_of_day[] = {"in the morning", "at noon",       "in the afternoon",
                                           "in the evening", "late at night", NULL};
static const char *const hours[] = {"six am", "seven thirty am",   "nine am",  "noon",
                                    "two pm", "half past four pm", "eight pm", NULL};
static const char *const prices[] = {"one hundred dollars", "two hundred dollars",
                                     "three hundred and fifty dollars", "five hundred dollars", NULL};
static const char *const seats[] = {"economy", "business class", "first class", NULL};
static const char *const meals[] = {"breakfast", "lunch", "dinner", "a snack", NULL};
static const char *const openings[] = {"please", "i would like to know", "can you tell me", "tell me", "", "",
                                       NULL};

static const list lists[] = {{"city", cities},       {"airline", airlines}, {"day", days},
                             {"part", parts_of_day}, {"hour", hours},       {"price", prices},
                             {"seat", seats},        {"meal", meals},       {"open", openings}};

typedef struct rule {
    const char *class_name;
    const char *pattern[6]; /* ended by NULL */
} rule;

static const rule rules[] = {
    {"find_flight",
     {"<open:> which flights go from <city:origin> to <city:destination> on <day:departure_day>",
      "i need to fly from <city:origin> to <city:destination> <part:departure_period>",
      "show flights to <city:destination> from <city:origin> that leave after <hour:departure_time>",
      "is there a <airline:airline> flight from <city:origin> to <city:destination> by way of <city:stop>",
      "find me a flight out of <city:origin> arriving in <city:destination> before <hour:arrival_time>",
      NULL}},
    {"ask_fare",
     {"<open:> what does a <seat:seat_class> ticket from <city:origin> to <city:destination> cost",
      "how much is it to fly to <city:destination> with <airline:airline> on <day:departure_day>",
      "are there fares below <price:fare_limit> between <city:origin> and <city:destination>",
      "cheapest <seat:seat_class> fare leaving <city:origin> on <day:departure_day>", NULL}},
    {"ask_time",
     {"<open:> when does the <airline:airline> flight to <city:destination> leave <city:origin>",
      "what time do we land in <city:destination> if we leave <city:origin> at <hour:departure_time>",
      "how early does the first flight to <city:destination> go on <day:departure_day>", NULL}},
    {"ask_ground",
     {"<open:> how do i get from the airport to the centre of <city:place>",
      "is there a train or a taxi into <city:place> <part:period>",
      "what buses run in <city:place> on <day:day>", NULL}},
    {"ask_meal",
     {"do they serve <meal:meal> on the flight to <city:destination>",
      "<open:> is <meal:meal> served in <seat:seat_class> on <airline:airline>", NULL}},
    {"book",
     {"book <seat:seat_class> to <city:destination> for <day:departure_day> <part:departure_period>",
      "reserve two seats with <airline:airline> from <city:origin> to <city:destination>",
      "i want a return ticket to <city:destination> for under <price:fare_limit>", NULL}},
    {"cancel",
     {"cancel my flight to <city:destination> on <day:departure_day>",
      "i can not travel with <airline:airline> <part:departure_period> any more", NULL}},
};

typedef struct files {
    tn_buffer words, labels, classes;
} files;

static const char *pick(const char *const *source, uint64_t *state) {
    uint32_t count = 0;
    while (source[count]) count++;
    return source[tn_splitmix_below(state, count)];
}

/* Appends the words of `text` with O, or with B-slot, I-slot .. . */
static void put_words(files *output, const char *text, size_t length, const char *slot, size_t slot_length,
                      bool *first) {
    bool begin = true;
    for (size_t index = 0; index < length;) {
        size_t word = 0;
        while (index + word < length && text[index + word] != ' ') word++;
        if (word > 0) {
            tn_buffer_format(&output->words, "%s%.*s", *first ? "" : " ", (int)word, text + index);
            if (slot_length)
                tn_buffer_format(&output->labels, "%s%c-%.*s", *first ? "" : " ", begin ? 'B' : 'I',
                                 (int)slot_length, slot);
            else
                tn_buffer_format(&output->labels, "%sO", *first ? "" : " ");
            *first = begin = false;
        }
        index += word + 1;
    }
}

static const list *find_list(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strlen(lists[i].name) == length && strncmp(lists[i].name, name, length) == 0) return &lists[i];
    return &lists[0];
}

static void put_pattern(files *output, const char *pattern, uint64_t *state) {
    bool first = true;
    while (*pattern) {
        size_t plain = strcspn(pattern, "<");
        put_words(output, pattern, plain, NULL, 0, &first);
        pattern += plain;
        if (!*pattern) break;
        size_t name = strcspn(pattern + 1, ":"), end = strcspn(pattern, ">");
        const char *phrase = pick(find_list(pattern + 1, name)->phrase, state);
        put_words(output, phrase, strlen(phrase), pattern + name + 2, end - name - 2, &first);
        pattern += end + 1;
    }
}

static void put_sentence(files *output, uint64_t *state) {
    const rule *grammar = &rules[tn_splitmix_below(state, sizeof rules / sizeof *rules)];
    put_pattern(output, pick(grammar->pattern, state), state);
    tn_buffer_text(&output->words, "\n");
    tn_buffer_text(&output->labels, "\n");
    tn_buffer_format(&output->classes, "%s\n", grammar->class_name);
}

static tn_status write_part(const char *folder, const char *part, const files *output, tn_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    TN_TRY(tn_folder_make(path, error));
    snprintf(path, sizeof path, "%s/%s/seq.in", folder, part);
    TN_TRY(tn_file_write_buffer(path, &output->words, error));
    snprintf(path, sizeof path, "%s/%s/seq.out", folder, part);
    TN_TRY(tn_file_write_buffer(path, &output->labels, error));
    snprintf(path, sizeof path, "%s/%s/label", folder, part);
    return tn_file_write_buffer(path, &output->classes, error);
}

tn_status tn_generated_write(const char *folder, const tn_generated *how, tn_error *error) {
    static const char *const parts[] = {"train", "dev", "test"};
    const uint64_t count[] = {how->train, how->dev, how->test};
    enum { PATH_MOST = 900 };
    uint64_t state = how->seed;
    if (strlen(folder) > PATH_MOST) return tn_fail(error, TN_LIMIT, "a path of over %d bytes", PATH_MOST);
    tn_status status = TN_OK;
    for (int i = 0; i < 3 && status == TN_OK; i++) {
        files output = {0};
        for (uint64_t k = 0; k < count[i]; k++) put_sentence(&output, &state);
        status = write_part(folder, parts[i], &output, error);
        tn_buffer_free(&output.words);
        tn_buffer_free(&output.labels);
        tn_buffer_free(&output.classes);
    }
    return status;
}
