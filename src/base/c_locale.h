/* The C locale for this thread while numbers are printed or read, so that "." is the decimal point whatever
 * the program that uses the library has set. */
#ifndef TN_BASE_C_LOCALE_H
#define TN_BASE_C_LOCALE_H

#include "base/error.h"

#include <locale.h>
#include <stddef.h>

typedef struct tn_c_locale {
    locale_t own, previous;
} tn_c_locale;

tn_c_locale tn_c_locale_enter(void);
void tn_c_locale_leave(tn_c_locale locale);

/* snprintf with "." as the decimal point. */
int tn_snprintf(char *text, size_t room, const char *format, ...) TN_PRINTF(3, 4);

#endif
