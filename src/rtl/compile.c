#include "rtl/compile.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "kernel/issue.h"
#include "rtl/bits.h"
#include "rtl/compile_pass.h"
#include "rtl/place.h"

#include <string.h>

typedef tn_rtl_compiler compiler;

static void fit_sizes(compiler *compilation, const tn_rtl_step *step) {
    tn_rtl_engine *engine = compilation->engine;
    engine->tile_levels = tn_greatest(engine->tile_levels, step->tile_levels);
    engine->group_levels = tn_greatest(engine->group_levels, step->group_levels);
    for (uint32_t l = 0; l < step->tile_levels; l++)
        engine->count_bits = tn_greatest(engine->count_bits, tn_rtl_bits_for(step->tile_count[l] + 1));
    for (uint32_t l = 0; l < step->group_levels; l++)
        engine->count_bits = tn_greatest(engine->count_bits, tn_rtl_bits_for(step->group_count[l] + 1));
    engine->tile_bits = tn_greatest(engine->tile_bits,
                                    tn_rtl_bits_for(2 * step->tiles + 2 * compilation->design->add_cycles));
}

/* What the host reads and writes: lane 0 is the first element of the first word. */
static tn_status add_host(compiler *compilation) {
    static const tn_rtl_port ports[] = {TN_RTL_LEFT,  TN_RTL_RESULT,      TN_RTL_RIGHT,
                                        TN_RTL_EXTRA, TN_RTL_ADDED_FIRST, TN_RTL_ADDED_LAST};
    tn_rtl_engine *engine = compilation->engine;
    for (int i = 0; i < TN_RTL_PORTS; i++) { /* passes and write-backs leave ports alone with it, too */
        if (i >= 2 && !(i < 4 ? engine->circuits > 0 : engine->stages > 0)) continue;
        tn_rtl_pattern made = {.phases = 1, .lanes = 1, .banks = 1};
        TN_TRY(TN_NEW(compilation->arena, 1, &made.lane, compilation->error));
        TN_TRY(TN_NEW(compilation->arena, 1, &made.word, compilation->error));
        made.lane->present = made.word->used = true;
        TN_TRY(
            tn_rtl_place_pattern(compilation, &engine->port[ports[i]], &made, &engine->host_block[ports[i]]));
    }
    return TN_OK;
}

/* The form in which the array sees its memory. */
static tn_rtl_form form_of(const tn_rtl_design *design, const tn_rtl_array *array) {
    const tn_rtl_memory *memory = &design->memory[array->memory];
    const tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    return (tn_rtl_form){array->memory, strides.banks, memory->banks * memory->word / strides.banks,
                         strides.banks / strides.first};
}

static bool same_form(const tn_rtl_form *a, const tn_rtl_form *b) {
    return a->memory == b->memory && a->banks == b->banks && a->second == b->second;
}

static tn_status add_form(compiler *compilation, uint32_t first, const tn_rtl_form *form, uint32_t *entry) {
    tn_rtl_engine *engine = compilation->engine;
    for (*entry = first; *entry < engine->forms; ++*entry)
        if (same_form(&engine->form[*entry], form)) return TN_OK;
    if (engine->forms == TN_RTL_MEMORIES_MOST)
        return tn_fail(compilation->error, TN_INPUT, "more than %d memories are wanted",
                       TN_RTL_MEMORIES_MOST);
    engine->form[engine->forms++] = *form;
    return TN_OK;
}

static tn_status list_forms(compiler *compilation) {
    const tn_rtl_design *design = compilation->design;
    tn_rtl_engine *engine = compilation->engine;
    TN_TRY(TN_NEW(compilation->arena, TN_RTL_MEMORIES_MOST, &engine->form, compilation->error));
    TN_TRY(TN_NEW(compilation->arena, design->arrays, &engine->form_of, compilation->error));
    for (uint32_t m = 0; m < design->memories; m++) {
        const tn_rtl_memory *memory = &design->memory[m];
        const uint32_t first = engine->forms;
        for (uint32_t a = 0; a < design->arrays; a++) {
            if (design->array[a].memory != m) continue;
            const tn_rtl_form form = form_of(design, &design->array[a]);
            TN_TRY(add_form(compilation, first, &form, &engine->form_of[a]));
        }
        uint32_t whole; /* nothing lies there that the program touches: for the host */
        if (engine->forms == first)
            TN_TRY(add_form(compilation, first, &(tn_rtl_form){m, memory->banks, memory->word, 1}, &whole));
    }
    return TN_OK;
}

/* The longest issue that no memory makes long: sums that wait for each other, or for the end of a tile. */
static uint64_t most_wait(const tn_rtl_design *design) {
    const tn_matmul kernel = {
        .rows = design->rows,
        .columns = design->columns,
        .lane = {.multiply.stages = design->multiply_cycles, .sum.stages = design->add_cycles}};
    uint64_t most = design->add_cycles;
    for (int pass = TN_PASS_FORWARD; pass <= TN_PASS_RESTS && design->systolic; pass++)
        most = tn_greatest(most, tn_array_wait_cycles(&kernel, (tn_array_pass)pass));
    return most;
}

static void engine_sizes(compiler *compilation) {
    const tn_rtl_design *design = compilation->design;
    tn_rtl_engine *engine = compilation->engine;
    uint64_t depth = 1, choices = 1, blocks = 1;
    for (uint32_t f = 0; f < engine->forms; f++) {
        engine->banks = tn_greatest(engine->banks, engine->form[f].banks);
        engine->word = tn_greatest(engine->word, engine->form[f].word);
        depth = tn_greatest(depth, design->memory[engine->form[f].memory].depth);
    }
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        choices = tn_greatest(choices, engine->port[port].choices);
        blocks = tn_greatest(blocks, engine->port[port].blocks);
    }
    engine->open = 2 * design->add_cycles;
    engine->slot_bits = tn_rtl_bits_for(engine->open);
    engine->tile_bits = tn_greatest(engine->tile_bits, engine->slot_bits + 1);
    engine->address_bits = tn_rtl_bits_for(depth);
    engine->rotate_bits = tn_rtl_bits_for(engine->banks);
    engine->inside_bits = tn_rtl_bits_for(engine->word);
    engine->phase_bits = tn_rtl_bits_for(tn_greatest(engine->phases, most_wait(design)) + 2);
    engine->array_slot_bits = tn_rtl_bits_for(engine->slots);
    engine->tile_bits = tn_greatest(engine->tile_bits, engine->array_slot_bits + 1);
    engine->choice_bits = tn_rtl_bits_for(choices);
    engine->block_bits = tn_rtl_bits_for(blocks);
    engine->memory_bits = tn_rtl_bits_for(engine->forms);
    engine->program_bits = tn_rtl_bits_for(design->operations + 2);
    tn_rtl_pass_sizes(engine);
}

static void count_ports(tn_rtl_engine *engine) {
    static const uint32_t counted[TN_RTL_COUNTED] = {TN_RTL_LEFT,  TN_RTL_RIGHT, TN_RTL_RESULT,
                                                     TN_RTL_EXTRA, TN_RTL_ROW,   TN_RTL_COLUMN};
    engine->group_ports = engine->circuits ? 6 : 2;
    engine->added_at = engine->tile_ports = engine->circuits ? 6 : 3;
    memcpy(engine->counted, counted, sizeof counted);
    if (!engine->stages) return;
    for (uint32_t a = 0; a < TN_RTL_ADDED; a++)
        engine->counted[engine->tile_ports++] = TN_RTL_ADDED_FIRST + a;
}

tn_status tn_rtl_compile(const tn_rtl_design *design, const uint64_t *index_size, tn_arena *arena,
                         tn_rtl_engine *engine, tn_error *error) {
    compiler compilation = {
        .design = design, .index_size = index_size, .arena = arena, .error = error, .engine = engine};
    TN_TRY(tn_rtl_design_check(design, error));
    *engine = (tn_rtl_engine){.design = design, .phases = 1, .banks = 1, .word = 1, .cuts = 1};
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        if (!operation->update && !operation->pass &&
            (operation->row.index[1] != TN_RTL_NONE || operation->column.index[1] != TN_RTL_NONE ||
             operation->term.index[1] != TN_RTL_NONE))
            engine->cuts = 2;
        engine->stages |= operation->write_back.stages;
    }
    engine->kinds = engine->cuts == 2 ? TN_BLOCK_KINDS : 4;
    TN_TRY(list_forms(&compilation));
    TN_TRY(tn_rtl_list_circuits(&compilation));
    for (uint32_t i = 0; i < design->operations && !engine->circuits; i++)
        for (int k = 0; k < 3; k++)
            if (design->operation[i].look[k].used)
                return tn_fail(error, TN_INPUT,
                               "%s is looked up in a program without vector kernels; no "
                               "template does that",
                               design->operation[i].name);
    if (engine->circuits || engine->stages) TN_TRY(add_host(&compilation));
    count_ports(engine);
    engine->tile_levels = 2 * engine->cuts;
    engine->group_levels = engine->cuts;
    TN_TRY(TN_NEW(arena, (size_t)design->operations + 1, &engine->step, error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        tn_rtl_step *step = &engine->step[i];
        const uint32_t array[] = {operation->left, operation->right, operation->result, operation->extra};
        for (int port = 0; port <= TN_RTL_EXTRA; port++) {
            if (array[port] >= design->arrays || (port == TN_RTL_EXTRA && !operation->pass)) continue;
            step->memory[port] = engine->form_of[array[port]];
            step->base[port] = design->array[array[port]].base;
        }
        for (int a = 0; a < TN_RTL_ADDED; a++) {
            if (!tn_rtl_adds(operation, a)) continue;
            const uint32_t added = operation->write_back.added[a];
            step->memory[TN_RTL_ADDED_FIRST + a] = engine->form_of[added];
            step->base[TN_RTL_ADDED_FIRST + a] = design->array[added].base;
        }
        if (operation->pass)
            TN_TRY(tn_rtl_compile_pass(&compilation, operation, step));
        else if (operation->update)
            TN_TRY(tn_rtl_compile_update(&compilation, operation, step));
        else
            TN_TRY(tn_rtl_compile_product(&compilation, operation, step));
        fit_sizes(&compilation, step);
        engine->cycles += step->cycles;
    }
    if (!engine->circuits && !engine->stages) TN_TRY(add_host(&compilation));
    if (design->systolic) tn_rtl_order_tiles(&compilation);
    engine_sizes(&compilation);
    return TN_OK;
}
