#include "price/cycle_bounds.h"

#include "base/checked.h"
#include "price/program_words.h"
#include "price/tensor_words.h"

#include <math.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

tn_build tn_build_in_turn(const tn_build *build) {
    tn_build turn = *build;
    turn.vector_units = tn_build_shares_vectors(build) ? TN_UNITS_SHARED : TN_UNITS_OWN;
    turn.schedule = TN_SCHEDULE_SEQUENTIAL;
    turn.blocks = 1;
    turn.layouts = tn_build_searches_layouts(build) ? TN_LAID_BOUND : TN_LAID_IDEALLY;
    return turn;
}

/* An operation in pieces: a cycle for each block of it. */
static double least_of_pieces(const tn_build *build, const tn_work *work) {
    const tn_product_size *size = &work->size;
    double blocks = (double)size->batch;
    if (work->product) {
        blocks *= (double)tn_ceil_div(size->rows, build->rows) *
                  (double)tn_ceil_div(size->columns, build->columns) *
                  (double)tn_ceil_div(size->reduction, build->reduction);
        if (build->array == TN_ARRAY_SYSTOLIC) /* cells multiply what they hold */
            blocks = (double)size->batch * (double)size->rows * (double)size->columns *
                     (double)size->reduction / ((double)build->rows * (double)build->columns);
    } else {
        blocks = (double)size->rows * (double)size->columns / (double)build->vector;
    }
    return floor(blocks * fmin(1, work->cycle_ratio) * fmin(1, work->share));
}

/* ---- products of a layer together ---- */

/* What the products of a program took together. */
typedef struct tn_kept_words {
    tn_program_words asked; /* kernel: */
    tn_matmul kernel;
    double cycles;
    struct tn_kept_words *next;
} kept_words;

typedef struct {
    tn_parting *parting;
    const tn_workload *workload;
    const tn_plan *plan; /* laid: every layer alone */
    const tn_build *build;
    const tn_core_share *core; /* NULL: not known */
    tn_arena *arena;
    double *cycles;
} finder;

static bool is_kept(const kept_words *kept, const tn_program_words *asked) {
    const tn_program_words *its = &kept->asked;
    const tn_program *program = asked->program;
    const tn_matmul *a = &kept->kernel, *b = asked->kernel;
    return its->program == program && memcmp(its->row_log, asked->row_log, program->tensors) == 0 &&
           its->is_looked_up == asked->is_looked_up && a->rows == b->rows && a->columns == b->columns &&
           a->reduction == b->reduction && memcmp(&a->lane, &b->lane, sizeof a->lane) == 0 &&
           memcmp(its->features, asked->features, program->tensors) == 0 &&
           memcmp(its->times, asked->times, program->steps * sizeof *asked->times) == 0;
}

static tn_status recall_words(finder *state, const tn_program_words *asked, double *cycles, tn_error *error) {
    kept_words *kept = state->parting->kept_words;
    while (kept && !is_kept(kept, asked)) kept = kept->next;
    if (!kept) {
        TN_TRY(TN_NEW(state->arena, 1, &kept, error));
        memcpy(&kept->kernel, asked->kernel, sizeof kept->kernel); /* padding, too: lanes compare as bytes */
        kept->asked = *asked;
        kept->asked.kernel = &kept->kernel;
        kept->next = state->parting->kept_words;
        TN_TRY(tn_program_words_bound(asked, &kept->cycles, error));
        state->parting->kept_words = kept;
    }
    *cycles = kept->cycles;
    return TN_OK;
}

/* How wide the rows of the program's tensors may be, and features of words of what is a matrix for others, too. */
static tn_status list_rows(const finder *state, uint32_t layer, tn_program_words *asked, tn_error *error) {
    const tn_laid_arrays *arrays = state->workload->laid->arrays;
    const tn_program *program = asked->program;
    uint8_t *features, *row_log;
    TN_TRY(TN_NEW(state->arena, program->tensors, &features, error));
    TN_TRY(TN_NEW(state->arena, program->tensors, &row_log, error));
    for (uint32_t t = 0; t < program->tensors; t++) {
        const uint32_t array = arrays->of_tensor[layer][t],
                       core_class = array != NONE ? state->parting->core_class[array] : NONE;
        const bool is_matrix = array != NONE && state->plan->map.memory_of[array] != NONE &&
                               arrays->columns[array] > 0 && program->tensor[t].indices.count > 0;
        features[t] = TN_NO_FEATURES;
        row_log[t] = (uint8_t)tn_widest_row_log(state->build);
        if (core_class != NONE && state->core) row_log[t] = (uint8_t)state->core[core_class].most_log;
        if (is_matrix)
            features[t] =
                (uint8_t)tn_laid_most_features(state->workload->laid, state->plan->laid, layer, array);
    }
    asked->features = features;
    asked->row_log = row_log;
    return TN_OK;
}

/* The products of a layer. */
typedef struct {
    uint64_t *times;     /* [program->steps]: a look-up's are done for each token */
    uint32_t arithmetic; /* NONE: some are done otherwise, and nothing is known of them together */
    uint32_t last;       /* operation */
    double sum;          /* of their cycles, */
    double beside; /* and what of them the products alone are not: what starts them, passes of a look-up */
} layer_products;

/* Each on its own, whatever lies around the layer. */
static tn_status find_products(finder *state, uint32_t layer, layer_products *found, tn_error *error) {
    const tn_step *step = state->workload->step;
    const tn_program *program = state->workload->laid->arrays->program[layer],
                     *whole = step->layer[layer].program;
    bool is_known = true;
    *found = (layer_products){.arithmetic = NONE};
    if (!program || !whole) return TN_OK;
    TN_TRY(TN_NEW(state->arena, program->steps, &found->times, error));
    for (uint32_t i = 0; i < step->operations && is_known; i++) {
        const tn_operation *operation = &step->operation[i];
        const tn_work *work = &state->workload->work[state->workload->work_of[i]];
        uint64_t cycles;
        if (operation->layer != layer || !operation->program_step) continue;
        const uint32_t product = (uint32_t)(operation->program_step - whole->step);
        is_known = operation->fused_count == 0 && !operation->partial && work->cycle_ratio == 1 &&
                   work->share == 1 && product < program->steps && found->times[product] == 0 &&
                   (found->arithmetic == NONE || found->arithmetic == work->arithmetic);
        if (!is_known) break;
        const tn_matmul kernel = tn_workload_matmul(state->workload, state->build, work->arithmetic);
        found->arithmetic = work->arithmetic;
        found->last = i;
        found->times[product] = program != whole && tn_lookup_is_by_token(whole, operation->program_step)
                                    ? step->layer[layer].tokens
                                    : 1;
        TN_TRY(tn_laid_product_cycles(state->workload->laid, state->plan->laid, layer, product, &kernel,
                                      &cycles, error));
        found->sum += state->cycles[i];
        found->beside += (double)state->workload->cycles[i] - (double)found->times[product] * (double)cycles;
    }
    for (uint32_t p = 0; p < program->steps; p++) is_known &= found->times[p] > 0;
    if (!is_known) found->arithmetic = NONE;
    return TN_OK;
}

/* What they take together more than each on its own goes to the last of them. */
static tn_status raise_layer(finder *state, uint32_t layer, tn_error *error) {
    const tn_program *program = state->workload->laid->arrays->program[layer];
    layer_products products;
    double together;
    TN_TRY(find_products(state, layer, &products, error));
    if (products.arithmetic == NONE) return TN_OK;
    const tn_matmul kernel = tn_workload_matmul(state->workload, state->build, products.arithmetic);
    tn_program_words asked = {.program = program,
                              .kernel = &kernel,
                              .is_looked_up = program != state->workload->step->layer[layer].program,
                              .times = products.times};
    TN_TRY(list_rows(state, layer, &asked, error));
    TN_TRY(recall_words(state, &asked, &together, error));
    state->cycles[products.last] += fmax(0, together + products.beside - products.sum);
    return TN_OK;
}

tn_status tn_cycle_bounds_find(tn_parting *parting, tn_plan *plan, const tn_build *build,
                               const tn_core_share *core, tn_arena *arena, double *cycles,
                               tn_work_price *price, tn_error *error) {
    tn_workload *workload = parting->workload;
    const tn_build turn = tn_build_in_turn(build);
    const bool in_pieces = build->schedule == TN_SCHEDULE_PIPELINED;
    TN_TRY(tn_price_work(workload, plan, &turn, price, error));
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        const uint32_t work = workload->work_of[i];
        cycles[i] = in_pieces ? least_of_pieces(build, &workload->work[work])
                              : (double)workload->cycles[plan->off_chip ? i : work];
    }
    if (turn.layouts != TN_LAID_BOUND || in_pieces || plan->off_chip) return TN_OK;
    tn_build alone = turn;
    tn_work_price closer;
    alone.layouts = TN_LAID_ALONE;
    TN_TRY(tn_plan_lay(workload, plan, &alone, error));
    TN_TRY(tn_price_work(workload, plan, &alone, &closer, error));
    for (uint32_t i = 0; i < workload->step->operations; i++)
        cycles[i] = fmax(cycles[i], (double)workload->cycles[i]);
    if (build->split != TN_SPLIT_RESHAPE || build->array != TN_ARRAY_LANES) return TN_OK;
    finder state = {parting, workload, plan, &turn, core, arena, cycles};
    for (uint32_t l = 0; l < workload->step->layers; l++) TN_TRY(raise_layer(&state, l, error));
    return TN_OK;
}
