// y = a * b in IEEE 754 binary32, rounded to nearest, ties to even, LATENCY cycles after a and b; one product a cycle.
//
// Subnormal operands count as zero of their sign; a result whose magnitude, rounded as if exponents had no end, is
// below 2^-126 is zero of its sign. Every NaN that comes out is 0x7fc00000.
//
// The path may be cut in five places (before the product, in it, behind it, before rounding, at the end); a larger
// LATENCY delays the result. Registers on both sides of the product let synthesis use those of the DSP blocks.
module fp32_multiply #(
    parameter int LATENCY = 4
) (
    input  logic        clk,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] y
);
`ifdef FP32_BY_C
  import "DPI-C" pure function int unsigned fp32_multiply_c(input int unsigned a, input int unsigned b);
  delay #(.WIDTH(32), .CYCLES(LATENCY)) late (.clk, .d(fp32_multiply_c(a, b)), .q(y));
`else
  localparam bit CUT0 = LATENCY >= 3;
  localparam bit CUT1 = LATENCY >= 2;
  localparam bit CUT2 = LATENCY >= 5;
  localparam bit CUT3 = LATENCY >= 4;
  localparam int TAIL = LATENCY > 5 ? LATENCY - 4 : 1;

  // ---- operands ----
  logic [31:0] a0, b0;
  pipe #(.WIDTH(64), .ENABLE(CUT0)) operands (.clk, .d({a, b}), .q({a0, b0}));

  wire        a_zero = a0[30:23] == 0;
  wire        b_zero = b0[30:23] == 0;
  wire        a_huge = &a0[30:23];
  wire        b_huge = &b0[30:23];
  wire        a_nan = a_huge && a0[22:0] != 0;
  wire        b_nan = b_huge && b0[22:0] != 0;
  wire        nan0 = a_nan || b_nan || (a_huge && b_zero) || (b_huge && a_zero);
  wire        infinite0 = a_huge || b_huge;
  wire        zero0 = a_zero || b_zero;
  wire        sign0 = a0[31] ^ b0[31];
  wire [ 9:0] exponent0 = {2'b0, a0[30:23]} + {2'b0, b0[30:23]} - 10'd127;  // biased, of a product in [1, 2)
  wire [47:0] product0 = {1'b1, a0[22:0]} * {1'b1, b0[22:0]};

  // ---- product ----
  logic [47:0] product1, product2;
  logic [9:0] exponent1, exponent2;
  logic sign1, nan1, infinite1, zero1, sign2, nan2, infinite2, zero2;
  pipe #(.WIDTH(62), .ENABLE(CUT1)) multiplied (
      .clk,
      .d({product0, exponent0, sign0, nan0, infinite0, zero0}),
      .q({product1, exponent1, sign1, nan1, infinite1, zero1})
  );
  pipe #(.WIDTH(62), .ENABLE(CUT2)) again (
      .clk,
      .d({product1, exponent1, sign1, nan1, infinite1, zero1}),
      .q({product2, exponent2, sign2, nan2, infinite2, zero2})
  );

  // ---- normalised: 24 bits, the next bit, and whether anything lies below ----
  wire        wide2 = product2[47];
  wire [23:0] mantissa2 = wide2 ? product2[47:24] : product2[46:23];
  wire        half2 = wide2 ? product2[23] : product2[22];
  wire        rest2 = |product2[21:0] || (wide2 && product2[22]);
  wire        up2 = half2 && (rest2 || mantissa2[0]);
  wire [ 9:0] normal2 = exponent2 + {9'b0, wide2};

  logic [23:0] mantissa3;
  logic [9:0] exponent3;
  logic up3, sign3, nan3, infinite3, zero3;
  pipe #(.WIDTH(39), .ENABLE(CUT3)) normalised (
      .clk,
      .d({mantissa2, normal2, up2, sign2, nan2, infinite2, zero2}),
      .q({mantissa3, exponent3, up3, sign3, nan3, infinite3, zero3})
  );

  // ---- rounded: exponents run from -127 to 383 ----
  logic [31:0] result;
  fp32_pack pack (.sign(sign3), .exponent(exponent3), .fraction(mantissa3[22:0]), .up(up3), .nan(nan3),
                  .infinite(infinite3), .zero(zero3), .y(result));
  delay #(.WIDTH(32), .CYCLES(LATENCY == 0 ? 0 : TAIL)) last (.clk, .d(result), .q(y));
`endif
endmodule
