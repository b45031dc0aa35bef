/* Reference data: all of it in a shared folder beside the source tree, the small cases also in tests/oracles. Where it
 * is absent in both a test skips and says so. */
#ifndef TEST_SUPPORT_SHARED_H
#define TEST_SUPPORT_SHARED_H

/* Path of `name` under the shared folder (environment TENFOLD_SHARED, else ../shared beside the source tree),
 * else under tests/; NULL after printing "SKIPPED: NAME is absent" where it exists in neither. The text lives until the next 8
 * calls. */
const char *test_shared(const char *name);

/* The same, skipping the running cmocka test where it is absent. */
const char *test_shared_or_skip(const char *name);

/* Path of a file of the source tree; the text lives until the next 8 calls. */
const char *test_source(const char *name);

#endif
