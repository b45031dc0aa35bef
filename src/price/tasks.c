#include "price/tasks.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* ---- waits ---- */

/* 1 for weight gradients and updates, 0 for everything else. */
static uint32_t stream_of(tn_phase phase) {
    return phase == TN_WEIGHT_GRADIENT || phase == TN_UPDATE;
}

tn_phase tn_matmul_phase(tn_phase phase) {
    return phase == TN_UPDATE ? TN_WEIGHT_GRADIENT : phase;
}

uint32_t tn_unit_of(const tn_operation *operation, uint32_t arithmetic) {
    if (operation->kind != TN_OP_PRODUCT) return TN_MATMULS + (uint32_t)operation->kind;
    return arithmetic * TN_PHASES + (uint32_t)tn_matmul_phase(operation->phase);
}

uint32_t tn_unit_shared(uint32_t unit, const tn_build *build) {
    if (unit < TN_MATMULS) return build->sharing == TN_SHARED ? unit - unit % TN_PHASES : unit;
    return tn_build_shares_vectors(build) ? TN_MATMULS : unit;
}

/* A row of the result needs one row of the operands only. The parameters of an update are one row. */
static bool works_by_rows(const tn_operation *operation) {
    return !tn_operation_is_across_rows(operation->kind) && operation->phase != TN_UPDATE;
}

static bool reads(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (operation->reads[i] == array) return true;
    return false;
}

/* Rows of what `maker` writes reach `reader` in order, and it needs only those it has. */
static bool can_stream(const tn_step *step, const tn_operation *maker, const tn_operation *reader) {
    uint32_t array = maker->writes[0];
    if (maker->write_count != 1 || maker->batch != 1 || reader->batch != 1) return false;
    if (!works_by_rows(maker) || !works_by_rows(reader) || maker->rows != reader->rows) return false;
    if (step->array[array].elements != maker->rows * maker->columns || !reads(reader, array)) return false;
    if (reader->kind != TN_OP_PRODUCT)
        return reader->kind != TN_OP_LOOKUP && reader->columns == maker->columns;
    return reader->reads[0] == array && reader->reads[1] != array && reader->reduction == maker->columns &&
           maker->rows != maker->columns;
}

/* An operation that reads or wrote the value that an array holds. */
typedef struct user {
    uint32_t operation, next; /* next: place in `user`, or NONE */
} user;

typedef struct {
    const tn_step *step;
    const tn_map *map;
    user *user;
    uint32_t users;
    uint32_t *users_of;     /* [arrays]: head of a list in `user` */
    uint32_t *occupant;     /* [slots]: array */
    uint32_t *after, count; /* of the operation at hand, */
    uint32_t streamable;    /* the first ones of which could be streamed */
} lister;

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* An operation that is waited for more than once is streamed only if every time allows it. */
static void wait_for(lister *listing, uint32_t operation, bool streamable) {
    uint32_t i = 0;
    while (i < listing->count && listing->after[i] != operation) i++;
    if (i == listing->count) {
        listing->after[listing->count++] = operation;
        if (streamable) swap(&listing->after[i], &listing->after[listing->streamable++]);
    } else if (i < listing->streamable && !streamable) {
        swap(&listing->after[i], &listing->after[--listing->streamable]);
    }
}

/* In place, a row is overwritten once it has been read: its maker is no more in the way than it was. */
static void wait_for_users(lister *listing, uint32_t index, uint32_t array) {
    for (uint32_t place = listing->users_of[array]; place != NONE; place = listing->user[place].next) {
        uint32_t other = listing->user[place].operation;
        const tn_operation *maker = &listing->step->operation[other];
        bool streamable = maker->write_count == 1 && maker->writes[0] == array &&
                          can_stream(listing->step, maker, &listing->step->operation[index]);
        if (other != index) wait_for(listing, other, streamable);
    }
}

static void wait_for_slot(lister *listing, uint32_t index, uint32_t array) {
    uint32_t slot = listing->map->slot_of[array];
    if (slot == NONE || listing->occupant[slot] == NONE || listing->occupant[slot] == array) return;
    uint32_t before = listing->occupant[slot];
    for (uint32_t place = listing->users_of[before]; place != NONE; place = listing->user[place].next)
        if (listing->user[place].operation != index) wait_for(listing, listing->user[place].operation, false);
}

static void use(lister *listing, uint32_t index, uint32_t array, bool writes) {
    uint32_t slot = listing->map->slot_of[array];
    listing->user[listing->users] = (user){index, writes ? NONE : listing->users_of[array]};
    listing->users_of[array] = listing->users++;
    if (slot != NONE) listing->occupant[slot] = array;
}

static void list_waits(lister *listing, uint32_t index) {
    const tn_operation *operation = &listing->step->operation[index];
    listing->count = listing->streamable = 0;
    for (uint32_t j = 0; j < operation->after_count; j++)
        wait_for(listing, operation->after[j],
                 can_stream(listing->step, &listing->step->operation[operation->after[j]], operation));
    for (uint32_t j = 0; j < operation->write_count; j++) {
        wait_for_users(listing, index, operation->writes[j]);
        wait_for_slot(listing, index, operation->writes[j]);
    }
    for (uint32_t j = 0; j < operation->read_count; j++) use(listing, index, operation->reads[j], false);
    for (uint32_t j = 0; j < operation->write_count; j++) use(listing, index, operation->writes[j], true);
}

static tn_status make_room(lister *listing, tn_waits *waits, tn_arena *arena, tn_error *error) {
    size_t after = 0, users = 0, operations = listing->step->operations;
    for (uint32_t i = 0; i < operations; i++) {
        const tn_operation *operation = &listing->step->operation[i];
        after += operation->after_count;
        users += operation->read_count + operation->write_count;
    }
    /* A use is waited for at most by the array's next writer and by the first writer of the slot's next
     * array. */
    TN_TRY(TN_NEW(arena, after + 2 * users, &waits->after, error));
    TN_TRY(TN_NEW(arena, operations, &waits->first, error));
    TN_TRY(TN_NEW(arena, operations, &waits->count, error));
    TN_TRY(TN_NEW(arena, operations, &waits->streamable, error));
    TN_TRY(TN_NEW(arena, users, &listing->user, error));
    TN_TRY(TN_NEW(arena, listing->step->arrays, &listing->users_of, error));
    TN_TRY(TN_NEW(arena, listing->map->slots, &listing->occupant, error));
    memset(listing->users_of, 0xff, listing->step->arrays * sizeof *listing->users_of);
    memset(listing->occupant, 0xff, listing->map->slots * sizeof *listing->occupant);
    return TN_OK;
}

tn_status tn_waits_make(const tn_step *step, const tn_map *map, tn_arena *arena, tn_waits *waits,
                        tn_error *error) {
    lister listing = {.step = step, .map = map};
    uint32_t used = 0;
    TN_TRY(make_room(&listing, waits, arena, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        listing.after = waits->after + used;
        list_waits(&listing, i);
        waits->first[i] = used;
        waits->count[i] = listing.count;
        waits->streamable[i] = listing.streamable;
        used += listing.count;
    }
    return TN_OK;
}

/* ---- tasks ---- */

uint64_t tn_tasks_resources(const tn_map *map) {
    return TN_RESOURCE_PORTS + 2 * map->ports;
}

static void take(tn_task *task, uint32_t resource) {
    for (uint32_t i = 0; i < task->resources; i++)
        if (task->resource[i] == resource) return;
    task->resource[task->resources++] = resource;
}

static void take_port(const tn_map *map, const tn_place *place, uint32_t array, unsigned position,
                      tn_task *task) {
    bool writes = position == TN_OPERATION_READS;
    uint32_t memory = map->memory_of[array];
    if (map->off_chip[array]) {
        memory = map->staging_of[position];
        take(task, TN_RESOURCE_EXTERNAL);
    }
    if (memory == NONE) return;
    const tn_mapped *mapped = &map->memory[memory];
    uint64_t copy = mapped->staging ? 0 : map->copy_of[array] / place[memory].group;
    take(task, TN_RESOURCE_PORTS + 2 * (uint32_t)(mapped->first_port + copy) + writes);
}

static void take_stream(tn_phase phase, const tn_build *build, tn_task *task) {
    if (build->schedule == TN_SCHEDULE_SEQUENTIAL) take(task, TN_RESOURCE_STREAM);
    if (build->schedule == TN_SCHEDULE_GRADIENTS_TOGETHER) take(task, TN_RESOURCE_STREAM + stream_of(phase));
}

static void take_ports(const tn_operation *operation, const tn_map *map, const tn_place *place,
                       tn_task *task) {
    for (uint32_t j = 0; j < operation->read_count; j++) take_port(map, place, operation->reads[j], j, task);
    for (uint32_t j = 0; j < operation->write_count; j++)
        take_port(map, place, operation->writes[j], TN_OPERATION_READS, task);
}

/* A streamed wait needs a block of at least one row; both tasks are cut then. */
static void cut_tasks(const tn_step *step, const tn_build *build, tn_task *task) {
    for (uint32_t i = 0; i < step->operations; i++) {
        if (step->operation[i].rows < build->blocks) task[i].streamed_count = 0;
        for (uint32_t j = 0; j < task[i].streamed_count; j++) task[i].cut = task[task[i].after[j]].cut = true;
    }
}

void tn_tasks_make(const tn_step *step, const uint32_t *unit, const tn_map *map, const tn_place *place,
                   const tn_waits *waits, const tn_build *build, tn_task *task, uint8_t *servers,
                   uint32_t *resources) {
    bool pipelined = build->schedule == TN_SCHEDULE_PIPELINED && build->blocks > 1;
    *resources = (uint32_t)tn_tasks_resources(map);
    memset(servers, 1, *resources);
    for (uint32_t i = 0; i < TN_MATMULS; i++) servers[i] = (uint8_t)build->kernels;
    for (uint32_t i = TN_RESOURCE_PORTS; i < *resources; i += 2) servers[i] = (uint8_t)build->read_ports;
    for (uint32_t i = 0; i < step->operations; i++) {
        task[i] = (tn_task){.work = task[i].work,
                            .after_count = waits->count[i],
                            .after = waits->after + waits->first[i],
                            .streamed_count = pipelined ? waits->streamable[i] : 0};
        take_stream(step->operation[i].phase, build, &task[i]);
        take(&task[i], tn_unit_shared(unit[i], build));
        take_ports(&step->operation[i], map, place, &task[i]);
    }
    if (pipelined) cut_tasks(step, build, task);
}

const char *tn_resource_unit_name(uint32_t resource, const tn_build *build) {
    static const char *const matmuls[TN_PHASES] = {"forward matmul", "input-gradient matmul",
                                                   "weight-gradient matmul", "update matmul"};
    if (resource < TN_MATMULS) return build->sharing == TN_SHARED ? "matmul" : matmuls[resource % TN_PHASES];
    if (resource < TN_UNITS && tn_build_shares_vectors(build)) return "vector unit";
    if (resource < TN_UNITS) return tn_operation_rows[resource - TN_MATMULS].kernel;
    if (resource == TN_RESOURCE_EXTERNAL) return "external memory";
    if (resource >= TN_RESOURCE_PORTS) return NULL;
    if (build->schedule == TN_SCHEDULE_SEQUENTIAL) return "sequence";
    return resource == TN_RESOURCE_STREAM ? "main stream" : "weight-gradient stream";
}
