#include "base/c_locale.h"

#include <stdarg.h>
#include <stdio.h>

tn_c_locale tn_c_locale_enter(void) {
    tn_c_locale locale = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    if (locale.own) locale.previous = uselocale(locale.own);
    return locale;
}

void tn_c_locale_leave(tn_c_locale locale) {
    if (!locale.own) return;
    uselocale(locale.previous);
    freelocale(locale.own);
}

int tn_snprintf(char *text, size_t room, const char *format, ...) {
    va_list rest;
    tn_c_locale locale = tn_c_locale_enter();
    va_start(rest, format);
    int length = vsnprintf(text, room, format, rest);
    va_end(rest);
    tn_c_locale_leave(locale);
    return length;
}
