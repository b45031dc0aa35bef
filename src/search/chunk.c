#include "search/chunk.h"

#include "base/checked.h"
#include "base/digest.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const uint64_t chunks_most = 100000000;

/* Inner combinations of a chunk: one value of each of the first inner choices, as few of these as make enough chunks that are small
 * enough. Designs that differ in settled keys stay together, however many they are. */
static uint64_t inners_of(const tn_space *space) {
    const uint64_t groups = space->outer_count / space->steps_together;
    uint64_t each = space->inner_count;
    for (size_t i = 0; i < space->inners; i++) {
        const bool few = groups < TN_CHUNKS_LEAST && space->inner_count / each < TN_CHUNKS_LEAST / groups,
                   large = !tn_space_is_settled(space) && each > TN_CHUNK_DESIGNS;
        if (!few && !large) break;
        each /= space->choices.axis[space->inner[i]].count;
    }
    return each;
}

/* Chunks of the outer combinations of one. */
static uint64_t slices(const tn_space *space) {
    return (space->inner_count - 1) / inners_of(space) + 1;
}

tn_status tn_chunk_count(const tn_space *space, uint64_t *chunks, tn_error *error) {
    const uint64_t groups = space->outer_count / space->steps_together;
    if (groups > chunks_most / slices(space))
        return tn_fail_at(
            error, TN_LIMIT, (tn_position){.file = space->path},
            "the space has too many combinations to sweep (over 10^8 parts); narrow its choices");
    *chunks = groups * slices(space);
    return TN_OK;
}

bool tn_can_enumerate(const tn_space *space) {
    uint64_t chunks;
    return !space->choices.is_vast && tn_chunk_count(space, &chunks, NULL) == TN_OK;
}

tn_chunk tn_chunk_at(const tn_space *space, uint64_t number) {
    const uint64_t each = inners_of(space), first = number % slices(space) * each,
                   left = space->inner_count - first;
    tn_chunk chunk = {.outer = number / slices(space) * space->steps_together,
                      .outers = space->steps_together,
                      .first = first,
                      .inners = left < each ? left : each};
    chunk.designs = chunk.outers * chunk.inners;
    return chunk;
}

uint64_t tn_chunk_of(const tn_space *space, uint64_t id) {
    uint64_t outer, inner;
    tn_space_split(space, id, &outer, &inner);
    return outer / space->steps_together * slices(space) + inner / inners_of(space);
}

const char *const tn_completion_names[] = {"exhausted", "budget", "interrupted", NULL};

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome) {
    *outcome = (tn_outcome){0};
    tn_archive_begin(&outcome->front, space->objectives);
}

void tn_outcome_free(tn_outcome *outcome) {
    tn_archive_free(&outcome->front);
    tn_free(outcome->undefined);
    *outcome = (tn_outcome){0};
}

void tn_outcome_clear(tn_outcome *outcome) {
    tn_archive_clear(&outcome->front);
    outcome->evaluated = outcome->evaluated_now = 0;
    memset(outcome->count, 0, sizeof outcome->count);
    outcome->undefined_count = 0;
}

static int compare(const tn_undefined_flow *a, const tn_undefined_flow *b) {
    if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
    if (a->format != b->format) return a->format < b->format ? -1 : 1;
    if (a->factors != b->factors) return a->factors < b->factors ? -1 : 1;
    return (a->flow > b->flow) - (a->flow < b->flow);
}

tn_status tn_outcome_add_undefined(tn_outcome *outcome, const tn_undefined_flow *flow, uint64_t designs,
                                   uint64_t first, tn_error *error) {
    size_t index = 0;
    while (index < outcome->undefined_count && compare(&outcome->undefined[index].flow, flow) < 0) index++;
    if (index < outcome->undefined_count && compare(&outcome->undefined[index].flow, flow) == 0) {
        tn_undefined_count *known = &outcome->undefined[index];
        known->designs += designs;
        if (first < known->first) known->first = first;
        return TN_OK;
    }
    TN_TRY(TN_GROW(&outcome->undefined, &outcome->undefined_capacity, outcome->undefined_count + 1, error));
    memmove(&outcome->undefined[index + 1], &outcome->undefined[index],
            (outcome->undefined_count - index) * sizeof *outcome->undefined);
    outcome->undefined[index] = (tn_undefined_count){.flow = *flow, .designs = designs, .first = first};
    outcome->undefined_count++;
    return TN_OK;
}

tn_status tn_outcome_absorb(tn_outcome *outcome, tn_outcome *source, tn_error *error) {
    TN_TRY(tn_archive_absorb(&outcome->front, &source->front, error));
    for (size_t i = 0; i < source->undefined_count; i++) {
        const tn_undefined_count *undefined = &source->undefined[i];
        TN_TRY(
            tn_outcome_add_undefined(outcome, &undefined->flow, undefined->designs, undefined->first, error));
    }
    outcome->evaluated += source->evaluated;
    outcome->evaluated_now += source->evaluated_now;
    for (uint32_t i = 0; i < TN_CAUSES; i++) outcome->count[i] += source->count[i];
    return TN_OK;
}

static void put(tn_buffer *out, uint64_t word) {
    unsigned char byte[8];
    for (int i = 0; i < 8; i++) byte[i] = (unsigned char)(word >> 8 * i);
    tn_buffer_bytes(out, byte, sizeof byte);
}

static void put_real(tn_buffer *out, double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    put(out, word);
}

static void put_causes(const tn_outcome *found, tn_buffer *out) {
    uint64_t causes = 0;
    for (uint32_t i = 0; i < TN_CAUSES; i++) causes += found->count[i] > 0;
    put(out, causes);
    for (uint32_t i = 0; i < TN_CAUSES; i++) {
        if (!found->count[i]) continue;
        put(out, i);
        put(out, found->count[i]);
    }
}

static void put_flows(const tn_outcome *found, tn_buffer *out) {
    put(out, found->undefined_count);
    for (size_t i = 0; i < found->undefined_count; i++) {
        const tn_undefined_count *undefined = &found->undefined[i];
        put(out, undefined->flow.weight);
        put(out, undefined->flow.format);
        put(out, undefined->flow.factors);
        put(out, undefined->flow.flow);
        put(out, undefined->designs);
        put(out, undefined->first);
    }
}

tn_status tn_chunk_record_write(const tn_space *space, const tn_outcome *found, const uint64_t kept[2],
                                tn_buffer *out, tn_error *error) {
    tn_point *point;
    size_t points = found->front.count;
    TN_TRY(TN_ALLOC(points, &point, error));
    tn_archive_points(&found->front, point);
    put(out, found->evaluated);
    put_causes(found, out);
    put_flows(found, out);
    put(out, points);
    for (size_t i = 0; i < points; i++) {
        put(out, point[i].id);
        for (size_t k = 0; k < space->objectives; k++) put_real(out, point[i].value[k]);
    }
    put(out, kept[0]);
    put(out, kept[1]);
    tn_free(point);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory to record what was found");
}

/* ---- reading */

/* Words from the front of a record; `ended` once more was asked for than it has. */
typedef struct {
    const unsigned char *byte;
    size_t words;
    bool ended;
} reader;

static uint64_t get(reader *input) {
    uint64_t word = 0;
    if (input->words == 0) {
        input->ended = true;
        return 0;
    }
    for (int i = 0; i < 8; i++) word |= (uint64_t)input->byte[i] << 8 * i;
    input->byte += 8;
    input->words--;
    return word;
}

static double get_real(reader *input) {
    uint64_t word = get(input);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static tn_status wrong(uint64_t number, const char *what, tn_error *error) {
    return tn_fail(error, TN_INPUT, "the record of part %" PRIu64 " %s", number, what);
}

static tn_status read_causes(reader *input, uint64_t number, tn_outcome *found, tn_error *error) {
    uint64_t causes = get(input), next = 0, sum = 0;
    if (causes > TN_CAUSES) return wrong(number, "holds too many causes", error);
    for (uint64_t i = 0; i < causes; i++) {
        uint64_t cause = get(input), designs = get(input);
        if (cause < next || cause >= TN_CAUSES || designs == 0)
            return wrong(number, "holds a cause that does not exist", error);
        if (!tn_add(sum, designs, &sum)) return wrong(number, "counts too many designs", error);
        found->count[cause] = designs;
        next = cause + 1;
    }
    if (sum != found->evaluated) return wrong(number, "has causes that don't sum to its designs", error);
    return TN_OK;
}

static tn_status read_flows(const tn_space *space, reader *input, uint64_t number, tn_outcome *found,
                            tn_error *error) {
    uint64_t flows = get(input), sum = 0;
    if (flows > input->words / 6) return wrong(number, "holds too many flows", error);
    for (uint64_t i = 0; i < flows; i++) {
        uint64_t weight = get(input), format = get(input), factors = get(input), flow = get(input);
        uint64_t designs = get(input), first = get(input);
        bool keys = weight == TN_UNDEFINED_KEYS && format == 0 && factors == 0 && flow == 0,
             exists = weight < tn_space_weights(space) && format < TN_FORMATS && factors > 0 &&
                      factors <= TN_FACTORS_MOST && flow < TN_FLOW_NAMES;
        if (!(keys || exists) || !tn_add(sum, designs, &sum))
            return wrong(number, "holds a flow that does not exist", error);
        if (first >= space->choices.designs || tn_chunk_of(space, first) != number)
            return wrong(number, "holds a design that is not in this part", error);
        const tn_undefined_flow undefined = {
            .weight = (uint32_t)weight, (tn_format)format, (uint32_t)factors, (tn_flow_name)flow};
        TN_TRY(tn_outcome_add_undefined(found, &undefined, designs, first, error));
    }
    if (sum != found->count[TN_CAUSE_UNDEFINED])
        return wrong(number, "has flows that don't sum to its undefined designs", error);
    return TN_OK;
}

static tn_status read_points(const tn_space *space, reader *input, uint64_t number, tn_outcome *found,
                             tn_error *error) {
    uint64_t points = get(input), next = 0;
    if (points > found->count[TN_CAUSE_NONE] || points > input->words / (1 + space->objectives))
        return wrong(number, "holds more points than feasible designs", error);
    for (uint64_t i = 0; i < points; i++) {
        tn_point point = {.id = get(input)};
        if (point.id < next || point.id >= space->choices.designs || tn_chunk_of(space, point.id) != number)
            return wrong(number, "holds a design that is not in this part", error);
        next = point.id + 1;
        for (size_t k = 0; k < space->objectives; k++) {
            point.value[k] = get_real(input);
            if (!isfinite(point.value[k])) return wrong(number, "holds an objective without a value", error);
        }
        TN_TRY(tn_archive_offer(&found->front, &point, error));
    }
    return TN_OK;
}

tn_status tn_chunk_record_read(const tn_space *space, uint64_t number, const void *bytes, size_t length,
                               tn_outcome *found, uint64_t kept[2], tn_error *error) {
    reader input = {.byte = bytes, .words = length / 8};
    found->evaluated = get(&input);
    if (found->evaluated != tn_chunk_at(space, number).designs)
        return wrong(number, "has another number of designs than the part", error);
    TN_TRY(read_causes(&input, number, found, error));
    TN_TRY(read_flows(space, &input, number, found, error));
    TN_TRY(read_points(space, &input, number, found, error));
    kept[0] = get(&input);
    kept[1] = get(&input);
    if (input.ended || input.words || length % 8)
        return wrong(number, "has another length than it says", error);
    return TN_OK;
}

void tn_chunk_record_digest(const char *identity, uint64_t number, const void *bytes, size_t length,
                            unsigned char *digest) {
    unsigned char place[8];
    for (int i = 0; i < 8; i++) place[i] = (unsigned char)(number >> 8 * i);
    const tn_digest_part part[] = {{identity, strlen(identity)}, {place, sizeof place}, {bytes, length}};
    tn_digest_parts(part, 3, digest);
}
