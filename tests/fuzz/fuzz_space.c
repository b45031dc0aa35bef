/* Any bytes as a space file: refused with an error, or a space whose first and last designs have values for
 * every choice. */
#include "explore/space.h"
#include "named_file.h"

static void check_designs(const tn_space *space) {
    const uint64_t ids[] = {0, tn_space_id(space, space->outer_count - 1, space->inner_count - 1)};
    for (size_t i = 0; i < 2; i++) {
        uint64_t outer, inner;
        tn_space_split(space, ids[i], &outer, &inner);
        if (tn_space_id(space, outer, inner) != ids[i]) abort();
        for (size_t choice = 0; choice < space->choices; choice++) tn_space_digit(space, ids[i], choice);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tn_space space; /* large */
    tn_arena arena = {0};
    tn_error error;
    if (tn_space_load(named_file(data, size), NULL, 0, NULL, &arena, &space, &error) == TN_OK)
        check_designs(&space);
    tn_arena_free(&arena);
    return 0;
}
