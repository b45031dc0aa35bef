/* float32 for any machine, and the choice among what this machine runs. */
#define TABLE tn_kernels_float32
#define SET   "portable"
#include "train/kernels_float32.inc"

size_t tn_kernels_float32_sets(const tn_kernels *set[TN_KERNEL_SETS]) {
    size_t count = 0;
#ifdef TENFOLD_X86_KERNELS
    if (__builtin_cpu_supports("avx512f")) set[count++] = &tn_kernels_float32_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        set[count++] = &tn_kernels_float32_avx2;
#endif
    set[count++] = &tn_kernels_float32;
    return count;
}

const tn_kernels *tn_kernels_of(tn_real real) {
    const tn_kernels *set[TN_KERNEL_SETS];
    if (real == TN_FLOAT64) return &tn_kernels_float64;
    tn_kernels_float32_sets(set);
    return set[0];
}
