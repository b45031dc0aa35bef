// One of the operations that a product does on its results before they are written: an addition, or the greater of the
// result and +0. What travels with a tile goes through beside it: where it is written, the end of the operation, the
// tile that a later stage adds. Off, all of it passes in no time.
module write_back #(
    parameter int LANES = 4,
    parameter int GOES = 32,
    parameter int LATENCY = 7,
    parameter bit POSITIVE = 0  // the greater of it and +0, not a sum
) (
    input  logic                clk,
    input  logic                reset,
    input  logic                on,      // steady while an operation runs
    input  logic                valid,
    input  logic                ended,
    input  logic [    GOES-1:0] goes,
    input  logic [LANES*32-1:0] d,
    input  logic [LANES*32-1:0] added,
    input  logic [LANES*32-1:0] later,   // what a later stage adds
    output logic                q_valid,
    output logic                q_ended,
    output logic [    GOES-1:0] q_goes,
    output logic [LANES*32-1:0] q,
    output logic [LANES*32-1:0] q_later
);
  logic late_valid, late_ended;
  logic [GOES-1:0] late_goes;
  logic [LANES*32-1:0] late_later, result;
  flags #(.WIDTH(2), .CYCLES(LATENCY)) through (
      .clk, .reset, .d({valid && on, ended && on}), .q({late_valid, late_ended}));
  delay #(.WIDTH(GOES + LANES * 32), .CYCLES(LATENCY)) beside (.clk, .d({goes, later}), .q({late_goes, late_later}));
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_lane
      if (POSITIVE) begin : g_positive
        fp32_greater #(.LATENCY(LATENCY)) greater (
            .clk, .a(d[n*32+:32]), .b(32'b0), .x(d[n*32+:32]), .z(32'b0), .y(result[n*32+:32]));
      end else begin : g_sum
        fp32_add #(.LATENCY(LATENCY)) add (.clk, .a(d[n*32+:32]), .b(added[n*32+:32]), .y(result[n*32+:32]));
      end
    end
  endgenerate
  assign q_valid = on ? late_valid : valid;
  assign q_ended = on ? late_ended : ended;
  assign q_goes = on ? late_goes : goes;
  assign q_later = on ? late_later : later;
  assign q = on ? result : d;
endmodule
