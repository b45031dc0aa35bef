/* Local improvement of an allocation that keeps its budgets: single layers and pairs of layers change their
 * candidates as long as that lowers the objective within the budgets. Gives exact methods a good start. */
#ifndef TN_KNAPSACK_IMPROVE_H
#define TN_KNAPSACK_IMPROVE_H

#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stddef.h>

/* By how much an allocation breaks its budgets: the sum of the excesses, each in shares of its budget. */
double tn_knapsack_excess(const tn_knapsack *choices, const size_t *choice, const double *budget);

/* The same kind of walk towards the budgets, from an allocation that breaks some; true where it arrives. */
bool tn_knapsack_repair(const tn_knapsack *choices, const double *budget, size_t *choice);

/* choice[layers] fits the budgets and is changed in place. */
void tn_knapsack_improve(const tn_knapsack *choices, const double *budget, size_t *choice);

#endif
