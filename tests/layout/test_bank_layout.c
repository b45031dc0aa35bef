/* Bank layouts against a simulation that stores every element at its bank and address and plays every issue.
 */
#include "layout/bank_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 10000, ELEMENTS_MOST = 1 << 14, ROOM = 1 << 20 };

static uint64_t state_of_random = 88172645463325252u;

static uint64_t below(uint64_t limit) {
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random % limit;
}

/* ---- the simulation ---- */

typedef struct {
    uint32_t bank, address; /* of its word */
} place;

typedef struct {
    place *location;             /* [elements]: where each element is stored */
    uint64_t *read_in;           /* [words by bank and address]: the issue that read it last */
    uint32_t *address, *waiting; /* [banks]: words stored; words asked for in an issue */
    uint64_t elements, banks, words, depth;
} memory;

static void split(const tn_bank_layout *layout, uint64_t element, uint64_t *x) {
    for (uint32_t i = layout->axes; i-- > 0; element /= layout->dims[i]) x[i] = element % layout->dims[i];
}

static uint64_t bank_of(const tn_bank_layout *layout, const uint64_t *c) {
    uint64_t bank = 0;
    for (uint32_t k = 0; k < layout->forms; k++) {
        uint64_t form = 0;
        for (uint32_t i = 0; i < layout->axes; i++) form += layout->skew[k][i] * c[i];
        bank = bank * layout->banks[k] + form % layout->banks[k];
    }
    return bank;
}

/* Words are stored in the order of their coordinates, each at the next free address of its bank. */
static void store(const tn_bank_layout *layout, memory *m) {
    uint64_t x[TN_BANK_LAYOUT_AXES], c[TN_BANK_LAYOUT_AXES], grid = 1;
    place *of_word = malloc(ROOM * sizeof *of_word);
    assert_non_null(of_word);
    m->elements = m->banks = 1;
    m->depth = 0;
    for (uint32_t i = 0; i < layout->axes; i++) m->elements *= layout->dims[i];
    for (uint32_t k = 0; k < layout->forms; k++) m->banks *= layout->banks[k];
    memset(m->address, 0, m->banks * sizeof *m->address);
    for (uint32_t i = 0; i < layout->axes; i++)
        grid *= (layout->dims[i] + layout->word[i] - 1) / layout->word[i];
    assert_true(grid <= ROOM);
    m->words = grid;
    for (uint64_t word = 0; word < grid; word++) {
        uint64_t rest = word;
        for (uint32_t i = layout->axes; i-- > 0;) {
            uint64_t along = (layout->dims[i] + layout->word[i] - 1) / layout->word[i];
            c[i] = rest % along;
            rest /= along;
        }
        uint32_t bank = (uint32_t)bank_of(layout, c);
        of_word[word] = (place){bank, m->address[bank]++};
        if (m->address[bank] > m->depth) m->depth = m->address[bank];
    }
    for (uint64_t element = 0; element < m->elements; element++) {
        uint64_t word = 0;
        split(layout, element, x);
        for (uint32_t i = 0; i < layout->axes; i++)
            word =
                word * ((layout->dims[i] + layout->word[i] - 1) / layout->word[i]) + x[i] / layout->word[i];
        m->location[element] = of_word[word];
    }
    free(of_word);
}

/* Reads one block element by element; every bank gives one word a cycle. */
static uint64_t play_issue(const tn_bank_layout *layout, memory *m, const uint64_t *first,
                           const uint64_t *block, uint64_t issue) {
    uint64_t x[TN_BANK_LAYOUT_AXES], cycles = 0;
    memset(m->waiting, 0, m->banks * sizeof *m->waiting);
    memcpy(x, first, sizeof x);
    for (;;) {
        uint64_t element = 0;
        bool inside = true;
        for (uint32_t i = 0; i < layout->axes; i++) {
            inside = inside && x[i] < layout->dims[i];
            element = element * layout->dims[i] + x[i];
        }
        if (inside) {
            place location = m->location[element];
            uint64_t *read_in = &m->read_in[location.bank * m->depth + location.address];
            if (*read_in != issue && ++m->waiting[location.bank] > cycles) cycles++;
            *read_in = issue;
        }
        uint32_t axis = layout->axes;
        while (axis-- > 0) {
            if (++x[axis] < first[axis] + block[axis] && x[axis] < layout->dims[axis]) break;
            x[axis] = first[axis];
        }
        if (axis == UINT32_MAX) return cycles;
    }
}

static uint64_t play(const tn_bank_layout *layout, memory *m, const uint64_t *block) {
    uint64_t first[TN_BANK_LAYOUT_AXES] = {0}, cycles = 0, issue = 0;
    memset(m->read_in, 0, m->banks * m->depth * sizeof *m->read_in);
    for (;;) {
        cycles += play_issue(layout, m, first, block, ++issue);
        uint32_t axis = layout->axes;
        while (axis-- > 0) {
            first[axis] += block[axis];
            if (first[axis] < layout->dims[axis]) break;
            first[axis] = 0;
        }
        if (axis == UINT32_MAX) return cycles;
    }
}

/* ---- random questions ---- */

static void ask_at_random(tn_bank_layout *layout, uint64_t *block) {
    static const uint64_t edges[] = {1, 2, 4, 8, 16};
    uint64_t elements = 1;
    *layout = (tn_bank_layout){.axes = 1 + (uint32_t)below(4), .forms = 1 + (uint32_t)below(3)};
    for (uint32_t i = 0; i < layout->axes; i++) {
        uint64_t most = ELEMENTS_MOST / elements;
        layout->dims[i] = 1 + below(most < 40 ? most : 40);
        elements *= layout->dims[i];
        bool plain = below(3) > 0;
        layout->word[i] = plain ? edges[below(4)] : 1 + below(9);
        block[i] = below(3) ? edges[below(5)] : 1 + below(20);
    }
    for (uint32_t k = 0; k < layout->forms; k++) {
        layout->banks[k] = below(2) ? edges[below(4)] : 1 + below(7);
        for (uint32_t i = 0; i < layout->axes; i++) layout->skew[k][i] = below(below(2) ? 2 : 9);
    }
}

static memory make_memory(void) {
    memory m = {.location = malloc(ELEMENTS_MOST * sizeof *m.location),
                .read_in = malloc(8 * ROOM * sizeof *m.read_in),
                .address = malloc(4096 * sizeof *m.address),
                .waiting = malloc(4096 * sizeof *m.waiting)};
    assert_true(m.location && m.read_in && m.address && m.waiting);
    return m;
}

static void free_memory(memory *m) {
    free(m->location);
    free(m->read_in);
    free(m->address);
    free(m->waiting);
}

static void equals_the_played_simulation(void **state) {
    (void)state;
    memory m = make_memory();
    for (unsigned i = 0; i < QUESTIONS; i++) {
        tn_bank_layout layout;
        tn_bank_layout_size size;
        uint64_t block[TN_BANK_LAYOUT_AXES], cycles, elements = 1;
        ask_at_random(&layout, block);
        assert_int_equal(tn_bank_layout_measure(&layout, &size, NULL), TN_OK);
        assert_int_equal(tn_bank_layout_issues(&layout, block, &cycles, NULL), TN_OK);
        store(&layout, &m);
        for (uint32_t a = 0; a < layout.axes; a++) elements *= layout.word[a];
        assert_int_equal(size.words, m.words);
        assert_int_equal(size.padded_elements, m.words * elements);
        assert_int_equal(size.depth, m.depth);
        assert_int_equal(cycles, play(&layout, &m, block));
    }
    free_memory(&m);
}

/* ---- worked by hand ---- */

static void read(const char *dims, const char *word, const char *banks, const char *skew, const char *block,
                 uint64_t expected[4]) {
    tn_bank_layout layout;
    tn_bank_layout_size size;
    uint64_t sizes[TN_BANK_LAYOUT_AXES], cycles;
    tn_error error;
    assert_int_equal(tn_bank_layout_read(dims, word, banks, skew, &layout, &error), TN_OK);
    assert_int_equal(tn_bank_layout_read_block(&layout, block, sizes, &error), TN_OK);
    assert_int_equal(tn_bank_layout_measure(&layout, &size, &error), TN_OK);
    assert_int_equal(tn_bank_layout_issues(&layout, sizes, &cycles, &error), TN_OK);
    assert_int_equal(size.words, expected[0]);
    assert_int_equal(size.padded_elements, expected[1]);
    assert_int_equal(size.depth, expected[2]);
    assert_int_equal(cycles, expected[3]);
}

static void worked_by_hand(void **state) {
    (void)state;
    /* 12 x 14 x 12 words; a block is four words in four banks, and the last row of blocks two. */
    read("12x14x48", "1x1x4", "4", "0x1x1", "1x4x4", (uint64_t[]){2016, 8064, 504, 12 * 4 * 12});
    /* One wide word a cycle: the same block takes four cycles, or two at the edge. */
    read("12x14x48", "1x1x4", "1", NULL, "1x4x4", (uint64_t[]){2016, 8064, 2016, 2016});
    /* A matrix read by rows and by columns: 4 x 4 banks, both orientations in one cycle an issue. */
    read("8x8", "1x1", "4x4", "1x0,0x1", "4x4", (uint64_t[]){64, 64, 4, 4});
    read("8x8", "1x1", "4", "1x1", "4x1", (uint64_t[]){64, 64, 16, 16});
    read("8x8", "1x1", "4", "1x1", "1x4", (uint64_t[]){64, 64, 16, 16});
    read("8x8", "1x1", "4", "0x1", "4x1", (uint64_t[]){64, 64, 16, 64});
    /* Words of 4, blocks of 6: elements 0-5, 6-11, 12-13 touch 2, 2 and 1 words. */
    read("14", "4", "1", "0", "6", (uint64_t[]){4, 16, 4, 5});
    /* A rank of 14 takes what one of 16 takes. */
    read("14x8x14", "4x1x4", "1", NULL, "4x1x4", (uint64_t[]){128, 2048, 128, 128});
    read("16x8x16", "4x1x4", "1", NULL, "4x1x4", (uint64_t[]){128, 2048, 128, 128});
}

/* Sizes that no simulation could play: closed forms, or an error where they do not fit. */
static void large_arrays(void **state) {
    (void)state;
    tn_bank_layout layout;
    tn_bank_layout_size size;
    uint64_t cycles, block[] = {6};
    tn_error error;
    assert_int_equal(tn_bank_layout_read("3000000000000000000", "4", "8", "3", &layout, &error), TN_OK);
    assert_int_equal(tn_bank_layout_measure(&layout, &size, &error), TN_OK);
    assert_int_equal(size.words, 750000000000000000u);
    assert_int_equal(size.depth, 93750000000000000u);
    assert_int_equal(tn_bank_layout_issues(&layout, block, &cycles, &error), TN_OK);
    assert_int_equal(cycles, 500000000000000000u);
    layout.banks[0] = 1; /* 2 words of every block of 6: 0-5 and 6-11 touch two each */
    assert_int_equal(tn_bank_layout_issues(&layout, block, &cycles, &error), TN_OK);
    assert_int_equal(cycles, 1000000000000000000u);
    static const char *const overflowing[][2] = {
        {"4000000000x4000000000x4000000000", "1x1x1"},
        {"9000000000000000000", "1"},
        {"4000000000x2", "4000000000x4611686018427387903"},
    };
    for (size_t i = 0; i < sizeof overflowing / sizeof *overflowing; i++) {
        assert_int_equal(
            tn_bank_layout_read(overflowing[i][0], overflowing[i][1], "1", NULL, &layout, &error), TN_OK);
        assert_int_equal(tn_bank_layout_measure(&layout, &size, &error), TN_OVERFLOW);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *dims, *word, *banks, *skew, *message;
    } rows[] = {
        {"", "1", "1", NULL, "dims"},
        {"12xx4", "1x1", "1", NULL, "dims"},
        {"12x0", "1x1", "1", NULL, "at least 1"},
        {"12x4,3", "1x1", "1", NULL, "without commas"},
        {"12x4", "1", "1", NULL, "word has 1"},
        {"12x4", "1x1", "4", NULL, "skew"},
        {"12x4", "1x1", "4", "1", "skew has 1"},
        {"12x4", "1x1", "4x4", "1x0", "1 linear forms"},
        {"12x4", "1x1", "4", "1x0,0x1", "more forms"},
        {"12x4", "1x1", "300x300", "1x0,0x1", "65536"},
        {"12x4", "1x1", "4", "1x-1", "skew"},
        {"12x99999999999999999999", "1x1", "1", NULL, "64 bits"},
        {"1x1x1x1x1x1x1x1x1x1x1", "1", "1", NULL, "more than 10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_bank_layout layout;
        tn_error error;
        assert_int_not_equal(
            tn_bank_layout_read(rows[i].dims, rows[i].word, rows[i].banks, rows[i].skew, &layout, &error),
            TN_OK);
        if (!strstr(error.message, rows[i].message)) fail_msg("%zu: %s", i, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_played_simulation),
        cmocka_unit_test(worked_by_hand),
        cmocka_unit_test(large_arrays),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
