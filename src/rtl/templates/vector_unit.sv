// Every vector kernel, pass by pass, on LANES lanes (vector_lane.sv is made for the program). A trip brings up to three
// operands, the scalars of its row, the number of its first column, and goes somewhere. After `depth` cycles its lanes are
// through: y goes out as a stream or, of a pass over rows, into the row's scalars; u and v are summed over the row into
// scalars or down the columns; l of the column that is the row's label becomes a scalar.
//
// Columns from `limit` on are no part of a row: y is 0 there and sums go without them. So are lanes behind `top`, which do
// not have the pass's operators.
module vector_unit #(
    parameter int LANES = 4,
    parameter int PASS = 4,      // bits of a pass's number
    parameter int ADD = 7,       // latencies
    parameter int COMPARE = 2,
    parameter int DEPTH_MOST = 64,
    parameter int DEPTH = 7,     // bits of a depth
    parameter int OPEN = 16,
    parameter int SLOT = 4,
    parameter int COLUMN = 16,   // bits of a column's number
    parameter int ROW = 16,      // bits of the address of a row's scalars
    parameter int GOES = 1,
    parameter int WIDTH = LANES > 1 ? $clog2(LANES) : 1,
    parameter bit SUMS = 1,      // the program has sums, second sums, the greatest of a row
    parameter bit SECOND = 1,
    parameter bit GREATEST = 1
) (
    input  logic                clk,
    input  logic                reset,
    input  logic                clear,      // an operation begins
    // the pass
    input  logic [    PASS-1:0] pass,
    input  logic [   DEPTH-1:0] depth,
    input  logic                streams,
    input  logic                of_rows,
    input  logic                sums,
    input  logic                by_column,
    input  logic                greatest,
    input  logic [         7:0] scalar,     // which scalar y, u, v and l become
    input  logic [         3:0] has,        // which of them become one
    input  logic [        31:0] k0,
    input  logic [        31:0] k1,
    input  logic [  COLUMN-1:0] limit,
    input  logic [   WIDTH-1:0] top,        // the last lane that the pass has
    // a trip
    input  logic                valid,
    input  logic                first,
    input  logic                last,
    input  logic [    SLOT-1:0] slot,
    input  logic [  COLUMN-1:0] column,
    input  logic [     ROW-1:0] row,
    input  logic [LANES*32-1:0] a,
    input  logic [LANES*32-1:0] b,
    input  logic [LANES*32-1:0] c,
    input  logic [       127:0] s,
    input  logic [  COLUMN-1:0] label,
    input  logic [        31:0] share,
    input  logic [    GOES-1:0] goes,
    // what goes to memories
    output logic                out_valid,
    output logic [    GOES-1:0] out_goes,
    output logic [LANES*32-1:0] out,
    // what goes to the scalars of rows: for each scalar its own row
    output logic [         3:0] scalar_write,
    output logic [   4*ROW-1:0] scalar_row,
    output logic [       127:0] scalar_d
);
  // ---- lanes ----
  logic [LANES-1:0] counted, hit;
  logic [LANES*32-1:0] y, u, v, l;
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_lane
      wire [COLUMN-1:0] here = column + COLUMN'(n);
      if (n == 0) begin : g_first
        assign counted[n] = here < limit;
      end else begin : g_other
        assign counted[n] = here < limit && (WIDTH)'(n) <= top;
      end
      assign hit[n] = here == label;
      vector_lane #(.NUMBER(n), .PASS(PASS)) lane (
          .clk, .pass, .a(a[n*32+:32]), .b(b[n*32+:32]), .c(c[n*32+:32]), .s0(s[31:0]), .s1(s[63:32]), .s2(s[95:64]),
          .s3(s[127:96]), .k0, .k1, .share, .hit(hit[n]), .y(y[n*32+:32]), .u(u[n*32+:32]), .v(v[n*32+:32]),
          .l(l[n*32+:32]));
    end
  endgenerate

  logic through, through_first, through_last;
  logic [SLOT-1:0] through_slot;
  logic [LANES-1:0] through_counted, through_hit;
  logic [ROW-1:0] through_row;
  logic [GOES-1:0] through_goes;
  delay_by #(.WIDTH(2 + SLOT + 2 * LANES + ROW + GOES), .MOST(DEPTH_MOST), .CYCLES(DEPTH)) along (
      .clk, .clear(clear || reset), .cycles(depth), .valid, .d({first, last, slot, counted, hit, row, goes}), .q_valid(through),
      .q({through_first, through_last, through_slot, through_counted, through_hit, through_row, through_goes}));

  logic [LANES*32-1:0] stream, u_counted, v_counted;
  logic [31:0] kept;
  always_comb begin
    kept = '0;
    for (int n = 0; n < LANES; n++) begin
      stream[n*32+:32] = y[n*32+:32] & {32{through_counted[n]}};
      u_counted[n*32+:32] = through_counted[n] ? u[n*32+:32] : greatest ? 32'hff800000 : 32'b0;
      v_counted[n*32+:32] = v[n*32+:32] & {32{through_counted[n]}};
      kept = kept | (l[n*32+:32] & {32{through_hit[n] && through_counted[n]}});
    end
  end
  wire keeps = through && |(through_hit & through_counted);

  // ---- sums ----
  logic sum_finished, second_finished, greatest_finished;
  logic [ROW+GOES-1:0] sum_goes, second_goes, greatest_goes;
  logic [LANES*32-1:0] sum, second, most;
  generate
    if (SUMS) begin : g_sums
      vector_sum #(.LANES(LANES), .LATENCY(ADD), .OPEN(OPEN), .SLOT(SLOT), .GOES(ROW + GOES)) first_sum (
          .clk, .reset, .valid(through && sums && !greatest), .by_column, .first(through_first), .last(through_last),
          .slot(through_slot), .d(u_counted), .goes({through_row, through_goes}), .finished(sum_finished),
          .finished_goes(sum_goes), .result(sum));
    end else begin : g_no_sums
      assign {sum_finished, sum_goes, sum} = '0;
    end
    if (SECOND) begin : g_second
      vector_sum #(.LANES(LANES), .LATENCY(ADD), .COLUMNS(0), .OPEN(OPEN), .SLOT(SLOT), .GOES(ROW + GOES)) second_sum (
          .clk, .reset, .valid(through && sums && has[2]), .by_column(1'b0), .first(through_first), .last(through_last),
          .slot(through_slot), .d(v_counted), .goes({through_row, through_goes}), .finished(second_finished),
          .finished_goes(second_goes), .result(second));
    end else begin : g_no_second
      assign {second_finished, second_goes, second} = '0;
    end
    if (GREATEST) begin : g_greatest
      vector_sum #(.LANES(LANES), .LATENCY(COMPARE), .GREATEST(1), .COLUMNS(0), .OPEN(OPEN), .SLOT(SLOT),
                   .GOES(ROW + GOES)) greatest_of_row (
          .clk, .reset, .valid(through && sums && greatest), .by_column(1'b0), .first(through_first), .last(through_last),
          .slot(through_slot), .d(u_counted), .goes({through_row, through_goes}), .finished(greatest_finished),
          .finished_goes(greatest_goes), .result(most));
    end else begin : g_no_greatest
      assign {greatest_finished, greatest_goes, most} = '0;
    end
  endgenerate

  // ---- out ----
  wire of_columns = sum_finished && by_column;
  assign out_valid = (through && streams) || of_columns;
  assign out_goes = of_columns ? sum_goes[GOES-1:0] : through_goes;
  assign out = of_columns ? sum : stream;

  wire row_finished = (sum_finished && !by_column) || greatest_finished;
  wire [ROW-1:0] row_of_sum = greatest_finished ? greatest_goes[GOES+:ROW] : sum_goes[GOES+:ROW];
  wire y_kept = has[0] && of_rows && through;
  wire u_kept = has[1] && of_rows && through;
  wire sum_kept = has[1] && !of_rows && row_finished;
  wire second_kept = has[2] && second_finished;
  wire label_kept = has[3] && keeps;
  wire [31:0] of_sum = greatest_finished ? most[31:0] : sum[31:0];
  generate
    for (genvar i = 0; i < 4; i++) begin : g_scalar
      wire by_y = y_kept && scalar[1:0] == 2'(i);
      wire by_u = u_kept && scalar[3:2] == 2'(i);
      wire by_sum = sum_kept && scalar[3:2] == 2'(i);
      wire by_second = second_kept && scalar[5:4] == 2'(i);
      wire by_label = label_kept && scalar[7:6] == 2'(i);
      assign scalar_write[i] = by_y || by_u || by_sum || by_second || by_label;
      assign scalar_row[i*ROW+:ROW] = by_second ? second_goes[GOES+:ROW] : by_sum ? row_of_sum : through_row;
      assign scalar_d[i*32+:32] =
          by_label ? kept : by_second ? second[31:0] : by_sum ? of_sum : by_u ? u[31:0] : y[31:0];
    end
  endgenerate
endmodule
