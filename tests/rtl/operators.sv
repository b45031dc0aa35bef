// Feeds every line of `vectors.hex` (a, b, a * b, a + b: 128 bits) to the multipliers and adders of all latencies from
// 1 to MOST, one a cycle, and counts results that differ in any bit, by operator and latency.
module operators #(
    parameter int MOST  = 9,
    parameter int COUNT = 1
);
  logic clk = 0;
  logic [127:0] vector[COUNT];
  int unsigned cycle = 0;
  int wrong[2][MOST+1];
  logic [31:0] a, b;

  initial begin
    $readmemh("vectors.hex", vector);
    for (int k = 0; k < 2; k++) for (int i = 0; i <= MOST; i++) wrong[k][i] = 0;
  end

  assign a = cycle < COUNT ? vector[cycle][127:96] : 32'b0;
  assign b = cycle < COUNT ? vector[cycle][95:64] : 32'b0;

  generate
    for (genvar latency = 1; latency <= MOST; latency++) begin : g_latency
      logic [31:0] product, sum;
      fp32_multiply #(.LATENCY(latency)) multiply (.clk, .a, .b, .y(product));
      fp32_add #(.LATENCY(latency)) add (.clk, .a, .b, .y(sum));
      always_ff @(posedge clk)
        if (cycle >= latency && cycle - latency < COUNT) begin
          if (product != vector[cycle-latency][63:32]) wrong[0][latency]++;
          if (sum != vector[cycle-latency][31:0]) wrong[1][latency]++;
        end
    end
  endgenerate

  always #1 clk = !clk;
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle == COUNT + MOST + 1) begin
      for (int i = 1; i <= MOST; i++) $display("latency %0d: multiply %0d add %0d wrong", i, wrong[0][i], wrong[1][i]);
      $finish;
    end
  end
endmodule
