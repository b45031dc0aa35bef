/* Which banks the words of a tensor lie in that no other layer wants, each element a word in a bank of its own: found for
 * what its products are cut into in the end. Axis by axis, the skew under which the blocks that they ask for take the fewest
 * cycles, of the powers of two and those above them; of equal ones that of the fewest rows.
 */
#ifndef TN_LAYOUT_BANK_SKEWS_H
#define TN_LAYOUT_BANK_SKEWS_H

#include "layout/layout_state.h"

/* Sets the skews of the layout's axes, and along which of them words share rows. */
tn_status tn_bank_skews_find(const tn_layout_state *state, uint32_t tensor, tn_tensor_layout *layout,
                             tn_error *error);

#endif
