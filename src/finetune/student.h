/* 95 % intervals by Student's t distribution. */
#ifndef TN_FINETUNE_STUDENT_H
#define TN_FINETUNE_STUDENT_H

/* Half the width of the interval of a quantity with that variance, estimated with `degrees` of freedom > 0. A
 * variance that rounding made negative counts as 0. */
double tn_student_half_width(double variance, double degrees);

#endif
