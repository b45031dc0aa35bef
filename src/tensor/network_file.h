/* The network file (docs/network-file.md): a tensor network whose tensors and indices have names.
 *
 *     kind: network
 *     name: product
 *     sizes: {rows: 32, inner: 64, columns: 8}
 *     tensors:
 *       - {name: A, indices: [rows, inner]}
 *       - {name: B, indices: [inner, columns]}
 *     output: [rows, columns]
 *
 * or, in place of `tensors` and `output`, `einsum: ab,bc->ac` (tensor/einsum.h).
 */
#ifndef TN_TENSOR_NETWORK_FILE_H
#define TN_TENSOR_NETWORK_FILE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/network.h"
#include "text/yaml.h"

/* `path` names the file; *name is its `name:`, or "". Everything lives in the arena. */
tn_status tn_network_load(const char *path, tn_arena *arena, tn_network *network, const char **name,
                          tn_error *error);
tn_status tn_network_decode(const tn_yaml *root, tn_arena *arena, tn_network *network, const char **name,
                            tn_error *error);

/* The tables of docs/network-file.md. */
void tn_network_file_document(tn_buffer *out);

#endif
