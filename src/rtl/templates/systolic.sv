// A systolic array of ROWS x COLUMNS cells with what stands at its edges: registers that skew operands and straighten
// results, and a memory of SLOTS rows of sums that wait for their next terms. What a product does with it, one at a time:
//
//   forward     load ROWS rows of weights, [term][column]; a vector of ROWS terms a cycle, rows of COLUMNS results
//   sideways    the same weights, [column of the result][term]; vectors of COLUMNS terms, rows of ROWS results
//   rests       a column of ROWS and a row of COLUMNS elements each term, ADD cycles apart at least; then drain ROWS rows
//               of COLUMNS results
//
// Row 0 of the weights is loaded first, row 0 of the results drained first. A vector's slot holds its sums from one set of
// weights to the next: in the first its sums begin at zero, in the last they leave. A row of results is there DOWN cycles
// (sideways: ACROSS) after its vector, or a cycle after `drain`. Nothing may be loaded, and no first term come, before
// the last result is there.
module systolic #(
    parameter int ROWS = 4,
    parameter int COLUMNS = 4,
    parameter int MULTIPLY = 4,  // latencies
    parameter int ADD = 7,
    parameter int SLOTS = 512,
    parameter int SLOT = 9       // bits of a slot's number
) (
    input  logic                                              clk,
    input  logic                                              reset,
    input  logic                                              sideways,  // steady while a product runs
    input  logic                                              rests,     // likewise
    input  logic                                              load,
    input  logic                                              vector,
    input  logic                                              first,     // of a vector or term: sums begin
    input  logic                                              last,      // of a vector: sums leave
    input  logic [                                  SLOT-1:0] slot,
    input  logic                                              term,
    input  logic                                              drain,
    input  logic                                              drained,   // that row is a result
    input  logic [(ROWS > COLUMNS ? ROWS : COLUMNS)*32-1:0] left,      // vectors; columns of terms
    input  logic [                            COLUMNS*32-1:0] right,     // weights; rows of terms
    output logic                                              finished,
    output logic [(ROWS > COLUMNS ? ROWS : COLUMNS)*32-1:0] result
);
  localparam int LANES = ROWS > COLUMNS ? ROWS : COLUMNS;
  localparam int DOWN = MULTIPLY + ROWS * ADD + COLUMNS - 1;
  localparam int ACROSS = MULTIPLY + COLUMNS * ADD + ROWS - 1;
  localparam int SOONER = DOWN < ACROSS ? DOWN : ACROSS;
  localparam int LATER = DOWN < ACROSS ? ACROSS - DOWN : DOWN - ACROSS;

  // ---- what travels beside a vector ----
  logic soon_valid, soon_last, late_valid, late_last, out_valid, out_last;
  logic [SLOT-1:0] soon_slot, late_slot, out_slot;
  flags #(.WIDTH(1), .CYCLES(SOONER)) to_soon (.clk, .reset, .d(vector), .q(soon_valid));
  delay #(.WIDTH(SLOT + 1), .CYCLES(SOONER)) beside_soon (.clk, .d({last, slot}), .q({soon_last, soon_slot}));
  wire early = sideways ? ACROSS == SOONER : DOWN == SOONER;  // what is out already must not come out of the longer way again
  flags #(.WIDTH(1), .CYCLES(LATER)) to_late (.clk, .reset, .d(soon_valid && !early), .q(late_valid));
  delay #(.WIDTH(SLOT + 1), .CYCLES(LATER)) beside_late (.clk, .d({soon_last, soon_slot}), .q({late_last, late_slot}));
  assign {out_valid, out_last, out_slot} = early ? {soon_valid, soon_last, soon_slot} : {late_valid, late_last, late_slot};
  logic row_drained;
  flags #(.WIDTH(1), .CYCLES(1)) to_drained (.clk, .reset, .d(drained && drain), .q(row_drained));
  assign finished = rests ? row_drained : out_valid && out_last;

  // ---- what travels beside a term: a cell of the next diagonal takes it a cycle later ----
  localparam int DIAGONALS = ROWS + COLUMNS - 1;
  logic [DIAGONALS-1:0] begins, ready;
  generate
    for (genvar n = 0; n < DIAGONALS; n++) begin : g_diagonal
      if (n == 0) begin : g_corner
        delay #(.WIDTH(1), .CYCLES(MULTIPLY)) to_add (.clk, .d(first), .q(begins[0]));
        flags #(.WIDTH(1), .CYCLES(MULTIPLY + ADD - 1)) to_ready (.clk, .reset, .d(term), .q(ready[0]));
      end else begin : g_next
        delay #(.WIDTH(1), .CYCLES(1)) to_add (.clk, .d(begins[n-1]), .q(begins[n]));
        flags #(.WIDTH(1), .CYCLES(1)) to_ready (.clk, .reset, .d(ready[n-1]), .q(ready[n]));
      end
    end
  endgenerate

  // ---- sums that wait ----
  logic [LANES*32-1:0] waiting;  // MULTIPLY cycles after the vector
  logic [LANES*32-1:0] row;      // of results
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_waiting
      (* ram_style = "block" *) logic [31:0] open[SLOTS];
      always_ff @(posedge clk) if (out_valid && !out_last) open[out_slot] <= row[n*32+:32];
      logic [31:0] kept;
      if (MULTIPLY == 0) begin : g_at_once
        assign kept = first ? 32'b0 : open[slot];
      end else begin : g_later
        logic [31:0] found;
        logic begun;
        always_ff @(posedge clk) begin
          found <= open[slot];
          begun <= first;
        end
        assign kept = begun ? 32'b0 : found;
      end
      delay #(.WIDTH(32), .CYCLES(MULTIPLY == 0 ? 0 : MULTIPLY - 1)) until_added (.clk, .d(kept), .q(waiting[n*32+:32]));
    end
  endgenerate

  // ---- cells ----
  wire [31:0] right_at[ROWS][COLUMNS+1]  /* verilator split_var */;
  wire [31:0] down_at[ROWS+1][COLUMNS]  /* verilator split_var */;
  wire [31:0] weight_at[ROWS+1][COLUMNS]  /* verilator split_var */;
  wire [31:0] above_at[ROWS+1][COLUMNS]  /* verilator split_var */;  // sum of the cell above
  wire [31:0] left_at[ROWS][COLUMNS+1]  /* verilator split_var */;
  generate
    for (genvar r = 0; r < ROWS; r++) begin : g_row
      logic [31:0] by_hop, by_sum;
      delay #(.WIDTH(32), .CYCLES(r)) hops (.clk, .d(left[r*32+:32]), .q(by_hop));
      delay #(.WIDTH(32), .CYCLES(r * (ADD - 1))) sums (.clk, .d(by_hop), .q(by_sum));
      assign right_at[r][0] = rests ? by_hop : by_sum;
      delay #(.WIDTH(32), .CYCLES(r)) enters (.clk, .d(waiting[r*32+:32]), .q(left_at[r][0]));
    end
    for (genvar c = 0; c < COLUMNS; c++) begin : g_column
      logic [31:0] by_hop, by_sum;
      delay #(.WIDTH(32), .CYCLES(c)) hops (.clk, .d(right[c*32+:32]), .q(by_hop));
      delay #(.WIDTH(32), .CYCLES(c * ADD)) sums (.clk, .d(left[c*32+:32]), .q(by_sum));
      assign down_at[0][c] = rests ? by_hop : by_sum;
      assign weight_at[ROWS][c] = right[c*32+:32];
      delay #(.WIDTH(32), .CYCLES(c)) enters (.clk, .d(waiting[c*32+:32]), .q(above_at[0][c]));
    end
    for (genvar r = 0; r < ROWS; r++) begin : g_cells
      for (genvar c = 0; c < COLUMNS; c++) begin : g_cell
        wire [31:0] below;
        if (r == ROWS - 1) begin : g_bottom
          assign below = 32'b0;
        end else begin : g_inside
          assign below = above_at[r+2][c];
        end
        systolic_cell #(.MULTIPLY(MULTIPLY), .ADD(ADD)) one (
            .clk, .sideways, .rests, .load, .drain, .first(begins[r+c]), .keep(ready[r+c]), .right_d(right_at[r][c]),
            .down_d(down_at[r][c]), .weight_d(weight_at[r+1][c]), .above(above_at[r][c]), .left(left_at[r][c]),
            .below, .right_q(right_at[r][c+1]), .down_q(down_at[r+1][c]), .weight(weight_at[r][c]),
            .sum(above_at[r+1][c]));
        assign left_at[r][c+1] = above_at[r+1][c];
      end
    end
  endgenerate

  // ---- rows of results ----
  generate
    for (genvar n = 0; n < LANES; n++) begin : g_result
      logic [31:0] down, across, up;
      if (n < COLUMNS) begin : g_down
        delay #(.WIDTH(32), .CYCLES(COLUMNS - 1 - n)) straight (.clk, .d(above_at[ROWS][n]), .q(down));
        always_ff @(posedge clk) up <= above_at[1][n];
      end else begin : g_no_down
        assign down = 32'b0;
        assign up = 32'b0;
      end
      if (n < ROWS) begin : g_across
        delay #(.WIDTH(32), .CYCLES(ROWS - 1 - n)) straight (.clk, .d(left_at[n][COLUMNS]), .q(across));
      end else begin : g_no_across
        assign across = 32'b0;
      end
      assign row[n*32+:32] = sideways ? across : down;
      assign result[n*32+:32] = rests ? up : row[n*32+:32];
    end
  endgenerate
endmodule
