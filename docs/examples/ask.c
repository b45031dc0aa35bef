/* Asks tenfold one question: cc ask.c $(pkg-config --cflags --libs tenfold) -o ask && ./ask */
#include <stdio.h>
#include <tenfold.h>

static const char usual[] = "{\"command\": \"cost\", \"arguments\": [\"atis-2enc\"],"
                            " \"options\": {\"device\": \"u50\", \"set\": {\"build.rows\": 8}}}";

int main(int argc, char **argv) {
    char *answer, text[2048];
    tn_error error = {0};
    if (tn_ask(argc > 1 ? argv[1] : usual, &answer, &error) != TN_OK) {
        tn_error_text(&error, text, sizeof text);
        fprintf(stderr, "%s\n", text); /* error.file, .line, .column, .message: the same as a structure */
        return 1;
    }
    fputs(answer, stdout);
    tn_answer_free(answer);
    return 0;
}
