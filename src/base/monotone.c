#include "base/monotone.h"

#include "base/guard.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_interp.h>

static int interpolate(const double *x, const double *y, size_t count, double point, double *value) {
    tn_gsl_quiet();
    gsl_interp *interp = gsl_interp_alloc(count > 2 ? gsl_interp_steffen : gsl_interp_linear, count);
    int code = interp ? gsl_interp_init(interp, x, y, count) : GSL_ENOMEM;
    if (code == GSL_SUCCESS) code = gsl_interp_eval_e(interp, x, y, point, NULL, value);
    if (interp) gsl_interp_free(interp);
    tn_gsl_restore();
    return code;
}

tn_status tn_monotone_at(const double *x, const double *y, size_t count, double point, double *value,
                         tn_error *error) {
    if (count < 2 || !(point >= x[0] && point <= x[count - 1]))
        return tn_fail(error, TN_INPUT, "%g lies outside the measured points", point);
    int code = interpolate(x, y, count, point, value);
    if (code == GSL_SUCCESS) return TN_OK;
    return tn_fail(error, code == GSL_ENOMEM ? TN_MEMORY : TN_INPUT, "no curve through the points: %s",
                   gsl_strerror(code));
}
