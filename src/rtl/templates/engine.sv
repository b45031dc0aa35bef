// The engine: runs the program in `program.hex`, one operation after the other, on memories that hold every array.
//
// A product is ROUNDS of open sums. In a round, for each group of TERMS of the reduction, each open tile of ROWS x
// COLUMNS sums gets one issue: a block of the left and of the right operand, each fetched in as many cycles as its
// layout takes (`phases`, from the pattern). An issue lasts the longest of: the interval at which one sum may be added to, the
// phases of both operands, and, in the last group, the most that a write of the result takes. A vector operation (SGD: w - rate * g) is a
// product of one group whose trips are VECTOR elements.
//
// From the cycle in which an operation is loaded to that of the next: 1 + issues + 4 (address, bank, memory, lanes) + the
// operators + 1 (result to bank) - 1 (the last write and the next load share a cycle) + phases of the last write - 1.
// engine.svh, memories.svh and program.hex come from one description; the names in capitals are explained there.
module engine (
    input  logic        clk,
    input  logic        reset,
    input  logic        check,
    output logic        load,      // an operation begins
    output logic        finished,  // the program is at its end
    output int unsigned wrong
);
`include "engine.svh"

  // ---- program ----
  logic [DESCRIPTOR-1:0] rom[OPERATIONS+1];
  logic [DESCRIPTOR-1:0] d;
  logic [PROGRAM-1:0] pc;
`ifndef SYNTHESIS
  initial $readmemh("program.hex", rom);
`endif

  wire vector = d[F_VECTOR];
  wire [TILE-1:0] open = d[F_OPEN+:TILE];
  wire [TILE-1:0] tiles = d[F_TILES+:TILE];
  wire [3:0] interval = d[F_INTERVAL+:4];

  // ---- control ----
  typedef enum logic [1:0] {IDLE, LOAD, RUN, DRAIN} state_t;
  state_t state;
  logic [TILE-1:0] round, slot;  // tiles of earlier rounds; the open one at hand
  logic [PHASE-1:0] phase;
  wire run = state == RUN;
  wire real_tile = slot < tiles - round;

  logic [TILE_LEVELS-1:0] tile_last;
  logic [GROUP_LEVELS-1:0] group_last;
  wire last_group = &group_last;
  logic first_group;
  wire edge_column = d[F_EDGE_COLUMN] && tile_last[0];
  wire edge_row = d[F_EDGE_ROW] && tile_last[1];
  wire edge_term = d[F_EDGE_TERM] && group_last[0];

  wire [CHOICE-1:0] left_pattern = d[F_LEFT_PATTERN+:CHOICE] + (vector ? '0 : CHOICE'({edge_term, edge_row}));
  wire [CHOICE-1:0] right_pattern = d[F_RIGHT_PATTERN+:CHOICE] + (vector ? '0 : CHOICE'({edge_column, edge_term}));
  wire [CHOICE-1:0] result_pattern = d[F_RESULT_PATTERN+:CHOICE] + (vector ? '0 : CHOICE'({edge_column, edge_row}));
  wire [PHASE-1:0] left_phases = vector ? 1 : PHASES_LEFT[left_pattern*PHASE+:PHASE];
  wire [PHASE-1:0] right_phases = vector ? 1 : PHASES_RIGHT[right_pattern*PHASE+:PHASE];
  wire [PHASE-1:0] result_phases = vector ? 1 : PHASES_RESULT[result_pattern*PHASE+:PHASE];

  wire [PHASE-1:0] write_phases = d[F_WRITE_PHASES+:PHASE];  // the most that one of the operation's tiles takes

  logic [PHASE-1:0] cycles;  // of the issue
  always_comb begin
    cycles = PHASE'(interval);
    if (real_tile) begin
      if (left_phases > cycles) cycles = left_phases;
      if (right_phases > cycles) cycles = right_phases;
      if (last_group && write_phases > cycles) cycles = write_phases;
    end
  end
  wire fire = run && phase == cycles - 1'b1;
  wire last_slot = slot == open - 1'b1;
  wire last_round = open >= tiles - round;
  wire sweep = fire && last_slot;
  wire last_issue = sweep && last_group && last_round;

  logic [3*ADDRESS-1:0] tile_address;
  logic [3*ROTATE-1:0] tile_rotation;
  logic [3*INSIDE-1:0] tile_place;
  odometer #(.LEVELS(TILE_LEVELS), .OPERANDS(3), .COUNT(COUNT), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .INSIDE(INSIDE)) tile (
      .clk, .load(state == LOAD), .step(fire && real_tile), .save(sweep && last_group), .restore(sweep && !last_group),
      .count(d[F_TILE_COUNT+:TILE_LEVELS*COUNT]), .period(d[F_TILE_PERIOD+:TILE_LEVELS*3*4]),
      .stride(d[F_TILE_STRIDE+:TILE_LEVELS*3*ADDRESS]), .turn_period(d[F_TILE_TURN_PERIOD+:TILE_LEVELS*3*4]),
      .turn(d[F_TILE_TURN+:TILE_LEVELS*3*ROTATE]), .spot(d[F_TILE_INSIDE+:TILE_LEVELS*3*4]),
      .shift(d[F_TILE_SHIFT+:TILE_LEVELS*3*4]),
      .address(tile_address), .rotation(tile_rotation), .place(tile_place), .last(tile_last));

  logic [2*ADDRESS-1:0] group_address;
  logic [2*ROTATE-1:0] group_rotation;
  logic [2*INSIDE-1:0] group_place;
  odometer #(.LEVELS(GROUP_LEVELS), .OPERANDS(2), .COUNT(COUNT), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .INSIDE(INSIDE)) group (
      .clk, .load(state == LOAD), .step(sweep), .save(1'b0), .restore(1'b0),
      .count(d[F_GROUP_COUNT+:GROUP_LEVELS*COUNT]), .period(d[F_GROUP_PERIOD+:GROUP_LEVELS*2*4]),
      .stride(d[F_GROUP_STRIDE+:GROUP_LEVELS*2*ADDRESS]), .turn_period(d[F_GROUP_TURN_PERIOD+:GROUP_LEVELS*2*4]),
      .turn(d[F_GROUP_TURN+:GROUP_LEVELS*2*ROTATE]), .spot(d[F_GROUP_INSIDE+:GROUP_LEVELS*2*4]),
      .shift(d[F_GROUP_SHIFT+:GROUP_LEVELS*2*4]),
      .address(group_address), .rotation(group_rotation), .place(group_place), .last(group_last));

  logic leave;  // the last result is being written in the coming cycle, and the next operation loaded
  always_ff @(posedge clk) begin
    if (reset) begin
      state <= LOAD;
      pc <= '0;
      d <= rom[0];
    end else begin
      case (state)
        LOAD: begin
          state <= d[F_END] ? IDLE : RUN;
          pc <= pc + 1'b1;
        end
        RUN: if (last_issue) state <= DRAIN;
        DRAIN:
        if (leave) begin
          state <= LOAD;
          d <= rom[pc];
        end
        default: ;
      endcase
    end
    if (state == LOAD) begin
      round <= '0;
      slot <= '0;
      phase <= '0;
      first_group <= 1'b1;
    end else if (run) begin
      phase <= fire ? '0 : phase + 1'b1;
      if (fire) slot <= last_slot ? '0 : slot + 1'b1;
      if (sweep) first_group <= last_group;
      if (sweep && last_group) round <= round + open;
    end
  end
  assign load = state == LOAD;
  assign finished = state == IDLE && !reset;

  // ---- memories ----
  logic [MEMORIES-1:0] left_read, right_read, write;
  logic [BANKS-1:0] left_used, right_used;
  logic [BANKS*ADDRESS-1:0] left_address, right_address, write_address;
  logic [BANKS*WORD-1:0] write_enable;
  logic [BANKS*WORD*32-1:0] write_data;
  logic [MEMORIES*BANKS*WORD*32-1:0] data;
  int unsigned wrong_of[MEMORIES];
`include "memories.svh"
  always_comb begin
    wrong = 0;
    for (int m = 0; m < MEMORIES; m++) wrong = wrong + wrong_of[m];
  end

  // ---- operands ----
  logic [ROWS*TERMS*32-1:0] left_lane;
  logic [TERMS*COLUMNS*32-1:0] right_lane;
  logic [VECTOR*32-1:0] left_vector, right_vector;
  read_port #(.LANES(ROWS * TERMS), .PATTERNS(PATTERNS_LEFT), .VECTOR(VECTOR), .VECTOR_PATTERNS(PATTERNS_VECTOR),
              .PHASES(PHASES), .MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS),
              .ROTATE(ROTATE), .INSIDE(INSIDE), .CODE(CODE), .CHOICE(CHOICE), .OFFSET(OFFSET_LEFT), .USED(USED_LEFT),
              .SOURCE(SOURCE_LEFT), .VECTOR_USED(USED_VECTOR), .VECTOR_SOURCE(SOURCE_VECTOR), .MASK(MEMORY_MASK)) left (
      .clk, .valid(run && real_tile && phase < left_phases), .vector, .first(phase == 0),
      .choice(vector ? left_pattern : CHOICE'(left_pattern * PHASES) + CHOICE'(phase)),
      .memory(d[F_LEFT_MEMORY+:MEMORY]),
      .base(d[F_LEFT_BASE+:ADDRESS] + tile_address[0+:ADDRESS] + group_address[0+:ADDRESS]),
      .rotation(tile_rotation[0+:ROTATE] + group_rotation[0+:ROTATE]),
      .place(tile_place[0+:INSIDE] | group_place[0+:INSIDE]),
      .read(left_read), .used(left_used), .address(left_address), .data, .lane(left_lane), .vector_lane(left_vector));
  read_port #(.LANES(TERMS * COLUMNS), .PATTERNS(PATTERNS_RIGHT), .VECTOR(VECTOR), .VECTOR_PATTERNS(PATTERNS_VECTOR),
              .PHASES(PHASES), .MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS),
              .ROTATE(ROTATE), .INSIDE(INSIDE), .CODE(CODE), .CHOICE(CHOICE), .OFFSET(OFFSET_RIGHT), .USED(USED_RIGHT),
              .SOURCE(SOURCE_RIGHT), .VECTOR_USED(USED_VECTOR), .VECTOR_SOURCE(SOURCE_VECTOR), .MASK(MEMORY_MASK)) right (
      .clk, .valid(run && real_tile && phase < right_phases), .vector, .first(phase == 0),
      .choice(vector ? right_pattern : CHOICE'(right_pattern * PHASES) + CHOICE'(phase)),
      .memory(d[F_RIGHT_MEMORY+:MEMORY]),
      .base(d[F_RIGHT_BASE+:ADDRESS] + tile_address[ADDRESS+:ADDRESS] + group_address[ADDRESS+:ADDRESS]),
      .rotation(tile_rotation[ROTATE+:ROTATE] + group_rotation[ROTATE+:ROTATE]),
      .place(tile_place[INSIDE+:INSIDE] | group_place[INSIDE+:INSIDE]),
      .read(right_read), .used(right_used), .address(right_address), .data, .lane(right_lane),
      .vector_lane(right_vector));

  // ---- sums: four cycles from issue to multiplier ----
  logic sum_valid, sum_first, sum_last;
  logic [SLOT-1:0] sum_slot;
  delay #(.WIDTH(SLOT + 3), .CYCLES(4)) to_lanes (
      .clk, .d({fire && real_tile && !vector, first_group, last_group, slot[SLOT-1:0]}),
      .q({sum_valid, sum_first, sum_last, sum_slot}));
  logic sum_finished;
  logic [ROWS*COLUMNS*32-1:0] sum;
  dot_lanes #(.ROWS(ROWS), .COLUMNS(COLUMNS), .TERMS(TERMS), .MULTIPLY(MULTIPLY), .ADD(ADD), .OPEN(OPEN), .SLOT(SLOT)) dot (
      .clk, .valid(sum_valid), .first(sum_first), .last(sum_last), .slot(sum_slot), .left(left_lane),
      .right(right_lane), .finished(sum_finished), .result(sum));

  // ---- SGD: w - rate * g ----
  logic [VECTOR*32-1:0] updated;
  generate
    for (genvar v = 0; v < VECTOR; v++) begin : g_update
      logic [31:0] w, change;
      fp32_multiply #(.LATENCY(MULTIPLY)) scale (.clk, .a(d[F_RATE+:32]), .b(right_vector[v*32+:32]), .y(change));
      delay #(.WIDTH(32), .CYCLES(MULTIPLY)) hold (.clk, .d(left_vector[v*32+:32]), .q(w));
      fp32_add #(.LATENCY(ADD)) subtract (
          .clk, .a(w), .b({!change[31], change[30:0]}), .y(updated[v*32+:32]));
    end
  endgenerate

  // ---- where a result goes travels with it ----
  localparam int TREE = $clog2(TERMS);
  localparam int TO_UPDATED = 4 + MULTIPLY + ADD;
  localparam int TO_SUM = TO_UPDATED + TREE * ADD;
  localparam int GOES = MEMORY + ADDRESS + ROTATE + INSIDE + CHOICE + PHASE;
  wire [GOES-1:0] goes = {
    d[F_RESULT_MEMORY+:MEMORY],
    d[F_RESULT_BASE+:ADDRESS] + tile_address[2*ADDRESS+:ADDRESS],
    tile_rotation[2*ROTATE+:ROTATE], tile_place[2*INSIDE+:INSIDE], result_pattern, result_phases};
  logic updated_valid;
  logic [GOES-1:0] updated_goes, sum_goes;
  delay #(.WIDTH(GOES + 1), .CYCLES(TO_UPDATED)) with_update (
      .clk, .d({fire && real_tile && vector, goes}), .q({updated_valid, updated_goes}));
  delay #(.WIDTH(GOES), .CYCLES(TO_SUM - TO_UPDATED)) with_sum (.clk, .d(updated_goes), .q(sum_goes));

  // ---- results ----
  logic [ROWS*COLUMNS*32-1:0] result;
  logic [VECTOR*32-1:0] vector_result;
  logic result_valid, result_vector;
  logic [MEMORY-1:0] result_memory;
  logic [ADDRESS-1:0] result_base;
  logic [ROTATE-1:0] result_rotation;
  logic [INSIDE-1:0] result_place;
  logic [CHOICE-1:0] result_choice;
  logic [PHASE-1:0] result_needs, result_phase;
  wire take = sum_finished || updated_valid;
  wire [GOES-1:0] taken = updated_valid ? updated_goes : sum_goes;
  always_ff @(posedge clk) begin
    if (take) begin
      result <= sum;
      vector_result <= updated;
      result_vector <= updated_valid;
      {result_memory, result_base, result_rotation, result_place, result_choice, result_needs} <= taken;
    end
    result_phase <= take ? '0 : result_phase + 1'b1;
    result_valid <= !reset && (take || (result_valid && result_phase != result_needs - 1'b1));
  end
  // The operation ends with its last issue, a padding one or not: the last write and the next load share a cycle; an
  // update leaves one later.
  wire [PHASE-1:0] last_phases = real_tile ? result_phases : PHASE'(1);
  logic update_ended, update_left, sum_ended;
  logic [PHASE-1:0] update_phases, sum_phases, writes_left;
  delay #(.WIDTH(PHASE + 1), .CYCLES(TO_UPDATED)) end_of_update (
      .clk, .d({last_issue, last_phases}), .q({update_ended, update_phases}));
  delay #(.WIDTH(PHASE + 1), .CYCLES(TO_SUM - TO_UPDATED)) end_of_sum (
      .clk, .d({update_ended && !vector, update_phases}), .q({sum_ended, sum_phases}));
  always_ff @(posedge clk) begin
    update_left <= update_ended && vector;
    if (reset) writes_left <= '0;
    else if (sum_ended) writes_left <= sum_phases - 1'b1;
    else if (writes_left != 0) writes_left <= writes_left - 1'b1;
  end
  assign leave = update_left || (sum_ended && sum_phases == 1) || writes_left == 1;

  wire [ROTATE-1:0] result_mask = MEMORY_MASK[result_memory*ROTATE+:ROTATE];
  wire [CHOICE-1:0] product_choice = CHOICE'(result_choice * PHASES) + CHOICE'(result_phase);
  logic [BANKS-1:0] product_used, vector_used;
  logic [BANKS*ADDRESS-1:0] product_address, vector_address;
  addresses #(.CHOICES(PATTERNS_RESULT * PHASES), .BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .CHOICE(CHOICE),
              .OFFSET(OFFSET_RESULT), .USED(USED_RESULT)) of_product (
      .choice(product_choice), .base(result_base), .rotation(result_rotation), .mask(result_mask),
      .used(product_used), .address(product_address));
  addresses #(.CHOICES(PATTERNS_VECTOR), .BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .CHOICE(CHOICE),
              .USED(USED_VECTOR)) of_vector (
      .choice(result_choice), .base(result_base), .rotation(result_rotation), .mask(result_mask), .used(vector_used),
      .address(vector_address));

  logic [BANKS*WORD-1:0] product_enable, vector_enable, enable;
  logic [BANKS*WORD*32-1:0] product_words, vector_words;
  spread #(.LANES(ROWS * COLUMNS), .CHOICES(PATTERNS_RESULT * PHASES), .BANKS(BANKS), .WORD(WORD), .CODE(CODE),
           .CHOICE(CHOICE), .SOURCE(SOURCE_RESULT)) of_sums (
      .choice(product_choice), .lane(result), .enable(product_enable), .words(product_words));
  spread #(.LANES(VECTOR), .CHOICES(PATTERNS_VECTOR), .BANKS(BANKS), .WORD(WORD), .CODE(CODE), .CHOICE(CHOICE),
           .SOURCE(SPREAD_VECTOR)) of_updates (
      .choice(result_choice), .lane(vector_result), .enable(vector_enable), .words(vector_words));
  turn #(.BANKS(BANKS), .WORD(WORD), .BITS(32), .ROTATE(ROTATE), .INSIDE(INSIDE), .BACK(1)) words_to_banks (
      .rotation(result_rotation), .mask(result_mask), .place(result_place),
      .d(result_vector ? vector_words : product_words), .q(write_data));
  turn #(.BANKS(BANKS), .WORD(WORD), .BITS(1), .ROTATE(ROTATE), .INSIDE(INSIDE), .BACK(1)) enables_to_banks (
      .rotation(result_rotation), .mask(result_mask), .place(result_place),
      .d(result_vector ? vector_enable : product_enable), .q(enable));
  wire [BANKS-1:0] banks_used = result_vector ? vector_used : product_used;
  always_comb begin
    write_address = result_vector ? vector_address : product_address;
    for (int b = 0; b < BANKS; b++) write_enable[b*WORD+:WORD] = enable[b*WORD+:WORD] & {WORD{banks_used[b]}};
    for (int m = 0; m < MEMORIES; m++) write[m] = result_valid && result_memory == m[MEMORY-1:0];
  end
endmodule
