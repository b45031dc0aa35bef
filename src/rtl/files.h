/* The folder that a generated engine lives in: sources, program, memory images with what they must hold at the end,
 * testbench and Makefile. `make simulate` in it needs Verilator, nothing of this program. */
#ifndef TN_RTL_FILES_H
#define TN_RTL_FILES_H

#include "rtl/engine.h"
#include "rtl/image.h"
#include "rtl/reference.h"
#include "rtl/step.h"

/* What a folder with vector passes has beside an engine's files: the lanes, the tables of the operators, the sample of
 * each run, the scalars of rows before and after. */

/* sample[runs]; scalars as tn_rtl_reference_walk has them, before the first and after the last run. */
tn_status tn_rtl_vector_files_write(const tn_rtl_engine *engine, const tn_rtl_program *program,
                                    const tn_rtl_sample *sample, uint32_t runs, const double *begin,
                                    const double *end, const char *folder, tn_error *error);

/* What the simulation left of the scalars. */
tn_status tn_rtl_vector_files_read(const tn_rtl_engine *engine, const char *folder, tn_arena *arena,
                                   double *scalars, tn_error *error);

/* `begin` and `end`: what the memories hold before and after `runs` runs of the program. */
tn_status tn_rtl_files_write(const tn_rtl_engine *engine, const tn_rtl_image *begin, const tn_rtl_image *end,
                             uint32_t runs, const char *folder, tn_error *error);

/* Copies templates, by their paths in src/rtl/templates, into the folder; NULL ends the list. */
tn_status tn_rtl_templates_copy(const char *const *list, const char *folder, tn_arena *arena,
                                tn_error *error);

#endif
