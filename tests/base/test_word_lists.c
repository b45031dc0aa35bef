#include "base/random.h"
#include "base/word_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { LISTS = 600, WORDS = 4 };

/* Against a look through all that came before. */
static void equal_lists_have_one_number(void **state) {
    static uint64_t word[LISTS][WORDS];
    static uint32_t words[LISTS], number[LISTS];
    uint64_t random = 5;
    uint32_t count = 0;
    tn_arena arena = {0};
    tn_word_lists lists;
    (void)state;
    assert_int_equal(tn_word_lists_begin(&lists, LISTS, &arena, NULL), TN_OK);
    for (int i = 0; i < LISTS; i++) {
        int like = 0;
        words[i] = (uint32_t)(tn_splitmix_next(&random) % (WORDS + 1));
        for (uint32_t k = 0; k < words[i]; k++) word[i][k] = tn_splitmix_next(&random) % 4;
        while (like < i &&
               (words[like] != words[i] || memcmp(word[like], word[i], words[i] * sizeof *word[i]) != 0))
            like++;
        const uint32_t expected = like < i ? number[like] : count++;
        assert_int_equal(tn_word_lists_number(&lists, word[i], words[i], &number[i], NULL), TN_OK);
        assert_int_equal(number[i], expected);
    }
    assert_int_equal(lists.count, count);
    assert_true(count > 100 && count < LISTS);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_lists_have_one_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
