#include "explore/claims.h"

#include "base/search_path.h"
#include "text/yaml.h"

#include <string.h>

typedef struct {
    uint32_t kind;
    const char *name, *source;
    tn_text_list models;
    tn_item_list claims;
} claims_file;

static const char *const kind_names[] = {"claims", NULL};
static const char *const what_names[] = {"dense-bytes", "memory-ratio", "bram-bytes",
                                         "uram-bytes",  "energy-ratio", NULL};

static const tn_field claim_fields[] = {
    TN_KEY(
        CHOICE, tn_claim, what,
        "bytes of the uncompressed parameters; memory of uncompressed training over the design's; block RAM "
        "and UltraRAM of the design; energy of an epoch of tensor training over the design's",
        TN_REQUIRED, TN_ONE_OF(what_names)),
    TN_KEY(TEXT, tn_claim, model, "model that it speaks of; absent: all of them"),
    TN_KEY(TEXT, tn_claim, against, "device that a ratio compares with"),
    TN_KEY(REAL, tn_claim, least, "as published; absent: the claim is an upper end", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e18)),
    TN_KEY(REAL, tn_claim, most, "as published", TN_REQUIRED, TN_WITHIN(0, 1e18)),
    TN_KEY(TEXT, tn_claim, text, "the claim in words", TN_REQUIRED),
};
static const tn_schema claim_schema = TN_SCHEMA("claims.claim", tn_claim, claim_fields);

static const tn_field fields[] = {
    TN_KEY(CHOICE, claims_file, kind, "tells this kind of file apart", TN_REQUIRED, TN_ONE_OF(kind_names)),
    TN_KEY(TEXT, claims_file, name, "for results", TN_REQUIRED),
    TN_KEY(TEXT, claims_file, source, "the publication", TN_REQUIRED),
    TN_KEY(TEXT_LIST, claims_file, models, "names of the models that it speaks of", TN_REQUIRED),
    TN_KEY(LIST, claims_file, claims, "what it claims", TN_REQUIRED, .sub = &claim_schema),
};
const tn_schema tn_claims_schema = TN_SCHEMA("claims", claims_file, fields);

tn_status tn_claims_load(const char *name, tn_arena *arena, tn_claims *claims, tn_error *error) {
    const char *path;
    tn_yaml *root;
    claims_file file;
    TN_TRY(tn_search_path_find("models/claims", name, arena, &path, error));
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    TN_TRY(tn_schema_decode(&tn_claims_schema, root, arena, &file, error));
    *claims = (tn_claims){.name = file.name,
                          .source = file.source,
                          .models = file.models,
                          .count = file.claims.count,
                          .claim = file.claims.item};
    return TN_OK;
}

bool tn_claims_cover(const tn_claims *claims, const char *model) {
    for (size_t i = 0; i < claims->models.count; i++)
        if (strcmp(claims->models.item[i], model) == 0) return true;
    return false;
}
