/* What the files of a generated step share: the program, its samples and values, from one end of `tenfold rtl` to the
 * other. Internal to the room. */
#ifndef TN_RTL_STEP_RUN_H
#define TN_RTL_STEP_RUN_H

#include "rtl/image.h"
#include "rtl/reference.h"
#include "rtl/request.h"
#include "rtl/step.h"

typedef struct tn_rtl_step_run {
    const tn_rtl_request *request; /* its step as the build does it */
    tn_rtl_laying laying;          /* of that step */
    tn_explanation priced;         /* of a whole step: its price, */
    tn_handover handover;          /* and where its arrays lie */
    tn_arena *arena;
    tn_error *error;
    tn_rtl_answer *answer;
    uint32_t layer; /* UINT32_MAX: all */
    tn_rtl_program program;
    tn_rtl_engine engine;
    uint32_t runs;
    tn_example *example;               /* [runs] */
    tn_rtl_sample *sample;             /* [runs] */
    bool *operand;                     /* [design.arrays]: it is read before any operation writes it */
    bool *written;                     /* [design.arrays]: some operation writes it */
    bool *intact;                      /* [design.arrays]: it is still in its place behind all runs */
    double **begin, **values, **exact; /* [design.arrays]: before; in the hardware's arithmetic; in float64 */
    tn_rtl_image first, last;          /* what the memories hold before, and behind all runs */
    double *scalars, *exact_scalars, *no_scalars;
    tn_trainer *trainer[2]; /* float32, float64 */
} tn_rtl_step_run;

/* An example a run, given or drawn, and what of it the hardware reads. */
tn_status tn_rtl_run_samples(tn_rtl_step_run *run);
/* What memories hold before, and behind all runs by the reference; losses beside those of training. */
tn_status tn_rtl_run_start(tn_rtl_step_run *run);
tn_status tn_rtl_run_expect(tn_rtl_step_run *step_run);
/* The folder's files; the simulation against the reference. */
tn_status tn_rtl_run_write(tn_rtl_step_run *run);
tn_status tn_rtl_run_compare(tn_rtl_step_run *run, const tn_rtl_simulation *simulation);

#endif
