/* tenfold rtl (MODEL | DIR --point ID) --layer NAME -o OUT */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "learn/dataset.h"
#include "model/train_settings.h"
#include "rtl/generate.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    tn_common common;
    const char *point, *device, *layer, *folder, *data;
    uint64_t seed, steps;
    bool update, simulate, synthesise, shell;
    tn_option_list set;
} request;

static const tn_column operation_columns[] = {
    TN_COLUMN(tn_rtl_line, name, "operation"),
    TN_COLUMN(tn_rtl_line, kind, "phase"),
    TN_COLUMN(tn_rtl_line, cycles_predicted, "cycles predicted"),
    TN_COLUMN(tn_rtl_line, cycles_simulated, "simulated", TN_OPTIONAL, TN_WHEN(tn_rtl_line, is_simulated)),
};
static const tn_record operation_record = TN_RECORD(tn_rtl_line, operation_columns);

#define BLOCK_COLUMNS                                                                                        \
    TN_COLUMN(tn_rtl_memory_line, bram18, NULL), TN_COLUMN(tn_rtl_memory_line, uram, NULL),                  \
        TN_COLUMN(tn_rtl_memory_line, lutram, NULL), TN_COLUMN(tn_rtl_memory_line, inferred_bram18, NULL),   \
        TN_COLUMN(tn_rtl_memory_line, inferred_uram, NULL),                                                  \
        TN_COLUMN(tn_rtl_memory_line, inferred_lutram, NULL)
static const tn_column memory_columns[] = {
    TN_COLUMN(tn_rtl_memory_line, holds, NULL),
    TN_COLUMN(tn_rtl_memory_line, of_price, NULL),
    TN_NAME("style", tn_rtl_memory_line, style, tn_memory_style_names, NULL),
    TN_COLUMN(tn_rtl_memory_line, banks, NULL),
    TN_COLUMN(tn_rtl_memory_line, width_bits, NULL),
    TN_COLUMN(tn_rtl_memory_line, depth, NULL),
    BLOCK_COLUMNS,
};
static const tn_record memory_record = TN_RECORD(tn_rtl_memory_line, memory_columns);
static const tn_column blocks_columns[] = {TN_COLUMN(tn_rtl_memory_line, of_price, NULL), BLOCK_COLUMNS};
static const tn_record blocks_record = TN_RECORD(tn_rtl_memory_line, blocks_columns);

static const tn_column use_columns[] = {
    TN_COLUMN(tn_rtl_use, name, "resource"),
    TN_COLUMN(tn_rtl_use, predicted, "predicted"),
    TN_COLUMN(tn_rtl_use, synthesised, "synthesised", TN_OPTIONAL, TN_WHEN(tn_rtl_use, is_synthesised)),
};
static const tn_record use_record = TN_RECORD(tn_rtl_use, use_columns);

static const tn_column loss_columns[] = {
    TN_COLUMN(tn_rtl_loss, hardware, "loss of the hardware"),
    TN_COLUMN(tn_rtl_loss, float32, "of train in float32"),
    TN_COLUMN(tn_rtl_loss, float64, "in float64"),
};
static const tn_record loss_record = TN_RECORD(tn_rtl_loss, loss_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN(tn_rtl_answer, layer, NULL),
    TN_COLUMN(tn_rtl_answer, folder, NULL),
    TN_COLUMN(tn_rtl_answer, memories, NULL),
    TN_ROWS("memory_list", tn_rtl_answer, memory, memories, memory_record, NULL),
    TN_OBJECT("program", tn_rtl_answer, program, memory_record, NULL),
    TN_OBJECT("memory_blocks", tn_rtl_answer, all, blocks_record, NULL),
    TN_COLUMN(tn_rtl_answer, multiply_cycles, NULL),
    TN_COLUMN(tn_rtl_answer, add_cycles, NULL),
    TN_ROWS("operations", tn_rtl_answer, operation, operations, operation_record, NULL),
    TN_COLUMN(tn_rtl_answer, cycles_predicted, NULL),
    TN_COLUMN(tn_rtl_answer, cycles_simulated, NULL, TN_OPTIONAL, TN_WHEN(tn_rtl_answer, simulated)),
    TN_COLUMN(tn_rtl_answer, words, NULL, TN_OPTIONAL, TN_WHEN(tn_rtl_answer, simulated)),
    TN_COLUMN(tn_rtl_answer, wrong_words, NULL, TN_OPTIONAL, TN_WHEN(tn_rtl_answer, simulated)),
    TN_COLUMN(tn_rtl_answer, relative_error, NULL, TN_OPTIONAL, TN_WHEN(tn_rtl_answer, simulated)),
    TN_ROWS_HERE("resources", tn_rtl_answer, resource, TN_RTL_USES, use_record, NULL, TN_KEYED),
    TN_COLUMN(tn_rtl_answer, floats, NULL, TN_OPTIONAL),
    TN_ROWS("losses", tn_rtl_answer, loss, losses, loss_record, NULL),
    TN_COLUMN(tn_rtl_answer, seconds, NULL),
};
static const tn_record answer_record = TN_RECORD(tn_rtl_answer, answer_columns);

static tn_status print(const request *asked, const tn_rtl_answer *answer, tn_error *error) {
    if (asked->common.json) return tn_output_json(&answer_record, answer, error);
    tn_say("%s: %u operations on %u memories, seed %llu, in %s\n", answer->layer, answer->operations,
           answer->memories, (unsigned long long)asked->seed, answer->folder);
    TN_TRY(tn_output_rows(&operation_record, answer->operation, answer->operations, error));
    tn_say("%llu cycles predicted", (unsigned long long)answer->cycles_predicted);
    if (answer->simulated)
        tn_say(", %llu simulated; %llu of %llu words differ from the in-order reference; error against "
               "float64 %.1e",
               (unsigned long long)answer->cycles_simulated, (unsigned long long)answer->wrong_words,
               (unsigned long long)answer->words, answer->relative_error);
    tn_say("\n");
    tn_say(
        "memories%s: %llu BRAM18, %llu URAM, %llu LUTRAM; with a write enable an element %llu, %llu, %llu\n",
        answer->all.of_price ? ", those of the price" : "", (unsigned long long)answer->all.bram18,
        (unsigned long long)answer->all.uram, (unsigned long long)answer->all.lutram,
        (unsigned long long)answer->all.inferred_bram18, (unsigned long long)answer->all.inferred_uram,
        (unsigned long long)answer->all.inferred_lutram);
    if (answer->floats && strcmp(answer->floats, "c") == 0)
        tn_say("operators were simulated in C; `make simulate FLOATS=circuit` simulates their circuits\n");
    if (answer->losses) TN_TRY(tn_output_rows(&loss_record, answer->loss, answer->losses, error));
    if (!answer->simulated) tn_say("`make simulate` in %s runs it\n", answer->folder);
    return tn_output_rows(&use_record, answer->resource, TN_RTL_USES, error);
}

/* OUT/report.json: the same as --json prints. */
static tn_status write_report(const request *asked, const tn_rtl_answer *answer, tn_error *error) {
    tn_buffer text = {0};
    tn_json json;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/report.json", asked->folder) >= (int)sizeof path)
        return tn_fail(error, TN_INPUT, "-o %s: the path is too long", asked->folder);
    tn_answer_begin(&json, &text);
    tn_record_keys(&answer_record, answer, &json);
    tn_json_end(&json);
    tn_status status = text.status;
    if (status == TN_OK) status = tn_file_write(path, text.data, text.length, error);
    tn_buffer_free(&text);
    return status;
}

/* The first sentences for training, from the first one again where there are fewer than steps; unknown words stay known. */
static tn_status read_examples(const request *asked, const tn_model *model, const tn_train_settings *settings,
                               tn_arena *arena, const tn_example **examples, tn_error *error) {
    tn_dataset data;
    tn_trainer *trainer;
    tn_example *example;
    *examples = NULL;
    if (!asked->data) return TN_OK;
    if (asked->layer)
        return tn_fail(error, TN_INPUT, "--data: a layer alone runs on drawn operands; leave it out");
    TN_TRY(tn_dataset_load(asked->data, tn_model_sequence(model), arena, &data, error));
    TN_TRY(tn_trainer_new(model, settings, TN_FLOAT32, &trainer, error));
    tn_status status = tn_dataset_check(&data, trainer, error);
    tn_trainer_free(trainer);
    TN_TRY(status);
    if (data.train.count == 0) return tn_fail(error, TN_INPUT, "--data %s: no sentence", asked->data);
    TN_TRY(TN_NEW(arena, asked->steps, &example, error));
    for (uint64_t i = 0; i < asked->steps; i++) example[i] = data.train.example[i % data.train.count];
    *examples = example;
    return TN_OK;
}

static tn_status generate(const request *asked, tn_target *target, tn_program_cache *cache, tn_arena *arena,
                          tn_rtl_answer *answer, tn_error *error) {
    tn_step step;
    tn_train_settings settings;
    tn_watch watch;
    const tn_example *example;
    if (!asked->layer && tn_step_sorts(target->design.model) > 1)
        return tn_fail(error, TN_INPUT,
                       "the step is the mean of %u sorts of step; hardware runs one program, so leave "
                       "predicted_gradients, or exit, out, or name a --layer",
                       (unsigned)tn_step_sorts(target->design.model));
    if (asked->update && tn_model_is_inference(target->design.model))
        return tn_fail(error, TN_INPUT, "--update: phase: inference updates nothing; leave it out");
    TN_TRY(tn_train_settings_decode(tn_model_training(target->design.model), arena, &settings, error));
    TN_TRY(tn_step_build(target->design.model, cache, arena, &step, error));
    TN_TRY(read_examples(asked, target->design.model, &settings, arena, &example, error));
    const tn_rtl_request wanted = {.step = &step,
                                   .device = target->design.device,
                                   .build = &target->design.build,
                                   .layer = asked->layer,
                                   .folder = asked->folder,
                                   .seed = asked->seed,
                                   .update = asked->update,
                                   .simulate = asked->simulate,
                                   .synthesise = asked->synthesise,
                                   .shell = asked->shell,
                                   .rate = settings.learning_rate,
                                   .progress = &watch.progress,
                                   .model = target->design.model,
                                   .settings = &settings,
                                   .steps = (uint32_t)asked->steps,
                                   .example = example};
    tn_watch_begin(&watch, "cycles", asked->common.quiet || !asked->simulate);
    tn_status status = tn_rtl_generate(&wanted, arena, answer, error);
    tn_watch_end(&watch);
    return status;
}

static tn_status run(request *asked, tn_target *target, tn_program_cache *cache, int *answer_status,
                     tn_error *error) {
    tn_rtl_answer answer;
    TN_TRY(tn_target_load(asked->common.argument[0], asked->point, asked->device, TN_USUAL_DEVICE,
                          &asked->set, &asked->common.arena, target, error));
    TN_TRY(generate(asked, target, cache, &asked->common.arena, &answer, error));
    *answer_status = answer.ok ? 0 : 1;
    TN_TRY(write_report(asked, &answer, error));
    return print(asked, &answer, error);
}

static tn_status answer(void *request_asked, int *answer_status, tn_error *error) {
    request *asked = request_asked;
    tn_target target = {0};
    tn_program_cache *cache;
    if (!asked->folder)
        return tn_fail(error, TN_INPUT, "-o OUT is missing, the folder that the hardware goes to");
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_command_output(&asked->common, asked->folder, error);
    if (status == TN_OK) status = run(asked, &target, cache, answer_status, error);
    tn_program_cache_free(cache);
    tn_target_free(&target);
    return status;
}

static const request defaults = {.seed = 1, .steps = 1};
static const tn_option options[] = {
    {"--layer", TN_INTO(request, layer), "NAME", "a layer, such as encoder1.query (the whole step)"},
    {"--device", TN_INTO(request, device), "DEVICE",
     "whose operators' latencies are built (the design's; of a model u50@user-area)"},
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: this design"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model, its build or the device; with --point: what if; repeatable"},
    {"--update", TN_INTO(request, update), NULL, "with SGD of every core behind the gradients"},
    {"--simulate", TN_INTO(request, simulate), NULL, "run it in Verilator on drawn operands"},
    {"--synthesise", TN_INTO(request, synthesise), NULL, "count resources by Yosys (minutes)"},
    {"--shell", TN_INTO(request, shell), NULL,
     "of a whole model: a bus around it, a host program and scripts for Vivado and Vitis"},
    {"--steps", TN_INTO(request, steps), "N", "of a whole model: so many steps, each on a drawn example (1)"},
    {"--data", TN_INTO(request, data), "FOLDER",
     "their examples: the first ones of its sentences for training, as tenfold train reads them"},
    {"--seed", TN_INTO(request, seed), "S", "of the operands (1)"},
    {"-o", TN_INTO(request, folder), "OUT", "folder of sources, program, memory images and testbench"},
};

const tn_command tn_command_rtl = {
    .name = "rtl",
    .summary =
        "hardware of a design: SystemVerilog of a training step or a layer, simulated against its price",
    .usage = "MODEL [--layer NAME] -o OUT [--simulate] [--update] [--set KEY=VALUE]...\nDIR --point ID "
             "[--layer NAME] -o OUT [--set KEY=VALUE]...",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
