// What d was 0 to CYCLES cycles ago, the latest first.
module taps #(
    parameter int WIDTH  = 1,
    parameter int CYCLES = 1
) (
    input  logic                        clk,
    input  logic [           WIDTH-1:0] d,
    output logic [(CYCLES+1)*WIDTH-1:0] q
);
  generate
    if (CYCLES == 0) begin : g_wire
      assign q = d;
    end else begin : g_line
      logic [CYCLES*WIDTH-1:0] line;
      always_ff @(posedge clk) line <= (CYCLES * WIDTH)'({line, d});
      assign q = {line, d};
    end
  endgenerate
endmodule
