#include "search/archived_designs.h"

#include "base/memory.h"

#include <string.h>

tn_status tn_archived_designs(const tn_archive *archive, size_t choices, const uint32_t *digit,
                              const tn_evaluation *evaluation, size_t *count, uint32_t **digits,
                              tn_evaluation **evaluations, tn_error *error) {
    tn_point *point = NULL;
    *count = archive->count;
    tn_status status = TN_ALLOC(*count, &point, error);
    if (status == TN_OK) status = TN_ALLOC(*count * choices, digits, error);
    if (status == TN_OK) status = TN_ALLOC(*count, evaluations, error);
    if (status == TN_OK) tn_archive_points(archive, point);
    for (size_t i = 0; status == TN_OK && i < *count; i++) {
        const size_t place = (size_t)point[i].id;
        memcpy(*digits + i * choices, digit + place * choices, choices * sizeof *digit);
        (*evaluations)[i] = evaluation[place];
    }
    tn_free(point);
    return status;
}
