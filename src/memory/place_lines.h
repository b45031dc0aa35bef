/* What single memories of a map take at each of several places, by the length of their rows: the lines of a table of places
 * (memory/place_table.h). Few memories differ between steps, so lines are remembered whatever the step. Inside the room. */
#ifndef TN_MEMORY_PLACE_LINES_H
#define TN_MEMORY_PLACE_LINES_H

#include "memory/place_table.h"

/* What memories take, and what routes them. */
typedef struct tn_amounts {
    uint64_t bram18, uram, lutram, routing_lut;
} tn_amounts;

/* Takes it into a list of which none takes no less of everything than another. */
void tn_amounts_keep(tn_amounts *list, uint32_t *count, const tn_amounts *taken);

/* The places of one memory that a search tries, of which none takes less of everything than another. */
enum { TN_SEARCHED_PLACES_MOST = 3 * 12 };
typedef struct tn_searched_places {
    uint64_t banks; /* as which they are split at least */
    uint32_t count;
    tn_amounts place[TN_SEARCHED_PLACES_MOST];
    struct tn_searched_places *next;
} tn_searched_places;

/* Of one memory with rows of so many elements, through one read port. */
typedef struct tn_place_line {
    tn_amounts *as_built; /* [splits][styles][groups]; NULL: not asked for yet */
    tn_port_source *port; /* [splits][groups], whatever the style; likewise */
    tn_searched_places *searched;
} tn_place_line;

/* Which styles and groups the memories of a store may have. */
enum { TN_STYLES_MOST = TN_STYLE_SHALLOW + 1, TN_SPLITS_MOST = TN_SPLIT_AUTO + 1 };
typedef struct tn_store_places {
    size_t styles, groups, each; /* each: of a split */
    tn_memory_style style[TN_STYLES_MOST];
} tn_store_places;

/* What lines are of. */
typedef struct tn_lined_places {
    const tn_device *device;
    uint64_t word_bits;
    const tn_map *map;
    tn_known_shares *shares;
    tn_known_lines *known;
    uint64_t number; /* of the places, among those that lines are known of */
    size_t splits;
    tn_array_split split[TN_SPLITS_MOST];
    uint64_t copies; /* the most that a memory has which is grouped: larger groups are as large */
    const uint64_t
        *group; /* [store[TN_STORE_CORES].groups]: each of another size; NULL: none are asked for */
    tn_store_places store[TN_STORES];
} tn_lined_places;

/* Fills in the places, of `all`, beside the device, word, map, shares and known lines that stand in *places. */
tn_status tn_lined_places_find(const tn_place_options *all, tn_arena *arena, tn_lined_places *places,
                               tn_error *error);

/* How many groups the memory may be in. */
size_t tn_lined_groups(const tn_lined_places *places, const tn_mapped *memory);

/* The memory with that row as built, in the arena. */
tn_status tn_place_line_fill(const tn_lined_places *places, uint32_t memory, const tn_row *row,
                             tn_arena *arena, tn_place_line *line, tn_error *error);

/* As it is searched under some of those splits. */
tn_status tn_place_line_search(const tn_lined_places *places, uint32_t memory, const tn_row *row,
                               unsigned splits, tn_arena *arena, tn_place_line *line,
                               const tn_searched_places **found, tn_error *error);

#endif
