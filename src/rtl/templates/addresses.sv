// Which word each bank is to give or take for one phase of a block: of the block's words, OFFSET and USED say for each
// choice and place in the rotation whether a word lies there, and how far behind the block's first word.
module addresses #(
    parameter int CHOICES = 1,
    parameter int BANKS = 1,
    parameter int ADDRESS = 16,
    parameter int ROTATE = 1,
    parameter int CHOICE = 8,
    parameter logic [CHOICES*BANKS*ADDRESS-1:0] OFFSET = '0,
    parameter logic [CHOICES*BANKS-1:0] USED = '0
) (
    input  logic [      CHOICE-1:0] choice,
    input  logic [     ADDRESS-1:0] base,
    input  logic [      ROTATE-1:0] rotation,
    input  logic [      ROTATE-1:0] mask,      // banks of the memory, less one
    output logic [       BANKS-1:0] used,      // by bank
    output logic [BANKS*ADDRESS-1:0] address
);
  logic [BANKS*ADDRESS-1:0] offset;
  logic [BANKS-1:0] present;
  always_comb begin
    offset = '0;
    present = '0;
    for (int c = 0; c < CHOICES; c++)
      if (choice == c[CHOICE-1:0]) begin
        offset = offset | OFFSET[c*BANKS*ADDRESS+:BANKS*ADDRESS];
        present = present | USED[c*BANKS+:BANKS];
      end
    for (int b = 0; b < BANKS; b++) begin
      automatic logic [ROTATE-1:0] turn = (b[ROTATE-1:0] - rotation) & mask;
      used[b] = present[turn] && (b[ROTATE-1:0] & ~mask) == 0;
      address[b*ADDRESS+:ADDRESS] = base + offset[turn*ADDRESS+:ADDRESS];
    end
  end
endmodule
