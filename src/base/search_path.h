/* Finds models, devices and spaces by bare name.
 *
 * A name that holds a '/' or ends in ".yaml" is a path, taken as it is. Any other is looked up as
 * FOLDER/NAME.yaml in each folder of the environment variable TENFOLD_PATH (colon-separated), then in the
 * source tree, then in the installed data folder.
 */
#ifndef TN_BASE_SEARCH_PATH_H
#define TN_BASE_SEARCH_PATH_H

#include "base/error.h"
#include "base/memory.h"

/* `folder` is "models", "models/devices" or "spaces". Not found is TN_INPUT and suggests the nearest name. */
tn_status tn_search_path_find(const char *folder, const char *name, tn_arena *arena, const char **path,
                              tn_error *error);

/* As tn_search_path_find for a file whose whole name is known and must not be a path: "plots", "front.gp". */
tn_status tn_search_path_find_file(const char *folder, const char *file, tn_arena *arena, const char **path,
                                   tn_error *error);

/* All names of a folder on the search path, sorted, without ".yaml", each once. */
tn_status tn_search_path_list(const char *folder, tn_arena *arena, const char ***names, size_t *count,
                              tn_error *error);

#endif
