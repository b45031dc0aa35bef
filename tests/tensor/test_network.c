#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tensor/network.h"

static uint64_t sizes[] = {2, 3, 5};
static uint32_t ab[] = {0, 1}, bc[] = {1, 2}, ac[] = {0, 2}, aa[] = {0, 0}, far_off[] = {7};

static tn_network product_of_two(tn_indices *tensors) {
    tensors[0] = (tn_indices){2, ab};
    tensors[1] = (tn_indices){2, bc};
    return (tn_network){
        .tensors = 2, .indices = 3, .index_size = sizes, .tensor = tensors, .output = {2, ac}};
}

static void elements(void **state) {
    (void)state;
    tn_indices tensors[2];
    tn_network network = product_of_two(tensors);
    uint64_t count;
    assert_int_equal(tn_network_check(&network, NULL), TN_OK);
    assert_int_equal(tn_network_elements(&network, network.output, &count, NULL), TN_OK);
    assert_int_equal(count, 10);
    assert_int_equal(tn_network_elements(&network, (tn_indices){0, NULL}, &count, NULL), TN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(tn_network_input_elements(&network, &count, NULL), TN_OK);
    assert_int_equal(count, 6 + 15);
}

static void overflow_is_reported(void **state) {
    (void)state;
    tn_indices tensors[2];
    tn_network network = product_of_two(tensors);
    uint64_t huge[] = {(uint64_t)1 << 40, (uint64_t)1 << 23, (uint64_t)1 << 23}, count;
    network.index_size = huge;
    assert_int_equal(tn_network_elements(&network, network.tensor[0], &count, NULL), TN_OK);
    assert_int_equal(tn_network_input_elements(&network, &count, NULL), TN_OK);
    huge[1] = (uint64_t)1 << 24;
    assert_int_equal(tn_network_elements(&network, network.tensor[0], &count, NULL), TN_OVERFLOW);
    assert_int_equal(tn_network_input_elements(&network, &count, NULL), TN_OVERFLOW);
    huge[0] = (uint64_t)1 << 39;
    huge[2] = (uint64_t)1 << 39; /* each 2^63: the sum is past 2^64 */
    assert_int_equal(tn_network_input_elements(&network, &count, NULL), TN_OVERFLOW);
}

static void broken_networks_are_refused(void **state) {
    (void)state;
    tn_indices tensors[2];
    tn_error error;
    static const char *names[] = {"a", "b", "c"};
    tn_network network = product_of_two(tensors);
    network.index_name = names;
    network.tensor[1].index = aa;
    assert_int_equal(tn_network_check(&network, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "tensor T1 has index a twice"));
    network = product_of_two(tensors);
    network.tensor[0] = (tn_indices){1, far_off};
    assert_int_equal(tn_network_check(&network, &error), TN_INPUT);
    network = product_of_two(tensors);
    network.tensor[1] = (tn_indices){0, NULL}; /* c is on no tensor */
    assert_int_equal(tn_network_check(&network, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "the output has index"));
    uint64_t zero[] = {2, 0, 5};
    network = product_of_two(tensors);
    network.index_size = zero;
    assert_int_equal(tn_network_check(&network, &error), TN_INPUT);
    network = product_of_two(tensors);
    network.tensors = 0;
    assert_int_equal(tn_network_check(&network, &error), TN_INPUT);
    network.tensors = TN_TENSORS_MOST + 1;
    assert_int_equal(tn_network_check(&network, &error), TN_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements),
        cmocka_unit_test(overflow_is_reported),
        cmocka_unit_test(broken_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
