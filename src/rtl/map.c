#include "rtl/map.h"

#include "model/graph.h"
#include "model/train_settings.h"
#include "rtl/access.h"

#include <inttypes.h>

uint64_t tn_rtl_map_entry(const tn_bank_layout *layout, uint32_t axis, uint64_t i) {
    const tn_rtl_strides strides = tn_rtl_strides_of(layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0};
    x[axis] = i;
    const tn_rtl_place place = tn_rtl_place_of(layout, &strides, x);
    return place.word | place.bank << 24 | place.element << 32;
}

/* ---- what there is ---- */

static bool is_parameter(const tn_rtl_step_run *run, uint32_t array) {
    return run->request->step->array[array].role == TN_ARRAY_PARAMETER &&
           run->program.array_of[array] != TN_RTL_NONE;
}

static void put_entries(const tn_bank_layout *layout, uint32_t axis, tn_buffer *out) {
    for (uint64_t i = 0; i < layout->dims[axis]; i++)
        tn_buffer_format(out, "%s%" PRIu64, i ? ", " : "", tn_rtl_map_entry(layout, axis, i));
}

static uint64_t second_of(const tn_bank_layout *layout) {
    return layout->forms > 1 ? layout->banks[1] : 1;
}

static double weight_of(const tn_rtl_step_run *run, const tn_rtl_head *head) {
    return tn_train_settings_weight_of(run->request->settings, run->request->model->layer[head->layer].name);
}

/* Shares are divided by the rows that have a label. */
static bool is_mean(const tn_rtl_step_run *run, const tn_rtl_head *head) {
    return head->of_example || run->request->settings->token_loss == TN_TOKEN_MEAN;
}

static const char *const slot_kinds[] = {
    [TN_RTL_SLOT_FIXED] = "fixed", [TN_RTL_SLOT_DIGIT] = "digit", [TN_RTL_SLOT_TOKENS] = "tokens"};

/* ---- JSON ---- */

void tn_rtl_map_json(const tn_rtl_step_run *run, tn_buffer *out) {
    const tn_rtl_design *design = &run->program.design;
    const char *separator = "";
    tn_buffer_format(out,
                     "{\n\"host\": {\"sample\": %d, \"labels\": %d, \"rate\": %d, \"rows\": %d},\n"
                     "\"memories\": [",
                     TN_RTL_HOST_SAMPLE, TN_RTL_HOST_LABELS, TN_RTL_HOST_RATE, TN_RTL_HOST_ROWS);
    for (uint32_t f = 0; f < run->engine.forms; f++) {
        const tn_rtl_form *form = &run->engine.form[f];
        const tn_rtl_memory *memory = &design->memory[form->memory];
        tn_buffer_format(
            out,
            "%s\n  {\"banks\": %" PRIu64 ", \"word\": %" PRIu64 ", \"image\": %" PRIu32
            ", \"image_banks\": %" PRIu64 ", \"image_word\": %" PRIu64 ", \"depth\": %" PRIu64 "}",
            f ? "," : "", form->banks, form->word, form->memory, memory->banks, memory->word, memory->depth);
    }
    tn_buffer_text(out, "],\n\"parameters\": [");
    for (uint32_t a = 0; a < run->request->step->arrays; a++) {
        if (!is_parameter(run, a)) continue;
        const uint32_t number = run->program.array_of[a];
        const tn_rtl_array *array = &design->array[number];
        tn_buffer_format(out,
                         "%s\n  {\"name\": \"%s\", \"memory\": %" PRIu32 ", \"base\": %" PRIu64
                         ", \"first\": %" PRIu64 ", \"second\": %" PRIu64 ", \"axes\": [",
                         separator, array->name, run->engine.form_of[number], array->base,
                         array->layout.banks[0], second_of(&array->layout));
        for (uint32_t k = 0; k < array->layout.axes; k++) {
            tn_buffer_text(out, k ? "], [" : "[");
            put_entries(&array->layout, k, out);
        }
        tn_buffer_text(out, "]]}");
        separator = ",";
    }
    tn_buffer_text(out, "],\n\"sample\": [");
    for (uint32_t i = 0; i < design->sample_words; i++) {
        const tn_rtl_slot *slot = &run->program.slot[i];
        tn_buffer_format(out, "%s\n  {\"kind\": \"%s\", \"value\": %" PRIu64, i ? "," : "",
                         slot_kinds[slot->kind], slot->value);
        if (slot->kind == TN_RTL_SLOT_DIGIT)
            tn_buffer_format(out, ", \"radix\": %" PRIu64 ", \"below\": %" PRIu64, slot->radix, slot->below);
        tn_buffer_text(out, ", \"axis\": [");
        if (slot->kind != TN_RTL_SLOT_TOKENS)
            put_entries(&design->array[slot->array].layout, slot->axis, out);
        tn_buffer_text(out, "]}");
    }
    tn_buffer_text(out, "],\n\"losses\": [");
    for (uint32_t h = 0; h < run->program.heads; h++) {
        const tn_rtl_head *head = &run->program.head[h];
        tn_buffer_format(out,
                         "%s\n  {\"layer\": \"%s\", \"rows\": %" PRIu64 ", \"first_label\": %" PRIu64
                         ", \"first_row\": %" PRIu64
                         ", \"scalar\": 2, \"of_example\": %s, \"mean\": %s, \"weight\": %.17g}",
                         h ? "," : "", run->request->model->layer[head->layer].name, head->rows,
                         head->first_label, head->first_row, head->of_example ? "true" : "false",
                         is_mean(run, head) ? "true" : "false", weight_of(run, head));
    }
    tn_buffer_text(out, "]\n}\n");
}

/* ---- C ---- */

static const char header_begin[] =
    "/* What a host must know of this engine; map.json says the same. */\n"
    "#ifndef TENFOLD_MAP_H\n#define TENFOLD_MAP_H\n\n#include <stdint.h>\n\n"
    "/* An entry: the word of a bank, above 24 bits the bank, above 32 the element of the word. */\n"
    "typedef struct tenfold_array {\n    const char *name;\n    uint32_t memory, base, first, second, axes;\n"
    "    uint32_t size[10];\n    const uint64_t *axis[10];\n} tenfold_array;\n\n"
    "/* A word of the sample: the entry of a value, or of a digit of token number `value` (token / below % "
    "radix), or\n"
    " * the count of tokens. */\n"
    "typedef enum tenfold_kind { TENFOLD_FIXED, TENFOLD_DIGIT, TENFOLD_TOKENS } tenfold_kind;\n"
    "typedef struct tenfold_slot {\n    tenfold_kind kind;\n    uint64_t value, radix, below;\n"
    "    const uint64_t *axis;\n} tenfold_slot;\n\n"
    "/* Labels and shares of a loss, from first_label on; its rows' losses are scalar 2 of rows from "
    "first_row on. */\n"
    "typedef struct tenfold_loss {\n    const char *layer;\n    uint32_t rows, first_label, first_row;\n"
    "    int of_example, mean;\n    double weight;\n} tenfold_loss;\n\n"
    "/* Where element x of an array lies, as an entry. */\n"
    "static inline uint64_t tenfold_place(const tenfold_array *array, const uint32_t *x) {\n"
    "    uint64_t word = array->base, low = 0, high = 0, element = 0;\n"
    "    for (uint32_t k = 0; k < array->axes; k++) {\n"
    "        const uint64_t entry = array->axis[k][x[k]], bank = entry >> 24 & 255;\n"
    "        word += entry & 0xffffff;\n        low += bank % array->first;\n"
    "        high += bank / array->first;\n        element += entry >> 32;\n    }\n"
    "    return word | (low % array->first + high % array->second * array->first) << 24 | element << 32;\n"
    "}\n\n";

static void put_parameters(const tn_rtl_step_run *run, bool tables, tn_buffer *out) {
    for (uint32_t a = 0; a < run->request->step->arrays; a++) {
        if (!is_parameter(run, a)) continue;
        const uint32_t number = run->program.array_of[a];
        const tn_rtl_array *array = &run->program.design.array[number];
        for (uint32_t k = 0; tables && k < array->layout.axes; k++) {
            tn_buffer_format(out, "static const uint64_t tenfold_axis_%" PRIu32 "_%" PRIu32 "[] = {", a, k);
            put_entries(&array->layout, k, out);
            tn_buffer_text(out, "};\n");
        }
        if (tables) continue;
        tn_buffer_format(out,
                         "    {\"%s\", %" PRIu32 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 ", {",
                         array->name, run->engine.form_of[number], array->base, array->layout.banks[0],
                         second_of(&array->layout), array->layout.axes);
        for (uint32_t k = 0; k < array->layout.axes; k++)
            tn_buffer_format(out, "%s%" PRIu64, k ? ", " : "", array->layout.dims[k]);
        tn_buffer_text(out, "}, {");
        for (uint32_t k = 0; k < array->layout.axes; k++)
            tn_buffer_format(out, "%stenfold_axis_%" PRIu32 "_%" PRIu32, k ? ", " : "", a, k);
        tn_buffer_text(out, "}},\n");
    }
}

static void put_slots(const tn_rtl_step_run *run, bool tables, tn_buffer *out) {
    static const char *const names[] = {[TN_RTL_SLOT_FIXED] = "TENFOLD_FIXED",
                                        [TN_RTL_SLOT_DIGIT] = "TENFOLD_DIGIT",
                                        [TN_RTL_SLOT_TOKENS] = "TENFOLD_TOKENS"};
    for (uint32_t i = 0; i < run->program.design.sample_words; i++) {
        const tn_rtl_slot *slot = &run->program.slot[i];
        const bool placed = slot->kind != TN_RTL_SLOT_TOKENS;
        if (tables && placed) {
            tn_buffer_format(out, "static const uint64_t tenfold_sample_%" PRIu32 "[] = {", i);
            put_entries(&run->program.design.array[slot->array].layout, slot->axis, out);
            tn_buffer_text(out, "};\n");
        }
        if (tables) continue;
        tn_buffer_format(out, "    {%s, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", ", names[slot->kind],
                         slot->value, slot->radix, slot->below);
        if (placed)
            tn_buffer_format(out, "tenfold_sample_%" PRIu32 "},\n", i);
        else
            tn_buffer_text(out, "0},\n");
    }
}

void tn_rtl_map_header(const tn_rtl_step_run *run, tn_buffer *out) {
    tn_buffer_text(out, header_begin);
    tn_buffer_format(out,
                     "enum {\n    TENFOLD_HOST_SAMPLE = %d,\n    TENFOLD_HOST_LABELS = %d,\n"
                     "    TENFOLD_HOST_RATE = %d,\n    TENFOLD_HOST_ROWS = %d\n};\n\n",
                     TN_RTL_HOST_SAMPLE, TN_RTL_HOST_LABELS, TN_RTL_HOST_RATE, TN_RTL_HOST_ROWS);
    put_parameters(run, true, out);
    put_slots(run, true, out);
    tn_buffer_text(out, "\nstatic const tenfold_array tenfold_parameters[] = {\n");
    put_parameters(run, false, out);
    tn_buffer_text(out, "    {0, 0, 0, 1, 1, 0, {0}, {0}}}; /* the end */\n\n"
                        "static const tenfold_slot tenfold_sample[] = {\n");
    put_slots(run, false, out);
    tn_buffer_text(out, "    {TENFOLD_FIXED, 0, 0, 0, 0}}; /* the end */\n\nstatic const tenfold_loss "
                        "tenfold_losses[] = {\n");
    for (uint32_t h = 0; h < run->program.heads; h++) {
        const tn_rtl_head *head = &run->program.head[h];
        tn_buffer_format(out, "    {\"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %d, %d, %.17g},\n",
                         run->request->model->layer[head->layer].name, head->rows, head->first_label,
                         head->first_row, head->of_example, is_mean(run, head), weight_of(run, head));
    }
    tn_buffer_text(out, "    {0, 0, 0, 0, 0, 0, 0}}; /* the end */\n\n#endif\n");
}
