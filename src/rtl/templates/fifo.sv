// A queue of DEPTH words, a power of two. `q` is its first word where `count` is not zero; `pop` takes it away.
module fifo #(
    parameter int WIDTH = 128,
    parameter int DEPTH = 64,
    localparam int BITS = $clog2(DEPTH)
) (
    input  logic             clk,
    input  logic             reset,
    input  logic             push,
    input  logic [WIDTH-1:0] d,
    input  logic             pop,
    output logic [WIDTH-1:0] q,
    output logic [   BITS:0] count
);
  logic [WIDTH-1:0] word[DEPTH];
  logic [BITS-1:0] first, free;
  assign q = word[first];
  always_ff @(posedge clk) begin
    if (push) word[free] <= d;
    if (reset) begin
      first <= '0;
      free <= '0;
      count <= '0;
    end else begin
      if (push) free <= free + 1'b1;
      if (pop) first <= first + 1'b1;
      count <= count + (BITS + 1)'(push) - (BITS + 1)'(pop);
    end
  end
endmodule
