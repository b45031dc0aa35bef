/* map.json and map.h: every parameter is found, element by element, in the images of the memories by the map alone; both
 * files name the same places. */
#include "base/file.h"
#include "base/memory.h"
#include "support/program.h"
#include "support/shared.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no %s", key);
    return (uint64_t)json_integer_value(value);
}

static char *text_of(const char *folder, const char *name, size_t *length) {
    char path[512], *text;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(tn_file_read(path, 1 << 26, &text, length, NULL), TN_OK);
    return text;
}

typedef struct {
    uint64_t bank, word, element;
} place;

static place place_of(const json_t *parameter, const uint64_t *x) {
    const json_t *axes = json_object_get(parameter, "axes");
    uint64_t first = number(parameter, "first"), second = number(parameter, "second"), low = 0, high = 0;
    place found = {.word = number(parameter, "base")};
    for (size_t k = 0; k < json_array_size(axes); k++) {
        uint64_t entry = (uint64_t)json_integer_value(json_array_get(json_array_get(axes, k), x[k]));
        found.word += entry & 0xffffff;
        low += (entry >> 24 & 255) % first;
        high += (entry >> 24 & 255) / first;
        found.element += entry >> 32;
    }
    found.bank = low % first + high % second * first;
    return found;
}

/* The element's bits in the image of its memory before the program. */
static uint32_t bits_of(const char *folder, const json_t *memory, place at) {
    char name[64], digits[9] = "";
    size_t length;
    uint64_t each = number(memory, "image_banks") / number(memory, "banks"),
             word = number(memory, "image_word"), line = word * 8 + 1;
    assert_true(at.bank < number(memory, "banks") && at.element < each * word);
    snprintf(name, sizeof name, "memory%d_%03d.hex", (int)number(memory, "image"),
             (int)(at.bank * each + at.element / word));
    char *text = text_of(folder, name, &length);
    uint64_t begin = at.word * line + (word - 1 - at.element % word) * 8;
    assert_true(begin + 8 <= length);
    memcpy(digits, text + begin, 8);
    tn_free(text);
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* The axes of all parameters beside each other: the places of their last elements as map.h has them. */
static void check_header(const char *folder, const char *wanted) {
    char command[1024];
    snprintf(
        command, sizeof command,
        "cd '%s' && printf '%%s\\n' '#include \"map.h\"' '#include <stdio.h>' 'int main(void) {' "
        "'for (const tenfold_array *a = tenfold_parameters; a->name; a++) {' 'uint32_t x[10];' "
        "'for (uint32_t k = 0; k < a->axes; k++) x[k] = a->size[k] - 1;' "
        "'printf(\"%%s %%llu\\n\", a->name, (unsigned long long)tenfold_place(a, x)); }' "
        "'return !tenfold_sample || !tenfold_losses; }' >places.c && cc -std=c99 -w -o places places.c && "
        "./places",
        folder);
    test_run run = test_shell(command);
    if (run.status != 0 || strcmp(run.out, wanted) != 0) fail_msg("%s\nis not\n%s", run.out, wanted);
    test_run_free(&run);
}

static void check_model(const char *model, const char *options) {
    char folder[] = "map-XXXXXX", command[1024], wanted[4096] = "";
    size_t length, elements_seen = 0;
    json_error_t where;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "'%s' rtl '%s' -o '%s' --update %s", TEST_PROGRAM, test_source(model),
             folder, options);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s", run.err);
    test_run_free(&run);
    char *text = text_of(folder, "map.json", &length);
    json_t *map = json_loadb(text, length, 0, &where);
    if (!map) fail_msg("map.json:%d: %s", where.line, where.text);
    tn_free(text);
    const json_t *parameters = json_object_get(map, "parameters");
    assert_true(json_array_size(parameters) > 3 && json_array_size(json_object_get(map, "losses")) > 0);
    for (size_t p = 0; p < json_array_size(parameters); p++) {
        const json_t *parameter = json_array_get(parameters, p), *axes = json_object_get(parameter, "axes");
        const json_t *memory = json_array_get(json_object_get(map, "memories"), number(parameter, "memory"));
        const char *name = json_string_value(json_object_get(parameter, "name"));
        uint64_t elements = 1;
        char file[128];
        for (size_t k = 0; k < json_array_size(axes); k++)
            elements *= json_array_size(json_array_get(axes, k));
        snprintf(file, sizeof file, "operands/%s.npy", name);
        char *values = text_of(folder, file, &length);
        assert_true(length >= 4 * elements);
        place at = {0};
        for (uint64_t i = 0; i < elements; i++) {
            uint64_t x[10] = {0}, rest = i;
            uint32_t given;
            for (size_t k = json_array_size(axes); k-- > 0;) {
                x[k] = rest % json_array_size(json_array_get(axes, k));
                rest /= json_array_size(json_array_get(axes, k));
            }
            at = place_of(parameter, x);
            memcpy(&given, values + length - 4 * elements + 4 * i, 4);
            uint32_t found = bits_of(folder, memory, at);
            if (found != given) fail_msg("%s[%d]: %08x where %08x was put", name, (int)i, found, given);
            elements_seen += given != 0;
        }
        tn_free(values);
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s %llu\n", name,
                 (unsigned long long)(at.word | at.bank << 24 | at.element << 32));
    }
    assert_true(elements_seen > 20);
    check_header(folder, wanted);
    json_decref(map);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

static void test_parameters(void **state) {
    (void)state;
    check_model("tests/rtl/data/kernels.yaml", "");
    check_model("tests/rtl/data/fused.yaml",
                "--set build.split=auto --set build.rows=4 --set build.vector=8");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
