// Plays products on systolic.sv, one of its passes each, tile by tile and one behind the other: those of products.hex, in
// eight words a line: pass, M, K, N, whether it finds its first weights as the product before left them, and where A, B and C begin in
// values.hex. Counts the cycles from the first input to the last result, and the results that differ from C.
//
//   pass 0  forward          C[MxN] = A[MxK] B[KxN]    B rests, K along the rows of cells and N along their columns
//   pass 1  input gradient   C[MxK] = A[MxN] B[KxN]^T  B rests likewise
//   pass 2  weight gradient  C[MxN] = A[KxM]^T B[KxN]  C rests
//
// Where the next tile begins is not computed: it waits for the last result of the one before.
module systolic_test #(
    parameter int ROWS = 2,
    parameter int COLUMNS = 2,
    parameter int MULTIPLY = 0,
    parameter int ADD = 1,
    parameter int PRODUCTS = 1,
    parameter int VALUES = 1,
    parameter int SLOTS = 64
);
  localparam int LANES = ROWS > COLUMNS ? ROWS : COLUMNS;
  localparam int SLOT = $clog2(SLOTS);
  logic [31:0] value[VALUES];
  logic [255:0] product[PRODUCTS];
  int pass, M, K, N, A, B, C, wide;  // of the product at hand
  logic resident;
  logic clk = 0;
  logic reset = 1, load = 0, vector = 0, first = 0, last = 0, term = 0, drain = 0, drained = 0, finished;
  logic [SLOT-1:0] slot = 0;
  logic [LANES*32-1:0] left = 0, result;
  logic [COLUMNS*32-1:0] right = 0;
  systolic #(.ROWS(ROWS), .COLUMNS(COLUMNS), .MULTIPLY(MULTIPLY), .ADD(ADD), .SLOTS(SLOTS), .SLOT(SLOT)) dut (
      .clk, .reset, .sideways(pass == 1), .rests(pass == 2), .load, .vector, .first, .last, .slot, .term, .drain,
      .drained, .left, .right, .finished, .result);

  int unsigned added = 0;  // terms that the last cell has added
  int unsigned cycle = 0, begun = 0, ended = 0, wrong = 0, seen = 0;
  int row_of[$], column_of[$];  // of the results that are awaited

  // A clock: results that were ready before its edge are taken with it.
  task automatic edge_of_clock;
    added = added + (dut.ready[ROWS+COLUMNS-2] ? 1 : 0);
    #1 clk = 1;
    #1 clk = 0;
    cycle = cycle + 1;
    #1;
    if (finished) begin
      automatic int r = row_of.pop_front(), k = column_of.pop_front();
      automatic int lanes = pass == 1 ? ROWS : COLUMNS;
      for (int n = 0; n < lanes && k + n < wide; n++) begin
        if (result[n*32+:32] !== value[C+r*wide+k+n]) wrong = wrong + 1;
        seen = seen + 1;
      end
      ended = cycle;
    end
    {load, vector, term, drain, drained} = 0;
  endtask

  task automatic load_tile(int k0, int n0);
    for (int r = 0; r < ROWS; r++) begin
      load = 1;
      for (int n = 0; n < COLUMNS; n++) right[n*32+:32] = k0 + r < K && n0 + n < N ? value[B+(k0+r)*N+n0+n] : 0;
      edge_of_clock();
    end
  endtask

  // All vectors of a tile; then the last one's sums are awaited by their slot, as those that stay are not seen.
  task automatic stream(int begin_of_terms, int terms, int lanes, int column, logic is_first, logic is_last);
    automatic int edges = 0;
    for (int m = 0; m < M; m++) begin
      vector = 1;
      {first, last} = {is_first, is_last};
      slot = SLOT'(m);
      for (int n = 0; n < LANES; n++)
        left[n*32+:32] = n < lanes && begin_of_terms + n < terms ? value[A+m*terms+begin_of_terms+n] : 0;
      if (is_last) begin
        row_of.push_back(m);
        column_of.push_back(column);
      end
      edge_of_clock();
    end
    while (!(dut.out_valid && dut.out_slot == SLOT'(M - 1)) && edges < 10000) begin
      edge_of_clock();
      edges = edges + 1;
    end
  endtask

  task automatic resting_weights;
    automatic int across = (K + ROWS - 1) / ROWS, along = (N + COLUMNS - 1) / COLUMNS;
    if (pass == 0)
      for (int n = 0; n < along; n++)
        for (int k = 0; k < across; k++) begin
          load_tile(k * ROWS, n * COLUMNS);
          stream(k * ROWS, K, ROWS, n * COLUMNS, k == 0, k == across - 1);
        end
    else
      for (int k = 0; k < across; k++)
        for (int n = 0; n < along; n++) begin
          if (!resident || k > 0 || n > 0) load_tile(k * ROWS, n * COLUMNS);
          stream(n * COLUMNS, N, COLUMNS, k * ROWS, n == 0, n == along - 1);
        end
  endtask

  task automatic resting_sums;
    for (int m = 0; m < M; m += ROWS)
      for (int n = 0; n < N; n += COLUMNS) begin
        added = 0;
        for (int k = 0; k < K; k++) begin
          for (int wait_for = 1; wait_for < ADD; wait_for++) edge_of_clock();
          term = 1;
          first = k == 0;
          for (int r = 0; r < ROWS; r++) left[r*32+:32] = m + r < M ? value[A+k*M+m+r] : 0;
          for (int i = 0; i < COLUMNS; i++) right[i*32+:32] = n + i < N ? value[B+k*N+n+i] : 0;
          edge_of_clock();
        end
        while (added < K) edge_of_clock();
        for (int r = 0; r < ROWS; r++) begin
          drain = 1;
          drained = m + r < M;
          if (drained) begin
            row_of.push_back(m + r);
            column_of.push_back(n);
          end
          edge_of_clock();
        end
      end
  endtask

  initial begin
    $readmemh("products.hex", product);
    $readmemh("values.hex", value);
    for (int i = 0; i < 4; i++) edge_of_clock();
    reset = 0;
    for (int p = 0; p < PRODUCTS; p++) begin
      pass = product[p][255:224];
      M = product[p][223:192];
      K = product[p][191:160];
      N = product[p][159:128];
      resident = product[p][96];
      A = product[p][95:64];
      B = product[p][63:32];
      C = product[p][31:0];
      wide = pass == 1 ? K : N;
      {wrong, seen} = 0;
      begun = cycle;
      if (pass == 2) resting_sums();
      else resting_weights();
      for (int i = 0; i < 4; i++) edge_of_clock();
      $display("%0d: pass %0d: %0d cycles, %0d results, %0d wrong, %0d awaited", p, pass, ended - begun, seen, wrong,
               row_of.size());
    end
    $finish;
  end
endmodule
