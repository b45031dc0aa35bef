// y = a > b ? x : z, LATENCY cycles after them; one a cycle. Subnormal a and b count as zero; with a NaN a > b is false.
module fp32_greater #(
    parameter int LATENCY = 2
) (
    input  logic        clk,
    input  logic [31:0] a,
    input  logic [31:0] b,
    input  logic [31:0] x,
    input  logic [31:0] z,
    output logic [31:0] y
);
  // A number's order as an unsigned one: negative ones turned round, both zeros equal.
  wire        a_zero = a[30:23] == 0;
  wire        b_zero = b[30:23] == 0;
  wire [31:0] a_order = a_zero ? 32'h80000000 : a[31] ? ~a : {1'b1, a[30:0]};
  wire [31:0] b_order = b_zero ? 32'h80000000 : b[31] ? ~b : {1'b1, b[30:0]};
  wire        nan = (&a[30:23] && a[22:0] != 0) || (&b[30:23] && b[22:0] != 0);

  logic greater1;
  logic [31:0] x1, z1;
  pipe #(.WIDTH(65), .ENABLE(LATENCY >= 2)) compared (
      .clk, .d({a_order > b_order && !nan, x, z}), .q({greater1, x1, z1}));
  delay #(.WIDTH(32), .CYCLES(LATENCY >= 2 ? LATENCY - 1 : LATENCY)) last (.clk, .d(greater1 ? x1 : z1), .q(y));
endmodule
