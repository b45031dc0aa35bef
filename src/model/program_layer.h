/* The operations of a layer's program (flow/program.h). A layer family sets made->program, calls begin,
 * places the arrays that are not the program's own in made->array_of (parameters, their gradients, X), and
 * then runs the two parts; output, input gradient and intermediates are made as they come. */
#ifndef TN_MODEL_PROGRAM_LAYER_H
#define TN_MODEL_PROGRAM_LAYER_H

#include "model/builder.h"

tn_status tn_program_layer_begin(tn_builder *b);
tn_status tn_program_layer_forward(tn_builder *b); /* sets made->output */
/* *input_gradient: array of dX, or TN_NONE. */
tn_status tn_program_layer_backward(tn_builder *b, uint32_t *input_gradient);

#endif
