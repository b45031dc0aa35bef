#include "learn/routes.h"

#include "base/buffer.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "encoder1.experts" of "encoder1.experts.route" */
static tn_status name_of(const char *route, tn_arena *arena, const char **name, tn_error *error) {
    const char *dot = strrchr(route, '.');
    return tn_arena_copy_text(arena, route, dot ? (size_t)(dot - route) : strlen(route), name, error);
}

tn_status tn_note_routes(const tn_trainer *trainer, tn_arena *arena, tn_training_result *result,
                         tn_error *error) {
    size_t all = 0;
    for (size_t i = 0; i < tn_trainer_routes(trainer); i++) all += tn_trainer_route(trainer, i)->experts;
    if (!result->load) TN_TRY(TN_NEW(arena, all, &result->load, error));
    result->loads = 0;
    for (size_t i = 0; i < tn_trainer_routes(trainer); i++) {
        const tn_route_counts *route = tn_trainer_route(trainer, i);
        const char *name;
        uint64_t sum = 0;
        TN_TRY(name_of(route->name, arena, &name, error));
        for (uint64_t e = 0; e < route->experts; e++) sum += route->tokens[e];
        for (uint64_t e = 0; e < route->experts; e++)
            result->load[result->loads++] =
                (tn_router_load){.layer = name,
                                 .expert = e,
                                 .tokens = route->tokens[e],
                                 .dropped = route->dropped[e],
                                 .share = sum ? (double)route->tokens[e] / (double)sum : 0};
    }
    return TN_OK;
}

/* The load of `layer`, or of all layers where it is NULL, expert by expert. */
static tn_status write_load(const char *path, const tn_training_result *result, const char *layer,
                            tn_error *error) {
    tn_buffer text = {0};
    uint64_t experts = 0;
    for (size_t i = 0; i < result->loads; i++)
        if (result->load[i].expert >= experts) experts = result->load[i].expert + 1;
    tn_buffer_text(&text, "expert,tokens\n");
    for (uint64_t e = 0; e < experts; e++) {
        uint64_t tokens = 0;
        bool any = false;
        for (size_t i = 0; i < result->loads; i++) {
            const tn_router_load *load = &result->load[i];
            if (load->expert != e || (layer && strcmp(load->layer, layer) != 0)) continue;
            tokens += load->tokens;
            any = true;
        }
        if (any) tn_buffer_format(&text, "%" PRIu64 ",%" PRIu64 "\n", e, tokens);
    }
    tn_status status = tn_file_write_buffer(path, &text, error);
    tn_buffer_free(&text);
    return status;
}

tn_status tn_routes_write(const char *folder, const tn_training_result *result, tn_error *error) {
    enum { PATH = 1200 };
    char path[PATH];
    if (result->loads == 0) return TN_OK;
    snprintf(path, sizeof path, "%.1000s/experts.csv", folder);
    TN_TRY(write_load(path, result, NULL, error));
    for (size_t i = 0; i < result->loads; i++) {
        if (result->load[i].expert != 0) continue;
        snprintf(path, sizeof path, "%.1000s/experts-%.150s.csv", folder, result->load[i].layer);
        TN_TRY(write_load(path, result, result->load[i].layer, error));
    }
    return TN_OK;
}
