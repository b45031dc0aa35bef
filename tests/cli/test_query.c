/* tenfold query against SQLite, which evaluates the same conditions over the same store. */
#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static sqlite3 *store;

static void sweep(const char *name, const char *option) {
    test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), option, "-o",
                                test_in_folder(name), NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
}

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    sweep("kept", "--keep-all");
    sweep("front", "--quiet");
    return sqlite3_open_v2(test_in_folder("kept/sweep.db"), &store, SQLITE_OPEN_READONLY, NULL);
}

static int tear_down(void **state) {
    sqlite3_close(store);
    return test_folder_remove(state);
}

/* A condition, and the same in SQL. */
typedef struct {
    const char *expression, *sql;
} question;
static const question questions[] = {
    {"watts < 11", "watts < 11"},
    {"dsp >= 300 and bram18 <= 1000", "dsp >= 300 AND bram18 <= 1000"},
    {"dsp >= 300 or bram18 <= 400 and not watts > 11", "dsp >= 300 OR bram18 <= 400 AND NOT watts > 11"},
    {"(dsp >= 300 or bram18 <= 400) and not watts > 11", "(dsp >= 300 OR bram18 <= 400) AND NOT watts > 11"},
    {"not not (uram != bram18)", "NOT NOT (uram <> bram18)"},
    {"weights.square.rank >= 12 and weights.square.flow = optimal",
     "\"weights.square.rank\" >= 12 AND \"weights.square.flow\" = 'optimal'"},
    {"weights.square.folding != '24x32,32x24' and 2 <= build.columns < 8",
     "\"weights.square.folding\" <> '24x32,32x24' AND 2 <= \"build.columns\" AND \"build.columns\" < 8"},
    {"12 > weights.square.rank", "12 > \"weights.square.rank\""},
    {"partition == build.split", "'partition' = \"build.split\""},
    /* Not known: neither true nor false, whatever stands around it. */
    {"accuracy > 0.5", "accuracy > 0.5"},
    {"not (accuracy > 0.5)", "NOT (accuracy > 0.5)"},
    {"accuracy > 0.5 or dsp < 300", "accuracy > 0.5 OR dsp < 300"},
    {"not (accuracy > 0.5 and dsp < 300)", "NOT (accuracy > 0.5 AND dsp < 300)"},
    {"id != 17 and 10 < watts", "id <> 17 AND 10 < watts"},
    /* Units, and last words that one column alone has. */
    {"latency < 12 ms", "seconds_per_step < 0.012"},
    {"on_chip_bytes >= 6 MiB and seconds_per_step < 0.2 min",
     "on_chip_bytes >= 6291456 AND seconds_per_step < 12"},
    {"rank = 12 and energy < 150 mJ", "\"weights.square.rank\" = 12 AND joules_per_step < 0.15"},
};

static void same_ids(const json_t *answer, const char *table, const question *query) {
    char sql[512];
    sqlite3_stmt *select;
    const json_t *rows = json_object_get(answer, "rows");
    snprintf(sql, sizeof sql, "SELECT id, dsp FROM %s WHERE %s ORDER BY id", table, query->sql);
    assert_int_equal(sqlite3_prepare_v2(store, sql, -1, &select, NULL), SQLITE_OK);
    size_t count = 0;
    for (; sqlite3_step(select) == SQLITE_ROW; count++) {
        const json_t *row = json_array_get(rows, count);
        if (json_integer_value(json_object_get(row, "id")) != sqlite3_column_int64(select, 0))
            fail_msg("%s: design %zu differs", query->expression, count);
        assert_int_equal(json_integer_value(json_object_get(row, "dsp")), sqlite3_column_int64(select, 1));
    }
    sqlite3_finalize(select);
    assert_int_equal(json_array_size(rows), count);
    assert_int_equal(json_integer_value(json_object_get(answer, "matched")), count);
}

static void agrees_with_sqlite(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const question *query = &questions[i];
        static const char *const tables[] = {"designs", "front"};
        for (int t = i % 3 ? 1 : 0; t < 2; t++) { /* all designs take longer: of every third question */
            char sql[512];
            sqlite3_stmt *select;
            snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s", tables[t], query->sql);
            assert_int_equal(sqlite3_prepare_v2(store, sql, -1, &select, NULL), SQLITE_OK);
            assert_int_equal(sqlite3_step(select), SQLITE_ROW);
            int status = sqlite3_column_int64(select, 0) == 0;
            sqlite3_finalize(select);
            json_t *answer =
                t == 0 ? test_program_json(status, "query", test_in_folder("kept"), query->expression,
                                           "--all", "--columns", "id,dsp", "--json", NULL)
                       : test_program_json(status, "query", test_in_folder("kept"), query->expression,
                                           "--columns", "id,dsp", "--json", NULL);
            same_ids(answer, tables[t], query);
            json_decref(answer);
        }
    }
}

/* 10 % of the user area's DSP blocks, as `cost` gives their number. */
static void a_percentage_is_of_the_device(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-2enc", "--device", "u50@user-area", "--json", NULL);
    long long dsp = json_integer_value(
        json_object_get(json_object_get(json_object_get(cost, "resources"), "dsp"), "available"));
    assert_true(dsp > 1000);
    char sql[96];
    snprintf(sql, sizeof sql, "dsp <= %.17g", 0.1 * (double)dsp);
    json_t *answer = test_program_json(0, "query", test_in_folder("kept"), "dsp <= 10 %", "--all",
                                       "--columns", "id,dsp", "--json", NULL);
    same_ids(answer, "designs", &(question){"dsp <= 10 %", sql});
    json_decref(answer);
    json_decref(cost);
}

static void order_and_limit(void **state) {
    (void)state;
    for (int descending = 0; descending < 2; descending++) {
        json_t *answer = descending
                             ? test_program_json(0, "query", test_in_folder("kept"), "--sort", "watts",
                                                 "--all", "--limit", "50", "--json", "--descending", NULL)
                             : test_program_json(0, "query", test_in_folder("kept"), "--sort", "watts",
                                                 "--all", "--limit", "50", "--json", NULL);
        const json_t *rows = json_object_get(answer, "rows");
        sqlite3_stmt *select;
        assert_int_equal(sqlite3_prepare_v2(store,
                                            descending ? "SELECT id FROM designs ORDER BY watts DESC, id"
                                                       : "SELECT id FROM designs ORDER BY watts, id",
                                            -1, &select, NULL),
                         SQLITE_OK);
        assert_int_equal(json_array_size(rows), 50);
        for (size_t i = 0; i < 50; i++) {
            assert_int_equal(sqlite3_step(select), SQLITE_ROW);
            assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, i), "id")),
                             sqlite3_column_int64(select, 0));
        }
        sqlite3_finalize(select);
        json_decref(answer);
    }
}

static void all_of_it_as_csv_is_the_front(void **state) {
    (void)state;
    char *front;
    size_t length;
    assert_int_equal(tn_file_read(test_in_folder("kept/front.csv"), 1 << 24, &front, &length, NULL), 0);
    test_run run = test_program("query", test_in_folder("kept"), "--csv", NULL);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, front);
    test_run_free(&run);
    tn_free(front);
}

static void refused(const char *message, const char *expression, const char *option, const char *value) {
    test_run run = option ? test_program("query", test_in_folder("front"), expression, option, value, NULL)
                          : test_program("query", test_in_folder("front"), expression, NULL);
    if (run.status != 2 || !strstr(run.err, message)) fail_msg("%s: %d, %s", expression, run.status, run.err);
    test_run_free(&run);
}

static void errors_have_their_column(void **state) {
    (void)state;
    refused("EXPR:1:1: unknown quantity or choice 'watt'; did you mean 'watts'", "watt < 2", NULL, NULL);
    refused("EXPR:1:15: ", "watts < 2 and dps > 3", NULL, NULL);
    refused("EXPR:1:23: weights.square.flow has no value 'optimla'; did you mean 'optimal'",
            "weights.square.flow = optimla", NULL, NULL);
    refused("EXPR:1:9: watts is no resource", "watts < 80 %", NULL, NULL);
    refused("EXPR:1:11: the parenthesis of column 1", "(watts < 3", NULL, NULL);
    refused("EXPR:1:11: '&' is no word", "watts < 3 && dsp < 3", NULL, NULL);
    refused("EXPR:1:11: ", "bram18 <= 8O %", NULL, NULL);
    refused("EXPR:1:7: expressions do not calculate, so '*'", "watts * 2 < 3", NULL, NULL);
    refused("EXPR:1:11: expressions do not calculate, so '+'", "watts < 3 + 4", NULL, NULL);
    refused("did you mean 'watts'", "watts < 2", "--sort", "watt");
    refused("--columns:1:4: 'id' is named twice", "watts < 99", "--columns", "id,id");
    refused("--keep-all", "watts < 99", "--all", NULL);
}

static void nothing_matches(void **state) {
    (void)state;
    test_run run = test_program("query", test_in_folder("front"), "watts < 1", NULL);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.err, "none of the"));
    assert_string_equal(run.out, "");
    test_run_free(&run);
}

/* A condition in a space keeps exactly the designs that it keeps when asked afterwards. */
static void a_constraint_is_the_same_language(void **state) {
    (void)state;
    static const char condition[] = "watts < 11 or weights.square.flow = optimal and dsp > 200";
    test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), "--quiet", "--keep-all",
                                "-o", test_in_folder("bound"), "--set",
                                "constraints=[\"seconds_per_step <= 0.05\", \"watts < 11 or "
                                "weights.square.flow = optimal and dsp > 200\"]",
                                NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *bounded = test_program_json(0, "query", test_in_folder("bound"), "--all", "--columns", "id,dsp",
                                        "--json", NULL);
    json_t *asked = test_program_json(0, "query", test_in_folder("kept"), condition, "--all", "--columns",
                                      "id,dsp", "--json", NULL);
    assert_true(json_equal(json_object_get(bounded, "rows"), json_object_get(asked, "rows")));
    assert_true(json_array_size(json_object_get(bounded, "rows")) > 100);
    assert_true(json_integer_value(json_object_get(asked, "matched")) <
                json_integer_value(json_object_get(asked, "designs")));
    json_decref(bounded);
    json_decref(asked);
}

static double number(const json_t *object, const char *path) {
    char key[64];
    while (strchr(path, '/')) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(path, "/"), path);
        object = json_object_get(object, key);
        path += strlen(key) + 1;
    }
    if (!json_is_number(json_object_get(object, path))) fail_msg("no number under %s", path);
    return json_number_value(json_object_get(object, path));
}

/* `tenfold cost DIR --point ID` prices the very design that the sweep found. */
static void a_design_costs_what_the_front_says(void **state) {
    static const struct {
        const char *column, *path;
    } same[] = {
        {"seconds_per_step", "latency/seconds_per_step"},
        {"cycles_per_step", "latency/cycles_per_step"},
        {"joules_per_step", "energy/joules_per_step"},
        {"watts", "energy/watts"},
        {"lut", "resources/lut/used"},
        {"dsp", "resources/dsp/used"},
        {"bram18", "resources/bram18/used"},
        {"uram", "resources/uram/used"},
        {"parameters", "parameters"},
    };
    (void)state;
    json_t *asked = test_program_json(0, "query", test_in_folder("kept"), "id != 0", "--all", "--json", NULL);
    const json_t *rows = json_object_get(asked, "rows");
    for (size_t i = 0; i < json_array_size(rows); i += json_array_size(rows) / 3) {
        const json_t *row = json_array_get(rows, i);
        char id[32];
        snprintf(id, sizeof id, "%.0f", number(row, "id"));
        json_t *cost = test_program_json(0, "cost", test_in_folder("kept"), "--point", id, "--json", NULL);
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            if (number(row, same[k].column) != number(cost, same[k].path))
                fail_msg("design %s: %s is %.17g in the sweep and %.17g in cost", id, same[k].column,
                         number(row, same[k].column), number(cost, same[k].path));
        json_decref(cost);
    }
    json_decref(asked);
    json_t *told = test_program_json(0, "recommend", test_in_folder("kept"), "--json", NULL);
    const json_t *choices = json_object_get(told, "choices");
    char condition[512], id[32];
    snprintf(condition, sizeof condition,
             "weights.square.rank = %s and weights.square.folding = '%s' and build.columns = %s",
             json_string_value(json_object_get(choices, "weights.square.rank")),
             json_string_value(json_object_get(choices, "weights.square.folding")),
             json_string_value(json_object_get(choices, "build.columns")));
    snprintf(id, sizeof id, " and id = %.0f", number(told, "design"));
    strcat(condition, id);
    json_decref(test_program_json(0, "query", test_in_folder("kept"), condition, "--json", NULL));
    json_decref(told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_sqlite),
        cmocka_unit_test(a_percentage_is_of_the_device),
        cmocka_unit_test(order_and_limit),
        cmocka_unit_test(all_of_it_as_csv_is_the_front),
        cmocka_unit_test(errors_have_their_column),
        cmocka_unit_test(nothing_matches),
        cmocka_unit_test(a_constraint_is_the_same_language),
        cmocka_unit_test(a_design_costs_what_the_front_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
