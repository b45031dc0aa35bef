/* Tries to refute that fronts are exact: random spaces (tests/support/random_space.h), every design of which is priced on
 * its own and compared with every other, against
 *   sweeps by bounds on 1, 2 and 3 threads, a sweep of prices, one that keeps every design, shards that are merged;
 *   searches of each step's builds by themselves, as if nothing else were known;
 *   decompositions, and what their certificates promise;
 *   the same space with its choices and their values in another order;
 *   one evaluator that prices all designs in a drawn order, and every bound of every design;
 *   bounds of drawn sets of builds, and what their memories lack, against each design that they were drawn around.
 *
 * TENFOLD_SPACES=N draws N spaces instead (scripts/torture), TENFOLD_SEED=S the first of them, as a difference is told
 * with its seed. TENFOLD_SPACES=1 TENFOLD_SEED=S repeats one. */
#include "base/checked.h"
#include "base/random.h"
#include "price/bound.h"
#include "results/merge.h"
#include "results/result.h"
#include "search/chunk_search.h"
#include "search/decomposition.h"
#include "support/every_design.h"
#include "support/folder.h"
#include "support/random_space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPACES = 50 };

typedef struct {
    const tn_space *space;
    test_random_space drawn;
    test_every_design truth;
    char folder[128];
    unsigned differences;
} trial;

static struct {
    uint64_t spaces, designs, with_feasible, feasible, misfit, front, compared, bounds, bounded, sets,
        lacking, searched, decomposed, exact_decomposed, backwards, differing, refused;
} sum;

/* ---- what differs ---- */

static void print_file(const trial *this_trial, const char *name, const tn_buffer *text) {
    char path[192];
    int byte;
    if (text && !text->length) return;
    snprintf(path, sizeof path, "%s/%s", this_trial->folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return;
    printf("--- %s\n", name);
    while ((byte = fgetc(file)) != EOF) putchar(byte);
    fclose(file);
}

static void differs(trial *this_trial, const char *format, ...) TN_PRINTF(2, 3);
static void differs(trial *this_trial, const char *format, ...) {
    enum { TOLD = 6 };
    va_list arguments;
    if (this_trial->differences++ >= TOLD) return;
    va_start(arguments, format);
    printf("EXACT seed %llu: ", (unsigned long long)this_trial->drawn.seed);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

/* ---- sweeps ---- */

static const char *folder_of(const trial *this_trial, const char *name) {
    static char path[8][192];
    static unsigned next;
    char *text = path[next++ % 8];
    snprintf(text, sizeof path[0], "%s/%s", this_trial->folder, name);
    return text;
}

/* The rows of a folder's front against the designs of the truth that are marked. */
static void compare_front(trial *this_trial, const char *folder, const char *how) {
    tn_arena arena = {0};
    tn_result result;
    tn_error error = {0};
    if (tn_result_load(folder, &arena, &result, &error) != TN_OK) {
        differs(this_trial, "%s: the folder can't be read: %s", how, error.message);
        tn_arena_free(&arena);
        return;
    }
    if (result.front_count != this_trial->truth.front)
        differs(this_trial, "%s: a front of %zu, %llu by comparing all pairs", how, result.front_count,
                (unsigned long long)this_trial->truth.front);
    for (size_t i = 0; i < result.front_count; i++) {
        const test_design *design = &this_trial->truth.design[result.front[i].id];
        if (!design->on_front)
            differs(this_trial, "%s: design %llu is on the front and should not be (cause %s)", how,
                    (unsigned long long)result.front[i].id, tn_cause_name(this_trial->space, design->cause));
        for (size_t q = 0; q < tn_quantities_count; q++) {
            double expected = tn_quantities[q].get(&design->evaluation), found = result.front[i].value[q];
            if (found != expected && !(isnan(found) && isnan(expected)))
                differs(this_trial, "%s: design %llu has %s %.17g, priced alone %.17g", how,
                        (unsigned long long)result.front[i].id, tn_quantities[q].name, found, expected);
        }
    }
    sum.compared += result.front_count;
    tn_arena_free(&arena);
}

/* Feasible designs and causes, where they are counted by prices. */
static void compare_counts(trial *this_trial, const tn_summary *summary, bool kept, const char *how) {
    uint64_t count[TN_CAUSES] = {0};
    bool by_price = strcmp(summary->counted_by, "price") == 0;
    for (uint64_t i = 0; i < this_trial->truth.designs; i++) count[this_trial->truth.design[i].cause]++;
    if (!summary->exact) differs(this_trial, "%s: not exact", how);
    if (summary->evaluated != this_trial->truth.designs)
        differs(this_trial, "%s: %llu designs evaluated", how, (unsigned long long)summary->evaluated);
    if (by_price ? summary->feasible != this_trial->truth.feasible
                 : summary->feasible < this_trial->truth.feasible)
        differs(this_trial, "%s: %llu feasible by %s, %llu priced alone", how,
                (unsigned long long)summary->feasible, summary->counted_by,
                (unsigned long long)this_trial->truth.feasible);
    if (kept) return; /* what the bound rejects counts by what it lacks already */
    for (size_t i = 0; by_price && i < summary->causes; i++)
        for (uint32_t cause = 0; cause < TN_CAUSES; cause++) {
            if (cause >= TN_CAUSE_CONSTRAINT && cause - TN_CAUSE_CONSTRAINT >= this_trial->space->constraints)
                break;
            if (strcmp(tn_cause_name(this_trial->space, cause), summary->cause[i]) != 0) continue;
            if (summary->cause_count[i] != count[cause])
                differs(this_trial, "%s: %llu rejected by %s, %llu priced alone", how,
                        (unsigned long long)summary->cause_count[i], summary->cause[i],
                        (unsigned long long)count[cause]);
            break;
        }
}

static bool sweep(trial *this_trial, const tn_space *space, const tn_sweep_options *options, const char *name,
                  const char *how, tn_summary *summary) {
    tn_error error = {0};
    if (tn_sweep_folder(space, options, folder_of(this_trial, name), NULL, summary, &error) == TN_OK)
        return true;
    differs(this_trial, "%s: the sweep ends: %s", how, error.message);
    return false;
}

static void compare_sweep(trial *this_trial, const tn_space *space, const tn_sweep_options *options,
                          const char *name, const char *how) {
    tn_summary summary;
    if (!sweep(this_trial, space, options, name, how, &summary)) return;
    compare_counts(this_trial, &summary, options->keep_all, how);
    compare_front(this_trial, folder_of(this_trial, name), how);
}

/* Every feasible design is kept, with its objectives. */
static void compare_kept(trial *this_trial, const char *name) {
    char path[224], query[1024] = "SELECT id";
    sqlite3 *store;
    sqlite3_stmt *rows;
    uint64_t kept = 0;
    snprintf(path, sizeof path, "%s/sweep.db", folder_of(this_trial, name));
    if (access(path, R_OK) != 0) return;
    for (size_t k = 0; k < this_trial->space->objectives; k++)
        snprintf(query + strlen(query), sizeof query - strlen(query), ", %s",
                 this_trial->space->objective[k]->name);
    strcat(query, " FROM designs");
    assert_int_equal(sqlite3_open_v2(path, &store, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(store, query, -1, &rows, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(store));
    for (; sqlite3_step(rows) == SQLITE_ROW; kept++) {
        uint64_t id = (uint64_t)sqlite3_column_int64(rows, 0);
        const test_design *design = &this_trial->truth.design[id];
        if (design->cause != TN_CAUSE_NONE)
            differs(this_trial, "keep-all: design %llu is kept", (unsigned long long)id);
        for (size_t k = 0; k < this_trial->space->objectives; k++) {
            double expected = this_trial->space->objective[k]->get(&design->evaluation),
                   found = sqlite3_column_double(rows, 1 + (int)k);
            if (found != expected)
                differs(this_trial, "keep-all: design %llu has %s %.17g, priced alone %.17g",
                        (unsigned long long)id, this_trial->space->objective[k]->name, found, expected);
        }
    }
    if (kept != this_trial->truth.feasible)
        differs(this_trial, "keep-all: %llu designs are kept, %llu are feasible", (unsigned long long)kept,
                (unsigned long long)this_trial->truth.feasible);
    sum.compared += kept;
    sqlite3_finalize(rows);
    sqlite3_close(store);
}

static void try_shards(trial *this_trial, const tn_space *space) {
    const char *part[3], *missing;
    char name[3][8];
    uint64_t shards = 2 + this_trial->drawn.seed % 2;
    tn_arena arena = {0};
    tn_summary summary;
    tn_error error = {0};
    for (uint64_t i = 0; i < shards; i++) {
        snprintf(name[i], sizeof name[i], "part%llu", (unsigned long long)i % 10);
        const tn_sweep_options options = {.threads = 1, .shard = i + 1, .shards = shards};
        if (!sweep(this_trial, space, &options, name[i], "a shard", &summary)) return;
        part[i] = folder_of(this_trial, name[i]);
    }
    if (tn_merge_folders(part, shards, folder_of(this_trial, "merged"), &arena, &summary, &missing, &error) !=
        TN_OK)
        differs(this_trial, "shards can't be merged: %s", error.message);
    else
        compare_front(this_trial, folder_of(this_trial, "merged"), "merged shards");
    tn_arena_free(&arena);
}

static void try_sweeps(trial *this_trial) {
    tn_space bounded = *this_trial->space;
    bounded.laid_most = 0;
    compare_sweep(this_trial, &bounded, &(tn_sweep_options){.threads = 1}, "one", "1 thread");
    compare_sweep(this_trial, &bounded, &(tn_sweep_options){.threads = 2}, "two", "2 threads");
    compare_sweep(this_trial, &bounded, &(tn_sweep_options){.threads = 3}, "three", "3 threads");
    compare_sweep(this_trial, this_trial->space, &(tn_sweep_options){.threads = 1}, "priced", "by prices");
    compare_sweep(this_trial, &bounded, &(tn_sweep_options){.threads = 2, .keep_all = true}, "kept",
                  "keep-all");
    compare_kept(this_trial, "kept");
    try_shards(this_trial, &bounded);
}

/* ---- decompositions ---- */

static uint64_t id_of(const tn_space *space, const uint32_t *digit) {
    uint64_t id = 0;
    for (size_t i = 0; i < space->choices.count; i++) id += digit[i] * space->choices.stride[i];
    return id;
}

/* Whether a member is within the factors of the design in all objectives at once. */
static bool is_covered(const tn_space *space, const tn_decomposed *found, const tn_evaluation *design) {
    for (size_t i = 0; i < found->count; i++) {
        bool contained = true;
        for (size_t k = 0; k < space->objectives && contained; k++) {
            const tn_quantity *quantity = space->objective[k];
            double value = quantity->get(design), member = quantity->get(&found->evaluation[i]);
            contained =
                quantity->maximise ? member >= value / found->factor[k] : member <= value * found->factor[k];
        }
        if (contained) return true;
    }
    return false;
}

/* Whether a design of the front is equal to it in all objectives. */
static bool has_values_of_front(const trial *this_trial, const test_design *design) {
    const tn_space *space = this_trial->space;
    bool has = false;
    for (uint64_t i = 0; i < this_trial->truth.designs && !has; i++) {
        const test_design *member = &this_trial->truth.design[i];
        has = member->on_front;
        for (size_t k = 0; k < space->objectives && has; k++)
            has = space->objective[k]->get(&member->evaluation) ==
                  space->objective[k]->get(&design->evaluation);
    }
    return has;
}

static void try_decomposition(trial *this_trial, double epsilon) {
    const tn_space *space = this_trial->space;
    tn_decomposed found;
    tn_error error = {0};
    if (space->variant) return;
    const tn_decompose_options options = {.epsilon = epsilon,
                                          .threads = 1 + (unsigned)(this_trial->drawn.seed % 2)};
    if (tn_decompose(space, &options, &found, &error) != TN_OK) {
        differs(this_trial, "epsilon %g: the decomposition ends: %s", epsilon, error.message);
        return;
    }
    if (!found.refused) {
        sum.decomposed++;
        sum.exact_decomposed += found.exact;
        if (found.count == 0 && this_trial->truth.feasible)
            differs(this_trial, "epsilon %g: no design fits, where %llu do", epsilon,
                    (unsigned long long)this_trial->truth.feasible);
        for (size_t i = 0; i < found.count; i++) {
            uint64_t id = id_of(space, found.digit + i * space->choices.count);
            const test_design *design = &this_trial->truth.design[id];
            if (design->cause != TN_CAUSE_NONE)
                differs(this_trial, "epsilon %g: design %llu does not fit", epsilon, (unsigned long long)id);
            if (found.exact &&
                !(found.least_ids ? design->on_front : has_values_of_front(this_trial, design)))
                differs(this_trial, "epsilon %g: design %llu is not on the front", epsilon,
                        (unsigned long long)id);
        }
        if (found.exact && found.count != this_trial->truth.front)
            differs(this_trial, "epsilon %g: a front of %zu, %llu by comparing all pairs", epsilon,
                    found.count, (unsigned long long)this_trial->truth.front);
        for (uint64_t i = 0; found.count && i < this_trial->truth.designs; i++)
            if (this_trial->truth.design[i].cause == TN_CAUSE_NONE &&
                !is_covered(space, &found, &this_trial->truth.design[i].evaluation))
                differs(this_trial, "epsilon %g: the certificate does not hold for design %llu", epsilon,
                        (unsigned long long)i);
    }
    tn_decomposed_free(&found);
}

/* ---- another order ---- */

/* Places of the values of `other` among those of `space`, by key and text; false where a key is missing. */
static bool match_axis(const tn_space *space, const tn_axis *other, size_t *axis, size_t *digit) {
    tn_buffer own = {0}, text = {0};
    for (*axis = 0; *axis < space->choices.count; ++*axis)
        if (strcmp(space->choices.axis[*axis].key, other->key) == 0) break;
    bool found = *axis < space->choices.count && space->choices.axis[*axis].count == other->count;
    for (size_t v = 0; found && v < other->count; v++) {
        text.length = 0;
        tn_axis_value(other, v, &text);
        for (digit[v] = 0; digit[v] < other->count; digit[v]++) {
            own.length = 0;
            tn_axis_value(&space->choices.axis[*axis], digit[v], &own);
            if (strcmp(own.data, text.data) == 0) break;
        }
        found = digit[v] < other->count;
    }
    tn_buffer_free(&own);
    tn_buffer_free(&text);
    return found;
}

/* id[design of the other space] = design of the space; false where they can't be told. */
static bool match_designs(const tn_space *space, const tn_space *other, uint64_t *id) {
    size_t axis[TN_AXES_MOST], digit[TN_AXES_MOST][64];
    for (size_t i = 0; i < other->choices.count; i++)
        if (other->choices.axis[i].count > 64 ||
            !match_axis(space, &other->choices.axis[i], &axis[i], digit[i]))
            return false;
    for (uint64_t design = 0; design < other->choices.designs; design++) {
        id[design] = 0;
        for (size_t i = 0; i < other->choices.count; i++)
            id[design] +=
                digit[i][tn_choices_digit(&other->choices, design, i)] * space->choices.stride[axis[i]];
    }
    return true;
}

static void try_backwards(trial *this_trial) {
    tn_arena arena = {0};
    tn_space *other = calloc(1, sizeof *other);
    tn_error error = {0};
    uint64_t *id = malloc(this_trial->truth.designs * sizeof *id);
    assert_non_null(other);
    assert_non_null(id);
    if (!test_random_space_backwards(&this_trial->drawn, this_trial->folder, &arena, other, &error)) {
        differs(this_trial, "backwards it is refused: %s", error.message);
    } else if (other->choices.designs == this_trial->truth.designs &&
               match_designs(this_trial->space, other, id)) {
        trial backwards = *this_trial;
        backwards.space = other;
        backwards.differences = 0;
        backwards.truth.design = calloc(this_trial->truth.designs, sizeof *backwards.truth.design);
        assert_non_null(backwards.truth.design);
        for (uint64_t i = 0; i < this_trial->truth.designs; i++)
            backwards.truth.design[i] = this_trial->truth.design[id[i]];
        for (uint64_t i = 0; i < this_trial->truth.designs; i++) id[i] = i;
        test_mark_front(other, &backwards.truth, id);
        other->laid_most = 0;
        compare_sweep(&backwards, other,
                      &(tn_sweep_options){.threads = 1 + (unsigned)(this_trial->drawn.seed % 2)}, "backwards",
                      "backwards");
        this_trial->differences += backwards.differences;
        free(backwards.truth.design);
        sum.backwards++;
    }
    free(id);
    free(other);
    tn_arena_free(&arena);
}

/* ---- bounds, and prices after other prices ---- */

static void compare_price(trial *this_trial, uint64_t id, const tn_evaluation *found, uint32_t cause) {
    const test_design *design = &this_trial->truth.design[id];
    if (cause != design->cause)
        differs(this_trial, "after other designs design %llu is %s, alone %s", (unsigned long long)id,
                tn_cause_name(this_trial->space, cause), tn_cause_name(this_trial->space, design->cause));
    if (!test_has_price(design) || cause == TN_CAUSE_UNDEFINED) return;
    for (size_t q = 0; q < tn_quantities_count; q++) {
        double expected = tn_quantities[q].get(&design->evaluation), value = tn_quantities[q].get(found);
        if (value != expected && !(isnan(value) && isnan(expected)))
            differs(this_trial, "after other designs design %llu has %s %.17g, alone %.17g",
                    (unsigned long long)id, tn_quantities[q].name, value, expected);
    }
}

typedef tn_status bounding(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                           tn_error *error);

/* Whether it is one of those that bounds of a sweep speak of (price/bound.h): what takes more blocks than caps and constraints leave
 * is to be rejected, and that is compared by itself. Of a set, what takes more LUTs, too. */
static bool is_within(const trial *this_trial, uint64_t id, bool of_set) {
    const tn_resources *within = &tn_space_of(this_trial->space, id)->within,
                       *used = &this_trial->truth.design[id].evaluation.price.used;
    return used->bram18 <= within->bram18 && used->uram <= within->uram &&
           (!of_set || used->lut <= within->lut);
}

/* No quantity of the bound may be above the price, and those that layouts do not matter to must be equal. */
static void compare_bound(trial *this_trial, uint64_t id, tn_evaluator *evaluator, bounding *bound,
                          const char *called) {
    const test_design *design = &this_trial->truth.design[id];
    tn_evaluation found = design->evaluation;
    bool exact;
    tn_error error = {0};
    tn_status status =
        bound(tn_evaluator_workload(evaluator), tn_evaluator_build(evaluator), &found.price, &exact, &error);
    if (status != TN_OK) {
        differs(this_trial, "design %llu has a price and no %s bound: %s", (unsigned long long)id, called,
                error.message);
        return;
    }
    sum.bounds++;
    sum.bounded += !exact;
    for (size_t q = 0; q < tn_quantities_count; q++) {
        const tn_quantity *of_design = &tn_quantities[q];
        double price = of_design->get(&design->evaluation), value = of_design->get(&found);
        bool holds = exact || of_design->bounded != TN_BOUNDED_BELOW ? value == price : value <= price;
        if (!holds && !(isnan(value) && isnan(price)))
            differs(this_trial, "design %llu: the %s bound of %s is %.17g, the price %.17g",
                    (unsigned long long)id, called, of_design->name, value, price);
    }
}

/* The build's set with some of the space's keys open: those of the levels from `first` on are drawn for it. */
static tn_build_set draw_set(const trial *this_trial, const tn_build *build, tn_build_level first,
                             tn_build_axis axis[TN_BUILD_AXES_MOST], uint64_t *state) {
    const tn_space *space = this_trial->space;
    tn_build_set set = {.build = *build, .axes = (uint32_t)space->inners, .axis = axis};
    for (uint32_t i = 0; i < set.axes; i++) {
        const tn_axis *own = &space->choices.axis[space->inner[i]];
        axis[i] = (tn_build_axis){own->field, own->count, own->number};
        if (tn_build_key_level(own->field) < first || tn_splitmix_next(state) % 3 == 0) continue;
        set.free |= 1u << i;
        tn_build_set_value(&set.build, own->field, own->number[0]);
    }
    return set;
}

/* Once so many cycles are enough that are drawn, the set is told to take those at least, or what it is told to take where none are;
 * and never more than that. */
static void compare_enough(trial *this_trial, uint64_t id, tn_evaluator *evaluator, const tn_build_set *set,
                           tn_closeness closeness, uint64_t *state) {
    const uint64_t price = this_trial->truth.design[id].evaluation.price.cycles_per_step,
                   enough = (uint64_t)((double)price * (double)(tn_splitmix_next(state) % 120) / 100);
    tn_workload *workload = tn_evaluator_workload(evaluator);
    tn_price until = {0}, whole = {0};
    bool has[2];
    if (tn_price_set_bound(workload, set, closeness, enough, &until, &has[0], NULL) != TN_OK ||
        tn_price_set_bound(workload, set, closeness, UINT64_MAX, &whole, &has[1], NULL) != TN_OK ||
        has[0] != has[1]) {
        differs(this_trial, "a set around design %llu has a bound only at times", (unsigned long long)id);
        return;
    }
    if (has[0] && (until.cycles_per_step > whole.cycles_per_step ||
                   until.cycles_per_step < tn_least(enough, whole.cycles_per_step)))
        differs(this_trial,
                "the set %x of design %llu takes %llu cycles at closeness %d, and %llu where %llu are enough",
                set->free, (unsigned long long)id, (unsigned long long)whole.cycles_per_step, (int)closeness,
                (unsigned long long)until.cycles_per_step, (unsigned long long)enough);
}

/* No quantity may be above the price of a design of the set that takes no more than there is. */
static void compare_set(trial *this_trial, uint64_t id, tn_evaluator *evaluator, tn_closeness closeness,
                        uint64_t *state) {
    static const tn_build_level first[] = {[TN_BY_PARALLELISM] = TN_LEVEL_RUN,
                                           [TN_BY_PRODUCTS] = TN_LEVEL_BANK,
                                           [TN_BY_WORDS] = TN_LEVEL_LANE,
                                           [TN_BY_WORK] = TN_LEVEL_LANE};
    const test_design *design = &this_trial->truth.design[id];
    tn_build_axis axis[TN_BUILD_AXES_MOST];
    if (!is_within(this_trial, id, true)) return;
    const tn_build_set set =
        draw_set(this_trial, tn_evaluator_build(evaluator), first[closeness], axis, state);
    tn_evaluation found = design->evaluation;
    tn_error error = {0};
    bool has;
    const uint64_t least_cycles = tn_price_set_least_cycles(tn_evaluator_workload(evaluator), &set);
    if (least_cycles > design->evaluation.price.cycles_per_step)
        differs(this_trial, "design %llu takes %llu cycles, its set %x at least %llu", (unsigned long long)id,
                (unsigned long long)design->evaluation.price.cycles_per_step, set.free,
                (unsigned long long)least_cycles);
    compare_enough(this_trial, id, evaluator, &set, closeness, state);
    if (tn_price_set_bound(tn_evaluator_workload(evaluator), &set, closeness, UINT64_MAX, &found.price, &has,
                           &error) != TN_OK) {
        differs(this_trial, "a set around design %llu has no bound: %s", (unsigned long long)id,
                error.message);
        return;
    }
    if (!has) return;
    sum.sets++;
    for (size_t q = 0; q < tn_quantities_count; q++) {
        const double price = tn_quantities[q].get(&design->evaluation), value = tn_quantities[q].get(&found);
        if (value > price)
            differs(this_trial, "design %llu has %s %.17g, its set %x at closeness %d at least %.17g",
                    (unsigned long long)id, tn_quantities[q].name, price, set.free, (int)closeness, value);
    }
}

/* Whether all its memories are blocks. */
static bool is_in_blocks(const tn_build *build) {
    return build->placement == TN_PLACE_AS_BUILT && build->core_memory != TN_STYLE_AUTO &&
           build->core_memory < TN_STYLE_DISTRIBUTED && build->activation_memory != TN_STYLE_AUTO &&
           build->activation_memory < TN_STYLE_DISTRIBUTED;
}

/* There is room for the design's memories in what it takes, whatever else is open; in half of its blocks there may be none. */
static void compare_lack(trial *this_trial, uint64_t id, tn_evaluator *evaluator, uint64_t *state) {
    const tn_resources *used = &this_trial->truth.design[id].evaluation.price.used;
    const bool takes_lut = !is_in_blocks(tn_evaluator_build(evaluator));
    for (unsigned part = 1; part <= 2; part++) {
        tn_build_axis axis[TN_BUILD_AXES_MOST];
        const tn_build_set set =
            draw_set(this_trial, tn_evaluator_build(evaluator), TN_LEVEL_RUN, axis, state);
        tn_resource lacks;
        tn_error error = {0};
        const tn_resources within = {.lut = part == 1 && takes_lut ? used->lut : 0,
                                     .bram18 = used->bram18 / part,
                                     .uram = used->uram / part};
        if (tn_price_set_lack(tn_evaluator_workload(evaluator), &set, &within, &lacks, &error) != TN_OK)
            differs(this_trial, "what a set around design %llu lacks is not known: %s",
                    (unsigned long long)id, error.message);
        else if (part == 1 && lacks != TN_RESOURCES)
            differs(this_trial, "the set %x of design %llu lacks %s, and the design does not", set.free,
                    (unsigned long long)id, tn_resource_names[lacks]);
        else
            sum.lacking += lacks != TN_RESOURCES;
    }
}

/* What the bound rejects the price must reject. */
static void compare_rejection(trial *this_trial, uint64_t id, uint32_t cause, bool exact,
                              const char *called) {
    uint32_t truth = this_trial->truth.design[id].cause;
    if (exact ? cause != truth : cause != TN_CAUSE_NONE && truth == TN_CAUSE_NONE)
        differs(this_trial, "design %llu: %s by the %s bound, %s by its price", (unsigned long long)id,
                tn_cause_name(this_trial->space, cause), called, tn_cause_name(this_trial->space, truth));
}

static void try_one(trial *this_trial, tn_evaluator *evaluator, tn_evaluator *bounded, uint64_t id) {
    tn_evaluation found = {0};
    uint64_t outer, inner;
    uint32_t cause;
    bool exact;
    tn_error error = {0};
    tn_space_split(this_trial->space, id, &outer, &inner);
    if (tn_evaluate_bound(bounded, outer, inner, &found, &cause, &exact, &error) != TN_OK)
        differs(this_trial, "design %llu has no bound: %s", (unsigned long long)id, error.message);
    else
        compare_rejection(this_trial, id, cause, exact, "first");
    if (tn_evaluate(evaluator, outer, inner, &found, &cause, &error) != TN_OK) {
        differs(this_trial, "after other designs design %llu has no price: %s", (unsigned long long)id,
                error.message);
        return;
    }
    compare_price(this_trial, id, &found, cause);
    if (test_has_price(&this_trial->truth.design[id])) {
        if (is_within(this_trial, id, false)) {
            compare_bound(this_trial, id, evaluator, tn_price_bound, "first");
            compare_bound(this_trial, id, evaluator, tn_price_close_bound, "close");
            uint64_t state = this_trial->drawn.seed ^ id << 32;
            const tn_closeness closeness = (tn_closeness)(tn_splitmix_next(&state) % (TN_BY_WORK + 1));
            compare_set(this_trial, id, evaluator, closeness, &state);
            compare_lack(this_trial, id, evaluator, &state);
        }
        if (tn_evaluate_close_bound(bounded, outer, inner, &found, &cause, &exact, &error) != TN_OK)
            differs(this_trial, "design %llu has no close bound: %s", (unsigned long long)id, error.message);
        else
            compare_rejection(this_trial, id, cause, exact, "close");
    }
    sum.compared++;
}

static void try_evaluator(trial *this_trial) {
    tn_space laid_never = *this_trial->space;
    tn_evaluator *evaluator, *bounded;
    uint64_t *order = malloc(this_trial->truth.designs * sizeof *order), state = this_trial->drawn.seed;
    assert_non_null(order);
    laid_never.laid_most = 0;
    assert_int_equal(tn_evaluator_new(this_trial->space, &evaluator, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&laid_never, &bounded, NULL), TN_OK);
    for (uint64_t i = 0; i < this_trial->truth.designs; i++) {
        uint64_t place = tn_splitmix_next(&state) % (i + 1);
        order[i] = order[place];
        order[place] = i;
    }
    for (uint64_t i = 0; i < this_trial->truth.designs; i++)
        try_one(this_trial, evaluator, bounded, order[i]);
    tn_evaluator_free(evaluator);
    tn_evaluator_free(bounded);
    free(order);
}

/* ---- searches of one step ---- */

/* The designs of one outer combination, by inner one, of which the best are marked. */
static test_every_design take_outer(const trial *this_trial, uint64_t outer) {
    const tn_space *space = this_trial->space;
    test_every_design own = {.designs = space->inner_count};
    uint64_t *id = malloc(own.designs * sizeof *id);
    own.design = malloc(own.designs * sizeof *own.design);
    assert_non_null(id);
    assert_non_null(own.design);
    for (uint64_t inner = 0; inner < own.designs; inner++) {
        id[inner] = tn_space_id(space, outer, inner);
        own.design[inner] = this_trial->truth.design[id[inner]];
        own.design[inner].on_front = false;
    }
    test_mark_front(space, &own, id);
    free(id);
    return own;
}

static void compare_found(trial *this_trial, uint64_t outer, const tn_archive *found) {
    test_every_design own = take_outer(this_trial, outer);
    tn_point *point = malloc((found->count + 1) * sizeof *point);
    uint64_t wrong = 0;
    assert_non_null(point);
    tn_archive_points(found, point);
    for (size_t i = 0; i < found->count; i++) {
        uint64_t of, inner;
        tn_space_split(this_trial->space, point[i].id, &of, &inner);
        wrong += of != outer || !own.design[inner].on_front;
    }
    if (wrong > 0 || found->count != own.front)
        differs(this_trial,
                "outer combination %llu by itself: a front of %zu, %llu of them wrong, %llu by comparing all "
                "pairs",
                (unsigned long long)outer, found->count, (unsigned long long)wrong,
                (unsigned long long)own.front);
    sum.searched += own.front;
    free(point);
    test_every_design_free(&own);
}

/* Sets of builds are refused by designs that are known, and by what none of theirs can do: of the latter alone where each outer
 * combination is searched as if no other were there. */
static void try_searches(trial *this_trial) {
    tn_space laid_never = *this_trial->space;
    tn_chunk_search search;
    tn_outcome found;
    tn_error error = {0};
    laid_never.laid_most = 0;
    tn_outcome_begin(&laid_never, &found);
    tn_status status = tn_chunk_search_begin(&laid_never, false, &search, &error);
    for (uint64_t outer = 0; status == TN_OK && outer < laid_never.outer_count; outer++) {
        const tn_chunk chunk = {
            .outer = outer, .outers = 1, .inners = laid_never.inner_count, .designs = laid_never.inner_count};
        tn_outcome_clear(&found);
        status = tn_chunk_search_run(&search, &chunk, NULL, NULL, &found, &error);
        if (status == TN_OK) compare_found(this_trial, outer, &found.front);
    }
    if (status != TN_OK) differs(this_trial, "a search of one outer combination fails: %s", error.message);
    tn_chunk_search_free(&search);
    tn_outcome_free(&found);
}

/* ---- spaces ---- */

static void count(const trial *this_trial) {
    sum.spaces++;
    sum.designs += this_trial->truth.designs;
    sum.feasible += this_trial->truth.feasible;
    sum.with_feasible += this_trial->truth.feasible > 0;
    sum.misfit += this_trial->truth.designs - this_trial->truth.feasible;
    sum.front += this_trial->truth.front;
    sum.differing += this_trial->differences > 0;
}

static void try_seed(uint64_t seed) {
    tn_arena arena = {0};
    tn_space *space = calloc(1, sizeof *space);
    trial this_trial = {.space = space};
    char command[320];
    assert_non_null(space);
    snprintf(this_trial.folder, sizeof this_trial.folder, "%s/space", test_folder);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", this_trial.folder, this_trial.folder);
    assert_int_equal(system(command), 0);
    test_random_space_draw(seed, this_trial.folder, &arena, &this_trial.drawn, space);
    this_trial.truth = test_price_every_design(space);
    if (this_trial.truth.failed == this_trial.truth.designs) {
        sum.refused++;
    } else if (this_trial.truth.failed) {
        differs(&this_trial, "%llu of %llu designs have neither a price nor a cause, and end a sweep: %s",
                (unsigned long long)this_trial.truth.failed, (unsigned long long)this_trial.truth.designs,
                this_trial.truth.error.message);
    } else {
        try_evaluator(&this_trial);
        try_searches(&this_trial);
        try_sweeps(&this_trial);
        try_decomposition(&this_trial, 0);
        try_decomposition(&this_trial, 0.1);
        try_backwards(&this_trial);
    }
    if (this_trial.differences) {
        printf("EXACT seed %llu: %u differences\n", (unsigned long long)seed, this_trial.differences);
        print_file(&this_trial, "space.yaml", NULL);
        print_file(&this_trial, "model.yaml", NULL);
        print_file(&this_trial, "other.yaml", &this_trial.drawn.other_model);
        print_file(&this_trial, "accuracy.csv", &this_trial.drawn.accuracy_table);
        print_file(&this_trial, "errors.csv", &this_trial.drawn.error_table);
        printf("---\n");
    }
    count(&this_trial);
    fflush(stdout);
    test_every_design_free(&this_trial.truth);
    test_random_space_free(&this_trial.drawn);
    free(space);
    tn_arena_free(&arena);
}

static void nothing_refutes_fronts(void **state) {
    const char *asked = getenv("TENFOLD_SPACES"), *first = getenv("TENFOLD_SEED");
    uint64_t spaces = asked ? strtoull(asked, NULL, 10) : SPACES,
             seed = first ? strtoull(first, NULL, 10) : 1;
    (void)state;
    for (uint64_t i = 0; i < spaces; i++) try_seed(seed + i);
    printf(
        "EXACT sum: %llu spaces, %llu designs, %llu spaces with feasible designs, %llu feasible, %llu of "
        "fronts, %llu compared, %llu bounds, %llu of them no prices, %llu sets, %llu lack half their blocks, "
        "%llu best of a step, %llu decomposed, %llu exactly, %llu backwards, %llu refused, %llu differ\n",
        (unsigned long long)sum.spaces, (unsigned long long)sum.designs,
        (unsigned long long)sum.with_feasible, (unsigned long long)sum.feasible,
        (unsigned long long)sum.front, (unsigned long long)sum.compared, (unsigned long long)sum.bounds,
        (unsigned long long)sum.bounded, (unsigned long long)sum.sets, (unsigned long long)sum.lacking,
        (unsigned long long)sum.searched, (unsigned long long)sum.decomposed,
        (unsigned long long)sum.exact_decomposed, (unsigned long long)sum.backwards,
        (unsigned long long)sum.refused, (unsigned long long)sum.differing);
    fflush(stdout);
    /* A machine that compares nothing refutes nothing. */
    assert_true(spaces < SPACES || 4 * sum.with_feasible >= 3 * sum.spaces);
    assert_true(spaces < SPACES || (sum.decomposed > 0 && sum.bounded > 0 && sum.sets > 0 &&
                                    sum.lacking > 0 && sum.searched > 0 && sum.backwards > 0));
    assert_int_equal(sum.differing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_refutes_fronts)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
