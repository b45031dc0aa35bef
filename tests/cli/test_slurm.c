/* A sweep in parts: the scripts of `tenfold slurm`, run one after the other, and under a Slurm where one answers
 * (sbatch, SLURM_CONF), with a task that is killed and queued again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

static void run(const char *command, int status) {
    test_run ran = test_shell(command);
    if (ran.status != status) print_error("%s\nstatus %d\n%s%s\n", command, ran.status, ran.out, ran.err);
    assert_int_equal(ran.status, status);
    test_run_free(&ran);
}

#define SPACE "\"" TEST_SOURCE_DIR "/tests/space/data/layers.yaml\""
#define SAME                                                                                                 \
    "cmp \"$FOLDER/whole/front.csv\" \"$FOLDER/parts/result/front.csv\" && "                                 \
    "cmp \"$FOLDER/whole/recommended.csv\" \"$FOLDER/parts/result/recommended.csv\""

static void a_loop_gives_what_one_sweep_gives(void **state) {
    (void)state;
    run("\"$TENFOLD\" sweep " SPACE " -o \"$FOLDER/whole\" --quiet", 0);
    run("\"$TENFOLD\" slurm " SPACE " -o \"$FOLDER/parts\" --tasks 3 --partition debug --json | "
        "grep -q '\"folder\"'",
        0);
    run("for f in part merge submit parallel loop; do sh -n \"$FOLDER/parts/$f.sh\" || exit 1; done; "
        "for f in sweep merge; do sh -n \"$FOLDER/parts/$f.sbatch\" || exit 1; done; "
        "grep -q 'SBATCH --array=1-3' \"$FOLDER/parts/sweep.sbatch\" && "
        "grep -q 'SBATCH --partition=debug' \"$FOLDER/parts/merge.sbatch\" && "
        "grep -q 'SBATCH --requeue' \"$FOLDER/parts/sweep.sbatch\"",
        0);
    run("sh \"$FOLDER/parts/loop.sh\" > /dev/null", 0);
    run(SAME, 0);
    /* Run again, finished parts go on at their end, and the result stays. */
    run("rm -rf \"$FOLDER/parts/result\" && sh \"$FOLDER/parts/loop.sh\" > /dev/null && " SAME, 0);
}

/* The first task is killed by hand and queued again while it runs, or waits. */
static void slurm_gives_what_one_sweep_gives(void **state) {
    (void)state;
    test_run there =
        test_shell("command -v sbatch > /dev/null && timeout 5 sinfo -h -o %t 2> /dev/null | grep -q .");
    int status = there.status;
    test_run_free(&there);
    if (status != 0) {
        print_message("skipped: no Slurm answers here (sbatch, sinfo, SLURM_CONF)\n");
        skip();
    }
    run("rm -rf \"$FOLDER/parts\" && \"$TENFOLD\" slurm " SPACE " -o \"$FOLDER/parts\" --tasks 3 > /dev/null",
        0);
    run("cd \"$FOLDER\" && said=$(sh parts/submit.sh) && job=${said#array } && job=${job%% *} && sleep 1 && "
        "scontrol requeue \"${job}_1\"; "
        "i=0; while [ ! -s parts/result/sweep.json ] && [ $i -lt 600 ]; do sleep 0.2; i=$((i + 1)); done; "
        "cat parts/log/*.log >&2; " SAME,
        0);
}

static void wrong_requests_are_refused(void **state) {
    (void)state;
    run("\"$TENFOLD\" slurm " SPACE " --tasks 3", 2);
    run("\"$TENFOLD\" slurm " SPACE " -o \"$FOLDER/x\"", 2);
    run("\"$TENFOLD\" slurm " SPACE " -o \"$FOLDER/x\" --tasks 0", 2);
    run("\"$TENFOLD\" slurm " SPACE " -o \"$FOLDER/x\" --tasks 2 --partition 'a b'", 2);
    run("\"$TENFOLD\" slurm atis-2enc-shapes -o \"$FOLDER/x\" --tasks 2", 2);
    run("\"$TENFOLD\" sweep atis-2enc-shapes -o \"$FOLDER/x\" --shard 1/2", 2);
    run("\"$TENFOLD\" sweep " SPACE " -o \"$FOLDER/x\" --method evolve --shard 1/2", 2);
    run("\"$TENFOLD\" sweep " SPACE " -o \"$FOLDER/x\" --epsilon 0.1 --keep-all", 2);
    run("\"$TENFOLD\" slurm atis-2enc-layers -o \"$FOLDER/x\" --tasks 2", 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_gives_what_one_sweep_gives),
        cmocka_unit_test(slurm_gives_what_one_sweep_gives),
        cmocka_unit_test(wrong_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
