/* Any bytes as a space file: refused with an error, or a space whose first and last designs have values for
 * every choice. */
#include "named_file.h"
#include "space/space.h"

#include <stdlib.h>

static void check_designs(const tn_space *space) {
    const uint64_t ids[] = {0, tn_space_id(space, space->outer_count - 1, space->inner_count - 1)};
    for (size_t i = 0; i < 2; i++) {
        uint64_t outer, inner;
        tn_space_split(space, ids[i], &outer, &inner);
        if (tn_space_id(space, outer, inner) != ids[i]) abort();
        for (size_t choice = 0; choice < space->choices.count; choice++)
            tn_choices_digit(&space->choices, ids[i], choice);
    }
}

/* Designs of a vast space have an id only once they are listed. */
static void list_designs(const tn_space *space) {
    tn_error error;
    uint32_t *digit = calloc(space->choices.count, sizeof *digit);
    if (!digit) return;
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t id;
        if (tn_choices_id_of(&space->choices, digit, &id, &error) != TN_OK) break;
        if (id != i) abort();
        for (size_t choice = 0; choice < space->choices.count; choice++)
            if (tn_choices_digit(&space->choices, id, choice) != digit[choice]) abort();
        for (size_t choice = 0; choice < space->choices.count; choice++)
            digit[choice] = (uint32_t)space->choices.axis[choice].count - 1;
    }
    free(digit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tn_space space; /* large */
    tn_arena arena = {0};
    tn_error error;
    if (tn_space_load(named_file(data, size), NULL, 0, NULL, &arena, &space, &error) == TN_OK)
        space.choices.is_vast ? list_designs(&space) : check_designs(&space);
    tn_arena_free(&arena);
    return 0;
}
