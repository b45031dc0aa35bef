/* NumPy's .npz: a zip archive of .npy members. */
#include "text/npy.h"
#include "text/zip.h"

#include <string.h>

static tn_status set_entry(tn_arrays *arrays, const tn_zip_member *member, tn_array_entry *entry,
                           tn_error *error) {
    size_t length = strlen(member->name);
    if (length <= 4 || strcmp(member->name + length - 4, ".npy") != 0)
        return tn_byte_source_fail(&arrays->source, error,
                                   "member \"%.100s\" is not a .npy file; an .npz holds nothing else",
                                   member->name);
    TN_TRY(tn_arena_copy_text(&arrays->arena, member->name, length - 4, &entry->info.name, error));
    entry->span = member->data;
    return tn_npy_entry(arrays, entry, error);
}

tn_status tn_npz_open(tn_arrays *arrays, tn_error *error) {
    tn_zip_member *member;
    size_t count;
    TN_TRY(tn_zip_directory(&arrays->source, &arrays->arena, &member, &count, error));
    TN_TRY(tn_arena_alloc(&arrays->arena, count, sizeof *arrays->entry, &arrays->entry, error));
    for (size_t i = 0; i < count; i++) TN_TRY(set_entry(arrays, &member[i], &arrays->entry[i], error));
    arrays->count = count;
    return tn_array_names(arrays, error);
}
