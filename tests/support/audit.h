/* Audits a program against the definitions in program/program.h, written apart from the library: every set of
 * inputs a mask, every live sum counted anew. Asserts by cmocka. For up to 64 inputs. */
#ifndef TEST_SUPPORT_AUDIT_H
#define TEST_SUPPORT_AUDIT_H

#include "program/program.h"

/* `network` is the forward one that the program was made of. The program must make Y and, where it trains,
 * every gradient (dX unless !input_gradient), each once. */
void test_audit_program(const tn_network *network, const tn_program *program, bool input_gradient);

#endif
