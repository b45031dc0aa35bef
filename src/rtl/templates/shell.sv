// The engine on a bus: a kernel with the block control of Vitis (ap_ctrl_hs) on an AXI4-Lite slave, and an AXI4 master.
//
// A job is a list of records in memory, 16 bytes each, which the shell fetches, and does one after the other:
//
//     bits    0 memory   16 bank   24 element   32 word   64 data   96 what: 0 write, 1 read, 2 start, 3 reset
//
// A write or a read is an access of the host (engine.sv); what is read goes to memory as 32-bit words, in order, without
// gaps. `start` waits for the run before and starts the next one; `reset` resets the engine, which then takes the first
// buffer of samples. Samples are written while a run goes on, all else waits for its end. The job is done when its records
// are, the last run has ended and every answer is in memory.
//
// Registers, 32 bits each (64-bit values: the low half first):
//     00 control: bit 0 start, 1 done (cleared when read), 2 idle, 3 ready
//     10 address of the records   18 address of the answers, both multiples of 256   20 number of records
//     28 error of this job   2c runs of this job   30 cycles that they took, those of the price   38 answers of this job
// Errors, of which the first stays: 1 an address is no multiple of 256, 2 memory answered a read with an error, 3 a write, 4 a
// record that is none of the four. Behind an error records are fetched and not done.
module shell (
    input  logic         ap_clk,
    input  logic         ap_rst_n,
    input  logic [ 11:0] s_axi_control_awaddr,
    input  logic         s_axi_control_awvalid,
    output logic         s_axi_control_awready,
    input  logic [ 31:0] s_axi_control_wdata,
    input  logic [  3:0] s_axi_control_wstrb,
    input  logic         s_axi_control_wvalid,
    output logic         s_axi_control_wready,
    output logic [  1:0] s_axi_control_bresp,
    output logic         s_axi_control_bvalid,
    input  logic         s_axi_control_bready,
    input  logic [ 11:0] s_axi_control_araddr,
    input  logic         s_axi_control_arvalid,
    output logic         s_axi_control_arready,
    output logic [ 31:0] s_axi_control_rdata,
    output logic [  1:0] s_axi_control_rresp,
    output logic         s_axi_control_rvalid,
    input  logic         s_axi_control_rready,
    output logic [ 63:0] m_axi_gmem_araddr,
    output logic [  7:0] m_axi_gmem_arlen,
    output logic [  2:0] m_axi_gmem_arsize,
    output logic [  1:0] m_axi_gmem_arburst,
    output logic         m_axi_gmem_arvalid,
    input  logic         m_axi_gmem_arready,
    input  logic [127:0] m_axi_gmem_rdata,
    input  logic [  1:0] m_axi_gmem_rresp,
    input  logic         m_axi_gmem_rlast,
    input  logic         m_axi_gmem_rvalid,
    output logic         m_axi_gmem_rready,
    output logic [ 63:0] m_axi_gmem_awaddr,
    output logic [  7:0] m_axi_gmem_awlen,
    output logic [  2:0] m_axi_gmem_awsize,
    output logic [  1:0] m_axi_gmem_awburst,
    output logic         m_axi_gmem_awvalid,
    input  logic         m_axi_gmem_awready,
    output logic [127:0] m_axi_gmem_wdata,
    output logic [ 15:0] m_axi_gmem_wstrb,
    output logic         m_axi_gmem_wlast,
    output logic         m_axi_gmem_wvalid,
    input  logic         m_axi_gmem_wready,
    input  logic [  1:0] m_axi_gmem_bresp,
    input  logic         m_axi_gmem_bvalid,
    output logic         m_axi_gmem_bready
);
`include "shell.svh"
  localparam int BURST = 16;  // beats: 256 bytes, so that none crosses 4 KiB
  localparam int ROOM = 64;   // beats of either queue
  localparam int COUNT = $clog2(ROOM) + 1;
  localparam logic [31:0] WRITE = 0, READ = 1, START = 2, RESET = 3;
  localparam logic [3:0] SETTLED = 10;  // cycles from a record to the last that the engine does of an access
  wire clk = ap_clk;
  wire reset = !ap_rst_n;

  // ---- registers ----
  logic [63:0] records, answers, cycles;
  logic [31:0] number, runs, answered, error;
  logic busy, done;
  wire write_register = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  wire read_register = s_axi_control_arvalid && !s_axi_control_rvalid;
  wire begins = write_register && s_axi_control_awaddr == 12'h000 && s_axi_control_wstrb[0] && s_axi_control_wdata[0] && !busy;
  logic ends;
  assign s_axi_control_awready = write_register;
  assign s_axi_control_wready = write_register;
  assign s_axi_control_arready = read_register;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_rresp = 2'b00;
  wire [31:0] bits = {{8{s_axi_control_wstrb[3]}}, {8{s_axi_control_wstrb[2]}}, {8{s_axi_control_wstrb[1]}}, {8{s_axi_control_wstrb[0]}}};
  wire [31:0] set = s_axi_control_wdata & bits;

  always_ff @(posedge clk) begin
    if (reset) begin
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
      records <= '0;
      answers <= '0;
      number <= '0;
      busy <= 1'b0;
      done <= 1'b0;
    end else begin
      if (write_register) s_axi_control_bvalid <= 1'b1;
      else if (s_axi_control_bready) s_axi_control_bvalid <= 1'b0;
      if (read_register) s_axi_control_rvalid <= 1'b1;
      else if (s_axi_control_rready) s_axi_control_rvalid <= 1'b0;
      if (write_register && !busy)
        case (s_axi_control_awaddr)
          12'h010: records[31:0] <= set | (records[31:0] & ~bits);
          12'h014: records[63:32] <= set | (records[63:32] & ~bits);
          12'h018: answers[31:0] <= set | (answers[31:0] & ~bits);
          12'h01c: answers[63:32] <= set | (answers[63:32] & ~bits);
          12'h020: number <= set | (number & ~bits);
          default: ;
        endcase
      if (begins) busy <= 1'b1;
      else if (ends) busy <= 1'b0;
      if (ends) done <= 1'b1;
      else if (begins || (read_register && s_axi_control_araddr == 12'h000)) done <= 1'b0;
    end
    if (read_register)
      case (s_axi_control_araddr)
        12'h000: s_axi_control_rdata <= {28'b0, done, !busy, done, busy};
        12'h010: s_axi_control_rdata <= records[31:0];
        12'h014: s_axi_control_rdata <= records[63:32];
        12'h018: s_axi_control_rdata <= answers[31:0];
        12'h01c: s_axi_control_rdata <= answers[63:32];
        12'h020: s_axi_control_rdata <= number;
        12'h028: s_axi_control_rdata <= error;
        12'h02c: s_axi_control_rdata <= runs;
        12'h030: s_axi_control_rdata <= cycles[31:0];
        12'h034: s_axi_control_rdata <= cycles[63:32];
        12'h038: s_axi_control_rdata <= answered;
        default: s_axi_control_rdata <= '0;
      endcase
  end

  // ---- records from memory: bursts are asked for as long as their beats have room ----
  wire misplaced = records[7:0] != 0 || answers[7:0] != 0;
  logic [63:0] ask_address;
  logic [31:0] ask_left;
  wire [4:0] ask_beats = ask_left > 32'(BURST) ? 5'(BURST) : ask_left[4:0];
  logic [COUNT-1:0] promised;  // beats asked for and not yet taken
  logic taken;
  wire ask = busy && ask_left != 0 && !m_axi_gmem_arvalid && promised <= COUNT'(ROOM - BURST);
  assign m_axi_gmem_arsize = 3'd4;
  assign m_axi_gmem_arburst = 2'b01;
  assign m_axi_gmem_rready = 1'b1;
  always_ff @(posedge clk) begin
    if (reset) begin
      m_axi_gmem_arvalid <= 1'b0;
      ask_left <= '0;
      promised <= '0;
    end else begin
      if (begins) ask_left <= misplaced ? '0 : number;
      else if (ask) ask_left <= ask_left - 32'(ask_beats);
      if (ask) m_axi_gmem_arvalid <= 1'b1;
      else if (m_axi_gmem_arready) m_axi_gmem_arvalid <= 1'b0;
      promised <= promised + (ask ? COUNT'(ask_beats) : '0) - COUNT'(taken);
    end
    if (begins) ask_address <= records;
    else if (ask) ask_address <= ask_address + 64'(16 * BURST);
    if (ask) begin
      m_axi_gmem_araddr <= ask_address;
      m_axi_gmem_arlen <= 8'(ask_beats) - 8'd1;
    end
  end
  logic [127:0] record;
  logic [COUNT-1:0] waiting;
  fifo #(.WIDTH(128), .DEPTH(ROOM)) fetched (
      .clk, .reset, .push(m_axi_gmem_rvalid), .d(m_axi_gmem_rdata), .pop(taken), .q(record), .count(waiting));

  // ---- records done ----
  wire [31:0] what = record[127:96];
  wire beside = record[15:0] == HOST_SAMPLE || record[15:0] == HOST_LABELS;
  logic [31:0] left;  // records of the job
  logic [COUNT-1:0] stored;
  logic [3:0] settling;  // cycles until the engine has done what it was last told
  logic [2:0] held;      // cycles until it says so itself that it runs
  logic finished, host_answers, start, engine_reset, host_valid, host_write;
  logic [95:0] host;
  logic [31:0] host_q;
  wire stands = finished && held == 0;
  always_comb begin
    case (what)
      WRITE: taken = held == 0 && (stands || beside);
      READ: taken = stands && stored <= COUNT'(ROOM - BURST);
      START: taken = stands && settling == 0;
      RESET: taken = held == 0 && settling == 0;
      default: taken = 1'b1;
    endcase
    taken = waiting != 0 && (taken || error != 0);
  end
  wire real_record = taken && error == 0;
  logic counts;  // the run's first cycle is behind: a run lasts from its first load to its last
  always_ff @(posedge clk) begin
    if (reset) begin
      settling <= '0;
      held <= '0;
      left <= '0;
      host_valid <= 1'b0;
      start <= 1'b0;
      engine_reset <= 1'b1;
      error <= '0;
      runs <= '0;
      cycles <= '0;
      counts <= 1'b0;
      answered <= '0;
    end else begin
      if (real_record) settling <= SETTLED;
      else if (settling != 0) settling <= settling - 1'b1;
      if (real_record && what >= START) held <= 3'd6;
      else if (held != 0) held <= held - 1'b1;
      if (begins) left <= misplaced ? '0 : number;
      else if (taken) left <= left - 1'b1;
      host_valid <= real_record && (what == WRITE || what == READ);
      start <= real_record && what == START;
      engine_reset <= real_record && what == RESET;
      if (begins) error <= misplaced ? 32'd1 : '0;
      else if (error == 0) begin
        if (m_axi_gmem_rvalid && m_axi_gmem_rresp[1]) error <= 32'd2;
        else if (m_axi_gmem_bvalid && m_axi_gmem_bresp[1]) error <= 32'd3;
        else if (taken && what > RESET) error <= 32'd4;
      end
      counts <= !finished && !engine_reset;
      if (begins) runs <= '0;
      else if (real_record && what == START) runs <= runs + 1'b1;
      if (begins) cycles <= '0;
      else if (counts && !finished) cycles <= cycles + 1'b1;
      if (begins) answered <= '0;
      else if (host_answers) answered <= answered + 1'b1;
    end
    host_write <= what == WRITE;
    host <= record[95:0];
  end
  wire over = busy && left == 0 && stands && settling == 0;

  logic load;
  engine accelerator (
      .clk, .reset(reset || engine_reset), .start, .load, .finished, .host_valid, .host_write, .host_memory(host[15:0]),
      .host_bank(host[23:16]), .host_element(host[31:24]), .host_word(host[63:32]), .host_d(host[95:64]), .host_answers,
      .host_q
`ifndef SYNTHESIS
      , .check(1'b0), .restore(1'b0), .wrong()
`endif
  );

  // ---- answers: four words a beat ----
  logic [95:0] packed_words;
  wire [1:0] place = answered[1:0];
  logic flushed;  // no answer is to come any more
  wire full = host_answers && place == 2'd3;
  wire flush = over && !flushed;
  wire [127:0] beat = full ? {host_q, packed_words} : {32'b0, packed_words};
  wire pushed = full || (flush && place != 0);
  logic [127:0] first_stored;
  wire sent = m_axi_gmem_wvalid && m_axi_gmem_wready;
  fifo #(.WIDTH(128), .DEPTH(ROOM)) store (
      .clk, .reset, .push(pushed), .d(beat), .pop(sent), .q(first_stored), .count(stored));
  always_ff @(posedge clk) begin
    if (host_answers)
      case (place)
        2'd0: packed_words <= {64'b0, host_q};
        2'd1: packed_words[63:32] <= host_q;
        2'd2: packed_words[95:64] <= host_q;
        default: ;
      endcase
    flushed <= !reset && !begins && (flushed || flush);
  end

  // ---- answers to memory, a burst behind the other's response ----
  logic [63:0] send_address;
  logic [4:0] send_left;
  logic sending;  // a burst is on its way
  wire send = busy && !sending && (stored >= COUNT'(BURST) || (flushed && stored != 0));
  wire [4:0] send_beats = stored >= COUNT'(BURST) ? 5'(BURST) : stored[4:0];
  assign m_axi_gmem_awsize = 3'd4;
  assign m_axi_gmem_awburst = 2'b01;
  assign m_axi_gmem_wvalid = send_left != 0;
  assign m_axi_gmem_wlast = send_left == 5'd1;
  assign m_axi_gmem_wdata = first_stored;
  wire cut = flushed && stored == 1 && place != 0;  // the job's last beat holds `place` words
  assign m_axi_gmem_wstrb = !cut ? 16'hffff : place == 2'd1 ? 16'h000f : place == 2'd2 ? 16'h00ff : 16'h0fff;
  assign m_axi_gmem_bready = 1'b1;
  always_ff @(posedge clk) begin
    if (reset) begin
      m_axi_gmem_awvalid <= 1'b0;
      send_left <= '0;
      sending <= 1'b0;
    end else begin
      if (send) m_axi_gmem_awvalid <= 1'b1;
      else if (m_axi_gmem_awready) m_axi_gmem_awvalid <= 1'b0;
      if (send) send_left <= send_beats;
      else if (sent) send_left <= send_left - 1'b1;
      if (send) sending <= 1'b1;
      else if (m_axi_gmem_bvalid) sending <= 1'b0;
    end
    if (begins) send_address <= answers;
    else if (send) send_address <= send_address + 64'(16 * BURST);
    if (send) begin
      m_axi_gmem_awaddr <= send_address;
      m_axi_gmem_awlen <= 8'(send_beats) - 8'd1;
    end
  end
  assign ends = flushed && stored == 0 && !sending && busy;

  wire unused = &{1'b0, load, m_axi_gmem_rlast, m_axi_gmem_rresp[0], m_axi_gmem_bresp[0]};
endmodule
