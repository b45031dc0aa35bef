// Feeds every line of `vectors.hex` (a, b, then a > b ? a : b, a / b, square root of a, exp(a), log(a): 224 bits) to the
// operators at some latencies, one a cycle, and counts results that differ in any bit, by operator and latency.
module special #(
    parameter int COUNT = 1,
    parameter int CASES = 2
);
  localparam int MOST = 30;
  localparam logic [5*32-1:0] LATENCIES = {32'd30, 32'd4, 32'd1, 32'd3, 32'd16};
  logic clk = 0;
  logic [223:0] vector[COUNT];
  int unsigned cycle = 0;
  int wrong[CASES][5];
  logic [31:0] a, b;

  initial begin
    $readmemh("vectors.hex", vector);
    for (int i = 0; i < CASES; i++) for (int k = 0; k < 5; k++) wrong[i][k] = 0;
  end
  assign a = cycle < COUNT ? vector[cycle][223:192] : 32'b0;
  assign b = cycle < COUNT ? vector[cycle][191:160] : 32'b0;

  generate
    for (genvar i = 0; i < CASES; i++) begin : g_latency
      localparam int LATENCY = LATENCIES[i*32+:32];
      logic [31:0] y[5];
      fp32_greater #(.LATENCY(LATENCY)) greater (.clk, .a, .b, .x(a), .z(b), .y(y[0]));
      fp32_divide #(.LATENCY(LATENCY)) divide (.clk, .a, .b, .y(y[1]));
      fp32_square_root #(.LATENCY(LATENCY)) root (.clk, .a, .y(y[2]));
      fp32_exponential #(.LATENCY(LATENCY)) exponential (.clk, .x(a), .y(y[3]));
      fp32_logarithm #(.LATENCY(LATENCY)) logarithm (.clk, .x(a), .y(y[4]));
      always_ff @(posedge clk)
        if (cycle >= LATENCY && cycle - LATENCY < COUNT)
          for (int k = 0; k < 5; k++) if (y[k] != vector[cycle-LATENCY][(4-k)*32+:32]) wrong[i][k]++;
    end
  endgenerate

  always #1 clk = !clk;
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle == COUNT + MOST + 1) begin
      for (int i = 0; i < CASES; i++)
        $display("latency %0d: greater %0d divide %0d root %0d exponential %0d logarithm %0d wrong",
                 LATENCIES[i*32+:32], wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3], wrong[i][4]);
      $finish;
    end
  end
endmodule
