/* Arrays off chip: never faster than the same build on chip, their staging memories no smaller than the arrays that they hold,
 * more of them never moving less, over builds of the ATIS transformer; transfers against channels that are played burst by
 * burst and pieces that are played side by side with a kernel; what controller and rows cost; sums that are split. */
#include "base/checked.h"
#include "base/memory.h"
#include "design/explain.h"
#include "device/device_data.h"
#include "model/model.h"
#include "price/moves.h"
#include "price/plan.h"
#include "price/price.h"
#include "step/program_cache.h"
#include "support/prices.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_device *device, *board;

static const tn_step *step_set(const char *name, const char *set, tn_program_cache **cache) {
    tn_model *model;
    tn_step *step;
    assert_int_equal(tn_model_load(name, &set, set ? 1 : 0, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(cache, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, *cache, &arena, step, NULL), TN_OK);
    return step;
}

static const tn_step *step_of(const char *name, tn_program_cache **cache) {
    return step_set(name, NULL, cache);
}

/* ---- beside the same build on chip ---- */

static uint64_t blocks_of(const tn_workload *workload, const tn_build *build, const tn_mapped *memory,
                          const tn_row *row) {
    const tn_place place = {TN_STYLE_BLOCK, (tn_array_split)build->split, 1};
    tn_memory_share share;
    assert_int_equal(
        tn_price_share(workload->device, workload->word_bits, memory, row, build, &place, &share, NULL),
        TN_OK);
    return share.bram18;
}

/* What holds an operand takes no fewer blocks than the operand, as it lies on chip, in a memory of its own. */
static uint64_t check_staging(tn_workload *workload, const tn_build *build) {
    uint64_t checked = 0;
    tn_plan *plan;
    assert_int_equal(tn_workload_plan(workload, build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, build, NULL), TN_OK);
    assert_non_null(plan->on_chip);
    for (uint32_t i = 0; i < plan->map.staged_count; i++) {
        const tn_staged *staged = &plan->map.staged[i];
        const tn_array *array = &workload->step->array[staged->array];
        const uint32_t at = plan->map.staging_of[staged->position];
        const tn_row *inside = &plan->on_chip->laid->memory[plan->on_chip->map.memory_of[staged->array]],
                     *outside = &plan->laid->memory[at];
        tn_row own = *inside;
        assert_true(plan->map.memory[at].staging && outside->elements >= inside->elements);
        assert_true(outside->banks >= inside->banks);
        if (staged->held < array->elements) continue; /* in pieces */
        own.depth = plan->on_chip->laid->depth[staged->array];
        if (own.depth == 0) own.depth = tn_ceil_div(array->elements, own.elements);
        own.unpadded_depth = tn_ceil_div(array->elements, own.elements);
        assert_true(outside->depth >= own.depth);
        const tn_extent extent = {array->elements, 1};
        const tn_mapped alone = {.arrays = 1, .copies = 1, .extents = 1, .extent = &extent};
        assert_true(blocks_of(workload, build, &plan->map.memory[at], outside) >=
                    blocks_of(workload, build, &alone, &own));
        checked++;
    }
    return checked;
}

static void never_faster_never_less(void **state) {
    (void)state;
    enum { BUILDS = 24 };
    static const uint64_t over[] = {200000, 98303, 50000, 9000, 2000, 300, 1}, tiles[] = {0, 65536, 4096};
    tn_program_cache *cache;
    const tn_step *step = step_of("atis-2enc", &cache);
    uint64_t seed = 11, checked = 0, by_schedule[4] = {0};
    double least = INFINITY, most = 0, fewest = INFINITY;
    for (int i = 0; i < BUILDS; i++) {
        tn_workload *workload = test_prepare(step, i % 3 ? device : board, &arena);
        tn_build build = test_build();
        build.rows = UINT64_C(1) << test_draw(&seed, 4);
        build.columns = UINT64_C(1) << test_draw(&seed, 4);
        build.reduction = UINT64_C(1) << test_draw(&seed, 4);
        build.vector = UINT64_C(1) << test_draw(&seed, 4);
        build.group = 1 + test_draw(&seed, 16);
        build.split = (uint32_t)test_draw(&seed, 4);
        build.buffers = (uint32_t)(i & 1);
        build.layouts = i % 8 == 7 ? TN_LAID_IDEALLY : TN_LAID_AS_FOUND;
        build.schedule = (uint32_t)(i < 12 ? 0 : test_draw(&seed, 4));
        by_schedule[build.schedule]++;
        const tn_price inside = test_price(workload, &build);
        assert_int_equal(inside.off_chip_bytes_per_step, 0);
        uint64_t moved[3] = {0};
        for (size_t t = 0; t < 3; t++)
            for (size_t k = 0; k < sizeof over / sizeof *over; k++) {
                build.off_chip_over_bytes = over[k];
                build.off_chip_tile_bytes = tiles[t];
                const tn_price outside = test_price(workload, &build);
                const double ratio = (double)outside.cycles_per_step / (double)inside.cycles_per_step;
                assert_true(outside.off_chip_bytes_per_step >= moved[t]);
                moved[t] = outside.off_chip_bytes_per_step;
                if (outside.off_chip_bytes == 0) continue;
                if (outside.cycles_per_step < inside.cycles_per_step)
                    printf("build %d schedule %u over %" PRIu64 " tiles %" PRIu64 ": %" PRIu64
                           " cycles off chip, %" PRIu64 " on chip\n",
                           i, build.schedule, over[k], tiles[t], outside.cycles_per_step,
                           inside.cycles_per_step);
                assert_true(outside.cycles_per_step >= inside.cycles_per_step);
                least = fmin(least, ratio);
                most = fmax(most, ratio);
                fewest = fmin(fewest, (double)outside.on_chip_bytes / (double)inside.on_chip_bytes);
                if (build.layouts == TN_LAID_AS_FOUND && k % 2 == 0)
                    checked += check_staging(workload, &build);
            }
    }
    printf("24 builds, %d off chip of each: %.4f to %.2f times the cycles on chip, down to %.3f of the "
           "blocks; %" PRIu64 " operands staged whole\n",
           (int)(3 * sizeof over / sizeof *over), least, most, fewest, checked);
    assert_true(checked > 1000 && by_schedule[0] >= 12 &&
                by_schedule[1] + by_schedule[2] + by_schedule[3] > 6);
    tn_program_cache_free(cache);
}

/* ---- transfers ---- */

/* Bursts dealt to channels in turn; each moves its own one behind the other. */
static double play_channels(const tn_external_memory *memory, double bytes_per_ns, const tn_moves *moves) {
    double busy_ns[64] = {0}, most = 0;
    uint64_t next = 0;
    for (uint32_t i = 0; i < moves->operands; i++)
        for (uint64_t b = 0; b < moves->operand[i].bursts; b++) {
            const double conflicts = fmin(1, (double)(moves->operands - 1) / (double)memory->banks);
            double *channel = &busy_ns[next++ % memory->channels];
            *channel += (double)moves->operand[i].bytes / (double)moves->operand[i].bursts / bytes_per_ns +
                        memory->row_ns * conflicts;
            most = fmax(most, *channel);
        }
    return most;
}

static void channels_are_played(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 500; round++) {
        const tn_external_memory memory = {.bandwidth_GBps = 1 + (double)test_draw(&seed, 400),
                                           .efficiency = 0.5 + 0.005 * (double)test_draw(&seed, 100),
                                           .channels = 1 + test_draw(&seed, 40),
                                           .port_bits = test_draw(&seed, 3) ? 64 << test_draw(&seed, 4) : 0,
                                           .banks = 1 + test_draw(&seed, 16),
                                           .row_ns = (double)test_draw(&seed, 40),
                                           .latency_ns = (double)test_draw(&seed, 200),
                                           .burst_bytes = 512};
        const double clock_MHz = 200, port = (double)memory.port_bits / 8 * clock_MHz * 1e-3,
                     share = memory.bandwidth_GBps * memory.efficiency / (double)memory.channels,
                     rate = memory.port_bits && port < share ? port : share;
        const uint64_t operands = 1 + test_draw(&seed, 3);
        tn_moves moves = {.operands = (uint32_t)operands, .reads = true, .writes = round & 1};
        tn_build build = test_build();
        build.vector = 1 << test_draw(&seed, 8);
        uint64_t most = 0;
        for (uint64_t i = 0; i < operands; i++) {
            const uint64_t bursts = 1 + test_draw(&seed, 300);
            moves.operand[i] = (tn_moved){.use = {TN_SIDE_VECTOR, {1024, 1}},
                                          .elements = 128 * bursts,
                                          .piece = 128 * bursts,
                                          .bytes = 512 * bursts,
                                          .piece_bytes = 512 * bursts,
                                          .bursts = bursts,
                                          .piece_bursts = bursts};
            moves.bytes += 512 * bursts;
            moves.bursts += bursts;
            if (128 * bursts > most) most = 128 * bursts;
        }
        tn_moves_time time;
        tn_moves_cycles(&memory, clock_MHz, &build, &moves, &time);
        const double cycles = fmax(ceil(play_channels(&memory, rate, &moves) * clock_MHz * 1e-3 - 1e-6),
                                   ceil((double)most / (double)build.vector));
        assert_true(fabs((double)time.edge - cycles) <= 1);
        assert_int_equal(time.beside, 0); /* whole operands: nothing overlaps */
        assert_int_equal(time.latency, (uint64_t)ceil(memory.latency_ns * 0.2) * (uint64_t)(1 + (round & 1)));
    }
}

/* Rounds of two buffers for what comes and two for what leaves, which have one way: while the kernel works on a piece the next
 * one comes, then the result of the one before leaves, and a round ends when both are done. */
static uint64_t play_pieces(uint64_t pieces, uint64_t in, uint64_t work, uint64_t out) {
    uint64_t now = 0;
    for (uint64_t round = 0; round < pieces + 2; round++) {
        uint64_t way = 0, kernel = 0;
        if (round < pieces) way += in;
        if (round > 0 && round <= pieces) kernel = work;
        if (round > 1) way += out;
        now += way > kernel ? way : kernel;
    }
    return now;
}

static void pieces_are_played(void **state) {
    (void)state;
    uint64_t seed = 9;
    double worst = 1;
    const tn_external_memory memory = {
        .bandwidth_GBps = 0.2, .efficiency = 1, .channels = 1, .burst_bytes = 4096};
    for (int round = 0; round < 500; round++) { /* at 200 MHz a byte takes a cycle */
        const uint64_t pieces = 1 + test_draw(&seed, 300), in = 1 + test_draw(&seed, 100),
                       out = 1 + test_draw(&seed, 100), work = 1 + test_draw(&seed, 300);
        tn_moves moves = {.operands = 2, .bytes = pieces * (in + out), .bursts = 2 * pieces};
        tn_build build = test_build();
        build.vector = 1024;
        const uint64_t size[] = {in, out};
        for (int i = 0; i < 2; i++)
            moves.operand[i] = (tn_moved){.use = {TN_SIDE_VECTOR, {1024, 1}},
                                          .elements = pieces * size[i],
                                          .piece = size[i],
                                          .bytes = pieces * size[i],
                                          .piece_bytes = size[i],
                                          .bursts = pieces,
                                          .piece_bursts = 1};
        tn_moves_time time;
        tn_moves_cycles(&memory, 200, &build, &moves, &time);
        const uint64_t priced = tn_greatest(pieces * work, time.beside) + time.edge,
                       played = play_pieces(pieces, in, work, out);
        if (pieces == 1) assert_int_equal(priced, played);
        assert_true(priced <= played && played <= priced + 2 * work);
        worst = fmax(worst, (double)played / (double)priced);
    }
    assert_true(worst < 2);
}

static void controllers_cost(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(4, 12, &arena);
    tn_workload *workload = test_prepare(step, device, &arena);
    const tn_external_memory *external = device->external.item;
    tn_build build = test_build();
    build.off_chip_over_bytes = 5000;
    tn_plan *plan;
    const tn_explanation outside = test_explain(workload, &build, &arena);
    assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
    double bits = 0, rows = 0;
    for (uint32_t i = 0; i < step->operations;
         i++) { /* whole operands: bursts of 512 bytes, each a row of 1024 */
        for (uint32_t j = 0; j < step->operation[i].read_count + step->operation[i].write_count; j++) {
            const tn_operation *operation = &step->operation[i];
            const uint32_t position = j < operation->read_count ? j : TN_OPERATION_READS,
                           array = j < operation->read_count ? operation->reads[j]
                                                             : operation->writes[j - operation->read_count];
            if (step->array[array].elements <= 1250) continue;
            const double bytes = 4 * (double)tn_operand_elements(step, operation, array, position);
            bits += 8 * bytes;
            rows += ceil(bytes / 512);
        }
    }
    const double expected = 1e-12 * (bits * external->pJ_per_bit + rows * external->pJ_per_row);
    assert_true(fabs(outside.joules[TN_ENERGY_OFF_CHIP] / expected - 1) < 1e-9);
    assert_true(fabs(outside.joules[TN_ENERGY_STATIC] / outside.price.seconds_per_step -
                     device->energy.static_W.value - external->rest_W) < 1e-9);
    tn_device bare = *device;
    tn_external_memory none = *external;
    none.lut = none.ff = 0;
    none.rest_W = 0;
    bare.external.item = &none;
    const tn_price without = test_price(test_prepare(step, &bare, &arena), &build);
    assert_int_equal(outside.price.used.lut - without.used.lut, external->lut);
    assert_int_equal(outside.price.used.ff - without.used.ff, external->ff);
    assert_true(fabs(outside.price.static_joules_per_step - without.static_joules_per_step -
                     external->rest_W * without.seconds_per_step) < 1e-12);
}

/* Each number of state of a parameter that lives off chip is read and written once a step. */
static void states_move(void **state) {
    static const char *const set[] = {"optimizer=sgd", "optimizer=momentum", "optimizer=adam"};
    const uint64_t over = 4096;
    uint64_t moved[3], parameter_bytes = 0;
    (void)state;
    tn_build build = test_build();
    build.off_chip_over_bytes = over;
    for (int states = 0; states < 3; states++) {
        tn_program_cache *cache;
        const tn_step *step = step_set("atis-2enc", set[states], &cache);
        moved[states] = test_price(test_prepare(step, device, &arena), &build).off_chip_bytes_per_step;
        for (uint32_t i = 0; states == 0 && i < step->arrays; i++)
            if (step->array[i].role == TN_ARRAY_PARAMETER && 4 * step->array[i].elements > over)
                parameter_bytes += 4 * step->array[i].elements;
        tn_program_cache_free(cache);
    }
    assert_true(parameter_bytes > 100000);
    for (uint64_t states = 1; states < 3; states++)
        assert_int_equal(moved[states] - moved[0], 2 * states * parameter_bytes);
}

/* The input gradient of a head of 8,000 outputs, of 512 or of 32 tokens, sums over these. Tiles of all terms would be of few rows
 * and columns, each a product whose sums wait for each other. */
static void sums_are_split(void **state) {
    (void)state;
    for (uint64_t rows = 32; rows <= 512; rows *= 16) {
        test_step made;
        test_step_begin(&made, "head", &arena);
        const uint32_t dy = test_step_array(&made, TN_ARRAY_ACTIVATION, rows * 8000, false),
                       w = test_step_array(&made, TN_ARRAY_PARAMETER, 512 * 8000, false),
                       dx = test_step_array(&made, TN_ARRAY_ACTIVATION, rows * 512, false);
        test_step_product(&made, TN_INPUT_GRADIENT, dy, w, dx, rows, 8000, 512);
        tn_workload *workload = test_prepare(test_step_end(&made), board, &arena);
        tn_build build = test_build();
        const uint64_t inside = test_price(workload, &build).cycles_per_step;
        for (uint64_t tile = 4096; tile <= 65536; tile *= 4) {
            build.off_chip_over_bytes = 1;
            build.off_chip_tile_bytes = tile;
            const tn_price outside = test_price(workload, &build);
            tn_plan *plan;
            assert_int_equal(tn_workload_plan(workload, &build, &plan, NULL), TN_OK);
            assert_true(plan->map.tiling[0].reduction < 8000);
            printf("%" PRIu64 " tokens, tiles of %" PRIu64
                   " bytes: %.3g M cycles on chip, %.3g M off, %.1f MB moved\n",
                   rows, tile, 1e-6 * (double)inside, 1e-6 * (double)outside.cycles_per_step,
                   (double)outside.off_chip_bytes_per_step * 1e-6);
            assert_true((double)outside.cycles_per_step < 1.5 * (double)inside);
        }
    }
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50", NULL, 0, &arena, &device, NULL) != TN_OK ||
           tn_device_load("zcu104", NULL, 0, &arena, &board, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_faster_never_less),
        cmocka_unit_test(channels_are_played),
        cmocka_unit_test(pieces_are_played),
        cmocka_unit_test(controllers_cost),
        cmocka_unit_test(states_move),
        cmocka_unit_test(sums_are_split),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
