// Counters one inside the other, the first the fastest, and for each of OPERANDS arrays where the block at the counted
// place lies: the sum over the counters of what each adds to the word address, to the rotation of the banks and to
// the place within a word. No counter is multiplied: a counter adds `stride` to an address each time its low `period`
// bits wrap, and likewise for rotations, which may go one bank `further` at the wraps of yet more bits; its low `spot` bits,
// moved by `shift`, are the place within a word.
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

    input logic [           LEVELS*COUNT-1:0] count,        // steps of a level
    input logic [      LEVELS*OPERANDS*4-1:0] period,
    input logic [LEVELS*OPERANDS*ADDRESS-1:0] stride,
    input logic [      LEVELS*OPERANDS*4-1:0] turn_period,
    input logic [ LEVELS*OPERANDS*ROTATE-1:0] turn,
    input logic [      LEVELS*OPERANDS*4-1:0] further_period,
    input logic [        LEVELS*OPERANDS-1:0] further,
    input logic [      LEVELS*OPERANDS*4-1:0] spot,
    input logic [      LEVELS*OPERANDS*4-1:0] shift,
    input logic [        OPERANDS*ROTATE-1:0] top,          // of the arrays' banks

    output logic [OPERANDS*ADDRESS-1:0] address,
    output logic [ OPERANDS*ROTATE-1:0] rotation,
    output logic [ OPERANDS*INSIDE-1:0] place,
    output logic [          LEVELS-1:0] last       // the level stands at its last step
);
`include "fields.svh"
  localparam logic [COUNT-1:0] ALL = '1;
  logic [LEVELS:0] carry  /* verilator split_var */;
  assign carry[0] = 1'b1;

  // What the levels from l on add up to lies in slice l.
  wire [(LEVELS+1)*OPERANDS*ADDRESS-1:0] addresses  /* verilator split_var */;
  wire [(LEVELS+1)*OPERANDS*ROTATE-1:0] rotations  /* verilator split_var */;
  wire [(LEVELS+1)*OPERANDS*INSIDE-1:0] places  /* verilator split_var */;
  assign addresses[LEVELS*OPERANDS*ADDRESS+:OPERANDS*ADDRESS] = '0;
  assign rotations[LEVELS*OPERANDS*ROTATE+:OPERANDS*ROTATE] = '0;
  assign places[LEVELS*OPERANDS*INSIDE+:OPERANDS*INSIDE] = '0;
  assign address = addresses[0+:OPERANDS*ADDRESS];
  assign rotation = rotations[0+:OPERANDS*ROTATE];
  assign place = places[0+:OPERANDS*INSIDE];

  generate
    for (genvar l = 0; l < LEVELS; l++) begin : g_level
      logic [COUNT-1:0] at, at_saved;
      wire [COUNT-1:0] one_more = at + 1'b1;
      wire [COUNT-1:0] at_next = !carry[l] ? at : last[l] ? '0 : one_more;
      assign last[l] = one_more == count[l*COUNT+:COUNT];
      assign carry[l+1] = carry[l] && last[l];
      always_ff @(posedge clk) begin
        if (load) at <= '0;
        else if (restore) at <= at_saved;
        else if (step) at <= at_next;
        if (load) at_saved <= '0;
        else if (save) at_saved <= at_next;
      end
      for (genvar o = 0; o < OPERANDS; o++) begin : g_operand
        localparam int I = l * OPERANDS + o;
        localparam int NEXT = I + OPERANDS;
        wire wraps = (one_more & ~(ALL << period[I*4+:4])) == 0;
        wire turns = (one_more & ~(ALL << turn_period[I*4+:4])) == 0;
        wire goes_further = further[I] && (one_more & ~(ALL << further_period[I*4+:4])) == 0;
        wire [ROTATE-1:0] upper = top[o*ROTATE+:ROTATE];
        logic [ADDRESS-1:0] sum, sum_saved;
        logic [ROTATE-1:0] turned, turned_saved;
        wire [ADDRESS-1:0] sum_next = !carry[l] ? sum : last[l] ? '0 : wraps ? sum + stride[I*ADDRESS+:ADDRESS] : sum;
        wire [ROTATE-1:0] turned_next =
            !carry[l] ? turned : last[l] ? '0 : turns ? field_add(turned, turn[I*ROTATE+:ROTATE] + ROTATE'(goes_further), upper)
                                              : turned;
        always_ff @(posedge clk) begin
          if (load) {sum, turned} <= '0;
          else if (restore) {sum, turned} <= {sum_saved, turned_saved};
          else if (step) {sum, turned} <= {sum_next, turned_next};
          if (load) {sum_saved, turned_saved} <= '0;
          else if (save) {sum_saved, turned_saved} <= {sum_next, turned_next};
        end
        wire [COUNT-1:0] low = at & ~(ALL << spot[I*4+:4]);
        wire [COUNT+INSIDE-1:0] moved = {{INSIDE{1'b0}}, low} << shift[I*4+:4];
        assign addresses[I*ADDRESS+:ADDRESS] = sum + addresses[NEXT*ADDRESS+:ADDRESS];
        assign rotations[I*ROTATE+:ROTATE] = field_add(turned, rotations[NEXT*ROTATE+:ROTATE], upper);
        assign places[I*INSIDE+:INSIDE] = moved[INSIDE-1:0] | places[NEXT*INSIDE+:INSIDE];
      end
    end
  endgenerate
endmodule
