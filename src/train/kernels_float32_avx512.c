/* float32 for machines with AVX-512; compiled with these, see CMakeLists.txt. */
#ifdef TENFOLD_X86_KERNELS
#define TABLE tn_kernels_float32_avx512
#define SET   "avx512"
#include "train/kernels_float32.inc"
#else
typedef int tn_kernels_float32_avx512_is_empty;
#endif
