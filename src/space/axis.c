#include "space/axis.h"

#include "base/memory.h"
#include "base/name_index.h"
#include "text/number.h"
#include "text/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {from, to, step} or {from, to, times} */
typedef struct {
    uint64_t first, last, step, times;
} range;
static const tn_field range_fields[] = {
    TN_KEY_AS("from", COUNT, range, first, "first value", TN_REQUIRED),
    TN_KEY_AS("to", COUNT, range, last, "last value", TN_REQUIRED),
    TN_KEY(COUNT, range, step, "distance of values; default 1"),
    TN_KEY(COUNT, range, times, "instead of step: each value is the one before times this, from 2"),
};
static const tn_schema range_schema = TN_SCHEMA("range of values", range, range_fields);

void tn_axis_document(tn_buffer *out) {
    tn_axis_document_foldings(out);
    tn_schema_document(&range_schema, out);
}

/* ---- numbers, names, texts ---- */

static tn_status expand_range(const tn_yaml *values, tn_arena *arena, tn_axis *choice, tn_error *error) {
    range interval;
    TN_TRY(tn_schema_decode(&range_schema, values, arena, &interval, error));
    if (interval.first > interval.last)
        return tn_fail_at(error, TN_INPUT, values->position,
                          "range from %" PRIu64 " to %" PRIu64 " is empty; from is the lesser",
                          interval.first, interval.last);
    if (interval.step && interval.times)
        return tn_fail_at(error, TN_INPUT, values->position, "a range has step or times, not both");
    if (interval.times == 1 || (interval.times && interval.first == 0))
        return tn_fail_at(error, TN_INPUT, values->position,
                          "a range by times starts at 1 and multiplies by 2 or more");
    uint64_t step = interval.step ? interval.step : 1, count = 1;
    for (uint64_t v = interval.first;
         (interval.times ? interval.last / interval.times >= v : interval.last - v >= step) &&
         count <= TN_AXIS_VALUES_MOST;
         v = interval.times ? v * interval.times : v + step)
        count++;
    if (count > TN_AXIS_VALUES_MOST)
        return tn_fail_at(error, TN_LIMIT, values->position, "a range of over %d values; take a larger step",
                          TN_AXIS_VALUES_MOST);
    TN_TRY(TN_NEW(arena, count, &choice->number, error));
    choice->count = count;
    choice->number[0] = interval.first;
    for (size_t i = 1; i < count; i++)
        choice->number[i] =
            interval.times ? choice->number[i - 1] * interval.times : choice->number[i - 1] + step;
    return TN_OK;
}

/* Each item of the list through `read`, which fills number[i] (and text[i]). */
typedef tn_status item_reader(const tn_yaml *item, const void *user, uint64_t *number, const char **text,
                              tn_error *error);

static tn_status decode_list(const tn_yaml *values, item_reader *read, const void *user, tn_arena *arena,
                             tn_axis *choice, tn_error *error) {
    if (values->kind != TN_YAML_SEQUENCE)
        return tn_fail_at(error, TN_INPUT, values->position,
                          "a choice needs the list of its values, as [a, b]");
    choice->count = values->count;
    TN_TRY(TN_NEW(arena, choice->count, &choice->number, error));
    TN_TRY(TN_NEW(arena, choice->count, &choice->text, error));
    for (size_t i = 0; i < values->count; i++) {
        if (values->item[i]->kind != TN_YAML_SCALAR)
            return tn_fail_at(error, TN_INPUT, values->item[i]->position,
                              "a value must be one word or number");
        TN_TRY(read(values->item[i], user, &choice->number[i], &choice->text[i], error));
    }
    return TN_OK;
}

static tn_status read_number(const tn_yaml *item, const void *user, uint64_t *number, const char **text,
                             tn_error *error) {
    (void)user;
    *text = NULL;
    if (tn_read_count(item->text, number) != TN_NUMBER_OK)
        return tn_fail_at(error, TN_INPUT, item->position, "'%s' is no whole number from 0", item->text);
    return TN_OK;
}

static tn_status read_name(const tn_yaml *item, const void *user, uint64_t *number, const char **text,
                           tn_error *error) {
    const char *const *names = user;
    size_t count = 0;
    for (; names[count]; count++)
        if (strcmp(item->text, names[count]) == 0) {
            *number = count;
            *text = names[count];
            return TN_OK;
        }
    const char *near = tn_suggest(item->text, names, count);
    if (near)
        return tn_fail_at(error, TN_INPUT, item->position, "'%s' is unknown here; did you mean '%s'?",
                          item->text, near);
    return tn_fail_at(error, TN_INPUT, item->position, "'%s' is unknown here; known are %s, %s, ...",
                      item->text, names[0], names[1] ? names[1] : names[0]);
}

static tn_status read_text(const tn_yaml *item, const void *user, uint64_t *number, const char **text,
                           tn_error *error) {
    (void)user;
    (void)number;
    (void)error;
    *text = item->text;
    return TN_OK;
}

static tn_status decode_numbers(const tn_yaml *values, tn_arena *arena, tn_axis *choice, tn_error *error) {
    if (values->kind == TN_YAML_MAPPING) return expand_range(values, arena, choice, error);
    return decode_list(values, read_number, NULL, arena, choice, error);
}

/* ---- kinds ---- */

static tn_status decode_build(const tn_yaml *values, const char *name, tn_arena *arena, tn_axis *choice,
                              tn_error *error) {
    const char *names[64];
    size_t known = 0;
    for (size_t i = 0; i < tn_build_schema.count && known < 64; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        names[known++] = field->key;
        if (strcmp(field->key, name) == 0) choice->field = field;
    }
    if (!choice->field) {
        const char *near = tn_suggest(name, names, known);
        return tn_fail_at(error, TN_INPUT, choice->position, "a build has no key '%s'; %s%s", name,
                          near ? "did you mean " : "the page of the build lists them", near ? near : "");
    }
    choice->kind = TN_AXIS_BUILD;
    if (choice->field->type == TN_FIELD_CHOICE)
        return decode_list(values, read_name, choice->field->choices, arena, choice, error);
    if (choice->field->type != TN_FIELD_COUNT)
        return tn_fail_at(error, TN_INPUT, choice->position,
                          "build.%s can't be varied; whole numbers and names can", name);
    TN_TRY(decode_numbers(values, arena, choice, error));
    for (size_t i = 0; i < choice->count; i++)
        if ((double)choice->number[i] < choice->field->minimum ||
            (choice->field->maximum > 0 && (double)choice->number[i] > choice->field->maximum))
            return tn_fail_at(error, TN_INPUT, values->position,
                              "build.%s = %" PRIu64 " is out of range; %.0f to %.0f", name, choice->number[i],
                              choice->field->minimum, choice->field->maximum);
    return TN_OK;
}

/* "weights.NAME.WHAT": finds the weight and the kind; other keys below a weight are model keys. */
static tn_status split_weight_key(tn_model *model, tn_axis *choice, const char **what, tn_error *error) {
    const char *name = choice->key + strlen("weights.");
    const char *dot = strchr(name, '.');
    const char *names[256];
    size_t count = tn_model_weights(model);
    for (size_t i = 0; dot && i < count; i++) {
        const char *known = tn_model_weight_at(model, i)->name;
        if (i < 256) names[i] = known;
        if (strlen(known) == (size_t)(dot - name) && strncmp(known, name, (size_t)(dot - name)) == 0) {
            choice->weight = i;
            *what = dot + 1;
            return TN_OK;
        }
    }
    if (!dot)
        return tn_fail_at(error, TN_INPUT, choice->position,
                          "write weights.NAME.KEY, as weights.square.rank");
    char given[64];
    snprintf(given, sizeof given, "%.*s", (int)(dot - name), name);
    const char *near = tn_suggest(given, names, count < 256 ? count : 256);
    return tn_fail_at(error, TN_INPUT, choice->position, "the model has no weight '%s'%s%s%s", given,
                      near ? "; did you mean '" : "; its `weights:` lists them", near ? near : "",
                      near ? "'?" : "");
}

/* "1x8x32x32x32x8x1": every rank, the ends included. */
static bool read_rank_list(const char *text, tn_rank_list *list, uint64_t *greatest) {
    *list = (tn_rank_list){0};
    for (*greatest = 0; list->count < TN_RANKS_MOST;) {
        char digits[24];
        size_t length = strspn(text, "0123456789");
        if (length == 0 || length >= sizeof digits) return false;
        memcpy(digits, text, length);
        digits[length] = '\0';
        uint64_t *rank = &list->rank[list->count++];
        if (tn_read_count(digits, rank) != TN_NUMBER_OK || *rank == 0) return false;
        if (*rank > *greatest) *greatest = *rank;
        text += length;
        if (*text == '\0') return true;
        if (*text++ != 'x') return false;
    }
    return false;
}

/* One value that may be a list of ranks. */
static tn_status read_ranks(const tn_yaml *item, size_t i, tn_arena *arena, tn_axis *choice,
                            tn_error *error) {
    tn_rank_list list;
    if (item->kind != TN_YAML_SCALAR || !strchr(item->text, 'x')) return TN_OK;
    if (!read_rank_list(item->text, &list, &choice->number[i]))
        return tn_fail_at(error, TN_INPUT, item->position,
                          "'%s' is no list of ranks; write all of them, as 1x8x32x8x1", item->text);
    if (!choice->rank_list)
        TN_TRY(tn_arena_alloc(arena, choice->count, sizeof list, &choice->rank_list, error));
    choice->rank_list[i] = list;
    choice->text[i] = item->text;
    return TN_OK;
}

static tn_status read_rank(const tn_yaml *item, const void *user, uint64_t *number, const char **text,
                           tn_error *error) {
    if (!strchr(item->text, 'x')) return read_number(item, user, number, text, error);
    return TN_OK;
}

static tn_status decode_ranks(const tn_yaml *values, tn_arena *arena, tn_axis *choice, tn_error *error) {
    if (values->kind == TN_YAML_MAPPING) {
        TN_TRY(expand_range(values, arena, choice, error));
    } else {
        TN_TRY(decode_list(values, read_rank, NULL, arena, choice, error));
        for (size_t i = 0; i < choice->count; i++)
            TN_TRY(read_ranks(values->item[i], i, arena, choice, error));
    }
    for (size_t i = 0; i < choice->count; i++)
        if (choice->number[i] == 0)
            return tn_fail_at(error, TN_INPUT, values->position, "a rank is at least 1");
    return TN_OK;
}

static tn_status decode_of_weight(const tn_yaml *values, tn_model *model, tn_arena *arena, tn_axis *choice,
                                  tn_error *error) {
    switch (choice->kind) {
    case TN_AXIS_FOLDING:
        return tn_axis_decode_foldings(values, &tn_model_weight_at(model, choice->weight)->weight, arena,
                                       choice, error);
    case TN_AXIS_RANK:
        return decode_ranks(values, arena, choice, error);
    case TN_AXIS_FLOW:
        return decode_list(values, read_name, tn_flow_names, arena, choice, error);
    default:
        return decode_list(values, read_name, tn_format_names, arena, choice, error);
    }
}

static tn_status decode_values(const tn_yaml *values, tn_model *model, tn_arena *arena, tn_axis *choice,
                               tn_error *error) {
    static const struct {
        const char *name;
        tn_axis_kind kind;
    } of_weight[] = {{"folding", TN_AXIS_FOLDING},
                     {"rank", TN_AXIS_RANK},
                     {"flow", TN_AXIS_FLOW},
                     {"format", TN_AXIS_FORMAT}};
    if (strncmp(choice->key, "build.", 6) == 0)
        return decode_build(values, choice->key + 6, arena, choice, error);
    choice->kind = strcmp(choice->key, "model") == 0    ? TN_AXIS_MODEL
                   : strcmp(choice->key, "device") == 0 ? TN_AXIS_DEVICE
                                                        : TN_AXIS_MODEL_KEY;
    if (strncmp(choice->key, "weights.", 8) == 0) {
        const char *what;
        TN_TRY(split_weight_key(model, choice, &what, error));
        for (size_t i = 0; i < sizeof of_weight / sizeof *of_weight; i++)
            if (strcmp(what, of_weight[i].name) == 0) choice->kind = of_weight[i].kind;
    }
    if (!tn_axis_is_of_weight(choice)) return decode_list(values, read_text, NULL, arena, choice, error);
    return decode_of_weight(values, model, arena, choice, error);
}

/* Values as texts that are equal where the values are: 0.5 and 0.50 are. */
static tn_status value_texts(const tn_axis *choice, tn_arena *arena, const char **text, tn_error *error) {
    tn_buffer value = {0};
    for (size_t i = 0; i < choice->count; i++) {
        double real;
        value.length = 0;
        tn_axis_value(choice, i, &value);
        if (value.status != TN_OK) break;
        if (choice->kind == TN_AXIS_MODEL_KEY && tn_read_real(value.data, &real) == TN_NUMBER_OK) {
            value.length = 0;
            tn_buffer_format(&value, "%.17g", real);
        }
        if (value.status == TN_OK)
            TN_TRY(tn_arena_copy_text(arena, value.data, value.length, &text[i], error));
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the values of a choice");
}

typedef struct {
    const char *text;
    size_t place;
} placed_text;

static int by_text_then_place(const void *a, const void *b) {
    const placed_text *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static tn_status refuse_twice(const tn_yaml *values, const tn_axis *choice, placed_text *sorted,
                              const char **text, tn_arena *arena, tn_error *error) {
    TN_TRY(value_texts(choice, arena, text, error));
    for (size_t i = 0; i < choice->count; i++) sorted[i] = (placed_text){text[i], i};
    qsort(sorted, choice->count, sizeof *sorted, by_text_then_place);
    for (size_t i = 1; i < choice->count; i++)
        if (strcmp(sorted[i - 1].text, sorted[i].text) == 0) {
            bool listed = values->kind == TN_YAML_SEQUENCE && values->count == choice->count;
            return tn_fail_at(
                error, TN_INPUT, listed ? values->item[sorted[i].place]->position : values->position,
                "%s is given twice as a value of %s; give it once", sorted[i].text, choice->key);
        }
    return TN_OK;
}

/* Numbers one greater than the other, as ranges and most lists are. */
static bool ascends(const tn_axis *choice) {
    if (!choice->number || choice->text) return false;
    for (size_t i = 1; i < choice->count; i++)
        if (choice->number[i] <= choice->number[i - 1]) return false;
    return true;
}

/* A value given twice would be two designs that are one. */
static tn_status check_distinct(const tn_yaml *values, const tn_axis *choice, tn_error *error) {
    tn_arena arena = {0};
    const char **text;
    placed_text *sorted;
    if (ascends(choice)) return TN_OK;
    tn_status status = TN_NEW(&arena, choice->count, &text, error);
    if (status == TN_OK) status = TN_NEW(&arena, choice->count, &sorted, error);
    if (status == TN_OK) status = refuse_twice(values, choice, sorted, text, &arena, error);
    tn_arena_free(&arena);
    return status;
}

static tn_axis_stored stored_as(const tn_axis *choice) {
    tn_axis_stored best = TN_STORED_INTEGER;
    if (choice->kind == TN_AXIS_FOLDING) return TN_STORED_TEXT;
    for (size_t i = 0; i < choice->count; i++) {
        const char *text = choice->text ? choice->text[i] : NULL;
        uint64_t count = text ? UINT64_MAX : choice->number[i];
        double real;
        if (text && choice->kind != TN_AXIS_MODEL_KEY) return TN_STORED_TEXT;
        if (text && tn_read_count(text, &count) != TN_NUMBER_OK) count = UINT64_MAX;
        if (count <= INT64_MAX) continue;
        if (!text || tn_read_real(text, &real) != TN_NUMBER_OK) return TN_STORED_TEXT;
        best = TN_STORED_REAL;
    }
    return best;
}

static tn_status check_values(const tn_yaml *values, tn_axis *choice, tn_error *error) {
    if (choice->count == 0)
        return tn_fail_at(error, TN_INPUT, values->position,
                          "%s has no value to choose from; widen its bounds or list some", choice->key);
    TN_TRY(check_distinct(values, choice, error));
    choice->stored = stored_as(choice);
    return TN_OK;
}

tn_status tn_axis_decode(const char *key, tn_position position, const tn_yaml *values, tn_model *model,
                         tn_arena *arena, tn_axis *choice, tn_error *error) {
    *choice = (tn_axis){.key = key, .position = position};
    TN_TRY(decode_values(values, model, arena, choice, error));
    return check_values(values, choice, error);
}

tn_status tn_axis_decode_weight(const char *key, tn_position position, const tn_yaml *values, tn_model *model,
                                size_t weight, tn_axis_kind kind, tn_arena *arena, tn_axis *choice,
                                tn_error *error) {
    *choice = (tn_axis){.key = key, .position = position, .kind = kind, .weight = weight};
    TN_TRY(decode_of_weight(values, model, arena, choice, error));
    return check_values(values, choice, error);
}

bool tn_axis_is_of_weight(const tn_axis *choice) {
    return choice->kind >= TN_AXIS_FORMAT && choice->kind <= TN_AXIS_FLOW;
}

bool tn_axis_varies(const tn_axis *choice, size_t weight) {
    if (!tn_axis_is_of_weight(choice)) return false;
    bool varies = choice->weight == weight;
    for (size_t i = 0; i < choice->more; i++) varies |= choice->more_weight[i] == weight;
    return varies;
}

static void put_folding(const tn_folding *folding, tn_buffer *out) {
    for (uint32_t i = 0; i < folding->d; i++)
        tn_buffer_format(out, i ? "x%" PRIu64 : "%" PRIu64, folding->factor[i]);
}

tn_status tn_axis_set_ranks(const tn_axis *choice, size_t digit, tn_weight *weight, tn_error *error) {
    const tn_rank_list *list = &choice->rank_list[digit];
    uint32_t count = tn_weight_rank_count(weight);
    if (list->count != count)
        return tn_fail_at(
            error, TN_INPUT, choice->position,
            "ranks %s are %" PRIu32 "; format %s with %" PRIu32 " factors per side has %" PRIu32,
            choice->text[digit], list->count, tn_format_names[weight->format], weight->d, count);
    weight->rank_count = count;
    memcpy(weight->rank, list->rank, count * sizeof *weight->rank);
    tn_error why = {0};
    tn_status status = tn_weight_check(weight, &why);
    return status == TN_OK ? TN_OK
                           : tn_fail_at(error, status, choice->position, "ranks %s: %.900s",
                                        choice->text[digit], why.message);
}

void tn_axis_value(const tn_axis *choice, size_t digit, tn_buffer *out) {
    if (choice->kind == TN_AXIS_FOLDING) {
        put_folding(&choice->folding[digit].m, out);
        tn_buffer_text(out, ",");
        put_folding(&choice->folding[digit].n, out);
    } else if (choice->text && choice->text[digit]) {
        tn_buffer_text(out, choice->text[digit]);
    } else {
        tn_buffer_format(out, "%" PRIu64, choice->number[digit]);
    }
}

typedef struct {
    tn_count_list factors;
    uint64_t smallest, largest;
    tn_position largest_at;
    uint32_t pairs;
} foldings_request;
enum { PAIRS_ALL, PAIRS_MIRRORED, PAIRS_SAME };
static const char *const pair_names[] = {"all", "mirrored", "same", NULL};
static const tn_field foldings_fields[] = {
    TN_KEY(COUNT_LIST, foldings_request, factors, "numbers of factors to fold each side into", TN_REQUIRED,
           TN_WITHIN(1, TN_FACTORS_MOST)),
    TN_KEY(COUNT, foldings_request, smallest, "least factor", TN_DEFAULT("2"), TN_WITHIN(1, 1e15)),
    TN_KEY(COUNT, foldings_request, largest, "greatest factor", TN_REQUIRED, TN_WITHIN(1, 1e15),
           TN_SEEN(foldings_request, largest_at)),
    TN_KEY(CHOICE, foldings_request, pairs,
           "all: every m with every n; mirrored: n is m backwards; same: n is m (both need a square matrix)",
           TN_DEFAULT("all"), TN_ONE_OF(pair_names)),
};
static const tn_schema foldings_schema = TN_SCHEMA("foldings", foldings_request, foldings_fields);

typedef struct {
    tn_folding_pair *item;
    size_t count, capacity;
} pair_list;

static tn_status add_pair(pair_list *list, const tn_folding *m, const tn_folding *n, tn_error *error) {
    if (list->count == TN_AXIS_VALUES_MOST)
        return tn_fail(error, TN_LIMIT, "over %d foldings; narrow the bounds of the factors",
                       TN_AXIS_VALUES_MOST);
    TN_TRY(TN_GROW(&list->item, &list->capacity, list->count + 1, error));
    list->item[list->count++] = (tn_folding_pair){*m, *n};
    return TN_OK;
}

static tn_folding backwards(const tn_folding *folding) {
    tn_folding mirror = {.d = folding->d};
    for (uint32_t i = 0; i < folding->d; i++) mirror.factor[i] = folding->factor[folding->d - 1 - i];
    return mirror;
}

static tn_status enumerate_pairs(const foldings_request *request, uint64_t rows, uint64_t columns,
                                 tn_arena *arena, pair_list *list, tn_error *error) {
    if (request->smallest > request->largest)
        return tn_fail_at(error, TN_INPUT, request->largest_at,
                          "the greatest factor is %" PRIu64 " and the least one %" PRIu64
                          "; no factor lies between",
                          request->largest, request->smallest);
    for (size_t i = 0; i < request->factors.count; i++) {
        uint32_t d = (uint32_t)request->factors.item[i];
        tn_foldings m, n;
        TN_TRY(tn_foldings_all(rows, d, request->smallest, request->largest, arena, &m, error));
        TN_TRY(tn_foldings_all(columns, d, request->smallest, request->largest, arena, &n, error));
        for (size_t a = 0; a < m.count; a++) {
            tn_folding mirror = backwards(&m.item[a]);
            if (request->pairs == PAIRS_MIRRORED) TN_TRY(add_pair(list, &m.item[a], &mirror, error));
            if (request->pairs == PAIRS_SAME) TN_TRY(add_pair(list, &m.item[a], &m.item[a], error));
            for (size_t b = 0; request->pairs == PAIRS_ALL && b < n.count; b++)
                TN_TRY(add_pair(list, &m.item[a], &n.item[b], error));
        }
    }
    return TN_OK;
}

static tn_status read_pair(const tn_yaml *node, uint64_t rows, uint64_t columns, pair_list *list,
                           tn_error *error) {
    tn_folding m, n;
    uint64_t m_size, n_size;
    const char *rest = node->kind == TN_YAML_SCALAR ? tn_folding_read(node->text, &m, &m_size) : NULL;
    if (rest && *rest == ',')
        rest = tn_folding_read(rest + 1, &n, &n_size);
    else
        rest = NULL;
    if (!rest || *rest || m.d != n.d)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "not a folding; write both sides with equally many factors, as \"12x8x8,8x8x12\"");
    if (m_size != rows || n_size != columns)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "folding multiplies to %" PRIu64 " x %" PRIu64 "; the matrix is %" PRIu64
                          " x %" PRIu64,
                          m_size, n_size, rows, columns);
    return add_pair(list, &m, &n, error);
}

static tn_status list_pairs(const tn_yaml *values, uint64_t rows, uint64_t columns, tn_arena *arena,
                            pair_list *list, tn_error *error) {
    if (values->kind == TN_YAML_SEQUENCE) {
        for (size_t i = 0; i < values->count; i++)
            TN_TRY(read_pair(values->item[i], rows, columns, list, error));
        return TN_OK;
    }
    foldings_request request;
    TN_TRY(tn_schema_decode(&foldings_schema, values, arena, &request, error));
    if (request.pairs != PAIRS_ALL && rows != columns)
        return tn_fail_at(error, TN_INPUT, values->position,
                          "pairs: %s needs a square matrix, this one is %" PRIu64 " x %" PRIu64
                          "; use pairs: all",
                          pair_names[request.pairs], rows, columns);
    tn_status status = enumerate_pairs(&request, rows, columns, arena, list, error);
    if (status == TN_LIMIT)
        return tn_fail_at(error, TN_LIMIT, values->position,
                          "over %d foldings; narrow the bounds of the factors", TN_AXIS_VALUES_MOST);
    return status;
}

tn_status tn_axis_decode_foldings(const tn_yaml *values, const tn_weight *weight, tn_arena *arena,
                                  tn_axis *choice, tn_error *error) {
    uint64_t rows, columns;
    TN_TRY(tn_weight_rows(weight, &rows, error));
    TN_TRY(tn_weight_columns(weight, &columns, error));
    pair_list list = {0};
    tn_status status = list_pairs(values, rows, columns, arena, &list, error);
    if (status == TN_OK)
        status = tn_arena_alloc(arena, list.count, sizeof *list.item, &choice->folding, error);
    if (status == TN_OK && list.count) memcpy(choice->folding, list.item, list.count * sizeof *list.item);
    choice->count = list.count;
    tn_free(list.item);
    return status;
}

void tn_axis_document_foldings(tn_buffer *out) {
    tn_schema_document(&foldings_schema, out);
}
