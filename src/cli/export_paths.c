/* paths.json: how each layer's result and gradients are contracted, as numpy.einsum and opt_einsum take it.
 *
 * Every output of a layer's program (Y, dX, the gradient of each core) is an expression over inputs alone (X, cores, dY) with
 * its path in the linear form of numpy.einsum_path: pairs of places in the list of operands, which are taken out of it, the
 * product being appended. Intermediates that several outputs share are in the path of each of them; `macs` counts that path
 * alone. */
#include "base/checked.h"
#include "cli/export.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
static bool trace(tracer *with, uint32_t tensor) {
    uint32_t made_by = with->program->tensor[tensor].made_by;
    if (made_by == TN_NO_STEP) {
        for (uint32_t i = 0; i < with->operands; i++)
            if (with->operand[i] == tensor) return false;
        with->operand[with->operands++] = tensor;
        return true;
    }
    if (with->needed[made_by]) return false;
    with->needed[made_by] = true;
    return trace(with, with->program->step[made_by].a) && trace(with, with->program->step[made_by].b);
}

static bool put_letters(tracer *with, uint32_t tensor, tn_buffer *out) {
    const tn_indices *indices = &with->program->tensor[tensor].indices;
    for (uint32_t i = 0; i < indices->count; i++) {
        uint32_t index = indices->index[i];
        if (index >= sizeof with->letter) return false;
        if (!with->letter[index]) {
            if (with->used == LETTERS) return false;
            with->letter[index] = letters[with->used++];
        }
        tn_buffer_bytes(out, &with->letter[index], 1);
    }
    return true;
}

static bool put_expression(tracer *with, uint32_t output, tn_json *json) {
    tn_buffer text = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < with->inputs; i++) {
        if (i) tn_buffer_text(&text, ",");
        ok = put_letters(with, with->operand[i], &text);
    }
    tn_buffer_text(&text, "->");
    ok = ok && put_letters(with, output, &text);
    if (text.status != TN_OK) json->out->status = text.status;
    tn_json_put_text(json, "einsum", ok && text.data ? text.data : NULL);
    tn_buffer_free(&text);
    return ok;
}

static void put_operands(tracer *with, tn_json *json) {
    const tn_program *program = with->program;
    char text[32];
    tn_json_key(json, "operands");
    tn_json_row(json);
    for (uint32_t i = 0; i < with->inputs; i++)
        tn_json_text(json, tn_program_tensor_name(program, with->operand[i], text));
    tn_json_end(json);
    tn_json_key(json, "shapes");
    tn_json_array(json);
    for (uint32_t i = 0; i < with->inputs; i++) {
        const tn_indices *indices = &program->tensor[with->operand[i]].indices;
        tn_json_row(json);
        for (uint32_t k = 0; k < indices->count; k++)
            tn_json_count(json, program->index_size[indices->index[k]]);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static uint32_t take(tracer *with, uint32_t tensor) {
    uint32_t at = 0;
    while (with->operand[at] != tensor) at++;
    return at;
}

static void drop(tracer *with, uint32_t at) {
    memmove(&with->operand[at], &with->operand[at + 1], (with->operands - at - 1) * sizeof *with->operand);
    with->operands--;
}

static void put_path(tracer *with, tn_json *json) {
    uint64_t macs = 0;
    tn_json_key(json, "path");
    tn_json_array(json);
    tn_json_text(json, "einsum_path");
    for (uint32_t s = 0; s < with->program->steps; s++) {
        const tn_program_step *step = &with->program->step[s];
        if (!with->needed[s]) continue;
        uint32_t a = take(with, step->a), b = take(with, step->b);
        const uint64_t pair[] = {a < b ? a : b, a < b ? b : a};
        tn_json_counts(json, pair, 2);
        drop(with, (uint32_t)pair[1]);
        drop(with, (uint32_t)pair[0]);
        with->operand[with->operands++] = step->out;
        macs += step->macs;
    }
    tn_json_end(json);
    tn_json_put_count(json, "macs", macs);
}

static tn_status put_output(const tn_step_layer *layer, uint32_t output, tn_arena *arena, tn_json *json,
                            tn_error *error) {
    const tn_program *program = layer->program;
    tracer with = {.program = program, .arena = arena, .error = error};
    char text[32];
    TN_TRY(tn_arena_alloc(arena, program->steps + 1, sizeof *with.needed, &with.needed, error));
    TN_TRY(tn_arena_alloc(arena, 2 * program->tensors, sizeof *with.operand, &with.operand, error));
    bool plain = trace(&with, output);
    with.inputs = with.operands;
    tn_json_object(json);
    tn_json_put_text(json, "layer", layer->name);
    tn_json_put_text(json, "output", tn_program_tensor_name(program, output, text));
    if (plain && put_expression(&with, output, json)) {
        put_operands(&with, json);
        put_path(&with, json);
    } else {
        tn_json_put_text(json, "path", NULL);
    }
    tn_json_end(json);
    return TN_OK;
}

tn_status tn_export_paths(const tn_export *of, tn_arena *arena, tn_buffer *out, tn_error *error) {
    const tn_step *step = of->design->step;
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
