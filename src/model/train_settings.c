#include "model/train_settings.h"

#include "text/number.h"

#include <inttypes.h>
#include <string.h>

const char *const tn_rate_schedule_names[] = {"constant", "linear", NULL};
const char *const tn_length_names[] = {"true", "padded", NULL};
static const char *const roundings[] = {"nearest", "stochastic", NULL};
static const char *const token_losses[] = {"mean", "sum", NULL};

static const tn_field weight_fields[] = {
    TN_KEY(REAL, tn_loss_weight, weight, "factor of this loss in the sum; 0 leaves it out", TN_REQUIRED,
           TN_WITHIN(0, 1e6)),
};
static const tn_schema weight_schema = TN_SCHEMA("loss weight", tn_loss_weight, weight_fields);

static const tn_field train_fields[] = {
    TN_KEY(COUNT, tn_train_settings, epochs, "passes over the training examples", TN_DEFAULT("8"),
           TN_FROM(1)),
    TN_KEY(COUNT, tn_train_settings, seed, "of initial values, order of the examples and hidden words",
           TN_DEFAULT("1")),
    TN_KEY(REAL, tn_train_settings, learning_rate, "rate of the first step", TN_DEFAULT("0.01"),
           TN_WITHIN(0, 1e6)),
    TN_KEY(CHOICE, tn_train_settings, schedule,
           "linear: the rate falls to 0 over all steps of the run; constant: it stays", TN_DEFAULT("linear"),
           TN_ONE_OF(tn_rate_schedule_names)),
    TN_KEY(COUNT, tn_train_settings, warmup_steps,
           "steps over which the rate rises to what the schedule says; 0: none", TN_DEFAULT("0")),
    TN_KEY(REAL, tn_train_settings, clip_norm,
           "a step whose gradients, all parameters together, have a greater norm is scaled down to it; 0: "
           "none is",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_train_settings, rank_penalty,
           "weight of a penalty under which slices of cores vanish, so that ranks adapt; 0: ranks stay",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_train_settings, rank_penalty_share,
           "share of the run's steps that the penalty lasts; then what is left goes on without it",
           TN_DEFAULT("0.5"), TN_WITHIN(0, 1)),
    TN_KEY(TABLE, tn_train_settings, loss_weights,
           "factor of each loss, by the name of its layer with or without `-loss`; absent: 1",
           .sub = &weight_schema),
    TN_KEY(CHOICE, tn_train_settings, token_loss,
           "a loss per token is the mean or the sum over the labelled tokens of a step", TN_DEFAULT("mean"),
           TN_ONE_OF(token_losses)),
    TN_KEY_AS("tokens", CHOICE, tn_train_settings, lengths,
              "true: the tokens that an example has are run; padded: always `sequence` of them, masked",
              TN_DEFAULT("true"), TN_ONE_OF(tn_length_names)),
    TN_KEY(REAL, tn_train_settings, momentum, "of the optimizer momentum", TN_DEFAULT("0.9"),
           TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_train_settings, beta1, "decay of Adam's first moment", TN_DEFAULT("0.9"),
           TN_WITHIN(0, 0.999999)),
    TN_KEY(REAL, tn_train_settings, beta2, "decay of Adam's second moment", TN_DEFAULT("0.999"),
           TN_WITHIN(0, 0.999999)),
    TN_KEY(REAL, tn_train_settings, adam_epsilon, "added to the root of Adam's second moment",
           TN_DEFAULT("1e-8"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_train_settings, layer_norm_epsilon, "added to the variance, inside the root",
           TN_DEFAULT("1e-5"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_train_settings, matrix_deviation,
           "standard deviation of a matrix's initial elements; 0: 1 / sqrt(inputs)", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e3)),
    TN_KEY(REAL, tn_train_settings, table_deviation,
           "standard deviation of an embedding table's initial elements", TN_DEFAULT("0.3"),
           TN_WITHIN(0, 1e3)),
    TN_KEY(REAL, tn_train_settings, positions_deviation, "standard deviation of the initial positions",
           TN_DEFAULT("0.02"), TN_WITHIN(0, 1e3)),
    TN_KEY(
        REAL, tn_train_settings, unknown_probability,
        "a word that training has once is read as unknown with this probability, so that unknown is learned",
        TN_DEFAULT("0.5"), TN_WITHIN(0, 1)),
    TN_KEY(CHOICE, tn_train_settings, gradient_rounding,
           "gradients that enter a product are rounded to the nearest, or up with the probability of the "
           "rest; where `precision` gives gradients a format",
           TN_DEFAULT("nearest"), TN_ONE_OF(roundings)),
    TN_KEY(BOOL, tn_train_settings, shuffle,
           "the examples in another order every epoch; false: as in the file", TN_DEFAULT("true")),
};
const tn_schema tn_train_schema = TN_SCHEMA("training", tn_train_settings, train_fields);

tn_status tn_train_settings_decode(const tn_yaml *node, tn_arena *arena, tn_train_settings *settings,
                                   tn_error *error) {
    static const tn_yaml none = {.kind = TN_YAML_MAPPING};
    return tn_schema_decode(&tn_train_schema, node ? node : &none, arena, settings, error);
}

tn_status tn_train_settings_weight(tn_train_settings *settings, const char *assignment, tn_arena *arena,
                                   tn_error *error) {
    const char *equals = strchr(assignment, '=');
    double weight;
    if (!equals || equals == assignment || tn_read_real(equals + 1, &weight) != TN_NUMBER_OK || weight < 0 ||
        weight > 1e6)
        return tn_fail(error, TN_INPUT, "loss weight \"%.100s\" must be NAME=FACTOR, such as slot=4",
                       assignment);
    const tn_loss_weight *old = settings->loss_weights.item;
    size_t count = settings->loss_weights.count;
    tn_loss_weight *grown;
    TN_TRY(TN_NEW(arena, count + 1, &grown, error));
    if (count) memcpy(grown, old, count * sizeof *grown);
    grown[count].weight = weight;
    TN_TRY(tn_arena_copy_text(arena, assignment, (size_t)(equals - assignment), &grown[count].name, error));
    settings->loss_weights = (tn_item_list){count + 1, grown};
    return TN_OK;
}

static bool names_layer(const char *name, const char *layer) {
    static const char suffix[] = "-loss";
    size_t length = strlen(name);
    return strncmp(name, layer, length) == 0 &&
           (layer[length] == '\0' || strcmp(layer + length, suffix) == 0);
}

double tn_train_settings_weight_of(const tn_train_settings *settings, const char *layer) {
    const tn_loss_weight *weight = settings->loss_weights.item;
    for (size_t i = settings->loss_weights.count; i-- > 0;)
        if (names_layer(weight[i].name, layer)) return weight[i].weight;
    return 1;
}

double tn_train_rate(const tn_train_settings *settings, uint64_t step, uint64_t steps) {
    double rate = settings->learning_rate;
    if (step < settings->warmup_steps) rate *= ((double)step + 1) / ((double)settings->warmup_steps + 1);
    if (settings->schedule == TN_RATE_CONSTANT || steps == 0) return rate;
    return rate * (1 - (double)step / (double)steps);
}

void tn_train_settings_document(tn_buffer *out) {
    tn_schema_document(&tn_train_schema, out);
}
