#include "kernel/systolic_player.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/memory.h"

#include <string.h>

enum { NONE = -1 };

/* A number that moves. Its tag says which one it is, NONE that there is none. */
typedef struct {
    int64_t tag;
    tn_array_value value;
} token;

typedef struct {
    tn_array_value resting; /* a weight, or a sum that grows */
    tn_array_value waiting; /* the next tile's weight */
    token right, down;      /* operands */
    token sum;              /* on its way out */
    int64_t tile;           /* whose sum rests */
} cell;

/* A matrix as it lies, or turned round by its strides. */
typedef struct {
    const tn_array_value *value;
    uint64_t rows, columns, row_stride, column_stride;
} view;

typedef struct {
    const tn_array_play *play;
    uint64_t rows, columns;                         /* of the array */
    view left, above;                               /* operands whose sums rest */
    view vectors, weights;                          /* of a pass through resting weights */
    uint64_t tiles, row_tiles, column_tiles, steps; /* vectors or terms of a tile */
    bool sideways;                                  /* vectors move down and sums right */
    cell *now, *next;                               /* [rows][columns] before and after a clock edge */
    token *edge[2];         /* what enters now: from the left [rows], from above [columns] */
    uint64_t *lane_tile[2]; /* the tile that such a lane is at */
    uint64_t *begin;        /* [tiles + 1] of a run: cycle of lane 0's first step */
    tn_array_value *c;
    uint64_t c_rows, c_columns;
    uint64_t cycle, last;
    tn_array_played *played;
    bool overflow;
} player;

static const token nothing = {.tag = NONE};

static view lying(const tn_array_value *value, uint64_t rows, uint64_t columns) {
    return (view){value, rows, columns, columns, 1};
}

static view turned(view v) {
    return (view){v.value, v.columns, v.rows, v.column_stride, v.row_stride};
}

/* Zero in the padding of the last tiles. */
static tn_array_value element(const view *v, uint64_t row, uint64_t column) {
    if (row >= v->rows || column >= v->columns) return (tn_array_value){0};
    return v->value[row * v->row_stride + column * v->column_stride];
}

static void add(player *p, tn_array_value *sum, tn_array_value x) {
    if (p->play->integers)
        p->overflow |= __builtin_add_overflow(sum->integer, x.integer, &sum->integer);
    else
        sum->real += x.real;
}

static void multiply_add(player *p, tn_array_value *sum, tn_array_value x, tn_array_value y) {
    tn_array_value product;
    if (p->play->integers)
        p->overflow |= __builtin_mul_overflow(x.integer, y.integer, &product.integer);
    else
        product.real = x.real * y.real;
    add(p, sum, product);
}

/* A sum that left the array counts where it is no padding; what tiles of a reduction give is added up. */
static void deliver(player *p, uint64_t row, uint64_t column, tn_array_value value) {
    if (row >= p->c_rows || column >= p->c_columns) return;
    add(p, &p->c[row * p->c_columns + column], value);
    p->last = p->cycle + 1;
}

/* Whether a lane that lags by its number has a step of a tile of this run now. */
static bool due(const player *p, uint64_t lane, uint64_t tiles, uint64_t steps, uint64_t *tile,
                uint64_t *step) {
    if (p->cycle < lane) return false;
    uint64_t index = p->cycle - lane;
    while (*tile < tiles && index >= p->begin[*tile] + steps) ++*tile;
    if (*tile == tiles || index < p->begin[*tile]) return false;
    *step = index - p->begin[*tile];
    return true;
}

static void clock_edge(player *p) {
    cell *before = p->now;
    p->now = p->next;
    p->next = before;
    p->cycle++;
}

static void empty_cells(player *p) {
    for (uint64_t i = 0; i < p->rows * p->columns; i++) {
        cell *each = &p->now[i];
        each->right = each->down = each->sum = nothing;
        each->tile = NONE;
    }
    for (int side = 0; side < 2; side++)
        memset(p->lane_tile[side], 0, (side ? p->columns : p->rows) * sizeof **p->lane_tile);
}

/* ---- Weights rest: a vector passes through the cells of a row (sideways: a column), its sums across them. ---- */

static tn_array_value weight_of(const player *p, uint64_t tile, uint64_t r, uint64_t c) {
    return element(&p->weights, tile % p->row_tiles * p->rows + r, tile / p->row_tiles * p->columns + c);
}

/* The pass visits its tiles down the reduction of the forward pass, or all of them backwards. */
static uint64_t visited(const player *p, uint64_t visit) {
    return p->sideways ? p->tiles - 1 - visit : visit;
}

/* A row a cycle enters from above and pushes the others down. */
static void load_rows(player *p, uint64_t visit) {
    for (uint64_t step = 0; step < p->rows; step++) {
        for (uint64_t r = 0; r < p->rows; r++)
            for (uint64_t c = 0; c < p->columns; c++) {
                cell *target = &p->next[r * p->columns + c];
                *target = p->now[r * p->columns + c];
                target->resting = r ? p->now[(r - 1) * p->columns + c].resting
                                    : weight_of(p, visited(p, visit), p->rows - 1 - step, c);
            }
        clock_edge(p);
    }
    p->played->loaded_weights += p->rows * p->columns;
}

/* What the forward pass left behind. */
static void leave_weights(player *p, uint64_t visit) {
    for (uint64_t r = 0; r < p->rows; r++)
        for (uint64_t c = 0; c < p->columns; c++) {
            cell *this_cell = &p->now[r * p->columns + c];
            this_cell->resting = this_cell->waiting = weight_of(p, visited(p, visit), r, c);
        }
}

static void feed_vectors(player *p, uint64_t first, uint64_t tiles) {
    uint64_t lanes = p->sideways ? p->columns : p->rows, step;
    token *edge = p->edge[p->sideways];
    for (uint64_t lane = 0; lane < lanes; lane++) {
        uint64_t *entry = &p->lane_tile[p->sideways][lane];
        edge[lane] = nothing;
        if (!due(p, lane, tiles, p->steps, entry, &step)) continue;
        uint64_t tile = visited(p, first + *entry);
        uint64_t base = p->sideways ? tile / p->row_tiles * p->columns : tile % p->row_tiles * p->rows;
        edge[lane] =
            (token){(int64_t)((first + *entry) * p->steps + step), element(&p->vectors, step, base + lane)};
    }
}

/* One cell between two clock edges. The first vector of a tile makes it take the waiting weight, if it has one. */
static void pass_through(player *p, uint64_t r, uint64_t c, bool takes_waiting) {
    uint64_t here = r * p->columns + c;
    const cell *this_cell = &p->now[here], *left = c ? this_cell - 1 : NULL,
               *above = r ? this_cell - p->columns : NULL;
    cell *target = &p->next[here];
    token vector = p->sideways ? (above ? above->down : p->edge[1][c]) : (left ? left->right : p->edge[0][r]);
    const cell *nearer = p->sideways ? left : above; /* where the sum comes from */
    *target = *this_cell;
    *(p->sideways ? &target->down : &target->right) = vector;
    target->sum = nearer ? nearer->sum : (token){.tag = vector.tag};
    if (vector.tag == NONE) return;
    if (takes_waiting && (uint64_t)vector.tag % p->steps == 0) target->resting = this_cell->waiting;
    multiply_add(p, &target->sum.value, vector.value, target->resting);
}

/* Sums leave below (sideways: at the right). True: the last of visit `end` has left. */
static bool collect_sums(player *p, uint64_t end) {
    uint64_t lanes = p->sideways ? p->rows : p->columns;
    bool ended = false;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        uint64_t start = p->sideways ? lane * p->columns + p->columns - 1 : (p->rows - 1) * p->columns + lane;
        token sum = p->next[start].sum;
        if (sum.tag == NONE) continue;
        uint64_t visit = (uint64_t)sum.tag / p->steps, tile = visited(p, visit);
        uint64_t base = p->sideways ? tile % p->row_tiles * p->rows : tile / p->row_tiles * p->columns;
        deliver(p, (uint64_t)sum.tag % p->steps, base + lane, sum.value);
        ended |= lane == lanes - 1 && (uint64_t)sum.tag == (end + 1) * p->steps - 1;
    }
    return ended;
}

static tn_status play_ws_serial(player *p, tn_error *error) {
    for (uint64_t visit = 0; visit < p->tiles; visit++) {
        if (p->sideways && visit == 0)
            leave_weights(p, visit);
        else
            load_rows(p, visit);
        empty_cells(p);
        *p->begin = p->cycle;
        for (bool ended = false; !ended; clock_edge(p)) {
            feed_vectors(p, visit, 1);
            for (uint64_t r = 0; r < p->rows; r++)
                for (uint64_t c = 0; c < p->columns; c++) pass_through(p, r, c, false);
            ended = collect_sums(p, visit);
        }
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "the array was interrupted");
    }
    return TN_OK;
}

/* The controller starts everything as soon as it may: a tile's weights once the tile before has begun to take its own
 * and the bus from above is free, its vectors once its first weight waits and those of the tile before are in. */
static void plan_double_buffer(player *p, uint64_t *load) {
    for (uint64_t t = 0; t < p->tiles; t++) {
        bool resident = p->sideways && t == 0, bus_used = t > (p->sideways ? 1u : 0u);
        load[t] = bus_used ? load[t - 1] + p->rows : 0;
        if (t) load[t] = tn_greatest(load[t], p->begin[t - 1]);
        p->begin[t] = resident ? 0 : load[t] + 1;
        if (t) p->begin[t] = tn_greatest(p->begin[t], p->begin[t - 1] + p->steps);
    }
}

/* The bus of a column brings a row's weight a cycle, a column a cycle after the one before it. */
static void load_waiting(player *p, const uint64_t *load, uint64_t *bus_tile) {
    for (uint64_t c = 0; c < p->columns; c++) {
        uint64_t *tile = &bus_tile[c];
        while (*tile < p->tiles && p->cycle >= load[*tile] + p->rows + c) ++*tile;
        if (*tile == p->tiles || p->cycle < load[*tile] + c) continue;
        uint64_t r = p->cycle - c - load[*tile];
        p->next[r * p->columns + c].waiting = weight_of(p, visited(p, *tile), r, c);
        p->played->loaded_weights++;
    }
}

static tn_status play_ws_double_buffered(player *p, tn_error *error) {
    uint64_t *load, *bus_tile;
    tn_arena arena = {0};
    tn_status status = TN_NEW(&arena, p->tiles, &load, error);
    if (status == TN_OK) status = TN_NEW(&arena, p->columns, &bus_tile, error);
    if (status == TN_OK) {
        empty_cells(p);
        plan_double_buffer(p, load);
        if (p->sideways) {
            leave_weights(p, 0);
            for (uint64_t c = 0; c < p->columns; c++) bus_tile[c] = 1;
        }
    }
    for (bool ended = false; status == TN_OK && !ended; clock_edge(p)) {
        feed_vectors(p, 0, p->tiles);
        for (uint64_t r = 0; r < p->rows; r++)
            for (uint64_t c = 0; c < p->columns; c++) pass_through(p, r, c, true);
        load_waiting(p, load, bus_tile);
        ended = collect_sums(p, p->tiles - 1);
        if (tn_interrupted()) status = tn_fail(error, TN_INTERRUPTED, "the array was interrupted");
    }
    tn_arena_free(&arena);
    return status;
}

/* ---- Sums rest: one operand moves right, the other down; they meet where their product belongs. ---- */

/* Tile `tiles` of a run has no terms: its first step only hands the sums of the last tile over. */
static void feed_terms(player *p, uint64_t first, uint64_t tiles) {
    for (int side = 0; side < 2; side++)
        for (uint64_t lane = 0; lane < (side ? p->columns : p->rows); lane++) {
            uint64_t *entry = &p->lane_tile[side][lane], term;
            token *edge = &p->edge[side][lane];
            *edge = nothing;
            if (!due(p, lane, tiles + 1, p->steps, entry, &term)) continue;
            uint64_t tile = first + *entry;
            if (*entry == tiles && (side || term)) continue;
            edge->tag = (int64_t)(tile * p->steps + term);
            edge->value = *entry == tiles ? (tn_array_value){0}
                          : side ? element(&p->above, term, tile % p->column_tiles * p->columns + lane)
                                 : element(&p->left, tile / p->column_tiles * p->rows + lane, term);
        }
}

/* One cell between two clock edges. The first term of a tile makes it hand the sum of the tile before to the chain
 * that moves sums up. A sum's tag is its row, counted over the tiles. */
static void accumulate(player *p, uint64_t r, uint64_t c) {
    uint64_t here = r * p->columns + c;
    const cell *this_cell = &p->now[here], *below = r + 1 < p->rows ? this_cell + p->columns : NULL;
    cell *target = &p->next[here];
    *target = *this_cell;
    target->right = c ? this_cell[-1].right : p->edge[0][r];
    target->down = r ? (this_cell - p->columns)->down : p->edge[1][c];
    target->sum = below ? below->sum : nothing;
    if (target->right.tag != NONE && (uint64_t)target->right.tag % p->steps == 0) {
        if (this_cell->tile != NONE)
            target->sum = (token){this_cell->tile * (int64_t)p->rows + (int64_t)r, this_cell->resting};
        target->resting = (tn_array_value){0};
        target->tile = target->right.tag / (int64_t)p->steps;
    }
    if (target->right.tag != NONE && target->right.tag == target->down.tag)
        multiply_add(p, &target->resting, target->right.value, target->down.value);
}

static void deliver_row_sum(player *p, token sum, uint64_t c) {
    uint64_t tile = (uint64_t)sum.tag / p->rows, r = (uint64_t)sum.tag % p->rows;
    deliver(p, tile / p->column_tiles * p->rows + r, tile % p->column_tiles * p->columns + c, sum.value);
}

/* The sums move down a row a cycle and leave below. */
static void drain_down(player *p, uint64_t tile) {
    for (uint64_t r = 0; r < p->rows; r++)
        for (uint64_t c = 0; c < p->columns; c++) {
            cell *this_cell = &p->now[r * p->columns + c];
            this_cell->sum = (token){(int64_t)(tile * p->rows + r), this_cell->resting};
        }
    for (uint64_t step = 0; step < p->rows; step++) {
        for (uint64_t c = 0; c < p->columns; c++) {
            deliver_row_sum(p, p->now[(p->rows - 1) * p->columns + c].sum, c);
            for (uint64_t r = 0; r < p->rows; r++)
                p->next[r * p->columns + c].sum = r ? p->now[(r - 1) * p->columns + c].sum : nothing;
        }
        clock_edge(p);
    }
}

static tn_status play_os_serial(player *p, tn_error *error) {
    const uint64_t corner = p->rows * p->columns - 1;
    for (uint64_t tile = 0; tile < p->tiles; tile++) {
        empty_cells(p);
        p->begin[0] = p->cycle;
        p->begin[1] = UINT64_MAX - p->steps;
        do {
            feed_terms(p, tile, 1);
            for (uint64_t r = 0; r < p->rows; r++)
                for (uint64_t c = 0; c < p->columns; c++) accumulate(p, r, c);
            clock_edge(p);
        } while (p->now[corner].right.tag != (int64_t)((tile + 1) * p->steps - 1));
        drain_down(p, tile);
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "the array was interrupted");
    }
    return TN_OK;
}

/* A tile begins when the terms of the one before are in and the lowest of its sums, which passes 2R - 2 cells from
 * the mark's entrance to the way out, can't meet the sums that follow: with one period for all tiles. */
static tn_status play_os_overlapped(player *p, tn_error *error) {
    const uint64_t period = p->tiles == 1 ? p->steps : tn_greatest(p->steps, 2 * p->rows - 1);
    const uint64_t all = p->tiles * p->rows * p->columns;
    empty_cells(p);
    for (uint64_t t = 0; t <= p->tiles; t++) p->begin[t] = t * period;
    for (uint64_t left = 0; left < all; clock_edge(p)) {
        feed_terms(p, 0, p->tiles);
        for (uint64_t r = 0; r < p->rows; r++)
            for (uint64_t c = 0; c < p->columns; c++) accumulate(p, r, c);
        for (uint64_t c = 0; c < p->columns; c++) {
            if (p->next[c].sum.tag == NONE) continue;
            deliver_row_sum(p, p->next[c].sum, c);
            left++;
        }
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "the array was interrupted");
    }
    return TN_OK;
}

/* ---- A pass. ---- */

/* Which edges the operands enter at, and the tiles. */
static bool wire(player *p) {
    const tn_array_play *play = p->play;
    const tn_array_product *l = &play->layer;
    bool forward = play->pass == TN_FORWARD, weights = play->pass == TN_WEIGHT_GRADIENT;
    bool resting_weights =
        !weights && (play->dataflow == TN_WS_SERIAL || play->dataflow == TN_WS_DOUBLE_BUFFERED);
    view a = lying(play->a, l->m, forward || weights ? l->k : l->n);
    view b = lying(play->b, weights ? l->m : l->k, l->n);
    p->rows = play->array.rows;
    p->columns = play->array.columns;
    p->left = weights ? turned(a) : a;
    p->above = forward || weights ? b : turned(b);
    p->vectors = a;
    p->weights = b;
    p->c_rows = p->left.rows;
    p->c_columns = p->above.columns;
    p->sideways = resting_weights && !forward;
    p->steps = resting_weights ? l->m : p->left.columns;
    p->row_tiles = tn_ceil_div(resting_weights ? l->k : p->c_rows, p->rows);
    p->column_tiles = tn_ceil_div(resting_weights ? l->n : p->c_columns, p->columns);
    p->tiles = p->row_tiles * p->column_tiles;
    return resting_weights;
}

static tn_status play_pass(player *p, tn_arena *arena, tn_error *error) {
    bool resting_weights = wire(p);
    bool serial = p->play->dataflow == TN_WS_SERIAL || p->play->dataflow == TN_OS_SERIAL;
    TN_TRY(TN_NEW(arena, p->rows * p->columns, &p->now, error));
    TN_TRY(TN_NEW(arena, p->rows * p->columns, &p->next, error));
    TN_TRY(TN_NEW(arena, p->tiles + 1, &p->begin, error));
    for (int side = 0; side < 2; side++) {
        TN_TRY(TN_NEW(arena, side ? p->columns : p->rows, &p->edge[side], error));
        TN_TRY(TN_NEW(arena, side ? p->columns : p->rows, &p->lane_tile[side], error));
    }
    if (resting_weights) return serial ? play_ws_serial(p, error) : play_ws_double_buffered(p, error);
    return serial ? play_os_serial(p, error) : play_os_overlapped(p, error);
}

/* The formula's limits are the player's; a dataflow or pass that is not played is refused before. */
static tn_status check(const tn_array_play *play, tn_error *error) {
    uint64_t cycles, cells;
    if (play->dataflow > TN_OS_OVERLAPPED)
        return tn_fail(error, TN_INPUT,
                       "%s is a way to count cycles, no array to play; those are %s, %s, %s and %s",
                       tn_dataflow_names[play->dataflow], tn_dataflow_names[0], tn_dataflow_names[1],
                       tn_dataflow_names[2], tn_dataflow_names[3]);
    TN_TRY(tn_systolic_pass_cycles(&play->array, play->dataflow, play->pass, &play->layer, &cycles, error));
    if (!tn_mul(play->array.rows, play->array.columns, &cells) || cells > TN_PLAYER_MOST_CELLS)
        return tn_fail(error, TN_LIMIT, "an array of %llu cells; at most %d are played",
                       (unsigned long long)cells, (int)TN_PLAYER_MOST_CELLS);
    return TN_OK;
}

tn_status tn_systolic_play(const tn_array_play *play, tn_array_value *c, tn_array_played *played,
                           tn_error *error) {
    tn_arena arena = {0};
    player p = {.play = play, .c = c, .played = played};
    TN_TRY(check(play, error));
    *played = (tn_array_played){0};
    TN_TRY(tn_systolic_saved_accesses(play->pass, &play->layer, &played->saved_accesses, error));
    const tn_array_product *l = &play->layer;
    uint64_t outputs = play->pass == TN_FORWARD          ? l->m * l->n
                       : play->pass == TN_INPUT_GRADIENT ? l->m * l->k
                                                         : l->k * l->n;
    memset(c, 0, outputs * sizeof *c);
    tn_status status = play_pass(&p, &arena, error);
    tn_arena_free(&arena);
    if (status == TN_OK && p.overflow)
        return tn_fail(error, TN_OVERFLOW,
                       "a product or a sum in the array does not fit 64 bits; give it smaller integers");
    played->cycles = p.last;
    return status;
}
