#include "memory/memory_share.h"

#include "base/digest.h"

#include <math.h>
#include <string.h>

static double lut_per_bit(const tn_multiplexer_row *row) {
    return (double)row->lut / (double)row->width_bits;
}

uint64_t tn_multiplexer_lut(const tn_device *device, uint64_t inputs, uint64_t bits) {
    enum {
        MORE_OF_A_LUT6 = 3
    }; /* inputs that a LUT adds: two selects, four data, one of them the LUT before */
    const tn_multiplexer_row *row = device->multiplexers.item;
    const size_t rows = device->multiplexers.count;
    double n = (double)inputs, each;
    size_t above = 0;
    if (inputs <= 1) return 0;
    while (above < rows && row[above].inputs < inputs) above++;
    if (rows == 0)
        each = (n - 1) / MORE_OF_A_LUT6;
    else if (above == rows)
        each = lut_per_bit(&row[rows - 1]) * n / (double)row[rows - 1].inputs;
    else if (above == 0 || row[above].inputs == inputs)
        each = lut_per_bit(&row[above]);
    else
        each = lut_per_bit(&row[above - 1]) + (lut_per_bit(&row[above]) - lut_per_bit(&row[above - 1])) *
                                                  (n - (double)row[above - 1].inputs) /
                                                  (double)(row[above].inputs - row[above - 1].inputs);
    return (uint64_t)ceil(each * (double)bits - 1e-9);
}

tn_resources tn_route_resources(const tn_device *device, const tn_route *route) {
    uint64_t bits = route->words * route->word_bits;
    tn_resources used = {.lut = tn_multiplexer_lut(device, route->sources, bits), .ff = bits};
    for (int i = 0; i < TN_ROTATIONS_MOST; i++) used.lut += tn_multiplexer_lut(device, route->banks[i], bits);
    return used;
}

/* A bank deeper than a block has rows of blocks, one of which answers: of generated hardware, by the rows that it is mapped to.
 * High-level synthesis has them in its own reports. */
static tn_status find_selection(const tn_device *device, uint64_t word_bits, const tn_build *build,
                                const tn_placed *placed, uint64_t copies, uint64_t *luts, tn_error *error) {
    const uint64_t full = copies / placed->place.group, rest = copies % placed->place.group,
                   each = placed->depth / placed->place.group;
    const uint64_t depth[] = {placed->depth, rest * each}, times[] = {full, rest > 0};
    *luts = 0;
    for (int i = 0; i < 2; i++) {
        tn_blocks blocks;
        uint64_t rows;
        if (times[i] == 0) continue;
        TN_TRY(tn_bank_blocks(device, placed->place.style, word_bits, placed->width_bits, depth[i], &blocks,
                              &rows, error));
        *luts += times[i] * build->read_ports * placed->banks *
                 tn_multiplexer_lut(device, rows, placed->width_bits);
    }
    return TN_OK;
}

tn_status tn_price_share(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place,
                         tn_memory_share *share, tn_error *error) {
    tn_placed placed;
    TN_TRY(tn_place_price(device, word_bits, memory, row, build, place, &placed, error));
    *share = (tn_memory_share){
        .bram18 = placed.blocks.bram18 + 2 * placed.blocks.bram36,
        .uram = placed.blocks.uram,
        .lutram = placed.blocks.lutram,
        .style = placed.place.style,
        .stored_bits = placed.stored_bits,
        .port = {.memories = placed.memories, .words = placed.accesses, .depth = placed.depth}};
    if (memory->word_bits > 0 && memory->word_bits < word_bits) share->port.narrow = placed.memories;
    if (placed.place.style == TN_STYLE_DISTRIBUTED && tn_device_is_generated(device))
        share->read_ff = placed.memories * build->read_ports * placed.banks * placed.width_bits;
    if (!row || !row->of_bound)
        TN_TRY(find_selection(device, memory->word_bits > 0 ? memory->word_bits : word_bits, build, &placed,
                              memory->copies, &share->selection_lut, error));
    /* Rows of banks are rotated one way; banks of single elements both ways of a rectangle. */
    if (placed.place.split == TN_SPLIT_BANKS) share->port.banks[0] = placed.banks;
    if (placed.place.split == TN_SPLIT_PARTITION) {
        share->port.banks[0] = tn_split_banks(TN_SPLIT_BANKS, placed.banks);
        share->port.banks[1] = placed.banks / share->port.banks[0];
    }
    return TN_OK;
}

/* All that a share with laid rows follows from, what is stored apart. */
enum { SHARE_KEYS = 9, SHARES_KEPT = 1 << 16 };
struct tn_known_shares {
    struct {
        uint64_t key[SHARE_KEYS]; /* the first 0: nothing is kept */
        tn_memory_share share;
    } kept[SHARES_KEPT];
};

tn_status tn_known_shares_new(tn_arena *arena, tn_known_shares **known, tn_error *error) {
    return TN_NEW(arena, 1, known, error);
}

tn_status tn_known_share(tn_known_shares *known, const tn_device *device, uint64_t word_bits,
                         const tn_mapped *memory, const tn_row *row, const tn_build *build,
                         const tn_place *place, tn_memory_share *share, tn_error *error) {
    const uint64_t kinds = place->style | place->split << 4 | row->of_bound << 8 | word_bits << 16 |
                           memory->word_bits << 32,
                   key[SHARE_KEYS] = {(uint64_t)(uintptr_t)device,
                                      row->elements,
                                      row->banks,
                                      row->depth,
                                      row->asked_banks,
                                      row->unpadded_depth,
                                      memory->copies,
                                      build->read_ports << 32 | place->group,
                                      kinds};
    const size_t index = tn_hash_place(tn_hash_counts(key + 1, SHARE_KEYS - 1), SHARES_KEPT);
    bool found = true;
    for (int i = 0; i < SHARE_KEYS; i++) found &= known->kept[index].key[i] == key[i];
    if (!found) {
        known->kept[index].key[0] = 0;
        TN_TRY(
            tn_price_share(device, word_bits, memory, row, build, place, &known->kept[index].share, error));
        memcpy(known->kept[index].key, key, sizeof key);
    }
    *share = known->kept[index].share;
    share->stored_bits = tn_mapped_stored_bits(memory, word_bits);
    return TN_OK;
}

/* Rows and places are numbered from 1 as they come; a slot's content is of the number that it has now. */
typedef struct {
    tn_row row;
    uint64_t number;
} kept_row;

typedef struct {
    tn_place place;
    uint64_t read_ports, number;
} kept_place;

typedef struct {
    uint64_t row, place; /* numbers; 0: never filled */
    tn_memory_share share;
} kept_share;

enum { PLACES = 128, PAGE_PLACES = 8, PAGES = PLACES / PAGE_PLACES };
enum { ROWS_MOST = 16, ROWS_LEAST = 2, SHARES_MOST = 1 << 19, HINTS = 16 };

struct tn_share_memo {
    uint32_t rows;    /* slots of each memory */
    uint64_t numbers; /* given so far */
    kept_place place[PLACES];
    uint32_t next_place; /* slots are taken in turn */
    kept_row *row;       /* [memories][rows] */
    uint32_t *next_row;  /* [memories] */
    uint32_t *slot;      /* [memories]: slot of the row that stands */
    uint32_t *hint;      /* [memories][HINTS]: where a row of that shape was last */
    kept_share ***
        share; /* [memories][rows]: [PAGES] of [PAGE_PLACES], made when first filled: most steps are priced once */
    tn_arena *arena;
};

/* A map of very many memories keeps few shares of each: all of them took gigabytes. */
static uint32_t rows_kept(uint32_t memories) {
    uint32_t each = memories ? SHARES_MOST / PLACES / memories : ROWS_MOST;
    if (each > ROWS_MOST) return ROWS_MOST;
    return each < ROWS_LEAST ? ROWS_LEAST : each;
}

tn_status tn_share_memo_make(uint32_t memories, tn_arena *arena, tn_share_memo **memo, tn_error *error) {
    tn_share_memo *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    made->rows = rows_kept(memories);
    size_t rows = (size_t)memories * made->rows;
    TN_TRY(TN_NEW(arena, rows, &made->row, error));
    TN_TRY(TN_NEW(arena, memories, &made->next_row, error));
    TN_TRY(TN_NEW(arena, memories, &made->slot, error));
    TN_TRY(TN_NEW(arena, (size_t)memories * HINTS, &made->hint, error));
    TN_TRY(TN_NEW(arena, rows, &made->share, error));
    made->arena = arena;
    *memo = made;
    return TN_OK;
}

static bool is_row(const kept_row *kept, const tn_row *row) {
    return kept->number > 0 && memcmp(&kept->row, row, sizeof *row) == 0;
}

void tn_share_memo_set_row(tn_share_memo *memo, uint32_t memory, const tn_row *row) {
    kept_row *kept = &memo->row[(size_t)memory * memo->rows];
    uint64_t shape = (row->elements * 31 + row->banks) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t *entry = &memo->slot[memory], *hint = &memo->hint[(size_t)memory * HINTS + (shape >> 60)];
    *entry = *hint;
    if (is_row(&kept[*entry], row)) return;
    for (*entry = 0; *entry < memo->rows && !is_row(&kept[*entry], row);) ++*entry;
    if (*entry == memo->rows) {
        *entry = memo->next_row[memory]++ % memo->rows;
        kept[*entry] = (kept_row){*row, ++memo->numbers};
    }
    *hint = *entry;
}

uint32_t tn_share_memo_place(tn_share_memo *memo, const tn_place *place, uint64_t read_ports) {
    for (uint32_t i = 0; i < PLACES; i++) {
        const kept_place *kept = &memo->place[i];
        if (kept->number > 0 && kept->read_ports == read_ports && kept->place.style == place->style &&
            kept->place.split == place->split && kept->place.group == place->group)
            return i;
    }
    uint32_t slot = memo->next_place++ % PLACES;
    memo->place[slot] = (kept_place){*place, read_ports, ++memo->numbers};
    return slot;
}

static size_t row_at(const tn_share_memo *memo, uint32_t memory) {
    return (size_t)memory * memo->rows + memo->slot[memory];
}

tn_status tn_share_memo_find(tn_share_memo *memo, uint32_t memory, uint32_t place, tn_memory_share **share,
                             bool *found, tn_error *error) {
    size_t row = row_at(memo, memory);
    if (!memo->share[row]) TN_TRY(TN_NEW(memo->arena, PAGES, &memo->share[row], error));
    kept_share **page = &memo->share[row][place / PAGE_PLACES];
    if (!*page) TN_TRY(TN_NEW(memo->arena, PAGE_PLACES, page, error));
    kept_share *kept = &(*page)[place % PAGE_PLACES];
    *share = &kept->share;
    *found = kept->row == memo->row[row].number && kept->place == memo->place[place].number;
    return TN_OK;
}

void tn_share_memo_keep(tn_share_memo *memo, uint32_t memory, uint32_t place) {
    size_t row = row_at(memo, memory);
    kept_share *kept = &memo->share[row][place / PAGE_PLACES][place % PAGE_PLACES];
    kept->row = memo->row[row].number;
    kept->place = memo->place[place].number;
}
