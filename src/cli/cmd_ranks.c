/* tenfold ranks (MODEL --weights FILE | --matrix FILE | --table FILE) */
#include "cli/commands.h"
#include "cli/ranks.h"

#include <string.h>

enum { DEFAULT_SEED = 1, DEFAULT_TOKENS = 32, OF_MODEL = 1, OF_MATRIX = 2, OF_TABLE = 4 };

/* An option, and what it goes with. */
typedef struct {
    tn_option option;
    int modes;
    const char *goes_with;
} moded;

static bool is_given(const tn_option *option, const tn_ranks_asked *fresh, const tn_ranks_asked *asked) {
    size_t offset = (size_t)((const char *)option->value - (const char *)asked);
    const void *before = (const char *)fresh + offset;
    switch (option->type) {
    case TN_OPTION_FLAG:
        return *(const bool *)option->value;
    case TN_OPTION_TEXT:
        return *(const char *const *)option->value != NULL;
    case TN_OPTION_COUNT:
        return memcmp(option->value, before, sizeof(uint64_t)) != 0;
    case TN_OPTION_REAL:
        return memcmp(option->value, before, sizeof(double)) != 0;
    case TN_OPTION_LIST:
        return ((const tn_option_list *)option->value)->count > 0;
    }
    return false;
}

static tn_status choose_mode(const tn_ranks_asked *asked, int *mode, tn_error *error) {
    int given =
        (asked->model ? OF_MODEL : 0) | (asked->matrix ? OF_MATRIX : 0) | (asked->table ? OF_TABLE : 0);
    *mode = given;
    if (given == OF_MODEL || given == OF_MATRIX || given == OF_TABLE) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   given ? "MODEL, --matrix and --table ask for different things; give one of them"
                         : "nothing to do; give MODEL --weights FILE, --matrix FILE or --table FILE.csv");
}

static tn_status refuse_misplaced(const moded *table, size_t count, int mode, const tn_ranks_asked *fresh,
                                  const tn_ranks_asked *asked, tn_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!(table[i].modes & mode) && is_given(&table[i].option, fresh, asked))
            return tn_fail(error, TN_INPUT, "%s goes with %s; leave it out here", table[i].option.name,
                           table[i].goes_with);
    return TN_OK;
}

static tn_status dispatch(const tn_ranks_asked *asked, int mode, int *answer, tn_error *error) {
    if (asked->tokens == 0)
        return tn_fail(error, TN_INPUT, "--tokens 0 makes an empty case; give at least 1");
    if (mode == OF_MATRIX) return tn_ranks_matrix(asked, error);
    if (mode == OF_TABLE) return tn_ranks_table(asked, answer, error);
    return tn_ranks_model(asked, answer, error);
}

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    const tn_ranks_asked fresh = {.max_error = -1, .seed = DEFAULT_SEED, .tokens = DEFAULT_TOKENS};
    static tn_ranks_asked asked; /* its lists are large */
    asked = fresh;
    enum { ALL = OF_MODEL | OF_MATRIX | OF_TABLE };
    const moded table[] = {
        {{"--weights", TN_OPTION_TEXT, &asked.weights, "FILE", "trained weights: .npy, .npz or .safetensors"},
         OF_MODEL,
         "MODEL"},
        {{"--budget", TN_OPTION_LIST, &asked.budget, "KEY=VALUE",
          "most that all layers may take together, e.g. params=300000; repeatable"},
         OF_MODEL | OF_TABLE,
         "MODEL or --table"},
        {{"--max-error", TN_OPTION_REAL, &asked.max_error, "E",
          "error that is allowed: relative with MODEL, summed squares with --table; a cost is made least"},
         OF_MODEL | OF_TABLE,
         "MODEL or --table"},
        {{"--minimise", TN_OPTION_TEXT, &asked.minimise, "KEY", "the cost to make least (default the first)"},
         OF_MODEL | OF_TABLE,
         "MODEL or --table"},
        {{"--states", TN_OPTION_COUNT, &asked.states, "N",
          "partial allocations kept at most (default 131072 with up to two budgets, else 65536)"},
         OF_MODEL | OF_TABLE,
         "MODEL or --table"},
        {{"--covariance", TN_OPTION_TEXT, &asked.covariance, "FILE",
          "second moments of the layers' inputs, for the error of what layers put out"},
         OF_MODEL,
         "MODEL"},
        {{"--accuracy", TN_OPTION_TEXT, &asked.accuracy, "FILE.csv",
          "measured accuracy by rank (rank,accuracy[,layer]) instead of the truncation error"},
         OF_MODEL,
         "MODEL"},
        {{"--device", TN_OPTION_TEXT, &asked.device, "DEVICE",
          "for budgets of bram18, uram and cycles (default u50)"},
         OF_MODEL,
         "MODEL"},
        {{"--set", TN_OPTION_LIST, &asked.set, "KEY=VALUE",
          "override a key of the model or device; repeatable"},
         OF_MODEL,
         "MODEL"},
        {{"--depth", TN_OPTION_TEXT, &asked.depth, "D,D,..|own",
          "also try the balanced folding of so many factors (default 2,3,4); own: none"},
         OF_MODEL,
         "MODEL"},
        {{"--matrix", TN_OPTION_TEXT, &asked.matrix, "FILE", "decompose the matrix in this file"}, ALL, ""},
        {{"--tensor", TN_OPTION_TEXT, &asked.tensor, "NAME",
          "the array to take where the file holds several"},
         OF_MATRIX,
         "--matrix"},
        {{"--transpose", TN_OPTION_FLAG, &asked.transpose, NULL, "the file has inputs as rows"},
         OF_MATRIX,
         "--matrix"},
        {{"--fold", TN_OPTION_LIST, &asked.fold, "m=12x8x8,n=8x8x12",
          "factors of outputs and inputs; with MODEL repeatable: foldings to try where they fit"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--format", TN_OPTION_TEXT, &asked.format, "tt|ttm|tr|tucker",
          "format of the cores (default tt); with MODEL a list to try (default its own)"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--cap", TN_OPTION_TEXT, &asked.cap, "R,R,..",
          "largest ranks: a number each, or all bonds as 1x12x8x1"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--tolerance", TN_OPTION_TEXT, &asked.tolerance, "E,E,..", "or the relative errors to keep"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--svd", TN_OPTION_TEXT, &asked.method, "auto|exact|randomised",
          "how large bonds are cut (default auto: randomised over 2048 x 2048 at small ranks)"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--seed", TN_OPTION_COUNT, &asked.seed, "N", "of everything random (default 1)"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--spectrum", TN_OPTION_FLAG, &asked.spectrum, NULL, "also the singular values of every bond"},
         OF_MODEL | OF_MATRIX,
         "MODEL or --matrix"},
        {{"--case-out", TN_OPTION_TEXT, &asked.case_folder, "DIR",
          "write the cores as a case for `tenfold validate`"},
         OF_MATRIX,
         "--matrix"},
        {{"--tokens", TN_OPTION_COUNT, &asked.tokens, "K", "tokens of that case (default 32)"},
         OF_MATRIX,
         "--matrix"},
        {{"--table", TN_OPTION_TEXT, &asked.table, "FILE.csv",
          "allocate from candidates (layer,cap,params,sqerr,..)"},
         ALL,
         ""},
        {{"-o", TN_OPTION_TEXT, &asked.output, "DIR", "write the results there"}, ALL, ""},
    };
    enum { OPTIONS = sizeof table / sizeof *table };
    tn_option option[OPTIONS];
    size_t given;
    int mode;
    for (size_t i = 0; i < OPTIONS; i++) option[i] = table[i].option;
    TN_TRY(tn_options_read(command, option, OPTIONS, argc, argv, 0, 1, &asked.model, &given, &asked.common,
                           error));
    if (asked.common.help) {
        tn_options_usage(command, option, OPTIONS);
        return TN_OK;
    }
    TN_TRY(choose_mode(&asked, &mode, error));
    TN_TRY(refuse_misplaced(table, OPTIONS, mode, &fresh, &asked, error));
    return dispatch(&asked, mode, answer, error);
}

const tn_command tn_command_ranks = {
    .name = "ranks",
    .summary = "choose ranks from trained weights, under budgets",
    .usage = "MODEL --weights FILE [--budget KEY=VALUE]... [--max-error E] [--covariance FILE] [-o DIR]\n"
             "--matrix FILE --fold m=12x8x8,n=8x8x12 --format tt|ttm (--cap R,R,... | --tolerance E,E,...)\n"
             "--table FILE.csv --budget params=N [--max-error E]",
    .run = run,
};
