#include "support/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

tn_number_format test_format(const char *name) {
    tn_number_format format = {0};
    tn_error error = {0};
    if (tn_number_format_read(name, &format, &error) != TN_OK) fail_msg("%s", error.message);
    return format;
}

tn_arithmetic test_arithmetic(const char *name) {
    const tn_number_format format = test_format(name);
    return tn_arithmetic_of(&format);
}

tn_formats test_formats(const char *name) {
    const tn_number_format format = test_format(name);
    return (tn_formats){{format, format, format}, format};
}
