/* GSL as it must be inside a library: its default error handler ends the program, for a lack of memory too. */
#ifndef TN_BASE_GSL_H
#define TN_BASE_GSL_H

/* Around every call of GSL that allocates or may fail: turns the error handler off, so that GSL reports by
 * status and NULL, and gives the host's handler back. Nests, also across threads: the last one out restores.
 * The handler is one for the whole process (GSL knows no other), so a host that sets it from another thread
 * meanwhile loses that setting. */
void tn_gsl_quiet(void);
void tn_gsl_restore(void);

#endif
