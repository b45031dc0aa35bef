// Numbers of banks have one field or two: `top` is the highest bit of the lower field where there are two, else zero.
// Fields are added and subtracted each on its own, without a carry between them.
function automatic logic [ROTATE-1:0] field_add(input logic [ROTATE-1:0] a, input logic [ROTATE-1:0] b,
                                                input logic [ROTATE-1:0] top);
  field_add = ((a & ~top) + (b & ~top)) ^ ((a ^ b) & top);
endfunction
function automatic logic [ROTATE-1:0] field_subtract(input logic [ROTATE-1:0] a, input logic [ROTATE-1:0] b,
                                                     input logic [ROTATE-1:0] top);
  field_subtract = ((a | top) - (b & ~top)) ^ ((a ^ ~b) & top);
endfunction
