// Sums, or the greatest, of what LANES lanes give: over a row (`by_column` 0: a tree, then one open sum a row) or down the
// columns (1: an open sum a lane). OPEN of them at a time lie in distributed memory; one that is ready that very cycle is
// taken from its operator. The tree's operators and the lanes' are the same.
//
// `finished` with the last term's result: over a row in lane 0. `goes` travels with a sum.
module vector_sum #(
    parameter int LANES = 4,
    parameter int LATENCY = 7,
    parameter bit GREATEST = 0,
    parameter bit COLUMNS = 1,   // may sum down the columns
    parameter int OPEN = 16,
    parameter int SLOT = 4,
    parameter int GOES = 1
) (
    input  logic                clk,
    input  logic                reset,
    input  logic                valid,
    input  logic                by_column,
    input  logic                first,
    input  logic                last,
    input  logic [    SLOT-1:0] slot,
    input  logic [LANES*32-1:0] d,
    input  logic [    GOES-1:0] goes,
    output logic                finished,
    output logic [    GOES-1:0] finished_goes,
    output logic [LANES*32-1:0] result
);
  localparam int TREE = $clog2(LANES);
  localparam logic [31:0] NEUTRAL = GREATEST ? 32'hff800000 : 32'b0;
  localparam int WIDTH = 2 + SLOT + GOES;
  wire columns = COLUMNS && by_column;

  logic tree_valid, add_valid, end_valid, add_first, end_last, add_last;
  logic [WIDTH-1:0] tree_carried;
  logic [SLOT-1:0] add_slot, end_slot;
  logic [GOES-1:0] add_goes;
  flags #(.WIDTH(1), .CYCLES(TREE * LATENCY)) through_tree (.clk, .reset, .d(valid && !columns), .q(tree_valid));
  delay #(.WIDTH(WIDTH), .CYCLES(TREE * LATENCY)) beside_tree (
      .clk, .d({first, last, slot, goes}), .q(tree_carried));
  assign add_valid = columns ? valid : tree_valid;
  assign {add_first, add_last, add_slot, add_goes} = columns ? {first, last, slot, goes} : tree_carried;
  flags #(.WIDTH(1), .CYCLES(LATENCY)) to_end (.clk, .reset, .d(add_valid), .q(end_valid));
  delay #(.WIDTH(SLOT + GOES + 1), .CYCLES(LATENCY)) beside_end (
      .clk, .d({add_last, add_slot, add_goes}), .q({end_last, end_slot, finished_goes}));
  assign finished = end_valid && end_last;

  logic [2*LANES*32-1:0] node;  // node i is made of nodes 2 i and 2 i + 1; the lanes are the last LANES
  assign node[LANES*32+:LANES*32] = d;
  assign node[31:0] = '0;
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_lane
      wire [31:0] a, b, y;
      if (n == 0 || COLUMNS) begin : g_open
        (* ram_style = "distributed" *) logic [31:0] open[OPEN];
        wire bypass = end_valid && end_slot == add_slot;
        wire [31:0] previous = add_first ? NEUTRAL : bypass ? y : open[add_slot];
        always_ff @(posedge clk) if (end_valid) open[end_slot] <= y;
        if (n == 0) begin : g_row
          assign a = previous;
          assign b = columns ? d[31:0] : node[32+:32];
        end else begin : g_column
          assign a = columns ? previous : node[2*n*32+:32];
          assign b = columns ? d[n*32+:32] : node[(2*n+1)*32+:32];
        end
      end else begin : g_tree
        assign a = node[2*n*32+:32];
        assign b = node[(2*n+1)*32+:32];
      end
      if (GREATEST) begin : g_greatest
        fp32_greater #(.LATENCY(LATENCY)) greater (.clk, .a, .b, .x(a), .z(b), .y);
      end else begin : g_sum
        fp32_add #(.LATENCY(LATENCY)) add (.clk, .a, .b, .y);
      end
      if (n > 0) begin : g_node
        assign node[n*32+:32] = y;
      end
      assign result[n*32+:32] = y;
    end
  endgenerate
endmodule
