#include "explore/axis_foldings.h"

#include "base/memory.h"
#include "text/schema.h"

#include <inttypes.h>
#include <string.h>

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
    TN_TRY(tn_grow(&list->item, &list->capacity, list->count + 1, sizeof *list->item, error));
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
        return tn_fail_at(error, TN_INPUT, node->at,
                          "not a folding; write both sides with equally many factors, as \"12x8x8,8x8x12\"");
    if (m_size != rows || n_size != columns)
        return tn_fail_at(error, TN_INPUT, node->at,
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
        return tn_fail_at(error, TN_INPUT, values->at,
                          "pairs: %s needs a square matrix, this one is %" PRIu64 " x %" PRIu64
                          "; use pairs: all",
                          pair_names[request.pairs], rows, columns);
    tn_status status = enumerate_pairs(&request, rows, columns, arena, list, error);
    if (status == TN_LIMIT)
        return tn_fail_at(error, TN_LIMIT, values->at, "over %d foldings; narrow the bounds of the factors",
                          TN_AXIS_VALUES_MOST);
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
