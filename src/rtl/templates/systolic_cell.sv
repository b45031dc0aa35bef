// A cell of a systolic array: a multiplier, an adder, a weight that rests, a sum, and an operand each that moves right and
// down. Multiplexers give it the three passes of training with its operands where they are:
//
//   forward          the operand that moves right times the weight, onto the sum from above
//   sideways         the operand that moves down times the weight, onto the sum from the left (input gradient)
//   rests            the two operands' product onto the cell's own sum (weight gradient)
//
// A sum is there MULTIPLY + ADD cycles after its operands; the adder's last register is the sum. `load` moves weights up a
// row, `drain` sums.
module systolic_cell #(
    parameter int MULTIPLY = 4,  // latencies; ADD at least 1
    parameter int ADD = 7
) (
    input  logic        clk,
    input  logic        sideways,  // steady while a product runs
    input  logic        rests,     // likewise
    input  logic        load,
    input  logic        drain,
    input  logic        first,     // the product that is added now begins a sum
    input  logic        keep,      // a sum that rests is ready
    input  logic [31:0] right_d,
    input  logic [31:0] down_d,
    input  logic [31:0] weight_d,  // from below
    input  logic [31:0] above,     // sums of the neighbours
    input  logic [31:0] left,
    input  logic [31:0] below,
    output logic [31:0] right_q,
    output logic [31:0] down_q,
    output logic [31:0] weight,
    output logic [31:0] sum
);
  wire [31:0] moving = sideways ? down_d : right_d;
  wire [31:0] other = rests ? down_d : weight;
  wire [31:0] onto = rests ? (first ? 32'b0 : sum) : sideways ? left : above;
  logic [31:0] product, total;
  fp32_multiply #(.LATENCY(MULTIPLY)) multiply (.clk, .a(moving), .b(other), .y(product));
  fp32_add #(.LATENCY(ADD - 1)) add (.clk, .a(onto), .b(product), .y(total));
  always_ff @(posedge clk) begin
    right_q <= right_d;
    down_q <= down_d;
    if (load) weight <= weight_d;
    if (drain) sum <= below;
    else if (!rests || keep) sum <= total;
  end
endmodule
