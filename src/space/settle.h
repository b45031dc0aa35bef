/* Keys that a space need not name, as they change no computed value or only the order in which sums are rounded: when an
 * update is written back, what is recomputed, flows, and most of a build. `settle:` of a space says which of them are
 * searched by themselves. Each becomes an axis behind the choices of the file, with the values that its row has
 * (`settled` of device/build.h, `about` of the model's keys); what the file chooses or sets itself stays as it says.
 */
#ifndef TN_SPACE_SETTLE_H
#define TN_SPACE_SETTLE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"

/* Appends the axes to the choices of the space, whose model and choices are read. `settle`: all, or a list of keys; NULL: none.
 * Values with which the model does not load are left out, keys with fewer than two values have no axis. TN_INPUT at the
 * text that is no such key, or one that the space chooses or sets. */
tn_status tn_space_settle(const tn_yaml *settle, tn_arena *arena, tn_space *space, tn_error *error);

/* Tells of every such key of the model each value that its row lists, in turn; `usual` is the first of them. Ends with the first
 * failure. */
typedef tn_status tn_settled_visit(void *user, const char *key, const char *usual, const char *value);
tn_status tn_settled_model_values(tn_settled_visit *visit, void *user);
/* The same of one key, "build.group", say. */
tn_status tn_settled_key_values(const char *key, tn_settled_visit *visit, void *user);

/* Appends the table of the keys, for the page of the space file. */
void tn_space_settle_document(tn_buffer *out);

#endif
