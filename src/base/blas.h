/* The BLAS on one thread, for results that do not depend on how many there are. */
#ifndef TN_BASE_BLAS_H
#define TN_BASE_BLAS_H

/* Around calls of BLAS, LAPACK and GSL's linear algebra: makes the BLAS serial, and gives it its threads
 * back. Nests, also across threads: the last one out restores. */
void tn_blas_serial(void);
void tn_blas_restore(void);

#endif
