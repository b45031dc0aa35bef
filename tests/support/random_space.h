/* Random small models and spaces: the same seed gives the same one.
 *
 * A model is a small transformer, or parts of one, with layers of every kind, weights in every format, number formats,
 * techniques and frozen parts. A space has some 4 to some hundred designs of it by keys of the build, of weights, of single
 * layers and of the model, on a device that the project ships; objectives, caps and tables. Constraints are drawn from
 * prices of its designs, so that most spaces have designs that fit and designs that do not, some exactly at the bound. */
#ifndef TEST_SUPPORT_RANDOM_SPACE_H
#define TEST_SUPPORT_RANDOM_SPACE_H

#include "base/buffer.h"
#include "base/memory.h"
#include "space/space.h"

#include <stdbool.h>
#include <stdint.h>

enum { TEST_CHOICES_MOST = 24, TEST_VALUES_MOST = 24 };

/* A choice of a space file: a list of values, or a range, whose text is the only value. */
typedef struct test_choice {
    char key[64], value[TEST_VALUES_MOST][64];
    size_t count;
    bool range;
} test_choice;

typedef struct test_random_space {
    uint64_t seed, state; /* state of the random numbers */
    bool decomposes;      /* drawn so that its front can be found by decomposition */
    uint64_t most;        /* designs that it is drawn for, about */
    uint32_t width, hidden, vocabulary, sequence, batch;
    char formats[4][16], folding[4][8][64]; /* of weights square, wide, narrow, table: as drawn, and others */
    bool has_weight[4], has_layer[4];       /* query, key, value, up: may vary on their own */
    bool trains[4]; /* weights of one factor a side, whose flows of training are found at once */
    tn_buffer model, other_model; /* texts; other_model empty: the model is no choice */
    tn_buffer head, tail;         /* of the space file, what stands before and behind its choices */
    tn_buffer constraints;
    size_t choices;
    test_choice choice[TEST_CHOICES_MOST];
    bool tied;
    tn_buffer error_table, accuracy_table; /* empty: none */
} test_random_space;

/* Draws the space of the seed and writes its files into the folder: model.yaml, space.yaml and what they name. */
void test_random_space_draw(uint64_t seed, const char *folder, tn_arena *arena, test_random_space *drawn,
                            tn_space *space);
void test_random_space_free(test_random_space *drawn);

/* Writes it anew as backwards.yaml, choices in the other order and lists backwards, and loads that; false: it is
 * refused, with why. */
bool test_random_space_backwards(const test_random_space *drawn, const char *folder, tn_arena *arena,
                                 tn_space *space, tn_error *error);

#endif
