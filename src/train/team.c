#include "train/team.h"

void tn_team_wait(tn_team team) {
    if (team.members > 1) {
#pragma omp barrier
    }
}
