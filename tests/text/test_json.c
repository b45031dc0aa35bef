#include "text/json.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>

static void layout(void **state) {
    (void)state;
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "name", "a \"b\"\\\n\t\x01");
    tn_json_put_count(&json, "count", UINT64_MAX);
    tn_json_put_real(&json, "share", 0.1);
    tn_json_put_real(&json, "unknown", NAN);
    tn_json_put_bool(&json, "fits", true);
    tn_json_put_text(&json, "nothing", NULL);
    tn_json_key(&json, "path");
    tn_json_row(&json);
    tn_json_row(&json);
    tn_json_count(&json, 0);
    tn_json_count(&json, 1);
    tn_json_end(&json);
    tn_json_object(&json);
    tn_json_put_bool(&json, "x", false);
    tn_json_end(&json);
    tn_json_end(&json);
    tn_json_key(&json, "empty");
    tn_json_array(&json);
    tn_json_end(&json);
    tn_json_key(&json, "layers");
    tn_json_array(&json);
    tn_json_object(&json);
    tn_json_end(&json);
    tn_json_null(&json);
    tn_json_end(&json);
    tn_json_end(&json);
    assert_int_equal(out.status, TN_OK);
    assert_string_equal(out.data, "{\n"
                                  "  \"name\": \"a \\\"b\\\"\\\\\\n\\t\\u0001\",\n"
                                  "  \"count\": 18446744073709551615,\n"
                                  "  \"share\": 0.1,\n"
                                  "  \"unknown\": null,\n"
                                  "  \"fits\": true,\n"
                                  "  \"nothing\": null,\n"
                                  "  \"path\": [[0, 1], {\"x\": false}],\n"
                                  "  \"empty\": [],\n"
                                  "  \"layers\": [\n"
                                  "    {},\n"
                                  "    null\n"
                                  "  ]\n"
                                  "}\n");
    tn_buffer_free(&out);
}

/* Another parser reads what was meant, whatever bytes the text has. */
static void read_by_jansson(void **state) {
    (void)state;
    static const char text[] = "caf\xc3\xa9 \xf0\x9f\x98\x80 \xed\xa0\x80 \xc0\xaf \xff \xe2\x82";
    static const char clean[] = "caf\xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                                "\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd";
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_array(&json);
    tn_json_text(&json, text);
    for (int c = 1; c < 128; c++) tn_json_text(&json, (char[]){(char)c, '\0'});
    tn_json_real(&json, -1.25e-7);
    tn_json_end(&json);
    json_t *read = json_loads(out.data, 0, NULL);
    assert_non_null(read);
    assert_string_equal(json_string_value(json_array_get(read, 0)), clean);
    for (int c = 1; c < 128; c++)
        assert_string_equal(json_string_value(json_array_get(read, (size_t)c)), ((char[]){(char)c, '\0'}));
    assert_true(json_real_value(json_array_get(read, 128)) == -1.25e-7);
    json_decref(read);
    tn_buffer_free(&out);
}

static void too_deep_fails_the_buffer(void **state) {
    (void)state;
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    for (int i = 0; i < TN_JSON_LEVELS - 1; i++) tn_json_array(&json);
    assert_int_equal(out.status, TN_OK);
    tn_json_array(&json);
    assert_int_equal(out.status, TN_LIMIT);
    tn_buffer_free(&out);
}

static void no_memory_is_kept(void **state) {
    (void)state;
    tn_buffer out = {0};
    tn_json json;
    tn_memory_fail_at(1);
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_count(&json, "a", 1);
    tn_json_end(&json);
    tn_memory_fail_at(0);
    assert_int_equal(out.status, TN_MEMORY);
    tn_buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout), cmocka_unit_test(read_by_jansson),
                                       cmocka_unit_test(too_deep_fails_the_buffer),
                                       cmocka_unit_test(no_memory_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
