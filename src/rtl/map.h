/* map.json and map.h: what a host must know of a generated step to train on it through the engine's host port
 * (templates/engine.sv): where every element of every parameter lies, what a sample's words and labels are made of, where
 * losses are read. Both files say the same, map.h as C tables.
 *
 * An array's element x lies at the sum over its axes of axis[k][x_k]: words and elements add up, banks add up in two
 * fields, each modulo its size. An entry is the word of the bank, above 24 bits the bank, above 32 the element of the
 * word, as a word of the sample has it. `base` comes on top of the sum of the words.
 */
#ifndef TN_RTL_MAP_H
#define TN_RTL_MAP_H

#include "rtl/step_run.h"

/* The entry of index i along the axis. */
uint64_t tn_rtl_map_entry(const tn_bank_layout *layout, uint32_t axis, uint64_t i);

void tn_rtl_map_json(const tn_rtl_step_run *run, tn_buffer *out);
void tn_rtl_map_header(const tn_rtl_step_run *run, tn_buffer *out);

#endif
