#include "model/model_file.h"

#include "flow/named.h"
#include "model/layer_kind.h"
#include "model/model.h"
#include "model/step.h"
#include "tensor/weight.h"

#include <string.h>

static const char *const file_kinds[] = {"model", NULL};
static const char *const update_times[] = {"end", "write-back", NULL};
static const char *const weight_policies[] = {"as-given", "dense", NULL};

static const tn_field weight_fields[] = {
    TN_KEY(CHOICE, tn_weight_entry, format, "how the matrix is kept; dense needs no other key", TN_REQUIRED,
           TN_ONE_OF(tn_format_names), TN_SEEN(tn_weight_entry, format_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, m,
           "factors of the matrix's rows (a linear layer's outputs, a table's vocabulary)", TN_FROM(1),
           TN_SEEN(tn_weight_entry, m_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, n,
           "factors of its columns (a linear layer's inputs, a table's width), as many as m", TN_FROM(1),
           TN_SEEN(tn_weight_entry, n_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, rank,
           "one rank for every bond, or all ranks of the format in order, ends included: 1x12x12x1",
           TN_FROM(1), TN_SEEN(tn_weight_entry, rank_at)),
    TN_KEY(CHOICE, tn_weight_entry, flow,
           "contraction flow; absent: the model's `flow` where format and use have it, else optimal",
           TN_ONE_OF(tn_flow_names), TN_SEEN(tn_weight_entry, flow_at)),
};
static const tn_schema weight_schema = TN_SCHEMA("weight", tn_weight_entry, weight_fields);

static const tn_field update_fields[] = {
    TN_KEY(CHOICE, tn_model_update, when,
           "end: of the step, all gradients are held until then; write-back: where a gradient is finished",
           TN_DEFAULT("end"), TN_ONE_OF(update_times)),
};
static const tn_schema update_schema = TN_SCHEMA("update", tn_model_update, update_fields);

static const tn_field model_fields[] = {
    TN_KEY(CHOICE, tn_model_file, kind, "what the file is", TN_REQUIRED, TN_ONE_OF(file_kinds)),
    TN_KEY(TEXT, tn_model_file, name, "name in results: letters, digits, - and _", TN_REQUIRED,
           TN_SEEN(tn_model_file, name_at)),
    TN_KEY(COUNT, tn_model_file, batch, "examples of a training step", TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(COUNT, tn_model_file, sequence, "tokens of an example", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(CHOICE, tn_model_file, precision, "of every number: 4, 2, 2 and 1 bytes", TN_DEFAULT("fp32"),
           TN_ONE_OF(tn_precision_names)),
    TN_KEY(CHOICE, tn_model_file, optimizer, "sgd keeps no state, momentum one number a parameter, adam two",
           TN_DEFAULT("sgd"), TN_ONE_OF(tn_optimizer_names)),
    TN_KEY(MAPPING, tn_model_file, update, "when the optimizer changes the parameters",
           .sub = &update_schema),
    TN_KEY(COUNT, tn_model_file, examples, "examples of an epoch; its steps are examples / batch, rounded up",
           TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(CHOICE, tn_model_file, format, "dense: every weight uncompressed, whatever `weights` says",
           TN_DEFAULT("as-given"), TN_ONE_OF(weight_policies)),
    TN_KEY(CHOICE, tn_model_file, flow, "contraction flow of the weights that name none",
           TN_DEFAULT("bidirectional"), TN_ONE_OF(tn_flow_names)),
    TN_KEY(TABLE, tn_model_file, weights, "shapes by name, which layers refer to and spaces vary",
           .sub = &weight_schema),
    TN_KEY(NODE, tn_model_file, layers, "the layers in order, each by the keys of its kind (below)",
           TN_REQUIRED),
    TN_KEY(NODE, tn_model_file, build, "hardware choices (docs/build-keys.md)"),
    TN_KEY(NODE, tn_model_file, checkpoint, "where trained weights lie, for `tenfold ranks`"),
};
const tn_schema tn_model_schema = TN_SCHEMA("model", tn_model_file, model_fields);

void tn_model_document(tn_buffer *out) {
    tn_schema_document(&tn_model_schema, out);
    tn_layer_kind_document(out);
}

tn_status tn_model_name_check(const char *name, tn_position at, const char *what, tn_error *error) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (name[0] && name[strspn(name, allowed)] == '\0') return TN_OK;
    return tn_fail_at(error, TN_INPUT, at, "%s name \"%.100s\"; use letters, digits, - and _ only", what,
                      name);
}

tn_status tn_model_file_decode(const tn_yaml *root, tn_arena *arena, tn_model_file *file, tn_error *error) {
    TN_TRY(tn_schema_decode(&tn_model_schema, root, arena, file, error));
    return tn_model_name_check(file->name, file->name_at, "model", error);
}
