// Numbers of banks have one field or two: `highest` is that bit of the lower field where there are two, else zero.
// Fields are added and subtracted each on its own, without a carry between them.
function automatic logic [ROTATE-1:0] field_add(input logic [ROTATE-1:0] a, input logic [ROTATE-1:0] b,
                                                input logic [ROTATE-1:0] highest);
  field_add = ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
endfunction
function automatic logic [ROTATE-1:0] field_subtract(input logic [ROTATE-1:0] a, input logic [ROTATE-1:0] b,
                                                     input logic [ROTATE-1:0] highest);
  field_subtract = ((a | highest) - (b & ~highest)) ^ ((a ^ ~b) & highest);
endfunction
