/* Records: what a command answers is declared once, as a table of columns over a struct, and printed from it
 * as a JSON object, as an aligned table or list for people, and as CSV.
 *
 *     typedef struct { const char *name; uint64_t macs; double seconds; bool fits; } flow;
 *     static const tn_column flow_columns[] = {
 *         TN_COLUMN(flow, name, "flow"),
 *         TN_COLUMN(flow, macs, "MACs a step"),
 *         TN_COLUMN_AS("seconds_per_step", flow, seconds, "time", TN_IN("ms", 1e3)),
 *         TN_COLUMN(flow, fits, "fits"),
 *     };
 *     static const tn_record flow_record = TN_RECORD(flow, flow_columns);
 *
 * prints {"name": "optimal", "macs": 12, "seconds_per_step": 0.25, "fits": true} and
 *
 *     flow     MACs a step  time, ms  fits
 *     optimal           12       250  yes
 *
 * JSON and CSV have every column with a key, at full precision; what people read has every column with a
 * title, rounded, its unit in the head. The kind of a column follows from the member's type; TN_NAME and
 * TN_LIST below are for enums and for lists.
 */
#ifndef TN_TEXT_RECORD_H
#define TN_TEXT_RECORD_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/json.h"
#include "text/number.h"
#include "text/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Aligned tables for people. Cells are collected, widths follow; the first row is the head. Columns whose
 * cells (head aside) are all numbers align right. What would steer a terminal is replaced (text/utf8.h).
 * Of a table that is wider than `width`, columns that say one thing in every row are named once above it; then heads go over
 * several lines; what is wider still is parted into tables below each other, each with the first column. */

typedef struct tn_table {
    tn_arena arena;
    const char **cell;
    size_t columns, count, capacity;
    tn_status status;
    size_t width;   /* of a line; 0: any */
    bool constants; /* those columns are named above whatever the width */
} tn_table;

void tn_table_begin(tn_table *table, size_t columns);
/* Begins with the head row. */
void tn_table_head(tn_table *table, const char *const *head, size_t columns);
void tn_table_text(tn_table *table, const char *text); /* NULL: an empty cell */
void tn_table_format(tn_table *table, const char *format, ...) TN_PRINTF(2, 3);
void tn_table_count(tn_table *table, uint64_t value); /* with thousands separators: 1,253,376 */
/* Appends the table's lines, the head in bold if asked; a table that ran out of memory fails the buffer. */
void tn_table_write(tn_table *table, bool bold, tn_buffer *out);
void tn_table_free(tn_table *table);

typedef enum tn_column_kind {
    TN_COLUMN_TEXT,    /* const char *; NULL: null, an empty cell */
    TN_COLUMN_COUNT,   /* uint64_t, size_t */
    TN_COLUMN_COUNT32, /* uint32_t */
    TN_COLUMN_AMOUNT,  /* double that is written as a count where it is one */
    TN_COLUMN_REAL,    /* double; what is not finite: null, "-" */
    TN_COLUMN_BOOL,    /* true or false; yes or no */
    TN_COLUMN_NAME,    /* uint32_t or enum: a place in `names` */
    TN_COLUMN_RANGE,   /* two doubles, least and most: [1, 2], "1 to 2"; neither finite: null, "-" */
    TN_COLUMN_RECORD,  /* a struct in place, or lists of columns without offset: an object of its own */
} tn_column_kind;

typedef struct tn_record tn_record;

typedef struct tn_column {
    const char *key; /* of JSON and CSV; NULL: people alone see it */
    tn_column_kind kind;
    size_t offset;     /* of the member in the struct */
    const char *title; /* for people; NULL: only JSON and CSV have it */
    const char *unit;  /* "time, ms" */
    double scale;      /* people see value * scale; 0: 1 */
    bool
        fitting; /* of a REAL or a count: `unit` is one of text/words.h, and gets the prefix that the column's values fit */
    const char *said; /* key of text/words.h that title and unit come from; then fitting */
    tn_number_style style;
    int digits;               /* of a REAL for people; 0 with style SIGNIFICANT: 4 */
    const char *const *names; /* NAME */
    const tn_record *nested;  /* RECORD, and lists of records */
    bool optional;  /* NULL text, NAN, an empty list or a false `when`: no key at all; a table in which no row
                      has it leaves the column out */
    ptrdiff_t when; /* where > 0: of a bool; false: there is no value */
    bool list, in_place;             /* the member is an array of the kind, by pointer or in place */
    size_t count_offset, count_size; /* of a list: its length, a uint32_t or size_t; size 0: that many */
    bool
        keyed; /* of a list of records, in JSON: an object by what their first column holds, of objects of the
                   other columns, or of values where there is one other */
    bool bar;  /* people see a REAL from 0 to 1 as a bar; one that goes over its end says so, as what is not
                   finite */
    /* What no member holds: writes the value (JSON), or the cell (people). */
    void (*put)(const void *row, tn_json *json);
    void (*cell)(const void *row, tn_buffer *cell);
    /* What `put` writes, or what a key that is written elsewhere holds, as JSON Schema's words: "integer null"; NULL:
     * of a `put` anything, of others what the kind says. */
    const char *type;
} tn_column;

struct tn_record {
    size_t size; /* of the struct */
    const tn_column *column;
    size_t columns;
};
#define TN_RECORD(type, table)                                                                               \
    { .size = sizeof(type), .column = (table), .columns = sizeof(table) / sizeof *(table) }

/* clang-format off */
#define TN_KIND_OF(value)                                                                                    \
    _Generic((value), const char *: TN_COLUMN_TEXT, char *: TN_COLUMN_TEXT, uint64_t: TN_COLUMN_COUNT,        \
             uint32_t: TN_COLUMN_COUNT32, double: TN_COLUMN_REAL, bool: TN_COLUMN_BOOL)
/* clang-format on */

/* A row: struct, member, title (NULL: none), then any of the words below. The key is the member's name, or is
 * given. */
#define TN_COLUMN(type, member, ...) TN_COLUMN_AS(#member, type, member, __VA_ARGS__)
#define TN_COLUMN_AS(called, type, member, ...)                                                              \
    {                                                                                                        \
        .key = (called), .kind = TN_KIND_OF(((type *)0)->member), .offset = offsetof(type, member),          \
        __VA_ARGS__                                                                                          \
    }
/* An enum by its name. */
#define TN_NAME(called, type, member, list_of_names, ...)                                                    \
    {                                                                                                        \
        .names = (list_of_names), .key = (called), .kind = TN_COLUMN_NAME, .offset = offsetof(type, member), \
        __VA_ARGS__                                                                                          \
    }
/* A double that may be a count. */
#define TN_AMOUNT(called, type, member, ...)                                                                 \
    { .key = (called), .kind = TN_COLUMN_AMOUNT, .offset = offsetof(type, member), __VA_ARGS__ }
/* A struct in place, as an object. Lists: pointer and length; TN_ARRAY: an array in the struct. */
#define TN_OBJECT(called, type, member, record, ...)                                                         \
    {                                                                                                        \
        .nested = &(record), .key = (called), .kind = TN_COLUMN_RECORD, .offset = offsetof(type, member),    \
        __VA_ARGS__                                                                                          \
    }
/* From the member `low` to the double behind it. */
#define TN_RANGE(called, type, low, ...)                                                                     \
    { .key = (called), .kind = TN_COLUMN_RANGE, .offset = offsetof(type, low), __VA_ARGS__ }
/* Columns of the same struct, as an object. */
#define TN_GROUP(called, record, ...)                                                                        \
    { .nested = &(record), .key = (called), .kind = TN_COLUMN_RECORD, .offset = 0, __VA_ARGS__ }
#define TN_ROWS(called, type, member, length, record, ...)                                                   \
    {                                                                                                        \
        .nested = &(record), .list = true, TN_LENGTH(type, length), .key = (called),                         \
        .kind = TN_COLUMN_RECORD, .offset = offsetof(type, member), __VA_ARGS__                              \
    }
/* An array of structs in the struct. */
#define TN_ROWS_IN(called, type, member, length, record, ...)                                                \
    {                                                                                                        \
        .nested = &(record), .in_place = true, .list = true, TN_LENGTH(type, length), .key = (called),       \
        .kind = TN_COLUMN_RECORD, .offset = offsetof(type, member), __VA_ARGS__                              \
    }
/* As many as `length` says, in the struct. */
#define TN_ROWS_HERE(called, type, member, length, record, ...)                                              \
    {                                                                                                        \
        .nested = &(record), .list = true, .in_place = true, .count_offset = (length), .key = (called),      \
        .kind = TN_COLUMN_RECORD, .offset = offsetof(type, member), __VA_ARGS__                              \
    }
#define TN_LIST(called, type, member, length, ...)                                                           \
    {                                                                                                        \
        .list = true, TN_LENGTH(type, length), .key = (called), .kind = TN_KIND_OF(*((type *)0)->member),    \
        .offset = offsetof(type, member), __VA_ARGS__                                                        \
    }
#define TN_ARRAY(called, type, member, length, ...)                                                          \
    {                                                                                                        \
        .in_place = true, .list = true, TN_LENGTH(type, length), .key = (called),                            \
        .kind = TN_KIND_OF(*((type *)0)->member), .offset = offsetof(type, member), __VA_ARGS__              \
    }
#define TN_LENGTH(type, length)                                                                              \
    .count_offset = offsetof(type, length), .count_size = sizeof(((type *)0)->length)
/* What functions write. */
#define TN_WRITTEN(called, writer, ...)                                                                      \
    { .put = (writer), .key = (called), .kind = TN_COLUMN_TEXT, .offset = 0, __VA_ARGS__ }

/* A key that another function writes, for the schema of an answer alone: the words of `type`, or the record of an
 * object or of a list's objects; then TN_OPTIONAL or nothing. */
#define TN_ANSWER_KEY(called, ...)                                                                           \
    { .key = (called), .kind = TN_COLUMN_TEXT, .type = __VA_ARGS__ }
#define TN_ANSWER_LIST(called, ...)                                                                          \
    { .key = (called), .kind = TN_COLUMN_TEXT, .list = true, .type = __VA_ARGS__ }
#define TN_ANSWER_OBJECT(called, ...)                                                                        \
    { .key = (called), .kind = TN_COLUMN_RECORD, .nested = &__VA_ARGS__ }
#define TN_ANSWER_ROWS(called, ...)                                                                          \
    { .key = (called), .kind = TN_COLUMN_RECORD, .list = true, .nested = &__VA_ARGS__ }
/* All keys of another record, among those around it. */
#define TN_ANSWER_INLINE(record)                                                                             \
    { .nested = &(record), .kind = TN_COLUMN_RECORD }

#define TN_IN(of_unit, factor) .unit = (of_unit), .scale = (factor)
/* With the prefix that fits; title and unit of a key of text/words.h. */
#define TN_FITTING(of_unit)    .unit = (of_unit), .fitting = true
#define TN_SAID(word)          .said = (word), .fitting = true
#define TN_PERCENT             .unit = "%", .scale = 100, .style = TN_NUMBER_FIXED, .digits = 1
#define TN_FIXED(places)       .style = TN_NUMBER_FIXED, .digits = (places)
#define TN_POWER(places)       .style = TN_NUMBER_POWER, .digits = (places)
#define TN_ROUGH               .style = TN_NUMBER_ROUGH, .digits = 2
#define TN_DIGITS(significant) .style = TN_NUMBER_SIGNIFICANT, .digits = (significant)
#define TN_OPTIONAL            .optional = true
#define TN_KEYED               .keyed = true
#define TN_BAR                 .bar = true
#define TN_WHEN(type, member)  .when = offsetof(type, member)

/* JSON: the object; its keys into an object that is open; an array of objects. */
void tn_record_json(const tn_record *record, const void *row, tn_json *json);
void tn_record_keys(const tn_record *record, const void *row, tn_json *json);
void tn_record_rows(const tn_record *record, const void *rows, size_t count, tn_json *json);

/* What the JSON of a record holds. As JSON Schema: "properties" and "required" of an object that is open, with units under
 * "unit"; `name`: what the key "schema" holds; NULL: there is none. As rows of a table of four columns: key
 * ("layers[].macs.forward"), type, unit, what people see above it. */
void tn_record_schema(const tn_record *record, const char *name, tn_json *json);
void tn_record_key_rows(const tn_record *record, const char *before, tn_table *table);

/* CSV: the head and rows of all columns that have a key and hold one value. Lines are the caller's to end. */
void tn_record_csv_head(const tn_record *record, tn_buffer *out);
void tn_record_csv(const tn_record *record, const void *row, tn_buffer *out);

/* People: a whole table. */
void tn_record_table(const tn_record *record, const void *rows, size_t count, bool bold, tn_buffer *out);
/* The same as a table, not yet written. */
void tn_record_fill(const tn_record *record, const void *rows, size_t count, tn_table *table);
/* One record with a line a column: quantity, value, unit. */
void tn_record_lines(const tn_record *record, const void *row, bool bold, tn_buffer *out);
/* Or row by row into a table that is open: its head, and the cells of one row. `shown[column]` says which are
 * wanted; NULL: all with a title. */
void tn_record_head(const tn_record *record, const bool *shown, tn_table *table);
void tn_record_cells(const tn_record *record, const void *row, const bool *shown, tn_table *table);

#endif
