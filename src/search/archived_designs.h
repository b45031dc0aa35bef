/* The designs behind the points of an archive: what searches that price designs one by one end with. Inside the room. */
#ifndef TN_SEARCH_ARCHIVED_DESIGNS_H
#define TN_SEARCH_ARCHIVED_DESIGNS_H

#include "front/archive.h"
#include "search/evaluator.h"

/* The ids of the archive's points are places in digit[][choices] and evaluation[]: *digits and *evaluations are of those *count places,
 * rising. The caller frees both, after an error, too. */
tn_status tn_archived_designs(const tn_archive *archive, size_t choices, const uint32_t *digit,
                              const tn_evaluation *evaluation, size_t *count, uint32_t **digits,
                              tn_evaluation **evaluations, tn_error *error);

#endif
