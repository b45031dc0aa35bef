/* tenfold compare DIR DIR...: fronts of several sweeps beside each other. */
#ifndef TN_CLI_COMPARE_FRONTS_H
#define TN_CLI_COMPARE_FRONTS_H

#include "cli/options.h"

/* `keys`: quantities to compare by; none: the objectives in common. `folder`: where fronts.csv and the figure go; NULL:
 * nowhere. Sets *answer to 1 where every front is empty. */
tn_status tn_compare_fronts(tn_common *common, const tn_option_list *keys, const char *folder,
                            const char *format, int *answer, tn_error *error);

extern const tn_record tn_compared_fronts_record; /* keys of its JSON */

#endif
