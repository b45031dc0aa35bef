// Which word each bank is to give or take for one phase of a block. `used` and `offset` say for each place in the
// rotation whether the block has a word there, and how far behind its first word.
module addresses #(
    parameter int BANKS = 1,
    parameter int ADDRESS = 16,
    parameter int ROTATE = 1
) (
    input  logic [        BANKS-1:0] used,
    input  logic [BANKS*ADDRESS-1:0] offset,
    input  logic [      ADDRESS-1:0] base,
    input  logic [       ROTATE-1:0] rotation,
    input  logic [       ROTATE-1:0] mask,     // banks of the memory, less one
    input  logic [       ROTATE-1:0] top,      // of the first of two forms of banks
    output logic [        BANKS-1:0] bank_used,
    output logic [BANKS*ADDRESS-1:0] address
);
`include "fields.svh"
  generate
    for (genvar b = 0; b < BANKS; b++) begin : g_bank
      wire [ROTATE-1:0] here = b;
      wire [ROTATE-1:0] place = field_subtract(here, rotation, top) & mask;
      assign bank_used[b] = used[place] && (here & ~mask) == 0;
      assign address[b*ADDRESS+:ADDRESS] = base + offset[place*ADDRESS+:ADDRESS];
    end
  endgenerate
endmodule
