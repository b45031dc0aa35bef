#include "ranks/name_map.h"

#include "base/name_index.h"
#include "text/yaml.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the file ---- */

typedef struct {
    const char *family;
    uint32_t kind, activation;
    bool inputs_first;
    struct roles {
        const char *name[TN_TENSOR_ROLES];
    } names;
    tn_position family_position, activation_position, inputs_position;
} name_map;

#define ROLE(role, called, what) TN_KEY_AS(called, TEXT, struct roles, name[role], what)
static const tn_field name_fields[] = {
    ROLE(TN_TENSOR_WORDS, "embedding", "table of words, words x width"),
    ROLE(TN_TENSOR_POSITIONS, "positions", "table of positions"),
    ROLE(TN_TENSOR_TYPES, "types", "table of token types"),
    ROLE(TN_TENSOR_FIRST_NORM, "first-norm", "norm behind the tables"),
    ROLE(TN_TENSOR_PATCHES, "patches", "convolution that makes patches of a picture"),
    ROLE(TN_TENSOR_CLASS_TOKEN, "class-token", "token that stands for the picture"),
    ROLE(TN_TENSOR_QUERY, "query", "matrix of queries"),
    ROLE(TN_TENSOR_KEY, "key", "matrix of keys"),
    ROLE(TN_TENSOR_VALUE, "value", "matrix of values"),
    ROLE(TN_TENSOR_FUSED, "query-key-value", "the three in one matrix, of family gpt2"),
    ROLE(TN_TENSOR_OUTPUT, "output", "matrix behind attention"),
    ROLE(TN_TENSOR_QUERY_NORM, "query-norm", "norm of a head's queries"),
    ROLE(TN_TENSOR_KEY_NORM, "key-norm", "norm of a head's keys"),
    ROLE(TN_TENSOR_ATTENTION_NORM, "attention-norm", "norm before or behind attention"),
    ROLE(TN_TENSOR_FEED_NORM, "feed-norm", "norm before or behind the feed-forward"),
    ROLE(TN_TENSOR_WIDEN, "widen", "first matrix of the feed-forward"),
    ROLE(TN_TENSOR_NARROW, "narrow", "second matrix of the feed-forward"),
    ROLE(TN_TENSOR_GATE, "gate", "matrix that gates the first, of family llama"),
    ROLE(TN_TENSOR_FINAL_NORM, "final-norm", "norm behind the last layer"),
    ROLE(TN_TENSOR_POOLER, "pooler", "square matrix before the classifier"),
    ROLE(TN_TENSOR_CLASSIFIER, "classifier", "matrix that makes classes"),
    ROLE(TN_TENSOR_HEAD, "head", "output projection of a language model"),
};
static const tn_schema names_schema = TN_SCHEMA("names.names", struct roles, name_fields);

static const char *const kinds[] = {"names", NULL};
static const char *const activations[] = {"gelu", "relu", "silu", "tanh", NULL};
static const tn_field map_fields[] = {
    TN_KEY(CHOICE, name_map, kind, "tells this kind of file apart", TN_REQUIRED, TN_ONE_OF(kinds)),
    TN_KEY(TEXT, name_map, family,
           "whose layers these are: bert (norms behind), vit (norms before, of an encoder), gpt2, opt "
           "(decoders) or llama (gated)",
           TN_REQUIRED, TN_SEEN(name_map, family_position)),
    TN_KEY(CHOICE, name_map, activation, "of the feed-forward; absent: the family's", TN_ONE_OF(activations),
           TN_SEEN(name_map, activation_position)),
    TN_KEY(BOOL, name_map, inputs_first,
           "matrices of layers are stored inputs x outputs; absent: as the family's",
           TN_SEEN(name_map, inputs_position)),
    TN_KEY(MAPPING, name_map, names, "for each role the name of its array; {i} is the layer, from 0",
           TN_REQUIRED, .sub = &names_schema),
};
const tn_schema tn_name_map_schema = TN_SCHEMA("names", name_map, map_fields);

static tn_status find_family(const name_map *map, const tn_tensor_family **family, tn_error *error) {
    const char *names[16];
    char told[128];
    for (size_t i = 0; i < tn_tensor_family_count; i++) {
        names[i] = tn_tensor_families[i].name;
        *family = &tn_tensor_families[i];
        if (strcmp(map->family, names[i]) == 0) return TN_OK;
    }
    return tn_fail_at(error, TN_INPUT, map->family_position, "no family '%.60s'; %s", map->family,
                      tn_suggestion(map->family, names, tn_tensor_family_count, told, sizeof told));
}

/* Without ".weight" behind it, which names are compared without. */
static tn_status take_name(const char *name, tn_arena *arena, const char **taken, tn_error *error) {
    bool is_bias;
    const size_t length = tn_tensor_stem(name, &is_bias);
    return tn_arena_copy_text(arena, name, length, taken, error);
}

tn_status tn_name_map_load(const char *path, tn_arena *arena, tn_tensor_family *family, tn_error *error) {
    tn_yaml *root;
    name_map map = {0};
    const tn_tensor_family *base;
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    TN_TRY(tn_schema_decode(&tn_name_map_schema, root, arena, &map, error));
    TN_TRY(find_family(&map, &base, error));
    *family = *base;
    if (map.activation_position.line) family->activation = activations[map.activation];
    if (map.inputs_position.line) family->input_rows = map.inputs_first;
    memset(family->left_out, 0, sizeof family->left_out);
    for (int role = 0; role < TN_TENSOR_ROLES; role++) {
        family->names[role] = NULL;
        if (map.names.name[role]) TN_TRY(take_name(map.names.name[role], arena, &family->names[role], error));
    }
    return TN_OK;
}

/* ---- a proposal ---- */

/* Arrays of one shape whose names differ in one number: a matrix or norm of every layer. Or a single one. */
typedef struct {
    const char *pattern; /* without ".weight"; {i} for the number */
    const tn_array_info *info;
    uint64_t arrays; /* 1: no layer's */
    bool taken;
} group;

typedef struct {
    const tn_arrays *arrays;
    const char *path;
    tn_arena *arena;
    tn_error *error;
    group *group;
    size_t groups;
    uint64_t layers, hidden;
    const group *role[TN_TENSOR_ROLES];
    bool by_order[TN_TENSOR_ROLES];
    bool inputs_first;
} proposal;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Whether two names are the same but for one run of digits at `index`. */
static bool differ_there(const char *a, const char *b, size_t length_a, size_t length_b, size_t index) {
    size_t end_a = index, end_b = index;
    if (index >= length_b || strncmp(a, b, index) != 0) return false;
    while (end_a < length_a && is_digit(a[end_a])) end_a++;
    while (end_b < length_b && is_digit(b[end_b])) end_b++;
    return end_b > index && length_a - end_a == length_b - end_b &&
           strncmp(a + end_a, b + end_b, length_a - end_a) == 0;
}

/* How many arrays of the same shape differ from this one at a run of digits. */
static uint64_t count_alike(const proposal *state, const tn_array_info *info, size_t length, size_t index) {
    uint64_t alike = 0;
    for (size_t i = 0; i < tn_arrays_count(state->arrays); i++) {
        const tn_array_info *other = tn_arrays_info(state->arrays, i);
        bool is_bias;
        const size_t other_length = tn_tensor_stem(other->name, &is_bias);
        alike += !is_bias && other->axes == info->axes &&
                 memcmp(other->shape, info->shape, info->axes * sizeof *info->shape) == 0 &&
                 differ_there(info->name, other->name, length, other_length, index);
    }
    return alike;
}

/* The run of digits whose change names the most arrays; SIZE_MAX: none names another. */
static size_t find_number(const proposal *state, const tn_array_info *info, size_t length, uint64_t *arrays) {
    size_t found = SIZE_MAX;
    *arrays = 1;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(info->name[i]) || (i && is_digit(info->name[i - 1]))) continue;
        const uint64_t alike = count_alike(state, info, length, i);
        if (alike <= *arrays) continue;
        *arrays = alike;
        found = i;
    }
    return found;
}

static tn_status pattern_of(const proposal *state, const char *name, size_t length, size_t index,
                            const char **pattern) {
    if (index == SIZE_MAX) return tn_arena_copy_text(state->arena, name, length, pattern, state->error);
    size_t end = index;
    while (end < length && is_digit(name[end])) end++;
    return tn_arena_format(state->arena, pattern, state->error, "%.*s{i}%.*s", (int)index, name,
                           (int)(length - end), name + end);
}

static group *find_group(proposal *state, const char *pattern) {
    for (size_t i = 0; i < state->groups; i++)
        if (strcmp(state->group[i].pattern, pattern) == 0) return &state->group[i];
    return NULL;
}

static tn_status add_array(proposal *state, const tn_array_info *info) {
    bool is_bias;
    const size_t length = tn_tensor_stem(info->name, &is_bias);
    uint64_t arrays;
    const char *pattern;
    if (tn_tensor_is_constant(info->name) || is_bias || info->elements == 0) return TN_OK;
    const size_t index = find_number(state, info, length, &arrays);
    TN_TRY(pattern_of(state, info->name, length, index, &pattern));
    if (!find_group(state, pattern))
        state->group[state->groups++] = (group){.pattern = pattern, .info = info, .arrays = arrays};
    return TN_OK;
}

static tn_status list_groups(proposal *state) {
    const size_t count = tn_arrays_count(state->arrays);
    TN_TRY(TN_NEW(state->arena, count, &state->group, state->error));
    for (size_t i = 0; i < count; i++) TN_TRY(add_array(state, tn_arrays_info(state->arrays, i)));
    for (size_t i = 0; i < state->groups; i++)
        if (state->group[i].arrays > state->layers) state->layers = state->group[i].arrays;
    if (state->layers > 1) return TN_OK;
    return tn_fail_at(
        state->error, TN_INPUT, (tn_position){.file = state->path},
        "no two of its %zu arrays differ in a number alone, as layers do; write the model file by "
        "hand (docs/model-file.md)",
        count);
}

static bool repeats(const proposal *state, const group *entry) {
    return entry->arrays == state->layers;
}

static bool has_shape(const group *entry, uint64_t rows, uint64_t columns) {
    const tn_array_info *info = entry->info;
    return info->axes == 2 && info->shape[0] == rows && info->shape[1] == columns;
}

/* The width that the most matrices of a layer have on a side; of two the smaller. */
static tn_status find_width(proposal *state) {
    uint64_t most = 0;
    for (size_t i = 0; i < state->groups; i++)
        for (int axis = 0; axis < 2; axis++) {
            if (!repeats(state, &state->group[i]) || state->group[i].info->axes != 2) continue;
            const uint64_t width = state->group[i].info->shape[axis];
            uint64_t count = 0;
            for (size_t k = 0; k < state->groups; k++) {
                const tn_array_info *info = state->group[k].info;
                count += repeats(state, &state->group[k]) && info->axes == 2 &&
                         (info->shape[0] == width || info->shape[1] == width);
            }
            if (count < most || (count == most && width >= state->hidden)) continue;
            most = count;
            state->hidden = width;
        }
    if (state->hidden > 1) return TN_OK;
    return tn_fail_at(state->error, TN_INPUT, (tn_position){.file = state->path},
                      "no matrix is there in each of its %" PRIu64 " layers; write the model file by hand "
                      "(docs/model-file.md)",
                      state->layers);
}

/* Parts of names that say a role, "|" between them. */
static const char *const hints[TN_TENSOR_ROLES] = {
    [TN_TENSOR_WORDS] = "word|tok|wte",
    [TN_TENSOR_POSITIONS] = "pos|wpe",
    [TN_TENSOR_TYPES] = "type|segment",
    [TN_TENSOR_FIRST_NORM] = "emb|first|pre",
    [TN_TENSOR_QUERY] = "query|q_|_q|.q|wq|to_q",
    [TN_TENSOR_KEY] = "key|k_|_k|.k|wk|to_k",
    [TN_TENSOR_VALUE] = "value|v_|_v|.v|wv|to_v",
    [TN_TENSOR_OUTPUT] = "out|o_|_o|.o|wo|proj|dense",
    [TN_TENSOR_QUERY_NORM] = "q_|_q|.q|query",
    [TN_TENSOR_KEY_NORM] = "k_|_k|.k|key",
    [TN_TENSOR_ATTENTION_NORM] = "att|input|1",
    [TN_TENSOR_FEED_NORM] = "ff|feed|mlp|post|2",
    [TN_TENSOR_GATE] = "gate|w1",
    [TN_TENSOR_WIDEN] = "up|w3|1|in",
    [TN_TENSOR_CLASSIFIER] = "class|score|label",
    [TN_TENSOR_HEAD] = "head|out|proj",
    [TN_TENSOR_POOLER] = "pool|dense",
};

/* Behind the layer's number, where there is one. */
static bool is_hinted(const group *entry, tn_tensor_role role) {
    char name[256];
    size_t length = 0;
    const char *from = strstr(entry->pattern, "{i}");
    for (from = from ? from + 3 : entry->pattern; *from && length + 1 < sizeof name; from++)
        name[length++] = (char)tolower((unsigned char)*from);
    name[length] = '\0';
    for (const char *hint = hints[role]; hint; hint = strchr(hint, '|')) {
        char text[32];
        hint += *hint == '|';
        snprintf(text, sizeof text, "%.*s", (int)strcspn(hint, "|"), hint);
        if (strstr(name, text)) return true;
    }
    return false;
}

typedef bool is_candidate(const proposal *state, const group *entry);

static void take(proposal *state, tn_tensor_role role, group *entry, bool by_order) {
    entry->taken = true;
    state->role[role] = entry;
    state->by_order[role] = by_order;
}

/* Gives roles to the groups that may have them: first where a name hints at one, then in the order of the file. */
static void give_roles(proposal *state, is_candidate *candidate, const tn_tensor_role *role, size_t roles) {
    for (size_t r = 0; r < roles; r++)
        for (size_t i = 0; i < state->groups && !state->role[role[r]]; i++)
            if (!state->group[i].taken && candidate(state, &state->group[i]) &&
                is_hinted(&state->group[i], role[r]))
                take(state, role[r], &state->group[i], false);
    for (size_t r = 0; r < roles; r++)
        for (size_t i = 0; i < state->groups && !state->role[role[r]]; i++)
            if (!state->group[i].taken && candidate(state, &state->group[i]))
                take(state, role[r], &state->group[i], roles > 1);
}

static bool is_square(const proposal *state, const group *entry) {
    return repeats(state, entry) && has_shape(entry, state->hidden, state->hidden);
}
static bool is_narrower(const proposal *state, const group *entry) { /* keys and values of fewer heads */
    const tn_array_info *info = entry->info;
    return repeats(state, entry) && info->axes == 2 && info->shape[1] == state->hidden &&
           info->shape[0] < state->hidden && state->hidden % info->shape[0] == 0;
}
static bool is_fused(const proposal *state, const group *entry) {
    return repeats(state, entry) && (has_shape(entry, state->hidden, 3 * state->hidden) ||
                                     has_shape(entry, 3 * state->hidden, state->hidden));
}
static bool is_wider(const proposal *state, const group *entry) {
    const tn_array_info *info = entry->info;
    return repeats(state, entry) && info->axes == 2 && info->shape[state->inputs_first] != state->hidden &&
           info->shape[!state->inputs_first] == state->hidden;
}
static bool is_back(const proposal *state, const group *entry) {
    const tn_array_info *info = entry->info;
    return repeats(state, entry) && info->axes == 2 && info->shape[state->inputs_first] == state->hidden &&
           info->shape[!state->inputs_first] != state->hidden;
}
static bool is_layer_norm(const proposal *state, const group *entry) {
    return repeats(state, entry) && entry->info->axes == 1 && entry->info->shape[0] == state->hidden;
}
static bool is_head_norm(const proposal *state, const group *entry) {
    return repeats(state, entry) && entry->info->axes == 1 && state->hidden > entry->info->shape[0] &&
           state->hidden % entry->info->shape[0] == 0;
}
static bool is_single(const proposal *state, const group *entry, size_t axes) {
    const tn_array_info *info = entry->info;
    return entry->arrays == 1 && info->axes == axes && info->shape[axes - 1] == state->hidden;
}
static bool is_single_norm(const proposal *state, const group *entry) {
    return is_single(state, entry, 1);
}
static bool is_table(const proposal *state, const group *entry) {
    return is_single(state, entry, 2) && entry->info->shape[0] != state->hidden;
}
static bool is_pooler(const proposal *state, const group *entry) {
    return entry->arrays == 1 && has_shape(entry, state->hidden, state->hidden);
}
static bool is_patches(const proposal *state, const group *entry) {
    return entry->arrays == 1 && entry->info->axes == 4 && entry->info->shape[0] == state->hidden;
}
static bool is_token(const proposal *state, const group *entry) {
    return is_single(state, entry, 3) && entry->info->elements == state->hidden;
}
static bool is_places(const proposal *state, const group *entry) {
    return is_single(state, entry, 3) && entry->info->elements > state->hidden;
}

static group *largest_table(proposal *state, uint64_t rows) {
    group *largest = NULL;
    for (size_t i = 0; i < state->groups; i++) {
        group *entry = &state->group[i];
        if (entry->taken || !is_table(state, entry) || (rows && entry->info->shape[0] != rows)) continue;
        if (!largest || entry->info->shape[0] > largest->info->shape[0]) largest = entry;
    }
    return largest;
}

static bool has_bias_array(const proposal *state, const group *entry) {
    char name[512];
    size_t position;
    tn_error ignored;
    snprintf(name, sizeof name, "%s.bias", entry->pattern);
    return tn_arrays_find(state->arrays, name, &position, &ignored) == TN_OK;
}

/* Tables and matrices of the width that stand once: the largest is of words, another as large the output projection; the rest by
 * hints, a classifier by its bias, positions as what is left. */
static void give_tables(proposal *state) {
    static const tn_tensor_role hinted[] = {TN_TENSOR_POSITIONS, TN_TENSOR_TYPES, TN_TENSOR_CLASSIFIER};
    group *words = state->role[TN_TENSOR_PATCHES] ? NULL : largest_table(state, 0), *entry;
    if (words) {
        take(state, TN_TENSOR_WORDS, words, false);
        entry = largest_table(state, words->info->shape[0]);
        if (entry && is_hinted(words, TN_TENSOR_HEAD) && !is_hinted(words, TN_TENSOR_WORDS)) {
            take(state, TN_TENSOR_WORDS, entry, false);
            entry = words;
        }
        if (entry) take(state, TN_TENSOR_HEAD, entry, false);
    }
    for (size_t r = 0; r < 3; r++)
        for (size_t i = 0; i < state->groups && !state->role[hinted[r]]; i++)
            if (!state->group[i].taken && is_table(state, &state->group[i]) &&
                is_hinted(&state->group[i], hinted[r]))
                take(state, hinted[r], &state->group[i], false);
    for (size_t i = 0; i < state->groups; i++) {
        entry = &state->group[i];
        if (entry->taken || !is_table(state, entry)) continue;
        const tn_tensor_role role = has_bias_array(state, entry) ? TN_TENSOR_CLASSIFIER : TN_TENSOR_POSITIONS;
        if (!state->role[role]) take(state, role, entry, true);
    }
}

static void give_matrices(proposal *state) {
    static const tn_tensor_role fused[] = {TN_TENSOR_FUSED}, output[] = {TN_TENSOR_OUTPUT},
                                shared[] = {TN_TENSOR_KEY, TN_TENSOR_VALUE},
                                two[] = {TN_TENSOR_QUERY, TN_TENSOR_OUTPUT},
                                four[] = {TN_TENSOR_QUERY, TN_TENSOR_KEY, TN_TENSOR_VALUE, TN_TENSOR_OUTPUT},
                                gated[] = {TN_TENSOR_GATE, TN_TENSOR_WIDEN}, widen[] = {TN_TENSOR_WIDEN},
                                narrow[] = {TN_TENSOR_NARROW};
    size_t wider = 0;
    give_roles(state, is_fused, fused, 1);
    const group *one = state->role[TN_TENSOR_FUSED];
    state->inputs_first = one && one->info->shape[0] == state->hidden;
    give_roles(state, is_narrower, shared, 2);
    const bool grouped = state->role[TN_TENSOR_VALUE];
    give_roles(state, is_square, one ? output : grouped ? two : four, one ? 1 : grouped ? 2 : 4);
    for (size_t i = 0; i < state->groups; i++)
        wider += !state->group[i].taken && is_wider(state, &state->group[i]);
    give_roles(state, is_wider, wider > 1 ? gated : widen, wider > 1 ? 2 : 1);
    give_roles(state, is_back, narrow, 1);
}

static void give_others(proposal *state) {
    static const tn_tensor_role norms[] = {TN_TENSOR_ATTENTION_NORM, TN_TENSOR_FEED_NORM},
                                heads[] = {TN_TENSOR_QUERY_NORM, TN_TENSOR_KEY_NORM},
                                patches[] = {TN_TENSOR_PATCHES}, token[] = {TN_TENSOR_CLASS_TOKEN},
                                places[] = {TN_TENSOR_POSITIONS}, pooler[] = {TN_TENSOR_POOLER},
                                last[] = {TN_TENSOR_FINAL_NORM};
    give_roles(state, is_layer_norm, norms, 2);
    give_roles(state, is_head_norm, heads, 2);
    give_roles(state, is_patches, patches, 1);
    give_roles(state, is_token, token, 1);
    give_roles(state, is_places, places, 1);
    give_tables(state);
    give_roles(state, is_pooler, pooler, 1);
    for (size_t i = 0; i < state->groups; i++) /* the norm of the tables is called so; another is the last */
        if (!state->role[TN_TENSOR_FIRST_NORM] && is_single_norm(state, &state->group[i]) &&
            is_hinted(&state->group[i], TN_TENSOR_FIRST_NORM))
            take(state, TN_TENSOR_FIRST_NORM, &state->group[i], false);
    give_roles(state, is_single_norm, last, 1);
}

/* Whose layers these are, by what there is. */
static const char *likely_family(const proposal *state) {
    const group *const *role = state->role;
    if (role[TN_TENSOR_GATE]) return "llama";
    if (role[TN_TENSOR_PATCHES]) return "vit";
    if (!role[TN_TENSOR_FINAL_NORM]) return "bert";
    if (role[TN_TENSOR_HEAD] || !role[TN_TENSOR_CLASSIFIER]) return role[TN_TENSOR_FUSED] ? "gpt2" : "opt";
    return "vit";
}

static void write_role(const proposal *state, const tn_field *field, tn_tensor_role role, tn_buffer *out) {
    const group *entry = state->role[role];
    if (!entry) return;
    tn_buffer_format(out, "  %s: \"%s\" # ", field->key, entry->pattern);
    for (size_t i = 0; i < entry->info->axes; i++)
        tn_buffer_format(out, "%s%" PRIu64, i ? " x " : "", entry->info->shape[i]);
    tn_buffer_format(out, "%s\n",
                     state->by_order[role] ? ", by its place among others of this shape: check it" : "");
}

static void write_proposal(const proposal *state, tn_buffer *out) {
    tn_buffer_format(out,
                     "# Proposed by the shapes of %zu arrays: %" PRIu64 " layers, %" PRIu64
                     " wide. Check it, then: tenfold model CHECKPOINT --map THIS -o MODEL.yaml\nkind: names\n"
                     "family: %s # how layers follow each other: bert, vit, gpt2, opt or llama\n",
                     tn_arrays_count(state->arrays), state->layers, state->hidden, likely_family(state));
    if (state->inputs_first) tn_buffer_text(out, "inputs_first: true\n");
    tn_buffer_text(out, "names:\n");
    for (size_t i = 0; i < sizeof name_fields / sizeof *name_fields; i++)
        write_role(state, &name_fields[i], (tn_tensor_role)(name_fields[i].offset / sizeof(const char *)),
                   out);
    for (size_t i = 0; i < state->groups; i++) {
        if (state->group[i].taken) continue;
        tn_buffer_format(out, "  # no role: %s (%" PRIu64 ")\n", state->group[i].pattern,
                         state->group[i].arrays);
    }
}

tn_status tn_name_map_propose(const tn_arrays *arrays, const char *path, tn_arena *arena, tn_buffer *out,
                              tn_error *error) {
    proposal state = {.arrays = arrays, .path = path, .arena = arena, .error = error};
    TN_TRY(list_groups(&state));
    TN_TRY(find_width(&state));
    give_matrices(&state);
    give_others(&state);
    write_proposal(&state, out);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for a proposal");
}
