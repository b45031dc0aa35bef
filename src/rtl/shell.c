#include "rtl/shell.h"

#include "base/file.h"
#include "device/device_data.h"
#include "model/graph.h"
#include "rtl/files.h"

#include <inttypes.h>
#include <string.h>

static const char *const shell_templates[] = {"shell.sv",          "fifo.sv",
                                              "shell.mk",          "host/host.c",
                                              "host/device.h",     "host/device_simulator.cpp",
                                              "host/device_xrt.c", "vitis/kernel.xml",
                                              "vitis/package.tcl", "vitis/synthesise.tcl",
                                              "vitis/pblocks.tcl", NULL};

/* Cards as the vendor's tools call them: part with speed grade, platform, the memory that the kernel's buffers lie in. */
typedef struct {
    const char *name, *part, *platform, *memory;
} card;
static const card cards[] = {
    {"u50", "xcu50-fsvh2104-2-e", "xilinx_u50_gen3x16_xdma_5_202210_1", "HBM[0]"},
    {"u55c", "xcu55c-fsvh2892-2L-e", "xilinx_u55c_gen3x16_xdma_3_202210_1", "HBM[0]"},
    {"u280", "xcu280-fsvh2892-2L-e", "xilinx_u280_gen3x16_xdma_1_202211_1", "HBM[0]"},
};

tn_status tn_rtl_shell_check(const tn_rtl_request *request, tn_error *error) {
    if (request->layer)
        return tn_fail(error, TN_INPUT, "--shell trains a whole step; leave --layer %s out", request->layer);
    if (tn_model_is_inference(request->model))
        return tn_fail(error, TN_INPUT,
                       "--shell trains; phase: inference has no loss that a host could read");
    return TN_OK;
}

/* A line of the host's: the class, then TOKEN:LABEL. */
static void put_examples(const tn_rtl_step_run *run, tn_buffer *out) {
    for (uint32_t i = 0; i < run->runs; i++) {
        const tn_example *example = &run->example[i];
        tn_buffer_format(out, "%" PRId32, example->intent);
        for (uint32_t t = 0; t < example->tokens; t++)
            tn_buffer_format(out, " %" PRIu32 ":%" PRId32, example->token[t],
                             example->slot ? example->slot[t] : -1);
        tn_buffer_text(out, "\n");
    }
}

/* Whether the engine leaves a third free of each kind of resource of one of the device's regions. */
static bool fits_region(const tn_device *device, const tn_rtl_resources *used) {
    const tn_resources there = tn_device_resources(device);
    const uint64_t regions = device->resources.slr > 0 ? device->resources.slr : 1;
    return 3 * regions * used->lut <= 2 * there.lut && 3 * regions * used->ff <= 2 * there.ff &&
           3 * regions * used->dsp <= 2 * there.dsp && 3 * regions * used->bram18 <= 2 * there.bram18 &&
           3 * regions * used->uram <= 2 * there.uram;
}

static const card *card_of(const tn_device *device) {
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strcmp(cards[i].name, device->name) == 0) return &cards[i];
    return NULL;
}

static void put_settings(const tn_device *device, bool one_region, tn_buffer *out) {
    const card *known = card_of(device);
    tn_buffer_format(
        out,
        "# What the other scripts take of this design and device. Never run by the vendor's tools.\n"
        "set part {%s}\nset period_ns %.4f\nset one_region %d\n",
        known          ? known->part
        : device->part ? device->part
                       : "",
        1000 / device->clock_MHz, one_region);
}

static void put_constraints(const tn_device *device, tn_buffer *out) {
    tn_buffer_format(out,
                     "# For synthesise.tcl alone: v++ brings the platform's clock. Never run.\n"
                     "create_clock -name ap_clk -period %.4f [get_ports ap_clk]\n",
                     1000 / device->clock_MHz);
}

static void put_link(const tn_device *device, bool one_region, tn_buffer *out) {
    const card *known = card_of(device);
    tn_buffer_text(out, "# v++ --link --config vitis/link.cfg; never run.\n");
    if (known)
        tn_buffer_format(out, "platform=%s\n", known->platform);
    else
        tn_buffer_text(out, "# platform= that of the card: it is not known here\n");
    tn_buffer_format(out,
                     "save-temps=1\n\n[clock]\nfreqHz=%.0f:shell_1\n\n"
                     "[connectivity]\nnk=shell:1:shell_1\nsp=shell_1.m_axi_gmem:%s\n",
                     1e6 * device->clock_MHz, known ? known->memory : "DDR[0]");
    if (one_region && device->resources.slr > 1) tn_buffer_text(out, "slr=shell_1:SLR0\n");
    tn_buffer_text(out, "\n[vivado]\nprop=run.impl_1.STEPS.PLACE_DESIGN.TCL.PRE=vitis/pblocks.tcl\n");
}

static tn_status put(const tn_rtl_step_run *run, const char *name, tn_buffer *text) {
    const char *path;
    tn_status status = text->status;
    if (status != TN_OK) tn_fail(run->error, status, "no memory for %s", name);
    if (status == TN_OK)
        status = tn_arena_format(run->arena, &path, run->error, "%s/%s", run->request->folder, name);
    if (status == TN_OK) status = tn_file_write(path, text->data, text->length, run->error);
    tn_buffer_free(text);
    return status;
}

tn_status tn_rtl_shell_write(const tn_rtl_step_run *run, const tn_rtl_resources *used) {
    const tn_device *device = run->request->device;
    const bool one_region = fits_region(device, used);
    static const char *const folders[] = {"host", "vitis"};
    const char *path;
    tn_buffer spaces = {0}, examples = {0}, settings = {0}, constraints = {0}, link = {0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        TN_TRY(tn_arena_format(run->arena, &path, run->error, "%s/%s", run->request->folder, folders[i]));
        TN_TRY(tn_folder_make(path, run->error));
    }
    TN_TRY(tn_rtl_templates_copy(shell_templates, run->request->folder, run->arena, run->error));
    tn_rtl_host_spaces(&spaces);
    TN_TRY(put(run, "shell.svh", &spaces));
    put_examples(run, &examples);
    TN_TRY(put(run, "examples.txt", &examples));
    put_settings(device, one_region, &settings);
    TN_TRY(put(run, "vitis/settings.tcl", &settings));
    put_constraints(device, &constraints);
    TN_TRY(put(run, "vitis/constraints.xdc", &constraints));
    put_link(device, one_region, &link);
    return put(run, "vitis/link.cfg", &link);
}
