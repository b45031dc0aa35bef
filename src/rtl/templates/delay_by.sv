// d `cycles` cycles ago (1 to MOST, steady while anything is on its way). `clear` makes what is on its way invalid: what an
// earlier, shorter delay has let out already must not come out of a longer one again.
module delay_by #(
    parameter int WIDTH = 1,
    parameter int MOST = 64,
    parameter int CYCLES = 7    // bits of `cycles`
) (
    input  logic              clk,
    input  logic              clear,
    input  logic [CYCLES-1:0] cycles,
    input  logic              valid,
    input  logic [ WIDTH-1:0] d,
    output logic              q_valid,
    output logic [ WIDTH-1:0] q
);
  localparam int BITS = $clog2(MOST + 1);
  (* ram_style = "distributed" *) logic [WIDTH-1:0] ring[2**BITS];
  logic [2**BITS-1:0] on_its_way;
  logic [BITS-1:0] now;
  wire [BITS-1:0] then = now - cycles[BITS-1:0];
  always_ff @(posedge clk) begin
    now <= clear ? '0 : now + 1'b1;
    ring[now] <= d;
    if (clear) on_its_way <= '0;
    else on_its_way[now] <= valid;
  end
  assign q = ring[then];
  assign q_valid = on_its_way[then] && !clear;
endmodule
