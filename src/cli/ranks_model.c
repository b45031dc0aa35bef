/* tenfold ranks MODEL --weights FILE */
#include "cli/ranks.h"
tn_status tn_ranks_model(const tn_ranks_asked *asked, int *answer, tn_error *error) {
    (void)asked;
    (void)answer;
    return tn_fail(error, TN_INPUT, "not here yet");
}
