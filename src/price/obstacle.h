/* What keeps a design from being generated as hardware (docs/rtl.md): the key of the build or of the model for which there are
 * no templates. Facts of the keys alone, so that a sweep knows them before anything is generated: of a build's keys
 * `generated_as` of their rows (device/build.h), of a step its formats, operations and arrays.
 *
 * An obstacle is a number: 0 is none, and each of the others has a key that tells it, for files and people.
 */
#ifndef TN_PRICE_OBSTACLE_H
#define TN_PRICE_OBSTACLE_H

#include "base/error.h"
#include "device/build.h"
#include "model/step.h"

#include <stdint.h>

enum { TN_OBSTACLE_TEXT = 64 };
/* "build.sharing", "optimizer", "layers.causal"; "yes" of 0. In `text`, or static. */
const char *tn_obstacle_key(uint32_t obstacle, char text[TN_OBSTACLE_TEXT]);
/* The number of such a key; UINT32_MAX: it is none. */
uint32_t tn_obstacle_of_key(const char *key);

/* The first obstacle in a build's keys; in a step that has what the build fuses. */
uint32_t tn_build_obstacle(const tn_build *build);
uint32_t tn_step_obstacle(const tn_step *step);
/* That of arrays which live off chip, for whoever knows whether some do. */
extern const uint32_t tn_off_chip_obstacle;

/* The same as an error: TN_INPUT names the key, where it is and what could be instead. Of one layer alone what the
 * others are does not matter (UINT32_MAX: the whole step). */
tn_status tn_obstacle_check(const tn_step *step, const tn_build *build, uint32_t layer, tn_arena *arena,
                            tn_error *error);

#endif
