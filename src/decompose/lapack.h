/* The LAPACK routines of OpenBLAS that this room calls, by their Fortran names: 32-bit integers, column-major
 * matrices, hidden text lengths left out as every C caller on this ABI does. Internal to the room.
 * Dimensions are checked to fit 32 bits where matrices enter (decompose/dense.h). */
#ifndef TN_DECOMPOSE_LAPACK_H
#define TN_DECOMPOSE_LAPACK_H

/* Singular values and vectors, divide and conquer. */
void dgesdd_(const char *job, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork,
             int *info);
/* QR factorisation by Householder reflectors, and the orthogonal factor formed. */
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
             double *work, const int *lwork, int *info);
/* Eigenvalues of a symmetric tridiagonal matrix. */
void dsterf_(const int *n, double *d, double *e, int *info);
/* Eigenvalues and vectors of a symmetric matrix. */
void dsyevd_(const char *job, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info);

#endif
