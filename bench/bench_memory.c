/* Blocks of memories against the synthesiser itself: random widths, depths and styles, inferred by Yosys
 * (synth_xilinx -family xcup) and predicted with geometry `yosys`. Without Yosys it says so and measures the
 * prediction alone.
 *
 *     bench_memory [MEMORIES [SEED]] */
#include "device/block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 2000, DEPTH_MOST = 70000, BITS_MOST = 8000000, LINE = 256, GROUP_LUTS = 8 };

typedef struct {
    uint64_t width, depth;
    tn_memory_style style;
    tn_blocks inferred, predicted;
} sample;

static uint64_t state = 1;

static uint64_t below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

/* Depths of every order of magnitude: half of them at and just beside a power of two. */
static sample draw(void) {
    sample s = {.style = (tn_memory_style)(TN_STYLE_BLOCK + below(3))};
    uint64_t most = s.style == TN_STYLE_DISTRIBUTED ? 600 : DEPTH_MOST;
    do {
        s.width = 1 + below(below(2) ? 80 : 600);
        s.depth = 2 + below((uint64_t)4 << below(17));
        if (below(2)) s.depth = ((uint64_t)2 << below(16)) + below(3);
    } while (s.depth > most || s.width * s.depth > BITS_MOST);
    return s;
}

static void write_module(FILE *file, const sample *s, int number) {
    int address = 1;
    while ((uint64_t)1 << address < s->depth) address++;
    fprintf(file,
            "module m%d(input clk, we, input [%d:0] wa, ra, input [%" PRIu64 ":0] d, output reg [%" PRIu64
            ":0] q);\n"
            "(* ram_style = \"%s\" *) reg [%" PRIu64 ":0] mem [0:%" PRIu64 "];\n"
            "always @(posedge clk) begin if (we) mem[wa] <= d; q <= mem[ra]; end\nendmodule\n",
            number, address - 1, s->width - 1, s->width - 1, tn_memory_style_names[s->style], s->width - 1,
            s->depth - 1);
}

static void write_instance(FILE *file, const sample *s, int number) {
    int address = 1;
    while ((uint64_t)1 << address < s->depth) address++;
    fprintf(file,
            "wire [%" PRIu64 ":0] q%d; assign q[%d] = ^q%d;\n"
            "m%d i%d(.clk(clk), .we(x[0]), .wa(x[%d:0]), .ra(x[%d:8]), .d({10{x}}), .q(q%d));\n",
            s->width - 1, number, number, number, number, number, address - 1, address + 7, number);
}

static int write_design(const char *path, const sample *list, int count) {
    FILE *file = fopen(path, "w");
    if (!file) return -1;
    for (int i = 0; i < count; i++) write_module(file, &list[i], i);
    fprintf(file, "module top(input clk, input [63:0] x, output [%d:0] q);\n", count - 1);
    for (int i = 0; i < count; i++) write_instance(file, &list[i], i);
    fprintf(file, "endmodule\n");
    return fclose(file);
}

/* "     RAMB36E2                       50" under "=== m7 ===" */
static int read_report(const char *path, sample *list, int count) {
    FILE *file = fopen(path, "r");
    char line[LINE], name[LINE];
    int index = -1, seen = 0;
    uint64_t cells;
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "=== m%d ===", &index) == 1) {
            if (index >= count) index = -1;
            seen += index >= 0;
            continue;
        }
        if (strncmp(line, "===", 3) == 0) index = -1;
        if (index < 0 || sscanf(line, "%255s %" SCNu64, name, &cells) != 2) continue;
        tn_blocks *got = &list[index].inferred;
        if (strcmp(name, "RAMB18E2") == 0) got->bram18 += cells;
        if (strcmp(name, "RAMB36E2") == 0) got->bram36 += cells;
        if (strcmp(name, "URAM288") == 0) got->uram += cells;
        if (strcmp(name, "RAM32M16") == 0 || strcmp(name, "RAM64M8") == 0) got->lutram += GROUP_LUTS * cells;
    }
    fclose(file);
    return seen;
}

static int infer(sample *list, int count) {
    char folder[] = "/tmp/tenfold-memory-XXXXXX", verilog[LINE], report[LINE], command[3 * LINE];
    if (!mkdtemp(folder)) return 0;
    snprintf(verilog, sizeof verilog, "%s/memories.v", folder);
    snprintf(report, sizeof report, "%s/report", folder);
    snprintf(command, sizeof command,
             "yosys -q -p 'read_verilog %s; synth_xilinx -family xcup -uram -top top -run begin:map_ffram; "
             "tee -q -o %s stat' >/dev/null 2>&1",
             verilog, report);
    int seen = 0;
    if (write_design(verilog, list, count) == 0 && system(command) == 0)
        seen = read_report(report, list, count);
    remove(verilog);
    remove(report);
    remove(folder);
    return seen;
}

static const char *text(const tn_blocks *blocks, char *out) {
    snprintf(out, LINE, "%" PRIu64 " BRAM18, %" PRIu64 " BRAM36, %" PRIu64 " URAM, %" PRIu64 " LUT",
             blocks->bram18, blocks->bram36, blocks->uram, blocks->lutram);
    return out;
}

static int compare(const sample *list, int count) {
    int same = 0;
    char inferred[LINE], predicted[LINE];
    for (int i = 0; i < count; i++) {
        const sample *s = &list[i];
        if (memcmp(&s->inferred, &s->predicted, sizeof s->inferred) == 0)
            same++;
        else
            printf("%s %" PRIu64 " x %" PRIu64 ": synthesised %s; predicted %s\n",
                   tn_memory_style_names[s->style], s->width, s->depth, text(&s->inferred, inferred),
                   text(&s->predicted, predicted));
    }
    return same;
}

int main(int argc, char **argv) {
    static sample list[MOST];
    int count = argc > 1 ? atoi(argv[1]) : 200;
    if (argc > 2) state = strtoull(argv[2], NULL, 10) * 2 + 1;
    if (count < 1 || count > MOST) count = MOST;
    clock_t start = clock();
    for (int i = 0; i < count; i++) {
        list[i] = draw();
        if (tn_memory_blocks(TN_GEOMETRY_YOSYS, list[i].style, list[i].width, list[i].depth, false,
                             &list[i].predicted, NULL) != TN_OK)
            return EXIT_FAILURE;
    }
    printf("%d memories predicted in %.0f us\n", count, 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC);
    if (system("yosys -V >/dev/null 2>&1") != 0) {
        printf("SKIPPED: Yosys is absent, so predictions are not compared (package yosys)\n");
        return EXIT_SUCCESS;
    }
    int seen = infer(list, count);
    if (seen != count) {
        printf("Yosys reported %d of %d memories\n", seen, count);
        return EXIT_FAILURE;
    }
    int same = compare(list, count);
    printf("%d of %d memories as synthesised\n", same, count);
    return same == count ? EXIT_SUCCESS : EXIT_FAILURE;
}
