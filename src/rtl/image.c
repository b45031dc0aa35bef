#include "rtl/image.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

tn_status tn_rtl_image_make(const tn_rtl_design *design, tn_arena *arena, tn_rtl_image *image,
                            tn_error *error) {
    image->memories = design->memories;
    TN_TRY(TN_NEW(arena, design->memories, &image->memory, error));
    for (uint32_t m = 0; m < design->memories; m++) {
        const tn_rtl_memory *memory = &design->memory[m];
        TN_TRY(TN_NEW(arena, memory->banks * memory->depth * memory->word, &image->memory[m], error));
    }
    return TN_OK;
}

/* ---- elements of arrays ---- */

static float *element_at(const tn_rtl_design *design, const tn_rtl_array *array,
                         const tn_rtl_strides *strides, const uint64_t *x, const tn_rtl_image *image) {
    const tn_rtl_memory *shape = &design->memory[array->memory];
    tn_rtl_place place = tn_rtl_place_of(&array->layout, strides, x);
    const uint64_t of_row = shape->banks * shape->word / strides->banks * place.bank + place.element,
                   bank = of_row / shape->word, element = of_row % shape->word;
    return &image->memory[array->memory]
                         [(bank * shape->depth + array->base + place.word) * shape->word + element];
}

/* The next coordinates in C order, the axis `fixed` as it is; false behind the last. */
static bool next(const uint64_t *dims, uint32_t axes, uint32_t fixed, uint64_t *x) {
    for (uint32_t k = axes; k-- > 0;) {
        if (k == fixed) continue;
        if (++x[k] < dims[k]) return true;
        x[k] = 0;
    }
    return false;
}

void tn_rtl_image_put(const tn_rtl_design *design, const tn_rtl_array *array, const float *values,
                      tn_rtl_image *image) {
    const tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0};
    do *element_at(design, array, &strides, x, image) = *values++;
    while (next(array->layout.dims, array->layout.axes, TN_RTL_NONE, x));
}

void tn_rtl_image_get(const tn_rtl_design *design, const tn_rtl_array *array, const tn_rtl_image *image,
                      float *values) {
    const tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0};
    do *values++ = *element_at(design, array, &strides, x, image);
    while (next(array->layout.dims, array->layout.axes, TN_RTL_NONE, x));
}

/* ---- what operations leave ---- */

/* Where the operand's elements are: at one place along an axis, or everywhere. */
typedef struct {
    const tn_rtl_array *array;
    tn_rtl_strides strides;
    uint32_t axis;
    uint64_t index;
} slice;

static slice slice_of(const tn_rtl_design *design, uint32_t array, const tn_rtl_look *look,
                      const uint64_t *word) {
    slice section = {.array = &design->array[array], .axis = TN_RTL_NONE};
    section.strides = tn_rtl_strides_of(&section.array->layout);
    if (look && look->used) {
        section.axis = look->axis;
        section.index = word[look->slot];
    }
    return section;
}

static float *in_slice(const tn_rtl_design *design, const slice *section, uint64_t *x, uint32_t sliced,
                       const tn_rtl_image *image) {
    if (sliced != TN_RTL_NONE) x[sliced] = section->axis == TN_RTL_NONE ? 0 : section->index;
    return element_at(design, section->array, &section->strides, x, image);
}

static void put_result(const tn_rtl_design *design, const tn_rtl_operation *operation, const uint64_t *word,
                       const double *values, tn_rtl_image *image) {
    const slice section = slice_of(design, operation->result, &operation->look[2], word);
    const tn_bank_layout *layout = &section.array->layout;
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0};
    do {
        uint64_t i = 0;
        if (section.axis != TN_RTL_NONE) x[section.axis] = section.index;
        for (uint32_t k = 0; k < layout->axes; k++) i = i * layout->dims[k] + x[k];
        *element_at(design, section.array, &section.strides, x, image) = (float)values[i];
    } while (next(layout->dims, layout->axes, section.axis, x));
}

/* What an operation that goes word by word does to one element. */
static double by_word(const tn_rtl_design *design, const tn_rtl_operation *operation,
                      const tn_circuit *circuit, const double operand[3]) {
    const tn_scalar_arithmetic *arithmetic = &tn_hardware_arithmetic;
    double out[TN_CIRCUIT_OUTPUTS];
    if (operation->update)
        return arithmetic->add(operand[0], -arithmetic->multiply((double)(float)design->rate, operand[1]));
    const double *constant = operation->pass->constant;
    const tn_formula_inputs inputs = {.a = operand[0],
                                      .b = operand[1],
                                      .c = operand[2],
                                      .k = {(double)(float)constant[0], (double)(float)constant[1]}};
    tn_formula_run(&circuit->formula, arithmetic, &inputs, out);
    return out[TN_CIRCUIT_Y];
}

/* Elements of the result's words that are none of the array. */
static tn_status fill_padding(const tn_rtl_design *design, const tn_rtl_operation *operation,
                              const uint64_t *word, tn_rtl_image *image, tn_error *error) {
    const uint32_t array[] = {operation->left, operation->right, operation->extra};
    const slice target = slice_of(design, operation->result, &operation->look[2], word);
    const tn_bank_layout *layout = &target.array->layout;
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, dims[TN_BANK_LAYOUT_AXES];
    uint32_t sliced = TN_RTL_NONE;
    slice source[3];
    bool reads[3] = {true, true, false};
    tn_circuit circuit;
    if (operation->pass) {
        memcpy(reads, operation->pass->reads, sizeof reads);
        TN_TRY(tn_circuit_make(operation->pass->kind, operation->pass->pass, &design->latencies, &circuit,
                               error));
    }
    for (int i = 0; i < 3; i++) {
        if (operation->look[i].used) sliced = operation->look[i].axis;
        if (reads[i]) source[i] = slice_of(design, array[i], i < 2 ? &operation->look[i] : NULL, word);
    }
    for (uint32_t k = 0; k < layout->axes; k++)
        dims[k] = tn_ceil_div(target.strides.words[k], target.strides.divide[k]) * target.strides.divide[k] *
                  layout->word[k];
    do {
        double operand[3] = {0};
        bool inside = true;
        for (uint32_t k = 0; k < layout->axes; k++)
            inside = inside && (k == sliced || x[k] < layout->dims[k]);
        if (inside) continue;
        for (int i = 0; i < 3; i++)
            if (reads[i]) operand[i] = (double)*in_slice(design, &source[i], x, sliced, image);
        *in_slice(design, &target, x, sliced, image) = (float)by_word(design, operation, &circuit, operand);
    } while (next(dims, layout->axes, sliced, x));
    return TN_OK;
}

tn_status tn_rtl_image_follow(const tn_rtl_design *design, const tn_rtl_operation *operation,
                              const uint64_t *word, const double *values, tn_rtl_image *image,
                              tn_error *error) {
    if (!tn_rtl_writes(operation)) return TN_OK;
    put_result(design, operation, word, values, image);
    if (!operation->update && !(operation->pass && operation->pass->by_word)) return TN_OK;
    return fill_padding(design, operation, word, image, error);
}

uint64_t tn_rtl_image_elements(const tn_rtl_design *design) {
    uint64_t elements = 0;
    for (uint32_t m = 0; m < design->memories; m++)
        elements += design->memory[m].banks * design->memory[m].depth * design->memory[m].word;
    return elements;
}

uint64_t tn_rtl_image_differ(const tn_rtl_design *design, const tn_rtl_image *a, const tn_rtl_image *b) {
    uint64_t differ = 0;
    for (uint32_t m = 0; m < design->memories; m++) {
        const tn_rtl_memory *shape = &design->memory[m];
        for (uint64_t i = 0; i < shape->banks * shape->depth * shape->word; i++)
            differ += memcmp(&a->memory[m][i], &b->memory[m][i], sizeof **a->memory) != 0;
    }
    return differ;
}

/* ---- banks ---- */

void tn_rtl_image_bank(const tn_rtl_design *design, const tn_rtl_image *image, uint32_t memory, uint64_t bank,
                       tn_buffer *out) {
    const tn_rtl_memory *shape = &design->memory[memory];
    const float *word = image->memory[memory] + bank * shape->depth * shape->word;
    for (uint64_t i = 0; i < shape->depth; i++, word += shape->word) {
        for (uint64_t e = shape->word; e-- > 0;) {
            uint32_t bits;
            memcpy(&bits, &word[e], sizeof bits);
            tn_buffer_format(out, "%08" PRIx32, bits);
        }
        tn_buffer_text(out, "\n");
    }
}
