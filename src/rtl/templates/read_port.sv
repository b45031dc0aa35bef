// Fetches blocks: from a place in a memory and a choice (a pattern in one of its phases) to words in order, four cycles
// later in the lanes. The first two of them go into the address of each bank; in the third the memory answers; in the
// fourth words are turned into order, and what the port's tables make of them (patterns.sv) is dealt to lanes.
module read_port #(
    parameter int MEMORIES = 3,
    parameter int MEMORY = 2,    // bits of a memory's number
    parameter int BANKS = 4,
    parameter int WORD = 4,
    parameter int ADDRESS = 16,
    parameter int ROTATE = 2,
    parameter int INSIDE = 2,
    parameter int CHOICE = 8,
    parameter logic [MEMORIES-1:0] SERVES = '1,  // memories that the port reads
    parameter logic [MEMORIES*ROTATE-1:0] MASK = '0,
    parameter logic [MEMORIES*ROTATE-1:0] TOP = '0
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              valid,
    input  logic                              first,    // phase 0
    input  logic [                CHOICE-1:0] choice,
    input  logic [                MEMORY-1:0] memory,
    input  logic [               ADDRESS-1:0] base,
    input  logic [                ROTATE-1:0] rotation,
    input  logic [                INSIDE-1:0] place,
    output logic [                CHOICE-1:0] choice1,  // a cycle later: which words?
    input  logic [                 BANKS-1:0] used1,
    input  logic [         BANKS*ADDRESS-1:0] offset1,
    output logic [              MEMORIES-1:0] read,     // two cycles later
    output logic [                 BANKS-1:0] used,
    output logic [         BANKS*ADDRESS-1:0] address,
    output logic [                CHOICE-1:0] choice2,
    input  logic [MEMORIES*BANKS*WORD*32-1:0] data,
    output logic                              valid3,   // three cycles later: words in order
    output logic                              first3,
    output logic [         BANKS*WORD*32-1:0] words
);
  // ---- the sum of the counters' shares, kept ----
  logic valid1, first1;
  logic [MEMORY-1:0] memory1;
  logic [ADDRESS-1:0] base1;
  logic [ROTATE-1:0] rotation1;
  logic [INSIDE-1:0] place1;
  flags #(.WIDTH(1), .CYCLES(1)) asked (.clk, .reset, .d(valid), .q(valid1));
  delay #(.WIDTH(1 + CHOICE + MEMORY + ADDRESS + ROTATE + INSIDE), .CYCLES(1)) summed (
      .clk,
      .d({first, choice, memory, base, rotation, place}),
      .q({first1, choice1, memory1, base1, rotation1, place1})
  );
  wire [ROTATE-1:0] mask1 = MASK[memory1*ROTATE+:ROTATE];
  wire [ROTATE-1:0] top1 = TOP[memory1*ROTATE+:ROTATE];

  // ---- addresses by bank ----
  logic [BANKS-1:0] bank_used;
  logic [BANKS*ADDRESS-1:0] bank_address;
  addresses #(.BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE)) to_banks (
      .used(used1), .offset(offset1), .base(base1), .rotation(rotation1), .mask(mask1), .top(top1),
      .bank_used, .address(bank_address));
  always_ff @(posedge clk) begin
    used <= bank_used;
    address <= bank_address;
    choice2 <= choice1;
  end
  generate
    for (genvar m = 0; m < MEMORIES; m++) begin : g_read
      if (SERVES[m]) begin : g_served
        logic reads;
        always_ff @(posedge clk) reads <= valid1 && memory1 == MEMORY'(m);
        assign read[m] = reads;
      end else begin : g_other
        assign read[m] = 1'b0;
      end
    end
  endgenerate

  // ---- the memory answers ----
  logic [MEMORY-1:0] memory3;
  logic [ROTATE-1:0] rotation3, mask3, top3;
  logic [INSIDE-1:0] place3;
  flags #(.WIDTH(1), .CYCLES(2)) answer (.clk, .reset, .d(valid1), .q(valid3));
  delay #(.WIDTH(1 + MEMORY + 3 * ROTATE + INSIDE), .CYCLES(2)) answered (
      .clk,
      .d({first1, memory1, rotation1, mask1, top1, place1}),
      .q({first3, memory3, rotation3, mask3, top3, place3})
  );
  logic [BANKS*WORD*32-1:0] by_bank;
  always_comb begin
    by_bank = '0;
    for (int m = 0; m < MEMORIES; m++)
      if (SERVES[m] && memory3 == MEMORY'(m)) by_bank = data[m*BANKS*WORD*32+:BANKS*WORD*32];
  end
  turn #(.BANKS(BANKS), .WORD(WORD), .ROTATE(ROTATE), .INSIDE(INSIDE)) in_order (
      .rotation(rotation3), .mask(mask3), .top(top3), .place(place3), .d(by_bank), .q(words));
endmodule
