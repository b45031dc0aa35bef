/* Trains on the generated hardware: loads the parameters, streams sentences, reads losses and parameters back.
 *
 *     host [-d DEVICE] [-e EXAMPLES] [-n STEPS] [-r RATE] [-j RECORDS] [-p PARAMETERS] [-o OUT]
 *
 * It runs in the folder that `tenfold rtl` wrote. DEVICE says where the hardware is (device.h). EXAMPLES (examples.txt) has a
 * sentence a line, a step each: its class, then TOKEN:LABEL for each token, all by number, -1 where there is none; STEPS of them
 * are taken (all), from the first one again where there are fewer. RATE is that of the updates (the generated one).
 * A job has at most RECORDS records (1048576), but one step at least. PARAMETERS (operands) and OUT (trained) are folders of
 * NAME.npy. Prints `step N loss X` for each step, and at the end steps, jobs and cycles. Exit status 0, or 1 with a message. */
#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include "map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what, const char *name) {
    fprintf(stderr, "host: %s: %s\n", name, what);
    exit(1);
}

static void *room(void *data, size_t count, size_t each) {
    void *grown = realloc(data, count * each + 1);
    if (!grown) fail("no memory", "records");
    return grown;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- jobs ---- */

/* A read's share in the loss of a step; 0: it is of a parameter. */
typedef struct {
    uint32_t step;
    double share;
} part;

typedef struct {
    tenfold_device *device;
    tenfold_record *record;
    uint32_t records, records_room, records_most;
    part *part; /* [answers] */
    uint32_t *answer;
    uint32_t answers, answers_room;
    double *loss; /* [steps] */
    uint64_t cycles;
    uint32_t jobs, runs;
} session;

static void put(session *job, uint32_t what, uint32_t memory, uint64_t place, uint32_t data) {
    if (job->records == job->records_room) {
        job->records_room = job->records_room ? 2 * job->records_room : 4096;
        job->record = room(job->record, job->records_room, sizeof *job->record);
    }
    job->record[job->records++] = (tenfold_record){.memory = (uint16_t)memory,
                                                   .bank = (uint8_t)(place >> 24),
                                                   .element = (uint8_t)(place >> 32),
                                                   .word = (uint32_t)(place & 0xffffff),
                                                   .data = data,
                                                   .what = what};
}

static void ask(session *job, uint32_t memory, uint64_t place, uint32_t step, double share) {
    if (job->answers == job->answers_room) {
        job->answers_room = job->answers_room ? 2 * job->answers_room : 4096;
        job->part = room(job->part, job->answers_room, sizeof *job->part);
    }
    job->part[job->answers++] = (part){step, share};
    put(job, TENFOLD_READ, memory, place, 0);
}

static void run(session *job) {
    tenfold_told told = {0};
    if (job->records == 0) return;
    job->answer = room(job->answer, job->answers, sizeof *job->answer);
    if (tenfold_device_run(job->device, job->record, job->records, job->answer, job->answers, &told) != 0)
        fail("the job failed", "device");
    if (told.error != 0) {
        fprintf(stderr, "host: the shell says error %u (shell.sv)\n", (unsigned)told.error);
        exit(1);
    }
    job->cycles += told.cycles;
    job->runs += told.runs;
    job->jobs++;
    job->records = 0;
}

/* Losses of the answers that a job brought. */
static void run_steps(session *job) {
    run(job);
    for (uint32_t i = 0; i < job->answers; i++)
        if (job->part[i].share != 0)
            job->loss[job->part[i].step] += job->part[i].share * (double)float_of(job->answer[i]);
    job->answers = 0;
}

/* ---- parameters ---- */

static size_t elements_of(const tenfold_array *array) {
    size_t elements = 1;
    for (uint32_t k = 0; k < array->axes; k++) elements *= array->size[k];
    return elements;
}

/* Where element i of an array in C order lies. */
static uint64_t place_of(const tenfold_array *array, size_t i) {
    uint32_t x[10] = {0};
    for (uint32_t k = array->axes; k-- > 0; i /= array->size[k]) x[k] = (uint32_t)(i % array->size[k]);
    return tenfold_place(array, x);
}

/* Of an .npy file of this array: the header, then single precision, little-endian, in C order. */
static uint32_t *read_values(const char *folder, const tenfold_array *array) {
    char path[4096];
    unsigned char begin[10];
    const size_t elements = elements_of(array);
    snprintf(path, sizeof path, "%s/%s.npy", folder, array->name);
    FILE *file = fopen(path, "rb");
    if (!file) fail(strerror(errno), path);
    if (fread(begin, 1, sizeof begin, file) != sizeof begin || memcmp(begin, "\x93NUMPY\x01", 7) != 0)
        fail("is no .npy file of version 1", path);
    const size_t length = begin[8] | (size_t)begin[9] << 8;
    char *header = room(NULL, length + 1, 1);
    if (fread(header, 1, length, file) != length) fail("ends in its header", path);
    header[length] = 0;
    if (!strstr(header, "'<f4'") || !strstr(header, "'fortran_order': False"))
        fail("holds no single precision in C order", path);
    free(header);
    uint32_t *value = room(NULL, elements + 1, sizeof *value);
    if (fread(value, sizeof *value, elements + 1, file) != elements)
        fail("holds another number of elements than the hardware", path);
    fclose(file);
    return value;
}

static void write_values(const char *folder, const tenfold_array *array, const uint32_t *value) {
    enum { HEADER = 128 };
    char path[4096], header[HEADER + 1], text[HEADER];
    int used = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (uint32_t k = 0; k < array->axes && used < HEADER - 24; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%u,", (unsigned)array->size[k]);
    snprintf(text + used, sizeof text - (size_t)used, "), }");
    snprintf(header, sizeof header, "%-*s\n", HEADER - 11, text);
    snprintf(path, sizeof path, "%s/%s.npy", folder, array->name);
    FILE *file = fopen(path, "wb");
    if (!file) fail(strerror(errno), path);
    const unsigned char begin[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, HEADER - 10, 0};
    if (fwrite(begin, 1, sizeof begin, file) != sizeof begin ||
        fwrite(header, 1, HEADER - 10, file) != HEADER - 10 ||
        fwrite(value, sizeof *value, elements_of(array), file) != elements_of(array) || fclose(file) != 0)
        fail("can't be written", path);
}

static void load_parameters(session *job, const char *folder) {
    for (const tenfold_array *array = tenfold_parameters; array->name; array++) {
        uint32_t *value = read_values(folder, array);
        for (size_t i = 0; i < elements_of(array); i++)
            put(job, TENFOLD_WRITE, array->memory, place_of(array, i), value[i]);
        free(value);
    }
}

static void store_parameters(session *job, const char *folder) {
    const uint32_t losses = job->answers;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) fail(strerror(errno), folder);
    for (const tenfold_array *array = tenfold_parameters; array->name; array++)
        for (size_t i = 0; i < elements_of(array); i++) ask(job, array->memory, place_of(array, i), 0, 0);
    run_steps(job);
    const uint32_t *value = job->answer + losses;
    for (const tenfold_array *array = tenfold_parameters; array->name; value += elements_of(array), array++)
        write_values(folder, array, value);
}

/* ---- sentences ---- */

typedef struct {
    uint32_t tokens, room;
    uint32_t *token;
    int32_t *label;
    int32_t intent;
} example;

/* One line; 0 at the end. */
static int read_example(FILE *file, const char *path, example *target) {
    char *line = NULL, *cursor, *end;
    size_t length = 0;
    if (getline(&line, &length, file) < 0) {
        free(line);
        return 0;
    }
    target->tokens = 0;
    target->intent = (int32_t)strtol(line, &end, 10);
    if (end == line) fail("a line begins with no class", path);
    for (cursor = end; *cursor == ' '; cursor = end) {
        const unsigned long token = strtoul(cursor, &end, 10);
        if (end == cursor || *end != ':') fail("a word is no TOKEN:LABEL", path);
        if (target->tokens == target->room) {
            target->room = target->room ? 2 * target->room : 64;
            target->token = room(target->token, target->room, sizeof *target->token);
            target->label = room(target->label, target->room, sizeof *target->label);
        }
        target->token[target->tokens] = (uint32_t)token;
        target->label[target->tokens++] = (int32_t)strtol(end + 1, &end, 10);
    }
    if (*cursor != '\n' && *cursor) fail("a word is no TOKEN:LABEL", path);
    free(line);
    return 1;
}

static int32_t label_of(const example *sentence, const tenfold_loss *loss, uint32_t row) {
    if (loss->of_example) return sentence->intent;
    return row < sentence->tokens ? sentence->label[row] : -1;
}

static void put_halves(session *job, uint32_t memory, uint32_t buffer, uint32_t number, uint32_t low,
                       uint32_t high) {
    const uint64_t place = (uint64_t)buffer << 24 | number;
    put(job, TENFOLD_WRITE, memory, place, low);
    put(job, TENFOLD_WRITE, memory, place | (uint64_t)1 << 32, high);
}

/* Of a row of a loss: its label, negative where it has none, and its share of the loss. */
static int32_t label_and_share(const example *sentence, const tenfold_loss *loss, uint32_t row,
                               float *share) {
    const int32_t label = label_of(sentence, loss, row);
    double labels = 0;
    for (uint32_t other = 0; other < loss->rows; other++) labels += label_of(sentence, loss, other) >= 0;
    *share = label >= 0 ? (float)(loss->mean ? loss->weight / labels : loss->weight) : 0;
    return label;
}

static void put_sample(session *job, const example *sentence, uint32_t buffer) {
    enum { WORDS = sizeof tenfold_sample / sizeof *tenfold_sample - 1 };
    for (uint32_t i = 0; i < WORDS; i++) {
        const tenfold_slot *slot = &tenfold_sample[i];
        const uint64_t token = slot->value < sentence->tokens ? sentence->token[slot->value] : 0;
        const uint64_t word = slot->kind == TENFOLD_TOKENS  ? sentence->tokens
                              : slot->kind == TENFOLD_FIXED ? slot->axis[slot->value]
                                                            : slot->axis[token / slot->below % slot->radix];
        put_halves(job, TENFOLD_HOST_SAMPLE, buffer, i, (uint32_t)word, (uint32_t)(word >> 32));
    }
    for (const tenfold_loss *loss = tenfold_losses; loss->layer; loss++)
        for (uint32_t row = 0; row < loss->rows; row++) {
            float share;
            const int32_t label = label_and_share(sentence, loss, row, &share);
            put_halves(job, TENFOLD_HOST_LABELS, buffer, loss->first_label + row,
                       label >= 0 ? (uint32_t)label : 0, bits_of(share));
        }
}

static void ask_losses(session *job, const example *sentence, uint32_t step) {
    for (const tenfold_loss *loss = tenfold_losses; loss->layer; loss++)
        for (uint32_t row = 0; row < loss->rows; row++) {
            float share;
            label_and_share(sentence, loss, row, &share);
            if (share != 0)
                ask(job, TENFOLD_HOST_ROWS, (uint64_t)2 << 32 | (loss->first_row + row), step, (double)share);
        }
}

/* The next sentence, from the beginning where the file ends. */
static void next_example(FILE *file, const char *path, example *target) {
    if (read_example(file, path, target)) return;
    rewind(file);
    if (!read_example(file, path, target)) fail("holds no sentence", path);
}

static uint32_t count_examples(FILE *file, const char *path) {
    example sentence = {0};
    uint32_t count = 0;
    while (read_example(file, path, &sentence)) count++;
    free(sentence.token);
    free(sentence.label);
    rewind(file);
    return count;
}

/* While a run takes one buffer, the next sentence goes to the other. */
static void train(session *job, const char *path, uint32_t steps) {
    FILE *file = fopen(path, "r");
    example sentence[2] = {{0}, {0}};
    if (!file) fail(strerror(errno), path);
    if (steps == 0) steps = count_examples(file, path);
    job->loss = calloc((size_t)steps + 1, sizeof *job->loss);
    if (!job->loss) fail("no memory", "losses");
    for (uint32_t step = 0; step < steps; step++) {
        if (step == 0) {
            next_example(file, path, &sentence[0]);
            put_sample(job, &sentence[0], 0);
        }
        put(job, TENFOLD_START, 0, 0, 0);
        if (step + 1 < steps) {
            next_example(file, path, &sentence[(step + 1) % 2]);
            put_sample(job, &sentence[(step + 1) % 2], (step + 1) % 2);
        }
        ask_losses(job, &sentence[step % 2], step);
        if (job->records >= job->records_most) run_steps(job);
    }
    fclose(file);
    for (int i = 0; i < 2; i++) {
        free(sentence[i].token);
        free(sentence[i].label);
    }
}

static uint32_t number_of(const char *text, const char *option) {
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || number > UINT32_MAX) fail("is no number", option);
    return (uint32_t)number;
}

int main(int count, char **argument) {
    const char *device = "", *examples = "examples.txt", *parameters = "operands", *out = "trained",
               *rate = NULL;
    session job = {.records_most = 1 << 20};
    uint32_t steps = 0;
    for (int option; (option = getopt(count, argument, "d:e:n:r:j:p:o:")) != -1;) {
        if (option == 'd') device = optarg;
        if (option == 'e') examples = optarg;
        if (option == 'n') steps = number_of(optarg, "-n");
        if (option == 'r') rate = optarg;
        if (option == 'j') job.records_most = number_of(optarg, "-j");
        if (option == 'p') parameters = optarg;
        if (option == 'o') out = optarg;
        if (option == '?') return 1;
    }
    job.device = tenfold_device_open(device);
    if (!job.device) return 1;
    put(&job, TENFOLD_RESET, 0, 0, 0);
    if (rate) put(&job, TENFOLD_WRITE, TENFOLD_HOST_RATE, 0, bits_of(strtof(rate, NULL)));
    load_parameters(&job, parameters);
    train(&job, examples, steps);
    store_parameters(&job, out);
    for (uint32_t step = 0; step < job.runs; step++)
        printf("step %u loss %.17g\n", (unsigned)step, job.loss[step]);
    printf("%u steps in %u jobs, %llu cycles\n", (unsigned)job.runs, (unsigned)job.jobs,
           (unsigned long long)job.cycles);
    tenfold_device_close(job.device);
    free(job.record);
    free(job.part);
    free(job.answer);
    free(job.loss);
    return 0;
}
