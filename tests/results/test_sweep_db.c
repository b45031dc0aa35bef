/* Stores that were damaged, forged or fought for: refused with what is wrong, or the same results. */
#include "base/file.h"
#include "base/memory.h"
#include "results/merge.h"
#include "results/result.h"
#include "search/chunk.h"
#include "support/folder.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLIPS = 300 };

static tn_arena arena;
static tn_space space;
static const tn_sweep_options fresh = {.threads = 1, .keep_all = true},
                              resume = {.threads = 1, .keep_all = true, .resume = true},
                              repair = {.threads = 1, .keep_all = true, .resume = true, .repair = true};

static tn_status sweep(const tn_sweep_options *options, const char *name, tn_error *error) {
    tn_summary summary;
    return tn_sweep_folder(&space, options, test_in_folder(name), NULL, &summary, error);
}

/* The environment has FOLDER. */
static void shell(const char *command) {
    assert_int_equal(system(command), 0);
}

static int set_up(void **state) {
    tn_error error = {0};
    assert_int_equal(test_folder_make(state), 0);
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/mini.yaml"), NULL, 0, NULL, &arena, &space, &error),
        TN_OK);
    assert_int_equal(sweep(&fresh, "whole", &error), TN_OK);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    shell("rm -rf \"$FOLDER\"");
    tn_arena_free(&arena);
    return 0;
}

static void copy_whole(const char *name) {
    setenv("NAME", name, 1);
    shell("cd \"$FOLDER\" && rm -rf \"$NAME\" && cp -r whole \"$NAME\"");
}

static void assert_same_results(const char *name) {
    static const char *const files[] = {"front.csv", "recommended.csv", "sweep.json"};
    for (int i = 0; i < 3; i++) {
        char path[2][160], *data[2];
        size_t length[2];
        snprintf(path[0], sizeof path[0], "%s/whole/%s", test_folder, files[i]);
        snprintf(path[1], sizeof path[1], "%s/%s/%s", test_folder, name, files[i]);
        for (int k = 0; k < 2; k++)
            assert_int_equal(tn_file_read(path[k], 1 << 24, &data[k], &length[k], NULL), TN_OK);
        assert_int_equal(length[0], length[1]);
        assert_memory_equal(data[0], data[1], length[0]);
        tn_free(data[0]);
        tn_free(data[1]);
    }
}

static void execute(const char *name, const char *sql) {
    sqlite3 *database;
    char path[160], *message = NULL;
    snprintf(path, sizeof path, "%s/%s/sweep.db", test_folder, name);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    int code = sqlite3_exec(database, sql, NULL, NULL, &message);
    if (code != SQLITE_OK) print_error("%s: %s\n", sql, message);
    assert_int_equal(code, SQLITE_OK);
    sqlite3_close(database);
}

/* The number that a query gives. */
static int64_t number(const char *name, const char *sql) {
    sqlite3 *database;
    sqlite3_stmt *query;
    char path[160];
    snprintf(path, sizeof path, "%s/%s/sweep.db", test_folder, name);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &query, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(query), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(database);
    return value;
}

static void flip(const char *name, unsigned long bit) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s/sweep.db", test_folder, name);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    unsigned long bits = 8 * (unsigned long)ftell(file), index = bit % bits;
    fseek(file, (long)(index / 8), SEEK_SET);
    int byte = fgetc(file) ^ (1 << index % 8);
    fseek(file, (long)(index / 8), SEEK_SET);
    fputc(byte, file);
    fclose(file);
}

/* One bit anywhere: refused, or without consequence; --repair always leads to the same results. */
static void flipped_bits_change_nothing(void **state) {
    uint64_t random = 88172645463325252u;
    int refused = 0;
    (void)state;
    for (int i = 0; i < FLIPS; i++) {
        tn_error error = {0};
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        copy_whole("flipped");
        flip("flipped", (unsigned long)random);
        tn_status status = sweep(&resume, "flipped", &error);
        if (status != TN_OK && status != TN_INPUT) print_error("%d: %s\n", i, error.message);
        assert_true(status == TN_OK || status == TN_INPUT);
        refused += status == TN_INPUT;
        if (status == TN_INPUT) {
            status = sweep(&repair, "flipped", &error);
            if (status != TN_OK) print_error("%d: %s\n", i, error.message);
        }
        assert_int_equal(status, TN_OK);
        assert_same_results("flipped");
    }
    assert_in_range(refused, FLIPS / 10, FLIPS);
}

static void assert_refused_and_repaired(const char *what) {
    tn_error error = {0};
    tn_status status = sweep(&resume, "forged", &error);
    if (status != TN_INPUT) print_error("%s: status %d\n", what, (int)status);
    assert_int_equal(status, TN_INPUT);
    status = sweep(&repair, "forged", &error);
    if (status != TN_OK) print_error("%s: %s\n", what, error.message);
    assert_int_equal(status, TN_OK);
    assert_same_results("forged");
    assert_int_equal(sweep(&resume, "forged", &error), TN_OK);
    assert_int_equal(number("forged", "SELECT count(*) FROM designs"),
                     number("whole", "SELECT count(*) FROM designs"));
}

static void forged_stores_are_refused(void **state) {
    static const char *const statements[] = {
        "UPDATE chunk SET chunk = chunk + 1000000000000",
        "UPDATE chunk SET chunk = -1 - chunk",
        "DELETE FROM chunk WHERE chunk = 3",
        "DELETE FROM chunk",
        "UPDATE chunk SET record = (SELECT record FROM chunk WHERE chunk = 0)",
        "UPDATE chunk SET record = zeroblob(100000)",
        "UPDATE chunk SET record = x''",
        "UPDATE chunk SET sha256 = zeroblob(32) WHERE chunk = 2",
        "UPDATE meta SET value = '99' WHERE number = 3",
        "UPDATE meta SET value = '-1' WHERE number = 3",
        "UPDATE meta SET value = value || 'x' WHERE number = 1",
        "DELETE FROM meta",
        "DELETE FROM designs",
        "UPDATE designs SET dsp = dsp + 1 WHERE id = (SELECT min(id) FROM designs)",
        "UPDATE designs SET dsp = NULL",
        "UPDATE designs SET id = id + 1000000",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE INDEX extra ON chunk (record)",
        "CREATE TRIGGER extra AFTER INSERT ON chunk BEGIN DELETE FROM chunk; END",
        "DROP TABLE chunk",
        "DROP TABLE chunk; CREATE TABLE chunk (chunk, record, sha256)",
        "DROP TABLE chunk; CREATE VIEW chunk AS WITH RECURSIVE n(chunk) AS (SELECT 0 UNION ALL SELECT chunk "
        "+ 1 "
        "FROM n) SELECT chunk, x'00' AS record, x'00' AS sha256 FROM n",
        "ALTER TABLE meta ADD COLUMN more TEXT",
    };
    (void)state;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        copy_whole("forged");
        execute("forged", statements[i]);
        assert_refused_and_repaired(statements[i]);
    }
}

/* A record that is as it should be but for its values, with the right checksum. */
static void invented_values_are_refused(void **state) {
    tn_error error = {0};
    tn_sweep_db *store;
    tn_outcome invented;
    const uint64_t none[2] = {0, 0};
    const tn_sweep_options options = {.threads = 1, .resume = true};
    (void)state;
    shell("rm -rf \"$FOLDER/invented\"");
    assert_int_equal(tn_sweep_db_open(test_in_folder("invented"), &space, &options, &store, &error), TN_OK);
    tn_outcome_begin(&space, &invented);
    tn_chunk chunk = tn_chunk_at(&space, 0);
    tn_point point = {.id = tn_space_id(&space, chunk.outer, chunk.first)};
    for (size_t i = 0; i < space.objectives; i++) point.value[i] = -1e9;
    assert_int_equal(tn_archive_offer(&invented.front, &point, &error), TN_OK);
    invented.evaluated = invented.count[TN_CAUSE_NONE] = chunk.designs;
    assert_int_equal(tn_sweep_db_chunk(store, 0, &invented, none, &error), TN_OK);
    assert_int_equal(tn_sweep_db_commit(store, &error), TN_OK);
    tn_sweep_db_close(store);
    tn_outcome_free(&invented);
    assert_int_equal(sweep(&options, "invented", &error), TN_INPUT);
    assert_non_null(strstr(error.message, "what it is not"));
    const tn_sweep_options mend = {.threads = 1, .resume = true, .repair = true};
    assert_int_equal(sweep(&mend, "invented", &error), TN_OK);
    shell("cmp -s \"$FOLDER/invented/front.csv\" \"$FOLDER/whole/front.csv\"");
}

static void second_writer_is_refused(void **state) {
    tn_error error = {0};
    tn_sweep_db *store;
    char process[32];
    (void)state;
    copy_whole("shared");
    assert_int_equal(tn_sweep_db_open(test_in_folder("shared"), &space, &resume, &store, &error), TN_OK);
    assert_int_equal(sweep(&resume, "shared", &error), TN_IO);
    snprintf(process, sizeof process, "process %ld ", (long)getpid());
    assert_non_null(strstr(error.message, process));
    tn_sweep_db_close(store);
    assert_int_equal(sweep(&resume, "shared", &error), TN_OK);
    assert_same_results("shared");
}

static void write_file(const char *name, const void *bytes, size_t length) {
    assert_int_equal(tn_file_write(test_in_folder(name), bytes, length, NULL), TN_OK);
}

static tn_status merge(const char *name, tn_error *error) {
    tn_arena own = {0};
    tn_summary summary;
    const char *missing, *parts[] = {test_in_folder(name)};
    shell("rm -rf \"$FOLDER/merged\"");
    tn_status status = tn_merge_folders(parts, 1, test_in_folder("merged"), &own, &summary, &missing, error);
    tn_arena_free(&own);
    return status;
}

/* SQLite would delete the file that a journal names as its super-journal. */
static void super_journal_is_refused(void **state) {
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char journal[4096] = {0};
    tn_error error = {0};
    (void)state;
    const char *victim = test_in_folder("victim");
    size_t length = strlen(victim), index = 1024;
    uint32_t sum = 0;
    write_file("victim", "precious", 8);
    copy_whole("trap");
    memcpy(journal, magic, sizeof magic);
    memcpy(journal + index + 4, victim, length);
    for (size_t i = 0; i < length; i++) sum += (unsigned char)victim[i];
    for (int i = 0; i < 4; i++) {
        journal[index + 4 + length + (size_t)i] = (unsigned char)(length >> (24 - 8 * i));
        journal[index + 8 + length + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
    }
    memcpy(journal + index + 12 + length, magic, sizeof magic);
    write_file("trap/sweep.db-journal", journal, index + 20 + length);
    assert_int_equal(sweep(&resume, "trap", &error), TN_INPUT);
    assert_int_equal(merge("trap", &error), TN_INPUT);
    assert_int_equal(access(test_in_folder("victim"), F_OK), 0);
    assert_int_equal(sweep(&repair, "trap", &error), TN_OK);
    assert_int_equal(access(test_in_folder("victim"), F_OK), 0);
    assert_same_results("trap");
}

static void links_are_not_followed(void **state) {
    static const char *const names[] = {"sweep.db", "sweep.lock", "sweep.db-journal", "sweep.db-wal",
                                        "sweep.db-shm"};
    tn_error error = {0};
    (void)state;
    write_file("victim", "precious", 8);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[160], *data;
        size_t length;
        copy_whole("links");
        snprintf(path, sizeof path, "%s/links/%s", test_folder, names[i]);
        unlink(path);
        assert_int_equal(symlink(test_in_folder("victim"), path), 0);
        tn_status status = sweep(&resume, "links", &error);
        if (status == TN_OK) print_error("%s was followed\n", names[i]);
        assert_true(status == TN_INPUT || status == TN_IO);
        status = merge("links", &error);
        assert_true(status == TN_INPUT || status == TN_IO);
        assert_int_equal(tn_file_read(test_in_folder("victim"), 100, &data, &length, &error), TN_OK);
        assert_string_equal(data, "precious");
        tn_free(data);
    }
}

static void edited_inputs_are_named(void **state) {
    static const char *const names[] = {"space.yaml", "model.yaml", "device.yaml"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        tn_error error = {0};
        tn_arena own = {0};
        tn_result result;
        char path[160];
        copy_whole("edited");
        snprintf(path, sizeof path, "%s/edited/%s", test_folder, names[i]);
        setenv("EDITED", path, 1);
        shell("echo '# edited' >>\"$EDITED\"");
        assert_int_equal(tn_result_load(test_in_folder("edited"), &own, &result, &error), TN_INPUT);
        assert_string_equal(error.file, path);
        assert_int_equal(merge("edited", &error), TN_INPUT);
        assert_string_equal(error.file, path);
        tn_arena_free(&own);
    }
}

static void numbers_are_numbers(void **state) {
    (void)state;
    assert_int_equal(number("whole", "SELECT count(*) FROM designs WHERE \"weights.square.rank\" >= 8"),
                     number("whole", "SELECT count(*) FROM designs WHERE \"weights.square.rank\" = 12"));
    assert_true(number("whole", "SELECT count(*) FROM designs WHERE \"weights.square.rank\" >= 8") > 0);
    assert_true(number("whole", "SELECT count(*) FROM front WHERE \"build.rows\" + \"sequence\" > 16") > 0);
    assert_int_equal(number("whole", "SELECT count(*) FROM front WHERE relative_error IS NOT NULL"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bits_change_nothing), cmocka_unit_test(forged_stores_are_refused),
        cmocka_unit_test(invented_values_are_refused), cmocka_unit_test(second_writer_is_refused),
        cmocka_unit_test(super_journal_is_refused),    cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(edited_inputs_are_named),     cmocka_unit_test(numbers_are_numbers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
