/* tenfold ranks (MODEL --weights FILE | --matrix FILE | --table FILE) */
#include "cli/ranks.h"

#include "base/file.h"
#include "base/guard.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/ranks_solution.h"
#include "ranks/files.h"
#include "ranks/rank_figures.h"
#include "tensor/folding.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* tenfold ranks --table: allocation among candidates that the user has. */

static tn_status write(const char *folder, const tn_rank_problem *problem, const tn_rank_goal *goal,
                       const tn_rank_solution *solution, tn_error *error) {
    size_t cost = goal->budgets ? goal->budget[0].cost : goal->minimised;
    tn_tradeoff front;
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(tn_rank_write_allocation(folder, problem, &solution->best, error));
    TN_TRY(tn_rank_front(problem, cost, &front, error));
    tn_status status = tn_rank_write_front(folder, problem, cost, &front, error);
    if (status == TN_OK) status = tn_front_figure(folder, problem, cost, &front, solution, error);
    tn_tradeoff_free(&front);
    if (status == TN_OK) status = tn_allocation_figure(folder, problem, cost, solution, error);
    return status;
}

static tn_status ranks_table(const tn_ranks_asked *asked, int *answer, tn_error *error) {
    tn_arena arena = {0};
    tn_rank_problem problem;
    tn_rank_goal goal;
    tn_rank_solution solution;
    tn_status status = tn_rank_problem_load(asked->table, &arena, &problem, error);
    if (status == TN_OK) status = tn_ranks_goal(asked, &problem, NULL, asked->max_error, &goal, error);
    if (status == TN_OK) status = tn_rank_solve(&problem, &goal, &arena, &solution, error);
    if (status == TN_OK && goal.least_cost && !solution.best.met)
        status = tn_rank_least_error(&problem, &goal, &arena, &solution.least_error, error);
    if (status == TN_OK && asked->output) status = write(asked->output, &problem, &goal, &solution, error);
    if (status == TN_OK)
        status = tn_ranks_print_solution(asked->common.json, &problem, &goal, &solution, error);
    if (status == TN_OK) *answer = solution.best.met ? 0 : 1;
    tn_arena_free(&arena);
    return status;
}

enum { DEFAULT_SEED = 1, DEFAULT_TOKENS = 32, OF_MODEL = 1, OF_MATRIX = 2, OF_TABLE = 4 };

static const tn_option options[] = {
    {"--point", TN_INTO(tn_ranks_asked, point), "ID",
     "with the folder of a sweep: this design's foldings and device"},
    {"--weights", TN_INTO(tn_ranks_asked, weights), "FILE",
     "trained weights: .npy, .npz, .safetensors, its .index.json, or .onnx"},
    {"--budget", TN_INTO(tn_ranks_asked, budget), "KEY=VALUE",
     "most that all layers may take together: params=300000, 12MB, '80 %', bram18=50%; repeatable"},
    {"--max-error", TN_INTO(tn_ranks_asked, max_error), "E",
     "error that is allowed: relative with MODEL, summed squares with --table; a cost is made least"},
    {"--layer-error", TN_INTO(tn_ranks_asked, layer_error), "E", "most relative error of each layer"},
    {"--keep", TN_INTO(tn_ranks_asked, keep), "LAYER",
     "layers of this name, in which * stands for anything, stay dense; repeatable"},
    {"--minimise", TN_INTO(tn_ranks_asked, minimise), "KEY", "the cost to make least (default the first)"},
    {"--states", TN_INTO(tn_ranks_asked, states), "N",
     "partial allocations kept at most (default 131072 with up to two budgets, else 65536)"},
    {"--covariance", TN_INTO(tn_ranks_asked, covariance), "FILE",
     "second moments of the layers' inputs, for the error of what layers put out"},
    {"--accuracy", TN_INTO(tn_ranks_asked, accuracy), "FILE.csv",
     "measured accuracy by rank (rank,accuracy[,layer]) instead of the truncation error"},
    {"--device", TN_INTO(tn_ranks_asked, device), "DEVICE",
     "for budgets of bram18, uram and cycles (default the design's; of a model u50)"},
    {"--set", TN_INTO(tn_ranks_asked, set), "KEY=VALUE", "override a key of the model or device; repeatable"},
    {"--depth", TN_INTO(tn_ranks_asked, depth), "D,D,..|own",
     "also try the balanced folding of so many factors (default 2,3,4); own: none"},
    {"--matrix", TN_INTO(tn_ranks_asked, matrix), "FILE", "decompose the matrix in this file"},
    {"--tensor", TN_INTO(tn_ranks_asked, tensor), "NAME", "the array to take where the file holds several"},
    {"--transpose", TN_INTO(tn_ranks_asked, transpose), NULL, "the file has inputs as rows"},
    {"--fold", TN_INTO(tn_ranks_asked, fold), "m=12x8x8,n=8x8x12",
     "factors of outputs and inputs; with MODEL repeatable: foldings to try where they fit"},
    {"--format", TN_INTO(tn_ranks_asked, format), "tt|ttm|tr|tucker",
     "format of the cores (default tt); with MODEL a list to try, low-rank among them (default its own and "
     "low rank)"},
    {"--cap", TN_INTO(tn_ranks_asked, cap), "R,R,..",
     "largest ranks: a number each, or all bonds as 1x12x8x1"},
    {"--tolerance", TN_INTO(tn_ranks_asked, tolerance), "E,E,..", "or the relative errors to keep"},
    {"--svd", TN_INTO(tn_ranks_asked, method), "auto|exact|randomised",
     "how large bonds are cut (default auto: randomised over 2048 x 2048 at small ranks)"},
    {"--seed", TN_INTO(tn_ranks_asked, seed), "N", "of everything random (default 1)"},
    {"--spectrum", TN_INTO(tn_ranks_asked, spectrum), NULL, "also the singular values of every bond"},
    {"--case-out", TN_INTO(tn_ranks_asked, case_folder), "DIR",
     "write the cores as a case for `tenfold validate`"},
    {"--tokens", TN_INTO(tn_ranks_asked, tokens), "K", "tokens of that case (default 32)"},
    {"--table", TN_INTO(tn_ranks_asked, table), "FILE.csv",
     "allocate from candidates (layer,cap,params,sqerr,..)"},
    {"--cores", TN_INTO(tn_ranks_asked, cores), "f32|f16|bf16", "also write cores.safetensors, in this type"},
    {"-o", TN_INTO(tn_ranks_asked, output), "DIR", "write the results there"},
};

/* Options that do not go with every one of the three. */
enum { GROUP_MOST = 8 };
static const struct {
    int modes;
    const char *goes_with, *option[GROUP_MOST];
} groups[] = {
    {OF_MODEL, "MODEL", {"--point", "--weights", "--covariance", "--accuracy", "--device", "--set"}},
    {OF_MODEL, "MODEL", {"--depth", "--layer-error", "--keep"}},
    {OF_MATRIX, "--matrix", {"--tensor", "--transpose", "--case-out", "--tokens"}},
    {OF_MODEL | OF_TABLE, "MODEL or --table", {"--budget", "--max-error", "--minimise", "--states"}},
    {OF_MODEL | OF_MATRIX,
     "MODEL or --matrix",
     {"--fold", "--format", "--cap", "--tolerance", "--svd", "--seed", "--spectrum", "--cores"}},
};

static tn_status choose_mode(const tn_ranks_asked *asked, int *mode, tn_error *error) {
    int given =
        (asked->model ? OF_MODEL : 0) | (asked->matrix ? OF_MATRIX : 0) | (asked->table ? OF_TABLE : 0);
    *mode = given;
    if (given == OF_MODEL || given == OF_MATRIX || given == OF_TABLE) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   given ? "MODEL, --matrix and --table ask for different things; give one of them"
                         : "nothing to do; give MODEL --weights FILE, --matrix FILE or --table FILE.csv");
}

static tn_status refuse_option(const char *name, int mode, tn_error *error) {
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < GROUP_MOST && groups[g].option[i] && !(groups[g].modes & mode); i++)
            if (strcmp(groups[g].option[i], name) == 0)
                return tn_fail(error, TN_INPUT, "%s goes with %s; leave it out here", name,
                               groups[g].goes_with);
    return TN_OK;
}

static tn_status answer(void *request, int *answer, tn_error *error) {
    tn_ranks_asked *asked = request;
    int mode;
    asked->model = asked->common.argument[0];
    TN_TRY(choose_mode(asked, &mode, error));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (asked->common.given[i]) TN_TRY(refuse_option(options[i].name, mode, error));
    static const char *const types[] = {"f32", "f16", "bf16"};
    int type = 0;
    while (asked->cores && type < 3 && strcmp(asked->cores, types[type]) != 0) type++;
    if (type == 3) return tn_fail(error, TN_INPUT, "--cores %s; it is f32, f16 or bf16", asked->cores);
    asked->half = (tn_half)type;
    if (asked->tokens == 0)
        return tn_fail(error, TN_INPUT, "--tokens 0 makes an empty case; give at least 1");
    TN_TRY(tn_blas_room(error));
    TN_TRY(tn_command_output(&asked->common, asked->output, error));
    if (mode == OF_MATRIX) return tn_ranks_matrix(asked, error);
    if (mode == OF_TABLE) return ranks_table(asked, answer, error);
    return tn_ranks_model(asked, answer, error);
}

static const tn_ranks_asked defaults = {
    .max_error = NAN, .layer_error = NAN, .seed = DEFAULT_SEED, .tokens = DEFAULT_TOKENS};

const tn_command tn_command_ranks = {
    .name = "ranks",
    .summary = "choose ranks from trained weights, under budgets",
    .usage = "MODEL --weights FILE [--budget KEY=VALUE]... [--max-error E] [--covariance FILE] [-o DIR]\n"
             "--matrix FILE --fold m=12x8x8,n=8x8x12 --format tt|ttm (--cap R,R,... | --tolerance E,E,...)\n"
             "--table FILE.csv --budget params=N [--max-error E]",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(tn_ranks_asked, &defaults),
    TN_ANSWERS(&tn_ranks_solution_record, &tn_ranks_matrix_record),
    .answer = answer,
};
