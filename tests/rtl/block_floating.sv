// What a kernel of block floating point has besides multipliers and adders, as it is synthesised for the figures of
// `block_floating` in models/devices/families (docs/device-file.md has the commands and what came out). Not part of generated designs.

// fp32 values of a group to a common exponent and signed magnitudes: to the nearest, ties to even, clipped. Subnormals are
// zero, as in the generated operators. `exponent`: the greatest one of the group, biased as fp32 has it. Two stages.
module block_convert #(
    parameter GROUP = 16,
    parameter MANTISSA = 4
) (
    input logic clock,
    input logic [32 * GROUP - 1:0] value,
    output logic [7:0] exponent,
    output logic [(MANTISSA + 1) * GROUP - 1:0] rounded
);
  localparam KEPT = MANTISSA + 1;  // and the half
  logic [8 * 2 * GROUP - 1:0] most;
  logic [7:0] greatest;
  logic [32 * GROUP - 1:0] held;
  genvar i;
  generate
    for (i = 0; i < GROUP; i = i + 1) begin : leaves
      assign most[8 * (GROUP + i) +: 8] = value[32 * i + 23 +: 8];
    end
    for (i = 1; i < GROUP; i = i + 1) begin : nodes
      assign most[8 * i +: 8] = most[16 * i +: 8] > most[16 * i + 8 +: 8] ? most[16 * i +: 8] : most[16 * i + 8 +: 8];
    end
    assign most[7:0] = 8'b0;
  endgenerate
  always_ff @(posedge clock) begin
    greatest <= most[15:8];
    held <= value;
    exponent <= greatest;
  end
  generate
    for (i = 0; i < GROUP; i = i + 1) begin : each
      logic [7:0] own, down;
      logic [22:0] fraction;
      logic [2 * KEPT - 1:0] wide;
      logic below, half, up, gone;
      logic [MANTISSA:0] sum;
      assign own = held[32 * i + 23 +: 8];
      assign fraction = held[32 * i +: 23];
      assign down = greatest - own;
      assign gone = own == 8'b0 || down > KEPT;
      assign wide = {own != 8'b0, fraction[22 -: MANTISSA], {KEPT{1'b0}}} >> down[3:0];
      assign below = |fraction[22 - MANTISSA : 0] | (|wide[KEPT - 1:0]);
      assign half = wide[KEPT];
      assign up = half & (below | wide[KEPT + 1]);
      assign sum = wide[2 * KEPT - 1 -: MANTISSA] + {{MANTISSA{1'b0}}, up};
      always_ff @(posedge clock)
        rounded[KEPT * i +: KEPT] <= {held[32 * i + 31], gone ? {MANTISSA{1'b0}} : sum[MANTISSA] ? {MANTISSA{1'b1}} : sum[MANTISSA - 1:0]};
    end
  endgenerate
endmodule

// A sum of BITS (up to 24) in two's complement, whole multiples of 2^exponent, to fp32. Three stages.
module block_normalise #(
    parameter BITS = 16
) (
    input logic clock,
    input logic [BITS - 1:0] sum,
    input logic [8:0] exponent,
    output logic [31:0] value
);
  localparam PLACES = $clog2(BITS);
  logic sign, sign2;
  logic [BITS - 1:0] size, size2, up;
  logic [8:0] exponent1, exponent2;
  logic [PLACES - 1:0] lead, lead2;
  logic [9:0] biased;
  logic [23:0] whole;
  integer i;
  always_comb begin
    lead = 0;
    for (i = 0; i < BITS; i = i + 1) if (size[i]) lead = BITS - 1 - i;
  end
  assign up = size2 << lead2;
  assign biased = exponent2 + BITS - lead2;
  assign whole = {up, {(24 - BITS) {1'b0}}};
  always_ff @(posedge clock) begin
    sign <= sum[BITS - 1];
    size <= sum[BITS - 1] ? -sum : sum;
    exponent1 <= exponent;
    sign2 <= sign;
    size2 <= size;
    lead2 <= lead;
    exponent2 <= exponent1;
    value <= up[BITS - 1] ? {sign2, biased[7:0], whole[22:0]} : 32'b0;
  end
endmodule

// The chunk of each mantissa that a pass takes, with its sign. One stage.
module block_chunk #(
    parameter CHUNKS = 2,
    parameter VALUES = 16
) (
    input logic clock,
    input logic [$clog2(CHUNKS) - 1:0] pass,
    input logic [(2 * CHUNKS + 1) * VALUES - 1:0] value,
    output logic [3 * VALUES - 1:0] chunk
);
  localparam EACH = 2 * CHUNKS + 1;
  genvar i;
  generate
    for (i = 0; i < VALUES; i = i + 1) begin : each
      logic [2 * CHUNKS - 1:0] size;
      assign size = value[EACH * i +: 2 * CHUNKS];
      always_ff @(posedge clock) chunk[3 * i +: 3] <= {value[EACH * i + 2 * CHUNKS], size[2 * pass +: 2]};
    end
  endgenerate
endmodule
