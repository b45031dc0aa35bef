#include "train/windows.h"

#include "model/operation.h"

#include <string.h>

/* Visits the pixels of a window: rows of the picture that lie in it, as runs of pixels side by side. From the windows
 * into the picture where `adds`, else from the picture. */
static void move_window(const tn_kernels *k, const tn_operation *o, uint64_t number, char *window,
                        char *picture, bool adds) {
    const tn_window *w = o->window;
    const uint64_t features = tn_window_features(o), down = number / w->outputs_across * w->stride_down,
                   across =
                       number % w->outputs_across * w->stride_across; /* before the padding is taken off */
    const size_t pixel = features * k->bytes;
    const uint64_t skipped = across < w->padding_across ? w->padding_across - across : 0,
                   begin = across + skipped - w->padding_across;
    for (uint64_t i = 0; i < w->kernel_down; i++) {
        if (down + i < w->padding_down || down + i - w->padding_down >= w->height) continue;
        if (skipped >= w->kernel_across || begin >= w->width) return;
        const uint64_t rest = w->kernel_across - skipped,
                       pixels = rest < w->width - begin ? rest : w->width - begin;
        char *inner = window + (i * w->kernel_across + skipped) * pixel,
             *outer = picture + ((down + i - w->padding_down) * w->width + begin) * pixel;
        if (adds)
            k->add(outer, outer, inner, pixels * features, pixels * features);
        else
            memcpy(inner, outer, pixels * pixel);
    }
}

/* Windows of pictures into rows, or what rows hold added to the pixels that they were taken from. */
void tn_run_windows(const tn_step_run *r, const tn_operation *o) {
    const tn_window *w = o->window;
    const bool adds = o->kind == TN_OP_SCATTER;
    char *from = tn_array_values(r, o->reads[0]), *to = tn_array_values(r, o->writes[0]);
    const size_t row = o->columns * r->t->kernels->bytes,
                 picture = w->height * w->width * tn_window_features(o) * r->t->kernels->bytes;
    const uint64_t windows = w->outputs_down * w->outputs_across;
    memset(to, 0, r->sized->lowered.step.array[o->writes[0]].elements * r->t->kernels->bytes);
    for (uint64_t i = 0; i < o->rows; i++)
        move_window(r->t->kernels, o, i % windows, (adds ? from : to) + i * row,
                    (adds ? to : from) + i / windows * picture, adds);
}
