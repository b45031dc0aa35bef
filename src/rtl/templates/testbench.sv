// Runs the engine's program RUNS times, prints the cycles of each operation and compares them with those of cycles.hex,
// and every memory with what the reference says it must hold; then the host writes an element of every memory's first
// and last bank and reads it back. Ends with an error where an element or an operation's cycles differ or the program
// does not end.
//
// The host writes the sample of each run, while the run before may still be under way, and reads the scalars of rows.
//
// +break=N: a reset in cycle N, and all runs from the beginning.
// +rate=BITS: the host writes the rate of the updates, a binary32 number in hexadecimal digits.
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

  // ---- samples: two halves of each word and label, to the buffer that no run takes ----
  localparam int PARTS = 2 * (SAMPLE_WORDS + SAMPLE_LABELS);
  logic [39:0] sample[RUNS*SAMPLE_WORDS+1];
  logic [63:0] label[RUNS*SAMPLE_LABELS+1];
  logic [31:0] rate;
  bit rated;
  int fed = 0, part = 0;
  initial begin
    if (SAMPLE_WORDS > 0) $readmemh("sample.hex", sample, 0, RUNS * SAMPLE_WORDS - 1);
    if (SAMPLE_LABELS > 0) $readmemh("labels.hex", label, 0, RUNS * SAMPLE_LABELS - 1);
    rated = $value$plusargs("rate=%h", rate) != 0;
  end
  wire in_sample = part < 2 * SAMPLE_WORDS;
  wire [39:0] sample_at = sample[in_sample ? fed*SAMPLE_WORDS+part/2 : 0];
  wire [63:0] label_at = label[in_sample ? 0 : fed*SAMPLE_LABELS+part/2-SAMPLE_WORDS];

  // ---- the host's accesses, one behind the other ----
  logic host_valid = 0, host_write = 0, host_answers;
  logic [15:0] host_memory = 0;
  logic [7:0] host_bank = 0, host_element = 0;
  logic [31:0] host_word = 0, host_d = 0, host_q;
  int accesses = 0, answers = 0;
  localparam int ACCESSES = 4 * MEMORIES;  // by memory: write and read in the first bank, then in the last
  int asked = 0, told = 0;
  logic [31:0] scalar0[SCALAR_ROWS+1], scalar1[SCALAR_ROWS+1], scalar2[SCALAR_ROWS+1], scalar3[SCALAR_ROWS+1];
  initial
    if (SCALAR_ROWS > 0) begin
      $readmemh("scalars0.expected", scalar0, 0, SCALAR_ROWS - 1);
      $readmemh("scalars1.expected", scalar1, 0, SCALAR_ROWS - 1);
      $readmemh("scalars2.expected", scalar2, 0, SCALAR_ROWS - 1);
      $readmemh("scalars3.expected", scalar3, 0, SCALAR_ROWS - 1);
    end
  wire [31:0] wanted = told % 4 == 0 ? scalar0[told/4] : told % 4 == 1 ? scalar1[told/4]
                     : told % 4 == 2 ? scalar2[told/4] : scalar3[told/4];
  function automatic logic [31:0] mark(input int access);
    mark = 32'h3f80_0000 + access / 2;
  endfunction

  engine dut (
      .clk, .reset, .start, .load, .finished, .host_valid, .host_write, .host_memory, .host_bank,
      .host_word, .host_element, .host_d, .host_answers, .host_q, .check, .restore,
      .wrong);
  always #1 clk = !clk;

  // An operation lasts from its load to the next; the program's end is loaded too.
  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    reset <= cycle < 2 || (broken != 0 && cycle == broken);
    restore <= broken != 0 && cycle == broken + 1;
    start <= finished && !started && runs < RUNS && fed > runs && !rated;
    if (finished && !started && runs < RUNS && fed > runs && !rated) started <= 1;
    host_valid <= 0;
    if (!reset && !check && rated) begin
      host_valid <= 1;
      host_write <= 1;
      host_memory <= HOST_RATE;
      host_d <= rate;
      rated <= 0;
    end else if (!reset && !check && fed < RUNS && fed < runs + 2) begin
      host_valid <= PARTS > 0;
      host_write <= 1;
      host_memory <= in_sample ? HOST_SAMPLE : HOST_LABELS;
      host_bank <= 8'(fed % 2);
      host_word <= in_sample ? part / 2 : part / 2 - SAMPLE_WORDS;
      host_element <= 8'(part % 2);
      host_d <= in_sample ? (part % 2 == 0 ? sample_at[31:0] : 32'(sample_at[39:32]))
                          : part % 2 == 0 ? label_at[31:0] : label_at[63:32];
      part <= part + 1 >= PARTS ? 0 : part + 1;
      if (part + 1 >= PARTS) fed <= fed + 1;
    end
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
      fed <= 0;
      part <= 0;
    end
    if (cycle == next_report) begin
      $display("cycle %0d of %0d", cycle, CYCLES);
      $fflush;
      next_report <= next_report + REPORT;
    end
    if (check && answers < ACCESSES / 2) begin
      host_word <= 0;
      host_element <= 0;
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
    end
    if (check && answers >= ACCESSES / 2) begin
      host_valid <= asked < 4 * SCALAR_ROWS;
      host_write <= 0;
      host_memory <= HOST_ROWS;
      host_word <= asked / 4;
      host_element <= 8'(asked % 4);
      if (asked < 4 * SCALAR_ROWS) asked <= asked + 1;
      if (host_answers) begin
        told <= told + 1;
        if (host_q !== wanted) begin
          $display("host: scalar %0d of row %0d is %h, not %h", told % 4, told / 4, host_q, wanted);
          unequal <= unequal + 1;
        end
      end
      if (told == 4 * SCALAR_ROWS) begin
        $display("elements %0d wrong %0d", ELEMENTS, wrong);
        if (unequal != 0) $fatal(1, "%0d cycles of operations or scalars are not those predicted", unequal);
        if (wrong != 0) $fatal(1, "memories differ from the reference");
        $finish;
      end
    end
    if (cycle > CYCLES_MOST) $fatal(1, "the program does not end");
  end
endmodule
