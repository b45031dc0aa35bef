/* From a small model's trained weights to ranks: candidates against dense matrices, costs against the model's
 * own step, choices against enumeration, and the files against reading them back. */
#include "ranks/rank_plan.h"

#include "base/memory.h"
#include "ranks/files.h"
#include "run/reference.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/matrix.h"
#include "support/models.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* transformer's layers with a weight: words, block1.query, block1.key, block2.query, block2.key */
enum { LAYERS = 5 };
static const char *const names[LAYERS] = {"words", "block1.query", "block1.key", "block2.query",
                                          "block2.key"};
static const uint64_t rows[LAYERS] = {9, 6, 6, 6, 6};
static tn_error error;
static double *matrix[LAYERS], *moments;

static const uint64_t caps[] = {1, 2, 3, 9};
static const double tolerances[] = {0.5, 0.05};
static const uint64_t depths[] = {1, 2};

static int make_files(void **state) {
    uint64_t shape[LAYERS][2];
    const uint64_t square[] = {6, 6};
    tn_array_out out[LAYERS];
    assert_int_equal(test_folder_make(state), 0);
    for (size_t l = 0; l < LAYERS; l++) {
        matrix[l] = test_normal(l + 1, rows[l] * 6);
        for (size_t i = 0; i < rows[l] * 6; i++) matrix[l][i] *= (double)(l + 1) * exp(-(double)(i % 6) / 2);
        shape[l][0] = rows[l];
        shape[l][1] = 6;
        out[l] = (tn_array_out){.name = names[l], .axes = 2, .shape = shape[l], .values = matrix[l]};
    }
    assert_int_equal(tn_npz_write(test_in_folder("weights.npz"), out, LAYERS, &error), TN_OK);
    double *root = test_normal(99, 36), *turned = test_transpose(6, 6, root);
    moments = test_multiply(6, 6, 6, root, turned);
    const tn_array_out c = {.name = "c", .axes = 2, .shape = square, .values = moments};
    assert_int_equal(tn_npy_write(test_in_folder("moments.npy"), &c, &error), TN_OK);
    free(root);
    free(turned);
    return 0;
}

static int remove_files(void **state) {
    for (size_t l = 0; l < LAYERS; l++) free(matrix[l]);
    free(moments);
    return test_folder_remove(state);
}

typedef struct {
    tn_arena arena;
    tn_model *model;
    tn_trained trained;
    tn_layer_option_rule rule;
    tn_rank_plan plan;
} world;

static tn_status make_plan(world *w, bool aware, const char *device, tn_accuracy *accuracy) {
    tn_device *loaded = NULL;
    w->rule = (tn_layer_option_rule){.caps = 4,
                                     .cap = caps,
                                     .tolerances = 2,
                                     .tolerance = tolerances,
                                     .depths = 2,
                                     .depth = depths,
                                     .own_ranks = accuracy != NULL,
                                     .seed = 1};
    if (device) TN_TRY(tn_device_load(device, NULL, 0, &w->arena, &loaded, &error));
    TN_TRY(tn_arrays_open(test_in_folder("weights.npz"), &w->trained.weights, &error));
    w->trained.weights_path = "weights.npz";
    if (aware) TN_TRY(tn_arrays_open(test_in_folder("moments.npy"), &w->trained.moments, &error));
    w->trained.moments_path = "moments.npy";
    return tn_rank_plan_make(w->model, &w->trained, &w->rule, loaded, accuracy, false, NULL, &w->arena,
                             &w->plan, &error);
}

static void open_world(world *w, bool aware, const char *device) {
    *w = (world){0};
    w->model = test_model_named("transformer", &w->arena);
    tn_status status = make_plan(w, aware, device, NULL);
    if (status != TN_OK) fail_msg("%s", error.message);
}

static void close_world(world *w) {
    tn_rank_plan_free(&w->plan);
    tn_arrays_close(w->trained.weights);
    tn_arrays_close(w->trained.moments);
    tn_arena_free(&w->arena);
}

/* |D|^2, or tr(D C D^T), of the layer's matrix less the rebuilt one. */
static double distance(size_t layer, const tn_factored *f, bool aware) {
    tn_arena arena = {0};
    tn_network network;
    size_t count = rows[layer] * 6;
    double *v = test_zeros(count), squares = 0;
    assert_int_equal(tn_weight_matrix(&f->weight, &arena, &network, &error), TN_OK);
    assert_int_equal(tn_contract_plainly(&network, (const double *const *)f->core, v, &error), TN_OK);
    for (size_t i = 0; i < count; i++) v[i] = matrix[layer][i] - v[i];
    double *image = aware ? test_multiply(rows[layer], 6, 6, v, moments) : NULL;
    for (size_t i = 0; i < count; i++) squares += v[i] * (aware ? image[i] : v[i]);
    free(v);
    free(image);
    tn_arena_free(&arena);
    return squares;
}

static void candidates_state_their_errors(void **state) {
    (void)state;
    for (int aware = 0; aware < 2; aware++) {
        world w;
        open_world(&w, aware, NULL);
        assert_int_equal(w.plan.layers, LAYERS);
        for (size_t l = 0; l < LAYERS; l++) {
            const tn_layer_options *options = &w.plan.candidates[l];
            assert_string_equal(options->name, names[l]);
            /* Its own, 6 by 6 and the balanced one, largest factors outside, where that is not its own. */
            assert_int_equal(options->foldings, l == 0 ? 2 : 3);
            assert_int_equal(options->item[0].folding, 0);
            for (size_t i = 0; i < options->count; i++) {
                tn_factored f;
                if (!options->item[i].usable) continue;
                assert_int_equal(
                    tn_layer_option_factor(&w.trained, &w.rule, options, &options->item[i], &f, &error),
                    TN_OK);
                assert_memory_equal(&f.weight, &options->item[i].weight, sizeof f.weight);
                double expected = distance(l, &f, aware);
                assert_true(fabs(options->item[i].squared_error - expected) < 1e-11 * options->squared_norm);
                if (!aware && options->item[i].tolerance >= 0)
                    assert_true(expected <=
                                pow(options->item[i].tolerance, 2) * options->squared_norm * (1 + 1e-9));
                tn_factored_free(&f);
            }
        }
        close_world(&w);
    }
}

/* Costs of the layer alone, plus what is fixed, are the model's, for every candidate. */
static void costs_add_up_to_the_model(void **state) {
    (void)state;
    world w;
    open_world(&w, false, "u50");
    const tn_rank_problem *p = &w.plan.problem;
    assert_int_equal(p->costs, TN_RANK_COSTS);
    for (size_t i = p->first[1]; i < p->first[2]; i++) {
        const tn_layer_option *choice[LAYERS];
        double total[TN_RANK_COSTS], sum[TN_RANK_COSTS];
        for (size_t l = 0; l < LAYERS; l++) choice[l] = w.plan.candidate[l == 1 ? i : p->first[l]];
        assert_int_equal(tn_rank_costs_total(w.plan.costs, w.plan.candidates, LAYERS, choice, total, &error),
                         TN_OK);
        for (size_t k = 0; k < TN_RANK_COSTS; k++) {
            sum[k] = p->fixed[k];
            for (size_t l = 0; l < LAYERS; l++) sum[k] += p->cost[(l == 1 ? i : p->first[l]) * p->costs + k];
            assert_true(sum[k] == total[k]);
        }
        /* The step counts parameters and MACs of the same design its own way. */
        tn_step step = test_step_of(w.plan.own, &w.arena);
        uint64_t macs = 0;
        for (int phase = 0; phase < TN_PHASES; phase++) macs += step.macs[phase];
        assert_true(total[TN_RANK_PARAMETERS] == (double)step.parameters);
        assert_true(total[TN_RANK_MACS] == (double)macs);
        assert_true(total[TN_RANK_BYTES] == 4.0 * (double)step.parameters);
    }
    close_world(&w);
}

/* The least error of all choices within a parameter budget, counted here. */
static double enumerate(const tn_rank_problem *p, size_t layer, double left, double sum) {
    if (left < 0) return INFINITY;
    if (layer == p->layers) return sum;
    double best = INFINITY;
    for (size_t i = p->first[layer]; i < p->first[layer + 1]; i++)
        best = fmin(best, enumerate(p, layer + 1, left - p->cost[i * p->costs], sum + p->error[i]));
    return best;
}

static void the_choice_is_the_best(void **state) {
    (void)state;
    world w;
    open_world(&w, false, NULL);
    for (double budget = 420; budget < 560; budget += 23) {
        tn_rank_goal goal = {.budgets = 1, .budget = {{TN_RANK_PARAMETERS, budget}}};
        tn_rank_outcome o;
        double best = enumerate(&w.plan.problem, 0, budget - w.plan.problem.fixed[TN_RANK_PARAMETERS], 0);
        assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
        assert_int_equal(o.fits, isfinite(best));
        if (!o.fits) continue;
        assert_true(o.solution.exact && fabs(o.solution.best.squared_error - best) <= 1e-12 * best);
        assert_true(o.total[TN_RANK_PARAMETERS] <= budget);
        assert_true(o.total[TN_RANK_PARAMETERS] == o.solution.best.cost[TN_RANK_PARAMETERS]);
        assert_true(fabs(tn_rank_plan_relative(&w.plan, best) - sqrt(best / w.plan.squared_norm)) < 1e-15);
        /* The other way round: no fewer parameters reach that error. */
        tn_rank_goal other = {
            .least_cost = true, .minimised = TN_RANK_PARAMETERS, .most_error = best * (1 + 1e-12)};
        tn_rank_outcome back;
        assert_int_equal(tn_rank_plan_solve(&w.plan, &other, &w.arena, &back, &error), TN_OK);
        assert_true(back.fits && back.total[TN_RANK_PARAMETERS] <= o.total[TN_RANK_PARAMETERS]);
        assert_true(back.solution.best.squared_error <= other.most_error);
    }
    close_world(&w);
}

/* Cycles and blocks of the design that is returned keep the budgets as a whole. */
static void designs_fit_as_a_whole(void **state) {
    (void)state;
    world w;
    open_world(&w, false, "u50");
    tn_rank_goal goal = {.budgets = 2, .budget = {{TN_RANK_BRAM18, 200}, {TN_RANK_CYCLES, 1e6}}};
    tn_rank_outcome o;
    assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
    assert_true(o.fits);
    double blocks = o.total[TN_RANK_BRAM18], cycles = o.total[TN_RANK_CYCLES],
           relaxed = o.solution.best.squared_error;
    goal.budget[1].most = cycles * 0.97;
    assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
    if (o.fits) {
        const tn_layer_option *choice[LAYERS];
        double total[TN_RANK_COSTS];
        for (size_t l = 0; l < LAYERS; l++) choice[l] = tn_rank_plan_chosen(&w.plan, &o.solution.best, l);
        assert_int_equal(tn_rank_costs_total(w.plan.costs, w.plan.candidates, LAYERS, choice, total, &error),
                         TN_OK);
        assert_memory_equal(total, o.total, sizeof total);
        assert_true(total[TN_RANK_CYCLES] <= cycles * 0.97 && total[TN_RANK_BRAM18] <= 200);
        assert_true(o.solution.best.squared_error >= relaxed && blocks <= 200);
        assert_true(o.rounds > 1);
    }
    /* No change of one layer betters it. */
    if (o.fits)
        for (size_t l = 0; l < LAYERS; l++)
            for (size_t i = w.plan.problem.first[l]; i < w.plan.problem.first[l + 1]; i++) {
                const tn_layer_option *choice[LAYERS];
                double total[TN_RANK_COSTS];
                for (size_t k = 0; k < LAYERS; k++)
                    choice[k] = tn_rank_plan_chosen(&w.plan, &o.solution.best, k);
                if (w.plan.candidate[i]->squared_error >= choice[l]->squared_error) continue;
                choice[l] = w.plan.candidate[i];
                assert_int_equal(
                    tn_rank_costs_total(w.plan.costs, w.plan.candidates, LAYERS, choice, total, &error),
                    TN_OK);
                assert_true(total[TN_RANK_CYCLES] > goal.budget[1].most || total[TN_RANK_BRAM18] > 200);
            }
    goal.budget[1].most = 1;
    assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
    assert_true(!o.fits && !o.solution.best.met);
    close_world(&w);
}

static void same_answer_whatever_the_threads(void **state) {
    (void)state;
    world w[2];
    int threads = omp_get_max_threads();
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i ? 3 : 1);
        open_world(&w[i], true, NULL);
    }
    omp_set_num_threads(threads);
    for (size_t l = 0; l < LAYERS; l++)
        assert_memory_equal(w[0].plan.candidates[l].item, w[1].plan.candidates[l].item,
                            w[0].plan.candidates[l].count * sizeof(tn_layer_option));
    close_world(&w[0]);
    close_world(&w[1]);
}

/* --- files --- */

static void model_file_keeps_the_choice(void **state) {
    (void)state;
    world w;
    open_world(&w, false, NULL);
    tn_rank_goal goal = {.budgets = 1, .budget = {{TN_RANK_PARAMETERS, 505}}};
    tn_rank_outcome o;
    assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
    assert_true(o.fits);
    assert_int_equal(tn_rank_write_model(test_folder, &w.plan, &error), TN_OK);
    tn_model *again;
    assert_int_equal(tn_model_load(test_in_folder("model.yaml"), NULL, 0, &w.arena, &again, &error), TN_OK);
    assert_int_equal(tn_model_layers(again), tn_model_layers(w.model));
    for (size_t l = 0, seen = 0; l < tn_model_layers(again); l++) {
        tn_model_layer layer = tn_model_layer_at(again, l), before = tn_model_layer_at(w.model, l);
        assert_string_equal(layer.name, before.name);
        assert_int_equal(layer.weight != NULL, before.weight != NULL);
        if (!layer.weight) continue;
        const tn_weight *chosen = &tn_rank_plan_chosen(&w.plan, &o.solution.best, seen++)->weight;
        assert_int_equal(layer.weight->weight.format, chosen->format);
        assert_int_equal(layer.weight->weight.rank_count, chosen->rank_count);
        assert_memory_equal(layer.weight->weight.rank, chosen->rank,
                            chosen->rank_count * sizeof *chosen->rank);
        assert_memory_equal(layer.weight->weight.m, chosen->m, chosen->d * sizeof *chosen->m);
        assert_int_equal(layer.weight->flow, before.weight->flow);
    }
    tn_step step = test_step_of(again, &w.arena);
    assert_true((double)step.parameters == o.total[TN_RANK_PARAMETERS]);
    close_world(&w);
}

static void cores_rebuild_with_the_stated_error(void **state) {
    (void)state;
    world w;
    open_world(&w, true, NULL);
    tn_rank_goal goal = {.budgets = 1, .budget = {{TN_RANK_PARAMETERS, 480}}};
    tn_rank_outcome o;
    assert_int_equal(tn_rank_plan_solve(&w.plan, &goal, &w.arena, &o, &error), TN_OK);
    assert_true(o.fits);
    assert_int_equal(
        tn_rank_write_cores(test_folder, &w.plan, &o.solution.best, &w.trained, &w.rule, NULL, NULL, &error),
        TN_OK);
    tn_arrays *arrays = test_arrays_open(test_in_folder("cores.npz"));
    double sum = 0;
    for (size_t l = 0; l < LAYERS; l++) {
        tn_factored f = {.weight = tn_rank_plan_chosen(&w.plan, &o.solution.best, l)->weight};
        f.cores = tn_weight_cores(&f.weight);
        for (uint32_t k = 0; k < f.cores; k++) {
            char name[64];
            const tn_array_info *info;
            uint64_t shape[TN_RANKS_MOST];
            snprintf(name, sizeof name, "%s.core%u", names[l], k + 1);
            f.core[k] = test_arrays_values(arrays, name, &info);
            assert_int_equal(info->axes, tn_weight_core_shape(&f.weight, k, shape));
            assert_memory_equal(info->shape, shape, info->axes * sizeof *shape);
        }
        sum += distance(l, &f, true);
        for (uint32_t k = 0; k < f.cores; k++) free(f.core[k]);
    }
    assert_true(fabs(sum / o.solution.best.squared_error - 1) < 1e-9);
    tn_arrays_close(arrays);
    close_world(&w);
}

/* Layers of one entry are taken together: query of both blocks in `square`. */
static void error_table_of_entries(void **state) {
    (void)state;
    static const char *const columns[] = {"weight", "rows", "columns", "rank", "relative_error", "norm"};
    world w;
    tn_csv csv;
    size_t column[6], found = 0;
    open_world(&w, false, NULL);
    assert_int_equal(tn_rank_write_error_table(test_folder, &w.plan, &w.rule, &error), TN_OK);
    assert_int_equal(tn_csv_load(test_in_folder("error.csv"), &w.arena, &csv, &error), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, columns, 6, true, column, &error), TN_OK);
    assert_int_equal(csv.rows, (2 + 3 + 3) * 4); /* foldings of each entry, caps */
    for (size_t row = 0; row < csv.rows; row++) {
        double value, squares = 0, norm = 0;
        uint64_t rank;
        if (strcmp(tn_csv_at(&csv, row, 0)->text, "square") != 0 ||
            strcmp(tn_csv_at(&csv, row, 1)->text, "2x3") != 0)
            continue;
        assert_int_equal(tn_csv_count(&csv, row, 3, 1, 9, &rank, &error), TN_OK);
        assert_int_equal(tn_csv_real(&csv, row, 4, 0, 1, &value, &error), TN_OK);
        for (size_t l = 1; l < LAYERS; l += 2) {
            const tn_layer_option *best = NULL;
            for (size_t i = 0; i < w.plan.candidates[l].count; i++) {
                const tn_layer_option *c = &w.plan.candidates[l].item[i];
                if (c->folding == 0 && c->tolerance < 0 && c->cap <= rank) best = c; /* caps rise */
            }
            squares += best->squared_error;
            norm += test_squares(matrix[l], 36);
        }
        assert_true(fabs(value - sqrt(squares / norm)) < 1e-14);
        assert_int_equal(tn_csv_real(&csv, row, 5, 0, 1e9, &value, &error), TN_OK);
        assert_true(fabs(value / sqrt(norm) - 1) < 1e-12);
        found++;
    }
    assert_int_equal(found, 4);
    close_world(&w);
}

static void formats_to_try(void **state) {
    (void)state;
    static const tn_format formats[] = {TN_TT, TN_TTM, TN_RING, TN_TUCKER};
    world w = {0};
    tn_layer_options *list;
    size_t count;
    w.model = test_model_named("transformer", &w.arena);
    w.rule = (tn_layer_option_rule){.caps = 2, .cap = caps, .formats = 4, .format = formats, .seed = 1};
    assert_int_equal(tn_arrays_open(test_in_folder("weights.npz"), &w.trained.weights, &error), TN_OK);
    assert_int_equal(
        tn_layer_options_find(w.model, &w.trained, &w.rule, NULL, &w.arena, &list, &count, &error), TN_OK);
    assert_int_equal(count, LAYERS);
    for (size_t l = 0; l < LAYERS; l++) {
        unsigned tried = 0;
        assert_int_equal(list[l].foldings, 4); /* a table's own format stands first */
        for (size_t i = 0; i < list[l].count; i++) {
            tn_factored f;
            assert_int_equal(list[l].item[i].weight.format, list[l].folding[list[l].item[i].folding].format);
            tried |= 1U << list[l].item[i].weight.format;
            assert_int_equal(
                tn_layer_option_factor(&w.trained, &w.rule, &list[l], &list[l].item[i], &f, &error), TN_OK);
            assert_true(fabs(distance(l, &f, false) - list[l].item[i].squared_error) <
                        1e-11 * list[l].squared_norm);
            tn_factored_free(&f);
        }
        for (int f = 0; f < 4; f++) assert_true(tried & 1U << formats[f]);
    }
    close_world(&w);
}

static void measured_accuracy_decides(void **state) {
    (void)state;
    world w = {0};
    tn_accuracy *accuracy;
    FILE *file = fopen(test_in_folder("accuracy.csv"), "w");
    assert_non_null(file);
    fputs("rank,accuracy\n1,0.5\n2,0.7\n3,0.8\n9,0.9\n", file);
    assert_int_equal(fclose(file), 0);
    w.model = test_model_named("transformer", &w.arena);
    assert_int_equal(tn_accuracy_load(test_in_folder("accuracy.csv"), &w.arena, &accuracy, &error), TN_OK);
    assert_int_equal(make_plan(&w, false, NULL, accuracy), TN_OK);
    const tn_rank_problem *p = &w.plan.problem;
    for (size_t i = 0; i < p->first[LAYERS]; i++) {
        double value;
        assert_int_equal(tn_accuracy_at(accuracy, "", NULL, (double)p->cap[i], &value, &error), TN_OK);
        assert_true(fabs(p->error[i] - (0.9 - value) / LAYERS) < 1e-15);
    }
    assert_string_equal(p->error_name, "accuracy_loss");
    close_world(&w);
}

/* A table of one layer's foldings: the others, of which nothing was measured, stay as the model has them. */
static void unmeasured_layers_stay(void **state) {
    (void)state;
    world w = {0};
    tn_accuracy *accuracy;
    FILE *file = fopen(test_in_folder("one.csv"), "w");
    assert_non_null(file);
    fputs("layer,rank,accuracy\nblock1.query,1,0.5\nblock1.query,2,0.7\nblock1.query,64,0.9\n", file);
    assert_int_equal(fclose(file), 0);
    w.model = test_model_named("transformer", &w.arena);
    assert_int_equal(tn_accuracy_load(test_in_folder("one.csv"), &w.arena, &accuracy, &error), TN_OK);
    if (make_plan(&w, false, NULL, accuracy) != TN_OK) fail_msg("%s", error.message);
    const tn_rank_problem *p = &w.plan.problem;
    size_t varied = 0;
    assert_int_equal(w.plan.measured, 1);
    for (size_t l = 0; l < w.plan.layers; l++) {
        size_t first = p->first[l], count = p->first[l + 1] - first;
        const tn_weight *own = &tn_model_layer_at(w.model, w.plan.candidates[l].layer).weight->weight;
        if (strcmp(p->layer[l], "block1.query") == 0) {
            varied++;
            assert_true(count > 2);
            continue;
        }
        assert_int_equal(count, 1);
        assert_true(p->error[first] == 0);
        assert_true(tn_weight_equal(&w.plan.candidate[first]->weight, own));
    }
    assert_int_equal(varied, 1);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_state_their_errors),
        cmocka_unit_test(costs_add_up_to_the_model),
        cmocka_unit_test(the_choice_is_the_best),
        cmocka_unit_test(designs_fit_as_a_whole),
        cmocka_unit_test(same_answer_whatever_the_threads),
        cmocka_unit_test(model_file_keeps_the_choice),
        cmocka_unit_test(cores_rebuild_with_the_stated_error),
        cmocka_unit_test(error_table_of_entries),
        cmocka_unit_test(formats_to_try),
        cmocka_unit_test(measured_accuracy_decides),
        cmocka_unit_test(unmeasured_layers_stay),
    };
    int failed = cmocka_run_group_tests(tests, make_files, remove_files);
    test_models_end(NULL);
    return failed;
}
