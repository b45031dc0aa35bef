// y = 2 u - 1 as a binary32 number, u the upper 24 bits of the SplitMix64 number (base/random.h) of `state`, which is the
// seed and as many times 64'h9e3779b97f4a7c15 as numbers were drawn, this one with them. So any number of a sequence is drawn
// from its place, again and again. A result a cycle, 12 cycles behind its state.
module fp32_draw (
    input  logic        clk,
    input  logic [63:0] state,
    output logic [31:0] y
);
  logic [63:0] z0, z4;
  logic [63:0] product1, product2, product3, product5, product6, product7;
  always_ff @(posedge clk) begin
    z0 <= state ^ (state >> 30);
    product1 <= z0 * 64'hbf58476d1ce4e5b9;  // three registers, which the partial sums of a tool may move into
    product2 <= product1;
    product3 <= product2;
    z4 <= product3 ^ (product3 >> 27);
    product5 <= z4 * 64'h94d049bb133111eb;
    product6 <= product5;
    product7 <= product6;
  end

  // Multiples of 2^-23 in two's complement: the upper bit turned.
  logic [23:0] fixed8, magnitude9, magnitude10;
  logic        minus9, minus10;
  logic [ 4:0] top10;
  wire  [63:0] z7 = product7 ^ (product7 >> 31);
  always_ff @(posedge clk) begin
    fixed8 <= {~z7[63], z7[62:40]};
    minus9 <= fixed8[23];
    magnitude9 <= fixed8[23] ? -fixed8 : fixed8;
    minus10 <= minus9;
    magnitude10 <= magnitude9;
    top10 <= 5'd0;
    for (int i = 0; i < 24; i++) if (magnitude9[i]) top10 <= 5'(i);
  end

  wire [23:0] normal10 = magnitude10 << (5'd23 - top10);
  always_ff @(posedge clk)
    y <= magnitude10 == 0 ? 32'b0 : {minus10, 8'd104 + {3'b0, top10}, normal10[22:0]};
endmodule
