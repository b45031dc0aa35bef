// A memory of BANKS_HERE banks of WORD_HERE elements a word, in the engine's common form of BANKS words of WORD.
module memory #(
    parameter int BANKS = 4,
    parameter int WORD = 4,
    parameter int BANKS_HERE = 4,
    parameter int WORD_HERE = 4,
    parameter int DEPTH = 512,
    parameter int ADDRESS = 16,
    parameter STYLE = "block",
    parameter NAME = "memory"
) (
    input  logic                     clk,
    input  logic [        BANKS-1:0] read,
    input  logic [BANKS*ADDRESS-1:0] read_address,
    output logic [BANKS*WORD*32-1:0] q,
    input  logic [   BANKS*WORD-1:0] write,
    input  logic [BANKS*ADDRESS-1:0] write_address,
    input  logic [BANKS*WORD*32-1:0] d
`ifndef SYNTHESIS
    ,
    input  logic                     check,
    output int unsigned              wrong
`endif
);
`ifndef SYNTHESIS
  int unsigned wrong_of[BANKS];
`endif
  generate
    for (genvar b = 0; b < BANKS; b++) begin : g_bank
      if (b < BANKS_HERE) begin : g_present
        logic [WORD_HERE*32-1:0] word;
        bank #(.ELEMENTS(WORD_HERE), .DEPTH(DEPTH), .ADDRESS(ADDRESS), .STYLE(STYLE),
               .NAME({NAME, "_", 8'(48 + b / 100), 8'(48 + b / 10 % 10), 8'(48 + b % 10)})) store (
            .clk,
            .read(read[b]), .read_address(read_address[b*ADDRESS+:ADDRESS]), .q(word),
            .write(write[b*WORD+:WORD_HERE]), .write_address(write_address[b*ADDRESS+:ADDRESS]),
            .d(d[b*WORD*32+:WORD_HERE*32])
`ifndef SYNTHESIS
            , .check, .wrong(wrong_of[b])
`endif
        );
        assign q[b*WORD*32+:WORD*32] = (WORD * 32)'(word);
      end else begin : g_absent
        assign q[b*WORD*32+:WORD*32] = '0;
`ifndef SYNTHESIS
        assign wrong_of[b] = 0;
`endif
      end
    end
  endgenerate
`ifndef SYNTHESIS
  always_comb begin
    wrong = 0;
    for (int b = 0; b < BANKS; b++) wrong = wrong + wrong_of[b];
  end
`endif
endmodule
