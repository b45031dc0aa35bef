/* Files of arrays in tests: every failure is an assertion. */
#ifndef TEST_SUPPORT_ARRAYS_H
#define TEST_SUPPORT_ARRAYS_H

#include "text/arrays.h"

/* Close with tn_arrays_close. */
tn_arrays *test_arrays_open(const char *path);
/* All values of the array of that name; free them. `info` may be NULL. */
double *test_arrays_values(tn_arrays *arrays, const char *name, const tn_array_info **info);

#endif
