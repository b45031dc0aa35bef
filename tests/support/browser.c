#include "support/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_ms = 60000 };

struct test_browser {
    pid_t process;
    int requests, answers; /* messages as JSON, each ended by a zero byte */
    char session[128];
    json_int_t asked;
    unsigned errors; /* of the console */
    char *text;      /* what has come and was not read yet */
    size_t length, room;
};

bool test_browser_there(void) {
    return system("command -v chromium >/dev/null 2>&1") == 0;
}

static void become_browser(int input, int out, const char *profile) {
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 0), dup2(nowhere, 1), dup2(nowhere, 2);
    /* The two ends first go where neither 3 nor 4 is. */
    input = fcntl(input, F_DUPFD, 10), out = fcntl(out, F_DUPFD, 10);
    dup2(input, 3), dup2(out, 4);
    /* A page that nobody looks at would run at a lower priority than one in front. */
    execlp("chromium", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
           "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
           "--remote-debugging-pipe", profile, "about:blank", (char *)NULL);
    _exit(127);
}

static void put_message(test_browser *browser, const char *method, json_t *params) {
    json_t *message = json_pack("{s:I, s:s, s:o}", "id", ++browser->asked, "method", method, "params",
                                params ? params : json_object());
    if (browser->session[0]) json_object_set_new(message, "sessionId", json_string(browser->session));
    char *text = json_dumps(message, JSON_COMPACT);
    size_t length = strlen(text) + 1, put = 0;
    while (put < length) {
        ssize_t wrote = write(browser->requests, text + put, length - put);
        if (wrote < 0 && errno != EINTR) break;
        if (wrote > 0) put += (size_t)wrote;
    }
    free(text);
    json_decref(message);
}

/* The next message, NULL when none comes. */
static json_t *get_message(test_browser *browser) {
    for (;;) {
        char *end = browser->length ? memchr(browser->text, 0, browser->length) : NULL;
        if (end) {
            json_t *message = json_loads(browser->text, 0, NULL);
            browser->length -= (size_t)(end + 1 - browser->text);
            memmove(browser->text, end + 1, browser->length);
            return message;
        }
        if (browser->room < browser->length + 65536) {
            browser->room = 2 * browser->room + 131072;
            browser->text = realloc(browser->text, browser->room);
            if (!browser->text) abort();
        }
        struct pollfd wait = {.fd = browser->answers, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_ms) <= 0) return NULL;
        ssize_t got =
            read(browser->answers, browser->text + browser->length, browser->room - browser->length);
        if (got <= 0) return NULL;
        browser->length += (size_t)got;
    }
}

static bool is_error(const json_t *event) {
    const char *method = json_string_value(json_object_get(event, "method"));
    const json_t *params = json_object_get(event, "params"), *entry = json_object_get(params, "entry");
    const char *type = json_string_value(json_object_get(params, "type")),
               *level = json_string_value(json_object_get(entry, "level"));
    if (!method) return false;
    if (strcmp(method, "Runtime.exceptionThrown") == 0) return true;
    if (strcmp(method, "Runtime.consoleAPICalled") == 0) return type && strcmp(type, "error") == 0;
    return strcmp(method, "Log.entryAdded") == 0 && level && strcmp(level, "error") == 0;
}

unsigned test_browser_errors(const test_browser *browser) {
    return browser->errors;
}

json_t *test_browser_ask(test_browser *browser, const char *method, json_t *params) {
    put_message(browser, method, params);
    for (json_t *message; (message = get_message(browser)); json_decref(message)) {
        browser->errors += is_error(message);
        if (json_integer_value(json_object_get(message, "id")) != browser->asked) continue; /* an event */
        json_t *result = json_incref(json_object_get(message, "result"));
        json_decref(message);
        return result;
    }
    return NULL;
}

test_browser *test_browser_open(const char *folder) {
    int destination[2], source[2];
    char profile[512];
    snprintf(profile, sizeof profile, "--user-data-dir=%s", folder);
    test_browser *browser = calloc(1, sizeof *browser);
    if (!browser || pipe(destination) != 0 || pipe(source) != 0) abort();
    signal(SIGPIPE, SIG_IGN);
    browser->process = fork();
    if (browser->process == 0) {
        setenv("HOME", folder, 1);
        become_browser(destination[0], source[1], profile);
    }
    close(destination[0]), close(source[1]);
    browser->requests = destination[1], browser->answers = source[0];
    json_t *target =
        test_browser_ask(browser, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
    json_t *session =
        test_browser_ask(browser, "Target.attachToTarget",
                         json_pack("{s:s?, s:b}", "targetId",
                                   json_string_value(json_object_get(target, "targetId")), "flatten", 1));
    const char *name = json_string_value(json_object_get(session, "sessionId"));
    if (name) snprintf(browser->session, sizeof browser->session, "%s", name);
    json_decref(target);
    json_decref(session);
    if (browser->session[0]) {
        json_decref(test_browser_ask(browser, "Runtime.enable", NULL));
        json_decref(test_browser_ask(browser, "Log.enable", NULL));
        return browser;
    }
    test_browser_close(browser);
    return NULL;
}

json_t *test_browser_value(test_browser *browser, const char *expression) {
    json_t *result = test_browser_ask(browser, "Runtime.evaluate",
                                      json_pack("{s:s, s:b}", "expression", expression, "returnByValue", 1));
    json_t *value = json_object_get(result, "exceptionDetails")
                        ? NULL
                        : json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_decref(result);
    return value;
}

static bool is_true(test_browser *browser, const char *expression) {
    json_t *value = test_browser_value(browser, expression);
    bool yes = json_is_true(value);
    json_decref(value);
    return yes;
}

bool test_browser_visit(test_browser *browser, const char *url, const char *ready) {
    /* By way of an empty page: what is awaited must not be found in the page before. */
    json_decref(test_browser_ask(browser, "Page.navigate", json_pack("{s:s}", "url", "about:blank")));
    json_decref(test_browser_ask(browser, "Page.navigate", json_pack("{s:s}", "url", url)));
    for (int waited_ms = 0; waited_ms < PATIENCE_ms; waited_ms += 20) {
        if (is_true(browser, ready)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return false;
}

bool test_browser_press(test_browser *browser, const char *key) {
    static const struct {
        const char *name;
        int code;
    } codes[] = {{"Tab", 9},        {"Enter", 13},   {"Escape", 27},     {"End", 35},      {"Home", 36},
                 {"ArrowLeft", 37}, {"ArrowUp", 38}, {"ArrowRight", 39}, {"ArrowDown", 40}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(codes[i].name, key) != 0) continue;
        json_t *down = json_pack("{s:s, s:s, s:s, s:i}", "type", "rawKeyDown", "key", key, "code", key,
                                 "windowsVirtualKeyCode", codes[i].code);
        if (codes[i].code == 13) { /* a button is pressed by its character */
            json_object_set_new(down, "type", json_string("keyDown"));
            json_object_set_new(down, "text", json_string("\r"));
        }
        json_decref(test_browser_ask(browser, "Input.dispatchKeyEvent", down));
        json_decref(test_browser_ask(browser, "Input.dispatchKeyEvent",
                                     json_pack("{s:s, s:s, s:s, s:i}", "type", "keyUp", "key", key, "code",
                                               key, "windowsVirtualKeyCode", codes[i].code)));
        return true;
    }
    return false;
}

void test_browser_click(test_browser *browser, double x, double y) {
    for (int released = 0; released < 2; released++)
        json_decref(test_browser_ask(browser, "Input.dispatchMouseEvent",
                                     json_pack("{s:s, s:f, s:f, s:s, s:i}", "type",
                                               released ? "mouseReleased" : "mousePressed", "x", x, "y", y,
                                               "button", "left", "clickCount", 1)));
}

void test_browser_close(test_browser *browser) {
    browser->session[0] = 0;
    put_message(browser, "Browser.close", NULL);
    close(browser->requests);
    for (json_t *message; (message = get_message(browser));) json_decref(message);
    close(browser->answers);
    waitpid(browser->process, NULL, 0);
    free(browser->text);
    free(browser);
}
