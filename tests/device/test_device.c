/* Device files: every board against its table, inheritance, variants, sets, origins, and their errors. */
#include "base/file.h"
#include "base/memory.h"
#include "device/device_data.h"
#include "support/folder.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_arena arena;

static tn_device *load(const char *name, size_t count, const char *const *set) {
    tn_device *device;
    tn_error error;
    if (tn_device_load(name, set, count, &arena, &device, &error) != TN_OK)
        fail_msg("%s: %s", name, error.message);
    return device;
}

static void u50_variants(void **state) {
    (void)state;
    static const struct {
        const char *name, *full_name;
        tn_resources has;
    } rows[] = {
        {"u50", "u50@user-area", {757960, 1600485, 5948, 2329, 636}},
        {"u50@user-area", "u50@user-area", {757960, 1600485, 5948, 2329, 636}},
        {"u50@whole", "u50@whole", {870720, 1743360, 5952, 2688, 640}},
        {"u50@slr0", "u50@slr0", {369000, 738000, 2580, 1128, 304}},
        {"u50@slr1", "u50@slr1", {362000, 724000, 2760, 1128, 304}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_device *device = load(rows[i].name, 0, NULL);
        tn_resources has = tn_device_resources(device);
        assert_string_equal(tn_device_name(device), rows[i].full_name);
        assert_memory_equal(&has, &rows[i].has, sizeof has);
        assert_int_equal(tn_device_kind_of(device), TN_DEVICE_FPGA);
    }
}

/* Rows of the boards' table, by the device that each becomes. */
static const char *device_of_board(const char *board) {
    static const char *const pairs[][2] = {
        {"u50 (whole", "u50@whole"},
        {"u50 (user area under shell xdma_5_202210_1)", "u50@user-area"},
        {"u50 (user area under shell xdma_201920_3) SLR0", "u50@slr0"},
        {"u50 (user area under shell xdma_201920_3) SLR1", "u50@slr1"},
        {"u280", "u280"},
        {"u55c", "u55c"},
        {"zcu102", "zcu102"},
        {"kv260", "kv260"},
        {"pynq-z2", "pynq-z2"},
        {"vck190", "vck190"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strncmp(board, pairs[i][0], strlen(pairs[i][0])) == 0) return pairs[i][1];
    return NULL;
}

static void boards_oracle(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/fpga/boards.csv");
    static const char *const names[] = {"board", "part", "lut", "ff", "dsp", "bram36", "uram", "slr"};
    tn_csv csv;
    size_t column[8];
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 8, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        const char *board = tn_csv_at(&csv, row, column[0])->text, *name = device_of_board(board);
        if (!name) fail_msg("no device file for board %s", board);
        const tn_device *device = load(name, 0, NULL);
        const tn_device_resources_data *has = &device->resources;
        double bram36;
        const double got[] = {(double)has->lut, (double)has->ff, (double)has->dsp, 0, (double)has->uram};
        assert_non_null(strstr(tn_csv_at(&csv, row, column[1])->text, device->part));
        assert_int_equal(tn_csv_real(&csv, row, column[5], 0, 1e9, &bram36, NULL), TN_OK);
        assert_int_equal(has->bram18, (uint64_t)(2 * bram36));
        for (size_t i = 0; i < 5; i++) {
            double value;
            /* The table has no flip-flops of an SLR; the file flags its own figure. */
            if (i == 3 || tn_csv_at(&csv, row, column[2 + i])->text[0] == '\0') continue;
            assert_int_equal(tn_csv_real(&csv, row, column[2 + i], 0, 1e9, &value, NULL), TN_OK);
            assert_true(got[i] == value);
        }
    }
    assert_true(csv.rows >= 10);
}

/* Every figure that the boards' table calls unverified is flagged in the file. */
static void unverified_figures(void **state) {
    (void)state;
    static const struct {
        const char *device;
        tn_origin origin;
        const char *unverified; /* of resources */
    } rows[] = {
        {"u50", TN_CONFIRMED, ""},     {"u50@slr0", TN_CONFIRMED, "ff"},
        {"u280", TN_CONFIRMED, ""},    {"zcu102", TN_CONFIRMED, ""},
        {"kv260", TN_CONFIRMED, "ff"}, {"pynq-z2", TN_CONFIRMED, "ff"},
        {"vck190", TN_UNVERIFIED, ""}, {"u55c", TN_CONFIRMED, "ff bram18 uram"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_device *device = load(rows[i].device, 0, NULL);
        char list[64] = "";
        for (size_t j = 0; j < device->resources.unverified.count; j++) {
            if (j) strcat(list, " ");
            strcat(list, device->resources.unverified.item[j]);
        }
        assert_int_equal(device->resources.origin, rows[i].origin);
        assert_string_equal(list, rows[i].unverified);
        const tn_external_memory *external = device->external.item;
        assert_true(device->external.count > 0);
        /* HBM2: its channels are the vendor's, its latency is not read anywhere; */
        const bool hbm = strcmp(external->name, "hbm2") == 0;
        assert_int_equal(external->origin, hbm ? TN_PUBLISHED : TN_UNVERIFIED);
        assert_true((external->unverified.count > 0) == hbm);
        /* the range of what is not sure is half to twice. */
        for (int most = 0; most <= 1; most++) {
            tn_external_memory extreme;
            const tn_device stretched = tn_energy_extreme(device, most, &extreme);
            assert_ptr_equal(stretched.external.item, &extreme);
            assert_true(extreme.pJ_per_bit == external->pJ_per_bit * (most ? 2 : 0.5));
            assert_true(extreme.rest_W == external->rest_W * (most ? 2 : 0.5));
        }
    }
    static const char *const sure = "external.hbm2.unverified=[latency_ns]",
                             *const unknown = "external.hbm2.unverified=[latency]";
    tn_external_memory extreme;
    tn_device *refused;
    tn_error error;
    const tn_device *device = load("u50", 1, &sure);
    (void)tn_energy_extreme(device, true, &extreme);
    assert_true(extreme.pJ_per_bit == ((const tn_external_memory *)device->external.item)->pJ_per_bit);
    assert_int_equal(tn_device_load("u50", &unknown, 1, &arena, &refused, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "'latency'"));
}

static void operators_by_clock(void **state) {
    (void)state;
    static const struct {
        const char *device, *set[2];
        tn_operator kind;
        uint64_t stages, dsp, lut, ff;
    } rows[] = {
        /* The four rows that were read in reports. */
        {"u50", {"clock_MHz=200", "operator_set=hls"}, TN_MULTIPLY, 4, 3, 78, 143},
        {"u50", {"clock_MHz=100", "operator_set=hls"}, TN_MULTIPLY, 3, 3, 135, 128},
        {"u50", {"clock_MHz=100", "operator_set=hls"}, TN_ADDER, 4, 2, 214, 227},
        {"kv260", {"clock_MHz=100", "operator_set=hls"}, TN_ADDER, 4, 2, 214, 227},
        /* Between two rows the faster one is taken, over the slowest the slowest. */
        {"u50", {"clock_MHz=150", "operator_set=hls"}, TN_MULTIPLY, 4, 3, 78, 143},
        {"u50", {"clock_MHz=10", "operator_set=hls"}, TN_MULTIPLY, 3, 3, 135, 128},
        /* Those of the generator, which are taken where nothing else is asked for. */
        {"u50", {"clock_MHz=200", "operator_set=generated"}, TN_MULTIPLY, 4, 2, 121, 174},
        {"u50", {"clock_MHz=100", "clock_MHz=200"}, TN_ADDER, 7, 0, 468, 274},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_operator_row *row;
        const tn_device *device = load(rows[i].device, 2, rows[i].set);
        assert_int_equal(tn_device_operator(device, &tn_fp32, rows[i].kind, &row, NULL), TN_OK);
        assert_int_equal(row->stages, rows[i].stages);
        assert_int_equal(row->dsp, rows[i].dsp);
        assert_int_equal(row->lut, rows[i].lut);
        assert_int_equal(row->ff, rows[i].ff);
    }
    tn_error error;
    const tn_operator_row *row;
    /* A clock that no generated operator meets takes what high-level synthesis has. */
    static const char *const faster[] = {"clock_MHz=250", "operators.fp32-add-5ns.period_ns=4"};
    assert_int_equal(tn_device_operator(load("u50", 2, faster), &tn_fp32, TN_ADDER, &row, NULL), TN_OK);
    assert_int_equal(row->dsp, 2);
    const char *fast = "clock_MHz=400";
    assert_int_equal(tn_device_operator(load("u50", 1, &fast), &tn_fp32, TN_MULTIPLY, &row, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "meets 200 MHz"));
    assert_int_equal(tn_device_operator(load("u50", 0, NULL), &tn_int8, TN_DIVIDE, &row, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "no divide operator for int8"));
}

static void every_fpga_has_all_operators(void **state) {
    (void)state;
    static const char *const names[] = {"u50",    "u280",  "u55c",    "zcu102",
                                        "zcu104", "kv260", "pynq-z2", "vck190"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tn_device *device = load(names[i], 0, NULL);
        const tn_number_format *const formats[] = {&tn_fp32, &tn_fp16, &tn_bf16, &tn_int8};
        for (int precision = 0; precision < 4; precision++)
            for (int kind = 0; kind < TN_OPERATORS; kind++) {
                const tn_operator_row *row;
                if (precision == 3 && kind > TN_ADDER) continue; /* fp32 serves there, */
                if (precision > 0 && kind == TN_DRAW) continue;  /* and for random numbers anywhere */
                assert_int_equal(
                    tn_device_operator(device, formats[precision], (tn_operator)kind, &row, NULL), TN_OK);
                assert_true(row->source != NULL && row->source[0] != '\0');
            }
    }
}

static void sets(void **state) {
    (void)state;
    const char *const set[] = {"variant=whole", "resources.dsp=100",
                               "operators.generated-fp32-add-5ns.stages=9", "energy.static_W.value=20"};
    const tn_device *device = load("u50", 4, set);
    const tn_operator_row *row;
    assert_string_equal(tn_device_name(device), "u50@whole");
    assert_int_equal(tn_device_resources(device).dsp, 100);
    assert_int_equal(tn_device_resources(device).lut, 870720);
    assert_int_equal(tn_device_operator(device, &tn_fp32, TN_ADDER, &row, NULL), TN_OK);
    assert_int_equal(row->stages, 9);
    assert_true(device->energy.static_W.value == 20);
    /* Another variant than that of the name is refused, as is what the file alone can say. */
    static const char *const refused_set[] = {"variant=whole", "inherit=u280", "variants={}"};
    for (size_t i = 0; i < 3; i++) {
        tn_device *none;
        tn_error found = {0};
        assert_int_equal(tn_device_load("u50@slr1", &refused_set[i], 1, &arena, &none, &found), TN_INPUT);
        assert_string_equal(found.file, "--set");
    }
    const char *const same = "variant=slr1";
    assert_string_equal(tn_device_name(load("u50@slr1", 1, &same)), "u50@slr1");
}

/* ---- files made here ---- */

static const char *write_file(const char *name, const char *text) {
    static char path[4][256];
    static unsigned next;
    char *cursor = path[next++ % 4];
    snprintf(cursor, sizeof path[0], "%s/%s", test_folder, name);
    FILE *file = fopen(cursor, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return cursor;
}

static const char small[] =
    "kind: fpga\n"
    "name: small\n"
    "clock_MHz: 100\n"
    "resources: {lut: 10, ff: 20, dsp: 3, bram18: 4, uram: 0}\n"
    "operators: {}\n"
    "energy: {static_W: {value: 1}, voltage_V: {value: 1}, toggle: {value: 0.1},\n"
    "  idle_toggle: {value: 0}, lut_pF: {value: 1}, ff_pF: {value: 1}, dsp_pF: {value: 1},\n"
    "  bram18_pF: {value: 1}, uram_pF: {value: 1}, bram_pJ_per_bit: {value: 1},\n"
    "  uram_pJ_per_bit: {value: 1}, lutram_pJ_per_bit: {value: 1}}\n";

/* A copy of a shipped device, elsewhere, is that device: its family is found beside the shipped ones. */
static void copies(void **state) {
    char *text;
    size_t length;
    (void)state;
    assert_int_equal(tn_file_read(test_source("models/devices/zcu104.yaml"), 1 << 20, &text, &length, NULL),
                     TN_OK);
    const tn_device *shipped = load("zcu104", 0, NULL), *copy = load(write_file("copy.yaml", text), 0, NULL);
    const tn_resources a = tn_device_resources(shipped), b = tn_device_resources(copy);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(tn_device_clock_MHz(shipped) == tn_device_clock_MHz(copy));
    tn_free(text);
}

static void inheritance(void **state) {
    (void)state;
    write_file("small.yaml", small);
    const char *child = write_file("child.yaml", "kind: fpga\nname: child\ninherit: ./small.yaml\n"
                                                 "resources: {dsp: 7}\nvariants: {fast: {clock_MHz: 300}}\n");
    const tn_device *device = load(child, 0, NULL);
    assert_string_equal(tn_device_name(device), "child");
    assert_int_equal(tn_device_resources(device).dsp, 7);
    assert_int_equal(tn_device_resources(device).lut, 10);
    char fast[300];
    snprintf(fast, sizeof fast, "%s@fast", child);
    assert_true(tn_device_clock_MHz(load(fast, 0, NULL)) == 300);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *message;
        unsigned line;
    } rows[] = {
        {"list", "- 1\n", "a device file is a mapping", 1},
        {"kind", "kind: fpgaa\n", "did you mean fpga", 1},
        {"missing", "kind: fpga\nname: x\n", "is missing", 1},
        {"circle", "inherit: ./circle.yaml\nkind: fpga\n", "perhaps in a circle", 1},
        {"orphan", "kind: fpga\ninherit: ./nothing.yaml\n", "can't inherit from", 2},
        {"key", "kind: fpga\ninherit: ./small.yaml\nclok_MHz: 3\n", "did you mean \"clock_MHz\"", 3},
        {"range", "kind: fpga\ninherit: ./small.yaml\nclock_MHz: 0\n", "must be 1 to 2000", 3},
        {"variant", "kind: fpga\ninherit: ./small.yaml\nvariant: b\nvariants: {a: {clock_MHz: 5}}\n",
         "no variant called 'b'", 3},
        {"other", "kind: fpga\ninherit: ./small.yaml\nvariants: {a: {clock: 5}}\n", "unknown key \"clock\"",
         3},
        {"doubt", "kind: fpga\ninherit: ./small.yaml\nresources: {unverified: [luts]}\n", "names 'luts'", 3},
    };
    write_file("small.yaml", small);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        tn_device *device;
        tn_error error;
        snprintf(name, sizeof name, "%s.yaml", rows[i].name);
        const char *path = write_file(name, rows[i].text);
        assert_int_equal(tn_device_load(path, NULL, 0, &arena, &device, &error), TN_INPUT);
        if (!strstr(error.message, rows[i].message)) fail_msg("%s: %s", rows[i].name, error.message);
        if (error.line != rows[i].line) fail_msg("%s: line %u: %s", rows[i].name, error.line, error.message);
    }
    tn_device *device;
    tn_error error;
    assert_int_equal(tn_device_load("u5O", NULL, 0, &arena, &device, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "u50"));
    assert_int_equal(tn_device_load("u50@hole", NULL, 0, &arena, &device, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "did you mean whole"));
}

static void every_request_fails(void **state) {
    (void)state;
    tn_status status = TN_MEMORY;
    for (long request = 1; status != TN_OK; request++) {
        tn_arena own = {0};
        tn_device *device;
        tn_error error;
        tn_memory_fail_at(request);
        status = tn_device_load("u50", NULL, 0, &own, &device, &error);
        tn_memory_fail_at(0);
        if (status != TN_OK) assert_int_equal(status, TN_MEMORY);
        tn_arena_free(&own);
    }
}

static int end(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(u50_variants),
        cmocka_unit_test(boards_oracle),
        cmocka_unit_test(unverified_figures),
        cmocka_unit_test(operators_by_clock),
        cmocka_unit_test(every_fpga_has_all_operators),
        cmocka_unit_test(sets),
        cmocka_unit_test(copies),
        cmocka_unit_test(inheritance),
        cmocka_unit_test(refused),
        cmocka_unit_test(every_request_fails),
    };
    return cmocka_run_group_tests(tests, test_folder_make, end);
}
