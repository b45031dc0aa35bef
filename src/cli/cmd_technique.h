/* tenfold technique quantise: an array as a number format keeps it. */
#ifndef TN_CLI_CMD_TECHNIQUE_H
#define TN_CLI_CMD_TECHNIQUE_H

#include "cli/options.h"

extern const tn_command tn_command_technique_quantise;
/* Where the formats are from. */
extern const char tn_quantise_source[];

#endif
