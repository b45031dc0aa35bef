// y = natural logarithm of x in binary32 LATENCY cycles after x, one a cycle.
//
// x = 2^e m. Of 128 stretches of m a table (logarithm.hex) has a reciprocal and its logarithm; m times the reciprocal is
// 1 + z, and log(1 + z) = z - z^2/2 + z^3/3 - z^4/4. The sum of e ln 2 and both has 36 bits of fraction. The path may be cut in five
// places; a larger LATENCY delays the result.
module fp32_logarithm #(
    parameter int LATENCY = 16
) (
    input  logic        clk,
    input  logic [31:0] x,
    output logic [31:0] y
);
  localparam bit CUT0 = LATENCY >= 2;
  localparam bit CUT1 = LATENCY >= 3;
  localparam bit CUT2 = LATENCY >= 4;
  localparam bit CUT3 = LATENCY >= 5;
  localparam bit CUT4 = LATENCY >= 6;
  localparam int TAIL = LATENCY > 6 ? LATENCY - 5 : 1;
  localparam logic signed [63:0] LN_2 = 64'sd47632711549;  // 36 bits of fraction

  logic [59:0] rom[128];
  initial $readmemh("logarithm.hex", rom);

  // ---- table ----
  wire zero0 = x[30:23] == 0;
  wire nan0 = (&x[30:23] && x[22:0] != 0) || (x[31] && !zero0);
  wire huge0 = &x[30:23];
  logic zero1, nan1, huge1;
  logic [7:0] exponent1;
  logic [23:0] mantissa1;
  logic [59:0] entry1;
  pipe #(.WIDTH(95), .ENABLE(CUT0)) looked_up (
      .clk, .d({zero0, nan0, huge0, x[30:23], 1'b1, x[22:0], rom[x[22:16]]}),
      .q({zero1, nan1, huge1, exponent1, mantissa1, entry1}));

  // ---- z, and e ln 2 plus the table's logarithm ----
  wire signed [63:0] product1 = $signed({40'b0, mantissa1}) * $signed({44'b0, entry1[59:40]}) - (64'sd1 <<< 40);
  wire signed [63:0] whole1 = ($signed({56'b0, exponent1}) - 64'sd127) * LN_2 + $signed({24'b0, entry1[39:0]});
  logic zero2, nan2, huge2;
  logic signed [63:0] z2, whole2;
  pipe #(.WIDTH(131), .ENABLE(CUT1)) reduced (
      .clk, .d({zero1, nan1, huge1, product1 >>> 4, whole1}), .q({zero2, nan2, huge2, z2, whole2}));

  // ---- z^2 ----
  wire signed [63:0] square2 = z2 * z2;
  logic zero3, nan3, huge3;
  logic signed [63:0] z3, whole3, square3;
  pipe #(.WIDTH(195), .ENABLE(CUT2)) squared (
      .clk, .d({zero2, nan2, huge2, z2, whole2, square2 >>> 36}), .q({zero3, nan3, huge3, z3, whole3, square3}));

  // ---- z^3/3, z^4/4 and the sum ----
  wire signed [63:0] cube3 = (square3 * z3) >>> 36;
  wire signed [63:0] fourth3 = (square3 * square3) >>> 36;
  wire signed [63:0] third3 = (cube3 * 64'sd21845) >>> 16;
  logic zero4, nan4, huge4;
  logic signed [63:0] sum4;
  pipe #(.WIDTH(67), .ENABLE(CUT3)) summed (
      .clk, .d({zero3, nan3, huge3, whole3 + z3 - (square3 >>> 1) + third3 - (fourth3 >>> 2)}), .q({zero4, nan4, huge4, sum4}));

  // ---- sign and magnitude, leading one ----
  wire [63:0] magnitude4 = sum4[63] ? -sum4 : sum4;
  logic [5:0] top4;
  always_comb begin
    top4 = 6'd0;
    for (int i = 0; i < 64; i++) if (magnitude4[i]) top4 = 6'(i);
  end
  logic zero5, nan5, huge5, minus5;
  logic [63:0] magnitude5;
  logic [5:0] top5;
  pipe #(.WIDTH(74), .ENABLE(CUT4)) found (
      .clk, .d({zero4, nan4, huge4, sum4[63], magnitude4, top4}), .q({zero5, nan5, huge5, minus5, magnitude5, top5}));

  // ---- packed: the mantissa's leading one adds to the exponent ----
  wire [63:0] normal5 = magnitude5 << (6'd63 - top5);
  wire [31:0] packed5 = {1'b0, {2'b0, top5} + 8'd90, 23'b0} + {8'b0, normal5[63:40]} + {31'b0, normal5[39]};
  logic [31:0] result;
  assign result = nan5 ? 32'h7fc00000
                : zero5 ? 32'hff800000
                : huge5 ? 32'h7f800000
                : magnitude5 == 0 ? 32'b0
                : {minus5, packed5[30:0]};
  delay #(.WIDTH(32), .CYCLES(TAIL)) last (.clk, .d(result), .q(y));
endmodule
