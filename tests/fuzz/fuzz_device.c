/* Any bytes as a device file: refused with an error, or a device. */
#include "device/device.h"
#include "named_file.h"
#include "roofline/roofline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_device *device;
    tn_roofline *roofline;
    tn_error error;
    tn_status status = tn_device_load(named_file(data, size), NULL, 0, &arena, &device, &error);
    if (status == TN_OK && tn_device_kind_of(device) == TN_DEVICE_ROOFLINE)
        tn_roofline_of(device, &arena, &roofline, &error);
    tn_arena_free(&arena);
    return 0;
}
