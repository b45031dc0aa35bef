// A memory of BANKS_HERE banks of WORD_HERE elements a word. The engine sees it in FORMS forms, each in the engine's common
// form of BANKS words of WORD: of BANKS_SEEN banks, each of which is BANKS_HERE / BANKS_SEEN of the memory's at one address.
// It is read in one form at a time, and written in one.
module memory #(
    parameter int BANKS = 4,
    parameter int WORD = 4,
    parameter int BANKS_HERE = 4,
    parameter int WORD_HERE = 4,
    parameter int DEPTH = 512,
    parameter int ADDRESS = 16,
    parameter STYLE = "block",
    parameter NAME = "memory",
    parameter int FORMS = 1,
    parameter logic [FORMS*16-1:0] BANKS_SEEN = BANKS_HERE
) (
    input  logic                           clk,
    input  logic [        FORMS*BANKS-1:0] read,
    input  logic [FORMS*BANKS*ADDRESS-1:0] read_address,
    output logic [FORMS*BANKS*WORD*32-1:0] q,
    input  logic [   FORMS*BANKS*WORD-1:0] write,
    input  logic [      BANKS*ADDRESS-1:0] write_address,
    input  logic [      BANKS*WORD*32-1:0] d
`ifndef SYNTHESIS
    ,
    input  logic                           check,
    input  logic                           restore,
    output int unsigned                    wrong
`endif
);
  localparam int ROW = BANKS_HERE * WORD_HERE;
`ifndef SYNTHESIS
  int unsigned wrong_of[BANKS_HERE];
`endif
  // ---- by form, what it asks of the memory's banks ----
  wire [FORMS*BANKS_HERE-1:0] reads;
  wire [FORMS*BANKS_HERE*ADDRESS-1:0] addresses, write_addresses;
  wire [FORMS*ROW-1:0] writes;
  wire [FORMS*ROW*32-1:0] written;
  wire [ROW*32-1:0] row;
  generate
    for (genvar f = 0; f < FORMS; f++) begin : g_form
      localparam int SEEN = {16'b0, BANKS_SEEN[f*16+:16]};
      localparam int EACH = BANKS_HERE / SEEN;
      localparam int ELEMENTS = EACH * WORD_HERE;
      for (genvar b = 0; b < BANKS_HERE; b++) begin : g_bank
        assign reads[f*BANKS_HERE+b] = read[f*BANKS+b/EACH];
        assign addresses[(f*BANKS_HERE+b)*ADDRESS+:ADDRESS] = read_address[(f*BANKS+b/EACH)*ADDRESS+:ADDRESS];
        assign write_addresses[(f*BANKS_HERE+b)*ADDRESS+:ADDRESS] = write_address[b/EACH*ADDRESS+:ADDRESS];
      end
      for (genvar s = 0; s < BANKS; s++) begin : g_seen
        if (s < SEEN) begin : g_present
          assign writes[f*ROW+s*ELEMENTS+:ELEMENTS] = write[(f*BANKS+s)*WORD+:ELEMENTS];
          assign written[(f*ROW+s*ELEMENTS)*32+:ELEMENTS*32] = d[s*WORD*32+:ELEMENTS*32];
          assign q[(f*BANKS+s)*WORD*32+:WORD*32] = (WORD * 32)'(row[s*ELEMENTS*32+:ELEMENTS*32]);
        end else begin : g_absent
          assign q[(f*BANKS+s)*WORD*32+:WORD*32] = '0;
        end
      end
    end
  endgenerate

  // ---- the form that asks ----
  logic [BANKS_HERE-1:0] reads_here;
  logic [BANKS_HERE*ADDRESS-1:0] address_here, write_address_here;
  logic [ROW-1:0] writes_here;
  logic [ROW*32-1:0] written_here;
  wire [BANKS_HERE-1:0] first_reads = reads[0+:BANKS_HERE];
  wire [BANKS_HERE*ADDRESS-1:0] first_address = addresses[0+:BANKS_HERE*ADDRESS];
  wire [ROW-1:0] first_writes = writes[0+:ROW];
  wire [BANKS_HERE*ADDRESS-1:0] first_write_address = write_addresses[0+:BANKS_HERE*ADDRESS];
  wire [ROW*32-1:0] first_written = written[0+:ROW*32];
  always_comb begin
    reads_here = first_reads;
    address_here = first_address;
    writes_here = first_writes;
    write_address_here = first_write_address;
    written_here = first_written;
    for (int f = 1; f < FORMS; f++) begin
      if (|reads[f*BANKS_HERE+:BANKS_HERE]) begin
        reads_here = reads[f*BANKS_HERE+:BANKS_HERE];
        address_here = addresses[f*BANKS_HERE*ADDRESS+:BANKS_HERE*ADDRESS];
      end
      if (|writes[f*ROW+:ROW]) begin
        writes_here = writes[f*ROW+:ROW];
        write_address_here = write_addresses[f*BANKS_HERE*ADDRESS+:BANKS_HERE*ADDRESS];
        written_here = written[f*ROW*32+:ROW*32];
      end
    end
  end
  generate
    for (genvar b = 0; b < BANKS_HERE; b++) begin : g_store
      bank #(.ELEMENTS(WORD_HERE), .DEPTH(DEPTH), .ADDRESS(ADDRESS), .STYLE(STYLE),
             .NAME({NAME, "_", 8'(48 + b / 100), 8'(48 + b / 10 % 10), 8'(48 + b % 10)})) store (
          .clk,
          .read(reads_here[b]), .read_address(address_here[b*ADDRESS+:ADDRESS]), .q(row[b*WORD_HERE*32+:WORD_HERE*32]),
          .write(writes_here[b*WORD_HERE+:WORD_HERE]), .write_address(write_address_here[b*ADDRESS+:ADDRESS]),
          .d(written_here[b*WORD_HERE*32+:WORD_HERE*32])
`ifndef SYNTHESIS
          , .check, .restore, .wrong(wrong_of[b])
`endif
      );
    end
  endgenerate
`ifndef SYNTHESIS
  always_comb begin
    wrong = 0;
    for (int b = 0; b < BANKS_HERE; b++) wrong = wrong + wrong_of[b];
  end
`endif
endmodule
