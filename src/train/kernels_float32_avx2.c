/* float32 for machines with AVX2 and FMA; compiled with these, see CMakeLists.txt. */
#ifdef TENFOLD_X86_KERNELS
#define TABLE tn_kernels_float32_avx2
#define SET   "avx2"
#include "train/kernels_float32.inc"
#else
typedef int tn_kernels_float32_avx2_is_empty;
#endif
