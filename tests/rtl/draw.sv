// Feeds every line of `vectors.hex` (a state, then the number that it gives: 96 bits) to the generator, one a cycle, and counts
// results that differ in any bit.
module draw #(
    parameter int COUNT = 1
);
  localparam int LATENCY = 12;
  logic clk = 0;
  logic [95:0] vector[COUNT];
  int unsigned cycle = 0;
  int wrong = 0;
  logic [31:0] y;
  wire [63:0] state = cycle < COUNT ? vector[cycle][95:32] : 64'b0;

  initial $readmemh("vectors.hex", vector);
  fp32_draw generator (.clk, .state, .y);

  always #1 clk = !clk;
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle >= LATENCY && cycle - LATENCY < COUNT && y != vector[cycle-LATENCY][31:0]) wrong <= wrong + 1;
    if (cycle == COUNT + LATENCY + 1) begin
      $display("%0d of %0d wrong", wrong, COUNT);
      $finish;
    end
  end
endmodule
