#include "results/claims.h"

#include "base/search_path.h"
#include "device/device_data.h"
#include "text/yaml.h"

#include <string.h>

typedef struct {
    uint32_t kind;
    const char *name, *source;
    tn_text_list models;
    tn_item_list claims, designs, hardware;
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
    TN_KEY_AS("against", TEXT, tn_claim, baseline, "device that a ratio compares with"),
    TN_KEY(REAL, tn_claim, least, "as published; absent: the claim is an upper end", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e18)),
    TN_KEY(REAL, tn_claim, most, "as published", TN_REQUIRED, TN_WITHIN(0, 1e18)),
    TN_KEY(TEXT, tn_claim, text, "the claim in words", TN_REQUIRED),
};
static const tn_schema claim_schema = TN_SCHEMA("claims.claim", tn_claim, claim_fields);

static const tn_field design_fields[] = {
    TN_KEY(TEXT, tn_claimed_design, model, "model that it trains", TN_REQUIRED),
    TN_KEY(TEXT, tn_claimed_design, device, "device that it runs on; without a variant: on any of them",
           TN_REQUIRED),
    TN_KEY(TEXT_LIST, tn_claimed_design, choices,
           "what it chooses, KEY=VALUE with keys and values of a space; build keys that are not said are the "
           "model file's",
           TN_REQUIRED),
    TN_KEY(REAL, tn_claimed_design, seconds_per_step, "as published; 0: is not", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e9)),
    TN_KEY(REAL, tn_claimed_design, on_chip_bytes, "as published, its upper end; 0: is not", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e18)),
    TN_KEY(REAL, tn_claimed_design, dsp, "as published; 0: is not", TN_DEFAULT("0"), TN_WITHIN(0, 1e9)),
    TN_KEY(REAL, tn_claimed_design, accuracy, "as published, 0 to 1; 0: is not", TN_DEFAULT("0"),
           TN_WITHIN(0, 1)),
    TN_KEY(CHOICE, tn_claimed_design, origin, "how these are known", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_claimed_design, source, "where they were read"),
};
static const tn_schema design_schema = TN_SCHEMA("claims.design", tn_claimed_design, design_fields);

static const tn_field figure_fields[] = {
    TN_KEY(TEXT, tn_claimed_figure, model, "model that the hardware trains", TN_REQUIRED),
    TN_KEY(TEXT, tn_claimed_figure, quantity, "a quantity of designs, as a space's objectives are called",
           TN_REQUIRED),
    TN_KEY(REAL, tn_claimed_figure, value, "as it is said to be", TN_REQUIRED, TN_WITHIN(1e-12, 1e18)),
    TN_KEY(CHOICE, tn_claimed_figure, origin, "how it is known; unverified: remembered, not read again",
           TN_DEFAULT("unverified"), TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_claimed_figure, source, "where it was read, or who remembers it"),
};
static const tn_schema figure_schema = TN_SCHEMA("claims.hardware", tn_claimed_figure, figure_fields);

static const tn_field fields[] = {
    TN_KEY(CHOICE, claims_file, kind, "tells this kind of file apart", TN_REQUIRED, TN_ONE_OF(kind_names)),
    TN_KEY(TEXT, claims_file, name, "for results", TN_REQUIRED),
    TN_KEY(TEXT, claims_file, source, "the publication", TN_REQUIRED),
    TN_KEY(TEXT_LIST, claims_file, models, "names of the models that it speaks of", TN_REQUIRED),
    TN_KEY(LIST, claims_file, claims, "what it claims", TN_REQUIRED, .sub = &claim_schema),
    TN_KEY(LIST, claims_file, designs, "designs that it describes; figures of a sweep mark them",
           .sub = &design_schema),
    TN_KEY(
        LIST, claims_file, hardware,
        "figures of the hardware; `tenfold compare --nearest` asks which build comes nearest to all of them",
        .sub = &figure_schema),
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
                          .claim = file.claims.item,
                          .designs = file.designs.count,
                          .design = file.designs.item,
                          .figures = file.hardware.count,
                          .figure = file.hardware.item};
    return TN_OK;
}

bool tn_claims_cover(const tn_claims *claims, const char *model) {
    for (size_t i = 0; i < claims->models.count; i++)
        if (strcmp(claims->models.item[i], model) == 0) return true;
    return false;
}

/* Whether a device is the one of the name, or a variant of it: "u50@user-area" of "u50". */
static bool is_device(const tn_device *device, const char *name) {
    const char *own = tn_device_name(device);
    size_t length = strlen(name);
    return strncmp(own, name, length) == 0 && (own[length] == '\0' || own[length] == '@');
}

/* What the design says of a key; NULL: nothing. */
static const char *said_of(const tn_claimed_design *design, const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i < design->choices.count; i++) {
        const char *choice = design->choices.item[i];
        if (strncmp(choice, key, length) == 0 && choice[length] == '=') return choice + length + 1;
    }
    return NULL;
}

/* The value of that text; false where the choice has none such. */
static bool find_value(const tn_axis *choice, const char *text, uint32_t *digit, tn_status *status) {
    tn_buffer value = {0};
    bool found = false;
    for (size_t i = 0; i < choice->count && !found; i++) {
        value.length = 0;
        tn_axis_value(choice, i, &value);
        found = value.status == TN_OK && strcmp(value.data, text) == 0;
        if (found) *digit = (uint32_t)i;
    }
    *status = value.status;
    tn_buffer_free(&value);
    return found;
}

/* The place of the design's model and device among the variants; false where the space has no such. */
static bool find_variant(const tn_space *space, const tn_claimed_design *design, uint32_t *digit,
                         const tn_space **variant) {
    for (size_t m = 0; m < space->models; m++)
        for (size_t d = 0; d < space->devices; d++) {
            *variant = tn_space_variant(space, m, d);
            if (strcmp(tn_model_name((*variant)->model), design->model) != 0 ||
                !is_device((*variant)->device, design->device))
                continue;
            if (space->model_choice < space->choices.count) digit[space->model_choice] = (uint32_t)m;
            if (space->device_choice < space->choices.count) digit[space->device_choice] = (uint32_t)d;
            return true;
        }
    return false;
}

/* The places of its values, and its build. */
static tn_status find_digits(const tn_space *space, const tn_claimed_design *design, uint32_t *digit,
                             tn_build *build, bool *found, tn_error *error) {
    const tn_space *variant;
    tn_arena arena = {0};
    tn_status status = TN_OK;
    *found = find_variant(space, design, digit, &variant);
    if (!*found) return TN_OK;
    status = tn_build_decode(tn_model_build(variant->model), &arena, build, error);
    tn_arena_free(&arena);
    TN_TRY(status);
    for (size_t i = 0; i < space->choices.count && *found; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        const char *said = said_of(design, choice->key);
        bool of_build = choice->kind == TN_AXIS_BUILD;
        if (choice->kind == TN_AXIS_MODEL || choice->kind == TN_AXIS_DEVICE) continue;
        digit[i] = 0;
        if (!said && of_build) continue; /* the model file's, below */
        *found = said && find_value(choice, said, &digit[i], &status);
        if (status != TN_OK) return tn_fail(error, status, "no memory for the values of %s", choice->key);
        if (*found && of_build) tn_build_set_value(build, choice->field, choice->number[digit[i]]);
    }
    return TN_OK;
}

static bool has_price(uint32_t cause) {
    return cause != TN_CAUSE_UNDEFINED && cause != TN_CAUSE_OVERFLOW && cause != TN_CAUSE_LIMIT;
}

tn_status tn_published_design(tn_evaluator *evaluator, const tn_space *space, const tn_claimed_design *design,
                              tn_evaluation *evaluation, bool *found, tn_error *error) {
    uint32_t digit[TN_AXES_MOST], cause;
    tn_build build;
    TN_TRY(find_digits(space, design, digit, &build, found, error));
    if (!*found) return TN_OK;
    TN_TRY(tn_evaluate_digits(evaluator, digit, evaluation, &cause, error));
    *found = has_price(cause);
    if (!*found) return TN_OK;
    return tn_price_step(tn_evaluator_workload(evaluator), &build, &evaluation->price, error);
}
