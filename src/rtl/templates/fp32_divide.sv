// y = a / b in IEEE 754 binary32, rounded to nearest, ties to even, LATENCY cycles after a and b; one quotient a cycle.
//
// A row of subtractors for each of the 25 bits of the quotient (restoring division); registers stand behind so many of
// the rows, evenly, as LATENCY gives. Subnormal operands count as zero of their sign; a result whose magnitude, rounded
// as if exponents had no end, is below 2^-126 is zero of its sign. Every NaN that comes out is 0x7fc00000.
module fp32_divide #(
    parameter int LATENCY = 16
) (
    input  logic        clk,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] y
);
  localparam int BITS = 25;
  localparam int CUTS = LATENCY - 1 > BITS ? BITS : LATENCY - 1;

  wire a_zero = a[30:23] == 0;
  wire b_zero = b[30:23] == 0;
  wire a_huge = &a[30:23];
  wire b_huge = &b[30:23];
  wire nan0 = (a_huge && a[22:0] != 0) || (b_huge && b[22:0] != 0) || (a_huge && b_huge) || (a_zero && b_zero);
  wire infinite0 = a_huge || b_zero;
  wire zero0 = a_zero || b_huge;
  wire small0 = a[22:0] < b[22:0];  // the quotient of the mantissas is below 1
  wire [9:0] exponent0 = {2'b0, a[30:23]} - {2'b0, b[30:23]} + 10'd127 - {9'b0, small0};

  localparam int STATE = 25 + 24 + BITS + 10 + 4;  // remainder, divisor, quotient, exponent, sign and cases
  logic [(BITS+1)*STATE-1:0] state;
  assign state[0+:STATE] = {small0 ? {1'b1, a[22:0], 1'b0} : {2'b01, a[22:0]}, {1'b1, b[22:0]}, 25'b0, exponent0,
                            a[31] ^ b[31], nan0, infinite0, zero0};
  generate
    for (genvar i = 0; i < BITS; i++) begin : g_row
      wire [24:0] rest = state[i*STATE+14+BITS+24+:25];
      wire [23:0] divisor = state[i*STATE+14+BITS+:24];
      wire [BITS-1:0] quotient = state[i*STATE+14+:BITS];
      wire [25:0] less = {1'b0, rest} - {2'b0, divisor};
      wire one = !less[25];
      wire [24:0] next = {one ? less[23:0] : rest[23:0], 1'b0};
      pipe #(.WIDTH(STATE), .ENABLE((i + 1) * CUTS / BITS > i * CUTS / BITS)) row (
          .clk, .d({next, divisor, quotient[BITS-2:0], one, state[i*STATE+:14]}), .q(state[(i+1)*STATE+:STATE]));
    end
  endgenerate

  wire [STATE-1:0] done = state[BITS*STATE+:STATE];
  wire [24:0] rest = done[14+BITS+24+:25];
  wire [BITS-1:0] quotient = done[14+:BITS];
  wire [9:0] exponent = done[4+:10];
  wire sign = done[3];
  wire nan = done[2];
  wire infinite = done[1];
  wire zero = done[0];
  wire up = quotient[0] && (rest != 0 || quotient[1]);
  logic [31:0] result;
  fp32_pack pack (.sign, .exponent, .fraction(quotient[23:1]), .up, .nan, .infinite, .zero, .y(result));
  delay #(.WIDTH(32), .CYCLES(LATENCY - CUTS)) last (.clk, .d(result), .q(y));
endmodule
