  // What a product does on a systolic array (systolic.sv): which rows of cells are loaded and drained, and in what order.
  // Included by engine.sv where the kernel is one.
  //
  //   weights rest    for each group of terms: ROWS rows of weights, `open` vectors, a wait until the last sums are out
  //   sums rest       a term for each group, a wait until the last sums are ready, ROWS rows drained
  //
  // Rows of weights, or of drained sums, are elements of a block's first edge: number u * 2^INNER_LOG + v is the element
  // u, v of that edge's indices. Beyond the array's end rows are zeros, and nothing is written.
  localparam int WAIT_DOWN = MULTIPLY + ROWS * ADD + COLUMNS - 2;
  localparam int WAIT_ACROSS = MULTIPLY + COLUMNS * ADD + ROWS - 2;
  localparam int WAIT_READY = MULTIPLY + ADD + ROWS + COLUMNS - 3;
  typedef enum logic [1:0] {STREAMS, LOADS, WAITS, DRAINS} act_t;
  act_t act;
  assign rests = d[F_RESTS];
  wire sideways = d[F_SIDEWAYS];

  // ---- rows of a block ----
  logic [CELL_ROW-1:0] cell_row;
  wire by_row = on_array && (act == LOADS || act == DRAINS);
  wire last_cell_row = cell_row == CELL_ROW'(ROWS - 1);
  always_ff @(posedge clk)
    if (!run) cell_row <= '0;
    else if (fire && by_row) cell_row <= last_cell_row ? '0 : cell_row + 1'b1;
  wire [3:0] split = d[F_INNER_LOG+:4];
  wire [CELL_ROW-1:0] slow = cell_row >> split;
  wire [CELL_ROW-1:0] fast = cell_row & ~(CELL_ROW'(~0) << split);
  wire [CUTS-1:0] inner_cut = rests ? row_cut : sideways ? column_cut : term_cut;
  wire [CELL_ROW-1:0] slow_end = inner_cut[0] ? d[F_INNER_REST+:CELL_ROW] : d[F_INNER_SIZE+:CELL_ROW];
  wire [CELL_ROW-1:0] fast_end = inner_cut[CUTS-1] && CUTS > 1 ? d[F_INNER_REST+CELL_ROW+:CELL_ROW] : d[F_INNER_SIZE+CELL_ROW+:CELL_ROW];
  wire real_row = slow < slow_end && fast < fast_end;
  logic [ADDRESS-1:0] row_address;
  logic [ROTATE-1:0] row_rotation;
  logic [INSIDE-1:0] row_place;
  odometer #(.LEVELS(2), .OPERANDS(1), .COUNT(COUNT), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .INSIDE(INSIDE)) inner (
      .clk, .load, .step(fire && by_row), .save(1'b0), .restore(1'b0), .count(d[F_INNER_COUNT+:2*COUNT]),
      .period(d[F_INNER_PERIOD+:8]), .stride(d[F_INNER_STRIDE+:2*ADDRESS]), .turn_period(d[F_INNER_TURN_PERIOD+:8]),
      .turn(d[F_INNER_TURN+:2*ROTATE]), .spot(d[F_INNER_INSIDE+:8]), .shift(d[F_INNER_SHIFT+:8]),
      .top(rests ? result_top : right_top), .address(row_address), .rotation(row_rotation), .place(row_place),
      .last());
  assign right_address_in = on_array && !rests ? row_address : '0;
  assign right_rotation_in = on_array && !rests ? row_rotation : '0;
  assign right_place_in = on_array && !rests ? row_place : '0;
  assign result_address_in = on_array && rests ? row_address : '0;
  assign result_rotation_in = on_array && rests ? row_rotation : '0;
  assign result_place_in = on_array && rests ? row_place : '0;

  // ---- order ----
  assign streaming = act == STREAMS;
  assign reads_row = rests ? act == STREAMS : act == LOADS && real_row;
  assign drained_all = act == DRAINS && last_cell_row;
  always_comb begin
    act_cycles = PHASE'(1);
    case (act)
      LOADS: act_cycles = right_phases;
      STREAMS: begin
        if (rests && interval > act_cycles) act_cycles = interval;
        if (left_phases > act_cycles) act_cycles = left_phases;
        if (rests && right_phases > act_cycles) act_cycles = right_phases;
        if (!rests && last_group && write_phases > act_cycles) act_cycles = write_phases;
      end
      WAITS: act_cycles = rests ? PHASE'(WAIT_READY) : sideways ? PHASE'(WAIT_ACROSS) : PHASE'(WAIT_DOWN);
      default: act_cycles = write_phases;
    endcase
  end
  always_ff @(posedge clk)
    if (!run) act <= load && rests ? STREAMS : load ? LOADS : act;
    else if (fire && on_array)
      case (act)
        LOADS: if (last_cell_row) act <= STREAMS;
        STREAMS: if (rests ? last_group : last_slot) act <= WAITS;
        WAITS: act <= rests ? DRAINS : LOADS;
        default: if (last_cell_row) act <= STREAMS;
      endcase

  // ---- cells: four cycles from issue to array ----
  localparam int EDGE = ROWS > COLUMNS ? ROWS : COLUMNS;
  localparam int DOWN = MULTIPLY + ROWS * ADD + COLUMNS - 1;
  localparam int ACROSS = MULTIPLY + COLUMNS * ADD + ROWS - 1;
  localparam int SOONER = DOWN < ACROSS ? DOWN : ACROSS;
  localparam int LATER = DOWN < ACROSS ? ACROSS - DOWN : DOWN - ACROSS;
  logic loads, vector_valid, term_valid, drains, row_is_real, begins, leaves;
  logic [ARRAY_SLOT-1:0] vector_slot;
  flags #(.WIDTH(4), .CYCLES(4)) to_array (
      .clk, .reset,
      .d({4{fire && on_array}} & {act == LOADS, streaming && !rests, streaming && rests, act == DRAINS}),
      .q({loads, vector_valid, term_valid, drains}));
  delay #(.WIDTH(ARRAY_SLOT + 3), .CYCLES(4)) beside (
      .clk, .d({real_row, first_group, last_group, slot[ARRAY_SLOT-1:0]}), .q({row_is_real, begins, leaves, vector_slot}));
  systolic #(.ROWS(ROWS), .COLUMNS(COLUMNS), .MULTIPLY(MULTIPLY), .ADD(ADD), .SLOTS(ARRAY_SLOTS), .SLOT(ARRAY_SLOT)) cells (
      .clk, .reset, .sideways, .rests, .load(loads), .vector(vector_valid), .first(begins), .last(leaves),
      .slot(vector_slot), .term(term_valid), .drain(drains), .drained(row_is_real), .left(left_lane[EDGE*32-1:0]),
      .right(right_lane[COLUMNS*32-1:0] & {COLUMNS * 32{rests || row_is_real}}), .finished(sum_finished), .result(sum));

  // ---- where a row of results goes travels with it ----
  wire early = sideways ? ACROSS == SOONER : DOWN == SOONER;
  logic [GOES-1:0] drained_goes, soon_goes, late_goes;
  logic drained_ended, soon_ended, late_ended;
  delay #(.WIDTH(GOES), .CYCLES(5)) to_drained (.clk, .d(goes), .q(drained_goes));
  delay #(.WIDTH(GOES), .CYCLES(SOONER - 1)) to_soon (.clk, .d(drained_goes), .q(soon_goes));
  delay #(.WIDTH(GOES), .CYCLES(LATER)) to_late (.clk, .d(soon_goes), .q(late_goes));
  flags #(.WIDTH(1), .CYCLES(5)) end_of_drain (.clk, .reset, .d(last_issue && on_array), .q(drained_ended));
  flags #(.WIDTH(1), .CYCLES(SOONER - 1)) end_soon (.clk, .reset, .d(drained_ended && !rests), .q(soon_ended));
  flags #(.WIDTH(1), .CYCLES(LATER)) end_late (.clk, .reset, .d(soon_ended && !early), .q(late_ended));
  assign sum_goes = rests ? drained_goes : early ? soon_goes : late_goes;
  assign sum_ended = rests ? drained_ended : early ? soon_ended : late_ended;
