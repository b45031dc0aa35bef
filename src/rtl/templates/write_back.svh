  // What products do on their results before they are written: the arrays that they add, each through a port of its own,
  // and three stages behind the sums, an addition, ReLU and another addition, of which an operation takes what its
  // descriptor says. Included by engine.sv where some product takes any.
  //
  // A block of an added array is fetched in the last issue of its tile and waits for the sum: TO_SUM - 4 cycles, as it is
  // in its lanes 4 cycles after the issue.
  localparam int TILE_LANES = ROWS * COLUMNS;
  logic [2*TILE_LANES*32-1:0] added;  // as the sum is finished
  generate
  for (genvar a = 0; a < 2; a++) begin : g_added
    wire [MEMORY-1:0] memory = d[F_ADDED_MEMORY+a*MEMORY+:MEMORY];
    wire [ROTATE-1:0] top = MEMORY_TOP[memory*ROTATE+:ROTATE];
    wire [BLOCK-1:0] block = d[F_ADDED_BLOCK+a*BLOCK+:BLOCK] | BLOCK'({column_cut, row_cut});
    localparam int AT = ADDED_AT + a;
    logic [CHOICE-1:0] first, choice1, choice2;
    logic [PHASE-1:0] phases;
    logic [BANKS-1:0] used1;
    logic [BANKS*ADDRESS-1:0] offset1;
    logic valid3, first3;
    logic [BANKS*WORD*32-1:0] found;
    logic [TILE_LANES-1:0] taken;
    logic [TILE_LANES*32-1:0] dealt, lane;
    assign added_top[a*ROTATE+:ROTATE] = top;
    assign added_phases[a*PHASE+:PHASE] = d[F_ADDS+a] ? phases : '0;
    if (a == 0) begin : g_first
      added1_blocks of_added (.block, .first, .phases);
      added1_words words_of (.choice(choice1), .used(used1), .offset(offset1));
      added1_deal deal (.clk, .choice(choice2), .words(found), .taken, .lane(dealt));
    end else begin : g_second
      added2_blocks of_added (.block, .first, .phases);
      added2_words words_of (.choice(choice1), .used(used1), .offset(offset1));
      added2_deal deal (.clk, .choice(choice2), .words(found), .taken, .lane(dealt));
    end
    read_port #(.MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS), .ROTATE(ROTATE),
                .INSIDE(INSIDE), .CHOICE(CHOICE), .MASK(MEMORY_MASK), .TOP(MEMORY_TOP)) port (
        .clk, .reset, .valid(run && real_tile && last_group && d[F_ADDS+a] && phase < phases), .first(phase == 0),
        .choice(first + CHOICE'(phase)), .memory,
        .base(d[F_ADDED_BASE+a*ADDRESS+:ADDRESS] + tile_address[AT*ADDRESS+:ADDRESS]),
        .rotation(tile_rotation[AT*ROTATE+:ROTATE]), .place(tile_place[AT*INSIDE+:INSIDE]),
        .choice1, .used1, .offset1,
        .read(added_read[a*MEMORIES+:MEMORIES]), .used(added_used[a*BANKS+:BANKS]),
        .address(added_address[a*BANKS*ADDRESS+:BANKS*ADDRESS]), .choice2, .data, .valid3, .first3, .words(found));
    lanes #(.LANES(TILE_LANES)) to_lanes (.clk, .valid(valid3), .first(first3), .taken, .d(dealt), .lane);
    delay #(.WIDTH(TILE_LANES * 32), .CYCLES(TO_SUM - 4)) waiting (
        .clk, .d(lane), .q(added[a*TILE_LANES*32+:TILE_LANES*32]));
  end
  endgenerate

  // ---- the stages ----
  wire [3:0] stage_valid, stage_ended;
  wire [4*GOES-1:0] stage_goes;
  wire [4*TILE_LANES*32-1:0] staged, later;
  assign stage_valid[0] = sum_finished;
  assign stage_ended[0] = sum_ended;
  assign stage_goes[0+:GOES] = sum_goes;
  assign staged[0+:TILE_LANES*32] = sum;
  assign later[0+:TILE_LANES*32] = added[TILE_LANES*32+:TILE_LANES*32];
  generate
  for (genvar s = 0; s < 3; s++) begin : g_stage
    localparam int HERE = s * TILE_LANES * 32;
    localparam int NEXT = HERE + TILE_LANES * 32;
    localparam bit FIRST = s == 0;
    if (STAGES[s]) begin : g_stands
      write_back #(.LANES(TILE_LANES), .GOES(GOES), .LATENCY(s == 1 ? COMPARE : ADD), .POSITIVE(s == 1)) stage (
          .clk, .reset, .on(!vector && d[F_STAGES+s]), .valid(stage_valid[s]), .ended(stage_ended[s]),
          .goes(stage_goes[s*GOES+:GOES]), .d(staged[HERE+:TILE_LANES*32]),
          .added(FIRST ? added[0+:TILE_LANES*32] : later[HERE+:TILE_LANES*32]), .later(later[HERE+:TILE_LANES*32]),
          .q_valid(stage_valid[s+1]), .q_ended(stage_ended[s+1]), .q_goes(stage_goes[(s+1)*GOES+:GOES]),
          .q(staged[NEXT+:TILE_LANES*32]), .q_later(later[NEXT+:TILE_LANES*32]));
    end else begin : g_passes
      assign stage_valid[s+1] = stage_valid[s];
      assign stage_ended[s+1] = stage_ended[s];
      assign stage_goes[(s+1)*GOES+:GOES] = stage_goes[s*GOES+:GOES];
      assign staged[NEXT+:TILE_LANES*32] = staged[HERE+:TILE_LANES*32];
      assign later[NEXT+:TILE_LANES*32] = later[HERE+:TILE_LANES*32];
    end
  end
  endgenerate
  assign finished_valid = stage_valid[3];
  assign finished_ended = stage_ended[3];
  assign finished_goes = stage_goes[3*GOES+:GOES];
  assign finished_sum = staged[3*TILE_LANES*32+:TILE_LANES*32];
