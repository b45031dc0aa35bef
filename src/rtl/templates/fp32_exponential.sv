// y = exp(x) in binary32 LATENCY cycles after x, one a cycle, to less than one unit in the last place.
//
// x in fixed point is k ln 2 + r; exp(r) is a table of 256 values (exponential.hex) times 1 + z + z^2/2, z being the
// low bits of r; k is the exponent. Products are cut into parts that fill one DSP block each, which are added a cycle
// later. The path may be cut in twelve places, evenly as LATENCY gives; a larger LATENCY delays the result.
module fp32_exponential #(
    parameter int LATENCY = 13
) (
    input  logic        clk,
    input  logic [31:0] x,
    output logic [31:0] y
);
  localparam int PLACES = 12;
  localparam int CUTS = LATENCY - 1 > PLACES ? PLACES : LATENCY < 1 ? 0 : LATENCY - 1;
  localparam logic signed [18:0] LN_2_LOW = 19'sd98173;  // 47632711549, ln 2 with 36 bits of fraction, in two halves
  localparam logic signed [18:0] LN_2_HIGH = 19'sd181704;
  localparam logic signed [13:0] LOG2_E = 14'sd5909;     // 12 bits

  logic [31:0] rom[256];
  initial $readmemh("exponential.hex", rom);

  // Whether y is a NaN, and whether x is large, and negative: beside all stages.
  wire nan0 = &x[30:23] && x[22:0] != 0;
  wire large0 = x[30:23] > 8'd133;  // 128 and more in magnitude
  logic nan, too_large, minus;
  delay #(.WIDTH(3), .CYCLES(CUTS)) cases (.clk, .d({nan0, large0, x[31]}), .q({nan, too_large, minus}));

  // ---- 1: fixed point, 36 bits of fraction ----
  wire [42:0] wide0 = {19'b0, x[30:23] != 0, x[22:0]};
  wire [42:0] magnitude0 = x[30:23] >= 8'd114 ? wide0 << (x[30:23] - 8'd114)
                         : x[30:23] >= 8'd83 ? wide0 >> (8'd114 - x[30:23]) : 43'b0;
  logic minus1;
  logic [42:0] magnitude1;
  pipe #(.WIDTH(44), .ENABLE(1 * CUTS / PLACES > 0)) shifted (
      .clk, .d({x[31], magnitude0}), .q({minus1, magnitude1}));

  // ---- 2: of the sign ----
  wire signed [43:0] fixed1 = minus1 ? -{1'b0, magnitude1} : {1'b0, magnitude1};
  logic signed [43:0] fixed2;
  pipe #(.WIDTH(44), .ENABLE(2 * CUTS / PLACES > 1 * CUTS / PLACES)) signed_one (.clk, .d(fixed1), .q(fixed2));

  // ---- 3, 4: k ----
  wire signed [26:0] fixed_low2 = {1'b0, fixed2[25:0]};
  wire signed [17:0] fixed_high2 = fixed2[43:26];
  wire signed [40:0] low2 = fixed_low2 * LOG2_E;
  wire signed [31:0] high2 = fixed_high2 * LOG2_E;
  logic signed [43:0] fixed3;
  logic signed [40:0] low3;
  logic signed [31:0] high3;
  pipe #(.WIDTH(117), .ENABLE(3 * CUTS / PLACES > 2 * CUTS / PLACES)) multiples (
      .clk, .d({fixed2, low2, high2}), .q({fixed3, low3, high3}));
  wire signed [57:0] scaled3 = {high3, 26'b0} + {{17{low3[40]}}, low3} + 58'sd140737488355328;  // and a half
  logic signed [43:0] fixed4;
  logic signed [9:0] k4;
  pipe #(.WIDTH(54), .ENABLE(4 * CUTS / PLACES > 3 * CUTS / PLACES)) rounded (
      .clk, .d({fixed3, scaled3[57:48]}), .q({fixed4, k4}));

  // ---- 5, 6: r, moved to be positive ----
  wire signed [28:0] down_low4 = k4 * LN_2_LOW;
  wire signed [28:0] down_high4 = k4 * LN_2_HIGH;
  logic signed [43:0] fixed5;
  logic signed [9:0] k5;
  logic signed [28:0] down_low5, down_high5;
  pipe #(.WIDTH(112), .ENABLE(5 * CUTS / PLACES > 4 * CUTS / PLACES)) reductions (
      .clk, .d({fixed4, k4, down_low4, down_high4}), .q({fixed5, k5, down_low5, down_high5}));
  wire [46:0] place5 = {{3{fixed5[43]}}, fixed5} - {down_high5, 18'b0} - {{18{down_low5[28]}}, down_low5} + 47'd34359738368;
  logic [35:0] place6;
  logic [9:0] k6;
  pipe #(.WIDTH(46), .ENABLE(6 * CUTS / PLACES > 5 * CUTS / PLACES)) reduced (
      .clk, .d({place5[35:0], k5}), .q({place6, k6}));

  // ---- 7: table and z, its upper bits signed ----
  logic [31:0] table7;
  logic signed [27:0] z7;
  logic [9:0] k7;
  pipe #(.WIDTH(70), .ENABLE(7 * CUTS / PLACES > 6 * CUTS / PLACES)) looked_up (
      .clk, .d({rom[place6[35:28]], !place6[27], place6[26:0], k6}), .q({table7, z7, k7}));

  // ---- 8, 9: z + z^2/2 ----
  wire signed [13:0] z_high7 = z7[27:14];
  wire signed [14:0] z_low7 = {1'b0, z7[13:0]};
  logic [31:0] table8;
  logic signed [27:0] z8;
  logic [9:0] k8;
  wire signed [27:0] high_high7 = z_high7 * z_high7;
  wire signed [28:0] high_low7 = z_high7 * z_low7;
  wire signed [29:0] low_low7 = z_low7 * z_low7;
  logic signed [27:0] high_high8;
  logic signed [28:0] high_low8;
  logic signed [29:0] low_low8;
  pipe #(.WIDTH(157), .ENABLE(8 * CUTS / PLACES > 7 * CUTS / PLACES)) squares (
      .clk, .d({table7, z7, k7, high_high7, high_low7, low_low7}),
      .q({table8, z8, k8, high_high8, high_low8, low_low8}));
  wire signed [55:0] square8 = {high_high8, 28'b0} + {{12{high_low8[28]}}, high_low8, 15'b0} + {26'b0, low_low8};
  wire signed [28:0] power8 = {z8[27], z8} + {10'b0, square8[55:37]};
  logic [31:0] table9;
  logic signed [28:0] power9;
  logic [9:0] k9;
  pipe #(.WIDTH(71), .ENABLE(9 * CUTS / PLACES > 8 * CUTS / PLACES)) squared (
      .clk, .d({table8, power8, k8}), .q({table9, power9, k9}));

  // ---- 10 to 12: value, 30 bits of fraction ----
  wire signed [16:0] table_low9 = {1'b0, table9[15:0]};
  wire signed [16:0] table_high9 = {1'b0, table9[31:16]};
  wire signed [16:0] power_low9 = {1'b0, power9[15:0]};
  wire signed [12:0] power_high9 = power9[28:16];
  wire signed [33:0] low_low9 = table_low9 * power_low9;
  wire signed [33:0] high_low9 = table_high9 * power_low9;
  wire signed [29:0] low_high9 = table_low9 * power_high9;
  wire signed [29:0] high_high9 = table_high9 * power_high9;
  logic [31:0] table10;
  logic [9:0] k10;
  logic signed [33:0] low_low10, high_low10;
  logic signed [29:0] low_high10, high_high10;
  pipe #(.WIDTH(170), .ENABLE(10 * CUTS / PLACES > 9 * CUTS / PLACES)) products (
      .clk, .d({table9, k9, low_low9, high_low9, low_high9, high_high9}),
      .q({table10, k10, low_low10, high_low10, low_high10, high_high10}));
  wire signed [61:0] outer10 = {high_high10, 32'b0} + {{28{low_low10[33]}}, low_low10};
  wire signed [35:0] inner10 = {{2{high_low10[33]}}, high_low10} + {{6{low_high10[29]}}, low_high10};
  logic [31:0] table11;
  logic [9:0] k11;
  logic signed [61:0] outer11;
  logic signed [35:0] inner11;
  pipe #(.WIDTH(140), .ENABLE(11 * CUTS / PLACES > 10 * CUTS / PLACES)) sums (
      .clk, .d({table10, k10, outer10, inner10}), .q({table11, k11, outer11, inner11}));
  wire signed [61:0] change11 = outer11 + {{10{inner11[35]}}, inner11, 16'b0};
  wire [31:0] value11 = table11 + {{6{change11[61]}}, change11[61:36]};
  logic [31:0] value;
  logic [9:0] k;
  pipe #(.WIDTH(42), .ENABLE(12 * CUTS / PLACES > 11 * CUTS / PLACES)) valued (.clk, .d({value11, k11}), .q({value, k}));

  // ---- packed: the mantissa's leading one adds to the exponent ----
  wire below = !value[30];
  wire [31:0] normal = below ? value << 1 : value;
  wire [9:0] exponent = k + 10'd126 - {9'b0, below};
  wire [32:0] packed_value = {exponent, 23'b0} + {8'b0, normal[31:7]} + {32'b0, normal[6]};
  logic [31:0] result;
  assign result = nan ? 32'h7fc00000
                : too_large ? (minus ? 32'b0 : 32'h7f800000)
                : packed_value[32] || packed_value[31:23] == 0 ? 32'b0
                : packed_value[31:23] >= 9'd255 ? 32'h7f800000
                : packed_value[31:0];
  delay #(.WIDTH(32), .CYCLES(LATENCY - CUTS)) last (.clk, .d(result), .q(y));
endmodule
