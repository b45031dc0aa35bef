// A register where ENABLE is 1, a wire where it is 0: a place at which a pipeline may be cut.
module pipe #(
    parameter int WIDTH = 1,
    parameter bit ENABLE = 1
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  generate
    if (ENABLE) begin : g_register
      always_ff @(posedge clk) q <= d;
    end else begin : g_wire
      assign q = d;
    end
  endgenerate
endmodule
