/* GSL as it must be inside a library: its default error handler ends the program, for a lack of memory too. */
#ifndef TN_BASE_GUARD_H
#define TN_BASE_GUARD_H

#include "base/error.h"

/* The BLAS on one thread, for results that do not depend on how many there are. */

/* Around calls of BLAS, LAPACK and GSL's linear algebra: makes the BLAS serial, and gives it its threads
 * back. Nests, also across threads: the last one out restores. */
void tn_blas_serial(void);
void tn_blas_restore(void);

/* Before the first of them: OpenBLAS asks again and again, for ever, where a thread gets no room to work in.
 * TN_MEMORY where a limit of address space leaves too little; without such a limit nothing is asked. */
tn_status tn_blas_room(tn_error *error);

/* Around every call of GSL that allocates or may fail: turns the error handler off, so that GSL reports by
 * status and NULL, and gives the host's handler back. Nests, also across threads: the last one out restores.
 * The handler is one for the whole process (GSL knows no other), so a host that sets it from another thread
 * meanwhile loses that setting. */
void tn_gsl_quiet(void);
void tn_gsl_restore(void);

#endif
