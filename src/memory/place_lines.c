#include "memory/place_lines.h"

#include "base/checked.h"
#include "base/digest.h"
#include "device/build.h"
#include "layout/layout_demand.h"

#include <string.h>

/* What builds ask for of which some table is: splits, styles and groups. */
typedef struct asked_places {
    unsigned splits, styles[TN_STORES];
    size_t groups;
    const uint64_t *group; /* [groups] */
    uint64_t number;       /* from 1 */
    struct asked_places *next;
} asked_places;

/* What a memory's rows take, by all that it follows from. */
enum { KNOWN_KEYS = 9, KNOWN_LINES = 1 << 11 };
enum { OF_CORES = TN_STORE_CORES, OF_ACTIVATIONS = TN_STORE_ACTIVATIONS, OF_SEARCH, KNOWN_KINDS };
typedef struct {
    uint64_t key[KNOWN_KEYS]; /* the first 0: nothing is kept */
    size_t bytes, room;
    void *content;
} known_line;
struct tn_known_lines {
    tn_arena *arena;
    asked_places *asked;
    known_line kept[KNOWN_KINDS][KNOWN_LINES];
};

/* ---- amounts ---- */

static bool is_no_more(const tn_amounts *a, const tn_amounts *b) {
    return a->bram18 <= b->bram18 && a->uram <= b->uram && a->lutram <= b->lutram &&
           a->routing_lut <= b->routing_lut;
}

void tn_amounts_keep(tn_amounts *list, uint32_t *count, const tn_amounts *taken) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (is_no_more(&list[i], taken)) return;
    for (uint32_t i = 0; i < *count; i++)
        if (!is_no_more(taken, &list[i])) list[kept++] = list[i];
    list[kept] = *taken;
    *count = kept + 1;
}

/* ---- as built ---- */

/* The memory in so many banks, through one read port. */
static tn_status find_share(const tn_lined_places *places, uint32_t memory, const tn_place *place,
                            const tn_row *given, uint64_t banks, tn_memory_share *share, tn_error *error) {
    const tn_build one_port = {.read_ports = 1};
    tn_row row = *given;
    row.banks = row.asked_banks = banks;
    return tn_known_share(places->shares, places->device, places->word_bits, &places->map->memory[memory],
                          &row, &one_port, place, share, error);
}

static tn_status find_amounts(const tn_lined_places *places, uint32_t memory, const tn_place *place,
                              const tn_row *row, uint64_t banks, tn_amounts *taken, tn_error *error) {
    tn_memory_share share;
    TN_TRY(find_share(places, memory, place, row, banks, &share, error));
    *taken = (tn_amounts){share.bram18, share.uram, share.lutram, 0};
    return TN_OK;
}

/* What of the memory is before a kernel: the style does not matter. */
static tn_status find_port(const tn_lined_places *places, uint32_t memory, tn_array_split split,
                           uint64_t group, const tn_row *row, tn_port_source *port, tn_error *error) {
    const tn_place place = {TN_STYLE_BLOCK, split, group};
    tn_memory_share share;
    TN_TRY(find_share(places, memory, &place, row, tn_split_banks(split, row->elements), &share, error));
    *port = share.port;
    return TN_OK;
}

size_t tn_lined_groups(const tn_lined_places *places, const tn_mapped *memory) {
    return memory->grouped ? places->store[memory->store].groups : 1;
}

/* Where that is kept, or is to be; *found: it is there. */
static tn_status find_known(const tn_lined_places *places, int kind, uint32_t m, const tn_row *row,
                            uint64_t banks, size_t bytes, known_line **known, bool *found, tn_error *error) {
    const tn_mapped *memory = &places->map->memory[m];
    const uint64_t key[KNOWN_KEYS] = {(uint64_t)(uintptr_t)places->device,
                                      places->number,
                                      places->word_bits << 32 | memory->word_bits,
                                      memory->copies,
                                      (uint64_t)memory->grouped << 32 | row->of_bound,
                                      row->elements,
                                      row->depth,
                                      row->unpadded_depth,
                                      banks};
    const size_t place = tn_hash_place(tn_hash_counts(key + 1, KNOWN_KEYS - 1), KNOWN_LINES);
    known_line *kept = &places->known->kept[kind][place];
    *known = kept;
    *found = kept->bytes == bytes && memcmp(kept->key, key, sizeof key) == 0;
    if (*found) return TN_OK;
    kept->key[0] = 0;
    if (kept->room < bytes) {
        TN_TRY(tn_arena_alloc(places->known->arena, bytes, 1, &kept->content, error));
        kept->room = bytes;
    }
    kept->bytes = bytes;
    memcpy(kept->key + 1, key + 1, sizeof key - sizeof *key);
    return TN_OK;
}

static void keep_known(const tn_lined_places *places, const void *content, known_line *known) {
    memcpy(known->content, content, known->bytes);
    known->key[0] = (uint64_t)(uintptr_t)places->device;
}

static tn_status price_line(const tn_lined_places *places, uint32_t m, const tn_row *row, tn_amounts *taken,
                            tn_port_source *port, tn_error *error) {
    const tn_mapped *memory = &places->map->memory[m];
    const tn_store_places *store = &places->store[memory->store];
    const size_t groups = tn_lined_groups(places, memory);
    for (size_t i = 0; i < places->splits * groups; i++)
        TN_TRY(find_port(places, m, places->split[i / groups],
                         memory->grouped ? places->group[i % groups] : 1, row, &port[i], error));
    for (size_t split = 0; split < places->splits; split++) {
        const uint64_t banks = tn_split_banks(places->split[split], row->elements);
        for (size_t style = 0; style < store->styles; style++)
            for (size_t g = 0; g < groups; g++) {
                const tn_place place = {store->style[style], TN_SPLIT_RESHAPE,
                                        memory->grouped ? places->group[g] : 1};
                TN_TRY(find_amounts(places, m, &place, row, banks, taken++, error));
            }
    }
    return TN_OK;
}

tn_status tn_place_line_fill(const tn_lined_places *places, uint32_t m, const tn_row *row, tn_arena *arena,
                             tn_place_line *line, tn_error *error) {
    const tn_mapped *memory = &places->map->memory[m];
    const size_t ports = places->splits * tn_lined_groups(places, memory),
                 built = ports * places->store[memory->store].styles,
                 bytes = built * sizeof(tn_amounts) + ports * sizeof(tn_port_source);
    known_line *known;
    tn_amounts *taken;
    bool found;
    TN_TRY(find_known(places, memory->store, m, row, 0, bytes, &known, &found, error));
    TN_TRY(tn_arena_alloc(arena, bytes, 1, &taken, error));
    tn_port_source *port = (tn_port_source *)(taken + built);
    if (found) {
        memcpy(taken, known->content, bytes);
    } else {
        TN_TRY(price_line(places, m, row, taken, port, error));
        keep_known(places, taken, known);
    }
    line->as_built = taken;
    line->port = port;
    return TN_OK;
}

/* ---- as searched ---- */

/* Whether a search takes LUTRAM for a bank of some split: at least one of single elements. */
static bool may_be_lutram(const tn_lined_places *places, uint32_t m, const tn_row *row, uint64_t group) {
    const tn_mapped *memory = &places->map->memory[m];
    const uint64_t bits = memory->word_bits > 0 ? memory->word_bits : places->word_bits;
    return bits * row->depth * group <= places->device->memory.lutram_bits_most;
}

/* A search splits a memory further than the build has it laid, never less; very wide rows are laid in one bank. */
static uint64_t fewest_banks(unsigned splits, uint64_t elements) {
    uint64_t fewest = elements;
    if (elements > TN_LAYOUT_BANKS_MOST) return 1;
    for (int split = 0; split < TN_SPLITS_MOST; split++)
        if (splits >> split & 1) fewest = tn_least(fewest, tn_split_banks((tn_array_split)split, elements));
    return fewest;
}

static tn_status list_searched(const tn_lined_places *places, uint32_t m, const tn_row *row,
                               tn_searched_places *searched, tn_error *error) {
    const uint64_t most = tn_placement_groups(&places->map->memory[m]);
    for (uint64_t group = 1;; group = tn_placement_next_group(group, most)) {
        for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++) {
            const tn_place place = {(tn_memory_style)style, TN_SPLIT_RESHAPE, group};
            tn_amounts taken;
            if (style == TN_STYLE_DISTRIBUTED && !may_be_lutram(places, m, row, group)) continue;
            TN_TRY(find_amounts(places, m, &place, row, searched->banks, &taken, error));
            tn_amounts_keep(searched->place, &searched->count, &taken);
        }
        if (group == most) return TN_OK;
    }
}

tn_status tn_place_line_search(const tn_lined_places *places, uint32_t m, const tn_row *row, unsigned splits,
                               tn_arena *arena, tn_place_line *line, const tn_searched_places **found,
                               tn_error *error) {
    const uint64_t banks = fewest_banks(splits, row->elements);
    tn_searched_places *own = line->searched;
    known_line *known;
    bool has;
    while (own && own->banks != banks) own = own->next;
    *found = own;
    if (own) return TN_OK;
    TN_TRY(TN_NEW(arena, 1, &own, error));
    TN_TRY(find_known(places, OF_SEARCH, m, row, banks, sizeof *own, &known, &has, error));
    if (has) {
        memcpy(own, known->content, sizeof *own);
    } else {
        own->banks = banks;
        TN_TRY(list_searched(places, m, row, own, error));
        keep_known(places, own, known);
    }
    own->next = line->searched;
    *found = line->searched = own;
    return TN_OK;
}

/* ---- what lines are of ---- */

tn_status tn_known_lines_new(tn_arena *arena, tn_known_lines **lines, tn_error *error) {
    TN_TRY(TN_NEW(arena, 1, lines, error));
    (*lines)->arena = arena;
    return TN_OK;
}

/* The number of these places among those that lines are known of; their groups are kept with it. */
static tn_status number_places(const tn_place_options *all, const uint64_t *group, size_t groups,
                               tn_lined_places *places, tn_error *error) {
    tn_known_lines *lines = places->known;
    asked_places *own = lines->asked;
    uint64_t *kept;
    while (own &&
           (own->splits != all->splits || memcmp(own->styles, all->styles, sizeof own->styles) != 0 ||
            own->groups != groups || (groups && memcmp(own->group, group, groups * sizeof *group) != 0)))
        own = own->next;
    if (!own) {
        TN_TRY(TN_NEW(lines->arena, 1, &own, error));
        TN_TRY(TN_NEW(lines->arena, groups, &kept, error));
        if (groups) memcpy(kept, group, groups * sizeof *kept);
        *own = (asked_places){.splits = all->splits,
                              .groups = groups,
                              .group = kept,
                              .number = 1 + (lines->asked ? lines->asked->number : 0),
                              .next = lines->asked};
        memcpy(own->styles, all->styles, sizeof own->styles);
        lines->asked = own;
    }
    places->number = own->number;
    places->group = groups ? own->group : NULL;
    return TN_OK;
}

/* Groups of different sizes: none has more members than there are. */
static tn_status find_groups(const tn_place_options *all, tn_arena *arena, tn_lined_places *places,
                             tn_error *error) {
    uint64_t *group;
    size_t groups = 0;
    places->copies = tn_map_most_copies(places->map);
    TN_TRY(TN_NEW(arena, all->groups, &group, error));
    for (size_t i = 0; i < all->groups; i++) {
        const uint64_t size = tn_least(all->group[i], places->copies);
        size_t k = 0;
        while (k < groups && group[k] != size) k++;
        group[k] = size;
        if (k == groups) groups++;
    }
    places->store[TN_STORE_CORES].groups = groups ? groups : 1;
    places->store[TN_STORE_ACTIVATIONS].groups = 1;
    return number_places(all, group, groups, places, error);
}

tn_status tn_lined_places_find(const tn_place_options *all, tn_arena *arena, tn_lined_places *places,
                               tn_error *error) {
    TN_TRY(find_groups(all, arena, places, error));
    for (int split = 0; split < TN_SPLITS_MOST; split++)
        if (all->splits >> split & 1) places->split[places->splits++] = (tn_array_split)split;
    for (int s = 0; s < TN_STORES; s++) {
        tn_store_places *store = &places->store[s];
        for (int style = 0; style < TN_STYLES_MOST; style++)
            if (all->styles[s] >> style & 1) store->style[store->styles++] = (tn_memory_style)style;
        store->each = store->styles * store->groups;
    }
    return TN_OK;
}
