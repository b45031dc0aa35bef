/* The monotonic clock. */
#ifndef TN_BASE_CLOCK_H
#define TN_BASE_CLOCK_H

/* Seconds since some fixed moment; never set back. For differences only. */
double tn_clock_seconds(void);

#endif
