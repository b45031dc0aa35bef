/* See xrt_kernel.h beside it. */
#ifndef TENFOLD_TEST_XRT_BO_H
#define TENFOLD_TEST_XRT_BO_H

#include "xrt/xrt_device.h"

typedef void *xrtBufferHandle;
typedef uint64_t xrtBufferFlags;
typedef uint32_t xrtMemoryGroup;
enum { XRT_BO_FLAGS_NONE };
enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };

xrtBufferHandle xrtBOAlloc(xrtDeviceHandle device, size_t size, xrtBufferFlags flags, xrtMemoryGroup group);
int xrtBOFree(xrtBufferHandle buffer);
int xrtBOSync(xrtBufferHandle buffer, enum xclBOSyncDirection direction, size_t size, size_t offset);
int xrtBOWrite(xrtBufferHandle buffer, const void *data, size_t size, size_t seek);
int xrtBORead(xrtBufferHandle buffer, void *data, size_t size, size_t skip);

#endif
