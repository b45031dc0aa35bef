/* The C API of the card's runtime (XRT) as far as the host program calls it: names, parameters and results after its public
 * manual, for compilers where the runtime is not there. */
#ifndef TENFOLD_TEST_XRT_KERNEL_H
#define TENFOLD_TEST_XRT_KERNEL_H

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"

typedef void *xrtKernelHandle;
typedef void *xrtRunHandle;
enum ert_cmd_state { ERT_CMD_STATE_NEW = 1, ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_ERROR = 5 };

xrtKernelHandle xrtPLKernelOpenExclusive(xrtDeviceHandle device, const xuid_t uuid, const char *name);
int xrtKernelClose(xrtKernelHandle kernel);
int xrtKernelArgGroupId(xrtKernelHandle kernel, int argument);
int xrtKernelReadRegister(xrtKernelHandle kernel, uint32_t offset, uint32_t *data);
xrtRunHandle xrtKernelRun(xrtKernelHandle kernel, ...);
enum ert_cmd_state xrtRunWait(xrtRunHandle run);
int xrtRunClose(xrtRunHandle run);

#endif
