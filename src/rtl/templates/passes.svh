  // The vector unit and what it has beside the engine's ports: a third operand, scalars of rows, the sample. Included by
  // engine.sv where the program has passes.
  //
  // The sample is what changes from run to run: SAMPLE_WORDS words (24 bits of address, 8 of rotation and 8 of the place in
  // a word where an operand lies, or a limit of columns), and a label and a share for each row of a loss. There are two
  // buffers of them, the first for the first run after a reset, then in turn: the host fills one while a run takes the
  // other. An entry is written by its second half.
  localparam int WORDS_HERE = SAMPLE_WORDS > 0 ? SAMPLE_WORDS : 1;
  localparam int LABELS_HERE = SAMPLE_LABELS > 0 ? SAMPLE_LABELS : 1;
  (* ram_style = "distributed" *) logic [39:0] sample[2*WORDS_HERE];
  (* ram_style = "distributed" *) logic [63:0] labels[2*LABELS_HERE];
  logic buffer;
  always_ff @(posedge clk)
    if (reset) buffer <= 1'b0;
    else if (load && d[F_END]) buffer <= !buffer;
  localparam int IN_SAMPLES = $clog2(2 * WORDS_HERE);
  localparam int IN_LABELS = $clog2(2 * LABELS_HERE);
  wire [IN_SAMPLES-1:0] first_word = buffer ? IN_SAMPLES'(WORDS_HERE) : '0;
  wire [IN_LABELS-1:0] first_label = buffer ? IN_LABELS'(LABELS_HERE) : '0;

  wire [IN_SAMPLES-1:0] host_in_sample = IN_SAMPLES'(host_word) + (host_bank[0] ? IN_SAMPLES'(WORDS_HERE) : '0);
  wire [IN_LABELS-1:0] host_in_labels = IN_LABELS'(host_word) + (host_bank[0] ? IN_LABELS'(LABELS_HERE) : '0);
  logic [31:0] first_half;
  always_ff @(posedge clk) begin
    if (host_valid && host_write && !host_element[0]) first_half <= host_d;
    if (host_valid && host_write && host_element[0] && host_memory == HOST_SAMPLE)
      sample[host_in_sample] <= {host_d[7:0], first_half};
    if (host_valid && host_write && host_element[0] && host_memory == HOST_LABELS)
      labels[host_in_labels] <= {host_d, first_half};
  end

  wire [2:0] looks = d[F_LOOKS+:3];
  generate
  for (genvar p = 0; p < 3; p++) begin : g_look
    wire [39:0] word = sample[first_word+IN_SAMPLES'(d[F_LOOK_SLOT+p*SAMPLE+:SAMPLE])];
    assign look_address[p*ADDRESS+:ADDRESS] = looks[p] ? word[ADDRESS-1:0] : '0;
    assign look_rotation[p*ROTATE+:ROTATE] = looks[p] ? word[24+:ROTATE] : '0;
    assign look_place[p*INSIDE+:INSIDE] = looks[p] ? word[32+:INSIDE] : '0;
  end
  endgenerate
  wire [39:0] limit_word = sample[first_word+IN_SAMPLES'(d[F_LIMIT_SLOT+:SAMPLE])];
  wire [ADDRESS-1:0] limit = d[F_LIMITED] && limit_word[ADDRESS-1:0] < d[F_COLUMNS_HERE+:ADDRESS]
                           ? limit_word[ADDRESS-1:0] : d[F_COLUMNS_HERE+:ADDRESS];

  // ---- control ----
  assign streams = d[F_STREAMS];
  assign {reads_extra, reads_right, reads_left} = pass ? d[F_READS+:3] : 3'b011;
  logic [DRAINING-1:0] drained;
  always_ff @(posedge clk) drained <= state == DRAIN ? drained + 1'b1 : '0;
  assign pass_left = state == DRAIN && drained == d[F_DRAIN+:DRAINING];
  assign group_result_address = pass ? group_address[2*ADDRESS+:ADDRESS] : '0;
  assign group_result_rotation = pass ? group_rotation[2*ROTATE+:ROTATE] : '0;
  assign group_result_place = pass ? group_place[2*INSIDE+:INSIDE] : '0;

  // ---- the third operand ----
  wire [MEMORY-1:0] extra_memory = d[F_EXTRA_MEMORY+:MEMORY];
  assign extra_top = MEMORY_TOP[extra_memory*ROTATE+:ROTATE];
  wire [BLOCK-1:0] extra_block = d[F_EXTRA_BLOCK+:BLOCK] | BLOCK'(pass_cut);
  logic [CHOICE-1:0] extra_first, extra_choice1, extra_choice2;
  logic [BANKS-1:0] extra_used1;
  logic [BANKS*ADDRESS-1:0] extra_offset1;
  logic extra_valid3, extra_first3;
  logic [BANKS*WORD*32-1:0] extra_fetched;
  extra_blocks of_extra (.block(extra_block), .first(extra_first), .phases(extra_phases));
  read_port #(.MEMORIES(MEMORIES), .MEMORY(MEMORY), .BANKS(BANKS), .WORD(WORD), .ADDRESS(ADDRESS), .ROTATE(ROTATE),
              .INSIDE(INSIDE), .CHOICE(CHOICE), .MASK(MEMORY_MASK), .TOP(MEMORY_TOP)) extra (
      .clk, .reset, .valid(run && real_tile && phase < extra_phases && reads_extra), .first(phase == 0),
      .choice(extra_first + CHOICE'(phase)), .memory(extra_memory),
      .base(d[F_EXTRA_BASE+:ADDRESS] + tile_address[3*ADDRESS+:ADDRESS] + group_address[3*ADDRESS+:ADDRESS]),
      .rotation(field_add(tile_rotation[3*ROTATE+:ROTATE], group_rotation[3*ROTATE+:ROTATE], extra_top)),
      .place(tile_place[3*INSIDE+:INSIDE] | group_place[3*INSIDE+:INSIDE]),
      .choice1(extra_choice1), .used1(extra_used1), .offset1(extra_offset1),
      .read(extra_read), .used(extra_used), .address(extra_address), .choice2(extra_choice2), .data,
      .valid3(extra_valid3), .first3(extra_first3), .words(extra_fetched));
  extra_words extra_words_of (.choice(extra_choice1), .used(extra_used1), .offset(extra_offset1));
  logic [VECTOR-1:0] extra_taken;
  logic [VECTOR*32-1:0] extra_dealt, extra_lane;
  extra_deal deal_extra (.clk, .choice(extra_choice2), .words(extra_fetched), .taken(extra_taken), .lane(extra_dealt));
  lanes #(.LANES(VECTOR)) to_extra (
      .clk, .valid(extra_valid3), .first(extra_first3), .taken(extra_taken), .d(extra_dealt), .lane(extra_lane));

  // ---- a trip: four cycles from issue to lanes ----
  wire [ADDRESS-1:0] row_number = tile_address[4*ADDRESS+:ADDRESS] + group_address[4*ADDRESS+:ADDRESS];
  wire [ADDRESS-1:0] column_number = tile_address[5*ADDRESS+:ADDRESS] + group_address[5*ADDRESS+:ADDRESS];
  logic trip_valid, trip_first, trip_last;
  logic [SLOT-1:0] trip_slot;
  logic [ADDRESS-1:0] trip_column;
  logic [ROW-1:0] trip_row, read_row;
  logic [IN_LABELS-1:0] read_label;
  logic [GOES-1:0] trip_goes;
  flags #(.WIDTH(1), .CYCLES(4)) to_unit (.clk, .reset, .d(fire && real_tile && pass), .q(trip_valid));
  delay #(.WIDTH(2 + SLOT + ADDRESS + GOES), .CYCLES(4)) beside_unit (
      .clk, .d({first_group, last_group, slot[SLOT-1:0], column_number, goes}),
      .q({trip_first, trip_last, trip_slot, trip_column, trip_goes}));
  delay #(.WIDTH(ROW + IN_LABELS), .CYCLES(3)) to_scalars (
      .clk, .d({d[F_FIRST_ROW+:ROW] + ROW'(row_number),
                first_label + IN_LABELS'(d[F_FIRST_LABEL+:LABEL]) + IN_LABELS'(row_number)}),
      .q({read_row, read_label}));

  // ---- scalars of rows, labels ----
  logic [3:0] scalar_write;
  logic [4*ROW-1:0] scalar_row;
  logic [127:0] scalars, scalar_d;
  logic [63:0] label;
  always_ff @(posedge clk) begin
    trip_row <= read_row;
    label <= labels[read_label];
  end
`ifndef SYNTHESIS
  int unsigned wrong_scalar[4];
  assign wrong_scalars = wrong_scalar[0] + wrong_scalar[1] + wrong_scalar[2] + wrong_scalar[3];
`endif
  generate
  for (genvar i = 0; i < 4; i++) begin : g_scalar
    bank #(.ELEMENTS(1), .DEPTH(SCALAR_ROWS), .ADDRESS(ROW), .STYLE("auto"), .NAME({"scalars", 8'(48 + i)})) store (
        .clk, .read(1'b1), .read_address(idle ? ROW'(host_word) : read_row), .q(scalars[i*32+:32]), .write(scalar_write[i] && !reset),
        .write_address(scalar_row[i*ROW+:ROW]), .d(scalar_d[i*32+:32])
`ifndef SYNTHESIS
        , .check, .restore, .wrong(wrong_scalar[i])
`endif
    );
  end
  endgenerate

  // The host reads a scalar where no program runs: it is there when an element of a memory would be.
  logic [1:0] host_scalar;
  delay #(.WIDTH(2), .CYCLES(1)) to_scalar (.clk, .d(host_element[1:0]), .q(host_scalar));
  delay #(.WIDTH(32), .CYCLES(3)) to_host (.clk, .d(scalars[host_scalar*32+:32]), .q(host_of_rows));

  // ---- the unit ----
  logic [VECTOR*32-1:0] passed;
  vector_unit #(.LANES(VECTOR), .PASS(PASS), .ADD(ADD), .COMPARE(COMPARE), .DEPTH_MOST(DEPTH_MOST), .DEPTH(DEPTH),
                .OPEN(OPEN), .SLOT(SLOT), .COLUMN(ADDRESS), .ROW(ROW), .GOES(GOES), .SUMS(SUMS), .SECOND(SECOND),
                .GREATEST(GREATEST)) unit (
      .clk, .reset, .clear(load), .pass(d[F_PASS+:PASS]), .depth(d[F_DEPTH+:DEPTH]), .streams, .of_rows(d[F_OF_ROWS]),
      .sums(d[F_SUMS]), .by_column(d[F_BY_COLUMN]), .greatest(d[F_GREATEST]), .scalar(d[F_SCALAR+:8]),
      .has(d[F_HAS+:4]), .k0(d[F_RATED] ? rate : d[F_K+:32]), .k1(d[F_K+32+:32]), .limit, .top(d[F_TOP+:LANE_BITS]),
      .valid(trip_valid), .first(trip_first), .last(trip_last), .slot(trip_slot), .column(trip_column), .row(trip_row),
      .a(left_lane[VECTOR*32-1:0]), .b(right_lane[VECTOR*32-1:0]), .c(extra_lane), .s(scalars),
      .label(label[ADDRESS-1:0]), .share(label[63:32]), .goes(trip_goes),
      .out_valid(pass_valid), .out_goes(pass_goes), .out(passed), .scalar_write, .scalar_row, .scalar_d);
  assign of_pass = (LANES_RESULT * 32)'(passed);
