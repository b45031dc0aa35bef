// In the place of testbench.sv of a generated folder: a bank of words of 128 elements, which is more rounds of a loop than Verilator
// unrolls by itself. Elements that are enabled are written, the others stay.
module testbench;
  localparam int ELEMENTS = 128, DEPTH = 4;
  logic clk = 0;
  logic [ELEMENTS-1:0] write = '0;
  logic [15:0] place = 0;
  logic [ELEMENTS*32-1:0] d = '0, q;
  int differ = 0;
  bank #(.ELEMENTS(ELEMENTS), .DEPTH(DEPTH)) wide (
      .clk, .read(1'b1), .read_address(place), .q, .write, .write_address(place), .d, .check(1'b0), .restore(1'b0), .wrong());

  // Element e of row r is 1000 r + e; behind it, of the odd ones, 1000 r + e + 500000.
  initial begin
    for (int pass = 0; pass < 2; pass++)
      for (int r = 0; r < DEPTH; r++) begin
        place = 16'(r);
        for (int e = 0; e < ELEMENTS; e++) begin
          d[e*32+:32] = 1000 * r + e + 500000 * pass;
          write[e] = pass == 0 || e % 2 == 1;
        end
        #1 clk = 1;
        #1 clk = 0;
      end
    write = '0;
    for (int r = 0; r < DEPTH; r++) begin
      place = 16'(r);
      #1 clk = 1;
      #1 clk = 0;
      for (int e = 0; e < ELEMENTS; e++) if (q[e*32+:32] != 1000 * r + e + 500000 * (e % 2)) differ++;
    end
    $display("elements %0d wrong %0d", DEPTH * ELEMENTS, differ);
    $finish;
  end
endmodule
