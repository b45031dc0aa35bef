/* See xrt_kernel.h beside it. */
#ifndef TENFOLD_TEST_XRT_DEVICE_H
#define TENFOLD_TEST_XRT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

typedef void *xrtDeviceHandle;
typedef unsigned char xuid_t[16];

xrtDeviceHandle xrtDeviceOpen(unsigned int index);
int xrtDeviceClose(xrtDeviceHandle device);
int xrtDeviceLoadXclbinFile(xrtDeviceHandle device, const char *path);
int xrtDeviceGetXclbinUUID(xrtDeviceHandle device, xuid_t uuid);

#endif
