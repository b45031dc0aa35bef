/* One flag that asks long work to stop at its next good place. The program sets it from SIGINT and SIGTERM.
 */
#ifndef TN_BASE_INTERRUPT_H
#define TN_BASE_INTERRUPT_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>

TN_PUBLIC_BEGIN

void tn_interrupt(void); /* safe in a signal handler */
void tn_interrupt_clear(void);
bool tn_interrupted(void);
/* True once somebody who asked learned that he is to stop: the work is ending, or was cut short. */
bool tn_interrupt_noticed(void);

/* A time limit for this thread's work: from so many seconds on, tn_interrupted() is true here, though nobody asked and
 * nothing counts as noticed. 0: no limit (any more). */
void tn_interrupt_after(double seconds);
/* Whether that time is up. */
bool tn_interrupt_is_due(void);

/* For short work that must end as it does without an interruption, such as writing down what was finished: between
 * the two, tn_interrupted() is false in this thread. They nest. */
void tn_interrupt_hold(void);
void tn_interrupt_release(void);

TN_PUBLIC_END

/* For long work that has a time limit of its own: TN_INTERRUPTED by interruptions, and after the deadline, a moment of
 * tn_clock_seconds (INFINITY: none). */
tn_status tn_check_time(double deadline, tn_error *error);

#endif
