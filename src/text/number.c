#include "text/number.h"

#include "base/c_locale.h"
#include "base/checked.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *text) {
    while (is_digit(*text)) text++;
    return text;
}

/* Digits with single underscores between them, without sign. The value may overflow: *fits says. */
static const char *read_digits(const char *text, uint64_t *value, bool *fits) {
    for (; is_digit(*text) || (*text == '_' && is_digit(text[-1]) && is_digit(text[1])); text++) {
        if (*text == '_') continue;
        *fits = *fits && tn_mul(*value, 10, value) && tn_add(*value, (uint64_t)(*text - '0'), value);
    }
    return text;
}

/* *value *= 10^power, exactly. */
static tn_number_status scale_by_ten(uint64_t *value, long power) {
    if (*value == 0) return TN_NUMBER_OK;
    for (; power > 0; power--)
        if (!tn_mul(*value, 10, value)) return TN_NUMBER_RANGE;
    for (; power < 0; power++) {
        if (*value % 10 != 0) return TN_NUMBER_MALFORMED;
        *value /= 10;
    }
    return TN_NUMBER_OK;
}

/* Behind the whole part of a count: ".digits" and "e digits", of which the exponent is required. */
static tn_number_status read_scaled(const char *rest, uint64_t mantissa, bool fits, uint64_t *value) {
    enum { MOST_EXPONENT_DIGITS = 4 };
    long fraction_digits = 0;
    if (*rest == '.') {
        const char *end = skip_digits(rest + 1);
        fraction_digits = end - rest - 1;
        if (fraction_digits == 0) return TN_NUMBER_MALFORMED;
        read_digits(rest + 1, &mantissa, &fits);
        rest = end;
    }
    if (*rest != 'e' && *rest != 'E') return TN_NUMBER_MALFORMED;
    rest += rest[1] == '+' ? 2 : 1;
    const char *end = skip_digits(rest);
    if (end == rest || *end != '\0') return TN_NUMBER_MALFORMED;
    if (!fits || end - rest > MOST_EXPONENT_DIGITS) return TN_NUMBER_RANGE;
    tn_number_status status = scale_by_ten(&mantissa, strtol(rest, NULL, 10) - fraction_digits);
    if (status == TN_NUMBER_OK) *value = mantissa;
    return status;
}

tn_number_status tn_read_count(const char *text, uint64_t *value) {
    if (text[0] == '-' && is_digit(text[1]))
        return *skip_digits(text + 1) ? TN_NUMBER_MALFORMED : TN_NUMBER_RANGE;
    if (!is_digit(text[0])) return TN_NUMBER_MALFORMED;
    uint64_t whole = 0;
    bool fits = true;
    const char *rest = read_digits(text, &whole, &fits);
    if (*rest != '\0') return read_scaled(rest, whole, fits, value);
    if (!fits) return TN_NUMBER_RANGE;
    *value = whole;
    return TN_NUMBER_OK;
}

/* Sign, digits with an optional point, optional exponent; *zero: every digit of the mantissa is 0. */
static bool is_decimal(const char *text, bool *zero) {
    text += *text == '+' || *text == '-';
    const char *start = text;
    size_t digits = 0;
    *zero = true;
    for (bool point = false; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        digits++;
        *zero = *zero && *text == '0';
    }
    if (digits == 0 || start == text) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '+' || *text == '-';
        if (!is_digit(*text)) return false;
        text = skip_digits(text);
    }
    return *text == '\0';
}

tn_number_status tn_read_real(const char *text, double *value) {
    bool zero;
    if (!is_decimal(text, &zero)) return TN_NUMBER_MALFORMED;
    tn_c_locale locale = tn_c_locale_enter();
    double read = strtod(text, NULL);
    tn_c_locale_leave(locale);
    if (!isfinite(read) || (read == 0 && !zero)) return TN_NUMBER_RANGE;
    *value = read;
    return TN_NUMBER_OK;
}

void tn_real_text(double value, char *text, size_t capacity) {
    if (!isfinite(value)) {
        snprintf(text, capacity, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char shortest[40]; /* sign, DBL_DECIMAL_DIG digits, point and exponent fit */
    tn_c_locale locale = tn_c_locale_enter();
    /* A normal double that has a decimal of at most DBL_DIG digits is printed as it at that precision,
     * without trailing zeros; subnormal ones have fewer bits and are tried from one digit on. */
    int precision = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    do {
        snprintf(shortest, sizeof shortest, "%.*g", precision, value);
    } while (precision++ < DBL_DECIMAL_DIG && strtod(shortest, NULL) != value);
    tn_c_locale_leave(locale);
    snprintf(text, capacity, "%s", shortest);
}

static double rounded(double value, int digits) {
    if (value == 0 || !isfinite(value)) return value;
    const double unit = pow(10, floor(log10(fabs(value))) - (digits - 1));
    return unit < 1 ? round(value * pow(10, -log10(unit))) / pow(10, -log10(unit))
                    : round(value / unit) * unit;
}

void tn_rounded_text(double value, tn_number_style style, int digits, char *text, size_t capacity) {
    tn_c_locale locale = tn_c_locale_enter();
    if (style == TN_NUMBER_ROUGH) {
        value = rounded(value, digits);
        style = TN_NUMBER_SIGNIFICANT;
        if (fabs(value) >= 1 && fabs(value) < 1e9) digits = 9; /* no power */
    }
    if (style == TN_NUMBER_FIXED)
        snprintf(text, capacity, "%.*f", digits, value);
    else if (style == TN_NUMBER_POWER)
        snprintf(text, capacity, "%.*e", digits, value);
    else
        snprintf(text, capacity, "%.*g", digits, value);
    tn_c_locale_leave(locale);
}

const char *tn_count_text(uint64_t value, char *text) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), target = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[target++] = ',';
        text[target++] = digits[i];
    }
    text[target] = '\0';
    return text;
}

const char *tn_big_words(const tn_big *value, char text[TN_BIG_TEXT]) {
    uint64_t count;
    bool small = tn_big_count(value, &count) && count < UINT64_C(1000000000000000);
    return small ? tn_count_text(count, text) : tn_big_brief(value, text);
}

/* Three significant digits of value / step^power with the power's prefix. */
static const char *scaled(double value, double step, const char *const *prefix, int lowest, int highest,
                          const char *unit, char *text) {
    int power = 0;
    char number[24];
    double size = fabs(value);
    for (; size >= step * 0.9995 && power < highest; power++) size /= step;
    for (; size > 0 && size < 0.9995 && power > lowest; power--) size *= step;
    tn_rounded_text(size, TN_NUMBER_FIXED, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, number, sizeof number);
    snprintf(text, 32, "%s%s %s%s", value < 0 ? "-" : "", number, prefix[power - lowest], unit);
    return text;
}

const char *tn_si_text(double value, const char *unit, char *text) {
    static const char *const prefix[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    return scaled(value, 1000, prefix, -4, 6, unit, text);
}

const char *tn_si_rough(double value, const char *unit, char *text) {
    static const char *const prefix[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    const int lowest = -4, highest = 6;
    int power = 0;
    char number[24];
    double size = fabs(rounded(value, 2));
    for (; size >= 999.5 && power < highest; power++) size /= 1000;
    for (; size > 0 && size < 0.9995 && power > lowest; power--) size *= 1000;
    tn_rounded_text(size, TN_NUMBER_FIXED, size < 9.95 ? 1 : 0, number, sizeof number);
    snprintf(text, 32, "%s%s %s%s", value < 0 ? "-" : "", number, prefix[power - lowest], unit);
    return text;
}

const char *tn_bytes_text(double bytes, char *text) {
    static const char *const prefix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return scaled(bytes, 1024, prefix, 0, 6, "", text);
}
