/* The parts of the program cache: look-ups (step/program_cache.h) are kept beside programs.
 */
#ifndef TN_STEP_PROGRAM_CACHE_H
#define TN_STEP_PROGRAM_CACHE_H

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "program/program.h"
#include "step/builder.h"
#include "tensor/network.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stdint.h>

/* A look-up in a table that is kept as tensor cores, and its gradient, as a program.
 *
 * The table is a weight W of M rows (words) x N columns (features); a token fetches row i = (i_1, .., i_d),
 * the digits of its word in the mixed radix m. Each core that carries a factor m_k is cut at i_k, so the rows
 * of all tokens are one network: the cores, each m_k replaced by the token index, with output (token, n...).
 * It is the network of the input gradient (tensor/weight.h) for dY = one-hot rows, with the products by ones
 * and zeros left out. For a TTM table that is, per token, a chain of small products over the selected slices.
 *
 * The gradients follow in reverse mode on the same tree, so a look-up with all its gradients costs 3 x the
 * look-up (program/program.h). The gradient of a cut core is added to the core's gradient at the token's slice
 * as it is made. Cut cores are read in place, not copied. A word that several tokens share is computed for
 * each: counts do not depend on data.
 *
 * In the program tensor 0 (role X) is the first core, and core k (role CORE) the core k + 1; so dX is the
 * gradient of the first core, and every step of the backward pass belongs to the weight gradient.
 */

/* The cores, cut. Index 0 is the token, 1..d the modes n, then the bonds. */
tn_status tn_lookup_network(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error);

/* True if a look-up in cores has the flow. */
bool tn_lookup_flow_exists(tn_flow_name flow);

/* flow: TN_FLOW_RIGHT_TO_LEFT (cores from the last to the first) or TN_FLOW_OPTIMAL (least MACs over all
 * trees); others are TN_INPUT, as is a weight of fewer than two cores, which is looked up without products.
 */
tn_status tn_lookup_program(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *arena,
                            tn_program *program, tn_error *error);

/* The operations of a layer's program (program/program.h). A layer family sets made->program, calls begin,
 * places the arrays that are not the program's own in made->array_of (parameters, their gradients, X), and
 * then runs the two parts; output, input gradient and intermediates are made as they come. */

tn_status tn_program_layer_begin(tn_builder *b);
tn_status tn_program_layer_forward(tn_builder *b); /* sets made->output */
/* *input_gradient: array of dX, or TN_NONE. */
tn_status tn_program_layer_backward(tn_builder *b, uint32_t *input_gradient);

/* A layer that multiplies the rows of array `x` by its matrix and adds its bias (step/linear.c): Y = X W^T + b. The
 * backward part adds the gradients of matrix and bias; *input_gradient as above. */
tn_status tn_matrix_forward(tn_builder *b, uint32_t x);
tn_status tn_matrix_backward(tn_builder *b, uint32_t *input_gradient);

tn_status tn_program_cache_lookup(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                                  tn_flow_name flow, const tn_program **program, tn_error *error);

#endif
