// y = square root of a in IEEE 754 binary32, rounded to nearest, ties to even, LATENCY cycles after a; one a cycle.
//
// A row of subtractors for each of the 25 bits of the root (digit recurrence); registers stand behind so many of the
// rows, evenly, as LATENCY gives. A subnormal counts as zero of its sign; of a negative number it is 0x7fc00000.
module fp32_square_root #(
    parameter int LATENCY = 16
) (
    input  logic        clk,
    input  logic [31:0] a,
    output logic [31:0] y
);
  localparam int BITS = 25;
  localparam int CUTS = LATENCY - 1 > BITS ? BITS : LATENCY - 1;

  wire zero0 = a[30:23] == 0;
  wire huge0 = &a[30:23];
  wire nan0 = (huge0 && a[22:0] != 0) || (a[31] && !zero0);
  wire odd0 = !a[23];  // of the exponent less 127
  wire [8:0] exponent0 = {1'b0, a[30:23]} + 9'd127 - {8'b0, odd0};  // twice the root's
  wire [49:0] radicand0 = {odd0 ? {1'b1, a[22:0], 1'b0} : {2'b01, a[22:0]}, 25'b0};

  localparam int STATE = 28 + BITS + 50 + 8 + 4;  // remainder, root, what is left of the radicand, exponent, cases
  logic [(BITS+1)*STATE-1:0] state;
  assign state[0+:STATE] = {28'b0, 25'b0, radicand0, exponent0[8:1], a[31], nan0, huge0, zero0};
  generate
    for (genvar i = 0; i < BITS; i++) begin : g_row
      wire [27:0] rest = state[i*STATE+12+50+BITS+:28];
      wire [BITS-1:0] root = state[i*STATE+12+50+:BITS];
      wire [49:0] left = state[i*STATE+12+:50];
      wire [27:0] brought = {rest[25:0], left[49:48]};
      wire [28:0] less = {1'b0, brought} - {2'b0, root, 2'b01};
      wire one = !less[28];
      pipe #(.WIDTH(STATE), .ENABLE((i + 1) * CUTS / BITS > i * CUTS / BITS)) row (
          .clk, .d({one ? less[27:0] : brought, root[BITS-2:0], one, left[47:0], 2'b0, state[i*STATE+:12]}),
          .q(state[(i+1)*STATE+:STATE]));
    end
  endgenerate

  wire [STATE-1:0] done = state[BITS*STATE+:STATE];
  wire [27:0] rest = done[12+50+BITS+:28];
  wire [BITS-1:0] root = done[12+50+:BITS];
  wire up = root[0] && (rest != 0 || root[1]);
  wire [30:0] rounded = {done[4+:8], root[23:1]} + {30'b0, up};
  logic [31:0] result;
  assign result = done[2] ? 32'h7fc00000
                : done[0] ? {done[3], 31'b0}
                : done[1] ? 32'h7f800000
                : {1'b0, rounded};
  delay #(.WIDTH(32), .CYCLES(LATENCY - CUTS)) last (.clk, .d(result), .q(y));
endmodule
