// Counters one spot the other, the first the fastest, and for each of OPERANDS arrays where the block at the counted
// place lies: the sum over the counters of what each adds to the word address, to the rotation of the banks and to
// the place within a word. No counter is multiplied: a counter adds `stride` to an address each time its low `period`
// bits wrap, and likewise for rotations; its low `spot` bits, moved by `shift`, are the place within a word.
//
// load: all counters to zero. step: to the next place. save: what is reached is where restore goes back to.
module odometer #(
    parameter int LEVELS = 4,
    parameter int OPERANDS = 3,
    parameter int COUNT = 12,    // bits of a counter
    parameter int ADDRESS = 16,  // bits of a word address
    parameter int ROTATE = 4,    // bits of a bank's number
    parameter int INSIDE = 4     // bits of a place within a word
) (
    input logic clk,
    input logic load,
    input logic step,
    input logic save,
    input logic restore,

    input logic [         LEVELS*COUNT-1:0] count,   // steps of a level
    input logic [    LEVELS*OPERANDS*4-1:0] period,
    input logic [LEVELS*OPERANDS*ADDRESS-1:0] stride,
    input logic [    LEVELS*OPERANDS*4-1:0] turn_period,
    input logic [LEVELS*OPERANDS*ROTATE-1:0] turn,
    input logic [    LEVELS*OPERANDS*4-1:0] spot,
    input logic [    LEVELS*OPERANDS*4-1:0] shift,

    output logic [OPERANDS*ADDRESS-1:0] address,
    output logic [ OPERANDS*ROTATE-1:0] rotation,
    output logic [ OPERANDS*INSIDE-1:0] place,
    output logic [          LEVELS-1:0] last  // the level stands at its last step
);
  logic [COUNT-1:0] at[LEVELS], at_saved[LEVELS], at_next[LEVELS];
  logic [OPERANDS*ADDRESS-1:0] sum[LEVELS], sum_saved[LEVELS], sum_next[LEVELS];
  logic [OPERANDS*ROTATE-1:0] turned[LEVELS], turned_saved[LEVELS], turned_next[LEVELS];

  logic [LEVELS:0] carry;
  assign carry[0] = 1'b1;

  generate
    for (genvar l = 0; l < LEVELS; l++) begin : g_level
      wire [COUNT-1:0] one_more = at[l] + 1'b1;
      assign last[l] = one_more == count[l*COUNT+:COUNT];
      assign carry[l+1] = carry[l] && last[l];
      assign at_next[l] = !carry[l] ? at[l] : last[l] ? '0 : one_more;
      for (genvar o = 0; o < OPERANDS; o++) begin : g_operand
        localparam int I = l * OPERANDS + o;
        wire wraps = (one_more & ~({COUNT{1'b1}} << period[I*4+:4])) == 0;
        wire turns = (one_more & ~({COUNT{1'b1}} << turn_period[I*4+:4])) == 0;
        wire [ADDRESS-1:0] here = sum[l][o*ADDRESS+:ADDRESS];
        wire [ROTATE-1:0] bank = turned[l][o*ROTATE+:ROTATE];
        assign sum_next[l][o*ADDRESS+:ADDRESS] =
            !carry[l] ? here : last[l] ? '0 : wraps ? here + stride[I*ADDRESS+:ADDRESS] : here;
        assign turned_next[l][o*ROTATE+:ROTATE] =
            !carry[l] ? bank : last[l] ? '0 : turns ? bank + turn[I*ROTATE+:ROTATE] : bank;
      end
    end
  endgenerate

  always_ff @(posedge clk)
    for (int l = 0; l < LEVELS; l++) begin
      if (load) begin
        at[l] <= '0;
        sum[l] <= '0;
        turned[l] <= '0;
      end else if (restore) begin
        at[l] <= at_saved[l];
        sum[l] <= sum_saved[l];
        turned[l] <= turned_saved[l];
      end else if (step) begin
        at[l] <= at_next[l];
        sum[l] <= sum_next[l];
        turned[l] <= turned_next[l];
      end
      if (load) begin
        at_saved[l] <= '0;
        sum_saved[l] <= '0;
        turned_saved[l] <= '0;
      end else if (save) begin
        at_saved[l] <= at_next[l];
        sum_saved[l] <= sum_next[l];
        turned_saved[l] <= turned_next[l];
      end
    end

  always_comb begin
    address = '0;
    rotation = '0;
    place = '0;
    for (int o = 0; o < OPERANDS; o++)
      for (int l = 0; l < LEVELS; l++) begin
        address[o*ADDRESS+:ADDRESS] = address[o*ADDRESS+:ADDRESS] + sum[l][o*ADDRESS+:ADDRESS];
        rotation[o*ROTATE+:ROTATE] = rotation[o*ROTATE+:ROTATE] + turned[l][o*ROTATE+:ROTATE];
        place[o*INSIDE+:INSIDE] = place[o*INSIDE+:INSIDE] |
            INSIDE'((at[l] & ~({COUNT{1'b1}} << spot[(l*OPERANDS+o)*4+:4])) << shift[(l*OPERANDS+o)*4+:4]);
      end
  end
endmodule
