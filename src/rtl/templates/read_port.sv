// Fetches blocks: from a place in a memory and a pattern to lanes, four cycles later. The first two of them go into the
// address of each bank; in the third the memory answers; in the fourth words are turned into order and dealt out.
module read_port #(
    parameter int LANES = 16,
    parameter int PATTERNS = 1,
    parameter int VECTOR = 4,
    parameter int VECTOR_PATTERNS = 1,
    parameter int PHASES = 1,
    parameter int MEMORIES = 3,
    parameter int MEMORY = 2,    // bits of a memory's number
    parameter int BANKS = 4,
    parameter int WORD = 4,
    parameter int ADDRESS = 16,
    parameter int ROTATE = 2,
    parameter int INSIDE = 2,
    parameter int CODE = 8,
    parameter int CHOICE = 8,
    parameter logic [PATTERNS*PHASES*BANKS*ADDRESS-1:0] OFFSET = '0,
    parameter logic [PATTERNS*PHASES*BANKS-1:0] USED = '0,
    parameter logic [PATTERNS*PHASES*LANES*CODE-1:0] SOURCE = '0,
    parameter logic [VECTOR_PATTERNS*BANKS-1:0] VECTOR_USED = '0,
    parameter logic [VECTOR_PATTERNS*VECTOR*CODE-1:0] VECTOR_SOURCE = '0,
    parameter logic [MEMORIES*ROTATE-1:0] MASK = '0
) (
    input  logic                            clk,
    input  logic                            valid,
    input  logic                            vector,    // a vector operation's trip: no product
    input  logic                            first,
    input  logic [              CHOICE-1:0] choice,    // pattern * PHASES + phase
    input  logic [              MEMORY-1:0] memory,
    input  logic [             ADDRESS-1:0] base,
    input  logic [              ROTATE-1:0] rotation,
    input  logic [              INSIDE-1:0] place,
    output logic [            MEMORIES-1:0] read,
    output logic [               BANKS-1:0] used,
    output logic [       BANKS*ADDRESS-1:0] address,
    input  logic [MEMORIES*BANKS*WORD*32-1:0] data,
    output logic [            LANES*32-1:0] lane,
    output logic [           VECTOR*32-1:0] vector_lane
);
  // ---- the sum of the counters' shares, kept ----
  logic valid1, vector1, first1;
  logic [CHOICE-1:0] choice1;
  logic [MEMORY-1:0] memory1;
  logic [ADDRESS-1:0] base1;
  logic [ROTATE-1:0] rotation1;
  logic [INSIDE-1:0] place1;
  delay #(.WIDTH(3 + CHOICE + MEMORY + ADDRESS + ROTATE + INSIDE), .CYCLES(1)) summed (
      .clk,
      .d({valid, vector, first, choice, memory, base, rotation, place}),
      .q({valid1, vector1, first1, choice1, memory1, base1, rotation1, place1})
  );

  // ---- addresses by bank ----
  wire [ROTATE-1:0] mask1 = MASK[memory1*ROTATE+:ROTATE];
  logic [BANKS-1:0] used1, vector_used1;
  logic [BANKS*ADDRESS-1:0] address1, vector_address1;
  addresses #(.CHOICES(PATTERNS * PHASES), .BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .CHOICE(CHOICE),
              .OFFSET(OFFSET), .USED(USED)) of_product (
      .choice(choice1), .base(base1), .rotation(rotation1), .mask(mask1), .used(used1), .address(address1));
  addresses #(.CHOICES(VECTOR_PATTERNS), .BANKS(BANKS), .ADDRESS(ADDRESS), .ROTATE(ROTATE), .CHOICE(CHOICE),
              .USED(VECTOR_USED)) of_vector (
      .choice(choice1), .base(base1), .rotation(rotation1), .mask(mask1), .used(vector_used1),
      .address(vector_address1));

  always_ff @(posedge clk) begin
    for (int m = 0; m < MEMORIES; m++) read[m] <= valid1 && memory1 == m[MEMORY-1:0];
    used <= vector1 ? vector_used1 : used1;
    address <= vector1 ? vector_address1 : address1;
  end

  // ---- the memory answers ----
  logic valid3, vector3, first3;
  logic [CHOICE-1:0] choice3;
  logic [MEMORY-1:0] memory3;
  logic [ROTATE-1:0] rotation3, mask3;
  logic [INSIDE-1:0] place3;
  delay #(.WIDTH(3 + CHOICE + MEMORY + 2 * ROTATE + INSIDE), .CYCLES(2)) answered (
      .clk,
      .d({valid1, vector1, first1, choice1, memory1, rotation1, mask1, place1}),
      .q({valid3, vector3, first3, choice3, memory3, rotation3, mask3, place3})
  );

  logic [BANKS*WORD*32-1:0] by_bank, words;
  always_comb begin
    by_bank = '0;
    for (int m = 0; m < MEMORIES; m++)
      if (memory3 == m[MEMORY-1:0]) by_bank = by_bank | data[m*BANKS*WORD*32+:BANKS*WORD*32];
  end
  turn #(.BANKS(BANKS), .WORD(WORD), .ROTATE(ROTATE), .INSIDE(INSIDE)) in_order (
      .rotation(rotation3), .mask(mask3), .place(place3), .d(by_bank), .q(words));

  lanes #(.LANES(LANES), .CHOICES(PATTERNS * PHASES), .BANKS(BANKS), .WORD(WORD), .CODE(CODE), .CHOICE(CHOICE),
          .SOURCE(SOURCE)) deal (
      .clk, .valid(valid3 && !vector3), .first(first3), .choice(choice3), .words, .lane);
  lanes #(.LANES(VECTOR), .CHOICES(VECTOR_PATTERNS), .BANKS(BANKS), .WORD(WORD), .CODE(CODE), .CHOICE(CHOICE),
          .SOURCE(VECTOR_SOURCE)) deal_vector (
      .clk, .valid(valid3 && vector3), .first(1'b1), .choice(choice3), .words, .lane(vector_lane));
endmodule
