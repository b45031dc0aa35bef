/* What a host program sees of the generated hardware, on a card or in simulation: jobs of records (shell.sv). One API, two
 * backends: device_simulator.cpp has Verilator's model of the shell on a bus of its own, device_xrt.c a card. */
#ifndef TENFOLD_DEVICE_H
#define TENFOLD_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TENFOLD_WRITE, TENFOLD_READ, TENFOLD_START, TENFOLD_RESET };

/* As it lies in memory, little-endian. */
typedef struct tenfold_record {
    uint16_t memory;
    uint8_t bank, element;
    uint32_t word, data, what;
} tenfold_record;

/* Registers of the shell, read from it and written to it. */
enum {
    TENFOLD_CONTROL = 0x00,
    TENFOLD_RECORDS = 0x10,
    TENFOLD_ANSWERS = 0x18,
    TENFOLD_NUMBER = 0x20,
    TENFOLD_ERROR = 0x28,
    TENFOLD_RUNS = 0x2c,
    TENFOLD_CYCLES = 0x30
};

/* What they say behind a job. */
typedef struct tenfold_told {
    uint32_t error, runs;
    uint64_t cycles; /* of the runs */
} tenfold_told;

typedef struct tenfold_device tenfold_device;

/* where: of a card the file of its configuration (xclbin), of the simulation KEY=VALUE,... NULL, with a message on stderr, where
 * there is none. */
tenfold_device *tenfold_device_open(const char *where);

/* Does the records; answer[answers] has what their reads read. 0, or another number with a message on stderr. An error that
 * the shell tells is in `told` and no failure here. */
int tenfold_device_run(tenfold_device *device, const tenfold_record *record, uint32_t records,
                       uint32_t *answer, uint32_t answers, tenfold_told *told);

void tenfold_device_close(tenfold_device *device);

#ifdef __cplusplus
}
#endif

#endif
