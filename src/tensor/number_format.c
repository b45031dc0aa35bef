#include "tensor/number_format.h"

#include "base/checked.h"
#include "base/random.h"
#include "text/number.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Shares of a hundred of the scale by the deviation, the authors' w_low and w_up. */
enum { SEARCH_FROM = 75, SEARCH_TO = 250, SEARCH_STEP = 2 };

typedef struct codes {
    double limit;        /* the greatest normal number */
    double first, last;  /* of the outliers */
    double threshold;    /* what is greater is an outlier */
    uint64_t last_place; /* of an outlier's mantissa, in the bits of a double */
} codes;

static codes codes_of(uint32_t bits) {
    int exponent = (int)bits / 2, mantissa = (int)bits - 1 - exponent, bias = exponent;
    codes coding = {.limit = scalbn(1, (int)bits - 1) - 1,
                    .first = mantissa > 0 ? scalbn(scalbn(1, mantissa) + 1, bias) : scalbn(1, bias + 1),
                    .last = scalbn(scalbn(2, mantissa) - 1, bias + (1 << exponent) - 1),
                    .last_place = (uint64_t)1 << (52 - mantissa)};
    coding.threshold = (coding.limit + coding.first) / 2;
    return coding;
}

/* max |mean +- 3 sigma| over the greatest normal number. */
static double scale_by_deviation(const codes *coding, const double *values, size_t count) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) mean += values[i];
    mean /= (double)count;
    for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    return (fabs(mean) + 3 * sqrt(squares / (double)count)) / coding->limit;
}

/* The nearest outlier of a size beyond normal numbers, ties to the even mantissa. */
static inline double to_outlier(const codes *coding, double size) {
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    bits +=
        coding->last_place / 2 - 1 + ((bits & coding->last_place) != 0); /* a carry goes into the exponent */
    bits &= ~(coding->last_place - 1);
    memcpy(&size, &bits, sizeof bits);
    size = size < coding->first ? coding->first : size;
    return size > coding->last ? coding->last : size;
}

/* The nearest code of a size, in a form that the compiler can vectorise: adding and taking off 1.5 * 2^52 rounds to the
 * nearest whole number. */
static inline double outlier_pairs_to_nearest(const codes *coding, double size) {
    const double magic = 0x1.8p52;
    double whole = (size < coding->limit ? size : coding->limit) + magic - magic,
           outlier = to_outlier(coding, size);
    return size > coding->threshold ? outlier : whole;
}

static double squared_error(const codes *coding, double scale, const double *values, size_t rows,
                            size_t columns) {
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        const double *row = values + r * columns;
        for (size_t c = 0; c + 1 < columns; c += 2) {
            double left = fabs(row[c]) / scale, right = fabs(row[c + 1]) / scale;
            double of_left = left - outlier_pairs_to_nearest(coding, left),
                   of_right = right - outlier_pairs_to_nearest(coding, right);
            bool left_out = left > coding->threshold, right_out = right > coding->threshold;
            of_left = right_out && !left_out ? left : of_left;
            of_right = left_out ? right : of_right;
            sum += of_left * of_left + of_right * of_right;
        }
        if (columns % 2 == 0) continue;
        double last = fabs(row[columns - 1]) / scale, of_last = last - outlier_pairs_to_nearest(coding, last);
        sum += of_last * of_last;
    }
    return sum * scale * scale;
}

static double scale_of_least_error(const codes *coding, double start, const double *values, size_t rows,
                                   size_t columns) {
    double best = start, least = INFINITY;
    for (int share = SEARCH_FROM; share < SEARCH_TO; share += SEARCH_STEP) {
        double scale = start * share / 100, error = squared_error(coding, scale, values, rows, columns);
        if (error >= least) continue;
        least = error;
        best = scale;
    }
    return best;
}

static double to_code(const codes *coding, double x, uint64_t *noise) {
    if (!noise || x == 0 || fabs(x) > coding->threshold)
        return copysign(outlier_pairs_to_nearest(coding, fabs(x)), x);
    return fmin(fmax(floor(x + tn_splitmix_unit(noise)), -coding->limit), coding->limit);
}

static void round_pairs(const codes *coding, double scale, double *values, size_t rows, size_t columns,
                        uint64_t *noise) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c += 2) {
            double *first = values + r * columns + c, *second = c + 1 < columns ? first + 1 : NULL;
            double left = *first / scale, right = second ? *second / scale : 0;
            bool left_out = fabs(left) > coding->threshold, right_out = fabs(right) > coding->threshold;
            *first = left_out || !right_out ? to_code(coding, left, noise) * scale : 0;
            if (second) *second = left_out ? 0 : to_code(coding, right, noise) * scale;
        }
}

/* The power of two that brings the greatest value below 1, where squares of values would leave a double; else 0. */
static int far_exponent(const double *values, size_t count) {
    enum { FAR = 400 };
    double most = 0;
    int e;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(values[i]));
    (void)frexp(most, &e);
    return e < -FAR || e > FAR ? e : 0;
}

/* A code that rounding puts beyond the largest double becomes that. */
static void shift(double *values, size_t count, int power) {
    for (size_t i = 0; power != 0 && i < count; i++)
        values[i] = fmin(fmax(scalbn(values[i], power), -DBL_MAX), DBL_MAX);
}

void tn_outlier_pairs_round(uint32_t bits, bool searched, double *values, size_t rows, size_t columns,
                            uint64_t *noise) {
    const codes coding = codes_of(bits);
    const size_t count = rows * columns;
    const int far = far_exponent(values, count);
    shift(values, count, -far);
    double scale = scale_by_deviation(&coding, values, count);
    if (searched && scale > 0) scale = scale_of_least_error(&coding, scale, values, rows, columns);
    if (scale > 0) round_pairs(&coding, scale, values, rows, columns, noise);
    shift(values, count, far);
}

enum { PARTS_MOST = 3 };

/* --- names */

const tn_number_format tn_fp32 = {TN_FLOATING, .exponent_bits = 8, .mantissa_bits = 23};
const tn_number_format tn_fp16 = {TN_FLOATING, .exponent_bits = 5, .mantissa_bits = 10};
const tn_number_format tn_bf16 = {TN_FLOATING, .exponent_bits = 8, .mantissa_bits = 7};
const tn_number_format tn_int16 = {TN_SCALED_INTEGER, .bits = 16};
const tn_number_format tn_int8 = {TN_SCALED_INTEGER, .bits = 8};
const tn_number_format tn_bit = {TN_FIXED_POINT, .bits = 1}; /* yes or no */

static const struct {
    const char *name;
    const tn_number_format *format;
} plain[] = {
    {"fp32", &tn_fp32}, {"fp16", &tn_fp16}, {"bf16", &tn_bf16}, {"int16", &tn_int16}, {"int8", &tn_int8}};
enum { PLAIN = sizeof plain / sizeof *plain };

/* "16,8,4" */
static bool read_parts(const char *text, size_t count, uint64_t *part) {
    for (size_t i = 0; i < count; i++) {
        char digits[24];
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof digits || (text[length] == '\0') != (i + 1 == count))
            return false;
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (strspn(digits, "0123456789") != length || tn_read_count(digits, &part[i]) != TN_NUMBER_OK)
            return false;
        text += length + 1;
    }
    return true;
}

static bool within(uint64_t value, uint64_t least, uint64_t most) {
    return value >= least && value <= most;
}

static tn_status read_block(const char *text, const char *parts, tn_number_format *format, tn_error *error) {
    uint64_t part[PARTS_MOST];
    if (!read_parts(parts, 3, part) || !within(part[0], 1, (uint64_t)1 << 32) || !within(part[1], 1, 11) ||
        !within(part[2], 1, 24))
        return tn_fail(
            error, TN_INPUT,
            "format '%.60s' is not bfpGROUP,EXPONENT,MANTISSA with a group of 1 to 2^32 values, an "
            "exponent of 1 to 11 bits and mantissas of 1 to 24, as bfp16,8,4",
            text);
    *format = (tn_number_format){.kind = TN_BLOCK_FLOATING,
                                 .group = part[0],
                                 .exponent_bits = (uint32_t)part[1],
                                 .mantissa_bits = (uint32_t)part[2]};
    return TN_OK;
}

static tn_status read_fixed(const char *text, const char *parts, tn_number_format *format, tn_error *error) {
    uint64_t part[PARTS_MOST];
    if (!read_parts(parts, 2, part) || !within(part[0], 2, 52) || part[1] > 1000)
        return tn_fail(error, TN_INPUT,
                       "format '%.60s' is not fixedBITS,FRACTION with 2 to 52 bits and 0 to 1000 of them "
                       "behind the point, as fixed16,8",
                       text);
    *format = (tn_number_format){
        .kind = TN_FIXED_POINT, .bits = (uint32_t)part[0], .fraction_bits = (uint32_t)part[1]};
    return TN_OK;
}

static tn_status read_pairs(const char *text, const char *parts, tn_number_format *format, tn_error *error) {
    uint64_t part[PARTS_MOST];
    char bits[] = "0";
    bits[0] = parts[0];
    const char *rest = parts[0] ? parts + 1 : parts;
    bool searched = strcmp(rest, ",mse") == 0;
    if ((*rest && !searched) || !read_parts(bits, 1, part) ||
        !within(part[0], TN_OUTLIER_BITS_LEAST, TN_OUTLIER_BITS_MOST))
        return tn_fail(error, TN_INPUT,
                       "format '%.60s' is not oliveBITS or oliveBITS,mse with %d to %d bits, as olive4", text,
                       (int)TN_OUTLIER_BITS_LEAST, (int)TN_OUTLIER_BITS_MOST);
    *format = (tn_number_format){.kind = TN_OUTLIER_PAIRS, .bits = (uint32_t)part[0], .searched = searched};
    return TN_OK;
}

tn_status tn_number_format_read(const char *text, tn_number_format *format, tn_error *error) {
    if (strncmp(text, "bfp", 3) == 0) return read_block(text, text + 3, format, error);
    if (strncmp(text, "fixed", 5) == 0) return read_fixed(text, text + 5, format, error);
    if (strncmp(text, "olive", 5) == 0) return read_pairs(text, text + 5, format, error);
    for (size_t i = 0; i < PLAIN; i++) {
        if (strcmp(text, plain[i].name) != 0) continue;
        *format = *plain[i].format;
        return TN_OK;
    }
    return tn_fail(error, TN_INPUT,
                   "no format called '%.60s'; it is fp32, fp16, bf16, int16, int8, fixedBITS,FRACTION, "
                   "bfpGROUP,EXPONENT,MANTISSA, oliveBITS or oliveBITS,mse",
                   text);
}

bool tn_number_format_same(const tn_number_format *a, const tn_number_format *b) {
    return a->kind == b->kind && a->bits == b->bits && a->fraction_bits == b->fraction_bits &&
           a->exponent_bits == b->exponent_bits && a->mantissa_bits == b->mantissa_bits &&
           a->group == b->group;
}

void tn_number_format_name(const tn_number_format *format, char name[TN_NUMBER_FORMAT_NAME]) {
    for (size_t i = 0; i < PLAIN; i++)
        if (tn_number_format_same(format, plain[i].format)) {
            snprintf(name, TN_NUMBER_FORMAT_NAME, "%s", plain[i].name);
            return;
        }
    if (format->kind == TN_FIXED_POINT)
        snprintf(name, TN_NUMBER_FORMAT_NAME, "fixed%" PRIu32 ",%" PRIu32, format->bits,
                 format->fraction_bits);
    else if (format->kind == TN_OUTLIER_PAIRS)
        snprintf(name, TN_NUMBER_FORMAT_NAME, "olive%" PRIu32 "%s", format->bits,
                 format->searched ? ",mse" : "");
    else
        snprintf(name, TN_NUMBER_FORMAT_NAME, "bfp%" PRIu64 ",%" PRIu32 ",%" PRIu32, format->group,
                 format->exponent_bits, format->mantissa_bits);
}

uint64_t tn_number_format_word_bits(const tn_number_format *format) {
    uint64_t bits = (uint64_t)1 + format->mantissa_bits;
    if (format->kind == TN_FLOATING) return bits + format->exponent_bits;
    if (format->kind == TN_BLOCK_FLOATING) return bits + tn_ceil_div(format->exponent_bits, format->group);
    return format->bits;
}

tn_status tn_number_format_bytes(const tn_number_format *format, uint64_t values, uint64_t *bytes,
                                 tn_error *error) {
    bool block = format->kind == TN_BLOCK_FLOATING;
    uint64_t each = block ? (uint64_t)1 + format->mantissa_bits : tn_number_format_word_bits(format);
    uint64_t bits = 0, groups = block ? tn_ceil_div(values, format->group) : 0;
    if (!tn_mul_add(values, each, &bits) || !tn_mul_add(groups, format->exponent_bits, &bits))
        return tn_fail(error, TN_OVERFLOW, "%" PRIu64 " values take more than 2^64 bits; use smaller sizes",
                       values);
    *bytes = tn_ceil_div(bits, 8);
    return TN_OK;
}

double tn_number_format_bits(const tn_number_format *format) {
    switch (format->kind) {
    case TN_FLOATING:
        return 1 + format->exponent_bits + format->mantissa_bits;
    case TN_BLOCK_FLOATING:
        return 1 + format->mantissa_bits + (double)format->exponent_bits / (double)format->group;
    default:
        return format->bits;
    }
}

/* --- rounding */

/* The whole number for `x`, to nearest even or up with the probability of the rest. */
static double to_whole(double x, uint64_t *noise) {
    if (!noise || x == 0) return rint(x);
    return floor(x + tn_splitmix_unit(noise));
}

/* x as a multiple of 2^power, at most `most` times it, at least `least` times. Scaling by powers of two is exact
 * above the subnormals of a double. */
static double to_multiple(double x, int power, double least, double most, uint64_t *noise) {
    double whole = to_whole(scalbn(x, -power), noise);
    whole = whole < least ? least : whole > most ? most : whole;
    return scalbn(whole, power);
}

/* The e with |x| in [2^(e-1), 2^e); from the bits of a double where it is no subnormal. */
static int exponent_of(double x) {
    uint64_t bits;
    int e;
    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff) - 1022;
    if (e == -1022) (void)frexp(x, &e);
    return e;
}

/* 2^power, -1022 <= power <= 1023. */
static double power_of_two(int power) {
    uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double to_float(const tn_number_format *f, double x, uint64_t *noise) {
    int bias = (1 << (f->exponent_bits - 1)) - 1, bits = (int)f->mantissa_bits;
    int e = exponent_of(x) - 1; /* as IEEE counts it: 1 <= significand < 2 */
    double rounded = to_multiple(x, (e < 1 - bias ? 1 - bias : e) - bits, -INFINITY, INFINITY, noise);
    double largest = scalbn(2 - scalbn(1, -bits), bias);
    return fabs(rounded) > largest ? copysign(INFINITY, x) : rounded;
}

/* The same to nearest, by whole-number operations on the bits, in a loop that the compiler can vectorise. A double has
 * 52 bits of significand: those that the format lacks are rounded off, which carries into the exponent by itself. Below
 * the least normal number the format's step is a constant: adding and taking off 1.5 * 2^52 of it rounds. */
static void to_nearest_float(const tn_number_format *f, double *values, size_t count) {
    const uint64_t sign = (uint64_t)1 << 63, last = (uint64_t)1 << (52 - f->mantissa_bits);
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const double least = power_of_two(1 - bias);
    const double magic = 0x1.8p52 * power_of_two(1 - bias - (int)f->mantissa_bits);
    const double largest = (2 - power_of_two(-(int)f->mantissa_bits)) * power_of_two(bias);
    for (size_t i = 0; i < count; i++) {
        double x = values[i], size = fabs(x), normal;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        uint64_t rounded = (bits & ~sign) + (last / 2 - 1) + ((bits & last) != 0);
        rounded &= ~(last - 1);
        memcpy(&normal, &rounded, sizeof normal);
        normal = normal > largest ? INFINITY : normal;
        values[i] = copysign(size < least ? size + magic - magic : normal, x);
    }
}

/* Four at a time: a maximum waits for the one before. */
static double greatest(const double *values, size_t count) {
    double most[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++) {
            double size = fabs(values[i + k]);
            most[k] = size > most[k] ? size : most[k];
        }
    for (; i < count; i++) most[0] = fabs(values[i]) > most[0] ? fabs(values[i]) : most[0];
    most[0] = most[1] > most[0] ? most[1] : most[0];
    most[2] = most[3] > most[2] ? most[3] : most[2];
    return most[2] > most[0] ? most[2] : most[0];
}

/* The same for many of |x| < 2^51 multiples, in a loop that the compiler can vectorise: adding and taking off 1.5 *
 * 2^52 rounds to the nearest whole number, ties to even. `scale` and `inverse` are powers of two. */
static void to_nearest(double *values, size_t count, double scale, double inverse, double limit) {
    const double magic = 0x1.8p52;
    for (size_t i = 0; i < count; i++) {
        double whole = values[i] * inverse + magic - magic;
        whole = whole > limit ? limit : whole;
        whole = whole < -limit ? -limit : whole;
        values[i] = copysign(whole * scale, values[i]);
    }
}

/* Whole multiples of 2^-fraction_bits, clipped first: within +-2^51 of them. */
static void to_nearest_fixed(const tn_number_format *f, double *values, size_t count) {
    const double magic = 0x1.8p52, most = power_of_two((int)f->bits - 1) - 1, least = -most - 1;
    const double scale = power_of_two(-(int)f->fraction_bits), inverse = power_of_two((int)f->fraction_bits);
    for (size_t i = 0; i < count; i++) {
        double whole = values[i] * inverse;
        whole = whole > most ? most : whole;
        whole = whole < least ? least : whole;
        values[i] = copysign((whole + magic - magic) * scale, values[i]);
    }
}

static void round_group(const tn_number_format *f, double *values, size_t count, uint64_t *noise) {
    double largest = greatest(values, count), limit = power_of_two((int)f->mantissa_bits) - 1;
    int e = exponent_of(largest), least = -(1 << (f->exponent_bits - 1)), most = -least - 1;
    if (largest == 0) return;
    bool reached = e > most;
    e = e < least ? least : e > most ? most : e;
    int power = e - (int)f->mantissa_bits;
    if (!noise && !reached && power > -1022 && power < 1022) {
        to_nearest(values, count, power_of_two(power), power_of_two(-power), limit);
        return;
    }
    for (size_t i = 0; i < count; i++) values[i] = to_multiple(values[i], power, -limit, limit, noise);
}

static void round_scaled(const tn_number_format *f, double *values, size_t count, uint64_t *noise) {
    double limit = scalbn(1, (int)f->bits - 1) - 1, most = greatest(values, count), scale = most / limit;
    if (scale == 0) return;
    for (size_t i = 0; i < count; i++) {
        double whole = to_whole(values[i] / scale, noise);
        double kept = (whole < -limit ? -limit : whole > limit ? limit : whole) * scale;
        values[i] = isinf(kept) ? copysign(most, kept) : kept; /* of the largest doubles, by a rounding */
    }
}

void tn_number_format_round(const tn_number_format *format, double *values, size_t rows, size_t columns,
                            uint64_t *noise) {
    size_t count = rows * columns;
    double limit = scalbn(1, (int)format->bits - 1);
    switch (format->kind) {
    case TN_FLOATING:
        if (!noise) {
            to_nearest_float(format, values, count);
            return;
        }
        for (size_t i = 0; i < count; i++) values[i] = to_float(format, values[i], noise);
        return;
    case TN_FIXED_POINT:
        if (!noise) {
            to_nearest_fixed(format, values, count);
            return;
        }
        for (size_t i = 0; i < count; i++)
            values[i] = to_multiple(values[i], -(int)format->fraction_bits, -limit, limit - 1, noise);
        return;
    case TN_SCALED_INTEGER:
        round_scaled(format, values, count, noise);
        return;
    case TN_OUTLIER_PAIRS:
        tn_outlier_pairs_round(format->bits, format->searched, values, rows, columns, noise);
        return;
    case TN_BLOCK_FLOATING:
        for (size_t row = 0; row < rows; row++)
            for (size_t index = 0; index < columns; index += format->group) {
                size_t group = columns - index < format->group ? columns - index : (size_t)format->group;
                round_group(format, values + row * columns + index, group, noise);
            }
        return;
    }
}
