#include "support/wording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static size_t texts;

size_t test_wordings(void) {
    return texts;
}

/* A word with a dot or an underscore between letters: front_csv, build.rows. Names of layers and arrays have hyphens and dots
 * (encoder1.query.core1, slot-head.weight), and are things, not keys. */
static bool is_raw_key(const char *word, size_t length) {
    static const char *const prefixes[] = {"build.", "weights.", "layers.", "optimizer.", "precision."};
    for (size_t i = 0; i < length; i++)
        if (word[i] == '_' && i > 0 && isalpha((unsigned char)word[i - 1]) &&
            isalpha((unsigned char)word[i + 1]))
            return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (length > strlen(prefixes[i]) && strncmp(word, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

/* A number of more than four digits in a row before its point, or with an exponent; ids of designs (behind "design") are
 * names. */
static bool is_bare_number(const char *word, size_t length) {
    size_t digits = 0, most = 0;
    bool number = length > 0;
    for (size_t i = 0; i < length; i++) {
        char c = word[i];
        number &= isdigit((unsigned char)c) || strchr("+-.,e%", c) != NULL;
        if (c == '.') break;
        digits = isdigit((unsigned char)c) ? digits + 1 : 0;
        if (digits > most) most = digits;
    }
    if (!number) return false;
    for (size_t i = 1; i + 1 < length; i++)
        if (word[i] == 'e' && isdigit((unsigned char)word[i - 1])) return true;
    return most > 4;
}

void test_wording(const char *text, const char *where) {
    const char *before = "";
    texts++;
    for (const char *c = text; *c;) {
        c += strspn(c, " \n\t(),:;=[]");
        size_t length = strcspn(c, " \n\t(:;=[]");
        while (length && c[length - 1] == ',') length--;
        if (length == 0) {
            c += *c != '\0';
            continue;
        }
        const bool announced = strncmp(before, "key ", 4) == 0; /* for who looks it up */
        if (is_raw_key(c, length) && !announced)
            fail_msg("%s: raw key '%.*s' in: %s", where, (int)length, c, text);
        if (is_bare_number(c, length) && strncasecmp(before, "design", 6) != 0)
            fail_msg("%s: bare number '%.*s' in: %s", where, (int)length, c, text);
        before = c;
        c += length;
    }
}
