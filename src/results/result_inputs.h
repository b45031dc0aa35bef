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

/* Of a file of a folder, which anybody may have made. */
enum { TN_RESULT_FILE_BYTES_MOST = 256 << 20 };

/* Writes FOLDER/NAME and frees the contents, also where that fails. */
tn_status tn_result_file_write(const char *folder, const char *name, tn_buffer *contents, tn_error *error);

/* Writes the inputs; and puts the object `sha256` of sweep.json, a hash by the stem of each file. */
tn_status tn_result_inputs_write(const char *folder, const tn_space *space, tn_error *error);
tn_status tn_result_inputs_hashes(const tn_space *space, tn_json *json, tn_error *error);

/* Loads its sweep.json, an object; free it with json_decref. Its path lives in `arena`. */
tn_status tn_result_record_load(const char *folder, tn_arena *arena, const char **path, json_t **record,
                                tn_error *error);

/* Loads the space of a folder from its own copies; those that have not the hashes of `record`, its sweep.json, are
 * TN_INPUT. Lives in `arena`. */
tn_status tn_result_inputs_load(const json_t *record, const char *folder, tn_arena *arena, tn_space *space,
                                tn_error *error);

#endif
