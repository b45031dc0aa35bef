/* What the library offers to its users. A header that tenfold.h reaches wraps its declarations in these two:
 * they have C linkage for C++, and are the only ones that the shared library exports (the rest is compiled
 * with hidden visibility). Headers of the library's own use do without. */
#ifndef TN_BASE_PUBLIC_H
#define TN_BASE_PUBLIC_H

#ifdef __cplusplus
#define TN_PUBLIC_BEGIN                                                                                      \
    extern "C" {                                                                                             \
    _Pragma("GCC visibility push(default)")
#define TN_PUBLIC_END                                                                                        \
    _Pragma("GCC visibility pop")                                                                            \
    }
#else
#define TN_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define TN_PUBLIC_END   _Pragma("GCC visibility pop")
#endif

#endif
