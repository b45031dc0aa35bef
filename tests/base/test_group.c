/* Groups against a look at every thing for every owner. */
#include "base/group.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_owner_has_its_own(void **state) {
    (void)state;
    enum { MOST = 40, TIMES = 300 };
    uint64_t random = 3;
    for (int t = 0; t < TIMES; t++) {
        const uint32_t count = tn_splitmix_below(&random, MOST), owners = 1 + tn_splitmix_below(&random, 8);
        uint32_t owner[MOST], thing[MOST];
        tn_arena arena = {0};
        tn_groups groups, named;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t drawn = tn_splitmix_below(&random, owners + 1);
            owner[i] = drawn == owners ? TN_OWNED_BY_NONE : drawn;
            thing[i] = 1000 + tn_splitmix_below(&random, 5);
        }
        assert_int_equal(tn_group_by(owner, NULL, count, owners, &arena, &groups, NULL), TN_OK);
        assert_int_equal(tn_group_by(owner, thing, count, owners, &arena, &named, NULL), TN_OK);
        uint32_t index = 0;
        for (uint32_t o = 0; o < owners; o++) {
            assert_int_equal(groups.first[o], index);
            for (uint32_t i = 0; i < count; i++) {
                if (owner[i] != o) continue;
                assert_int_equal(named.member[index], thing[i]);
                assert_int_equal(groups.member[index++], i);
            }
        }
        assert_int_equal(groups.first[owners], index);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_owner_has_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
