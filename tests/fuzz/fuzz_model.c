/* Any bytes as a model file: refused with an error, or a model whose training step can be written out. */
#include "model/model.h"
#include "text/yaml.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static void build_step(const tn_model *model, tn_arena *arena) {
    tn_program_cache *cache;
    tn_step step;
    tn_error error;
    if (tn_program_cache_new(&cache, &error) != TN_OK) abort();
    tn_step_build(model, cache, arena, &step, &error);
    tn_program_cache_free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_model *model;
    tn_error error;
    if (tn_yaml_parse("fuzz", (const char *)data, size, &arena, &root, &error) == TN_OK &&
        tn_model_decode(root, &arena, &model, &error) == TN_OK)
        build_step(model, &arena);
    tn_arena_free(&arena);
    return 0;
}
