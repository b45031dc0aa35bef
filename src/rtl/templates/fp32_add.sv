// y = a + b in IEEE 754 binary32, rounded to nearest, ties to even, LATENCY cycles after a and b; one sum a cycle.
//
// Subnormal operands count as zero of their sign; a result below 2^-126 in magnitude is zero of its sign. Every NaN
// that comes out is 0x7fc00000. A sum of opposite numbers is +0.
//
// The path may be cut in seven places (operands, ordered, aligned, summed, leading zero found, normalised, rounded);
// a larger LATENCY delays the result.
module fp32_add #(
    parameter int LATENCY = 7
) (
    input  logic        clk,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] y
);
`ifdef FP32_BY_C
  import "DPI-C" pure function int unsigned fp32_add_c(input int unsigned a, input int unsigned b);
  delay #(.WIDTH(32), .CYCLES(LATENCY)) late (.clk, .d(fp32_add_c(a, b)), .q(y));
`else
  localparam bit CUT0 = LATENCY >= 7;
  localparam bit CUT1 = LATENCY >= 4;
  localparam bit CUT2 = LATENCY >= 6;
  localparam bit CUT3 = LATENCY >= 2;
  localparam bit CUT4 = LATENCY == 3 || LATENCY >= 5;
  localparam bit CUT5 = LATENCY >= 4;
  localparam int TAIL = LATENCY > 7 ? LATENCY - 6 : 1;

  // ---- ordered: |x| >= |z| ----
  logic [31:0] a0, b0;
  pipe #(.WIDTH(64), .ENABLE(CUT0)) operands (.clk, .d({a, b}), .q({a0, b0}));

  wire        swap = b0[30:0] > a0[30:0];
  wire [31:0] x0 = swap ? b0 : a0;
  wire [31:0] z0 = swap ? a0 : b0;
  wire        x_huge = &x0[30:23];
  wire        z_huge = &z0[30:23];
  wire        x_zero = x0[30:23] == 0;
  wire        z_zero = z0[30:23] == 0;
  wire        minus0 = x0[31] ^ z0[31];
  wire        nan0 = (x_huge && x0[22:0] != 0) || (z_huge && z0[22:0] != 0) || (x_huge && z_huge && minus0);
  wire [ 7:0] shift0 = x0[30:23] - z0[30:23];
  wire        sign0 = x_zero ? x0[31] && z0[31] : x0[31];  // of two zeros negative only where both are

  logic [7:0] exponent1, shift1;
  logic [23:0] large1, small1;
  logic sign1, minus1, nan1, infinite1;
  pipe #(.WIDTH(68), .ENABLE(CUT1)) ordered (
      .clk,
      .d({x0[30:23], shift0, !x_zero, x0[22:0] & {23{!x_zero}}, !z_zero, z0[22:0] & {23{!z_zero}}, sign0, minus0, nan0, x_huge}),
      .q({exponent1, shift1, large1, small1, sign1, minus1, nan1, infinite1})
  );

  // ---- aligned: two bits below the mantissa, and whether anything lies below those ----
  wire [25:0] aligned1 = {small1, 2'b0} >> shift1;
  wire [25:0] lost1 = {small1, 2'b0} & ~({26{1'b1}} << shift1);
  wire        sticky1 = |lost1;

  logic [7:0] exponent2;
  logic [23:0] large2;
  logic [26:0] small2;
  logic sign2, minus2, nan2, infinite2;
  pipe #(.WIDTH(63), .ENABLE(CUT2)) shifted (
      .clk,
      .d({exponent1, large1, aligned1, sticky1, sign1, minus1, nan1, infinite1}),
      .q({exponent2, large2, small2, sign2, minus2, nan2, infinite2})
  );

  // ---- summed ----
  wire [27:0] sum2 = {1'b0, large2, 3'b0} + ({28{minus2}} ^ {1'b0, small2}) + {27'b0, minus2};

  logic [7:0] exponent3;
  logic [27:0] sum3;
  logic sign3, minus3, nan3, infinite3;
  pipe #(.WIDTH(40), .ENABLE(CUT3)) summed (
      .clk,
      .d({exponent2, sum2, sign2, minus2, nan2, infinite2}),
      .q({exponent3, sum3, sign3, minus3, nan3, infinite3})
  );

  // ---- the leading one: place 27 is a carry, 26 where nothing was lost ----
  logic [4:0] zeros3;
  always_comb begin
    zeros3 = 5'd28;
    for (int i = 0; i < 28; i++) if (sum3[i]) zeros3 = 5'd27 - 5'(i);
  end

  logic [7:0] exponent4;
  logic [27:0] sum4;
  logic [4:0] zeros4;
  logic sign4, minus4, nan4, infinite4;
  pipe #(.WIDTH(45), .ENABLE(CUT4)) counted (
      .clk,
      .d({exponent3, sum3, zeros3, sign3, minus3, nan3, infinite3}),
      .q({exponent4, sum4, zeros4, sign4, minus4, nan4, infinite4})
  );

  // ---- normalised: the leading one in place 27 ----
  wire [27:0] normal4 = sum4 << zeros4;
  wire [ 9:0] raised4 = {2'b0, exponent4} + 10'd1 - {5'b0, zeros4};
  wire        zero4 = zeros4 == 5'd28;

  logic [27:0] sum5;
  logic [9:0] exponent5;
  logic zero5, sign5, nan5, infinite5;
  pipe #(.WIDTH(42), .ENABLE(CUT5)) normalised (
      .clk,
      .d({normal4, raised4, zero4, zero4 && minus4 ? 1'b0 : sign4, nan4, infinite4}),
      .q({sum5, exponent5, zero5, sign5, nan5, infinite5})
  );

  // ---- rounded ----
  wire        up5 = sum5[3] && (sum5[4] || |sum5[2:0]);
  logic [31:0] result;
  fp32_pack pack (.sign(sign5), .exponent(exponent5), .fraction(sum5[26:4]), .up(up5), .nan(nan5), .infinite(infinite5),
                  .zero(zero5), .y(result));
  delay #(.WIDTH(32), .CYCLES(LATENCY == 0 ? 0 : TAIL)) last (.clk, .d(result), .q(y));
`endif
endmodule
