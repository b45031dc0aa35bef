// y = log(x) in binary32 LATENCY cycles after x, one a cycle, to less than one unit in the last place or 2^-33.
//
// x = 2^e m; a table of 128 reciprocals of m's upper bits, with their logarithms (logarithm.hex), leaves a small
// z = m reciprocal - 1, whose logarithm is z - z^2/2 + z^3/3 - z^4/4. Products are cut into parts that fill one DSP block
// each, which are added a cycle later. The path may be cut in thirteen places, evenly as LATENCY gives; a larger LATENCY
// delays the result.
module fp32_logarithm #(
    parameter int LATENCY = 16
) (
    input  logic        clk,
    input  logic [31:0] x,
    output logic [31:0] y
);
  localparam int PLACES = 13;
  localparam int CUTS = LATENCY - 1 > PLACES ? PLACES : LATENCY < 1 ? 0 : LATENCY - 1;
  localparam logic signed [18:0] LN_2_LOW = 19'sd98173;  // 47632711549, ln 2 with 36 bits of fraction, in two halves
  localparam logic signed [18:0] LN_2_HIGH = 19'sd181704;

  logic [59:0] rom[128];
  initial $readmemh("logarithm.hex", rom);

  // What x is beside a number, beside all stages.
  wire zero0 = x[30:23] == 0;
  wire nan0 = (&x[30:23] && x[22:0] != 0) || (x[31] && !zero0);
  wire huge0 = &x[30:23];
  logic zero, nan, huge;
  delay #(.WIDTH(3), .CYCLES(CUTS)) cases (.clk, .d({zero0, nan0, huge0}), .q({zero, nan, huge}));

  // ---- 1: table ----
  logic [7:0] biased1;
  logic [23:0] mantissa1;
  logic [59:0] entry1;
  pipe #(.WIDTH(92), .ENABLE(1 * CUTS / PLACES > 0)) looked_up (
      .clk, .d({x[30:23], 1'b1, x[22:0], rom[x[22:16]]}), .q({biased1, mantissa1, entry1}));

  // ---- 2, 3: z with 36 bits of fraction; e ln 2 plus the table's logarithm. A reciprocal is 2^16 and more ----
  wire signed [24:0] signed_mantissa1 = {1'b0, mantissa1};
  wire signed [17:0] above1 = {1'b0, entry1[56:40] - 17'h10000};
  wire signed [8:0] exponent1 = {1'b0, biased1} - 9'd127;
  wire signed [42:0] product1 = signed_mantissa1 * above1;
  wire signed [27:0] low1 = exponent1 * LN_2_LOW;
  wire signed [27:0] high1 = exponent1 * LN_2_HIGH;
  logic [23:0] mantissa2;
  logic [39:0] entry2;
  logic signed [42:0] product2;
  logic signed [27:0] low2, high2;
  pipe #(.WIDTH(163), .ENABLE(2 * CUTS / PLACES > 1 * CUTS / PLACES)) products (
      .clk, .d({mantissa1, entry1[39:0], product1, low1, high1}), .q({mantissa2, entry2, product2, low2, high2}));
  wire [42:0] near2 = {3'b0, mantissa2, 16'b0} + product2 - 43'd1099511627776;
  wire signed [45:0] whole2 = {high2, 18'b0} + {{18{low2[27]}}, low2} + {6'b0, entry2};
  logic signed [30:0] z3;
  logic signed [45:0] whole3;
  pipe #(.WIDTH(77), .ENABLE(3 * CUTS / PLACES > 2 * CUTS / PLACES)) reduced (
      .clk, .d({near2[34:4], whole2}), .q({z3, whole3}));

  // ---- 4, 5: z^2 ----
  wire signed [15:0] z_high3 = z3[30:15];
  wire signed [15:0] z_low3 = {1'b0, z3[14:0]};
  wire signed [31:0] high_high3 = z_high3 * z_high3;
  wire signed [31:0] high_low3 = z_high3 * z_low3;
  wire signed [31:0] low_low3 = z_low3 * z_low3;
  logic signed [30:0] z4;
  logic signed [45:0] whole4;
  logic signed [31:0] high_high4, high_low4, low_low4;
  pipe #(.WIDTH(173), .ENABLE(4 * CUTS / PLACES > 3 * CUTS / PLACES)) squares (
      .clk, .d({z3, whole3, high_high3, high_low3, low_low3}),
      .q({z4, whole4, high_high4, high_low4, low_low4}));
  wire [61:0] whole_square4 = {high_high4, 30'b0} + {{14{high_low4[31]}}, high_low4, 16'b0} + {30'b0, low_low4};
  wire signed [45:0] linear4 = whole4 + {{15{z4[30]}}, z4};
  logic signed [30:0] z5;
  logic signed [45:0] linear5;
  logic [23:0] square5;
  pipe #(.WIDTH(101), .ENABLE(5 * CUTS / PLACES > 4 * CUTS / PLACES)) squared (
      .clk, .d({z4, linear4, whole_square4[59:36]}), .q({z5, linear5, square5}));

  // ---- 6, 7: z^3, z^4 ----
  wire signed [24:0] signed_square5 = {1'b0, square5};
  wire signed [15:0] z_high5 = z5[30:15];
  wire signed [15:0] z_low5 = {1'b0, z5[14:0]};
  wire signed [12:0] square_high5 = {1'b0, square5[23:12]};
  wire signed [12:0] square_low5 = {1'b0, square5[11:0]};
  wire signed [40:0] cube_high5 = signed_square5 * z_high5;
  wire signed [40:0] cube_low5 = signed_square5 * z_low5;
  wire signed [37:0] fourth_high5 = signed_square5 * square_high5;
  wire signed [37:0] fourth_low5 = signed_square5 * square_low5;
  wire signed [45:0] quadratic5 = linear5 - {23'b0, square5[23:1]};
  logic signed [45:0] quadratic6;
  logic signed [40:0] cube_high6, cube_low6;
  logic signed [37:0] fourth_high6, fourth_low6;
  pipe #(.WIDTH(204), .ENABLE(6 * CUTS / PLACES > 5 * CUTS / PLACES)) powers (
      .clk, .d({quadratic5, cube_high5, cube_low5, fourth_high5, fourth_low5}),
      .q({quadratic6, cube_high6, cube_low6, fourth_high6, fourth_low6}));
  wire [55:0] whole_cube6 = {cube_high6, 15'b0} + {{15{cube_low6[40]}}, cube_low6};
  wire [49:0] whole_fourth6 = {fourth_high6, 12'b0} + {{12{fourth_low6[37]}}, fourth_low6};
  logic signed [45:0] quadratic7;
  logic signed [19:0] cube7;
  logic [13:0] fourth7;
  pipe #(.WIDTH(80), .ENABLE(7 * CUTS / PLACES > 6 * CUTS / PLACES)) powered (
      .clk, .d({quadratic6, whole_cube6[55:36], whole_fourth6[49:36]}), .q({quadratic7, cube7, fourth7}));

  // ---- 8 to 10: z^3/3, the sum ----
  localparam logic signed [16:0] THIRD = 17'sd21845;  // 16 bits of fraction
  wire signed [36:0] third7 = cube7 * THIRD;
  wire signed [45:0] without7 = quadratic7 - {34'b0, fourth7[13:2]};
  logic signed [45:0] without8;
  logic signed [20:0] third8;
  pipe #(.WIDTH(67), .ENABLE(8 * CUTS / PLACES > 7 * CUTS / PLACES)) thirds (
      .clk, .d({without7, third7[36:16]}), .q({without8, third8}));
  logic signed [45:0] sum9;
  pipe #(.WIDTH(46), .ENABLE(9 * CUTS / PLACES > 8 * CUTS / PLACES)) summed (
      .clk, .d(without8 + {{25{third8[20]}}, third8}), .q(sum9));

  // ---- 10 to 13: sign and magnitude, leading one, normalised ----
  logic minus10;
  logic [44:0] magnitude10;
  wire [44:0] magnitude9 = sum9[45] ? -sum9[44:0] : sum9[44:0];
  pipe #(.WIDTH(46), .ENABLE(10 * CUTS / PLACES > 9 * CUTS / PLACES)) positive (
      .clk, .d({sum9[45], magnitude9}), .q({minus10, magnitude10}));
  logic [5:0] top10;
  always_comb begin
    top10 = 6'd0;
    for (int i = 0; i < 45; i++) if (magnitude10[i]) top10 = 6'(i);
  end
  logic minus11;
  logic [44:0] magnitude11;
  logic [5:0] top11;
  pipe #(.WIDTH(52), .ENABLE(11 * CUTS / PLACES > 10 * CUTS / PLACES)) found (
      .clk, .d({minus10, magnitude10, top10}), .q({minus11, magnitude11, top11}));
  wire [44:0] normal11 = magnitude11 << (6'd44 - top11);
  logic minus12, none12, half12;
  logic [23:0] mantissa12;
  logic [5:0] top12;
  pipe #(.WIDTH(33), .ENABLE(12 * CUTS / PLACES > 11 * CUTS / PLACES)) normalised (
      .clk, .d({minus11, magnitude11 == 0, normal11[20], normal11[44:21], top11}),
      .q({minus12, none12, half12, mantissa12, top12}));

  // ---- packed: the mantissa's leading one adds to the exponent ----
  wire [31:0] packed12 = {1'b0, {2'b0, top12} + 8'd90, 23'b0} + {8'b0, mantissa12} + {31'b0, half12};
  logic minus, none;
  logic [30:0] value;
  pipe #(.WIDTH(33), .ENABLE(13 * CUTS / PLACES > 12 * CUTS / PLACES)) rounded (
      .clk, .d({minus12, none12, packed12[30:0]}), .q({minus, none, value}));
  wire [31:0] result = nan ? 32'h7fc00000
                     : zero ? 32'hff800000
                     : huge ? 32'h7f800000
                     : none ? 32'b0
                     : {minus, value};
  delay #(.WIDTH(32), .CYCLES(LATENCY - CUTS)) last (.clk, .d(result), .q(y));
endmodule
