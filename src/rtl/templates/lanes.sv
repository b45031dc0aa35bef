// The operand's lanes: those that a phase takes an element for get it; in phase 0 the others become +0, later they keep
// what they have.
module lanes #(
    parameter int LANES = 4
) (
    input  logic                clk,
    input  logic                valid,
    input  logic                first,  // phase 0
    input  logic [   LANES-1:0] taken,
    input  logic [LANES*32-1:0] d,
    output logic [LANES*32-1:0] lane
);
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_lane
      logic [31:0] kept;
      always_ff @(posedge clk)
        if (valid && (first || taken[n])) kept <= taken[n] ? d[n*32+:32] : 32'b0;
      assign lane[n*32+:32] = kept;
    end
  endgenerate
endmodule
