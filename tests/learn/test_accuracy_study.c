/* A study of a small space on generated questions: what is trained, how often, and that a study goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/accuracy_study.h"
#include "learn/generated.h"
#include "text/csv.h"

static char folder[64], data_folder[96], study_folder[96];

static const char model_text[] =
    "kind: model\nname: small\nsequence: 24\nflow: optimal\n"
    "training: {learning_rate: 0.05, epochs: 4}\n"
    "weights:\n  square: {format: tt, m: 4x4, n: 4x4, rank: 6}\n"
    "layers:\n  - {name: embedding, kind: embedding, vocabulary: 256, width: 16}\n"
    "  - {name: query, kind: linear, outputs: 16, weight: square}\n"
    "  - {name: first-token, kind: first-token}\n"
    "  - {name: intent-head, kind: linear, outputs: 8}\n  - {name: intent-loss, kind: cross-entropy}\n"
    "  - {name: slot-head, kind: linear, outputs: 64, input: query}\n  - {name: slot-loss, kind: "
    "cross-entropy}\n";

static void put(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    (void)state;
    const tn_generated how = {.train = 60, .dev = 20, .test = 20, .seed = 3};
    char space[512];
    snprintf(folder, sizeof folder, "/tmp/tenfold-study-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(data_folder, sizeof data_folder, "%s/data", folder);
    snprintf(study_folder, sizeof study_folder, "%s/study", folder);
    put("small.yaml", model_text);
    snprintf(space, sizeof space,
             "kind: space\nname: small\nmodel: %s/small.yaml\ndevice: u50\nset: "
             "[training.learning_rate=0.3]\nchoices:\n"
             "  build.rows: [1, 2]\n  weights.square.rank: [1, 2, 4, 8]\n"
             "  weights.square.flow: [right-to-left, optimal]\n"
             "  weights.square.folding: [\"4x4,4x4\", \"2x8,8x2\"]\nobjectives: [seconds_per_step]\n",
             folder);
    put("space.yaml", space);
    snprintf(space, sizeof space,
             "kind: space\nname: formats\nmodel: %s/small.yaml\ndevice: u50\nchoices:\n"
             "  weights.square.rank: [2, 4]\n  precision.products: [fp32, int8]\n"
             "objectives: [seconds_per_step]\n",
             folder);
    put("formats.yaml", space);
    snprintf(space, sizeof space,
             "kind: space\nname: telling\nmodel: %s/small.yaml\ndevice: u50\nset: "
             "[training.learning_rate=0.3]\nchoices:\n"
             "  weights.square.rank: [1, 2, 3, 4, 5, 6, 8, 12]\n  build.rows: [1, 2, 4]\n"
             "  weights.square.folding: [\"4x4,4x4\", \"2x8,8x2\", \"8x2,2x8\", \"2x2x4,4x2x2\"]\n",
             folder);
    put("telling.yaml", space);
    return tn_generated_write(data_folder, &how, NULL) == TN_OK ? 0 : -1;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static tn_status study_in(const char *where, const char *space_name, tn_study_options options,
                          tn_arena *arena, tn_space *space, tn_study *found, tn_error *error) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, space_name);
    options.folder = where;
    options.space_name = path;
    options.shards = options.shards ? options.shards : 1;
    options.seeds = options.seeds ? options.seeds : 1;
    assert_int_equal(tn_space_load(path, NULL, 0, NULL, arena, space, error), TN_OK);
    assert_int_equal(
        tn_train_settings_decode(tn_model_training(space->model), arena, &options.settings_of_runs, error),
        TN_OK);
    return tn_accuracy_study(space, data_folder, &options, arena, found, error);
}

static tn_status study(uint64_t effort, uint64_t seeds, tn_arena *arena, tn_space *space, tn_study *found,
                       tn_error *error) {
    return study_in(study_folder, "space.yaml", (tn_study_options){.effort = effort, .seeds = seeds}, arena,
                    space, found, error);
}

static const tn_study_row *row_with(const tn_study *study, uint64_t id) {
    for (size_t i = 0; i < study->count; i++)
        if (study->row[i].id == id) return &study->row[i];
    return NULL;
}

/* 8 combinations of 4 ranks and 2 foldings: 24 epochs are three candidates of 4 with 2 seeds. */
static void spreads(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_study first, again;
    tn_error error = {0};
    tn_buffer text = {0}, second = {0};
    tn_accuracy_table table;
    tn_csv csv;
    char path[160];
    tn_status status = study(24, 2, &arena, &space, &first, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(first.combinations, 8);
    assert_int_equal(first.count, 3);
    assert_int_equal(first.epochs, 24);
    assert_int_equal(first.sentences, 60);
    for (size_t i = 0; i < first.count; i++) {
        const tn_study_row *row = &first.row[i];
        assert_int_equal(row->epochs, 4);
        assert_int_equal(row->seeds, 2);
        assert_string_equal(row->seed_list, "1 2");
        assert_non_null(strstr(row->command, "--set weights.square.rank=1x"));
        assert_int_equal(isnan(row->spread), row->seeds - row->collapsed < 2);
        assert_int_equal(isnan(row->accuracy), row->seeds == row->collapsed);
        assert_true(isnan(row->accuracy) || (row->accuracy >= 0 && row->accuracy <= 1));
        if (i > 0 && !isnan(row->accuracy)) assert_true(first.row[i - 1].accuracy >= row->accuracy);
        for (size_t k = 0; k < i; k++) assert_int_not_equal(first.row[k].id, row->id);
    }
    tn_study_csv(&space, &first, &text);
    assert_int_equal(tn_csv_parse("table", text.data, text.length, &arena, &csv, &error), TN_OK);
    assert_int_equal(csv.rows, 1 + 3); /* the constant answer, too */
    static const char *const names[] = {"id",       "rank",   "folding", "parameters",
                                        "accuracy", "spread", "command"};
    size_t column[7];
    assert_int_equal(tn_csv_columns(&csv, names, 7, false, column, &error), TN_OK);
    /* A table as spaces take it. */
    snprintf(path, sizeof path, "%s/accuracy.csv", study_folder);
    status = tn_accuracy_table_read(path, &arena, &table, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
    assert_true(table.constant > 0 && table.constant < 1);
    assert_int_equal(table.sentences, 60);
    /* From the runs that are done: the same table, times included. */
    assert_int_equal(study(24, 2, &arena, &space, &again, &error), TN_OK);
    tn_study_csv(&space, &again, &second);
    assert_string_equal(text.data, second.data);
    tn_buffer_free(&text);
    tn_buffer_free(&second);
    tn_arena_free(&arena);
}

/* Side by side or one after the other, in shards or whole: the same runs and scores. */
static void side_by_side(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_study found[3];
    tn_error error = {0};
    char path[3][128];
    for (size_t k = 0; k < 3; k++) {
        snprintf(path[k], sizeof path[k], "%s/side-%zu", folder, k);
        tn_study_options options = {.effort = 32, .threads = k == 1 ? 3 : 1, .shards = k == 2 ? 2 : 1};
        tn_status status = study_in(path[k], "space.yaml", options, &arena, &space, &found[k], &error);
        if (status != TN_OK) fail_msg("%s", error.message);
        if (k < 2) continue;
        assert_int_equal(found[k].count, 4);
        options.shard = 1;
        assert_int_equal(study_in(path[k], "space.yaml", options, &arena, &space, &found[k], &error), TN_OK);
    }
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(found[k].count, 8);
        for (size_t i = 0; i < 8; i++) {
            const tn_study_row *a = &found[0].row[i], *b = row_with(&found[k], a->id);
            assert_non_null(b);
            assert_true(a->dev.loss == b->dev.loss || (isnan(a->dev.loss) && isnan(b->dev.loss)));
            assert_int_equal(a->parameters, b->parameters);
            assert_string_equal(a->command, b->command);
        }
    }
    tn_arena_free(&arena);
}

/* With accuracy as an objective: what begins is spread, the rest are candidates of the front, until the knee is settled as surely
 * as was asked, or the effort is spent. */
static void tells(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_study found;
    tn_error error = {0};
    char where[128];
    snprintf(where, sizeof where, "%s/tells", folder);
    tn_study_options options = {.effort = 80, .sure = 0.6, .threads = 2};
    tn_status status = study_in(where, "telling.yaml", options, &arena, &space, &found, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
    assert_true(found.chosen);
    assert_true(found.recommended < space.choices.designs);
    assert_true(found.probability > 0 && found.probability <= 1);
    assert_non_null(found.ended);
    bool settled = strstr(found.ended, "settled") != NULL;
    assert_true(settled ? found.probability >= 0.6 : found.epochs == 80);
    assert_true(found.epochs >= 4 * 10 && found.count >= 10);
    /* It goes on for more. */
    uint64_t before = found.epochs;
    options = (tn_study_options){.effort = before + 8, .sure = 1.0};
    assert_int_equal(study_in(where, "telling.yaml", options, &arena, &space, &found, &error), TN_OK);
    assert_true(found.epochs == before + 8 || found.probability == 1);
    tn_arena_free(&arena);
}

static const char *test_folder_of(size_t k) {
    static char path[128];
    snprintf(path, sizeof path, "%s/formats-%zu", folder, k);
    return path;
}

/* The i-th by its design's number. */
static const tn_study_row *row_of(const tn_study *study, size_t i) {
    for (size_t k = 0; k < study->count; k++) {
        size_t before = 0;
        for (size_t j = 0; j < study->count; j++) before += study->row[j].id < study->row[k].id;
        if (before == i) return &study->row[k];
    }
    fail_msg("no row %zu", i);
    return NULL;
}

static size_t folders_in(const char *path) {
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Candidates of inference share what was trained for them, whole and in fp32: in fp32 they score as the same space in
 * training, in a format by what it makes of these weights. */
static void inference(void **state) {
    static const char *const answers[] = {"phase=inference"};
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_study found[2];
    tn_error error = {0};
    char path[160];
    tn_study_options options = {.effort = 16, .seeds = 1, .shards = 1};
    snprintf(path, sizeof path, "%s/formats.yaml", folder);
    for (size_t k = 0; k < 2; k++) {
        if (tn_space_load(path, answers, k, NULL, &arena, &space, &error) != TN_OK)
            fail_msg("%s", error.message);
        assert_int_equal(tn_train_settings_decode(tn_model_training(space.model), &arena,
                                                  &options.settings_of_runs, &error),
                         TN_OK);
        options.settings_of_runs.epochs = 4;
        options.settings_of_runs.learning_rate = 0.3;
        options.folder = test_folder_of(k);
        tn_status status = tn_accuracy_study(&space, data_folder, &options, &arena, &found[k], &error);
        if (status != TN_OK) fail_msg("%s", error.message);
        assert_int_equal(found[k].count, 4);
        snprintf(path, sizeof path, "%s/candidates", options.folder);
        assert_int_equal(folders_in(path), k == 0 ? 4 : 2);
        snprintf(path, sizeof path, "%s/formats.yaml", folder);
    }
    for (size_t i = 0; i < 4; i++) {
        const tn_study_row *a = row_of(&found[0], i), *b = row_of(&found[1], i);
        bool fp32 = tn_choices_digit(&space.choices, a->id, 1) == 0;
        assert_int_equal(a->id, b->id);
        assert_int_equal(a->dev.loss == b->dev.loss, fp32);
    }
    tn_arena_free(&arena);
}

static void too_little(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_study found;
    tn_error error = {0};
    assert_int_equal(study(3, 1, &arena, &space, &found, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "--effort 3"));
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(spreads), cmocka_unit_test(side_by_side),
                                       cmocka_unit_test(tells), cmocka_unit_test(inference),
                                       cmocka_unit_test(too_little)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
