#include "price/workload.h"

#include "base/checked.h"
#include "base/digest.h"
#include "kernel/vector.h"
#include "memory/laid_arrays.h"
#include "model/operation.h"
#include "price/engine_logic.h"
#include "price/obstacle.h"
#include "price/workload_data.h"
#include "step/fusion.h"

#include <inttypes.h>
#include <string.h>

/* ---- classes of operations ---- */

static void describe(const tn_step *step, const tn_operation *operation, uint32_t arithmetic, tn_work *work) {
    *work = (tn_work){.product = operation->kind == TN_OP_PRODUCT,
                      .arithmetic = (uint8_t)arithmetic,
                      .count = 1,
                      .operation = operation};
    work->size =
        (tn_product_size){operation->batch, operation->rows, operation->reduction, operation->columns};
    if (tn_operation_is_update(operation) ||
        (operation->partial && !work->product)) /* row by row of a memory */
        work->size = (tn_product_size){1, 1, 1, operation->rows * operation->columns};
    if (operation->column_block) { /* products of their own, that read their left operand anew */
        work->size.batch *= operation->columns / operation->column_block;
        work->size.columns = operation->column_block;
    }
    for (uint32_t i = 0; i < operation->read_count; i++)
        work->reads[tn_role_store(step->array[operation->reads[i]].role)]++;
    for (uint32_t i = 0; i < operation->write_count; i++)
        work->writes[tn_role_store(step->array[operation->writes[i]].role)]++;
    work->cycle_ratio = operation->cycle_ratio > 0 ? operation->cycle_ratio : 1;
    work->share = operation->times > 0 ? (double)operation->times / (double)operation->of_times : 1;
    if (!work->product) {
        work->vector = (uint8_t)operation->kind;
        return;
    }
    work->phase = (uint8_t)operation->phase;
    for (int side = 0; side < 2; side++)
        work->side_store[side] = (uint8_t)tn_role_store(step->array[operation->reads[side]].role);
}

static bool same_fused(const tn_operation *a, const tn_operation *b) {
    bool same = a->fused_count == b->fused_count;
    for (uint32_t i = 0; i < a->fused_count && same; i++) {
        const tn_fused *of_a = &a->fused[i], *of_b = &b->fused[i];
        same = of_a->kind == of_b->kind && of_a->keeps == of_b->keeps && of_a->rows == of_b->rows &&
               of_a->columns == of_b->columns && of_a->read == of_b->read;
    }
    return same;
}

static bool same_work(const tn_work *a, const tn_work *b) {
    return a->product == b->product && a->vector == b->vector && a->arithmetic == b->arithmetic &&
           a->phase == b->phase && a->cycle_ratio == b->cycle_ratio && a->share == b->share &&
           memcmp(&a->size, &b->size, sizeof a->size) == 0 &&
           memcmp(a->reads, b->reads, sizeof a->reads) == 0 &&
           memcmp(a->writes, b->writes, sizeof a->writes) == 0 &&
           memcmp(a->side_store, b->side_store, sizeof a->side_store) == 0 &&
           same_fused(a->operation, b->operation);
}

/* Where the classes lie: open addressing over FNV-1a of what same_work compares. */
typedef struct {
    uint32_t slots; /* a power of two, above the classes */
    uint32_t *slot; /* place + 1; 0: free */
} class_index;

static tn_status index_classes(uint32_t most, tn_arena *arena, class_index *index, tn_error *error) {
    index->slots = 2;
    while (index->slots <= most) index->slots *= 2;
    return TN_NEW(arena, index->slots, &index->slot, error);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t count) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint32_t slot_of(const class_index *index, const tn_work *work) {
    const uint8_t kind[] = {work->product, work->vector, work->arithmetic};
    uint64_t hash = mix_bytes(UINT64_C(0xcbf29ce484222325), kind, sizeof kind);
    hash = mix_bytes(hash, &work->size, sizeof work->size);
    hash = mix_bytes(hash, work->reads, sizeof work->reads);
    hash = mix_bytes(hash, work->writes, sizeof work->writes);
    hash = mix_bytes(hash, work->side_store, sizeof work->side_store);
    return (uint32_t)(hash >> 32) & (index->slots - 1);
}

static uint32_t find_work(tn_workload *workload, class_index *index, const tn_work *work) {
    uint32_t slot = slot_of(index, work);
    for (; index->slot[slot]; slot = (slot + 1) & (index->slots - 1)) {
        uint32_t place = index->slot[slot] - 1;
        if (!same_work(&workload->work[place], work)) continue;
        workload->work[place].count++;
        return place;
    }
    workload->work[workload->works++] = *work;
    index->slot[slot] = workload->works;
    return workload->works - 1;
}

static tn_status check_operation(const tn_step *step, uint32_t position, tn_error *error) {
    const tn_operation *operation = &step->operation[position];
    if (operation->batch == 0 || operation->rows == 0 || operation->reduction == 0 || operation->columns == 0)
        return tn_fail(error, TN_INPUT, "operation %" PRIu32 " of step %s has an extent of 0", position,
                       step->name);
    if (operation->kind == TN_OP_PRODUCT && operation->read_count < 2)
        return tn_fail(error, TN_INPUT,
                       "operation %" PRIu32 " of step %s is a product of fewer than two arrays", position,
                       step->name);
    return TN_OK;
}

/* The place of the operation's arithmetic among the workload's. */
static tn_status find_arithmetic(tn_workload *workload, const tn_operation *operation, uint32_t *place,
                                 tn_error *error) {
    const tn_arithmetic plain = tn_arithmetic_of(&workload->step->formats->accumulate);
    const tn_arithmetic *wanted = operation->arithmetic ? operation->arithmetic : &plain;
    for (*place = 0; *place < workload->arithmetics; (*place)++)
        if (tn_arithmetic_same(&workload->arithmetic[*place], wanted)) return TN_OK;
    if (*place == TN_ARITHMETICS_MOST)
        return tn_fail(error, TN_LIMIT, "step %s multiplies in more than %d arithmetics",
                       workload->step->name, TN_ARITHMETICS_MOST);
    workload->arithmetic[*place] = *wanted;
    workload->arithmetics++;
    return TN_OK;
}

static tn_status load_rows(tn_workload *workload, tn_error *error) {
    TN_TRY(tn_operator_set_load(workload->device, &workload->step->formats->accumulate,
                                &workload->vector_operators, error));
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        TN_TRY(tn_lane_load(workload->device, &workload->arithmetic[i], &workload->lane[i], error));
    return TN_OK;
}

/* Operators of all products and vector kernels; what the clock is too fast for, is told at once. */
static tn_status load_operators(tn_workload *workload, tn_error *error) {
    const tn_step *step = workload->step;
    uint32_t place;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind == TN_OP_PRODUCT)
            TN_TRY(find_arithmetic(workload, &step->operation[i], &place, error));
    const tn_status status = load_rows(workload, error);
    if (status == TN_INPUT)
        TN_TRY(tn_operators_check(workload->device, &step->formats->accumulate, workload->arithmetic,
                                  workload->arithmetics, error));
    return status;
}

static void note_vector(tn_workload *workload, const tn_operation *operation, uint8_t kind) {
    workload->vectors += !workload->vector_used[kind];
    workload->vector_used[kind] = true;
    if (operation->read_count > workload->vector_reads) workload->vector_reads = operation->read_count;
}

static tn_status list_works(tn_workload *workload, tn_error *error) {
    const tn_step *step = workload->step;
    bool used[TN_ARITHMETICS_MOST][TN_PHASES] = {{false}};
    class_index classes;
    TN_TRY(index_classes(step->operations, workload->arena, &classes, error));
    TN_TRY(TN_NEW(workload->arena, step->operations, &workload->work, error));
    TN_TRY(TN_NEW(workload->arena, step->operations, &workload->work_of, error));
    TN_TRY(TN_NEW(workload->arena, step->operations, &workload->unit_of, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        tn_work work;
        uint32_t arithmetic = 0;
        TN_TRY(check_operation(step, i, error));
        if (operation->kind == TN_OP_PRODUCT)
            TN_TRY(find_arithmetic(workload, operation, &arithmetic, error));
        describe(step, operation, arithmetic, &work);
        if (work.product)
            used[arithmetic][tn_matmul_phase(operation->phase)] = true;
        else
            note_vector(workload, operation, work.vector);
        if (operation->fused_count > 0) {
            tn_write_back_note(&workload->write_back, operation);
            workload->writing_back |= 1u << arithmetic;
        }
        workload->unit_of[i] = tn_unit_of(operation, arithmetic);
        workload->work_of[i] = find_work(workload, &classes, &work);
    }
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        for (int phase = 0; phase < TN_PHASES; phase++) workload->phases[i] += used[i][phase];
    return TN_OK;
}

/* Whatever the build, no sum of a price leaves 64 bits: a kernel of one lane and the slowest operators takes
 * the most cycles, padding at most doubles them, and so does cutting into blocks. Bytes are multiplied by bits,
 * lanes and passes. */
static const uint64_t CYCLES_PRICED = UINT64_MAX / 4, BYTES_PRICED = UINT64_MAX >> 24;

static tn_status check_bounds(const tn_workload *workload, tn_error *error) {
    enum {
        CYCLES_MOST = 256,
        FILL_MOST = TN_BLOCKS_MOST * (64 * 256 + 10000)
    }; /* of an operator; of a kernel's ends */
    const tn_step *step = workload->step;
    uint64_t cycles = 0, bytes = 0;
    bool fits = true;
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        const uint64_t factors[] = {work->size.batch,   work->size.rows, work->size.reduction,
                                    work->size.columns, CYCLES_MOST * 8, work->count};
        uint64_t product;
        fits = fits && tn_product(factors, 6, &product) && tn_add(cycles, product, &cycles) &&
               tn_mul_add(work->count, FILL_MOST, &cycles);
    }
    for (uint32_t i = 0; i < step->arrays; i++)
        fits = fits && tn_mul_add(step->array[i].elements, step->element_bytes, &bytes);
    if (fits && cycles < CYCLES_PRICED && bytes < BYTES_PRICED) return TN_OK;
    if (fits && bytes >= BYTES_PRICED)
        return tn_fail(
            error, TN_OVERFLOW,
            "the arrays of step %s hold %" PRIu64
            " bytes together; at most 2^40 - 1 are priced, as sums must fit 64 bits on every build",
            step->name, bytes);
    return tn_fail(
        error, TN_OVERFLOW,
        "step %s could take 2^62 cycles or more on the slowest build, beyond what is priced; make the "
        "model smaller",
        step->name);
}

tn_status tn_descriptor_blocks(const tn_device *device, uint64_t operations, tn_blocks *blocks,
                               tn_error *error) {
    *blocks = (tn_blocks){0};
    if (device->control.descriptor_bits == 0 || tn_device_is_generated(device)) return TN_OK;
    return tn_memory_blocks((tn_geometry)device->memory.geometry, TN_STYLE_BLOCK,
                            device->control.descriptor_bits, operations, false, blocks, error);
}

/* A step that draws numbers needs a device that says what that takes. */
static tn_status check_draws(const tn_workload *made, tn_error *error) {
    const tn_operator_row *row;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        if (made->vector_used[kind] && tn_vector_uses((tn_operation_kind)kind, TN_DRAW) &&
            made->vector_operators.row[TN_DRAW]->stages == 0)
            return tn_device_operator(made->device, &tn_fp32, TN_DRAW, &row, error);
    return TN_OK;
}

/* Descriptors of a generated program, one a product and one a pass, of a look-up in cores as many as tokens; and its end. */
static uint64_t program_rows(const tn_step *step) {
    uint64_t rows = 1;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        const tn_step_layer *layer = &step->layer[operation->layer];
        const bool by_token = layer->family == TN_LAYER_EMBEDDING && operation->program_step &&
                              tn_lookup_is_by_token(layer->program, operation->program_step);
        const bool by_row = operation->kind == TN_OP_LOOKUP || operation->kind == TN_OP_SCATTER;
        if (operation->kind == TN_OP_PRODUCT)
            rows += by_token
                        ? layer->tokens * (1 + tn_lookup_is_summed(layer->program, operation->program_step))
                        : 1;
        else
            rows += by_row && tn_moves_by_row(step, operation)
                        ? operation->rows
                        : tn_vector_starts((tn_operation_kind)operation->kind);
    }
    return rows;
}

/* tn_program_lut and a register a bit. */
static tn_resources program_of(const tn_device *device, const tn_step *step) {
    if (!tn_device_is_generated(device)) return (tn_resources){0};
    const uint64_t rows = program_rows(step), bits = tn_program_bits(rows);
    return (tn_resources){.lut = tn_program_lut(rows, bits), .ff = bits};
}

tn_status tn_workload_prepare(const tn_step *step, const tn_device *device, tn_arena *arena,
                              tn_workload **workload, tn_error *error) {
    tn_workload *made;
    if (tn_device_kind_of(device) != TN_DEVICE_FPGA)
        return tn_fail(error, TN_INPUT, "device %s is no FPGA; a build is priced on devices of kind fpga",
                       tn_device_name(device));
    TN_TRY(TN_NEW(arena, 1, &made, error));
    *made = (tn_workload){.step = step,
                          .device = device,
                          .arena = arena,
                          .within = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
                          .bounded = tn_build_mask_bounded(),
                          .of_products = tn_build_mask_of(TN_BEARS_PRODUCTS)};
    made->built[TN_FUSION_NONE] = made;
    made->word_bits = 8 * step->element_bytes;
    made->obstacle = tn_step_obstacle(step);
    TN_TRY(load_operators(made, error));
    made->device_cells = device->edram.retention_us > 0;
    made->retention_us =
        made->device_cells && !step->retention_given ? device->edram.retention_us : step->retention_us;
    TN_TRY(list_works(made, error));
    TN_TRY(check_draws(made, error));
    TN_TRY(check_bounds(made, error));
    size_t operations = step->operations;
    TN_TRY(TN_NEW(arena, operations, &made->cycles, error));
    TN_TRY(TN_NEW(arena, operations, &made->piece_cycles, error));
    TN_TRY(TN_NEW(arena, operations, &made->issues, error));
    TN_TRY(TN_NEW(arena, operations, &made->time, error));
    TN_TRY(TN_NEW(arena, TN_ROUTES_KEPT, &made->route, error));
    TN_TRY(TN_NEW(arena, TN_LANES_KEPT, &made->lanes, error));
    TN_TRY(TN_NEW(arena, TN_PASSES_KEPT, &made->pass, error));
    tn_blocks descriptors;
    TN_TRY(tn_descriptor_blocks(device, operations, &descriptors, error));
    made->program = program_of(device, step);
    made->descriptor_bram18 = descriptors.bram18 + 2 * descriptors.bram36;
    *workload = made;
    return TN_OK;
}

tn_status tn_workload_built(tn_workload *workload, const tn_build *build, tn_workload **built,
                            tn_error *error) {
    const uint32_t fusion = build->fusion;
    *built = workload->built[fusion];
    if (*built) return TN_OK;
    tn_step *step;
    TN_TRY(TN_NEW(workload->arena, 1, &step, error));
    TN_TRY(tn_step_fuse(workload->step, fusion == TN_FUSION_WRITE_BACK, workload->arena, step, error));
    TN_TRY(tn_workload_prepare(step, workload->device, workload->arena, built, error));
    for (int i = 0; i < TN_FUSIONS; i++) (*built)->built[i] = *built;
    (*built)->laid_programs = workload->laid_programs;
    (*built)->within = workload->within;
    if (workload->laid_as && workload->laid_as->built[fusion])
        tn_workload_share_layouts(*built, workload->laid_as->built[fusion]);
    workload->built[fusion] = *built;
    return TN_OK;
}

tn_status tn_workload_step(tn_workload *workload, const tn_build *build, const tn_step **step,
                           tn_error *error) {
    tn_workload *built;
    TN_TRY(tn_workload_built(workload, build, &built, error));
    *step = built->step;
    return TN_OK;
}

tn_status tn_workload_obstacle(tn_workload *workload, const tn_build *build, bool off_chip,
                               uint32_t *obstacle, tn_error *error) {
    tn_workload *built;
    *obstacle = tn_build_obstacle(build);
    if (*obstacle) return TN_OK;
    TN_TRY(tn_workload_built(workload, build, &built, error));
    *obstacle = built->obstacle || !off_chip ? built->obstacle : tn_off_chip_obstacle;
    return TN_OK;
}

void tn_workload_share_layouts(tn_workload *workload, const tn_workload *source) {
    workload->laid = source->laid;
    workload->laid_as = source;
}

uint64_t tn_workload_matmuls(const tn_workload *workload, const tn_build *build, uint32_t arithmetic) {
    uint64_t queues = workload->phases[arithmetic];
    if (build->sharing == TN_SHARED && queues > 1) queues = 1;
    return queues * build->kernels;
}

tn_matmul tn_workload_matmul(const tn_workload *workload, const tn_build *build, uint32_t arithmetic) {
    return (tn_matmul){build->rows, build->columns, build->reduction, workload->lane[arithmetic],
                       build->array == TN_ARRAY_SYSTOLIC};
}

/* Of all kernels at once, as their operators are looked through. */
static const uint64_t *recall_lanes(const tn_workload *workload, const tn_build *build) {
    const uint64_t key[] = {build->vector, build->lane_dsp, build->lane_lut};
    tn_kept_lanes *kept = &workload->lanes[tn_hash_place(tn_hash_counts(key, 3), TN_LANES_KEPT)];
    if (memcmp(kept->key, key, sizeof key) == 0) return kept->lanes;
    const tn_lane_means means = {build->lane_dsp, build->lane_lut};
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        kept->lanes[kind] =
            tn_vector_lanes((tn_operation_kind)kind, build->vector, &means, &workload->vector_operators);
    memcpy(kept->key, key, sizeof key);
    return kept->lanes;
}

tn_vector tn_workload_vector(const tn_workload *workload, const tn_build *build, tn_operation_kind kind) {
    const uint64_t lanes = recall_lanes(workload, build)[kind];
    return (tn_vector){kind, lanes, &workload->vector_operators,
                       tn_build_shares_vectors(build) ? build->vector : lanes};
}

tn_status tn_workload_pass_cycles(const tn_workload *workload, const tn_vector *kernel, int pass,
                                  const tn_vector_blocks *blocks, uint64_t *cycles, tn_error *error) {
    const uint64_t key[TN_PASS_KEYS] = {(uint64_t)kernel->kind * TN_PASSES_MOST + (uint64_t)pass,
                                        kernel->lanes,
                                        kernel->unit,
                                        blocks->rows,
                                        blocks->columns,
                                        blocks->phases[0],
                                        blocks->phases[1],
                                        blocks->write_phases[0],
                                        blocks->write_phases[1]};
    tn_kept_pass *kept = &workload->pass[tn_hash_place(tn_hash_counts(key, TN_PASS_KEYS), TN_PASSES_KEPT)];
    if (memcmp(kept->key, key, sizeof key) != 0) {
        TN_TRY(tn_vector_pass_cycles(kernel, pass, blocks, &kept->cycles, error));
        memcpy(kept->key, key, sizeof key);
    }
    *cycles = kept->cycles;
    return TN_OK;
}

uint64_t tn_workload_vector_units(const tn_workload *workload, const tn_build *build) {
    return tn_build_shares_vectors(build) && workload->vectors > 1 ? 1 : workload->vectors;
}

tn_resources tn_workload_write_back(const tn_workload *workload, const tn_build *build, uint32_t arithmetic) {
    const tn_matmul kernel = tn_workload_matmul(workload, build, arithmetic);
    if (!(workload->writing_back >> arithmetic & 1)) return (tn_resources){0};
    return tn_write_back_resources(&workload->write_back, tn_write_back_lanes(build), workload->word_bits,
                                   tn_matmul_fill_cycles(&kernel), &workload->vector_operators);
}

/* What is fused is of the forward phase, so one queue of each arithmetic has it. */
tn_resources tn_workload_write_backs(const tn_workload *workload, const tn_build *build) {
    tn_resources all = {0};
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        const tn_resources one = tn_workload_write_back(workload, build, i);
        tn_resources_add(&all, &one, build->kernels);
    }
    return all;
}

void tn_write_back_note(tn_write_back_need *need, const tn_operation *product) {
    uint64_t operators[TN_OPERATORS] = {0};
    uint32_t added = 0;
    for (uint32_t i = 0; i < product->fused_count; i++) {
        const tn_pass *pass = &tn_operation_passes(product->fused[i].kind)[0];
        for (int kind = 0; kind < TN_OPERATORS; kind++) operators[kind] += pass->operators[kind];
        added += product->fused[i].read != UINT32_MAX;
    }
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        need->operators[kind] = tn_greatest(need->operators[kind], operators[kind]);
    if (added > need->added) need->added = added;
    if (product->write_count - 1 > need->kept) need->kept = product->write_count - 1;
}

uint64_t tn_write_back_cycles(const tn_operation *product, const tn_operator_set *operators) {
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < product->fused_count; i++)
        cycles += tn_vector_pass_depth(product->fused[i].kind, 0, operators);
    return cycles;
}

uint64_t tn_write_back_lanes(const tn_build *build) {
    return build->array == TN_ARRAY_SYSTOLIC ? build->columns : build->rows * build->columns;
}

tn_resources tn_write_back_resources(const tn_write_back_need *need, uint64_t lanes, uint64_t word_bits,
                                     uint64_t fill_cycles, const tn_operator_set *operators) {
    enum { PLACES = 32 }; /* of a LUT as a shift register */
    tn_resources used = {.lut = need->added * lanes * word_bits * tn_ceil_div(fill_cycles, PLACES)};
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        if (need->operators[kind] == 0) continue;
        const tn_operator_row *row = operators->row[kind];
        const tn_resources one = {.lut = row->lut, .ff = row->ff, .dsp = row->dsp};
        tn_resources_add(&used, &one, need->operators[kind] * lanes);
    }
    return used;
}

/* Along one direction: all that tiles of `edge` cover, or what each of them wants again. */
static uint64_t along(uint64_t size, uint64_t told, uint64_t edge) {
    return told == size ? size : tn_ceil_div(size, edge) * tn_least(told, edge);
}

uint64_t tn_write_back_words(const tn_operation *product, uint32_t i, const tn_build *build) {
    const tn_fused *fused = &product->fused[i];
    uint64_t edge[2];
    if (fused->read == UINT32_MAX) return 0;
    tn_side_edges(TN_SIDE_BESIDE, build, edge);
    return product->batch * along(product->rows, fused->rows, edge[0]) *
           along(product->columns, fused->columns, edge[1]);
}
