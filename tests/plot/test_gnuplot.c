#include "plot/gnuplot.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of its own with two templates: one that draws, one that gnuplot refuses. */
static char path[128];
static tn_error error;

static void put(const char *name, const char *text) {
    char file[160];
    snprintf(file, sizeof file, "%s/%s", test_folder, name);
    assert_int_equal(tn_file_write(file, text, strlen(text), &error), TN_OK);
}

static char *get(const char *name, size_t *length) {
    char file[160], *bytes;
    snprintf(file, sizeof file, "%s/%s", test_folder, name);
    assert_int_equal(tn_file_read(file, 1 << 24, &bytes, length, &error), TN_OK);
    return bytes;
}

static int setup(void **state) {
    assert_int_equal(test_folder_make(state), 0);
    char plots[96];
    snprintf(plots, sizeof plots, "%s/plots", test_folder);
    assert_int_equal(mkdir(plots, 0777), 0);
    put("plots/draws.gp", "set title caption\nplot data using 2:3:xtic(1) with linespoints title 'a'\n");
    put("plots/fails.gp", "plot nonsense_variable\n");
    assert_int_equal(setenv("TENFOLD_PATH", test_folder, 1), 0);
    snprintf(path, sizeof path, "%s/out", test_folder);
    return 0;
}

static tn_status draw(tn_figure_format format, const char *template, const char *caption) {
    tn_buffer definition = {0}, data = {0};
    tn_define_text(&definition, "caption", caption);
    tn_define_real(&definition, "third", 1.0 / 3);
    for (int i = 0; i < 3; i++) {
        tn_figure_cell(&data, i == 1 ? "say \"x\" \\ y" : "plain");
        tn_buffer_format(&data, " %d %d\n", i, i * i);
    }
    tn_status status = tn_figure_draw(
        &(tn_figure){
            .path = path, .format = format, .script = template, .definition = &definition, .data = &data},
        &error);
    tn_buffer_free(&definition);
    tn_buffer_free(&data);
    return status;
}

static void draws_each_format(void **state) {
    (void)state;
    static const char *const file[] = {"out.png", "out.svg", "out.pdf"};
    static const char *const magic[] = {"\x89PNG", "<?xml", "%PDF"};
    for (int i = 0; i < 3; i++) {
        tn_status status = draw((tn_figure_format)i, "draws", "caption");
        if (status != TN_OK) print_error("%s\n", error.message);
        assert_int_equal(status, TN_OK);
        size_t length;
        char *bytes = get(file[i], &length);
        assert_true(length > 500);
        assert_memory_equal(bytes, magic[i], strlen(magic[i]));
        tn_free(bytes);
    }
}

/* What a user has in hand: the script beside the figure draws the same picture. */
static void script_stands_alone(void **state) {
    (void)state;
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_OK);
    size_t length, again;
    char *first = get("out.svg", &length);
    char command[160];
    snprintf(command, sizeof command, "cd '%s' && rm out.svg && gnuplot out.gp", test_folder);
    assert_int_equal(system(command), 0);
    char *second = get("out.svg", &again);
    assert_int_equal(length, again);
    assert_memory_equal(first, second, length);
    tn_free(first);
    tn_free(second);
}

static void hostile_text_stays_text(void **state) {
    (void)state;
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "it's'; system('touch pwned'); x = '\n`touch pwned`"),
                     TN_OK);
    char file[96];
    snprintf(file, sizeof file, "%s/pwned", test_folder);
    assert_int_not_equal(access(file, F_OK), 0);
    size_t length;
    char *svg = get("out.svg", &length);
    assert_non_null(strstr(svg, "touch pwned"));
    tn_free(svg);
}

static void failures_keep_the_old_picture(void **state) {
    (void)state;
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_OK);
    size_t length, again;
    char *before = get("out.svg", &length);
    assert_int_equal(draw(TN_FIGURE_SVG, "fails", "caption"), TN_IO);
    assert_non_null(strstr(error.message, "nonsense_variable"));
    assert_int_equal(draw(TN_FIGURE_SVG, "absent", "caption"), TN_INPUT);
    assert_non_null(strstr(error.message, "plots/absent.gp"));

    char *kept = strdup(getenv("PATH"));
    setenv("PATH", test_folder, 1);
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_IO);
    assert_non_null(strstr(error.message, "gnuplot"));
    setenv("PATH", kept, 1);
    free(kept);

    tn_interrupt();
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_INTERRUPTED);
    tn_interrupt_clear();

    char *after = get("out.svg", &again);
    assert_int_equal(length, again);
    assert_memory_equal(before, after, length);
    tn_free(before);
    tn_free(after);
    snprintf(path, sizeof path, "%s/no/such/out", test_folder);
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_IO);
    snprintf(path, sizeof path, "%s/out\n", test_folder);
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_INPUT);
    snprintf(path, sizeof path, "%s/", test_folder);
    assert_int_equal(draw(TN_FIGURE_SVG, "draws", "caption"), TN_INPUT);
    snprintf(path, sizeof path, "%s/out", test_folder);
}

static void every_failing_request_is_reported(void **state) {
    (void)state;
    /* How many requests a drawing makes depends on the pieces that gnuplot's answer comes in. */
    long n = 1;
    for (bool failed = true; failed; n++) {
        tn_memory_fail_at(n);
        tn_status status = draw(TN_FIGURE_SVG, "draws", "caption");
        failed = tn_memory_requests() >= n;
        assert_int_equal(status, failed ? TN_MEMORY : TN_OK);
    }
    tn_memory_fail_at(0);
    assert_true(n > 4);
}

static void formats_by_name(void **state) {
    (void)state;
    tn_figure_format format;
    assert_int_equal(tn_figure_format_find("pdf", &format, &error), TN_OK);
    assert_string_equal(tn_figure_format_name(format), "pdf");
    assert_int_equal(tn_figure_format_find("pgn", &format, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "did you mean png"));
    assert_int_equal(tn_figure_format_of("a.d/b.svg", &format, &error), TN_OK);
    assert_int_equal(format, TN_FIGURE_SVG);
    assert_int_equal(tn_figure_format_of("a.svg/b", &format, &error), TN_INPUT);
    assert_int_equal(tn_figure_format_of("b.jpeg", &format, &error), TN_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_each_format),
        cmocka_unit_test(script_stands_alone),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(failures_keep_the_old_picture),
        cmocka_unit_test(every_failing_request_is_reported),
        cmocka_unit_test(formats_by_name),
    };
    return cmocka_run_group_tests(tests, setup, test_folder_remove);
}
