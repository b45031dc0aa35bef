// The engine: runs the program in `program.hex`, one operation after the other, on memories that hold every array.
//
// A product is ROUNDS of open sums. In a round, for each group of TERMS of the reduction, each open tile of ROWS x
// COLUMNS sums gets one issue: a block of the left and of the right operand, each fetched in as many cycles as its
// layout takes (`phases`, from the pattern). An issue lasts the longest of: the interval at which one sum may be added
// to, the phases of both operands, and, in the last group, the most that a write of the result takes. An update (SGD:
// w - rate * g) is a product of one group whose trips are VECTOR elements. A pass of a vector kernel is run alike: a trip
// is an issue of VECTOR columns of a row, with a third operand and the row's scalars (vector_unit.sv); it ends `drain`
// cycles after its last issue.
//
// An operand may lie where a word of the sample says: at LOAD that word, an address, above it a rotation and the
// place within a word, is added.
//
// From the cycle in which an operation is loaded to that of the next: 1 + issues + 4 (address, bank, memory, lanes) + the
// operators + 1 (result to bank) - 1 (the last write and the next load share a cycle) + phases of the last write - 1.
// engine.svh, patterns.sv, memories.svh, descriptor.svh and program.hex come from one description; the names in capitals are explained
// in engine.svh.
//
// `start` runs the program from its first operation. While it does not run (`finished`) the host may write or read one
// element a cycle, at a memory, bank, word and element; what it reads is there when `host_answers`, in order. Beside the
// memories it reaches, by numbers from 16'h8000 on, what map.json lists: the rate of the updates, at any time the sample of
// the next run (passes.svh), and of the last run the scalars of rows, its losses among them.
module engine (
    input  logic        clk,
    input  logic        reset,
    input  logic        start,
    output logic        load,          // an operation begins
    output logic        finished,      // no program runs
    input  logic        host_valid,
    input  logic        host_write,
    input  logic [15:0] host_memory,
    input  logic [ 7:0] host_bank,
    input  logic [31:0] host_word,
    input  logic [ 7:0] host_element,
    input  logic [31:0] host_d,
    output logic        host_answers,
    output logic [31:0] host_q
`ifndef SYNTHESIS
    ,
    input  logic        check,         // count the elements that differ from what is expected
    input  logic        restore,       // what memories held at the beginning
    output int unsigned wrong
`endif
);
`include "engine.svh"
`include "fields.svh"

  // ---- the rate of the updates ----
  logic [31:0] rate;
  always_ff @(posedge clk)
    if (reset) rate <= RATE;
    else if (host_valid && host_write && host_memory == HOST_RATE) rate <= host_d;

  // ---- program ----
  typedef enum logic [1:0] {IDLE, LOAD, RUN, DRAIN} state_t;
  state_t state;
  wire idle = state == IDLE;
  (* rom_style = PROGRAM_STYLE *) logic [STORED-1:0] rom[OPERATIONS+1];
  initial $readmemh("program.hex", rom);
  logic [STORED-1:0] stored;
  wire [DESCRIPTOR-1:0] d;
`include "descriptor.svh"
  logic [PROGRAM-1:0] pc;
  logic leave;  // the last result is being written in the coming cycle, and the next operation loaded
  wire [PROGRAM-1:0] fetched = idle ? '0 : pc;
  always_ff @(posedge clk) if (idle || leave) stored <= rom[fetched];

  wire vector = d[F_VECTOR];
  wire [TILE-1:0] open = d[F_OPEN+:TILE];
  wire [TILE-1:0] tiles = d[F_TILES+:TILE];
  wire [PHASE-1:0] interval = d[F_INTERVAL+:PHASE];
  wire [PHASE-1:0] write_phases = d[F_WRITE_PHASES+:PHASE];  // the most that one of the operation's tiles takes
  wire [MEMORY-1:0] left_memory = idle ? host_memory[MEMORY-1:0] : d[F_LEFT_MEMORY+:MEMORY];
  wire [MEMORY-1:0] right_memory = d[F_RIGHT_MEMORY+:MEMORY];
  wire [MEMORY-1:0] result_memory = idle ? host_memory[MEMORY-1:0] : d[F_RESULT_MEMORY+:MEMORY];
  wire [ROTATE-1:0] left_top = MEMORY_TOP[left_memory*ROTATE+:ROTATE];
  wire [ROTATE-1:0] right_top = MEMORY_TOP[right_memory*ROTATE+:ROTATE];
  wire [ROTATE-1:0] result_top = MEMORY_TOP[result_memory*ROTATE+:ROTATE];

  // ---- what only passes of vector kernels have ----
  logic streams, reads_left, reads_right, reads_extra;
  logic [ROTATE-1:0] extra_top;
  logic [PHASE-1:0] extra_phases;
  logic [3*ADDRESS-1:0] look_address;  // of left, right, result
  logic [3*ROTATE-1:0] look_rotation;
  logic [3*INSIDE-1:0] look_place;
  logic [MEMORIES-1:0] extra_read;
  logic [BANKS-1:0] extra_used;
  logic [BANKS*ADDRESS-1:0] extra_address;
  logic pass_left;  // a pass ends

  // ---- what only products with a write-back have ----
  logic [2*ROTATE-1:0] added_top;
  logic [2*PHASE-1:0] added_phases;  // 0: nothing is added
  logic [2*MEMORIES-1:0] added_read;
  logic [2*BANKS-1:0] added_used;
  logic [2*BANKS*ADDRESS-1:0] added_address;

  // ---- what only products on a systolic array have ----
  logic on_array, rests, streaming, reads_row, drained_all;
  logic [PHASE-1:0] act_cycles;
  logic [ADDRESS-1:0] right_address_in, result_address_in;  // of a row within its block
  logic [ROTATE-1:0] right_rotation_in, result_rotation_in;
  logic [INSIDE-1:0] right_place_in, result_place_in;

  // ---- control ----
  logic [TILE-1:0] round, slot;  // tiles of earlier rounds; the open one at hand
  logic [PHASE-1:0] phase;
  wire run = state == RUN;
  wire real_tile = slot < tiles - round;

  logic [TILE_LEVELS-1:0] tile_last;
  logic [GROUP_LEVELS-1:0] group_last;
  wire last_group = &group_last;
  logic first_group;
  // The first counters of tiles are those of blocks of columns and rows; on an array the last ones, as vectors that take
  // the same weights follow each other.
  localparam int TOP = TILE_LEVELS - 2 * CUTS;
  wire [CUTS-1:0] column_cut = d[F_EDGE_COLUMN+:CUTS] & (on_array ? tile_last[TOP+:CUTS] : tile_last[0+:CUTS]);
  wire [CUTS-1:0] row_cut = d[F_EDGE_ROW+:CUTS] & (on_array ? tile_last[TOP+CUTS+:CUTS] : tile_last[CUTS+:CUTS]);
  wire [CUTS-1:0] term_cut = d[F_EDGE_TERM+:CUTS] & group_last[0+:CUTS];

  // A block is one of 4^CUTS in a row, so its kind is its low bits.
  wire pass = PASSES > 0 && vector;
  wire pass_cut = column_cut[0] || term_cut[0];  // the trip's columns end within the word
  wire [BLOCK-1:0] left_block = idle ? BLOCK'(HOST_LEFT)
                              : d[F_LEFT_BLOCK+:BLOCK] | (pass ? BLOCK'(pass_cut) : BLOCK'({term_cut, row_cut}));
  wire [BLOCK-1:0] right_block =
      d[F_RIGHT_BLOCK+:BLOCK] | (pass ? BLOCK'(pass_cut) : BLOCK'({column_cut, term_cut}));
  wire [BLOCK-1:0] result_block = idle ? BLOCK'(HOST_RESULT)
                                : d[F_RESULT_BLOCK+:BLOCK] | (pass ? BLOCK'(pass_cut) : BLOCK'({column_cut, row_cut}));
  logic [CHOICE-1:0] left_first, right_first, result_first;
  logic [PHASE-1:0] left_phases, right_phases, result_phases;
  left_blocks of_left (.block(left_block), .first(left_first), .phases(left_phases));
  right_blocks of_right (.block(right_block), .first(right_first), .phases(right_phases));
  result_blocks of_result (.block(result_block), .first(result_first), .phases(result_phases));

  wire [PHASE-1:0] first_added = added_phases[0+:PHASE];
  wire [PHASE-1:0] last_added = added_phases[PHASE+:PHASE];
  logic [PHASE-1:0] cycles;  // of the issue
  always_comb begin
    cycles = interval;
    if (real_tile) begin
      if (left_phases > cycles) cycles = left_phases;
      if (right_phases > cycles) cycles = right_phases;
      if (last_group && write_phases > cycles) cycles = write_phases;
      if (last_group && !vector && first_added > cycles) cycles = first_added;
      if (last_group && !vector && last_added > cycles) cycles = last_added;
      if (pass && extra_phases > cycles) cycles = extra_phases;
      if (pass && streams && result_phases > cycles) cycles = result_phases;
    end
    if (on_array) cycles = act_cycles;
  end
  // A pass's trip that fires is written from then on; one that fetches less than the trip before it took to write waits.
  logic [PHASE-1:0] unwritten_trip;
  wire trip_waits = pass && streams && real_tile && unwritten_trip != 0;
  wire fire = run && phase >= cycles - 1'b1 && !trip_waits;
  wire last_slot = slot == open - 1'b1;
  wire last_round = open >= tiles - round;
  wire sweep = fire && last_slot && (!on_array || streaming);
  wire round_ends = on_array && rests ? fire && drained_all : sweep && last_group;
  wire last_issue = round_ends && last_round;

  logic [TILE_PORTS*ADDRESS-1:0] tile_address;
  logic [TILE_PORTS*ROTATE-1:0] tile_rotation;
  logic [TILE_PORTS*INSIDE-1:0] tile_place;
  odometer #(.LEVELS(TILE_LEVELS), .OPERANDS(TILE_PORTS), .COUNT(COUNT), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .INSIDE(INSIDE)) tile (
      .clk, .load, .step(on_array && rests ? round_ends : fire && real_tile && (!on_array || streaming)), .save(round_ends),
      .restore(sweep && !last_group && !(on_array && rests)),
      .count(d[F_TILE_COUNT+:TILE_LEVELS*COUNT]), .period(d[F_TILE_PERIOD+:TILE_LEVELS*TILE_PORTS*4]),
      .stride(d[F_TILE_STRIDE+:TILE_LEVELS*TILE_PORTS*ADDRESS]),
      .turn_period(d[F_TILE_TURN_PERIOD+:TILE_LEVELS*TILE_PORTS*4]),
      .turn(d[F_TILE_TURN+:TILE_LEVELS*TILE_PORTS*ROTATE]),
      .further_period(d[F_TILE_FURTHER_PERIOD+:TILE_LEVELS*TILE_PORTS*4]),
      .further(d[F_TILE_FURTHER+:TILE_LEVELS*TILE_PORTS]), .spot(d[F_TILE_INSIDE+:TILE_LEVELS*TILE_PORTS*4]),
      .shift(d[F_TILE_SHIFT+:TILE_LEVELS*TILE_PORTS*4]),
      .top((TILE_PORTS * ROTATE)'({extra_top, result_top, right_top, left_top}) & ~(~(TILE_PORTS * ROTATE)'(0) << ADDED_AT * ROTATE) |
           (TILE_PORTS * ROTATE)'(added_top) << ADDED_AT * ROTATE),
      .address(tile_address), .rotation(tile_rotation), .place(tile_place), .last(tile_last));

  logic [GROUP_PORTS*ADDRESS-1:0] group_address;
  logic [GROUP_PORTS*ROTATE-1:0] group_rotation;
  logic [GROUP_PORTS*INSIDE-1:0] group_place;
  odometer #(.LEVELS(GROUP_LEVELS), .OPERANDS(GROUP_PORTS), .COUNT(COUNT), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .INSIDE(INSIDE)) group (
      .clk, .load, .step(sweep), .save(1'b0), .restore(1'b0),
      .count(d[F_GROUP_COUNT+:GROUP_LEVELS*COUNT]), .period(d[F_GROUP_PERIOD+:GROUP_LEVELS*GROUP_PORTS*4]),
      .stride(d[F_GROUP_STRIDE+:GROUP_LEVELS*GROUP_PORTS*ADDRESS]),
      .turn_period(d[F_GROUP_TURN_PERIOD+:GROUP_LEVELS*GROUP_PORTS*4]),
      .turn(d[F_GROUP_TURN+:GROUP_LEVELS*GROUP_PORTS*ROTATE]),
      .further_period(d[F_GROUP_FURTHER_PERIOD+:GROUP_LEVELS*GROUP_PORTS*4]),
      .further(d[F_GROUP_FURTHER+:GROUP_LEVELS*GROUP_PORTS]), .spot(d[F_GROUP_INSIDE+:GROUP_LEVELS*GROUP_PORTS*4]),
      .shift(d[F_GROUP_SHIFT+:GROUP_LEVELS*GROUP_PORTS*4]),
      .top((GROUP_PORTS * ROTATE)'({extra_top, result_top, right_top, left_top})),
      .address(group_address), .rotation(group_rotation), .place(group_place), .last(group_last));

  always_ff @(posedge clk) begin
    if (reset) begin
      state <= IDLE;
    end else begin
      case (state)
        IDLE: if (start) state <= LOAD;
        LOAD: state <= d[F_END] ? IDLE : RUN;
        RUN: if (last_issue) state <= DRAIN;
        default: if (leave) state <= LOAD;
      endcase
    end
    if (idle) pc <= '0;
    else if (state == LOAD) pc <= pc + 1'b1;
    if (!run) unwritten_trip <= '0;
    else if (fire && real_tile && pass && streams) unwritten_trip <= result_phases - 1'b1;
    else if (unwritten_trip != 0) unwritten_trip <= unwritten_trip - 1'b1;
    if (!run) begin
      round <= '0;
      slot <= '0;
      phase <= '0;
      first_group <= 1'b1;
    end else begin
      phase <= fire ? '0 : phase + 1'b1;
      if (fire && (!on_array || streaming)) slot <= last_slot ? '0 : slot + 1'b1;
      if (sweep) first_group <= last_group;
      if (round_ends) round <= round + open;
    end
  end
  assign load = state == LOAD;
  assign finished = idle && !reset;

  // ---- memories ----
  logic [MEMORIES-1:0] left_read, right_read, write;
  logic [BANKS-1:0] left_used, right_used;
  logic [BANKS*ADDRESS-1:0] left_address, right_address, write_address;
  logic [BANKS*WORD-1:0] write_enable;
  logic [BANKS*WORD*32-1:0] write_data;
  wire [MEMORIES*BANKS*WORD*32-1:0] data;
`ifndef SYNTHESIS
  int unsigned wrong_of[MEMORIES];
  int unsigned wrong_scalars;
  always_comb begin
    wrong = 0;
    for (int m = 0; m < MEMORIES; m++) wrong = wrong + wrong_of[m];
    wrong = wrong + wrong_scalars;
  end
`endif
`include "memories.svh"

  // ---- operands ----
  logic [CHOICE-1:0] left_choice1, left_choice2, right_choice1, right_choice2;
  logic [BANKS-1:0] left_used1, right_used1;
  logic [BANKS*ADDRESS-1:0] left_offset1, right_offset1;
  logic left_valid3, left_first3, right_valid3, right_first3;
  logic [BANKS*WORD*32-1:0] left_fetched, right_fetched;
  wire [ADDRESS-1:0] left_base = d[F_LEFT_BASE+:ADDRESS] + tile_address[0+:ADDRESS] + group_address[0+:ADDRESS] +
      look_address[0+:ADDRESS];
  wire [ROTATE-1:0] left_rotation = field_add(
      field_add(tile_rotation[0+:ROTATE], group_rotation[0+:ROTATE], left_top), look_rotation[0+:ROTATE], left_top);
  read_port #(.MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS), .ROTATE(ROTATE),
              .INSIDE(INSIDE), .CHOICE(CHOICE), .MASK(MEMORY_MASK), .TOP(MEMORY_TOP)) left (
      .clk, .reset, .valid(idle ? host_valid && !host_write && !host_memory[15] : run && real_tile && phase < left_phases && reads_left && (!on_array || streaming)), .first(phase == 0),
      .choice(left_first + CHOICE'(phase)), .memory(left_memory),
      .base(idle ? host_word[ADDRESS-1:0] : left_base), .rotation(idle ? host_bank[ROTATE-1:0] : left_rotation),
      .place(idle ? host_element[INSIDE-1:0] : tile_place[0+:INSIDE] | group_place[0+:INSIDE] | look_place[0+:INSIDE]),
      .choice1(left_choice1), .used1(left_used1), .offset1(left_offset1),
      .read(left_read), .used(left_used), .address(left_address), .choice2(left_choice2), .data,
      .valid3(left_valid3), .first3(left_first3), .words(left_fetched));
  left_words left_words_of (.choice(left_choice1), .used(left_used1), .offset(left_offset1));

  read_port #(.MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS), .ROTATE(ROTATE),
              .INSIDE(INSIDE), .CHOICE(CHOICE), .SERVES(RIGHT_SERVES), .MASK(MEMORY_MASK), .TOP(MEMORY_TOP)) right (
      .clk, .reset, .valid(run && real_tile && phase < right_phases && reads_right && (!on_array || reads_row)), .first(phase == 0),
      .choice(right_first + CHOICE'(phase)), .memory(right_memory),
      .base(d[F_RIGHT_BASE+:ADDRESS] + tile_address[ADDRESS+:ADDRESS] + group_address[ADDRESS+:ADDRESS] +
            look_address[ADDRESS+:ADDRESS] + right_address_in),
      .rotation(field_add(field_add(field_add(tile_rotation[ROTATE+:ROTATE], group_rotation[ROTATE+:ROTATE], right_top),
                                    look_rotation[ROTATE+:ROTATE], right_top), right_rotation_in, right_top)),
      .place(tile_place[INSIDE+:INSIDE] | group_place[INSIDE+:INSIDE] | look_place[INSIDE+:INSIDE] | right_place_in),
      .choice1(right_choice1), .used1(right_used1), .offset1(right_offset1),
      .read(right_read), .used(right_used), .address(right_address), .choice2(right_choice2), .data,
      .valid3(right_valid3), .first3(right_first3), .words(right_fetched));
  right_words right_words_of (.choice(right_choice1), .used(right_used1), .offset(right_offset1));

  logic [LANES_LEFT-1:0] left_taken;
  logic [LANES_RIGHT-1:0] right_taken;
  logic [LANES_LEFT*32-1:0] left_dealt, left_lane;
  logic [LANES_RIGHT*32-1:0] right_dealt, right_lane;
  left_deal deal_left (.clk, .choice(left_choice2), .words(left_fetched), .taken(left_taken), .lane(left_dealt));
  right_deal deal_right (.clk, .choice(right_choice2), .words(right_fetched), .taken(right_taken), .lane(right_dealt));
  lanes #(.LANES(LANES_LEFT)) to_left (
      .clk, .valid(left_valid3), .first(left_first3), .taken(left_taken), .d(left_dealt), .lane(left_lane));
  lanes #(.LANES(LANES_RIGHT)) to_right (
      .clk, .valid(right_valid3), .first(right_first3), .taken(right_taken), .d(right_dealt), .lane(right_lane));
  flags #(.WIDTH(1), .CYCLES(4)) answer (.clk, .reset, .d(idle && host_valid && !host_write), .q(host_answers));
  logic host_beside;
  logic [31:0] host_of_rows;
  delay #(.WIDTH(1), .CYCLES(4)) beside_answer (.clk, .d(host_memory[15]), .q(host_beside));
  assign host_q = host_beside ? host_of_rows : left_lane[31:0];

  // ---- sums: four cycles from issue to multiplier ----
  logic sum_finished;
  logic [SUM_LANES*32-1:0] sum;
`ifndef HAS_ARRAY
  logic sum_valid, sum_first, sum_last;
  logic [SLOT-1:0] sum_slot;
  flags #(.WIDTH(1), .CYCLES(4)) to_lanes (.clk, .reset, .d(fire && real_tile && !vector), .q(sum_valid));
  delay #(.WIDTH(SLOT + 2), .CYCLES(4)) beside (
      .clk, .d({first_group, last_group, slot[SLOT-1:0]}), .q({sum_first, sum_last, sum_slot}));
  dot_lanes #(.ROWS(ROWS), .COLUMNS(COLUMNS), .TERMS(TERMS), .MULTIPLY(MULTIPLY), .ADD(ADD), .OPEN(OPEN), .SLOT(SLOT)) dot (
      .clk, .reset, .valid(sum_valid), .first(sum_first), .last(sum_last), .slot(sum_slot), .left(left_lane[ROWS*TERMS*32-1:0]),
      .right(right_lane[TERMS*COLUMNS*32-1:0]), .finished(sum_finished), .result(sum));
`endif

  // ---- SGD: w - rate * g ----
  wire [VECTOR*32-1:0] updated;
  generate
    if (UPDATES != 0) begin : g_updates
      for (genvar v = 0; v < VECTOR; v++) begin : g_update
        logic [31:0] w, change;
        fp32_multiply #(.LATENCY(MULTIPLY)) scale (.clk, .a(rate), .b(right_lane[v*32+:32]), .y(change));
        delay #(.WIDTH(32), .CYCLES(MULTIPLY)) hold (.clk, .d(left_lane[v*32+:32]), .q(w));
        fp32_add #(.LATENCY(ADD)) subtract (
            .clk, .a(w), .b({!change[31], change[30:0]}), .y(updated[v*32+:32]));
      end
    end else begin : g_no_updates
      assign updated = '0;
    end
  endgenerate

  // ---- where a result goes travels with it ----
  localparam int TREE = $clog2(TERMS);
  localparam int TO_UPDATED = 4 + MULTIPLY + ADD;
  localparam int TO_SUM = TO_UPDATED + TREE * ADD;
  localparam int GOES = MEMORY + ADDRESS + ROTATE + INSIDE + CHOICE + PHASE;
  logic [ADDRESS-1:0] group_result_address;  // of passes that write while they sum
  logic [ROTATE-1:0] group_result_rotation;
  logic [INSIDE-1:0] group_result_place;
  wire [GOES-1:0] goes = {
    result_memory,
    idle ? host_word[ADDRESS-1:0]
         : d[F_RESULT_BASE+:ADDRESS] + tile_address[2*ADDRESS+:ADDRESS] + group_result_address + look_address[2*ADDRESS+:ADDRESS] +
           result_address_in,
    idle ? host_bank[ROTATE-1:0]
         : field_add(field_add(field_add(tile_rotation[2*ROTATE+:ROTATE], group_result_rotation, result_top),
                               look_rotation[2*ROTATE+:ROTATE], result_top), result_rotation_in, result_top),
    idle ? host_element[INSIDE-1:0]
         : tile_place[2*INSIDE+:INSIDE] | group_result_place | look_place[2*INSIDE+:INSIDE] | result_place_in,
    result_first, result_phases};
  logic updated_valid;
  logic [GOES-1:0] updated_goes, sum_goes;
  flags #(.WIDTH(1), .CYCLES(TO_UPDATED)) with_update (
      .clk, .reset, .d(fire && real_tile && vector && !pass), .q(updated_valid));
  delay #(.WIDTH(GOES), .CYCLES(TO_UPDATED)) beside_update (.clk, .d(goes), .q(updated_goes));

  // The operation's last issue, a padding one or not, travels so far, too.
  logic update_ended, sum_ended;
  flags #(.WIDTH(1), .CYCLES(TO_UPDATED)) end_of_update (.clk, .reset, .d(last_issue && !pass && !on_array), .q(update_ended));
`ifdef HAS_ARRAY
`include "systolic.svh"
  assign on_array = !vector;
`else
  delay #(.WIDTH(GOES), .CYCLES(TO_SUM - TO_UPDATED)) with_sum (.clk, .d(updated_goes), .q(sum_goes));
  flags #(.WIDTH(1), .CYCLES(TO_SUM - TO_UPDATED)) end_of_sum (
      .clk, .reset, .d(update_ended && !vector), .q(sum_ended));
  assign {on_array, rests, streaming, reads_row, drained_all} = 5'b0;
  assign act_cycles = '0;
  assign {right_address_in, result_address_in} = '0;
  assign {right_rotation_in, result_rotation_in} = '0;
  assign {right_place_in, result_place_in} = '0;
`endif

  // ---- what a product does before it writes ----
  logic finished_valid, finished_ended;
  logic [GOES-1:0] finished_goes;
  logic [SUM_LANES*32-1:0] finished_sum;
`ifdef HAS_WRITE_BACK
`include "write_back.svh"
`else
  assign added_top = '0;
  assign added_phases = '0;
  assign added_read = '0;
  assign added_used = '0;
  assign added_address = '0;
  assign finished_valid = sum_finished;
  assign finished_ended = sum_ended;
  assign finished_goes = sum_goes;
  assign finished_sum = sum;
`endif

  // ---- results ----
  logic [LANES_RESULT*32-1:0] result;
  logic result_valid, pass_valid;
  logic [GOES-1:0] pass_goes;
  logic [LANES_RESULT*32-1:0] of_pass;
  logic [MEMORY-1:0] write_memory;
  logic [ADDRESS-1:0] write_base;
  logic [ROTATE-1:0] write_rotation;
  logic [INSIDE-1:0] write_place;
  logic [CHOICE-1:0] write_choice, first_choice;
  logic [PHASE-1:0] write_needs, write_phase, needs;
  wire by_host = idle && host_valid && host_write && !host_memory[15];
  wire take = finished_valid || updated_valid || by_host || pass_valid;
  wire [GOES-1:0] taken = by_host ? goes : pass_valid ? pass_goes : updated_valid ? updated_goes : finished_goes;
  assign {first_choice, needs} = taken[CHOICE+PHASE-1:0];
  wire [CHOICE-1:0] next_choice = take ? first_choice : write_choice + 1'b1;
  generate
    for (genvar n = 0; n < LANES_RESULT; n++) begin : g_result
      wire [31:0] of_sum, of_update;
      if (n < SUM_LANES) begin : g_sum
        assign of_sum = finished_sum[n*32+:32];
      end else begin : g_no_sum
        assign of_sum = '0;
      end
      if (UPDATES != 0 && n < VECTOR) begin : g_update
        assign of_update = updated[n*32+:32];
      end else begin : g_no_update
        assign of_update = of_sum;
      end
      always_ff @(posedge clk)
        if (take)
          result[n*32+:32] <= n == 0 && by_host ? host_d
                            : pass_valid ? of_pass[n*32+:32] : updated_valid ? of_update : of_sum;
    end
  endgenerate
  always_ff @(posedge clk) begin
    if (take) begin
      {write_memory, write_base, write_rotation, write_place} <= taken[GOES-1:CHOICE+PHASE];
      write_needs <= needs;
    end
    write_choice <= next_choice;
    write_phase <= take ? '0 : write_phase + 1'b1;
    result_valid <= !reset && (take || (result_valid && write_phase != write_needs - 1'b1));
  end
  // The operation ends with its last issue and with the last write: that and the next load share a cycle; an update
  // leaves one later.
  logic update_left;
  logic [PHASE-1:0] writes_left;
  wire [PHASE-1:0] written = write_phase + PHASE'(2);  // phases of the write at hand, this and the next cycle's included
  wire [PHASE-1:0] unwritten = take ? needs - 1'b1 : result_valid && write_needs > written ? write_needs - written : '0;
  always_ff @(posedge clk) begin
    update_left <= update_ended && vector && !reset;
    if (reset) writes_left <= '0;
    else if (finished_ended) writes_left <= unwritten;
    else if (writes_left != 0) writes_left <= writes_left - 1'b1;
  end
  assign leave = pass ? pass_left : update_left || (finished_ended && unwritten == 0) || writes_left == 1;

  wire [ROTATE-1:0] write_mask = MEMORY_MASK[write_memory*ROTATE+:ROTATE];
  wire [ROTATE-1:0] write_top = MEMORY_TOP[write_memory*ROTATE+:ROTATE];
  logic [BANKS-1:0] spread_used, banks_used;
  logic [BANKS*ADDRESS-1:0] spread_offset;
  result_words result_words_of (.choice(write_choice), .used(spread_used), .offset(spread_offset));
  addresses #(.BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE)) to_banks (
      .used(spread_used), .offset(spread_offset), .base(write_base), .rotation(write_rotation), .mask(write_mask),
      .top(write_top), .bank_used(banks_used), .address(write_address));

  logic [BANKS*WORD-1:0] spread_enable, enable;
  logic [BANKS*WORD*32-1:0] spread_words;
  result_spread spread_result (
      .clk, .choice(next_choice), .lane(result), .enable(spread_enable), .words(spread_words));
  turn #(.BANKS(BANKS), .WORD(WORD), .BITS(32), .ROTATE(ROTATE), .INSIDE(INSIDE), .BACK(1)) words_to_banks (
      .rotation(write_rotation), .mask(write_mask), .top(write_top), .place(write_place), .d(spread_words),
      .q(write_data));
  turn #(.BANKS(BANKS), .WORD(WORD), .BITS(1), .ROTATE(ROTATE), .INSIDE(INSIDE), .BACK(1)) enables_to_banks (
      .rotation(write_rotation), .mask(write_mask), .top(write_top), .place(write_place), .d(spread_enable),
      .q(enable));
  generate
    for (genvar b = 0; b < BANKS; b++) begin : g_write
      assign write_enable[b*WORD+:WORD] = enable[b*WORD+:WORD] & {WORD{banks_used[b]}};
    end
    for (genvar m = 0; m < MEMORIES; m++) begin : g_into
      assign write[m] = result_valid && !reset && write_memory == MEMORY'(m);
    end
  endgenerate

  // ---- passes of vector kernels ----
`ifdef HAS_PASSES
`include "passes.svh"
`else
  assign {streams, reads_left, reads_right, reads_extra} = 4'b0110;
  assign extra_top = '0;
  assign extra_phases = '0;
  assign look_address = '0;
  assign look_rotation = '0;
  assign look_place = '0;
  assign extra_read = '0;
  assign extra_used = '0;
  assign extra_address = '0;
  assign pass_left = '0;
  assign host_of_rows = '0;
  assign pass_valid = '0;
  assign pass_goes = '0;
  assign of_pass = '0;
  assign group_result_address = '0;
  assign group_result_rotation = '0;
  assign group_result_place = '0;
`ifndef SYNTHESIS
  assign wrong_scalars = 0;
`endif
`endif
endmodule
