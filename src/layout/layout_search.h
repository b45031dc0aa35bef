/* The descent of layout/tensor_layout.h. */
#ifndef TN_LAYOUT_LAYOUT_SEARCH_H
#define TN_LAYOUT_LAYOUT_SEARCH_H

#include "base/error.h"
#include "base/memory.h"
#include "layout/layout_problem.h"

#include <stdint.h>

/* Cuts every product as if nothing were in its way. */
void tn_layout_search_open(tn_layout_search *search);
/* Lays the tensors that others want, too; nothing else is in the way. */
void tn_layout_search_share(tn_layout_search *search);
/* Descends with banks of the wanted kind until the cost is `bound`, or from all starts; `best`: room for another
 * search of the same sizes. */
void tn_layout_search_descend(tn_layout_search *search, tn_layout_search *best, uint64_t bound);
/* Rows of banks where one wide word is too slow, the full skew where they are too, neither where it does not help; shared
 * tensors stay, as one layer cannot decide for all. */
void tn_layout_search_add_banks(tn_layout_search *search);

/* The cycles that all issues take with the writes. */
uint64_t tn_layout_search_cycles(const tn_layout_search *search);

#endif
