/* A headless Chromium that a test drives as a person would: by the DevTools protocol over a pipe. */
#ifndef TEST_SUPPORT_BROWSER_H
#define TEST_SUPPORT_BROWSER_H

#include <jansson.h>
#include <stdbool.h>

typedef struct test_browser test_browser;

/* Is there one? */
bool test_browser_there(void);
/* With a profile of its own in `folder`. NULL where it does not start. */
test_browser *test_browser_open(const char *folder);
/* A method of the protocol; takes `params` (NULL: none). The result, to be decref'd; NULL where the browser refuses or ends. */
json_t *test_browser_ask(test_browser *browser, const char *method, json_t *params);
/* Opens the page and waits until the expression is true in it; false after 60 s. */
bool test_browser_visit(test_browser *browser, const char *url, const char *ready);
/* What an expression is worth in the page (decref it), NULL where it throws. */
json_t *test_browser_value(test_browser *browser, const char *expression);
/* Presses and releases Tab, Enter, Home, ArrowRight... */
bool test_browser_press(test_browser *browser, const char *key);
/* Clicks with the left button there, in CSS pixels from the upper left of what is seen. */
void test_browser_click(test_browser *browser, double x, double y);
/* Errors so far: exceptions that nothing caught, console.error, and what the browser itself logs as one. */
unsigned test_browser_errors(const test_browser *browser);
void test_browser_close(test_browser *browser);

#endif
