/* Rounding to 16 bits against the nearest of all values of the type, found by looking at every one. */
#include "base/random.h"
#include "text/element.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

static double value_of(tn_element type, unsigned bits) {
    const unsigned char bytes[] = {(unsigned char)bits, (unsigned char)(bits >> 8)};
    double value;
    tn_element_decode(type, false, bytes, 1, &value, 1);
    return value;
}

static unsigned encoded(tn_element type, double value) {
    unsigned char bytes[2];
    tn_element_encode(type, &value, 1, bytes);
    return bytes[0] | (unsigned)bytes[1] << 8;
}

static void rounds_to_nearest(void **state) {
    static const struct {
        tn_element type;
        unsigned finite; /* so many positive values, ascending by their bits */
    } types[] = {{TN_ELEMENT_F16, 0x7c00}, {TN_ELEMENT_BF16, 0x7f80}};
    uint64_t random = 3;
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (unsigned bits = 0; bits < types[t].finite; bits++) {
            double here = value_of(types[t].type, bits);
            assert_int_equal(encoded(types[t].type, here), bits);
            assert_int_equal(encoded(types[t].type, -here), bits | 0x8000);
            if (bits + 1 == types[t].finite) break;
            double next = value_of(types[t].type, bits + 1), middle = here / 2 + next / 2;
            assert_int_equal(encoded(types[t].type, middle), bits + (bits & 1)); /* ties to even */
            double between = here + (next - here) * tn_splitmix_unit(&random);
            unsigned nearest = between - here < next - between ? bits : bits + 1;
            if (between != middle) assert_int_equal(encoded(types[t].type, between), nearest);
        }
        assert_int_equal(encoded(types[t].type, INFINITY), types[t].finite);
        assert_int_equal(encoded(types[t].type, -1e300), types[t].finite | 0x8000);
        assert_true(isnan(value_of(types[t].type, encoded(types[t].type, NAN))));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_to_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
