// y = the binary32 number of a sign, a biased exponent without end in two's complement and a mantissa's fraction, raised
// by one unit where `up`: a carry out of the fraction leaves it zero and raises the exponent. A magnitude below 2^-126 is
// zero of the sign, one too large infinite. Combinational.
module fp32_pack (
    input  logic        sign,
    input  logic [ 9:0] exponent,
    input  logic [22:0] fraction,
    input  logic        up,
    input  logic        nan,       // each of these decides before those behind it
    input  logic        infinite,
    input  logic        zero,
    output logic [31:0] y
);
  wire [32:0] rounded = {exponent, fraction} + {32'b0, up};
  wire        negative = rounded[32];
  wire        low = negative || rounded[32:23] == 0;
  wire        high = !negative && rounded[32:23] >= 10'd255;

  assign y = nan ? 32'h7fc00000
           : infinite ? {sign, 31'h7f800000}
           : zero || low ? {sign, 31'b0}
           : high ? {sign, 31'h7f800000}
           : {sign, rounded[30:0]};
endmodule
