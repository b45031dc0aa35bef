/* tenfold export (MODEL | DIR --point ID) -o OUT: a design for whoever builds it. */
#include "base/checked.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/options.h"
#include "cli/output.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* paths.json: how each layer's result and gradients are contracted, as numpy.einsum and opt_einsum take it.
 *
 * Every output of a layer's program (Y, dX, the gradient of each core) is an expression over inputs alone (X, cores, dY) with
 * its path in the linear form of numpy.einsum_path: pairs of places in the list of operands, which are taken out of it, the
 * product being appended. Intermediates that several outputs share are in the path of each of them; `macs` counts that path
 * alone. */

enum { LETTERS = 52 };
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

typedef struct {
    const tn_program *program;
    tn_arena *arena;
    tn_error *error;
    bool *needed;      /* [steps] */
    uint32_t *operand; /* the list, as einsum has it: tensors of the program */
    uint32_t operands;
    uint32_t inputs;   /* of them, at the start */
    char letter[4096]; /* [indices]: 0: none yet */
    uint32_t used;
} tracer;

/* Marks the steps that make `tensor`, and puts the inputs that they begin with into the list, each once per use. False where
 * an input or an intermediate is used twice: no path of one einsum. */
static bool trace(tracer *paths, uint32_t tensor) {
    uint32_t made_by = paths->program->tensor[tensor].made_by;
    if (made_by == TN_NO_STEP) {
        for (uint32_t i = 0; i < paths->operands; i++)
            if (paths->operand[i] == tensor) return false;
        paths->operand[paths->operands++] = tensor;
        return true;
    }
    if (paths->needed[made_by]) return false;
    paths->needed[made_by] = true;
    return trace(paths, paths->program->step[made_by].a) && trace(paths, paths->program->step[made_by].b);
}

static bool put_letters(tracer *trace, uint32_t tensor, tn_buffer *out) {
    const tn_indices *indices = &trace->program->tensor[tensor].indices;
    for (uint32_t i = 0; i < indices->count; i++) {
        uint32_t index = indices->index[i];
        if (index >= sizeof trace->letter) return false;
        if (!trace->letter[index]) {
            if (trace->used == LETTERS) return false;
            trace->letter[index] = letters[trace->used++];
        }
        tn_buffer_bytes(out, &trace->letter[index], 1);
    }
    return true;
}

static bool put_expression(tracer *trace, uint32_t output, tn_json *json) {
    tn_buffer text = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < trace->inputs; i++) {
        if (i) tn_buffer_text(&text, ",");
        ok = put_letters(trace, trace->operand[i], &text);
    }
    tn_buffer_text(&text, "->");
    ok = ok && put_letters(trace, output, &text);
    if (text.status != TN_OK) json->out->status = text.status;
    tn_json_put_text(json, "einsum", ok && text.data ? text.data : NULL);
    tn_buffer_free(&text);
    return ok;
}

static void put_operands(tracer *trace, tn_json *json) {
    const tn_program *program = trace->program;
    char text[32];
    tn_json_key(json, "operands");
    tn_json_row(json);
    for (uint32_t i = 0; i < trace->inputs; i++)
        tn_json_text(json, tn_program_tensor_name(program, trace->operand[i], text));
    tn_json_end(json);
    tn_json_key(json, "shapes");
    tn_json_array(json);
    for (uint32_t i = 0; i < trace->inputs; i++) {
        const tn_indices *indices = &program->tensor[trace->operand[i]].indices;
        tn_json_row(json);
        for (uint32_t k = 0; k < indices->count; k++)
            tn_json_count(json, program->index_size[indices->index[k]]);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static uint32_t take(tracer *trace, uint32_t tensor) {
    uint32_t index = 0;
    while (trace->operand[index] != tensor) index++;
    return index;
}

static void drop(tracer *trace, uint32_t index) {
    memmove(&trace->operand[index], &trace->operand[index + 1],
            (trace->operands - index - 1) * sizeof *trace->operand);
    trace->operands--;
}

static void put_path(tracer *trace, tn_json *json) {
    uint64_t macs = 0;
    tn_json_key(json, "path");
    tn_json_array(json);
    tn_json_text(json, "einsum_path");
    for (uint32_t s = 0; s < trace->program->steps; s++) {
        const tn_program_step *step = &trace->program->step[s];
        if (!trace->needed[s]) continue;
        uint32_t a = take(trace, step->a), b = take(trace, step->b);
        const uint64_t pair[] = {a < b ? a : b, a < b ? b : a};
        tn_json_counts(json, pair, 2);
        drop(trace, (uint32_t)pair[1]);
        drop(trace, (uint32_t)pair[0]);
        trace->operand[trace->operands++] = step->out;
        macs += step->macs;
    }
    tn_json_end(json);
    tn_json_put_count(json, "macs", macs);
}

static tn_status put_output(const tn_step_layer *layer, uint32_t output, tn_arena *arena, tn_json *json,
                            tn_error *error) {
    const tn_program *program = layer->program;
    tracer paths = {.program = program, .arena = arena, .error = error};
    char text[32];
    TN_TRY(TN_NEW(arena, program->steps + 1, &paths.needed, error));
    TN_TRY(TN_NEW(arena, 2 * program->tensors, &paths.operand, error));
    bool plain = trace(&paths, output);
    paths.inputs = paths.operands;
    tn_json_object(json);
    tn_json_put_text(json, "layer", layer->name);
    tn_json_put_text(json, "output", tn_program_tensor_name(program, output, text));
    if (plain && put_expression(&paths, output, json)) {
        put_operands(&paths, json);
        put_path(&paths, json);
    } else {
        tn_json_put_text(json, "path", NULL);
    }
    tn_json_end(json);
    return TN_OK;
}

static tn_status export_paths(const tn_export *exported, tn_arena *arena, tn_buffer *out, tn_error *error) {
    const tn_step *step = exported->design->step;
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    tn_json_key(&json, "paths");
    tn_json_array(&json);
    for (uint32_t i = 0; i < step->layers; i++) {
        const tn_program *program = step->layer[i].program;
        for (uint32_t t = 0; program && t < program->tensors; t++) {
            tn_role role = program->tensor[t].role;
            if (role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_CORE_GRADIENT)
                TN_TRY(put_output(&step->layer[i], t, arena, &json, error));
        }
    }
    tn_json_end(&json);
    tn_json_end(&json);
    return TN_OK;
}

typedef struct {
    tn_common common;
    const char *point, *device, *folder;
    tn_option_list set;
} request;

enum { FILES = 4 };
static const char *const file_names[FILES] = {"design.json", "design.h", "memories.h", "paths.json"};

static tn_status write_file(const char *folder, const char *name, tn_status made, tn_buffer *out,
                            tn_arena *arena, const char **path, tn_error *error) {
    tn_status status = tn_arena_format(arena, path, made == TN_OK ? error : NULL, "%s/%s", folder, name);
    if (made != TN_OK) status = made;
    if (status == TN_OK) status = tn_file_write_buffer(*path, out, error);
    tn_buffer_free(out);
    return status;
}

static tn_status write_all(const tn_export *exported, const char *folder, tn_arena *arena,
                           const char *path[FILES], tn_error *error) {
    tn_buffer out[FILES] = {{0}};
    TN_TRY(tn_folder_make(folder, error));
    tn_export_json(exported, &out[0]);
    tn_export_header(exported, &out[1]);
    tn_export_pragmas(exported, &out[2]);
    tn_status status = export_paths(exported, arena, &out[3], error);
    for (int i = 0; i < FILES; i++) {
        tn_status wrote = write_file(folder, file_names[i], status, &out[i], arena, &path[i], error);
        if (status == TN_OK) status = wrote;
    }
    return status;
}

static tn_status title_of(const request *asked, const tn_target *target, tn_arena *arena, tn_export *exported,
                          tn_error *error) {
    exported->choices = "";
    if (!asked->point)
        return tn_arena_format(arena, &exported->title, error, "%s", tn_model_name(target->design.model));
    TN_TRY(tn_arena_format(arena, &exported->title, error, "design %s of %s", asked->point,
                           asked->common.argument[0]));
    return tn_target_choices(target, arena, &exported->choices, error);
}

static tn_status run(request *asked, tn_target *target, tn_program_cache *cache, tn_error *error) {
    static const char default_device[] = TN_USUAL_DEVICE;
    tn_arena *arena = &asked->common.arena;
    tn_priced priced;
    tn_explanation why;
    tn_handover design;
    const char *path[FILES];
    TN_TRY(tn_target_load(asked->common.argument[0], asked->point, asked->device, default_device, &asked->set,
                          arena, target, error));
    if (tn_device_kind_of(target->design.device) != TN_DEVICE_FPGA)
        return tn_fail(error, TN_INPUT, "device %s is no FPGA; designs are of FPGAs",
                       tn_device_name(target->design.device));
    TN_TRY(tn_design_price(&target->design, NULL, cache, arena, &priced, error));
    TN_TRY(tn_price_explain(priced.workload, &target->design.build, arena, &why, error));
    TN_TRY(tn_handover_make(priced.workload, &target->design.build, &why, arena, &design, error));
    tn_export exported = {.design = &design, .build = &target->design.build, .clock_MHz = why.clock_MHz};
    TN_TRY(title_of(asked, target, arena, &exported, error));
    TN_TRY(write_all(&exported, asked->folder, arena, path, error));
    return tn_output_names("files", path, FILES, asked->common.json, error);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_target target = {0};
    tn_program_cache *cache;
    (void)answer;
    if (!asked->folder)
        return tn_fail(error, TN_INPUT, "-o OUT is missing, the folder that the design goes to");
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_command_output(&asked->common, asked->folder, error);
    if (status == TN_OK) status = run(asked, &target, cache, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

static const tn_option options[] = {
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: this design, on the sweep's device"},
    {"--device", TN_INTO(request, device), "DEVICE",
     "of a model: device file or name; default u50@user-area"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model, its build or the device; with --point: what if; repeatable"},
    {"-o", TN_INTO(request, folder), "OUT", "folder for design.json, design.h, memories.h and paths.json"},
};

static const tn_column files_keys[] = {
    TN_ANSWER_LIST("files", "string"),
};
static const tn_record files_record = {.column = files_keys,
                                       .columns = sizeof files_keys / sizeof *files_keys};

const tn_command tn_command_export = {
    .name = "export",
    .summary = "hand over a design: arrays, memories and operations as JSON and C, HLS pragmas, paths",
    .usage =
        "DIR --point ID [--set KEY=VALUE]... -o OUT\nMODEL [--device DEVICE] [--set KEY=VALUE]... -o OUT",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    TN_ANSWERS(&files_record),
    .answer = answer,
};
