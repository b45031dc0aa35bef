// Deals the elements of fetched words to lanes. SOURCE says for each choice (a pattern in one of its phases) and lane
// which element of which word it takes: 0 none, else 1 + word * WORD + element. In phase 0 a lane without a source
// becomes +0; in later phases it keeps what it has.
module lanes #(
    parameter int LANES = 4,
    parameter int CHOICES = 1,  // patterns * phases
    parameter int BANKS = 1,
    parameter int WORD = 4,
    parameter int CODE = 8,     // bits of a source
    parameter int CHOICE = 8,
    parameter logic [CHOICES*LANES*CODE-1:0] SOURCE = '0
) (
    input  logic                     clk,
    input  logic                     valid,
    input  logic                     first,  // phase 0
    input  logic [       CHOICE-1:0] choice,
    input  logic [BANKS*WORD*32-1:0] words,
    output logic [     LANES*32-1:0] lane
);
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_lane
      logic [31:0] picked;
      logic taken;
      always_comb begin
        picked = '0;
        taken = first;
        for (int c = 0; c < CHOICES; c++)
          if (SOURCE[(c*LANES+n)*CODE+:CODE] != 0 && choice == c[CHOICE-1:0]) begin
            picked = picked | words[(int'(SOURCE[(c*LANES+n)*CODE+:CODE])-1)*32+:32];
            taken = 1'b1;
          end
      end
      always_ff @(posedge clk) if (valid && taken) lane[n*32+:32] <= picked;
    end
  endgenerate
endmodule
