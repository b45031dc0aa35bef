/* What people read speaks of titles and units: no raw key, no number over 9,999 without a separator or prefix, no quantity
 * without unit, in any text of any figure (as SVG, whose texts are read) and in any table. */
#include "space/quantity.h"
#include "support/folder.h"
#include "support/matrix.h"
#include "support/program.h"
#include "support/shared.h"
#include "support/wording.h"
#include "text/arrays.h"
#include "text/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state) {
    if (test_folder_make(state) != 0 || setenv("SOURCE", test_source(""), 1) != 0) return -1;
    test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), "--keep-all", "--quiet",
                                "-o", test_in_folder("small"), NULL);
    int status = run.status;
    test_run_free(&run);
    return status;
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = NULL;
    size_t length = 0, room = 0;
    for (size_t got = 1; got > 0; length += got) {
        if (room - length < 65536) assert_non_null(text = realloc(text, room += 1 << 20));
        got = fread(text + length, 1, room - length - 1, file);
    }
    fclose(file);
    text[length] = '\0';
    return text;
}

/* Texts of an SVG: what stands between <text> and </text>, without marks and entities. */
static void check_svg(const char *path) {
    char *svg = read_all(path), said[4096];
    size_t found = 0;
    for (const char *c = svg; (c = strstr(c, "<text")) != NULL;) {
        const char *end = strstr(c, "</text>");
        size_t length = 0;
        assert_non_null(end);
        for (bool mark = false; c < end && length + 1 < sizeof said; c++) {
            if (*c == '<') mark = true;
            if (!mark) said[length++] = *c;
            if (*c == '>') mark = false;
        }
        said[length] = '\0';
        test_wording(said, path);
        found++;
    }
    if (found == 0) fail_msg("%s: no text", path);
    free(svg);
}

static size_t check_figures(const char *pattern) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) check_svg(found.gl_pathv[i]);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

static void ran(const char *command) {
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %d: %s", command, run.status, run.err);
    test_run_free(&run);
}

static size_t by_columns;

/* Every quantity across and up, and each choice as colour. */
static void figures_of_a_sweep(void **state) {
    (void)state;
    char command[1024], before[64] = "seconds_per_step";
    ran("\"$TENFOLD\" plot \"$FOLDER/small\" --format svg --quiet");
    assert_true(check_figures(test_in_folder("small/figures/*.svg")) >= 7);
    for (size_t i = 0; i < tn_quantities_count; i++) {
        const char *name = tn_quantities[i].name;
        if (strncmp(name, "accuracy", 8) == 0 || strcmp(name, "relative_error") == 0 ||
            strcmp(name, "perplexity") == 0 || strcmp(name, "rtl") == 0)
            continue; /* it has no table */
        snprintf(command, sizeof command,
                 "\"$TENFOLD\" plot \"$FOLDER/small\" --x %s --y %s --colour weights.square.%s --all --where "
                 "'weights.square.rank >= 2' "
                 "--format svg -o "
                 "\"$FOLDER/by-%s\" --quiet",
                 name, before, i % 2 ? "rank" : "flow", name);
        ran(command);
        snprintf(before, sizeof before, "%s", name);
    }
    by_columns = check_figures(test_in_folder("by-*.svg"));
    assert_true(by_columns > 15);
    ran("\"$TENFOLD\" compare \"$FOLDER/small\" \"$FOLDER/small\" -o \"$FOLDER/both\" --format svg --quiet");
    assert_int_equal(check_figures(test_in_folder("both/*.svg")), 1);
}

/* Texts in quotes, of a script's definitions or of data. */
static void check_quoted(const char *path) {
    char *text = read_all(path), *end;
    for (char *c = text; (c = strchr(c, '"')) != NULL && (end = strpbrk(c + 1, "\"\n")); c = end + 1) {
        if (*end == '"') {
            *end = '\0';
            /* formats, colours, and what names a variable by its number */
            if (!strpbrk(c + 1, "%#") && !strstr(c + 1, "/") && c[strlen(c + 1)] != '_')
                test_wording(c + 1, path);
        }
    }
    free(text);
}

static void check_data(const char *pattern) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) check_quoted(found.gl_pathv[i]);
    globfree(&found);
}

static void other_figures(void **state) {
    (void)state;
    ran("\"$TENFOLD\" cost vit-b --plot \"$FOLDER/cost\" --format svg --quiet");
    ran("\"$TENFOLD\" order --layer tt:m=12x8x8,n=8x8x12,rank=12,tokens=32 --plot \"$FOLDER/order.svg\" "
        "--quiet");
    ran("\"$TENFOLD\" finetune cost mixtral-8x7b --queries 200000 --tokens 800 --epochs 1 --plot "
        "\"$FOLDER/tune-cost.svg\"");
    ran("\"$TENFOLD\" finetune profile mixtral-8x7b --gpu h100 --batch 16 --tokens 79 --plot "
        "\"$FOLDER/tune-profile.svg\"");
    ran("\"$TENFOLD\" roofline step atis-2enc --device rtx3090 --plot \"$FOLDER/roofline.svg\"");
    check_figures(test_in_folder("cost/*.svg"));
    assert_int_equal(check_figures(test_in_folder("*.svg")), 4 + by_columns);
    check_data(test_in_folder("cost/*.dat"));
    check_data(test_in_folder("small/figures/*.dat"));
    check_data(test_in_folder("*.dat"));
    ran("cd \"$SOURCE\" && \"$TENFOLD\" finetune fit docs/examples/mixtral.csv --law step --plot "
        "\"$FOLDER/fit.svg\"");
    ran("cd \"$SOURCE\" && \"$TENFOLD\" finetune max-batch mixtral-8x7b --data docs/examples/mixtral.csv "
        "--sequence CS=79 "
        "--sequence MATH=174 --plot \"$FOLDER/batch.svg\"");
    check_svg(test_in_folder("fit.svg"));
    check_svg(test_in_folder("batch.svg"));
}

/* What `ranks` draws as PNG alone is drawn again by its scripts, as SVG. */
static void figures_of_ranks(void **state) {
    static const char model[] =
        "kind: model\nname: small\nbatch: 1\nsequence: 4\nexamples: 10\nweights:\n  up: {format: tt, m: "
        "4x3x2, n: 2x3x5, rank: 2}\nlayers:\n  - {name: words, kind: embedding, vocabulary: 9, width: 30}\n"
        "  - {name: up, kind: linear, outputs: 24, weight: up}\n  - {name: loss, kind: cross-entropy}\n";
    static const uint64_t shape[] = {24, 30};
    double *up = test_normal(1, 24 * 30);
    (void)state;
    for (size_t i = 0; i < 24 * 30; i++) up[i] *= exp(-(double)(i % 30) / 5);
    const tn_array_out out = {.name = "up.weight", .axes = 2, .shape = shape, .values = up};
    assert_int_equal(tn_npz_write(test_in_folder("up.npz"), &out, 1, NULL), TN_OK);
    free(up);
    FILE *file = fopen(test_in_folder("model.yaml"), "w");
    assert_true(file && fputs(model, file) >= 0 && fclose(file) == 0);
    ran("cd \"$FOLDER\" && \"$TENFOLD\" ranks model.yaml --weights up.npz --budget params=400 -o ranks "
        "--quiet >ranks.txt");
    ran("cd \"$FOLDER/ranks/figures\" && for f in *.gp; do sed -e 's/^set terminal.*/set terminal svg/' -e "
        "'s/\\.png/.svg/' \"$f\" >again.txt && gnuplot again.txt || exit 1; done");
    assert_int_equal(check_figures(test_in_folder("ranks/figures/*.svg")), 5);
    check_data(test_in_folder("ranks/figures/*.dat"));
}

static void figures_of_learning(void **state) {
    (void)state;
    ran("cd \"$FOLDER\" && \"$TENFOLD\" train --generate asked --sentences 40 --quiet >asked.txt");
    ran("cd \"$FOLDER\" && \"$TENFOLD\" train atis-2enc --data asked --epochs 1 -o trained --plot --format "
        "svg --quiet "
        ">trained.txt; test -e trained/figures/training.svg");
    ran("cd \"$FOLDER\" && \"$TENFOLD\" accuracy atis-2enc-u50 --data asked --effort 3 --set "
        "training.epochs=2 -o "
        "learned --plot --format svg --quiet >learned.txt");
    assert_int_equal(check_figures(test_in_folder("trained/figures/*.svg")), 1);
    assert_int_equal(check_figures(test_in_folder("learned/figures/*.svg")), 2);
    /* shares are at most all: 4,000 % would be none */
    char *numbers = read_all(test_in_folder("learned/figures/accuracy-epochs.svg"));
    assert_null(strstr(numbers, "1000"));
    free(numbers);
}

/* Heads of tables and what stands below them. Advice that one types (--set KEY=VALUE) is not read but typed, and paths are
 * names. */
static void check_output(const char *command) {
    test_run run = test_shell(command);
    char where[300];
    if (run.status > 1) fail_msg("%s: %d: %s", command, run.status, run.err);
    snprintf(where, sizeof where, "%s", command);
    for (char *line = strtok(run.out, "\n"); line; line = strtok(NULL, "\n")) {
        if (strstr(line, "--set") || strstr(line, "unverified  ") /* keys of a device file */ ||
            strstr(line, "tenfold ") || strstr(line, "$FOLDER") || strstr(line, test_folder))
            continue;
        test_wording(line, where);
    }
    test_run_free(&run);
}

static void tables(void **state) {
    (void)state;
    check_output("\"$TENFOLD\" query \"$FOLDER/small\"");
    check_output("\"$TENFOLD\" query \"$FOLDER/small\" 'watts < 11' --all --sort macs_per_step");
    check_output("\"$TENFOLD\" recommend \"$FOLDER/small\"");
    check_output("\"$TENFOLD\" compare \"$FOLDER/small\" \"$FOLDER/small\"");
    check_output("\"$TENFOLD\" cost atis-2enc");
    check_output("\"$TENFOLD\" cost gpt2 --device zcu104");
    check_output("\"$TENFOLD\" roofline step atis-2enc --device rtx3090");
    check_output("\"$TENFOLD\" finetune cost mixtral-8x7b --queries 200000 --tokens 800 --epochs 1");
    check_output("\"$TENFOLD\" finetune profile mixtral-8x7b --gpu h100 --batch 16 --tokens 79");
    check_output(
        "cd \"$FOLDER\" && \"$TENFOLD\" ranks model.yaml --weights up.npz --budget params=400 --quiet");
}

/* Every column of a result has a row of its own, with a title that is not the key, and units that its name has. */
static void every_quantity_has_words(void **state) {
    static const struct {
        const char *part, *unit;
    } named[] = {{"seconds", "s"}, {"joules", "J"}, {"watts", "W"}, {"bytes", "B"}};
    (void)state;
    for (size_t i = 0; i < tn_quantities_count; i++) {
        const tn_word *word = tn_word_find(tn_quantities[i].name);
        assert_non_null(word);
        test_wording(word->title, word->key);
        for (size_t k = 0; k < sizeof named / sizeof *named; k++)
            if (strstr(word->key, named[k].part)) assert_string_equal(word->unit, named[k].unit);
    }
}

/* A value in its prefix is the value; from 1 to 1,000 of it within the prefixes there are. */
static void prefixes_hold(void **state) {
    static const struct {
        double value;
        const char *unit, *text;
    } known[] = {
        {19.43, "s", "19.4 s"},   {0.01943, "s", "19.4 ms"}, {242900, "s", "67.5 h"},
        {1234567, "s", "14.3 d"}, {240, "s", "4 min"},       {84.5, "J", "84.5 J"},
        {0.9999, "s", "1.00 s"},  {7340032, "B", "7 MiB"},   {1253376, "", "1,253,376"},
        {56.6e6, "", "56.6 M"},   {0.983, "%", "98.3 %"},    {0, "s", "0 s"},
        {596700, "J", "597 kJ"},  {2.5e-7, "J", "250 nJ"},   {9999, "", "9999"},
        {10000, "", "10,000"},
    };
    char text[48];
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(tn_quantity_text(known[i].value, known[i].unit, text), known[i].text);
    for (double value = 1.3e-9; value < 1e9; value *= 1.7)
        for (const char *unit = "sJ"; *unit; unit++) {
            const char name[2] = {*unit, 0};
            double shown = value * tn_prefix_of(name, value).scale;
            bool ends = (*unit == 's' && (value < 1e-9 || value > 60)) || value < 1e-12;
            if (!ends) assert_true(shown >= 0.999 && shown < 1000);
            assert_true(strtod(tn_quantity_text(value, name, text), NULL) > 0);
        }
}

int main(void) {
    const struct CMUnitTest test[] = {
        cmocka_unit_test(every_quantity_has_words),
        cmocka_unit_test(prefixes_hold),
        cmocka_unit_test(figures_of_a_sweep),
        cmocka_unit_test(other_figures),
        cmocka_unit_test(figures_of_ranks),
        cmocka_unit_test(figures_of_learning),
        cmocka_unit_test(tables),
    };
    int status = cmocka_run_group_tests_name("words", test, set_up, test_folder_remove);
    print_message("%zu texts\n", test_wordings());
    return status;
}
