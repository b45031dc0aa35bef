// The reverse of lanes: which element of which word takes which lane. SOURCE: for each choice, word and element 0 none,
// else 1 + lane; an element without a lane is not written.
module spread #(
    parameter int LANES = 4,
    parameter int CHOICES = 1,
    parameter int BANKS = 1,
    parameter int WORD = 4,
    parameter int CODE = 8,
    parameter int CHOICE = 8,
    parameter logic [CHOICES*BANKS*WORD*CODE-1:0] SOURCE = '0
) (
    input  logic [       CHOICE-1:0] choice,
    input  logic [     LANES*32-1:0] lane,
    output logic [   BANKS*WORD-1:0] enable,
    output logic [BANKS*WORD*32-1:0] words
);
  generate
    for (genvar n = 0; n < BANKS * WORD; n++) begin : g_element
      logic [31:0] picked;
      logic taken;
      always_comb begin
        picked = '0;
        taken = 1'b0;
        for (int c = 0; c < CHOICES; c++)
          if (SOURCE[(c*BANKS*WORD+n)*CODE+:CODE] != 0 && choice == c[CHOICE-1:0]) begin
            picked = picked | lane[(int'(SOURCE[(c*BANKS*WORD+n)*CODE+:CODE])-1)*32+:32];
            taken = 1'b1;
          end
      end
      assign words[n*32+:32] = picked;
      assign enable[n] = taken;
    end
  endgenerate
endmodule
