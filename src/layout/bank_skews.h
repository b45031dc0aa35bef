/* Which banks the words of a tensor lie in that no other layer wants, each element a word in a bank of its own: found for
 * what its products are cut into in the end.
 */
#ifndef TN_LAYOUT_BANK_SKEWS_H
#define TN_LAYOUT_BANK_SKEWS_H

#include "layout/layout_state.h"

/* Sets the skews of the layout's axes, and along which of them words share rows. */
void tn_bank_skews_find(const tn_layout_state *state, uint32_t tensor, tn_tensor_layout *layout);

#endif
