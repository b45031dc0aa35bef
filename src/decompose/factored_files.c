#include "decompose/factored_files.h"

#include "base/file.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/random.h"
#include "decompose/dense.h"
#include "decompose/factor.h"
#include "decompose/ttsvd.h"
#include "text/arrays.h"

static tn_status name_cores(const tn_factored *f, const char *prefix, tn_arena *arena, tn_array_out *out,
                            tn_error *error) {
    for (uint32_t k = 0; k < f->cores; k++) {
        uint64_t *shape;
        bool plain = !prefix || !prefix[0];
        TN_TRY(TN_NEW(arena, TN_RANKS_MOST, &shape, error));
        TN_TRY(tn_arena_format(arena, &out[k].name, error, "%s%score%u", plain ? "" : prefix,
                               plain ? "" : ".", k + 1));
        out[k].axes = tn_weight_core_shape(&f->weight, k, shape);
        out[k].shape = shape;
        out[k].values = f->core[k];
    }
    return TN_OK;
}

static tn_status list_cores(const tn_factored *const *factored, const char *const *prefix, size_t count,
                            tn_arena *arena, tn_array_out **out, size_t *arrays, tn_error *error) {
    size_t index = 0;
    *arrays = 0;
    for (size_t i = 0; i < count; i++) *arrays += factored[i]->cores;
    TN_TRY(TN_NEW(arena, *arrays, out, error));
    for (size_t i = 0; i < count; index += factored[i++]->cores)
        TN_TRY(name_cores(factored[i], prefix ? prefix[i] : NULL, arena, *out + index, error));
    return TN_OK;
}

tn_status tn_factored_write_npz(const char *path, const tn_factored *const *factored,
                                const char *const *prefix, size_t count, tn_error *error) {
    tn_arena arena = {0};
    tn_array_out *out;
    size_t arrays;
    tn_status status = list_cores(factored, prefix, count, &arena, &out, &arrays, error);
    if (status == TN_OK) status = tn_npz_write(path, out, arrays, error);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_factored_write_safetensors(const char *path, const tn_factored *const *factored,
                                        const char *const *prefix, size_t count, tn_half half,
                                        tn_error *error) {
    tn_arena arena = {0};
    tn_array_out *out;
    size_t arrays;
    tn_status status = list_cores(factored, prefix, count, &arena, &out, &arrays, error);
    for (size_t i = 0; status == TN_OK && i < arrays; i++) {
        out[i].single = true;
        out[i].half = half;
    }
    if (status == TN_OK) status = tn_safetensors_write(path, out, arrays, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status write_array(const char *folder, tn_array_out out, tn_arena *arena, tn_error *error) {
    const char *path;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/%s.npy", folder, out.name));
    return tn_npy_write(path, &out, error);
}

typedef struct {
    uint64_t tokens, rows, columns;
    double *w, *x, *dy, *y, *dx;
} products;

static tn_status multiply(const tn_factored *f, uint64_t seed, tn_arena *arena, products *p,
                          tn_error *error) {
    double *tensor = NULL;
    TN_TRY(TN_NEW(arena, p->rows * p->columns, &p->w, error));
    TN_TRY(TN_NEW(arena, p->tokens * p->columns, &p->x, error));
    TN_TRY(TN_NEW(arena, p->tokens * p->rows, &p->dy, error));
    TN_TRY(TN_NEW(arena, p->tokens * p->rows, &p->y, error));
    TN_TRY(TN_NEW(arena, p->tokens * p->columns, &p->dx, error));
    TN_TRY(tn_random_fill_normal(seed, p->x, p->tokens * p->columns, error));
    TN_TRY(tn_random_fill_normal(seed + 1, p->dy, p->tokens * p->rows, error));
    TN_TRY(tn_factored_rebuild(f, &tensor, error));
    tn_status status = tn_unfold(&f->weight, tensor, p->w, error);
    tn_free(tensor);
    TN_TRY(status);
    tn_blas_serial();
    tn_dense_multiply(false, true, p->tokens, p->rows, p->columns, p->x, p->w, p->y);
    tn_dense_multiply(false, false, p->tokens, p->columns, p->rows, p->dy, p->w, p->dx);
    tn_blas_restore();
    return TN_OK;
}

static tn_status write_case(const char *folder, const tn_factored *f, uint64_t tokens, uint64_t seed,
                            tn_arena *arena, tn_error *error) {
    products p = {.tokens = tokens};
    tn_array_out core[TN_RANKS_MOST] = {{0}};
    TN_TRY(tn_weight_rows(&f->weight, &p.rows, error));
    TN_TRY(tn_weight_columns(&f->weight, &p.columns, error));
    TN_TRY(multiply(f, seed, arena, &p, error));
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(name_cores(f, NULL, arena, core, error));
    for (uint32_t k = 0; k < f->cores; k++) TN_TRY(write_array(folder, core[k], arena, error));
    const uint64_t inputs[] = {tokens, p.columns}, outputs[] = {tokens, p.rows};
    const tn_array_out around[] = {{.name = "x", .axes = 2, .shape = inputs, .values = p.x},
                                   {.name = "dy", .axes = 2, .shape = outputs, .values = p.dy},
                                   {.name = "y", .axes = 2, .shape = outputs, .values = p.y},
                                   {.name = "dx", .axes = 2, .shape = inputs, .values = p.dx}};
    for (size_t i = 0; i < 4; i++) TN_TRY(write_array(folder, around[i], arena, error));
    return TN_OK;
}

tn_status tn_factored_write_case(const char *folder, const tn_factored *factored, uint64_t tokens,
                                 uint64_t seed, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = write_case(folder, factored, tokens, seed, &arena, error);
    tn_arena_free(&arena);
    return status;
}
