/* Chunks by conlleval's rules, on cases worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "learn/evaluation.h"

enum { WORDS_MOST = 16 };

/* Labels parted by blanks. */
static size_t split(char *text, const char **label) {
    size_t count = 0;
    for (char *cursor = strtok(text, " "); cursor; cursor = strtok(NULL, " ")) label[count++] = cursor;
    return count;
}

static void check(const char *expected, const char *found, size_t chunks, size_t found_chunks, size_t right) {
    char a[256], b[256];
    const char *x[WORDS_MOST], *y[WORDS_MOST];
    tn_slot_score score = {0};
    strcpy(a, expected);
    strcpy(b, found);
    size_t words = split(a, x);
    assert_int_equal(split(b, y), words);
    tn_slot_score_add(&score, x, y, words);
    assert_int_equal(score.chunks, chunks);
    assert_int_equal(score.found_chunks, found_chunks);
    assert_int_equal(score.right_chunks, right);
    assert_int_equal(score.labels, words);
}

static void hand_cases(void **state) {
    (void)state;
    check("O O", "O O", 0, 0, 0);
    check("B-a I-a O", "B-a I-a O", 1, 1, 1);
    check("B-a I-a O", "B-a O O", 1, 1, 0);           /* too short */
    check("B-a O O", "B-a I-a O", 1, 1, 0);           /* too long */
    check("B-a I-a", "I-a I-a", 1, 1, 1);             /* an I behind O begins a chunk */
    check("B-a B-a", "B-a I-a", 2, 1, 0);             /* one chunk for two */
    check("B-a I-a", "B-a B-a", 1, 2, 0);             /* two for one */
    check("B-a I-b", "B-a I-b", 2, 2, 2);             /* another type begins a chunk */
    check("B-a I-a B-b", "B-a I-a B-c", 2, 2, 1);     /* the wrong type */
    check("O B-a I-a I-a", "O B-a I-a I-a", 1, 1, 1); /* up to the end of the sentence */
    check("B-a O B-b I-b O B-a", "B-a O B-b O O I-a", 3, 3, 2);
    check("B-a I-a I-a", "B-a I-b I-a", 1, 3, 0);
}

static void scores(void **state) {
    (void)state;
    const char *expected[] = {"B-a", "O", "B-b", "I-b"}, *found[] = {"B-a", "O", "B-b", "O"};
    tn_slot_score score = {0};
    assert_true(tn_slot_score_f1(&score) == 0);
    tn_slot_score_add(&score, expected, found, 4);
    assert_true(tn_slot_score_accuracy(&score) == 0.75);
    assert_true(tn_slot_score_f1(&score) == 0.5); /* precision 1/2, recall 1/2 */
    tn_slot_score_add(&score, expected, expected, 4);
    assert_true(tn_slot_score_f1(&score) == 0.75);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hand_cases), cmocka_unit_test(scores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
