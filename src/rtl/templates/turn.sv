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
    input  logic [         ROTATE-1:0] rotation,
    input  logic [         ROTATE-1:0] mask,
    input  logic [         ROTATE-1:0] top,
    input  logic [         INSIDE-1:0] place,
    input  logic [BANKS*WORD*BITS-1:0] d,
    output logic [BANKS*WORD*BITS-1:0] q
);
`include "fields.svh"
  localparam int W = WORD * BITS;
  generate
    for (genvar b = 0; b < BANKS; b++) begin : g_bank
      wire [ROTATE-1:0] here = b;
      wire [ROTATE-1:0] from = (BACK ? field_subtract(here, rotation, top) : field_add(here, rotation, top)) & mask;
      wire [W-1:0] word = d[from*W+:W];
      assign q[b*W+:W] = BACK ? word << (place * BITS) : word >> (place * BITS);
    end
  endgenerate
endmodule
