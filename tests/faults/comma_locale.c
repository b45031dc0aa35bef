/* Loaded before the program (LD_PRELOAD): a host that sets the locale of its environment, as desktop programs do. The
 * programs that it starts are left alone. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdlib.h>

__attribute__((constructor)) static void set(void) {
    setlocale(LC_ALL, "");
    unsetenv("LD_PRELOAD");
}
