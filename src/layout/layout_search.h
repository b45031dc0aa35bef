/* The descent of layout/layouts.h. */
#ifndef TN_LAYOUT_LAYOUT_SEARCH_H
#define TN_LAYOUT_LAYOUT_SEARCH_H

#include "layout/layout_state.h"

/* Cuts every product as if nothing were in its way; returns the cycles that all of them take at least. */
uint64_t tn_layout_search_open(tn_layout_state *state);
/* Descends with banks of the wanted kind until nothing can cost less, or from all starts; `best`: a copy of the state. */
void tn_layout_search_descend(tn_layout_state *state, tn_layout_state *best);
/* Rows of banks where one wide word is too slow, the full skew where they are too, neither where it does not help; shared
 * tensors stay, as one layer cannot decide for all. */
void tn_layout_search_add_banks(tn_layout_state *state);

#endif
