#include "finetune/student.h"

#include "base/guard.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double tn_student_half_width(double variance, double degrees) {
    tn_gsl_quiet();
    double quantile = gsl_cdf_tdist_Pinv(0.975, degrees);
    tn_gsl_restore();
    return quantile * sqrt(fmax(variance, 0));
}
