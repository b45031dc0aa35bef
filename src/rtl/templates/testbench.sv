// Runs the engine's program RUNS times, prints the cycles of each operation, and compares every memory with what the
// reference says it must hold. Ends with an error where an element differs or the program does not end.
module testbench;
`include "testbench.svh"
  logic clk = 0, reset = 1, check = 0, load, finished;
  int unsigned wrong;
  longint unsigned cycle = 0, begun = 0;
  int operation = -1;
  int runs = 0;

  engine dut (.clk, .reset, .check, .load, .finished, .wrong);
  always #1 clk = !clk;

  // An operation lasts from its load to the next; the program's end is loaded too.
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    reset <= cycle < 2;
    if (!reset && load) begin
      if (operation >= 0) $display("operation %0d cycles %0d", operation, cycle - begun);
      operation <= operation + 1;
      begun <= cycle;
    end
    if (finished && runs < RUNS) begin
      runs <= runs + 1;
      operation <= -1;
      if (runs + 1 < RUNS) reset <= 1;
      else check <= 1;
    end
    if (check) begin
      $display("elements %0d wrong %0d", ELEMENTS, wrong);
      if (wrong != 0) $fatal(1, "memories differ from the reference");
      $finish;
    end
    if (cycle > CYCLES_MOST) $fatal(1, "the program does not end");
  end
endmodule
