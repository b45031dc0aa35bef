/* The loader in Python that the page prints (docs/examples/cores.py), run on what tenfold ranks writes: matrices of every format
 * have the errors that were told, cores in 16 and 32 bits are the exact ones rounded, and PyTorch's layer multiplies by them. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/arrays.h"

static void shell(const char *command) {
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s\nstatus %d: %s%s", command, run.status, run.out, run.err);
    test_run_free(&run);
}

/* Debian's Python comes first: another may be on PATH without its packages. */
static bool has_numpy(void) {
    test_run run = test_shell("PATH=/usr/bin:$PATH python3 -c 'import numpy'");
    bool has = run.status == 0;
    test_run_free(&run);
    if (!has) print_message("SKIPPED: NumPy is not installed (Debian: python3-numpy)\n");
    return has;
}

static void check(const char *weights, const char *folders, const char *formats) {
    char command[1024];
    snprintf(command, sizeof command,
             "PATH=/usr/bin:$PATH PYTHONDONTWRITEBYTECODE=1 python3 $SOURCE/tests/ranks/check_loader.py "
             "$SOURCE/docs %s %s",
             weights, folders);
    test_run run = test_shell(command);
    if (run.status != 0 || !strstr(run.out, formats)) fail_msg("%s: %s%s", command, run.out, run.err);
    print_message("%s", run.out);
    test_run_free(&run);
}

static void one_matrix(void **state) {
    (void)state;
    if (!has_numpy()) return;
    shell("for f in tt ttm tr tucker; do \"$TENFOLD\" ranks --matrix $SOURCE/docs/examples/w.npy --fold "
          "m=4x4x4,n=4x4x4 --format "
          "$f --cap 6 --quiet -o $FOLDER/$f >/dev/null || exit 1; done");
    check("$SOURCE/docs/examples/w.npy", "$FOLDER/tt $FOLDER/ttm $FOLDER/tr $FOLDER/tucker",
          "formats: tr tt ttm tucker");
}

/* A model whose layers choose between dense, low rank and trains. */
static void a_model(void **state) {
    (void)state;
    enum { WIDTH = 24, ELEMENTS = WIDTH * WIDTH };
    static double values[4][ELEMENTS];
    static const char *const names[] = {"embedding.weight", "a.weight", "b.weight", "c.weight"};
    const uint64_t shape[] = {WIDTH, WIDTH};
    tn_array_out out[4];
    if (!has_numpy()) return;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < ELEMENTS; i++)
            values[k][i] = sin(0.05 * (k + 1) * (i / WIDTH) * (i % WIDTH)) + 0.3 * k * sin(1.7 * i + k);
        out[k] = (tn_array_out){.name = names[k], .axes = 2, .shape = shape, .values = values[k]};
    }
    assert_int_equal(tn_npz_write(test_in_folder("weights.npz"), out, 4, NULL), TN_OK);
    FILE *file = fopen(test_in_folder("model.yaml"), "w");
    assert_non_null(file);
    fputs("kind: model\nname: m\nsequence: 4\nflow: bidirectional\nweights:\n"
          "  table: {format: ttm, m: 6x4, n: 4x6, rank: 4}\n  square: {format: tt, m: 6x4, n: 4x6, rank: "
          "4}\nlayers:\n"
          "  - {name: embedding, kind: embedding, vocabulary: 24, width: 24, weight: table}\n"
          "  - {name: a, kind: linear, outputs: 24, weight: square}\n  - {name: b, kind: linear, outputs: "
          "24, weight: square}\n"
          "  - {name: c, kind: linear, outputs: 24, weight: square}\n  - {name: loss, kind: cross-entropy}\n",
          file);
    assert_int_equal(fclose(file), 0);
    shell("for f in f32 f16 bf16; do \"$TENFOLD\" ranks $FOLDER/model.yaml --weights $FOLDER/weights.npz "
          "--budget '60 %' --format "
          "tt,ttm,tucker,low-rank --quiet --cores $f -o $FOLDER/$f >/dev/null || exit 1; done");
    check("$FOLDER/weights.npz", "$FOLDER/f32 $FOLDER/f16 $FOLDER/bf16", "formats:");
    /* every format that was asked for was tried, in the flow that it has; the model that was written is one */
    shell("for f in tt ttm tucker dense; do grep -q ^b,$f, $FOLDER/f32/candidates.csv || exit 1; done");
    shell("grep -q ^b,low-rank,24,24, $FOLDER/f32/candidates.csv && \"$TENFOLD\" cost $FOLDER/f32/model.yaml "
          ">/dev/null");
    shell("for f in tt ttm tucker low-rank dense; do grep -q ^$f, $FOLDER/f32/formats.csv || exit 1; done");
}

/* Second moments of activations, collected by the script beside the loader. */
static void moments(void **state) {
    (void)state;
    test_run run = test_shell("PATH=/usr/bin:$PATH python3 -c 'import torch, numpy'");
    const bool has = run.status == 0;
    test_run_free(&run);
    if (!has) {
        print_message("SKIPPED: PyTorch is not installed (Debian: python3-torch)\n");
        return;
    }
    run = test_shell(
        "PATH=/usr/bin:$PATH PYTHONDONTWRITEBYTECODE=1 python3 $SOURCE/tests/ranks/check_moments.py "
        "$SOURCE/docs $FOLDER");
    if (run.status != 0 || !strstr(run.out, "moments are those of the rows"))
        fail_msg("%s%s", run.out, run.err);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_matrix),
        cmocka_unit_test(a_model),
        cmocka_unit_test(moments),
    };
    setenv("SOURCE", test_source("."), 1);
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
