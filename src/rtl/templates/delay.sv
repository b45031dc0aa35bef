// CYCLES registers one behind the other; none where CYCLES is 0.
module delay #(
    parameter int WIDTH  = 1,
    parameter int CYCLES = 1
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  generate
    if (CYCLES == 0) begin : g_wire
      assign q = d;
    end else begin : g_line
      logic [WIDTH-1:0] line[CYCLES];
      always_ff @(posedge clk) begin
        line[0] <= d;
        for (int i = 1; i < CYCLES; i++) line[i] <= line[i-1];
      end
      assign q = line[CYCLES-1];
    end
  endgenerate
endmodule
