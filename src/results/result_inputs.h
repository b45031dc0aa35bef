/* The inputs of a sweep, as resolved, among the files of its folder, and their hashes in sweep.json:
 *   space.yaml, error_table.csv, accuracy_table.csv
 *   model.yaml, device.yaml                 where they are choices those of the first value, with
 *   model-2.yaml .., device-2.yaml ..       those of the others
 */
#ifndef TN_RESULTS_RESULT_INPUTS_H
#define TN_RESULTS_RESULT_INPUTS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"
#include "text/json.h"

#include <jansson.h>

/* Loads its sweep.json, an object; free it with json_decref. Its path lives in `arena`. */
tn_status tn_result_record_load(const char *folder, tn_arena *arena, const char **path, json_t **record,
                                tn_error *error);

/* Loads the space of a folder from its own copies; those that have not the hashes of `record`, its sweep.json, are
 * TN_INPUT. Lives in `arena`. */
tn_status tn_result_inputs_load(const json_t *record, const char *folder, tn_arena *arena, tn_space *space,
                                tn_error *error);

#endif
