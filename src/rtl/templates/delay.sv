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
      for (genvar i = 0; i < CYCLES; i++) begin : g_stage
        logic [WIDTH-1:0] kept;
        if (i == 0) begin : g_first
          always_ff @(posedge clk) kept <= d;
        end else begin : g_next
          always_ff @(posedge clk) kept <= g_line.g_stage[i-1].kept;
        end
      end
      assign q = g_line.g_stage[CYCLES-1].kept;
    end
  endgenerate
endmodule
