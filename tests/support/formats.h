/* Arithmetic by the name of its operands' format. */
#ifndef TEST_SUPPORT_FORMATS_H
#define TEST_SUPPORT_FORMATS_H

#include "model/precision.h"

tn_number_format test_format(const char *name);
tn_arithmetic test_arithmetic(const char *name);
tn_formats test_formats(const char *name); /* everything in it */

#endif
