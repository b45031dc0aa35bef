// CYCLES registers one behind the other that a reset clears, none where CYCLES is 0: what says that something is on its
// way. What is on its way itself goes beside it in delay.sv, where shift registers without a reset hold it.
module flags #(
    parameter int WIDTH  = 1,
    parameter int CYCLES = 1
) (
    input  logic             clk,
    input  logic             reset,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  generate
    if (CYCLES == 0) begin : g_wire
      assign q = d;
    end else begin : g_line
      for (genvar i = 0; i < CYCLES; i++) begin : g_stage
        logic [WIDTH-1:0] kept;
        wire [WIDTH-1:0] next;
        if (i == 0) begin : g_first
          assign next = d;
        end else begin : g_next
          assign next = g_line.g_stage[i-1].kept;
        end
        always_ff @(posedge clk)
          if (reset) kept <= '0;
          else kept <= next;
      end
      assign q = g_line.g_stage[CYCLES-1].kept;
    end
  endgenerate
endmodule
