/* Any bytes as a language model: refused with an error, or a model that is counted or overflows. */
#include "finetune/count.h"
#include "named_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_language_model model;
    tn_language_count count;
    tn_error error;
    if (tn_language_model_load(named_file(data, size), NULL, 0, &arena, &model, &error) == TN_OK) {
        tn_status status = tn_language_count_of(&model, 79, model.feed_forward.active, &count, &error);
        if (status != TN_OK && status != TN_OVERFLOW) abort();
    }
    tn_arena_free(&arena);
    return 0;
}
