/* The schedule against a simulation that plays every kernel, port and dependency cycle by cycle. The
 * simulation is written from the rules in price/schedule.h and tasks.h, not from their formulas: it knows
 * queues, servers and who waits for whom, found by comparing every two operations. */
#include "design/explain.h"
#include "price/plan.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 24, NEVER = -1 };

typedef enum { NO_WAIT, FULL_WAIT, STREAMED_WAIT } wait_kind;

typedef struct {
    const tn_step *step;
    const tn_build *build;
    const tn_plan *plan;
    uint64_t duration[OPERATIONS], piece[OPERATIONS];
    wait_kind waits[OPERATIONS][OPERATIONS];
    bool cut[OPERATIONS];
    uint32_t resources[OPERATIONS], resource[OPERATIONS][16];
} design;

/* ---- who waits for whom, by comparing all pairs ---- */

static bool reads(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (operation->reads[i] == array) return true;
    return false;
}

static bool writes(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->write_count; i++)
        if (operation->writes[i] == array) return true;
    return false;
}

static bool sums_over_rows(tn_operation_kind kind) {
    return kind == TN_OP_SCATTER || kind == TN_OP_COLUMN_SUM || kind == TN_OP_SCALE_GRADIENT ||
           kind == TN_OP_RMS_SCALE_GRADIENT || kind == TN_OP_UPDATE_SGD;
}

/* Row b of the reader needs row b of what the maker writes, and all blocks have a row. */
static bool streams(const design *d, const tn_operation *maker, const tn_operation *reader) {
    uint32_t array = maker->writes[0];
    if (d->build->schedule != TN_SCHEDULE_PIPELINED || d->build->blocks == 1) return false;
    if (!reads(reader, array) || maker->rows != reader->rows || maker->rows < d->build->blocks) return false;
    if (sums_over_rows(maker->kind) || sums_over_rows(reader->kind)) return false;
    if (d->step->array[array].elements != maker->rows * maker->columns) return false;
    if (reader->kind == TN_OP_LOOKUP) return false;
    if (reader->kind != TN_OP_PRODUCT) return reader->columns == maker->columns;
    return reader->reads[0] == array && reader->reads[1] != array && reader->reduction == maker->columns &&
           maker->rows != maker->columns;
}

static bool uses(const tn_operation *operation, uint32_t array) {
    return reads(operation, array) || writes(operation, array);
}

/* Whether `user` reads or wrote the value that the array holds when `later` begins. */
static bool uses_last_value(const tn_step *step, uint32_t user, uint32_t later, uint32_t array) {
    for (uint32_t k = user + 1; k < later; k++)
        if (writes(&step->operation[k], array)) return false;
    return uses(&step->operation[user], array);
}

/* The array that lies in the place of `array` when `operation` first touches it; UINT32_MAX: none or itself.
 */
static uint32_t lies_in_place_of(const design *d, uint32_t operation, uint32_t array) {
    const uint32_t *slot_of = d->plan->map.slot_of;
    if (slot_of[array] == UINT32_MAX) return UINT32_MAX;
    for (uint32_t k = operation; k-- > 0;)
        for (uint32_t other = 0; other < d->step->arrays; other++)
            if (slot_of[other] == slot_of[array] && uses(&d->step->operation[k], other))
                return other == array ? UINT32_MAX : other;
    return UINT32_MAX;
}

static wait_kind wait_between(const design *d, uint32_t earlier, uint32_t later) {
    const tn_operation *a = &d->step->operation[earlier], *b = &d->step->operation[later];
    bool full = false, streamed = false;
    for (uint32_t array = 0; array < d->step->arrays; array++) {
        if (!uses(b, array)) continue;
        bool wrote = writes(a, array) && uses_last_value(d->step, earlier, later, array);
        bool overwrites = writes(b, array) && uses_last_value(d->step, earlier, later, array);
        if (wrote || overwrites)
            *(wrote && a->writes[0] == array && streams(d, a, b) ? &streamed : &full) = true;
        if (!writes(b, array)) continue;
        uint32_t before = lies_in_place_of(d, later, array);
        full |= before != UINT32_MAX && uses_last_value(d->step, earlier, later, before);
    }
    return full ? FULL_WAIT : streamed ? STREAMED_WAIT : NO_WAIT;
}

/* ---- resources, by name rather than by number ---- */

static void need(design *d, uint32_t operation, uint32_t resource) {
    for (uint32_t i = 0; i < d->resources[operation]; i++)
        if (d->resource[operation][i] == resource) return;
    d->resource[operation][d->resources[operation]++] = resource;
}

enum {
    MATMUL = 0,
    VECTOR = 10,
    STREAM = 100,
    EXTERNAL = 110,
    MEMORY = 1000,
    RESOURCES = MEMORY + 2 * 128 * 40
};

static uint32_t memory_port(const design *d, uint32_t array, unsigned position, bool written) {
    const tn_map *map = &d->plan->map;
    uint32_t memory = map->off_chip[array] ? map->staging_of[position] : map->memory_of[array];
    uint32_t copy = map->off_chip[array] ? 0 : map->copy_of[array];
    if (map->memory[memory].grouped) copy /= (uint32_t)d->build->group;
    return MEMORY + 2 * (memory * 40 + copy) + written;
}

static void find_resources(design *d, uint32_t i) {
    const tn_operation *operation = &d->step->operation[i];
    bool weight = operation->phase == TN_WEIGHT_GRADIENT || operation->phase == TN_UPDATE;
    uint32_t matmul = operation->phase == TN_FORWARD ? 0 : operation->phase == TN_INPUT_GRADIENT ? 1 : 2;
    if (operation->kind == TN_OP_PRODUCT)
        need(d, i, MATMUL + (d->build->sharing == TN_PER_PHASE ? matmul : 0));
    else
        need(d, i, VECTOR + (uint32_t)operation->kind);
    if (d->build->schedule == TN_SCHEDULE_SEQUENTIAL) need(d, i, STREAM);
    if (d->build->schedule == TN_SCHEDULE_GRADIENTS_TOGETHER) need(d, i, STREAM + weight);
    for (uint32_t j = 0; j < operation->read_count; j++) {
        need(d, i, memory_port(d, operation->reads[j], j, false));
        if (d->plan->map.off_chip[operation->reads[j]]) need(d, i, EXTERNAL);
    }
    for (uint32_t j = 0; j < operation->write_count; j++) {
        need(d, i, memory_port(d, operation->writes[j], TN_OPERATION_READS, true));
        if (d->plan->map.off_chip[operation->writes[j]]) need(d, i, EXTERNAL);
    }
}

static unsigned servers_of(const design *d, uint32_t resource) {
    if (resource < VECTOR) return (unsigned)d->build->kernels;
    if (resource >= MEMORY && (resource - MEMORY) % 2 == 0) return (unsigned)d->build->read_ports;
    return 1;
}

/* ---- the simulation ---- */

typedef struct {
    const design *d;
    uint32_t next[RESOURCES]; /* first operation whose turn at the resource has not come */
    unsigned busy[RESOURCES];
    uint32_t granted[OPERATIONS]; /* resources that it holds */
    int64_t started[OPERATIONS], ended[OPERATIONS];
    uint64_t done_in_piece[OPERATIONS];
    uint32_t pieces[OPERATIONS]; /* finished ones */
} simulation;

static bool needs(const design *d, uint32_t operation, uint32_t resource) {
    for (uint32_t i = 0; i < d->resources[operation]; i++)
        if (d->resource[operation][i] == resource) return true;
    return false;
}

/* Free servers take the next operations of their queues. */
static void grant(simulation *s, uint32_t resource) {
    uint32_t count = s->d->step->operations;
    while (s->busy[resource] < servers_of(s->d, resource)) {
        uint32_t *next = &s->next[resource];
        while (*next < count && !needs(s->d, *next, resource)) (*next)++;
        if (*next == count) return;
        s->granted[*next]++;
        s->busy[resource]++;
        (*next)++;
    }
}

/* What operation i waits for lets it work on piece `piece` now. */
static bool may_work(const simulation *s, uint32_t i, uint32_t piece) {
    for (uint32_t j = 0; j < i; j++) {
        if (s->d->waits[i][j] == FULL_WAIT && s->ended[j] == NEVER) return false;
        if (s->d->waits[i][j] == STREAMED_WAIT && s->pieces[j] <= piece) return false;
    }
    return true;
}

/* One cycle of an operation that has started; true when it ends with it. */
static bool work(simulation *s, uint32_t i) {
    uint64_t piece_length = s->d->cut[i] ? s->d->piece[i] : s->d->duration[i];
    uint32_t pieces = s->d->cut[i] ? (uint32_t)s->d->build->blocks : 1;
    if (s->done_in_piece[i] == 0 && !may_work(s, i, s->pieces[i])) return false;
    if (++s->done_in_piece[i] < piece_length) return false;
    s->done_in_piece[i] = 0;
    return ++s->pieces[i] == pieces;
}

static int64_t simulate(const design *d, simulation *s) {
    uint32_t count = d->step->operations, left = count;
    int64_t now = 0;
    memset(s, 0, sizeof *s);
    s->d = d;
    for (uint32_t i = 0; i < count; i++) s->started[i] = s->ended[i] = NEVER;
    for (; left > 0; now++) {
        bool finishing[OPERATIONS] = {false};
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < d->resources[i]; j++) grant(s, d->resource[i][j]);
        for (uint32_t i = 0; i < count; i++)
            if (s->started[i] == NEVER && s->granted[i] == d->resources[i] && may_work(s, i, 0))
                s->started[i] = now;
        /* Pieces that end with this cycle are seen by others from the next one on: work backwards, as an
         * operation waits for earlier ones only. */
        for (uint32_t i = count; i-- > 0;)
            if (s->started[i] != NEVER && s->ended[i] == NEVER) finishing[i] = work(s, i);
        for (uint32_t i = 0; i < count; i++) {
            if (!finishing[i]) continue;
            s->ended[i] = now + 1;
            left--;
            for (uint32_t j = 0; j < d->resources[i]; j++) s->busy[d->resource[i][j]]--;
        }
        assert_true(now < 1000000);
    }
    return now;
}

/* ---- random designs ---- */

static uint64_t draw(uint64_t *state, uint64_t bound) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

static tn_build random_build(uint64_t *state) {
    tn_build build;
    tn_arena arena = {0};
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.layouts = TN_LAID_IDEALLY; /* cycles are those of classes */
    tn_arena_free(&arena);
    build.rows = 1 + draw(state, 4);
    build.columns = 1 + draw(state, 4);
    build.reduction = 1 + draw(state, 4);
    build.vector = 1 + draw(state, 4);
    build.kernels = 1 + draw(state, 3);
    build.group = 1 + draw(state, 3);
    build.read_ports = 1 + draw(state, 3);
    build.blocks = 1 + draw(state, 4);
    build.sharing = (uint32_t)draw(state, 2);
    build.buffers = (uint32_t)draw(state, 2);
    build.schedule = (uint32_t)draw(state, 4);
    build.off_chip_over_bytes = draw(state, 3) ? 0 : 100 + draw(state, 300);
    return build;
}

static void describe(design *d, const tn_workload *workload) {
    uint32_t count = d->step->operations;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = d->plan->off_chip ? i : workload->work_of[i];
        d->duration[i] = workload->cycles[index];
        d->piece[i] = workload->piece_cycles[index];
        find_resources(d, i);
        for (uint32_t j = 0; j < i; j++) d->waits[i][j] = wait_between(d, j, i);
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (d->waits[i][j] == STREAMED_WAIT) d->cut[i] = d->cut[j] = true;
}

typedef struct {
    uint32_t designs, cut, concurrent, by_schedule[4], off_chip;
} tally;

static void compare(uint64_t seed, tn_device *device, simulation *s, tally *all) {
    tn_arena arena = {0};
    uint64_t state = seed;
    uint32_t operations = 4 + (uint32_t)draw(&state, OPERATIONS - 3);
    const tn_step *step = test_step_random(seed, operations, &arena);
    tn_build build = random_build(&state);
    tn_workload *workload;
    tn_explanation explanation;
    tn_price price;
    tn_error error;
    assert_int_equal(tn_workload_prepare(step, device, &arena, &workload, &error), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_OK);
    assert_int_equal(tn_price_explain(workload, &build, &arena, &explanation, &error), TN_OK);
    tn_plan *plan;
    assert_int_equal(tn_workload_plan(workload, &build, &plan, &error), TN_OK);
    design *d = calloc(1, sizeof *d);
    assert_non_null(d);
    *d = (design){.step = step, .build = &build, .plan = plan};
    describe(d, workload);
    int64_t total = simulate(d, s);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < step->operations; i++) {
        if (s->started[i] != (int64_t)explanation.item[i].start ||
            s->ended[i] != (int64_t)explanation.item[i].finish)
            fail_msg("seed %llu schedule %u operation %u: %llu to %llu, simulated %lld to %lld",
                     (unsigned long long)seed, build.schedule, i,
                     (unsigned long long)explanation.item[i].start,
                     (unsigned long long)explanation.item[i].finish, (long long)s->started[i],
                     (long long)s->ended[i]);
        sum += (uint64_t)(s->ended[i] - s->started[i]);
        all->cut += d->cut[i];
    }
    assert_int_equal(total, explanation.price.cycles_per_step);
    assert_int_equal(total, price.cycles_per_step);
    all->designs++;
    all->by_schedule[build.schedule]++;
    all->concurrent += sum > (uint64_t)total;
    all->off_chip += plan->off_chip;
    free(d);
    tn_arena_free(&arena);
}

static void random_designs(void **state) {
    (void)state;
    enum { DESIGNS = 1000 };
    tn_arena arena = {0};
    tn_device *device;
    tally all = {0};
    simulation *s = malloc(sizeof *s);
    assert_non_null(s);
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &device, NULL), TN_OK);
    for (uint64_t seed = 1; seed <= DESIGNS; seed++) compare(seed, device, s, &all);
    printf(
        "%u designs equal to their simulation (%u/%u/%u/%u by schedule), %u run things side by side, %u off "
        "chip, %u operations cut\n",
        all.designs, all.by_schedule[0], all.by_schedule[1], all.by_schedule[2], all.by_schedule[3],
        all.concurrent, all.off_chip, all.cut);
    /* The designs must exercise what they are there for. */
    assert_true(all.concurrent > DESIGNS / 4 && all.cut > 100 && all.off_chip > 100);
    free(s);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_designs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
