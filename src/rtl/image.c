#include "rtl/image.h"

#include <inttypes.h>
#include <string.h>

tn_status tn_rtl_image_make(const tn_rtl_design *design, tn_arena *arena, tn_rtl_image *image,
                            tn_error *error) {
    image->memories = design->memories;
    TN_TRY(tn_arena_alloc(arena, design->memories, sizeof *image->memory, &image->memory, error));
    for (uint32_t m = 0; m < design->memories; m++) {
        const tn_rtl_memory *memory = &design->memory[m];
        TN_TRY(tn_arena_alloc(arena, memory->banks * memory->depth * memory->word, sizeof *image->memory[m],
                              &image->memory[m], error));
    }
    return TN_OK;
}

/* Copies element by element, from the array to its memory or back. */
static void move(const tn_rtl_design *design, const tn_rtl_array *array, const float *from, float *to,
                 float *memory) {
    const tn_rtl_memory *shape = &design->memory[array->memory];
    const tn_bank_layout *layout = &array->layout;
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, elements = 1;
    for (uint32_t k = 0; k < layout->axes; k++) elements *= layout->dims[k];
    for (uint64_t i = 0; i < elements; i++) {
        tn_rtl_place place = tn_rtl_place_of(layout, &strides, x);
        uint64_t at = (place.bank * shape->depth + array->base + place.word) * shape->word + place.element;
        if (from)
            memory[at] = from[i];
        else
            to[i] = memory[at];
        for (uint32_t k = layout->axes; k-- > 0;) {
            if (++x[k] < layout->dims[k]) break;
            x[k] = 0;
        }
    }
}

void tn_rtl_image_put(const tn_rtl_design *design, const tn_rtl_array *array, const float *values,
                      tn_rtl_image *image) {
    move(design, array, values, NULL, image->memory[array->memory]);
}

void tn_rtl_image_get(const tn_rtl_design *design, const tn_rtl_array *array, const tn_rtl_image *image,
                      float *values) {
    move(design, array, NULL, values, image->memory[array->memory]);
}

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
