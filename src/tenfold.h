/* The library tenfold: what the program of that name can do, from C.
 *
 *     #include <tenfold.h>
 *     cc example.c $(pkg-config --cflags --libs tenfold)
 *
 * Conventions, in base/error.h: every function that can fail returns a tn_status (TN_OK is 0) and takes a
 * tn_error last, which may be NULL. The library never prints, exits or aborts. What is said to live in an
 * arena goes with tn_arena_free, what is said to be tn_free'd with tn_free (base/memory.h). Handles (tn_model,
 * tn_device, tn_evaluator, ...) are opaque; results are plain structs whose members' units stand beside them.
 *
 * Global state, for the whole process: the interrupt flag of base/interrupt.h, and what follows from the rows of
 * operations (model/operation.h), found once. While a call runs, GSL's error
 * handler is off and OpenBLAS has one thread where its numbers must not depend on threads; both are given back
 * before it returns (with several calls at once: before the last of them does), whether it succeeds or not.
 *
 * This header compiles as C17 and as C++. Headers that it doesn't reach are neither installed nor exported.
 *
 * A way in, by what you have:
 *   a question that a command of the program answers   ask/ask.h: its request as JSON, its answer as JSON
 *   a network or layer       tensor/einsum.h, tensor/weight.h -> flow/search.h, flow/named.h, program/training.h
 *   a model file             model/model.h -> price/price.h (one design), run/validate.h (execute it)
 *   a space file             space/space.h -> results/sweep.h -> results/result.h -> plot/sweep_figures.h
 *   a hardware question      device/block.h, device/multiply.h, kernel/pipeline.h, kernel/systolic.h,
 *                            kernel/systolic_player.h, roofline/roofline.h
 *   trained weights, or a fine-tuning job   the headers of decompose/, ranks/, finetune/
 */
#ifndef TENFOLD_H
#define TENFOLD_H

#include "ask/ask.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "decompose/factor.h"
#include "decompose/factored.h"
#include "decompose/ttsvd.h"
#include "design/changes.h"
#include "design/explain.h"
#include "device/block.h"
#include "device/device.h"
#include "device/multiply.h"
#include "finetune/batch.h"
#include "finetune/finetune_figures.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/step.h"
#include "finetune/transfer.h"
#include "flow/named.h"
#include "flow/search.h"
#include "flow/tree.h"
#include "kernel/pipeline.h"
#include "kernel/systolic.h"
#include "kernel/systolic_player.h"
#include "knapsack/allocation.h"
#include "model/model.h"
#include "model/step.h"
#include "model/technique.h"
#include "plot/design_figures.h"
#include "plot/report.h"
#include "plot/scatter.h"
#include "plot/sweep_figures.h"
#include "price/price.h"
#include "program/program.h"
#include "ranks/rank_plan.h"
#include "results/dominance.h"
#include "results/merge.h"
#include "results/query.h"
#include "results/result.h"
#include "results/sweep.h"
#include "roofline/roofline.h"
#include "run/validate.h"
#include "space/space.h"
#include "tensor/einsum.h"
#include "tensor/network.h"
#include "tensor/number_format.h"
#include "tensor/weight.h"
#include "text/arrays.h"

#endif
