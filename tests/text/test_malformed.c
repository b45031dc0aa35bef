/* Every file of tests/malformed is refused as its .expect file says (see tests/malformed/README.md). */
#include "device/device.h"
#include "device/hls_report.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/language_model.h"
#include "model/model.h"
#include "ranks/accuracy.h"
#include "ranks/problem.h"
#include "space/space.h"
#include "support/malformed.h"
#include "support/shared.h"
#include "tensor/network_file.h"
#include "text/arrays.h"
#include "text/csv.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_status load_yaml(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_status status = tn_yaml_load(path, &arena, &root, error);
    tn_arena_free(&arena);
    return status;
}

/* Reads the measurements and fits a law to each group. */
static tn_status fit_measurements(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_finetune_data data;
    tn_finetune_fit fit;
    tn_status status = tn_finetune_load(path, &arena, &data, error);
    for (size_t i = 0; status == TN_OK && i < data.count; i++)
        status = tn_finetune_fit_group(&data.group[i], TN_FINETUNE_STEP, 0, &fit, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_language_model(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_language_model model;
    tn_status status = tn_language_model_load(path, NULL, 0, &arena, &model, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_hls_report(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_hls_report report;
    tn_status status = tn_hls_report_load(path, &arena, &report, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_gpu_table(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_gpu_table table;
    tn_status status = tn_gpu_table_load(path, &arena, &table, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_table(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_rank_problem problem;
    tn_status status = tn_rank_problem_load(path, &arena, &problem, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_accuracy(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_accuracy *accuracy;
    tn_status status = tn_accuracy_load(path, &arena, &accuracy, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_network(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_network network;
    const char *name;
    tn_status status = tn_network_load(path, &arena, &network, &name, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_device(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_device *device;
    tn_status status = tn_device_load(path, NULL, 0, &arena, &device, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_csv(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_csv csv;
    tn_status status = tn_csv_load(path, &arena, &csv, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_model(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_model *model;
    tn_status status = tn_model_load(path, NULL, 0, &arena, &model, error);
    tn_arena_free(&arena);
    return status;
}

/* Opens the file and reads every array in it. */
static tn_status load_arrays(const char *path, tn_error *error) {
    tn_arrays *arrays;
    TN_TRY(tn_arrays_open(path, &arrays, error));
    tn_status status = TN_OK;
    for (size_t i = 0; i < tn_arrays_count(arrays) && status == TN_OK; i++) {
        double *values = malloc(((size_t)tn_arrays_info(arrays, i)->elements + 1) * sizeof *values);
        assert_non_null(values);
        status = tn_arrays_read(arrays, i, values, error);
        free(values);
    }
    tn_arrays_close(arrays);
    return status;
}

static tn_status load_space(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_space space;
    tn_status status = tn_space_load(path, NULL, 0, NULL, &arena, &space, error);
    tn_arena_free(&arena);
    return status;
}

typedef struct kind {
    const char *folder;
    tn_status (*load)(const char *path, tn_error *error);
} kind;

static const kind KINDS[] = {
    {"accuracy", load_accuracy},
    {"csv", load_csv},
    {"device", load_device},
    {"finetune", fit_measurements},
    {"gpu-table", load_gpu_table},
    {"hls-report", load_hls_report},
    {"language-model", load_language_model},
    {"network", load_network},
    {"table", load_table},
    {"model", load_model},
    {"npy", load_arrays},
    {"npz", load_arrays},
    {"safetensors", load_arrays},
    {"space", load_space},
    {"yaml", load_yaml},
};

enum { FEWEST_CASES = 60 };

typedef struct run {
    const kind *kind;
    int failed;
} run;

static void try_file(const test_malformed *file, void *user) {
    run *now = user;
    tn_error error = {0};
    tn_status status = now->kind->load(file->path, &error);
    bool place = file->line == 0 || (file->line == error.line && file->column == error.column);
    if (status == file->status && place && test_malformed_says(file, error.message) &&
        strcmp(error.file, file->path) == 0)
        return;
    char text[2048];
    tn_error_text(&error, text, sizeof text);
    print_error("status %d, not %d: %s\n", (int)status, (int)file->status, text);
    now->failed++;
}

static void every_file(void **state) {
    (void)state;
    int cases = 0, failed = 0;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        run now = {.kind = &KINDS[i]};
        int of_kind = test_malformed_each(KINDS[i].folder, try_file, &now);
        print_message("%-12s %3d files\n", KINDS[i].folder, of_kind);
        assert_true(of_kind > 0);
        cases += of_kind;
        failed += now.failed;
    }
    print_message("%-12s %3d files\n", "all", cases);
    assert_int_equal(failed, 0);
    assert_true(cases >= FEWEST_CASES);
}

static void every_folder_has_a_parser(void **state) {
    (void)state;
    DIR *listing = opendir(test_source("tests/malformed"));
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        bool known = entry->d_name[0] == '.' || strcmp(entry->d_name, "README.md") == 0;
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
            known |= strcmp(KINDS[i].folder, entry->d_name) == 0;
        if (!known) print_error("tests/malformed/%s: no parser in the table\n", entry->d_name);
        assert_true(known);
    }
    closedir(listing);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_file),
                                       cmocka_unit_test(every_folder_has_a_parser)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
