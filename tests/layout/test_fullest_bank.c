/* The fullest bank of a block's words against counting them one by one. */
#include "layout/fullest_bank.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROUNDS = 200000 };

static uint64_t state = 1;

static uint64_t below(uint64_t limit) {
    return tn_splitmix_next(&state) % limit;
}

typedef struct {
    uint64_t words[TN_BANKED_AXES], skew[TN_BANKED_AXES], turn[TN_BANKED_AXES], banks;
    uint32_t axes;
} block;

static uint64_t count(const block *b) {
    uint64_t in_bank[TN_LAYOUT_BANKS_MOST] = {0}, entry[TN_BANKED_AXES] = {0}, most = 0;
    for (uint32_t k = 0; k < b->axes;) {
        uint64_t bank = 0;
        for (uint32_t i = 0; i < b->axes; i++)
            bank += entry[i] * b->skew[i] + (b->turn[i] ? entry[i] / b->turn[i] : 0);
        if (++in_bank[bank % b->banks] > most) most = in_bank[bank % b->banks];
        for (k = 0; k < b->axes && ++entry[k] == b->words[k]; k++) entry[k] = 0;
    }
    return most;
}

/* Powers of two, those above them and any; few words and more than there are banks; blocks of powers of two and others. */
static block draw(void) {
    block b = {.axes = 1 + (uint32_t)below(below(4) ? 2 : 4), .banks = UINT64_C(1) << below(11)};
    for (uint32_t k = 0; k < b.axes; k++) {
        b.words[k] = below(2) ? UINT64_C(1) << below(5) : 1 + below(b.axes < 3 ? 40 : 8);
        b.skew[k] = below(3) ? (UINT64_C(1) << below(11)) + below(2) : below(2000);
        if (b.axes == 1) b.words[k] = 1 + below(3000);
    }
    return b;
}

static void banks_are_counted(void **unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        const block b = draw();
        assert_int_equal(tn_fullest_bank(b.words, b.skew, b.axes, b.banks), count(&b));
    }
}

static void turned_banks_are_counted(void **unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS / 10; i++) {
        block b = draw();
        for (uint32_t k = 0; k < b.axes; k++) b.turn[k] = below(2) * (UINT64_C(1) << below(6));
        assert_int_equal(tn_fullest_turned_bank(b.words, b.skew, b.turn, b.axes, b.banks), count(&b));
    }
}

/* Words of which no two share a bank are told so where there are as many as banks, and never told so wrongly. */
static void words_are_told_apart(void **unused) {
    (void)unused;
    int apart = 0;
    for (int i = 0; i < ROUNDS; i++) {
        block b = draw();
        uint64_t all = 1;
        for (uint32_t k = 0; k < b.axes; k++) b.words[k] = UINT64_C(1) << below(5), all *= b.words[k];
        const bool told = tn_words_apart(b.words, b.skew, b.axes, b.banks);
        if (told || all == b.banks) assert_int_equal(told, count(&b) == 1);
        apart += told;
    }
    assert_true(apart > 1000);
}

/* The words that a block touches, over all places of it. */
static void words_of_blocks(void **unused) {
    (void)unused;
    for (uint64_t size = 1; size < 50; size++)
        for (uint64_t edge = 1; edge < 20; edge++)
            for (uint32_t log = 0; log < 6; log++) {
                uint64_t most = 0;
                for (uint64_t start = 0; start < size; start += edge) {
                    const uint64_t last = (start + edge < size ? start + edge : size) - 1,
                                   words = (last >> log) - (start >> log) + 1;
                    most = words > most ? words : most;
                }
                assert_int_equal(tn_words_of_block(size, edge, log), most);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(banks_are_counted), cmocka_unit_test(turned_banks_are_counted),
        cmocka_unit_test(words_are_told_apart), cmocka_unit_test(words_of_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
