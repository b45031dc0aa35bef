/* How a router spreads tokens over experts: even, counted (a CSV file), or drawn from a fitted distribution; and what follows
 * for time.
 *
 * A file has the columns `expert` (from 0 on, each once) and either `tokens`, whole numbers, or `share`, which sum to 1. A
 * token that chooses k experts chooses an expert once at most, so that no share is above 1/k.
 *
 * Imbalance is the fullest expert's load over the mean. Where experts run one after the other on one GPU, it costs nothing but
 * that experts of few tokens run at a lower rate; where every expert has a GPU of its own, the fullest decides. With a
 * capacity c an expert takes at most c times the mean: its rest is dropped, and all others are padded to as much.
 *
 * The distribution is Dirichlet, symmetric, of concentration a: shares of E experts have the mean 1/E and the variance
 * (1/E)(1 - 1/E) / (E a + 1), by which a is fitted. */
#ifndef TN_FINETUNE_LOAD_H
#define TN_FINETUNE_LOAD_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_expert_load {
    uint64_t experts, active; /* active: of them that a token chooses */
    double *share;            /* [experts] of all choices; sums to 1 */
} tn_expert_load;

tn_status tn_expert_load_even(uint64_t experts, uint64_t active, tn_arena *arena, tn_expert_load *load,
                              tn_error *error);
/* A file of another number of experts, of counts that are none or all 0, or of shares that do not sum to 1 within 1e-6 is
 * TN_INPUT with its place. */
tn_status tn_expert_load_read(const char *path, uint64_t experts, uint64_t active, tn_arena *arena,
                              tn_expert_load *load, tn_error *error);
/* Drawn; shares above 1/active are cut to it, and the rest takes what is cut. */
tn_status tn_expert_load_draw(uint64_t experts, uint64_t active, double concentration, uint64_t seed,
                              tn_arena *arena, tn_expert_load *load, tn_error *error);

/* Concentration by moments; INFINITY where all shares are alike. */
double tn_expert_load_concentration(const tn_expert_load *load);
double tn_expert_load_imbalance(const tn_expert_load *load);
/* Experts that `tokens` tokens touch, each choosing on its own. */
double tn_expert_load_touched(const tn_expert_load *load, double tokens);
/* Share of the choices that a capacity drops. */
double tn_expert_load_dropped(const tn_expert_load *load, double capacity);

TN_PUBLIC_END

#endif
