#include "finetune/data.h"

#include "base/name_index.h"
#include "text/csv.h"

#include <ctype.h>
#include <string.h>

enum { GPU, MODEL, DATASET, SPARSITY, BATCH, THROUGHPUT, COLUMNS };
static const char *const column_name[COLUMNS] = {"gpu",      "model",      "dataset",
                                                 "sparsity", "batch_size", "queries_per_s"};

static const double least_sparsity = 1e-6, least_throughput = 1e-9, most_throughput = 1e9;
enum { MOST_BATCH = 1000000000 };

static tn_status read_name(const tn_csv *csv, size_t row, size_t column, const char **name, tn_error *error) {
    const tn_csv_cell *cell = tn_csv_at(csv, row, column);
    size_t length = strlen(cell->text);
    if (length == 0)
        return tn_fail_at(error, TN_INPUT, cell->position,
                          "cell in column \"%s\" is empty; it must be a name", csv->head[column].text);
    if (isspace((unsigned char)cell->text[0]) || isspace((unsigned char)cell->text[length - 1]))
        return tn_fail_at(error, TN_INPUT, cell->position,
                          "blanks around \"%s\"; names are compared letter by letter", cell->text);
    *name = cell->text;
    return TN_OK;
}

static tn_status read_point(const tn_csv *csv, size_t row, const size_t *column, tn_finetune_point *point,
                            tn_error *error) {
    uint64_t batch;
    TN_TRY(tn_csv_real(csv, row, column[SPARSITY], least_sparsity, 1, &point->sparsity, error));
    TN_TRY(tn_csv_count(csv, row, column[BATCH], 1, MOST_BATCH, &batch, error));
    TN_TRY(tn_csv_real(csv, row, column[THROUGHPUT], least_throughput, most_throughput, &point->queries_per_s,
                       error));
    point->batch = (double)batch;
    return TN_OK;
}

static bool same(const tn_finetune_group *group, const char *const *name) {
    return strcmp(group->gpu, name[GPU]) == 0 && strcmp(group->model, name[MODEL]) == 0 &&
           strcmp(group->dataset, name[DATASET]) == 0;
}

/* of[row] = the group of each row; counts the points of each. Rows of a group mostly stand together. */
static tn_status sort_rows(const tn_csv *csv, const size_t *column, tn_finetune_data *data, size_t *owner,
                           tn_error *error) {
    size_t last = 0;
    for (size_t row = 0; row < csv->rows; row++) {
        const char *name[3];
        for (size_t i = 0; i < 3; i++) TN_TRY(read_name(csv, row, column[i], &name[i], error));
        size_t found = last;
        if (data->count == 0 || !same(&data->group[last], name))
            for (found = 0; found < data->count && !same(&data->group[found], name);) found++;
        if (found == TN_FINETUNE_MOST_GROUPS)
            return tn_fail_at(error, TN_LIMIT, tn_csv_at(csv, row, 0)->position,
                              "more than %d groups in one file; split it", TN_FINETUNE_MOST_GROUPS);
        if (found == data->count)
            data->group[data->count++] = (tn_finetune_group){.gpu = name[GPU],
                                                             .model = name[MODEL],
                                                             .dataset = name[DATASET],
                                                             .position = tn_csv_at(csv, row, 0)->position};
        owner[row] = last = found;
        data->group[found].count++;
    }
    return TN_OK;
}

static tn_status read_groups(const tn_csv *csv, tn_arena *arena, tn_finetune_data *data, tn_error *error) {
    size_t column[COLUMNS], *owner;
    *data = (tn_finetune_data){.file = csv->file};
    TN_TRY(tn_csv_columns(csv, column_name, COLUMNS, true, column, error));
    if (csv->rows == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = csv->file, .line = 1, .column = 1},
                          "no measurements below the head row; at least two batch sizes are needed");
    TN_TRY(TN_NEW(arena, csv->rows, &owner, error));
    TN_TRY(TN_NEW(arena, csv->rows, &data->group, error));
    TN_TRY(sort_rows(csv, column, data, owner, error));
    for (size_t i = 0; i < data->count; i++) {
        tn_finetune_group *group = &data->group[i];
        TN_TRY(TN_NEW(arena, group->count, &group->point, error));
        group->count = 0;
    }
    for (size_t row = 0; row < csv->rows; row++) {
        tn_finetune_group *group = &data->group[owner[row]];
        TN_TRY(read_point(csv, row, column, &group->point[group->count++], error));
    }
    return TN_OK;
}

tn_status tn_finetune_load(const char *path, tn_arena *arena, tn_finetune_data *data, tn_error *error) {
    tn_csv csv = {0};
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    return read_groups(&csv, arena, data, error);
}

tn_status tn_finetune_parse(const char *name, const char *text, size_t length, tn_arena *arena,
                            tn_finetune_data *data, tn_error *error) {
    tn_csv csv = {0};
    TN_TRY(tn_csv_parse(name, text, length, arena, &csv, error));
    return read_groups(&csv, arena, data, error);
}

static const char *name_of(const tn_finetune_group *group, int column) {
    return column == GPU ? group->gpu : column == MODEL ? group->model : group->dataset;
}

static tn_status unknown_name(const tn_finetune_data *data, int column, const char *wanted, tn_error *error) {
    const char *near = NULL;
    for (size_t i = 0; i < data->count; i++) {
        const char *name = name_of(&data->group[i], column);
        const char *const nearer[] = {near ? near : name, name};
        near = tn_suggest(wanted, nearer, 2);
    }
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->file},
                      "no measurements of %s '%.60s'; %s%s'", column_name[column], wanted,
                      near ? "did you mean '" : "the first ones are of '",
                      near ? near : name_of(&data->group[0], column));
}

/* Drops the groups whose name in `column` is none of `wanted`. */
static tn_status keep_named(tn_finetune_data *data, int column, const char *const *wanted, size_t count,
                            tn_error *error) {
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        while (found < data->count && strcmp(name_of(&data->group[found], column), wanted[i]) != 0) found++;
        if (found == data->count) return unknown_name(data, column, wanted[i], error);
    }
    size_t kept = 0;
    for (size_t i = 0; i < data->count; i++) {
        size_t match = 0;
        while (match < count && strcmp(name_of(&data->group[i], column), wanted[match]) != 0) match++;
        if (match < count) data->group[kept++] = data->group[i];
    }
    data->count = kept;
    return TN_OK;
}

tn_status tn_finetune_keep(tn_finetune_data *data, const char *gpu, const char *model, const char *dataset,
                           tn_error *error) {
    const char *const wanted[] = {gpu, model, dataset};
    for (int i = GPU; i <= DATASET; i++)
        if (wanted[i]) TN_TRY(keep_named(data, i, &wanted[i], 1, error));
    return TN_OK;
}

tn_status tn_finetune_keep_gpus(tn_finetune_data *data, const char *const *gpu, size_t count,
                                tn_error *error) {
    return keep_named(data, GPU, gpu, count, error);
}

tn_status tn_finetune_without(const tn_finetune_data *data, const char *gpu, tn_arena *arena,
                              tn_finetune_data *rest, tn_error *error) {
    tn_finetune_data made = {.file = data->file};
    TN_TRY(TN_NEW(arena, data->count, &made.group, error));
    for (size_t i = 0; i < data->count; i++)
        if (strcmp(data->group[i].gpu, gpu) != 0) made.group[made.count++] = data->group[i];
    *rest = made;
    return TN_OK;
}

tn_status tn_finetune_need_two_batches(const tn_finetune_point *point, size_t count, tn_error *error) {
    for (size_t i = 1; i < count; i++)
        if (point[i].batch != point[0].batch) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "%zu measurement%s of one batch size; a law of the batch needs at least two sizes", count,
                   count == 1 ? "" : "s");
}

bool tn_finetune_two_sparsities(const tn_finetune_point *point, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (point[i].sparsity != point[0].sparsity) return true;
    return false;
}
