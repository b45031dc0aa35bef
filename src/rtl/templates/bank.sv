// One bank: DEPTH words of ELEMENTS 32-bit elements, one read and one write a cycle, each element with its own write
// enable. A word is there the cycle after its address. What is read while it is written is the old word.
//
// In simulation the bank begins as NAME.hex says, again so at the rising edge of `restore`, and at that of `check` writes what it holds to NAME.out
// and counts the elements that differ from NAME.expected.
module bank #(
    parameter int ELEMENTS = 4,
    parameter int DEPTH = 512,
    parameter int ADDRESS = 16,
    parameter STYLE = "block",
    parameter NAME = "bank"
) (
    input  logic                   clk,
    input  logic                   read,
    input  logic [    ADDRESS-1:0] read_address,
    output logic [ELEMENTS*32-1:0] q,
    input  logic [   ELEMENTS-1:0] write,
    input  logic [    ADDRESS-1:0] write_address,
    input  logic [ELEMENTS*32-1:0] d
`ifndef SYNTHESIS
    ,
    input  logic                   check,
    input  logic                   restore,
    output int unsigned            wrong
`endif
);
  localparam int BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  (* ram_style = STYLE *) logic [ELEMENTS*32-1:0] word[DEPTH];

  always_ff @(posedge clk) if (read) q <= word[read_address[BITS-1:0]];
  always_ff @(posedge clk)
    for (int e = 0; e < ELEMENTS; e++)
      if (write[e]) word[write_address[BITS-1:0]][e*32+:32] <= d[e*32+:32];

`ifndef SYNTHESIS
  logic [ELEMENTS*32-1:0] expected[DEPTH];
  int rows; // no constant: a loop over all words is not to be unrolled as that over a word's elements is
  initial begin
    rows = DEPTH;
    $readmemh({NAME, ".hex"}, word);
    wrong = 0;
  end
  always @(posedge restore) $readmemh({NAME, ".hex"}, word);
  always @(posedge check) begin
    $readmemh({NAME, ".expected"}, expected);
    $writememh({NAME, ".out"}, word);
    for (int i = 0; i < rows; i++)
      for (int e = 0; e < ELEMENTS; e++) if (word[i][e*32+:32] !== expected[i][e*32+:32]) wrong = wrong + 1;
  end
`endif
endmodule
