/* tenfold model CHECKPOINT -o MODEL.yaml: a model file from what people have. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "finetune/count.h"
#include "model/model.h"
#include "ranks/checkpoint.h"
#include "ranks/import.h"
#include "ranks/name_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *config, *path, *name, *head, *from, *to, *map, *proposal;
    uint64_t heads, sequence, batch, rank;
} request;

typedef struct {
    const char *name, *type, *shape, *layer;
    uint64_t elements;
} row;

typedef struct {
    const char *file, *kind;
    uint64_t parameters, dense_parameters;
    tn_import import;
    row *row; /* [import.arrays] */
} told;

static const tn_column row_columns[] = {
    TN_COLUMN(row, name, "array"),        TN_COLUMN(row, shape, "shape"), TN_COLUMN(row, type, "type"),
    TN_COLUMN(row, elements, "elements"), TN_COLUMN(row, layer, "layer"),
};
static const tn_record row_record = TN_RECORD(row, row_columns);
#define OF_IMPORT(key, what) TN_COLUMN_AS(key, told, import.what, NULL)
static const tn_column told_columns[] = {
    TN_COLUMN(told, file, NULL),
    TN_COLUMN(told, kind, NULL),
    OF_IMPORT("family", family),
    OF_IMPORT("layers", layers),
    TN_COLUMN(told, parameters, NULL),
    TN_COLUMN(told, dense_parameters, NULL),
    OF_IMPORT("elements", elements),
    OF_IMPORT("constants", constants),
    OF_IMPORT("shared", shared),
    OF_IMPORT("left_out", left_out),
    OF_IMPORT("padding", padding),
    OF_IMPORT("added", added),
    OF_IMPORT("recognised", recognised),
    TN_ROWS("tensors", told, row, import.arrays, row_record, NULL),
    TN_ARRAY("notes", told, import.note, import.notes, NULL),
};
static const tn_record told_record = TN_RECORD(told, told_columns);

static tn_status shape_of(const tn_array_info *info, tn_arena *arena, const char **text, tn_error *error) {
    *text = "";
    for (size_t i = 0; i < info->axes; i++)
        TN_TRY(tn_arena_format(arena, text, error, "%s%s%" PRIu64, *text, i ? "x" : "", info->shape[i]));
    return TN_OK;
}

/* Of the text that is to be written: what is written is a model. */
static tn_status count_model(const request *asked, const tn_buffer *out, const char *const *set, size_t sets,
                             tn_arena *arena, uint64_t *parameters, tn_error *error) {
    tn_yaml *root;
    tn_model *model;
    tn_program_cache *cache;
    tn_step step;
    TN_TRY(tn_yaml_parse(asked->path, out->data, out->length, arena, &root, error));
    TN_TRY(tn_model_vary(root, set, sets, arena, &model, error));
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_step_build(model, cache, arena, &step, error);
    if (status == TN_OK) *parameters = step.parameters;
    tn_program_cache_free(cache);
    return status;
}

static tn_status count_parameters(const request *asked, const tn_buffer *out, tn_arena *arena, told *answer,
                                  tn_error *error) {
    static const char *const dense[] = {"format=dense"};
    TN_TRY(count_model(asked, out, NULL, 0, arena, &answer->parameters, error));
    return count_model(asked, out, dense, 1, arena, &answer->dense_parameters, error);
}

/* The arrays that it names are found under what is written: a name that a model file can't hold (a line feed, bytes
 * that are not UTF-8, braces) is not. */
static tn_status look_names_up(const request *asked, const tn_buffer *out, const tn_arrays *arrays,
                               tn_arena *arena, tn_error *error) {
    tn_yaml *root;
    tn_model *model;
    tn_checkpoint checkpoint;
    tn_error cause;
    TN_TRY(tn_yaml_parse(asked->path, out->data, out->length, arena, &root, error));
    TN_TRY(tn_model_vary(root, NULL, 0, arena, &model, error));
    tn_status status = tn_checkpoint_decode(tn_model_checkpoint(model), model, arena, &checkpoint, &cause);
    if (status == TN_OK) status = tn_checkpoint_check(&checkpoint, model, arrays, arena, &cause);
    if (status == TN_OK) return TN_OK;
    return tn_fail_at(error, status, (tn_position){.file = asked->common.argument[0]},
                      "a model file can't name its arrays: %.900s; rename them", cause.message);
}

/* "Of the checkpoint's 109,484,290 numbers, 512 are constants, 2,304 are added by padding: .." */
static void say_account(const told *answer) {
    const tn_import *all = &answer->import;
    char count[32];
    const struct {
        uint64_t amount;
        const char *says;
    } part[] = {{all->constants, "are constants"},
                {all->shared, "are a second copy of the table"},
                {all->left_out, "are left out"},
                {all->padding, "are added by padding"},
                {all->added, "are added"}};
    tn_say("Of the checkpoint's %s numbers", tn_count_text(all->elements, count));
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].amount) tn_say(", %s %s", tn_count_text(part[i].amount, count), part[i].says);
    tn_say(": the model, all dense, has %s parameters.\n", tn_count_text(answer->dense_parameters, count));
}

/* What was imported, counted where it is a model; nothing is written yet. */
static tn_status describe(const request *asked, const tn_import *import, const tn_buffer *out,
                          tn_arena *arena, told *answer, tn_error *error) {
    *answer = (told){.file = asked->path, .kind = "model", .import = *import};
    return count_parameters(asked, out, arena, answer, error);
}

static tn_status tell(const request *asked, told *answer, tn_arena *arena, tn_error *error) {
    const tn_import *import = &answer->import;
    TN_TRY(TN_NEW(arena, import->arrays, &answer->row, error));
    for (size_t i = 0; i < import->arrays; i++) {
        const tn_imported_array *array = &import->array[i];
        answer->row[i] =
            (row){array->info->name, array->info->type, NULL, array->layer, array->info->elements};
        TN_TRY(shape_of(array->info, arena, &answer->row[i].shape, error));
    }
    if (asked->common.json) return tn_output_json(&told_record, answer, error);
    char count[32];
    TN_TRY(tn_output_rows(&row_record, answer->row, import->arrays, error));
    tn_say("\n%s: family %s, %" PRIu64 " layers, %s parameters; %zu of %zu arrays recognised\n", answer->file,
           import->family, import->layers, tn_count_text(answer->parameters, count), import->recognised,
           import->arrays);
    say_account(answer);
    for (size_t i = 0; i < import->notes; i++) tn_say("note: %s\n", import->note[i]);
    return TN_OK;
}

/* The file's name without its ending, of letters, digits, - and _. */
static tn_status name_of(const request *asked, tn_arena *arena, const char **name, tn_error *error) {
    const char *slash = strrchr(asked->path, '/'), *base = slash ? slash + 1 : asked->path;
    char *made;
    size_t length = strcspn(base, ".");
    if (asked->name || length == 0) {
        *name = asked->name ? asked->name : "model";
        return TN_OK;
    }
    TN_TRY(tn_arena_copy_text(arena, base, length, name, error));
    for (made = (char *)*name; *made; made++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *made)) *made = '-';
    return TN_OK;
}

static tn_status read_head(const char *text, tn_import_head *head, tn_error *error) {
    *head = text && strcmp(text, "classifier") == 0 ? TN_HEAD_CLASSIFIER : TN_HEAD_AS_FOUND;
    if (!text || *head == TN_HEAD_CLASSIFIER || strcmp(text, "found") == 0) return TN_OK;
    return tn_fail(error, TN_INPUT, "--head '%.60s' is neither found nor classifier", text);
}

/* Of a checkpoint; a graph needs no names. */
static tn_status propose(request *asked, tn_error *error) {
    const char *path = asked->common.argument[0];
    tn_arena *arena = &asked->common.arena;
    tn_arrays *arrays;
    tn_buffer out = {0};
    if (asked->path || asked->map)
        return tn_fail(error, TN_INPUT, "--propose writes names alone; -o and --map come after it");
    TN_TRY(tn_arrays_open(path, &arrays, error));
    tn_status status = tn_name_map_propose(arrays, path, arena, &out, error);
    if (status == TN_OK) status = tn_file_write_buffer(asked->proposal, &out, error);
    if (status == TN_OK) tn_say("%s", out.data);
    tn_buffer_free(&out);
    tn_arrays_close(arrays);
    return status;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_arrays *arrays;
    tn_import import;
    told summary;
    tn_buffer out = {0};
    (void)answer;
    if (asked->proposal) return propose(asked, error);
    if (!asked->path) return tn_fail(error, TN_INPUT, "-o MODEL.yaml is missing, the file to write");
    if (asked->rank == 0) return tn_fail(error, TN_INPUT, "--rank 0; a rank is at least 1");
    tn_import_options options = {.config = asked->config,
                                 .map = asked->map,
                                 .from = asked->from,
                                 .to = asked->to,
                                 .heads = asked->heads,
                                 .sequence = asked->sequence,
                                 .batch = asked->batch,
                                 .rank = asked->rank};
    TN_TRY(read_head(asked->head, &options.head, error));
    TN_TRY(name_of(asked, arena, &options.name, error));
    TN_TRY(tn_import_open(asked->common.argument[0], &options, arena, &arrays, error));
    tn_status status =
        tn_import_model(arrays, asked->common.argument[0], &options, arena, &import, &out, error);
    if (status == TN_OK) status = describe(asked, &import, &out, arena, &summary, error);
    if (status == TN_OK) status = look_names_up(asked, &out, arrays, arena, error);
    if (status == TN_OK) status = tn_file_write_buffer(asked->path, &out, error);
    if (status == TN_OK) status = tell(asked, &summary, arena, error);
    tn_buffer_free(&out);
    tn_arrays_close(arrays);
    return status;
}

static const request defaults = {.rank = 16};
static const tn_option options[] = {
    {"--config", TN_INTO(request, config), "FILE",
     "config.json of the checkpoint, for what its arrays do not say (heads)"},
    {"--heads", TN_INTO(request, heads), "N",
     "attention heads; default those of the config, else widths of 64"},
    {"--sequence", TN_INTO(request, sequence), "N",
     "tokens of an example; default as many as there are positions, else 128"},
    {"--head", TN_INTO(request, head), "HEAD",
     "found (default): the output projection where the checkpoint has no classifier; classifier: two classes "
     "in its place"},
    {"--from", TN_INTO(request, from), "VALUE", "of an ONNX graph, a value that is taken as its input"},
    {"--to", TN_INTO(request, to), "VALUE", "of an ONNX graph, a value that is taken as its output"},
    {"--map", TN_INTO(request, map), "NAMES.yaml",
     "which array is which, where names are of no published family"},
    {"--propose", TN_INTO(request, proposal), "NAMES.yaml",
     "write such a file by the arrays' shapes and end, without a model"},
    {"--batch", TN_INTO(request, batch), "N", "examples of a step; default 1"},
    {"--rank", TN_INTO(request, rank), "R", "rank of the weights in cores; default 16"},
    {"--name", TN_INTO(request, name), "NAME", "of the model; default the file's name"},
    {"-o", TN_INTO(request, path), "MODEL.yaml", "the file to write"},
};

const tn_command tn_command_model = {
    .name = "model",
    .summary =
        "write a model file from a checkpoint or an ONNX graph: layers, foldings, and which array is which",
    .usage = "CHECKPOINT.safetensors|.npz|.index.json|.onnx|config.json -o MODEL.yaml",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&told_record),
    .answer = answer,
};
