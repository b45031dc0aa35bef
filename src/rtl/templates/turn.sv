// Words by bank as words by their place in the rotation: place w takes bank w + rotation; with BACK the reverse.
// Then elements move within a word: `place` elements down, with BACK up.
module turn #(
    parameter int BANKS = 1,
    parameter int WORD = 4,
    parameter int BITS = 32,  // of an element
    parameter int ROTATE = 1,
    parameter int INSIDE = 1,
    parameter bit BACK = 0
) (
    input  logic [           ROTATE-1:0] rotation,
    input  logic [           ROTATE-1:0] mask,
    input  logic [           INSIDE-1:0] place,
    input  logic [BANKS*WORD*BITS-1:0] d,
    output logic [BANKS*WORD*BITS-1:0] q
);
  localparam int W = WORD * BITS;
  always_comb begin
    for (int b = 0; b < BANKS; b++) begin
      automatic logic [ROTATE-1:0] from = BACK ? (b[ROTATE-1:0] - rotation) & mask : (b[ROTATE-1:0] + rotation) & mask;
      q[b*W+:W] = BACK ? d[from*W+:W] << (place * BITS) : d[from*W+:W] >> (place * BITS);
    end
  end
endmodule
