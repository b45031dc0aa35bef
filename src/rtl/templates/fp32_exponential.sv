// y = exp(x) in binary32 LATENCY cycles after x, one a cycle, to less than one unit in the last place.
//
// x in fixed point is k ln 2 + r; exp(r) is a table of 256 values (exponential.hex) times 1 + z + z^2/2, z being the
// low bits of r; k is the exponent. The path may be cut in five places; a larger LATENCY delays the result.
module fp32_exponential #(
    parameter int LATENCY = 13
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
  localparam logic signed [63:0] LOG2_E = 64'sd5909;       // 12 bits

  logic [31:0] rom[256];
  initial $readmemh("exponential.hex", rom);

  // ---- fixed point, 36 bits of fraction ----
  wire nan0 = &x[30:23] && x[22:0] != 0;
  wire large0 = x[30:23] > 8'd133;  // 128 and more in magnitude
  wire [42:0] wide0 = {19'b0, x[30:23] != 0, x[22:0]};
  wire [42:0] fixed0 = x[30:23] >= 8'd114 ? wide0 << (x[30:23] - 8'd114)
                     : x[30:23] >= 8'd83 ? wide0 >> (8'd114 - x[30:23]) : 43'b0;
  logic nan1, large1, minus1;
  logic signed [63:0] fixed1;
  pipe #(.WIDTH(67), .ENABLE(CUT0)) fixed (
      .clk, .d({nan0, large0, x[31], x[31] ? -{21'b0, fixed0} : {21'b0, fixed0}}), .q({nan1, large1, minus1, fixed1}));

  // ---- k ----
  wire signed [63:0] scaled1 = fixed1 * LOG2_E + (64'sd1 <<< 47);
  logic nan2, large2, minus2;
  logic signed [63:0] fixed2, k2;
  pipe #(.WIDTH(131), .ENABLE(CUT1)) multiple (
      .clk, .d({nan1, large1, minus1, fixed1, scaled1 >>> 48}), .q({nan2, large2, minus2, fixed2, k2}));

  // ---- r, moved to be positive: table and z ----
  wire signed [63:0] place2 = fixed2 - k2 * LN_2 + (64'sd1 <<< 35);
  logic nan3, large3, minus3;
  logic [9:0] k3;
  logic signed [63:0] z3;
  logic [31:0] table3;
  pipe #(.WIDTH(109), .ENABLE(CUT2)) reduced (
      .clk, .d({nan2, large2, minus2, k2[9:0], {36'b0, place2[27:0]} - (64'd1 << 27), rom[place2[35:28]]}),
      .q({nan3, large3, minus3, k3, z3, table3}));

  // ---- z + z^2/2 ----
  wire signed [63:0] square3 = z3 * z3;
  logic nan4, large4, minus4;
  logic [9:0] k4;
  logic signed [63:0] power4;
  logic [31:0] table4;
  pipe #(.WIDTH(109), .ENABLE(CUT3)) squared (
      .clk, .d({nan3, large3, minus3, k3, z3 + (square3 >>> 37), table3}),
      .q({nan4, large4, minus4, k4, power4, table4}));

  // ---- value, 30 bits of fraction ----
  wire signed [63:0] change4 = $signed({32'b0, table4}) * power4;
  wire signed [63:0] value4 = $signed({32'b0, table4}) + (change4 >>> 36);
  logic nan5, large5, minus5;
  logic [9:0] k5;
  logic [31:0] value5;
  pipe #(.WIDTH(45), .ENABLE(CUT4)) valued (
      .clk, .d({nan4, large4, minus4, k4, value4[31:0]}), .q({nan5, large5, minus5, k5, value5}));

  // ---- packed: the mantissa's leading one adds to the exponent ----
  wire below5 = !value5[30];
  wire [31:0] normal5 = below5 ? value5 << 1 : value5;
  wire [9:0] exponent5 = k5 + 10'd126 - {9'b0, below5};
  wire [32:0] packed5 = {exponent5, 23'b0} + {8'b0, normal5[31:7]} + {32'b0, normal5[6]};
  logic [31:0] result;
  assign result = nan5 ? 32'h7fc00000
                : large5 ? (minus5 ? 32'b0 : 32'h7f800000)
                : packed5[32] || packed5[31:23] == 0 ? 32'b0
                : packed5[31:23] >= 9'd255 ? 32'h7f800000
                : packed5[31:0];
  delay #(.WIDTH(32), .CYCLES(TAIL)) last (.clk, .d(result), .q(y));
endmodule
