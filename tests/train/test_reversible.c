/* Reversible blocks, executed: inputs found from outputs, gradients against kept activations, and memory that does not
 * grow with depth, with a frozen backbone too. */
#include "support/models.h"
#include "support/trained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the embedding a backbone of kept blocks and a branch of reversible ones, both of DEPTH blocks. */
static const char model_text[] =
    "kind: model\n"
    "name: duplex\n"
    "sequence: 6\n"
    "HEAD"
    "weights:\n"
    "  square: {format: tt, m: 4x4, n: 4x4, rank: 3}\n"
    "layers:\n"
    "  - {name: words, kind: embedding, vocabulary: 20, width: 16}\n"
    "  - {name: places, kind: positions}\n"
    "  - name: backbone\n"
    "    kind: block\n"
    "    repeat: DEPTH\n"
    "    layers:\n"
    "      - {name: widen, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: bend, kind: gelu}\n"
    "      - {name: sum, kind: residual, input: [entry, bend]}\n"
    "      - {name: norm, kind: layer-norm}\n"
    "  - name: branch\n"
    "    kind: block\n"
    "    repeat: DEPTH\n"
    "    activations: {policy: POLICY}\n"
    "    layers:\n"
    "      - {name: norm, kind: layer-norm, input: entry}\n"
    "      - {name: query, kind: linear, outputs: 16, weight: square}\n"
    "      - {name: key, kind: linear, outputs: 16, weight: square, input: norm}\n"
    "      - {name: value, kind: linear, outputs: 16, weight: square, input: norm}\n"
    "      - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\n"
    "      - {name: first, kind: residual, input: [previous.first, attention]}\n"
    "      - {name: feed-norm, kind: layer-norm}\n"
    "      - {name: widen, kind: linear, outputs: 32}\n"
    "      - {name: bend, kind: gelu}\n"
    "      - {name: narrow, kind: linear, outputs: 16}\n"
    "      - {name: second, kind: residual, input: [narrow, entry]}\n"
    "  - {name: joined, kind: residual, input: [branch.first, branch]}\n"
    "  - {name: norm, kind: layer-norm}\n"
    "  - {name: first-token, kind: first-token}\n"
    "  - {name: intent, kind: linear, outputs: 3}\n"
    "  - {name: intent-loss, kind: cross-entropy}\n"
    "  - {name: slot-head, kind: linear, outputs: 6, input: norm}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

/* A backbone of couplings whose inside a branch reads at every block: by a sum, and by attention of its own tokens to it. */
static const char attached_text[] =
    "kind: model\n"
    "name: attached\n"
    "sequence: 6\n"
    "HEAD"
    "weights:\n"
    "  square: {format: tt, m: 4x4, n: 4x4, rank: 3}\n"
    "layers:\n"
    "  - {name: words, kind: embedding, vocabulary: 20, width: 16}\n"
    "  - {name: places, kind: positions}\n"
    "  - name: duplex\n"
    "    kind: block\n"
    "    repeat: DEPTH\n"
    "    activations: {policy: POLICY}\n"
    "    layers:\n"
    "      - {name: back-norm, kind: layer-norm, input: previous.back-second}\n"
    "      - {name: back-widen, kind: linear, outputs: 16, weight: square}\n"
    "      - {name: back-bend, kind: gelu}\n"
    "      - {name: back-first, kind: residual, input: [previous.back-first, back-bend]}\n"
    "      - {name: back-norm2, kind: layer-norm}\n"
    "      - {name: back-narrow, kind: linear, outputs: 16}\n"
    "      - {name: back-second, kind: residual, input: [previous.back-second, back-narrow]}\n"
    "      - {name: meet, kind: residual, input: [previous.second, back-first]}\n"
    "      - {name: norm, kind: layer-norm}\n"
    "      - {name: widen, kind: linear, outputs: 32}\n"
    "      - {name: bend, kind: gelu}\n"
    "      - {name: narrow, kind: linear, outputs: 16}\n"
    "      - {name: first, kind: residual, input: [narrow, previous.first]}\n"
    "      - {name: query, kind: linear, outputs: 16, weight: square, input: first}\n"
    "      - {name: key, kind: linear, outputs: 16, weight: square, input: back-second}\n"
    "      - {name: value, kind: linear, outputs: 16, weight: square, input: back-second}\n"
    "      - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\n"
    "      - {name: second, kind: residual, input: [previous.second, attention]}\n"
    "  - {name: joined, kind: residual, input: [duplex.first, duplex]}\n"
    "  - {name: norm, kind: layer-norm}\n"
    "  - {name: slot-head, kind: linear, outputs: 6}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

/* A backbone of plain blocks, whose norms stand on the stream, and a branch that reads each of them. */
static const char ladder_text[] =
    "kind: model\n"
    "name: ladder\n"
    "sequence: 6\n"
    "HEAD"
    "layers:\n"
    "  - {name: words, kind: embedding, vocabulary: 20, width: 16}\n"
    "  - {name: places, kind: positions}\n"
    "  - name: duplex\n"
    "    kind: block\n"
    "    repeat: DEPTH\n"
    "    activations: {policy: POLICY}\n"
    "    layers:\n"
    "      - {name: back-widen, kind: linear, outputs: 32, input: previous.back-norm}\n"
    "      - {name: back-bend, kind: gelu}\n"
    "      - {name: back-narrow, kind: linear, outputs: 16}\n"
    "      - {name: back-sum, kind: residual, input: [previous.back-norm, back-narrow]}\n"
    "      - {name: back-norm, kind: layer-norm}\n"
    "      - {name: meet, kind: residual, input: [previous.second, back-norm]}\n"
    "      - {name: norm, kind: layer-norm}\n"
    "      - {name: widen, kind: linear, outputs: 16}\n"
    "      - {name: bend, kind: gelu}\n"
    "      - {name: first, kind: residual, input: [previous.first, bend]}\n"
    "      - {name: feed-norm, kind: layer-norm}\n"
    "      - {name: feed, kind: linear, outputs: 16}\n"
    "      - {name: feed-bend, kind: gelu}\n"
    "      - {name: second, kind: residual, input: [previous.second, feed-bend]}\n"
    "  - {name: joined, kind: residual, input: [duplex.first, duplex]}\n"
    "  - {name: slot-head, kind: linear, outputs: 6}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

/* `model` with DEPTH, POLICY and HEAD put in. */
static tn_model *written(const char *model, int depth, const char *policy, const char *head,
                         tn_arena *arena) {
    char text[sizeof model_text + 1024];
    size_t length = 0;
    assert_true(strlen(model) < sizeof model_text + 256);
    for (const char *cursor = model; *cursor;) {
        char number[16];
        static const char *const words[] = {"DEPTH", "POLICY", "HEAD"};
        const char *const put[] = {number, policy, head};
        int which = 0;
        snprintf(number, sizeof number, "%d", depth);
        while (which < 3 && strncmp(cursor, words[which], strlen(words[which])) != 0) which++;
        if (which == 3)
            text[length++] = *cursor++;
        else
            length += (size_t)snprintf(text + length, sizeof text - length, "%s", put[which]);
        cursor += which < 3 ? strlen(words[which]) : 0;
    }
    text[length] = '\0';
    return test_model_of(text, arena);
}

static tn_model *duplex(int depth, const char *policy, const char *head, tn_arena *arena) {
    return written(model_text, depth, policy, head, arena);
}

/* Every array that is found again, against what it was in the forward pass. */
typedef struct memory {
    tn_arena arena;
    uint32_t capacity;
    double **value;      /* [arrays] as made in the forward pass */
    uint32_t recovered;  /* arrays */
    double worst;        /* relative to the norm */
    uint32_t first_made; /* arrays of the first block among them: before the layer `end` */
    const char *end;
} memory;

static void remember(void *user, const tn_step *step, uint32_t operation, uint32_t array,
                     const void *values) {
    memory *m = user;
    const tn_array *this_array = &step->array[array];
    const double *now = values;
    if (!m->value) {
        m->capacity = step->arrays;
        m->value = calloc(step->arrays, sizeof *m->value);
        assert_non_null(m->value);
    }
    if (operation < step->forward_operations) {
        if (!m->value[array]) m->value[array] = malloc(this_array->elements * sizeof **m->value);
        assert_non_null(m->value[array]);
        memcpy(m->value[array], now, this_array->elements * sizeof *now);
        return;
    }
    if (step->operation[operation].kind != TN_OP_SUBTRACT) return;
    uint32_t was = 0;
    while (was == array || step->array[was].layer != this_array->layer ||
           step->array[was].number != this_array->number || step->array[was].role != this_array->role ||
           step->array[was].part != this_array->part)
        was++;
    assert_true(was < step->arrays && m->value[was]);
    double difference = 0, size = 0;
    for (uint64_t i = 0; i < this_array->elements; i++) {
        difference += (now[i] - m->value[was][i]) * (now[i] - m->value[was][i]);
        size += m->value[was][i] * m->value[was][i];
    }
    m->worst = fmax(m->worst, sqrt(difference / size));
    m->recovered++;
    m->first_made += this_array->layer < test_layer(step, m->end);
}

static void forget(memory *m) {
    for (uint32_t i = 0; i < m->capacity; i++) free(m->value[i]);
    free(m->value);
}

static void inputs_come_back(void **state) {
    (void)state;
    enum { BLOCKS = 12 };
    tn_arena arena = {0};
    memory m = {.end = "branch1.second"};
    test_trained reversible =
        test_train(duplex(BLOCKS, "reversible", "", &arena), TN_FLOAT64, 1, remember, &m);
    /* All couplings' results but the last two, and what enters the branch. */
    assert_int_equal(m.recovered, 2 * BLOCKS - 2 + 1);
    assert_int_equal(m.first_made, 2);
    assert_true(m.worst < 1e-12);
    forget(&m);
    free(reversible.values);
    tn_arena_free(&arena);
}

static void gradients_are_those_of_kept_activations(void **state) {
    (void)state;
    static const char *const head[] = {"", "update: {when: write-back}\n", "optimizer: momentum\n",
                                       "flow: optimal\n"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        tn_arena arena = {0};
        test_trained kept = test_train(duplex(4, "keep", head[i], &arena), TN_FLOAT64, 3, NULL, NULL),
                     found = test_train(duplex(4, "reversible", head[i], &arena), TN_FLOAT64, 3, NULL, NULL),
                     again = test_train(duplex(4, "recompute", head[i], &arena), TN_FLOAT64, 3, NULL, NULL);
        assert_true(test_trained_distance(&found, &kept) < 1e-12);
        assert_true(fabs(found.loss - kept.loss) < 1e-12 * kept.loss);
        assert_true(found.macs > kept.macs && found.macs <= kept.macs + kept.forward_macs);
        assert_true(found.peak < kept.peak && again.peak < kept.peak);
        assert_memory_equal(again.values, kept.values, kept.parameters * sizeof *kept.values);
        free(kept.values);
        free(found.values);
        free(again.values);
        tn_arena_free(&arena);
    }
}

/* What is live besides the parameters themselves. */
static void memory_is_constant_in_depth(void **state) {
    (void)state;
    static const char frozen[] = "update: {when: write-back}\nfrozen: [words, places, backbone*]\n";
    uint64_t reversible = 0, kept = 0;
    for (int depth = 2; depth <= 16; depth *= 2) {
        tn_arena arena = {0};
        test_trained constant =
                         test_train(duplex(depth, "reversible", frozen, &arena), TN_FLOAT32, 1, NULL, NULL),
                     growing = test_train(duplex(depth, "keep", frozen, &arena), TN_FLOAT32, 1, NULL, NULL);
        if (depth > 2) assert_int_equal(constant.peak - constant.parameters, reversible);
        assert_true(growing.peak - growing.parameters > kept);
        reversible = constant.peak - constant.parameters;
        kept = growing.peak - growing.parameters;
        free(constant.values);
        free(growing.values);
        tn_arena_free(&arena);
    }
    assert_true(kept > 8 * reversible);
}

static const char backbone_frozen[] = "update: {when: write-back}\nfrozen: [words, places, duplex*.back-*]\n";

/* A branch into the inside of a backbone, trained with it and with the backbone frozen: gradients as of kept activations,
 * and of a frozen one with nothing of it kept. */
static void a_branch_reads_the_backbone(void **state) {
    (void)state;
    const char *const head[] = {"", backbone_frozen, "flow: optimal\noptimizer: momentum\n"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        tn_arena arena = {0};
        memory m = {.end = "duplex1.second"};
        test_trained kept = test_train(written(attached_text, 5, "keep", head[i], &arena), TN_FLOAT64, 2,
                                       NULL, NULL),
                     found = test_train(written(attached_text, 5, "reversible", head[i], &arena), TN_FLOAT64,
                                        2, NULL, NULL),
                     seen = test_train(written(attached_text, 5, "reversible", head[i], &arena), TN_FLOAT64,
                                       1, remember, &m);
        assert_true(test_trained_distance(&found, &kept) < 1e-12);
        assert_true(found.macs > kept.macs && found.macs <= kept.macs + kept.forward_macs);
        assert_true(found.peak < kept.peak);
        /* All results but the last of the four streams, and what enters the block. */
        assert_int_equal(m.recovered, 4 * 5 - 4 + 1);
        assert_true(m.worst < 1e-12);
        forget(&m);
        free(seen.values);
        free(kept.values);
        free(found.values);
        tn_arena_free(&arena);
    }
}

static void attached_memory_is_constant_in_depth(void **state) {
    (void)state;
    uint64_t reversible = 0, kept = 0;
    for (int depth = 2; depth <= 16; depth *= 2) {
        tn_arena arena = {0};
        test_trained constant =
                         test_train(written(attached_text, depth, "reversible", backbone_frozen, &arena),
                                    TN_FLOAT32, 1, NULL, NULL),
                     growing = test_train(written(attached_text, depth, "keep", backbone_frozen, &arena),
                                          TN_FLOAT32, 1, NULL, NULL);
        if (depth > 2) assert_int_equal(constant.peak - constant.parameters, reversible);
        assert_true(growing.peak - growing.parameters > kept);
        reversible = constant.peak - constant.parameters;
        kept = growing.peak - growing.parameters;
        free(constant.values);
        free(growing.values);
        tn_arena_free(&arena);
    }
    assert_true(kept > 6 * reversible);
}

/* Of a frozen backbone that can't be found again each block adds the one array that the branch reads of it. */
static void a_plain_backbone_keeps_what_is_read(void **state) {
    (void)state;
    enum { READ = 6 * 16 };
    uint64_t before = 0;
    for (int depth = 2; depth <= 16; depth *= 2) {
        tn_arena arena = {0};
        tn_model *reversible = written(ladder_text, depth, "reversible", backbone_frozen, &arena),
                 *keeping = written(ladder_text, depth, "keep", backbone_frozen, &arena);
        test_trained found = test_train(reversible, TN_FLOAT64, 2, NULL, NULL),
                     kept = test_train(keeping, TN_FLOAT64, 2, NULL, NULL);
        assert_true(test_trained_distance(&found, &kept) < 1e-12);
        assert_true(found.macs > kept.macs && found.macs <= kept.macs + kept.forward_macs / 2);
        uint64_t live = found.peak - found.parameters;
        if (depth > 4) assert_int_equal(live - before, READ * (uint64_t)depth / 2);
        before = live;
        free(found.values);
        free(kept.values);
        tn_arena_free(&arena);
    }
}

static void what_is_no_coupling_is_refused(void **state) {
    (void)state;
    static const char *const layers[] = {
        "{name: a, kind: linear, outputs: 8, input: entry}, {name: s, kind: residual, input: [entry, a]}, "
        "{name: n, "
        "kind: layer-norm}",
        "{name: a, kind: gelu, input: entry}, {name: s, kind: residual, input: [a, a]}",
        "{name: a, kind: gelu, input: entry}, {name: s, kind: residual, input: [entry, a]}",
        "{name: a, kind: gelu, input: entry}, {name: s, kind: residual, input: [previous.s, a]}, {name: b, "
        "kind: gelu, "
        "input: s}, {name: t, kind: residual, input: [s, b]}",
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        tn_arena arena = {0};
        char text[1024];
        tn_program_cache *cache;
        tn_step step;
        tn_error error = {0};
        snprintf(
            text, sizeof text,
            "kind: model\nname: m\nsequence: 3\nlayers:\n  - {name: words, kind: embedding, vocabulary: 9, "
            "width: "
            "8}\n  - {name: b, kind: block, repeat: 3, activations: {policy: reversible}, layers: [%s]}\n  - "
            "{name: loss, kind: cross-entropy}\n",
            layers[i]);
        tn_model *model = test_model_of(text, &arena);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
        assert_true(error.line > 0 && strstr(error.message, "reversible"));
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_come_back),
        cmocka_unit_test(gradients_are_those_of_kept_activations),
        cmocka_unit_test(memory_is_constant_in_depth),
        cmocka_unit_test(a_branch_reads_the_backbone),
        cmocka_unit_test(attached_memory_is_constant_in_depth),
        cmocka_unit_test(a_plain_backbone_keeps_what_is_read),
        cmocka_unit_test(what_is_no_coupling_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
