// Runs the engine's program RUNS times, prints the cycles of each operation and compares them with those of cycles.hex,
// and every memory with what the reference says it must hold; then the host writes an element of every memory's first
// and last bank and reads it back. Ends with an error where an element or an operation's cycles differ or the program
// does not end.
//
// +break=N: a reset in cycle N, and all runs from the beginning.
module testbench;
`include "testbench.svh"
  logic clk = 0, reset = 1, check = 0, restore = 0, start = 0, started = 0, load, finished;
  int unsigned wrong;
  longint unsigned cycle = 0, begun = 0, next_report = REPORT;
  int operation = -1;
  int runs = 0, unequal = 0;
  longint unsigned broken = 0;
  logic [31:0] predicted[OPERATIONS];
  initial begin
    $readmemh("cycles.hex", predicted);
    if (!$value$plusargs("break=%d", broken)) broken = 0;
  end

  // ---- the host's accesses, one behind the other ----
  logic host_valid = 0, host_write = 0, host_answers;
  logic [15:0] host_memory = 0;
  logic [7:0] host_bank = 0;
  logic [31:0] host_d = 0, host_q;
  int accesses = 0, answers = 0;
  localparam int ACCESSES = 4 * MEMORIES;  // by memory: write and read in the first bank, then in the last
  function automatic logic [31:0] mark(input int access);
    mark = 32'h3f80_0000 + access / 2;
  endfunction

  engine dut (
      .clk, .reset, .start, .load, .finished, .host_valid, .host_write, .host_memory, .host_bank,
      .host_word(32'd0), .host_element(8'd0), .host_d, .host_answers, .host_q, .check, .restore,
      .wrong);
  always #1 clk = !clk;

  // An operation lasts from its load to the next; the program's end is loaded too.
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    reset <= cycle < 2 || (broken != 0 && cycle == broken);
    restore <= broken != 0 && cycle == broken + 1;
    start <= finished && !started && runs < RUNS;
    if (finished && !started && runs < RUNS) started <= 1;
    if (!reset && load) begin
      if (operation >= 0) begin
        $display("operation %0d cycles %0d", operation, cycle - begun);
        if (cycle - begun != 64'(predicted[operation])) begin
          $display("operation %0d took %0d cycles, predicted %0d", operation, cycle - begun, predicted[operation]);
          unequal <= unequal + 1;
        end
      end
      operation <= operation + 1;
      begun <= cycle;
    end
    if (finished && operation >= 0) begin
      runs <= runs + 1;
      if (operation != OPERATIONS) begin
        $display("the program ended after %0d of %0d operations", operation, OPERATIONS);
        unequal <= unequal + 1;
      end
      operation <= -1;
      started <= 0;
      if (runs + 1 == RUNS) check <= 1;
    end
    if (cycle > 2 && reset) begin
      runs <= 0;
      operation <= -1;
      started <= 0;
      start <= 0;
      unequal <= 0;
    end
    if (cycle == next_report) begin
      $display("cycle %0d of %0d", cycle, CYCLES);
      $fflush;
      next_report <= next_report + REPORT;
    end
    if (check) begin
      host_valid <= accesses < ACCESSES && accesses <= 2 * answers + 1;
      if (accesses < ACCESSES && accesses <= 2 * answers + 1) begin
        host_write <= accesses % 2 == 0;
        host_memory <= 16'(accesses / 4);
        host_bank <= accesses / 2 % 2 == 0 ? 8'd0 : LAST_BANK[accesses/4*8+:8];
        host_d <= mark(accesses);
        accesses <= accesses + 1;
      end
      if (host_answers) begin
        answers <= answers + 1;
        if (host_q !== mark(2 * answers)) begin
          $display("host: %h where %h was written", host_q, mark(2 * answers));
          $fatal(1, "the host reads what it did not write");
        end
      end
      if (answers == ACCESSES / 2) begin
        $display("elements %0d wrong %0d", ELEMENTS, wrong);
        if (unequal != 0) $fatal(1, "cycles of %0d operations are not those predicted", unequal);
        if (wrong != 0) $fatal(1, "memories differ from the reference");
        $finish;
      end
    end
    if (cycle > CYCLES_MOST) $fatal(1, "the program does not end");
  end
endmodule
