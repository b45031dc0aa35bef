/* The config.json of a published checkpoint (the hub's format) as a language-model file: sizes under the names that model
 * families give them. Trained as the shipped presets are: LoRA of rank 16 on every matrix of attention and feed-forward
 * layers, 16 bits, layers run forward again. */
#ifndef TN_FINETUNE_HUB_CONFIG_H
#define TN_FINETUNE_HUB_CONFIG_H

#include "text/yaml.h"

/* *tree = what such a file would say; `config` is the JSON file's tree. A family that is not known, a missing size or one
 * that is no whole number are TN_INPUT with their place. */
tn_status tn_hub_config_read(const tn_yaml *config, tn_arena *arena, tn_yaml **tree, tn_error *error);

#endif
