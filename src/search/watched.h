/* Memories that several units bear on, and whose price depends on what they choose together: no sum. Until the last of
 * its units is merged a sum carries in its label what its options ask of each such memory; then the memory's true price
 * is added and the label goes (docs/decomposition.md). */
#ifndef TN_SEARCH_WATCHED_H
#define TN_SEARCH_WATCHED_H

#include "front/sums.h"
#include "search/layer_table.h"

typedef struct tn_watched {
    uint32_t memory;      /* of the table */
    uint32_t first, last; /* units that bear on it */
    bool same_uses;       /* demands differ in size alone; then sizes that take the same blocks are one: */
    size_t sizes;
    uint64_t *size, *stands; /* [sizes]: rising, and the size that stands for each */
    size_t count, capacity;
    tn_demand *demand; /* [count]: number i + 1 in labels */
} tn_watched;

enum { TN_WATCHED_MOST = 24 };
typedef struct tn_watched_numbers {
    uint16_t number[TN_WATCHED_MOST]; /* of a demand for each watch; 0: none yet */
} tn_watched_numbers;

/* Those of one build. */
typedef struct tn_watched_list {
    const tn_layer_table *table;
    const tn_build *build;
    const tn_device *device;
    tn_price_part constant; /* of memories that several units bear on without a difference */
    uint32_t count;
    tn_watched watch[TN_WATCHED_MOST];
    size_t labels, label_capacity;
    tn_watched_numbers *label; /* [labels]: a point's label counts them */
    size_t join_side;
    uint32_t *joined; /* [join_side * join_side]: labels joined before, plus 1 */
} tn_watched_list;

/* Free with tn_watched_free, also after an error. */
tn_status tn_watched_begin(tn_watched_list *list, const tn_layer_table *table, const tn_build *build,
                           const tn_device *device, tn_error *error);
void tn_watched_free(tn_watched_list *list);

/* The most blocks that all of them can take: over all sizes, and all blocks that a use can want. */
tn_status tn_watched_most(const tn_watched_list *list, double *bram18, double *uram, tn_error *error);

/* What an option asks, as a label. Label 0 asks nothing. */
tn_status tn_watched_label(tn_watched_list *list, uint32_t u, uint64_t option, uint64_t *number,
                           tn_error *error);

/* What two labels ask together; `user`: a tn_watched_list. */
tn_status tn_watched_join(void *user, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error);

/* Whether some memory's last unit is u; adds those to the sums, by the cost of each dimension, and takes them out of
 * the labels. */
bool tn_watched_close_with(const tn_watched_list *list, uint32_t u);
tn_status tn_watched_close(tn_watched_list *list, uint32_t u, const tn_layer_cost *cost, tn_sums *sums,
                           tn_error *error);

#endif
