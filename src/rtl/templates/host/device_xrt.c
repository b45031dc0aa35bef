/* A card through XRT, by its C API (xrt/xrt_device.h, xrt_bo.h, xrt_kernel.h). It has never been run, nor compiled against XRT's
 * own headers: no card was at hand. `make xrt` compiles it where XILINX_XRT says where XRT is. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

struct tenfold_device {
    xrtDeviceHandle card;
    xrtKernelHandle kernel;
};

static int tell(const char *call) {
    fprintf(stderr, "host: %s failed\n", call);
    return 1;
}

tenfold_device *tenfold_device_open(const char *where) {
    tenfold_device *device = calloc(1, sizeof *device);
    xuid_t uuid;
    if (!device) return NULL;
    device->card = xrtDeviceOpen(0);
    if (!device->card) {
        tell("xrtDeviceOpen");
    } else if (xrtDeviceLoadXclbinFile(device->card, *where ? where : "vitis/tenfold.xclbin") != 0) {
        tell("xrtDeviceLoadXclbinFile");
    } else if (xrtDeviceGetXclbinUUID(device->card, uuid) != 0) {
        tell("xrtDeviceGetXclbinUUID");
    } else {
        device->kernel = xrtPLKernelOpenExclusive(device->card, uuid, "shell"); /* its registers are read */
        if (device->kernel) return device;
        tell("xrtPLKernelOpenExclusive");
    }
    tenfold_device_close(device);
    return NULL;
}

static int read_register(const tenfold_device *device, uint32_t offset, uint32_t *value) {
    return xrtKernelReadRegister(device->kernel, offset, value) != 0;
}

static int read_registers(const tenfold_device *device, tenfold_told *told) {
    uint32_t low, high;
    if (read_register(device, TENFOLD_ERROR, &told->error) ||
        read_register(device, TENFOLD_RUNS, &told->runs) || read_register(device, TENFOLD_CYCLES, &low) ||
        read_register(device, TENFOLD_CYCLES + 4, &high))
        return tell("xrtKernelReadRegister");
    told->cycles = (uint64_t)high << 32 | low;
    return 0;
}

static int run_kernel(const tenfold_device *device, xrtBufferHandle records, xrtBufferHandle answers,
                      uint32_t number) {
    xrtRunHandle run = xrtKernelRun(device->kernel, records, answers, number);
    if (!run) return tell("xrtKernelRun");
    const int failed = xrtRunWait(run) != ERT_CMD_STATE_COMPLETED;
    xrtRunClose(run);
    return failed ? tell("xrtRunWait") : 0;
}

static int run_job(const tenfold_device *device, xrtBufferHandle to, xrtBufferHandle from,
                   const tenfold_record *record, uint32_t records, uint32_t *answer, uint32_t answers,
                   tenfold_told *told) {
    const size_t sent = (size_t)records * sizeof *record, got = (size_t)answers * sizeof *answer;
    if (!to || !from) return tell("xrtBOAlloc");
    if (xrtBOWrite(to, record, sent, 0) != 0) return tell("xrtBOWrite");
    if (xrtBOSync(to, XCL_BO_SYNC_BO_TO_DEVICE, sent, 0) != 0) return tell("xrtBOSync");
    if (run_kernel(device, to, from, records) != 0 || read_registers(device, told) != 0) return 1;
    if (answers == 0) return 0;
    if (xrtBOSync(from, XCL_BO_SYNC_BO_FROM_DEVICE, got, 0) != 0) return tell("xrtBOSync");
    return xrtBORead(from, answer, got, 0) != 0 ? tell("xrtBORead") : 0;
}

/* Buffers of a card are multiples of 4 KiB in place and size. */
static size_t whole_pages(size_t bytes) {
    return (bytes / 4096 + 1) * 4096;
}

int tenfold_device_run(tenfold_device *device, const tenfold_record *record, uint32_t records,
                       uint32_t *answer, uint32_t answers, tenfold_told *told) {
    xrtBufferHandle to =
        xrtBOAlloc(device->card, whole_pages((size_t)records * sizeof *record), XRT_BO_FLAGS_NONE,
                   (xrtMemoryGroup)xrtKernelArgGroupId(device->kernel, 0));
    xrtBufferHandle from =
        xrtBOAlloc(device->card, whole_pages((size_t)answers * sizeof *answer), XRT_BO_FLAGS_NONE,
                   (xrtMemoryGroup)xrtKernelArgGroupId(device->kernel, 1));
    const int failed = run_job(device, to, from, record, records, answer, answers, told);
    if (to) xrtBOFree(to);
    if (from) xrtBOFree(from);
    return failed;
}

void tenfold_device_close(tenfold_device *device) {
    if (device->kernel) xrtKernelClose(device->kernel);
    if (device->card) xrtDeviceClose(device->card);
    free(device);
}
