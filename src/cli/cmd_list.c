/* tenfold list models|devices|spaces|flows|formats|techniques|keys|quantities|gpus, tenfold list operators FILE */
#include "base/memory.h"
#include "base/name_index.h"
#include "base/search_path.h"
#include "cli/cmd_finetune.h"
#include "cli/cmd_technique.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/list_operators.h"
#include "cli/output.h"
#include "cli/technique_questions.h"
#include "design/changes.h"
#include "flow/named.h"
#include "space/quantity.h"
#include "step/transformation.h"
#include "tensor/weight.h"

#include <string.h>

/* Files of a folder, or names that the program knows; neither: techniques. */
typedef struct {
    const char *what, *folder;
    const char *const *names; /* ended by NULL */
} catalogue;

#ifdef TENFOLD_SATELLITES
/* Stands for the table of GPUs. */
static const char *const gpus[] = {NULL};
#endif

/* Stand for what --set takes, and what designs have. */
static const char *const keys[] = {NULL}, *const quantities[] = {NULL};

/* Stands for rows of a device, or of a report. */
static const char *const operators[] = {NULL};

static const catalogue catalogues[] = {
    {"models", "models", NULL},     {"devices", "models/devices", NULL}, {"spaces", "spaces", NULL},
    {"flows", NULL, tn_flow_names}, {"formats", NULL, tn_format_names},  {"techniques", NULL, NULL},
    {"keys", NULL, keys},           {"quantities", NULL, quantities},    {"operators", NULL, operators},
#ifdef TENFOLD_SATELLITES
    {"gpus", NULL, gpus},
#endif
};
enum { CATALOGUES = sizeof catalogues / sizeof *catalogues };

static tn_status find(const char *what, const catalogue **found, tn_error *error) {
    const char *names[CATALOGUES];
    for (size_t i = 0; i < CATALOGUES; i++) {
        names[i] = catalogues[i].what;
        if (strcmp(what, names[i]) == 0) {
            *found = &catalogues[i];
            return TN_OK;
        }
    }
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown list '%.60s'; %s", what,
                   tn_suggestion(what, names, CATALOGUES, told, sizeof told));
}

/* --- Techniques: transformations of the step, which models choose by keys, and formulas to ask. */

typedef struct technique {
    const char *name, *use, *changes, *source;
} technique;
static const tn_column technique_columns[] = {
    TN_COLUMN(technique, name, "technique"),
    TN_COLUMN(technique, use, "by"),
    TN_COLUMN(technique, source, "source"),
    TN_COLUMN(technique, changes, NULL),
};
static const tn_record technique_record = TN_RECORD(technique, technique_columns);
typedef struct technique_list {
    technique *technique;
    size_t count;
} technique_list;
static const tn_column technique_list_columns[] = {
    TN_ROWS("techniques", technique_list, technique, count, technique_record, NULL),
};
static const tn_record technique_list_record = TN_RECORD(technique_list, technique_list_columns);

static tn_status collect_techniques(tn_arena *arena, technique_list *list, tn_error *error) {
    size_t count = tn_techniques_count + 1;
    for (const tn_transformation *const *t = tn_transformations; *t; t++) count++;
    for (const tn_design_choice *t = tn_design_choices; t->name; t++) count++;
    TN_TRY(TN_NEW(arena, count, &list->technique, error));
    for (const tn_transformation *const *t = tn_transformations; *t; t++)
        list->technique[list->count++] = (technique){(*t)->name, (*t)->keys, (*t)->changes, (*t)->source};
    for (const tn_design_choice *t = tn_design_choices; t->name; t++)
        list->technique[list->count++] = (technique){t->name, t->keys, t->changes, t->source};
    for (size_t i = 0; i < tn_techniques_count; i++) {
        const tn_technique *t = &tn_techniques[i];
        technique *row = &list->technique[list->count++];
        *row = (technique){t->name, NULL, t->summary, t->source};
        TN_TRY(tn_arena_format(arena, &row->use, error, "tenfold technique %s", t->name));
    }
    list->technique[list->count++] = (technique){"quantise", "tenfold technique quantise",
                                                 tn_command_technique_quantise.summary, tn_quantise_source};
    return TN_OK;
}

static tn_status list_techniques(tn_common *common, tn_error *error) {
    technique_list list = {0};
    TN_TRY(collect_techniques(&common->arena, &list, error));
    if (common->json) return tn_output_json(&technique_list_record, &list, error);
    return tn_output_rows(&technique_record, list.technique, list.count, error);
}

/* --- Formats, and where each may be named. */

typedef struct format_row {
    const char *name, *called;
    bool models, from_weights;
} format_row;
static const tn_column format_columns[] = {
    TN_COLUMN(format_row, name, "format"),
    TN_COLUMN(format_row, called, "called"),
    TN_COLUMN_AS("models", format_row, models, "in models, spaces, order"),
    TN_COLUMN_AS("from_weights", format_row, from_weights, "decomposed by ranks"),
};
static const tn_record format_record = TN_RECORD(format_row, format_columns);
typedef struct format_list {
    const char **names;
    size_t names_count;
    format_row row[TN_FORMATS];
    size_t rows;
} format_list;
static const tn_column format_list_columns[] = {
    TN_LIST("formats", format_list, names, names_count, NULL),
    TN_ROWS_IN("uses", format_list, row, rows, format_record, NULL),
};
static const tn_record format_list_record = TN_RECORD(format_list, format_list_columns);

static tn_status list_formats(bool json, tn_error *error) {
    static const char *const called[TN_FORMATS] = {
        [TN_DENSE] = "matrix",          [TN_TT] = "tensor train",      [TN_TTM] = "tensor-train matrix",
        [TN_RING] = "tensor ring",      [TN_TUCKER] = "Tucker",        [TN_HT] = "hierarchical Tucker",
        [TN_CP] = "canonical polyadic", [TN_BLOCK_TERM] = "block-term"};
    format_list list = {
        .names = (const char **)tn_format_names, .names_count = TN_FORMATS, .rows = TN_FORMATS};
    for (size_t i = 0; i < TN_FORMATS; i++) {
        list.row[i] = (format_row){tn_format_names[i], called[i], true, i == TN_DENSE};
        for (size_t k = 0; k < tn_formats_from_weights_count; k++)
            list.row[i].from_weights |= tn_formats_from_weights[k] == i;
    }
    if (json) return tn_output_json(&format_list_record, &list, error);
    return tn_output_rows(&format_record, list.row, list.rows, error);
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    tn_common *common = asked;
    const char *what = common->argument[0];
    const catalogue *wanted = NULL;
    size_t count = 0;
    (void)answer;
    TN_TRY(find(what, &wanted, error));
    const char *const *names = wanted->names;
    if (common->arguments > 1 && names != operators)
        return tn_fail(error, TN_INPUT, "unexpected argument '%.60s'; list %s takes none",
                       common->argument[1], what);
    if (names == operators) return tn_list_operators(common, error);
    if (!wanted->folder && !names) return list_techniques(common, error);
#ifdef TENFOLD_SATELLITES
    if (names == gpus) return tn_list_gpus(common, error);
#endif
    if (names == keys || names == quantities) {
        const char **found;
        if (names == keys) TN_TRY(tn_help_keys(&common->arena, &found, &count, error));
        if (names == quantities) TN_TRY(TN_NEW(&common->arena, tn_quantities_count, &found, error));
        for (size_t i = 0; names == quantities && i < tn_quantities_count; i++)
            found[count++] = tn_quantities[i].name;
        return tn_output_names(what, found, count, common->json, error);
    }
    if (names == tn_format_names) return list_formats(common->json, error);
    if (wanted->folder) {
        const char **files;
        TN_TRY(tn_search_path_list(wanted->folder, &common->arena, &files, &count, error));
        names = files;
    }
    while (!wanted->folder && names[count]) count++;
    return tn_output_names(what, names, count, common->json, error);
}

static const tn_column names_keys[] = {
    TN_ANSWER_LIST("models", "string", TN_OPTIONAL), TN_ANSWER_LIST("devices", "string", TN_OPTIONAL),
    TN_ANSWER_LIST("spaces", "string", TN_OPTIONAL), TN_ANSWER_LIST("flows", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("table", "string", TN_OPTIONAL), /* of GPUs */
    TN_ANSWER_LIST("gpus", "object", TN_OPTIONAL),
};
static const tn_record names_record = {.column = names_keys,
                                       .columns = sizeof names_keys / sizeof *names_keys};

const tn_command tn_command_list = {
    .name = "list",
    .summary = "list what can be named: models, devices, spaces, flows, formats, techniques, keys, "
               "quantities, gpus; and operators: rows of a "
               "device, or of a report of high-level synthesis",
    .usage =
        "models|devices|spaces|flows|formats|techniques|keys|quantities|gpus\noperators DEVICE|REPORT.xml",
    .arguments = {1, 2},
    TN_ANSWERS(&names_record, &technique_list_record, &format_list_record, &tn_list_operators_record),
    .answer = answer,
};
