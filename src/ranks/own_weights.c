#include "ranks/own_weights.h"

#include "base/guard.h"
#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/factor.h"
#include "decompose/ttsvd.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double dot(const double *x, const double *y, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* Errors are sums of squares: those must hold what the values are. */
static tn_status check_squares(const tn_layer_weight *layer, const char *name, tn_error *error) {
    const double most = 1e300, least = 1e-280;
    uint64_t count = layer->rows * layer->columns, i = 0;
    bool fits = layer->squared_norm <= most && layer->squared_norm >= least;
    while (!fits && i < count && layer->w[i] == 0) i++;
    if (fits || i == count || (layer->moments && layer->squared_norm == 0)) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "the squares of the values of layer %.100s sum to %g, which 64-bit floating point does not hold "
        "with all digits; scale the trained weights",
        name, layer->squared_norm);
}

static tn_status measure(tn_layer_weight *layer, const char *name, tn_error *error) {
    uint64_t count = layer->rows * layer->columns;
    if (!layer->moments) {
        layer->squared_norm = tn_sum_of_squares(layer->w, count);
        return check_squares(layer, name, error);
    }
    TN_TRY(tn_covariance_check(&layer->covariance, name, error));
    TN_TRY(TN_ALLOC(count, &layer->image, error));
    tn_blas_serial();
    tn_covariance_apply(&layer->covariance, layer->rows, layer->w, layer->image);
    tn_blas_restore();
    layer->squared_norm = fmax(0, dot(layer->image, layer->w, count));
    return check_squares(layer, name, error);
}

tn_status tn_layer_weight_open(double *w, uint64_t rows, uint64_t columns, tn_covariance covariance,
                               double *moments, uint64_t width, tn_svd_method method, uint64_t seed,
                               const char *name, tn_layer_weight *layer, tn_error *error) {
    *layer = (tn_layer_weight){.rows = rows,
                               .columns = columns,
                               .w = w,
                               .covariance = covariance,
                               .moments = moments,
                               .width = width,
                               .method = method,
                               .seed = seed};
    layer->covariance.values = moments;
    tn_status status = measure(layer, name, error);
    if (status != TN_OK) tn_layer_weight_close(layer);
    return status;
}

void tn_layer_weight_close(tn_layer_weight *layer) {
    for (size_t i = 0; i < layer->cuts; i++) tn_middle_cut_free(&layer->cut[i]);
    tn_free(layer->w);
    tn_free(layer->moments);
    tn_free(layer->image);
    *layer = (tn_layer_weight){0};
}

/* The shared cut that the folding needs, made where it is the first to need it. */
static tn_status find_cut(tn_layer_weight *layer, const tn_weight *weight, const tn_middle_cut **cut,
                          tn_error *error) {
    uint64_t rows_before, columns_before;
    tn_middle_cut_bond(weight, &rows_before, &columns_before);
    for (size_t i = 0; i < layer->cuts; i++) {
        *cut = &layer->cut[i];
        if ((*cut)->rows_before == rows_before && (*cut)->columns_before == columns_before) return TN_OK;
    }
    if (layer->cuts == TN_LAYER_CUTS)
        return tn_fail(error, TN_LIMIT, "more than %d different first cuts; try fewer foldings",
                       TN_LAYER_CUTS);
    *cut = &layer->cut[layer->cuts];
    TN_TRY(tn_middle_cut_make(layer->w, layer->rows, layer->columns, rows_before, columns_before,
                              layer->width, layer->method, layer->seed,
                              layer->moments ? &layer->covariance : NULL, &layer->cut[layer->cuts], error));
    layer->cuts++;
    return TN_OK;
}

/* A TTM of one factor has no bond, and rings and Tucker have no cut to share. */
static tn_status factor_alone(const tn_layer_weight *layer, const tn_weight *weight, bool capped,
                              double tolerance, tn_factored *factored, tn_error *error) {
    double *folded = NULL;
    tn_factor_rule rule = {
        .capped = capped, .tolerance = tolerance, .method = layer->method, .seed = layer->seed};
    if (!tn_fold_moves(weight)) return tn_factor(weight, layer->w, &rule, factored, error);
    TN_TRY(TN_ALLOC(layer->rows * layer->columns, &folded, error));
    tn_status status = tn_fold(weight, layer->w, folded, error);
    if (status == TN_OK) status = tn_factor(weight, folded, &rule, factored, error);
    tn_free(folded);
    return status;
}

tn_status tn_layer_weight_factor(tn_layer_weight *layer, const tn_weight *weight, bool capped,
                                 double tolerance, bool *met, tn_factored *factored, tn_error *error) {
    const tn_middle_cut *cut;
    tn_train train;
    *met = true;
    *factored = (tn_factored){0};
    bool is_train = weight->format == TN_TT || (weight->format == TN_TTM && weight->d > 1);
    if (!is_train) return factor_alone(layer, weight, capped, tolerance, factored, error);
    TN_TRY(find_cut(layer, weight, &cut, error));
    *met = capped || !layer->most_parameters ||
           tn_middle_cut_least_parameters(cut, weight, tolerance) < layer->most_parameters;
    if (!*met) return TN_OK;
    TN_TRY(tn_middle_cut_train(cut, weight, capped ? weight->rank + 1 : NULL, tolerance, met, &train, error));
    if (*met) tn_factored_take_train(&train, weight, factored);
    return TN_OK;
}

/* For V = A B, tr((W - V) C (W - V)^T) from products with the rank in them, A being M x r and B r x N. */
typedef struct {
    double *a, *b;        /* M x r, r x N */
    double *turned;       /* A^T (W C), later B C: r x N */
    double *left, *right; /* A^T A, B C B^T: r x r */
    uint64_t rank;
} product;

static tn_status weigh_product(const tn_layer_weight *layer, product *p, double *squares, tn_error *error) {
    uint64_t m = layer->rows, n = layer->columns, r = p->rank;
    TN_TRY(TN_ALLOC(r * n, &p->turned, error));
    TN_TRY(TN_ALLOC(r * r, &p->left, error));
    TN_TRY(TN_ALLOC(r * r, &p->right, error));
    tn_dense_multiply(true, false, r, n, m, p->a, layer->image, p->turned);
    double cross = dot(p->turned, p->b, r * n);
    tn_covariance_apply(&layer->covariance, r, p->b, p->turned);
    tn_dense_multiply(false, true, r, r, n, p->turned, p->b, p->right);
    tn_dense_multiply(true, false, r, r, m, p->a, p->a, p->left);
    *squares = fmax(0, layer->squared_norm - 2 * cross + dot(p->left, p->right, r * r));
    return TN_OK;
}

static tn_status weigh_train(const tn_layer_weight *layer, const tn_factored *f, double *squares,
                             tn_error *error) {
    tn_train train = {.cores = f->cores};
    product p = {.rank = f->weight.rank[f->weight.d]};
    tn_fold_modes(&f->weight, train.mode);
    memcpy(train.rank, f->weight.rank, (f->cores + 1) * sizeof *train.rank);
    memcpy(train.core, f->core, f->cores * sizeof *train.core);
    tn_blas_serial();
    tn_status status = tn_train_merge(&train, 0, f->weight.d, &p.a, error);
    if (status == TN_OK) status = tn_train_merge(&train, f->weight.d, f->cores, &p.b, error);
    if (status == TN_OK) status = weigh_product(layer, &p, squares, error);
    tn_blas_restore();
    double *owned[] = {p.a, p.b, p.turned, p.left, p.right};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) tn_free(owned[i]);
    return status;
}

/* The difference itself, weighed. */
static tn_status weigh_difference(const tn_layer_weight *layer, const tn_factored *f, double *squares,
                                  tn_error *error) {
    double *tensor = NULL, *matrix = NULL;
    uint64_t count = layer->rows * layer->columns;
    TN_TRY(tn_factored_rebuild(f, &tensor, error));
    tn_status status = TN_ALLOC(count, &matrix, error);
    if (status == TN_OK) status = tn_unfold(&f->weight, tensor, matrix, error);
    for (uint64_t i = 0; status == TN_OK && i < count; i++) matrix[i] = layer->w[i] - matrix[i];
    tn_blas_serial();
    if (status == TN_OK)
        status = tn_covariance_squares(&layer->covariance, layer->rows, matrix, squares, error);
    tn_blas_restore();
    tn_free(tensor);
    tn_free(matrix);
    return status;
}

/* Below this share of the norm the sum of products has lost too many digits. */
static const double SUM_TRUSTED = 1e-9;

tn_status tn_layer_weight_error(const tn_layer_weight *layer, const tn_factored *factored, double *squares,
                                tn_error *error) {
    if (!layer->moments) {
        *squares = factored->squared_loss;
        return TN_OK;
    }
    if (factored->weight.format == TN_TT) {
        TN_TRY(weigh_train(layer, factored, squares, error));
        if (*squares > SUM_TRUSTED * layer->squared_norm) return TN_OK;
    }
    return weigh_difference(layer, factored, squares, error);
}

enum { LIST_TEXT = 21 * TN_RANKS_MOST };

/* A tree being rewritten: which entry of `weights` each layer of the model names. */
typedef struct {
    const tn_model *model;
    tn_arena *arena;
    tn_error *error;
    const char **name; /* [layers of the model]; NULL: no weight */
    tn_yaml **entry;   /* [layers of the model] what the entry of that name holds */
} writer;

/* --- nodes --- */

static tn_status new_node(const writer *w, tn_yaml_kind kind, size_t count, tn_yaml **node) {
    TN_TRY(TN_NEW(w->arena, 1, node, w->error));
    (*node)->kind = kind;
    (*node)->position = tn_model_root(w->model)->position; /* a place, so that it counts as given */
    TN_TRY(TN_NEW(w->arena, count, &(*node)->item, w->error));
    return TN_NEW(w->arena, count, &(*node)->key, w->error);
}

static tn_status new_text(const writer *w, const char *text, tn_yaml **node) {
    TN_TRY(new_node(w, TN_YAML_SCALAR, 0, node));
    return tn_arena_copy_text(w->arena, text, strlen(text), &(*node)->text, w->error);
}

static tn_status add_pair(const writer *w, tn_yaml *mapping, const char *key, tn_yaml *value) {
    mapping->item[mapping->count] = value;
    return new_text(w, key, &mapping->key[mapping->count++]);
}

static tn_status add_text(const writer *w, tn_yaml *mapping, const char *key, const char *value) {
    tn_yaml *node;
    TN_TRY(new_text(w, value, &node));
    return add_pair(w, mapping, key, node);
}

/* A mapping with one value exchanged. */
static tn_status replace(const writer *w, const tn_yaml *mapping, const char *key, tn_yaml *value,
                         tn_yaml **copy) {
    TN_TRY(new_node(w, TN_YAML_MAPPING, mapping->count, copy));
    (*copy)->position = mapping->position;
    (*copy)->count = mapping->count;
    for (size_t i = 0; i < mapping->count; i++) {
        (*copy)->key[i] = mapping->key[i];
        (*copy)->item[i] = strcmp(mapping->key[i]->text, key) == 0 ? value : mapping->item[i];
    }
    return TN_OK;
}

/* --- layers --- */

static size_t find_layer(const tn_model *model, const char *name) {
    size_t i = 0;
    while (i < tn_model_layers(model) && strcmp(tn_model_layer_at(model, i).name, name) != 0) i++;
    return i;
}

/* The names of one layer of a block, repetition by repetition; one alone where they are equal. */
static tn_status repeated_name(const writer *w, const char *block, const char *layer, tn_yaml **node) {
    tn_yaml *list;
    size_t repetitions = 0, layers = tn_model_layers(w->model), place;
    const char *full, *first = NULL;
    bool equal = true;
    TN_TRY(new_node(w, TN_YAML_SEQUENCE, layers, &list));
    for (;; repetitions++) {
        TN_TRY(tn_arena_format(w->arena, &full, w->error, "%s%zu.%s", block, repetitions + 1, layer));
        place = find_layer(w->model, full);
        if (place == layers) break;
        if (!first) first = w->name[place];
        equal = equal && strcmp(first, w->name[place]) == 0;
        TN_TRY(new_text(w, w->name[place], &list->item[list->count++]));
    }
    *node = equal ? list->item[0] : list;
    return TN_OK;
}

/* Keys of composites (model/composite.h) that name weights of inner layers: those called `inner`, or `inner` with the numbers of
 * experts from 1 on. */
static const struct {
    const char *key, *inner[2];
} composite_keys[] = {{"up", {"expert%zu-up"}},
                      {"gate", {"expert%zu-gate"}},
                      {"down", {"expert%zu-down"}},
                      {"in", {"in", "gate"}},
                      {"out", {"out"}}};

/* Appends the name of an inner layer of one repetition (from 1; block NULL: of none); *found: there is such a layer. */
static tn_status add_inner(const writer *w, const char *outer, const char *inner, size_t expert,
                           tn_yaml *list, bool *found) {
    const char *full, *own = inner;
    const char *number = strstr(inner, "%zu");
    if (number)
        TN_TRY(tn_arena_format(w->arena, &own, w->error, "%.*s%zu%s", (int)(number - inner), inner, expert,
                               number + 3));
    TN_TRY(tn_arena_format(w->arena, &full, w->error, "%s.%s", outer, own));
    size_t place = find_layer(w->model, full);
    *found = place < tn_model_layers(w->model) && w->name[place];
    return *found ? new_text(w, w->name[place], &list->item[list->count++]) : TN_OK;
}

/* The names behind one key of a composite, repetition by repetition; one alone where they are equal. */
static tn_status composite_names(const writer *w, const char *block, const char *layer, size_t key,
                                 tn_yaml **node) {
    tn_yaml *list;
    bool equal = true;
    TN_TRY(new_node(w, TN_YAML_SEQUENCE, tn_model_layers(w->model), &list));
    for (size_t repetition = 1, before = SIZE_MAX; before != list->count; repetition++) {
        const char *outer = layer;
        bool found = true;
        before = list->count;
        if (block) TN_TRY(tn_arena_format(w->arena, &outer, w->error, "%s%zu.%s", block, repetition, layer));
        for (int i = 0; i < 2 && composite_keys[key].inner[i]; i++) {
            const bool numbered = strchr(composite_keys[key].inner[i], '%') != NULL;
            for (size_t e = 1; found; e++) {
                TN_TRY(add_inner(w, outer, composite_keys[key].inner[i], e, list, &found));
                if (!numbered) break;
            }
        }
        if (!block) break;
    }
    for (size_t i = 1; i < list->count; i++) equal &= strcmp(list->item[i]->text, list->item[0]->text) == 0;
    *node = equal ? list->item[0] : list;
    return TN_OK;
}

static tn_status rename_composite(const writer *w, const tn_yaml *layer, const char *block,
                                  tn_yaml **renamed) {
    const char *name = tn_yaml_get(layer, "name")->text;
    for (size_t k = 0; k < sizeof composite_keys / sizeof *composite_keys; k++) {
        tn_yaml *names;
        if (!tn_yaml_get(layer, composite_keys[k].key)) continue;
        TN_TRY(composite_names(w, block, name, k, &names));
        TN_TRY(replace(w, *renamed, composite_keys[k].key, names, renamed));
    }
    return TN_OK;
}

/* A layer with its weight renamed; `block` NULL: not in one. */
static tn_status rename_layer(const writer *w, const tn_yaml *layer, const char *block, tn_yaml **renamed) {
    const char *name = tn_yaml_get(layer, "name")->text;
    tn_yaml *weight;
    *renamed = (tn_yaml *)layer;
    if (!tn_yaml_get(layer, "weight")) return rename_composite(w, layer, block, renamed);
    if (block)
        TN_TRY(repeated_name(w, block, name, &weight));
    else
        TN_TRY(new_text(w, w->name[find_layer(w->model, name)], &weight));
    return replace(w, layer, "weight", weight, renamed);
}

static tn_status rename_list(const writer *w, const tn_yaml *list, const char *block, tn_yaml **renamed) {
    TN_TRY(new_node(w, TN_YAML_SEQUENCE, list->count, renamed));
    (*renamed)->count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        const tn_yaml *layer = list->item[i], *inside = tn_yaml_get(layer, "layers");
        if (!inside) {
            TN_TRY(rename_layer(w, layer, block, &(*renamed)->item[i]));
            continue;
        }
        tn_yaml *layers;
        TN_TRY(rename_list(w, inside, tn_yaml_get(layer, "name")->text, &layers));
        TN_TRY(replace(w, layer, "layers", layers, &(*renamed)->item[i]));
    }
    return TN_OK;
}

/* The entries that layers name, in the order of the layers, each once. */
static tn_status list_entries(const writer *w, tn_yaml **entries) {
    size_t layers = tn_model_layers(w->model);
    TN_TRY(new_node(w, TN_YAML_MAPPING, layers, entries));
    for (size_t i = 0; i < layers; i++)
        if (w->name[i] && !tn_yaml_get(*entries, w->name[i]))
            TN_TRY(add_pair(w, *entries, w->name[i], w->entry[i]));
    return TN_OK;
}

static tn_status rewrite(const writer *w, tn_yaml **root) {
    const tn_yaml *old = tn_model_root(w->model);
    tn_yaml *entries, *layers, *half;
    TN_TRY(list_entries(w, &entries));
    TN_TRY(rename_list(w, tn_yaml_get(old, "layers"), NULL, &layers));
    TN_TRY(replace(w, old, "weights", entries, &half));
    return replace(w, half, "layers", layers, root);
}

static tn_status new_writer(const tn_model *model, tn_arena *arena, tn_error *error, writer *w) {
    *w = (writer){.model = model, .arena = arena, .error = error};
    TN_TRY(TN_NEW(arena, tn_model_layers(model), &w->name, error));
    return TN_NEW(arena, tn_model_layers(model), &w->entry, error);
}

/* --- one entry a layer --- */

static tn_status own_name(const writer *w, size_t layer) {
    const char *name = tn_model_layer_at(w->model, layer).name, *copy;
    TN_TRY(tn_arena_copy_text(w->arena, name, strlen(name), &copy, w->error));
    for (char *cursor = (char *)copy; *cursor; cursor++)
        if (*cursor == '.') *cursor = '-';
    for (size_t i = 0; i < layer; i++)
        if (w->name[i] && strcmp(w->name[i], copy) == 0)
            return tn_fail(w->error, TN_INPUT, "layers %s and %s would name the same weight; rename one",
                           tn_model_layer_at(w->model, i).name, name);
    w->name[layer] = copy;
    return TN_OK;
}

tn_status tn_own_weights_make(const tn_model *model, tn_arena *arena, tn_model **own, tn_error *error) {
    writer w;
    tn_yaml *root;
    const tn_yaml *policy = tn_yaml_get(tn_model_root(model), "format");
    const tn_yaml *weights = tn_yaml_get(tn_model_root(model), "weights");
    if (policy && policy->text && strcmp(policy->text, "dense") == 0)
        return tn_fail_at(error, TN_INPUT, policy->position,
                          "format: dense leaves every weight uncompressed; there are no ranks to choose");
    if (!weights) return tn_fail(error, TN_INPUT, "the model has no `weights`; there are no ranks to choose");
    TN_TRY(new_writer(model, arena, error, &w));
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        const tn_model_weight *weight = tn_model_layer_at(model, i).weight;
        if (!weight) continue;
        TN_TRY(own_name(&w, i));
        w.entry[i] = tn_yaml_get(weights, weight->name);
    }
    TN_TRY(rewrite(&w, &root));
    return tn_model_decode(root, arena, own, error);
}

/* --- writing --- */

static const char *product_text(const uint64_t *number, uint32_t count, char text[LIST_TEXT]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < count; k++)
        length +=
            (size_t)snprintf(text + length, LIST_TEXT - length, k ? "x%" PRIu64 : "%" PRIu64, number[k]);
    return text;
}

static bool same_ranks(const tn_weight *a, const tn_weight *b) {
    return a->rank_count == b->rank_count && memcmp(a->rank, b->rank, a->rank_count * sizeof *a->rank) == 0;
}

/* One number where that gives all ranks, else the list. */
static const char *rank_text(const tn_weight *weight, char text[LIST_TEXT]) {
    uint64_t most = 0;
    tn_weight uniform = *weight;
    for (uint32_t k = 0; k < weight->rank_count; k++)
        if (weight->rank[k] > most) most = weight->rank[k];
    if (tn_weight_set_rank(&uniform, most, NULL) == TN_OK && same_ranks(&uniform, weight)) {
        snprintf(text, LIST_TEXT, "%" PRIu64, most);
        return text;
    }
    return product_text(weight->rank, weight->rank_count, text);
}

/* The entry of a weight as it stands; a flow that the original entry names is kept. */
static tn_status describe(const writer *w, const tn_weight *weight, const tn_yaml *original,
                          tn_yaml **entry) {
    char text[LIST_TEXT];
    const tn_yaml *flow = tn_yaml_get(original, "flow");
    TN_TRY(new_node(w, TN_YAML_MAPPING, 5, entry));
    TN_TRY(add_text(w, *entry, "format", tn_format_names[weight->format]));
    TN_TRY(add_text(w, *entry, "m", product_text(weight->m, weight->d, text)));
    TN_TRY(add_text(w, *entry, "n", product_text(weight->n, weight->d, text)));
    if (weight->format != TN_DENSE) TN_TRY(add_text(w, *entry, "rank", rank_text(weight, text)));
    return flow && weight->format != TN_DENSE ? add_text(w, *entry, "flow", flow->text) : TN_OK;
}

/* Whether all layers that share the entry of layer `i` in the original came out equal. */
static bool stays_shared(const tn_model *model, const tn_model *own, size_t i) {
    const tn_model_weight *shared = tn_model_layer_at(model, i).weight;
    const tn_weight *weight = &tn_model_layer_at(own, i).weight->weight;
    for (size_t k = 0; k < tn_model_layers(model); k++)
        if (tn_model_layer_at(model, k).weight == shared &&
            !tn_weight_equal(weight, &tn_model_layer_at(own, k).weight->weight))
            return false;
    return true;
}

/* The first layer of the same original entry and the same shape lends its name. */
static size_t lender(const tn_model *model, const tn_model *own, size_t i) {
    const tn_model_weight *shared = tn_model_layer_at(model, i).weight;
    for (size_t k = 0; k < i; k++)
        if (tn_model_layer_at(model, k).weight == shared &&
            tn_weight_equal(&tn_model_layer_at(own, k).weight->weight,
                            &tn_model_layer_at(own, i).weight->weight))
            return k;
    return i;
}

tn_status tn_own_weights_write(const tn_model *model, tn_model *own, tn_arena *arena, tn_buffer *out,
                               tn_error *error) {
    writer w;
    tn_yaml *root;
    const tn_yaml *weights = tn_yaml_get(tn_model_root(model), "weights");
    TN_TRY(new_writer(model, arena, error, &w));
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        const tn_model_weight *original = tn_model_layer_at(model, i).weight;
        const tn_model_weight *now = tn_model_layer_at(own, i).weight;
        if (!original) continue;
        w.name[i] = stays_shared(model, own, i) ? original->name
                                                : tn_model_layer_at(own, lender(model, own, i)).weight->name;
        TN_TRY(describe(&w, &now->weight, tn_yaml_get(weights, original->name), &w.entry[i]));
    }
    TN_TRY(rewrite(&w, &root));
    tn_yaml_write(root, out);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory to write the model");
}
