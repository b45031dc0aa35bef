/* The part of the program cache that only this room uses: look-ups (model/lookup.h) are kept beside programs.
 */
#ifndef TN_MODEL_PROGRAM_CACHE_H
#define TN_MODEL_PROGRAM_CACHE_H

#include "model/model.h"

tn_status tn_program_cache_lookup(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                                  tn_flow_name flow, const tn_program **program, tn_error *error);

#endif
