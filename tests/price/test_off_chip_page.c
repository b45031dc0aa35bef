/* The page on staying on chip says what the prices say: the same build on chip and off, the fastest of both that fit, and what
 * stays where thresholds fall. */
#include "base/memory.h"
#include "design/explain.h"
#include "device/device.h"
#include "model/model.h"
#include "price/bound.h"
#include "step/program_cache.h"
#include "support/pages.h"
#include "support/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

static const char *const models[] = {"atis-2enc", "atis-4enc", "atis-6enc", "distilbert", "bert-base"},
                         *const devices[] = {"pynq-z2", "zcu104", "u50", "u280"};
enum { MODELS = sizeof models / sizeof *models, DEVICES = sizeof devices / sizeof *devices };

static tn_arena arena;
static tn_program_cache *cache;
static const tn_step *step[MODELS];
static const tn_device *device[DEVICES];
static tn_workload *workload[MODELS][DEVICES];

static tn_workload *workload_of(size_t m, size_t d) {
    if (!workload[m][d]) workload[m][d] = test_prepare(step[m], device[d], &arena);
    return workload[m][d];
}

static tn_build build_of(uint64_t rows, uint64_t columns, uint64_t reduction, uint64_t vector) {
    tn_build build = test_build();
    build.rows = rows;
    build.columns = columns;
    build.reduction = reduction;
    build.vector = vector;
    build.group = 64;
    return build;
}

static tn_build off_chip(tn_build build, uint64_t over, uint64_t tile) {
    build.off_chip_over_bytes = over;
    build.off_chip_tile_bytes = tile;
    return build;
}

static void put(tn_buffer *text, double value) {
    tn_buffer_format(text, value < 9.995 ? " %.2f |" : value < 99.95 ? " %.1f |" : " %.0f |", value);
}

static void put_price(tn_buffer *text, const tn_price *price) {
    put(text, 1e3 * price->seconds_per_step);
    put(text, 1e3 * price->joules_per_step);
    put(text, 1e-6 * (double)price->on_chip_bytes);
}

/* A kernel that every board but the smallest has room for, all arrays over 1 KiB off chip in tiles of 16 KiB. */
static void the_same_build(void **state) {
    (void)state;
    tn_buffer text = {0};
    tn_buffer_text(&text,
                   "| model | device | on chip: ms | mJ | MB of blocks | fits | off chip: ms | mJ | MB of "
                   "blocks | fits | MB moved | time | energy "
                   "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t m = 0; m < MODELS; m++)
        for (size_t d = 0; d < DEVICES; d++) {
            const uint64_t edge = d == 0 ? 2 : 4;
            const tn_build build = build_of(edge, edge, edge, edge), outer = off_chip(build, 1024, 16384);
            const tn_price inside = test_price(workload_of(m, d), &build);
            tn_price outside;
            tn_error error;
            tn_buffer_format(&text, "| `%s` | `%s` |", models[m], devices[d]);
            put_price(&text, &inside);
            tn_buffer_text(&text, inside.misfits ? " no |" : " yes |");
            if (tn_price_step(workload_of(m, d), &outer, &outside, &error) != TN_OK) {
                assert_non_null(strstr(error.message, "do not fit the"));
                tn_buffer_text(&text, " its memory is too small | | | no | | | |\n");
                continue;
            }
            assert_true(outside.cycles_per_step >= inside.cycles_per_step);
            put_price(&text, &outside);
            tn_buffer_text(&text, outside.misfits ? " no |" : " yes |");
            put(&text, 1e-6 * (double)outside.off_chip_bytes_per_step);
            tn_buffer_format(&text, " x %.2f |", outside.seconds_per_step / inside.seconds_per_step);
            if (inside.misfits) /* what is not there has no energy to compare */
                tn_buffer_text(&text, " |\n");
            else
                tn_buffer_format(&text, " x %.2f |\n", outside.joules_per_step / inside.joules_per_step);
        }
    test_page("off-chip.md", "same build", &text);
    tn_buffer_free(&text);
}

typedef struct {
    bool found;
    tn_build build;
    tn_price price;
} fastest;

static void offer(tn_workload *prepared, const tn_build *build, fastest *best) {
    tn_price price;
    bool exact;
    if (tn_price_bound(prepared, build, &price, &exact, NULL) != TN_OK || price.misfits) return;
    if (best->found && price.cycles_per_step >= best->price.cycles_per_step) return;
    price = test_price(prepared, build);
    if (price.misfits || (best->found && price.cycles_per_step >= best->price.cycles_per_step)) return;
    *best = (fastest){true, *build, price};
}

static void put_fastest(tn_buffer *text, const fastest *best) {
    if (!best->found) {
        tn_buffer_text(text, " none fits | | | |");
        return;
    }
    const tn_build *build = &best->build;
    tn_buffer_format(text, " %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", %" PRIu64 " |", build->rows,
                     build->columns, build->reduction, build->vector);
    put_price(text, &best->price);
}

/* Of kernels from 8 to 2,048 multiply-adds a cycle; on chip with places that are searched, too. */
static void the_fastest_that_fit(void **state) {
    (void)state;
    static const uint64_t kernel[][4] = {{2, 2, 2, 2},  {4, 2, 4, 2},   {4, 4, 4, 4},
                                         {4, 4, 8, 8},  {8, 4, 8, 8},   {8, 8, 8, 8},
                                         {8, 8, 8, 16}, {16, 8, 8, 16}, {8, 8, 16, 16}};
    tn_buffer text = {0};
    tn_buffer_text(
        &text,
        "| model | device | on chip: kernel | ms | mJ | MB of blocks | off chip: kernel | ms | mJ | MB of "
        "blocks | arrays over | tiles |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t m = 0; m < MODELS; m++)
        for (size_t d = 0; d < DEVICES; d++) {
            fastest inside = {0}, outside = {0};
            for (size_t k = sizeof kernel / sizeof *kernel; k-- > 0;) {
                tn_build build = build_of(kernel[k][0], kernel[k][1], kernel[k][2], kernel[k][3]);
                offer(workload_of(m, d), &build, &inside);
                build.placement = TN_PLACE_SEARCHED;
                offer(workload_of(m, d), &build, &inside);
                build.placement = TN_PLACE_AS_BUILT;
                for (uint64_t over = 1024; over <= 65536; over *= 8)
                    for (uint64_t tile = 16384; tile <= 65536; tile *= 4) {
                        const tn_build outer = off_chip(build, over, tile);
                        offer(workload_of(m, d), &outer, &outside);
                    }
            }
            tn_buffer_format(&text, "| `%s` | `%s` |", models[m], devices[d]);
            put_fastest(&text, &inside);
            put_fastest(&text, &outside);
            if (outside.found)
                tn_buffer_format(&text, " %" PRIu64 " KiB | %" PRIu64 " KiB |\n",
                                 outside.build.off_chip_over_bytes / 1024,
                                 outside.build.off_chip_tile_bytes / 1024);
            else
                tn_buffer_text(&text, " | |\n");
        }
    test_page("off-chip.md", "fastest", &text);
    tn_buffer_free(&text);
}

/* The ATIS transformer with 2 encoders: whole operands, which wait, and tiles, which do not. */
static void thresholds(void **state) {
    (void)state;
    static const uint64_t over[] = {0, 98303, 50000, 9000, 1024, 1}, tiles[] = {0, 16384};
    tn_buffer text = {0};
    tn_buffer_text(
        &text, "| device | arrays off chip | operands | MB off chip | MB moved | ms | mJ | mJ of which off "
               "chip | MB of blocks |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t d = 1; d < 3; d++)
        for (size_t t = 0; t < 2; t++)
            for (size_t k = t; k < sizeof over / sizeof *over; k++) {
                const tn_build build = off_chip(build_of(4, 4, 4, 4), over[k], tiles[t]);
                const tn_explanation told = test_explain(workload_of(0, d), &build, &arena);
                tn_buffer_format(&text, "| `%s` |", devices[d]);
                if (over[k] > 1)
                    tn_buffer_format(&text, " over %" PRIu64 " bytes |", over[k]);
                else
                    tn_buffer_text(&text, over[k] ? " all |" : " none |");
                tn_buffer_text(&text, !over[k] ? " |" : tiles[t] ? " tiles of 16 KiB |" : " whole |");
                put(&text, 1e-6 * (double)told.price.off_chip_bytes);
                put(&text, 1e-6 * (double)told.price.off_chip_bytes_per_step);
                put(&text, 1e3 * told.price.seconds_per_step);
                put(&text, 1e3 * told.price.joules_per_step);
                put(&text, 1e3 * told.joules[TN_ENERGY_OFF_CHIP]);
                put(&text, 1e-6 * (double)told.price.on_chip_bytes);
                tn_buffer_text(&text, "\n");
            }
    test_page("off-chip.md", "thresholds", &text);
    tn_buffer_free(&text);
}

static int begin(void **state) {
    (void)state;
    if (tn_program_cache_new(&cache, NULL) != TN_OK) return 1;
    for (size_t m = 0; m < MODELS; m++) {
        tn_model *model;
        tn_step *made;
        if (tn_model_load(models[m], NULL, 0, &arena, &model, NULL) != TN_OK ||
            TN_NEW(&arena, 1, &made, NULL) != TN_OK ||
            tn_step_build(model, cache, &arena, made, NULL) != TN_OK)
            return 1;
        step[m] = made;
    }
    for (size_t d = 0; d < DEVICES; d++) {
        tn_device *loaded;
        if (tn_device_load(devices[d], NULL, 0, &arena, &loaded, NULL) != TN_OK) return 1;
        device[d] = loaded;
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_build),
                                       cmocka_unit_test(the_fastest_that_fit), cmocka_unit_test(thresholds)};
    return cmocka_run_group_tests(tests, begin, end);
}
