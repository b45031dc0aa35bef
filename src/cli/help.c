#include "cli/help.h"

#include "base/c_locale.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "design/changes.h"
#include "device/device.h"
#include "flow/named.h"
#include "model/model.h"
#include "space/quantity.h"
#include "step/transformation.h"
#include "tensor/weight.h"
#include "text/schema.h"
#include "text/words.h"

#include <stdio.h>
#include <string.h>

/* ---- commands in groups ---- */

static const struct {
    const char *title, *commands; /* between blanks */
} groups[] = {
    {"one design", " cost validate export rtl "},
    {"many designs", " sweep merge slurm recommend query plot report compare "},
    {"one contraction", " order "},
    {"weights and learning", " model ranks train accuracy "},
    {"GPUs and money", " roofline finetune "},
    {"calculators", " hardware technique "},
    {"help", " list doctor completion "},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static bool is_in(const char *list, const char *name) {
    char between[64];
    tn_snprintf(between, sizeof between, " %s ", name);
    return strstr(list, between) != NULL;
}

void tn_help_commands(tn_buffer *out) {
    tn_buffer_format(
        out,
        "tenfold %s: tensor-train ranks, contraction flow and parallelism, before you build hardware\n\n"
        "usage: tenfold COMMAND [ARGUMENTS] [OPTIONS]\n\ncommands:\n",
        TENFOLD_VERSION);
    for (size_t g = 0; g < GROUPS; g++) {
        tn_buffer_format(out, "  %s:\n", groups[g].title);
        for (size_t i = 0; i < tn_commands_count; i++) {
            bool last = g + 1 == GROUPS, grouped = false;
            for (size_t k = 0; k < GROUPS; k++) grouped |= is_in(groups[k].commands, tn_commands[i]->name);
            if (is_in(groups[g].commands, tn_commands[i]->name) || (last && !grouped))
                tn_buffer_format(out, "    %-10s %s\n", tn_commands[i]->name, tn_commands[i]->summary);
        }
    }
    tn_buffer_format(out, "    %-10s %s\n\n", "help", "explain a command, a key, a flow, a format or a word");
    tn_buffer_text(
        out, "`tenfold help COMMAND`, `tenfold help build.rows`, `tenfold help knee`\n\n"
             "Models, devices and spaces are paths, or bare names looked up in models/, models/devices/ and\n"
             "spaces/ of the folders in TENFOLD_PATH (set apart by colons), of the source tree and of the\n"
             "installed data folder; `tenfold list models` shows them.\n");
}

/* ---- keys: rows of the schemas ---- */

enum { PATH_MOST = 128, DEEPEST = 4 };

typedef bool (*visit)(void *user, const char *path, const tn_field *field, const char *file);

static void walk(const tn_schema *schema, const char *prefix, const char *file, int depth, visit each,
                 void *user) {
    for (size_t i = 0; i < schema->count; i++) {
        const tn_field *field = &schema->field[i];
        char path[PATH_MOST];
        tn_snprintf(path, sizeof path, "%s%s", prefix, field->key);
        if (!each(user, path, field, file)) return;
        if (!field->sub || depth == DEEPEST || field->type == TN_FIELD_LIST) continue;
        tn_snprintf(path, sizeof path, "%s%s.%s", prefix, field->key,
                    field->type == TN_FIELD_TABLE ? "NAME." : "");
        walk(field->sub, path, file, depth + 1, each, user);
    }
}

static void walk_all(visit each, void *user) {
    walk(&tn_build_schema, "build.", "build", 0, each, user);
    walk(&tn_model_schema, "", "model", 0, each, user);
    walk(&tn_device_schema, "", "device", 0, each, user);
}

static const char *last_part(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

typedef struct {
    const char *word;
    bool last; /* by the last part of the path alone */
    tn_buffer *out;
    size_t found;
} asking;

static void put_field(const char *path, const tn_field *field, const char *file, tn_buffer *out) {
    tn_buffer_format(out, "%s, a key of the %s: %s\n", path, file, field->help ? field->help : "");
    if (field->choices) {
        tn_buffer_text(out, "  one of ");
        tn_choices_write(out, field->choices, "", " or ");
        tn_buffer_text(out, "\n");
    }
    if (field->minimum < field->maximum && field->maximum < 1e18)
        tn_buffer_format(out, "  from %g to %g\n", field->minimum, field->maximum);
    if (field->fallback) tn_buffer_format(out, "  default %s\n", field->fallback);
}

static bool tell(void *user, const char *path, const tn_field *field, const char *file) {
    asking *question = user;
    if (strcmp(question->last ? last_part(path) : path, question->word) != 0) return true;
    put_field(path, field, file, question->out);
    question->found++;
    return true;
}

/* A line of each key under the word: of build all of build.rows, build.columns, ... */
static bool tell_below(void *user, const char *path, const tn_field *field, const char *file) {
    asking *question = user;
    size_t length = strlen(question->word);
    (void)file;
    if (strncmp(path, question->word, length) != 0 || path[length] != '.' || strchr(path + length + 1, '.'))
        return true;
    tn_buffer_format(question->out, "  %s: %s%s%s\n", path, field->help ? field->help : "",
                     field->fallback ? "; default " : "", field->fallback ? field->fallback : "");
    question->found++;
    return true;
}

typedef struct {
    tn_arena *arena;
    const char **key;
    size_t count, capacity;
    tn_status status;
} collecting;

static bool collect(void *user, const char *path, const tn_field *field, const char *file) {
    collecting *all = user;
    (void)field;
    (void)file;
    all->status = TN_GROW(&all->key, &all->capacity, all->count + 1, NULL);
    if (all->status == TN_OK)
        all->status = tn_arena_copy_text(all->arena, path, strlen(path), &all->key[all->count], NULL);
    all->count += all->status == TN_OK;
    return all->status == TN_OK;
}

tn_status tn_help_keys(tn_arena *arena, const char ***key, size_t *count, tn_error *error) {
    collecting all = {.arena = arena};
    const char **kept;
    walk_all(collect, &all);
    tn_status status = all.status;
    if (status == TN_OK) status = TN_NEW(arena, all.count + 1, &kept, error);
    if (status == TN_OK) {
        for (size_t i = 0; i < all.count; i++) kept[i] = all.key[i];
        *key = kept;
        *count = all.count;
    }
    tn_free(all.key);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the keys");
}

/* ---- names ---- */

static const struct {
    const char *name, *plain;
} flows[] = {
    {"dense", "the layer's whole matrix, multiplied at once"},
    {"right-to-left", "cores are multiplied to the activations one after the other, from the last"},
    {"bidirectional",
     "the cores of either side are multiplied together first, then the activations pass both"},
    {"bidirectional-published",
     "the same as its publication counts it, for a tensor train of three cores a side"},
    {"optimal", "the order of the fewest multiply-adds of the forward pass, found exactly"},
    {"training-optimal", "the fewest multiply-adds of forward and gradients together"},
    {"training-least-saved", "keeps the fewest numbers for the backward pass"},
    {"training-least-peak", "has the fewest numbers alive at the worst moment"},
    {"fastest",
     "of the named flows the one with which a step takes the fewest cycles on this device and build"},
};
static const char *const format_plain[TN_FORMATS] = {
    [TN_DENSE] = "a matrix of all its entries",
    [TN_TT] = "tensor train: a chain of cores, first those of the rows' factors, then those of the columns'",
    [TN_TTM] = "tensor-train matrix: a chain of cores, each with a factor of the rows and one of the columns",
    [TN_RING] = "tensor ring: a tensor train whose ends are joined",
    [TN_TUCKER] = "Tucker: a small core and a matrix for each factor",
    [TN_HT] = "hierarchical Tucker: cores in a binary tree",
    [TN_CP] = "canonical polyadic: a sum of products of vectors",
    [TN_BLOCK_TERM] = "block-term: a sum of Tucker tensors",
};

static bool put_name(const char *word, tn_buffer *out) {
    bool found = false;
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++)
        if (strcmp(flows[i].name, word) == 0) {
            tn_buffer_format(out, "%s, a contraction flow: %s\n", word, flows[i].plain);
            found = true;
        }
    for (const char *const *name = tn_flow_names; *name && !found; name++)
        if (strcmp(*name, word) == 0) {
            tn_buffer_format(
                out, "%s, a contraction flow: %s\n", word,
                strncmp(word, "cheapest", 8) == 0
                    ? "the tree of that place by its multiply-adds, the optimal one being the first"
                    : "a point of the exact front of training multiply-adds, kept numbers and peak");
            found = true;
        }
    for (int i = 0; i < TN_FORMATS; i++)
        if (strcmp(tn_format_names[i], word) == 0) {
            tn_buffer_format(out, "%s, a weight format: %s\n", word, format_plain[i]);
            found = true;
        }
    for (const tn_transformation *const *t = tn_transformations; *t; t++)
        if (strcmp((*t)->name, word) == 0) {
            tn_buffer_format(out, "%s, a technique (%s): %s\n  source: %s\n", word, (*t)->keys, (*t)->changes,
                             (*t)->source);
            found = true;
        }
    for (const tn_design_choice *t = tn_design_choices; t->name; t++)
        if (strcmp(t->name, word) == 0) {
            tn_buffer_format(out, "%s, a technique (%s): %s\n", word, t->keys, t->changes);
            found = true;
        }
    const tn_word *known = tn_word_find(word);
    const tn_quantity *quantity = NULL;
    if (known) {
        bool counted = tn_quantity_find(word, (tn_position){0}, &quantity, NULL) == TN_OK;
        tn_buffer_format(out, "%s%s%s%s: %s%s%s\n", word, counted ? ", a quantity of a design" : "",
                         *known->unit ? ", " : "",
                         strcmp(known->unit, "%") == 0   ? "as a share of 1"
                         : strcmp(known->unit, "B") == 0 ? "in bytes"
                                                         : known->unit,
                         strcmp(known->title, word) != 0 ? known->title : "",
                         known->plain && strcmp(known->title, word) != 0 ? ": " : "",
                         known->plain ? known->plain
                         : counted    ? quantity->help
                                      : "");
        found = true;
    }
    return found;
}

bool tn_help_word(const char *word, tn_buffer *out) {
    asking whole = {.word = word, .out = out}, last = {.word = word, .last = true, .out = out};
    walk_all(tell, &whole);
    bool named = put_name(word, out);
    if (!whole.found && !named) walk_all(tell, &last);
    asking below = {.word = word, .out = out};
    walk_all(tell_below, &below);
    return whole.found || named || last.found || below.found;
}

const char *tn_help_near(const char *word, tn_arena *arena) {
    enum { MOST = 1024 };
    const char **key, *name[MOST];
    size_t keys = 0, count = 0;
    if (tn_help_keys(arena, &key, &keys, NULL) != TN_OK) return NULL;
    for (size_t i = 0; i < keys && count + 1 < MOST; i++) {
        name[count++] = key[i];
        name[count++] = last_part(key[i]);
    }
    for (size_t i = 0; i < tn_words_count && count < MOST; i++) name[count++] = tn_words[i].key;
    for (const char *const *flow = tn_flow_names; *flow && count < MOST; flow++) name[count++] = *flow;
    for (size_t i = 0; i < tn_commands_count && count < MOST; i++) name[count++] = tn_commands[i]->name;
    return tn_suggest(word, name, count);
}
