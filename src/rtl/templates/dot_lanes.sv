// ROWS x COLUMNS sums of TERMS products an issue: multipliers, a tree of adders, and an accumulating adder for each sum
// with OPEN sums at a time in distributed memory. A sum is read the cycle its last addition is finished: it is then
// taken from the adder itself, not from the memory.
module dot_lanes #(
    parameter int ROWS = 4,
    parameter int COLUMNS = 4,
    parameter int TERMS = 4,
    parameter int MULTIPLY = 4,  // latencies
    parameter int ADD = 7,
    parameter int OPEN = 16,
    parameter int SLOT = 4       // bits of an open sum's number
) (
    input  logic                        clk,
    input  logic                        reset,
    input  logic                        valid,
    input  logic                        first,   // the sum begins
    input  logic                        last,    // ... is finished
    input  logic [            SLOT-1:0] slot,
    input  logic [  ROWS*TERMS*32-1:0] left,    // [row][term]
    input  logic [TERMS*COLUMNS*32-1:0] right,   // [term][column]
    output logic                        finished,
    output logic [ROWS*COLUMNS*32-1:0] result
);
  localparam int TREE = $clog2(TERMS);
  localparam int FILL = MULTIPLY + TREE * ADD;

  logic add_valid, add_first, add_last, end_valid, end_last;
  logic [SLOT-1:0] add_slot, end_slot;
  flags #(.WIDTH(1), .CYCLES(FILL)) to_sum (.clk, .reset, .d(valid), .q(add_valid));
  delay #(.WIDTH(SLOT + 2), .CYCLES(FILL)) beside_sum (
      .clk, .d({first, last, slot}), .q({add_first, add_last, add_slot}));
  flags #(.WIDTH(1), .CYCLES(ADD)) to_end (.clk, .reset, .d(add_valid), .q(end_valid));
  delay #(.WIDTH(SLOT + 1), .CYCLES(ADD)) beside_end (.clk, .d({add_last, add_slot}), .q({end_last, end_slot}));
  assign finished = end_valid && end_last;

  generate
    for (genvar r = 0; r < ROWS; r++) begin : g_row
      for (genvar c = 0; c < COLUMNS; c++) begin : g_column
        wire [2*TERMS*32-1:0] node;  // node i is the sum of nodes 2 i and 2 i + 1; the products are the last TERMS
        for (genvar t = 0; t < TERMS; t++) begin : g_term
          fp32_multiply #(.LATENCY(MULTIPLY)) multiply (
              .clk, .a(left[(r*TERMS+t)*32+:32]), .b(right[(t*COLUMNS+c)*32+:32]), .y(node[(TERMS+t)*32+:32]));
        end
        for (genvar t = 1; t < TERMS; t++) begin : g_tree
          fp32_add #(.LATENCY(ADD)) add (.clk, .a(node[2*t*32+:32]), .b(node[(2*t+1)*32+:32]), .y(node[t*32+:32]));
        end

        (* ram_style = "distributed" *) logic [31:0] open[OPEN];
        wire [31:0] stored = open[add_slot];
        wire [31:0] sum;
        wire bypass = end_valid && end_slot == add_slot;
        wire [31:0] previous = add_first ? 32'b0 : bypass ? sum : stored;
        fp32_add #(.LATENCY(ADD)) accumulate (.clk, .a(previous), .b(node[32+:32]), .y(sum));
        always_ff @(posedge clk) if (end_valid) open[end_slot] <= sum;
        assign result[(r*COLUMNS+c)*32+:32] = sum;
      end
    end
  endgenerate
endmodule
