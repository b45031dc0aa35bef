/* tenfold compare MODEL... --fpga DEVICE --gpu DEVICE [--gpu ...] [--design DIR]...; tenfold compare DIR --point ID --gpu DEVICE;
 * tenfold compare DIR DIR... */
#include "cli/cmd_compare.h"
#include "base/file.h"

#include "cli/cmd_roofline.h"
#include "cli/commands.h"
#include "cli/compare_fronts.h"
#include "cli/options.h"
#include "cli/output.h"
#include "results/comparison.h"
#include "results/result.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_PER_MB = 1000000, BYTES_PER_MIB = 1 << 20, RATIO_MOST = 100000 };

/* ---- beside a row ---- */

static void put_pair(tn_json *json, double least, double most) {
    tn_json_array(json);
    tn_json_real(json, least);
    tn_json_real(json, most);
    tn_json_end(json);
}

/* The claim of that kind that speaks of the row: of its model, of its system. */
static const tn_claim *claim_of(const tn_claims *claims, const tn_comparison_row *row, tn_claim_kind what) {
    bool ratio = what == TN_CLAIM_MEMORY_RATIO || what == TN_CLAIM_ENERGY_RATIO;
    if (row->is_dense != (what == TN_CLAIM_DENSE_BYTES)) return NULL;
    if (row->is_fpga == (what == TN_CLAIM_DENSE_BYTES)) return NULL;
    if (!tn_claims_cover(claims, row->model)) return NULL;
    for (size_t i = 0; i < claims->count; i++) {
        const tn_claim *claim = &claims->claim[i];
        if (claim->what != (uint32_t)what) continue;
        if (claim->model && strcmp(claim->model, row->model) != 0) continue;
        if (ratio && !row->is_fpga) continue;
        return claim;
    }
    return NULL;
}

static void put_claim(tn_json *json, const char *key, const tn_claim *claim) {
    tn_json_key(json, key);
    if (!claim) {
        tn_json_null(json);
    } else if (claim->what == TN_CLAIM_DENSE_BYTES) {
        tn_json_real(json, (claim->least + claim->most) / 2);
    } else if (claim->least > 0) {
        put_pair(json, claim->least, claim->most);
    } else {
        tn_json_real(json, claim->most);
    }
}

/* An object of the claims that speak of the row; null where none does. */
static void published_put(tn_json *json, const tn_claims *claims, const tn_comparison_row *row) {
    tn_json_object(json);
    put_claim(json, "parameters_bytes", claim_of(claims, row, TN_CLAIM_DENSE_BYTES));
    put_claim(json, "memory_ratio", claim_of(claims, row, TN_CLAIM_MEMORY_RATIO));
    put_claim(json, "bram_bytes", claim_of(claims, row, TN_CLAIM_BRAM_BYTES));
    put_claim(json, "uram_bytes", claim_of(claims, row, TN_CLAIM_URAM_BYTES));
    put_claim(json, "energy_ratio", claim_of(claims, row, TN_CLAIM_ENERGY_RATIO));
    tn_json_end(json);
}

/* "memory / 30 to 51": as a person reads the claim beside the row. */
static void claim_text(const tn_claim *claim, tn_buffer *text) {
    if (!claim) return;
    if (text->length) tn_buffer_text(text, ", ");
    switch ((tn_claim_kind)claim->what) {
    case TN_CLAIM_DENSE_BYTES:
        tn_buffer_format(text, "%.1f MB", (claim->least + claim->most) / 2 / BYTES_PER_MB);
        break;
    case TN_CLAIM_MEMORY_RATIO:
        tn_buffer_format(text, "memory / %g to %g", claim->least, claim->most);
        break;
    case TN_CLAIM_BRAM_BYTES:
        tn_buffer_format(text, "BRAM <= %g MiB", claim->most / BYTES_PER_MIB);
        break;
    case TN_CLAIM_URAM_BYTES:
        tn_buffer_format(text, "URAM <= %g MiB", claim->most / BYTES_PER_MIB);
        break;
    case TN_CLAIM_ENERGY_RATIO:
        tn_buffer_format(text, "energy / %g at most", claim->most);
        break;
    }
}

/* The same in a line for people: "30.6 MB, memory / 30 to 51"; "" where there is none. */
static tn_status published_text(const tn_claims *claims, const tn_comparison_row *row, tn_arena *arena,
                                const char **text, tn_error *error) {
    tn_buffer told = {0};
    for (int what = TN_CLAIM_DENSE_BYTES; what <= TN_CLAIM_ENERGY_RATIO; what++)
        claim_text(claim_of(claims, row, (tn_claim_kind)what), &told);
    tn_status status = told.status == TN_OK ? tn_arena_copy_text(arena, told.data, told.length, text, error)
                                            : tn_fail(error, told.status, "no memory for what is published");
    tn_buffer_free(&told);
    return status;
}

/* ---- verdicts ---- */

static void put_published_range(const void *row, tn_json *json) {
    const tn_verdict *verdict = row;
    put_pair(json, verdict->published_least, verdict->published_most);
}

static void put_our_range(const void *row, tn_json *json) {
    const tn_verdict *verdict = row;
    put_pair(json, verdict->range.least, verdict->range.most);
}

static const tn_column verdict_columns[] = {
    TN_COLUMN(tn_verdict, claim, NULL),   TN_COLUMN(tn_verdict, model, NULL),
    TN_COLUMN(tn_verdict, measure, NULL), TN_WRITTEN("published", put_published_range, NULL),
    TN_COLUMN(tn_verdict, ours, NULL),    TN_WRITTEN("range", put_our_range, NULL),
    TN_COLUMN(tn_verdict, verdict, NULL), TN_COLUMN(tn_verdict, why, NULL),
};
const tn_record tn_verdict_record = TN_RECORD(tn_verdict, verdict_columns);

/* verdict[at], under its claim where the one before it is of another, with its reason where no earlier one gave it. */
static void verdict_say(const tn_verdict *verdict, size_t index) {
    const tn_verdict *v = &verdict[index];
    if (index == 0 || strcmp(v->claim, v[-1].claim) != 0) tn_say("\n  \"%s\"\n", v->claim);
    const bool bytes = v->published_most > RATIO_MOST; /* else how many times less */
    double unit = !bytes ? 1 : v->published_least > 0 ? BYTES_PER_MB : BYTES_PER_MIB;
    const char *name = !bytes ? "x" : v->published_least > 0 ? " MB" : " MiB";
    tn_say("    %-11s %s: %.1f%s", v->model, v->measure, v->ours / unit, name);
    if (v->range.most > v->range.least)
        tn_say(" (%.3g to %.3g)", v->range.least / unit, v->range.most / unit);
    tn_say(": %s\n", v->verdict);
    bool said = false;
    for (size_t i = 0; i < index && !said; i++) said = strcmp(verdict[i].why, v->why) == 0;
    if (!said) tn_say("                %s\n", v->why);
}

enum { MODELS_MOST = 32, GPUS_MOST = 16 };
/* Options: the first so many are those of models, the rest those of folders. */
enum { FPGA_OPTION = 0, MODEL_OPTIONS = 6 };

/* A row as it is printed. */
typedef struct {
    const char *model, *system, *training;
    double parameters_bytes, live_bytes, seconds_per_step, seconds_per_epoch, joules_per_step,
        joules_per_epoch;
    double kernels_seconds_per_step, bram_bytes, uram_bytes; /* NAN where the row has none */
    const char *build, *unverified, *published;              /* published: for people */
    const tn_comparison_row *row;
    const tn_claims *claims;
} view;

typedef struct {
    tn_common common;
    const char *fpga, *point, *claims_name, *out, *format;
    tn_option_list gpu, design, set, key;
    size_t models;
    tn_roofline *roofline[GPUS_MOST];
    tn_result result[MODELS_MOST]; /* of --design */
    size_t rows;
    tn_comparison_row *row;
    const char **build; /* [rows] */
    view *view;
    tn_claims claims;
    tn_verdicts verdicts;
    size_t unfit_count;
    const char *unfit[MODELS_MOST]; /* models that no build makes fit */
    const char *source;             /* of the claims */
    size_t verdict_count;
    const tn_verdict *verdict;
} request;

static void put_published(const void *row, tn_json *json) {
    const view *window = row;
    published_put(json, window->claims, window->row);
}

/* ---- ranges ---- */

static void put_range(tn_json *json, const char *key, tn_interval range, double factor) {
    tn_json_key(json, key);
    tn_json_array(json);
    tn_json_real(json, range.least * factor);
    tn_json_real(json, range.most * factor);
    tn_json_end(json);
}

static void put_ranges(const void *row, tn_json *json) {
    const tn_comparison_row *comparison_row = ((const view *)row)->row;
    tn_json_object(json);
    put_range(json, "seconds_per_step", comparison_row->seconds, 1);
    put_range(json, "seconds_per_epoch", comparison_row->seconds, comparison_row->steps_per_epoch);
    put_range(json, "joules_per_step", comparison_row->joules, 1);
    put_range(json, "joules_per_epoch", comparison_row->joules, comparison_row->steps_per_epoch);
    tn_json_end(json);
}

static void milliseconds_range(const void *row, tn_buffer *cell) {
    const tn_interval range = ((const view *)row)->row->seconds;
    char least[48], most[48];
    tn_buffer_format(cell, "%s to %s", tn_quantity_text(range.least, "s", least),
                     tn_quantity_text(range.most, "s", most));
}

static void joules_range(const void *row, tn_buffer *cell) {
    const tn_comparison_row *comparison_row = ((const view *)row)->row;
    char least[48], most[48];
    tn_buffer_format(
        cell, "%s to %s",
        tn_quantity_text(comparison_row->joules.least * comparison_row->steps_per_epoch, "J", least),
        tn_quantity_text(comparison_row->joules.most * comparison_row->steps_per_epoch, "J", most));
}

/* ---- records ---- */

static const tn_column view_columns[] = {
    TN_COLUMN(view, model, "model"),
    TN_COLUMN(view, system, "system"),
    TN_COLUMN(view, training, "training"),
    TN_COLUMN(view, parameters_bytes, "parameters", TN_FITTING("B")),
    TN_COLUMN(view, live_bytes, "live memory", TN_FITTING("B")),
    TN_COLUMN(view, seconds_per_step, "step", TN_FITTING("s")),
    {.cell = milliseconds_range, .title = "range", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(view, kernels_seconds_per_step, "kernels alone", TN_FITTING("s"), TN_OPTIONAL),
    TN_COLUMN(view, seconds_per_epoch, "epoch", TN_FITTING("s")),
    TN_COLUMN(view, joules_per_step, "energy of a step", TN_FITTING("J")),
    TN_COLUMN(view, joules_per_epoch, "of an epoch", TN_FITTING("J")),
    {.cell = joules_range, .title = "range", .kind = TN_COLUMN_TEXT},
    TN_WRITTEN("range", put_ranges, NULL),
    TN_COLUMN(view, bram_bytes, NULL, TN_OPTIONAL),
    TN_COLUMN(view, uram_bytes, NULL, TN_OPTIONAL),
    TN_COLUMN(view, build, NULL, TN_OPTIONAL),
    TN_COLUMN(view, unverified, NULL),
    TN_WRITTEN("published", put_published, NULL),
    {.key = NULL, .kind = TN_COLUMN_TEXT, .offset = offsetof(view, published), .title = "published"},
};
static const tn_record view_record = TN_RECORD(view, view_columns);

static const tn_column answer_columns[] = {
    TN_ROWS("rows", request, view, rows, view_record, NULL),
    TN_ARRAY("unfit", request, unfit, unfit_count, NULL),
    TN_COLUMN_AS("claims_of", request, source, NULL),
    TN_ROWS("claims", request, verdict, verdict_count, tn_verdict_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

/* ---- rows ---- */

static tn_status load_gpus(request *r, tn_error *error) {
    static const tn_option_list none; /* overrides are the model's */
    if (r->gpu.count == 0)
        return tn_fail(error, TN_INPUT, "no GPU to compare with; --gpu DEVICE names one: rtx3090, h200, ...");
    if (r->gpu.count > GPUS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu GPUs; at most %d are compared", r->gpu.count, GPUS_MOST);
    for (size_t i = 0; i < r->gpu.count; i++)
        TN_TRY(tn_roofline_load(r->gpu.item[i], &none, &r->common.arena, &r->roofline[i], error));
    return TN_OK;
}

static tn_status load_designs(request *r, tn_error *error) {
    if (r->design.count > MODELS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu folders; at most %d are read", r->design.count, MODELS_MOST);
    for (size_t i = 0; i < r->design.count; i++) {
        TN_TRY(tn_result_load(r->design.item[i], &r->common.arena, &r->result[i], error));
        if (r->result[i].recommended_count == 0)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = r->design.item[i]},
                              "holds no design that fits");
    }
    return TN_OK;
}

/* The recommended design of a folder for that model, else of the build search. */
static tn_status find_design(request *r, const char *model, const char *name, const tn_space **space,
                             uint64_t *id, tn_error *error) {
    for (size_t i = 0; i < r->design.count; i++) {
        const tn_space *own = tn_space_of(r->result[i].space, r->result[i].recommended[0].id);
        if (strcmp(tn_model_name(own->model), name) != 0) continue;
        *space = own;
        *id = r->result[i].recommended[0].id;
        return TN_OK;
    }
    return tn_compare_search(model, r->set.item, r->set.count, r->fpga, &r->common.arena, space, id, error);
}

static tn_status add_model(request *r, const char *model, tn_error *error) {
    const tn_space *space;
    uint64_t id;
    const char *name = "";
    for (size_t i = 0; i < r->gpu.count; i++)
        for (int dense = 1; dense >= 0; dense--) {
            tn_comparison_row *row = &r->row[r->rows++];
            TN_TRY(tn_compare_gpu(model, r->set.item, r->set.count, r->roofline[i], dense, &r->common.arena,
                                  row, error));
            name = row->model;
        }
    TN_TRY(find_design(r, model, name, &space, &id, error));
    if (id == TN_NO_DESIGN) {
        r->unfit[r->unfit_count++] = name;
        return TN_OK;
    }
    TN_TRY(tn_compare_fpga(space, id, &r->common.arena, &r->row[r->rows], error));
    return tn_choices_text(&space->choices, id, &r->common.arena, &r->build[r->rows++], error);
}

/* A sweep's design: its model, dense and as it is, on the GPUs, and itself. */
static tn_status add_point(request *r, const tn_target *target, tn_program_cache *cache, tn_error *error) {
    static const char *const dense[] = {"format=dense"};
    tn_arena *arena = &r->common.arena;
    tn_space own = *tn_space_of(target->space, target->id);
    tn_model *whole;
    tn_step step, whole_step;
    own.device = target->design.device;
    r->fpga = tn_device_name(own.device);
    TN_TRY(tn_step_build(target->design.model, cache, arena, &step, error));
    TN_TRY(tn_model_vary(tn_model_root(target->design.model), dense, 1, arena, &whole, error));
    TN_TRY(tn_step_build(whole, cache, arena, &whole_step, error));
    for (size_t i = 0; i < r->gpu.count; i++) {
        TN_TRY(tn_compare_step(&whole_step, r->roofline[i], true, arena, &r->row[r->rows++], error));
        TN_TRY(tn_compare_step(&step, r->roofline[i], false, arena, &r->row[r->rows++], error));
    }
    TN_TRY(tn_compare_fpga(&own, target->id, arena, &r->row[r->rows], error));
    return tn_choices_text(&own.choices, target->id, arena, &r->build[r->rows++], error);
}

static tn_status load_point(request *r, tn_error *error) {
    tn_target target = {0};
    tn_program_cache *cache;
    const char *device = r->common.given[FPGA_OPTION] ? r->fpga : NULL;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_target_load(r->common.argument[0], r->point, device, NULL, &r->set,
                                      &r->common.arena, &target, error);
    if (status == TN_OK) status = add_point(r, &target, cache, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

static tn_status view_row(request *r, size_t index, tn_error *error) {
    const tn_comparison_row *row = &r->row[index];
    view *window = &r->view[index];
    *window = (view){.model = row->model,
                     .system = row->system,
                     .training = row->is_dense ? "dense" : "tensor",
                     .parameters_bytes = row->parameters_bytes,
                     .live_bytes = row->live_bytes,
                     .seconds_per_step = row->seconds_per_step,
                     .seconds_per_epoch = row->seconds_per_step * row->steps_per_epoch,
                     .joules_per_step = row->joules_per_step,
                     .joules_per_epoch = row->joules_per_step * row->steps_per_epoch,
                     .kernels_seconds_per_step = row->is_fpga ? NAN : row->kernels_seconds,
                     .bram_bytes = row->is_fpga ? row->bram_bytes : NAN,
                     .uram_bytes = row->is_fpga ? row->uram_bytes : NAN,
                     .build = r->build[index],
                     .unverified = row->unverified,
                     .row = row,
                     .claims = &r->claims};
    return published_text(window->claims, row, &r->common.arena, &window->published, error);
}

/* ---- people ---- */

static bool said_before(const request *r, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->row[i].system, r->row[index].system) == 0) return true;
    return false;
}

static tn_status print_people(const request *r, tn_error *error) {
    tn_say("Training on %s beside GPUs: time and energy with what the unverified figures leave open\n\n",
           r->fpga);
    TN_TRY(tn_output_rows(&view_record, r->view, r->rows, error));
    tn_say("\n");
    for (size_t i = 0; i < r->unfit_count; i++)
        tn_say(
            "%s does not fit %s with any build of spaces/build-search.yaml; sweep a space of lower ranks and "
            "give its folder with --design\n",
            r->unfit[i], r->fpga);
    for (size_t i = 0; i < r->rows; i++)
        if (r->build[i]) tn_say("%s on %s: %s\n", r->row[i].model, r->row[i].system, r->build[i]);
    for (size_t i = 0; i < r->rows; i++)
        if (!said_before(r, i) && *r->row[i].unverified)
            tn_say("unverified, %s: %s\n", r->row[i].system, r->row[i].unverified);
    if (r->verdict_count == 0) return TN_OK;
    tn_say_heading("What is published, and what follows from this");
    tn_say("%s\n", r->source);
    for (size_t i = 0; i < r->verdict_count; i++) verdict_say(r->verdict, i);
    return TN_OK;
}

/* ---- the command ---- */

/* Models or folders, not both, and the options of what they are. */
static tn_status check_arguments(const request *r, bool folders, tn_error *error) {
    const tn_command *command = &tn_command_compare;
    if (r->point && (r->common.arguments > 1 || r->design.count))
        return tn_fail(error, TN_INPUT, "--point is the id of a design of one folder, without %s",
                       r->design.count ? "--design" : "others");
    if (r->point && r->set.count)
        return tn_fail(
            error, TN_INPUT,
            "a design is compared as the sweep has it; `tenfold cost DIR --point ID --set %.100s` says "
            "what if",
            r->set.item[0]);
    if (r->point) return TN_OK;
    for (size_t i = 0; i < r->common.arguments; i++)
        if (tn_is_folder(r->common.argument[i]) != folders)
            return tn_fail_at(
                error, TN_INPUT, (tn_position){.file = r->common.argument[i]},
                "is %s; models are compared with models, and fronts with fronts (--design takes "
                "the folder of a model's sweep, --point one of its designs)",
                folders ? "no folder of results, as the first is" : "a folder of results");
    for (size_t i = 0; i < command->options; i++)
        if (r->common.given[i] && (i < MODEL_OPTIONS) == folders)
            return tn_fail(error, TN_INPUT, "%s goes with %s", command->option[i].name,
                           folders ? "models, not with folders" : "folders of results, not with models");
    return TN_OK;
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    bool folders = !r->point && tn_is_folder(r->common.argument[0]);
    TN_TRY(check_arguments(r, folders, error));
    if (folders) return tn_compare_fronts(&r->common, &r->key, r->out, r->format, answer, error);
    r->models = r->common.arguments;
    size_t most = r->models * (2 * r->gpu.count + 1);
    TN_TRY(tn_claims_load(r->claims_name, &r->common.arena, &r->claims, error));
    TN_TRY(load_gpus(r, error));
    TN_TRY(load_designs(r, error));
    TN_TRY(TN_NEW(&r->common.arena, most, &r->row, error));
    TN_TRY(TN_NEW(&r->common.arena, most, &r->build, error));
    TN_TRY(TN_NEW(&r->common.arena, most, &r->view, error));
    if (r->point) TN_TRY(load_point(r, error));
    for (size_t i = 0; i < r->models && !r->point; i++) TN_TRY(add_model(r, r->common.argument[i], error));
    for (size_t i = 0; i < r->rows; i++) TN_TRY(view_row(r, i, error));
    TN_TRY(tn_claims_judge(&r->claims, r->row, r->rows, &r->common.arena, &r->verdicts, error));
    *answer = r->unfit_count > 0;
    r->source = r->claims.source;
    r->verdict = r->verdicts.verdict;
    r->verdict_count = r->verdicts.count;
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_people(r, error);
}

static const request defaults = {.fpga = "u50@user-area", .claims_name = "arxiv-2501.06663", .format = "png"};
static const tn_option options[] = {
    {"--fpga", TN_INTO(request, fpga), "DEVICE", "FPGA to train on; default u50@user-area"},
    {"--gpu", TN_INTO(request, gpu), "DEVICE", "roofline device to compare with; repeatable"},
    {"--design", TN_INTO(request, design), "DIR",
     "take the recommended design of this sweep for its model, instead of searching a build; repeatable"},
    {"--claims", TN_INTO(request, claims_name), "FILE",
     "published claims to set beside; default arxiv-2501.06663"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of every model; repeatable"},
    {"--point", TN_INTO(request, point), "ID",
     "of one sweep's folder: this design, on the sweep's device unless --fpga says another"},
    {"--by", TN_INTO(request, key), "KEY",
     "quantity to compare fronts by; repeatable; default: the objectives that all their spaces have"},
    {"-o", TN_INTO(request, out), "DIR", "of fronts: write fronts.csv and a figure there"},
    {"--format", TN_INTO(request, format), "png|svg|pdf|csv", "of fronts: picture format; default png"},
};

const tn_command tn_command_compare = {
    .name = "compare",
    .summary = "training on an FPGA beside GPUs and published claims, or fronts beside each other",
    .usage = "MODEL... --fpga DEVICE --gpu DEVICE [--gpu DEVICE]... [--design DIR]...\n"
             "DIR --point ID [--fpga DEVICE] --gpu DEVICE [--gpu DEVICE]...\n"
             "DIR DIR... [--by KEY]... [-o DIR] [--format png|svg|pdf|csv]",
    .arguments = {1, MODELS_MOST},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record, &tn_compared_fronts_record),
    .answer = answer,
};
